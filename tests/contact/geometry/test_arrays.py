"""Arrays of the compiled geometry: what does not fit is refused by name, before a number is read outside of them."""

import numpy as np
import pytest

from soacraft import Pose, _core
from soacraft.contact.geometry.shapes import Shape

SPHERE, PLANE = _core.contact_primitive(0, np.array([1.0, 0, 0])), _core.contact_primitive(6, np.zeros(3))
POSE = np.concatenate([np.eye(3).ravel(), np.zeros(3)])[None]
POINTS = np.array([(0.0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
FACES = np.array([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3])
HULL = dict(points=POINTS, normals=np.eye(4, 3), offsets=np.zeros(4), face_start=np.arange(0, 13, 3), face=FACES,
            near_start=np.arange(0, 13, 3), near_to=np.array([1, 2, 3, 0, 2, 3, 0, 1, 3, 0, 1, 2]))  # fmt: skip
SCENE = dict(shapes=[SPHERE, SPHERE], padding=np.zeros(2), classes=np.array([[0, -1, 1, 1], [1, -1, 1, 1]]),
             exceptions=np.zeros((0, 3), dtype=np.int64), padded=np.zeros((0, 2), dtype=np.int64),
             pair_padding=np.zeros(0))  # fmt: skip


def ints(*x):
    return np.array(x, dtype=np.int64)


def refused(text, call, *args, **named):
    with pytest.raises(ValueError, match=text):
        call(*args, **named)


def test_primitives():
    for kind in (-1, 5, 7, 99):
        refused(f"there is no primitive shape {kind}", _core.contact_primitive, kind, np.ones(3))
    refused("size must have length 3", _core.contact_primitive, 0, np.ones(2))
    for x in (-1.0, np.nan, np.inf):
        for at in range(3):
            size = np.where(np.arange(3) == at, x, 1.0)
            refused("size must be finite and not negative", _core.contact_primitive, 2, size)


@pytest.mark.parametrize(
    ("name", "bad", "text"),
    [
        ("points", np.zeros((4, 2)), r"points must have the shape \(points, 3\)"),
        ("points", np.zeros((0, 3)), r"points must have the shape \(points, 3\)"),
        ("points", np.full((4, 3), np.nan), "points must be finite"),
        ("face", ints(*FACES[:-1], 4), "face has an entry 4 out of range"),
        ("near_to", ints(*FACES[:-1], -1), "near_to has an entry -1 out of range"),
        ("face_start", ints(1, 3, 6, 9, 12), "face_start must be offsets from 0 to 12"),
        ("face_start", ints(0, 3, 6, 9, 11), "face_start must be offsets from 0 to 12"),
        ("near_start", ints(0, 6, 3, 9, 12), "near_start must be offsets from 0 to 12"),
        ("near_start", ints(0, 6, 12), "the arrays of a hull do not fit each other"),
        ("face_start", ints(0, 6, 12), "the arrays of a hull do not fit each other"),
        ("offsets", np.zeros(3), "the arrays of a hull do not fit each other"),
    ],
)
def test_hulls(name, bad, text):
    assert _core.contact_hull(**HULL).extent == 1.0
    refused(text, _core.contact_hull, **HULL | {name: bad})


def test_meshes():
    assert _core.contact_mesh(POINTS, FACES, True).extent == 1.0
    refused("triangles must have three vertices each", _core.contact_mesh, POINTS, FACES[:-1], True)
    refused("triangles must have three vertices each", _core.contact_mesh, POINTS, FACES[:0], True)
    refused("triangles has an entry 4 out of range", _core.contact_mesh, POINTS, ints(0, 1, 4), True)


def test_poses_and_rows():
    two, out = np.tile(POSE, (2, 1)), np.full((2, 11), 7.0)
    R, p = two[:, :9].copy(), two[:, 9:].copy()
    _core.contact_distance(SPHERE, R[:1], p[:1], SPHERE, R, p + np.array([(3.0, 0, 0), (0, 4.0, 0)]), np.inf, out)
    assert out[:, 0] == pytest.approx([1.0, 2.0])
    text = r"poses must have the shapes \(count, 9\) and \(count, 3\)"
    for rotation, translation, rows in ((R, p, 3), (R, p, 1), (R, p[:1], 2), (R[:, :8].copy(), p, 2), (R, R, 2)):
        other = np.full((rows, 11), 7.0)
        refused(text, _core.contact_distance, SPHERE, R[:1], p[:1], SPHERE, rotation, translation, np.inf, other)
        refused(text, _core.contact_distance, SPHERE, rotation, translation, SPHERE, R[:1], p[:1], np.inf, other)
        assert (other == 7.0).all()
    wide = np.full((2, 12), 7.0)
    refused(r"out must have the shape \(count, 11\)", _core.contact_distance, SPHERE, R, p, SPHERE, R, p, np.inf, wide)
    refused("this pair of shapes has no distance", _core.contact_distance, PLANE, R, p, PLANE, R, p, np.inf, out)
    refused("contacts are of one pair of poses", _core.contact_manifold, SPHERE, two, SPHERE, POSE, 0.0)
    refused("contacts are of one pair of poses", _core.contact_manifold, SPHERE, POSE, SPHERE, two, 0.0)
    refused("this pair of shapes has no distance", _core.contact_manifold, PLANE, POSE, PLANE, POSE, 0.0)


def test_classes_of_a_call():
    class NoSlots:
        pass

    with pytest.raises(ValueError, match="the class 0 of a distance must have the slot core"):
        _core.contact_call(NoSlots, NoSlots, NoSlots, print)
    with pytest.raises(ValueError, match="the class 2 of a distance must have the slot _rows"):
        _core.contact_call(Shape, Pose, NoSlots, print)
    with pytest.raises(ValueError, match="the class 1 of a distance must have the slot _rotation"):
        _core.contact_call(Shape, "Pose", NoSlots, print)


def test_rays():
    rays = np.array([(-3.0, 0, 0, 1, 0, 0)])
    out = np.zeros((1, 4))
    _core.contact_rays(SPHERE, POSE, rays, out)
    assert out[0, 0] == pytest.approx(2.0)
    for pose, given, to in ((np.tile(POSE, (2, 1)), rays, out), (POSE, rays[:, :5].copy(), out), (POSE, rays, out[:0]),
                            (POSE, rays, np.zeros((1, 5)))):  # fmt: skip
        refused(r"rays must have the shape \(count, 6\)", _core.contact_rays, SPHERE, pose, given, to)


@pytest.mark.parametrize(
    ("name", "bad", "text"),
    [
        ("padding", np.zeros(3), "padding must have length 2"),
        ("classes", np.zeros((1, 4), dtype=np.int64), r"classes must have the shape \(shapes, 4\)"),
        ("classes", np.zeros((2, 3), dtype=np.int64), r"classes must have the shape \(shapes, 4\)"),
        ("exceptions", np.zeros((1, 2), dtype=np.int64), r"exceptions must have the shape \(count, 3\)"),
        ("exceptions", ints([0, 2, 1]).reshape(1, 3), "exceptions has an entry that is not a pair of shapes"),
        ("exceptions", ints([1, 1, 1]).reshape(1, 3), "exceptions has an entry that is not a pair of shapes"),
        ("exceptions", ints([-1, 1, 1]).reshape(1, 3), "exceptions has an entry that is not a pair of shapes"),
        ("padded", ints([0, 1]).reshape(1, 2), r"padded must have the shape \(count, 2\)"),
        ("shapes", [PLANE, PLANE], "two planes have no distance"),
    ],
)
def test_scenes(name, bad, text):
    assert _core.ContactScene(**SCENE).pair_count() == 1
    refused(text, _core.ContactScene, **SCENE | {name: bad})


def test_states_and_rays_of_a_scene():
    scene, poses = _core.ContactScene(**SCENE), np.tile(POSE, (1, 2, 1))
    rays, none = np.array([(-3.0, 0, 0, 1, 0, 0)]), ints()
    out = np.zeros((1, 5))
    scene.rays(poses, rays, none, out)
    assert out[0, 0] == pytest.approx(2.0)
    refused(r"poses must have the shape \(states, 2, 12\)", scene.run, np.tile(POSE, (1, 3, 1)), 0.0, False, 1)
    refused(r"poses must have the shape \(states, 2, 12\)", scene.run, poses[..., :11].copy(), 0.0, False, 1)
    refused(r"rays must have the shape \(count, 6\)", scene.rays, np.tile(POSE, (2, 2, 1)), rays, none, out)
    refused(r"rays must have the shape \(count, 6\)", scene.rays, poses, rays, none, np.zeros((2, 5)))
    for but in (-1, 2):
        refused("but has an entry out of range", scene.rays, poses, rays, ints(but), out)

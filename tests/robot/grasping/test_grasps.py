"""Sampled grasps: pairs of points on known shapes, poses of the hand, reach and collisions, the same for one seed."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ModelError, SoacraftError, StateError
from soacraft.robot import Robot, World

MU = 0.4


def thing(*geometries, q=None, folder=None):
    """A Panda with a frame between the tips of its fingers, and a free object."""
    mb = sc.load("panda")
    mb["attachment"].add_node("tcp", sc.Pose(translation=(0, 0, 0.12)))
    body = mb.add_body("thing", hinge=sc.Free(), inertia=sc.Inertia(0.3, moment=1e-3 * np.eye(3)))
    for x in geometries:
        body.add_geometry(x)
    mb.mesh_folder = folder or mb.mesh_folder
    start = [0, 0.3, 0, -1.9, 0, 2.2, 0.8, 0, 0, 0, 1, 0.45, 0.0, 0.3] if q is None else q
    mb.set_state(q=start)
    return Robot(mb)


def ends(grasp):
    return [np.array(x.point) for x in grasp.fingertips], [np.array(x.normal) for x in grasp.fingertips]


def check(grasp, most):
    """What holds for every grasp: the hand is midway, closes along y, and each finger is in the other's cone."""
    (a, b), (n_a, n_b) = ends(grasp)
    R, p = grasp.pose.rotation, grasp.pose.translation
    assert np.isclose(grasp.width, np.linalg.norm(b - a))
    assert 0.0 < grasp.width <= most
    assert np.allclose(p, 0.5 * (a + b))
    assert np.allclose(R[:, 1], (b - a) / grasp.width)
    assert np.allclose(R.T @ R, np.eye(3), atol=1e-12)
    assert np.linalg.det(R) > 0.0
    least = np.cos(np.arctan(MU)) - 1e-6
    assert n_a @ R[:, 1] >= least
    assert -n_b @ R[:, 1] >= least


def test_an_object_that_a_world_gave_is_taken_by_its_shape():
    """A hull has no file that tells it; the robot, and a copy of it, know it."""
    rb = thing(sc.Geometry("skin", "sphere", (0.03,)))
    w = World(rb)
    corners = 0.02 * np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, 8).T
    w.add("die", sc.contact.ConvexHull(corners), sc.Pose(translation=(0.5, 0.2, 0.3)))
    w.give_to_robot("die", sc.Inertia(0.1, moment=1e-4 * np.eye(3)))
    for one in (rb, rb.copy()):
        found = one.grasps("die", "attachment/tcp", 0.08, friction=MU, samples=40, approaches=2)
        assert len(found) > 10
        for x in found:
            check(x, 0.08)
            assert all(np.isclose(np.abs(point).max(), 0.02) for point in ends(x)[0])


def test_a_ball_is_taken_near_its_centre():
    rb = thing(sc.Geometry("skin", "sphere", (0.03,)))
    found = rb.grasps("thing", "attachment/tcp", 0.08, friction=MU, torsion=0.004, samples=60)
    assert len(found) > 100
    for x in found:
        check(x, 0.08)
        (a, b), _ = ends(x)
        assert np.isclose(np.linalg.norm(a), 0.03)
        off = np.linalg.norm(0.5 * (a + b))  # a chord whose ends are in the cones
        assert off <= 0.03 * np.sin(np.arctan(MU)) + 1e-9
    straight = [x for x in found if x.width > 0.06 - 1e-9]
    assert len(straight) >= len(found) // 3  # every second line goes through the centre
    assert found[0].quality == max(x.quality for x in found)
    # the best goes through the centre: its quality is that of two soft fingers on a diameter
    best = sc.robot.grasp_quality(found[0].fingertips, length=0.03)
    assert np.isclose(found[0].quality, best, rtol=1e-9)


def test_a_box_is_taken_by_opposite_faces_that_fit():
    rb = thing(sc.Geometry("skin", "box", (0.05, 0.07, 0.3)))
    found = rb.grasps("thing", "attachment/tcp", 0.08, friction=MU)
    axes = set()
    for x in found:
        check(x, 0.08)
        (a, b), (n_a, n_b) = ends(x)
        assert np.allclose(n_a, -n_b)
        axis = int(np.argmax(np.abs(n_a)))
        axes.add(axis)
        assert np.isclose(abs(a[axis]), [0.025, 0.035, 0.15][axis])
        assert np.isclose(a[axis], -b[axis])
    assert axes == {0, 1}
    assert found.left_out["wider than 0.08 m"] > 0
    narrow = rb.grasps("thing", "attachment/tcp", (0.06, 0.08), friction=MU)
    assert {int(np.argmax(np.abs(ends(x)[1][0]))) for x in narrow} == {1}
    assert len(rb.grasps("thing", "attachment/tcp", 0.02, friction=MU)) == 0


def _obj(path, vertices, faces):
    lines = [f"v {x} {y} {z}" for x, y, z in vertices] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]
    path.write_text("\n".join(lines) + "\n")


def test_meshes_are_taken_as_the_shapes_they_are(tmp_path):
    """A tetrahedron has no opposite faces; a box as a mesh is taken like a box."""
    _obj(tmp_path / "tetra.obj", 0.04 * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]),
         [(0, 1, 2), (0, 3, 1), (0, 2, 3), (1, 3, 2)])  # fmt: skip
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]) - 0.5
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    _obj(tmp_path / "brick.obj", corners * [0.05, 0.2, 0.2], faces)
    rb = thing(sc.Geometry("skin", "mesh", mesh="tetra.obj"), folder=tmp_path)
    assert len(rb.grasps("thing", "attachment/tcp", 0.2, friction=MU)) == 0
    for meshes in ("hull", "triangles"):
        rb = thing(sc.Geometry("skin", "mesh", mesh="brick.obj"), folder=tmp_path)
        found = rb.grasps("thing", "attachment/tcp", 0.08, friction=MU, meshes=meshes)
        assert len(found) > 50
        for x in found:
            check(x, 0.08)
            assert np.allclose(np.abs(ends(x)[1][0]), [1, 0, 0], atol=1e-9)


@pytest.mark.parametrize(
    ("kind", "size"), [("capsule", (0.02, 0.1)), ("cylinder", (0.03, 0.1)), ("ellipsoid", (0.02, 0.03, 0.05))]
)
def test_every_shape(kind, size):
    rb = thing(sc.Geometry("skin", kind, size))
    found = rb.grasps("thing", "attachment/tcp", 0.08, friction=MU, samples=60, approaches=2)
    assert len(found) > 10
    for x in found:
        check(x, 0.08)


def test_fingers_come_from_outside():
    """Two plates 2 cm apart: a finger that would have to be between them is not offered where it cannot get there; the
    pair is taken from outside, or one plate with a finger in the gap where the gripper opens so far only."""
    plates = [sc.Geometry(f"p{s}", "box", (0.01, 0.2, 0.2), sc.Pose(translation=(s * 0.02, 0, 0))) for s in (-1, 1)]
    rb = thing(*plates)
    both = rb.grasps("thing", "attachment/tcp", 0.08, friction=MU)
    assert {round(abs(ends(x)[0][0][0]), 6) for x in both} == {0.025}
    one = rb.grasps("thing", "attachment/tcp", 0.02, friction=MU)
    assert len(one) > 0
    assert {round(abs(p[0]), 6) for x in one for p in ends(x)[0]} == {0.025, 0.015}


def test_what_is_welded_to_the_object_is_part_of_it():
    rb = thing(sc.Geometry("skin", "box", (0.2, 0.2, 0.02)))
    knob = rb.mb.add_body("knob", "thing", sc.Weld(), inboard=sc.Pose(translation=(0, 0, 0.04)))
    knob.add_geometry(sc.Geometry("skin", "cylinder", (0.01, 0.06)))
    found = rb.grasps("thing", "attachment/tcp", 0.025, friction=MU, samples=2000)
    assert any(np.isclose(x.width, 0.02) and x.pose.translation[2] > 0.01 for x in found)  # by the knob
    assert any(np.isclose(x.pose.translation[2], 0.0, atol=1e-9) for x in found)  # and by the plate


def test_the_same_seed_gives_the_same_grasps():
    rb = thing(sc.Geometry("skin", "box", (0.05, 0.07, 0.3)))
    a, b, c = (rb.grasps("thing", "attachment/tcp", 0.08, samples=50, seed=s) for s in (3, 3, 4))
    assert [x.pose for x in a] == [x.pose for x in b]
    assert [x.pose for x in a] != [x.pose for x in c]


def test_other_axes_of_the_hand():
    rb = thing(sc.Geometry("skin", "sphere", (0.03,)))
    for axes in ("xy", "xz", "yx", "yz", "zx", "zy"):
        for x in rb.grasps("thing", "attachment/tcp", 0.08, axes=axes, samples=10, approaches=3):
            (a, b), _ = ends(x)
            R = x.pose.rotation
            assert np.allclose(R[:, "xyz".index(axes[0])], (b - a) / x.width)
            assert np.isclose(np.linalg.det(R), 1.0)


def test_what_is_reached_is_there_and_free():
    rb = thing(sc.Geometry("skin", "cylinder", (0.03, 0.12)))
    mb = rb.mb
    rb.limb("arm", "inertial", "attachment/tcp")
    w = World(rb)
    w.add("table", sc.contact.Box(0.5, 1.0, 0.02), sc.Pose(translation=(0.6, 0, 0.22)))
    found = rb.grasps("thing", "attachment/tcp", 0.08, torsion=0.005, world=w, samples=40)
    good = found.good
    assert 5 < len(good) < len(found)
    assert [x.quality for x in good] == sorted((x.quality for x in good), reverse=True)
    for x in good[::5]:
        state = mb.state(x.q)
        assert mb.pose("attachment/tcp", "thing", state=state).is_close(x.pose, 1e-6)
        assert not w.touching(x.q)
    bad = next(x for x in found if x.why.startswith("touches"))
    assert w.collides(bad.q)
    assert f"{len(good)} of {len(found)} grasps of 'thing' by 'attachment/tcp'" in repr(found)
    assert "touches" in repr(found)
    far = thing(sc.Geometry("skin", "sphere", (0.03,)), q=[0] * 7 + [0, 0, 0, 1, 5.0, 0, 0])
    far.limb("arm", "inertial", "attachment/tcp")
    none = far.grasps("thing", "attachment/tcp", 0.08, samples=10, approaches=1)
    assert len(none) > 0
    assert all(x.why.startswith("out of reach") and x.q is None for x in none)


def test_what_is_farther_out_than_the_fingers_touches_unless_it_is_told_to_be_of_the_hand():
    """A finger of two links with a ball on its tip, where the object is."""
    rb = thing(sc.Geometry("skin", "sphere", (0.03,)))
    mb = rb.mb
    for name, parent in (("finger", "attachment"), ("tip", "finger")):
        mb.add_body(name, parent, sc.Pin((0, 1, 0)), sc.Inertia(0.01, moment=1e-5 * np.eye(3)))
    at = mb.pose("attachment/tcp", "tip")
    mb["tip"].add_geometry(sc.Geometry("ball", "sphere", (0.01,), at, role="collision"))
    rb.limb("arm", "inertial", "attachment/tcp")
    w = World(rb)
    w.allow("tip", "link7")

    def touched():
        found = rb.grasps("thing", "attachment/tcp", 0.08, world=w, samples=20, approaches=2)
        return [x.why for x in found if x.q is not None]

    before = touched()
    assert before
    assert all(x.startswith("touches: ") and "tip/ball" in x for x in before)
    rb.hand("hand", "attachment")
    assert not any("tip/ball - thing" in x or "thing/skin - tip" in x for x in touched())
    assert "" in touched()


def test_what_is_refused():
    rb = thing()
    arm = rb.limb("arm", "inertial", "attachment")
    with pytest.raises(ModelError, match="'thing' has no shape that could be touched"):
        rb.grasps("thing", "attachment/tcp", 0.08)
    rb.mb["thing"].add_geometry(sc.Geometry("floor", "plane"))
    with pytest.raises(ModelError, match="'thing' has a shape without end"):
        rb.grasps("thing", "attachment/tcp", 0.08)
    with pytest.raises(StateError, match=r"width of grasps is how far the gripper opens, or \(least, most\), got"):
        rb.grasps("thing", "attachment/tcp", (0.1, 0.05))
    with pytest.raises(StateError, match="grasps by two fingers need friction, got friction=0"):
        rb.grasps("thing", "attachment/tcp", 0.08, friction=0.0)
    with pytest.raises(StateError, match="axes of grasps names the hand's axis"):
        rb.grasps("thing", "attachment/tcp", 0.08, axes="zz")
    with pytest.raises(ModelError, match="limb 'arm' ends in 'attachment', not in the hand 'attachment/tcp'"):
        rb.grasps("thing", "attachment/tcp", 0.08, limb=arm)
    with pytest.raises(ModelError, match=r"give limb=... with world=..."):
        rb.grasps("thing", "attachment/tcp", 0.08, world=World(Robot(sc.load("panda"))))
    with pytest.raises(ModelError, match="'link3' cannot be taken by 'attachment/tcp', which is a part of it"):
        rb.grasps("link3", "attachment/tcp", 0.08)
    with pytest.raises(ModelError, match="an object is a body of the model"):
        rb.grasps("attachment/tcp", "link3", 0.08)


def test_a_gripper_that_opens_as_far_as_it_takes():
    """Without a width, as with one that is wider than the object; of equal quality those at the middle come first."""
    rb = thing(sc.Geometry("skin", "box", (0.05, 0.06, 0.2)))
    ways = rb.grasps("thing", "attachment/tcp", friction=MU, samples=60)
    wide = rb.grasps("thing", "attachment/tcp", 1e300, friction=MU, samples=60)
    assert len(ways) == len(wide) > 0
    assert all((a.pose.translation == b.pose.translation).all() for a, b in zip(ways, wide, strict=True))
    assert max(x.quality for x in ways) == 0.0  # two points do not stop a turn
    off = [np.linalg.norm(x.pose.translation) for x in ways]
    assert off == sorted(off)
    assert off[0] < 0.5 * off[-1]


def test_seeds_limbs_widths_and_counts_that_are_none_are_refused():
    rb = thing(sc.Geometry("skin", "box", (0.05, 0.06, 0.2)))
    for wrong, what in (({"seed": -1}, "the seed of grasps must be"), ({"limb": 5}, "limb of grasps is a Limb"),
                        ({"samples": 10**30}, "samples of grasps must be a whole number from 1"),
                        ({"width": [[1], [2, 3]]}, "width of grasps must be an array"),
                        ({"width": (0.1, 0.2, 0.3)}, "width of grasps is how far the gripper opens"),
                        ({"meshes": np.zeros(2)}, "meshes of grasps is a word")):  # fmt: skip
        with pytest.raises(SoacraftError, match=what):
            rb.grasps("thing", "attachment/tcp", **wrong)

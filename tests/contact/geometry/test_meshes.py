"""Convex hulls, triangle meshes and height fields, the hostile ones too."""

from __future__ import annotations

import pickle
import struct
import time

import numpy as np
import pytest
from tests.contact.geometry.shapes import bumpy_sphere, random_pose, random_shape, unit_vectors

from soacraft.contact import (
    Box,
    Capsule,
    ConvexHull,
    HeightField,
    Plane,
    Sphere,
    TriangleMesh,
    cast_rays,
    contacts,
    distance,
)
from soacraft.contact.geometry.mesh_files import read_mesh
from soacraft.errors import ModelError, ModelFileError
from soacraft.spatial import Pose

CUBE = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
FACES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
TRIANGLES = np.array([t for a, b, c, d in FACES for t in ((a, b, c), (a, c, d))])


def at(x: float, y: float, z: float) -> Pose:
    return Pose(translation=(x, y, z))


def cube(**changes) -> TriangleMesh:
    return TriangleMesh(changes.get("vertices", CUBE), changes.get("triangles", TRIANGLES))


def test_a_hull_of_a_cube_is_the_box():
    """Of its points, points on its faces and inside; triangles of one face are one."""
    rng = np.random.default_rng(0)
    hull, box = ConvexHull(np.concatenate([CUBE, 0.9 * CUBE, [(0.3, 0.2, 1.0)]])), Box(2, 2, 2)
    assert repr(hull) == "ConvexHull(8 vertices, 6 faces)"
    for spread in (2.0, 1.0, 0.3):
        for kind in ("sphere", "capsule", "box", "cylinder", "ellipsoid"):
            other, pose = random_shape(kind, rng), random_pose(rng, spread)
            assert distance(hull, Pose(), other, pose).distance == pytest.approx(
                distance(box, Pose(), other, pose).distance, abs=1e-11
            )


def test_a_hull_of_many_points_climbs_to_the_farthest():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 3))
    points = x / np.linalg.norm(x, axis=1)[:, None]
    hull = ConvexHull(points)
    for _ in range(30):
        n = rng.normal(size=3)
        n /= np.linalg.norm(n)
        found = distance(hull, Pose(), Sphere(0.1), Pose(translation=4.0 * n))
        apart = (points @ found.normal).max()
        assert found.distance == pytest.approx(found.normal @ (4.0 * n) - apart - 0.1, abs=1e-9)


def test_a_mesh_of_a_cube_is_the_box():
    mesh, box = cube(), Box(2, 2, 2)
    assert mesh.closed
    rng = np.random.default_rng(3)
    for kind in ("sphere", "capsule", "box", "cylinder", "ellipsoid", "hull"):
        for n in ((1.0, 0.2, 0.1), (0.1, -1.0, 0.3), (0.6, 0.5, 0.7)):
            other = random_shape(kind, rng)
            pose = Pose(random_pose(rng, 0).rotation, 2.5 * np.array(n))
            one, two = distance(mesh, Pose(), other, pose), distance(box, Pose(), other, pose)
            assert one.distance == pytest.approx(two.distance, abs=1e-9)
            assert one.normal == pytest.approx(two.normal, abs=1e-4)


@pytest.mark.parametrize("other", [Sphere(0.3), Capsule(0.2, 0.5), Box(0.5, 0.5, 0.5)], ids=lambda x: x.kind)
def test_in_a_closed_mesh_shapes_are_pushed_out_through_the_nearest_face(other):
    """On the surface from outside, with the middle inside, wholly inside."""
    for z in (1.2, 1.0, 0.9, 0.7, 0.5):
        pose = at(0.1, 0.05, z)
        one, two = distance(cube(), Pose(), other, pose), distance(Box(2, 2, 2), Pose(), other, pose)
        assert one.distance == pytest.approx(two.distance, abs=1e-9), z
        assert one.normal == pytest.approx([0, 0, 1], abs=1e-9)


def test_a_fine_mesh_of_a_ball_is_its_hull():
    """Small spheres deep inside, near the skin, across it and outside: 400 triangles, most of them not looked at."""
    around, up = np.meshgrid(2 * np.pi * np.arange(20) / 20, np.pi * np.arange(1, 11) / 11)
    rings = np.stack([np.sin(up) * np.cos(around), np.sin(up) * np.sin(around), np.cos(up)], axis=-1).reshape(-1, 3)
    points = np.concatenate([rings, [(0, 0, 1), (0, 0, -1)]])
    triangles = [(200, i, (i + 1) % 20) for i in range(20)] + [(201, 180 + (i + 1) % 20, 180 + i) for i in range(20)]
    for row in range(9):
        for i in range(20):
            a, b, c, d = (20 * (row + k) + (i + j) % 20 for k, j in ((0, 0), (0, 1), (1, 1), (1, 0)))
            triangles += [(a, d, c), (a, c, b)]
    mesh, hull = TriangleMesh(points, triangles), ConvexHull(points)
    assert mesh.closed
    rng = np.random.default_rng(4)
    for radius in (0.3, 0.7, 0.9, 1.0, 1.05, 1.3):
        for n in unit_vectors(rng, 4):
            pose = Pose(translation=radius * n)
            one, two = distance(mesh, Pose(), Sphere(0.04), pose), distance(hull, Pose(), Sphere(0.04), pose)
            assert one.distance == pytest.approx(two.distance, abs=1e-9), (radius, n)
            assert one.normal == pytest.approx(two.normal, abs=1e-6)


@pytest.mark.parametrize("other", [Sphere(0.1), Capsule(0.1, 0.4)], ids=lambda x: x.kind)
def test_what_has_its_middle_in_the_plane_of_a_triangle_is_pushed_off_it(other):
    """No thickness between the triangle and the axis: out along the normal, from points that are one but for it."""
    rng = np.random.default_rng(6)
    corners = np.array([(-1.0, -0.9, 0.0), (1.2, -0.8, 0.0), (0.1, 1.1, 0.0)])
    mesh = TriangleMesh(corners, [(0, 1, 2)])
    for _ in range(6):
        x, y = rng.uniform(-0.2, 0.3, 2)
        pose = Pose.from_rpy(np.pi / 2, 0.0, 0.0, (x, y, 0.0)) @ Pose.from_rpy(0.0, rng.uniform(-3, 3), 0.0, (0, 0, 0))
        found = distance(mesh, Pose(), other, pose)
        assert found.distance == pytest.approx(-0.1, abs=1e-9)
        assert np.abs(found.normal) == pytest.approx([0, 0, 1], abs=1e-9)
        assert found.point_b - found.point_a == pytest.approx(found.distance * found.normal, abs=1e-8)
        off = distance(Sphere(0.0), Pose(translation=found.point_b), other, pose).distance
        assert off == pytest.approx(0, abs=1e-8)


def test_a_box_rests_on_a_mesh_by_the_corners_of_its_face():
    found = contacts(cube(), Pose(), Box(1, 1, 1), at(0.1, 0.2, 1.499))
    wanted = {(x, y) for x in (-0.4, 0.6) for y in (-0.3, 0.7)}
    assert wanted <= {tuple(x) for x in found.point_b[:, :2].round(9).tolist()}
    assert found.distance == pytest.approx(np.full(len(found.distance), -1e-3), abs=1e-9)
    assert found.normal == pytest.approx(np.tile([0, 0, 1], (len(found.normal), 1)), abs=1e-9)


def test_a_mesh_far_from_its_own_origin_is_judged_by_its_own_size():
    """A cube of 2 mm, its vertices given ten kilometres away: the corners of its face over a box a micrometre below."""
    away = np.array([3e3, -8e3, 5e3])
    far = cube(vertices=1e-3 * CUBE + away)
    found = contacts(Box(1, 1, 1), at(*(away - (0, 0, 0.501 + 1e-6))), far, Pose(), within=1e-5)
    corners = {tuple(x) for x in (found.point_b - away)[:, :2].round(6).tolist()}
    assert corners >= {(x, y) for x in (-0.001, 0.001) for y in (-0.001, 0.001)}
    assert found.distance == pytest.approx(np.full(len(found.distance), 1e-6), abs=1e-11)


def test_an_inverted_mesh_is_turned_and_an_open_one_has_two_sides():
    inverted = cube(triangles=TRIANGLES[:, ::-1])
    assert inverted.inverted
    assert inverted.closed
    assert "was inside out" in repr(inverted)
    assert distance(inverted, Pose(), Sphere(0.1), at(0, 0, 0.8)).distance == pytest.approx(-0.3)
    open_ = cube(triangles=TRIANGLES[1:])
    assert not open_.closed
    assert "open, two-sided" in repr(open_)
    assert distance(open_, Pose(), Sphere(0.1), at(0, 0, 0.8)).distance == pytest.approx(0.1)
    torn = cube(triangles=np.concatenate([TRIANGLES[:1, ::-1], TRIANGLES[1:]]))  # one triangle looks the other way
    assert not torn.closed


def test_degenerate_triangles_are_left_out_and_counted():
    mesh = cube(triangles=np.concatenate([TRIANGLES, [(0, 0, 1), (2, 2, 2)]]))
    assert (mesh.dropped, mesh.closed) == (2, True)
    thin = np.concatenate([CUBE, [(-1.0, -1.0, 0.0)]])  # on the edge from 0 to 1: a triangle without height
    sliver = TriangleMesh(thin, np.concatenate([TRIANGLES, [(0, 1, 8)]]))
    assert sliver.dropped == 1
    assert distance(sliver, Pose(), Sphere(0.1), at(0, 0, 2)).distance == pytest.approx(0.9)


def test_vertices_of_no_triangle_are_no_part_of_a_mesh():
    stray = cube(vertices=np.concatenate([CUBE, [(0.0, 0.0, -50.0)]]))
    assert len(stray.vertices) == 8
    assert stray == cube()
    assert distance(Plane(), Pose(), stray, at(0, 0, 2)).distance == pytest.approx(1.0)


def test_vertices_in_one_place_are_joined():
    soup = CUBE[TRIANGLES].reshape(-1, 3)
    mesh = TriangleMesh(soup, np.arange(36).reshape(-1, 3))
    assert mesh.closed
    assert len(mesh.vertices) == 8


@pytest.mark.parametrize("rows", [100, pytest.param(750, marks=pytest.mark.slow)])
def test_a_query_of_many_triangles_looks_at_few(rows):
    """Ground of 20,000 and of 1.1 million triangles."""
    x = np.linspace(-1, 1, rows)
    field = HeightField(0.1 * np.sin(3 * x)[:, None] * np.cos(4 * x), 2.0, 2.0)
    found = distance(field, Pose(), Sphere(0.05), at(0.11, 0.07, 0.5), within=1.0)
    down = cast_rays(field, Pose(), (0.11, 0.07, 0.5), (0, 0, -1))
    assert 0.0 < found.distance <= down.distance - 0.05
    assert down.point[2] == pytest.approx(0.1 * np.sin(3 * 0.07) * np.cos(4 * 0.11), abs=2e-4)


def test_a_flat_height_field_is_a_box():
    field, box = HeightField(np.zeros((5, 4)), 4.0, 6.0, bottom=-1.0), Box(4, 6, 1)
    rng = np.random.default_rng(4)
    for kind in ("sphere", "capsule", "box", "hull"):
        other, pose = random_shape(kind, rng), Pose(random_pose(rng, 0).rotation, (0.3, -0.4, 1.5))
        one = distance(field, Pose(), other, pose)
        assert one.distance == pytest.approx(distance(box, at(0, 0, -0.5), other, pose).distance, abs=1e-9)
    resting = contacts(field, Pose(), Box(1, 1, 1), at(0.1, 0.2, 0.4999))
    corners = {tuple(x) for x in resting.point_b[:, :2].round(9).tolist()}
    assert corners >= {(-0.4, -0.3), (0.6, -0.3), (-0.4, 0.7), (0.6, 0.7)}
    assert resting.distance.min() == pytest.approx(-1e-4, abs=1e-9)


def test_rows_go_along_y_and_columns_along_x():
    field = HeightField([[0.0, 1.0], [2.0, 3.0]], x=2.0, y=2.0)
    for x, y, z in ((-0.999, -0.999, 0.0), (0.999, -0.999, 1.0), (-0.999, 0.999, 2.0), (0.999, 0.999, 3.0)):
        assert cast_rays(field, Pose(), (x, y, 9), (0, 0, -1)).point[2] == pytest.approx(z, abs=5e-3)


def test_a_mesh_lies_on_a_plane_by_its_lowest_vertices():
    found = contacts(Plane(), Pose(), cube(), at(0, 0, 0.999))
    assert {tuple(x) for x in found.point_b[:, :2].tolist()} == {(x, y) for x in (-1.0, 1.0) for y in (-1.0, 1.0)}
    assert found.distance == pytest.approx(np.full(4, -1e-3))
    assert distance(cube(), at(0, 0, 0.999), Plane(), Pose()).normal == pytest.approx([0, 0, -1])


def test_shapes_are_equal_by_value_and_can_be_copied():
    field = HeightField([[0, 1], [2, 3.0]], 1.0, 2.0)
    for shape in (cube(), ConvexHull(CUBE), field, Box(1, 2, 3), Plane(), Capsule(1, 2)):
        other = pickle.loads(pickle.dumps(shape))
        assert other == shape
        assert hash(other) == hash(shape)
    assert cube() != cube(vertices=2.0 * CUBE)


def test_copies_give_the_same_bits():
    """Also of a hull of points some of which are inside, and of a mesh that lost triangles it was closed by."""
    rng = np.random.default_rng(3)
    hull = ConvexHull(rng.normal(size=(300, 3)))
    flat = TriangleMesh([*CUBE[:3], CUBE[4], 0.5 * (CUBE[0] + CUBE[1])],
                        [(0, 3, 1), (0, 2, 3), (1, 3, 2), (0, 1, 4), (0, 4, 2), (4, 1, 2)])  # fmt: skip
    assert (flat.closed, flat.dropped) == (True, 1)
    for shape in (hull, flat):
        other = pickle.loads(pickle.dumps(shape))
        assert repr(other) == repr(shape)
        for _ in range(20):
            where = random_pose(rng, 3.0)
            one, two = (distance(x, Pose(), Capsule(0.1, 0.3), where) for x in (shape, other))
            assert (one.distance, *one.normal) == (two.distance, *two.normal)


def test_refusals_name_what_is_wrong():
    with pytest.raises(ModelError, match=r"the 8 points of a ConvexHull are in a plane.*thin Box"):
        ConvexHull(CUBE * [1, 1, 0])
    with pytest.raises(ModelError, match="needs at least 4 points"):
        ConvexHull(CUBE[:3])
    with pytest.raises(ModelError, match="names vertex 8, but there are 8"):
        cube(triangles=[(0, 1, 8)])
    with pytest.raises(ModelError, match=r"whole numbers of shape \(any, 3\)"):
        cube(triangles=[(0.5, 1, 2)])
    with pytest.raises(ModelError, match="needs a triangle with area"):
        cube(triangles=[(0, 0, 1)])
    with pytest.raises(ModelError, match="the vertices of a TriangleMesh must be finite"):
        cube(vertices=CUBE * np.nan)
    with pytest.raises(ModelError, match="at least 2 x 2 heights, got 1 x 2"):
        HeightField([[0.0, 1.0]], 1.0, 1.0)
    with pytest.raises(ModelError, match="bottom of a HeightField must be below"):
        HeightField(np.zeros((2, 2)), 1.0, 1.0, bottom=0.0)


def binary_stl(points: np.ndarray) -> bytes:
    rows = b"".join(struct.pack("<12fH", 0, 0, 0, *map(float, t.ravel()), 0) for t in points)
    return b" " * 80 + struct.pack("<I", len(points)) + rows


def text_stl(points: np.ndarray) -> bytes:
    lines = ["solid cube"]
    for t in points:
        lines += ["facet normal 0 0 0", "outer loop", *(f"vertex {x} {y} {z}" for x, y, z in t), "endloop", "endfacet"]
    return "\n".join([*lines, "endsolid"]).encode()


def obj() -> bytes:
    lines = [f"v {x} {y} {z}" for x, y, z in CUBE] + ["f " + " ".join(f"{i + 1}/1/1" for i in face) for face in FACES]
    return "\n".join(lines).encode()


FILES = [(".stl", binary_stl(CUBE[TRIANGLES])), (".stl", text_stl(CUBE[TRIANGLES])), (".OBJ", obj())]


@pytest.mark.parametrize(("suffix", "data"), FILES, ids=["binary", "text", "obj"])
def test_files_are_read(tmp_path, suffix, data):
    file = tmp_path / f"cube{suffix}"
    file.write_bytes(data)
    mesh = TriangleMesh(*read_mesh(file, "cube"))
    assert mesh.closed
    assert len(mesh.triangles) == 12


def test_vertices_of_obj_files_may_have_a_weight_or_a_colour(tmp_path):
    file = tmp_path / "a.obj"
    file.write_text("v 0 0 0 1\nv 1 0 0 0.5 0.5 0.5  # red\nv 0 1 0\nf 1 2 -1\n")
    points, triangles = read_mesh(file, "a")
    assert points.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert triangles.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize(("name", "data", "text"), [
    ("a.stl", b" " * 80 + b"\xff\xff\xff\x7f" + b"x" * 50, "cannot be read as STL: its length is 134 bytes"),
    ("a.stl", b"", "cannot be read as STL"),
    ("a.stl", b"solid x\nvertex 1 2\n", "cannot be read as STL"),
    ("a.stl", binary_stl(np.full((1, 3, 3), np.nan)), "a vertex that is not finite"),
    ("a.obj", b"v 0 0 0\nf 1 2 3\n", "cannot be read as OBJ: a face names vertex 3 of 1"),
    ("a.obj", b"v 0 0 0\n", "has no triangle"),
    ("a.obj", b"v 0 zero 0\n", "cannot be read as OBJ"),
    ("a.obj", b"v 0 0\nv 1 0\nv 0 1\nf 1 2 3\n", "cannot be read as OBJ: a vertex has not three numbers but 2"),
    ("a.obj", b"v 0 0 0 1 1\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "a vertex has not three numbers but 5"),
    ("a.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 0 1 2\n", "a face names vertex 0; they count from 1"),
    ("a.obj", obj() + b"\nf 1 2\n", "cannot be read as OBJ: a face has 2 corners; three or more make one"),
    ("a.obj", obj() + b"\nf 1\n", "cannot be read as OBJ: a face has 1 corner; three or more make one"),
    ("a.obj", obj() + b"\nf\n", "cannot be read as OBJ: a face has 0 corners; three or more make one"),
    ("a.stl", text_stl(CUBE[TRIANGLES]).replace(b"vertex 1.0", b"vertex"), "a vertex has not three numbers but 2"),
    ("a.stl", text_stl(CUBE[TRIANGLES])[:-9], "does not end with endsolid"),
    ("a.dae", b"<x/>", "only .stl and .obj files are read"),
])  # fmt: skip
def test_hostile_files_are_refused(tmp_path, name, data, text):
    file = tmp_path / name
    file.write_bytes(data)
    with pytest.raises(ModelFileError, match=text):
        read_mesh(file, name)


@pytest.mark.parametrize(("suffix", "data"), FILES[1:], ids=["text", "obj"])
def test_text_of_more_than_the_limit_is_refused(tmp_path, monkeypatch, suffix, data):
    file = tmp_path / f"cube{suffix}"
    file.write_bytes(data)
    monkeypatch.setattr("soacraft.contact.geometry.mesh_files.LARGEST_TEXT", 100)
    with pytest.raises(ModelFileError, match="bytes of text, and 100 is the most; make it coarser"):
        read_mesh(file, "cube")


def test_a_sphere_that_meets_thousands_of_triangles():
    """The way out leaves it clear, and is known after a time that grows with the triangles that meet, not with their
    square: 11 ms, where all pushes with all triangles take 1.4 s."""
    mesh, ball, here = bumpy_sphere(200, 100), Sphere(0.4), at(0.1, 0.0, 0.05)
    begin = time.process_time()
    out = distance(mesh, Pose(), ball, here)
    assert time.process_time() - begin < 0.4
    assert out.distance < -0.4                            # from 0.5 and 0.65 of the mesh
    for part, clear in ((1.0 + 1e-5, True), (0.9, False)):
        moved = Pose(translation=here.translation - part * out.distance * out.normal)
        assert (distance(mesh, Pose(), ball, moved).distance > 0.0) == clear


def test_meshes_that_reach_too_far_are_refused_before_anything_overflows():
    corners = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]) * 1e200
    for make in (ConvexHull, lambda x: TriangleMesh(x, [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)])):
        with pytest.raises(ModelError, match=r"reaches 1e\+200 m from its origin"):
            make(corners)

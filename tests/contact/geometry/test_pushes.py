"""Meshes in penetration: the shortest push that clears them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contact.geometry.shapes import (
    CONVEX,
    bumpy_sphere,
    convex_mesh,
    random_points,
    random_pose,
    random_shape,
)

from soacraft.contact import Box, Capsule, ConvexHull, HeightField, Sphere, TriangleMesh, contacts, distance
from soacraft.spatial import Pose

CUBE = np.array([(x, y, z) for x in (-0.4, 0.4) for y in (-0.4, 0.4) for z in (-0.4, 0.4)])
DEPTHS = (0.001, 0.02, 0.1, 0.25)


def pushed_in(a, b, rng: np.random.Generator, depth: float) -> Pose:
    """A random pose of b, moved along the normal of the nearest points until it is in a by a depth."""
    pose = random_pose(rng, 0.0)
    away = rng.normal(size=3)
    away *= 3.0 / np.linalg.norm(away)
    far = distance(a, Pose(), b, Pose(pose.rotation, away))
    return Pose(pose.rotation, away - (far.distance + depth) * far.normal)


@pytest.mark.parametrize("kind", CONVEX)
def test_a_convex_mesh_is_as_deep_in_a_shape_as_its_hull(kind):
    """Over faces, edges and corners: by the depth of the hull, which is the greatest separation over all directions."""
    rng = np.random.default_rng(CONVEX.index(kind))
    for depth in DEPTHS:
        for points in (CUBE, random_points(rng), random_points(rng)):
            mesh, hull, other = convex_mesh(points), ConvexHull(points), random_shape(kind, rng)
            pose = pushed_in(hull, other, rng, depth)
            found, wanted = distance(mesh, Pose(), other, pose), distance(hull, Pose(), other, pose)
            assert found.distance == pytest.approx(wanted.distance, abs=1e-8)
            assert found.normal @ (found.point_b - found.point_a) == pytest.approx(found.distance, abs=1e-8)
            assert contacts(mesh, Pose(), other, pose).distance[0] == pytest.approx(wanted.distance, abs=1e-8)


def test_convex_meshes_are_as_deep_in_each_other_as_their_hulls():
    rng = np.random.default_rng(9)
    for depth in DEPTHS:
        for first, second in ((CUBE, CUBE * [0.5, 1.0, 1.2]), (random_points(rng), CUBE), (CUBE, random_points(rng)),
                              (random_points(rng), random_points(rng))):  # fmt: skip
            hulls, meshes = [ConvexHull(x) for x in (first, second)], [convex_mesh(x) for x in (first, second)]
            pose = pushed_in(*hulls, rng, depth)
            one, wanted = distance(meshes[0], Pose(), meshes[1], pose), distance(hulls[0], Pose(), hulls[1], pose)
            assert one.distance == pytest.approx(wanted.distance, abs=1e-9)
            other = distance(meshes[1], pose, meshes[0], Pose())
            assert other.distance == one.distance
            assert (other.normal == -one.normal).all()
            far = Pose(pose.rotation, pose.translation + (0.2 - wanted.distance) * wanted.normal)
            assert distance(meshes[0], Pose(), meshes[1], far).distance == pytest.approx(0.2, abs=1e-9)


@pytest.mark.parametrize("axis", range(3))
def test_long_meshes_meet_with_their_ends(axis):
    """A rod along each of its axes, of many triangles, and a plank, turned at random, with an end near the other: the
    boxes around their triangles turn with them."""
    rng = np.random.default_rng(axis)
    along = np.linspace(-5.0, 5.0, 21)
    others = [i for i in range(3) if i != axis]
    points = np.zeros((4 * len(along), 3))
    points[:, axis] = np.repeat(along, 4)
    points[:, others] = np.tile([(-0.1, -0.1), (0.1, -0.1), (0.1, 0.1), (-0.1, 0.1)], (len(along), 1))
    ring = np.arange(4 * (len(along) - 1)).reshape(-1, 4)
    a, b = ring, np.roll(ring, -1, axis=1)
    sides = np.concatenate([np.stack(x, axis=-1).reshape(-1, 3) for x in ((a, b, b + 4), (a, b + 4, a + 4))])
    last = 4 * (len(along) - 1)
    rod = TriangleMesh(points, np.concatenate([sides, [(0, 2, 1), (0, 3, 2)], last + np.array([(0, 1, 2), (0, 2, 3)])]))
    corners = CUBE * np.roll([0.3, 1.0, 4.0], axis)
    hull, plank = ConvexHull(points), convex_mesh(corners)
    for _ in range(6):
        turned = random_pose(rng, 0.0)
        end = turned.rotation[:, axis] * rng.choice([-5.05, 5.05])
        pose = Pose(turned.rotation, rng.uniform(-0.3, 0.3, 3) - 1.2 * end)
        wanted = distance(ConvexHull(corners), pose, hull, Pose())
        for within in (np.inf, wanted.distance + 1e-6):
            found = distance(plank, pose, rod, Pose(), within=within)
            assert found.distance == pytest.approx(wanted.distance, abs=1e-9)


def test_a_mesh_on_a_mesh_rests_on_the_corners_of_the_overlap():
    box = convex_mesh(CUBE)
    found = contacts(box, Pose(), box, Pose(translation=(0.3, 0.1, 0.799)))
    wanted = {(x, y, 0.399) for x in (-0.1, 0.4) for y in (-0.3, 0.4)}
    assert wanted <= {tuple(x) for x in found.point_b.round(9).tolist()}
    assert found.distance == pytest.approx(np.full(len(found.distance), -1e-3), abs=1e-9)
    assert found.normal == pytest.approx(np.tile([0, 0, 1], (len(found.normal), 1)), abs=1e-9)


@pytest.mark.parametrize("second", ["mesh", "sphere", "box"])
def test_the_push_clears_shapes_that_are_not_convex(second):
    """Moved along its normals by its depths, the second shape no longer meets the first; a tenth less does not do."""
    rng, a = np.random.default_rng(12), bumpy_sphere(16, 8)
    seen = 0
    for _ in range(12):
        b = a if second == "mesh" else random_shape(second, rng)
        pose = Pose(random_pose(rng, 0).rotation, rng.normal(size=3) * 0.5)
        found = distance(a, Pose(), b, pose)
        if found.distance >= 0.0:
            continue
        out = Pose(pose.rotation, pose.translation - (found.distance - 1e-6) * found.normal)
        if distance(a, Pose(), b, out).distance < 0.0:                       # it needs more than one push
            continue
        seen += 1
        less = Pose(pose.rotation, pose.translation - 0.9 * found.distance * found.normal)
        assert distance(a, Pose(), b, less).distance < 0.0
    assert seen > 3


def test_a_small_shape_inside_a_solid_leaves_by_the_nearest_skin():
    box, small = convex_mesh(CUBE), 0.1 * CUBE
    there = Pose(translation=(0.05, 0.2, -0.1))
    for inner in (convex_mesh(small), ConvexHull(small), Box(0.08, 0.08, 0.08)):
        found = distance(box, Pose(), inner, there)
        assert found.distance == pytest.approx(-0.24)
        assert found.normal == pytest.approx([0, 1, 0])
        assert distance(inner, there, box, Pose()).normal == pytest.approx([0, -1, 0])


def test_a_ball_in_a_valley_touches_both_slopes():
    """A valley with slopes of 45 degrees, along y: two contacts, each along the normal of its slope."""
    valley = HeightField([[1.0, 0.0, 1.0], [1.0, 0.0, 1.0]], x=2.0, y=2.0)
    up = 0.3 * np.sqrt(2.0) - 0.01
    found = contacts(valley, Pose(), Sphere(0.3), Pose(translation=(0, 0.1, up)))
    depth = 0.01 * np.sqrt(0.5)
    for way in (-1, 1):
        n = np.array([way, 0, 1]) * np.sqrt(0.5)
        there = found.distance[found.normal @ n > 1 - 1e-9]
        assert there.min() == pytest.approx(-depth, abs=1e-9)


def test_flat_ground_of_many_triangles_pushes_straight_up():
    """No triangle next to the one below a ball tilts the normal; the ball's middle is over or under the ground."""
    ground = HeightField(np.zeros((21, 21)), 2.0, 2.0, bottom=-5.0)
    for height in (0.29, 0.2, 0.05, -0.05):
        for shape in (Sphere(0.3), Capsule(0.3, 0.2)):
            low = height - (0.1 if shape.kind == "capsule" else 0.0) - 0.3
            found = contacts(ground, Pose(), shape, Pose(translation=(0.13, 0.02, height)))
            assert found.distance.min() == pytest.approx(low, abs=1e-9)
            assert found.normal == pytest.approx(np.tile([0, 0, 1], (len(found.normal), 1)), abs=1e-9)


def test_a_pole_through_an_open_sheet_leaves_on_the_side_of_its_middle():
    sheet = TriangleMesh([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], [(0, 1, 2), (0, 2, 3)])
    for side in (1, -1):
        found = distance(sheet, Pose(), Box(0.2, 0.2, 1.0), Pose(translation=(0.1, -0.2, side * 0.45)))
        assert found.distance == pytest.approx(-0.05)
        assert found.normal == pytest.approx([0, 0, side])

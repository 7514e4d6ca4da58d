"""Several points of contact of a pair: faces that lie on each other, edges, rims."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contact.geometry.shapes import PAIRS, random_pose, random_shape

from soacraft.contact import Box, Capsule, ConvexHull, Cylinder, Ellipsoid, Plane, Sphere, contacts, distance
from soacraft.spatial import Pose

CUBE = [(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)]


def at(x: float, y: float, z: float) -> Pose:
    return Pose(translation=(x, y, z))


def corners(found, digits: int = 9) -> set[tuple[float, ...]]:
    return {tuple(x) for x in (found.point_b + 0.0).round(digits).tolist()}


def test_a_box_rests_on_a_plane_by_four_corners():
    found = contacts(Plane(), Pose(), Box(2, 4, 6), at(0.5, 0, 3.0 - 1e-4))
    assert corners(found) == {(x, y, -1e-4) for x in (-0.5, 1.5) for y in (-2.0, 2.0)}
    assert found.distance == pytest.approx(np.full(4, -1e-4), abs=1e-15)
    assert (found.normal == (0, 0, 1)).all()


@pytest.mark.parametrize("upper", [Box(2, 2, 2), ConvexHull(CUBE)], ids=["box", "hull"])
@pytest.mark.parametrize("lower", [Box(2, 2, 2), ConvexHull(CUBE)], ids=["box", "hull"])
def test_a_cube_rests_on_a_cube_where_their_faces_overlap(upper, lower):
    found = contacts(lower, Pose(), upper, at(0.5, 0.25, 2.0 - 1e-3))
    wanted = {(x, y, round(1.0 - 1e-3, 9)) for x in (-0.5, 1.0) for y in (-0.75, 1.0)}
    assert wanted <= corners(found)
    assert found.distance == pytest.approx(np.full(len(found.distance), -1e-3), abs=1e-12)
    first = found.point_b[0]
    assert -0.5 - 1e-9 <= first[0] <= 1.0 + 1e-9
    assert -0.75 - 1e-9 <= first[1] <= 1.0 + 1e-9


@pytest.mark.parametrize("shift", [(0.0, 0.0), (1.0, 0.0), (0.5, -0.5)], ids=str)
def test_edges_that_lie_on_each_other_belong_to_the_overlap(shift):
    """A cube on an equal one, edges on edges; shifted along one axis, and along both."""
    found = contacts(Box(2, 2, 2), Pose(), Box(2, 2, 2), at(*shift, 1.999))
    x, y = ((max(-1.0, along - 1.0), min(1.0, along + 1.0)) for along in shift)
    assert {(i, j, 0.999) for i in x for j in y} <= corners(found)
    assert found.distance == pytest.approx(np.full(len(found.distance), -1e-3), abs=1e-12)


def test_a_turned_box_on_a_box_has_the_eight_corners_of_the_overlap():
    found = contacts(Box(2, 2, 2), Pose(), Box(2, 2, 2), Pose.from_rpy(0, 0, np.pi / 4, (0, 0, 1.999)))
    x = np.sqrt(2.0) - 1.0
    signs = [(s, t) for s in (1, -1) for t in (1, -1)]
    wanted = {(round(s * a, 9), round(t * b, 9), 0.999) for a, b in ((1.0, x), (x, 1.0)) for s, t in signs}
    assert wanted <= corners(found)
    assert len(found.distance) == 9                                # and their middle
    assert found.point_a[0] == pytest.approx([0, 0, 1], abs=1e-12)


def test_faces_on_each_other_touch_in_the_middle_of_their_overlap():
    """Where all points of two faces are equally deep, the one of the pair is the middle of what they share."""
    for x, y in ((0.5, 0.25), (-1.25, 0.5), (0.0, -1.5)):
        found = distance(Box(2, 2, 2), Pose(), Box(2, 2, 2), at(x, y, 1.999))
        assert found.point_a == pytest.approx([0.5 * x, 0.5 * y, 1.0], abs=1e-12)
        assert found.point_b == pytest.approx([0.5 * x, 0.5 * y, 0.999], abs=1e-12)


def test_of_many_corners_the_outermost_all_around_are_left():
    """A prism of sixteen sides: what is left spans the face, so that it stands as the whole face would."""
    turn = np.arange(16) * np.pi / 8
    rim = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    prism = ConvexHull([(*x, z) for x in rim for z in (-0.5, 0.5)])
    found = contacts(Box(4, 4, 1), Pose(), prism, at(0.1, 0.2, 0.999))
    out = found.point_b[:, :2] - (0.1, 0.2)
    for way in np.stack([np.cos(turn[::2]), np.sin(turn[::2])], axis=1):  # the eight ways around
        assert (out @ way).max() >= np.cos(np.pi / 16)
    assert len(out) <= 9


def test_a_capsule_lies_on_two_points_and_stands_on_one():
    lying = Pose.from_rpy(0, np.pi / 2, 0, (0, 0, 0.2 - 1e-5))
    ends = {(-1.0, 0.0, -1e-5), (1.0, 0.0, -1e-5)}
    assert corners(contacts(Plane(), Pose(), Capsule(0.2, 2.0), lying)) == ends
    assert corners(contacts(Box(8, 8, 2), at(0, 0, -1), Capsule(0.2, 2.0), lying)) >= ends
    assert len(contacts(Plane(), Pose(), Capsule(0.2, 2.0), at(0, 0, 1.2)).distance) == 1


def test_parallel_capsules_touch_along_their_overlap():
    found = contacts(Capsule(0.2, 2.0), Pose(), Capsule(0.3, 2.0), at(0.499, 0, 0.5))
    assert {round(z, 9) for z in found.point_b[:, 2].tolist()} >= {-0.5, 1.0}
    assert found.distance == pytest.approx(np.full(len(found.distance), -1e-3), abs=1e-12)


def test_a_cylinder_stands_on_its_rim_and_lies_on_a_line():
    standing = contacts(Plane(), Pose(), Cylinder(0.5, 2.0), at(0, 0, 1.0))
    assert len(standing.distance) == 9                              # the middle and eight on the rim
    assert np.hypot(*standing.point_b[1:, :2].T) == pytest.approx(np.full(8, 0.5))
    lying = contacts(Plane(), Pose(), Cylinder(0.5, 2.0), Pose.from_rpy(np.pi / 2, 0, 0, (0, 0, 0.5)), within=1e-9)
    assert {round(y, 9) for y in lying.point_b[:, 1].tolist()} == {-1.0, 1.0}
    tilted = contacts(Plane(), Pose(), Cylinder(0.5, 2.0), Pose.from_rpy(0.3, 0, 0, (0, 0, 1.0)), within=1e-6)
    lowest = 1.0 - np.cos(0.3) - 0.5 * np.sin(0.3)
    assert tilted.distance[0] == pytest.approx(lowest)


def test_points_beyond_within_are_left_out_and_the_nearest_stays():
    tilted = Pose.from_rpy(0, 0.01, 0, (0, 0, 1.0))
    low = distance(Plane(), Pose(), Box(2, 2, 2), tilted).distance
    assert len(contacts(Plane(), Pose(), Box(2, 2, 2), tilted, within=low + 1e-3).distance) == 2
    assert len(contacts(Plane(), Pose(), Box(2, 2, 2), tilted, within=low + 3e-2).distance) == 4
    assert len(contacts(Plane(), Pose(), Box(2, 2, 2), at(0, 0, 2)).distance) == 0


def test_round_shapes_have_one_point():
    for shape in (Sphere(1.0), Ellipsoid(1.0, 2.0, 1.0)):
        assert len(contacts(Plane(), Pose(), shape, at(0, 0, 0.9)).distance) == 1
        assert len(contacts(Box(4, 4, 2), at(0, 0, -1), shape, at(0, 0, 0.9)).distance) == 1


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_contacts_are_on_both_shapes_and_no_nearer_than_the_distance(pair):
    """Each point is on its shape, as that shape's own distance tells, and its gap is along the normal."""
    rng = np.random.default_rng(3)
    for spread in (0.6, 0.3):
        a, b = (random_shape(kind, rng) for kind in pair)
        at_a, at_b = random_pose(rng, 0.1), random_pose(rng, spread)
        least = distance(a, at_a, b, at_b)
        found = contacts(a, at_a, b, at_b, within=least.distance + 0.1)
        size = a.extent + b.extent
        assert found.distance[0] == pytest.approx(least.distance, abs=1e-12)
        assert (found.distance >= least.distance - 1e-6 * size).all()
        assert (found.distance <= least.distance + 0.1 + 1e-9).all()
        gaps = np.einsum("ij,ij->i", found.normal, found.point_b - found.point_a)
        assert gaps == pytest.approx(found.distance, abs=1e-6 * size)
        for shape, pose, points in ((a, at_a, found.point_a), (b, at_b, found.point_b)):
            if shape.kind in ("box", "hull"):
                here = distance(shape, pose, Sphere(0.0), Pose(translation=points)).distance
                assert np.abs(here).max() < 1e-5 * size


def test_contacts_do_not_depend_on_the_order_of_the_pair():
    rng = np.random.default_rng(8)
    for pair in PAIRS:
        a, b = (random_shape(kind, rng) for kind in pair)
        at_a, at_b = random_pose(rng, 0.1), random_pose(rng, 0.3)
        one, other = contacts(a, at_a, b, at_b, 0.05), contacts(b, at_b, a, at_a, 0.05)
        assert (one.distance == other.distance).all()
        assert (one.point_a == other.point_b).all()
        assert (one.normal == -other.normal).all()

"""Distances of many poses at once: the numbers of one pose at a time, and the best there are by separating planes."""

import itertools

import numpy as np
import pytest
from tests.contact.geometry.shapes import random_pose, random_shape, separation

import soacraft as sc
from soacraft.contact import Box, Capsule, Plane, Sphere, distance
from soacraft.contact.geometry import queries
from soacraft.spatial import Pose

KINDS = ("sphere", "capsule", "box", "plane")
PAIRS = [x for x in itertools.product(KINDS, KINDS) if x != ("plane", "plane")]


def turned(rng, count):
    """Rotations: any, by quarters, and nearly so, which makes edges and faces parallel or nearly."""
    any_ = rng.normal(size=(count, 4))
    any_[::3] = np.round(any_[::3])
    any_[::3][~any_[::3].any(axis=1)] = (0, 0, 0, 1)
    any_[1::3] = (0, 0, 0, 1) + rng.choice([0.0, 1e-12, 1e-9, 1e-6, 1e-3], (len(any_[1::3]), 1)) * any_[1::3]
    return any_ / np.linalg.norm(any_, axis=1)[:, None]


def batch(rng, count, spread=1.0):
    return Pose.from_quaternion(turned(rng, count), spread * rng.normal(size=(count, 3)))


def at(pose, i):
    return Pose(pose.rotation[i], pose.translation[i]) if pose.batch_shape else pose


def row(found, i=None):
    numbers = found.distance, found.point_a, found.point_b, found.normal, found.error
    return np.hstack([x if i is None else x[i] for x in numbers])


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_a_batch_is_its_poses_one_by_one(pair):
    """To the last bit, whichever of the two has the batch and however many lanes are left over; mirrored too."""
    rng = np.random.default_rng(PAIRS.index(pair))
    a, b = (random_shape(kind, rng) for kind in pair)
    still, many, more = random_pose(rng, 0.3), batch(rng, 13), batch(rng, 13)
    for at_a, at_b in ((still, many), (many, still), (many, more)):
        all_ = distance(a, at_a, b, at_b).distance
        middle = float(np.sort(all_)[5:7].mean())
        for within in (np.inf, middle):
            found = distance(a, at_a, b, at_b, within)
            mirrored = distance(b, at_b, a, at_a, within)
            assert np.array_equal(found.distance, mirrored.distance)
            assert np.array_equal(found.point_a, mirrored.point_b)
            assert np.array_equal(found.normal, -mirrored.normal)
            for i in range(13):
                assert np.array_equal(row(distance(a, at(at_a, i), b, at(at_b, i), within)), row(found, i))
            assert np.array_equal(np.isinf(found.distance), all_ > within)


@pytest.mark.parametrize("kind", KINDS[:-1])
def test_two_of_one_shape_change_places_to_the_last_bit(kind):
    """Which of two equal shapes comes first is told by their poses alone: the first number that differs, of rotations
    and then of positions. One at a time and in batches, apart and in each other."""
    rng = np.random.default_rng(7)
    shape, many, more = random_shape(kind, rng), batch(rng, 40, 0.3), batch(rng, 40, 0.3)
    turned_alike = Pose(many.rotation, more.translation)
    one = random_pose(rng, 0.3)
    for at_a, at_b in ((many, more), (many, turned_alike), (one, many)):
        found, mirrored = distance(shape, at_a, shape, at_b), distance(shape, at_b, shape, at_a)
        assert np.array_equal(found.distance, mirrored.distance)
        assert np.array_equal(found.point_a, mirrored.point_b)
        assert np.array_equal(found.point_b, mirrored.point_a)
        assert np.array_equal(found.normal, -mirrored.normal)
        for i in range(3):
            assert np.array_equal(row(distance(shape, at(at_a, i), shape, at(at_b, i))), row(found, i))


@pytest.mark.parametrize("pair", [x for x in PAIRS if "plane" not in x], ids="-".join)
def test_distances_are_the_best_by_separating_planes(pair):
    """A plane across the normal separates the shapes by the distance, which points on both attain: no other can be
    better. Edges and faces that are parallel, or nearly, and gaps from 1e-7 to far among them."""
    rng = np.random.default_rng([1, PAIRS.index(pair)])
    for spread in (0.2, 0.6, 1.5):
        a, b = (random_shape(kind, rng) for kind in pair)
        poses = batch(rng, 60, spread)
        found = distance(a, Pose(), b, poses)
        # the same, moved until they nearly touch
        moves = (found.distance - 10.0 ** rng.uniform(-7, -2, 60))[:, None] * found.normal
        near = Pose(poses.rotation, poses.translation - moves)
        for there, these in ((poses, found), (near, distance(a, Pose(), b, near))):
            size = a.extent + b.extent
            apart = [separation(a, Pose(), b, at(there, i), these.normal[i][None])[0] for i in range(60)]
            np.testing.assert_allclose(apart, these.distance, rtol=0, atol=1e-12 * size)
            between = np.einsum("ij,ij->i", these.point_b - these.point_a, these.normal)
            np.testing.assert_allclose(between, these.distance, rtol=0, atol=1e-8 * size)
            free = these.distance > 1e-3 * size  # where points are told by the distance
            way = np.linalg.norm(these.point_b - these.point_a, axis=1)
            np.testing.assert_allclose(way[free], these.distance[free], rtol=0, atol=1e-13 * size)
            for shape, pose, point in ((a, Pose(), these.point_a), (b, there, these.point_b)):
                off = distance(Sphere(0.0), Pose(translation=point), shape, pose).distance
                np.testing.assert_allclose(off[free], 0.0, atol=1e-13 * size)


def test_boxes_whose_nearest_features_are_known():
    """A vertex and a vertex, a vertex and an edge, two edges, an edge along a face: by hand."""
    turn = Pose.from_rpy(0, 0, np.pi / 4)
    cube = Box(2, 2, 2)
    for rotation, p, d, n in (
        (np.eye(3), (3, 4, 5), np.sqrt(1 + 4 + 9), np.array((1, 2, 3)) / np.sqrt(14)),
        (np.eye(3), (3, 4, 0.5), np.sqrt(1 + 4), np.array((1, 2, 0)) / np.sqrt(5)),
        (turn.rotation, (2 + np.sqrt(2), 0.3, 5), np.hypot(1, 3), np.array((1, 0, 3)) / np.sqrt(10)),
        (turn.rotation, (2 + np.sqrt(2), 0.3, 0.1), 1.0, np.array((1, 0, 0))),
    ):
        found = distance(cube, Pose(), cube, Pose(rotation, p))
        assert found.distance == pytest.approx(d, abs=1e-14)
        assert found.normal == pytest.approx(n, abs=1e-14)


def test_scenes_say_the_same():
    """Compiled steps look at pairs one by one, by other code."""
    rng = np.random.default_rng(5)
    for kinds in PAIRS:
        mb = sc.Multibody()
        shapes = [random_shape(kind, rng) for kind in kinds]
        poses = [random_pose(rng, 0.6) for _ in kinds]
        for name, shape, pose in zip("ab", shapes, poses, strict=True):
            body = mb.add_body(name, None, sc.Free(), sc.Inertia(1.0))
            body.add_geometry(sc.Geometry("skin", shape.kind, tuple(shape.size), pose=pose))
        rows = sc.contact.Scene(mb).distances(mb.q)
        found = distance(shapes[0], poses[0], shapes[1], poses[1])
        assert rows.distance[0] == pytest.approx(found.distance, abs=1e-14)
        assert rows.normal[0] == pytest.approx(found.normal, abs=1e-9)


def test_plain_calls_are_answered_at_once_and_others_by_python():
    a, b, pose = Box(1, 1, 1), Capsule(0.1, 0.3), Pose(translation=(0, 0, 2))
    before = queries._quick.answered, queries._quick.passed_on
    distance(a, Pose(), b, pose)
    distance(a, Pose(), b, batch(np.random.default_rng(0), 5))
    assert (queries._quick.answered, queries._quick.passed_on) == (before[0] + 2, before[1])
    assert distance(a, Pose(), b, Pose(translation=np.ones((2, 3, 3)))).distance.shape == (2, 3)
    assert distance(a, Pose(), b, Pose(translation=np.ones((0, 3)))).distance.shape == (0,)
    assert distance(a, Pose(), b, pose, 3).distance == distance(a, Pose(), b, pose).distance
    assert queries._quick.passed_on == before[1] + 3
    for bad, text in (
        ((a, Pose(), b, Pose(translation=(0, 0, 1e61))), "up to 1e\\+60 m is handled"),
        ((a, Pose(), b, pose, np.nan), "within"),
        ((a, Pose(translation=np.ones((2, 3))), b, Pose(translation=np.ones((3, 3)))), "batches of poses must match"),
        ((Plane(), Pose(), Plane(), pose), "two planes have no distance"),
        ((Box, Pose(), b, pose), "a shape is a Sphere, Box, ConvexHull or the like"),
        ((a, None, b, pose), "pose_a must be a Pose"),
        ((object.__new__(Box), Pose(), b, pose), "core"),
    ):
        with pytest.raises((sc.errors.ModelError, AttributeError), match=text):
            distance(*bad)


def test_numbers_of_a_pair_are_read_only():
    found = distance(Box(1, 1, 1), Pose(), Sphere(0.1), Pose(translation=(0, 0, 2)))
    many = distance(Box(1, 1, 1), Pose(), Sphere(0.1), Pose(translation=np.ones((2, 3))))
    for x in (found.point_a, found.normal, many.point_b, many.distance):
        with pytest.raises(ValueError, match="read-only"):
            x[...] = 0.0

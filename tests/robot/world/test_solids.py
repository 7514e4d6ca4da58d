"""Solids: signed distances, boxes and volumes in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from tests.robot.world.test_covers import SHAPES, ring

import soacraft as sc
from soacraft.contact import Box, Capsule, ConvexHull, Cylinder, Plane, Sphere, distance
from soacraft.errors import ModelError
from soacraft.robot.world.solids import Solid, box_of, stands_out, volume_ratio


def test_signed_distances_of_a_ring_are_to_its_nearest_triangle():
    """Of a torus of many triangles they are those of the torus, inside too, where a push out is not the nearest way."""
    solid = Solid(ring(n=160, m=80))
    points = np.random.default_rng(0).uniform(-0.45, 0.45, (400, 3)) * (1, 1, 0.3)
    want = np.hypot(np.hypot(points[:, 0], points[:, 1]) - 0.3, points[:, 2]) - 0.08
    assert np.abs(solid.distances(points) - want).max() < 1e-3
    assert (want < -0.02).any()


@pytest.mark.parametrize("name", SHAPES)
def test_distances_change_by_no_more_than_the_way(name):
    solid = Solid(SHAPES[name])
    rng = np.random.default_rng(1)
    a = rng.uniform(solid.low - 0.1, solid.high + 0.1, (500, 3))
    b = a + 0.05 * rng.standard_normal((500, 3))
    assert (np.abs(solid.distances(a) - solid.distances(b)) <= np.linalg.norm(a - b, axis=1) + 1e-9).all()
    on = solid.nearest(a)
    assert np.allclose(np.linalg.norm(on - a, axis=1), np.abs(solid.distances(a)), atol=1e-9)


def test_how_far_one_solid_stands_out_of_another():
    """A box around a ball: its corners; a ball around a box: the middles of the smallest faces' sides."""
    out = stands_out(Solid(Box(2, 2, 2)), sc.Pose(), Solid(Sphere(1.0)), 0.01)
    assert out == pytest.approx(np.sqrt(3) - 1, abs=0.02)
    out = stands_out(Solid(Sphere(1.0)), sc.Pose(translation=(0.2, 0, 0)), Solid(Box(2, 2, 2)), 0.01)
    assert 0.2 <= out < 0.22
    assert stands_out(Solid(Sphere(0.5)), sc.Pose(), Solid(Box(2, 2, 2)), 0.01) <= 0.01


def test_corners_are_of_the_surface_and_as_far_as_the_box():
    """Eight of a box, vertices of a hull; what is round has none."""
    box = Solid(Box(2.0, 1.0, 0.5))
    assert np.unique(box.corners(), axis=0) == pytest.approx(
        np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-0.5, 0.5) for z in (-0.25, 0.25)])
    )
    hull = Solid(ConvexHull(np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3.0]])))
    assert np.abs(hull.distances(hull.corners())).max() < 1e-9
    assert hull.corners().max(axis=0) == pytest.approx([1.0, 2.0, 3.0])
    assert len(Solid(Sphere(1.0)).corners()) == 0


def test_boxes_around_shapes():
    """A turned box of points is found again up to half a step of the angle; primitives have their own."""
    assert box_of(Capsule(0.1, 0.5))[0].size == pytest.approx([0.2, 0.2, 0.7])
    assert box_of(Cylinder(0.1, 0.5))[0].size == pytest.approx([0.2, 0.2, 0.5])
    turn = sc.Pose.from_rpy(0.3, 0.5, 0.7)
    corners = turn @ (np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * (0.5, 0.2, 0.1))
    box, pose = box_of(ConvexHull(corners))
    assert np.prod(box.size) < 1.05 * 8 * 0.5 * 0.2 * 0.1
    assert (np.abs(pose.inv @ corners) <= 0.5 * box.size + 1e-12).all()
    rng = np.random.default_rng(3)
    cloud = ConvexHull(rng.standard_normal((50, 3)))
    box, pose = box_of(cloud)
    assert distance(cloud, sc.Pose(), box, pose).distance < 0.0
    assert (np.abs(pose.inv @ cloud.vertices) <= 0.5 * box.size + 1e-12).all()


def test_volumes():
    ratio = volume_ratio([(Box(2, 2, 2), sc.Pose())], Solid(Sphere(1.0)))
    assert ratio == pytest.approx(6.0 / np.pi, rel=0.02)
    both = [(Sphere(0.1), sc.Pose(translation=(x, 0, 0))) for x in (-1.0, 1.0, 1.0)]
    assert volume_ratio(both, Solid(Sphere(0.2))) == pytest.approx(0.25, rel=0.3)


def test_a_plane_is_refused():
    with pytest.raises(ModelError, match=r"Plane\(\) has no cover by spheres, capsules or a box"):
        Solid(Plane())

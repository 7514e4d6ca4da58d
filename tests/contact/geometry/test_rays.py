"""Rays against every shape."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contact.geometry.shapes import CONVEX, convex_mesh, random_pose, random_shape, unit_vectors

from soacraft.contact import (
    Box,
    Capsule,
    ConvexHull,
    Cylinder,
    Ellipsoid,
    HeightField,
    Plane,
    Sphere,
    cast_rays,
    distance,
)
from soacraft.errors import ModelError
from soacraft.spatial import Pose


@pytest.mark.parametrize("kind", CONVEX)
def test_rays_end_on_the_surface(kind):
    """From outside at the middle, and from inside out: where they end, a point has no distance, and a bit before it is
    on the side it came from.
    """
    rng = np.random.default_rng(CONVEX.index(kind))
    shape, pose = random_shape(kind, rng), random_pose(rng, 0.5)
    d = unit_vectors(rng, 30)
    middle = pose.translation
    outside = cast_rays(shape, pose, middle - 5.0 * d, d)
    inside = cast_rays(shape, pose, middle, d)
    point = Sphere(0.0)
    for hits, sign in ((outside, 1.0), (inside, -1.0)):
        assert np.isfinite(hits.distance).all()
        off = distance(shape, pose, point, Pose(translation=hits.point)).distance
        assert off == pytest.approx(np.zeros(30), abs=1e-9)
        before = distance(shape, pose, point, Pose(translation=hits.point - 1e-3 * d)).distance
        assert (sign * before > 0.0).all()
        along = np.einsum("ij,ij->i", hits.normal, d)
        assert (sign * along < 0.0).all()
        assert np.linalg.norm(hits.normal, axis=1) == pytest.approx(np.ones(30))
    assert (outside.distance < 5.0).all()
    away = cast_rays(shape, pose, middle + 5.0 * d, d)
    assert (away.distance == np.inf).all()
    assert np.isnan(away.point).all()


def test_closed_forms():
    cases = [
        (Sphere(1.0), (0, 0, 3), (0, 0, -1), 2.0, (0, 0, 1)),
        (Box(2, 4, 6), (5, 1, 1), (-1, 0, 0), 4.0, (1, 0, 0)),
        (Box(2, 4, 6), (0, 0, 0), (0, 1, 0), 2.0, (0, 1, 0)),
        (Capsule(0.5, 2.0), (3, 0, 0.5), (-1, 0, 0), 2.5, (1, 0, 0)),
        (Capsule(0.5, 2.0), (0, 0, 3), (0, 0, -1), 1.5, (0, 0, 1)),
        (Cylinder(0.5, 2.0), (0.3, 0, 3), (0, 0, -1), 2.0, (0, 0, 1)),
        (Cylinder(0.5, 2.0), (0.6, 0, 3), (0, 0, -1), np.inf, (0, 0, 0)),
        (Ellipsoid(1.0, 2.0, 3.0), (0, 5, 0), (0, -1, 0), 3.0, (0, 1, 0)),
        (Plane(), (1, 2, 4), (0, 0, -1), 4.0, (0, 0, 1)),
        (Plane(), (1, 2, 4), (0, 0, 1), np.inf, (0, 0, 0)),
    ]
    for shape, o, d, t, n in cases:
        hits = cast_rays(shape, Pose(), o, d)
        assert hits.distance == pytest.approx(t), shape
        assert hits.normal == pytest.approx(n), shape


def test_a_mesh_meets_rays_as_its_hull_does():
    rng = np.random.default_rng(4)
    x = unit_vectors(rng, 60)
    hull, mesh = ConvexHull(x), convex_mesh(x)
    assert mesh.closed
    d = unit_vectors(rng, 50)
    o = -3.0 * d + 0.3 * rng.normal(size=(50, 3))
    one, two = cast_rays(mesh, Pose(), o, d), cast_rays(hull, Pose(), o, d)
    assert one.distance == pytest.approx(two.distance, abs=1e-12)
    assert one.normal == pytest.approx(two.normal, abs=1e-9)


def test_no_ray_slips_between_the_triangles_of_a_field():
    """Rays straight down on vertices, edges and inside of cells."""
    field = HeightField(np.zeros((9, 9)), 8.0, 8.0)
    x, y = np.meshgrid(np.arange(-3.5, 3.6, 0.25), np.arange(-3.5, 3.6, 0.25))
    hits = cast_rays(field, Pose(), np.stack([x, y, np.full_like(x, 2.0)], axis=-1), (0, 0, -1))
    assert hits.distance == pytest.approx(np.full(x.shape, 2.0))


def test_directions_of_any_length_and_refusals():
    assert cast_rays(Sphere(1.0), Pose(), (0, 0, 3), (0, 0, -1e-200)).distance == pytest.approx(2.0)
    assert cast_rays(Sphere(1.0), Pose(), (0, 0, 3), (0, 0, -1e200)).distance == pytest.approx(2.0)
    with pytest.raises(ModelError, match="the direction of a ray must not be zero"):
        cast_rays(Sphere(1.0), Pose(), (0, 0, 3), (0, 0, 0))
    with pytest.raises(ModelError, match="origins and directions of rays must match"):
        cast_rays(Sphere(1.0), Pose(), np.zeros((2, 3)), np.ones((3, 3)))

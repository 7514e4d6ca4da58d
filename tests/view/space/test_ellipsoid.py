"""Ellipsoids of inertias: those of uniform bodies off their origins, of spatial inertias, and their surfaces."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.view.space.ellipsoid import THINNEST, inertia_shape, rigid_shape, shape, surface_of

R = sc.Pose.from_rpy(0.3, -0.5, 1.1).rotation
RADII = np.array([0.2, 0.5, 0.9])


def solid(mass=3.0, com=(0.4, -0.7, 1.3)):
    """A uniform ellipsoid: J = m/5 (b^2 + c^2) and so on about its centre, turned."""
    a, b, c = RADII**2
    return sc.Inertia(mass, com, R @ np.diag([b + c, a + c, a + b]) @ R.T * mass / 5.0)


def matrix(nine):
    xx, yy, zz, xy, xz, yz = nine[:6]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def test_a_uniform_ellipsoid_is_its_own():
    nine = rigid_shape(solid())
    assert matrix(nine) == pytest.approx(R @ np.diag(RADII) @ R.T)
    assert nine[6:] == pytest.approx([0.4, -0.7, 1.3])


def test_a_spatial_inertia_about_another_point_has_the_same_ellipsoid():
    """A batch (2, 2) of bodies off the point: J = J_c - m c~ c~, X = m c~, N = m I."""
    bodies = [[solid(), solid(0.5, (1.0, 0, 0))], [solid(2.0, (0, -3.0, 0.2)), solid(1.0, (0, 0, 0))]]
    spatial = np.zeros((2, 2, 6, 6))
    for i in np.ndindex(2, 2):
        body = bodies[i[0]][i[1]]
        x, y, z = body.com
        S = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        spatial[i] = np.block([[body.moment - body.mass * S @ S, body.mass * S],
                               [-body.mass * S, body.mass * np.eye(3)]])  # fmt: skip
    found = inertia_shape(spatial)
    assert found.shape == (2, 2, 9)
    for i in np.ndindex(2, 2):
        assert found[i] == pytest.approx(rigid_shape(bodies[i[0]][i[1]]), abs=1e-12)
    assert not inertia_shape(np.zeros((6, 6))).any()


def test_a_flat_ellipsoid_is_drawn_with_some_thickness():
    nine = shape(np.diag([4.0, 1.0, 0.0]), np.array([1.0, 2.0, 3.0]))
    assert nine == pytest.approx([2.0, 1.0, 2.0 * THINNEST, 0, 0, 0, 1, 2, 3])


def test_points_and_normals_of_a_surface():
    """(x - c)* S^-2 (x - c) = 1, and the normal is along its gradient, outward."""
    nine = rigid_shape(solid())
    surface = surface_of(nine)
    A = R @ np.diag(RADII**-2.0) @ R.T
    way = np.asarray(surface.points) - nine[6:]
    assert np.einsum("ij,jk,ik->i", way, A, way) == pytest.approx(1.0)
    gradient = way @ A
    assert surface.normals == pytest.approx(gradient / np.linalg.norm(gradient, axis=1, keepdims=True), abs=1e-9)
    assert surface_of(np.array([0.0] * 6 + [1.0, 2.0, 3.0])) is None
    assert rigid_shape(sc.Inertia(1.0, (1.0, 2.0, 3.0)))[:6] == pytest.approx(0.0)

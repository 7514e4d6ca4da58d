"""What a page knows of bodies: velocities, and ellipsoids of inertia, alone and with what a body carries."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.view.space.about import about
from soacraft.view.space.details import details_of
from soacraft.view.space.ellipsoid import inertia_shape, rigid_shape, surface_of


def matrix(nine):
    xx, yy, zz, xy, xz, yz = nine[:6]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def test_the_ellipsoid_of_a_rigid_inertia_is_the_body_it_comes_from():
    """A solid ellipsoid of radii (a, b, c) has the moments m (b^2 + c^2) / 5; turned and away from the origin."""
    radii, com = np.array([0.3, 0.2, 0.1]), np.array([1.0, -2.0, 0.5])
    R, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))
    R *= np.sign(np.linalg.det(R))
    squares = radii**2
    J = R @ np.diag(5.0 * (squares.sum() - squares) / 5.0) @ R.T
    inertia = sc.Inertia(5.0, com, J)
    for nine in (rigid_shape(inertia), inertia_shape(inertia.matrix())):
        assert np.allclose(matrix(nine), R @ np.diag(radii) @ R.T, atol=1e-12)
        assert np.allclose(nine[6:], com, atol=1e-12)
    surface = surface_of(rigid_shape(inertia))
    local = (surface.points - com) @ R / radii
    assert np.allclose(np.linalg.norm(local, axis=1), 1.0)
    outward = (local / radii) @ R.T
    assert np.allclose(surface.normals, outward / np.linalg.norm(outward, axis=1, keepdims=True))


def test_nothing_is_drawn_of_no_mass_and_of_a_mass_in_a_point():
    assert surface_of(rigid_shape(sc.Inertia())) is None
    assert surface_of(rigid_shape(sc.Inertia(1.0, (1, 0, 0)))) is None
    assert not inertia_shape(np.zeros((6, 6))).any()


def rail():
    """A ball on a rail along x, without friction, on a free block."""
    mb = sc.Multibody()
    block = mb.add_body("block", None, sc.Free(), sc.Inertia(3.0, (0, 0, 0), np.eye(3)))
    mb.add_body("ball", block, sc.Prismatic((1, 0, 0)), sc.Inertia.sphere(2.0, 0.1))
    return mb


def test_composite_inertia_is_that_of_what_is_carried_as_one_body():
    mb = rail()
    q = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.5])
    found = details_of(mb, mb.state(q=q[None], v=np.zeros((1, 7))))
    ball = sc.Inertia.sphere(2.0, 0.1).transformed(sc.Pose(translation=(0.5, 0, 0)))
    assert np.allclose(found.composite[0, 0], rigid_shape(sc.Inertia(3.0, (0, 0, 0), np.eye(3)) + ball), atol=1e-12)
    for kind in (found.composite, found.articulated):  # a tip carries nothing
        assert np.allclose(kind[0, 1], rigid_shape(sc.Inertia.sphere(2.0, 0.1)), atol=1e-12)


def test_articulated_inertia_leaves_out_what_may_slide():
    """Along the rail the block alone is moved, across it both: N = diag(3, 5, 5), J = (1, 1, 1) + the ball's own. With
    the ball at the origin c = 0 and S^2 = 5 (tr(J)/2 - J) / m, m = 13/3."""
    mb = rail()
    q = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    found = details_of(mb, mb.state(q=q[None], v=np.zeros((1, 7))))
    J = 1.0 + 0.4 * 2.0 * 0.1**2
    assert np.allclose(matrix(found.articulated[0, 0]), np.sqrt(5.0 * 0.5 * J / (13.0 / 3.0)) * np.eye(3))
    assert np.allclose(found.articulated[0, 0, 6:], 0.0)
    assert not found.refused


def test_velocities_are_those_of_the_origins():
    mb = sc.load("arm7")
    states = [mb.random_state(seed) for seed in (1, 2)]
    state = mb.state(q=np.array([q for q, _ in states]), v=np.array([v for _, v in states]))
    found = details_of(mb, state).velocity
    for i, (q, v) in enumerate(states):
        for k in (0, 6):
            wanted = mb.velocity(mb.bodies[k], state=mb.state(q, v))
            assert np.allclose(found[i, k], np.asarray(wanted), atol=1e-12)


def test_a_hinge_that_moves_nothing_is_told_and_the_rest_is_there():
    mb = sc.Multibody()
    mb.add_body("ghost", None, sc.Pin((0, 0, 1)), sc.Inertia())
    found = details_of(mb, mb.state(q=np.zeros((1, 1)), v=np.ones((1, 1))))
    assert "ghost" in found.refused
    assert np.allclose(found.velocity[0, 0], [0, 0, 1, 0, 0, 0])
    assert found.refused in sc.view.scene(mb).html()


def test_the_panel_names_parent_hinge_and_mass():
    mb = sc.load("double_pendulum")
    told = dict(about(mb.bodies[1]))
    assert told["parent"] == "upper"
    assert told["hinge"] == "lower: Pin, 1 dof"
    assert told["mass"] == "1 kg"
    assert told["nodes"] == "tip"
    assert dict(about(rail().bodies[0]))["principal moments"] == "1, 1, 1 kg m²"


@pytest.mark.parametrize("model", ["h1", "five_bar"])
def test_numbers_of_every_body_are_on_the_page(model):
    from tests.view.space.test_page import data_of, numbers

    mb = sc.load(model)
    data = data_of(sc.view.scene(mb).html())
    found = details_of(mb, mb.state(q=np.asarray(mb.q)[None], v=np.asarray(mb.v)[None]))
    assert np.allclose(numbers(data["inertias"]["composite"], "<f4"), found.composite.ravel(), atol=1e-6)
    assert np.allclose(numbers(data["inertias"]["articulated"], "<f4"), found.articulated.ravel(), atol=1e-6)
    assert len(data["about"]) == len(mb)

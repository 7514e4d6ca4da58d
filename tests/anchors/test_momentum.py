"""Momentum about the inertial origin: kept by free-floating trees, changed by gravity as it must be."""

import numpy as np
import pytest
from tests.anchors.reference import (
    AXES,
    Cloud,
    com_frames,
    fly,
    forward,
    kinetic_energy,
    momentum,
    motion,
    rate,
)

import soacraft as sc
from soacraft.model import random_tree
from soacraft.model.hinges import examples

NOTHING = (0.0, 0.0, 0.0)
INNER = [hinge for hinge in examples() if not isinstance(hinge, sc.Free)]


def floating(seed, hinges=INNER, gravity=NOTHING):
    """A free base that carries one body on each of the hinges, in a random tree, in a random state."""
    rng = np.random.default_rng(seed)
    mb = random_tree(1, seed=rng, hinges=[sc.Free()], gravity=gravity)
    crew = random_tree(len(hinges), seed=rng, hinges=hinges)
    for body in crew.bodies:
        parent = "body1" if body.parent is crew.root else f"crew {body.parent.name}"
        mb.add_body(f"crew {body.name}", parent, body.hinge, body.inertia, body.inboard, body.outboard)
    q, v = mb.random_state(rng)
    mb.set_state(q, v)
    return mb


def momentum_rate(mb):
    """[sum of c x m a + J dw/dt + w x J w; sum of m a], from accelerations of frames."""
    total = np.zeros(6)
    for body, com in com_frames(mb):
        pose, m = mb.pose(com), body.inertia.mass
        J = pose.rotation @ body.inertia.moment @ pose.rotation.T
        w, (wdot, a) = mb.velocity(com).angular, np.split(np.asarray(mb.acceleration(com)), 2)
        total[:3] += np.cross(pose.translation, m * a) + J @ wdot + np.cross(w, J @ w)
        total[3:] += m * a
    return total


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("seed", range(4))
def test_rate_of_a_floating_tree(seed, axes):
    """With forces at the hinges but none on the base, momentum does not change."""
    mb = floating(seed)
    com_frames(mb)
    T = np.random.default_rng(seed).standard_normal(mb.nv)
    T[:6] = 0.0
    mb.vdot = forward(sc.operators(mb, axes=axes), T)
    scale = 1.0 + np.abs(mb.vdot).max()
    np.testing.assert_allclose(momentum_rate(mb), 0.0, atol=1e-11 * scale)


@pytest.mark.parametrize("seed", range(2))
def test_rate_in_gravity(seed):
    """All external forces are weights: their sum and their moment about the origin."""
    g = np.array([1.0, 2.0, -9.0])
    mb = floating(seed, gravity=g)
    frames = com_frames(mb)
    mb.vdot = forward(sc.operators(mb), np.zeros(mb.nv))
    weights = [(mb.pose(com).translation, body.inertia.mass * g) for body, com in frames]
    expected = sum(np.concatenate([np.cross(c, W), W]) for c, W in weights)
    np.testing.assert_allclose(momentum_rate(mb), expected, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_of_points(seed):
    """The same seen in positions alone: sum of m r x dr/dt and of m dr/dt do not change."""
    cloud = Cloud([sc.Free(), *INNER], seed, gravity=NOTHING)
    T = np.random.default_rng(seed).standard_normal(cloud.mb.nv)
    T[:6] = 0.0
    vdot = forward(sc.operators(cloud.mb), T)
    r, a = cloud.positions(), cloud.accelerations(vdot)
    total = np.concatenate([cloud.m @ np.cross(r, a), cloud.m @ a])
    np.testing.assert_allclose(total, 0.0, atol=1e-8 * (1.0 + np.abs(vdot).max()))


@pytest.mark.parametrize("axes", AXES)
def test_sum_of_stacked_momenta(axes):
    """phi M V of the root is the momentum of the tree about the root's reference point."""
    mb = floating(5)
    ops = sc.operators(mb, axes=axes)
    h = (ops.phi * (ops.M * ops.V))["body1"]
    pose = mb.pose("body1")
    R, p = (pose.rotation if axes == "body" else np.eye(3)), (np.zeros(3) if axes == "origin" else pose.translation)
    expected = momentum(mb)
    np.testing.assert_allclose(R @ h[3:], expected[3:], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(R @ h[:3] + np.cross(p, R @ h[3:]), expected[:3], rtol=1e-11, atol=1e-11)


def test_momentum_rate_is_the_rate_of_momentum():
    mb = floating(6)
    com_frames(mb)
    mb.vdot = np.random.default_rng(6).standard_normal(mb.nv)
    np.testing.assert_allclose(rate(momentum(mb, motion(mb))), momentum_rate(mb), rtol=1e-8, atol=1e-8)


def test_along_a_flight():
    """Half a second without forces: momentum and energy stay, though every body tumbles."""
    hinges = [sc.Pin((0, 1, 0)), sc.Spherical(), sc.Universal((1, 0, 0), (0, 1, 0.2)), sc.RollingBall(0.3)]
    mb = floating(7, hinges)
    com_frames(mb)
    before = momentum(mb), kinetic_energy(mb)
    q, v = fly(mb, [0.25, 0.5], tolerance=1e-11)
    assert np.abs(v[-1] - mb.v).max() > 0.5
    after = mb.state(q, v)
    np.testing.assert_allclose(momentum(mb, after), np.broadcast_to(before[0], (2, 6)), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(kinetic_energy(mb, after), before[1], rtol=1e-9)

"""The two sides of a hinge: V+ = phi~* H* v is the parent's motion there, phi~ x the load of the children alone."""

import numpy as np
import pytest
from tests.anchors.reference import AXES, force_at, force_from, velocity_at, velocity_from

import soacraft as sc
from soacraft.model import random_tree


def states(mb):
    """A single state and a batch: the one runs compiled sweeps, the other those written in Python."""
    q, v = zip(*(mb.random_state(seed) for seed in range(2)), strict=True)
    return mb.state(np.array(q), np.array(v))


@pytest.fixture(scope="module")
def mb():
    return random_tree(13, seed=2, bases=2)


@pytest.mark.parametrize("axes", AXES)
def test_inboard_velocity(mb, axes):
    """V+(k) is the velocity that the body frame would have, were it fixed to the parent."""
    many = states(mb)
    found = np.asarray(sc.operators(many, axes=axes).phi_tilde.T * sc.operators(many, axes=axes).Delta_V)
    for case in range(2):
        mb.set_state(many.q[case], many.v[case])
        ops = sc.operators(mb, axes=axes)
        V_plus = ops.phi_tilde.T * ops.Delta_V
        np.testing.assert_allclose(found[case], V_plus, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(ops.V_plus, V_plus, rtol=1e-12, atol=1e-12)
        for body in mb.bodies:
            l = mb.pose(body).translation - mb.pose(body.parent).translation
            expected = velocity_at(np.asarray(mb.velocity(body.parent)), l)
            moving = velocity_from(mb, axes, body, V_plus[body.name])
            np.testing.assert_allclose(moving, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("axes", AXES)
def test_load_of_the_children(mb, axes):
    """(phi~ x)(k) is what the children's f = phi x, shifted to k, add up to."""
    many = states(mb)
    x = np.random.default_rng(5).standard_normal((2, 6 * len(mb)))
    found = np.asarray(sc.operators(many, axes=axes).phi_tilde * x)
    for case in range(2):
        mb.set_state(many.q[case], many.v[case])
        ops = sc.operators(mb, axes=axes)
        f, load = ops.phi * x[case], ops.phi_tilde * x[case]
        np.testing.assert_allclose(found[case], load, rtol=1e-12, atol=1e-12)
        for body in mb.bodies:
            expected = np.zeros(6)
            for child in body.children:
                l = mb.pose(child).translation - mb.pose(body).translation
                expected += force_at(force_from(mb, axes, child, f[child.name]), l)
            total = force_from(mb, axes, body, load[body.name])
            np.testing.assert_allclose(total, expected, rtol=1e-12, atol=1e-12)

"""Nodes of flexible bodies: Pi is the rate of their pose, and its own rate is that of Pi, by differences."""

from __future__ import annotations

import numpy as np
import pytest
from tests.model.modal.trees import random_node

from soacraft.model.modal import nodes
from soacraft.spatial.rotations import exp, unskew

STEP = 1e-3


def slope(f):
    """The derivative of f(t) at 0, of sixth order."""
    parts = ((45, 1), (-9, 2), (1, 3))
    return sum(c * (f(k * STEP) - f(-k * STEP)) for c, k in parts) / (60 * STEP)


@pytest.mark.parametrize("size", [0.0, 1e-4, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("geometric", [True, False])
def test_pi_is_the_twist_of_unit_rates(size, geometric):
    rng = np.random.default_rng(3)
    node = random_node(rng, 4, geometric, 0.5)
    eta, rate = size * rng.standard_normal(4), rng.standard_normal(4)
    R, _ = nodes.pose(node, eta)
    turning = unskew(R.T @ slope(lambda t: nodes.pose(node, eta + t * rate)[0]))
    moving = R.T @ slope(lambda t: nodes.pose(node, eta + t * rate)[1])
    np.testing.assert_allclose(nodes.Pi(node, eta) @ rate, np.concatenate([turning, moving]), rtol=0, atol=1e-10)


@pytest.mark.parametrize("size", [0.0, 1e-4, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("geometric", [True, False])
def test_the_rate_of_pi(size, geometric):
    rng = np.random.default_rng(4)
    node = random_node(rng, 3, geometric, 0.5)
    eta, rate = size * rng.standard_normal((2, 3)), rng.standard_normal((2, 3))

    def twist(t):
        return (nodes.Pi(node, eta + t * rate) @ rate[..., None])[..., 0]

    np.testing.assert_allclose(nodes.Pi_rate(node, eta, rate), slope(twist), rtol=0, atol=1e-9)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.1, 0.3499999, 0.3500001, 2.0, 6.0])
def test_the_left_jacobian_on_both_sides_of_its_series(angle):
    """d/dt exp((x + t u)~) = (Jl u)~ exp(x~)."""
    rng = np.random.default_rng(5)
    axis, u = rng.standard_normal((2, 3))
    x = angle * axis / np.linalg.norm(axis)
    rate = unskew(slope(lambda t: exp(x + t * u)) @ exp(x).T)
    np.testing.assert_allclose(nodes.left_jacobian(x) @ u, rate, rtol=0, atol=1e-10)

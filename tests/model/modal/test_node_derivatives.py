"""The derivatives of a node's twists and bias against differences, at small and at large turns, in batches."""

from __future__ import annotations

import numpy as np
import pytest
from tests.model.modal.test_nodes import slope
from tests.model.modal.trees import random_node, random_pose

from soacraft.model.modal import deformation as on
from soacraft.model.modal.node_derivatives import node_rates


@pytest.mark.parametrize("geometric", [True, False])
@pytest.mark.parametrize("size", [0.0, 0.3, 4.0])
def test_against_differences(geometric, size):
    rng = np.random.default_rng(3)
    n = 3
    node, frame = random_node(rng, n, geometric), random_pose(rng)
    eta, rate = size * rng.standard_normal(n), rng.standard_normal(n)
    got = node_rates(node, frame, eta, rate)
    np.testing.assert_allclose(got.Pi, on.Pi_on(node, frame, eta), rtol=0, atol=1e-13)
    np.testing.assert_allclose(got.bias, on.Pi_rate_on(node, frame, eta, rate), rtol=0, atol=1e-13)
    for i, e in enumerate(np.eye(n)):
        wanted = slope(lambda t, e=e: on.Pi_on(node, frame, eta + t * e))
        np.testing.assert_allclose(got.dPi[i], wanted, rtol=0, atol=1e-9)
        wanted = slope(lambda t, e=e: on.Pi_rate_on(node, frame, eta + t * e, rate))
        np.testing.assert_allclose(got.bias_q[:, i], wanted, rtol=0, atol=1e-9)
        wanted = slope(lambda t, e=e: on.Pi_rate_on(node, frame, eta, rate + t * e))
        np.testing.assert_allclose(got.bias_v[:, i], wanted, rtol=0, atol=1e-9)


def test_a_batch_is_its_states():
    rng = np.random.default_rng(4)
    node, frame = random_node(rng, 2), random_pose(rng)
    eta, rate = rng.standard_normal((2, 5, 2))
    got = node_rates(node, frame, eta, rate)
    for i in range(5):
        for name, part in zip(got._fields, node_rates(node, frame, eta[i], rate[i]), strict=True):
            np.testing.assert_allclose(getattr(got, name)[i], part, rtol=0, atol=1e-14)

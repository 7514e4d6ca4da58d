"""Lyapunov recursions and the blocks of A X B* and A* X B against dense matrices, with two different weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.strategies import SKO, dense, models, one_of_batch, parents, scrambled, sko_models

from soacraft.recursions import backward_lyapunov, block_of_AsXB, block_of_AXBs, composite_body, forward_lyapunov


def close(x, y):
    np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10 * max(1.0, np.abs(y).max(initial=0.0)))


class TwoWeights:
    """A model's A, other weights B of sizes of their own, and X(k) between them."""

    def __init__(self, model, seed):
        rng = np.random.default_rng(seed)
        self.model, self.tree, n = model, model.tree, model.n
        dims = rng.integers(0, 4, n)
        self.offsets = np.concatenate([[0], np.cumsum(dims)]).astype(int)
        self.B = {(p, k): rng.standard_normal((dims[p], dims[k])) for k, p in enumerate(self.tree.parents) if p >= 0}
        self.X = [rng.standard_normal((model.dims[k], dims[k])) for k in range(n)]
        self.dense = dense(model)
        E = np.zeros((self.offsets[-1],) * 2)
        for (p, k), block in self.B.items():
            E[self.other(p), self.other(k)] = block
        self.dense_B, self.E_B = np.linalg.inv(np.eye(len(E)) - E), E
        self.dense_X = self.diagonal(self.X)

    def other(self, k):
        return slice(self.offsets[k], self.offsets[k + 1])

    def weight(self, p, k):
        return self.B[p, k]

    def diagonal(self, blocks):
        Z = np.zeros((self.dense.d[-1], self.offsets[-1]))
        for k in range(self.model.n):
            Z[self.dense.body(k), self.other(k)] = blocks[k]
        return Z


@pytest.mark.parametrize("kind", SKO)
@tries(15)
@given(data=st.data(), seed=st.integers(0, 99))
def test_forward_lyapunov(kind, data, seed):
    """X = Y - E_A Y E_B*, and Y is the diagonal of A X B*."""
    model = data.draw(models(kind))
    w = TwoWeights(model, seed)
    Y = forward_lyapunov(model, model.A, w.X, w.weight)
    dense_Y, Z = w.diagonal(Y), w.dense.A @ w.dense_X @ w.dense_B.T
    close(dense_Y - w.dense.E @ dense_Y @ w.E_B.T, w.dense_X)
    for k in model.nodes:
        close(Y[k], Z[w.dense.body(k), w.other(k)])


@pytest.mark.parametrize("kind", SKO)
@tries(15)
@given(data=st.data(), seed=st.integers(0, 99))
def test_backward_lyapunov(kind, data, seed):
    """X = Y - diagOf(E_A* Y E_B), and Y is the diagonal of A* X B."""
    model = data.draw(models(kind))
    w = TwoWeights(model, seed)
    Y = backward_lyapunov(model, model.A, w.X, w.weight)
    Z = w.dense.A.T @ w.dense_X @ w.dense_B
    inner = w.dense.E.T @ w.diagonal(Y) @ w.E_B
    for k in model.nodes:
        at = w.dense.body(k), w.other(k)
        close(Y[k] - inner[at], w.X[k])
        close(Y[k], Z[at])


@pytest.mark.parametrize("kind", SKO)
@tries(15)
@given(data=st.data(), seed=st.integers(0, 99))
def test_blocks_of_both_products(kind, data, seed):
    """Every pair of nodes: the same, related either way, unrelated with and without a common ancestor."""
    model = data.draw(models(kind, scrambled(parents(max_size=7))))
    w = TwoWeights(model, seed)
    forward = forward_lyapunov(model, model.A, w.X, w.weight)
    backward = backward_lyapunov(model, model.A, w.X, w.weight)
    Z, W = w.dense.A @ w.dense_X @ w.dense_B.T, w.dense.A.T @ w.dense_X @ w.dense_B
    for i in model.nodes:
        for j in model.nodes:
            at = w.dense.body(i), w.other(j)
            close(block_of_AXBs(model.tree, model.A, forward, w.weight, i, j), Z[at])
            close(block_of_AsXB(model.tree, model.A, backward, w.weight, i, j), W[at])


def test_blocks_between_base_trees_are_zero():
    """Two base trees 0 -> 1 and 2 -> 3: nothing couples them, either way."""
    import soacraft as sc

    one = np.ones((1, 1))
    model = sc.SKOModel([-1, 0, -1, 2], [None, one, None, one], [one] * 4, [one] * 4)
    Y = [one] * 4
    for i, j in ((0, 2), (1, 3), (3, 0)):
        assert model.tree.closest_common_ancestor(i, j) is None
        assert not block_of_AXBs(model.tree, model.A, Y, model.A, i, j).any()
        assert not block_of_AsXB(model.tree, model.A, Y, model.A, i, j).any()
    assert block_of_AsXB(model.tree, model.A, Y, model.A, 1, 0).item() == 1.0


def test_siblings_meet_in_their_parent():
    """Unrelated nodes: zero in A X B*, through the closest common ancestor in A* X B (004 Eq. 15, 25)."""
    import soacraft as sc

    one = np.ones((1, 1))
    edges = [None, 2 * one, 3 * one]
    model = sc.SKOModel([-1, 0, 0], edges, [one] * 3, [one] * 3)
    Y = backward_lyapunov(model, model.A, [one] * 3)
    assert block_of_AXBs(model.tree, model.A, Y, model.A, 1, 2).item() == 0.0
    assert block_of_AsXB(model.tree, model.A, Y, model.A, 1, 2).item() == 2.0 * 1.0 * 3.0


@pytest.mark.parametrize("kind", SKO)
@tries(15)
@given(data=st.data())
def test_composite_bodies_are_the_diagonal_of_A_M_A_star(kind, data):
    model = data.draw(models(kind))
    d = dense(model)
    R, Z = composite_body(model), d.A @ d.M @ d.A.T
    for k in model.nodes:
        close(R[k], Z[d.body(k), d.body(k)])


@tries(10)
@given(model=sko_models(batch=3))
def test_batched_composite_bodies_are_a_loop(model):
    R = composite_body(model)
    for i in range(3):
        one = composite_body(one_of_batch(model, i))
        for k in model.nodes:
            close(R[k][i], one[k])

"""The sparse factorization with redundant rows against dense pseudo-inverses; its order and its cost."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.loops.cases import near
from tests.profiles import tries
from tests.strategies import SEEDS

from soacraft.loops.block_cholesky import BlockCholesky


@st.composite
def gram_matrices(draw):
    """Y Y* by blocks, rows of Y in some of the column groups only; some rows repeat others."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=7))
    groups = [draw(st.sets(st.integers(0, 4), min_size=1, max_size=3)) for _ in sizes]
    rng = np.random.default_rng(draw(SEEDS))
    ends = np.cumsum([0, *sizes])
    Y = np.zeros((ends[-1], 20))
    for i, chosen in enumerate(groups):
        for g in chosen:
            Y[ends[i] : ends[i + 1], 4 * g : 4 * g + 4] = rng.standard_normal((sizes[i], 4))
        if draw(st.booleans()) and i and groups[i - 1] <= chosen:  # a row of the block before, once more
            Y[ends[i]] = Y[ends[i] - 1]
        if draw(st.booleans()):
            Y[ends[i]] = 0.0
    units = 10.0 ** rng.uniform(-3, 3, len(Y))  # rows of many sizes
    return sizes, Y, units


@tries(100)
@given(gram_matrices(), SEEDS)
def test_against_the_pseudo_inverse(drawn, seed):
    sizes, Y, units = drawn
    scaled = units[:, None] * Y
    S = scaled @ scaled.T
    ends = np.cumsum([0, *sizes])
    at = [slice(a, b) for a, b in pairwise(ends)]
    blocks = {(i, j): S[at[i], at[j]] for i in range(len(at)) for j in range(i, len(at)) if S[at[i], at[j]].any()}
    values = np.linalg.svd(Y, compute_uv=False)
    rank = int(np.sum(values > 1e-9))
    if values[:rank].min(initial=1.0) < 1e-3:
        return  # nearly redundant rows: neither answer is sharp
    factor = BlockCholesky(sizes, blocks, units**2)
    assert factor.rank == rank
    assert len(factor.redundant) == len(S) - rank
    x = scaled @ np.random.default_rng(seed).standard_normal(20)
    found = factor.solve(x)
    least = np.linalg.pinv(scaled.T, rcond=1e-12) @ (np.linalg.pinv(scaled, rcond=1e-12) @ x)
    near(S @ found / units, x / units, 1e-8)
    near(scaled.T @ found, np.linalg.pinv(scaled, rcond=1e-12) @ x, 1e-7)
    assert np.linalg.norm(found) <= np.linalg.norm(least) * (1.0 + 1e-6) + 1e-9


@pytest.mark.parametrize("n", [5, 50])
def test_a_row_of_blocks_has_no_fill(n):
    """Each step meets one neighbour at most."""
    blocks = {(i, i): 2.0 * np.eye(2) for i in range(n)} | {(i, i + 1): 0.5 * np.eye(2) for i in range(n - 1)}
    factor = BlockCholesky([2] * n, blocks, np.full(2 * n, 2.0))
    assert max(len(front.others) for front in factor._fronts) == 2
    S = np.kron(2.0 * np.eye(n) + 0.5 * (np.eye(n, k=1) + np.eye(n, k=-1)), np.eye(2))
    near(factor.solve(np.arange(2.0 * n)), np.linalg.solve(S, np.arange(2.0 * n)), 1e-13)


def test_a_full_matrix_is_one_dense_step():
    Y = np.random.default_rng(0).standard_normal((12, 30))
    S = Y @ Y.T
    blocks = {(i, j): S[3 * i : 3 * i + 3, 3 * j : 3 * j + 3] for i in range(4) for j in range(i, 4)}
    factor = BlockCholesky([3] * 4, blocks, np.diagonal(S).copy())
    assert len(factor._fronts) == 1
    near(factor.solve(np.ones(12)), np.linalg.solve(S, np.ones(12)), 1e-12)

"""Blocks of equal shapes side by side give what a loop gives."""

from operator import matmul

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from soacraft.ops.blockwise import blockwise

shapes = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))


@given(sizes=st.lists(shapes, max_size=6), left=st.sampled_from([(), (1,), (2,)]), right=st.sampled_from([(), (2,)]))
def test_blockwise_is_a_loop(sizes, left, right):
    """With a batch on the left, on the right, on both or on none."""
    rng = np.random.default_rng(0)
    X = [rng.standard_normal((*left, rows, inner)) for rows, inner, _ in sizes]
    Y = [rng.standard_normal((*right, inner, cols)) for _, inner, cols in sizes]
    found = blockwise(matmul, X, Y)
    assert len(found) == len(sizes)
    for z, x, y in zip(found, X, Y, strict=True):
        np.testing.assert_allclose(z, x @ y, atol=1e-14)
        assert z.shape == (x @ y).shape


def test_some_blocks_may_be_batched_and_others_not():
    X = [np.ones((2, 1, 1)), 3 * np.ones((1, 1)), 5 * np.ones((2, 1, 1))]
    found = blockwise(lambda x: 2 * x, X)
    assert [x.shape for x in found] == [(2, 1, 1), (1, 1), (2, 1, 1)]
    assert [x.max() for x in found] == [2, 6, 10]

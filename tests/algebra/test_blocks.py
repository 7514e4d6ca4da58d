"""Dictionaries of blocks against dense matrices: products, sums, transposes, batches, missing and empty blocks."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from soacraft.algebra.blocks import Blocks, identity
from soacraft.algebra.space import Space

BATCHES = st.sampled_from([(), (2,), (3, 2)])


@st.composite
def spaces(draw):
    sizes = draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    return Space("body", [str(k) for k in range(len(sizes))], sizes, owner=None)


@st.composite
def blocks(draw, rows, cols, batch=()):
    places = [(i, j) for i in range(len(rows)) for j in range(len(cols))]
    keys = draw(st.lists(st.sampled_from(places), unique=True, max_size=8))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    shared = draw(st.booleans())  # some blocks the same in all states
    entries = {}
    for n, (i, j) in enumerate(keys):
        lead = () if shared and n % 2 else batch
        entries[i, j] = rng.standard_normal((*lead, rows.dims[i], cols.dims[j]))
    return Blocks(rows, cols, entries)


def dense(x):
    X = np.zeros((*x.batch, x.rows.size, x.cols.size))
    for (i, j), block in x.entries.items():
        X[..., x.rows.block(i), x.cols.block(j)] = block
    return X


def close(x, y):
    """Equal in every state; what is the same in all of them may have no leading axis."""
    np.testing.assert_allclose(*np.broadcast_arrays(x, y), atol=1e-12)


@given(data=st.data(), batch=BATCHES, m=st.integers(0, 2))
def test_products_with_columns(data, batch, m):
    rows, cols = data.draw(spaces()), data.draw(spaces())
    X = data.draw(blocks(rows, cols, batch))
    rng = np.random.default_rng(0)
    for lead in {(), X.batch}:
        x, y = rng.standard_normal((*lead, cols.size, m)), rng.standard_normal((*lead, rows.size, m))
        close(X.apply(x), dense(X) @ x)
        close(X.apply_T(y), dense(X).mT @ y)


@given(data=st.data(), batch=BATCHES)
def test_arithmetic(data, batch):
    rows, middle, cols = (data.draw(spaces()) for _ in range(3))
    X, Y = data.draw(blocks(rows, middle, batch)), data.draw(blocks(middle, cols, batch))
    Z = data.draw(blocks(rows, middle, batch))
    close(dense(X.times(Y)), dense(X) @ dense(Y))
    close(dense(X.plus(Z)), dense(X) + dense(Z))
    close(dense(X.scaled(-2.5)), -2.5 * dense(X))
    close(dense(X.transposed()), dense(X).mT)
    close(dense(identity(rows)), np.eye(rows.size))


@given(data=st.data(), batch=BATCHES)
def test_single_blocks_and_sizes(data, batch):
    space = data.draw(spaces())
    X = data.draw(blocks(space, space, batch))
    D = dense(X)
    sizes = dict(zip(zip(X.sizes.rows.tolist(), X.sizes.cols.tolist(), strict=True), X.sizes.sizes, strict=True))
    for i in range(len(space)):
        for j in range(len(space)):
            at = D[..., space.block(i), space.block(j)]
            close(X.block(i, j), at)
            assert sizes.get((i, j), 0.0) == np.abs(at).max(initial=0.0)
    assert [x.shape[-2:] for x in X.diagonal()] == [(d, d) for d in space.dims]

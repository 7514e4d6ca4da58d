"""Dictionaries of blocks against dense matrices: products, sums, transposes, batches, missing and empty blocks."""

from itertools import groupby

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from soacraft.algebra.spaces.blocks import Blocks, identity
from soacraft.algebra.spaces.space import Space

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
def test_single_blocks(data, batch):
    space = data.draw(spaces())
    X = data.draw(blocks(space, space, batch))
    D = dense(X)
    for i in range(len(space)):
        for j in range(len(space)):
            close(X.block(i, j), D[..., space.block(i), space.block(j)])
    assert [x.shape[-2:] for x in X.diagonal()] == [(d, d) for d in space.dims]


@given(data=st.data(), batch=BATCHES)
def test_the_largest_entries_of_pieces(data, batch):
    """Neighbours of one letter in one block are a piece."""
    plain = data.draw(spaces())
    letters = data.draw(st.lists(st.sampled_from("rm"), min_size=plain.size, max_size=plain.size))
    words = ["".join(letters[plain.block(k)]) for k in range(len(plain))]
    space = Space("body", plain.labels, plain.dims, None, units=words)
    runs = [list(run) for word in words for run in _runs(word)]
    ends = np.cumsum([0, *map(len, runs)])
    assert space.pieces.tolist() == ends[:-1].tolist()
    X = data.draw(blocks(space, space, batch))
    D, found = np.abs(dense(X)), dense(X.magnitude)
    assert found.shape == (len(runs), len(runs))
    for a in range(len(runs)):
        for b in range(len(runs)):
            assert found[a, b] == D[..., ends[a] : ends[a + 1], ends[b] : ends[b + 1]].max(initial=0.0)
    x = np.random.default_rng(0).standard_normal((*batch, space.size, 2))
    for a in range(len(runs)):
        np.testing.assert_array_equal(space.sizes(x)[..., a, :], np.abs(x[..., ends[a] : ends[a + 1], :]).max(axis=-2))


def _runs(word):
    return ("".join(run) for _, run in groupby(word))

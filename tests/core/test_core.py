"""The compiled sweeps against dense matrices, and what they refuse."""

import contextlib
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import soacraft
from soacraft import _core


@dataclass
class Sweep:
    """The arguments of gather and scatter."""

    order: object
    parent: object
    offset: object
    edge: object
    edge_offset: object
    x: object

    def run(self, function, tilde=False):
        return function(self.order, self.parent, self.offset, self.edge, self.edge_offset, self.x, tilde)

    def but(self, **changes):
        return replace(self, **changes)

    def E(self):
        """The dense E_A: block A(p,k) at (p,k)."""
        E = np.zeros((len(self.x), len(self.x)))
        for k, p in enumerate(self.parent):
            if p >= 0:
                rows, cols = slice(*self.offset[p : p + 2]), slice(*self.offset[k : k + 2])
                block = self.edge[slice(*self.edge_offset[k : k + 2])]
                E[rows, cols] = block.reshape(rows.stop - rows.start, cols.stop - cols.start)
        return E


@dataclass
class Blocks:
    """The arguments of block_apply."""

    row: object
    col: object
    row_offset: object
    col_offset: object
    data: object
    data_offset: object
    x: object

    def run(self, transpose=False):
        return _core.block_apply(
            self.row,
            self.col,
            self.row_offset,
            self.col_offset,
            self.data,
            self.data_offset,
            self.x,
            transpose,
        )

    def but(self, **changes):
        return replace(self, **changes)

    def dense(self):
        X = np.zeros((self.row_offset[-1], self.col_offset[-1]))
        for i, (r, c) in enumerate(zip(self.row, self.col, strict=True)):
            rows, cols = slice(*self.row_offset[r : r + 2]), slice(*self.col_offset[c : c + 2])
            block = self.data[slice(*self.data_offset[i : i + 2])]
            X[rows, cols] += block.reshape(rows.stop - rows.start, cols.stop - cols.start)
        return X


def offsets(sizes):
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def some_sizes(rng, n):
    return np.full(n, 6) if rng.random() < 0.3 else rng.integers(0, 8, n)


def random_sweep(seed, n, m):
    """A random forest: numbering unrelated to depth, block sizes 0 to 7 (or all 6)."""
    rng = np.random.default_rng(seed)
    order, parent, sizes = rng.permutation(n), np.full(n, -1), some_sizes(rng, n)
    for i in range(1, n):
        if rng.random() < 0.8:
            parent[order[i]] = order[rng.integers(i)]
    edge_offset = offsets([0 if p < 0 else sizes[p] * sizes[k] for k, p in enumerate(parent)])
    edge = rng.normal(size=edge_offset[-1]) / 3
    return Sweep(order, parent, offsets(sizes), edge, edge_offset, rng.normal(size=(sizes.sum(), m)))


def random_blocks(seed, rows, cols, count, m):
    rng = np.random.default_rng(seed)
    row_sizes, col_sizes = some_sizes(rng, rows), some_sizes(rng, cols)
    row, col = rng.integers(0, rows, count), rng.integers(0, cols, count)
    data_offset = offsets(row_sizes[row] * col_sizes[col])
    data, x = rng.normal(size=data_offset[-1]), rng.normal(size=(col_sizes.sum(), m))
    return Blocks(row, col, offsets(row_sizes), offsets(col_sizes), data, data_offset, x)


def chain():
    """Three bodies in a row, 2, 3 and 1 wide."""
    edge_offset = np.array([0, 0, 6, 9])
    return Sweep(
        np.arange(3), np.arange(3) - 1, np.array([0, 2, 5, 6]), np.arange(9.0), edge_offset, np.ones((6, 1))
    )


def two_blocks():
    """A 2 x 3 block at (0, 1) and a 1 x 2 block at (1, 0)."""
    return Blocks(
        np.array([0, 1]),
        np.array([1, 0]),
        np.array([0, 2, 3]),
        np.array([0, 2, 5]),
        np.arange(8.0),
        np.array([0, 6, 8]),
        np.ones((5, 1)),
    )


seeds = st.integers(0, 2**32 - 1)


@given(seed=seeds, n=st.integers(0, 12), m=st.integers(0, 4))
def test_sweeps_equal_dense_phi(seed, n, m):
    s = random_sweep(seed, n, m)
    phi = np.linalg.inv(np.eye(len(s.x)) - s.E())
    for function, operator in ((_core.gather, phi), (_core.scatter, phi.T)):
        y, tilde = s.run(function), s.run(function, tilde=True)
        np.testing.assert_allclose(y, operator @ s.x, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(tilde, operator @ s.x - s.x, rtol=1e-11, atol=1e-11)
        assert y.shape == tilde.shape == s.x.shape
        assert y.flags.owndata
        assert y.flags.writeable


@given(
    seed=seeds, rows=st.integers(1, 6), cols=st.integers(1, 6), count=st.integers(0, 12), m=st.integers(0, 4)
)
def test_block_apply_equals_dense(seed, rows, cols, count, m):
    b = random_blocks(seed, rows, cols, count, m)
    X = b.dense()
    np.testing.assert_allclose(b.run(), X @ b.x, rtol=1e-12, atol=1e-12)
    w = np.random.default_rng(seed).normal(size=(len(X), m))
    np.testing.assert_allclose(b.but(x=w).run(transpose=True), X.T @ w, rtol=1e-12, atol=1e-12)


def test_input_is_left_alone():
    s, read_only = chain(), np.ones((6, 1))
    read_only.flags.writeable = False
    s.but(x=read_only).run(_core.gather)
    assert (read_only == 1).all()


def test_a_chain_of_many_bodies():
    n = 100_000
    s = Sweep(
        np.arange(n),
        np.arange(n) - 1,
        np.arange(n + 1),
        np.ones(n - 1),
        offsets([0] + [1] * (n - 1)),
        np.ones((n, 1)),
    )
    assert s.run(_core.gather)[0, 0] == n
    assert s.run(_core.scatter)[-1, 0] == n


def test_nan_reaches_the_ancestors_only():
    s = chain().but(x=np.array([1, 1, np.nan, 1, 1, 1.0])[:, None])
    assert np.isnan(s.run(_core.gather)[:, 0]).tolist() == [True, True, True, False, False, False]
    assert np.isnan(s.run(_core.scatter)[:, 0]).tolist() == [False, False, True, False, False, True]


def test_nothing_to_do():
    none, start = np.zeros(0, np.int64), np.zeros(1, np.int64)
    s = Sweep(none, none, start, np.zeros(0), start, np.zeros((0, 3)))
    b = Blocks(none, none, start, start, np.zeros(0), start, np.zeros((0, 3)))
    assert s.run(_core.gather).shape == s.run(_core.scatter, tilde=True).shape == b.run().shape == (0, 3)


def test_version_is_that_of_the_package():
    assert _core.version() == soacraft.__version__


BIG = 2**62

BAD_SWEEPS = {
    "order twice": (dict(order=np.array([0, 1, 1])), "order[2] = 1: each node must be listed once"),
    "order beyond": (dict(order=np.array([0, 1, 3])), "order[2] = 3: no node has this number"),
    "order negative": (dict(order=np.array([0, 1, -1])), "order[2] = -1: no node has this number"),
    "child first": (dict(order=np.array([1, 0, 2])), "order[0] = 1: a node must come after its parent"),
    "order short": (dict(order=np.arange(2)), "parent must have length 2, got 3"),
    "own parent": (dict(parent=np.array([-1, 1, 1])), "order[1] = 1: a node must come after its parent"),
    "cycle": (dict(parent=np.array([-1, 2, 1])), "order[1] = 1: a node must come after its parent"),
    "parent beyond": (dict(parent=np.array([-1, 0, BIG])), f"parent[2] = {BIG}: must be a node, or -1"),
    "parent one beyond": (dict(parent=np.array([-1, 0, 3])), "parent[2] = 3: must be a node, or -1"),
    "parent below": (dict(parent=np.array([-1, 0, -2])), "parent[2] = -2: must be a node, or -1"),
    "parent long": (dict(parent=np.arange(4) - 1), "parent must have length 3, got 4"),
    "offset start": (dict(offset=np.array([1, 2, 5, 6])), "offset[0] = 1: the first offset must be 0"),
    "negative size": (dict(offset=np.array([0, 5, 2, 6])), "offset[2] = 2: offsets must not decrease"),
    "offset negative": (dict(offset=np.array([0, -2, 5, 6])), "offset[1] = -2: offsets must not decrease"),
    "offset beyond": (dict(offset=np.array([0, 2, 5, BIG])), f"offset[3] = {BIG}: the last offset must be"),
    "offset short": (dict(offset=np.array([0, 2, 6])), "offset must have length 4, got 3"),
    "offset none": (dict(offset=np.zeros(0, int)), "offset must have length 4, got 0"),
    "sizes differ": (dict(offset=np.array([0, 1, 5, 6])), "edge_offset[2] = 6: the edge block must be"),
    "edge short": (dict(edge=np.arange(8.0)), "edge_offset[3] = 9: the last offset must be"),
    "edge long": (dict(edge=np.arange(10.0)), "edge_offset[3] = 9: the last offset must be"),
    "edge of a base": (
        dict(edge_offset=np.array([0, 3, 6, 9])),
        "edge_offset[1] = 3: a base node has no edge",
    ),
    "edge negative": (dict(edge_offset=np.array([0, 0, -6, 9])), "edge_offset[2] = -6: offsets must not"),
    "x short": (dict(x=np.ones((5, 1))), "offset[3] = 6: the last offset must be the length of what it cuts"),
    "x flat": (dict(x=np.ones(6)), "x must be a C-contiguous float64 array with 2 axes: its number of axes"),
    "x deep": (dict(x=np.ones((6, 1, 1))), "its number of axes differs"),
    "x scalar": (dict(x=np.float64(1)), "x must be a C-contiguous float64 array with 2 axes: "),
    "x float32": (
        dict(x=np.ones((6, 1), "f4")),
        "x must be a C-contiguous float64 array with 2 axes: its dtype",
    ),
    "x integer": (dict(x=np.ones((6, 1), int)), "its dtype differs"),
    "x complex": (dict(x=np.ones((6, 1), complex)), "its dtype differs"),
    "x object": (dict(x=np.ones((6, 1), object)), "its dtype differs"),
    "x swapped": (dict(x=np.ones((6, 1), ">f8")), "its dtype differs"),
    "x record": (dict(x=np.ones((6, 1), [("a", "f8")])), "its dtype differs"),
    "x dates": (dict(x=np.zeros((6, 1), "M8[s]")), "it is not contiguous, or holds no numbers"),
    "x strided": (dict(x=np.ones((12, 1))[::2]), "it is not contiguous, or holds no numbers"),
    "x fortran": (dict(x=np.ones((2, 6)).T), "x must be a C-contiguous float64 array with 2 axes: "),
    "x backwards": (dict(x=np.ones((6, 1))[::-1]), "x must be a C-contiguous float64 array with 2 axes: "),
    "x spread": (
        dict(x=np.broadcast_to(1.0, (6, 2))),
        "x must be a C-contiguous float64 array with 2 axes: ",
    ),
    "x unaligned": (
        dict(x=np.frombuffer(bytes(49), "u1")[1:].view("f8").reshape(6, 1)),
        "its memory is not aligned",
    ),
    "x a list": (dict(x=[[1.0]] * 6), "x must be a C-contiguous float64 array with 2 axes: it is no array"),
    "x nothing": (dict(x=None), "it is no array"),
    "order real": (dict(order=np.arange(3.0)), "order must be a C-contiguous int64 array with 1 axis"),
    "order unsigned": (dict(order=np.arange(3, dtype="u8")), "its dtype differs"),
    "order int32": (dict(order=np.arange(3, dtype="i4")), "its dtype differs"),
    "order bytes": (dict(order=b"abc"), "its dtype differs"),
}


@pytest.mark.parametrize("function", [_core.gather, _core.scatter], ids=["gather", "scatter"])
@pytest.mark.parametrize("case", BAD_SWEEPS)
def test_bad_sweeps_are_refused(function, case):
    changes, text = BAD_SWEEPS[case]
    with pytest.raises(ValueError, match=re.escape(text)):
        chain().but(**changes).run(function)


BAD_BLOCKS = {
    "row beyond": (dict(row=np.array([0, 2])), "row[1] = 2: no node has this number"),
    "row negative": (dict(row=np.array([0, -1])), "row[1] = -1: no node has this number"),
    "col beyond": (dict(col=np.array([BIG, 0])), f"col[0] = {BIG}: no node has this number"),
    "col short": (dict(col=np.array([1])), "col must have length 2, got 1"),
    "row offset none": (dict(row_offset=np.zeros(0, int)), "row_offset must have at least one entry, 0"),
    "row offset down": (dict(row_offset=np.array([0, 2, 1])), "row_offset[2] = 1: offsets must not decrease"),
    "row offset start": (
        dict(row_offset=np.array([-1, 2, 3])),
        "row_offset[0] = -1: the first offset must be 0",
    ),
    "sizes differ": (dict(row_offset=np.array([0, 1, 3])), "data_offset[1] = 6: the block must be"),
    "row offset below": (
        dict(row_offset=np.array([0, 2, -3])),
        "row_offset[2] = -3: offsets must not be negative",
    ),
    "data short": (dict(data=np.arange(7.0)), "data_offset[2] = 8: the last offset must be"),
    "data offset short": (dict(data_offset=np.array([0, 8])), "data_offset must have length 3, got 2"),
    "x short": (dict(x=np.ones((4, 1))), "x must have length 5, got 4"),
    "x real": (dict(x=np.ones((5, 1), "f4")), "x must be a C-contiguous float64 array with 2 axes: "),
}


@pytest.mark.parametrize("case", BAD_BLOCKS)
def test_bad_blocks_are_refused(case):
    changes, text = BAD_BLOCKS[case]
    with pytest.raises(ValueError, match=re.escape(text)):
        two_blocks().but(**changes).run()


def test_transpose_wants_the_other_length():
    with pytest.raises(ValueError, match="x must have length 3, got 5"):
        two_blocks().run(transpose=True)


def test_a_result_too_large_is_refused():
    for row_offset in ([0, 2, 3, BIG], [0, BIG, BIG + 1]):
        with pytest.raises((ValueError, MemoryError)):
            two_blocks().but(row_offset=np.array(row_offset)).run()


def test_a_block_far_larger_than_its_data_is_refused():
    b = two_blocks().but(row_offset=np.array([0, 2**58, 2**58 + 1]), x=np.empty((5, 0)))
    with pytest.raises(ValueError, match=re.escape("data_offset[1] = 6: the block must be")):
        b.run()


def test_a_long_array_without_columns_costs_nothing():
    length, empty = 2**58, np.zeros(0)
    order, parent, offset = np.arange(2), np.array([-1, 0]), np.array([0, length, length])
    for function in (_core.gather, _core.scatter):
        y = Sweep(order, parent, offset, empty, np.zeros(3, int), np.empty((length, 0))).run(function)
        assert y.shape == (length, 0)


few = st.lists(st.integers(-2, 7), max_size=4).map(lambda entries: np.array(entries, dtype=np.int64))
places = st.one_of(few, few.map(np.sort), few.map(lambda entries: np.arange(len(entries))))


@given(places, places, places, st.integers(0, 9), places, st.integers(0, 7), st.booleans())
def test_no_index_crashes_a_sweep(order, parent, offset, edges, edge_offset, rows, tilde):
    s = Sweep(order, parent, offset, np.ones(edges), edge_offset, np.ones((rows, 1)))
    for function in (_core.gather, _core.scatter):
        with contextlib.suppress(ValueError):
            assert s.run(function, tilde).shape == (rows, 1)


@given(places, places, places, places, st.integers(0, 9), places, st.integers(0, 7), st.booleans())
def test_no_index_crashes_a_block_list(row, col, row_offset, col_offset, size, data_offset, rows, transpose):
    b = Blocks(row, col, row_offset, col_offset, np.ones(size), data_offset, np.ones((rows, 1)))
    with contextlib.suppress(ValueError):
        assert b.run(transpose).shape == ((col_offset if transpose else row_offset)[-1], 1)

"""Gather and scatter, and their tilde forms, against dense A = (I - E)^-1; the compiled twins against them."""

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from tests.profiles import tries
from tests.strategies import SKO, dense, models, one_of_batch, parents, scrambled, sko_models

from soacraft.algebra import Space, Tree
from soacraft.recursions import gather, gather_tilde, scatter, scatter_tilde
from soacraft.recursions._backend import PackedBlocks, Sweeps, on_columns

SIZES = st.integers(0, 3)

#: name -> (recursion, dense form, sweep of the backend)
FORMS = {
    "gather": (gather, lambda d: d.A, lambda s, x: s.gather(x)),
    "gather tilde": (gather_tilde, lambda d: d.A - np.eye(len(d.A)), lambda s, x: s.gather(x, tilde=True)),
    "scatter": (scatter, lambda d: d.A.T, lambda s, x: s.scatter(x)),
    "scatter tilde": (scatter_tilde, lambda d: d.A.T - np.eye(len(d.A)), lambda s, x: s.scatter(x, tilde=True)),
}


def close(x, y):
    np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10 * max(1.0, np.abs(y).max(initial=0.0)))


def body_space(model):
    return Space("body", model.names, model.dims, owner=None, tree=model.tree)


def stack(y, n):
    return np.concatenate([y[k] for k in range(n)], axis=-2)


@pytest.mark.parametrize("kind", SKO)
@tries(12)
@given(data=st.data(), m=SIZES, seed=st.integers(0, 99))
def test_a_sweep_is_the_product_with_dense_A(kind, data, m, seed):
    model = data.draw(models(kind))
    space, exact = body_space(model), dense(model)
    x = np.random.default_rng(seed).standard_normal((space.size, m))
    for form, (recursion, matrix, _) in FORMS.items():
        note(form)
        y = recursion(model, model.A, space.split(x))
        close(stack(y, model.n), matrix(exact) @ x)


@pytest.mark.parametrize("kind", SKO)
@tries(12)
@given(data=st.data(), batch=st.lists(st.integers(0, 3), max_size=2), m=SIZES, seed=st.integers(0, 99))
def test_the_compiled_sweep_is_the_recursion(kind, data, batch, m, seed):
    model = data.draw(models(kind))
    space, exact = body_space(model), dense(model)
    sweeps = Sweeps(model.tree, space, model.edges)
    assert not sweeps.batched
    x = np.random.default_rng(seed).standard_normal((*batch, space.size, m))
    for form, (recursion, matrix, compiled) in FORMS.items():
        note(form)
        y = compiled(sweeps, x)
        assert y.shape == x.shape
        close(y, stack(recursion(model, model.A, space.split(x)), model.n))
        close(y, matrix(exact) @ x)


@pytest.mark.parametrize("form", FORMS)
@tries(15)
@given(model=sko_models(batch=3), m=SIZES, seed=st.integers(0, 99), own=st.booleans())
def test_batched_weights_are_a_loop(form, model, m, seed, own):
    """With weights for each state, and the same or other columns for each."""
    _, matrix, compiled = FORMS[form]
    space = body_space(model)
    x = np.random.default_rng(seed).standard_normal((3, space.size, m) if own else (space.size, m))
    y = compiled(Sweeps(model.tree, space, model.edges), x)
    for i in range(3):
        one = np.broadcast_to(y, (3, *x.shape[-2:]))[i]
        close(one, matrix(dense(one_of_batch(model, i))) @ (x[i] if own else x))


def test_some_weights_may_be_batched_and_others_not():
    """Siblings: the first edge has three states, the second one."""
    tree = Tree([-1, 0, 0])
    space = Space("body", "abc", [1, 1, 1], owner=None, tree=tree)
    edges = [None, np.array([2.0, 3.0, 4.0]).reshape(3, 1, 1), np.array([[10.0]])]
    sweeps = Sweeps(tree, space, edges)
    x = np.array([[1.0], [1.0], [1.0]])
    np.testing.assert_array_equal(sweeps.gather(x)[..., 0], [[13, 1, 1], [14, 1, 1], [15, 1, 1]])
    np.testing.assert_array_equal(sweeps.scatter(x)[..., 0], [[1, 3, 11], [1, 4, 11], [1, 5, 11]])


def test_nothing_to_sweep():
    """A tree without nodes, and blocks without rows."""
    empty = Space("body", [], [], owner=None, tree=Tree([]))
    sweeps = Sweeps(Tree([]), empty, [])
    assert sweeps.gather(np.zeros((0, 2))).shape == (0, 2)
    assert sweeps.scatter(np.zeros((3, 0, 2))).shape == (3, 0, 2)
    hollow = Space("body", "ab", [0, 0], owner=None, tree=Tree([-1, 0]))
    sweeps = Sweeps(Tree([-1, 0]), hollow, [None, np.zeros((0, 0))])
    assert sweeps.gather(np.zeros((5, 0, 1))).shape == (5, 0, 1)


def test_the_sweeps_of_the_paper_by_hand():
    """trunk with two branches: y(trunk) = A y(left) + A y(right) + x(trunk)."""
    tree = Tree([2, 2, -1])
    A = {0: np.array([[2.0]]), 1: np.array([[3.0]])}
    x = [np.array([[1.0]]), np.array([[10.0]]), np.array([[100.0]])]
    assert gather(tree, lambda p, k: A[k], x)[2].item() == 100 + 2 + 30
    assert gather_tilde(tree, lambda p, k: A[k], x)[2].item() == 2 + 30
    assert gather_tilde(tree, lambda p, k: A[k], x)[0].item() == 0
    assert scatter(tree, lambda p, k: A[k], x)[1].item() == 10 + 300
    assert scatter_tilde(tree, lambda p, k: A[k], x)[1].item() == 300
    assert scatter_tilde(tree, lambda p, k: A[k], x)[2].item() == 0


def test_a_long_chain_needs_no_recursion_depth():
    n = 20_000
    tree = Tree(range(-1, n - 1))
    space = Space("body", tree.names, [1] * n, owner=None, tree=tree)
    sweeps = Sweeps(tree, space, [None] + [np.eye(1)] * (n - 1))
    assert sweeps.gather(np.ones((n, 1)))[0, 0] == n
    assert sweeps.scatter(np.ones((n, 1)))[-1, 0] == n


# -- lists of blocks ----------------------------------------------------------------------------------------------


@st.composite
def block_lists(draw):
    rows, cols = (draw(st.lists(st.integers(0, 4), min_size=1, max_size=4)) for _ in range(2))
    places = [(i, j) for i in range(len(rows)) for j in range(len(cols))]
    keys = draw(st.lists(st.sampled_from(places), unique=True, max_size=8))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    spaces = [Space("body", map(str, range(len(sizes))), sizes, owner=None) for sizes in (rows, cols)]
    return *spaces, {(i, j): rng.standard_normal((rows[i], cols[j])) for i, j in keys}


def filled(rows, cols, entries):
    X = np.zeros((rows.size, cols.size))
    for (i, j), x in entries.items():
        X[rows.block(i), cols.block(j)] = x
    return X


@given(blocks=block_lists(), batch=st.lists(st.integers(0, 3), max_size=2), m=SIZES)
def test_packed_blocks_are_the_dense_matrix(blocks, batch, m):
    rows, cols, entries = blocks
    packed, X = PackedBlocks(rows, cols, entries), filled(rows, cols, entries)
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((*batch, cols.size, m)), rng.standard_normal((*batch, rows.size, m))
    close(packed.apply(x, False), X @ x)
    close(packed.apply(y, True), X.T @ y)


@given(batch=st.lists(st.integers(0, 3), max_size=3), size=st.integers(0, 3), m=st.integers(0, 3))
def test_on_columns_lays_the_batch_beside_the_columns(batch, size, m):
    x = np.random.default_rng(0).standard_normal((*batch, size, m))
    double = np.concatenate([np.eye(size), 2 * np.eye(size)])
    close(on_columns(lambda flat: double @ flat, x), double @ x)


@given(tree=scrambled(parents(max_size=8)))
def test_orders_put_parents_and_children_right(tree):
    t = Tree(tree)
    place = {k: i for i, k in enumerate(t.base_to_tips())}
    assert sorted(place) == list(range(t.n))
    assert t.tips_to_base() == t.base_to_tips()[::-1]
    assert all(p < 0 or place[p] < place[k] for k, p in enumerate(tree))

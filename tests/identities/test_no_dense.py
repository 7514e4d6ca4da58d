"""`.array()` never serves a product or a block: it is made to raise, and both sides of every identity are used."""

from functools import cache

import numpy as np
import pytest
from tests.model.modal.trees import flexible_tree
from tests.strategies import OPEN, as_functions

import soacraft as sc
from soacraft.algebra import Operator
from soacraft.algebra.values import evaluate

MODELS = {
    "rigid tree": lambda: sc.operators(sc.random_tree(6, seed=4, bases=2)),
    "rigid tree, inertial axes": lambda: sc.operators(sc.random_tree(5, seed=2), axes="inertial"),
    "flexible tree": lambda: sc.operators(flexible_tree((-1, 0, 0, 1), 3)),
    "SKO model": lambda: sc.operators(sc.random_sko(6, seed=3, min_dim=2)),
    "SKO model of functions": lambda: sc.operators(as_functions(sc.random_sko(6, seed=3, min_dim=2), 1)),
    "batch": lambda: sc.operators(batch_of_states(sc.random_tree(5, seed=6))),
}


@cache
def operators_of(model):
    return MODELS[model]()


def batch_of_states(mb):
    states = [mb.random_state(seed) for seed in range(3)]
    return mb.state(*(np.stack(parts) for parts in zip(*states, strict=True)))


@pytest.fixture
def no_dense(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a dense matrix was formed")

    monkeypatch.setattr(Operator, "array", refuse)
    monkeypatch.setattr(Operator, "__array__", refuse)
    monkeypatch.setattr(evaluate, "array", refuse)
    monkeypatch.setattr(evaluate, "_dense", refuse)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "identity", [i for i in OPEN if not i.name.startswith("determinant")], ids=lambda i: i.name
)
def test_products_and_blocks_form_no_dense_matrix(identity, model, no_dense):
    s = operators_of(model)
    for side in (identity.left, identity.right):
        expr = side(s)
        if not isinstance(expr, Operator):
            continue  # a stacked vector: computed just now
        rows, cols = expr.spaces
        x = np.linspace(-1.0, 1.0, cols.size)
        assert (expr * x).shape == (*expr.batch, rows.size)
        assert (expr.T * np.ones((rows.size, 2))).shape == (*expr.batch, cols.size, 2)
        for i in {0, len(rows) // 2, len(rows) - 1}:
            for j in {0, len(cols) - 1}:
                assert expr[i, j].shape == (*expr.batch, rows.dims[i], cols.dims[j])


def test_the_guard_guards(no_dense):
    s = MODELS["rigid tree"]()
    for attempt in (s.phi.array, lambda: np.asarray(s.phi), (s.I + s.phi * s.phi.T).inv.array):
        with pytest.raises(AssertionError, match="a dense matrix was formed"):
            attempt()


@pytest.mark.parametrize("model", MODELS)
def test_zero_tests_traces_and_branches_form_no_dense_matrix(model, no_dense):
    s = MODELS[model]()
    mass_matrix = s.H * s.phi * s.M * s.phi.T * s.H.T
    assert (mass_matrix * mass_matrix.inv).is_identity()
    assert np.shape(mass_matrix.inv.trace()) == s.binding.batch
    assert mass_matrix.by_branch()[0, 0].ndim == 2 + len(s.binding.batch)

"""Rules fire on what they are made for, whichever way it is written, and on nothing else that looks like it."""

import numpy as np
import pytest
from tests.strategies import AXES

import soacraft as sc
from soacraft.ops.rules import as_mass_matrix

I = sc.I


def mass_matrix(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T


SAME = {
    "as printed": mass_matrix,
    "with @": lambda s: s.H @ s.phi @ s.M @ s.phi.T @ s.H.T,
    "grouped": lambda s: (s.H * s.phi) * (s.M * (s.phi.T * s.H.T)),
    "composite bodies": lambda s: s.H * (s.phi * s.R + s.R * s.phi.T - s.R) * s.H.T,
    "tildes": lambda s: s.H * (s.R + s.phi_tilde * s.R + s.R * s.phi_tilde.T) * s.H.T,
    "three terms": lambda s: s.H * s.R * s.H.T + s.H * s.phi_tilde * s.R * s.H.T + s.H * s.R * s.phi_tilde.T * s.H.T,
}

OTHER = {
    "psi": lambda s: s.H * s.psi * s.M * s.psi.T * s.H.T,
    "mixed": lambda s: s.H * s.phi * s.M * s.psi.T * s.H.T,
    "not symmetric": lambda s: s.H * s.phi * (s.M + s.tau) * s.phi.T * s.H.T,
    "not diagonal": lambda s: s.H * s.phi * (s.M + s.E_phi) * s.phi.T * s.H.T,
    "tilde": lambda s: s.H * s.phi_tilde * s.M * s.phi_tilde.T * s.H.T + s.D,
    "G for H*": lambda s: s.H * s.phi * s.M * s.phi.T * s.G,
    "sign": lambda s: s.H * (s.phi * s.R + s.R * s.phi.T + s.R) * s.H.T,
    "P for R": lambda s: s.H * (s.phi * s.P + s.P * s.phi.T - s.P) * s.H.T,
    "one term less": lambda s: s.H * s.R * s.H.T + s.H * s.phi_tilde * s.R * s.H.T,
    "one term more": lambda s: mass_matrix(s) + s.D,
    "twice phi": lambda s: s.H * s.phi * s.phi * s.M * s.phi.T * s.phi.T * s.H.T,
    "innovations with G": lambda s: I + s.H * s.phi * s.G,
    "innovations, twice": lambda s: I + 2 * (s.H * s.phi * s.K),
    "innovations, other sign": lambda s: I + s.H * s.psi * s.K,
    "innovations, -I": lambda s: -I - s.H * s.phi * s.K,
}


def dense(expr, s):
    """The value by plain numpy, from the leaves up."""
    from soacraft.algebra import Identity, Product, Scaled, Sum, Transpose

    if isinstance(expr, Identity):
        return np.eye(expr.rows.size)
    if isinstance(expr, Sum):
        return sum(dense(t, s) for t in expr.terms)
    if isinstance(expr, Product):
        return np.linalg.multi_dot([dense(f, s) for f in expr.factors])
    if isinstance(expr, Scaled):
        return expr.factor * dense(expr.arg, s)
    if isinstance(expr, Transpose):
        return dense(expr.arg, s).T
    return expr.array()  # a leaf


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("form", [*SAME, *OTHER])
def test_the_dense_matrix_is_right_whatever_rule_fires(form, axes):
    s = sc.operators(sc.random_tree(5, seed=4), axes=axes)
    expr = (SAME | OTHER)[form](s)
    expected = dense(expr, s)
    np.testing.assert_allclose(expr.array(), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    inverse = np.linalg.inv(expected)
    np.testing.assert_allclose(expr.inv.array(), inverse, rtol=1e-6, atol=1e-7 * np.abs(inverse).max())


@pytest.mark.parametrize("form", SAME)
def test_the_mass_matrix_is_recognised(form):
    s = sc.operators(sc.load("biped"))
    found = as_mass_matrix(SAME[form](s))
    assert found is not None
    assert found.known
    assert SAME[form](s).explain().array.kind == "recursion"


@pytest.mark.parametrize("form", [name for name in OTHER if not name.startswith("innovations")])
def test_what_is_no_mass_matrix_is_not_taken_for_one(form):
    found = as_mass_matrix(OTHER[form](sc.operators(sc.load("biped"))))
    assert found is None or not found.known


def test_operators_of_other_states_are_told_apart():
    mb = sc.random_tree(4, seed=2)
    s, elsewhere = sc.operators(mb), sc.operators(mb.state(q=mb.random_state(3)[0]))
    R = elsewhere.R
    assert as_mass_matrix(s.H * (s.phi * R + R * s.phi.T - R) * s.H.T) is None
    found = as_mass_matrix(elsewhere.H * s.phi * s.M * s.phi.T * elsewhere.H.T)
    assert found is not None
    assert not found.known
    assert as_mass_matrix(s.H * s.phi * s.M * elsewhere.phi.T * s.H.T) is None
    assert as_mass_matrix(s.H * s.phi * s.M * s.phi.T * elsewhere.H.T) is None


def test_blocks_of_products_with_two_states():
    """Upsilon and R come from the memo of their own state only."""
    mb = sc.random_tree(5, seed=2)
    s, elsewhere = sc.operators(mb), sc.operators(mb.state(q=mb.random_state(3)[0]))
    for expr in (
        s.phi * elsewhere.M * s.phi.T,
        s.phi * s.M * elsewhere.phi.T,
        s.psi.T * s.H.T * elsewhere.D.inv * s.H * s.psi,
        s.psi.T * elsewhere.H.T * s.D.inv * s.H * s.psi,
    ):
        expected = np.linalg.multi_dot([f.array() for f in expr.factors])
        for i in range(5):
            for j in range(5):
                at = s.body.block(i), s.body.block(j)
                np.testing.assert_allclose(expr[i, j], expected[at], atol=1e-9)

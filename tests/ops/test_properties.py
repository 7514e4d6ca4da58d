"""`expr.properties()`, `expr.log_det()` and `expr.det()` against the dense matrices of drawn models."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.strategies import CLASSES, keep, operators, parents

import soacraft as sc
from soacraft.algebra.values.support import support
from soacraft.errors import SingularError, SpaceError, StateError
from soacraft.ops.table import NAMES


def drawn(kind):
    return operators(kind, parents(max_size=2 if kind == "embedded" else 5))


def mass_matrix(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T


def expressions(s):
    """Every leaf, and every kind of expression."""
    I = s.I
    return {
        **{name: getattr(s, name) for name in NAMES},
        "mass matrix": mass_matrix(s),
        "its inverse": mass_matrix(s).inv,
        "other inertias": s.H * s.phi * (s.M + s.P) * s.phi.T * s.H.T,
        "innovations factor": I + s.H * s.phi * s.K,
        "transposed factor": (I - s.H * s.psi * s.K).T,
        "powers": s.phi**2 * s.E_phi**2,
        "product of square factors": -2 * s.phi * s.psi.T,
        "zero": s.phi * (0 * s.M),
        "through the hinges": s.H.T * s.D.inv * s.H,
        "sum": s.M + s.phi,
        "swept inverse": (I - 2 * s.E_phi).inv,
        "Lyapunov": s.E_psi.lyapunov(s.P) - s.M,
    }


def holds(name, X, expr, inertia):
    """A property of a dense matrix, judged by plain numpy; None where rounding leaves it open. What is small relative
    to the largest inertia is taken for rounding of it.
    """
    rows, cols = expr.spaces
    size = np.abs(X).max(initial=0.0)
    size = size if size > 1e-12 * inertia else inertia
    if name in ("block_diagonal", "triangular"):
        tree, there = rows.tree, np.zeros((len(rows), len(cols)), dtype=bool)
        for i in range(len(rows)):
            for j in range(len(cols)):
                there[i, j] = np.abs(X[rows.block(i), cols.block(j)]).max(initial=0.0) > 1e-7 * size
        inboard = np.array([[tree.path(i, j) is not None for j in range(tree.n)] for i in range(tree.n)])
        if name == "block_diagonal":
            return not (there & ~np.eye(tree.n, dtype=bool)).any()
        return not (there & ~inboard).any() or not (there & ~inboard.T).any()
    if name == "square":
        return rows == cols
    if X.shape[0] != X.shape[1] or rows != cols:
        return False
    if name == "symmetric":
        return np.abs(X - X.T).max(initial=0.0) <= 1e-7 * size
    if name == "nilpotent":
        return np.abs(np.linalg.matrix_power(X / size, len(X))).max(initial=0.0) <= 1e-9
    values = np.linalg.svd(X, compute_uv=False)
    if name == "invertible":
        if not len(values) or values[-1] > 1e-6 * size:
            return True
        return None if values[-1] > 1e-12 * size else False
    lowest = np.linalg.eigvalsh(0.5 * (X + X.T)).min(initial=np.inf)
    if np.abs(X - X.T).max(initial=0.0) > 1e-7 * size:
        return False
    if abs(lowest) < 1e-7 * size:
        return True if name == "semidefinite" else None
    return lowest > 0


@pytest.mark.parametrize("kind", CLASSES)
@tries(3)
@given(data=st.data())
def test_what_is_said_is_true_of_the_numbers(kind, data):
    s = data.draw(drawn(kind))
    keep()
    inertia = np.abs(s.P.array()).max(initial=1e-300)
    for what, expr in expressions(s).items():
        X, p = expr.array(), expr.properties()
        for name, why in p.why.items():
            said, seen = getattr(p, name), holds(name, X, expr, inertia)
            if said is None or seen is None:
                continue
            if name == "nilpotent" and said is False:
                continue  # numpy cannot tell a small eigenvalue from none
            assert said == seen, (what, name, why)
        outside, (rows, cols) = ~support(expr), expr.spaces
        for i, j in np.argwhere(outside):
            assert not np.abs(X[rows.block(i), cols.block(j)]).max(initial=0.0) > 1e-9, (what, i, j)


@pytest.mark.parametrize("kind", CLASSES)
@tries(3)
@given(data=st.data())
def test_determinants_against_dense_ones(kind, data):
    s = data.draw(drawn(kind))
    keep()
    for what, expr in expressions(s).items():
        if expr.rows != expr.cols or what in ("sum",):
            continue
        X = expr.array()
        sign, log = np.linalg.slogdet(X)
        if expr.log_det() == -np.inf:
            scale = max(np.abs(X).max(initial=0.0), np.abs(s.P.array()).max(initial=0.0))
            assert np.linalg.svd(X, compute_uv=False)[-1] <= 1e-9 * scale, what
            continue
        if X.size and np.linalg.cond(X) > 1e9:
            continue
        np.testing.assert_allclose(expr.log_det(), log, atol=1e-6, err_msg=what)
        assert expr.det() == pytest.approx(sign * np.exp(log), rel=1e-6), what


def test_what_is_known_of_the_operators_of_the_papers():
    s = sc.operators(sc.load("biped"))
    p = {name: getattr(s, name).properties() for name in NAMES}
    assert [name for name in NAMES if p[name].nilpotent] == ["E_phi", "E_psi", "phi_tilde", "psi_tilde"]
    assert all(p[name].triangular and p[name].block_diagonal is False for name in ("phi", "psi", "E_phi", "K"))
    assert all(p[name].invertible for name in ("phi", "psi", "D", "M", "P"))
    assert all(p[name].invertible is False for name in ("tau", "tau_bar", "P_plus", "E_phi", "Omega", "H"))
    assert all(p[name].definite for name in ("M", "P", "R", "D"))
    assert (p["Omega"].semidefinite, p["Omega"].definite, p["H"].square) == (True, False, False)
    whole = mass_matrix(s).properties()
    assert whole.definite
    assert whole.invertible
    assert whole.block_diagonal is False
    assert "(I + H*phi*K) * D" in whole.why["invertible"]
    assert (s.I + s.H * s.phi * s.K).properties().invertible
    assert "properties of E_phi" in repr(p["E_phi"])
    assert "its power 4 is zero" in repr(p["E_phi"])


def test_what_cancels_is_not_said_to_be_there():
    """E_psi G = 0 and phi - phi_tilde = I: structure allows more, so nothing is claimed that the numbers deny."""
    s = sc.operators(sc.load("arm7"))
    nothing = (s.E_psi * s.G).properties()
    assert nothing.block_diagonal is None
    assert "it is zero at this state" in nothing.why["block_diagonal"]
    one = (s.phi - s.phi_tilde).properties()
    assert one.block_diagonal is None
    assert one.symmetric is None


def test_a_hinge_without_inertia_is_singular_not_definite():
    blocks = {"A": [None, [[1.0]]], "H": [[[1.0]]] * 2, "M": [[[1.0]], [[0.0]]]}
    s = sc.operators(sc.SKOModel([-1, 0], **blocks, names=["carriage", "tip"]))
    p = mass_matrix(s).properties()
    assert p.invertible is False
    assert p.definite is False
    assert p.semidefinite
    assert "the hinge of 'tip' has no inertia to move" in p.why["invertible"]


def test_determinants_refuse_what_they_do_not_know():
    s = sc.operators(sc.load("arm7"))
    unknown = s.M + s.phi + s.phi.T
    with pytest.raises(SpaceError, match=r"no factorization of M \+ phi \+ phi.T is known.*dense=True"):
        unknown.log_det()
    assert unknown.log_det(dense=True) == pytest.approx(np.linalg.slogdet(unknown.array())[1])
    with pytest.raises(SpaceError, match="H has no determinant, it maps"):
        s.H.det()
    with pytest.raises(StateError, match=r"beyond the range of doubles.*take log_det"):
        (1e200 * s.M).det()
    with pytest.raises(SingularError, match="tau is singular"):
        s.tau.inv.log_det()


def test_determinants_of_a_batch():
    mb = sc.load("arm7")
    q = np.stack([mb.random_state(i)[0] for i in range(4)])
    expr = mass_matrix(sc.operators(mb))
    found = expr.at(q=q).log_det()
    np.testing.assert_allclose(found, [expr.at(q=x).log_det() for x in q], rtol=1e-12)
    np.testing.assert_allclose(found, sc.dynamics.log_det_mass_matrix(mb, q), rtol=1e-12)


def test_large_models_are_looked_at_by_structure_alone():
    s = sc.operators(sc.serial_chain(120))
    p = s.phi.properties()
    assert p.triangular
    assert p.invertible
    assert p.nilpotent is False
    assert p.block_diagonal is None
    assert "the numbers are not looked at" in p.why["block_diagonal"]
    assert mass_matrix(s).properties().definite

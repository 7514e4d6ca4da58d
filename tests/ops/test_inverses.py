"""Inverses: those the papers know run as sweeps, the others only as dense arithmetic on request."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.strategies import CLASSES, keep, operators, parents

import soacraft as sc
from soacraft.errors import SingularError, StructureError

I = sc.I


def mass_matrix(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T


def innovations(s):
    return I + s.H * s.phi * s.K


KNOWN = {
    "phi": (lambda s: s.phi, "000 Eq. 9"),
    "psi": (lambda s: s.psi, "000 Eq. 9"),
    "phi*": (lambda s: s.phi.T, "000 Eq. 9"),
    "D": (lambda s: s.D, "inverse block by block"),
    "I + M": (lambda s: I + s.M, "inverse block by block"),
    "I": (lambda s: I + 0 * s.M, "inverse block by block"),
    "the mass matrix": (mass_matrix, "000 Eq. 30"),
    "the mass matrix, grouped": (lambda s: (s.H * s.phi) * s.M * (s.phi.T * s.H.T), "000 Eq. 30"),
    "the mass matrix by R": (lambda s: s.H * (s.phi * s.R + s.R * s.phi.T - s.R) * s.H.T, "000 Eq. 30"),
    "the mass matrix by R and tildes": (
        lambda s: s.H * (s.R + s.phi_tilde * s.R + s.R * s.phi_tilde.T) * s.H.T,
        "000 Eq. 30",
    ),
    "the mass matrix in three terms": (
        lambda s: s.H * s.R * s.H.T + s.H * s.phi_tilde * s.R * s.H.T + s.H * s.R * s.phi_tilde.T * s.H.T,
        "000 Eq. 30",
    ),
    "the mass matrix by a Lyapunov solution": (
        lambda s: (
            s.H * (s.phi * s.E_phi.lyapunov(s.M) + s.E_phi.lyapunov(s.M) * s.phi.T - s.E_phi.lyapunov(s.M)) * s.H.T
        ),
        "000 Eq. 30",
    ),
    "the mass matrix by innovations": (lambda s: innovations(s) * s.D * innovations(s).T, "000 Eq. 29"),
    "I + K H phi": (lambda s: I + s.K * s.H * s.phi, "004 Eq. 44"),
    "twice the mass matrix": (lambda s: mass_matrix(s) + mass_matrix(s), "000 Eq. 30"),
    "the mass matrix by P": (
        lambda s: s.H * (s.P + s.phi_tilde * s.P + s.P * s.phi_tilde.T + s.phi * s.K * s.D * s.K.T * s.phi.T) * s.H.T,
        "000 Eq. 30",
    ),
    "a multiple of the mass matrix": (lambda s: 2.5 * mass_matrix(s), "000 Eq. 30"),
    "the transposed mass matrix": (lambda s: mass_matrix(s).T, "000 Eq. 30"),
    "other inertias": (lambda s: s.H * s.phi * (s.M + s.R) * s.phi.T * s.H.T, "000 Eq. 30"),
    "more other inertias": (lambda s: s.H * s.phi * (s.M + s.H.T * s.D * s.H) * s.phi.T * s.H.T, "000 Eq. 30"),
    "R for M": (lambda s: s.H * s.phi * s.R * s.phi.T * s.H.T, "000 Eq. 30"),
    "I for M": (lambda s: s.H * s.phi * I * s.phi.T * s.H.T, "000 Eq. 30"),
    "2M for M": (lambda s: s.H * s.phi * (2 * s.M) * s.phi.T * s.H.T, "000 Eq. 30"),
    "I + H phi K": (innovations, "000 Eq. 29"),
    "H phi K + I": (lambda s: s.H * s.phi * s.K + I, "000 Eq. 29"),
    "I - H psi K": (lambda s: I - s.H * s.psi * s.K, "000 Eq. 29"),
    "-H psi K + I": (lambda s: -(s.H * s.psi * s.K) + I, "000 Eq. 29"),
    "(I + H phi K)*": (lambda s: innovations(s).T, "000 Eq. 29"),
    "I - E_phi": (lambda s: I - s.E_phi, "004 Lemma 1"),
    "I - E_phi*": (lambda s: I - s.E_phi.T, "004 Lemma 2"),
    "(I - E_psi)*": (lambda s: (I - s.E_psi).T, "004 Lemma 2"),
    "2 I + E_phi": (lambda s: 2 * I + s.E_phi, "004 Lemma 1"),
    "I + R - E_phi M": (lambda s: I + s.R - s.E_phi * s.M, "004 Lemma 1"),
    "I + H K": (lambda s: I + s.H * s.K, "004 Lemma 1"),
    "push-through": (lambda s: I + s.H * s.phi * (s.E_phi * s.P * s.H.T), "push-through"),
    "push-through, minus": (lambda s: I - s.H * s.phi * s.K, "push-through"),
    "push-through, tilde": (lambda s: I + s.H * s.phi_tilde * s.G, "push-through"),
    "push-through, psi": (lambda s: I + s.H * s.psi * (2 * s.K), "push-through"),
    "push-through in body space": (lambda s: I + s.P * s.phi * s.E_psi, "push-through"),
    "a product of square factors": (lambda s: s.phi * (I + s.M) * s.psi.T, "inverse of a product of square factors"),
    "an inverse in a product": (lambda s: mass_matrix(s).inv * s.D, "inverse of a product of square factors"),
}


def close(x, y, what=""):
    scale = max(1.0, np.abs(y).max(initial=0.0))
    np.testing.assert_allclose(x, y, rtol=1e-7, atol=1e-8 * scale, err_msg=str(what))


@pytest.mark.parametrize("kind", CLASSES)
@tries(3)
@given(data=st.data())
def test_known_inverses(kind, data):
    """Products, blocks and the dense matrix, against numpy; none of them by dense arithmetic."""
    s = data.draw(operators(kind, parents(max_size=5)))
    dense = {name: expr(s).array() for name, (expr, _) in KNOWN.items()}
    keep(all(X.size == 0 or np.linalg.cond(X) < 1e7 for X in dense.values()))
    for name, (expr, _) in KNOWN.items():
        x = expr(s)
        expected = np.linalg.inv(dense[name])
        found = x.inv
        y = np.random.default_rng(0).standard_normal((x.shape[1], 2))
        close(found.array(), expected, name)
        close(found * y, expected @ y, name)
        close(found.T * y, expected.T @ y, name)
        rows, cols = found.spaces
        for i, j in ((0, 0), (0, len(cols) - 1), (len(rows) - 1, 0)):
            close(found[i, j], expected[rows.block(i), cols.block(j)], name)
        close(found.inv.array(), dense[name], name)


@pytest.mark.parametrize("name", KNOWN)
def test_known_inverses_say_which_relation_chose_them(name):
    s = sc.operators(sc.load("biped"))
    expr, source = KNOWN[name]
    plan = expr(s).inv.explain()
    assert "dense" not in {step.kind for step in plan.product}
    assert plan.block.kind != "refused"
    assert plan.array.kind != "dense"
    if plan.product:
        assert source in {step.why for step in plan.product}


@pytest.mark.parametrize("name", KNOWN)
def test_known_inverses_keep_their_promises(name):
    s = sc.operators(sc.load("hinges"))
    report = sc.check_operator(KNOWN[name][0](s).inv)
    assert report.ok, report


UNKNOWN = {
    "I + phi phi*": lambda s: I + s.phi * s.phi.T,
    "two mass matrices": lambda s: mass_matrix(s) + s.D,
    "a power": lambda s: (I + s.phi) ** 2,
    "inside an inverse": lambda s: I + (I + s.phi * s.phi.T).inv,
    "in a product": lambda s: s.phi * (I + s.phi * s.phi.T),
    "three terms": lambda s: I + s.H * s.phi * s.K + s.D,
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_inverses_are_dense_on_request_only(name):
    s = sc.operators(sc.random_tree(5, seed=1))
    x = UNKNOWN[name](s)
    dense = x.array()
    close(x.inv.array(), np.linalg.inv(dense), name)
    close(np.asarray(x.inv), np.linalg.inv(dense), name)
    close((x.inv.T + 2 * I).array(), np.linalg.inv(dense).T + 2 * np.eye(len(dense)), name)
    close((x.inv * x).array(), np.eye(len(dense)), name)
    plan = x.inv.explain()
    assert plan.array.kind == "dense"
    assert plan.array.why == "dense arithmetic: an inverse of no known structure"
    assert plan.block.kind == "refused"
    assert plan.product[-1].kind == "dense"
    for attempt in (
        lambda: x.inv * np.ones(len(dense)),
        lambda: x.inv[0, 0],
        x.inv.is_zero,
        x.inv.trace,
        x.inv.by_branch,
    ):
        with pytest.raises(StructureError, match=r"^no structured inverse of "):
            attempt()


def test_the_text_of_an_unknown_inverse():
    s = sc.operators(sc.load("double_pendulum"))
    with pytest.raises(StructureError) as refusal:
        (I + s.phi * s.phi.T).inv * np.ones(12)
    assert not isinstance(refusal.value, SingularError | ArithmeticError)
    assert str(refusal.value) == (
        "no structured inverse of I + phi*phi.T is known, so it cannot be applied to vectors or give blocks; "
        "np.linalg.solve((I + phi*phi.T).array(), x) solves it densely."
    )


def test_nested_unknown_inverses_take_no_time():
    """What is not known is asked for once at each level."""
    s = sc.operators(sc.load("double_pendulum"))
    x = I + s.phi * s.phi.T
    for _ in range(60):
        x = I + x.inv
    assert x.inv.explain().array.kind == "dense"
    assert x.inv.array().shape == (12, 12)


# -- singular -----------------------------------------------------------------------------------------------------


def massless():
    mb = sc.Multibody("arm")
    mb.add_body("upper", None, sc.Pin((0, 0, 1)), sc.Inertia())
    mb.add_body("lower", "upper", sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0.5, 0, 0), 0.1 * np.eye(3)))
    return sc.operators(mb)


def test_a_singular_diagonal_block_is_named():
    s = massless()
    for attempt in (s.M.inv.array, lambda: s.M.inv * np.ones(12), lambda: s.M.inv[0, 0]):
        with pytest.raises(SingularError) as refusal:
            attempt()
        assert str(refusal.value) == (
            "block 'upper' of M is singular (largest entry 0); an inverse needs every diagonal block to be regular."
        )
    assert s.D.inv.array().shape == (2, 2)
    with pytest.raises(SingularError, match=re.escape("block 'upper' of P_plus is singular (largest entry")):
        s.P_plus.inv.array()


def test_a_singular_kernel_is_named():
    s = massless()
    with pytest.raises(SingularError, match=re.escape("block 'upper' of diag_of(E_phi) is singular (largest entry 0)")):
        s.E_phi.inv.array()


def test_a_singular_dense_matrix_is_refused():
    """Rounding makes numpy invert it; the answer would be noise."""
    s = sc.operators(sc.random_tree(4, seed=0))
    for expr in (s.Omega, s.phi_tilde, s.H.T * mass_matrix(s).inv * s.H + 0 * s.phi):
        with pytest.raises(
            SingularError, match=f"^{re.escape(expr.text())} is singular at this state, it has no inverse.$"
        ):
            expr.inv.array()


def test_a_singular_mass_matrix_names_the_hinge():
    mb = sc.Multibody("arm")
    mb.add_body("upper", None, sc.Pin((0, 0, 1)), sc.Inertia.sphere(1.0, 0.1))
    mb.add_body("tip", "upper", sc.Pin((0, 0, 1)), sc.Inertia())
    s = sc.operators(mb)
    text = "the hinge of 'tip' has no inertia to move"
    for attempt in (
        lambda: mass_matrix(s).inv * np.ones(2),
        mass_matrix(s).inv.array,
        s.D.array,
        lambda: s.psi * np.ones(12),
        s.Omega.array,
        lambda: s.nu,
        (s.H * s.phi * (2 * s.M) * s.phi.T * s.H.T).inv.array,
    ):
        with pytest.raises(SingularError, match=text):
            attempt()
    assert mass_matrix(s).array().shape == (2, 2)  # what needs no inverse still works
    assert np.asarray(s.T).shape == (2,)


def test_one_bad_state_of_a_batch_is_refused():
    one = np.eye(2)
    M = np.stack([one, np.diag([1.0, 0.0])])
    s = sc.operators(sc.SKOModel([-1], [None], [one[:1]], [M], names=["a"]))
    with pytest.raises(SingularError, match="block 'a' of M is singular"):
        s.M.inv.array()


def test_tiny_and_huge_blocks_are_not_singular():
    one = np.eye(2)
    for scale in (1e-200, 1e-30, 1e30, 1e150):
        s = sc.operators(sc.SKOModel([-1], [None], [one], [scale * one]))
        close(scale * s.M.inv.array(), one)


# -- small laws ---------------------------------------------------------------------------------------------------


def test_the_inverse_of_an_inverse():
    s = sc.operators(sc.load("double_pendulum"))
    assert s.phi.inv.inv is s.phi
    assert mass_matrix(s).inv.text() == "(H*phi*M*phi.T*H.T).inv"
    assert s.phi.inv is s.phi.inv  # made once, so that its caches serve


@pytest.mark.parametrize("form", KNOWN)
def test_inverses_follow_the_state(form):
    mb = sc.random_tree(4, seed=7)
    s = sc.operators(mb)
    x = KNOWN[form][0](s)
    inverse = x.inv
    for seed in (1, 2):
        mb.q = mb.random_state(seed)[0]
        close(inverse.array() @ x.array(), np.eye(x.shape[0]), form)
        y = np.ones(x.shape[0])
        close((inverse * y).data, np.linalg.solve(x.array(), y), form)

"""`explain()` tells the sweeps before they run: their names, order, cost and source; and computes nothing."""

import numpy as np
import pytest
from tests.strategies import OPEN

import soacraft as sc
from soacraft.ops import derived, table
from soacraft.recursions import _backend

I = sc.I


@pytest.fixture(scope="module")
def s():
    return sc.operators(sc.load("arm7"))


def mass_matrix(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T


def steps(expr):
    return [(step.kind, step.operator, step.why) for step in expr.explain().product]


def test_the_table_of_the_mass_matrix(s):
    assert repr(mass_matrix(s).explain()).splitlines() == [
        "H*phi*M*phi.T*H.T : hinge[7] <- hinge[7]",
        "        sweep      operator           cost          because",
        "----------------------------------------------------------------------------------------",
        "1       diagonal   H.T                O(n)          Jain 2016 Eq. 6",
        "2       scatter    phi.T              O(n)          Jain 2016 Eq. 9",
        "3       diagonal   M                  O(n)          Jain 2016 Eq. 15",
        "4       gather     phi                O(n)          Jain 2016 Eq. 9",
        "5       diagonal   H                  O(n)          Jain 2016 Eq. 6",
        "----------------------------------------------------------------------------------------",
        "[i, j]  path       phi*M*phi.T        O(n) or less  Jain 2011 Eq. 15",
        "array   recursion  H*phi*M*phi.T*H.T  O(N^2)        Jain 2016 Eq. 20, Jain 2011 Alg. 4.2",
        "cost    5n block products; simplify knows no cheaper form",
        "papers  Jain 2011: SKO-models paper; Jain 2016: PyCraft paper (sc.papers())",
    ]


def test_the_mass_matrix_inverse_is_chosen_by_an_identity(s):
    plan = mass_matrix(s).inv.explain()
    assert [(step.kind, step.operator) for step in plan.product] == [
        ("edges", "K"),
        ("gather", "psi"),
        ("diagonal", "H"),
        ("diagonal", "D.inv"),
        ("diagonal", "H.T"),
        ("scatter", "psi.T"),
        ("edges", "K.T"),
    ]
    assert {step.why for step in plan.product} == {"000 Eq. 30"}
    assert {step.cost for step in plan.product} == {"O(n)"}


def test_steps_run_right_to_left_and_for_a_transpose_left_to_right(s):
    assert [step[1] for step in steps(s.H * s.phi * s.K)] == ["K", "phi", "H"]
    assert [step[1] for step in steps((s.H * s.phi * s.K).T)] == ["H.T", "phi.T", "K.T"]
    assert [step[0] for step in steps((s.H * s.phi * s.K).T)] == ["diagonal", "scatter", "edges"]
    assert [step[1] for step in steps(s.E_phi**3)] == ["E_phi"] * 3
    assert steps(I + 0 * s.phi) == steps(s.phi)


def test_names_of_sweeps(s):
    B = s.B("link7/tool" if "link7/tool" in s.binding.graph else s.body.labels[-1])
    kinds = {"H": "diagonal", "K": "edges", "phi": "gather", "psi_tilde": "gather", "Upsilon": "diagonal"}
    for name, kind in kinds.items():
        assert steps(getattr(s, name))[0][0] == kind
    assert steps(B)[0][0] == "pick-off"
    assert steps(s.phi.T)[0][0] == "scatter"
    assert steps(s.E_phi.lyapunov(s.M)) == [("diagonal", "E_phi.lyapunov(M)", "004 Eq. 13")]
    assert steps(s.E_psi.T.lyapunov(s.M)) == [("diagonal", "E_psi.T.lyapunov(M)", "004 Eq. 23")]
    assert steps(sc.diag_of(s.Omega)) == [("diagonal", "diag_of(Omega)", "004 Eq. 26")]
    assert steps((s.H * s.phi * (s.M + s.R) * s.phi.T * s.H.T).inv)[0][0] == "gather, diagonal, scatter"
    assert [step[1] for step in steps(s.Omega)] == ["psi", "H", "D.inv", "H.T", "psi.T"]
    assert {step[2] for step in steps(s.Omega)} == {"000 Eq. 34"}


@pytest.mark.parametrize(
    ("expr", "kind", "operator", "why"),
    [
        (lambda s: s.M, "look-up", "M", "sparse: the block itself"),
        (lambda s: s.E_phi * s.G, "look-up", "E_phi*G", "sparse: the block itself"),
        (lambda s: s.phi, "path", "phi", "product along the path (001)"),
        (lambda s: 2 * s.phi.T, "path", "phi", "product along the path (001)"),
        (lambda s: s.H * s.phi.T * s.K, "path", "phi", "product along the path (001)"),
        (lambda s: s.phi * s.M * s.psi.T, "path", "phi*M*psi.T", "004 Eq. 15"),
        (lambda s: s.phi.T * s.M * s.psi, "path", "phi.T*M*psi", "004 Eq. 25"),
        (lambda s: s.Omega, "path", "Omega", "004 Eq. 25"),
        (lambda s: s.K.T * s.Omega * s.K, "path", "Omega", "004 Eq. 25"),
        (
            lambda s: s.phi * s.R + s.R * s.phi.T - s.R,
            "path",
            "phi*R + R*phi.T - R",
            "term by term: product along the path (001)",
        ),
        (lambda s: mass_matrix(s).inv, "column", "(H*phi*M*phi.T*H.T).inv", "a product with one block column"),
        (lambda s: s.phi * s.phi, "column", "phi*phi", "a product with one block column"),
        (
            lambda s: s.phi * s.phi + s.M,
            "column",
            "phi*phi + M",
            "term by term: a product with one block column",
        ),
        (lambda s: (I + s.phi * s.phi.T).inv, "refused", "(I + phi*phi.T).inv", "no structured inverse is known"),
    ],
)
def test_how_a_block_is_found(s, expr, kind, operator, why):
    step = expr(s).explain().block
    assert (step.kind, step.operator, step.why) == (kind, operator, why)


@pytest.mark.parametrize(
    ("expr", "kind", "why"),
    [
        (lambda s: s.M, "fill in", "sparse: blocks put in their places"),
        (lambda s: s.phi.inv, "fill in", "sparse: blocks put in their places"),
        (lambda s: s.phi, "sweeps", "a product with the identity, column by column"),
        (mass_matrix, "recursion", "000 Eq. 20, 004 Alg. 4.2"),
        (lambda s: s.H * (s.phi * s.R + s.R * s.phi.T - s.R) * s.H.T, "recursion", "000 Eq. 20, 004 Alg. 4.2"),
        (lambda s: s.H * s.phi * (s.M + s.R) * s.phi.T * s.H.T, "recursion", "000 Eq. 20, 004 Alg. 4.2"),
        (lambda s: s.H * s.psi * s.M * s.psi.T * s.H.T, "sweeps", "a product with the identity, column by column"),
        (lambda s: (I + s.phi * s.phi.T).inv, "dense", "dense arithmetic: an inverse of no known structure"),
        (lambda s: s.H * (I + s.phi * s.phi.T).inv, "dense", "dense arithmetic: an inverse of no known structure"),
    ],
)
def test_how_the_dense_matrix_is_found(s, expr, kind, why):
    step = expr(s).explain().array
    assert (step.kind, step.why) == (kind, why)


def test_the_dense_mass_matrix_runs_the_composite_body_recursion(monkeypatch):
    """What explain says is what happens: no sweep of phi runs."""
    s = sc.operators(sc.random_tree(5, seed=1))
    expected = mass_matrix(s) * np.eye(s.hinge.size)

    def refuse(*args, **kwargs):
        raise AssertionError("a sweep ran")

    monkeypatch.setattr(_backend.Sweeps, "gather", refuse)
    monkeypatch.setattr(_backend.Sweeps, "scatter", refuse)
    np.testing.assert_allclose(mass_matrix(s).array(), expected, atol=1e-12)


@pytest.mark.parametrize("identity", OPEN, ids=lambda identity: identity.name)
def test_explaining_and_printing_compute_nothing(identity, monkeypatch):
    s = sc.operators(sc.random_tree(5, seed=1))
    sides = [side(s) for side in (identity.left, identity.right)] if not vectors(identity, s) else []

    def refuse(*args, **kwargs):
        raise AssertionError("something was computed")

    for module, names in (
        (table, ("articulated_body", "composite_body", "backward_lyapunov")),
        (derived, ("riccati", "forward_lyapunov", "backward_lyapunov", "block_by_recursions")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, refuse)
    for name in ("gather", "scatter"):
        monkeypatch.setattr(_backend.Sweeps, name, refuse)
    monkeypatch.setattr(_backend.PackedBlocks, "__init__", refuse)
    monkeypatch.setattr("soacraft.algebra.spaces.blocks.Blocks.__init__", refuse)
    for side in sides:
        if isinstance(side, sc.Operator):
            assert repr(side.explain())
            assert repr(side)
            assert side.latex()
            assert side.T.text()
            assert isinstance(side.tags, frozenset)
            assert side.batch == ()


def vectors(identity, s):
    """Identities of vectors and numbers are computed when asked for."""
    return not isinstance(identity.left(s), sc.Operator)

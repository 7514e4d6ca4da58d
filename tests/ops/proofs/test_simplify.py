"""`sc.simplify`: the examples of the papers, renamed, transposed, inside longer products; never worse, never wrong."""

import re
import time

import numpy as np
import pytest
from tests.embedded import sample
from tests.strategies import OPEN

import soacraft as sc
from soacraft.algebra.expressions.nodes import Identity
from soacraft.errors import SingularError, SpaceError, StaleError
from soacraft.ops import derived, table
from soacraft.ops.leaves import PickOffLeaf
from soacraft.ops.proofs import translate
from soacraft.recursions import _backend

I = sc.I


def mass_matrix(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T


def leaves(expr):
    """How many are written; an identity that is all that is left has none, though it is bound as one."""
    return 0 if isinstance(expr, Identity) else len(list(expr.leaves()))


def not_worse(found, expr):
    return (int(found.cost()), leaves(found)) <= (int(expr.cost()), leaves(expr))


class Renamed:
    """The operators under names of the user's own."""

    def __init__(self, s, names):
        self.s, self.kept = s, {name: sc.define(f"{name}_", getattr(s, name)) for name in names}

    def __getattr__(self, name):
        return self.kept[name] if name in self.kept else getattr(self.s, name)


def B(s):
    return s.B([s.body.labels[-1]])


EXAMPLES = {
    "H psi": (lambda s: (I - s.H * s.psi * s.K) * s.H * s.phi, lambda s: s.H * s.psi),
    "D": (lambda s: s.H * s.psi * s.M * s.psi.T * s.H.T, lambda s: s.D),
    "compliance": (
        lambda s: B(s).T * s.phi.T * s.H.T * mass_matrix(s).inv * s.H * s.phi * B(s),
        lambda s: B(s).T * s.Omega * B(s),
    ),
    "K H": (lambda s: s.psi.inv - s.phi.inv, lambda s: s.K * s.H),
    "innovations": (lambda s: (I + s.H * s.phi * s.K).inv, lambda s: I - s.H * s.psi * s.K),
    "mass matrix": (
        lambda s: (I + s.H * s.phi * s.K) * s.D * (I + s.H * s.phi * s.K).T,
        mass_matrix,
    ),
    "identity": (lambda s: mass_matrix(s) * mass_matrix(s).inv, lambda s: I.with_space(s.hinge)),
    "composite": (lambda s: s.phi * s.R + s.R * s.phi.T - s.R, lambda s: s.phi * s.M * s.phi.T),
    "inverse": (
        lambda s: s.D.inv - s.D.inv * s.H * s.psi * s.K - s.K.T * s.psi.T * s.H.T * s.D.inv + s.K.T * s.Omega * s.K,
        lambda s: (I - s.H * s.psi * s.K).T * s.D.inv * (I - s.H * s.psi * s.K),
    ),
    "K": (lambda s: s.E_phi * s.P * s.H.T * s.D.inv, lambda s: s.K),
    "P+": (lambda s: s.P - s.tau * s.P, lambda s: s.P_plus),
    "M": (lambda s: s.P - s.E_psi * s.P * s.E_phi.T, lambda s: s.M),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_come_out_as_printed(name):
    s = sc.operators(sc.load("arm7"))
    expr, wanted = (side(s) for side in EXAMPLES[name])
    assert sc.simplify(expr).key() == wanted.key()


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("seed", range(3))
def test_renamed_transposed_and_inside_longer_products(name, seed):
    rng = np.random.default_rng(seed)
    makers = [sc.random_tree, sc.random_sko]
    whole = sample(seed) if seed == 2 else sc.operators(makers[seed](4, seed=seed))
    s = Renamed(whole, rng.choice("H phi psi K M D E_phi P tau".split(), 3, replace=False))
    expr, wanted = (side(s) for side in EXAMPLES[name])
    before = {"hinge": s.G, "body": s.H, "node": B(s)}[expr.rows.kind]
    after = {"hinge": s.D, "body": s.psi.T, "node": B(s).T}[expr.cols.kind]
    for x, y in ((expr, wanted), (expr.T, wanted.T), (before * expr * after, before * wanted * after)):
        found = sc.simplify(x)
        assert not_worse(found, y), f"{x.text()} -> {found.text()}"
        assert sc.verify(x, found, on=s.s).ok
    text = sc.simplify(expr).text()
    renamed = [name for name in s.kept if any(leaf.name == name for leaf in wanted.leaves())]
    assert all(f"{name}_" in text for name in renamed if f"{name}_" in expr.text()), text


def test_no_side_of_an_identity_gets_worse_or_another_value():
    models = [sc.operators(sc.random_tree(4, seed=1)), sc.operators(sc.random_sko(4, seed=2)), sample()]
    for i, identity in enumerate(OPEN):
        s = models[i % 3]
        for side in (identity.left, identity.right):
            expr = side(s)
            if not isinstance(expr, sc.Operator):
                continue
            found = sc.simplify(expr)
            assert not_worse(found, expr), f"{expr.text()} -> {found.text()}"
            assert (found.rows, found.cols) == (expr.rows, expr.cols)
            assert sc.verify(expr, found, on=s).ok, f"{expr.text()} -> {found.text()}"


def test_what_is_simple_already_comes_back_itself():
    s = sc.operators(sc.load("arm7"))
    for expr in (mass_matrix(s), s.phi, s.H * s.psi, s.D.inv, s.phi.T, mass_matrix(s).inv, 2 * s.phi, I):
        assert sc.simplify(expr) is expr


def test_numbers_are_collected():
    s = sc.operators(sc.load("arm7"))
    assert sc.simplify(2 * s.phi + 3 * s.phi).text() == "5*phi"
    assert sc.simplify(0.5 * s.phi - s.phi / 2).text() == "0*I"
    assert sc.simplify(s.H * s.tau_bar).text() == "0*H"
    assert sc.simplify(s.E_psi * s.G).text() == "0*H.T"
    assert sc.simplify(B(s).T * s.phi - B(s).T * s.phi).text() == "0*B(['link7']).T"
    assert sc.simplify(s.phi / 3 + s.psi / 3).cost().product == (s.phi + s.psi).cost().product
    assert sc.simplify((mass_matrix(s) + mass_matrix(s)).inv).text() == "0.5*(H*phi*M*phi.T*H.T).inv"


def test_unknown_inverses_cancel():
    s = sc.operators(sc.random_tree(4, seed=1))
    odd = I + s.phi * s.phi.T
    assert sc.simplify(s.H * odd.inv * odd * s.psi).text() == "H*psi"
    assert sc.simplify(odd.inv.T - odd.inv).text() == "0*I"


@pytest.mark.parametrize("axes", ["body", "inertial"])
def test_the_derivative_of_the_mass_matrix_is_eq_42(axes):
    """A pin with its frame on the hinge: H phi [X phi M - M phi* X] phi* H* (000 Eq. 42)."""
    s = sc.operators(sc.load("arm7"), axes=axes)
    X = s.X("link3")
    found = sc.simplify(mass_matrix(s).diff("link3"))
    assert found.key() == (s.H * s.phi * (X * s.phi * s.M - s.M * s.phi.T * X) * s.phi.T * s.H.T).key()


def test_leaves_of_another_kind_are_symbols_with_spaces(monkeypatch):
    """A leaf nobody knows is kept; what its maker teaches is used: here that C picks off zero velocity."""
    s = sc.operators(sc.random_tree(4, seed=1))
    C = s.B("body4")
    expr = C.T * s.psi.T * s.H.T + C.T * s.H.T
    assert sc.simplify(expr).text() == "B(['body4']).T * (I + psi.T) * H.T"

    def taught(leaf):
        if isinstance(leaf, PickOffLeaf):
            yield "C of a fixed point", "a test", s.H * leaf, None

    monkeypatch.setattr(translate, "side_rules", [taught])
    assert sc.simplify(expr).text() == "B(['body4']).T * psi.T * H.T"


def test_simplifying_computes_nothing(monkeypatch):
    s = sc.operators(sc.random_tree(4, seed=1))
    examples = [left(s) for left, _ in EXAMPLES.values()]

    def refuse(*args, **kwargs):
        raise AssertionError("something was computed")

    for module, names in (
        (table, ("articulated_body", "composite_body", "backward_lyapunov")),
        (derived, ("riccati", "forward_lyapunov", "backward_lyapunov", "block_by_recursions")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, refuse)
    monkeypatch.setattr(_backend.PackedBlocks, "__init__", refuse)
    monkeypatch.setattr("soacraft.algebra.spaces.blocks.Blocks.__init__", refuse)
    for expr in examples:
        sc.simplify(expr)


def test_the_time_is_bounded():
    s = sc.operators(sc.load("arm7"))
    huge = (I + s.phi + s.psi * s.tau + s.E_phi * s.P) ** 12
    start = time.thread_time()
    assert not_worse(sc.simplify(huge, seconds=0.2), huge)
    assert time.thread_time() - start < 1.0
    assert sc.simplify(huge, seconds=10.0).text() == "(I + phi + tau + E_phi*P)**12", "the base for itself"
    assert sc.simplify((I - s.H * s.psi * s.K) * s.H * s.phi, seconds=1e-9).rows == s.hinge


def test_batches_snapshots_and_subgraphs():
    mb = sc.load("biped")
    q = np.stack([mb.random_state(i)[0] for i in range(3)])
    for s in (
        sc.operators(mb.state(q)),
        sc.operators(mb.subgraph([mb.bodies[0]])),
        sc.operators(mb, axes="origin"),
    ):
        assert sc.simplify((I - s.H * s.psi * s.K) * s.H * s.phi).key() == (s.H * s.psi).key()


def test_what_simplify_refuses():
    s = sc.operators(sc.load("arm7"))

    def refused(error, text, attempt):
        with pytest.raises(error, match=f"^{re.escape(text)}$"):
            attempt()

    refused(SpaceError, "simplify takes an operator, not 3.", lambda: sc.simplify(3))
    refused(
        SpaceError, "seconds=nan: a positive number of seconds is wanted.", lambda: sc.simplify(s.phi, seconds=np.nan)
    )
    refused(SingularError, "0*phi is zero, it has no inverse.", lambda: sc.simplify((0 * s.phi).inv))
    refused(
        SpaceError,
        "simplify takes operators of one model at one state, but H and phi are bound to different ones; bind both "
        "with the same sc.operators(...).",
        lambda: sc.simplify(s.H * s.phi.at(q=np.zeros(7))),
    )


@pytest.mark.parametrize("axes", ["body", "inertial"])
@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda s: s.phi * s.phi.inv, "I"),
        (lambda s: s.phi - s.phi, "0*I"),
        (lambda s: s.D * s.D.inv + s.D.inv * s.D, "2*I"),
        (lambda s: s.I - s.D * s.D.inv, "0*I"),
        (lambda s: s.B("link3").T * s.phi * s.phi.inv - s.B("link3").T, "0*B(['link3']).T"),
    ],
)
def test_what_cancels_is_still_bound_to_its_model(make, text, axes):
    mb = sc.serial_chain(3)
    s = sc.operators(mb, axes=axes)
    expr = make(s)
    found = sc.simplify(expr)
    assert found.text() == text
    np.testing.assert_allclose(found.array(), expr.array(), atol=1e-12)
    q = np.stack([mb.q, mb.q + 1.0])
    assert found.at(q=q).array().shape == (2, *found.shape)
    np.testing.assert_array_equal(found.compile()(mb.q), found.array())
    assert found.diff("link2").is_zero()
    assert found.dot().is_zero()
    assert sc.check_operator(found).ok
    assert sc.define("Rest", found).spaces == expr.spaces
    mb.add_body("more", "link3", sc.Weld())
    with pytest.raises(StaleError):
        found.at(q=np.ones(3))

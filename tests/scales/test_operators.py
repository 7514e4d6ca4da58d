"""Zero, identity and equality of operators and vectors at nine scales: the same verdict at each."""

import numpy as np
import pytest
from tests.identities.test_misprints import PRINTED
from tests.scales.models import MODELS, mixed, pins
from tests.scales.scaled import NINE, Units, scaled
from tests.strategies import OPEN

import soacraft as sc
from soacraft.ops.leaves import SparseLeaf

I = sc.I
nine_scales = pytest.mark.parametrize("units", NINE, ids=str)


def mass_matrix(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T


def wrong(s, needed=frozenset()):
    """The identities (of those with some conditions) that fail, and those whose right side times 1.001 does not."""
    found = []
    for identity in OPEN:
        if not needed <= identity.conditions or ("serial" in identity.conditions and not s.sko.tree.is_serial):
            continue
        if not sc.verify(identity.left, identity.right, on=s):
            found.append(identity.name)
        if not np.any(_numbers(identity.right(s))):
            continue  # both sides are zero: any multiple is
        if sc.verify(identity.left, lambda s, right=identity.right: 1.001 * right(s), on=s):
            found.append(f"{identity.name}, off by a thousandth")
    return found


def _numbers(x):
    if isinstance(x, sc.Operator):
        return 1.0 if x.rows is None else x.array()
    return np.asarray(x)


@nine_scales
def test_identities_hold_and_what_is_nearly_one_does_not(units):
    assert wrong(sc.operators(scaled(mixed(), units))) == []


@nine_scales
def test_identities_of_serial_chains(units):
    assert wrong(sc.operators(scaled(pins(), units), axes="inertial"), {"serial"}) == []


@pytest.mark.slow
@nine_scales
@pytest.mark.parametrize("axes", ["body", "inertial", "origin"])
@pytest.mark.parametrize("model", MODELS)
def test_identities_of_every_model_in_all_axes(units, axes, model):
    assert wrong(sc.operators(scaled(MODELS[model](), units), axes=axes)) == []


@nine_scales
def test_forms_that_are_not_true(units):
    s = sc.operators(scaled(mixed(), units))
    assert [name for name, sides in PRINTED.items() if sc.verify(*sides, on=s)] == []


@pytest.mark.parametrize("model", ["pins", "mixed"])
@nine_scales
def test_what_is_not_zero(units, model):
    """No operator is zero, nor the identity, nor twice itself, whatever the units."""
    s = sc.operators(scaled(MODELS[model](), units))
    mm = mass_matrix(s)
    named = (s.H, s.M, s.E_phi, s.R, s.P, s.P_plus, s.D, s.G, s.K, s.tau, s.tau_bar, s.Upsilon, s.Omega)
    for expr in (*named, s.D.inv, mm):
        assert not expr.is_zero(), expr.text()
        assert not (expr - 1.001 * expr).is_zero(), expr.text()
        assert not sc.verify(expr, 1.001 * expr, on=s), expr.text()
        assert (3 * expr - expr - 2 * expr).is_zero(), expr.text()
    for expr in (s.M, s.D, mm, 2 * mm * mm.inv, mm.inv, 1.001 * s.phi * s.phi.inv, s.phi, s.tau):
        assert not expr.is_identity(), expr.text()
    for expr in (mm * mm.inv, s.D.inv * s.D, s.phi * (I - s.E_phi), s.H * s.G):
        assert expr.is_identity(), expr.text()
    for expr in (s.H * s.tau_bar, s.E_psi * s.G, s.tau * s.tau_bar, s.psi * s.G - s.G, mm - mm.T):
        assert expr.is_zero(), expr.text()


@nine_scales
def test_one_block_that_is_off(units):
    """A thousandth in what one body adds to the mass matrix is seen, whatever the unit of its dofs."""
    s = sc.operators(scaled(mixed(), units))
    for body in s.body.labels:
        one = s.B(body) * s.B(body).T
        part = s.H * one * s.P * one * s.H.T
        if np.any(part.array()):
            assert not (s.D - s.D - 1e-3 * part).is_zero()
            assert not (s.D + 1e-3 * part - s.D).is_zero(), body
            assert not sc.verify(s.D + 1e-6 * part, s.D, on=s), body


@pytest.mark.parametrize("model", ["pins", "mixed"])
@nine_scales
def test_vectors(units, model):
    s = sc.operators(scaled(MODELS[model](), units))
    assert sc.verify(lambda s: s.f, lambda s: s.phi * (s.M * s.alpha + s.b), on=s)
    assert sc.verify(lambda s: s.T, lambda s: mass_matrix(s) * s.vdot + s.C, on=s)
    assert sc.verify(lambda s: s.V - s.E_phi.T * s.V - s.H.T * s.v, lambda s: 0 * s.V, on=s)
    assert not sc.verify(lambda s: s.f, lambda s: s.phi * (s.M * s.alpha + 1.001 * s.b), on=s)
    assert not sc.verify(lambda s: s.T, lambda s: mass_matrix(s) * s.vdot + 1.001 * s.C, on=s)
    assert not sc.verify(lambda s: s.V - s.E_phi.T * s.V - 1.001 * (s.H.T * s.v), lambda s: 0 * s.V, on=s)


def test_a_travel_that_is_off_is_seen_with_turns_that_are_not():
    """In one block: the two pieces of a body's velocity, the pin and the slide of a cylindrical hinge."""
    for units in NINE:
        s = sc.operators(scaled(mixed(), units))
        for x in (s.V, s.f, s.v, s.T):
            for piece in range(len(x.space.pieces)):
                where = x.space.piece_of == piece
                if np.any(x.data[where]):
                    y = s.vector(x.space, np.where(where, 1.001 * x.data, x.data))
                    assert not sc.verify(lambda s, x=x: x, lambda s, y=y: y, on=s), (units, x.space, piece)


# -- check_operator -----------------------------------------------------------------------------------------------


class Broken(SparseLeaf):
    """One row of a product is off by a thousandth."""

    row = 0

    def apply(self, x):
        y = np.array(super().apply(x))
        y[..., self.row, :] *= 1.001
        return y


@nine_scales
def test_check_operator(units):
    s = sc.operators(scaled(mixed(), units))
    mm = mass_matrix(s)
    for expr in (s.M, s.P, s.D, s.D.inv, s.Omega, s.psi, s.K, mm, mm.inv, s.H * s.tau_bar):
        report = sc.check_operator(expr)
        assert report, report
    broken = Broken(s.binding, s.D.what)
    for row in range(s.hinge.size):
        broken.row = row
        bad = {name for name, error in sc.check_operator(broken).checks if not error <= 1e-9}
        assert bad == {"product with vectors", "adjoint dot test"}, row


@nine_scales
def test_false_tags(units):
    s = sc.operators(scaled(mixed(), units))
    for tag, expr in {"symmetric": s.E_phi, "positive_definite": s.P_plus, "block_diagonal": s.K}.items():
        expr.claims = frozenset({tag})
        bad = {name for name, error in sc.check_operator(expr).checks if not error <= 1e-9}
        assert bad == {f"tag {tag}"}
    s.tau.claims = frozenset({"symmetric"})
    assert not sc.check_operator(s.tau)


# -- SKO models that say their units ------------------------------------------------------------------------------


def test_units_of_a_plain_sko_model():
    """The same blocks, with and without the units of their entries."""
    mb = scaled(pins(), Units(length=1e-8))
    sko = mb.sko()
    parents = [sko.parent(k) for k in sko.nodes]
    blocks = (sko.edges, *([f(k) for k in sko.nodes] for f in (sko.H, sko.M)))
    told = sc.SKOModel(parents, *blocks, units=(["rrrmmm"] * 3, ["r"] * 3))
    s = sc.operators(told)
    assert not mass_matrix(s).is_zero()
    assert not (2 * mass_matrix(s) * mass_matrix(s).inv).is_identity()
    assert list(s.body.pieces) == [0, 3, 6, 9, 12, 15]
    assert sc.operators(sc.SKOModel(parents, *blocks)).body.pieces.tolist() == [0, 6, 12]
    with pytest.raises(sc.errors.ModelError, match=r"units of the hinge of each node need a letter for each of its"):
        sc.SKOModel(parents, *blocks, units=(["rrrmmm"] * 3, ["rr"] * 3))
    with pytest.raises(sc.errors.ModelError, match="units of an SKO model are words for the nodes"):
        sc.SKOModel(parents, *blocks, units=3)

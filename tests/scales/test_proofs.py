"""Stated identities, proofs and simplification on models at nine scales: nothing false is let in by small numbers."""

import pytest
from tests.scales.models import mixed, pins
from tests.scales.scaled import NINE, scaled

import soacraft as sc
from soacraft.errors import ModelError

nine_scales = pytest.mark.parametrize("units", NINE, ids=str)


@nine_scales
def test_a_false_identity_is_refused(units):
    s = sc.operators(scaled(mixed(), units))
    mm = s.H * s.phi * s.M * s.phi.T * s.H.T
    for left, right in ((mm, 2 * mm), (s.D, 1.001 * s.D), (mm, s.D), (s.K, s.E_psi * s.G)):
        with pytest.raises(ModelError, match="the identity 'wishful' does not hold: not equal on"):
            sc.state_identity("wishful", left, right)


@nine_scales
def test_nothing_false_is_proved(units):
    s = sc.operators(scaled(pins(), units))
    mm = s.H * s.phi * s.M * s.phi.T * s.H.T
    with pytest.raises(ModelError, match="the identity 'wishful' does not hold: not equal on"):
        sc.state_identity("wishful", mm, 2 * mm)
    assert not sc.prove(mm, 2 * s.D, seconds=0.5)
    assert sc.simplify(mm, seconds=0.5).key() == mm.key()


@nine_scales
def test_a_true_one_is_taken(units):
    """On a chain, not on trees: the decomposition of Omega (000 Eq. 35)."""
    s = sc.operators(scaled(pins(), units))
    Omega, psi, Y = s.Omega, s.psi, s.Upsilon
    stated = sc.state_identity("serial Omega", Omega, psi.T * Y + Y * psi - Y)
    assert sc.prove(2 * Omega, 2 * (psi.T * Y + Y * psi - Y))
    stated.forget()


@nine_scales
def test_steps_of_a_proof_are_checked_on_the_model_itself(units):
    """Nodes belong to one model: numbers are looked at there."""
    s = sc.operators(scaled(mixed(), units))
    B = s.B("tip/end")
    proof = sc.prove(B.T * s.phi.T * s.H.T, (s.H * s.phi * B).T)
    assert proof, proof
    assert "itself at 3 random states" in proof.checked

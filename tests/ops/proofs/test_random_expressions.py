"""Simplify on random expressions: never dearer, equal, proved, and the same again."""

import numpy as np
import pytest
from tests.embedded import sample
from tests.model.modal.trees import flexible_tree
from tests.ops.differences import with_armature

import soacraft as sc
from soacraft.ops.proofs.simplify import _leaves

I = sc.I

SQUARE = "E_phi phi phi_tilde M R P P_plus tau tau_bar E_psi psi psi_tilde Upsilon Omega".split()


def random_expression(s, rng):
    """A sum of a few random products with numbers, of random spaces, perhaps beside an innovations factor."""
    kinds = rng.choice(["hinge", "body"], 2)
    found = None
    for _ in range(rng.integers(1, 4)):
        term = float(rng.choice([1, -1, 0.5, 1 / 3, -2.5])) * random_product(s, rng, *kinds)
        found = term if found is None else found + term
    if rng.random() < 0.3:
        found = found * (I - s.H * s.psi * s.K if kinds[1] == "hinge" else I + s.phi * s.K * s.H)
    return found


def random_product(s, rng, rows, cols):
    found, at = I.with_space(getattr(s, rows)), rows
    for _ in range(rng.integers(1, 6)):
        if at == "hinge":
            x = [s.D.inv, s.D, s.H, s.G.T, s.K.T][rng.integers(5)]
        elif rng.random() < 0.25:
            x = [s.H.T, s.G, s.K, s.phi.inv][rng.integers(4)]
        else:
            x = getattr(s, SQUARE[rng.integers(len(SQUARE))])
            x = x.T if rng.random() < 0.4 else x
        found, at = found * x, x.cols.kind
    return found if at == cols else found * (s.H.T if cols == "hinge" else s.H)


def batch():
    mb = sc.load("arm7")
    return mb.state(np.stack([mb.random_state(seed)[0] for seed in range(2)]))


FUZZED = {
    "SKO model": lambda seed: sc.operators(sc.random_sko(5, seed=seed)),
    "rotors": lambda seed: sc.operators(with_armature(seed)),
    "batch": lambda seed: sc.operators(batch()),
    "compound bodies": sample,
    "chain": lambda seed: sc.operators(sc.random_sko(4, seed=seed, branching=0.0)),
    "flexible tree": lambda seed: sc.operators(flexible_tree((-1, 0, 0, 1), seed)),
}


@pytest.mark.parametrize("place", FUZZED)
def test_random_expressions(place):
    rng = np.random.default_rng(list(FUZZED).index(place))
    s = FUZZED[place](3)
    for _ in range(3):
        expr = random_expression(s, rng)
        found = sc.simplify(expr)
        text = f"{expr.text()} -> {found.text()}"
        assert (int(found.cost()), len(_leaves(found))) <= (int(expr.cost()), len(_leaves(expr))), text
        assert (found.rows, found.cols) == (expr.rows, expr.cols), text
        assert sc.verify(expr, found, on=s).ok, text
        assert sc.simplify(found) is found, f"{text} -> {sc.simplify(found).text()}"
        assert sc.prove(expr, found), text


def test_what_gets_cheaper_twice_is_simplified_twice():
    s = sc.operators(sc.random_sko(5, seed=1))
    expr = (-2.5 * s.psi_tilde * s.P_plus * s.Omega * s.H.T - s.P * s.psi.inv * s.P * s.H.T) * (I - s.H * s.psi * s.K)
    found = sc.simplify(expr, 30.0)
    assert sc.simplify(found, 30.0) is found
    assert sc.verify(expr, found, on=s).ok

"""Goals for `sc.prove`, true ones and false ones that look alike, on models and axes of every kind.

Each pair is a true relation and one that differs from it by a star, a sign, a tilde, a lost term or a number. Nothing
but the definitions is used: the list of identities is empty here.
"""

import sys
from itertools import pairwise

import numpy as np
import pytest
from tests.embedded import sample
from tests.model.modal.trees import flexible_tree
from tests.ops.differences import with_armature

import soacraft as sc
from soacraft.ops.proofs import definitions

I = sc.I


@pytest.fixture(autouse=True)
def no_list_of_identities(monkeypatch):
    monkeypatch.setattr(sys.modules["soacraft.ops.identities"], "IDENTITIES", ())


def mass_matrix(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T


def plus(s):
    return I + s.H * s.phi * s.K


def minus(s):
    return I - s.H * s.psi * s.K


def tip(s):
    return s.B([s.body.labels[-1]])


def jacobian(s):
    return tip(s).T * s.phi.T * s.H.T


#: name: (left, what it is, what it is not).
GOALS = {
    "difference of propagators": (
        lambda s: s.phi - s.psi, lambda s: s.psi * s.K * s.H * s.phi, lambda s: s.psi * s.K * s.H * s.psi,
    ),
    "difference of propagators, a star": (
        lambda s: s.phi - s.psi, lambda s: s.phi * s.K * s.H * s.psi, lambda s: s.phi.T * s.K * s.H * s.psi,
    ),
    "what a hinge keeps": (
        lambda s: s.P - s.P_plus, lambda s: s.G * s.D * s.G.T, lambda s: s.G * s.D * s.H,
    ),
    "Riccati equation, projections to spare": (
        lambda s: s.M, lambda s: s.P - s.E_psi * s.P_plus * s.E_psi.T, lambda s: s.P - s.E_phi * s.P * s.E_phi.T,
    ),
    "Riccati equation, mixed": (
        lambda s: s.P, lambda s: s.M + s.E_phi * s.P * s.E_psi.T, lambda s: s.M - s.E_phi * s.P * s.E_psi.T,
    ),
    "Riccati equation, 000 Eq. 25 as printed": (
        lambda s: s.M,
        lambda s: s.P - s.E_phi * (I - s.P * s.H.T * s.D.inv * s.H) * s.P * s.E_phi.T,
        lambda s: s.P - s.E_phi * (I - s.P * s.H.T * s.D.inv * s.H) * s.P * s.E_phi.T + s.M,
    ),
    "K, 004 Eq. 37 as printed": (
        lambda s: s.K, lambda s: s.E_phi * s.P * s.H.T * (s.H * s.P * s.H.T).inv, lambda s: s.E_psi * s.G,
    ),
    "004 Eq. 47, a line of its proof": (
        lambda s: s.phi * s.M * s.phi.T,
        lambda s: s.phi * s.P + s.P * s.phi_tilde.T + s.phi * s.K * s.H * s.P * s.phi_tilde.T,
        lambda s: s.phi * s.P + s.P * s.phi_tilde.T + s.phi_tilde * s.K * s.H * s.P * s.phi_tilde.T,
    ),
    "004 Eq. 47, its last line": (
        lambda s: s.phi * s.M * s.phi.T,
        lambda s: s.P + s.phi_tilde * s.P + s.P * s.phi_tilde.T + s.phi * s.K * s.D * s.K.T * s.phi.T,
        lambda s: s.P + s.phi_tilde * s.P + s.P * s.phi.T + s.phi * s.K * s.D * s.K.T * s.phi.T,
    ),
    "004 Cor. 6.1, the sign of its proof": (
        mass_matrix,
        lambda s: plus(s) * s.D * plus(s).T,
        lambda s: (I - s.H * s.phi * s.K) * s.D * (I - s.H * s.phi * s.K).T,
    ),
    "004 Eq. 51, the last factor of its proof": (
        lambda s: mass_matrix(s).inv,
        lambda s: minus(s).T * s.D.inv * minus(s),
        lambda s: minus(s).T * s.D.inv * minus(s).inv,
    ),
    "block-diagonalization": (
        lambda s: s.D,
        lambda s: minus(s) * mass_matrix(s) * minus(s).T,
        lambda s: minus(s).T * mass_matrix(s) * minus(s),
    ),
    "compliance and inertia": (
        lambda s: s.Omega, lambda s: s.Omega * s.M * s.Omega, lambda s: s.Omega * s.P * s.Omega,
    ),
    "a projection": (
        lambda s: s.Omega * s.M, lambda s: (s.Omega * s.M) ** 3, lambda s: (s.M * s.Omega) ** 2,
    ),
    "stars of projections": (
        lambda s: s.tau_bar * s.P, lambda s: s.P * s.tau_bar.T, lambda s: s.P * s.tau_bar,
    ),
    "what psi leaves": (
        lambda s: s.P * s.H.T, lambda s: s.psi * s.P * s.H.T, lambda s: s.psi.T * s.P * s.H.T,
    ),
    "powers": (
        lambda s: (s.phi * s.E_phi) ** 2, lambda s: s.phi**2 - 2 * s.phi + I, lambda s: s.phi**2 - 2 * s.phi,
    ),
    "powers and inverses": (
        lambda s: s.phi**3 * (I - s.E_phi) ** 2, lambda s: s.phi, lambda s: s.phi**2,
    ),
    "powers of kernels": (
        lambda s: s.E_psi**2, lambda s: (s.E_phi - s.K * s.H) ** 2, lambda s: s.E_phi**2 * s.tau_bar,
    ),
    "an inverse of body size": (
        lambda s: (I + s.phi * s.K * s.H).inv, lambda s: I - s.psi * s.K * s.H, lambda s: I - s.phi * s.K * s.H,
    ),
    "the inverse of a product": (
        lambda s: (minus(s) * mass_matrix(s)).inv,
        lambda s: mass_matrix(s).inv * plus(s),
        lambda s: plus(s) * mass_matrix(s).inv,
    ),
    "numbers": (
        lambda s: (0.5 * mass_matrix(s)).inv,
        lambda s: 2 * minus(s).T * s.D.inv * minus(s),
        lambda s: 0.5 * minus(s).T * s.D.inv * minus(s),
    ),
    "thirds": (
        lambda s: (s.phi + s.phi + s.phi) / 9, lambda s: s.phi / 3, lambda s: 0.33333333 * s.phi,
    ),
    "Upsilon": (
        lambda s: s.tau.T, lambda s: s.Upsilon * s.tau * s.P, lambda s: s.Upsilon * s.tau.T * s.P,
    ),
    "nodes": (
        lambda s: tip(s).T * s.Omega,
        lambda s: jacobian(s) * mass_matrix(s).inv * s.H * s.phi,
        lambda s: jacobian(s) * mass_matrix(s).inv * s.H * s.psi,
    ),
    "forces of a known acceleration": (
        lambda s: s.K.T * s.psi.T,
        lambda s: mass_matrix(s).inv * s.H * s.phi * s.M * s.phi.T - minus(s).T * s.D.inv * s.H * s.psi * s.P,
        lambda s: mass_matrix(s).inv * s.H * s.phi * s.M * s.phi.T + minus(s).T * s.D.inv * s.H * s.psi * s.P,
    ),
}  # fmt: skip


def tree():
    return sc.operators(sc.random_tree(5, seed=12))


def part(axes="body"):
    mb = sc.load("biped")
    root = next(body for body in mb.bodies if len(body.children) > 1)
    return sc.operators(mb.subgraph(list(root.children[0].subtree())), axes=axes)


MODELS = {
    "tree": tree,
    "SKO model": lambda: sc.operators(sc.random_sko(5, seed=13)),
    "sub-graph": part,
    "inertial axes": lambda: sc.operators(sc.random_tree(5, seed=14), axes="inertial"),
    "origin axes": lambda: part("origin"),
    "rotors": lambda: sc.operators(with_armature()),
    "a batch of states": lambda: sc.operators(batch()),
    "compound bodies": sample,
}


def batch():
    mb = sc.load("arm7")
    return mb.state(np.stack([mb.random_state(seed)[0] for seed in range(3)]))


@pytest.mark.parametrize(("number", "name"), list(enumerate(GOALS)))
def test_true_is_proved_and_false_is_not(number, name):
    """On two kinds of model each: proofs do not depend on where the operators live."""
    left, right, wrong = GOALS[name]
    for k in (number, number + 3):
        where = list(MODELS)[k % len(MODELS)]
        s = MODELS[where]()
        proof, refused = sc.prove(left(s), right(s)), sc.prove(left(s), wrong(s))
        assert proof, f"{name}, {where}: {proof}"
        assert all(step.name and step.error < 1e-9 for step in proof.steps)
        assert not refused, f"{name}, {where}: {refused}"
        assert refused.reason.startswith("the sides differ, not equal on "), refused


@pytest.mark.parametrize("name", list(GOALS)[::3])
def test_true_is_proved_and_false_is_not_on_a_flexible_tree(name):
    left, right, wrong = GOALS[name]
    s = sc.operators(flexible_tree((-1, 0, 0, 1), 3))
    assert sc.prove(left(s), right(s))
    assert sc.prove(left(s), wrong(s)).reason.startswith("the sides differ, not equal on ")


@pytest.mark.parametrize("name", list(GOALS)[::2])
def test_under_other_names(name):
    """With the user's names for operators and for parts of the goal, the answers are the same."""
    s = tree()
    known = {x: sc.define(f"{x}_mine", getattr(s, x)) for x in ("psi", "K", "E_phi")}
    known["P_plus"] = sc.define("P_rest", s.tau_bar * s.P * s.tau_bar.T)
    known["D"] = sc.define("D_mine", s.H * s.P * s.H.T)

    class Mine:
        def __getattr__(self, x):
            return known.get(x, getattr(s, x))

    left, right, wrong = GOALS[name]
    mine, whole = Mine(), sc.define("whole", left(s))
    assert sc.prove(left(mine), right(mine))
    assert not sc.prove(left(mine), wrong(mine))
    assert sc.prove(whole.T, right(mine).T)
    assert not sc.prove(whole.T, wrong(mine).T)


def test_what_is_not_even_a_sum():
    """G = P H D^-1, in the text of 000 after Eq. 2."""
    s = tree()
    with pytest.raises(sc.errors.SpaceError, match=r"^cannot form P \* H: "):
        sc.prove(s.G, s.P * s.H * s.D.inv)


# -- derivatives --------------------------------------------------------------------------------------------------

#: (left, what it is, what it is not) for a body of a model in some axes.
RATES = {
    "inverse": (
        lambda s, b: mass_matrix(s).inv.diff(b),
        lambda s, b: -mass_matrix(s).inv * mass_matrix(s).diff(b) * mass_matrix(s).inv,
        lambda s, b: -mass_matrix(s).inv * mass_matrix(s).diff(b),
    ),
    "propagator": (
        lambda s, b: s.phi.diff(b),
        lambda s, b: s.phi * s.E_phi.diff(b) * s.phi,
        lambda s, b: s.phi * s.E_phi.diff(b) * s.psi,
    ),
    "articulated propagator": (
        lambda s, b: s.psi.diff(b),
        lambda s, b: s.psi * s.E_psi.diff(b) * s.psi,
        lambda s, b: s.psi * s.E_phi.diff(b) * s.psi,
    ),
    "projections": (
        lambda s, b: s.tau.diff(b),
        lambda s, b: s.tau.diff(b) * s.tau + s.tau * s.tau.diff(b),
        lambda s, b: 2 * s.tau.diff(b) * s.tau,
    ),
    "G5": (
        lambda s, b: mass_matrix(s).diff(b),
        lambda s, b: half(s, b, s.phi_tilde) + half(s, b, s.phi_tilde).T,
        lambda s, b: half(s, b, s.phi_tilde) - half(s, b, s.phi_tilde).T,
    ),
    "D": (
        lambda s, b: s.D.diff(b),
        lambda s, b: s.H.diff(b) * s.P * s.H.T + s.H * s.P.diff(b) * s.H.T + s.H * s.P * s.H.diff(b).T,
        lambda s, b: s.H.diff(b) * s.P * s.H.T + s.H * s.R.diff(b) * s.H.T + s.H * s.P * s.H.diff(b).T,
    ),
}


def half(s, body, phi):
    return s.dH(body) * s.phi * s.M * s.phi.T * s.H.T + s.H * phi * s.X(body) * s.phi * s.M * s.phi.T * s.H.T


@pytest.mark.parametrize(("body", "axes"), [("gimbal", "body"), ("helical", "inertial"), ("gimbal", "origin")])
@pytest.mark.parametrize("name", RATES)
def test_derivatives(name, body, axes):
    mb = sc.load("hinges")
    mb.set_state(*mb.random_state(2))
    s = sc.operators(mb, axes=axes)
    left, right, wrong = RATES[name]
    assert sc.prove(left(s, body), right(s, body)), sc.prove(left(s, body), right(s, body))
    assert not sc.prove(left(s, body), wrong(s, body))


def test_hinges_of_several_dofs_need_the_tilde():
    """G5 with phi for phi~ holds for hinges of one dof only."""
    s = sc.operators(sc.load("hinges"))
    for body, expected in (("helical", True), ("prismatic", True), ("spherical", False), ("universal", False)):
        rate = half(s, body, s.phi)
        assert bool(sc.prove(mass_matrix(s).diff(body), rate + rate.T)) == expected, body


def test_derivatives_that_hold_in_some_axes_only():
    """D.diff is H P.diff H* where the axes stay; where they turn, the turning must be left out."""
    mb = sc.load("arm7")
    for axes, expected in (("body", True), ("inertial", False)):
        s = sc.operators(mb, axes=axes)
        assert bool(sc.prove(s.D.diff("link4"), s.H * s.P.diff("link4") * s.H.T)) == expected
        assert sc.prove(s.D.diff("link4"), s.H * s.P.along("link4") * s.H.T)


# -- soundness ----------------------------------------------------------------------------------------------------


def test_the_rules_have_a_model_with_no_accidents():
    """No rule of the base says what a random SKO model denies, whatever word it is put in."""
    rng = np.random.default_rng(3)
    s = sc.operators(sc.random_sko(6, seed=31))
    letters = {"H": s.H, "E_phi": s.E_phi, "phi": s.phi, "psi": s.psi, "P": s.P, "M": s.M, "R": s.R, "D.inv": s.D.inv}
    letters |= {f"{x}.T": y.T for x, y in letters.items() if x in ("H", "E_phi", "phi", "psi")}
    dense = {x: y.array() for x, y in letters.items()}
    system, checked = definitions.base(), 0
    for _ in range(400):
        word = tuple(rng.choice(list(letters), rng.integers(3, 7)))
        if any(dense[x].shape[1] != dense[y].shape[0] for x, y in pairwise(word)):
            continue
        p = definitions.Polynomial.of(*word)
        reduced = system.reduce(p)
        if reduced == p:
            continue
        checked += 1
        value = np.linalg.multi_dot([dense[x] for x in word])
        terms = [float(c) * product(dense, w, value.shape[0]) for w, c in reduced.terms.items()]
        size = max([np.max(np.abs(value)), *(np.max(np.abs(t)) for t in terms)])
        np.testing.assert_allclose(sum(terms, np.zeros_like(value)), value, atol=1e-10 * size)
    assert checked > 20


def product(dense, word, size):
    found = np.eye(size)
    for x in word:
        found = found @ dense[x]
    return found

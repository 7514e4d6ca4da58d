"""`sc.prove`: every relation of 004 Lemmas 9 to 12 from the definitions alone, no proof of what is false."""

import re
import sys
from itertools import pairwise

import numpy as np
import pytest
from tests.embedded import sample

import soacraft as sc
from soacraft.algebra.expressions.nodes import Sum
from soacraft.algebra.rewriting.completion import System
from soacraft.algebra.rewriting.polynomial import Polynomial
from soacraft.citations import cite
from soacraft.errors import SpaceError
from soacraft.ops.proofs import definitions, translate
from soacraft.ops.proofs.letters import Letters

I = sc.I

#: The equations a proof may start from: definitions, corrected as in the papers' errata.
GIVEN = {"000 Eq. 9", "000 Eq. 21", "000 Eq. 24", "000 Eq. 34", "004 Cor. 3.1", "004 Eq. 34", "004 Eq. 36",
         "004 Eq. 37"}  # fmt: skip
#: Named in a step because the papers name it, but proved there: both products of an operator and its inverse are I.
INVERSES = {"000 Eq. 29", "000 Eq. 30", "004 Eq. 44"}


def mass_matrix(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T


def plus(s):
    return I + s.H * s.phi * s.K


def minus(s):
    return I - s.H * s.psi * s.K


#: Sides as the papers print them.
GOALS = {
    "004 Eq. 38a": (lambda s: s.H * s.G, lambda s: I.with_space(s.hinge)),
    "004 Eq. 38b": (lambda s: s.H * s.tau, lambda s: s.H),
    "004 Eq. 38c": (lambda s: s.H * s.tau_bar, lambda s: 0 * s.H),
    "004 Eq. 38d": (plus, lambda s: s.H * s.phi * s.G),
    "004 Eq. 39": (lambda s: s.H * s.phi * s.tau_bar, lambda s: s.H * s.phi * s.E_psi),
    "004 Eq. 40a": (lambda s: s.H * s.phi * s.tau, lambda s: s.H * s.phi * (I - s.E_psi)),
    "004 Eq. 40b": (lambda s: s.H * s.phi * s.tau, lambda s: s.H * s.phi * s.psi.inv),
    "004 Eq. 41": (lambda s: s.phi * s.M * s.psi.T, lambda s: s.P + s.phi_tilde * s.P + s.P * s.psi_tilde.T),
    "004 Eq. 42": (lambda s: s.psi * s.M * s.psi.T, lambda s: s.P + s.psi_tilde * s.P + s.P * s.psi_tilde.T),
    "004 Eq. 43": (lambda s: s.psi.inv - s.phi.inv, lambda s: s.K * s.H),
    "004 Eq. 44a": (lambda s: s.psi.inv * s.phi, lambda s: I + s.K * s.H * s.phi),
    "004 Eq. 44b": (lambda s: s.phi * s.psi.inv, lambda s: I + s.phi * s.K * s.H),
    "004 Eq. 44c": (lambda s: s.phi.inv * s.psi, lambda s: I - s.K * s.H * s.psi),
    "004 Eq. 44d": (lambda s: s.psi * s.phi.inv, lambda s: I - s.psi * s.K * s.H),
    "004 Eq. 45a": (lambda s: minus(s) * s.H * s.phi, lambda s: s.H * s.psi),
    "004 Eq. 45b": (lambda s: s.phi * s.K * minus(s), lambda s: s.psi * s.K),
    "004 Eq. 45c": (lambda s: plus(s) * s.H * s.psi, lambda s: s.H * s.phi),
    "004 Eq. 45d": (lambda s: s.psi * s.K * plus(s), lambda s: s.phi * s.K),
    "004 Eq. 46": (lambda s: s.H * s.psi * s.M * s.psi.T * s.H.T, lambda s: s.D),
    "004 Eq. 47": (
        lambda s: s.phi * s.M * s.phi.T,
        lambda s: s.P + s.phi_tilde * s.P + s.P * s.phi_tilde.T + s.phi * s.K * s.D * s.K.T * s.phi.T,
    ),
    "004 Eq. 48": (
        lambda s: s.phi * s.M * s.phi.T * s.H.T,
        lambda s: (I + s.phi * s.K * s.H) * s.P * s.phi.T * s.H.T,
    ),
    "004 Eq. 49": (mass_matrix, lambda s: plus(s) * s.D * plus(s).T),
    "004 Eq. 50": (lambda s: plus(s).inv, minus),
    "004 Eq. 51": (lambda s: mass_matrix(s).inv, lambda s: minus(s).T * s.D.inv * minus(s)),
    "004 Eq. 54, of T": (lambda s: mass_matrix(s).inv, lambda s: minus(s).T * s.D.inv * (I - s.H * s.psi * s.K)),
    "004 Eq. 54, of b": (
        lambda s: -mass_matrix(s).inv * s.H * s.phi,
        lambda s: -minus(s).T * s.D.inv * s.H * s.psi,
    ),
    "004 Eq. 54, of a": (
        lambda s: -mass_matrix(s).inv * s.H * s.phi * s.M * s.phi.T,
        lambda s: -minus(s).T * s.D.inv * s.H * s.psi * s.P - s.K.T * s.psi.T,
    ),
    "004 Eq. 59": (
        lambda s: s.phi.T * s.H.T * mass_matrix(s).inv * s.H * s.phi,
        lambda s: s.psi.T * s.H.T * s.D.inv * s.H * s.psi,
    ),
    "004 Eq. 60": (lambda s: s.phi.T * s.H.T * mass_matrix(s).inv * s.H * s.phi, lambda s: s.Omega),
    "000 Eq. 18": (lambda s: s.phi * s.M * s.phi.T, lambda s: s.phi * s.R + s.R * s.phi.T - s.R),
    "000 Eq. 20": (mass_matrix, lambda s: s.H * (s.phi * s.R + s.R * s.phi.T - s.R) * s.H.T),
    "000 Eq. 25": (
        lambda s: s.M,
        lambda s: s.P - s.E_phi * (I - s.P * s.H.T * (s.H * s.P * s.H.T).inv * s.H) * s.P * s.E_phi.T,
    ),
    "002": (lambda s: s.tau * s.P * s.tau.T, lambda s: s.tau * s.P),
    "O(N^2) inverse": (
        lambda s: mass_matrix(s).inv,
        lambda s: s.D.inv - s.D.inv * s.H * s.psi * s.K - s.K.T * s.psi.T * s.H.T * s.D.inv + s.K.T * s.Omega * s.K,
    ),
}


@pytest.fixture
def from_scratch(monkeypatch):
    """No list of identities, and nothing derived yet."""
    monkeypatch.setattr(sys.modules["soacraft.ops.identities"], "IDENTITIES", ())
    for made_once in (definitions.base, definitions.named, definitions.inverses):
        made_once.cache_clear()
    definitions._extended.clear()
    assert sc.identities() == ()


def test_all_of_004_without_the_list_of_identities(from_scratch):
    for name, sides in GOALS.items():
        proof = sc.prove(*sides)
        assert proof, f"{name}: {proof}"
        assert set(proof.sources) <= set(map(cite, GIVEN | INVERSES)), name


@pytest.mark.parametrize("name", GOALS)
def test_each_step_holds_on_other_models(name):
    """The chain runs from left to right, and neighbours agree on models that `prove` did not see."""
    s = sc.operators(sc.random_tree(4, seed=5))
    left, right = (side(s) for side in GOALS[name])
    proof = sc.prove(left, right)
    reached = [left, *(step.expression for step in proof.steps)]
    assert reached[-1] is right
    assert all(step.name and step.error < 1e-9 for step in proof.steps)
    sko = sc.operators(sc.random_sko(5, seed=77))
    for a, b in pairwise(reached):
        assert sc.verify(a, b, on=[s, sko]).ok


@pytest.mark.parametrize("name", GOALS)
def test_the_adjoints_and_what_stands_beside(name):
    s = sc.operators(sc.random_sko(4, seed=8))
    left, right = (side(s) for side in GOALS[name])
    assert sc.prove(left.T, right.T)
    assert sc.prove(right, left)
    beside = s.phi if left.cols == s.body else s.H
    assert sc.prove(left * beside - 2 * right * beside, -right * beside)


# -- the rules ----------------------------------------------------------------------------------------------------


def derived():
    return [rule for system in (definitions.base(), definitions.named()) for rule in system.rules]


def test_the_rules_are_few_and_decide():
    assert definitions.base().confluent
    assert definitions.named().confluent
    assert len(definitions.base().rules) < 40


def test_every_rule_holds_with_numbers():
    """Independently of how it was derived: on random SKO models, one with compound bodies among them."""
    chain = sc.random_sko(4, seed=22, branching=0.0)
    for s in (sc.operators(sc.random_sko(5, seed=21)), sc.operators(chain), sample()):
        letters = Letters(s.binding)
        for rule in derived():
            first = letters.word(rule.left, None)
            gap = letters.write(rule.zero, first.rows, first.cols)
            assert gap.is_zero(), f"{rule!r} on {s!r}"


def test_every_rule_says_where_it_comes_from():
    given = (*definitions.RELATIONS, definitions.UPSILON, *definitions.DEFINITIONS)
    sources = {known.source for known in given}
    for rule in derived():
        given = [r for r in rule.ancestry() if not r.derived]
        assert given
        assert all(r.name and r.source in sources for r in given)
        assert rule.derived == bool(rule.parents)


# -- what is false ------------------------------------------------------------------------------------------------

FALSE = {
    "000 Eq. 25 as printed": (
        lambda s: s.M,
        lambda s: s.P - s.E_phi * (I - s.P * s.H.T * (s.H * s.P * s.H.T).inv * s.H) * s.P * s.E_phi.T + s.M,
    ),
    "004 Eq. 36 as printed": (lambda s: s.M, lambda s: s.P - s.E_phi * s.P * s.E_phi.T),
    "004 Eq. 37 as printed": (lambda s: s.K, lambda s: s.E_psi * s.G),
    "a sign": (plus, lambda s: I - s.H * s.phi * s.K),
    "a tilde": (lambda s: s.phi * s.M * s.psi.T, lambda s: s.P + s.phi_tilde * s.P + s.P * s.psi.T),
    "a star": (lambda s: s.H * s.psi * s.M * s.psi.T * s.H.T, lambda s: s.H * s.psi.T * s.M * s.psi * s.H.T),
    "psi for phi": (lambda s: minus(s) * s.H * s.psi, lambda s: s.H * s.phi),
    "P for M": (mass_matrix, lambda s: s.H * s.phi * s.P * s.phi.T * s.H.T),
    "trees": (lambda s: s.Omega, lambda s: s.psi.T * s.Upsilon + s.Upsilon * s.psi - s.Upsilon),
    "commuting": (lambda s: s.phi * s.psi, lambda s: s.psi * s.phi),
    "a factor": (lambda s: 2 * s.phi, lambda s: 2.0000001 * s.phi),
    "R for P": (lambda s: s.H * s.R * s.H.T, lambda s: s.D),
}


@pytest.mark.parametrize("name", FALSE)
def test_what_is_false_is_not_proved(name):
    proof = sc.prove(*FALSE[name])
    assert not proof
    assert proof.steps == ()
    assert proof.reason.startswith("the sides differ, not equal on ")


NAMES = "phi psi tau tau_bar E_phi E_psi P M R Omega phi_tilde".split()


def test_random_goals_are_answered_as_numbers_answer():
    """Words of the body space: equal by the rules exactly when equal by numbers."""
    rng = np.random.default_rng(5)
    s = sc.operators(sc.random_tree(4, seed=2))

    def word():
        letters = [getattr(s, name) for name in rng.choice(NAMES, rng.integers(1, 4))]
        found = letters[0]
        for x in letters[1:]:
            found = found * (x if rng.random() < 0.7 else x.T)
        return found

    answers = []
    for _ in range(30):
        left = word() + rng.integers(-1, 2) * word()
        right = sc.simplify(left) if rng.random() < 0.5 else word()
        answers.append((bool(sc.prove(left, right)), bool(sc.verify(left, right))))
    assert all(proved == true for proved, true in answers)
    assert {True, False} == {proved for proved, _ in answers}


def test_a_false_rule_is_caught_by_the_numbers(monkeypatch):
    """Whatever the rules say, a chain that numbers contradict is no proof."""
    monkeypatch.setattr(translate, "side_rules", [lambda leaf: [("wrong", "nowhere", leaf.T * leaf, None)]])
    s = sc.operators(sc.random_tree(4, seed=1))
    B = s.B("body2")
    proof = sc.prove(B.T * B * B.T, 0 * B.T)
    assert not proof
    assert proof.reason == ("a chain was found, but its step 'wrong' fails in numbers, relative error 1.0e+00")


def test_assumed_inverses_of_singular_operators_prove_nothing():
    s = sc.operators(sc.random_sko(4, seed=3))
    proof = sc.prove(s.tau.inv, I.with_space(s.body))
    assert not proof
    assert proof.reason.startswith("a chain was found, but its steps cannot be checked with numbers: block ")


# -- scalars, powers, inverses ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "goal",
    [
        lambda s: (0.1 * s.phi + 0.2 * s.phi, 0.3 * s.phi),
        lambda s: ((s.phi / 3) * 3, s.phi),
        lambda s: ((I + s.phi) ** 3, I + 3 * s.phi + 3 * s.phi**2 + s.phi * s.phi * s.phi),
        lambda s: ((2 * s.phi).inv, 0.5 * (I - s.E_phi)),
        lambda s: ((s.phi * s.psi).inv, (I - s.E_psi) * (I - s.E_phi)),
        lambda s: ((s.phi**2).inv * s.phi, I - s.E_phi),
        lambda s: (s.phi.T.inv, (I - s.E_phi).T),
        lambda s: (s.phi.inv.inv, s.phi),
        lambda s: ((s.M + s.R).inv * (s.M + s.R), I.with_space(s.body)),
        lambda s: ((s.M + I).inv * s.M, I - (I + s.M).inv),
        lambda s: ((I + s.phi * s.phi.T).inv.T, (I + s.phi * s.phi.T).inv),
        lambda s: ((mass_matrix(s) + mass_matrix(s)).inv * mass_matrix(s), 0.5 * I.with_space(s.hinge)),
        lambda s: (s.phi**0, I),
        lambda s: (s.phi - s.phi, 0 * s.M),
        lambda s: (s.E_phi.lyapunov(s.M), s.R),
        lambda s: (s.E_phi.lyapunov(I) - s.E_phi * s.E_phi.lyapunov(I) * s.E_phi.T, I.with_space(s.body)),
        lambda s: (sc.diag_of(s.psi * s.M * s.psi.T), s.P),
        lambda s: (sc.diag_of(s.Omega), s.Upsilon),
        lambda s: (s.P * s.Upsilon * s.G, s.G),
        lambda s: (s.Upsilon * s.tau, s.tau.T * s.Upsilon),
        lambda s: (s.psi.T * s.Upsilon * s.tau * s.psi, s.Omega),
        lambda s: (s.Upsilon - sc.diag_of(s.E_psi.T * s.Upsilon * s.E_psi), s.H.T * s.D.inv * s.H),
    ],
)
def test_numbers_powers_inverses_and_solutions(goal):
    for s in (sc.operators(sc.random_tree(4, seed=3)), sc.operators(sc.random_sko(4, seed=3)), sample()):
        proof = sc.prove(*goal(s))
        assert proof, proof


def test_what_only_serial_chains_allow():
    """000 Eq. 35 and 37 need no diagOf on a chain, and there they are proved, and checked on chains."""
    chain, tree = (sc.operators(sc.random_sko(5, seed=1, branching=b)) for b in (0.0, 0.9))
    for s, expected in ((chain, True), (tree, False)):
        Y, psi = s.Upsilon, s.psi
        proof = sc.prove(s.Omega, psi.T * Y + Y * psi - Y)
        assert bool(proof) == expected
        assert expected == ("3 random serial SKO models" in proof.checked)


# -- where --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", ["body", "inertial", "origin"])
def test_any_binding(axes):
    mb = sc.load("biped")
    leg = mb.subgraph([mb.bodies[0]])
    for s in (sc.operators(mb, axes=axes), sc.operators(leg, axes=axes), sc.operators(mb.state(), axes=axes)):
        assert sc.prove(minus(s) * s.H * s.phi, s.H * s.psi)
        assert not sc.prove(minus(s) * s.H, s.H * s.psi)


def test_operators_of_one_model_are_checked_there():
    s = sc.operators(sc.random_tree(4, seed=1))
    B = s.B("body3/tip")
    J = B.T * s.phi.T * s.H.T
    proof = sc.prove(J * mass_matrix(s).inv * J.T, B.T * s.Omega * B)
    assert proof
    assert proof.checked.startswith(
        "each step checked on 'random tree' itself at 3 random states, since operators, identities or inverses in it "
        "belong to that model, largest relative error "
    )
    sko = sc.operators(sc.random_sko(4, seed=2))
    B = sko.B(["node1"])
    assert sc.prove(B.T * sko.phi.T * sko.H.T, (sko.H * sko.phi * B).T)


def test_derivatives():
    """Eq. 42 of 000, and what is not: the sign of a hinge that is no pin."""
    mb = sc.load("hinges")
    s = sc.operators(mb)
    bodies = [body for body in mb.bodies if isinstance(body.hinge, (sc.Pin, sc.Prismatic, sc.Helical))]
    assert len(bodies) == 3
    for body in bodies:
        X, changed = s.X(body), mass_matrix(s).diff(body)
        sides = [X * s.phi * s.M + sign * (s.M * s.phi.T * X.T) for sign in (1, -1)]
        assert sc.prove(changed, s.H * s.phi * sides[0] * s.phi.T * s.H.T)
        assert not sc.prove(changed, s.H * s.phi * sides[1] * s.phi.T * s.H.T)


# -- text ---------------------------------------------------------------------------------------------------------


def test_how_a_proof_prints():
    s = sc.operators(sc.load("arm7"))
    proof = sc.prove(minus(s) * s.H * s.phi, s.H * s.psi)
    lines = repr(proof).splitlines()
    assert lines[:-2] == [
        "(I - H*psi*K) * H * phi = H*psi",
        "      (I - H*psi*K) * H * phi",
        "    = H*phi - H*psi*K*H*phi                  multiplying out",
        "    = H*phi - H*psi*E_phi*G*H*phi            definition of K (Jain 2011 Eq. 37)",
        "    = H*phi - H*psi*E_phi*P*H.T*D.inv*H*phi  definition of G (Jain 2016 Eq. 24)",
        "    = H*psi*phi - H*psi*E_phi*phi",
        "          articulated propagation, kernel last (Jain 2011 Eq. 34)",
        "    = H*psi",
        "          propagation, kernel first (Jain 2016 Eq. 9)",
    ]
    assert re.match(
        r"^  each step checked on 3 random SKO models of random block sizes, largest relative error \d\.\de-\d\d$",
        lines[-2],
    )
    assert lines[-1] == "  Jain 2011: SKO-models paper; Jain 2016: PyCraft paper (sc.papers())"
    assert str(proof.full()) == repr(proof)  # nothing was left out
    assert proof.sources == ("Jain 2011 Eq. 37", "Jain 2016 Eq. 24", "Jain 2011 Eq. 34", "Jain 2016 Eq. 9")
    assert [step.source for step in proof.steps] == ["", "004 Eq. 37", "000 Eq. 24", "004 Eq. 34", "000 Eq. 9"]


def test_derived_rules_are_explained():
    s = sc.operators(sc.load("arm7"))
    proof = sc.prove(s.H * s.psi * s.M * s.psi.T * s.H.T, s.D)
    assert repr(proof).endswith(f"  {len(proof.lemmas)} derived rules; proof.full() shows the whole")
    assert " where" not in repr(proof)
    text = proof.full()
    assert "  where\n" in text
    assert all(f"\n    {rule!r}: " in text for rule in proof.lemmas)
    assert (
        "psi*P*H.T = P*H.T: from psi*E_phi*P*H.T*D.inv*H*P*H.T by [articulated propagation, kernel last] "
        "and by [adjoint of inverse of D]"
    ) in " ".join(text.split())
    assert all(rule.derived for rule in proof.lemmas)
    inverse = sc.prove(mass_matrix(s).inv, minus(s).T * s.D.inv * minus(s))
    assert ": both products are I, by [" in " ".join(inverse.full().split())


def test_a_long_proof_prints_in_short():
    s = sc.operators(sc.load("arm7"))
    proof = sc.prove(mass_matrix(s) * minus(s).T * s.D.inv * minus(s) * mass_matrix(s), mass_matrix(s))
    assert proof
    short, whole = repr(proof).splitlines(), proof.full().splitlines()
    assert len(proof.steps) > 10
    assert sum(line.startswith("    = ") for line in short) == 9
    assert f"      ... {len(proof.steps) - 9} more steps ..." in short
    assert [line for line in short if line.startswith("    = ")][-1] in whole
    together = "".join("".join(whole).split())
    for step in proof.steps:
        assert f"={''.join(step.expression.text().split())}" in together


def test_lines_of_a_proof_wrap_and_every_step_shows_its_reason():
    s = sc.operators(sc.load("arm7"))
    proof = sc.prove(mass_matrix(s) * minus(s).T * s.D.inv * minus(s) * mass_matrix(s), mass_matrix(s))
    for text in (repr(proof), str(proof.full())):
        shown = text.partition("  each step checked")[0]
        assert max(map(len, shown.splitlines())) <= 80
        lines, reasons = shown.splitlines(), {" ".join(x.name.split()) for x in proof.steps}
        for i, line in enumerate(lines):
            if line.startswith("    = "):
                step = " ".join(" ".join(lines[i : i + 12]).split())
                assert any(reason in step for reason in reasons)
    whole = " ".join(str(proof.full()).split())
    assert all(" ".join(step.name.split()) in whole for step in proof.steps)


def test_the_card_of_a_proof_has_reasons_before_formulas_that_break_between_terms():
    s = sc.operators(sc.load("arm7"))
    proof = sc.prove(mass_matrix(s) * minus(s).T * s.D.inv * minus(s) * mass_matrix(s), mass_matrix(s))
    rows = proof._repr_html_().split("<tr>")
    steps = [row for row in rows if any(step.name in row for step in proof.steps) and "<math" in row]
    assert len(steps) == len(proof.steps)
    for row, step in zip(steps, proof.steps, strict=True):
        assert row.index(step.name) < row.index("<math")
        terms = len(step.expression.terms) if isinstance(step.expression, Sum) else 1
        assert row.count("<math") == (terms if len(step.expression.text()) > 60 else 1)


def test_latex():
    s = sc.operators(sc.load("arm7"))
    proof = sc.prove(s.phi * s.E_phi, s.phi_tilde)
    assert proof.latex() == (
        r"\begin{aligned} \phi\, \mathcal{E}_{\phi} &= \phi - \mathbf{I} "
        r"&& \text{propagation, kernel last (Jain 2016 Eq. 9)} "
        r"\\ &= \tilde{\phi} && \text{definition of phi\_tilde (Jain 2011 Cor. 3.1)} \end{aligned}"
    )
    assert proof._repr_latex_() == f"${proof.latex()}$"
    assert sc.prove(s.phi, s.psi)._repr_latex_() == r"$\phi \overset{?}{=} \psi$"


def test_what_a_failure_says():
    s = sc.operators(sc.load("arm7"))
    assert re.match(
        r"^H\*phi = H\*psi\n  not found: the sides differ, not equal on \d+ of 10 models: relative error \S+ on .+$",
        repr(sc.prove(s.H * s.phi, s.H * s.psi)),
    )
    close = sc.prove((1 + 1e-13) * s.phi, s.phi)
    assert not close
    assert close.reason.startswith(
        "no chain of rules joins the sides; numbers do not tell the sides apart, equal on 10 models"
    )
    hurried = sc.prove(mass_matrix(s) ** 9, mass_matrix(s) ** 8 * plus(s) * s.D * plus(s).T, seconds=1e-9)
    assert hurried.reason.startswith("the budget is used up (more than 1e-09 s); numbers do not tell")


def test_what_prove_refuses():
    s, other = sc.operators(sc.load("arm7")), sc.operators(sc.load("biped"))

    def refused(text, attempt):
        with pytest.raises(SpaceError, match=f"^{re.escape(text)}"):
            attempt()

    refused("prove compares operators, or functions of an Operators namespace that give operators, not 3; vectors",
            lambda: sc.prove(3, s.phi))  # fmt: skip
    refused("prove compares operators, or functions of an Operators namespace that give operators, not vector of",
            lambda: sc.prove(lambda s: s.V, lambda s: s.V))  # fmt: skip
    refused("cannot form H - phi", lambda: sc.prove(s.H, s.phi))
    refused("cannot form phi - phi", lambda: sc.prove(s.phi, other.phi))
    refused("seconds=0: a positive number of seconds is wanted.", lambda: sc.prove(s.phi, s.phi, seconds=0))
    moved = s.phi.at(q=np.zeros(7))
    refused(
        "prove takes operators of one model at one state, but phi and phi are bound to different ones; bind both with "
        "the same sc.operators(...), or map between them with sc.ops.between(a, b).",
        lambda: sc.prove(s.phi, moved),
    )


def test_a_system_alone_needs_no_model():
    """The rules are symbols: reducing computes no numbers."""
    assert isinstance(definitions.base(), System)
    assert definitions.base().reduce(Polynomial.of("phi", "E_phi")) == definitions.words("phi - I")


@pytest.mark.parametrize("model", [sc.load("arm7"), sc.load("biped"), sc.random_sko(6, seed=2)], ids=str)
def test_kernel_operators_are_nilpotent(model):
    """000 Eq. 9: a power vanishes from the length of the longest path on, and not before."""
    s = sc.operators(model)
    E, longest = s.E_phi, max(s.body.tree.depth)
    for zero in (E**longest, E.T**longest, s.E_psi ** (longest + 2), (2 * E) ** longest, s.phi * E**longest * s.M):
        proof = sc.prove(zero, 0 * zero)
        assert proof, proof
        assert f"a path has at most {longest} bodies" in proof.full()
    assert not sc.prove(E ** (longest - 1), 0 * E)
    series = I + E
    for k in range(2, longest):
        series = series + E**k
    assert sc.prove(s.phi, series)
    assert not sc.prove(s.phi, series + E ** (longest - 1))


@pytest.mark.parametrize("model", [sc.load("biped"), sc.random_sko(6, seed=2)], ids=["tree", "sko"])
def test_the_diagonal_of_a_product_is_a_lyapunov_solution(model):
    """004 Eq. 15 and 25, for any two propagation operators and any block-diagonal X."""
    s = sc.operators(model)
    phi, psi, E, F, M, X = s.phi, s.psi, s.E_phi, s.E_psi, s.M, s.H.T * s.H
    for left, right in (
        (phi.T * M * psi, E.T.lyapunov(M, F.T)),
        (psi.T * X * phi, F.T.lyapunov(X, E.T)),
        (phi.T * M * phi, E.T.lyapunov(M)),
        (psi.T * X * psi, F.T.lyapunov(X)),
        (phi * M * psi.T, E.lyapunov(M, F)),
        (psi * X * phi.T, F.lyapunov(X, E)),
        (s.Omega, s.Upsilon),
    ):
        proof = sc.prove(sc.diag_of(left), right)
        assert proof, proof
        assert not sc.prove(sc.diag_of(left), 2 * right)

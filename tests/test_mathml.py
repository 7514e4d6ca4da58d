"""Expressions as MathML: every formula of ours is written with what browsers know, names as text."""

from __future__ import annotations

import pytest

import soacraft as sc
from soacraft.algebra.expressions.operator import Operator
from soacraft.mathml import math, plain_text
from soacraft.view.workbench.scope import Scope

#: The elements of MathML Core that formulas are made of.
TAGS = {"math", "mrow", "mi", "mn", "mo", "mspace", "msup", "msub", "msubsup", "mover"}


def tags(element):
    return {element[0]}.union(*(tags(x) for x in element[2] if not isinstance(x, str)))


def count(element, tag):
    return (element[0] == tag) + sum(count(x, tag) for x in element[2] if not isinstance(x, str))


@pytest.fixture(scope="module")
def scope():
    return Scope(sc.operators(sc.load("arm7")))


def test_the_mass_matrix(scope):
    made = math(scope.run("H*phi*M*phi.T*H.T").latex())
    assert plain_text(made) == "HϕMϕ*H*"
    assert count(made, "msup") == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(I - H*psi*K).T * D.inv", "[𝐈−Hψ𝒦]*𝒟−1"),
        ("phi.diff('link3')", "ϕ~[X]link3ϕ"),
        ("D.sqrt()", "𝒟1/2"),
        ("E_phi.lyapunov(M)", "lyap(ℰϕ,M)"),
        ("tau_bar*P_plus*B_hat", "τ¯𝒫+[B^]v"),
        ("-2.5*phi**2 + 1e-7*R", "−2.5ϕ2+1e-07ℛ"),
    ],
)
def test_formulas(scope, text, said):
    assert plain_text(math(scope.run(text).latex())) == said


def test_every_operator_and_identity_is_known(scope):
    s, formulas = scope.operators, []
    for identity in sc.identities():
        for side in (identity.left, identity.right):
            try:
                value = side(s)
            except (sc.errors.SoacraftError, AttributeError, TypeError):  # of closed chains, or of vectors
                continue
            if isinstance(value, Operator):
                formulas.append(value.latex())
    assert len(formulas) > 100
    for latex in formulas:
        assert tags(math(latex)) <= TAGS, latex


def test_names_are_text():
    mb = sc.Multibody("m")
    name = r"a_b^{c} $x$ <img src=x> \phi & {"
    mb.add_body(name, None, sc.Pin((0, 0, 1)), sc.Inertia(1.0))
    made = math(sc.operators(mb).X(name).latex())
    assert tags(made) <= TAGS
    assert name.replace(" ", "") in plain_text(made).replace(" ", "")


STRANGE = ["", "^", "a^", "a^{", r"\left[a", r"\right]", "{" * 5000, r"\left(" * 5000, "}", r"\unknown{x}", "\\"]


@pytest.mark.parametrize("latex", STRANGE)
def test_what_is_no_formula_is_still_an_element(latex):
    assert math(latex)[0] == "math"


def test_every_relation_of_the_papers_is_written_without_a_word_of_latex():
    for identity in sc.identities:
        made = math(identity.relation.latex)
        assert tags(made) <= TAGS, identity.name
        assert "\\" not in plain_text(made), identity.name
    assert plain_text(math(r"\phi \overset{?}{=} \mathfrak{a}")) == "ϕ=?𝔞"

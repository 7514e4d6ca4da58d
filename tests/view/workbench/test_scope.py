"""The values of lines: those of the library, or its errors with their places."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries

import soacraft as sc
from soacraft.algebra.expressions.operator import Operator
from soacraft.errors import SoacraftError
from soacraft.ops.check import read_back
from soacraft.view.workbench import Scope
from soacraft.view.workbench.tokens import LONGEST
from soacraft.view.workbench.vocabulary import FUNCTIONS, METHODS, OPERATORS, STACKED


@pytest.fixture(scope="module")
def s():
    mb = sc.load("arm7")
    rng = np.random.default_rng(1)
    mb.set_state(rng.uniform(-1, 1, 7), rng.uniform(-1, 1, 7))
    return sc.operators(mb)


def test_a_line_has_the_value_of_python(s):
    scope, mb = Scope(s), s.binding.graph
    mass_matrix = scope.run("H*phi*M*phi.T*H.T")
    assert np.allclose(mass_matrix.array(), sc.dynamics.mass_matrix(mb, mb.q))
    assert np.array_equal(scope.run("phi['link3', 'link5']"), s.phi["link3", "link5"])
    assert np.array_equal(scope.run("phi[2, 4]"), s.phi["link3", "link5"])
    assert np.array_equal(scope.run("V['link3']"), s.V["link3"])
    assert np.allclose(np.asarray(scope.run("phi.T*(H.T*v)")), np.asarray(s.V), atol=1e-12)
    assert scope.run("V.dot(M*V)/2") == pytest.approx(sc.dynamics.kinetic_energy(mb, mb.q, mb.v))
    assert np.array_equal(np.asarray(scope.run("ones('hinge')")), np.ones(7))
    assert np.array_equal(np.asarray(scope.run("random('body', 3)")), np.random.default_rng(3).standard_normal(42))
    assert scope.run("(2 - 3)**3 / 4 + 1e-3") == -0.249
    assert scope.run("prove((I - H*psi*K)*H*phi, H*psi)").found
    assert scope.run("simplify(H*psi*M*psi.T*H.T)").text() == "D"
    assert scope.run("explain(phi)").product[0].kind == "gather"
    assert scope.run("(phi - phi).is_zero()") is True


def test_names_are_given_and_follow_the_state():
    mb = sc.load("double_pendulum")
    scope = Scope(sc.operators(mb))
    scope.run("mass_matrix = H*phi*M*phi.T*H.T")
    before = scope.run("mass_matrix").array()
    mb.q = [0.3, 0.9]
    after = scope.run("mass_matrix").array()
    assert np.abs(before - after).max() > 1e-3
    assert np.allclose(after, sc.dynamics.mass_matrix(mb, mb.q))
    with pytest.raises(SoacraftError):
        scope.run("mass_matrix = H*D")
    assert scope.run("mass_matrix").text() == "H*phi*M*phi.T*H.T"  # as before


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        ("H*D", 1, "H takes a vector of body[42], but D gives a vector of hinge[7]. Did you mean H.T * D?"),
        ("phi + 2*H", 4, "cannot form phi + "),
        ("H * (phi + H)", 9, "cannot form phi + H"),
        ("M/0", 1, "M cannot be divided by zero."),
        ("1/0", 1, "this cannot be computed: "),
        ("1e999", 0, "this number is too large."),
        ("1e300*1e300", 5, "the result is no finite number."),
        ("(-1)**(1/2)", 4, "a power is a whole number, 64 at most."),
        ("phi**65", 3, "a power is a whole number, 64 at most."),
        ("(phi*phi*phi*phi*phi*phi*phi)**64", 29, "the expression has 400 operators or more, which is too many."),
        ("phip", 0, "there is no 'phip'; did you mean 'phi'"),
        ("prove", 0, "prove is a function: write prove(...)."),
        ("phi.trans", 4, "an operator has no .trans"),
        ("phi.__class__", 4, "an operator has no .__class__"),
        ("phi.binding", 4, "an operator has no .binding"),
        ("V.data", 2, "a vector has no .data"),
        ("phi.dot", 4, ".dot is called: write .dot()."),
        ("phi.dot(1)", 7, ".dot takes 0 arguments, and here are 1."),
        ("phi.diff()", 8, ".diff takes 1 to 2 arguments, and here are 0."),
        ("phi.diff(H)", 9, ".diff takes a name in quotes or a whole number here, not an operator."),
        ("phi.diff('nose')", 4, "'nose'"),
        ("prove(1, 2)", 6, "prove takes an operator here, not a number."),
        ("phi('a')", 3, "this is no function; factors are joined by *."),
        ("phi[0]", 3, "a block of an operator is named by bodies, as in phi['hand', 'arm'] or phi[0, 2]."),
        ("phi['nose', 0]", 3, "'nose'"),
        ("V[0, 1]", 1, "a block of a vector is named by bodies, as in V['hand'] or V[0]."),
        ("phi[0, 1]*phi[0, 1]", 9, "blocks of numbers are added where their shapes agree, and scaled by numbers."),
        ("'a' + 1", 4, "a text cannot be computed with."),
        ("-'a'", 0, "a text cannot be computed with."),
        ("B([1])", 2, "a list holds names of nodes in quotes"),
        ("B('nose')", 0, "'nose'"),
        ("zeros('head')", 0, "there is no space 'head'; the page has vectors of 'hinge' and of 'body'."),
        ("random('hinge', -1)", 0, "a seed is a whole number from 0 on, got -1."),
        ("phi = H", 0, "'phi' means something already; choose another name."),
        ("lambda = H", 0, "'lambda' means something already"),
        ("__class__ = H", 0, "means something already"),
        ("import os", 7, "'os' is not expected here"),
        ("__import__('os').system('x')", 0, "there is no '__import__'"),
    ],
)  # fmt: skip
def test_errors_are_marked(s, text, place, says):
    with pytest.raises(SoacraftError) as caught:
        Scope(s).run(text)
    assert says in str(caught.value)
    assert caught.value.place == place


def test_doubling_is_bounded(s):
    scope = Scope(s)
    scope.run("F = phi")
    for _ in range(8):
        scope.run("F = F*F")
    with pytest.raises(SoacraftError, match="400 operators or more"):
        scope.run("F = F*F")
    for line in ("S = phi", "S = S*S + S", "S = (S + H.T*H).inv", "S = S*S + S", "S = S*S + S", "S = S*S + S"):
        scope.run(line)
    with pytest.raises(SoacraftError, match="400 operators or more"):
        scope.run("S*S*S + S")


def test_names_are_bounded(s):
    scope = Scope(s)
    for i in range(200):
        scope.run(f"n{i} = {i}")
    with pytest.raises(SoacraftError, match="the page has 200 names, which is the most"):
        scope.run("one_more = 1")
    assert scope.run("n7 = n7 + 1") == 8


# -- any text ----------------------------------------------------------------------------------------------------------

WORDS = (
    *OPERATORS, *STACKED, *(x for x in FUNCTIONS if x not in ("prove", "simplify")),
    *(f".{x}()" for x in METHODS if x not in ("simplify", "properties")), ".T", ".inv", ".diff('link3')",
    "*", "+", "-", "/", "(", ")", "[", "]", ",", "**", "=", "2", "0.5", "1e-3", "0", "'link3'", "'hinge'", "a", "I",
)  # fmt: skip


@pytest.fixture(scope="module")
def small():
    mb = sc.load("double_pendulum")
    mb.set_state([0.3, -0.8], [0.5, 0.4])
    return sc.operators(mb)


def error_of(s, text):
    try:
        Scope(s).run(text)
    except SoacraftError as error:
        return error
    return None


@tries(150)
@given(text=st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join) | st.text(max_size=30))
def test_any_text_gives_a_value_or_an_error_with_a_place(small, text):
    error = error_of(small, text)
    assert error is None or (0 <= error.place <= len(text) and str(error))


LEAVES = st.sampled_from(["phi", "psi", "E_phi", "M", "P", "R", "tau_bar", "Upsilon", "I", "Omega", "X_v"])
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["*", " + ", " - "]), inner).map(lambda x: f"({x[0]}{x[1]}{x[2]})"),
        inner.map(lambda x: f"{x}.T"), inner.map(lambda x: f"(-{x})"), inner.map(lambda x: f"(2.5*{x})"),
        inner.map(lambda x: f"{x}.diff('link2')"), inner.map(lambda x: f"{x}.dot()"), inner.map(lambda x: f"({x})**2"),
        inner.map(lambda x: f"diag_of({x})"),
    ),
    max_leaves=5,
)  # fmt: skip


@tries(40)
@given(text=TREES)
def test_the_text_of_an_expression_reads_back(small, text):
    scope = Scope(small)
    try:
        expr = scope.run(text)
    except SoacraftError:  # such as a derivative that has no space yet
        return
    assert isinstance(expr, Operator)
    if len(expr.text()) > LONGEST:
        return
    again = scope.run(expr.text())
    assert again.text() == read_back(expr.text(), small).text()  # as Python reads it
    if expr.rows is not None and again.rows is not None:
        dense = expr.array()
        assert np.abs(again.array() - dense).max() <= 1e-9 * np.abs(dense).max(initial=1e-3)

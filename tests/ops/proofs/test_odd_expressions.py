"""Simplify and prove on odd input: long products, large numbers, names, wrong statements."""

import gc
import re
import time

import numpy as np
import pytest
from tests.ops.differences import mass_matrix

import soacraft as sc
from soacraft.errors import ModelError, SpaceError, StructureError

I = sc.I


@pytest.fixture
def s():
    return sc.operators(sc.load("arm7"))


def test_long_products_and_sums(s):
    """What is too long to be multiplied out is simplified in pieces, in bounded time."""
    alternating = I
    for k in range(40):
        alternating = alternating * (I - s.E_phi if k % 2 else s.phi)
    found = sc.simplify(alternating.T, seconds=10.0)
    assert found.text() == "I"
    assert found.rows == s.body
    many = sum((k * (I - s.H * s.psi * s.K) * s.H * s.phi * s.M for k in range(1, 31)), s.H * s.psi * s.M)
    assert sc.simplify(many).text() == "466*(H*psi*M)"
    endless = s.phi ** (10**9)
    assert sc.simplify(endless, seconds=0.1) is endless
    start = time.thread_time()
    hard = (s.phi + s.psi + s.M) ** 25 * alternating
    found = sc.simplify(hard, seconds=1.0)
    assert time.thread_time() - start < 2.0
    assert int(found.cost()) <= int(hard.cost())


def test_identities_alone():
    assert sc.prove(2 * I, I + I)
    assert sc.prove((I + I).inv, I / 2)
    assert not sc.prove(I, 2 * I)
    assert sc.prove(I, 2 * I).reason.startswith("the sides differ, not equal on 8 of 8 models")
    assert sc.simplify(I) is I


def test_numbers_beyond_floats(s):
    """Exact coefficients may be larger than any float: then nothing is written with them."""
    for expr in (1e308 * s.phi + 1e308 * s.phi, (1e200 * s.phi) * (1e200 * s.psi)):
        assert sc.simplify(expr) is expr
    proof = sc.prove((1e200 * s.phi) * (1e200 * (I - s.E_phi)), (1e200 * s.psi) * (1e200 * (I - s.E_psi)))
    assert not proof


def test_what_does_not_change_is_zero(s):
    """dH of a pin, W in body axes and the derivative of M are known to be zero, each with its step."""
    X = s.X("link3")
    for zero in (s.dH("link3"), s.H.diff("link3")):
        proof = sc.prove(zero * s.phi + s.H, s.H)
        assert proof
        assert any(step.name.endswith("is zero") for step in proof.steps)
        assert sc.simplify(zero * s.phi + s.H).text() == "H"
    for zero in (s.W("link3"), s.M.diff("link3"), s.X("link1") - s.X("link1")):
        assert sc.simplify(X * s.phi + zero).text() == "X('link3') * phi"


def test_inverses_of_products_part_by_part(s):
    """A square product of square parts is inverted part by part, also where its factors are not square."""
    massmat, minus, plus = mass_matrix(s), I - s.H * s.psi * s.K, I + s.H * s.phi * s.K
    x = np.linspace(-1.0, 1.0, 7)
    for expr, inverse in (
        (minus * massmat, massmat.inv * plus),
        (massmat * s.D * massmat * minus, plus * massmat.inv * s.D.inv * massmat.inv),
        (massmat * minus.T * s.D, s.D.inv * plus.T * massmat.inv),
    ):
        np.testing.assert_allclose(expr * np.asarray(expr.inv * x), x, atol=1e-8)
        assert sc.prove(expr.inv, inverse)
        assert not sc.prove(expr.inv, inverse.T)
        assert int(sc.simplify(expr.inv).cost()) <= int(inverse.cost())


def test_names_for_inverses_of_no_known_structure(s):
    """A name changes nothing: the dense matrix is formed, products with vectors are refused."""
    odd = I + s.phi * s.phi.T
    S = sc.define("S", odd.inv)
    np.testing.assert_allclose(S.array(), np.linalg.inv(odd.array()), atol=1e-12)
    assert sc.prove(S * odd, I.with_space(s.body))
    assert sc.verify(S.T, odd.inv).ok
    assert not sc.prove(S, odd)
    with pytest.raises(StructureError, match=r"^no structured inverse of I \+ phi\*phi\.T is known"):
        S * np.ones(42)


def test_names_that_texts_need_are_kept_free(s):
    """X('link3') must read back, so X cannot be another operator."""
    for name in "X W dH W_nd W_nd_v X_v W_v dH_v B_hat coriolis".split():
        text = f"{name} is an operator or vector of the papers; choose another name."
        with pytest.raises(ModelError, match=f"^{re.escape(text)}$"):
            sc.define(name, s.phi)


def test_what_was_stated_of_another_inertia_is_not_used():
    mb = sc.load("pendulum")
    s = sc.operators(mb)
    one = I.with_space(s.hinge)
    sc.state_identity("the moment is one", s.D, one)
    assert sc.simplify(s.H * s.P * s.H.T).text() == "I"
    mb.bodies[0].inertia = sc.Inertia.box(2.0, (0.1, 0.2, 0.3))
    s = sc.operators(mb)
    assert sc.simplify(s.H * s.P * s.H.T).text() == "D"
    assert not sc.prove(s.D, I.with_space(s.hinge))
    with pytest.raises(ModelError, match=r"^the identity 'the moment is one' does not hold"):
        sc.state_identity("the moment is one", s.D, I.with_space(s.hinge))


def test_what_nearly_holds_cannot_be_stated(s):
    """Collected, 1e-11 B = 0 would make B zero."""
    B, X = s.B("link7"), s.X("link3")
    for left, right in (
        (B + 1e-11 * B, B),
        (X * (1 + 1e-12), X),
        (s.phi * s.E_phi + I + 1e-11 * s.phi, s.phi),
        (0.33333333333 * s.M, s.M / 3),
    ):
        with pytest.raises(ModelError, match=r"^the identity 'nearly' does not hold: not equal on 5 of 5 models"):
            sc.state_identity("nearly", left, right)
    assert sc.simplify(B.T * s.phi.T).text() == "B(['link7']).T * phi.T"
    assert sc.state_identity("thirds", (X / 3) * 3 * s.phi, X * s.phi)


def test_names_of_bodies_that_latex_would_take_for_commands():
    mb = sc.Multibody("odd")
    box = sc.Inertia.box(1.0, (0.1, 0.2, 0.3))
    for name, parent in (("a#1", None), ("50%_{x}", "a#1")):
        mb.add_body(name, parent, sc.Pin((0, 0, 1)), box, sc.Pose(translation=(0.3, 0, 0)))
    s = sc.operators(mb)
    assert s.phi.diff("50%_{x}").latex() == r"\tilde{\phi}\, [X]_{\mathrm{50\%\_\{x\}}}\, \phi"
    assert sc.check_operator(mass_matrix(s).diff("50%_{x}")).ok
    assert sc.prove(s.H * s.X("a#1"), 0 * s.H).latex() == (
        r"\begin{aligned} H\, [X]_{\mathrm{a\#1}} &= 0\,H && \text{H*X('a\#1') is zero (formula G5a)} \end{aligned}"
    )


def test_names_go_with_their_operators(s):
    """Names are used while they are kept, in goals, in derivatives and in other names; then they are gone."""
    L = sc.define("L", I - s.H * s.psi * s.K)
    N = sc.define("N", L.T * s.D.inv * L)
    rate = N.diff("link3")
    np.testing.assert_allclose(rate.array(), mass_matrix(s).inv.diff("link3").array(), atol=1e-9)
    assert sc.check_operator(rate).ok
    assert sc.prove(N * mass_matrix(s), I.with_space(s.hinge))
    assert sc.simplify(L.T * s.D.inv * L).text() == "N"
    assert sc.simplify(2 * N.T - N).text() == "N"
    del N, rate
    gc.collect()
    assert sc.simplify((I + s.H * s.phi * s.K).inv).text() == "L"


def test_vectors_and_numbers_are_refused(s):
    for wrong in (s.V, 2.5, None, np.eye(3), "phi", [s.phi]):
        with pytest.raises(SpaceError, match=r"^simplify takes an operator, not "):
            sc.simplify(wrong)
        with pytest.raises(SpaceError, match=r"^prove compares operators, or functions of an Operators namespace"):
            sc.prove(s.phi, wrong)

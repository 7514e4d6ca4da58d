"""Functions of expressions are dispatched on their kinds from outside."""

import sys

import numpy as np
import pytest

import soacraft as sc
from soacraft.algebra.descriptions import cost, explain, printing
from soacraft.algebra.expressions.operator import Operator
from soacraft.errors import SpaceError


class Untold(Operator):
    """X / 2, as a kind of expression of somebody else's."""

    def __init__(self, arg):
        self.arg, self.rows, self.cols, self.depth = arg, arg.rows, arg.cols, arg.depth + 1

    def apply(self, x):
        return 0.5 * self.arg.apply(x)

    def apply_T(self, x):
        return 0.5 * self.arg.apply_T(x)

    def pattern(self):
        return self.arg.pattern()

    def blocks(self):
        return self.arg.blocks().scaled(0.5)

    def parts(self):
        return (self.arg,)

    def with_parts(self, parts):
        return type(self)(parts[0])

    def key(self):
        return (type(self).__name__, self.arg.key())


class Half(Untold):
    """The same, told to functions of expressions."""


@printing.written.register
def _(expr: Half):
    return f"half({expr.arg.text()})", printing.ATOM


@printing.printed.register
def _(expr: Half):
    return rf"\tfrac12 {expr.arg.latex()}", printing.PRODUCT


@explain.steps.register
def _(expr: Half, transposed, why):
    return explain.steps(expr.arg, transposed, "a half")


@cost.counted.register
def _(expr: Half, weights):
    return cost.counted(expr.arg, weights)


@pytest.fixture(scope="module")
def s():
    return sc.operators(sc.load("arm7"))


def test_a_kind_of_ones_own_answers_what_it_was_registered_with(s):
    half = s.H * Half(s.phi)
    assert half.text() == "H * half(phi)"
    assert half.latex() == r"H\, \left[\tfrac12 \phi\right]"
    assert half.explain().product[0].why == "a half"
    assert half.cost() == (s.H * s.phi).cost()
    x = np.arange(42.0)
    assert np.allclose(half * x, 0.5 * (s.H * s.phi * x), rtol=1e-14, atol=0)
    assert np.allclose(half.array(), 0.5 * (s.H * s.phi).array(), rtol=1e-13, atol=1e-13)
    assert half.is_zero() is False
    assert (half - half).is_zero()


@pytest.mark.parametrize("ask", ["text", "latex", "explain", "cost"])
def test_a_kind_that_a_function_was_not_told_of_is_refused_by_name(s, ask):
    with pytest.raises(SpaceError, match="knows no expression of kind Untold: register a function of Untold"):
        getattr(Untold(s.phi), ask)()


def test_a_kind_without_a_derivative_is_refused_by_name(s):
    with pytest.raises(SpaceError, match=r"^diff knows no expression of kind Half"):
        Half(s.phi).diff("link3")


def test_a_product_at_a_new_state_passes_no_dispatch():
    """Nor anything else in Python but what finds the quick call, and what makes a stacked vector of its numbers."""
    mb = sc.load("arm7")
    H, phi, M = sc.operators(mb, "H phi M")
    massmat, x = H * phi * M * phi.T * H.T, np.ones(7)
    massmat * x
    mb.set_state(np.full(7, 0.1), np.zeros(7))
    calls = []
    sys.setprofile(lambda frame, event, arg: calls.append(frame.f_code.co_name) if event == "call" else None)
    try:
        massmat * x
    finally:
        sys.setprofile(None)
    assert calls == ["__mul__", "_times", "measurer", "make"]

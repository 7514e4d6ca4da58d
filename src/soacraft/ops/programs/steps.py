"""Steps of a program: what takes a vector through an expression, from register to register.

A step applies a field or its transpose, sweeps along the tree with one, or adds two registers:

    y = F x,    y = F* x,    y = gather(E) x,    y = scatter(E) x,    z = a x + b y
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

from soacraft.algebra.expressions.nodes import Identity, Inverse, Power, Product, Scaled, Sum, Transpose
from soacraft.algebra.expressions.operator import DIAGONAL, Leaf, Operator
from soacraft.algebra.spaces.space import Space
from soacraft.model.flat.plans import Program, make_program
from soacraft.ops.derived import UP, RiccatiInverse, SweptInverse
from soacraft.ops.leaves import DefinedLeaf, PropagatorLeaf
from soacraft.ops.programs.fields import KNOWN, Fields, Needed, NotLowered, factor_of, field
from soacraft.ops.programs.registers import Step, allotted

#: A higher power is left to Python, which squares sparse operators; up to this one it is applied again and again.
HIGHEST_POWER = 16

APPLY, APPLY_T, GATHER, SCATTER, GATHER_TILDE, SCATTER_TILDE, COMBINE = range(7)


class Lowering(Needed):
    """One expression: its registers, each written once, its steps, and the fields that these need."""

    def __init__(self, fields: Fields) -> None:
        super().__init__(fields)
        self.spaces: list[int] = []  # of the registers
        self.steps: list[Step] = []
        self._known: dict[tuple[Any, ...], int] = {}

    def program(self, expr: Operator) -> Program:
        """The program of products with an expression."""
        self.spaces = [self.fields.space(expr.spaces[1])]
        last = steps(expr, self, 0, False) or self.combine(1.0, 0, 0.0, -1)
        self.steps, spaces = allotted(self.steps, self.spaces, last, COMBINE)
        return make_program(self.fields.plan, spaces, self.steps, [])

    def act(self, what: int, field: int, x: int, space: Space) -> int:
        """Apply a field, or the sweep of one, to a register."""
        return self._step(self.fields.space(space), what, field, x, -1, 1.0, 0.0)

    def combine(self, a: float, x: int, b: float, other: int) -> int:
        """a x + b other."""
        return self._step(self.spaces[x], COMBINE, -1, x, other, a, b)

    def _step(self, space: int, act: int, field: int, x: int, other: int, a: float, b: float) -> int:
        """The register that a step writes; the same for the same step."""
        key = (act, field, x, other, a, b)
        if key not in self._known:
            self._known[key] = len(self.spaces)
            self.spaces.append(space)
            self.steps.append((act, field, x, other, self._known[key], a, b))
        return self._known[key]


def listing(fields: Fields, makers: list[tuple[str, int]], steps: list[Step]) -> tuple[str, ...]:
    """A program in words: how its fields are made, then what its steps do."""

    def name(which: int) -> str:
        return fields.names.get(which, f"field {which}")

    made = [
        f"{how}: {'A, H, M' if how == 'blocks at q' else 'P, D, G' if how == 'Riccati' else name(which)}"
        for how, which in makers
        if how != "given"
    ]
    return (*made, *(_step_text(step, name) for step in steps))


def _step_text(step: Step, name: Callable[[int], str]) -> str:
    act, which, x, other, out, a, b = step
    if act == COMBINE:
        return f"r{out} = {a:g} r{x}" + ("" if other < 0 else f" + {b:g} r{other}")
    kind = ("", "", "gather", "scatter", "gather~", "scatter~")[act]
    star = ".T" if act == APPLY_T else ""
    return f"r{out} = {kind}({name(which)}) r{x}" if kind else f"r{out} = {name(which)}{star} r{x}"


# -- kinds of expression -----------------------------------------------------------------------------------------------


def steps(expr: Operator, low: Lowering, x: int, turned: bool) -> int:
    """The register with the product of an expression (or its transpose) with register x."""
    if isinstance(expr, Leaf) and type(expr) not in KNOWN:
        return _apply(field(expr, low), expr, low, x, turned)
    return _steps(expr, low, x, turned)


@singledispatch
def _steps(expr: Operator, low: Lowering, x: int, turned: bool) -> int:
    return _apply(field(expr, low), expr, low, x, turned)


def _apply(which: int, expr: Operator, low: Lowering, x: int, turned: bool) -> int:
    rows, cols = expr.spaces
    return low.act(APPLY_T if turned else APPLY, which, x, cols if turned else rows)


@_steps.register
def _(expr: Identity, low: Lowering, x: int, turned: bool) -> int:
    return x


@_steps.register
def _(expr: PropagatorLeaf, low: Lowering, x: int, turned: bool) -> int:
    tilde = expr.what.tilde
    act = (SCATTER_TILDE if tilde else SCATTER) if turned else (GATHER_TILDE if tilde else GATHER)
    return low.act(act, field(expr.kernel, low), x, expr.spaces[0])


@_steps.register
def _(expr: DefinedLeaf, low: Lowering, x: int, turned: bool) -> int:
    return steps(expr.meaning, low, x, turned)


@_steps.register
def _(expr: Transpose, low: Lowering, x: int, turned: bool) -> int:
    return steps(expr.arg, low, x, not turned)


@_steps.register
def _(expr: Scaled, low: Lowering, x: int, turned: bool) -> int:
    c, arg = factor_of(expr)
    return _scaled(c, arg, low, x, turned)


def _scaled(c: float, arg: Operator, low: Lowering, x: int, turned: bool) -> int:
    y = steps(arg, low, x, turned)
    return y if c == 1.0 else low.combine(c, y, 0.0, -1)


@_steps.register
def _(expr: Product, low: Lowering, x: int, turned: bool) -> int:
    return _chain(list(expr.factors), low, x, turned)


def _chain(factors: list[Operator], low: Lowering, x: int, turned: bool) -> int:
    for factor in factors if turned else reversed(factors):
        x = steps(factor, low, x, turned)
    return x


@_steps.register
def _(expr: Sum, low: Lowering, x: int, turned: bool) -> int:
    (a, first), *rest = [factor_of(term) for term in expr.terms]
    total = steps(first, low, x, turned)
    for b, term in rest:
        total, a = low.combine(a, total, b, steps(term, low, x, turned)), 1.0
    return total if a == 1.0 else low.combine(a, total, 0.0, -1)


@_steps.register
def _(expr: Power, low: Lowering, x: int, turned: bool) -> int:
    if expr.n > HIGHEST_POWER:
        raise NotLowered
    for _ in range(expr.n):
        x = steps(expr.arg, low, x, turned)
    return x


@_steps.register
def _(expr: Inverse, low: Lowering, x: int, turned: bool) -> int:
    if expr.arg.pattern() == DIAGONAL:
        return _apply(field(expr, low), expr, low, x, turned)
    known = expr.known()
    if known is None:
        raise NotLowered
    return steps(known[0], low, x, turned)


@_steps.register
def _(expr: SweptInverse, low: Lowering, x: int, turned: bool) -> int:
    """C^-1 (I - L C^-1)^-1 with -L on the edges."""
    plan, whole = low.fields.plan, field(expr.arg, low)
    if expr.arg.pattern() not in (frozenset("du"), UP):
        raise NotLowered
    try:
        C_inv = plan.inverse(low.fields.scaled(1.0, whole, part=1))
    except ValueError:
        raise NotLowered from None
    L = low.fields.times(low.fields.scaled(-1.0, whole, part=2), C_inv)
    space = expr.spaces[0]
    if turned:
        return low.act(SCATTER, L, low.act(APPLY_T, C_inv, x, space), space)
    return low.act(APPLY, C_inv, low.act(GATHER, L, x, space), space)


@_steps.register
def _(expr: RiccatiInverse, low: Lowering, x: int, turned: bool) -> int:
    """(I - H psi K)* D^-1 (I - H psi K) with X in the place of M; it is symmetric."""
    H_arg, E, X = expr.args
    f, plan = low.fields, low.fields.plan
    H_field, E_field = field(H_arg, low), field(E, low)
    P = plan.riccati(E_field, H_field, field(X, low))
    D, G = P + 1, P + 2
    K = f.times(E_field, G)
    E_psi = plan.remainder(E_field, K, H_field)
    D_inv, hinge, body = plan.inverse(D), H_arg.spaces[0], H_arg.spaces[1]

    def chain(y: int, *acts: tuple[int, int, Space]) -> int:
        for what, which, space in acts:
            y = low.act(what, which, y, space)
        return y

    inner = chain(x, (APPLY, K, body), (GATHER, E_psi, body), (APPLY, H_field, hinge))
    middle = low.act(APPLY, D_inv, low.combine(1.0, x, -1.0, inner), hinge)
    outer = chain(middle, (APPLY_T, H_field, body), (SCATTER, E_psi, body), (APPLY_T, K, hinge))
    return low.combine(1.0, middle, -1.0, outer)

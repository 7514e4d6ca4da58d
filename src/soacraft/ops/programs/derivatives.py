"""Derivatives as programs: a derivative in one pass as steps, its leaves X, W and dH as fields.

X, W and B_hat are blocks of a column x = F w (`soacraft.ops.derivatives.leaves`), where w is the unit vector of a dof.
F is lowered as any expression is, but on a column that is there as a field, with blocks only where a path reaches.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.spaces.space import Space
from soacraft.model.tree.frames.frame import Body
from soacraft.ops.derivatives.directions import Unit
from soacraft.ops.derivatives.dual import Derivative, Machine
from soacraft.ops.derivatives.leaves import HingeRateLeaf, SensitivityLeaf, TwistLeaf, ZeroLeaf
from soacraft.ops.derivatives.rates import LyapunovRate
from soacraft.ops.leaves import DerivedLeaf
from soacraft.ops.programs.fields import KNOWN, Fields, Needed, NotLowered, _field, field
from soacraft.ops.programs.steps import APPLY, APPLY_T, Lowering, _steps, steps

KNOWN.update((TwistLeaf, HingeRateLeaf, LyapunovRate, ZeroLeaf))

#: The blocks that C++ makes of a column, by number.
FORCE_CROSS, TURNING, MOMENTUM_CROSS = range(3)


class Written(Machine):
    """Machine that works on registers: it writes the steps of a program."""

    def __init__(self, low: Lowering) -> None:
        self.low = low

    def times(self, x: Operator, T: bool, *ys: Any) -> tuple[Any, ...]:
        return tuple(None if y is None else steps(x, self.low, y, T) for y in ys)

    def change(self, x: Operator, T: bool, y: Any) -> Any:
        if x.pattern() is None:
            return steps(x, self.low, y, T)
        rows, cols = x.spaces
        return self.low.act(APPLY_T if T else APPLY, field(x, self.low), y, cols if T else rows)

    def add(self, x: Any, y: Any, c: float = 1.0) -> Any:
        if y is None:
            return x
        if x is None:
            return y if c == 1.0 else self.low.combine(c, y, 0.0, -1)
        return self.low.combine(1.0, x, c, y)


@_steps.register
def _(expr: Derivative, low: Lowering, x: int, turned: bool) -> int:
    machine = Written(low)
    last: int = expr.run(machine, turned, x) if expr.pattern() is None else machine.change(expr, turned, x)
    return last


# -- leaves ------------------------------------------------------------------------------------------------------------


class Columns(Lowering):
    """Steps on columns that are fields: a register is the number of a field."""

    def __init__(self, need: Needed) -> None:
        super().__init__(need.fields)
        self.outside, self.made = need.outside, need.made

    def act(self, what: int, field: int, x: int, space: Space) -> int:
        if what in (APPLY, APPLY_T):
            return self.fields.times(field, x, left=what == APPLY_T)
        return self.fields.plan.sweep(what, field, x)

    def combine(self, a: float, x: int, b: float, other: int) -> int:
        return self.fields.plan.sum(a, x, False, b, other, False)


def _refuse_too_many(fields: Fields) -> None:
    """Refuse one direction more where the plan of a model has grown large."""
    if fields.plan.size > fields.most:
        raise NotLowered


@_field.register
def _(expr: TwistLeaf, need: Needed) -> int:
    _refuse_too_many(need.fields)
    turned_by_modes = expr.kind == "W_nd" and not expr.binding.graph.layout.rigid
    if turned_by_modes or not all(isinstance(source, Unit) for source in expr.sources()):
        return need.given(expr)
    if not expr.terms:
        return _zero(expr, need)
    columns, total = Columns(need), -1
    for operator, source in expr.terms:
        assert isinstance(source, Unit)
        x = steps(operator, columns, _unit(source, expr, need.fields), False)
        total = x if total < 0 else columns.combine(1.0, total, 1.0, x)
    turning = expr.kind == "W_nd" or (expr.kind == "W" and expr.binding.axes == "inertial")
    kind = MOMENTUM_CROSS if expr.kind == "B_hat" else TURNING if turning else FORCE_CROSS
    return need.fields.plan.cross(kind, total, need.fields.space(expr.spaces[0]), _bodies_of_nodes(expr))


def _unit(source: Unit, leaf: TwistLeaf, fields: Fields) -> int:
    """The unit vector of a dof, as a column."""

    def make() -> int:
        i, none = np.array([source.i], dtype=np.int64), np.zeros(1, dtype=np.int64)
        made = fields.plan.given(fields.space(leaf.binding.hinge), fields.column, i, none, True)
        fields.constants[made] = np.eye(leaf.binding.hinge.dims[source.i])[source.j]
        return made

    return fields.once(("unit", source.i, source.j), make)


def _bodies_of_nodes(leaf: TwistLeaf) -> Any:
    """Index of the body of each node of the leaf."""
    graph = leaf.binding.graph
    carriers = [graph.frame(name).carrier for name in leaf.nodes]
    if not all(isinstance(carrier, Body) for carrier in carriers):
        raise NotLowered
    return np.array([graph.layout.index[carrier] for carrier in carriers], dtype=np.int64)  # type: ignore[index]


@_field.register
def _(expr: HingeRateLeaf, need: Needed) -> int:
    """Field of a rate along a dof of a hinge that C++ knows; Python computes further derivatives, and hinges of the
    user's own.
    """
    _refuse_too_many(need.fields)
    if not expr.terms:
        return _zero(expr, need)
    (first, *more), *others = expr.terms
    if not need.fields.rigid or more or others or not isinstance(first, Unit):
        return need.given(expr)
    return need.fields.plan.hinge_rate(first.i, first.j)


@_field.register
def _(expr: ZeroLeaf, need: Needed) -> int:
    return _zero(expr, need)


def _zero(expr: SensitivityLeaf | DerivedLeaf, need: Needed) -> int:
    """A field without blocks."""
    rows, cols = (need.fields.space(space) for space in expr.spaces)

    def make() -> int:
        nowhere = np.zeros(0, dtype=np.int64)
        made = need.fields.plan.given(rows, cols, nowhere, nowhere, True)
        need.fields.constants[made] = np.zeros(0)
        return made

    return need.fields.once(("0", rows, cols), make)

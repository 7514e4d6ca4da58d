"""Plans and numbers of programs: the plan of a binding, the numbers at its state, the program of an expression.

A plan and its programs belong to a structure and its axes, numbers to a state: those of a model follow its current
state, a snapshot keeps its own. Where a program cannot be sure - a hinge without inertia, numbers that overflow - the
recursions in Python compute the result or raise the error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.expressions.once import once
from soacraft.algebra.expressions.operator import Leaf, Operator
from soacraft.algebra.spaces.blocks import Blocks
from soacraft.algebra.spaces.vectors import StackedVector
from soacraft.algebra.values.evaluate import unit_columns
from soacraft.model.flat.layout import Layout
from soacraft.model.flat.plans import (
    Numbers,
    Program,
    batch_of,
    given_plan,
    make_numbers,
    make_program,
    product_of,
    records_of,
    rigid_plan,
    spots_of,
)
from soacraft.model.flat.sko import SKOModel
from soacraft.model.states.state import State
from soacraft.model.tree.multibody import Multibody
from soacraft.ops.binding import Bound, GraphBinding
from soacraft.ops.programs import calls, derivatives  # noqa: F401  their kinds of expression are registered
from soacraft.ops.programs.fields import Fields, NotLowered, field, numbers_of
from soacraft.ops.programs.forms import form
from soacraft.ops.programs.registers import Step
from soacraft.ops.programs.steps import Lowering, listing

Array = npt.NDArray[np.float64]


class Road:
    """The plan of a model in some axes, with the programs made for it."""

    def __init__(self, fields: Fields, rigid: bool, parameters: int) -> None:
        self.fields, self.rigid, self.parameters = fields, rigid, parameters
        fields.rigid = rigid
        self.live: Numbers | None = None  # numbers that follow the current state of the model
        self._programs: dict[Any, Lowered | None] = {}

    def update(self, layout: Layout) -> None:
        """Bring the parameters of a layout to the plan, where they are newer. O(n)."""
        if self.rigid and self.parameters != layout.parameters:
            self.fields.plan.set_bodies(*records_of(layout), layout.parameters)
            for which, frames in self.fields.picked.items():
                self.fields.plan.set_spots(which, spots_of(layout, frames))
            self.parameters = layout.parameters

    def lowered(self, expr: Operator, as_field: bool = False) -> Lowered | None:
        """The program of products with an expression, or the one that makes its blocks; None when there is none."""
        key = (as_field, form(expr))
        if key in self._programs:
            return self._programs[key]
        low = Lowering(self.fields)
        try:
            if as_field:
                made = field(expr, low)
                spaces = [self.fields.space(space) for space in expr.spaces]
                program = make_program(self.fields.plan, spaces, [], [made])
                found: Lowered | None = Lowered(self.fields, program, low.outside, made)
            else:
                found = Lowered(self.fields, low.program(expr), low.outside, steps=low.steps)
        except NotLowered:
            found = None
        if not low.outside:  # leaves whose numbers Python computes belong to one expression
            self._programs[key] = found
        return found


class Lowered:
    """A program, and the leaves whose numbers Python gives it at every state."""

    def __init__(
        self,
        fields: Fields,
        program: Program,
        outside: dict[int, tuple[Leaf, bytes]],
        field: int = -1,
        steps: list[Step] | None = None,
    ) -> None:
        self.fields, self.program, self.outside, self.field, self._steps = fields, program, outside, field, steps or []

    @property
    def listing(self) -> tuple[str, ...]:
        """The program in words."""
        return listing(self.fields, self.program.makers, self._steps)

    def provide(self, numbers: Numbers) -> bool:
        """Give the numbers that are missing at the state as it is; False when a leaf has other blocks than before."""
        for which in numbers.missing(self.program):
            constant = self.fields.constants.get(which)
            if constant is None:
                leaf, places = self.outside[which]
                blocks = leaf.blocks()
                if blocks.batch or np.array(list(blocks.entries), dtype=np.int64).tobytes() != places:
                    return False
                constant = numbers_of(leaf)
            numbers.give(which, constant)
        return True


def road_of(binding: Bound) -> Road:
    """The road of a binding, made once for its structure and axes, with the parameters that the model has now."""
    if isinstance(binding, GraphBinding):
        layout, axes = binding.graph.layout, binding.axes or "body"
        roads: dict[str, Road] = layout.roads
        road = roads.get(axes)
        if road is None:
            plan = rigid_plan(layout, axes)  # type: ignore[arg-type]
            rigid = plan is not None
            plan = plan or given_plan(layout.tree, layout.dims, binding.hinge.dims)
            road = roads[axes] = Road(Fields(plan, binding.body), rigid, layout.parameters)
        road.update(layout)
        return road
    kept = binding.roads
    road = kept.get("_road")
    if road is None:
        plan = given_plan(binding.sko().tree, binding.body.dims, binding.hinge.dims)
        road = kept["_road"] = Road(Fields(plan, binding.body), False, 0)
    return road


def numbers_at(binding: Bound, road: Road, lowered: Lowered) -> Numbers | None:
    """The numbers of a road at the state of a binding, for a program; None for a batch."""
    if binding.batch:
        return None
    if road.rigid and isinstance(binding, GraphBinding):
        state = binding.state
        live = binding.snapshot is None and isinstance(binding.graph, Multibody) and state is binding.graph.current
        if live and not lowered.outside:
            assert isinstance(binding.graph, Multibody)
            if road.live is None:
                road.live = make_numbers(road.fields.plan)
                road.live.follow(binding.graph.store)
            return road.live
        return _kept(lowered, binding, state, _memo(binding, state), lambda: _numbers_of_state(binding, state, road))
    sko = binding.sko()
    return _kept(lowered, binding, sko, sko.memo, lambda: _numbers_of_blocks(sko, road), (road,))


def _memo(binding: GraphBinding, state: State) -> dict[Any, Any]:
    return state.configuration.derived(binding.axes or "body")  # type: ignore[arg-type]


def _kept(
    lowered: Lowered, binding: Bound, at: Any, memo: dict[Any, Any], make: Callable[[], Numbers], key: Any = ()
) -> Numbers:
    """Numbers made once for a configuration; for once where leaves in Python may depend on more than that."""
    if lowered.outside:
        own = vars(binding).get("_numbers")
        if own is None or own[0] is not at:
            own = vars(binding)["_numbers"] = (at, make())
        numbers: Numbers = own[1]
        return numbers
    if ("numbers", *map(id, key)) not in memo:
        memo["numbers", *map(id, key)] = (make(), key)  # the key stays, so that its id does
    kept: Numbers = memo["numbers", *map(id, key)][0]
    return kept


def _numbers_of_state(binding: GraphBinding, state: State, road: Road) -> Numbers:
    numbers = make_numbers(road.fields.plan)
    numbers.set_q(np.ascontiguousarray(state.configuration.q))
    if binding.axes != "body":
        R, p = state.configuration.base
        numbers.set_base(np.concatenate([np.ravel(R), np.ravel(p)]))
    return numbers


def _numbers_of_blocks(sko: SKOModel, road: Road) -> Numbers:
    numbers = make_numbers(road.fields.plan)
    edges = [x for x in sko.edges if x is not None]
    for which, found in enumerate((edges, [sko.H(k) for k in sko.nodes], [sko.M(k) for k in sko.nodes])):
        numbers.give(which, np.concatenate([np.zeros(0), *(np.ravel(x) for x in found)]))
    return numbers


@once
def binding_of(expr: Operator) -> Bound | None:
    """Binding of all leaves; None for several bindings."""
    bindings: tuple[Any, ...] = expr.bindings()
    return bindings[0] if bindings and len({binding.identity() for binding in bindings}) == 1 else None


def columns(expr: Operator, x: Array) -> Array | None:
    """The product of an expression with columns (..., N, m) at its state, by its program; None when Python should."""
    binding = binding_of(expr)
    if binding is None:
        return None
    road = road_of(binding)
    lowered = road.lowered(expr)
    if lowered is None or not x.shape[-2]:
        return None
    if binding.batch:
        return _batch(binding, road, lowered, x)
    numbers = numbers_at(binding, road, lowered)
    if numbers is None or not lowered.provide(numbers):
        return None
    found: Array | None = None
    if x.ndim == 2:
        found = numbers.run(lowered.program, np.ascontiguousarray(x))
    return found


def block(expr: Operator, i: int, j: int) -> Array | None:
    """Block (i, j) of an expression at its state, by its program; None when Python should compute it."""
    binding = binding_of(expr)
    if binding is None or binding.batch:
        return None
    rows, cols = expr.spaces
    road = road_of(binding)
    sparse = expr.pattern() is not None
    lowered = road.lowered(expr, sparse)
    numbers = None if lowered is None else numbers_at(binding, road, lowered)
    if lowered is None or numbers is None or not lowered.provide(numbers):
        return None
    found: Array | None
    if sparse:
        found = numbers.block(lowered.program, lowered.field, i, j)
        return found
    found = numbers.run(lowered.program, unit_columns(cols, cols.block(j)))
    return None if found is None else found[rows.block(i)]


def blocks(expr: Operator) -> Blocks | None:
    """All blocks of an expression that has a pattern, by its program; None when Python should compute them."""
    binding = binding_of(expr)
    if binding is None or binding.batch:
        return None
    road = road_of(binding)
    lowered = road.lowered(expr, as_field=True)
    numbers = None if lowered is None else numbers_at(binding, road, lowered)
    if lowered is None or numbers is None or not lowered.provide(numbers):
        return None
    data = numbers.blocks(lowered.program, lowered.field)
    if data is None:
        return None
    (rows, cols), (row, col, start) = expr.spaces, road.fields.plan.places(lowered.field)
    entries = {
        (i, j): data[a:b].reshape(rows.dims[i], cols.dims[j])
        for i, j, a, b in zip(row, col, start[:-1], start[1:], strict=True)
    }
    return Blocks(rows, cols, entries)


def _batch(binding: Bound, road: Road, lowered: Lowered, x: Array) -> Array | None:
    """Product for a batch of states, several side by side."""
    batch, numbers = binding.batch, make_numbers(road.fields.plan)
    lead = np.broadcast_shapes(batch, x.shape[:-2])
    if lead != batch:
        return None
    count, q = math.prod(batch), None
    given: list[tuple[int, Array]] = []
    if road.rigid:
        assert isinstance(binding, GraphBinding)
        configuration = binding.state.configuration
        if binding.axes != "body":
            R, p = configuration.base
            if R.ndim > 2:
                return None
            numbers.set_base(np.concatenate([np.ravel(R), np.ravel(p)]))
        q = _rows(configuration.q, batch, count)
    else:
        sko = binding.sko()
        edges = [x for x in sko.edges if x is not None]
        for which, given_blocks in enumerate((edges, [sko.H(k) for k in sko.nodes], [sko.M(k) for k in sko.nodes])):
            given.append((which, _block_rows(given_blocks, batch, count)))
    for which in numbers.missing(lowered.program):
        if which in lowered.outside:
            leaf, places = lowered.outside[which]
            entries = leaf.blocks().entries
            if np.array(list(entries), dtype=np.int64).tobytes() != places:
                return None
            given.append((which, _block_rows(list(entries.values()), batch, count)))
        elif which in road.fields.constants:
            numbers.give(which, road.fields.constants[which])
    columns = x if x.ndim == 2 else np.broadcast_to(x, (*batch, *x.shape[-2:]))
    flat = np.ascontiguousarray(columns.reshape(-1 if x.ndim > 2 else 1, *x.shape[-2:]))
    found: Array | None = batch_of(numbers, lowered.program, q, flat, given)
    return None if found is None else found.reshape(*batch, *found.shape[-2:])


def _rows(x: Array, batch: tuple[int, ...], count: int) -> Array:
    return np.ascontiguousarray(np.broadcast_to(x, (*batch, x.shape[-1])).reshape(count, x.shape[-1]))


def _block_rows(blocks: list[Array], batch: tuple[int, ...], count: int) -> Array:
    """Blocks one after the other in a row for each state."""
    parts = [np.broadcast_to(x, (*batch, *x.shape[-2:])).reshape(count, -1) for x in blocks]
    return np.ascontiguousarray(np.concatenate([np.zeros((count, 0)), *parts], axis=1))


def product_call(expr: Operator, fallback: Callable[[Any], StackedVector]) -> Callable[[Any], StackedVector] | None:
    """A quick call for products of a live expression of a rigid model with vectors; None when there is none."""
    binding = binding_of(expr)
    if not isinstance(binding, GraphBinding) or binding.snapshot is not None:
        return None
    road = road_of(binding)
    lowered = road.lowered(expr) if road.rigid else None
    if lowered is None or lowered.outside:
        return None
    numbers = numbers_at(binding, road, lowered)
    if numbers is None or numbers is not road.live or not lowered.provide(numbers):
        return None
    assert expr.rows is not None
    call: Callable[[Any], StackedVector] = product_of(
        numbers, lowered.program, fallback, StackedVector.maker(expr.rows)
    )
    return call


calls.block.register(Operator, block)
calls.blocks.register(Operator, blocks)
calls.columns.register(Operator, columns)
calls.product_call.register(Operator, product_call)

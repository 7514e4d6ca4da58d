"""A system as a plan for compiled code: every number in one array, every equation a call on it.

Compiled steps (`sim.compiled`) walk through the plan: twins are called directly, other equations as the functions of
Python they are. `obstacle` says what a plan cannot take; such a system is walked through in Python (`flow`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft import _core
from soacraft.errors import SoacraftError
from soacraft.model.flat.compiled import CompiledModel
from soacraft.model.tree.frames.frame import Body
from soacraft.sim.components.compiled import address
from soacraft.sim.components.twins import address_of, numbers_of
from soacraft.sim.systems.running.calls import OF_NODE, Call, Knot
from soacraft.sim.systems.running.edited import edited
from soacraft.sim.systems.running.schedule import Schedule
from soacraft.sim.systems.running.slot_layout import (
    ARRAY,
    CONSTANT,
    COUNT,
    NUMBER,
    OBJECT,
    TRUTH,
    WHOLE,
    Forms,
    layout_of,
)
from soacraft.sim.systems.running.ticks import Ticks
from soacraft.sim.systems.running.values import Values, failure
from soacraft.spatial.checks import Array

#: Cost of a call relative to a step of one body: into Python, of a twin, and of a node.
_PYTHON, _TWIN, _NODE = 0.05, 0.005, 0.1
#: Kinds of forces at nodes, in core/sim/components/plan.hpp.
_WRENCHES = ("force", "moment", "wrench")
#: Clocks, and parts of a period, that compiled code counts.
_CLOCKS, _PERIOD = 64, 2**62


def obstacle(schedule: Schedule, forms: Forms) -> str:
    """Reason why compiled code does not walk through a system; empty if it does."""
    if not hasattr(getattr(_core, "SystemPlan", None), "set_nodes"):
        return "the compiled core is older than this code: build it again"
    if schedule.knots:
        return f"the loop of {schedule.knots[0].tears[0].key!r} is solved in Python"
    if schedule.masses:
        return "masses are given"
    if ":closing" in schedule.calls:
        return "forces of closures are asked for"
    if any(form < 0 for form, _ in forms):
        slot = next(i for i, (form, _) in enumerate(forms) if form < 0)
        name = next(key for key, at in schedule.slots.items() if at == slot)
        return f"{name!r} is an array of whole numbers or truth values"
    clocks = {x.clock for x in schedule.ticking}
    if len(clocks) > _CLOCKS:
        return f"it has {len(clocks)} clocks"
    for x in clocks:
        if max(x.period.numerator, x.period.denominator) >= _PERIOD:
            return f"a period of {x.seconds:g} s is a fraction of large numbers"
    return ""


class CompiledFlow:
    """The plan of a system. `values` are those of Python, which are read before a run and written after it."""

    def __init__(
        self, schedule: Schedule, ticks: Ticks, values: Values, forms: Forms, signs: Array, nominal: Array
    ) -> None:
        self._s, self._ticks, self._tell, self._values, self._forms = schedule, ticks, values, values.values, forms
        self._named: dict[str, Call] = {}  # calls into Python
        self._signs, self._nominal = signs, nominal
        self._layout = layout_of(schedule, forms)
        self.slots = np.zeros(self._layout.size)
        self.counts: npt.NDArray[np.int64] = np.zeros(len(ticks.clocks), dtype=np.int64)
        self._made: Any = None
        self._params: list[Any] = []
        self._columns: list[int] = []
        self._late: Sequence[Sequence[Call | Knot]] = ((), ())
        self._recorded: object = None
        self._shapes: Sequence[str] | None = None  # those that contacts are of
        self.width = 0
        """Numbers of a row of signals."""

    def _numbers(self, slot: int) -> int:
        return int(np.prod(self._forms[slot][1]))

    def _view(self, at: int, shape: tuple[int, ...]) -> Array:
        view = self.slots[at : at + int(np.prod(shape))].reshape(shape)
        view.flags.writeable = False
        return view

    # -- calls -------------------------------------------------------------------------------------------------

    def _argument(self, slot: int) -> tuple[int, Any]:
        form, shape = self._forms[slot]
        if form == CONSTANT:
            return form, self._values[slot]
        return form, self._view(self._layout.at[slot], shape) if form == ARRAY else self._layout.at[slot]

    def _call(self, call: Call, out: int | None = None) -> tuple[Any, ...]:
        """A call as the plan reads it; its result goes to `out`, or to its slot."""
        form, shape = self._forms[call.slot]
        to = self._layout.at[call.slot] if out is None else out
        self._weight += _TWIN
        native, slots = call.native, [slot for _, slot in call.reads]
        if native is not None and native.kind == "element":
            return address("same"), (self._layout.at[slots[0]] + native.value,), (), to, 1
        if native is not None and native.kind == "scaled":
            return address("scaled"), (self._layout.at[slots[0]],), (float(native.value),), to, int(np.prod(shape))
        if native is not None and native.kind == "twin":
            params = next((self._values[slot] for name, slot in call.reads if name == "p"), None)
            p = () if params is None else numbers_of(params)
            taken = [slot for name, slot in call.reads if name != "p"]
            if p is not None and all(self._forms[x][0] in (NUMBER, WHOLE, TRUTH, ARRAY) for x in taken):
                return address_of(native.value), tuple(self._layout.at[x] for x in taken), p, to, int(np.prod(shape))
        self._weight += _PYTHON
        self._named[call.key] = call
        return call.plain, tuple(self._argument(x) for x in slots), form, to, shape, call.key

    def _calls(self, calls: Sequence[Call | Knot]) -> list[tuple[Any, ...]]:
        return [self._call(x) for x in calls if isinstance(x, Call) and x.key not in self._by_kernels]

    def _set_nodes(self) -> None:
        """Let kernels compute what nodes have, and the forces there; the state as an object is then made for what else
        asks for it alone."""
        s, self._by_kernels, self._spots = self._s, set[str](), dict[int, int]()
        if not s.plants:
            return
        mb = s.plants[0].seat.mb
        model = CompiledModel.any_of(mb.layout)
        assert model is not None
        places: dict[Any, list[int]] = {}
        for key, call in s.calls.items():
            if call.native is not None and call.native.kind in OF_NODE:
                frame = call.native.value
                if isinstance(frame.carrier, Body):
                    row = places.setdefault(frame, [-1] * len(OF_NODE))
                    row[OF_NODE.index(call.native.kind)] = self._layout.at[call.slot]
                    self._by_kernels.add(key)
        asked = {slot for key, call in s.calls.items() if key not in self._by_kernels for _, slot in call.reads}
        free = {key for key, call in s.calls.items() if self._forms[call.slot][0] == OBJECT and call.slot not in asked}
        self._by_kernels |= free
        spots: list[Any] = []
        for i, (x, _) in enumerate(s.forces):
            if x.push.node is not None and isinstance(x.push.node[0].carrier, Body):
                self._spots[i] = len(spots)
                spots.append(x.push.node[0])
        frames, pushed = (
            np.array([model.frame(mb.layout, x) for x in some], dtype=np.float64).reshape(-1, 13)
            for some in (places, spots)
        )
        self._made.set_nodes(frames, np.array([*places.values()], np.int64).reshape(-1, len(OF_NODE)), pushed)
        self._weight += _NODE * (len(places) + len(spots))

    def _make(self) -> None:
        s, self._weight = self._s, 0.0
        clocks = [(x.period.numerator, x.period.denominator, x.offset) for x in self._ticks.clocks]
        places = np.array([*self._layout.moved, self._layout.z, self._layout.rates, s.size], dtype=np.int64)
        table = np.array(clocks, dtype=np.int64).reshape(-1, 3)
        self._made = _core.SystemPlan(
            self.slots,
            self.counts,
            places,
            table,
            self._ticks.origin,
            self._layout.nq,
            self._layout.nv,
            self._layout.objects,
        )
        self._set_nodes()
        before, behind = (self._calls(x) for x in s.stage)
        rates = [self._call(x, self._layout.rates + y.start) for x, y in zip(s.rates, s.places, strict=True)]
        pushes = []
        for i, (x, (slot, _)) in enumerate(s.forces):
            at, spot, kind, in_node_axes = self._layout.at[slot], -1, 0, False
            if i in self._spots and x.push.node is not None:
                spot, kind, in_node_axes = self._spots[i], _WRENCHES.index(x.push.node[1]), x.push.node[2]
            elif x.push.spread is not None:
                q, at = (ARRAY, self._view(self._layout.moved[0], (self._layout.nq,))), self._layout.spread[i]
                before.append((x.push.spread, (q, self._argument(slot)), ARRAY, at, (self._layout.nv,), x.name))
                self._weight += _PYTHON
            pushes.append((at, -1 if x.push.number is None else x.push.number, spot, kind, in_node_axes))
        table = np.array(pushes, dtype=np.int64).reshape(-1, 5)
        self._made.set_stage(before, behind, rates, s.reads_vdot, table, self._nominal)
        margins = [self._call(x.call, self._layout.margins + i) for i, x in enumerate(s.watched)]
        directions = np.array([x.direction for x in s.watched], dtype=np.int64)
        self._made.set_crossings(margins, self._layout.margins, directions, self._signs)
        self._recorded, self._shapes = None, None

    def _params_now(self) -> list[Any]:
        return [self._values[slot] for key, slot in self._s.slots.items() if key.endswith(":p")]

    # -- running -----------------------------------------------------------------------------------------------

    @property
    def weight(self) -> float:
        """Cost of a step without the dynamics, relative to the dynamics of one body."""
        return self._weight

    @property
    def motions(self) -> dict[str, int]:
        """Places in the array of the motions that components give, by dof."""
        return {dof: self._layout.at[slot] for dof, slot in self._s.motions.items()}

    def record(self, columns: Sequence[int], late: Sequence[Sequence[Call | Knot]]) -> None:
        """Set the slots that are recorded, and what is computed for that alone."""
        if self._columns == list(columns):
            return
        self._columns, self._late = list(columns), late
        self.width = sum(self._numbers(x) for x in columns)

    def begin(self, shapes: Sequence[str] = ()) -> Any:
        """The plan with the values that Python has now; None where one of them is no number of its kind. `shapes` are
        the names of those that may touch."""
        now = [*self._params_now(), *(x.seat.mb.parameters for x in self._s.plants[:1])]
        if self._made is None or any(a is not b and a != b for a, b in zip(now, self._params, strict=True)):
            self._params = now
            self._make()
        if self._recorded is not self._late:
            if self._recorded is not None:  # a plan holds what it was ever told: another record begins a new one
                self._make()
            ranges = [(self._layout.at[x], self._numbers(x)) for x in self._columns]
            self._made.set_record(*(self._calls(x) for x in self._late), np.array(ranges, np.int64).reshape(-1, 2))
            self._recorded = self._late
        if self._shapes != shapes and self._s.touches:
            touches = [(self._layout.at[self._s.slots[key]], *x.among(shapes)) for key, x in self._s.touches.items()]
            self._made.set_touches(touches)
            self._shapes = shapes
        V = self._values
        try:
            self.slots[self._layout.single_at] = [V[i] for i in self._layout.single]
            for i in self._layout.arrays:
                self.slots[self._layout.at[i] : self._layout.at[i] + self._numbers(i)] = np.asarray(
                    V[i], dtype=np.float64
                ).ravel()
        except (TypeError, ValueError):
            return None
        self.counts[:] = self._ticks.counts
        return self._made

    def end(self) -> None:
        """Let Python have the values as they are now."""
        self._give(self.slots)
        self._ticks.set_counts(self.counts.tolist())

    def _give(self, slots: Array) -> None:
        V = self._values
        for i, x in zip(self._layout.all_single, slots[self._layout.all_single_at].tolist(), strict=True):
            V[i] = x
        for i in self._layout.whole_numbers:
            V[i] = int(V[i]) if self._forms[i][0] == WHOLE and np.isfinite(V[i]) else bool(V[i])
        for i in self._layout.all_arrays:
            shape = self._forms[i][1]
            V[i] = slots[self._layout.at[i] : self._layout.at[i] + self._numbers(i)].reshape(shape).copy()

    def fault(self, raised: BaseException | None) -> BaseException | None:
        """Error that stopped the last step, named from the values at that point: equations are not called again, as
        those that talk to another process must not be. None if the step is to be taken in Python, which raises the
        error."""
        if isinstance(raised, SoacraftError) or (raised is not None and not isinstance(raised, Exception)):
            return raised
        plan, wrong = self._made, self._made.wrong
        if plan.edited:
            return edited(plan.failed, self._s.plants)
        call = self._named.get(plan.failed) if raised is not None else None
        if not len(wrong) or (call is None and plan.spoilt is None):
            return None
        saved = self._values.copy()
        try:
            self._give(wrong)
            if call is not None and raised is not None:
                return self._tell.message(call, failure(raised))
            due = self._ticks.due_at(self._clocks(plan.spoilt)) if plan.spoilt else None
            updates = [] if due is None else due.updates
            self._tell.blame(updates, [self._fresh_of(x, wrong) for x in updates])
        except SoacraftError as found:
            return found
        finally:
            self._values[:] = saved
        return None

    def _fresh_of(self, call: Call, slots: Array) -> Any:
        """Value that an update returned."""
        at, shape = self._layout.fresh[call.key], self._forms[call.slot][1]
        value = slots[at : at + self._numbers(call.slot)].reshape(shape)
        return value.copy() if shape else value.item()

    def _clocks(self, which: int) -> tuple[int, ...]:
        return tuple(i for i in range(len(self._ticks.clocks)) if which >> i & 1)

    def learn(self, which: int) -> None:
        """Tell the plan what happens where some clocks tick together, the bits of a number."""
        due = self._ticks.due_at(self._clocks(which))
        streams: list[tuple[Any, ...]] = []
        for slot, stream, clock in due.streams:
            take: Callable[[int], Any] = stream.at
            streams.append(
                (take, ((COUNT, clock),), self._forms[slot][0], self._layout.at[slot], self._forms[slot][1], "")
            )
        before, behind = (self._calls(x) for x in due.calls)
        updates = [self._call(x, self._layout.fresh[x.key]) for x in due.updates]
        outputs = [(self._layout.at[x], self._numbers(x)) for x in due.output_slots]
        fresh = [(self._layout.fresh[x.key], self._numbers(x.slot), self._layout.at[x.slot]) for x in due.updates]
        tables = (np.array(x, np.int64).reshape(-1, n) for x, n in ((outputs, 2), (fresh, 3)))
        self._made.add_due(which, [*streams, *before], behind, due.reads_vdot, updates, *tables)

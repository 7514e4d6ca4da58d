"""The schedule of a system: every value has a slot, every equation is a function with the slots it reads and writes.

It is made once from the wiring; a run only walks through its lists. What depends on the accelerations of the plant
comes behind them, the rest before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from soacraft.errors import AlgebraicLoopError, WiringError, near
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.components.declarations import Continuous, Crossing, Equation, OfState, Signal, as_value
from soacraft.sim.systems.plants.inertias import OF_INERTIA, inertia_at, require_inertia
from soacraft.sim.systems.plants.plant import Plant
from soacraft.sim.systems.plants.reactions import REACTIONS, Closing, Touch, closure_of, of_loop, touch_of
from soacraft.sim.systems.running.calls import OF_NODE, Call, Jump, Knot, Native, Place, Ticking, Watched, made
from soacraft.sim.systems.running.clocks import Clock
from soacraft.sim.systems.running.edited import unedited
from soacraft.sim.systems.running.kinds import checked
from soacraft.sim.systems.running.noise import Stream
from soacraft.sim.systems.running.order import in_order, upstream
from soacraft.sim.systems.wiring import Contribution, Link, Part, Wiring
from soacraft.spatial.checks import Array


class Schedule:
    """Slots, calls in order, and what is needed when."""

    def __init__(
        self, parts: Mapping[str, Part], plants: Mapping[str, Plant], wiring: Wiring, tears: Sequence[str], seed: int
    ) -> None:
        self._parts, self._wiring, self._seed = parts, wiring, seed
        self.plants = [plants[path] for path in sorted(plants)]
        self.vdots = {x.vdot for x in self.plants}
        """Accelerations: those of all plants are solved for at once."""
        self.values: list[Any] = [0.0]
        self.slots: dict[str, int] = {"t": 0}
        self.calls: dict[str, Call] = {}
        self.needs: dict[str, set[str]] = {}
        self.ticking: list[Ticking] = []
        self._updates_need: dict[str, set[str]] = {}
        self.closing = Closing()
        self.inertias: dict[int, Callable[[], Any]] = {}
        """Slots of masses, centres and moments of bodies, and what gives them as the model has them now."""
        self.touches: dict[str, Touch] = {}
        """Contacts that are asked for, by key: they are held from step to step."""
        self.breaking = {f"{x.path}:p": x.component for _, x in sorted(parts.items()) if x.active and x.clock is None}
        """Components between ticks, which may jump by themselves, by the keys of their parameters."""
        self._place_states()
        self._place_plant()
        for key, signal in sorted(wiring.sources.items()):
            self._slot(key, as_value(signal.dtype(0), signal, key))  # what a sampled output holds before its first tick
        for path in sorted(parts):
            self._place_part(parts[path])
        self.outputs = {key: x for key, x in wiring.sources.items() if key.rsplit(".", 1)[0] in parts}
        """Signals of the outputs of components."""
        self.forces = [(x, self.linked(x.link)) for x in wiring.contributions]
        """Contributions, with the slot and the key of what gives each."""
        for key in self.vdots:
            self.needs[key] = {x for _, (_, x) in self.forces if x}
        of_rates = self._read_equations()
        motions = {dof: self.linked(link) for dof, link in sorted(wiring.motions.items())}
        self.motions = {dof: slot for dof, (slot, _) in motions.items()}
        """Slots of the motions that are given, by dof."""
        masses = {body: self.linked(link) for body, link in sorted(wiring.masses.items())}
        self.masses = {body: slot for body, (slot, _) in masses.items()}
        """Slots of the masses that are given, by body."""
        links = [*(x for _, x in self.forces), *motions.values(), *masses.values()]
        wanted = of_rates | {key for _, key in links if key}
        self.order, self.knots = self._ordered(tears)
        self._behind = self.downstream(self.vdots)
        self._derive()
        self._refuse_feedback(motions)
        for body, (_, key) in masses.items():
            if key in self._behind:
                raise WiringError(
                    f"the mass of {body!r} depends at once on accelerations, which depend on it: give it by a state, "
                    "or by a sampled component."
                )
        self.stage = self.select(wanted)
        self.reads_vdot = not self.vdots.isdisjoint(upstream(of_rates, self.needs))

    # -- slots -------------------------------------------------------------------------------------------------

    def _slot(self, key: str, value: Any = 0.0) -> int:
        if key not in self.slots:
            self.slots[key] = len(self.values)
            self.values.append(value)
        return self.slots[key]

    def _place_states(self) -> None:
        """Continuous states first numbers, whose slots are in a row, then arrays; discrete ones behind them."""
        flat: list[tuple[str, Part, Continuous]] = []
        for path in sorted(self._parts):
            part = self._parts[path]
            flat += [(f"{path}.{n}", part, x) for n, x in part.component.interface.continuous.items()]
        flat.sort(key=lambda x: (len(x[1].signal(x[2].name).shape) > 0, x[0]))
        self.places: list[Place] = []
        start: list[Any] = []
        at = 0
        for key, part, x in flat:
            shape, first = part.signal(x.name).shape, x.first(part.component.p, part.sizes)
            self.places.append(Place(key, self._slot(key, first), at, shape, x.nominal))
            start.append(np.ravel(first))
            at += int(np.prod(shape))
        self.size = at
        self.start = np.concatenate([np.zeros(0), *start])
        self.discrete: dict[str, int] = {}
        """Slots of discrete states."""
        for path in sorted(self._parts):
            part = self._parts[path]
            for name, y in part.component.interface.discrete.items():
                self.discrete[f"{path}.{name}"] = self._slot(f"{path}.{name}", y.first(part.component.p, part.sizes))

    def _place_plant(self) -> None:
        """Slots of arrays, one for each plant; behind them those of all elements in a row, as in the model that is
        moved."""
        for name in ("q", "v", "vdot") if self.plants else ():
            sizes = [x.mb.nq if name == "q" else x.mb.nv for x in self.plants]
            for plant, size in zip(self.plants, sizes, strict=True):
                self._slot(f"{plant.path}.{name}", np.zeros(size))
            for plant, size in zip(self.plants, sizes, strict=True):
                first = len(self.values)
                self.values += [0.0] * size
                self.slots |= {f"{plant.path}.{name}[{i}]": first + i for i in range(size)}

    def _place_part(self, part: Part) -> None:
        path, component = part.path, part.component
        self._slot(f"{path}:p", component.p)
        if part.clock is not None:
            self._slot(f"{path}:dt", part.clock.seconds)
        for name, x in component.interface.outputs.items():
            self._add(f"{path}.{name}", part, x, self.slots[f"{path}.{name}"])

    @property
    def idle(self) -> set[str]:
        """The outputs of components that are not active, which hold."""
        parts = [x for x in self._parts.values() if not x.active]
        return {f"{x.path}.{name}" for x in parts for name in x.component.interface.outputs}

    def _add(self, key: str, part: Part, equation: Equation, slot: int) -> None:
        call, needs = self._call(key, part, equation, slot)
        self.calls[key], self.needs[key] = call, needs

    def _call(self, key: str, part: Part, equation: Equation, slot: int) -> tuple[Call, set[str]]:
        reads, needs = [], set()
        for name in equation.arguments:
            at, key_needed = self._argument(part, equation, name)
            reads.append((name, at))
            if key_needed:
                needs.add(key_needed)
        if not part.active:
            return self._idle(key, part, equation, slot), set()
        native = None if equation.twin is None else Native("twin", equation.twin)
        plain = checked(equation.function, _signal(part, equation))
        function = plain if native is not None else unedited(plain, key, self.plants)
        return made(function, tuple(reads), slot, key, native, plain), needs

    def _idle(self, key: str, part: Part, equation: Equation, slot: int) -> Call:
        """An equation of a component that is not active: outputs and states hold, and nothing crosses."""
        if equation.kind == "crossing":
            return made(lambda: 1.0, (), slot, key)
        if equation.kind == "rate":
            none = np.zeros_like(self.values[slot]) if isinstance(self.values[slot], np.ndarray) else 0.0
            return made(lambda: none, (), slot, key)
        return made(lambda now: now, (("now", slot),), slot, key)

    def _argument(self, part: Part, equation: Equation, name: str) -> tuple[int, str]:
        """The slot of an argument, and the key of what must be evaluated before, if any."""
        if name == "t":
            return 0, ""
        if name in ("p", "dt"):
            return self.slots[f"{part.path}:{name}"], ""
        if name == "noise":
            return self._slot(f"{part.path}.{equation.name}:noise", 0.0), ""
        face, key = part.component.interface, f"{part.path}.{name}"
        if name in face.outputs:
            return self.slots[key], key
        if name not in face.inputs:
            return self.slots[key], ""
        if key in self._wiring.links:
            return self.linked(self._wiring.links[key])
        signal, default = part.signal(name), self._wiring.holds.get(key, face.inputs[name].default)
        value = as_value(signal.dtype(0) if default is None else default, signal, f"the default of {key!r}")
        return self._slot(f"{key}:default", value), ""

    def linked(self, link: Link) -> tuple[int, str]:
        """The slot of what fills an input, and its key. Elements and other units are calls of their own."""
        key, slot = link.source, self.slots[link.source]
        free = any(key in (x.q, x.v) for x in self.plants)
        if link.element is not None:
            element = f"{key}[{link.element}]"
            if free or key in self.vdots:
                slot, key = self.slots[element], key
            else:
                i = link.element
                slot = self._slot(element)
                if key not in self.calls:
                    self._measured(key)
                if element not in self.calls:
                    self.calls[element] = made(
                        lambda a: a.item(i), ((key, self.slots[key]),), slot, element, Native("element", i)
                    )
                    self.needs[element] = {key}
                key = element
        elif not free and key not in self.calls and key not in self.vdots:
            self._measured(key)
        if link.factor != 1.0:
            factor, scaled = (
                link.factor,
                f"{link.source}{'' if link.element is None else f'[{link.element}]'} x {link.factor:.17g}",
            )
            before = slot
            slot = self._slot(scaled, self.values[before] * factor)
            if scaled not in self.calls:
                self.calls[scaled] = made(
                    lambda a: a * factor, ((key, before),), slot, scaled, Native("scaled", factor)
                )
                self.needs[scaled] = set() if free else {key}
            return slot, scaled
        return slot, "" if free else key

    def _measured(self, key: str) -> None:
        """A call for what a frame has; the state is made once for all of them."""
        path, _, rest = key.partition(".")
        plant = next((x for x in self.plants if x.path == path), None)
        if plant is None and path not in self._wiring.user_frames:
            return
        port, at = rest[:-1].split("[", 1)
        if plant is not None and port in REACTIONS:
            self._reaction(key, plant, port, at)
            return
        if plant is not None and port in OF_INERTIA:
            self._inertial(key, plant, port, at)
            return
        state = self._state("acceleration" in port)
        reads, needs = [("state", self.slots[state])], {state}
        native = None
        if plant is not None:
            function: Any = plant.measure(port, at)
            native = Native(port, plant.node_frame(port, at)) if port in OF_NODE else None
        else:
            function, ports = self._wiring.frames.measure(port, at, path)
            links = [self.linked(self._wiring.moving[x]) for x in ports]
            reads += [("t", 0), *((x, slot) for x, (slot, _) in zip(ports, links, strict=True))]
            needs |= {x for _, x in links if x}
        self.calls[key] = made(function, tuple(reads), self.slots[key], key, native)
        self.needs[key] = needs

    def _inertial(self, key: str, plant: Plant, port: str, at: str) -> None:
        """A call for mass, centre of mass or moment of a body: held, or of the mass that is given."""
        slot, frame = self.slots[key], plant.node_frame(port, at)
        link = self._wiring.masses.get(require_inertia(key, frame).name)
        if link is not None:
            mass, source = self.linked(link)
            self.calls[key] = made(lambda m: inertia_at(port, frame, m), (("mass", mass),), slot, key)
            self.needs[key] = {source} if source else set()
            return
        self.inertias[slot] = lambda: inertia_at(port, frame)
        self.values[slot] = inertia_at(port, frame)
        self.calls[key] = made(lambda now: now, (("now", slot),), slot, key, Native("scaled", 1.0))
        self.needs[key] = set()

    def _reaction(self, key: str, plant: Plant, port: str, at: str) -> None:
        """A call for the force of a closure, behind the accelerations, or for what a contact holds."""
        slot = self.slots[key]
        if port != "closure_force":
            self.touches[key] = touch_of(plant, port, at)
            held = made(lambda now: now, (("now", slot),), slot, key, Native("scaled", 1.0))
            self.calls[key], self.needs[key] = held, set()
            return
        if ":closing" not in self.calls:
            state = self._state(False)
            reads = ("state", self.slots[state]), ("t", 0)
            self.calls[":closing"] = made(self.closing, reads, self._slot(":closing", None), ":closing")
            self.needs[":closing"] = {state, *self.vdots}
        reads_closing = (("closing", self.slots[":closing"]),)
        self.calls[key] = made(of_loop(closure_of(plant, at)), reads_closing, slot, key)
        self.needs[key] = {":closing"}

    def _state(self, moving: bool) -> str:
        """A call for the state of the model that is moved, with its accelerations where it is `moving`."""
        key = ":motion" if moving else ":state"
        if key not in self.calls:
            names = ("q", "v", "vdot") if moving else ("q", "v")
            count, several = len(names), len(self.plants) > 1
            mb = self.plants[0].seat.mb if self.plants else Multibody("none")

            def state(*parts: Array) -> Any:
                return mb.state(*(np.concatenate(parts[i::count]) for i in range(count)) if several else parts)

            reads = tuple((name, self.slots[name]) for x in self.plants for name in (f"{x.path}.{y}" for y in names))
            self.calls[key] = made(state, reads, self._slot(key, None), key)
            self.needs[key] = set(self.vdots) if moving else set()
        return key

    # -- order -------------------------------------------------------------------------------------------------

    def downstream(self, keys: Collection[str]) -> set[str]:
        """Outputs and all that depend on them, directly or not."""
        users: dict[str, list[str]] = {}
        for name, others in self.needs.items():
            for x in others:
                users.setdefault(x, []).append(name)
        return upstream(keys, users)

    def _ordered(self, tears: Sequence[str]) -> tuple[list[str], list[Knot]]:
        for name in tears:
            if name not in self.calls:
                raise WiringError(f"solve_loop: there is no output {name!r:.80}{near(name, self.calls)}")
        if not tears:
            order, cycle = in_order(self.needs)
            if cycle:
                raise self._loop(cycle)
            return order, []
        tied = upstream(tears, self.needs) & self.downstream(tears)
        if in_loop := sorted(self.vdots & tied):
            raise WiringError(
                f"solve_loop: {in_loop[0]!r} is in the loop of {tears[0]!r}, and accelerations are solved for by the "
                "plant alone; give an output of the loop a state."
            )
        clocks = {self.clock_of(x) for x in tied}
        if len(clocks) > 1:
            raise WiringError(f"solve_loop: the loop of {tears[0]!r} has components of several clocks.")
        cut = {x: self.needs[x] - set(tears) & tied if x in tied else self.needs[x] for x in tied}
        inner, cycle = in_order({x: {y for y in cut[x] if y in tied} for x in tied})
        if cycle:
            raise self._loop(cycle)
        knot = min(tears) + ":loop"
        outer = {x: {knot if y in tied else y for y in others} for x, others in self.needs.items() if x not in tied}
        outer[knot] = set().union(*(self.needs[x] for x in tied)) - tied
        order, cycle = in_order(outer)
        if cycle:
            raise self._loop(cycle)
        at = order.index(knot)
        shapes = tuple(self._wiring.sources[x].shape for x in tears)
        made_of = Knot(knot, tuple(self.calls[x] for x in inner), tuple(self.calls[x] for x in tears), shapes)
        return [*order[:at], *inner, *order[at + 1 :]], [made_of]

    def _refuse_feedback(self, motions: Mapping[str, tuple[int, str]]) -> None:
        """Raise for a motion that depends at once on coordinates or velocities, which it would give."""
        names = {self.slots[key]: key for x in self.plants for key in (x.q, x.v, x.vdot)}
        names |= {at: key for key, at in self.slots.items() if key.partition("[")[0] in names.values()}
        for dof, (slot, source) in motions.items():
            calls = [self.calls[key] for key in upstream([source] if source else [], self.needs) if key in self.calls]
            slots = [slot, *(at for call in calls for _, at in call.reads)]
            read = [names[at] for at in slots if at in names]
            if read:
                raise WiringError(
                    f"the motion of {dof!r} depends at once on {sorted(read)[0]!r}, and a motion is given, not made by "
                    "what moves: let it be a function of time or of states of components, or push by a force."
                )

    def _loop(self, cycle: list[str]) -> AlgebraicLoopError:
        lines = []
        for i, key in enumerate(cycle):
            call = self.calls.get(key)
            reads = ", ".join(name for name, _ in call.reads) if call is not None else "all forces"
            lines.append(f"     {key} = f({reads})  ->  {cycle[(i + 1) % len(cycle)]}")
        error = AlgebraicLoopError(
            "outputs depend on each other in a cycle, at one instant:\n" + "\n".join(lines) + "\n"
            "     Give one of them a state (sim.LowPass, sim.UnitDelay, or a rate), or let Newton's method "
            f"solve it: s.solve_loop({cycle[0]!r})."
        )
        error.cycle = tuple(cycle)
        return error

    def clock_of(self, key: str) -> Clock | None:
        """The clock of the component that an output is of; None where it is continuous."""
        part = self._parts.get(key.rsplit(".", 1)[0]) if key in self._wiring.sources else None
        return None if part is None else part.clock

    # -- what is needed when -----------------------------------------------------------------------------------

    def _read_equations(self) -> set[str]:
        """Rates, crossings, jumps and updates; what rates, crossings and jumps need."""
        rates, watched = [], []
        for path in sorted(self._parts):
            part = self._parts[path]
            face = part.component.interface
            for name, x in face.rates.items():
                rates.append((f"{path}.{name}", *self._call(f"{path}.{x.name}", part, x, self.slots[f"{path}.{name}"])))
            for name, y in sorted(face.crossings.items()):
                key = f"{path}.{name}"
                call, needs = self._call(key, part, y, 0)
                jumps = [self._jump(part, z) for z in face.jumps if z.at is y]
                watched.append(
                    (Watched(call, y.direction, tuple(x for x, _ in jumps)), needs.union(*(n for _, n in jumps)))
                )
            if part.clock is not None:
                made_here = []
                for name, z in sorted(face.updates.items()):
                    call, needs = self._call(f"{path}.{z.name}", part, z, self.slots[f"{path}.{name}"])
                    made_here.append(call)
                    self._updates_need.setdefault(path, set()).update(needs)
                self.ticking.append(self._tick_of(part, tuple(made_here)))
        for key, (link, condition) in sorted(self._wiring.conditions.items()):
            slot, need = self.linked(link)
            call = made(condition.beyond, (("now", slot),), 0, key)
            watched.append((Watched(call, condition.direction, ()), {need} if need else set()))
        by_key = {key: call for key, call, _ in rates}
        self.rates = [by_key[x.key] for x in self.places]
        self.watched = [x for x, _ in watched]
        return set().union(*(n for _, _, n in rates), *(n for _, n in watched))

    def _derive(self) -> None:
        """Elements of sampled outputs, and these in other units, change where those do: they belong to them."""
        owners = {key: x.path for x in self.ticking for key in x.outputs}
        for key in self.order:
            if key not in self._wiring.sources and key in self.calls and len(self.needs[key]) == 1:
                (source,) = self.needs[key]
                if source in owners:
                    owners[key] = owners[source]
        outputs: dict[str, set[str]] = {}
        for key, path in owners.items():
            outputs.setdefault(path, set()).add(key)
        self.ticking = [x._replace(outputs=frozenset(outputs.get(x.path, ()))) for x in self.ticking]

    def _jump(self, part: Part, equation: Any) -> tuple[Jump, set[str]]:
        key = f"{part.path}.{equation.state.name}"
        call, needs = self._call(f"{part.path}.{equation.name}", part, equation, self.slots[key])
        return Jump(call, next((x for x in self.places if x.key == key), None)), needs

    def _tick_of(self, part: Part, updates: tuple[Call, ...]) -> Ticking:
        face, path = part.component.interface, part.path
        streams = []
        for x in [*face.outputs.values(), *face.updates.values()]:
            if "noise" in x.arguments:
                of = x.name if x.kind == "output" else x.state.name  # type: ignore[attr-defined]
                shape, slot = part.signal(of).shape, self.slots[f"{path}.{x.name}:noise"]
                streams.append((slot, Stream(self._seed, f"{path}.{x.name}", shape)))
                self.values[slot] = np.zeros(shape) if shape else 0.0
        assert part.clock is not None
        return Ticking(path, part.clock, frozenset(f"{path}.{n}" for n in face.outputs), updates, tuple(streams))

    def select(self, wanted: Collection[str], due: Collection[str] = ()) -> tuple[list[Call | Knot], list[Call | Knot]]:
        """The calls that give what is wanted, in order, before and behind the accelerations: of continuous components,
        and of sampled ones whose paths are due; what others hold is there."""
        due = set(due)
        held = {x for y in self.ticking for x in y.outputs if y.path not in due}
        needed, todo = set(), [x for x in wanted if x not in held]
        while todo:
            key = todo.pop()
            if key not in needed:
                needed.add(key)
                todo += [x for x in self.needs.get(key, ()) if x not in needed and x not in held]
        before: list[Call | Knot] = []
        behind: list[Call | Knot] = []
        tied = {call.key: knot for knot in self.knots for call in knot.calls}
        for key in self.order:
            if key not in needed or key in self.vdots:
                continue
            calls: list[Call | Knot] = behind if key in self._behind else before
            one = tied.get(key, self.calls[key])
            if one not in calls[-1:]:
                calls.append(one)
        return before, behind

    def at_tick(self, due: Collection[str]) -> tuple[list[Call | Knot], list[Call | Knot], bool]:
        """Calls of a tick of these components, and whether it needs the accelerations."""
        wanted: set[str] = set()
        due = set(due)
        for x in self.ticking:
            if x.path in due:
                wanted |= x.outputs | self._updates_need.get(x.path, set())
        before, behind = self.select(wanted, due)
        return before, behind, bool(behind) or not self.vdots.isdisjoint(wanted)

    @property
    def contributions(self) -> list[Contribution]:
        """The forces on the plant, in the order of their names."""
        return [x for x, _ in self.forces]


def _signal(part: Part, equation: Equation) -> Signal:
    """Declared value of an equation: of a rate numbers of the shape of the state, of a crossing one number."""
    if isinstance(equation, OfState):
        signal = part.signal(equation.state.name)
        return signal._replace(dtype=float) if equation.kind == "rate" else signal
    return Signal((), None, None, float) if isinstance(equation, Crossing) else part.signal(equation.name)

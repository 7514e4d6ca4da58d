"""Equations of the components of a batch, read once: which of them give what is wanted, and in which order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from soacraft.sim.campaigns.batches.lanes import Lane, Lanes
from soacraft.sim.systems.running.order import in_order, upstream
from soacraft.sim.systems.system import System


class Ticks:
    """Ticks of the sampled components of a system that starts at a nanosecond."""

    def __init__(self, system: System, start: int) -> None:
        parts = system.diagram.parts
        self._clocks = {path: x for path, part in sorted(parts.items()) if (x := part.clock) is not None}
        self._start = start
        self.counts = dict.fromkeys(self._clocks, 0)
        """The number of the next tick of each,"""
        self.dues = {path: x.at(0) + start for path, x in self._clocks.items()}
        """and its nanosecond."""

    def due(self, now: int) -> list[str]:
        """Components that tick now."""
        return [path for path, when in self.dues.items() if when == now]

    def done(self, due: Sequence[str]) -> None:
        """Count a tick of some components."""
        for path in due:
            self.counts[path] += 1
            self.dues[path] = self._clocks[path].at(self.counts[path]) + self._start


class LaneCrossing(NamedTuple):
    """A crossing of a component, its function, and what jumps there."""

    key: str
    direction: int
    margin: Lane
    jumps: list[Lane]


class Selection(NamedTuple):
    """Outputs before and behind the accelerations, in order, and whether these are needed."""

    before: list[Lane]
    behind: list[Lane]
    accelerations: bool


@dataclass(frozen=True)
class LaneEquations:
    """Outputs by key, rates, next values and held outputs by component, crossings; what needs what."""

    outputs: Mapping[str, Lane]
    rates: Sequence[Lane]
    updates: Mapping[str, Sequence[Lane]]
    held: Mapping[str, set[str]]
    crossings: Sequence[LaneCrossing]
    vdots: set[str]
    needs: Mapping[str, set[str]]
    order: Sequence[str]
    behind: set[str]

    def select(self, wanted: Iterable[str], due: Sequence[str] = ()) -> Selection:
        """Outputs that give what is wanted; those of sampled components are held, but where a tick is due."""
        held = {x for path, keys in self.held.items() if path not in due for x in keys}
        needed, todo = set(), [x for x in wanted if x not in held]
        while todo:
            key = todo.pop()
            if key not in needed:
                needed.add(key)
                todo += [x for x in self.needs.get(key, ()) if x not in needed and x not in held]
        lanes = [self.outputs[x] for x in self.order if x in needed and x in self.outputs]
        behind = [x for x in lanes if x.key in self.behind]
        return Selection([x for x in lanes if x.key not in self.behind], behind, bool(needed & self.vdots))

    @property
    def jumped(self) -> set[str]:
        """States that jump at crossings."""
        return {x.key for c in self.crossings for x in c.jumps}


def read_equations(lanes: Lanes) -> LaneEquations:
    """The equations of the system of some runs."""
    system, wiring = lanes.system, lanes.system.board.compiled().wiring
    outputs: dict[str, Lane] = {}
    rates: list[Lane] = []
    updates: dict[str, list[Lane]] = {}
    held: dict[str, set[str]] = {}
    crossings: list[LaneCrossing] = []
    for path, part in sorted(system.diagram.parts.items()):
        face = part.component.interface
        for name, x in face.outputs.items():
            outputs[f"{path}.{name}"] = lanes.lane(part, x, name, f"{path}.{name}")
        for name, y in face.rates.items():
            rates.append(lanes.lane(part, y, name, f"{path}.{name}"))
        if part.clock is not None:
            held[path] = {f"{path}.{x}" for x in face.outputs}
            updates[path] = [lanes.lane(part, z, n, f"{path}.{n}") for n, z in face.updates.items()]
        for name, c in sorted(face.crossings.items()):
            jumps = [
                lanes.lane(part, j, j.state.name, f"{path}.{j.state.name}", called=f"{path}.{j.name}")
                for j in face.jumps
                if j.at is c
            ]
            key = f"{path}.{name}"
            crossings.append(LaneCrossing(key, c.direction, lanes.lane(part, c, name, key), jumps))
    vdots = {x.vdot for x in system.diagram.plants.values()}
    needs: dict[str, set[str]] = {key: set(x.needs) for key, x in outputs.items()}
    needs |= {key: {x.link.source for x in wiring.contributions} for key in vdots}
    users: dict[str, list[str]] = {}
    for key, sources in needs.items():
        for source in sources:
            users.setdefault(source, []).append(key)
    order = in_order(needs)[0]
    return LaneEquations(outputs, rates, updates, held, crossings, vdots, needs, order, upstream(vdots, users))

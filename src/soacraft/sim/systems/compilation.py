"""`Compilation`: a diagram with the model that is moved, its wiring, its schedule and its flow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soacraft.errors import AlgebraicLoopError, SoacraftError, WiringError
from soacraft.sim.propagator import Propagator
from soacraft.sim.systems.changes import phases
from soacraft.sim.systems.changes.change import Change
from soacraft.sim.systems.diagram import Diagram
from soacraft.sim.systems.plants.inertias import pull_faults
from soacraft.sim.systems.plants.joined import Joined, joined_solver
from soacraft.sim.systems.running.flow import Flow
from soacraft.sim.systems.running.schedule import Schedule
from soacraft.sim.systems.wiring import Wiring, faults_error


class Compilation(NamedTuple):
    """A diagram that has no fault, compiled."""

    diagram: Diagram
    """The diagram, with the components active that the present phases leave so."""
    joined: Joined
    wiring: Wiring
    schedule: Schedule
    flow: Flow

    @property
    def is_current(self) -> bool:
        """True if the models of the plants have the structure and the parameters of then."""
        return not (self.joined.edited or self.joined.stale)


class Build(NamedTuple):
    """Present form of a system: its description, the compiled form, the propagator of its runs and the changes so far.
    One value, so that a change is one assignment."""

    diagram: Diagram
    compilation: Compilation | None = None
    propagator: Propagator | None = None
    changes: tuple[Change, ...] = ()


def compile_diagram(
    name: str, diagram: Diagram, seed: int, before: Build, joined: Joined | None = None, names: bool = True
) -> Compilation:
    """Compile a diagram, or raise `WiringError` with every fault. `before` is the present system: names that its
    sequences and pulls lack already are no new fault, and are not checked if the structure changes (`names` False).
    `joined` is the model that is moved, if that stays the same."""
    diagram = phases.with_active(diagram)
    try:
        joined = joined or Joined(name, diagram.plants)
        joined_solver(diagram.plants)
    except WiringError as wrong:
        raise faults_error(name, [str(wrong)]) from wrong
    parts, plants = diagram.parts, diagram.plants
    looked_for = phases.conditions(diagram)
    wiring = Wiring(parts, plants, diagram.wires, diagram.exports, diagram.frames, diagram.holds, looked_for)
    faults = [*wiring.faults, *(_of_names(diagram, before, wiring) if names else ())]
    kind: type[WiringError] = WiringError
    cycle: tuple[str, ...] = ()
    try:
        flow = Flow(Schedule(parts, plants, wiring, diagram.tears, seed))
        if not faults:
            faults += flow.trial(np.array(joined.mb.q), np.array(joined.mb.v))
    except AlgebraicLoopError as wrong:
        kind, cycle = (AlgebraicLoopError if not faults else WiringError), wrong.cycle
        faults.append(str(wrong))
    except (SoacraftError, KeyError) as wrong:  # a KeyError follows from faults that are listed
        if not faults or isinstance(wrong, SoacraftError):
            faults.append(str(wrong))
    if faults:
        error = faults_error(name, faults, kind)
        error.unfilled = wiring.unfilled
        if isinstance(error, AlgebraicLoopError):
            error.cycle = cycle
        raise error
    schedule = Schedule(parts, plants, wiring, diagram.tears, seed)  # a new one, which no trial has changed
    flow = Flow(schedule)
    for key, value in diagram.starts.items():
        flow.set_state(key, value)
    return Compilation(diagram, joined, wiring, schedule, flow)


def _of_names(diagram: Diagram, before: Build, wiring: Wiring) -> list[str]:
    """Faults of what sequences name, in phases to come as well, and of what pulls the bodies of plants."""
    edited, old = any(x.plant for x in before.changes), before.diagram
    begun = before.propagator is not None
    if begun and diagram.parts.keys() == old.parts.keys() and diagram.sequences == old.sequences:
        return []
    resumed = not begun and bool(before.changes or diagram.phases or diagram.stopped)  # from a checkpoint
    lacking = set(phases.faults(old)) if begun else set()
    faults = [] if resumed else [x for x in phases.faults(diagram) if x not in lacking]
    if not (begun or resumed) and diagram.sequences:
        later = phases.later_conditions(diagram)
        tried = Wiring(
            diagram.parts, diagram.plants, diagram.wires, diagram.exports, diagram.frames, diagram.holds, later
        )
        faults += [x for x in dict.fromkeys(tried.faults) if x not in wiring.faults]
    return faults if edited else faults + pull_faults(diagram.parts, diagram.plants)

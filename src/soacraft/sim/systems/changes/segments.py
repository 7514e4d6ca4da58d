"""Sequences at work: when a phase ends, and what happens where the next one begins.

The present phases are plain data of the diagram: `diagram.phases`, {path: (phase, nanosecond)}.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft.errors import SimulationError, SoacraftError, WiringError, near
from soacraft.late import higher
from soacraft.sim.clock import nanoseconds
from soacraft.sim.events import Happened
from soacraft.sim.runs.outputs import Keeping
from soacraft.sim.runs.run import Run
from soacraft.sim.systems.changes.phases import event_name
from soacraft.sim.systems.changes.sequence import MOST, WIRES, Action, Transition

if TYPE_CHECKING:
    from soacraft.sim.systems.system import System


def advance(
    system: System, t: float, until: str | None, keeping: Keeping, how: tuple[Any, bool, float | None, str]
) -> Run:
    """Advance to a time, or to an event or the beginning of a phase ("mission.landed"). Returns the last segment, which
    refers to those before; they go into one log."""
    goal, runs, happened, place = nanoseconds(t, "t"), list[Run](), list[Happened](), keeping.goes_on
    wanted = [] if until is None or _is_phase(system, until) else [until]
    try:
        if (
            not system.board.is_begun and goal >= system.board.start
        ):  # what holds at the start is known after the first tick
            system.advance(system.board.start / 1e9, Keeping(), None, how[0], False, None, "catch_up")
        if system.board.is_begun and not system.take_up():  # in the middle of a run nothing is due
            _step(system, "", happened)
        if place is not None and place.ended and system.board.ns == goal and not happened:
            keeping.log = None  # it has this run to its end: the process was killed after the last checkpoint
        while not runs or system.board.ns < goal:
            stops, due = _stops(system)
            run = system.advance(min([goal, *due]) / 1e9, _segment(system, keeping, runs), [*wanted, *stops], *how)
            run.events[:0] = happened
            happened.clear()
            runs.append(run)
            before = {path: _phase(system, path) for path in system.diagram.sequences}
            count = len(run.events)
            fired = _step(system, run.stopped_by, run.events)
            if keeping.log is not None:
                keeping.log.note(run.events[count:])
            after = {path: _phase(system, path) for path in before}
            entered = [f"{path}.{after[path][0]}" for path in before if after[path] != before[path]]
            if until in [run.stopped_by, *entered] or (run.stopped_by and not fired):
                break
        if keeping.write is not None:
            if keeping.log is not None:
                place = keeping.log.place._replace(ended=True)
            keeping.write(system.board.moved().state(), place)
    finally:
        if keeping.log is not None:
            keeping.log.close()
    last = runs[-1]
    last.follow(runs[:-1])
    return last


def _segment(system: System, keeping: Keeping, runs: list[Run]) -> Keeping:
    """Log and checkpoints of the next segment: the same log, in which another segment may follow."""
    keeping.stays_open = True
    if runs:
        keeping.goes_on = None
        keeping.documents = {} if keeping.log is None else higher("system_documents")(system)
    return keeping


def _phase(system: System, path: str) -> tuple[str, int]:
    """The present phase of a sequence, and the nanosecond at which it began."""
    return system.diagram.phases.get(path) or (system.diagram.phase(path), system.board.start)


def _is_phase(system: System, text: str) -> bool:
    path, _, name = text.rpartition(".")
    return path in system.diagram.sequences and name in system.diagram.sequences[path].phases


def _stops(system: System) -> tuple[list[str], list[int]]:
    """The events and the nanoseconds at which a phase may end."""
    names, due = [], []
    for path in sorted(system.diagram.sequences):
        name, since = _phase(system, path)
        for x in system.diagram.sequences[path].leaving(name):
            if x.after is not None:
                due.append(since + nanoseconds(x.after, "after"))
            else:
                names.append(x.on or event_name(path, x))
    return names, due


def _step(system: System, event: str, happened: list[Happened]) -> bool:
    """Take all transitions that are due now, one after the other; whether there were any."""
    count = 0
    while (due := _due(system, event)) is not None:
        path, transition = due
        count += 1
        if count > MOST:
            raise SimulationError(
                f"more than {MOST} transitions at t = {system.t:.9g} s: {transition.source!r} -> {transition.target!r} "
                f"of {path!r} and others follow each other without end. Let a condition be false where its phase "
                "begins."
            )
        happened.append(_enter(system, path, transition))
        event = ""
    return count > 0


def _due(system: System, event: str) -> tuple[str, Transition] | None:
    values: dict[str, float] | None = None
    board = system.board
    for path in sorted(system.diagram.sequences):
        name, since = _phase(system, path)
        for x in system.diagram.sequences[path].leaving(name):
            if event and event in (x.on, event_name(path, x)):
                return path, x
            if x.after is not None and board.is_begun and board.ns >= since + nanoseconds(x.after, "after"):
                return path, x
            condition = system.diagram.sequences[path].condition(x)
            if condition is not None:
                values = _values(system) if values is None else values
                if condition.direction * condition.beyond(values[event_name(path, x)]) >= 0.0:
                    return path, x
    return None


def _values(system: System) -> dict[str, float]:
    """Present values of the signals of all conditions."""
    x = system.board.compiled()
    system.state_now()
    return {name: float(x.flow.signal(link)) for name, (link, _) in x.wiring.conditions.items()}


def _enter(system: System, path: str, transition: Transition) -> Happened:
    """Begin a phase: its components become active, then its actions are done."""
    now = system.board.compiled()
    mb, diagram = now.joined.mb, now.diagram
    q, v = np.array(mb.q), np.array(mb.v)
    system.board.switch(diagram.changed(phases={**diagram.phases, path: (transition.target, system.board.ns)}))
    actions = system.diagram.sequences[path].actions.get(transition.target, ())
    for wires, group in groupby(actions, lambda x: x.do in WIRES):
        together = list(group)
        for acts in [together] if wires else [[x] for x in together]:
            try:
                do_actions(system, acts)
            except SoacraftError as wrong:
                raise SimulationError(
                    f"the action {acts[0].do!r} of phase {transition.target!r} of {path!r} failed at "
                    f"t = {system.t:.9g} s: {wrong}"
                ) from wrong
    return Happened(system.t, f"{path}: {transition.source} -> {transition.target}", q, v)


def do_actions(system: System, acts: list[Action]) -> None:
    """Do actions that belong together: connections are changed at once."""
    if len(acts) == 1:
        _do(system, acts[0])
        return
    with system.edit():
        for act in acts:
            _do(system, act)


def _do(system: System, act: Action) -> None:
    if act.do == "set":
        settings: Any = system.params if act.name in [*system.params] else system.states
        settings[act.name] = act.value
        return
    if act.do in WIRES:
        getattr(system, act.do)(act.source, act.target)
        return
    plants = system.diagram.plants
    if act.plant not in plants:
        raise WiringError(f"there is no plant {act.plant!r:.60}{near(act.plant, plants)}")
    more: dict[str, Any] = {} if act.do in ("detach", "remove") else {"parent": act.parent}
    if act.do in ("attach", "capture"):
        more["hinge"] = act.hinge
    getattr(plants[act.plant], act.do)(act.body, mounted=act.mounted, **more)

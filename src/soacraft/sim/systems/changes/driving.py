"""Sequences at work: which components are active, when a phase ends, and what is done where the next one begins.

Where a system is in its sequences is plain data in `system._extra`: {"phases": {path: [phase, nanosecond]}, "stopped":
[paths]}.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft.errors import SimulationError, SoacraftError, WiringError, near
from soacraft.sim.clock import nanoseconds
from soacraft.sim.events import Happened
from soacraft.sim.patterns import pattern
from soacraft.sim.runs.keeping import Keeping
from soacraft.sim.runs.run import Run
from soacraft.sim.systems.changes import changing
from soacraft.sim.systems.changes.sequence import MOST, Action, Transition
from soacraft.sim.systems.wiring import Condition

if TYPE_CHECKING:
    from soacraft.sim.systems.system import System


def phase(system: System, path: str) -> tuple[str, int]:
    """The phase of a sequence, and the nanosecond at which it began."""
    if path not in system._sequences:
        raise WiringError(f"there is no sequence {path!r:.60}{near(str(path), system._sequences)}")
    kept = system._extra.get("phases", {}).get(path)
    return (system._sequences[path].first, system._start) if kept is None else (str(kept[0]), int(kept[1]))


def named(path: str, transition: Transition) -> str:
    """The name of the event by which a condition becomes true."""
    return f"{path}: {transition.when}"


def conditions(system: System) -> dict[str, Condition]:
    """The conditions on signals that end the present phases, by the names of their events."""
    found = {}
    for path in sorted(system._sequences):
        for x in system._sequences[path].leaving(phase(system, path)[0]):
            condition = system._sequences[path].condition(x)
            if condition is not None:
                found[named(path, x)] = condition
    return found


def set_active(system: System) -> None:
    """Let the components be active that the present phases, and changes of structure, leave so."""
    stopped = set(system._extra.get("stopped", ()))
    patterns = []
    for path, x in system._sequences.items():
        now = phase(system, path)[0]
        patterns.append(([pattern(y, "/") for y in x.named()], [pattern(y, "/") for y in x.phases[now]]))

    def active(path: str) -> bool:
        if path in stopped:
            return False
        return all(
            any(x.matches(path) for x in now) or not any(x.matches(path) for x in every) for every, now in patterns
        )

    system._parts = {path: x._replace(active=active(path)) for path, x in system._parts.items()}


def faults(system: System) -> list[str]:
    """What sequences name and a system does not have; told before it begins."""
    if not system._sequences or system._propagator is not None or system._changes or system._extra:
        return []
    found = []
    crossings = [f"{path}.{name}" for path, x in system._parts.items() for name in x.component.interface.crossings]
    for path, x in sorted(system._sequences.items()):
        for text in sorted(x.named()):
            if not pattern(text, "/").of(system._parts):
                found.append(f"{path!r}: {text!r:.60} is no component{near(text, system._parts)}")
        for y in x.transitions:
            if y.on and y.on not in crossings:
                found.append(f"{path!r}: {y.on!r:.60} is no crossing{near(y.on, crossings)}")
        for acts in x.actions.values():
            for act in acts:
                if act.plant and act.plant not in system._plants:
                    found.append(f"{path!r}: {act.plant!r:.60} is no plant{near(act.plant, system._plants)}")
    return found


def advance(
    system: System, t: float, until: str | None, keeping: Keeping, how: tuple[Any, bool, float | None, str]
) -> Run:
    """On to a time, or to an event or the beginning of a phase ("mission.landed"). The last segment, which knows those
    before; they go into one log."""
    goal, runs, happened = nanoseconds(t, "t"), list[Run](), list[Happened]()
    wanted = [] if until is None or _is_phase(system, until) else [until]
    try:
        if (
            system._propagator is None and goal >= system._start
        ):  # what holds at the start is known after the first tick
            system._advance(system._start / 1e9, Keeping(), None, how[0], False, None, "catch_up")
        if system._propagator is not None and not system._going:  # in the middle of a run nothing is due
            _step(system, "", happened)
        system._going = False
        while not runs or _now(system) < goal:
            stops, due = _stops(system)
            run = system._advance(min([goal, *due]) / 1e9, _segment(system, keeping, runs), [*wanted, *stops], *how)
            run.events[:0] = happened
            happened.clear()
            runs.append(run)
            before = {path: phase(system, path) for path in system._sequences}
            known = len(run.events)
            fired = _step(system, run.stopped_by, run.events)
            if keeping.log is not None:
                keeping.log.note(run.events[known:])
            entered = [f"{path}.{phase(system, path)[0]}" for path in before if phase(system, path) != before[path]]
            if until in [run.stopped_by, *entered] or (run.stopped_by and not fired):
                break
        if keeping.write is not None:
            write, log = keeping.write, keeping.log
            place = None if log is None else log.place._replace(ended=True)
            write(system._moved().state(), place)
    finally:
        if keeping.log is not None:
            keeping.log.close()
    last = runs[-1]
    last._segments = tuple(runs[:-1])
    return last


def _segment(system: System, keeping: Keeping, runs: list[Run]) -> Keeping:
    """What the next segment keeps on the disk: the same log, in which another one may follow."""
    from soacraft.sim.systems.description import documents

    keeping.stays_open = True
    if runs:
        keeping.goes_on = None
        keeping.documents = {} if keeping.log is None else documents(system)
    return keeping


def _is_phase(system: System, text: str) -> bool:
    path, _, name = text.rpartition(".")
    return path in system._sequences and name in system._sequences[path].phases


def _now(system: System) -> int:
    assert system._propagator is not None
    now = system._propagator._runner.now
    return now.ns + (1 if now.rest > 0.0 else 0)


def _stops(system: System) -> tuple[list[str], list[int]]:
    """The events and the nanoseconds at which a phase may end."""
    names, due = [], []
    for path in sorted(system._sequences):
        name, since = phase(system, path)
        for x in system._sequences[path].leaving(name):
            if x.after is not None:
                due.append(since + nanoseconds(x.after, "after"))
            else:
                names.append(x.on or named(path, x))
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
    for path in sorted(system._sequences):
        name, since = phase(system, path)
        for x in system._sequences[path].leaving(name):
            if event and event in (x.on, named(path, x)):
                return path, x
            if (
                x.after is not None
                and system._propagator is not None
                and _now(system) >= since + nanoseconds(x.after, "after")
            ):
                return path, x
            condition = system._sequences[path].condition(x)
            if condition is not None:
                values = _values(system) if values is None else values
                if condition.direction * condition.beyond(values[named(path, x)]) >= 0.0:
                    return path, x
    return None


def _values(system: System) -> dict[str, float]:
    """What the signals of all conditions are now."""
    wiring, _, flow = system._compiled()
    system.state_now()
    return {name: float(flow.signal(link)) for name, (link, _) in wiring.conditions.items()}


def _enter(system: System, path: str, transition: Transition) -> Happened:
    """Begin a phase: its components become active, then its actions are done."""
    _, _, flow = system._compiled()
    since = system._start if system._propagator is None else _now(system)
    mb = system._joined.mb if system._joined is not None else None
    q, v = (np.zeros(0), np.zeros(0)) if mb is None else (np.array(mb.q), np.array(mb.v))
    system._extra["phases"] = {**system._extra.get("phases", {}), path: [transition.target, since]}
    set_active(system)
    changing.restart(system, flow)
    for act in system._sequences[path].actions.get(transition.target, ()):
        try:
            _do(system, act)
        except SoacraftError as wrong:
            raise SimulationError(
                f"the action {act.do!r} of phase {transition.target!r} of {path!r} failed at t = {system.t:.9g} s: "
                f"{wrong}"
            ) from wrong
    return Happened(system.t, f"{path}: {transition.source} -> {transition.target}", q, v)


def _do(system: System, act: Action) -> None:
    if act.do == "set":
        known: Any = system.params if act.name in [*system.params] else system.states
        known[act.name] = act.value
        return
    plant = system._plants[act.plant]
    more = {} if act.do in ("detach", "remove") else {"parent": act.parent, "hinge": act.hinge}
    getattr(plant, act.do)(act.body, mounted=act.mounted, **more)

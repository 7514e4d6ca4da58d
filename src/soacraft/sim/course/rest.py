"""Runs at rest: the model has the state of the run, the run is a `SimState`, and goes on from one."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy

import msgspec
import numpy as np

from soacraft.errors import SoacraftError
from soacraft.sim.clock import Instant
from soacraft.sim.course.callbacks import account, dues
from soacraft.sim.course.start import at_point, rates_of, started
from soacraft.sim.course.state import RunState
from soacraft.sim.course.task import RunParts, RunTask
from soacraft.sim.events import Signs
from soacraft.sim.forces.contact_impulses import as_table, by_names
from soacraft.sim.states.compatibility import Fit
from soacraft.sim.states.sim_state import SimState
from soacraft.sim.stride import StepMemory


def left(parts: RunParts, state: RunState) -> RunState:
    """Let the model have the state of a run; the same with what the next start needs."""
    if not len(state.x) or not parts.acting.is_current:
        return state
    problem = parts.acting.problem
    mb = problem.mb
    q, v, rest = problem.parts(state.x)
    if not problem.components.is_empty and problem.varies:
        with suppress(SoacraftError):  # masses are those of the last stage otherwise, which may not be its own
            problem.place(state.t, state.x)
    mb.set_state(q, v)
    work = dict(zip(problem.names, rest.tolist(), strict=False))  # states of components follow
    if not problem.components.is_empty:
        problem.components.present = problem.carried_of(state.x).copy()
    return msgspec.structs.replace(state, seen=mb.current, work=work)


def checkpointed(task: RunTask, state: RunState) -> RunState:
    """The state after a checkpoint, where one is due: from there the run goes on as one who restores it does."""
    if state.due is None or state.now.ns < state.due or state.now.rest > 0.0:
        return state
    state = saved(task, state, True)
    state = msgspec.structs.replace(state, due=task.keeping.due(state.now.ns))
    return task.show(started(task, state))


def saved(task: RunTask, state: RunState, within: bool) -> RunState:
    """Write a checkpoint; the state that one who restores it begins with."""
    write, log = task.keeping.write, task.keeping.log
    assert write is not None
    task.recorder.flush()
    state = task.show(left(task, state))
    value = sim_state(task, state, within)
    write(value, None if log is None else log.place)
    return task.show(resumed(task, value))


def sim_state(parts: RunParts, state: RunState, within: bool = False) -> SimState:
    """Return a run as a value. The model must have its state (`left`); `within` is True in the middle of a run."""
    problem = parts.acting.begin()
    state = at_point(parts, state, problem)
    rates = state.w if within else rates_of(parts, state)
    q, v, _ = problem.parts(state.x)
    turns, independent, choice = problem.closures.memory
    ticks, held = problem.components.memory()
    return SimState(
        ns=state.now.ns,
        rest=state.now.rest,
        origin=state.steps.origin,
        q=q,
        v=v,
        work=np.array([state.work.get(name, 0.0) for name in problem.names]),
        z=problem.components.present,
        rates=np.zeros(0) if rates is None else rates,
        forces=tuple(problem.names),
        dofs=tuple(problem.mb.dof_names),
        length=state.steps.length,
        longest=state.steps.longest,
        counts=state.steps.counts,
        signs=state.signs.values,
        happened=state.signs.happened,
        events=tuple(x.name for x in parts.watch.events),
        callbacks=tuple((due, x.period) for due, x in zip(dues(parts, state), parts.callbacks, strict=True)),
        closures={name: tuple(x) for name, x in turns.items()},
        independent=None if independent is None else tuple(independent),
        embedding=None if choice is None else (tuple(choice[0]), choice[1]),
        within=within,
        began=problem.contact.began,
        impulses=by_names(problem.contact.impulses_at(state.t), problem.contact.shapes),
        controls=parts.acting.numbers,
        ticks=tuple(ticks),
        held=held,
    )


def resumed(parts: RunParts, value: SimState) -> RunState:
    """Move the model, and what acts on it, to a state; the run there."""
    problem = parts.acting.begin()
    mb = problem.mb
    mb.set_state(value.q, value.v)
    parts.acting.recall(value.controls)
    parts.stride.begin_anew()
    parts.stability.forget()
    problem.closures.recall(value.closures, value.independent, value.embedding)
    problem.contact.recall(value.began)
    problem.contact.begin_with(value.t, as_table(value.impulses, problem.contact.shapes))
    problem.components.recall(value.ticks, {name: deepcopy(x) for name, x in value.held.items()})
    problem.components.present = np.array(value.z)
    problem.displaced()
    acts = account(parts), parts.acting.numbers
    return RunState(
        now=Instant(value.ns, value.rest),
        steps=StepMemory(value.origin, value.length, value.longest, value.counts),
        x=np.concatenate([value.q, value.v, value.work, value.z]),
        signs=Signs(value.signs, happened=value.happened),
        calls=tuple(due for due, _ in value.callbacks),
        seen=mb.current,
        rates=(np.array(value.rates), acts) if len(value.rates) else None,
        work=dict(zip(problem.names, value.work.tolist(), strict=True)),
    )


def fit(parts: RunParts) -> Fit:
    """Return what a state must fit to."""
    problem, numbers = parts.acting.begin(), parts.acting.numbers
    ticks, held = ([], {}) if problem.components.is_empty else problem.components.memory()
    return Fit(
        problem.mb,
        tuple(problem.names),
        tuple(x.name for x in parts.watch.events),
        tuple(x.period for x in parts.callbacks),
        tuple(sorted(numbers)),
        tuple(sorted(set(parts.acting.controls) - set(numbers))),
        len(ticks),
        problem.components.size,
        held,
    )

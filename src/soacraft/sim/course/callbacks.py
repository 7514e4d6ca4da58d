"""Callbacks where steps end, and between compiled steps: the user's functions have the model, and may change it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from soacraft.model.states.state import State
from soacraft.sim.course.state import RunState
from soacraft.sim.course.task import RunParts, RunTask
from soacraft.sim.course.ticks import weighed
from soacraft.sim.visits import Callback as Visited
from soacraft.sim.visits import VisitPlan
from soacraft.spatial.checks import Array


def dues(parts: RunParts, state: RunState) -> tuple[int, ...]:
    """The nanosecond of the next call of each callback; of one that was added since that in which it was added."""
    return (*state.calls, *(x.since for x in parts.callbacks[len(state.calls) :]))


def call_back(task: RunTask, state: RunState) -> RunState:
    """The state after the callbacks that are due now. All have the accelerations at the end of the step, until one of
    them changes more than numbers of controls."""
    w, i = state.w, 0
    while i < len(task.callbacks) and state.now.rest <= 0.0:  # one of them may add another
        due, callback, i = dues(task, state), task.callbacks[i], i + 1
        if due[i - 1] > state.now.ns:
            continue
        calls = (*due[: i - 1], due[i - 1] + callback.period, *due[i:])
        state = task.show(msgspec.structs.replace(state, calls=calls))
        task.recorder.flush()
        masses, values = task.problem.masses, task.watch.values(state.t, state.x)
        acts = account(task)
        state, changed = call(task, state, callback.function, w)
        w = state.w if changed or acts != account(task) else w
        state = weighed(task, state, masses)
        if changed:
            row(task, state)
            state = msgspec.structs.replace(state, signs=task.watch.moved(state.signs, state.t, state.x, values))
    return state


def row(task: RunTask, state: RunState) -> None:
    """Record a state that does not follow from the last step."""
    task.recorder.row(state.t, state.x, state.w)
    task.stability.add(task.problem, np.array([state.t]), state.x[None])


def call(task: RunTask, state: RunState, function: Callable[[float, State], Any], w: Array) -> tuple[RunState, bool]:
    """Call a user's function with the model at the present point with rates w. The state after it, and True where the
    function changed coordinates or velocities."""
    mb, problem = task.acting.mb, task.problem
    task.show(state)
    q, v, _ = problem.parts(state.x)
    mb.set_state(q, v, problem.vdot_of(state.x, w))
    before, acts = mb.current, account(task)
    function(state.t, before)
    same = problem.contact.touches and problem.components.is_empty and acts == account(task)
    return taken_over(task, state, before, w if same else None)


def taken_over(task: RunTask, state: RunState, before: State, w: Array | None = None) -> tuple[RunState, bool]:
    """The state after a user's function had the model, in the state `before`, and True where it changed coordinates or
    velocities. Rates `w` stay where it did not: steps with contact compute their first rates themselves."""
    mb, problem, x, t = task.acting.mb, task.problem, state.x, state.t  # raises where its structure is another now
    changed = not (np.array_equal(mb.q, before.q) and np.array_equal(mb.v, before.v))
    problem.release_functions()  # they may read what it changed
    steps = state.steps
    if changed:
        x = problem.point(np.array(mb.q), np.array(mb.v), problem.parts(x)[2])
        x = problem.begun(t, problem.holds.settle(t, x, ()))
        steps = steps.restarted()
    else:
        x = problem.holds.settle(t, x, ())
    if changed or w is None:
        w = problem.rates(t, x)  # it may also have changed a control, or a parameter of the model
    return task.show(msgspec.structs.replace(state, x=x, w=w, steps=steps)), changed


# -- between compiled steps -------------------------------------------------------------------------------------


def visits_of(task: RunTask, state: RunState) -> tuple[VisitPlan, list[Visited]] | None:
    """The callbacks as visits between compiled steps, and the list in which their next calls go on; None where there is
    none, or steps end at each."""
    acting = task.acting
    if not task.callbacks or task.watch.events or not acting.components.is_empty or task.clock is not None:
        return None
    calls = [(due, x.period, x.function) for due, x in zip(dues(task, state), task.callbacks, strict=True)]
    logged = task.keeping.log is not None  # rows are written before a callback
    return VisitPlan(calls, task.problem.mb, lambda: account(task), task.visit, logged), calls


def visited(task: RunTask, state: RunState, before: State) -> RunState:
    """The state after a visit changed the model, which had the state `before`."""
    values = task.watch.values(state.t, state.x)
    state, changed = taken_over(task, state, before)
    if changed:
        row(task, state)
        state = msgspec.structs.replace(state, signs=task.watch.moved(state.signs, state.t, state.x, values))
    return state


def account(parts: RunParts) -> tuple[object, ...]:
    """Account of what acts and of the model, without the state and the numbers of controls: to be compared with a later
    one."""
    acting, mb = parts.acting, parts.acting.mb
    edits = parts.problem.description.loads, mb.revision, mb.parameters, len(parts.watch.events), len(parts.callbacks)
    forces = [(node, id(wrench)) for node, wrench in mb.acting_forces.items()]
    return edits, forces, acting.prescribed.edition, parts.problem.contact.revision

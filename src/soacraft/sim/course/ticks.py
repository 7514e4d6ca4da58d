"""Ticks of what is carried along, where steps end; the work of masses that jump there."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from soacraft.sim.course.jumps import jumps, turned
from soacraft.sim.course.state import RunState
from soacraft.sim.course.task import RunTask
from soacraft.sim.integrators.steps import Step
from soacraft.sim.problem.mass_work import after_mass_jump
from soacraft.spatial.checks import Array


def tick(task: RunTask, state: RunState, step: Step | None = None) -> RunState:
    """The state after what is carried along had the contacts of the step that ended, and ticked, where it is due;
    crossings that this makes jump at once. After an error it is as it was before."""
    carried = task.acting.components
    if carried.is_empty:
        return state
    problem = task.problem
    due = carried.next_tick == state.now.ns and state.now.rest <= 0.0
    if not due and not _feels(task, step):
        return state
    values = carried.keep()
    try:
        names = [name for name, _ in carried.crossings]
        margins = dict(zip(names, problem.margins(state.t, state.x), strict=True)) if names else {}
        feel(task, step)
        if due:
            problem.tick(state.now.ns, state.t, state.x)
        after = _crossed(task, state, margins) if margins else state
        w = problem.rates(state.t, after.x)
    except BaseException:
        carried.restore(values)
        raise
    return task.show(msgspec.structs.replace(after, w=w, ticked=(state.now.ns, values)))


def _crossed(task: RunTask, state: RunState, before: Mapping[str, float]) -> RunState:
    """The state after jumps of the crossings that a tick made, from the values of their functions before it."""
    carried, problem, x, stopped = task.acting.components, task.problem, state.x, state.stopped
    signs = np.sign(list(before.values())), np.sign(problem.margins(state.t, x))
    names = turned(carried.crossings, *signs)
    if names:
        crossed = {name: float(a) for name, a in zip(before, signs[0], strict=True) if name in names}
        stopped = next((name for name in names if name in task.until), "")
        x, stopped, _ = jumps(task, state, crossed, stopped)
    moved = task.watch.moved(state.signs, state.t, x, before)
    return msgspec.structs.replace(state, x=x, stopped=stopped, signs=moved)


def feel(task: RunTask, step: Step | None) -> None:
    """Let what is carried along have the contacts of a step that was taken, if it asks for them."""
    carried, problem = task.acting.components, task.problem
    if step is None or not _feels(task, step):
        return
    last = problem.contact.steps[-1:]
    touched = last and last[0].t > step.t0 + 1e-9 * step.h  # else nothing was near in it
    carried.feel(last[0] if touched else None, step.h)
    problem.displaced()


def _feels(task: RunTask, step: Step | None) -> bool:
    """True if what is carried along takes the contacts of a step."""
    return step is not None and step.h > 0.0 and task.acting.components.feels


def weighed(task: RunTask, state: RunState, before: Array | None) -> RunState:
    """The state with the work of masses that jumped there, from those `before`; None where none varies."""
    if before is None:
        return state
    return task.show(msgspec.structs.replace(state, x=after_mass_jump(task.problem, state.t, state.x, before)))

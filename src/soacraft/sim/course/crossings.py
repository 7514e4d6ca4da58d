"""Events where steps end: what holds, strikes or jumps there, and the actions of the user, one after the other."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from soacraft.sim.course.callbacks import call, row
from soacraft.sim.course.jumps import jumps
from soacraft.sim.course.state import RunState
from soacraft.sim.course.task import RunTask
from soacraft.sim.course.ticks import weighed
from soacraft.sim.events import Crossing, Happened, with_time


def happen(task: RunTask, state: RunState, crossing: Crossing) -> RunState:
    """The state after the events of an instant; its `stopped` names the one that ends the run."""
    watch, problem, masses = task.watch, task.problem, task.problem.masses
    t, stop, jumped, settled = state.t, "", False, False
    signs = with_time(state.signs, state.now.ns, crossing)
    crossed = {event.name: signs.sign(event.name) for event in crossing.events if event.margin is not None}
    state = msgspec.structs.replace(state, signs=watch.crossed(signs, crossing))
    values = watch.values(t, state.x)
    for event in crossing.events:
        q, v, _ = problem.parts(state.x)
        task.recorder.events.append(Happened(t, event.name, np.array(q), np.array(v)))
        if event.hold is not None and not settled:  # all that begins or ends to hold at this instant
            holds = [y.hold for y in crossing.events if y.hold is not None]
            x = problem.settle(t, problem.holds.settle(t, state.x, holds), True)
            state, jumped, settled = msgspec.structs.replace(state, x=x, w=problem.rates(t, x)), True, True
        if event.action is not None:
            task.recorder.flush()
            state, changed = call(task, state, event.action, state.w)
            jumped = jumped or changed
        stop = stop or (event.name if event.stop or event.name in task.until else "")
    if crossed:
        state, jumped = _crossed(task, state, crossed), True
    state = weighed(task, state, masses)
    if jumped:
        row(task, state)
    moved = watch.moved(state.signs, t, state.x, values if jumped else None)
    return msgspec.structs.replace(state, signs=moved, stopped=stop or state.stopped)


def _crossed(task: RunTask, state: RunState, crossed: Mapping[str, float]) -> RunState:
    """The state after crossings of what is carried along; after an error that is as it was before the jumps."""
    carried, problem = task.acting.components, task.problem
    values = carried.keep()
    try:
        x, stopped, others = jumps(task, state, crossed, state.stopped)
        task.recorder.events += others
        w = problem.rates(state.t, x)
    except BaseException:
        carried.restore(values)
        problem.displaced()
        raise
    return task.show(msgspec.structs.replace(state, x=x, w=w, stopped=stopped, jumped=state.now.ns))

"""`advance`: the loop of a run. It takes the state of a run and gives the one where it ends.

In each turn, in this order: the look of a server, steps, ticks of components, the row, the event that ended the step,
callbacks, the checkpoint. All that happens at one instant sees what came before it there.
"""

from __future__ import annotations

import msgspec
import numpy as np

from soacraft.sim.course.callbacks import call_back
from soacraft.sim.course.crossings import happen
from soacraft.sim.course.rest import checkpointed
from soacraft.sim.course.state import RunState
from soacraft.sim.course.steps import ended, single, walk
from soacraft.sim.course.task import CHANGED, RunTask
from soacraft.sim.course.ticks import feel, tick, weighed


def advance(task: RunTask, state: RunState) -> RunState:
    """Carry a run on to its goal, or to what stops it, which `stopped` of the state names then."""
    # Callbacks that are due where the run begins.
    if task.callbacks:
        state = call_back(task, state)
    taken = 0  # steps since the last look
    while state.now.ns < task.goal:
        # Look. A server answers its clients here; it may end the run, or change values that rates depend on.
        if task.look is not None:
            state = _looked_at(task, state, taken)
            if state.stopped:
                return state

        # Compiled steps, many in one call, up to the next callback, tick that Python takes, or checkpoint; callbacks
        # between steps ("visits") are called from there. Their rows are recorded, ticks of components are in them.
        # Where events are looked for they go as far as the step in which one happens.
        state, taken = walk(task, state)
        if not taken:
            # One step in Python, up to the next stop or to the first event in it. The masses of its end are kept: what
            # jumps there does work.
            step, error, crossing, state = single(task, state)
            taken, masses = 1, task.problem.masses
            state = ended(task, state, step)

            # Clock. A run at the pace of one waits for the end of the step before anything happens there.
            if task.clock is not None:
                task.clock.wait(state.now.ns)

            # Ticks. Components take the contacts of the step and tick, where it ends without an event; crossings that
            # this makes jump at once.
            if crossing is None:
                state = weighed(task, tick(task, state, step), masses)

            # Row: the point and its rates after a tick, and before an event.
            if step.h > 0.0:
                task.recorder.step(step, state.t, None if error is None else error * task.rtol, (state.x, state.w))
                task.stability.add(task.problem, np.array([state.t]), step.x1[None])

            # Event. Those of one instant act one after the other; each jump is another row. A tick at the same
            # instant comes after them.
            if crossing is not None:
                state = happen(task, state, crossing)
                if state.stopped:
                    feel(task, step)
                    return task.show(state)
                masses = task.problem.masses
                state = weighed(task, tick(task, state, step), masses)
            if state.stopped:
                return task.show(state)

        # Callbacks that are due now. What they change is a row.
        if task.callbacks:
            state = call_back(task, state)

        # Checkpoint. The run goes on from it as one does who restores it.
        if state.due is not None:
            state = task.show(checkpointed(task, state))
        if task.bar is not None:
            task.bar.at(state.t)
    return state


def _looked_at(task: RunTask, state: RunState, taken: int) -> RunState:
    """The state after a look: with new rates where it changed values, stopped where it ends the run."""
    assert task.look is not None
    answer = task.look.look(taken)
    if not answer:
        return state
    if answer != CHANGED:
        return msgspec.structs.replace(state, stopped=answer)
    masses = task.problem.masses
    task.problem.displaced()
    w = task.problem.rates(state.t, state.x)
    return weighed(task, msgspec.structs.replace(state, w=w, steps=state.steps.restarted()), masses)

"""Steps of a run: many in one compiled call, or one in Python up to the first event in it."""

from __future__ import annotations

import time

import msgspec

from soacraft.errors import SoacraftError, StaleError
from soacraft.sim.breaks import ALWAYS, window
from soacraft.sim.clock import Instant
from soacraft.sim.course.callbacks import dues, visited, visits_of
from soacraft.sim.course.state import AHEAD, BEFORE_ALL, RunState
from soacraft.sim.course.task import RunParts, RunTask
from soacraft.sim.events import Crossing, Signs
from soacraft.sim.integrators.steps import Step
from soacraft.sim.problem.mass_work import with_mass_work
from soacraft.sim.runs.block import Block
from soacraft.sim.stride import Walked
from soacraft.sim.visits import VisitPlan

#: Seconds after which fewer steps are taken ahead: rows do not wait for long.
_SECONDS = 0.1


def saves(parts: RunParts, state: RunState) -> list[int]:
    """The nanosecond at which the next checkpoint is written, if any: fixed steps are not cut for it."""
    return [] if state.due is None else [parts.stride.end_from(state.steps.origin, state.due)]


# -- one in Python ------------------------------------------------------------------------------------------------


def single(task: RunTask, state: RunState) -> tuple[Step, float | None, Crossing | None, RunState]:
    """A step up to the next stop, or to the first event in it; its error, where it is known, the event, and the state
    at its end, whose rates are those before it."""
    problem, watch, breaks = task.problem, task.watch, task.acting.breaks
    until = _next_stop(task, state, task.goal)
    taken = task.stride.take(problem, state.steps, state.now, state.x, state.w, until, breaks)
    crossing, signs = watch.find(state.signs, taken.step)
    if crossing is not None:
        taken, crossing, signs = task.stride.cut(problem, taken, state.now, crossing, watch, signs, breaks)
    step = with_mass_work(problem, taken.step)
    now = msgspec.structs.replace(state, now=taken.end, x=step.x1, w=step.w1, steps=taken.memory, signs=signs)
    return step, taken.error, crossing, task.show(now)


def ended(task: RunTask, state: RunState, step: Step) -> RunState:
    """The state at the end of a step, with the rates that the next one has there: others where something jumps."""
    problem = task.problem
    problem.holds.require_kept(step.x1)
    span = window(task.acting.breaks, state.now)
    problem.see(span)
    return state if span == ALWAYS else msgspec.structs.replace(state, w=problem.rates(state.t, state.x))


def _next_stop(task: RunTask, state: RunState, goal: int) -> int:
    """The next nanosecond at which a step must end."""
    due = [goal, *dues(task, state), *saves(task, state)]
    tick = task.acting.components.next_tick
    due += [] if tick is None else [tick]
    due += [ns for x in task.acting.breaks if (ns := x.after(state.now.ns)) is not None]
    return task.stride.stop(state.steps.origin, state.now, min(due))


# -- many in one compiled call ------------------------------------------------------------------------------------


def walk(task: RunTask, state: RunState) -> tuple[RunState, int]:
    """The state after compiled steps, whose rows are recorded, and how many they were; 0 where the next step is to be
    taken in Python."""
    visits = visits_of(task, state) if task.callbacks else None
    if visits is not None:
        task.recorder.flush()  # before a callback changes a parameter of the model
    plan, calls = (None, []) if visits is None else visits
    try:
        after, walked = _walk(task, state, plan)
    finally:
        if visits is not None:
            task.visit[0] = BEFORE_ALL
            state = task.show(msgspec.structs.replace(state, calls=tuple(x[0] for x in calls)))
    if visits is not None or walked.block is None:
        after = task.show(msgspec.structs.replace(after, calls=state.calls))
    block, before = walked.block, None if plan is None else plan.before
    if block is None and before is None:
        return after, 0
    problem, breaks = task.acting.problem, task.acting.breaks
    if block is not None:
        task.stability.add(problem, block.ns[1:] / 1e9, block.x[1:])
    if walked.raised is not None:
        raise walked.raised
    problem.see(window(breaks, after.now) if breaks else ALWAYS)
    return after if before is None else visited(task, after, before), 1 if block is None else len(block.ns) - 1


def _walk(task: RunTask, state: RunState, visits: VisitPlan | None) -> tuple[RunState, Walked]:
    """The state after the steps of one compiled call, and these, which are recorded; no steps where events other than
    the crossings of components are looked for, or functions jump."""
    problem, carried = task.acting.problem, task.acting.components
    if state.now.ns < state.doubtful or (task.clock is not None and carried.is_empty):
        return state, Walked(None, state.steps)
    asks = bool(task.watch.events) and task.watch.asks_functions
    names = [] if carried.is_empty else [name for name, _ in carried.crossings]
    if task.watch.events and not task.watch.holds_are_clear(state.signs):
        return state, Walked(None, state.steps)
    if asks if not carried.is_empty else (breaks := task.acting.breaks) and any(x.jumps for x in breaks):
        return state, Walked(None, state.steps)
    values = None if carried.is_empty else carried.keep()
    wait = None if task.clock is None else task.clock.wait
    stop = task.goal
    if state.due is not None or task.callbacks:
        stop = min([stop, *saves(task, state), *(dues(task, state) if visits is None else visits.stops)])
    most = None
    if task.look is not None and not carried.is_empty:
        ahead, origin = task.look.ahead, state.steps.origin
        most = max(1, ahead) if task.method.adaptive else None
        stop = task.stride.stop(origin, state.now, stop, ahead) if ahead > 1 else _next_stop(task, state, stop)
    if asks:
        state, walked = _without_events(task, state, stop)
    else:
        if names:
            carried.signs[:] = state.signs.of(names)
        walked = task.stride.many(problem, state.steps, state.now, state.x, state.w, stop, wait, visits, most)
    before, block = state.steps, walked.block
    state = msgspec.structs.replace(state, steps=walked.memory)
    if block is None:
        return state, walked
    if not (carried.is_empty or task.acting.is_current):  # an equation changed the structure
        walked.require_fine()
    if not carried.is_empty:
        problem.displaced()
    now = Instant(int(block.ns[-1]))
    after = msgspec.structs.replace(state, now=now, x=block.x[-1], w=block.w[-1])
    if not carried.is_empty:
        signs = state.signs.after(names, carried.signs)
        after = msgspec.structs.replace(after, ticked=(int(block.ns[1]), values), signs=signs)
    task.show(after)
    if _recorded(task, block, walked):
        return after, walked
    carried.restore(values)
    if problem.contact.touches:
        problem.contact.take_back(state.t)
    return task.show(msgspec.structs.replace(state, ticked=None, doubtful=now.ns)), Walked(None, before)


def _recorded(task: RunTask, block: Block, walked: Walked) -> bool:
    """True if the rows of a block are recorded; False where they are to be taken one by one."""
    try:
        return task.recorder.block(block, task.rtol)
    except SoacraftError as wrong:
        raise _first_error(task, walked, wrong) from wrong


def _first_error(task: RunTask, walked: Walked, error: SoacraftError) -> SoacraftError:
    """The error of a function that changed the structure of the model, rather than one that follows from it, as where
    energies of rows are not known."""
    raised = walked.raised
    return raised if isinstance(raised, SoacraftError) and not task.acting.is_current else error


def _without_events(task: RunTask, state: RunState, stop: int) -> tuple[RunState, Walked]:
    """Compiled steps up to the one in which an event happens, which Python takes: none where that is the next. Steps
    are taken ahead, twice as many each time that none happens; those beyond an event are taken back."""
    problem, stride, began = task.problem, task.stride, time.perf_counter()
    follows = problem.closures.memory
    walked = stride.many(problem, state.steps, state.now, state.x, state.w, stop, most=state.ahead)
    if walked.block is None:
        return state, walked
    count, quiet, signs = len(walked.block.ns) - 1, 0, state.signs
    try:
        while quiet < count and (after := _quiet(task, signs, walked.block.step(quiet))) is not None:
            quiet, signs = quiet + 1, after
    except StaleError as wrong:
        raise _first_error(task, walked, wrong) from wrong
    if quiet == count:
        slow = time.perf_counter() - began > _SECONDS
        ahead = max(1, state.ahead // 2) if slow else min(2 * state.ahead, AHEAD[1])
        return msgspec.structs.replace(state, signs=signs, ahead=ahead), walked
    walked.require_uninterrupted()
    problem.closures.recall(*follows)
    problem.contact.take_back(state.t)
    after_quiet = msgspec.structs.replace(state, signs=signs, ahead=AHEAD[0])
    if not quiet:
        return after_quiet, Walked(None, state.steps)
    # the same steps again
    return after_quiet, stride.many(problem, state.steps, state.now, state.x, state.w, stop, most=quiet)


def _quiet(task: RunTask, signs: Signs, step: Step) -> Signs | None:
    """The signs at the end of a step in which no event happens; None where one does, or its function has no value
    there, of which Python's step tells."""
    try:
        crossing, signs = task.watch.find(signs, step, of_functions=True)
    except StaleError:  # it changed the model
        raise
    except SoacraftError:
        return None
    return signs if crossing is None else None

"""Failure of a run: the state of its last row, and the error that names time and cause."""

from __future__ import annotations

import msgspec

from soacraft.errors import LinkError, SimulationError, SoacraftError
from soacraft.sim.clock import Instant, nanoseconds
from soacraft.sim.course.state import RunState
from soacraft.sim.course.task import RunParts
from soacraft.sim.runs.recorder import Recorder
from soacraft.sim.runs.run import Run
from soacraft.sim.stability import Stiff, limit


def at_last_row(parts: RunParts, state: RunState, recorder: Recorder) -> RunState:
    """The state at the last row, if the run went on without it. The values of components are those before the tick
    after it; those before earlier ticks are not known, nor are those before jumps: then there is no going on."""
    t, x = recorder.last
    if t == state.t:
        return state
    last, carried, ticked = nanoseconds(t, "t"), parts.acting.components, state.ticked
    if ticked is not None and ticked[0] > last:
        carried.restore(ticked[1])
    parts.stability.forget()
    return msgspec.structs.replace(
        state,
        now=Instant(last),
        x=x,
        steps=state.steps.restarted(),
        ticked=None,
        lost=state.lost or state.jumped > last,
    )


def flushed(parts: RunParts, recorder: Recorder, cause: SoacraftError) -> SoacraftError:
    """The error that ended a run: that of rows that were pending, if there is one; those before are kept."""
    try:
        recorder.flush()
    except SoacraftError as earlier:
        return earlier if parts.acting.is_current else cause
    return cause


def failure(parts: RunParts, state: RunState, run: Run, cause: SoacraftError) -> SimulationError:
    """The error of a run that ended at a state."""
    why = str(cause) if isinstance(cause, Stiff) else f"{cause}{_stiffness(parts, run)}"
    kind = type(cause) if isinstance(cause, LinkError) else SimulationError
    error = kind(f"the run of {parts.acting.name!r} stopped at t = {state.t:.9g} s: {why}")
    error.t, error.run = state.t, run
    if isinstance(cause, LinkError) and isinstance(error, LinkError):
        error.peer = cause.peer
    return error


def _stiffness(parts: RunParts, run: Run) -> str:
    """The reason why fixed steps were too long for what is fast where the run began; empty where they were not."""
    if parts.method.adaptive or not parts.acting.is_current or not parts.problem.mb.nv:
        return ""
    problem, length = parts.problem, parts.stride.length
    x = problem.point(run.q[0], run.v[0])
    why = limit(parts.method, problem, float(run.t[0]), x, length)
    if why:
        return f" {why[0].upper()}{why[1:]}"
    if not problem.components.size:
        return ""
    return (
        f" Steps of {length:g} s may be too long for the fastest of its components: try steps of {length / 10:g} "
        "s, or integrator='radau'."
    )

"""Start of a run: where the last one ended, or at the state that the model was given meanwhile."""

from __future__ import annotations

from itertools import repeat

import msgspec
import numpy as np

from soacraft.errors import StateError
from soacraft.sim.breaks import ALWAYS, window
from soacraft.sim.course.callbacks import account
from soacraft.sim.course.state import RunState
from soacraft.sim.course.task import RunParts
from soacraft.sim.forces.impacts import Impacts
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import Array


def at_point(parts: RunParts, state: RunState, problem: Mechanism) -> RunState:
    """The state where it was left, or at a new point where the model was given another state meanwhile."""
    mb, seen = problem.mb, state.seen
    now = mb.current
    if seen is not None and now is seen and len(state.x):
        return state
    q, v = np.array(now.q), np.array(now.v)
    if seen is not None and np.array_equal(q, seen.q) and np.array_equal(v, seen.v) and len(state.x):
        return state
    signs = parts.watch.jumped(state.signs, state.t, state.x if len(state.x) else None)
    parts.stability.forget()
    problem.contact.begin_anew()
    return msgspec.structs.replace(state, x=problem.point(q, v), steps=state.steps.restarted(), signs=signs, rates=None)


def started(parts: RunParts, state: RunState, problem: Mechanism | None = None) -> RunState:
    """The state at which a run goes on: inside of limits, on its closures, with all holding that is at rest. `problem`
    is what acts now, where the caller has it."""
    acting = parts.acting
    problem = acting.begin() if problem is None else problem
    state = at_point(parts, state, problem)
    mb, prescribed, t = problem.mb, acting.prescribed.dofs, state.now.seconds
    work = np.array([*map(state.work.get, problem.names, repeat(0.0))])
    components = problem.components
    if not components.is_empty:
        problem.displaced()
        components.begin(state.now.ns)
        problem.ticks_first = components.next_tick == state.now.ns
    x = problem.point(*problem.parts(state.x)[:2], work)
    if problem.is_closed and not prescribed:
        problem.closures.require_closed(np.array(mb.q), np.array(mb.v))
    if problem.holds.all:
        problem.holds.require_inside(x)
    for load in acting.loads:
        if isinstance(load, Impacts):
            if prescribed:
                name = mb.dof_names[prescribed[0]]
                raise StateError(
                    f"dof {name!r} has a prescribed motion, and impacts as events would change its velocity: use "
                    "sc.sim.Contact with integrator='moreau', which keeps it, or let it go with "
                    f"p.prescribe({name!r}, None)."
                )
            load.begin_run(problem.parts(x)[0])
    if problem.contact.touches:
        x = problem.contact.pushed_out(problem, t, x)
    breaks = acting.breaks
    problem.see(window(breaks, state.now) if breaks else ALWAYS)
    x = problem.begun(t, problem.holds.settle(t, x, ()) if problem.holds.all else x)
    w, rates = problem.rates(t, x), None if state.rates is None else rates_of(parts, state)
    signs = state.signs
    if parts.watch.events or signs.before_jump is not None:
        signs = parts.watch.moved(signs, t, x)
    parts.stability.begin(problem, t, x)
    return msgspec.structs.replace(state, x=x, w=w if rates is None else rates, signs=signs, rates=None)


def rates_of(parts: RunParts, state: RunState) -> Array | None:
    """The rates of a state that was restored, while the same acts as then; else None."""
    if state.rates is None or state.rates[1] != (account(parts), parts.acting.numbers):
        return None
    return state.rates[0]

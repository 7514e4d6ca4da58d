"""States of steppers as `SimState`: the value of one of them, and the point and numbers that a value gives to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from soacraft.errors import CheckpointError
from soacraft.sim.forces.contact_impulses import by_names
from soacraft.sim.forces.drives import Control
from soacraft.sim.forces.push import Push
from soacraft.sim.states.compatibility import Fit, refuse_other
from soacraft.sim.states.sim_state import SimState
from soacraft.sim.steppers.switches import Switching
from soacraft.sim.stride import StepMemory
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import Array


def fixed_controls(problem: Mechanism, driven: Sequence[str]) -> dict[str, Control]:
    """Return the controls {name: control} of a stepper that are numbers and not driven by it."""
    return {x.name: x for x in problem.loads if isinstance(x, Control) and x.is_number and x.name not in driven}


def names_of(problem: Mechanism) -> list[str]:
    """Return the names of the forces of a run: pushes are of steppers alone."""
    pushes = {i for i, x in enumerate(problem.loads) if isinstance(x, Push)}
    return [name for i, name in enumerate(problem.names) if i not in pushes]


def work_by_name(problem: Mechanism, x: Array) -> dict[str, float]:
    """Return the work of the forces of a run."""
    pushes = {i for i, load in enumerate(problem.loads) if isinstance(load, Push)}
    done = problem.work_of(x).tolist()
    return {name: u for i, (name, u) in enumerate(zip(problem.names, done, strict=True)) if i not in pushes}


def state_of(
    problem: Mechanism,
    steps: StepMemory,
    when: int,
    x: Array,
    controls: Mapping[str, float],
    run: tuple[Sequence[str], Sequence[str]],
    switching: Switching,
    impulses: Array,
) -> SimState:
    """Return the state of a stepper at a point, with the forces and controls of runs of its propagator (`run`, names of
    both), and in addition those that push."""
    switched = switching.memory
    q, v, _ = problem.parts(x)
    work = work_by_name(problem, x)
    numbers = {name: u for name, u in controls.items() if name in run[1] or u or work.get(name)}
    silent = set(controls) - set(numbers)
    names = [name for name in work if name not in silent]
    if set(names) == set(run[0]):
        names = list(run[0])
    closures, independent, embedding = problem.closures.memory
    return SimState(
        ns=when,
        rest=0.0,
        origin=steps.origin,
        q=q,
        v=v,
        work=np.array([work[name] for name in names]),
        z=np.zeros(0),
        forces=tuple(names),
        dofs=tuple(problem.mb.dof_names),
        length=steps.length,
        longest=steps.longest,
        counts=steps.counts,
        closures={name: tuple(theta) for name, theta in closures.items()},
        independent=None if independent is None else tuple(independent),
        embedding=None if embedding is None else (tuple(embedding[0]), embedding[1]),
        began=problem.contact.began,
        impulses=by_names(impulses, problem.contact.shapes),
        events=switching.names,
        signs=dict(switched.signs),
        happened=switched.happened,
        controls=numbers,
    )


def point_of(state: SimState, problem: Mechanism) -> Array:
    """Return the point of a state that fits, with the work of its forces; the work of new forces is zero."""
    work = dict(zip(state.forces, state.work.tolist(), strict=True))
    return np.concatenate([state.q, state.v, [work.get(name, 0.0) for name in problem.names]])


def require_fit(state: SimState, problem: Mechanism, driven: Sequence[str], switches: tuple[str, ...]) -> None:
    """Raise `CheckpointError` for a state that a stepper cannot continue from."""
    within = {
        "an instant between two nanoseconds": state.rest > 0.0,
        "events": bool(set(state.events) - set(switches)),
        "callbacks": bool(state.callbacks),
        "states of components": bool(len(state.z) or state.held or state.ticks),
    }
    for what, has in within.items():
        if has:
            raise CheckpointError(
                f"this SimState has {what}, which belong to runs: continue from it with p.set_state(state)."
            )
    names, fixed = names_of(problem), set(fixed_controls(problem, driven))
    fits = set(names) - set(driven) <= set(state.forces) <= set(names) and len(set(state.forces)) == len(state.forces)
    fits_controls = fixed <= set(state.controls) <= fixed | set(driven)
    controls = tuple(sorted(state.controls)) if fits_controls else tuple(sorted(fixed))
    refuse_other(
        state, Fit(problem.mb, state.forces if fits else tuple(names), switches, controls=controls), "this SimState"
    )

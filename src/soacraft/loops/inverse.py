"""Forces that give a closed chain prescribed accelerations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from soacraft.dynamics.engine import answer
from soacraft.dynamics.problem import Mask, Problem
from soacraft.errors import LoopError, StateError
from soacraft.kinematics.independent import Partition, completed, dofs_named, expansion, refuse_held
from soacraft.kinematics.partition import partition
from soacraft.kinematics.residuals import acceleration_of, energy_of, residual_of_rows
from soacraft.kinematics.sizes import sizes_of
from soacraft.kinematics.tasks import PRESCRIBED, Task, refuse_large
from soacraft.model.states.coordinates import common_batch
from soacraft.order import in_order
from soacraft.spatial.checks import Array, finite


def read_independent(p: Problem, vdot: Any, short: bool = False) -> Problem:
    """The problem with accelerations of the independent dofs, or unless `short` of all of them, whose leading axes join
    those of the others."""
    if not short:
        vdot = in_order(vdot, p.graph.layout.v_order, f"vdot of {p.graph.name!r}")
    x = finite(vdot, (..., None), f"vdot of {p.graph.name!r}", StateError)
    refuse_large(p.graph, "vdot", x)
    others = np.empty((*p.batch, p.nv))
    batch = common_batch(**{"vdot": x, "the other arguments": others})
    return replace(p, given={**p.given, "vdot_independent": x}, batch=batch)


def independent_part(task: Task, choice: Partition, vdot: Array, tolerance: float) -> Array:
    """The accelerations of the independent dofs, from themselves or from those of all dofs, which must agree with the
    closures.
    """
    if len(vdot) != task.graph.nv or len(vdot) == len(choice.independent):
        return vdot
    off, name, allowed = _left(task, vdot, tolerance)
    if off > allowed:
        raise LoopError(
            f"vdot of all dofs of {task.graph.name!r} does not agree with its closures: {off:.3g} is left at {name!r}. "
            "Take one of forward_dynamics, or give the independent dofs alone, "
            f"{', '.join(map(repr, dofs_named(task.rows, choice.independent)))}."
        )
    return vdot[choice.independent]


def force_for(task: Task, choice: Partition, vdot_i: Array, actuated: Mask | None, tolerance: float) -> Array:
    """T in the size of the tree, zero but at the actuated dofs: X_a* T_a = X* (Mcal vdot + C - passive).

    Refused where forward dynamics would not give vdot back: it opens the closures, or the residual of the force is not
    in the range of Gc* with its rank by sizes.
    """
    rows = task.rows
    names = dofs_named(rows, choice.independent)
    if len(vdot_i) != len(names):
        raise StateError(
            f"vdot of {rows.graph.name!r} has {len(names)} entries here, got {len(vdot_i)}; they are of "
            f"{', '.join(map(repr, names)) or 'no dofs'}. Give them by name; all {rows.graph.nv} dofs may be given too."
        )
    G, sizes = rows.jacobian(), sizes_of(rows)
    vdot = completed(G, choice, vdot_i, task.Udot - rows.gamma, sizes)
    refuse_open(task, choice, vdot, tolerance)
    X = expansion(G, choice, sizes)
    refuse_held(rows, G, choice, X, sizes)
    state = {"q": rows.state.q, "v": rows.state.v, "vdot": vdot}
    p = Problem("inverse_dynamics", rows.graph, state, task.forces)
    required = np.array(answer(p, None)) - task.besides
    wanted = X.T @ required
    force = np.zeros(p.nv)
    driven = choice.independent if actuated is None else np.flatnonzero(actuated)
    force[driven] = np.linalg.lstsq(X[driven].T, wanted, rcond=None)[0]
    d, none = rows.measure.dofs, np.zeros(rows.size)
    largest = max(energy_of(task, none), float(np.abs(required / d).max(initial=0.0)))
    unmet = np.abs((X.T @ force - wanted) / d[choice.independent]).max(initial=0.0)
    if unmet > tolerance * max(largest, float(np.abs(wanted / d[choice.independent]).max(initial=0.0))):
        raise LoopError(
            f"forces at {', '.join(map(repr, dofs_named(rows, driven))) or 'no dofs'} cannot give {rows.graph.name!r} "
            f"these accelerations: {unmet:.3g} of the generalized force is left. Actuate dofs that move all of "
            f"{', '.join(map(repr, names))}."
        )
    held = min(choice.rank, partition(rows).rank)
    c = sizes.dofs
    allowed = np.linalg.svd(sizes.scaled(G))[2][held:]  # motions with Gc v = 0, in the sizes of the dofs
    unmet = np.abs(allowed @ ((required - force) / c)).max(initial=0.0)
    largest = energy_of(task, none) * float(np.max(d / c, initial=1.0))
    if unmet > tolerance * max(float(np.abs(required / c).max(initial=0.0)), largest):
        raise LoopError(
            f"forces that give {rows.graph.name!r} these accelerations cannot be computed: {unmet:.3g} of the "
            "generalized force rests on rows that nearly repeat others. The closures are too near a configuration "
            "where their rank changes."
        )
    return force


def refuse_open(task: Task, choice: Partition, vdot: Array, tolerance: float) -> None:
    """Raise `LoopError` when the closures do not let the independent dofs have their accelerations."""
    off, name, allowed = _left(task, vdot, tolerance)
    if off > allowed:
        names = ", ".join(map(repr, dofs_named(task.rows, choice.independent))) or "no dofs"
        raise LoopError(
            f"no acceleration of {task.graph.name!r} satisfies its closures with those given for {names}: {off:.3g} is "
            f"left at {name!r}. "
            "The rank changes at this configuration, or what drives the closures does not agree."
        )


def refuse_tied(task: Task, vdot: Array, tolerance: float) -> None:
    """Raise `LoopError` when closures and prescribed accelerations cannot all be met: the dofs are tied."""
    off, name, allowed = _left(task, vdot, tolerance)
    if off > allowed:
        raise LoopError(
            f"the prescribed accelerations of {task.graph.name!r} do not agree with its closures: {off:.3g} is "
            f"left at {name.removeprefix(PRESCRIBED)!r}. Prescribe dofs that are independent of each other."
        )


def _left(task: Task, vdot: Array, tolerance: float) -> tuple[float, str, float]:
    """The largest residual of the rows, of which closure it is, and how large it may be."""
    off, units = np.abs(residual_of_rows(task, vdot)), task.rows.units
    if not len(off):
        return 0.0, "", 0.0
    worst = int(np.argmax(off / units))
    name = next(name for name, place in task.rows.places if place.start <= worst < place.stop)
    largest = max(acceleration_of(task, vdot, np.zeros(len(off))), float(np.abs(task.Udot / units).max()))
    return float(off[worst]), name, tolerance * largest * float(units[worst])

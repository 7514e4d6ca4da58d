"""Forces that give a closed chain the accelerations asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.dynamics.engine import answer
from soacraft.dynamics.problem import Mask, Problem
from soacraft.errors import LoopError, StateError
from soacraft.loops.independent import Choice, completed, dofs_named, expansion
from soacraft.loops.residuals import residual_of_rows
from soacraft.loops.tasks import Task
from soacraft.model.interface import Graph
from soacraft.spatial.checks import Array, finite


def read_independent(graph: Graph, vdot: Any, batch: tuple[int, ...]) -> Array:
    """Accelerations of the independent dofs, one row for each state."""
    x = finite(vdot, (..., None), f"vdot_independent of {graph.name!r}", StateError)
    try:
        full = np.broadcast_to(x, (*batch, x.shape[-1]))
    except ValueError:
        raise StateError(
            f"the leading (batch) axes do not agree: vdot_independent {x.shape}, the other arguments {batch}."
        ) from None
    return full.reshape(int(np.prod(batch, dtype=int)), x.shape[-1])


def force_for(task: Task, choice: Choice, vdot_i: Array, actuated: Mask | None, tolerance: float) -> Array:
    """T in the size of the tree, zero but at the actuated dofs: X_a* T_a = X* (Mcal vdot + C)."""
    rows = task.rows
    names = dofs_named(rows, choice.independent)
    if len(vdot_i) != len(names):
        raise StateError(
            f"vdot_independent of {rows.graph.name!r} has {len(names)} entries here, got {len(vdot_i)}; they are of "
            f"{', '.join(map(repr, names)) or 'no dofs'}."
        )
    G = rows.jacobian()
    vdot = completed(G, choice, vdot_i, task.Udot - rows.gamma)
    X = expansion(G, choice)
    given = {"q": rows.state.q, "v": rows.state.v, "vdot": vdot}
    p = Problem("inverse_dynamics", rows.graph, given, task.forces)
    wanted = X.T @ answer(p, (p.nv,), None)
    force = np.zeros(p.nv)
    where = choice.independent if actuated is None else np.flatnonzero(actuated)
    force[where] = np.linalg.lstsq(X[where].T, wanted, rcond=None)[0]
    left = np.abs(X.T @ force - wanted).max(initial=0.0)
    if left > tolerance * max(1.0, np.abs(wanted).max(initial=0.0)):
        raise LoopError(
            f"forces at {', '.join(map(repr, dofs_named(rows, where))) or 'no dofs'} cannot give {rows.graph.name!r} "
            f"these accelerations: {left:.3g} of the generalized force is left. Actuate dofs that move all of "
            f"{', '.join(map(repr, names))}."
        )
    return force


def refuse_tied(task: Task, vdot: Array, tolerance: float) -> None:
    """Raise `LoopError` when closures and prescribed accelerations cannot all be met: the dofs are tied."""
    off = np.abs(residual_of_rows(task, vdot))
    if off.max(initial=0.0) > tolerance * max(1.0, np.abs(vdot).max(initial=0.0), np.abs(task.Udot).max(initial=0.0)):
        name = max(task.rows.places, key=lambda x: float(off[x[1]].max(initial=0.0)))[0]
        raise LoopError(
            f"the prescribed accelerations of {task.graph.name!r} do not agree with its closures: {off.max():.3g} is "
            f"left at {name!r}. Prescribe dofs that are independent of each other."
        )

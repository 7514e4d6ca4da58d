"""Forward dynamics on an embedded system, its multipliers, and which dofs and rows count."""

from __future__ import annotations

import numpy as np

from soacraft.dynamics.engine import answer
from soacraft.dynamics.problem import Problem
from soacraft.kinematics.independent import Partition
from soacraft.kinematics.partition import partition_with
from soacraft.kinematics.tasks import Task, body_forces
from soacraft.kinematics.tolerances import BALANCED
from soacraft.loops.embedding.hybrid import Augmented, add_rows
from soacraft.loops.embedding.model import EmbeddedModel
from soacraft.model.flat.sko import SKOModel
from soacraft.recursions import _backend
from soacraft.spatial.checks import Array


def solve(embedded: EmbeddedModel, task: Task, rest: Augmented | None) -> tuple[Array, Array]:
    """vdot_i by AB forward dynamics, and the multipliers of the rows that are not embedded, zero for others. O(n)."""
    sko = embedded.sko
    free = _backend.forward_dynamics(sko, embedded.reduced(task.acting[:, None]))
    multipliers = np.zeros(task.rows.size)
    if rest is None:
        return np.concatenate([np.zeros(0), *(free.vdot[k][:, 0] for k in sko.nodes)]), multipliers
    vdot, multipliers[rest.where] = add_rows(embedded, free, rest)
    return vdot, multipliers


def refined(embedded: EmbeddedModel, task: Task, vdot: Array, multipliers: Array) -> tuple[Array, Array]:
    """vdot, and T - Mcal vdot - C - G* lambda for the known multipliers: what the embedded rows carry. O(n).

    Where Xt* of it is more than rounding (bodies of a milligram among others of a kilogram), one step of refinement.
    """
    residual = unbalanced(task, vdot, multipliers)
    moved = np.concatenate([np.zeros(0), *embedded.reduced(residual)])
    if np.abs(moved).max(initial=0.0) <= BALANCED * np.abs(residual).max(initial=0.0):
        return vdot, residual
    sko = embedded.sko
    plain = SKOModel.trusted(sko.tree, sko.edges, [sko.H(k) for k in sko.nodes], [sko.M(k) for k in sko.nodes])
    step = _backend.forward_dynamics(plain, embedded.reduced(residual[:, None]))
    better = vdot + embedded.expanded(np.concatenate([step.vdot[k][:, 0] for k in sko.nodes]))
    return better, unbalanced(task, better, multipliers)


def unbalanced(task: Task, vdot: Array, multipliers: Array) -> Array:
    """T - Mcal vdot - C - G* lambda for the known multipliers, by compiled inverse dynamics. O(n)."""
    rows, residual = task.rows, np.array(task.acting)
    forces = body_forces(rows, multipliers) if multipliers.any() else ()
    state = {"q": rows.state.q, "v": rows.state.v, "vdot": vdot}
    p = Problem("inverse_dynamics", rows.graph, state, task.forces + forces)
    residual -= answer(p, None)
    for row, (_, place) in zip(rows.couplings, rows.places[len(rows.loops) :], strict=True):
        for dof, rate in row.rates.items():
            residual[dof] -= rate * multipliers[place.start]
    return residual


def multipliers_of(embedded: EmbeddedModel, residual: Array, start: Array) -> Array:
    """Multipliers of the embedded rows, of least norm: G_S* lambda equals the remaining forces on the group."""
    multipliers = start.copy()
    for compound in embedded.compounds.values():
        if len(compound.rows):
            multipliers[compound.rows] = compound.multipliers(residual[compound.dofs], len(compound.split.dependent))
    return multipliers


def choice_of(embedded: EmbeddedModel, rest: Augmented | None) -> Partition:
    """Independent and dependent dofs, rank and redundant rows of the whole; in the order of the embedded system."""
    independent = embedded.independent if rest is None else embedded.independent[rest.split.independent]
    return partition_with(embedded.one, independent)

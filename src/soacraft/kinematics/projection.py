"""The velocities nearest to given ones that the closures allow."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from soacraft.dynamics.engine import answer
from soacraft.dynamics.problem import Problem
from soacraft.errors import SingularError
from soacraft.kinematics.independent import choose
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.sizes import sizes_of
from soacraft.kinematics.tasks import Task
from soacraft.recursions import _backend
from soacraft.spatial.checks import Array


def project(task: Task, weight: str) -> Array:
    """v - W^-1 Gc* (Gc W^-1 Gc*)^+ (Gc v - U), dense: with W = L L*, by the singular values of Gc L^-*, as many as the
    rank of Gc. O(m nv^2)."""
    rows, v = task.rows, np.array(task.state.v)
    if not rows.size or not len(v):
        return v
    G, sizes = rows.jacobian(), sizes_of(rows)
    rank = choose(G, sizes).rank
    Y, left = np.where(sizes.moved, G, 0.0) / sizes.rows[:, None], (rows.speed - task.U) / sizes.rows
    if weight == "plain":
        return v - _least(Y, left, rank)
    p = Problem("mass_matrix", rows.graph, {"q": rows.state.q})
    L = _root(rows, answer(p, None))
    half = np.asarray(np.linalg.solve(L, Y.T).T, dtype=np.float64)
    jump = np.linalg.solve(L.T, _least(half, left, rank))
    return np.asarray(v - jump, dtype=np.float64)


def _root(rows: Constraints, M: Array) -> Array:
    """L of M = L L*; `SingularError` where a hinge has no inertia to move, with its name."""
    with suppress(np.linalg.LinAlgError):
        return np.asarray(np.linalg.cholesky(M))
    _backend.articulated_body(rows.graph.sko(rows.state))
    raise SingularError(
        f"the mass matrix of {rows.graph.name!r} is singular to rounding: velocities cannot be weighed by it. "
        "Use weight='plain'."
    )


def _least(Y: Array, left: Array, rank: int) -> Array:
    """The shortest x with Y x = left, for Y of known rank."""
    U, sigma, V = np.linalg.svd(Y, full_matrices=False)
    return np.asarray(V[:rank].T @ ((U[:, :rank].T @ left) / sigma[:rank]))

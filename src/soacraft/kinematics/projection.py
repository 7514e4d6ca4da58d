"""The velocities nearest to given ones that the closures allow."""

from __future__ import annotations

import numpy as np

from soacraft.dynamics.engine import answer
from soacraft.dynamics.problem import Problem
from soacraft.errors import SingularError
from soacraft.kinematics.partition import partition
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.sizes import Sizes, sizes_of
from soacraft.kinematics.tasks import Task
from soacraft.kinematics.tolerances import SINGULAR
from soacraft.recursions import _backend
from soacraft.spatial.checks import Array


def project(task: Task, weight: str) -> Array:
    """v - W^-1 Gc* (Gc W^-1 Gc*)^+ (Gc v - U), dense: with W = L L*, by the singular values of Gc L^-*, as many as the
    rank of Gc. O(m nv^2)."""
    rows, v = task.rows, np.array(task.state.v)
    if not rows.size or not len(v):
        return v
    G, sizes = rows.jacobian(), sizes_of(rows)
    rank = partition(rows).rank
    Y, speed = np.where(sizes.moved, G, 0.0) / sizes.rows[:, None], (rows.speed - task.U) / sizes.rows
    if weight == "plain":
        return v - _least(Y, speed, rank)
    p = Problem("mass_matrix", rows.graph, {"q": rows.state.q})
    M = answer(p, None)
    L = _root(M)
    if L is None:
        return _along(rows, M, v - _least(Y / sizes.dofs, speed, rank) / sizes.dofs, rank, sizes)
    half = np.asarray(np.linalg.solve(L, Y.T).T, dtype=np.float64)
    jump = np.linalg.solve(L.T, _least(half, speed, rank))
    return np.asarray(v - jump, dtype=np.float64)


def _along(rows: Constraints, M: Array, allowed: Array, rank: int, sizes: Sizes) -> Array:
    """Allowed velocity where bodies without inertia are held by the closures alone: from one that is allowed along
    those that the closures leave free, N* M N y = N* M (v - allowed), with Gc N = 0.
    """
    V = np.linalg.svd(sizes.scaled(rows.jacobian()))[2]
    N = V[rank:].T / sizes.dofs[:, None]
    root = _root(N.T @ M @ N)
    if root is None:
        _backend.articulated_body(rows.graph.sko(rows.state))  # names a hinge without inertia to move
        raise SingularError(
            f"the mass matrix of {rows.graph.name!r} is singular to rounding: velocities cannot be weighed by it. "
            "Use weight='plain'."
        )
    y = np.linalg.solve(root, N.T @ (M @ (rows.state.v - allowed)))
    return np.asarray(allowed + N @ np.linalg.solve(root.T, y))


def _root(M: Array) -> Array | None:
    """L of M = L L*; None where it is singular to rounding, each dof relative to its own inertia."""
    d = np.sqrt(np.diagonal(M))
    if not (d > 0.0).all():
        return None
    try:
        L = np.linalg.cholesky(M / d[:, None] / d)
    except np.linalg.LinAlgError:
        return None
    return None if np.diagonal(L).min(initial=1.0) ** 2 < SINGULAR else np.asarray(d[:, None] * L)


def _least(Y: Array, rhs: Array, rank: int) -> Array:
    """The shortest x with Y x = left, for Y of known rank."""
    U, sigma, V = np.linalg.svd(Y, full_matrices=False)
    return np.asarray(V[:rank].T @ ((U[:, :rank].T @ rhs) / sigma[:rank]))

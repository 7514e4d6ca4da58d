"""The velocities nearest to given ones that the closures allow."""

from __future__ import annotations

import numpy as np

from soacraft.dynamics.engine import answer
from soacraft.dynamics.problem import Problem
from soacraft.loops.independent import choose
from soacraft.loops.sizes import sizes_of
from soacraft.loops.tasks import Task
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
    L = np.linalg.cholesky(answer(p, (p.nv, p.nv), None))
    return v - np.linalg.solve(L.T, _least(np.linalg.solve(L, Y.T).T, left, rank))


def _least(Y: Array, left: Array, rank: int) -> Array:
    """The shortest x with Y x = left, for Y of known rank."""
    U, sigma, V = np.linalg.svd(Y, full_matrices=False)
    return np.asarray(V[:rank].T @ ((U[:, :rank].T @ left) / sigma[:rank]))

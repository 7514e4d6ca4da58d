"""The velocities nearest to given ones that the closures allow."""

from __future__ import annotations

import numpy as np

from soacraft.dynamics.engine import answer
from soacraft.dynamics.problem import Problem
from soacraft.loops.tasks import Task
from soacraft.spatial.checks import Array


def project(task: Task, weight: str) -> Array:
    """v - W^-1 Gc* (Gc W^-1 Gc*)^+ (Gc v - U), dense: with W = L L*, by least squares on Gc L^-*. O(m nv^2)."""
    rows, v = task.rows, np.array(task.state.v)
    G, left = rows.jacobian(), rows.speed - task.U
    if weight == "plain":
        return v - np.linalg.lstsq(G, left, rcond=1e-10)[0]
    p = Problem("mass_matrix", rows.graph, {"q": rows.state.q})
    L = np.linalg.cholesky(answer(p, (p.nv, p.nv), None))
    Y = np.linalg.solve(L, G.T).T
    return v - np.linalg.solve(L.T, np.linalg.lstsq(Y, left, rcond=1e-10)[0])

"""The residuals of an answer, from positions anew: body accelerations and compiled inverse dynamics."""

from __future__ import annotations

import numpy as np

from soacraft.dynamics.engine import answer
from soacraft.dynamics.problem import Problem
from soacraft.loops.rows import Constraints
from soacraft.loops.tasks import Task
from soacraft.spatial.checks import Array


def residuals(task: Task, vdot: Array, multipliers: Array) -> tuple[float, float]:
    """The residuals of the closures and of the equations of motion, each beside the largest number in it. O(n + m)."""
    gamma = np.abs(task.rows.gamma).max(initial=0.0)
    closures = np.abs(residual_of_rows(task, vdot)).max(initial=0.0)
    left = residual_of_motion(task, vdot, multipliers)
    motion, moving = np.abs(left).max(initial=0.0), np.abs(left + task.acting).max(initial=0.0)
    largest = max(moving, np.abs(task.acting).max(initial=0.0), np.abs(multipliers).max(initial=0.0))
    return float(closures / max(1.0, gamma, np.abs(vdot).max(initial=0.0))), float(motion / max(1.0, largest))


def residual_of_rows(task: Task, vdot: Array) -> Array:
    """Gc vdot + Gcdot v - Udot, (m)."""
    rows = task.rows
    alpha = rows.state.replace(vdot=vdot).alpha
    parts = [x.gamma + sum(W[:, :6] @ alpha[k] for k, W in x.W.items()) for x in rows.loops]
    tied = [x.gamma + sum(rate * vdot[i] for i, rate in x.rates.items()) for x in rows.couplings]
    return np.concatenate([np.zeros(0), *parts, np.array(tied)]) - task.Udot


def residual_of_motion(task: Task, vdot: Array, multipliers: Array) -> Array:
    """Inverse dynamics under external forces, and Gc* lambda, less the force and what springs add, (nv)."""
    rows = task.rows
    given = {"q": rows.state.q, "v": rows.state.v, "vdot": vdot}
    p = Problem("inverse_dynamics", rows.graph, given, task.forces)
    return np.array(answer(p, (p.nv,), None)) + rows.jacobian().T @ multipliers - task.acting


def row_speeds(rows: Constraints, v: Array) -> Array:
    """Gc v for other velocities at the same coordinates, (m)."""
    V = rows.state.replace(v=v).motion.V
    parts = [sum(W[:, :6] @ V[k] for k, W in x.W.items()) for x in rows.loops]
    tied = [sum(rate * v[i] for i, rate in x.rates.items()) for x in rows.couplings]
    return np.concatenate([np.zeros(0), *parts, np.array(tied)])

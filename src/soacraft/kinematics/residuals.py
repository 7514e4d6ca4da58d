"""Residuals of an answer, from positions: body accelerations and compiled inverse dynamics."""

from __future__ import annotations

import numpy as np

from soacraft.dynamics.engine import answer
from soacraft.dynamics.problem import Problem
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.tasks import Task
from soacraft.kinematics.tolerances import OPEN_ROWS, REPEATED, ZERO
from soacraft.spatial.checks import Array


def residuals(task: Task, vdot: Array, multipliers: Array, of_rows: Array | None = None) -> tuple[float, float]:
    """The residuals of the closures and of the equations of motion, each in the units of the mechanism and relative to
    the largest of what it is made of (`acceleration_of`, `energy_of`). `of_rows`: `residual_of_rows`, where known.
    O(n + m)."""
    d, residual = task.rows.measure.dofs, residual_of_motion(task, vdot, multipliers)
    of_rows = residual_of_rows(task, vdot) if of_rows is None else of_rows
    closures = np.abs(of_rows / task.rows.units).max(initial=0.0)
    motion, moving = (float(np.abs(x / d).max(initial=0.0)) for x in (residual, residual + task.acting))
    return (
        _part(float(closures), acceleration_of(task, vdot, multipliers)),
        _part(motion, max(moving, energy_of(task, multipliers))),
    )


def repeats(task: Task, vdot: Array, of_rows: Array | None = None) -> bool:
    """True if accelerations satisfy the rows to rounding, and to the opening of the loops. Then no row was dropped that
    is clearly one: an answer for some rows that satisfies all is the answer for all (Gauss's least constraint). Next to
    a singular pose a row is so small that it is satisfied too, whatever the accelerations: ranks
    (`kinematics.partition`) or `do_nothing` decide there.
    """
    rows = task.rows
    of_rows = residual_of_rows(task, vdot) if of_rows is None else of_rows
    residual = float(np.abs(of_rows / rows.units).max(initial=0.0))
    return residual <= (REPEATED + OPEN_ROWS * rows.open_part) * acceleration_of(task, vdot, np.zeros(rows.size))


def do_nothing(rows: Constraints, multipliers: Array | None) -> bool:
    """True if constraint forces are zero in units of rows and dofs, |Gc* lambda| <= ZERO |lambda|, but for the opening
    of the loops. For multipliers that a compliance makes vanish this tests the rows themselves, not their squares
    alone. True without any.
    """
    if multipliers is None:
        return True
    forces = np.abs(rows.jacobian().T @ multipliers / rows.measure.dofs).max(initial=0.0)
    zero = max(ZERO, OPEN_ROWS * rows.open_part)
    return bool(forces <= zero * np.abs(multipliers * rows.units).max(initial=0.0))


def acceleration_of(task: Task, vdot: Array, multipliers: Array) -> float:
    """The largest acceleration of which rows are made, in radians or lengths a second squared: |Gcdot v| and |vdot| in
    their units, the square of the natural rate, and the constraint forces on the inertia of the whole."""
    rows, measure = task.rows, task.rows.measure
    carried = float(np.abs(multipliers * rows.units).max(initial=0.0))
    return max(
        float(np.abs(rows.gamma / rows.units).max(initial=0.0)),
        float(np.abs(measure.dofs * vdot).max(initial=0.0)),
        natural_rate(task) ** 2,
        carried / measure.inertia if measure.inertia > 0.0 else 0.0,
    )


def energy_of(task: Task, multipliers: Array) -> float:
    """The largest generalized force, for one radian or length: forces, constraint forces, and what the inertia of the
    whole has at the natural rate."""
    rows, measure = task.rows, task.rows.measure
    return max(
        float(np.abs(task.acting / measure.dofs).max(initial=0.0)),
        float(np.abs(task.strain / measure.dofs).max(initial=0.0)),
        float(np.abs(multipliers * rows.units).max(initial=0.0)),
        measure.inertia * natural_rate(task) ** 2,
    )


def natural_rate(task: Task) -> float:
    """Rate at which a mechanism moves, in radians or lengths a second: its dofs as they move, or as gravity and forces
    would move all of it by its length. Rounding of a velocity is small relative to it.
    """
    rows, measure = task.rows, task.rows.measure
    moving = float(np.abs(measure.dofs * rows.state.v).max(initial=0.0))
    falling = float(np.linalg.norm(task.graph.gravity)) / measure.length
    pushed = [float(np.abs(x / measure.dofs).max(initial=0.0)) for x in (task.acting, task.strain)]
    pushed += [float(np.linalg.norm(f.moment) + np.linalg.norm(f.force) * measure.length) for _, f in task.forces]
    forced = max(pushed) / measure.inertia if measure.inertia > 0.0 else 0.0
    return max(moving, float(np.sqrt(max(falling, forced))))


def _part(x: float, of: float) -> float:
    return x / of if of > 0.0 else x


def residual_of_rows(task: Task, vdot: Array) -> Array:
    """Gc vdot + Gcdot v - Udot, (m)."""
    rows = task.rows
    alpha = rows.state.node_vectors(rows.state.replace(vdot=vdot).alpha, vdot)
    parts = [x.gamma + sum(W @ alpha[k] for k, W in x.W.items()) for x in rows.loops]
    tied = [x.gamma + sum(rate * vdot[i] for i, rate in x.rates.items()) for x in rows.couplings]
    return np.concatenate([np.zeros(0), *parts, np.array(tied)]) - task.Udot


def residual_of_motion(task: Task, vdot: Array, multipliers: Array) -> Array:
    """Inverse dynamics under external forces, and Gc* lambda, less the force and what springs add, (nv)."""
    rows = task.rows
    state = {"q": rows.state.q, "v": rows.state.v, "vdot": vdot}
    p = Problem("inverse_dynamics", rows.graph, state, task.forces)
    return np.array(answer(p, None)) + rows.jacobian().T @ multipliers - task.acting


def row_speeds(rows: Constraints, v: Array) -> Array:
    """Gc v for other velocities at the same coordinates, (m)."""
    V = rows.state.node_vectors(rows.state.replace(v=v).motion.V, v)
    parts = [sum(W @ V[k] for k, W in x.W.items()) for x in rows.loops]
    tied = [sum(rate * v[i] for i, rate in x.rates.items()) for x in rows.couplings]
    return np.concatenate([np.zeros(0), *parts, np.array(tied)])

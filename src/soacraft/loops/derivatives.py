"""Derivatives of the constrained forward dynamics: analytic, in the tangent space of the tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft.dynamics.derivatives import refuse_nonholonomic
from soacraft.dynamics.engine import answers
from soacraft.dynamics.problem import Problem
from soacraft.kinematics.checks import check_answer
from soacraft.kinematics.independent import ranges
from soacraft.kinematics.row_derivatives import RowDerivatives, row_derivatives
from soacraft.kinematics.rows import LoopRows
from soacraft.kinematics.sizes import sizes_of
from soacraft.kinematics.tasks import Task, body_forces, states_of
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import skew

if TYPE_CHECKING:
    from soacraft.loops.solver import Solver

Three = tuple[Array, Array, Array]


@dataclass(frozen=True, eq=False)
class Derivatives:
    """The derivatives of `Result.vdot` along the dofs, in v and in the force; unpacks as `dq, dv, dforce = ...`."""

    dq: Array
    """(..., nv, nv)."""
    dv: Array
    """(..., nv, nv)."""
    dforce: Array
    """(..., nv, nv): symmetric, of the rank of the independent dofs."""
    multipliers: Mapping[str, Three]
    """The same three for each of `Result.multipliers`: of a loop (..., 6, nv), of a coupling (..., nv)."""

    def __iter__(self) -> Iterator[Array]:
        return iter((self.dq, self.dv, self.dforce))

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self.multipliers)) or "nothing"
        return f"Derivatives of vdot {self.dq.shape}, and of the multipliers of {names}"


def forward_dynamics_derivatives(
    solver: Solver, q: Any, v: Any, force: Any, f_ext: Any = None, *, passive: bool = True
) -> Derivatives:
    """The derivatives of `solver.forward_dynamics` at closed states, exact for every hinge. O(n nv + nv^3).

        [ Mcal  Gc* ] [ dvdot   ]   [ dforce - dT - d(Gc* lambda) ]      dT: of the inverse dynamics, vdot held
        [ Gc    0   ] [ dlambda ] = [ -d(Gc vdot + Gcdot v)       ]                              (formula F14)

    along `mb.integrate(q, t e)` for each dof e of the tree, so also along those that open the loops: there the rows of
    formula F2 are what they are at the nearest pose of the closures' hinges, and nothing pulls the loops shut. Along
    motions that the closures allow, `dq X` and `dv X`, no such choice plays a part; `linearize` gives these. With
    redundant rows only they are defined: elsewhere the rows contradict each other and least squares take their place.

    All closures count as at rest: there is no `U` that drives them here. `passive=False` leaves the model's own springs
    and dampers out.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> mb = sc.load("five_bar")
    >>> s = sc.loops.TreeAugmented(mb)
    >>> q = s.assemble(mb.q)
    >>> dq, dv, dforce = sc.loops.forward_dynamics_derivatives(s, q, np.zeros(mb.nv), np.zeros(mb.nv))
    >>> bool(np.allclose(s.forward_dynamics(q, 0 * q, np.ones(mb.nv)).vdot,
    ...                  s.forward_dynamics(q, 0 * q, np.zeros(mb.nv)).vdot + dforce @ np.ones(mb.nv)))
    True
    """
    p = solver._read("forward_dynamics_derivatives", q=q, v=v, force=force, f_ext=f_ext, passive=passive)
    refuse_nonholonomic(p)
    tasks = (solver._task(s, one["force"], f, {}, passive=p.passive) for s, one, f in states_of(p))
    found = [at_task(solver, task)[0] for task in tasks]

    def stacked(parts: list[Array]) -> Array:
        return np.reshape(parts, (*p.batch, *np.shape(parts)[1:]))

    names = found[0].multipliers if found else {}
    three = {name: [x.multipliers[name] for x in found] for name in names}
    return Derivatives(
        stacked([x.dq for x in found]),
        stacked([x.dv for x in found]),
        stacked([x.dforce for x in found]),
        {name: (stacked([x[0] for x in y]), stacked([x[1] for x in y]), stacked([x[2] for x in y]))
         for name, y in three.items()},
    )  # fmt: skip


def at_task(solver: Solver, task: Task) -> tuple[Derivatives, RowDerivatives]:
    """The derivatives at one state, and those of its rows."""
    rows, nv = task.rows, task.graph.nv
    solved = solver._solve(task)
    check_answer(task, solved.vdot, solved.multipliers, solver.tolerance)
    G = rows.jacobian()
    found = ranges(G, solver._choice(rows).rank, sizes_of(rows))
    inverse, free, N = found.inverse(G), found.free, found.repeated  # Gc^+, Gc free = 0, N* Gc = 0
    multipliers = inverse.T @ (G.T @ solved.multipliers)  # of least norm
    of_rows = row_derivatives(rows, task.state.v, solved.vdot, multipliers)
    dT_q, dT_v, M = _inverse_dynamics_derivatives(task, solved.vdot, multipliers)
    moved = np.concatenate([-dT_q - of_rows.push, -dT_v, np.eye(nv)], axis=1)
    opened = -np.concatenate([of_rows.dq, of_rows.dv, np.zeros((rows.size, nv))], axis=1)
    d = inverse @ opened
    d += free @ np.linalg.solve(free.T @ M @ free, free.T @ (moved - M @ d))
    d_multipliers = inverse.T @ (moved - M @ d)
    if N.size:  # least norm turns with the range of Gc: N* dlambda = N* dGc Gc^+ lambda
        along = inverse @ multipliers
        d_multipliers[:, :nv] += N @ (N.T @ row_derivatives(rows, along, 0.0 * along, 0.0 * multipliers).speed)
    by_name = _by_name(task, of_rows, multipliers, d_multipliers)
    return Derivatives(*_three(d), by_name), of_rows


def _inverse_dynamics_derivatives(task: Task, vdot: Array, multipliers: Array) -> Three:
    """dT along q and v with the constraint forces held in the axes of their bodies, and Mcal."""
    given = {"q": task.state.q, "v": task.state.v, "vdot": vdot}
    forces = task.forces + body_forces(task.rows, multipliers)
    p = Problem("inverse_dynamics_derivatives", task.graph, given, forces, passive=task.passive)
    found = answers(p, None)
    return found[0], found[1], found[2]


def _by_name(task: Task, of_rows: RowDerivatives, multipliers: Array, d: Array) -> dict[str, Three]:
    """The derivatives of the multipliers as wrenches and numbers."""
    found: dict[str, Three] = {}
    rows = task.rows
    for i, (name, at) in enumerate(rows.places):
        if i < len(rows.loops):
            found[name] = _three(_wrench(rows.loops[i], *of_rows.turns[name], multipliers[at], d[at]))
        else:
            found[name] = _three(d[at.start])
    return found


def _wrench(loop: LoopRows, J: Array, dw: Array, multipliers: Array, d: Array) -> Array:
    """The columns of -R_ab Q* lambda: Q and R_ab turn with the dofs, R_ab by dR_ab = R_ab J~."""
    on_b = -loop.Q.T @ multipliers
    columns = -loop.Q.T @ d
    columns[:, : J.shape[1]] -= dw + np.concatenate([skew(on_b[:3]) @ J[:3], skew(on_b[3:]) @ J[:3]])
    return np.concatenate([loop.R_ab @ columns[:3], loop.R_ab @ columns[3:]])


def _three(d: Array) -> Three:
    nv = d.shape[-1] // 3
    return d[..., :nv], d[..., nv : 2 * nv], d[..., 2 * nv :]

"""Derivatives of the constrained forward dynamics: analytic, in the tangent space of the tree."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from soacraft.dynamics.compiled import pull_of
from soacraft.dynamics.derivatives import refuse_nonholonomic
from soacraft.dynamics.engine import answers
from soacraft.dynamics.problem import Problem
from soacraft.kinematics.checks import check_answer
from soacraft.kinematics.independent import ranges
from soacraft.kinematics.row_derivatives import RowDerivatives, row_derivatives
from soacraft.kinematics.rows import LoopRows
from soacraft.kinematics.sizes import sizes_of
from soacraft.kinematics.tasks import Task, body_forces, in_state, states_of
from soacraft.loops.solver import Solver, require_solver
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import skew

if TYPE_CHECKING:
    from soacraft.kinematics.compiled import CompiledClosures

Three = tuple[Array, Array, Array]
Ties = tuple[tuple[str, ...], tuple[str, ...]]
"""The names of the loops and of the couplings."""


class Derivatives:
    """The derivatives of `Result.vdot` along the dofs, in v and in the force; unpacks as `dq, dv, dforce = ...`."""

    __slots__ = ("_forces", "_ties", "dforce", "dq", "dv")

    dq: Array
    """(..., nv, nv)."""
    dv: Array
    """(..., nv, nv)."""
    dforce: Array
    """(..., nv, nv): symmetric, of the rank of the independent dofs."""

    def __init__(self, dq: Array, dv: Array, dforce: Array, forces: Three, ties: Ties) -> None:
        self.dq, self.dv, self.dforce = dq, dv, dforce
        self._forces, self._ties = forces, ties

    @property
    def multipliers(self) -> Mapping[str, Three]:
        """Derivatives along q, v and force of each of `Result.multipliers`: of a loop (..., 6, nv), of a coupling (...,
        nv).
        """
        loops, couplings = self._ties
        q, v, force = self._forces
        by_name: dict[str, Three] = {}
        for i, name in enumerate(loops):
            at = slice(6 * i, 6 * i + 6)
            by_name[name] = q[..., at, :], v[..., at, :], force[..., at, :]
        for i, name in enumerate(couplings, 6 * len(loops)):
            by_name[name] = q[..., i, :], v[..., i, :], force[..., i, :]
        return by_name

    def __iter__(self) -> Iterator[Array]:
        return iter((self.dq, self.dv, self.dforce))

    def __repr__(self) -> str:
        names = ", ".join(map(repr, (*self._ties[0], *self._ties[1]))) or "nothing"
        return f"Derivatives of vdot {self.dq.shape}, and of the multipliers of {names}"


def forward_dynamics_derivatives(
    solver: Solver, q: Any, v: Any, force: Any, f_ext: Any = None, *, passive: bool = True
) -> Derivatives:
    """The derivatives of `solver.forward_dynamics` at closed states, exact for every hinge. O(n nv + m nv^2), m rows.

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
    augmented = getattr(type(solver), "_augmented", None)  # of solvers alone: others are refused below
    compiled: CompiledClosures | None = None if augmented is None else augmented(solver)
    if compiled is not None and f_ext is None:
        quick = compiled.derivatives(q, v, force, solver._turns, passive)
        if quick is not None:
            if quick[6] is not None:
                solver._turns = quick[6]
            closures = compiled.plan.closures
            return Derivatives(quick[0], quick[1], quick[2], quick[3:6], (closures.loops, closures.couplings))
    require_solver("forward_dynamics_derivatives", solver)
    p = solver._read("forward_dynamics_derivatives", q=q, v=v, force=force, f_ext=f_ext, passive=passive)
    refuse_nonholonomic(p)
    outs, fine = _compiled(solver, p)
    for i, (index, (state, one, forces)) in enumerate(zip(np.ndindex(*p.batch), states_of(p), strict=True)):
        if not fine[i]:
            with in_state(p.batch, index):
                d, _ = at_task(solver, solver._task(state, one["force"], forces, {}, passive=p.passive))
                for to, x in zip(outs, (*d, *d._forces), strict=True):
                    to[i] = x
    parts = [x.reshape(*p.batch, *x.shape[1:]) for x in outs]
    return Derivatives(parts[0], parts[1], parts[2], (parts[3], parts[4], parts[5]), _ties(solver))


def _ties(solver: Solver) -> Ties:
    graph = solver.graph
    return tuple(x.name for x in graph.loops if x.active), tuple(x.name for x in graph.couplings if x.active)


def _compiled(solver: Solver, p: Problem) -> tuple[tuple[Array, ...], npt.NDArray[np.bool_]]:
    """The derivatives at all states, (count, ...), and where compiled code is sure of them: unless forces keep axes
    other than those of their nodes.
    """
    count, (loops, couplings) = math.prod(p.batch), _ties(solver)
    flexible = solver._compiled is not None and solver._compiled.flexible
    if count and not flexible and all(wrench.expressed_in is None for _, wrench in p.forces):
        if solver._augmented() is None:
            state, one, forces = next(states_of(p))
            with in_state(p.batch, (0,) * len(p.batch)):
                solver._augment(solver._task(state, one["force"], forces, {}, passive=p.passive))
        compiled, turns = solver._augmented(), solver._turns
        if compiled is not None and turns is not None:
            arrays = (np.ascontiguousarray(p.full(x).reshape(count, -1)) for x in ("q", "v", "force"))
            q, v, force = arrays
            return compiled.derive(q, v, force, pull_of(p, count) if p.forces else None, turns, p.passive)
    rows = 6 * len(loops) + len(couplings)
    outs = tuple(np.empty((count, n, p.nv)) for n in (p.nv, p.nv, p.nv, rows, rows, rows))
    return outs, np.zeros(count, dtype=np.bool_)


def at_task(solver: Solver, task: Task) -> tuple[Derivatives, RowDerivatives]:
    """The derivatives at one state, and those of its rows."""
    rows, nv = task.rows, task.graph.nv
    solved = solver._solve(task)
    check_answer(task, solved.vdot, solved.multipliers, solver.tolerance)
    G = rows.jacobian()
    spaces = ranges(G, solver._choice(rows).rank, sizes_of(rows))
    inverse, free, N = spaces.inverse(G), spaces.free, spaces.repeated  # Gc^+, Gc free = 0, N* Gc = 0
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
    below = _forces(task, of_rows, multipliers, d_multipliers)
    ties = tuple(x.name for x in rows.loops), tuple(x.name for x in rows.couplings)
    return Derivatives(*_three(d), _three(below), ties), of_rows


def _inverse_dynamics_derivatives(task: Task, vdot: Array, multipliers: Array) -> Three:
    """dT along q and v with the constraint forces held in the axes of their bodies, and Mcal."""
    state = {"q": task.state.q, "v": task.state.v, "vdot": vdot}
    forces = task.forces + body_forces(task.rows, multipliers)
    p = Problem("inverse_dynamics_derivatives", task.graph, state, forces, passive=task.passive)
    parts = answers(p, None)
    return parts[0], parts[1], parts[2]


def _forces(task: Task, of_rows: RowDerivatives, multipliers: Array, d: Array) -> Array:
    """The derivatives of the multipliers as wrenches and numbers, one below the other."""
    parts, rows = [np.zeros((0, d.shape[1]))], task.rows
    for i, (name, at) in enumerate(rows.places):
        loop = i < len(rows.loops)
        parts.append(_wrench(rows.loops[i], *of_rows.turns[name], multipliers[at], d[at]) if loop else d[at])
    return np.concatenate(parts)


def _wrench(loop: LoopRows, J: Array, dw: Array, multipliers: Array, d: Array) -> Array:
    """The columns of -R_ab Q* lambda: Q and R_ab turn with the dofs, R_ab by dR_ab = R_ab J~."""
    on_b = -loop.Q.T @ multipliers
    columns = -loop.Q.T @ d
    columns[:, : J.shape[1]] -= dw + np.concatenate([skew(on_b[:3]) @ J[:3], skew(on_b[3:]) @ J[:3]])
    return np.concatenate([loop.R_ab @ columns[:3], loop.R_ab @ columns[3:]])


def _three(d: Array) -> Three:
    nv = d.shape[-1] // 3
    return d[..., :nv], d[..., nv : 2 * nv], d[..., 2 * nv :]

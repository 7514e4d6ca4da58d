"""Linearization of a closed chain about a state, in the tangent coordinates of its independent dofs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft.analysis.linearize import Linearization, kinematic_block, natural_sizes, units_of
from soacraft.analysis.steady import Course, Instant
from soacraft.dynamics.derivatives import refuse_nonholonomic
from soacraft.errors import StateError
from soacraft.kinematics.independent import Indices, choose, completed, dofs_named, expansion, refuse_held
from soacraft.kinematics.rows import Constraints, seen_from
from soacraft.kinematics.sizes import Sizes, sizes_of
from soacraft.kinematics.tasks import states_of
from soacraft.loops.derivatives import at_task
from soacraft.loops.solver import Solver, require_solver
from soacraft.model.states.hinge_fit import placing_rows
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.dynamics.problem import Problem

Names = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ClosedLinearization(Linearization):
    """`A` (p + m, p + m) and `B` (p + m, nv) for m independent dofs, `dof_names`; forces are those of the tree.

    Configurations move in p dofs, `position_names`: the same ones, unless a closure rolls, which then has more places
    than ways to move. The whole tree moves by `Z xi` in configuration and by `X dv + Y xi` in velocity: (nv, p), (nv,
    m) and (nv, p). Where nothing rolls, Z is X.
    """

    X: Array
    Y: Array
    Z: Array
    position_names: tuple[str, ...]
    position_sizes: tuple[float, ...] = field(default=(), kw_only=True)
    """Units of the entries of xi, as `dof_sizes` for those of dv."""

    @property
    def _sizes(self) -> tuple[Array, Array]:
        return np.array(self.position_sizes), np.array(self.dof_sizes)

    def __repr__(self) -> str:
        (nv, m), size, forces = self.X.shape, len(self.A), self.B.shape[-1]
        places = "" if self.Z is self.X else f", which {len(self.position_names)} dofs place"
        return f"ClosedLinearization of {m} independent of {nv} dofs{places}: A {size} x {size}, B {size} x {forces}"


def linearize(
    solver: Solver, q: Any, v: Any, force: Any, f_ext: Any = None, *, passive: bool = True
) -> ClosedLinearization:
    """The motion of a closed chain about (q, v) under a constant force, to first order. O(n nv + nv^3).

        xi_i = difference(q, q')_i,  dv_i = v'_i - v_i       of the independent dofs, the others as the closures say:
        xi = X xi_i,   dv = X dv_i + Y xi_i,                 Gc X = 0,   Gc Y = -d(Gc v)/dq X,   Y_i = 0
        A = [[(N X)_i, I], [(dvdot/dq X + dvdot/dv Y)_i, (dvdot/dv X)_i]],    B = [0; (dvdot/dforce)_i]

    (formula F14) with N of formula F7 and the derivatives of `forward_dynamics_derivatives`. The independent dofs are
    those of `solver.independent(q)`. One state at a time, as another may have other independent dofs.

    A loop may close by a hinge that rolls (`RollingBall`, `RollingDisc`, one of your own): where it is takes more dofs
    than how it moves. Then xi has p > m entries,

        xi = Z xi_p,   Gp Z = 0 for the rows that say where closures are,   xidot_p = (N Z + Y)_p xi_p + X_p dv_i

    `analysis.linearize` does so for a tree with bodies on rolling hinges: each on a `Free` hinge with that hinge as its
    loop.
    All closures count as at rest: there is no `U` that drives them here. `passive=False` leaves the model's own springs
    and dampers out.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> mb = sc.Multibody("geared pendulum", gravity=(0, 0, -9.81))
    >>> bob = mb.add_body("bob", None, sc.Pin((0, 1, 0)), sc.Inertia.point(1.0, (0, 0, -1)))
    >>> wheel = mb.add_body("wheel", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    >>> gear = mb.couple("gear", {"wheel": 1.0, "bob": -1.0})
    >>> lin = linearize(sc.loops.TreeAugmented(mb), [0, 0], [0, 0], [0, 0])
    >>> lin
    ClosedLinearization of 1 independent of 2 dofs: A 2 x 2, B 2 x 2
    >>> np.round(lin.A[1, 0], 3)                                      # -m g l / (m l^2 + I)
    np.float64(-4.905)
    """
    require_solver("linearize", solver)
    p = solver._read("linearize", q=q, v=v, force=force, f_ext=f_ext, passive=passive)
    if p.batch:
        raise StateError(f"linearize takes one state of a closed chain, got a batch {p.batch}.")
    refuse_nonholonomic(p)
    ((state, one, forces),) = states_of(p)
    task = solver._task(state, one["force"], forces, {}, passive=p.passive)
    d, of_rows = at_task(solver, task)
    G, choice = task.rows.jacobian(), solver._choice(task.rows)
    i, m = choice.independent, len(choice.independent)
    sizes = sizes_of(task.rows)
    X = expansion(G, choice, sizes)
    refuse_held(task.rows, G, choice, X, sizes)
    Z, places = X, i
    if any(not loop.closure.hinge.holonomic for loop in task.rows.loops):
        Z, places = _placed(task.rows, sizes, i)
    n = len(places)
    Y = completed(G, choice, np.zeros((m, n)), -of_rows.speed @ Z, sizes)
    A, B = np.zeros((n + m, n + m)), np.zeros((n + m, p.nv))
    A[:n, :n], A[:n, n:] = (kinematic_block(p) @ Z + Y)[places], X[places]
    A[n:, :n], A[n:, n:] = (d.dq @ Z + d.dv @ Y)[i], (d.dv @ X)[i]
    B[n:] = d.dforce[i]
    dofs, rate = natural_sizes(p.graph, one["v"], np.zeros(p.nv))
    names, at = dofs_named(task.rows, i), dofs_named(task.rows, places)
    course = _course(solver, p, f_ext, names, at, np.concatenate([places, p.nv + np.asarray(i)]))
    return ClosedLinearization(
        A, B, names, X, Y, Z, at, position_sizes=tuple(dofs[places].tolist()), dof_sizes=tuple(dofs[i].tolist()),
        rate=rate, units=units_of(p.graph), course=course,
    )  # fmt: skip


def _course(solver: Solver, p: Problem, f_ext: Any, dofs: Names, places: Names, chosen: Any) -> Course:
    """The motion of a closed chain through the state of a problem, under its constant force."""
    force, nv = p.full("force"), p.nv

    def at(q: Array, v: Array) -> Instant:
        lin = linearize(solver, q, v, force, f_ext, passive=p.passive)
        n = len(lin.position_names)
        E = np.zeros((2 * nv, len(lin.A)))
        E[:nv, :n], E[nv:, :n], E[nv:, n:] = lin.Z, lin.Y, lin.X
        if (lin.dof_names, lin.position_names) != (dofs, places):  # other dofs are independent there
            E = np.full_like(E, np.nan)
        return Instant(lin.A, E)

    def accelerated(q: Array, v: Array) -> Array:
        return np.asarray(solver.forward_dynamics(q, v, force, f_ext, passive=p.passive).vdot)

    return Course(p.graph, p.full("q"), p.full("v"), at, accelerated, chosen)


def _placed(rows: Constraints, sizes: Sizes, independent: Indices) -> tuple[Array, Indices]:
    """Z (nv, p), and the p dofs that place the closures, those that move them among them: of closures that roll, only
    the rows count that say where they are.
    """
    G = np.where(sizes.moved, rows.jacobian() / rows.common_units[:, None] / sizes.dofs, 0.0)
    parts = [np.zeros((0, rows.graph.nv))]
    for loop, (_, at) in zip(rows.loops, rows.places, strict=False):
        E = np.eye(loop.size)
        if not loop.closure.hinge.holonomic:
            target = seen_from(rows.state, loop)
            E = placing_rows(loop.closure.hinge, target, loop.Q, rows.common_units[at], rows.measure.length)
        parts.append(E @ G[at])
    parts += [G[at] for _, at in rows.places[len(rows.loops) :]]
    placing, moving, c = np.concatenate(parts), np.zeros(rows.graph.nv, dtype=np.bool_), sizes.dofs
    moving[independent] = True
    choice = choose(placing, wanted=moving)
    return expansion(placing, choice) * c[choice.independent] / c[:, None], choice.independent

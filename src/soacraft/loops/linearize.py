"""Linearization of a closed chain about a state, in the tangent coordinates of its independent dofs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft.analysis.linearize import Linearization, kinematic_block, natural_sizes
from soacraft.dynamics.derivatives import refuse_nonholonomic
from soacraft.errors import LoopError, StateError
from soacraft.kinematics.independent import completed, dofs_named, expansion, refuse_held
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.sizes import sizes_of
from soacraft.kinematics.tasks import states_of
from soacraft.loops.derivatives import at_task
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.loops.solver import Solver


@dataclass(frozen=True, eq=False)
class ClosedLinearization(Linearization):
    """`A` (2 m, 2 m) and `B` (2 m, nv) for m independent dofs, `dof_names`; forces are those of the tree.

    The whole tree moves by `X xi` in configuration and by `X dv + Y xi` in velocity, (nv, m) each.
    """

    X: Array
    Y: Array

    def __repr__(self) -> str:
        m, nv = self.X.shape[1], self.X.shape[0]
        return f"ClosedLinearization of {m} independent of {nv} dofs: A {2 * m} x {2 * m}, B {2 * m} x {nv}"


def linearize(
    solver: Solver, q: Any, v: Any, force: Any, f_ext: Any = None, *, passive: bool = True
) -> ClosedLinearization:
    """The motion of a closed chain about (q, v) under a constant force, to first order. O(n nv + nv^3).

        xi_i = difference(q, q')_i,  dv_i = v'_i - v_i       of the independent dofs, the others as the closures say:
        xi = X xi_i,   dv = X dv_i + Y xi_i,                 Gc X = 0,   Gc Y = -d(Gc v)/dq X,   Y_i = 0
        A = [[(N X)_i, I], [(dvdot/dq X + dvdot/dv Y)_i, (dvdot/dv X)_i]],    B = [0; (dvdot/dforce)_i]

    (formula F14) with N of formula F7 and the derivatives of `forward_dynamics_derivatives`. The independent dofs are
    those of `solver.independent(q)`. One state at a time, as another may have other independent dofs.
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
    p = solver._read("linearize", q=q, v=v, force=force, f_ext=f_ext, passive=passive)
    if p.batch:
        raise StateError(f"linearize takes one state of a closed chain, got a batch {p.batch}.")
    refuse_nonholonomic(p)
    ((state, one, forces),) = states_of(p)
    task = solver._task(state, one["force"], forces, {}, passive=p.passive)
    _refuse_rolling(task.rows)
    d, of_rows = at_task(solver, task)
    G, choice = task.rows.jacobian(), solver._choice(task.rows)
    i, m = choice.independent, len(choice.independent)
    sizes = sizes_of(task.rows)
    X = expansion(G, choice, sizes)
    refuse_held(task.rows, G, choice, X, sizes)
    Y = completed(G, choice, np.zeros((m, m)), -of_rows.speed @ X, sizes)
    A, B = np.zeros((2 * m, 2 * m)), np.zeros((2 * m, p.nv))
    A[:m, :m], A[:m, m:] = (kinematic_block(p) @ X)[i], np.eye(m)
    A[m:, :m], A[m:, m:] = (d.dq @ X + d.dv @ Y)[i], (d.dv @ X)[i]
    B[m:] = d.dforce[i]
    dofs, rate = natural_sizes(p.graph, one["v"], np.zeros(p.nv))
    return ClosedLinearization(A, B, dofs_named(task.rows, i), X, Y, dof_sizes=tuple(dofs[i].tolist()), rate=rate)


def _refuse_rolling(rows: Constraints) -> None:
    for loop in rows.loops:
        if not loop.closure.hinge.holonomic:
            raise LoopError(
                f"linearize: loop {loop.name!r} closes by {loop.closure.hinge!r}, which is nonholonomic: its rows do "
                "not say where the independent dofs lead. forward_dynamics_derivatives gives the derivatives of vdot."
            )

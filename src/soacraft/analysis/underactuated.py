"""Dofs that nobody drives: Jacobians and inertias seen by the driven ones.

With the dofs split in passive p and active a, and no force on the passive ones,

    vdot_p = -Mcal_pp^-1 (Mcal_pa vdot_a + C_p)                                                    (formula F11)

Mcal_pa comes from one pair of sweeps with a column for each active dof, Mcal_pp^-1 from articulated bodies built on the
passive dofs only: O(n) for a column, never a dense factorization.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft.analysis.finite import refusing_overflow
from soacraft.dynamics.arguments import check_loops, read_graph, read_prescribed, read_problem
from soacraft.dynamics.forces import bias_force
from soacraft.dynamics.nodes import Nodes, jacobian
from soacraft.dynamics.problem import Mask, Problem
from soacraft.dynamics.reference.blocks import over_dofs, rows
from soacraft.errors import ModelError
from soacraft.model.flat.sko import SKOModel
from soacraft.model.hinges import Free
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.graph import Graph
from soacraft.recursions import forward_dynamics, newton_euler
from soacraft.spatial.checks import Array


@refusing_overflow()
def disturbance_jacobian(
    g: Graph,
    q: Any,
    nodes: Nodes,
    passive: Any,
    expressed_in: Frame | str = "inertial",
    *,
    ignore_loops: bool = False,
) -> Array:
    """Jacobian of nodes along the active dofs while the passive ones give way, (..., 6 k, number of active dofs). O(n
    n_a).

        J_D = J_a - J_p Mcal_pp^-1 Mcal_pa = B* (psi_p* - Omega_p P_p) H_a*                        (formula F11)

    For accelerations from rest without gravity, and for velocities when the momentum along the passive dofs is zero.
    `passive`: names or numbers of dofs, names of hinges, or a mask. The columns are the other dofs, in order.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft.analysis import disturbance_jacobian
    >>> mb = sc.load("cart_pole")                       # pushing the cart moves the tip of a free pole backwards
    >>> J = disturbance_jacobian(mb, [0.0, 0.0], "pole/tip", passive=["pole"])
    >>> bool(J[3, 0] < 0)
    True
    """
    p, mask = _problem("disturbance_jacobian", g, q, passive, ignore_loops)
    J = jacobian(g, p.full("q"), nodes, expressed_in, ignore_loops=ignore_loops)
    _, follow = _response(p, mask)
    return np.asarray(J[..., ~mask] - J[..., mask] @ follow)


def generalized_jacobian(
    g: Graph, q: Any, nodes: Nodes, expressed_in: Frame | str = "inertial", *, ignore_loops: bool = False
) -> Array:
    """The Jacobian of a free-floating model at zero momentum, (..., 6 k, nv - 6). O(n nv).

        J_G = J_m - J_b M_bb^-1 M_bm,   M_bb = H_b R(b) H_b*,   M_bm = H_b (phi R)(b,:) H_m*       (formula F11)

    The base is the one body on the inertial frame; its hinge is `Free`. The columns are the other dofs.

    >>> import soacraft as sc
    >>> from soacraft.analysis import generalized_jacobian
    >>> mb = sc.load("quadrotor_arm")
    >>> generalized_jacobian(mb, mb.q, "hand/grip").shape
    (6, 3)
    """
    base = free_base("generalized_jacobian", g)
    check_loops("generalized_jacobian", g, ignore_loops)
    return disturbance_jacobian(g, q, nodes, [base.hinge_name], expressed_in, ignore_loops=ignore_loops)


@dataclass(frozen=True, eq=False)
class Underactuated:
    """Dynamics seen by the active dofs: `force = inertia @ vdot_a + bias`, and `vdot_p = -follow @ vdot_a - drift`."""

    inertia: Array
    """S_aa = Mcal_aa - Mcal_ap Mcal_pp^-1 Mcal_pa = ((Mcal^-1)_aa)^-1 (n_a, n_a)."""
    bias: Array
    """C_a - Mcal_ap Mcal_pp^-1 C_p (n_a)."""
    follow: Array
    """Mcal_pp^-1 Mcal_pa (n_p, n_a)."""
    drift: Array
    """Mcal_pp^-1 C_p (n_p)."""
    active: tuple[str, ...]
    passive: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Underactuated: active {', '.join(self.active) or 'none'}; passive {', '.join(self.passive) or 'none'}"


@refusing_overflow()
def underactuated(
    g: Graph, q: Any = None, v: Any = None, *, passive: Any, ignore_loops: bool = False
) -> Underactuated:
    """The equations of motion of the active dofs when no force acts on the passive ones. O(n n_a).

        T_a = S_aa vdot_a + C_a - Mcal_ap Mcal_pp^-1 C_p,    S_aa = ((Mcal^-1)_aa)^-1              (formula F11)

    `q` and `v` default to the model's state. `passive` as for `disturbance_jacobian`. What springs, dampers and gravity
    compensation do is part of C, as in `dynamics.bias_force`.

    >>> import soacraft as sc
    >>> from soacraft.analysis import underactuated
    >>> u = underactuated(sc.load("cart_pole"), [0.0, 0.0], [0.0, 0.0], passive=["pole"])
    >>> u
    Underactuated: active cart; passive pole
    >>> bool(u.inertia[0, 0] < 1.2)                     # less than both masses: the pole gives way
    True
    """
    if isinstance(g, Graph):
        q, v = (g.current.q if q is None else q), (g.current.v if v is None else v)
    p, mask = _problem("underactuated", g, q, passive, ignore_loops, v=v)
    columns, follow = _response(p, mask)
    C = bias_force(g, p.full("q"), p.full("v"), ignore_loops=ignore_loops)
    drift = _solve(p, mask, C[..., mask, None])[..., 0]
    S = columns[..., ~mask, :] - columns[..., mask, :].mT @ follow
    bias = C[..., ~mask] - (columns[..., mask, :].mT @ drift[..., None])[..., 0]
    names = np.array(g.dof_names)
    return Underactuated(0.5 * (S + S.mT), bias, follow, drift, tuple(names[~mask]), tuple(names[mask]))


def free_base(function: str, g: Graph) -> Body:
    """The one base body of a free-floating model."""
    bases = [g.bodies[k] for k in read_graph(function, g).layout.tree.children(-1)]
    if len(bases) != 1 or not isinstance(bases[0].hinge, Free):
        listed = ", ".join(f"{body.name!r} by {body.hinge!r}" for body in bases[:4]) or "no body"
        raise ModelError(
            f"{function} is for a free-floating model: one base body on a Free() hinge; {g.name!r} has {listed}."
        )
    return bases[0]


def _problem(function: str, g: Any, q: Any, passive: Any, ignore_loops: Any, **options: Any) -> tuple[Problem, Mask]:
    p = read_problem(function, g, q=q, ignore_loops=ignore_loops, **options)
    return p, read_prescribed(p.graph, passive, "passive")


def _response(p: Problem, passive: Mask) -> tuple[Array, Array]:
    """Mcal_:a (nv, n_a) and Mcal_pp^-1 Mcal_pa (n_p, n_a)."""
    unit = np.eye(p.nv)[:, ~passive]
    shape = (*p.batch, p.nv, unit.shape[1])
    if not unit.shape[1]:
        return np.zeros(shape), np.zeros((*p.batch, p.nv, 0))
    columns = np.broadcast_to(over_dofs(p, newton_euler(p.linear, rows(p, unit)).T), shape)
    return columns, _solve(p, passive, columns[..., passive, :])


def _solve(p: Problem, passive: Mask, X: Array) -> Array:
    """Mcal_pp^-1 X by articulated bodies on the passive dofs."""
    m = p.linear
    free = [np.flatnonzero(passive[dofs]) for dofs in p.layout.v_slices]
    H = [m.H(k)[..., free[k], :] for k in m.nodes]
    partly = SKOModel.trusted(m.tree, m.edges, H, [m.M(k) for k in m.nodes], lock=m.lock)
    ends = np.cumsum([0, *(len(part) for part in free)])
    rates = forward_dynamics(partly, [X[..., ends[k] : ends[k + 1], :] for k in m.nodes]).vdot
    solved = np.empty(np.broadcast_shapes(X.shape, (*p.batch, *X.shape[-2:])))
    for k in m.nodes:
        solved[..., ends[k] : ends[k + 1], :] = rates[k]
    return solved

"""Slopes of points and rates in the chart of a step: along its start, and along the chart coordinates.

With q1 = move(q0, U), v1 = E (v0 + dv) of what is free (E = exp(-U~) of its turn; E = 1 of all else), J_q and J_u those
of q1 along dofs, J the right Jacobian of the turn:

    dq1 = J_q dq0 + J_u dU              J_q = [[E, 0], [-E d~, E]],   J_u = [[J, 0], [0, E]]      of a free hinge
    dv1 = E (dv0 + d dv) + v1~ J dU
    K = J_u^-1 w                        dK = J_u^-1 dw + `bent` dU
    k = E* a,    a = vdot + w x v       dk = E* da - E* a~ J dU

All matrices are (..., nv, nv).
"""

from __future__ import annotations

import numpy as np

from soacraft.model.flat.realize import times
from soacraft.model.hinges import Free, Spherical
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.integrators.manifold import Coordinates
from soacraft.spatial.checks import Array
from soacraft.spatial.differences import STENCIL
from soacraft.spatial.rotations import skew
from soacraft.spatial.transforms import log_rate

#: Step of the differences, in radians.
_STEP = 5e-3


class ChartSlopes:
    """Slopes of the coordinates of one model, of hinges that do not roll."""

    def __init__(self, mb: Multibody, space: Coordinates) -> None:
        self.mb, self.space = mb, space

    def jacobians(self, q: Array, U: Array) -> tuple[Array, Array]:
        """J_q and J_u."""
        if not len(self.space.free_v):
            J_q, J_u = self.mb.integrate_jacobians(q, U)
            return J_q, J_u
        still = np.array(U)
        for at in self.space.free_v:
            still[..., at[3:]] = 0.0
        J_q, J_u = (np.array(x) for x in self.mb.integrate_jacobians(q, still))
        for at in self.space.free_v:
            turn, travel = at[:3], at[3:]
            back = J_q[..., turn[:, None], turn]
            J_q[..., travel[:, None], turn] = -back @ skew(U[..., travel])
            J_u[..., travel[:, None], travel] = back
        return J_q, J_u

    def velocity(self, v: Array, J_q: Array, J_u: Array) -> tuple[Array, Array]:
        """Slopes of the velocities v at the moved point along v0 + dv, and along U."""
        in_v, in_U = np.zeros(J_u.shape), np.zeros(J_u.shape)
        in_v[...] = np.eye(J_u.shape[-1])
        for at in self.space.free_v:
            turn, travel = at[:3], at[3:]
            in_v[..., travel[:, None], travel] = J_q[..., turn[:, None], turn]
            in_U[..., travel[:, None], turn] = skew(v[..., travel]) @ J_u[..., turn[:, None], turn]
        return in_v, in_U

    def rate(self, a: Array, J_q: Array, J_u: Array) -> tuple[Array, Array]:
        """Slopes of the rate k of v0 + dv along a at the moved point, and along U."""
        in_a, in_U = self.velocity(a, J_q, J_u)
        in_a = in_a.mT
        return in_a, -in_a @ in_U

    def straight(self, v: Array) -> Array:
        """Slope of a - vdot along v."""
        slope = np.zeros((*v.shape, v.shape[-1]))
        for at in self.space.free_v:
            turn, travel = at[:3], at[3:]
            slope[..., travel[:, None], turn] = -skew(v[..., travel])
            slope[..., travel[:, None], travel] = skew(v[..., turn])
        return slope

    def bent(self, U: Array, w: Array, J_u: Array) -> Array:
        """Slope of J_u(U)^-1 w along U: zero but for hinges that turn as groups do."""
        slope_of_rates = np.zeros((*U.shape, U.shape[-1]))
        for group in self.mb.layout.groups:
            if type(group.hinge) not in (Spherical, Free):
                continue
            at = group.v_index[:, :3]
            x, y = U[..., at], w[..., at]
            for j, step in enumerate(_STEP * np.eye(3)):
                ends = ((c, log_rate(x + i * step), log_rate(x - i * step)) for i, c in STENCIL)
                slope = sum(c * (times(there, y) - times(back, y)) for c, there, back in ends)
                slope_of_rates[..., at, at[:, [j]]] = slope / _STEP
        for at in self.space.free_v:
            turn, travel = at[:3], at[3:]
            forth = J_u[..., travel[:, None], travel].mT
            slope_of_rates[..., travel[:, None], turn] = -forth @ skew(w[..., travel]) @ J_u[..., turn[:, None], turn]
        return slope_of_rates

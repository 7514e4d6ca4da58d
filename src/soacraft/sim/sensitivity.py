"""Derivatives of Runge-Kutta steps with respect to state, force and parameters: exact for the steps as they are taken.

With U_i the coordinates of stages in the chart of the step's start, q_i = move(q, U_i), J_q and J_u how that varies,

    K_i = J_u(U_i)^-1 v_i                  dK_i = J_u^-1 dv_i + (d/dU J_u^-1 v_i) dU_i
    vdot_i = forward_dynamics(q_i, v_i)    dvdot_i = F_q (J_q dq + J_u dU_i) + F_v dv_i + F_T dT + F_p dp

where the travel of what is free, its v and vdot + w x v, are in the axes of the start (`chart_slopes`),
with the analytic derivatives of forward dynamics, for all steps of all states at once. A tangent vector is [dq; dv].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft import dynamics as dyn
from soacraft.analysis import parameter_derivatives
from soacraft.analysis import parameters as named_parameters
from soacraft.errors import ModelError, StateError
from soacraft.model.flat.realize import times
from soacraft.model.tree.multibody import Multibody
from soacraft.order import Order, in_order
from soacraft.results import refuse_large
from soacraft.sim.integrators.chart_slopes import ChartSlopes
from soacraft.sim.integrators.explicit import RK4
from soacraft.sim.integrators.manifold import Coordinates
from soacraft.spatial.checks import Array, finite


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """A rollout with its derivatives: dx(k+1) = A(k) dx(k) + B(k) dT(k) + C(k) dp, with dx = [dq; dv] along dofs.

    Made by `p.rollout_derivatives` and `run.derivatives`. On closed chains dx is along all dofs, on the closures.
    """

    q: Array
    """(..., steps + 1, nq)."""
    v: Array
    """(..., steps + 1, nv)."""
    A: Array
    """(..., steps, 2 nv, 2 nv)."""
    B: Array
    """(..., steps, 2 nv, nv): by the force held in the step."""
    C: Array
    """(..., steps, 2 nv, numbers of the parameters)."""
    parameters: tuple[str, ...]
    _order: Order
    """The order of the entries of a force."""

    def __repr__(self) -> str:
        steps, nx = self.A.shape[-3], self.A.shape[-1]
        batch = "" if self.A.ndim == 3 else f", batch {self.A.shape[:-3]}"
        named = f", parameters {', '.join(self.parameters)}" if self.parameters else ""
        return f"Sensitivity of {steps} steps of {nx // 2} dofs{named}{batch}"

    def forward(self, dx: Any = 0.0, force: Any = 0.0, parameters: Any = 0.0) -> Array:
        """Variations of all states, (..., steps + 1, 2 nv), with the first one by dx (2 nv), with the forces by
        (..., steps, nv) and with the parameters. O(steps nv^2)."""
        shape = self.A.shape
        force = in_order(force, self._order, "force of a sensitivity")
        pushed = times(self.B, _read(force, "force", (*shape[:-2], self.B.shape[-1])))
        pushed = pushed + self.C @ _read(parameters, "parameters", (self.C.shape[-1],))
        variations = np.empty((*shape[:-3], shape[-3] + 1, shape[-1]))
        variations[..., 0, :] = _read(dx, "dx", (*shape[:-3], shape[-1]))
        for k in range(shape[-3]):
            variations[..., k + 1, :] = times(self.A[..., k, :, :], variations[..., k, :]) + pushed[..., k, :]
        return variations

    def adjoint(self, gradient: Any) -> tuple[Array, Array, Array]:
        """The gradient of a number in the first state (..., 2 nv), the forces (..., steps, nv) and the parameters
        (..., parameters), from its gradient in all states, (..., steps + 1, 2 nv). O(steps nv^2).

            y(k) = gradient(k) + A(k)* y(k+1),    in the force B(k)* y(k+1),    in the parameters sum of C(k)* y(k+1)
        """
        shape = self.A.shape
        g = _read(gradient, "gradient", (*shape[:-3], shape[-3] + 1, shape[-1]))
        y = np.array(g[..., -1, :])
        in_force = np.empty((*shape[:-2], self.B.shape[-1]))
        in_parameters = np.zeros((*shape[:-3], self.C.shape[-1]))
        for k in range(shape[-3] - 1, -1, -1):
            in_force[..., k, :] = times(self.B[..., k, :, :].mT, y)
            in_parameters += times(self.C[..., k, :, :].mT, y)
            y = g[..., k, :] + times(self.A[..., k, :, :].mT, y)
        return y, in_force, in_parameters


def sensitivity(
    mb: Multibody, q: Array, v: Array, force: Array, h: float, parameters: Sequence[str] | str
) -> Sensitivity:
    """Derivatives of the steps of a rollout: q (..., steps + 1, nq), v likewise, force (..., steps, nv)."""
    nv, names, order = mb.nv, read_names(parameters), mb.layout.v_order
    batch = force.shape[:-1]
    what = f"the derivatives of a rollout of {mb.name!r}"
    numbers = len(named_parameters(mb, list(names))) if names else 0
    refuse_large((*batch, 2 * nv, 3 * nv + numbers), what, "Take fewer states or steps.")
    Q, V = (x[..., :-1, :].reshape(-1, x.shape[-1]) for x in (q, v))
    if not len(Q):
        d = np.zeros((*batch, 2 * nv, 3 * nv + numbers))
        return Sensitivity(q, v, d[..., : 2 * nv], d[..., 2 * nv : 3 * nv], d[..., 3 * nv :], names, order)
    d = _step(mb, Q, V, force.reshape(-1, nv), h, names, 3 * nv + numbers).reshape(*batch, 2 * nv, -1)
    return Sensitivity(q, v, d[..., : 2 * nv], d[..., 2 * nv : 3 * nv], d[..., 3 * nv :], names, order)


def read_names(parameters: Sequence[str] | str) -> tuple[str, ...]:
    """Names of parameters: one, or a list of them."""
    if not isinstance(parameters, str) and not isinstance(parameters, Sequence):
        raise ModelError(
            f"parameters of a rollout are a list of names such as 'link3.mass', or (); got {parameters!r:.60}."
        )
    return (parameters,) if isinstance(parameters, str) else tuple(parameters)


def _step(mb: Multibody, q: Array, v: Array, T: Array, h: float, names: tuple[str, ...], size: int) -> Array:
    """[dq; dv] at the end of one step from each of many states, by [dq; dv; dT; dp] at its start."""
    nv, count = mb.nv, len(q)
    space = Coordinates(mb)
    chart = ChartSlopes(mb, space)
    dq, dv, directions = np.split(np.broadcast_to(np.eye(size), (count, size, size)), (nv, 2 * nv), axis=1)
    K: list[Array] = []
    k: list[Array] = []
    dK: list[Array] = []
    dk: list[Array] = []
    for b in h * RK4.A:
        U, y = _mixed(b, K, 0.0 * v), v + _mixed(b, k, 0.0 * v)
        dU, dy = _mixed(b, dK, 0.0 * dq), dv + _mixed(b, dk, 0.0 * dq)
        q_i = space.move(q, U)
        v_i = space.velocity(q_i, y, q)
        J_q, J_u = chart.jacobians(q, U)
        in_y, in_U = chart.velocity(v_i, J_q, J_u)
        dv_i = in_y @ dy + in_U @ dU
        back = np.asarray(np.linalg.inv(J_u), dtype=np.float64)
        K.append(times(back, v_i))
        dK.append(back @ dv_i + chart.bent(U, v_i, J_u) @ dU)
        a = space.straight(v_i, dyn.forward_dynamics(mb, q_i, v_i, T))
        F_q, F_v, F_T = dyn.forward_dynamics_derivatives(mb, q_i, v_i, T)
        F_p = [parameter_derivatives(mb, "forward_dynamics", list(names), q_i, v_i, T)] if names else []
        pushed = np.concatenate([F_T, *F_p], axis=-1) @ directions
        da = F_q @ (J_q @ dq + J_u @ dU) + (F_v + chart.straight(v_i)) @ dv_i + pushed
        in_a, in_U = chart.rate(a, J_q, J_u)
        k.append(times(in_a, a))
        dk.append(in_a @ da + in_U @ dU)
    b = h * RK4.b
    U, dU = _mixed(b, K, 0.0 * v), _mixed(b, dK, 0.0 * dq)
    J_q, J_u = chart.jacobians(q, U)
    v_1 = space.velocity(space.move(q, U), v + _mixed(b, k, 0.0 * v), q)
    in_y, in_U = chart.velocity(v_1, J_q, J_u)
    return np.concatenate([J_q @ dq + J_u @ dU, in_y @ (dv + _mixed(b, dk, 0.0 * dq)) + in_U @ dU], axis=1)


def _mixed(weights: Array, parts: list[Array], none: Array) -> Array:
    """The sum of weights times parts."""
    return sum((float(c) * x for c, x in zip(weights, parts, strict=False)), none)


def _read(x: Any, what: str, shape: tuple[int, ...]) -> Array:
    """Numbers of a shape: zero may be said as 0, and leading axes may be left out."""
    name = f"{what} of a sensitivity"
    numbers = finite(x, (...,) if np.ndim(x) == 0 else (..., shape[-1]), name, StateError)
    if numbers.ndim == 0 and numbers != 0.0:
        raise StateError(f"{name} needs {shape[-1]} numbers, or 0 for none, got {numbers}.")
    if numbers.ndim > len(shape) or any(
        n not in (1, m) for n, m in zip(numbers.shape[::-1], shape[::-1], strict=False)
    ):
        raise StateError(f"{name} has shape {shape}, or ends as that, got {numbers.shape}.")
    return np.broadcast_to(numbers, shape)

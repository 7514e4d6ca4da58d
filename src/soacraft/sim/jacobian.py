"""The Jacobian of a mechanism's rates in the chart of a state: what implicit methods need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from soacraft import dynamics as dyn
from soacraft.loops import forward_dynamics_derivatives
from soacraft.sim.forces.control_laws import forces_and_slopes, numbers_at
from soacraft.sim.forces.drives import Control
from soacraft.sim.forces.loads import Load
from soacraft.sim.integrators.chart_slopes import ChartSlopes
from soacraft.spatial.checks import Array
from soacraft.spatial.differences import STENCIL
from soacraft.spatial.rotations import skew

if TYPE_CHECKING:
    from soacraft.sim.closed import Closed
    from soacraft.sim.system import Mechanism

#: The step of differences, relative to the sizes of dofs and velocities: the root of rounding.
_STEP = 1.5e-8
#: Step of differences of order six.
_FINE = 1e-3


def of_tree(m: Mechanism, t: float, q: Array, v: Array, more: Array) -> Array:
    """[[-ad_v / 2, I], [da/dq, da/dv]], analytic but for forces that are functions; work feeds nothing back. `more` is
    a further generalized force that does not vary, (nv)."""
    nv, size = m.mb.nv, m.manifold.size
    total, slopes = of_loads(m, t, q, v)
    in_q, in_v, in_force = dyn.forward_dynamics_derivatives(m.mb, q, v, total + more)
    J = np.zeros((size, size))
    J[:nv, nv : 2 * nv] = np.eye(nv)
    J[:nv, :nv] = turning(m, v)
    J[nv : 2 * nv, :nv], J[nv : 2 * nv, nv : 2 * nv] = in_q, in_v
    if m.count:
        J[nv : 2 * nv, : 2 * nv] += in_force @ slopes
    return _inboard(m, q, v, total + more, J, np.eye(2 * nv)[nv:])


def of_closed(m: Mechanism, closed: Closed, t: float, q: Array, v: Array, more: Array) -> Array:
    """Jacobian of a closed chain, whose states are put on the closures: u moves them by P u alone. With B = dP v/dq,

        [[-ad_v / 2 + B, P], [dvdot/dq P + dvdot/dv B, dvdot/dv P]]

    P is the projection that the solver uses: least in the mass matrix, or along the dependent dofs. O(n nv + m nv^2).
    """
    nv, size = m.mb.nv, m.manifold.size
    total, slopes = of_loads(m, t, q, v)
    in_q, in_v, in_force = forward_dynamics_derivatives(closed.solver, q, v, total + more)
    P = closed.projector(q, in_force)
    B = closing_rate(m, v, P, in_v)
    if m.count:
        pushed = in_force @ slopes
        in_q, in_v = in_q + pushed[:, :nv], in_v + pushed[:, nv:]
    J = np.zeros((size, size))
    J[:nv, :nv], J[:nv, nv : 2 * nv] = turning(m, v) + B, P
    J[nv : 2 * nv, :nv], J[nv : 2 * nv, nv : 2 * nv] = in_q @ P + in_v @ B, in_v @ P
    return _inboard(m, q, v, total + more, J, np.concatenate([B, P], axis=1))


def closing_rate(m: Mechanism, v: Array, P: Array, in_v: Array) -> Array:
    """B = dP v/dq: how velocities on the closures vary with where they are, (nv, nv), from `in_v` = dvdot/dv.

        B = -(I - P) Gc^+ d(Gc v)/dq P = (I - P) (dvdot/dv / 2 + ad_v / 2) P

    Rows of closures are differentials, Gc v = dg, so that the rate of Gc v along w and that of Gc w along v differ by
    Gc [w, v], the bracket of both; their sum is dgamma/dv w of gamma = Gcdot v, and Gc dvdot/dv = -dgamma/dv. What
    forces have in it is a motion that the closures allow, of which I - P leaves nothing.
    """
    return np.asarray((np.eye(len(v)) - P) @ (0.5 * in_v - turning(m, v)) @ P)


def by_differences(m: Mechanism, t: float, x: Array, w: Array | None = None) -> Array:
    """Column by column: what rolls, is prescribed, sticks or is stabilized. Without rates w at x, the point is first
    put where prescribed motions and holds keep it now: an earlier row of a dof that sticks by now is moving."""
    size = m.manifold.size
    if w is None:
        x = m.settle(t, x, False)
        w = m.rates(t, x)
    J = np.zeros((size, size))
    scale = m.scale(x, w)
    for i in np.flatnonzero(np.isfinite(scale)):
        d = np.zeros(size)
        d[i] = _STEP * scale[i]
        moved = m.settle(t, m.manifold.move(x, d), False)
        J[:, i] = (m.manifold.rate(x, d, m.rates(t, moved)) - w) / d[i]
    return J


def turning(m: Mechanism, v: Array) -> Array:
    """Slope of dexp^-1(u) v along u at u = 0: (u x v) / 2 for turns and twists."""
    slope = np.zeros((len(v), len(v)))
    for group, free in m.coordinates.turning:
        for at in group.v_index[:, 0].tolist():
            turn, travel = slice(at, at + 3), slice(at + 3, at + 6)
            slope[turn, turn] = -0.5 * skew(v[turn])
            if free:
                slope[travel, turn] = -0.5 * skew(v[travel])
                slope[travel, travel] = slope[turn, turn]
    return slope


def _inboard(m: Mechanism, q: Array, v: Array, force: Array, J: Array, moved: Array) -> Array:
    """J where the travel of what is free, v and its rate are in the axes of the start, from that of twists, v and vdot
    in own axes; there dv = `moved` [dq; dv] and v' = exp(u~) v. `force` is the generalized force of all loads."""
    free, nv = m.coordinates.free_v, m.mb.nv
    if not len(free):
        return J
    a = m.coordinates.straight(v, m.accelerations(q, v, force))
    J[nv : 2 * nv, : 2 * nv] += ChartSlopes(m.mb, m.coordinates).straight(v) @ moved
    back = np.zeros((nv, nv))
    for at in free[:, 0].tolist():
        turn, travel = slice(at, at + 3), slice(at + 3, at + 6)
        back[travel, turn] = skew(v[travel])
        J[travel, turn] -= 0.5 * back[travel, turn]
        J[travel, travel] += 0.5 * skew(v[turn])
        J[nv + at + 3 : nv + at + 6, turn] -= skew(a[travel])
    J[:, :nv] += J[:, nv : 2 * nv] @ back
    return J


def of_loads(m: Mechanism, t: float, q: Array, v: Array, fine: bool = False) -> tuple[Array, Array]:
    """The force of the loads (nv), and its derivatives along dofs and in velocities, (nv, 2 nv): of controls by their
    laws, of what is a function by differences. `fine` takes those of order six, for which steps are longer: a field of
    gravity varies over a model by less than rounding over short ones."""
    nv = m.mb.nv
    controls: list[Control] = []
    others: list[Load] = []
    for x in m.loads:
        if isinstance(x, Control) and x.samples is not None:
            controls.append(x)
        else:
            others.append(x)
    total, slopes = np.zeros(nv), np.zeros((nv, 2 * nv))
    if controls:
        total, slopes = forces_and_slopes(m.laws_of(controls), numbers_at(controls, t, None), q, v)
    if not others:
        return total, slopes

    def pushed(q: Array, v: Array) -> Array:
        state = m.mb.state(q, v)
        return np.asarray(sum(x.force(m.seen(t), state) for x in others))

    here = pushed(q, v)
    unit = m.scale(m.point(q, v), np.zeros(m.manifold.size))
    for i in range(nv):
        for column, part in ((i, 0), (nv + i, 1)):
            d = np.zeros(nv)
            d[i] = (_FINE if fine else _STEP) * unit[column]

            def along(k: int, d: Array = d, part: int = part) -> Array:
                return pushed(*((m.mb.integrate(q, k * d), v) if part == 0 else (q, v + k * d)))

            rise = sum(c * (along(k) - along(-k)) for k, c in STENCIL) if fine else along(1) - here
            slopes[:, column] += rise / d[i]
    return total + here, slopes

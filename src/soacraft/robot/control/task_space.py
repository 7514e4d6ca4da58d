"""Laws at the tip of a limb: operational space, impedance, admittance.

    operational space   T = J* Lambda (x - dJ/dt v) + (I - J* Jbar*) T_0 + C   gives   J vdot + dJ/dt v = x
    impedance           T = J* (K_p e + K_d u) + C                             gives   Mcal vdot = J* (K_p e + K_d u)
                        u = twist of the goal less J v
    admittance          M xddot + D xdot + K x = f                             gives   the motion of a target

Lambda = (J Mcal^-1 J*)^-1 (000 Eq. 32-36; Khatib 1987). Where some dofs have no motor, or closures tie them, the same
equations hold in the accelerations a that can be chosen, vdot = X a + x0 (`soacraft.robot.control.freedoms`), with

    J X  for J,      X* Mcal X  for Mcal,      X* (C + Mcal x0)  for C,      dJ/dt v + J x0  for dJ/dt v

J X of a free-floating arm is the generalized Jacobian of Umetani and Yoshida (1989), `analysis.generalized_jacobian`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg

from soacraft import dynamics as dyn
from soacraft.analysis.finite import refusing_overflow
from soacraft.arguments import whole_number
from soacraft.errors import ModelError, SingularError, StateError
from soacraft.model.states.coordinates import common_batch, read_q, read_v
from soacraft.robot.control.freedoms import Freedom, freedom, gain, model_of, needed
from soacraft.robot.limbs.limb import Limb
from soacraft.robot.robot import Robot
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import log

#: Singular values of J, rows in radians and reaches of the limb, columns in radians and lengths of the model, that are
#: less than this part of the largest are damped: forces grow with its inverse.
NEAR_SINGULAR = 1e-2


@dataclass(frozen=True, eq=False)
class TaskForce:
    """A force, and how near the arm is to a singular pose."""

    force: Array
    """(..., nv)"""
    damped: Any
    """Number of directions of the task that are damped, since nearly nothing moves along them; 0: the task is exact."""
    inertia: Array
    """Lambda, (..., 6, 6), in axes of the base; with damping where there is any, zero in rows that are no task."""
    missing: Array
    """Part of the wanted acceleration that damping removes, (..., 6), in axes of the base; zero where the task is
    exact, and in rows that are no task."""

    def __repr__(self) -> str:
        how = "exact" if not np.any(self.damped) else f"{int(np.max(self.damped))} directions damped"
        return f"TaskForce of {self.force.shape[-1]} dofs, {how}"


@refusing_overflow()
def task_error(limb: Limb, q: Any, goal: Pose) -> Array:
    """The way from the tip to a goal, both seen from the base, [turn; way] in axes of the base, (..., 6).

    `q` is of the limb (..., nq).
    """
    here = _read(limb).pose(limb.read_q(q, (..., limb.nq)))
    if not isinstance(goal, Pose):
        raise StateError(f"a goal is a Pose(...), got {goal!r:.60}.")
    turn = log(np.asarray(goal.rotation) @ np.asarray(here.rotation).mT)
    return np.concatenate([turn, np.asarray(goal.translation) - here.translation], axis=-1)


@refusing_overflow()
def operational_space(
    robot: Robot, limb: Limb, q: Any, v: Any, acceleration: Any, null: Any = None, *, rows: Any = None,
    actuated: Any = None,
) -> TaskForce:  # fmt: skip
    """The force that gives the tip of a limb an acceleration [angular; linear], in axes of the base, and in the rest of
    the robot's motion as much of the force `null` as does not disturb that. O(n nv + nv^3).

    `rows` picks rows of the task. The force acts at dofs with a motor (`actuated` as for `gravity`), and others, such
    as elastic modes or the base of a robot in space, give way as the law knows. Closed chains are kept. Nearly singular
    directions are damped, and counted. q and v may have leading axes.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("arm7"))
    >>> arm = rb.limb("arm", "inertial", "link7/tool")
    >>> q, v = np.array([0.1, 0.5, 0.2, 1.0, 0.3, 0.7, 0.4]), np.zeros(7)
    >>> made = sc.robot.operational_space(rb, arm, q, v, [0, 0, 0, 0, 0, 1.0])
    >>> vdot = sc.dynamics.forward_dynamics(rb.mb, q, v, made.force)
    >>> (sc.dynamics.jacobian(rb.mb, q, "link7/tool") @ vdot).round(9) + 0.0
    array([0., 0., 0., 0., 0., 1.])
    """
    mb = model_of(robot)
    q, v = read_q(mb, q), read_v(mb, v)
    picked = _rows(rows)
    x = finite(acceleration, (..., len(picked)), "the acceleration of the tip", StateError)
    T0 = np.zeros(mb.nv) if null is None else read_v(mb, null, "null")
    batch = common_batch(q=q, v=v, acceleration=x, null=T0)
    arrays = [np.broadcast_to(y, (*batch, y.shape[-1])) for y in (q, v, x, T0)]
    force, inertia, damped = np.empty((*batch, mb.nv)), np.zeros((*batch, 6, 6)), np.zeros(batch, dtype=int)
    missing = np.zeros((*batch, 6))
    for at in np.ndindex(*batch):
        one = _Tip(robot, limb, arrays[0][at], arrays[1][at], actuated)
        force[at], damped[at], Lambda, lost = one.driven(picked, arrays[2][at], None if null is None else arrays[3][at])
        inertia[(*at, *np.ix_(picked, picked))] = Lambda
        missing[(*at, picked)] = lost
    return TaskForce(force, damped if batch else int(damped), inertia, missing)


@refusing_overflow()
def impedance(
    robot: Robot, limb: Limb, q: Any, v: Any, goal: Pose, twist: Any, kp: Any, kd: Any, *, actuated: Any = None
) -> Array:
    """The force of a spring and a damper between the tip of a limb and a goal that moves with a twist, [angular;
    linear] in axes of the base, with gravity and the robot's own motion made up for, (..., nv). O(n nv).

        Mcal vdot = J* (K_p e + K_d u),     e = `task_error`,  u = twist - J v

    u is how fast the goal leaves the tip, as a damper feels it; where both turn it is the rate of e at e = 0 alone.
    Gains are numbers, six of them, or matrices (6, 6). `actuated` and closed chains as for `operational_space`.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("arm7"))
    >>> arm = rb.limb("arm", "inertial", "link7/tool")
    >>> q, v = np.array([0.1, 0.5, 0.2, 1.0, 0.3, 0.7, 0.4]), np.zeros(7)
    >>> still = sc.robot.impedance(rb, arm, q, v, arm.pose(q), np.zeros(6), kp=100.0, kd=10.0)
    >>> bool(np.allclose(still, sc.robot.gravity(rb, q)))
    True
    """
    mb = model_of(robot)
    q, v = read_q(mb, q), read_v(mb, v)
    u = finite(twist, (..., 6), "twist", StateError)
    e = task_error(limb, q[..., _read(limb).q_places], goal)
    batch = common_batch(q=q, v=v, twist=u, goal=e)
    qs, vs, us, es = (np.broadcast_to(y, (*batch, y.shape[-1])) for y in (q, v, u, e))
    T = np.empty((*batch, mb.nv))
    for at in np.ndindex(*batch):
        one = _Tip(robot, limb, qs[at], vs[at], actuated)
        f = gain(kp, es[at], "kp") + gain(kd, us[at] - one.J @ vs[at], "kd")
        T[at] = one.free.force(one.free.X.T @ (one.J.T @ f) + one.bias)
    return T


@refusing_overflow()
def admittance(wrench: Any, error: Any, rate: Any, inertia: Any, damping: Any, stiffness: Any) -> Array:
    """The acceleration of a target that gives way to a wrench as a mass on a spring, (..., 6).

        M xddot + D xdot + K x = f

    M, D and K are numbers, six of them, or matrices; M positive definite.

    >>> import soacraft as sc
    >>> sc.robot.admittance([0, 0, 0, 4, 0, 0], [0] * 6, [0] * 6, inertia=2.0, damping=1.0, stiffness=5.0)
    array([0., 0., 0., 2., 0., 0.])
    """
    f, x, xdot = (finite(a, (..., 6), n, StateError) for a, n in
                  ((wrench, "wrench"), (error, "error"), (rate, "rate")))  # fmt: skip
    right = f - gain(damping, xdot, "damping") - gain(stiffness, x, "stiffness")
    M = finite(inertia, (...,), "inertia", StateError)
    M = np.diag(np.broadcast_to(M, (6,))) if M.shape in ((), (6,)) else M
    fits = M.shape == (6, 6) and bool((np.diag(M) > 0.0).all())
    d = np.sqrt(np.diag(M)) if fits else np.ones(1)
    parts = M / np.outer(d, d)  # moments and forces alike
    if not fits or np.abs(parts - parts.T).max() > 1e-9 or not np.linalg.eigvalsh(parts)[0] > 0.0:
        raise StateError("inertia of an admittance is a positive number, six of them, or a positive definite matrix.")
    return np.asarray(scipy.linalg.cho_solve(scipy.linalg.cho_factor(M), right.reshape(-1, 6).T).T.reshape(right.shape))


class _Tip:
    """The tip of a limb at one state, and what motors can do."""

    def __init__(self, robot: Robot, limb: Limb, q: Array, v: Array, actuated: Any) -> None:
        mb = robot.mb
        self.mb, self.limb, self.q, self.v = mb, _read(limb), q, v
        self.free: Freedom = freedom(robot, q, v, actuated)
        seen = {"expressed_in": limb.base, "relative_to": limb.base}
        self.base: dict[str, Any] = {} if limb.base is mb.root else seen  # on the ground the calls are compiled
        self.J = np.asarray(dyn.jacobian(mb, q, limb.tip, **self.base))
        self.bias: Array = self.free.X.T @ needed(mb, q, v, self.free.x0)

    def driven(self, picked: Any, x: Array, T0: Array | None) -> tuple[Array, int, Array, Array]:
        """The force, how many directions are damped, Lambda, and the acceleration that damping takes, for rows of the
        task."""
        mb, free, limb = self.mb, self.free, self.limb
        drift = np.asarray(dyn.jacobian_dot_v(mb, self.q, self.v, limb.tip, **self.base))
        J = (self.J @ free.X)[picked]
        right = x - (drift + self.J @ free.x0)[picked]
        Y = self._solved(J)  # J (X* Mcal X)^-1, by rows
        Lambda, damped = self._inertia(J, Y, picked)
        r = J.T @ (Lambda @ right)
        if T0 is not None:
            r0 = free.X.T @ np.where(free.motors, T0, 0.0)
            right = right - Y @ r0
            r = r + r0 - J.T @ (Lambda @ (Y @ r0))
        lost = right - Y @ (J.T @ (Lambda @ right)) if damped else np.zeros_like(right)
        return free.force(r + self.bias), damped, Lambda, lost

    def _inertia(self, J: Array, Y: Array, picked: Any) -> tuple[Array, int]:
        """Lambda, and how many directions of it are damped.

        With J = U s V* in units of the limb, u_i* J M^-1 J* u_i = s_i^2 v_i* M^-1 v_i. Where s_i is less than the least
        that is allowed, what is missing to that is added: forces stay bounded, and nothing jumps.
        """
        size = np.where(picked < 3, 1.0, self.limb.reach or 1.0)
        d = self.free.sizes[self.free.places]
        scaled = J * d / size[:, None]
        U, values, V = np.linalg.svd(scaled, full_matrices=True)
        values = np.concatenate([values, np.zeros(len(picked) - len(values))])
        if not values[0] > 0.0:
            raise SingularError(f"nothing moves the tip of limb {self.limb.name!r} at this configuration.")
        least = NEAR_SINGULAR * values[0]
        C = (Y @ J.T) / np.outer(size, size)
        weak = np.flatnonzero(values < least)
        if len(weak):
            along = V[weak[weak < len(V)]]
            eases = np.einsum("ij,ij->i", along / d, self._solved(along / d))  # v* M^-1 v
            eases = np.concatenate([eases, np.full(len(weak) - len(eases), np.trace(C) / (values @ values))])
            C = C + (U[:, weak] * ((least**2 - values[weak] ** 2) * eases)) @ U[:, weak].T
        return np.linalg.inv(C) / np.outer(size, size), len(weak)

    def _solved(self, J: Array) -> Array:
        mb, X = self.mb, self.free.X
        if not mb.is_closed and X.shape[0] == X.shape[1]:
            return np.asarray(dyn.mass_matrix_solve(mb, self.q, J))
        M = X.T @ np.asarray(dyn.mass_matrix(mb, self.q, ignore_loops=True)) @ X
        return np.asarray(scipy.linalg.solve(M, J.T, assume_a="pos").T)


def _read(limb: Any) -> Limb:
    if not isinstance(limb, Limb):
        raise StateError(f"a task is of a limb of the robot, rb.limb(...), got {limb!r:.60}.")
    return limb


def _rows(rows: Any) -> npt.NDArray[np.intp]:
    try:
        picked = [whole_number(x, "a row", 0, 5) for x in (range(6) if rows is None else rows)]
    except (ModelError, TypeError):
        picked = []
    if not picked or len(set(picked)) != len(picked):
        raise StateError(f"rows of a task are numbers from 0 to 5, angular first, each once; got {rows!r:.60}.")
    return np.array(picked, dtype=np.intp)

"""Forces that make a robot move as it is told: pure functions of state and target, generalized force out.

With Mcal vdot + C = T (C with gravity, springs and dampers), and e the way from the present to the target:

    computed torque       T = Mcal (a_d + K_d (v_d - v) + K_p e) + C         gives   eddot + K_d edot + K_p e = 0
    operational space     T = J* Lambda (x - dJ/dt v) + (I - J* Jbar*) T_0 + C,  Lambda = (J Mcal^-1 J*)^-1
                                                                              gives   J vdot + dJ/dt v = x
    impedance             T = J* (K_p e + K_d edot) + C                       gives   Mcal vdot = J* (K_p e + K_d edot)
    least squares         T = -K (x - x_d) + T_d,  K = R^-1 B* S,  S by Riccati's equation

(000 Eq. 11-13 for J; Khatib 1987 for the operational space.) Loops and couplings are refused: take a solver's forces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg

from soacraft import dynamics as dyn
from soacraft.analysis.linearize import linearize
from soacraft.errors import SingularError, StateError
from soacraft.model.sizes.lengths import length_of
from soacraft.model.states.coordinates import read_q, read_v
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.robot import Robot
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import log

#: Singular values of J Mcal^-1/2 below this part of the largest are damped.
NEAR_SINGULAR = 1e-2


def gravity(robot: Robot, q: Any) -> Array:
    """The force that holds a robot still against gravity, with all that it holds, (..., nv). O(n)."""
    return np.asarray(dyn.gravity_force(_model(robot), q))


def friction(
    robot: Robot, v: Any, *, viscous: Any = 0.0, coulomb: Any = 0.0, stribeck: Any = 0.0, speed: Any = 0.1
) -> Array:
    """The force that makes up for friction of the hinges, (..., nv):

        T = viscous v + (coulomb + stribeck exp(-(v/speed)^2)) tanh(10 v / speed)

    Numbers, or one for each dof. `tanh` stands for the sign, so that it does not chatter at rest. O(n).

    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("pendulum"))
    >>> sc.robot.friction(rb, [2.0], viscous=0.5, coulomb=1.0)
    array([2.])
    """
    mb = _model(robot)
    v = read_v(mb, v)
    terms = [np.broadcast_to(finite(x, (...,), what, StateError), (mb.nv,)) for x, what in
             ((viscous, "viscous"), (coulomb, "coulomb"), (stribeck, "stribeck"), (speed, "speed"))]  # fmt: skip
    if (terms[3] <= 0.0).any() or any((x < 0.0).any() for x in terms):
        raise StateError("friction: viscous, coulomb and stribeck must not be negative, and speed must be positive.")
    a, c, s, w = terms
    return np.asarray(a * v + (c + s * np.exp(-((v / w) ** 2))) * np.tanh(10.0 * v / w))


def feed_forward(robot: Robot, q: Any, v: Any, vdot: Any) -> Array:
    """The force that gives accelerations: inverse dynamics of the robot with all that it holds, (..., nv). O(n)."""
    return np.asarray(dyn.inverse_dynamics(_model(robot), q, v, vdot))


def computed_torque(robot: Robot, q: Any, v: Any, target: tuple[Any, Any, Any], kp: Any, kd: Any) -> Array:
    """The force under which the way to the target goes as eddot + kd edot + kp e = 0, e = difference(q, q_d), (nv).

    `target` is (q_d, v_d, vdot_d). The equation is exact for hinges whose velocities are rates of their coordinates,
    and to second order in e for quaternions. O(n).
    """
    mb = _model(robot)
    q_d, v_d, a_d = target
    e = np.asarray(mb.difference(read_q(mb, q), read_q(mb, q_d, "q_d")))
    edot = read_v(mb, v_d) - read_v(mb, v)
    return feed_forward(robot, q, v, finite(a_d, (mb.nv,), "vdot_d", StateError) + _times(kd, edot) + _times(kp, e))


@dataclass(frozen=True, eq=False)
class TaskForce:
    """A force, and how near the arm is to a singular pose."""

    force: Array
    """(nv)"""
    damped: int
    """How many directions of the task are damped, since nearly nothing moves along them; 0: the task is exact."""
    inertia: Array
    """Lambda, (6, 6), in axes of the base; with damping where there is any."""


def task_error(limb: Any, q: Any, goal: Pose) -> Array:
    """The way from the tip to a goal, both seen from the base, [turn; way] in axes of the base, (6)."""
    here = limb.pose(q)
    return np.concatenate([log(goal.rotation @ here.rotation.T), goal.translation - here.translation])


def operational_space(
    robot: Robot, limb: Any, q: Any, v: Any, acceleration: Any, null: Any = None, *, rows: Any = None
) -> TaskForce:
    """The force that gives the tip of a limb an acceleration [angular; linear], in axes of the base, and in the rest of
    the robot's motion as much of the force `null` as does not disturb that. The base is on the ground, or is moved by
    nothing but the robot. `rows` picks rows of the task. Nearly singular directions are damped, and counted. O(n^2).
    """
    mb = _model(robot)
    q, v = read_q(mb, q), read_v(mb, v)
    J = dyn.jacobian(mb, q, limb.tip, limb.base, relative_to=limb.base)
    bias = dyn.jacobian_dot_v(mb, q, v, limb.tip, limb.base, relative_to=limb.base)
    picked = np.arange(6) if rows is None else np.asarray(rows)
    J, bias = np.asarray(J)[picked], np.asarray(bias)[picked]
    x = finite(np.asarray(acceleration, dtype=float), (len(picked),), "the acceleration of the tip", StateError)
    X = np.asarray(dyn.mass_matrix_solve(mb, q, J))  # J Mcal^-1, by rows
    size = np.where(picked < 3, 1.0, limb.reach or 1.0)
    values, U = np.linalg.eigh((X @ J.T) / np.outer(size, size))
    most = float(values[-1])
    if not most > 0.0:
        raise SingularError(f"nothing moves the tip of limb {limb.name!r} at this configuration.")
    least = NEAR_SINGULAR**2 * most
    damped = int((values < least).sum())
    inverse = np.where(values < least, values / least**2, 1.0 / np.where(values > 0.0, values, 1.0))
    Lambda = (U * inverse) @ U.T / np.outer(size, size)
    force = J.T @ (Lambda @ (x - bias))
    if null is not None:
        T0 = finite(np.asarray(null, dtype=float), (mb.nv,), "null", StateError)
        force = force + T0 - J.T @ (Lambda @ (X @ T0))
    whole = np.zeros((6, 6))
    whole[np.ix_(picked, picked)] = Lambda
    # what acts besides gives the tip an acceleration of its own: it is taken away as a whole
    return TaskForce(np.asarray(force + dyn.bias_force(mb, q, v)), damped, whole)


def impedance(robot: Robot, limb: Any, q: Any, v: Any, goal: Pose, twist: Any, kp: Any, kd: Any) -> Array:
    """The force of a spring and a damper between the tip of a limb and a goal that moves with a twist, [angular;
    linear] in axes of the base, with gravity and the robot's own motion made up for, (nv). O(n)."""
    mb = _model(robot)
    q, v = read_q(mb, q), read_v(mb, v)
    J = np.asarray(dyn.jacobian(mb, q, limb.tip, limb.base, relative_to=limb.base))
    e = task_error(limb, q[limb.q_places], goal)
    edot = finite(np.asarray(twist, dtype=float), (6,), "twist", StateError) - J @ v
    return np.asarray(J.T @ (_times(kp, e) + _times(kd, edot)) + dyn.bias_force(mb, q, v))


def admittance(wrench: Any, error: Any, rate: Any, inertia: Any, damping: Any, stiffness: Any) -> Array:
    """The acceleration of a target that gives way to a wrench as a mass on a spring: M xddot + D xdot + K x = f."""
    f, x, xdot = (finite(np.asarray(a, dtype=float), (6,), n, StateError) for a, n in
                  ((wrench, "wrench"), (error, "error"), (rate, "rate")))  # fmt: skip
    right = f - _times(damping, xdot) - _times(stiffness, x)
    M = np.asarray(inertia, dtype=float)
    if M.ndim < 2:
        return np.asarray(right / M)
    return np.asarray(scipy.linalg.solve(M, right, assume_a="pos"))


@dataclass(frozen=True, eq=False)
class Regulator:
    """T = force - K [difference(q_d, q); v - v_d]: the integral of x* Q x + u* R u is least, for small motions."""

    robot: Robot
    q: Array
    v: Array
    force: Array
    K: Array
    """(nv, 2 nv)"""
    poles: npt.NDArray[np.complex128]
    """Of the closed loop."""

    def __call__(self, q: Any, v: Any) -> Array:
        mb = self.robot.mb
        x = np.concatenate([mb.difference(self.q, read_q(mb, q)), read_v(mb, v) - self.v])
        return np.asarray(self.force - self.K @ x)


def lqr(robot: Robot, q: Any, v: Any = None, Q: Any = None, R: Any = None, *, actuated: Any = None) -> Regulator:
    """The linear-quadratic regulator about a state that some force holds, from the derivatives of forward dynamics.

    Q (2 nv) and R (nv) are matrices, diagonals or None for ones. `actuated` names the dofs with a motor; by default all
    have one. A state that no force of theirs holds, or that they cannot bring back, is refused. O(n^3).
    """
    mb = _model(robot)
    q = read_q(mb, q)
    v = np.zeros(mb.nv) if v is None else read_v(mb, v)
    force = np.array(dyn.inverse_dynamics(mb, q, v, np.zeros(mb.nv)))
    motors = np.arange(mb.nv) if actuated is None else np.array([mb.dof_names.index(x) for x in actuated])
    idle = np.setdiff1d(np.arange(mb.nv), motors)
    weight = mb.total_mass * float(np.linalg.norm(mb.gravity))
    turning = np.array([x == "r" for x in "".join(mb.layout.units.hinge)])
    size = np.maximum(weight * np.where(turning, length_of(mb), 1.0), np.abs(force).max(initial=0.0))
    wrong = np.abs(force) > 1e-9 * size
    if wrong[idle].any():
        i = int(idle[np.argmax(wrong[idle])])
        raise StateError(f"dof {mb.dof_names[i]!r} has no motor and needs a force of {force[i]:.4g}: no equilibrium.")
    force[idle] = 0.0
    linear = linearize(mb, q, v, force)
    A, B = np.asarray(linear.A), np.asarray(linear.B)[:, motors]
    Q, R = _weight(Q, 2 * mb.nv, "Q"), _weight(R, len(motors), "R")
    try:
        S = scipy.linalg.solve_continuous_are(A, B, Q, R)
    except (np.linalg.LinAlgError, ValueError) as why:
        raise SingularError(f"the motors of {mb.name!r} cannot bring it back to this state: {why}.") from None
    K = np.zeros((mb.nv, 2 * mb.nv))
    K[motors] = np.linalg.solve(R, B.T @ S)
    return Regulator(robot, q, v, force, K, np.linalg.eigvals(A - np.asarray(linear.B) @ K).astype(complex))


def _model(robot: Robot) -> Multibody:
    if not isinstance(robot, Robot):
        raise StateError(f"control is of a Robot, got {robot!r:.60}.")
    if robot.mb.is_closed:
        raise StateError(
            f"{robot.mb.name!r} has loops or couplings: take inverse_dynamics of a solver of sc.loops, or ungrasp "
            "first."
        )
    return robot.mb


def _times(gain: Any, x: Array) -> Array:
    K = finite(np.asarray(gain, dtype=float), (...,), "a gain", StateError)
    if K.ndim == 2:
        return np.asarray(K @ x)
    return np.asarray(K * x)


def _weight(given: Any, size: int, what: str) -> Array:
    W = np.ones(size) if given is None else finite(np.asarray(given, dtype=float), (...,), what, StateError)
    W = np.diag(np.broadcast_to(W, (size,))) if W.ndim < 2 else W
    if W.shape != (size, size):
        raise StateError(f"{what} must have {size} numbers, or ({size}, {size}); got {W.shape}.")
    return W

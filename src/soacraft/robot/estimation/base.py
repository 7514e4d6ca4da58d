"""The base of a legged robot from its inertial unit and its legs: an invariant filter that contacts aid.

State X = (R, u, p, d_1 ... d_k): rotation, velocity and position of the inertial unit, places of the feet that stand;
and biases of gyroscope and accelerometer. With the error xi, X_estimated = exp(xi) X, in inertial axes,

    d/dt xi_R = R (n_g - b_g)             d/dt xi_u = g~ xi_R + u~ R (n_g - b_g) + R (n_a - b_a)
    d/dt xi_p = xi_u + p~ R (n_g - b_g)   d/dt xi_d = d~ R (n_g - b_g) + R n_d

does not depend on the state but through noise and biases, and a foot at h(q) from the unit reads

    R h - (d - p) = xi_p - xi_d + noise

(Hartley, Ghaffari, Eustice and Grizzle 2020). Its noise R J e is of the errors e of the encoders, which feet that share
hinges share, and which a foot that begins to stand keeps: xi_d = xi_p + R J e. Position and heading are never seen:
they stay as uncertain as they began, and the filter knows it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from soacraft import dynamics as dyn
from soacraft.arguments import listed
from soacraft.attributes import Strict
from soacraft.errors import ModelError, StaleError, StateError, near
from soacraft.model.hinges import Free
from soacraft.model.states.coordinates import read_q, read_v
from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.results import finite_or_refused
from soacraft.robot.estimation.prediction import read_covariance
from soacraft.robot.robot import Robot
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import exp, skew

#: Eigenvalues of what feet may say, below this part of the largest, are rounding: what they say there is known.
_KNOWN = 1e-13


@dataclass(frozen=True)
class SensorNoise:
    """Standard deviations, of noise for the square root of a second where sensors go on in time."""

    gyroscope: float = 1e-3
    """rad/s/sqrt(Hz)"""
    accelerometer: float = 1e-2
    """m/s^2/sqrt(Hz)"""
    gyroscope_bias: float = 1e-5
    """rad/s^2/sqrt(Hz)"""
    accelerometer_bias: float = 1e-4
    """m/s^3/sqrt(Hz)"""
    foot: float = 1e-2
    """m/s/sqrt(Hz): how much a standing foot slips."""
    encoder: float = 1e-3
    """rad, or metres of a dof that slides"""

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            if not float(finite(getattr(self, name), (), name, StateError)) > 0.0:
                raise StateError(f"{name} of SensorNoise must be positive, got {getattr(self, name)!r:.40}.")


class BaseEstimator(Strict):
    """Pose and velocity of a robot's base, from readings of an inertial unit on it and of the dofs of its legs.

    `unit` is the frame of the inertial unit, x, y, z its axes; `feet` are frames that stand. `predict` takes readings
    of the unit, `correct` those of the dofs and says which feet stand. `covariance` is of [turn; velocity; position]
    (9) of the unit in inertial axes, or its diagonal, `biases` that of the two biases (6).

    >>> import numpy as np
    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("a1"))
    >>> feet = ["FR_calf", "FL_calf", "RR_calf", "RL_calf"]
    >>> e = sc.robot.BaseEstimator(rb, unit="trunk", feet=feet)
    >>> e.predict(np.zeros(3), [0, 0, 9.81], dt=0.002)
    >>> _ = e.correct(rb.mb.q, standing=feet)
    >>> e.standing
    ('FR_calf', 'FL_calf', 'RR_calf', 'RL_calf')
    """

    def __init__(
        self,
        robot: Robot,
        unit: Any,
        feet: Iterable[Any],
        *,
        noise: SensorNoise | None = None,
        q: Any = None,
        v: Any = None,
        covariance: Any = (1e-2, 1e-2, 1e-2, 1e-1, 1e-1, 1e-1, 1e-12, 1e-12, 1e-12),
        biases: Any = (1e-4, 1e-4, 1e-4, 1e-2, 1e-2, 1e-2),
    ) -> None:
        if not isinstance(robot, Robot):
            raise ModelError(f"a BaseEstimator is of a Robot, got {robot!r:.60}.")
        mb = robot.mb
        self._robot, self._version, self._unit = robot, mb.version, mb.frame(unit)
        self._feet = {x.full_name: x for x in _frames(mb, feet, "feet")}
        if not self._feet:
            raise ModelError(f"a BaseEstimator of {mb.name!r} needs feet.")
        for foot in self._feet.values():
            _legs(mb.name, self._unit, foot)
        if noise is not None and not isinstance(noise, SensorNoise):
            raise StateError(f"noise of a BaseEstimator is a SensorNoise(...), got {noise!r:.60}.")
        self._noise = SensorNoise() if noise is None else noise
        here = mb.state(*_one(mb, mb.q if q is None else q, mb.v if v is None else v))
        X, V = mb.pose(self._unit, state=here), mb.velocity(self._unit, state=here)
        self._R, self._u, self._p = np.array(X.rotation), np.array(V.linear), np.array(X.translation)
        self._d: dict[str, Array] = {}
        self._gyro_bias, self._accelerometer_bias = np.zeros(3), np.zeros(3)
        self._g = np.array(mb.gravity)
        self._w = np.array(X.rotation.T @ V.angular)  # the last reading, with its bias
        P = scipy.linalg.block_diag(read_covariance(covariance, 9, "covariance"), read_covariance(biases, 6, "biases"))
        lift = np.eye(15)  # from errors of (R, u, p) to invariant ones: xi_u = du + u~ dR, xi_p = dp + p~ dR
        lift[3:6, :3], lift[6:9, :3] = skew(self._u), skew(self._p)
        self._P = lift @ P @ lift.T

    # -- what is known -------------------------------------------------------------------------------------------

    @property
    def pose(self) -> Pose:
        """The pose of the inertial unit."""
        return Pose(rotation=self._R, translation=self._p)

    @property
    def velocity(self) -> Array:
        """The velocity of its origin (3), in inertial axes."""
        return np.array(self._u)

    @property
    def biases(self) -> tuple[Array, Array]:
        """Biases of gyroscope and accelerometer, (3) each, in axes of the unit."""
        return np.array(self._gyro_bias), np.array(self._accelerometer_bias)

    @property
    def standing(self) -> tuple[str, ...]:
        """The feet that stand."""
        return tuple(self._d)

    @property
    def covariance(self) -> Array:
        """(9, 9) of turn, velocity and position of the unit, in inertial axes."""
        drop = np.eye(9)
        drop[3:6, :3], drop[6:9, :3] = -skew(self._u), -skew(self._p)
        return _even(drop @ self._P[:9, :9] @ drop.T)

    def state(self, q: Any, v: Any) -> tuple[Array, Array]:
        """q (nq) and v (nv) of the robot: readings of its dofs, with its free base as estimated."""
        mb = self._model()
        q, v = (np.array(x) for x in _one(mb, q, v))
        body = _base(self._unit)
        k = mb.layout.index[body]
        if not isinstance(body.hinge, Free) or body.parent is not mb.root:
            raise ModelError(f"the base {body.name!r} of {mb.name!r} has no Free hinge on the inertial frame.")
        at = self._unit.offset if self._unit.carrier is body else None
        if at is None:
            raise ModelError(f"{self._unit.full_name!r} is not on the base {body.name!r} itself.")
        outboard = body.inboard.inv @ self.pose @ at.inv @ body.outboard.inv
        q[mb.layout.hinge_q[k]] = np.concatenate([outboard.as_quaternion(), outboard.translation])
        w = self._R @ (self._w - self._gyro_bias)
        to = self.pose @ at.inv @ body.outboard.inv  # the outboard hinge frame in the inertial one
        linear = self._u + np.cross(w, to.translation - self._p)
        v[mb.layout.hinge_v[k]] = np.concatenate([to.rotation.T @ w, to.rotation.T @ linear])
        return q, v

    # -- readings ------------------------------------------------------------------------------------------------

    def predict(self, gyroscope: Any, accelerometer: Any, dt: float) -> None:
        """Go on for `dt` seconds with readings of angular velocity and specific force (3) in axes of the unit, taken as
        constant: exact then. O(k^2), k standing feet."""
        self._model()
        read = finite(gyroscope, (3,), "gyroscope", StateError)
        w = read - self._gyro_bias
        a = finite(accelerometer, (3,), "accelerometer", StateError) - self._accelerometer_bias
        h = float(finite(dt, (), "dt", StateError))
        if not h > 0.0:
            raise StateError(f"dt must be positive, in seconds; got {dt!r:.40}.")
        R, u, p, g = self._R, self._u, self._p, self._g
        with np.errstate(over="ignore", invalid="ignore"):
            A, G = self._rates()
            B = A * h
            F = np.eye(len(A)) + B @ (np.eye(len(A)) + B @ (np.eye(len(A)) + B / 3.0) / 2.0)  # exp(B), since B^4 = 0
            P = _even(F @ (self._P + G * h) @ F.T)
            finite_or_refused(w * h * (w * h), "the turn of the unit in this step")
            first, second = _integrals(w * h)
            p = finite_or_refused(p + u * h + 0.5 * g * h**2 + R @ second @ a * h**2, "the position of the unit")
            u = finite_or_refused(u + g * h + R @ first @ a * h, "the velocity of the unit")
        self._R, self._u, self._p, self._P, self._w = R @ exp(w * h), u, p, P, read

    def correct(self, q: Any, standing: Iterable[Any]) -> float:
        """Correct by readings of the dofs (nq of the robot; its base does not matter) with the feet in contact; gives
        the squared distance of the readings in standard deviations. A foot whose contact begins is put at the place
        that the legs give; one that is named twice counts once. O(n^2), with n the errors and dofs.
        """
        mb = self._model()
        names = list(dict.fromkeys(x.full_name for x in _frames(mb, standing, "standing")))
        for name in names:
            if name not in self._feet:
                raise ModelError(f"{name!r} is no foot of this estimator{near(name, self._feet)}")
        q, _ = _one(mb, q, mb.v)
        here = mb.state(q)
        seen = {name: self._seen(here, name) for name in names}
        before = self._R, self._u, self._p, self._d, self._gyro_bias, self._accelerometer_bias, self._P
        self._d = dict(self._d)
        try:
            self._leave([x for x in self._d if x not in names])
            # the errors of the encoders are a part of the state meanwhile: they are in all feet that are seen by them
            self._P = scipy.linalg.block_diag(self._P, self._noise.encoder**2 * np.eye(mb.nv))
            spread = self._read({x: seen[x] for x in names if x in self._d})
            for name in names:
                if name not in self._d:
                    self._enter(name, *seen[name])
            size = len(self._P) - mb.nv
            self._P = _even(self._P[:size, :size])
            for x in (self._R, self._u, self._p, self._gyro_bias, self._accelerometer_bias):
                finite_or_refused(x, "the base")
        except Exception:
            self._R, self._u, self._p, self._d, self._gyro_bias, self._accelerometer_bias, self._P = before
            raise
        return spread

    # -- inside --------------------------------------------------------------------------------------------------

    def _rates(self) -> tuple[Array, Array]:
        """A of the errors, and the covariance that noise adds each second."""
        k, R = len(self._d), self._R
        size = 9 + 3 * k
        A = np.zeros((size + 6, size + 6))
        A[3:6, :3], A[6:9, 3:6] = skew(self._g), np.eye(3)
        lever = np.vstack([R, skew(self._u) @ R, skew(self._p) @ R, *(skew(d) @ R for d in self._d.values())])
        A[:size, size : size + 3], A[3:6, size + 3 :] = -lever, -R
        n = self._noise
        push = np.zeros((size, 6 + 3 * k))  # of gyroscope, accelerometer and feet
        push[:, :3], push[3:6, 3:6] = lever, R
        for i in range(k):
            push[9 + 3 * i : 12 + 3 * i, 6 + 3 * i : 9 + 3 * i] = R
        strength = np.concatenate([np.full(3, n.gyroscope), np.full(3, n.accelerometer), np.full(3 * k, n.foot)]) ** 2
        G = np.zeros_like(A)
        G[:size, :size] = (push * strength) @ push.T
        G[size:, size:] = np.diag(np.repeat([n.gyroscope_bias, n.accelerometer_bias], 3) ** 2)
        return A, G

    def _model(self) -> Multibody:
        mb = self._robot.mb
        if mb.version != self._version:
            raise StaleError(f"the robot {mb.name!r} has changed since: make another BaseEstimator.")
        return mb

    def _seen(self, here: State, name: str) -> tuple[Array, Array]:
        """Position of a foot from the unit by the legs, in its axes, and the Jacobian of that, (3, nv)."""
        mb, foot = self._robot.mb, self._feet[name]
        h = mb.pose(foot, self._unit, state=here).translation
        J = np.asarray(dyn.jacobian(mb, here.q, foot, self._unit, relative_to=self._unit, ignore_loops=True))[3:]
        return np.asarray(h), J

    def _read(self, seen: dict[str, tuple[Array, Array]]) -> float:
        """Take what standing feet say; the last errors of P are those of the encoders."""
        if not seen:
            return 0.0
        size, order = len(self._P), list(self._d)
        H, z = np.zeros((3 * len(seen), size)), np.zeros(3 * len(seen))
        for i, (name, (h, J)) in enumerate(seen.items()):
            rows, at = slice(3 * i, 3 * i + 3), 9 + 3 * order.index(name)
            z[rows] = self._R @ h - (self._d[name] - self._p)
            H[rows, 6:9], H[rows, at : at + 3] = -np.eye(3), np.eye(3)
            H[rows, size - J.shape[1] :] = -self._R @ J  # z = -H xi
        spread, U = np.linalg.eigh(_even(H @ self._P @ H.T))
        informative = spread > _KNOWN * spread[-1]
        U, spread = U[:, informative], spread[informative]
        K = self._P @ H.T @ (U / spread) @ U.T
        self._move((K @ z)[: size - J.shape[1]])
        keep = np.eye(size) - K @ H
        self._P = _even(keep @ self._P @ keep.T)
        return float(np.sum((U.T @ z) ** 2 / spread))

    def _move(self, d: Array) -> None:
        """X <- exp(d) X, biases <- biases + d."""
        turn, (first, _) = exp(d[:3]), _integrals(d[:3])
        self._R = turn @ self._R
        self._u = turn @ self._u + first @ d[3:6]
        self._p = turn @ self._p + first @ d[6:9]
        for i, name in enumerate(self._d):
            self._d[name] = turn @ self._d[name] + first @ d[9 + 3 * i : 12 + 3 * i]
        self._gyro_bias = self._gyro_bias + d[-6:-3]
        self._accelerometer_bias = self._accelerometer_bias + d[-3:]

    def _enter(self, name: str, h: Array, J: Array) -> None:
        """A foot is where the legs say: its error is that of the position, and that of the encoders."""
        size = len(self._P)
        at = size - J.shape[1] - 6
        M = np.zeros((size + 3, size))
        M[:at, :at], M[at + 3 :, at:] = np.eye(at), np.eye(size - at)
        M[at : at + 3, 6:9], M[at : at + 3, at + 6 :] = np.eye(3), self._R @ J
        self._P, self._d[name] = M @ self._P @ M.T, self._p + self._R @ h

    def _leave(self, names: list[str]) -> None:
        for name in names:
            at = 9 + 3 * list(self._d).index(name)
            others = np.delete(np.arange(len(self._P)), [at, at + 1, at + 2])
            self._P = self._P[np.ix_(others, others)]
            del self._d[name]


def _integrals(w: Array) -> tuple[Array, Array]:
    """The integrals of exp(s w~) over s from 0 to 1, and of (1 - s) exp(s w~)."""
    angle, W = float(np.linalg.norm(w)), skew(w)
    if angle < 1e-3:  # by series: the next terms are below rounding
        first = np.eye(3) + W / 2 + W @ W / 6 + W @ W @ W / 24 + W @ W @ W @ W / 120
        return first, np.eye(3) / 2 + W / 6 + W @ W / 24 + W @ W @ W / 120 + W @ W @ W @ W / 720
    s, c = np.sin(angle), np.cos(angle)
    first = np.eye(3) + (1 - c) / angle**2 * W + (angle - s) / angle**3 * W @ W
    second = np.eye(3) / 2 + (angle - s) / angle**3 * W + (angle**2 / 2 + c - 1) / angle**4 * W @ W
    return first, second


def _even(P: Array) -> Array:
    """A covariance without the rounding that tells its two halves apart."""
    return finite_or_refused(np.asarray(0.5 * P + 0.5 * P.T), "the covariance of the base")


def _one(mb: Multibody, q: Any, v: Any) -> tuple[Array, Array]:
    state = read_q(mb, q), read_v(mb, v)
    if state[0].ndim > 1 or state[1].ndim > 1:
        raise StateError("a BaseEstimator takes one state after the other, got a batch.")
    return state


def _frames(mb: Multibody, frames: Any, what: str) -> list[Frame]:
    several = [frames] if isinstance(frames, str | Frame) else listed(frames)
    if several is None:
        raise ModelError(f"{what} of a BaseEstimator of {mb.name!r} are frames or their names, got {frames!r:.60}.")
    return [mb.frame(x) for x in several]


def _base(frame: Frame) -> Body:
    at: Any = frame.carrier
    while isinstance(at, Body) and isinstance(at.parent, Body):
        at = at.parent
    if not isinstance(at, Body):
        raise ModelError(f"{frame.full_name!r} is on the inertial frame, which has no inertial unit.")
    return at


def _legs(robot: str, unit: Frame, foot: Frame) -> None:
    """The unit and a foot must hang from one base."""
    if _base(unit) is not _base(foot):
        raise ModelError(
            f"foot {foot.full_name!r} of {robot!r} is not on the same base as the unit {unit.full_name!r}."
        )

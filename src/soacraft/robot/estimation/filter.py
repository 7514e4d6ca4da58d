"""A state and how well it is known, carried on by the model and corrected by readings: Kalman's filter along dofs.

    predict    x <- f(x, T),                 P <- A P A* + Q dt             (A exact for the step)
    correct    K = P H* (H P H* + R)^-1,     x <- x + K (z - h(x)),    P <- (I - K H) P (I - K H)* + K R K*

x = (q, v) moves along [dq; dv], so that quaternions stay unit and have three errors, not four. A closed chain stays on
its closures: what moves it is put back there, and errors are in the directions that they leave (`tangent`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import scipy.linalg

from soacraft import dynamics as dyn
from soacraft.attributes import Strict
from soacraft.errors import ModelError, StaleError, StateError, near
from soacraft.loops import Solver, TreeAugmented
from soacraft.model.states.coordinates import read_q, read_v
from soacraft.model.tree.multibody import Multibody
from soacraft.order import Order, in_order, order_of
from soacraft.results import finite_or_refused
from soacraft.robot.estimation.prediction import read_covariance, read_variances
from soacraft.robot.estimation.tangent import Tangent
from soacraft.robot.estimation.wording import in_words_of
from soacraft.robot.robot import Robot
from soacraft.sim.closed import Closed
from soacraft.sim.propagator import Propagator
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import log


@dataclass(frozen=True, eq=False)
class Innovation:
    """Innovation of a reading: its difference from the prediction."""

    value: Array
    """z - h(x)"""
    covariance: Array
    """H P H* + R"""
    distance: float
    """Square of the innovation in standard deviations: about the number of its entries, where all assumptions hold."""

    def __repr__(self) -> str:
        return f"innovation of {len(self.value)} numbers, distance {self.distance:.3g}"


class StateFilter(Strict):
    """The state of a robot from readings of its dofs and poses.

    `covariance` is of [dq; dv] (2 nv, 2 nv), or its diagonal.

    A closed chain begins on its closures and stays there. They are readings without noise: of the covariance that is
    given what agrees with them is kept, so that its rank is twice the number of dofs that can move by themselves, and a
    reading of one dof tells of all that are tied to it. Closures that roll are refused.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("pendulum"))
    >>> f = sc.robot.StateFilter(rb, [0.1], [0.0], covariance=[0.01, 1.0])
    >>> A = f.predict([0.0], 0.01, noise=[0.0, 1e-4])
    >>> f.measure_dofs([0.3], 1e-3).value.round(2), f.q.round(2)
    (array([0.2]), array([0.3]))
    """

    def __init__(self, robot: Robot, q: Any = None, v: Any = None, covariance: Any = 1.0) -> None:
        if not isinstance(robot, Robot):
            raise ModelError(f"a StateFilter is of a Robot, got {robot!r:.60}.")
        self._robot, self._version, mb = robot, robot.mb.version, robot.mb
        self._q, self._v = read_q(mb, mb.q if q is None else q), read_v(mb, mb.v if v is None else v)
        if self._q.ndim > 1 or self._v.ndim > 1:
            raise StateError("a StateFilter begins at one state, got a batch.")
        self._P = read_variances(covariance, 2 * mb.nv, "covariance")
        self._step: tuple[Any, Propagator] | None = None
        self._closed: Solver | None = TreeAugmented(mb) if mb.is_closed else None
        if self._closed is not None:
            with in_words_of("the filter", "dt="):
                Closed(self._closed).require_closed(self._q, self._v)
            self._P = _even(Tangent(self._closed, self._q, self._v).given(self._P))

    @property
    def q(self) -> Array:
        """The estimate of the coordinates, (nq)."""
        return np.array(self._q)

    @property
    def v(self) -> Array:
        """The estimate of the velocities, (nv)."""
        return np.array(self._v)

    @property
    def covariance(self) -> Array:
        """(2 nv, 2 nv) of [dq; dv]."""
        return np.array(self._P)

    def predict(self, force: Any, dt: float, noise: Any = None) -> Array:
        """Go on for `dt` seconds under a generalized force (nv); A (2 nv, 2 nv). `noise` adds to the covariance for
        each second; of a closed chain, what its closures leave of such pushes. One step of "rk4", O(n nv), with loops
        O(nv^3)."""
        mb = self._model()
        T = read_v(mb, force, "force")
        h = float(finite(dt, (), "dt", StateError))
        if not h > 0.0 or T.ndim > 1:
            raise StateError(f"dt must be positive, and force of one state; got {dt!r:.40} and the shape {T.shape}.")
        Q = np.zeros_like(self._P) if noise is None else read_covariance(noise, len(self._P), "noise")
        key = h, mb.version, mb.parameters
        if self._step is None or self._step[0] != key:
            self._step = key, Propagator(mb.copy(), integrator="rk4", step=h)
        with in_words_of("the filter", "dt="):
            s = self._step[1].rollout_derivatives(self._q, self._v, T[None], 1)
        A = np.array(s.A[0])
        if self._closed is not None and noise is not None:
            Q = Tangent(self._closed, s.q[-1], s.v[-1]).nearest(Q)
        P = _even(A @ self._P @ A.T + Q * h)
        self._q, self._v, self._P = s.q[-1], s.v[-1], P
        return A

    def correct(self, residual: Any, H: Any, noise: Any) -> Innovation:
        """Take a reading: `residual` z - h(x) (m), its Jacobian H = dh/dx (m, 2 nv) along [dq; dv], and the covariance
        R of its noise (m, m), its diagonal, or one variance. O(nv^2 m), with loops O(nv^3)."""
        mb = self._model()
        r = finite(residual, (None,), "residual", StateError)
        H = finite(H, (len(r), 2 * mb.nv), "H", StateError)
        R = read_variances(noise, len(r), "noise")
        S = _even(H @ self._P @ H.T + R)
        try:
            factor = scipy.linalg.cho_factor(S)
        except np.linalg.LinAlgError:
            raise StateError(
                "the reading has no noise in a direction that is known exactly: give it some noise."
            ) from None
        K = scipy.linalg.cho_solve(factor, H @ self._P).T
        d = K @ r
        keep = np.eye(2 * mb.nv) - K @ H
        P = _even(keep @ self._P @ keep.T + K @ R @ K.T)
        q, v = np.asarray(mb.integrate(self._q, d[: mb.nv])), finite_or_refused(self._v + d[mb.nv :], "the velocity")
        with np.errstate(over="ignore", invalid="ignore"):
            distance = finite_or_refused(np.array(r @ scipy.linalg.cho_solve(factor, r)), "the distance of the reading")
        if self._closed is not None:
            q, v = self._closed.project(q, v)
            P = _even(Tangent(self._closed, q, v).nearest(P))
        self._q, self._v, self._P = q, v, P
        return Innovation(r, S, float(distance))

    def measure_dofs(self, values: Any, deviation: Any, dofs: Any = None, rates: bool = False) -> Innovation:
        """Encoders: coordinates of dofs, by name, or of all where each is a coordinate; with `rates` velocities.
        `deviation` is the standard deviation of their noise."""
        mb = self._model()
        if not isinstance(rates, bool | np.bool_):
            raise StateError(f"rates of measure_dofs must be True or False, got {rates!r:.60}.")
        if dofs is not None and not isinstance(dofs, str | list | tuple):
            raise ModelError(f"dofs are names, one or a list; got {dofs!r:.60}.")
        names = list(mb.dof_names) if dofs is None else [dofs] if isinstance(dofs, str) else list(dofs)
        numbers = {name: i for i, name in enumerate(mb.dof_names)}
        for name in names:
            if not isinstance(name, str) or name not in numbers:
                raise ModelError(f"the robot {mb.name!r} has no dof {name!r:.60}{near(str(name), numbers)}")
        at = [numbers[name] for name in names]
        z = finite(in_order(values, _order(mb, at), "values"), (len(at),), "values", StateError)
        H = np.zeros((len(at), 2 * mb.nv))
        H[np.arange(len(at)), [i + (mb.nv if rates else 0) for i in at]] = 1.0
        here = self._v[at] if rates else self._q[[_place(mb, i) for i in at]]
        return self.correct(z - here, H, _squares(deviation, len(at)))

    def measure_pose(self, frame: Any, pose: Pose, deviation: Any) -> Innovation:
        """A camera: the pose of a frame in the inertial one. `deviation` are six standard deviations, [turn; way] in
        radians and metres in inertial axes, or one of each."""
        mb = self._model()
        if not isinstance(pose, Pose) or pose.batch_shape:
            raise StateError(f"a reading of a pose is one Pose(...), got {pose!r:.60}.")
        node = mb.frame(frame)
        here = mb.pose(node, state=mb.state(self._q))
        residual = np.concatenate([log(pose.rotation @ here.rotation.T), pose.translation - here.translation])
        J = np.asarray(dyn.jacobian(mb, self._q, node))
        deviations = finite(deviation, (None,), "deviation", StateError)
        sigma = _squares(np.repeat(deviations, 3) if deviations.shape == (2,) else deviations, 6)
        return self.correct(residual, np.hstack([J, np.zeros_like(J)]), sigma)

    def _model(self) -> Multibody:
        mb = self._robot.mb
        if mb.version != self._version:
            raise StaleError(f"the robot {mb.name!r} has changed since: make another StateFilter.")
        return mb


def _squares(deviation: Any, size: int) -> Array:
    """Variances from standard deviations, one or as many as there are numbers."""
    sigma = finite(deviation, (...,), "deviation", StateError)
    sigma = finite(sigma if sigma.ndim else np.full(size, sigma), (size,), "deviation", StateError)
    if (sigma < 0.0).any():
        raise StateError(f"deviation must not be negative, got {deviation!r:.60}.")
    with np.errstate(over="ignore"):
        return finite_or_refused(sigma**2, "the square of the deviation")


def _even(P: Array) -> Array:
    """A covariance without the rounding that tells its two halves apart."""
    return finite_or_refused(np.asarray(0.5 * P + 0.5 * P.T), "the covariance of the filter")


def _order(mb: Multibody, dofs: Sequence[int]) -> Order:
    """The order of readings of some dofs."""
    bodies = [x.name for x, v in zip(mb.layout.bodies, mb.layout.v_slices, strict=True) for _ in range(v.start, v.stop)]
    each = [(name, len(list(same))) for name, same in groupby(bodies[i] for i in dofs)]
    return order_of([name for name, _ in each], [size for _, size in each])


def _place(mb: Multibody, dof: int) -> int:
    """The coordinate of a dof."""
    for q, v in zip(mb.layout.hinge_q, mb.layout.hinge_v, strict=True):
        if v.start <= dof < v.stop:
            if q.stop - q.start != v.stop - v.start:
                raise ModelError(
                    f"dof {mb.dof_names[dof]!r} is of a hinge whose coordinates are a quaternion: measure its pose."
                )
            return int(q.start + dof - v.start)
    raise ModelError(f"there is no dof {dof}.")

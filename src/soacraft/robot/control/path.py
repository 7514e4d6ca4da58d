"""Linear-quadratic regulators along a path: gains at every knot, by Riccati's equation backwards in time.

    x[k+1] = F[k] x[k] + G[k] u[k],      sum of (x* Q x + u* R u) (t[k+1] - t[k])  +  x[N]* Q_f x[N]   least

    K = (R h + G* S G)^-1 G* S F,        S[k] = Q h + F* S[k+1] (F - G K),        S[N] = Q_f

x = [difference(q_d, q); v - v_d], u = T - T_d, h the time to the next knot. F and G are the motion over a step with u
held, by the exponential of the mean of A and B at both knots: exact where they are constant, else of second order in h.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg

from soacraft.analysis.finite import refusing_overflow
from soacraft.errors import SingularError, StateError
from soacraft.loops import TreeAugmented
from soacraft.model.states.coordinates import read_q, read_v
from soacraft.model.tree.multibody import Multibody
from soacraft.results import finite_or_refused
from soacraft.robot.control.compensation import refuse_forces
from soacraft.robot.control.freedoms import model_of, motors_of
from soacraft.robot.control.optimal import current, force_sizes, forces_along, linear_of, places_of, state_sizes, weight
from soacraft.robot.robot import Robot
from soacraft.spatial.checks import Array, finite


@dataclass(frozen=True, eq=False)
class PathRegulator:
    """T(t) = T_d(t) - K[k] [difference(q_d(t), q); v - v_d(t)], k the last knot before t."""

    robot: Robot
    t: Array
    """(N + 1)"""
    q: Array
    """(N + 1, nq)"""
    v: Array
    force: Array
    """(N + 1, nv)"""
    K: Array
    """(N, nv, 2 m)"""
    S: Array
    """(N + 1, 2 m, 2 m): x* S[k] x is the cost from knot k on, for small motions."""
    F: Array
    """(N, 2 m, 2 m)"""
    G: Array
    """(N, 2 m, number of motors)"""
    places: npt.NDArray[np.intp]
    _version: int
    """Version of the structure that it is for."""

    def target(self, t: float) -> tuple[Array, Array, Array]:
        """q_d, v_d and T_d at a time; before the first knot and after the last one those of the end."""
        mb = self._model()
        k, s = self._at(t)
        turn = mb.difference(self.q[k], self.q[k + 1])
        q = np.asarray(mb.integrate(self.q[k], s * turn))
        v, force = ((1.0 - s) * x[k] + s * x[k + 1] for x in (self.v, self.force))
        return q, v, force

    def __call__(self, t: float, q: Any, v: Any) -> Array:
        """The force at a time and a state, (nv)."""
        mb = self._model()
        q, v = read_q(mb, q), read_v(mb, v)
        if q.ndim > 1 or v.ndim > 1:
            raise StateError("a PathRegulator takes one state, got a batch.")
        q_d, v_d, force = self.target(t)
        x = np.concatenate([mb.difference(q_d, q)[self.places], (v - v_d)[self.places]])
        return np.asarray(force - self.K[self._at(t)[0]] @ x)

    def _model(self) -> Multibody:
        return current(self.robot, self._version, "PathRegulator")

    def _at(self, t: float) -> tuple[int, float]:
        t = float(finite(t, (), "the time along a path", StateError))
        t = min(max(t, float(self.t[0])), float(self.t[-1]))
        k = int(np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, len(self.t) - 2))
        return k, float(np.clip((t - self.t[k]) / (self.t[k + 1] - self.t[k]), 0.0, 1.0))

    def __repr__(self) -> str:
        return f"PathRegulator of {self.robot.mb.name!r}: {len(self.t)} knots from {self.t[0]:g} to {self.t[-1]:g} s"


@refusing_overflow()
def lqr_path(
    robot: Robot,
    t: Any,
    q: Any,
    v: Any,
    vdot: Any = None,
    *,
    force: Any = None,
    Q: Any = None,
    R: Any = None,
    Qf: Any = None,
    actuated: Any = None,
) -> PathRegulator:
    """The regulator along a motion given at knots: times t (N + 1), q, v, and vdot or the force that gives it.

    Q (2 m), Q_f (2 m, default Q) and R (one for each motor) as for `lqr`. Where dofs without a motor (`actuated`)
    would need a force it is no motion of the robot, and refused. Closed chains are kept as long as the same dofs are
    independent at all knots. O(N nv^3).

    >>> import numpy as np
    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("pendulum"))
    >>> t = np.linspace(0.0, 1.0, 51)
    >>> q, v, a = np.sin(t)[:, None], np.cos(t)[:, None], -np.sin(t)[:, None]
    >>> law = sc.robot.lqr_path(rb, t, q, v, a, Q=10.0)
    >>> law
    PathRegulator of 'pendulum': 51 knots from 0 to 1 s
    >>> bool(np.allclose(law(0.5, law.target(0.5)[0], law.target(0.5)[1]), law.target(0.5)[2]))
    True
    """
    mb = model_of(robot)
    times = finite(t, (None,), "times of a path", StateError)
    if len(times) < 2 or not (np.diff(times) > 0.0).all():
        raise StateError("a path has two knots or more, at times that grow.")
    count = len(times)
    q, v = read_q(mb, q), read_v(mb, v)
    for x, what in ((q, "q"), (v, "v")):
        if x.ndim != 2 or len(x) != count:
            raise StateError(f"{what} of a path needs a row for each of its {count} knots, got shape {x.shape}.")
    if (vdot is None) == (force is None):
        raise StateError("a path is given by vdot or by the force, one of them.")
    if force is None:
        force = forces_along(robot, q, v, _rows(read_v(mb, vdot, "vdot"), v, "vdot"), actuated)
    force = _rows(read_v(mb, force, "force"), v, "force")
    motors = motors_of(robot, actuated)
    at = np.flatnonzero(motors)
    refuse_forces(mb, force, ~motors)
    force = np.where(motors, force, 0.0)
    A, B, places = _linear(mb, q, v, force)
    for x, what in ((A, "A"), (B, "B")):
        finite_or_refused(x, f"{what} of the motion about the path")
    F, G = _steps(A, B[..., at], np.diff(times))
    n = F.shape[-1]
    if Q is None and R is None and n:
        Q, R = state_sizes(mb, places) ** -2.0, force_sizes(mb, B[0][:, at], places) ** -2.0
    Qk, Rk = weight(Q, n, "Q"), weight(R, len(at), "R", definite=True)
    K, S = np.zeros((count - 1, mb.nv, n)), np.zeros((count, n, n))
    S[-1] = Qk if Qf is None else weight(Qf, n, "Qf")
    for k in range(count - 2, -1, -1):
        h = float(times[k + 1] - times[k])
        H = Rk * h + G[k].T @ S[k + 1] @ G[k]
        try:
            K[k, at] = scipy.linalg.solve(H, G[k].T @ S[k + 1] @ F[k], assume_a="pos")
        except (np.linalg.LinAlgError, ValueError) as why:
            raise SingularError(f"Riccati's equation has no answer at knot {k} of the path: {why}.") from None
        P = Qk * h + F[k].T @ S[k + 1] @ (F[k] - G[k] @ K[k, at])
        S[k] = 0.5 * (P + P.T)
    return PathRegulator(robot, times, np.array(q), np.array(v), np.array(force), K, S, F, G, places, mb.version)


def _rows(x: Array, v: Array, what: str) -> Array:
    """One row for all knots, or one for each."""
    if x.shape not in (v.shape, v.shape[1:]):
        raise StateError(f"{what} of a path needs a row for each of its {len(v)} knots, got shape {x.shape}.")
    return np.broadcast_to(x, v.shape)


def _linear(mb: Multibody, q: Array, v: Array, force: Array) -> tuple[Array, Array, npt.NDArray[np.intp]]:
    if not mb.is_closed:
        lin = linear_of(mb, q, v, force)
        return np.asarray(lin.A), np.asarray(lin.B), places_of(mb, lin)
    solver = TreeAugmented(mb)  # which keeps its dofs along the path while they serve
    each = [linear_of(mb, *x, solver) for x in zip(q, v, force, strict=True)]
    for k, lin in enumerate(each):
        if lin.dof_names != each[0].dof_names:
            raise StateError(
                f"the independent dofs of {mb.name!r} change along the path, from {', '.join(each[0].dof_names)} to "
                f"{', '.join(lin.dof_names)} at knot {k}: cut the path there."
            )
    return np.stack([x.A for x in each]), np.stack([x.B for x in each]), places_of(mb, each[0])


def _steps(A: Array, B: Array, h: Array) -> tuple[Array, Array]:
    """F and G over the steps between knots."""
    n, m = A.shape[-1], B.shape[-1]
    block = np.zeros((len(h), n + m, n + m))
    block[:, :n, :n] = 0.5 * (A[:-1] + A[1:]) * h[:, None, None]
    block[:, :n, n:] = 0.5 * (B[:-1] + B[1:]) * h[:, None, None]
    moved = scipy.linalg.expm(block)
    return np.asarray(moved[:, :n, :n]), np.asarray(moved[:, :n, n:])

"""Linear-quadratic regulators about a state.

    d/dt [xi; dv] = A [xi; dv] + B dT,      T = T_d - K [xi; dv],      K = R^-1 B* S
    A* S + S A - S B R^-1 B* S + Q = 0

xi = difference(q_d, q) and dv = v - v_d; A and B are those of `analysis.linearize`, for closed chains of
`loops.linearize`, whose entries are of the independent dofs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg

from soacraft import dynamics as dyn
from soacraft import loops
from soacraft.analysis.finite import refusing_overflow
from soacraft.analysis.linearize import Linearization, linearize
from soacraft.errors import SingularError, StaleError, StateError
from soacraft.loops import Solver
from soacraft.model.sizes.scale import scale_of
from soacraft.model.states.coordinates import read_q, read_v
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.control.compensation import refuse_forces
from soacraft.robot.control.freedoms import freedom, model_of, motors_of, needed, sizes_of_dofs
from soacraft.robot.robot import Robot
from soacraft.spatial.checks import Array, finite

#: A pole of the closed loop that is as near as this to the imaginary axis, relative to the largest, is on it.
_AT_REST = 1e-12


@dataclass(frozen=True, eq=False)
class Regulator:
    """T = force - K [difference(q_d, q); v - v_d]: the integral of x* Q x + u* R u is least, for small motions."""

    robot: Robot
    q: Array
    v: Array
    force: Array
    K: Array
    """(nv, 2 m), for the m dofs that can move by themselves: all of a tree."""
    S: Array
    """(2 m, 2 m): x* S x is the cost from x on."""
    places: npt.NDArray[np.intp]
    """(m) numbers of these dofs."""
    poles: npt.NDArray[np.complex128]
    """Poles of the closed loop."""
    _version: int
    """Version of the structure that it is for."""

    def __call__(self, q: Any, v: Any) -> Array:
        """The force at a state, (..., nv)."""
        mb = current(self.robot, self._version, "Regulator")
        q, v = read_q(mb, q), read_v(mb, v)
        xi = mb.difference(np.broadcast_to(self.q, q.shape), q)[..., self.places]
        dv = (v - self.v)[..., self.places]
        batch = np.broadcast_shapes(xi.shape, dv.shape)
        x = np.concatenate([np.broadcast_to(xi, batch), np.broadcast_to(dv, batch)], axis=-1)
        return np.asarray(self.force - x @ self.K.T)

    def __repr__(self) -> str:
        slowest = float(self.poles.real.max(initial=-np.inf))
        return f"Regulator of {self.robot.mb.name!r}: {len(self.places)} dofs, slowest pole {slowest:.4g}/s"


@refusing_overflow()
def lqr(robot: Robot, q: Any, v: Any = None, Q: Any = None, R: Any = None, *, actuated: Any = None) -> Regulator:
    """The linear-quadratic regulator about a state that some force holds, from the derivatives of forward dynamics.

    Q (2 m) and R (one for each motor) are matrices, diagonals or numbers. With neither, the regulator is the same for
    an arm of millimetres and of metres: x counts in radians, lengths and times of the model, u in the force that gives
    these; with one of them, the other is ones. m is nv, in a closed chain the number of independent dofs. `actuated`
    names the dofs with a motor, by default as for `gravity`. A state that no force of theirs holds, or that they cannot
    bring back, is refused; elastic modes are regulated by the motors, about a q at which they rest. O(nv^3).

    >>> import numpy as np
    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("cart_pole"))
    >>> law = sc.robot.lqr(rb, [0.0, np.pi], actuated=["cart"])
    >>> bool((law.poles.real < 0).all()), law([0.0, np.pi + 0.1], [0.0, 0.0])[1]
    (True, np.float64(0.0))
    """
    mb = model_of(robot)
    q = read_q(mb, q)
    v = np.zeros(mb.nv) if v is None else read_v(mb, v)
    if q.ndim > 1 or v.ndim > 1:
        raise StateError("lqr is about one state, got a batch.")
    force, at = _holding(robot, q, v, actuated), np.flatnonzero(motors_of(robot, actuated))
    lin = linear_of(mb, q, v, force)
    A, B, places = np.asarray(lin.A), np.asarray(lin.B)[:, at], places_of(mb, lin)
    d, e = state_sizes(mb, places), force_sizes(mb, B, places)
    if Q is None and R is None:
        Q, R = d**-2.0, e**-2.0
    Q, R = weight(Q, len(A), "Q"), weight(R, len(at), "R", definite=True)
    K, S = np.zeros((mb.nv, len(A))), np.zeros_like(A)
    if not len(A):
        return Regulator(robot, q, v, force, K, S, places, np.zeros(0, dtype=complex), mb.version)
    K[at], S, poles = _solved(mb, A, B, Q, R, d, e)
    return Regulator(robot, q, v, force, K, S, places, poles, mb.version)


def state_sizes(mb: Multibody, places: npt.NDArray[np.intp]) -> Array:
    """Sizes that [xi; dv] is measured by: radians and lengths of the model, and these in its time, (2 m)."""
    c = sizes_of_dofs(mb)[places]
    return np.concatenate([c, c / scale_of(mb).time])


def force_sizes(mb: Multibody, B: Array, places: npt.NDArray[np.intp]) -> Array:
    """Forces of the motors, the columns of B, that change the state by its size in the time of the model."""
    d = state_sizes(mb, places)
    fastest = scale_of(mb).time * np.abs(B / d[:, None]).max(axis=0, initial=0.0)
    return np.asarray(1.0 / np.maximum(fastest, np.finfo(float).tiny))


def _solved(
    mb: Multibody, A: Array, B: Array, Q: Array, R: Array, d: Array, e: Array
) -> tuple[Array, Array, npt.NDArray[np.complex128]]:
    """K, S and the poles; where there are none, an error that says whether motors or weights are the reason."""
    try:
        return _riccati(mb, A, B, Q, R, d, e)
    except SingularError as why:
        if not np.array_equal(Q, np.diag(d**-2.0)) and np.linalg.eigvalsh(Q)[0] > 0.0:
            try:
                _riccati(mb, A, B, np.diag(d**-2.0), np.diag(e**-2.0), d, e)
            except SingularError:
                raise why from None
            far = float(np.abs(Q * np.outer(d, d)).max() / np.abs(R * np.outer(e, e)).max())
            raise SingularError(
                f"Riccati's equation of {mb.name!r} is lost in rounding with these weights: in sizes of the model Q is "
                f"{far:.1g} times R. Its motors can bring it back: leave both out for weights in its sizes, or bring "
                "them nearer to each other."
            ) from None
        raise


def _riccati(
    mb: Multibody, A: Array, B: Array, Q: Array, R: Array, d: Array, e: Array
) -> tuple[Array, Array, npt.NDArray[np.complex128]]:
    """K, S and the poles. Riccati's equation is solved without units, so that rounding is the same in all:

        x = d z,  t = time s,  u = e w,    A' = time d^-1 A d,  B' = time d^-1 B e,  Q' = d Q d / k,  R' = e R e / k

    e makes the largest entry of each column of B' one, k the largest ones of Q' and R' the inverse of each other.
    """
    name, time = mb.name, scale_of(mb).time
    a, b = time * A * d / d[:, None], time * B * e / d[:, None]
    cost, effort = Q * np.outer(d, d), R * np.outer(e, e)
    k = float(np.sqrt(np.abs(cost).max() or np.abs(effort).max()) * np.sqrt(np.abs(effort).max()))
    try:
        s = scipy.linalg.solve_continuous_are(a, b, cost / k, effort / k)
        gain = np.linalg.solve(effort / k, b.T @ s)
    except (np.linalg.LinAlgError, ValueError) as why:
        said = str(why).rstrip(".")
        raise SingularError(f"the motors of {name!r} cannot bring it back to this state: {said}.") from None
    poles = np.linalg.eigvals(a - b @ gain).astype(complex)
    slowest, largest = float(poles.real.max()), float(np.abs(poles).max())
    if not slowest < -_AT_REST * largest:
        raise SingularError(
            f"the motors of {name!r} do not bring it back to this state: a pole of the closed loop is at "
            f"{slowest / time:.3g}/s. Something moves that they do not drive, or that Q does not weigh."
        )
    return gain * e[:, None] / d, s * (k * time) / np.outer(d, d), np.asarray(poles / time, dtype=np.complex128)


def _holding(robot: Robot, q: Array, v: Array, actuated: Any) -> Array:
    """The force under which nothing accelerates."""
    mb = robot.mb
    if mb.is_closed:
        free = freedom(robot, q, v, actuated, strict=True)
        return free.force(free.X.T @ needed(mb, q, v, free.x0))
    force, motors = np.array(dyn.inverse_dynamics(mb, q, v, np.zeros(mb.nv))), motors_of(robot, actuated)
    refuse_forces(mb, force, ~motors)
    return np.where(motors, force, 0.0)


def current(robot: Robot, version: int, what: str) -> Multibody:
    """The model of a robot, where it still has the structure that a law was made for."""
    if robot.mb.version != version:
        raise StaleError(f"the robot {robot.mb.name!r} has changed since: make another {what}.")
    return robot.mb


def linear_of(mb: Multibody, q: Array, v: Array, force: Array, solver: Solver | None = None) -> Linearization:
    """The linear motion about a state: of a tree, or of the independent dofs of a closed chain, as a new solver chooses
    them, or as one did for states before it."""
    if not mb.is_closed:
        return linearize(mb, q, v, force)
    return loops.linearize(loops.TreeAugmented(mb) if solver is None else solver, q, v, force)


def places_of(mb: Multibody, lin: Linearization) -> npt.NDArray[np.intp]:
    """Numbers of the dofs that a linearization is of. Closures that roll have more places than dofs: refused."""
    named = getattr(lin, "position_names", lin.dof_names)
    if tuple(named) != tuple(lin.dof_names):
        raise StateError(f"closures of {mb.name!r} roll, so that places and velocities are of different dofs: no LQR.")
    return np.array([mb.dof_names.index(x) for x in lin.dof_names], dtype=np.intp)


def weight(matrix: Any, size: int, what: str, definite: bool = False) -> Array:
    """A symmetric matrix from a matrix, a diagonal, a number or None for ones."""
    W = np.ones(size) if matrix is None else finite(matrix, (...,), what, StateError)
    if W.shape not in ((), (size,), (size, size)):
        raise StateError(f"{what} must have {size} numbers, or ({size}, {size}); got {W.shape}.")
    W = np.diag(np.broadcast_to(W, (size,))) if W.ndim < 2 else W
    if size:
        if not np.allclose(W, W.T, rtol=1e-12, atol=0.0):
            raise StateError(f"{what} must be symmetric.")
        values = np.linalg.eigvalsh(W)
        low = float(values[0])
        if low <= 0.0 if definite else low < -1e-12 * float(np.abs(values).max()):
            raise StateError(f"{what} must {'be positive definite' if definite else 'have no negative eigenvalue'}, "
                             f"got one of {low:.3g}.")  # fmt: skip
    return np.asarray(W)


def forces_along(robot: Robot, q: Array, v: Array, vdot: Array, actuated: Any) -> Array:
    """The forces that give the accelerations of a path (k, nv), refused where dofs without a motor need some."""
    mb = robot.mb
    if mb.is_closed:
        forces = np.empty(v.shape)
        for k in range(len(v)):
            free = freedom(robot, q[k], v[k], actuated, strict=True)
            assert free.closed is not None
            free.closed.require(vdot[k])
            forces[k] = free.force(free.X.T @ needed(mb, q[k], v[k], vdot[k]))
        return forces
    force, motors = np.array(dyn.inverse_dynamics(mb, q, v, vdot)), motors_of(robot, actuated)
    refuse_forces(mb, force, ~motors)
    return np.where(motors, force, 0.0)

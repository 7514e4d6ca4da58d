"""The rows of loop closures and couplings at one state: all that the solvers share.

A closure lets frame b move relative to frame a only as its hinge allows. With T_ab the pose of b seen from a, and both
velocities taken at b in the axes of b,

    xi = V_b - X V_a,   X = phi*(a,b)                     the twist of b seen from a
    xi = H_c* thetadot_c                                  what the hinge allows, so with Q H_c* = 0
    Q xi = 0                                              the velocity rows, Gc v
    Q (alpha_b - X alpha_a + crm(xi) X V_a - Hdot_c* thetadot_c) = 0        the acceleration rows, Gc vdot + Gcdot v

since X turns with -crm(xi), and Qdot xi = -Q Hdot_c* thetadot_c for every smooth choice of Q (formula F2 in the
axes of b). The residual is Q log(T_hinge(theta_c)^-1 T_ab). A coupling `sum p(q) = offset` has the row p'(q) and the
part p''(q) v^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from soacraft.errors import LoopError
from soacraft.model.armature import padded
from soacraft.model.closures import Closure, Coupling, coordinate_names
from soacraft.model.frame import Body, Frame
from soacraft.model.hinges.base import H_T_of, Hinge, bias_of, integrate_of, pose_of
from soacraft.model.hinges.rolling_ball import RollingBall
from soacraft.model.interface import Graph
from soacraft.model.kinematics import pose_of_frame
from soacraft.model.state import State
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose
from soacraft.spatial.transforms import crm, se3_log

_STEPS = 50
_STARTS = 12


@dataclass(frozen=True, eq=False)
class LoopRows:
    """The rows of one closure: `sum over bodies of W V(k)`, W (m, dim_k), and what does not depend on vdot."""

    closure: Closure
    theta: Array
    """The coordinates of the closure's hinge."""
    Q: Array
    """(m, 6): orthonormal rows, in the axes of b, that the hinge does not allow."""
    W: dict[int, Array]
    """By body number."""
    gamma: Array
    """What Q xidot has besides W alpha."""
    residual: Array
    """Q log(T_hinge^-1 T_ab), (m)."""
    gap: Array
    """log(T_hinge^-1 T_ab), (6): [angle; distance] by which the loop is open."""
    speed: Array
    """Q xi, (m): how fast it opens."""
    R_ab: Array
    """The axes of b seen from a."""

    @property
    def name(self) -> str:
        """The closure's name."""
        return self.closure.name

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.Q)

    def wrench(self, multipliers: Array) -> Array:
        """The constraint force on frame b at b in the axes of a, [moment; force], for the multipliers of its rows."""
        on_b = -self.Q.T @ multipliers
        return np.concatenate([self.R_ab @ on_b[:3], self.R_ab @ on_b[3:]])


@dataclass(frozen=True, eq=False)
class CouplingRow:
    """The row of one coupling: `sum over dofs of rate v`."""

    coupling: Coupling
    rates: dict[int, float]
    """By dof number: p'(q)."""
    gamma: float
    """sum p''(q) v^2."""
    residual: float
    """sum p(q) - offset."""

    @property
    def name(self) -> str:
        """The coupling's name."""
        return self.coupling.name


class Constraints:
    """All active closures and couplings of a graph at one state."""

    def __init__(self, graph: Graph, state: State, theta: dict[str, Array] | None = None) -> None:
        if state.batch:
            raise LoopError(f"the rows of loops are made for one state, got a batch {state.batch}.")
        self.graph, self.state = graph, state
        guess = theta or {}
        self.loops = [loop_rows(graph, state, x, guess.get(x.name)) for x in graph.loops if x.active]
        names = coordinate_names(graph) if graph.couplings else {}
        self.couplings = [coupling_row(graph, state, x, names) for x in graph.couplings if x.active]

    @cached_property
    def places(self) -> list[tuple[str, slice]]:
        """The names of closures and couplings and where their rows stand, closures first."""
        found, at = [], 0
        for loop in self.loops:
            found.append((loop.name, slice(at, at + loop.size)))
            at += loop.size
        for row in self.couplings:
            found.append((row.name, slice(at, at + 1)))
            at += 1
        return found

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.places[-1][1].stop if self.places else 0

    @cached_property
    def theta(self) -> dict[str, Array]:
        """The hinge coordinates of the closures, by name."""
        return {loop.name: loop.theta for loop in self.loops}

    @cached_property
    def gamma(self) -> Array:
        """Gcdot v, (m): the rows of the accelerations at vdot = 0."""
        alpha = self.state.replace(vdot=np.zeros(self.graph.nv)).alpha
        parts = [x.gamma + sum(W[:, :6] @ alpha[k] for k, W in x.W.items()) for x in self.loops]
        return np.concatenate([np.zeros(0), *parts, np.array([x.gamma for x in self.couplings])])

    @cached_property
    def residual(self) -> Array:
        """By how much the closures and couplings are violated, (m)."""
        return np.concatenate(
            [np.zeros(0), *(x.residual for x in self.loops), np.array([x.residual for x in self.couplings])]
        )

    @cached_property
    def speed(self) -> Array:
        """Gc v, (m); of a sub-graph with a moving anchor, what that adds included."""
        v = self.state.v
        of_couplings = [sum(rate * v[i] for i, rate in x.rates.items()) for x in self.couplings]
        return np.concatenate([np.zeros(0), *(x.speed for x in self.loops), np.array(of_couplings)])

    def jacobian(self) -> Array:
        """Gc, dense (m, nv): each row from the path of its bodies to the base. O(m depth)."""
        G = np.zeros((self.size, self.graph.nv))
        sko = self.graph.sko(self.state)
        slices = self.graph.layout.v_slices
        for loop, (_, rows) in zip(self.loops, self.places, strict=False):
            for body, W in loop.W.items():
                X, k = W, body
                while k >= 0:
                    G[rows, slices[k]] += X @ sko.H(k).T
                    p = sko.parent(k)
                    X, k = (X @ sko.A(p, k).T if p >= 0 else X), p
        for row, (_, rows) in zip(self.couplings, self.places[len(self.loops) :], strict=True):
            for i, rate in row.rates.items():
                G[rows.start, i] = rate
        return G


def loop_rows(graph: Graph, state: State, closure: Closure, guess: Array | None = None) -> LoopRows:
    """The rows of a closure at a state."""
    (R_a, p_a), (R_b, p_b) = pose_of_frame(state, closure.a), pose_of_frame(state, closure.b)
    T_ab = Pose.unchecked(R_a.T @ R_b, R_a.T @ (p_b - p_a))
    theta = closure_coordinates(closure.hinge, T_ab, guess)
    gap = _gap(closure.hinge, theta, T_ab)
    H_T = H_T_of(closure.hinge, theta)
    Q = complement(H_T)
    X = T_ab.phi().T
    V_a, V_b = _velocity(graph, state, closure.a), _velocity(graph, state, closure.b)
    seen = X @ V_a
    xi = V_b - seen
    rate = np.asarray(np.linalg.lstsq(H_T, xi, rcond=None)[0] if H_T.shape[1] else np.zeros(0))
    gamma = Q @ (crm(xi) @ seen - bias_of(closure.hinge, theta, rate))
    W: dict[int, Array] = {}
    for frame, left in ((closure.b, Q), (closure.a, -Q @ X)):
        if isinstance(frame.carrier, Body):
            k = graph.layout.index[frame.carrier]
            block = padded(left @ frame.offset.phi().T, len(Q), graph.layout.dims[k])
            W[k] = W[k] + block if k in W else block
    return LoopRows(closure, theta, Q, W, gamma, Q @ gap, gap, Q @ xi, T_ab.rotation)


def coupling_row(graph: Graph, state: State, coupling: Coupling, names: dict[str, int]) -> CouplingRow:
    """The row of a coupling at a state."""
    q, v, number = state.q, state.v, {name: i for i, name in enumerate(graph.dof_names)}
    rates, gamma, residual = {}, 0.0, -coupling.offset
    for dof, c in coupling.terms.items():
        x, i = float(q[names[dof]]), number[dof]
        p = np.polynomial.Polynomial((0.0, *c))
        rates[i] = float(p.deriv()(x))
        gamma += float(p.deriv(2)(x)) * float(v[i]) ** 2
        residual += float(p(x))
    return CouplingRow(coupling, rates, gamma, residual)


def closure_coordinates(hinge: Hinge, T_ab: Pose, guess: Array | None = None) -> Array:
    """The coordinates of a closure's hinge nearest to a pose, by Gauss-Newton.

    From a guess if there is one. Otherwise from the neutral coordinates and, where the hinge does not reach the pose
    from there, from others, always the same ones. A rolling ball may be anywhere on its plane, in closed form.
    """
    if isinstance(hinge, RollingBall):
        return np.concatenate([T_ab.as_quaternion(), hinge.tangents @ T_ab.translation])
    if guess is not None or not hinge.nv:
        return _fitted(hinge, T_ab, np.asarray(hinge.neutral() if guess is None else guess, dtype=np.float64))
    rng, best, least = np.random.default_rng(0), np.zeros(0), np.inf
    for i in range(1 + (_STARTS if hinge.holonomic else 0)):
        start = np.asarray(hinge.random(rng) if i else hinge.neutral(), dtype=np.float64)
        theta = _fitted(hinge, T_ab, start)
        left = float(np.linalg.norm(_gap(hinge, theta, T_ab)))
        if left < least - 1e-12:
            best, least = theta, left
        if least < 1e-9:
            break
    return best


def _fitted(hinge: Hinge, T_ab: Pose, theta: Array) -> Array:
    gap = _gap(hinge, theta, T_ab)
    for _ in range(_STEPS if hinge.nv else 0):
        H_T = H_T_of(hinge, theta)
        step = np.asarray(np.linalg.lstsq(H_T, gap, rcond=None)[0])
        if np.linalg.norm(step) < 1e-13:
            break
        size, moved, left = 1.0, theta, gap
        while size > 1e-3:  # a step that does not help is halved
            moved = integrate_of(hinge, theta, size * step)
            left = _gap(hinge, moved, T_ab)
            if np.linalg.norm(left) <= np.linalg.norm(gap) * (1.0 + 1e-12) + 1e-15:
                break
            size *= 0.5
        else:
            break  # nothing helps: a nearest pose that the hinge does not reach
        theta, gap = moved, left
    return theta


def complement(H_T: Array) -> Array:
    """Orthonormal rows Q (m, 6) with Q H* = 0: turns alone, slides alone, and what ties the two, in this order."""
    rows = 6 - H_T.shape[1]
    if rows == 6:
        return np.eye(6)
    turns, slides = scipy.linalg.null_space(H_T[:3].T).T, scipy.linalg.null_space(H_T[3:].T).T
    Q = np.asarray(scipy.linalg.block_diag(turns, slides))
    if len(Q) < rows:
        Q = np.concatenate([Q, scipy.linalg.null_space(np.concatenate([H_T.T, Q])).T])
    return Q


def _gap(hinge: Hinge, theta: Array, T_ab: Pose) -> Array:
    gap = pose_of(hinge, theta).inv @ T_ab
    return se3_log(gap.rotation, gap.translation)


def _velocity(graph: Graph, state: State, frame: Frame) -> Array:
    """The velocity of a frame in its own axes."""
    if not isinstance(frame.carrier, Body):
        return np.zeros(6)
    V = state.motion.V[graph.layout.index[frame.carrier]]
    return np.asarray(frame.offset.phi().T @ V)

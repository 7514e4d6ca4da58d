"""The rows of loop closures and couplings at one state: all that the solvers share.

A closure lets frame b move relative to frame a only as its hinge allows. With T_ab the pose of b seen from a, and both
velocities taken at b in the axes of b,

    xi = V_b - X V_a,   X = phi*(a,b)                     the twist of b seen from a
    xi = H_c* thetadot_c                                  what the hinge allows, so with Q H_c* = 0
    Q xi = 0                                              the velocity rows, Gc v
    Q (alpha_b - X alpha_a + crm(xi) X V_a - Hdot_c* thetadot_c) = 0        the acceleration rows, Gc vdot + Gcdot v

A frame on a flexible body k has V_b = phi*(k,b) V(k) + Pi etad, so W has the columns Q Pi, and alpha_b is that of the
node of the body plus Pidot etad - crm(Pi etad) phi* V(k).

since X turns with -crm(xi), and Qdot xi = -Q Hdot_c* thetadot_c for every smooth choice of Q (formula F2 in the
axes of b). The residual is Q log(T_hinge(theta_c)^-1 T_ab). A coupling `sum p(q) = offset` has the row p'(q) and the
part p''(q) v^2.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from soacraft.errors import LoopError
from soacraft.kinematics.compiled import RowArrays, rows_of
from soacraft.kinematics.complement import complement
from soacraft.model.flat.armature import padded
from soacraft.model.hinges.base import H_T_of, bias_of
from soacraft.model.sizes.measure import Measure, measure_of
from soacraft.model.states.hinge_fit import hinge_gap, hinge_inverse, nearest_coordinates
from soacraft.model.states.kinematics import node_bias, node_block, own_twist, pose_of_frame
from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.parts.closures import Closure, Coupling, coordinate_names, coupling_error
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose
from soacraft.spatial.transforms import crm

if TYPE_CHECKING:
    from soacraft.kinematics.sizes import Sizes


@dataclass(frozen=True, eq=False)
class LoopRows:
    """The rows of one closure: `sum over bodies of W V(k)`, W (m, dim_k), and the terms that do not depend on vdot."""

    closure: Closure
    theta: Array
    """The coordinates of the closure's hinge."""
    Q: Array
    """(m, 6): orthonormal rows, in the axes of b, that the hinge does not allow."""
    W: dict[int, Array]
    """Blocks of W by body number."""
    gamma: Array
    """Terms of Q xidot other than W alpha."""
    residual: Array
    """Q log(T_hinge^-1 T_ab), (m)."""
    gap: Array
    """log(T_hinge^-1 T_ab), (6): [angle; distance] by which the loop is open."""
    speed: Array
    """Q xi, (m): how fast it opens."""
    length: float
    """The sum of its links, in metres: what a distance is measured by."""
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

    @property
    def angle(self) -> float:
        """Angle of the gap, in radians."""
        return float(np.linalg.norm(self.gap[:3]))

    @property
    def distance(self) -> float:
        """Distance of the gap, in metres."""
        return float(np.linalg.norm(self.gap[3:]))

    @property
    def opening(self) -> float:
        """Opening: the angle of the gap, or its distance relative to the length of the loop."""
        return max(self.angle, self.distance / self.length)

    @property
    def units(self) -> Array:
        """Unit for the residual of each row: a radian, its length, or both, (m)."""
        return _row_units(self.Q, self.length)

    def wrench(self, multipliers: Array) -> Array:
        """The constraint force on frame b at b in the axes of a, [moment; force], for the multipliers of its rows."""
        on_b = -self.Q.T @ multipliers
        return np.concatenate([self.R_ab @ on_b[:3], self.R_ab @ on_b[3:]])


@dataclass(frozen=True, eq=False)
class CouplingRow:
    """The row of one coupling: `sum over dofs of rate v`."""

    coupling: Coupling
    rates: dict[int, float]
    """Rates p'(q) by dof number."""
    gamma: float
    """sum p''(q) v^2."""
    residual: float
    """sum p(q) - offset."""
    size: float
    """The largest of its terms at one radian or one length of the model: what its residual is measured by."""

    @property
    def name(self) -> str:
        """The coupling's name."""
        return self.coupling.name

    @property
    def opening(self) -> float:
        """Residual relative to its size."""
        return abs(self.residual) / self.size


class Constraints:
    """All active closures and couplings of a graph at one state; from compiled rows where the graph has them."""

    driven: Collection[str] = ()
    """Names of the driven ones: their position may be any."""
    sizes: Sizes | None = None
    """Result of `kinematics.sizes.sizes_of`, stored since it is used several times."""

    def __init__(self, graph: Graph, state: State, theta: dict[str, Array] | None = None) -> None:
        if state.batch:
            raise LoopError(f"the rows of loops are made for one state, got a batch {state.batch}.")
        self.graph, self.state = graph, state
        self.measure: Measure = measure_of(graph, np.asarray(state.q))
        self._guess = theta or {}
        compiled = rows_of(graph)
        self.arrays: RowArrays | None = None if compiled is None else compiled.rows(state.q, state.v, self._guess)
        """Rows from compiled code, if it knows them."""

    def with_couplings(self, extra: list[CouplingRow]) -> Constraints:
        """Constraints with some more rows in hinge space after these."""
        wider = Constraints.__new__(Constraints)
        wider.measure = self.measure
        wider.graph, wider.state, wider._guess, wider.arrays = self.graph, self.state, self._guess, None
        wider.loops, wider.couplings, wider.driven = self.loops, [*self.couplings, *extra], self.driven
        return wider

    @cached_property
    def loops(self) -> list[LoopRows]:
        """The closures, one by one."""
        loops = [x for x in self.graph.loops if x.active]
        if self.arrays is None:
            lengths = self.measure.loops
            return [loop_rows(self.graph, self.state, x, lengths[x.name], self._guess.get(x.name)) for x in loops]
        unpacked, row, at = [], 0, 0
        for i, closure in enumerate(loops):
            rows, coordinates = slice(row, row + 6 - closure.hinge.nv), slice(at, at + closure.hinge.nq)
            unpacked.append(_unpacked(self.state, closure, self.measure, self.arrays, i, rows, coordinates))
            row, at = rows.stop, coordinates.stop
        return unpacked

    @cached_property
    def couplings(self) -> list[CouplingRow]:
        """The couplings, one by one."""
        if not self.graph.couplings:
            return []
        names, sizes = coordinate_names(self.graph), self.measure.couplings
        return [coupling_row(self.graph, self.state, x, sizes[x.name], names) for x in self.graph.couplings if x.active]

    @cached_property
    def places(self) -> list[tuple[str, slice]]:
        """The names of closures and couplings and where their rows are, closures first."""
        places, at = [], 0
        for loop in self.graph.loops:
            if loop.active:
                places.append((loop.name, slice(at, at + 6 - loop.hinge.nv)))
                at = places[-1][1].stop
        for row in self.couplings:
            places.append((row.name, slice(at, at + 1)))
            at += 1
        return places

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.places[-1][1].stop if self.places else 0

    @cached_property
    def theta(self) -> dict[str, Array]:
        """The hinge coordinates of the closures, by name."""
        if self.arrays is None:
            return {loop.name: loop.theta for loop in self.loops}
        by_name, at = {}, 0
        for loop in self.graph.loops:
            if loop.active:
                by_name[loop.name] = self.arrays.theta[at : at + loop.hinge.nq]
                at += loop.hinge.nq
        return by_name

    @cached_property
    def gamma(self) -> Array:
        """Gcdot v, (m): the rows of the accelerations at vdot = 0."""
        if self.arrays is not None:
            return self.arrays.gamma
        still = np.zeros(self.graph.nv)
        alpha = self.state.node_vectors(self.state.replace(vdot=still).alpha, still)
        parts = [x.gamma + sum(W @ alpha[k] for k, W in x.W.items()) for x in self.loops]
        return np.concatenate([np.zeros(0), *parts, np.array([x.gamma for x in self.couplings])])

    @cached_property
    def residual(self) -> Array:
        """Residual of the closures and couplings, (m)."""
        if self.arrays is not None:
            return self.arrays.residual
        return np.concatenate(
            [np.zeros(0), *(x.residual for x in self.loops), np.array([x.residual for x in self.couplings])]
        )

    @cached_property
    def Q(self) -> Array:
        """The rows of all loops, (rows, 6): orthonormal within a loop, in the axes of its b."""
        if self.arrays is not None:
            return self.arrays.Q
        return np.concatenate([np.zeros((0, 6)), *(x.Q for x in self.loops)])

    @cached_property
    def loop_of_row(self) -> npt.NDArray[np.intp]:
        """The number of the loop of each of these rows."""
        sizes = [6 - x.hinge.nv for x in self.graph.loops if x.active]
        return np.repeat(np.arange(len(sizes)), np.array(sizes, dtype=np.intp))

    @cached_property
    def units(self) -> Array:
        """Units of the residuals, (m): see `soacraft.model.sizes.measure`."""
        sizes = np.array([x.size for x in self.couplings])
        lengths = np.array([self.measure.loops[x.name] for x in self.graph.loops if x.active], dtype=np.float64)
        return np.concatenate([_row_units(self.Q, lengths[self.loop_of_row]), sizes])

    @cached_property
    def common_units(self) -> Array:
        """Units of the residuals with the length of the model for all loops, (m): a metre counts equally everywhere, as
        it should in a sum of squares.
        """
        sizes = np.array([x.size for x in self.couplings])
        return np.concatenate([_row_units(self.Q, self.measure.length), sizes])

    @property
    def opening(self) -> float:
        """Largest opening of closures and couplings: angles, distances relative to the lengths of their loops, sums
        relative to the sizes of their couplings. Driven ones do not count.
        """
        off = [x.opening for x in self.couplings if x.name not in self.driven]
        if self.arrays is None or self.driven:
            off += [x.opening for x in self.loops if x.name not in self.driven]
        elif len(gap := self.arrays.gap):
            lengths = np.fromiter(self.measure.loops.values(), np.float64)
            off += [np.linalg.norm(gap[:, :3], axis=1).max(), (np.linalg.norm(gap[:, 3:], axis=1) / lengths).max()]
        return float(max(off, default=0.0))

    @property
    def open_by(self) -> Array:
        """The residual of what should be closed, (m): zero for driven closures."""
        residual = self.residual.copy()
        for name, place in self.places if self.driven else ():
            if name in self.driven:
                residual[place] = 0.0
        return residual

    @property
    def open_part(self) -> float:
        """The largest of it in units: radians, and lengths of loops."""
        return float(np.abs(self.open_by / self.units).max(initial=0.0))

    @cached_property
    def speed(self) -> Array:
        """Gc v, (m); of a sub-graph with a moving anchor, what that adds included."""
        if self.arrays is not None:
            return self.arrays.speed
        v = self.state.v
        of_couplings = [sum(rate * v[i] for i, rate in x.rates.items()) for x in self.couplings]
        return np.concatenate([np.zeros(0), *(x.speed for x in self.loops), np.array(of_couplings)])

    def jacobian(self) -> Array:
        """Gc, dense (m, nv): each row from the path of its bodies to the base. O(m depth)."""
        if self.arrays is not None:
            return self.arrays.G.copy()
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


def seen_from(state: State, loop: LoopRows) -> Pose:
    """The pose of b seen from a."""
    return _pose_between(state, loop.closure)


def _row_units(Q: Array, length: Array | float) -> Array:
    """|turns of Q| + |slides of Q| length, row by row."""
    return np.asarray(np.linalg.norm(Q[:, :3], axis=1) + np.linalg.norm(Q[:, 3:], axis=1) * length)


def loop_rows(graph: Graph, state: State, closure: Closure, length: float, guess: Array | None = None) -> LoopRows:
    """The rows of a closure of a given length at a state."""
    (R_a, p_a), (R_b, p_b) = pose_of_frame(state, closure.a), pose_of_frame(state, closure.b)
    T_ab = Pose.unchecked(R_a.T @ R_b, R_a.T @ (p_b - p_a))
    theta = nearest_coordinates(closure.hinge, T_ab, guess, length)
    gap = hinge_gap(closure.hinge, theta, T_ab)
    H_T = H_T_of(closure.hinge, theta)
    Q = complement(H_T)
    X = T_ab.phi().T
    V_a, V_b = own_twist(state, closure.a), own_twist(state, closure.b)
    seen = X @ V_a
    xi = V_b - seen
    rate = hinge_inverse(H_T, length) @ xi
    gamma = Q @ (crm(xi) @ seen - bias_of(closure.hinge, theta, rate))
    W: dict[int, Array] = {}
    for frame, map_ in ((closure.b, Q), (closure.a, -Q @ X)):
        if isinstance(frame.carrier, Body):
            k, block = graph.layout.index[frame.carrier], map_ @ node_block(state, frame)
            W[k] = W[k] + block if k in W else block
            gamma = gamma + map_ @ node_bias(state, frame)
    return LoopRows(closure, theta, Q, W, gamma, Q @ gap, gap, Q @ xi, length, T_ab.rotation)


def _unpacked(
    state: State, closure: Closure, measure: Measure, x: RowArrays, i: int, rows: slice, coordinates: slice
) -> LoopRows:
    """The rows of one closure out of those of all."""
    layout = state.graph.layout
    W: dict[int, Array] = {}
    gamma = x.local[rows]
    for frame, blocks in ((closure.b, x.W_b), (closure.a, x.W_a)):
        if isinstance(frame.carrier, Body):
            k = layout.index[frame.carrier]
            block = padded(blocks[rows], rows.stop - rows.start, layout.dims[k])
            if k in layout.flexible:
                on_frame = x.Q[rows] if frame is closure.b else -x.Q[rows] @ _pose_between(state, closure).phi().T
                block, gamma = on_frame @ node_block(state, frame), gamma + on_frame @ node_bias(state, frame)
            W[k] = W[k] + block if k in W else block
    return LoopRows(closure, x.theta[coordinates], x.Q[rows], W, gamma, x.residual[rows], x.gap[i], x.speed[rows],
                    measure.loops[closure.name], x.R_ab[i])  # fmt: skip


def _pose_between(state: State, closure: Closure) -> Pose:
    (R_a, p_a), (R_b, p_b) = (pose_of_frame(state, frame) for frame in (closure.a, closure.b))
    return Pose.unchecked(R_a.T @ R_b, R_a.T @ (p_b - p_a))


def coupling_row(
    graph: Graph, state: State, coupling: Coupling, size: float, names: dict[str, int]
) -> CouplingRow:
    """The row of a coupling of a given size at a state."""
    q, v, number = state.q, state.v, {name: i for i, name in enumerate(graph.dof_names)}
    rates, gamma = {}, 0.0
    for dof, c in coupling.terms.items():
        x, i = float(q[names[dof]]), number[dof]
        first = second = 0.0  # p'(x) and p''(x), by Horner's rule
        for n in range(len(c), 0, -1):
            second = second * x + n * (n - 1) * c[n - 1] if n > 1 else second
            first = first * x + n * c[n - 1]
        rates[i] = first
        gamma += second * float(v[i]) ** 2
    return CouplingRow(coupling, rates, gamma, coupling_error(coupling, names, q), size)

"""Limb in the form of compiled inverse kinematics: hinges one after the other from a base to a tip, each a screw about
or along z of its frame, with a table of configurations to start from.

    T(q) = C_1 exp(z_1 q_1) C_2 exp(z_2 q_2) ... C_tip

A hinge whose screws follow each other (all but spherical, free and rolling ones) is as many of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft import _core
from soacraft.kinematics.tolerances import LIMB_DAMPED, LIMB_DAMPING, NO_PITCH, UNIMPROVED
from soacraft.model.flat.layout import Layout
from soacraft.model.hinges import Weld
from soacraft.model.hinges.product import ScrewProduct
from soacraft.model.sizes.lengths import chain
from soacraft.model.states.ranges import Ranges
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import axes_along, matrix_to_quaternion

#: Dofs of a limb that compiled code takes.
MOST = 32
#: Configurations of the table. With 8 of them all but 3 of 2,000 random poses of a 7-dof arm are met.
TABLE = 512
#: Factor of the range between limits over which they are spread evenly, and then brought back to the limits: goals near
#: limits have few starts else.
BEYOND = 1.1
#: Steps of a start; after so many the square of the residual must have come down to the part ENOUGH.
STEPS, PATIENCE, ENOUGH = 60, 5, 0.5
#: The largest step of a dof, in radians.
LARGEST = 1.2
#: Steps towards the nearest approach where no start got there; most need 20.
SETTLING = 100
#: A dof without limits is taken from here to there, in turns of half a circle, or lengths of the limb.
_WIDE = np.pi


@dataclass(frozen=True)
class Plan:
    """Settings of a search, with the names that compiled code uses."""

    tolerance: Array
    seeds: int
    all: int = 0
    near_first: int = 0
    seconds: float = 0.0
    steps: int = STEPS
    patience: int = PATIENCE
    enough: float = ENOUGH
    damping: float = LIMB_DAMPING
    damped: float = LIMB_DAMPED
    largest: float = LARGEST
    settling: int = SETTLING
    settled: float = UNIMPROVED

    @cached_property
    def compiled(self) -> _core.LimbPlan:
        """Plan in the form that compiled code stores."""
        return _core.LimbPlan(self)


class Answers(NamedTuple):
    """Answers for each goal: coordinates (count, dofs), remaining turn and way in axes of the goal (count, 6), True if
    it was met, the numbers of starts and of steps.
    """

    q: Array
    left: Array
    found: npt.NDArray[np.bool_]
    tried: npt.NDArray[np.int64]
    steps: npt.NDArray[np.int64]


class LimbEngine:
    """Inverse kinematics of one limb of a tree, compiled. The base and all hinges before it do not matter: goals are
    poses of the tip in the base."""

    def __init__(self, graph: Graph, bodies: tuple[Body, ...], base: Frame, tip: Frame) -> None:
        layout = graph.layout
        hinges, dofs, places, end = _hinges(layout, bodies, base, tip)
        ranges = Ranges(graph)
        v = np.array(
            [i for b in bodies for i in range(*layout.hinge_v[layout.index[b]].indices(layout.nv))], dtype=np.intp
        )
        self.lower, self.upper = ranges.lower[v].copy(), ranges.upper[v].copy()
        turning = np.array([hinges[np.flatnonzero(dofs == i), 12].any() for i in range(len(v))])
        reach = sum(chain(base, tip).links) or 1.0
        self.length = reach
        self.unit = np.where(turning, 1.0, 1.0 / reach)
        self.places = places
        low = np.where(
            np.isfinite(self.lower),
            self.lower,
            np.where(np.isfinite(self.upper), self.upper - 2 * _WIDE / self.unit, -_WIDE / self.unit),
        )
        high = np.where(np.isfinite(self.upper), self.upper, low + 2 * _WIDE / self.unit)
        self.low, self.high, self.middle = low, high, 0.5 * (low + high)
        self._limb = _core.Limb(hinges, dofs, end, self.lower, self.upper, self.unit, reach)
        self._hinges, self._dofs, self._end = hinges, dofs, end
        self.period = _periods(hinges, dofs, len(v))
        q = self.low + _spread(TABLE, len(v)) * (self.high - self.low)
        R, p = self.place(q)
        self._limb.set_table(q, np.ascontiguousarray(p.T), np.ascontiguousarray(matrix_to_quaternion(R).T))

    def place(self, q: Array) -> tuple[Array, Array]:
        """Rotation and position of the tip in the base, q (..., dofs)."""
        R, p = np.eye(3), np.zeros(3)
        for row, dof in zip(self._hinges, self._dofs, strict=True):
            C, c, (turn, slide, ratio, offset) = row[:9].reshape(3, 3), row[9:12], row[12:]
            p, R = p + R @ c, R @ C
            x = ratio * q[..., dof] + offset
            s, k = np.sin(turn * x), np.cos(turn * x)
            p = p + (slide * x)[..., None] * R[..., 2]
            R = np.stack([k[..., None] * R[..., 0] + s[..., None] * R[..., 1],
                          k[..., None] * R[..., 1] - s[..., None] * R[..., 0],
                          np.broadcast_to(R[..., 2], (*x.shape, 3))], axis=-1)  # fmt: skip
        return R @ self._end[:9].reshape(3, 3), p + R @ self._end[9:]

    @property
    def axes(self) -> tuple[Array, npt.NDArray[np.int64], Array]:
        """Hinges (count, 16), pose in the one before, turn, slide, ratio and offset; their dofs; the tip in the last
        (12)."""
        return self._hinges, self._dofs, self._end

    def unwound(self, q: Array) -> Array:
        """Configuration with dofs that turn as near to the middle of their range as whole turns bring them."""
        moved = q - whole_turns(q - self.middle, self.period)
        return np.where((moved >= self.lower) & (moved <= self.upper), moved, q)

    def apart(self, a: Array, b: Array) -> float:
        """Largest difference of two configurations, in radians and lengths; whole turns do not count."""
        return float(np.abs((a - b - whole_turns(a - b, self.period)) * self.unit).max())

    def find(self, goal: Pose, near: Array, plan: Plan) -> tuple[Array, Array, int]:
        """Coordinates for one goal from `near` (dofs), the residual, and the number of starts, negative where none met
        it: `search` of one goal, without the overhead of arrays.
        """
        q, residual = np.empty(len(self.lower)), np.empty(6)
        return q, residual, self._limb.find(goal.rotation, goal.translation, near, plan.compiled, q, residual)

    def search(self, goals: Array, near: Array, plan: Plan, threads: int = 1) -> Answers:
        """Answers for goals (count, 12), rows of the rotation then the position, from `near` (count or 1, dofs)."""
        count, n = len(goals), len(self.lower)
        rows = count * (plan.seeds if plan.all else 1)
        q, residual, counts = np.zeros((rows, n)), np.zeros((rows, 6)), np.zeros((count, 3), dtype=np.int64)
        self._limb.search(goals, near, plan.compiled, q, residual, counts, threads)
        if plan.all:
            q, residual = q[: counts[0, 0]], residual[: counts[0, 0]]
        return Answers(q, residual, counts[:, 0] > 0, counts[:, 1], counts[:, 2])


def engine_of(graph: Graph, bodies: tuple[Body, ...], base: Frame, tip: Frame) -> LimbEngine | None:
    """The compiled engine of a limb; None for hinges that are no screws in a row, flexible bodies, too many dofs."""
    dofs = sum(x.hinge.nv for x in bodies)
    screws = all(isinstance(x.hinge, ScrewProduct | Weld) and x.modal is None for x in bodies)
    if not screws or not 0 < dofs <= MOST or base.modal_node is not None or tip.modal_node is not None:
        return None
    return LimbEngine(graph, bodies, base, tip)


def _hinges(
    layout: Layout, bodies: tuple[Body, ...], base: Frame, tip: Frame
) -> tuple[Array, npt.NDArray[np.int64], Any, Array]:
    """Rows of pose, turn, slide, ratio and offset; the dof of each; the places of the dofs in q; the tip behind."""
    rows: list[list[float]] = []
    dofs: list[int] = []
    places: list[int] = []
    here = base.offset.inv
    for body in bodies:
        here = here @ body.inboard
        for screw in body.hinge.vectors if isinstance(body.hinge, ScrewProduct) else ():
            at, turn, slide = _about_z(np.asarray(screw))
            X = here @ at
            rows.append([*np.ravel(X.rotation), *X.translation, turn, slide, 1.0, 0.0])
            dofs.append(len(dofs))
            here = at.inv
        q = layout.hinge_q[layout.index[body]]
        places += range(q.start, q.stop)
        here = here @ body.outboard
    end = here @ tip.offset
    return (np.array(rows, dtype=float), np.array(dofs, dtype=np.int64), np.array(places, dtype=np.intp),
            np.array([*np.ravel(end.rotation), *end.translation]))  # fmt: skip


def whole_turns(d: Array, period: Array) -> Array:
    """The part of ways d that is whole turns of dofs with a period; none where that is infinite.

    >>> whole_turns(np.array([7.0, 7.0]), np.array([2.0, np.inf]))
    array([8., 0.])
    """
    turns = np.where(np.isfinite(period), period, 1.0)
    return np.where(np.isfinite(period), turns * np.round(d / turns), 0.0)


def _periods(hinges: Array, dofs: npt.NDArray[np.int64], count: int) -> Array:
    """Periods of the dofs: a turn, infinite where the hinge slides too."""
    periods = np.full(count, np.inf)
    for i in range(count):
        of_dof = hinges[dofs == i]
        if len(of_dof) == 1 and of_dof[0, 12] != 0.0 and of_dof[0, 13] == 0.0:
            periods[i] = 2.0 * np.pi / abs(of_dof[0, 12] * of_dof[0, 14])
    return periods


def _about_z(screw: Array) -> tuple[Pose, float, float]:
    """A frame on the axis of a screw with z along it; its rates of turning and sliding."""
    w, v = screw[:3], screw[3:]
    rate = float(np.linalg.norm(w))
    if rate == 0.0:
        slide = float(np.linalg.norm(v))
        return Pose(rotation=_with_z(v / slide)), 0.0, slide
    slide = float(w @ v) / rate
    pitch = 0.0 if abs(slide) <= NO_PITCH * float(np.linalg.norm(v)) else slide
    return Pose(rotation=_with_z(w / rate), translation=np.cross(w, v) / rate**2), rate, pitch


def _with_z(z: Array) -> Array:
    """Axes whose z is given."""
    return np.roll(axes_along(z), -1, axis=0).T


def _spread(count: int, dims: int) -> Array:
    """Parts of the ranges of dofs, of the configurations of a table."""
    return np.asarray(np.clip(0.5 + BEYOND * (_halton(count, dims) - 0.5), 0.0, 1.0))


def _halton(count: int, dims: int) -> Array:
    """Points spread evenly over the unit cube (Halton 1960), the same every time."""
    primes = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101,
              103, 107, 109, 113, 127, 131]  # fmt: skip
    points = np.zeros((count, dims))
    for j in range(dims):
        k, part = np.arange(1, count + 1) + 20, 1.0
        while k.any():
            part /= primes[j]
            points[:, j] += part * (k % primes[j])
            k //= primes[j]
    return points

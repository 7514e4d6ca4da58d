"""A proof that no configuration within limits meets all targets: boxes of configurations are excluded one by one.

Within a box of half widths h around q a frame moves, seen from another, by no more than

    |p - p(q)| <= sum over j of rho_j h_j,      angle(R, R(q)) <= sum over j of h_j

with rho_j the length of the links from hinge j to the frame, and 1 for a slide, which turns nothing. So a box is
excluded where a target is further off at its middle; others are halved, across what counts most. Turns without limits
are covered by one turn. Loops closed by hinges that only turn are targets like others, couplings are bounded by their
rates. Chains of a few dofs are settled so; with many there soon are too many boxes, and nothing is said.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soacraft.dynamics.problem import Mask
from soacraft.kinematics.bounds import Bounds
from soacraft.kinematics.reach import TURNING, joints_between
from soacraft.kinematics.targets import Aim, aim_at
from soacraft.kinematics.tolerances import BOX_SLACK, CLOSED
from soacraft.model.hinges import Cylindrical, Gimbal, Helical, Pin, Prismatic, Spherical, Universal, Weld
from soacraft.model.states.kinematics import pose_of_frame
from soacraft.model.states.state import State
from soacraft.model.tree.parts.closures import coordinate_names
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose

_MOST = 2048  # boxes at a time
_ROUNDS = 24


class _Rates(NamedTuple):
    """Largest motion of a target by one radian or metre of each dof, (nv) each."""

    distance: Array
    angle: Array


def excluded(bounds: Bounds, state: State, aims: list[Aim], closed: float = CLOSED) -> int:
    """The number of boxes it took to prove that no configuration meets the aims, loops and couplings; 0 without a
    proof. Loops may be open by `closed`. O(boxes n)."""
    tested = [*aims, *closing_aims(bounds, closed)]
    some = any(aim.kind == "axes" for aim in aims)  # single angles of a turn may vary faster than it does
    boxes = None if some else _Boxes.of(bounds, state, tested)
    if boxes is None:
        return 0
    (q, h), count = boxes.all(), 0
    for _ in range(_ROUNDS):
        open_boxes = boxes.left(q, h)
        count += len(open_boxes)
        if not open_boxes.any():
            return count
        if 2 * int(open_boxes.sum()) > _MOST:
            break
        q, h = boxes.halved(q[open_boxes], h[open_boxes])
    return 0


def closing_aims(bounds: Bounds, closed: float = CLOSED) -> list[Aim]:
    """Targets that closures by hinges that turn set for their frames: to be at the same point, welded ones in the same
    axes.
    """
    aims = []
    for x in bounds.graph.loops:
        if x.active and isinstance(x.hinge, TURNING):
            kind, goal = ("pose", Pose()) if isinstance(x.hinge, Weld) else ("position", np.zeros(3))
            aims.append(aim_at(bounds.graph, x.name, kind, (x.b, x.a), goal, tolerance=closed))
    return aims


class _Boxes:
    """The configurations of a model within its limits, and how fast targets move through them."""

    def __init__(
        self, bounds: Bounds, state: State, aims: list[Aim], rates: list[_Rates], low: Array, high: Array
    ) -> None:
        self.graph, self.place, self.state = bounds.graph, bounds.place, state
        self.aims, self.rates, self.low, self.high = aims, rates, low, high
        self.couplings = [x for x in self.graph.couplings if x.active]
        self.moving: Mask = np.zeros(self.graph.nv, dtype=np.bool_)
        weight = np.zeros(self.graph.nv)
        for x, aim in zip(rates, aims, strict=True):
            weight += x.angle + x.distance / aim.length
        self.number = {name: i for i, name in enumerate(self.graph.dof_names)}
        for coupling in self.couplings:
            weight[[self.number[dof] for dof in coupling.terms]] += 1.0
        self.weight = np.where(bounds.free, weight, 0.0)
        self.moving = self.weight > 0.0

    @classmethod
    def of(cls, bounds: Bounds, state: State, aims: list[Aim]) -> _Boxes | None:
        """None where some hinge on the way has no box of coordinates, or a slide or a coupled dof no end."""
        graph, low, high = bounds.graph, bounds.lower.copy(), bounds.upper.copy()
        turns = np.zeros(graph.nv, dtype=np.bool_)
        for body, v in zip(graph.bodies, graph.layout.v_slices, strict=True):
            turns[v] = isinstance(body.hinge, Pin | Universal | Gimbal)
            turns[v.start : v.start + 1] |= isinstance(body.hinge, Cylindrical)
        coupled = {dof for x in graph.couplings if x.active for dof in x.terms}
        turns &= np.array([name not in coupled for name in graph.dof_names], dtype=np.bool_)
        around = turns & ~(np.isfinite(low) & np.isfinite(high))
        low[around], high[around] = -np.pi, np.pi
        rates = [_rates(bounds, state, aim) for aim in aims]
        known_rates = [x for x in rates if x is not None]
        if len(known_rates) < len(rates):
            return None
        boxes = cls(bounds, state, aims, known_rates, low, high)
        ends = np.isfinite(low) & np.isfinite(high) & (bounds.place >= 0)
        return boxes if ends[boxes.moving].all() else None

    def all(self) -> tuple[Array, Array]:
        """One box around everything: its middle (1, nq) and half widths (1, nv)."""
        q, h = np.array(self.state.q), np.zeros(self.graph.nv)
        low, high = self.low[self.moving], self.high[self.moving]
        q[self.place[self.moving]], h[self.moving] = 0.5 * (low + high), 0.5 * (high - low)
        return q[None], h[None]

    def left(self, q: Array, h: Array) -> Mask:
        """Mask of the boxes that cannot be excluded."""
        still = np.zeros((len(q), self.graph.nv))
        state = self.state.replace(q=q, v=still, vdot=still)
        possible = np.ones(len(q), dtype=np.bool_)
        for aim, rate in zip(self.aims, self.rates, strict=True):
            gap = aim.gaps(*aim.seen(state))
            possible &= gap.distance <= h @ rate.distance + aim.tolerance.distance + BOX_SLACK * aim.length
            possible &= gap.angle <= h @ rate.angle + aim.tolerance.angle + BOX_SLACK
        at = coordinate_names(self.graph)
        for coupling in self.couplings:
            off, most, size = np.full(len(q), -coupling.offset), np.zeros(len(q)), np.zeros(len(q))
            for dof, c in coupling.terms.items():
                x, width = q[:, at[dof]], h[:, self.number[dof]]
                off += np.polynomial.polynomial.polyval(x, (0.0, *c))
                rates = [n * abs(a) * (np.abs(x) + width) ** (n - 1) for n, a in enumerate(c, 1)]
                most, size = most + width * sum(rates), np.maximum(size, sum(rates))
            possible &= np.abs(off) <= most + CLOSED * size
        return possible

    def halved(self, q: Array, h: Array) -> tuple[Array, Array]:
        """Each box as two, across the dof that takes the targets furthest."""
        each = np.arange(len(q))
        across = np.argmax(h * self.weight, axis=1)
        h = h.copy()
        h[each, across] *= 0.5
        step = np.zeros_like(q)
        step[each, self.place[across]] = h[each, across]
        return np.concatenate([q - step, q + step]), np.concatenate([h, h])


def _rates(bounds: Bounds, state: State, aim: Aim) -> _Rates | None:
    """None where a hinge on the way has no box of coordinates, or no end."""
    graph, rates = bounds.graph, _Rates(np.zeros(bounds.graph.nv), np.zeros(bounds.graph.nv))
    at, lever = np.asarray(pose_of_frame(state, aim.frame)[1]), 0.0
    for joint in reversed(joints_between(bounds, state, aim.to, aim.frame)):
        hinge, v = joint.body.hinge, graph.layout.v_slices[graph.layout.index[joint.body]]
        if isinstance(hinge, Spherical) or not isinstance(hinge, (*TURNING, Prismatic, Cylindrical, Helical)):
            return None
        lever += float(np.linalg.norm(at - joint.last)) + joint.travel[1]
        if not np.isfinite(lever):
            return None
        pitch = hinge.pitch if isinstance(hinge, Helical) else 0.0  # a screw moves a point across its axis and along
        rates.distance[v], rates.angle[v] = np.hypot(lever, pitch), 1.0
        if isinstance(hinge, Prismatic | Cylindrical):
            rates.distance[v.stop - 1], rates.angle[v.stop - 1] = 1.0, 0.0
        at = joint.first
    return rates

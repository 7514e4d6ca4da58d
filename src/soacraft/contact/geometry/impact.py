"""The time at which moving shapes first touch, by conservative advancement (Mirtich 1996).

Along the normal n of the nearest points the gap shrinks no faster than

    mu = n.(v_a - v_b) + |omega_a| r_a + |omega_b| r_b,      r the extent of a shape about its frame's origin

so from t on nothing happens before t + distance / mu: steps of that length end at the first touch, never behind it.
That holds of convex shapes and planes, which a face across n separates. Of a mesh or a height field a part that is not
the nearest may be in the way: |v_a - v_b| takes the place of n.(v_a - v_b).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft.contact.geometry.compiled import SPOT, contact_distance, pose_rows
from soacraft.contact.geometry.queries import Nearest, require_pair
from soacraft.contact.geometry.shapes import Shape
from soacraft.errors import ConvergenceError, ModelError
from soacraft.model.tree.arguments import read_pose
from soacraft.spatial.checks import Array, frozen
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import exp, log

#: A gap below this part of the size of the pair is a touch.
TOUCH = 1e-9
#: Touches this near in time, as a part of the way, are one instant: what TOUCH leaves undecided.
_INSTANT = 1e-8
STEPS = 10_000


@dataclass(frozen=True, eq=False)
class Impact:
    """First touch of two moving shapes: `time` from 0 to 1, or inf; `nearest` has their points, then or at the end."""

    time: float
    nearest: Nearest

    def __repr__(self) -> str:
        if np.isfinite(self.time):
            return f"impact at {self.time:.6g} of the way"
        return f"no impact; {self.nearest!r} where it ended"


class _Motion:
    """A pose moving from one to another: the origin along a line, turning about a fixed axis, both at constant rate."""

    def __init__(self, start: Array, end: Array) -> None:
        self._R, self._p = start[:9].reshape(3, 3), start[9:]
        self.velocity = end[9:] - start[9:]
        self._turn = log(self._R.T @ end[:9].reshape(3, 3))
        self.rate = float(np.linalg.norm(self._turn))

    def at(self, t: float) -> tuple[Array, Array]:
        """The pose at a time from 0 to 1, (1, 9) and (1, 3)."""
        R = self._R @ exp(t * self._turn) if self.rate else self._R
        return R.reshape(1, 9), (self._p + t * self.velocity)[None]


def time_of_impact(a: Shape, from_a: Pose, to_a: Pose, b: Shape, from_b: Pose, to_b: Pose) -> Impact:
    """First touch of two shapes that each move from a pose to another, at constant rates of travel and turn.

    Shapes that touch at the start are at time 0. O(steps), of which there are few where they close in without turning.

    >>> from soacraft.contact import Box, Sphere
    >>> bullet, plate, still = Sphere(0.01), Box(1, 1, 0.001), Pose()
    >>> time_of_impact(bullet, Pose(translation=(0, 0, 1)), Pose(translation=(0, 0, -1)), plate, still, still)
    impact at 0.49475 of the way
    """
    require_pair(a, b)
    ends = [read_pose(x, name) for x, name in ((from_a, "from_a"), (to_a, "to_a"), (from_b, "from_b"), (to_b, "to_b"))]
    rows = [pose_rows(x)[0] for x in ends]
    for shape, motion in ((a, rows[:2]), (b, rows[2:])):
        if not np.isfinite(shape.extent) and not np.array_equal(motion[0][:9], motion[1][:9]):
            raise ModelError("a Plane without end must not turn in time_of_impact; make it a Box.")
    t, row = _advance(a, _Motion(*rows[:2]), b, _Motion(*rows[2:]), 0.0, 1.0)
    return Impact(t, Nearest(frozen(row[0])))


def _advance(a: Shape, of_a: _Motion, b: Shape, of_b: _Motion, padding: float, until: float) -> tuple[float, Array]:
    """The time of the first touch before `until`, or inf, and the nearest points then, (1, 11)."""
    size = sum(x.extent for x in (a, b) if np.isfinite(x.extent)) + padding
    turning = sum(x.extent * m.rate for x, m in ((a, of_a), (b, of_b)) if m.rate)
    closing = of_a.velocity - of_b.velocity
    kinds = {a.kind, b.kind}
    separated = "plane" in kinds or not kinds & {"mesh", "heightfield"}  # by a face across n
    t, row = 0.0, np.empty((1, SPOT))
    for _ in range(STEPS):
        contact_distance(a.core, *of_a.at(t), b.core, *of_b.at(t), np.inf, row)
        gap = row[0, 0] - padding
        if gap <= TOUCH * size:
            return t, row
        speed = float(row[0, 7:10] @ closing if separated else np.linalg.norm(closing)) + turning
        if speed <= 0.0 or t + gap / speed > until:
            return np.inf, row
        t += gap / speed
    raise ConvergenceError(
        f"{STEPS} steps did not lead to a touch or past it: at {t:.9g} of the way the gap is {gap:.3g} m; ask for a "
        "shorter way."
    )


def first_impact(built: Any, start: Array, end: Array) -> tuple[float, Array, Any]:
    """The first touch of all pairs of a scene: its time, and the rows and places of the pairs that touch then."""
    count = len(built.shapes)
    motions = [_Motion(start[i], end[i]) for i in range(count)]
    reach = [np.linalg.norm(m.velocity) + (m.rate * s.extent if m.rate else 0.0)
             for m, s in zip(motions, built.shapes, strict=True)]  # fmt: skip
    for placed, shape, motion in zip(built.placed, built.shapes, motions, strict=True):
        if not np.isfinite(shape.extent) and motion.rate:
            raise ModelError(f"shape {placed.name!r} is a plane without end that turns; make it a box.")
    rows, places = built.core.run(start[None], float(2.0 * max(reach, default=0.0)), False, 1)
    first = np.inf
    impacts: list[tuple[float, Array, tuple[int, int, int]]] = []
    for row, (_, i, j) in zip(rows, places, strict=True):
        if row[0] > reach[i] + reach[j]:
            continue
        padding = float(row[7:10] @ (row[4:7] - row[1:4]) - row[0])  # its points are on the shapes without it
        until = min(1.0, first + _INSTANT)
        t, at = _advance(built.shapes[i], motions[i], built.shapes[j], motions[j], padding, until)
        if not np.isfinite(t):
            continue
        first = min(first, t)
        at[0, 0] -= padding
        impacts.append((t, at[0], (0, i, j)))
    touching = [x[1:] for x in impacts if x[0] <= first + _INSTANT]
    if not touching:
        return np.inf, np.empty((0, SPOT)), np.empty((0, 3), dtype=np.int64)
    return first, np.array([x[0] for x in touching]), np.array([x[1] for x in touching], dtype=np.int64)


"""Covers: balls or capsules that together hold a solid.

A ball about c protrudes from a solid by at most its radius plus the signed distance d(c) of its centre, since that
changes by no more than the way. So for an error e the balls of radius e - d(c) are the largest that may be used, and
the capsules of radius e - max d along their segment. They are taken one after the other, each time that which holds the
most points of the solid that none holds yet (greedy set cover).

That they hold the whole solid is then proven, not sampled. Cubes of a grid hold the solid. A cube that the solid does
not reach is dropped; one that is in a single shape with all its corners is done, since shapes are convex; others are
split in eight. Cubes that are small and still not done are held by making the shape larger that is nearest to it.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import KDTree

from soacraft.contact.geometry.shapes import Capsule, Shape, Sphere
from soacraft.errors import StateError
from soacraft.robot.world.solids import CORNERS, HALF, Solid
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose

#: Cubes along the longest side of a solid, whose middles are candidates for centres: so many to an error, at least, and
#: at most. The most candidates that are balls, ends of those that are capsules, and samples along these.
_TO_AN_ERROR, _FEWEST, _FINE = 2.0, 12.0, 40.0
_BALLS, _ENDS, _STEPS = 1000, 40, 12
#: An error below this part of the longest side of a solid is refused, and so are more shapes than this.
FINEST, MOST = 0.01, 1000
#: The smallest cubes of the proof are this part of the error: what shapes are made larger by is about as much.
_SMALLEST = 0.05
#: The part of the error that the first choice may use; the rest is for what the proof adds.
_PARTS = (0.92, 0.85, 0.75, 0.6, 0.4)
#: Radii are larger by this part of the solid, above what rounding does to corners.
_ROUNDED = 1e-9
_ROUNDS, _NEW = 3, 1000
_HALVINGS, _MOVES, _STEPS_OF_A_BALL = 10, 20, 60


@dataclass(frozen=True, eq=False)
class Rounds:
    """Balls and capsules: segments from a to b (n, 3) and radii (n)."""

    a: Array
    b: Array
    r: Array

    def __len__(self) -> int:
        return len(self.r)

    def take(self, which: Any) -> Rounds:
        """Some of them."""
        return Rounds(self.a[which], self.b[which], self.r[which])

    def away(self, i: int, points: Array) -> Array:
        """The signed distances of points (m, 3) from one of them, (m)."""
        x, along = points - self.a[i], self.b[i] - self.a[i]
        size = float(along @ along)
        if size > 0.0:
            x = x - np.clip(x @ along / size, 0.0, 1.0)[:, None] * along
        return np.asarray(np.sqrt(np.einsum("mi,mi->m", x, x)) - self.r[i])

    def stands_out(self, solid: Solid) -> float:
        """Largest distance by which they protrude from a solid."""
        along = self.a[:, None] + np.linspace(0.0, 1.0, _STEPS + 1)[:, None] * (self.b - self.a)[:, None]
        far = solid.distances(along.reshape(-1, 3)).reshape(-1, _STEPS + 1)
        between = 0.0 if solid.convex else 0.5 / _STEPS * np.linalg.norm(self.b - self.a, axis=1)
        return max(0.0, float((far.max(axis=1) + between + self.r).max()))

    def shapes(self) -> list[tuple[Shape, Pose]]:
        """Shapes of the contact layer with their poses."""
        shapes: list[tuple[Shape, Pose]] = []
        for a, b, r in zip(self.a, self.b, self.r, strict=True):
            length = float(np.linalg.norm(b - a))
            if length == 0.0:
                shapes.append((Sphere(float(r)), Pose(translation=a)))
            else:
                shapes.append((Capsule(float(r), length), Pose(_turn((b - a) / length), 0.5 * (a + b))))
        return shapes


def cover(solid: Solid, capsules: bool, error: float | None, count: int | None) -> Rounds:
    """Balls, or capsules and balls, that hold a solid: few that stand out by no more than `error`, or so many as
    `count` that stand out little, both as far as a greedy choice finds them."""
    if error is not None:
        return _close(solid, capsules, error)
    assert count is not None
    finest = FINEST * solid.size
    start = _Start(solid, capsules, solid.size * (0.08 if count <= 16 else 0.05))
    low, high = finest, 2.0 * float(np.linalg.norm(solid.high - solid.low))
    best = start.within(high, count)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        rounds = start.within(middle, count)
        if len(rounds) <= count:
            best, high = rounds, middle
        else:
            low = middle
    smallest = max(finest, _SMALLEST * high)
    candidates = [prove(solid, x, smallest) for x in (best, start.clustered(count))]
    return min(candidates, key=lambda x: x.stands_out(solid))


def _close(solid: Solid, capsules: bool, error: float) -> Rounds:
    if error < FINEST * solid.size:
        raise StateError(
            f"error={error:g} m is too small for {solid.shape!r:.60}, which is {solid.size:g} m long: "
            f"{FINEST * solid.size:g} m is the least."
        )
    start = _Start(solid, capsules, error)
    for part in np.repeat(_PARTS, _ROUNDS):
        chosen = start.within(float(part) * error, MOST)
        if len(chosen) > MOST:
            break
        rounds = prove(solid, chosen, _SMALLEST * error)
        if rounds.stands_out(solid) <= error:
            return rounds
        start.add(gaps(solid, chosen, _SMALLEST * error))
    raise StateError(
        f"a cover of {solid.shape!r:.60} that stands out by {error:g} m needs more than {MOST} shapes: give a larger "
        "error=."
    )


def prove(solid: Solid, rounds: Rounds, smallest: float) -> Rounds:
    """Cover with some shapes enlarged, so that it holds each cube that the solid reaches. The cost is that of the cubes
    near the creases between shapes, O(surface / smallest).
    """
    middles, best, by = _gaps(solid, rounds, smallest)
    radii = rounds.r.copy()
    if len(middles):
        np.maximum.at(radii, best, rounds.r[best] + by + _ROUNDED * solid.size)
    return Rounds(rounds.a, rounds.b, radii)


def sticks_out(solid: Solid, rounds: Rounds, smallest: float) -> float:
    """Largest distance by which the solid may stick out of shapes; zero where cubes prove that it does not."""
    return max(0.0, float(_gaps(solid, rounds, smallest)[2].max(initial=0.0)))


def gaps(solid: Solid, rounds: Rounds, smallest: float) -> Array:
    """Points of the solid that no shape holds, among the cubes that are not proven to be held, (n, 3)."""
    middles, _, _ = _gaps(solid, rounds, smallest)
    middles = middles[:: max(1, len(middles) // _NEW)]
    far = solid.distances(middles)
    return np.where((far > 0.0)[:, None], solid.nearest(middles), middles)


def _gaps(solid: Solid, rounds: Rounds, smallest: float) -> tuple[Array, Any, Array]:
    middles, edge = solid.cubes(8.0)
    while True:
        uncovered = _not_held(solid, rounds, middles, edge)
        if not len(uncovered[0]) or edge <= smallest:
            return uncovered
        edge *= 0.5
        middles = (uncovered[0][:, None] + edge * CORNERS).reshape(-1, 3)


def _not_held(solid: Solid, rounds: Rounds, middles: Array, edge: float) -> tuple[Array, Any, Array]:
    """The cubes that the solid reaches and that are in no single shape, which shape is nearest to holding each, and by
    how much it would have to be larger."""
    best, by = np.zeros(len(middles), dtype=np.int64), np.full(len(middles), np.inf)
    for i in range(len(rounds)):
        close = np.flatnonzero(rounds.away(i, middles) < by)
        corners = (middles[close][:, None] + edge * CORNERS).reshape(-1, 3)
        far = rounds.away(i, corners).reshape(-1, 8).max(axis=1)
        nearer = far < by[close]
        best[close[nearer]], by[close[nearer]] = i, far[nearer]
    outside = np.flatnonzero(by > 0.0)
    reached = solid.distances(middles[outside]) <= HALF * edge * (1.0 + _ROUNDED)
    outside = outside[reached]
    return middles[outside], best[outside], by[outside]


class _Start:
    """Start of a choice of shapes: points to be held, candidates, and the distances of the points from each. All in
    units of the size of the solid and to nine digits, so that ties do not depend on the unit of length.
    """

    def __init__(self, solid: Solid, capsules: bool, error: float) -> None:
        self._solid = solid
        middles, edge = solid.cubes(float(np.clip(_TO_AN_ERROR * solid.size / error, _FEWEST, _FINE)))
        far, reach = self._in_sizes(solid.distances(middles)), self._in_sizes(HALF * edge)
        middles = self._in_sizes(middles)
        skin = self._in_sizes(solid.nearest(middles[np.abs(far) <= reach] * solid.size))
        inner = middles[far < -reach]
        self.points = np.concatenate([self._in_sizes(solid.corners()), skin, inner[:: max(1, len(inner) // 400)]])
        inside = far <= 0.0 if solid.closed else np.zeros(len(far), dtype=bool)
        centres, depth = middles[inside], far[inside]
        if len(centres) < 64:  # a surface, or thin: points of the skin are centres as well
            centres, depth = np.concatenate([centres, skin]), np.concatenate([depth, np.zeros(len(skin))])
        order = np.argsort(depth, kind="stable")
        centres, depth = centres[order], depth[order]
        good = _spread(centres, error / solid.size - depth)
        a, b, most = centres[good], centres[good], depth[good]
        if capsules:
            more = self._segments(centres, depth)
            a, b, most = (np.concatenate([x, y]) for x, y in zip((a, b, most), more, strict=True))
        self._lines, self._most = Rounds(a, b, np.zeros(len(a))), most
        self._away = self._from_lines(self.points)

    def _in_sizes(self, lengths: Any) -> Array:
        return np.asarray(np.round(lengths / self._solid.size, 9))

    def _from_lines(self, points: Array) -> Any:
        away = [self._lines.away(i, points) for i in range(len(self._lines))]
        return np.round(away, 9).astype(np.float32)

    def add(self, points: Array) -> None:
        """More points to be held."""
        more = self._in_sizes(points)
        self._away = np.concatenate([self._away, self._from_lines(more)], axis=1)
        self.points = np.concatenate([self.points, more])

    def within(self, error: float, most: int) -> Rounds:
        """A few that hold all points and stand out by no more than an error; `most` and one where there are more."""
        size = self._solid.size
        radius = np.round(error / size - self._most, 9)
        chosen, uncovered = _greedy(self._away, radius, most)
        rounds = Rounds(self._lines.a, self._lines.b, radius).take(chosen)
        if len(uncovered) and len(rounds) <= most:  # a point is in the ball about it
            rest = self.points[uncovered[: 4 * most]]  # that many are too many
            balls = Rounds(rest, rest, self._in_sizes(error - self._solid.distances(rest * size)))
            away = np.round([balls.away(i, rest) + balls.r[i] for i in range(len(rest))], 9)
            rounds = _joined([rounds, balls.take(_greedy(away, balls.r, most)[0])])
        return Rounds(rounds.a * size, rounds.b * size, rounds.r * size)

    def clustered(self, count: int) -> Rounds:
        """Balls about `count` clusters of the points."""
        rounds, size = _clustered(self.points, min(count, len(self.points))), self._solid.size
        return Rounds(rounds.a * size, rounds.b * size, rounds.r * size)

    def _segments(self, centres: Array, far: Array) -> tuple[Array, Array, Array]:
        """Pairs of centres that are deep and apart from each other, and the largest signed distance between them."""
        ends, size = [0], self._solid.size
        away = np.linalg.norm(centres - centres[0], axis=1)
        while len(ends) < min(_ENDS, len(centres)):  # the farthest from those there are, deeper ones rather
            ends.append(int(np.argmax(np.round(away - far, 9))))
            away = np.minimum(away, np.linalg.norm(centres - centres[ends[-1]], axis=1))
        i, j = np.triu_indices(len(ends), 1)
        a, b = centres[np.array(ends)[i]], centres[np.array(ends)[j]]
        along = a[:, None] + np.linspace(0.0, 1.0, _STEPS + 1)[:, None] * (b - a)[:, None]
        depth = self._in_sizes(self._solid.distances(along.reshape(-1, 3) * size))
        most = depth.reshape(-1, _STEPS + 1).max(axis=1)
        if not self._solid.convex:  # between two samples
            most = most + 0.5 * np.linalg.norm(b - a, axis=1) / _STEPS
        return a, b, most


def _spread(centres: Array, radius: Array) -> list[int]:
    """Centres, the largest radius first, none near one that was taken; sparser until there are few enough."""
    sparse, tree = 0.08, KDTree(centres)
    while True:
        chosen: list[int] = []
        free = radius > 0.0
        for i in range(len(centres)):
            if free[i]:
                chosen.append(i)
                if len(chosen) > _BALLS:
                    break
                free[tree.query_ball_point(centres[i], sparse * radius[i])] = False
        if len(chosen) <= _BALLS:
            return chosen
        sparse *= 1.5


def _greedy(away: Any, radius: Array, most: int) -> tuple[Any, Any]:
    """One after the other, that which holds the most points that none holds yet, at most `most` and one; and the points
    that are left. `away` are the distances of points, (shapes, points)."""
    holds = [np.flatnonzero(x <= r) for x, r in zip(away, radius, strict=True)]
    todo = np.ones(away.shape[1], dtype=bool)
    heap = [(-len(x), i) for i, x in enumerate(holds) if len(x)]
    heapq.heapify(heap)
    chosen: list[int] = []
    while heap and len(chosen) <= most:
        gain, i = heapq.heappop(heap)
        now = int(todo[holds[i]].sum())
        if now == 0:
            continue
        if now < -gain:  # it has become less since
            heapq.heappush(heap, (-now, i))
            continue
        chosen.append(i)
        todo[holds[i]] = False
    times = np.zeros(len(todo), dtype=np.int64)
    for i in chosen:
        times[holds[i]] += 1
    for i in list(chosen):  # those that later ones made needless
        if (times[holds[i]] > 1).all():
            chosen.remove(i)
            times[holds[i]] -= 1
    return np.array(chosen, dtype=np.int64), np.flatnonzero(todo)


def _clustered(points: Array, count: int) -> Rounds:
    """Balls about clusters of points (k-means, from centres far from each other on)."""
    first = [int(np.argmax(np.linalg.norm(points - points.mean(axis=0), axis=1)))]
    away = np.linalg.norm(points - points[first[0]], axis=1)
    while len(first) < count:
        first.append(int(np.argmax(away)))
        away = np.minimum(away, np.linalg.norm(points - points[first[-1]], axis=1))
    centres = points[first].copy()
    for _ in range(_MOVES):
        owner = np.argmin(np.linalg.norm(points[None] - centres[:, None], axis=2), axis=0)
        for i in np.unique(owner):
            centres[i] = points[owner == i].mean(axis=0)
    balls = [_ball_around(points[owner == i]) for i in np.unique(owner)]
    middles = np.array([x for x, _ in balls])
    return Rounds(middles, middles, np.array([r for _, r in balls]))


def _ball_around(points: Array) -> tuple[Array, float]:
    """A small ball about points: its centre goes toward the farthest, less and less (Badoiu and Clarkson 2003)."""
    centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
    for i in range(1, _STEPS_OF_A_BALL):
        far = np.linalg.norm(points - centre, axis=1)
        centre = centre + (points[int(np.argmax(far))] - centre) / (i + 1.0) ** 1.5
    return centre, float(np.linalg.norm(points - centre, axis=1).max())


def _joined(parts: list[Rounds]) -> Rounds:
    return Rounds(*(np.concatenate([getattr(x, key) for x in parts]) for key in ("a", "b", "r")))


def _turn(axis: Array) -> Array:
    """A rotation that takes z to an axis."""
    other = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    x = other / np.linalg.norm(other)
    return np.stack([x, np.cross(axis, x), axis], axis=1)

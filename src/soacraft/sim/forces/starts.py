"""Overlaps at the start of a run, shapes in each other or dofs beyond a bound, and their removal.

Shapes, limits and ropes that are deeper than a small part of their size move out by at most `OUTWARD` lengths of the
model, or radians, in the model's own time sqrt(length / gravity). Each step has its share as a displacement, the
smallest in the metric of the mass matrix, and the velocities are unchanged: no momentum comes of it. Ways
out that oppose each other (of a body between two walls that are too near) give way: it stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import nnls

from soacraft.contact.dynamics.impulses import SolveMass, push_out
from soacraft.contact.geometry.scene import Scene
from soacraft.errors import StateError
from soacraft.model.sizes.measure import Measure
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.sim.forces.hinge_rows import Stop

#: Lengths of the model, or radians, in its own time: how fast depths are taken out.
OUTWARD = 0.25
#: Two shapes of which no dof changes the depth by more than this, in lengths of the model, cannot be pushed apart.
_STUCK = 1e-9
#: Ways out of which a mean is this much shorter than they are oppose each other.
_OPPOSED = 1e-6
#: Softness of a way out, relative to its mobility: ways that oppose each other leave a body where it is.
_SOFT = 1e-2
#: A dof moves by no more than this many ways out of a step, where its arm is short.
_ARM = 10.0


class Overlap(NamedTuple):
    """Two shapes in each other, or a dof, rope or coupling beyond its bound."""

    names: tuple[str, ...]
    depth: float
    """Depth in metres; of a dof in its own unit."""
    part: float
    """Depth in sizes of the smaller shape, radians or lengths of the model."""
    value: float = 0.0
    """The coordinate of a dof."""
    bounds: tuple[float, float] | None = None
    """Limits of the dof."""
    moves: bool = True
    """True if a dof moves them apart."""
    state: int = 0
    """Number of the state in a batch."""

    def __str__(self) -> str:
        if len(self.names) == 2:
            return f"{self.names[0]!r} and {self.names[1]!r} {self.depth:.3g} m in each other"
        if self.bounds is None:
            return f"{self.names[0]!r} beyond its bound by {self.depth:.3g}"
        return f"{self.names[0]!r} at {self.value:.6g}, beyond its limits {self.bounds[0]:g} and {self.bounds[1]:g}"

    @property
    def exclusion(self) -> str:
        """Call that excludes the pair."""
        return f"contact.scene.exclude({self.names[0]!r}, {self.names[1]!r})"


def shapes_in_each_other(scene: Scene, q: Array, measure: Measure, most: float) -> list[Overlap]:
    """The pairs that are deeper than a part of the smaller shape at one of the states (n, nq), the deepest first."""
    rows, shapes = scene.contacts(q, 0.0), scene.shapes
    if not len(rows):
        return []
    extents = np.array([min(shapes[a].extent, shapes[b].extent) for a, b in rows.pairs])
    parts = -rows.distance / np.where(extents > 0.0, extents, measure.length)  # points have no size
    deep = np.flatnonzero(parts > most)
    if not len(deep):
        return []
    ways = np.asarray(scene.gradient(rows)) / measure.dofs
    pairs: dict[tuple[int, tuple[str, str]], list[int]] = {}
    for i in deep[np.argsort(-parts[deep], kind="stable")]:
        pairs.setdefault((int(rows.state[i]), rows.pairs[i]), []).append(int(i))
    return [
        Overlap(pair, -float(rows.distance[i[0]]), float(parts[i[0]]), state=state,
                moves=_some_way_out(ways[i], measure.length))
        for (state, pair), i in pairs.items()
    ]  # fmt: skip


def _some_way_out(N: Array, length: float) -> bool:
    """True if some motion takes all points of a pair out: no mean of their rows N (points, nv) with weights of one
    sign is zero (Gordan's alternative)."""
    sizes = np.linalg.norm(N, axis=1)
    if not np.all(sizes > _STUCK * length):
        return False
    unit = N / sizes[:, None]
    _, rest = nnls(np.vstack([unit.T, np.ones(len(unit))]), np.append(np.zeros(N.shape[1]), 1.0))
    return bool(rest > _OPPOSED)


def dofs_beyond(stops: Sequence[Stop], q: Array, measure: Measure, most: float) -> list[Overlap]:
    """The dofs that are beyond a limit by more than a part of a radian or of the model's length at one of the states
    (n, nq)."""
    beyond = []
    for x in stops:
        unit = 1.0 / measure.dofs[x.number]
        past = np.maximum(x.lower - q[:, x.place], q[:, x.place] - x.upper)
        for i in np.flatnonzero(past > most * unit):
            depth, value = float(past[i]), float(q[i, x.place])
            beyond.append(Overlap((x.name,), depth, depth / unit, value, (x.lower, x.upper), state=int(i)))
    return beyond


def require_separable(overlaps: Sequence[Overlap]) -> None:
    """Refuse a start that nothing can separate; all such pairs are named."""
    stuck = [x for x in overlaps if not x.moves]
    if stuck:
        more = f" and {', '.join(x.exclusion for x in stuck[1:])}" if len(stuck) > 1 else ""
        why = f"the run begins with {stuck[0]}, and no dof moves them apart"
        raise StateError(f"{why}; leave the pair out with {stuck[0].exclusion}{more}.")


def part_of_way_out(
    rows: Array, solve_mass: SolveMass, gap: Array, held: Array, most: Array, measure: Measure, way: float
) -> Array:
    """The displacement (nv) of one step: as `push_out`, by no more than `most` along each row, with ways out that give
    way to each other. `way` is what a step may do, in radians or lengths of the model."""
    out, _ = push_out(rows, solve_mass, np.maximum(gap, -most), held, _SOFT)
    largest = float(np.abs(out * measure.dofs).max(initial=0.0))
    return out * min(1.0, _ARM * way / largest) if largest > 0.0 else out

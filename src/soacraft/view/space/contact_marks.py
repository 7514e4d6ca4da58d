"""Contacts of a run to be drawn: points that press, their forces, and the cones of friction these must lie in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soacraft.model.tree.graph import Graph
from soacraft.sim.runs.run import Run
from soacraft.spatial.checks import Array

#: Relative to the length of what is drawn: an arrow of the weight of the model, the longest arrow, a cone, a point.
WEIGHT, LONGEST, CONE, POINT = 0.3, 1.0, 0.12, 0.02
FORCE_COLOUR = (0.90, 0.49, 0.13)


@dataclass(frozen=True, eq=False)
class ContactMarks:
    """The contacts at instants (m): `starts` (m + 1) says which of the rows belong to each. A row has ten numbers: the
    point, the arrow of the force on the second shape (already a length), the axis of the cone, and its coefficient.
    Where the second shape is fixed in the inertial frame they are those on the first, and so point out of a floor."""

    starts: Array
    rows: Array

    def at(self, i: int) -> Array:
        """The rows of instant i, (points, 10)."""
        return self.rows[int(self.starts[i]) : int(self.starts[i + 1])]


def contact_marks(graph: Graph, motion: object, instants: Array, length: float) -> ContactMarks:
    """Marks of a run with contacts: at each instant those of the step that it is in; `length` is that of the drawn
    parts. O(instants x points).
    """
    empty = ContactMarks(np.zeros(len(instants) + 1, dtype=np.int64), np.zeros((0, 10)))
    if not isinstance(motion, Run) or motion.contacts is None:
        return empty
    steps = motion.contacts.by_row()
    inside = np.searchsorted(motion.t, instants, side="left")
    rows = [_rows(graph, motion, int(j), steps, length) for j in inside]
    starts = np.cumsum([0, *(len(x) for x in rows)])
    return ContactMarks(starts, np.concatenate([np.zeros((0, 10)), *rows]))


def _rows(graph: Graph, run: Run, row: int, steps: dict[int, int], length: float) -> Array:
    if row not in steps or run.contacts is None:
        return np.zeros((0, 10))
    number = steps[row]
    step, (axes, friction) = run.contacts.steps[number], run.contacts.cones(number)
    presses = step.impulses.any(axis=1)
    force = step.impulses / (run.t[row] - run.t[row - 1])
    fixed = np.array([b.rpartition("/")[0] == graph.root.name for _, b in step.pairs])
    sign = np.where(fixed, -1.0, 1.0)[:, None]
    return np.column_stack([step.points, sign * _arrows(graph, force, length), sign * axes, friction])[presses]


def _arrows(graph: Graph, force: Array, length: float) -> Array:
    """Forces as lengths: the weight of the model is `WEIGHT` of the length, and none is longer than `LONGEST`. Without
    gravity the largest is as long as a weight would be."""
    size = np.linalg.norm(force, axis=1, keepdims=True)
    weight = sum(x.inertia.mass for x in graph.bodies) * float(np.linalg.norm(graph.gravity))
    unit = weight if weight > 0.0 else float(size.max(initial=0.0)) or 1.0
    drawn = np.minimum(WEIGHT * length * size / unit, LONGEST * length)
    return np.asarray(force * drawn / np.where(size > 0.0, size, 1.0))

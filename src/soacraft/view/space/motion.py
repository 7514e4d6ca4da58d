"""How what is drawn moves: the poses of all bodies at equal steps of time, and how far closures are open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft.errors import SoacraftError, StateError, ViewError
from soacraft.kinematics.rows import Constraints
from soacraft.model.tree.graph import Graph
from soacraft.sim.runs.labels import check_labels, labels_of
from soacraft.sim.runs.run import Run
from soacraft.spatial.checks import Array, finite

#: Frames of one motion at most: twenty minutes at 25 a second.
MOST = 30_000
#: Poses of one motion at most: frames times bodies and the inertial frame, about a hundred bytes each.
MOST_POSES = 5_000_000


@dataclass(frozen=True, eq=False)
class Track:
    """Instants (m), coordinates (m, nq) at them, and the poses of the bodies: R (m, n + 1, 3, 3), p (m, n + 1, 3).
    The last pose, which -1 finds too, is that of the inertial frame. `openings` (m, closures)."""

    t: Array
    q: Array
    R: Array
    p: Array
    openings: Array


def check_motion(graph: Graph, motion: Any) -> None:
    """Refuse what is no motion of this graph."""
    if motion is None:
        return
    if isinstance(motion, Run):
        if not len(motion):
            raise ViewError("the run has no rows, so there is nothing to play.")
        if motion.q.shape[1] != graph.nq:
            raise StateError(f"the run has {motion.q.shape[1]} coordinates, but {graph.name!r} has {graph.nq}.")
        check_labels(motion.labels, labels_of(graph))
        return
    _read_pair(graph, motion)


def _read_pair(graph: Graph, motion: Any) -> tuple[Array, Array]:
    if not isinstance(motion, tuple) or len(motion) != 2:
        raise ViewError(f"a motion is a run, or a pair of instants (m) and coordinates (m, nq); got {motion!r:.60}.")
    t = finite(motion[0], (None,), "the instants of a motion")
    q = finite(motion[1], (len(t), graph.nq), "the coordinates of a motion")
    if not len(t) or (np.diff(t) < 0.0).any():
        raise ViewError("the instants of a motion must be one at least, and must not go back.")
    return t, q


def track(graph: Graph, motion: Any, instants: Array | None = None, step: float = 0.04) -> Track:
    """The motion at given instants, or every `step` seconds and at its end; without a motion the present state."""
    if motion is None:
        q = np.asarray(graph.current.q)[None]
        return _poses(graph, np.zeros(1), q)
    t = motion.t if isinstance(motion, Run) else _read_pair(graph, motion)[0]
    first, last = float(t[0]), float(t[-1])
    if instants is None:
        count = (last - first) / step
        if count > MOST:
            raise ViewError(
                f"the motion from {first:.6g} to {last:.6g} s has {count:.0f} frames of {step:.3g} s, and {MOST} is "
                "the most; play it faster (speed=...), or a part of it."
            )
        poses = (count + 1.0) * (len(graph) + 1)
        if poses > MOST_POSES:
            raise ViewError(
                f"{count:.0f} frames of {len(graph)} bodies are {poses:.0f} poses, and {MOST_POSES} are the most; take "
                "fewer frames: a smaller rate, a greater speed, or a part of the motion."
            )
        instants = np.append(first + step * np.arange(int(np.ceil(count - 1e-9))), last)
    elif instants.min() < first or instants.max() > last:
        wrong = float(instants.min() if instants.min() < first else instants.max())
        raise ViewError(f"t = {wrong:.6g} s is not in the motion, which covers {first:.6g} to {last:.6g} s.")
    return _poses(graph, instants, _coordinates(graph, motion, instants))


def _coordinates(graph: Graph, motion: Any, instants: Array) -> Array:
    """By the dense output of a run; otherwise between rows on the straight way of each hinge."""
    if isinstance(motion, Run):
        if motion.has_dense_output:
            return np.array([motion.at(x).q for x in instants])
        t, q = motion.t, motion.q
    else:
        t, q = _read_pair(graph, motion)
    i = np.clip(np.searchsorted(t, instants, side="right") - 1, 0, max(len(t) - 2, 0))
    j = np.minimum(i + 1, len(t) - 1)
    span = t[j] - t[i]
    part = np.where(span > 0.0, (instants - t[i]) / np.where(span > 0.0, span, 1.0), 1.0)
    return np.asarray(graph.integrate(q[i], np.clip(part, 0.0, 1.0)[:, None] * graph.difference(q[i], q[j])))


def _poses(graph: Graph, t: Array, q: Array) -> Track:
    state = graph.state(q=q)
    R, p = state.configuration.world
    count = len(t)
    R = np.concatenate([R, np.broadcast_to(np.eye(3), (count, 1, 3, 3))], axis=1)
    p = np.concatenate([p, np.zeros((count, 1, 3))], axis=1)
    return Track(t, q, R, p, _openings(graph, q))


def _openings(graph: Graph, q: Array) -> Array:
    """How far each active closure is open: an angle, or a distance relative to the length of its loop. Infinite where
    it is not known."""
    closures = sum(x.active for x in graph.loops)
    found = np.full((len(q), closures), np.inf)
    for i, each in enumerate(q if closures else ()):
        try:
            found[i] = [x.opening for x in Constraints(graph, graph.state(q=each)).loops]
        except SoacraftError:
            continue
    return found

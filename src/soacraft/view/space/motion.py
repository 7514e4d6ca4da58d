"""Motion of the drawn parts: poses and velocities of all bodies at equal steps of time, and the openings of closures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft.errors import SoacraftError, StateError, ViewError
from soacraft.kinematics.rows import Constraints
from soacraft.model.modal.bodies import turns_unreported
from soacraft.model.states.state import State
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
    """Instants (m), the states at them (m, nq and nv), and the poses of the bodies: R (m, n + 1, 3, 3), p (m, n + 1,
    3). The last pose, which -1 finds too, is that of the inertial frame. `openings` (m, closures). Poses are drawn with
    the modal coordinates of flexible bodies `exaggerate` times as large as they are."""

    t: Array
    state: State
    R: Array
    p: Array
    openings: Array
    exaggerate: float = 1.0

    @property
    def q(self) -> Array:
        """Coordinates (m, nq)."""
        return np.asarray(self.state.q)

    @property
    def eta(self) -> Array:
        """Modal coordinates of all flexible bodies, one after the other, as they are, (m, modes)."""
        return self.q[:, self.state.graph.layout.own.q]


def read_motions(graph: Graph, motion: Any) -> tuple[Any, ...]:
    """One motion, several in a list, or none, as a tuple; refuses what is no motion of this graph."""
    motions = () if motion is None else tuple(motion) if isinstance(motion, list) else (motion,)
    if isinstance(motion, list) and not motions:
        raise ViewError("a list of motions has one at least; for a still picture leave it out: sc.view.scene(mb).")
    for each in motions:
        check_motion(graph, each)
    return motions


def check_motion(graph: Graph, motion: Any) -> None:
    """Refuse what is no motion of this graph."""
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


def span_of(motions: tuple[Any, ...]) -> tuple[float, float]:
    """The first and the last instant of several motions."""
    times = [x.t if isinstance(x, Run) else np.asarray(x[0], dtype=np.float64) for x in motions]
    return min(float(t[0]) for t in times), max(float(t[-1]) for t in times)


def tracks(
    graph: Graph, motions: tuple[Any, ...], instants: Array | None = None, step: float = 0.04, exaggerate: float = 1.0
) -> tuple[Track, ...]:
    """The motions at given instants, or every `step` seconds and at the end of the longest; one that has not begun, or
    has ended, rests there. Without a motion one track, the present state."""
    if not motions:
        state = graph.current
        rest = graph.state(q=np.asarray(state.q)[None], v=np.asarray(state.v)[None])
        return (_poses(graph, np.zeros(1), rest, exaggerate),)
    first, last = span_of(motions)
    if instants is None:
        instants = _equal_steps(first, last, step, len(graph), len(motions))
    elif instants.min() < first or instants.max() > last:
        wrong = float(instants.min() if instants.min() < first else instants.max())
        raise ViewError(f"t = {wrong:.6g} s is not in the motion, which covers {first:.6g} to {last:.6g} s.")
    states = (_states(graph, x, np.clip(instants, *span_of((x,)))) for x in motions)
    return tuple(_poses(graph, instants, x, exaggerate) for x in states)


def _equal_steps(first: float, last: float, step: float, bodies: int, motions: int) -> Array:
    count = (last - first) / step
    if count > MOST:
        raise ViewError(
            f"the motion from {first:.6g} to {last:.6g} s has {count:.0f} frames of {step:.3g} s, and {MOST} is "
            "the most; play it faster (speed=...), or a part of it."
        )
    total = (count + 1.0) * (bodies + 1) * motions
    if total > MOST_POSES:
        raise ViewError(
            f"{count:.0f} frames of {bodies} bodies are {total:.0f} poses, and {MOST_POSES} are the most; take "
            "fewer frames: a smaller rate, a greater speed, or a part of the motion."
        )
    return np.append(first + step * np.arange(int(np.ceil(count - 1e-9))), last)


def _states(graph: Graph, motion: Any, instants: Array) -> State:
    """States by the dense output of a run; otherwise between rows on the straight way of each hinge. A pair has the
    velocity of this way.
    """
    if isinstance(motion, Run) and motion.has_dense_output:
        sample = motion.at(instants)
        return graph.state(q=sample.q, v=sample.v)
    t, q = (motion.t, motion.q) if isinstance(motion, Run) else _read_pair(graph, motion)
    i = np.clip(np.searchsorted(t, instants, side="right") - 1, 0, max(len(t) - 2, 0))
    j = np.minimum(i + 1, len(t) - 1)
    span = t[j] - t[i]
    part = np.where(span > 0.0, (instants - t[i]) / np.where(span > 0.0, span, 1.0), 1.0)
    part = np.clip(part, 0.0, 1.0)[:, None]
    way = graph.difference(q[i], q[j])
    if isinstance(motion, Run):
        v = (1.0 - part) * motion.v[i] + part * motion.v[j]
    else:
        v = np.where(span > 0.0, way.T / np.where(span > 0.0, span, 1.0), 0.0).T
    return graph.state(q=np.asarray(graph.integrate(q[i], part * way)), v=v)


def drawn(graph: Graph, q: Array, exaggerate: float) -> Array:
    """Coordinates with the modal ones of flexible bodies `exaggerate` times as large."""
    modes = graph.layout.own.q
    if exaggerate == 1.0 or not len(modes):
        return q
    q = np.array(q)
    q[..., modes] *= exaggerate
    return q


def modes_of(graph: Graph) -> dict[int, slice]:
    """Slices of the modal coordinates of each flexible body among all modal coordinates."""
    ends = np.cumsum([0, *(graph.layout.modal(k).n for k in graph.layout.flexible)])
    return {k: slice(int(a), int(b)) for k, a, b in zip(graph.layout.flexible, ends, ends[1:], strict=False)}


def _poses(graph: Graph, t: Array, state: State, exaggerate: float) -> Track:
    q = np.asarray(state.q)
    shown = drawn(graph, q, exaggerate)
    if shown is q:
        R, p = state.configuration.world
    else:
        with turns_unreported():
            R, p = graph.state(q=shown).configuration.world
    count = len(t)
    R = np.concatenate([R, np.broadcast_to(np.eye(3), (count, 1, 3, 3))], axis=1)
    p = np.concatenate([p, np.zeros((count, 1, 3))], axis=1)
    return Track(t, state, R, p, openings(graph, q), exaggerate)


def openings(graph: Graph, q: Array) -> Array:
    """Opening of each active closure: an angle, or a distance relative to the length of its loop. Infinite where it is
    not known.
    """
    closures = sum(x.active for x in graph.loops)
    table = np.full((len(q), closures), np.inf)
    for i, each in enumerate(q if closures else ()):
        try:
            table[i] = [x.opening for x in Constraints(graph, graph.state(q=each)).loops]
        except SoacraftError:
            continue
    return table

"""Loop closures and couplings that are open at the neutral or the current state."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from soacraft.health.report import Finding
from soacraft.model import Closure, Graph
from soacraft.model.hinges import Hinge, pose_of
from soacraft.model.sizes.measure import CLOSED, measure_of
from soacraft.model.states.hinge_fit import hinge_gap, nearest_coordinates
from soacraft.model.states.kinematics import frame_pose
from soacraft.model.states.state import State
from soacraft.model.tree.parts.closures import coordinate_names, coupling_error
from soacraft.spatial import Pose


def check_ties(graph: Graph) -> Iterator[Finding]:
    """Active closures and couplings that a solver would refuse as open, at the neutral and the current coordinates."""
    if not graph.is_closed:
        return
    measure = measure_of(graph, np.asarray(graph.current.q))
    states = [("neutral", graph.layout.neutral()), ("current", graph.current.q)]
    if np.array_equal(states[0][1], states[1][1]):
        del states[0]
    names = coordinate_names(graph) if graph.couplings else {}
    at = {which: graph.state(q=q) for which, q in states}  # one for all closures, so that poses are computed once
    for loop in graph.loops:
        if loop.active and not loop.hinge.holonomic:
            text = f"{loop.hinge!r} is nonholonomic, so whether it is closed was not checked"
            yield Finding("note", f"loop {loop.name!r}", 0.0, text, "look at it yourself")
        elif loop.active:
            length = measure.loops[loop.name]
            errors = {which: closure_error(loop, state, length) for which, state in at.items()}
            yield from _open(f"loop {loop.name!r}", errors, length)
    for coupling in graph.couplings:
        if coupling.active:
            offs = {which: (abs(coupling_error(coupling, names, q)), 0.0) for which, q in states}
            yield from _open(f"coupling {coupling.name!r}", offs, measure.couplings[coupling.name])


def _open(subject: str, errors: dict[str, tuple[float, float]], size: float) -> Iterator[Finding]:
    """Findings for states whose distance relative to a size, or angle, is more than solvers take by default."""
    opened = [which for which, (distance, angle) in errors.items() if not max(distance / size, angle) <= CLOSED]
    if not opened:
        return
    distance, angle = errors[opened[0]]
    by = f"{distance:.4g}" if subject.startswith("coupling") else f"{distance:.4g} m and {angle:.4g} rad"
    text = f"is open at the {' and the '.join(opened)} coordinates, by {by}"
    severity = "warning" if "current" in opened else "note"
    yield Finding(severity, subject, max(distance, angle), text, "start from coordinates that close it")


def closure_error(loop: Closure, state: State, length: float) -> tuple[float, float]:
    """Distance (metres) and angle (radians) of frame b from the nearest place, seen from a, that the hinge can reach.
    """
    pose = frame_pose(state, loop.b, loop.a)
    return nearest(loop.hinge, Pose.unchecked(pose.rotation, pose.translation), length)


def nearest(hinge: Hinge, target: Pose, length: float = 1.0) -> tuple[float, float]:
    """The distance and angle between `target` and the nearest pose of a hinge, distances measured by a length.

    >>> from soacraft.model.hinges import Prismatic
    >>> [round(x, 9) for x in nearest(Prismatic((1, 0, 0)), Pose(translation=(5, 0.3, 0.4)))]
    [0.5, 0.0]
    """
    q = nearest_coordinates(hinge, target, length=length)
    distance = np.linalg.norm(target.translation - pose_of(hinge, q).translation)
    return float(distance), float(np.linalg.norm(hinge_gap(hinge, q, target)[:3]))

"""Loop closures and couplings that are open at the neutral or the current state."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from soacraft.health.report import Finding
from soacraft.model import Closure, Coupling, Graph
from soacraft.model.closures import coordinate_names
from soacraft.model.hinges import Hinge, integrate_of, pose_of
from soacraft.spatial import Array, Pose, se3_log

OPEN = 1e-6  # metres and radians
_RANDOM_STARTS = 2


def check_ties(graph: Graph) -> Iterator[Finding]:
    """Active closures and couplings whose error is more than rounding, at the neutral and the current coordinates."""
    states = [("neutral", graph.neutral()), ("current", graph.current.q)]
    if np.array_equal(states[0][1], states[1][1]):
        del states[0]
    names = coordinate_names(graph) if graph.couplings else {}
    for loop in graph.loops:
        if loop.active and not loop.hinge.holonomic:
            text = f"{loop.hinge!r} is nonholonomic, so whether it is closed was not checked"
            yield Finding("note", f"loop {loop.name!r}", 0.0, text, "look at it yourself")
        elif loop.active:
            errors = {which: closure_error(graph, loop, q) for which, q in states}
            yield from _open(f"loop {loop.name!r}", errors)
    for coupling in graph.couplings:
        if coupling.active:
            offs = {which: (abs(coupling_error(coupling, names, q)), 0.0) for which, q in states}
            yield from _open(f"coupling {coupling.name!r}", offs)


def _open(subject: str, errors: dict[str, tuple[float, float]]) -> Iterator[Finding]:
    opened = [which for which, error in errors.items() if max(error) > OPEN]
    if not opened:
        return
    distance, angle = errors[opened[0]]
    by = f"{distance:.4g}" if subject.startswith("coupling") else f"{distance:.4g} m and {angle:.4g} rad"
    text = f"is open at the {' and the '.join(opened)} coordinates, by {by}"
    severity = "warning" if "current" in opened else "note"
    yield Finding(severity, subject, max(distance, angle), text, "start from coordinates that close it")


def coupling_error(coupling: Coupling, names: dict[str, int], q: Array) -> float:
    """The sum over dofs of c1 q + c2 q^2 + ... less the offset.

    >>> from soacraft.model import serial_chain
    >>> mb = serial_chain(2)
    >>> coupling_error(mb.couple("gear", {"link1": 1, "link2": -3}), coordinate_names(mb), np.array([0.5, 0.125]))
    0.125
    """
    terms = ((float(q[names[dof]]), c) for dof, c in coupling.terms.items())
    return sum(x * float(np.polynomial.polynomial.polyval(x, c)) for x, c in terms) - coupling.offset


def closure_error(graph: Graph, loop: Closure, q: Array) -> tuple[float, float]:
    """How far (metres, radians) frame b is from the nearest place, seen from a, that the hinge can reach."""
    pose = graph.pose(loop.b, loop.a, graph.state(q=q))
    return nearest(loop.hinge, Pose.unchecked(pose.rotation, pose.translation))


def nearest(hinge: Hinge, target: Pose) -> tuple[float, float]:
    """The distance and angle between `target` and the nearest pose of a hinge, by least squares over its coordinates.

    >>> from soacraft.model.hinges import Prismatic
    >>> [round(x, 9) for x in nearest(Prismatic((1, 0, 0)), Pose(translation=(5, 0.3, 0.4)))]
    [0.5, 0.0]
    """
    best = np.full(6, np.inf)
    for q in _starts(hinge):
        gap = _gap(hinge, target, q)
        if hinge.nv and np.abs(gap).max() > OPEN:
            from scipy.optimize import least_squares  # slow to import, and most loops are closed

            found = least_squares(_gap_from, np.zeros(hinge.nv), args=(hinge, target, q))
            gap = np.asarray(found.fun, dtype=np.float64)
        best = min(best, gap, key=lambda x: float(np.linalg.norm(x)))
        if np.abs(best).max() <= OPEN:
            break
    return float(np.linalg.norm(best[3:])), float(np.linalg.norm(best[:3]))


def _starts(hinge: Hinge) -> Iterator[Array]:
    yield np.asarray(hinge.neutral(), dtype=np.float64)
    rng = np.random.default_rng(0)
    for _ in range(_RANDOM_STARTS * hinge.nv):
        yield np.asarray(hinge.random(rng), dtype=np.float64)


def _gap_from(x: Array, hinge: Hinge, target: Pose, q: Array) -> Array:
    return _gap(hinge, target, integrate_of(hinge, q, x))


def _gap(hinge: Hinge, target: Pose, q: Array) -> Array:
    """The rotation vector and the displacement between a pose of the hinge and the target."""
    pose = pose_of(hinge, q)
    gap = se3_log(pose.rotation.T @ target.rotation, np.zeros(3))
    gap[3:] = target.translation - pose.translation
    return gap

"""Limits, springs and dampers of hinges, and hinges that a user wrote."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from soacraft.health.report import Finding
from soacraft.model import Body, Curve, Graph
from soacraft.model.flat.layout import dof_names
from soacraft.model.hinges import HINGES, Hinge, Spherical, check_hinge, difference_of
from soacraft.model.hinges.base import has_coordinates
from soacraft.spatial.checks import Array

#: Eigenvalue of a matrix with a diagonal of ones below which it is rounding.
_ROUNDED = 1e-12


def check_limits(graph: Graph) -> Iterator[Finding]:
    """Limits that contradict each other, and coordinates outside of them."""
    now = graph.current.q
    for body, where in zip(graph.bodies, graph.layout.hinge_q, strict=True):
        if body._limits is None:
            continue
        yield from _bounds(body)
        if has_coordinates(body.hinge) or isinstance(body.hinge, Spherical):
            neutral = np.asarray(body.hinge.neutral(), dtype=np.float64)
            yield from _outside(body, now[where], "warning", "the current")
            if not np.array_equal(neutral, now[where]):
                yield from _outside(body, neutral, "note", "the neutral")
    for what in ("velocity", "effort"):
        yield from _none_allowed(graph, what)


def _none_allowed(graph: Graph, what: str) -> Iterator[Finding]:
    """Limits of zero, all in one finding: some files say so for no limit."""
    dofs = [
        dof
        for body in graph.bodies
        if body._limits is not None
        for dof, bound in zip(dof_names(body.hinge_name, body.hinge), getattr(body.limits, what), strict=True)
        if bound == 0.0
    ]
    if dofs:
        others = f" and {len(dofs) - 1} more" if len(dofs) > 1 else ""
        text = f"the {what} limit is zero, which allows none"
        yield Finding("note", f"dof {dofs[0]!r}{others}", 0.0, text, "leave it out for no limit")


def _bounds(body: Body) -> Iterator[Finding]:
    limits = body.limits
    for i, dof in enumerate(dof_names(body.hinge_name, body.hinge)):
        lower, upper = float(limits.lower[i]), float(limits.upper[i])
        crossed = lower > upper and not isinstance(body.hinge, Spherical)
        if crossed or lower == np.inf or upper == -np.inf:
            text = f"the lower limit {lower:.4g} is above the upper limit {upper:.4g}"
            yield Finding("error", f"dof {dof!r}", lower - upper, text, "exchange them, or leave them out for no limit")
        for what, bound in (("velocity", float(limits.velocity[i])), ("effort", float(limits.effort[i]))):
            if bound < 0.0:
                text = f"the {what} limit {bound:.4g} is negative"
                yield Finding("error", f"dof {dof!r}", bound, text, "limits of velocity and effort are magnitudes")


def _outside(body: Body, q: Array, severity: str, which: str) -> Iterator[Finding]:
    limits, names = body.limits, dof_names(body.hinge_name, body.hinge)
    if isinstance(body.hinge, Spherical):
        angle = float(np.linalg.norm(difference_of(body.hinge, np.asarray(body.hinge.neutral()), q)))
        if angle > limits.upper.min():
            text = f"{which} rotation {angle:.4g} exceeds its limit {limits.upper.min():.4g}"
            yield Finding(severity, f"hinge {body.hinge_name!r}", angle, text, "set a state within the limits")
        return
    for dof, x, lower, upper in zip(names, q, limits.lower, limits.upper, strict=True):
        if not lower <= x <= upper and lower <= upper and np.inf not in (lower, -upper):
            text = f"{which} coordinate {x:.4g} is outside its limits {lower:.4g} to {upper:.4g}"
            yield Finding(severity, f"dof {dof!r}", float(x), text, "set a state within the limits")


def check_springs(graph: Graph) -> Iterator[Finding]:
    """Springs, dampers and friction that push the wrong way."""
    ways = (
        ("stiffness", "warning", "pushes away from its rest", "a spring has a stiffness >= 0"),
        ("damping", "error", "feeds energy into the motion", "a damper has a damping >= 0"),
        ("friction", "error", "feeds energy into the motion", "dry friction is a magnitude"),
    )
    for body in graph.bodies:
        if body._passive is None:
            continue
        for what, severity, text, cure in ways:
            for dof, x in zip(dof_names(body.hinge_name, body.hinge), getattr(body.passive, what), strict=True):
                if x < 0.0:
                    yield Finding(severity, f"dof {dof!r}", float(x), f"its {what} is negative and {text}", cure)
    pulling = [(f"tendon {x.name!r}", x) for x in graph.tendons] + [(f"spring {y.name!r}", y) for y in graph.springs]
    for name, spring in pulling:
        for what, severity, text, cure in ways[:2]:
            value = _least(getattr(spring, what), what)
            if value < 0.0:
                yield Finding(severity, name, value, f"its {what} is negative and {text}", cure)
    for bushing in graph.bushings:
        for what, severity, text, cure in ways[:2]:
            matrix = getattr(bushing, what)
            unit = np.sqrt(np.abs(np.diag(matrix)))
            unit[unit == 0.0] = 1.0
            least = float(np.linalg.eigvalsh(matrix / np.outer(unit, unit))[0])  # of the same sign in any units
            if least < -_ROUNDED:
                yield Finding(severity, f"bushing {bushing.name!r}", least, f"its {what} is negative and {text}", cure)


def _least(law: float | Curve, what: str) -> float:
    """The number itself; of a curve the least slope between its points, or the least power of a damper over rate^2."""
    if not isinstance(law, Curve):
        return law
    moving = law.x != 0.0
    slopes = law.y[moving] / law.x[moving] if what == "damping" else np.diff(law.y) / np.diff(law.x)
    return float(slopes.min())


def check_own_hinges(graph: Graph) -> Iterator[Finding]:
    """Hinges that a user wrote: whether their methods agree with each other (`check_hinge`)."""
    named = [(f"hinge {body.hinge_name!r}", body.hinge) for body in graph.bodies]
    named += [(f"loop {loop.name!r}", loop.hinge) for loop in graph.loops]
    seen: set[Hinge] = set()
    for subject, hinge in named:
        if type(hinge) in HINGES or hinge in seen:
            continue
        seen.add(hinge)
        yield from _own_hinge(subject, hinge)


def _own_hinge(subject: str, hinge: Hinge) -> Iterator[Finding]:
    kind = type(hinge).__name__
    try:
        failures = check_hinge(hinge).failures
    except Exception as problem:  # anything may come out of a method that a user wrote
        cure = f"correct the methods of {kind}; check_hinge({kind}(...)) tells more"
        yield Finding("error", subject, type(problem).__name__, f"{kind} failed: {problem}", cure)
        return
    for each in failures:
        text = f"{kind}: {each.name} differ by {each.error:.2g}, allowed {each.tolerance:.0e}"
        yield Finding("error", subject, each.error, text, each.hint)

"""Masses, moments, lengths and gravity: what no body can have, and what looks like a mix of units."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from soacraft.health.report import Finding
from soacraft.model import Body, Graph
from soacraft.spatial.checks import Array, number_text

ROUNDED = 0.01  # moments of files have few digits
DENSEST = 1e6  # kg/m^3; of the ball of osmium, mass / (radius of gyration)^3 is 3.8e5, and no shape has more
LONGEST = 50.0  # metres


def check_masses(graph: Graph) -> Iterator[Finding]:
    """Bodies that weigh nothing although a hinge moves them."""
    for body in graph.bodies:
        I, subject = body.inertia, f"body {body.name!r}"
        if I.mass < 0.0 or not np.isfinite(I.mass):
            yield Finding("error", subject, I.mass, "has a mass that is not positive", "give it its mass in kg")
        elif I.mass == 0.0 and I.moment.any():
            text = "has a moment of inertia and no mass"
            yield Finding("warning", subject, 0.0, text, "give it its mass, or use armature for a rotor")
        elif I.mass == 0.0 and body.hinge.nv and body.children:
            text = "is massless between two hinges, and moves only with the bodies outboard of it"
            yield Finding("note", subject, 0.0, text, "nothing to do when it only joins hinges")


def check_moments(graph: Graph) -> Iterator[Finding]:
    """Principal moments that no distribution of mass has: the largest exceeds the sum of the others."""
    moments = np.array([body.inertia.moment for body in graph.bodies]).reshape(-1, 3, 3)
    for body, principal, turns in zip(graph.bodies, *np.linalg.eigh(moments), strict=True):
        small, middle, large = (float(x) for x in principal)
        excess = large - middle - small
        if excess > 1e-9 * large:
            axis = np.round(turns[:, 2] * np.sign(turns[np.abs(turns[:, 2]).argmax(), 2]), 3) + 0.0
            severity = "warning" if excess <= ROUNDED * large else "error"
            text = (
                f"the principal moments {small:.4g} + {middle:.4g} < {large:.4g} (the last about {number_text(axis)}) "
                "break the triangle inequality, so no mass distribution has them"
            )
            yield Finding(severity, f"body {body.name!r}", excess, text, "check the moment about the centre of mass")


def check_units(graph: Graph) -> Iterator[Finding]:
    """Numbers so far from the rest of the model that grams or millimetres may have slipped in."""
    apart = list(_masses_apart(graph))
    yield from apart
    heavy = {finding.subject for finding in apart}
    lengths = _lengths(graph)
    longest, span = max(lengths, default=0.0), _span(graph)
    if longest > LONGEST:
        text = f"two of its frames are {longest:.4g} m apart"
        yield Finding("note", f"{graph.name!r}", longest, text, "check that lengths are in metres")
    moments = np.linalg.eigvalsh(np.array([body.inertia.moment for body in graph.bodies]).reshape(-1, 3, 3))[:, 2]
    for body, moment in zip(graph.bodies, moments, strict=True):
        I, subject = body.inertia, f"body {body.name!r}"
        away = _length(I.com)
        if longest > 0.0 and away > 100.0 * longest:
            text = f"its centre of mass is {away:.4g} m from its frame, {away / longest:.0f} times any other distance"
            yield Finding("warning", subject, away, text, "check that lengths are in metres")
        radius = float(np.sqrt(moment / I.mass)) if I.mass > 0.0 and I.moment.any() else 0.0
        if longest > 0.0 and radius > 10.0 * span:
            text = f"its radius of gyration is {radius:.4g} m in a model of {span:.4g} m"
            yield Finding("warning", subject, radius, text, "check that moments are in kg m^2 and lengths in metres")
        elif longest > 0.0 and 0.0 < radius < 1e-5 * span:
            text = f"its radius of gyration is only {radius:.4g} m in a model of {span:.4g} m"
            yield Finding("note", subject, radius, text, "check that moments are in kg m^2")
        elif radius > 0.0 and subject not in heavy and I.mass > DENSEST * radius**3:
            text = f"its {I.mass:.4g} kg have a radius of gyration of {radius:.4g} m, denser than any metal"
            cure = "check that masses are in kg and moments in kg m^2"
            yield Finding("warning", subject, I.mass / radius**3, text, cure)


def _masses_apart(graph: Graph) -> Iterator[Finding]:
    masses = np.array([body.inertia.mass for body in graph.bodies if body.inertia.mass > 0.0])
    usual = float(np.quantile(masses, 0.5, method="lower")) if masses.size else 1.0
    for body in graph.bodies:
        ratio = body.inertia.mass / usual
        if ratio > 1e5 or 0.0 < ratio < 1e-9:
            text = f"its mass is {ratio:.3g} times the usual mass of {usual:.4g} kg in the model"
            cure = "check that masses are in kg"
            yield Finding("warning", f"body {body.name!r}", body.inertia.mass, text, cure)


def _lengths(graph: Graph) -> list[float]:
    """The distances between the frames of the model."""
    poses = [pose for body in graph.bodies for pose in (body.inboard, body.outboard)]
    poses += [node.pose for body in graph.bodies for node in body.nodes]
    return [_length(pose.translation) for pose in poses]


def _span(graph: Graph) -> float:
    """The longest way out from the base."""
    reach: dict[object, float] = {}
    span = 0.0
    for body in graph.bodies:
        steps: tuple[Array, ...] = (body.inboard.translation, body.outboard.translation)
        inner = reach.get(body.parent, 0.0) if isinstance(body.parent, Body) else 0.0
        reach[body] = inner + sum(map(_length, steps))
        span = max(span, reach[body] + _length(body.inertia.com))
    return span


def _length(x: Array) -> float:
    return math.hypot(*x.tolist())


def check_gravity(graph: Graph) -> Iterator[Finding]:
    """Gravity in other units, or upside down."""
    g = float(np.linalg.norm(graph.gravity))
    if g > 50.0:
        text = "is far stronger than on a planet"
        yield Finding("warning", "gravity", g, text, "give it in m/s^2, such as (0, 0, -9.81)")
    elif 0.0 < g < 1e-3:
        text = "is very weak and not zero"
        yield Finding("note", "gravity", g, text, "give it in m/s^2, or (0, 0, 0) for none")
    if graph.gravity[2] > 0.0:
        yield Finding("note", "gravity", float(graph.gravity[2]), "points up along z", "check its sign")

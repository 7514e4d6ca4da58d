"""The limits and held dofs of a search through configurations: a box around every configuration.

A step dv = B y / d, d the units of the dofs (`model.sizes.measure`), keeps the limits when `lower <= y <= upper`.
B is the identity but for a spherical hinge, whose limit is an angle of rotation: there the first axis of B is that of
the rotation so far, along which the angle grows.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.dynamics.arguments import read_prescribed
from soacraft.dynamics.problem import Mask
from soacraft.errors import StateError
from soacraft.kinematics.tolerances import AT_LIMIT
from soacraft.model.hinges.base import has_coordinates, integrate_of
from soacraft.model.sizes.measure import measure_of
from soacraft.model.states.coordinates import read_q
from soacraft.model.states.ranges import Ranges
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array

Sides = npt.NDArray[np.int8]


class Bounds:
    """Dofs that may move (`free`), and their ranges."""

    def __init__(self, graph: Graph, fixed: Mask, limits: bool) -> None:
        ranges, measure = Ranges(graph, limits), measure_of(graph, np.asarray(graph.current.q))
        self.graph, self.fixed, self.place = graph, fixed, ranges.place
        self.lower, self.upper, self.balls = ranges.lower, ranges.upper, ranges.balls
        self.units, self.turning, self.length = measure.dofs, measure.turning, measure.length
        self.free = ~fixed & (self.lower < self.upper)
        for ball in self.balls:
            self.free[ball.v] &= ball.largest > 0.0

    @property
    def allowed(self) -> tuple[Array, Array, npt.NDArray[np.int64]]:
        """Lower and upper limits by dof and the places of their coordinates, of those that may move; -1: none."""
        place = np.where(self.fixed, -1, self.place).astype(np.int64)
        return self.lower, self.upper, place

    def measured_by(self, length: float) -> Bounds:
        """Bounds with slides measured in another length than that of the model."""
        measured = copy(self)
        measured.units = np.where(self.turning, self.units, self.units * self.length / length)
        return measured

    def check_fixed(self, q: Array) -> None:
        """Raise `StateError` where a dof is held outside its limits."""
        for i in np.flatnonzero(self.fixed & (self.place >= 0)):
            x = float(q[self.place[i]])
            if not self.lower[i] <= x <= self.upper[i]:
                raise StateError(
                    f"dof {self.graph.dof_names[i]!r} is fixed at {x:.6g}, outside its limits {self.lower[i]:.6g} to "
                    f"{self.upper[i]:.6g}; fix it within them, let it go, or pass limits=False."
                )
        for ball in self.balls:
            angle = float(np.linalg.norm(ball.rotation(q)))
            if self.fixed[ball.v].any() and angle > ball.largest:
                raise StateError(
                    f"hinge {ball.name!r} is fixed at a rotation of {angle:.6g}, beyond its limit {ball.largest:.6g}; "
                    "fix it within, let it go, or pass limits=False."
                )

    def inside(self, q: Array) -> Array:
        """The nearest coordinates within the limits; fixed ones as they are."""
        q = np.array(q)
        bounded = ~self.fixed & (self.place >= 0)
        places = self.place[bounded]
        q[places] = np.clip(q[places], self.lower[bounded], self.upper[bounded])
        for ball in self.balls:
            w = ball.rotation(q)
            angle = float(np.linalg.norm(w))
            if angle > ball.largest and not self.fixed[ball.v].any():
                q[ball.q] = integrate_of(ball.hinge, np.asarray(ball.hinge.neutral()), ball.largest / angle * w)
        return q

    def box(self, q: Array) -> tuple[Array, Array, Array]:
        """lower and upper of y, and B, at coordinates within the limits."""
        x = np.where(self.place >= 0, q[self.place], 0.0)
        lower, upper = self.units * np.minimum(self.lower - x, 0.0), self.units * np.maximum(self.upper - x, 0.0)
        B = np.eye(self.graph.nv)
        for ball in self.balls:
            w = ball.rotation(q)
            angle = float(np.linalg.norm(w))
            if angle > 0.0:
                axes = np.linalg.svd(w[:, None])[0]
                B[ball.v, ball.v] = axes * np.sign(axes[:, 0] @ w)
            upper[ball.v.start] = max(ball.largest - angle, 0.0)
            lower[ball.v.start] = -ball.largest - angle
        return lower, upper, B

    def sides(self, q: Array) -> Sides:
        """-1 for dofs at their lower limit, 1 at their upper one or at both, 0 elsewhere, (nv)."""
        sides = np.zeros(self.graph.nv, dtype=np.int8)
        scalar = self.place >= 0
        x, near = q[self.place[scalar]], AT_LIMIT / self.units[scalar]
        high, low = x >= self.upper[scalar] - near, x <= self.lower[scalar] + near
        sides[scalar] = np.where(high, 1, np.where(low, -1, 0))
        for ball in self.balls:
            sides[ball.v] = int(np.linalg.norm(ball.rotation(q)) >= ball.largest - AT_LIMIT)
        return sides

    def drawn(self, q: Array, rng: np.random.Generator, count: int) -> Array:
        """Coordinates anywhere within the limits, (count, nq): uniform between two limits and over a whole turn, else
        some lengths of the model away."""
        graph, size = self.graph, (count, self.graph.nv)
        dv = rng.uniform(-np.pi, np.pi, size) / self.units
        bounded = np.isfinite(self.lower) & np.isfinite(self.upper)
        uniform = rng.uniform(np.where(bounded, self.lower, 0.0), np.where(bounded, self.upper, 1.0), size)
        dv[:, bounded] = (uniform - np.where(self.place >= 0, q[self.place], 0.0))[:, bounded]
        drawn = np.array(graph.integrate(np.broadcast_to(q, (count, len(q))), np.where(self.free, dv, 0.0)))
        places = self.place[~self.fixed & (self.place >= 0)]
        low, high = (x[~self.fixed & (self.place >= 0)] for x in (self.lower, self.upper))
        drawn[:, places] = np.clip(drawn[:, places], low, high)
        return np.array([self.inside(x) for x in drawn]) if self.balls else drawn

    def scattered(self, q: Array, rng: np.random.Generator, spread: float) -> Array:
        """Other coordinates within the limits: from nearby (spread near 0) to anywhere (1)."""
        graph = self.graph
        dv = 2.0 * spread * rng.standard_normal(graph.nv) / self.units
        bounded = np.isfinite(self.lower) & np.isfinite(self.upper)
        uniform = rng.uniform(np.where(bounded, self.lower, 0.0), np.where(bounded, self.upper, 1.0))
        dv[bounded] = spread * (uniform - np.where(self.place >= 0, q[self.place], 0.0))[bounded]
        return self.inside(graph.integrate(q, np.where(self.free, dv, 0.0)))


def read_fixed(graph: Graph, fixed: Any, q0: Array) -> tuple[Mask, Array]:
    """The mask of the dofs held, and q0 with the values given for them.

    `fixed` names dofs or hinges, or is `{dof or hinge: value}`. A hinge with a quaternion is held whole or not at all.
    """
    q = np.array(q0)
    mask = read_prescribed(graph, list(fixed) if isinstance(fixed, Mapping) else fixed, "fixed")
    if isinstance(fixed, Mapping):
        q = np.array(read_q(graph, fixed, "the fixed q", rest=q0))
    for body, v in zip(graph.bodies, graph.layout.hinge_v, strict=True):
        if not has_coordinates(body.hinge) and mask[v].any() and not mask[v].all():
            raise StateError(
                f"hinge {body.hinge_name!r} of {graph.name!r} can be fixed as a whole only, since its velocities are "
                f"not rates of its coordinates; name {body.hinge_name!r} instead of single dofs."
            )
    return mask, q

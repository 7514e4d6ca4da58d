"""The limits and held dofs of a search through configurations: a box around every configuration.

A step dv = B y keeps the limits when `lower <= y <= upper`. B is the identity but for a spherical hinge, whose limit is
an angle of rotation: there the first axis of B is that of the rotation so far, along which the angle grows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.dynamics.arguments import read_prescribed
from soacraft.dynamics.problem import Mask
from soacraft.errors import StateError
from soacraft.model.closures import coordinate_names, has_coordinates
from soacraft.model.frame import Body
from soacraft.model.hinges import Spherical
from soacraft.model.hinges.base import difference_of, integrate_of
from soacraft.model.interface import Graph
from soacraft.spatial.checks import Array, finite

#: A coordinate this near its limit is at it.
AT_LIMIT = 1e-9
Sides = npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Ball:
    """A spherical hinge whose angle of rotation is limited."""

    hinge: Spherical
    name: str
    q: slice
    v: slice
    largest: float

    def rotation(self, q: Array) -> Array:
        """The rotation vector."""
        return np.asarray(difference_of(self.hinge, np.asarray(self.hinge.neutral()), q[self.q]))


class Bounds:
    """Which dofs may move (`free`), and how far."""

    def __init__(self, graph: Graph, fixed: Mask, limits: bool) -> None:
        self.graph, self.fixed = graph, fixed
        at = coordinate_names(graph)
        self.place = np.array([at.get(name, -1) for name in graph.dof_names], dtype=np.intp)
        self.lower, self.upper = np.full(graph.nv, -np.inf), np.full(graph.nv, np.inf)
        self.balls: list[Ball] = []
        if limits:
            for k, body in enumerate(graph.bodies):
                self._read(body, graph.layout.q_slices[k], graph.layout.v_slices[k])
        self.free = ~fixed & (self.lower < self.upper)
        for ball in self.balls:
            self.free[ball.v] &= ball.largest > 0.0

    def _read(self, body: Body, q: slice, v: slice) -> None:
        lower, upper = body.limits.lower, body.limits.upper
        if not (np.isfinite(lower).any() or np.isfinite(upper).any() or (lower > upper).any()):
            return
        if isinstance(body.hinge, Spherical):
            if not upper.min() >= 0.0:
                raise StateError(
                    f"the largest angle of the spherical hinge {body.hinge_name!r} is {upper.min():.4g}, below zero; "
                    "set its limits, or pass limits=False."
                )
            self.balls += [Ball(body.hinge, body.hinge_name, q, v, float(upper.min()))] if upper.min() < np.pi else []
            return
        if not has_coordinates(body.hinge):
            raise StateError(
                f"the limits of hinge {body.hinge_name!r} cannot be kept: the velocities of {body.hinge!r} are not "
                "rates of its coordinates. Take its limits off, or pass limits=False."
            )
        for i, (low, high) in enumerate(zip(lower, upper, strict=True)):
            if low > high or low == np.inf or high == -np.inf:
                name = self.graph.dof_names[v.start + i]
                raise StateError(
                    f"dof {name!r} has its lower limit {low:.4g} above its upper limit {high:.4g}; exchange them, or "
                    "pass limits=False."
                )
        self.lower[v], self.upper[v] = lower, upper

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
        where = self.place[bounded]
        q[where] = np.clip(q[where], self.lower[bounded], self.upper[bounded])
        for ball in self.balls:
            w = ball.rotation(q)
            angle = float(np.linalg.norm(w))
            if angle > ball.largest and not self.fixed[ball.v].any():
                q[ball.q] = integrate_of(ball.hinge, np.asarray(ball.hinge.neutral()), ball.largest / angle * w)
        return q

    def box(self, q: Array) -> tuple[Array, Array, Array]:
        """lower and upper of y, and B, at coordinates within the limits."""
        x = np.where(self.place >= 0, q[self.place], 0.0)
        lower, upper, B = np.minimum(self.lower - x, 0.0), np.maximum(self.upper - x, 0.0), np.eye(self.graph.nv)
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
        found = np.zeros(self.graph.nv, dtype=np.int8)
        known = self.place >= 0
        x = q[self.place[known]]
        high, low = x >= self.upper[known] - AT_LIMIT, x <= self.lower[known] + AT_LIMIT
        found[known] = np.where(high, 1, np.where(low, -1, 0))
        for ball in self.balls:
            found[ball.v] = int(np.linalg.norm(ball.rotation(q)) >= ball.largest - AT_LIMIT)
        return found

    def scattered(self, q: Array, rng: np.random.Generator, spread: float) -> Array:
        """Other coordinates within the limits: from nearby (spread near 0) to anywhere (1)."""
        graph = self.graph
        dv = 2.0 * spread * rng.standard_normal(graph.nv)
        known = np.isfinite(self.lower) & np.isfinite(self.upper)
        uniform = rng.uniform(np.where(known, self.lower, 0.0), np.where(known, self.upper, 1.0))
        dv[known] = spread * (uniform - np.where(self.place >= 0, q[self.place], 0.0))[known]
        return self.inside(graph.integrate(q, np.where(self.free, dv, 0.0)))


def read_fixed(graph: Graph, fixed: Any, q0: Array) -> tuple[Mask, Array]:
    """The mask of the dofs held, and q0 with the values given for them.

    `fixed` names dofs or hinges, or is `{dof: value}`. A hinge with a quaternion is held whole or not at all.
    """
    q = np.array(q0)
    mask = read_prescribed(graph, list(fixed) if isinstance(fixed, Mapping) else fixed, "fixed")
    if isinstance(fixed, Mapping):
        at = coordinate_names(graph)
        for dof, value in fixed.items():
            if dof not in at:
                raise StateError(
                    f"fixed gives a value for {dof!r:.60}, which is not one coordinate of {graph.name!r}; name it in a "
                    "list to hold it as it is in q0."
                )
            q[..., at[dof]] = finite(value, (), f"the value at which {dof!r} is fixed", StateError)
    for body, v in zip(graph.bodies, graph.layout.v_slices, strict=True):
        if not has_coordinates(body.hinge) and mask[v].any() and not mask[v].all():
            raise StateError(
                f"hinge {body.hinge_name!r} of {graph.name!r} can be fixed as a whole only, since its velocities are "
                f"not rates of its coordinates; name {body.hinge_name!r} instead of single dofs."
            )
    return mask, q

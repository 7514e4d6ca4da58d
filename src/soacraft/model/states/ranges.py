"""Ranges of coordinates by the limits of hinges: lower and upper for each dof that is a coordinate, an angle for each
ball.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from soacraft.errors import StateError
from soacraft.model.flat.structure import Structure
from soacraft.model.hinges.base import difference_of, has_coordinates
from soacraft.model.hinges.spherical import Spherical
from soacraft.model.tree.frames.frame import Body
from soacraft.spatial.checks import Array


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


class Ranges:
    """`lower` and `upper` by dof (nv), infinite where there is no limit; `balls`; `place` of each dof in q, or -1.

    Limits that cannot be kept, of a hinge whose velocities are not rates of coordinates, are a `StateError`. With `of`,
    a mask of dofs (nv), limits of other hinges are not looked at.
    """

    def __init__(self, graph: Structure, limits: bool = True, of: npt.NDArray[np.bool_] | None = None) -> None:
        layout = graph.layout
        self.place: npt.NDArray[np.intp] = np.full(layout.nv, -1, dtype=np.intp)
        self.lower, self.upper = np.full(layout.nv, -np.inf), np.full(layout.nv, np.inf)
        self.balls: list[Ball] = []
        self.place[layout.own.v] = layout.own.q
        for body, q, v in zip(layout.bodies, layout.hinge_q, layout.hinge_v, strict=True):
            if has_coordinates(body.hinge):
                self.place[v] = np.arange(q.start, q.stop)
            if limits and body._limits is not None and (of is None or of[v].any()):
                self._read(body, q, v, layout.dof_names[v])

    def _read(self, body: Body, q: slice, v: slice, names: tuple[str, ...]) -> None:
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
        for name, low, high in zip(names, lower, upper, strict=True):
            if low > high or low == np.inf or high == -np.inf:
                raise StateError(
                    f"dof {name!r} has its lower limit {low:.4g} above its upper limit {high:.4g}; exchange them, or "
                    "pass limits=False."
                )
        self.lower[v], self.upper[v] = lower, upper

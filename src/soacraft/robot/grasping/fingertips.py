"""`Fingertip`: a point where a hand touches an object, and the forces that it can give.

    |(f_t / mu, m_n / c)| <= f_n <= limit

f_n pushes along the normal into the object, f_t along the surface, and a soft finger gives a moment m_n about the
normal. With c = 0 it is a point contact with friction. The cone of a soft finger is an ellipsoid (Howe and Cutkosky
1996): what it gives as a moment it lacks as a force.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft.arguments import listed
from soacraft.errors import StateError
from soacraft.spatial.checks import Array, finite, frozen, unit


@dataclass(frozen=True, eq=False)
class Fingertip:
    """A contact on an object: where, the normal into the object, friction and the largest normal force in N.

    `torsion` is c in metres: the moment about the normal that a unit of normal force can hold.

    >>> Fingertip((0.05, 0, 0), (-1, 0, 0), friction=0.6, limit=20.0)
    Fingertip at (0.05, 0, 0), friction 0.6, at most 20 N
    """

    point: Array
    normal: Array
    friction: float = 0.5
    limit: float = np.inf
    torsion: float = 0.0
    name: str = ""

    def __init__(
        self, point: Any, normal: Any, friction: Any = 0.5, limit: Any = np.inf, torsion: Any = 0.0, name: str = ""
    ) -> None:
        at = frozen(finite(point, (3,), "the point of a Fingertip", StateError))
        n = frozen(unit(normal, "the normal of a Fingertip"))
        for what, x in (("friction", friction), ("limit", limit), ("torsion", torsion)):
            if isinstance(x, bool) or not isinstance(x, float | int | np.floating | np.integer) or not x >= 0:
                raise StateError(f"{what} of a Fingertip must be a number that is not negative, got {x!r:.40}.")
        for what, x in (("friction", friction), ("torsion", torsion)):
            if not abs(x) <= sys.float_info.max:
                raise StateError(f"{what} of a Fingertip must be finite, got {x!r:.40}.")
        most = float(limit) if limit <= sys.float_info.max else np.inf
        values = {"point": at, "normal": n, "friction": float(friction), "limit": most}
        for key, value in {**values, "torsion": float(torsion), "name": str(name)}.items():
            object.__setattr__(self, key, value)

    def __repr__(self) -> str:
        x, y, z = self.point
        soft = f", torsion {self.torsion:g} m" if self.torsion else ""
        most = f", at most {self.limit:g} N" if np.isfinite(self.limit) else ""
        label = f" {self.name!r}" if self.name else ""
        return f"Fingertip{label} at ({x:g}, {y:g}, {z:g}), friction {self.friction:g}{soft}{most}"


def read_fingertips(fingertips: Any, what: str) -> tuple[list[Fingertip], list[str]]:
    """Fingertips, and a name for each."""
    tips = [fingertips] if isinstance(fingertips, Fingertip) else []
    tips = tips or listed(fingertips) or []
    if not tips or not all(isinstance(x, Fingertip) for x in tips):
        raise StateError(f"{what} takes a list of Fingertip(point, normal, ...), got {fingertips!r:.60}.")
    names = [x.name or f"contact {i}" for i, x in enumerate(tips)]
    for name in names:
        if names.count(name) > 1:
            raise StateError(f"{what}: two fingertips are called {name!r}; give each another name.")
    return tips, names


def columns(tip: Fingertip, about: Array) -> Array:
    """(6, 4): the wrench [moment; force] about a point, in the axes of the tip's numbers, of a unit of f_n, of f_t1
    and f_t2 over mu, and of m_n over c. Then the forces that it can give are all x with |x[1:]| <= x[0] <= limit."""
    n = tip.normal
    first = np.cross(n, np.eye(3)[int(np.argmin(np.abs(n)))])
    first /= np.linalg.norm(first)
    forces = np.stack([n, tip.friction * first, tip.friction * np.cross(n, first), np.zeros(3)])
    moments = np.cross(tip.point - about, forces)
    moments[3] = tip.torsion * n
    return np.concatenate([moments, forces], axis=1).T


def centre_and_length(fingertips: Sequence[Fingertip]) -> tuple[Array, float]:
    """The middle of the points, and how far they are from it; a soft finger alone reaches as far as its torsion."""
    points = np.array([x.point for x in fingertips])
    about = points.mean(axis=0)
    far = float(np.linalg.norm(points - about, axis=1).max())
    return about, far or max(x.torsion for x in fingertips)

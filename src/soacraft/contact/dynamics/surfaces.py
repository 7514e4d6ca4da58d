"""Friction and restitution of pairs of shapes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from soacraft.contact.geometry.scene import Scene
from soacraft.errors import ModelError
from soacraft.model import Geometry


class Surfaces:
    """What pairs of shapes are to each other: coefficients of sliding friction and of restitution.

    `friction` and `restitution` are those of shapes whose attributes say nothing (`friction`, as MJCF has it: sliding
    first, and `restitution`). Of two shapes the larger friction and the larger restitution count; `pairs` has the
    numbers of pairs, by the names of two shapes or bodies: {("foot", "floor"): (0.8, 0.0)}.
    """

    def __init__(
        self,
        scene: Scene,
        friction: float = 0.5,
        restitution: float = 0.0,
        pairs: Mapping[tuple[str, str], tuple[float, float]] | None = None,
    ) -> None:
        self.friction = _coefficient(friction, "friction", math.inf, "the default")
        self.restitution = _coefficient(restitution, "restitution", 1.0, "the default")
        self._pairs = {}
        for (a, b), (mu, e) in (pairs or {}).items():
            who = f"pair ({a!r}, {b!r})"
            told = _coefficient(mu, "friction", math.inf, who), _coefficient(e, "restitution", 1.0, who)
            self._pairs[frozenset((a, b))] = told
        self._own: dict[str, tuple[float, float]] = {}
        for name, geometry in _geometries(scene).items():
            self._own[name] = self._of_shape(name, geometry)
        known = {*self._own, *(x.partition("/")[0] for x in self._own)}
        for pair in self._pairs:
            for name in pair:
                if name not in known:
                    raise ModelError(f"pairs has {name!r}, which is no shape or body here: {sorted(known)[:8]}.")

    def of(self, a: str, b: str) -> tuple[float, float]:
        """Friction and restitution of two shapes by name."""
        bodies = a.partition("/")[0], b.partition("/")[0]
        for one in (a, bodies[0]):
            for other in (b, bodies[1]):
                told = self._pairs.get(frozenset((one, other)))
                if told is not None:
                    return told
        (mu, e), (mu2, e2) = self._own[a], self._own[b]
        return max(mu, mu2), max(e, e2)

    def _of_shape(self, name: str, geometry: Geometry) -> tuple[float, float]:
        told: Any = geometry.attributes.get("friction")
        rows = str(geometry.attributes.get("condim", 3))
        if rows not in ("1", "3"):
            raise ModelError(
                f"shape {name!r} has condim {rows}: friction against spinning and rolling does not act in "
                "motion yet; set its attribute condim to 3, or leave it out with Scene(mb, skip=[...])."
            )
        if rows == "1":
            told = 0.0
        mu = self.friction if told is None else told[0] if isinstance(told, list | tuple) else told
        e = geometry.attributes.get("restitution", self.restitution)
        who = f"shape {name!r}"
        return _coefficient(mu, "friction", math.inf, who), _coefficient(e, "restitution", 1.0, who)


def _geometries(scene: Scene) -> dict[str, Geometry]:
    return {x.name: x.geometry for x in scene.placed}


def _coefficient(value: Any, what: str, most: float, who: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not 0.0 <= number <= most or math.isinf(number):
        limits = "0 or more, and finite" if most > 1 else "between 0 and 1"
        raise ModelError(f"{what} of {who} is {value!r:.40}; it must be {limits}.")
    return number

"""Friction and restitution of pairs of shapes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from soacraft.contact.geometry.scene import Scene
from soacraft.errors import ModelError


class _Surface(NamedTuple):
    friction: float
    restitution: float
    priority: float


class Surfaces:
    """What pairs of shapes are to each other: coefficients of sliding friction and of restitution.

    `friction` and `restitution` are those of shapes whose attributes say nothing (`friction`, as MJCF has it: sliding
    first, and `restitution`). Of two shapes the one with the higher `priority` counts, else the larger friction and the
    larger restitution; `<pair>` of MJCF has its own; `pairs` has the numbers of pairs by the names of two shapes or
    bodies: {("foot", "floor"): (0.8, 0.0)}. Friction against spinning and rolling (condim 4 and 6) is refused.
    """

    def __init__(
        self,
        scene: Scene,
        friction: float = 0.5,
        restitution: float = 0.0,
        pairs: Mapping[tuple[str, str], tuple[float, float]] | None = None,
    ) -> None:
        self.friction = _coefficient(friction, "friction", "the default")
        self.restitution = _coefficient(restitution, "restitution", "the default")
        self._carrier = {x.name: x.carrier.name for x in scene.placed}
        self._own = {x.name: self._of_shape(x.name, x.geometry.attributes) for x in scene.placed}
        self._pairs: dict[frozenset[str], tuple[float, float]] = {}
        short = {x.geometry.name: x.name for x in scene.placed}
        for record in scene.model.records:
            if record.kind == "contact pair" and "friction" in record.attributes:
                given = [str(record.attributes.get(k, "")) for k in ("geom1", "geom2")]
                names = [short.get(x, x) for x in given]
                found = self._of_shape(" - ".join(names), record.attributes)
                self._pairs[frozenset(names)] = found.friction, found.restitution
        self._take(pairs)

    def _take(self, pairs: Any) -> None:
        if pairs is not None and not isinstance(pairs, Mapping):
            raise ModelError(f"pairs must be {{(name, name): (friction, restitution)}}, got {pairs!r:.60}.")
        known = {*self._own, *self._carrier.values()}
        for names, numbers in (pairs or {}).items():
            if not (isinstance(names, tuple) and isinstance(numbers, tuple) and len(names) == len(numbers) == 2):
                raise ModelError(f"pairs has {names!r:.60}: {numbers!r:.60}; give (a, b): (friction, restitution).")
            for name in names:
                if name not in known:
                    raise ModelError(f"pairs has {name!r}, which is no shape or body here: {sorted(known)[:8]}.")
            who = f"pair {names!r}"
            told = _coefficient(numbers[0], "friction", who), _coefficient(numbers[1], "restitution", who)
            self._pairs[frozenset(names)] = told

    def of(self, a: str, b: str) -> tuple[float, float]:
        """Friction and restitution of two shapes by name."""
        for one in (a, self._carrier[a]):
            for other in (b, self._carrier[b]):
                told = self._pairs.get(frozenset((one, other)))
                if told is not None:
                    return told
        first, second = self._own[a], self._own[b]
        if first.priority != second.priority:
            first = second = max(first, second, key=lambda x: x.priority)
        return max(first.friction, second.friction), max(first.restitution, second.restitution)

    def _of_shape(self, name: str, told: Mapping[str, Any]) -> _Surface:
        who = f"shape {name!r}"
        rows = _number(told.get("condim", 3), "condim", who)
        if rows not in (1.0, 3.0):
            raise ModelError(
                f"{who} has condim {rows:g}: friction against spinning and rolling does not act in motion yet; set its "
                "attribute condim to 3, or leave it out with Scene(mb, skip=[...])."
            )
        mu = told.get("friction", self.friction)
        mu = mu[0] if isinstance(mu, list | tuple) and len(mu) else mu.split()[0] if isinstance(mu, str) and mu else mu
        e = told.get("restitution", self.restitution)
        friction = 0.0 if rows == 1.0 else _coefficient(mu, "friction", who)
        priority = _number(told.get("priority", 0), "priority", who)
        return _Surface(friction, _coefficient(e, "restitution", who), priority)


def _number(value: Any, what: str, who: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ModelError(f"{what} of {who} is {value!r:.40}; it must be a number.") from None


def _coefficient(value: Any, what: str, who: str) -> float:
    number = _number(value, what, who)
    if not 0.0 <= number <= (math.inf if what == "friction" else 1.0) or math.isinf(number):
        limits = "0 or more, and finite" if what == "friction" else "between 0 and 1"
        raise ModelError(f"{what} of {who} is {value!r:.40}; it must be {limits}.")
    return number

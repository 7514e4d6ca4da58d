"""Friction and restitution of pairs of shapes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.contact.dynamics.mujoco import restitution_of
from soacraft.contact.geometry.filters import named_pairs
from soacraft.contact.geometry.scene import Scene
from soacraft.contact.solvers.blocks import MOST
from soacraft.errors import ModelError, near
from soacraft.spatial.checks import Array

Friction = float | Sequence[float]
#: Numbers for pairs by the names of two shapes or bodies: friction and restitution.
Pairs = Mapping[tuple[str, str], tuple[Friction, float]]
#: MJCF's condim: how many rows a contact has, by how many kinds of friction act.
_CONDIM = {1: 0, 3: 1, 4: 2, 6: 3}
_KINDS = ("sliding", "spinning", "rolling")


class _Surface(NamedTuple):
    friction: tuple[float, float, float]
    """Coefficients of sliding, spinning (m) and rolling (m)."""
    kinds: int
    """Number of these that act."""
    restitution: float
    priority: float

    @property
    def coefficients(self) -> tuple[float, ...]:
        """Coefficients of the rows of a `Cone`."""
        slide, spin, roll = self.friction
        return (slide, slide, spin, roll, roll)[: (0, 2, 3, 5)[self.kinds]]


class Surfaces:
    """Friction and restitution of pairs of shapes.

    `friction` is a number, of sliding, or numbers of sliding, spinning and rolling: the moments about the normal and
    about the tangents are at most spin p_n and roll p_n, with lengths spin and roll, and all of them together lie in
    one cone (see `Cone`). `friction` and `restitution` are defaults for shapes without such attributes. Attributes are
    as in MJCF: `friction`, of which `condim` selects the parts that act (1 none, 3 sliding, 4 spinning, 6 rolling too),
    and `restitution`, else that of the damping ratio of `solref` where it is below 1 (see `mujoco`). Of two shapes the
    one with the higher `priority` counts, else the larger of each number; `<pair>` of MJCF has its own numbers; `pairs`
    has the numbers of pairs by the names of two shapes or bodies: {("foot", "floor"): (0.8, 0.0)}. It overrides
    everything in the model; two shapes count more than a shape and a body, and those more than two bodies.
    """

    def __init__(
        self, scene: Scene, friction: Friction = 0.5, restitution: float = 0.0, pairs: Pairs | None = None
    ) -> None:
        self._default = _Surface(*_friction(friction, "the default"), _restitution(restitution, "the default"), 0.0)
        self._carrier = {x.name: x.carrier.name for x in scene.placed}
        self._own = {x.name: self._of_shape(x.name, x.geometry.attributes) for x in scene.placed}
        self._told: dict[frozenset[str], _Surface] = {}
        for (i, j), attributes in named_pairs(scene.model, list(scene.placed)):
            a, b = scene.placed[i].name, scene.placed[j].name
            self._told[frozenset((a, b))] = self._of_pair(a, b, attributes)
        self._pairs = self._take(pairs)

    def _take(self, pairs: Any) -> dict[frozenset[str], _Surface]:
        """Read the pairs of the user, by names of shapes or bodies."""
        if pairs is not None and not isinstance(pairs, Mapping):
            raise ModelError(f"pairs must be {{(name, name): (friction, restitution)}}, got {pairs!r:.60}.")
        names_known = {*self._own, *self._carrier.values()}
        surfaces: dict[frozenset[str], _Surface] = {}
        for names, numbers in (pairs or {}).items():
            if not (isinstance(names, tuple) and isinstance(numbers, tuple) and len(names) == len(numbers) == 2):
                raise ModelError(f"pairs has {names!r:.60}: {numbers!r:.60}; give (a, b): (friction, restitution).")
            for name in names:
                if name not in names_known:
                    raise ModelError(f"pairs has {name!r}, which is no shape or body here: {sorted(names_known)[:8]}.")
            who = f"pair {names!r}"
            surface = _Surface(*_friction(numbers[0], who), _restitution(numbers[1], who), 0.0)
            if surfaces.setdefault(frozenset(names), surface) != surface:
                raise ModelError(f"pairs has {names!r} twice, with different numbers; leave one of them out.")
        self._refuse_ties(surfaces)
        return surfaces

    def _refuse_ties(self, pairs: Mapping[frozenset[str], _Surface]) -> None:
        """Refuse two entries of a shape and a body that are as particular as each other for two shapes."""
        mixed = [(who, surface) for who, surface in pairs.items() if len(who & self._own.keys()) == 1 and len(who) == 2]
        for (one, first), (other, second) in combinations(mixed, 2):
            (a,), (b,) = one & self._own.keys(), other & self._own.keys()
            both = one == {a, self._carrier[b]} and other == {self._carrier[a], b}
            if both and first != second and frozenset((a, b)) not in pairs:
                raise ModelError(
                    f"pairs has {tuple(sorted(one))!r} and {tuple(sorted(other))!r}, which say different things of "
                    f"{a!r} and {b!r}; add ({a!r}, {b!r}): (friction, restitution)."
                )

    def with_friction(self, sliding: Mapping[str, float]) -> Surfaces:
        """Surfaces with other coefficients of sliding of shapes, by name; the numbers of pairs are not changed."""
        changed = copy(self)
        changed._own = dict(self._own)
        for name, number in sliding.items():
            surface = self._own.get(name)
            if surface is None:
                raise ModelError(f"there is no shape {name!r:.80} that may touch{near(name, list(self._own))}")
            if not surface.kinds:
                raise ModelError(f"shape {name!r} has condim 1, so that no friction acts on it; give it condim 3.")
            slide = _coefficient(number, "friction", f"shape {name!r}")
            changed._own[name] = surface._replace(friction=(slide, *surface.friction[1:]))
        return changed

    def of(self, a: str, b: str) -> tuple[tuple[float, ...], float]:
        """Coefficients of friction (those of a `Cone`) and restitution of two shapes by name."""
        on_a, on_b = self._carrier[a], self._carrier[b]
        for names in ((a, b), (a, on_b), (on_a, b), (on_a, on_b)):  # the most particular first
            said = self._pairs.get(frozenset(names))
            if said is not None:
                return said.coefficients, said.restitution
        both = self._told.get(frozenset((a, b))) or self._of_two(a, b)
        return both.coefficients, both.restitution

    def _of_two(self, a: str, b: str) -> _Surface:
        """Surface of two shapes without numbers for the pair."""
        first, second = self._own[a], self._own[b]
        if first.priority != second.priority:
            return max(first, second, key=lambda x: x.priority)
        slide, spin, roll = (max(x, y) for x, y in zip(first.friction, second.friction, strict=True))
        kinds, restitution = max(first.kinds, second.kinds), max(first.restitution, second.restitution)
        return _Surface((slide, spin, roll), kinds, restitution, first.priority)

    def table(self, names: Sequence[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Array, Array]:
        """Groups of shapes that are equal to all others, (shapes); of two groups the rows of their contact, (groups,
        groups), coefficients of friction, (groups, groups, 5), and restitution. O(shapes + groups^2)."""
        paired: frozenset[str] = frozenset().union(*self._pairs, *self._told)
        groups: dict[Any, int] = {}
        first: list[str] = []
        numbers = []
        for name in names:
            identity = name if paired & {name, self._carrier[name]} else ""
            key = self._own[name], identity
            if key not in groups:
                groups[key] = len(first)
                first.append(name)
            numbers.append(groups[key])
        count = len(first)
        rows = np.zeros((count, count), dtype=np.int64)
        friction, restitution = np.zeros((count, count, MOST)), np.zeros((count, count))
        for i, a in enumerate(first):
            for j, b in enumerate(first):
                coefficients, restitution[i, j] = self.of(a, b)
                rows[i, j] = 1 + len(coefficients)
                friction[i, j, : len(coefficients)] = coefficients
        return np.array(numbers, dtype=np.int64), rows, friction, restitution

    def _of_shape(self, name: str, attributes: Mapping[str, Any]) -> _Surface:
        who = f"shape {name!r}"
        kinds = _kinds(attributes["condim"], who) if "condim" in attributes else None
        coefficients = attributes.get("friction")
        if coefficients is None:
            friction, acting = self._default.friction, self._default.kinds
        else:
            friction, acting = _friction(coefficients, who)
            acting = min(acting, 1)  # as in MJCF, condim says what acts
        kinds = acting if kinds is None else kinds
        if coefficients is not None and kinds > len(_listed(coefficients)):
            raise ModelError(
                f"{who} has condim {attributes['condim']} and {len(_listed(coefficients))} coefficients of friction; "
                f"give those of {', '.join(_KINDS[:kinds])}, or another condim."
            )
        bounce = restitution_of(attributes["solref"], who) if "solref" in attributes else 0.0
        restitution = _restitution(attributes.get("restitution", bounce or self._default.restitution), who)
        return _Surface(friction, kinds, restitution, _number(attributes.get("priority", 0), "priority", who))

    def _of_pair(self, a: str, b: str, attributes: Mapping[str, Any]) -> _Surface:
        """Surface of MJCF's <pair>: friction has two numbers of sliding, one of spinning, two of rolling; the two
        shapes give the missing ones.
        """
        who, both = f"pair {a!r} - {b!r}", self._of_two(a, b)
        kinds = _kinds(attributes["condim"], who) if "condim" in attributes else both.kinds
        slide, spin, roll = both.friction
        five = [_coefficient(x, "friction", who) for x in _listed(attributes.get("friction", ()))]
        five += [slide, slide, spin, roll, roll][len(five) :]
        if (kinds > 0 and five[0] != five[1]) or (kinds > 2 and five[3] != five[4]):
            raise ModelError(
                f"friction of {who} is {attributes['friction']!r:.60}: it differs along the two tangents, which is not "
                "simulated; give both the same number."
            )
        bounce = both.restitution
        if "solref" in attributes:
            bounce = restitution_of(attributes["solref"], who) or self._default.restitution
        restitution = _restitution(attributes.get("restitution", bounce), who)
        return _Surface((five[0], five[2], five[3]), kinds, restitution, 0.0)


def _listed(value: Any) -> list[Any]:
    if isinstance(value, str):
        return value.split()
    return list(value) if isinstance(value, Sequence) or (isinstance(value, np.ndarray) and value.ndim) else [value]


def _friction(value: Any, who: str) -> tuple[tuple[float, float, float], int]:
    """Coefficients of sliding, spinning and rolling, 0 where left out, and how many there are."""
    numbers = [_coefficient(x, "friction", who) for x in _listed(value)]
    if not 1 <= len(numbers) <= len(_KINDS):
        raise ModelError(
            f"friction of {who} is {value!r:.60}; give a number, or those of sliding, spinning and rolling."
        )
    slide, spin, roll = (*numbers, 0.0, 0.0)[:3]
    return (slide, spin, roll), len(numbers)


def _kinds(condim: Any, who: str) -> int:
    rows = _number(condim, "condim", who)
    if rows not in _CONDIM:
        raise ModelError(f"condim of {who} is {rows:g}; it must be 1, 3, 4 or 6.")
    return _CONDIM[int(rows)]


def _restitution(value: Any, who: str) -> float:
    return _coefficient(value, "restitution", who)


def _number(value: Any, what: str, who: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what} of {who} is {value!r:.40}; it must be a number.") from None


def _coefficient(value: Any, what: str, who: str) -> float:
    number = _number(value, what, who)
    if not 0.0 <= number <= (math.inf if what == "friction" else 1.0) or math.isinf(number):
        limits = "0 or more, and finite" if what == "friction" else "between 0 and 1"
        raise ModelError(f"{what} of {who} is {value!r:.40}; it must be {limits}.")
    return number

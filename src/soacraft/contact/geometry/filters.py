"""Which shapes of a model may touch.

Shapes of one body, or of bodies welded together, never do; nor those of bodies with one hinge between them, except on
the inertial frame (as MuJoCo has it). Then what the files said: MJCF's `contype` and `conaffinity`, `<exclude>` and
`<pair>`, SRDF's disabled and enabled pairs of links.

Pairs are never listed: a shape has a class (its rigid group, the one above it, two masks), and pairs that files or the
user name are exceptions. So thousands of shapes take no longer than their number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.errors import ModelError
from soacraft.model import Body, Geometry, Multibody
from soacraft.model.hinges import Weld

Integers = npt.NDArray[np.int64]
Pair = tuple[int, int]
#: MJCF's masks have 32 bits.
_BITS = 0xFFFFFFFF


@dataclass(frozen=True)
class Placed:
    """A geometry on its carrier: `body` is its number in `mb.bodies`, -1 for the inertial frame."""

    name: str
    carrier: Any
    body: int
    geometry: Geometry


def collision_shapes(mb: Multibody) -> list[Placed]:
    """The shapes that are not for the eye alone, in the order of their names, whatever the order they were added in."""
    carriers = [(-1, mb.root), *enumerate(mb.bodies)]
    placed = [
        Placed(f"{carrier.name}/{each.name}", carrier, number, each)
        for number, carrier in carriers
        for each in carrier.geometries
        if each.role != "visual"
    ]
    return sorted(placed, key=lambda x: x.name)


def rigid_groups(mb: Multibody) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """By body: the body it is welded to (itself, or the inertial frame), and by such a body: the one it hangs from.
    What is welded to a node of a flexible body moves relative to what is on other nodes."""
    group: dict[Any, Any] = {mb.root: mb.root}
    above: dict[Any, Any] = {}
    for body in mb.bodies:
        on = group[body.parent]
        carried = isinstance(body.hinge, Weld) and not (isinstance(body.parent, Body) and body.parent.modal is not None)
        group[body] = on if carried else body
        if group[body] is body:
            above[body] = on
    return group, above


class Names:
    """The numbers of shapes by their name, and of all shapes of a body by its name."""

    def __init__(self, shapes: list[Placed]) -> None:
        self._numbers: dict[str, list[int]] = defaultdict(list)
        for i, x in enumerate(shapes):
            for name in {x.name, x.carrier.name}:
                self._numbers[name].append(i)

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def of(self, name: str) -> list[int]:
        """The shapes of a name."""
        return self._numbers.get(name, [])

    def pairs(self, names: Iterable[str]) -> set[Pair]:
        """The pairs i < j of a shape of one name and one of the other (or of one name)."""
        first, second = ((*names, *names) * 2)[:2]
        return {(min(i, j), max(i, j)) for i in self.of(first) for j in self.of(second) if i != j}


def classes(mb: Multibody, shapes: list[Placed], adjacent: bool) -> Integers:
    """By shape: its rigid group, the group above it that it must not touch (-1: none), its two masks. O(shapes)."""
    group, above = rigid_groups(mb)
    number = {carrier: i for i, carrier in enumerate(dict.fromkeys(group.values()))}
    silent = {str(a.get("link", "")) for kind, a in _records(mb) if kind == "disable_default_collisions"}
    rows = np.zeros((len(shapes), 4), dtype=np.int64)
    for i, x in enumerate(shapes):
        on = group[x.carrier]
        under = above.get(on)
        joined = not adjacent and under is not None and under is not mb.root
        masks = (0, 0) if x.carrier.name in silent else _masks(x.geometry)
        rows[i] = number[on], number[under] if joined else -1, *masks
    return rows


def exceptions(mb: Multibody, shapes: list[Placed]) -> dict[Pair, bool]:
    """The pairs that the files name, and whether they may touch; a pair of shapes counts more than bodies, and enabled
    more than disabled. Shapes that are one rigid group never touch. O(pairs named).
    """
    group, _ = rigid_groups(mb)
    bodies: dict[str, list[int]] = defaultdict(list)
    for i, x in enumerate(shapes):
        bodies[x.carrier.name].append(i)
    made: dict[Pair, bool] = {}
    for kinds, may in _ORDER:
        for kind, attributes in _records(mb):
            if kind not in kinds:
                continue
            a, b = (bodies.get(str(attributes.get(key, "")), []) for key in _KEYS[kind])
            made.update({(min(i, j), max(i, j)): may for i in a for j in b})
    made.update({pair: True for pair, _ in named_pairs(mb, shapes)})
    return {(i, j): may for (i, j), may in made.items() if group[shapes[i].carrier] is not group[shapes[j].carrier]}


def named_pairs(mb: Multibody, shapes: list[Placed]) -> list[tuple[Pair, Mapping[str, Any]]]:
    """The pairs of MJCF's `<pair>` and what each says. A geometry is named as in its file, or with its body
    ("foot/sole"); a name that several shapes have is refused. O(pairs named + shapes).
    """
    full = {x.name: [i] for i, x in enumerate(shapes)}
    short: dict[str, list[int]] = defaultdict(list)
    for i, x in enumerate(shapes):
        short[x.geometry.name].append(i)
    made: list[tuple[Pair, Mapping[str, Any]]] = []
    for kind, attributes in _records(mb):
        names = [str(attributes.get(key, "")) for key in ("geom1", "geom2")]
        meant = [full.get(name) or short.get(name, []) for name in names]
        if kind != "contact pair" or not all(meant):  # of shapes that are not here
            continue
        for name, those in zip(names, meant, strict=True):
            if len(those) > 1:
                told = " and ".join(repr(shapes[i].name) for i in those[:4])
                raise ModelError(
                    f"contact pair {names[0]!r} - {names[1]!r}: {name!r} is the name of {len(those)} shapes, {told}; "
                    "name one of them so in the pair, or give them different names."
                )
        (i,), (j,) = meant
        if i != j:
            made.append(((min(i, j), max(i, j)), attributes))
    return made


def _masks(geometry: Geometry) -> tuple[int, int]:
    """MJCF's contype and conaffinity; 1 and 1 where nothing was said."""
    return _mask(geometry, "contype"), _mask(geometry, "conaffinity")


def _mask(geometry: Geometry, what: str) -> int:
    """A whole number of 32 bits, with a sign or without."""
    given: Any = geometry.attributes.get(what, 1)
    is_whole = isinstance(given, int | np.integer) or (isinstance(given, float) and given.is_integer())
    if not is_whole or not -(_BITS // 2) - 1 <= given <= _BITS:
        raise ModelError(
            f"{what} of shape {geometry.name!r} is {given!r:.40}; it must be a whole number of 32 bits, such as 1."
        )
    return int(given) & _BITS


def _records(mb: Multibody) -> Iterator[tuple[str, Any]]:
    return ((x.kind, x.attributes) for x in mb.records)


_KEYS = {
    "contact exclude": ("body1", "body2"),
    "disable_collisions": ("link1", "link2"),
    "enable_collisions": ("link1", "link2"),
}
#: Later ones count more.
_ORDER = (
    (("contact exclude", "disable_collisions"), False),
    (("enable_collisions",), True),
)

"""Filters: pairs of shapes of a model that may touch.

Shapes of one body, or of bodies welded together, never do; nor those of a parent and its child, except on the inertial
frame (as MuJoCo has it); nor those of two bodies that an active closure welds to each other, as a second hand is welded
to the object it holds. A body without mass and without shapes is a part of the hinge between its neighbours: MJCF's
bodies with several joints are such chains. Then the settings of the files: MJCF's `contype` and `conaffinity`,
`<exclude>` and `<pair>`, SRDF's disabled and enabled pairs of links.

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
from soacraft.spatial.checks import Array, finite

Integers = npt.NDArray[np.int64]
Pair = tuple[int, int]
Groups = tuple[dict[Any, Any], dict[Any, Any]]
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
        for each in carrier._geometries.values()
        if each.role != "visual"
    ]
    return sorted(placed, key=lambda x: x.name)


def is_hinge_part(body: Body) -> bool:
    """True for a body without mass and without shapes that can touch: it is a link between two joints of one body."""
    return body.inertia.mass == 0.0 and body.modal is None and all(x.role == "visual" for x in body.geometries)


def carrier_of(body: Body) -> Any:
    """The body that the hinges of a body are on, or the inertial frame: past bodies that are parts of them."""
    on = body._parent
    while isinstance(on, Body) and is_hinge_part(on):
        on = on._parent
    return on


def rigid_groups(mb: Multibody) -> Groups:
    """Rigid group of each body: the body it is welded to (itself, or the inertial frame); and for such a body its
    parent's group, past groups without mass and shapes. A body welded to a node of a flexible body moves relative to
    those on other nodes.
    """
    group: dict[Any, Any] = {mb.root: mb.root}
    above: dict[Any, Any] = {}
    solid = {mb.root}
    for body in mb.bodies:
        parent = body._parent
        on = group[parent]
        carried = isinstance(body._hinge, Weld) and not (isinstance(parent, Body) and parent.modal is not None)
        group[body] = on if carried else body
        if group[body] is body:
            above[body] = on
        if not is_hinge_part(body):
            solid.add(group[body])
    for body, on in above.items():  # base first: a parent's entry is past the hinge parts already
        above[body] = on if on in solid else above[on]
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


def masks(mb: Multibody, shapes: list[Placed]) -> Integers:
    """Masks by shape, two each, (shapes, 2). They do not depend on the joints of the bodies. O(shapes)."""
    silent = {str(a.get("link", "")) for kind, a in _records(mb) if kind == "disable_default_collisions"}
    if switched_off(mb, "contact"):
        return np.zeros((len(shapes), 2), dtype=np.int64)
    rows = [(0, 0) if x.carrier.name in silent else _masks(x.geometry) for x in shapes]
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


def classes(mb: Multibody, shapes: list[Placed], masks: Integers, groups: Groups, adjacent: bool) -> Integers:
    """Classes by shape: its rigid group, the group above it that it must not touch (-1: none), its two masks.
    O(shapes).
    """
    group, above = groups
    adjacent = adjacent or switched_off(mb, "filterparent")
    number: dict[Any, int] = {carrier: i for i, carrier in enumerate(dict.fromkeys(group.values()))}
    joined = {} if adjacent else {on: number[under] for on, under in above.items() if under is not mb.root}
    on = [group[x.carrier] for x in shapes]
    rows = np.empty((len(shapes), 4), dtype=np.int64)
    rows[:, 0], rows[:, 1], rows[:, 2:] = [number[x] for x in on], [joined.get(x, -1) for x in on], masks
    return rows


def between_groups(named: Mapping[Pair, bool], shapes: list[Placed], groups: Groups) -> dict[Pair, bool]:
    """Pairs without those of one rigid group, which never touch."""
    group, _ = groups
    return {(i, j): may for (i, j), may in named.items() if group[shapes[i].carrier] is not group[shapes[j].carrier]}


def welded_pairs(mb: Multibody, shapes: list[Placed], groups: Groups) -> dict[Pair, bool]:
    """Pairs of two rigid groups that an active closure welds to each other: no impulse between them moves anything.
    O(pairs)."""
    group, _ = groups
    on: dict[Any, list[int]] = defaultdict(list)
    for i, x in enumerate(shapes):
        on[group[x.carrier]].append(i)
    welded = [
        (group[x.a.carrier], group[x.b.carrier])
        for x in mb.loops
        if x.active and isinstance(x.hinge, Weld) and not any(_is_flexible(end.carrier) for end in (x.a, x.b))
    ]
    return {(min(i, j), max(i, j)): False for a, b in welded if a is not b for i in on[a] for j in on[b]}


def _is_flexible(carrier: Any) -> bool:
    return isinstance(carrier, Body) and carrier.modal is not None


def file_pairs(mb: Multibody, shapes: list[Placed]) -> dict[Pair, bool]:
    """The pairs that the files name, and whether they may touch; a pair of shapes counts more than bodies, and enabled
    more than disabled. They do not depend on the joints of the bodies. O(pairs named).
    """
    bodies: dict[str, list[int]] = defaultdict(list)
    for i, x in enumerate(shapes):
        bodies[x.carrier.name].append(i)
    pairs: dict[Pair, bool] = {}
    for kinds, may in _ORDER:
        for kind, attributes in _records(mb):
            if kind not in kinds:
                continue
            a, b = (bodies.get(str(attributes.get(key, "")), []) for key in _KEYS[kind])
            pairs.update({(min(i, j), max(i, j)): may for i in a for j in b})
    pairs.update({pair: not switched_off(mb, "contact") for pair, _ in named_pairs(mb, shapes)})
    return pairs


def switched_off(mb: Multibody, what: str) -> bool:
    """True if MJCF's <flag> disables `what` ("contact", "filterparent"); of several flags the last one counts."""
    names = ("contact", "constraint") if what == "contact" else (what,)  # constraints are contacts too
    flags = {name: a[name] for kind, a in _records(mb) if kind == "flag" for name in names if name in a}
    return "disable" in flags.values()


def margins(mb: Multibody, shapes: list[Placed]) -> tuple[Array, dict[Pair, float]]:
    """MJCF's margins: how far each shape keeps clear of others, (shapes), and what <pair> adds to the sum of its two
    (its own margin replaces that sum). Contacts push from the margin on: the gap that rests is margin1 + margin2.
    O(shapes + pairs named)."""
    single = np.array([_margin(x.geometry.attributes, f"shape {x.name!r}") for x in shapes]).reshape(-1)
    more = {
        (i, j): _margin(attributes, f"pair {shapes[i].name!r} - {shapes[j].name!r}") - single[i] - single[j]
        for (i, j), attributes in named_pairs(mb, shapes)
        if "margin" in attributes
    }
    return single, more


def _margin(attributes: Mapping[str, Any], who: str) -> float:
    value = float(finite(attributes.get("margin", 0.0), (), f"margin of {who}", ModelError))
    if value < 0.0:
        raise ModelError(f"margin of {who} is {value:g}; it must not be negative: make the shape smaller instead.")
    return value


def named_pairs(mb: Multibody, shapes: list[Placed]) -> list[tuple[Pair, Mapping[str, Any]]]:
    """The pairs of MJCF's `<pair>` and what each says. A geometry is named as in its file, or with its body
    ("foot/sole"); a name that several shapes have is refused. O(pairs named + shapes).
    """
    full = {x.name: [i] for i, x in enumerate(shapes)}
    short: dict[str, list[int]] = defaultdict(list)
    for i, x in enumerate(shapes):
        short[x.geometry.name].append(i)
    pairs: list[tuple[Pair, Mapping[str, Any]]] = []
    for kind, attributes in _records(mb):
        names = [str(attributes.get(key, "")) for key in ("geom1", "geom2")]
        meant = [full.get(name) or short.get(name, []) for name in names]
        if kind != "contact pair" or not all(meant):  # of shapes that are not here
            continue
        for name, those in zip(names, meant, strict=True):
            if len(those) > 1:
                shown = " and ".join(repr(shapes[i].name) for i in those[:4])
                raise ModelError(
                    f"contact pair {names[0]!r} - {names[1]!r}: {name!r} is the name of {len(those)} shapes, {shown}; "
                    "name one of them so in the pair, or give them different names."
                )
        (i,), (j,) = meant
        if i != j:
            pairs.append(((min(i, j), max(i, j)), attributes))
    return pairs


def _masks(geometry: Geometry) -> tuple[int, int]:
    """MJCF's contype and conaffinity; 1 and 1 where nothing was said."""
    return _mask(geometry, "contype"), _mask(geometry, "conaffinity")


def _mask(geometry: Geometry, what: str) -> int:
    """A whole number of 32 bits, with a sign or without."""
    value: Any = geometry.attributes.get(what, 1)
    is_whole = isinstance(value, int | np.integer) or (isinstance(value, float) and value.is_integer())
    if not is_whole or not -(_BITS // 2) - 1 <= value <= _BITS:
        raise ModelError(
            f"{what} of shape {geometry.name!r} is {value!r:.40}; it must be a whole number of 32 bits, such as 1."
        )
    return int(value) & _BITS


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

"""Which shapes of a model may touch.

Shapes of one body, or of bodies welded together, never do; nor those of bodies with one hinge between them, except on
the inertial frame (as MuJoCo has it). Then what the files said: MJCF's `contype` and `conaffinity`, `<exclude>` and
`<pair>`, SRDF's disabled and enabled pairs of links.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from soacraft.model import Geometry, Multibody
from soacraft.model.hinges import Weld

Pair = tuple[int, int]


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
    """By body: the body it is welded to (itself, or the inertial frame), and by such a body: the one it hangs from."""
    group: dict[Any, Any] = {mb.root: mb.root}
    above: dict[Any, Any] = {}
    for body in mb.bodies:
        on = group[body.parent]
        group[body] = on if isinstance(body.hinge, Weld) else body
        if group[body] is body:
            above[body] = on
    return group, above


def touching_pairs(mb: Multibody, shapes: list[Placed], adjacent: bool) -> list[Pair]:
    """The pairs (i < j) of shapes that may touch. O(shapes^2)."""
    group, above = rigid_groups(mb)
    disabled, enabled, silent, named = _files(mb)
    groups = [group[x.carrier] for x in shapes]
    masks = [_masks(x.geometry) for x in shapes]
    pairs = []
    for i, a in enumerate(shapes):
        for j in range(i + 1, len(shapes)):
            b = shapes[j]
            if groups[i] is groups[j]:
                continue
            bodies = frozenset((a.carrier.name, b.carrier.name))
            if _named(a, b, named) or bodies in enabled:
                pairs.append((i, j))
                continue
            if bodies in disabled or silent & bodies:
                continue
            if not adjacent and _adjacent(groups[i], groups[j], above, mb):
                continue
            (t, f), (u, g) = masks[i], masks[j]
            if (t & g) or (u & f):
                pairs.append((i, j))
    return pairs


def _adjacent(a: Any, b: Any, above: dict[Any, Any], mb: Multibody) -> bool:
    return a is not mb.root and b is not mb.root and (above.get(a) is b or above.get(b) is a)


def _masks(geometry: Geometry) -> tuple[int, int]:
    """MJCF's contype and conaffinity; 1 and 1 where nothing was said."""
    kept = geometry.attributes
    t, f = kept.get("contype", 1), kept.get("conaffinity", 1)
    return (int(t) if isinstance(t, int | float) else 1), (int(f) if isinstance(f, int | float) else 1)


def _named(a: Placed, b: Placed, named: set[frozenset[str]]) -> bool:
    return bool(named) and (
        frozenset((a.geometry.name, b.geometry.name)) in named or frozenset((a.name, b.name)) in named
    )


def _files(mb: Multibody) -> tuple[set[frozenset[str]], set[frozenset[str]], frozenset[str], set[frozenset[str]]]:
    """Pairs of bodies that do not touch, and that do; bodies that touch nothing; pairs of shapes that do."""
    disabled, enabled, named = set(), set(), set()
    silent = set()
    for record, attributes in _records(mb):
        names = [str(attributes.get(key, "")) for key in _KEYS.get(record, ())]
        if record in ("contact exclude", "disable_collisions"):
            disabled.add(frozenset(names))
        elif record == "enable_collisions":
            enabled.add(frozenset(names))
        elif record == "disable_default_collisions":
            silent.update(names)
        elif record == "contact pair":
            named.add(frozenset(names))
    return disabled, enabled, frozenset(silent), named


def _records(mb: Multibody) -> Iterator[tuple[str, Any]]:
    return ((x.kind, x.attributes) for x in mb.records)


_KEYS = {
    "contact exclude": ("body1", "body2"),
    "contact pair": ("geom1", "geom2"),
    "disable_collisions": ("link1", "link2"),
    "enable_collisions": ("link1", "link2"),
    "disable_default_collisions": ("link",),
}


"""Data that a scene takes from its model: shapes on their bodies, pairs that may touch, and their margins."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from soacraft.contact.geometry.compiled import ContactScene, require_near
from soacraft.contact.geometry.filters import (
    Integers,
    Names,
    Pair,
    Placed,
    between_groups,
    classes,
    collision_shapes,
    file_pairs,
    margins,
    masks,
    rigid_groups,
    welded_pairs,
)
from soacraft.contact.geometry.queries import unanswerable
from soacraft.contact.geometry.records import ShapeMaker
from soacraft.contact.geometry.shapes import Shape
from soacraft.errors import ModelError
from soacraft.model import Body, Multibody
from soacraft.spatial.checks import Array, finite, frozen


@dataclass
class Choices:
    """Choices of the user of a scene, by names of shapes or bodies: shapes of their own, shapes left out, contact of
    bodies that a hinge joins, pairs that may touch or not (the last one counts most), paddings of one or two names.
    """

    shapes: dict[str, Shape]
    skip: frozenset[str]
    adjacent: bool
    pairs: dict[frozenset[str], bool] = field(default_factory=dict)
    padding: dict[frozenset[str], float] = field(default_factory=dict)


@dataclass(frozen=True)
class Parts:
    """Shapes with what holds for them wherever their bodies hang; as in `Placement`."""

    shapes: list[Shape]
    names: Names
    index: dict[str, int]
    local: Array
    moving: dict[int, Array]

    @classmethod
    def of(cls, placed: list[Placed], shapes: list[Shape], names: Names) -> Parts:
        """The shapes of geometries. O(shapes)."""
        poses, local = [x.geometry.pose for x in placed], np.empty((len(placed), 12))
        local[:, :9] = np.array([x.rotation for x in poses]).reshape(-1, 9)
        local[:, 9:] = require_near(np.array([x.translation for x in poses]).reshape(-1, 3))
        moving = {i: v for i, x in enumerate(placed) if (v := _surface_velocity(x)) is not None}
        return cls(shapes, names, {x.name: i for i, x in enumerate(placed)}, frozen(local), moving)


@dataclass(frozen=True)
class Placement:
    """Data that a scene derived from its model, until that changes: `local` are the poses of the shapes on their
    bodies, (shapes, 12), `body` the numbers of these, `moving` the velocities of surfaces that move, by shape.
    """

    key: tuple[Any, ...]
    placed: list[Placed]
    shapes: list[Shape]
    names: Names
    index: dict[str, int]
    local: Array
    body: Integers
    moving: dict[int, Array]
    core: ContactScene

    @cached_property
    def thinnest(self) -> float:
        """The least thickness of two shapes that may touch, together."""
        return self.core.thinnest()


def key_of(mb: Multibody) -> tuple[Any, ...]:
    """Key of a placement: structure, and the records (by identity) that define shapes and pairs."""
    shapes = [x for carrier in (mb.root, *mb.bodies) for x in carrier._geometries.values()]
    return mb.version, *shapes, *mb.records


def place(mb: Multibody, maker: ShapeMaker, choices: Choices, key: tuple[Any, ...]) -> Placement:
    """The placement of a model. O(shapes + pairs that are named)."""
    skip = choices.skip
    placed = [x for x in collision_shapes(mb) if x.name not in skip and x.carrier.name not in skip]
    shapes = [choices.shapes.get(x.name) or maker.make(x.geometry, x.name) for x in placed]
    names, groups = Names(placed), rigid_groups(mb)
    classes_of = classes(mb, placed, masks(mb, placed), groups, choices.adjacent)
    named = between_groups(welded_pairs(mb, placed, groups) | file_pairs(mb, placed), placed, groups)
    for pair, touch in choices.pairs.items():
        named.update(dict.fromkeys(names.pairs(pair), touch))
    single, padded = margins(mb, placed)
    wider, apart = np.zeros(len(placed)), dict[Pair, float]()
    for who, value in choices.padding.items():
        if len(who) == 1:
            wider[names.of(next(iter(who)))] = value
        else:
            apart.update(dict.fromkeys(names.pairs(who), value))
    padded |= {pair: value + padded.get(pair, 0.0) for pair, value in apart.items()}
    single = single + wider
    return assemble(key, placed, Parts.of(placed, shapes, names), classes_of, named, single, padded)


def assemble(
    key: tuple[Any, ...],
    placed: list[Placed],
    parts: Parts,
    shape_classes: Integers,
    named: dict[Pair, bool],
    single: Array,
    padded: dict[Pair, float],
) -> Placement:
    """A placement of shapes whose classes and exceptions are `shape_classes` and `named`, with the paddings of
    each and of pairs. O(shapes + pairs that are named)."""
    _refuse_flexible(placed)
    _refuse_planes(placed, parts.shapes, shape_classes, named)
    body = np.array([x.body for x in placed], dtype=np.int64)
    core = ContactScene(
        [x.core for x in parts.shapes], single, shape_classes,
        _rows([(*pair, touch) for pair, touch in named.items()], 3), _rows(list(padded), 2),
        np.array(list(padded.values()), dtype=np.float64),
    )  # fmt: skip
    return Placement(key, placed, parts.shapes, parts.names, parts.index, parts.local, body, parts.moving, core)


def _rows(rows: list[Any], columns: int) -> Integers:
    return np.array(rows, dtype=np.int64).reshape(-1, columns)


def _refuse_flexible(placed: list[Placed]) -> None:
    """Refuse shapes on the frame of a flexible body, which is no point of it."""
    for x in placed:
        if isinstance(x.carrier, Body) and x.carrier.modal is not None:
            node = f"{x.carrier.name}/{[*x.carrier.modal.nodes, 'node'][-2:][0]}"
            raise ModelError(
                f"shape {x.name!r} cannot touch: body {x.carrier.name!r} is flexible, and contact acts at its nodes. "
                f"Weld a body to a node, as mb.add_body('foot', {node!r}, sc.Weld()), and give that the shape; or "
                f"leave it out with skip=[{x.name!r}]."
            )


def _refuse_planes(placed: list[Placed], shapes: list[Shape], shape_classes: Integers, named: dict[Pair, bool]) -> None:
    """Refuse planes that may touch each other."""
    for i, j in combinations([k for k, x in enumerate(shapes) if x.kind == "plane"], 2):
        (group, above, t, f), (other, over, u, g) = shape_classes[i], shape_classes[j]
        apart = group == other or above == other or over == group or not (t & g or u & f)
        if named.get((i, j), not apart):
            a, b = placed[i].name, placed[j].name
            raise ModelError(f"shapes {a!r} and {b!r} may touch, but {unanswerable(shapes[i], shapes[j])}.")


def _surface_velocity(placed: Placed) -> Array | None:
    """The velocity of a conveyor's surface in the axes of its shape, from the attribute `surface_velocity` (or MJCF's
    `surfacevel`).
    """
    attributes = placed.geometry.attributes
    value = attributes.get("surface_velocity", attributes.get("surfacevel"))
    if value is None:
        return None
    return finite(value, (3,), f"surface_velocity of shape {placed.name!r}")

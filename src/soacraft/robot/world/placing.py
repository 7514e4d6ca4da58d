"""The shapes of a robot and of the objects around it, laid out for one scene, and which of them may touch.

Objects add no bodies and no dofs: their shapes are on the inertial frame, or on the body of the robot they are on;
those of an object with hinges are where its state puts them. Pairs that may not touch follow from the robot's model,
the objects it holds, and the settings of the user, computed again each time; so they never depend on how the model came
to be:

- Shapes that are fixed to each other never touch, nor do objects among themselves, unless the robot holds one of them.
- Bodies that a hinge joins do not touch: the outboard one, and all that is fixed to the inboard one. What is welded on
  the outboard body is checked: a tool on the last link can hit the link before it.
- What the files say of pairs and masks holds among the robot's own shapes. Objects have no masks: all of the robot's
  shapes that can touch something can touch them.
- An object in a hand may touch that hand, all that is fixed to it, and its fingers (`grasping.hands`).
- Pairs that the user allowed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from soacraft.contact.geometry.filters import (
    Groups,
    Integers,
    Names,
    Pair,
    Placed,
    between_groups,
    carrier_of,
    classes,
    collision_shapes,
    file_pairs,
    masks,
    rigid_groups,
)
from soacraft.contact.geometry.placement import Parts, Placement, assemble, key_of
from soacraft.contact.geometry.scene import Scene
from soacraft.contact.geometry.shapes import Shape
from soacraft.errors import ModelError, StaleError, near
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.parts.records import Geometry
from soacraft.robot.grasping.hands import gripped
from soacraft.robot.world.parts import SIZED, Item
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose

#: MJCF's masks with all bits.
_ALL = {"contype": 0xFFFFFFFF, "conaffinity": 0xFFFFFFFF}


class Laid(NamedTuple):
    """Shape on its carrier, a body of the robot or the inertial frame, and all names that mean it: that of the shape it
    covers, of the body, of the object.
    """

    placed: Placed
    shape: Shape
    names: tuple[str, ...]


class Filters(NamedTuple):
    """Filters of pairs: the objects that the robot's hands hold, objects that were given to it (by name: their bodies),
    objects of the world, pairs that may touch, paddings of one or two names.
    """

    held: Mapping[str, tuple[str, ...]]
    given: Mapping[str, tuple[str, ...]]
    objects: Iterable[str]
    allowed: Iterable[tuple[str, str]]
    pads: Mapping[tuple[str, ...], float]


class Meanings(Names):
    """The numbers of shapes by all names that mean them."""

    def __init__(self, names: Iterable[Iterable[str]]) -> None:
        self._numbers: dict[str, list[int]] = defaultdict(list)
        for i, meanings in enumerate(names):
            for name in dict.fromkeys(meanings):
                self._numbers[name].append(i)


class WorldScene(Scene):
    """The scene of a world at the time of the call."""

    def __init__(self, mb: Multibody, placement: Placement, meanings: tuple[tuple[str, ...], ...]) -> None:
        self.model, self._built = mb, placement
        self.meanings = meanings
        """All names that mean each shape: of the shape it stands for, its body, its object."""

    def exclude(self, a: str, b: str) -> None:
        """Refuse; use `w.allow`."""
        raise ModelError(f"pairs of a world are its own: w.allow({a!r:.40}, {b!r:.40}).")

    def include(self, a: str, b: str) -> None:
        """Refuse; use `w.disallow`."""
        raise ModelError(f"pairs of a world are its own: w.disallow({a!r:.40}, {b!r:.40}).")

    def set_padding(self, metres: float, a: str, b: str | None = None) -> None:
        """Refuse; use `w.pad`."""
        raise ModelError(f"paddings of a world are its own: w.pad({a!r:.40}, {metres!r:.40}).")

    def _check_names(self, names: Iterable[str]) -> None:
        names_of_scene = self._current().names
        for name in names:
            if name not in names_of_scene:
                raise ModelError(
                    f"there is no body, shape or object {name!r:.60}{near(str(name), sorted(names_of_scene))}"
                )

    def _current(self) -> Placement:
        assert self._built is not None
        if self._built.key != key_of(self.model):
            raise StaleError(f"the model {self.model.name!r} has changed since; ask the world for its scene again.")
        return self._built


def robot_shapes(mb: Multibody) -> Iterator[tuple[Placed, tuple[str, ...]]]:
    """The collision shapes of a robot, each with the names that mean it."""
    return ((x, (x.name, x.carrier.name)) for x in collision_shapes(mb))


def body_names(name: str, model: Multibody | None) -> tuple[str, ...]:
    """Names of the bodies of an object with hinges."""
    return () if model is None else tuple(f"{name}.{x.name}" for x in model.bodies)


def item_shapes(mb: Multibody, name: str, item: Item) -> Iterator[tuple[Placed, Shape | None, tuple[str, ...]]]:
    """The shapes of an object on their carrier; those of a model are still to be made of their geometries."""
    for taken in (name, *body_names(name, item.model)):
        if taken in mb:
            raise ModelError(
                f"the robot has {taken!r} now, and so has the world: w.remove({name!r}), and add it by another name."
            )
    if item.on is not None and item.on not in mb:
        raise ModelError(f"object {name!r} is on {item.on!r}, which the robot no longer has: w.remove({name!r}).")
    carrier: Any = mb.root if item.on is None else mb[item.on]
    number = -1 if item.on is None else mb.layout.index[carrier]
    for part, shape, pose in item.shapes:
        full = f"{name}/{part}"
        yield Placed(full, carrier, number, _geometry(part, shape, item.pose @ pose)), shape, (full, name)
    model = item.source
    if model is None:
        return
    for x in collision_shapes(model):
        on_root = x.carrier is model.root
        owner = name if on_root else f"{name}.{x.carrier.name}"
        at = item.pose @ (Pose() if on_root else model.pose(x.carrier)) @ x.geometry.pose
        geometry = replace(x.geometry, pose=at, attributes={**x.geometry.attributes, **_ALL})
        full = f"{owner}/{x.geometry.name}"
        yield Placed(full, carrier, number, geometry), None, (full, owner, name)


class Roll:
    """Shapes of a world in the order of their names, and what holds for them however the bodies hang together: it is
    kept while the bodies, their geometries, the records and what the user said are the same."""

    def __init__(self, mb: Multibody, laid: Iterable[Laid]) -> None:
        self._laid = sorted(laid, key=lambda x: x.placed.name)
        self._placed = [x.placed for x in self._laid]
        self.meanings = tuple(x.names for x in self._laid)
        self.parts = Parts.of(self._placed, [x.shape for x in self._laid], Meanings(self.meanings))
        self._masks = masks(mb, self._placed)
        self._named = _file_pairs(mb, self._laid)

    def placed(self, mb: Multibody) -> list[Placed]:
        """The shapes on their bodies, with the numbers that these have now."""
        number: Callable[[Any, int], int] = mb.layout.index.get
        bodies = [number(x.carrier, -1) for x in self._placed]
        both = zip(self._placed, bodies, strict=True)
        return [x if x.body == k else Placed(x.name, x.carrier, k, x.geometry) for x, k in both]

    def classes(self, mb: Multibody, groups: Groups, objects: Iterable[str], every: bool) -> Integers:
        """The classes of the shapes. A hinge joins its outboard body alone, not what is welded on that or put on it;
        `every` joins none."""
        table, put, group = classes(mb, self._placed, self._masks, groups, every), set(objects), groups[0]
        shapes = enumerate(zip(self._placed, self.meanings, strict=True))
        table[[i for i, (x, names) in shapes if group[x.carrier] is not x.carrier or not put.isdisjoint(names)], 1] = -1
        return table

    def file_pairs(self, groups: Groups) -> dict[Pair, bool]:
        """Pairs of the robot's shapes in the files, and if they may touch."""
        return between_groups(self._named, self._placed, groups)


def lay_out(mb: Multibody, roll: Roll, filters: Filters, every: bool = False) -> WorldScene:
    """The scene of shapes and filters; `every` takes all pairs that masks let touch. O(shapes + pairs named)."""
    placed, names, groups = roll.placed(mb), roll.parts.names, rigid_groups(mb)
    shape_classes, group = roll.classes(mb, groups, filters.objects, every), groups[0]
    named = {} if every else roll.file_pairs(groups)
    if not every:
        _join_to_base(mb, names, group, named)
    for a, b in (*gripped(mb, groups, filters.held), *_apart(filters)):
        named.update(dict.fromkeys(names.pairs((a, b)), False))
    for pair in filters.allowed:
        named.update(dict.fromkeys(names.pairs(pair), False))
    single, padded = _paddings(names, filters.pads, len(placed))
    return WorldScene(mb, assemble(key_of(mb), placed, roll.parts, shape_classes, named, single, padded), roll.meanings)


def _file_pairs(mb: Multibody, laid: list[Laid]) -> dict[Pair, bool]:
    """Pairs of the robot's shapes in the files, and if they may touch; pieces of a shape are as it is."""
    if not mb.records:
        return {}
    by_name: dict[str, list[int]] = defaultdict(list)
    for i, x in enumerate(laid):
        by_name[x.names[0]].append(i)
    robot = [x for x in collision_shapes(mb) if x.name in by_name]
    pairs: dict[Pair, bool] = {}
    for (i, j), may in file_pairs(mb, robot).items():
        for a in by_name[robot[i].name]:
            pairs.update({(min(a, b), max(a, b)): may for b in by_name[robot[j].name]})
    return pairs


def _join_to_base(mb: Multibody, names: Names, group: dict[Any, Any], named: dict[Pair, bool]) -> None:
    """A body does not touch the one that its hinge is on, also where that is welded to the inertial frame."""
    for body in mb.bodies:
        on = carrier_of(body)
        if group[body] is body and isinstance(on, Body) and group[on] is mb.root:
            for pair in names.pairs((body.name, on.name)):
                named.setdefault(pair, False)


def _apart(filters: Filters) -> Iterator[tuple[str, str]]:
    """Objects that were given to the robot and are not held, against the other objects."""
    loose = [bodies for bodies in filters.given.values() if not any(x in filters.held for x in bodies)]
    others = list(filters.objects)
    for i, group in enumerate(loose):
        for a in group:
            yield from ((a, b) for b in (*others, *(y for more in loose[i + 1 :] for y in more)))


def _paddings(names: Names, pads: Mapping[tuple[str, ...], float], count: int) -> tuple[Array, dict[Pair, float]]:
    """Paddings by shape and by pair; that of a shape itself counts more than that of its body."""
    single, padded = np.zeros(count), dict[Pair, float]()
    for who, value in sorted(pads.items(), key=lambda x: sum("/" in name for name in x[0])):
        if len(who) == 1:
            single[names.of(who[0])] = value
        else:
            padded.update(dict.fromkeys(names.pairs(who), value))
    return single, padded


def _geometry(name: str, shape: Shape, pose: Pose) -> Geometry:
    size = tuple(getattr(shape, "size", ())) if shape.kind in SIZED else (1.0, 1.0, 1.0)
    kind = shape.kind if shape.kind in SIZED else "box"  # its shape is given to the scene itself
    return Geometry(name, kind, size, pose, role="collision", attributes=_ALL)

"""Coarseness of shapes: as they were given, or by their hull, a box, capsules or spheres that hold them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from soacraft.contact.geometry.filters import Placed
from soacraft.contact.geometry.records import ShapeMaker
from soacraft.contact.geometry.scene import Scene
from soacraft.contact.geometry.shapes import Shape
from soacraft.errors import ModelError, StateError, near
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.parts.records import Geometry
from soacraft.progress import Bar
from soacraft.robot.robot import Robot
from soacraft.robot.world.parts import Item
from soacraft.robot.world.placing import Filters, Laid, Roll, WorldScene, item_shapes, lay_out, robot_shapes
from soacraft.robot.world.rules import Rules
from soacraft.robot.world.solids import has_cover
from soacraft.robot.world.wishes import GIVEN, KINDS, Cover, Detail, cover_of, read_size
from soacraft.spatial.pose import Pose

#: Number of shapes of geometries that are kept.
_KEPT = 20_000


class Details(Rules):
    """Coarseness of the shapes of a world, and the scene of them."""

    def __init__(self, robot: Robot) -> None:
        super().__init__(robot)
        self._details: dict[str | None, Detail] = {}
        self._makers: dict[tuple[Any, ...], tuple[Multibody, ShapeMaker]] = {}
        self._covers: dict[tuple[Shape, Detail], Cover] = {}
        self._plain: dict[int, tuple[Geometry, Path | None, Shape]] = {}
        self._standing: dict[str, tuple[Item, list[tuple[Placed, Shape | None, tuple[str, ...]]]]] = {}
        self._roll: tuple[Any, Roll] | None = None

    def detail(
        self,
        name: str | None,
        kind: str,
        *,
        error: float | None = None,
        count: int | None = None,
        progress: bool = False,
    ) -> list[Cover]:
        """Take the shapes of a body or object, one shape, or all (`None`) more coarsely, or as given again; the result
        has the cover of each of them. A shape's own choice counts before its body's, that before the one for all.

        "mesh": triangles as they are. "hull": the convex hull of a mesh, the default for mesh files. "box": a box
        around it. "spheres", "capsules": balls, or capsules and balls, that protrude by no more than `error` metres
        (default: a tenth of the diagonal of its box), or at most `count` of them that protrude as little as is found.
        All are proven to hold the shape. "given": undo. Primitives have no coarser mesh or hull; planes and height
        fields are not changed. `progress` shows a bar.

        >>> import soacraft as sc
        >>> w = sc.robot.World(sc.robot.Robot(sc.load("ur5e")))
        >>> covers = w.detail("forearm_link", "spheres", count=6)
        >>> [len(x) <= 6 and x.sticks_out == 0.0 for x in covers]
        [True, True]
        """
        if not isinstance(kind, str) or kind not in KINDS:
            raise StateError(f"detail is {', '.join(map(repr, KINDS[:-1]))} or {KINDS[-1]!r}{near(str(kind), KINDS)}")
        if name is not None:
            self._require(name)
        wish = Detail(kind, *read_size(kind, error, count))
        before = dict(self._details)
        self._details[name] = wish
        if kind == "given":
            del self._details[name]
        try:
            wanted = [x for x in self._wanted(self._robot.mb) if name is None or name in x[2]]
            covers, bar = [], Bar("covers", 0.0, float(len(wanted)), progress)
            with bar:
                for i, (model, placed, names, shape) in enumerate(wanted):
                    covers.append(self._made_of(model, placed, names, shape))
                    bar.at(float(i + 1))
        except BaseException:
            self._details = before
            raise
        self._change()
        return covers

    def remove(self, name: str) -> None:
        """Remove an object, with its settings and those of its shapes."""
        super().remove(name)
        names = [x for x in self._details if x is not None and (x == name or x.startswith((f"{name}/", f"{name}.")))]
        for x in names:
            del self._details[x]
        self._standing.pop(name, None)

    @property
    def details(self) -> dict[str | None, str]:
        """Kinds of covers, by the names they were chosen for; `None` for all."""
        return {name: wish.kind for name, wish in self._details.items()}

    # -- inside --------------------------------------------------------------------------------------------------

    def _new_item(self, name: str, shape: Any, pose: Any, on: Any, model: Any, folder: Any) -> Item:
        item = super()._new_item(name, shape, pose, on, model, folder)
        if item.records is not None:
            cure = "give folder=..., where its file is, or a shape such as sc.contact.TriangleMesh(...)"
            for x in item.records.root.geometries:
                self._maker(item.records, "hull").make(x, f"{name}/{x.name}", cure)
        return item

    def _kept(self, name: str, item: Item) -> dict[tuple[str, str], Shape]:
        shapes = super()._kept(name, item)
        source, model = item.source, item.model is not None
        if source is None or source.mesh_folder == self._robot.mb.mesh_folder:
            return shapes
        for placed, _, names in item_shapes(self._robot.mb, name, item):
            if placed.geometry.mesh:
                meshes = "hull" if self._wish(names) is GIVEN else "triangles"
                part = placed.geometry.name
                at = (names[1], part) if names[1] != name or not model else (source.root.name, f"{name}.{part}")
                try:
                    shapes[at] = self._maker(source, meshes).make(placed.geometry, placed.name)
                except ModelError:
                    if not self._hidden.intersection(names):
                        raise
        return shapes

    def _take(self, other: Self) -> None:
        super()._take(other)
        self._details, self._covers, self._plain = dict(other._details), dict(other._covers), dict(other._plain)

    def _wanted(self, mb: Multibody) -> Iterator[tuple[Multibody, Placed, tuple[str, ...], Shape | None]]:
        """The shapes that are not hidden: the model they are of, where they are, all names that mean them, and their
        shape where it was given as such."""
        model, hidden, shapes = self._robot.mb, self._hidden, self._robot._own_shapes()
        names_of = {body: name for name, bodies in self._given.items() for body in bodies}
        for placed, names in robot_shapes(mb):
            if placed.carrier.name in names_of:
                names = (*names, names_of[placed.carrier.name])
            elif names_of and placed.carrier is mb.root:
                names = (*names, *self._names_before(placed.geometry.name))
            if not hidden.intersection(names):
                yield model, placed, names, shapes.get(placed.name)
        for name, item in self._items.items():
            source = model if item.source is None else item.source
            for placed, shape, names in self._stood(mb, name, item):
                if not hidden.intersection(names):
                    yield source, placed, names, shape

    def _names_before(self, part: str) -> tuple[str, ...]:
        """Names of a shape on the inertial frame when it was one of a model that the robot was given."""
        name = next((x for x in self._given if part.startswith(f"{x}.") and x not in self._robot.mb), None)
        return () if name is None else (f"{name}/{part.removeprefix(f'{name}.')}", name)

    def _stood(self, mb: Multibody, name: str, item: Item) -> list[tuple[Placed, Shape | None, tuple[str, ...]]]:
        """The shapes of an object, made once for as long as it stays where it is."""
        if mb is not self._robot.mb or item.on is not None:
            return list(item_shapes(mb, name, item))
        if name not in self._standing or self._standing[name][0] is not item:
            self._standing[name] = item, list(item_shapes(mb, name, item))
        return self._standing[name][1]

    def _wish(self, names: tuple[str, ...]) -> Detail:
        """Detail chosen for the first of some names, or for all."""
        return next((self._details[x] for x in (*names, None) if x in self._details), GIVEN)

    def _given_shape(self, model: Multibody, placed: Placed) -> Shape:
        """The shape of a geometry as it is, made once: geometries are never changed, only replaced."""
        if len(self._plain) > _KEPT:  # of geometries that are long gone
            self._plain.clear()
        cached = self._plain.get(id(placed.geometry))
        if cached is None or cached[0] is not placed.geometry or cached[1] != model.mesh_folder:
            shape = self._maker(model, "hull").make(placed.geometry, placed.name)
            cached = self._plain[id(placed.geometry)] = placed.geometry, model.mesh_folder, shape
        return cached[2]

    def _made_of(self, model: Multibody, placed: Placed, names: tuple[str, ...], other: Shape | None) -> Cover:
        """Cover of a shape."""
        wish = self._wish(names)
        if wish.kind == "given":
            shape = other or self._given_shape(model, placed)
        else:
            if other is not None and wish.kind == "mesh" and placed.geometry.mesh and not hasattr(other, "triangles"):
                raise StateError(
                    f"{placed.name!r} was given to the robot as its hull, and its file is not in the robot's folder: "
                    "say w.detail(..., 'mesh') of it before w.give_to_robot, or 'hull' now."
                )
            shape = other or self._maker(model, "triangles").make(placed.geometry, placed.name)
        solid = hasattr(shape, "triangles") or wish.kind in ("box", "capsules", "spheres")
        if wish.kind in ("given", "mesh") or not has_cover(shape) or not solid:
            return Cover(placed.name, wish.kind, ((shape, Pose()),), 0.0, 0.0, 1.0)
        key = shape, wish
        if key not in self._covers:
            self._covers[key] = cover_of(shape, wish)
        return replace(self._covers[key], name=placed.name)

    def _maker(self, model: Multibody, meshes: str) -> _Maker:
        key = id(model), model.mesh_folder, model.mesh_roots, meshes
        if key not in self._makers:
            self._makers[key] = model, ShapeMaker(model, None, meshes)
        return _Maker(self._makers[key][1])

    def _lay_out(self, mb: Multibody, pads: Mapping[tuple[str, ...], float]) -> WorldScene:
        """The scene of all that is not hidden, on the robot's model or a copy of it."""
        filters = Filters(self._robot.held, self._given, self._items, self._allowed, pads)
        return lay_out(mb, self._roll_of(mb), filters)

    def _roll_of(self, mb: Multibody) -> Roll:
        """All shapes that are not hidden; those of the robot's own model are kept until anything but how its bodies
        hang together has changed."""
        if mb is not self._robot.mb:
            return Roll(mb, (y for x in self._wanted(mb) for y in self._laid(*x)))
        shapes = {x: tuple(x._geometries.values()) for x in (mb.root, *mb.bodies)}
        folders = [x.source.mesh_folder for x in self._items.values() if x.source is not None]
        key = self._changes, shapes, mb.records, mb.mesh_folder, folders, self._robot._shapes
        if self._roll is None or self._roll[0] != key:
            self._roll = key, Roll(mb, (y for x in self._wanted(mb) for y in self._laid(*x)))
        return self._roll[1]

    def scenes_of_robot(self) -> tuple[Scene, Scene]:
        """The robot alone, without paddings and pairs that were allowed: as it is checked, and with all pairs that the
        masks of its shapes let touch."""
        mb = self._robot.mb
        bodies_given = {x for bodies in self._given.values() for x in bodies}
        wanted = (
            x for x in self._wanted(mb) if x[1].carrier.name not in bodies_given and not self._items.keys() & set(x[2])
        )
        roll, filters = Roll(mb, (y for x in wanted for y in self._laid(*x))), Filters(self._robot.held, {}, (), (), {})
        return lay_out(mb, roll, filters), lay_out(mb, roll, filters, every=True)

    def _laid(self, model: Multibody, placed: Placed, names: tuple[str, ...], replaced: Shape | None) -> Iterator[Laid]:
        """Cover of a shape, in its place."""
        if self._wish(names).kind == "given":
            yield Laid(placed, replaced or self._given_shape(model, placed), names)
            return
        cover = self._made_of(model, placed, names, replaced)
        for i, (shape, pose) in enumerate(cover.shapes):
            full = placed.name if len(cover) == 1 else f"{placed.name}.{i}"
            geometry = _geometry(placed.geometry, shape, pose)
            yield Laid(replace(placed, name=full, geometry=geometry), shape, (*names, full))


class _Maker:
    """Makes shapes of geometries; what it refuses has a cure that a world knows."""

    def __init__(self, maker: ShapeMaker) -> None:
        self._maker = maker

    def make(self, geometry: Geometry, name: str, cure: str = "") -> Shape:
        """The shape of a geometry."""
        try:
            return self._maker.make(geometry, name)
        except ModelError as problem:
            said, other, _ = str(problem).partition("; pass ")
            if not other:  # it has a cure of its own
                raise
            cure = cure or f"leave it out with w.hide({name!r}), or set mb.mesh_folder to where its files are"
            raise type(problem)(f"{said}; {cure}.") from None


def _geometry(geometry: Geometry, shape: Shape, pose: Pose) -> Geometry:
    if shape.kind == geometry.kind and pose == Pose():
        return geometry
    sized = shape.kind in ("sphere", "capsule", "box")
    size = tuple(np.asarray(getattr(shape, "size", ()))) if sized else geometry.size
    kind = shape.kind if sized else geometry.kind
    return replace(geometry, kind=kind, size=size, pose=geometry.pose @ pose)

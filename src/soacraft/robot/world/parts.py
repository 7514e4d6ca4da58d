"""Parts of an object of a world: shapes, geometries as models have them, or a model with hinges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from soacraft.contact.geometry.shapes import Shape
from soacraft.errors import ModelError
from soacraft.model.hinges import Free
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.parts.records import Geometry
from soacraft.spatial.checks import Array
from soacraft.spatial.inertia import Inertia
from soacraft.spatial.pose import Pose

Shapes = tuple[tuple[str, Shape, Pose], ...]
#: Objects have no masks: all that can touch something can touch them.
_MASKS = ("contype", "conaffinity")
#: Kinds of shapes that geometries tell by their sizes.
SIZED = ("sphere", "capsule", "box", "cylinder", "ellipsoid", "plane")


class Item(NamedTuple):
    """An object of a world: shapes with their poses in it and geometries, or a model; where it is, and on what."""

    shapes: Shapes
    model: Multibody | None
    pose: Pose
    """Pose in the body that it is on, or in the inertial frame."""
    on: str | None
    frame: str | None = None
    """The body or node that `add` and `move` take poses in; None for the inertial frame."""
    records: Multibody | None = None
    """The geometries that it was given, on the inertial frame of a model of their own; None where there are none."""

    @property
    def source(self) -> Multibody | None:
        """The model whose geometries are shapes of it."""
        return self.model if self.model is not None else self.records

    @property
    def folder(self) -> Path | None:
        """Folder of the mesh files of its geometries."""
        return None if self.source is None else self.source.mesh_folder

    @property
    def parts(self) -> dict[str, tuple[Shape | Geometry, Pose]]:
        """Shapes and geometries of the object, as `add` and `replace` take them."""
        recorded: tuple[Geometry, ...] = () if self.records is None else tuple(self.records.root.geometries)
        return {**{part: (shape, at) for part, shape, at in self.shapes}, **{x.name: (x, Pose()) for x in recorded}}

    def copy(self) -> Item:
        """Copy of the object and of its models."""
        model, records = (None if x is None else x.copy() for x in (self.model, self.records))
        return self._replace(model=model, records=records)


def read_pose(name: str, pose: Any) -> Pose:
    """One pose of an object or a part of it."""
    if not isinstance(pose, Pose) or pose.batch_shape:
        raise ModelError(f"the pose of object {name!r} must be one Pose(...), got {pose!r:.60}.")
    return pose


def read_parts(name: str, content: Any, folder: Path | None) -> tuple[Shapes, Multibody | None]:
    """The shapes and geometries that an object is made of; the latter on a model whose files are in a folder."""
    shapes, records = list[tuple[str, Shape, Pose]](), Multibody(name)
    for part, what, pose in _each(name, content):
        if isinstance(what, Shape):
            shapes.append((part, what, pose))
        else:
            attributes = {key: value for key, value in what.attributes.items() if key not in _MASKS}
            record = replace(what, name=part, pose=pose @ what.pose, role="collision", attributes=attributes)
            records.root.add_geometry(record)
    records.mesh_folder = folder
    return tuple(shapes), records if records.root.geometries else None


def _each(name: str, content: Any) -> Iterator[tuple[str, Shape | Geometry, Pose]]:
    if isinstance(content, Shape | Geometry):
        content = {"shape": content}
    if not isinstance(content, dict) or not content:
        raise ModelError(f"object {name!r} must be a shape, or {{name: (shape, pose)}}, got {content!r:.60}.")
    for part, value in content.items():
        shape, pose = value if isinstance(value, Sequence) and len(value) == 2 else (value, Pose())
        if not isinstance(part, str) or not part or "/" in part:
            raise ModelError(f"a part of object {name!r} has a name without '/', got {part!r:.60}.")
        if not isinstance(shape, Shape | Geometry) or not isinstance(pose, Pose):
            raise ModelError(f"part {part!r:.40} of object {name!r} must be (shape, pose), got {value!r:.60}.")
        yield part, shape, read_pose(f"{name}/{part}", pose)


def as_body(name: str, item: Item, inertia: Inertia, gravity: Array) -> Multibody:
    """A model of one free body with the shapes and geometries of an object; what only points tell is a mesh without a
    file, whose shape the robot keeps."""
    model = Multibody(name, gravity=gravity)
    model.mesh_folder = item.folder
    body = model.add_body(name, None, Free(), inertia)
    for part, shape, pose in item.shapes:
        sized = shape.kind in SIZED
        size = tuple(np.asarray(getattr(shape, "size", ()))) if sized else ()
        body.add_geometry(Geometry(part, shape.kind if sized else "mesh", size, pose, role="collision"))
    for geometry in () if item.records is None else item.records.root.geometries:
        body.add_geometry(geometry)
    return model

"""Shapes from the geometries that a model holds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.contact.geometry.height_files import MOST, read_heights
from soacraft.contact.geometry.mesh_files import find_mesh, mesh_folders, mesh_scale, read_mesh
from soacraft.contact.geometry.meshes import ConvexHull, HeightField, TriangleMesh
from soacraft.contact.geometry.shapes import Box, Capsule, Cylinder, Ellipsoid, Plane, Shape, Sphere
from soacraft.errors import ModelError
from soacraft.files.xml_tree import outside_folders, roots_text
from soacraft.model import Geometry, Multibody
from soacraft.spatial.checks import Array

MESHES = ("hull", "triangles")
_SIZED: dict[str, type[Any]] = {
    "sphere": Sphere, "capsule": Capsule, "box": Box, "cylinder": Cylinder, "ellipsoid": Ellipsoid,
}  # fmt: skip


class ShapeMaker:
    """Makes shapes of geometries, each mesh file once. Files are read in `folder` alone, and below it; without it in
    the folders of the model (`mb.mesh_folder`, `mb.mesh_roots`)."""

    def __init__(self, mb: Multibody, folder: Path | None, meshes: str) -> None:
        self._mb, self._folder, self._meshes = mb, folder, meshes
        self._read: dict[tuple[Any, ...], Shape] = {}

    def make(self, geometry: Geometry, name: str) -> Shape:
        """The shape of a geometry; `name` is what errors call it."""
        kind = geometry.kind
        try:
            if kind in _SIZED:
                shape: Shape = _SIZED[kind](*geometry.size)
                return shape
            if kind == "plane":
                return Plane()
            if kind == "mesh":
                return self._mesh(geometry, name)
            if kind == "heightfield":
                return self._ground(geometry, name)
        except ModelError as problem:
            raise type(problem)(f"shape {name!r}: {problem}") from None
        raise ModelError(
            f"shape {name!r} is of kind {kind!r}, which has no geometry that could touch; pass "
            f"shapes={{{name!r}: ...}}, or leave it out with skip=[{name!r}]."
        )

    def _mesh(self, geometry: Geometry, name: str) -> Shape:
        cure = f"shapes={{{name!r}: ...}}, or leave it out with skip=[{name!r}]"
        attributes = geometry.attributes
        if not geometry.mesh and "vertex" in attributes and "face" in attributes:
            sizes = mesh_scale(geometry)
            points = np.array(attributes["vertex"], dtype=np.float64).reshape(-1, 3) * np.array(sizes)
            return self._solid(
                points, np.array(attributes["face"], dtype=np.int64).reshape(-1, 3), float(np.prod(sizes))
            )
        if not geometry.mesh:
            raise ModelError(f"its mesh names no file; pass {cure}.")
        place = self._file(geometry.mesh, "mesh", cure)
        scale = mesh_scale(geometry)
        key = (place, scale)
        if key not in self._read:
            points, triangles = read_mesh(place, geometry.mesh)
            self._read[key] = self._solid(points * np.array(scale), triangles, float(np.prod(scale)))
        return self._read[key]

    def _solid(self, points: Array, triangles: npt.NDArray[np.int64], scale: float) -> Shape:
        """The hull of a mesh, or the mesh itself; one that a negative scale mirrors is turned outside out."""
        if self._meshes == "hull":
            return ConvexHull(points[np.unique(triangles)])
        return TriangleMesh(points, triangles[:, ::-1] if scale < 0.0 else triangles)

    def _ground(self, geometry: Geometry, name: str) -> Shape:
        """The heights of its file, or those of a record of the model (MJCF's hfield): its elevation, else a flat field.
        MuJoCo scales them to go from 0 to the largest elevation."""
        cure = f"pass shapes={{{name!r}: HeightField(...)}}, or leave it out with skip=[{name!r}]"
        wanted = geometry.attributes.get("hfield", "")
        fields = [x for x in self._mb.records if x.kind == "heightfield" and x.name == wanted]
        attributes = fields[0].attributes if fields else {}
        if len(geometry.size) != 4 or not (fields or geometry.mesh):
            raise ModelError(f"the heights of height field {wanted!r} are not in the model; {cure}.")
        if geometry.mesh:
            z = read_heights(self._file(geometry.mesh, "height field", cure), geometry.mesh)
        else:
            rows, columns = (int(float(str(attributes.get(key, 0)))) for key in ("nrow", "ncol"))
            if rows * columns > MOST:
                raise ModelError(f"height field {wanted!r} has {rows} x {columns} heights; {MOST} are read; {cure}.")
            heights = [float(x) for x in _words(attributes.get("elevation", (0.0,) * (rows * columns)))]
            if len(heights) != rows * columns or not heights:
                raise ModelError(f"height field {wanted!r} has {len(heights)} heights, not {rows} x {columns}; {cure}.")
            z = np.array(heights).reshape(rows, columns)[::-1]
        x, y, top, bottom = geometry.size
        low, high = z.min(), z.max()
        return HeightField(top * (z - low) / ((high - low) or 1.0), 2.0 * x, 2.0 * y, -bottom)

    def _file(self, file: str, kind: str, cure: str) -> Path:
        """The place of a file of the model."""
        folders = mesh_folders(self._mb, self._folder)
        if not folders:
            raise ModelError(f"its {kind} is the file {file!r}; pass folder=..., where it is, or {cure}.")
        try:
            return find_mesh(file, folders)
        except ModelError as problem:
            outside = outside_folders(folders, self._files()) if self._folder is None else []
            first = f"load it with {roots_text(outside)}, or " if outside and "leads out" in str(problem) else ""
            raise ModelError(f"{problem}; {first}pass {cure}.") from None

    def _files(self) -> list[str]:
        """The files of all shapes of the model."""
        carriers = (self._mb.root, *self._mb.bodies)
        return [x.mesh for carrier in carriers for x in carrier.geometries if x.mesh]


def _words(value: Any) -> Iterable[str]:
    return value.split() if isinstance(value, str) else [str(x) for x in value]

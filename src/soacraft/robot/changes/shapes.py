"""Shapes that a robot keeps for objects that a world gave it, as plain data: those that neither sizes nor files define.

A document names each by its digest; changes carry the data of those that the other robot has not. Numbers are bytes,
eight for each and the lowest first, which JSON has as base64.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from soacraft.contact.geometry.meshes import ConvexHull, HeightField, TriangleMesh
from soacraft.contact.geometry.shapes import Shape
from soacraft.errors import ModelError, ModelFileError, SoacraftError
from soacraft.files import schema
from soacraft.robot.world.voxels import Voxels
from soacraft.spatial.checks import Array


class Data(schema.Object, tag_field="kind"):
    """A shape of points."""


class HullData(Data, tag="hull"):
    """A `ConvexHull`: its vertices (n, 3)."""

    vertices: bytes


class MeshData(Data, tag="mesh"):
    """A `TriangleMesh`: its vertices (n, 3), triangles (m, 3) and what it was found to be."""

    vertices: bytes
    triangles: bytes
    closed: bool
    inverted: bool
    dropped: int


class GroundData(Data, tag="heightfield"):
    """A `HeightField`: heights (rows, columns), and x, y, bottom."""

    heights: bytes
    columns: int
    size: tuple[float, float, float]


class ScanData(Data, tag="voxels"):
    """`Voxels`: the numbers of the cubes (n, 3), and their edge."""

    cells: bytes
    size: float


ShapeData = HullData | MeshData | GroundData | ScanData


class ShapeRecord(schema.Object):
    """The shape of a geometry; `name` is that of both, `body` and `part` where it is."""

    name: str
    body: str
    part: str
    digest: str


class Digests:
    """The digests of shapes, each computed once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Shape, str]] = {}

    def records(self, shapes: dict[tuple[str, str], Shape]) -> tuple[ShapeRecord, ...]:
        """The records of all shapes that a robot keeps, by body and part."""
        records, digests = [], dict[int, tuple[Shape, str]]()
        for (body, part), shape in sorted(shapes.items(), key=lambda x: x[0]):
            name = f"{body}/{part}"
            entry = self._known.get(id(shape)) or (shape, digest_of(data_of(name, shape)))
            digests[id(shape)] = entry
            records.append(ShapeRecord(name, body, part, entry[1]))
        self._known = digests
        return tuple(records)


def digest_of(data: ShapeData) -> str:
    """64 hexadecimal digits of SHA-256."""
    return hashlib.sha256(msgspec.json.encode(data)).hexdigest()


def data_of(name: str, shape: Shape) -> ShapeData:
    """A shape as plain data; one of another class is refused by name."""
    if type(shape) is ConvexHull:
        return HullData(_bytes(shape.vertices))
    if type(shape) is TriangleMesh:
        arrays = _bytes(shape.vertices), _bytes(shape.triangles)
        return MeshData(*arrays, shape.closed, shape.inverted, shape.dropped)
    if type(shape) is HeightField:
        return GroundData(_bytes(shape.heights), shape.heights.shape[1], shape.size)
    if type(shape) is Voxels:
        return ScanData(_bytes(shape.cells), shape.size)
    raise ModelError(
        f"the shape of {name!r} is a {type(shape).__name__}, which cannot be sent to another robot: give the robot one "
        "of sc.contact.ConvexHull, TriangleMesh or HeightField, of points of a scan, or of sizes."
    )


def shape_of(name: str, data: ShapeData) -> Shape:
    """Shape made of its data, bit by bit; data of no shape are a `ModelFileError`."""
    try:
        return _MAKERS[type(data)](data)
    except (SoacraftError, ValueError, OverflowError) as error:
        raise ModelFileError(f"changes cannot be read: the shape of {name!r:.60}: {str(error)[:200]}") from None


def _hull(x: Any) -> Shape:
    return ConvexHull(_numbers(x.vertices, "<f8", 3))


def _mesh(x: Any) -> Shape:
    arrays = _numbers(x.vertices, "<f8", 3), _numbers(x.triangles, "<i8", 3)
    return TriangleMesh.restored(*arrays, x.closed, x.inverted, x.dropped)


def _ground(x: Any) -> Shape:
    return HeightField(_numbers(x.heights, "<f8", x.columns), *x.size)


def _scan(x: Any) -> Shape:
    return Voxels((_numbers(x.cells, "<i8", 3) + 0.5) * x.size, x.size)


_MAKERS: dict[type[Any], Callable[[Any], Shape]] = {
    HullData: _hull, MeshData: _mesh, GroundData: _ground, ScanData: _scan,
}  # fmt: skip


def _bytes(x: Array | npt.NDArray[np.int64]) -> bytes:
    return np.ascontiguousarray(x, dtype="<f8" if x.dtype.kind == "f" else "<i8").tobytes()


def _numbers(data: bytes, kind: str, columns: int) -> Any:
    if columns < 1 or len(data) % (8 * columns):
        raise ValueError(f"{len(data)} bytes are no rows of {columns} numbers.")
    flat = np.frombuffer(data, dtype=kind)
    return flat.astype(np.float64 if kind == "<f8" else np.int64).reshape(-1, columns)

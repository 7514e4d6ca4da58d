"""Meshes of a model's geometries: STL and OBJ files by our own reader, others by trimesh."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from soacraft.contact.geometry.mesh_files import LARGEST_TEXT, Triangles, find_mesh, mesh_scale, read_mesh
from soacraft.errors import ModelFileError, SoacraftError, ViewError
from soacraft.model import Geometry
from soacraft.view.drawing.extras import extra
from soacraft.view.space.surfaces import Surface, mesh

_OWN = (".stl", ".obj")
#: Kinds of files that trimesh reads with numpy alone.
_MORE = (".ply", ".off", ".glb", ".gltf")


def mesh_of(geometry: Geometry, folders: Sequence[Path]) -> Surface:
    """The surface of a mesh file, scaled as the geometry says. Files are read in `folders` alone, and below them."""
    name = geometry.mesh
    if not name:
        raise ViewError("its mesh names no file")
    if not folders:
        raise ViewError(f"its mesh is the file {name!r}: pass folder=..., where it is")
    scale = np.array(mesh_scale(geometry))
    try:
        points, triangles = _read(find_mesh(name, folders, ViewError), name)
    except SoacraftError:
        raise
    except (OSError, ValueError, RuntimeError) as problem:  # no right to read it, or gone since
        raise ViewError(f"its mesh {name!r:.60} cannot be opened: {type(problem).__name__}") from None
    if np.prod(scale) < 0.0:
        triangles = triangles[:, ::-1]  # a mirrored mesh is inside out
    return mesh(points * scale, triangles)


def _read(place: Path, name: str) -> Triangles:
    kind = place.suffix.lower()
    if kind in _OWN:
        return read_mesh(place, name)
    if kind not in _MORE:
        raise ViewError(f"its mesh {name!r} is of no kind that is drawn ({', '.join((*_OWN, *_MORE))}); convert it")
    size = place.stat().st_size
    if size > LARGEST_TEXT:
        raise ModelFileError(f"mesh {name!r} has {size} bytes, and {LARGEST_TEXT} is the most; make it coarser.")
    if kind in (".glb", ".gltf"):
        _refuse_outside(place.read_bytes(), name)
    trimesh = extra("trimesh", f"the mesh {name!r}")
    try:
        mesh = trimesh.load(place, force="mesh", process=False)
        points = np.asarray(mesh.vertices, dtype=np.float64).reshape(-1, 3)
        triangles = np.asarray(mesh.faces, dtype=np.int64).reshape(-1, 3)
    except Exception as problem:  # whatever a hostile file makes of a reader
        raise ModelFileError(f"mesh {name!r} cannot be read by trimesh: {problem}") from None
    if len(triangles) == 0 or not np.isfinite(points).all():
        raise ModelFileError(f"mesh {name!r} has no triangle, or a vertex that is not finite.")
    if triangles.min() < 0 or triangles.max() >= len(points):
        raise ModelFileError(f"mesh {name!r} has a triangle of vertices that are not among its {len(points)}.")
    return points, triangles


def _refuse_outside(data: bytes, name: str) -> None:
    """Refuse a glTF file whose numbers are in other files: those are not read, and parts of it would be missing."""
    # a binary one has a header of 12 bytes, then the length of its text and the word JSON
    text = data[20 : 20 + int.from_bytes(data[12:16], "little")] if data[:4] == b"glTF" else data
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return  # trimesh tells what is wrong
    buffers = document.get("buffers") if isinstance(document, dict) else None
    for each in buffers if isinstance(buffers, list) else []:
        place = each.get("uri") if isinstance(each, dict) else None
        if isinstance(place, str) and not place.startswith("data:"):
            raise ModelFileError(
                f"mesh {name!r} has its numbers in another file, {place!r:.60}, which is not read; save it as one .glb "
                "file."
            )

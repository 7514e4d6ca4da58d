"""Reading triangles from STL (binary and text) and OBJ files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from soacraft.errors import ModelError, ModelFileError, SoacraftError
from soacraft.model import Geometry, Multibody
from soacraft.spatial.checks import Array

Triangles = tuple[Array, npt.NDArray[np.int64]]

#: A larger file is refused: 10 million triangles in binary STL.
LARGEST = 500_000_084
#: Largest size for text, and for files of other readers: they take many times their size to be read.
LARGEST_TEXT = 50_000_000


def mesh_scale(geometry: Geometry) -> tuple[float, float, float]:
    """The scale of a mesh along its axes, which its size is; one where it has none. A mirror has negative ones."""
    size = geometry.size
    if len(size) not in (0, 3):
        raise ModelError(f"geometry {geometry.name!r}: the scale of a mesh is three numbers or none, got {len(size)}.")
    return (size[0], size[1], size[2]) if size else (1.0, 1.0, 1.0)


def mesh_folders(mb: Multibody, folder: Path | None) -> list[Path]:
    """The folders in which meshes of a model are read: the one chosen, else those where `sc.load` found them."""
    if folder is not None:
        return [folder]
    return [*(() if mb.mesh_folder is None else (mb.mesh_folder,)), *mb.mesh_roots]


def find_mesh(name: str, folders: Sequence[Path], error: type[SoacraftError] = ModelError) -> Path:
    """The file of a mesh, in one of the folders or below: `package://NAME/PATH` is PATH, or NAME/PATH, there. A name
    that leads elsewhere is refused, so that a model file opens nothing outside."""
    kind, _, rest = name.rpartition("://")
    wanted = [rest.partition("/")[2].lstrip("/"), rest.lstrip("/")] if kind in ("package", "model") else []
    wanted = wanted or [rest.lstrip("/") if kind else rest]
    home = repr(str(folders[0])) if folders else "none"
    try:
        places = [(folder / x).resolve() for folder in folders for x in wanted]
        inside = [x for x in places if any(x.is_relative_to(folder) for folder in folders)]
        present = [x for x in inside if x.is_file()]
    except (OSError, ValueError, RuntimeError):  # a name with NUL or too long, or links in a circle
        raise error(f"its mesh {name!r:.60} cannot be the name of a file") from None
    if not inside:
        raise error(f"its mesh {name!r} leads out of the folder {home}")
    if not present:
        raise error(f"its mesh {name!r} is not in the folder {home}")
    return present[0]


def read_mesh(path: Path, name: str) -> Triangles:
    """Vertices (n, 3) and triangles (m, 3) of a file; polygons of an OBJ file are cut into fans."""
    suffix = path.suffix.lower()
    if suffix not in (".stl", ".obj"):
        raise ModelFileError(f"mesh {name!r}: only .stl and .obj files are read; convert it, or pass shapes={{...}}.")
    size = path.stat().st_size
    if size > LARGEST:
        raise ModelFileError(f"mesh {name!r} has {size} bytes, and {LARGEST} is the most; make it coarser.")
    data = path.read_bytes()
    try:
        points, triangles = _read_obj(data) if suffix == ".obj" else _read_stl(data)
    except (ValueError, IndexError, OverflowError) as problem:
        raise ModelFileError(f"mesh {name!r} cannot be read as {suffix[1:].upper()}: {problem}") from None
    if len(triangles) == 0:
        raise ModelFileError(f"mesh {name!r} has no triangle.")
    if not np.isfinite(points).all():
        raise ModelFileError(f"mesh {name!r} has a vertex that is not finite.")
    return points, triangles


def _read_stl(data: bytes) -> Triangles:
    count = int.from_bytes(data[80:84], "little")
    if len(data) >= 84 and len(data) == 84 + 50 * count:
        rows = np.frombuffer(data, dtype=np.uint8, offset=84).reshape(count, 50)
        corners = np.ascontiguousarray(rows[:, 12:48]).view("<f4").astype(np.float64).reshape(-1, 3)
        return corners, np.arange(len(corners), dtype=np.int64).reshape(-1, 3)
    if not data.lstrip()[:5].lower() == b"solid":
        raise ValueError(f"its length is {len(data)} bytes, and {count} triangles need {84 + 50 * count}")
    _check_text(data)
    lines = [line.split() for line in data.splitlines() if line.strip()]
    if lines[-1][0].lower() != b"endsolid":
        raise ValueError("it does not end with endsolid, so it is cut short")
    words = [line[1:] for line in lines if line[0].lower() == b"vertex"]
    if len(words) % 3:
        raise ValueError(f"it has {len(words)} vertices, which are no triangles")
    corners = np.array([_point(x) for x in words], dtype=np.float64).reshape(-1, 3)
    return corners, np.arange(len(corners), dtype=np.int64).reshape(-1, 3)


def _check_text(data: bytes) -> None:
    if len(data) > LARGEST_TEXT:
        raise ValueError(f"it has {len(data)} bytes of text, and {LARGEST_TEXT} is the most; make it coarser")


def _point(words: list[bytes], more: tuple[int, ...] = ()) -> list[float]:
    """Three numbers; lines of OBJ files may have a weight (4), a colour (6) or both (7) after them."""
    if len(words) != 3 and len(words) not in more:
        raise ValueError(f"a vertex has not three numbers but {len(words)}")
    return [float(x) for x in words[:3]]


def _read_obj(data: bytes) -> Triangles:
    _check_text(data)
    points: list[list[float]] = []
    triangles: list[tuple[int, int, int]] = []
    for line in data.splitlines():
        words = line.partition(b"#")[0].split()
        if not words:
            continue
        if words[0] == b"v":
            points.append(_point(words[1:], more=(4, 6, 7)))
        elif words[0] == b"f":
            corner = [int(each.split(b"/")[0]) for each in words[1:]]
            if len(corner) < 3:
                raise ValueError(f"a face has {len(corner)} corner{'s' * (len(corner) != 1)}; three or more make one")
            if 0 in corner:
                raise ValueError("a face names vertex 0; they count from 1")
            corner = [i - 1 if i > 0 else len(points) + i for i in corner]
            triangles += [(corner[0], corner[i], corner[i + 1]) for i in range(1, len(corner) - 1)]
    faces = np.array(triangles, dtype=np.int64).reshape(-1, 3)
    if len(faces) and (faces.min() < 0 or faces.max() >= len(points)):
        raise ValueError(f"a face names vertex {int(faces.max()) + 1} of {len(points)}")
    return np.array(points, dtype=np.float64).reshape(-1, 3), faces

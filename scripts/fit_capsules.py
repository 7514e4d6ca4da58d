"""Fit a capsule to each mesh of a robot: `python scripts/fit_capsules.py MESH_FOLDER OUT.json`.

MESH_FOLDER holds one binary STL file for each body, in the frame of the body. Writes, by body, the radius and the two
ends of the capsule of least volume that covers the mesh, in metres; `scripts/make_library.py` puts them on models. A
capsule is convex, so that it covers a mesh when it covers the vertices.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

Array = npt.NDArray[np.float64]
#: What ends are rounded to, and radii rounded up to, in metres.
_STEP = 5e-4


def vertices(path: Path) -> Array:
    """The vertices of a binary STL file, (n, 3)."""
    data = path.read_bytes()
    count = int.from_bytes(data[80:84], "little")
    facets = np.frombuffer(data, dtype=np.dtype([("x", "<f4", (4, 3)), ("rest", "<u2")]), count=count, offset=84)
    return np.unique(np.asarray(facets["x"][:, 1:], dtype=np.float64).reshape(-1, 3), axis=0)


def distances(points: Array, ends: Array) -> Array:
    """From points (n, 3) to the straight line between two ends (2, 3)."""
    along = ends[1] - ends[0]
    length = float(along @ along)
    s = np.clip((points - ends[0]) @ along / length, 0.0, 1.0) if length > 0.0 else np.zeros(len(points))
    return np.asarray(np.linalg.norm(points - ends[0] - s[:, None] * along, axis=1))


def fitted(points: Array) -> Array:
    """The ends of the capsule of least volume that covers points, by a simplex search from each principal axis."""

    def volume(x: Array) -> float:
        ends = x.reshape(2, 3)
        radius = float(distances(points, ends).max())
        return np.pi * radius**2 * (float(np.linalg.norm(ends[1] - ends[0])) + 4.0 / 3.0 * radius)

    middle = points.mean(axis=0)
    found = []
    for axis in np.linalg.svd(points - middle, full_matrices=False)[2]:
        reach = (points - middle) @ axis
        start = np.array([middle + 0.5 * reach.min() * axis, middle + 0.5 * reach.max() * axis]).ravel()
        options = {"maxiter": 4000, "xatol": 1e-5, "fatol": 1e-9}
        found.append(minimize(volume, start, method="Nelder-Mead", options=options))
    return np.asarray(min(found, key=lambda x: x.fun).x).reshape(2, 3)


def capsule(points: Array) -> list[float | list[float]]:
    """The radius and the ends, rounded, of a capsule that covers points."""
    ends = np.round(fitted(points) / _STEP) * _STEP
    radius = float(np.ceil(distances(points, ends).max() / _STEP) * _STEP)
    return [round(radius, 4), *([round(float(x), 4) + 0.0 for x in end] for end in ends)]


def main(folder: str, out: str) -> None:
    """Fit the capsules of every mesh of a folder."""
    found = {path.stem: capsule(vertices(path)) for path in sorted(Path(folder).glob("*.stl"))}
    lines = [f"{json.dumps(name)}: {json.dumps(shape)}" for name, shape in found.items()]
    Path(out).write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

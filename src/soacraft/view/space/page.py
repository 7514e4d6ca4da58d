"""A scene as one page: data, style and our own WebGL in one file, which asks for nothing from elsewhere."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.kinematics.tolerances import CLOSED
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import matrix_to_quaternion
from soacraft.view.drawing.svg import text_of
from soacraft.view.palette import opening_colour, rgb
from soacraft.view.space import surfaces
from soacraft.view.space.motion import Track
from soacraft.view.space.parts import Part, Tie
from soacraft.view.space.stage import Stage
from soacraft.view.space.surfaces import Surface

_HERE = Path(__file__).parent


def page(
    title: str, names: Sequence[str], parts: list[Part], ties: list[Tie], moving: Track, stage: Stage, up: Array,
    look: tuple[float, float],
) -> str:  # fmt: skip
    """The text of the page. Names of models and bodies are data in it, and become text when it is opened.

    Numbers are in single precision; so positions are relative to the centre of the stage, and times to the first.
    """
    import json

    centre, start = stage.centre, float(moving.t[0])
    places = moving.p - centre
    places[:, -1] = 0.0  # what is fixed in the inertial frame is itself moved
    about = [replace(x, surface=x.surface.moved(np.eye(3), -centre)) if x.body < 0 else x for x in parts]
    told, shapes = _shared(about)
    data = {
        "title": title,
        "bodies": list(names),
        "surfaces": [_surface(x) for x in shapes],
        "parts": told,
        "rod": _surface(surfaces.cylinder(1.0, 1.0).moved(np.eye(3), np.array([0.0, 0.0, 0.5]))),
        "ties": [
            {
                "name": x.name,
                "bodies": x.bodies,
                "points": [(p - centre if k < 0 else p).tolist() for k, p in zip(x.bodies, x.points, strict=True)],
                "radius": x.radius,
            }
            for x in ties
        ],
        "start": start,
        "t": _text(moving.t - start, "<f4"),
        "poses": _text(np.concatenate([matrix_to_quaternion(moving.R), places], axis=-1), "<f4"),
        "tints": _text(_tints(moving.openings), "<u1"),
        "centre": centre.tolist(),
        "radius": stage.radius,
        "up": up.tolist(),
        "azimuth": look[0],
        "elevation": look[1],
    }
    # in a script element nothing ends the data but "</" and nothing changes it but "<!--"; so there is no "<" in it
    written = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    filled = {"title": text_of(title), "script": (_HERE / "page.js").read_text(encoding="utf-8"), "data": written}
    pieces = re.split("@(title|script|data)@", (_HERE / "page.html").read_text(encoding="utf-8"))
    return "".join(filled[x] if i % 2 else x for i, x in enumerate(pieces))


def _shared(parts: list[Part]) -> tuple[list[dict[str, Any]], list[Surface]]:
    """Parts as data, each surface that several of them have once."""
    numbers: dict[bytes, int] = {}
    shapes: list[Surface] = []
    told = []
    for x in parts:
        key = x.surface.points.tobytes() + x.surface.triangles.tobytes()
        if key not in numbers:
            numbers[key] = len(shapes)
            shapes.append(x.surface)
        look = {"colour": [round(c, 3) for c in x.colour], "alpha": x.alpha, "kind": x.kind}
        told.append({"name": x.name, "body": x.body, "surface": numbers[key], **look})
    return told, shapes


def _surface(surface: Surface) -> dict[str, str]:
    normals = np.rint(127.0 * np.clip(surface.normals, -1.0, 1.0))
    triangles = _text(surface.triangles, "<u4")
    return {"points": _text(surface.points, "<f4"), "normals": _text(normals, "<i1"), "triangles": triangles}


def _text(x: npt.NDArray[Any], kind: str) -> str:
    return b64encode(np.ascontiguousarray(x).astype(kind).tobytes()).decode("ascii")


def _tints(openings: Array) -> Array:
    colours = [rgb(opening_colour(float(x), CLOSED)) for x in openings.ravel()]
    return np.rint(255.0 * np.array(colours).reshape(-1, 3))

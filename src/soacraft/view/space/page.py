"""A scene as one page: data, style and our own WebGL in one file, which asks for nothing from elsewhere.

The scripts are files of one idea each in `web/`, put together here. They make one object, `soacraftScene`, which the
page of a live scene and other pages use too.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.kinematics.tolerances import CLOSED
from soacraft.model.modal.bodies import turns_unreported
from soacraft.model.sizes.scale import scale_of
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import matrix_to_quaternion
from soacraft.view.drawing.svg import text_of
from soacraft.view.palette import opening_colour, rgb
from soacraft.view.space import surfaces
from soacraft.view.space.about import about
from soacraft.view.space.bending import RAMP, Bending
from soacraft.view.space.contact_marks import CONE, FORCE_COLOUR, POINT
from soacraft.view.space.content import GHOST, Content, ghost_colour
from soacraft.view.space.details import details_of, velocities
from soacraft.view.space.motion import Track
from soacraft.view.space.node_ellipsoids import COLOURS
from soacraft.view.space.parts import TRIAD, Part
from soacraft.view.space.surfaces import Surface
from soacraft.view.space.words import UNITS

_WEB = Path(__file__).parent / "web"
#: Scripts in the order in which they build on each other.
_SCRIPTS = (
    "vectors", "data", "camera", "poses", "surfaces", "bending", "draw", "marks", "pick", "panel", "clock", "hands",
    "sliders", "frames", "start",
)  # fmt: skip
#: Instants at which R and P of all bodies are on a page; it mixes those between.
INERTIAS = 128


def page(data: dict[str, Any] | None, title: str, nonce: str = "") -> str:
    """The text of a page. Names of models and bodies are data in it, and become text when it is opened. With a nonce it
    is one that a server gives out, whose policy comes with it; without data it asks the server for them.
    """
    filled = {
        "title": text_of(title),
        "data": script_data(data),
        "style": _text("style.css"),
        "script": scripts(data is None),
        "body": _text("body.html"),
        "policy": "" if nonce else _POLICY,
        "nonce": f' nonce="{nonce}"' if nonce else "",
    }
    pieces = re.split("@(title|script|data|style|body|policy|nonce)@", _text("page.html"))
    return "".join(filled[x] if i % 2 else x for i, x in enumerate(pieces))


_POLICY = (
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'\">"
)


def script_data(data: Any) -> str:
    """JSON for a script element. Nothing ends its text but "</" and nothing changes it but "<!--"; so it has no "<"."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def scripts(live: bool = False) -> str:
    """All scripts as one, which defines `soacraftScene` and nothing else; live with the socket to its server."""
    names = [*_SCRIPTS[:-1], *(["live", "embedded"] if live else []), _SCRIPTS[-1]]
    inside = "\n".join(_text(f"{name}.js") for name in names)
    return f'"use strict";\nconst soacraftScene = (() => {{\n{inside}\n}})();'


@cache
def _text(name: str) -> str:
    return (_WEB / name).read_text(encoding="utf-8")


def page_data(seen: Content, look: tuple[float, float]) -> dict[str, Any]:
    """The data of a page: names, surfaces, motions. Numbers are in single precision; so positions are relative to the
    centre of the stage, and times to the first.
    """
    graph, moving, centre = seen.graph, seen.tracks[0], seen.stage.centre
    start, length = float(moving.t[0]), seen.length
    fixed = [replace(x, surface=x.surface.moved(np.eye(3), -centre)) if x.body < 0 else x for x in seen.parts]
    parts, shapes = _shared(fixed)
    return {
        "title": graph.name,
        "bodies": [body.name for body in graph.bodies],
        "about": [about(body) for body in graph.bodies],
        "surfaces": [_surface(x) for x in shapes],
        "parts": parts,
        "skins": [_skin(x.bending) for x in seen.parts if x.bending is not None],
        "modes": len(moving.eta[0]),
        "colouring": _colouring(seen),
        "marks": {
            "rod": _surface(surfaces.cylinder(1.0, 1.0).moved(np.eye(3), np.array([0.0, 0.0, 0.5]))),
            "ball": _surface(surfaces.sphere(1.0)),
            "cone": _surface(surfaces.cone(1.0, 1.0)),
        },
        "ties": _ties(seen),
        "start": start,
        "t": _bytes(moving.t - start, "<f4"),
        **_motion(moving, centre),
        "ghosts": [
            {"colour": [round(c, 3) for c in ghost_colour(i)], "alpha": GHOST, **_motion(x, centre)}
            for i, x in enumerate(seen.tracks[1:], 1)
        ],
        **_inertias(seen),
        "velocities": _bytes(velocities(moving.state), "<f4"),
        "ellipsoids": [
            {"name": x.name, "colour": COLOURS[x.kind], "shape": _bytes(_about_centre(nine, centre), "<f4")}
            for x, nine in seen.ellipsoids
        ],
        "contacts": {
            "starts": seen.contacts.starts.tolist(),
            "rows": _bytes(np.concatenate([seen.contacts.rows[:, :3] - centre, seen.contacts.rows[:, 3:]], 1), "<f4"),
            "colour": FORCE_COLOUR,
            "cone": CONE * length,
            "point": POINT * length,
        },
        "triad": TRIAD * length,
        "length": length,
        "time": scale_of(graph).time,
        "centre": centre.tolist(),
        "radius": seen.stage.radius,
        "up": seen.up.tolist(),
        "azimuth": look[0],
        "elevation": look[1],
    }


def poses(moving: Track, centre: Array) -> Array:
    """Quaternion and place relative to the centre, of all bodies and the inertial frame, (m, n + 1, 7). What is fixed
    in the inertial frame is itself moved."""
    places = moving.p - centre
    places[:, -1] = 0.0
    return np.concatenate([matrix_to_quaternion(moving.R), places], axis=-1)


def tints(openings: Array) -> Array:
    """The colours of closures, (closures, 3), in bytes."""
    colours = [rgb(opening_colour(float(x), CLOSED)) for x in openings.ravel()]
    return np.rint(255.0 * np.array(colours).reshape(-1, 3))


def _motion(moving: Track, centre: Array) -> dict[str, str]:
    return {
        "poses": _bytes(poses(moving, centre), "<f4"),
        "tints": _bytes(tints(moving.openings), "<u1"),
        "eta": _bytes(moving.eta, "<f4"),
    }


def _inertias(seen: Content) -> dict[str, Any]:
    """M of every body, and R and P at some instants, as ellipsoids."""
    moving = seen.tracks[0]
    some = np.unique(np.linspace(0, len(moving.t) - 1, INERTIAS).round().astype(int))
    state = seen.graph.state(q=moving.q[some], v=np.asarray(moving.state.v)[some])
    with turns_unreported():  # the motion itself has been
        details = details_of(seen.graph, state)
    return {
        "inertias": {
            "frames": some.tolist(),
            "own": _bytes(details.own, "<f4"),
            "composite": _bytes(details.composite, "<f4"),
            "articulated": _bytes(details.articulated, "<f4"),
            "refused": details.refused,
        }
    }


def _about_centre(nine: Array, centre: Array) -> Array:
    return np.concatenate([nine[..., :6], nine[..., 6:] - centre], axis=-1)


def _ties(seen: Content) -> list[dict[str, Any]]:
    centre = seen.stage.centre
    return [
        {
            "name": x.name,
            "bodies": x.bodies,
            "points": [(p - centre if k < 0 else p).tolist() for k, p in zip(x.bodies, x.points, strict=True)],
            "radius": x.radius,
        }
        for x in seen.ties
    ]


def _shared(parts: list[Part]) -> tuple[list[dict[str, Any]], list[Surface]]:
    """Parts as data, each surface that several of them have once."""
    numbers: dict[bytes, int] = {}
    shapes: list[Surface] = []
    described: list[dict[str, Any]] = []
    for x in parts:
        key = x.surface.points.tobytes() + x.surface.triangles.tobytes()
        if key not in numbers:
            numbers[key] = len(shapes)
            shapes.append(x.surface)
        look = {"colour": [round(c, 3) for c in x.colour], "alpha": x.alpha, "kind": x.kind}
        bends = {} if x.bending is None else {"skin": sum("skin" in other for other in described)}
        described.append({"name": x.name, "body": x.body, "surface": numbers[key], **look, **bends})
    return described, shapes


def _skin(bending: Bending) -> dict[str, Any]:
    """Arrays by which a page moves the points of a surface, as `web/bending.js` reads them."""
    skin = bending.skin
    data: dict[str, Any] = {
        "first": bending.modes.start, "n": skin.n,
        "at": _bytes(skin.at, "<f4"), "gam": _bytes(skin.gam, "<f4"), "triangles": _bytes(skin.triangles, "<u4"),
    }  # fmt: skip
    if skin.gam2 is not None:
        data["gam2"] = _bytes(skin.gam2, "<f4")
    if bending.stress is not None:
        data |= {"stress": _bytes(bending.stress, "<f4"), "parts": bending.stress.shape[1]}
        data["elements"] = _bytes(bending.elements, "<u4")
    if skin.owner is not None and skin.lam is not None and skin.offset is not None and skin.normals is not None:
        data |= {"owner": _bytes(skin.owner, "<u4"), "lam": _bytes(skin.lam, "<f4")}
        data |= {"offset": _bytes(skin.offset, "<f4"), "normals": _bytes(skin.normals, "<f4")}
    return data


def _colouring(seen: Content) -> dict[str, Any]:
    look = seen.colouring
    ramp = [[round(c, 3) for c in rgb(x)] for x in RAMP]
    data = {"kind": look.kind, "unit": UNITS.get(look.kind, ""), "words": look.words, "relative": look.relative}
    return {**data, "ramp": ramp, "most": look.most, "exaggerate": seen.tracks[0].exaggerate}


def _surface(surface: Surface) -> dict[str, str]:
    normals = np.rint(127.0 * np.clip(surface.normals, -1.0, 1.0))
    triangles = _bytes(surface.triangles, "<u4")
    return {"points": _bytes(surface.points, "<f4"), "normals": _bytes(normals, "<i1"), "triangles": triangles}


def _bytes(x: npt.NDArray[Any], kind: str) -> str:
    return b64encode(np.ascontiguousarray(x).astype(kind).tobytes()).decode("ascii")

"""One picture of a scene by our rasteriser."""

from __future__ import annotations

import numpy as np

from soacraft.kinematics.tolerances import CLOSED
from soacraft.spatial.checks import Array
from soacraft.view.drawing.pixels import Pixels
from soacraft.view.palette import opening_colour, rgb
from soacraft.view.space import surfaces
from soacraft.view.space.bending import tinted
from soacraft.view.space.camera import camera
from soacraft.view.space.contact_marks import CONE, FORCE_COLOUR, POINT
from soacraft.view.space.content import GHOST, Content, ghost_colour
from soacraft.view.space.ellipsoid import surface_of
from soacraft.view.space.motion import Track
from soacraft.view.space.node_ellipsoids import COLOURS
from soacraft.view.space.parts import Colour, Part
from soacraft.view.space.raster import Drawn, render
from soacraft.view.space.surfaces import Surface
from soacraft.view.space.words import written

_BACKGROUND = (1.0, 1.0, 1.0)


def picture(seen: Content, i: int, size: tuple[int, int], look: tuple[float, float, float]) -> Pixels:
    """The picture at instant i, from azimuth, elevation (degrees) and zoom."""
    view = camera(seen.stage.centre, seen.stage.radius, seen.up, *look)
    drawn = [_part(x, seen.tracks[0], i, x.colour, x.alpha, _tints(x, seen, i)) for x in seen.parts]
    for number, ghost in enumerate(seen.tracks[1:], 1):
        drawn += [_part(x, ghost, i, ghost_colour(number), GHOST * x.alpha) for x in seen.parts if x.body >= 0]
    drawn += [*_ties(seen, i), *_ellipsoids(seen, i), *_contacts(seen, i)]
    return written(render(drawn, view, *size, _BACKGROUND), seen.colouring)


def _part(x: Part, moving: Track, i: int, colour: Colour, alpha: float, tints: Array | None = None) -> Drawn:
    s, R = x.bent(moving, i), moving.R[i, x.body]
    points, normals = s.points @ R.T + moving.p[i, x.body], s.normals @ R.T
    return Drawn(points, normals, s.triangles, colour, alpha, s.solid, tints=tints)


def _tints(x: Part, seen: Content, i: int) -> Array | None:
    """The colours of a skin by its deflection or stress."""
    if x.bending is None or x.kind != "skin":
        return None
    values = x.bending.values(seen.colouring.kind, seen.tracks[0].eta[i])
    return None if values is None else tinted(values, seen.colouring.most)


def _drawn(s: Surface, colour: Colour, alpha: float = 1.0, front: bool = False) -> Drawn:
    return Drawn(s.points, s.normals, s.triangles, colour, alpha, s.solid, front)


def _ties(seen: Content, i: int) -> list[Drawn]:
    """Closures of the first motion."""
    moving, drawn = seen.tracks[0], []
    for tie, opening in zip(seen.ties, moving.openings[i], strict=True):
        a, b = (moving.R[i, k] @ x + moving.p[i, k] for k, x in zip(tie.bodies, tie.points, strict=True))
        drawn.append(_drawn(surfaces.between(a, b, tie.radius), rgb(opening_colour(float(opening), CLOSED))))
    return drawn


def _ellipsoids(seen: Content, i: int) -> list[Drawn]:
    coloured = [(COLOURS[x.kind], surface_of(nine[i])) for x, nine in seen.ellipsoids]
    return [_drawn(surface, colour, 0.4) for colour, surface in coloured if surface is not None]


def _contacts(seen: Content, i: int) -> list[Drawn]:
    length = seen.length
    drawn = []
    for row in seen.contacts.at(i):
        point, force, axis, friction = row[:3], row[3:6], row[6:9], float(row[9])
        arrow = surfaces.between(point, point + force, 0.5 * POINT * length)
        drawn.append(_drawn(arrow, FORCE_COLOUR, front=True))
        drawn.append(_drawn(surfaces.sphere(POINT * length).moved(np.eye(3), point), FORCE_COLOUR, front=True))
        if friction > 0.0 and np.isfinite(axis).all():
            drawn.append(_drawn(_cone(point, axis, friction, CONE * length), FORCE_COLOUR, 0.3, front=True))
    return drawn


def _cone(tip: Array, axis: Array, friction: float, height: float) -> Surface:
    """A cone of friction: its tip at the point, opening along the normal."""
    return surfaces.cone(friction * height, height).moved(surfaces.rotation_to(-axis), tip + height * axis)

"""`scene`: a model in three dimensions, as a picture, a film or a page, without a display."""

from __future__ import annotations

from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from soacraft.arguments import read_path
from soacraft.attributes import Strict
from soacraft.errors import ModelError, ViewError
from soacraft.kinematics.tolerances import CLOSED
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array, finite
from soacraft.view.drawing.gif import gif_rate
from soacraft.view.drawing.pixels import Pixels
from soacraft.view.drawing.png import png
from soacraft.view.palette import opening_colour, rgb
from soacraft.view.space import surfaces
from soacraft.view.space.camera import camera
from soacraft.view.space.motion import Track, check_motion, track
from soacraft.view.space.page import page
from soacraft.view.space.parts import Part, PartMaker, Tie
from soacraft.view.space.raster import Drawn, render
from soacraft.view.space.stage import Stage, stage_of
from soacraft.view.space.video import write_video

_BACKGROUND = (1.0, 1.0, 1.0)
_LARGEST = 8192
#: The rasteriser takes about a hundred bytes for each.
_MOST_PIXELS = 16_000_000


def scene(
    graph: Graph,
    motion: Any = None,
    *,
    folder: str | PathLike[str] | None = None,
    frames: bool = False,
    inertias: bool = False,
    ground: bool = False,
) -> Scene:
    """A model to look at, still or in motion: `motion` is a run of `sc.sim`, or a pair of instants (m) and coordinates
    (m, nq). A scene follows its model: each picture shows it as it is then.

    A body is drawn by its visual geometries, or by those of collisions; a body without either by its kinematics: rods
    between hinges, a drum for a hinge that turns, a block for one that slides, a ball for more. `folder` is where mesh
    files are; they are read there alone, STL and OBJ by ourselves, PLY, OFF and glTF by trimesh. What cannot be drawn
    is listed in `missing`. Closures are rods, green where they are met, from yellow to red by how far they are open.
    `frames`, `inertias` and `ground` add axes, ellipsoids of inertia, and a floor under a model that has none.

    >>> import soacraft as sc
    >>> mb = sc.load("double_pendulum")
    >>> view = sc.view.scene(mb)
    >>> view
    Scene of 'double_pendulum': 2 bodies, 4 parts
    >>> before = view.pixels(size=(80, 60))
    >>> mb.q = [1.0, 0.5]
    >>> bool((view.pixels(size=(80, 60)) != before).any())
    True
    """
    return Scene(graph, motion, folder=folder, frames=frames, inertias=inertias, ground=ground)


class Scene(Strict):
    """What `scene` gives: pictures by `image` and `pixels`, films by `video`, pages by `save`."""

    _set_once = frozenset({"graph", "motion"})

    def __init__(
        self,
        graph: Graph,
        motion: Any = None,
        *,
        folder: str | PathLike[str] | None = None,
        frames: bool = False,
        inertias: bool = False,
        ground: bool = False,
    ) -> None:
        if not isinstance(graph, Graph):
            raise ModelError(f"a scene shows a model or a sub-graph, got {type(graph).__name__}.")
        check_motion(graph, motion)
        self.graph, self.motion = graph, motion
        place = None if folder is None else read_path(folder, "folder=", ViewError).resolve()
        if place is not None and not place.is_dir():
            raise ViewError(f"there is no folder {str(folder)!r}; folder= is where the mesh files of the model are.")
        self._maker = PartMaker(graph, place, frames, inertias, ground)

    def __repr__(self) -> str:
        count, bodies = len(self.parts), len(self.graph)
        moves = "" if self.motion is None else f", {self.duration:.6g} s of motion"
        missing = f", {len(self.missing)} not drawn: see missing" if self.missing else ""
        many = "1 body" if bodies == 1 else f"{bodies} bodies"
        return f"Scene of {self.graph.name!r}: {many}, {count} parts{moves}{missing}"

    @property
    def parts(self) -> tuple[Part, ...]:
        """What is drawn now, floors left out: each with its body, surface and colour."""
        return tuple(self._maker.parts())

    @property
    def missing(self) -> dict[str, str]:
        """The geometries that are not drawn, as `body/geometry`, and why."""
        self._maker.parts()
        return dict(self._maker.missing)

    @property
    def duration(self) -> float:
        """How long the motion takes, in seconds; zero without one."""
        if self.motion is None:
            return 0.0
        t = self.motion[0] if isinstance(self.motion, tuple) else self.motion.t
        return float(t[-1] - t[0])

    # -- pictures --------------------------------------------------------------------------------------------------

    def pixels(
        self,
        t: float | None = None,
        *,
        size: tuple[int, int] = (640, 480),
        azimuth: float = -60.0,
        elevation: float = 18.0,
        zoom: float = 1.0,
    ) -> Pixels:
        """The picture as an array (height, width, 3) of bytes, by our own rasteriser: at the present state, or at an
        instant of the motion. `size` is (width, height) in pixels, `azimuth` and `elevation` are in degrees, about the
        axis against gravity. O(triangles + pixels).
        """
        width, height = _read_size(size)
        moving = self._still(t)
        return self._picture(moving, 0, *self._staged(self._whole(moving)), (width, height), (azimuth, elevation, zoom))

    def image(
        self,
        path: str | PathLike[str],
        t: float | None = None,
        *,
        size: tuple[int, int] = (640, 480),
        azimuth: float = -60.0,
        elevation: float = 18.0,
        zoom: float = 1.0,
    ) -> Path:
        """Write a PNG file; the arguments are those of `pixels`. Needs no display, and nothing but numpy."""
        place = _ending(path, (".png",), "an image")
        place.write_bytes(png(self.pixels(t, size=size, azimuth=azimuth, elevation=elevation, zoom=zoom)))
        return place

    def video(
        self,
        path: str | PathLike[str],
        *,
        rate: float = 20.0,
        speed: float = 1.0,
        size: tuple[int, int] = (480, 360),
        azimuth: float = -60.0,
        elevation: float = 18.0,
        zoom: float = 1.0,
    ) -> Path:
        """Write the motion as a GIF (by Pillow) or an MP4 (where ffmpeg is), `rate` pictures a second, `speed` times as
        fast as it is. The other arguments are those of `pixels`.
        """
        place = _ending(path, (".gif", ".mp4"), "a video")
        if self.motion is None:
            raise ViewError("a video needs a motion: sc.view.scene(mb, run).video(...); a still picture needs none.")
        rate, speed = _positive(rate, "rate"), _positive(speed, "speed")
        rate = gif_rate(rate) if place.suffix.lower() == ".gif" else rate
        moving = track(self.graph, self.motion, step=speed / rate)
        staged, shape, look = self._staged(moving), _read_size(size), (azimuth, elevation, zoom)
        pictures = (self._picture(moving, i, *staged, shape, look) for i in range(len(moving.t)))
        return write_video(place, pictures, shape, rate)

    # -- pages -----------------------------------------------------------------------------------------------------

    def html(self, *, rate: float = 50.0, azimuth: float = -60.0, elevation: float = 18.0) -> str:
        """The scene as one page: WebGL of our own, to be turned with the mouse or the keys, with a timeline and the
        speed of the motion, sampled `rate` times a second. It asks for nothing from elsewhere.
        """
        look = _angles(azimuth, elevation)
        moving = track(self.graph, self.motion, step=1.0 / _positive(rate, "rate"))
        parts, ties, stage = self._staged(moving)
        names = [body.name for body in self.graph.bodies]
        return page(self.graph.name, names, parts, ties, moving, stage, self._up, look)

    def save(
        self, path: str | PathLike[str], *, rate: float = 50.0, azimuth: float = -60.0, elevation: float = 18.0
    ) -> Path:
        """Write the page of `html` to a file."""
        place = _ending(path, (".html", ".htm"), "a page")
        place.write_text(self.html(rate=rate, azimuth=azimuth, elevation=elevation), encoding="utf-8")
        return place

    def _repr_html_(self) -> str:
        style = "width:100%;height:420px;border:1px solid #cbd2d9;border-radius:6px"
        title = escape(f"Scene of {self.graph.name}", quote=True)
        told = f'title="{title}" sandbox="allow-scripts" style="{style}"'
        return f'<iframe {told} srcdoc="{escape(self.html())}"></iframe>'

    # -- inside ----------------------------------------------------------------------------------------------------

    @property
    def _up(self) -> Array:
        """Against gravity; z without it."""
        g = np.asarray(self.graph.gravity)
        size = float(np.linalg.norm(g))
        return -g / size if size > 0.0 else np.array([0.0, 0.0, 1.0])

    def _still(self, t: float | None) -> Track:
        if t is None:
            return track(self.graph, None)
        if self.motion is None:
            raise ViewError("t= is an instant of a motion, and this scene has none: sc.view.scene(mb, run).")
        return track(self.graph, self.motion, np.array([float(finite(t, (), "the time"))]))

    def _whole(self, still: Track) -> Track:
        """What decides where the camera is: all of the motion, so that pictures of one can be compared."""
        if self.motion is None:
            return still
        step = self.duration / 24.0 or 1.0
        return track(self.graph, self.motion, step=step)

    def _staged(self, over: Track) -> tuple[list[Part], list[Tie], Stage]:
        """What is drawn, with its floors, and the stage of a motion."""
        parts, ties = self._maker.parts(), self._maker.ties()
        stage = stage_of(parts, ties, over, self._up)
        return [*parts, *self._maker.floors(stage.centre, stage.radius, stage.lowest, self._up)], ties, stage

    def _picture(
        self, moving: Track, i: int, parts: list[Part], ties: list[Tie], stage: Stage,
        size: tuple[int, int], look: tuple[float, float, float],
    ) -> Pixels:  # fmt: skip
        view = camera(stage.centre, stage.radius, self._up, *_angles(look[0], look[1]), _positive(look[2], "zoom"))
        drawn = [
            Drawn(s.points @ moving.R[i, k].T + moving.p[i, k], s.normals @ moving.R[i, k].T, s.triangles, x.colour,
                  x.alpha, s.solid)
            for x in parts
            for s, k in ((x.surface, x.body),)
        ]  # fmt: skip
        for tie, opening in zip(ties, moving.openings[i], strict=True):
            a, b = (moving.R[i, k] @ x + moving.p[i, k] for k, x in zip(tie.bodies, tie.points, strict=True))
            rod = surfaces.between(a, b, tie.radius)
            drawn.append(Drawn(rod.points, rod.normals, rod.triangles, rgb(opening_colour(float(opening), CLOSED))))
        return render(drawn, view, *size, _BACKGROUND)


def _ending(path: str | PathLike[str], ends: tuple[str, ...], what: str) -> Path:
    place = read_path(path, what, ViewError)
    if place.suffix.lower() not in ends:
        raise ViewError(f"{what} is written to a file that ends in {' or '.join(ends)}, got {place.name!r}.")
    return place


def _positive(x: float, name: str) -> float:
    value = float(finite(x, (), name))
    if not value > 0.0:
        raise ViewError(f"{name} must be positive, got {value:g}.")
    return value


def _read_size(size: tuple[int, int]) -> tuple[int, int]:
    values = finite(size, (2,), "size, (width, height) in pixels")
    width, height = (int(x) for x in values)
    if min(width, height) < 1 or max(width, height) > _LARGEST or (values != [width, height]).any():
        raise ViewError(f"size is (width, height) in whole pixels, from 1 to {_LARGEST}; got {tuple(values.tolist())}.")
    if width * height > _MOST_PIXELS:
        raise ViewError(
            f"size {width} x {height} is {width * height} pixels, and {_MOST_PIXELS} are the most; make it smaller."
        )
    return width, height


def _angles(azimuth: float, elevation: float) -> tuple[float, float]:
    return float(finite(azimuth, (), "azimuth")), float(finite(elevation, (), "elevation"))

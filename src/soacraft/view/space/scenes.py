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
from soacraft.model.sizes.scale import scale_of
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.graph import Graph
from soacraft.robot.world.queries import Distances
from soacraft.robot.world.world import World
from soacraft.sim.propagator import Propagator
from soacraft.spatial.checks import Array, finite
from soacraft.view.drawing.gif import gif_rate
from soacraft.view.drawing.output import write_output
from soacraft.view.drawing.pixels import Pixels
from soacraft.view.drawing.png import png
from soacraft.view.space.content import Content, content_of
from soacraft.view.space.live import Follower, LiveScene
from soacraft.view.space.motion import Track, read_motions, span_of, tracks
from soacraft.view.space.node_ellipsoids import KINDS, NodeEllipsoid
from soacraft.view.space.page import page, page_data
from soacraft.view.space.parts import Part, PartMaker
from soacraft.view.space.pictures import picture
from soacraft.view.space.reading import angles, ending, positive, read_look, read_size
from soacraft.view.space.video import write_video
from soacraft.view.space.world_parts import near_parts, world_parts


def scene(
    graph: Graph | World,
    motion: Any = None,
    *,
    folder: str | PathLike[str] | None = None,
    frames: bool = False,
    inertias: bool = False,
    ground: bool = False,
    exaggerate: float = 1.0,
    colour: str = "deflection",
    caption: str = "",
) -> Scene:
    """A model to look at, still or in motion: `motion` is a run of `sc.sim`, a pair of instants (m) and coordinates
    (m, nq), or a list of several, which are shown over one another, all but the first as ghosts. A scene follows its
    model: each picture shows its present state.

    A body is drawn by its visual geometries, or by those of collisions; a body without either by its kinematics: rods
    between hinges, a drum for a hinge that turns, a block for one that slides, a ball for more. `folder` is where mesh
    files are (by default where `sc.load` found them); they are read there alone, STL and OBJ by ourselves, PLY, OFF and
    glTF by trimesh. What cannot be drawn is listed in `missing`. Closures are rods, green where they are met, from
    yellow to red by how far they are open. Contacts of a run are points with the arrows of their forces and cones of
    friction. A `sc.robot.World` is shown with its robot: objects, in blue the stand-ins for shapes of the robot, in
    orange shapes that keep clear by their padding. `frames`, `inertias` and `ground` add axes, ellipsoids of inertia,
    and a floor under a model that has none.

    A flexible body is drawn by its skin, deformed as its modal coordinates say, and coloured by how far its points are
    from where they are on the undeformed body, seen from its frame; `colour="stress"` colours it by the stress of its
    elements (the largest normal stress of a section, von Mises' of a solid), `colour="body"` gives it one colour. With
    `exaggerate` modal coordinates are drawn so many times as large as they are: bodies that ride on flexible ones
    follow, and the picture says so. `caption` is written on the picture. Words on pictures need Pillow.

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
    return Scene(
        graph, motion, folder=folder, frames=frames, inertias=inertias, ground=ground, exaggerate=exaggerate,
        colour=colour, caption=caption,
    )  # fmt: skip


class Scene(Strict):
    """Result of `scene`: pictures by `image` and `pixels`, films by `video`, pages by `save`."""

    _set_once = frozenset({"graph", "motions"})
    _relative = False
    """True if deflections are known up to a factor alone."""

    def __init__(
        self,
        graph: Graph | World,
        motion: Any = None,
        *,
        folder: str | PathLike[str] | None = None,
        frames: bool = False,
        inertias: bool = False,
        ground: bool = False,
        exaggerate: float = 1.0,
        colour: str = "deflection",
        caption: str = "",
    ) -> None:
        self._world = graph if isinstance(graph, World) else None
        if isinstance(graph, World):
            graph = graph.robot.mb
        if not isinstance(graph, Graph):
            raise ModelError(
                f"a scene shows a model or a sub-graph, and its motion: scene(mb, run); got {type(graph).__name__}. It "
                "shows a sc.robot.World too."
            )
        self.graph, self.motions = graph, read_motions(graph, motion)
        place = None if folder is None else read_path(folder, "folder=", ViewError).resolve()
        if place is not None and not place.is_dir():
            raise ViewError(f"there is no folder {str(folder)!r}; folder= is where the mesh files of the model are.")
        self._exaggerate, self._look = positive(exaggerate, "exaggerate"), read_look(colour, caption)
        self._near: list[Part] = []
        self._maker = PartMaker(graph, place, frames, inertias, ground, self._more)
        self._ellipsoids: list[NodeEllipsoid] = []
        self._follower: Follower | None = None

    def __repr__(self) -> str:
        count, bodies = len(self.parts), len(self.graph)
        times = "" if len(self.motions) < 2 else f"{len(self.motions)} motions over "
        moves = f", {times}{self.duration:.6g} s of motion" if self.motions else ""
        missing = f", {len(self.missing)} not drawn: see missing" if self.missing else ""
        many = "1 body" if bodies == 1 else f"{bodies} bodies"
        return f"Scene of {self.graph.name!r}: {many}, {count} parts{moves}{missing}"

    @property
    def parts(self) -> tuple[Part, ...]:
        """Parts that are drawn now, floors left out: each with its body, surface and colour."""
        return tuple(self._maker.parts())

    @property
    def missing(self) -> dict[str, str]:
        """The geometries that are not drawn, as `body/geometry`, and why."""
        self._maker.parts()
        return dict(self._maker.missing)

    @property
    def duration(self) -> float:
        """Duration of the motion, in seconds, or of all of several; zero without one."""
        first, last = span_of(self.motions) if self.motions else (0.0, 0.0)
        return last - first

    # -- what is added ---------------------------------------------------------------------------------------------

    def ellipsoid(self, node: Frame | str, kind: str = "manipulability", *, size: float = 1.0) -> None:
        """Draw an ellipsoid at a node from now on, `size` times as large as usual.

        "manipulability": the velocities of the node for unit velocities of the dofs, J_v J_v*; long where it moves
        easily. A dof that slides has unit velocity where it goes a length of the model in a second.
        "operational_space": its velocities of one kinetic energy, m J_v Mcal^-1 J_v* (000 Eq. 34-36) with the
        mass m of the model; long where it is light. Closed chains are refused.

        >>> import soacraft as sc
        >>> view = sc.view.scene(sc.load("arm7"))
        >>> view.ellipsoid("link7/tool", "operational_space")
        """
        if kind not in KINDS:
            raise ViewError(f"kind={kind!r:.40} is unknown; give {' or '.join(map(repr, KINDS))}.")
        ellipsoid = NodeEllipsoid(self.graph.frame(node), kind, positive(size, "size"))
        ellipsoid.at(self.graph, tracks(self.graph, ())[0].state)  # refused now, not when it is drawn
        self._ellipsoids.append(ellipsoid)

    def distances(self, rows: Distances) -> None:
        """Draw the nearest points of pairs from now on, as `w.distances(q, within=...)` gave them: a rod between the
        two points of each, red where they touch. They stay where they were when they were computed.

        >>> import soacraft as sc
        >>> w = sc.robot.World(sc.robot.Robot(sc.load("panda")))
        >>> w.add("post", sc.contact.Capsule(0.05, 1.0), sc.Pose(translation=(0.4, 0.4, 0.5)))
        >>> view = sc.view.scene(w)
        >>> view.distances(w.distances(w.robot.mb.q, within=0.3))
        >>> sorted({x.kind for x in view.parts})
        ['distance', 'geometry', 'link', 'object']
        """
        if not isinstance(rows, Distances):
            raise ViewError(f"distances are what w.distances(q) of a World gives, got {type(rows).__name__}.")
        self._near = list(near_parts(rows, scale_of(self.graph).length))

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
        shape, look = read_size(size), (*angles(azimuth, elevation), positive(zoom, "zoom"))
        moving = self._at(t)
        return picture(self._content(moving, self._whole(moving), t is None), 0, shape, look)

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
        place = ending(path, (".png",), "an image")
        return write_output(place, png(self.pixels(t, size=size, azimuth=azimuth, elevation=elevation, zoom=zoom)))

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
        place = ending(path, (".gif", ".mp4"), "a video")
        if not self.motions:
            raise ViewError("a video needs a motion: sc.view.scene(mb, run).video(...); a still picture needs none.")
        rate, speed = positive(rate, "rate"), positive(speed, "speed")
        rate = gif_rate(rate) if place.suffix.lower() == ".gif" else rate
        shape, look = read_size(size), (*angles(azimuth, elevation), positive(zoom, "zoom"))
        moving = self._tracks(step=speed / rate)
        seen = self._content(moving, moving)
        pictures = (picture(seen, i, shape, look) for i in range(len(moving[0].t)))
        return write_video(place, pictures, shape, rate)

    # -- pages -----------------------------------------------------------------------------------------------------

    def html(self, *, rate: float = 50.0, azimuth: float = -60.0, elevation: float = 18.0) -> str:
        """The scene as one page: WebGL of our own, to be turned with the mouse or the keys, with a timeline and the
        speed of the motion, sampled `rate` times a second. It asks for nothing from elsewhere.
        """
        look, step = angles(azimuth, elevation), 1.0 / positive(rate, "rate")
        return page(page_data(self.seen(step), look), self.graph.name)

    def save(
        self, path: str | PathLike[str], *, rate: float = 50.0, azimuth: float = -60.0, elevation: float = 18.0
    ) -> Path:
        """Write the page of `html` to a file."""
        place = ending(path, (".html", ".htm"), "a page")
        return write_output(place, self.html(rate=rate, azimuth=azimuth, elevation=elevation))

    def _repr_html_(self) -> str:
        style = "width:100%;height:420px;border:1px solid #cbd2d9;border-radius:6px"
        title = escape(f"Scene of {self.graph.name}", quote=True)
        attributes = f'title="{title}" sandbox="allow-scripts" style="{style}"'
        return f'<iframe {attributes} srcdoc="{escape(self.html())}"></iframe>'

    # -- live ------------------------------------------------------------------------------------------------------

    def serve(self, port: int = 0, *, host: str = "127.0.0.1", open: bool = False) -> LiveScene:
        """A page at an address of this machine that follows the model: a change of state, structure or geometry in
        Python is seen without a call. It has a slider for every dof, of closed chains for the independent ones. What
        cannot be is refused on the page, in the words of the library. With a motion it plays that. `open` opens it in
        a browser; in a notebook the handle shows it. `close()` ends it. Needs the extra `view`.

        >>> import soacraft as sc
        >>> with sc.view.scene(sc.load("arm7")).serve() as live:
        ...     live.url.startswith("http://127.0.0.1:")
        True
        """
        return LiveScene(self, host, port, open)

    def follow(self, p: Propagator, *, speed: float = 1.0, pull: bool = True) -> None:
        """Let runs of a propagator of this model go with the clock, `speed` seconds in a second, so that a live page
        shows them as they are computed. With `pull` a body can be drawn with the mouse meanwhile (hold ctrl): a spring
        between the point that was taken and the mouse, listed as the force "pull" of the run.

        >>> import soacraft as sc
        >>> mb = sc.load("double_pendulum")
        >>> p = sc.sim.Propagator(mb)
        >>> sc.view.scene(mb).follow(p, speed=50.0)
        >>> p.advance_to(1.0)
        Run: ... rows, t = 0 to 1 s by dop853, 0 events
        """
        if not isinstance(p, Propagator):
            raise ViewError(f"follow takes a Propagator of the model, got {type(p).__name__}.")
        if p.mb is not self.graph.root.graph:
            raise ViewError(f"the scene shows {self.graph.name!r}, and the propagator moves {p.mb.name!r}.")
        self._follower = Follower(p, positive(speed, "speed"), bool(pull))

    @property
    def follower(self) -> Follower | None:
        """Follower that moves a propagator with the clock, after `follow`."""
        return self._follower

    def seen(self, step: float = 0.02) -> Content:
        """All that a page shows: the present state, or the motion every `step` seconds."""
        moving = self._tracks(step=step)
        return self._content(moving, moving)

    @property
    def exaggerate(self) -> float:
        """Factor by which modal coordinates are enlarged in pictures."""
        return self._exaggerate

    # -- inside ----------------------------------------------------------------------------------------------------

    def _more(self) -> list[Part]:
        """Parts other than those of the model."""
        return [*([] if self._world is None else world_parts(self._world)), *self._near]

    def _at(self, t: float | None) -> tuple[Track, ...]:
        if t is None:
            return tracks(self.graph, (), exaggerate=self._exaggerate)
        if not self.motions:
            raise ViewError("t= is an instant of a motion, and this scene has none: sc.view.scene(mb, run).")
        return self._tracks(np.array([float(finite(t, (), "the time"))]))

    def _tracks(self, instants: Array | None = None, step: float = 0.04) -> tuple[Track, ...]:
        return tracks(self.graph, self.motions, instants, step, self._exaggerate)

    def _whole(self, still: tuple[Track, ...]) -> tuple[Track, ...]:
        """Tracks that decide the place of the camera: all of the motion, so that pictures of one can be compared."""
        if not self.motions:
            return still
        return self._tracks(step=self.duration / 24.0 or 1.0)

    def _content(self, moving: tuple[Track, ...], over: tuple[Track, ...], present: bool = False) -> Content:
        motion = self.motions[0] if self.motions and not present else None
        return content_of(self.graph, self._maker, motion, moving, over, self._ellipsoids, *self._look, self._relative)

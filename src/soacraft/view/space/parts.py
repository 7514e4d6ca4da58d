"""Parts of the picture of a model, fixed on bodies, from its geometries or, lacking those, from its kinematics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from soacraft.contact.geometry.mesh_files import mesh_folders
from soacraft.errors import SoacraftError
from soacraft.model import Geometry
from soacraft.model.sizes.scale import scale_of
from soacraft.model.tree.frames.frame import Body, Carrier
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.multibody import model_of
from soacraft.spatial.checks import Array
from soacraft.view.palette import mixed, rgb, segment_colour
from soacraft.view.space import kinematic, surfaces
from soacraft.view.space.bending import Bending, bending_of, carried
from soacraft.view.space.mesh_files import mesh_of
from soacraft.view.space.motion import Track, modes_of
from soacraft.view.space.surfaces import Surface

Colour = tuple[float, float, float]

#: Relative to the length of the model.
TRIAD, TIE = 0.09, 0.022
#: Distance from which on a point is not drawn.
FARTHEST = 1e30
_AXES: tuple[Colour, ...] = ((0.84, 0.15, 0.16), (0.17, 0.63, 0.17), (0.12, 0.47, 0.71))
_PALE, _TILE = (0.93, 0.94, 0.95), (0.85, 0.87, 0.89)


@dataclass(frozen=True, eq=False)
class Part:
    """A surface fixed on body number `body` of the graph (the inertial frame for -1), in its axes. What is flexible has
    `bending`; its surface is that of the undeformed body."""

    name: str
    body: int
    surface: Surface
    colour: Colour
    alpha: float = 1.0
    kind: str = "geometry"
    """geometry, link, hinge, skin, frame, inertia or floor; of a world object, cover, padding or distance."""
    bending: Bending | None = None

    def bent(self, moving: Track, i: int) -> Surface:
        """Surface at instant i of a motion, in body axes."""
        if self.bending is None:
            return self.surface
        return self.bending.surface(moving.exaggerate * moving.eta[i])


@dataclass(frozen=True, eq=False)
class Tie:
    """A loop closure: drawn as a rod from a point on one body to one on another, coloured by how far it is open."""

    name: str
    bodies: tuple[int, int]
    points: tuple[Array, Array]
    radius: float


class PartMaker:
    """Makes the parts of a graph as it is now. Mesh files are read in `folder` alone, without it where `sc.load` found
    them, and kept."""

    def __init__(
        self,
        graph: Graph,
        folder: Path | None,
        frames: bool,
        inertias: bool,
        ground: bool,
        more: Callable[[], list[Part]] | None = None,
    ) -> None:
        self._graph, self._folder = graph, folder
        self._frames, self._inertias, self._ground = frames, inertias, ground
        self._more = more
        self._meshes: dict[tuple[str, tuple[float, ...]], Surface] = {}
        self.missing: dict[str, str] = {}
        """Reason by name of a geometry that is not drawn."""

    def parts(self) -> list[Part]:
        """All parts but the floor. O(n and what is in the meshes)."""
        graph, self.missing = self._graph, {}
        parts = [*self._carrier(graph.root, -1)]
        modes = modes_of(graph)
        for k, body in enumerate(graph.bodies):
            of_body = list(self._carrier(body, k)) if k not in modes else self._flexible(body, k, modes[k])
            parts += of_body or self._figure(body, k)
        if self._frames:
            parts += [x for k, body in enumerate(graph.bodies) for x in _triad(body.name, k, graph)]
        if self._inertias:
            parts += [x for k, body in enumerate(graph.bodies) for x in self._ellipsoid(body, k)]
        if self._more is not None:
            parts += self._more()
        return parts

    def colour_of(self, k: int) -> Colour:
        """Colour of the serial segment of body k, lighter for every second body of it."""
        branch = self._graph.topology.branch_of(k)
        return rgb(mixed(segment_colour(branch.index), "#ffffff", 0.12 + 0.22 * (branch.nodes.index(k) % 2)))

    def _carrier(self, carrier: Carrier, k: int) -> Iterator[Part]:
        """Visual geometries; without any that can be drawn those of collisions."""
        drawn = False
        for wanted in (("visual", "both"), ("collision",)):
            for geometry in carrier.geometries:
                if geometry.role in wanted and geometry.kind != "plane":
                    surface = self._surface(geometry, f"{carrier.name}/{geometry.name}")
                    if surface is not None:
                        drawn = True
                        yield Part(geometry.name, k, surface, *self._look(geometry, k))
            if drawn:
                return

    def planes(self) -> list[tuple[int, Geometry]]:
        """The planes of the model, each with the number of its body."""
        carriers: list[tuple[int, Carrier]] = [(-1, self._graph.root), *enumerate(self._graph.bodies)]
        return [(k, x) for k, carrier in carriers for x in carrier.geometries if x.kind == "plane"]

    def floors(self, centre: Array, radius: float, lowest: float, up: Array) -> list[Part]:
        """Planes as tiles that reach past what is drawn; and a floor under it, where that was asked for."""
        floors = [
            part
            for k, plane in self.planes()
            for part in _floor(plane.name, k, np.asarray(plane.pose.rotation), np.asarray(plane.pose.translation),
                               centre if k < 0 else np.zeros(3), radius)
        ]  # fmt: skip
        if self._ground and not floors:
            R = surfaces.rotation_to(up)
            floors += _floor("ground", -1, R, centre + (lowest - centre @ up) * up, centre, radius)
        return floors

    def _surface(self, geometry: Geometry, name: str) -> Surface | None:
        """None for what cannot be seen, which `missing` lists."""
        with np.errstate(over="ignore", invalid="ignore"):
            shape = self._shape(geometry, name)
            if shape is None:
                return None
            moved = shape.moved(np.asarray(geometry.pose.rotation), np.asarray(geometry.pose.translation))
            if not (np.abs(moved.points) < FARTHEST).all():
                self.missing[name] = f"it reaches farther than {FARTHEST:g} m, which is not drawn"
                return None
            if not shape.visible:
                self.missing[name] = "its size leaves nothing to be seen"
                return None
        return moved

    def _shape(self, geometry: Geometry, name: str) -> Surface | None:
        size = geometry.size
        makers: dict[str, Callable[..., Surface]] = {
            "box": surfaces.box, "sphere": surfaces.sphere, "cylinder": surfaces.cylinder,
            "capsule": surfaces.capsule, "ellipsoid": surfaces.ellipsoid,
        }  # fmt: skip
        if geometry.kind in makers:
            return makers[geometry.kind](*size) if max(size) > 0.0 else surfaces.NOTHING
        if geometry.kind != "mesh":
            self.missing[name] = f"a geometry of kind {geometry.kind!r} is not drawn"
            return None
        key = (geometry.mesh, size)
        try:
            if key not in self._meshes:
                self._meshes[key] = mesh_of(geometry, mesh_folders(model_of(self._graph.root), self._folder))
        except SoacraftError as problem:
            self.missing[name] = str(problem)
            return None
        return self._meshes[key]

    def _look(self, geometry: Geometry, k: int) -> tuple[Colour, float]:
        """The colour of a visual geometry or its material; otherwise that of its body."""
        rgba = geometry.rgba
        materials = model_of(self._graph.root).materials
        if rgba is None and geometry.material in materials.names:
            rgba = materials[geometry.material].rgba
        if rgba is None or geometry.role == "collision":
            return (self.colour_of(k) if k >= 0 else _TILE), 1.0
        red, green, blue, alpha = (min(1.0, max(0.0, x)) for x in rgba)
        return (red, green, blue), alpha

    def _figure(self, body: Body, k: int) -> list[Part]:
        """Links and the hinge of a body that has no geometry to draw."""
        link, hinge = kinematic.figure(self._graph, body)
        colour = self.colour_of(k)
        dark = (0.45 * colour[0], 0.45 * colour[1], 0.45 * colour[2])
        parts = [] if link is None else [Part(body.name, k, link, colour, kind="link")]
        return parts if hinge is None else [*parts, Part(body.hinge_name, k, hinge, dark, kind="hinge")]

    def _flexible(self, body: Body, k: int, modes: slice) -> list[Part]:
        """The skin of a flexible body, and its hinge on the node that it holds."""
        colour = self.colour_of(k)
        bending = bending_of(self._graph.layout.modal(k), modes, scale_of(self._graph).length)
        parts = [Part(body.name, k, bending.still, colour, kind="skin", bending=bending)]
        hinge = kinematic.figure(self._graph, body)[1]
        if hinge is None:
            return parts
        held, dark = self._graph.layout.held.get(k), (0.45 * colour[0], 0.45 * colour[1], 0.45 * colour[2])
        rides = None if held is None else carried(hinge, held, modes)
        return [*parts, Part(body.hinge_name, k, hinge, dark, kind="hinge", bending=rides)]

    def _ellipsoid(self, body: Body, k: int) -> list[Part]:
        surface = kinematic.inertia_ellipsoid(body.inertia)
        return [] if surface is None else [Part(body.name, k, surface, self.colour_of(k), 0.35, "inertia")]

    def ties(self) -> list[Tie]:
        """The active closures."""
        index, radius = self._graph.layout.index, TIE * scale_of(self._graph).length
        ties = []
        for closure in self._graph.loops:
            if closure.active:
                ends = (closure.a, closure.b)
                bodies = [index[x.carrier] if isinstance(x.carrier, Body) else -1 for x in ends]
                points = [np.asarray(x.offset.translation) for x in ends]
                ties.append(Tie(closure.name, (bodies[0], bodies[1]), (points[0], points[1]), radius))
        return ties


def _triad(name: str, k: int, graph: Graph) -> list[Part]:
    length = TRIAD * scale_of(graph).length
    arrow = surfaces.joined(
        [
            surfaces.cylinder(0.05 * length, 0.8 * length).moved(np.eye(3), np.array([0.0, 0.0, 0.4 * length])),
            surfaces.cone(0.12 * length, 0.25 * length).moved(np.eye(3), np.array([0.0, 0.0, 0.75 * length])),
        ]
    )
    turns = [surfaces.rotation_to(axis) for axis in np.eye(3)]
    return [
        Part(f"{name} {letter}", k, arrow.moved(R, np.zeros(3)), colour, kind="frame")
        for letter, R, colour in zip("xyz", turns, _AXES, strict=True)
    ]


def _floor(name: str, k: int, R: Array, p: Array, centre: Array, radius: float) -> list[Part]:
    """Tiles about the foot of the centre on the plane z = 0 of a frame."""
    middle = R.T @ (centre - p)
    foot = R @ np.array([middle[0], middle[1], 0.0]) + p
    half = 1.6 * radius
    return [
        Part(name, k, surfaces.tiles(half, 16, odd).moved(R, foot), colour, kind="floor")
        for odd, colour in ((False, _PALE), (True, _TILE))
    ]

"""`World`: what is around a robot, and what may not touch. Objects are fixed, fixed on the robot, or have hinges.

Shapes, distances and the search for near pairs are those of `sc.contact.Scene`, of a model that is the robot's with the
objects added; the robot itself is left alone, and changes of it are followed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.attributes import Strict
from soacraft.contact.geometry.filters import rigid_groups
from soacraft.contact.geometry.scene import Scene
from soacraft.contact.geometry.shapes import Shape, Sphere
from soacraft.errors import ModelError, StateError, near
from soacraft.model.hinges import Weld
from soacraft.model.sizes.lengths import length_of
from soacraft.model.states.ranges import Ranges
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.parts.records import Geometry
from soacraft.robot.robot import Robot
from soacraft.robot.world.allowed import Allowed, sampled
from soacraft.robot.world.edges import Edge, Reaches, advance
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.inertia import Inertia
from soacraft.spatial.pose import Pose


class Item(NamedTuple):
    """An object of a world: shapes with their poses in it, or a model; where it is, and on what."""

    shapes: tuple[tuple[str, Shape, Pose], ...]
    model: Multibody | None
    pose: Pose
    on: str | None


@dataclass(frozen=True, eq=False)
class Distances:
    """Pairs of shapes that are near, a row each: signed distance less the padding, nearest points and the normal from a
    to b in the inertial frame, and the derivative of the distance along the robot's dofs, (rows, nv)."""

    pairs: list[tuple[str, str]]
    distance: Array
    point_a: Array
    point_b: Array
    normal: Array
    gradient: Array
    state: npt.NDArray[np.int64]
    """The number of the configuration in a batch."""

    def __len__(self) -> int:
        return len(self.distance)

    def __repr__(self) -> str:
        if not len(self):
            return "no pair is near"
        i = int(np.argmin(self.distance))
        return f"{len(self)} pairs, nearest {' - '.join(self.pairs[i])} at {self.distance[i]:.6g} m"


class World(Strict):
    """Objects around a robot.

    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("panda"))
    >>> w = sc.robot.World(rb)
    >>> w.add("table", sc.contact.Box(0.5, 1.0, 0.1), sc.Pose(translation=(0.7, 0, 0.2)))
    >>> w.collides([0, 0.3, 0, -1.5, 0, 2.0, 0.8]), w.collides([0, 1.5, 0, -0.5, 0, 2.0, 0.8])
    (False, True)
    """

    def __init__(self, robot: Robot, *, meshes: str = "hull") -> None:
        if not isinstance(robot, Robot):
            raise ModelError(f"a World is around a Robot, got {robot!r:.60}.")
        self._robot, self._meshes = robot, meshes
        self._items: dict[str, Item] = {}
        self._hidden: set[str] = set()
        self._pads: dict[tuple[str, ...], float] = {}
        self._allowed: dict[tuple[str, str], str] = {}
        self._made: tuple[Any, Multibody, Scene, Array] | None = None
        self._reaches: tuple[Any, Reaches] | None = None

    # -- objects -------------------------------------------------------------------------------------------------

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self._robot

    @property
    def objects(self) -> tuple[str, ...]:
        """Names of the objects."""
        return tuple(self._items)

    def add(
        self, name: str, shape: Any = None, pose: Pose | None = None, on: Any = None, *, model: Multibody | None = None
    ) -> None:
        """Add an object: a shape, several as `{name: (shape, pose)}`, or a model with hinges of its own, whose state is
        kept. `pose` is in the inertial frame, or in the body or node `on` of the robot, with which it then moves."""
        mb = self._robot.mb
        if not isinstance(name, str) or not name or "/" in name:
            raise ModelError(f"an object has a name without '/', got {name!r:.60}.")
        if name in self._items or name in mb:
            raise ModelError(f"there is {name!r} already, in the world or on the robot; take another name.")
        if (shape is None) == (model is None):
            raise ModelError(f"object {name!r} is a shape, or a model=...; give one of them.")
        if model is not None and (not isinstance(model, Multibody) or on is not None):
            raise ModelError(
                f"object {name!r}: model= is a Multibody that stands in the inertial frame; got {model!r:.60}."
            )
        place = Pose() if pose is None else pose
        if not isinstance(place, Pose) or place.batch_shape:
            raise ModelError(f"the pose of object {name!r} must be one Pose(...), got {pose!r:.60}.")
        frame = None if on is None else mb.frame(on)
        if frame is not None:
            place, on = frame.offset @ place, frame.carrier.name
        shapes = () if shape is None else _shapes(name, shape)
        self._items[name], self._made = Item(shapes, None if model is None else model.copy(), place, on), None

    def add_points(self, name: str, points: Any, voxel: float = 0.02) -> None:
        """Add points of a scan (n, 3): a ball about each occupied cube of edge `voxel`, which holds all its points."""
        given = finite(np.asarray(points, dtype=float), (None, 3), f"points of object {name!r}", StateError)
        size = float(finite(voxel, (), "voxel", StateError))
        if not size > 0.0:
            raise StateError(f"voxel must be positive, got {voxel!r:.40}.")
        if not len(given):
            raise StateError(f"object {name!r} has no points.")
        cells = np.unique(np.floor(given / size).astype(np.int64), axis=0)
        ball = Sphere(0.5 * np.sqrt(3.0) * size)
        self.add(name, {f"p{i}": (ball, Pose(translation=c)) for i, c in enumerate((cells + 0.5) * size)})

    def remove(self, name: str) -> None:
        """Take an object away."""
        self._item(name)
        del self._items[name]
        self._hidden.discard(name)
        self._made = None

    def move(self, name: str, pose: Pose) -> None:
        """Put an object elsewhere."""
        item = self._item(name)
        if not isinstance(pose, Pose) or pose.batch_shape:
            raise ModelError(f"the pose of object {name!r} must be one Pose(...), got {pose!r:.60}.")
        self._items[name], self._made = item._replace(pose=pose), None

    def item(self, name: str) -> Item:
        """An object as it was given: shapes with their poses in it, or a model; its pose, and the body it is on."""
        return self._item(name)

    def hide(self, name: str) -> None:
        """Let an object, a body or a shape be passed through, until `show`."""
        self._known(name)
        self._hidden.add(name)
        self._made = None

    def show(self, name: str) -> None:
        """Undo `hide`."""
        if name not in self._hidden:
            raise ModelError(f"{name!r:.60} is not hidden{near(str(name), sorted(self._hidden))}")
        self._hidden.discard(name)
        self._made = None

    def pad(self, a: str, metres: float, b: str | None = None) -> None:
        """Keep a body, shape or object clear of all others, or of one, by a distance. Paddings of both and of the pair
        add up; they survive edits."""
        for x in (a,) if b is None else (a, b):
            self._known(x)
        value = float(finite(metres, (), "a padding", StateError))
        if value < 0.0:
            raise StateError(f"a padding must not be negative, got {value:g} m.")
        self._pads[(a,) if b is None else (a, b)], self._made = value, None

    # -- pairs ---------------------------------------------------------------------------------------------------

    def allow(self, a: str, b: str, why: str = "") -> None:
        """Let two bodies, shapes or objects touch. It survives edits; `allowed` tells it with the reason."""
        for x in (a, b):
            self._known(x)
        self._allowed[(a, b)], self._made = str(why), None

    def disallow(self, a: str, b: str) -> None:
        """Undo `allow`."""
        for pair in ((a, b), (b, a)):
            if pair in self._allowed:
                del self._allowed[pair]
                self._made = None
                return
        raise ModelError(f"{a!r:.60} and {b!r:.60} were not allowed to touch.")

    @property
    def allowed(self) -> dict[tuple[str, str], str]:
        """Pairs that may touch, with the reasons."""
        return dict(self._allowed)

    def make_allowed(self, samples: int = 100_000, seed: int = 0) -> Allowed:
        """Find the pairs of the robot's bodies that always touch, touch as it stands, or never do in so many random
        configurations, and allow the first two; what never touched is told, not allowed. O(samples)."""
        found = sampled(self, samples, seed)
        for row in found.rows:
            if row.kind in ("always", "default"):
                self.allow(row.a, row.b, row.kind)
        return found

    # -- queries -------------------------------------------------------------------------------------------------

    def collides(self, q: Any) -> Any:
        """Whether anything touches that may not, at q (nq) or a batch (..., nq)."""
        q, batch = self._read(q)
        rows = self._scene().distances(self._whole(q), 0.0)
        hit = np.zeros(len(q), dtype=bool)
        hit[rows.state[rows.distance <= 0.0]] = True
        return hit.reshape(batch) if batch else bool(hit[0])

    def touching(self, q: Any) -> list[tuple[str, str]]:
        """The pairs of shapes that touch at one configuration, the deepest first."""
        rows = self.distances(q, 0.0)
        return [rows.pairs[i] for i in np.argsort(rows.distance)]

    def distances(self, q: Any, within: float = np.inf) -> Distances:
        """Pairs nearer than `within` metres, with the derivatives of their distances along the robot's dofs, at q (nq)
        or a batch (states, nq). Where shapes are in each other the distance is less than zero."""
        q, _ = self._read(q)
        scene = self._scene()
        rows = scene.distances(self._whole(q), within)
        gradient = scene.gradient(rows)[:, : self._robot.mb.nv]
        return Distances(rows.pairs, rows.distance, rows.point_a, rows.point_b, rows.normal, gradient, rows.state)

    def edge(self, q0: Any, q1: Any, *, gap: float | None = None) -> Edge:
        """Whether the robot is free all the way from q0 to q1, each hinge at a constant rate; else where it first comes
        nearer than `gap` to something (by default 1e-6 of its size). Nothing is between samples: steps are as long as
        the distances allow, by bounds on how fast the hinges can move each shape (conservative advancement)."""
        (a, _), (b, _) = self._read(q0), self._read(q1)
        if len(a) != 1 or len(b) != 1:
            raise StateError("an edge goes from one configuration to one other.")
        scene = self._scene()
        assert self._made is not None
        mb = self._made[1]
        if self._reaches is None or self._reaches[0] is not scene:
            self._reaches = scene, Reaches(mb, scene)
        start, end = self._whole(a)[0], self._whole(b)[0]
        return advance(mb, scene, self._reaches[1], start, end, gap, self._robot.mb.nq)

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Configurations of the robot drawn evenly within its limits, (count, nq); dofs without limits over a turn, or
        the length of the model either way, about where they are."""
        mb = self._robot.mb
        ranges, q = Ranges(mb), np.array(mb.q)
        x = np.where(ranges.place >= 0, q[ranges.place], 0.0)
        wide = np.where([u == "r" for u in "".join(mb.layout.units.hinge)], np.pi, length_of(mb) or 1.0)
        low = np.where(np.isfinite(ranges.lower), ranges.lower, x - wide)
        high = np.where(np.isfinite(ranges.upper), ranges.upper, x + wide)
        return np.array(
            mb.integrate(np.broadcast_to(q, (count, mb.nq)), rng.uniform(low - x, high - x, (count, mb.nv)))
        )

    # -- inside --------------------------------------------------------------------------------------------------

    @property
    def scene(self) -> Scene:
        """The shapes of the robot and of the objects together."""
        return self._scene()

    def body_of(self, shape: str) -> str:
        """The body or object that a shape belongs to."""
        return shape.rpartition("/")[0]

    def adjacent(self, a: str, b: str) -> bool:
        """Whether two bodies are one rigid group, or joined by one hinge."""
        self._scene()
        assert self._made is not None
        mb = self._made[1]
        group, above = rigid_groups(mb)
        x, y = (group[mb.root if n == mb.root.name else mb[n]] for n in (a, b))
        return x is y or above.get(x) is y or above.get(y) is x

    def _scene(self) -> Scene:
        mb = self._robot.mb
        key = (mb.version, mb.parameters, tuple(x for c in (mb.root, *mb.bodies) for x in c.geometries))
        if self._made is not None and self._made[0] == key:
            return self._made[2]
        whole, shapes = mb.copy(), {}
        for name, item in sorted(self._items.items()):
            if item.model is not None:
                whole.add_model(item.model, None, None, item.pose, prefix=f"{name}.")
                continue
            body = whole.add_body(name, item.on, Weld(), Inertia(0.0), inboard=item.pose)
            for part, shape, pose in item.shapes:
                body.add_geometry(_geometry(part, shape, pose))
                shapes[f"{name}/{part}"] = shape
        skip = {x for n in self._hidden for x in (self._bodies_of(n, whole) or [n])}
        scene = Scene(whole, folder=mb.mesh_folder, meshes=self._meshes, shapes=shapes, skip=skip)
        known = {*scene.names, *(x.rpartition("/")[0] for x in scene.names)}
        for pair in self._allowed:
            for a in self._bodies_of(pair[0], whole) or [pair[0]]:
                for b in self._bodies_of(pair[1], whole) or [pair[1]]:
                    if a in known and b in known:
                        scene.exclude(a, b)
        for names, value in self._pads.items():
            if all(n in known for n in names):
                scene.set_padding(value, *names)
        rest = np.array(whole.q)[mb.nq :]
        self._made = key, whole, scene, rest
        return scene

    def _bodies_of(self, name: str, whole: Multibody) -> list[str]:
        """The bodies of an object that is a model."""
        item = self._items.get(name)
        return [] if item is None or item.model is None else [f"{name}.{x.name}" for x in item.model.bodies]

    def _whole(self, q: Array) -> Array:
        assert self._made is not None
        rest = self._made[3]
        return np.concatenate([q, np.broadcast_to(rest, (len(q), len(rest)))], axis=1) if len(rest) else q

    def _read(self, q: Any) -> tuple[Array, tuple[int, ...]]:
        self._scene()
        mb = self._robot.mb
        given = finite(np.asarray(q, dtype=float), (..., mb.nq), f"q of {mb.name!r}", StateError)
        return np.ascontiguousarray(given.reshape(-1, mb.nq)), given.shape[:-1]

    def _item(self, name: str) -> Item:
        if name not in self._items:
            raise ModelError(f"the world has no object {name!r:.60}{near(str(name), self._items)}")
        return self._items[name]

    def _known(self, name: str) -> None:
        scene = self._scene()
        names = {*self._items, *scene.names, *(self.body_of(x) for x in scene.names), *self._hidden}
        if name not in names:
            raise ModelError(f"there is no body, shape or object {name!r:.60}{near(str(name), sorted(names))}")

    def __repr__(self) -> str:
        hidden = f", {len(self._hidden)} hidden" if self._hidden else ""
        pairs = f"{len(self._allowed)} pairs allowed"
        return f"World around {self._robot.mb.name!r}: {len(self._items)} objects{hidden}, {pairs}"


def _shapes(name: str, given: Any) -> tuple[tuple[str, Shape, Pose], ...]:
    if isinstance(given, Shape):
        return (("shape", given, Pose()),)
    if isinstance(given, Geometry):
        raise ModelError(f"object {name!r}: give a shape such as sc.contact.Box(1, 1, 1), not a Geometry.")
    if not isinstance(given, dict) or not given:
        raise ModelError(f"object {name!r} must be a shape, or {{name: (shape, pose)}}, got {given!r:.60}.")
    made = []
    for part, value in given.items():
        shape, pose = value if isinstance(value, Sequence) and len(value) == 2 else (value, Pose())
        if not isinstance(shape, Shape) or not isinstance(pose, Pose):
            raise ModelError(f"part {part!r:.40} of object {name!r} must be (shape, pose), got {value!r:.60}.")
        made.append((str(part), shape, pose))
    return tuple(made)


def _geometry(name: str, shape: Shape, pose: Pose) -> Geometry:
    size: Iterable[float] = getattr(shape, "size", ())
    if shape.kind in ("sphere", "capsule", "box", "cylinder", "ellipsoid", "plane"):
        return Geometry(name, shape.kind, tuple(size), pose, role="collision")
    return Geometry(name, "box", (1.0, 1.0, 1.0), pose, role="collision")  # its shape is given to the scene itself

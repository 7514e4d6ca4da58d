"""`Scene`: the shapes of a model, which of them may touch, and their distances and contacts at its states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from soacraft.arguments import read_path, whole_number
from soacraft.attributes import Remade
from soacraft.contact.geometry.compiled import ContactScene, contact_smooth, require_near
from soacraft.contact.geometry.filters import Integers, Names, Placed, collision_shapes
from soacraft.contact.geometry.impact import first_impact
from soacraft.contact.geometry.passage import Passing
from soacraft.contact.geometry.placement import Choices, Placement, key_of, place
from soacraft.contact.geometry.queries import Hits, hits_of, read_rays, read_within
from soacraft.contact.geometry.records import MESHES, ShapeMaker
from soacraft.contact.geometry.shapes import Shape
from soacraft.contact.geometry.table import Contacts
from soacraft.dynamics import jacobian, poses, velocities
from soacraft.errors import ModelError, StaleError, StateError, near
from soacraft.model import Multibody
from soacraft.results import refuse_large
from soacraft.spatial.checks import Array, finite


class Scene(Remade):
    """The shapes of a model that can touch (roles "collision" and "both"), by name: "body/shape", "inertial/floor".

    `folder` is where its mesh files are; they are read there alone. Without it they are read where `sc.load` found them
    (`mb.mesh_folder`, `mb.mesh_roots`). `meshes`: "hull" takes the convex hull of each mesh
    (as MuJoCo does; fast, and with a depth), "triangles" the mesh itself. `shapes` gives shapes of your own by name,
    `skip` leaves some out. `adjacent=True` lets bodies touch that a hinge joins. What the files said about pairs holds:
    contype and conaffinity, excludes and pairs of MJCF, disabled links of SRDF. The model may be edited: the scene
    follows. Contact on a flexible body acts at its nodes: weld a body without mass to a node, and give that the shape.

    >>> import soacraft as sc
    >>> mb = sc.Multibody()
    >>> _ = mb.root.add_geometry(sc.Geometry("floor", "plane"))
    >>> ball = mb.add_body("ball", None, sc.Free(), sc.Inertia(1.0))
    >>> _ = ball.add_geometry(sc.Geometry("skin", "sphere", (0.5,)))
    >>> Scene(mb).distances([0, 0, 0, 1, 0, 0, 2.0])
    1 rows, nearest 1.5 m
      ball/skin - inertial/floor: 1.5 m
    """

    _remade: ClassVar = {"_built": None}

    def __init__(
        self,
        mb: Multibody,
        *,
        folder: str | Path | None = None,
        meshes: str = "hull",
        shapes: Mapping[str, Shape] | None = None,
        skip: Iterable[str] = (),
        adjacent: bool = False,
    ) -> None:
        if not isinstance(mb, Multibody):
            raise ModelError(f"a Scene is of a Multibody, got {mb!r:.60}.")
        if meshes not in MESHES:
            raise ModelError(f"meshes must be 'hull' or 'triangles', got {meshes!r:.60}.")
        self.model = mb
        self._folder = None if folder is None else read_path(folder, "folder=").resolve()
        self._maker = ShapeMaker(mb, self._folder, meshes)
        self._choices = Choices(dict(shapes or {}), frozenset(skip), bool(adjacent))
        self._built: Placement | None = None
        self.revision = 0
        """The count of changes of what may touch, and of paddings."""
        self._check_names([*self._choices.shapes, *self._choices.skip])
        for name, shape in self._choices.shapes.items():
            if not isinstance(shape, Shape):
                raise ModelError(f"shapes[{name!r}] must be a shape such as Box(1, 1, 1), got {shape!r:.60}.")
        self._current()

    def with_model(self, mb: Multibody) -> Scene:
        """Scene with these choices for another model, such as a copy on which an edit is tried."""
        other = copy(self)
        other.model = mb
        return other

    # -- shapes and pairs ------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the shapes, sorted."""
        return tuple(self._current().index)

    @property
    def placed(self) -> tuple[Placed, ...]:
        """The geometries behind the shapes, with what carries them."""
        return tuple(self._current().placed)

    @property
    def shapes(self) -> dict[str, Shape]:
        """The shapes by name."""
        built = self._current()
        return dict(zip(built.index, built.shapes, strict=True))

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs that may touch. O(shapes^2): queries do without this list."""
        names, built = self.names, self._current()
        return [(names[i], names[j]) for i, j in built.core.pairs().tolist()]

    def exclude(self, a: str, b: str) -> None:
        """Shapes, or all shapes of bodies, that never touch each other."""
        self._choose(a, b, False)

    def include(self, a: str, b: str) -> None:
        """Shapes, or all shapes of bodies, that may touch, whatever the files said."""
        self._choose(a, b, True)

    def set_padding(self, metres: float, a: str, b: str | None = None) -> None:
        """Take a distance off all distances of a shape (or the shapes of a body), or of a pair: they keep clear of
        others by it. Paddings of the two shapes and of the pair add up.
        """
        value = float(finite(metres, (), "a padding"))
        if value < 0.0:
            raise ModelError(f"a padding must not be negative, got {value:g}; make the shape smaller instead.")
        self._check_names([a] if b is None else [a, b])
        self._choices.padding[frozenset((a,) if b is None else (a, b))] = value
        self._built = None
        self.revision += 1

    def _choose(self, a: str, b: str, touch: bool) -> None:
        self._check_names([a, b])
        self._choices.pairs.pop(frozenset((a, b)), None)  # the last one counts most
        self._choices.pairs[frozenset((a, b))] = touch
        self._built = None
        self.revision += 1

    def _check_names(self, names: Iterable[str]) -> None:
        shape_names = Names(collision_shapes(self.model))
        for name in names:
            if name not in shape_names:
                listed = sorted(shape_names)
                raise ModelError(f"there is no shape or body with shapes {name!r:.80}{near(str(name), listed)}")

    # -- queries ---------------------------------------------------------------------------------------------

    def distances(self, q: Any, within: float = np.inf, *, threads: int | None = None) -> Contacts:
        """A row for each pair of shapes nearer than `within` (metres): distance, nearest points, normal. q is (nq,) or
        a batch (states, nq). O(n + shapes log shapes + pairs that are near).
        """
        return self._run(q, read_within(within), False, threads)

    def contacts(self, q: Any, within: float = 0.0, *, threads: int | None = None) -> Contacts:
        """The points of contact of all pairs: the nearest of each pair and the corners of where its faces lie over each
        other, with gaps of at most `within` metres. Otherwise as `distances`.

        >>> import soacraft as sc
        >>> mb = sc.Multibody()
        >>> _ = mb.root.add_geometry(sc.Geometry("floor", "plane"))
        >>> box = mb.add_body("box", None, sc.Free(), sc.Inertia(1.0))
        >>> _ = box.add_geometry(sc.Geometry("skin", "box", (1.0, 1.0, 1.0)))
        >>> len(Scene(mb).contacts([0, 0, 0, 1, 0, 0, 0.5]))
        4
        """
        return self._run(q, read_within(within), True, threads)

    def jacobian(self, rows: Contacts) -> Array:
        """The velocity of each row's point on b relative to that on a, by dofs, (rows, 3, nv), in inertial axes:
        J_b - J_a at the points. O(rows nv).
        """
        return self.twists(rows)[:, 3:]

    def twists(self, rows: Contacts) -> Array:
        """The relative motion of the two bodies at each row's points, [angular; linear] of b relative to a, by dofs,
        (rows, 6, nv), in inertial axes. O(rows nv).
        """
        return self.sized_twists(rows)[0]

    def sized_twists(self, rows: Contacts, *, meet: bool = False) -> tuple[Array, Array]:
        """Twists at the rows by dofs, and the size of each column before anything in it cancels: turns and slides,
        (rows, 2, nv). With `meet` two bodies that move have one point, in the middle of the row's two.
        """
        self._check_rows(rows)
        built, mb = self._current(), self.model
        nv, J, most = mb.nv, np.zeros((len(rows), 6, mb.nv)), np.zeros((len(rows), 2, mb.nv))
        refuse_large(J.shape, "the Jacobian of the contacts", "Take fewer states at a time.")
        if not len(rows):
            return J, most
        used = sorted({int(k) for k in np.unique(built.body[np.concatenate([rows.a, rows.b])]) if k >= 0})
        if not used:
            return J, most
        states, where = np.unique(rows.state, return_inverse=True)
        q = rows.q[states]
        frames: list[Any] = [mb.bodies[k] for k in used]
        twists = np.asarray(jacobian(mb, q, frames, ignore_loops=True)).reshape(len(q), len(used), 6, nv)
        origins = poses(mb, q).translation
        place = {k: i for i, k in enumerate(used)}
        point_a, point_b = rows.point_a, rows.point_b
        if meet:
            moved = [k for k in used if twists[:, place[k]].any()]
            both = np.isin(built.body[rows.a], moved) & np.isin(built.body[rows.b], moved)
            middle = 0.5 * (point_a + point_b)
            point_a, point_b = (np.where(both[:, None], middle, x) for x in (point_a, point_b))
        for side, sign, points in ((rows.a, -1.0, point_a), (rows.b, 1.0, point_b)):
            bodies = built.body[side]
            moving = np.flatnonzero(bodies >= 0)
            if not len(moving):
                continue
            at = np.array([place[int(k)] for k in bodies[moving]])
            T = twists[where[moving], at]
            r = points[moving] - origins[where[moving], bodies[moving]]
            J[moving, :3] += sign * T[:, :3]
            # v + w x r, by columns
            J[moving, 3:] += sign * (T[:, 3:] + np.cross(T[:, :3], r[:, :, None], axis=1))
            turns, slides = np.linalg.norm(T[:, :3], axis=1), np.linalg.norm(T[:, 3:], axis=1)
            most[moving, 0] += turns
            most[moving, 1] += slides + turns * np.linalg.norm(r, axis=1)[:, None]
        return J, most

    def gradient(self, rows: Contacts) -> Array:
        """The derivative of each row's distance along the dofs, (rows, nv): n.(J_b - J_a). O(rows nv).

        It is that of the nearest points; where faces are parallel and these jump, it is between the one-sided ones.
        """
        J = self.jacobian(rows)
        return np.asarray(np.einsum("ri,rij->rj", rows.normal, J))

    def smooth(self, q: Any, places: Integers, numbers: Array) -> npt.NDArray[np.bool_]:
        """True for each distance that has derivatives, (rows): `places` (rows, 3) are state and shapes, `numbers`
        (rows, 11) the results for them. Where faces or edges are parallel there are many nearest points, and shapes in
        each other may have two ways out that are equally long; `gradient` is then between the one-sided derivatives.
        O(rows).
        """
        built, out = self._current(), np.empty(len(numbers), dtype=np.int64)
        at, _ = self._poses(q, built)
        contact_smooth(built.core, at, np.ascontiguousarray(places), np.ascontiguousarray(numbers), out)
        return np.asarray(out != 0)

    def fastest(self, q: Any, v: Any) -> float:
        """A bound on the speed of any point of any shape at one state, in m/s. O(n + shapes)."""
        return float(self.fastest_of(q, v))

    def fastest_of(self, q: Any, v: Any) -> Array:
        """Largest speed of a point of a shape at each of many states, (...). O(n + shapes) each."""
        built, mb = self._current(), self.model
        if not built.placed or not len(mb.bodies):
            return np.zeros(np.shape(v)[:-1])
        V = np.asarray(velocities(mb, q, v, ignore_loops=True))
        far = self.far()
        turning = np.linalg.norm(V[..., :3], axis=-1)
        turned = np.where(turning > 0.0, turning * np.where(turning > 0.0, far, 0.0), 0.0)
        return np.asarray(np.max(np.linalg.norm(V[..., 3:], axis=-1) + turned, axis=-1))

    def turning(self, q: Any, v: Any) -> tuple[float, str]:
        """The angular speed of the body with shapes that turns fastest, in rad/s, and its name. O(n + shapes)."""
        far, mb = self.far(), self.model
        if not far.any():
            return 0.0, ""
        V = np.asarray(velocities(mb, q, v, ignore_loops=True))
        speeds = np.where(far > 0.0, np.linalg.norm(V[:, :3], axis=1), 0.0)
        fastest = int(np.argmax(speeds))
        return float(speeds[fastest]), mb.bodies[fastest].name

    def far(self) -> Array:
        """Reach of the shapes of each body from its frame, (bodies), in metres. O(n + shapes)."""
        built, far = self._current(), np.zeros(len(self.model.bodies))
        for shape, placed, local in zip(built.shapes, built.placed, built.local, strict=True):
            if placed.body >= 0:
                far[placed.body] = max(far[placed.body], float(np.linalg.norm(local[9:])) + shape.extent)
        return far

    @property
    def compiled(self) -> tuple[ContactScene, Any, Array, dict[int, Array]]:
        """Data for compiled steps: the compiled scene, the bodies of its shapes (-1 for the inertial frame), the poses
        of the shapes there (shapes, 12), and the velocities of surfaces that move, by shape.
        """
        built = self._current()
        return built.core, built.body, built.local, built.moving

    def cast_rays(self, q: Any, origin: Any, direction: Any, *, skip: Iterable[str] = ()) -> Hits:
        """First hits of rays (..., 3) in the inertial frame on a shape, at one configuration: lidar, altimeter. `skip`
        names shapes, or bodies, that rays pass through (the sensor's own). O(rays shapes).
        """
        built = self._current()
        passed = set(skip)
        self._check_names(passed)
        rays, unit, batch = read_rays(origin, direction)
        but = sorted({i for name in passed for i in built.names.of(name)})
        at, _ = self._poses(q, built)
        if len(at) != 1:
            raise StateError(f"rays are cast at one configuration, got {len(at)}.")
        out = np.empty((len(rays), 5))
        built.core.rays(at, rays, np.array(but, dtype=np.int64), out)
        return hits_of(out, rays, unit, batch, out[:, 4].astype(np.int64).reshape(batch))

    def time_of_impact(self, q0: Any, q1: Any) -> tuple[float, Contacts]:
        """Time, as a part from 0 to 1 of the way from q0 to q1, at which two shapes first touch (inf: they do not), and
        the rows of those that do, at that time. Each shape moves and turns from its pose at q0 to that at q1 at a
        constant rate; nothing thin is missed (conservative advancement). Shapes that touch at q0 are at time 0.
        """
        built = self._current()
        (start, q), (end, _) = self._poses(q0, built), self._poses(q1, built)
        if len(start) != 1 or len(end) != 1:
            raise StateError(f"q0 and q1 must be one configuration each, got {len(start)} and {len(end)}.")
        t, rows, places = first_impact(built, start[0], end[0])
        return t, self._table(built, q, rows, places)

    @property
    def thinnest(self) -> float:
        """The least thickness of two shapes that may touch, together, in metres; infinite where one of every two is a
        plane. O(shapes^2) where few may touch, once."""
        return self._current().thinnest

    def passing(self, start: tuple[Any, Any], end: tuple[Any, Any], h: float) -> Passing | None:
        """Two shapes that a step of h seconds between two states (q, v) may lead through each other: of all those that
        with the least of it left; None where all end on the side from which they came (see
        `soacraft.contact.geometry.passage`). O(n + shapes log shapes + pairs that are near).

        >>> import soacraft as sc
        >>> mb = sc.Multibody()
        >>> _ = mb.root.add_geometry(sc.Geometry("wall", "box", (0.01, 1.0, 1.0)))
        >>> ball = mb.add_body("ball", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
        >>> _ = ball.add_geometry(sc.Geometry("skin", "sphere", (0.01,)))
        >>> Scene(mb).passing(([-0.05], [10.0]), ([0.05], [10.0]), 0.01)
        'ball/skin' and 'inertial/wall', 0.03 m thick together, come up to 0.115 m closer from a gap of 0.035 m
        >>> Scene(mb).passing(([-0.05], [10.0]), ([-0.01], [10.0]), 0.004) is None
        True
        """
        built, names = self._current(), self.names
        poses_, velocities_ = zip(*(self._moving(q, v, built) for q, v in (start, end)), strict=True)
        worst = built.core.passing(np.concatenate(poses_), np.array(velocities_), float(h))
        return None if worst is None else Passing(names[worst[0]], names[worst[1]], *worst[2:])

    # -- behind them -----------------------------------------------------------------------------------------

    def _moving(self, q: Any, v: Any, built: Placement) -> tuple[Array, Array]:
        """Poses (1, shapes, 12) of the shapes at one state, and the velocities (shapes, 6) of their origins."""
        at, mb, twists = self._poses(q, built)[0], self.model, np.zeros((len(built.placed), 6))
        moving = np.flatnonzero(built.body >= 0)
        if len(moving):
            body = built.body[moving]
            V = np.asarray(velocities(mb, q, v, ignore_loops=True))[body]
            arm = at[0, moving, 9:] - poses(mb, q).translation[body]
            twists[moving] = np.hstack([V[:, :3], V[:, 3:] + np.cross(V[:, :3], arm)])
        return at, twists

    def _run(self, q: Any, within: float, several: bool, threads: int | None) -> Contacts:
        built = self._current()
        at, read = self._poses(q, built)
        count = 1 if threads is None else whole_number(threads, "threads", 1)
        rows, places = built.core.run(at, within, several, count)
        return self._table(built, read, rows, places)

    def _table(self, built: Placement, q: Array, rows: Array, places: Any) -> Contacts:
        state, a, b = places[:, 0], places[:, 1], places[:, 2]
        slip = np.zeros((len(rows), 3))
        if built.moving:
            at = self._poses(q, built)[0]
            for side, sign in ((a, -1.0), (b, 1.0)):
                for i in np.flatnonzero(np.isin(side, list(built.moving))):
                    k = int(side[i])
                    slip[i] += sign * (at[state[i], k, :9].reshape(3, 3) @ built.moving[k])
        return Contacts(
            tuple(built.index), q, state, a, b, rows[:, 0], rows[:, 1:4], rows[:, 4:7], rows[:, 7:10], rows[:, 10],
            slip, built.key,
        )  # fmt: skip

    def _poses(self, q: Any, built: Placement) -> tuple[Array, Array]:
        """Poses of the shapes (states, shapes, 12), and q as (states, nq)."""
        mb = self.model
        states_of_q = np.asarray(getattr(q, "in_model_order", q))
        if states_of_q.ndim > 2:
            raise StateError(f"q must have the shape (nq,) or (states, nq), got {states_of_q.shape}.")
        bodies = poses(mb, q)
        R, p = bodies.rotation, bodies.translation
        states = 1 if R.ndim == 3 else len(R)
        n, count = len(mb.bodies), len(built.placed)
        refuse_large((states, count, 12), "the poses of the shapes", "Take fewer states at a time.")
        R0, p0 = np.empty((states, n + 1, 3, 3)), np.zeros((states, n + 1, 3))
        R0[:, :n], p0[:, :n] = R.reshape(states, n, 3, 3), p.reshape(states, n, 3)
        R0[:, n] = np.eye(3)  # the inertial frame is number -1
        Rb, pb = R0[:, built.body], p0[:, built.body]
        local = built.local
        at = np.empty((states, count, 12))
        at[..., :9] = (Rb @ local[:, :9].reshape(-1, 3, 3)).reshape(states, count, 9)
        at[..., 9:] = require_near((Rb @ local[:, 9:, None])[..., 0] + pb)
        return at, np.array(states_of_q, dtype=np.float64).reshape(states, mb.nq)

    def _check_rows(self, rows: Contacts) -> None:
        if not isinstance(rows, Contacts):
            raise ModelError(f"rows are what distances or contacts gave, got {rows!r:.60}.")
        if rows.key is not self._current().key:
            raise StaleError("these rows are of a scene that has changed since; ask for its distances again.")

    def _current(self) -> Placement:
        key, built = key_of(self.model), self._built
        if built is not None and len(key) == len(built.key) and all(map(_same, key, built.key)):
            return built
        self._built = placement = place(self.model, self._maker, self._choices, key)
        return placement

    def __repr__(self) -> str:
        built = self._current()
        count = built.core.pair_count()
        return f"scene of {self.model.name!r}: {len(built.shapes)} shapes, {count} pairs may touch"


def _same(x: Any, y: Any) -> bool:
    return x is y or bool(x == y)

"""Queries of two shapes at given poses: distance, points of contact; and rays against one shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft.contact.geometry.compiled import (
    SPOT,
    contact_call,
    contact_distance,
    contact_manifold,
    contact_rays,
    pose_rows,
    require_near,
)
from soacraft.contact.geometry.shapes import Shape
from soacraft.errors import ModelError
from soacraft.model.tree.arguments import read_pose
from soacraft.results import refuse_large
from soacraft.spatial.checks import Array, finite, frozen
from soacraft.spatial.pose import Pose


class Nearest:
    """The nearest points of two shapes, or the deepest; arrays of a batch have its leading axes. Read-only.

    `distance` is signed. `point_a` and `point_b` are on the shapes, `normal` is the unit vector from a to b:
    distance = normal . (point_b - point_a). `error` bounds what `distance` may be off by: what the iteration leaves and
    and the rounding of thin faces in depths of curved shapes. It is zero for closed forms; rounding of numbers of the
    size of the shapes, about 1e-14 of it, is not in it.
    """

    __slots__ = ("_rows",)

    _rows: Array | bytes
    """(..., 11), read-only; of one pair, from the compiled call, the bytes of eleven numbers."""

    def __init__(self, rows: Array) -> None:
        self._rows = rows

    @property
    def distance(self) -> Any:
        """The signed distance, in metres."""
        return self._number(0)

    @property
    def point_a(self) -> Array:
        """The point on a, (..., 3)."""
        return self._array()[..., 1:4]

    @property
    def point_b(self) -> Array:
        """The point on b, (..., 3)."""
        return self._array()[..., 4:7]

    @property
    def normal(self) -> Array:
        """The unit vector from a to b, (..., 3)."""
        return self._array()[..., 7:10]

    @property
    def error(self) -> Any:
        """Bound of the error of the distance, in metres."""
        return self._number(10)

    def _number(self, i: int) -> Any:
        rows = self._array()
        return float(rows[i]) if rows.ndim == 1 else rows[..., i]

    def _array(self) -> Array:
        return np.frombuffer(self._rows) if isinstance(self._rows, bytes) else self._rows

    def __repr__(self) -> str:
        d = self.distance
        if np.ndim(d):
            reach = f", distances {np.min(d):.6g} to {np.max(d):.6g}" if np.size(d) else ""
            return f"nearest points of {np.size(d)} pairs{reach}"
        way = ", ".join(f"{x + 0.0:.6g}" for x in self.normal)
        return f"distance {d:.6g}, normal ({way})"


@dataclass(frozen=True, eq=False)
class Hits:
    """First hits of rays on a shape: `distance` along each (inf: nowhere), the `point` there and the outward `normal`.

    Of a scene, `shape` numbers the shape that is met, in the order of `scene.names`; -1 for none.
    """

    distance: Array
    point: Array
    normal: Array
    shape: Any = None

    def __repr__(self) -> str:
        met = int(np.isfinite(self.distance).sum())
        return f"{np.size(self.distance)} rays, {met} meet something"


def distance(a: Shape, pose_a: Pose, b: Shape, pose_b: Pose, within: float = np.inf) -> Nearest:
    """The signed distance of two shapes at poses in one frame, or at two batches of poses. O(1) for primitives.

        d = max over unit n of -h(n),   h(n) = max n.(a - b)   over points a, b of the shapes

    Negative in penetration: the shortest way out. Boxes, spheres, capsules and planes by closed forms in contact, other
    convex shapes by GJK and an expanding polytope to 1e-12 of their size; triangle meshes by a tree of boxes, in
    penetration by the shortest push known that clears them (the depth, where they are convex). Beyond `within` a
    distance is infinite and its points are zero.

    >>> from soacraft.contact import Box, Sphere
    >>> found = distance(Box(2, 2, 2), Pose(), Sphere(0.5), Pose(translation=(0, 0, 2)))
    >>> found
    distance 0.5, normal (0, 0, 1)
    >>> found.point_a, found.point_b
    (array([0., 0., 1.]), array([0. , 0. , 1.5]))
    """
    return _quick(a, pose_a, b, pose_b, within)  # type: ignore[no-any-return]


def _batch(a: Shape, pose_a: Pose, b: Shape, pose_b: Pose, within: float) -> Nearest:
    """Distances at batches of poses; refuses what is not right."""
    require_pair(a, b)
    for pose, name in ((pose_a, "pose_a"), (pose_b, "pose_b")):
        if not isinstance(pose, Pose):
            raise ModelError(f"{name} must be a Pose such as Pose(translation=(0, 0, 0.1)), got {pose!r:.60}.")
    try:
        shape = np.broadcast_shapes(pose_a.batch_shape, pose_b.batch_shape)
    except ValueError:
        raise ModelError(
            f"the batches of poses must match, got {pose_a.batch_shape} and {pose_b.batch_shape}."
        ) from None
    refuse_large((*shape, SPOT), "the distances", "Take fewer poses at a time.")
    rows = [_rows(pose, shape) for pose in (pose_a, pose_b)]
    out = np.empty((int(np.prod(shape)), SPOT))
    contact_distance(a.core, *rows[0], b.core, *rows[1], read_within(within), out)
    return Nearest(frozen(out.reshape(*shape, SPOT)))


def _rows(pose: Pose, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Rotations and translations of a batch, or of one for all, as rows."""
    R, p = pose.rotation, require_near(pose.translation)
    if pose.batch_shape not in ((), shape):
        R, p = np.broadcast_to(R, (*shape, 3, 3)), np.broadcast_to(p, (*shape, 3))
    return np.ascontiguousarray(R).reshape(-1, 9), np.ascontiguousarray(p).reshape(-1, 3)


#: The compiled call: plain arguments are answered at once, the others go to `_batch`.
_quick = contact_call(Shape, Pose, Nearest, _batch)


def contacts(a: Shape, pose_a: Pose, b: Shape, pose_b: Pose, within: float = 0.0) -> Nearest:
    """The points of contact of two shapes, a batch of them: the nearest first, then the corners of where their faces
    lie over each other, with gaps of at most `within` metres along their normals. Empty where they are farther apart.

    >>> from soacraft.contact import Box, Plane
    >>> found = contacts(Plane(), Pose(), Box(2, 2, 2), Pose(translation=(0, 0, 0.999)))
    >>> found.distance.round(6)
    array([-0.001, -0.001, -0.001, -0.001])
    """
    require_pair(a, b)
    one = [read_pose(pose, name) for pose, name in ((pose_a, "pose_a"), (pose_b, "pose_b"))]
    rows = contact_manifold(a.core, pose_rows(one[0]), b.core, pose_rows(one[1]), read_within(within))
    return Nearest(frozen(rows))


def cast_rays(shape: Shape, pose: Pose, origin: Any, direction: Any) -> Hits:
    """First hits of rays from `origin` along `direction`, (..., 3) each, on a shape, from outside or inside. O(1) a ray
    for primitives, O(log triangles) for meshes.

    >>> from soacraft.contact import Sphere
    >>> cast_rays(Sphere(1.0), Pose(), (0, 0, 5), (0, 0, -2)).distance
    array(4.)
    """
    _require_shape(shape)
    rays, size, batch = read_rays(origin, direction)
    out = np.empty((len(rays), 4))
    contact_rays(shape.core, pose_rows(read_pose(pose, "pose")), rays, out)
    return hits_of(out, rays, size, batch)


def read_rays(origin: Any, direction: Any) -> tuple[Array, Array, tuple[int, ...]]:
    """Rays as rows (count, 6) with unit directions."""
    o, d = finite(origin, (..., 3), "the origin of rays"), finite(direction, (..., 3), "the direction of rays")
    try:
        o, d = np.broadcast_arrays(o, d)
    except ValueError:
        raise ModelError(f"origins and directions of rays must match, got {o.shape} and {d.shape}.") from None
    largest = np.abs(d).max(axis=-1, keepdims=True)
    if not (largest > 0.0).all():
        raise ModelError("the direction of a ray must not be zero.")
    unit = d / largest
    unit = unit / np.linalg.norm(unit, axis=-1, keepdims=True)
    rays = np.concatenate([o.reshape(-1, 3), unit.reshape(-1, 3)], axis=1)
    return np.ascontiguousarray(rays), unit, o.shape[:-1]


def hits_of(out: Array, rays: Array, unit: Array, batch: tuple[int, ...], shape: Any = None) -> Hits:
    """Hits from rows (t, normal)."""
    t = out[:, 0]
    with np.errstate(invalid="ignore"):
        point = rays[:, :3] + np.where(np.isfinite(t), t, 0.0)[:, None] * rays[:, 3:]
    point[~np.isfinite(t)] = np.nan
    return Hits(t.reshape(batch), point.reshape(*batch, 3), out[:, 1:4].reshape(*batch, 3), shape)


def read_within(within: Any) -> float:
    """Read the largest distance to look for, in metres; infinite by default."""
    if isinstance(within, float | int) and not isinstance(within, bool) and within == np.inf:
        return np.inf
    return float(finite(within, (), "within"))


def _require_shape(shape: Any) -> None:
    if not isinstance(shape, Shape):
        raise ModelError(f"a shape is a Sphere, Box, ConvexHull or the like of soacraft.contact, got {shape!r:.60}.")


def require_pair(a: Any, b: Any) -> None:
    """Refuse arguments that are no shape, and pairs that have no distance."""
    for shape in (a, b):
        _require_shape(shape)
    refusal = unanswerable(a, b)
    if refusal:
        raise ModelError(f"{refusal}.")


def unanswerable(a: Shape, b: Shape) -> str:
    """Reason why a pair has no distance; an empty text where it has one."""
    if a.kind == b.kind == "plane":
        return "two planes have no distance: each is a half space without end; make one of them a Box"
    return ""

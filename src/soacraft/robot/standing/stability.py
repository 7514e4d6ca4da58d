"""Regions of the centre of mass of a robot in which contacts hold it: support polygons, and regions on any ground.

Contacts push with forces inside their friction cones, here pyramids of `sides` faces. The robot can stand where there
are such forces with

    sum f = -m g,     sum p x f = -c x m g

The centres of mass c for which there are some fill a prism along g; its section is a convex polygon (Bretl and Lall
2008), whose corners are found by linear programs, one for each direction that is looked in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

from soacraft.analysis.finite import refusing_overflow
from soacraft.arguments import whole_number
from soacraft.errors import ConvergenceError, StateError
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.rotations import axes_along

#: Equations and costs of linear programs hold to this, in weights of the robot and sizes of the stance.
_WITHIN = 1e-10
#: A corner is new where it is farther out than this part of the size of the contacts.
_NEW = 1e-9
#: Points are on a line where they are no farther off it than this part of how far they are apart.
_FLAT = 1e-10
_MOST = 200
#: Faces of the pyramids that stand for friction cones, unless told: 8 have cos(pi / 8) = 0.92 of the friction at worst.
SIDES = 8
MOST_SIDES = 10_000
#: More friction than this counts as this, so that linear programs are solved: nothing slides on it.
_STICKS = 1e6


@dataclass(frozen=True, eq=False)
class Region:
    """A convex polygon in the plane across gravity, through the inertial origin."""

    corners: Array
    """(k, 2), counter-clockwise, along the two `axes`; none where the robot cannot stand."""
    axes: Array
    """(2, 3): two directions across gravity."""

    def __bool__(self) -> bool:
        return len(self.corners) > 0

    def margin(self, point: Any) -> tuple[Any, Any]:
        """Distance of a point (..., 3), seen along gravity, from the edges of the polygon, in metres, less than zero
        outside; and the number of the edge that is nearest, from that corner to the next.

        Outside it is the distance to the line of the edge that is farthest off, the least that it must go.
        """
        if len(self.corners) < 3:
            raise StateError("the region has no inside: there are too few contacts, or the robot cannot stand on them.")
        x = finite(point, (..., 3), "a point", StateError) @ self.axes.T
        a, b = self.corners, np.roll(self.corners, -1, axis=0)
        along = b - a
        inward = np.column_stack([-along[:, 1], along[:, 0]]) / np.linalg.norm(along, axis=1)[:, None]
        depth = x @ inward.T - np.einsum("ij,ij->i", inward, a)
        k = np.argmin(depth, axis=-1)
        least = np.take_along_axis(depth, k[..., None], axis=-1)[..., 0]
        return (float(least), int(k)) if x.ndim == 1 else (least, k)

    def contains(self, point: Any) -> Any:
        """True if a point (..., 3) is inside."""
        return self.margin(point)[0] >= 0.0

    @property
    def area(self) -> float:
        """Area in square metres."""
        x, y = self.corners.T
        return 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) if len(self.corners) > 2 else 0.0

    def points(self, height: float = 0.0) -> Array:
        """The corners as points (k, 3), so high above the inertial origin against gravity."""
        above = float(finite(height, (), "height", StateError))
        return np.asarray(self.corners @ self.axes + above * np.cross(*self.axes))

    def __repr__(self) -> str:
        return f"region with {len(self.corners)} corners, {self.area:.4g} m^2"


@refusing_overflow()
def support_polygon(points: Any, gravity: Any = (0.0, 0.0, -9.80665)) -> Region:
    """The convex hull of points of contact (k, 3), seen along gravity: where the centre of mass must be over level
    ground with friction enough. O(k log k).

    >>> import soacraft as sc
    >>> sc.robot.support_polygon([[0, 0, 0], [2, 0, 0], [0, 1, 0], [0.5, 0.2, 0.1]])
    region with 3 corners, 1 m^2
    """
    p = finite(points, (None, 3), "points of contact", StateError)
    axes = across(gravity)
    return Region(hull(p @ axes.T)[0], axes)


@refusing_overflow()
def standing_region(
    points: Any,
    normals: Any,
    friction: Any,
    gravity: Any = (0.0, 0.0, -9.80665),
    *,
    sides: int = SIDES,
    push: Any = None,
) -> Region:
    """Region of the centre of mass in which forces inside the friction cones hold the robot, on slopes and uneven
    ground.

    `points` and `normals` (k, 3), out of the ground; `friction` one number or k. Cones are pyramids inside them with
    `sides` faces, so that the region is never too large. `push` is an additional force (3) for each kilogram at the
    centre of mass. A linear program for each corner.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> feet = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    >>> region = sc.robot.standing_region(feet, np.tile([0.0, 0, 1], (3, 1)), 0.5)
    >>> region.corners.round(9) + 0.0
    array([[1., 0.],
           [0., 1.],
           [0., 0.]])
    """
    p, n, mu = contacts(points, normals, friction)
    g = finite(gravity, (3,), "gravity", StateError)
    total = g + (np.zeros(3) if push is None else finite(push, (3,), "push", StateError))
    axes = across(total)
    each = [pyramid(a, float(b), sides) for a, b in zip(n, mu, strict=True)]
    rays, middle = np.concatenate(each), p.mean(axis=0)
    rays = rays / np.linalg.norm(rays, axis=1, keepdims=True)
    at = np.repeat(p - middle, [len(x) for x in each], axis=0)
    size = float(np.linalg.norm(p - middle, axis=1).max()) or 1.0
    pull = float(np.linalg.norm(total))
    # unknowns: weights of the rays, in weights of the robot, and where c is along the axes, in sizes of the stance
    balance = np.zeros((6, len(rays) + 2))
    balance[:3, : len(rays)] = rays.T
    balance[3:, : len(rays)] = np.cross(at, rays).T / size
    balance[3:, len(rays) :] = np.cross(axes, total / pull).T
    right = np.concatenate([-total / pull, np.zeros(3)])

    bounds = [(0.0, None)] * len(rays) + [(None, None)] * 2

    def farthest(direction: Array) -> Array | None:
        solution = _solved(np.concatenate([np.zeros(len(rays)), -direction]), balance, right, bounds)
        if solution.status == 3:
            raise StateError("the region has no end: contacts face each other and hold the robot wherever its mass is.")
        return None if solution.status == 2 else np.asarray(solution.x[-2:])

    return Region(_polygon(farthest) * size + axes @ middle, axes)


def _solved(cost: Array, A: Array, b: Array, bounds: list[Any]) -> Any:
    """A linear program of numbers of about one: its optimum, or that it has none (status 2) or no end (status 3).

    At the border to having none the solver may not decide. Then the least that is left of the equations does: with more
    than rounding there is none, and else the equations are taken as far as they hold.
    """
    for presolve in (True, False):  # before it a program without end may look like one without an answer
        solution = _linear(cost, A, b, bounds, presolve)
        if solution.status in (0, 2, 3):
            return solution
    slack = np.concatenate([A, np.eye(len(b)), -np.eye(len(b))], axis=1)
    more = np.concatenate([np.zeros(len(cost)), np.ones(2 * len(b))])
    relaxed = _linear(more, slack, b, [*bounds, *[(0.0, None)] * (2 * len(b))])
    if relaxed.status == 0 and relaxed.fun > 10.0 * _WITHIN:
        relaxed.status = 2
        return relaxed
    if relaxed.status == 0:
        solution = _linear(cost, A, A @ relaxed.x[: len(cost)], bounds)
        if solution.status in (0, 3):
            return solution
    raise ConvergenceError(f"the region of the centre of mass was not found: {solution.message:.160}")


def _linear(cost: Array, A: Array, b: Array, bounds: list[Any], presolve: bool = True) -> Any:
    options: Any = {
        "primal_feasibility_tolerance": _WITHIN, "dual_feasibility_tolerance": _WITHIN, "presolve": presolve
    }  # fmt: skip
    return linprog(cost, A_eq=A, b_eq=b, bounds=bounds, method="highs", options=options)


def contacts(points: Any, normals: Any, friction: Any) -> tuple[Array, Array, Array]:
    """Points (k, 3), unit normals (k, 3) and friction (k)."""
    p = finite(points, (None, 3), "points of contact", StateError)
    n = finite(normals, (len(p), 3), "normals of contacts", StateError)
    mu = finite(friction, (...,), "friction", StateError)
    length = np.linalg.norm(n, axis=1)
    if not len(p) or mu.shape not in ((), (len(p),)) or (length == 0.0).any() or (mu < 0.0).any():
        raise StateError("contacts need points, normals that are not zero, and friction that is not negative.")
    return p, n / length[:, None], np.broadcast_to(mu, (len(p),))


def tangents(normal: Array) -> Array:
    """Two directions across a unit normal, (2, 3); the first is level for normals in a plane of two axes."""
    _, x, y = axes_along(normal)
    return np.array([y, -x])


def pyramid(normal: Array, mu: float, sides: int) -> Array:
    """Edges of a pyramid inside a friction cone, (sides, 3), three or more; the normal alone without friction."""
    read_sides(sides)
    if mu == 0.0:
        return normal[None]
    angle = 2.0 * np.pi * np.arange(sides) / sides
    along = np.column_stack([np.cos(angle), np.sin(angle)]) @ tangents(normal)
    return np.asarray(normal + float(stuck(mu)) * along)


def stuck(mu: Any) -> Array:
    """Friction, and no more of it than anything can slide on."""
    return np.asarray(np.minimum(mu, _STICKS))


def read_sides(sides: Any) -> int:
    """Read the number of faces of a pyramid."""
    return whole_number(sides, "sides of a friction pyramid", 3, MOST_SIDES, StateError)


def across(gravity: Any) -> Array:
    """Two directions across gravity, so that they and the one against it are right-handed."""
    g = finite(gravity, (3,), "gravity", StateError)
    size = float(np.linalg.norm(g))
    if size == 0.0:
        raise StateError("without gravity nothing stands.")
    up = -g / size
    x = np.eye(3)[0] if abs(up[0]) < 0.9 else np.eye(3)[1]
    x = x - (x @ up) * up
    x /= np.linalg.norm(x)
    return np.array([x, np.cross(up, x)])


def hull(points: Array) -> tuple[Array, Any]:
    """Corners of the convex hull of points in a plane, counter-clockwise, and their numbers; of points on a line its
    two ends, of points at one place that one."""
    spread = points - points.mean(axis=0)
    if len(points) < 2 or not np.abs(spread).max() > 0.0:
        return points[:1], np.arange(len(points))[:1]
    _, values, V = np.linalg.svd(spread, full_matrices=False)
    along = spread @ V[0]
    flat = len(values) < 2 or values[1] <= _FLAT * values[0]
    at = np.array([np.argmin(along), np.argmax(along)]) if flat else np.asarray(ConvexHull(spread / values[0]).vertices)
    return points[at], at


def _polygon(farthest: Callable[[Array], Array | None]) -> Array:
    """The convex polygon whose farthest point in every direction a function gives: edges are looked beyond until none
    gives more. Its size is about one."""
    corner_points = [farthest(np.array([np.cos(a), np.sin(a)])) for a in (0.1, 2.2, 4.3)]
    if any(x is None for x in corner_points):
        return np.zeros((0, 2))
    corners = hull(np.array(corner_points))[0]
    done: set[tuple[float, ...]] = set()
    for _ in range(_MOST):
        edges = list(zip(corners, np.roll(corners, -1, axis=0), strict=True)) if len(corners) > 1 else []
        new = []
        for a, b in edges:
            key = (*a.tolist(), *b.tolist())
            edge = b - a
            length = float(np.linalg.norm(edge))
            if key in done or length <= _NEW:
                continue
            done.add(key)
            out = np.array([edge[1], -edge[0]]) / length
            x = farthest(out)
            if x is not None and out @ (x - a) > _NEW:
                new.append(x)
        if not new:
            break
        corners = hull(np.vstack([corners, *new]))[0]
    return corners

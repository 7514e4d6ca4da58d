"""Whether a robot that stands on contacts falls: where its centre of mass may be, and how far it is from tipping.

Contacts push with forces inside their friction cones, here pyramids of `sides` faces. The robot can stand where there
are such forces with

    sum f = -m g,     sum p x f = -c x m g

The centres of mass c for which there are some fill a prism along g; its section is a convex polygon (Bretl and Lall
2008), whose corners are found by linear programs, one for each direction that is looked in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog

from soacraft import dynamics as dyn
from soacraft.errors import StateError
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.checks import Array, finite

#: A corner is new where it is farther out than this part of the size of the contacts.
_NEW = 1e-9
_MOST = 200


@dataclass(frozen=True, eq=False)
class Region:
    """A convex polygon in the plane across gravity, through the inertial origin."""

    corners: Array
    """(k, 2), counter-clockwise, along the two `axes`; none where the robot cannot stand."""
    axes: Array
    """(2, 3): two directions across gravity."""

    def __bool__(self) -> bool:
        return len(self.corners) > 0

    def margin(self, point: Any) -> tuple[float, int]:
        """How far a point (3), seen along gravity, is inside of the polygon, in metres, less than zero outside; and the
        number of the edge that is nearest, from that corner to the next."""
        if len(self.corners) < 3:
            raise StateError("the region has no inside: there are too few contacts, or the robot cannot stand on them.")
        x = self.axes @ finite(np.asarray(point, dtype=float), (3,), "a point", StateError)
        a, b = self.corners, np.roll(self.corners, -1, axis=0)
        along = b - a
        inward = np.column_stack([-along[:, 1], along[:, 0]]) / np.linalg.norm(along, axis=1)[:, None]
        depth = np.einsum("ij,ij->i", inward, x - a)
        k = int(np.argmin(depth))
        return float(depth[k]), k

    def contains(self, point: Any) -> bool:
        """Whether a point is inside."""
        return self.margin(point)[0] >= 0.0

    def __repr__(self) -> str:
        return f"region with {len(self.corners)} corners"


def support_polygon(points: Any, gravity: Any = (0.0, 0.0, -9.80665)) -> Region:
    """The convex hull of points of contact (k, 3), seen along gravity: where the centre of mass must be over level
    ground with friction enough. O(k log k)."""
    p = finite(np.asarray(points, dtype=float), (None, 3), "points of contact", StateError)
    axes = _across(gravity)
    return Region(_hull(p @ axes.T), axes)


def standing_region(
    points: Any, normals: Any, friction: Any, gravity: Any = (0.0, 0.0, -9.80665), *, sides: int = 8, push: Any = None
) -> Region:
    """Where the centre of mass may be for forces inside the friction cones to hold the robot, on slopes and uneven
    ground.

    `points` and `normals` (k, 3), out of the ground; `friction` one number or k. Cones are pyramids inside them with
    `sides` faces, so that nothing is promised that does not hold. `push` is a force (3) for each kilogram that acts at
    the centre of mass besides. A linear program for each corner.

    >>> import numpy as np
    >>> feet = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    >>> region = standing_region(feet, np.tile([0.0, 0, 1], (3, 1)), 0.5)
    >>> region.corners.round(9) + 0.0
    array([[0., 0.],
           [1., 0.],
           [0., 1.]])
    """
    p, n, mu = _contacts(points, normals, friction)
    g = finite(np.asarray(gravity, dtype=float), (3,), "gravity", StateError)
    total = g + (np.zeros(3) if push is None else finite(np.asarray(push, dtype=float), (3,), "push", StateError))
    axes = _across(total)
    rays = np.concatenate([_pyramid(a, b, int(sides)) for a, b in zip(n, mu, strict=True)])
    at = np.repeat(p, int(sides), axis=0)
    size = float(np.linalg.norm(p - p.mean(axis=0), axis=1).max()) or 1.0
    # unknowns: weights of the rays, for a robot of one kilogram, and where c is along the axes
    balance = np.zeros((6, len(rays) + 2))
    balance[:3, : len(rays)] = rays.T
    balance[3:, : len(rays)] = np.cross(at, rays).T
    balance[3:, len(rays) :] = np.cross(axes, total).T
    right = np.concatenate([-total, np.zeros(3)])

    def farthest(direction: Array) -> Array | None:
        cost = np.concatenate([np.zeros(len(rays)), -direction])
        bounds = [(0.0, None)] * len(rays) + [(None, None)] * 2
        found = linprog(cost, A_eq=balance, b_eq=right, bounds=bounds, method="highs")
        if found.status == 3:
            raise StateError("the region has no end: contacts face each other and hold the robot wherever its mass is.")
        return None if found.x is None or found.status != 0 else np.asarray(found.x[-2:])

    return Region(_polygon(farthest, size), axes)


def zero_moment_point(mb: Multibody, q: Any, v: Any, vdot: Any, point: Any = (0.0, 0.0, 0.0)) -> Array:
    """Where the forces of the ground, on a plane through `point` across gravity, have no moment in that plane, (3).

        z = p + g x n / (g . f),   f = m (cddot - g),  n the rate of angular momentum about p less the moment of gravity
    """
    p = finite(np.asarray(point, dtype=float), (3,), "point", StateError)
    T = np.asarray(mb.gravity)
    size = float(np.linalg.norm(T))
    if size == 0.0:
        raise StateError(f"{mb.name!r} has no gravity, so nothing stands.")
    up = -T / size
    c, _, cddot = _center(mb, q, v, vdot)
    f = mb.total_mass * (cddot - T)
    moment = _rate(mb, q, np.asarray(v, dtype=float), np.asarray(vdot, dtype=float))[:3] + np.cross(c - p, f)
    pressed = float(up @ f)
    if not pressed > 0.0:
        raise StateError("nothing presses on the ground: the robot flies.")
    return np.asarray(p + np.cross(up, moment) / pressed)


def capture_point(mb: Multibody, q: Any, v: Any, ground: Any = (0.0, 0.0, 0.0)) -> Array:
    """Where a point foot would have to stand for the robot to come to rest over it, (3): c + cdot sqrt(h/g) on the
    ground, h the height of the centre of mass, as a linear inverted pendulum falls."""
    p = finite(np.asarray(ground, dtype=float), (3,), "ground", StateError)
    g = np.asarray(mb.gravity)
    size = float(np.linalg.norm(g))
    if size == 0.0:
        raise StateError(f"{mb.name!r} has no gravity, so nothing falls.")
    up = -g / size
    c, cdot, _ = _center(mb, q, v, np.zeros(mb.nv))
    height = float(up @ (c - p))
    if not height > 0.0:
        raise StateError(f"the centre of mass of {mb.name!r} is not above the ground.")
    x = c + cdot * np.sqrt(height / size)
    return np.asarray(x - (up @ (x - p)) * up)


def tip_over(points: Any, center: Any, force: Any) -> tuple[float, tuple[int, int]]:
    """The angle by which the net force at the centre of mass may turn before the robot tips over an edge between two of
    its contacts (Papadopoulos and Rey 1996), the least of all edges, less than zero where it tips; and that edge.

    `points` (k, 3) go around the robot, counter-clockwise seen from above; `force` (3) is gravity less m cddot."""
    p = finite(np.asarray(points, dtype=float), (None, 3), "points of contact", StateError)
    c = finite(np.asarray(center, dtype=float), (3,), "center", StateError)
    f = finite(np.asarray(force, dtype=float), (3,), "force", StateError)
    if len(p) < 3 or not np.linalg.norm(f) > 0.0:
        raise StateError("tipping is over the edges of at least three contacts, under a force that is not zero.")
    least, which = np.inf, (0, 1)
    for i in range(len(p)):
        j = (i + 1) % len(p)
        axis = (p[j] - p[i]) / np.linalg.norm(p[j] - p[i])
        arm = p[j] - c - ((p[j] - c) @ axis) * axis  # from the centre of mass to the edge
        push = f - (f @ axis) * axis
        angle = float(np.arctan2(axis @ np.cross(arm, push), push @ arm))
        if angle < least:
            least, which = angle, (i, j)
    return least, which


def _center(mb: Multibody, q: Any, v: Any, vdot: Any) -> tuple[Array, Array, Array]:
    c = np.asarray(dyn.center_of_mass(mb, q))
    A = np.asarray(dyn.centroidal_momentum_matrix(mb, q))
    v, vdot = np.asarray(v, dtype=float), np.asarray(vdot, dtype=float)
    linear = A[3:] @ v / mb.total_mass
    return c, linear, _rate(mb, q, v, vdot)[3:] / mb.total_mass


def _rate(mb: Multibody, q: Any, v: Array, vdot: Array) -> Array:
    """The rate of momentum about the centre of mass, [angular; linear], of all bodies; rotors do not count."""
    if mb.layout.flexible:
        raise StateError(f"{mb.name!r} has flexible bodies, whose momentum is not only that of their frames.")
    c = np.asarray(dyn.center_of_mass(mb, q))
    state = mb.state(q, v, vdot)
    total = np.zeros(6)
    for body in mb.bodies:
        X = mb.pose(body, state=state)
        R, m = X.rotation, body.inertia.mass
        V, a = mb.velocity(body, state=state), mb.acceleration(body, state=state)
        w, alpha = np.asarray(V.angular), np.asarray(a.angular)
        r = R @ body.inertia.com
        cddot = np.asarray(a.linear) + np.cross(alpha, r) + np.cross(w, np.cross(w, r))
        own = R @ body.inertia.moment @ R.T
        total[:3] += own @ alpha + np.cross(w, own @ w) + np.cross(X.translation + r - c, m * cddot)
        total[3:] += m * cddot
    return total


def _contacts(points: Any, normals: Any, friction: Any) -> tuple[Array, Array, Array]:
    p = finite(np.asarray(points, dtype=float), (None, 3), "points of contact", StateError)
    n = finite(np.asarray(normals, dtype=float), (len(p), 3), "normals of contacts", StateError)
    mu = np.broadcast_to(finite(np.asarray(friction, dtype=float), (...,), "friction", StateError), (len(p),))
    length = np.linalg.norm(n, axis=1)
    if not len(p) or (length == 0.0).any() or (mu < 0.0).any():
        raise StateError("contacts need points, normals that are not zero, and friction that is not negative.")
    return p, n / length[:, None], mu


def _pyramid(normal: Array, mu: float, sides: int) -> Array:
    """Edges of a pyramid inside a friction cone, (sides, 3); with three faces or more."""
    if sides < 3:
        raise StateError(f"a friction pyramid has three sides or more, got {sides}.")
    first = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    first /= np.linalg.norm(first)
    angle = 2.0 * np.pi * np.arange(sides) / sides
    return np.asarray(normal + mu * (np.outer(np.cos(angle), first) + np.outer(np.sin(angle), np.cross(normal, first))))


def _across(gravity: Any) -> Array:
    """Two directions across gravity, so that they and the one against it are right-handed."""
    g = finite(np.asarray(gravity, dtype=float), (3,), "gravity", StateError)
    size = float(np.linalg.norm(g))
    if size == 0.0:
        raise StateError("without gravity nothing stands.")
    up = -g / size
    x = np.eye(3)[0] if abs(up[0]) < 0.9 else np.eye(3)[1]
    x = x - (x @ up) * up
    x /= np.linalg.norm(x)
    return np.array([x, np.cross(up, x)])


def _hull(points: Array) -> Array:
    """Corners of the convex hull, counter-clockwise (Andrew's chain)."""
    order = points[np.lexsort((points[:, 1], points[:, 0]))]
    size = float(np.abs(order - order.mean(axis=0)).max()) or 1.0

    def chain(rows: Array) -> list[Array]:
        made: list[Array] = []
        for x in rows:
            while len(made) > 1 and _turn(made[-2], made[-1], x) <= 1e-12 * size**2:
                made.pop()
            made.append(x)
        return made

    lower, upper = chain(order), chain(order[::-1])
    return np.array(lower[:-1] + upper[:-1]) if len(points) > 1 else points


def _turn(a: Array, b: Array, c: Array) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def _polygon(farthest: Any, size: float) -> Array:
    """The convex polygon whose farthest point in every direction a function gives: edges are looked beyond until none
    gives more."""
    found = [farthest(np.array([np.cos(a), np.sin(a)])) for a in (0.1, 2.2, 4.3)]
    if any(x is None for x in found):
        return np.zeros((0, 2))
    corners = _hull(np.array(found))
    for _ in range(_MOST):
        grown = False
        for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            edge = b - a
            length = float(np.linalg.norm(edge))
            if length <= _NEW * size:
                continue
            out = np.array([edge[1], -edge[0]]) / length
            x = farthest(out)
            if x is not None and out @ (x - a) > _NEW * size:
                corners, grown = _hull(np.vstack([corners, x])), True
                break
        if not grown:
            return corners
    return corners

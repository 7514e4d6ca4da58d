"""The quality of a grasp: the least wrench that it cannot resist (Ferrari and Canny 1992).

Contacts whose normal forces add up to one can give every wrench in the convex hull of those at the edges of their
cones. The quality is the radius of the largest ball about zero in it, with moments divided by a length. It is zero
where some wrench cannot be resisted at all, and one is the most that forces can do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from soacraft.arguments import whole_number
from soacraft.errors import ConvergenceError, StateError
from soacraft.results import finite_or_refused
from soacraft.robot.grasping.fingertips import Fingertip, columns, read_fingertips
from soacraft.spatial.checks import Array, finite

#: A hull that is thinner than this in some direction has no ball in it.
_FLAT = 1e-9


def grasp_quality(fingertips: Any, about: Any = (0.0, 0.0, 0.0), length: Any = 1.0, edges: int = 8) -> float:
    """The radius of the largest ball of wrenches that contacts resist, with normal forces that add up to one.

    Moments are about the point `about`, such as the centre of mass, and divided by `length`, such as the size of the
    object. Cones are taken by `edges` of their edges, so that the answer is the true one or a little less. O(k edges)
    points in six dimensions.

    >>> import soacraft as sc
    >>> points = [sc.robot.Fingertip((s, 0, 0), (-s, 0, 0), friction=0.5) for s in (-1, 1)]
    >>> soft = [sc.robot.Fingertip((s, 0, 0), (-s, 0, 0), friction=0.5, torsion=0.5) for s in (-1, 1)]
    >>> grasp_quality(points), round(grasp_quality(soft), 3)                # two points do not stop a turn
    (0.0, 0.31)
    """
    tips, _ = read_fingertips(fingertips, "grasp_quality")
    centre = finite(about, (3,), "about of grasp_quality", StateError)
    size = float(finite(length, (), "length of grasp_quality", StateError))
    if not size > 0.0:
        raise StateError(f"length of grasp_quality must be positive, got {length!r:.40}.")
    count = whole_number(edges, "edges of grasp_quality", 3)
    with np.errstate(over="ignore", invalid="ignore"):
        rows = np.repeat([1.0 / np.float64(size), 1.0], 3)
        wrenches = np.concatenate([(rows[:, None] * _wrenches(x, centre, count)).T for x in tips])
    return ball(finite_or_refused(wrenches, "wrenches at the edges of the friction cones"))


def ball(points: Array) -> float:
    """The radius of the largest ball about zero in the convex hull of points (n, d); 0 where zero is not inside.

    >>> import numpy as np
    >>> ball(np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]))
    1.0
    """
    size = float(np.abs(points).max(initial=0.0))
    points = points / (size or 1.0)
    values = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    if len(points) <= points.shape[1] or not size or values[-1] <= _FLAT * np.sqrt(len(points)):
        return 0.0
    least = -float(_hull(points).equations[:, -1].max())
    return max(size * least, 0.0) if least > _FLAT else 0.0


def _hull(points: Array) -> ConvexHull:
    """The convex hull; where facets of many points defeat Qhull, of points moved a little."""
    try:
        return ConvexHull(points)
    except QhullError:
        pass
    try:
        return ConvexHull(points, qhull_options="QJ")
    except QhullError as problem:
        raise ConvergenceError(
            f"the hull of {len(points)} wrenches was not found ({str(problem).splitlines()[0]}); take fewer edges."
        ) from None


def _wrenches(tip: Fingertip, about: Array, edges: int) -> Array:
    """(6, m): wrenches at edges of a cone, of unit normal force."""
    angles = 2.0 * np.pi * np.arange(edges) / edges
    ring = np.stack([np.cos(angles), np.sin(angles), np.zeros(edges)])
    x = ring if tip.friction else np.zeros((3, 1))
    if tip.torsion:
        poles = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, -1.0]])
        if tip.friction:
            slant = np.sqrt(0.5)
            tilted = [slant * ring + np.array([[0.0], [0.0], [sign * slant]]) for sign in (1.0, -1.0)]
            poles = np.concatenate([poles, *tilted], axis=1)
        x = np.concatenate([x, poles], axis=1)
    return np.asarray(columns(tip, about) @ np.concatenate([np.ones((1, x.shape[1])), x]))

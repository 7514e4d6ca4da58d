"""Force of the ground on a robot with a mass in its hand along a motion, all rows at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from soacraft import dynamics as dyn
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.standing.balance import ground_wrench
from soacraft.spatial.checks import Array


class Ground(NamedTuple):
    """Force f (rows, 3) and moment n about the inertial origin (rows, 3) that hold a robot in its motion, and the
    centre of all its mass (rows, 3)."""

    force: Array
    moment: Array
    center: Array

    def zero_moment_point(self, point: Array, up: Array) -> Array:
        """Point at which the force acts without a moment across `up`, on the plane through `point` (3) across it,
        (rows, 3); NaN where nothing presses on the ground.
        """
        n = self.moment - np.cross(point, self.force)
        pressed = self.force @ up
        with np.errstate(divide="ignore", invalid="ignore"):
            z = point + np.cross(up, n) / np.where(pressed > 0.0, pressed, np.nan)[:, None]
        return np.asarray(z)


def ground_of(
    mb: Multibody, q: Array, v: Array, vdot: Array, tip: Any = None, mass: float = 0.0, com: Any = (0.0, 0.0, 0.0)
) -> Ground:
    """Force of the ground for rows of states; with a point mass at `com` of the frame `tip`. O(rows n)."""
    w = ground_wrench(mb, q, v, vdot)
    moment, force, center = w[:, :3], w[:, 3:], np.asarray(dyn.center_of_mass(mb, q))
    if mass and tip is not None:
        at, a = _point(mb, tip, q, v, vdot, np.asarray(com, dtype=float))[:2]
        more = mass * (a - np.asarray(mb.gravity))
        force, moment = force + more, moment + np.cross(at, more)
        center = (mb.total_mass * center + mass * at) / (mb.total_mass + mass)
    return Ground(force, moment, center)


def unit_weight(graph: Any, tip: Any, q: Array, v: Array, vdot: Array, com: Array) -> Array:
    """The wrench [moment; force] of a kilogram at `com` on a frame, in its axes, (rows, 6): g - a there."""
    _, a, R = _point(graph, tip, q, v, vdot, com)
    force = np.einsum("kji,kj->ki", R, np.asarray(graph.gravity) - a)
    return np.concatenate([np.cross(com, force), force], axis=1)


def _point(graph: Any, tip: Any, q: Array, v: Array, vdot: Array, com: Array) -> tuple[Array, Array, Array]:
    """Position of a point of a frame, its acceleration, and the rotation of the frame, in inertial axes."""
    motion = dyn.node_motion(graph, q, v, vdot, [tip])
    R = motion.rotation[:, 0]
    w, alpha = motion.velocity[:, 0, :3], motion.acceleration[:, 0, :3]
    r = R @ com
    a = motion.acceleration[:, 0, 3:] + np.cross(alpha, r) + np.cross(w, np.cross(w, r))
    return motion.translation[:, 0] + r, a, R

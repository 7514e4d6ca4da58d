"""Contacts that carry a robot: feet by name at every configuration, or places on the ground."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import ConvergenceError, StateError
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.control.feet import foot_forces
from soacraft.robot.robot import Robot
from soacraft.robot.standing.stance import stance
from soacraft.robot.studies.study import Flags
from soacraft.spatial.checks import Array, finite


class Touching(NamedTuple):
    """Points of contact and normals (k, 3) in inertial axes, and friction (k)."""

    points: Array
    normals: Array
    friction: Array


@dataclass(frozen=True, eq=False)
class Contacts:
    """Contacts under a robot: feet, bodies or nodes by name, as `sc.robot.stance` takes them, or places (k, 3) in the
    inertial frame; friction, and the normal out of the ground, by default against the model's gravity.

    >>> Contacts(["left_foot", "right_foot"]).friction
    0.7
    """

    feet: Any
    friction: Any = 0.7
    normal: Any = None
    corners: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.feet, str) or not hasattr(self.feet, "__len__") or not len(self.feet):
            raise StateError(f"contacts are at least one foot or place, as a list; got {self.feet!r:.60}.")

    @property
    def by_name(self) -> bool:
        """True if they are parts of the robot."""
        return not isinstance(self.feet, np.ndarray) and not all(np.ndim(x) == 1 for x in self.feet)

    def normal_of(self, mb: Multibody) -> Any:
        """Normal of the ground; against gravity by default."""
        if self.normal is not None:
            return self.normal
        g = np.asarray(mb.gravity)
        if not g.any():
            raise StateError(f"{mb.name!r} has no gravity: give the contacts a normal.")
        return -g / np.linalg.norm(g)

    def at(self, robot: Robot, q: Array) -> Touching:
        """Points, normals and friction at one configuration."""
        if self.by_name:
            s = stance(robot, q, self.feet, friction=self.friction, normal=self.normal, corners=self.corners)
            return Touching(s.points, s.normals, s.friction)
        points = finite(self.feet, (None, 3), "places of contact", StateError)
        k = len(points)
        n = finite(self.normal_of(robot.mb), (..., 3), "the normal of contacts", StateError)
        if n.shape not in ((3,), (k, 3)) or not (np.linalg.norm(n, axis=-1) > 0.0).all():
            raise StateError(f"the normal of contacts is one that is not zero, or {k}; got {self.normal!r:.60}.")
        mu = finite(self.friction, (...,), "friction of contacts", StateError)
        if mu.shape not in ((), (k,)) or (mu < 0.0).any():
            raise StateError(f"friction is one number, or {k}, not negative; got {self.friction!r:.60}.")
        n = n / np.linalg.norm(n, axis=-1, keepdims=True)
        return Touching(points, np.broadcast_to(n, (k, 3)), np.broadcast_to(mu, (k,)))

    def carried(self, robot: Robot, q: Array, v: Array, vdot: Array, motors: Flags) -> tuple[Array, Array]:
        """Forces of the contacts, (k, 3) in the inertial frame, and of the motors, (nv), at one state, with the least
        torques (`foot_forces`); a `ConvergenceError` where no forces inside the friction cones carry the robot."""
        if not self.by_name:
            raise StateError("forces of contacts need feet of the robot, not places.")
        s = stance(robot, q, self.feet, friction=self.friction, normal=self.normal, corners=self.corners)
        feet = foot_forces(s, v, vdot, actuated=[robot.mb.dof_names[i] for i in np.flatnonzero(motors)], sides=None)
        if not feet.holds:
            raise ConvergenceError(f"no forces inside the friction cones of its contacts carry {robot.mb.name!r}.")
        return feet.forces, feet.force

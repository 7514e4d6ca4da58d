"""`Stance`: a robot on its feet, at one configuration: the points of contact, and the margin with which they hold it.

Feet are bodies or nodes. The points of a foot that touch the ground come from its collision shapes: those that are
lowest along the normal of the ground there.

    box            corners                    cylinder       16 points of each rim
    sphere         the point below            ellipsoid      the point below
    capsule        the points below its ends  meshes         not here: give corners
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft import dynamics as dyn
from soacraft.arguments import listed
from soacraft.errors import StateError
from soacraft.model.sizes.lengths import length_of
from soacraft.model.states.coordinates import read_q
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.parts.records import Geometry
from soacraft.robot.robot import Robot
from soacraft.robot.standing.balance import ground_wrench, tip_over
from soacraft.robot.standing.stability import SIDES, Region, standing_region, support_polygon
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.pose import Pose

#: Points of a foot touch the ground where they are no higher above its lowest one than this part of the robot's length.
TOUCHES = 1e-3
#: Points of the rim of a cylinder.
_RIM = 16


@dataclass(frozen=True, eq=False)
class Stance:
    """Stance of a robot, made by `stance`. Points and normals are in inertial axes."""

    robot: Robot
    q: Array
    feet: tuple[str, ...]
    points: Array
    """(k, 3)"""
    normals: Array
    """(k, 3), out of the ground."""
    friction: Array
    """(k)"""
    foot: npt.NDArray[np.intp]
    """(k): the foot that each point is of, a number in `feet`."""

    @property
    def center(self) -> Array:
        """The centre of mass of the robot, with all that it holds."""
        return np.asarray(dyn.center_of_mass(self.robot.mb, self.q))

    @property
    def polygon(self) -> Region:
        """The support polygon: the hull of all points seen along gravity."""
        return support_polygon(self.points, self.robot.mb.gravity)

    def region(self, *, sides: int = SIDES, push: Any = None) -> Region:
        """Region of the centre of mass, see `standing_region`."""
        return standing_region(
            self.points, self.normals, self.friction, self.robot.mb.gravity, sides=sides, push=push
        )

    def margin(self, *, sides: int = SIDES) -> float:
        """Distance of the centre of mass from the edge of the region, in metres; less than zero outside, minus infinity
        where the robot slides wherever its centre of mass is, and zero at most where the region has no inside.
        """
        region = self.region(sides=sides)
        if not region:
            return -np.inf
        if len(region.corners) < 3:
            off = self.center @ region.axes.T - region.corners[0]
            along = region.corners[-1] - region.corners[0]
            s = float(np.clip(off @ along / (along @ along), 0.0, 1.0)) if along.any() else 0.0
            return -float(np.linalg.norm(off - s * along))
        return float(region.margin(self.center)[0])

    def tip_over(self, v: Any = None, vdot: Any = None) -> tuple[float, tuple[str, str]]:
        """The angle to tipping over, see `tip_over`, and the two feet between which the edge lies; for a motion (v,
        vdot), by default at rest. Where no foot is pressed on the ground it is refused.
        """
        mb = self.robot.mb
        v, vdot = (np.zeros(mb.nv) if x is None else x for x in (v, vdot))
        w = ground_wrench(mb, self.q, v, vdot, self.center)
        if not (self.normals @ w[3:] > 0.0).any():
            raise StateError("nothing presses on the ground: the robot flies.")
        angle, (i, j) = tip_over(self.points, self.center, -w[3:], -w[:3])
        return angle, (self.feet[self.foot[i]], self.feet[self.foot[j]])

    def __repr__(self) -> str:
        return f"Stance of {self.robot.mb.name!r} on {', '.join(self.feet)}: {len(self.points)} points"


def stance(
    robot: Robot, q: Any, feet: Any, *, friction: Any = 0.7, normal: Any = None, corners: Any = None
) -> Stance:
    """Stance of a robot at a configuration, on feet that are bodies or nodes of it.

    `friction` and `normal`, out of the ground, are one for all or {foot: ...}; the normal is against gravity by
    default. `corners` (k, 3) in the axes of the foot, for all or {foot: ...}, are the points of contact; without them
    these are the lowest points of the foot's collision shapes, and of a node its origin. O(points).

    >>> import numpy as np
    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("anymal_b"))
    >>> q = np.array(rb.mb.q)
    >>> q[7:] = [0, 0.4, -0.8, 0, 0.4, -0.8, 0, -0.4, 0.8, 0, -0.4, 0.8]
    >>> s = sc.robot.stance(rb, q, [f"{leg}_SHANK" for leg in ("LF", "RF", "LH", "RH")], friction=0.6)
    >>> s
    Stance of 'anymal_b' on LF_SHANK, RF_SHANK, LH_SHANK, RH_SHANK: 4 points
    >>> s.polygon.contains(s.center), s.margin() > 0.1
    (True, True)
    """
    if not isinstance(robot, Robot):
        raise StateError(f"stance is of a Robot, sc.robot.Robot(mb), got {robot!r:.60}.")
    mb = robot.mb
    q = read_q(mb, q)
    if q.ndim > 1:
        raise StateError(f"stance takes one configuration, got a batch {q.shape[:-1]}.")
    named = None if isinstance(feet, str | Frame) else listed(feet)
    frames = [mb.frame(x) for x in ([feet] if named is None else named)]
    if not frames or len(set(frames)) != len(frames):
        raise StateError("a robot stands on one foot or more, each named once.")
    for option, what in ((friction, "friction"), (normal, "normal"), (corners, "corners")):
        _refuse_unknown(mb, frames, option, what)
    g = np.asarray(mb.gravity)
    if not g.any():
        raise StateError(f"{mb.name!r} has no gravity, so nothing stands.")
    state = mb.state(q)
    points, normals, mus, of = [], [], [], []
    for i, frame in enumerate(frames):
        of_foot = _of_foot(normal, frame, mb)
        n = -g if of_foot is None else finite(of_foot, (3,), f"the normal at {frame.full_name!r}", StateError)
        if not n.any():
            raise StateError(f"the normal at {frame.full_name!r} is zero.")
        n = n / np.abs(n).max()  # no overflow or underflow in the norm
        n = n / np.linalg.norm(n)
        mu = float(finite(_of_foot(friction, frame, mb), (), f"friction at {frame.full_name!r}", StateError))
        if mu < 0.0:
            raise StateError(f"friction at {frame.full_name!r} must not be negative, got {mu:g}.")
        p = _touching(mb, frame, mb.pose(frame, state=state), n, _of_foot(corners, frame, mb))
        points.append(p)
        normals += [n] * len(p)
        mus += [mu] * len(p)
        of += [i] * len(p)
    return Stance(
        robot, q, tuple(x.full_name for x in frames), np.concatenate(points), np.array(normals), np.array(mus),
        np.array(of, dtype=np.intp),
    )  # fmt: skip


def _refuse_unknown(mb: Multibody, frames: list[Frame], option: Any, what: str) -> None:
    if isinstance(option, Mapping):
        for name in option:
            if mb.frame(name) not in frames:
                raise StateError(f"{what} names {mb.frame(name).full_name!r}, which is none of the feet.")


def _of_foot(option: Any, frame: Frame, mb: Multibody) -> Any:
    if not isinstance(option, Mapping):
        return option
    for name, x in option.items():
        if mb.frame(name) is frame:
            return x
    return None


def _touching(mb: Multibody, frame: Frame, pose: Pose, n: Array, corners: Any) -> Array:
    """The points of a foot that touch the ground, (k, 3) in inertial axes."""
    R, at = np.asarray(pose.rotation), np.asarray(pose.translation)
    if corners is not None:
        corner_points = finite(corners, (None, 3), f"corners of {frame.full_name!r}", StateError)
        if not len(corner_points):
            raise StateError(f"corners of {frame.full_name!r} are none.")
        return np.asarray(corner_points @ R.T + at)
    if not isinstance(frame, Body):
        return at[None]
    shapes = [x for x in frame.geometries if x.role != "visual" and x.kind != "plane"]
    if not shapes:
        raise StateError(f"{frame.full_name!r} has no collision shape: give its corners, or name a node of it.")
    down = -R.T @ n
    points = np.concatenate([lowest(x, down, frame.full_name) for x in shapes]) @ R.T + at
    height = points @ n
    return np.asarray(points[height <= height.min() + TOUCHES * length_of(mb)])


def lowest(shape: Geometry, down: Array, foot: str) -> Array:
    """Points of a shape among which the lowest are, (k, 3) in the axes of its body; `down` a unit vector in these."""
    R, at = np.asarray(shape.pose.rotation), np.asarray(shape.pose.translation)
    d = R.T @ down
    if shape.kind == "box":
        points = 0.5 * np.array(list(product((-1.0, 1.0), repeat=3))) * shape.size
    elif shape.kind == "sphere":
        points = shape.size[0] * d[None]
    elif shape.kind == "capsule":
        radius, length = shape.size
        points = radius * d + 0.5 * length * np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])
    elif shape.kind == "ellipsoid":
        radii = np.array(shape.size)
        points = (radii**2 * d / np.linalg.norm(radii * d))[None]
    elif shape.kind == "cylinder":
        radius, length = shape.size
        angle = 2.0 * np.pi * np.arange(_RIM) / _RIM + float(np.arctan2(d[1], d[0]))  # one of them is the lowest
        rim = radius * np.column_stack([np.cos(angle), np.sin(angle)])
        points = np.concatenate([np.column_stack([rim, np.full(_RIM, z)]) for z in (-0.5 * length, 0.5 * length)])
    else:
        raise StateError(f"{foot!r} has a shape of the kind {shape.kind!r}, whose lowest points are not known here: "
                         "give corners=.")  # fmt: skip
    return np.asarray(points @ R.T + at)

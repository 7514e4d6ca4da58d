"""Joints of URDF as hinges."""

from __future__ import annotations

import sys
from functools import lru_cache
from math import copysign, inf

import numpy as np

from soacraft.files.urdf.parts import Joint
from soacraft.model.hinges import Free, Hinge, Pin, Planar, Prismatic, Weld
from soacraft.model.tree.parts.properties import Limits
from soacraft.spatial import Array, Pose, skew, unit

NO_LIMIT = sys.float_info.max
"""Number written for a bound that is not there, where URDF wants one."""

_X, _HERE = np.array([1.0, 0.0, 0.0]), Pose()


def hinge_of(joint: Joint) -> tuple[Hinge, Pose, Pose]:
    """The hinge of a joint, its inboard pose in the parent link and the link's pose in its outboard frame.

    The link frame is the joint's frame. For a planar joint the hinge's x-y plane is turned onto the joint's plane by
    the shortest rotation that takes z to the axis, and the link's frame is turned back.
    """
    origin = _HERE if joint.origin is None else joint.origin
    hinge = _hinge(joint.type, (_X if joint.axis is None else joint.axis).tobytes())
    if joint.type != "planar":
        return hinge, origin, _HERE
    turn = Pose(onto(_X if joint.axis is None else joint.axis))
    return hinge, origin @ turn, turn.inv


@lru_cache(maxsize=4096)
def _hinge(kind: str, axis: bytes) -> Hinge:
    """Hinges are shared: most joints of a model have one of a few axes."""
    match kind:
        case "revolute" | "continuous":
            return Pin(np.frombuffer(axis))
        case "prismatic":
            return Prismatic(np.frombuffer(axis))
        case "floating":
            return Free()
        case "planar":
            return Planar()
    return Weld()


def onto(axis: Array) -> Array:
    """The shortest rotation that takes z to the axis: R = I + s k~ + (1 - c) k~ k~, s k = z x a, c = z . a.

    About x by half a turn when the axis is -z.

    >>> onto(np.array([1.0, 0.0, 0.0])) @ [0, 0, 1]
    array([1., 0., 0.])
    """
    a = unit(axis, "the axis")
    s, c = float(np.hypot(a[0], a[1])), float(a[2])
    if s == 0.0:
        return np.eye(3) if c > 0.0 else np.diag([1.0, -1.0, -1.0])
    K = skew(np.array([-a[1] / s, a[0] / s, 0.0]))
    return np.asarray(np.eye(3) + s * K + (1.0 - c) * (K @ K))


def limits_of(joint: Joint) -> Limits | None:
    """The bounds of a joint with one degree of freedom."""
    limit = joint.limit
    if limit is None or joint.type not in ("revolute", "continuous", "prismatic"):
        return None
    lower, upper = -inf, inf
    if joint.type != "continuous" and not (limit.lower is None and limit.upper is None):
        lower, upper = _open(limit.lower or 0.0), _open(limit.upper or 0.0)
    velocity = inf if limit.velocity is None else _open(limit.velocity)
    effort = inf if limit.effort is None else _open(limit.effort)
    return Limits.of_one_dof(lower, upper, velocity, effort)


def _open(x: float) -> float:
    """Bound, infinite for the number by which files say that there is none."""
    return copysign(inf, x) if abs(x) >= NO_LIMIT else x

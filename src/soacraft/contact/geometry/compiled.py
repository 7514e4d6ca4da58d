"""The compiled queries: this file alone imports them."""

from __future__ import annotations

import numpy as np

from soacraft._core import (
    ContactScene,
    ContactShape,
    MovingScene,
    contact_call,
    contact_distance,
    contact_hull,
    contact_manifold,
    contact_mesh,
    contact_primitive,
    contact_rays,
    contact_smooth,
)
from soacraft.errors import ModelError
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose

__all__ = [
    "KINDS",
    "LONGEST",
    "SPOT",
    "ContactScene",
    "ContactShape",
    "MovingScene",
    "contact_call",
    "contact_distance",
    "contact_hull",
    "contact_manifold",
    "contact_mesh",
    "contact_primitive",
    "contact_rays",
    "contact_smooth",
    "pose_rows",
    "require_near",
]

#: The kinds of shapes, in the order of the compiled code.
KINDS = ("sphere", "capsule", "box", "cylinder", "ellipsoid", "hull", "plane", "mesh")
#: Numbers of a spot: distance, point on a, point on b, normal, error.
SPOT = 11
#: Lengths in metres that are handled: products of four of them are numbers still.
LONGEST = 1e60


def require_near(p: Array) -> Array:
    """Refuse positions that products of lengths would make infinite."""
    far = float(np.abs(p).max(initial=0.0))
    if far > LONGEST:
        raise ModelError(
            f"a position of a shape is {far:g} m from the origin; up to {LONGEST:g} m is handled: take another unit of "
            "length."
        )
    return p


def pose_rows(pose: Pose) -> Array:
    """Poses as the compiled code reads them, (count, 12): rotation by rows, then translation.

    >>> pose_rows(Pose(translation=(1, 2, 3)))[0, 8:]
    array([1., 1., 2., 3.])
    """
    R, p = pose.rotation, require_near(pose.translation)
    rows = np.empty((R.size // 9, 12))
    rows[:, :9], rows[:, 9:] = R.reshape(-1, 9), p.reshape(-1, 3)
    return rows

"""The compiled queries: this file alone imports them."""

from __future__ import annotations

import numpy as np

from soacraft._core import (
    ContactScene,
    ContactShape,
    contact_distance,
    contact_hull,
    contact_manifold,
    contact_mesh,
    contact_nearest,
    contact_primitive,
    contact_rays,
)
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose

__all__ = [
    "KINDS",
    "SPOT",
    "ContactScene",
    "ContactShape",
    "contact_distance",
    "contact_hull",
    "contact_manifold",
    "contact_mesh",
    "contact_nearest",
    "contact_primitive",
    "contact_rays",
    "pose_rows",
]

#: The kinds of shapes, in the order of the compiled code.
KINDS = ("sphere", "capsule", "box", "cylinder", "ellipsoid", "hull", "plane", "mesh")
#: Numbers of a spot: distance, point on a, point on b, normal, error.
SPOT = 11


def pose_rows(pose: Pose) -> Array:
    """Poses as the compiled code reads them, (count, 12): rotation by rows, then translation.

    >>> pose_rows(Pose(translation=(1, 2, 3)))[0, 8:]
    array([1., 1., 2., 3.])
    """
    R, p = pose.rotation, pose.translation
    rows = np.empty((R.size // 9, 12))
    rows[:, :9], rows[:, 9:] = R.reshape(-1, 9), p.reshape(-1, 3)
    return rows

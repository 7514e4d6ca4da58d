"""Coordinates and velocities at which a new hinge must start so that its body keeps the pose, and if it can the
velocity.
"""

from __future__ import annotations

import numpy as np

from soacraft.errors import ModelError
from soacraft.model.hinges.base import H_T_of, Hinge
from soacraft.model.states.hinge_fit import REACHED, gap_size, hinge_gap, least_squares, nearest_coordinates
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose


def hinge_at(hinge: Hinge, target: Pose, length: float, hinge_name: str, body_name: str) -> Array:
    """The coordinates q with `hinge.pose(q) = target`, or a `ModelError` that gives the residual; distances are
    measured by `length`."""
    if not hinge.holonomic:
        raise ModelError(
            f"hinge {hinge_name!r} ({hinge!r}) is nonholonomic, so keep_pose cannot find its coordinates; "
            "reattach without keep_pose and set its part of mb.q."
        )
    q = nearest_coordinates(hinge, target, length=length)
    gap = hinge_gap(hinge, q, target)
    if gap_size(gap, length) < REACHED:
        return q
    angle, distance = np.linalg.norm(gap[:3]), np.linalg.norm(gap[3:])
    raise ModelError(
        f"hinge {hinge_name!r} ({hinge!r}) cannot hold body {body_name!r} where it is: the nearest pose found "
        f"is off by {distance:.3g} m and {angle:.3g} rad. Choose inboard and outboard to suit, another "
        "hinge, or keep_pose=False."
    )


def hinge_velocity(hinge: Hinge, q: Array, outboard: Pose, V: Array, length: float) -> Array:
    """The v with `H_B*(q) v = V`, the velocity seen from the parent in body axes; zero if there is none."""
    H_T = outboard.phi().T @ H_T_of(hinge, q)
    v = least_squares(H_T, V)
    return v if gap_size(H_T @ v - V, length) <= REACHED * gap_size(V, length) else np.zeros(hinge.nv)

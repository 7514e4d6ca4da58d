"""Where a new hinge must start so that its body keeps the pose, and if it can the velocity, it has."""

from __future__ import annotations

import numpy as np

from soacraft.errors import ModelError
from soacraft.model.hinge_fit import REACHED, hinge_gap, least_squares, nearest_coordinates
from soacraft.model.hinges.base import H_T_of, Hinge
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose


def hinge_at(hinge: Hinge, target: Pose, hinge_name: str, body_name: str) -> Array:
    """The coordinates q with `hinge.pose(q) = target`, or a `ModelError` that gives the residual."""
    if not hinge.holonomic:
        raise ModelError(
            f"hinge {hinge_name!r} ({hinge!r}) is nonholonomic, so keep_pose cannot find its coordinates; "
            "reattach without keep_pose and set its part of mb.q."
        )
    q = nearest_coordinates(hinge, target)
    error = float(np.linalg.norm(hinge_gap(hinge, q, target)))
    if error < REACHED:
        return q
    raise ModelError(
        f"hinge {hinge_name!r} ({hinge!r}) cannot hold body {body_name!r} where it is: the nearest pose found "
        f"is off by {error:.3g} (metres and radians). Choose inboard and outboard to suit, another "
        "hinge, or keep_pose=False."
    )


def hinge_velocity(hinge: Hinge, q: Array, outboard: Pose, V: Array) -> Array:
    """The v with `H_B*(q) v = V`, the velocity seen from the parent in body axes; zero if there is none."""
    H_T = outboard.phi().T @ H_T_of(hinge, q)
    v = least_squares(H_T, V)
    return v if np.linalg.norm(H_T @ v - V) <= REACHED * (1.0 + np.linalg.norm(V)) else np.zeros(hinge.nv)

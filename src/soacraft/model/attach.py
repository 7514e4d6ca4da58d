"""Where a new hinge must start so that its body keeps the pose, and if it can the velocity, it has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from soacraft.errors import ModelError
from soacraft.model.hinges.base import H_T_of, Hinge, integrate_of, pose_of
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose
from soacraft.spatial.transforms import se3_log

_TOLERANCE = 1e-9
_STEPS = 60
_RANDOM_STARTS = 12


def hinge_at(hinge: Hinge, target: Pose, hinge_name: str, body_name: str) -> Array:
    """The coordinates q with `hinge.pose(q) = target`, or a `ModelError` that gives the residual.

    Gauss-Newton on the twist `xi = log(pose(q)^-1 target)`: `H*(q) dq = xi`, from several starts. For 1-dof,
    spherical and free hinges the first step is exact.
    """
    if not hinge.holonomic:
        raise ModelError(
            f"hinge {hinge_name!r} ({hinge!r}) is nonholonomic, so keep_pose cannot find its coordinates; "
            "reattach without keep_pose and set its part of mb.q."
        )
    best, best_error = np.asarray(hinge.neutral(), dtype=np.float64), np.inf
    for start in _starts(hinge, target):
        q, error = _solve(hinge, target, start, slice(0, 6))
        if error < best_error:
            best, best_error = q, error
        if best_error < _TOLERANCE:
            return best
    raise ModelError(
        f"hinge {hinge_name!r} ({hinge!r}) cannot hold body {body_name!r} where it is: the nearest pose found "
        f"is off by {best_error:.3g} (metres and radians). Choose inboard and outboard to suit, another "
        "hinge, or keep_pose=False."
    )


def hinge_velocity(hinge: Hinge, q: Array, outboard: Pose, V: Array) -> Array:
    """The v with `H_B*(q) v = V`, the velocity seen from the parent in body axes; zero if there is none."""
    H_T = outboard.phi().T @ H_T_of(hinge, q)
    v = least_squares(H_T, V)
    return v if np.linalg.norm(H_T @ v - V) <= _TOLERANCE * (1.0 + np.linalg.norm(V)) else np.zeros(hinge.nv)


def _starts(hinge: Hinge, target: Pose) -> Iterator[Array]:
    """The neutral pose, where the translation alone fits (turns of a helical hinge), then random ones."""
    neutral = np.asarray(hinge.neutral(), dtype=np.float64)
    yield neutral
    yield _solve(hinge, target, neutral, slice(3, 6))[0]
    rng = np.random.default_rng(0)
    for _ in range(_RANDOM_STARTS):
        yield np.asarray(hinge.random(rng), dtype=np.float64)


def _solve(hinge: Hinge, target: Pose, q: Array, rows: slice) -> tuple[Array, float]:
    """Gauss-Newton from q on some rows of the twist; the coordinates and the size of all rows there."""
    xi = _gap(hinge, target, q)
    for _ in range(_STEPS):
        dq = least_squares(H_T_of(hinge, q)[rows], xi[rows])
        q = integrate_of(hinge, q, dq)
        xi = _gap(hinge, target, q)
        if np.linalg.norm(dq) < 1e-14:
            break
    return q, float(np.linalg.norm(xi))


def least_squares(X: Array, y: Array) -> Array:
    """The shortest x that brings X x nearest to y."""
    return np.asarray(np.linalg.lstsq(X, y, rcond=None)[0], dtype=np.float64)


def _gap(hinge: Hinge, target: Pose, q: Array) -> Array:
    gap = pose_of(hinge, q).inv @ target
    return se3_log(gap.rotation, gap.translation)

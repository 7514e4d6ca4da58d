"""Rotations: matrices, rotation vectors and unit quaternions [x, y, z, w]; any leading batch axes.

Every function is accurate over the whole range: near zero because no formula subtracts close numbers (or a
series takes over), near half a turn because `log` goes through the quaternion.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.errors import SoacraftError, StateError
from soacraft.spatial.checks import Array, finite, number_text, state_text, unit

QUATERNION_TOLERANCE = 1e-6
_ROUNDING = 4 * float(np.finfo(float).eps)
_FEW = 64  # numbers, looked at one by one: less time than the calls of numpy


def skew(v: npt.ArrayLike) -> Array:
    """The matrix `v~` of the cross product: `v~ x = v x x`. (..., 3) -> (..., 3, 3).

    >>> skew([1, 2, 3]) @ [0, 0, 1]
    array([ 2., -1.,  0.])
    """
    v = np.asarray(v, dtype=np.float64)
    K = np.zeros((*v.shape, 3))
    x, y, z = v[..., 0], v[..., 1], v[..., 2]
    K[..., 0, 1], K[..., 0, 2], K[..., 1, 2] = -z, y, -x
    K[..., 1, 0], K[..., 2, 0], K[..., 2, 1] = z, -y, x
    return K


def unskew(K: npt.ArrayLike) -> Array:
    """The vector of the antisymmetric part of K; the inverse of `skew`. (..., 3, 3) -> (..., 3).

    >>> unskew(skew([1, 2, 3]))
    array([1., 2., 3.])
    """
    K = np.asarray(K, dtype=np.float64)
    return 0.5 * np.stack([K[..., 2, 1] - K[..., 1, 2], K[..., 0, 2] - K[..., 2, 0],
                           K[..., 1, 0] - K[..., 0, 1]], axis=-1)


def cross(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """The cross product over the last axis, with broadcasting (quicker than numpy's for small arrays).

    >>> cross([1, 0, 0], [0, 1, 0])
    array([0., 0., 1.])
    """
    product: Array = (skew(a) @ np.asarray(b, dtype=np.float64)[..., None])[..., 0]
    return product


def axes_along(direction: Array) -> Array:
    """A unit vector and two across it, right-handed, chosen by the vector alone: rows (3, 3).

    >>> axes_along(np.array([0.0, 0.0, 1.0]))
    array([[0., 0., 1.],
           [1., 0., 0.],
           [0., 1., 0.]])
    """
    away = np.zeros(3)
    away[int(np.argmin(np.abs(direction)))] = 1.0
    first = away - (away @ direction) * direction
    first /= np.linalg.norm(first)
    return np.array([direction, first, np.cross(direction, first)])


def sinc(x: npt.ArrayLike) -> Array:
    """`sin(x) / x`, 1 at zero.

    >>> sinc([0.0, np.pi / 2])
    array([1.        , 0.63661977])
    """
    x = np.asarray(x, dtype=np.float64)
    safe = np.where(x == 0.0, 1.0, x)
    return np.where(x == 0.0, 1.0, np.sin(safe) / safe)


def from_axis_angle(axis: npt.ArrayLike, angle: npt.ArrayLike) -> Array:
    """The rotation by `angle` about `axis` (3, normalised here); the angle may be a batch. -> (..., 3, 3)

        R = I + sin(angle) a~ + (1 - cos(angle)) a~ a~

    >>> from_axis_angle((0, 0, 2), np.pi / 2).round(12) @ [1, 0, 0]
    array([0., 1., 0.])
    """
    K = skew(unit(axis, "the axis of the rotation"))
    angle = np.asarray(angle, dtype=np.float64)[..., None, None]
    return np.asarray(np.eye(3) + np.sin(angle) * K + 2.0 * np.sin(0.5 * angle) ** 2 * (K @ K))


def exp(w: npt.ArrayLike) -> Array:
    """The rotation of the rotation vector w: `R = exp(w~)`. (..., 3) -> (..., 3, 3).

        R = I + (sin t / t) w~ + ((1 - cos t) / t^2) w~ w~,   t = |w|

    >>> exp([0, 0, np.pi / 2]).round(12) @ [1, 0, 0]
    array([0., 1., 0.])
    """
    w = np.asarray(w, dtype=np.float64)
    t = np.sqrt(np.sum(w * w, axis=-1))[..., None, None]
    K = skew(w)
    return np.asarray(np.eye(3) + sinc(t) * K + 0.5 * sinc(0.5 * t) ** 2 * (K @ K))


def log(R: npt.ArrayLike) -> Array:
    """The rotation vector of R, of length at most pi; the inverse of `exp`. (..., 3, 3) -> (..., 3).

    At exactly half a turn the two answers w and -w are equally good; the first non-zero entry is positive.

    >>> log(exp([0.1, -0.2, 0.3])).round(12)
    array([ 0.1, -0.2,  0.3])
    """
    return quaternion_log(matrix_to_quaternion(R))


def quaternion_to_matrix(q: npt.ArrayLike) -> Array:
    """The rotation matrix of a quaternion [x, y, z, w]. (..., 4) -> (..., 3, 3).

        R = I + 2 (w u~ + u~ u~) / |q|^2,   u = (x, y, z)

    >>> quaternion_to_matrix([0, 0, np.sin(np.pi/4), np.cos(np.pi/4)]).round(12) @ [1, 0, 0]
    array([0., 1., 0.])
    """
    q = np.asarray(q, dtype=np.float64)
    U = skew(q[..., :3])
    scale = 2.0 / np.sum(q * q, axis=-1)
    R: Array = np.eye(3) + scale[..., None, None] * (q[..., 3, None, None] * U + U @ U)
    return R


def matrix_to_quaternion(R: npt.ArrayLike) -> Array:
    """The unit quaternion [x, y, z, w] of a rotation matrix, with w >= 0. (..., 3, 3) -> (..., 4).

    The matrix `4 q q*` is linear in R; its row with the largest diagonal entry gives q with all its digits.

    >>> matrix_to_quaternion(exp([0, 0, np.pi]))
    array([0., 0., 1., 0.])
    """
    R = np.asarray(R, dtype=np.float64)
    Q = np.empty((*R.shape[:-2], 4, 4))
    r00, r11, r22 = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    Q[..., 0, 0] = 1.0 + r00 - r11 - r22
    Q[..., 1, 1] = 1.0 - r00 + r11 - r22
    Q[..., 2, 2] = 1.0 - r00 - r11 + r22
    Q[..., 3, 3] = 1.0 + r00 + r11 + r22
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        Q[..., i, j] = Q[..., j, i] = R[..., i, j] + R[..., j, i]
        Q[..., i, 3] = Q[..., 3, i] = R[..., k, j] - R[..., j, k]
    best = np.argmax(np.diagonal(Q, axis1=-2, axis2=-1), axis=-1)
    q = np.take_along_axis(Q, best[..., None, None], axis=-2)[..., 0, :]
    return _canonical(q / np.sqrt(np.sum(q * q, axis=-1, keepdims=True)))


def _canonical(q: Array) -> Array:
    """q or -q: w positive; where w is zero to rounding, w = 0 and the first non-zero of x, y, z positive."""
    half_turn = np.abs(q[..., 3]) < 4e-16
    first = np.argmax(np.abs(q[..., :3]) > 1e-8, axis=-1)
    leading = np.take_along_axis(q, first[..., None], axis=-1)[..., 0]
    flip = np.where(half_turn, leading < 0.0, q[..., 3] < 0.0)
    q = np.where(flip[..., None], -q, q)
    q[..., 3] = np.where(half_turn, 0.0, q[..., 3])
    return q + 0.0                              # no negative zeros


def quaternion_multiply(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """The Hamilton product of quaternions [x, y, z, w]: first b then a, as for matrices. (..., 4) x (..., 4).

    >>> quaternion_multiply([1, 0, 0, 0], [0, 1, 0, 0])
    array([0., 0., 1., 0.])
    """
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    ax, ay, az, aw = a[..., 0], a[..., 1], a[..., 2], a[..., 3]
    bx, by, bz, bw = b[..., 0], b[..., 1], b[..., 2], b[..., 3]
    return np.stack([aw * bx + ax * bw + ay * bz - az * by,
                     aw * by - ax * bz + ay * bw + az * bx,
                     aw * bz + ax * by - ay * bx + az * bw,
                     aw * bw - ax * bx - ay * by - az * bz], axis=-1)


def quaternion_exp(w: npt.ArrayLike) -> Array:
    """The unit quaternion of the rotation vector w. (..., 3) -> (..., 4).

        q = [sin(t/2)/t w, cos(t/2)],   t = |w|

    >>> quaternion_exp([0, np.pi, 0]).round(12)
    array([0., 1., 0., 0.])
    """
    w = np.asarray(w, dtype=np.float64)
    half = 0.5 * np.sqrt(np.sum(w * w, axis=-1, keepdims=True))
    return np.concatenate([0.5 * sinc(half) * w, np.cos(half)], axis=-1)


def quaternion_log(q: npt.ArrayLike) -> Array:
    """The rotation vector of a unit quaternion, of length at most pi; q and -q give the same. -> (..., 3)

    >>> quaternion_log(-quaternion_exp([0.1, 0, 0.3])).round(12)
    array([0.1, 0. , 0.3])
    """
    q = np.asarray(q, dtype=np.float64)
    q = np.where(q[..., 3:] < 0.0, -q, q)
    u, w = q[..., :3], q[..., 3:]
    s = np.sqrt(np.sum(u * u, axis=-1, keepdims=True))
    safe = np.where(s == 0.0, 1.0, s)
    vector: Array = np.where(s == 0.0, 2.0, 2.0 * np.arctan2(s, w) / safe) * u
    return vector


def quaternion_rate(q: npt.ArrayLike, w: npt.ArrayLike) -> Array:
    """The rate of a unit quaternion for the angular velocity w in the turned (outboard) axes: `q [w, 0] / 2`.

    >>> quaternion_rate([0, 0, 0, 1], [0, 0, 2])
    array([0., 0., 1., 0.])
    """
    w = np.asarray(w, dtype=np.float64)
    return 0.5 * quaternion_multiply(q, np.concatenate([w, np.zeros((*w.shape[:-1], 1))], axis=-1))


def normalize_quaternion(q: Any, what: str, error: type[SoacraftError] = StateError) -> Array:
    """q at unit length if its length is within 1e-6 of 1; otherwise an error naming `what` and the length.

    >>> normalize_quaternion([0, 0, 0, 2], "attitude")                     # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    soacraft.errors.StateError: attitude is not a unit quaternion [x, y, z, w]: (0, 0, 0, 2) has norm 2; ...
    """
    if type(q) is np.ndarray and q.dtype == np.float64 and q.shape[-1:] == (4,) and q.size <= _FEW:
        x = q.ravel().tolist()
        if all(_is_unit(*x[i : i + 4]) for i in range(0, len(x), 4)):
            return q.copy()
    q = finite(q, (..., 4), what, error)
    with np.errstate(over="ignore"):
        norm = np.sqrt(np.sum(q * q, axis=-1, keepdims=True))
    bad = np.abs(norm[..., 0] - 1.0) > QUATERNION_TOLERANCE
    if bad.any():
        first = tuple(np.argwhere(bad)[0])
        raise error(f"{state_text(first, bad.shape)}{what} is not a unit quaternion [x, y, z, w]: "
                    f"{number_text(q[first])} has norm "
                    f"{float(norm[first][0]):.9g}; normalise it first")
    unchanged = np.abs(norm - 1.0) <= _ROUNDING
    return np.asarray(np.where(unchanged, q, q / norm))


def _is_unit(x: float, y: float, z: float, w: float) -> bool:
    """True for a quaternion of norm 1 to rounding, which is not normalized."""
    return abs(sqrt(x * x + y * y + z * z + w * w) - 1.0) <= _ROUNDING

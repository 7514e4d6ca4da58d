"""The coordinates at which a hinge comes nearest to a pose."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from soacraft.model.hinges.base import H_T_of, Hinge, integrate_of, place_of, pose_of
from soacraft.spatial.checks import Array
from soacraft.spatial.differences import STENCIL
from soacraft.spatial.pose import Pose
from soacraft.spatial.transforms import se3_exp, se3_log

#: A pose this near is reached: in radians, and in distances relative to the length they are measured by.
REACHED = 1e-9
_SETTLED = 1e-13  # a step that moves the pose by less, measured alike, is the last
_STEPS = 50
_ROUNDING = 6 * float(np.finfo(np.float64).eps)  # singular values this small, relative to the largest, are none
_RANDOM_STARTS = 60


def hinge_gap(hinge: Hinge, q: Array, target: Pose) -> Array:
    """log(pose(q)^-1 target), (..., 6): the twist that leads from the pose of a hinge to another, [angle; distance].

    >>> from soacraft.model.hinges import Prismatic
    >>> hinge_gap(Prismatic((1, 0, 0)), np.array([2.0]), Pose(translation=(5, 0, 0)))
    array([0., 0., 0., 3., 0., 0.])
    """
    gap = pose_of(hinge, q).inv @ target
    return se3_log(gap.rotation, gap.translation)


def nearest_coordinates(hinge: Hinge, target: Pose, guess: Array | None = None, length: float = 1.0) -> Array:
    """The coordinates of a hinge nearest to a pose: Gauss-Newton on the gap xi, `H*(q) dq = xi`.

    Distances are measured by `length`, in metres: that of the mechanism, so that the nearest is so in all units.
    From a guess if there is one. Otherwise from the neutral coordinates and, where the hinge does not reach the pose
    from there, from others, always the same ones. For 1-dof, spherical and free hinges that reach it the first step is
    exact. A nonholonomic hinge, such as a ball that rolls, says itself where it is (`Hinge.place`).

    >>> from soacraft.model.hinges import Prismatic
    >>> nearest_coordinates(Prismatic((1, 0, 0)), Pose(translation=(5, 0.3, 0.4)))
    array([5.])
    """
    if not hinge.holonomic:
        return place_of(hinge, target)
    if guess is not None or not hinge.nv:
        start = np.asarray(hinge.neutral() if guess is None else guess, dtype=np.float64)
        return _followed(hinge, target, start, length)
    best, least = np.asarray(hinge.neutral(), dtype=np.float64), np.inf
    for starts in _starts(hinge, target, length):
        Q = _fitted(hinge, target, starts, length)
        for q, left in zip(Q, gap_size(hinge_gap(hinge, Q, target), length), strict=True):
            if left < least - 1e-12:
                best, least = q, left
            if least < REACHED:
                return best
    return best


#: Central differences of order six: of a tenth of a percent of a radian, or of the length, they are exact to rounding.
_STEP = 2e-3


def along_twists(hinge: Hinge, target: Pose, length: float, work: Callable[[Array, Pose], Array]) -> Array:
    """The derivatives (6, ...) of what depends on a pose and on the coordinates of a nonholonomic hinge placed there,
    as the pose moves along each twist in its own axes: the hinge can be put in more places than it moves to by itself.
    """
    found = []
    for k, unit in enumerate(_units(length)):
        total = np.zeros(())
        for i, weight in STENCIL:
            twist = i * _STEP * unit * np.eye(6)[k]
            there, back = (target @ Pose.unchecked(*se3_exp(x)) for x in (twist, -twist))
            total = total + weight * (work(place_of(hinge, there), there) - work(place_of(hinge, back), back))
        found.append(total / (_STEP * unit))
    return np.asarray(found)


def placing_rows(hinge: Hinge, target: Pose, Q: Array, scale: Array, length: float) -> Array:
    """E (m', m): the combinations of the rows Q of a nonholonomic hinge, in their scale, that say where it is; the
    others only forbid to slip. The gap to the nearest place changes along no twist that the first allow.
    """
    units = _units(length)
    rates = along_twists(hinge, target, length, lambda q, pose: hinge_gap(hinge, q, pose))
    _, sigma, V = np.linalg.svd(rates.T * units / units[:, None])
    gap = V[: int(np.sum(sigma > 0.1))]  # the twists along which it changes, in units
    return np.asarray(np.linalg.qr((gap @ np.linalg.pinv(Q * units / scale[:, None])).T)[0].T)


def gap_size(gap: Array, length: float) -> Array:
    """The norms of gaps (..., 6) whose distances are measured by a length."""
    return np.asarray(np.linalg.norm(gap / _units(length), axis=-1))


def hinge_inverse(H_T: Array, length: float) -> Array:
    """(H*)^+, (nv, 6): the rates of a hinge that come nearest to a twist, slides measured by a length.

    >>> hinge_inverse(np.array([[0.0], [0], [1], [0], [0], [0.5]]), 0.5).round(3)         # half a metre a radian
    array([[0. , 0. , 0.5, 0. , 0. , 1. ]])
    """
    units = _units(length)
    X = H_T / units[:, None]
    size = np.linalg.norm(X, axis=0)
    size[size <= 0.0] = 1.0
    return np.asarray(np.linalg.pinv(X / size) / size[:, None] / units)


def least_squares(X: Array, y: Array) -> Array:
    """The shortest x that brings X x nearest to y."""
    return np.asarray(np.linalg.lstsq(X, y, rcond=None)[0], dtype=np.float64)


def _units(length: float) -> Array:
    """Units of turns and slides, (6)."""
    return np.array([1.0, 1.0, 1.0, length, length, length])


def _followed(hinge: Hinge, target: Pose, guess: Array, length: float) -> Array:
    """Fit from a guess; where its residual is more than twice that of a fit of the translation first, the latter: a
    screw after some whole turns is on another thread.
    """
    found = _fitted(hinge, target, guess, length)
    left = gap_size(hinge_gap(hinge, found, target), length)
    if left < REACHED:
        return found
    other = _fitted(hinge, target, _fitted(hinge, target, found, length, slice(3, 6)), length)
    return other if gap_size(hinge_gap(hinge, other, target), length) < 0.5 * left else found


def _starts(hinge: Hinge, target: Pose, length: float) -> Iterator[Array]:
    """The neutral coordinates, where the translation alone fits (turns of a helical hinge), then random ones all at
    once, in lengths where they slide; (n, nq) each."""
    neutral = np.asarray(hinge.neutral(), dtype=np.float64)[None]
    yield neutral
    moved = _fitted(hinge, target, neutral, length, slice(3, 6))
    if not np.array_equal(moved, neutral):
        yield moved
    rng = np.random.default_rng(0)
    yield np.array([hinge.random_of(rng, length) for _ in range(_RANDOM_STARTS)], dtype=np.float64)


def _fitted(hinge: Hinge, target: Pose, start: Array, length: float, rows: slice = slice(0, 6)) -> Array:
    """Gauss-Newton from each start (..., nq) on some rows of the gap."""
    units = _units(length)[rows]
    found = np.array(start, dtype=np.float64, ndmin=2)
    live = np.arange(len(found))
    gap = hinge_gap(hinge, found, target)[:, rows] / units
    for _ in range(_STEPS if hinge.nv else 0):
        H_T = H_T_of(hinge, found[live])[:, rows] / units[:, None]
        size = np.linalg.norm(H_T, axis=-2, keepdims=True)
        X = H_T / np.where(size > 0.0, size, 1.0)  # columns of the same size, turns and slides
        along = (np.linalg.pinv(X, rcond=_ROUNDING) @ gap[live, :, None])[..., 0]
        step = along / np.where(size > 0.0, size, 1.0)[:, 0]
        moving = np.linalg.norm((X @ along[..., None])[..., 0], axis=-1) >= _SETTLED
        live, step = live[moving], step[moving]
        waiting, scale = np.arange(len(live)), 1.0
        while len(waiting) and scale > 1e-3:  # a step that does not help is halved
            k = live[waiting]
            moved = integrate_of(hinge, found[k], scale * step[waiting])
            left = hinge_gap(hinge, moved, target)[:, rows] / units
            helps = np.linalg.norm(left, axis=-1) <= np.linalg.norm(gap[k], axis=-1) * (1.0 + 1e-12) + 1e-15
            found[k[helps]], gap[k[helps]] = moved[helps], left[helps]
            waiting, scale = waiting[~helps], 0.5 * scale
        live = np.delete(live, waiting)  # where nothing helps: a nearest pose that the hinge does not reach
        if not len(live):
            break
    return found.reshape(np.shape(start))

"""Spatial transforms, [angular; linear] throughout; any leading batch axes.

`phi(R, l)` carries forces from a child frame to its parent, its transpose carries velocities outward.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import log, sinc, skew


def phi(R: npt.ArrayLike, l: npt.ArrayLike) -> Array:
    """The rigid-body force transformation `phi(p,k)` in body axes. (..., 3, 3), (..., 3) -> (..., 6, 6).

        phi = [[R, l~ R],   R: from axes of k to axes of p
               [0,    R]]   l: from p to k, in axes of p
        f(p) = phi f(k),    V(k) = phi* V(p)

    >>> f = phi(np.eye(3), [1, 0, 0]) @ [0, 0, 0, 0, 2, 0]      # a force along y at x = 1 ...
    >>> f[:3]                                                   # ... has the moment l x f = 2 z
    array([0., 0., 2.])
    """
    R, l = np.asarray(R, dtype=np.float64), np.asarray(l, dtype=np.float64)
    corner = skew(l) @ R
    X = np.zeros((*corner.shape[:-2], 6, 6))
    X[..., :3, :3] = R
    X[..., 3:, 3:] = R
    X[..., :3, 3:] = corner
    return X


def adjoint(R: npt.ArrayLike, l: npt.ArrayLike) -> Array:
    """The inverse of `phi*`: carries a twist seen from the child k to the parent p. -> (..., 6, 6)

        Ad = [[R, 0], [l~ R, R]] = (phi*)^-1

    >>> from soacraft.spatial import exp
    >>> R, l = exp([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0])
    >>> np.allclose(adjoint(R, l) @ phi(R, l).T, np.eye(6))
    True
    """
    R, l = np.asarray(R, dtype=np.float64), np.asarray(l, dtype=np.float64)
    corner = skew(l) @ R
    X = np.zeros((*corner.shape[:-2], 6, 6))
    X[..., :3, :3] = R
    X[..., 3:, 3:] = R
    X[..., 3:, :3] = corner
    return X


def crm(V: npt.ArrayLike) -> Array:
    """The spatial cross product on velocities: `crm(V) = [[w~, 0], [v~, w~]]`. (..., 6) -> (..., 6, 6).

    >>> V = np.arange(6.0)
    >>> bool(np.all(crm(V) @ V == 0))
    True
    """
    V = np.asarray(V, dtype=np.float64)
    w, v = skew(V[..., :3]), skew(V[..., 3:])
    X = np.zeros((*V.shape, 6))
    X[..., :3, :3] = w
    X[..., 3:, 3:] = w
    X[..., 3:, :3] = v
    return X


def crf(V: npt.ArrayLike) -> Array:
    """The spatial cross product on forces: `crf(V) = -crm(V)* = [[w~, v~], [0, w~]]`. -> (..., 6, 6)

    >>> V = np.arange(6.0)
    >>> bool(np.all(crf(V) == -crm(V).T))
    True
    """
    V = np.asarray(V, dtype=np.float64)
    w, v = skew(V[..., :3]), skew(V[..., 3:])
    X = np.zeros((*V.shape, 6))
    X[..., :3, :3] = w
    X[..., 3:, 3:] = w
    X[..., :3, 3:] = v
    return X


def crf_with(f: npt.ArrayLike) -> Array:
    """The matrix X(f) with `crf(V) f = X(f) V`: -[[n~, f~], [f~, 0]] for f = [n; f]. (..., 6) -> (..., 6, 6).

    >>> V, f = np.arange(6.0), np.ones(6)
    >>> bool(np.all(crf_with(f) @ V == crf(V) @ f))
    True
    """
    f = np.asarray(f, dtype=np.float64)
    X = np.zeros((*f.shape, 6))
    X[..., :3, :3] = -skew(f[..., :3])
    X[..., :3, 3:] = X[..., 3:, :3] = -skew(f[..., 3:])
    return X


def se3_exp(xi: npt.ArrayLike) -> tuple[Array, Array]:
    """The rigid motion of the constant twist xi = [w; v] acting for unit time. -> (..., 3, 3), (..., 3)

        R = exp(w),   p = J(w) v,   J = I + ((1-cos t)/t^2) w~ + ((t - sin t)/t^3) w~ w~,   t = |w|

    >>> R, p = se3_exp([0, 0, np.pi, 1, 0, 0])                  # half a turn about (0, 1/pi)
    >>> (p * np.pi).round(12)
    array([0., 2., 0.])
    """
    xi = np.asarray(xi, dtype=np.float64)
    w, v = xi[..., :3], xi[..., 3:]
    t = np.sqrt(np.sum(w * w, axis=-1))[..., None, None]
    K = skew(w)
    K2 = K @ K
    half = 0.5 * sinc(0.5 * t) ** 2                             # (1 - cos t) / t^2
    R = np.eye(3) + sinc(t) * K + half * K2
    J = np.eye(3) + half * K + _third(t) * K2
    return R, (J @ v[..., None])[..., 0]


def se3_log(R: npt.ArrayLike, p: npt.ArrayLike) -> Array:
    """The twist xi = [w; v] of a rigid motion, |w| <= pi; the inverse of `se3_exp`. -> (..., 6)

        w = log R,   v = J^-1(w) p,   J^-1 = I - w~ / 2 + ((1 - (t/2) cot(t/2)) / t^2) w~ w~

    >>> se3_log(*se3_exp([0.1, 0.2, 0.3, 1, 2, 3])).round(12)
    array([0.1, 0.2, 0.3, 1. , 2. , 3. ])
    """
    p = np.asarray(p, dtype=np.float64)
    w = log(R)
    t = np.sqrt(np.sum(w * w, axis=-1))[..., None, None]
    K = skew(w)
    v = ((np.eye(3) - 0.5 * K + _inverse_third(t) * (K @ K)) @ p[..., None])[..., 0]
    return np.concatenate([np.broadcast_to(w, v.shape), v], axis=-1)


def log_rate(w: npt.ArrayLike) -> Array:
    """Derivative of the rotation vector w = log R as R turns in its axes: `log(R exp(d~)) = w + log_rate(w) d + ...`

        I + w~ / 2 + ((1 - (t/2) cot(t/2)) / t^2) w~ w~,   t = |w| <= pi                     (..., 3) -> (..., 3, 3)

    >>> from soacraft.spatial.rotations import exp
    >>> turned = log(exp([0.3, 0.1, -0.2]) @ exp([0, 0, 1e-6]))
    >>> bool(np.allclose((turned - [0.3, 0.1, -0.2]) / 1e-6, log_rate([0.3, 0.1, -0.2])[:, 2], atol=1e-6))
    True
    """
    w = np.asarray(w, dtype=np.float64)
    t = np.sqrt(np.sum(w * w, axis=-1))[..., None, None]
    K = skew(w)
    return np.asarray(np.eye(3) + 0.5 * K + _inverse_third(t) * (K @ K))


def se3_log_rate(xi: npt.ArrayLike) -> Array:
    """Derivative of the twist xi = log X as X moves by a twist in its own axes: `log(X exp(d)) = xi + J d + ...`

        J = [[j(w), 0], [dj(w) along v, j(w)]],   j = `log_rate`                             (..., 6) -> (..., 6, 6)

    A twist is a rotation vector in dual numbers w + eps v, and the eps-part of a function is its derivative along v.

    >>> X = se3_exp([0.3, 0.1, -0.2, 1.0, 2.0, 3.0])
    >>> d = se3_exp([0, 0, 1e-6, 0, 0, 0])
    >>> moved = se3_log(X[0] @ d[0], X[1] + X[0] @ d[1])
    >>> bool(np.allclose((moved - se3_log(*X)) / 1e-6, se3_log_rate(se3_log(*X))[:, 2], atol=1e-5))
    True
    """
    xi = np.asarray(xi, dtype=np.float64)
    w, v = xi[..., :3], xi[..., 3:]
    s = np.sum(w * w, axis=-1)[..., None, None]
    K, along = skew(w), skew(v)
    c = _inverse_third(np.sqrt(s))
    J = np.zeros((*xi.shape, 6))
    J[..., :3, :3] = J[..., 3:, 3:] = np.eye(3) + 0.5 * K + c * (K @ K)
    change = 2.0 * _inverse_third_slope(s) * np.sum(w * v, axis=-1)[..., None, None]
    J[..., 3:, :3] = 0.5 * along + c * (K @ along + along @ K) + change * (K @ K)
    return J


#: |B_2k| / (2k)! with the numbers of Bernoulli, k = 1, 2, ...: (1 - (t/2) cot(t/2)) / t^2 as a series in t^2.
INVERSE_THIRD = (
    1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000, 1 / 74724249600,
    3617 / 10670622842880000, 43867 / 5109094217170944000, 174611 / 802857662698291200000,
    77683 / 14101100039391805440000,
)  # fmt: skip


def _inverse_third_slope(s: Array) -> Array:
    """The derivative of (1 - (t/2) cot(t/2)) / t^2 in s = t^2; a series below 1, where the difference loses digits."""
    series = np.zeros_like(s)
    for k in range(len(INVERSE_THIRD) - 1, 0, -1):
        series = series * s + k * INVERSE_THIRD[k]
    safe = np.where(s < 1.0, 1.0, s)
    half = 0.5 * np.sqrt(safe)
    cot = 1.0 / np.tan(half)
    slope = -((cot - half * (1.0 + cot * cot)) / (8.0 * half) + (1.0 - half * cot) / safe) / safe
    return np.asarray(np.where(s < 1.0, series, slope))


def _third(t: Array) -> Array:
    """(t - sin t) / t^3; a series below t = 0.5, where the difference loses digits."""
    s = t * t
    series = (1 - s / 20 * (1 - s / 42 * (1 - s / 72 * (1 - s / 110 * (1 - s / 156))))) / 6
    safe = np.where(t < 0.5, 1.0, t)
    return np.asarray(np.where(t < 0.5, series, (safe - np.sin(safe)) / safe**3))


def _inverse_third(t: Array) -> Array:
    """(1 - (t/2) cot(t/2)) / t^2 on [0, pi]; a series below t = 0.25, where the difference loses digits."""
    s = t * t
    series = 1 / 12 + s * (1 / 720 + s * (1 / 30240 + s * (1 / 1209600 + s / 47900160)))
    safe = np.where(t < 0.25, 1.0, t)
    return np.asarray(np.where(t < 0.25, series, (1 - 0.5 * safe / np.tan(0.5 * safe)) / safe**2))

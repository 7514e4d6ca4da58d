"""Curves through configurations: polynomials in the tangent, one for each piece, on any hinges with a tangent.

From knot k on, with x a polynomial of degree five at most and Jr the right Jacobian of the exponential,

    q(s) = q_k exp(x(s)),    u = Jr(x) x',    u' = Jr(x) x'' + dJr(x)/ds x'

where u is the velocity per unit of s: a body velocity for spherical and free hinges, the rate of the coordinate for all
others, whose Jr is one. The sums are Jr(x) y = sum over k of (-ad x)^k y / (k + 1)! and its derivative.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.errors import StateError
from soacraft.model.hinges import Free, Spherical
from soacraft.model.hinges.base import has_coordinates
from soacraft.model.sizes.lengths import length_of
from soacraft.model.states.tangent import refuse_nonholonomic
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import skew

if TYPE_CHECKING:
    from soacraft.model.tree.multibody import Multibody

#: Terms of the sums: for turns up to 2 pi the next one is below rounding.
_TERMS = 44
#: Knots nearer than this part of the whole are one.
_SAME = 1e-12


class Along(NamedTuple):
    """A curve at some s: configurations, velocity per unit of s, and its derivative."""

    q: Array
    u: Array
    du: Array


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve q(s); `c[k, i]` is the coefficient of (s - s_k)^i in the tangent at `q[k]`."""

    mb: Multibody
    s: Array
    """(k + 1) knots, increasing."""
    q: Array
    """(k + 1, nq)"""
    c: Array
    """(k, 6, nv)"""

    def at(self, s: Array) -> Along:
        """The curve at s (m), within its knots. O(m n)."""
        k = np.clip(np.searchsorted(self.s, s, side="right") - 1, 0, len(self.s) - 2)
        h = (s - self.s[k])[:, None]
        c = self.c[k]
        x, y, z = (np.zeros((len(s), c.shape[2])) for _ in range(3))
        for i in range(c.shape[1] - 1, -1, -1):  # Horner, with both derivatives
            z = z * h + 2.0 * y
            y = y * h + x
            x = x * h + c[:, i]
        q = np.asarray(self.mb.integrate(self.q[k], x))
        return Along(q, *_velocity(self.mb, x, y, z))

    @property
    def length(self) -> float:
        """Length of the range of s."""
        return float(self.s[-1] - self.s[0])


def sized(mb: Multibody, dv: Array) -> Array:
    """Tangent vectors without units: radians, and ways by the length of the model. Of a free hinge alike."""
    turning = np.array([u == "r" for u in "".join(mb.layout.units.hinge)], dtype=bool)
    return np.asarray(dv / np.where(turning, 1.0, length_of(mb) or 1.0))


def require_tangent(mb: Multibody) -> None:
    """Refuse hinges whose velocities have no tangent that is known."""
    refuse_nonholonomic(mb, "a motion")
    for body in mb.bodies:
        if not has_coordinates(body.hinge) and type(body.hinge) not in (Spherical, Free):
            raise StateError(
                f"a motion needs hinges with coordinates, spherical or free ones; that of body {body.name!r} is "
                f"{body.hinge!r:.60}."
            )


def hermite(mb: Multibody, s: Array, q: Array, u: Array, du: Array) -> Curve:
    """The curve with these configurations, velocities and their derivatives at the knots: quintic, and so smooth that
    its second derivative is continuous. It is the cubic or quintic itself where the numbers are those of one. O(k n).
    """
    h = np.diff(s)[:, None]
    d = np.asarray(mb.difference(q[:-1], q[1:]))
    y, z = _rates_back(mb, d, u[1:], du[1:])
    c = np.zeros((len(h), 6, mb.nv))
    c[:, 1], c[:, 2] = u[:-1], 0.5 * du[:-1]
    r0 = d - h * (c[:, 1] + h * c[:, 2])
    r1, r2 = y - c[:, 1] - 2.0 * h * c[:, 2], z - 2.0 * c[:, 2]
    c[:, 3] = (10.0 * r0 - 4.0 * h * r1 + 0.5 * h * h * r2) / h**3
    c[:, 4] = (-15.0 * r0 + 7.0 * h * r1 - h * h * r2) / h**4
    c[:, 5] = (6.0 * r0 - 3.0 * h * r1 + 0.5 * h * h * r2) / h**5
    return Curve(mb, s, q, c)


def straight(mb: Multibody, q: Array) -> Curve:
    """Each piece at a constant rate over one unit of s, as the edges of a `World` are. O(k n)."""
    c = np.zeros((len(q) - 1, 6, mb.nv))
    c[:, 1] = mb.difference(q[:-1], q[1:])
    return Curve(mb, np.arange(float(len(q))), q, c)


def knots(values: Array, what: str) -> Array:
    """Knots that increase."""
    gaps = np.diff(values)
    if len(values) < 2 or not (gaps > _SAME * (abs(values[-1] - values[0]) or 1.0)).all():
        raise StateError(f"{what} must be at least two numbers that increase, got {values.tolist()!r:.80}.")
    return values


# -- spherical and free hinges ---------------------------------------------------------------------------------------


def _turning(mb: Multibody) -> list[npt.NDArray[np.intp]]:
    """Places of the velocities of spherical (3) and free (6) hinges, by kind, (bodies, 3 or 6)."""
    groups = [[], []]  # type: list[list[npt.NDArray[np.intp]]]
    for group in mb.layout.groups:
        if type(group.hinge) in (Spherical, Free):
            groups[type(group.hinge) is Free].append(np.asarray(group.v_index))
    return [np.concatenate(x) for x in groups if x]


def _velocity(mb: Multibody, x: Array, y: Array, z: Array) -> tuple[Array, Array]:
    """u and u' of x, x', x''."""
    u, du = y.copy(), z.copy()
    for at in _turning(mb):
        u[:, at], du[:, at] = _of_group(x[:, at], y[:, at], z[:, at])
    return u, du


def _rates_back(mb: Multibody, x: Array, u: Array, du: Array) -> tuple[Array, Array]:
    """x' and x'' that give u and u' at x."""
    y, z = u.copy(), du.copy()
    for at in _turning(mb):
        ad = _ad(x[:, at])
        J = _jacobian(ad)
        y[:, at] = np.linalg.solve(J, u[:, at][..., None])[..., 0]
        rest = _of_group(x[:, at], y[:, at], np.zeros_like(y[:, at]))[1]
        z[:, at] = np.linalg.solve(J, (du[:, at] - rest)[..., None])[..., 0]
    return y, z


def _of_group(x: Array, y: Array, z: Array) -> tuple[Array, Array]:
    """Jr(x) y and Jr(x) z + dJr(x)/ds y with dx/ds = y."""
    X, Y = _ad(x), _ad(y)
    a, b, c = y, np.zeros_like(y), z  # (ad x)^k y, its derivative along y, (ad x)^k z
    u, du = y.copy(), z.copy()
    for k in range(1, _TERMS):
        b = _times(Y, a) + _times(X, b)
        a, c = _times(X, a), _times(X, c)
        weight = (-1.0) ** k / factorial(k + 1)
        u += weight * a
        du += weight * (b + c)
    return u, du


def _jacobian(ad: Array) -> Array:
    J = np.broadcast_to(np.eye(ad.shape[-1]), ad.shape).copy()
    power = J.copy()
    for k in range(1, _TERMS):
        power = ad @ power
        J += (-1.0) ** k / factorial(k + 1) * power
    return J


def _times(A: Array, x: Array) -> Array:
    return np.asarray((A @ x[..., None])[..., 0])


def _ad(x: Array) -> Array:
    """w~ for turns, [[w~, 0], [v~, w~]] for twists."""
    W = skew(x[..., :3])
    if x.shape[-1] == 3:
        return np.asarray(W)
    ad = np.zeros((*x.shape, 6))
    ad[..., :3, :3] = ad[..., 3:, 3:] = W
    ad[..., 3:, :3] = skew(x[..., 3:])
    return ad

"""Rates of the way to a moving target, and the accelerations that give the way prescribed rates.

    e = difference(q, q_d),     edot = J0 v + J1 v_d,     eddot = J0 vdot + J1 vdot_d + b

J0 and J1 are those of `difference_jacobians`, b the rate of both times the velocities; so

    vdot = L (J1 vdot_d - eddot) + L b,      L = -J0^-1

For true coordinates L and J1 are the identity and b is zero. For a spherical or free hinge L is the left Jacobian of
its group and L J1 = Ad(exp e), which takes the velocity of the target into the axes of the body. With its relative
velocity seen from there, x = Ad(exp e) v_d - v, and L edot = x,

    L b = ad(x) Ad(exp e) v_d - dL/dt edot,      dL/dt edot = sum over n of d/dt (ad(e)^n) edot / (n + 1)!
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from soacraft.dynamics.problem import Mask
from soacraft.errors import SingularError
from soacraft.model.flat.layout import HingeGroup
from soacraft.model.hinges import Free, Spherical
from soacraft.model.hinges.base import Hinge, has_coordinates
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.control.freedoms import Freedom, sizes_of_dofs
from soacraft.spatial.checks import Array
from soacraft.spatial.differences import STENCIL
from soacraft.spatial.rotations import skew
from soacraft.spatial.transforms import crm

#: Hinges whose positions are a group, with its ad(x) y = [x, y].
_GROUPS: dict[type[Hinge], Callable[[Any], Array]] = {Spherical: skew, Free: crm}
#: Terms of the series of dL/dt that are smaller, relative to the first, are left out.
_ROUNDING = 1e-18


class Approach(NamedTuple):
    """The way to a target at one state or a batch, all of one shape."""

    e: Array
    """(..., nv)"""
    edot: Array
    J: tuple[Array, Array] | None
    """J0 and J1, (..., nv, nv); None where all hinges have true coordinates."""
    L: tuple[tuple[HingeGroup, Array], ...]
    """L of hinges without true coordinates, (..., bodies, k, k); of all others it is the identity."""
    drift: Array
    """L b"""

    def acceleration(self, pull: Array, vdot_d: Array) -> Array:
        """vdot with eddot = -pull, (..., nv)."""
        if self.J is None:
            return vdot_d + pull
        a = np.array(pull + _times(self.J[1], vdot_d))
        for group, L in self.L:
            a[..., group.v_index] = _times(L, a[..., group.v_index])
        return a + self.drift

    def at(self, state: tuple[int, ...]) -> Approach:
        """Approach of one state of a batch."""
        e, edot, drift = (x[state] for x in (self.e, self.edot, self.drift))
        J = None if self.J is None else (self.J[0][state], self.J[1][state])
        return Approach(e, edot, J, tuple((group, L[state]) for group, L in self.L), drift)

    def decides(self, dofs: Mask) -> bool:
        """True if eddot of some dofs (nv) depends on their accelerations alone."""
        chosen = (dofs[group.v_index] for group, _ in self.L)
        return all(bool((x.all(axis=1) | ~x.any(axis=1)).all()) for x in chosen)

    def chosen(self, free: Freedom, vdot: Array) -> Array:
        """Acceleration at one state that follows from `vdot` where not all of it is free to choose. At the free dofs
        eddot is as prescribed; of a hinge without true coordinates it depends on all its dofs, also those that follow.
        """
        at = free.places
        if self.J is None:
            return np.asarray(free.X @ vdot[at] + free.x0)
        rows = self.J[0][at]
        try:
            a = np.linalg.solve(rows @ free.X, rows @ (vdot - free.x0))
        except np.linalg.LinAlgError:
            raise SingularError(
                f"{free.model!r} is turned so far from its target that no acceleration of {', '.join(free.names)} "
                "changes the way there as prescribed: begin nearer to it."
            ) from None
        return np.asarray(free.X @ a + free.x0)


def approach(mb: Multibody, q: Array, v: Array, q_d: Array, v_d: Array) -> Approach:
    """The way from a state to another one that moves; with leading axes, the same for all. O(nv^2)."""
    e = np.asarray(mb.difference(q, q_d))
    turning = [x for x in mb.layout.groups if x.hinge.nv and not _adds(x.hinge)]
    if not turning:
        return Approach(e, v_d - v, None, (), np.zeros(e.shape))
    J0, J1 = mb.difference_jacobians(q, q_d)
    edot = _times(J0, v) + _times(J1, v_d)
    L, drift = [], np.zeros(e.shape)
    custom = [x for x in turning if type(x.hinge) not in _GROUPS]
    b = _by_differences(mb, custom, q, v, q_d, v_d) if custom else drift
    for group in turning:
        at = group.v_index
        rows, columns = at[:, :, None], at[:, None, :]
        inverse = np.asarray(-np.linalg.inv(J0[..., rows, columns]), dtype=np.float64)
        if type(group.hinge) not in _GROUPS:
            drift[..., at] = _times(inverse, b[..., at])
        else:
            u = _times(inverse, _times(J1[..., rows, columns], v_d[..., at]))
            drift[..., at] = _drift(_GROUPS[type(group.hinge)], e[..., at], edot[..., at], u, u - v[..., at])
        L.append((group, inverse))
    return Approach(e, edot, (J0, J1), tuple(L), drift)


def _drift(ad: Callable[[Any], Array], e: Array, edot: Array, u: Array, x: Array) -> Array:
    """L b of spherical or free hinges, with the velocity u of the target in the axes of the body, and x = u - v."""
    A, X = ad(e), ad(edot)
    power, rate, turned = edot, np.zeros(e.shape), np.zeros(e.shape)  # ad(e)^n edot, its rate along e, their sum
    angle = float(np.sqrt(np.sum(e[..., :3] ** 2, axis=-1)).max(initial=0.0))
    part, size, n = 1.0, 1.0, 0  # the travel of e enters a term once at most: it is n^2 size, angle^(n-2) / (n + 1)!
    while n < 2 or n * n * size > _ROUNDING:
        n += 1
        rate, power = _times(A, rate) + _times(X, power), _times(A, power)
        part /= n + 1
        size *= (angle if n > 2 else 1.0) / (n + 1)
        turned = turned + part * rate
    return _times(ad(x), u) - turned


def _by_differences(mb: Multibody, groups: list[HingeGroup], q: Array, v: Array, q_d: Array, v_d: Array) -> Array:
    """b, for hinges of the user's own: how J0 v + J1 v_d varies along the motion with both velocities kept."""
    fastest = (np.maximum(np.abs(v), np.abs(v_d)) / sizes_of_dofs(mb)).max(axis=-1, keepdims=True)
    step = min(x.hinge.difference_step for x in groups) / np.where(fastest > 0.0, fastest, 1.0)
    total = np.zeros(v.shape)
    for i, weight in STENCIL:
        for sign in (1.0, -1.0):
            h = sign * i * step
            J0, J1 = mb.difference_jacobians(mb.integrate(q, h * v), mb.integrate(q_d, h * v_d))
            total += sign * weight * (_times(J0, v) + _times(J1, v_d))
    return np.asarray(total / step)


def _adds(hinge: Hinge) -> bool:
    """True if a hinge has true coordinates, which are subtracted."""
    return has_coordinates(hinge) and type(hinge).difference is Hinge.difference


def _times(A: Array, x: Array) -> Array:
    return np.asarray((A @ x[..., None])[..., 0])

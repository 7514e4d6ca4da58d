"""Where a state lives: a product of manifolds, and the chart in which an integrator takes one step.

A point x is a flat array. Around it, `move(x, u)` is the chart: u = 0 is x itself, and u has as many numbers as the
tangent space. A motion with velocity w(t) at the moving point is, in the chart of x,

    x(t) = move(x, u(t)),    udot = rate(x, u, w)                   rate = dexp^-1(u) w on a group (Munthe-Kaas)

so that a method of order p for u is one of order p on the manifold. Charts have a horizon, beyond which `rate` is not
regular: steps stay inside (`turn(u)` below `LARGEST_TURN`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from soacraft.errors import ModelError
from soacraft.model.flat.layout import HingeGroup
from soacraft.model.hinges import Free, RollingBall, RollingDisc, RollingEllipsoid, Spherical
from soacraft.model.hinges.base import Hinge, has_coordinates, qdot_of
from soacraft.model.states.tangent import integrate_rates
from soacraft.model.tree.graph import Graph
from soacraft.spatial import rotations
from soacraft.spatial.checks import Array
from soacraft.spatial.transforms import INVERSE_THIRD

#: The largest turn of one hinge within one step, in radians; the chart of rotations ends at 2 pi.
LARGEST_TURN = 3.0


class Manifold(Protocol):
    """A factor of the state."""

    @property
    def point_size(self) -> int:
        """How many numbers a point has."""

    @property
    def size(self) -> int:
        """How many numbers a tangent vector has."""

    @property
    def flat(self) -> bool:
        """Whether `rate(x, u, w)` is w everywhere."""

    def move(self, x: Array, u: Array) -> Array:
        """The point with coordinates u in the chart of x."""

    def rate(self, x: Array, u: Array, w: Array) -> Array:
        """The rate of u when the point moves with velocity w."""

    def turn(self, u: Array) -> float:
        """How far u is on the way to the end of its chart, in radians; 0 where the chart has no end."""


class Vectors:
    """Plain vectors: velocities, work done, states of components.

    >>> Vectors(2).move(np.array([1.0, 2.0]), np.array([0.5, 0.0]))
    array([1.5, 2. ])
    """

    flat = True

    def __init__(self, size: int) -> None:
        self.size = self.point_size = size

    def move(self, x: Array, u: Array) -> Array:
        """x + u."""
        return np.asarray(x + u)

    def rate(self, x: Array, u: Array, w: Array) -> Array:
        """w."""
        return w

    def turn(self, u: Array) -> float:
        """0: one chart is enough."""
        return 0.0


class Coordinates:
    """The coordinates q of a model, moved by `mb.integrate`.

    A tangent vector has nv numbers, and for every hinge that rolls two more: where it is on its plane is no function of
    how it turned, so its travel is integrated along. `tangent(q, v)` is the velocity as a tangent vector.

    >>> import soacraft as sc
    >>> space = Coordinates(sc.serial_chain(2, sc.Spherical()))
    >>> space.point_size, space.size
    (8, 6)
    """

    def __init__(self, graph: Graph) -> None:
        self.graph, self.nv = graph, graph.nv
        groups = graph.layout.groups
        self._turning = [(x, type(x.hinge) is Free) for x in groups if type(x.hinge) in (Spherical, Free)]
        self._rolling = [x for x in groups if type(x.hinge) in _ROLLING]
        known = [x for x in groups if x.hinge.nv == 0 or _is_plain(x.hinge)]
        self._own = [x for x in groups if x not in known and not _is_group(x.hinge)]
        for group in self._own:
            if not group.hinge.holonomic:
                body = graph.layout.bodies[int(group.bodies[0])]
                raise ModelError(
                    f"hinge {body.hinge_name!r} of {graph.name!r} ({group.hinge!r}) is nonholonomic and not a built-in "
                    "one that rolls: sc.sim does not know the chart of its coordinates. Use a Free hinge, and close it "
                    "with this one: mb.close_loop(name, 'inertial', body, hinge)."
                )
        self.point_size = graph.nq
        self.size = self.nv + 2 * sum(len(x.bodies) for x in self._rolling)
        self.is_group = not (self._rolling or self._own)
        """Whether all hinges have plain coordinates, or turn as groups do."""
        self.flat = not (self._turning or self._rolling or self._own) and graph.nq == graph.nv

    def tangent(self, q: Array, v: Array) -> Array:
        """The velocity as a tangent vector: v, and the travel of what rolls."""
        if not self._rolling:
            return v
        travels = [qdot_of(x.hinge, q[x.q_index], v[x.v_index])[:, 4:].ravel() for x in self._rolling]
        return np.concatenate([v, *travels])

    def move(self, x: Array, u: Array) -> Array:
        """`mb.integrate(x, u)`; what rolls goes where its travel leads."""
        if self.flat:
            return np.asarray(x + u)
        moved = self.graph.integrate(x, u[: self.nv])
        at = self.nv
        for group in self._rolling:
            travel = u[at : at + 2 * len(group.bodies)].reshape(-1, 2)
            moved[group.q_index[:, 4:]] = x[group.q_index[:, 4:]] + travel
            at += travel.size
        return moved

    def rate(self, x: Array, u: Array, w: Array) -> Array:
        """Jr(u)^-1 w, hinge by hinge."""
        if self.flat:
            return w
        found = np.array(w)
        for group, free in self._turning:
            for at in group.v_index:
                found[at] = twist_rate(u[at], w[at]) if free else turn_rate(u[at], w[at])
        for group in self._rolling:
            for at in group.v_index:
                found[at] = turn_rate(u[at], w[at])
        for group in self._own:
            J = integrate_rates(group.hinge, x[group.q_index], u[group.v_index])[1]
            found[group.v_index] = np.linalg.solve(J, w[group.v_index][..., None])[..., 0]
        return found

    def go(self, q: Array, u: Array) -> Array:
        """Coordinates moved by u (nv), the way of constant velocities in the axes of each hinge's parent: what is free
        goes straight on while it turns."""
        moved = self.graph.integrate(q, u)
        for group, free in self._turning:
            for place, at in zip(group.q_index, group.v_index, strict=True):
                if free:
                    moved[place[4:]] = q[place[4:]] + rotations.quaternion_to_matrix(q[place[:4]]) @ u[at[3:]]
        return moved

    def straight(self, v: Array, vdot: Array) -> Array:
        """The rates of velocities in the axes of each hinge's parent: those of free hinges' travel are vdot + w x v."""
        found = np.array(vdot)
        for group, free in self._turning:
            for at in group.v_index:
                if free:
                    found[at[3:]] += _cross(v[at[:3]], v[at[3:]])
        return found

    def carry(self, u: Array, v: Array) -> Array:
        """The velocities (nv) that are v in the axes of each hinge's parent, after its own axes were turned by u: those
        of spherical and free hinges are in their own axes."""
        carried = np.array(v)
        for group, _ in self._turning:
            for at in group.v_index:
                back = rotations.exp(-u[at[:3]])
                carried[at] = (v[at].reshape(-1, 3) @ back.T).ravel()
        return carried

    def turn(self, u: Array) -> float:
        """The largest turn of a hinge whose coordinates are a quaternion."""
        groups: list[HingeGroup] = [*(x for x, _ in self._turning), *self._rolling]
        return max((float(np.sqrt((u[x.v_index[:, :3]] ** 2).sum(axis=1).max())) for x in groups), default=0.0)


class Product:
    """Several factors, one after the other.

    >>> Product([Vectors(2), Vectors(1)]).size
    3
    """

    def __init__(self, factors: Sequence[Manifold]) -> None:
        self.factors = tuple(factors)
        self.point_size = sum(x.point_size for x in factors)
        self.size = sum(x.size for x in factors)
        self.flat = all(x.flat for x in factors)
        self._added = self.flat and self.point_size == self.size  # points and tangents are added
        self._parts: list[tuple[Manifold, slice, slice]] = []
        point = tangent = 0
        for x in factors:
            self._parts.append((x, slice(point, point + x.point_size), slice(tangent, tangent + x.size)))
            point, tangent = point + x.point_size, tangent + x.size

    def move(self, x: Array, u: Array) -> Array:
        """Each factor on its own."""
        if self._added:
            return np.asarray(x + u)
        return np.concatenate([np.zeros(0), *(f.move(x[p], u[t]) for f, p, t in self._parts)])

    def rate(self, x: Array, u: Array, w: Array) -> Array:
        """Each factor on its own."""
        if self.flat:
            return w
        return np.concatenate([np.zeros(0), *(f.rate(x[p], u[t], w[t]) for f, p, t in self._parts)])

    def turn(self, u: Array) -> float:
        """The largest of all factors."""
        if self._added:
            return 0.0
        return max((f.turn(u[t]) for f, _, t in self._parts), default=0.0)


def turn_rate(u: Array, w: Array) -> Array:
    """Jr(u)^-1 w of a rotation: w + (u x w)/2 + c u x (u x w), c = (1 - (t/2) cot(t/2)) / t^2, t = |u|.

    >>> turn_rate(np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0, 2.0]))      # a turn about a constant axis
    array([0., 0., 2.])
    """
    across = _cross(u, w)
    return np.asarray(w + 0.5 * across + _coefficient(float(u @ u))[0] * _cross(u, across))


def twist_rate(u: Array, w: Array) -> Array:
    """Jr(u)^-1 w of a twist [angular; linear]: the same as of a rotation, in dual numbers angular + eps linear, whose
    eps-part is the derivative. There u . u is s + 2 eps (angular . linear), and c is c(s) + eps c'(s) 2 (...)."""
    a, b, x, y = u[:3], u[3:], w[:3], w[3:]
    c, slope = _coefficient(float(a @ a))
    ax = _cross(a, x)
    aax, second = _cross(a, ax), _cross(b, x) + _cross(a, y)
    angular = x + 0.5 * ax + c * aax
    linear = y + 0.5 * second + c * (_cross(b, ax) + _cross(a, second)) + (2.0 * slope * float(a @ b)) * aax
    return np.concatenate([angular, linear])


def _coefficient(s: float) -> tuple[float, float]:
    """c = (1 - (t/2) cot(t/2)) / t^2 as a function of s = t^2, and its derivative; below 1 by their series."""
    if s < 1.0:
        c = slope = 0.0
        for a in reversed(INVERSE_THIRD):
            slope = slope * s + c
            c = c * s + a
        return c, slope
    half = 0.5 * math.sqrt(s)
    cot = 1.0 / math.tan(half)
    c = (1.0 - half * cot) / s
    return c, -((cot - half * (1.0 + cot * cot)) / (8.0 * half) + c) / s


def _cross(a: Array, b: Array) -> Array:
    (x, y, z), (p, q, r) = a.tolist(), b.tolist()
    return np.array([y * r - z * q, z * p - x * r, x * q - y * p])


def _is_plain(hinge: Hinge) -> bool:
    """Whether coordinates are numbers that are added."""
    return has_coordinates(hinge) and type(hinge).integrate is Hinge.integrate


def _is_group(hinge: Hinge) -> bool:
    return type(hinge) in (Spherical, Free, *_ROLLING)


#: Attitude as a quaternion, then the contact point on a plane.
_ROLLING = (RollingBall, RollingDisc, RollingEllipsoid)

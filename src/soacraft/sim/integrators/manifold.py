"""Manifolds of states: a product of manifolds, and the chart in which an integrator takes one step.

A point x is a flat array. Around it, `move(x, u)` is the chart: u = 0 is x itself, and u has as many numbers as the
tangent space. A motion with velocity w(t) at the moving point is, in the chart of x,

    x(t) = move(x, u(t)),    udot = rate(x, u, w)                   rate = dexp^-1(u) w on a group (Munthe-Kaas)

so that a method of order p for u is one of order p on the manifold. Charts have a horizon, beyond which `rate` is not
regular: steps stay inside (`turn(u)` below `LARGEST_TURN`).

A free body has the chart SO(3) x R^3: its travel and its linear velocity are in the axes that it has at x, where a
constant velocity is constant however fast it turns (a twist on SE(3) is not).
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
from soacraft.spatial.checks import Array
from soacraft.spatial.transforms import INVERSE_THIRD

#: The largest turn of one hinge within one step, in radians; the chart of rotations ends at 2 pi.
LARGEST_TURN = 3.0
#: A velocity that is carried to other axes and back is off by this part of it at most.
_ROUNDING = 2e-15


class Manifold(Protocol):
    """A factor of the state."""

    @property
    def point_size(self) -> int:
        """Count of the numbers of a point."""

    @property
    def size(self) -> int:
        """Count of the numbers of a tangent vector."""

    @property
    def flat(self) -> bool:
        """True if `rate(x, u, w)` is w everywhere."""

    def move(self, x: Array, u: Array) -> Array:
        """The point with coordinates u in the chart of x; with as many leading axes as both have."""

    def rate(self, x: Array, u: Array, w: Array) -> Array:
        """The rate of u when the point moves with velocity w."""

    def turn(self, u: Array) -> float:
        """Angle of u, to be compared with that at the end of its chart, in radians; 0 if the chart has no end."""


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
    """The coordinates q of a model, moved by `mb.integrate`; what is free goes straight on in the axes it has at x.

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
        free = [x for x, is_free in self._turning if is_free]
        self.free_q = np.vstack([np.zeros((0, 7), dtype=np.intp), *(x.q_index for x in free)])
        """Indices of the coordinates of free hinges, (hinges, 7)."""
        self.free_v = np.vstack([np.zeros((0, 6), dtype=np.intp), *(x.v_index for x in free)])
        """Indices of their dofs, (hinges, 6)."""
        self._rolling = [x for x in groups if type(x.hinge) in _ROLLING]
        plain = [x for x in groups if x.hinge.nv == 0 or _is_plain(x.hinge)]
        self._own = [x for x in groups if x not in plain and not _is_group(x.hinge)]
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
        """True if all hinges have plain coordinates, or turn as groups do."""
        self.flat = not (self._turning or self._rolling or self._own) and graph.nq == graph.nv

    @property
    def turning(self) -> list[tuple[HingeGroup, bool]]:
        """Groups of spherical and free hinges, and True for free ones."""
        return self._turning

    def tangent(self, q: Array, v: Array) -> Array:
        """The velocity as a tangent vector: v, and the travel of what rolls."""
        if not self._rolling:
            return v
        travels = [qdot_of(x.hinge, q[x.q_index], v[x.v_index])[:, 4:].ravel() for x in self._rolling]
        return np.concatenate([v, *travels])

    def move(self, x: Array, u: Array) -> Array:
        """`mb.integrate(x, u)`; what rolls goes where its travel leads, what is free straight on."""
        if self.flat:
            return np.asarray(x + u)
        moved = self.graph.integrate(x, u[..., : self.nv])
        if len(self.free_q):
            travels = self.free_q[:, 4:]
            moved[..., travels] = x[..., travels] + _turned(x, self.free_q, u[..., self.free_v[:, 3:]])
        at = self.nv
        for group in self._rolling:
            count = len(group.bodies)
            travel = u[..., at : at + 2 * count].reshape(*u.shape[:-1], count, 2)
            moved[..., group.q_index[:, 4:]] = x[..., group.q_index[:, 4:]] + travel
            at += 2 * count
        return moved

    def rate(self, x: Array, u: Array, w: Array) -> Array:
        """Jr(u)^-1 w, hinge by hinge; of the travel of what is free exp(u) w."""
        if self.flat:
            return w
        rates = np.array(w)
        for group, free in self._turning:
            for at in group.v_index:
                rates[at[:3]] = turn_rate(u[at[:3]], w[at[:3]])
                if free:
                    rates[at[3:]] = _carried(u[at[:3]], w[at[3:]])
        for group in self._rolling:
            for at in group.v_index:
                rates[at] = turn_rate(u[at], w[at])
        for group in self._own:
            J = integrate_rates(group.hinge, x[group.q_index], u[group.v_index])[1]
            rates[group.v_index] = np.linalg.solve(J, w[group.v_index][..., None])[..., 0]
        return rates

    def straight(self, v: Array, vdot: Array) -> Array:
        """The rates of velocities in the axes of each hinge's parent: those of free hinges' travel are vdot + w x v."""
        return self._with_turn(v, vdot, 1.0) if len(self.free_v) else vdot

    def own(self, v: Array, a: Array) -> Array:
        """vdot, (..., nv), from what `straight` makes of it."""
        return self._with_turn(v, a, -1.0) if len(self.free_v) else a

    def _with_turn(self, v: Array, a: Array, sign: float) -> Array:
        if np.ndim(a) == 1 and np.ndim(v) == 1:  # one state, as in each step
            rates = np.array(a)
            for at in self.free_v.tolist():
                x, y, z, p, q, r = (float(v[i]) for i in at)
                i, j, k = at[3:]
                rates[i] += sign * (y * r - z * q)
                rates[j] += sign * (z * p - x * r)
                rates[k] += sign * (x * q - y * p)
            return rates
        rates_of_all, turns, travels = np.array(a), self.free_v[:, :3], self.free_v[:, 3:]
        rates_of_all[..., travels] += sign * _across(v[..., turns], v[..., travels])
        return rates_of_all

    def velocity(self, q: Array, v: Array, there: Array) -> Array:
        """The velocities at q, (..., nv), whose travel of free hinges is v in the axes that they have `there`."""
        if not len(self.free_v):
            return v
        carried, travels = np.array(v), self.free_v[:, 3:]
        carried[..., travels] = _turned(q, self.free_q, _turned(there, self.free_q, v[..., travels]), -1.0)
        return carried

    def between(self, q0: Array, q1: Array) -> Array:
        """u with move(q0, u) = q1, of hinges that do not roll."""
        u = np.asarray(self.graph.difference(q0, q1))
        if len(self.free_q):
            travels = self.free_q[:, 4:]
            u[self.free_v[:, 3:]] = _turned(q0, self.free_q, q1[travels] - q0[travels], -1.0)
        return u

    def carry(self, u: Array, v: Array) -> Array:
        """The velocities (nv) that are v in the axes of each hinge's parent, after its own axes were turned by u: those
        of spherical and free hinges are in their own axes."""
        carried = np.array(v)
        for group, _ in self._turning:
            for at in group.v_index:
                for part in at.reshape(-1, 3):
                    carried[part] = _carried(u[at[:3]], v[part], -1.0)
        return carried

    def carry_turns(self, start: Array, end: Array, v: Array) -> Array:
        """The velocities (nv) after hinges turned by `end`, whose rates of turns are those of v in the parents' axes
        after turns by `start`."""
        carried = np.array(v)
        for group, _ in self._turning:
            for at in group.v_index[:, :3]:
                carried[at] = _carried(end[at], _carried(start[at], v[at]), -1.0)
        return carried

    def turn(self, u: Array) -> float:
        """The largest turn of a hinge whose coordinates are a quaternion."""
        groups: list[HingeGroup] = [*(x for x, _ in self._turning), *self._rolling]
        return max((float(np.sqrt((u[x.v_index[:, :3]] ** 2).sum(axis=1).max())) for x in groups), default=0.0)


class Motions:
    """Coordinates and velocities, [q; v]. A tangent vector is [tangent of q; a], with a = vdot but for the travel of
    what is free: a = vdot + w x v there, the rate of its velocity in the axes of its parent.

    >>> import soacraft as sc
    >>> mb = sc.Multibody()
    >>> brick = mb.add_body("brick", None, sc.Free(), sc.Inertia(1.0, [0, 0, 0], np.diag([1.0, 2.0, 3.0])))
    >>> space, x = Motions(Coordinates(mb)), np.concatenate([mb.q, [0, 0, 2.0, 1.0, 0, 0]])
    >>> turned = space.move(x, np.array([0, 0, np.pi / 2, 1.0, 0, 0, *np.zeros(6)]))  # it goes straight on
    >>> turned[4:7].round(9).tolist(), (turned[7:].round(9) + 0.0).tolist()
    ([1.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0, -1.0, 0.0])
    """

    def __init__(self, coordinates: Coordinates) -> None:
        self.coordinates, self._nq, self._nt = coordinates, coordinates.point_size, coordinates.size
        self.size, self.point_size = self._nt + coordinates.nv, self._nq + coordinates.nv
        self.flat = coordinates.flat

    def move(self, x: Array, u: Array) -> Array:
        """The coordinates as `Coordinates` has them, and the velocities v + dv in the axes of the start."""
        if self.flat:
            return np.asarray(x + u)
        start = x[..., : self._nq]
        q = self.coordinates.move(start, u[..., : self._nt])
        v = self.coordinates.velocity(q, x[..., self._nq :] + u[..., self._nt :], start)
        return np.concatenate([q, v], axis=-1)

    def rate(self, x: Array, u: Array, w: Array) -> Array:
        """Rate of the coordinates as in `Coordinates`, but for rounding: the rate of travel is v + dv."""
        if self.flat:
            return w
        rates = np.concatenate([self.coordinates.rate(x[: self._nq], u[: self._nt], w[: self._nt]), w[self._nt :]])
        for at in self.coordinates.free_v:
            straight = x[self._nq + at[3:]] + u[self._nt + at[3:]]
            if np.linalg.norm(rates[at[3:]] - straight) <= _ROUNDING * np.linalg.norm(straight):
                rates[at[3:]] = straight
            rates[self._nt + at[3:]] = _carried(u[at[:3]], w[self._nt + at[3:]])
        return rates

    def between(self, x0: Array, x1: Array) -> Array:
        """u with move(x0, u) = x1, of hinges that do not roll."""
        nq = self._nq
        there = self.coordinates.velocity(x0[:nq], x1[nq:], x1[:nq])
        return np.concatenate([self.coordinates.between(x0[:nq], x1[:nq]), there - x0[nq:]])

    def turn(self, u: Array) -> float:
        """Angle of the coordinates in their chart."""
        return self.coordinates.turn(u[: self._nt])


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
        return np.concatenate([x[..., :0], *(f.move(x[..., p], u[..., t]) for f, p, t in self._parts)], axis=-1)

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
    return np.asarray(w + 0.5 * across + _coefficient(float(u @ u)) * _cross(u, across))


def _coefficient(s: float) -> float:
    """c = (1 - (t/2) cot(t/2)) / t^2 as a function of s = t^2; below 1 by its series."""
    if s < 1.0:
        c = 0.0
        for a in reversed(INVERSE_THIRD):
            c = c * s + a
        return c
    half = 0.5 * math.sqrt(s)
    return (1.0 - half / math.tan(half)) / s


def _carried(u: Array, w: Array, sign: float = 1.0) -> Array:
    """exp(u~) w, or exp(-u~) w with sign -1, (3)."""
    x, y, z = u.tolist()
    t = math.sqrt(x * x + y * y + z * z)
    if t == 0.0:
        return w
    across = _cross(u, w)
    half = math.sin(0.5 * t)
    return np.asarray(w + (2.0 * half * half / (t * t) * _cross(u, across) + sign * math.sin(t) / t * across))


def _turned(q: Array, places: Array, w: Array, sign: float = 1.0) -> Array:
    """R w by the attitudes of free hinges, or R* w with sign -1, (..., hinges, 3): not even the rounding of a
    quaternion changes the length of w."""
    r, last = q[..., places[:, :3]], q[..., places[:, 3]][..., None]
    two = 2.0 / (r[..., :1] * r[..., :1] + r[..., 1:2] * r[..., 1:2] + r[..., 2:] * r[..., 2:] + last * last)
    return np.asarray(w + two * _across(r, _across(r, w) + sign * last * w))


def _across(a: Array, b: Array) -> Array:
    """a x b, (..., 3)."""
    x, y, z, p, q, r = *(a[..., i] for i in range(3)), *(b[..., i] for i in range(3))
    return np.stack([y * r - z * q, z * p - x * r, x * q - y * p], axis=-1)


def _cross(a: Array, b: Array) -> Array:
    (x, y, z), (p, q, r) = a.tolist(), b.tolist()
    return np.array([y * r - z * q, z * p - x * r, x * q - y * p])


def _is_plain(hinge: Hinge) -> bool:
    """True if coordinates are numbers that are added."""
    return has_coordinates(hinge) and type(hinge).integrate is Hinge.integrate


def _is_group(hinge: Hinge) -> bool:
    return type(hinge) in (Spherical, Free, *_ROLLING)


#: Attitude as a quaternion, then the contact point on a plane.
_ROLLING = (RollingBall, RollingDisc, RollingEllipsoid)

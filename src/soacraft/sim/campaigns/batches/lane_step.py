"""A step of RK4 of many runs at once, in the chart of its start (`sim.integrators.explicit`), and its dense output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.errors import SimulationError
from soacraft.sim.integrators.manifold import LARGEST_TURN, Coordinates
from soacraft.sim.integrators.steps import dense, hermite
from soacraft.spatial.checks import Array
from soacraft.spatial.transforms import INVERSE_THIRD


class Point(NamedTuple):
    """States of runs: coordinates and velocities of the model, continuous states of components."""

    q: Array
    v: Array
    z: dict[str, Array]

    def where(self, which: npt.NDArray[np.bool_], other: Point) -> Point:
        """This point for some runs, another one for the others."""
        z = {key: np.where(along(which, x), x, other.z[key]) for key, x in self.z.items()}
        return Point(np.where(which[:, None], self.q, other.q), np.where(which[:, None], self.v, other.v), z)

    def of(self, runs: Any) -> Point:
        """Some of the runs, by numbers or by a mask."""
        return Point(self.q[runs], self.v[runs], {key: x[runs] for key, x in self.z.items()})

    def put(self, runs: npt.NDArray[np.intp], some: Point) -> None:
        """Take over where some of the runs are."""
        self.q[runs], self.v[runs] = some.q, some.v
        for key, x in self.z.items():
            x[runs] = some.z[key]

    def copy(self) -> Point:
        """Copy of all arrays."""
        return Point(np.array(self.q), np.array(self.v), {key: np.array(x) for key, x in self.z.items()})


#: vdot and dz/dt at a time and a point.
Slopes = Callable[[Any, Point], tuple[Array, dict[str, Array]]]
#: q and v on the closures.
Settle = Callable[[Array, Array], tuple[Array, Array]]


def along(x: Any, like: Array) -> Any:
    """A number of each run next to an array of the runs; a number of all stays."""
    return x if np.ndim(x) == 0 else x.reshape(-1, *(1,) * (like.ndim - 1))


class LaneStep:
    """One step from a point at t; t and h are numbers, or have an axis of runs. `settle` puts coordinates and
    velocities at its end, and within it, on closures."""

    def __init__(
        self, space: Coordinates, slopes: Slopes, t: Any, h: Any, start: Point, settle: Settle | None = None
    ) -> None:
        self.t, self.h, self.start = t, h, start
        self._space, self._slopes_at, self._settle = space, slopes, settle
        _, v, z = start
        a, dz = slopes(t, start)
        k = [(v, space.straight(v, a), dz)]
        for c in (0.5, 0.5, 1.0):
            w, a, dz = k[-1]
            s = along(c * h, v)
            u, y = s * w, v + s * a
            point = self._chart(u, y, {key: x + along(c * h, x) * dz[key] for key, x in z.items()})
            k.append(self._slope(t + c * h, u, y, point))
        weights = (h / 6.0, h / 3.0, h / 3.0, h / 6.0)
        self._first = k[0]
        self._u = np.asarray(sum(along(x, v) * one[0] for x, one in zip(weights, k, strict=True)))
        self._y = np.asarray(v + sum(along(x, v) * one[1] for x, one in zip(weights, k, strict=True)))
        self._z = {
            key: x + sum(along(b, x) * one[2][key] for b, one in zip(weights, k, strict=True)) for key, x in z.items()
        }
        self.end = self._closed(self._chart(self._u, self._y, self._z))
        self._dense: tuple[Array, Array, dict[str, Array]] | None = None

    def at(self, theta: Array) -> Point:
        """The states at the parts theta (runs) of the step, by the cubic through its ends."""
        if (theta <= 0.0).all():
            return self.start
        if (theta >= 1.0).all():
            return self.end
        if self._dense is None:
            last = self._slope(self.t + self.h, self._u, self._y, self.end)
            _, v, z = self.start
            h = along(self.h, v)
            self._dense = (
                hermite(self._u, h * self._first[0], h * last[0]),
                hermite(self._y - v, h * self._first[1], h * last[1]),
                {
                    key: hermite(
                        self._z[key] - x, along(self.h, x) * self._first[2][key], along(self.h, x) * last[2][key]
                    )
                    for key, x in z.items()
                },
            )
        U, Y, Z = self._dense
        _, v, z = self.start
        states = {key: x + dense(Z[key], along(theta, x)) for key, x in z.items()}
        inside = self._closed(self._chart(dense(U, theta[:, None]), v + dense(Y, theta[:, None]), states))
        return self.end.where(theta >= 1.0, self.start.where(theta <= 0.0, inside))

    def _closed(self, point: Point) -> Point:
        return point if self._settle is None else Point(*self._settle(point.q, point.v), point.z)

    def _chart(self, u: Array, y: Array, z: dict[str, Array]) -> Point:
        """The point at chart coordinates u, where the velocities of the start's chart are y."""
        for group, _ in self._space.turning:
            if ((u[:, group.v_index[:, :3]] ** 2).sum(axis=-1) > LARGEST_TURN**2).any():
                raise SimulationError("a hinge of a run in the batch turns too far within one step.")
        q = self._space.move(self.start.q, u)
        return Point(q, self._space.velocity(q, y, self.start.q), z)

    def _slope(self, t: Any, u: Array, y: Array, point: Point) -> tuple[Array, Array, dict[str, Array]]:
        a, dz = self._slopes_at(t, point)
        velocity = self._space.velocity(self.start.q, self._space.straight(point.v, a), point.q)
        return self._rate(u, y, point.v), velocity, dz

    def _rate(self, u: Array, y: Array, w: Array) -> Array:
        """Jr(u)^-1 w, hinge by hinge, as `Coordinates.rate`; y of the travel of what is free."""
        if self._space.flat:
            return w
        rates = np.array(y)
        for group, _ in self._space.turning:
            for at in group.v_index[:, :3]:
                rates[:, at] = turn_rates(u[:, at], w[:, at])
        return rates


def turn_rates(u: Array, w: Array) -> Array:
    """`sim.integrators.manifold.turn_rate` of many, (n, 3)."""
    across = _cross(u, w)
    return np.asarray(w + 0.5 * across + _coefficients((u * u).sum(axis=-1))[:, None] * _cross(u, across))


def _coefficients(s: Array) -> Array:
    """(1 - (t/2) cot(t/2)) / t^2 as a function of s = t^2; below 1 by its series."""
    near, c = np.minimum(s, 1.0), np.zeros_like(s)
    for a in reversed(INVERSE_THIRD):
        c = c * near + a
    if (s < 1.0).all():
        return c
    far = np.maximum(s, 1.0)
    half = 0.5 * np.sqrt(far)
    return np.where(s < 1.0, c, (1.0 - half / np.tan(half)) / far)


def _cross(a: Array, b: Array) -> Array:
    """a x b, (n, 3), of many at once: numpy's own takes longer to begin."""
    out = np.empty(a.shape)
    (x, y, z), (p, q, r) = a.T, b.T
    out[:, 0], out[:, 1], out[:, 2] = y * r - z * q, z * p - x * r, x * q - y * p
    return out

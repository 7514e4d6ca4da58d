"""Trajectories of constant jerks, piece by piece for each dof, as Ruckig computes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.spatial.checks import Array


class Way:
    """A trajectory of Ruckig, in units of the robot. What takes `here`, (q, v, vdot) where it begins, has all pieces up
    to a time; after its end it goes on without jerk."""

    def __init__(self, trajectory: Any, unit: Array) -> None:
        """`unit` (dofs) is what Ruckig has its lengths in; powers of two, so that nothing is rounded."""
        (profiles,) = trajectory.profiles
        self._made, self._unit = trajectory, unit
        self._t = np.array([[*x.brake.t, *x.t] for x in profiles])
        self._j = np.array([[*x.brake.j, *x.j, 0.0] for x in profiles]) * unit[:, None]
        self.duration = float(trajectory.duration)

    def at(self, time: float) -> list[Array]:
        """q, v and vdot at a time."""
        return [np.array(x) * self._unit for x in self._made.at_time(time)]

    def extent(self, here: list[Array], until: float = np.inf) -> tuple[Array, Array]:
        """The lowest and the highest position of each dof: at the ends of pieces, and where v + a t + j t^2/2 = 0
        within them."""
        T, _, q, v, a, j = self._pieces(here, until)
        low, high = q.min(axis=1), q.max(axis=1)
        q, v, a = q[:, :-1], v[:, :-1], a[:, :-1]
        root = np.sqrt(np.maximum(a * a - 2.0 * j * v, 0.0))
        w = -a - np.where(a >= 0.0, root, -root)
        for over, under in ((w, j), (2.0 * v, w)):  # the stable forms of both roots
            x = np.clip(np.divide(over, under, out=np.zeros_like(over), where=under != 0.0), 0.0, T)
            p = q + x * (v + x * (a / 2.0 + x * j / 6.0))
            low, high = np.minimum(low, p.min(axis=1)), np.maximum(high, p.max(axis=1))
        return low, high

    def fastest(self, here: list[Array], until: float) -> Array:
        """The largest |v| of each dof: at the ends of pieces, and where a + j t = 0 within them."""
        T, _, _, v, a, j = self._pieces(here, until)
        a = a[:, :-1]
        x = np.clip(np.divide(-a, j, out=np.zeros_like(a), where=j != 0.0), 0.0, T)
        peaks = v[:, :-1] + x * (a + 0.5 * x * j)
        return np.asarray(np.maximum(np.abs(v).max(axis=1), np.abs(peaks).max(axis=1)))

    def integrals(self, here: list[Array], until: float) -> Array:
        """The integrals of v and of t v of each dof, (2, dofs)."""
        T, start, q, v, a, j = self._pieces(here, until)
        v, a = v[:, :-1], a[:, :-1]
        within = T * T * (v / 2.0 + T * (a / 3.0 + T * j / 8.0))
        return np.stack([q[:, -1] - q[:, 0], np.sum(start * (q[:, 1:] - q[:, :-1]) + within, axis=1)])

    def _pieces(self, here: list[Array], until: float) -> tuple[Array, ...]:
        """Durations of the pieces up to a time, their starts, q, v and a at their ends, and their jerks."""
        j = self._j
        t = np.append(self._t, np.full((len(j), 1), until if np.isfinite(until) else 0.0), axis=1)
        start = np.cumsum(t, axis=1) - t
        T = np.clip(until - start, 0.0, t)
        q, v, a = (np.empty((len(t), t.shape[1] + 1)) for _ in range(3))
        q[:, 0], v[:, 0], a[:, 0] = here
        for k in range(t.shape[1]):
            x = T[:, k]
            a[:, k + 1] = a[:, k] + x * j[:, k]
            v[:, k + 1] = v[:, k] + x * (a[:, k] + 0.5 * x * j[:, k])
            q[:, k + 1] = q[:, k] + x * (v[:, k] + x * (a[:, k] / 2.0 + x * j[:, k] / 6.0))
        return T, start, q, v, a, j

"""Least squares on the manifold of the hinges, within limits and on the closures: Levenberg-Marquardt.

    min over dv of  |J dv + r|^2 + mu |dv|^2,    G dv = 0,    limits kept,      q <- closed(integrate(q, dv))

r and dv in radians and in distances relative to the reach, mu in proportion to |r|^2 (to 1 above that), so that steps
stay small near singular configurations and become those of Gauss-Newton where the targets are met. G dv = 0 is a heavy
row; what a step leaves open is closed before it is judged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import lsq_linear

from soacraft.loops.bounds import Bounds
from soacraft.loops.rows import Constraints
from soacraft.loops.targets import Aim, aims_rates
from soacraft.loops.tolerances import ASSEMBLED
from soacraft.model.interface import Graph
from soacraft.model.state import State
from soacraft.spatial.checks import Array

_HEAVY = 1e4  # of the rows of the closures relative to the largest entry of J
_LARGEST = 1.0  # angle of a step, in radians
_LEAST, _MOST = 1e-9, 1e9  # damping relative to |r|^2
_STALLED = 1e-13  # part of |r|^2 by which a step must improve it
_PATIENCE, _ENOUGH = 6, 0.7  # so many steps must bring |r|^2 down to this part, while other starts are left
_CLOSING = 60  # steps


class Point(NamedTuple):
    """A configuration with its weighed residual."""

    state: State
    rows: Constraints | None
    """Of the closures; None where there are none."""
    r: Array
    done: bool

    @property
    def cost(self) -> float:
        """|r|^2."""
        return float(self.r @ self.r)


class Search:
    """A graph, its bounds and its targets; weights relative to the heaviest. Closures are closed within `closed`."""

    def __init__(self, graph: Graph, bounds: Bounds, aims: list[Aim], closed: float) -> None:
        self.graph, self.aims, self.closed = graph, aims, closed
        self.bounds = bounds.measured_by(max(aim.length for aim in aims))
        self.start = graph.current.replace(v=np.zeros(graph.nv), vdot=np.zeros(graph.nv), forces=())
        self.closed_chain = graph.is_closed
        heaviest = max(aim.weight for aim in aims)
        self.weights = np.concatenate([aim.weight / heaviest * aim.scales for aim in aims])
        self.iterations = 0
        self.nearest: Constraints | None = None
        """Of all that failed to close, the one least open."""

    # -- points ----------------------------------------------------------------------------------------------

    def at(self, q: Array, theta: dict[str, Array] | None = None) -> Point | None:
        """The point at coordinates brought within the limits and onto the closures; None where they do not close."""
        state = self.start.replace(q=self.bounds.inside(q))
        rows = None
        if self.closed_chain:
            rows = self._closed(Constraints(self.graph, state, theta))
            if rows is None:
                return None
            state = rows.state
        parts = [aim.residual(*aim.seen(state)) for aim in self.aims]
        done = all(aim.met(r) for aim, r in zip(self.aims, parts, strict=True))
        return Point(state, rows, self.weights * np.concatenate(parts), done)

    def costs(self, q: Array) -> Array:
        """|r|^2 at many coordinates (count, nq), closures left as they are; angles to half the digits."""
        still = np.zeros((len(q), self.graph.nv))
        state = self.start.replace(q=q, v=still, vdot=still)
        heaviest, total = max(aim.weight for aim in self.aims), np.zeros(len(q))
        for aim in self.aims:
            gap = aim.gaps(*aim.seen(state))
            total += (aim.weight / heaviest) ** 2 * ((gap.distance / aim.length) ** 2 + gap.angle**2)
        return total

    def _closed(self, rows: Constraints) -> Constraints | None:
        """Levenberg-Marquardt on the closures alone."""

        def point(rows: Constraints) -> Point:
            return Point(rows.state, rows, rows.residual / rows.common_units, rows.opening <= ASSEMBLED)

        def jacobians(here: Point) -> tuple[Array, None]:
            assert here.rows is not None
            return here.rows.jacobian() / here.rows.common_units[:, None] / self.bounds.units, None

        def move(here: Point, dv: Array) -> Point:
            assert here.rows is not None
            q = self.bounds.inside(self.graph.integrate(here.state.q, dv))
            return point(Constraints(self.graph, here.state.replace(q=q), here.rows.theta))

        end, _ = self._descend(point(rows), jacobians, move, _CLOSING)
        assert end.rows is not None
        if end.rows.opening <= self.closed:
            return end.rows
        if self.nearest is None or end.rows.opening < self.nearest.opening:
            self.nearest = end.rows
        return None

    # -- the descent -----------------------------------------------------------------------------------------

    def descend(self, point: Point, steps: int, hasty: bool = False) -> Point:
        """From a point to one where the targets are met, or nothing gets better; if hasty, not better soon."""

        def jacobians(here: Point) -> tuple[Array, Array | None]:
            J = self.weights[:, None] * aims_rates(self.graph, here.state, self.aims) / self.bounds.units
            rows = here.rows
            return J, None if rows is None else rows.jacobian() / rows.common_units[:, None] / self.bounds.units

        def move(here: Point, dv: Array) -> Point | None:
            return self.at(self.graph.integrate(here.state.q, dv), here.rows.theta if here.rows else None)

        point, used = self._descend(point, jacobians, move, steps, hasty)
        self.iterations += used
        return point

    def _descend(
        self,
        point: Point,
        jacobians: Callable[[Point], tuple[Array, Array | None]],
        move: Callable[[Point, Array], Point | None],
        steps: int,
        hasty: bool = False,
    ) -> tuple[Point, int]:
        damping, hoped_for = 1e-3, np.inf
        for step in range(steps):
            if point.done or not self.bounds.free.any():
                return point, step
            if hasty and step % _PATIENCE == 0:
                if point.cost > hoped_for:
                    return point, step
                hoped_for = _ENOUGH * point.cost
            J, G = jacobians(point)
            box = self.bounds.box(point.state.q)
            better, hoped = None, 0.0
            while better is None and damping < _MOST:
                y = self._shortened(self._step(J, G, point.r, damping * min(point.cost, 1.0), box))
                after = move(point, y / self.bounds.units)
                if after is not None and (after.done or after.cost < point.cost):
                    better, hoped = after, float(np.sum((point.r + J @ y) ** 2))
                else:
                    damping *= 4.0
            if better is None:
                return point, step + 1
            stalled = not better.done and better.cost > (1.0 - _STALLED) * point.cost
            gain = min(1.0, (point.cost - better.cost) / max(point.cost - hoped, 1e-300))
            point, damping = better, max(damping * max(0.1, 1.0 - (2.0 * gain - 1.0) ** 3), _LEAST)
            if stalled:
                return point, step + 1
        return point, steps

    def _step(self, J: Array, G: Array | None, r: Array, mu: float, box: tuple[Array, Array, Array]) -> Array:
        """The damped step within the box, of the free dofs alone, in units: without the box where that is inside."""
        free, (lower, upper, B) = self.bounds.free, box
        B, lower, upper = B[:, free], lower[free], upper[free]
        parts = [J @ B]
        if G is not None:
            parts.append(_HEAVY * max(1.0, float(np.abs(J).max(initial=0.0))) * (G @ B))
        parts.append(np.sqrt(mu + 1e-14) * np.eye(B.shape[1]))
        A = np.concatenate(parts)
        b = np.concatenate([-r, np.zeros(len(A) - len(r))])
        y = np.linalg.lstsq(A, b, rcond=None)[0]
        if (y < lower).any() or (y > upper).any():
            y = lsq_linear(A, b, bounds=(lower, upper), method="bvls").x
        return np.asarray(B @ y)

    def _shortened(self, y: Array) -> Array:
        """A step that turns no dof by more than the largest angle."""
        most = float(np.abs(y[self.bounds.turning]).max(initial=0.0))
        return y * min(1.0, _LARGEST / max(most, 1e-300))

"""Least squares on the manifold of the hinges, within limits and on the closures: Levenberg-Marquardt.

    min over dv of  |J dv + r|^2 + mu |dv|^2,    G dv = 0,    limits kept,      q <- closed(integrate(q, dv))

r and dv in radians and in distances relative to the reach, mu in proportion to |r|^2 (to 1 above that), so that steps
stay small near singular configurations and become those of Gauss-Newton where the targets are met. G dv = 0 is a heavy
row; a step is closed again before it is judged.
"""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import numpy as np
from scipy.optimize import lsq_linear

from soacraft.kinematics.assemble import close
from soacraft.kinematics.bounds import Bounds
from soacraft.kinematics.reaching import ENOUGH, LARGEST, PATIENCE
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.targets import Aim, aims_rates
from soacraft.kinematics.tolerances import DAMPED, DAMPING, HEAVY, LEAST_DAMPING, MOST_DAMPING, UNIMPROVED
from soacraft.model.states.state import State
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array


class Point(NamedTuple):
    """A configuration with its weighed residual."""

    state: State
    rows: Constraints | None
    """Rows of the closures; None where there are none."""
    r: Array
    done: bool

    @property
    def cost(self) -> float:
        """|r|^2."""
        return float(self.r @ self.r)


class Search:
    """A graph, its bounds and its targets; weights relative to the heaviest. Closures are closed within `closed`. It
    ends when the clock is at `until`."""

    def __init__(self, graph: Graph, bounds: Bounds, aims: list[Aim], closed: float, until: float = np.inf) -> None:
        self.graph, self.aims, self.closed, self.until = graph, aims, closed, until
        self.bounds = bounds.measured_by(max(aim.length for aim in aims))
        self.start = graph.current.replace(v=np.zeros(graph.nv), vdot=np.zeros(graph.nv), forces=())
        self.closed_chain = graph.is_closed
        heaviest = max(aim.weight for aim in aims)
        self.weights = np.concatenate([aim.weight / heaviest * aim.scales for aim in aims])
        self.iterations = 0
        self.nearest: Constraints | None = None
        """Rows of the least open configuration among all that failed to close."""

    @property
    def late(self) -> bool:
        """True if its time is over."""
        return perf_counter() > self.until

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
        """The rows on the closures next to given ones; None where steps do not lead there."""
        end = close(rows, self.bounds, until=self.until)
        if end.opening <= self.closed:
            return end
        if self.nearest is None or end.opening < self.nearest.opening:
            self.nearest = end
        return None

    # -- the descent -----------------------------------------------------------------------------------------

    def descend(self, point: Point, steps: int, hasty: bool = False) -> Point:
        """Descend from a point to one where the targets are met, or the cost falls no more; if hasty, to where it does
        not fall soon.
        """
        damping, hoped_for = DAMPING, np.inf
        for step in range(steps):
            if point.done or not self.bounds.free.any() or self.late:
                break
            if hasty and step % PATIENCE == 0:
                if point.cost > hoped_for:
                    break
                hoped_for = ENOUGH * point.cost
            self.iterations += 1
            after, damping = self._better(point, damping)
            if after is None:
                break
            stalled = not after.done and after.cost > (1.0 - UNIMPROVED) * point.cost
            point = after
            if stalled:
                break
        return point

    def _better(self, point: Point, damping: float) -> tuple[Point | None, float]:
        """The point after a step that makes |r|^2 smaller, None where there is none; and the damping of the next."""
        units, theta = self.bounds.units, point.rows.theta if point.rows else None
        J, G = self._jacobians(point)
        box = self.bounds.box(point.state.q)
        while damping < MOST_DAMPING and not self.late:
            y = self._shortened(self._step(J, G, point.r, damping * min(point.cost, 1.0), box))
            after = self.at(self.graph.integrate(point.state.q, y / units), theta)
            if after is not None and (after.done or after.cost < point.cost):
                hoped = float(np.sum((point.r + J @ y) ** 2))
                gain = min(1.0, (point.cost - after.cost) / max(point.cost - hoped, 1e-300))
                return after, max(damping * max(0.1, 1.0 - (2.0 * gain - 1.0) ** 3), LEAST_DAMPING)
            damping *= 4.0
        return None, damping

    def _jacobians(self, point: Point) -> tuple[Array, Array | None]:
        """The rates of the weighed residual and of the closures, rows and dofs in their units."""
        J = self.weights[:, None] * aims_rates(self.graph, point.state, self.aims) / self.bounds.units
        rows = point.rows
        return J, None if rows is None else rows.jacobian() / rows.common_units[:, None] / self.bounds.units

    def _step(self, J: Array, G: Array | None, r: Array, mu: float, box: tuple[Array, Array, Array]) -> Array:
        """The damped step within the box, of the free dofs alone, in units: without the box where that is inside."""
        free, (lower, upper, B) = self.bounds.free, box
        B, lower, upper = B[:, free], lower[free], upper[free]
        parts = [J @ B]
        if G is not None:
            parts.append(HEAVY * max(1.0, float(np.abs(J).max(initial=0.0))) * (G @ B))
        parts.append(np.sqrt(mu + DAMPED) * np.eye(B.shape[1]))
        A = np.concatenate(parts)
        b = np.concatenate([-r, np.zeros(len(A) - len(r))])
        y = np.linalg.lstsq(A, b, rcond=None)[0]
        if (y < lower).any() or (y > upper).any():
            y = lsq_linear(A, b, bounds=(lower, upper), method="bvls").x
        return np.asarray(B @ y)

    def _shortened(self, y: Array) -> Array:
        """A step that turns no dof by more than the largest angle."""
        most = float(np.abs(y[self.bounds.turning]).max(initial=0.0))
        return y * min(1.0, LARGEST / max(most, 1e-300))

"""Least squares on the manifold of the hinges, within limits and on the closures: Levenberg-Marquardt.

    min over dv of  |J dv + r|^2 + mu |dv|^2,    G dv = 0,    limits kept,      q <- closed(integrate(q, dv))

with mu in proportion to |r|^2 (to 1 above that), so that steps stay small near singular configurations and become
those of Gauss-Newton where the targets are met. G dv = 0 is a heavy row; what a step leaves open is closed before it is
judged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import lsq_linear

from soacraft.loops.assemble import CLOSED, NEARLY
from soacraft.loops.bounds import Bounds
from soacraft.loops.rows import Constraints
from soacraft.loops.targets import Aim, aims_rates
from soacraft.model.interface import Graph
from soacraft.model.state import State
from soacraft.spatial.checks import Array

_HEAVY = 1e4  # of the rows of the closures beside the largest entry of J
_LARGEST = 1.0  # angle of a step, in radians
_LEAST, _MOST = 1e-9, 1e9  # damping beside |r|^2
_STALLED = 1e-13  # part of |r|^2 by which a step must improve it
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
    """A graph, its bounds and its targets; weights beside the heaviest."""

    def __init__(self, graph: Graph, bounds: Bounds, aims: list[Aim]) -> None:
        self.graph, self.bounds, self.aims = graph, bounds, aims
        self.start = graph.current.replace(v=np.zeros(graph.nv), vdot=np.zeros(graph.nv), forces=())
        self.closed_chain = graph.is_closed
        heaviest = max(aim.weight for aim in aims)
        self.weights = np.concatenate([np.full(_rows(aim), aim.weight / heaviest) for aim in aims])
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

    def _closed(self, rows: Constraints) -> Constraints | None:
        """Levenberg-Marquardt on the closures alone."""

        def point(rows: Constraints) -> Point:
            return Point(rows.state, rows, rows.residual, bool(np.abs(rows.residual).max(initial=0.0) <= CLOSED))

        def jacobians(here: Point) -> tuple[Array, None]:
            assert here.rows is not None
            return here.rows.jacobian(), None

        def move(here: Point, dv: Array) -> Point:
            assert here.rows is not None
            q = self.bounds.inside(self.graph.integrate(here.state.q, dv))
            return point(Constraints(self.graph, here.state.replace(q=q), here.rows.theta))

        end, _ = self._descend(point(rows), jacobians, move, _CLOSING)
        assert end.rows is not None
        if np.abs(end.r).max(initial=0.0) <= NEARLY:
            return end.rows
        if self.nearest is None or end.cost < float(self.nearest.residual @ self.nearest.residual):
            self.nearest = end.rows
        return None

    # -- the descent -----------------------------------------------------------------------------------------

    def descend(self, point: Point, steps: int) -> Point:
        """From a point to one where the targets are met, or nothing gets better."""

        def jacobians(here: Point) -> tuple[Array, Array | None]:
            J = self.weights[:, None] * aims_rates(self.graph, here.state, self.aims)
            return J, None if here.rows is None else here.rows.jacobian()

        def move(here: Point, dv: Array) -> Point | None:
            return self.at(self.graph.integrate(here.state.q, dv), here.rows.theta if here.rows else None)

        point, used = self._descend(point, jacobians, move, steps)
        self.iterations += used
        return point

    def _descend(
        self,
        point: Point,
        jacobians: Callable[[Point], tuple[Array, Array | None]],
        move: Callable[[Point, Array], Point | None],
        steps: int,
    ) -> tuple[Point, int]:
        damping = 1e-3
        for step in range(steps):
            if point.done or not self.bounds.free.any():
                return point, step
            J, G = jacobians(point)
            box = self.bounds.box(point.state.q)
            better, hoped = None, 0.0
            while better is None and damping < _MOST:
                dv = self._shortened(point.state, self._step(J, G, point.r, damping * min(point.cost, 1.0), box))
                after = move(point, dv)
                if after is not None and (after.done or after.cost < point.cost):
                    better, hoped = after, float(np.sum((point.r + J @ dv) ** 2))
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
        """The damped step within the box, of the free dofs alone."""
        free, (lower, upper, B) = self.bounds.free, box
        parts = [J @ B[:, free]]
        if G is not None:
            parts.append(_HEAVY * max(1.0, float(np.abs(J).max(initial=0.0))) * (G @ B[:, free]))
        width = int(free.sum())
        parts.append(np.sqrt(mu + 1e-14) * np.eye(width))
        A = np.concatenate(parts)
        b = np.concatenate([-r, np.zeros(len(A) - len(r))])
        found = lsq_linear(A, b, bounds=(lower[free], upper[free]), method="bvls")
        return np.asarray(B[:, free] @ found.x)

    def _shortened(self, state: State, dv: Array) -> Array:
        """A step that turns no hinge by more than the largest angle."""
        sko = self.graph.sko(state)
        turns = [np.abs(sko.H(k).T[:3] @ dv[v]).max(initial=0.0) for k, v in enumerate(self.graph.layout.v_slices)]
        return dv * min(1.0, _LARGEST / max(max(turns, default=0.0), 1e-300))


def _rows(aim: Aim) -> int:
    return 6 if aim.kind == "pose" else 3

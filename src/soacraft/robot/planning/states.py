"""A `Space` as OMPL has it: its spaces of states, and the way there and back.

Trees: coordinates with limits are a real vector, angles without limits SO(2), quaternions SO(3), in one compound space.

Closed chains: OMPL projects real vectors alone, so that all is one: an angle without limits is its cosine and sine, a
quaternion its four numbers. `ProjectedStateSpace` brings what it draws, and each step between two states, onto

    |(cos, sin)| = 1,    |quaternion| = 1,    all loops and couplings closed

by the function that is given to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from soacraft.robot.motion.extras import package
from soacraft.robot.planning.space import Space
from soacraft.spatial.checks import Array


def real_vector(ob: Any, low: Array, high: Array) -> Any:
    """OMPL's space of real vectors between bounds."""
    space, bounds = ob.RealVectorStateSpace(len(low)), ob.RealVectorBounds(len(low))
    for i, (a, b) in enumerate(zip(low, high, strict=True)):
        bounds.setLow(i, float(a))
        bounds.setHigh(i, float(b if b > a else a + 1e-9))
    space.setBounds(bounds)
    return space


class States:
    """OMPL's space of states for a `Space`, and the way there and back."""

    def __init__(self, space: Space) -> None:
        ob, self.space = package("ompl.base", "this planner"), space
        self._vector = np.flatnonzero(~space.wrap)
        self._angles = np.flatnonzero(space.wrap)
        boxes = [np.array(x) / space.length for x in space.boxes if x is not None]
        low, high = (
            np.concatenate([x[self._vector] * space.scale[self._vector], *(box[i] for box in boxes)])
            for i, x in enumerate((space.low, space.high))
        )
        self._numbers = len(low)
        self.plain = not len(self._angles) and not space.quaternions
        self.made = real_vector(ob, low, high) if self.plain else ob.CompoundStateSpace()
        if self.plain:
            return
        if self._numbers:
            self.made.addSubspace(real_vector(ob, low, high), 1.0)
        for _ in self._angles:
            self.made.addSubspace(ob.SO2StateSpace(), 1.0)
        for _ in space.quaternions:
            self.made.addSubspace(ob.SO3StateSpace(), 2.0)  # OMPL's distance is half of the angle

    def configuration(self, state: Any) -> Array:
        """q (nq) of a state."""
        space, q, k = self.space, self.space.q0.copy(), 0
        if self._numbers:
            x = np.array((state if self.plain else state[0])[0 : self._numbers])
            n, k = len(self._vector), 1
            plain = self._vector
            q[space.place[plain]] = np.clip(
                x[:n] / space.scale[plain], space.lower[plain], space.upper[plain]
            )  # rounding
            for _, at in space.quaternions:
                if at is not None:
                    q[at], n = x[n : n + 3] * space.length, n + 3
        for i in self._angles:
            q[space.place[i]], k = state[k].value, k + 1
        for turn, _ in space.quaternions:
            x = np.array([state[k].x, state[k].y, state[k].z, state[k].w])
            q[turn], k = x / np.linalg.norm(x), k + 1
        return q

    def write(self, state: Any, q: Array) -> None:
        """Set a state to q."""
        space, k = self.space, 0
        if self._numbers:
            x = list(q[space.place[self._vector]] * space.scale[self._vector])
            for _, at in space.quaternions:
                x += [] if at is None else list(q[at] / space.length)
            to = state if self.plain else state[0]
            for j, value in enumerate(x):
                to[j] = float(value)
            k = 1
        for i in self._angles:
            state[k].value, k = float(np.remainder(q[space.place[i]] + np.pi, 2.0 * np.pi) - np.pi), k + 1
        for turn, _ in space.quaternions:
            part = state[k]
            part.x, part.y, part.z, part.w = (float(x) for x in q[turn])
            k += 1


class ClosedStates:
    """Space of states of a closed chain: real vectors that `closed` projects to where loops close, in steps of `step`.

    `closed(q)` gives a closed configuration next to one, or None; it must not raise.
    """

    plain = False

    def __init__(self, space: Space, closed: Callable[[Array], Array | None], step: float) -> None:
        ob, self.space = package("ompl.base", "this planner"), space
        self._vector, self._angles = np.flatnonzero(~space.wrap), np.flatnonzero(space.wrap)
        low = [space.low[self._vector] * space.scale[self._vector], np.full(2 * len(self._angles), -1.0)]
        high = [space.high[self._vector] * space.scale[self._vector], np.full(2 * len(self._angles), 1.0)]
        for box in space.boxes:
            low.append(np.full(4, -1.0) if box is None else np.append(np.full(4, -1.0), box[0] / space.length))
            high.append(np.full(4, 1.0) if box is None else np.append(np.full(4, 1.0), box[1] / space.length))
        bounds = np.concatenate(low), np.concatenate(high)
        self.size = len(bounds[0])
        # how many conditions there are is told to OMPL as none: projection does not ask
        self._held: list[Any] = [self, closed]
        self.made = ob.ProjectedStateSpace(real_vector(ob, *bounds), _closing(ob, self._held))
        self.made.setDelta(step)

    def release(self) -> None:
        """Let go of what OMPL was given, which holds this and is held by it, so that nobody would free either."""
        self._held.clear()

    def numbers(self, q: Array) -> Array:
        """The real vector of a configuration; quaternions with their last number positive."""
        space, angles = self.space, q[self.space.place[self._angles]]
        parts = [q[space.place[self._vector]] * space.scale[self._vector], np.cos(angles), np.sin(angles)]
        for turn, at in space.quaternions:
            parts.append(q[turn] if q[turn][3] >= 0.0 else -q[turn])
            if at is not None:
                parts.append(q[at] / space.length)
        return np.concatenate(parts)

    def of_numbers(self, x: Array) -> Array:
        """q (nq) of a real vector, of unit length where that is said."""
        space, q, plain = self.space, self.space.q0.copy(), self._vector
        n, m = len(plain), len(self._angles)
        q[space.place[plain]] = np.clip(x[:n] / space.scale[plain], space.lower[plain], space.upper[plain])
        q[space.place[self._angles]] = np.arctan2(x[n + m : n + 2 * m], x[n : n + m])
        k = n + 2 * m
        for turn, at in space.quaternions:
            size = float(np.linalg.norm(x[k : k + 4]))
            q[turn], k = x[k : k + 4] / size if size > 0.0 else q[turn], k + 4
            if at is not None:
                q[at], k = x[k : k + 3] * space.length, k + 3
        return q

    def configuration(self, state: Any) -> Array:
        """q (nq) of a state."""
        return self.of_numbers(np.array([state[i] for i in range(self.size)]))

    def write(self, state: Any, q: Array) -> None:
        """Set a state to q."""
        state.copy(self.numbers(q).tolist())


def _closing(ob: Any, held: list[Any]) -> Any:
    class Closing(ob.Constraint):  # type: ignore[misc]
        """Real vectors of closed configurations."""

        def project(self, x: Array) -> bool:
            states, closed = held
            q = closed(states.of_numbers(x))
            if q is None:
                return False
            x[:] = states.numbers(q)
            return True

    return Closing(held[0].size, 0)

"""`LaneStates`: where states are, in arrays that compiled lanes share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.sim.compiled import lane_impulses
from soacraft.spatial.checks import Array


class Snapshot(NamedTuple):
    """Points, turns and times of all states."""

    x: Array
    theta: Array
    now: npt.NDArray[np.int64]
    impulses: Any
    goal: int


class LaneStates:
    """A row for each state: its point `x`, the turns `theta` of its closures' hinges, the numbers `u` of its controls,
    the nanosecond `now` that it has come to, and the `impulses` of contacts in its last step. All are on their way to
    `goal`, in steps that end at multiples of the step from `origin` on."""

    def __init__(self, count: int, size: int, controls: int, now: int) -> None:
        self.x, self.u, self.theta = np.zeros((count, size)), np.zeros((count, controls)), np.zeros((count, 0))
        self.now = np.full(count, now, dtype=np.int64)
        self.impulses = lane_impulses(count)
        self.origin = self.goal = now

    def row(self, lane: int) -> LaneStates:
        """One of them, in the same memory, but for turns of closures and impulses, which are its own."""
        row = LaneStates(0, 0, 0, self.goal)
        here = slice(lane, lane + 1)
        row.x, row.u, row.now = self.x[here], self.u[here], self.now[here]
        row.theta, row.origin, row.impulses = np.zeros((1, 0)), self.origin, lane_impulses(1)
        return row

    def __len__(self) -> int:
        return len(self.x)

    @property
    def follows(self) -> bool:
        """True if there are closures' hinges whose turns are followed."""
        return bool(self.theta.shape[1])

    def follow(self, turns: int) -> None:
        """Have room for so many turns."""
        if turns and not self.follows:
            self.theta = np.zeros((len(self.x), turns))

    def snapshot(self) -> Snapshot:
        """Copies of all that steps change."""
        impulses = lane_impulses(len(self.x))
        impulses.take(self.impulses)
        return Snapshot(self.x.copy(), self.theta.copy(), self.now.copy(), impulses, self.goal)

    def restore(self, before: Snapshot) -> None:
        """Be where they were."""
        self.x[:], self.theta[:], self.now[:], impulses, self.goal = before
        self.impulses.take(impulses)

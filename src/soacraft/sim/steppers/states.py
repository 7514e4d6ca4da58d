"""`LaneStates`: where states are, in arrays that compiled lanes share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.spatial.checks import Array


class Snapshot(NamedTuple):
    """Points, turns and times of all states."""

    x: Array
    theta: Array
    now: npt.NDArray[np.int64]
    goal: int


class LaneStates:
    """A row for each state: its point `x`, the turns `theta` of its closures' hinges, the numbers `u` of its controls,
    and the nanosecond `now` that it has come to. All are on their way to `goal`, in steps that end at multiples of the
    step from `origin` on."""

    def __init__(self, count: int, size: int, controls: int, now: int) -> None:
        self.x, self.u, self.theta = np.zeros((count, size)), np.zeros((count, controls)), np.zeros((count, 0))
        self.now = np.full(count, now, dtype=np.int64)
        self.origin = self.goal = now

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
        return Snapshot(self.x.copy(), self.theta.copy(), self.now.copy(), self.goal)

    def restore(self, before: Snapshot) -> None:
        """Be where they were."""
        self.x[:], self.theta[:], self.now[:], self.goal = before

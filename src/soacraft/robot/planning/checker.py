"""Queries of a planner to a world: configurations and motions, counted, within a budget of motions and of time."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np

from soacraft.errors import StateError
from soacraft.robot.planning.space import Space
from soacraft.robot.world.world import World
from soacraft.spatial.checks import Array

#: Motions of a plan stay this part of the model's length clear of everything, so that the default gap of `edge` is kept
#: whichever way they are looked at again.
CLEAR = 1e-4


class Checker:
    """Motions in a space, free or not: straight ones."""

    straight = True
    looks_each = 100
    """Configurations that may be looked at for each motion that may be checked: where none leads on, no motion is."""

    def __init__(self, world: World, space: Space, most: int, seconds: float | None) -> None:
        self.world, self.space, self.most = world, space, most
        self.begun = time.perf_counter()
        self.seconds = np.inf if seconds is None else seconds
        self.gap = CLEAR * space.length
        self.edges = self.looks = 0
        self._collides, self._edge = world.collides, world.edge

    @property
    def elapsed(self) -> float:
        """Seconds since it was made."""
        return time.perf_counter() - self.begun

    @property
    def spent(self) -> bool:
        """True if the budget is used up."""
        return self.edges >= self.most or self.looks >= self.looks_each * self.most or self.late

    @property
    def late(self) -> bool:
        """True if the time is over."""
        return self.seconds < np.inf and self.elapsed > self.seconds

    def why_spent(self) -> str:
        """Message about the part of the budget that is used up."""
        if self.edges >= self.most:
            return f"no path was found with {self.most} motions checked; give most=... or another seed"
        if self.looks >= self.looks_each * self.most:
            return f"of {self.looks} configurations that were looked at hardly any leads on; give most=... or more room"
        if not self.late:
            return "the planner gave up before its budget ended; give another seed, or planner='RRTConnect'"
        return f"no path was found in {self.seconds:g} s; give time_limit=... or another seed"

    def free(self, a: Array, b: Array) -> bool:
        """True if the motion from a to b, which is near to it, is free all the way. The end is checked first."""
        self.edges += 1
        if self.space.balls and not self.space.keeps(a, b):
            return False
        return not self._collides(b) and bool(self._edge(a, b, gap=self.gap, first=False).free)

    def go(self, a: Array, b: Array, far: float, reach: float) -> tuple[list[Array], bool]:
        """Configurations on the way from a towards b, which is near to it and `far` away, at most `reach` of it, each
        joined to the one before by a free motion; whether the last one is b. None where nothing is gained."""
        to_the_end = far <= reach
        if not to_the_end:
            b = self.space.between(a, b, reach / far)
        return ([b], to_the_end) if self.free(a, b) else ([], False)

    def way(self, a: Array, b: Array) -> list[Array] | None:
        """Configurations from a, which is left out, to b, joined by free motions; None where there are none."""
        b = self.space.near(a, b)
        return [b] if self.free(a, b) else None

    def require_clear(self, q: Array, what: str) -> None:
        """Refuse a configuration outside limits, or at which something touches; be content with less clearance where it
        has less."""
        reason = self.space.outside(q)
        if reason:
            raise StateError(f"the {what} is outside limits: {reason}.")
        pair = self.touching(q)
        if pair:
            raise StateError(f"the {what} is in collision: {pair[0]} - {pair[1]} touch.")

    def touching(self, q: Array) -> tuple[str, str] | None:
        """Pair that touches at q; None without one. Where shapes are nearer than the clearance, that is reduced."""
        e = self.world.edge(q, q, gap=self.gap)
        if e.free:
            return None
        exact = self.world.edge(q, q)
        if not exact.free:
            return exact.pair
        self.gap = min(self.gap, 0.5 * float(self.world.distances(q, 2.0 * self.gap).distance.min()))
        return None

    def closes(self, q: Array) -> bool:
        """True if loops close at q, where there are any."""
        return True

    def refused(self, path: Array) -> str:
        """Reason of the exact check against a path, edge by edge in its direction; empty where it is free."""
        return self._refused(path, None)

    def _refused(self, path: Array, gap: float | None) -> str:
        space = self.space
        for k, (a, b) in enumerate(pairwise(path)):
            reason = space.outside(b)
            if reason or not space.keeps(a, b):
                return f"way {k}: {reason or 'a ball leaves its limits'}"
            e = self.world.edge(a, b, gap=gap)
            if not e.free:
                return f"way {k}: {e!r}"
        return ""

"""Runs at the pace of a clock: each step ends when its time has come, and lateness is counted."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from soacraft.errors import LinkError, StateError, near
from soacraft.spatial.checks import finite

#: Policies for a step that ends late.
OVERRUNS = ("catch_up", "skip", "raise")
_SECOND = 10**9


class Paced(NamedTuple):
    """Timing of a run that was paced by a clock.

    An overrun is an end of a step that was computed later than its time: `worst` is the longest delay, in seconds of
    the clock. `skipped` is the time that was given up by the policy "skip". `slept` is the time spent waiting.
    """

    pace: float
    policy: str
    steps: int
    overruns: int
    worst: float
    slept: float
    skipped: float

    def __str__(self) -> str:
        late = f", worst {self.worst:.3g} s late" if self.overruns else ""
        return f"pace {self.pace:g} by {self.policy!r}: {self.overruns} overruns in {self.steps} steps{late}"


class Pace:
    """Waits for the monotonic clock: `pace` seconds of the system pass in one of the clock.

    An end of a step at time t is due at start + (t - t0) / pace. Late ones are counted, and then
    "catch_up": what follows does not wait until it is on time again; "skip": the time is given up, and what follows is
    due later by as much; "raise": a `LinkError`.

    >>> now = [0]
    >>> pace = Pace(2.0, "catch_up", lambda: now[0], lambda s: now.__setitem__(0, now[0] + round(s * 1e9)))
    >>> pace.begin(0)
    >>> pace.wait(10**9)                                       # a second of the system is half of one
    >>> now[0], pace.report().overruns
    (500000000, 0)
    """

    def __init__(
        self,
        pace: Any,
        policy: Any = "catch_up",
        clock: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._pace = float(finite(pace, (), "pace", StateError))
        if not self._pace > 0.0:
            raise StateError(
                f"pace must be positive, got {pace!r:.40}: 1.0 is as fast as the clock, None does not wait."
            )
        if policy not in OVERRUNS:
            raise StateError(f"overrun={policy!r:.40} is no policy{near(str(policy), OVERRUNS)}")
        self._policy, self._clock, self._sleep = str(policy), clock, sleep
        self._t0 = self._origin = 0
        self._steps = self._overruns = self._worst = self._slept = self._skipped = 0

    def begin(self, ns: int) -> None:
        """The run is at a nanosecond, now."""
        self._t0, self._origin = ns, self._clock()

    def wait(self, ns: int) -> None:
        """Wait until the time of a nanosecond of the run; where that is past, do as the policy says."""
        due = self._origin + round((ns - self._t0) / self._pace)
        self._steps += 1
        early = due - self._clock()
        if early >= 0:
            self._slept += early
            self._sleep(early / _SECOND)
            return
        self._overruns, self._worst = self._overruns + 1, max(self._worst, -early)
        if self._policy == "skip":
            self._origin, self._skipped = self._origin - early, self._skipped - early
        elif self._policy == "raise":
            raise LinkError(
                f"overrun: t = {ns / 1e9:.9g} s was computed {-early / 1e9:.3g} s after its time at pace "
                f"{self._pace:g}. Take a longer step or a smaller pace, or allow it by overrun='catch_up' or 'skip'."
            )

    def report(self) -> Paced:
        """Counts and times of the run."""
        times = (x / _SECOND for x in (self._worst, self._slept, self._skipped))
        return Paced(self._pace, self._policy, self._steps, self._overruns, *times)

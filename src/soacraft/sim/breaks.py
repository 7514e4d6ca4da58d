"""Breaks: times at which what acts on a model jumps, or has a kink. A step ends at each.

What jumps at b belongs to the step before b up to there, and to the next step from there on: in a step from a to b,
functions of time are evaluated between the number after a and the number before b. So no step has a jump inside, and
none is as long as to miss a pulse whose edges are breaks.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

import numpy as np

from soacraft.errors import StateError
from soacraft.sim.clock import Instant, nanoseconds
from soacraft.spatial.checks import Array, finite

#: All times.
ALWAYS = (-np.inf, np.inf)


class Breaks:
    """Times in seconds, growing, and their nanoseconds. `jumps`: what acts jumps there, rather than bends; `inclusive`:
    its value at the time itself is that after the jump, which else may be either.

    >>> breaks = Breaks([0.5, 0.25])
    >>> breaks.after(0), breaks.after(250_000_000), breaks.after(500_000_000)
    (250000000, 500000000, None)
    """

    def __init__(self, times: Any = (), what: str = "breaks", jumps: bool = True, inclusive: bool = False) -> None:
        self.seconds: Array = np.unique(finite(times if np.size(times) else np.zeros(0), (None,), what, StateError))
        self.ns = [nanoseconds(t, f"a time of {what}") for t in self.seconds]
        self.jumps, self.inclusive = jumps, inclusive

    def after(self, ns: int) -> int | None:
        """The nanosecond of the next one."""
        i = bisect_right(self.ns, ns)
        return self.ns[i] if i < len(self.ns) else None

    def at(self, ns: int) -> list[float]:
        """The times in seconds of those at a nanosecond."""
        i = bisect_right(self.ns, ns)
        return [float(t) for t in self.seconds[bisect_right(self.ns, ns - 1) : i]]


def window(breaks: Iterable[Breaks], start: Instant, end: int | None = None) -> tuple[float, float]:
    """The first and the last time at which functions are evaluated in a step; without an end, from a start on."""
    first, last = ALWAYS
    for x in breaks:
        if not x.jumps:
            continue
        if start.rest <= 0.0:
            here = [max(t, start.seconds) for t in x.at(start.ns)]
            first = max([first, *(t if x.inclusive else float(np.nextafter(t, np.inf)) for t in here)])
        if end is not None and end > start.ns:
            last = min([last, *(float(np.nextafter(min(t, end / 1e9), -np.inf)) for t in x.at(end))])
    return first, last

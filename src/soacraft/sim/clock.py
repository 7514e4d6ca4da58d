"""Time: whole nanoseconds inside, seconds at the surface.

Steps, callbacks and pauses are at whole nanoseconds, so that they never slip. An event is where it is: its instant has
a part of a nanosecond, the next step leads back to a whole one.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import StateError
from soacraft.spatial.checks import finite

_PER_SECOND = 10**9
_LAST = 2.0**62  # nanoseconds: 146 years


class Instant(NamedTuple):
    """Nanoseconds, and the rest of one in seconds: 0 <= rest < 1e-9."""

    ns: int
    rest: float = 0.0

    @property
    def seconds(self) -> float:
        """The time as a number."""
        return self.ns / _PER_SECOND + self.rest

    def until(self, ns: int) -> float:
        """Seconds from here to a whole nanosecond."""
        return (ns - self.ns) / _PER_SECOND - self.rest

    def later(self, seconds: float) -> Instant:
        """The instant some seconds on, exact to rounding of the seconds.

        >>> Instant(5).later(2.5e-9)
        Instant(ns=7, rest=5e-10)
        """
        total = (self.rest + seconds) * _PER_SECOND
        whole_ns = int(np.floor(total))
        return Instant(self.ns + whole_ns, (total - whole_ns) / _PER_SECOND)


def without_rounding(t: float) -> float:
    """The time of a whole nanosecond as `Instant` has it, where t = t0 + h is that but for rounding; else t.

    >>> 0.1 + 0.2, without_rounding(0.1 + 0.2), without_rounding(0.30000000025)
    (0.30000000000000004, 0.3, 0.30000000025)
    """
    nearest = round(t * _PER_SECOND) / _PER_SECOND
    return nearest if abs(t - nearest) <= 1e-15 * abs(t) + 1e-16 else t


def nanoseconds(seconds: Any, what: str) -> int:
    """A time as a whole number of nanoseconds, the nearest one.

    >>> nanoseconds(0.01, "the period")
    10000000
    """
    plain = type(seconds) is float and isfinite(seconds)
    x = seconds if plain else float(finite(seconds, (), what, StateError))
    if abs(x) * _PER_SECOND >= _LAST:
        raise StateError(f"{what} must be less than {_LAST / _PER_SECOND:.3g} s, got {x:.6g} s.")
    return round(x * _PER_SECOND)


def positive_nanoseconds(seconds: Any, what: str) -> int:
    """Whole nanoseconds of a time that must be a nanosecond or more."""
    ns = nanoseconds(seconds, what)
    if ns < 1:
        raise StateError(f"{what} must be a nanosecond or more, got {float(seconds):.6g} s.")
    return ns

"""Ticks: the k-th of a clock is at offset + round(k period), in whole nanoseconds, never by adding.

A period is a rational number of nanoseconds, so that 3 Hz does not slip, however long it ticks.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

from soacraft.errors import WiringError
from soacraft.sim.clock import nanoseconds

_SECOND = 10**9
#: Letters of a period that is written as a text.
_LETTERS = 80


class Clock(NamedTuple):
    """A period and an offset, in nanoseconds.

    >>> third = Clock(Fraction(10**9, 3), 0)
    >>> [third.at(k) for k in range(4)], third.at(3 * 3600) == 3600 * 10**9
    ([0, 333333333, 666666667, 1000000000], True)
    """

    period: Fraction
    offset: int

    def at(self, k: int) -> int:
        """The nanosecond of tick k, from the start of the system: the nearest one, of two the even one."""
        num, den = self.period.numerator, self.period.denominator
        quotient, rest = divmod(2 * k * num + den, 2 * den)
        return self.offset + quotient - (rest == 0 and quotient % 2)

    def first_from(self, ns: int) -> int:
        """The number of the first tick that is not before a nanosecond."""
        k = max(0, int((ns - self.offset) / self.period) - 1)
        while self.at(k) < ns:
            k += 1
        return k

    @property
    def seconds(self) -> float:
        """The period in seconds."""
        return float(self.period / _SECOND)

    def __str__(self) -> str:
        offset = f", from {self.offset / 1e9:g} s on" if self.offset else ""
        return f"every {self.seconds:.9g} s{offset}"


def _fraction(given: Any) -> Fraction:
    """A number, exactly as its text; 0 for anything else. Exponents that no double has are not written out."""
    if isinstance(given, Fraction):
        return given
    text = str(given)
    try:
        size = 1.0 if "/" in text else float(text)
        return Fraction(text) if 0.0 < size < math.inf and len(text) <= _LETTERS else Fraction(0)
    except (ValueError, ZeroDivisionError):
        return Fraction(0)


def read_clock(every: Any, rate: Any, offset: Any, what: str) -> Clock | None:
    """The clock of `every` in seconds or `rate` in Hz: whole numbers, fractions, decimal numbers as written.

    >>> read_clock(None, 3, 0.0, "a").period, read_clock(0.001, None, 0.0, "a").period
    (Fraction(1000000000, 3), Fraction(1000000, 1))
    >>> read_clock("1/7", None, 0.5, "a")
    Clock(period=Fraction(1000000000, 7), offset=500000000)
    """
    if every is None and rate is None:
        if offset:
            raise WiringError(f"{what} has offset={offset!r:.40} and no ticks: give every= or rate=.")
        return None
    if every is not None and rate is not None:
        raise WiringError(f"{what} has every={every!r:.40} and rate={rate!r:.40}: give one of them.")
    name, interval = ("every", every) if rate is None else ("rate", rate)
    number = _fraction(interval)
    if isinstance(interval, bool) or number <= 0:
        cure = "leave it out for a component that is continuous"
        raise WiringError(f"{name} of {what} must be a positive number, got {interval!r:.40}; {cure}.")
    period = number * _SECOND if rate is None else _SECOND / number
    if period < 1:
        raise WiringError(
            f"{name} of {what} is a period of {float(period):.3g} ns; ticks are a nanosecond apart or more."
        )
    if period >= 2**62:
        raise WiringError(
            f"{name}={interval!r:.40} of {what} is a period of 2^62 ns (146 years) or more, and no run is as long: "
            "leave it out for a component that is continuous, or give a shorter one."
        )
    start = nanoseconds(offset, f"the offset of {what}")
    if start < 0:
        raise WiringError(f"the offset of {what} must not be negative, got {offset!r:.40}.")
    return Clock(period, start)

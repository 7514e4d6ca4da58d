"""Ticks are where they belong, for an hour and at any rate."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries

from soacraft.errors import StateError, WiringError
from soacraft.sim.systems.running.clocks import Clock, read_clock


@pytest.mark.parametrize("rate", [3, 7, 1000])
def test_rates_do_not_slip_in_an_hour(rate):
    clock = read_clock(None, rate, 0.0, "x")
    ticks = [clock.at(k) for k in range(0, 3600 * rate + 1, max(1, rate // 7))]
    assert all(abs(ns * rate - k * 10**9 * max(1, rate // 7)) * 2 <= rate for k, ns in enumerate(ticks))
    assert clock.at(3600 * rate) == 3600 * 10**9
    assert read_clock(f"1/{rate}", None, 0.0, "x") == clock


@tries(200)
@given(st.fractions(min_value=1, max_value=10**12), st.integers(0, 10**10), st.integers(0, 10**6))
def test_a_tick_is_the_nearest_nanosecond(period, offset, k):
    clock = Clock(period, offset)
    assert clock.at(k) == offset + round(k * period)
    assert clock.at(clock.first_from(clock.at(k))) == clock.at(k)
    after = clock.first_from(clock.at(k) + 1)
    assert clock.at(after) > clock.at(k) >= clock.at(after - 1)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            (None, 0, 0.0),
            r"rate of 'x' must be a positive number, got 0; leave it out for a component that is continuous",
        ),
        ((0.0, None, 0.0), r"every of 'x' must be a positive number, got 0.0"),
        ((-1, None, 0.0), r"every of 'x' must be a positive number, got -1"),
        (("fast", None, 0.0), r"every of 'x' must be a positive number, got 'fast'"),
        ((float("nan"), None, 0.0), r"every of 'x' must be a positive number, got nan"),
        ((True, None, 0.0), r"every of 'x' must be a positive number, got True"),
        ((1, 2, 0.0), r"'x' has every=1 and rate=2: give one of them"),
        ((None, None, 0.1), r"'x' has offset=0.1 and no ticks"),
        ((1e300, None, 0.0), r"every=1e\+300 of 'x' is a period of 2\^62 ns .146 years. or more"),
        ((None, 1e-300, 0.0), r"rate=1e-300 of 'x' is a period of 2\^62 ns .146 years. or more"),
        ((Fraction(10) ** 400, None, 0.0), r"is a period of 2\^62 ns .146 years. or more"),
        (("1e999999999", None, 0.0), r"every of 'x' must be a positive number, got '1e999999999'"),
        (("1e-999999999", None, 0.0), r"every of 'x' must be a positive number, got '1e-999999999'"),
        (("1" * 5000, None, 0.0), r"every of 'x' must be a positive number, got '1111"),
        (("1/0", None, 0.0), r"every of 'x' must be a positive number, got '1/0'"),
        ((1e-10, None, 0.0), r"every of 'x' is a period of 0.1 ns; ticks are a nanosecond apart or more"),
        ((1, None, -1.0), r"the offset of 'x' must not be negative"),
    ],
)
def test_what_is_no_clock_is_refused(given, why):
    with pytest.raises(WiringError, match=why):
        read_clock(*given, "'x'")


def test_an_offset_is_a_time():
    assert read_clock(Fraction(1, 3), None, 0.5, "x") == Clock(Fraction(10**9, 3), 5 * 10**8)
    with pytest.raises(StateError, match="the offset of x"):
        read_clock(1, None, float("inf"), "x")

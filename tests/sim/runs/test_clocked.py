"""Runs at the pace of a clock: what is late is counted, and each policy does as it says."""

from __future__ import annotations

import time

import numpy as np
import pytest

from soacraft import sim
from soacraft.errors import LinkError, StateError
from soacraft.sim.runs.clocked import Pace

MS = 10**6


class Time:
    """A clock that moves when someone sleeps, or when it is told to."""

    def __init__(self) -> None:
        self.ns = 5_000

    def __call__(self) -> int:
        return self.ns

    def sleep(self, seconds: float) -> None:
        self.ns += round(seconds * 1e9)


def paced(policy: str, busy: list[int], pace: float = 1.0) -> tuple[Pace, list[int]]:
    """Steps of a millisecond that take so many milliseconds to compute; when each was done waiting, in ms."""
    clock = Time()
    p = Pace(pace, policy, clock, clock.sleep)
    p.begin(7 * MS)
    start, ends = clock.ns, []
    for k, each in enumerate(busy, 1):
        clock.ns += each * MS
        p.wait((7 + k) * MS)
        ends.append((clock.ns - start) // MS)
    return p, ends


def test_on_time_it_waits_and_counts_nothing():
    p, ends = paced("raise", [0, 1, 0, 1])
    assert ends == [1, 2, 3, 4]
    assert p.report() == (1.0, "raise", 4, 0, 0.0, 0.002, 0.0)


def test_catch_up_does_not_wait_until_it_is_on_time_again():
    p, ends = paced("catch_up", [0, 4, 0, 0, 0, 0, 0])
    assert ends == [1, 5, 5, 5, 5, 6, 7]
    report = p.report()
    assert (report.overruns, report.worst, report.skipped) == (3, 0.003, 0.0)
    assert str(report) == "pace 1 by 'catch_up': 3 overruns in 7 steps, worst 0.003 s late"


def test_skip_gives_the_time_up():
    p, ends = paced("skip", [0, 4, 0, 0])
    assert ends == [1, 5, 6, 7]
    assert (p.report().overruns, p.report().worst, p.report().skipped) == (1, 0.003, 0.003)


def test_raise_says_by_how_much():
    with pytest.raises(LinkError, match=r"t = 0\.009 s was computed 0\.003 s after its time at pace 1\. Take a longer"):
        paced("raise", [0, 4])


def test_the_pace_scales_time():
    assert paced("raise", [0, 0, 0, 0], pace=0.5)[1] == [2, 4, 6, 8]


def system(busy: float = 0.0) -> sim.System:
    class Busy(sim.Component):
        x = sim.Discrete()

        @sim.update(x)
        def x_next(t, x):
            time.sleep(busy)
            return x + 1.0

    s = sim.System("s", integrator="rk4", step=0.01)
    s.add("busy", Busy(), every=0.01)
    s.add("wave", sim.Sine(frequency=1.0))
    s.add("lag", sim.LowPass(time_constant=0.1))
    s.connect("wave.y", "lag.u")
    return s


def test_a_system_waits_and_has_the_same_numbers():
    free = system().run(0.05)
    start = time.monotonic()
    run = system().run(0.05, pace=1.0)
    assert time.monotonic() - start >= 0.05
    assert free.pace is None
    assert (run.pace.steps, run.pace.policy) == (5, "catch_up")
    assert np.array_equal(run.signals["lag.y"], free.signals["lag.y"])


def test_overruns_of_a_system_are_reported_and_raised():
    run = system(0.02).run(0.03, pace=1.0)
    assert run.pace.overruns == 3
    assert run.pace.worst >= 0.03
    with pytest.raises(LinkError, match=r"the run of 's' stopped at t = 0 s: overrun: t = 0\.01 s was computed") as e:
        system(0.02).run(0.03, pace=1.0, overrun="raise")
    assert e.value.run.pace.overruns == 1


@pytest.mark.parametrize("pace", [0, -1.0])
def test_a_pace_of_zero_is_refused(pace):
    with pytest.raises(StateError, match=f"pace must be positive, got {pace}: 1.0 is as fast as the clock"):
        system().run(1.0, pace=pace)


def test_an_unknown_policy_is_refused():
    with pytest.raises(StateError, match="overrun='skp' is no policy; did you mean 'skip'"):
        system().run(1.0, pace=1.0, overrun="skp")

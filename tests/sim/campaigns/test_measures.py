"""The grammar of measures: what it reads, what it gives, what it refuses."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.profiles import tries
from tests.sim.campaigns.makers import arm, ball, lag

from soacraft.errors import CampaignError
from soacraft.sim.campaigns.measures import check_measure, read_measure, value_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("arm.q[upper][-1]", lambda r: r.q[-1, 0]),
        ("final(arm.q[1])", lambda r: r.q[-1, 1]),
        ("max(abs(arm.v[lower]))", lambda r: abs(r.v[:, 1]).max()),
        ("min(norm(arm.q))", lambda r: np.sqrt((r.q**2).sum(axis=1)).min()),
        ("first(control.command)", lambda r: r.signals["control.command"][0]),
        ("mean(control.command)", lambda r: r.signals["control.command"].mean()),
        ("t[-1]", lambda r: 0.5),
    ],
)
def test_measures_of_a_run(text, expected):
    s = arm()
    run = s.run(0.5)
    assert value_of(read_measure(text), "m", s, run) == expected(run)


def test_measures_at_events_against_closed_forms():
    s = ball()
    run = s.run(1.0)
    fall = np.sqrt(2.0 / 9.81)
    assert value_of(read_measure("time(ball.landing)"), "m", s, run) == pytest.approx(fall, abs=1e-9)
    assert value_of(read_measure("abs(ball.speed) at ball.landing"), "m", s, run) == pytest.approx(
        9.81 * fall, abs=1e-8
    )
    assert value_of(read_measure("count(ball.landing)"), "m", s, run) == 1.0


def test_an_event_that_does_not_happen_gives_no_number():
    s = ball()
    run = s.run(0.1)
    assert np.isnan(value_of(read_measure("time(ball.landing)"), "m", s, run))
    assert np.isnan(value_of(read_measure("ball.speed at ball.landing"), "m", s, run))
    assert value_of(read_measure("count(ball.landing)"), "m", s, run) == 0.0


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("lag.y", "is a number for every row"),
        ("norm(lag.y)", "is a number for every row"),
        ("maximum(lag.y)", "there is no 'maximum'"),
        ("max(sum(lag.y))", "'sum' is not for rows"),
        ("max(lag)", "'lag' is no signal"),
        ("max(__import__('os').system('x'))", "'__import__' is not for rows"),
        ("", "a measure is a text"),
        ("max(" + "abs(" * 20 + "a.b" + ")" * 21, "more than 8 functions"),
        (5, "a measure is a text"),
        ("max(lag.y" + " " * 391 + ")", r"a measure has at most 400 letters, got one of 401: 'max\(lag"),
    ],
)
def test_refusals_by_text(text, why):
    with pytest.raises(CampaignError, match=why):
        read_measure(text)


def test_refusals_by_the_system():
    s = lag()
    with pytest.raises(CampaignError, match=r"the measure 'm': 'lag' has no event 'lag.end'"):
        check_measure(read_measure("time(lag.end)"), "m", s, [])
    run = arm()
    with pytest.raises(CampaignError, match=r"must be one number, got of shape \(2,\): take norm"):
        value_of(read_measure("arm.q[-1]"), "m", run, run.run(0.1))
    with pytest.raises(CampaignError, match="must be one number, got 'much'"):
        value_of(lambda run: "much", "m", run, run.run(0.2))


@given(some.text(max_size=60))
@tries(200)
def test_any_text_is_read_or_refused(text):
    with suppress(CampaignError):
        read_measure(text)

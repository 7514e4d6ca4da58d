"""Limits of a parameter: every interval in which margins hold, ends by bisection, the binding one named."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import StateError

study = sc.robot.study


def test_intervals_of_what_is_not_monotone():
    """sin x >= 0 and x <= 8: from 0.1 to pi, and from 2 pi to 8."""
    r = study.limit("x", {"sine": np.sin, "end": lambda x: (8.0 - x, "the wall")}, 0.1, 12.0, samples=60)
    assert r.intervals == pytest.approx(np.array([[0.1, np.pi], [2 * np.pi, 8.0]]), rel=1e-9)
    assert r.most == pytest.approx(np.pi, rel=1e-9)
    assert (r.binding, r.why) == ("sine", "")
    assert r.ends == ("sine", "end the wall")
    assert repr(r) == "Limit of x: 3.14159, by sine; holds again in 1 more"
    assert r.margins[:, 0] == pytest.approx(np.sin(r.x))


def test_the_upper_end_is_found_by_doubling():
    calls = []

    def margin(x):
        calls.append(x)
        return 1000.0 - x

    r = study.limit("mass", {"m": margin}, 0.0, unit="kg")
    assert r.most == pytest.approx(1000.0, rel=1e-9)
    assert r.x[-1] == 1024.0
    assert repr(r) == "Limit of mass: 1000 kg, by m"
    free = study.limit("mass", {"m": lambda x: 1.0}, 0.0)
    assert free.binding == ""
    assert free.most == free.x[-1] > 1e6
    assert repr(free).endswith("the end of the range")


def test_a_start_that_does_not_hold_is_told():
    r = study.limit("x", {"a": lambda x: 1.0, "b": lambda x: (x - 2.0, "too near")}, 0.0, 4.0)
    assert np.isnan(r.most)
    assert (r.binding, r.why) == ("b", "too near")
    assert r.intervals == pytest.approx(np.array([[2.0, 4.0]]), rel=1e-9)
    assert repr(r) == "Limit of x: not even 0, by b: too near"


def test_jumps_and_infinities_are_bisected():
    r = study.limit("x", {"step": lambda x: np.inf if x < np.e else -np.inf}, 0.0, 10.0)
    assert r.most == pytest.approx(np.e, rel=1e-9)


def test_it_shows_itself_and_comes_back_from_its_file(tmp_path):
    r = study.limit("x", {"sine": np.sin}, 0.1, 8.0, unit="rad")
    assert r.table().head == ("x [rad]", "")
    assert "holds from 0.1 to 3.14159" in repr(r.table())
    assert study.load(r.save(tmp_path / "l.h5")).same_as(r)
    none = study.limit("x", {"no": lambda x: -1.0}, 0.0, 1.0)
    assert none.intervals.shape == (0, 2)
    assert study.load(none.save(tmp_path / "n.h5")).same_as(none)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (({"m": np.sin}, 1.0, 0.0), "x goes from 1 up to 0: give the lower end first"),
        (({}, 0.0, 1.0), r"margins are functions of the parameter by name, got \{\}"),
        (({"m": lambda x: np.nan}, 0.0, 1.0), "margin 'm' is not a number at 0"),
    ],
)
def test_refused(given, text):
    with pytest.raises(StateError, match=text):
        study.limit("x", *given)

"""Patterns of names: as a regular expression matches them, in a time that grows with the name; length is limited."""

from __future__ import annotations

import random
import re
import threading

import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import CampaignError, SoacraftError, WiringError
from soacraft.sim.campaigns.measures import read_measure
from soacraft.sim.patterns import LONGEST, Pattern, pattern
from soacraft.sim.systems.present import Present


def reference(text, within):
    """The same as a regular expression, which goes back."""
    return re.compile(re.escape(text).replace(r"\*\*", ".*").replace(r"\*", f"[^{within}]*"))


@pytest.mark.parametrize("within", ["/.", "/"])
def test_random_patterns_match_as_regular_expressions_do(within):
    rng = random.Random(3)
    matched = 0
    for _ in range(4000):
        text = "".join(rng.choice("ab/.**") for _ in range(rng.randrange(8)))
        names = ["".join(rng.choice("ab/.") for _ in range(rng.randrange(9))) for _ in range(5)]
        wanted = [x for x in names if reference(text, within).fullmatch(x)]
        assert Pattern(text, within).of(names) == wanted
        matched += len(wanted)
    assert matched > 500


def test_an_empty_pattern_matches_the_empty_name_alone():
    assert Pattern("").of(["", "a"]) == [""]
    assert Pattern("**").of(["", "a/b.c"]) == ["", "a/b.c"]
    assert pattern("a*") is pattern("a*")


HARD = "**a" * 60 + "b"  # 2^60 ways to match letters "a", none of which ends with "b"


def lamps():
    """A system whose names are as hard as can be."""
    s = sim.System("lamps", integrator="rk4", step=0.1)
    s.add("a" * 120, sim.Constant(value=1.0))
    s.add("gain", sim.Gain(gain=1.0))
    return s


def within_seconds(call, seconds=20.0):
    """What a call raises; one that hangs fails."""
    said = []

    def run():
        try:
            call()
        except SoacraftError as wrong:
            said.append(wrong)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), "the call hangs"
    return said[0]


def connected(text):
    s = lamps()
    s.connect(f"{text}.y", "gain.u")
    s.check()


def of_sequence(text):
    s = lamps()
    s.add("phases", sim.Sequence({"one": [text], "two": []}, [sim.Transition("one", "two", after=1.0)]))
    s.check()


DOORS = {
    "connect": connected,
    "signals of a run": lambda text: lamps().run(0.1, signals=text),
    "get of a server": lambda text: Present(lamps()).matching(text),
    "shares of a split": lambda text: sim.split(lamps(), {"one": [text], "two": ["gain"]}),
    "phases of a sequence": of_sequence,
}


@pytest.mark.parametrize("door", DOORS)
def test_a_pattern_with_many_stars_does_not_hang(door):
    assert isinstance(within_seconds(lambda: DOORS[door](HARD)), WiringError)


@pytest.mark.parametrize("door", DOORS)
def test_a_pattern_that_is_too_long_is_refused(door):
    wrong = within_seconds(lambda: DOORS[door]("*a" * LONGEST))
    assert isinstance(wrong, WiringError)
    assert len(str(wrong)) < 1000


def test_the_length_is_in_the_message():
    with pytest.raises(WiringError, match=f"a pattern has at most {LONGEST} letters, got one of 4000: '.a.a"):
        pattern("*a" * 2000)
    with pytest.raises(WiringError, match=r"a pattern is a text, such as 'leg.*.q', got 3"):
        Pattern(3)


def test_a_system_file_with_such_a_pattern_is_refused(tmp_path):
    s = lamps()
    s.connect(f"{'a' * 120}.y", "gain.u")
    s.save(tmp_path / "s.json")
    text = (tmp_path / "s.json").read_text().replace(f"{'a' * 120}.y", f"{HARD}.y")
    (tmp_path / "s.json").write_text(text)
    assert isinstance(within_seconds(lambda: sim.load_system(tmp_path / "s.json").check()), WiringError)


@pytest.mark.parametrize(
    "text", ["a" + " " * 100_000 + "b", "max(" * 100_000, "a.b[" + "1" * 5000 + "]", "a.b[x][" + "1" * 5000 + "]"]
)
def test_a_measure_that_is_too_long_is_refused(text):
    wrong = within_seconds(lambda: read_measure(text))
    assert isinstance(wrong, CampaignError)
    assert len(str(wrong)) < 500


def test_a_condition_that_is_too_long_is_refused():
    text = "a" + "[" * 100_000
    wrong = within_seconds(lambda: sim.Sequence(["one", "two"], [sim.Transition("one", "two", when=text)]))
    assert isinstance(wrong, WiringError)


def test_the_model_of_a_plant_is_found_by_patterns():
    s = sim.System("swing", integrator="rk4", step=0.1)
    s.add("bob", sim.Plant(sc.load("pendulum")))
    assert Present(s).matching("bob.*") == ["bob.q", "bob.v"]

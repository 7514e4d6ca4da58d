"""Steps between two looks fill some milliseconds."""

import pytest

from soacraft.sim.serving.stretch import Stretch


def walk(stretch, now, each, times):
    taken = []
    for _ in range(times):
        stretch.begin()
        now[0] += stretch.steps * each
        taken.append(stretch.steps)
        stretch.end(stretch.steps)
    return taken


def test_it_doubles_up_to_some_milliseconds():
    now = [0.0]
    assert walk(Stretch(lambda: now[0]), now, 1e-4, 9) == [1, 2, 4, 8, 16, 32, *[pytest.approx(50, abs=1)] * 3]


def test_slow_steps_are_taken_one_by_one_and_fewer_at_once():
    now = [0.0]
    stretch = Stretch(lambda: now[0])
    walk(stretch, now, 1e-5, 20)
    assert stretch.steps == pytest.approx(500, abs=1)
    assert walk(stretch, now, 1.0, 3)[1:] == [1, 1]


def test_a_look_without_steps_changes_nothing_and_a_clock_that_stands_is_no_harm():
    stretch = Stretch(lambda: 0.0)
    stretch.end(0)
    assert stretch.steps == 1
    stretch.end(1)
    assert stretch.steps == 2

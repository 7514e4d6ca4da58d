"""Classes that are registered are known by their names; tests do not see those of each other."""

import pytest

from soacraft import sim
from soacraft.sim.components.registry import known_classes


@pytest.mark.parametrize("turn", range(2))
def test_a_test_begins_without_registered_classes(turn, registered):
    assert registered == {}
    assert "Own" not in known_classes()
    Own = type("Own", (sim.Component,), {})
    sim.register(Own)
    assert known_classes()["Own"] is Own
    assert registered == {"Own": Own}


def test_a_later_class_of_the_same_name_takes_the_place_of_an_earlier_one():
    one, two = (type("Own", (sim.Component,), {}) for _ in range(2))
    sim.register(one)
    sim.register(two)
    assert known_classes()["Own"] is two

"""Packages that are not there are named with the extra that has them."""

import pytest

from soacraft.errors import StateError
from soacraft.robot.motion.extras import package


def test_a_package_that_is_missing_is_named_with_its_extra():
    with pytest.raises(StateError, match=r"time_optimal needs the package no_such_thing .*soacraft\[plan\]"):
        package("no_such_thing.part", "time_optimal")
    assert package("ruckig", "a Tracker").Ruckig

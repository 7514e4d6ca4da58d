"""What motors can give: limits of hinges and of actuators, what takes their place, and which dofs have none."""

from __future__ import annotations

import numpy as np
import pytest
from tests.robot.studies.models import four_bar, planar

import soacraft as sc
from soacraft.robot.studies.efforts import efforts_of


def test_limits_of_hinges_and_of_actuators():
    """The tighter one; an actuator has the range of its force, and a motor that of its control, times its gear."""
    mb = planar(1.0, 1.0, 1.0).mb
    mb["l1"].limits = sc.Limits(effort=[7.0])
    mb["l2"].limits = sc.Limits(effort=[50.0])
    mb.add_actuator(sc.Actuator("m1", "motor", {"l1": 2.0}, {"forcerange": (-3.0, 5.0)}))
    mb.add_actuator(sc.Actuator("m2", "motor", {"l2": -10.0}, {"ctrlrange": (-1.0, 2.0)}))
    e = efforts_of(mb)
    assert list(e.motors) == [True, True, False]
    assert (e.lower[0], e.upper[0]) == (-6.0, 7.0)
    assert (e.lower[1], e.upper[1]) == (-20.0, 10.0)
    assert np.isinf(e.upper[2])


def test_a_position_servo_is_bound_by_its_force_alone():
    e = efforts_of(sc.load("ur5e"))
    assert e.upper == pytest.approx([150.0, 150.0, 150.0, 28.0, 28.0, 28.0])
    assert e.lower == pytest.approx(-e.upper)


def test_dofs_without_motors():
    mb = planar(1.0).mb
    mb.add_body("cup", None, sc.Free(), sc.Inertia.sphere(1.0, 0.1))
    assert list(efforts_of(mb).motors) == [True] + [False] * 6
    assert not efforts_of(four_bar()).motors.any()
    told = efforts_of(four_bar(), {"crank": (-1.0, 2.0)})
    assert list(told.motors) == [True, False, False]
    assert (told.lower[0], told.upper[0]) == (-1.0, 2.0)


def test_what_is_used_of_a_range_with_two_sides():
    mb = planar(1.0).mb
    e = efforts_of(mb, {"l1": (-2.0, 4.0)})
    assert e.part(np.array([[-1.0], [1.0], [0.0], [8.0]]))[:, 0] == pytest.approx([0.5, 0.25, 0.0, 2.0])
    nothing = efforts_of(mb, {"l1": 0.0})
    assert nothing.part(np.array([1.0]))[0] == np.inf
    assert nothing.part(np.array([0.0]))[0] == 0.0
    free = efforts_of(mb)
    assert free.part(np.array([1e9]))[0] == 0.0


def test_a_motor_with_a_force_of_its_own_at_rest():
    """Its range is of gain u + bias, and turns round where the gain is negative."""
    mb = planar(1.0, 1.0).mb
    for name, gain, gear in (("l1", 10.0, 2.0), ("l2", -10.0, 1.0)):
        law = {"gainprm": (gain,), "biastype": "affine", "biasprm": (3.0, 0.0, 0.0), "ctrlrange": (-1.0, 2.0)}
        mb.add_actuator(sc.Actuator(f"m{name}", "general", {name: gear}, law))
    e = efforts_of(mb)
    assert (e.lower[0], e.upper[0]) == (2.0 * (3.0 - 10.0), 2.0 * (3.0 + 20.0))
    assert (e.lower[1], e.upper[1]) == (3.0 - 20.0, 3.0 + 10.0)

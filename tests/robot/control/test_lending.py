"""Robots that components name: models that are found by name, and robots of this program."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from tests.robot.control.cases import near

import soacraft as sc
from soacraft import robot as rob
from soacraft.errors import WiringError
from soacraft.robot import components as laws
from soacraft.robot.control.lending import lend, limb_of, robot_of


def test_a_model_is_loaded_once():
    assert robot_of("pendulum") is robot_of("pendulum")
    assert lend("pendulum") == ("pendulum", robot_of("pendulum"))


def test_a_robot_that_was_given_is_known_while_it_lives():
    rb = rob.Robot(sc.load("pendulum"))
    one, two = (laws.GravityCompensation(robot=rb) for _ in range(2))
    assert one.p.robot == two.p.robot
    assert one.p.robot.startswith("given pendulum ")
    near(laws.GravityCompensation.force(one.p, np.array([np.pi / 2])), [9.81])
    of_model = laws.GravityCompensation(robot=sc.load("pendulum"))
    near(laws.GravityCompensation.force(of_model.p, np.array([np.pi / 2])), [9.81])
    p = one.p
    del rb, one, two
    gc.collect()
    with pytest.raises(WiringError, match="was given to a component in another program, or is no more: make the comp"):
        laws.GravityCompensation.force(p, np.array([0.0]))


def test_limbs_are_made_once_and_anew_after_a_change():
    rb = rob.Robot(sc.load("panda"))
    one = limb_of(rb, "inertial", "link7")
    assert limb_of(rb, "inertial", "link7") is one
    assert rb.limbs == ()                                            # the robot has no more limbs than before
    rb.mb.add_body("tool", "link7", sc.Weld(), sc.Inertia(0.1))
    assert limb_of(rb, "inertial", "link7") is not one


def test_what_is_refused():
    with pytest.raises(WiringError, match=r"a law takes a Robot, or the name of a model that sc.load finds; got 3"):
        laws.GravityCompensation(robot=3)
    with pytest.raises(WiringError, match="was given to a component in another program"):
        laws.GravityCompensation(robot="given panda 7")

"""Configurations that are drawn: within all limits, over all rotations, closed, and alike in other units."""

from __future__ import annotations

import numpy as np
import pytest
from tests.robot.world.robots import two_arms

import soacraft as sc
from soacraft.contact import Sphere
from soacraft.errors import ModelError, SizeError
from soacraft.robot import Robot, World


def test_configurations_are_drawn_alike_in_other_units():
    """A slide without limits goes as far as the model is long: a model ten times as large goes ten times as far."""
    drawn = []
    for scale in (1.0, 10.0):
        mb = sc.Multibody("slide")
        mb.add_body("a", hinge=sc.Prismatic((1, 0, 0)), inertia=sc.Inertia(1.0))
        along = sc.Pose(translation=(scale, 0, 0))
        mb.add_body("b", parent="a", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0), inboard=along)
        drawn.append(World(Robot(mb)).sample(np.random.default_rng(0), 50))
    assert np.allclose(drawn[1], drawn[0] * [10.0, 1.0])


def test_limits_are_kept_those_of_balls_too():
    mb = sc.Multibody("limits")
    mb.add_body("a", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0)).limits = sc.Limits(lower=[-0.2], upper=[1.0])
    ball = mb.add_body("b", parent="a", hinge=sc.Spherical(), inertia=sc.Inertia(1.0))
    ball.limits = sc.Limits(lower=[-0.5] * 3, upper=[0.5] * 3)
    q = World(Robot(mb)).sample(np.random.default_rng(0), 2000)
    assert -0.2 <= q[:, 0].min() < -0.15
    assert 0.95 < q[:, 0].max() <= 1.0
    angle = 2 * np.arccos(np.clip(np.abs(q[:, 4]), 0, 1))
    assert 0.45 < angle.max() <= 0.5 + 1e-9
    assert np.allclose(np.linalg.norm(q[:, 1:5], axis=1), 1.0)


def test_rotations_are_drawn_evenly():
    """Of even rotations the square of every entry of the matrix is a third in the mean."""
    mb = sc.Multibody("free")
    mb.add_body("a", hinge=sc.Free(), inertia=sc.Inertia(1.0))
    mb.set_state(q=[0.0, 0.0, np.sin(0.5), np.cos(0.5), 1.0, 2.0, 3.0])
    q = World(Robot(mb)).sample(np.random.default_rng(0), 4000)
    R = np.array([sc.Pose.from_quaternion(x[:4], x[4:]).rotation for x in q])
    assert np.abs((R**2).mean(axis=0) - 1.0 / 3.0).max() < 0.02
    assert np.abs(R.mean(axis=0)).max() < 0.04


def test_closed_chains_are_closed():
    mb = sc.load("five_bar")
    q = World(Robot(mb)).sample(np.random.default_rng(0), 12)
    assert np.ptp(q, axis=0).max() > 0.5
    report = sc.loops.TreeAugmented(mb)
    for one in q:
        assert np.allclose(report.assemble(one), one, atol=1e-6)


def test_objects_that_were_given_stay():
    rb = two_arms()
    w = World(rb)
    w.add("cup", Sphere(0.05), sc.Pose(translation=(1, 2, 3)))
    w.give_to_robot("cup", sc.Inertia(0.1))
    q = w.sample(np.random.default_rng(0), 20)
    mine = rb.mb.layout.hinge_q[rb.mb.layout.index[rb.mb["cup"]]]
    assert (q[:, mine] == np.array(rb.mb.q)[mine]).all()
    with pytest.raises(ModelError, match="count must be a whole number from 1 to 1000000000, got 0"):
        w.sample(np.random.default_rng(0), 0)


def test_one_limit_far_from_where_a_dof_is():
    """The robot is outside of it by more than a turn: draws begin at the limit."""
    mb = sc.Multibody("one side")
    mb.add_body("a", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0)).limits = sc.Limits(lower=[5.0], upper=[np.inf])
    mb.add_body("b", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0)).limits = sc.Limits(lower=[-np.inf], upper=[-9.0])
    q = World(Robot(mb)).sample(np.random.default_rng(0), 400)
    assert q[:, 0].min() >= 5.0
    assert 5.0 + 3.0 < q[:, 0].max() <= 5.0 + np.pi
    assert q[:, 1].max() <= -9.0
    assert -9.0 - np.pi <= q[:, 1].min() < -9.0 - 3.0


def test_who_draws_and_how_many():
    w = World(two_arms())
    assert (w.sample(3, 4) == w.sample(np.random.default_rng(3), 4)).all()
    for rng in (None, "a", 0.5, -1):
        with pytest.raises(ModelError, match="rng must be a whole number"):
            w.sample(rng, 1)
    for count in (2**63, 10**400):
        with pytest.raises(ModelError, match="count must be a whole number from 1 to 1000000000"):
            w.sample(0, count)
        with pytest.raises(ModelError, match="samples must be a whole number from 1 to 1000000000"):
            w.make_allowed(samples=count)
    with pytest.raises(SizeError, match="1000000000 configurations"):
        w.sample(0, 10**9)

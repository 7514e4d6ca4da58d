"""Distances that are kept: a loop that wants what is behind them comes to rest, and brakes before them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.robot.whole_body.drawn import alternations

import soacraft as sc
from soacraft import robot as rob
from soacraft.errors import StateError
from soacraft.robot.whole_body.limits import braking_speed, row_braking_speed

START = np.array([0.0, 0.3, 0.0, -1.9, 0.0, 2.2, 0.8])


def panda():
    rb = rob.Robot(sc.load("panda"))
    for body in rb.mb.bodies:
        if body.hinge.nv:
            body.limits = sc.Limits(lower=body.limits.lower, upper=body.limits.upper, velocity=[2.0])
    return rb


def behind(rb, shape, at, gain):
    """Tasks that pull the hand into a shape, which it is to stay away from by 2 cm."""
    w = rob.World(rb)
    w.add("o", shape, sc.Pose(translation=at))
    return w, [rob.Distance(w, 0.02, gain=10.0), rob.Reaching(sc.Position("attachment", at), gain=gain)]


def run(rb, w, tasks, q, steps, acceleration=None):
    plan, v, found, near = rb.velocity_plan(tasks), np.zeros(rb.mb.nv), [], []
    for _ in range(steps):
        v = plan.step(q, 0.01, v, acceleration).v
        q = q + 0.01 * v
        found.append(v)
        near.append(w.distances(q, 1.0).distance.min())
    return q, np.array(found), np.array(near)


@pytest.mark.parametrize("gain", [2.0, 10.0])
@pytest.mark.parametrize("at", [(0.5, 0.2, 0.15), (0.4, -0.3, 0.5), (0.2, 0.5, 0.4)])
@pytest.mark.parametrize("shape", [sc.contact.Sphere(0.12), sc.contact.Box(0.2, 0.3, 0.2)])
def test_a_hand_that_is_pulled_into_an_obstacle_does_not_go_back_and_forth(shape, at, gain):
    rb = panda()
    w, tasks = behind(rb, shape, at, gain)
    _, v, near = run(rb, w, tasks, START, 300)
    assert alternations(v[100:]) == 0
    assert near.min() > 0.0195
    assert near[-1] < 0.021


def test_a_hand_comes_to_rest_before_a_ball():
    """Where it is as near to the centre as it can be: the nearest point of the hand is on the line between them."""
    rb = panda()
    at = (0.5, 0.3, 0.4)
    w, tasks = behind(rb, sc.contact.Sphere(0.12), at, 2.0)
    q, v, near = run(rb, w, tasks, START, 300)
    assert np.abs(v[-1]).max() < 1e-6
    assert abs(near[-1] - 0.02) < 1e-6
    rows = w.distances(q, 0.021)
    tip = rb.mb.pose("attachment", state=rb.mb.state(q)).translation
    way = np.array(at) - tip
    assert abs(np.linalg.norm(np.cross(way / np.linalg.norm(way), rows.normal[0]))) < 1e-3


@pytest.mark.parametrize("acceleration", [None, 30.0, 5.0])
@pytest.mark.parametrize("gain", [5.0, 100.0])
def test_an_arm_brakes_before_a_wall(gain, acceleration):
    """The target is behind it. Without braking it is 33 mm in the wall with an acceleration of 5."""
    rb, q = panda(), np.array([0.0, -0.3, 0.0, -2.2, 0.0, 2.0, 0.8])
    w = rob.World(rb)
    w.add("wall", sc.contact.Box(0.1, 1.0, 1.0), sc.Pose(translation=(0.75, 0.0, 0.5)))
    there = rob.Reaching(sc.Position("attachment", (1.0, 0.0, 0.5)), gain=10.0)
    tasks = [rob.Distance(w, 0.02, gain=gain), there, rob.Posture(q, weight=0.1)]
    _, v, near = run(rb, w, tasks, q, 250, acceleration)
    assert near.min() > 0.0195
    assert near[-1] < 0.03
    if acceleration is not None:
        assert np.abs(np.diff(v, axis=0)).max() < acceleration * 0.01 * (1.0 + 1e-9)


def test_an_arm_that_is_inside_an_obstacle_leaves_it():
    """Limits of speed do not let all rows be kept at once: these give way, and the arm does not stay where it is."""
    rb = panda()
    w, tasks = behind(rb, sc.contact.Sphere(0.12), (0.5, 0.0, 0.5), 2.0)
    assert w.distances(START, 1.0).distance.min() < -0.1
    _, v, near = run(rb, w, tasks, START, 200)
    assert np.abs(v[0]).max() > 0.1
    assert abs(near[-1] - 0.02) < 1e-3


def test_rows_brake_by_half_of_what_dofs_can():
    J, a = np.array([[1.0, -2.0, 0.0], [0.0, 1.0, 1.0]]), np.array([1.0, 2.0, np.inf])
    found = row_braking_speed(J, np.array([0.3, 0.3]), a, 0.01)
    assert found[0] == braking_speed(np.array(0.3), np.array(0.5 * 5.0), 0.01)
    assert found[1] == pytest.approx(0.3 / 0.01)
    assert row_braking_speed(J[:1], np.array([-0.1]), a, 0.01)[0] == np.inf


@pytest.mark.parametrize("levels", [1, 2])
def test_compiled_steps_next_to_obstacles_are_those_of_python(levels):
    rb, rng = panda(), np.random.default_rng(3)
    w, tasks = behind(rb, sc.contact.Box(0.3, 0.3, 0.3), (0.5, 0.2, 0.4), 10.0)
    w.add("ball", sc.contact.Sphere(0.1), sc.Pose(translation=(0.2, -0.4, 0.6)))
    if levels == 2:
        tasks.append(rob.Posture(START, level=1))
    plan, near = rb.velocity_plan(tasks), 0
    for q in w.sample(rng, 60):
        a, b = plan.step(q, 0.01), plan.reference(q, 0.01)
        assert np.abs(a.v - b.v).max() < 1e-7 * (1.0 + np.abs(b.v).max())
        near += bool(len(w.distances(q, 0.05)))
    assert near > 10


def test_a_distance_has_neither_level_nor_weight():
    w = rob.World(panda())
    for how in ({"level": 1}, {"weight": 2.0}):
        with pytest.raises(StateError, match="it takes a gain, and neither a level nor a weight"):
            rob.Distance(w, 0.05, **how)

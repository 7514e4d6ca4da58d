"""What is no task, no world of the robot or no number is refused with a text; targets are tasks."""

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import StateError
from soacraft.robot import CenterOfMass, Posture, Reaching, Robot, World


def test_a_distance_is_kept_in_a_world_of_this_robot():
    rb, other = Robot(sc.load("panda")), Robot(sc.load("panda"))
    w = World(other)
    for call in (lambda t: rb.velocity(t, rb.mb.q, 0.01), lambda t: rb.reach(t, rb.mb.q), rb.velocity_plan):
        for world in (w, World(Robot(sc.load("iiwa14"))), None):
            with pytest.raises(StateError, match="the world of a Distance must be one around this robot, 'panda'"):
                call([sc.robot.Distance(world, 0.05)])
    assert other.velocity([sc.robot.Distance(w, 0.05)], other.mb.q, 0.01)


def test_targets_are_tasks():
    rb = Robot(sc.load("panda"))
    target = sc.Position("link7", (0.4, 0.0, 0.5))
    assert (rb.velocity([target], rb.mb.q, 0.01).v == rb.velocity([Reaching(target)], rb.mb.q, 0.01).v).all()
    plan = rb.velocity_plan([target])
    plan.aim(target, (0.5, 0.1, 0.4))
    moved = Reaching(sc.Position("link7", (0.5, 0.1, 0.4)))
    assert (plan.step(rb.mb.q, 0.01).v == rb.velocity([moved], rb.mb.q, 0.01).v).all()
    for wrong in (sc.Position("link7", (0.4, 0.0, 0.5), weight=2.0), sc.Position("link7", (0, 0, 1), tolerance=1.0)):
        with pytest.raises(StateError, match="the weight and the tolerance of a target are for inverse_kinematics"):
            rb.velocity([wrong], rb.mb.q, 0.01)
    assert rb.reach([target], [0.1, 0.5, 0.2, -1.5, 0.3, 1.7, 0.4]).found


def test_arguments_of_any_kind_are_refused_with_a_text():
    rb, q = Robot(sc.load("panda")), np.zeros(7)
    posture = [Posture(q)]
    for tasks in (None, 5, posture[0]):
        for call in (lambda t: rb.velocity(t, q, 0.01), lambda t: rb.reach(t, q), rb.velocity_plan):
            with pytest.raises(StateError, match="tasks are a list of"):
                call(tasks)
    for limits in ([], None, np.zeros(2)):
        with pytest.raises(StateError, match="limits= is True or False"):
            rb.velocity(posture, q, 0.01, limits=limits)
    for acceleration in ("fast", 1j, [[1, 2], [3]], 10**400):
        with pytest.raises(StateError, match="acceleration is a number"):
            rb.velocity(posture, q, 0.01, v=q, acceleration=acceleration)
    with pytest.raises(StateError, match="a step has one velocity v"):
        rb.velocity(posture, q, 0.01, v=np.zeros((1, 7)), acceleration=1.0)
    with pytest.raises(StateError, match="a Posture is one configuration"):
        rb.velocity([Posture(np.zeros((1, 7)))], q, 0.01)
    for name in ("level", "weight", "gain"):
        for wrong in (None, "a", np.inf, np.ones(7), 1j):
            with pytest.raises(StateError, match=f"the {name} of a Posture"):
                Posture(q, **{name: wrong})
    for wrong in ("abc", [1j, 0, 0], [[1, 2], [3]]):
        with pytest.raises(StateError, match="a CenterOfMass goes to a point"):
            CenterOfMass(wrong)
    for wrong in (None, "a", np.nan):
        with pytest.raises(StateError, match="least of a Distance"):
            sc.robot.Distance(World(rb), wrong)


def test_a_start_that_is_stuck_is_not_the_last():
    """Poses that the arm can take, asked for from the middle of its range: all are found."""
    rb = Robot(sc.load("panda"))
    lower, upper = rb.limb("arm", "link0", "link7").limits
    rng = np.random.default_rng(0)
    for _ in range(4):
        goal = rb.mb.pose("link7", state=rb.mb.state(rng.uniform(lower, upper)))
        r = rb.reach([sc.Placement("link7", goal)], 0.5 * (lower + upper))
        assert r.found, r.why
        assert (r.q >= lower).all()
        assert (r.q <= upper).all()

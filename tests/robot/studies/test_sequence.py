"""Sequences: pick and place on a copy; ways that are not free, planners, limits, torque, standing, loops of two hands,
simulation with computed torque; every reason told."""

from __future__ import annotations

import numpy as np
import pytest
from tests.robot.studies.models import bars, planar

import soacraft as sc
from soacraft.errors import StateError
from soacraft.robot.studies.trial import simulated

study = sc.robot.study
Move, Grasp, Ungrasp, Wait = study.Move, study.Grasp, study.Ungrasp, study.Wait
G = 9.81
FREE = ("rx", "ry", "rz")


def rig(gravity=(0, 0, -G), mass=0.5):
    """Two links of 1 m in the plane of x and y, a ball as a hand, and a cup at (0.5, 1.2)."""
    rb = planar(1.0, 1.0, gravity=gravity)
    rb.mb["l2"].add_geometry(sc.Geometry("hand", "sphere", (0.05,), sc.Pose(translation=(1, 0, 0)), role="collision"))
    rb.mb.add_body("cup", None, sc.Free(), sc.Inertia.sphere(mass, 0.05))
    rb.limb("arm", "inertial", "l2/tip")
    rb.mb.set_state([0.3, 0.5, 0, 0, 0, 1, 0.5, 1.2, 0.0], np.zeros(8))
    return rb


def at(x, y):
    return sc.Pose(translation=(x, y, 0))


def picked(**more):
    return [
        Move(pose=at(0.5, 1.2), limb="arm", free=FREE), Grasp("cup", "l2/tip", within=0.01),
        Move(pose=at(1.2, -0.6), limb="arm", free=FREE), Ungrasp("cup"), Wait(0.5), Move({"l1": 0.0, "l2": 0.3}),
    ]  # fmt: skip


def test_pick_and_place_leaves_the_robot_alone():
    rb = rig()
    q = np.array(rb.mb.q)
    s = study.sequence(rb, picked())
    assert s
    assert s.ok.all()
    assert repr(s).endswith("all can be done")
    assert np.array_equal(rb.mb.q, q)
    assert rb.held == {}
    assert s.steps[1] == "grasp 'cup' with 'l2/tip'"
    # the cup rides along: after its release it is where the tip was
    cup = [s.coordinates.index(f"cup.q{i}") for i in (4, 5)]
    assert s.path[s.step == 4][0, cup] == pytest.approx([1.2, -0.6])
    assert np.isnan(s.path[s.step == 2][:, cup]).all()
    assert s.path[0, :2] == pytest.approx(q[:2])
    assert s.path[-1, :2] == pytest.approx([0.0, 0.3])
    assert (np.diff(s.t) >= 0.0).all()
    assert s.t[-1] == pytest.approx(s.duration.sum())


def test_durations_are_those_of_minimum_jerk():
    """The fastest dof has the speed of the sequence, 15/8 of its mean, or its limit of velocity."""
    rb = planar(1.0, 1.0)
    s = study.sequence(rb, [Move([1.0, -0.5])], speed=0.5)
    assert s.duration == pytest.approx([15 / 8 * 1.0 / 0.5])
    rb.mb["l2"].limits = sc.Limits(velocity=[0.1])
    s = study.sequence(rb, [Move([1.0, -0.5]), Move([1.0, 0.0], duration=3.0)])
    assert s.duration == pytest.approx([15 / 8 * 0.5 / 0.1, 3.0])


def post(rb):
    w = sc.robot.World(rb)
    w.add("post", sc.contact.Sphere(0.1), at(2.0 * np.cos(0.6), 2.0 * np.sin(0.6)))
    return w


def test_a_way_that_is_not_free_and_a_planner_that_goes_around():
    rb = rig()
    rb.mb.set_state([0.0, 0.0, *rb.mb.q[2:]], np.zeros(8))
    goal = {"l1": 1.2}
    s = study.sequence(rb, [Move(goal)], world=post)
    assert not s
    assert "the way is not free: " in s.why[0]
    assert "post" in s.why[0]

    def around(robot, world, q0, q1):
        folded, turned = np.array(q0), np.array(q1)
        folded[1] = turned[1] = 2.0
        return np.array([q0, folded, turned, q1])

    s = study.sequence(rb, [Move(goal)], world=post, planner=around)
    assert s
    assert s.clearance[0] > 0.0
    s = study.sequence(rb, [Move(goal), Wait(1.0)], world=post, planner=lambda rb, w, a, b: None)
    assert s.why[0] == "the planner found no way"
    assert s.why[1] == "not looked at, since a step before it cannot be done"
    with pytest.raises(StateError, match="must begin where the robot is, and end at the goal"):
        study.sequence(rb, [Move(goal)], planner=lambda rb, w, a, b: np.array([b, a]))


def test_what_is_held_is_checked_too():
    """With the cup in its hand the robot is larger: a way that was free is not."""
    rb = rig()
    rb.mb["cup"].add_geometry(sc.Geometry("wall", "sphere", (0.4,), role="collision"))

    def world(robot):
        w = sc.robot.World(robot)
        w.add("post", sc.contact.Sphere(0.1), at(1.6, 0.0))
        w.allow("cup", "l2")
        return w

    empty = [Move(pose=at(0.5, 1.2), limb="arm", free=FREE), Move(pose=at(1.2, -0.6), limb="arm", free=FREE)]
    assert study.sequence(rb, empty, world=world)
    s = study.sequence(rb, [empty[0], Grasp("cup", "l2/tip"), empty[1]], world=world)
    assert list(s.ok) == [True, True, False]
    assert "cup" in s.why[2]


def test_reasons():
    rb = rig()
    s = study.sequence(rb, [Move(pose=at(3.0, 0), limb="arm", free=FREE)])
    assert s.why[0].startswith("no configuration: too far")
    rb.mb["l2"].limits = sc.Limits(lower=[-1.0], upper=[1.0])
    s = study.sequence(rb, [Move({"l2": 1.5})])
    assert s.why[0] == "'l2' = 1.5 is outside its limits -1 to 1"
    s = study.sequence(rb, [Grasp("cup", "l2/tip", within=0.01)])
    assert s.why[0].startswith("'cup' is ")
    assert s.why[0].endswith("m from 'l2/tip', more than 0.01 m")
    s = study.sequence(rb, [Ungrasp("cup")])
    assert "'cup' is not held" in s.why[0]
    assert repr(s).startswith("Sequence of 'arm': 1 steps, 0 s; step 0, let 'cup' go, cannot be done: 'cup' is not")


def test_a_load_that_is_too_heavy():
    """Arms in a vertical plane: the shoulder holds 1 kg at 1 m, 1 kg at 2 m and the cup at 2 m, stretched out."""
    rb = rig(gravity=(0, -G, 0), mass=3.0)
    rb.mb.set_state([0.0, 0.0, 0, 0, 0, 1, 2.0, 0.0, 0.0], np.zeros(8))
    limit = 4.0 * 2.0 * G
    s = study.sequence(rb, [Wait(1.0), Grasp("cup", "l2/tip", within=1e-9)], efforts={"l1": limit})
    assert list(s.ok) == [True, False]
    assert s.torque == pytest.approx([1 - 3.0 / 8.0, 1 - 9.0 / 8.0])
    assert s.why[1] == "torque does not hold, 'l1'"


def test_a_platform_that_tips_over():
    """Feet at 0.9 m: the arm may go out until its masses are over the edge."""
    rb = rig(gravity=(0, 0, -G))
    feet = 0.9 * np.array([[1.0, 1, 0], [-1, 1, 0], [-1, -1, 0], [1, -1, 0]])
    contacts = study.Contacts(feet)
    rb.mb.remove("cup")
    rb.mb.set_state([0.0, 2.5], [0.0, 0.0])
    s = study.sequence(rb, [Move([0.5, 2.5]), Move([0.0, 0.0])], contacts=contacts)
    assert list(s.ok) == [True, False]
    assert s.standing[1] == pytest.approx(0.9 - 1.5, abs=0.05)
    assert s.why[1].startswith("standing does not hold, edge")


def two_arms():
    """Two arms of two links, 2 m apart, and a bar between their hands."""
    mb = sc.Multibody("two", gravity=(0, 0, -G))
    pin = sc.Pin((0, 0, 1))
    for side, x in (("a", -1.0), ("b", 1.0)):
        one = mb.add_body(f"{side}1", None, pin, sc.Inertia(1.0, (0.5, 0, 0), 0.1 * np.eye(3)), inboard=at(x, 0))
        two = mb.add_body(f"{side}2", one, pin, sc.Inertia(1.0, (0.5, 0, 0), 0.1 * np.eye(3)), inboard=at(1, 0))
        two.add_node("hand", at(1, 0))
    mb.add_body("bar", None, sc.Free(), sc.Inertia.box(1.0, (1.0, 0.1, 0.1)))
    rb = sc.robot.Robot(mb)
    arms = [rb.limb(s, "inertial", f"{s}2/hand") for s in "ab"]
    near = ([1.5, -1.5], [1.5, 1.5])
    q = [arm.ik(at(x, 1.0), n, FREE).q for arm, x, n in zip(arms, (-0.5, 0.5), near, strict=True)]
    mb.set_state([*q[0], *q[1], 0, 0, 0, 1, 0, 1.0, 0], np.zeros(10))
    return rb


def test_two_hands_close_a_loop_and_move_on_it():
    rb = two_arms()
    q = np.array(rb.mb.q)[:4]
    hands = ["a2/hand", "b2/hand"]
    efforts = dict.fromkeys(("a1", "a2", "b1", "b2"), 50.0)
    raised = {"a1": q[0] + 0.1}
    s = study.sequence(rb, [Grasp("bar", hands), Move(raised), Ungrasp("bar")], efforts=efforts)
    assert s, s.why
    rows = s.path[s.step == 1][:, :4]
    copy = rb.copy()
    copy.grasp("bar", hands)
    report = [sc.loops.TreeAugmented(copy.mb).assemble(row) for row in rows[::10]]
    assert np.abs(np.array(report) - rows[::10]).max() < 1e-6  # each is closed already
    assert rows[-1, 0] == pytest.approx(q[0] + 0.1)
    assert s.torque[1] == pytest.approx(1.0)  # nothing is lifted across gravity
    off = study.sequence(rb, [Grasp("bar", hands), Move(q + np.array([0.2, 0, 0, 0]))], efforts=efforts)
    assert off.why[1].startswith("loops are not closed at q, a dof is ")


def test_loops_that_cannot_close_or_must_jump():
    """To 0.9 rad the bars follow; to 1.2 rad they are too short, and from one branch to the other they jump."""
    rb, efforts = sc.robot.Robot(bars()), {"crank": 10.0}
    s = study.sequence(rb, [Move({"crank": 0.9}), Move({"crank": 1.2})], efforts=efforts)
    assert list(s.ok) == [True, False]
    assert "'pin'" in s.why[1]
    q = np.array(rb.mb.q)
    other = q.copy()  # the mirror image about the line from the end of the crank to the pivot
    end = 0.9 * np.array([np.cos(q[0]), np.sin(q[0])])
    to_pivot = np.arctan2(-end[1], 0.3 - end[0])
    other[1] = 2 * (to_pivot - q[0]) - q[1]
    other[2] = 2 * (to_pivot + np.pi) - q[2]
    other[1:] = np.mod(other[1:] + np.pi, 2 * np.pi) - np.pi
    s = study.sequence(rb, [Move(other)], efforts=efforts)
    assert not s
    assert "jump" in s.why[0]


def test_a_loop_that_is_open_is_told_where_other_dofs_are_as_they_should_be():
    """A wheel beside the linkage needs no correction: that does not close the loop."""
    mb = bars()
    mb.add_body("wheel", None, sc.Pin((0, 0, 1)), sc.Inertia.cylinder(0.1, 0.1, 0.1))
    rb, q = sc.robot.Robot(mb), np.array(mb.q)
    s = study.sequence(rb, [Move(q + np.array([0.0, 0.2, 0.0, 0.3]))], efforts={"crank": 10.0, "wheel": 10.0})
    assert not s
    assert s.why[0].startswith("loops are not closed at q, a dof is ")
    turned = study.sequence(rb, [Move(q + np.array([0.0, 0.0, 0.0, 0.3]))], efforts={"crank": 10.0, "wheel": 10.0})
    assert turned, turned.why


def test_simulation_follows_the_motion():
    """Computed torque is exact up to the integration, with what the hand holds; what lies around stays."""
    s = study.sequence(rig(), picked(), simulate=True, dt=5e-3)
    assert s
    assert list(np.isfinite(s.error)) == [True, False, True, False, True, True]
    assert np.nanmax(s.error) < 1e-6


def test_a_motor_that_is_too_weak_is_seen_in_simulation():
    """Without enough force to start, the robot stays behind."""
    rb = planar(1.0)
    motion = sc.robot.minimum_jerk(rb, [0.0], [1.0], 1.0)
    error, why = simulated(rb, motion, {"l1": 0.1}, 1e-2, 0.02)
    assert error > 0.5
    assert why.startswith("simulated, 'l1' is off its motion by")
    floating = sc.robot.Robot(sc.load("h1"))
    stay = (np.array(floating.mb.q), 0.1)
    assert np.isnan(simulated(floating, stay, None, 1e-2, 0.02)[0])


def test_it_shows_itself_and_comes_back_from_its_file(tmp_path):
    s = study.sequence(rig(), picked())
    assert s.table().head[0] == "step"
    assert study.load(s.save(tmp_path / "s.h5")).same_as(s)
    none = study.sequence(rig(), [])
    assert none
    assert study.load(none.save(tmp_path / "n.h5")).same_as(none)


@pytest.mark.parametrize(
    ("steps", "more", "text"),
    [
        (["go"], {}, "step 0 of a sequence is a Move, Grasp, Ungrasp or Wait, got 'go'"),
        ([Move()], {}, "a move goes to coordinates q, or to a pose of a limb; give one of them"),
        ([Move(pose=5, limb="arm")], {}, r"a move to a pose needs the name of a limb and a Pose\(...\), got 5"),
        ([Move([0.0] * 9, duration=-1.0)], {}, r"q of a move|the duration of a move must be positive, got -1\.0"),
        ([Wait(0.0)], {}, r"a wait takes a positive number of seconds, got 0\.0"),
        ([], dict(world=5), "world= is a function; got 5. A sequence is checked on a copy of the robot"),
        ([], dict(world=lambda rb: 5), "world= makes a World around the robot that it is given, got 5"),
        ([], dict(speed=0.0), r"speed must be positive, got 0\.0"),
    ],
)
def test_refused(steps, more, text):
    with pytest.raises(StateError, match=text):
        study.sequence(rig(), steps, **more)


def test_what_is_no_robot_is_refused():
    with pytest.raises(StateError, match="a sequence is of a Robot, got 5"):
        study.sequence(5, [])


def test_steps_that_cannot_be_meant_are_refused():
    rb = rig()
    assert len(study.sequence(rb, Move({"l1": 0.1})).steps) == 1  # one step by itself
    for hands in ((), None, 5, np.array(1.0)):
        with pytest.raises(StateError, match="a grasp of 'cup' takes one hand or more"):
            Grasp("cup", hands)
    with pytest.raises(StateError, match="within of a grasp must be real numbers"):
        Grasp("cup", "l2/tip", within="near")
    with pytest.raises(StateError, match="a move goes to one configuration, got a batch"):
        study.sequence(rb, [Move(np.zeros((0, 2)), limb="arm")])
    with pytest.raises(StateError, match="step 0 of a sequence is a Move, Grasp, Ungrasp or Wait, got 3"):
        study.sequence(rb, 3)
    with pytest.raises(StateError, match=r"step 0 of a sequence is a Move, Grasp, Ungrasp or Wait, got array\(3\.\)"):
        study.sequence(rb, np.array(3.0))


@pytest.mark.parametrize("length", [1.0, 1e-6, 1e4])
def test_limits_and_ways_are_judged_by_the_size_of_the_model(length):
    """A slide half a hundredth beyond its limit, and a way that ends as far from the goal, in models of all sizes."""
    mb = sc.Multibody("slide")
    hinge, inertia = sc.Prismatic((1, 0, 0)), sc.Inertia(1.0, (0, 0, length), length**2 * np.eye(3))
    mb.add_body("carriage", None, hinge, inertia, inboard=sc.Pose(translation=(0, length, 0)))
    mb["carriage"].limits = sc.Limits(lower=[0.0], upper=[0.1 * length])
    rb, move = sc.robot.Robot(mb), sc.robot.study.Move([0.05 * length])
    far = sc.robot.study.sequence(rb, [move], planner=lambda _rb, _w, a, b: [a, [0.1005 * length], b])
    assert far.why[0].startswith("'carriage' = ")
    assert "is outside its limits" in far.why[0]
    with pytest.raises(StateError, match="must begin where the robot is, and end at the goal"):
        sc.robot.study.sequence(rb, [move], planner=lambda _rb, _w, a, b: [a, b + 0.0005 * length])

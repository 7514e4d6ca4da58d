"""Velocity steps of the whole robot: derivatives, strict levels, limits without chatter, always an answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft import robot as rob
from soacraft.errors import StaleError, StateError
from soacraft.kinematics.rows import Constraints
from soacraft.robot.whole_body.tasks import Wanted


def chain(n=5, limit=None, speed=None):
    mb = sc.serial_chain(n)
    for body in mb.bodies:
        if limit is not None:
            body.limits = sc.Limits(lower=[-limit], upper=[limit], velocity=[speed or 0.0])
    return rob.Robot(mb)


def tasks_of(rb, rng):
    """One of each kind, with goals a little away."""
    mb = rb.mb
    tip, other = mb.bodies[-1].name, mb.bodies[2].name
    turn = rng.standard_normal(4)
    pose = sc.Pose.from_quaternion(turn / np.linalg.norm(turn), rng.standard_normal(3))
    return [
        rob.Reaching(sc.Placement(tip, pose)),
        rob.Reaching(sc.Position(tip, rng.standard_normal(3), relative_to=other)),
        rob.Reaching(sc.Direction(tip, axis=(0, 0, 1), direction=rng.standard_normal(3))),
        rob.Posture(mb.random_state(rng)[0]),
        rob.CenterOfMass(rng.standard_normal(3)),
        rob.LookAt(tip, rng.standard_normal(3) + 3.0),
        rob.Relative(tip, other, pose),
    ]


@pytest.mark.parametrize("number", range(7))
def test_rows_of_a_task_are_the_rates_of_what_is_left(number):
    """For small errors: |left| falls as the rows say. Rotations count to first order, so goals are near."""
    rb = rob.Robot(sc.load("h1"))
    mb, rng = rb.mb, np.random.default_rng(number)
    q = mb.random_state(rng)[0]
    task = tasks_of(rb, rng)[number]
    exact = not isinstance(task, rob.Posture)  # turn and way of a free hinge are one logarithm: to first order
    if not exact:
        task = rob.Posture(mb.integrate(q, 1e-5 * rng.standard_normal(mb.nv)))
    v, h = rng.standard_normal(mb.nv), 1e-6 if exact else 1e-8
    at = task.wanted(mb, q)
    ends = [task.wanted(mb, np.asarray(mb.integrate(q, s * h * v))) for s in (1, -1)]
    # the sum of squares has an exact rate, whatever axes the rows of a direction are taken in
    slope = (ends[0].left @ ends[0].left - ends[1].left @ ends[1].left) / (2 * h)
    assert np.isclose(slope, -2.0 * at.left @ (at.J @ v), rtol=1e-5, atol=1e-6 if exact else 1e-9)


def test_a_momentum_and_a_standing_foot_are_rates():
    rb = rob.Robot(sc.load("h1"))
    mb, rng = rb.mb, np.random.default_rng(0)
    q = mb.random_state(rng)[0]
    h = 0.1 * rng.standard_normal(6)
    got = rb.velocity([rob.Momentum(rate=h)], q, 0.01, limits=False)
    assert np.allclose(dyn.centroidal_momentum_matrix(mb, q) @ got.v, h, atol=1e-6)
    foot = mb.bodies[5].name
    got = rb.velocity([rob.Contact(foot, "all"), rob.Posture(mb.random_state(rng)[0], level=1)], q, 0.01, limits=False)
    assert np.abs(dyn.jacobian(mb, q, foot) @ got.v).max() < 1e-9
    assert np.linalg.norm(got.v) > 0.1


def test_levels_are_strict():
    """The second level wants the opposite of the first: the first is done to rounding, alone or not."""
    rb = chain(6)
    q = np.linspace(0.1, 0.6, 6)
    first = rob.Reaching(sc.Position("link6/tip", (3.0, 0.0, -2.0)))
    against = rob.Reaching(sc.Position("link6/tip", (-3.0, 0.0, 2.0)), level=1, weight=1e6)
    posture = rob.Posture(np.ones(6), level=2)
    alone, both = rb.velocity([first], q, 0.01), rb.velocity([posture, against, first], q, 0.01)
    J = first.wanted(rb.mb, q)
    assert np.abs(J.J @ both.v - J.J @ alone.v).max() < 1e-9
    assert np.linalg.norm(both.v - alone.v) > 1e-3  # the posture moves what is left
    assert both.left["link6/tip"] > 1.0  # in the order they were given
    assert both.left["link6/tip (2)"] < 1e-8


def changes(v):
    """How often a velocity changes its sign, by dof; what is slower than a millionth counts as still."""
    signs = np.where(np.abs(v) > 1e-6, np.sign(v), 0.0)
    return (np.abs(np.diff(signs, axis=0)) == 2).sum(axis=0)


def run(rb, tasks, q, steps, dt=0.01, **how):
    """A control loop: velocities, and where it ends."""
    mb, plan, v = rb.mb, rb.velocity_plan(tasks), np.zeros(rb.mb.nv)
    found = np.zeros((steps, mb.nv))
    for k in range(steps):
        v = plan.step(q, dt, v, **how).v if how else plan.step(q, dt).v
        q, found[k] = np.asarray(mb.integrate(q, dt * v)), v
    return found, q


def test_limits_are_reached_without_chatter():
    rb = chain(3, limit=0.6, speed=2.0)
    pull = rob.Reaching(sc.Position("link3/tip", (-2.0, 0.0, -2.0)), gain=5.0)
    v, q = run(rb, [pull, rob.Posture(np.zeros(3), level=1)], np.zeros(3), 300)
    assert changes(v).max() <= 1
    assert np.abs(v[-1]).max() < 1e-6
    assert 0.599 < np.abs(q).max() <= 0.6 + 1e-12


@pytest.mark.parametrize("a", [0.5, 4.0, 60.0])
def test_a_limit_is_reached_at_rest_by_braking(a):
    """Full speed ahead, then braking by a, to rest at the limit and not a step beyond."""
    rb = chain(1, limit=0.8, speed=1.5)
    v, q = run(rb, [rob.Posture([5.0], gain=50.0)], np.zeros(1), 900, acceleration=a)
    assert np.abs(np.diff(v[:, 0], prepend=0.0)).max() <= a * 0.01 * (1.0 + 1e-9)
    assert changes(v).max() == 0
    assert v.max() <= 1.5 + 1e-12
    assert q[0] == pytest.approx(0.8, abs=1e-9)
    assert abs(v[-1, 0]) < 1e-12


@pytest.mark.parametrize("far", [1.0, 1.2, 4.0])
def test_an_arm_stretched_out_does_not_chatter(far):
    """Targets at the end of reach and beyond: it comes to rest, straight, without going back and forth."""
    rb = chain(4)
    direction = np.array([0.6, 0.0, -0.8])
    pull = rob.Reaching(sc.Position("link4/tip", far * 4.0 * direction), gain=20.0)
    v, q = run(rb, [pull], np.array([0.3, 0.4, -0.2, 0.5]), 600)
    assert changes(v).max() <= 2
    assert changes(v[50:]).max() == 0
    assert np.abs(v[-1]).max() < 0.05 * np.abs(v).max()
    tip = rb.mb.pose("link4/tip", state=rb.mb.state(q)).translation
    assert tip @ direction > 3.98


def test_contradictory_tasks_do_not_chatter():
    rb = chain(5, limit=1.5, speed=3.0)
    tasks = [
        rob.Reaching(sc.Position("link5/tip", (9.0, 0.0, 2.0)), gain=30.0),
        rob.Reaching(sc.Position("link5/tip", (-9.0, 0.0, -6.0)), gain=30.0),
        rob.Reaching(sc.Direction("link5/tip", axis=(1, 0, 0), direction=(0, 0, 1)), level=1, gain=30.0),
        rob.Reaching(sc.Position("link3", (0.0, 0.0, 9.0)), level=2, gain=30.0),
    ]
    v, _ = run(rb, tasks, np.array([0.3, 0.4, -0.2, 0.5, 0.1]), 600)
    assert changes(v).max() <= 3
    assert changes(v[200:]).max() == 0
    assert np.abs(v[-1]).max() < 1e-3


def test_a_wall_is_reached_without_chatter():
    rb = ball_robot()
    world = rob.World(rb)
    world.add("wall", sc.contact.Box(0.2, 4.0, 4.0), sc.Pose(translation=(1.0, 0.0, 0.0)))
    keep = rob.Distance(world, 0.05, within=1.0, gain=20.0)
    go = rob.Reaching(sc.Position("s1", (2.0, 0.3, 0.0)), gain=5.0)
    v, q = run(rb, [keep, go], np.zeros(2), 400)
    assert changes(v).max() == 0
    assert q[0] == pytest.approx(1.0 - 0.1 - 0.1 - 0.05, abs=1e-6)
    assert q[1] == pytest.approx(0.3, abs=1e-6)


def test_outside_a_limit_it_returns_at_full_speed():
    rb = chain(2, limit=0.5, speed=1.0)
    got = rb.velocity([rob.Posture([2.0, 0.0])], [0.9, 0.0], 0.01)
    assert got.v[0] == pytest.approx(-1.0)
    near = rb.velocity([rob.Posture([2.0, 0.0])], [0.505, 0.0], 0.01)
    assert near.v[0] == pytest.approx(-0.5)
    assert "link1" in near.at_limits


def test_contradictory_tasks_and_singular_arms_have_an_answer():
    rb = chain(4)
    here = [
        rob.Reaching(sc.Position("link4/tip", (9.0, 0.0, 0.0))),
        rob.Reaching(sc.Position("link4/tip", (-9.0, 0.0, 0.0))),
    ]
    got = rb.velocity(here, np.zeros(4), 0.01)
    assert np.isfinite(got.v).all()
    assert np.abs(got.v).max() < 1e-3  # straight along x, where nothing pulls
    out = rb.velocity([rob.Reaching(sc.Placement("link4/tip", sc.Pose(translation=(9.0, 0, 0))))], np.zeros(4), 0.01)
    assert np.isfinite(out.v).all()


def test_accelerations_are_bounded():
    rb = chain(3)
    got = rb.velocity([rob.Posture(np.full(3, 9.0))], np.zeros(3), 0.01, v=np.full(3, 0.1), acceleration=2.0)
    assert np.allclose(got.v, 0.12)


def ball_robot():
    mb = sc.Multibody("slider")
    for i, axis in enumerate(((1, 0, 0), (0, 1, 0))):
        mb.add_body(f"s{i}", parent=None if i == 0 else "s0", hinge=sc.Prismatic(axis), inertia=sc.Inertia(1.0))
    mb["s1"].add_geometry(sc.Geometry("ball", "sphere", (0.1,)))
    for body in mb.bodies:
        body.limits = sc.Limits(lower=[-5.0], upper=[5.0], velocity=[1.0])
    return rob.Robot(mb)


def test_a_distance_is_kept_and_slid_along():
    rb = ball_robot()
    world = rob.World(rb)
    world.add("post", sc.contact.Sphere(0.3), sc.Pose(translation=(1.0, 0.05, 0.0)))
    keep, go = (
        rob.Distance(world, 0.05, within=1.0, gain=10.0),
        rob.Reaching(sc.Position("s1", (2.0, 0.0, 0.0)), gain=2.0),
    )
    q, least = np.zeros(2), np.inf
    for _ in range(250):
        q = q + 0.04 * rb.velocity([keep, go], q, 0.04).v
        least = min(least, world.distances(q).distance.min())
    assert least > 0.05 - 2e-3
    assert least < 0.06
    assert np.linalg.norm(q - [2.0, 0.0]) < 1e-3


def test_a_distance_that_cannot_be_kept_is_approached_and_told():
    """Between two posts there is less room than is asked: there is an answer, and what is missing is told."""
    rb = ball_robot()
    world = rob.World(rb)
    world.add("left", sc.contact.Sphere(0.3), sc.Pose(translation=(-0.5, 0.0, 0.0)))
    world.add("right", sc.contact.Sphere(0.3), sc.Pose(translation=(0.5, 0.0, 0.0)))
    got = rb.velocity([rob.Distance(world, 0.2, gain=1.0), rob.Posture([0.0, 0.0])], [0.0, 0.0], 0.01)
    assert got.left["distances"] == pytest.approx(0.1, rel=1e-6)
    assert np.isfinite(got.v).all()


def test_what_is_refused():
    rb = chain(2)
    with pytest.raises(StateError, match="dt must be positive"):
        rb.velocity([], [0.0, 0.0], 0.0)
    with pytest.raises(StateError, match="a task is a Posture"):
        rb.velocity(["link2/tip"], [0.0, 0.0], 0.1)
    with pytest.raises(StateError, match="the level of a Posture is a whole number"):
        rob.Posture([0.0], level=-1)
    with pytest.raises(StateError, match="needs a positive weight"):
        rob.Posture([0.0], weight=0.0)
    with pytest.raises(StateError, match="rows of a Contact are 'linear' or 'all'"):
        rb.velocity([rob.Contact("link2", "some")], [0.0, 0.0], 0.1)
    for wrong in (-1.0, np.nan, [1.0, 2.0, 3.0]):
        with pytest.raises(StateError, match="acceleration is a number, or one for each of the 2 dofs"):
            rb.velocity([], [0.0, 0.0], 0.1, acceleration=wrong)
    with pytest.raises(StateError, match="a step has one configuration, got"):
        rb.velocity([], np.zeros((2, 2)), 0.1)
    with pytest.raises(StateError, match="damping must not be negative"):
        rb.velocity_plan([]).step([0.0, 0.0], 0.1, damping=-1.0)
    with pytest.raises(StateError, match="the rate of link2/tip is a number, or one for each of its 3 rows"):
        rb.velocity([rob.Reaching(sc.Position("link2/tip", (1, 0, 0)), rate=[1.0, 2.0])], [0.0, 0.0], 0.1)
    with pytest.raises(StateError, match="a CenterOfMass goes to a point"):
        rob.CenterOfMass((1.0, 2.0))
    with pytest.raises(StateError, match="a Reaching has a Placement"):
        rob.Reaching("link2")
    with pytest.raises(StateError, match="an axis must not be zero"):
        rb.velocity([rob.LookAt("link2", (1, 2, 3), axis=(0, 0, 0))], [0.0, 0.0], 0.1)
    poses = sc.Pose(translation=np.zeros((2, 3)))
    with pytest.raises(StateError, match="the pose of 'link2' is one pose"):
        rb.velocity([rob.Reaching(sc.Placement("link2", poses))], [0.0, 0.0], 0.1)
    light = sc.Multibody("light")
    light.add_body("a", hinge=sc.Pin((0, 0, 1)))
    with pytest.raises(StateError, match="'light' has no mass"):
        rob.Robot(light).velocity([rob.CenterOfMass((0, 0, 0))], [0.0], 0.1)
    assert isinstance(rob.Posture([0.0, 0.0]).wanted(rb.mb, np.zeros(2)), Wanted)


def test_weights_do_not_depend_on_units():
    """Two tasks that contradict each other, in a robot and in one ten times as large: the same rates of its hinges."""
    found = []
    for scale in (1.0, 10.0):
        mb = sc.Multibody("arm")
        last = None
        for i in range(3):
            inboard = sc.Pose() if last is None else sc.Pose(translation=(scale, 0, 0))
            pin = sc.Pin((0, 1, 0))
            last = mb.add_body(f"b{i}", parent=last, hinge=pin, inertia=sc.Inertia(1.0), inboard=inboard).name
        mb[last].add_node("tip", sc.Pose(translation=(scale, 0, 0)))
        goal = sc.Pose.from_rpy(0.0, 0.4, 0.0, (2.0 * scale, 0.0, -scale))
        tasks = [rob.Reaching(sc.Placement("b2/tip", goal)), rob.Posture([0.5, -0.5, 0.2])]
        found.append(rob.Robot(mb).velocity(tasks, [0.1, 0.2, 0.3], 0.01).v)
    assert np.allclose(found[0], found[1], rtol=1e-9)


# -- plans ----------------------------------------------------------------------------------------------------------


def test_a_plan_follows_goals_parameters_and_limits():
    rb = chain(3)
    hand = rob.Reaching(sc.Position("link3/tip", (2.0, 0.0, -1.0)))
    posture = rob.Posture(np.zeros(3), level=1)
    plan, q = rb.velocity_plan([hand, posture]), np.array([0.3, 0.5, -0.2])
    plan.aim(hand, (1.0, 0.0, -2.0))
    plan.aim(1, [0.5, 0.5, 0.5])
    other = [rob.Reaching(sc.Position("link3/tip", (1.0, 0.0, -2.0))), rob.Posture([0.5, 0.5, 0.5], level=1)]
    assert np.array_equal(plan.step(q, 0.01).v, rb.velocity(other, q, 0.01).v)
    rb.mb["link2"].inboard = sc.Pose(translation=(1.5, 0, 0))
    assert np.array_equal(plan.step(q, 0.01).v, rb.velocity(other, q, 0.01).v)
    rb.mb["link1"].limits = sc.Limits(velocity=[0.01])
    assert abs(plan.step(q, 0.01).v[0]) <= 0.01 + 1e-15
    assert abs(rb.velocity(other, q, 0.01).v[0]) <= 0.01 + 1e-15
    with pytest.raises(StateError, match="is not a task of this plan"):
        plan.aim(other[0], (1, 0, 0))
    with pytest.raises(StateError, match="a Contact has no goal"):
        rb.velocity_plan([rob.Contact("link3")]).aim(0, (1, 0, 0))
    rb.mb.add_body("more", parent="link3", hinge=sc.Pin((0, 1, 0)), inertia=sc.Inertia(1.0))
    with pytest.raises(StaleError, match="the structure of 'chain' has changed since the plan was made"):
        plan.step(q, 0.01)
    assert np.isfinite(rb.velocity([hand], np.zeros(4), 0.01).v).all()


def test_the_same_call_gives_the_same_bits():
    rb = rob.Robot(sc.load("h1"))
    rng = np.random.default_rng(3)
    tasks = tasks_of(rb, rng)
    states = [rb.mb.random_state(rng)[0] for _ in range(5)]
    first = [rb.velocity(tasks, q, 0.01).v for q in states]
    again = [rb.velocity(tasks, q, 0.01).v for q in reversed(states)][::-1]
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))


def test_four_robots_in_four_threads_give_the_bits_of_one():
    rb = rob.Robot(sc.load("h1"))
    rb.limb("arm", "torso_link", "right_elbow_link")
    rng = np.random.default_rng(4)
    tasks = tasks_of(rb, rng)
    states = [rb.mb.random_state(rng)[0] for _ in range(20)]
    poses = [rb["arm"].pose(rb["arm"].random(rng) if hasattr(rb["arm"], "random") else np.zeros(4)) for _ in range(5)]

    def work(robot):
        velocities = [robot.velocity(tasks, q, 0.01).v for _ in range(5) for q in states]
        return np.concatenate(velocities), [np.asarray(robot["arm"].ik(x).q) for x in poses]

    alone = work(rb)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, [rb.copy() for _ in range(4)]))
    shared = rb.velocity_plan(tasks)  # one plan in four threads, too
    with ThreadPoolExecutor(4) as pool:
        same = list(pool.map(lambda _: np.concatenate([shared.step(q, 0.01).v for q in states]), range(4)))
    for v, q in found:
        assert np.array_equal(v, alone[0])
        assert all(np.array_equal(a, b) for a, b in zip(q, alone[1], strict=True))
    assert all(np.array_equal(v, same[0]) for v in same)


@dataclass(frozen=True, eq=False)
class Level(rob.Task):
    """The tip is as high as another point: a task of the user's own."""

    height: float = 0.0

    def wanted(self, mb, q):
        J = np.asarray(dyn.jacobian(mb, q, "link3/tip"))[5:]
        return Wanted(J, self.height - mb.pose("link3/tip", state=mb.state(q)).translation[2:], "level", 3.0)


def test_a_task_of_the_users_own_is_done():
    rb = chain(3, limit=2.0, speed=5.0)
    tasks = [Level(height=-1.5, gain=10.0), rob.Posture(np.zeros(3), level=1)]
    _, q = run(rb, tasks, np.array([0.1, 0.2, 0.3]), 300)
    assert rb.mb.pose("link3/tip", state=rb.mb.state(q)).translation[2] == pytest.approx(-1.5, abs=1e-6)
    plan = rb.velocity_plan(tasks)
    assert np.allclose(plan.step(q, 0.01).v, plan.reference(q, 0.01).v, atol=1e-9)


def test_what_a_task_of_the_users_own_gives_is_checked():
    rb = chain(3)

    @dataclass(frozen=True, eq=False)
    class Wrong(rob.Task):
        what: Any = None

        def wanted(self, mb, q):
            return self.what

    for what, text in (
        (Wanted(np.eye(2), np.zeros(2), "mine"), "the rows of 'mine'"),
        (Wanted(np.eye(3), np.full(3, np.nan), "mine"), "what is left of 'mine'"),
        (
            Wanted(np.eye(3), np.zeros(3), "mine", 0.0),
            "the size of 'mine', which its rows are measured by, must be positive",
        ),
    ):
        with pytest.raises(StateError, match=text):
            rb.velocity([Wrong(what=what)], np.zeros(3), 0.1)


def test_a_limited_ball_turns_no_further():
    mb = sc.Multibody("ball")
    mb.add_body("a", hinge=sc.Spherical(), inertia=sc.Inertia(1.0, (0.1, 0, 0)))
    mb["a"].limits = sc.Limits(upper=[0.5] * 3)
    rb = rob.Robot(mb)
    goal = np.array([0.0, np.sin(0.6), 0.0, np.cos(0.6)])
    v, q = run(rb, [rob.Posture(goal, gain=3.0)], np.array([0.0, 0.0, 0.0, 1.0]), 300)
    assert 2.0 * np.arccos(q[3]) == pytest.approx(0.5, abs=1e-6)
    assert changes(v).max() == 0


def test_a_hinge_of_the_users_own_and_a_flexible_body_have_steps():
    """Without a compiled form Python does it."""

    class Mine(sc.Pin):
        pass

    mb = sc.Multibody("mine")
    mb.add_body("a", hinge=Mine((0, 1, 0)), inertia=sc.Inertia(1.0))
    mb.add_body(
        "b", parent="a", hinge=sc.Pin((0, 1, 0)), inboard=sc.Pose(translation=(1, 0, 0)), inertia=sc.Inertia(1.0)
    )
    mb["b"].add_node("tip", sc.Pose(translation=(1, 0, 0)))
    rb, plain = rob.Robot(mb), chain(2)
    q = np.array([0.2, 0.5])
    found = rb.velocity([rob.Reaching(sc.Position("b/tip", (0.5, 0, -1)))], q, 0.01)
    other = plain.velocity([rob.Reaching(sc.Position("link2/tip", (0.5, 0, -1)))], q, 0.01)
    assert np.allclose(found.v, other.v, atol=1e-7)


def test_what_cannot_be_done_is_told_level_by_level():
    rb = chain(2, limit=0.5, speed=1.0)
    tasks = [
        rob.Posture([9.0, 0.0]),
        rob.Reaching(sc.Position("link2/tip", (0.0, 0.0, -2.0)), level=3),
    ]
    got = rb.velocity(tasks, [0.5, 0.0], 0.01)
    first, second = got.levels
    assert (first.level, second.level) == (0, 3)
    assert first.left["posture"] == pytest.approx(8.5, rel=1e-6)
    assert first.at_limits == ("link1",) == got.at_limits
    assert set(second.left) == {"link2/tip"}
    assert "held back: link1" in repr(got)


# -- closed chains ----------------------------------------------------------------------------------------------------


def assembled(name):
    rb = rob.Robot(sc.load(name))
    mb = rb.mb
    mb.set_state(mb.neutral())
    tip = mb.bodies[-1].name
    here = mb.pose(tip, state=mb.state(mb.q)).translation
    return rb, tip, np.asarray(sc.inverse_kinematics(mb, {tip: here}, allow_partial=True, starts=3).q)


@pytest.mark.parametrize("name", ["five_bar", "delta", "cassie"])
def test_closures_are_kept(name):
    """Tasks that leave them and limits pull at the loops; these stay closed to second order of a step, for good."""
    rb, tip, q = assembled(name)
    mb, rng = rb.mb, np.random.default_rng(0)
    far = np.asarray(mb.integrate(q, 0.3 * rng.standard_normal(mb.nv)))
    goal = mb.pose(tip, state=mb.state(q)).translation + 0.05 * rng.standard_normal(3)
    plan = rb.velocity_plan([rob.Reaching(sc.Position(tip, goal), gain=2.0), rob.Posture(far, level=1)])
    steps, dt = 150, 0.01
    v, opened = np.zeros((steps, mb.nv)), np.zeros(steps)
    for k in range(steps):
        v[k] = plan.step(q, dt).v
        q = np.asarray(mb.integrate(q, dt * v[k]))
        opened[k] = Constraints(mb, mb.state(q)).opening
    assert opened[10:].max() < 1e-5
    assert opened[-20:].max() <= opened[10:30].max()
    assert changes(v[10:]).max() <= 2  # slowly, where a motion turns round
    mine, theirs = plan.step(q, dt), plan.reference(q, dt)
    assert np.allclose(mine.v, theirs.v, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["five_bar", "delta", "cassie", "strandbeest"])
def test_drift_does_not_grow_in_a_thousand_steps(name):
    rb, _, q = assembled(name)
    mb, rng = rb.mb, np.random.default_rng(0)
    opened = []
    for _ in range(1000):
        swing = rob.Posture(mb.integrate(q, rng.standard_normal(mb.nv)), gain=2.0)
        q = np.asarray(mb.integrate(q, 0.01 * rb.velocity([swing], q, 0.01).v))
        opened.append(Constraints(mb, mb.state(q)).opening)
    assert max(opened[500:]) < 2.0 * max(opened[100:500]) + 1e-12
    assert max(opened[100:]) < 1e-2


def test_two_hands_that_hold_a_bar_go_on():
    """After a grasp with two hands the loop is kept; the bar goes where it is wanted."""
    mb = sc.Multibody("two arms")
    for side in (-1.0, 1.0):
        last, place = None, sc.Pose(translation=(0.0, 0.6 * side, 0.0))
        for i in range(6):
            axis = ((0, 0, 1), (0, 1, 0), (1, 0, 0))[i % 3]
            hinge, inertia = sc.Pin(axis), sc.Inertia(1.0, (0.15, 0, 0))
            last = mb.add_body(f"{'lr'[side > 0]}{i}", parent=last, hinge=hinge, inboard=place, inertia=inertia).name
            place = sc.Pose(translation=(0.3, 0.0, 0.0))
        mb[last].add_node("hand", place)
    q = np.tile([0.3, 0.4, -0.3, 0.5, 0.2, -0.4], 2)
    mb.set_state(q)
    middle = 0.5 * sum(mb.pose(f"{s}5/hand").translation for s in "lr")
    mb.add_body("bar", hinge=sc.Free(), inboard=sc.Pose(translation=middle), inertia=sc.Inertia(0.5))
    rb = rob.Robot(mb)
    rb.grasp("bar", ["l5/hand", "r5/hand"])
    assert rb.mb.is_closed
    q = np.asarray(rb.mb.q)
    start = rb.mb.pose("bar", state=rb.mb.state(q)).translation
    lift = rob.Reaching(sc.Position("bar", start + np.array([0.0, 0.0, 0.1])), gain=5.0)
    v, q = run(rb, [lift], q, 200)
    assert np.allclose(
        rb.mb.pose("bar", state=rb.mb.state(q)).translation, start + np.array([0.0, 0.0, 0.1]), atol=1e-4
    )
    assert Constraints(rb.mb, rb.mb.state(q)).opening < 1e-6
    assert changes(v).max() <= 2


def test_a_momentum_weighs_the_same_in_other_units():
    """A robot ten times as large and a thousand times as heavy: the same rates of its hinges."""
    found = []
    for length, mass in ((1.0, 1.0), (10.0, 1000.0)):
        mb = sc.Multibody("arm")
        last = None
        for i in range(3):
            inboard = sc.Pose() if last is None else sc.Pose(translation=(length, 0, 0))
            inertia = sc.Inertia(mass, (0.5 * length, 0, 0), mass * length**2 * 0.1 * np.eye(3))
            last = mb.add_body(f"b{i}", parent=last, hinge=sc.Pin((0, 1, 0)), inertia=inertia, inboard=inboard).name
        rate = mass * length * np.array([0, 0.3 * length, 0, 0.2, 0, -0.1])
        tasks = [rob.Momentum(rate=rate), rob.Posture([0.5, -0.5, 0.2])]
        found.append(rob.Robot(mb).velocity(tasks, [0.1, 0.2, 0.3], 0.01).v)
    assert np.allclose(found[0], found[1], rtol=1e-9)

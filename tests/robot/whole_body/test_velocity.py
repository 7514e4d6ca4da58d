"""Velocity steps of the whole robot: derivatives, strict levels, limits without chatter, always an answer."""

from __future__ import annotations

import numpy as np
import pytest
from tests.kinematics.test_qp import by_clarabel

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft import robot as rob
from soacraft.errors import StateError
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


def test_the_optimum_of_a_level_is_clarabels():
    rb = chain(5, limit=0.5, speed=0.3)
    rng = np.random.default_rng(5)
    for _ in range(20):
        q = rng.uniform(-0.45, 0.45, 5)
        task = rob.Reaching(sc.Position("link5/tip", 3.0 * rng.standard_normal(3)))
        got = rb.velocity([task], q, 0.1)
        w = task.wanted(rb.mb, q)
        lower, upper = np.maximum(-0.3, (-0.5 - q) / 0.1), np.minimum(0.3, (0.5 - q) / 0.1)
        H = w.J.T @ w.J
        ok, x = by_clarabel(H + 1e-10 * np.trace(H) / 5 * np.eye(5), -w.J.T @ w.left, np.eye(5), lower, upper)
        assert ok
        cost = [np.sum((w.J @ v - w.left) ** 2) for v in (got.v, x)]
        assert cost[0] <= cost[1] * (1.0 + 1e-7) + 1e-12
        assert (got.v >= lower - 1e-12).all()
        assert (got.v <= upper + 1e-12).all()


def test_limits_are_reached_without_chatter():
    rb = chain(3, limit=0.6, speed=2.0)
    q, signs = np.zeros(3), np.zeros((300, 3))
    pull = rob.Reaching(sc.Position("link3/tip", (-2.0, 0.0, -2.0)), gain=5.0)
    for k in range(300):
        got = rb.velocity([pull, rob.Posture(np.zeros(3), level=1)], q, 0.01)
        q = q + 0.01 * got.v
        signs[k] = np.where(np.abs(got.v) > 1e-6, np.sign(got.v), 0.0)
        assert np.abs(q).max() <= 0.6 + 1e-12
    changes = (np.abs(np.diff(signs, axis=0)) == 2).sum(axis=0)
    assert changes.max() <= 1
    assert np.abs(got.v).max() < 1e-6
    assert np.abs(q).max() > 0.599


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
        rb.velocity([sc.Position("link2/tip", (1, 0, 0))], [0.0, 0.0], 0.1)
    with pytest.raises(StateError, match="the level of a Posture is a whole number"):
        rob.Posture([0.0], level=-1)
    with pytest.raises(StateError, match="needs a positive weight"):
        rob.Posture([0.0], weight=0.0)
    with pytest.raises(StateError, match="rows of a Contact are 'linear' or 'all'"):
        rb.velocity([rob.Contact("link2", "some")], [0.0, 0.0], 0.1)
    closed = rob.Robot(sc.load("five_bar"))
    with pytest.raises(StateError, match="has loops or couplings"):
        closed.velocity([], closed.mb.q, 0.1)
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

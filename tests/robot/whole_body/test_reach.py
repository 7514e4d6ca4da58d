"""Inverse kinematics of the whole robot: found where it can be, honest where not, limits and closures always kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from tests.profiles import tries
from tests.robot.whole_body import drawn

import soacraft as sc
from soacraft import robot as rob
from soacraft.errors import LoopError, StateError
from soacraft.kinematics.rows import Constraints
from soacraft.model.states.ranges import Ranges


def inside(mb, q):
    ranges = Ranges(mb)
    known = ranges.place >= 0
    x = np.asarray(q)[ranges.place[known]]
    return (x >= ranges.lower[known] - 1e-12).all() and (x <= ranges.upper[known] + 1e-12).all()


def squatting():
    rb = rob.Robot(sc.load("h1"))
    mb, q = rb.mb, np.array(rb.mb.q)
    number = {name: i for i, name in enumerate(mb.dof_names)}
    for side in ("left", "right"):
        for name, x in (("hip_pitch", -0.2), ("knee", 0.4), ("ankle", -0.2)):
            q[1 + number[f"{side}_{name}"]] = x
    return rb, q


def test_a_humanoid_squats():
    rb, q = squatting()
    mb = rb.mb
    feet = [rob.Contact(f"{side}_ankle_link", "all") for side in ("left", "right")]
    goal = sc.dynamics.center_of_mass(mb, q) - [0.0, 0.0, 0.1]
    r = rb.reach([*feet, rob.CenterOfMass(goal, level=1), rob.Posture(q, level=2)], q)
    assert r.found
    assert r
    assert r.why == ""
    assert np.allclose(sc.dynamics.center_of_mass(mb, r.q), goal, atol=1e-8)
    for side in ("left", "right"):
        a, b = (mb.pose(f"{side}_ankle_link", state=mb.state(x)) for x in (q, r.q))
        assert np.allclose(a.translation, b.translation, atol=1e-8)
        assert np.allclose(a.rotation, b.rotation, atol=1e-8)
    assert inside(mb, r.q)
    assert repr(r).startswith("reach: found")


def test_a_posture_is_a_preference():
    """A redundant arm: the nearest to its posture of all that have the tip there (a stationary point of the
    distance)."""
    rb = rob.Robot(sc.serial_chain(4))
    mb, goal, want = rb.mb, np.array([2.0, 0.0, -1.5]), np.array([0.1, 0.2, 0.3, 0.4])
    r = rb.reach([rob.Reaching(sc.Position("link4/tip", goal)), rob.Posture(want, level=1)], [0.5, 0.5, 0.2, -0.3])
    assert r.found
    J = np.asarray(sc.dynamics.jacobian(mb, r.q, "link4/tip"))[3:]
    along = np.linalg.svd(J)[2][2:]
    assert np.abs(along @ (want - r.q)).max() < 0.02
    assert np.allclose(mb.pose("link4/tip", state=mb.state(r.q)).translation, goal, atol=1e-7)


def test_what_is_out_of_reach_is_approached_and_told():
    mb = sc.serial_chain(3)
    for body in mb.bodies:
        body.limits = sc.Limits(lower=[-0.3], upper=[0.3])
    rb = rob.Robot(mb)
    r = rb.reach([rob.Reaching(sc.Position("link3/tip", (0.0, 0.0, -3.0)))], np.zeros(3))
    assert not r.found
    assert np.allclose(r.q, 0.3, atol=1e-9)
    assert r.why.startswith("misses link3/tip by ")
    assert r.why.endswith("at limits: link1, link2, link3")
    assert r.residual["link3/tip"] == pytest.approx(
        np.linalg.norm(mb.pose("link3/tip", state=mb.state(r.q)).translation - [0.0, 0.0, -3.0])
    )


def test_lower_levels_come_first_where_higher_ones_cannot_be_met():
    rb, q = squatting()
    feet = [rob.Contact(f"{side}_ankle_link", "all") for side in ("left", "right")]
    high = rob.CenterOfMass(sc.dynamics.center_of_mass(rb.mb, q) + np.array([0.0, 0.0, 0.5]), level=1)
    r = rb.reach([*feet, high], q, steps=60, starts=1)
    assert not r.found
    assert max(r.residual[f"{side}_ankle_link"] for side in ("left", "right")) < 1e-8
    assert "centre of mass by" in r.why


@given(drawn.seeds)
@tries(10)
def test_what_random_arms_can_reach_is_found_and_limits_are_kept(seed):
    """Poses of configurations drawn within the limits, from elsewhere; else `found` is false and `why` tells."""
    rng = np.random.default_rng(seed)
    mb = sc.serial_chain(int(rng.integers(2, 7)))
    for body in mb.bodies:
        body.limits = sc.Limits(lower=[-2.0], upper=[2.0])
    rb, truth = rob.Robot(mb), rng.uniform(-1.8, 1.8, mb.nq)
    tip = mb.bodies[-1].name + "/tip"
    goal = mb.pose(tip, state=mb.state(truth)).translation
    r = rb.reach([rob.Reaching(sc.Position(tip, goal))], rng.uniform(-3.0, 3.0, mb.nq), starts=20)
    assert inside(mb, r.q)
    off = np.linalg.norm(mb.pose(tip, state=mb.state(r.q)).translation - goal)
    assert r.found
    assert off < 1e-7
    again = rb.reach([rob.Reaching(sc.Position(tip, goal))], truth)
    assert again.found
    assert again.tried == 1


@pytest.mark.parametrize("name", ["delta", "five_bar", "cassie"])
def test_closed_chains_end_closed(name):
    rb = rob.Robot(sc.load(name))
    mb = rb.mb
    tip = mb.bodies[-1].name
    here = mb.pose(tip, state=mb.state(mb.q)).translation
    q = np.asarray(sc.inverse_kinematics(mb, {tip: here}, allow_partial=True, starts=3).q)
    rng, goal = np.random.default_rng(1), q
    for _ in range(20):
        swing = rob.Posture(mb.integrate(q, rng.standard_normal(mb.nv)))
        goal = np.asarray(mb.integrate(goal, 0.02 * rb.velocity([swing], goal, 0.01).v))
    goal = rb.reach([rob.Posture(goal)], goal).q
    point = mb.pose(tip, state=mb.state(goal)).translation
    r = rb.reach([rob.Reaching(sc.Position(tip, point)), rob.Posture(q, level=1)], q)
    assert r.found
    assert Constraints(mb, mb.state(r.q)).opening < 1e-6
    assert inside(mb, r.q)


def test_a_distance_is_kept():
    mb = sc.Multibody("slider")
    for i, axis in enumerate(((1, 0, 0), (0, 1, 0))):
        mb.add_body(f"s{i}", parent=None if i == 0 else "s0", hinge=sc.Prismatic(axis), inertia=sc.Inertia(1.0))
    mb["s1"].add_geometry(sc.Geometry("ball", "sphere", (0.1,)))
    rb = rob.Robot(mb)
    world = rob.World(rb)
    world.add("post", sc.contact.Sphere(0.3), sc.Pose(translation=(1.0, 0.0, 0.0)))
    keep = rob.Distance(world, 0.05, within=5.0)
    r = rb.reach([keep, rob.Reaching(sc.Position("s1", (1.0, 0.1, 0.0)))], [0.0, 0.05], steps=60)
    assert not r.found
    assert world.distances(r.q).distance.min() > 0.05 - 1e-6
    assert np.linalg.norm(r.q - [1.0, 0.0]) == pytest.approx(0.45, abs=1e-4)  # the goal is inside the post


def test_what_is_refused():
    rb = rob.Robot(sc.serial_chain(2))
    with pytest.raises(StateError, match="a Momentum is a rate and has no place in reach"):
        rb.reach([rob.Momentum()])
    with pytest.raises(StateError, match="starts is a whole number from 1 on"):
        rb.reach([], starts=0)
    with pytest.raises(StateError, match="steps is a whole number from 1 on"):
        rb.reach([], steps=1.5)
    with pytest.raises(StateError, match="tolerance must be positive"):
        rb.reach([], tolerance=0.0)
    with pytest.raises(StateError, match="reach has one configuration to start from"):
        rb.reach([], np.zeros((3, 2)))
    with pytest.raises(StateError, match="a task is a Posture"):
        rb.reach([3])
    mb = sc.serial_chain(2)
    mb.add_body("far", hinge=sc.Pin((0, 1, 0)), inboard=sc.Pose(translation=(9.0, 0, 0)), inertia=sc.Inertia(1.0))
    mb.close_loop("ring", "link2/tip", "far", sc.Spherical())
    with pytest.raises(LoopError, match="the loops of 'chain' do not close from 2 starts"):
        rob.Robot(mb).reach([rob.Posture(mb.q)], mb.q, starts=2)

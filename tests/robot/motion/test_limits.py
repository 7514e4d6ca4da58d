"""The nearest that motions come to limits: exact for polynomials, against dense samples for effort."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries

import soacraft as sc
from soacraft.errors import StateError
from soacraft.robot import MotionLimits, Robot, Tracker, minimum_jerk, spline, time_optimal


def test_minimum_jerk_has_its_known_peaks():
    """|v| <= 15/8 d/T in the middle; |vdot| <= 10/sqrt(3) d/T^2 at (1 -+ 1/sqrt(3))/2 of the time."""
    rb = Robot(sc.serial_chain(2))
    motion = minimum_jerk(rb, [0.0, 0.0], [1.0, -0.5], 2.0)
    told = motion.check(MotionLimits.of(rb, velocity=1.0, acceleration=2.0))
    assert told
    assert abs(told["velocity"].ratio - 15 / 16) < 1e-12
    assert told["velocity"].dof == "link1"
    assert abs(told["velocity"].time - 1.0) < 1e-7
    assert abs(told["acceleration"].ratio - 10 / np.sqrt(3) / 4 / 2) < 1e-12
    assert told["acceleration"].slack == 0.0
    over = motion.check(MotionLimits.of(rb, velocity={"link2": 0.4}))
    assert not over
    assert over.ratio == pytest.approx(15 / 16 * 0.5 / 0.4, rel=1e-12)
    assert "NOT within limits: velocity 1.17187 of that of link2 at t = 1 s" in repr(over)


def test_loops_that_open_between_knots_are_told():
    """Two hinges of which the second is the square of the first: a straight way from (0, 0) to (1, 1) is off by 1/4 in
    its middle."""
    mb = sc.serial_chain(2)
    mb.couple("square", {"link1": (0.0, 1.0), "link2": -1.0})
    rb = Robot(mb)
    way = minimum_jerk(rb, [0.0, 0.0], [1.0, 1.0], 2.0)
    told = way.check(MotionLimits.of(rb, effort=np.inf, opening=0.5))
    assert told
    assert told["closure"].dof == "square"
    assert told["closure"].ratio == pytest.approx(0.5 + 0.5 * 0.5**2, rel=1e-9)
    assert abs(told["closure"].time - 1.0) < 1e-6
    open_way = way.check(MotionLimits.of(rb, effort=np.inf))
    assert not open_way
    assert "closure 31250.5 of square at t = 1 s" in repr(open_way)
    assert not way.check(MotionLimits.of(rb, effort=np.inf, opening=np.inf)).rows
    with pytest.raises(StateError, match=r"opening= must be positive, got -1\.0\."):
        MotionLimits.of(rb, opening=-1.0)


def test_a_path_of_a_closed_chain_is_closed_the_better_the_denser_it_is():
    """A spline that ends at rest is off its knots' way by the spacing along it, and so off curved loops by its
    square."""
    mb = sc.load("five_bar")
    rb, solver = Robot(mb), sc.loops.TreeAugmented(mb)

    def opening(count):
        q = [np.asarray(solver.assemble(mb.q))]
        for _ in range(24):
            step = np.asarray(solver.velocity_map(q[-1]))[:, 0]
            q.append(np.asarray(solver.assemble(q[-1] + 0.05 * step)))
        path = np.array(q)[:: 24 // (count - 1)]
        told = spline(rb, path, np.linspace(0.0, 1.0, count)).check(MotionLimits.of(rb, effort=np.inf))
        return np.sqrt(2.0 * told["closure"].ratio - 1.0)

    coarse, fine = opening(7), opening(13)
    assert 3.5 < coarse / fine < 4.5


@tries(20)
@given(st.integers(0, 10**6), st.integers(2, 6))
def test_no_sample_is_above_what_is_told_and_one_comes_close(seed, count):
    rng = np.random.default_rng(seed)
    rb = Robot(sc.serial_chain(3))
    t = np.concatenate([[0.0], np.cumsum(rng.uniform(0.2, 1.5, count - 1))])
    motion = spline(rb, rng.normal(size=(count, 3)), t)
    limits = MotionLimits.of(rb, velocity=1.3, acceleration=[1.0, 5.0, 2.0], effort=[30.0, 20.0, 10.0])
    told = motion.check(limits)
    x = motion.at(np.linspace(0.0, motion.duration, 20_001))
    force = np.asarray(sc.dynamics.inverse_dynamics(rb.mb, *x))
    for kind, value in (("velocity", x.v), ("acceleration", x.vdot), ("effort", force)):
        seen = float((np.abs(value) / getattr(limits, kind)).max())
        row = told[kind]
        assert seen <= (row.ratio + row.slack) * (1.0 + 1e-9)
        assert row.ratio <= seen * (1.0 + 1e-3)
        at = motion.at(row.time)
        there = {"velocity": at.v, "acceleration": at.vdot,
                 "effort": sc.dynamics.inverse_dynamics(rb.mb, *at)}[kind]  # fmt: skip
        i = rb.mb.dof_names.index(row.dof)
        assert abs(abs(there[i]) / getattr(limits, kind)[i] - row.ratio) < 1e-6 * (1.0 + row.ratio)


def test_an_overshoot_between_knots_is_seen():
    """A spline leaves the range of its knots: 0, 1, 1, 0 at unit times overshoots 1."""
    mb = sc.serial_chain(1)
    mb.bodies[0].limits = sc.Limits(lower=-1.0, upper=1.0)
    rb = Robot(mb)
    motion = spline(rb, [[0.0], [1.0], [1.0], [0.0]], [0.0, 1.0, 2.0, 3.0])
    top = motion.at(1.5).q[0]  # by symmetry
    told = motion.check()
    assert top > 1.0
    assert not told
    assert abs(told["position"].ratio - top) < 1e-12
    assert abs(told["position"].time - 1.5) < 1e-6
    assert motion.check(MotionLimits.of(rb, position=False)).rows == ()


def test_limits_of_one_side_and_of_balls():
    mb = sc.Multibody("x")
    a = mb.add_body("a", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    b = mb.add_body("b", "a", sc.Spherical(), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    a.limits = sc.Limits(lower=-0.5)
    b.limits = sc.Limits(lower=0.0, upper=1.0)
    rb = Robot(mb)
    turned = [3.0, np.sin(0.6), 0, 0, np.cos(0.6)]
    told = minimum_jerk(rb, [0.0, 0, 0, 0, 1], turned, 1.0).check()
    assert not told
    assert abs(told["position"].ratio - 0.5 * (1 + 1.2**2)) < 1e-9
    assert told["position"].dof == b.hinge_name
    assert minimum_jerk(rb, [-0.4, 0, 0, 0, 1], [3.0, 0, 0, 0, 1], 1.0).check()
    below = minimum_jerk(rb, [-0.4, 0, 0, 0, 1], [-0.6, 0, 0, 0, 1], 1.0).check()
    assert not below
    assert abs(below["position"].ratio - 1.1) < 1e-9


def test_limits_are_read_from_the_model():
    mb = sc.load("panda")
    mb["link1"].limits = sc.Limits(lower=-1, upper=1, velocity=2.0, effort=87.0)
    limits = MotionLimits.of(Robot(mb), acceleration=9.0)
    assert limits.velocity[0] == 2.0
    assert limits.effort[0] == 87.0
    assert np.isinf(limits.velocity[1:]).all()
    assert (limits.acceleration == 9.0).all()
    assert limits.upper[0] == 1.0


def test_what_is_refused():
    rb = Robot(sc.serial_chain(2))
    with pytest.raises(StateError, match=r"velocity: there is no dof 'link3'; did you mean"):
        MotionLimits.of(rb, velocity={"link3": 1.0})
    with pytest.raises(StateError, match=r"limits of effort are a number, 2 numbers or \{dof: number\}"):
        MotionLimits.of(rb, effort=[1.0, 2.0, 3.0])
    with pytest.raises(StateError, match=r"the limit of jerk of dof 'link2' must be positive, got -1"):
        MotionLimits.of(rb, jerk=[1.0, -1.0])
    told = minimum_jerk(rb, [0.0, 0.0], [1.0, 1.0], 1.0).check()
    assert repr(told) == "there are no limits"
    with pytest.raises(StateError, match=r"no limit of 'velocity' was checked"):
        told["velocity"]
    rb.mb.couple("tied", {"link1": 1.0, "link2": -1.0})
    with pytest.raises(StateError, match=r"has loops or couplings, whose efforts are not determined"):
        minimum_jerk(rb, [0.0, 0.0], [1.0, 1.0], 1.0).check(MotionLimits.of(rb, effort=1.0))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_a_dof_without_room_between_its_limits(scale):
    mb = sc.Multibody("held")
    mb.add_body("turn", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0)).limits = sc.Limits(0.3, 0.3)
    at = sc.Pose(translation=(scale, 0.0, 0.0))
    slide = mb.add_body("slide", "turn", sc.Prismatic((1, 0, 0)), sc.Inertia(1.0), inboard=at)
    slide.limits = sc.Limits(0.2 * scale, 0.2 * scale)
    mb.add_body("free", "slide", sc.Pin((0, 0, 1)), sc.Inertia(1.0))
    rb = Robot(mb)
    limits = MotionLimits.of(rb)
    held = minimum_jerk(rb, [0.3, 0.2 * scale, 0.0], [0.3, 0.2 * scale, 1.0], 1.0).check(limits)
    assert held
    assert held["position"].ratio == pytest.approx(1.0, rel=1e-12)
    for end, dof in (([0.4, 0.2 * scale, 1.0], "turn"), ([0.3, 0.1 * scale, 1.0], "slide")):
        told = minimum_jerk(rb, [0.3, 0.2 * scale, 0.0], end, 1.0).check(limits)
        assert not told
        assert told["position"].dof == dof
        assert told["position"].ratio == pytest.approx(1.1, rel=1e-9)


@pytest.mark.parametrize("value", ["abc", [[1, 2], [3]], 1j, {"joint1": "a"}, {"joint1": [1.0, 2.0]}, True, [1.0] * 6])
def test_limits_that_are_no_numbers(value):
    rb = Robot(sc.load("panda"))
    for kind in ("velocity", "acceleration", "jerk", "effort"):
        with pytest.raises(StateError, match=f"limits of {kind} are a number, 7 numbers or"):
            MotionLimits.of(rb, **{kind: value})


def test_limits_are_of_the_robot():
    rb = Robot(sc.serial_chain(2))
    with pytest.raises(StateError, match="limits are of a Robot, got 5"):
        MotionLimits.of(5)
    motion = minimum_jerk(rb, [0.0, 0.0], [1.0, -0.5], 2.0)
    for limits in ("abc", 5, MotionLimits.of(Robot(sc.serial_chain(3)), velocity=1.0)):
        for call in (motion.check, lambda x: time_optimal(rb, motion, x), lambda x: Tracker(rb, 0.01, x)):
            with pytest.raises(StateError, match=r"limits= of '.*' are a MotionLimits.of\(robot\) of its 2 dofs"):
                call(limits)

"""Motions against differences, scipy's own splines, closed forms, and what is refused."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline, make_interp_spline
from tests.profiles import tries

import soacraft as sc
from soacraft.errors import StaleError, StateError
from soacraft.robot import Robot, minimum_jerk, polyline, spline

HINGES = [
    sc.Pin((0, 0, 1)),
    sc.Prismatic((1, 0, 0)),
    sc.Spherical(),
    sc.Free(),
    sc.Universal((1, 0, 0), (0, 1, 0)),
    sc.Cylindrical((0, 1, 0)),
]


def tree(kinds):
    """A chain of links by these hinges."""
    mb = sc.Multibody("tree")
    for i, k in enumerate(kinds):
        inboard = sc.Pose(translation=(0.5 * (i > 0), 0.1, 0.0))
        mb.add_body(
            f"b{i}",
            None if i == 0 else f"b{i - 1}",
            HINGES[k],
            sc.Inertia(1.0, (0.1, 0, 0), 0.1 * np.eye(3)),
            inboard=inboard,
        )
    return Robot(mb)


def drawn(mb, rng, count, size=0.7):
    q = [np.array(mb.q)]
    for _ in range(count - 1):
        q.append(np.asarray(mb.integrate(q[-1], size * rng.normal(size=mb.nv))))
    return np.array(q)


def differences_agree(motion, t):
    """q, v, vdot are derivatives of each other, by differences of order six."""
    mb, h = motion.robot.mb, 2e-4 * motion.duration
    at = motion.at(t)
    v = vdot = 0.0
    for i, w in ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60)):
        after, before = motion.at(t + i * h), motion.at(t - i * h)
        v = v + w * (mb.difference(at.q, after.q) - mb.difference(at.q, before.q)) / h
        vdot = vdot + w * (after.v - before.v) / h
    # u = log(q(t)^-1 q(t + h)) has u' = v and u''' of its own, which the weights cancel to h^6
    assert np.abs(v - at.v).max() <= 1e-7 * (1.0 + np.abs(at.v).max())
    assert np.abs(vdot - at.vdot).max() <= 1e-7 * (1.0 + np.abs(at.vdot).max())


@tries(25)
@given(st.lists(st.integers(0, len(HINGES) - 1), min_size=1, max_size=4), st.integers(0, 10**6), st.integers(0, 3))
def test_velocities_are_derivatives_on_every_hinge(kinds, seed, maker):
    rb, rng = tree(kinds), np.random.default_rng(seed)
    q = drawn(rb.mb, rng, 4)
    times = np.array([0.0, 0.7, 1.9, 2.5])
    motion = (
        lambda: spline(rb, q, times),
        lambda: spline(rb, q, times, degree=5),
        lambda: polyline(rb, q, 2.5, blend=0.3),
        lambda: minimum_jerk(rb, q[0], q[1:], [0.7, 1.2, 0.6]),
    )[maker]()
    k = motion.knots
    inside = np.concatenate([a + (b - a) * np.array([0.3, 0.6]) for a, b in pairwise(k)])
    differences_agree(motion, inside)
    ends = motion.at([0.0, motion.duration])
    assert np.abs(rb.mb.difference(ends.q, q[[0, -1]])).max() < 1e-12
    assert np.abs(ends.v).max() < 1e-9
    # v and vdot are continuous at the knots
    before, after = motion.at(k[1:-1] - 1e-10), motion.at(k[1:-1] + 1e-10)
    assert np.abs(before.v - after.v).max(initial=0.0) < 1e-6
    assert np.abs(before.vdot - after.vdot).max(initial=0.0) < 1e-4 * (1.0 + np.abs(after.vdot).max(initial=0.0))
    if maker < 2:
        assert np.abs(rb.mb.difference(motion.at(times).q, q)).max() < 1e-12


@pytest.mark.parametrize("degree", [3, 5])
def test_coordinates_are_the_splines_of_scipy(degree):
    rb = Robot(sc.serial_chain(3))
    rng = np.random.default_rng(0)
    q, t = rng.normal(size=(5, 3)), np.array([0.0, 0.4, 1.0, 1.3, 2.0])
    v0, v1 = rng.normal(size=(2, 3))
    if degree == 3:
        peer = CubicSpline(t, q, bc_type=((1, v0), (1, v1)))
    else:
        peer = make_interp_spline(t, q, k=5, bc_type=([(1, v0), (2, np.zeros(3))], [(1, v1), (2, np.zeros(3))]))
    motion = spline(rb, q, t, degree=degree, start=v0, end=v1)
    x = np.linspace(0.0, 2.0, 101)
    at = motion.at(x)
    for i, mine in enumerate((at.q, at.v, at.vdot)):
        assert np.abs(mine - peer(x, i)).max() < 1e-9 * (1.0 + np.abs(mine).max())
    natural = spline(rb, q, t, natural=True).at([0.0, 2.0])
    assert np.abs(natural.vdot).max() < 1e-9


def test_a_rotation_about_one_axis_is_the_spline_of_its_angle():
    """Through rotations about one axis a spherical hinge does what a pin does."""
    ball, pin = tree([2]), tree([0])
    angle, t = np.array([0.0, 1.0, 2.5, 4.5, 5.0]), np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    q = np.stack([np.zeros(5), np.zeros(5), np.sin(angle / 2), np.cos(angle / 2)], axis=1)
    x = np.linspace(0.0, 4.0, 33)
    mine, theirs = spline(ball, q, t).at(x), spline(pin, angle[:, None], t).at(x)
    assert np.abs(mine.v - np.pad(theirs.v, ((0, 0), (2, 0)))).max() < 1e-12
    assert np.abs(mine.vdot - np.pad(theirs.vdot, ((0, 0), (2, 0)))).max() < 1e-11


def test_minimum_jerk_has_its_closed_form():
    rb = Robot(sc.serial_chain(2))
    d, T = np.array([0.8, -1.5]), 1.7
    t = np.linspace(0.0, T, 13)
    r = (t / T)[:, None]
    at = minimum_jerk(rb, np.zeros(2), d, T).at(t)
    assert np.abs(at.q - d * (10 * r**3 - 15 * r**4 + 6 * r**5)).max() < 1e-14
    assert np.abs(at.v - d * (30 * r**2 - 60 * r**3 + 30 * r**4) / T).max() < 1e-13
    assert np.abs(at.vdot - d * (60 * r - 180 * r**2 + 120 * r**3) / T**2).max() < 1e-12


def test_a_rest_of_minimum_jerk_goes_along_edges():
    """Between two configurations q is integrate(q0, s dv): the motion that `World.edge` judges."""
    rb, rng = tree([3, 2, 0]), np.random.default_rng(1)
    q = drawn(rb.mb, rng, 3, 1.0)
    motion = minimum_jerk(rb, q[0], q[1:], 3.0)
    assert np.abs(motion.at(motion.knots).v).max() < 1e-12
    for t in rng.uniform(0.0, 3.0, 20):
        k = int(np.searchsorted(motion.knots, t)) - 1
        dv = np.asarray(rb.mb.difference(q[k], q[k + 1]))
        gone = np.asarray(rb.mb.difference(q[k], motion.at(t).q))
        s = float(gone @ dv / (dv @ dv))
        assert np.abs(gone - s * dv).max() < 1e-12


def test_corners_stay_in_the_triangle_of_their_blend():
    rb = Robot(sc.serial_chain(2))
    q = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]])
    motion = polyline(rb, q, 3.0, blend=0.25)
    x = motion.at(np.linspace(0.0, 3.0, 400)).q
    straight = (np.abs(x[:, 1]) < 1e-12) | (np.abs(x[:, 0] - 1.0) < 1e-12)
    inside = (x[:, 0] >= 0.75 - 1e-9) & (x[:, 1] <= 0.5 + 1e-9)
    assert (straight | inside).all()
    assert (~straight).any()


def test_slower_is_the_same_way_in_more_time():
    rb, rng = tree([2, 0]), np.random.default_rng(2)
    motion = spline(rb, drawn(rb.mb, rng, 3), [0.0, 1.0, 2.0])
    slow, t = motion.slower(2.5), np.linspace(0.0, 2.0, 9)
    a, b = motion.at(t), slow.at(2.5 * t)
    assert slow.duration == 5.0
    assert np.abs(rb.mb.difference(a.q, b.q)).max() < 1e-12
    assert np.abs(a.v - 2.5 * b.v).max() < 1e-12
    assert np.abs(a.vdot - 6.25 * b.vdot).max() < 1e-11


def test_motions_are_alike_in_other_units():
    """A slide ten times as long, in a model ten times as large, is passed at the same times."""
    made = []
    for scale in (1.0, 10.0):
        mb = sc.Multibody("slide")
        mb.add_body("a", hinge=sc.Prismatic((1, 0, 0)), inertia=sc.Inertia(1.0))
        mb.add_body("b", "a", sc.Pin((0, 0, 1)), sc.Inertia(1.0), inboard=sc.Pose(translation=(scale, 0, 0)))
        q = np.array([[0.0, 0.0], [0.5 * scale, 0.3], [0.6 * scale, 2.0]])
        made.append(polyline(Robot(mb), q, 2.0, blend=0.2).at(np.linspace(0.0, 2.0, 21)).q)
    assert np.abs(made[1] - made[0] * [10.0, 1.0]).max() < 1e-12


def test_what_is_refused():
    rb = Robot(sc.serial_chain(2))
    q = [[0.0, 0.0], [1.0, 1.0]]
    motion = minimum_jerk(rb, *q, 1.0)
    with pytest.raises(StateError, match=r"t = 1.5 s is outside the motion, which goes from 0 to 1 s; clip it"):
        motion.at([0.5, 1.5])
    with pytest.raises(StateError, match=r"duration is a positive number, or one for each of 1 ways"):
        minimum_jerk(rb, *q, -1.0)
    with pytest.raises(StateError, match=r"follow each other are the same: leave one out"):
        minimum_jerk(rb, q[0], [q[0], q[1]], 1.0)
    with pytest.raises(StateError, match=r"times must be at least two numbers that increase"):
        spline(rb, q, [0.0, 0.0])
    with pytest.raises(StateError, match=r"one configuration for each of 3 times"):
        spline(rb, q, [0.0, 1.0, 2.0])
    with pytest.raises(StateError, match=r"times begin with 0, got 1"):
        spline(rb, q, [1.0, 2.0])
    with pytest.raises(StateError, match=r"degree is 3 or 5, got 4"):
        spline(rb, q, [0.0, 1.0], degree=4)
    with pytest.raises(StateError, match=r"natural=True is for a cubic"):
        spline(rb, q, [0.0, 1.0], natural=True, start=[1.0, 0.0])
    with pytest.raises(StateError, match=r"blend is between 0 and 0.5, got 0.7"):
        polyline(rb, q, 1.0, blend=0.7)
    with pytest.raises(StateError, match=r"at least two configurations"):
        polyline(rb, q[:1], 1.0)
    with pytest.raises(StateError, match=r"duration is a positive number, got 0.0"):
        polyline(rb, [*q, [2.0, 0.0]], 0.0, blend=0.1)
    with pytest.raises(StateError, match=r"a motion is of a Robot"):
        minimum_jerk(rb.mb, *q, 1.0)
    with pytest.raises(StateError, match=r"factor must be positive"):
        motion.slower(0.0)
    rolling = sc.Multibody("rolling")
    rolling.add_body("ball", hinge=sc.RollingBall(0.1), inertia=sc.Inertia(1.0))
    with pytest.raises(StateError, match="nonholonomic"):
        minimum_jerk(Robot(rolling), rolling.q, rolling.q, 1.0)
    rb.mb.add_body("more", "link2", sc.Pin((0, 0, 1)), sc.Inertia(1.0))
    with pytest.raises(StaleError, match="before it changed: make it again"):
        motion.at(0.5)


def test_configurations_and_times_of_any_kind():
    rb = Robot(sc.serial_chain(2))
    q = np.zeros(2)
    for start, end in ((np.zeros((0, 2)), q), (np.zeros((1, 2)), q), (q, np.zeros((0, 2))), (q, np.zeros((1, 1, 2)))):
        with pytest.raises(StateError, match="a motion goes from one configuration to one or several"):
            minimum_jerk(rb, start, end, 1.0)
    for wrong in ("abc", [[1, 2], [3]], {"a": 1}, 1j, 10**400):
        with pytest.raises(StateError, match="duration"):
            minimum_jerk(rb, q, q + 1.0, wrong)
        with pytest.raises(StateError, match="times"):
            spline(rb, [q, q + 1.0], wrong)
        with pytest.raises(StateError, match="t must be"):
            minimum_jerk(rb, q, q + 1.0, 1.0).at(wrong)

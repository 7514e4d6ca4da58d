"""Time-optimal motions: closed forms, limits kept at many times the resolution of the grid, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries

import soacraft as sc
from soacraft.errors import StateError
from soacraft.robot import MotionLimits, Robot, minimum_jerk, spline, time_optimal
from soacraft.robot.motion.fastest import _grid


def cart(mass=2.0, damping=0.0):
    """A mass on a rail that is level."""
    mb = sc.Multibody("cart")
    body = mb.add_body("cart", hinge=sc.Prismatic((1, 0, 0)), inertia=sc.Inertia(mass))
    body.passive = sc.Passive(damping=damping)
    return Robot(mb)


def broken(motion, limits, times=20_001):
    """The largest ratios of velocity, acceleration and effort to their limits, by plain samples."""
    x = motion.at(np.linspace(0.0, motion.duration, times))
    force = np.asarray(sc.dynamics.inverse_dynamics(motion.robot.mb, *x))
    pairs = ((x.v, limits.velocity), (x.vdot, limits.acceleration), (force, limits.effort))
    return max(float((np.abs(a) / b).max()) for a, b in pairs)


def test_bang_bang_of_a_mass():
    """With |F| <= L a mass m goes over d in 2 sqrt(m d / L); with a limit of velocity V in d/V + m V/L."""
    rb = cart(2.0)
    fast = time_optimal(rb, [[0.0], [3.0]], MotionLimits.of(rb, effort=4.0))
    assert fast.duration == pytest.approx(2.0 * np.sqrt(2.0 * 3.0 / 4.0), rel=1e-5)
    capped = time_optimal(rb, [[0.0], [3.0]], MotionLimits.of(rb, effort=4.0, velocity=1.5))
    assert capped.duration == pytest.approx(3.0 / 1.5 + 2.0 * 1.5 / 4.0, rel=1e-4)


def test_the_same_in_other_units():
    """Millimetres and tonnes give the same times."""
    times = []
    for length, mass in ((1.0, 1.0), (1000.0, 1e-3)):
        rb = cart(2.0 * mass)
        force = 4.0 * mass * length
        motion = time_optimal(rb, [[0.0], [3.0 * length]], MotionLimits.of(rb, effort=force, velocity=1.5 * length))
        times.append(motion.duration)
    assert times[1] == pytest.approx(times[0], rel=1e-6)


def test_a_damper_takes_its_part_of_the_force():
    """m vdot = F - c v, from rest over d: with F full and then full reversed, by its closed form."""
    m, c, L, d = 1.0, 0.8, 2.0, 1.0
    rb = cart(m, c)
    limits = MotionLimits.of(rb, effort=L)
    motion = time_optimal(rb, [[0.0], [d]], limits)

    def end(switch):
        """Where the cart rests when the force is reversed after `switch` seconds."""
        V, tau = L / c, m / c
        v = V * (1.0 - np.exp(-switch / tau))
        x = V * (switch - tau * (1.0 - np.exp(-switch / tau)))
        t = tau * np.log(1.0 + v / V)
        return x + (v + V) * tau * (1.0 - np.exp(-t / tau)) - V * t, switch + t

    low, high = 0.0, 5.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if end(middle)[0] < d else (low, middle)
    assert motion.duration == pytest.approx(end(low)[1], rel=5e-3)
    assert motion.duration >= end(low)[1] * (1.0 - 1e-9)
    assert broken(motion, limits) <= 1.0 + 1e-9


@tries(6)
@given(st.integers(0, 10**6), st.sampled_from(["corners", "rounded", "spline"]))
def test_limits_are_kept_at_many_times_the_resolution(seed, kind):
    rng = np.random.default_rng(seed)
    rb = Robot(sc.load("panda"))
    limits = MotionLimits.of(rb, velocity=2.2, acceleration=15.0, effort=[87, 87, 87, 87, 12, 12, 12])
    low, high = limits.lower, limits.upper
    q = rng.uniform(0.7 * low + 0.3 * high, 0.3 * low + 0.7 * high, (3, 7))
    path = spline(rb, q, [0.0, 1.0, 2.0]) if kind == "spline" else q
    motion = time_optimal(rb, path, limits, blend=0.0 if kind == "corners" else 0.2)
    assert broken(motion, limits, 10 * len(motion.knots)) <= 1.0 + 1e-9
    assert motion.check(limits)
    assert motion.check(limits).ratio > 0.99  # the fastest: something is at its limit
    ends = motion.at([0.0, motion.duration])
    assert np.abs(ends.q - q[[0, -1]]).max() < 1e-9
    assert np.abs(ends.v).max() < 1e-3
    # on the path: each configuration is one of the curve's
    s = np.asarray(motion.law(np.linspace(0.0, motion.duration, 50)))
    assert (np.diff(s) >= -1e-9).all()


def test_hinges_with_quaternions():
    mb = sc.Multibody("ball")
    mb.add_body("ball", hinge=sc.Spherical(), inertia=sc.Inertia(1.0, (0, 0, 0), np.diag([1.0, 2.0, 2.5])))
    rb, rng = Robot(mb), np.random.default_rng(3)
    q = [np.array(mb.q)]
    for _ in range(3):
        q.append(np.asarray(mb.integrate(q[-1], rng.normal(size=3))))
    limits = MotionLimits.of(rb, velocity=2.0, effort=3.0)
    motion = time_optimal(rb, spline(rb, np.array(q), [0, 1, 2, 3]), limits)
    assert broken(motion, limits) <= 1.0 + 1e-9
    assert motion.check(limits).ratio > 0.95


def test_what_is_held_counts():
    """A weight in the hand makes the same way slower."""
    mb = sc.load("panda")
    mb.add_body("load", hinge=sc.Free(), inertia=sc.Inertia.sphere(3.0, 0.05))
    rb = Robot(mb)
    q = np.array(mb.q)
    q[:7] = [0.0, -0.3, 0.0, -1.8, 0.0, 1.6, 0.0]
    mb.set_state(q)
    q[11:14] = mb.pose("link7").translation
    mb.set_state(q)
    rb.attach("load", "link7")
    a, b = np.array(mb.q), np.array(mb.q)
    b[1] += 1.0
    limits = MotionLimits.of(rb, effort=[87, 87, 87, 87, 12, 12, 12], velocity=3.0)
    heavy = time_optimal(rb, [a, b], limits)
    assert broken(heavy, limits) <= 1.0 + 1e-9
    light = Robot(sc.load("panda"))
    lim = MotionLimits.of(light, effort=[87, 87, 87, 87, 12, 12, 12], velocity=3.0)
    assert heavy.duration > time_optimal(light, [a[:7], b[:7]], lim).duration * 1.01


def test_what_is_refused():
    rb = Robot(sc.serial_chain(2))
    q = [[0.0, 0.0], [1.0, 1.0]]
    with pytest.raises(StateError, match=r"nothing limits the motion: give limits of velocity"):
        time_optimal(rb, q)
    with pytest.raises(
        StateError, match=r"dof 'link1' would need .* to hold still at the beginning of the path, and its"
    ):
        time_optimal(rb, q, MotionLimits.of(rb, effort=1e-3))
    with pytest.raises(StateError, match=r"follow each other are the same"):
        time_optimal(rb, [q[0], q[0]], MotionLimits.of(rb, velocity=1.0))
    with pytest.raises(StateError, match=r"a path has at least two configurations"):
        time_optimal(rb, q[:1], MotionLimits.of(rb, velocity=1.0))
    with pytest.raises(StateError, match=r"path is a Motion of another robot"):
        time_optimal(Robot(sc.serial_chain(2)), minimum_jerk(rb, *q, 1.0), MotionLimits.of(rb, velocity=1.0))
    with pytest.raises(StateError, match=r"blend is between 0 and 0.5"):
        time_optimal(rb, q, MotionLimits.of(rb, velocity=1.0), blend=1.0)
    rb.mb["link1"].limits = sc.Limits(lower=-0.5, upper=0.5)
    with pytest.raises(StateError, match=r"the path leaves the limits of position of 'link1'"):
        time_optimal(rb, q, MotionLimits.of(rb, velocity=1.0))
    rb.mb.couple("tied", {"link1": 1.0, "link2": -1.0})
    with pytest.raises(StateError, match=r"has loops or couplings"):
        time_optimal(rb, q, MotionLimits.of(rb, effort=100.0))


def test_points_of_a_part_have_its_knots_and_none_beside_them():
    """Whatever rounding does to its ends: 0.7 - 0.1 + 0.1 is beyond 0.7 in some knots."""
    rng = np.random.default_rng(0)
    beyond = 0
    for _ in range(100):
        knots = np.sort(rng.uniform(0.0, 3.0, rng.integers(2, 5)))
        beyond += knots[0] + (knots[-1] - knots[0]) > knots[-1]
        s = _grid(knots, 40)
        assert np.isin(knots, s).all()
        assert (s[0], s[-1]) == (knots[0], knots[-1])
        assert (np.diff(s) > 0.0).all()
        apart = np.diff(s)[~np.isin(s[:-1], knots) | ~np.isin(s[1:], knots)]  # knots may be close to each other
        assert apart.min() > 0.2 * np.diff(_grid(knots[[0, -1]], 40)).min()
    assert beyond > 0

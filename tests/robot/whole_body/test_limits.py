"""Speeds that keep limits: braking distances in steps, by closed form and by driving on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.profiles import tries

import soacraft as sc
from soacraft import robot as rob
from soacraft.robot.whole_body.limits import SpeedLimits, ball_rows, braking_speed, speed_limits, speed_range

positive = st.floats(1e-3, 1e3)


@given(st.floats(0.0, 1e3), positive, st.floats(1e-4, 1.0))
@tries(200)
def test_the_braking_speed_just_stops(room, a, dt):
    """Braking by a dt in every step from then on travels exactly the room."""
    v = float(braking_speed(np.array([room]), np.array([a]), dt)[0])
    assume(v / (a * dt) < 1e5)
    n = int(np.ceil(v / (a * dt))) + 1
    travelled = dt * np.sum(np.maximum(v - a * dt * np.arange(n), 0.0))
    assert travelled == pytest.approx(room, rel=1e-6, abs=1e-12)


def test_for_short_steps_it_is_the_formula_of_physics():
    """v^2 = 2 a s"""
    assert braking_speed(np.array([2.0]), np.array([9.0]), 1e-6)[0] == pytest.approx(6.0, rel=1e-5)
    assert braking_speed(np.array([2.0]), np.array([np.inf]), 0.1)[0] == 20.0
    assert braking_speed(np.array([2.0]), np.array([0.0]), 0.1)[0] == 0.0


def limits(lower, upper, fastest=np.inf):
    return SpeedLimits(np.array([0]), np.array([lower]), np.array([upper]), np.array([fastest]), [])


def at(x, lower=-1.0, upper=1.0, fastest=np.inf, a=None, before=0.0, dt=0.1):
    a = None if a is None else np.array([a])
    low, high = speed_range(limits(lower, upper, fastest), np.array([x]), dt, a, np.array([before]))
    return float(low[0]), float(high[0])


def test_ranges_inside_and_outside():
    assert at(0.5) == (pytest.approx(-15.0), pytest.approx(5.0))
    assert at(0.5, fastest=2.0) == (-2.0, 2.0)
    assert at(1.5, fastest=2.0) == (-2.0, -2.0)  # outside: back at full speed
    assert at(1.05, fastest=2.0) == (-2.0, pytest.approx(-0.5))
    assert at(-1.5, fastest=2.0) == (2.0, 2.0)
    assert at(0.0, lower=-np.inf, upper=np.inf) == (-np.inf, np.inf)


def test_accelerations_are_kept_where_they_can_be():
    assert at(0.0, a=2.0, before=0.3) == (pytest.approx(0.1), pytest.approx(0.5))
    # too fast for the room that is left: braking as hard as it can, but not through the limit
    assert at(0.9, a=1.0, before=2.0) == (pytest.approx(1.0), pytest.approx(1.0))
    assert at(0.0, a=1.0, before=5.0) == (pytest.approx(4.9), pytest.approx(4.9))
    assert at(-0.9, a=1.0, before=-2.0) == (pytest.approx(-1.0), pytest.approx(-1.0))
    # outside: back, speeding up by a
    assert at(1.5, a=1.0, before=0.0) == (pytest.approx(-0.1), pytest.approx(-0.1))


@given(st.floats(-3.0, 3.0), st.floats(-5.0, 5.0), st.floats(0.05, 50.0), st.integers(0, 2**32 - 1))
@tries(40)
def test_whoever_drives_stays_within(x, v, a, seed):
    """Any velocity of the range, step after step: once inside it stays inside, and the range is never empty."""
    rng, dt, inside = np.random.default_rng(seed), 0.05, False
    for _ in range(200):
        low, high = at(x, fastest=2.0, a=a, before=v, dt=dt)
        assert low <= high
        if inside:  # nothing brakes harder than it can
            assert high >= v - a * dt * (1.0 + 1e-9)
            assert low <= v + a * dt * (1.0 + 1e-9)
        v = low if rng.random() < 0.4 else high if rng.random() < 0.7 else rng.uniform(low, high)
        x = x + dt * v
        if inside:
            assert -1.0 - 1e-9 <= x <= 1.0 + 1e-9
        inside = inside or (-1.0 <= x <= 1.0 and abs(v) <= 1e-3)


def test_compiled_bounds_are_these():
    """A posture far away: every dof goes as fast as it may."""
    rng = np.random.default_rng(0)
    mb = sc.serial_chain(8)
    for body in mb.bodies:
        lower = -rng.uniform(0.0, 2.0, 1)
        body.limits = sc.Limits(lower=lower, upper=lower + rng.uniform(0.0, 3.0, 1), velocity=rng.uniform(0.5, 3.0, 1))
    rb, kept = rob.Robot(mb), speed_limits(mb)
    for _ in range(200):
        q, v, a = rng.uniform(-2.5, 2.5, 8), 2.0 * rng.standard_normal(8), rng.uniform(0.1, 100.0, 8)
        a[rng.random(8) < 0.1] = 0.0  # some keep their speed
        side = rng.choice([-1.0, 1.0], 8)
        low, high = speed_range(kept, q, 0.02, a, v)
        got = rb.velocity([rob.Posture(q + 1e3 * side, gain=10.0)], q, 0.02, v=v, acceleration=a).v
        assert np.allclose(got, np.where(side > 0.0, high, low), rtol=1e-12, atol=1e-12)


def test_what_cannot_brake_does_not_go_through_a_limit():
    """Without any acceleration a dof keeps its speed, but for the last step."""
    mb = sc.serial_chain(1)
    mb.bodies[0].limits = sc.Limits(lower=[-1.0], upper=[1.0], velocity=[3.0])
    rb, far = rob.Robot(mb), rob.Posture([5.0], gain=10.0)
    kept, last = (rb.velocity([far], [q], 0.1, v=[2.0], acceleration=0.0).v[0] for q in (0.5, 0.9))
    assert kept == 2.0
    assert last == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("dt", [0.01, 0.5])
def test_rows_of_two_balls_bring_each_to_its_largest_angle_in_a_step(dt):
    """Of one that is turned, along its turn; of one that is not, a cube of velocities whose corners just get there."""
    mb = sc.Multibody("balls")
    for name, largest in (("a", 0.8), ("b", 0.5)):
        mb.add_body(name, None, sc.Spherical(), sc.Inertia(1.0)).limits = sc.Limits(upper=[largest] * 3)
    axis = np.array([2.0, -1.0, 2.0]) / 3.0
    turned = mb.integrate(mb.q, np.concatenate([np.zeros(3), 0.3 * axis]))
    limits = speed_limits(mb)
    C, least = ball_rows(limits, turned, dt)
    assert C.shape == (7, 6)
    corner = -least[:3] * np.array([1.0, -1.0, 1.0])
    along = -least[6] * axis
    v = np.concatenate([corner, along])
    assert (C @ v >= least - 1e-9 / dt).all()
    after = mb.integrate(turned, dt * v)
    angles = [np.linalg.norm(ball.rotation(after)) for ball in limits.balls]
    assert angles == pytest.approx([0.8, 0.5])

"""The exact contact cases: to 1e-6, or to the error of the step, which halves with it; thresholds from both sides.

What is exact in every step is in `test_stepping.py`, impacts located as events are in `tests/sim/test_impacts.py`.
"""

import numpy as np
import pytest
from tests.contact.scenes import G, box, free, ground, run, sphere
from tests.contact.test_spin_and_roll import wheel

import soacraft as sc

SLOPE = np.pi / 6
#: How near to a threshold it is told apart.
NEAR = 1e-6


@pytest.mark.parametrize("side", [1.0 - NEAR, 1.0 + NEAR])
def test_a_box_sticks_from_the_tangent_of_the_slope_on(side):
    """mu >= .5773502692 sticks: it does not move at all; below it slides at g (sin - mu cos)."""
    mu = 0.5773502691896258 * side
    mb = ground(SLOPE)
    box(mb)
    run(mb, free(0, 0, 0.1), np.zeros(6), 0.1, 0.01, friction=mu)
    expected = 0.1 * max(G * (np.sin(SLOPE) - mu * np.cos(SLOPE)), 0.0)
    assert mb.v[3] == pytest.approx(expected, abs=1e-9)
    assert (mb.v[3] > 1e-7) == (side < 1.0)


def test_a_box_on_an_incline_does_not_creep():
    """For a second on a slope on which it sticks: the way is less than 1e-9 m, in all directions, turned or not."""
    mb = ground(SLOPE)
    box(mb)
    turned = [0.0, 0.0, np.sin(0.4), np.cos(0.4), 0.0, 0.0, 0.1]
    r, _ = run(mb, turned, np.zeros(6), 1.0, 0.005, friction=0.7)
    assert np.abs(r.q - r.q[0]).max() < 1e-9
    assert np.abs(r.v).max() < 1e-9


@pytest.mark.parametrize("side", [1.0 - NEAR, 1.0 + NEAR])
def test_a_sphere_rolls_from_two_sevenths_of_the_tangent_on(side):
    """mu >= .1649572198 rolls, at 3.5035714286 m/s^2; below it slips by g (sin - 7/2 mu cos). In a plane, where every
    step is exact."""
    R, mass = 0.1, 2.0
    mu = 2 / 7 * np.tan(SLOPE) * side
    assert mu / side == pytest.approx(0.1649572198, abs=1e-10)
    mb = wheel(SLOPE, R, mass, 0.4 * mass * R**2)
    _, touch = run(mb, [0, R, 0], np.zeros(3), 0.1, 0.005, friction=mu)
    slip = 0.1 * max(G * (np.sin(SLOPE) - 3.5 * mu * np.cos(SLOPE)), 0.0)
    assert mb.v[0] - R * mb.v[2] == pytest.approx(slip, abs=1e-10)
    assert mb.v[0] == pytest.approx(0.1 * 3.5035714286, rel=2 * NEAR)
    assert touch.steps[-1].state == (("slip",) if side < 1.0 else ("stick",))


def test_a_free_sphere_slips_below_the_threshold():
    """The same of a body with six dofs, a little below: its slip, to the error of the step."""
    mu = 0.97 * 2 / 7 * np.tan(SLOPE)

    def error(step):
        mb = ground(SLOPE)
        sphere(mb)
        run(mb, free(0, 0, 0.1), np.zeros(6), 0.1, step, friction=mu)
        speeds = np.asarray(sc.dynamics.velocities(mb, mb.q, mb.v))[0]
        return abs(speeds[3] - 0.1 * speeds[1] - 0.1 * 0.03 * G * np.sin(SLOPE))

    assert halved(error, 0.01)[2] < 5e-4


@pytest.mark.parametrize("side", [0.999, 1.001])
def test_a_tall_box_tips_beyond_its_edge(side):
    """Base .2, height 1: it tips where the slope is steeper than .2, and else does not turn at all."""
    mb = ground(np.arctan(0.2 * side))
    box(mb, size=(0.2, 0.2, 1.0))
    run(mb, free(0, 0, 0.5), np.zeros(6), 0.1, 0.01, friction=1.0)
    if side < 1.0:
        assert np.abs(mb.v).max() < 1e-9
    else:  # about its lower edge, at r: I w' = m g (h/2 sin - b/2 cos) + m g r (the angle so far), I = m (b^2 + h^2)/3
        angle, inertia, r = np.arctan(0.2 * side), (0.2**2 + 1.0) / 3, np.hypot(0.1, 0.5)
        rate = np.sqrt(G * r / inertia)
        spin = G * (0.5 * np.sin(angle) - 0.1 * np.cos(angle)) / inertia * np.sinh(0.1 * rate) / rate
        assert mb.v[1] == pytest.approx(spin, rel=5e-3)


def halved(error, step):
    """The errors at a step and at half and a quarter of it: of first order, so that the last is at most some three
    eighths of the first, whatever part of a step the instant falls on."""
    errors = [error(step), error(step / 2), error(step / 4)]
    assert errors[0] > 0.0
    assert errors[2] <= 0.375 * errors[0]
    return errors


def test_where_a_block_stops():
    """At 3 m/s with mu = 0.3 it stops after 1.5290519878 m; friction is constant, so only the last step errs."""

    def error(step):
        mb = ground()
        box(mb)
        run(mb, free(0, 0, 0.1), [0, 0, 0, 3.0, 0, 0], 1.08, step, friction=0.3)
        assert np.abs(mb.v).max() < 1e-9
        return abs(mb.q[4] - 1.5290519878)

    assert halved(error, 0.03)[2] < 1e-4


def test_when_a_ball_has_come_to_rest():
    """From 1 m, e = .5, hops without end: at rest from 1.3545709230 s on."""

    def error(step):
        mb = ground()
        sphere(mb)
        r, _ = run(mb, free(0, 0, 1.1), np.zeros(6), 1.5, step, restitution=0.5)
        return abs(r.t[np.flatnonzero(np.abs(r.v[:, 5]) > 1e-9)[-1]] - 1.3545709230)

    assert halved(error, 0.002)[2] < 0.01


def test_when_and_where_a_sliding_sphere_begins_to_roll():
    """Launched at 5 m/s with mu = .3: from .4854133295 s and 2.0803428405 m on it goes at 25/7 m/s."""

    def error(step):
        mb = ground()
        sphere(mb)
        run(mb, free(0, 0, 0.1), [0, 0, 0, 5.0, 0, 0], 0.6, step, friction=0.3)
        place, speeds = mb.q[4], np.asarray(sc.dynamics.velocities(mb, mb.q, mb.v))[0]
        np.testing.assert_allclose([speeds[3], 0.1 * speeds[1]], 25 / 7, atol=25 * step**2)
        return abs(place - 2.0803428405 - 25 / 7 * (0.6 - 0.4854133295))

    assert halved(error, 0.01)[2] < 0.02

"""Compliant contact: the law of Hunt and Crossley by itself, and a bounce against an equation of one dof."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.contact.scenes import G, box, free, ground, sphere

import soacraft as sc


def bound(mb, **numbers):
    soft = sc.sim.CompliantContact(**numbers)
    soft.bind(mb)
    return soft


def test_the_force_of_a_ball():
    """Normal, damping and friction at one state, with spinning in the same root; nothing apart, and no pull."""
    k, c, mu, s, spin = 2e5, 0.3, 0.4, 0.05, 0.01
    mb = ground()
    sphere(mb)
    soft = bound(mb, stiffness=k, damping=c, friction=(mu, spin), slip=s)
    d, down, slide, w = 1e-3, 0.5, 0.2, 3.0
    N = k * d**1.5 * (1 + c * down)
    root = np.sqrt((mu * slide) ** 2 + (spin * w) ** 2 + (mu * s) ** 2)
    F, M = mu * N * mu * slide / root, spin * N * spin * w / root
    found = soft.force(0.0, mb.state(free(0, 0, 0.1 - d), [0, 0, w, slide, 0, -down]))
    np.testing.assert_allclose(found, [0, 0.1 * F, -M, -F, 0, N], rtol=1e-12, atol=1e-12)
    assert not soft.force(0.0, mb.state(free(0, 0, 0.1 + 1e-9), np.zeros(6))).any()
    leaving = mb.state(free(0, 0, 0.1 - d), [0, 0, 0, 0, 0, 10.0])  # 1 - c 10 < 0
    assert not soft.force(0.0, leaving).any()


@pytest.mark.parametrize(("integrator", "more"), [("dop853", {"rtol": 1e-10}), ("rk4", {"step": 2e-4})])
def test_a_bounce(integrator, more):
    """A ball at 1 m/s: the speed with which it leaves, by m z'' = -m g + k d^(3/2) (1 + c ddot)."""
    k, c = 1e6, 0.2

    def rate(t, y):
        d = max(0.1 - y[0], 0.0)
        return [y[1], -G + k * d**1.5 * max(1 - c * y[1], 0.0)]

    leaves = lambda t, y: y[0] - 0.1 + (t == 0)  # noqa: E731
    leaves.terminal, leaves.direction = True, 1
    exact = solve_ivp(rate, (0, 0.1), [0.1, -1.0], rtol=1e-11, atol=1e-13, events=leaves, method="DOP853")
    mb = ground()
    sphere(mb)
    mb.set_state(free(0, 0, 0.1), [0, 0, 0, 0, 0, -1.0])
    p = sc.sim.Propagator(mb, integrator=integrator, **more)
    p.add(sc.sim.CompliantContact(stiffness=k, damping=c))
    end = float(exact.t_events[0][0])
    r = p.advance_to(round(end, 6))
    assert mb.v[5] == pytest.approx(exact.y_events[0][0][1] - G * (round(end, 6) - end), rel=1e-5)
    assert mb.v[5] == pytest.approx(1 - 2 / 3 * c, abs=0.03)  # what the docstring says of a light impact
    assert r.check().imbalance < 1e-6


def test_a_block_slides_and_rests():
    """Four points carry it at the depth of m g / 4 each; it slows down by mu g u / sqrt(u^2 + slip^2)."""
    k, mu, s = 1e5, 0.3, 0.1
    mb = ground()
    box(mb)
    soft = bound(mb, stiffness=k, exponent=1.0, friction=mu, slip=s)
    depth = G / (4 * k)
    state = mb.state(free(0, 0, 0.1 - depth), [0, 0, 0, 0.5, 0, 0])
    force = soft.force(0.0, state)
    np.testing.assert_allclose(force[3:], [-mu * G * 0.5 / np.hypot(0.5, s), 0, G], atol=1e-9)


def test_refusals():
    mb = ground()
    ball = sphere(mb)
    for bad, text in (
        ({"stiffness": -1.0}, "stiffness of compliant contact must not be negative"),
        ({"exponent": 0.5}, r"exponent of compliant contact is 0.5; it must be 1 or more"),
        ({"slip": 0.0}, r"slip of compliant contact is 0.0 m/s; it must be above 0: without it take sc.sim.Contact"),
        ({"scene": 3}, "scene must be a sc.contact.Scene, got 3"),
    ):
        with pytest.raises(sc.errors.StateError, match=text):
            sc.sim.CompliantContact(**{"stiffness": 1.0, **bad})
    with pytest.raises(sc.errors.ModelError, match=r"friction of the default is -0\.5; it must be 0 or more"):
        bound(mb, stiffness=1.0, friction=-0.5)
    ball.add_geometry(sc.Geometry("rubber", "sphere", (0.2,), attributes={"restitution": 0.5}))
    with pytest.raises(sc.errors.ModelError, match=r"'ball/rubber' and 'inertial/floor' have restitution 0.5, which"):
        bound(mb, stiffness=1.0)

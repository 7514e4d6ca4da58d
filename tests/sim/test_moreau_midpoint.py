"""Moreau's midpoint rule: exact cases, order through impacts, refusals. Compiled steps are with those of "moreau"."""

import numpy as np
import pytest
from tests.contact.scenes import G, box, free, ground, sphere
from tests.sim.test_closed import four_bar
from tests.sim.test_compiled import in_python

import soacraft as sc
from soacraft.errors import SimulationError, StateError


def moved(mb, q, v, t, step, **laws):
    mb.set_state(q, v)
    p = sc.sim.Propagator(mb, integrator="moreau_midpoint", step=step)
    touch = sc.sim.Contact(**laws)
    p.add(touch)
    return p.advance_to(t), touch


def test_what_spins_flies_as_what_does_not():
    """The parabola of a body that spins at 40 rad/s, to rounding: its velocity is in its own axes, which turn."""
    mb = sc.Multibody(gravity=(0, 0, -G))
    mb.add_body("top", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3)))
    r, _ = moved(mb, free(0, 0, 0), [20.0, -30.0, 20.0, 1.0, 2.0, 3.0], 0.5, 0.01)
    exact = r.t[:, None] * [1.0, 2.0, 3.0] - 0.5 * G * r.t[:, None] ** 2 * [0, 0, 1.0]
    np.testing.assert_allclose(r.q[:, 4:], exact, atol=1e-12)
    assert r.check().imbalance < 1e-11


def test_a_sphere_slides_then_rolls():
    """At 5 m/s, mu = 0.3: as it slides x = 5 t - mu g t^2/2 to rounding; it rolls at 25/7 m/s. Contacts give no work
    but that of sliding, -(1/2) (2/7) m v^2."""
    mb = ground()
    sphere(mb)
    r, _ = moved(mb, free(0, 0, 0.1), [0, 0, 0, 5.0, 0, 0], 0.6, 0.01, friction=0.3)
    slides = r.t <= 2 / 7 * 5.0 / (0.3 * G)
    np.testing.assert_allclose(r.q[slides, 4], (5.0 * r.t - 0.15 * G * r.t**2)[slides], atol=1e-12)
    speed = sc.dynamics.velocities(mb, mb.q, mb.v)[0]
    assert speed[3] == pytest.approx(25 / 7, abs=1e-9)
    assert speed[1] == pytest.approx(250 / 7, abs=1e-8)
    assert r.work["contact"][-1] == pytest.approx(-0.5 * 2 / 7 * 25.0, rel=1e-9)


@pytest.mark.parametrize(("mu", "slides"), [(0.57, True), (0.58, False)])
def test_an_incline_of_30_degrees(mu, slides):
    """A box sticks where mu >= tan 30 = .57735, and does not creep."""
    mb = ground(np.pi / 6)
    box(mb)
    r, _ = moved(mb, free(0, 0, 0.1), np.zeros(6), 0.5, 0.005, friction=mu)
    wanted = G * (0.5 - mu * np.sqrt(3) / 2) if slides else 0.0
    np.testing.assert_allclose(r.q[:, 4], 0.5 * wanted * r.t**2, atol=1e-9)
    np.testing.assert_allclose(r.q[:, 6], 0.1, atol=1e-9)


def test_impacts_are_of_order_one():
    """A ball from 1 m with e = 0.5: impacts at .4515236410 and .9030472820, errors of at most three steps that fall
    with it; no energy is gained."""
    errors = []
    for step in (4e-3, 1e-3):
        mb = ground()
        sphere(mb)
        r, touch = moved(mb, free(0, 0, 1.1), np.zeros(6), 0.95, step, restitution=0.5)
        times = [x.t for x in touch.steps if x.impulses.any()]
        errors.append(np.abs(np.array(times) - [0.4515236410, 0.9030472820]).max())
        assert errors[-1] <= 3 * step
        assert np.diff(r.energy).max() < 1e-9
    assert errors[1] <= 0.5 * errors[0]


def test_a_heap_comes_to_rest_apart():
    """Boxes fall onto each other, aslant: in the end nothing is deeper in anything than a hundredth of a millimetre.
    What leaves and is pressed back within a step gains energy of second order, next to nothing of what is lost."""
    mb = ground()
    for i in range(3):
        box(mb, f"box{i}")
    tilt = [0.1, 0.05, 0.0, np.sqrt(1 - 0.0125)]
    q = np.concatenate([[*tilt, 0.02 * i, 0.01 * i, 0.15 + 0.25 * i] for i in range(3)])
    r, touch = moved(mb, q, np.zeros(18), 1.5, 1e-3, friction=0.6)
    assert np.abs(r.v[-1]).max() < 1e-8
    assert min(x.gap.min() for x in touch.steps[-200:]) > -1e-5
    gained, lost = (np.maximum(side * np.diff(r.energy), 0.0).sum() for side in (1, -1))
    assert gained < 1e-4 * lost
    assert r.check().imbalance < 1e-12


def test_what_is_driven_along_is_carried():
    """A winch draws a load up at 0.5 m/s: a rope with U(t), which Python takes."""
    crane = sc.Multibody(gravity=(0, 0, -9.81))
    crane.add_body("load", None, sc.Prismatic((0, 0, 1)), sc.Inertia(2.0))
    crane.add_rope("winch", "inertial", "load", 1.0)
    moved(crane, [-1.0], [0.5], 0.4, 0.01, one_sided={"winch": lambda t: (1.0 - 0.5 * t, -0.5)})
    np.testing.assert_allclose([crane.q[0], crane.v[0]], [-0.8, 0.5], atol=1e-9)


def test_refusals():
    chain = four_bar()
    with pytest.raises(SimulationError, match=r"moreau_midpoint takes trees, and .* is a closed chain; use 'moreau'"):
        moved(chain, chain.q, chain.v, 0.01, 0.01)
    mb = sc.load("double_pendulum")
    p = sc.sim.Propagator(mb, integrator="moreau_midpoint", step=0.01)
    p.prescribe(mb.dof_names[0], lambda t: (t, 1.0, 0.0))
    with pytest.raises(SimulationError, match=r"moreau_midpoint takes free motions"):
        p.advance_to(0.1)
    top = ground()
    sphere(top)
    with pytest.raises(SimulationError, match=r"a step of 0.1 s turns a hinge by .* rad"):
        moved(top, free(0, 0, 5.0), [100.0, 0, 0, 0, 0, 0], 0.1, 0.1)
    with pytest.raises(StateError, match=r"which 'verlet' cannot take"):
        sc.sim.Propagator(mb, integrator="verlet", step=0.01).add(sc.sim.Contact())


@pytest.mark.parametrize("by", ["compiled", "python"])
def test_an_impact_that_spins_too_fast_is_refused_in_its_own_step(by, monkeypatch):
    """A ball whose mass is beside its middle: 264 rad/s after the impact, 6.6 rad within the rest of the step."""
    mb = ground()
    ball = mb.add_body("ball", None, sc.Free(), sc.Inertia(1.0, (0.05, 0, 0), np.diag([0.004, 0.0065, 0.0065])))
    ball.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    mb.set_state(free(0, 0, 1.5), [0, 0, 0, 0, 0, -100.0])
    p = sc.sim.Propagator(mb, integrator="moreau_midpoint", step=0.05)
    p.add(sc.sim.Contact())
    if by == "python":
        in_python(monkeypatch)
    with pytest.raises(SimulationError, match=r"at t = 0 s a step of 0.05 s turns a hinge by 6.61 rad") as refused:
        p.advance_to(0.1)
    assert refused.value.t == 0.0

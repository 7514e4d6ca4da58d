"""Breaks: a pulse shorter than a step delivers its impulse where its samples or its function say where it is."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, make_interp_spline

import soacraft as sc
from soacraft import sim
from soacraft.errors import StateError
from soacraft.sim.breaks import ALWAYS, Breaks, window
from soacraft.sim.clock import Instant

ADAPTIVE = ("dop853", "radau", "cvode", "ida", "generalized_alpha")
FIXED = ("rk4", "verlet", "euler_symplectic", "gauss4", "gauss6")


def slider(size=1.0):
    """1 kg on a rail, at rest."""
    mb = sc.Multibody(gravity=(0, 0, 0))
    mb.add_body("mass", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0, moment=0.1 * size**2 * np.eye(3)))
    mb.set_state([0.0], [0.0])
    return mb


def propagator(mb, integrator, rtol=1e-3, step=0.1):
    fixed = integrator in FIXED
    return sc.sim.Propagator(mb, integrator=integrator, **({"step": step} if fixed else {"rtol": rtol}))


@pytest.mark.parametrize("integrator", ADAPTIVE + FIXED)
def test_a_triangle_of_samples_delivers_its_impulse(integrator):
    mb = slider()
    p = propagator(mb, integrator, 1e-6)
    p.control("mass", ([0.0, 5.03, 5.0305, 5.031, 10.0], [0.0, 0.0, 2000.0, 0.0, 0.0]))
    p.advance_to(5.2 if integrator in FIXED else 10.0)
    assert mb.v[0] == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("integrator", ADAPTIVE + FIXED)
@pytest.mark.parametrize(("start", "closed"), [(2.03, True), (1.0 / 3.0, False)])
def test_a_function_says_where_it_jumps(integrator, start, closed):
    """1000 N for 1 ms, on either side of its edges, at whole nanoseconds or not."""
    width = 1e-3

    def pulse(t, state):
        return 1000.0 if (start <= t < start + width if closed else start < t <= start + width) else 0.0

    mb = slider()
    p = propagator(mb, integrator)
    p.control("mass", pulse, breaks=[start, start + width])
    run = p.advance_to(start + (0.2 if integrator in FIXED else 100.0))
    assert mb.v[0] == pytest.approx(1.0, rel=2e-6)  # edges are at nanoseconds
    assert len(run.t) < 60


def test_a_jump_is_at_the_edge_of_steps_at_any_tolerance():
    """1e6 N from t = 1 s on: without breaks no step of 1e-12 crosses it."""
    mb = slider()
    p = sc.sim.Propagator(mb, rtol=1e-12)
    p.add(lambda t, state: [1e6 if t >= 1.0 else 0.0], breaks=[1.0])
    p.advance_to(2.0)
    np.testing.assert_allclose([mb.q[0], mb.v[0]], [5e5, 1e6], rtol=1e-12)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_a_short_bump_of_a_spline_is_met(size):
    """A cart that is moved over a hump within 1 ms of a run of 100 s: the force does its work there and back."""
    mb = slider(size)
    p = sc.sim.Propagator(mb, rtol=1e-3)
    times = np.array([0.0, 50.0, 50.0005, 50.001, 100.0])
    p.prescribe("mass", CubicSpline(times, size * np.array([0.0, 0.0, 1.0, 0.0, 0.0]), bc_type="clamped"))
    run = p.advance_to(100.0)
    assert {50.0, 50.0005, 50.001} <= set(run.t.round(9))
    assert run.q.max() == pytest.approx(size)


def test_prescribed_accelerations_jump_at_breaks():
    """A cart that begins to be moved with 2 m/s^2: on the pole at rest, the pivot's force is exact on both sides."""
    mb = sc.load("cart_pole")
    mb.set_state([0.0, 0.0], [0.0, 0.0])
    p = sc.sim.Propagator(mb, rtol=1e-10)
    p.prescribe("cart", lambda t: (max(t - 1.0, 0.0) ** 2, 2 * max(t - 1.0, 0.0), 2.0 * (t >= 1.0)), breaks=[1.0])
    run = p.advance_to(1.5)
    after = int(np.flatnonzero(np.isclose(run.t, 1.0))[0])
    assert run.vdot[after, 0] == 2.0
    assert run.vdot[after - 1, 0] == 0.0
    assert len(run.t) < 60


def test_knots_of_other_splines():
    p = sc.sim.Propagator(slider(), rtol=1e-3)
    p.prescribe("mass", make_interp_spline([0.0, 3.0, 3.001, 6.0, 9.0, 10.0], [0, 0, 1e-3, 0, 0, 0], k=3))
    assert p._acting.breaks[0].ns[0] == 0
    p.prescribe("mass", None)
    assert p._acting.breaks == []


def test_numbers_have_no_breaks():
    p = sc.sim.Propagator(slider())
    for u in (1.0, ([0.0, 1.0], [0.0, 1.0])):
        with pytest.raises(StateError, match="breaks= are of a control that is a function; 'mass' is"):
            p.control("mass", u, breaks=[1.0])
    with pytest.raises(StateError, match="breaks of the control of 'mass' must have shape"):
        p.control("mass", lambda t, state: 0.0, breaks=1.0)


@pytest.mark.parametrize("integrator", ["dop853", "radau", "rk4", "gauss4", "cvode"])
def test_steps_of_a_system_end_where_sources_jump(integrator):
    """A force of 1000 N for 1 ms, and a ramp that begins within a step."""
    fixed = integrator in FIXED
    s = sim.System("push", integrator=integrator, **({"step": 0.1} if fixed else {"rtol": 1e-3}))
    arm = s.add("arm", sim.Plant(slider()))
    s.add("on", sim.Step(at=5.00030, before=0.0, after=1000.0))
    s.add("off", sim.Step(at=5.00130, before=0.0, after=1000.0))
    s.add("sum", sim.Sum(sign_b=-1.0))
    s.add("drive", sim.Force(), at=arm.dof("mass"))
    s.connect("on.y", "sum.a")
    s.connect("off.y", "sum.b")
    s.connect("sum.y", "drive.command")
    run = s.run(10.0)
    assert run.v[-1, 0] == pytest.approx(1.0, rel=1e-9)


def test_sampled_sources_are_asked_at_their_ticks():
    s = sim.System("ticks", integrator="rk4", step=0.1)
    s.add("on", sim.Step(at=0.55), every=0.1)
    s.add("sum", sim.Integrator())
    s.connect("on.y", "sum.u")
    run = s.run(1.0)
    np.testing.assert_allclose(np.diff(run.t), 0.1)
    assert s.states["sum.x"] == pytest.approx(0.4)


def test_a_parameter_moves_an_edge_while_it_runs():
    s = sim.System("moves", integrator="rk4", step=0.1)
    s.add("on", sim.Step(at=5.0))
    s.add("sum", sim.Integrator())
    s.connect("on.y", "sum.u")
    s.run(1.0)
    s.params["on.at"] = 1.5301
    s.run(2.0)
    assert s.states["sum.x"] == pytest.approx(2.0 - 1.5301, rel=1e-12)


def test_the_span_of_a_step():
    breaks = [Breaks([0.5, 1.0]), Breaks([0.75], jumps=False)]
    first, last = window(breaks, Instant(500_000_000), 1_000_000_000)
    assert 0.5 < first < 0.5 + 1e-15
    assert 1.0 - 1e-15 < last < 1.0
    assert window(breaks, Instant(500_000_000, 1e-10), 750_000_000) == ALWAYS
    assert [x.after(500_000_000) for x in breaks] == [1_000_000_000, 750_000_000]


def test_runs_of_a_campaign_with_an_edge_go_one_by_one():
    from soacraft.sim.campaigns.batches.obstacles import obstacle

    def system(at):
        s = sim.System("edge", integrator="rk4", step=0.1)
        s.add("on", sim.Step(at=at))
        s.add("sum", sim.Integrator())
        s.connect("on.y", "sum.u")
        return s

    assert obstacle(system(0.0), [], []) == ""
    assert obstacle(system(0.55), [], []) == "'on' jumps between ticks, where steps end"
    assert obstacle(system(0.0), ["on.at"], []) == "'on' jumps between ticks, where steps end"

"""CVODE and IDA: closed forms, agreement with explicit methods, charts, events, restarts, failures."""

import sys

import numpy as np
import pytest
from tests.loops.cases import row_of_four_bars
from tests.sim.test_order import MODELS, exact, tree

import soacraft as sc
from soacraft.sim.integrators.cvode import Cvode, chart_jacobian
from soacraft.sim.problem.run_problem import RunProblem
from soacraft.sim.system import Mechanism

BOTH = pytest.mark.parametrize("method", ["cvode", "ida"])


@BOTH
def test_a_creeping_pendulum(method):
    """Damped by 1e6: after 1 us it creeps by dq/dt = -g sin q / d, tan(q/2) = tan(q0/2) exp(-g t / d)."""
    mb = sc.load("pendulum")
    mb["bob"].passive = sc.Passive(damping=1e6)
    mb.set_state([1.0], [0.0])
    run = sc.sim.Propagator(mb, integrator=method, rtol=1e-8).advance_to(1e5)
    assert len(run) < 200
    assert mb.q[0] == pytest.approx(2 * np.arctan(np.tan(0.5) * np.exp(-9.81e-1)), abs=1e-6)


@BOTH
@pytest.mark.parametrize("name", ["pins and slides", "free", "rolling"])
def test_errors_follow_the_tolerance(method, name):
    wanted = exact(MODELS[name](), 0.3)
    for rtol in (1e-6, 1e-9):  # of a step, of which there are up to a hundred
        mb = MODELS[name]()
        run = sc.sim.Propagator(mb, integrator=method, rtol=rtol).advance_to(0.3)
        assert np.abs(np.concatenate([mb.q, mb.v]) - wanted).max() < 100 * rtol
        assert run.check().holds


@BOTH
def test_many_turns_of_a_free_body(method):
    """It turns by 12 rad: through eight charts. Momentum is that of the start."""
    mb = sc.Multibody("box", gravity=(0, 0, 0))
    mb.add_body("box", None, sc.Free(), sc.Inertia(2.0, (0.1, 0.2, -0.1), np.diag([1.0, 2.0, 2.5])))
    mb.set_state([0, 0, 0, 1, 0, 0, 0], [0.3, 3.0, 0.02, 0.4, 0, 0.1])
    before = sc.dynamics.momentum(mb, mb.q, mb.v)
    run = sc.sim.Propagator(mb, integrator=method, rtol=1e-9).advance_to(4.0)
    np.testing.assert_allclose(sc.dynamics.momentum(mb, mb.q, mb.v), before, atol=2e-6)
    middle = run.at(2.0)
    np.testing.assert_allclose(sc.dynamics.momentum(mb, middle.q, middle.v), before, atol=2e-6)


@BOTH
def test_events_and_jumps(method):
    """A ball from 1 m with e = 0.5: the instants of its impacts, by the closed form."""
    mb = sc.Multibody("ball", gravity=(0, 0, -9.81))
    mb.add_body("ball", None, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    mb.set_state([1.0], [0.0])

    def bounce(t, state):
        mb.v = -0.5 * mb.v

    p = sc.sim.Propagator(mb, integrator=method, rtol=1e-10)
    p.event("touch", lambda t, state: state.q[0], direction=-1, action=bounce)
    run = p.advance_to(1.2)
    fall = np.sqrt(2 / 9.81)
    np.testing.assert_allclose([x.t for x in run.events], [fall, 2 * fall, 2.5 * fall], rtol=0, atol=1e-8)


@BOTH
def test_pauses_and_callbacks(method):
    """Pauses end a step where it would not have ended: the end agrees to the tolerance, the clock does not slip."""
    ends, seen = [], []
    for pauses in ((1.0,), (0.3, 1.0)):
        mb = sc.load("double_pendulum")
        mb.set_state([1.0, 0.5], [0.0, 0.0])
        p = sc.sim.Propagator(mb, integrator=method, rtol=1e-9)
        p.every(0.1, lambda t, state: seen.append(t))
        for t in pauses:
            p.advance_to(t)
            assert p.t == t
        ends.append(np.concatenate([mb.q, mb.v]))
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-6)
    np.testing.assert_array_equal(seen, 2 * [k / 10 for k in range(11)])


@BOTH
def test_a_control_that_jumps(method):
    """A callback sets another torque: v is the integral of both."""
    mb = sc.Multibody("wheel", gravity=(0, 0, 0))
    mb.add_body("wheel", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    p = sc.sim.Propagator(mb, integrator=method)
    p.control("wheel", 2.0)
    p.every(0.5, lambda t, state: p.control("wheel", 2.0 if t < 0.5 else -1.0))
    p.advance_to(1.0)
    assert mb.v[0] == pytest.approx(0.5, abs=1e-8)


@BOTH
def test_a_closed_chain(method):
    ends = []
    for other in ("dop853", method):
        mb = row_of_four_bars(1)
        run = sc.sim.Propagator(mb, integrator=other, rtol=1e-8).advance_to(0.1)
        assert run.violation.max() < 1e-12
        ends.append(np.concatenate([mb.q, mb.v]))
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-6)


@BOTH
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
def test_what_a_force_raises_gets_through(method, error):
    mb = sc.load("pendulum")
    p = sc.sim.Propagator(mb, integrator=method)

    def force(t, state):
        if t > 0.01:
            raise error("mine")
        return None

    p.add(force)
    with pytest.raises(error, match="mine"):
        p.advance_to(0.1)
    assert 0.0 < p.t <= 0.01
    assert p.last_run.t[-1] == p.t


@BOTH
def test_a_force_that_is_not_finite_stops_the_run(method):
    mb = sc.load("pendulum")
    p = sc.sim.Propagator(mb, integrator=method)
    p.control("bob", lambda t, state: 1.0 if t < 0.01 else np.nan)
    with pytest.raises(sc.errors.SimulationError, match=rf"{method} cannot go on, however short its steps: .*finite"):
        p.advance_to(0.1)
    assert p.t == pytest.approx(0.01, abs=1e-6)


@BOTH
def test_without_its_package_the_extra_is_named(method, monkeypatch):
    monkeypatch.setitem(sys.modules, f"sksundae.{method}", None)
    with pytest.raises(sc.errors.StateError, match=rf"integrator='{method}' needs the package scikit-sundae .*\[dae\]"):
        sc.sim.Propagator(sc.load("pendulum"), integrator=method)


def test_the_jacobian_in_the_chart_of_a_session():
    """Away from the origin of the chart, against central differences of the rates."""
    mb = tree([sc.Spherical(), sc.Pin((0, 0, 1)), sc.Free()])
    mb.bodies[1].passive = sc.Passive(stiffness=3.0, damping=0.5)
    m = Mechanism(RunProblem.of(mb))
    x = m.point(mb.q, mb.v)
    session = Cvode(1e-9).begin(m, 0.0, x, m.rates(0.0, x), 0.0, 0.0)
    u = 0.3 * np.random.default_rng(5).standard_normal(m.manifold.size)
    d = 1e-6 * np.eye(m.manifold.size)
    wanted = np.array([session.rates(0.0, u + e) - session.rates(0.0, u - e) for e in d]).T / 2e-6
    moving = 2 * mb.nv
    J = chart_jacobian(session, 0.0, u)
    np.testing.assert_allclose(J[:moving], wanted[:moving], atol=1e-7 * np.abs(wanted).max())

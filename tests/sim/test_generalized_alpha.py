"""Generalized-alpha: its spectral radius, adaptive steps, restarts, prescribed motions, closed chains, refusals."""

import numpy as np
import pytest
from tests.loops.cases import row_of_four_bars
from tests.loops.test_case_four_bars import pendulum, spatial_loop
from tests.sim.test_order import MODELS, exact

import soacraft as sc
from soacraft.errors import LoopError, ModelError, SimulationError, StateError

ALPHA = "generalized_alpha"


def swing(**options):
    mb = sc.load("double_pendulum")
    mb.set_state([1.0, 0.5], [0.0, 0.0])
    return mb, sc.sim.Propagator(mb, integrator=ALPHA, **options)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9, 1.0])
def test_spectral_radius(rho):
    """A spring so stiff that a step has 1e5 radians: all three roots of the recursion are at -rho_inf, so that
    q3 + 3 r q2 + 3 r^2 q1 + r^3 q0 = 0 for any four steps in a row (Chung and Hulbert 1993)."""
    mb = sc.Multibody("stiff", gravity=(0, 0, 0))
    mb.add_body("mass", None, sc.Prismatic((1, 0, 0)), sc.Inertia.point(1.0, (0, 0, 0)))
    mb["mass"].passive = sc.Passive(stiffness=1e10)
    mb.set_state([1.0], [0.0])
    run = sc.sim.Propagator(mb, integrator=ALPHA, step=1.0, rho_inf=rho, rtol=1e-12).advance_to(12.0)
    q = run.q[1:, 0]
    left = q[3:] + 3 * rho * q[2:-1] + 3 * rho**2 * q[1:-2] + rho**3 * q[:-3]
    np.testing.assert_allclose(left, 0.0, atol=1e-6 * np.abs(q).max())
    assert np.abs(q).max() > 0.1 * rho


@pytest.mark.parametrize("name", ["pins and slides", "free"])
def test_adaptive_steps_follow_the_tolerance(name):
    wanted, rows = exact(MODELS[name](), 0.3), []
    for rtol in (1e-4, 1e-7):
        mb = MODELS[name]()
        run = sc.sim.Propagator(mb, integrator=ALPHA, rtol=rtol).advance_to(0.3)
        rows.append(len(run))
        error = np.abs(np.concatenate([mb.q, mb.v]) - wanted).max()
        assert 0.2 < error / (rtol * len(run)) < 4  # what each step is allowed, added up
    assert 5 < rows[1] / rows[0] < 20  # as the third root of the tolerance


def test_adaptive_steps_of_a_closed_chain():
    mb = row_of_four_bars(2)
    run = sc.sim.Propagator(mb, integrator=ALPHA, rtol=1e-6).advance_to(0.2)
    assert run.violation.max() < 1e-12
    np.testing.assert_allclose([mb.q[0], mb.v[0]], pendulum(np.pi / 2, -1.0, 0.2), atol=1e-4)


def test_a_stiff_damper_needs_no_short_steps():
    """A creeping pendulum, as in the tests of Radau: dq/dt = -g sin q / d."""
    mb = sc.load("pendulum")
    mb["bob"].passive = sc.Passive(damping=1e6)
    mb.set_state([1.0], [-9.81e-6 * np.sin(1.0)])
    sc.sim.Propagator(mb, integrator=ALPHA, step=2e3, rho_inf=0.0).advance_to(1e5)
    assert mb.q[0] == pytest.approx(2 * np.arctan(np.tan(0.5) * np.exp(-9.81e-1)), abs=1e-4)


def test_a_ball_joint_in_a_loop():
    """Redundant rows and a quaternion: against dop853, the error of order two."""
    wanted = spatial_loop()
    sc.sim.Propagator(wanted, rtol=1e-9).advance_to(0.05)
    errors = []
    for steps in (5, 10):
        mb = spatial_loop()
        run = sc.sim.Propagator(mb, integrator=ALPHA, step=0.05 / steps).advance_to(0.05)
        assert run.violation.max() < 1e-11
        errors.append(np.abs(np.concatenate([mb.q - wanted.q, mb.v - wanted.v])).max())
    assert 1.7 < np.log2(errors[0] / errors[1]) < 2.3


def test_prescribed_motion():
    """The first of two pendulums swings as told; the second follows, to order two. The work balances."""

    def told(t):
        return 0.3 * np.sin(4 * t), 1.2 * np.cos(4 * t), -4.8 * np.sin(4 * t)

    ends = []
    for options in ({"rtol": 1e-9}, {"integrator": ALPHA, "step": 0.01}, {"integrator": ALPHA, "step": 0.005}):
        mb = sc.load("double_pendulum")
        mb.set_state([0.0, 0.5], [1.2, 0.0])
        p = sc.sim.Propagator(mb, **options)
        p.prescribe(mb.dof_names[0], told)
        run = p.advance_to(0.5)
        assert mb.q[0] == pytest.approx(0.3 * np.sin(2.0), abs=1e-15)
        ends.append((mb.q[1], mb.v[1], run.check().imbalance))
    errors = [max(abs(x[0] - ends[0][0]), abs(x[1] - ends[0][1])) for x in ends[1:]]
    assert 1.8 < np.log2(errors[0] / errors[1]) < 2.2
    assert ends[1][2] > 3 * ends[2][2]


def test_one_go_and_two_halves_are_the_same_bits():
    """Of one propagator, which keeps its accelerations; from a saved state the order alone is kept."""
    whole, p = swing(step=0.01)
    p.advance_to(0.4)
    halves, p = swing(step=0.01)
    p.advance_to(0.2)
    p.advance_to(0.4)
    np.testing.assert_array_equal(halves.q, whole.q)
    np.testing.assert_array_equal(halves.v, whole.v)


def test_a_control_that_jumps_begins_anew():
    """Constant torques are integrated exactly; accelerations of before the jump would spoil it."""
    mb = sc.Multibody("wheel", gravity=(0, 0, 0))
    mb.add_body("wheel", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    p = sc.sim.Propagator(mb, integrator=ALPHA, step=0.1)
    p.control("wheel", 2.0)
    p.every(0.5, lambda t, state: p.control("wheel", 2.0 if t < 0.5 else -1.0))
    p.advance_to(1.0)
    assert mb.v[0] == pytest.approx(0.5, abs=1e-12)
    assert mb.q[0] == pytest.approx(0.25 + 0.5 - 0.125, abs=1e-12)


def test_refusals():
    mb, p = swing(step=0.01, rho_inf=0.3)
    assert "generalized_alpha (order 2, fixed step, rho_inf 0.3)" in str(p.report())
    with pytest.raises(StateError, match=r"rho_inf must be between 0 and 1, got 1.5"):
        swing(rho_inf=1.5)
    with pytest.raises(StateError, match=r"rho_inf is of integrator='generalized_alpha', not of 'rk4'; leave it out"):
        sc.sim.Propagator(mb, integrator="rk4", step=0.1, rho_inf=0.5)
    rolling = MODELS["rolling"]()
    with pytest.raises(SimulationError, match=r"generalized_alpha takes holonomic hinges, but hinge 'b0' of") as e:
        sc.sim.Propagator(rolling, integrator=ALPHA, step=0.01).advance_to(0.1)
    assert isinstance(e.value.__cause__, ModelError)
    p.add(sc.sim.HingeFriction(mb.dof_names[0], coulomb=1.0))
    with pytest.raises(SimulationError, match=r"would stick, which generalized_alpha does not know; give Hinge") as e:
        p.advance_to(0.1)
    assert isinstance(e.value.__cause__, LoopError)
    with pytest.raises(SimulationError, match=r"a step of 10 s of generalized_alpha does not converge|turns a hinge"):
        sc.sim.Propagator(row_of_four_bars(2), integrator=ALPHA, step=10.0).advance_to(20.0)

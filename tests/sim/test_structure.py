"""Structure-preserving methods: momentum to rounding, bounded energy, reversibility; what they refuse."""

import numpy as np
import pytest
from tests.loops.test_case_four_bars import spatial_loop
from tests.model.modal.trees import flexible_tree
from tests.sim.test_closed import four_bar
from tests.sim.test_order import tree

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import SimulationError


def floating():
    """A free body with a ball joint and a pin, in space."""
    mb = tree([sc.Free(), sc.Spherical(), sc.Pin((0, 1, 0))], seed=3)
    mb.gravity = (0, 0, 0)
    mb.bodies[2].passive = sc.Passive(stiffness=2.0)  # an inner force changes no momentum
    return mb


@pytest.mark.parametrize("method", ["variational", "variational4"])
def test_momentum_is_kept_to_rounding(method):
    mb = floating()
    before = dyn.momentum(mb, mb.q, mb.v)
    run = sc.sim.Propagator(mb, integrator=method, step=0.02).advance_to(0.5)
    drift = np.abs(dyn.momentum(mb, run.q, run.v) - before).max()
    assert drift < 1e-12 * np.abs(before).max()
    assert np.ptp(run.v[:, -1]) > 0.1


def test_a_body_that_travels_far_within_a_step_is_refused_for_that():
    """A satellite of 0.3 m at 7 km/s travels 70 m a step while it tumbles. With what is a step for its size it runs."""
    mb = sc.Multibody("satellite", gravity=(0, 0, 0))
    mb.add_body("box", None, sc.Free(), sc.Inertia.box(1.0, (0.3, 0.2, 0.1)))
    mb.set_state([0, 0, 0, 1, 0, 0, 0], [3.0, 2.0, 1.0, 7000.0, 0, 0])
    with pytest.raises(SimulationError, match=r"hinge 'box' travels 70 m within it, .* lengths of the model.*smaller"):
        sc.sim.Propagator(mb, integrator="variational", step=0.01).advance_to(0.1)
    run = sc.sim.Propagator(mb, integrator="variational", step=1e-5).advance_to(1e-3)
    momentum = dyn.momentum(mb, run.q, run.v)
    assert np.abs(momentum - momentum[0]).max() < 1e-12 * np.abs(momentum).max()
    assert np.abs(run.energy - run.energy[0]).max() < 1e-12 * run.energy[0]


def test_a_body_that_spins_too_fast_is_refused_for_that():
    mb = sc.Multibody("top", gravity=(0, 0, 0))
    mb.add_body("box", None, sc.Free(), sc.Inertia.box(1.0, (0.3, 0.2, 0.1)))
    mb.set_state([0, 0, 0, 1, 0, 0, 0], [0, 0, 400.0, 0, 0, 0])
    for method in ("variational", "variational4", "gauss4"):
        with pytest.raises(SimulationError, match=r"turns a hinge by .* rad; at most 3 rad .*Take steps below"):
            sc.sim.Propagator(mb, integrator=method, step=0.01).advance_to(0.1)


def test_momentum_is_not_kept_by_others():
    """The same run by rk4: what the test above sees is not the tree's doing."""
    mb = floating()
    before = dyn.momentum(mb, mb.q, mb.v)
    run = sc.sim.Propagator(mb, integrator="rk4", step=0.02).advance_to(1.0)
    assert np.abs(dyn.momentum(mb, run.q, run.v) - before).max() > 1e-9


def energy_errors(method, step, times):
    """The largest error of the energy of a pendulum in each of some stretches of time."""
    mb = sc.load("pendulum")
    mb.set_state([2.0], [0.0])
    p = sc.sim.Propagator(mb, integrator=method, step=step)
    energy = 9.81 * -np.cos(2.0)
    return [np.abs(p.advance_to(t).energy - energy).max() for t in times]


def test_energy_stays_bounded():
    """The error of the variational method is the same after the first swings and after many; that of rk4 grows."""
    early, _, late = energy_errors("variational", 0.05, (5.0, 25.0, 30.0))
    assert late < 1.05 * early
    early, _, late = energy_errors("rk4", 0.05, (5.0, 25.0, 30.0))
    assert late > 4 * early


@pytest.mark.parametrize("method", ["variational", "gauss4"])
def test_a_motion_runs_back(method):
    mb = tree([sc.Pin((0, 1, 0)), sc.Pin((1, 0, 0)), sc.Gimbal()])
    start = np.array(mb.q)
    sc.sim.Propagator(mb, integrator=method, step=0.02).advance_to(0.4)
    assert np.abs(mb.q - start).max() > 0.1
    mb.v = -mb.v
    sc.sim.Propagator(mb, integrator=method, step=0.02).advance_to(0.4)
    np.testing.assert_allclose(mb.q, start, atol=1e-11)


def test_damping_and_controls_act_in_a_variational_step():
    """Against dop853, to the order: half the step, a quarter of the error."""
    errors = []
    for method, step in (("dop853", None), ("variational", 0.01), ("variational", 0.005)):
        mb = tree([sc.Spherical(), sc.Pin((0, 0, 1))])
        mb.bodies[0].passive = sc.Passive(stiffness=3.0, damping=0.5)
        p = sc.sim.Propagator(mb, integrator=method, step=step, rtol=1e-10)
        p.control(mb.dof_names[-1], lambda t, state: np.cos(5 * t) - 0.3 * state.v[-1])
        run = p.advance_to(0.3)
        errors.append(np.array(mb.v))
    assert 3.0 < np.abs(errors[1] - errors[0]).max() / np.abs(errors[2] - errors[0]).max() < 5.0
    assert run.check().imbalance < 1e-3 * np.ptp(run.energy)


def ring():
    """A closed ring of four bodies in space: a free one, and three by a ball joint and pins; a ball joint closes it."""
    mb = sc.Multibody("ring", gravity=(0, 0, 0))
    place, tip = sc.Pose(translation=(1, 0, 0)), sc.Pose(translation=(1, 0.2, 0.1))
    hinges = [sc.Free(), sc.Spherical(), sc.Pin((0, 0, 1)), sc.Pin((0, 1, 0))]
    for i, hinge in enumerate(hinges):
        inertia = sc.Inertia(1.0 + i, (0.4, 0.1, 0), np.diag([0.3, 0.5, 0.6 + 0.1 * i]))
        mb.add_body(f"b{i}", f"b{i - 1}" if i else None, hinge, inertia, place if i else sc.Pose())
    mb["b3"].add_node("tip", tip)
    mb["b0"].add_node("tip", sc.Pose(translation=(0.3, 0.5, 0.2)))
    mb.close_loop("ring", "b0/tip", "b3/tip", sc.Spherical())
    mb["b2"].passive = sc.Passive(stiffness=2.0)
    s, rng = sc.loops.TreeAugmented(mb), np.random.default_rng(8)
    mb.q = s.assemble(mb.integrate(mb.neutral(), 0.8 * rng.standard_normal(mb.nv)))
    mb.v = s.project_velocity(mb.q, rng.standard_normal(mb.nv))
    return mb


def geared():
    """A double pendulum whose lower angle follows the square of the upper one."""
    mb = sc.load("double_pendulum")
    upper, lower = mb.dof_names
    mb.couple("cam", {upper: [0.5, 0.4], lower: -1.0}, 0.0)
    mb.set_state([0.6, 0.5 * 0.6 + 0.4 * 0.6**2], [1.0, 0.5 + 0.8 * 0.6])
    return mb


@pytest.mark.parametrize("make", [ring, geared, spatial_loop])
@pytest.mark.parametrize(("method", "order", "h"), [("variational", 2, 0.02), ("variational4", 4, 0.02)])
def test_order_on_closed_chains(make, method, order, h):
    """Against Dormand and Prince, which puts states back on the closures."""
    mb, errors = make(), []
    start = np.array(mb.q), np.array(mb.v)
    sc.sim.Propagator(mb, rtol=1e-12).advance_to(0.12)
    end = np.array(mb.q), np.array(mb.v)
    for step in (h, h / 2):
        mb.set_state(*start)
        run = sc.sim.Propagator(mb, integrator=method, step=step).advance_to(0.12)
        assert run.violation.max() < 1e-13
        errors.append(max(np.abs(mb.difference(end[0], mb.q)).max(), np.abs(mb.v - end[1]).max()))
    assert order - 0.3 < np.log2(errors[0] / errors[1]) < order + 0.7


@pytest.mark.parametrize("method", ["variational", "variational4"])
def test_momentum_of_a_closed_chain_is_kept_to_rounding(method):
    mb = ring()
    run = sc.sim.Propagator(mb, integrator=method, step=0.02).advance_to(0.2)
    momentum = dyn.momentum(mb, run.q, run.v, ignore_loops=True)
    assert np.abs(momentum - momentum[0]).max() < 1e-12 * np.abs(momentum).max()
    assert np.ptp(run.v[:, -1]) > 0.1
    q, v = run.q[-1], run.v[-1]
    mb.set_state(q, -v)
    sc.sim.Propagator(mb, integrator=method, step=0.02).advance_to(0.2)
    assert np.abs(mb.difference(run.q[0], mb.q)).max() < 1e-11  # and back again
    np.testing.assert_allclose(mb.v, -run.v[0], rtol=0, atol=1e-10)


def test_the_energy_of_a_closed_chain_is_bounded():
    """A pendulum with a cam: no more error in the last third than in the first."""
    mb = geared()
    run = sc.sim.Propagator(mb, integrator="variational", step=0.05).advance_to(12.0)
    errors = np.abs(run.energy - run.energy[0])
    assert errors[160:].max() < 1.1 * errors[:80].max() < 0.02 * np.ptp(run.kinetic)
    assert run.violation.max() < 1e-12


def test_refusals():
    ball = tree([sc.RollingBall(0.5)])
    with pytest.raises(SimulationError, match=r"variational takes holonomic hinges, but hinge 'b0' of 'tree' is"):
        sc.sim.Propagator(ball, integrator="variational", step=0.01).advance_to(0.1)
    mb = sc.load("pendulum")
    p = sc.sim.Propagator(mb, integrator="variational", step=0.01)
    p.prescribe("bob", lambda t: (t, 1.0, 0.0))
    with pytest.raises(SimulationError, match=r"variational takes free motions, and 'pendulum' has prescribed or"):
        p.advance_to(0.1)
    skate = sc.Multibody("skate")
    skate.add_body("skate", None, sc.Planar(), sc.Inertia(60.0, (0, 0, 0), np.diag([9.0, 9.0, 2.0])))
    skate.add_knife_edge("blade", "skate")
    with pytest.raises(SimulationError, match=r"variational takes holonomic closures, but 'blade' of 'skate' rolls"):
        sc.sim.Propagator(skate, integrator="variational", step=0.01).advance_to(0.1)
    pulled = sc.sim.Propagator(
        four_bar(), integrator="variational", step=0.01, stabilization="baumgarte", time_constant=0.1
    )
    with pytest.raises(SimulationError, match=r"stabilization='baumgarte' has no place in it; leave that out"):
        pulled.advance_to(0.1)
    mb.set_state([0.0], [500.0])
    for method in ("variational", "gauss6"):
        p = sc.sim.Propagator(mb, integrator=method, step=5.0)
        with pytest.raises(SimulationError, match=r"did not converge in \d+ rounds .* take a smaller step"):
            p.advance_to(10.0)


def rotors():
    """Two ball joints with motors on their axes, whose inertias differ, on a free body."""
    mb = tree([sc.Free(), sc.Spherical(), sc.Spherical()], seed=4)
    mb.bodies[1].armature, mb.bodies[2].armature = [0.1, 0.4, 0.2], [0.3, 0.1, 0.5]
    return mb


@pytest.mark.parametrize(
    "make",
    [
        rotors,
        lambda: flexible_tree((-1, 0, 0, 1), 3, modes=(2, 3, 0)),
        lambda: flexible_tree((-1, 0, 1), 1, (sc.Spherical(), sc.Free())),
    ],
    ids=["rotors", "modes", "modes and rotors"],
)
@pytest.mark.parametrize(("method", "order", "h"), [("variational", 2, 0.01), ("variational4", 4, 0.01)])
def test_order_with_rotors_and_modes(make, method, order, h):
    """Rotors of ball joints do not turn the axes of their momentum; modes are stiff and damped. Against Dormand and
    Prince."""
    mb, errors = make(), []
    start = np.array(mb.q), np.array(mb.v)
    sc.sim.Propagator(mb, rtol=1e-12).advance_to(0.04)
    end = np.array(mb.q), np.array(mb.v)
    for step in (h, h / 2):
        mb.set_state(*start)
        sc.sim.Propagator(mb, integrator=method, step=step).advance_to(0.04)
        errors.append(max(np.abs(mb.difference(end[0], mb.q)).max(), np.abs(mb.v - end[1]).max()))
    assert order - 0.3 < np.log2(errors[0] / errors[1]) < order + 0.7

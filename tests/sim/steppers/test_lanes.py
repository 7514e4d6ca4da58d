"""Steppers of closed chains: compiled, as runs take them; each state of a batch follows its own closures."""

import numpy as np
import pytest
from tests.loops.test_case_four_bars import spatial_loop
from tests.sim.chains import ball_jointed_four_bar, slider_crank
from tests.sim.test_closed import four_bar

import soacraft as sc
from soacraft.errors import LoopError
from soacraft.kinematics.rows import Constraints

CHAINS = {
    "four bars": four_bar,
    "slider-crank": lambda: slider_crank(3.0),
    "ball joints": lambda: ball_jointed_four_bar(2.0),
    "a loop in space": spatial_loop,
}
STEP = 0.005


def driven(make, method="rk4", solver="auto"):
    mb = make()
    p = sc.sim.Propagator(mb, solver, integrator=method, step=STEP)
    p.control(mb.dof_names[0], 0.2)
    return p


@pytest.mark.parametrize("solver", ["ta", "fa", "ce"])
@pytest.mark.parametrize("name", CHAINS)
def test_steps_are_those_of_runs(name, solver):
    step, p = (driven(CHAINS[name], solver=solver) for _ in range(2))
    step = step.stepper([step.mb.dof_names[0]])
    assert "steps: compiled" in step.report()
    step(3)
    for _ in range(7):
        step()
    run = p.advance_to(10 * STEP)
    scale = max(1.0, np.abs(run.v).max())
    np.testing.assert_allclose(step.q, run.q[-1], rtol=0, atol=1e-11)
    np.testing.assert_allclose(step.v, run.v[-1], rtol=0, atol=1e-11 * scale)


@pytest.mark.parametrize("method", ["euler_symplectic", "verlet", "gauss4"])
def test_steps_of_other_methods_are_those_of_runs(method):
    p, other = driven(four_bar, method), driven(four_bar, method)
    step, run = p.stepper([p.mb.dof_names[0]]), other.advance_to(10 * STEP)
    step(10)
    np.testing.assert_allclose(step.q, run.q[-1], rtol=0, atol=1e-11)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["four bars", "ball joints", "a loop in space"])
def test_states_of_a_batch_are_as_they_are_alone(name, threads):
    p = driven(CHAINS[name], solver="ta")
    mb, count = p.mb, 5
    batch = p.stepper([mb.dof_names[0]], states=count, threads=threads)
    starts = [(mb.q, (0.5 + 0.2 * i) * np.asarray(mb.v)) for i in range(count)]
    batch.set_state(*(np.array(x) for x in zip(*starts, strict=True)))
    force = np.random.default_rng(2).normal(size=(20, count, 1))
    for u in force:
        batch.u[:] = u
        batch()
    for i, (q, v) in enumerate(starts):
        alone = p.stepper([mb.dof_names[0]])
        alone.set_state(q, v)
        for u in force:
            alone.u[:] = u[i]
            alone()
        assert alone.q.tobytes() == batch.q[i].tobytes()
        assert alone.v.tobytes() == batch.v[i].tobytes()
        assert Constraints(mb, mb.state(alone.q, alone.v)).opening < 1e-12


def test_states_of_a_batch_are_set_and_begin_again_alone():
    p = driven(four_bar)
    batch, other = p.stepper([], states=3), p.stepper([], states=3)
    batch(10)
    other(10)
    batch.reset(1)
    np.testing.assert_array_equal(batch.q[1], p.mb.q)
    np.testing.assert_array_equal(batch.q[[0, 2]], other.q[[0, 2]])
    batch.set_state(other.q[0], other.v[0], which=1)
    batch(5)
    other(5)
    np.testing.assert_allclose(batch.q[1], other.q[0], rtol=0, atol=1e-12)
    before = batch.q.copy()
    off = batch.q[0].copy()
    off[0] += 0.3
    with pytest.raises(LoopError, match="a run cannot begin off its closures"):
        batch.set_state(np.array([batch.q[0], off]), which=[0, 2])
    np.testing.assert_array_equal(batch.q, before)


def test_energy_of_a_closed_chain_without_damping_is_kept():
    mb = four_bar()
    step = sc.sim.Propagator(mb, integrator="rk4", step=0.002).stepper([])

    def energy():
        return sc.dynamics.kinetic_energy(mb, step.q, step.v, ignore_loops=True) + sc.dynamics.potential_energy(
            mb, step.q, ignore_loops=True
        )

    before = energy()
    step(100)
    assert energy() == pytest.approx(before, rel=1e-9)


def test_edits_of_a_closed_chain_are_followed():
    p, other = driven(four_bar), driven(four_bar)
    step = p.stepper([])
    step(5)
    other.advance_to(5 * STEP)
    for mb in (p.mb, other.mb):
        body = mb.bodies[-1]
        body.inertia = sc.Inertia(2.0 * body.inertia.mass, body.inertia.com, body.inertia.moment)
    step(5)
    run = other.advance_to(10 * STEP)
    np.testing.assert_allclose(step.q, run.q[-1], rtol=0, atol=1e-11)

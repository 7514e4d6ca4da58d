"""Friction that sticks and stops that are struck, in steppers: as in runs, and as formulas say."""

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import CheckpointError, SimulationError, StateError

MASS, STEP = 2.0, 0.01


def slider(*loads, gravity=0.0, **method):
    """A mass on a slide along x."""
    mb = sc.Multibody("slider", gravity=(gravity, 0, 0))
    mb.add_body("block", None, sc.Prismatic((1, 0, 0)), sc.Inertia(MASS, moment=0.1 * np.eye(3)))
    p = sim.Propagator(mb, **(method or {"integrator": "rk4", "step": STEP}))
    p.add(*loads)
    return p


def test_a_block_slides_to_rest_and_stays():
    """v^2 / 2a after v / a seconds, which is no end of a step."""
    p = slider(sim.HingeFriction("block", coulomb=3.0))
    step = p.stepper()
    step.set_state([0.0], [1.0])
    step(100)
    np.testing.assert_allclose(step.q, 0.5 / (3.0 / MASS), rtol=1e-12)
    assert step.v[0] == 0.0
    place = step.q[0]
    step.u[:] = 2.9  # less than it can hold
    step(50)
    assert (step.q[0], step.v[0]) == (place, 0.0)
    step.u[:] = 4.0
    step(50)
    np.testing.assert_allclose([step.q[0] - place, step.v[0]], [0.5 * 0.5 * 0.25, 0.5 * 0.5], rtol=1e-12)


@pytest.mark.parametrize("method", [{}, {"integrator": "dop853"}])
def test_a_mass_bounces_at_a_stop(method):
    """Heights e^2 h, at instants within steps."""
    p = slider(sim.JointLimit("block", lower=0.0, upper=9.0, restitution=0.5), gravity=-10.0, **method)
    step = p.stepper([], period=0.01)
    step.set_state([0.2], [0.0])  # it strikes at .2 s with 2 m/s, and rises for .1 s with 1 m/s
    step(30)
    np.testing.assert_allclose([step.q[0], step.v[0]], [0.05, 0.0], atol=1e-9)


@pytest.mark.parametrize("h", [0.01, 0.0025])
def test_a_mass_bounces_at_a_stop_next_to_contact(h):
    """The same to the order of the step: as a row of the contact problem. Its work is right."""
    stop = sim.JointLimit("block", lower=0.0, upper=9.0, restitution=0.5)
    step = slider(stop, sim.Contact(), gravity=-10.0, integrator="moreau", step=h).stepper([])
    assert not step.obstacle
    step.set_state([0.2], [0.0])
    recording = step.record(every=h)
    step(round(0.3 / h))
    np.testing.assert_allclose(step.v, 0.0, atol=1.01 * 10.0 * h)  # g h, and half of g h^2
    np.testing.assert_allclose(step.q, 0.05, rtol=0, atol=1.01 * 5.0 * h**2)
    np.testing.assert_allclose(recording.stop().work["limit of block"][-1], -0.75 * 0.5 * MASS * 2.0**2, rtol=1e-12)


def test_set_state_forgets_what_held():
    step = slider(sim.HingeFriction("block", coulomb=3.0)).stepper()
    step(10)  # it sticks
    step.set_state([0.5], [-1.0])
    step(20)
    np.testing.assert_allclose([step.q[0], step.v[0]], [0.5 - 0.2 + 0.5 * 1.5 * 0.04, -1.0 + 1.5 * 0.2], rtol=1e-12)


def test_a_state_beyond_a_stop_is_refused_with_nothing_changed():
    p = slider(sim.JointLimit("block", lower=-1.0, upper=1.0))
    for step in (p.stepper(), p.stepper(states=2)):
        step(3)
        before = step.t, step.q.copy()
        with pytest.raises(StateError, match=r"limit of block"):
            step.set_state([2.0], [0.0])
        step()
        assert step.t == before[0] + STEP
        np.testing.assert_array_equal(step.q, before[1])


def test_a_state_goes_on_in_runs_and_back():
    """With the same bits, in the middle of sticking and sliding."""

    def made():
        p = slider(sim.HingeFriction("block", coulomb=3.0), sim.JointLimit("block", lower=-0.1, restitution=0.5))
        p.mb.set_state([0.0], [-2.0])
        p.control("block", 0.5)
        return p

    whole = made()
    whole.run(0.6)
    for calls in (4, 9, 40):
        step = made().stepper()
        step(calls)
        p, state = made(), step.sim_state()
        p.set_state(state)
        p.run(0.6)
        other = made().stepper()
        other.set_state(state)
        other(60 - calls)
        for q, v in ((p.mb.q, p.mb.v), (other.q, other.v)):
            np.testing.assert_array_equal(np.concatenate([q, v]), np.concatenate([whole.mb.q, whole.mb.v]))
    with pytest.raises(CheckpointError, match="events"):
        slider().stepper().set_state(state)


def test_a_recording_has_the_forces_of_what_holds():
    p = slider(sim.HingeFriction("block", coulomb=3.0))
    p.mb.set_state([0.0], [1.0])
    step = p.stepper()
    step.u[:] = 1.5
    with step.record() as recording:
        step(100)  # it slides for 1 / .75 s
    run = recording.run()
    force = run.forces["friction of block"][:, 0]
    np.testing.assert_allclose(force, -3.0, rtol=1e-12)
    step(100)
    with step.record() as recording:
        step(10)
    np.testing.assert_allclose(recording.run().forces["friction of block"][:, 0], -1.5, rtol=1e-12)  # it sticks


def test_after_an_error_it_holds_as_before():
    """A force that fails in the step in which the block comes to rest."""
    fails = []

    def wind(t, state):
        if fails and state.v[0] == 0.0:
            raise SimulationError("no wind")
        return np.zeros(1)

    p = slider(sim.HingeFriction("block", coulomb=3.0), wind)
    p.mb.set_state([0.0], [0.5])  # at rest after 1/3 s
    step = p.stepper()
    step(33)
    before = step.q.copy(), step.v.copy()
    fails.append(True)
    with pytest.raises(SimulationError, match="no wind"):
        step()
    np.testing.assert_array_equal(np.concatenate([step.q, step.v]), np.concatenate(before))
    fails.clear()
    step(10)
    np.testing.assert_allclose([step.q[0], step.v[0]], [0.25 / 3.0, 0.0], rtol=1e-12)


def test_impacts_and_events_are_named():
    mb = sc.Multibody(gravity=(0, 0, -9.81))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    ball = mb.add_body("ball", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3) * 0.004))
    ball.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    mb.set_state([0, 0, 0, 1, 0, 0, 1.1], np.zeros(6))
    p = sim.Propagator(mb, integrator="rk4", step=0.01)
    p.add(sim.Impacts(restitution=0.5))
    with pytest.raises(StateError, match=r"the force 'impacts' acts within runs.*p\.advance_to"):
        p.stepper()

"""`step.attempt()` and `step.restart()`: states that cannot go on stay, the others have the bits of plain calls."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import SimulationError, StateError


def double(**more):
    mb = sc.load("double_pendulum")
    mb.set_state([0.3, -0.1], [0.0, 0.0])
    return sc.sim.Propagator(mb, integrator="rk4", step=0.01).stepper(**more)


@pytest.mark.parametrize("threads", [1, 2])
def test_states_that_cannot_go_on_stay_and_the_others_have_the_bits_of_calls(threads):
    batch, other = double(states=5, threads=threads), double(states=5)
    batch.set_state([0.1, 0.2], [1e200, 0.0], which=[1, 3])
    for k in range(3):
        errors = batch.attempt(7)
        other(7)
        assert list(errors) == [1, 3]
        assert all(isinstance(x, SimulationError) for x in errors.values())
        assert f"state 1 of the stepper of 'double_pendulum' stopped at t = {0.07 * k:.9g} s" in str(errors[1])
        np.testing.assert_array_equal(batch.q[[0, 2, 4]], other.q[[0, 2, 4]])
        np.testing.assert_array_equal(batch.q[[1, 3]], [[0.1, 0.2]] * 2)
        assert batch.t == other.t
    batch.reset([1, 3])
    assert batch.attempt(2) == {}
    batch.set_state([0.1, 0.2], [1e200, 0.0], which=4)
    with pytest.raises(SimulationError):  # a plain call is refused as a whole
        batch()


def test_states_that_are_skipped_stay():
    batch, other = double(states=3), double(states=3)
    assert batch.attempt(40, skip=[1]) == {}  # beyond the first look at stability
    other(40)
    np.testing.assert_array_equal(batch.q[1], [0.3, -0.1])
    np.testing.assert_array_equal(batch.q[[0, 2]], other.q[[0, 2]])
    batch(5)
    np.testing.assert_array_equal(batch.q[1], double_after(5))
    with pytest.raises(StateError, match="which must be"):
        batch.attempt(1, skip=[3])
    with pytest.raises(StateError, match="steps must be"):
        batch.attempt(-1)


def double_after(steps):
    step = double()
    step(steps)
    return step.q.copy()


def test_of_one_state_it_is_number_0():
    step = double()
    step(3)
    assert step.attempt(4) == {}
    np.testing.assert_array_equal(step.q, double_after(7))
    step.set_state([0.1, 0.2], [1e200, 0.0])
    assert list(step.attempt(2)) == [0]
    assert step.t == pytest.approx(0.09)
    step.reset()
    step(5)
    np.testing.assert_array_equal(step.q, double_after(5))


def test_numbers_that_are_not_finite_are_refused_as_in_calls():
    batch = double(states=2)
    before = batch.q.copy()
    batch.u[1, 0] = np.nan
    with pytest.raises(StateError, match="u of the stepper of 'double_pendulum' must be finite"):
        batch.attempt()
    np.testing.assert_array_equal(batch.q, before)
    assert batch.t == 0.0


@pytest.mark.parametrize("states", [None, 2])
def test_a_restart_has_the_time_and_the_bits_of_a_new_one(states):
    mb = sc.load("double_pendulum")
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01, t=1.0)
    p.control(mb.dof_names[0], ([1.0, 1.05, 1.2], [0.0, 3.0, -1.0]))
    step = p.stepper([], states=states)
    rows = []
    for _ in range(2):
        step(30)
        rows.append(step.q.copy())
        step.restart()
        assert step.t == 1.0
    np.testing.assert_array_equal(*rows)
    assert not step.is_autonomous
    start = np.array([0.2, 0.1]) if states is None else np.full((2, 2), 0.2)
    step.restart(start, start)
    np.testing.assert_array_equal(step.v, start)


def test_a_restart_that_is_refused_changes_nothing():
    step = double()
    step(3)
    before = step.t, step.q.tobytes()
    with pytest.raises(StateError):
        step.restart([0.1])
    assert (step.t, step.q.tobytes()) == before


def test_what_does_not_depend_on_the_time_is_told():
    mb = sc.load("cart_pole")
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
    p.control("cart", 1.0)
    assert p.stepper(["pole"]).is_autonomous
    p.add(lambda t, state: [np.sin(t), 0.0])
    step = p.stepper(["pole"])
    assert not step.is_autonomous
    assert step.shapes == ()


def test_a_restart_after_a_state_of_another_time_is_at_the_first_time():
    p = sc.sim.Propagator(sc.load("double_pendulum"), integrator="rk4", step=0.01, t=0.005)
    later = sc.sim.Propagator(sc.load("double_pendulum"), integrator="rk4", step=0.01, t=3.0)
    step, fresh = p.stepper([]), p.stepper([])
    step.set_state(later.stepper([]).sim_state())
    step(2)
    assert step.t == 3.02
    step.restart()
    assert step.t == 0.005
    step(7)
    fresh(7)
    assert step.t == fresh.t
    assert step.q.tobytes() == fresh.q.tobytes()

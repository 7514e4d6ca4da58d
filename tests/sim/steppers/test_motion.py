"""`on_error="keep"`: states of a batch that cannot go on are left where they were, and the others go on."""

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import SimulationError, StateError


def ball():
    mb = sc.Multibody("ball", gravity=(0, 0, -9.81))
    mb.add_body("ball", None, sc.Free(), sc.Inertia(2.0, com=(0.1, 0, 0), moment=np.eye(3) * 0.1))
    return sc.sim.Propagator(mb, integrator="rk4", step=0.01)


#: A ball that turns by 4 rad in a step, more than its chart allows.
FAST = [400.0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("threads", [1, 2])
def test_others_go_on(threads):
    p = ball()
    batch, other = (p.stepper([], states=3, threads=threads, on_error="keep") for _ in range(2))
    for x in (batch, other):
        x(2)
    assert batch.failed.which.tolist() == []
    batch.set_state(p.mb.q, FAST, which=1)
    before = batch.q[1].copy()
    for x in (batch, other):
        x(4)
        x()
    assert batch.t == pytest.approx(0.07)
    np.testing.assert_array_equal(batch.q[1], before)
    np.testing.assert_array_equal(batch.q[[0, 2]], other.q[[0, 2]])
    assert batch.failed.which.tolist() == [1]
    assert "state 1 of the stepper of 'ball' stopped at t = 0.02 s" in batch.failed.reasons[0]
    batch.reset(which=batch.failed.which)
    assert batch.failed.which.tolist() == []
    assert batch.failed.reasons == ()
    fresh = ball().stepper([], states=3)
    for x in (batch, other, fresh):
        x(3)
    np.testing.assert_allclose(batch.q[1], fresh.q[1], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(batch.q[[0, 2]], other.q[[0, 2]])


def test_all_may_fail():
    p = ball()
    batch = p.stepper([], states=2, on_error="keep")
    batch.set_state(p.mb.q, FAST)
    batch(3)
    assert batch.failed.which.tolist() == [0, 1]
    np.testing.assert_array_equal(batch.q[0], p.mb.q)
    assert batch.t == pytest.approx(0.03)
    batch.set_state(p.mb.q)
    batch()
    assert batch.v[1, 5] == pytest.approx(-0.0981, rel=1e-9)


def test_by_default_a_call_ends_with_an_error():
    p = ball()
    batch = p.stepper([], states=2)
    batch.set_state(p.mb.q, FAST, which=1)
    before = batch.q.copy()
    with pytest.raises(SimulationError, match="state 1 of the stepper of 'ball' stopped at t = 0 s"):
        batch(3)
    np.testing.assert_array_equal(batch.q, before)
    assert batch.failed.which.tolist() == []


def test_numbers_that_are_not_finite_are_refused_as_a_whole():
    p = ball()
    batch = p.stepper(states=2, on_error="keep")
    batch.u[1, 0] = np.nan
    before = batch.q.copy()
    with pytest.raises(StateError, match="u of the stepper of 'ball' must be finite"):
        batch()
    np.testing.assert_array_equal(batch.q, before)
    assert batch.failed.which.tolist() == []


@pytest.mark.parametrize("options", [{"on_error": "keep"}, {"on_error": "ignore", "states": 2}])
def test_bad_choices_are_refused(options):
    with pytest.raises(StateError, match="on_error is 'raise', or 'keep' of a batch, got"):
        ball().stepper([], **options)

"""Batches of steppers whose steps are not compiled: each state as if it were alone."""

import numpy as np
import pytest
from tests.sim.combinations import END, FEATURES, PUSHES, how, propagator
from tests.sim.test_closed import four_bar

import soacraft as sc
from soacraft import sim
from soacraft.errors import SimulationError, StateError


def stabilized():
    p = sim.Propagator(four_bar(), integrator="rk4", step=0.01, stabilization="baumgarte", time_constant=0.05)
    return p, p.mb.dof_names[0]


def adaptive():
    return sim.Propagator(sc.load("cart_pole"), rtol=1e-8), "cart"


def sticking():
    p = sim.Propagator(sc.load("cart_pole"), integrator="rk4", step=0.01)
    p.mb.set_state([0.0, 0.3], [0.2, 0.0])
    p.add(sim.HingeFriction("cart", coulomb=1.5))
    return p, "cart"


def prescribed():
    p = sim.Propagator(sc.load("cart_pole"), integrator="rk4", step=0.01)
    p.prescribe("pole", lambda t: (np.sin(t), np.cos(t), -np.sin(t)), breaks=[0.035])
    p.mb.set_state([0.0, 0.0], [0.0, 1.0])
    return p, "cart"


PERIODS = {"period": 0.01}


@pytest.mark.parametrize("make", [stabilized, adaptive, sticking, prescribed])
def test_each_state_goes_on_as_if_it_were_alone(make):
    """With the same bits, under controls of its own, after calls of several lengths and after a reset."""
    p, name = make()
    batch = p.stepper([name], states=3, **PERIODS)
    assert "steps: those of runs" in str(batch.report())
    alone = [p.stepper([name], **PERIODS) for _ in range(3)]
    forces = np.array([-2.0, 0.0, 3.0])
    batch.u[:, 0] = forces
    for step, u in zip(alone, forces, strict=True):
        step.u[:] = u
    for calls in (1, 7):
        batch(calls)
        for x in alone:
            x(calls)
    np.testing.assert_array_equal(batch.q, [x.q for x in alone])
    np.testing.assert_array_equal(batch.v, [x.v for x in alone])
    assert len({x.tobytes() for x in batch.q}) == 3
    batch.reset(1)
    alone[1].reset()
    assert batch.t == alone[1].t
    np.testing.assert_array_equal(batch.q, [x.q for x in alone])


def falling(limit):
    """A mass that falls under a force that fails beyond a distance."""
    mb = sc.Multibody("mass", gravity=(0, 0, -10.0))
    mb.add_body("mass", None, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0, moment=np.eye(3)))

    def floor(t, state):
        if state.q[0] < limit:
            raise SimulationError("it fell too far")
        return np.zeros(1)

    p = sim.Propagator(mb, integrator="rk4", step=0.01)
    p.add(floor, sim.HingeFriction("mass", coulomb=1e-3))
    return p


def test_after_an_error_all_are_where_they_were():
    batch = falling(-1.0).stepper([], states=2)
    batch.set_state([[1.0], [-0.8]])
    batch(3)
    before = batch.t, batch.q.copy(), batch.v.copy()
    with pytest.raises(SimulationError, match=r"state 1 of the stepper of 'mass' stopped.*too far.*which=1"):
        batch(60)
    assert batch.t == before[0]
    np.testing.assert_array_equal(batch.q, before[1])
    np.testing.assert_array_equal(batch.v, before[2])
    batch.set_state([1.0], which=1)
    batch(10)
    t = 0.1
    np.testing.assert_allclose(batch.q[1], 1.0 - 0.5 * (10.0 - 1e-3) * t**2, rtol=1e-12)


def test_the_others_go_on_where_one_is_kept():
    batch = falling(-1.0).stepper([], states=2, on_error="keep")
    batch.set_state([[1.0], [-0.8]])
    with batch.record(which=1) as recording:
        batch(40)
    assert batch.failed.which.tolist() == [1]
    assert "too far" in batch.failed.reasons[0]
    np.testing.assert_allclose(batch.q[0], 1.0 - 0.5 * (10.0 - 1e-3) * 0.16, rtol=1e-12)
    fell = batch.q[1, 0]
    assert -1.0 <= fell < -0.8
    assert recording.run().q[:, 0].min() >= -1.0
    batch(2)
    assert batch.q[1, 0] == fell
    batch.set_state([2.0], which=1)
    assert not len(batch.failed.which)
    batch(10)
    np.testing.assert_allclose(batch.q[1], 2.0 - 0.5 * (10.0 - 1e-3) * 0.01, rtol=1e-12)


def test_pushes_and_recordings_are_of_their_states():
    p = falling(-9.0)
    batch, alone = p.stepper([], states=2), p.stepper([])
    recording = batch.record(every=0.02, which=1)
    single = alone.record(every=0.02)
    for step, which in ((batch, 1), (alone, None)):
        step.push("mass", sc.Wrench((0, 0, 0), (0, 0, 25.0)), duration=0.05, which=which)
        step(10)
    np.testing.assert_array_equal(batch.q[1], alone.q)
    assert batch.q[0, 0] < 0.0 < batch.q[1, 0]
    with pytest.raises(StateError, match="state 1 of the stepper is recorded already"):
        batch.record(which=1)
    run, wanted = recording.stop(), single.stop()
    for a, b in ((run.q, wanted.q), (run.vdot, wanted.vdot), (run.work["push"], wanted.work["push"])):
        np.testing.assert_array_equal(a, b)


def test_states_as_values_are_of_one_or_of_all():
    p, name = sticking()
    batch = p.stepper([name], states=2)
    batch.u[:, 0] = 0.5, 4.0
    batch(5)
    state = batch.sim_state(1)
    batch(5)
    ends = batch.q.copy()
    batch.set_state(state, which=0)  # it keeps the time
    assert batch.t == pytest.approx(0.1)
    np.testing.assert_array_equal(batch.q[0], state.q)
    batch(5)
    np.testing.assert_array_equal(batch.q[0], ends[1])
    batch.set_state(state)
    assert batch.t == pytest.approx(0.05)
    batch(5)
    np.testing.assert_array_equal(batch.q, [ends[1], ends[1]])


def test_parameters_of_states_are_of_compiled_steps():
    p, name = sticking()
    with pytest.raises(StateError, match="'friction of cart' is a HingeFriction; edit the model"):
        p.stepper([name], states=2, parameters={"pole.mass": [1.0, 2.0]})
    batch = p.stepper([name], states=2)
    with pytest.raises(StateError, match="its states have the parameters of the model"):
        batch.set_parameters({"pole.mass": 1.0})


@pytest.mark.parametrize(
    ("model", "features"),
    [("tree", ("contact", "stops", "friction")), ("tree", ("friction", "stops")),
     ("closed chain", ("friction", "stops")), ("flexible", ("contact", "prescribed"))],
)  # fmt: skip
def test_several_features_as_in_runs(model, features):
    """With the same bits, in calls of several lengths."""

    def made(push):
        p = propagator(model, features[0], push)
        for x in features:
            FEATURES[x].to_propagator(p)
        return p

    batch = made(PUSHES[0]).stepper(["first"], states=2)
    batch.u[:, 0] = PUSHES
    steps = round(END / how(features[0])["step"])
    batch(steps // 3)
    batch(steps - steps // 3)
    for q, v, push in zip(batch.q, batch.v, PUSHES, strict=True):
        p = made(push)
        p.run(END)
        np.testing.assert_array_equal(np.concatenate([q, v]), np.concatenate([p.mb.q, p.mb.v]))

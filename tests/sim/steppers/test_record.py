"""`step.record`: a run of what a stepper did, as a run of a propagator has it."""

import numpy as np
import pytest
from tests.sim.test_closed import four_bar
from tests.sim.test_compiled import MODELS
from tests.sim.test_compiled_contact import MODELS as TOUCHING
from tests.sim.test_compiled_contact import standing

import soacraft as sc
from soacraft.errors import SimulationError, StateError

STEP = 0.004
COLUMNS = ("q", "v", "vdot", "kinetic", "potential", "energy", "violation")


def same(recorded, run, atol=1e-10):
    """All columns, works and forces by name."""
    assert set(recorded.work) - {"push"} == set(run.work)
    np.testing.assert_allclose(recorded.t, run.t, rtol=0, atol=1e-12)
    for name in COLUMNS:
        x, y = getattr(recorded, name), getattr(run, name)
        np.testing.assert_allclose(x, y, rtol=0, atol=atol * max(1.0, np.abs(y).max()), err_msg=name)
    for name, y in run.work.items():
        size = max(1.0, np.abs(y).max())
        np.testing.assert_allclose(recorded.work[name], y, rtol=0, atol=atol * size, err_msg=name)
        size = max(1.0, np.abs(run.forces[name]).max())
        np.testing.assert_allclose(recorded.forces[name], run.forces[name], rtol=0, atol=atol * size, err_msg=name)


@pytest.mark.parametrize("method", ["rk4", "verlet", "gauss4", "variational"])
@pytest.mark.parametrize("name", MODELS)
def test_a_recording_is_the_run(name, method):
    made = []
    for _ in range(2):
        mb = MODELS[name]()
        p = sc.sim.Propagator(mb, integrator=method, step=STEP)
        p.control(mb.dof_names[-1], 0.3)
        made.append(p)
    step = made[0].stepper([made[0].mb.dof_names[-1]])
    recording = step.record()
    for n in (1, 4, 0, 5):
        step(n)
    recorded, run = recording.stop(), made[1].advance_to(10 * STEP)
    same(recorded, run)
    assert recorded.integrator == run.integrator
    assert recorded.labels == run.labels
    assert len(recorded.events) == 0
    step(5)
    assert len(recording.run()) == 11
    assert not recorded.has_dense_output


@pytest.mark.parametrize("method", ["moreau", "moreau_midpoint"])
@pytest.mark.parametrize("states", [None, 2])
@pytest.mark.parametrize("name", ["pins", "quaternions"])
def test_a_recording_of_contact_is_the_run(name, method, states):
    made = [standing(TOUCHING[name]) for _ in range(2)]
    ps = [sc.sim.Propagator(mb, integrator=method, step=STEP) for mb, _ in made]
    for p, (_, scene) in zip(ps, made, strict=True):
        p.add(sc.sim.Contact(scene, limits=False))
    step = ps[0].stepper([], states=states)
    recording = step.record(which=None if states is None else 1)
    for _ in range(4):
        step(5)
    recorded, run = recording.stop(), ps[1].advance_to(20 * STEP)
    same(recorded, run, atol=1e-8)
    assert run.contacts.pairs
    assert set(recorded.contacts.pairs) == set(run.contacts.pairs)
    for pair in run.contacts.pairs:
        x, y = (r.contacts.force(*pair) for r in (recorded, run))
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-7 * max(1.0, np.abs(y).max()))


def test_rows_apart_have_the_mean_forces_of_contacts():
    """A box at rest: its weight, in rows of one step and of ten; momentum is what forces make of time."""
    mb = sc.Multibody("box", gravity=(0, 0, -9.81))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    box = mb.add_body("box", None, sc.Free(), sc.Inertia(3.0, moment=np.eye(3) * 0.02))
    box.add_geometry(sc.Geometry("skin", "box", (0.2, 0.2, 0.2)))
    mb.set_state([0, 0, 0, 1, 0, 0, 0.15], np.zeros(6))
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.002)
    p.add(sc.sim.Contact())
    step = p.stepper([])
    recording = step.record(every=0.02)
    step(200)
    run = recording.stop()
    np.testing.assert_allclose(run.t, 0.02 * np.arange(21), rtol=0, atol=1e-12)
    force = run.contacts.force("box")
    np.testing.assert_allclose(force[-1], [0, 0, 3.0 * 9.81], rtol=1e-6, atol=1e-6)
    change = np.diff(run.v[:, 5]) * 3.0 / 0.02 + 3.0 * 9.81
    np.testing.assert_allclose(force[1:, 2], change, rtol=1e-6, atol=1e-5)


def test_recordings_of_a_closed_chain_and_of_steps_that_python_takes():
    for make, controls in ((four_bar, None), (lambda: sc.load("double_pendulum"), "function")):
        runs = []
        for _ in range(2):
            mb = make()
            p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
            if controls:
                p.add(lambda t, state: [0.5 * np.sin(t), 0.0])
            runs.append(p)
        step = runs[0].stepper([])
        recording = step.record(every=0.01)
        step(10)
        same(recording.stop(), runs[1].advance_to(0.1))


def test_pushes_and_numbers_of_controls_are_in_the_run():
    mb = sc.load("cart_pole")
    step = sc.sim.Propagator(mb, integrator="rk4", step=0.01).stepper()
    recording = step.record()
    step.push("cart", sc.Wrench((0, 0, 0), (2.0, 0, 0), expressed_in="inertial"), duration=0.02)
    step.u[0] = 3.0
    step(2)
    step.u[0] = -1.0
    step(2)
    run = recording.stop()
    np.testing.assert_array_equal(run.forces["cart"][:, 0], [0.0, 3.0, 3.0, -1.0, -1.0])
    np.testing.assert_allclose(run.forces["push"][:, 0], [0.0, 2.0, 2.0, 0.0, 0.0], atol=1e-14)
    moved = np.diff(run.q[:, 0])
    np.testing.assert_allclose(run.work["push"][-1], 2.0 * moved[:2].sum(), rtol=1e-6)
    assert run.check().imbalance < 1e-9


def test_one_state_of_a_batch_with_parameters_of_its_own():
    p = sc.sim.Propagator(sc.load("cart_pole"), integrator="rk4", step=0.01)
    p.mb.set_state([0.0, 0.4], [0.0, 0.0])
    batch = p.stepper([], states=3, parameters={"pole.mass": [0.5, 1.5, 2.5]})
    batch(3)
    with batch.record(every=0.02, which=2) as recording:
        batch(10)
        with pytest.raises(StateError, match=r"state 2 is recorded: end that with recording.stop\(\) first"):
            batch.set_parameters({"pole.mass": 1.0})
        p.mb["cart"].inertia = p.mb["cart"].inertia
        with pytest.raises(StateError, match="was edited while a state with other parameters is recorded"):
            batch()
    run = recording.run()
    np.testing.assert_allclose(run.t, 0.03 + 0.02 * np.arange(6), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(run.q[-1], batch.q[2])
    sc.analysis.set_parameters(p.mb, "pole.mass", [2.5])
    np.testing.assert_allclose(run.kinetic[-1], sc.dynamics.kinetic_energy(p.mb, run.q[-1], run.v[-1]), rtol=1e-12)
    assert run.check().imbalance < 1e-6
    batch()


def test_a_state_that_is_set_has_a_row_of_its_own():
    mb = sc.load("pendulum")
    step = sc.sim.Propagator(mb, integrator="rk4", step=0.01).stepper([])
    recording = step.record()
    step(2)
    step.set_state([1.0])
    step()
    run = recording.stop()
    np.testing.assert_allclose(run.t, [0.0, 0.01, 0.02, 0.02, 0.03], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(run.q[3], [1.0])
    assert run.check().imbalance < 1e-8


def test_rows_of_a_call_that_failed():
    """One state has those before; a batch none of them."""
    for states in (None, 2):
        mb = sc.Multibody("ball", gravity=(0, 0, -9.81))
        mb.add_body("ball", None, sc.Free(), sc.Inertia(2.0, com=(0.1, 0, 0), moment=np.eye(3) * 0.1))
        p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
        p.control(mb.dof_names[0], ([0.0, 0.02, 0.021], [0.0, 0.0, 1e6]))
        step = p.stepper([], states=states)
        recording = step.record(which=None if states is None else 0)
        with pytest.raises(SimulationError, match="turns a hinge"):
            step(20)
        rows = recording.run()
        np.testing.assert_allclose(rows.t, [0.0] if states else [0.0, 0.01, 0.02], rtol=0, atol=1e-12)
        assert step.t == pytest.approx(0.0 if states else 0.021)  # where the samples of the control bend


def test_a_recording_changes_no_bit_of_the_motion():
    made = [standing(TOUCHING["quaternions"]) for _ in range(2)]
    ends = []
    for i, (mb, scene) in enumerate(made):
        p = sc.sim.Propagator(mb, integrator="moreau", step=STEP)
        p.add(sc.sim.Contact(scene))
        step = p.stepper([])
        if i:
            recording = step.record(every=2 * STEP)
        step(20)
        ends.append(step.q.tobytes() + step.v.tobytes())
    assert ends[0] == ends[1]
    assert len(recording.run()) == 11


def test_bad_recordings_are_refused():
    p = sc.sim.Propagator(sc.load("pendulum"), integrator="rk4", step=0.01)
    step, batch = p.stepper([]), p.stepper([], states=2)
    with pytest.raises(StateError, match=r"every is 0.015 s, which is no multiple of the step of 0.01 s"):
        step.record(every=0.015)
    with pytest.raises(StateError, match="every must be a nanosecond or more"):
        step.record(every=-1.0)
    with pytest.raises(StateError, match="which must be a whole number from 0 to 1"):
        batch.record()
    recording = step.record()
    with pytest.raises(StateError, match=r"the stepper is recorded already; end that with recording.stop\(\) first"):
        step.record()
    assert repr(recording) == "Recording of 'pendulum', a row every 0.01 s"
    recording.stop()
    recording.stop()
    assert repr(recording).endswith("ended")
    step.record().stop()
    with pytest.raises(StateError, match="its rows alone"):
        recording.run().at(0.0)


def test_a_method_that_chooses_its_steps_has_rows_where_they_are_wanted():
    mb = sc.load("double_pendulum")
    mb.set_state([0.4, -0.2], [0.0, 0.5])
    p = sc.sim.Propagator(mb, rtol=1e-10)
    step = p.stepper([], period=0.05)
    recording = step.record(every=0.02)
    step(4)
    run, other = recording.stop(), p.advance_to(0.2)
    np.testing.assert_allclose(run.t, 0.02 * np.arange(11), rtol=0, atol=1e-12)
    for t, q in zip(run.t, run.q, strict=True):
        np.testing.assert_allclose(q, other.at(t).q, atol=1e-8)


def test_a_recording_that_is_refused_leaves_nothing():
    step = sc.sim.Propagator(sc.load("pendulum"), integrator="rk4", step=0.01).stepper()
    step.u[0] = np.nan
    with pytest.raises(StateError, match="u of the stepper"):
        step.record()
    step.u[0] = 0.0
    assert len(step.record().stop()) == 1


@pytest.mark.parametrize("varied", [True, False])
def test_a_state_is_recorded_again_after_an_edit(varied):
    """Also where the edit comes between two calls, before a recording begins."""
    mb = sc.load("cart_pole")
    mb.set_state([0.0, 0.4], [0.0, 0.0])
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
    batch = p.stepper([], states=2, parameters={"pole.mass": [1.0, 2.0]} if varied else None)
    for mass in (1.0, 3.0):
        batch.record(which=1).stop()
        mb["cart"].inertia = sc.Inertia(mass)
        batch()
        mb["cart"].inertia = sc.Inertia(2.0 * mass)
        recording = batch.record(which=1)
        batch(5)
        run = recording.stop()
        assert len(run) == 6
        assert run.check().imbalance < 1e-6
        batch(2)


def test_contacts_of_the_last_step_are_known_after_a_recording():
    mb, scene = standing(TOUCHING["pins"])
    p = sc.sim.Propagator(mb, integrator="moreau", step=STEP)
    p.add(sc.sim.Contact(scene, limits=False))
    step = p.stepper([])
    recording = step.record()
    step(10)
    before = step.contacts
    recording.stop()
    assert before.pairs
    assert step.contacts.pairs == before.pairs
    step()
    assert step.contacts.pairs

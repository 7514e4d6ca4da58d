"""`p.stepper()`: the states of runs and rollouts, the same bits where both are compiled, under numbers that change."""

import copy
import signal
import threading
import time

import numpy as np
import pytest
from tests.sim.test_closed import four_bar
from tests.sim.test_compiled import MODELS
from tests.sim.test_compiled_contact import MODELS as TOUCHING
from tests.sim.test_compiled_contact import standing

import soacraft as sc
from soacraft.errors import ModelError, SimulationError, StaleError, StateError

FIXED = ("rk4", "euler_symplectic", "verlet", "gauss4", "gauss6", "variational", "variational4")
STEP = 0.004


def driven(mb, method, **options):
    """A propagator with a number, and samples with a kink between steps, on two dofs."""
    p = sc.sim.Propagator(mb, integrator=method, step=STEP, **options)
    p.control(mb.dof_names[-1], 0.3)
    p.control(mb.dof_names[0], ([0.01, 0.0217, 0.025], [0.0, 1.0, -2.0]))
    return p


def put(p, *loads):
    p.add(*loads)
    return p


def slider(mass=2.0):
    """A mass on a vertical slider."""
    mb = sc.Multibody("lift")
    mb.add_body("cart", None, sc.Prismatic((0, 0, 1)), sc.Inertia(mass))
    mb.gravity = (0, 0, -9.81)
    return mb


def box_on_floor(height=0.0, side=0.2):
    """A box of 3 kg over a floor."""
    mb = sc.Multibody("box")
    mb.gravity = (0, 0, -9.81)
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    box = mb.add_body("box", None, sc.Free(), sc.Inertia(3.0, moment=np.eye(3) * 0.02))
    box.add_geometry(sc.Geometry("skin", "box", (side, side, side)))
    mb.set_state([0, 0, 0, 1, 0, 0, 0.5 * side + height], np.zeros(6))
    return mb


# -- the same states ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", FIXED)
@pytest.mark.parametrize("name", MODELS)
def test_steps_are_those_of_runs(name, method):
    mb = MODELS[name]()
    step = driven(mb, method).stepper(controls=[mb.dof_names[-1]])
    run = driven(MODELS[name](), method).advance_to(10 * STEP)
    assert step.u == [0.3]
    assert "compiled" in step.report()
    step()
    step(9)
    assert step.t == pytest.approx(run.t[-1], abs=1e-12)
    scale = max(1.0, np.abs(run.v).max())
    np.testing.assert_allclose(step.q, run.q[-1], rtol=0, atol=1e-13)
    np.testing.assert_allclose(step.v, run.v[-1], rtol=0, atol=1e-13 * scale)


@pytest.mark.parametrize("method", ["moreau", "moreau_midpoint"])
@pytest.mark.parametrize("name", TOUCHING)
def test_steps_with_contact_are_those_of_runs(name, method):
    made = [standing(TOUCHING[name]) for _ in range(2)]
    ps = [sc.sim.Propagator(mb, integrator=method, step=STEP) for mb, _ in made]
    for p, (mb, scene) in zip(ps, made, strict=True):
        p.add(sc.sim.Contact(scene))
        p.control(mb.dof_names[-1], 0.3)
    step, run = ps[0].stepper(controls=[]), ps[1].advance_to(20 * STEP)
    for _ in range(20):
        step()
    scale = max(1.0, np.abs(run.v).max())
    np.testing.assert_allclose(step.q, run.q[-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(step.v, run.v[-1], rtol=0, atol=1e-9 * scale)


@pytest.mark.parametrize("method", ["rk4", "euler_symplectic", "moreau", "moreau_midpoint"])
def test_numbers_that_change_are_those_of_rollouts_with_the_same_forces(method):
    rng = np.random.default_rng(3)
    (mb, scene), steps = standing(TOUCHING["quaternions"]), 25
    p = sc.sim.Propagator(mb, integrator=method, step=STEP)
    if method.startswith("moreau"):
        p.add(sc.sim.Contact(scene))
    force = rng.normal(size=(steps, mb.nv))
    Q, V = p.rollout(mb.q, mb.v, force, steps)
    step = p.stepper()
    assert step.names == tuple(mb.dof_names)
    for k, T in enumerate(force):
        step.u[:] = T
        step()
        np.testing.assert_allclose(step.q, Q[k + 1], rtol=0, atol=1e-11)
    np.testing.assert_allclose(step.v, V[-1], rtol=0, atol=1e-10 * np.abs(V).max())


def test_ten_steps_at_once_are_ten_steps():
    bits = []
    for calls in ([10], [1] * 10, [3, 0, 7]):
        mb = MODELS["springs"]()
        step = driven(mb, "rk4").stepper([mb.dof_names[-1]])
        step.u[:] = 0.1
        for n in calls:
            step(n)
        bits.append((step.t, step.q.tobytes(), step.v.tobytes()))
    assert bits[0] == bits[1] == bits[2]


def test_a_force_that_holds_a_weight_holds_it():
    mb = slider(2.0)
    step = sc.sim.Propagator(mb, integrator="rk4", step=0.01).stepper()
    step.u[:] = 2.0 * 9.81
    step(100)
    assert abs(step.q[0]) < 1e-14
    step.u[:] = 2.0 * (9.81 + 3.0)  # 3 m/s^2 upward
    step(100)
    np.testing.assert_allclose([step.q[0], step.v[0]], [1.5, 3.0], rtol=1e-12)
    assert step.t == 2.0


def test_an_actuator_has_its_law_and_its_limits():
    mb = slider(2.0)
    law = {"biastype": "affine", "gainprm": [50.0], "biasprm": [0.0, -50.0, -4.0], "forcerange": [-5.0, 30.0]}
    mb.add_actuator(sc.Actuator("servo", "general", {"cart": 1.0}, law))
    step = sc.sim.Propagator(mb, integrator="rk4", step=0.01).stepper()
    assert step.names == ("servo",)
    step.u[:] = 10.0  # asks for 500 N, and gets 30
    step()
    assert step.v[0] == pytest.approx(0.01 * (30.0 / 2.0 - 9.81), rel=1e-12)
    step.reset()
    step.u[:] = 0.4 + 2.0 * 9.81 / 50.0
    step(2000)
    np.testing.assert_allclose(step.q, [0.4], atol=1e-6)


def test_the_propagator_stays_where_it_is():
    p = driven(MODELS["quaternions"](), "rk4")
    before = p.t, p.mb.q.tobytes(), p.mb.v.tobytes()
    step = p.stepper(controls=[])
    step(5)
    assert (p.t, p.mb.q.tobytes(), p.mb.v.tobytes()) == before
    run = p.advance_to(5 * STEP)
    np.testing.assert_allclose(run.q[-1], step.q, rtol=0, atol=1e-13)


# -- what touches -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["moreau", "moreau_midpoint"])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_contacts_of_a_box_at_rest_carry_its_weight(method, size):
    mb = box_on_floor(side=0.2 * size)
    step = put(sc.sim.Propagator(mb, integrator=method, step=1e-3 * np.sqrt(size)), sc.sim.Contact()).stepper([])
    assert len(step.contacts.pairs) == 0  # before the first step
    step(10)
    touches = step.contacts
    assert {frozenset(x) for x in touches.pairs} == {frozenset(("inertial/floor", "box/skin"))}
    sign = 1.0 if touches.pairs[0][1] == "box/skin" else -1.0
    np.testing.assert_allclose(sign * touches.forces.sum(axis=0), [0, 0, 3.0 * 9.81], rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(np.abs(touches.points[:, :2]), 0.1 * size, rtol=1e-6)
    assert set(touches.states) <= {"stick", "slip"}
    assert np.abs(touches.gaps).max() < 0.5001 * 9.81 * step.period**2  # where it would be without the floor
    assert "points of contact" in repr(touches)
    np.testing.assert_allclose(step.v, 0, atol=1e-12 * size)


def test_a_start_in_the_floor_is_taken_out_as_in_a_run():
    runs = [put(sc.sim.Propagator(box_on_floor(-0.01), integrator="moreau", step=1e-3), sc.sim.Contact()) for _ in "ab"]
    step, run = runs[0].stepper([]), runs[1].advance_to(0.3)
    step(300)
    np.testing.assert_allclose(step.q, run.q[-1], rtol=0, atol=1e-9)
    assert step.q[6] > 0.1 - 1e-4


def test_sensors_at_rest_feel_gravity(tmp_path):
    file = tmp_path / "imu.xml"
    file.write_text(
        """<mujoco><option timestep="0.002"/><worldbody><geom name="floor" type="plane" size="5 5 1"/>
        <body name="b" pos="0 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="2"/><site name="s"/></body>
        </worldbody><sensor><accelerometer name="acc" site="s"/><gyro name="gyro" site="s"/></sensor></mujoco>"""
    )
    step = sc.sim.Propagator.from_file(str(file)).stepper(controls=[])
    step(20)
    np.testing.assert_allclose(step.sensors["acc"], [0, 0, 9.81], atol=1e-7)
    np.testing.assert_allclose(step.sensors["gyro"], 0, atol=1e-9)
    free = sc.sim.Propagator(box_on_floor(1.0), integrator="rk4", step=1e-3)
    assert free.stepper([]).sensors == {}


# -- batches ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("method", ["rk4", "moreau"])
def test_states_of_a_batch_are_as_they_are_alone(method, threads):
    rng = np.random.default_rng(5)
    mb, scene = standing(TOUCHING["pins"])
    p = sc.sim.Propagator(mb, integrator=method, step=STEP)
    if method == "moreau":
        p.add(sc.sim.Contact(scene, limits=False))
    count, force = 7, rng.normal(size=(6, 7, mb.nv))
    batch = p.stepper(states=count, threads=threads)
    assert batch.u.shape == (count, mb.nv)
    assert batch.q.shape == (count, mb.nq)
    v = mb.v + 0.01 * rng.normal(size=(count, mb.nv))
    batch.set_state(mb.q, v)
    for T in force:
        batch.u[:] = T
        batch()
    for i in range(count):
        alone = p.stepper()
        alone.set_state(mb.q, v[i])
        for T in force:
            alone.u[:] = T[i]
            alone()
        assert alone.q.tobytes() == batch.q[i].tobytes()
        assert alone.v.tobytes() == batch.v[i].tobytes()


def test_states_of_a_batch_are_set_and_begin_again_one_by_one():
    p = sc.sim.Propagator(sc.load("cart_pole"), integrator="rk4", step=0.01)
    batch = p.stepper(states=4)
    batch.set_state([[0.0, 0.1], [0.0, 0.2]], which=[2, 0])
    np.testing.assert_array_equal(batch.q[:, 1], [0.2, 0.0, 0.1, 0.0])
    batch.set_state({"cart": 0.0, "pole": 0.5}, which=3)
    assert batch.q[3, 1] == 0.5
    assert batch.state(3).q[1] == 0.5
    batch(5)
    batch.reset(np.array([False, False, True, False]))
    assert batch.q[2, 1] == 0.0
    assert batch.q[0, 1] != 0.0
    assert batch.t == 0.05
    batch.reset()
    np.testing.assert_array_equal(batch.q, 0.0)
    batch.u = np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(batch.u[1], [2.0, 3.0])
    batch.u = {"pole": -1.0}
    np.testing.assert_array_equal(batch.u[1], [2.0, -1.0])


# -- what is not compiled -----------------------------------------------------------------------------------------


def test_a_closed_chain_is_stepped_as_in_a_run():
    a, b = four_bar(), four_bar()
    step = sc.sim.Propagator(a, integrator="rk4", step=0.01).stepper(controls=[])
    run = sc.sim.Propagator(b, integrator="rk4", step=0.01).advance_to(0.2)
    step(5)
    step(15)
    np.testing.assert_allclose(step.q, run.q[-1], rtol=0, atol=1e-12)
    assert "steps: compiled" in step.report()


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_methods_that_choose_their_steps_have_a_period(method):
    mb = sc.load("double_pendulum")
    mb.set_state([0.4, -0.2], [0.0, 0.5])
    p = sc.sim.Propagator(mb, integrator=method, rtol=1e-10)
    step = p.stepper(controls=[], period=0.05)
    step(4)
    run = p.advance_to(0.2)
    assert step.period == 0.05
    assert step.t == pytest.approx(0.2)
    np.testing.assert_allclose(step.q, run.q[-1], atol=1e-8)


def test_a_period_of_several_steps():
    ps = [driven(MODELS["pins"](), "rk4") for _ in range(2)]
    many, one = ps[0].stepper([], period=5 * STEP), ps[1].stepper([])
    many(2)
    one(10)
    assert many.t == one.t
    assert many.q.tobytes() == one.q.tobytes()


def test_functions_and_prescribed_motions_act():
    def pulls(t, state):
        return [0.0, np.cos(3.0 * t) - state.v[1]]

    runs = []
    for _ in range(2):
        mb = sc.load("cart_pole")
        p = put(sc.sim.Propagator(mb, integrator="rk4", step=0.01), pulls)
        p.prescribe("cart", lambda t: (0.1 * np.sin(t), 0.1 * np.cos(t), -0.1 * np.sin(t)))
        runs.append(p)
    step, run = runs[0].stepper(controls=["pole"]), runs[1].advance_to(0.3)
    step(30)
    np.testing.assert_allclose(step.q, run.q[-1], atol=1e-12)
    assert step.q[0] == pytest.approx(0.1 * np.sin(0.3), rel=1e-12)


def test_numbers_act_in_steps_that_python_takes():
    mb = four_bar()
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
    step, other = p.stepper([mb.dof_names[0]]), p.stepper([mb.dof_names[0]])
    step.u[:] = 2.0
    step(10)
    p.control(mb.dof_names[0], 2.0)
    run = p.advance_to(0.1)
    other(10)
    np.testing.assert_allclose(step.q, run.q[-1], atol=1e-12)
    assert np.abs(step.q - other.q).max() > 1e-4


# -- changes and faults -------------------------------------------------------------------------------------------


def test_parameters_and_stored_forces_are_followed():
    mb = slider(2.0)
    step = sc.sim.Propagator(mb, integrator="rk4", step=0.01).stepper()
    step.u[:] = 4.0 * 9.81
    mb["cart"].inertia = sc.Inertia(4.0)
    step(10)
    assert abs(step.v[0]) < 1e-13
    mb.set_force("cart", sc.Wrench((0, 0, 0), (0, 0, 8.0), expressed_in=mb.root))
    step(10)
    assert step.v[0] == pytest.approx(0.1 * 8.0 / 4.0, rel=1e-12)
    mb.clear_forces()
    step(10)
    assert step.v[0] == pytest.approx(0.1 * 8.0 / 4.0, rel=1e-12)


def test_another_structure_is_refused():
    mb = slider()
    step = sc.sim.Propagator(mb, integrator="rk4", step=0.01).stepper()
    step()
    mb.add_body("more", "cart", sc.Pin((0, 1, 0)), sc.Inertia(1.0, moment=np.eye(3) * 0.1))
    before = step.q.tobytes()
    with pytest.raises(StaleError, match="changed after this propagator was made"):
        step()
    assert step.q.tobytes() == before


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("compiled", [True, False])
def test_numbers_that_are_not_finite_are_refused(bad, compiled):
    mb = slider() if compiled else four_bar()
    step = sc.sim.Propagator(mb, integrator="rk4", step=0.01).stepper()
    step()
    before = step.t, step.q.tobytes()
    step.u[0] = bad
    with pytest.raises(StateError, match="u of the stepper of"):
        step()
    assert (step.t, step.q.tobytes()) == before
    step.u[0] = 0.0
    step()


def test_a_motion_that_diverges_is_named_and_stays_where_it_was():
    mb = slider(1e-3)
    law = {"biastype": "affine", "gainprm": [1e6], "biasprm": [0.0, -1e6, -10.0]}
    mb.add_actuator(sc.Actuator("servo", "general", {"cart": 1.0}, law))
    step = sc.sim.Propagator(mb, integrator="rk4", step=0.01).stepper()
    step.u[:] = 0.1
    with pytest.raises(SimulationError, match=r"stiff|not finite"):
        step(1000)
    assert np.isfinite(step.q).all()
    assert np.isfinite(step.v).all()


@pytest.mark.parametrize("at_once", [True, False])
def test_steps_too_long_for_a_servo_are_named(at_once):
    """The servos of the panda's file act within 0.3 ms: rk4 takes steps up to 0.83 ms."""
    mb = sc.load("panda")
    for h, stiff in ((1e-3, True), (5e-4, False)):
        step = sc.sim.Propagator(mb, integrator="rk4", step=h).stepper()
        if stiff:
            with pytest.raises(SimulationError, match=r"the stepper of 'panda' at t = .*stability limits the steps"):
                _ = step(3000) if at_once else [step() for _ in range(3000)]
        else:
            step(3000)


def test_one_state_of_a_batch_that_fails_leaves_the_others():
    mb = sc.load("double_pendulum")
    batch = sc.sim.Propagator(mb, integrator="rk4", step=0.01).stepper(states=3)
    batch.set_state([0.1, 0.2], [[0.0, 0.0], [1e200, 0.0], [0.0, 0.0]])
    with pytest.raises(SimulationError, match=r"state 1 of the stepper of '\w+' stopped at t = 0 s") as caught:
        batch()
    assert caught.value.t == batch.t == 0.0
    assert "which=1" in str(caught.value)
    np.testing.assert_array_equal(batch.q, np.tile([0.1, 0.2], (3, 1)))  # all are as they were
    assert batch.v[1, 0] == 1e200
    assert batch.q[0, 0] == batch.q[2, 0]
    batch.set_state([0.1, 0.2], which=1)
    batch()


@pytest.mark.parametrize("at_once", [True, False])
def test_ctrl_c_ends_steps_and_they_go_on(at_once):
    step = sc.sim.Propagator(sc.load("panda"), integrator="rk4", step=1e-4).stepper()
    if at_once:  # in one call of compiled code, without looks at stability
        step._motion._looks.due = 2**62
    step()
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        step(2_000_000_000)
    assert time.monotonic() - start < 20.0
    t, q = step.t, step.q.copy()
    assert t > 1e-4
    step()
    assert step.t == pytest.approx(t + 1e-4, abs=1e-9)
    assert (step.q != q).any()


def test_two_threads_of_one_stepper_are_refused():
    step = sc.sim.Propagator(sc.load("panda"), integrator="rk4", step=1e-4).stepper()
    step()
    faults = []

    def walk():
        try:
            for _ in range(50):
                step(200)
        except StateError as wrong:
            faults.append(str(wrong))

    team = [threading.Thread(target=walk) for _ in range(4)]
    for x in team:
        x.start()
    for x in team:
        x.join()
    assert np.isfinite(step.q).all()
    assert all("thread" in x for x in faults)


def test_what_belongs_to_runs_is_refused():
    def made():
        return sc.sim.Propagator(sc.load("cart_pole"), integrator="rk4", step=0.01)

    p = made()
    p.event("down", lambda t, s: s.q[1])
    with pytest.raises(StateError, match=r"event 'down' acts within runs.*p\.advance_to"):
        p.stepper()
    p = made()
    p.every(0.1, lambda t, s: None)
    with pytest.raises(StateError, match=r"a callback of p\.every acts within runs"):
        p.stepper()
    p = made()
    p.control("cart", lambda t, s: 0.0)
    with pytest.raises(StateError, match=r"control 'cart' has two owners: a function of p\.control"):
        p.stepper()
    p.stepper(controls=["pole"])()
    p.control("cart", ([0.0, 1.0], [0.0, 1.0]))
    with pytest.raises(StateError, match="two owners: samples"):
        p.stepper()


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"controls": "cart"}, StateError, r"controls is a list of names, such as controls=\['cart'\]"),
        ({"controls": ["cart", "cart"]}, StateError, "'cart' is named twice"),
        ({"controls": ["chart"]}, ModelError, r"no actuator or dof 'chart'.*p\.stepper\(controls=\[\.\.\.\]\)"),
        ({"controls": [3]}, StateError, "by its name; got 3"),
        ({"states": 0}, StateError, "states must be a whole number of at least 1"),
        ({"states": 2.0}, StateError, "states must be a whole number"),
        ({"period": 0.0151}, StateError, "no multiple of the step of 0.01 s"),
        ({"period": -1.0}, StateError, "period must be a nanosecond or more"),
        ({"threads": 0}, StateError, "threads"),
    ],
)
def test_bad_options_are_refused(options, error, text):
    p = sc.sim.Propagator(sc.load("cart_pole"), integrator="rk4", step=0.01)
    with pytest.raises(error, match=text):
        p.stepper(**options)


def test_bad_calls_are_refused():
    p = sc.sim.Propagator(sc.load("cart_pole"), integrator="rk4", step=0.01)
    step, batch = p.stepper(), p.stepper(states=3)
    for steps in (-1, 0.5, True, "2"):
        with pytest.raises(StateError, match="steps must be a whole number of at least 0"):
            step(steps)
    for which in (3, -1, 1.0, "all", [0, 5]):
        with pytest.raises(StateError, match="which must be a whole number from 0 to 2"):
            batch.set_state([0.0, 0.0], which=which)
    with pytest.raises(StateError, match="which has a truth value for each of 3 states"):
        batch.reset([True, False])
    with pytest.raises(StateError, match="which must be a whole number"):
        batch.state()
    with pytest.raises(StateError, match="one row for all or one for each"):
        batch.set_state(np.zeros((2, 2)))
    with pytest.raises(StateError, match="q of 'cart_pole' has 2 entries, got 1"):
        step.set_state([0.0])
    with pytest.raises(StateError, match="contacts are of a stepper of one state"):
        _ = batch.contacts
    with pytest.raises(StateError, match="u must be finite"):
        step.u = [np.nan, 0.0]
    with pytest.raises(StateError, match=r"drives no control 'pol'.*pole"):
        step.u = {"cart": 1.0, "pol": 0.0}
    assert step.u[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        step.q[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        batch.v[0, 0] = 1.0
    with pytest.raises(AttributeError, match=r"give another state with step\.set_state"):
        step.q = [0.0, 0.0]
    for duplicate in (copy.copy, copy.deepcopy):
        with pytest.raises(StateError, match=r"make another with p\.stepper"):
            duplicate(step)


def test_several_states_are_compiled_or_refused():
    closed = sc.sim.Propagator(
        four_bar(), "ta", integrator="rk4", step=0.01, stabilization="baumgarte", time_constant=0.05
    )
    with pytest.raises(StateError, match="here closures are stabilized; take one state"):
        closed.stepper(states=2)
    with pytest.raises(StateError, match="'dop853' chooses its steps: give the time of one call"):
        sc.sim.Propagator(slider()).stepper()
    p = put(sc.sim.Propagator(box_on_floor(-0.05), integrator="moreau", step=1e-3), sc.sim.Contact())
    with pytest.raises(StateError, match="begins with"):
        p.stepper([], states=2)


def test_it_tells_what_it_is():
    p = sc.sim.Propagator(sc.load("cart_pole"), integrator="rk4", step=0.01)
    assert repr(p.stepper()).startswith("Stepper of 'cart_pole' at t = 0 s: 2 controls, rk4")
    assert "3 states of 'cart_pole'" in p.stepper(states=3).report()


def test_a_state_that_is_refused_leaves_the_motion_as_it_was():
    """A closed chain off its closures, and shapes that nothing separates."""
    bar = sc.sim.Propagator(four_bar(), integrator="rk4", step=0.01).stepper([])
    bar(3)
    before, off = bar.q.copy(), bar.q.copy()
    off[0] += 0.3
    with pytest.raises(sc.errors.LoopError, match="a run cannot begin off its closures"):
        bar.set_state(off)
    np.testing.assert_array_equal(bar.q, before)
    bar(3)

    def resting():
        return put(sc.sim.Propagator(box_on_floor(), integrator="moreau", step=1e-3), sc.sim.Contact(penetration=1e-3))

    step, other = resting().stepper([]), resting().stepper([])
    for x in (step, other):
        x(5)
    with pytest.raises(StateError, match="begins with"):
        step.set_state([0, 0, 0, 1, 0, 0, -3.0])
    for x in (step, other):
        x(5)
    assert step.q.tobytes() == other.q.tobytes()


def test_numbers_of_other_controls_stay_as_they_were():
    p = sc.sim.Propagator(sc.load("cart_pole"), integrator="rk4", step=0.01)
    p.control("cart", 1.0)
    step, other = p.stepper(["pole"]), p.stepper(["pole"])
    p.control("cart", 50.0)
    step(5)
    p.control("cart", -50.0)
    p.mb.gravity = p.mb.gravity  # read anew
    other(5)
    assert step.q.tobytes() == other.q.tobytes()
    assert 0.0 < step.v[0] < 1.0


# -- found by trials from outside ---------------------------------------------------------------------------------


def test_what_touches_is_not_read_while_another_thread_steps():
    mb = box_on_floor()
    step = put(sc.sim.Propagator(mb, integrator="moreau", step=1e-3), sc.sim.Contact()).stepper([])
    step()
    faults, busy, done = [], threading.Event(), threading.Event()

    def walk():
        while not done.is_set():
            try:
                step(20)
            except StateError as wrong:
                faults.append(str(wrong))
            busy.set()

    other = threading.Thread(target=walk)
    other.start()
    busy.wait()
    try:
        for _ in range(300):
            for read in (lambda: step.contacts, lambda: step.sensors, lambda: step.set_state(mb.q)):
                try:
                    read()
                except StateError as wrong:
                    faults.append(str(wrong))
    finally:
        done.set()
        other.join()
    assert all("thread" in x for x in faults)
    assert np.isfinite(step.q).all()


def rail():
    """A ball on a rail over a floor, moving at 1 m/s."""
    mb = sc.Multibody("rail")
    mb.gravity = (0, 0, -9.81)
    mb.root.add_geometry(sc.Geometry("wall", "box", (0.1, 1.0, 1.0), pose=sc.Pose(translation=(3.0, 0, 0))))
    ball = mb.add_body("ball", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0, moment=np.eye(3) * 0.02))
    ball.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    mb.set_state([0.0], [1.0])
    return mb


EDITS = {
    "limits": lambda mb, touch: setattr(mb["ball"], "limits", sc.Limits(-0.25, 0.05)),
    "a wall": lambda mb, touch: mb.root.add_geometry(
        sc.Geometry("near", "box", (0.1, 1.0, 1.0), pose=sc.Pose(translation=(0.3, 0, 0)))
    ),
    "no wall": lambda mb, touch: mb.root.remove_geometry("wall"),
    "an excluded pair": lambda mb, touch: touch.scene.exclude("inertial/wall", "ball/skin"),
    "shapes in each other": lambda mb, touch: mb.root.add_geometry(
        sc.Geometry("in", "box", (0.1, 1.0, 1.0), pose=sc.Pose(translation=(-0.1, 0, 0)))
    ),
}


@pytest.mark.parametrize("states", [None, 2])
@pytest.mark.parametrize("name", EDITS)
def test_edits_of_limits_and_shapes_are_followed_as_by_runs(name, states):
    made = []
    for _ in range(2):
        mb, touch = rail(), sc.sim.Contact()
        made.append((mb, touch, put(sc.sim.Propagator(mb, integrator="moreau", step=0.002), touch)))
    (mb, touch, p), (other, their, run) = made
    step = p.stepper([], states=states)
    step(10)
    run.advance_to(0.02)
    EDITS[name](mb, touch)
    EDITS[name](other, their)
    if states and name == "shapes in each other":
        for _ in range(2):
            with pytest.raises(StateError, match="state 0 of the stepper begins with"):
                step()
        return
    step(1500)
    end = run.advance_to(3.02).q[-1]
    np.testing.assert_allclose(step.q if states is None else step.q[0], end, rtol=0, atol=1e-9)
    if states is None:
        assert len(step.contacts.pairs) in (0, 1)


def test_contacts_are_named_as_they_were_in_the_last_step():
    mb = box_on_floor()
    step = put(sc.sim.Propagator(mb, integrator="moreau", step=1e-3), sc.sim.Contact()).stepper([])
    step(5)
    before = step.contacts
    mb.root.add_geometry(sc.Geometry("a", "sphere", (0.1,), pose=sc.Pose(translation=(9, 0, 0))))
    mb["box"].inertia = sc.Inertia(3.0, moment=np.eye(3) * 0.03)
    step(0)
    assert step.contacts.pairs == before.pairs
    np.testing.assert_array_equal(step.contacts.forces, before.forces)
    step.set_state([0, 0, 0, 1, 0, 0, 5.0])
    step(0)
    assert step.contacts.pairs == ()


@pytest.mark.parametrize("method", ["rk4", "verlet", "euler_symplectic"])
@pytest.mark.parametrize("at", [0.1, 0.1037])
def test_a_force_that_jumps_acts_on_its_side_of_the_jump(method, at):
    def made():
        mb = sc.load("double_pendulum")
        mb.set_state([0.3, 0.1], [0.0, 0.0])
        p = sc.sim.Propagator(mb, integrator=method, step=0.01)
        p.add(lambda t, state: [2.0 if t < at else -2.0, 0.0], breaks=[at])
        return p

    at_once, one = made().stepper([]), made().stepper([])
    at_once(40)
    for _ in range(40):
        one()
    end = made().advance_to(0.4).q[-1]
    np.testing.assert_allclose(at_once.q, end, rtol=0, atol=1e-13)
    np.testing.assert_allclose(one.q, end, rtol=0, atol=1e-13)


def test_after_a_call_that_ended_early_steps_go_on_from_there():
    calls = []

    def fails_once(t, state):
        if t > 0.055 and not calls:
            calls.append(t)
            raise ZeroDivisionError
        return [0.0, 0.0]

    mb = sc.load("double_pendulum")
    mb.set_state([0.3, 0.1], [0.0, 0.0])
    step = put(sc.sim.Propagator(mb, integrator="rk4", step=0.01), fails_once).stepper([])
    with pytest.raises(ZeroDivisionError):
        step(100)
    assert step.t == 0.05
    step(5)
    other = sc.load("double_pendulum")
    other.set_state([0.3, 0.1], [0.0, 0.0])
    run = sc.sim.Propagator(other, integrator="rk4", step=0.01).advance_to(0.1)
    np.testing.assert_allclose(step.q, run.q[-1], rtol=0, atol=1e-13)
    assert step.t == 0.1


def test_a_batch_that_is_interrupted_is_as_it_was_before():
    p = sc.sim.Propagator(sc.load("panda"), integrator="rk4", step=1e-4)
    batch = p.stepper(states=3, threads=2)
    batch(2)
    before = batch.t, batch.q.copy(), batch.v.copy()
    timer = threading.Timer(0.2, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        batch(2_000_000_000)
    assert batch.t == before[0]
    np.testing.assert_array_equal(batch.q, before[1])
    batch()
    assert (batch.q != before[1]).any(axis=1).all()


def test_a_batch_that_was_refused_stays_so():
    mb = sc.load("cart_pole")
    batch = sc.sim.Propagator(mb, integrator="rk4", step=0.01).stepper(states=3)
    batch.set_state([0.0, 0.1])
    batch()
    before = batch.q.copy()
    mb["pole"].gravity_compensation = 0.5
    for _ in range(2):
        with pytest.raises(StateError, match="'pole' has gravity compensation; take one state"):
            batch()
    np.testing.assert_array_equal(batch.q, before)
    mb["pole"].gravity_compensation = 0.0
    batch()


def test_stability_is_looked_at_soon_after_an_edit():
    mb = sc.Multibody("lever")
    mb.add_body("arm", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, com=(0, 0, -1), moment=np.eye(3) * 0.01))
    mb.set_state([0.3], [0.0])
    step = sc.sim.Propagator(mb, integrator="rk4", step=0.01).stepper([])
    step(1100)
    mb["arm"].passive = sc.Passive(damping=400.0)
    with pytest.raises(SimulationError, match="stability limits the steps"):
        _ = [step() for _ in range(60)]


def test_stiff_forces_of_functions_are_named_as_in_runs():
    def made():
        mb = sc.load("pendulum")
        mb.set_state([0.1], [0.0])
        return put(sc.sim.Propagator(mb, integrator="rk4", step=0.01), lambda t, state: -1e6 * state.q)

    for go in (lambda p: p.advance_to(5.0), lambda p: p.stepper([])(500)):
        with pytest.raises(SimulationError, match="stability limits the steps of 'rk4'"):
            go(made())


def test_numbers_of_another_shape_change_nothing():
    p = sc.sim.Propagator(sc.load("cart_pole"), integrator="rk4", step=0.01)
    step, batch = p.stepper(), p.stepper(states=3)
    for wrong in (np.zeros(5), [1.0], 1.0, {"cart": 1.0, "pole": [1, 2, 3]}):
        with pytest.raises(StateError, match=r"has shape .*, got"):
            step.u = wrong
    for wrong in (np.zeros((3, 3)), {"cart": 5.0, "pole": [1, 2]}):
        with pytest.raises(StateError, match=r"has shape .*, got"):
            batch.u = wrong
    assert not step.u.any()
    assert not batch.u.any()
    batch.u = [1.0, 2.0]
    np.testing.assert_array_equal(batch.u, np.tile([1.0, 2.0], (3, 1)))
    batch.u = {"cart": [5, 6, 7], "pole": 0.0}
    np.testing.assert_array_equal(batch.u[:, 0], [5, 6, 7])
    for change in (lambda: batch.u.resize((1, 1), refcheck=False), lambda: step.u.resize(9, refcheck=False)):
        with pytest.raises(ValueError, match="resize"):
            change()


@pytest.mark.parametrize("states", [10**12, 2**62, 10**30])
def test_too_many_states_are_refused(states):
    p = sc.sim.Propagator(sc.load("cart_pole"), integrator="rk4", step=0.01)
    with pytest.raises(sc.errors.SizeError, match="Take fewer states"):
        p.stepper(states=states)


@pytest.mark.parametrize("method", ["rk4", "variational"])
def test_time_ends_where_that_of_runs_does(method):
    mb = sc.load("pendulum")
    mb.gravity = (0, 0, 0)
    step = sc.sim.Propagator(mb, integrator=method, step=2e9).stepper([])
    step(2)
    for steps in (1, 10**30):
        with pytest.raises(StateError, match="times of a stepper end at 146 years"):
            step(steps)
    assert step.t == 4e9


def test_names_and_numbers_of_states_of_other_kinds_are_refused():
    p = sc.sim.Propagator(sc.load("cart_pole"), integrator="rk4", step=0.01)
    with pytest.raises(StateError, match="controls is a list of names"):
        p.stepper(5)
    with pytest.raises(StateError, match="which must be a whole number"):
        p.stepper(states=3).reset([[0], [1, 2]])
    p.control("cart", 1.0)
    with pytest.raises(StateError, match="the control of 'cart'"):
        p.control("cart", 10**400)
    p.control("cart", np.float32(0.5))
    assert p._acting.numbers == {"cart": 0.5}


def test_models_without_dofs_say_so():
    mb = sc.Multibody("rock")
    mb.add_body("rock", None, sc.Weld(), sc.Inertia(1.0))
    step = sc.sim.Propagator(mb, integrator="rk4", step=0.01).stepper([])
    step(3)
    assert "it has no dofs" in step.report()
    assert step.t == 0.03


def test_contacts_of_short_steps_at_late_times_are_kept():
    p = sc.sim.Propagator(box_on_floor(), integrator="moreau", step=1e-7, t=4e9)
    step = put(p, sc.sim.Contact(), lambda t, state: np.zeros(6)).stepper([])
    step()
    assert len(step.contacts.pairs) == 4


def test_pairs_that_a_propagator_leaves_out_are_left_out():
    """Before the stepper is made and afterwards: it has the scene of the contact that was added."""
    for early in (True, False):
        mb, touch = rail(), sc.sim.Contact()
        p = put(sc.sim.Propagator(mb, integrator="moreau", step=0.002), touch)
        if early:
            touch.scene.exclude("inertial/wall", "ball/skin")
        step = p.stepper([])
        if not early:
            touch.scene.exclude("inertial/wall", "ball/skin")
        step(2000)
        np.testing.assert_allclose(step.q, [4.0], rtol=1e-9)
        assert not touch.steps

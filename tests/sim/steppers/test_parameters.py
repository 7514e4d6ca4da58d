"""Parameters that differ from state to state: each is as a stepper of a model edited so, to the last bit."""

import numpy as np
import pytest
from tests.sim.test_closed import four_bar
from tests.sim.test_compiled_contact import MODELS as TOUCHING
from tests.sim.test_compiled_contact import standing

import soacraft as sc
from soacraft import analysis
from soacraft.errors import ModelError, StateError

STEP = 0.004
MASSES = [0.5, 1.0, 2.5]


def arm(method="rk4"):
    mb = sc.load("cart_pole")
    mb.set_state([0.0, 0.3], [0.1, 0.0])
    return sc.sim.Propagator(mb, integrator=method, step=0.01)


def block(friction=None):
    """A box on a slope of 20 degrees."""
    mb = sc.Multibody("slope", gravity=(9.81 * np.sin(0.35), 0, -9.81 * np.cos(0.35)))
    mb.root.add_geometry(sc.Geometry("floor", "plane", attributes={"friction": 0.0}))
    box = mb.add_body("box", None, sc.Free(), sc.Inertia(3.0, moment=np.eye(3) * 0.02))
    told = {} if friction is None else {"friction": friction}
    box.add_geometry(sc.Geometry("skin", "box", (0.2, 0.2, 0.2), attributes=told))
    mb.set_state([0, 0, 0, 1, 0, 0, 0.1], np.zeros(6))
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.002)
    p.add(sc.sim.Contact())
    return p


def servo(gain=50.0):
    mb = sc.load("pendulum")
    law = {"biastype": "affine", "gainprm": [gain], "biasprm": [0.0, -50.0, -4.0]}
    dof = mb.dof_names[0]
    mb.add_actuator(sc.Actuator("servo", "general", {dof: 1.0}, law))
    return sc.sim.Propagator(mb, integrator="rk4", step=0.01)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("method", ["rk4", "verlet", "gauss4", "variational", "moreau", "moreau_midpoint"])
def test_states_are_as_alone_on_models_edited_so(method, threads):
    """Masses, centres, moments, armature, damping and placements, with contact and springs."""
    rng = np.random.default_rng(4)

    def made():
        mb, scene = standing(TOUCHING["pins"])
        mb.bodies[1].passive = sc.Passive(stiffness=1.0, damping=0.2)
        mb.bodies[0].armature = [0.05]
        p = sc.sim.Propagator(mb, integrator=method, step=STEP)
        if method.startswith("moreau"):
            p.add(sc.sim.Contact(scene, limits=False))
        return p

    p = made()
    a, b = (p.mb.bodies[i].name for i in (1, 3))
    names = [
        f"{a}.mass",
        f"{b}.com",
        f"{b}.moment_xx",
        f"{p.mb.bodies[0].hinge_name}.armature",
        f"{a}.damping",
        f"{b}.inboard_x",
    ]
    starts = [analysis.parameters(p.mb, name) for name in names]
    given = {
        name: np.squeeze(
            x * (1.0 + 0.1 * np.arange(3))[:, None] + 0.01 * np.arange(3)[:, None], axis=1 if x.size == 1 else ()
        )
        for name, x in zip(names, starts, strict=True)
    }
    batch = p.stepper(states=3, parameters=given, threads=threads)
    force = rng.normal(size=(12, p.mb.nv))
    for T in force:
        batch.u[:] = T
        batch()
    for i in range(3):
        alone = made()
        for name, x in given.items():
            analysis.set_parameters(alone.mb, name, np.atleast_1d(x[i]))
        step = alone.stepper()
        for T in force:
            step.u[:] = T
            step()
        assert step.q.tobytes() == batch.q[i].tobytes()
        assert step.v.tobytes() == batch.v[i].tobytes()
    assert np.abs(batch.q[0] - batch.q[2]).max() > 1e-6


def test_friction_of_shapes_is_that_of_shapes_made_so():
    """A block on a slope of 20 degrees sticks where friction is more than its tangent, and else slides with
    g (sin - mu cos)."""
    friction = [0.1, 0.2, 0.5]
    batch = block().stepper([], states=3, parameters={"box/skin.friction": friction})
    batch(200)
    for i, mu in enumerate(friction):
        alone = block(mu).stepper([])
        alone(200)
        assert alone.q.tobytes() == batch.q[i].tobytes()
        slide = max(0.0, 9.81 * (np.sin(0.35) - mu * np.cos(0.35)))
        assert batch.v[i, 3] == pytest.approx(0.4 * slide, rel=1e-6, abs=1e-9)


def test_gains_of_actuators_are_those_of_actuators_made_so():
    gains = [40.0, 50.0, 60.0]
    batch = servo().stepper(states=3, parameters={"servo.gain": gains})
    batch.u[:] = 0.5
    batch(50)
    for i, gain in enumerate(gains):
        alone = servo(gain).stepper()
        alone.u[:] = 0.5
        alone(50)
        assert alone.q.tobytes() == batch.q[i].tobytes()
    damped = servo().stepper(states=2, parameters={"servo.b2": [-4.0, -40.0], "servo.b1": [-50.0, -50.0]})
    damped.set_state([0.3])
    damped(10)
    assert abs(damped.v[1, 0]) < abs(damped.v[0, 0])


def test_a_single_stepper_has_parameters_of_its_own():
    step, p = arm().stepper(parameters={"pole.mass": 2.5}), arm()
    p.mb["pole"].inertia = sc.Inertia(2.5, p.mb["pole"].inertia.com, p.mb["pole"].inertia.moment)
    other = p.stepper()
    for x in (step, other):
        x(20)
    assert step.q.tobytes() == other.q.tobytes()
    assert step.parameters == {"pole.mass": 2.5}


def test_parameters_are_changed_at_a_reset():
    batch = arm().stepper(states=3, parameters={"pole.mass": MASSES, "pole.com": np.tile([0.0, 0.0, -0.5], (3, 1))})
    np.testing.assert_array_equal(batch.parameters["pole.mass"], MASSES)
    assert batch.parameters["pole.com"].shape == (3, 3)
    with pytest.raises(ValueError, match="read-only"):
        batch.parameters["pole.mass"][0] = 1.0
    batch(10)
    batch.reset([0, 2])
    batch.set_parameters({"pole.mass": [2.5, 0.5]}, which=[0, 2])
    batch.reset(1)
    batch.set_parameters({"pole.mass": 1.5}, which=np.array([False, True, False]))
    np.testing.assert_array_equal(batch.parameters["pole.mass"], [2.5, 1.5, 0.5])
    batch(20)
    others = arm().stepper(states=3, parameters={"pole.mass": [2.5, 1.5, 0.5], "pole.com": [0.0, 0.0, -0.5]})
    others(20)
    np.testing.assert_array_equal(batch.q, others.q)


def test_edits_of_the_model_are_followed_by_all_states():
    p = arm()
    batch = p.stepper(states=2, parameters={"pole.mass": [0.5, 2.5]})
    batch(3)
    p.mb["cart"].inertia = sc.Inertia(9.0)
    batch(3)
    for i, mass in enumerate((0.5, 2.5)):
        q = arm()
        analysis.set_parameters(q.mb, "pole.mass", [mass])
        step = q.stepper()
        step(3)
        q.mb["cart"].inertia = sc.Inertia(9.0)
        step(3)
        assert step.q.tobytes() == batch.q[i].tobytes()


def test_states_of_a_closed_chain_have_parameters():
    name = four_bar().bodies[1].name + ".mass"
    batch = sc.sim.Propagator(four_bar(), "ta", integrator="rk4", step=STEP).stepper(
        [], states=3, parameters={name: MASSES}
    )
    batch(20)
    for i, mass in enumerate(MASSES):
        mb = four_bar()
        analysis.set_parameters(mb, name, [mass])
        step = sc.sim.Propagator(mb, "ta", integrator="rk4", step=STEP).stepper([])
        step(20)
        np.testing.assert_allclose(batch.q[i], step.q, rtol=0, atol=1e-12)
    assert np.abs(batch.q[0] - batch.q[2]).max() > 1e-6


@pytest.mark.parametrize(
    "act",
    [
        lambda p: p.add(sc.sim.GravityField(lambda t, r: (0.0, 0.0, -9.0))),
        lambda p: p.control("ball", lambda t, s: -9.0 * sc.dynamics.mass_matrix(s.graph, s.q)[0, 0]),
    ],
    ids=["field", "control"],
)
def test_functions_that_read_the_model_see_the_parameters_of_each_state(act):
    """All fall with 9 m/s2, whatever their mass: z = -9 t^2 / 2; also with masses that come later."""
    mb = sc.Multibody("ball", gravity=(0, 0, 0))
    mb.add_body("ball", None, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
    act(p)
    batch = p.stepper([], states=3, parameters={"ball.mass": [1.0, 3.0, 0.5]})
    batch(5)
    batch.set_parameters({"ball.mass": [2.0, 0.1, 5.0]})
    batch(5)
    np.testing.assert_allclose(batch.q[:, 0], -4.5 * 0.1**2, rtol=1e-12)


def test_pushes_act_on_states_with_parameters():
    """A placement moves the node that is pushed."""
    given = {"pole.mass": [0.5, 2.0], "pole.outboard_z": [0.0, 0.2]}
    push = sc.Wrench((0, 0, 0), (3.0, 0, 0), expressed_in="inertial")
    batch = arm().stepper([], states=2, parameters=given)
    batch.push("pole", push, duration=0.05)
    batch(10)
    for i in range(2):
        p = arm()
        analysis.set_parameters(p.mb, list(given), [x[i] for x in given.values()])
        step = p.stepper([])
        step.push("pole", push, duration=0.05)
        step(10)
        assert step.q.tobytes() == batch.q[i].tobytes()


def test_steps_that_compiled_code_is_not_sure_of_have_the_parameters_of_their_state():
    """A ball that spins so fast that a step turns it by more than its chart allows is refused in Python, by its
    number; with its mass the other one goes on."""
    mb = sc.Multibody("ball", gravity=(0, 0, -9.81))
    mb.add_body("ball", None, sc.Free(), sc.Inertia(2.0, com=(0.1, 0, 0), moment=np.eye(3) * 0.1))
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
    batch = p.stepper([], states=2, parameters={"ball.mass": [2.0, 4.0]}, on_error="keep")
    batch.set_state(mb.q, [[400.0, 0, 0, 0, 0, 0], [0, 1.0, 0, 0, 0, 0]])
    batch(5)
    assert batch.failed.which.tolist() == [0]
    assert "turns a hinge by" in batch.failed.reasons[0]


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"pol.mass": [1, 2, 3]}, ModelError, "parameter 'pol.mass'"),
        ({"pole.mas": [1, 2, 3]}, ModelError, "parameter 'pole.mas' is not a body, hinge or node"),
        ({7: [1, 2, 3]}, ModelError, "parameters of a stepper are named, such as 'trunk.mass', got 7"),
        ({"pole.mass": [1, 2]}, StateError, r"parameter 'pole.mass' has shape \(3,\) for 3 states, or \(\) for all"),
        ({"pole.com": np.zeros((3, 2))}, StateError, r"shape \(3, 3\) for 3 states, or \(3,\) for all, got \(3, 2\)"),
        ({"pole.mass": [1, np.nan, 3]}, StateError, "parameter 'pole.mass' must be finite"),
        ({"pole.mass": [1, -2, 3]}, ModelError, "state 1: .*mass of an Inertia must not be negative, got -2"),
        ({"pole.mass": [1, 2, 3], "pole.inertia": np.ones((3, 10))}, ModelError, "set the same thing"),
        ({"pole.armature": [0.1, 0.2, 0.3]}, ModelError, "its first one changes the structure"),
        ({"cart/skin.friction": [1, 2, 3]}, ModelError, "nothing touches"),
        ({"cart.gain": [1, 2, 3]}, ModelError, "no actuator 'cart' is driven here"),
        ({}, StateError, r"parameters are \{name: numbers\}"),
        ("pole.mass", StateError, r"parameters are \{name: numbers\}"),
    ],
)
def test_bad_parameters_are_refused(given, error, text):
    with pytest.raises(error, match=text):
        arm().stepper(states=3, parameters=given)


def test_bad_changes_of_parameters_change_nothing():
    batch = arm().stepper(states=3, parameters={"pole.mass": MASSES})
    other = arm().stepper(states=3, parameters={"pole.mass": MASSES})
    for given, which, error, text in (
        ({"pole.mass": [2.0, -2.0]}, [0, 2], ModelError, "state 2: .*mass of an Inertia must not be negative, got -2"),
        (
            {"cart.mass": 2.0},
            None,
            StateError,
            r"parameter 'cart.mass' is the same for all states: name it in p\.stepper",
        ),
        ({"pole.mass": [1.0, 2.0]}, 1, StateError, r"has shape \(1,\) for 1 states"),
        ({"pole.mass": 1.0}, 3, StateError, "which must be a whole number from 0 to 2"),
    ):
        with pytest.raises(error, match=text):
            batch.set_parameters(given, which)
    np.testing.assert_array_equal(batch.parameters["pole.mass"], MASSES)
    for x in (batch, other):
        x(10)
    np.testing.assert_array_equal(batch.q, other.q)
    with pytest.raises(StateError, match="its states have the parameters of the model"):
        arm().stepper(states=3).set_parameters({"pole.mass": 1.0})
    assert arm().stepper().parameters == {}


def test_friction_of_what_does_not_rub_is_refused():
    p = block()
    with pytest.raises(ModelError, match=r"there is no shape 'box/skim' that may touch.*box/skin"):
        p.stepper([], states=2, parameters={"box/skim.friction": [0.1, 0.2]})
    with pytest.raises(ModelError, match=r"state 1: .*friction"):
        p.stepper([], states=2, parameters={"box/skin.friction": [0.1, -0.2]})


def test_parameters_of_steps_that_python_takes_are_refused():
    p = arm()
    p.add(lambda t, state: [0.0, 0.0], breaks=[9.0])
    with pytest.raises(StateError, match="steps with parameters of their own are compiled, and here"):
        p.stepper(parameters={"pole.mass": 1.0})


def test_placements_that_begin_shapes_in_each_other_are_refused():
    """Each state by its own placements; and those of bodies that closures join."""

    def made():
        mb = sc.Multibody("lift", gravity=(0, 0, -9.81))
        mb.root.add_geometry(sc.Geometry("floor", "plane"))
        cart = mb.add_body("cart", None, sc.Prismatic((0, 0, 1)), sc.Inertia(2.0, moment=np.eye(3) * 0.1))
        cart.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
        mb.set_state([0.2], [0.0])
        p = sc.sim.Propagator(mb, integrator="moreau", step=0.002)
        p.add(sc.sim.Contact())
        return p

    with pytest.raises(StateError, match="state 1 of the stepper begins with"):
        made().stepper([], states=3, parameters={"cart.inboard_z": [0.0, -0.15, 0.0]})
    batch = made().stepper([], states=3, parameters={"cart.inboard_z": [0.0, -0.05, 0.1]})
    batch(20)
    before = batch.q.copy(), batch.parameters["cart.inboard_z"].copy()
    with pytest.raises(StateError, match="state 2 of the stepper begins with"):
        batch.set_parameters({"cart.inboard_z": [0.05, -0.5]}, which=[0, 2])
    np.testing.assert_array_equal(batch.parameters["cart.inboard_z"], before[1])
    batch(500)
    np.testing.assert_allclose(batch.q[:, 0] + before[1], 0.1, rtol=0, atol=1e-4)  # each at rest on the floor
    bars = sc.sim.Propagator(four_bar(), "ta", integrator="rk4", step=STEP)
    name = bars.mb.bodies[1].name
    with pytest.raises(ModelError, match=f"parameter '{name}.inboard_rx' places what closures join"):
        bars.stepper([], states=2, parameters={f"{name}.inboard": np.zeros((2, 6))})

"""`step.push`: as forces of `mb.set_force` for as long as they last, in single steps and batches."""

import numpy as np
import pytest
from tests.sim.test_closed import four_bar
from tests.sim.test_compiled import bent
from tests.sim.test_compiled_contact import MODELS as TOUCHING
from tests.sim.test_compiled_contact import standing

import soacraft as sc
from soacraft.errors import ModelError, StateError

STEP = 0.004


def slider(mass=2.0):
    mb = sc.Multibody("lift")
    mb.add_body("cart", None, sc.Prismatic((0, 0, 1)), sc.Inertia(mass, com=(0.3, 0, 0), moment=np.eye(3) * 0.1))
    mb.gravity = (0, 0, -9.81)
    return mb


def up(force):
    return sc.Wrench((0, 0, 0), (0, 0, force), expressed_in="inertial")


def test_a_push_acts_for_one_step_or_for_its_time():
    mb = slider(2.0)
    mb.gravity = (0, 0, 0)
    step = sc.sim.Propagator(mb, integrator="rk4", step=0.01).stepper([])
    step.push("cart", up(6.0))
    step(3)
    np.testing.assert_allclose(step.v, [0.01 * 3.0], rtol=1e-13)
    step.push("cart", [0, 0, 0, 0, 0, 4.0], duration=0.05)
    step(2)
    np.testing.assert_allclose(step.v, [0.03 + 0.02 * 2.0], rtol=1e-13)
    step(100)
    np.testing.assert_allclose(step.v, [0.03 + 0.05 * 2.0], rtol=1e-13)
    step.push("cart", up(6.0), duration=1.0)
    step.push("cart", up(-6.0), duration=0.01)  # in its place
    step(5)
    np.testing.assert_allclose(step.v, [0.13 - 0.03], rtol=1e-12)


def test_a_push_ends_with_another_state():
    step = sc.sim.Propagator(slider(), integrator="rk4", step=0.01).stepper([])
    for again in (step.reset, lambda: step.set_state([0.0])):
        step.push("cart", up(1e3), duration=1.0)
        step()
        again()
        step()
        np.testing.assert_allclose(step.v, [-0.0981], rtol=1e-12)


@pytest.mark.parametrize(
    "method", ["rk4", "euler_symplectic", "verlet", "gauss4", "variational", "moreau", "moreau_midpoint"]
)
@pytest.mark.parametrize("axes", [None, "inertial", "a body"])
def test_a_push_is_a_force_of_the_model(method, axes):
    """On a tree with contact and quaternions, compiled."""
    ends = []
    for pushes in (True, False):
        mb, scene = standing(TOUCHING["quaternions"])
        p = sc.sim.Propagator(mb, integrator=method, step=STEP)
        if method.startswith("moreau"):
            p.add(sc.sim.Contact(scene))
        step = p.stepper([])
        assert "steps: compiled" in step.report()
        frame = mb.bodies[1] if axes == "a body" else axes
        wrench = sc.Wrench((1.0, -2.0, 0.5), (3.0, 4.0, -5.0), expressed_in=frame)
        step(2)
        if pushes:
            step.push(mb.bodies[-1], wrench, duration=3 * STEP)
            step(5)
        else:
            mb.set_force(mb.bodies[-1], wrench)
            step(3)
            mb.clear_forces()
            step(2)
        ends.append(np.concatenate([step.q, step.v]))
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-11 * max(1.0, np.abs(ends[0]).max()))


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_a_push_acts_in_steps_that_python_takes(method):
    """A function with a break, and a method that chooses its steps."""
    ends = []
    for pushes in (True, False):
        mb = sc.load("double_pendulum")
        mb.set_state([0.4, -0.2], [0.0, 0.5])
        p = sc.sim.Propagator(mb, integrator=method, step=0.01)
        p.add(lambda t, state: [0.0, 0.1], breaks=[9.0])
        step = p.stepper([], period=0.01)
        if pushes:
            step.push("lower", up(7.0), duration=0.02)
            step(4)
        else:
            mb.set_force("lower", up(7.0))
            step(2)
            mb.clear_forces()
            step(2)
        assert "steps: those of runs" in step.report()
        ends.append(np.concatenate([step.q, step.v]))
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-9)


def test_a_push_acts_on_a_closed_chain():
    """Where forces of `mb.set_force` are taken in Python."""
    ends = []
    for pushes in (True, False):
        mb = four_bar()
        step = sc.sim.Propagator(mb, integrator="rk4", step=STEP).stepper([])
        if pushes:
            step.push(mb.bodies[1], up(3.0), duration=4 * STEP)
            assert "steps: compiled" in step.report()
        else:
            mb.set_force(mb.bodies[1], up(3.0))
        step(4)
        ends.append(np.concatenate([step.q, step.v]))
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-11)


@pytest.mark.parametrize("states", [None, 2])
def test_a_push_acts_on_a_body_that_deforms(states):
    """A flexible body, besides the wrench of the model at its tip."""
    ends, wrench = [], sc.Wrench((0.3, 0.1, 0), (2.0, 1.0, -3.0), expressed_in="inertial")
    for pushes in (True, False):
        mb = bent()
        if not pushes:
            mb.set_force("body1", wrench)
        step = sc.sim.Propagator(mb, integrator="rk4", step=1e-3).stepper([], states=states)
        assert "steps: compiled" in step.report()
        if pushes:
            step.push("body1", wrench, duration=0.005)
        step(5)
        ends.append(np.concatenate([step.q, step.v], axis=-1))
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-11 * max(1.0, np.abs(ends[0]).max()))


@pytest.mark.parametrize("threads", [1, 2])
def test_pushes_of_a_batch_act_on_their_states_alone(threads):
    mb = slider(2.0)
    mb.gravity = (0, 0, 0)
    batch = sc.sim.Propagator(mb, integrator="rk4", step=0.01).stepper([], states=4, threads=threads)
    batch.push("cart", up(2.0), which=1)
    batch.push("cart", np.outer([1.0, 2.0], [0, 0, 0, 0, 0, 4.0]), duration=0.02, which=[0, 3])
    batch(3)
    np.testing.assert_allclose(batch.v[:, 0], [0.04, 0.01, 0.0, 0.08], rtol=0, atol=1e-15)
    batch.push("cart", up(2.0))
    batch.reset(2)
    batch()
    np.testing.assert_allclose(batch.v[:, 0], [0.05, 0.02, 0.0, 0.09], rtol=0, atol=1e-15)


def test_a_push_outlasts_an_edit_and_acts_besides_forces_of_the_model():
    mb = slider(2.0)
    mb.gravity = (0, 0, 0)
    step = sc.sim.Propagator(mb, integrator="rk4", step=0.01).stepper([])
    mb.set_force("cart", up(3.0))
    step.push("cart", up(5.0), duration=0.05)
    step()
    mb["cart"].inertia = sc.Inertia(4.0, com=(0.3, 0, 0), moment=np.eye(3) * 0.1)
    step()
    np.testing.assert_allclose(step.v, [0.01 * 8.0 / 2.0 + 0.01 * 8.0 / 4.0], rtol=1e-13)


def test_a_push_of_a_batch_that_failed_acts_again():
    mb = slider()
    batch = sc.sim.Propagator(mb, integrator="rk4", step=0.01).stepper(states=2)
    batch.push("cart", up(2.0), duration=0.02)
    batch.u[0] = np.nan
    with pytest.raises(StateError, match="u of the stepper"):
        batch(5)
    batch.u[:] = 2.0 * 9.81
    batch(5)
    np.testing.assert_allclose(batch.v[:, 0], 0.02, rtol=0, atol=1e-14)


def test_bad_pushes_are_refused():
    mb = slider()
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
    step, batch = p.stepper([]), p.stepper([], states=3)
    with pytest.raises(ModelError, match="a force at 'inertial' moves nothing"):
        step.push(mb.root, up(1.0))
    with pytest.raises(ModelError, match="'wheel'"):
        step.push("wheel", up(1.0))
    with pytest.raises(StateError, match="the wrench at 'cart' must be finite"):
        step.push("cart", [0, 0, 0, 0, 0, np.nan])
    with pytest.raises(StateError, match=r"duration is 0.0151 s, which is no multiple of the step of 0.01 s"):
        step.push("cart", up(1.0), duration=0.0151)
    with pytest.raises(StateError, match="duration must be a nanosecond or more"):
        step.push("cart", up(1.0), duration=0.0)
    with pytest.raises(StateError, match=r"one for all or one for each of 3 states, got shape \(2, 6\)"):
        batch.push("cart", np.zeros((2, 6)))
    with pytest.raises(StateError, match="which must be a whole number from 0 to 2"):
        batch.push("cart", up(1.0), which=3)
    for x in (step, batch):
        x()
        np.testing.assert_allclose(np.ravel(x.v), -0.0981, rtol=1e-12)

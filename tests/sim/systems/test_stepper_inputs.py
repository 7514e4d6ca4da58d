"""`System.stepper()`: the motion of runs with the same inputs; other systems are refused with the reason."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import StateError, WiringError


def swing(**how):
    s = sim.System("swing", **(how or {"integrator": "rk4", "step": 0.01}))
    mb = sc.load("double_pendulum")
    mb.set_state([0.3, -0.2], [0.1, 0.0])
    arm = s.add("arm", sim.Plant(mb))
    for i, dof in enumerate(reversed(mb.dof_names)):
        s.add(f"drive{i}", sim.Force(), at=arm.dof(dof))
    return s


def filled(s, **values):
    """The system with constants in its inputs."""
    for name, value in values.items():
        s.add(f"hold_{name}", sim.Constant(value=value))
        s.connect(f"hold_{name}.y", f"{name}.command")
    return s


def test_steps_are_those_of_runs_with_the_same_inputs():
    step = swing().stepper()
    assert step.names == ("drive0.command", "drive1.command")
    step.u = {"drive0.command": 0.5, "drive1.command": -1.0}
    step(50)
    run = filled(swing(), drive0=0.5, drive1=-1.0).run(0.5)
    np.testing.assert_allclose(step.q, run.q[-1], rtol=0, atol=1e-13)
    np.testing.assert_allclose(step.v, run.v[-1], rtol=0, atol=1e-12)
    assert "compiled" in step.report()


def test_inputs_are_driven_in_the_order_that_is_given():
    step = swing().stepper(["drive1.command", "drive0.command"])
    step.u[:] = -1.0, 0.5
    other = swing().stepper()
    other.u[:] = 0.5, -1.0
    step(3)
    other(3)
    np.testing.assert_array_equal(step.q, other.q)


def test_it_begins_where_the_system_is_which_stays_there():
    s = filled(swing(), drive0=0.0)
    with pytest.raises(WiringError, match=r"has no stepper: 'hold_drive0' is a Constant, which acts within runs"):
        s.stepper()
    s = sim.System("free", integrator="rk4", step=0.01)
    mb = sc.load("pendulum")
    mb.set_state([0.3], [0.0])
    s.add("arm", sim.Plant(mb))
    s.run(0.2)
    before = mb.q.tobytes(), mb.v.tobytes()
    step = s.stepper()
    assert step.t == 0.2
    step(30)
    assert (s.t, mb.q.tobytes(), mb.v.tobytes()) == (0.2, *before)
    run = s.run(0.5)
    np.testing.assert_allclose(step.q, run.q[-1], rtol=0, atol=1e-13)


def touching():
    s = sim.System("ball", integrator="moreau", step=0.004)
    mb = sc.Multibody("ball", gravity=(0, 0, -9.81))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    ball = mb.add_body("ball", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3) * 0.004))
    ball.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    mb.set_state([0, 0, 0, 1, 0, 0, 0.2], [0, 0, 0, 1.0, 0, 0])
    s.add("plant", sim.Plant(mb, forces=[sim.Contact()]))
    return s


@pytest.mark.parametrize("run_first", [False, True])
def test_contact_of_the_plant_acts_and_stays_that_of_the_system(run_first):
    s, other = touching(), touching()
    for x in (s, other):
        if run_first:
            x.run(0.02)
    step = s.stepper()
    step(60)
    run, same = other.run(other.t + 0.24), s.run(s.t + 0.24)
    np.testing.assert_allclose(step.q, run.q[-1], rtol=0, atol=1e-9)
    assert same.q.tobytes() == run.q.tobytes()  # the stepper left nothing behind
    assert step.contacts.pairs


def test_batches_and_periods_are_those_of_propagators():
    batch = swing().stepper(states=3, threads=2, period=0.02)
    batch.u[:, 0] = [0.0, 1.0, 2.0]
    batch()
    for i in range(3):
        alone = swing().stepper()
        alone.u[0] = i
        alone(2)
        assert alone.q.tobytes() == batch.q[i].tobytes()
    with pytest.raises(StateError, match="chooses its steps: give the time of one call"):
        swing(integrator="dop853").stepper()


def test_servos_of_the_model_are_controls_by_their_laws():
    s = sim.System("robot", integrator="rk4", step=0.0005)
    mb = sc.load("ur5e")
    arm = s.add("arm", sim.Plant(mb))
    s.add("devices", sim.from_model(mb), at=arm)
    step = s.stepper()
    assert step.names[2] == "devices/elbow.control"
    target = mb.q + 0.1
    step.u[:] = target
    step(20)
    by_export = s.stepper([f"devices.{x.name}" for x in mb.actuators])
    assert by_export.names[2] == "devices.elbow"
    by_export.u[:] = target
    by_export(20)
    p = sim.Propagator(mb, integrator="rk4", step=0.0005)
    other = p.stepper()
    other.u[:] = target
    other(20)
    np.testing.assert_array_equal(step.q, other.q)
    np.testing.assert_array_equal(by_export.q, other.q)
    assert np.abs(step.v).max() > 0.1


def with_component(s, component, name="extra", **where):
    s.add(name, component, **where)
    return s


def wired():
    s = swing()
    s.connect(f"arm.q[{s.plants['arm'].mb.dof_names[0]}]", "drive0.command")
    return s


def doubled():
    s = swing()
    return with_component(s, sim.Force(), at=s.plants["arm"].dof(s.plants["arm"].mb.dof_names[0]))


def sampled():
    s = sim.System("swing", integrator="rk4", step=0.01)
    arm = s.add("arm", sim.Plant(sc.load("pendulum")))
    return with_component(s, sim.Force(), at=arm.dof("bob"), every=0.02)


def other_law():
    s = sim.System("swing", integrator="rk4", step=0.01)
    arm = s.add("arm", sim.Plant(sc.load("pendulum")))
    return with_component(s, sim.Drive(gain=3.0), at=arm.dof("bob"))


def same_name():
    mb = sc.load("pendulum")
    mb.add_actuator(sc.Actuator("bob", "motor", {"bob": 2.0}, {}))
    s = sim.System("swing", integrator="rk4", step=0.01)
    arm = s.add("arm", sim.Plant(mb))
    return with_component(s, sim.Force(), at=arm.dof("bob"))


def two():
    s = swing()
    s.add("other", sim.Plant(sc.load("pendulum")))
    return s


def framed():
    s = swing()
    s.add_frame("camera")
    return s


def sticking():
    s = sim.System("rubs", integrator="rk4", step=0.01)
    mb = sc.load("pendulum")
    s.add("arm", sim.Plant(mb, forces=[sim.HingeFriction("bob", coulomb=0.1)]))
    return s


REFUSED = {
    "two plants": (two, "it has 2 plants, and a stepper moves one"),
    "a frame": (framed, "the frame 'camera' acts within runs"),
    "a wire": (wired, r"the connection of 'arm\.q\[\w+\]' with 'drive0\.command' acts within runs"),
    "two forces": (doubled, "'drive1.command' and 'extra.command' push the same dof"),
    "a sampled force": (sampled, "'extra' is sampled, and a stepper has no ticks"),
    "a drive of its own": (other_law, "'extra' has the law of no actuator of the model"),
    "a name of two": (same_name, "'extra' is a force at the dof 'bob', which has the name of an actuator"),
    "a force that sticks": (sticking, "the force 'friction of bob' of its plant keeps a state from step to step"),
    "no dof": (lambda: with_component(swing(), sim.Force()), "'extra' is no Force at a dof of 'arm'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_systems_are_refused_with_the_reason(name):
    make, why = REFUSED[name]
    with pytest.raises(WiringError, match=rf"has no stepper: {why}.*\. Use s\.run\(t\), or p\.stepper"):
        make().stepper()


def test_inputs_that_are_unknown_or_left_out_are_refused():
    with pytest.raises(WiringError, match=r"no input 'drive0\.comand' that nothing fills; did you mean 'drive0\.c"):
        swing().stepper(["drive0.comand"])
    with pytest.raises(WiringError, match=r"nothing fills the input 'drive1\.command': let the stepper drive it, too"):
        swing().stepper(["drive0.command"])
    with pytest.raises(WiringError, match="controls is a list of inputs, such as"):
        swing().stepper("drive0.command")

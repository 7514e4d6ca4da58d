"""Faults of wiring, all at once and each by its text."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import WiringError


def made(*parts, plant=False):
    s = sim.System("s", integrator="rk4", step=0.1)
    if plant:
        s.add("arm", sim.Plant(sc.load("double_pendulum")))
    for name, part in parts:
        s.add(name, part)
    return s


def ported(unit_in=None, unit_out=None, **more):
    """A component that passes its input on."""
    body = {"u": sim.In(unit_in, **more), "y": sim.output(unit_out, **more)(lambda u: u)}
    return type("Pass", (sim.Component,), body)()


ONE = ("one", sim.Constant(value=1.0))


def fault(s):
    with pytest.raises(WiringError) as told:
        s.check()
    return told.value


def test_every_fault_is_told_at_once():
    s = made(ONE, ("a", sim.Gain(gain=1.0)), ("b", sim.Gain(gain=1.0, size=2)), ("c", sim.Gain(gain=2.0)))
    s.connect("one.y", "b.u")
    s.connect("one.z", "c.u")
    s.connect("one.y", "motor_*.voltage")
    s.connect("one.y", "gain.u")
    error = fault(s)
    assert len(error.faults) == 6
    assert str(error).startswith("the system 's' has 6 faults:\n  1. ")
    for text in (
        "'one.y' -> 'b.u': the shape () is not (2,); take an element as 'one.y[0]', or a sim.Join.",
        "there is no output 'one.z'; did you mean 'one.y'?",
        "the pattern 'motor_*.voltage' matches no input",
        "there is no component 'gain'; there are 'one', 'a', 'b', 'c'.",
        "the input 'a.u' is not connected: s.connect(source, 'a.u').",
        "the input 'c.u' is not connected",
    ):
        assert any(text in x for x in error.faults), (text, error.faults)


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        (ported(None, "N m"), ported("N"), r"'a.y' -> 'b.u': the unit 'N m' is not of the dimension of 'N'"),
        (ported(None, "Hz"), ported("rad/s"), r"the unit 'Hz' is not of the dimension of 'rad/s'"),
        (ported(None, "rpm"), ported("rad/s"), r"'rpm' is another scale than 'rad/s'; say convert=True"),
        (ported(dtype=int), ported(), r"'a.y' -> 'b.u': int is not float"),
        (
            ported(shape=(3,), frame="inertial"),
            ported(shape=(3,), frame="hand"),
            r"axes of 'inertial' are not those of 'hand'; put a sim.Express between them",
        ),
    ],
)
def test_what_does_not_fit_is_refused(a, b, why):
    s = made(("a", a), ("b", b))
    s.connect("a.y", "b.u")
    s.connect("b.y", "a.u")
    with pytest.raises(WiringError, match=why):
        s.check()


def test_units_are_converted_where_asked():
    s = made(
        ("one", sim.Constant(value=30.0, unit="rpm")),
        ("b", ported("rad/s", "rad/s")),
        ("c", ported("deg/min", "deg/min")),
    )
    s.connect("one.y", "b.u", convert=True)
    s.connect("b.y", "c.u", convert=True)
    run = s.run(0.1)
    assert run.signals["b.y"][-1] == pytest.approx(np.pi, rel=1e-15)
    assert run.signals["c.y"][-1] == pytest.approx(30 * 360.0, rel=1e-14)
    assert "b.u  <-  one.y x 0.104719755" in str(s.signals())


def test_an_input_has_one_writer():
    s = made(ONE, ("two", sim.Constant(value=2.0)), ("a", sim.Gain(gain=1.0)))
    s.connect("one.y", "a.u")
    s.connect("two.y", "a.u")
    assert fault(s).faults == ("the input 'a.u' has two writers, 'one.y' and 'two.y': add them up in a sim.Sum.",)


def test_names_and_elements_that_are_none():
    s = made(ONE, ("v", sim.Constant(value=(1.0, 2.0))), ("a", sim.Gain(gain=1.0)))
    for source, target in [
        ("v.y[2]", "a.u"),
        ("one.y[0]", "a.u"),
        ("a.u", "a.u"),
        ("one.y", "one.y"),
        ("x", "a.u"),
        ("one.y", "a.u[0]"),
    ]:
        s.connect(source, target)
    s.connect(3, "a.u")
    text = str(fault(s))
    for part in (
        "'v.y[2]' is no element of 'v.y', whose shape is (2,)",
        "'one.y[0]' is no element of 'one.y', whose shape is ()",
        "'a.u' is an input, and an output is needed",
        "'one.y' is an output, and an input is needed",
        "a port is written 'component.port', got 'x'",
        "a port is written 'component.port', got 3",
        "'a.u[0]' is an element of an input: connect the input itself",
    ):
        assert part in text, part


def test_elements_and_patterns():
    s = made(
        ("v", sim.Constant(value=(1.0, 2.0))),
        ("a/x", sim.Gain(gain=1.0)),
        ("a/y", sim.Gain(gain=10.0)),
        ("b", sim.Gain(gain=3.0)),
    )
    s.connect("v.y[1]", "a/*.u")
    s.connect("v.y[0]", "b.u")
    run = s.run(0.1)
    assert [run.signals[x][-1] for x in ("a/x.y", "a/y.y", "b.y")] == [2.0, 20.0, 3.0]
    s = made(ONE, ("a/x", sim.Gain(gain=1.0)), ("b", sim.Gain(gain=3.0)))
    s.connect("one.y", "*.u")
    assert fault(s).faults == ("the input 'a/x.u' is not connected: s.connect(source, 'a/x.u').",)
    s = made(ONE, ("a/x", sim.Gain(gain=1.0)), ("b", sim.Gain(gain=3.0)))
    s.connect("one.y", "**.u")
    s.check()
    s = made(ONE, ("a/x", sim.Gain(gain=1.0)), ("b", sim.Gain(gain=3.0)))
    s.connect("*.y", "b.u")
    assert "'*.y' is 2 outputs; a connection has one source." in str(fault(s))


def test_a_vector_gives_each_mounted_component_its_dof():
    """Whatever the names are: they are sorted otherwise than the dofs."""
    mb = sc.load("double_pendulum")
    s = sim.System("s", integrator="rk4", step=0.1)
    arm = s.add("arm", sim.Plant(mb))
    s.add("push", sim.Constant(value=(1.0, 2.0)))
    for name, dof in zip(("z", "a"), mb.dof_names, strict=True):
        s.add(f"motor_{name}", sim.Force(), at=arm.dof(dof))
    s.connect("push.y", "motor_*.command")
    run = s.run(0.1)
    assert run.forces["motor_z.force"][0].tolist() == [1.0, 0.0]
    assert run.forces["motor_a.force"][0].tolist() == [0.0, 2.0]


def test_mounts_and_ticks_that_do_not_fit():
    s = made(plant=True)
    arm = s._plants["arm"]
    s.add("motor", sim.Motor(R=1.0, L=1.0, k=1.0))
    s.add("lost", sim.Force(), at=arm.dof("elbo"))
    s.add("jet", sim.Thruster(), at=arm.node("nowhere"))
    s.add("far", sim.Thruster(), at=arm.dof(arm.mb.dof_names[0]))
    s.add("lag", sim.LowPass(time_constant=1.0), every=0.1)
    s.add("delay", sim.UnitDelay())
    s.add("sensor", sim.Sensor())
    text = str(fault(s))
    for part in (
        "the input 'motor.speed' is not connected: s.connect(source, 'motor.speed'). It is of='velocity': mount the",
        "the plant 'arm' has no dof 'elbo'",
        "the plant 'arm' has no node 'nowhere'",
        "]': the shape (3,) is not (); take an element as 'far.force[0]'",
        "'lag' ticks every 0.1 s, but 'x' is a continuous state: leave out every=, or make it sim.Discrete",
        "'x_next' of 'delay' is an update, so it needs ticks: give every= or rate=",
        "'y' of 'sensor' takes dt, so it needs ticks",
    ):
        assert part in text, (part, text)


def test_ports_of_a_plant_that_are_none():
    s = made(("a", sim.Gain(gain=1.0, size=3)), ONE, plant=True)
    for source in ("arm.x", "arm.position", "arm.q[foot]"):
        s.connect(source, "a.u")
    for target in ("arm.torque", "arm.force[foot]", "arm.node_force"):
        s.connect("one.y", target)
    text = str(fault(s))
    for part in (
        "the plant 'arm' has no output 'x'",
        "arm.position is of a node: write arm.position[hand]",
        "the plant 'arm' has no dof 'foot'",
        "the plant 'arm' has no input 'torque'",
        "arm.node_force is of a node",
    ):
        assert part in text, (part, text)


def test_a_motor_on_a_sliding_joint_is_refused():
    mb = sc.load("cart_pole")
    s = sim.System("s", integrator="rk4", step=0.1)
    cart = s.add("cart", sim.Plant(mb))
    s.add("motor", sim.Motor(R=1.0, L=1.0, k=1.0), at=cart.dof("cart"))
    text = str(fault(s))
    assert "'cart.v[cart]' -> 'motor.speed': the unit 'm/s' is not of the dimension of 'rad/s'" in text
    assert "'motor.torque' -> 'cart.force[cart]': the unit 'N m' is not of the dimension of 'N'" in text


def test_an_output_of_the_wrong_shape_is_refused():
    bad = type("Bad", (sim.Component,), {"y": sim.output(shape=(2,))(lambda: np.zeros(3))})()
    worse = type("Bad", (sim.Component,), {"y": sim.output()(lambda: np.zeros(3))})()
    error = fault(made(("bad", bad), ("worse", worse)))
    assert "'bad.y' must give an array of shape (2,), and gave array([0., 0., 0.])" in str(error)
    assert "'worse.y' must give a number, and gave array([0., 0., 0.])" in str(error)

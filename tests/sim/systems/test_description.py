"""Systems as plain data: what is built from it runs with the same bits; what it cannot hold is refused."""

from __future__ import annotations

from fractions import Fraction

import msgspec
import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import WiringError
from soacraft.sim.components.registry import known_classes
from soacraft.sim.systems.description import LoadData, MountData, PartData, SystemData, WireData, build, describe


class Axis(sim.Assembly):
    """A sampled sensor and a controller, at a dof."""

    class Params(sim.Params):
        kp: float = 20.0

    def build(self, p, at):
        self.add("sensor", sim.Sensor(deviation=0.01), rate=300, offset=0.001)
        self.add("control", sim.PID(kp=p.kp, kd=2.0, ki=0.1), every="1/700")
        self.add("motor", sim.Force(), at=at)
        self.connect("sensor.y", "control.measured")
        self.connect("control.command", "motor.command")
        self.export("u", "sensor.u")
        self.export("target", "control.target")


class Inner(sim.Params):
    """Parameters within parameters."""

    low: float
    names: tuple[str, ...] = ()


class Deep(sim.Component):
    """Takes them."""

    class Params(sim.Params):
        inner: Inner

    @sim.output()
    def y(p):
        return p.inner.low


def arm() -> sim.System:
    s = sim.System("arm", integrator="rk4", step=1e-3, t=0.5, seed=11)
    mb = sc.load("double_pendulum")
    mb.set_state([0.1, np.pi / 3], [0.2, -1.0 / 3.0])
    plant = s.add("arm", sim.Plant(mb))
    for dof in mb.dof_names:
        s.add(f"axis/{dof}", Axis(), at=plant.dof(dof))
        s.connect(f"arm.q[{dof}]", f"axis/{dof}.u")
    s.add("target", sim.Constant(value=0.3))
    s.connect("target.y", "axis/*.target")
    s.add("push", sim.Thruster(), at=plant.node(mb.bodies[-1].name))
    s.add("zero", sim.Constant(value=0.1, unit="kN"))
    s.connect("zero.y", "push.thrust", convert=True)
    s.states["axis/" + mb.dof_names[0] + "/control.sum"] = 0.25
    return s


def test_what_is_built_from_plain_data_runs_with_the_same_bits():
    s = arm()
    data = describe(s)
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(data), type=SystemData)
    assert again == data
    other = build(again, known_classes())
    assert describe(other) == data
    assert str(other.tree()) == str(s.tree())
    a, b = s.run(0.7), other.run(0.7)
    assert a.q.tobytes() == b.q.tobytes()
    assert a.signals._rows.tobytes() == b.signals._rows.tobytes()


def test_clocks_and_the_start_are_kept_to_the_nanosecond():
    s = sim.System("s", integrator="rk4", step=1e-3)
    s.add("a", sim.UnitDelay(), every=Fraction(1, 3))
    s.board.start = 2**60 + 1
    s._parts["a"] = s._parts["a"]._replace(clock=s._parts["a"].clock._replace(offset=2**60 + 3))
    other = build(describe(s), known_classes())
    assert other.board.start == 2**60 + 1
    assert other._parts["a"].clock == s._parts["a"].clock


def test_numbers_that_are_not_finite_and_structures_are_kept():
    s = sim.System("s", integrator="rk4", step=1e-3)
    s.add("a", Deep(inner=Inner(low=-np.inf, names=("x", "y"))))
    other = build(describe(s), known_classes([Deep]))
    assert other._parts["a"].component.p == s._parts["a"].component.p


def test_a_model_that_is_elsewhere_is_given_by_the_name_of_its_plant():
    s = arm()
    data = describe(s, documents=False)
    with pytest.raises(WiringError, match=r"the model of the plant 'arm' is not in the description: give models="):
        build(data, known_classes())
    mb = sc.load("double_pendulum")
    assert build(data, known_classes(), {"arm": mb})._plants["arm"].mb is mb


def test_force_elements_are_given_again():
    s = sim.System("s", integrator="rk4", step=1e-3)
    s.add("arm", sim.Plant(sc.load("pendulum"), forces=[sim.JointLimit("bob", stiffness=10.0, lower=-1.0, upper=1.0)]))
    data = describe(s)
    assert data.plants["arm"].forces == [LoadData(name="limit of bob", type="JointLimit")]
    with pytest.raises(WiringError, match=r"JointLimit 'limit of bob', which are no plain data: give them again"):
        build(data, known_classes())
    stop = sim.JointLimit("bob", stiffness=10.0, lower=-1.0, upper=1.0)
    assert build(data, known_classes(), forces={"arm": [stop]})._plants["arm"].forces == (stop,)


def test_classes_are_those_that_the_caller_knows():
    class Own(sim.Component):
        @sim.output()
        def y(p):
            return 1.0

    s = sim.System("s", integrator="rk4", step=1e-3)
    s.add("a", Own())
    with pytest.raises(WiringError, match=r"'a' is of the class 'Own', which is not known.*classes=\[\.\.\.\]"):
        build(describe(s), known_classes())
    assert type(build(describe(s), known_classes([Own]))._parts["a"].component) is Own
    sim.register(Own)
    assert known_classes()["Own"] is Own


def test_two_classes_of_one_name_are_refused():
    Motor = type("Motor", (sim.Component,), {})
    s = sim.System("s", integrator="rk4", step=1e-3)
    s.add("a", Motor())
    s.add("b", sim.Motor(R=1.0, L=1.0, k=1.0))
    with pytest.raises(WiringError, match="two classes are named 'Motor': rename one"):
        describe(s)
    with pytest.raises(WiringError, match=r"sim\.Assembly; got <class 'int'>"):
        sim.register(int)


def test_what_is_no_plain_data_is_refused():
    s = sim.System("s", integrator="rk4", step=1e-3)
    s.add("arm", sim.Plant(sc.load("pendulum"), solver=object()))
    with pytest.raises(WiringError, match="the plant 'arm' has a solver object"):
        describe(s)

    class Odd(sim.Component):
        class Params(sim.Params):
            f: object

    s = sim.System("s", integrator="rk4", step=1e-3)
    s.add("a", Odd(f=print))
    with pytest.raises(WiringError, match="a parameter of 'a' is no plain data"):
        describe(s)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (PartData(type="Gain", params={"gain": 1.0}, every="1e999999999"), "a period is a number of seconds as text"),
        (PartData(type="Gain", params={"gain": 1.0}, every="1/0"), "must be a positive number"),
        (PartData(type="Gain", params={"gain": 1.0}, every="1", offset=-1), "offset=-1"),
        (PartData(type="Gain", params={"gian": 1.0}), "Gain has no parameter 'gian'"),
        (PartData(type="Gain", params={"gain": "x"}), "parameters of Gain"),
        (PartData(type="os.system"), "the class 'os.system', which is not known"),
        (PartData(type="Force", at=MountData(plant="b", kind="dof", name="x")), "'b', which is no plant"),
        (PartData(type="Force", at=MountData(plant="arm", kind="door", name="x")), "a mount is a 'dof' or a 'node'"),
    ],
)
def test_parts_that_cannot_be_are_refused(part, text):
    s = sim.System("s", integrator="rk4", step=1e-3)
    s.add("arm", sim.Plant(sc.load("pendulum")))
    data = msgspec.structs.replace(describe(s), parts={"a": part}, wires=[WireData(source="a.y", target="b.u")])
    with pytest.raises(WiringError, match=text):
        build(data, known_classes())

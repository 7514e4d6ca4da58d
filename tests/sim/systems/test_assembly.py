"""Assemblies: names, exported ports, parts that are replaced, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import WiringError


class Axis(sim.Assembly):
    """A lag and a gain."""

    class Params(sim.Params):
        gain: float = 2.0

    def build(self, p, at):
        self.add("lag", sim.LowPass(time_constant=0.1))
        self.add("gain", sim.Gain(gain=p.gain))
        self.connect("lag.y", "gain.u")
        self.export("u", "lag.u")
        self.export("y", "gain.y")


class Pair(sim.Assembly):
    """Two axes with one input."""

    def build(self, p, at):
        self.add("left", Axis(gain=2.0))
        self.add("right", Axis(gain=3.0))
        self.export("u", "*.u")


def nested() -> sim.System:
    s = sim.System("s", integrator="rk4", step=0.01)
    s.add("one", sim.Constant(value=1.0))
    s.add("pair", Pair())
    s.connect("one.y", "pair.u")
    return s


def test_ports_are_exported_through_every_level():
    s = nested()
    s.add("sum", sim.Sum())
    s.connect("pair/left.y", "sum.a")
    s.connect("pair/right.y", "sum.b")
    run = s.run(1.0)
    assert run.signals["sum.y"][-1] == pytest.approx(5.0, rel=1e-4)
    assert [x for x in run.signals if x.endswith("gain.y")] == ["pair/left/gain.y", "pair/right/gain.y"]
    assert str(s.tree()).splitlines()[:5] == [
        "one: Constant(value=1.0, unit=None)",
        "pair",
        "  left",
        "    gain: Gain(gain=2.0, size=None)",
        "    lag: LowPass(time_constant=0.1, start=0.0, size=None)",
    ]


def test_a_handle_has_the_exported_ports():
    s = sim.System("s", integrator="rk4", step=0.01)
    axis = s.add("axis", Axis())
    assert axis.u == "axis.u"
    assert repr(axis) == "<component 'axis': u, y>"
    with pytest.raises(WiringError, match="'axis' has no port 'lag'; it has 'u', 'y'"):
        assert axis.lag


def test_an_inner_part_is_replaced_and_its_parameters_set():
    s = nested()
    s.replace("pair/left/lag", sim.Gain(gain=1.0))
    s.params["pair/left/gain.gain"] = 7.0
    assert s.run(0.1).signals["pair/left/gain.y"][0] == 7.0


def test_what_is_refused():
    s = sim.System("s", integrator="rk4", step=0.01)
    with pytest.raises(WiringError, match=r"Axis adds and connects in its build\(self, p, at\) alone"):
        Axis().add("x", sim.Constant(value=1.0))
    with pytest.raises(WiringError, match=r"Assembly has no build\(self, p, at\)"):
        s.add("none", sim.Assembly())
    with pytest.raises(WiringError, match="'a' is an assembly: give every= to the components in its build"):
        s.add("a", Axis(), every=0.1)
    with pytest.raises(WiringError, match="Axis has no parameter 'gian'; did you mean 'gain'"):
        Axis(gian=1.0)
    s.add("b", Axis())
    with pytest.raises(WiringError, match=r"'b.u' is exported already, as 'b/lag.u'"):
        s.export("b.u", "b/gain.u")
    with pytest.raises(WiringError, match="there is a component 'b' already"):
        s.add("b", Axis())


def test_an_assembly_adds_bodies_to_the_model_it_is_mounted_at():
    class Arm(sim.Assembly):
        def build(self, p, at):
            at.plant.mb.add_body("extra", at.name, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0.5, 0, 0), 0.1 * np.eye(3)))
            self.add("drive", sim.Force(), at=at.plant.dof("extra"))
            self.export("command", "drive.command")

    s = sim.System("s", integrator="rk4", step=0.01)
    plant = s.add("bob", sim.Plant(sc.load("pendulum")))
    s.add("arm", Arm(), at=plant.node("bob"))
    s.add("one", sim.Constant(value=1.0))
    s.connect("one.y", "arm.command")
    run = s.run(0.05)
    assert run.q.shape[1] == 2
    assert run.forces["arm/drive.force"][0].tolist() == [0.0, 1.0]


class Wheel(sim.Assembly):
    """A wheel with its motor, hung on what it is mounted at."""

    class Params(sim.Params):
        x: float
        radius: float = 0.2

    def build(self, p, at):
        wheel = self.add_body(
            "wheel", None, sc.Pin((0, 1, 0)), inertia=sc.Inertia(1.0, moment=0.02 * np.eye(3)),
            inboard=sc.Pose(translation=(p.x, 0, -0.3)),
        )  # fmt: skip
        wheel.add_node("rim", sc.Pose(translation=(0, 0, -p.radius)), role="sensor")
        self.add("motor", sim.Motor(R=1.0, L=5e-3, k=0.05, n=20.0), at=self.dof("wheel"))
        self.add("rim", sim.Gain(gain=1.0, size=3))
        self.connect(self.port("velocity[wheel/rim]"), "rim.u")
        self.export("voltage", "motor.voltage")


class Bogie(sim.Assembly):
    """A rocking arm with two wheels."""

    class Params(sim.Params):
        y: float

    def build(self, p, at):
        arm = sc.Inertia(2.0, (0.05, 0, -0.1), 0.1 * np.eye(3))
        self.add_body("arm", None, sc.Pin((0, 1, 0)), arm, sc.Pose(translation=(0, p.y, 0)))
        for name, x in (("front", 0.4), ("rear", -0.4)):
            self.add(name, Wheel(x=x), at=self.node("arm"))
        self.export("voltage", "*.voltage")


class Side(sim.Assembly):
    class Params(sim.Params):
        y: float

    def build(self, p, at):
        self.add("bogie", Bogie(y=p.y), at=at)
        self.export("voltage", "bogie.voltage")


def rover(sides=("left", "right")) -> tuple[sim.System, sim.Plant]:
    mb = sc.Multibody("rover")
    mb.add_body("hull", None, sc.Prismatic((1, 0, 0)), sc.Inertia(20.0, (0, 0, 0.2), np.eye(3)))
    s = sim.System("s", integrator="rk4", step=1e-3)
    plant = s.add("plant", sim.Plant(mb))
    s.add("wave", sim.Sine(frequency=3.0, amplitude=12.0))
    for side in sides:
        s.add(f"rover/{side}", Side(y=0.5 if side == "left" else -0.5), at=plant.node("hull"))
    s.connect("wave.y", "rover/*.voltage")
    return s, plant


def flat() -> sim.System:
    """The same rover by hand."""
    mb = sc.Multibody("rover")
    mb.add_body("hull", None, sc.Prismatic((1, 0, 0)), sc.Inertia(20.0, (0, 0, 0.2), np.eye(3)))
    s = sim.System("s", integrator="rk4", step=1e-3)
    plant = s.add("plant", sim.Plant(mb))
    s.add("wave", sim.Sine(frequency=3.0, amplitude=12.0))
    for side, y in (("left", 0.5), ("right", -0.5)):
        arm = mb.add_body(f"{side}_arm", "hull", sc.Pin((0, 1, 0)), sc.Inertia(2.0, (0.05, 0, -0.1), 0.1 * np.eye(3)),
                          sc.Pose(translation=(0, y, 0)))  # fmt: skip
        for name, x in (("front", 0.4), ("rear", -0.4)):
            wheel = mb.add_body(f"{side}_{name}", arm, sc.Pin((0, 1, 0)), sc.Inertia(1.0, moment=0.02 * np.eye(3)),
                                sc.Pose(translation=(x, 0, -0.3)))  # fmt: skip
            motor = sim.Motor(R=1.0, L=5e-3, k=0.05, n=20.0)
            s.add(f"{side}_{name}_motor", motor, at=plant.dof(wheel.name))
            s.connect("wave.y", f"{side}_{name}_motor.voltage")
    return s


def test_a_rover_of_assemblies_that_hang_bodies_moves_as_one_by_hand():
    s, plant = rover()
    assert plant.mb.dof_names[:3] == ("hull", "rover/left/bogie/arm", "rover/left/bogie/front/wheel")
    assert "rover/left/bogie/front/motor" in s._parts
    run, other = s.run(0.1), flat().run(0.1)
    assert np.array_equal(run.q, other.q)
    assert np.ptp(run.q[:, 2]) > 1e-3
    assert np.array_equal(
        run.signals["rover/right/bogie/rear/motor.current"], other.signals["right_rear_motor.current"]
    )
    assert np.abs(run.signals["rover/left/bogie/front/rim.y"]).max() > 1e-4
    assert len(plant.kinematics("sensor").names) == 4


def test_what_was_built_first_changes_the_order_of_dofs_alone():
    one, two = rover()[0].run(0.05), rover(("right", "left"))[0].run(0.05)
    for i, name in enumerate(one.labels.q):
        assert np.abs(one.q[:, i] - two.q[:, two.labels.q.index(name)]).max() < 1e-14


def test_an_inner_part_of_a_part_is_replaced():
    s, _ = rover()
    s.replace("rover/left/bogie/front/motor", sim.Motor(R=2.0, L=5e-3, k=0.05, n=20.0))
    run = s.run(0.05)
    currents = [run.signals[f"rover/{x}/bogie/front/motor.current"] for x in ("left", "right")]
    assert np.abs(currents[0] - currents[1]).max() > 0.1


def test_an_assembly_that_fails_leaves_nothing():
    class Broken(sim.Assembly):
        def build(self, p, at):
            self.add("bogie", Bogie(y=1.0), at=at)
            self.add_body("tail", None, sc.Weld(), inertia=sc.Inertia(1.0))
            self.add("bad", 3)

    s, plant = rover(())
    before = plant.mb.bodies, s.diagram
    with pytest.raises(WiringError, match="a system takes components"):
        s.add("broken", Broken(), at=plant.node("hull"))
    assert (plant.mb.bodies, s.diagram) == before
    assert "broken" not in s._groups
    s.add("broken", Bogie(y=1.0), at=plant.node("hull"))
    with pytest.raises(WiringError, match=r"'w' has bodies, so it is mounted at a plant, or a body or node of one"):
        s.add("w", Wheel(x=0.0))
    with pytest.raises(WiringError, match=r"'w' adds a body to dof 'hull' of 'plant': mount it at a node or a body"):
        s.add("w", Wheel(x=0.0), at=plant.dof("hull"))
    s.connect("wave.y", "broken.voltage")


class Rocker(sim.Assembly):
    """One side of a rover: an arm that rocks, with wheels, their shapes and motors."""

    class Params(sim.Params):
        y: float

    def build(self, p, at):
        self.add_body("arm", None, sc.Pin((0, 1, 0)), inertia=sc.Inertia(2.0, (0.05, 0, -0.1), 0.1 * np.eye(3)),
                      inboard=sc.Pose(translation=(0, p.y, 0)))  # fmt: skip
        for name, x in (("front", 0.4), ("rear", -0.4)):
            self.add_body(name, "arm", sc.Pin((0, 1, 0)), inertia=sc.Inertia(1.0, moment=0.02 * np.eye(3)),
                          inboard=sc.Pose(translation=(x, 0, -0.3)))  # fmt: skip
            self.add_geometry(sc.Geometry("tyre", "sphere", (0.2,)), name)
            self.add(f"{name}/motor", sim.Motor(R=1.0, L=5e-3, k=0.05, n=20.0), at=self.dof(name))
        self.export("*_voltage", "*/motor.voltage")


class Rover(sim.Assembly):
    """Two sides with a differential between their arms, a shape of the hull, and a sensor of its speed."""

    def build(self, p, at):
        self.add_geometry(sc.Geometry("chassis", "box", (1.0, 0.8, 0.2)))
        for side, y in (("left", 0.5), ("right", -0.5)):
            self.add(side, Rocker(y=y), at=at)
        self.couple("differential", {"left/arm": 1.0, "right/arm": 1.0})
        self.add_node("speed", pose=sc.Pose(translation=(0, 0, 0.1)), role="sensor")
        self.add("speed", sim.Sensor(deviation=0.0, size=3), every=0.01)
        self.connect(self.port("velocity[speed]"), "speed.u")
        self.export("left_*", "left.*_voltage")
        self.export("right_*", "right.*_voltage")
        self.export("seen", "speed.y")


def ground(hull=None) -> sim.System:
    mb = sc.Multibody("rover")
    mb.root.add_geometry(sc.Geometry("floor", "plane", pose=sc.Pose(translation=(0, 0, -0.52))))
    mb.add_body("hull", None, hull or sc.Free(), sc.Inertia(20.0, (0, 0, 0.2), np.eye(3)))
    s = sim.System("s", integrator="moreau", step=2e-3)
    s.add("plant", sim.Plant(mb, forces=[sim.Contact(friction=0.8)]))
    return s


def driven(s: sim.System) -> None:
    for side, volts in (("left", 6.0), ("right", 9.0)):
        s.add(side, sim.Constant(value=volts))
        for wheel in ("front", "rear"):
            s.connect(f"{side}.y", f"rover.{side}_{wheel}")


def test_a_rover_has_its_shapes_sensors_and_differential():
    s = ground()
    plant = s.plants["plant"]
    handle = s.add("rover", Rover(), at=plant.node("hull"))
    assert repr(handle) == "<component 'rover': left_front, left_rear, right_front, right_rear, seen>"
    mb = plant.mb
    assert [x.name for x in mb.couplings] == ["rover/differential"]
    assert [x.name for x in mb["hull"].geometries] == ["chassis"]
    assert mb["rover/left/front"].geometries["tyre"].size == (0.2,)
    assert "hull/rover_speed" in mb
    driven(s)
    run = s.run(1.0)
    arms = [mb.dof_names.index(f"rover/{x}/arm") for x in ("left", "right")]
    assert np.abs(run.v[:, arms].sum(axis=1)).max() < 1e-9
    assert np.abs(run.v[:, arms]).max() > 1e-3
    assert mb.q[4] > 0.3  # it has rolled forward on its tyres
    seen, wanted = np.linalg.norm(run.signals["rover/speed.y"][-1]), np.linalg.norm(run.v[-1, 3:6])
    assert seen == pytest.approx(wanted, abs=1e-6)
    assert run.signals["rover/speed.y"][-1, 0] > 0.3
    assert "compiled" in s._propagator.report()


def test_assemblies_join_a_running_system():
    """A rover without wheels gets them at a pause: the state goes on, and so do the numbers of one by hand."""
    s = ground(sc.Prismatic((1, 0, 0)))
    plant = s.plants["plant"]
    plant.mb.set_state([0.1], [0.7])
    s.run(0.1)
    q, v = plant.mb.q.copy(), plant.mb.v.copy()
    with s.edit():
        s.add("rover", Rover(), at=plant.node("hull"))
        driven(s)
    assert plant.mb.nv == 7
    assert (plant.mb.q[0], plant.mb.v[0]) == (q[0], v[0])
    kinds = [x.kind for x in s.changes]
    assert kinds.count("edit") == 1
    assert kinds.count("add") == 7
    run = s.run(0.3)
    assert run.t[0] == 0.1
    assert np.abs(run.v[-1, 1:]).min() > 1e-6


@pytest.mark.parametrize("begun", [False, True])
def test_an_assembly_that_is_refused_leaves_nothing_in_the_model(begun):
    """Neither bodies nor shapes, nodes, couplings: at its build, and where the change is checked."""

    class Bad(Rover):
        def build(self, p, at):
            super().build(p, at)
            raise WiringError("no rover today")

    class Loose(Rover):
        def build(self, p, at):
            super().build(p, at)
            self.connect("speed.nothing", "left/front/motor.voltage")

    def contents(mb):
        return len(mb), len(mb.couplings), list(mb["hull"].geometries), [x.name for x in mb["hull"].nodes], mb.nv

    runs = []
    for parts in ((), (Bad, Loose)):
        s = ground()
        plant = s.plants["plant"]
        if begun:
            s.run(0.02)
        before = contents(plant.mb)
        for part in parts if begun else parts[:1]:
            with pytest.raises(WiringError, match=r"no rover today|there is no output"):
                s.add("rover", part(), at=plant.node("hull"))
            assert contents(plant.mb) == before
        runs.append(s.run(0.1))
    assert np.array_equal(runs[0].q, runs[1].q)


def test_a_shape_on_a_node_is_refused():
    s = ground()
    plant = s.plants["plant"]
    plant.mb["hull"].add_node("mast")
    with pytest.raises(WiringError, match="'rover' adds a node or a shape to 'hull/mast', which is no body: mount the"):
        s.add("rover", Rover(), at=plant.node("hull/mast"))


def test_patterns_of_exports_that_are_refused():
    class Wrong(sim.Assembly):
        class Params(sim.Params):
            name: str
            port: str

        def build(self, p, at):
            self.add("lag", sim.LowPass(time_constant=1.0))
            self.export(p.name, p.port)

    s = sim.System("s")
    with pytest.raises(WiringError, match=r"a name with '\*' has one, and so has its pattern"):
        s.add("a", Wrong(name="*_*", port="*.u"))
    with pytest.raises(WiringError, match=r"a name with '\*' has one, and so has its pattern"):
        s.add("a", Wrong(name="*_u", port="**.u"))
    with pytest.raises(WiringError, match=r"'a' exports 'x_\*', and 'gain.\*' matches no port of its parts"):
        s.add("a", Wrong(name="x_*", port="gain.*"))
    assert repr(s.add("b", Wrong(name="x_*", port="lag.*"))) == "<component 'b': x_u, x_y>"

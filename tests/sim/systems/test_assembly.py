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

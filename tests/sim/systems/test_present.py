"""Names and values of a system as they are now."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sim.serving.clients import swing

import soacraft as sc
from soacraft import sim
from soacraft.errors import WiringError
from soacraft.sim.systems.present import Present


def test_names_have_kind_unit_shape_and_what_fills_them():
    present = Present(swing())
    assert present.names["arm.q"] == ("coordinates", None, (1,), "")
    assert present.names["control.measured"] == ("input", None, (), "arm.q[0]")
    assert present.names["smooth.x"].kind == "state"
    assert present.names["smooth.time_constant"].kind == "parameter"
    assert present.matching("drive.*") == ["drive.command", "drive.force"]
    with pytest.raises(WiringError, match=r"the system 'swing' has nothing named 'drive.forse'; did you mean 'drive.f"):
        present.matching("drive.forse")


def test_values_before_and_after_a_run():
    s = swing()
    present = Present(s)
    assert present.value("drive.force") is None
    assert present.value("smooth.x") == 0.0
    run = s.run(0.1)
    assert present.value("drive.force") == run.signals["drive.force"][-1]
    assert present.value("smooth.x") == run.signals["smooth.x"][-1]
    assert present.value("control.measured") == run.q[-1, 0]


def test_units_that_are_converted_and_defaults():
    class Wheel(sim.Component):
        speed = sim.In("rad/s")
        rest = sim.In(shape=(2,), default=np.array([1.0, 2.0]))

        @sim.output("rad/s")
        def out(speed):
            return speed

    s = sim.System("a", integrator="rk4", step=0.1)
    s.add("rpm", sim.Constant(value=30.0, unit="rpm"))
    s.add("wheel", Wheel())
    s.connect("rpm.y", "wheel.speed", convert=True)
    s.run(0.1)
    present = Present(s)
    assert present.value("wheel.speed") == pytest.approx(np.pi, rel=1e-15)
    assert present.value("wheel.rest") == [1.0, 2.0]
    assert not Present(s).names["wheel.rest"].filled_by
    assert present.is_current


def test_several_plants_have_names_of_their_own():
    s = sim.System("two", integrator="rk4", step=1e-2)
    a, b = (s.add(name, sim.Plant(sc.load("pendulum"))) for name in "ab")
    a.mb.q, b.mb.q = [0.1], [0.2]
    s.add("drive", sim.Force(), at=b.dof("bob"))
    s.add("push", sim.Constant(value=1.0))
    s.connect("push.y", "drive.command")
    run = s.run(0.1)
    present = Present(s)
    for running in (False, True):  # from the models, and as it is between steps
        assert present.value("a.q", running) + present.value("b.q", running) == run.q[-1].tolist()

"""Systems as FMUs: imported again they agree with themselves."""

from __future__ import annotations

import sys
from importlib import import_module

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import LinkError, WiringError

#: A module of the user, in a file that goes into the FMU.
OWN = """
from soacraft import sim

class Late(sim.Component):
    a = sim.In()
    b = sim.In()
    x = sim.Discrete(start=0.5)

    @sim.output()
    def then(x):
        return 0.7 * x - 1.1

    @sim.update(x)
    def x_next(a, b, x, noise):
        return 0.25 * (a - b) + 0.5 * x + 0.1 * noise
"""
INPUTS, OUTPUTS = ["motor.voltage"], ["motor.torque", "seen.y", "late.then"]


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    (tmp_path / "own_parts.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("own_parts", None)


def arm() -> sim.System:
    s = sim.System("driven arm", integrator="rk4", step=1e-3, seed=4)
    plant = s.add("arm", sim.Plant(sc.load("pendulum")))
    s.add("motor", sim.Motor(R=1.0, L=2e-3, k=0.05, n=20.0), at=plant.dof("bob"))
    s.add("seen", sim.Sensor(deviation=1e-3, size=None), every=0.01)
    s.add("late", import_module("own_parts").Late(), every=0.02)
    s.connect("arm.q[bob]", "seen.u")
    s.connect("seen.y", "late.a")
    s.connect("motor.torque", "late.b")
    return s


def driven(times) -> dict[str, list[float]]:
    """The same without an FMU: the voltage is held from each time to the next."""
    s = arm()
    s.add("voltage", sim.SampleHold(), every=0.05)
    s.add("wave", sim.Sine(frequency=2.0, amplitude=5.0, unit="V"))
    s.connect("wave.y", "voltage.u")
    s.connect("voltage.y", "motor.voltage")
    found = {name: [] for name in OUTPUTS}
    run = s.run(times[-1])
    for t in times:
        row = np.flatnonzero(np.isclose(run.t, t, atol=1e-9))[-1]
        for name in OUTPUTS:
            found[name].append(run.signals[name][row])
    return found


@pytest.mark.parametrize("version", [2, 3])
def test_imported_again_it_agrees_with_itself(tmp_path, version):
    before = list(sys.path)
    path = arm().to_fmu(tmp_path / "arm.fmu", INPUTS, OUTPUTS, version=version)
    assert sys.path == before
    with sim.Fmu(path, trust=True, timeout=60.0) as fmu:
        assert fmu.unkept == "the FMU 'driven_arm' cannot serialize its state"
        s = sim.System("outer", integrator="rk4", step=0.05)
        s.add("wave", sim.Sine(frequency=2.0, amplitude=5.0))
        s.add("voltage", sim.SampleHold(), every=0.05)
        s.add("arm", fmu, every=0.05)
        s.connect("wave.y", "voltage.u")
        s.connect("voltage.y", "arm.motor_voltage")
        run = s.run(0.5)
    wanted = driven(run.t)
    assert np.ptp(wanted["seen.y"]) > 1e-3
    for name in OUTPUTS:
        assert np.abs(run.signals[f"arm.{name.replace('.', '_')}"] - wanted[name]).max() <= 1e-12, name


def test_refusals(tmp_path, monkeypatch):
    with pytest.raises(LinkError, match=r"an FMU is a file that ends in \.fmu, got '.*arm\.zip'"):
        arm().to_fmu(tmp_path / "arm.zip", INPUTS, OUTPUTS)
    with pytest.raises(LinkError, match="an FMU is of version 2 or 3, got 1"):
        arm().to_fmu(tmp_path / "arm.fmu", INPUTS, OUTPUTS, version=1)
    with pytest.raises(
        WiringError, match=r"there is no input 'motor\.volt' to fill from outside; did you mean 'motor\.voltage'"
    ):
        arm().to_fmu(tmp_path / "arm.fmu", ["motor.volt"])
    with pytest.raises(
        WiringError, match=r"there is no output 'motor\.torqu' for the FMU; did you mean 'motor\.torque'"
    ):
        arm().to_fmu(tmp_path / "arm.fmu", INPUTS, ["motor.torqu"])
    with pytest.raises(WiringError, match=r"the input 'motor\.voltage' is not connected"):
        arm().to_fmu(tmp_path / "arm.fmu", [], OUTPUTS)

    s = sim.System("dragged", integrator="rk4", step=0.1)
    s.add("arm", sim.Plant(sc.load("pendulum"), forces=[sim.Drag("bob", linear=1.0)]))
    with pytest.raises(WiringError, match=r"the plant 'arm' has the force element .*, which is no plain data"):
        s.to_fmu(tmp_path / "arm.fmu")
    with sim.SharedMemory("board", {"x": None}, {"y": None}) as link:
        s = arm()
        s.add("board", link, every=0.1)
        s.connect("seen.y", "board.x")
        with pytest.raises(WiringError, match="'board' is a link to another program, which cannot be in an FMU"):
            s.to_fmu(tmp_path / "arm.fmu", INPUTS, OUTPUTS)

    class Local(sim.UnitDelay):
        pass

    s = arm()
    s.add("own", Local(), every=0.1)
    s.connect("seen.y", "own.u")
    with pytest.raises(WiringError, match="the class 'Local' is defined in a script or a function"):
        s.to_fmu(tmp_path / "arm.fmu", INPUTS, OUTPUTS)
    monkeypatch.setitem(sys.modules, "pythonfmu.builder", None)
    with pytest.raises(LinkError, match=r"made by pythonfmu, which is not installed: pip install 'soacraft\[fmi\]'"):
        arm().to_fmu(tmp_path / "arm.fmu", INPUTS, OUTPUTS)
    assert not (tmp_path / "arm.fmu").exists()

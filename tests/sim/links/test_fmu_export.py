"""Systems as FMUs: imported again they agree with themselves."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from importlib import import_module
from textwrap import dedent

import numpy as np
import pytest
from fmpy import read_model_description
from fmpy.validation import validate_fmu

import soacraft as sc
from soacraft import sim
from soacraft.errors import LinkError, WiringError
from soacraft.sim.links.fmu_export import _is_taken
from soacraft.sim.links.fmu_slave import Exported

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


@pytest.mark.parametrize("version", [2, 3])
def test_a_validator_has_nothing_to_say(tmp_path, version):
    """fmpy: the schema of the standard, names, start values, units and the structure of the model."""
    path = arm().to_fmu(tmp_path / "arm.fmu", INPUTS, OUTPUTS, version=version)
    assert validate_fmu(str(path)) == []
    about = read_model_description(path)  # with its defaults, as a user would
    variables = {x.name: x for x in about.modelVariables}
    assert [x.variable.name for x in about.outputs] == [x.variable.name for x in about.initialUnknowns] == OUTPUTS
    assert {x: variables[x].unit for x in (*INPUTS, *OUTPUTS)} == {
        "motor.voltage": "V", "motor.torque": "N m", "seen.y": None, "late.then": None,
    }  # fmt: skip
    independent = [(x.name, x.unit) for x in about.modelVariables if x.causality == "independent"]
    assert independent == ([("time", "s")] if version == 3 else [])


@pytest.mark.parametrize("version", [2, 3])
def test_units_are_powers_of_base_units(tmp_path, version):
    """V = m^2 kg s^-3 A^-1 and 1 rpm = 2 pi/60 rad/s; a bare number has the unit 1."""
    s = sim.System("units", integrator="rk4", step=0.1)
    for name, unit in {"speed": "rpm", "angle": "deg", "volt": "mV", "bare": "", "ratio": "N m/(rad/s)"}.items():
        s.add(name, sim.Constant(value=1.0, unit=unit))
    outputs = [f"{x}.y" for x in ("speed", "angle", "volt", "bare", "ratio")]
    path = s.to_fmu(tmp_path / "units.fmu", [], outputs, version=version)
    assert validate_fmu(str(path)) == []
    about = read_model_description(path)
    bases = {
        x.name: {y: z for y in ("m", "kg", "s", "A", "K", "mol", "cd", "rad") if (z := getattr(x.baseUnit, y))}
        for x in about.unitDefinitions
    }
    factors = {x.name: x.baseUnit.factor for x in about.unitDefinitions}
    wanted = {
        "rpm": ({"s": -1, "rad": 1}, 2 * np.pi / 60), "deg": ({"rad": 1}, np.pi / 180),
        "mV": ({"m": 2, "kg": 1, "s": -3, "A": -1}, 1e-3), "1": ({}, 1.0),
        "N m/(rad/s)": ({"m": 2, "kg": 1, "s": -1, "rad": -1}, 1.0),
    }  # fmt: skip
    for name, (powers, factor) in wanted.items():
        assert bases[name] == powers, name
        assert factors[name] == pytest.approx(factor, rel=1e-15), name


class Side(sim.Assembly):
    def build(self, p, at):
        self.add("wave", sim.Constant(value=(1.0, 2.0), unit="m"))


@pytest.mark.parametrize("version", [2, 3])
def test_names_of_parts_and_of_vectors_are_legal(tmp_path, version):
    s = sim.System("names", integrator="rk4", step=0.1)
    s.add("left", Side())
    path = s.to_fmu(tmp_path / "names.fmu", [], ["left/wave.y"], version=version)
    assert validate_fmu(str(path)) == []
    assert [x.variable.name for x in read_model_description(path).outputs] == ["left/wave.y[0]", "left/wave.y[1]"]


@pytest.mark.parametrize("version", [2, 3])
def test_fmpy_simulates_it_with_its_defaults(tmp_path, version):
    """In a process of its own: the binary of the FMU starts a Python inside of it."""
    s = sim.System("ramp", integrator="rk4", step=0.125)
    s.add("rate", sim.Constant(value=2.0))
    s.add("total", sim.Integrator())
    s.connect("rate.y", "total.u")
    path = s.to_fmu(tmp_path / "ramp.fmu", [], ["total.y"], version=version)
    code = f"""
        from fmpy import simulate_fmu
        rows = simulate_fmu({str(path)!r}, stop_time=1.0, output_interval=0.25, output=["total.y"])
        print([rows["time"].tolist(), rows["total.y"].tolist()])
    """
    done = subprocess.run([sys.executable, "-c", dedent(code)], capture_output=True, text=True, timeout=60)
    assert done.stdout, done.stderr
    t, total = np.array(json.loads(done.stdout.splitlines()[-1]))
    np.testing.assert_allclose(t, [0.0, 0.25, 0.5, 0.75, 1.0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(total, 2.0 * t, rtol=0, atol=1e-12)


def test_the_time_of_an_fmu_is_that_of_its_last_step(tmp_path):
    s = sim.System("ramp", integrator="rk4", step=0.125)
    s.add("rate", sim.Constant(value=2.0))
    path = s.to_fmu(tmp_path / "ramp.fmu", [], ["rate.y"], version=3)
    with zipfile.ZipFile(path) as archive:
        archive.extract("resources/soacraft_system.json", tmp_path)
    exported = Exported(tmp_path / "resources")
    assert exported.time == 0.0
    exported.begin(1.0)
    assert exported.time == 1.0
    exported.step(1.0, 0.25)
    assert exported.time == 1.25


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


def test_a_system_named_as_the_module_of_its_classes_is_exported(tmp_path):
    """The script of an FMU has the name of the system, and is imported where it runs."""
    s = sim.System("own_parts", integrator="rk4", step=1e-3, seed=4)
    s.add("late", import_module("own_parts").Late(), every=0.02)
    s.add("one", sim.Constant(value=1.0))
    for port in ("late.a", "late.b"):
        s.connect("one.y", port)
    file = s.to_fmu(tmp_path / "named.fmu", outputs=["late.then"])
    with sim.Fmu(file, trust=True) as fmu:
        outer = sim.System("outer", integrator="rk4", step=1e-2)
        outer.add("fmu", fmu, every=0.02)
        run = outer.run(0.0)
    assert run.signals["fmu.late_then"][0] == 0.7 * 0.5 - 1.1
    assert sys.modules["own_parts"].Late is type(s._parts["late"].component)


@pytest.mark.parametrize("name", ["own_parts", "json", "class", "numpy", "soacraft", "None"])
def test_names_of_modules_and_words_of_python_are_taken(name):
    assert _is_taken(name, ["own_parts"])
    assert not _is_taken(f"{name}_fmu", ["own_parts"])

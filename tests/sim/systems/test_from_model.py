"""Components for the actuators and sensors of a model, against the law of `Propagator.control` and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import ModelError

MJCF = """<mujoco><compiler angle="radian"/><option gravity="0 0 -9.81"/><worldbody>
<body name="arm" pos="0 0 1"><joint name="hip" axis="0 1 0"/><geom type="box" size=".1 .1 .4" pos="0 0 -.4" mass="2"/>
<site name="imu" pos="0 0 -.8" euler="0 .3 0"/>
<body name="fore" pos="0 0 -.8"><joint name="knee" axis="0 1 0"/>
<geom type="box" size=".1 .1 .3" pos="0 0 -.3" mass="1"/>
</body></body></worldbody>
<actuator><motor name="1 push" joint="hip" gear="5" ctrlrange="-1 1" ctrllimited="true"/>
<position name="servo" joint="knee" kp="40" forcerange="-3 3" forcelimited="true"/>
<general name="slow" joint="hip" dyntype="filter" dynprm="1"/></actuator>
<sensor><jointpos name="angle" joint="knee"/><gyro name="gyro" site="imu" noise="0.1"/>
<accelerometer name="felt" site="imu"/><framepos name="where" objtype="site" objname="imu"/>
<touch name="skin" site="imu"/>
<framepos name="there" objtype="xbody" objname="fore" reftype="site" refname="imu"/></sensor></mujoco>
"""


@pytest.fixture
def mb(tmp_path):
    (tmp_path / "a.xml").write_text(MJCF)
    mb = sc.load(tmp_path / "a.xml")
    mb.set_state([0.4, -0.3], [0.5, 1.0])
    return mb


def robot(mb) -> tuple[sim.System, sim.FromModel]:
    s = sim.System("s", integrator="rk4", step=1e-3)
    arm, devices = s.add("arm", sim.Plant(mb)), sim.from_model(mb)
    s.add("devices", devices, at=arm)
    s.add("two", sim.Constant(value=2.0))
    s.add("half", sim.Constant(value=0.5))
    s.connect("two.y", "devices.actuator_1_push")
    s.connect("half.y", "devices.servo")
    return s, devices


def test_drives_push_as_controls_do(mb):
    twin = mb.copy()
    run = robot(mb)[0].run(0.3)
    p = sim.Propagator(twin, integrator="rk4", step=1e-3)
    p.control("1 push", 2.0)
    p.control("servo", 0.5)
    assert np.abs(p.advance_to(0.3).q - run.q).max() < 1e-12
    assert run.forces["devices/actuator_1_push.force"][0].tolist() == [5.0, 0.0]
    assert np.abs(run.forces["devices/servo.force"]).max() == 3.0


def test_a_drive_of_several_dofs():
    mb = sc.load("robotiq_2f85")
    mb.gravity = (0, 0, 0)
    name = mb.actuators[0].name
    state = mb.state(0.01 * np.ones(mb.nq), 0.1 * np.ones(mb.nv))
    s = sim.System("s", integrator="rk4", step=1e-4)
    s.add("hand", sim.Plant(mb))
    s.add("devices", sim.from_model(mb), at=s._plants["hand"])
    s.add("u", sim.Constant(value=20.0))
    s.connect("u.y", f"devices.{name}")
    _, _, flow = s._compiled()
    flow.place(0.0, np.array(state.q), np.array(state.v), flow.present)
    forces = np.zeros((1, mb.nv))
    flow.push(np.array(state.q), forces)
    control = sim.forces.drives.Control(name, 20.0)
    control.bind(mb)
    assert forces[0] == pytest.approx(control.force(0.0, state), rel=1e-14)
    assert np.count_nonzero(forces[0]) == 2


def test_sensors_measure_in_their_axes(mb):
    s, _ = robot(mb)
    run = s.run(0.2)
    assert np.array_equal(run.signals["devices/angle.y"], run.q[:, 1])
    mb.set_state(run.q[-1], run.v[-1], run.vdot[-1])
    R = np.asarray(mb.pose("arm/imu").rotation)
    assert run.signals["devices/gyro.y"][-1] == pytest.approx(R.T @ mb.velocity("arm/imu").angular, abs=1e-12)
    felt = R.T @ (mb.acceleration("arm/imu").linear + np.array([0, 0, 9.81]))
    assert run.signals["devices/felt.y"][-1] == pytest.approx(felt, abs=1e-11)
    assert run.signals["devices/where.y"][-1] == pytest.approx(mb.pose("arm/imu").translation, abs=1e-13)


def test_the_report_says_what_was_used_and_what_not(mb):
    _, devices = robot(mb)
    used = [(x.element, x.name, x.note) for x in devices.report.used]
    assert used[0] == ("actuator", "1 push", "is called 'actuator_1_push'")
    assert [name for _, name, _ in used] == ["1 push", "servo", "angle", "gyro", "felt", "where"]
    ignored = {(x.name, x.attribute): x.note for x in devices.report.ignored}
    assert set(ignored) == {("slow", ""), ("gyro", "noise"), ("skin", ""), ("there", "")}
    assert "dyntype 'filter', which is kept and not simulated" in ignored["slow", ""]
    assert ignored["gyro", "noise"].startswith("put a sim.Sensor(deviation=0.1")
    assert ignored["skin", ""] == "there is no component for a sensor of type 'touch'"
    assert "relative to another frame" in ignored["there", ""]
    with pytest.raises(ModelError, match="from_model takes a Multibody, got 3"):
        sim.from_model(3)


def test_it_is_in_files(mb, tmp_path):
    s, _ = robot(mb)
    s.save(tmp_path / "a.json")
    assert np.array_equal(sim.load_system(tmp_path / "a.json").run(0.05).q, s.run(0.05).q)

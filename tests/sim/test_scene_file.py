"""`Propagator.from_file`: a file with a floor, contact, limits, actuators, sensors and keyframes moves at one call."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ModelError, ModelFileError, SimulationError, StateError
from soacraft.sim import Contact, Propagator
from soacraft.sim.forces.starts import Overlap

G = 9.81
#: A leg of two links on a slide, with servos, sensors and a keyframe, over a floor of heights.
LEG = """<mujoco model="leg"><option timestep="{step}" gravity="0 0 -9.81"/><compiler angle="radian"/>
<asset><hfield name="ground" nrow="3" ncol="3" size="5 5 1 .1"/></asset><worldbody>
<geom name="ground" type="hfield" hfield="ground"/>
<body name="trunk" pos="0 0 .9"><joint name="lift" type="slide" axis="0 0 1"/>
 <geom type="box" size=".1 .1 .05" mass="3" contype="0" conaffinity="0"/><site name="imu"/>
 <body name="thigh"><joint name="hip" axis="0 1 0" range="-1 1" damping=".1"/>
  <geom type="capsule" size=".03" fromto="0 0 0 0 0 -.4" mass=".5" contype="0" conaffinity="0"/>
  <body name="shank" pos="0 0 -.4"><joint name="knee" axis="0 1 0" range="0 2" damping=".1"/>
   <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.4" mass=".3" contype="0" conaffinity="0"/>
   <geom name="foot" type="sphere" size=".04" pos="0 0 -.4" mass=".1"/></body></body></body></worldbody>
<actuator><position name="hip" joint="hip" kp="80" kv="2" ctrlrange="-1 1"/>
 <position name="knee" joint="knee" kp="80" kv="2" forcerange="-40 40"/>
 <general name="slow" joint="knee" dyntype="filter" dynprm="1"/></actuator>
<sensor><jointpos name="angle" joint="knee"/><gyro name="gyro" site="imu"/><accelerometer name="felt" site="imu"/>
 <framepos name="where" objtype="site" objname="imu"/><touch name="skin" site="imu"/></sensor>
<keyframe><key name="home" qpos="-.1 -.4 .8" ctrl="-.4 .8 0"/></keyframe></mujoco>"""


@pytest.fixture
def leg(tmp_path):
    (tmp_path / "leg.xml").write_text(LEG.format(step="0.002"))
    return tmp_path / "leg.xml"


def test_a_scene_runs_at_one_call(leg):
    """Height field, keyframe, controls and step are those of the file; the leg comes to rest on its foot, which bears
    its weight, and its sensors say so."""
    p = Propagator.from_file(leg, keyframe="home")
    assert p.mb.q == pytest.approx([-0.1, -0.4, 0.8])
    run = p.advance_to(3.0)
    assert np.diff(run.t) == pytest.approx(0.002)
    assert np.abs(run.q[-1] - run.q[-50]).max() < 1e-4
    scene = sc.contact.Scene(p.mb)
    assert abs(float(scene.distances(p.mb.q).distance.min())) < 2e-3
    assert run.contacts.force("shank")[-1, 2] == pytest.approx(3.9 * G, rel=1e-2)
    values = p.sensors()
    assert set(values) == {"angle", "gyro", "felt", "where"}
    assert values["angle"] == p.mb.q[2]
    assert values["felt"] == pytest.approx([0, 0, G], abs=0.05)
    assert values["where"] == pytest.approx([0, 0, 0.9 + p.mb.q[0]])
    said = str(p.report())
    for text in (
        "step: 0.002 s, of the file",
        "state: keyframe 'home'",
        "controls: hip = -0.4, knee = 0.8, others 0",
        "sensors: 'angle', 'gyro', 'felt', 'where'",
        "sensor 'skin' and its like are not measured: there is no component for a sensor of type 'touch'",
        "actuators 'slow': dyntype 'filter' is kept and not simulated",
    ):
        assert text in said, text


def test_it_is_the_run_that_is_built_by_hand(leg):
    """The same bits as `sc.load`, `Contact` and a control for each actuator; another control moves it otherwise."""
    ends = []
    for by_hand in (False, True):
        if by_hand:
            mb = sc.load(leg)
            mb.set_state("home")
            p = Propagator(mb, integrator="moreau", step=0.002)
            p.add(Contact())
            p.control("hip", -0.4)
            p.control("knee", 0.8)
        else:
            p = Propagator.from_file(leg, "home")
        p.advance_to(0.2)
        ends.append(p.mb.q)
    assert (ends[0] == ends[1]).all()
    p = Propagator.from_file(leg, "home")
    p.control("knee", 1.2)
    p.advance_to(0.2)
    assert p.mb.q[2] > ends[0][2] + 0.1


def test_models_of_the_library_and_of_hand(leg):
    """A name, a loaded model and a file are the same; without a step of the file it is of the model's own time."""
    p = Propagator.from_file("a1", keyframe="home")
    p.advance_to(0.02)
    assert "state: keyframe 'home'" in p.report()
    steps = []
    for unit in (1.0, 1e-6, 1e6):
        mb = sc.Multibody(gravity=(0, 0, -G * unit))
        link = mb.add_body("link", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, -0.5 * unit), np.eye(3) * unit**2))
        link.add_node("tip", sc.Pose(translation=(0, 0, -unit)))
        p = Propagator.from_file(mb)
        run = p.advance_to(0.01)
        assert "of its size" in p.report()
        steps.append(run.t[1])
    assert steps == pytest.approx([steps[0]] * 3, rel=1e-6)
    assert steps[0] < 0.01
    mb = sc.load(leg)
    q = Propagator.from_file(mb, "home", step=0.001).advance_to(0.01).q
    assert len(q) == 11


def test_a_file_without_a_step_has_that_of_its_format(leg, tmp_path):
    """2 ms, also where the file includes another first."""
    leg.write_text(LEG.format(step="0.002").replace('timestep="0.002"', ""))
    (tmp_path / "scene.xml").write_text('<mujoco><include file="leg.xml"/></mujoco>')
    for path in (leg, tmp_path / "scene.xml"):
        p = Propagator.from_file(path)
        assert "step: 0.002 s, of the file" in p.report()


def test_a_urdf_with_a_floor(tmp_path):
    (tmp_path / "ball.urdf").write_text("""<robot name="ball"><link name="ball"><inertial><mass value="1"/>
    <inertia ixx=".004" ixy="0" ixz="0" iyy=".004" iyz="0" izz=".004"/></inertial>
    <collision><geometry><sphere radius=".1"/></geometry></collision></link></robot>""")
    mb = sc.load(tmp_path / "ball.urdf", root=sc.Free())
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    mb.set_state([0, 0, 0, 1, 0, 0, 0.3], np.zeros(6))
    Propagator.from_file(mb).advance_to(0.5)
    assert mb.q[6] == pytest.approx(0.1, abs=2e-3)


def test_a_keyframe_off_its_closures_is_assembled(tmp_path):
    """A bar that hangs from two ropes of links, told a centimetre off: closed within the run's tolerance, and told."""
    (tmp_path / "bars.xml").write_text("""<mujoco><compiler angle="radian"/><worldbody>
    <body name="a"><joint name="a" axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 0 0 1" mass="1"/>
    <body name="b" pos="0 0 1"><joint name="b" axis="0 1 0"/>
    <geom type="capsule" size=".02" fromto="0 0 0 1 0 0" mass="1"/></body></body>
    <body name="c" pos="1 0 0"><joint name="c" axis="0 1 0"/>
    <geom type="capsule" size=".02" fromto="0 0 0 0 0 1" mass="1"/></body></worldbody>
    <contact><exclude body1="a" body2="b"/><exclude body1="b" body2="c"/></contact>
    <equality><connect name="pin" body1="b" body2="c" anchor="1 0 0"/></equality>
    <keyframe><key name="tilted" qpos=".3 -.29 .31"/></keyframe></mujoco>""")
    p = Propagator.from_file(tmp_path / "bars.xml", "tilted")
    run = p.advance_to(0.05)
    assert run.violation.max() < 1e-6
    assert run.q[0] == pytest.approx([0.3, -0.3, 0.3], abs=0.02)
    assert "closures: assembled from the state" in p.report()


def test_refusals(leg, tmp_path):
    with pytest.raises(StateError, match="'leg' has no keyframe 'hme'; did you mean 'home'"):
        Propagator.from_file(leg, "hme")
    with pytest.raises(StateError, match="a keyframe is given by its name, got 3"):
        Propagator.from_file(leg, 3)
    with pytest.raises(StateError, match=r"contact must be a sc\.sim\.Contact, got 0\.5"):
        Propagator.from_file(leg, contact=0.5)
    with pytest.raises(StateError, match=r"exclude lists pairs of shapes or bodies, \('hand', 'table'\); got 'foot'"):
        Propagator.from_file(leg, exclude=["foot"])
    with pytest.raises(ModelError, match="is loaded already: mesh_roots, root, lenient are for files"):
        Propagator.from_file(sc.load(leg), lenient=True)
    with pytest.raises(ModelFileError):
        Propagator.from_file(tmp_path / "none.xml")


STUCK = """<mujoco><worldbody><geom name="wall" type="box" size=".1 .1 .1"/>
<body name="wheel" pos=".15 0 0"><joint name="turn" axis="1 0 0"/><geom name="disc" type="cylinder" size=".08 .1"
zaxis="1 0 0" mass="1"/></body></worldbody></mujoco>"""


def test_what_nothing_can_separate_is_left_out_and_told(tmp_path):
    """A wheel turns about the normal of the wall that its face is in: no turn takes it out, whatever single points
    do."""
    (tmp_path / "m.xml").write_text(STUCK)
    pair = ("inertial/wall", "wheel/disc")
    p = Propagator.from_file(tmp_path / "m.xml")
    told = "'inertial/wall' and 'wheel/disc' 0.05 m in each other, and no dof moves them apart"
    assert f"left out of contact: {told}" in p.report()
    p.mb.v = [1.0]
    p.advance_to(0.1)
    assert p.mb.q[0] == pytest.approx(0.1)
    named = Propagator.from_file(tmp_path / "m.xml", exclude=[pair])
    assert "left out" not in named.report()
    by_hand = Propagator(sc.load(tmp_path / "m.xml"), integrator="moreau", step=0.01)
    by_hand.add(sc.sim.Contact())
    cure = r"contact\.scene\.exclude\('inertial/wall', 'wheel/disc'\)"
    with pytest.raises(SimulationError, match=rf"{told}; .* {cure}"):
        by_hand.advance_to(0.1)


CAGED = """<mujoco><worldbody>
<geom name="wall" type="box" size=".1 .1 .1"/>
<body name="slide" pos=".15 0 0"><joint type="slide" axis="0 1 0"/>
 <geom name="plate" type="box" size=".1 .1 .1"/></body>
<body name="loose" pos="0 0 1"><freejoint/><geom name="ball" size=".1"/></body>
</worldbody></mujoco>"""


def test_only_shapes_of_one_mechanism_are_left_out(tmp_path, monkeypatch):
    """A free body that is wedged in something has no place to go: it would fall through what it is left out with."""
    (tmp_path / "m.xml").write_text(CAGED)
    p = Propagator.from_file(tmp_path / "m.xml")
    assert "'inertial/wall' and 'slide/plate'" in p.report()
    stuck = Overlap(("inertial/wall", "loose/ball"), 0.05, 0.5, moves=False)
    monkeypatch.setattr(sc.sim.Contact, "start", lambda *_: (stuck,))
    assert "left out" not in Propagator.from_file(tmp_path / "m.xml").report()

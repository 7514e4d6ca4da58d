"""`strict=True` and `report.not_simulated`: what changes the motion, and nothing else."""

import mujoco
import numpy as np
import pytest

import soacraft as sc
import soacraft.dynamics as dyn
from soacraft.errors import ModelFileError

INERTIAL = "<inertial><mass value='2'/><inertia ixx='.3' ixy='0' ixz='0' iyy='.4' iyz='0' izz='.5'/></inertial>"
SHAPE = "<collision {0}><geometry><sphere radius='.1' {0}/></geometry>{1}</collision>"


def urdf(inside="", link="", robot="", attributes="", kind="revolute"):
    return f"""<robot name='r'><link name='base'>{INERTIAL}</link><link name='arm'>{INERTIAL}{link}</link>
<joint name='elbow' type='{kind}' {attributes}><parent link='base'/><child link='arm'/><axis xyz='0 0 1'/>{inside}
</joint>{robot}</robot>"""


def loaded(folder, text, **options):
    path = folder / ("m.xml" if text.startswith("<mujoco") else "m.urdf")
    path.write_text(text)
    return sc.load(path, **options)


STILL = {
    "a flag of a fixed joint": urdf(attributes="dont_collapse='true'", kind="fixed"),
    "a flag of a moving joint": urdf(attributes="dont_collapse='true'"),
    "messages": urdf(link="<verbose value='Quiet'/>", inside="<verbose value='Quiet'/>"),
    "more about limits": urdf("<limit lower='-1' upper='1' effort='8' velocity='1' gear_velocity='10' current='9'/>"),
    "limits of another program": urdf("<limit effort='8' velocity='1' drake:acceleration='3'/>"),
    "more about a shape": urdf(link=SHAPE.format("concave='yes'", "<verbose value='Quiet'/><contact_group/>")),
    "colours": urdf(link="<visual><geometry><sphere radius='1'/></geometry><glow value='1'/></visual>"),
    "contact": urdf(link="<contact><stiffness value='3e4'/><lateral_friction value='1'/></contact>"),
    "gazebo's looks": urdf(robot="<gazebo reference='arm'><material>Gazebo/Red</material><mu1>0.2</mu1></gazebo>"),
    "gravity that is on": urdf(robot="<gazebo reference='arm'><turnGravityOff>false</turnGravityOff></gazebo>"),
    "a drive": urdf(robot="<transmission name='t'><joint name='elbow'/><actuator name='m'/></transmission>"),
    "a controller": urdf(robot="<ros2_control name='c'><joint name='elbow'><param/></joint></ros2_control>"),
    "settings of another reader": urdf(robot="<mujoco><compiler meshdir='x' discardvisual='false'/></mujoco>"),
    "no friction": urdf("<dynamics damping='1' friction='0.0'/>"),
}  # fmt: skip


@pytest.mark.parametrize("case", STILL)
def test_urdf_that_strict_takes(case, tmp_path):
    mb = loaded(tmp_path, STILL[case], strict=True)
    assert mb.import_report.not_simulated == ()


MOVES = {
    "dry friction": (urdf("<dynamics friction='.3'/>"), "robot/joint/dynamics@friction 'elbow': dry friction is kept"),
    "a spring of gazebo": (
        urdf(robot="<gazebo reference='elbow'><springStiffness>20</springStiffness></gazebo>"),
        "robot/gazebo/springStiffness",
    ),
    "gravity off": (
        urdf(robot="<gazebo reference='arm'><turnGravityOff>true</turnGravityOff></gazebo>"),
        "robot/gazebo/turnGravityOff",
    ),
    "a loop of gazebo": (
        urdf(robot="<gazebo><joint name='l' type='revolute'><parent>arm</parent><child>base</child></joint></gazebo>"),
        "robot/gazebo/joint",
    ),
    "a rotor": (
        urdf(robot="<transmission name='t'><joint name='elbow'/><actuator name='m'>"
             "<drake:rotor_inertia value='1e-4'/></actuator></transmission>"),
        "robot/transmission/actuator/drake:rotor_inertia",
    ),
    "an attribute that nobody knows": (urdf("<dynamics stiffness='3'/>"), "robot/joint/dynamics@stiffness 'elbow'"),
    "an element that nobody knows": (urdf("<spring k='3'/>"), "robot/joint/spring@k 'elbow': URDF has no such element"),
}  # fmt: skip


@pytest.mark.parametrize("case", MOVES)
def test_urdf_that_strict_refuses(case, tmp_path):
    text, said = MOVES[case]
    assert loaded(tmp_path, text).import_report.not_simulated
    with pytest.raises(ModelFileError) as caught:
        loaded(tmp_path, text, strict=True)
    assert said in str(caught.value)


GEOM = "<geom type='capsule' size='.05 .2' pos='.1 .2 .3' {}/>"


def mjcf(joint="", geom="", before="", after="", flags=""):
    return f"""<mujoco><option {flags}/>{before}<worldbody><geom type='plane' size='1 1 1'/>
<body name='a'><joint name='ja' axis='1 0 0' {joint}/>{GEOM.format(geom)}<site name='sa' pos='0 0 .3'/>
<body name='b' pos='0 0 1'><joint name='jb' axis='0 1 0'/>{GEOM.format("")}<site name='sb' pos='0 0 .4'/></body></body>
</worldbody>{after}</mujoco>"""


QUIET = {
    "contact": mjcf(geom="friction='1 .1 .1' condim='6' solref='.01 1' margin='.1'"),
    "a pair": mjcf(after="<contact><exclude body1='a' body2='b'/></contact>"),
    "limits": mjcf("range='-20 20' limited='true' solreflimit='.01 1' actuatorfrcrange='-3 3'"),
    "an actuator": mjcf(after="<actuator><position name='p' joint='ja' kp='20' kv='1'/></actuator>"),
    "softness": mjcf(after="<equality><joint joint1='ja' joint2='jb' solref='.01 1' solimp='.8 .9 .01'/></equality>"),
    "wind without air": mjcf(flags="wind='1 2 3'"),
    "friction of a class that nobody uses": mjcf(
        before="<default><default class='x'><joint frictionloss='2'/></default></default>"
    ),
    "friction that is off": mjcf("frictionloss='.5'", before="<option><flag frictionloss='disable'/></option>"),
    "a keyframe and a sensor": mjcf(
        after="<keyframe><key qpos='.1 .2'/></keyframe><sensor><jointpos joint='ja'/></sensor>"
    ),
}


@pytest.mark.parametrize("case", QUIET)
def test_mjcf_that_strict_takes_moves_as_in_mujoco(case, tmp_path):
    """Where no limit is touched, nothing touches and actuators give no force, the accelerations are MuJoCo's."""
    mb = loaded(tmp_path, QUIET[case], strict=True)
    spec = mujoco.MjSpec.from_file(str(tmp_path / "m.xml"))
    model = spec.compile()
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= int(off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_ACTUATION | off.mjDSBL_EQUALITY)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = (0.3, -0.4), (0.5, 0.7)
    mujoco.mj_forward(model, data)
    ours = dyn.forward_dynamics(mb, data.qpos, data.qvel, np.zeros(2), ignore_loops=True)
    np.testing.assert_allclose(ours, data.qacc, rtol=1e-9)


COUNTED = {
    "dry friction": (mjcf("frictionloss='.5'"), "mujoco/body/joint@frictionloss 'ja': dry friction is kept"),
    "dry friction from a class": (
        mjcf(before="<default><joint frictionloss='.5'/></default>"), "mujoco/body/joint@frictionloss 'jb'",
    ),
    "fluid drag": (mjcf(flags="density='1.2'"), "mujoco/option@density: forces of the medium are not simulated"),
    "viscosity": (mjcf(flags="viscosity='.1'"), "mujoco/option@viscosity"),
    "a spring on a rope": (
        mjcf(after="<tendon><spatial name='rope' stiffness='30'><site site='sa'/><site site='sb'/><pulley divisor='2'/>"
                   "<site site='sa'/><site site='sb'/></spatial></tendon>"),
        "mujoco/tendon/spatial@stiffness 'rope': its path has geoms or pulleys, or stays on one body: is kept",
    ),
    "something unknown": (mjcf("spin='2'"), "mujoco/body/joint@spin 'ja': is not known"),
}  # fmt: skip


@pytest.mark.parametrize("case", COUNTED)
def test_mjcf_that_strict_refuses(case, tmp_path):
    text, said = COUNTED[case]
    mb = loaded(tmp_path, text)
    assert mb.import_report.not_simulated
    assert "would change the motion and" in repr(mb.import_report).splitlines()[0]
    assert repr(mb.import_report).splitlines()[1].split()[0] in ("recorded!", "ignored!")
    with pytest.raises(ModelFileError) as caught:
        loaded(tmp_path, text, strict=True)
    assert said in str(caught.value)

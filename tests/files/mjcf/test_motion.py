"""The table of what each attribute of MJCF does to the motion: complete by MuJoCo's schema, and true by trial.

A trial is a small model with an attribute and without. An attribute that acts changes what is computed here, and what
is computed here is what MuJoCo computes, in both; one that is declared has a line in `not_simulated`.
"""

import re
from pathlib import Path

import mujoco
import numpy as np
import pytest
from tests.files.mjcf.peer import InMujoco

import soacraft as sc
from soacraft.contact.dynamics.surfaces import Surfaces
from soacraft.files.mjcf.handlers import HANDLERS, SOFTNESS
from soacraft.files.mjcf.motion import TABLE, effect_of
from soacraft.files.mjcf.rules import Rule
from soacraft.files.mjcf.walk import child_key
from soacraft.sim.forces.drives import Control


def schema():
    """The attributes of MuJoCo's own schema by the keys of our handlers."""
    attributes, path, key = {}, [], ""
    for line in mujoco.mj_printSchema(False, False).splitlines():
        head = re.match(r"( *)(?:\(world\))?(\w+) \(.\)", line)
        if head:
            path, key = [*path[: len(head[1]) // 3], head[2]], ""
            for tag in path[1:]:
                key = child_key(key, tag)
            line = line[head.end() :]
        attributes.setdefault(key or "mujoco", set()).update(line.split())
    return attributes


def test_every_attribute_of_the_schema_has_a_row():
    rows = [(key, name) for key, names in schema().items() for name in names]
    assert len(rows) > 1800
    assert [x for x in rows if effect_of(*x) is None] == []


def test_a_new_attribute_has_none():
    assert effect_of("body/joint", "brittleness") is None
    assert effect_of("body/wing", "pos") is None


def test_the_table_has_no_attribute_twice_and_agrees_with_the_handlers():
    for key, row in TABLE.items():
        names = " ".join(row).split()
        assert len(names) == len(set(names)), key
    for key, handler in HANDLERS.items():
        fates = handler.fates if isinstance(handler, Rule) else {}
        for name, fate in fates.items():
            effect = effect_of(key, name)
            if fate.dynamic:
                assert effect == "declared", (key, name)
            if effect == "rigid" and name != "torquescale":
                assert handler.notes.get(name) == SOFTNESS, (key, name)


# -- trials of what acts ----------------------------------------------------------------------------------------------

#: Two links; joints have names a and b, and a state that is not at rest.
ARM = """<mujoco>{top}<worldbody><site name="w" pos=".3 0 1"/><body name="upper" {body}>
  <joint name="a" axis="0 1 0" {joint}/>
  <geom name="u" type="box" size=".1 .2 .3" pos=".1 0 .2" {geom}/>{inertial}<site name="s" pos="0 0 .5" {site}/>
  <body name="lower" pos="0 0 1"><joint name="b" axis="0 1 0"/><geom type="capsule" size=".1 .4" pos=".2 0 .3"/>
  </body></body></worldbody>
  <tendon><fixed name="t" {tendon}><joint joint="a" coef="1.5"/><joint joint="b" coef="{coef}"/></fixed>{tendons}
  </tendon>  <actuator>{actuator}</actuator></mujoco>"""
FIELDS = "top body joint geom inertial site tendon tendons actuator".split()
Q, V, CTRL = np.array([0.3, -0.4]), np.array([0.7, 0.9]), 2.5


def arm(**parts):
    return ARM.format(**({"coef": "1"} | dict.fromkeys(FIELDS, "") | parts))


def accelerations(tmp_path, text):
    """Ours and MuJoCo's, at one state, with all actuators at one control."""
    path = tmp_path / "model.xml"
    path.write_text(text)
    mb, peer = sc.load(path), InMujoco(text)
    q, v = np.resize(Q, mb.nq), np.resize(V, mb.nv)
    state = mb.state(q, v)
    force = np.zeros(mb.nv)
    for actuator in mb.actuators:
        control = Control(actuator.name, CTRL)
        control.bind(mb)
        force += control.force(0.0, state)
    peer.data.ctrl[:] = CTRL
    peer.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    peer.put(q + peer.model.qpos0, v)
    return sc.dynamics.forward_dynamics(mb, q, v, force), peer.data.qacc.copy()


MOTOR, SERVO = '<motor joint="a" {}/>', '<position joint="a" {}/>'
DYNAMICS = {
    ("option", "gravity"): ("top", '<option gravity="1 2 3"/>'),
    ("option/flag", "gravity"): ("top", '<option><flag gravity="disable"/></option>'),
    ("compiler", "angle"): ("body", 'euler="0 20 0"', '<compiler angle="radian"/>'),
    ("compiler", "boundmass"): ("top", '<compiler boundmass="500"/>'),
    ("compiler", "boundinertia"): ("top", '<compiler boundinertia="500"/>'),
    ("compiler", "inertiafromgeom"): ("inertial", '<inertial pos="0 0 0" mass="3" diaginertia="1 1 1"/>',
                                      '<compiler inertiafromgeom="true"/>'),
    ("compiler", "inertiagrouprange"): ("inertial", '<geom size=".2" group="3"/>',
                                        '<compiler inertiagrouprange="0 1"/>'),
    ("compiler", "eulerseq"): ("body", 'euler="10 20 30"', '<compiler eulerseq="ZYX"/>'),
    ("body", "pos"): (
        "inertial", '<body pos=".1 .2 .3"><geom size=".2"/></body>', "", '<body><geom size=".2"/></body>'),
    ("body", "quat"): ("body", 'quat="1 .2 .3 0"'),
    ("body", "axisangle"): ("body", 'axisangle="0 1 0 20"'),
    ("body", "euler"): ("body", 'euler="0 20 0"'),
    ("body", "xyaxes"): ("body", 'xyaxes="1 0 .3 0 1 0"'),
    ("body", "zaxis"): ("body", 'zaxis="1 0 1"'),
    ("body", "gravcomp"): ("body", 'gravcomp=".5"'),
    ("body/inertial", "mass"): ("inertial", '<inertial pos="0 0 .1" mass="7" diaginertia="1 1 1"/>'),
    ("body/inertial", "pos"): ("inertial", '<inertial pos="0 0 .3" mass="7" diaginertia="1 1 1"/>'),
    ("body/inertial", "diaginertia"): ("inertial", '<inertial pos="0 0 .1" mass="7" diaginertia="1 2 2"/>'),
    ("body/inertial", "fullinertia"): ("inertial", '<inertial pos="0 0 .1" mass="7" fullinertia="1 2 2 .1 .2 .3"/>'),
    ("body/inertial", "quat"): ("inertial", '<inertial pos="0 0 .1" mass="7" diaginertia="1 2 3" quat="1 .1 .2 0"/>'),
    ("body/joint", "type"): ("joint", 'type="slide"'),
    ("body/joint", "pos"): ("joint", 'pos=".1 0 .3"'),
    ("body/joint", "axis"): ("joint", 'pos="0 0 0"', "", 'pos="0 0 .2"'),
    ("body/joint", "armature"): ("joint", 'armature="2"'),
    ("body/joint", "damping"): ("joint", 'damping="2"'),
    ("body/joint", "stiffness"): ("joint", 'stiffness="20"'),
    ("body/joint", "springref"): ("joint", 'stiffness="20" springref="30"', "", 'stiffness="20"'),
    ("body/joint", "springdamper"): ("joint", 'springdamper=".5 1"'),
    ("body/joint", "ref"): ("joint", 'stiffness="20" springref="0" ref="40"', "", 'stiffness="20" springref="0"'),
    ("option/flag", "spring"): ("joint", 'stiffness="20"', '<option><flag spring="disable"/></option>'),
    ("option/flag", "damper"): ("joint", 'damping="20"', '<option><flag damper="disable"/></option>'),
    ("body/geom", "mass"): ("geom", 'mass="4"'),
    ("body/geom", "density"): ("geom", 'density="400"'),
    ("body/geom", "size"): ("geom", 'mass="5"', "", 'mass="6"'),
    ("body/geom", "type"): (
        "inertial", '<geom type="capsule" size=".2 .3"/>', "", '<geom type="cylinder" size=".2 .3"/>'),
    ("body/geom", "fromto"): (
        "inertial", '<geom type="capsule" size=".2" fromto="0 0 0 1 0 0"/>', "", '<geom type="capsule" size=".2 .5"/>'),
    ("body/geom", "pos"): ("inertial", '<geom size=".2" pos=".3 0 .4"/>', "", '<geom size=".2"/>'),
    ("body/geom", "shellinertia"): ("geom", 'shellinertia="true"'),
    ("default/geom", "mass"): ("top", '<default><geom mass="3"/></default>'),
    ("default/joint", "armature"): ("top", '<default><joint armature="3"/></default>'),
    ("tendon/fixed", "stiffness"): ("tendon", 'stiffness="30" springlength="0"'),
    ("tendon/fixed", "damping"): ("tendon", 'damping="3"'),
    ("tendon/fixed", "springlength"): (
        "tendon", 'stiffness="30" springlength=".2"', "", 'stiffness="30" springlength="0"'),
    ("tendon/fixed/joint", "coef"): ("tendon", 'stiffness="30" springlength="0"'),
    ("tendon/spatial", "stiffness"): (
        "tendons", '<spatial stiffness="30" springlength="0"><site site="w"/><site site="s"/></spatial>'),
    ("tendon/spatial", "damping"): ("tendons", '<spatial damping="30"><site site="w"/><site site="s"/></spatial>'),
    ("tendon/spatial/site", "site"): (
        "tendons", '<spatial stiffness="30" springlength="0"><site site="s"/><site site="w"/></spatial>'),
    ("actuator/motor", "joint"): ("actuator", '<motor joint="a"/>', "", '<motor joint="b"/>'),
    ("actuator/motor", "jointinparent"): ("actuator", '<motor jointinparent="a"/>'),
    ("actuator/motor", "tendon"): ("actuator", '<motor tendon="t"/>', "", MOTOR.format("")),
    ("actuator/motor", "gear"): ("actuator", MOTOR.format('gear="3"'), "", MOTOR.format("")),
    ("actuator/motor", "ctrlrange"): ("actuator", MOTOR.format('ctrlrange="-1 1"'), "", MOTOR.format("")),
    ("actuator/motor", "ctrllimited"): (
        "actuator", MOTOR.format('ctrllimited="false" ctrlrange="-1 1"'), "", MOTOR.format('ctrlrange="-1 1"')),
    ("actuator/motor", "forcerange"): ("actuator", MOTOR.format('forcerange="-1 1"'), "", MOTOR.format("")),
    ("actuator/motor", "forcelimited"): (
        "actuator", MOTOR.format('forcelimited="false" forcerange="-1 1"'), "", MOTOR.format('forcerange="-1 1"')),
    ("actuator/motor", "armature"): ("actuator", MOTOR.format('armature="2" gear="2"'), "", MOTOR.format('gear="2"')),
    ("actuator/motor", "damping"): ("actuator", MOTOR.format('damping="2" gear="2"'), "", MOTOR.format('gear="2"')),
    ("actuator/position", "kp"): ("actuator", SERVO.format('kp="7"'), "", SERVO.format("")),
    ("actuator/position", "kv"): ("actuator", SERVO.format('kv="3"'), "", SERVO.format("")),
    ("actuator/position", "dampratio"): ("actuator", SERVO.format('kp="7" dampratio="1"'), "", SERVO.format('kp="7"')),
    ("actuator/velocity", "kv"): ("actuator", '<velocity joint="a" kv="3"/>', "", '<velocity joint="a" kv="2"/>'),
    ("actuator/damper", "kv"): (
        "actuator", '<damper joint="a" kv="3" ctrlrange="0 9"/>', "", '<damper joint="a" kv="2" ctrlrange="0 9"/>'),
    ("actuator/general", "gainprm"): ("actuator", '<general joint="a" gainprm="4"/>', "", '<general joint="a"/>'),
    ("actuator/general", "biasprm"): (
        "actuator", '<general joint="a" biastype="affine" biasprm="1 2 3"/>', "", '<general joint="a"/>'),
    ("actuator/general", "biastype"): (
        "actuator", '<general joint="a" biastype="affine" biasprm="1 2 3"/>', "",
        '<general joint="a" biasprm="1 2 3"/>'),
    **{("body/geom", turn.partition("=")[0]): ("inertial", f'<geom type="box" size=".1 .2 .4" {turn}/>', "",
                                               '<geom type="box" size=".1 .2 .4"/>')
       for turn in ('quat="1 .4 0 0"', 'axisangle="1 0 0 30"', 'euler="30 0 0"', 'xyaxes="1 0 0 0 1 .3"',
                    'zaxis="0 1 2"')},
    **{("frame", turn.partition("=")[0]): ("inertial", f'<frame {turn}><geom size=".1" pos="0 0 .4"/></frame>', "",
                                           '<geom size=".1" pos="0 0 .4"/>')
       for turn in ('pos=".3 0 0"', 'quat="1 0 .4 0"', 'axisangle="0 1 0 30"', 'euler="0 30 0"',
                    'xyaxes="1 0 .3 0 1 0"', 'zaxis="1 0 2"')},
    **{("body/inertial", turn.partition("=")[0]): (
        "inertial", f'<inertial pos="0 0 .1" mass="7" diaginertia="2 3 4" {turn}/>', "",
        '<inertial pos="0 0 .1" mass="7" diaginertia="2 3 4"/>')
       for turn in ('axisangle="1 1 0 30"', 'euler="30 0 0"', 'xyaxes="1 .2 0 0 1 .4"', 'zaxis="0 1 2"')},
    ("frame", "massscale"): ("inertial", '<frame massscale="3"><geom size=".2" pos="0 0 .4"/></frame>', "",
                             '<frame><geom size=".2" pos="0 0 .4"/></frame>'),
    ("replicate", "count"): (
        "inertial", '<replicate count="3" offset=".2 0 0"><geom size=".1"/></replicate>', "",
        '<replicate count="2" offset=".2 0 0"><geom size=".1"/></replicate>'),
    ("replicate", "offset"): (
        "inertial", '<replicate count="3" offset=".2 0 0"><geom size=".1"/></replicate>', "",
        '<replicate count="3" offset=".3 0 0"><geom size=".1"/></replicate>'),
    ("replicate", "euler"): (
        "inertial", '<replicate count="3" euler="0 40 0"><geom size=".1" pos=".3 0 0"/></replicate>', "",
        '<replicate count="3" euler="0 20 0"><geom size=".1" pos=".3 0 0"/></replicate>'),
    ("body/site", "pos"): (
        "tendons", '<spatial stiffness="30" springlength="0"><site site="w"/><site site="s"/></spatial>'),
    ("default/tendon", "stiffness"): ("top", "<default><tendon stiffness='9' springlength='0'/></default>"),
    ("default/motor", "gear"): ("top", "<default><motor gear='4'/></default>"),
    ("default/position", "kp"): ("top", "<default><position kp='9'/></default>"),
}  # fmt: skip
#: Declared for actuators that MuJoCo lets act on a state of its own, a damper with a gain that is not fixed.
NO_LAW = {("actuator/damper", "kv")}


@pytest.mark.parametrize("trial", [x for x in DYNAMICS if x not in NO_LAW], ids="@".join)
def test_what_acts_changes_the_acceleration_as_in_mujoco(tmp_path, trial):
    assert effect_of(*trial) == "acts"
    field, value, *more = DYNAMICS[trial]
    top, otherwise = [*more, "", ""][:2]
    more = {"default/position": {"actuator": SERVO.format("")}, "default/motor": {"actuator": MOTOR.format("")}}
    more = more.get(trial[0], {})
    if top and not otherwise:  # the attribute is on top, and what it changes is there in both
        texts = arm(**{field: value, "top": top}), arm(**{field: value})
    elif top:
        texts = arm(**{field: otherwise, "top": top}), arm(**{field: otherwise})
    else:
        texts = arm(**{field: value} | more), arm(**{field: otherwise} | more)
    if trial == ("tendon/fixed/joint", "coef"):
        texts = texts[0], arm(**{field: value, "coef": "2"})
    (ours, theirs), (ours_without, theirs_without) = (accelerations(tmp_path, text) for text in texts)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours_without, theirs_without, rtol=1e-9, atol=1e-9)
    assert np.abs(theirs - theirs_without).max() > 1e-6
    assert np.abs(ours - ours_without).max() > 1e-6


#: Attributes that act, and where they are tried besides this file: in models with closures, files and meshes.
ELSEWHERE = {
    "compiler": "autolimits balanceinertia settotalmass alignfree coordinate",  # test_refusals and others
    "option/flag": "frictionloss filterparent",  # test_passive, test_filters
    "default": "class",  # test_conversion
    "asset/mesh": "class file inertia scale builtin params",  # test_against_mujoco
    "asset/hfield": "size elevation nrow ncol",  # test_meshes
    "asset/model": "file",  # test_wild_files
    "worldbody": "childclass",  # test_conversion
    "body": "childclass mocap",  # test_conversion
    "frame": "childclass scale",  # test_wild_files
    "replicate": "sep childclass quat axisangle xyaxes zaxis",  # test_wild_files
    "body/joint": "class range limited actuatorfrcrange actuatorfrclimited",  # here below, and test_conversion
    "body/geom": "class mesh hfield group",  # test_conversion, test_scene
    "body/attach": "model body prefix",  # test_wild_files
    "body/site": "class quat axisangle euler xyaxes zaxis fromto",  # test_conversion
    "contact/pair": "class geom1 geom2",  # test_filters
    "contact/exclude": "body2",  # test_filters
    "tendon/fixed": "class limited range actuatorfrclimited actuatorfrcrange",  # here below
    "tendon/spatial": "class limited range springlength actuatorfrclimited actuatorfrcrange",  # here below
    "tendon/fixed/joint": "joint",  # test_passive
    "equality/connect": "class active body1 body2 anchor site1 site2",  # test_conversion, test_against_mujoco
    "equality/weld": "class active body1 body2 anchor relpose site1 site2",
    "equality/joint": "class active joint1 joint2 polycoef",
    "equality/tendon": "class active tendon1 tendon2 polycoef",
    "actuator": "class",  # test_conversion
}


#: Attributes that are tried below in tests of their own, and those that MuJoCo resolves and no test tries alone.
APART = {
    "option/flag": "equality", "asset/mesh": "vertex face refpos refquat", "body/geom": "fitscale surfacevel",
    "actuator": "inheritrange", "compiler": "conflict", "body/freejoint": "align", "body/attach": "frame",
}  # fmt: skip


def test_every_attribute_that_acts_is_tried():
    """Here, or in another file of these tests, which at least has it."""
    tried, folder = {*DYNAMICS, *CONTACT}, Path(__file__).parents[2]
    files = [*folder.glob("files/**/*.py"), *folder.glob("**/*.xml"), *folder.glob("contact/**/*.py")]
    texts = "".join(path.read_text() for path in files)
    assert [x for names in ELSEWHERE.values() for x in names.split() if not re.search(f"\\b{x}=[\"'{{]", texts)] == []
    for key, row in TABLE.items():
        here = {name for each, name in tried if each == key or (key == "actuator" and each.startswith("actuator/"))}
        other = {*ELSEWHERE.get(key, "").split(), *APART.get(key, "").split()}
        assert set(row.acts.split()) == here & set(row.acts.split()) | other, key
        assert not here & other, key


CORNERS = 'vertex="0 0 0 .5 0 0 0 .6 0 0 0 .7"'
FACES = 'face="0 2 1 0 3 2 0 1 3 1 2 3"'
MESHES = {
    "vertex": (f"{CORNERS} {FACES}", f'vertex="0 0 0 .5 0 0 0 .6 0 0 0 .9" {FACES}', 'type="mesh"', 'type="mesh"'),
    "face": (f"{CORNERS} {FACES}", CORNERS, 'type="mesh"', 'type="mesh" mass="3"'),
    "refpos": (f'{CORNERS} {FACES} refpos=".3 0 0"', f"{CORNERS} {FACES}", 'type="mesh"', 'type="mesh"'),
    "refquat": (f'{CORNERS} {FACES} refquat="1 0 1 0"', f"{CORNERS} {FACES}", 'type="mesh"', 'type="mesh"'),
    "fitscale": (f"{CORNERS} {FACES}", f"{CORNERS} {FACES}", 'type="box" fitscale="2"', 'type="box"'),
}


@pytest.mark.parametrize("name", MESHES)
def test_meshes_that_give_inertias(tmp_path, name):
    first, second, geom, other = MESHES[name]
    answers = [
        accelerations(
            tmp_path, arm(top=f'<asset><mesh name="m" {mesh}/></asset>', inertial=f'<geom mesh="m" {shape}/>')
        )
        for mesh, shape in ((first, geom), (second, other))
    ]
    for ours, theirs in answers:
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
    assert np.abs(answers[0][0] - answers[1][0]).max() > 1e-6


def test_a_flag_lets_no_closure_act(tmp_path):
    loop = '<equality><connect body1="lower" body2="world" anchor="0 0 .3"/></equality>'
    for flag, active in (("", True), ('<option><flag equality="disable"/></option>', False)):
        (tmp_path / "model.xml").write_text(arm(top=flag).replace("<actuator>", f"{loop}<actuator>"))
        assert [x.active for x in sc.load(tmp_path / "model.xml").loops] == [active]


# -- what acts on the way from controls to forces ---------------------------------------------------------------------

REF = 'ref="40" range="-90 90"'
SERVOS = {
    "servo on a joint with ref": ({"joint": REF, "actuator": SERVO.format('kp="7" gear="2"')}),
    "servo on a tendon over a joint with ref": ({"joint": REF, "actuator": '<position tendon="t" kp="7" gear="2"/>'}),
    "general on a joint with ref": (
        {"joint": REF, "actuator": '<general joint="a" biastype="affine" biasprm="1 -2"/>'}),
    "actuatorfrcrange of a joint": ({"joint": 'actuatorfrcrange="-1 2"', "actuator": MOTOR.format('gear="3"')}),
    "and a gear that turns it": ({"joint": 'actuatorfrcrange="-1 2"', "actuator": MOTOR.format('gear="-3"')}),
    "and a range of its own": (
        {"joint": 'actuatorfrcrange="-1 2"', "actuator": MOTOR.format('gear="3" forcerange="-.1 .1"')}),
    "and a range beyond it": (
        {"joint": 'actuatorfrcrange="-1 2"', "actuator": MOTOR.format('gear="3" forcerange="2 3"')}),
    "that is not limited": (
        {"joint": 'actuatorfrcrange="-1 2" actuatorfrclimited="false"', "actuator": MOTOR.format('gear="3"')}),
    "actuatorfrcrange of a tendon": ({"tendon": 'actuatorfrcrange="-1 2"', "actuator": '<motor tendon="t" gear="3"/>'}),
    "a control within the range of the joint": (
        {"joint": 'range="-10 10"', "actuator": SERVO.format('kp="7" inheritrange="1"')}),
    "actuatorfrcrange by default": (
        {"top": '<default><joint actuatorfrcrange="-1 2"/></default>', "actuator": MOTOR.format('gear="3"')}),
}  # fmt: skip


@pytest.mark.parametrize("case", SERVOS)
def test_forces_of_actuators_are_those_of_mujoco(tmp_path, case):
    """1,200 rad/s^2 for 15 before, and servos that held ref beside their target."""
    ours, theirs = accelerations(tmp_path, arm(**SERVOS[case]))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
    assert sc.load(tmp_path / "model.xml").import_report.not_simulated == ()


SHARED = {
    "two motors on a joint": {"joint": 'actuatorfrcrange="-1 2"', "actuator": 2 * MOTOR.format("")},
    "a motor and a tendon": {"joint": 'actuatorfrcrange="-1 2"', "actuator": MOTOR.format("") + '<motor tendon="t"/>'},
    "a tendon over the joint": {"joint": 'actuatorfrcrange="-1 2"', "actuator": '<motor tendon="t"/>'},
    "a motor and a tendon in space": {
        "joint": 'actuatorfrcrange="-1 2"', "actuator": MOTOR.format("") + '<motor tendon="z"/>',
        "tendons": '<spatial name="z"><site site="w"/><site site="s"/></spatial>',
    },
    "two motors on a tendon": {"tendon": 'actuatorfrcrange="-1 2"', "actuator": 2 * '<motor tendon="t"/>'},
}


@pytest.mark.parametrize("case", SHARED)
def test_a_range_that_several_actuators_share_is_declared(tmp_path, case):
    (tmp_path / "model.xml").write_text(arm(**SHARED[case]))
    lines = sc.load(tmp_path / "model.xml").import_report.not_simulated
    (line,) = (x for x in lines if x.attribute)  # of a tendon in space there is a line of its own
    assert (line.attribute, line.note) == (
        "actuatorfrcrange", "several actuators share it: is kept, not simulated",
    )  # fmt: skip
    with pytest.raises(sc.errors.ModelFileError, match="the motion would be missing"):
        sc.load(tmp_path / "model.xml", strict=True)


# -- limits of tendons ------------------------------------------------------------------------------------------------

STRING = """<mujoco><worldbody><site name="hook" pos="0 0 2"/><body pos="0 0 1.5"><joint type="slide" axis="0 0 1"/>
  <geom size=".05"/><site name="eye"/></body></worldbody>
  <tendon><spatial name="string" range="{}"><site site="hook"/><site site="eye"/></spatial></tendon></mujoco>"""


def test_a_ball_on_a_string_hangs(tmp_path):
    text = STRING.format("0 1")
    (tmp_path / "ball.xml").write_text(text)
    mb, peer = sc.load(tmp_path / "ball.xml", strict=True), InMujoco(text)
    p = sc.sim.Propagator(mb, integrator="moreau", step=1e-3)
    p.add(sc.sim.Contact())
    p.advance_to(1.0)
    for _ in range(1000):
        mujoco.mj_step(peer.model, peer.data)
    assert mb.q[0] == pytest.approx(-0.5, abs=1e-6)  # 1 m below the hook
    assert peer.data.qpos[0] == pytest.approx(-0.5, abs=2e-3)  # its limit is soft


def test_a_least_length_between_sites_is_declared(tmp_path):
    (tmp_path / "ball.xml").write_text(STRING.format(".2 1"))
    (line,) = sc.load(tmp_path / "ball.xml").import_report.not_simulated
    assert line.note == "the rope pulls at 1 m; the least length 0.2 m is not simulated"


@pytest.mark.parametrize("ref", ["0", ".3"])
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_limits_of_a_fixed_tendon_stop_as_in_mujoco(tmp_path, ref, way):
    """Two slides with lengths 2 q1 - q2 between -0.2 and 0.4, pushed apart by gravity along them."""
    slides = "".join(
        f'<body name="{x}"><joint name="{x}" type="slide" axis="1 0 0" ref="{ref}" damping="3"/><geom size=".1" '
        'contype="0" conaffinity="0"/></body>' for x in ("x", "y")
    )  # fmt: skip
    text = (
        f'<mujoco><option gravity="{way} 0 0"/><worldbody>{slides}</worldbody><tendon><fixed name="t" range="-.2 .4">'
        '<joint joint="x" coef="2"/><joint joint="y" coef="-1"/></fixed></tendon></mujoco>'
    )
    (tmp_path / "slides.xml").write_text(text)
    mb, peer = sc.load(tmp_path / "slides.xml", strict=True), InMujoco(text)
    p = sc.sim.Propagator(mb, integrator="moreau", step=1e-3)
    p.add(sc.sim.Contact())
    p.advance_to(2.0)
    for _ in range(1000):
        mujoco.mj_step(peer.model, peer.data)
    end = 0.4 if way > 0 else -0.2
    length = 2.0 * (mb.q[0] + float(ref)) - (mb.q[1] + float(ref))
    assert length == pytest.approx(end, abs=1e-6)
    assert peer.data.ten_length[0] == pytest.approx(end, abs=2e-3)


# -- what is declared -------------------------------------------------------------------------------------------------

SPATIAL = '<spatial {}><site site="w"/>{}<site site="s"/></spatial>'
DECLARED = {
    ("option", "density"): {"top": '<option density="1.2"/>'},
    ("option", "viscosity"): {"top": '<option viscosity="1.2"/>'},
    ("option", "actuatorgroupdisable"): {"top": '<option actuatorgroupdisable="1"/>'},
    ("option/flag", "actuation"): {"top": '<option><flag actuation="disable"/></option>'},
    ("option/flag", "clampctrl"): {"top": '<option><flag clampctrl="disable"/></option>'},
    ("option/flag", "limit"): {"top": '<option><flag limit="disable"/></option>'},
    ("option/flag", "override"): {"top": '<option><flag override="enable"/></option>'},
    ("body/joint", "frictionloss"): {"joint": 'frictionloss="1"'},
    ("body/joint", "margin"): {"joint": 'range="-10 10" margin=".1"'},
    ("body/joint", "springyield"): {"joint": 'stiffness="2" springyield="1"'},
    ("body/joint", "actuatorgravcomp"): {"joint": 'actuatorgravcomp="true"', "body": 'gravcomp="1"'},
    ("body/geom", "adhesion"): {"geom": 'adhesion="1"'},
    ("tendon/fixed", "frictionloss"): {"tendon": 'frictionloss="1"'},
    ("tendon/fixed", "armature"): {"tendon": 'armature="1"'},
    ("tendon/fixed", "margin"): {"tendon": 'range="-1 1" margin=".1"'},
    ("tendon/spatial/geom", "geom"): {
        "inertial": '<geom name="ball" size=".1" pos="0 0 .3"/>',
        "tendons": SPATIAL.format('range="0 1"', '<geom geom="ball"/>')},
    ("tendon/spatial/pulley", "divisor"): {
        "tendons": '<spatial stiffness="1"><site site="w"/><site site="s"/><pulley divisor="2"/><site site="w"/>'
        '<site site="s"/></spatial>'},
    ("actuator/motor", "delay"): {"actuator": MOTOR.format('delay=".1" nsample="2"')},
    ("actuator/motor", "site"): {"actuator": '<motor site="s" gear="0 0 1"/>'},
    ("actuator/position", "timeconst"): {"actuator": SERVO.format('timeconst=".1"')},
    ("actuator/general", "dyntype"): {"actuator": '<general joint="a" dyntype="integrator"/>'},
    ("actuator/general", "gaintype"): {"actuator": '<general joint="a" gaintype="affine" gainprm="1 2 3"/>'},
    ("actuator/muscle", "force"): {"actuator": '<muscle joint="a" force="1"/>'},
    ("actuator/cylinder", "area"): {"actuator": '<cylinder joint="a" area="1"/>'},
    ("actuator/general", "actrange"): {
        "actuator": '<general joint="a" dyntype="integrator" actrange="-1 1" actlimited="true"/>'},
}  # fmt: skip


@pytest.mark.parametrize("trial", DECLARED, ids="@".join)
def test_what_is_declared_has_a_line_and_strict_refuses_it(tmp_path, trial):
    assert effect_of(*trial) == "declared"
    path = tmp_path / "model.xml"
    path.write_text(arm())
    assert sc.load(path, strict=True).import_report.not_simulated == ()
    path.write_text(arm(**DECLARED[trial]))
    mb = sc.load(path)
    assert mb.import_report.not_simulated, trial
    assert all(x.note for x in mb.import_report.not_simulated)
    with pytest.raises(sc.errors.ModelFileError, match="the motion would be missing"):
        sc.load(path, strict=True)


def test_a_law_that_is_declared_is_refused_by_the_control(tmp_path):
    """The table here and the laws that controls know are the same."""
    path = tmp_path / "model.xml"
    for actuator in ('<general joint="a" dyntype="integrator"/>', '<motor site="s" gear="0 0 1"/>',
                     '<muscle joint="a" force="1"/>', '<damper joint="a" kv="3" ctrlrange="0 9"/>'):  # fmt: skip
        path.write_text(arm(actuator=actuator))
        mb = sc.load(path)
        assert len(mb.import_report.not_simulated) == 1
        with pytest.raises(sc.errors.ModelError, match="which is kept and not simulated"):
            Control(mb.actuators[0].name, 1.0).bind(mb)


# -- contact ----------------------------------------------------------------------------------------------------------

BALL = """<mujoco>{top}<worldbody><geom name="floor" type="plane" size="1 1 1" {floor}/><body name="ball" pos="0 0 .09">
  <freejoint/><geom name="skin" size=".1" {skin}/></body></worldbody><contact>{contact}</contact></mujoco>"""
CONTACT = {
    ("body/geom", "friction"): {"skin": 'friction="2"'},
    ("body/geom", "condim"): {"skin": 'condim="6"'},
    ("body/geom", "margin"): {"skin": 'margin=".03"'},
    ("body/geom", "contype"): {"skin": 'contype="2"', "floor": 'conaffinity="2"'},
    ("body/geom", "conaffinity"): {"skin": 'conaffinity="0"', "floor": 'conaffinity="0"'},
    ("body/geom", "priority"): {"skin": 'priority="1" friction=".2"'},
    ("contact/pair", "margin"): {"contact": '<pair geom1="skin" geom2="floor" margin=".02"/>'},
    ("contact/pair", "condim"): {"contact": '<pair geom1="skin" geom2="floor" condim="4"/>'},
    ("contact/pair", "friction"): {"contact": '<pair geom1="skin" geom2="floor" friction=".1 .1"/>'},
    ("contact/exclude", "body1"): {"contact": '<exclude body1="world" body2="ball"/>'},
    ("option/flag", "contact"): {"top": '<option><flag contact="disable"/></option>'},
    ("option/flag", "constraint"): {"top": '<option><flag constraint="disable"/></option>'},
    ("default/geom", "friction"): {"top": '<default><geom friction=".3"/></default>'},
}


def contact_numbers(tmp_path, parts):
    """Of the one pair: distance from where contact begins, and coefficients; ours and MuJoCo's."""
    text = BALL.format(**({"top": "", "floor": "", "skin": "", "contact": ""} | parts))
    (tmp_path / "ball.xml").write_text(text)
    scene = sc.contact.Scene(sc.load(tmp_path / "ball.xml"))
    peer = InMujoco(text)
    peer.put(peer.model.qpos0, np.zeros(6))
    ours = [[*x.distance, *Surfaces(scene).of("ball/skin", "inertial/floor")[0]]
            for x in [scene.distances(scene.model.q)] if len(x)]  # fmt: skip
    return ours, [[x.dist - x.includemargin, *x.friction[: x.dim - 1]] for x in peer.data.contact]


def test_a_ball_on_a_belt_is_carried(tmp_path):
    """Sliding friction speeds it up along the belt, by mu g t with mu = 1; MuJoCo's is soft, and goes the same way."""
    text = BALL.format(top="", skin="", contact="", floor='surfacevel="1 2 0"').replace("0 0 .09", "0 0 .1")
    (tmp_path / "ball.xml").write_text(text)
    mb, peer = sc.load(tmp_path / "ball.xml", strict=True), InMujoco(text)
    p = sc.sim.Propagator(mb, integrator="moreau", step=1e-3)
    p.add(sc.sim.Contact())
    p.advance_to(0.02)
    v = mb.pose("ball").rotation @ mb.v[3:]
    assert v[1] / v[0] == pytest.approx(2.0, rel=1e-9)
    assert np.hypot(v[0], v[1]) == pytest.approx(9.81 * 0.02, rel=0.05)  # to first order of a step: 1 of 20
    for _ in range(10):
        mujoco.mj_step(peer.model, peer.data)
    assert (peer.data.qvel[:2] > 0.0).all()


def test_a_surface_that_turns_is_declared(tmp_path):
    (tmp_path / "ball.xml").write_text(BALL.format(top="", skin="", contact="", floor='surfacevel="0 0 0 0 0 1"'))
    (line,) = sc.load(tmp_path / "ball.xml").import_report.not_simulated
    assert line.note == "the surface slides; that it turns is kept, not simulated"


@pytest.mark.parametrize("trial", CONTACT, ids="@".join)
def test_what_acts_changes_contact_as_in_mujoco(tmp_path, trial):
    assert effect_of(*trial) == "acts"
    (ours, theirs), (usual, their_usual) = (contact_numbers(tmp_path, x) for x in (CONTACT[trial], {}))
    for a, b in ((ours, theirs), (usual, their_usual)):
        assert len(a) == len(b)
        np.testing.assert_allclose(a, b, atol=1e-12)
    if trial != ("body/geom", "contype"):  # two masks that meet are as good as two that are usual
        assert ours != usual

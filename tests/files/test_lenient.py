"""`lenient=True`: local faults are lines of the report, the rest is the robot that the file says."""

import mujoco
import numpy as np
import pinocchio
import pytest

import soacraft as sc
import soacraft.dynamics as dyn
from soacraft.errors import ModelFileError
from soacraft.files.lenient import HINT

GOOD = """<inertial><origin xyz='.1 .2 .3'/><mass value='2'/>
<inertia ixx='.3' ixy='.01' ixz='0' iyy='.4' iyz='0' izz='.5'/></inertial>"""


def inertial(mass="1e-5", ixx="1e-9", izz="1e-9"):
    return f"""<inertial><mass value='{mass}'/>
<inertia ixx='{ixx}' ixy='0' ixz='0' iyy='1e-9' iyz='0' izz='{izz}'/></inertial>"""


def urdf(camera="", joint="", robot="", second=""):
    """An arm with a camera on it."""
    return f"""<robot name='r'><link name='base'/><link name='arm'>{GOOD}</link><link name='hand'>{GOOD}</link>
<link name='camera'>{camera}</link>
<joint name='elbow' type='revolute'><parent link='base'/><child link='arm'/><axis xyz='0 1 0'/>
<limit lower='-1' upper='1' effort='8' velocity='2'/>{joint}</joint>
<joint name='wrist' type='revolute'><origin xyz='0 0 1'/><parent link='arm'/><child link='hand'/><axis xyz='1 0 0'/>
<limit effort='8' velocity='2'/>{second}</joint>
<joint name='mount' type='fixed'><origin xyz='0 0 1'/><parent link='arm'/><child link='camera'/></joint>
{robot}</robot>"""


def read(folder, text, **options):
    path = folder / ("m.xml" if text.startswith("<mujoco") else "m.urdf")
    path.write_text(text)
    return sc.load(path, **options)


def mass_matrix(mb):
    return dyn.mass_matrix(mb, np.full(mb.nq, 0.3), ignore_loops=True)


LOOP = "<loop_joint name='l' type='continuous'>{}<link1 link='arm'/><link2 link='{}'/></loop_joint>"
FAULTS = {
    "a moment that no body has": (
        urdf(inertial(izz="-1e-9")),
        "robot/link/inertial",
        "camera",
        "link 'camera' cannot have this inertia",
        True,
    ),
    "a negative mass": (urdf(inertial("-1e-5")), "robot/link/inertial/mass", "camera", "a mass must not be", True),
    "a mass that is none": (urdf(inertial("nan")), "robot/link/inertial/mass", "camera", "must be finite", True),
    "a moment that is none": (urdf(inertial(ixx="")), "robot/link/inertial/inertia", "camera", 'ixx="" must be', True),
    "no mass": (urdf("<inertial/>"), "robot/link/inertial", "camera", "needs a <mass>", True),
    "two inertials": (urdf("<inertial/>" + inertial()), "robot/link/inertial", "camera", "occurs twice", True),
    "a collision that is none": (
        urdf("<collision><geometry><sphere radius='-1'/></geometry></collision>"),
        "robot/link/collision/geometry/sphere",
        "camera",
        'radius="-1" must not be negative',
        False,
    ),
    "mimic of an absent joint": (
        urdf(second="<mimic joint='elbo'/>"),
        "robot/joint/mimic",
        "wrist",
        "joint 'wrist' follows 'elbo', which is not in the file; did you mean 'elbow'?",
        True,
    ),
    "mimic of itself": (urdf(second="<mimic joint='wrist'/>"), "robot/joint/mimic", "wrist", "in a circle", True),
    "mimics in a circle": (
        urdf(joint="<mimic joint='wrist'/>", second="<mimic joint='elbow'/>"),
        "robot/joint/mimic",
        "elbow",
        "joints follow each other in a circle: elbow after wrist after elbow",
        True,
    ),
    "mimic of a fixed joint": (
        urdf(second="<mimic joint='mount'/>"),
        "robot/joint/mimic",
        "wrist",
        "joint 'mount' is fixed; only",
        True,
    ),
    "mimic without numbers": (
        urdf(second="<mimic joint='elbow' multiplier='x'/>"),
        "robot/joint/mimic",
        "wrist",
        'multiplier="x" must',
        True,
    ),
    "limits that are swapped": (
        urdf().replace("lower='-1' upper='1'", "lower='1' upper='-1'"),
        "robot/joint/limit",
        "elbow",
        "lower=1 is above upper=-1",
        False,
    ),
    "negative damping": (urdf(joint="<dynamics damping='-1'/>"), "robot/joint/dynamics", "elbow", 'damping="-1"', True),
    "a reduction that is none": (
        urdf(
            robot="<transmission name='t'><joint name='elbow'/><actuator name='m'><mechanicalReduction>x"
            "</mechanicalReduction></actuator></transmission>"
        ),
        "robot/transmission",
        "t",
        "the reduction must be finite numbers, got 'x'.",
        False,
    ),
    "a frame on an absent link": (
        urdf(robot="<frame name='f' link='cam'/>"),
        "robot/frame",
        "f",
        "there is no link 'cam'",
        False,
    ),
    "a loop to an absent link": (
        urdf(robot=LOOP.format("<axis xyz='0 1 0'/>", "gone")),
        "robot/loop_joint",
        "l",
        "there is no link 'gone'",
        True,
    ),
    "a loop without an axis": (urdf(robot=LOOP.format("", "base")), "robot/loop_joint", "l", "needs an <axis>", True),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_of_urdf_is_refused_with_the_cure_or_a_line(case, tmp_path):
    text, element, name, said, moves = FAULTS[case]
    with pytest.raises(ModelFileError) as caught:
        read(tmp_path, text)
    assert said in str(caught.value)
    assert name in str(caught.value)
    assert str(caught.value).endswith(HINT)
    mb = read(tmp_path, text, lenient=True)
    lines = [x for x in mb.import_report.entries if x.element == element and said.rstrip(".") in x.note]
    assert {(x.name, x.dynamic) for x in lines} == {(name, moves)}
    assert {x.status for x in lines} <= {"ignored", "repaired"}
    assert bool(mb.import_report.not_simulated) is moves
    np.testing.assert_allclose(mass_matrix(mb), mass_matrix(read(tmp_path, urdf())), atol=2e-5)  # but for the camera
    with pytest.raises(ModelFileError) if moves else np.errstate():
        read(tmp_path, text, lenient=True, strict=True)


def test_what_a_bad_inertia_becomes(tmp_path):
    """The mass and the centre stay; of the moment the negative part goes, and nothing more."""
    mb = read(tmp_path, urdf(inertial("0.5", "2e-3", "-1e-6")), lenient=True)
    camera = mb["camera"].inertia
    np.testing.assert_allclose(camera.moment, np.diag([2e-3, 1e-9, 0.0]), atol=1e-18)
    assert camera.mass == 0.5
    (line,) = mb.import_report.repaired
    assert line.note.endswith("with lenient the link has the moment without its negative part")
    massless = read(tmp_path, urdf(inertial("-1")), lenient=True)
    assert massless["camera"].inertia == sc.Inertia()
    point = read(tmp_path, urdf(inertial("0.5", "x")), lenient=True)
    assert (point["camera"].inertia.mass, point["camera"].inertia.moment.any()) == (0.5, False)
    (line,) = point.import_report.repaired
    assert line.note.endswith("with lenient the link is a point mass")


def test_a_robot_with_many_faults_moves_as_in_pinocchio_without_them(tmp_path):
    """Pinocchio is given the same file without the parts at fault."""
    faults = {"camera": "<inertial/>", "second": "<mimic joint='gone'/>", "joint": "<dynamics damping='x'/>"}
    mb = read(tmp_path, urdf(**faults).replace("<robot name='r'>", "<robot>"), lenient=True)
    assert mb.name == "m"
    (tmp_path / "good.urdf").write_text(urdf())
    m = pinocchio.buildModelFromUrdf(str(tmp_path / "good.urdf"))
    M = pinocchio.crba(m, m.createData(), np.full(2, 0.3))
    np.testing.assert_allclose(mass_matrix(mb), np.triu(M) + np.triu(M, 1).T, rtol=1e-12)
    assert not mb.couplings
    report = repr(mb.import_report)
    assert report.splitlines()[1].startswith("ignored!")
    assert "repaired!" in report


STAYS = {
    "no XML": ("<robot", "is not well-formed XML"),
    "entities": ("<!DOCTYPE r [<!ENTITY a 'b'>]><robot name='r'/>", "a document type declaration"),
    "two roots": (urdf().replace("<link name='base'/>", "<link name='base'/><link name='x'/>"), "has 2 root links"),
    "a link twice": (urdf().replace("<link name='base'/>", "<link name='base'/>" * 2), "there is a link of this name"),
    "a loop of joints": (urdf().replace("child link='arm'", "child link='base'"), "is its own parent"),
    "an absent link": (urdf().replace("child link='hand'", "child link='x'"), "its child link 'x' is not in the file"),
    "a place that is none": (urdf().replace("<origin xyz='0 0 1'/>", "<origin xyz='nan 0 0'/>"), "must be finite"),
    "no axis": (urdf().replace("<axis xyz='1 0 0'/>", "<axis xyz='0 0 0'/>"), "must not be zero"),
    "an unknown joint": (urdf().replace("type='fixed'", "type='ball'"), "is not a type of joint"),
}


@pytest.mark.parametrize("case", STAYS)
def test_what_is_not_local_stays_refused(case, tmp_path):
    text, said = STAYS[case]
    for lenient in (False, True):
        with pytest.raises(ModelFileError, match=said) as caught:
            read(tmp_path, text, lenient=lenient)
        assert HINT not in str(caught.value)


YAML = {
    "a frame that is not there": ("closed_loop: [[hand, gone]]\ntype: [3d]\n", "closed_loop", "hand-gone"),
    "a motor that is not there": ("name_mot: [gone]\n", "name_mot", "gone"),
    "another file of that name": ("- a list\n", "robot.yaml", ""),
    "more loops than types": ("closed_loop: [[hand, base]]\n", "robot.yaml", ""),
}


@pytest.mark.parametrize("case", YAML)
def test_faults_of_a_robot_yaml(case, tmp_path):
    text, element, name = YAML[case]
    (tmp_path / "robot.yaml").write_text(text)
    with pytest.raises(ModelFileError) as caught:
        read(tmp_path, urdf())
    assert str(caught.value).endswith(HINT)
    mb = read(tmp_path, urdf(), lenient=True)
    (line,) = [x for x in mb.import_report.ignored if x.file.endswith("robot.yaml")]
    assert (line.element, line.name, line.dynamic) == (element, name, element != "name_mot")
    assert not mb.loops


# -- MJCF --------------------------------------------------------------------------------------------------------

BALL = "<geom size='.1' pos='.1 .2 .3'/>"


def mjcf(inside="", after="", before="", camera="<geom size='.01'/>"):
    return f"""<mujoco>{before}<worldbody><body name='arm'><joint name='elbow' axis='0 1 0'/>{BALL}{inside}
<body name='hand' pos='0 0 1'><joint name='wrist' axis='1 0 0'/>{BALL}<site name='tip'/></body>
<body name='camera' pos='0 0 1'>{camera}</body></body></worldbody>{after}</mujoco>"""


PLUGIN = "<plugin plugin='mujoco.elasticity.cable'><config key='twist' value='1'/></plugin>"
TIGHT = "<inertial pos='0 0 0' mass='1e-3' {}/>"
BROKEN = {
    "a plugin of a body": (mjcf(PLUGIN), "body/plugin", "plugins are programs", True),
    "plugins": (mjcf(before=f"<extension>{PLUGIN}</extension>"), "extension/plugin", "plugins are programs", True),
    "a plugin that senses": (
        mjcf(after="<sensor><plugin plugin='x.touch'/></sensor>"),
        "sensor/plugin",
        "plugins",
        False,
    ),
    "a coupling to an absent joint": (
        mjcf(after="<equality><joint joint1='wrist' joint2='elbo'/></equality>"),
        "equality/joint",
        "'elbo'",
        True,
    ),
    "a weld to an absent body": (
        mjcf(after="<equality><weld body1='hand' body2='x'/></equality>"),
        "equality/weld",
        "unknown element 'x'",
        True,
    ),
    "a drive of an absent joint": (
        mjcf(after="<actuator><motor name='m' joint='x'/></actuator>"),
        "actuator/motor",
        "unknown transmission",
        False,
    ),
    "a tendon over an absent joint": (
        mjcf(
            after="<tendon><fixed name='t'>\n<joint joint='x' coef='1'/></fixed></tendon>"
            "<actuator><motor tendon='t'/></actuator>"
        ),
        "tendon/fixed",
        "joint 'x' not found",
        True,
    ),
    "a keyframe of another robot": (
        mjcf(after="<keyframe><key qpos='0 0'/><key name='k' qpos='1 2 3'/></keyframe>"),
        "keyframe/key",
        "qpos size",
        False,
    ),
    "a shape without a size": (
        mjcf("<geom name='g' type='box' size='.1' mass='0'/>"),
        "body/geom",
        "size 1 must",
        True,
    ),
    "a site without a size": (mjcf("<site size='-1'/>"), "body/site", "size 0 must be positive", False),
    "a number that is none": (mjcf("<geom size='nan'/>"), "body/geom", "must be finite numbers", True),
    "an inertia that no body has": (
        mjcf(camera=TIGHT.format("diaginertia='1e-6 1e-6 5e-6'")),
        "body/inertial",
        "must satisfy A + B >= C",
        True,
    ),
    "an inertia with a negative axis": (
        mjcf(camera=TIGHT.format("fullinertia='1e-6 2e-6 -1e-7 0 0 0'")),
        "body/inertial",
        "positive eigenvalues",
        True,
    ),
    "a negative inertia": (
        mjcf(camera=TIGHT.format("diaginertia='1e-6 2e-6 -1e-7'")),
        "body/inertial",
        "of body 'camera' must not be neg",
        True,
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_fault_of_mjcf_is_refused_with_the_cure_or_a_line(case, tmp_path):
    text, element, said, moves = BROKEN[case]
    with pytest.raises(ModelFileError) as caught:
        read(tmp_path, text)
    assert said in str(caught.value)
    assert str(caught.value).endswith(HINT)
    mb = read(tmp_path, text, lenient=True)
    lines = [x for x in mb.import_report.entries if x.element == f"mujoco/{element}" and said in x.note]
    assert {x.dynamic for x in lines} == {moves}
    assert {x.status for x in lines} <= {"ignored", "repaired"}
    assert bool(mb.import_report.not_simulated) is moves
    (tmp_path / "good.xml").write_text(mjcf())
    peer = mujoco.MjModel.from_xml_path(str(tmp_path / "good.xml"))
    data, M = mujoco.MjData(peer), np.zeros((2, 2))
    data.qpos[:] = 0.3
    mujoco.mj_forward(peer, data)
    mujoco.mj_fullM(peer, data, M)
    np.testing.assert_allclose(mass_matrix(mb), M, rtol=1e-3)  # but for the camera, a thousandth of the arm


def test_an_element_that_is_left_out_is_not_said_to_be_used(tmp_path):
    mb = read(tmp_path, mjcf(after="<equality><joint name='e' joint1='wrist' joint2='x'/></equality>"), lenient=True)
    lines = [x for x in mb.import_report.entries if x.element == "mujoco/equality/joint"]
    assert {x.status for x in lines} == {"ignored"}
    assert {x.attribute for x in lines} == {"", "name", "joint1", "joint2"}
    assert not mb.couplings


def test_attributes_of_joints_and_shapes_are_left_out_before_their_elements(tmp_path):
    wrong = "<joint name='twist' range='1 -1' limited='true'/><geom name='g' size='.1' material='none' mass='0'/>"
    mb = read(tmp_path, mjcf(wrong), lenient=True)
    left = {(x.element, x.attribute) for x in mb.import_report.ignored}
    assert {("mujoco/body/joint", "range"), ("mujoco/body/joint", "limited"), ("mujoco/body/geom", "material")} <= left
    assert "twist" in mb.dof_names
    assert "g" in mb["arm"].geometries.names


def test_what_the_bodies_depend_on_stays_refused(tmp_path):
    for inside in ("<joint type='bogus'/>", "<body name='arm'/>"):
        for lenient in (False, True):
            with pytest.raises(ModelFileError) as caught:
                read(tmp_path, mjcf(inside), lenient=lenient)
            assert HINT not in str(caught.value)


def test_many_faults_of_mjcf_are_too_many(tmp_path):
    many = "<equality>" + "<joint joint1='wrist' joint2='x'/>" * 30 + "</equality>"
    with pytest.raises(ModelFileError, match="unknown element 'x'"):
        read(tmp_path, mjcf(after=many), lenient=True)


CHAIN = """<mujoco>{top}<worldbody><body name='a'><joint name='j' axis='0 1 0'/>{a}<body name='b' pos='0 0 1'>
<joint name='k' axis='0 1 0'/>{b}</body></body></worldbody>{end}</mujoco>"""
SPHERE = "<geom size='.1'/>"
MASSLESS = "mass and inertia of moving bodies must be larger"
MESH_ASSET = "<asset><mesh name='m' file='{}'/></asset>"
CHAINS = {
    "a link of a moving chain without inertia": (CHAIN.format(top="", a="", b=SPHERE, end=""), MASSLESS),
    "a mesh that gives the inertia and is not there": (
        CHAIN.format(top=MESH_ASSET.format("gone.stl"), a=SPHERE, b="<geom type='mesh' mesh='m'/>" + SPHERE, end=""),
        "the inertia of body 'b' comes from its shapes",
    ),
    "a mesh path that leads out": (
        CHAIN.format(
            top=MESH_ASSET.format("../../gone.stl"), a=SPHERE, b="<geom type='mesh' mesh='m'/>" + SPHERE, end=""
        ),
        "leads out of the folders that may be read",
    ),
    "an include that is not there": (
        CHAIN.format(top="<include file='gone.xml'/>", a=SPHERE, b=SPHERE, end=""),
        "the included file 'gone.xml' is not there",
    ),
    "an include that leads out": (
        CHAIN.format(top="<include file='../../gone.xml'/>", a=SPHERE, b=SPHERE, end=""),
        "leads out of the folders that may be read",
    ),
    "a shape of a plugin": (
        CHAIN.format(
            top="<extension><plugin plugin='mujoco.sdf.torus'><instance name='t'/></plugin></extension><asset><mesh "
            "name='m'><plugin instance='t'/></mesh></asset>",
            a=SPHERE, b=SPHERE + "<geom type='sdf' mesh='m'><plugin instance='t'/></geom>", end="",
        ),
        "plugins are programs and are not loaded",
    ),
    "an exclude of an absent body": (
        CHAIN.format(top="", a=SPHERE, b=SPHERE, end="<contact><exclude body1='a' body2='c'/></contact>"),
        "body 'c' not found",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CHAINS)
def test_a_body_or_a_file_that_is_missing_in_mjcf_is_refused_with_the_cure_or_a_line(case, tmp_path):
    text, said = CHAINS[case]
    with pytest.raises(ModelFileError) as caught:
        read(tmp_path, text)
    assert said in str(caught.value)
    assert str(caught.value).endswith(HINT)
    mb = read(tmp_path, text, lenient=True)
    assert [x for x in mb.import_report.not_simulated if said in x.note]
    usual = read(tmp_path, CHAIN.format(top="", a=SPHERE, b=SPHERE, end=""))
    if said is MASSLESS:
        assert mb.body("a").inertia == sc.Inertia()
        assert mb.body("b").inertia == usual.body("b").inertia
        np.linalg.cholesky(mass_matrix(mb))  # the tip moves both hinges
    else:
        np.testing.assert_allclose(mass_matrix(mb), mass_matrix(usual), rtol=1e-12)


SDF_TEXT = (
    "<sdf version='1.9'><model name='m'><link name='a'><pose>0 0 1 0 0 0{}</pose><inertial><mass>2{}</mass></inertial>"
    "</link></model></sdf>"
)
STRAY = {
    "in a pose": SDF_TEXT.format('"', ""),
    "in a number": SDF_TEXT.format("", "'"),
    "behind an attribute": SDF_TEXT.format("", "").replace("<link name='a'>", "<link name='a''>"),
    "behind a version": SDF_TEXT.format("", "").replace("version='1.9'", "version='1.9'\""),
}


@pytest.mark.parametrize("case", STRAY)
def test_a_stray_quote_of_sdf(case, tmp_path):
    path = tmp_path / "m.sdf"
    path.write_text(STRAY[case])
    with pytest.raises(ModelFileError) as caught:
        sc.load(path)
    assert str(caught.value).endswith(HINT)
    mb = sc.load(path, lenient=True)
    assert (mb.body("a").inertia.mass, mb.pose("a").translation[2]) == (2.0, 1.0)
    assert [x for x in mb.import_report.entries if x.status == "repaired" and "quote" in x.note]


def test_an_included_model_of_sdf_that_is_not_there(tmp_path):
    path = tmp_path / "w.sdf"
    path.write_text(
        "<sdf version='1.9'><world name='w'><model name='m'><link name='a'/></model><include><uri>model://gone</uri>"
        "</include></world></sdf>"
    )
    with pytest.raises(ModelFileError) as caught:
        sc.load(path)
    assert "'model://gone' is not found" in str(caught.value)
    assert str(caught.value).endswith(HINT)
    mb = sc.load(path, lenient=True)
    assert [x.note for x in mb.import_report.not_simulated if "'model://gone' is not found" in x.note]
    assert len(mb) == 1


def test_a_body_without_mass_between_others_is_massless_and_they_are_not(tmp_path):
    """It moves as one of next to no mass does in MuJoCo."""
    inertia = '<inertial pos="0 0 .1" mass="{}" diaginertia=".1 .2 .2"/>'
    joint = '<joint axis="0 1 0"/>'
    bodies = (f'<body name="a">{joint}{inertia.format(2)}<body name="b" pos="0 0 1">{joint}'
              '<geom type="sphere" size=".1" mass="0"/>'
              f'<body name="c" pos="0 0 1">{joint}{inertia.format(1)}</body></body></body>')  # fmt: skip
    mb = read(tmp_path, f"<mujoco><worldbody>{bodies}</worldbody></mujoco>", lenient=True)
    assert [x.inertia.mass for x in mb.bodies] == [2.0, 0.0, 1.0]
    assert not mb["b"].inertia.moment.any()
    almost = bodies.replace('mass="0"', 'mass="1e-9"').replace('size=".1"', 'size="1e-3"')
    least = '<compiler boundmass="1e-14" boundinertia="1e-14"/>'
    other = read(tmp_path, f"<mujoco>{least}<worldbody>{almost}</worldbody></mujoco>")
    np.testing.assert_allclose(mass_matrix(mb), mass_matrix(other), rtol=1e-7)

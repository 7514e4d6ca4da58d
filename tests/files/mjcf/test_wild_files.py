"""MJCF as it comes: legal and unusual, against MuJoCo itself."""

from __future__ import annotations

import pickle

import mujoco
import numpy as np
import pytest
from tests.files.mjcf.peer import FREE, InMujoco, distances

import soacraft as sc
import soacraft.dynamics as dyn
from soacraft.errors import ModelFileError
from soacraft.files.native import same
from soacraft.model.tree.parts.closures import coordinate_names, coupling_error

GEOM = "<geom type='capsule' size='.05 .2' pos='.1 .2 .3' euler='10 20 30'/>"
ARM = f"""<site name='dock'/>
<body name='a' pos='.1 .2 .3' euler='10 20 30'><joint name='ja' axis='1 1 0' ref='20'/>{GEOM}
  <site name='sa' pos='.3 .1 .2' euler='5 5 5'/>
  <body name='b' pos='0 .3 0' euler='3 4 5'><joint name='jb' axis='0 1 1' ref='-10'/>{GEOM}
  <site name='sb' pos='.1 0 0'/></body></body>
<body name='c' pos='1 0 0'><freejoint name='jc'/>{GEOM}</body>
<body name='d' pos='2 0 0'><joint type='ball' name='jd'/>{GEOM}
  <body name='e'><joint name='je' type='slide' ref='.3'/>{GEOM}</body></body>"""
TENDONS = """<tendon><fixed name='t1'><joint joint='ja' coef='2'/><joint joint='jb' coef='-1'/></fixed>
<fixed name='t2'><joint joint='je' coef='3'/></fixed>
<fixed name='t3'><joint joint='je' coef='3'/><joint joint='jb' coef='1'/></fixed></tendon>"""


def model(bodies, before="", after=""):
    gravity = "<option gravity='1 -2 -9'/>"
    return f"<mujoco>{gravity}{before}<worldbody>{bodies}</worldbody>{after}</mujoco>"


def written(folder, text, name="model.xml", **files):
    path = folder / name
    for at, content in {name: text, **files}.items():
        (folder / at).parent.mkdir(parents=True, exist_ok=True)
        (folder / at).write_text(content, encoding="utf-8")
    return path


def entries(mb, element, attribute=""):
    return [x for x in mb.import_report.entries if (x.element, x.attribute) == (element, attribute)]


SETTINGS = (
    "angle='radian' eulerseq='ZYX'", "angle='degree' eulerseq='xYz'", "inertiafromgeom='true'",
    "inertiafromgeom='false'", "balanceinertia='true'", "boundmass='50' boundinertia='2'", "inertiagrouprange='1 2'",
    "alignfree='true'", "fusestatic='true'", "discardvisual='true'", "coordinate='local'",
)  # fmt: skip

SET = f"""<body pos='1 0 0' euler='10 20 30'><freejoint/>
<inertial mass='2' pos='.1 .1 .1' diaginertia='.1 .2 .25' euler='5 6 7'/>{GEOM}
<body euler='1 2 3'><joint limited='true' range='-1 1' axis='1 1 1'/>
<inertial pos='.2 .1 0' mass='1' fullinertia='.1 .12 .14 .01 .02 .005'/>
<geom size='.3' group='1' contype='0' conaffinity='0'/></body>
<body pos='0 0 1'><geom size='.1'/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/></body></body>"""

WILD = {
    "nested defaults": model(
        f"""<body childclass='p'><joint axis='1 2 3'/>{GEOM}<body childclass='q' pos='0 0 1'><joint/>
        <joint class='r' axis='0 1 1'/>{GEOM}<body pos='.2 0 .1'><joint class='p' axis='1 0 0'/>{GEOM}</body></body>
        </body>""",
        """<default><joint armature='.1'/><default class='p'><joint damping='1' pos='.1 .2 .3'/><default class='q'>
        <joint armature='.3' type='slide' axis='1 1 0' stiffness='4' springref='.2'/></default></default>
        <default class='r'><joint ref='30' stiffness='2' springref='40'/></default></default>""",
    ),
    "joints of one body at different places": model(
        f"""<body pos='1 2 3' euler='30 40 50'><joint type='slide' axis='1 1 0' pos='3 3 3'/>
        <joint pos='.1 .2 .3' axis='1 0 1'/><joint pos='1 0 0' axis='0 1 1' ref='20' springref='50' stiffness='3'/>
        <joint type='slide' axis='0 1 1' ref='.2' springref='.4' stiffness='7'/>{GEOM}</body>"""
    ),
    "frames and copies": model(
        f"""<frame pos='1 0 0' euler='0 45 0'><replicate count='3' offset='.1 .2 .3' euler='0 0 30' sep='-'>
        <frame quat='.7 .7 0 .1'><body name='x'><joint name='j' axis='1 0 0'/>{GEOM}</body></frame></replicate>
        </frame>"""
    ),
    "sections that stand twice": f"""<mujoco><option gravity='1 -2 -9'/><default><geom density='10'/></default>
        <worldbody><body><joint/>{GEOM}</body></worldbody><default><joint armature='3'/></default>
        <worldbody><body><joint axis='1 0 0'/>{GEOM}</body></worldbody></mujoco>""",
    "a free joint with damping": model(f"<body><joint type='free' damping='.3'/>{GEOM}</body>"),
    "a free joint with armature and spring": model(
        f"<body pos='1 2 3' euler='3 4 5'><joint type='free' stiffness='.3' armature='2'/>{GEOM}</body>"
    ),
    "a ball with spring, damper and armature": model(
        f"""<body><freejoint/>{GEOM}
        <body><joint type='ball' stiffness='2' damping='.3' armature='.1'/>{GEOM}</body></body>"""
    ),
    "a rotor in an actuator": model(
        ARM, after="<actuator><motor joint='ja' gear='3' armature='.2' damping='.5'/></actuator>"
    ),
    "rotors of a joint and its actuators": model(
        f"<body><joint name='j' axis='1 0 0' armature='.1' damping='.2' stiffness='3' springref='20'/>{GEOM}</body>",
        after="<actuator><motor joint='j' gear='-2' armature='.2'/><position joint='j' damping='.3'/></actuator>",
    ),
    "a rotor behind a tendon": model(
        ARM, after=TENDONS + "<actuator><motor tendon='t2' gear='.5' armature='.2' damping='.5'/></actuator>"
    ),
    "inertia from shapes": model(
        """<body><joint axis='1 0 0'/><geom type='box' size='.1 .2 .3' mass='3'/>
        <geom type='ellipsoid' size='.1 .2 .3' density='200'/>
        <geom type='cylinder' fromto='0 0 0 1 1 1' size='.1' shellinertia='true'/></body>"""
    ),
    "a mesh of its own": model(
        "<body><joint axis='1 0 0'/><geom type='mesh' mesh='m' euler='10 20 30'/></body>",
        "<asset><mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/></asset>",
    ),
    **{f"compiler {each}": model(SET, f"<compiler {each}/>") for each in SETTINGS},
}


@pytest.mark.parametrize("name", WILD)
def test_mjcf_moves_as_in_mujoco(name, tmp_path):
    path = written(tmp_path, WILD[name])
    mb, peer = sc.load(path, strict=True), InMujoco(path)
    m = peer.model
    stiff = [m.dof_armature[m.jnt_dofadr[j] :][:6].any() or m.jnt_stiffness[j] for j in range(m.njnt)]
    parts = [j for j in range(m.njnt) if m.jnt_type[j] == FREE and stiff[j]]
    rng = np.random.default_rng(1)
    for _ in range(2):
        assert max(distances(mb, peer, rng, parts).values()) < 1e-9
    assert same(mb, pickle.loads(pickle.dumps(mb))) == []
    sc.save(mb, tmp_path / "again.json")
    assert same(mb, sc.load(tmp_path / "again.json")) == []


@pytest.mark.parametrize("inner", ["deep/c.xml", "c.xml"])
def test_includes_in_folders(inner, tmp_path):
    """MuJoCo looks for an included file beside the main one first; both places hold different bodies."""
    other = f"<x><body pos='1 0 0'><joint axis='0 1 0'/>{GEOM}</body></x>"
    files = {
        "sub/a.xml": "<mujoco><compiler angle='radian'/><default><geom density='500'/></default></mujoco>",
        "sub/b.xml": f"<x><body euler='.1 .2 .3'><joint/>{GEOM}<include file='{inner}'/></body></x>",
        inner: other,
        f"sub/{inner}": other.replace(GEOM, "<geom size='2'/>"),
    }
    text = "<mujoco><include file='sub/a.xml'/><worldbody><include file='sub/b.xml'/></worldbody></mujoco>"
    path = written(tmp_path, text, **files)
    mb, peer = sc.load(path), InMujoco(path)
    assert len(mb) == 2
    assert max(distances(mb, peer, np.random.default_rng(0)).values()) < 1e-9


EQUALITIES = """<equality>
<weld name='w1' body1='a' body2='c' relpose='.1 .2 .3 .9 .1 .2 .3' anchor='.3 .2 .1' torquescale='.5'/>
<weld name='w2' body1='c'/><weld name='w3' site1='sa' site2='sb'/><weld name='w0' body1='a' body2='d' torquescale='0'/>
<connect name='c1' body1='e' anchor='.1 .2 .3'/><connect name='c2' site1='sa' site2='sb'/>
<connect name='off' body1='e' body2='b' anchor='1 2 3' active='false'/>
<joint name='e1' joint1='ja' joint2='jb' polycoef='.1 .2 .3 .4 .5'/><joint name='e2' joint1='je' polycoef='.3'/>
<joint name='e3' joint1='je' joint2='ja'/>
<tendon name='x1' tendon1='t1' tendon2='t2' polycoef='.1 2 .3 .4 .5'/>
<tendon name='x2' tendon1='t1' tendon2='t3' polycoef='.1 2'/><tendon name='x3' tendon1='t1'/>
<tendon name='x4' tendon1='t1' tendon2='t3' polycoef='.1 2 3'/></equality>"""


@pytest.fixture(scope="module")
def tied(tmp_path_factory):
    path = written(tmp_path_factory.mktemp("tied"), model(ARM, after=TENDONS + EQUALITIES))
    return sc.load(path), InMujoco(path)


def residuals(peer, name):
    """MuJoCo's errors of an equality at the state it has."""
    number = mujoco.mj_name2id(peer.model, mujoco.mjtObj.mjOBJ_EQUALITY, name)
    kind, d = int(mujoco.mjtConstraint.mjCNSTR_EQUALITY), peer.data
    return d.efc_pos[(d.efc_type == kind) & (d.efc_id == number)]


def test_errors_of_loops_and_couplings_are_mujocos(tied):
    mb, peer = tied
    for seed in range(3):
        qpos, qvel = peer.random(np.random.default_rng(seed))
        peer.put(qpos, qvel)
        q = peer.in_ours(qpos, qvel)[0]
        names = coordinate_names(mb)
        for coupling in mb.couplings:
            assert coupling_error(coupling, names, q) == pytest.approx(residuals(peer, coupling.name)[0], abs=1e-9)
        for loop in mb.loops:
            if loop.active:
                a, b = (mb.pose(end, None, mb.state(q=q)).translation for end in (loop.a, loop.b))
                np.testing.assert_allclose(a - b, residuals(peer, loop.name)[:3], atol=1e-9)


def test_which_equality_becomes_what(tied):
    mb = tied[0]
    assert {loop.name: type(loop.hinge).__name__ for loop in mb.loops} == {
        "w1": "Weld", "w2": "Weld", "w3": "Weld", "w0": "Spherical", "c1": "Spherical", "c2": "Spherical",
        "off": "Spherical",
    }  # fmt: skip
    assert [loop.name for loop in mb.loops if not loop.active] == ["off"]
    assert mb.couplings.names == ("e1", "e2", "e3", "x1", "x2", "x3")
    (kept,) = [record for record in mb.records if record.kind == "equality"]
    assert kept.name == "x4"
    (told,) = [entry for entry in entries(mb, "mujoco/equality/tendon") if entry.status == "recorded"]
    assert (told.name, told.dynamic) == ("x4", True)


def test_a_weld_without_torque_lets_its_bodies_turn(tied):
    mb, peer = tied
    peer.put(*peer.random(np.random.default_rng(0)))
    assert residuals(peer, "w0")[3:] == pytest.approx([0, 0, 0], abs=0)
    (entry,) = [x for x in entries(mb, "mujoco/equality/weld", "torquescale") if x.status == "converted"]
    assert (entry.name, entry.note) == ("w0", "0 leaves the turning free: is a loop with a spherical hinge")


ACTUATORS = {
    "general joint='ja' gear='3' gainprm='2' biastype='affine' biasprm='0 -1 -2'": {"ja": 3.0},
    "motor joint='jb' gear='-2'": {"jb": -2.0},
    "position joint='ja' kp='10' dampratio='1'": {"ja": 1.0},
    "velocity joint='jb' kv='3'": {"jb": 1.0},
    "intvelocity joint='ja' kp='2' actrange='-1 1'": {"ja": 1.0},
    "damper joint='ja' kv='2' ctrlrange='0 1'": {"ja": 1.0},
    "cylinder joint='je' area='.1' timeconst='.2'": {"je": 1.0},
    "muscle tendon='t1' lengthrange='.1 2'": {"ja": 2.0, "jb": -1.0},
    "motor tendon='t1' gear='3'": {"ja": 6.0, "jb": -3.0},
    "motor joint='jd' gear='1 2 3'": {"jd.0": 1.0, "jd.1": 2.0, "jd.2": 3.0},
    "motor joint='jc' gear='0 0 0 1 2 3'": {"jc.0": 1.0, "jc.1": 2.0, "jc.2": 3.0},
}


@pytest.mark.parametrize("actuator", ACTUATORS)
def test_gears_are_mujocos_moments(actuator, tmp_path):
    path = written(tmp_path, model(ARM, after=f"{TENDONS}<actuator><{actuator}/></actuator>"))
    mb, peer = sc.load(path), InMujoco(path)
    assert dict(mb.actuators[0].gears) == ACTUATORS[actuator]
    qpos, qvel = peer.random(np.random.default_rng(0))
    peer.put(qpos, qvel)
    d, moment = peer.data, np.zeros((1, peer.model.nv))
    rows = (d.moment_rownnz, d.moment_rowadr, d.moment_colind.ravel())
    mujoco.mju_sparse2dense(moment, d.actuator_moment.ravel(), *rows)
    N = peer.in_ours(qpos, qvel)[2]
    ours = [mb.actuators[0].gears.get(dof, 0.0) for dof in mb.dof_names]
    np.testing.assert_allclose(ours, (moment @ N)[0], atol=1e-12)


def test_a_rotor_on_several_dofs_is_said_not_to_act(tmp_path):
    text = model(ARM, after=f"{TENDONS}<actuator><motor tendon='t1' armature='.2' damping='0'/></actuator>")
    mb = sc.load(written(tmp_path, text))
    (armature,) = entries(mb, "mujoco/actuator/motor", "armature")
    (damping,) = entries(mb, "mujoco/actuator/motor", "damping")
    assert (armature.status, armature.dynamic, damping.dynamic) == ("recorded", True, False)
    assert armature.note == "does not act on one dof alone: is kept, not simulated"
    assert not any(body.armature.any() for body in mb.bodies)


CHILD = f"""<mujoco model='kid'><compiler angle='radian'/><option gravity='0 0 -1'/><default><joint armature='.2'/>
</default><worldbody><body name='k1' euler='.1 .2 .3'><joint name='kj' range='-1 1' ref='.1'/>{GEOM}
<body name='k2' pos='0 1 0'><joint name='kk' axis='0 1 0'/><geom size='.1'/></body></body></worldbody>
<equality><joint joint1='kj' joint2='kk'/></equality><actuator><motor name='km' joint='kj'/></actuator>
<keyframe><key name='kf' qpos='.3 .4'/></keyframe></mujoco>"""
PARENT = f"""<mujoco><option gravity='1 -2 -9'/><asset><model name='kid' file='sub/kid.xml'/></asset><worldbody>
<body name='p' euler='10 20 30'><joint name='pj' axis='1 0 0'/>{GEOM}<attach model='kid' body='k1' prefix='L/'/>
<frame pos='1 0 0' euler='0 0 90'><attach model='kid' body='k1' prefix='R_'/></frame></body></worldbody></mujoco>"""


@pytest.mark.filterwarnings("ignore:Attach conflict")
def test_attached_models(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo by itself writes a log file where it stands
    path = written(tmp_path, PARENT, **{"sub/kid.xml": CHILD})
    mb, peer = sc.load(path), InMujoco(path)
    assert max(distances(mb, peer, np.random.default_rng(0)).values()) < 1e-9
    assert mb.dof_names == ("pj", "L/kj", "L/kk", "R_kj", "R_kk")
    assert [list(coupling.terms) for coupling in mb.couplings] == [["L/kj", "L/kk"], ["R_kj", "R_kk"]]
    np.testing.assert_allclose(mb.keyframes["R_kf"].q, [0, 0, 0, 0.2, 0.4], atol=1e-15)


@pytest.mark.filterwarnings("ignore:Attach conflict")
def test_gravity_that_does_not_count_is_lost(tmp_path):
    path = written(tmp_path, PARENT, **{"sub/kid.xml": CHILD})
    mb = sc.load(path)
    assert [x.status for x in entries(mb, "mujoco/option", "gravity")] == ["used", "ignored"]
    (lost,) = mb.import_report.lost
    assert (lost.file.endswith("kid.xml"), lost.note) == (True, "the model has (1, -2, -9)")
    with pytest.raises(ModelFileError, match=r"mujoco/option@gravity: the model has \(1, -2, -9\)"):
        sc.load(path, strict=True)
    twice = f"<mujoco><option gravity='0 0 -1'/><option gravity='0 0 -2'/><worldbody>{ARM}</worldbody></mujoco>"
    mb = sc.load(written(tmp_path, twice, "twice.xml"))
    assert (mb.gravity[2], len(mb.import_report.lost)) == (InMujoco(tmp_path / "twice.xml").model.opt.gravity[2], 1)


def test_keyframes_with_free_and_ball_joints(tmp_path):
    """The quaternion of the free joint is not of length one in the file."""
    key = "<key name='k' qpos='.1 .2 1 2 3 2 0 0 1 .5 .5 .5 .5 .6' qvel='1 2 3 4 5 6 7 8 9 10 11 12'/>"
    path = written(tmp_path, model(ARM, after=f"<keyframe>{key}</keyframe>"))
    mb, peer = sc.load(path), InMujoco(path)
    peer.put(peer.model.key_qpos[0], peer.model.key_qvel[0])
    k = mb.keyframes["k"]
    assert dyn.kinetic_energy(mb, k.q, k.v) == pytest.approx(peer.data.energy[1], rel=1e-12)
    np.testing.assert_allclose(dyn.center_of_mass(mb, k.q), peer.center_of_mass(), atol=1e-12)


def test_every_line_that_is_not_simply_used_says_why(tmp_path):
    text = model(
        f"<body user='1' sleep='never'><joint group='2' range='-1 1'/>{GEOM}<site size='1' rgba='1 0 0 1'/></body>",
        "<size njmax='9'/><visual><map znear='.1'/></visual>",
        "<keyframe><key qpos='0'/></keyframe>",
    )
    mb = sc.load(written(tmp_path, text))
    told = [x for x in mb.import_report.entries if x.status in ("ignored", "converted") or x.dynamic]
    assert len(told) > 8
    assert [x for x in told if not x.note] == []
    assert mb.import_report.not_simulated == ()


def test_a_mesh_without_a_file_is_left_out_of_urdf(tmp_path):
    mb = sc.load(written(tmp_path, WILD["a mesh of its own"]))
    report = sc.save(mb, tmp_path / "again.urdf")
    (lost,) = [x for x in report.lost if x.element == "geometry"]
    assert lost.note == "the mesh has no file"
    assert len(sc.load(tmp_path / "again.urdf")[mb.bodies[0].name].geometries) == 0

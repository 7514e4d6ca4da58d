"""Loading by name and by file: the built-in models, and which reader a file goes to."""

from pathlib import Path

import numpy as np
import pytest

from soacraft.errors import ModelFileError
from soacraft.files import load, models, save
from soacraft.files.builtin import BUILTIN
from soacraft.files.native import same
from soacraft.model import Entry, ImportReport
from soacraft.model.hinges import HINGES, Free, Pin, Weld

NAMES = list(BUILTIN)


@pytest.mark.parametrize("name", NAMES)
def test_every_model_loads_and_can_be_worked_with(name):
    mb = load(name)
    assert mb.name == name
    assert mb is not load(name)
    facts = next(facts for facts in models() if facts.name == name)
    assert (facts.bodies, facts.dofs) == (len(mb), mb.nv)
    assert facts.description.endswith(".")
    mb.set_state(*mb.random_state(seed=0))
    for axes in ("body", "inertial", "origin"):
        sko = mb.sko(axes=axes)
        assert all(np.isfinite(sko.b(k)).all() and np.isfinite(sko.a(k)).all() for k in sko.nodes)
    assert any(body.nodes for body in mb.bodies)


@pytest.mark.parametrize("name", NAMES)
def test_inertias_are_those_of_real_bodies(name):
    for body in load(name).bodies:
        x, y, z = np.linalg.eigvalsh(body.inertia.moment)
        assert body.inertia.mass > 0
        assert x >= -1e-15
        assert x + y >= z - 1e-12


def test_arm7():
    mb = load("arm7")
    assert (len(mb), mb.nq, mb.nv) == (7, 7, 7)
    assert mb.topology.is_serial
    np.testing.assert_allclose(mb.pose("link7/tool").translation, [0, 0, 1.3], atol=1e-12)
    mb.q = [0, np.pi / 2, 0, 0, 0, 0, 0]
    np.testing.assert_allclose(mb.pose("link7/tool").translation, [0.95, 0, 0.35], atol=1e-12)


def test_pendulums_swing_towards_x():
    for name, tip, q in (("pendulum", "bob/tip", [np.pi / 2]), ("double_pendulum", "lower/tip", [np.pi / 2, 0])):
        mb = load(name)
        length = len(mb)
        np.testing.assert_allclose(mb.pose(tip).translation, [0, 0, -length], atol=1e-15)
        mb.q = q
        np.testing.assert_allclose(mb.pose(tip).translation, [length, 0, 0], atol=1e-15)


def test_the_top_has_its_moments_at_the_pivot():
    M = load("top").sko().M(0)
    np.testing.assert_allclose(np.diag(M[:3, :3]), [0.3, 0.3, 0.05])


def test_biped_and_quadrotor_float():
    assert load("biped").nv == 25
    assert load("biped").bodies[0].hinge.nv == 6
    assert len(load("biped").branches()) > 4
    assert load("quadrotor_arm")["hull/rotor3"].body.name == "hull"


def test_hinges_has_one_of_each():
    assert [type(body.hinge) for body in load("hinges").bodies] == list(HINGES)
    assert not load("hinges").topology.is_serial


def test_the_table_prints():
    lines = repr(models()).splitlines()
    assert lines[0].split() == ["name", "bodies", "dofs", "loops", "licence", "description"]
    assert lines[1].split()[:5] == ["arm7", "7", "7", "0", "Apache-2.0"]
    assert len(lines) == len(models()) + 1
    assert lines[2].index(" 1 ") == lines[1].index(" 7 ")


# -- by name -------------------------------------------------------------------------------------------------


def test_dashes_stand_for_underscores():
    assert same(load("double-pendulum"), load("double_pendulum")) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("arm", "there is no model 'arm'. Did you mean 'arm7'"),
        ("zzz", "there is no model 'zzz'. There are 'arm7', 'pendulum', 'double_pendulum'"),
        ("zzz", "a model file is named with its suffix: .urdf, .xacro, .sdf, .xml (MJCF, URDF or SDF) and .json"),
        (7, "a model is loaded by its name or its file, such as load('arm7') or load('arm.urdf'); got 7."),
        (None, "or load('arm.urdf'); got None."),
        ("", "the name of a model or its file must be a text that a file can have, got ''."),
        ("a\0b.urdf", "must be a text that a file can have, got 'a\\x00b.urdf'."),
        ("\ud800.json", "must be a text that a file can have, got '\\ud800.json'."),
        (b"arm7", "or load('arm.urdf'); got b'arm7'."),
    ],
)
def test_names_that_are_not_loaded(name, text):
    with pytest.raises(ModelFileError) as error:
        load(name)
    assert text in str(error.value)


# -- by file -------------------------------------------------------------------------------------------------

URDF = """<robot name="tiny"><link name="base"/><link name="arm">
<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="elbow" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>"""
MJCF = """<mujoco model="tiny"><worldbody><body name="arm"><joint name="elbow" axis="0 0 1"/>
<inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/></body></worldbody></mujoco>"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tiny.urdf").write_text(URDF)
    (tmp_path / "tiny_urdf.xml").write_text(URDF)
    (tmp_path / "tiny_mjcf.xml").write_text(MJCF)
    (tmp_path / "other.xml").write_text("<svg/>")
    save(load("arm7"), tmp_path / "arm7.json")
    return tmp_path


@pytest.mark.parametrize("file", ["tiny.urdf", "tiny_urdf.xml", "tiny_mjcf.xml"])
def test_a_file_goes_to_its_reader(folder, file):
    for path in (folder / file, str(folder / file)):
        mb = load(path)
        assert (mb.name, mb.dof_names, mb.total_mass) == ("tiny", ("elbow",), 2.0)
        assert isinstance(mb.import_report, ImportReport)
        assert len(mb.import_report) > 0
    assert ("base" in mb) == ("mjcf" not in file)


def test_our_own_file(folder):
    assert same(load(folder / "arm7.json"), load("arm7")) == []
    (folder / "ARM7.JSON").write_bytes((folder / "arm7.json").read_bytes())
    assert same(load(folder / "ARM7.JSON"), load("arm7")) == []


def test_options_of_urdf(folder):
    assert load(folder / "tiny.urdf", root=Free()).nv == 7
    assert load(folder / "tiny_urdf.xml", root=Free()).nv == 7
    assert load(folder / "tiny.urdf", mesh_roots=folder).nv == load(folder / "tiny.urdf", mesh_roots=[str(folder)]).nv


@pytest.mark.parametrize("name", ["tiny_mjcf.xml", "arm7.json", "arm7"])
def test_options_of_urdf_for_others(folder, name):
    target = name if name == "arm7" else folder / name
    assert load(target, root=Weld()).nv > 0
    with pytest.raises(ModelFileError, match=r"defines the hinge of its base, so root=Free\(\) cannot be used"):
        load(target, root=Free())
    with pytest.raises(ModelFileError, match="merge_fixed is for URDF"):
        load(target, merge_fixed=True)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"root": "free"}, "root of load('arm7') must be a hinge such as Free() or Weld(), got 'free'."),
        ({"root": Pin}, "root of load('arm7') must be a hinge"),
        ({"strict": 1}, "strict of load('arm7') must be True or False, got 1."),
        ({"merge_fixed": None}, "merge_fixed of load('arm7') must be True or False, got None."),
        ({"mesh_roots": 5}, "mesh_roots of load('arm7') must be folders, got 5."),
        ({"mesh_roots": [5]}, "mesh_roots of load('arm7') must be folders, got [5]."),
    ],
)
def test_wrong_options(options, text):
    with pytest.raises(ModelFileError) as error:
        load("arm7", **options)
    assert text in str(error.value)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("other.xml", "other.xml: its outermost element is <svg>; an .xml model is <mujoco> (MJCF), <robot> (URDF) or"),
        ("x.step", "suffix '.step'; model files are .urdf, .xacro, .sdf, .xml (MJCF, URDF or SDF) and .json"),
        ("none.urdf.xacro", "none.urdf.xacro"),
        ("models/arm7", "models/arm7': it has no suffix; model files are .urdf"),
        ("none.urdf", "none.urdf"),
        ("none.xml", "none.xml"),
        ("none.json", "none.json"),
    ],
)  # fmt: skip
def test_files_that_are_not_loaded(folder, file, text):
    with pytest.raises(ModelFileError) as error:
        load(folder / file)
    assert text in str(error.value)


def test_strict_names_all_that_is_not_simulated(folder):
    mb = load("arm7")
    entries = [
        Entry("a.urdf", 3, "robot/link", "l", "mass", "used", "", True),
        Entry("a.urdf", 4, "robot/gazebo", "", "", "ignored", "for another program", True),
        Entry("a.urdf", 9, "robot/joint", "j", "safety", "ignored", "not known", True),
        Entry("a.urdf", 12, "robot/link/visual", "", "", "ignored", "only looks", False),
        Entry("a.urdf", 13, "robot/sensor", "s", "", "recorded", "kept", True),
    ]
    mb.import_report = ImportReport(entries)
    save(mb, folder / "kept.json")
    assert load(folder / "kept.json").import_report.entries == tuple(entries)
    with pytest.raises(ModelFileError) as error:
        load(folder / "kept.json", strict=True)
    assert str(error.value).splitlines() == [
        f"strict: {folder / 'kept.json'}: 3 things that change the motion would be missing. "
        "Take strict away to go on without:",
        "  a.urdf:4: robot/gazebo: for another program",
        "  a.urdf:9: robot/joint@safety 'j': not known",
        "  a.urdf:13: robot/sensor 's': kept",
    ]
    mb.import_report = ImportReport(entries[3:4])
    save(mb, folder / "kept.json")
    assert load(folder / "kept.json", strict=True).nv == 7
    assert load("arm7", strict=True).nv == 7


# -- saving --------------------------------------------------------------------------------------------------


def test_save_by_suffix(folder):
    assert len(save(load("arm7"), str(folder / "a.JSON"))) == 0
    assert same(load(folder / "a.JSON"), load("arm7")) == []
    report = save(load("arm7"), folder / "a.urdf")
    assert isinstance(report, ImportReport)
    assert load(folder / "a.urdf").nv == 7


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.xml", "cannot save to 'a.xml': it has suffix '.xml'; a model is written as .json (soacraft's own"),
        ("arm7", "cannot save to 'arm7': it has no suffix"),
        (3, "a model is saved to a file, such as save(mb, 'arm.json'); got 3."),
        (Path("no/folder/a.json"), "cannot write 'no/folder/a.json': No such file or directory."),
    ],
)
def test_where_nothing_is_saved(path, text):
    with pytest.raises(ModelFileError) as error:
        save(load("arm7"), path)
    assert text in str(error.value)


def test_only_models_are_saved(tmp_path):
    with pytest.raises(ModelFileError, match="a Multibody is saved, got 'arm7'"):
        save("arm7", tmp_path / "a.json")

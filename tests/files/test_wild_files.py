"""Files as they come: URDF that is legal and unusual, against Pinocchio and against what it says."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pinocchio
import pytest

import soacraft as sc
import soacraft.dynamics as dyn

INERTIAL = """<inertial><origin xyz='.1 .2 .3' rpy='.1 .2 .3'/><mass value='2'/>
<inertia ixx='.3' ixy='.01' ixz='.02' iyy='.4' iyz='.03' izz='.5'/></inertial>"""
PLACE = "<origin xyz='.3 .1 -.2' rpy='.4 .5 .6'/>"
LIMIT = "<limit lower='-1' upper='2' effort='3' velocity='4'/>"


def written(folder, text, name="model.xml", **files):
    path = folder / name
    for at, content in {name: text, **files}.items():
        (folder / at).parent.mkdir(parents=True, exist_ok=True)
        (folder / at).write_text(content, encoding="utf-8")
    return path


def link(name, more=INERTIAL):
    return f"<link name='{name}'>{more}</link>"


def joint(name, kind, parent, child, more=f"{PLACE}<axis xyz='1 2 3'/>{LIMIT}"):
    return f"<joint name='{name}' type='{kind}'><parent link='{parent}'/><child link='{child}'/>{more}</joint>"


def robot(*parts):
    return f"<robot name='r'>{''.join(parts)}</robot>"


def mass_matrix_in_pinocchio(path, q):
    m = pinocchio.buildModelFromUrdf(str(path))
    d = m.createData()
    M = pinocchio.crba(m, d, q)
    return np.triu(M) + np.triu(M, 1).T


def test_joints_that_follow_others_in_a_chain(tmp_path):
    follow = "<axis xyz='0 0 1'/>" + LIMIT + "<mimic joint='{}' multiplier='{}' offset='{}'/>"
    text = robot(
        *map(link, "abcde"), joint("j1", "revolute", "a", "b"),
        joint("j2", "revolute", "b", "c", follow.format("j1", -2, 0.3)),
        joint("j3", "prismatic", "c", "d", follow.format("j2", 1, 0)),
        joint("j4", "continuous", "d", "e", follow.format("j3", 0, 1)),
    )  # fmt: skip
    path = written(tmp_path, text, "m.urdf")
    mb = sc.load(path, strict=True)
    assert [(c.name, dict(c.terms), c.offset) for c in mb.couplings] == [
        ("j2", {"j2": (1.0,), "j1": (2.0,)}, 0.3),
        ("j3", {"j3": (1.0,), "j2": (-1.0,)}, 0.0),
        ("j4", {"j4": (1.0,)}, 1.0),
    ]
    q = mb.random_state(seed=0)[0]
    both = np.concatenate([q[:3], [np.cos(q[3]), np.sin(q[3])]])  # Pinocchio keeps cosine and sine of j4
    np.testing.assert_allclose(
        dyn.mass_matrix(mb, q, ignore_loops=True), mass_matrix_in_pinocchio(path, both), atol=1e-12
    )
    q[1] += 0.1
    with pytest.raises(sc.errors.LoopError, match="coupling 'j2' of 'r' is off by"):
        dyn.mass_matrix(mb, q)
    q[1:] = 0.3 - 2 * q[0], 0.3 - 2 * q[0], 1.0  # on the couplings, j1 is the one independent dof
    both = np.concatenate([q[:3], [np.cos(q[3]), np.sin(q[3])]])
    X, M = np.array([1.0, -2.0, -2.0, 0.0]), mass_matrix_in_pinocchio(path, both)
    np.testing.assert_allclose(dyn.mass_matrix(mb, q), np.diag([X @ M @ X, 0, 0, 0]), atol=1e-12)


@pytest.mark.parametrize("kind", ["planar", "floating"])
def test_joints_of_several_dofs_inside_the_tree(kind, tmp_path):
    text = robot(*map(link, "abc"), joint("j1", kind, "a", "b"), joint("j2", "revolute", "b", "c"))
    mb = sc.load(written(tmp_path, text, "m.urdf"), root=sc.Free())
    assert mb.nv == 6 + {"planar": 3, "floating": 6}[kind] + 1
    report = sc.save(mb, tmp_path / "again.urdf")
    again = sc.load(tmp_path / "again.urdf")
    q, v = mb.random_state(seed=3)
    assert report.lost == ()
    np.testing.assert_allclose(dyn.mass_matrix(mb, q), dyn.mass_matrix(again, q), atol=1e-12)
    np.testing.assert_allclose(dyn.bias_force(mb, q, v), dyn.bias_force(again, q, v), atol=1e-11)


def test_names_with_blanks_slashes_and_letters_of_all_sorts(tmp_path):
    text = robot(
        link("a b"), link("b/c"), link("ö"), link("inertial"), joint("j/1", "revolute", "a b", "b/c"),
        joint("j 2", "revolute", "b/c", "ö"), joint("inertial", "fixed", "ö", "inertial"),
    )  # fmt: skip
    mb = sc.load(written(tmp_path, text, "m.urdf"))
    assert [body.name for body in mb.bodies] == ["a b", "b/c", "ö", "inertial_2"]
    assert mb.dof_names == ("j/1", "j 2")
    assert {x.note for x in mb.import_report.converted if x.attribute == "name"} == {
        "is called 'inertial_2' in the model",
    }
    assert sc.save(mb, tmp_path / "again.urdf").lost == ()
    assert sc.load(tmp_path / "again.urdf").dof_names == mb.dof_names


def test_an_element_is_not_given_the_name_of_the_one_before(tmp_path):
    text = robot(link("a"), "<transmission name='t'/><gazebo><plugin filename='x'/></gazebo><odd/><material name='m'/>")
    mb = sc.load(written(tmp_path, text, "m.urdf"))
    assert [(record.kind, record.name) for record in mb.records] == [("transmission", "t"), ("gazebo", "")]
    (odd,) = mb.import_report.lost
    assert (odd.element, odd.name) == ("robot/odd", "")


@pytest.mark.parametrize("named", ["../meshes/x.stl", "package://pkg/meshes/x.stl"])
def test_meshes_in_another_folder_are_found_again_after_a_round_trip(named, tmp_path):
    shape = f"<visual><geometry><mesh filename='{named}'/></geometry></visual>"
    home, meshes = tmp_path / "pkg" / "urdf", tmp_path / "pkg" / "meshes"
    path = written(home, robot(link("a", INERTIAL + shape)), "m.urdf", **{"../meshes/x.stl": "solid"})
    mb = sc.load(path, mesh_roots=[tmp_path / "pkg"])
    assert mb["a"].geometries[0].mesh == str((meshes / "x.stl").resolve())
    sc.save(mb, home / "again.urdf")
    assert 'filename="../meshes/x.stl"' in (home / "again.urdf").read_text()
    again = sc.load(home / "again.urdf", mesh_roots=[tmp_path / "pkg"])
    assert again["a"].geometries[0] == mb["a"].geometries[0]
    assert [x for x in again.import_report.recorded if x.attribute == "filename"] == []


# -- whatever the format ---------------------------------------------------------------------------------------


def test_reading_writes_nothing_and_stays_where_it_is(tmp_path, monkeypatch):
    folder = tmp_path / "models"
    mjcf = written(folder, "<mujoco><worldbody><body><joint/><geom size='1'/></body></worldbody></mujoco>")
    urdf = written(folder, robot(link("a"), link("b"), joint("j", "revolute", "a", "b")), "m.urdf")
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    for path in (mjcf, urdf, urdf.relative_to(tmp_path)):
        sc.load(path)
    assert sorted(tmp_path.rglob("*")) == before
    assert os.getcwd() == str(tmp_path)


def test_importing_soacraft_leaves_out_what_only_some_need():
    code = "import sys, soacraft; print([x for x in ('mujoco', 'yaml', 'scipy.optimize', 'rich') if x in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

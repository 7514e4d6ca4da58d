"""Meshes are read where `sc.load` found them, and nowhere else: in contact, in worlds and in pictures."""

import re
import struct
from pathlib import Path

import pytest

import soacraft as sc
from soacraft.errors import ModelError, ModelFileError
from soacraft.files.xml_tree import outside_folders

STL = "solid x\n" + "".join(
    f"facet normal 0 0 0\nouter loop\nvertex {a}\nvertex {b}\nvertex {c}\nendloop\nendfacet\n"
    for a, b, c in (("0 0 0", "1 0 0", "0 1 0"), ("0 0 0", "0 1 0", "0 0 1"), ("0 0 0", "0 0 1", "1 0 0"),
                    ("1 0 0", "0 0 1", "0 1 0"))
) + "endsolid\n"  # fmt: skip
OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
INERTIA = '<mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'


def urdf(mesh):
    shape = f'<collision><geometry><mesh filename="{mesh}"/></geometry></collision>'
    return f'<robot name="r"><link name="part"><inertial>{INERTIA}</inertial>{shape}</link></robot>'


def mjcf(mesh):
    return (
        f'<mujoco><asset><mesh name="m" file="{mesh}"/></asset><worldbody><body name="part"><freejoint/>'
        '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
    )


def sdf(mesh):
    shape = f'<collision name="c"><geometry><mesh><uri>{mesh}</uri></mesh></geometry></collision>'
    return f'<sdf version="1.9"><model name="r"><link name="part">{shape}</link></model></sdf>'


KINDS = {".urdf": urdf, ".xml": mjcf, ".sdf": sdf}


def all_of(mb):
    """The readers of meshes."""
    yield sc.contact.Scene(mb).shapes
    yield sc.robot.World(sc.robot.Robot(mb)).scene.shapes
    p = sc.sim.Propagator(mb, integrator="moreau", step=1e-3)
    p.add(sc.sim.Contact())
    p.advance_to(1e-3)
    yield p
    scene = sc.view.scene(mb)
    assert not scene.missing, scene.missing
    yield [x for x in scene.parts if x.kind == "geometry"]


@pytest.mark.parametrize("suffix", KINDS)
@pytest.mark.parametrize("elsewhere", [False, True])
def test_every_reader_finds_them(tmp_path, suffix, elsewhere):
    home = tmp_path / "robot"
    where = (tmp_path / "library" if elsewhere else home) / "meshes"
    home.mkdir()
    where.mkdir(parents=True)
    (where / "part.stl").write_text(STL)
    (home / f"robot{suffix}").write_text(KINDS[suffix]("meshes/part.stl"))
    mb = sc.load(home / f"robot{suffix}", mesh_roots=[tmp_path / "library"] if elsewhere else [])
    assert mb.mesh_folder == home
    assert mb.mesh_roots == ((where,) if elsewhere else ())
    for model in (mb, mb.copy(), mb.extract(mb.body("part"))):
        assert all(list(all_of(model)))


def test_meshes_of_a_model_that_is_added_are_read_too(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part.stl").write_text(STL)
        (tmp_path / name / "robot.urdf").write_text(urdf("part.stl"))
    mb = sc.load(tmp_path / "a" / "robot.urdf")
    mb.add_model(sc.load(tmp_path / "b" / "robot.urdf"), prefix="b_")
    assert len(sc.contact.Scene(mb).shapes) == 2
    assert not sc.view.scene(mb).missing


def test_a_mesh_beside_an_included_sdf_file(tmp_path):
    (tmp_path / "parts" / "hand").mkdir(parents=True)
    (tmp_path / "parts" / "hand" / "model.sdf").write_text(sdf("palm.stl"))
    (tmp_path / "parts" / "hand" / "palm.stl").write_text(STL)
    (tmp_path / "world.sdf").write_text(
        '<sdf version="1.9"><world name="w"><include><uri>model://hand</uri></include></world></sdf>'
    )
    mb = sc.load(tmp_path / "world.sdf", mesh_roots=[tmp_path / "parts"])
    assert sc.contact.Scene(mb).shapes


def test_a_name_that_leads_out_is_not_read(tmp_path):
    (tmp_path / "secret.stl").write_text(STL)
    mb = sc.Multibody()
    body = mb.add_body("part", None, sc.Free(), sc.Inertia(1.0))
    body.add_geometry(sc.Geometry("skin", "mesh", mesh=str(tmp_path / "secret.stl")))
    mb.mesh_folder = tmp_path / "models"
    with pytest.raises(ModelError, match=r"its mesh .* leads out of the folder"):
        sc.contact.Scene(mb)
    assert "leads out of the folder" in sc.view.scene(mb).missing["part/skin"]
    mb.mesh_roots = [tmp_path]
    assert sc.contact.Scene(mb).shapes
    with pytest.raises(ModelError, match="mesh_roots of 'model' must be a list of folders, got 'here'"):
        mb.mesh_roots = "here"


def test_a_file_of_our_own_names_no_folder_and_the_user_does(tmp_path):
    """Meshes outside its folder are read where the user says so, and never because a file says so."""
    (tmp_path / "library").mkdir()
    (tmp_path / "robot").mkdir()
    (tmp_path / "library" / "part.stl").write_text(STL)
    (tmp_path / "robot" / "robot.urdf").write_text(urdf("part.stl"))
    mb = sc.load(tmp_path / "robot" / "robot.urdf", mesh_roots=[tmp_path / "library"])
    sc.save(mb, tmp_path / "robot" / "robot.json")
    with pytest.raises(ModelError, match="leads out of the folder"):
        sc.contact.Scene(sc.load(tmp_path / "robot" / "robot.json"))
    again = sc.load(tmp_path / "robot" / "robot.json", mesh_roots=[tmp_path / "library"])
    assert sc.contact.Scene(again).shapes


def roots_named(text: str) -> list[str]:
    """The folders that a refusal names."""
    found = re.search(r"mesh_roots=\[(.*?)\]", text)
    assert found, text
    return [x.strip().strip("'") for x in found[1].split(",")]


@pytest.mark.parametrize("needed", [False, True])
def test_a_refusal_names_the_folder_that_is_enough(tmp_path, needed):
    """Includes, meshes and heights beside the folder of the scene, some two folders up: one folder, named by the first
    refusal, is enough for all; with `needed` a mesh gives an inertia, and the file is refused when it is read."""
    home = tmp_path / "robots" / "arm"
    for folder in (home, tmp_path / "robots" / "parts", tmp_path / "ground"):
        folder.mkdir(parents=True)
    (tmp_path / "robots" / "parts" / "part.obj").write_text(OBJ)
    (tmp_path / "ground" / "hill.bin").write_bytes(struct.pack("<iiffff", 2, 2, 0.0, 0.1, 0.2, 0.3))
    weight = "" if needed else '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    (tmp_path / "robots" / "part.xml").write_text(
        f'<mujoco><worldbody><body name="part" pos="0 0 3"><freejoint/>{weight}'
        '<geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
    )
    assets = (
        '<asset><mesh name="m" file="part.obj"/><hfield name="h" file="../../ground/hill.bin" size="5 5 1 1"/></asset>'
        '<worldbody><geom type="hfield" hfield="h"/></worldbody>'
    )
    (home / "scene.xml").write_text(
        f'<mujoco><compiler meshdir="../parts"/>{assets}<include file="../part.xml"/></mujoco>'
    )
    with pytest.raises(ModelFileError, match=r"the path '../part.xml' leads out of the folders") as caught:
        sc.load(home / "scene.xml")
    folders = roots_named(str(caught.value))
    mb = sc.load(home / "scene.xml", mesh_roots=folders)
    p = sc.sim.Propagator.from_file(home / "scene.xml", mesh_roots=folders)
    assert {x.kind for x in sc.contact.Scene(mb).shapes.values()} == {"hull", "heightfield"}
    assert p.advance_to(0.01).q[-1, 6] < 3.0
    assert folders == [str(tmp_path.resolve())]


def test_a_mesh_of_a_scene_outside_names_its_folder(tmp_path):
    """Where the file is read, and only contact needs the mesh; a name by a whole path elsewhere has its own folder."""
    home = tmp_path / "scenes"
    home.mkdir()
    (tmp_path / "part.stl").write_text(STL)
    (home / "m.xml").write_text(mjcf("../part.stl"))
    with pytest.raises(ModelError, match=r"its mesh '../part.stl' leads out of .*; load it with mesh_roots=") as caught:
        sc.sim.Propagator.from_file(home / "m.xml")
    p = sc.sim.Propagator.from_file(home / "m.xml", mesh_roots=roots_named(str(caught.value)))
    assert p.advance_to(0.01).t[-1] == 0.01
    assert [str(x) for x in outside_folders([Path("/r/a")], ["/opt/x/y.stl", "../b.stl", "c.stl"])] == ["/opt/x", "/r"]

"""Saving to another folder: names of meshes and textures lead to the same files from there."""

from pathlib import Path

import pytest

import soacraft as sc
from soacraft.errors import ModelError
from soacraft.files.native import from_json, same, to_json

URDF = """<robot name='r'><material name='paint'><texture filename='looks/wood.png'/></material><link name='a'>
<visual><geometry><mesh filename='meshes/in.stl'/></geometry><material name='paint'/></visual>
<visual><geometry><mesh filename='../elsewhere/out.stl'/></geometry></visual>
<visual><geometry><mesh filename='package://elsewhere/x.stl'/></geometry></visual></link></robot>"""
MJCF = """<mujoco><compiler meshdir='meshes'/><asset><mesh name='m' file='in.stl'/>
<texture name='wood' type='2d' file='../looks/wood.png'/><material name='paint' texture='wood'/></asset>
<worldbody><body name='a'><joint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>
<geom type='mesh' mesh='m' material='paint' contype='0' conaffinity='0'/></body></worldbody></mujoco>"""


@pytest.fixture
def home(tmp_path):
    """A robot's folder with its meshes, another next to it, and one deeper for copies."""
    for file in ("robot/meshes/in.stl", "robot/looks/wood.png", "elsewhere/out.stl", "copies/deep/.keep"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    (tmp_path / "robot" / "m.urdf").write_text(URDF)
    (tmp_path / "robot" / "m.xml").write_text(MJCF.replace("../looks", "looks"))
    return tmp_path


def leads_to(mb, name):
    """The file that a name of a model leads to."""
    return name if "://" in name else (mb.mesh_folder / name).resolve()


def names(mb):
    found = [shape.mesh for body in mb.bodies for shape in body.geometries]
    return [leads_to(mb, name) for name in [*found, *(x.texture for x in mb.materials)]]


@pytest.mark.parametrize("target", ["robot/again", "copies/deep/again", "again"])
@pytest.mark.parametrize("kind", [".json", ".urdf"])
@pytest.mark.parametrize("source", ["robot/m.urdf", "robot/m.xml"])
def test_names_lead_to_the_same_files(source, kind, target, home):
    mb = sc.load(home / source)
    files = [home / "robot/meshes/in.stl", home / "elsewhere/out.stl", "package://elsewhere/x.stl",
             home / "robot/looks/wood.png"]  # fmt: skip
    assert names(mb) == (files if source.endswith("urdf") else [files[0], files[-1]])
    report = sc.save(mb, home / f"{target}{kind}")
    again = sc.load(home / f"{target}{kind}")
    assert names(again) == names(mb)
    assert again.mesh_folder == (home / target).parent
    assert not any(Path(shape.mesh).is_absolute() for shape in again["a"].geometries)
    assert not any("mesh_folder" in entry.note for entry in report.entries)
    if kind == ".json":
        assert same(mb, again) == []


def test_another_file_of_the_same_name_is_another_file(home):
    mb = sc.load(home / "robot" / "m.urdf")
    other = mb.copy()
    assert other.mesh_folder == mb.mesh_folder
    assert same(mb, from_json(to_json(mb))) == []
    other.mesh_folder = home / "copies"
    sc.save(other, home / "again.json")
    assert [line.partition(":")[0] for line in same(mb, sc.load(home / "again.json"))] == ["body 'a'", "materials"]


def test_a_model_without_a_folder_says_that_it_does_not_know(home):
    mb = sc.Multibody("made")
    mb.add_body("a", None, sc.Weld(), sc.Inertia(1.0)).add_geometry(sc.Geometry("skin", "mesh", mesh="meshes/in.stl"))
    assert mb.mesh_folder is None
    report = sc.save(mb, home / "copies" / "made.urdf")
    assert [x.note.partition("; ")[2] for x in report.entries if x.name == "skin"] == [
        "'meshes/in.stl' is written unchanged: the model has no mesh_folder"
    ]
    assert sc.load(home / "copies" / "made.urdf")["a"].geometries[0].mesh == "meshes/in.stl"
    mb.mesh_folder = home / "robot"
    sc.save(mb, home / "copies" / "made.urdf")
    assert names(sc.load(home / "copies" / "made.urdf"))[0] == home / "robot" / "meshes" / "in.stl"
    with pytest.raises(ModelError, match="mesh_folder of 'made' must be a folder or None, got 3"):
        mb.mesh_folder = 3

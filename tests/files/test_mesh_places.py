"""Meshes are read where `sc.load` found them, and nowhere else: in contact, in worlds and in pictures."""

import pytest

import soacraft as sc
from soacraft.errors import ModelError

STL = "solid x\n" + "".join(
    f"facet normal 0 0 0\nouter loop\nvertex {a}\nvertex {b}\nvertex {c}\nendloop\nendfacet\n"
    for a, b, c in (("0 0 0", "1 0 0", "0 1 0"), ("0 0 0", "0 1 0", "0 0 1"), ("0 0 0", "0 0 1", "1 0 0"),
                    ("1 0 0", "0 0 1", "0 1 0"))
) + "endsolid\n"  # fmt: skip
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

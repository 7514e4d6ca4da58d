"""What is only looked at refuses no robot: each fault of it is a line of the report, and the motion is the peers'."""

import mujoco
import numpy as np
import pinocchio
import pytest

import soacraft as sc
import soacraft.dynamics as dyn
from soacraft.errors import ModelFileError

INERTIAL = """<inertial><origin xyz='.1 .2 .3'/><mass value='2'/>
<inertia ixx='.3' ixy='.01' ixz='0' iyy='.4' iyz='0' izz='.5'/></inertial>"""
BALL = "<geometry><sphere radius='.1'/></geometry>"


def urdf(link="", robot="", joint=""):
    return f"""<robot name='r'>{robot}<link name='base'/><link name='arm'>{INERTIAL}{link}</link>
<link name='tip'>{INERTIAL}</link>
<joint name='elbow' type='revolute'><parent link='base'/><child link='arm'/><axis xyz='0 1 0'/>
<limit lower='-1' upper='1' effort='8' velocity='2'/></joint>
<joint name='flange' type='fixed'><origin xyz='0 0 1'/><parent link='arm'/><child link='tip'/>{joint}</joint></robot>"""


def mesh(name, role="visual"):
    return f"<{role}><geometry><mesh filename='{name}'/></geometry></{role}>"


def loaded(folder, text, **options):
    path = folder / ("m.xml" if text.startswith("<mujoco") else "m.urdf")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return sc.load(path, **options)


def moves_as_in_pinocchio(mb, path):
    m = pinocchio.buildModelFromUrdf(str(path))
    M = pinocchio.crba(m, m.createData(), np.array([0.3]))
    np.testing.assert_allclose(dyn.mass_matrix(mb, [0.3]), M, rtol=1e-12)


def line(mb, element, attribute=""):
    """The line of the report that is not simply used."""
    (entry,) = [
        x for x in mb.import_report.entries
        if (x.element, x.attribute) == (element, attribute) and x.status != "used"
    ]  # fmt: skip
    assert not entry.dynamic
    return entry


OUT = "leads out of the folders that may be read, and is not looked for; name its folder in mesh_roots"
SHAPE = "robot/link/visual/geometry"
LOOKS = {
    "texture without a name": (
        urdf(robot="<material name='m'><texture/></material>"),
        "robot/material/texture",
        "",
        "names no file",
    ),
    "texture with an empty name": (
        urdf(robot="<material name='m'><texture filename=''/></material>"),
        "robot/material/texture",
        "filename",
        "names no file: a path has 1 to",
    ),
    "texture elsewhere": (
        urdf(f"<visual>{BALL}<material name='m'><texture filename='../x.png'/></material></visual>"),
        "robot/link/visual/material/texture",
        "filename",
        OUT,
    ),
    "mesh without a name": (
        urdf("<visual><geometry><mesh/></geometry></visual>"),
        f"{SHAPE}/mesh",
        "",
        "names no file",
    ),
    "mesh elsewhere": (urdf(mesh("../meshes/x.stl")), f"{SHAPE}/mesh", "filename", OUT),
    "mesh by a whole path": (urdf(mesh("file:///opt/robots/x.stl")), f"{SHAPE}/mesh", "filename", OUT),
    "mesh of another system": (urdf(mesh("C:\\robots\\x.stl")), f"{SHAPE}/mesh", "filename", OUT),
    "mesh above its package": (urdf(mesh("package://../../x.stl")), f"{SHAPE}/mesh", "filename", OUT),
    "mesh of an unknown package": (
        urdf(mesh("package://nowhere/x.stl")),
        f"{SHAPE}/mesh",
        "filename",
        "package 'nowhere' not found; put the folder that holds it into mesh_roots",
    ),
    "collision mesh elsewhere": (
        urdf(mesh("../x.stl", "collision")),
        "robot/link/collision/geometry/mesh",
        "filename",
        OUT,
    ),
    "scale that is none": (
        urdf("<visual><geometry><mesh filename='x.stl' scale='1 1'/></geometry></visual>"),
        f"{SHAPE}/mesh",
        "scale",
        'scale="1 1" must be 3 numbers, got 2.',
    ),
    "two shapes": (
        urdf("<visual><geometry><sphere radius='1'/><box size='1 1 1'/></geometry></visual>"),
        f"{SHAPE}/box",
        "",
        "a <geometry> holds one shape",
    ),
    "negative radius": (
        urdf("<visual><geometry><sphere radius='-1'/></geometry></visual>"),
        f"{SHAPE}/sphere",
        "radius",
        'radius="-1" must not be negative.',
    ),
    "where it is drawn": (
        urdf(f"<visual><origin xyz='nan 0 0'/>{BALL}</visual>"),
        "robot/link/visual/origin",
        "xyz",
        "xyz=\"nan 0 0\" must be finite numbers, got 'nan'.",
    ),
    "colour of three": (
        urdf(robot="<material name='m'><color rgba='1 0 0'/></material>"),
        "robot/material/color",
        "rgba",
        'rgba="1 0 0" must be 4 numbers, got 3.',
    ),
    "material twice": (
        urdf(robot="<material name='m'><color rgba='1 0 0 1'/></material><material name='m'/>"),
        "robot/material",
        "name",
        "there is a material of this name already, on line 1.",
    ),
    "material without a name": (
        urdf(robot="<material><color rgba='1 0 0 1'/></material>"),
        "robot/material",
        "",
        "needs the attribute 'name'.",
    ),
    "mimic of a fixed joint": (
        urdf(joint="<mimic joint='elbow' multiplier='x'/>"),
        "robot/joint/mimic",
        "joint",
        "a fixed joint does not move",
    ),
    "damping of a fixed joint": (
        urdf(joint="<dynamics damping='-1'/>"),
        "robot/joint/dynamics",
        "damping",
        "a fixed joint does not move",
    ),
    "axis of a fixed joint": (urdf(joint="<axis xyz='0 0'/>"), "robot/joint/axis", "xyz", "a fixed joint has no axis"),
    "limits of a fixed joint": (
        urdf(joint="<limit lower='1' upper='0'/>"),
        "robot/joint/limit",
        "lower",
        "limits of a fixed joint mean nothing in URDF",
    ),
}


@pytest.mark.parametrize("case", LOOKS)
def test_urdf(case, tmp_path):
    text, element, attribute, note = LOOKS[case]
    mb = loaded(tmp_path, text)
    assert line(mb, element, attribute).note.startswith(note)
    assert mb.import_report.not_simulated == ()
    q = [0.3]
    np.testing.assert_allclose(dyn.mass_matrix(mb, q), dyn.mass_matrix(loaded(tmp_path, urdf()), q), rtol=1e-15)


def test_a_robot_whose_looks_are_all_wrong_moves_as_in_pinocchio(tmp_path):
    looks = mesh("../meshes/x.stl") + mesh("file:///opt/x.stl") + mesh("package://nowhere/x.stl") + mesh("")
    text = urdf(looks, robot="<material name='m'><texture/></material>", joint="<mimic joint='elbow'/>")
    mb = loaded(tmp_path, text)
    assert [shape.mesh for shape in mb["arm"].geometries] == [
        "../meshes/x.stl", "file:///opt/x.stl", "package://nowhere/x.stl", "",
    ]  # fmt: skip
    moves_as_in_pinocchio(mb, tmp_path / "m.urdf")


def test_meshes_in_mesh_roots_are_found_by_any_name(tmp_path):
    away = tmp_path / "store" / "meshes"
    away.mkdir(parents=True)
    (away / "x.stl").touch()
    for name in (f"file://{away}/x.stl", f"{away}/x.stl", "../store/meshes/x.stl", "x.stl", "package://meshes/x.stl"):
        mb = loaded(tmp_path / "robot", urdf(mesh(name)), mesh_roots=[away])
        assert mb["arm"].geometries[0].mesh == str(away / "x.stl")
        assert [x for x in mb.import_report.entries if x.attribute == "filename" and x.status != "used"] == []


def test_links_are_followed_before_a_place_is_judged(tmp_path):
    """A package in which a link leads to a folder that may not be read; then to one that may."""
    (tmp_path / "build" / "meshes").mkdir(parents=True)
    (tmp_path / "build" / "meshes" / "x.stl").touch()
    (tmp_path / "ws" / "arm").mkdir(parents=True)
    (tmp_path / "ws" / "arm" / "meshes").symlink_to(tmp_path / "build" / "meshes")
    text = urdf(mesh("package://arm/meshes/x.stl"))
    mb = loaded(tmp_path / "ws" / "arm" / "urdf", text)
    assert (mb["arm"].geometries[0].mesh, line(mb, f"{SHAPE}/mesh", "filename").note) == (
        "package://arm/meshes/x.stl",
        OUT,
    )
    mb = loaded(tmp_path / "ws" / "arm" / "urdf", text, mesh_roots=[tmp_path / "build"])
    assert mb["arm"].geometries[0].mesh == str(tmp_path / "build" / "meshes" / "x.stl")


# -- MJCF --------------------------------------------------------------------------------------------------------

BOX = "<inertial pos='0 0 0' mass='2' diaginertia='1 1 1'/>"
BODY = "<body name='b'><joint name='j' axis='0 1 0'/>{}<geom type='mesh' mesh='m'/></body>"
ASSETS = {
    "mesh elsewhere": ("<mesh name='m' file='../x.stl'/>", "mesh", "file", "'../x.stl' leads out of the folders"),
    "mesh by a whole path": ("<mesh name='m' file='/opt/x.stl'/>", "mesh", "file", "'/opt/x.stl' leads out of"),
    "mesh without a name": ("<mesh name='m' file=''/>", "mesh", "file", "'' names no file"),
    "texture elsewhere": (
        "<mesh name='m' file='x.stl'/><texture name='t' type='2d' file='../x.png'/>",
        "texture",
        "file",
        OUT,
    ),
    "texture without a name": (
        "<mesh name='m' file='x.stl'/><texture name='t' type='2d' file=''/>",
        "texture",
        "file",
        "names no file",
    ),
    "heights elsewhere": (
        "<mesh name='m' file='x.stl'/><hfield name='h' file='../x.png' size='1 1 1 1'/>",
        "hfield",
        "file",
        OUT,
    ),
    "colour of three": (
        "<mesh name='m' file='x.stl'/><material name='c' rgba='1 0 nan 1'/>",
        "material",
        "rgba",
        "is no colour or shine that can be read",
    ),
}


@pytest.mark.parametrize("case", ASSETS)
def test_mjcf(case, tmp_path):
    asset, element, attribute, note = ASSETS[case]
    text = f"<mujoco><asset>{asset}</asset><worldbody>{BODY.format(BOX)}</worldbody></mujoco>"
    mb = loaded(tmp_path, text)
    entries = [
        x for x in mb.import_report.entries if (x.element, x.attribute) == (f"mujoco/asset/{element}", attribute)
    ]
    assert any(entry.note.startswith(note) for entry in entries)
    assert mb.import_report.not_simulated == ()
    np.testing.assert_allclose(dyn.mass_matrix(mb, [0.0]), [[1.0]], rtol=1e-15)


@pytest.mark.parametrize("name", ["../x.stl", "/opt/x.stl", ""])
def test_a_mesh_that_must_be_opened_is_refused_outside(name, tmp_path):
    text = f"<mujoco><asset><mesh name='m' file='{name}'/></asset><worldbody>{BODY.format('')}</worldbody></mujoco>"
    with pytest.raises(
        ModelFileError, match=r"body 'b' comes from its shapes.*give the body an <inertial>, or the file"
    ):
        loaded(tmp_path, text)
    mb = loaded(tmp_path, text, lenient=True)  # it is not opened: the body has no mass
    assert mb.body("b").inertia == sc.Inertia()
    assert [x for x in mb.import_report.not_simulated if "the inertia of body 'b'" in x.note]


def tetrahedron(size):
    points = "".join(
        f"v {' '.join(str(size * x) for x in row)}\n" for row in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
    )
    return points + "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


PLACES = ("x.obj", "sub/x.obj", "assets/x.obj", "sub/assets/x.obj")


@pytest.mark.parametrize("compiler", ["", "<compiler meshdir='assets'/>"])
@pytest.mark.parametrize("there", [(0, 1, 2, 3), (1, 2, 3), (0, 1, 3), (1, 3), (1,), (0,), (2,), (3,), ()])
def test_files_of_an_included_file_are_where_mujoco_finds_them(compiler, there, tmp_path):
    """In each place there is a mesh of its own size, so that the mass tells which was read."""
    (tmp_path / "sub" / "assets").mkdir(parents=True)
    (tmp_path / "assets").mkdir()
    for i in there:
        (tmp_path / PLACES[i]).write_text(tetrahedron(i + 1))
    (tmp_path / "sub" / "robot.xml").write_text(
        f"<mujoco>{compiler}<asset><mesh name='m' file='x.obj'/></asset><worldbody>{BODY.format('')}</worldbody>"
        "</mujoco>"
    )
    (tmp_path / "scene.xml").write_text("<mujoco><include file='sub/robot.xml'/></mujoco>")
    try:
        mass = mujoco.MjModel.from_xml_path(str(tmp_path / "scene.xml")).body("b").mass[0]
    except ValueError:
        with pytest.raises(ModelFileError, match="is not there; give the body an <inertial>"):
            sc.load(tmp_path / "scene.xml")
    else:
        assert sc.load(tmp_path / "scene.xml").total_mass == pytest.approx(mass, rel=1e-12)

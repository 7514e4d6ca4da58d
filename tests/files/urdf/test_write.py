"""What is written reads back as the same mechanics, and what cannot be written is said."""

import re

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from tests.files.urdf.models import CASES, MODELS, two_links

from soacraft import dynamics as dyn
from soacraft.errors import ModelFileError
from soacraft.files.builtin import BUILTIN
from soacraft.files.file_names import whole_name
from soacraft.files.urdf import read_urdf
from soacraft.files.urdf.write import write_urdf
from soacraft.model import (
    Actuator,
    Geometry,
    Keyframe,
    Limits,
    Material,
    Multibody,
    Passive,
    Record,
    random_inertia,
    random_pose,
    serial_chain,
)
from soacraft.model.hinges import Free, Helical, Pin, Planar, Prismatic, Screws, Spherical, Weld
from soacraft.spatial import Inertia, Pose

OF_URDF = (
    Pin((0.3, -0.5, 0.8)),
    Prismatic((0.6, 0, -0.8)),
    Weld(),
    Free(),
    Planar(),
    Screws([[0, 0, 1, 0.3, -0.2, 0]]),
    Screws([[0, 0, 0, 0, 1, 0]]),
)


def random_model(seed, hinges=OF_URDF, n=12):
    """A random tree with body frames away from their hinges; its base hangs by each kind of hinge in turn."""
    rng = np.random.default_rng(seed)
    mb = Multibody("random")
    for k in range(n):
        parent = None if k == 0 or rng.random() < 0.1 else f"b{rng.integers(k)}"
        outboard = (random_pose(rng), Pose(), Pose(random_pose(rng).rotation))[k % 3]
        hinge = hinges[(seed + k) % len(hinges)]
        mb.add_body(f"b{k}", parent, hinge, random_inertia(rng), random_pose(rng), outboard, hinge_name=f"h{k}")
    return mb


def same_mechanics(one, other, seed=0):
    """Mass matrix, bias force and potential energy at random states agree to rounding."""
    assert one.dof_names == other.dof_names
    tree = dict(ignore_loops=True)
    for k in range(3):
        q, v = one.random_state(seed=seed + k)
        for f, state in ((dyn.mass_matrix, (q,)), (dyn.bias_force, (q, v)), (dyn.potential_energy, (q,))):
            ours, theirs = f(one, *state, **tree), f(other, *state, **tree)
            scale = max(1.0, np.abs(ours).max(initial=0.0))
            np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-12 * scale, err_msg=f.__name__)


@pytest.mark.parametrize("seed", range(14))
def test_random_models_read_back(seed, tmp_path):
    mb = random_model(seed)
    report = write_urdf(mb, tmp_path / "m.urdf")
    assert report.lost == ()
    same_mechanics(mb, read_urdf(tmp_path / "m.urdf"), seed)


@pytest.mark.parametrize(("file", "root"), CASES, ids=str)
def test_files_read_back(file, root, tmp_path):
    mb = read_urdf(MODELS / file, root=root)
    write_urdf(mb, tmp_path / "m.urdf")
    back = read_urdf(tmp_path / "m.urdf")
    same_mechanics(mb, back)
    for body in mb.bodies:
        twin = back.body(body.name)
        assert (twin.limits, twin.passive) == (body.limits, body.passive)
        for x, y in zip(twin.geometries, body.geometries, strict=True):
            assert (x.kind, x.size, x.rgba, x.role) == (y.kind, y.size, y.rgba, y.role)
            assert whole_name(x.mesh, back.mesh_folder) == whole_name(y.mesh, mb.mesh_folder)
    assert back.materials == mb.materials
    assert [dict(x.gears) for x in back.actuators] == [dict(x.gears) for x in mb.actuators]


def test_writing_twice_gives_the_same_file(tmp_path):
    mb = read_urdf(MODELS / "husky" / "husky.urdf")
    write_urdf(mb, tmp_path / "a.urdf")
    write_urdf(read_urdf(tmp_path / "a.urdf"), tmp_path / "b.urdf")
    assert (tmp_path / "a.urdf").read_bytes() == (tmp_path / "b.urdf").read_bytes()


def test_pinocchio_reads_what_is_written(tmp_path):
    """Not only our own reader."""
    mb = random_model(3, hinges=(Pin((0, 0.6, 0.8)), Prismatic((1, 0, 0)), Weld(), Pin((0, 0, 1))))
    for body in mb.bodies:
        body.limits = Limits(-1, 1, 2, 3) if body.name != "b0" else Limits()
    write_urdf(mb, tmp_path / "m.urdf")
    model = pin.buildModelFromUrdf(str(tmp_path / "m.urdf"))
    data = model.createData()
    mb.set_state(mb.random_state(seed=0)[0])
    q, order = pin.neutral(model), []
    for number in range(1, model.njoints):
        dof = mb.dof_names.index(model.names[number])
        order.append(dof)
        joint = model.joints[number]
        x = mb.q[dof]
        q[joint.idx_q : joint.idx_q + joint.nq] = x if joint.nq == 1 else (np.cos(x), np.sin(x))
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    np.testing.assert_allclose(dyn.mass_matrix(mb, mb.q)[np.ix_(order, order)], M, rtol=0, atol=1e-11)


def test_numbers_are_exact(tmp_path):
    mb = Multibody("exact")
    inertia = Inertia(1 / 3, (0.1, 0.2, 0.3), np.diag([1 / 7, 1 / 9, 1 / 11]))
    mb.add_body("a", None, Weld(), inertia)
    mb.add_body("b", "a", Pin((0.6, 0, 0.8)), inertia, Pose(translation=(1 / 3, 1e-17, -2e200 / 1e180)))
    write_urdf(mb, tmp_path / "m.urdf")
    back = read_urdf(tmp_path / "m.urdf")
    assert back.body("a").inertia == back.body("b").inertia == inertia
    assert (back.body("b").hinge, back.body("b").inboard) == (mb.body("b").hinge, mb.body("b").inboard)


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9, 1.0, np.pi])
def test_rotations_survive_roll_pitch_and_yaw(pitch, tmp_path):
    mb = Multibody("turned")
    mb.add_body("a", None, Weld(), Inertia(1.0), Pose.from_rpy(0.7, pitch, -2.0))
    write_urdf(mb, tmp_path / "m.urdf")
    assert read_urdf(tmp_path / "m.urdf").pose("a").is_close(mb.pose("a"), 1e-15)


# -- frames ----------------------------------------------------------------------------------------------------


def test_the_base(tmp_path):
    def bodies(hinge, **options):
        mb = Multibody("m")
        mb.add_body("base", None, hinge, Inertia(1.0), **options)
        write_urdf(mb, tmp_path / "m.urdf")
        return [(body.name, type(body.hinge)) for body in read_urdf(tmp_path / "m.urdf").bodies]

    assert bodies(Weld()) == [("base", Weld)]
    assert bodies(Weld(), inboard=Pose(translation=(0, 0, 1))) == [("world", Weld), ("base", Weld)]
    assert bodies(Free()) == [("world", Weld), ("base", Free)]
    assert bodies(Pin((0, 0, 1))) == [("world", Weld), ("base", Pin)]
    write_urdf(Multibody("nothing"), tmp_path / "m.urdf")
    assert len(read_urdf(tmp_path / "m.urdf")) == 1


def test_body_frames_stay_where_a_joint_can_be(tmp_path):
    mb = Multibody("m")
    turn = Pose.from_rpy(0.1, 0.2, 0.3)
    mb.add_body("slide", None, Prismatic((0, 0, 1)), Inertia(1.0), outboard=turn @ Pose(translation=(1, 2, 3)))
    mb.add_body("pin", "slide", Pin((0, 0, 1)), Inertia(1.0), outboard=Pose(turn.rotation, (0, 0, 2)))
    mb.add_body("away", "pin", Pin((0, 0, 1)), Inertia(1.0), outboard=Pose(translation=(1, 0, 0)))
    report = write_urdf(mb, tmp_path / "m.urdf")
    back = read_urdf(tmp_path / "m.urdf")
    mb.q = back.q = [0.3, 0.4, 0.5]
    for name in ("slide", "pin"):
        assert back.pose(name).is_close(mb.pose(name), 1e-14)
    assert (back.pose("away") @ Pose(translation=(1, 0, 0))).is_close(mb.pose("away"), 1e-14)
    assert [e.name for e in report.converted if "frame is that of its joint" in e.note] == ["away"]


def test_nodes_become_massless_links(tmp_path):
    mb = serial_chain(2)
    mb.body("link1").add_node("tip", Pose(translation=(0, 0.1, 0)))
    mb.root.add_node("dock", Pose(translation=(1, 0, 0)))
    write_urdf(mb, tmp_path / "m.urdf")
    back = read_urdf(tmp_path / "m.urdf")
    q = [0.3, -0.4]
    mb.q, back.q = q, q
    assert {body.name for body in back.bodies} == {"world", "link1", "link2", "tip", "tip_2", "dock"}
    assert back.pose("tip_2").is_close(mb.pose("link2/tip"), 1e-15)
    assert back.pose("dock").is_close(mb.pose("inertial/dock"), 1e-15)
    merged = read_urdf(tmp_path / "m.urdf", merge_fixed=True)
    assert "link2/tip_2" in merged


def test_planes(tmp_path):
    mb = Multibody("plane")
    mb.add_body("a", None, Planar(), Inertia(1.0, (0, 0, 0.1)), Pose.from_rpy(0.1, 0.2, 0.3), Pose.from_rpy(1, 2, 3))
    write_urdf(mb, tmp_path / "m.urdf")
    same_mechanics(mb, read_urdf(tmp_path / "m.urdf"))
    (tmp_path / "n.urdf").write_text(two_links('<axis xyz="0.6 0 -0.8"/><origin rpy="1 2 3"/>', "planar"))
    mb = read_urdf(tmp_path / "n.urdf")
    report = write_urdf(mb, tmp_path / "m.urdf")
    back = read_urdf(tmp_path / "m.urdf")
    same_mechanics(mb, back)
    mb.q = back.q = [0.1, 0.2, 0.3]
    assert back.pose("tip").is_close(mb.pose("tip"), 1e-15)
    assert "body" not in {entry.element for entry in report.converted}


# -- the rest --------------------------------------------------------------------------------------------------


def test_shapes_and_materials(tmp_path):
    mb = Multibody("m")
    body = mb.add_body("a", None, Pin((0, 0, 1)), Inertia(1.0), outboard=Pose(translation=(1, 0, 0)))
    mb.add_material(Material("red", (1, 0, 0, 1)))
    at = Pose(translation=(0, 0, 1))
    body.add_geometry(Geometry("box", "box", (1, 2, 3), at, "visual", (1, 0, 0, 1), "red"))
    body.add_geometry(Geometry("ball", "sphere", (0.5,), role="both", rgba=(0, 1, 0, 1)))
    body.add_geometry(Geometry("tin", "cylinder", (0.5, 2), role="collision", attributes={"friction": 1.0}))
    body.add_geometry(Geometry("pill", "capsule", (0.5, 2), role="collision"))
    body.add_geometry(Geometry("skin", "mesh", (1, 1, 1), mesh="skin.stl", role="visual"))
    body.add_geometry(Geometry("egg", "ellipsoid", (1, 2, 3), role="collision"))
    mb.root.add_geometry(Geometry("floor", "plane", role="visual"))
    report = write_urdf(mb, tmp_path / "m.urdf")
    back = read_urdf(tmp_path / "m.urdf")
    shapes = back.body("a").geometries
    assert [(x.kind, x.size, x.role) for x in shapes] == [
        ("box", (1, 2, 3), "visual"), ("sphere", (0.5,), "visual"), ("sphere", (0.5,), "collision"),
        ("cylinder", (0.5, 2), "collision"), ("capsule", (0.5, 2), "collision"), ("mesh", (1, 1, 1), "visual"),
    ]  # fmt: skip
    assert (shapes["box"].material, shapes["ball"].rgba, shapes["skin"].mesh) == ("red", (0, 1, 0, 1), "skin.stl")
    assert shapes["box"].pose == Pose(translation=(1, 0, 1))
    missing = {(entry.name, entry.attribute): entry.dynamic for entry in report.ignored}
    assert missing == {("tin", "attributes"): True, ("egg", ""): True, ("floor", ""): False}


@pytest.mark.parametrize("role", ["visual", "collision", "both"])
def test_a_capsule_is_a_cylinder_and_two_spheres_for_others_and_a_capsule_for_us(tmp_path, role):
    """MuJoCo and Pinocchio find all shapes of the link; they drop those of a link that has a <capsule>."""
    mb = Multibody("m")
    body = mb.add_body("a", None, Pin((0, 0, 1)), Inertia(1.0, (0, 0, 0.1), np.eye(3)))
    at = Pose.from_rpy(0.3, -0.2, 0.7, translation=(0.1, 0.2, 0.3))
    body.add_geometry(Geometry("pill", "capsule", (0.05, 0.4), at, role, (1, 0, 0, 1)))
    body.add_geometry(Geometry("pearl", "capsule", (0.05, 0.0), role=role))
    body.add_geometry(Geometry("box", "box", (0.1, 0.2, 0.3), role=role))
    report = write_urdf(mb, tmp_path / "m.urdf")
    assert "capsule" not in (tmp_path / "m.urdf").read_text().replace("pill:capsule", "")
    (line,) = (x for x in report.entries if x.name == "pill")
    assert (line.status, "a capsule is a cylinder and two spheres" in line.note) == ("converted", True)
    back = read_urdf(tmp_path / "m.urdf")
    roles = {"visual", "collision"} if role == "both" else {role}
    for each in roles:
        shapes = [x for x in back.body("a").geometries if x.role == each]
        assert [(x.kind, x.size) for x in shapes] == [
            ("capsule", (0.05, 0.4)), ("sphere", (0.05,)), ("box", (0.1, 0.2, 0.3)),
        ]  # fmt: skip
        assert shapes[0].pose.is_close(at, 1e-12)
        assert shapes[0].name.startswith("pill")
    if role != "visual":
        peer = pin.buildGeomFromUrdf(
            pin.buildModelFromUrdf(str(tmp_path / "m.urdf")), str(tmp_path / "m.urdf"),
            pin.GeometryType.COLLISION,
        )  # fmt: skip
        assert len(peer.geometryObjects) == 5
        model = mujoco.MjModel.from_xml_path(str(tmp_path / "m.urdf"))
        assert model.ngeom >= 5


@pytest.mark.parametrize("change", [("0.2", "0.21"), ("pill:top", "pill:up"), ('radius="0.05" />', 'radius="0.06" />')])
def test_a_cylinder_and_two_spheres_elsewhere_stay_what_they_are(tmp_path, change):
    mb = Multibody("m")
    body = mb.add_body("a", None, Pin((0, 0, 1)), Inertia(1.0))
    body.add_geometry(Geometry("pill", "capsule", (0.05, 0.4), role="collision"))
    write_urdf(mb, tmp_path / "m.urdf")
    text = (tmp_path / "m.urdf").read_text()
    assert change[0] in text
    (tmp_path / "m.urdf").write_text(text.replace(change[0], change[1], 1))
    kinds = [x.kind for x in read_urdf(tmp_path / "m.urdf").body("a").geometries]
    assert kinds == ["cylinder", "sphere", "sphere"]


def test_ropes_and_stops_that_are_not_written_are_told_to_change_the_motion(tmp_path):
    mb = serial_chain(2)
    mb.add_rope("tether", "inertial", "link2/tip", 1.5)
    mb.couple("stop", {"link1": 1, "link2": 1}, -0.5, one_sided=True)
    report = write_urdf(mb, tmp_path / "m.urdf")
    assert {x.name for x in report.lost} == {"tether", "stop"}


def test_limits_without_ends(tmp_path):
    mb = serial_chain(3)
    mb.body("link1").limits = Limits(lower=-1.0, effort=5.0)
    mb.body("link2").limits = Limits(velocity=2.0)
    write_urdf(mb, tmp_path / "m.urdf")
    back = read_urdf(tmp_path / "m.urdf")
    for body in mb.bodies:
        assert back.body(body.name).limits == body.limits
    assert 'type="continuous"' in (tmp_path / "m.urdf").read_text()


def test_couplings_and_loops(tmp_path):
    mb = serial_chain(5)
    mb.couple("gear", {"link2": 2.0, "link1": -6.0}, offset=1.0)
    mb.couple("second", {"link1": 1.0, "link3": -1.0})
    mb.couple("ring", {"link3": 1.0, "link2": -1.0})
    mb.couple("curve", {"link4": 1.0, "link5": (1.0, 2.0)})
    mb.couple("three", {"link3": 1.0, "link4": 1.0, "link5": 1.0})
    mb.close_loop("pin", "inertial", "link5/tip", Pin((0, 1, 0)))
    mb.close_loop("ball", "link1", "link5/tip", Spherical())
    mb.close_loop("off", "link1", "link4", Weld(), active=False)
    report = write_urdf(mb, tmp_path / "m.urdf")
    back = read_urdf(tmp_path / "m.urdf")
    assert dict(back.couplings["link2"].terms) == {"link2": (1.0,), "link1": (-3.0,)}
    assert back.couplings["link2"].offset == 0.5
    assert dict(back.couplings["link1"].terms) == {"link1": (1.0,), "link3": (-1.0,)}
    assert (back.loops["pin"].a.carrier.name, back.loops["pin"].b.carrier.name) == ("world", "link5")
    assert back.pose(back.loops["pin"].b).is_close(mb.pose("link5/tip"), 1e-14)
    assert {entry.name for entry in report.lost} == {"ring", "curve", "three", "ball"}
    assert "off" in {entry.name for entry in report.ignored}


def test_what_urdf_has_no_words_for(tmp_path):
    mb = serial_chain(2)
    mb.add_body("free", None, Free(), Inertia(1.0))
    mb.body("link1").armature = 0.1
    mb.body("link1").passive = Passive(stiffness=1.0, damping=2.0, friction=3.0, static=4.0)
    mb.body("free").passive = Passive(damping=1.0)
    mb.body("free").limits = Limits(velocity=1.0)
    mb.gravity = (0, 0, -1.62)
    mb.add_actuator(Actuator("one", "velocity", {"link1": 10.0}))
    mb.add_actuator(Actuator("two", "motor", {"link1": 1.0, "link2": 1.0}))
    mb.add_record(Record("sensor", "eye"))
    mb.add_keyframe(Keyframe("home", mb.q, mb.v))
    mb.set_force("link2/tip", [0, 0, 0, 1, 0, 0])
    mb.set_state(v=np.ones(mb.nv))
    report = write_urdf(mb, tmp_path / "m.urdf")
    lost = {(entry.element, entry.name, entry.attribute) for entry in report.lost}
    assert lost == {
        ("hinge", "link1", "armature"), ("hinge", "link1", "stiffness"), ("hinge", "free", "damping"),
        ("hinge", "link1", "static"),
        ("gravity", "", ""), ("actuator", "two", ""), ("force", "link2/tip", ""),
    }  # fmt: skip
    ignored = {(entry.element, entry.name) for entry in report.ignored if not entry.dynamic}
    assert ignored == {("hinge", "free"), ("state", ""), ("keyframe", "home"), ("record", "eye")}
    back = read_urdf(tmp_path / "m.urdf")
    passive = back.body("link1").passive
    assert (passive.damping, passive.friction) == (2.0, 3.0)
    assert [(x.name, x.kind, dict(x.gears)) for x in back.actuators] == [("one", "velocity", {"link1": 10.0})]


@pytest.mark.parametrize(
    "hinge",
    [Spherical(), Helical((0, 0, 1), 0.1), Screws([[0, 0, 2, 0, 0, 0]]), Screws([[0, 0, 1, 0, 0, 0.1]])],
    ids=repr,
)
def test_hinges_that_are_no_joints_are_refused_and_nothing_is_written(hinge, tmp_path):
    mb = serial_chain(1)
    mb.add_body("odd", "link1", hinge, Inertia(1.0), hinge_name="knob")
    message = re.escape(f"m.urdf: URDF has no joint for 1 hinge of 'chain' ('knob': {hinge!r}); replace them, or save")
    with pytest.raises(ModelFileError, match=message):
        write_urdf(mb, tmp_path / "m.urdf")
    assert not list(tmp_path.iterdir())


def test_every_built_in_model_is_written_or_refused(tmp_path):
    for name, make in BUILTIN.items():
        mb = make()
        mb.gravity = Multibody().gravity
        if all(isinstance(body.hinge, Pin | Prismatic | Weld | Free | Planar) for body in mb.bodies):
            write_urdf(mb, tmp_path / f"{name}.urdf")
            same_mechanics(mb, read_urdf(tmp_path / f"{name}.urdf"))
        else:
            with pytest.raises(ModelFileError, match="URDF has no joint for"):
                write_urdf(mb, tmp_path / f"{name}.urdf")
    assert len(list(tmp_path.iterdir())) == 5


def test_names_that_xml_cannot_have(tmp_path):
    mb = Multibody("m")
    mb.add_body("a\x01", None, Weld(), Inertia(1.0))
    with pytest.raises(ModelFileError, match=re.escape(r"'a\x01' holds characters that XML has not")):
        write_urdf(mb, tmp_path / "m.urdf")
    odd = Multibody('<&"\n>')
    odd.add_body("<ä&'\"\t>", None, Weld(), Inertia(1.0))
    write_urdf(odd, tmp_path / "m.urdf")
    back = read_urdf(tmp_path / "m.urdf")
    assert (back.name, back.bodies[0].name) == ('<&"\n>', "<ä&'\"\t>")


def test_a_place_that_cannot_be_written(tmp_path):
    with pytest.raises(ModelFileError, match=r"cannot write .*No such file or directory"):
        write_urdf(serial_chain(1), tmp_path / "none" / "m.urdf")

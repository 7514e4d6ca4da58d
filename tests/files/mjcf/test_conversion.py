"""What becomes of joints, equalities, actuators, keyframes and the rest."""

from pathlib import Path
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.files.mjcf.peer import MODELS

import soacraft as sc
from soacraft.files.mjcf import read_mjcf, shapes

EVERYTHING = Path(__file__).parent / "data" / "everything.xml"


def read(folder, inside, head=""):
    path = folder / "model.xml"
    path.write_text(f"<mujoco>{head}<worldbody>{inside}</worldbody></mujoco>")
    return read_mjcf(path)


@pytest.fixture(scope="module")
def mb():
    return read_mjcf(EVERYTHING)


def test_cassie_has_its_four_loops_at_the_anchors():
    mb = read_mjcf(MODELS / "agility_cassie" / "cassie.xml")
    ends = {
        ("left-plantar-rod", "left-foot"): (0.35012, 0, 0),
        ("left-achilles-rod", "left-heel-spring"): (0.5012, 0, 0),
        ("right-plantar-rod", "right-foot"): (0.35012, 0, 0),
        ("right-achilles-rod", "right-heel-spring"): (0.5012, 0, 0),
    }
    assert [(loop.a.carrier.name, loop.b.carrier.name) for loop in mb.loops] == list(ends)
    for loop, anchor in zip(mb.loops, ends.values(), strict=True):
        assert loop.hinge == sc.Spherical()
        assert loop.active
        assert loop.a.offset.translation == pytest.approx(anchor)
        gap = mb.pose(loop.a).translation - mb.pose(loop.b).translation
        assert gap == pytest.approx(np.zeros(3), abs=1e-12)  # MuJoCo measures the second anchor where the file draws it


def test_a_body_with_several_joints_is_a_chain(mb):
    assert [body.name for body in mb.bodies][2:6] == ["torso", "arm:yaw", "arm:reach", "arm"]
    assert [mb.body(x).hinge_name for x in ("arm:yaw", "arm:reach", "arm")] == ["yaw", "reach", "roll"]
    assert mb.body("arm:yaw").inertia.mass == 0.0
    assert mb.dof_names[7:10] == ("yaw", "reach", "roll")


def test_joints_without_names(mb):
    assert mb.body("body8").hinge_name == "body8_joint1"
    assert mb.body("body8:body8_joint0").hinge_name == "body8_joint0"


def test_a_single_joint_without_a_name_has_its_bodys(tmp_path):
    assert read(tmp_path, '<body name="lid"><joint/><geom size="1"/></body>').dof_names == ("lid",)


def test_names_with_a_slash_are_kept(mb):
    assert mb.body("vane").hinge_name == "wind/vane"
    assert [entry.note for entry in mb.import_report.converted if entry.attribute == "name"] == []


def test_a_weld_does_not_take_the_name_of_a_joint(tmp_path):
    mb = read(tmp_path, '<body name="a"><geom size="1"/><body name="b"><joint name="a"/><geom size="1"/></body></body>')
    assert mb.body("b").hinge_name == "a"
    assert mb.body("a").hinge == sc.Weld()
    assert mb.body("a").hinge_name == "a_2"


def test_coordinates_count_from_ref(mb):
    """yaw: ref 0.3, range -1 1, springref 0.5."""
    yaw = mb.body("arm:yaw")
    assert (yaw.limits.lower, yaw.limits.upper) == (pytest.approx([-1.3]), pytest.approx([0.7]))
    assert yaw.passive.rest == pytest.approx([0.2])
    assert yaw.passive.stiffness == [3.0]
    assert mb.body("arm:reach").limits.upper == pytest.approx([0.6])
    entry = next(e for e in mb.import_report.converted if e.name == "yaw" and e.attribute == "ref")
    assert (entry.line, entry.note) == (74, "coordinate = qpos - ref")


def test_hinge_properties(mb):
    reach, ball = mb.body("arm:reach"), mb.body("hand")
    assert (reach.armature, reach.passive.friction, reach.passive.damping) == ([0.2], [0.3], [0.1])
    assert ball.armature == pytest.approx([0.01] * 3)
    assert ball.limits.upper == pytest.approx([1.2] * 3)
    assert ball.passive.stiffness == pytest.approx([1.5] * 3)
    assert mb.body("arm").limits.effort == [8.0]


def test_the_state_is_the_drawn_one(mb):
    """Bodies stand where the file puts them: torso at its pos and euler."""
    torso = mb.pose("torso")
    assert torso.translation == pytest.approx([0.1, 0.2, 1.5])
    assert torso.rotation == pytest.approx(Rotation.from_euler("XYZ", [0.1, 0.2, 0.3]).as_matrix())
    assert mb.pose("arm", "torso").translation == pytest.approx([0.3, 0, 0])
    assert mb.pose("buoy").translation == pytest.approx([3, 0, 1])


def test_gravity(mb, tmp_path):
    assert mb.gravity == pytest.approx([0.5, -1, -9])
    off = read(tmp_path, "", '<option gravity="0 0 -3"><flag gravity="disable"/></option>')
    assert off.gravity == pytest.approx([0, 0, 0])


def test_flags_turn_parts_off(tmp_path):
    body = '<body name="{}"><joint name="{}" stiffness="2" damping="3" frictionloss="4"/><geom size="1"/></body>'
    text = body.format("a", "a") + body.format("b", "b")
    ties = '<equality><joint joint1="a" joint2="b"/></equality>'
    flags = '<option><flag spring="disable" damper="disable" constraint="disable"/></option>'
    plain, off = read(tmp_path, text, ties), read(tmp_path, text, ties + flags)
    assert [x.passive for x in (plain.body("a"), off.body("a"))] == [
        sc.model.Passive([2.0], [3.0], [4.0], [0.0]), sc.model.Passive([0.0], [0.0], [0.0]),
    ]  # fmt: skip
    assert [x.couplings[0].active for x in (plain, off)] == [True, False]


def test_loops_and_couplings(mb):
    assert mb.loops.names == ("chain", "pull", "glue", "stick")
    assert [loop.active for loop in mb.loops] == [True, False, True, True]
    assert mb.loops["stick"].a is mb["torso/imu"]
    assert mb.loops["glue"].attributes["torquescale"] == 1.0
    assert dict(mb.couplings["gear"].terms) == {"yaw": (1.0,), "reach": (-2.0, -0.3, 0.0, -0.4)}
    assert mb.couplings["gear"].offset == 0.1
    assert dict(mb.couplings["hold"].terms) == {"roll": (1.0,)}
    assert dict(mb.couplings["differential"].terms) == {
        "yaw": (0.5,), "roll": (-2.0,), "hip": pytest.approx((-4.5, -1.8)),
    }  # fmt: skip
    taut = next(e for e in mb.import_report.recorded if e.name == "taut" and e.dynamic)
    assert taut.note == "is not simulated"


def test_actuators(mb):
    gears = {actuator.name: dict(actuator.gears) for actuator in mb.actuators}
    assert gears["lift"] == {"yaw": 3.0}
    assert gears["twist"] == {"ball.0": 1.0, "ball.1": 2.0, "ball.2": 3.0}
    assert gears["haul"] == {"yaw": 1.0, "roll": -4.0}  # a fixed tendon
    assert gears["steer"] == {"base.0": 4.0, "base.1": 5.0, "base.2": 6.0}
    assert list(gears["push"].values()) == [1, 2, 3, 4, 5, 6]
    assert gears["thrust"] == gears["biceps"] == {}
    servo = mb.actuators["servo"]
    assert servo.kind == "position"
    assert (servo.attributes["gainprm"], servo.attributes["biasprm"]) == ((5.0,), (1.0, -5.0, -1.0))
    assert mb.actuators["thrust"].attributes["target"] == "imu"


def test_a_free_joint_with_armature_is_taken_apart(mb):
    chain = ["buoy:drift_x", "buoy:drift_y", "buoy:drift_z", "buoy"]
    assert [mb.body(x).hinge_name for x in chain] == ["drift_x", "drift_y", "drift_z", "drift"]
    assert [float(mb.body(x).armature[0]) for x in chain] == [0.4] * 4
    assert [float(mb.body(x).passive.rest[0]) for x in chain] == [3.0, 0.0, 1.0, 0.0]
    assert any("three slides" in entry.note for entry in mb.import_report.converted)


def test_mocap_and_gravcomp_are_said(mb):
    assert mb.body("hook").hinge == sc.Weld()
    kept = {record.name: dict(record.attributes) for record in mb.records if record.kind == "body"}
    assert kept == {"hook": {"mocap": True}}
    assert {body.name for body in mb.bodies if body.gravity_compensation == 0.5} == {"arm"}
    entries = {(e.name, e.attribute): e for e in mb.import_report.entries if e.element == "mujoco/body"}
    gravcomp = entries["arm", "gravcomp"]
    assert (gravcomp.status, gravcomp.dynamic) == ("converted", False)
    assert gravcomp.note == "acts: is gravity_compensation of the body"
    assert entries["hook", "mocap"].note == "is fixed where it is"


def test_keyframes():
    """Cassie's home, by MuJoCo's numbers: pelvis at [0, 0, 1.00593], knee 68.5 degrees bent, less its ref."""
    mb = read_mjcf(MODELS / "agility_cassie" / "cassie.xml")
    home = mb.keyframes["home"]
    assert home.q[:7] == pytest.approx([0, 0, 0, 1, 0, 0, 1.00593])
    achilles = home.q[10:14]
    assert achilles == pytest.approx([-0.01641, 0.01778, -0.2043, 0.97861], abs=1e-5)  # the file has w first
    assert home.q[14] == pytest.approx(-1.1997 + np.pi / 4, abs=1e-5)


def test_keyframe_velocity_of_a_free_hinge(tmp_path):
    """qvel is [linear in the world; angular]; ours [angular; linear in the body's axes]."""
    key = '<keyframe><key name="k" qpos="1 2 3 0.5 0.5 0.5 0.5" qvel="1 0 0 4 5 6"/></keyframe>'
    k = read(tmp_path, '<body><freejoint/><geom size="1"/></body>', key).keyframes["k"]
    assert k.q == pytest.approx([0.5, 0.5, 0.5, 0.5, 1, 2, 3])
    assert k.v == pytest.approx([4, 5, 6, *Rotation.from_quat([0.5] * 4).inv().apply([1, 0, 0])])


def test_shapes(mb):
    shapes = {shape.name: shape for carrier in (mb.root, *mb.bodies) for shape in carrier.geometries}
    assert (shapes["floor"].kind, shapes["floor"].size, shapes["floor"].material) == ("plane", (), "plain")
    assert (shapes["skirt"].size, shapes["skirt"].role) == (pytest.approx((0.2, 0.4, 0.6)), "both")  # in a pair
    assert (shapes["ground"].kind, shapes["ground"].size) == ("heightfield", (2, 2, 1, 0.1))
    assert (shapes["trunk"].mesh, shapes["trunk"].size) == ("parts/missing.stl", (2, 2, 2))
    palm = shapes["palm"]  # where the file puts the mesh, not where MuJoCo centres it
    assert palm.pose.translation == pytest.approx([0.05, 0, 0])
    assert palm.pose.rotation == pytest.approx(Rotation.from_euler("x", 0.3).as_matrix())
    assert [(x.texture, x.attributes["texture"]) for x in (mb.materials["plain"], mb.materials["layered"])] == [
        ("parts/wood.png", "wood"), ("parts/wood.png", "wood"),
    ]  # fmt: skip


#: contype and conaffinity of two shapes.
MASKS = [
    ("1 0", "0 1"), ("0 1", "1 0"), ("1 0", "1 0"), ("0 1", "0 1"), ("2 4", "4 1"), ("2 4", "1 3"), ("2 4", "1 1"),
    ("0 0", "3 3"), ("2 0", "0 3"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), MASKS)
def test_masks_of_shapes_say_what_can_touch(tmp_path, one, other):
    """Two balls in each other's place, as MuJoCo finds contacts between them: between bodies, not on one that is
    welded to the other's. A shape with half a mask may touch, so it is not for the eye alone."""
    balls = [f'<geom name="{x}" size="1" contype="{a}" conaffinity="{b}"/>'
             for x, (a, b) in (("one", one.split()), ("other", other.split()))]  # fmt: skip
    apart = f"<body><freejoint/>{balls[0]}</body><body><freejoint/>{balls[1]}</body>"
    welded = f"<body><freejoint/>{balls[0]}<body>{balls[1]}</body></body>"
    touches = []
    for inside in (apart, welded):
        mb = read(tmp_path, inside)
        data = mujoco.MjData(model := mujoco.MjModel.from_xml_path(str(tmp_path / "model.xml")))
        mujoco.mj_forward(model, data)
        says = [x for x in mb.import_report.entries if x.note == "some shapes can touch: sc.sim.Contact lets them"]
        assert bool(says) == bool(data.ncon)
        touches.append(bool(says))
        roles = {x.name: x.role for body in mb.bodies for x in body.geometries}
        assert roles == {x: "visual" if mask == "0 0" else "both" for x, mask in (("one", one), ("other", other))}
    assert not touches[1]


def test_records(mb):
    kinds = {(record.kind, record.name) for record in mb.records}
    assert kinds >= {
        ("sensor", "turning"), ("sensor", "extra"), ("camera", "overview"), ("light", "sun"), ("texture", "sky"),
        ("skin", "hide"), ("heightfield", "hills"), ("contact pair", ""), ("contact exclude", ""), ("tendon", "cable"),
        ("tendon", "rope"), ("numeric", "gains"), ("text", "author"), ("tuple", "pair"), ("option", ""),
    }  # fmt: skip
    cable, rope = mb.records["cable"].attributes, mb.records["rope"].attributes
    assert cable["joints"] == (("yaw", 0.5), ("roll", -2.0))
    assert (cable["stiffness"], cable["damping"]) == (10.0, 0.2)
    dock, imu, foot = (("site", name) for name in ("inertial/dock", "torso/imu", "body8/foot"))
    assert rope["path"] == (dock, imu, ("pulley", 2.0), dock, foot)


def test_springs_and_dampers_that_are_not_linear_are_said(tmp_path):
    mb = read(tmp_path, '<body><joint name="j" stiffness="2 3" damping="1 0 4"/><geom size="1"/></body>')
    assert [mb.body("body1").passive.stiffness, mb.body("body1").passive.damping] == [[2.0], [1.0]]
    said = [e.attribute for e in mb.import_report.recorded if e.note == "only the linear term acts" and e.dynamic]
    assert said == ["stiffness", "damping"]


def test_a_mesh_gives_its_body_the_inertia(mb):
    """The wedge is read for the hand; a wedge of 800 kg/m3 has 800 times its volume."""
    a, b, c = np.array([0.2, 0, 0]), np.array([0, 0.3, 0]), np.array([0, 0, 0.1])
    far = a + b + c
    volume = (abs(np.linalg.det([a, b, c])) + abs(np.linalg.det([a - far, b - far, c - far]))) / 6.0
    assert mb.body("hand").inertia.mass == pytest.approx(800.0 * volume)
    notes = [e.note for e in mb.import_report.entries if e.element == "mujoco/asset/mesh" and e.attribute == "file"]
    assert notes == [
        "'parts/wedge.obj' was read", "'parts/missing.stl' is not there; the shape is kept by its name",
        "'parts/wedge.obj' was read",
    ]  # fmt: skip


@pytest.mark.parametrize(("corners", "triangles", "kept"), [(6, 12, 1), (7, 8, 0), (6, 13, 0), (4, 18, 0)])
def test_large_meshes_in_a_file_are_kept_by_name(monkeypatch, corners, triangles, kept):
    """By their corners, and by triangles of twice as many."""
    monkeypatch.setattr(shapes, "_MOST_CORNERS", 6)
    points, faces = np.arange(3.0 * corners).reshape(-1, 3), np.zeros((triangles, 3), dtype=int)
    model = SimpleNamespace(
        mesh_vertadr=[0], mesh_faceadr=[0], mesh_vertnum=[corners], mesh_facenum=[triangles], mesh_pos=[np.zeros(3)],
        mesh_quat=[np.array([1.0, 0, 0, 0])], mesh_vert=points, mesh_face=faces,
    )  # fmt: skip
    arrays = shapes._inline(model, 0)
    assert bool(arrays) == bool(kept)
    if kept:
        assert arrays["vertex"] == pytest.approx(points.ravel())
        assert len(arrays["face"]) == 3 * triangles

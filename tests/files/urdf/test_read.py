"""What each element of URDF becomes."""

import numpy as np
import pytest
from tests.files.urdf.models import INERTIAL, MODELS, joint, link, robot, two_links, write

from soacraft import dynamics as dyn
from soacraft.errors import ModelFileError
from soacraft.files.urdf import read_urdf
from soacraft.model.hinges import Free, Pin, Planar, Prismatic, Weld
from soacraft.spatial import Pose

ORIGIN = '<origin xyz="0.3 0.2 -0.1" rpy="0.5 -0.4 0.7"/>'
AT = Pose.from_rpy(0.5, -0.4, 0.7, translation=(0.3, 0.2, -0.1))


def notes(mb, status, element=None):
    return [e.note for e in mb.import_report.entries if e.status == status and element in (None, e.element)]


# -- joints ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "hinge"),
    [
        ("revolute", Pin((0, 0.6, 0.8))),
        ("continuous", Pin((0, 0.6, 0.8))),
        ("prismatic", Prismatic((0, 0.6, 0.8))),
        ("fixed", Weld()),
        ("floating", Free()),
    ],
)
def test_types_of_joints(tmp_path, kind, hinge):
    mb = read_urdf(write(tmp_path, two_links(ORIGIN + '<axis xyz="0 0.6 0.8"/>', kind)))
    tip = mb.body("tip")
    assert (tip.hinge, tip.hinge_name, tip.parent.name) == (hinge, "j", "base")
    assert tip.inboard.is_close(AT, 1e-15)
    assert tip.outboard == Pose()
    assert mb.pose("tip", "base").is_close(AT, 1e-15)


def test_the_axis_is_x_unless_it_is_said(tmp_path):
    assert read_urdf(write(tmp_path, two_links())).body("tip").hinge == Pin((1, 0, 0))
    assert read_urdf(write(tmp_path, two_links("<axis/>", "prismatic"))).body("tip").hinge == Prismatic((1, 0, 0))


def test_axes_are_normalised_with_a_line_in_the_report(tmp_path):
    mb = read_urdf(write(tmp_path, two_links('<axis xyz="0 3e-200 4e-200"/>')))
    np.testing.assert_allclose(mb.body("tip").hinge.axis, [0, 0.6, 0.8], atol=1e-15)
    assert "the axis is normalised" in notes(mb, "converted", "robot/joint/axis")


@pytest.mark.parametrize("axis", ["0 0 1", "0 0 -1", "1 0 0", "0.6 0 -0.8", "1 2 3", "1e-9 0 -1"])
def test_planar_joints_move_in_the_plane_across_their_axis(tmp_path, axis):
    mb = read_urdf(write(tmp_path, two_links(ORIGIN + f'<axis xyz="{axis}"/>', "planar")))
    assert mb.body("tip").hinge == Planar()
    n = np.array([float(x) for x in axis.split()])
    n /= np.linalg.norm(n)
    assert mb.pose("tip", "base").is_close(AT, 1e-14)
    mb.q = [0.3, -0.7, 0.9]
    moved = AT.inv @ mb.pose("tip", "base")
    assert abs(n @ moved.translation) < 1e-14
    assert np.linalg.norm(moved.translation) == pytest.approx(np.hypot(0.3, 0.7), abs=1e-14)
    np.testing.assert_allclose(moved.rotation @ n, n, atol=1e-14)
    across = np.cross(n, [0.3, 0.5, -0.2])
    turned = moved.rotation @ across
    assert np.arctan2(np.cross(across, turned) @ n, across @ turned) == pytest.approx(0.9, abs=1e-12)
    assert any("shortest rotation" in note for note in notes(mb, "converted", "robot/joint"))


def test_a_plane_across_z_has_the_axes_of_the_joint(tmp_path):
    mb = read_urdf(write(tmp_path, two_links('<axis xyz="0 0 1"/>', "planar")))
    mb.q = [1.0, 2.0, 0.0]
    np.testing.assert_array_equal(mb.pose("tip", "base").translation, [1, 2, 0])


def test_limits(tmp_path):
    def limits(inside, kind="revolute"):
        x = read_urdf(write(tmp_path, two_links(inside, kind))).body("tip").limits
        return tuple(float(each[0]) for each in (x.lower, x.upper, x.velocity, x.effort))

    inf = np.inf
    assert limits("") == (-inf, inf, inf, inf)
    assert limits('<limit lower="-1" upper="2" velocity="3" effort="4"/>') == (-1, 2, 3, 4)
    assert limits('<limit lower="-1" upper="2" velocity="3" effort="4"/>', "prismatic") == (-1, 2, 3, 4)
    assert limits('<limit lower="-1" velocity="3" effort="4"/>') == (-1, 0, 3, 4)
    assert limits('<limit upper="1"/>') == (0, 1, inf, inf)
    assert limits('<limit lower="-1" upper="2" velocity="3" effort="4"/>', "continuous") == (-inf, inf, 3, 4)
    assert limits('<limit effort="0" velocity="20"/>') == (-inf, inf, 20, 0)
    mb = read_urdf(write(tmp_path, two_links('<limit effort="1" velocity="20"/>')))
    assert any("no ends (0 for both would lock it)" in note for note in notes(mb, "converted", "robot/joint/limit"))


def test_limits_of_other_joints_are_said_to_mean_nothing(tmp_path):
    for kind in ("fixed", "floating", "planar"):
        mb = read_urdf(write(tmp_path, two_links('<limit lower="-1" upper="1" effort="1" velocity="1"/>', kind)))
        assert notes(mb, "ignored", "robot/joint/limit") == [f"limits of a {kind} joint mean nothing in URDF"] * 5
        assert np.isinf(mb.body("tip").limits.upper).all()


def test_damping_and_friction(tmp_path):
    mb = read_urdf(write(tmp_path, two_links('<dynamics damping="0.5" friction="0.25"/>')))
    passive = mb.body("tip").passive
    assert (passive.damping, passive.friction, passive.stiffness) == (0.5, 0.25, 0.0)
    np.testing.assert_allclose(dyn.passive_force(mb, [0.3], [2.0]), [-1.0])
    assert any(x.attribute == "damping" and x.note == "acts: is in passive of the body" for x in mb.import_report.used)
    assert any("no part of passive_force" in note for note in notes(mb, "recorded"))
    old = read_urdf(write(tmp_path, two_links('<joint_properties damping="0.5" friction="0"/>')))
    assert old.body("tip").passive.damping == 0.5
    assert "the old name of <dynamics>" in notes(old, "converted")
    both = two_links('<joint_properties damping="9"/><dynamics damping="0.5"/>')
    mb = read_urdf(write(tmp_path, both))
    assert mb.body("tip").passive.damping == 0.5
    assert "there is <dynamics> too" in notes(mb, "ignored")
    mb = read_urdf(write(tmp_path, two_links('<dynamics damping="0.5"/>', "planar")))
    assert [entry.dynamic for entry in mb.import_report.lost] == [True, True]


def test_mimics_are_couplings(tmp_path):
    text = robot(
        link("base"), link("a"), link("b"), link("c"),
        joint("ja", "revolute", "base", "a"),
        joint("jb", "prismatic", "a", "b", '<mimic joint="ja" multiplier="-2" offset="0.5"/>'),
        joint("jc", "continuous", "b", "c", '<mimic joint="jb"/>'),
    )  # fmt: skip
    mb = read_urdf(write(tmp_path, text))
    assert mb.couplings.names == ("jb", "jc")
    assert dict(mb.couplings["jb"].terms) == {"jb": (1.0,), "ja": (2.0,)}
    assert mb.couplings["jb"].offset == 0.5
    assert dict(mb.couplings["jc"].terms) == {"jc": (1.0,), "jb": (-1.0,)}
    still = read_urdf(write(tmp_path, text.replace('multiplier="-2"', 'multiplier="0"')))
    assert dict(still.couplings["jb"].terms) == {"jb": (1.0,)}


# -- links -----------------------------------------------------------------------------------------------------


def test_the_moment_is_turned_with_the_origin_of_the_inertial(tmp_path):
    inertia = read_urdf(write(tmp_path, robot(link("only")))).body("only").inertia
    cx, sx, cy, sy, cz, sz = (f(x) for x in (0.4, 0.5, -0.6) for f in (np.cos, np.sin))
    R = (np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]]) @ np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
         @ np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]]))  # fmt: skip
    J = np.array([[0.5, 0.01, -0.02], [0.01, 0.4, 0.03], [-0.02, 0.03, 0.3]])
    assert inertia.mass == 2.0
    np.testing.assert_array_equal(inertia.com, [0.1, -0.2, 0.3])
    np.testing.assert_allclose(inertia.moment, R @ J @ R.T, atol=1e-15)


def test_the_root_keeps_its_inertia(tmp_path):
    path = write(tmp_path, two_links())
    for root in (None, Weld(), Free(), Planar()):
        mb = read_urdf(path, root=root)
        base = mb.body("base")
        assert (base.hinge, base.hinge_name) == (Weld() if root is None else root, "root")
        assert base.inertia.mass == 2.0
        assert mb.total_mass == 4.0
    taken = robot(link("base"), link("tip"), joint("root", "fixed", "base", "tip"))
    assert read_urdf(write(tmp_path, taken)).body("base").hinge_name == "root_2"


def test_a_link_without_inertial_is_massless_and_said_so(tmp_path):
    mb = read_urdf(write(tmp_path, two_links(base="")))
    assert mb.body("base").inertia.mass == 0.0
    assert [e.name for e in mb.import_report.entries if e.note == "has no <inertial>: a massless body"] == ["base"]


def test_names_that_the_model_cannot_have(tmp_path):
    text = robot(
        link("inertial"), link("left/arm"), link("left_arm"), link("world"),
        joint("a/b", "revolute", "inertial", "left/arm"),
        joint("a_b", "revolute", "inertial", "left_arm", '<mimic joint="a/b"/>'),
        joint("inertial", "revolute", "left/arm", "world"),
    )  # fmt: skip
    mb = read_urdf(write(tmp_path, text))
    assert [body.name for body in mb.bodies] == ["inertial_2", "left/arm", "left_arm", "world"]
    assert mb.dof_names == ("a/b", "a_b", "inertial_2")
    assert dict(mb.couplings["a_b"].terms) == {"a_b": (1.0,), "a/b": (-1.0,)}
    assert sum("in the model" in note for note in notes(mb, "converted")) == 2


def test_order_is_that_of_the_joints_with_parents_first(tmp_path):
    names = ["d", "c", "b", "a"]
    joints = [joint("jc", "revolute", "a", "c"), joint("jd", "revolute", "b", "d"), joint("jb", "revolute", "a", "b")]
    mb = read_urdf(write(tmp_path, robot(*map(link, names), *joints)))
    assert [body.name for body in mb.bodies] == ["a", "c", "b", "d"]


def test_fixed_links_merge_into_what_carries_them(tmp_path):
    text = robot(
        link("base"), link("arm"), link("plate"), link("camera", ""), link("hand"),
        joint("shoulder", "revolute", "base", "arm", '<axis xyz="0 0 1"/>' + ORIGIN),
        joint("bolt", "fixed", "arm", "plate", ORIGIN),
        joint("mount", "fixed", "plate", "camera", ORIGIN),
        joint("wrist", "revolute", "camera", "hand", '<axis xyz="0 1 0"/>' + ORIGIN),
    )  # fmt: skip
    path = write(tmp_path, text)
    whole, merged = read_urdf(path), read_urdf(path, merge_fixed=True)
    assert [body.name for body in merged.bodies] == ["base", "arm", "hand"]
    assert merged["arm/camera"].pose.is_close(AT @ AT, 1e-15)
    q = [0.4, -0.9]
    np.testing.assert_allclose(dyn.mass_matrix(merged, q), dyn.mass_matrix(whole, q), rtol=0, atol=1e-14)
    np.testing.assert_allclose(dyn.gravity_force(merged, q), dyn.gravity_force(whole, q), rtol=0, atol=1e-13)
    whole.q = merged.q = q
    assert merged.pose("arm/camera").is_close(whole.pose("camera"), 1e-15)
    assert "merged: its link is the node 'arm/plate'" in notes(merged, "converted")


def test_a_world_that_is_not_declared_is_the_inertial_frame(tmp_path):
    joints = joint("ja", "revolute", "world", "a", ORIGIN), joint("jb", "fixed", "world", "b")
    path = write(tmp_path, robot(link("a"), link("b"), *joints))
    for merge_fixed in (False, True):
        mb = read_urdf(path, merge_fixed=merge_fixed)
        assert [body.parent.name for body in mb.bodies] == ["inertial", "inertial"]
        assert mb.body("a").inboard.is_close(AT, 1e-15)
    assert notes(mb, "converted").count("'world' is not declared: it is the inertial frame") == 2
    with pytest.raises(ModelFileError, match=r"robot.urdf:1: <robot name='test'>: its joints begin at 'world'.*Weld"):
        read_urdf(path, root=Free())


# -- shapes ----------------------------------------------------------------------------------------------------

SHAPES = """
<visual name="skin"><origin xyz="0 0 1"/><geometry><box size="1 2 3"/></geometry><material name="red"/></visual>
<visual name="skin"><geometry><sphere radius="0.5"/></geometry><material><color rgba="0 1 0 0.5"/></material></visual>
<visual><geometry><cylinder radius="0.5" length="2"/></geometry>
  <material name="red"><color rgba="0 0 1 1"/></material></visual>
<collision><geometry><capsule radius="0.5" length="2"/></geometry></collision>
<collision><geometry><mesh filename="meshes/a.stl" scale="2 2 2"/></geometry></collision>
<visual><geometry><sphere radius="1"/></geometry><material name="unknown"/></visual>
<visual><geometry/></visual>"""


def test_shapes_and_materials(tmp_path):
    red = '<material name="red"><color rgba="1 0 0 1"/></material><material name="plain"/>'
    mb = read_urdf(write(tmp_path, robot(red, link("only", SHAPES))))
    shapes = mb.body("only").geometries
    assert shapes.names == ("skin", "skin_2", "visual", "collision", "collision_2", "visual_2")
    assert [shape.kind for shape in shapes] == ["box", "sphere", "cylinder", "capsule", "mesh", "sphere"]
    assert [shape.role for shape in shapes] == [*["visual"] * 3, *["collision"] * 2, "visual"]
    assert [shape.size for shape in shapes] == [(1, 2, 3), (0.5,), (0.5, 2), (0.5, 2), (2, 2, 2), (1,)]
    assert shapes["skin"].pose == Pose(translation=(0, 0, 1))
    looks = [(shape.rgba, shape.material) for shape in shapes][:3]
    assert looks == [((1, 0, 0, 1), "red"), ((0, 1, 0, 0.5), ""), ((0, 0, 1, 1), "")]
    assert mb.materials.names == ("red", "plain")
    assert mb.materials["red"].rgba == (1, 0, 0, 1)
    assert "there is no material 'unknown'" in notes(mb, "ignored")
    assert "has no shape that can be read" in notes(mb, "ignored", "robot/link/visual")
    assert not mb.import_report.lost


def test_materials_inside_shapes_are_shared_by_name(tmp_path):
    shape = '<visual><geometry><sphere radius="1"/></geometry><material name="m">%s</material></visual>'
    text = robot(link("only", shape % "" + shape % '<color rgba="0 1 0 1"/>' + shape % '<color rgba="0 1 0 1"/>'))
    mb = read_urdf(write(tmp_path, text))
    assert [(x.rgba, x.material) for x in mb.body("only").geometries] == [((0, 1, 0, 1), "m")] * 3


def test_meshes_are_looked_for_in_the_folders_given(tmp_path):
    home, extra = tmp_path / "home", tmp_path / "robots"
    for file in (home / "meshes" / "a.stl", extra / "arm_description" / "b.stl", extra / "c.stl"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()

    def mesh(filename, *roots):
        shape = f'<visual><geometry><mesh filename="{filename}"/></geometry></visual>'
        mb = read_urdf(write(home, robot(link("only", shape))), mesh_roots=roots)
        return mb.body("only").geometries[0].mesh, notes(mb, "recorded")

    assert mesh("meshes/a.stl") == ("meshes/a.stl", [])
    assert mesh("package://meshes/a.stl") == ("meshes/a.stl", [])
    assert mesh("package:///meshes/a.stl") == ("meshes/a.stl", [])
    assert mesh("package://home/meshes/a.stl") == ("meshes/a.stl", [])
    assert mesh("model://meshes/a.stl") == ("meshes/a.stl", [])
    assert mesh("file://meshes/a.stl") == ("meshes/a.stl", [])
    assert mesh("package://arm_description/b.stl", extra) == (str(extra / "arm_description" / "b.stl"), [])
    assert mesh("package://arm_description/b.stl", extra / "arm_description")[1] == []
    assert mesh("../robots/c.stl", extra) == (str(extra / "c.stl"), [])
    name, (note,) = mesh("package://arm_description/b.stl")
    assert name == "package://arm_description/b.stl"
    assert note.startswith("package 'arm_description' not found; put the folder that holds it into mesh_roots, ROS_")
    assert mesh("none.stl") == ("none.stl", ["file not found"])
    assert mesh("https://host/a.stl") == ("https://host/a.stl", ["https:// is not fetched"])


# -- additions to URDF -----------------------------------------------------------------------------------------


def test_transmissions_are_actuators(tmp_path):
    motor = """<transmission name="t"><type>transmission_interface/SimpleTransmission</type>
      <joint name="j"><hardwareInterface>hardware_interface/VelocityJointInterface</hardwareInterface></joint>
      <actuator name="motor"><mechanicalReduction>50</mechanicalReduction></actuator></transmission>"""
    plain = '<transmission name="u"><joint name="j"/><actuator name="motor"/></transmission>'
    odd = '<transmission name="w"><joint name="j"/><joint name="k"/></transmission>'
    lost = '<transmission name="x"><joint name="nowhere"/></transmission>'
    mb = read_urdf(write(tmp_path, two_links().replace("</robot>", motor + plain + odd + lost + "</robot>")))
    first, second = mb.actuators
    assert (first.name, first.kind, dict(first.gears)) == ("motor", "velocity", {"j": 50.0})
    assert first.attributes["actuator/mechanicalReduction"] == "50"
    assert (second.name, second.kind, dict(second.gears)) == ("motor_2", "motor", {"j": 1.0})
    assert [(record.kind, record.name) for record in mb.records] == [("transmission", "x"), ("transmission", "w")]


def test_what_is_only_recorded(tmp_path):
    text = two_links('<safety_controller k_velocity="10"/><calibration rising="0.1"/>').replace(
        "</robot>",
        '<gazebo reference="tip"><mu1 value="1"/><mu1 value="2"/><material>Red</material></gazebo>'
        '<sensor name="eye"><parent link="tip"/></sensor></robot>',
    )
    mb = read_urdf(write(tmp_path, text))
    kept = {(record.kind, record.name): dict(record.attributes) for record in mb.records}
    assert kept[("gazebo", "tip")] == {
        "@reference": "tip", "mu1@value": "1", "mu1[2]@value": "2", "material": "Red"
    }  # fmt: skip
    assert kept[("safety_controller", "j")] == {"@k_velocity": "10"}
    assert kept[("calibration", "j")] == {"@rising": "0.1"}
    assert kept[("sensor", "eye")] == {"@name": "eye", "parent@link": "tip"}
    assert not mb.import_report.lost


def test_frames_are_nodes():
    mb = read_urdf(MODELS / "drake_acrobot" / "double_pendulum.urdf")
    assert mb["link1/frame_on_link1"].pose.is_close(Pose.from_rpy(-1, 0.1, 0.2, translation=(0.8, -0.2, 0.3)), 1e-15)


def test_loop_joints_are_closures():
    mb = read_urdf(MODELS / "strandbeest" / "Strandbeest.urdf")
    assert len(mb.loops) == 42
    loop = mb.loops["pair01_leg1_loop_f_g"]
    assert loop.hinge == Pin((0, 1, 0))
    assert (loop.a.carrier.name, loop.b.carrier.name) == ("pair01_leg1_bar_f", "pair01_leg1_bars_g_h_i")
    np.testing.assert_array_equal(loop.b.offset.translation, [0.3624, 0, -0.0582])


def test_unknown_loop_joints_and_left_overs_of_xacro_would_be_missed(tmp_path):
    loop = '<loop_joint name="l" type="screw"><axis xyz="0 0 1"/></loop_joint><xacro:arm side="left"/>'
    mb = read_urdf(write(tmp_path, two_links().replace("</robot>", loop + "</robot>")))
    lost = {(entry.element, entry.attribute): entry.note for entry in mb.import_report.lost}
    assert "type 'screw' is not read" in lost[("robot/loop_joint", "")]
    assert ("robot/loop_joint/axis", "xyz") in lost
    assert lost[("robot/xacro:arm", "side")] == "is left from xacro; expand the file first"


def test_defaults_of_substitutions_that_xacro_left(tmp_path, monkeypatch):
    monkeypatch.setenv("SIDE", "9 9 9")
    mb = read_urdf(write(tmp_path, two_links('<origin xyz="$(optenv SIDE 1 2 3)"/>')))
    np.testing.assert_array_equal(mb.body("tip").inboard.translation, [1, 2, 3])
    (entry,) = [entry for entry in mb.import_report.converted if "left by xacro" in entry.note]
    assert (entry.element, entry.attribute) == ("robot/joint/origin", "xyz")
    for text in ("$(env SIDE)", "${side}", "$(optenv SIDE)", "$(optenv SIDE nan 0 0)", "$(optenv SIDE 1 2)"):
        with pytest.raises(ModelFileError, match="<origin>: xyz="):
            read_urdf(write(tmp_path, two_links(f'<origin xyz="{text}"/>')))


def test_gravity_and_name(tmp_path):
    mb = read_urdf(write(tmp_path, robot(link("only", INERTIAL), name="an arm")))
    assert mb.name == "an arm"
    np.testing.assert_array_equal(mb.gravity, [0, 0, -9.80665])

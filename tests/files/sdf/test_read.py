"""SDF files: the same robot in URDF, poses relative to frames, loops, included and nested models."""

import numpy as np
import pytest

import soacraft as sc
from soacraft import dynamics
from soacraft.errors import ModelFileError

INERTIA = "<inertia><ixx>0.02</ixx><iyy>0.03</iyy><izz>0.04</izz><ixy>0.001</ixy><ixz>0</ixz><iyz>0.002</iyz></inertia>"


def write(folder, text, name="robot.sdf"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def model(inside, name="robot", version="1.9"):
    return f"<sdf version='{version}'><model name='{name}'>{inside}</model></sdf>"


def link(name, inside="", pose=""):
    inertial = f"<inertial><pose>0.1 0.2 0.3 0.4 0.5 0.6</pose><mass>2</mass>{INERTIA}</inertial>"
    return f"<link name='{name}'>{pose}{inertial}{inside}</link>"


def joint(name, kind, parent, child, inside=""):
    return f"<joint name='{name}' type='{kind}'><parent>{parent}</parent><child>{child}</child>{inside}</joint>"


def axis(xyz="0 0 1", inside="", tag="axis"):
    return f"<{tag}><xyz>{xyz}</xyz>{inside}</{tag}>"


URDF_INERTIAL = """<inertial><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/><mass value="2"/>
<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001" ixz="0" iyz="0.002"/></inertial>"""
URDF = f"""<robot name="robot"><link name="a">{URDF_INERTIAL}</link><link name="b">{URDF_INERTIAL}</link>
<link name="c">{URDF_INERTIAL}</link>
<joint name="j1" type="revolute"><parent link="a"/><child link="b"/><origin xyz="1 2 3" rpy="0.3 -0.2 0.9"/>
<axis xyz="0 0.6 0.8"/><limit lower="-1" upper="2" effort="5" velocity="6"/><dynamics damping="0.5"/></joint>
<joint name="j2" type="prismatic"><parent link="b"/><child link="c"/><origin xyz="0 0.5 0" rpy="0 1 0"/>
<axis xyz="1 0 0"/><limit lower="-1" upper="2" effort="5" velocity="6"/></joint></robot>"""


def test_the_same_robot_as_in_urdf(tmp_path):
    limits = "<limit><lower>-1</lower><upper>2</upper><effort>5</effort><velocity>6</velocity></limit>"
    sdf = model(
        link("a")
        + link("b", pose="<pose relative_to='a'>1 2 3 0.3 -0.2 0.9</pose>")
        + link("c", pose="<pose relative_to='b'>0 0.5 0 0 1 0</pose>")
        + joint("fix", "fixed", "world", "a")
        + joint("j1", "revolute", "a", "b", axis("0 0.6 0.8", f"{limits}<dynamics><damping>0.5</damping></dynamics>"))
        + joint("j2", "prismatic", "b", "c", axis("1 0 0", limits))
    )
    ours = sc.load(write(tmp_path, sdf))
    urdf = tmp_path / "robot.urdf"
    urdf.write_text(URDF)
    other = sc.load(urdf)
    rng = np.random.default_rng(1)
    for _ in range(3):
        q, v, f = rng.standard_normal((3, 2))
        for name in ("mass_matrix", "bias_force", "forward_dynamics"):
            given = {"mass_matrix": (q,), "bias_force": (q, v), "forward_dynamics": (q, v, f)}[name]
            x, y = (getattr(dynamics, name)(mb, *given) for mb in (ours, other))
            assert np.max(np.abs(x - y)) < 1e-12 * np.max(np.abs(y))
    assert ours["b"].limits == other["b"].limits
    assert ours["b"].passive == other["b"].passive


def test_poses_are_relative_to_what_they_say(tmp_path):
    """Turns of a quarter about z, so that the places are seen by hand."""
    turn = "0 0 1.5707963267948966"
    text = model(
        f"<pose>10 0 0 {turn}</pose>"
        + link("a", pose="<pose>1 0 0 0 0 0</pose>")
        + f"<frame name='f' attached_to='a'><pose>0 1 0 {turn}</pose></frame>"
        + link("b", pose="<pose relative_to='f'>2 0 0 0 0 0</pose>")
        + joint("j", "revolute", "a", "b", f"<pose relative_to='f'>0 0 0 0 0 0</pose>{axis('1 0 0')}")
    )
    mb = sc.load(write(tmp_path, text))
    poses = dynamics.poses(mb, mb.neutral())
    assert np.allclose(poses["a"].translation, [10, 1, 0])  # 1 along x of a frame whose x is along y
    assert np.allclose(mb.pose("a/f").translation, [9, 1, 0])
    assert np.allclose(poses["b"].translation, [7, 1, 0])  # x of f points along -x
    hinge = mb["b"]
    assert np.allclose((poses["a"] @ hinge.inboard).translation, [9, 1, 0])


def test_an_axis_is_expressed_in_the_frame_it_names(tmp_path):
    text = model(
        link("a", pose="<pose>0 0 0 0 0 1.5707963267948966</pose>")
        + joint("j", "revolute", "world", "a", "<axis><xyz expressed_in='__model__'>1 0 0</xyz></axis>")
    )
    mb = sc.load(write(tmp_path, text))
    assert np.allclose(mb["a"].hinge.axis, [0, -1, 0])  # x of the model in the axes of the link
    old = model(
        link("a", pose="<pose>0 0 0 0 0 1.5707963267948966</pose>")
        + joint("j", "revolute", "world", "a", axis("1 0 0", "<use_parent_model_frame>1</use_parent_model_frame>")),
        version="1.6",
    )
    assert np.allclose(sc.load(write(tmp_path, old))["a"].hinge.axis, [0, -1, 0])


def test_a_link_without_a_joint_floats_and_a_static_model_does_not(tmp_path):
    assert sc.load(write(tmp_path, model(link("a")))).nv == 6
    assert sc.load(write(tmp_path, model("<static>true</static>" + link("a")))).nv == 0


@pytest.mark.parametrize(
    ("kind", "inside", "hinge"),
    [
        ("ball", "", sc.Spherical()),
        ("universal", axis("1 0 0") + axis("0 1 0", tag="axis2"), sc.Universal((1, 0, 0), (0, 1, 0))),
        ("revolute2", axis("1 0 0") + axis("0 0 1", tag="axis2"), sc.Universal((1, 0, 0), (0, 0, 1))),
        ("continuous", axis("1 0 0", "<limit><lower>-1</lower><upper>1</upper></limit>"), sc.Pin((1, 0, 0))),
        ("fixed", "", sc.Weld()),
        # right-handed, 0.2 m a turn; the older word is left-handed, in radians for each metre
        ("screw", axis() + "<screw_thread_pitch>0.2</screw_thread_pitch>", sc.Helical((0, 0, 1), 0.2 / (2 * np.pi))),
        ("screw", axis() + "<thread_pitch>-4</thread_pitch>", sc.Helical((0, 0, 1), 0.25)),
    ],
)
def test_types_of_joints(tmp_path, kind, inside, hinge):
    mb = sc.load(write(tmp_path, model(link("a") + joint("j", kind, "world", "a", inside))))
    assert mb["a"].hinge == hinge
    assert not np.isfinite(mb["a"].limits.lower).any()


def test_a_second_joint_onto_a_link_closes_a_loop(tmp_path):
    """A four-bar of unit rods: two cranks on the ground, a coupler, and the pin between coupler and second crank."""
    text = model(
        link("crank", pose="<pose>0 0 0 0 0 0</pose>")
        + link("coupler", pose="<pose>0 0 1 0 0 0</pose>")
        + link("rocker", pose="<pose>1 0 0 0 0 0</pose>")
        + joint("base", "revolute", "world", "crank", axis("0 1 0"))
        + joint("elbow", "revolute", "crank", "coupler", axis("0 1 0"))
        + joint("foot", "revolute", "world", "rocker", axis("0 1 0"))
        + joint("close", "revolute", "coupler", "rocker", "<pose>0 0 1 0 0 0</pose>" + axis("0 1 0"))
    )
    mb = sc.load(write(tmp_path, text))
    assert mb.nv == 3
    assert [loop.name for loop in mb.loops] == ["close"]
    report = sc.loops.report(mb)
    assert report.mobility == 1
    solver = sc.loops.TreeAugmented(mb)
    q = solver.assemble([0.3, 0.0, 0.0], fixed=["base"])
    poses = dynamics.poses(mb, q)
    pin = poses["coupler"] @ sc.Pose(translation=(1, 0, 0))  # a parallelogram: the far end of the coupler
    assert np.allclose(pin.translation, (poses["rocker"] @ sc.Pose(translation=(0, 0, 1))).translation)


def test_springs_act_and_dry_friction_is_recorded(tmp_path):
    spring = "<spring_stiffness>3</spring_stiffness><spring_reference>0.2</spring_reference>"
    inside = f"<dynamics><damping>0.5</damping><friction>0.1</friction>{spring}</dynamics>"
    mb = sc.load(write(tmp_path, model(link("a") + joint("j", "revolute", "world", "a", axis("0 0 1", inside)))))
    assert mb["a"].passive == sc.Passive(stiffness=[3.0], damping=[0.5], friction=[0.1], rest=[0.2])
    assert [entry.element.rpartition("/")[2] for entry in mb.import_report.not_simulated] == ["friction"]


def test_mimic_is_a_coupling(tmp_path):
    follow = "<mimic joint='j1'><multiplier>2</multiplier><offset>0.5</offset><reference>0.1</reference></mimic>"
    text = link("a") + link("b") + joint("j1", "revolute", "world", "a", axis())
    text += joint("j2", "revolute", "a", "b", axis("0 0 1", follow))
    (coupling,) = sc.load(write(tmp_path, model(text))).couplings
    assert coupling.offset == pytest.approx(0.5 - 2 * 0.1)  # q2 = 2 (q1 - 0.1) + 0.5
    assert {name: terms[0] for name, terms in coupling.terms.items()} == {"j2": 1.0, "j1": -2.0}


def test_included_and_nested_models(tmp_path):
    hand = model("<pose>0 0 5 0 0 0</pose>" + link("palm", pose="<pose>0 0 1 0 0 0</pose>"), "hand")
    write(tmp_path, hand, "models/hand/v9.sdf")
    config = "<model><sdf version='1.4'>old.sdf</sdf><sdf version='1.9'>v9.sdf</sdf></model>"
    write(tmp_path, config, "models/hand/model.config")
    include = "<include><uri>model://hand</uri><name>left</name><pose>0 1 0 0 0 0</pose></include>"
    nested = "<model name='inner'><pose>3 0 0 0 0 0</pose>" + link("x") + "</model>"
    text = model(
        link("a") + include + nested + joint("grip", "fixed", "a", "left::palm") + joint("n", "fixed", "a", "inner::x")
    )
    mb = sc.load(write(tmp_path, text), mesh_roots=[tmp_path / "models"])
    assert [body.name for body in mb.bodies] == ["a", "left::palm", "inner::x"]
    at = dynamics.poses(mb, mb.neutral())
    assert np.allclose(at["left::palm"].translation, [0, 1, 1])  # the pose of the include replaces that of the model
    assert np.allclose(at["inner::x"].translation, [3, 0, 0])
    with pytest.raises(ModelFileError, match="'model://hand' is not found next to the file, in mesh_roots"):
        sc.load(tmp_path / "robot.sdf")


def test_a_placement_frame_is_what_the_pose_places(tmp_path):
    inner = "<model name='m' placement_frame='x'><pose>1 2 3 0 0 0</pose>" + link("x", pose="<pose>0 0 7 0 0 0</pose>")
    mb = sc.load(write(tmp_path, model(link("a") + inner + "</model>" + joint("j", "fixed", "a", "m::x"))))
    assert np.allclose(dynamics.poses(mb, mb.neutral())["m::x"].translation, [1, 2, 3])


def test_a_world_with_several_models(tmp_path):
    one = f"<model name='one'>{link('a')}</model><model name='two'>{link('a')}<static>1</static></model>"
    mb = sc.load(write(tmp_path, f"<sdf version='1.9'><world name='w'><gravity>0 0 -3</gravity>{one}</world></sdf>"))
    assert [body.name for body in mb.bodies] == ["one::a", "two::a"]
    assert np.array_equal(mb.gravity, [0, 0, -3])
    assert mb.nv == 6


def test_shapes_and_records(tmp_path):
    shapes = """<visual name='skin'><geometry><box><size>1 2 3</size></box></geometry>
    <material><diffuse>1 0 0</diffuse></material></visual>
    <collision name='hull'><geometry><mesh><uri>model://gone/x.stl</uri></mesh></geometry></collision>
    <sensor name='imu' type='imu'><update_rate>100</update_rate></sensor>"""
    mb = sc.load(write(tmp_path, model(link("a", shapes) + "<plugin name='p' filename='p.so'><gain>3</gain></plugin>")))
    skin, hull = mb["a"].geometries
    assert (skin.kind, skin.size, skin.rgba) == ("box", (1, 2, 3), (1, 0, 0, 1))
    assert (hull.kind, hull.mesh) == ("mesh", "model://gone/x.stl")
    assert {(record.kind, record.name) for record in mb.records} == {("sensor", "imu"), ("plugin", "p")}
    assert not mb.import_report.not_simulated


def test_cameras_are_nodes(tmp_path):
    """A sensor's pose on its link, then the camera's in the sensor; one that cannot be read is a record alone."""
    cameras = """<sensor name='eye' type='camera'><pose>1 2 3 0 0 1.5</pose>
    <camera><pose>0.1 0 0 0.2 0 0</pose><horizontal_fov>1</horizontal_fov></camera></sensor>
    <sensor name='eye' type='depth_camera'><pose relative_to='b'>0 0 1 0 0 0</pose></sensor>
    <sensor name='blind' type='camera'><pose>1 2</pose></sensor>"""
    b = link("b", pose="<pose>0 0 5 0 0 0</pose>")
    mb = sc.load(write(tmp_path, model(link("a", cameras) + b)))
    turned = sc.Pose.from_rpy(0, 0, 1.5, translation=(1, 2, 3)) @ sc.Pose.from_rpy(0.2, 0, 0, translation=(0.1, 0, 0))
    assert mb["a/eye"].pose.is_close(turned)
    assert mb["a/eye_1"].pose.is_close(sc.Pose(translation=(0, 0, 6)))
    assert "a/blind" not in mb
    assert [record.name for record in mb.records] == ["eye", "eye", "blind"]
    assert any(x.note == "is node 'a/eye', and is kept in mb.records as 'sensor'" for x in mb.import_report.converted)


def test_every_element_has_a_line(tmp_path):
    text = model(link("a", "<unknown_thing x='1'><y>2</y></unknown_thing>"))
    report = sc.load(write(tmp_path, text)).import_report
    said = {(entry.element.rpartition("/")[2], entry.attribute) for entry in report.entries}
    assert {("unknown_thing", ""), ("unknown_thing", "x"), ("y", ""), ("ixx", ""), ("model", "name")} <= said
    assert {entry.element.rpartition("/")[2] for entry in report.not_simulated} == {"y"}


BACKWARDS = "<lower>2</lower><upper>1</upper>"
REFUSED = {
    "no model": ("<sdf version='1.9'/>", "<sdf>: has no <model>; a model needs at least one."),
    "no links": (model(""), "has no <link>; a model needs at least one."),
    "an unknown link": (
        model(link("a") + joint("j", "fixed", "a", "b")),
        "there is no link, joint or frame 'b' here; there are 'a', 'j'.",
    ),
    "two of a name": (model(link("a") + link("a")), "there is a link of the name 'a' already."),
    "a circle of frames": (
        model(link("a") + "".join(f"<frame name='{x}'><pose relative_to='{y}'/></frame>" for x, y in ("fg", "gf"))),
        "frames are relative to each other in a circle: 'f' -> 'g' -> 'f'.",
    ),
    "a joint of one link": (
        model(link("a") + "<frame name='f' attached_to='a'/>" + joint("j", "fixed", "a", "f")),
        "joins 'a' to itself.",
    ),
    "an unknown joint": (model(link("a") + joint("j", "hover", "world", "a")), "type='hover' is not a type of joint"),
    "a zero axis": (
        model(link("a") + joint("j", "revolute", "world", "a", axis("0 0 0"))),
        "an axis must not be zero; give a direction such as 0 0 1.",
    ),
    "no axis": (model(link("a") + joint("j", "revolute", "world", "a")), "a revolute joint needs an <axis>."),
    "bad limits": (
        model(link("a") + joint("j", "revolute", "world", "a", axis(inside=f"<limit>{BACKWARDS}</limit>"))),
        "lower=2 is above upper=1; swap them.",
    ),
    "numbers": (model(link("a", pose="<pose>1 2 3</pose>")), "6 numbers"),
    "out of the folder": (
        model(link("a") + "<include><uri>../../etc/passwd</uri></include>"),
        "'../../etc/passwd' is not found next to the file",
    ),
    "an include of itself": (
        model(link("a") + "<include><uri>robot.sdf</uri></include>"),
        "files include each other in a circle, by way of 'robot.sdf'.",
    ),
    "another format": ("<robot name='x'/>", "the root element of an SDF file is <sdf>."),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_wrong_is_refused(tmp_path, case):
    text, message = REFUSED[case]
    with pytest.raises(ModelFileError) as caught:
        sc.load(write(tmp_path, text))
    assert message in str(caught.value)
    assert str(tmp_path / "robot.sdf") in str(caught.value)


def test_lenient_reads_on_from_local_faults(tmp_path):
    bad = "<link name='a'><inertial><mass>1</mass><inertia><ixx>-1</ixx></inertia></inertial></link>"
    path = write(tmp_path, model(bad))
    with pytest.raises(ModelFileError, match="lenient=True"):
        sc.load(path)
    mb = sc.load(path, lenient=True)
    assert len(mb.import_report.repaired) > 0
    assert not mb.import_report


def test_a_long_chain_of_frames_needs_no_stack(tmp_path):
    frames = "".join(f"<frame name='f{i}' attached_to='{f'f{i - 1}' if i else 'a'}'><pose>0 0 1 0 0 0</pose></frame>"
                     for i in range(3000))  # fmt: skip
    mb = sc.load(write(tmp_path, model(link("a") + frames)))
    assert np.allclose(mb.pose("a/f2999").translation, [0, 0, 3000])


WORLD = """<sdf version='1.11'><world name='w'>
<model name='m'><pose>0 0 1 0 0 0</pose><link name='a'><inertial><mass>2</mass></inertial></link></model>
<model name='n'><pose>0 0 2 0 0 0</pose><link name='b'><inertial><mass>3</mass></inertial></link></model>
<frame name='mark' attached_to='n::b'><pose>.1 0 0 0 0 0</pose></frame>{}</world></sdf>"""
JOINT = "<joint name='{}' type='revolute'><parent>{}</parent><child>{}</child><axis><xyz>0 1 0</xyz></axis></joint>"


def test_a_joint_of_the_world_connects_models(tmp_path):
    """World to m, m to n: the chain of two hinges, where both links are as drawn."""
    text = WORLD.format(JOINT.format("base", "world", "m::a") + JOINT.format("between", "m::a", "n::b"))
    mb = sc.load(write(tmp_path, text), strict=True)
    assert [(x.name, x.parent.name, x.hinge_name) for x in mb.bodies] == [
        ("m::a", "inertial", "base"), ("n::b", "m::a", "between"),
    ]  # fmt: skip
    assert (mb.nv, mb.total_mass) == (2, 5.0)
    np.testing.assert_allclose(mb.pose("n::b").translation, [0, 0, 2], atol=1e-15)
    mb.q = [np.pi / 2, 0.0]
    np.testing.assert_allclose(mb.pose("n::b").translation, [1, 0, 1], atol=1e-15)
    np.testing.assert_allclose(mb.pose("n::b/mark").translation, [1, 0, 0.9], atol=1e-15)


def test_two_joints_of_the_world_onto_a_link_are_a_loop(tmp_path):
    text = WORLD.format(JOINT.format("base", "world", "m::a") + JOINT.format("also", "n::b", "m::a"))
    mb = sc.load(write(tmp_path, text))
    assert [x.name for x in mb.loops] == ["also"]
    with pytest.raises(ModelFileError, match=r"there is no link, joint or frame 'm::gone' here"):
        sc.load(write(tmp_path, WORLD.format(JOINT.format("base", "world", "m::gone"))))


def test_shapes_and_cameras_of_a_link_that_is_turned_and_away(tmp_path):
    """Poses told in a frame of the model are where that frame says, whatever the pose of the link; a plane's normal
    turns with its own pose; a camera inside a sensor is told from the sensor, or from the frame it names."""
    path = tmp_path / "m.sdf"
    path.write_text(
        """<sdf version="1.9"><model name="m"><frame name="post"><pose>0.5 -1 2 0.3 -0.2 0.7</pose></frame>
        <link name="body"><pose>1 2 3 0.4 0.1 -0.6</pose>
        <visual name="own"><pose>0.1 0.2 0.3 0 0.5 0</pose><geometry><sphere><radius>1</radius></sphere></geometry>
        </visual><visual name="told"><pose relative_to="post">0.1 0.2 0.3 0 0.5 0</pose>
        <geometry><sphere><radius>1</radius></sphere></geometry></visual>
        <collision name="slope"><pose>0.1 0.2 0.3 0 0.5 0</pose><geometry><plane><normal>0 1 1</normal>
        <size>1 1</size></plane></geometry></collision>
        <sensor name="eye" type="camera"><pose>0.1 0 0 0 0 0.4</pose><camera><pose>0 0.2 0 0.3 0 0</pose></camera>
        </sensor><sensor name="spy" type="camera"><pose>0.1 0 0 0 0 0.4</pose><camera>
        <pose relative_to="post">0 0.2 0 0.3 0 0</pose></camera></sensor></link></model></sdf>"""
    )
    mb = sc.load(path)
    link = sc.Pose.from_rpy(0.4, 0.1, -0.6, (1, 2, 3))
    post, own = sc.Pose.from_rpy(0.3, -0.2, 0.7, (0.5, -1, 2)), sc.Pose.from_rpy(0, 0.5, 0, (0.1, 0.2, 0.3))
    seat, lens = sc.Pose.from_rpy(0, 0, 0.4, (0.1, 0, 0)), sc.Pose.from_rpy(0.3, 0, 0, (0, 0.2, 0))
    shapes = {x.name: x.pose for x in mb["body"].geometries}
    cameras = {name: mb.frame(f"body/{name}").pose for name in ("eye", "spy")}
    for found, wanted in (
        (shapes["own"], own), (shapes["told"], link.inv @ post @ own),
        (cameras["eye"], seat @ lens), (cameras["spy"], link.inv @ post @ lens),
    ):  # fmt: skip
        np.testing.assert_allclose(found.rotation, wanted.rotation, atol=1e-12)
        np.testing.assert_allclose(found.translation, wanted.translation, atol=1e-12)
    slope = shapes["slope"]
    np.testing.assert_allclose(slope.translation, own.translation, atol=1e-12)
    np.testing.assert_allclose(slope.rotation[:, 2], own.rotation @ np.array([0, 1, 1]) / np.sqrt(2), atol=1e-12)


@pytest.mark.parametrize(
    ("material", "rgba"),
    [
        ("", None),
        ("<material/>", None),
        ("<material><ambient>1 0 0 1</ambient></material>", None),
        ("<material><diffuse>0 1 0 0.5</diffuse></material>", (0, 1, 0, 0.5)),
    ],
)
def test_a_colour_is_that_of_diffuse_light(tmp_path, material, rgba):
    skin = f"<visual name='skin'><geometry><box><size>1 2 3</size></box></geometry>{material}</visual>"
    mb = sc.load(write(tmp_path, model(link("a", skin))))
    assert mb["a"].geometries[0].rgba == rgba


@pytest.mark.parametrize("length", [1e-4, 3.0])
def test_two_axes_of_any_length(tmp_path, length):
    """Those across each other are a universal joint, those along each other are one motion."""
    across = axis(f"{length} 0 0") + axis(f"0 {2 * length} 0", tag="axis2")
    mb = sc.load(write(tmp_path, model(link("a") + joint("j", "revolute2", "world", "a", across))))
    assert mb["a"].hinge == sc.Universal((1, 0, 0), (0, 1, 0))
    along = axis(f"0 0 {length}") + axis(f"0 0 {2 * length}", tag="axis2")
    with pytest.raises(ModelFileError, match="are dependent in every configuration"):
        sc.load(write(tmp_path, model(link("a") + joint("j", "revolute2", "world", "a", along))))

"""ROS messages: what goes out comes back, in the bytes of the standard, and what is wrong is refused by name."""

from __future__ import annotations

import struct
from random import Random

import numpy as np
import pytest
from tests.fuzz.byte_damage import damaged

import soacraft as sc
from soacraft.contact import Box, Capsule, ConvexHull, Cylinder, Plane, Sphere, TriangleMesh
from soacraft.errors import ModelError, SoacraftError, StateError
from soacraft.robot import Robot, World, ros

JOINTS, MOTION = "sensor_msgs/msg/JointState", "trajectory_msgs/msg/JointTrajectory"
PLACE, PULL = "geometry_msgs/msg/PoseStamped", "geometry_msgs/msg/WrenchStamped"
THING = "moveit_msgs/msg/CollisionObject"
RNG = np.random.default_rng(0)


@pytest.fixture
def panda():
    return Robot(sc.load("panda"))


def test_a_wrench_has_the_bytes_of_the_standard():
    """CDR by hand: encapsulation, seconds, nanoseconds, length and text of the frame, numbers on multiples of 8."""
    data = ros.to_bytes(PULL, ros.wrench([1, 2, 3, 4, 5, 6], "tool", stamp=2.5))
    expected = b"\x00\x01\x00\x00" + struct.pack("<iII", 2, 500_000_000, 5) + b"tool\x00" + b"\x00" * 7
    expected += struct.pack("<6d", 4, 5, 6, 1, 2, 3)  # force first, then torque
    assert data == expected
    f, frame, stamp = ros.read_wrench(ros.from_bytes(PULL, data))
    assert f.tolist() == [1, 2, 3, 4, 5, 6]
    assert (frame, stamp) == ("tool", 2.5)


def test_poses_come_back():
    X = sc.Pose.from_rpy(0.1, -0.7, 2.0, (1.0, -2.0, 0.3))
    got, frame, stamp = ros.read_pose(ros.from_bytes(PLACE, ros.to_bytes(PLACE, ros.pose(X, "base", 1e9))))
    assert got.is_close(X)
    assert (frame, stamp) == ("base", 1e9)


def test_plain_poses_and_wrenches_are_read_too():
    """Without a header: as they are, and as bytes of their own kind."""
    X = sc.Pose.from_rpy(0.1, -0.7, 2.0, (1.0, -2.0, 0.3))
    place, pull = ros.pose(X, "base", 3.0)["pose"], ros.wrench([1, 2, 3, 4, 5, 6], "tool", 3.0)["wrench"]
    kinds = "geometry_msgs/msg/Pose", "geometry_msgs/msg/Wrench"
    for message in (place, ros.from_bytes(kinds[0], ros.to_bytes(kinds[0], place))):
        got, frame, stamp = ros.read_pose(message)
        assert got.is_close(X)
        assert (frame, stamp) == ("", 0.0)
    for message in (pull, ros.from_bytes(kinds[1], ros.to_bytes(kinds[1], pull))):
        f, frame, stamp = ros.read_wrench(message)
        assert f.tolist() == [1, 2, 3, 4, 5, 6]
        assert (frame, stamp) == ("", 0.0)


@pytest.mark.parametrize(
    ("read", "message", "said"),
    [
        (ros.read_pose, {}, "the message has no 'pose'"),
        (ros.read_pose, {"position": {"x": 1.0}}, "the message has no 'orientation'"),
        (ros.read_pose, {"pose": 3, "position": {}, "orientation": {"w": 1.0}}, "no 'pose', or it is no message"),
        (ros.read_wrench, {}, "the message has no 'wrench'"),
        (ros.read_wrench, {"force": {"x": 1.0}}, "the message has no 'torque'"),
        (ros.read_wrench, {"torque": {"x": "a"}, "force": {}}, "torque must be real numbers"),
        (ros.read_wrench, [1], "a message is a dictionary"),
    ],
)
def test_messages_that_are_neither_plain_nor_stamped_are_refused(read, message, said):
    with pytest.raises(StateError, match=said):
        read(message)


def test_states_of_joints_come_back_whatever_their_order(panda):
    q, v, force = RNG.standard_normal((3, 7))
    message = ros.from_bytes(JOINTS, ros.to_bytes(JOINTS, ros.joint_state(panda, q, v, force)))
    order = RNG.permutation(7)
    mixed = {k: [x[i] for i in order] for k, x in message.items() if k != "header"}
    got = ros.read_joint_state(panda, mixed)
    assert all((a == b).all() for a, b in zip(got, (q, v, force), strict=True))


def test_a_part_of_the_joints_leaves_the_others_as_they_are(panda):
    panda.mb.set_state(np.linspace(0.1, 0.7, 7), np.linspace(1, 7, 7))
    q, v, force = ros.read_joint_state(panda, {"name": ["joint3"], "position": [0.5]})
    assert q.tolist() == [0.1, 0.2, 0.5, *panda.mb.q[3:].tolist()]
    assert (v == panda.mb.v).all()
    assert not force.any()
    assert panda.mb.q[2] != 0.5


def test_a_free_base_goes_as_a_pose():
    rb = Robot(sc.load("h1"))
    free = next((x for x in rb.mb.bodies if x.hinge.nv > 1), None)
    if free is None:
        rb.mb.add_body("box", hinge=sc.Free(), inertia=sc.Inertia(1.0))
        free = rb.mb["box"]
    with pytest.raises(ModelError, match=r"has 6 dofs, and a message of joints holds .* pass joints='single'"):
        ros.joint_state(rb)
    assert free.hinge_name not in ros.joint_state(rb, joints="single")["name"]


def test_motions_come_back(panda):
    t = np.array([0.0, 0.25, 1.0])
    q, v, vdot = RNG.standard_normal((3, 3, 7))
    message = ros.from_bytes(MOTION, ros.to_bytes(MOTION, ros.joint_trajectory(panda, t, q, v, vdot)))
    got = ros.read_joint_trajectory(panda, message)
    assert all((a == b).all() for a, b in zip(got[:4], (t, q, v, vdot), strict=True))
    assert got[4] is None


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"name": ["joint9"], "position": [1.0]}, r"has no hinge 'joint9' that moves; did you mean"),
        ({"name": ["joint1", "joint1"], "position": [1.0, 2.0]}, r"the joint 'joint1' is there twice"),
        ({"name": ["joint1"], "position": [1.0, 2.0]}, r"position must have shape \(1,\)"),
        ({"name": ["joint1"], "position": [np.nan]}, r"position must be finite|position.*nan"),
        ({"position": [1.0]}, r"'name' of the message must be a list of names"),
        ([1], r"a message is a dictionary"),
    ],
)
def test_bad_states_of_joints_are_refused(panda, message, said):
    before = np.array(panda.mb.q)
    with pytest.raises(SoacraftError, match=said):
        ros.read_joint_state(panda, message)
    assert (panda.mb.q == before).all()


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ([], "the trajectory has no points"),
        ([{"positions": [0.0]}, {"positions": [1.0]}], "point 1 of the trajectory is not later"),
        ([{"time_from_start": {"sec": 1}}], "the trajectory has no positions"),
        (
            [{"positions": [0.0], "velocities": [1.0]}, {"positions": [1.0], "time_from_start": {"sec": 1}}],
            "point 1 of the trajectory has no velocities, and others have",
        ),
        ([3], "point 0 of the trajectory is no message"),
    ],
)
def test_bad_motions_are_refused(panda, points, said):
    with pytest.raises(StateError, match=said):
        ros.read_joint_trajectory(panda, {"joint_names": ["joint1"], "points": points})


def test_a_motion_goes_as_it_is(panda):
    """At its knots, or every so many seconds and at its end."""
    ends = np.zeros(7), np.linspace(0.1, 0.7, 7) * [1, 1, 1, -1, 1, 1, 1]
    motion = sc.robot.spline(panda, [ends[0], 0.4 * ends[1], ends[1]], [0.0, 0.7, 1.5])
    by_step = (0.4, [0.0, 0.4, 0.8, 1.2, 1.5]), (0.5, [0.0, 0.5, 1.0, 1.5]), (9, [0.0, 1.5])
    for step, times in ((None, motion.knots), *by_step):
        message = ros.from_bytes(MOTION, ros.to_bytes(MOTION, ros.joint_trajectory(panda, motion, step=step)))
        t, q, v, vdot, force = ros.read_joint_trajectory(panda, message)
        assert np.allclose(t, times, atol=1e-9)
        at = motion.at(np.clip(t, 0.0, motion.duration))
        assert np.allclose(q, at.q, atol=1e-8)
        assert np.allclose(v, at.v, atol=1e-8)
        assert np.allclose(vdot[:-1], at.vdot[:-1], atol=1e-6)
        assert force is None
    part = ros.joint_trajectory(panda, motion, force=np.ones((2, 7)), joints=["joint2"], step=2.0)
    assert np.allclose(part["points"][1]["positions"], ends[1][1:2])
    assert part["points"][1]["effort"].tolist() == [1.0]


def test_motions_that_are_none_of_this_robot_are_refused(panda):
    motion = sc.robot.minimum_jerk(panda, np.zeros(7), np.full(7, 0.1), duration=1.0)
    for call, said in (
        (lambda: ros.joint_trajectory(panda.copy(), motion), "is of another robot: make it for this one"),
        (lambda: ros.joint_trajectory(panda, motion, np.zeros((2, 7))), "a Motion has its own q, v and vdot"),
        (lambda: ros.joint_trajectory(panda, motion, step=0.0), "step must be a nanosecond at least"),
        (lambda: ros.joint_trajectory(panda, motion, step=1e-8), "give 20000000 points at most; got 1e-08"),
        (lambda: ros.joint_trajectory(panda, [0.0], np.zeros((1, 7)), step=0.1), "step= is for a Motion"),
        (lambda: ros.joint_trajectory(panda, [0.0]), r"is a Motion, or times and q; got \[0.0\] without q"),
    ):
        with pytest.raises(StateError, match=said):
            call()


def test_times_that_do_not_grow_are_refused(panda):
    with pytest.raises(StateError, match="must grow by nanoseconds from point to point"):
        ros.joint_trajectory(panda, [0.0, 0.0], np.zeros((2, 7)))


SHAPES = {
    "box": Box(0.1, 0.2, 0.3),
    "ball": Sphere(0.1),
    "rod": Cylinder(0.05, 0.4),
    "hull": ConvexHull(RNG.standard_normal((12, 3)) * 0.1),
    "floor": Plane(),
    "mesh": TriangleMesh([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_objects_keep_their_distances(panda, name):
    """The object as a message, as bytes, and read again is as far from the robot as the one that was added."""
    at, inner = sc.Pose.from_rpy(0.3, 0.2, 0.1, (0.9, 0.4, -1.5)), sc.Pose.from_rpy(0.1, 0.5, -0.2, (0.02, 0.01, 0.03))
    there, told = World(panda), World(panda)
    there.add("thing", {"part": (SHAPES[name], inner)}, at)
    data = ros.to_bytes(THING, ros.collision_object("thing", {"part": (SHAPES[name], inner)}, at))
    assert ros.read_collision_object(told, ros.from_bytes(THING, data)) == "thing"
    q = np.array([0.1, 0.5, 0.2, -1.5, 0.3, 1.7, 0.4])
    mine, theirs = (np.sort([d for p, d in zip(x.pairs, x.distance, strict=True) if "thing" in str(p)])
                    for x in (there.distances(q), told.distances(q)))  # fmt: skip
    assert len(mine)
    assert np.allclose(mine, theirs, atol=1e-9)


def test_objects_are_replaced_appended_moved_and_removed(panda):
    w = World(panda)
    ball = ros.collision_object("cup", Sphere(0.1), sc.Pose(translation=(0, 0, 3.0)))
    ros.read_collision_object(w, ball)
    ros.read_collision_object(w, ros.collision_object("cup", Sphere(0.2), sc.Pose(translation=(0, 0, 3.0))))
    assert [s.size.tolist() for _, s, _ in w.item("cup").shapes] == [[0.2]]
    ros.read_collision_object(w, {**ball, "pose": ros.pose(sc.Pose(translation=(0, 0, 4.0)))["pose"], "operation": 2})
    shapes = w.item("cup").shapes
    assert [s.size.tolist() for _, s, _ in shapes] == [[0.2], [0.1]]
    assert np.allclose(shapes[1][2].translation, (0, 0, 1.0))  # in the object, which is at 3
    ros.read_collision_object(w, ros.collision_object("cup", None, sc.Pose(translation=(0, 1.0, 0)), operation=3))
    assert w.item("cup").pose.translation.tolist() == [0, 1, 0]
    ros.read_collision_object(w, ros.collision_object("cup", None, operation=1))
    assert w.objects == ()


def test_an_object_in_the_frame_of_a_body_moves_with_it(panda):
    w = World(panda)
    ros.read_collision_object(w, ros.collision_object("tool", Sphere(0.05), sc.Pose(translation=(0, 0, 0.3)), "link7"))
    assert w.item("tool").on == "link7"


def test_a_geometry_stays_when_shapes_are_appended(panda):
    w = World(panda)
    ball = sc.Geometry("eye", "sphere", (0.2,), sc.Pose(translation=(0.0, 0.0, 0.3)))
    w.add("thing", ball, sc.Pose(translation=(1.0, 0.0, 0.0)))
    at, eye = sc.Pose(translation=(0.0, 1.0, 0.0)), w.item("thing").parts["shape"]
    ros.read_collision_object(w, ros.collision_object("thing", Sphere(0.1), at, operation=2))
    parts = w.item("thing").parts
    assert len(parts) == 2
    assert parts["shape"] == eye
    assert w.item("thing").pose.translation.tolist() == [1.0, 0.0, 0.0]


def test_an_object_in_the_frame_of_a_node_is_moved_and_appended_to_there(panda):
    """In the frame of the message, whatever frame of the same body it was added in."""
    w = World(panda)
    node = sc.Pose.from_quaternion((0, 0.6, 0, 0.8), (0.1, 0.0, 0.2))
    panda.mb["link7"].add_node("here", node)
    at, to = sc.Pose(translation=(0, 0, 0.3)), sc.Pose(translation=(0.2, 0, 0))
    ros.read_collision_object(w, ros.collision_object("tool", Sphere(0.05), at, "link7/here"))
    for frame, place in (("link7/here", node), ("link7", sc.Pose())):
        ros.read_collision_object(w, ros.collision_object("tool", None, to, frame, operation=3))
        assert w.item("tool").pose.is_close(place @ to)
        assert w.item("tool").frame == "link7/here"
    ros.read_collision_object(w, ros.collision_object("tool", Sphere(0.1), at, "link7/here", operation=2))
    assert w.item("tool").frame == "link7/here"
    assert w.item("tool").pose.is_close(to)
    assert (w.item("tool").pose @ w.item("tool").shapes[1][2]).is_close(node @ at)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": ""}, "the object has no id"),
        ({"operation": 9}, "must be a whole number from 0 to 3, got 9"),
        ({"primitives": []}, "has 0 primitives and 1 poses"),
        ({"primitives": [], "primitive_poses": []}, "has no shapes"),
        ({"primitives": [{"type": 4, "dimensions": [1, 1]}]}, "is of type 4; a box"),
        ({"primitives": [{"type": 1, "dimensions": [1, 1]}]}, "must have 3 dimensions, got 2"),
        ({"pose": {"position": {}, "orientation": {}}}, "must be a unit quaternion, and has the length 0"),
        ({"header": {"frame_id": "nowhere"}}, "nowhere"),
    ],
)
def test_bad_objects_leave_the_world_as_it_was(panda, change, said):
    w = World(panda)
    good = ros.collision_object("cup", Sphere(0.1), sc.Pose(translation=(0, 0, 3.0)))
    ros.read_collision_object(w, good)
    before = w.item("cup")
    with pytest.raises(SoacraftError, match=said):
        ros.read_collision_object(w, {**good, **change})
    assert w.objects == ("cup",)
    assert w.item("cup").shapes == before.shapes
    assert w.item("cup").pose.is_close(before.pose)


def test_what_a_message_cannot_hold_is_refused(panda):
    with pytest.raises(StateError, match="is a Capsule, which a CollisionObject cannot hold"):
        ros.collision_object("rod", Capsule(0.1, 1.0))
    with pytest.raises(StateError, match=r"operation, 0 \(add\), .* must be a whole number from 0 to 3, got 7"):
        ros.collision_object("rod", None, operation=7)
    with pytest.raises(StateError, match="in axes of its frame, and this one is in those of 'inertial'"):
        ros.wrench(sc.Wrench((0, 0, 0), (1, 0, 0), expressed_in="inertial"))
    with pytest.raises(StateError, match=r"stamp must be between 0 and 2\^31 seconds"):
        ros.pose(sc.Pose(), stamp=-1.0)
    with pytest.raises(ModelError, match="are of a Robot"):
        ros.joint_state(panda.mb)
    with pytest.raises(ModelError, match="is read into a World"):
        ros.read_collision_object(panda, {})


@pytest.mark.parametrize(
    ("kind", "message", "said"),
    [
        ("sensor_msgs/msg/JointStat", {}, "there is no kind of message 'sensor_msgs/msg/JointStat'; did you mean"),
        (JOINTS, {"nme": []}, "has no field 'nme'; did you mean 'name'"),
        (JOINTS, {"position": [[1.0]]}, "position must be a list of numbers"),
        (JOINTS, {"header": 3}, "header must be a dictionary"),
        (JOINTS, {"header": {"frame_id": 3}}, "frame_id must be a text"),
        (JOINTS, {"header": {"stamp": {"sec": "now"}}}, "sec must be a number"),
        (JOINTS, {"position": ["a"]}, "cannot be written|must be a list"),
        (THING, {"operation": 999}, "cannot be written"),
    ],
)
def test_bad_dictionaries_are_refused(kind, message, said):
    with pytest.raises(StateError, match=said):
        ros.to_bytes(kind, message)


def test_damaged_bytes_are_read_or_refused(panda):
    """No damage does more than raise an error of ours, and long lists that are only promised take no memory."""
    good = {
        JOINTS: ros.to_bytes(JOINTS, ros.joint_state(panda)),
        THING: ros.to_bytes(THING, ros.collision_object("cup", {"a": (SHAPES["hull"], sc.Pose())})),
    }
    rng, refused = Random(1), 0
    for i in range(600):
        kind = (JOINTS, THING)[i % 2]
        data = damaged(rng, good[kind], good[JOINTS])
        w = World(panda)
        try:
            message = ros.from_bytes(kind, data)
            if kind == JOINTS:
                ros.read_joint_state(panda, message)
            else:
                ros.read_collision_object(w, message)
        except SoacraftError:
            refused += 1
    assert refused > 100


def test_velocities_of_a_robot_with_a_free_base_go_by_dofs():
    """With a quaternion before them, dofs and coordinates have other numbers."""
    rb = Robot(sc.load("a1"))
    t, q = np.array([0.0, 0.5]), np.tile(rb.mb.q, (2, 1))
    q[:, 7:] += RNG.uniform(-0.1, 0.1, (2, 12))
    v, vdot, force = RNG.standard_normal((3, 2, 18))
    got = ros.read_joint_trajectory(rb, ros.joint_trajectory(rb, t, q, v, vdot, force, joints="single"))
    assert (got[1] == q).all()
    for x, y in zip(got[2:], (v, vdot, force), strict=True):
        assert (x[:, 6:] == y[:, 6:]).all()
        assert not x[:, :6].any()
    one = ros.read_joint_state(rb, ros.joint_state(rb, q[0], v[0], force[0], joints="single"))
    assert (one[1][6:] == v[0, 6:]).all()
    assert (one[2][6:] == force[0, 6:]).all()


def test_triangles_of_a_hull_look_outward():
    hull = SHAPES["hull"]
    (mesh,) = ros.collision_object("rock", hull)["meshes"]
    points = np.array([[p["x"], p["y"], p["z"]] for p in mesh["vertices"]])
    a, b, c = (points[[t["vertex_indices"][i] for t in mesh["triangles"]]] for i in range(3))
    across = np.cross(b - a, c - a)
    assert (np.einsum("ij,ij->i", across, a - points.mean(axis=0)) > 0).all()
    assert np.abs(across.sum(axis=0)).max() < 1e-12  # and they close


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (3, "no 'header', or it is no message"),
        ({"stamp": "now"}, "no 'stamp', or it is no message"),
        ({"stamp": {"sec": "now"}}, "sec of 'stamp' must be a whole number"),
        ({"stamp": {"sec": 1.5}}, "sec of 'stamp' must be a whole number"),
        ({"stamp": {"nanosec": -5}}, "nanosec of 'stamp' must be a whole number from 0 to 999999999"),
        ({"frame_id": None}, "frame_id of the message must be a text"),
    ],
)
def test_bad_headers_are_refused_by_all_readers(panda, head, said):
    place = ros.pose(sc.Pose())["pose"]
    for read, message in (
        (ros.read_pose, {"pose": place}),
        (ros.read_wrench, {"wrench": {"force": {}, "torque": {}}}),
        (lambda m: ros.read_joint_state(panda, m), {"name": []}),
        (lambda m: ros.read_joint_trajectory(panda, m), {"joint_names": [], "points": []}),
        (lambda m: ros.read_collision_object(World(panda), m), ros.collision_object("cup", Sphere(0.1))),
    ):
        with pytest.raises(StateError, match=said):
            read({**message, "header": head})


def test_times_come_back_to_the_last_digit(panda):
    for stamp in (0.3, 0.1, 12.7, 1.7e9):
        assert ros.read_pose(ros.pose(sc.Pose(), stamp=stamp))[2] == stamp
    t = np.arange(1, 30) / 10
    assert (ros.read_joint_trajectory(panda, ros.joint_trajectory(panda, t, np.zeros((29, 7))))[0] == t).all()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda rb: ros.joint_state(rb, np.zeros((9, 7))), r"q of a message is one state, got the shape \(9, 7\)"),
        (lambda rb: ros.joint_state(rb, joints=3), "joints are names of hinges"),
        (lambda rb: ros.joint_state(rb, joints=[["a"]]), "has no hinge"),
        (lambda rb: ros.joint_trajectory(rb, "ab", np.zeros((2, 7))), "times must be real numbers"),
        (lambda rb: ros.joint_trajectory(rb, [0.0, 1e-12], np.zeros((2, 7))), "must grow by nanoseconds"),
        (lambda rb: ros.joint_trajectory(rb, [1e12], np.zeros((1, 7))), r"times must be between 0 and 2\^31"),
        (lambda rb: ros.read_joint_state(rb, {"name": ["joint1"], "position": 3}), "position must have shape"),
        (lambda rb: ros.read_joint_state(rb, {"name": ["joint1"], "position": ["1"]}), "real numbers, got text"),
        (lambda rb: ros.wrench("a"), "a wrench must be real numbers"),
        (lambda rb: ros.wrench(np.zeros(6), None), "the frame of a message is a name, got None"),
        (lambda rb: ros.collision_object("a", 3), "must be a shape, or"),
        (lambda rb: ros.collision_object("a", {"p": 3}), "is a int, which a CollisionObject cannot hold"),
        (lambda rb: ros.collision_object(3, None), "an object has a name, got 3"),
        (lambda rb: ros.from_bytes(JOINTS, 10**12), "is read from bytes, got 1000000000000"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused(panda, make, said):
    with pytest.raises(SoacraftError, match=said):
        make(panda)


CORNERS = [{"x": 0.0}, {"x": 1.0}, {"y": 1.0}, {"z": 1.0}]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"operation": np.zeros(2)}, "must be a whole number from 0 to 3"),
        ({"primitives": 3}, "'primitives' of 'cup' must be a list"),
        ({"primitives": [3]}, "primitive 0 of object 'cup' is no message"),
        ({"primitives": [{"type": [1], "dimensions": [1]}]}, r"is of type \[1\]"),
        ({"primitives": [{"type": 2, "dimensions": "a"}]}, "dimensions of primitive 0"),
        ({"meshes": [{"vertices": CORNERS, "triangles": [{}]}]}, "triangles of mesh 0"),
        ({"meshes": [{"vertices": CORNERS, "triangles": [{"vertex_indices": [0, 1]}] * 3}]}, r"got shape \(3, 2\)"),
        ({"meshes": [{"vertices": CORNERS, "triangles": [{"vertex_indices": [0, 1, 2.7]}]}]}, "of its 4 vertices"),
        ({"meshes": [{"vertices": CORNERS, "triangles": [{"vertex_indices": [0, 1, 4]}]}]}, "of its 4 vertices"),
        ({"meshes": [{"vertices": CORNERS, "triangles": [{"vertex_indices": [-1, 0, 1]}]}]}, "of its 4 vertices"),
        ({"meshes": [{"vertices": CORNERS, "triangles": [3]}]}, "must have vertices and triangles, messages all"),
        ({"planes": [{"coef": [0, 0, 0, 1]}]}, "has no normal"),
    ],
)
def test_bad_shapes_in_a_message_are_refused_and_leave_the_world(panda, change, said):
    w = World(panda)
    good = ros.collision_object("cup", Sphere(0.1))
    ros.read_collision_object(w, good)
    w.pad("cup", 0.01)
    before, place = w.item("cup"), good["pose"]
    with pytest.raises(SoacraftError, match=said):
        ros.read_collision_object(w, {**good, "mesh_poses": [place] * len(change.get("meshes", ())),
                                      "plane_poses": [place] * len(change.get("planes", ())), **change})  # fmt: skip
    assert w.item("cup") is before
    assert w.paddings == {("cup",): 0.01}


def test_what_was_said_of_an_object_holds_when_it_is_replaced(panda):
    w = World(panda)
    ros.read_collision_object(w, ros.collision_object("cup", Sphere(0.1), sc.Pose(translation=(2, 0, 0))))
    w.pad("cup", 0.01)
    w.allow("cup", "link7")
    ros.read_collision_object(w, ros.collision_object("cup", Sphere(0.2), sc.Pose(translation=(2, 0, 0))))
    assert w.paddings == {("cup",): 0.01}
    assert list(w.allowed) == [("cup", "link7")]
    near = w.distances(np.zeros(7))
    got = min(d for p, d in zip(near.pairs, near.distance, strict=True) if "cup/primitive0" in p)
    w.remove("cup")
    w.add("cup", Sphere(0.2), sc.Pose(translation=(2, 0, 0)))
    w.pad("cup", 0.01)
    w.allow("cup", "link7")
    near = w.distances(np.zeros(7))
    assert abs(got - min(d for p, d in zip(near.pairs, near.distance, strict=True) if "cup/shape" in p)) < 1e-9
    with pytest.raises(ModelError, match="nowhere"):
        ros.read_collision_object(w, ros.collision_object("cup", Sphere(0.3), frame="nowhere"))
    assert w.paddings == {("cup",): 0.01}


def test_an_object_on_a_body_is_moved_in_its_frame_alone(panda):
    w = World(panda)
    at = sc.Pose(translation=(0, 0, 0.3))
    ros.read_collision_object(w, ros.collision_object("tool", Sphere(0.05), at, "link7"))
    with pytest.raises(StateError, match="'tool' is on 'link7', and the message moves it in ''"):
        ros.read_collision_object(w, ros.collision_object("tool", None, at, operation=3))
    further = sc.Pose(translation=(0, 0, 0.4))
    ros.read_collision_object(w, ros.collision_object("tool", None, further, "link7", operation=3))
    assert w.item("tool").pose.is_close(further)
    with pytest.raises(StateError, match="'tool' is on 'link7', and the message appends in ''"):
        ros.read_collision_object(w, ros.collision_object("tool", Sphere(0.1), at, operation=2))


@pytest.mark.parametrize("scale", [1.0, 7.0, 1e200, 1e-200])
def test_a_plane_is_where_its_equation_says_whatever_its_scale(panda, scale):
    """Points of the plane are on it, and the outside is where a x + b y + c z + d is positive."""
    a = np.array([0.3, -0.4, 1.2, 0.65])
    w = World(panda)
    flat = {"id": "wall", "planes": [{"coef": a * scale}], "plane_poses": [ros.pose(sc.Pose())["pose"]]}
    ros.read_collision_object(w, flat)
    ((_, _, X),) = w.item("wall").shapes
    assert abs(a[:3] @ X.translation + a[3]) < 1e-12
    assert np.allclose(X.rotation[:, 2], a[:3] / 1.3)
    assert abs(np.linalg.det(X.rotation) - 1.0) < 1e-12


@pytest.mark.parametrize(
    ("kind", "message", "said"),
    [
        (JOINTS, {"position": ["1"]}, "position must be a list of numbers"),
        (JOINTS, {"name": "abc"}, "name must be a list"),
        (JOINTS, {"header": {"stamp": {"sec": 1.5}}}, "sec must be a whole number"),
        ("sensor_msgs/msg/Image", {"data": np.array([300])}, r"data\[0\] does not fit into uint8"),
        ("sensor_msgs/msg/Image", {"data": [1.7]}, r"data\[0\] does not fit into uint8"),
        ("sensor_msgs/msg/LaserScan", {"ranges": [1.0, 1e300]}, r"ranges\[1\] does not fit into float32"),
        ("std_msgs/msg/Bool", {"data": 0.5}, "data must be true or false"),
        ("sensor_msgs/msg/Imu", {"orientation_covariance": [1.0]}, "a list of 9 numbers, got 1"),
    ],
)
def test_numbers_are_not_rounded_into_a_field(kind, message, said):
    with pytest.raises(StateError, match=said):
        ros.to_bytes(kind, message)


def test_the_package_is_named_where_it_is_missing(monkeypatch):
    import sys

    from soacraft.robot.ros import cdr

    monkeypatch.setitem(sys.modules, "rosbags.typesys", None)
    with pytest.raises(StateError, match=r"need the package rosbags .*pip install 'soacraft\[ros\]'"):
        cdr._store.__wrapped__()


def places(message, path=()):
    """The paths to every number of a message."""
    if isinstance(message, dict | list):
        for key, value in message.items() if isinstance(message, dict) else enumerate(message):
            yield from places(value, (*path, key))
    elif isinstance(message, int | float):
        yield path


def listed(message):
    """The same message with lists for arrays, as JSON has it."""
    if isinstance(message, dict):
        return {key: listed(value) for key, value in message.items()}
    plain = message.tolist() if isinstance(message, np.ndarray) else message
    return [listed(x) for x in plain] if isinstance(plain, list | tuple) else plain


def replaced(message, path, value):
    if not path:
        return value
    if isinstance(message, dict):
        return {**message, path[0]: replaced(message[path[0]], path[1:], value)}
    return [replaced(x, path[1:], value) if i == path[0] else x for i, x in enumerate(message)]


@pytest.mark.parametrize("kind", [JOINTS, MOTION, PLACE, PULL, THING])
@pytest.mark.parametrize("truth", [True, False, np.True_])
def test_a_truth_value_is_no_number(panda, kind, truth):
    """Each number of a message in turn: readers refuse it, so does what writes bytes, and a world stays as it was."""
    n = panda.mb.nv
    world = World(panda)
    box, hull = Box(0.1, 0.2, 0.3), TriangleMesh(np.eye(3), [[0, 1, 2]])
    shapes = {"a": box, "b": hull, "c": Plane(), "d": Sphere(0.1), "e": Cylinder(0.1, 0.2)}
    message, read = {
        JOINTS: (ros.joint_state(panda, force=np.ones(n)), lambda x: ros.read_joint_state(panda, x)),
        MOTION: (
            ros.joint_trajectory(panda, [0.0, 1.0], np.ones((2, panda.mb.nq)), np.ones((2, n)), np.ones((2, n))),
            lambda x: ros.read_joint_trajectory(panda, x),
        ),
        PLACE: (ros.pose(sc.Pose(), "base", 1.5), ros.read_pose),
        PULL: (ros.wrench(np.ones(6), "base", 1.5), ros.read_wrench),
        THING: (ros.collision_object("thing", shapes, stamp=1.5), lambda x: ros.read_collision_object(world, x)),
    }[kind]
    message = listed(message)
    paths = list(places(message))
    assert len(paths) >= 8
    for path in paths:
        bad = replaced(message, path, truth)
        with pytest.raises(SoacraftError, match=r"number|booleans|type"):
            read(bad)
        with pytest.raises(StateError, match=r"must be a (list of )?numbers?"):
            ros.to_bytes(kind, bad)
    assert world.objects == ()
    read(message)


def test_truth_values_are_those_of_a_message_that_has_them():
    kind = "std_msgs/msg/Bool"
    for truth in (True, False, 1, 0, np.True_):
        assert ros.from_bytes(kind, ros.to_bytes(kind, {"data": truth}))["data"] == bool(truth)

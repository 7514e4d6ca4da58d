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


def test_times_that_do_not_grow_are_refused(panda):
    with pytest.raises(StateError, match="must grow from point to point"):
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


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": ""}, "the object has no id"),
        ({"operation": 9}, "must be 0, 1, 2 or 3, got 9"),
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
    with pytest.raises(StateError, match="operation must be 0"):
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


def test_the_package_is_named_where_it_is_missing(monkeypatch):
    import sys

    from soacraft.robot.ros import cdr

    monkeypatch.setitem(sys.modules, "rosbags.typesys", None)
    with pytest.raises(StateError, match=r"need the package rosbags .*pip install 'soacraft\[ros\]'"):
        cdr._store.__wrapped__()

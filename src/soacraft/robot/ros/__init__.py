"""ROS 2 messages to and from a robot and its world, without ROS.

A message is a dictionary with the fields of its kind, as ROS names them. `to_bytes` and `from_bytes` turn it into CDR,
the bytes that ROS 2 sends and bags keep, through the package rosbags (extra `ros`).

    message = sc.robot.ros.joint_state(rb, stamp=12.5)
    data = sc.robot.ros.to_bytes("sensor_msgs/msg/JointState", message)
    q, v, force = sc.robot.ros.read_joint_state(rb, sc.robot.ros.from_bytes("sensor_msgs/msg/JointState", data))

Hinges go by their names (`body.hinge_name`), which are the joints of a URDF file; frames by theirs.
"""

from soacraft.robot.ros.cdr import KINDS, from_bytes, to_bytes
from soacraft.robot.ros.joints import joint_state, joint_trajectory, read_joint_state, read_joint_trajectory
from soacraft.robot.ros.objects import collision_object, read_collision_object
from soacraft.robot.ros.places import pose, read_pose, read_wrench, wrench

__all__ = [
    "KINDS",
    "collision_object",
    "from_bytes",
    "joint_state",
    "joint_trajectory",
    "pose",
    "read_collision_object",
    "read_joint_state",
    "read_joint_trajectory",
    "read_pose",
    "read_wrench",
    "to_bytes",
    "wrench",
]


def __dir__() -> list[str]:
    return __all__

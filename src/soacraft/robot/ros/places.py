"""Poses and wrenches as messages, and what all messages share: the header, with a time and a frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.errors import StateError
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.pose import Pose
from soacraft.spatial.wrench import Wrench


def pose(value: Pose, frame: str = "", stamp: float = 0.0) -> dict[str, Any]:
    """A `geometry_msgs/msg/PoseStamped`: a pose in the frame of that name.

    >>> import soacraft as sc
    >>> sc.robot.ros.pose(sc.Pose(translation=(1, 2, 3)), "base", stamp=1.5)["header"]
    {'stamp': {'sec': 1, 'nanosec': 500000000}, 'frame_id': 'base'}
    """
    return {"header": header(frame, stamp), "pose": place(value)}


def read_pose(message: dict[str, Any]) -> tuple[Pose, str, float]:
    """The pose of a PoseStamped, the name of its frame, and its time in seconds."""
    frame, stamp = read_header(message)
    return read_place(field(message, "pose"), "pose"), frame, stamp


def wrench(value: Any, frame: str = "", stamp: float = 0.0) -> dict[str, Any]:
    """A `geometry_msgs/msg/WrenchStamped`: a wrench [moment; force] (6), or a `Wrench`, at the frame in its axes."""
    if isinstance(value, Wrench) and value.expressed_in is not None:
        raise StateError(
            f"a wrench in a message is in axes of its frame, and this one is in those of {value.expressed_in!r:.60}."
        )
    numbers = finite(np.asarray(value, dtype=float), (6,), "a wrench", StateError)
    return {"header": header(frame, stamp), "wrench": {"force": _xyz(numbers[3:]), "torque": _xyz(numbers[:3])}}


def read_wrench(message: dict[str, Any]) -> tuple[Array, str, float]:
    """The wrench [moment; force] (6) of a WrenchStamped, the name of its frame, and its time in seconds."""
    frame, stamp = read_header(message)
    given = field(message, "wrench")
    return np.concatenate([_vector(given, "torque"), _vector(given, "force")]), frame, stamp


def header(frame: str, stamp: float) -> dict[str, Any]:
    """A `std_msgs/msg/Header`; the time goes in seconds and nanoseconds."""
    seconds = float(finite(stamp, (), "stamp", StateError))
    nanoseconds = round(seconds * 1e9)
    if not 0 <= nanoseconds < 2**31 * 10**9:
        raise StateError(f"stamp must be between 0 and 2^31 seconds, got {stamp!r:.40}.")
    whole, rest = divmod(nanoseconds, 10**9)
    return {"stamp": {"sec": whole, "nanosec": rest}, "frame_id": str(frame)}


def read_header(message: Any) -> tuple[str, float]:
    """Name of the frame, and the time in seconds; both may be left out."""
    if not isinstance(message, dict):
        raise StateError(f"a message is a dictionary, got {message!r:.60}.")
    head = message.get("header") or {}
    stamp = head.get("stamp") or {}
    return str(head.get("frame_id", "")), int(stamp.get("sec", 0)) + 1e-9 * int(stamp.get("nanosec", 0))


def place(value: Pose) -> dict[str, Any]:
    """A `geometry_msgs/msg/Pose`."""
    if not isinstance(value, Pose) or value.batch_shape:
        raise StateError(f"a message holds one Pose(...), got {value!r:.60}.")
    x, y, z, w = value.as_quaternion().tolist()
    return {"position": _xyz(value.translation), "orientation": {"x": x, "y": y, "z": z, "w": w}}


def read_place(message: Any, what: str) -> Pose:
    """A pose; a rotation that is all zeros, as in a message that was never filled, is refused."""
    turn = field(message, "orientation")
    numbers = finite([turn.get(k, 0.0) for k in "xyzw"], (4,), f"orientation of {what}", StateError)
    size = float(np.linalg.norm(numbers))
    if not 0.99 < size < 1.01:
        raise StateError(f"the orientation of {what} must be a unit quaternion, and has the length {size:.3g}.")
    return Pose.from_quaternion(numbers / size, _vector(message, "position"))


def field(message: Any, name: str) -> dict[str, Any]:
    """A nested message, which must be there."""
    given = message.get(name) if isinstance(message, dict) else None
    if not isinstance(given, dict):
        raise StateError(f"the message has no {name!r}, or it is no message itself: {given!r:.60}.")
    return given


def _vector(message: dict[str, Any], name: str) -> Array:
    given = field(message, name)
    return finite([given.get(k, 0.0) for k in "xyz"], (3,), name, StateError)


def _xyz(numbers: Any) -> dict[str, float]:
    x, y, z = (float(v) for v in numbers)
    return {"x": x, "y": y, "z": z}

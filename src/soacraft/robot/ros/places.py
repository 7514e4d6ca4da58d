"""Poses and wrenches as messages, and what all messages share: the header, with a time and a frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.arguments import whole_number
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
    """The pose of a PoseStamped, the name of its frame, and its time in seconds; or of a plain Pose, which has neither:
    "" and 0."""
    frame, stamp = read_header(message)
    plain = "pose" not in message and ("position" in message or "orientation" in message)
    return read_place(message if plain else field(message, "pose"), "pose"), frame, stamp


def wrench(value: Any, frame: str = "", stamp: float = 0.0) -> dict[str, Any]:
    """A `geometry_msgs/msg/WrenchStamped`: a wrench [moment; force] (6), or a `Wrench`, at the frame in its axes."""
    if isinstance(value, Wrench) and value.expressed_in is not None:
        raise StateError(
            f"a wrench in a message is in axes of its frame, and this one is in those of {value.expressed_in!r:.60}."
        )
    numbers = finite(np.asarray(value) if isinstance(value, Wrench) else value, (6,), "a wrench", StateError)
    return {"header": header(frame, stamp), "wrench": {"force": _xyz(numbers[3:]), "torque": _xyz(numbers[:3])}}


def read_wrench(message: dict[str, Any]) -> tuple[Array, str, float]:
    """The wrench [moment; force] (6) of a WrenchStamped, the name of its frame, and its time in seconds; or of a plain
    Wrench, which has neither: "" and 0."""
    frame, stamp = read_header(message)
    plain = "wrench" not in message and ("force" in message or "torque" in message)
    content = message if plain else field(message, "wrench")
    return np.concatenate([_vector(content, "torque"), _vector(content, "force")]), frame, stamp


def header(frame: str, stamp: float) -> dict[str, Any]:
    """A `std_msgs/msg/Header`; the time goes in seconds and nanoseconds."""
    if not isinstance(frame, str):
        raise StateError(f"the frame of a message is a name, got {frame!r:.60}.")
    return {"stamp": time(stamp, "stamp"), "frame_id": frame}


def time(value: Any, what: str) -> dict[str, int]:
    """A `builtin_interfaces/msg/Time` or `Duration`."""
    seconds = float(finite(value, (), what, StateError))
    if not 0.0 <= seconds < 2.0**31 - 1.0:
        raise StateError(f"{what} must be between 0 and 2^31 seconds, got {value!r:.40}.")
    full, rest = divmod(round(seconds * 1e9), 10**9)
    return {"sec": full, "nanosec": rest}


def read_header(message: Any) -> tuple[str, float]:
    """Name of the frame, and the time in seconds; both may be left out."""
    if not isinstance(message, dict):
        raise StateError(f"a message is a dictionary, got {message!r:.60}.")
    head = {} if message.get("header") is None else field(message, "header")
    frame = head.get("frame_id", "")
    if not isinstance(frame, str):
        raise StateError(f"frame_id of the message must be a text, got {frame!r:.60}.")
    return frame, read_time(head, "stamp")


def read_time(message: dict[str, Any], name: str) -> float:
    """Seconds of a time or a duration, the nearest number to them; zero where it is left out."""
    content = {} if message.get(name) is None else field(message, name)
    full = whole_number(content.get("sec", 0), f"sec of {name!r}", -(2**31), 2**31 - 1, StateError)
    rest = whole_number(content.get("nanosec", 0), f"nanosec of {name!r}", 0, 10**9 - 1, StateError)
    return (full * 10**9 + rest) / 10**9


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
    content = message.get(name) if isinstance(message, dict) else None
    if not isinstance(content, dict):
        raise StateError(f"the message has no {name!r}, or it is no message itself: {content!r:.60}.")
    return content


def _vector(message: dict[str, Any], name: str) -> Array:
    content = field(message, name)
    return finite([content.get(k, 0.0) for k in "xyz"], (3,), name, StateError)


def _xyz(numbers: Any) -> dict[str, float]:
    x, y, z = (float(v) for v in numbers)
    return {"x": x, "y": y, "z": z}

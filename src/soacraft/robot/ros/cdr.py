"""Messages as CDR bytes: the fields of each kind come from rosbags, those of MoveIt are defined here."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

import numpy as np

from soacraft.errors import StateError, near
from soacraft.spatial.checks import holds_boolean

#: The kinds that `soacraft.robot.ros` makes and reads; `to_bytes` takes every other one that rosbags knows, too.
KINDS = (
    "geometry_msgs/msg/PoseStamped",
    "geometry_msgs/msg/WrenchStamped",
    "moveit_msgs/msg/CollisionObject",
    "sensor_msgs/msg/JointState",
    "trajectory_msgs/msg/JointTrajectory",
)
#: Bytes of one message, and entries of one list in it: what comes over a network is not trusted.
LARGEST, LONGEST = 256 * 2**20, 20_000_000

_OBJECT_TYPE = "string key\nstring db\n"
_COLLISION_OBJECT = """\
std_msgs/Header header
geometry_msgs/Pose pose
string id
object_recognition_msgs/ObjectType type
shape_msgs/SolidPrimitive[] primitives
geometry_msgs/Pose[] primitive_poses
shape_msgs/Mesh[] meshes
geometry_msgs/Pose[] mesh_poses
shape_msgs/Plane[] planes
geometry_msgs/Pose[] plane_poses
string[] subframe_names
geometry_msgs/Pose[] subframe_poses
byte ADD=0
byte REMOVE=1
byte APPEND=2
byte MOVE=3
byte operation
"""


def to_bytes(kind: str, message: dict[str, Any]) -> bytes:
    """The CDR bytes of a message; a field that is left out is empty or zero, one that there is not is refused. O(size).

    >>> import soacraft as sc
    >>> len(sc.robot.ros.to_bytes("geometry_msgs/msg/WrenchStamped", {"wrench": {"force": {"z": 9.81}}}))
    68
    """
    store = _store()
    _known(kind)
    try:
        return bytes(store.serialize_cdr(_object(kind, message, kind), kind))
    except StateError:
        raise
    except Exception as problem:  # what a field of the wrong kind raises depends on the field
        raise StateError(f"a {kind} cannot be written from this dictionary: {problem!r:.160}.") from None


def from_bytes(kind: str, data: bytes) -> dict[str, Any]:
    """The message that CDR bytes hold, lists of numbers as arrays. Bytes that are not of this kind are refused, as far
    as their lengths tell; so are messages of more than 256 MiB. O(size)."""
    store = _store()
    _known(kind)
    if not isinstance(data, bytes | bytearray | memoryview):
        raise StateError(f"a message is read from bytes, got {data!r:.60}.")
    if memoryview(data).nbytes > LARGEST:
        raise StateError(f"a message of {memoryview(data).nbytes} bytes is larger than the {LARGEST} that are read.")
    content = bytes(data)
    try:
        decoded = store.deserialize_cdr(content, kind)
    except Exception as problem:  # rosbags reads lengths and texts without looking: any exception is a bad message
        raise StateError(f"these {len(content)} bytes are no {kind}: {problem!r:.160}.") from None
    message: dict[str, Any] = _plain(decoded)
    return message


@cache
def _store() -> Any:
    try:
        # an optional dependency
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    except ImportError as problem:
        raise StateError(
            f"messages as bytes need the package rosbags ({problem}): pip install 'soacraft[ros]'."
        ) from None
    store = get_typestore(Stores.ROS2_HUMBLE)
    store.max_sequence_length = LONGEST
    for name, text in (
        ("object_recognition_msgs/msg/ObjectType", _OBJECT_TYPE),
        ("moveit_msgs/msg/CollisionObject", _COLLISION_OBJECT),
    ):
        store.register(get_types_from_msg(text, name))
    return store


def _known(kind: Any) -> None:
    if not isinstance(kind, str) or kind not in _store().fielddefs:
        raise StateError(f"there is no kind of message {kind!r:.80}{near(str(kind), KINDS)}")


def _object(kind: str, fields_given: Any, place: str) -> Any:
    """A message as rosbags has it, from a dictionary; its nested ones too."""
    store = _store()
    _, fields = store.fielddefs[kind]
    if not isinstance(fields_given, dict):
        raise StateError(f"{place} must be a dictionary, got {fields_given!r:.60}.")
    names = [name for name, _ in fields]
    for name in fields_given:
        if name not in names:
            raise StateError(f"{place} has no field {name!r:.60}{near(str(name), names)}")
    values = {name: _value(what, fields_given.get(name), f"{place}.{name}") for name, what in fields}
    return store.types[kind](**values)


def _value(what: Any, content: Any, place: str) -> Any:
    node, detail = int(what[0]), what[1]
    if node == 1:  # a number or a text
        name = detail[0]
        if name == "string":
            if content is not None and not isinstance(content, str):
                raise StateError(f"{place} must be a text, got {content!r:.60}.")
            return content or ""
        return (0.0 if name.startswith("float") else 0) if content is None else _number(name, content, place)
    if node == 2:  # a message
        return _object(detail, {} if content is None else content, place)
    inner, count = detail
    items = [] if content is None else content
    if int(inner[0]) == 1 and inner[1][0] != "string":
        numbers = _numbers(items, _dtype(inner[1][0]), place)
        if node == 3 and content is not None and len(numbers) != count:
            raise StateError(f"{place} must be a list of {count} numbers, got {len(numbers)}.")
        return np.zeros(count, numbers.dtype) if node == 3 and content is None else numbers
    if not isinstance(items, list | tuple):
        raise StateError(f"{place} must be a list, got {content!r:.60}.")
    if node == 3 and content is None:
        items = [None] * count
    if node == 3 and len(items) != count:
        raise StateError(f"{place} must be a list of {count}, got {len(items)}.")
    return [_value(inner, x, f"{place}[{i}]") for i, x in enumerate(items)]


def _number(name: str, content: Any, place: str) -> Any:
    value = np.asarray(content)
    if value.ndim or not (np.issubdtype(value.dtype, np.number) or (value.dtype == bool and name == "bool")):
        raise StateError(f"{place} must be a number, got {content!r:.60}.")
    if name.startswith("float"):
        return float(value)
    if name == "bool" and value.dtype != bool and value not in (0, 1):
        raise StateError(f"{place} must be true or false, got {content!r:.60}.")
    if not np.isfinite(value) or int(value) != value:
        raise StateError(f"{place} must be a whole number, got {content!r:.60}.")
    return bool(value) if name == "bool" else int(value)


def _numbers(items: Any, dtype: np.dtype[Any], place: str) -> Any:
    """A list of numbers of a kind; one that is no such number is refused, not rounded."""
    if isinstance(items, bytes | bytearray):
        items = np.frombuffer(bytes(items), np.uint8)
    array = np.asarray(items)
    truth = holds_boolean(items) and dtype.kind != "b"
    if array.ndim != 1 or truth or (array.size and array.dtype.kind not in "iufb"):
        raise StateError(f"{place} must be a list of numbers, got {items!r:.60}.")
    with np.errstate(over="ignore", invalid="ignore"):
        converted = np.ascontiguousarray(array, dtype=dtype)
    same = np.isfinite(converted) == np.isfinite(array) if dtype.kind == "f" else converted == array
    if not np.all(same):
        i = int(np.argmin(same))
        raise StateError(f"{place}[{i}] does not fit into {dtype.name}, got {array[i]!r:.60}.")
    return converted


def _dtype(name: str) -> Any:
    return np.dtype({"byte": "uint8", "char": "uint8", "octet": "uint8"}.get(name, name))


def _plain(x: Any) -> Any:
    if dataclasses.is_dataclass(x):
        names = [f.name for f in dataclasses.fields(x) if f.name != "__msgtype__"]
        return {name: _plain(getattr(x, name)) for name in names}
    return [_plain(each) for each in x] if isinstance(x, list) else x

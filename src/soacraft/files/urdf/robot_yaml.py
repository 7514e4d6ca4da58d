"""`robot.yaml` next to a URDF file: which frames close loops, and which joints have motors.

    closed_loop: [[frame, frame], ...]      the ends of each loop
    type: ['6d', '3d', ...]                 '6d' holds position and rotation (Weld), '3d' position (Spherical)
    name_mot: [joint, ...]                  the joints with motors

A frame is named by a joint or by a link; a joint's frame is that of the link it carries.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import yaml  # type: ignore[import-untyped]

from soacraft.errors import ModelFileError
from soacraft.files.urdf.build import Built
from soacraft.files.urdf.topology import close
from soacraft.files.xml_tree import Element, fail, inside, read_bytes
from soacraft.model import Actuator, Frame
from soacraft.model.hinges import Hinge, Spherical, Weld

_MAX_BYTES = 64 * 1024
_MAX_DEPTH = 16
_MERGE = "tag:yaml.org,2002:merge"
_HINGES: dict[str, Hinge] = {"6d": Weld(), "3d": Spherical()}


class RobotYaml(msgspec.Struct):
    """The keys that are read."""

    closed_loop: list[tuple[str, str]] = []
    type: list[str] = []
    name_mot: list[str] = []


def read_robot_yaml(built: Built, path: Path) -> None:
    """Add the loops and actuators of a `robot.yaml`."""
    try:
        _read(built, path)
    except ModelFileError as problem:
        built.r.owner = ""
        built.r.go_on(problem, "closed_loop")
        note = f"is left out: {problem.fault or str(problem)}"
        built.r.report.add("robot.yaml", "ignored", note=note, file=str(path), dynamic=True)


def _read(built: Built, path: Path) -> None:
    inside([path.parent], path.name, str(path))
    file, lines, data = str(path), *_parse(path)
    add = built.r.report.add
    for key in data:
        if key not in RobotYaml.__struct_fields__:
            add(key, "ignored", note="is not a key that is read", line=lines[key], file=file, dynamic=True)
    try:
        content = msgspec.convert({k: v for k, v in data.items() if k in RobotYaml.__struct_fields__}, RobotYaml)
    except msgspec.ValidationError as problem:
        raise ModelFileError(f"{file}: {problem}") from None
    at = {key: Element(key, {}, lines.get(key, 1), file) for key in RobotYaml.__struct_fields__}
    if len(content.type) != len(content.closed_loop):
        raise fail(at["type"], f"{len(content.type)} types for {len(content.closed_loop)} loops; give one for each.")
    for (one, other), kind in zip(content.closed_loop, content.type, strict=True):
        with built.r.part(at["closed_loop"], "closed_loop", f"{one}-{other}"):
            _close(built, one, other, kind, at)
    for joint in content.name_mot:
        with built.r.part(at["name_mot"], "name_mot", joint):
            _drive(built, joint, at["name_mot"])
    for key in ("closed_loop", "type"):
        if key in data:
            add(key, "converted", note="is loop closures, in mb.loops", line=lines[key], file=file)
    if "name_mot" in data:
        add("name_mot", "recorded", note="is actuators, in mb.actuators", line=lines["name_mot"], file=file)


def _parse(path: Path) -> tuple[dict[str, int], dict[str, Any]]:
    """The keys with their lines, and the values. Anchors, aliases and tags are refused before anything is made."""
    raw = read_bytes(path, _MAX_BYTES)
    try:
        text = raw.decode("utf-8")
        _refuse_tricks(text, path)
        node = yaml.compose(text, yaml.SafeLoader)
        data = msgspec.yaml.decode(raw)
    except (UnicodeDecodeError, yaml.YAMLError, msgspec.MsgspecError, ValueError) as problem:
        if isinstance(problem, ModelFileError):
            raise
        raise ModelFileError(f"{path}: is not YAML that can be read: {' '.join(str(problem).split())}.") from None
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise ModelFileError(f"{path}: must hold keys such as closed_loop, type and name_mot, got {data!r:.60}.")
    lines: dict[str, int] = {}
    for key, _ in node.value:
        if key.tag == _MERGE:
            line = key.start_mark.line + 1
            raise ModelFileError(f"{path}:{line}: a merge key (<<) is not read; write the values out.")
        if key.value in lines:
            where = Element("key", {"name": key.value}, key.start_mark.line + 1, str(path))
            raise fail(where, "occurs twice; leave one.")
        lines[key.value] = key.start_mark.line + 1
    return lines, data


def _refuse_tricks(text: str, path: Path) -> None:
    """Anchors, aliases and tags can make little text grow large, or stand for objects; nesting can be too deep."""
    depth = 0
    for token in yaml.scan(text, yaml.SafeLoader):
        line = token.start_mark.line + 1
        if isinstance(token, yaml.AnchorToken | yaml.AliasToken | yaml.TagToken):
            raise ModelFileError(f"{path}:{line}: anchors, aliases and tags are not read; write the values out.")
        kind = type(token).__name__
        depth += kind.endswith("StartToken") - kind.endswith("EndToken")
        if depth > _MAX_DEPTH:
            raise ModelFileError(f"{path}:{line}: is nested more than {_MAX_DEPTH} deep.")


def _close(built: Built, one: str, other: str, kind: str, at: dict[str, Element]) -> None:
    hinge = _HINGES.get(kind.lower())
    if hinge is None:
        raise fail(at["type"], f"the type {kind!r:.60} of a loop must be '6d' or '3d'.")
    a, b = (_frame(built, name, at["closed_loop"]) for name in (one, other))
    built.mb.close_loop(f"{one}-{other}", a, b, hinge)


def _frame(built: Built, name: str, where: Element) -> Frame:
    """The frame of a joint (that of its child), of a link, or one that the file adds."""
    joint = built.r.joints.get(name)
    frames = {
        id(frame): frame
        for frame in (
            None if joint is None else built.frames[joint.child or ""],
            built.frames.get(name),
            built.places.get(name),
        )
        if frame is not None
    }
    if len(frames) > 1:
        raise fail(where, f"{name!r:.80} names a joint and a link that are different frames; rename one.")
    if not frames:
        raise fail(where, f"there is no joint or link {name!r:.80}{close(name, [*built.r.joints, *built.frames])}")
    return next(iter(frames.values()))


def _drive(built: Built, joint: str, where: Element) -> None:
    dof = built.dof(joint)
    if dof is None:
        raise fail(where, f"{joint!r:.80} is no joint with one dof{close(joint, built.hinges)}")
    built.mb.add_actuator(Actuator(built.actuators.new(joint), "motor", {dof: 1.0}))

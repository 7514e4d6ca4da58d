"""Cameras: nodes where they are fixed on their bodies, and records of what else the file says of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import isfinite
from typing import Any

from soacraft.errors import ModelError
from soacraft.files.mjcf.bodies import Build
from soacraft.files.mjcf.joints import pose_of
from soacraft.files.mjcf.rules import Fate, rule
from soacraft.files.mjcf.walk import Walk
from soacraft.files.xml_tree import Element

Handler = Callable[[Element, Walk], Any]

#: Counts of the numbers of a position and of each form of a rotation.
_NUMBERS = {"pos": 3, "quat": 4, "axisangle": 4, "euler": 3, "xyaxes": 6, "zaxis": 3}
_TURNS = frozenset(_NUMBERS) - {"pos"}
_PLACE = " ".join(_NUMBERS)
_OTHER = Fate("recorded", given=False)
_FIXED = {"mode": "the node is fixed on its body, whatever the camera follows"}


def camera(record: Callable[[Element, Walk], None]) -> Handler:
    """A camera: a node, and a record. One whose place cannot be read is a record alone, and refuses nothing."""
    note = "is a node, and is kept in mb.records"
    node = rule("converted", used=f"name class {_PLACE}", held="name", note=note, notes=_FIXED, before=record)
    recorded = rule(
        "recorded", rest="recorded", given=False, note="its place cannot be read: is no node", before=record
    )
    return _where_readable(replace(node, rest=_OTHER), recorded)


def default_camera() -> Handler:
    """The defaults of cameras: their place counts."""
    node = rule(used=_PLACE)
    ignored = rule("ignored", rest="ignored", given=False, note="has no effect on motion")
    return _where_readable(replace(node, rest=replace(_OTHER, status="ignored")), ignored)


def _where_readable(node: Handler, otherwise: Handler) -> Handler:
    def handler(element: Element, walk: Walk) -> Any:
        return node(element, walk) if _readable(element) else otherwise(element, walk)

    return handler


def _readable(element: Element) -> bool:
    """True if position and rotation are numbers, in the right count, and the rotation is one."""
    numbers = {name: text for name, text in element.attributes.items() if name in _NUMBERS}
    for name, text in numbers.items():
        try:
            x = [float(part) for part in text.split()]
        except ValueError:
            return False
        if len(x) != _NUMBERS[name] or not all(map(isfinite, x)):
            return False
        if name in _TURNS - {"euler"} and not _turns(name, x):
            return False
    return len(_TURNS & numbers.keys()) <= 1


def _turns(name: str, x: list[float]) -> bool:
    """True if the axes that define a rotation have a length, and two of them different directions."""
    if name != "xyaxes":
        return any(x[:4] if name == "quat" else x[:3])
    (a, b, c), (d, e, f) = x[:3], x[3:]
    return any((b * f - c * e, c * d - a * f, a * e - b * d))


def add_cameras(build: Build) -> None:
    """A node for each camera, as MuJoCo has it: it looks along -z, with x to the right."""
    compiled, model = build.compiled, build.compiled.model
    elements = compiled.elements(compiled.spec.cameras)
    for number in range(int(model.ncam)):
        carrier, element = build.carriers[int(model.cam_bodyid[number])], elements.get(number)
        file_name = "" if element is None else element.attributes.get("name", "")
        name = build.node_name(carrier, file_name, f"camera{number}")
        if file_name.strip() and name != file_name and element is not None:
            build.walk.tell(element, "converted", "name", f"{file_name!r} is called {name!r}", key="body/camera")
        try:
            carrier.add_node(name, pose_of(model.cam_pos[number], model.cam_quat[number]), role="sensor")
        except ModelError as problem:
            raise build.refused(element, problem) from None

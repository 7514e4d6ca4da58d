"""Elements that others have added to URDF: transmissions, frames, loop joints, and what is only recorded."""

from __future__ import annotations

from typing import Any

from soacraft.files.urdf.parts import Loop, LoopEnd, Motor, Place
from soacraft.files.urdf.reading import DONE, REPORTED, Handler, Reading, flatten
from soacraft.files.xml_tree import Element, read_floats

RECORDED: dict[str, str] = {
    "robot/gazebo": "gazebo",
    "robot/sensor": "sensor",
    "robot/ros2_control": "ros2_control",
    "robot/link/gazebo": "gazebo",
    "robot/link/sensor": "sensor",
    "robot/link/contact": "contact",
    "robot/joint/gazebo": "gazebo",
    "robot/joint/safety_controller": "safety_controller",
    "robot/joint/calibration": "calibration",
}
"""Elements that are kept in `mb.records`, by kind."""


def _recorder(path: str, kind: str) -> Handler:
    def handler(r: Reading, element: Element, target: Any) -> object:
        """Keep the element as a record."""
        return r.record(element, path, kind)

    return handler


def frame(r: Reading, element: Element, target: Any) -> None:
    """A frame fixed on a link: a node."""
    r.owner = name = r.word(element, "name")
    r.places.append(Place(element, name, r.word(element, "link"), r.pose(element)))
    r.note("converted", "is a node of its body")


def transmission(r: Reading, element: Element, target: Any) -> object:
    """An actuator of one joint; with more than one of either only recorded."""
    path = "robot/transmission"
    r.owner = element.attributes.get("name", "")
    joints = [child for child in element.children if child.tag == "joint"]
    actuators = [child for child in element.children if child.tag == "actuator"]
    if len(joints) != 1 or len(actuators) > 1:
        return r.record(element, path, "transmission")
    holders = [element, *joints, *actuators]
    reduction = _inside(holders, "mechanicalReduction")
    interface = _inside(holders, "hardwareInterface")
    name = (actuators[0].attributes.get("name") if actuators else None) or r.owner or joints[0].attributes.get("name")
    if not name or not joints[0].attributes.get("name"):
        return r.record(element, path, "transmission")
    gear = 1.0 if reduction is None else read_floats(reduction, "the reduction", reduction.text, 1)[0]
    kind = "" if interface is None else interface.text
    r.motors.append(Motor(element, name, joints[0].attributes["name"], gear, kind, flatten(element)))
    r.lines(element, path, "recorded", "is an actuator, in mb.actuators")
    return REPORTED


def _inside(holders: list[Element], tag: str) -> Element | None:
    """The first element of that tag inside one of the holders."""
    return next((child for each in holders for child in each.children if child.tag == tag), None)


def loop_joint(r: Reading, element: Element, target: Any) -> Loop | object:
    """A joint that closes a loop."""
    r.owner = name = r.word(element, "name")
    kind = r.word(element, "type")
    if kind not in ("continuous", "revolute"):
        r.note("ignored", f"a loop joint of type {kind!r:.60} is not read", dynamic=True)
        for child in element.children:
            r.lines(child, f"robot/loop_joint/{child.tag}", "ignored", "is part of a loop joint that is not read", True)
        return DONE
    r.note("converted", "is a loop closure by a Pin, in mb.loops")
    loop = Loop(element, name, kind)
    r.loops.append(loop)
    return loop


def loop_axis(r: Reading, element: Element, target: Loop) -> None:
    """The axis about which the ends turn, in the frame of each."""
    r.once(target, "axis", element)
    target.axis = r.axis(element, "loop joint", target.name)


def loop_end(r: Reading, element: Element, target: Loop) -> None:
    """A frame on a link, where the loop is closed."""
    r.once(target, element.tag, element)
    setattr(target, element.tag, LoopEnd(element, r.word(element, "link"), r.pose(element)))


EXTENSIONS: dict[str, Handler] = {
    **{path: _recorder(path, kind) for path, kind in RECORDED.items()},
    "robot/transmission": transmission,
    "robot/frame": frame,
    "robot/loop_joint": loop_joint,
    "robot/loop_joint/axis": loop_axis,
    "robot/loop_joint/link1": loop_end,
    "robot/loop_joint/link2": loop_end,
}

"""Parts of a model other than its bodies: shapes, materials, mimics, transmissions, frames, loops, records."""

from __future__ import annotations

from soacraft.errors import ModelFileError
from soacraft.files.urdf.build import Built
from soacraft.files.urdf.capsules import join_capsules
from soacraft.files.urdf.names import Names
from soacraft.files.urdf.parts import Color, Joint, Link, Loop, LoopEnd, Motor, Place, Rgba, Shape
from soacraft.files.urdf.reading import Reading
from soacraft.files.urdf.topology import close
from soacraft.files.xml_tree import Element, fail, shorten
from soacraft.model import Actuator, Body, Geometry, Material, Node, Record, Root
from soacraft.model.hinges import Pin

_MOST_PARTS = 200_000
_KINDS = {"effort": "motor", "velocity": "velocity", "position": "position"}


def check_size(r: Reading, robot: Element) -> None:
    """Refuse what would fill the memory."""
    parts = 2 * len(r.links) + sum(len(link.shapes) for link in r.links.values()) + 2 * len(r.loops) + len(r.places)
    if parts + len(r.colors) + len(r.motors) + len(r.records) > _MOST_PARTS:
        most = f"more than {_MOST_PARTS // 2} links, or twice as many shapes, frames and records"
        raise fail(robot, f"makes the model too large to read: {most}.")


def check_ties(r: Reading) -> None:
    """Refuse mimics of what is not there or in a circle."""
    safe: set[str] = set()
    for joint in r.joints.values():
        _follow(r, joint, safe)


def finish(built: Built) -> None:
    """All that is not the tree."""
    r = built.r
    colors = _materials(built)
    taken: dict[Body | Root, Names] = {}
    for link in r.links.values():
        for shape, caps in join_capsules(link):
            for each in (shape, *caps):
                note = f"is a part of capsule {shape.name!r:.80}"
                r.later(each.element, f"robot/link/{shape.role}", "converted", note, name=shape.name)
        for shape in link.shapes:
            _shape(built, link, shape, taken, colors)
    for place in r.places:
        with r.part(place.element, "robot/frame"):
            _node(built, place.element, place.link, place.name, place)
    for loop in r.loops:
        _loop(built, loop)
    for joint in r.joints.values():
        if joint.mimic is not None:
            _mimic(built, joint)
    for motor in r.motors:
        _motor(built, motor)
    for record in r.records:
        built.mb.add_record(record)


# -- materials and shapes --------------------------------------------------------------------------------------


def _materials(built: Built) -> dict[str, Color]:
    """Materials of the robot, then those that shapes define; of two under one name the first counts."""
    colors = dict(built.r.colors)
    for link in built.r.links.values():
        for shape in link.shapes:
            color = shape.color
            if color is not None and color.name and (color.rgba or color.texture):
                colors.setdefault(color.name, color)
    for color in colors.values():
        with built.r.part(color.element, "robot/material"):
            built.mb.add_material(Material(color.name, color.rgba, color.texture))
    return colors


def _shape(built: Built, link: Link, shape: Shape, taken: dict[Body | Root, Names], colors: dict[str, Color]) -> None:
    r, path = built.r, f"robot/link/{shape.role}"
    if not shape.kind:
        r.later(shape.element, path, "ignored", "has no shape that can be read", name=shape.name or link.name)
        return
    carrier, pose = built.carriers[link.name]
    name = taken.setdefault(carrier, Names()).new(shape.name or shape.role)
    if shape.name and name != shape.name:
        r.later(shape.element, path, "converted", f"is called {name!r}: the name is taken on its body", "name")
    rgba, material = _color(built, shape.color, colors, f"{path}/material")
    at = pose if shape.origin is None else pose @ shape.origin
    with r.part(shape.element, path, link.name):
        carrier.add_geometry(Geometry(name, shape.kind, shape.size, at, shape.role, rgba, material, shape.mesh))


def _color(built: Built, color: Color | None, colors: dict[str, Color], path: str) -> tuple[Rgba | None, str]:
    """The colour of a shape, and the name of its material if the model has one."""
    if color is None:
        return None, ""
    shared = colors.get(color.name)
    if color.rgba is None and color.texture == "":
        if shared is None:
            built.r.later(color.element, path, "ignored", f"there is no material {color.name!r:.80}")
            return None, ""
        return shared.rgba, shared.name
    if shared is not None and (shared.rgba, shared.texture) != (color.rgba, color.texture):
        note = "differs from the material of this name; the shape keeps its own colour"
        built.r.later(color.element, path, "converted", note)
        return color.rgba, ""
    return color.rgba, color.name


# -- frames and loops ------------------------------------------------------------------------------------------


def _node(built: Built, element: Element, link: str, name: str, end: Place | LoopEnd) -> Node:
    """A node on the body that carries a link."""
    carrier, pose = built.link(link, element)
    new = built.node_name(carrier, name)
    if new != name:
        built.r.later(element, "robot/frame", "converted", f"is called {new!r} in the model", "name")
    node = carrier.add_node(new, pose @ end.pose)
    if isinstance(end, Place):
        built.places[name] = node
    return node


def _loop(built: Built, loop: Loop) -> None:
    """A loop joint: a node on each link, tied by a pin."""
    with built.r.part(loop.element, "robot/loop_joint"):
        if loop.axis is None or loop.link1 is None or loop.link2 is None:
            raise fail(loop.element, "needs an <axis>, a <link1> and a <link2>.")
        a, b = (_node(built, end.element, end.link, loop.name, end) for end in (loop.link1, loop.link2))
        built.mb.close_loop(loop.name, a, b, Pin(loop.axis))


# -- mimics and transmissions ----------------------------------------------------------------------------------


def _follow(r: Reading, joint: Joint, safe: set[str]) -> None:
    """Refuse a joint that follows what is not there, or itself by way of others. O(n) for all joints together."""
    path: dict[str, None] = {}
    at: Joint = joint
    while at.mimic is not None and at.name not in safe:
        mimic = at.mimic
        try:
            if at.name in path:
                ring = [*list(path)[list(path).index(at.name) :][:8], at.name]
                shown = " after ".join(map(shorten, ring))
                raise fail(mimic.element, f"joints follow each other in a circle: {shown}.")
            if mimic.joint not in r.joints:
                text = f"joint {at.name!r:.80} follows {mimic.joint!r:.80}, which is not in the file"
                raise fail(mimic.element, text + close(mimic.joint, r.joints))
        except ModelFileError as problem:
            r.owner = at.name
            r.go_on(problem, "robot/joint/mimic")
            r.later(mimic.element, "robot/joint/mimic", "ignored", problem.fault, dynamic=True, name=at.name)
            at.mimic = None
            break
        path[at.name] = None
        at = r.joints[mimic.joint]
    safe.update(path)


def _mimic(built: Built, joint: Joint) -> None:
    """q = m q(other) + o as the coupling q - m q(other) = o."""
    mimic = joint.mimic
    assert mimic is not None
    with built.r.part(mimic.element, "robot/joint/mimic", joint.name):
        dof, other = built.dof(joint.name), built.dof(mimic.joint)
        if dof is None or other is None:
            bad = built.r.joints[joint.name if dof is None else mimic.joint]
            raise fail(mimic.element, f"joint {bad.name!r:.80} is {bad.type}; only joints with one dof can follow.")
        terms = {dof: 1.0} | ({other: -mimic.multiplier} if mimic.multiplier else {})
        name = dof
        while name in built.mb._attachments.loops:
            name += "_mimic"
        built.mb.couple(name, terms, mimic.offset)


def _motor(built: Built, motor: Motor) -> None:
    """A transmission as an actuator; one whose joint has not one dof is only recorded."""
    dof = built.dof(motor.joint)
    if dof is None:
        note = f"{motor.joint!r:.80} is no joint with one dof; kept in mb.records as 'transmission'"
        built.r.later(motor.element, "robot/transmission", "recorded", note)
        built.mb.add_record(Record("transmission", motor.name, motor.attributes))
        return
    name = built.actuators.new(motor.name)
    if name != motor.name:
        note = f"the actuator is called {name!r}: its name is taken"
        built.r.later(motor.element, "robot/transmission", "converted", note)
    kind = next((kind for word, kind in _KINDS.items() if word in motor.interface.lower()), "motor")
    with built.r.part(motor.element, "robot/transmission"):
        built.mb.add_actuator(Actuator(name, kind, {dof: motor.reduction}, motor.attributes))

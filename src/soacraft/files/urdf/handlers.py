"""One function for each element of URDF, and the table that says which handles what.

An element that is not in `HANDLERS` shows in the report as ignored, with all that is inside it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from soacraft.files.urdf.extensions import EXTENSIONS
from soacraft.files.urdf.joints import NO_LIMIT
from soacraft.files.urdf.parts import Color, Dynamics, Inertial, Joint, Limit, Link, Mimic, Shape
from soacraft.files.urdf.reading import Handler, Reading
from soacraft.files.xml_tree import Element, fail

_BOUNDS = ("lower", "upper", "velocity", "effort")
TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")


def robot(r: Reading, element: Element, target: Any) -> None:
    """The root element."""
    if r.lenient and not element.attributes.get("name", "").strip():
        r.robot = Path(r.file).stem
        r.note("repaired", f"has no name: is called {r.robot!r:.80} after its file")
        r.mark("name")
        return
    r.robot = r.word(element, "name")


def link(r: Reading, element: Element, target: Any) -> Link:
    """A link: a body."""
    r.owner = name = r.word(element, "name")
    if name in r.links:
        raise fail(element, f"there is a link of this name already, on line {r.links[name].element.line}.")
    r.links[name] = item = Link(element, name)
    return item


def inertial(r: Reading, element: Element, target: Link) -> Inertial:
    """Mass, centre of mass and moment of a link."""
    r.once(target, "inertial", element)
    target.inertial = Inertial(element)
    return target.inertial


def mass(r: Reading, element: Element, target: Inertial) -> None:
    """The mass of a link."""
    r.once(target, "mass", element)
    value = r.number(element, "value")
    if value < 0.0:
        raise fail(element, f'a mass must not be negative, got value="{element.attributes["value"]}".')
    target.mass = value


def inertia(r: Reading, element: Element, target: Inertial) -> None:
    """The moment of inertia about the centre of mass, in the axes of the inertial element's origin."""
    r.once(target, "moment", element)
    xx, xy, xz = r.number(element, "ixx"), r.number(element, "ixy"), r.number(element, "ixz")
    yy, yz, zz = r.number(element, "iyy"), r.number(element, "iyz"), r.number(element, "izz")
    target.moment = np.array((xx, xy, xz, xy, yy, yz, xz, yz, zz)).reshape(3, 3)


def origin(r: Reading, element: Element, target: Inertial | Shape | Joint) -> None:
    """A pose in the frame of what it is inside of."""
    r.once(target, "origin", element)
    target.origin = r.pose(element)


def shape(r: Reading, element: Element, target: Link) -> Shape:
    """A visual or collision element: a geometry of the body."""
    item = Shape(element, element.tag, r.label(element))
    target.shapes.append(item)
    return item


def geometry(r: Reading, element: Element, target: Shape) -> Shape:
    """Container of one solid."""
    r.once(target, "geometry", element)
    target.geometry = element
    return target


def solid(r: Reading, element: Element, target: Shape) -> None:
    """A box, sphere, cylinder, capsule or mesh."""
    if target.kind:
        raise fail(element, "a <geometry> holds one shape, and this is the second; give each its own <visual>.")
    match element.tag:
        case "box":
            size = r.size(element, "size", 3)
        case "sphere":
            size = r.size(element, "radius")
        case "mesh":
            target.mesh = r.path(element, "filename")
            size = tuple(r.floats(element, "scale", 3, (1.0, 1.0, 1.0)))
        case _:
            size = r.size(element, "radius") + r.size(element, "length")
    target.kind, target.size = element.tag, size


def robot_material(r: Reading, element: Element, target: Any) -> Color:
    """A material of the robot."""
    r.owner = name = r.word(element, "name")
    if name in r.colors:
        raise fail(element, f"there is a material of this name already, on line {r.colors[name].element.line}.")
    r.colors[name] = item = Color(element, name)
    return item


def material(r: Reading, element: Element, target: Shape) -> Color:
    """Material of a shape: a name, or a colour or texture, or both."""
    r.once(target, "color", element)
    target.color = Color(element, r.label(element))
    return target.color


def color(r: Reading, element: Element, target: Color) -> None:
    """Red, green, blue and opacity."""
    r.once(target, "rgba", element)
    red, green, blue, opacity = r.floats(element, "rgba", 4)
    target.rgba = (red, green, blue, opacity)


def texture(r: Reading, element: Element, target: Color) -> None:
    """A picture."""
    target.texture = r.path(element, "filename")


def joint(r: Reading, element: Element, target: Any) -> Joint:
    """A joint: the hinge of its child."""
    r.owner = name = r.word(element, "name")
    if name in r.joints:
        raise fail(element, f"there is a joint of this name already, on line {r.joints[name].element.line}.")
    kind = r.word(element, "type")
    if kind not in TYPES:
        raise fail(element, f"type={kind!r:.60} is not a type of joint; use one of {', '.join(TYPES)}.")
    r.joints[name] = item = Joint(element, name, kind)
    return item


def parent(r: Reading, element: Element, target: Joint) -> None:
    """Parent link of a joint."""
    r.once(target, "parent", element)
    target.parent = r.word(element, "link")


def child(r: Reading, element: Element, target: Joint) -> None:
    """The link a joint carries."""
    r.once(target, "child", element)
    target.child = r.word(element, "link")


def axis(r: Reading, element: Element, target: Joint) -> None:
    """The axis of a joint, in the joint's frame."""
    if target.type in ("fixed", "floating"):
        _ignore(r, element, f"a {target.type} joint has no axis")
        return
    r.once(target, "axis", element)
    target.axis = r.axis(element, "joint", target.name)


def limit(r: Reading, element: Element, target: Joint) -> None:
    """Bounds of a joint with one degree of freedom; kept, not enforced."""
    if target.type in ("fixed", "floating", "planar"):
        _ignore(r, element, f"limits of a {target.type} joint mean nothing in URDF")
        return
    r.once(target, "limit", element)
    lower, upper, velocity, effort = (
        r.number(element, key, largest=NO_LIMIT) if key in element.attributes else None for key in _BOUNDS
    )
    for key, value in (("velocity", velocity), ("effort", effort)):
        if (value or 0.0) < 0.0:
            raise fail(element, f'{key}="{element.attributes[key]}" must not be negative.')
    if target.type == "continuous":
        for key in {"lower", "upper"} & set(element.attributes):
            r.mark(key, "ignored", "a continuous joint has no ends")
    elif lower is None and upper is None:
        r.note("converted", "without lower and upper the joint has no ends (0 for both would lock it)")
    elif (lower or 0.0) > (upper or 0.0):
        raise fail(element, f"lower={lower or 0.0:g} is above upper={upper or 0.0:g}; swap them.")
    target.limit = Limit(lower, upper, velocity, effort, element)


def _ignore(r: Reading, element: Element, note: str, dynamic: bool = False) -> None:
    """Report the element at hand and its attributes as ignored."""
    r.note("ignored", note, dynamic)
    for attribute in element.attributes:
        r.mark(attribute, "ignored", note, dynamic)


def dynamics(r: Reading, element: Element, target: Joint) -> None:
    """Damping and dry friction of a joint; `joint_properties` is its old name."""
    if target.type == "fixed":
        _ignore(r, element, "a fixed joint does not move")
        return
    old = element.tag == "joint_properties"
    r.once(target, "old_dynamics" if old else "dynamics", element)
    read = Dynamics(element, r.number(element, "damping", 0.0), r.number(element, "friction", 0.0))
    for key, value in (("damping", read.damping), ("friction", read.friction)):
        if value < 0.0:
            raise fail(element, f'{key}="{element.attributes[key]}" must not be negative.')
    if "damping" in element.attributes:
        r.mark("damping", "used", "acts: is in passive of the body")
    if "friction" in element.attributes:
        note = "dry friction is kept in passive.friction, and is no part of passive_force"
        r.mark("friction", "recorded", note, dynamic=read.friction > 0.0)
    if target.type in ("floating", "planar"):
        acts = bool(read.damping or read.friction)
        _ignore(r, element, f"URDF does not say how a {target.type} joint is damped", acts)
    elif old:
        r.note("converted", "the old name of <dynamics>")
        target.old_dynamics = read
    else:
        target.dynamics = read


def mimic(r: Reading, element: Element, target: Joint) -> None:
    """A joint that follows another: q = multiplier q(other) + offset."""
    if target.type == "fixed":
        _ignore(r, element, "a fixed joint does not move")
        return
    r.once(target, "mimic", element)
    r.note("converted", "is a coupling of coordinates, in mb.couplings")
    target.mimic = Mimic(
        element, r.word(element, "joint"), r.number(element, "multiplier", 1.0), r.number(element, "offset", 0.0)
    )


def _shapes() -> dict[str, Handler]:
    """Visual and collision elements, and what is inside them."""
    table: dict[str, Handler] = {}
    for role in ("robot/link/visual", "robot/link/collision"):
        table |= {role: shape, f"{role}/origin": origin, f"{role}/geometry": geometry}
        table |= {f"{role}/geometry/{kind}": solid for kind in ("box", "sphere", "cylinder", "capsule", "mesh")}
        table |= {f"{role}/material": material, f"{role}/material/color": color, f"{role}/material/texture": texture}
    return table


HANDLERS: dict[str, Handler] = {
    "robot": robot,
    "robot/material": robot_material,
    "robot/material/color": color,
    "robot/material/texture": texture,
    "robot/link": link,
    "robot/link/inertial": inertial,
    "robot/link/inertial/origin": origin,
    "robot/link/inertial/mass": mass,
    "robot/link/inertial/inertia": inertia,
    **_shapes(),
    "robot/joint": joint,
    "robot/joint/origin": origin,
    "robot/joint/parent": parent,
    "robot/joint/child": child,
    "robot/joint/axis": axis,
    "robot/joint/limit": limit,
    "robot/joint/dynamics": dynamics,
    "robot/joint/joint_properties": dynamics,
    "robot/joint/mimic": mimic,
    **EXTENSIONS,
}

QUIET: dict[str, str] = {
    "robot@version": "the version of the format",
    "robot/joint/axis@rpy": "an axis is a direction and has no frame",
    "robot/link@type": "an old attribute without meaning",
    "robot/mujoco": "is for MuJoCo's own reading of the file",
    "verbose": "is for another program's messages",
    "dont_collapse": "is for another program's merging of fixed joints",
    "collision_checking": "is for another program's collision checking",
    "self_collision_checking": "is for another program's collision checking",
    "drake:collision_filter_group": "is for another program's collision checking",
    "map": "is for another program",
}
"""Elements without a handler that surely do not change the motion, with the reason: by path, or by name anywhere."""

"""Elements of a URDF file, as they are read before a model is built."""

from __future__ import annotations

from dataclasses import dataclass, field

from soacraft.files.xml_tree import Element
from soacraft.spatial import Array, Pose

Rgba = tuple[float, float, float, float]


@dataclass(slots=True)
class Color:
    """A material: of the robot, or inside a shape."""

    element: Element
    name: str
    rgba: Rgba | None = None
    texture: str = ""


@dataclass(slots=True)
class Shape:
    """A visual or collision element."""

    element: Element
    role: str
    name: str
    origin: Pose | None = None
    geometry: Element | None = None
    kind: str = ""
    size: tuple[float, ...] = ()
    mesh: str = ""
    color: Color | None = None


@dataclass(slots=True)
class Inertial:
    """An inertial element; the moment is in the axes of `origin`."""

    element: Element
    origin: Pose | None = None
    mass: float | None = None
    moment: Array | None = None


@dataclass(slots=True)
class Link:
    """A link element."""

    element: Element
    name: str
    inertial: Inertial | None = None
    shapes: list[Shape] = field(default_factory=list)


@dataclass(slots=True)
class Limit:
    """A limit element; None where it says nothing."""

    lower: float | None
    upper: float | None
    velocity: float | None
    effort: float | None
    element: Element


@dataclass(slots=True)
class Dynamics:
    """A dynamics element, or joint_properties, its old name."""

    element: Element
    damping: float
    friction: float


@dataclass(slots=True)
class Mimic:
    """A mimic element: q = multiplier q(joint) + offset."""

    element: Element
    joint: str
    multiplier: float
    offset: float


@dataclass(slots=True)
class Joint:
    """A joint element."""

    element: Element
    name: str
    type: str
    origin: Pose | None = None
    parent: str | None = None
    child: str | None = None
    axis: Array | None = None
    limit: Limit | None = None
    dynamics: Dynamics | None = None
    old_dynamics: Dynamics | None = None
    mimic: Mimic | None = None


@dataclass(slots=True)
class Motor:
    """A transmission between one actuator and one joint."""

    element: Element
    name: str
    joint: str
    reduction: float
    interface: str
    attributes: dict[str, str]


@dataclass(slots=True)
class Place:
    """A frame fixed on a link, as some files add to URDF."""

    element: Element
    name: str
    link: str
    pose: Pose


@dataclass(slots=True)
class LoopEnd:
    """One end of a loop joint."""

    element: Element
    link: str
    pose: Pose


@dataclass(slots=True)
class Loop:
    """A joint that closes a loop, as some files add to URDF."""

    element: Element
    name: str
    type: str
    axis: Array | None = None
    link1: LoopEnd | None = None
    link2: LoopEnd | None = None

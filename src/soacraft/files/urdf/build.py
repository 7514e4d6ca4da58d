"""A model made of the elements of a URDF file."""

from __future__ import annotations

from dataclasses import dataclass, field

from soacraft.files.urdf.inertias import inertia_of
from soacraft.files.urdf.joints import hinge_of, limits_of
from soacraft.files.urdf.names import Names, usable
from soacraft.files.urdf.parts import Joint, Link
from soacraft.files.urdf.reading import Reading, placed
from soacraft.files.urdf.topology import WORLD, Topology, close
from soacraft.files.xml_tree import Element, fail
from soacraft.model import Body, Frame, Multibody, Passive, Root
from soacraft.model.hinges import Hinge, Weld
from soacraft.spatial import Inertia, Pose

_HERE = Pose()


@dataclass
class Built:
    """The model, and where the names of the file are in it."""

    r: Reading
    mb: Multibody
    carriers: dict[str, tuple[Body | Root, Pose]] = field(default_factory=dict)
    frames: dict[str, Frame] = field(default_factory=dict)
    places: dict[str, Frame] = field(default_factory=dict)
    hinges: dict[str, Body] = field(default_factory=dict)
    bodies: frozenset[str] = frozenset()
    actuators: Names = field(default_factory=Names)

    def link(self, name: str, element: Element) -> tuple[Body | Root, Pose]:
        """The body that carries a link, and the link's pose on it."""
        carrier = self.carriers.get(name)
        if carrier is None:
            raise fail(element, f"there is no link {name!r:.80}{close(name, self.r.links)}")
        return carrier

    def node_name(self, carrier: Body | Root, name: str) -> str:
        """The name for a node: its own, with a number where another frame is called "body/node"."""
        new, number = name, 1
        while (full := f"{carrier.name}/{new}") in self.bodies or (full in self.mb and new not in carrier._nodes):
            number += 1
            new = f"{name}_{number}"
        return new

    def dof(self, joint: str) -> str | None:
        """The dof of a joint with one degree of freedom; None for other joints."""
        body = self.hinges.get(joint)
        return body.hinge_name if body is not None and body.hinge.nv == 1 else None


def build(r: Reading, tree: Topology, robot: Element, root: Hinge, merge_fixed: bool) -> Built:
    """Bodies and hinges, parents first. O(n)."""
    with placed(robot):
        built = Built(r, Multibody(r.robot))
    built.carriers[WORLD] = (built.mb.root, _HERE)
    names, hinge_names = usable(list(r.links)), usable(list(r.joints))
    built.bodies = frozenset(names.values())
    for link in tree.links:
        _say_renamed(r, link.element, "robot/link", names[link.name])
        inertia = inertia_of(r, link)
        joint = tree.above.get(link.name)
        if joint is None:
            _add_root(built, link, names[link.name], inertia, root, Names(hinge_names.values()))
        elif merge_fixed and joint.type == "fixed" and _merge(built, link, joint, names[link.name], inertia):
            continue
        else:
            _say_renamed(r, joint.element, "robot/joint", hinge_names[joint.name])
            _add_body(built, link, joint, names[link.name], hinge_names[joint.name], inertia)
    if tree.root is None:
        _hang_on_world(r, tree, robot, root)
    return built


def _say_renamed(r: Reading, element: Element, path: str, name: str) -> None:
    if name != element.attributes["name"]:
        r.later(element, path, "converted", f"is called {name!r} in the model", "name")


def _add_root(built: Built, link: Link, name: str, inertia: Inertia, root: Hinge, taken: Names) -> None:
    """The root link, on the inertial frame by the hinge asked for."""
    hinge_name = taken.new("root")
    with placed(link.element):
        body = built.mb.add_body(name, None, root, inertia, hinge_name=hinge_name)
    note = f"the root link is attached to the inertial frame by {hinge_name!r}: {root!r}"
    built.r.later(link.element, "robot/link", "converted", note)
    _keep(built, link.name, body)


def _add_body(built: Built, link: Link, joint: Joint, name: str, hinge_name: str, inertia: Inertia) -> None:
    assert joint.parent is not None
    carrier, pose = built.carriers[joint.parent]
    with placed(joint.element):
        hinge, inboard, outboard = hinge_of(joint)
        at = inboard if pose is _HERE else pose @ inboard
        body = built.mb.add_body(name, carrier, hinge, inertia, at, outboard, hinge_name)
        limits = limits_of(joint)
        if limits is not None:
            body.limits = limits
        _damp(built.r, joint, body)
    if joint.type == "planar":
        note = "x and y of the plane come from the shortest rotation of the joint's frame that takes z to the axis"
        built.r.later(joint.element, "robot/joint", "converted", note)
    _keep(built, link.name, body)
    built.hinges[joint.name] = body


def _damp(r: Reading, joint: Joint, body: Body) -> None:
    dynamics = joint.dynamics or joint.old_dynamics
    if dynamics is not None and (dynamics.damping or dynamics.friction):
        body.passive = Passive(damping=dynamics.damping, friction=dynamics.friction)
    if joint.dynamics is not None and joint.old_dynamics is not None:
        r.later(joint.old_dynamics.element, "robot/joint/joint_properties", "ignored", "there is <dynamics> too")


def _keep(built: Built, link: str, body: Body) -> None:
    built.carriers[link] = (body, _HERE)
    built.frames[link] = body


def _merge(built: Built, link: Link, joint: Joint, name: str, inertia: Inertia) -> bool:
    """Put a link on the body that carries its parent, as a node with the inertia added; not on the inertial frame."""
    assert joint.parent is not None
    carrier, pose = built.carriers[joint.parent]
    if not isinstance(carrier, Body):
        return False
    pose = pose @ (Pose() if joint.origin is None else joint.origin)
    with placed(link.element):
        carrier.inertia = carrier.inertia + inertia.transformed(pose)
        node = carrier.add_node(built.node_name(carrier, name), pose)
    built.carriers[link.name] = (carrier, pose)
    built.frames[link.name] = node
    built.r.later(joint.element, "robot/joint", "converted", f"merged: its link is the node {node.full_name!r}")
    return True


def _hang_on_world(r: Reading, tree: Topology, robot: Element, root: Hinge) -> None:
    """A file whose joints hang on a 'world' it does not declare has its own fixed base."""
    if not isinstance(root, Weld):
        raise fail(
            robot,
            f"its joints begin at {WORLD!r}, which is not a link of the file and so is the inertial frame; there is "
            f"no root link to attach by {root!r}. Read it with root=Weld(), or declare <link name={WORLD!r}/>.",
        )
    for joint in tree.above.values():
        if joint.parent == WORLD:
            r.later(joint.element, "robot/joint", "converted", f"{WORLD!r} is not declared: it is the inertial frame")

"""`read_sdf`: the model of an SDF file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from soacraft.errors import ModelFileError
from soacraft.files.sdf.frames import Frames
from soacraft.files.sdf.joints import Made, make
from soacraft.files.sdf.scopes import WORLD, Item, Scopes, gather
from soacraft.files.sdf.shapes import add_shapes
from soacraft.files.sdf.source import Source
from soacraft.files.urdf.inertias import nearest_moment
from soacraft.files.urdf.names import Names, usable
from soacraft.files.urdf.reading import placed
from soacraft.files.xml_tree import Element, fail
from soacraft.model import Body, Multibody, Node, Root
from soacraft.model.hinges import Free, Weld
from soacraft.spatial import Array, Inertia, Pose


@dataclass
class Built:
    """The model while it is made, and where the links of the file are in it."""

    source: Source
    scopes: Scopes
    frames: Frames
    mb: Multibody
    bodies: dict[str, Body | Root] = field(default_factory=dict)
    hinges: dict[str, Body] = field(default_factory=dict)


@dataclass
class _Tree:
    """The joint above each link, and those that close loops: (name, item, what it becomes, parent, child)."""

    above: dict[str, tuple[str, Item, Made, str]]
    loops: list[tuple[str, Item, Made, str, str]]


def read_sdf(path: str | Path, *, mesh_roots: Sequence[str | Path] = (), lenient: bool = False) -> Multibody:
    """The model of an SDF file, with `mb.import_report`. O(n).

    A link without a joint above it floats on a `Free` hinge, one of a static model is welded to the inertial frame. A
    second joint onto a link closes a loop. Poses are resolved through `relative_to`, frames are nodes, models included
    by <uri> are looked for next to the file, in `mesh_roots` and where the user's environment says. With `lenient`,
    local faults are lines of the report.

    >>> import tempfile
    >>> text = "<sdf version='1.9'><model name='rod'><link name='rod'/></model></sdf>"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "rod.sdf").write_text(text)
    ...     mb = read_sdf(Path(folder, "rod.sdf"))
    >>> mb, mb.body("rod")
    (Multibody 'rod': 1 body, 6 dofs, body 'rod' on 'inertial' by Free())
    """
    path = Path(path)
    source = Source(path, [Path(each) for each in mesh_roots], lenient)
    root = source.open(path)
    scopes = gather(source, root, path.resolve())
    frames = Frames(scopes)
    with placed(root):
        built = Built(source, scopes, frames, Multibody(scopes.name))
        if scopes.gravity is not None:
            built.mb.gravity = scopes.gravity
    built.bodies[WORLD] = built.mb.root
    tree = _tree(built)
    _add_bodies(built, tree)
    _add_nodes(built)
    for loop in tree.loops:
        _close(built, *loop)
    _follow(built)
    for record in source.records:
        built.mb.add_record(record)
    built.mb.import_report, built.mb.mesh_folder = source.report().done(), source.files.home
    built.mb.mesh_roots = tuple(source.files.elsewhere)
    return built.mb


def _tree(built: Built) -> _Tree:
    """Every joint: above its child where it makes no circle, else a loop."""
    scopes, frames = built.scopes, built.frames
    tree = _Tree({}, [])
    for name, item in scopes.items.items():
        if item.kind != "joint":
            continue
        with placed(item.element):
            joint = make(scopes, frames, name, item)
            if joint is None:
                continue
            parent, child = (
                frames.carrier(scopes.find(item.scope, end, item.element)) for end in (item.parent, item.attached_to)
            )
        if parent == child:
            raise fail(item.element, f"joins {parent!r:.80} to itself.")
        if child == WORLD or child in tree.above or scopes.items[child].static or _reaches(tree, parent, child):
            tree.loops.append((name, item, joint, parent, child))
        else:
            tree.above[child] = (name, item, joint, parent)
    return tree


def _reaches(tree: _Tree, link: str, other: str) -> bool:
    """True if a link is outboard of another."""
    while link != other and link in tree.above:
        link = tree.above[link][3]
    return link == other


def _add_bodies(built: Built, tree: _Tree) -> None:
    """Bodies, parents first."""
    items = built.scopes.items
    links = [name for name, item in items.items() if item.kind == "link"]
    if not links:
        raise fail(next(iter(items.values())).element, "has no <link>; a model needs at least one.")
    names, hinges = usable(links), usable([above[0] for above in tree.above.values()])
    taken = Names(hinges.values())
    below: dict[str, list[str]] = {}
    for child, (_, _, _, parent) in tree.above.items():
        below.setdefault(parent, []).append(child)
    for start in [WORLD, *(name for name in links if name not in tree.above)]:
        waiting = [start]
        while waiting:
            link = waiting.pop()
            if link != WORLD:
                _add_body(built, tree, link, names[link], hinges, taken)
            waiting.extend(reversed(below.get(link, [])))


def _add_body(built: Built, tree: _Tree, link: str, name: str, hinges: dict[str, str], taken: Names) -> None:
    item, X = built.scopes.items[link], built.frames.pose(link)
    inertia = _inertia(built, link, item)
    above = tree.above.get(link)
    with placed(item.element if above is None else above[1].element):
        if above is None:
            hinge = Weld() if item.static else Free()
            body = built.mb.add_body(name, None, hinge, inertia, X, hinge_name=taken.new(f"{name}_root"))
            note = "is welded to the inertial frame: it is static" if item.static else "floats: no joint is above it"
            built.source.say(item.element, "converted", note)
        else:
            joint, _, parts, parent = above
            carrier, J = built.bodies[parent], built.frames.pose(joint)
            on = Pose() if parent == WORLD else built.frames.pose(parent)
            body = built.mb.add_body(name, carrier, parts.hinge, inertia, on.inv @ J, J.inv @ X, hinges[joint])
            if parts.limits is not None:
                body.limits = parts.limits
            if parts.passive is not None:
                body.passive = parts.passive
            built.hinges[joint] = body
    built.bodies[link] = body
    add_shapes(built.source, built.scopes, built.frames, link, item, body)


def _inertia(built: Built, link: str, item: Item) -> Inertia:
    """The inertia of a link in its frame. SDF gives a link without <inertial> the mass 1 and the moment 1."""
    source, element = built.source, item.element
    inertial = source.child(element, "inertial")
    if inertial is None:
        source.say(element, "converted", "has no <inertial>: SDF takes the mass 1 and the moment 1 for it")
        return Inertia(1.0, (0.0, 0.0, 0.0), np.eye(3))
    source.use(inertial)
    if source.attribute(inertial, "auto") in ("true", "1"):
        source.go_on(fail(inertial, "auto inertia from collision shapes is not computed; write it out."), inertial)
        return Inertia()
    pose = source.child(inertial, "pose")
    at = source.pose(pose)
    frame = "" if pose is None else source.attribute(pose, "relative_to")
    if frame:
        other = built.scopes.find(item.scope, frame, inertial)
        at = built.frames.pose(link).inv @ built.frames.pose(other) @ at
    mass, moment = source.number(inertial, "mass", 1.0), _moment(source, inertial)
    turned = at.rotation @ moment @ at.rotation.T
    try:
        with placed(inertial):
            return Inertia(mass, at.translation, turned)
    except ModelFileError as problem:
        source.go_on(problem, inertial)
        source.say(inertial, "repaired", f"{problem.fault}: with lenient the moment without its negative part", True)
        with placed(inertial):
            return Inertia(mass, at.translation, nearest_moment(turned))


def _moment(source: Source, inertial: Element) -> Array:
    element = source.child(inertial, "inertia")
    if element is None:
        return np.eye(3)
    source.use(element)
    xx, yy, zz = (source.number(element, f"i{ij}", 1.0) for ij in ("xx", "yy", "zz"))
    xy, xz, yz = (source.number(element, f"i{ij}", 0.0) for ij in ("xy", "xz", "yz"))
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _add_nodes(built: Built) -> None:
    """Frames as nodes of the links that carry them."""
    for name, item in built.scopes.items.items():
        if item.kind == "frame":
            _node(built, name, built.frames.carrier(name), name, item.element)


def _node(built: Built, frame: str, link: str, name: str, element: Element) -> Node:
    carrier = built.bodies[link]
    on = Pose() if link == WORLD else built.frames.pose(link)
    with placed(element):
        return carrier.add_node(Names(carrier._nodes).new(name), on.inv @ built.frames.pose(frame))


def _close(built: Built, name: str, item: Item, joint: Made, parent: str, child: str) -> None:
    """A joint that closes a loop: a node at it on each link."""
    a, b = (_node(built, name, link, name, item.element) for link in (parent, child))
    with placed(item.element):
        built.mb.close_loop(name, a, b, joint.hinge)
    built.source.say(item.element, "converted", f"closes a loop: {child!r:.80} has a joint above it already")
    if joint.passive is not None:
        built.source.say(item.element, "converted", "closes a loop; its springs, dampers and friction do not act", True)


def _follow(built: Built) -> None:
    """<mimic>: q = multiplier (q(joint) - reference) + offset, as a coupling."""
    source, scopes = built.source, built.scopes
    for name, item in scopes.items.items():
        axis = None if item.kind != "joint" else source.child(item.element, "axis")
        mimic = None if axis is None else source.child(axis, "mimic")
        if mimic is None:
            continue
        source.use(mimic, "joint", "axis")
        leader = source.attribute(mimic, "joint")
        ratio, offset = source.number(mimic, "multiplier", 1.0), source.number(mimic, "offset", 0.0)
        zero = source.number(mimic, "reference", 0.0)
        try:
            full = scopes.find(item.scope, leader, mimic)
            bodies = [body for each in (name, full) if (body := built.hinges.get(each)) and body.hinge.nv == 1]
            if len(bodies) < 2 or mimic.attributes.get("axis", "axis") != "axis":
                raise fail(mimic, f"{name!r:.80} and {leader!r:.80} must both be joints of one dof that close no loop.")
            terms = {bodies[0].hinge_name: 1.0, bodies[1].hinge_name: -ratio}
            with placed(mimic):
                built.mb.couple(name, {k: v for k, v in terms.items() if v}, offset - ratio * zero)
        except ModelFileError as problem:
            source.go_on(problem, mimic)

"""The attachment of a body, with the closures of its model and its state: to be put back bit by bit, order included.

What is remembered goes by names, so that it holds for a copy of the model too.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from soacraft.model.hinges.base import Hinge
from soacraft.model.modal.data import ModalNode
from soacraft.model.tree.attached_model import AttachedModel
from soacraft.model.tree.frames.frame import Body, Node
from soacraft.model.tree.joining.turning import has_hinge_numbers
from soacraft.model.tree.parts.closures import Closure
from soacraft.model.tree.parts.records import Attributes
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose


class Place(NamedTuple):
    """Attachment of a body: its parent, the order of the children there, and its hinge."""

    parent: str
    siblings: tuple[str, ...]
    hinge: Hinge
    hinge_name: str
    inboard: Pose
    outboard: Pose
    rides: ModalNode | None
    held: ModalNode | None


class Fixed(NamedTuple):
    """A node of a body."""

    name: str
    pose: Pose
    modal: ModalNode | None
    role: str


class Loop(NamedTuple):
    """A closure by the names of its frames."""

    name: str
    a: str
    b: str
    hinge: Hinge
    active: bool
    attributes: Attributes


class Remembered(NamedTuple):
    """A body, its nodes, the closures of the model, and q, v and vdot of it."""

    place: Place
    nodes: tuple[Fixed, ...]
    loops: tuple[Loop, ...]
    state: tuple[Array, Array, Array]


def remember(mb: AttachedModel, body: Body) -> Remembered:
    """A body and the state of its model, as they are. O(n)."""
    now = mb.current
    nodes = tuple(Fixed(x.name, x.pose, x.modal_node, x.role) for x in body._nodes.values())
    loops = tuple(map(_told, mb._attachments.loops.values()))
    return Remembered(place_of(body), nodes, loops, (np.array(now.q), np.array(now.v), np.array(now.vdot)))


def place_of(body: Body) -> Place:
    """Attachment of a body."""
    up = body.parent
    order, poses = tuple(up._children), (body._inboard, body._outboard)
    return Place(up.name, order, body._hinge, body._hinge_name, *poses, body._rides, body._held)


def restore(mb: AttachedModel, body: Body, was: Remembered, drop: Collection[str] | None = None) -> None:
    """Put a body, its nodes, the closures and the state back. Other bodies must be those that were there. O(n).

    Nodes of the body that were not there go, or of these only those called `drop`. A hinge that was replaced had no
    springs, dampers or limits; the one that goes must have none either.
    """
    tree, parts, place = mb._tree, mb._attachments, was.place
    moved = any(x is not y for x, y in zip(place_of(body), place, strict=True) if not isinstance(x, str | tuple))
    moved = moved or body.parent.name != place.parent
    if moved and has_hinge_numbers(body):
        mb._refuse_held(set(), (body, place.hinge, place.hinge_name))
    with mb._edits.lock:
        mb._edits.structure()
        for name, made in list(parts.loops.items()):
            if _told(made) not in was.loops:
                del parts.loops[name]
                parts.active -= made.active
        known = {x.name: x for x in was.nodes}
        for node in list(body._nodes.values()):
            if node.name not in known and (drop is None or node.name in drop):
                tree.remove_node(node)
        for name, fixed in known.items():
            if name not in body._nodes:
                tree.add_node(Node(body, name, fixed.pose, fixed.modal, fixed.role))
        body._nodes = {name: body._nodes[name] for name in {**known, **body._nodes}}
        on = tree.root if place.parent == tree.root.name else tree.bodies[place.parent]
        if moved:
            tree.rehang(body, on, place.hinge, place.hinge_name, place.inboard, place.outboard)
        on._children = {name: on._children[name] for name in place.siblings}
        body._rides, body._held = place.rides, place.held
        for x in was.loops:
            if x.name not in parts.loops:
                made = Closure(x.name, mb.frame(x.a), mb.frame(x.b), x.hinge, x.active, x.attributes)
                parts.loops[x.name] = made
                parts.active += made.active
        parts.loops = {x.name: parts.loops[x.name] for x in was.loops}
        for hinge in (place.hinge, *(x.hinge for x in was.loops)):
            hinge.watch(mb._edits)
        mb._state.parts.clear()
        layout, (q, v, vdot) = mb.layout, was.state
        for twin, i, j in zip(layout.bodies, layout.q_slices, layout.v_slices, strict=True):
            mb._state.parts[twin] = q[i], v[j], vdot[j]


def _told(loop: Closure) -> Loop:
    return Loop(loop.name, loop.a.full_name, loop.b.full_name, loop.hinge, loop.active, dict(loop.attributes))

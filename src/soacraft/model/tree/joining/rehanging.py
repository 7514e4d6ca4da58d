"""Bodies of a tree with other parents in another model: by their hinges turned around, or by a closure's hinge.

The frames of a hinge are swapped when it is turned around (`turning`), and with them the nodes of flexible bodies that
they are on: a body may be held by any of its nodes.
"""

from __future__ import annotations

from typing import NamedTuple

from soacraft.model.hinges.base import Hinge
from soacraft.model.modal.data import ModalNode
from soacraft.model.tree.attached_model import AttachedModel
from soacraft.model.tree.frames.frame import Body, Carrier
from soacraft.model.tree.joining.copying import copy_fixtures
from soacraft.spatial.pose import Pose


class Hung(NamedTuple):
    """Attachment of a body in another tree: the frames of its hinge on the undeformed bodies, and the nodes of flexible
    ones that they are on.
    """

    parent: Carrier
    hinge: Hinge
    inboard: Pose
    outboard: Pose
    name: str
    """Name of the hinge."""
    rides: ModalNode | None = None
    held: ModalNode | None = None

    @classmethod
    def as_is(cls, body: Body) -> Hung:
        """Present attachment of a body."""
        return cls(
            body.parent, body.hinge, body.inboard, body.outboard, body.hinge_name, body._rides, body._held
        )

    @classmethod
    def around(cls, outer: Body, hinge: Hinge) -> Hung:
        """A parent that becomes the child of its child, by the reversed hinge."""
        return cls(outer, hinge, outer.outboard.inv, outer.inboard.inv, outer.hinge_name, outer._held, outer._rides)


def add_twin(other: AttachedModel, body: Body, how: Hung) -> Body:
    """Add a body with its nodes, shapes and modes to another model, attached to the twin of its parent by `how`."""
    tree = other._tree
    parent = tree.bodies[how.parent.name] if isinstance(how.parent, Body) else tree.root
    name, hinge_name = tree.body_name(body.name), tree.hinge_name(how.name)
    twin = Body(parent, name, how.hinge, hinge_name, body.inertia, how.inboard, how.outboard)
    if body._modal is not None:
        twin._modal, twin._own = body._modal, body._own
    twin._rides, twin._held = how.rides, how.held
    with other._edits.lock:
        other._edits.structure()
        tree.add(twin)
        how.hinge.watch(other._edits)
    copy_fixtures(body, twin)
    return twin


class Part(NamedTuple):
    """Slices of the numbers of a body in q and v: those of its hinge, and those of its modes."""

    q: slice
    v: slice
    own_q: slice
    own_v: slice


def part_of(body: Body) -> Part:
    """The slices of a body."""
    q, v, n = body.q_slice, body.v_slice, len(body._own)
    return Part(q, v, slice(q.stop, q.stop + n), slice(v.stop, v.stop + n))

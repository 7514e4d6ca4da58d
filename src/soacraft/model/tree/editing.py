"""Edits of the tree of a model: their effects on its frames, its attachments and its state. The methods of `Multibody`
of the same names have the documentation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.errors import ModelError
from soacraft.model.hinges.base import Hinge
from soacraft.model.modal.data import ModalData, ModalNode
from soacraft.model.modal.hanging import read_hinge_node, read_modal, refuse_moved_hinge
from soacraft.model.states.kinematics import frame_pose, frame_velocity
from soacraft.model.tree.arguments import read_hinge, read_inertia, read_pose
from soacraft.model.tree.attached_model import AttachedModel
from soacraft.model.tree.frames.frame import Body, Carrier, Frame, Node
from soacraft.model.tree.joining.attach import hinge_at, hinge_velocity
from soacraft.model.tree.parts.compliance import make_flexible
from soacraft.model.tree.parts.properties import Passive
from soacraft.spatial.checks import Array
from soacraft.spatial.inertia import Inertia
from soacraft.spatial.pose import Pose


def add_body(
    mb: AttachedModel, name: Any, parent: Any, hinge: Any, inertia: Any, inboard: Any = None, outboard: Any = None,
    hinge_name: Any = None, modal: Any = None, hinge_node: Any = None, compliance: Any = None,
) -> Body:  # fmt: skip
    """Hang a new body on `parent`. O(1)."""
    tree = mb._tree
    name, on = tree.body_name(name), tree.attachment(parent)
    carrier = on.carrier
    hinge = read_hinge(hinge, name)
    hinge_name = tree.hinge_name(name if hinge_name is None else hinge_name)
    soft = None if compliance is None else make_flexible(hinge, compliance, hinge_name)
    hinge = hinge if soft is None else soft.hinge
    inertia = read_inertia(inertia, name)
    inboard = read_pose(inboard, f"inboard of {name!r}")
    outboard = read_pose(outboard, f"outboard of {name!r}")
    data = None if modal is None else read_modal(modal, name, inertia)
    held = None if hinge_node is None else read_hinge_node(data, hinge_node, name)
    inboard = on.offset @ inboard if on is not carrier else inboard
    if held is not None:
        outboard = outboard @ held.pose.inv
    passive = None if soft is None else Passive(soft.stiffness).sized(hinge, f"hinge {hinge_name!r}")
    body = hang(
        mb, carrier, name, hinge, hinge_name, inertia, inboard, outboard, data=data, rides=on.modal_node, held=held,
        passive=passive,
    )  # fmt: skip
    for node, at in ({} if data is None else data.nodes).items():
        tree.add_node(Node(body, node, at.pose, at))
    return body


def hang(
    mb: AttachedModel, carrier: Carrier, name: str, hinge: Hinge, hinge_name: str, inertia: Inertia, inboard: Pose,
    outboard: Pose, *, data: ModalData | None, rides: ModalNode | None, held: ModalNode | None,
    passive: Passive | None = None,
) -> Body:  # fmt: skip
    """A new body without nodes, from what was read: poses on the undeformed bodies, and the modal nodes that its
    inboard and outboard hinge frames are on."""
    body = Body(carrier, name, hinge, hinge_name, inertia if data is None else data.inertia, inboard, outboard)
    if rides is not None:
        body._rides = rides
    if passive is not None:
        body._passive = passive
    if data is not None:
        refuse_moved_hinge(name, hinge, outboard, data, held)
        body._modal, body._own, body._held = data, data.modes, held
    with mb._edits.lock:
        mb._edits.structure()
        mb._tree.add(body)
        hinge.watch(mb._edits)
    return body


def remove(mb: AttachedModel, body: Any, subtree: bool) -> None:
    """Remove a body, and with `subtree` all bodies outboard of it."""
    top = mb.body(body)
    if top._children and not subtree:
        raise ModelError(
            f"body {top.name!r} carries {', '.join(map(repr, top._children))}; remove them too "
            f"with mb.remove({top.name!r}, subtree=True), or reattach them first."
        )
    gone = list(top.subtree())
    mb._refuse_held(set(gone))
    with mb._edits.lock:
        mb._edits.structure()
        mb._tree.remove(gone)
        mb._state.forget(gone)


def reattach(
    mb: AttachedModel, body: Any, parent: Any, hinge: Any, inboard: Any, outboard: Any, keep_pose: bool,
    hinge_name: Any, hinge_node: Any = None,
) -> Body:  # fmt: skip
    """Hang a body, with all that is outboard of it, on another parent by a new hinge."""
    tree = mb._tree
    moved, on = mb.body(body), tree.attachment(parent)
    carrier = on.carrier
    hinge = read_hinge(hinge, moved.name)
    hinge_name = moved.hinge_name if hinge_name is None else tree.hinge_name(hinge_name, moved)
    inboard = read_pose(inboard, f"inboard of {moved.name!r}")
    outboard = read_pose(outboard, f"outboard of {moved.name!r}")
    held = None if hinge_node is None else read_hinge_node(moved._modal, hinge_node, moved.name)
    if moved._modal is not None:
        refuse_moved_hinge(moved.name, hinge, outboard, moved._modal, held)
    at = moved if held is None else Node(moved, "held", held.pose, held)  # what the hinge holds
    tree.refuse_loop(moved, carrier, hinge_name)
    mb._refuse_held(set(), (moved, hinge, hinge_name))
    q, v = np.asarray(hinge.neutral(), dtype=np.float64), np.zeros(hinge.nv)
    if keep_pose:
        now = mb.current
        pose = frame_pose(now, at, on)
        length = sum(float(np.linalg.norm(x.translation)) for x in (inboard, pose, outboard)) or 1.0
        q = hinge_at(hinge, inboard.inv @ pose @ outboard.inv, length, hinge_name, moved.name)
        v = hinge_velocity(hinge, q, outboard, np.asarray(frame_velocity(now, at, on, at)), length)
    rehang(mb, moved, on, hinge, hinge_name, inboard, outboard, q, v, held)
    return moved


def rehang(
    mb: AttachedModel, body: Body, on: Frame, hinge: Hinge, hinge_name: str, inboard: Pose, outboard: Pose, q: Array,
    v: Array, held: ModalNode | None = None,
) -> None:  # fmt: skip
    """Hang a body on another frame by a hinge at q and v, from what was read: `inboard` is on that frame, `outboard`
    on the modal node that the hinge holds."""
    with mb._edits.lock:
        mb._edits.structure()
        inboard = inboard if on is on.carrier else on.offset @ inboard
        outboard = outboard if held is None else outboard @ held.pose.inv
        mb._tree.rehang(body, on.carrier, hinge, hinge_name, inboard, outboard)
        body._rides, body._held = on.modal_node, held
        mb._state.rehang(body, q, v)
        hinge.watch(mb._edits)

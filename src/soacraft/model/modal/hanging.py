"""How a flexible body hangs on its hinge: what is read of its modal data, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.errors import ModelError
from soacraft.model.modal import nodes
from soacraft.model.modal.data import ModalData, ModalNode
from soacraft.spatial.inertia import Inertia
from soacraft.spatial.pose import Pose


def read_modal(modal: Any, name: str, inertia: Inertia) -> ModalData:
    """The modal data of a new body, which hold its inertia."""
    if not isinstance(modal, ModalData):
        raise ModelError(f"modal of body {name!r} must be ModalData, as sc.flexible.reduce gives, got {modal!r:.60}.")
    if inertia.mass != 0.0 or inertia.moment.any():
        raise ModelError(f"flexible body {name!r} takes its inertia from its modal data; leave out inertia=.")
    return modal


def read_hinge_node(data: ModalData | None, node: Any, name: str) -> ModalNode:
    """The node of a flexible body that its hinge holds."""
    if data is None:
        raise ModelError(f"hinge_node={node!r} of body {name!r} needs modal data: a rigid body has outboard= alone.")
    return data.node(node)


def refuse_moved_hinge(body: str, outboard: Pose, data: ModalData, held: ModalNode | None) -> None:
    """Raise where modes move the point of the body that the hinge holds, but the hinge does not follow: its frame is
    the body frame, or a node there that deforms. With `hinge_node` the body frame follows, whatever the modes are.
    """
    if held is not None:
        return
    at = outboard.inv
    for name, node in data.nodes.items():
        if not node.deforms or not node.pose.is_close(at):
            continue
        Pi = nodes.Pi(node, np.zeros(data.n))
        mode = data.modes[int(np.argmax(np.abs(Pi).max(axis=0)))]
        raise ModelError(
            f"mode {mode!r} of flexible body {body!r} moves its node {name!r}, which the hinge is at: the hinge "
            f"holds the body frame only. Give hinge_node={name!r}, and the body frame follows."
        )

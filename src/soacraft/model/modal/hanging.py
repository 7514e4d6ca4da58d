"""Modal data of a body and the node that its hinge holds: reading and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.errors import ModelError
from soacraft.model.hinges.base import Hinge
from soacraft.model.modal import nodes
from soacraft.model.modal.data import ModalData, ModalNode
from soacraft.spatial.checks import Array, finite, number_text
from soacraft.spatial.inertia import Inertia
from soacraft.spatial.pose import Pose

#: Two places are the same when they are this near, in sizes of the body.
SAME_PLACE = 1e-6
#: Modes that move a frame by less than this part of their mean motion leave it in place, to the digits of files.
MOVED = 1e-6


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


def read_points(known: Array, points: Any, body: str) -> npt.NDArray[np.intp]:
    """The numbers of points of modal data, from their numbers or places; None for all."""
    if points is None:
        return np.arange(len(known))
    given = np.asarray(points)
    if given.dtype.kind in "iu" and given.ndim < 2:
        if given.size and (given.min() < 0 or given.max() >= len(known)):
            raise ModelError(f"points of body {body!r} are 0 to {len(known) - 1}, got {given.min()} to {given.max()}.")
        return given.astype(np.intp)
    places = finite(points, (..., 3), f"points of body {body!r}")
    flat = places.reshape(-1, 3)
    size = float(np.linalg.norm(np.ptp(known, axis=0)))
    nearest, away = np.zeros(len(flat), dtype=np.intp), np.zeros(len(flat))
    for k, place in enumerate(flat):
        distance = np.linalg.norm(known - place, axis=1)
        nearest[k] = np.argmin(distance)
        away[k] = distance[nearest[k]]
    if away.size and away.max() > SAME_PLACE * size:
        worst = int(np.argmax(away))
        at = known[nearest[worst]]
        raise ModelError(
            f"body {body!r} has no point of its modal data at {number_text(flat[worst])}; the nearest is point "
            f"{nearest[worst]} at {number_text(at.round(12))}, {away[worst]:.3g} away."
        )
    return nearest.reshape(places.shape[:-1])


def refuse_moved_hinge(body: str, hinge: Hinge, outboard: Pose, data: ModalData, held: ModalNode | None) -> None:
    """Raise where modes move the point of the body that the hinge holds as the hinge does not let it: N* Pi = 0, with N
    the null space of H, for nodes at that place. Without `hinge_node` the hinge holds the body frame; what it lets go
    (a turn about the axis of a pin) the modes may do too. With `hinge_node` the body frame follows, whatever they are.

    In sizes of the body and of each mode: turns by the length of the body, all by the mean motion of the mode.
    """
    if held is not None or data.n == 0:
        return
    at, length = outboard.inv, data.length
    motion = np.sqrt(np.diagonal(data.M) / data.mass)
    scale = np.repeat((length, 1.0), 3)[:, None]
    for name, node in (*data.nodes.items(), *data.fe_nodes.items()):
        if not node.deforms or np.linalg.norm(node.pose.translation - at.translation) > SAME_PLACE * length:
            continue
        Pi = scale * ((node.pose.inv @ at).phi().T @ nodes.Pi(node, np.zeros(data.n))) / motion
        for q in _samples(hinge):
            free = scale * np.asarray(hinge.H_T(q)).reshape(6, hinge.nv)
            held_fast = Pi - free @ np.linalg.lstsq(free, Pi, rcond=None)[0] if hinge.nv else Pi
            worst = np.abs(held_fast).max(axis=0)
            if worst.max() > MOVED:
                mode = data.modes[int(np.argmax(worst))]
                raise ModelError(
                    f"mode {mode!r} of flexible body {body!r} moves its node {name!r}, which the hinge is at, as the "
                    f"hinge {hinge!r} does not let it: the hinge holds the body frame only. Give hinge_node={name!r}, "
                    "and the body frame follows."
                )


def _samples(hinge: Hinge) -> list[Array]:
    """Coordinates at which the directions of a hinge are looked at: one where they are constant."""
    neutral = np.asarray(hinge.neutral(), dtype=np.float64)
    if hinge.constant_H or hinge.nv == 0:
        return [neutral]
    return [neutral, np.asarray(hinge.integrate(neutral, np.linspace(0.4, 0.9, hinge.nv)), dtype=np.float64)]

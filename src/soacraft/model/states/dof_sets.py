"""The two sets of dofs that laws and kinematics choose from, for all of the project.

    actuated    dofs with an actuator, or named; of a model without actuators all hinges but free ones (a free base).
                Control laws push these.
    movable     all hinges: those with a motor, the base, the passive hinges of loops.
                Velocities, reach, samples, assembly and planners choose these.

Elastic modes are in neither set: nothing pushes or places them by itself. Dofs of an object that a robot holds (the
hinge of a lid, of a door) have no motor of the robot; they are movable where a loop through a hand moves them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft.errors import StateError
from soacraft.model.hinges.free import Free
from soacraft.model.states.ties import Mask, moved_with
from soacraft.model.tree.frames.frame import Body

if TYPE_CHECKING:
    from soacraft.model.tree.graph import Graph
    from soacraft.model.tree.multibody import Multibody

#: Objects in hands: the names of the hands (bodies or nodes) by the name of the object.
Held = Mapping[str, Collection[str]]
_NOTHING: Held = {}


def modal_dofs(graph: Graph) -> Mask:
    """Elastic modes, (nv)."""
    found = np.zeros(graph.nv, dtype=np.bool_)
    found[graph.layout.own.v] = True
    return found


def held_dofs(mb: Graph, held: Held = _NOTHING) -> Mask:
    """Dofs of the objects in hands, (nv): of each object, of all bodies outboard of it, and of those inboard of it up
    to the inertial frame or to a body that carries a hand. O(n).
    """
    found = np.zeros(mb.nv, dtype=np.bool_)
    for obj, hands in held.items():
        carrying = {x for hand in hands for x in _inboard(mb.frame(hand).carrier)}
        top = _top(mb.frame(obj).carrier, carrying)
        for body, where in zip(mb.bodies, mb.layout.v_slices, strict=True):
            if top in _inboard(body):
                found[where] = True
    return found


def actuated_dofs(mb: Multibody, named: Mask | None = None, held: Held = _NOTHING) -> Mask:
    """Dofs that laws push, (nv): those with an actuator, or those named. O(n).

    >>> import soacraft as sc
    >>> int(actuated_dofs(sc.load("five_bar")).sum()), int(actuated_dofs(sc.load("arm7")).sum())
    (2, 7)
    """
    modes, loads = modal_dofs(mb), held_dofs(mb, held)
    if named is not None:
        _refuse(mb, named & modes, "an elastic mode, which no motor drives")
        _refuse(mb, named & loads, "a dof of what the robot holds, which no motor of it drives")
        return named
    found = driven_dofs(mb)
    if not found.any():
        found[:] = True
        for body, where in zip(mb.bodies, mb.layout.hinge_v, strict=True):
            found[where] = not isinstance(body.hinge, Free)
    return np.asarray(found & ~modes & ~loads)


def driven_dofs(mb: Multibody) -> Mask:
    """Dofs that an actuator of the model drives, (nv)."""
    found = np.zeros(mb.nv, dtype=np.bool_)
    number = {name: i for i, name in enumerate(mb.dof_names)}
    for actuator in mb.actuators:
        for dof, gear in actuator.gears.items():
            found[number[dof]] |= gear != 0.0
    return found


def movable_dofs(graph: Graph, held: Held = _NOTHING) -> Mask:
    """Dofs that kinematics may choose, (nv). O(n), with loops O(loops nv).

    >>> import soacraft as sc
    >>> int(movable_dofs(sc.load("five_bar")).sum()), int(movable_dofs(sc.load("cassie")).sum())
    (6, 32)
    """
    hinges = ~modal_dofs(graph)
    if not held:
        return np.asarray(hinges)
    return np.asarray(moved_with(graph, hinges & ~held_dofs(graph, held)) & hinges)


def _inboard(frame: Any) -> list[Any]:
    """Body and all bodies inboard of it, without the inertial frame."""
    found = []
    while isinstance(frame, Body):
        found.append(frame)
        frame = frame.parent
    return found


def _top(body: Any, carrying: set[Any]) -> Any:
    """The innermost body of an object: the last before the inertial frame or a body that carries a hand."""
    while isinstance(body.parent, Body) and body.parent not in carrying:
        body = body.parent
    return body


def _refuse(mb: Graph, wrong: Mask, why: str) -> None:
    if wrong.any():
        name = mb.dof_names[int(np.argmax(wrong))]
        raise StateError(f"actuated names {name!r} of {mb.name!r}, {why}: leave it out.")

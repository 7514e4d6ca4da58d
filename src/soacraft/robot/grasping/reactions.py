"""The wrenches in a grasp: what each hand gives an object that it holds.

In a tree the motion determines them (004 Eq. 10). A second hand closes a loop, in which hands may also squeeze: there
the forces of the hinges are needed, and the closure's force is the solver's multiplier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft import dynamics as dyn
from soacraft.analysis.finite import refusing_overflow
from soacraft.errors import StateError
from soacraft.loops import TreeAugmented
from soacraft.model.states.coordinates import read_v
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.grasping.joined import Joined
from soacraft.robot.grasping.least import least_wrenches
from soacraft.robot.grasping.strength import Strength, grasp_strength
from soacraft.spatial.checks import Array


@dataclass(frozen=True, eq=False)
class Reactions:
    """Wrenches of hands on an object."""

    object: str
    wrenches: dict[str, Array]
    """Wrench [moment; force] of each hand on the object about the origin of its frame, in its axes."""
    unique: bool
    """False where other wrenches of the hands give the same motion. These are then the ones of least norm: the sum of
    squares of forces, and of moments about the hands over the length of the model, whatever the units."""

    def __repr__(self) -> str:
        shown = ", ".join(f"{hand!r} {np.linalg.norm(w[3:]):.4g} N" for hand, w in self.wrenches.items())
        return f"{self.object!r} is held by {shown}{'' if self.unique else ' (not unique: least norm)'}"


@refusing_overflow()
def reactions(
    mb: Multibody, holds: Sequence[Joined], q: Any, v: Any, vdot: Any, force: Any, f_ext: Any
) -> Reactions:
    """The wrenches of the hands that hold an object, at a state with accelerations, or with generalized forces."""
    name = holds[0].object
    now = mb.current
    q, v = now.q if q is None else q, now.v if v is None else v
    if (vdot is None) == (force is None):
        raise StateError(f"the wrenches on {name!r} follow from vdot=..., or from force=...; give one of them.")
    motion = read_v(mb, force, "force") if vdot is None else read_v(mb, vdot, "vdot")
    if mb.state(q, v).batch or motion.ndim > 1:
        raise StateError(f"the wrenches on {name!r} are those of one state, got a batch.")
    if not mb.is_closed:
        if vdot is None:
            vdot = dyn.forward_dynamics(mb, q, v, force, f_ext)
        forces = dyn.interbody_forces(mb, q, v, vdot, f_ext)
        return Reactions(name, {x.hand: np.array(forces[name]) for x in holds}, True)
    if force is None:
        raise StateError(
            f"{mb.name!r} is closed to loops, in which {name!r} may also be squeezed: its motion does not determine "
            "the wrenches of the hands. Give force=..., the generalized forces of all dofs."
        )
    result = TreeAugmented(mb).forward_dynamics(q, v, force, f_ext)
    body, unique = _object(mb, name), True
    through = [body.hinge_name if x.how == "hung" else x.loop for x in holds]
    wrenches = np.array([result.hinge_forces.at(x, name, name) for x in through])
    if result.redundant:
        wrenches, unique = least_wrenches(mb.state(q, v), body, holds, wrenches, result.rank)
    return Reactions(name, {x.hand: w for x, w in zip(holds, wrenches, strict=True)}, unique)


def strengths(reactions_of: Reactions, fingertips: Any) -> dict[str, Strength]:
    """Strength of the grip of each hand, by its fingertips: `{hand: [Fingertip, ...]}`, or a list where one hand holds.
    """
    by_hand = fingertips
    if not isinstance(fingertips, Mapping):
        if len(reactions_of.wrenches) > 1:
            hands = ", ".join(map(repr, reactions_of.wrenches))
            raise StateError(
                f"{reactions_of.object!r} is held by {hands}: give fingertips by hand, {{hand: [Fingertip(...)]}}."
            )
        by_hand = dict.fromkeys(reactions_of.wrenches, fingertips)
    for hand in (*by_hand, *reactions_of.wrenches):
        if hand not in reactions_of.wrenches:
            held = ", ".join(map(repr, reactions_of.wrenches))
            raise StateError(f"{hand!r:.60} does not hold {reactions_of.object!r}; it is held by {held}.")
        if hand not in by_hand:
            raise StateError(f"the fingertips of {hand!r}, which holds {reactions_of.object!r}, are missing.")
    return {hand: grasp_strength(by_hand[hand], w) for hand, w in reactions_of.wrenches.items()}


def _object(mb: Multibody, name: str) -> Body:
    body = mb[name]
    assert isinstance(body, Body)
    return body

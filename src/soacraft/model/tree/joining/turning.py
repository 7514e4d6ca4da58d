"""Reversed hinges, for trees some of whose bodies get another parent.

A hinge turned around has its screws negated and in reverse order, and its frames swapped (formula F9):

    T_kp = outboard^-1 exp(-S_n q_n) ... exp(-S_1 q_1) inboard^-1
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soacraft.errors import ModelError
from soacraft.model.hinges import Free, Helical, Hinge, Pin, Prismatic, Screws, Spherical, Weld
from soacraft.model.hinges.product import ScrewProduct
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.parts.properties import Limits, Passive
from soacraft.model.tree.parts.records import Actuator
from soacraft.spatial.checks import Array
from soacraft.spatial.transforms import adjoint


class Turned(NamedTuple):
    """A hinge turned around: `order[j]` is the old number of its dof j; how its coordinates and velocities turn."""

    hinge: Hinge
    order: list[int]

    def q(self, old: Hinge, q: Array) -> Array:
        """The coordinates that give the inverse pose."""
        if not isinstance(old, Spherical | Free):
            return q[self.order]
        pose = old.pose(q).inv
        turn = pose.as_quaternion()
        return turn if isinstance(old, Spherical) else np.concatenate([turn, pose.translation])

    def v(self, old: Hinge, q: Array, v: Array) -> Array:
        """The velocities, and as well the accelerations: V' = -Ad(T) V for a spherical or free hinge."""
        if not isinstance(old, Spherical | Free):
            return v[self.order]
        pose = old.pose(q)
        if isinstance(old, Spherical):
            return -pose.rotation @ v
        return -adjoint(pose.rotation, pose.translation) @ v


def turned(who: str, hinge: Hinge, what: str) -> Turned:
    """A hinge, turned around. `who` and `what` say in a refusal who asks and of what.

    >>> turned("reroot", Pin((0, 0, 1)), "'arm'").hinge
    Pin(axis=(0, 0, -1))
    """
    order = list(range(hinge.nv))
    if type(hinge) is Pin:
        return Turned(Pin(-hinge.axis), order)
    if type(hinge) is Prismatic:
        return Turned(Prismatic(-hinge.axis), order)
    if type(hinge) is Helical:
        return Turned(Helical(-hinge.axis, hinge.pitch), order)
    if isinstance(hinge, ScrewProduct):
        return Turned(Screws([-screw for screw in reversed(hinge.vectors)]), order[::-1])
    if isinstance(hinge, Weld | Spherical | Free):
        return Turned(hinge, order)
    raise ModelError(f"{who}: the hinge {hinge!r} of {what} cannot be turned around.")


def renamed_dofs(hinges: dict[Body, Turned]) -> dict[str, str]:
    """The names of the dofs of turned hinges, old to new: those of hinges with several dofs change places."""
    return {
        f"{body.hinge_name}.{i}": f"{body.hinge_name}.{j}"
        for body, found in hinges.items()
        for j, i in enumerate(found.order)
        if found.hinge.nv > 1
    }


def copy_hinge_numbers(who: str, twin: Body, old: Body, order: list[int] | None) -> None:
    """Armature, springs and limits go with the hinge; `order` is that of the dofs of a hinge turned around."""
    passive, limits = old.passive, old.limits
    if order is None:
        twin.armature, twin.passive, twin.limits = old.armature, passive, limits
        return
    if isinstance(old.hinge, Spherical | Free):
        _refuse_uneven(who, old)
    twin.armature = old.armature[order]
    rest = passive.rest[order] if passive.rest is not None and old.hinge.nq == old.hinge.nv else None
    twin.passive = Passive(rest=rest, **{name: getattr(passive, name)[order] for name in Passive.by_dof})
    parts = (limits.lower, limits.upper, limits.velocity, limits.effort)
    twin.limits = Limits(*(x[order] for x in parts))


def _refuse_uneven(who: str, body: Body) -> None:
    """Refuse numbers by dof that a reversed hinge cannot have. The velocity of a reversed spherical hinge is -R v and
    that of a free one -Ad(T) v: numbers by dof have no equivalent, unless they are equal for the three dofs of a
    spherical hinge.
    """
    passive, limits = body.passive, body.limits
    by_dof = [body.armature, passive.damping, passive.friction, passive.static, passive.stribeck_speed]
    bounds = [limits.lower, limits.upper, limits.velocity, limits.effort]
    if isinstance(body.hinge, Free):
        even = not any(x.any() for x in by_dof) and all(np.isinf(x).all() for x in bounds)
    else:
        even = all((x == x[0]).all() for x in by_dof + bounds)
    if passive.stiffness.any() or not even:
        raise ModelError(
            f"{who}: hinge {body.hinge_name!r} ({body.hinge!r}) would be turned around, but has springs, or armature, "
            "dampers, friction or limits that are not the same in all directions, which the turned hinge cannot have; "
            "take them away first."
        )


def has_hinge_numbers(body: Body) -> bool:
    """True if a hinge has armature, springs, dampers, friction or limits."""
    if body._armature is None and body._passive is None and body._limits is None:
        return False
    plain = body.passive == Passive().sized(body.hinge, "") and body.limits == Limits().sized(body.hinge, "")
    return bool(body.armature.any()) or not plain


def renamed_actuator(actuator: Actuator, renamed: dict[str, str]) -> Actuator:
    """An actuator of the same dofs under their new names."""
    gears = {renamed.get(dof, dof): gear for dof, gear in actuator.gears.items()}
    return Actuator(actuator.name, actuator.kind, gears, actuator.attributes)

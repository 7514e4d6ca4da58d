"""Limbs from the groups of an SRDF file, which the model keeps as records (`files/srdf.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from soacraft.errors import ModelError
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.grasping.holds import is_outboard

if TYPE_CHECKING:
    from soacraft.robot.robot import Robot


class Groups(NamedTuple):
    """What became of the groups of a file."""

    limbs: tuple[str, ...]
    """Groups that are limbs now."""
    left: dict[str, str]
    """The others, with the reason."""

    def __repr__(self) -> str:
        lines = [f"limbs: {', '.join(self.limbs) or 'none'}"]
        return "\n".join([*lines, *(f"  {name}: {why}" for name, why in self.left.items())])


def limbs_of(robot: Robot) -> Groups:
    """Make a limb of every group that is one chain: by its two links, or by joints that follow each other."""
    made, left = [], {}
    for record in robot.mb.records:
        if record.kind != "group":
            continue
        try:
            robot.limb(record.name, *_ends(robot.mb, record.attributes))
        except ModelError as wrong:
            left[record.name] = str(wrong)
        else:
            made.append(record.name)
    return Groups(tuple(made), left)


def _ends(mb: Multibody, group: Any) -> tuple[Any, Any]:
    """Base and tip."""
    if group["groups"]:
        raise ModelError(f"it is made of other groups: {', '.join(group['groups'])}.")
    if len(group["chains"]) == 1 and not group["joints"] and not group["links"]:
        base, tip = group["chains"][0]
        return (base if base in mb else mb.root), mb.frame(tip)
    names = {x.hinge_name: x for x in mb.bodies}
    bodies = [names[x] for x in group["joints"] if x in names] + [mb[x] for x in group["links"] if x in mb]
    inside = {x for x in bodies if isinstance(x, Body) and x.hinge.nv}
    if not inside or group["chains"]:
        raise ModelError("it names no joint that moves, or a chain and more.")
    tips = [x for x in inside if not any(y is not x and is_outboard(y, x) for y in inside)]
    if len(tips) != 1:
        raise ModelError(f"it branches: {', '.join(sorted(x.name for x in tips))} are all at an end.")
    first = min(inside, key=lambda x: mb.bodies.index(x))
    return first.parent, tips[0]


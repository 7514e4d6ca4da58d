"""Limbs from the groups of an SRDF file, which the model keeps as records (`files/srdf.py`).

A group names chains by two links, joints, links, or other groups. A group is a limb where all its bodies are outboard
of one: a chain, or a tree with a tip at each end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from soacraft.errors import ModelError
from soacraft.model.tree.frames.frame import Body, Carrier, Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.interfaces import Bearer
from soacraft.robot.limbs.data import path


class Groups(NamedTuple):
    """Result of reading the groups of a file."""

    limbs: tuple[str, ...]
    """Groups that are limbs now."""
    left: dict[str, str]
    """The others, with the reason."""

    def __repr__(self) -> str:
        lines = [f"limbs: {', '.join(self.limbs) or 'none'}"]
        return "\n".join([*lines, *(f"  {name}: {why}" for name, why in self.left.items())])


def limbs_of(robot: Bearer) -> Groups:
    """Make a limb of every group that is a chain or a tree."""
    groups = {x.name: x.attributes for x in robot.mb.records if x.kind == "group"}
    limbs, refused = [], {}
    for name in groups:
        try:
            robot.limb(name, *_ends(robot.mb, groups, name))
        except ModelError as wrong:
            refused[name] = str(wrong)
        else:
            limbs.append(name)
    return Groups(tuple(limbs), refused)


class _Named(NamedTuple):
    """Bodies and frames that a group names: bodies that move, and the ends of its chains."""

    bodies: set[Body]
    bases: list[Frame]
    tips: list[Frame]


def _ends(mb: Multibody, groups: dict[str, Any], name: str) -> tuple[Frame, Any]:
    """Base and tip, or tips."""
    named = _named(mb, groups, name)
    if not named.bodies:
        raise ModelError("it names no joint that moves.")
    base = _base(mb, named)
    ends = [x for x in named.bodies if not any(_outboard(y, x) for y in named.bodies)]
    carriers = {x.carrier for x in named.tips}
    tips = [x for x in named.tips if not any(y is not x and _outboard(y.carrier, x.carrier) for y in named.tips)]
    tips += [x for x in sorted(ends, key=mb.bodies.index) if not any(_outboard(y, x) or y is x for y in carriers)]
    for tip in tips:
        between = [x.hinge_name for x in path(base, tip) or () if x.hinge.nv and x not in named.bodies]
        if between:
            raise ModelError(
                f"{', '.join(map(repr, between))} between {base.full_name!r} and {tip.full_name!r} "
                f"{'is' if len(between) == 1 else 'are'} not in it."
            )
    return base, tips[0] if len(tips) == 1 else tips


def _named(mb: Multibody, groups: dict[str, Any], name: str) -> _Named:
    """The bodies that a group and its groups name; the reader has refused circles and groups that are not there."""
    group, named = groups[name], _Named(set(), [], [])
    for other in group["groups"]:
        inner = _named(mb, groups, other)
        named.bodies.update(inner.bodies)
        named.bases.extend(inner.bases)
        named.tips.extend(inner.tips)
    for first, last in group["chains"]:
        base, tip = mb.frame(first) if first in mb else mb.root, mb.frame(last)
        way = path(base, tip)
        if way is None:
            raise ModelError(f"the chain from {first!r} to {last!r} does not lead outboard.")
        named.bodies.update(x for x in way if x.hinge.nv)
        named.bases.append(base)
        named.tips.append(tip)
    joints = {x.hinge_name: x for x in mb.bodies}
    members = [joints[x] for x in group["joints"] if x in joints] + [mb[x] for x in group["links"] if x in mb]
    named.bodies.update(x for x in members if isinstance(x, Body) and x.hinge.nv)
    return named


def _base(mb: Multibody, named: _Named) -> Frame:
    """The frame that all hang from: the base of its chains where that is one, or the nearest body that carries all."""
    inner = [[x.parent for x in _inboard(body)] for body in named.bodies]
    shared = next(x for x in inner[0] if all(x in each for each in inner))
    of_chains = [x for x in named.bases if x.carrier is shared]
    return of_chains[0] if of_chains else shared


def _inboard(body: Body) -> list[Body]:
    """The body and those that carry it, to the base."""
    bodies: list[Body] = []
    at: Carrier = body
    while isinstance(at, Body):
        bodies.append(at)
        at = at.parent
    return bodies


def _outboard(x: Carrier, of: Carrier) -> bool:
    """True if a body is outboard of another."""
    return isinstance(x, Body) and any(y.parent is of for y in _inboard(x))

"""Pairs that may touch while the robot holds an object: the object and the hand that holds it, but no more of the arm.

An object whose parent is a hand is checked as one that was welded there from the start. It is fixed to that body and to
all that is welded to it, and a hinge joins it to the bodies that are hinged there: the fingers of a plain gripper.
Bodies farther out are checked: a forearm can hit an object held by the torso. One that a closure holds has the same
pairs.

Fingers of several links look like an arm. Where an SRDF end effector or `Robot.hand` says that they are a hand, an
object held by a body of it, or by the link that it is on, may touch all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from soacraft.arguments import listed
from soacraft.contact.geometry.filters import Groups
from soacraft.errors import ModelError
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.parts.records import Record
from soacraft.robot.limbs.data import path


def make_hand(
    mb: Multibody, name: str, palm: Any, fingers: Any, held: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """`Robot.hand`: an end effector and its group among the records of a model. What it holds is no part of it."""
    if not isinstance(name, str) or not name:
        raise ModelError(f"a hand has a name, got {name!r:.60}.")
    if any(x.name == name and x.kind in ("group", "end_effector") for x in mb.records):
        raise ModelError(f"{mb.name!r} has a group or an end effector {name!r} already; take another name.")
    base = mb.frame(palm).carrier
    if not isinstance(base, Body):
        raise ModelError(f"the palm of hand {name!r} is a body that moves or is welded, got {palm!r:.60}.")
    parts = _outboard(mb, base) if fingers is None else listed(fingers)
    if parts is None or isinstance(fingers, str):
        raise ModelError(f"the fingers of hand {name!r} are bodies, a list of them; got {fingers!r:.60}.")
    others = {x for obj in held for x in _outboard(mb, mb[obj])}
    bodies = dict.fromkeys([base, *(mb.frame(x).carrier for x in parts)])
    links = tuple(x.name for x in bodies if isinstance(x, Body) and x not in others)
    mb.add_record(Record("group", name, {"links": links, "joints": (), "chains": (), "groups": ()}))
    mb.add_record(Record("end_effector", name, {"parent_link": base.name, "group": name}))
    return links


def gripped(mb: Multibody, groups: Groups, held: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, str]]:
    """Pairs of bodies that may touch since one holds the other, by their names. O(bodies) for each hand."""
    group, _ = groups
    for obj, hands in held.items():
        body = mb[obj]
        parts = _outboard(mb, body)
        rigid = [x for x in parts if group[x] is group[body]]
        on_it = [x for x in parts if x._parent in rigid and x not in rigid]
        for hand in hands:
            palm: Any = mb.frame(hand).carrier
            grips = set(hand_of(mb, group, palm))
            if group[palm] is not group[body]:  # by a closure: fixed to it all the same
                fixed = [x for x in mb.bodies if group[x] is group[palm]]
                yield from ((x.name, y.name) for x in fixed for y in (*rigid, *on_it))
                grips.update(_hinged_on(mb, group, palm))
            elif group[palm] is mb.root:  # where hinges on the ground do not join all that is fixed to it
                grips.update(_hinged_on(mb, group, palm))
            yield from ((x.name, y.name) for x in mb.bodies if x in grips and x not in parts for y in rigid)


def fingers_of(mb: Multibody, group: Mapping[Any, Any], palm: Body) -> set[Body]:
    """The bodies that grip what `palm` holds: hinged on it, or of the hand that it is part of."""
    outer = set(_outboard(mb, palm))
    hinged = (x for x in _hinged_on(mb, group, palm) if x in outer)
    welded = (x for x in outer if group[x] is group[palm])
    return {*hinged, *welded, *hand_of(mb, group, palm)} - {palm}


def hand_of(mb: Multibody, group: Mapping[Any, Any], palm: Any) -> list[Body]:
    """The bodies of the end effectors that a body is of or carries, with what is welded to them."""
    groups: set[Any] = set()
    for x in mb.records:
        if x.kind != "end_effector":
            continue
        named = {group[y] for y in _named(mb, str(x.attributes.get("group", "")))}
        link = str(x.attributes.get("parent_link", ""))
        on = {group[mb[link]]} if link in mb else set()
        if group[palm] in named | on:
            groups |= named
    return [x for x in mb.bodies if group[x] in groups and group[x] is not mb.root]


def _hinged_on(mb: Multibody, group: Mapping[Any, Any], palm: Any) -> list[Body]:
    """Bodies that a hinge joins to what is fixed to another; on the ground that is what is welded to it outboard."""
    fixed = {x for x in _outboard(mb, palm) if group[x] is group[palm]}
    if group[palm] is not mb.root:
        fixed = {x for x in mb.bodies if group[x] is group[palm]}
    return [x for x in mb.bodies if group[x] is x and x._parent in fixed]


def _named(mb: Multibody, name: str) -> list[Body]:
    """The bodies of an SRDF group and of the groups in it."""
    groups = {x.name: x.attributes for x in mb.records if x.kind == "group"}
    joints = {x.hinge_name: x for x in mb.bodies}
    bodies: list[Any] = []
    todo, seen = [name], set[str]()
    while todo:
        at = todo.pop()
        if at in seen or at not in groups:
            continue
        seen.add(at)
        group: Mapping[str, Any] = groups[at]
        todo += group.get("groups", ())
        bodies += (mb[x] for x in group.get("links", ()) if x in mb)
        bodies += (joints[x] for x in group.get("joints", ()) if x in joints)
        for first, last in group.get("chains", ()):
            if last in mb:
                bodies += path(mb.frame(first) if first in mb else mb.root, mb.frame(last)) or ()
    return [x for x in bodies if isinstance(x, Body)]


def _outboard(mb: Multibody, at: Any) -> list[Body]:
    """A body and all that is outboard of it; all bodies, of the ground."""
    return list(at.subtree() if isinstance(at, Body) else mb.bodies)

"""Edits of a model that moves: bodies that part, join, are caught or go; what they do to momentum and energy.

Each is a function of a model at its present state, so that it can be tried on a copy first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from soacraft import dynamics as dyn
from soacraft.contact import plastic_impact
from soacraft.errors import ModelError
from soacraft.model.flat.layout import dofs_of
from soacraft.model.hinges import Free, Weld
from soacraft.model.hinges.base import Hinge
from soacraft.model.sizes.measure import measure_of
from soacraft.model.tree.frames.frame import Body, Carrier, Frame, Node, Root
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.parts.closures import Closure
from soacraft.model.tree.parts.properties import Limits, Passive
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose

#: Largest change of a velocity where bodies join without an impact, relative to the fastest, in lengths of the model.
_GENTLE = 1e-9


class Outcome(NamedTuple):
    """Result of an edit: impulse and energy lost."""

    impulse: Array | None = None
    """[moment; force] on the body that was caught, at its frame, in inertial axes, in N m s and N s."""
    energy_lost: float = 0.0
    """Energy lost, in J."""


class Away(NamedTuple):
    """Dofs and frames that leave a plant, as sets of names; `resized` is true if q and v get another size."""

    dofs: frozenset[str]
    frames: frozenset[str]
    resized: bool


def away(body: str, hinge_only: bool = False) -> Callable[[Multibody], Away]:
    """Function that lists what leaves with a body and all bodies outboard of it; or with its hinge alone."""

    def found(mb: Multibody) -> Away:
        top = mb.body(body)
        bodies = [top] if hinge_only else list(top.subtree())
        dofs = frozenset(dof for x in bodies for dof in dofs_of(x))
        frames = () if hinge_only else [y.full_name for x in bodies for y in (x, *x.nodes)]
        return Away(dofs, frozenset(frames), True)

    return found


class Moving(NamedTuple):
    """Motion of a model as a whole."""

    bodies: tuple[str, ...]
    momentum: Array
    """[angular; linear] about the inertial origin."""
    energy: float
    """Kinetic, in J."""


def moving(mb: Multibody) -> Moving:
    """Momentum and kinetic energy of a model at its present state."""
    energy = float(dyn.kinetic_energy(mb, mb.q, mb.v, ignore_loops=True)) if mb.nv else 0.0
    return Moving(tuple(x.name for x in mb.bodies), momentum(mb), energy)


def momentum(mb: Multibody) -> Array:
    """[angular; linear] about the inertial origin, of all bodies."""
    return np.asarray(dyn.momentum(mb, mb.q, mb.v, ignore_loops=True)) if mb.nv else np.zeros(6)


def floats(body: Body) -> bool:
    """True if nothing holds a body."""
    return body.parent is body.graph.root and isinstance(body.hinge, Free)


def detach(mb: Multibody, name: str) -> Outcome:
    """Let a body, with all bodies outboard of it, float on as it moves: its hinge goes."""
    body = mb.body(name)
    if floats(body):
        raise ModelError(f"{name!r} of {mb.name!r} floats already: nothing holds it.")
    _refuse_held(mb, body)
    _strip(body)
    mb.reattach(body, None, Free(), keep_pose=True)
    return Outcome()


def attach(
    mb: Multibody, name: str, parent: str, hinge: Hinge | None, inboard: Pose | None, outboard: Pose | None
) -> Outcome:
    """Hang a body on another one by a hinge that allows the motion it has; another motion is refused."""
    body, on, hinge = mb.body(name), mb.frame(parent), Weld() if hinge is None else hinge
    before = np.asarray(mb.velocity(body))
    _strip(body)
    mb.reattach(body, on, hinge, _inboard(mb, body, on, hinge, inboard, outboard), outboard, keep_pose=True)  # type: ignore[arg-type]
    length = measure_of(mb, np.asarray(mb.q)).length
    off, size = (
        np.abs(x * np.repeat([length, 1.0], 3)).max() for x in (np.asarray(mb.velocity(body)) - before, before)
    )
    if off > _GENTLE * max(size, _fastest(mb, length)):
        raise ModelError(
            f"{name!r} moves relative to {parent!r} as {hinge!r} does not allow, by {off:.3g} m/s: that is an impact. "
            "Use capture(body, parent, hinge), which tells impulse and energy, or let them meet at rest."
        )
    return Outcome()


def capture(
    mb: Multibody, name: str, parent: str, hinge: Hinge | None, inboard: Pose | None, outboard: Pose | None
) -> Outcome:
    """Join a body to another one by the plastic impact of `sc.contact`: what the hinge does not allow of their relative
    motion ends. A floating body becomes a child of the other; else a loop is closed."""
    body, on, hinge = mb.body(name), mb.frame(parent), Weld() if hinge is None else hinge
    _refuse_again(mb, body, on)
    at, out = _inboard(mb, body, on, hinge, inboard, outboard), Pose() if outboard is None else outboard
    loop = _loop_name(body, on.carrier)
    a, b = on.carrier.add_node(f"{loop}: a", on.offset @ at), body.add_node(f"{loop}: b", out.inv)
    mb.close_loop(loop, a, b, hinge, active=False)
    done = plastic_impact(mb, loop)
    mb.set_state(v=done.v)
    wrench = done.impulses[loop]
    lever = np.asarray(mb.pose(b).translation) - np.asarray(mb.pose(body).translation)
    impulse = np.concatenate([wrench[:3] + np.cross(lever, wrench[3:]), wrench[3:]])
    mb.remove_loop(loop)
    if floats(body) and on.carrier not in set(body.subtree()):
        on.carrier.remove_node(a)
        body.remove_node(b)
        mb.reattach(body, on, hinge, at, outboard, keep_pose=True)  # type: ignore[arg-type]
    else:
        mb.close_loop(loop, a, b, hinge)
    return Outcome(impulse, done.energy_lost)


def release(mb: Multibody, name: str, parent: str) -> Outcome:
    """Let one of the bodies that hold a body go: the loop that `capture` closed is opened and its two nodes are taken
    out. A child of that body becomes a child of the next one that holds it, or floats. Every velocity is kept."""
    body, hand = mb.body(name), mb.frame(parent).carrier
    holding = captures(mb, body)
    if hand in holding:
        _open(mb, holding[hand])
        return Outcome()
    if body.parent is not hand or floats(body):
        hands = [x.name for x in (*(() if floats(body) else (body.parent,)), *holding)]
        raise ModelError(f"{name!r} of {mb.name!r} is not held by {hand.name!r}; it is held by {hands}.")
    inside: set[Carrier] = set(body.subtree())
    onward = next((x for x in holding if x not in inside), None)
    if onward is None:
        return detach(mb, name)
    loop = holding[onward]
    hinge, at, out = loop.hinge, loop.a.offset, loop.b.offset.inv
    if isinstance(hinge, Weld):
        at = _inboard(mb, body, onward, hinge, None, out)
    _open(mb, loop)
    _strip(body)
    mb.reattach(body, onward, hinge, at, out, keep_pose=True)
    return Outcome()


def captures(mb: Multibody, body: Body) -> dict[Body | Root, Closure]:
    """The loops that `capture` closed around a body, by the other body."""
    loops = {}
    for x in mb.loops:
        hand = x.a.carrier
        if x.active and x.b.carrier is body and x.name == _loop_name(body, hand) and isinstance(hand, Body | Root):
            loops[hand] = x
    return loops


def going(body: str, parent: str) -> Callable[[Multibody], Away]:
    """Parts of a plant that go with a hold: the nodes of its loop; or the hinge, and the body where nothing else holds
    it."""

    def found(mb: Multibody) -> Away:
        top, hand = mb.body(body), mb.frame(parent).carrier
        holding = captures(mb, top)
        if hand in holding:
            loop = holding[hand]
            return Away(frozenset(), frozenset({loop.name, loop.a.full_name, loop.b.full_name}), False)
        return away(body, hinge_only=not set(holding).issubset(set(top.subtree())))(mb)

    return found


def _open(mb: Multibody, loop: Closure) -> None:
    """Take a loop of `capture` out, with its nodes."""
    mb.remove_loop(loop)
    for node in (loop.a, loop.b):
        if isinstance(node, Node):
            node.carrier.remove_node(node)


def _loop_name(body: Body, hand: Carrier) -> str:
    return f"capture of {body.name} by {hand.name}"


def _refuse_again(mb: Multibody, body: Body, on: Frame) -> None:
    """Raise where a body is held by another one already."""
    if on.carrier in captures(mb, body) or (body.parent is on.carrier and not floats(body)):
        raise ModelError(
            f"{body.name!r} of {mb.name!r} is held by {on.carrier.name!r} already: let it go first, "
            f"plant.release({body.name!r}, {on.carrier.name!r}), or capture it by another body."
        )


def _refuse_held(mb: Multibody, body: Body) -> None:
    """Raise where a loop holds a body that is to float."""
    inside: set[Carrier] = set(body.subtree())
    for x in mb.loops:
        ends = [end.carrier in inside for end in (x.a, x.b)]
        if not x.active or x.one_sided or ends[0] == ends[1]:
            continue
        held, hand = (x.a, x.b) if ends[0] else (x.b, x.a)
        cure = f"mb.remove_loop({x.name!r})"
        if isinstance(held.carrier, Body) and x in captures(mb, held.carrier).values():
            cure = f"plant.release({held.carrier.name!r}, {hand.carrier.name!r})"
        raise ModelError(
            f"{body.name!r} of {mb.name!r} cannot float: {hand.carrier.name!r} holds it by the loop {x.name!r}. Open "
            f"that first, {cure}."
        )


def remove(mb: Multibody, name: str) -> Outcome:
    """Take a body out, with all bodies outboard of it."""
    mb.remove(name, subtree=True)
    return Outcome()


def _strip(body: Body) -> None:
    """A hinge that goes has no rotors, springs or limits any more."""
    if np.any(body.armature):
        body.armature = 0.0
    if body._passive is not None:
        body.passive = Passive()
    if body._limits is not None:
        body.limits = Limits()


def _inboard(mb: Multibody, body: Body, on: Frame, hinge: Hinge, inboard: Pose | None, outboard: Pose | None) -> Pose:
    """Pose of the inboard frame of a hinge on its parent: `inboard`, or the pose for which the hinge is neutral now."""
    if inboard is not None:
        return inboard
    T = mb.pose(body, relative_to=on)
    there = Pose.unchecked(np.asarray(T.rotation), np.asarray(T.translation))
    out = Pose() if outboard is None else outboard
    return there @ out.inv @ hinge.pose(hinge.neutral()).inv


def _fastest(mb: Multibody, length: float) -> float:
    scale = np.repeat([length, 1.0], 3)
    return max((float(np.abs(np.asarray(mb.velocity(x)) * scale).max()) for x in mb.bodies), default=0.0)


#: Edits of a plant's model while it moves, {name: function}.
EDITS: dict[str, Any] = {
    "detach": detach,
    "attach": attach,
    "capture": capture,
    "release": release,
    "remove": remove,
}

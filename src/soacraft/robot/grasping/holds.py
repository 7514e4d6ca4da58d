"""Objects that a robot takes and puts down. Objects are bodies of its model.

A free object (a base body with a `Free` hinge) is hung on the first hand that takes it, so that it adds no dof. A
second hand, or an object with a hinge of its own (a door, a drawer), is joined by a loop closure: inverse kinematics
and dynamics go on with the closed chain. Poses stay as they are; velocities change as in a plastic impact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from soacraft.contact.dynamics.plastic import plastic_impact
from soacraft.errors import ModelError, near
from soacraft.model.hinges import Free, Weld
from soacraft.model.hinges.base import Hinge
from soacraft.model.tree.frames.frame import Body, Frame, Node
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose


@dataclass(frozen=True, eq=False)
class Joined:
    """What became of a grasp: how the object is held, the impulse [moment; force] that it took, at its frame, and the
    energy lost."""

    object: str
    hand: str
    how: str
    """"hung": the object hangs from the hand; "loop": a closure of that name joins them."""
    loop: str
    impulse: Array
    energy_lost: float

    def __repr__(self) -> str:
        how = f"loop {self.loop!r}" if self.loop else "hung"
        return f"{self.object!r} held by {self.hand!r} ({how}), {self.energy_lost:.4g} J lost"


class _Before(NamedTuple):
    """How an object hung, and the state of the model, before something was done."""

    parent: str | None
    hinge: Hinge
    inboard: Pose
    outboard: Pose
    hinge_name: str
    q: Array
    v: Array
    hand_q: bytes


class _Hold(NamedTuple):
    joined: Joined
    before: _Before
    hinge: Hinge
    node: str


class Holds:
    """What a robot holds, and how it was before."""

    def __init__(self, mb: Multibody) -> None:
        self._mb = mb
        self._held: dict[tuple[str, str], _Hold] = {}
        self._done: list[tuple[str, tuple[str, str], _Hold, Array, Array]] = []

    @property
    def held(self) -> dict[str, tuple[str, ...]]:
        """The hands that hold each object."""
        found: dict[str, list[str]] = {}
        for obj, hand in self._held:
            found.setdefault(obj, []).append(hand)
        return {obj: tuple(hands) for obj, hands in found.items()}

    def take(self, obj: Any, hand: Any, hinge: Hinge | None = None) -> Joined:
        """Join an object and a hand, as they are."""
        mb = self._mb
        body, frame = self._object(obj), mb.frame(hand)
        hinge = Weld() if hinge is None else hinge
        key = body.name, frame.full_name
        if key in self._held:
            raise ModelError(f"{key[0]!r} is held by {key[1]!r} already; ungrasp it first.")
        if frame.carrier is body or is_outboard(frame, body):
            raise ModelError(f"{key[0]!r} cannot be held by {key[1]!r}, which is a part of it or hangs from it.")
        if not isinstance(frame.carrier, Body):
            raise ModelError(f"{key[1]!r} is on the inertial frame, which is no hand; weld it there by reattach.")
        before = self._before(body, frame)
        q, v = np.array(mb.q), np.array(mb.v)
        impact = plastic_impact(mb, (frame, body)) if v.any() else None
        free = body.parent is mb.root and isinstance(body.hinge, Free) and body.name not in self.held
        if free and isinstance(hinge, Weld):
            joined = self._hang(body, frame, impact)
            node = ""
        else:
            joined, node = self._close(body, frame, hinge, impact)
        self._held[key] = _Hold(joined, before, hinge, node)
        self._done.append(("take", key, self._held[key], q, v))
        return joined

    def give(self, obj: Any, hand: Any = None) -> None:
        """Part an object from a hand, or from all that hold it."""
        mb = self._mb
        body = self._object(obj)
        hands = self.held.get(body.name, ())
        if not hands:
            held = f"; it holds {', '.join(map(repr, self.held))}" if self.held else "; it holds nothing"
            raise ModelError(f"{body.name!r} is not held{held}.")
        if hand is not None:
            name = mb.frame(hand).full_name
            if name not in hands:
                raise ModelError(f"{body.name!r} is not held by {name!r}{near(name, hands, 'but by')}")
            hands = (name,)
        # loops first: what hangs from one hand must not close a loop with another when it is parted
        for name in sorted(hands, key=lambda x: self._held[body.name, x].joined.how == "hung"):
            key = body.name, name
            hold = self._held[key]
            others = [x for x in self.held[body.name] if x != name]
            if hold.joined.how == "hung" and others:
                raise ModelError(
                    f"{body.name!r} hangs from {name!r} and is held by {', '.join(map(repr, others))} too: ungrasp "
                    "those first, or all at once."
                )
            q, v = np.array(mb.q), np.array(mb.v)
            self._part(body, hold)
            del self._held[key]
            self._done.append(("give", key, hold, q, v))

    def undo(self) -> str:
        """Take back the last thing that was done, with the state before it, exactly."""
        if not self._done:
            raise ModelError("there is nothing to undo: nothing was grasped or let go.")
        what, key, hold, q, v = self._done.pop()
        body = self._mb[key[0]]
        assert isinstance(body, Body)
        if what == "take":
            self._part(body, hold)
            del self._held[key]
        elif hold.joined.how == "hung":
            self._hang(body, self._mb.frame(key[1]), None)
            self._held[key] = hold
        else:
            joined, node = self._close(body, self._mb.frame(key[1]), hold.hinge, None, hold.joined.loop)
            self._held[key] = hold._replace(joined=joined, node=node)
        self._mb.set_state(q, v)
        return f"{what} {key[0]!r} {key[1]!r}"

    def place(self, obj: Any, pose: Pose) -> None:
        """Correct where an object is in the hand that it hangs from, as an estimator sees it."""
        body = self._object(obj)
        hung = [key for key, x in self._held.items() if key[0] == body.name and x.joined.how == "hung"]
        if not hung:
            raise ModelError(f"{body.name!r} hangs from no hand, so its pose there cannot be set.")
        if not isinstance(pose, Pose) or pose.batch_shape:
            raise ModelError(f"the pose of {body.name!r} must be one Pose(...), got {pose!r:.60}.")
        body.inboard = self._mb.frame(hung[0][1]).offset @ pose

    # -- inside --------------------------------------------------------------------------------------------------

    def _object(self, obj: Any) -> Body:
        frame = self._mb.frame(obj)
        if not isinstance(frame, Body):
            raise ModelError(f"an object is a body of the model, got {frame!r:.60}.")
        return frame

    def _before(self, body: Body, frame: Frame) -> _Before:
        mb = self._mb
        parent = body.parent.name if isinstance(body.parent, Body) else None
        k = mb.layout.index[body]
        return _Before(
            parent, body.hinge, body.inboard, body.outboard, body.hinge_name,
            np.array(mb.q)[mb.layout.hinge_q[k]], np.array(mb.v)[mb.layout.hinge_v[k]], self._path(frame),
        )  # fmt: skip

    def _path(self, frame: Frame) -> bytes:
        """The coordinates on the way to a hand, to tell whether it was moved."""
        mb, at, found = self._mb, frame.carrier, []
        while isinstance(at, Body):
            found.append(np.array(mb.q)[mb.layout.hinge_q[mb.layout.index[at]]].tobytes())
            at = at.parent
        return b"".join(found)

    def _hang(self, body: Body, frame: Frame, impact: Any) -> Joined:
        mb = self._mb
        parent = frame.carrier
        assert isinstance(parent, Body)
        v = dict(zip(mb.dof_names, np.asarray(mb.v if impact is None else impact.v), strict=True))
        name = body.hinge_name
        mb.reattach(body, parent, Weld(), mb.pose(body, parent), Pose(), hinge_name=name)
        if impact is not None:
            mb.set_state(v=np.array([v[x] for x in mb.dof_names]))
        return Joined(body.name, frame.full_name, "hung", "", *_told(impact))

    def _close(self, body: Body, frame: Frame, hinge: Hinge, impact: Any, name: str = "") -> tuple[Joined, str]:
        mb = self._mb
        name = name or _unused(f"{frame.full_name} holds {body.name}", mb)
        node = body.add_node(_node(body, frame), mb.pose(frame, body))
        mb.close_loop(name, frame, node, hinge)
        if impact is not None:
            after = impact if isinstance(hinge, Weld) else plastic_impact(mb, name)
            mb.set_state(v=after.v)
            impact = after
        return Joined(body.name, frame.full_name, "loop", name, *_told(impact)), node.full_name

    def _part(self, body: Body, hold: _Hold) -> None:
        mb, before = self._mb, hold.before
        if hold.joined.how == "loop":
            mb.remove_loop(hold.joined.loop)
            node = mb.frame(hold.node)
            assert isinstance(node, Node)
            body.remove_node(node)
            return
        unmoved = self._path(mb.frame(hold.joined.hand)) == before.hand_q
        mb.reattach(body, None, Free(), before.inboard, before.outboard, keep_pose=True, hinge_name=before.hinge_name)
        if unmoved:  # exactly where it was taken, not up to rounding
            q = np.array(mb.q)
            q[mb.layout.hinge_q[mb.layout.index[body]]] = before.q
            mb.set_state(q=q)


def _told(impact: Any) -> tuple[Array, float]:
    if impact is None:
        return np.zeros(6), 0.0
    return np.asarray(next(iter(impact.impulses.values()))), float(impact.energy_lost)


def is_outboard(frame: Frame, body: Body) -> bool:
    """Whether a frame is on a body, or on one that hangs from it."""
    at: Any = frame.carrier
    while isinstance(at, Body):
        if at is body:
            return True
        at = at.parent
    return False


def _unused(name: str, mb: Multibody) -> str:
    known, made, i = {x.name for x in mb.loops}, name, 2
    while made in known:
        made, i = f"{name} {i}", i + 1
    return made


def _node(body: Body, frame: Frame) -> str:
    known: Sequence[str] = [x.name for x in body.nodes]
    base = "held_" + "".join(c if c.isalnum() else "_" for c in frame.full_name)
    made, i = base, 2
    while made in known:
        made, i = f"{base}_{i}", i + 1
    return made

"""Objects that a robot takes and puts down. Objects are bodies of its model.

A free object (a base body with a `Free` hinge) is attached to the first hand that takes it by a `Weld`, so that it adds
no dof. A second hand, another hinge, or an object that already has a hinge (a door, a drawer, one blade of shears), is
joined by a loop closure: inverse kinematics and dynamics go on with the closed chain. Poses stay as they are;
velocities change as in a plastic impact.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from soacraft.errors import ModelError, near
from soacraft.model.hinges import Weld
from soacraft.model.hinges.base import Hinge
from soacraft.model.modal.refusals import require_point
from soacraft.model.tree.arguments import read_hinge
from soacraft.model.tree.frames.frame import Body, Frame, Node
from soacraft.model.tree.joining.restoring import Remembered, remember, restore
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.grasping.fastening import WELD, Hold, carry, closed, freed, held_at, hung, is_free, moved, opened
from soacraft.robot.grasping.joined import Joined, is_outboard
from soacraft.spatial.pose import Pose

#: Number of grasps and releases that can be undone.
HISTORY = 4096


class Done(NamedTuple):
    """Step of the history: its name, and all that it changed, in the state before."""

    what: str
    object: str
    was: Remembered
    held: dict[tuple[str, str], Hold]
    order: tuple[str, ...]


class Holds:
    """Holds of a robot, and the history that undoes them."""

    def __init__(self, mb: Multibody) -> None:
        self._mb = mb
        self._held: dict[tuple[str, str], Hold] = {}
        self._done: deque[Done] = deque(maxlen=HISTORY)
        self._version = mb.version  # of the structure after what was done last
        self._cut = ""  # why nothing before the first of `_done` can be undone
        # the order of the bodies that hang from the inertial frame, or did before they were taken
        self._order: tuple[str, ...] = ()

    @property
    def held(self) -> dict[str, tuple[str, ...]]:
        """The hands that hold each object; what was parted by an edit of the model is not held."""
        by_object: dict[str, list[str]] = {}
        for obj, hand in self._true():
            by_object.setdefault(obj, []).append(hand)
        return {obj: tuple(hands) for obj, hands in by_object.items()}

    def of(self, obj: Any) -> tuple[Joined, ...]:
        """Holds of an object, hand by hand; refused where there is none."""
        name = self._object(obj).name
        joined = tuple(x.joined for key, x in self._true().items() if key[0] == name)
        if not joined:
            raise ModelError(self._not_held(name))
        return joined

    # -- what a robot does -----------------------------------------------------------------------------------------

    def take(self, obj: Any, hands: Sequence[Any], hinge: Hinge | None = None) -> list[Joined]:
        """Join an object and hands, as they are: all or none."""
        body = self._object(obj)
        if not hands:
            raise ModelError(f"{body.name!r} is held by hands, and none was given; name a body or a node of one.")
        hinge = WELD if hinge is None else read_hinge(hinge, body.name, "grasp of")
        frames = [self._hand(body, hand) for hand in hands]
        held, order = self._begin(), self._order
        was, after, version = remember(self._mb, body), dict(held), self._mb.version
        try:
            joined = []
            for frame in frames:
                key = body.name, frame.full_name
                if key in after:
                    raise ModelError(f"{key[0]!r} is held by {key[1]!r} already; ungrasp it first.")
                after[key] = self._join(body, frame, hinge)
                self._held = dict(after)
                joined.append(after[key].joined)
        except Exception:
            self._back(body, was, held, version)
            self._order = order
            raise
        self._keep(Done(f"take {body.name!r} {_listed(frames)}", body.name, was, held, order))
        return joined

    def give(self, obj: Any, hands: Sequence[Any] | None = None) -> None:
        """Part an object from hands, or from all that hold it: all or none."""
        body = self._object(obj)
        holding = self.held.get(body.name, ())
        if not holding:
            raise ModelError(self._not_held(body.name))
        names = list(holding)
        if hands is not None:
            if not hands:
                raise ModelError(f"{body.name!r} is parted from hands, and none was given; leave them out for all.")
            names = list(dict.fromkeys(self._mb.frame(x).full_name for x in hands))
            for name in names:
                _require_holder(body, name, holding)
        held, order = self._begin(), self._order
        was, version = remember(self._mb, body), self._mb.version
        try:
            # loops first: what hangs from one hand must not close a loop with another when it is parted
            for name in sorted(names, key=lambda x: held[body.name, x].joined.how == "hung"):
                self._part(body, name)
        except Exception:
            self._back(body, was, held, version)
            self._order = order
            raise
        self._keep(Done(f"give {body.name!r} {', '.join(map(repr, names))}", body.name, was, held, order))

    def place(self, obj: Any, pose: Pose, hand: Any = None) -> None:
        """Correct the pose of an object in a hand, by default its parent, as an estimator sees it. If the hand is the
        parent, other hands stay in place and hold it at another pose; a closure gets its pose, and loops close again.
        """
        body = self._object(obj)
        name = self._holder(body, hand)
        if not isinstance(pose, Pose) or pose.batch_shape:
            raise ModelError(f"the pose of {body.name!r} must be one Pose(...), got {pose!r:.60}.")
        held, order = self._begin(), self._order
        was, hold = remember(self._mb, body), held[body.name, name]
        if hold.joined.how == "hung":
            nodes = {x.node for key, x in held.items() if key[0] == body.name and x.node}
            moved(self._mb, body, self._mb.frame(name).offset @ pose, nodes)
        else:
            held_at(self._mb, body, hold, pose)
        self._keep(Done(f"place {body.name!r} {name!r}", body.name, was, held, order))

    def undo(self) -> str:
        """Take back the last thing that was done, with the state before it, exactly; what it was."""
        if not self._done:
            raise ModelError(f"there is nothing to undo: nothing was grasped or let go{self._cut}.")
        done, mb = self._done[-1], self._mb
        if mb.version != self._version:
            raise ModelError(
                f"the structure of {mb.name!r} was edited since the last grasp ({done.what}), which cannot be undone "
                "exactly any more; grasp and ungrasp instead."
            )
        body = mb[done.object]
        assert isinstance(body, Body)
        nodes = {x.node for x in self._held.values()} - {x.node for x in done.held.values()}
        restore(mb, body, done.was, {x.rpartition("/")[2] for x in nodes})
        held_nodes = {x.node for x in done.held.values()}
        for fixed in done.was.nodes:  # those that `place` moved
            node = body._nodes[fixed.name]
            if node.full_name in held_nodes and node.pose is not fixed.pose:
                node.pose = fixed.pose
        self._held, self._order = done.held, done.order
        self._done.pop()
        self._version = mb.version
        return done.what

    def copy(self, mb: Multibody) -> Holds:
        """Holds of a copy of the model, with all that can be undone."""
        other = Holds(mb)
        other._held, other._done, other._order = dict(self._held), self._done.copy(), self._order
        other._cut = self._cut
        # an edit since then is one in the copy too
        other._version = mb.version if self._version == self._mb.version else -1
        return other

    def told(self) -> tuple[list[Hold], tuple[str, ...]]:
        """Present holds, and the order of the bodies on the inertial frame before they were taken."""
        return list(self._true().values()), self._order

    @classmethod
    def told_by(cls, mb: Multibody, held: dict[tuple[str, str], Hold], order: tuple[str, ...]) -> Holds:
        """Holds received from another robot; its earlier steps cannot be undone here."""
        holds = cls(mb)
        holds._held, holds._order, holds._cut, holds._version = held, order, " since changes were applied", -1
        true = holds._true()
        for key, hold in held.items():
            node = mb._tree.find(hold.node) if hold.node else None
            fits = isinstance(node, Node) and node.carrier.name == key[0]
            how = hold.joined.how
            if key not in true or (how == "loop") != fits or (how == "hung") != bool(hold.place):
                raise ModelError(f"{key[0]!r:.60} is not held by {key[1]!r:.60} in {mb.name!r}, as the changes say.")
        holds._version = mb.version
        return holds

    def rebound(self, version: int) -> None:
        """The model has the structure again that it had at a version."""
        if self._version == version:
            self._version = self._mb.version

    # -- inside --------------------------------------------------------------------------------------------------

    def _object(self, obj: Any) -> Body:
        frame = self._mb.frame(obj)
        if not isinstance(frame, Body):
            raise ModelError(f"an object is a body of the model, got {frame!r:.60}.")
        return frame

    def _hand(self, body: Body, hand: Any) -> Frame:
        frame = self._mb.frame(hand)
        if is_outboard(frame, body):
            raise ModelError(
                f"{body.name!r} cannot be held by {frame.full_name!r}, which is a part of it or outboard of it."
            )
        if not isinstance(frame.carrier, Body):
            raise ModelError(
                f"{frame.full_name!r} is on the inertial frame, which is no hand; weld it there by reattach."
            )
        require_point(frame, "hold an object by")
        if body.modal is not None:
            raise ModelError(
                f"{body.name!r} is flexible, and hands hold rigid bodies: weld a rigid one to a node of it and hold "
                "that, or join it by mb.close_loop at that node."
            )
        return frame

    def _holder(self, body: Body, hand: Any) -> str:
        """Hand of the grasp that is meant: the one that is named, the parent of the object, or the only one that holds
        it.
        """
        holds = {key[1]: x for key, x in self._true().items() if key[0] == body.name}
        if not holds:
            raise ModelError(self._not_held(body.name))
        if hand is not None:
            name = self._mb.frame(hand).full_name
            _require_holder(body, name, holds)
            return name
        names = [x for x, hold in holds.items() if hold.joined.how == "hung"] or list(holds)
        if len(names) > 1:
            listed = " and ".join(map(repr, names))
            raise ModelError(f"{body.name!r} is held by {listed}: say in which of them its pose is, by hand=...")
        return names[0]

    def _true(self) -> dict[tuple[str, str], Hold]:
        """Holds that are still as they were taken; an edit of the model may have parted or removed some."""
        mb = self._mb
        if mb.version == self._version:
            return self._held
        loops, holds = mb._attachments.loops, {}
        for (obj, hand), hold in self._held.items():
            body, frame = mb._tree.bodies.get(obj), mb._tree.find(hand)
            if body is None or frame is None:
                continue
            hung = body.parent is frame.carrier and isinstance(body.hinge, Weld)
            if hung if hold.joined.how == "hung" else hold.joined.loop in loops:
                holds[obj, hand] = hold
        return holds

    def _begin(self) -> dict[tuple[str, str], Hold]:
        """Holds at present; steps before an edit of the structure cannot be undone exactly."""
        held = self._held = self._true()
        if self._mb.version != self._version:
            if self._done:
                self._cut = f" since the structure of {self._mb.name!r} was edited"
            self._done.clear()
            self._version = self._mb.version
        return held

    def _back(self, body: Body, was: Remembered, held: dict[tuple[str, str], Hold], version: int) -> None:
        """Undo what a refused call has done so far."""
        self._held = held
        if self._mb.version != version:
            restore(self._mb, body, was)
            self._version = self._mb.version

    def _not_held(self, name: str) -> str:
        held = f"; it holds {', '.join(map(repr, self.held))}" if self.held else "; it holds nothing"
        return f"{name!r} is not held{held}."

    def _keep(self, done: Done) -> None:
        self._done.append(done)
        self._version = self._mb.version
        if all(x.joined.how == "loop" for x in self._held.values()):
            self._order = ()

    def _join(self, body: Body, frame: Frame, hinge: Hinge) -> Hold:
        mb = self._mb
        if not is_free(mb, body) or body.name in self.held or not isinstance(hinge, Weld):
            return closed(mb, body, frame, hinge)
        siblings = tuple(mb.root._children)
        hold = hung(mb, body, frame)
        self._order += tuple(x for x in siblings if x not in self._order)
        return hold

    def _part(self, body: Body, hand: str) -> None:
        """Part an object from one hand; where it hung there, the next that holds it fast carries it."""
        mb, key = self._mb, (body.name, hand)
        hold = self._held[key]
        held = {other: x for other, x in self._held.items() if other != key}
        if hold.joined.how == "loop":
            opened(mb, body, hold)
        else:
            freed(mb, body, hold, self._order)
            others = (x for x in held if x[0] == body.name and isinstance(held[x].hinge, Weld))
            if (other := next(others, None)) is not None:
                x = held[other]
                opened(mb, body, x)
                carry(mb, body, mb.frame(other[1]))
                joined = x.joined.replaced("hung", "")
                held[other] = x._replace(joined=joined, node="", place=hold.place, q=hold.q, pose=hold.pose)
        self._held = held


def _require_holder(body: Body, hand: str, holding: Collection[str]) -> None:
    if hand not in holding:
        raise ModelError(f"{body.name!r} is not held by {hand!r}{near(hand, holding, 'but by')}")


def _listed(frames: Sequence[Frame]) -> str:
    return ", ".join(repr(x.full_name) for x in frames)

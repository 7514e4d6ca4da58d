"""`BodyTree`: the frames of a model by name, with parents and children."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from soacraft.algebra.spaces.tree import Tree
from soacraft.errors import ModelError, near
from soacraft.model.hinges.base import Hinge
from soacraft.model.modal.refusals import require_point
from soacraft.model.tree.arguments import ROOT_NAME, read_name
from soacraft.model.tree.frames.frame import Body, Carrier, Frame, Node, Root
from soacraft.model.tree.frames.hinge_frame import INBOARD, OUTBOARD
from soacraft.model.tree.frames.moving_frame import MovingFrame
from soacraft.model.tree.frames.owner import Owner
from soacraft.model.tree.names import frame_names, hinge_note
from soacraft.spatial.pose import Pose


class BodyTree:
    """The inertial frame, and bodies, hinges (by their bodies) and nodes by name, each in the order they were added.

    It says what a name finds and which edits leave a tree with unique names. Of states and versions it knows nothing:
    `soacraft.model.tree.editing` calls it under the model's lock.
    """

    def __init__(self, root: Root) -> None:
        self.root = root
        self.bodies: dict[str, Body] = {}
        self.hinges: dict[str, Body] = {}
        self.nodes: dict[str, Node] = {}  # by full name

    @property
    def _model(self) -> Owner:
        return self.root.graph

    # -- names -----------------------------------------------------------------------------------------------

    def find(self, name: str) -> Frame | None:
        """The frame of a name, if there is one: of a body or a node, then of a hinge."""
        known = self.root if name == ROOT_NAME else self.bodies.get(name) or self.nodes.get(name)
        return known or self._hinge_frame(name)

    def _hinge_frame(self, name: str) -> Frame | None:
        """`body/inboard` or `body/outboard`."""
        body, _, side = name.rpartition("/")
        on = self.bodies.get(body)
        if on is None or side not in (INBOARD, OUTBOARD):
            return None
        return on.inboard_frame if side == INBOARD else on.outboard_frame

    def frame(self, frame: Any) -> Frame:
        """A body, node or the inertial frame, from itself or its name."""
        known = self.find(frame) if isinstance(frame, str) else None
        if known is not None:
            return known
        mb = self._model
        if isinstance(frame, MovingFrame):
            raise ModelError(
                f"{frame!r} is moved by its user, and is no frame of a body: it is seen from and expressed in, with "
                "mb.pose, mb.velocity, mb.acceleration, and relative_to= or expressed_in= of jacobian."
            )
        if isinstance(frame, Frame):
            if frame.graph is not mb:
                other = f"({frame.graph.name!r}), not to" if frame.graph.name != mb.name else "of the same name,"
                raise ModelError(f"{frame.kind} {frame.full_name!r} belongs to another model {other} {mb.name!r}.")
            frame.require_present()
            return frame
        if not isinstance(frame, str):
            ground = f"; the ground is {mb.root.name!r}" if frame is None else ""
            raise ModelError(f"give a frame of {mb.name!r} or its name, got {frame!r}{ground}.")
        hint = hinge_note(mb, frame) or near(frame, frame_names(mb), "it has")
        raise ModelError(f"{mb.name!r} has no frame {frame!r}{hint}")

    def attachment(self, parent: Any) -> Frame:
        """Parent of a new body: a body, a node on one, or the inertial frame for None."""
        frame = self.root if parent is None else self.frame(parent)
        require_point(frame, "hang the body on")
        return frame

    def carrier(self, parent: Any) -> Carrier:
        """Parent of a body that is moved: a body, or the inertial frame for None."""
        frame = self.root if parent is None else self.frame(parent)
        if not isinstance(frame, Carrier):
            raise ModelError(
                f"the parent must be a body or None, got node {frame.full_name!r}; "
                f"use parent={frame.carrier.name!r} and inboard=<the node's pose>."
            )
        if isinstance(frame, Body) and frame._modal is not None:
            return self.attachment(frame).carrier
        return frame

    # -- what an edit may not do -----------------------------------------------------------------------------

    def refuse_taken(self, full_name: str, new: str) -> None:
        """Raise for a new frame whose full name finds another one: body 'a/b', and node 'b' of body 'a'."""
        other = self.bodies.get(full_name) or self.nodes.get(full_name)
        if other is not None:
            whose = f" of {other.carrier.name!r}" if isinstance(other, Node) else ""
            raise ModelError(
                f"{new} would have the name of {other.kind} {other.name!r}{whose}: both would be {full_name!r}; "
                "give one another name."
            )

    def body_name(self, name: Any) -> str:
        """The name of a new body."""
        read_name("body", name)
        if name in self.bodies:
            raise ModelError(f"{self._model.name!r} already has a body {name!r}; names are unique.")
        self.refuse_taken(name, f"body {name!r}")
        return str(name)

    def hinge_name(self, name: Any, body: Body | None = None) -> str:
        """The name of a hinge, new or that of `body`."""
        read_name("hinge", name)
        other = self.hinges.get(name)
        if other is not None and other is not body:
            raise ModelError(
                f"{self._model.name!r} already has a hinge {name!r}, of body {other.name!r}; names are unique: "
                "give hinge_name=..."
            )
        return str(name)

    def refuse_loop(self, body: Body, parent: Carrier, hinge_name: str) -> None:
        """Raise for a body that would be its own ancestor."""
        path, carrier = [parent.name], parent
        while isinstance(carrier, Body):
            if carrier is body:
                raise ModelError(
                    f"hinge {hinge_name!r} would close a loop ({' -> '.join([*path, parent.name])}). "
                    "Add it with mb.close_loop(...)."
                )
            carrier = carrier.parent
            path.append(carrier.name)

    # -- edits -----------------------------------------------------------------------------------------------

    def add(self, body: Body) -> None:
        """Hang a new body on its parent."""
        self.bodies[body.name] = self.hinges[body.hinge_name] = body
        body._parent._children[body.name] = body

    def remove(self, bodies: list[Body]) -> None:
        """Take out a body, the first, with all bodies outboard of it; the frames are stale from then on."""
        del bodies[0].parent._children[bodies[0].name]
        for body in bodies:
            del self.bodies[body.name], self.hinges[body.hinge_name]
            for node in body._nodes.values():
                del self.nodes[node.full_name]
            body._removed = True

    def rehang(self, body: Body, on: Carrier, hinge: Hinge, name: str, inboard: Pose, outboard: Pose) -> None:
        """Hang a body, with all that is outboard of it, on another parent by a new hinge without further numbers."""
        del body.parent._children[body.name], self.hinges[body.hinge_name]
        on._children[body.name] = self.hinges[name] = body
        body._parent, body._hinge, body._hinge_name = on, hinge, name
        body._inboard, body._outboard = inboard, outboard
        body._plain_hinge()

    def add_node(self, node: Node) -> None:
        """Fix a new node on its carrier."""
        node.carrier._nodes[node.name] = self.nodes[node.full_name] = node

    def remove_node(self, node: Node) -> None:
        """Take a node off its carrier; it is stale from then on."""
        del node.carrier._nodes[node.name], self.nodes[node.full_name]
        node._removed = True

    def reorder(self, names: Iterable[str]) -> None:
        """Take the bodies for added in this order, which decides that of siblings after later edits."""
        self.bodies = {name: self.bodies[name] for name in names}

    def parents_first(self) -> list[Body]:
        """The bodies, parents first, otherwise in insertion order."""
        bodies = list(self.bodies.values())
        number = {body: k for k, body in enumerate(bodies)}
        parents = [number.get(body._parent, -1) for body in bodies]  # type: ignore[call-overload]
        if any(p >= k for k, p in enumerate(parents)):
            bodies = [bodies[k] for k in Tree(parents, list(self.bodies)).base_to_tips()]
        return bodies

"""`HingeFrame`: the two frames of a hinge, between which it moves: `mb["link3/inboard"]` and `mb["link3/outboard"]`."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any, ClassVar

from soacraft.model.modal.data import ModalNode
from soacraft.model.tree.frames.frame import Body, Carrier, Frame
from soacraft.model.tree.frames.owner import Owner
from soacraft.spatial.pose import Pose

INBOARD, OUTBOARD = "inboard", "outboard"


class HingeFrame(Frame):
    """The inboard frame of a body's hinge, fixed on its parent, or the outboard one, fixed on the body itself.

    `mb.pose("link3/outboard", "link3/inboard")` is the pose of the hinge at its coordinates.
    """

    kind = "hinge frame"
    _cures: ClassVar = dict.fromkeys(("offset", "pose"), "set body.inboard or body.outboard, the constant poses")

    def __init__(self, body: Body, side: str) -> None:
        self._graph, self._name, self._body = body.graph, side, body

    @property
    def body(self) -> Body:
        """The body that the hinge moves."""
        return self._body

    @property
    def full_name(self) -> str:
        """`body/inboard` or `body/outboard`; a node of that name on the body comes first."""
        return f"{self.body.name}/{self._name}"

    @property
    def carrier(self) -> Carrier:
        """The parent for the inboard frame, the body for the outboard one."""
        return self.body.parent if self._name == INBOARD else self.body

    @property
    def offset(self) -> Pose:
        """Constant pose on its carrier: `body.inboard`, or the inverse of `body.outboard`."""
        return self.body.inboard if self._name == INBOARD else self.body.outboard.inv

    @property
    def modal_node(self) -> ModalNode | None:
        """The deforming node it is fixed on, if there is one."""
        return self.body._rides if self._name == INBOARD else self.body._held

    def needs(self, gone: AbstractSet[Frame]) -> bool:
        """True if it is removed with one of these frames: with its carrier, and with the body of the hinge."""
        return self.body in gone or super().needs(gone)

    def require_present(self) -> None:
        """Raise `StaleError` when the body was removed."""
        self.body.require_present()

    def __reduce__(self) -> tuple[Any, ...]:
        self.require_present()
        return find_hinge_frame, (self.graph, self.body.name, self.name)

    def __repr__(self) -> str:
        return f"{self._name} frame of hinge {self.body.hinge_name!r}"


def find_hinge_frame(mb: Owner, body: str, side: str) -> Frame:
    """A frame of a hinge of a model that is perhaps still empty, as unpickling makes it."""
    of: Body = mb._tree.bodies[body]
    return of.inboard_frame if side == INBOARD else of.outboard_frame

"""Refusals of functions for trees of rigid bodies alone; the errors name the flexible body."""

from __future__ import annotations

from typing import Protocol

from soacraft.errors import ModelError
from soacraft.model.tree.frames.frame import Body, Frame


class Bodies(Protocol):
    """A flat form, of which only the bodies matter here."""

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The bodies, parents first."""

    @property
    def flexible(self) -> tuple[int, ...]:
        """The numbers of the bodies with modes."""



def require_rigid(layout: Bodies, what: str, cure: str = "") -> None:
    """Raise `ModelError` where a body of the tree has modes."""
    if not layout.flexible:
        return
    name = layout.bodies[layout.flexible[0]].name
    raise ModelError(
        f"{what} is for rigid bodies: {name!r} is flexible, it has modes.{' ' if cure else ''}{cure or ''}"
    )


def require_point(frame: Frame, cure: str, what: str = "") -> None:
    """Raise `ModelError` where a frame is fixed on the frame of a flexible body, and on none of its nodes."""
    carrier = frame.carrier
    if isinstance(carrier, Body) and carrier._modal is not None and frame.modal_node is None:
        raise ModelError(
            f"{what}{': ' if what else ''}{frame.full_name!r} is fixed on the frame of flexible body "
            f"{carrier.name!r}, which is no point of it; {cure} one of its nodes: "
            f"{', '.join(carrier._modal.nodes) or 'it has none'}."
        )


def require_rigid_frame(frame: Frame, what: str) -> None:
    """Raise `ModelError` where a frame is on a flexible body."""
    carrier = frame.carrier
    if isinstance(carrier, Body) and carrier._modal is not None:
        raise ModelError(
            f"{what} cannot be at {frame.full_name!r}: body {carrier.name!r} is flexible, and this is for frames on "
            "rigid bodies. Weld a small rigid body to the node, and use a node of that."
        )

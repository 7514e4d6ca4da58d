"""Pushes: wrenches at nodes that act on some states for a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import StateError
from soacraft.model.states.coordinates import force_frame, read_wrench
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.wrench import Wrench


class Pushed(NamedTuple):
    """A wrench at a node of one state, and the nanosecond at which it ends."""

    node: Frame
    wrench: Wrench
    end: int


#: Pushes {state: all that pushes it}.
Pushes = dict[int, tuple[Pushed, ...]]


def read_push(mb: Multibody, node: Any, wrench: Any, lanes: Sequence[int], end: int) -> Pushes:
    """A wrench that is the same for some states, or one for each: six numbers in node axes, or a `Wrench`."""
    frame = force_frame(mb, node)
    read = read_wrench(mb, frame, wrench)
    numbers = np.asarray(read)
    if numbers.ndim > 1 and numbers.shape != (len(lanes), 6):
        raise StateError(
            f"the wrench at {frame.full_name!r} is one for all or one for each of {len(lanes)} states, got shape "
            f"{numbers.shape}."
        )
    rows = np.broadcast_to(numbers, (len(lanes), 6))
    return {
        lane: (Pushed(frame, Wrench(x[:3], x[3:], expressed_in=read.expressed_in), end),)
        for lane, x in zip(lanes, rows, strict=True)
    }


def with_pushes(pushes: Pushes, more: Pushes) -> Pushes:
    """Pushes with others added; of one node of one state the later one counts."""
    added = dict(pushes)
    for lane, new in more.items():
        nodes = [x.node for x in new]
        added[lane] = (*(x for x in pushes.get(lane, ()) if all(x.node is not y for y in nodes)), *new)
    return added


def after(pushes: Pushes, ns: int) -> Pushes:
    """Pushes that have not ended by a time."""
    lasting = {lane: tuple(x for x in some if x.end > ns) for lane, some in pushes.items()}
    return {lane: some for lane, some in lasting.items() if some}


def wrenches_of(pushes: Sequence[Pushed], copied: Multibody | None) -> dict[Frame, Wrench]:
    """The wrenches by node: of the model, or of a copy of it."""
    if copied is None:
        return {x.node: x.wrench for x in pushes}
    wrenches: dict[Frame, Wrench] = {}
    for x in pushes:
        axes = x.wrench.expressed_in
        there = None if axes is None else copied.frame(axes.full_name)
        wrenches[copied.frame(x.node.full_name)] = Wrench(x.wrench.moment, x.wrench.force, expressed_in=there)
    return wrenches


def same_wrenches(before: dict[Frame, Wrench], now: dict[Frame, Wrench]) -> bool:
    """Return True if the very same wrenches are at the same nodes."""
    return before.keys() == now.keys() and all(now[x] is y for x, y in before.items())

"""The switch of a running system to another diagram: compiled, checked, then taken in one assignment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from soacraft.errors import LoopError, WiringError
from soacraft.sim.systems.changes.change import Change
from soacraft.sim.systems.changes.edits import moving

if TYPE_CHECKING:
    from soacraft.sim.propagator import Propagator
    from soacraft.sim.systems.compilation import Build, Compilation
    from soacraft.sim.systems.diagram import Diagram
    from soacraft.sim.systems.switchboard import Switchboard


def switched(board: Switchboard, diagram: Diagram, changes: Sequence[Change]) -> Build:
    """The system with another diagram, or an error with all its faults; the system itself is not changed.

    States, held outputs and counts of clocks of all components that both have stay; the instant, the grid of steps and
    the work are those of before. Components that are new have their initial states.
    """
    old = board.build
    if old.propagator is None or old.compilation is None:
        return old._replace(diagram=diagram, compilation=None, changes=(*old.changes, *changes))
    names, joined, edits = not any(x.plant for x in changes), None, list[Change]()
    if old.compilation.is_current and old.diagram.plants == diagram.plants:
        joined = old.compilation.joined
    elif not changes:
        board.compile(diagram.rehearsal({}), names=names)  # raises before the plants are looked at
        edits = [_edit(board, path) for path in old.compilation.joined.edited]
    new = board.compile(diagram, joined, names)
    board.propagating(new, loads=False)
    propagator = _resumed(board, old.propagator, new)
    if edits:
        propagator.require_closed()
    listed = (*old.changes, *changes, *edits)
    listed += tuple(_differences(board.t, old.diagram, new.diagram)) if names else ()
    return old._replace(diagram=new.diagram, compilation=new, propagator=propagator, changes=listed)


def _resumed(board: Switchboard, before: Propagator, new: Compilation) -> Propagator:
    """A propagator of a compiled diagram that goes on where that of the system is."""
    old = board.build
    assert old.compilation is not None
    stay = old.diagram.staying(new.diagram)
    new.flow.adopt(old.compilation.flow, stay)
    before.release()
    propagator = board.propagating(new)
    was, now = old.compilation.joined, new.joined
    names = [x for path in old.diagram.plants for x in zip(was.load_names(path), now.load_names(path), strict=False)]
    propagator.follow(before, dict(names))
    added = new.diagram.parts.keys() - stay
    if any(new.diagram.parts[path].clock in old.compilation.flow.ticks.clocks for path in added):
        new.flow.tick_late(added, board.ns, propagator.accelerations())
    return propagator


def _differences(t: float, old: Diagram, new: Diagram) -> list[Change]:
    """Components and connections that came and went."""

    def listed(kind: str, names: list[str]) -> list[Change]:
        return [Change(t, kind, "", "", np.zeros(0), np.zeros(0), 0.0, None, (), name) for name in names]

    def replaced(path: str) -> bool:
        return path in old.parts and path in new.parts and old.parts[path].component is not new.parts[path].component

    was, now = ([f"{x.source} -> {x.target}" for x in y.wires] for y in (old, new))
    came = sorted({*new.plants} - {*old.plants}) + sorted(x for x in new.parts if x not in old.parts or replaced(x))
    went = sorted(x for x in old.parts if x not in new.parts or replaced(x))
    return [
        *listed("remove", went),
        *listed("add", came),
        *listed("connect", sorted({*now} - {*was})),
        *listed("disconnect", sorted({*was} - {*now})),
    ]


def _edit(board: Switchboard, path: str) -> Change:
    """The change that a user made in the model of a plant since the last run."""
    before, after = board.settled(path), moving(board.diagram.plants[path].mb)
    lost = before.energy - after.energy if before.bodies == after.bodies else 0.0
    return Change(board.t, "edit", path, "", before.momentum, after.momentum, max(lost, 0.0), None, ())


def follow_models(board: Switchboard) -> None:
    """Take over what was edited in the models of plants between two runs, or raise and leave the system unchanged."""
    old = board.build
    if old.propagator is None or old.compilation is None or old.compilation.is_current or old.propagator.is_running:
        return
    edited = old.compilation.joined.edited
    try:
        board.switch(old.diagram)
    except (WiringError, LoopError) as wrong:
        if not edited:
            raise
        path = edited[0]
        error = type(wrong)(
            f"the structure of {old.diagram.plants[path].mb.name!r} changed after the run began, and the system does "
            f"not go on with it: {wrong}\nNothing moved. Take the edit back, or change a plant that moves by "
            f"{path}.detach, attach, capture, release or remove, which treat impacts and what is mounted."
        )
        if isinstance(error, WiringError) and isinstance(wrong, WiringError):
            error.faults = wrong.faults
        raise error from wrong

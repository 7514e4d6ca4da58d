"""Structure of a plant that changes while a system runs: bodies part, join, are caught or go, and what is mounted on
them goes, follows, or stops.

A change makes another diagram and another model, from copies. They are compiled and checked; only then is the model
edited, and the system switched to the diagram in one assignment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from soacraft.errors import WiringError
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.forces.contact import Contact
from soacraft.sim.forces.loads import bound
from soacraft.sim.systems.changes.edits import Away, Outcome, momentum
from soacraft.sim.systems.wiring import Part, Wire, split
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.sim.systems.diagram import Diagram
    from soacraft.sim.systems.frames import UserFrame
    from soacraft.sim.systems.plants.plant import Plant
    from soacraft.sim.systems.running.flow import Flow
    from soacraft.sim.systems.system import System
    from soacraft.sim.systems.wiring import Wiring

Edit = Callable[[Multibody], Outcome]
#: Treatments of what is mounted on a body that leaves.
MOUNTED = ("follow", "remove", "stop")


class Change(NamedTuple):
    """A change of a system that runs, as `s.changes` lists them."""

    t: float
    kind: str
    """"detach", "attach", "capture", "release" or "remove" of a body; "edit" of a model between runs; "add", "remove",
    "connect" or "disconnect" of a component, with neither plant nor body."""
    plant: str
    body: str
    momentum_before: Array
    """Momentum of the plant, [angular; linear] about the inertial origin; empty where there is none,"""
    momentum_after: Array
    """and after the change."""
    energy_lost: float
    """Energy lost in an impact, in J."""
    impulse: Array | None
    """Impulse of an impact: [moment; force] on the body, at its frame in inertial axes."""
    mounted: tuple[str, ...]
    """Components and connections on what went."""
    name: str = ""
    """The component or the connection, "motor" or "a.y -> b.u"; of "capture" and "release" the other body."""


def change(
    system: System,
    plant: Plant,
    kind: str,
    body: str,
    edit: Edit,
    away: Callable[[Multibody], Away],
    mounted: str | None,
    other: str = "",
) -> Change:
    """Change the structure of a plant; a refused change leaves everything unchanged."""
    if mounted is not None and mounted not in MOUNTED:
        raise WiringError(f"mounted= of {kind} is {' or '.join(map(repr, MOUNTED))}, got {mounted!r:.60}.")
    system.board.require_pause(f"{kind} of {body!r}")
    system.board.refuse_in_edit(f"{kind} of {body!r}")
    now = system.board.compiled()
    goes = away(plant.mb)
    users = _users(now.diagram, plant, goes)
    if users and mounted is None:
        listed = "\n".join(f"  {x}" for x in users)
        raise WiringError(
            f"{kind} of {body!r}: on what goes away there are\n{listed}\nSay what becomes of them: mounted='follow' "
            "(they stay as they are, on what goes), 'stop' (they hold their outputs and push nothing, and what is "
            "measured there is held), or 'remove'."
        )
    diagram = now.diagram
    if mounted == "stop":
        system.state_now()  # values as they are now
        diagram = _stopped(diagram, plant, goes, now.wiring, now.flow)
    elif mounted == "remove":
        diagram = _removed(diagram, plant, goes, now.wiring)

    def edited(mb: Multibody) -> Outcome:
        if mounted in ("remove", "stop"):
            release_actuators(mb, goes)
        return edit(mb)

    trial = plant.mb.copy()
    edited(trial)
    rehearsed = system.board.compile(diagram.rehearsal({plant.path: trial}), names=False)
    rehearsed.flow.adopt(now.flow, now.diagram.staying(rehearsed.diagram))  # refuses states of another size
    try:
        tried = rehearsed.joined.mb
        bound([x.with_model(tried) if isinstance(x, Contact) else x for x in rehearsed.joined.loads], tried)
        system.board.propagating(rehearsed, loads=False)
    finally:
        bound(now.joined.loads, now.joined.mb)
    for load in now.joined.loads:
        if isinstance(load, Contact):
            load.keep_scene()
    before, outcome = momentum(plant.mb), edited(plant.mb)
    after, lost, impulse = momentum(plant.mb), outcome.energy_lost, outcome.impulse
    done = Change(system.t, kind, plant.path, body, before, after, lost, impulse, tuple(users), other)
    system.board.switch(diagram, (done,))
    return done


def _touched(plant: Plant, goes: Away, port: str, at: str | None) -> bool:
    if at is None:
        return goes.resized and port in ("q", "v", "vdot", "force")
    return at in goes.dofs if port in ("q", "v", "vdot", "force", "motion") else at in goes.frames


def _mounted(diagram: Diagram, plant: Plant, goes: Away) -> list[Part]:
    """Components on what goes."""
    parts = []
    for path in sorted(diagram.parts):
        part = diagram.parts[path]
        mount = part.mount
        if mount is None or mount.plant is not plant:
            continue
        gone = goes.dofs if mount.kind == "dof" else goes.frames
        if mount.name in gone or (goes.resized and part.of_plant):
            parts.append(part)
    return parts


def _wired(diagram: Diagram, plant: Plant, goes: Away) -> list[Wire]:
    """Connections from and to what goes."""
    wires = []
    for wire in sorted(diagram.wires):
        for text in (wire.source, wire.target):
            path, port, at = split(diagram.exports.get(text, text))
            if path == plant.path and _touched(plant, goes, port, at):
                wires.append(wire)
                break
    return wires


def _users(diagram: Diagram, plant: Plant, goes: Away) -> list[str]:
    """All that is on what goes, in words."""
    users = [f"component {x.path!r} at {x.mount}" for x in _mounted(diagram, plant, goes)]
    users += [f"connection {x.source!r} -> {x.target!r}" for x in _wired(diagram, plant, goes)]
    users += [
        f"actuator {x.name!r} of the model"
        for x in sorted(plant.mb.actuators, key=lambda x: x.name)
        if not goes.dofs.isdisjoint(x.gears)
    ]
    rides = [(name, x) for name, x in sorted(diagram.frames.items()) if _rides(x, plant, goes)]
    return users + [f"frame {name!r} on {x.parent!r}" for name, x in rides]


def _stopped(diagram: Diagram, plant: Plant, goes: Away, wiring: Wiring, flow: Flow) -> Diagram:
    """The diagram in which what is on what goes holds its outputs, and what it measured is held."""
    parts, wires = _mounted(diagram, plant, goes), _wired(diagram, plant, goes)
    targets = [x for wire in wires for x in wiring.expand(wire.target, outputs=False)]
    held = {key: flow.signal(wiring.links[key]) for key in targets if key in wiring.links}
    still = {x.path: Part(x.path, x.component, x.clock, None, x.convert, active=False) for x in parts}
    return diagram.changed(
        holds={**diagram.holds, **held},
        parts={**diagram.parts, **still},
        wires=tuple(x for x in diagram.wires if x not in wires),
        stopped=tuple(sorted({*diagram.stopped, *still})),
    )


def _removed(diagram: Diagram, plant: Plant, goes: Away, wiring: Wiring) -> Diagram:
    """The diagram without what is on what goes."""
    wires = _wired(diagram, plant, goes)
    gone = {x.path for x in _mounted(diagram, plant, goes)}

    def lost(text: str, outputs: bool) -> bool:
        return all(split(x)[0] in gone for x in wiring.expand(text, outputs))

    rides = {name for name, x in diagram.frames.items() if _rides(x, plant, goes)}
    remaining = (x for x in diagram.wires if x not in wires and not lost(x.source, True) and not lost(x.target, False))
    return diagram.changed(wires=tuple(remaining)).without(gone | rides)


def _rides(frame: UserFrame, plant: Plant, goes: Away) -> bool:
    """True if a frame of the user is on what goes."""
    path, _, rest = frame.parent.partition(":")
    return path == plant.path and rest in goes.frames


def release_actuators(mb: Multibody, goes: Away) -> None:
    """Take away the actuators of dofs that go."""
    for x in list(mb.actuators):
        if not goes.dofs.isdisjoint(x.gears):
            mb.remove_actuator(x)

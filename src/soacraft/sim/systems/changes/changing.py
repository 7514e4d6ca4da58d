"""Structure that changes while a system runs: bodies part, join, are caught or go, and what is mounted on them is told
to go, to follow, or to stop.

A change is tried on a copy of the model first: where it is refused, everything is as it was. Then the system is
compiled anew, with the states, held outputs, counts of clocks and work it had.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from soacraft.errors import SimulationError, WiringError
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.forces.loads import bound, unused
from soacraft.sim.systems.changes.edits import Away, Outcome, momentum
from soacraft.sim.systems.frames import UserFrame
from soacraft.sim.systems.plants.plant import Plant
from soacraft.sim.systems.running.flow import Flow
from soacraft.sim.systems.wiring import Part, Wire, split
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.sim.systems.system import System

Edit = Callable[[Multibody], Outcome]
#: What can become of what is mounted on a body that goes.
MOUNTED = ("follow", "remove", "stop")
#: What a change may alter in a system, and what a refused one puts back.
_KEPT = ("_parts", "_wires", "_exports", "_frames", "_holds", "_starts", "_extra", "_made", "_joined")


class Change(NamedTuple):
    """A change of structure, as `s.changes` lists them."""

    t: float
    kind: str
    """"detach", "attach", "capture" or "remove"."""
    plant: str
    body: str
    momentum_before: Array
    """Of the plant, [angular; linear] about the inertial origin,"""
    momentum_after: Array
    """and after the change."""
    energy_lost: float
    """In an impact, in J."""
    impulse: Array | None
    """Of an impact: [moment; force] on the body, at its frame in inertial axes."""
    mounted: tuple[str, ...]
    """Components and connections on what went."""


def change(
    system: System,
    plant: Plant,
    kind: str,
    body: str,
    edit: Edit,
    away: Callable[[Multibody], Away],
    mounted: str | None,
) -> Change:
    """Change the structure of a plant, or refuse to and leave everything as it is."""
    if mounted is not None and mounted not in MOUNTED:
        raise WiringError(f"mounted= of {kind} is {' or '.join(map(repr, MOUNTED))}, got {mounted!r:.60}.")
    propagator = system._propagator
    if propagator is not None and propagator._acting.running:
        raise SimulationError(
            f"{kind} of {body!r}: the system {system.name!r} is in a step. Change it between runs, or by a "
            "sim.Sequence."
        )
    _, _, flow = system._compiled()
    goes = away(plant.mb)
    users = _users(system, plant, goes)
    if users and mounted is None:
        listed = "\n".join(f"  {x}" for x in users)
        raise WiringError(
            f"{kind} of {body!r}: on what goes away there are\n{listed}\nSay what becomes of them: mounted='follow' "
            "(they stay as they are, on what goes), 'stop' (they hold their outputs and push nothing, and what is "
            "measured there is held), or 'remove'."
        )
    mb, before = plant.mb, {name: getattr(system, name) for name in _KEPT}
    seats = {path: x._seat for path, x in system._plants.items()}
    trial = mb.copy()
    try:
        if mounted in ("remove", "stop"):
            _tell(system, plant, goes, mounted, flow)
        if mounted in ("remove", "stop"):
            released(trial, goes)
        edit(trial)
        plant._mb, system._made, system._propagator = trial, None, None
        system._compiled()
        assert system._joined is not None
        bound(system._joined.loads, system._joined.mb)
        system._propagating(loads=False)
    except BaseException:
        plant._mb, system._propagator = mb, propagator
        for name, value in before.items():
            setattr(system, name, value)
        for path, x in system._plants.items():
            x._seat = seats[path]
        if system._joined is not None:
            bound(system._joined.loads, system._joined.mb)
        raise
    plant._mb = mb
    h = momentum(mb)
    if mounted in ("remove", "stop"):
        released(mb, goes)
    outcome = edit(mb)
    system._made, system._propagator = None, propagator
    restart(system, flow)
    done = Change(system.t, kind, plant.path, body, h, momentum(mb), outcome.energy_lost, outcome.impulse, tuple(users))
    system._changes.append(done)
    return done


def restart(system: System, flow: Flow) -> None:
    """Compile a system anew, and let it go on from where it is: with the states, held outputs and counts of clocks of a
    flow, at the instant, with the grid of steps and the work of its propagator."""
    old, system._propagator, system._made = system._propagator, None, None
    _, _, new = system._compiled()
    new.adopt(flow)
    if old is not None:
        for load in old._acting.loads:
            unused(load)
        made = system._propagating()
        made._runner.follow(old._runner)
        system._propagator = made


def _touched(plant: Plant, goes: Away, port: str, at: str | None) -> bool:
    if at is None:
        return goes.resized and port in ("q", "v", "vdot", "force")
    return at in goes.dofs if port in ("q", "v", "vdot", "force", "motion") else at in goes.frames


def _mounted(system: System, plant: Plant, goes: Away) -> list[Part]:
    """Components on what goes."""
    found = []
    for path in sorted(system._parts):
        part = system._parts[path]
        mount = part.mount
        if mount is None or mount.plant is not plant:
            continue
        if mount.name in (goes.dofs if mount.kind == "dof" else goes.frames):
            found.append(part)
    return found


def _wired(system: System, plant: Plant, goes: Away) -> list[Wire]:
    """Connections from and to what goes."""
    found = []
    for wire in sorted(system._wires):
        for text in (wire.source, wire.target):
            path, port, at = split(system._exports.get(text, text))
            if path == plant.path and _touched(plant, goes, port, at):
                found.append(wire)
                break
    return found


def _users(system: System, plant: Plant, goes: Away) -> list[str]:
    """All that is on what goes, in words."""
    users = [f"component {x.path!r} at {x.mount}" for x in _mounted(system, plant, goes)]
    users += [f"connection {x.source!r} -> {x.target!r}" for x in _wired(system, plant, goes)]
    users += [
        f"actuator {x.name!r} of the model"
        for x in sorted(plant.mb.actuators, key=lambda x: x.name)
        if not goes.dofs.isdisjoint(x.gears)
    ]
    rides = [(name, x) for name, x in sorted(system._frames.items()) if _rides(x, plant, goes)]
    return users + [f"frame {name!r} on {x.parent!r}" for name, x in rides]


def _tell(system: System, plant: Plant, goes: Away, mounted: str, flow: Flow) -> None:
    """Take away, or stop, what is on what goes."""
    parts, wires = _mounted(system, plant, goes), _wired(system, plant, goes)
    wiring, _, _ = system._compiled()
    if mounted == "stop":
        system.state_now()  # values as they are now
        targets = [x for wire in wires for x in wiring.expand(wire.target, outputs=False)]
        held = {key: flow.signal(wiring.links[key]) for key in targets if key in wiring.links}
        system._holds = {**system._holds, **held}
        stopped = {x.path: x._replace(mount=None, active=False) for x in parts}
        system._parts = {path: stopped.get(path, x) for path, x in system._parts.items()}
        system._wires = [x for x in system._wires if x not in wires]
        system._extra = {**system._extra, "stopped": sorted({*system._extra.get("stopped", ()), *stopped})}
        return
    gone = {x.path for x in parts}

    def lost(text: str, outputs: bool) -> bool:
        return all(split(x)[0] in gone for x in wiring.expand(text, outputs))

    system._parts = {path: x for path, x in system._parts.items() if path not in gone}
    system._starts = {key: x for key, x in system._starts.items() if key.rpartition(".")[0] not in gone}
    system._frames = {name: x for name, x in system._frames.items() if not _rides(x, plant, goes)}
    system._wires = [
        x for x in system._wires if x not in wires and not lost(x.source, True) and not lost(x.target, False)
    ]
    system._exports = {name: x for name, x in system._exports.items() if not any(split(x)[0] == path for path in gone)}


def _rides(frame: UserFrame, plant: Plant, goes: Away) -> bool:
    """Whether a frame of the user is on what goes."""
    path, _, rest = frame.parent.partition(":")
    return path == plant.path and rest in goes.frames


def released(mb: Multibody, goes: Away) -> None:
    """Take away the actuators of dofs that go."""
    for x in list(mb.actuators):
        if not goes.dofs.isdisjoint(x.gears):
            mb.remove_actuator(x)

"""Checkpoints of systems: everything that tells how one goes on, and back, in another process with the same bits.

The system is built again from its description, by classes that the caller has; then its propagator recalls where it
was. No code is in the file, and none is imported for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

import msgspec
import numpy as np

from soacraft.errors import CheckpointError, SoacraftError, WiringError
from soacraft.fingerprint import Fingerprint, fingerprint, warn_unread
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.components.component import Component
from soacraft.sim.components.fingerprint import class_fingerprint
from soacraft.sim.components.registry import known_classes
from soacraft.sim.forces.loads import Load
from soacraft.sim.identity import entries_of, of_load
from soacraft.sim.runs.checkpoint_file import read_checkpoint, write_checkpoint
from soacraft.sim.runs.checkpoints import document, refuse_changed, refuse_foreign
from soacraft.sim.runs.log import LogPlace
from soacraft.sim.states.sim_state import SimState
from soacraft.sim.systems.changes.change import Change
from soacraft.sim.systems.compilation import Build
from soacraft.sim.systems.description import SystemData, build, describe
from soacraft.sim.systems.diagram import Diagram
from soacraft.sim.systems.system import System


class Body(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Description of a system in a checkpoint."""

    system: SystemData
    classes: dict[str, str]
    """The fingerprint of the class of every part."""
    code: dict[str, dict[str, str]] | None = None
    """Fingerprints of force elements, and of functions that move frames."""
    extra: dict[str, Any] = {}
    """Plain data of what drives the system."""
    changes: list[dict[str, Any]] = []
    """Changes of the structure so far."""


def system_writer(system: System, path: str | PathLike[str]) -> Callable[[SimState, LogPlace | None], None]:
    """Function that writes checkpoints of a system; its models are written out once, and again after they changed."""
    require_kept(system)
    documents: dict[str, tuple[tuple[int, int], str]] = {}
    prints = code_of(system)

    def write(state: SimState, log: LogPlace | None) -> None:
        data = describe(system, documents=False)
        for name, plant in system.diagram.plants.items():
            version = plant.mb.version, plant.mb.parameters
            if name not in documents or documents[name][0] != version:
                documents[name] = version, document(plant.mb, str(path))
            data.plants[name].document = documents[name][1]
        data.starts = {}
        classes = {part: class_fingerprint(x.component).digest for part, x in sorted(system.diagram.parts.items())}
        warn_unread(f"a checkpoint of {system.name!r}", prints.values())
        body = Body(system=data, classes=classes, extra=_progress(system.diagram), code=entries_of(prints))
        body.changes = [_plain(x) for x in system.board.build.changes]
        write_checkpoint(path, "system", state, msgspec.to_builtins(body), log)

    return write


def code_of(system: System) -> dict[str, Fingerprint]:
    """Fingerprints of the force elements of plants and of the functions that move frames."""
    prints = {
        f"the force {x.name!r} of {path!r}": of_load(x) for path, y in system.diagram.plants.items() for x in y.forces
    }
    moved = {path: x.pose for path, x in system.diagram.frames.items() if callable(x.pose)}
    return prints | {f"the motion of the frame {path!r}": fingerprint(x) for path, x in moved.items()}


def require_kept(system: System) -> None:
    """Raise where a part is tied to what no file can hold."""
    for path, part in sorted(system.diagram.parts.items()):
        why = getattr(part.component, "unkept", "")
        if why:
            raise CheckpointError(f"{path!r} cannot be in a checkpoint: {why}")


def restore(
    path: str | PathLike[str],
    classes: Iterable[type[Component]] = (),
    models: Mapping[str, Multibody] | None = None,
    forces: Mapping[str, Sequence[Load]] | None = None,
    components: Mapping[str, Component] | None = None,
    frames: Mapping[str, Callable[[float], Any]] | None = None,
    accept_changes: bool = False,
) -> System:
    """The system of a checkpoint, where it was. It goes on with the same bits as the one that wrote it.

    `classes` are your own classes of components, in addition to those of `sim.register` and of the library; a class
    that changed is refused. `models` are given for models that no file can hold, by the names of plants, and
    must be as they were; `forces` are the force elements of plants, `components` those parts that are more than their
    parameters, and `frames` the functions that move frames, all made again. A run with the log of before cuts it back
    to the checkpoint and appends to it. Classes, force elements and functions are compared by their code and all that
    it reads (`soacraft.fingerprint`); `accept_changes` goes on with those of now.

    >>> import pathlib, tempfile
    >>> import soacraft as sc
    >>> from soacraft import sim
    >>> def wave():
    ...     s = sim.System("wave", integrator="rk4", step=1e-3)
    ...     _ = s.add("noise", sim.Sensor(deviation=0.1), every=0.01)
    ...     _ = s.add("sine", sim.Sine(frequency=2.0))
    ...     s.connect("sine.y", "noise.u")
    ...     return s
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file, s = pathlib.Path(folder) / "a.h5", wave()
    ...     _ = s.run(0.5)
    ...     s.checkpoint(file)
    ...     other = sim.restore(file)
    >>> a, b = s.run(1.0), other.run(1.0)
    >>> other.t, bool((a.signals["noise.y"] == b.signals["noise.y"]).all())
    (1.0, True)
    """
    stored, state = read_checkpoint(path)
    if stored.kind != "system":
        raise CheckpointError(
            f"{str(path)!r} is a checkpoint of a {stored.kind!r:.40}, not of a system: restore it with p.restore(path)."
        )
    try:
        body = msgspec.convert(stored.body, Body)
    except (msgspec.ValidationError, RecursionError) as wrong:
        raise CheckpointError(f"the checkpoint {str(path)!r} cannot be read, it is damaged: {wrong}.") from None
    models = dict(models or {})
    for name, mb in models.items():
        _refuse_foreign(name, mb, body.system, str(path))
    try:
        system = build(body.system, known_classes(classes), models, forces, components, frames)
    except CheckpointError:
        raise
    except WiringError as wrong:
        raise CheckpointError(f"the checkpoint {str(path)!r} cannot be restored: {wrong}") from wrong
    except SoacraftError as wrong:
        raise CheckpointError(f"the checkpoint {str(path)!r} cannot be restored, it is damaged: {wrong}") from wrong
    _refuse_changed(system, body.classes, str(path), accept_changes)
    line = "sim.restore(path, ..., accept_changes=True)"
    refuse_changed(body.code, entries_of(code_of(system)), str(path), line, accept_changes)
    _resume(system, body, str(path))
    try:
        system.recall(state, str(path), stored.log)
    except WiringError as wrong:
        raise CheckpointError(f"the checkpoint {str(path)!r} cannot be restored: {wrong}") from wrong
    return system


def _progress(diagram: Diagram) -> dict[str, Any]:
    """Present phases of the sequences, and the components that changes of structure stopped, as plain data."""
    progress: dict[str, Any] = {}
    if diagram.phases:
        progress["phases"] = {path: list(x) for path, x in diagram.phases.items()}
    if diagram.stopped:
        progress["stopped"] = list(diagram.stopped)
    return progress


class _Progress(msgspec.Struct, forbid_unknown_fields=True):
    phases: dict[str, tuple[str, int]] = {}
    stopped: tuple[str, ...] = ()


def _resume(system: System, body: Body, path: str) -> None:
    """Give a system that was built again the phases and the changes of then."""
    try:
        progress = msgspec.convert(body.extra, _Progress)
    except (msgspec.ValidationError, RecursionError) as wrong:
        raise CheckpointError(f"the checkpoint {path!r} cannot be read, it is damaged: {wrong}.") from None
    sequences = system.diagram.sequences
    if wrong_phases := [
        x for x, (now, _) in progress.phases.items() if x not in sequences or now not in sequences[x].phases
    ]:
        raise CheckpointError(
            f"the checkpoint {path!r} cannot be read, it is damaged: there is no phase of {wrong_phases[0]!r:.60} that "
            "it names."
        )
    diagram = system.diagram.changed(phases=progress.phases, stopped=progress.stopped)
    system.board.take(Build(diagram, changes=tuple(_change(x, path) for x in body.changes)))


def _plain(change: Change) -> dict[str, Any]:
    return {name: x.tolist() if isinstance(x, np.ndarray) else x for name, x in change._asdict().items()}


def _change(data: dict[str, Any], path: str) -> Change:
    try:
        stored = msgspec.convert(data, _Change)
    except (msgspec.ValidationError, RecursionError) as wrong:
        raise CheckpointError(f"the checkpoint {path!r} cannot be read, it is damaged: {wrong}.") from None
    before, after = np.array(stored.momentum_before), np.array(stored.momentum_after)
    impulse = None if stored.impulse is None else np.array(stored.impulse)
    mounted = tuple(stored.mounted)
    return Change(
        stored.t,
        stored.kind,
        stored.plant,
        stored.body,
        before,
        after,
        stored.energy_lost,
        impulse,
        mounted,
        stored.name,
    )


class _Change(msgspec.Struct, forbid_unknown_fields=True):
    t: float
    kind: str
    plant: str
    body: str
    momentum_before: list[float]
    momentum_after: list[float]
    energy_lost: float
    impulse: list[float] | None
    mounted: list[str]
    name: str = ""


def _refuse_changed(system: System, classes: Mapping[str, str], path: str, accept: bool) -> None:
    """Raise where a class is not what it was."""
    if set(classes) != set(system.diagram.parts):
        raise CheckpointError(
            f"the checkpoint {path!r} cannot be read, it is damaged: its parts are not those it lists."
        )
    changed: dict[str, list[str]] = {}
    for name, part in sorted(system.diagram.parts.items()):
        if class_fingerprint(part.component).digest != classes[name]:
            changed.setdefault(type(part.component).__name__, []).append(name)
    if changed and not accept:
        changes = "; ".join(f"{kind} of {', '.join(map(repr, names[:4]))}" for kind, names in changed.items())
        raise CheckpointError(
            f"the checkpoint {path!r} was written with other classes than those here: {changes}. Their equations, "
            "declarations or parameters have changed since, or what they read, or a library's version: restore it with "
            "the ones of then; or go on with those of now: sim.restore(path, ..., accept_changes=True)."
        )


def _refuse_foreign(name: str, mb: Multibody, data: SystemData, path: str) -> None:
    """Raise for a model that is not the one of then; its state does not matter."""
    if name not in data.plants:
        raise CheckpointError(
            f"the checkpoint {path!r} has no plant {name!r:.60}; its plants are {[*data.plants]!r:.200}."
        )
    plant = data.plants[name]
    refuse_foreign(mb, plant.document, plant.folder, path)

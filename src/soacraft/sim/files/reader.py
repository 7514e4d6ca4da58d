"""`load_system`: a system from a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from soacraft.errors import ModelFileError, SystemFileError, WiringError
from soacraft.files.load import read_path
from soacraft.files.xml_tree import read_bytes
from soacraft.sim.clock import nanoseconds
from soacraft.sim.components.component import Component
from soacraft.sim.components.registry import PartClass, find_assembly, known_classes
from soacraft.sim.files import documents, schema
from soacraft.sim.files.documents import MOST_JSON, in_file, read_document
from soacraft.sim.files.references import Referred, read_model
from soacraft.sim.forces.loads import Load
from soacraft.sim.systems.changes.sequence import Sequence as Phases
from soacraft.sim.systems.description import (
    LoadData,
    MountData,
    PartData,
    PlantData,
    SystemData,
    WireData,
    build,
)
from soacraft.sim.systems.plants.plant import Mount
from soacraft.sim.systems.running.clocks import read_clock
from soacraft.sim.systems.system import System
from soacraft.spatial.pose import Pose

_SECOND = 10**9


def load_system(
    path: str | PathLike[str],
    classes: Iterable[PartClass] = (),
    forces: Mapping[str, Sequence[Load]] | None = None,
    roots: Sequence[str | PathLike[str]] = (),
    components: Mapping[str, Component] | None = None,
) -> System:
    """A system from a file, `.toml` or `.json`, of the format `soacraft-system/1`.

    It may name the components that come along, `classes`, and those of `sim.register`; a file imports nothing. Models
    are in the library, in the folder of the file or in `roots`, or in the file itself. `forces` are the force elements
    of plants, by plant, and `components` the parts that are more than parameters, as links to other programs: a file
    has their names alone. Faults of wiring are told by `s.check()`.

    >>> import tempfile
    >>> from soacraft import sim
    >>> s = sim.System("one", integrator="rk4", step=1e-3)
    >>> _ = s.add("target", sim.Constant(value=0.5))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     s.save(f"{folder}/one.toml")
    ...     sim.load_system(f"{folder}/one.toml")
    System 'one' at t = 0 s: 1 components, 0 connections
    """
    file = system_path(path)
    data = read_system_bytes(file)
    return system_of(data, file, classes, forces, roots, components)


def system_path(path: Any) -> Path:
    """The path of a system file, by its suffix."""
    if not isinstance(path, str | PathLike):
        raise SystemFileError(f"a system file is named by its path, such as 'rover.toml'; got {path!r:.60}.")
    try:
        file = Path(read_path(path))
    except ModelFileError as error:
        raise SystemFileError(str(error)) from None
    if file.suffix.lower() not in (".toml", ".json"):
        what = f"suffix {file.suffix!r:.60}" if file.suffix else "no suffix"
        raise SystemFileError(f"{str(file)!r:.300} has {what}; system files are .toml and .json.")
    return file


def read_system_bytes(file: Path) -> bytes:
    """The bytes of a plain file."""
    with in_file(str(file)):
        return read_bytes(file, MOST_JSON)


def system_of(
    data: bytes,
    file: Path,
    classes: Iterable[PartClass] = (),
    forces: Mapping[str, Sequence[Load]] | None = None,
    roots: Sequence[str | PathLike[str]] = (),
    components: Mapping[str, Component] | None = None,
) -> System:
    """The system in bytes; `file` is named in errors, and says by its suffix how they are read."""
    registered, shown = known_classes(classes), str(file)
    tables = read_document(data, file.suffix.lower() == ".toml", shown)
    with in_file(shown):
        places = [Path(x) for x in roots]
        models = {path: read_model(path, x, file.parent, places) for path, x in tables.plants.items()}
        system = build(
            _data(tables, models), registered, {path: x.mb for path, x in models.items()}, forces, components
        )
        for path, plant in system.diagram.plants.items():
            plant._source = models[path].source
        for path, frame in tables.frames.items():
            system.add_frame(path, frame.parent, _pose(path, frame))
        for path, x in tables.assemblies.items():
            system.add(path, find_assembly(x.type, registered, repr(path))(**x.params), at=_mount(system, path, x.at))
        for path, y in tables.sequences.items():
            system.add(path, Phases.from_plain(msgspec.to_builtins(y)))
        _require_small(system)
        for key, value in tables.starts.items():
            system.states[key] = value
    return system


def _require_small(system: System) -> None:
    """Refuse sizes of signals that take more memory than a file may ask for, before any is taken."""
    numbers = 0
    for path, part in system.diagram.parts.items():
        for name in part.component.interface.quantities:
            try:
                numbers += prod(part.signal(name).shape)
            except WiringError as wrong:
                raise SystemFileError(f"{path!r}: {wrong}") from None
    if numbers > documents.MOST_NUMBERS:
        raise SystemFileError(
            f"the signals of {system.name!r} are {numbers} numbers in all, and {documents.MOST_NUMBERS} are the most "
            "of a system file: take smaller sizes."
        )


def _data(tables: schema.System, models: Mapping[str, Referred]) -> SystemData:
    return SystemData(
        name=tables.name,
        integrator=tables.integrator,
        rtol=tables.rtol,
        step=tables.step,
        max_step=tables.max_step,
        t=nanoseconds(tables.t, "t"),
        seed=tables.seed,
        plants={
            path: PlantData(solver=x.solver, forces=[LoadData(name=y.name, type=y.type) for y in x.forces])
            for path, x in tables.plants.items()
        },
        parts={path: _part(path, x) for path, x in tables.parts.items()},
        wires=[WireData(source=x.source, target=x.target, convert=x.convert) for x in tables.connections],
        exports=tables.exports,
        groups=tables.groups,
        loops=list(tables.solve_loops),
    )


def _part(path: str, part: schema.Part) -> PartData:
    clock = read_clock(_period(path, part.every), _period(path, part.rate), part.offset, repr(path))
    every = "" if clock is None else str(clock.period / _SECOND)
    offset = 0 if clock is None else clock.offset
    at = None if part.at is None else MountData(plant=part.at.plant, kind=_kind(path, part.at), name=_name(part.at))
    return PartData(
        type=part.type,
        params=part.params,
        every=every,
        offset=offset,
        at=at,
        convert=part.convert,
        given=part.given,
        active=part.active,
    )


def _period(path: str, given: float | str | None) -> float | str | None:
    """A period that is short enough to be read at once: "1e999999" would be a number of a million digits."""
    if isinstance(given, str) and (len(given) > 60 or not set(given) <= set("0123456789./")):
        raise SystemFileError(f"{path!r} has a period {given!r:.60}: write a number, or a fraction such as '1/3'.")
    return given


def _kind(path: str, at: schema.Mount) -> str:
    if bool(at.dof) == bool(at.node):
        raise SystemFileError(f"{path!r} is mounted at a dof or a node: at = {{plant = {at.plant!r:.60}, dof = ...}}.")
    return "dof" if at.dof else "node"


def _name(at: schema.Mount) -> str:
    return at.dof or at.node


def _pose(path: str, frame: schema.Frame) -> Pose | str:
    if not frame.port:
        return Pose(np.eye(3) if frame.rotation is None else np.array(frame.rotation), frame.translation)
    if frame.rotation is not None or any(frame.translation):
        raise SystemFileError(f"the frame {path!r} has a port and a pose: give one of them.")
    return frame.port


def _mount(system: System, path: str, at: schema.Mount | None) -> Mount | None:
    if at is None:
        return None
    if at.plant not in system.diagram.plants:
        raise SystemFileError(f"{path!r} is mounted at {at.plant!r:.60}, which is no plant.")
    return Mount(system.diagram.plants[at.plant], _kind(path, at), _name(at))

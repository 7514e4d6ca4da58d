"""A system as a file: what it was built from; assemblies as such where their parts are still as they were built."""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import tomli_w

from soacraft.errors import ModelFileError, SoacraftError, SystemFileError, near
from soacraft.files.native import from_json, to_json, write_bytes
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.clock import nanoseconds
from soacraft.sim.components.component import Component
from soacraft.sim.files import schema
from soacraft.sim.files.references import write_model
from soacraft.sim.systems.assembly import Assembly, Built
from soacraft.sim.systems.description import PartData, SystemData, WireData, describe
from soacraft.sim.systems.frames import UserFrame
from soacraft.sim.systems.plants.plant import Mount, Plant
from soacraft.spatial.pose import Pose

if TYPE_CHECKING:
    from soacraft.sim.systems.system import System


def save_system(system: System, path: str | PathLike[str], models: Mapping[str, str] | None = None) -> None:
    """Write a system to a file, `.toml` or `.json`, whole or not at all; `System.save` calls this."""
    from soacraft.sim.files.reader import system_path

    file = system_path(path)
    tables = tables_of(system, file, models or {})
    _require_readable(system, tables, file)
    data = _toml(tables) if file.suffix.lower() == ".toml" else _json(tables)
    try:
        write_bytes(file, data)
    except ModelFileError as error:
        raise SystemFileError(str(error)) from None


def _require_readable(system: System, tables: dict[str, Any], file: Path) -> None:
    """Raise for what the format has no place for, such as a name that is too long: the file could not be loaded."""
    try:
        msgspec.convert(tables, schema.System)
    except msgspec.ValidationError as wrong:
        raise SystemFileError(
            f"{file}: the system {system.name!r:.60} cannot be saved, for it could not be loaded again: {wrong}. Names "
            f"in system files have at most {schema.LONGEST_NAME} letters."
        ) from None


def tables_of(system: System, file: Path, models: Mapping[str, str]) -> dict[str, Any]:
    """The tables of a system in the format."""
    if any(x.plant for x in system.changes):
        raise SystemFileError(
            f"the structure of {system.name!r} was changed since t = {system.board.start / 1e9:.9g} s, and a system "
            "file has what a system was built from: write a checkpoint."
        )
    if system.recalled:
        raise SystemFileError(
            f"{system.name!r} was restored from a checkpoint, and a system file has what a system was built from, as "
            "it was at the start: save the one that was built."
        )
    for path in models:
        if path not in system.diagram.plants:
            raise SystemFileError(
                f"models={{{path!r:.60}: ...}} names no plant{near(str(path), system.diagram.plants)}"
            )
    data = describe(system, documents=False)
    assemblies = _kept(system, data)
    plants = {path: _plant(system, path, models.get(path), file.absolute()) for path in sorted(system.diagram.plants)}
    tables: dict[str, Any] = {
        "format": schema.FORMAT,
        "name": data.name,
        "integrator": data.integrator,
        "rtol": data.rtol,
        "step": data.step,
        "max_step": data.max_step,
        "t": _seconds(data.t, "t"),
        "seed": data.seed,
        "connections": [
            {"from": x.source, "to": x.target, **({"convert": True} if x.convert else {})} for x in data.wires
        ],
        "solve_loops": data.loops,
        "plants": plants,
        "frames": {path: frame_table(x) for path, x in sorted(system.diagram.frames.items())},
        "parts": {path: _part(path, x, system.diagram.parts[path].component) for path, x in data.parts.items()},
        "assemblies": {
            path: _without_empty({"type": type(x.assembly).__name__, "params": _params(x.assembly), "at": _at(x.at)})
            for path, x in assemblies.items()
        },
        "sequences": data.sequences,
        "groups": data.groups,
        "exports": data.exports,
        "starts": data.starts,
    }
    left_out = {"rtol": 1e-9, "t": 0.0, "seed": 0}
    return {key: x for key, x in tables.items() if x not in (None, [], {}) and left_out.get(key, ...) != x}


def _without_empty(table: dict[str, Any]) -> dict[str, Any]:
    return {key: x for key, x in table.items() if x not in (None, [], {}, "", False)}


def _plant(system: System, path: str, given: str | None, file: Path) -> dict[str, Any]:
    plant = system.diagram.plants[path]
    entry = write_model(path, _at_start(system, path), plant.source, given, file)
    if plant.solver != "auto":
        entry["solver"] = plant.solver
    if plant.forces:
        entry["forces"] = [{"name": x.name, "type": type(x).__name__} for x in plant.forces]
    return entry


def frame_table(frame: UserFrame) -> dict[str, Any]:
    """A frame of the user."""
    table: dict[str, Any] = {} if frame.parent == "inertial" else {"parent": frame.parent}
    if isinstance(frame.pose, str):
        return {**table, "port": frame.pose}
    if not isinstance(frame.pose, Pose):
        raise SystemFileError(
            f"the frame {frame.path!r} is moved by a function, which no file can hold: let a port move it."
        )
    table["translation"] = np.asarray(frame.pose.translation).tolist()
    rotation = np.asarray(frame.pose.rotation)
    return table if np.array_equal(rotation, np.eye(3)) else {**table, "rotation": rotation.tolist()}


def _at_start(system: System, path: str) -> Multibody:
    """The model of a plant with its state at the start."""
    mb = system.diagram.plants[path].mb
    if path not in system.begun:
        return mb
    q, v = system.begun[path]
    model = from_json(to_json(mb))
    model.mesh_folder = mb.mesh_folder
    model.set_state(q, v)
    return model


def _part(path: str, data: PartData, component: Component) -> dict[str, Any]:
    table: dict[str, Any] = {"type": data.type, "params": _params(component)}
    table |= {"given": True} if data.given else {}
    if data.every:
        table |= _period(Fraction(data.every))
    at = None if data.at is None else {"plant": data.at.plant, data.at.kind: data.at.name}
    table |= {"offset": _seconds(data.offset, f"the offset of {path!r}") or None, "at": at, "convert": data.convert}
    return {**_without_empty(table), **({} if data.active else {"active": False})}


def _params(x: Component | Assembly) -> dict[str, Any]:
    """Parameters as plain data, but for those that have their defaults."""
    plain = msgspec.to_builtins(x.p, enc_hook=lambda value: value.tolist())
    fields = {field.encode_name: field for field in msgspec.structs.fields(type(x.p))}
    return {name: value for name, value in plain.items() if not _is_default(fields[name], getattr(x.p, name))}


def _is_default(field: msgspec.structs.FieldInfo, value: Any) -> bool:
    return field.default is not msgspec.NODEFAULT and type(value) is type(field.default) and value == field.default


def _period(seconds: Fraction) -> dict[str, Any]:
    """A period as a number where that is exact, as a rate in Hz, or as a fraction."""
    if Fraction(str(float(seconds))) == seconds:
        return {"every": float(seconds)}
    if seconds.numerator == 1:
        return {"rate": seconds.denominator}
    return {"every": str(seconds)}


def _seconds(ns: int, what: str) -> float:
    if nanoseconds(ns / 1e9, what) != ns:
        raise SystemFileError(f"{what} is {ns} ns, which is no number of seconds in a file.")
    return ns / 1e9


def _at(at: Any) -> dict[str, Any] | None:
    return {"plant": at.plant.path, at.kind: at.name} if isinstance(at, Mount) else None


# -- assemblies ------------------------------------------------------------------------------------------------


def _kept(system: System, data: SystemData) -> dict[str, Built]:
    """Outermost assemblies that their classes build in their present form; their parts are taken out of the data."""
    rebuilt: dict[str, Built] = {}
    outer = [
        path for path in sorted(system.diagram.built) if not any(path.startswith(f"{x}/") for x in system.diagram.built)
    ]
    bare = _bare(system) if outer else None
    for path in outer:
        x = system.diagram.built[path]
        if bare is not None and (x.at is None or isinstance(x.at, Mount)) and _is_as_built(bare, path, x, data):
            rebuilt[path] = x
    return rebuilt


def _bare(system: System) -> System:
    """A system with the plants of another, and nothing else."""
    from soacraft.sim.systems.system import System as Made

    bare = Made(system.name, **system.board.how)
    for path, plant in system.diagram.plants.items():
        bare.add(path, Plant(from_json(to_json(plant.mb)), plant.solver))
    for path, frame in system.diagram.frames.items():
        bare.add_frame(path, frame.parent, frame.pose)
    return bare


def _is_as_built(bare: System, path: str, x: Built, data: SystemData) -> bool:
    """Build it again, next to nothing else, and compare. Where it is the same, take its parts out of the data."""
    before = {name: to_json(plant.mb) for name, plant in bare.diagram.plants.items()}
    wires = len(bare.diagram.wires)
    try:
        at = None if x.at is None else Mount(bare.diagram.plants[x.at.plant.path], x.at.kind, x.at.name)
        bare.add(path, type(x.assembly)(**msgspec.structs.asdict(x.assembly.p)), at=at)
        built = describe(bare, documents=False)
    except SoacraftError:
        return False
    if {name: to_json(plant.mb) for name, plant in bare.diagram.plants.items()} != before:
        return False  # it adds bodies, which are in the model already

    def inside(name: str) -> bool:
        return name == path or name.startswith((f"{path}/", f"{path}."))

    inner_parts = {key: part for key, part in built.parts.items() if inside(key)}
    groups = {key: kind for key, kind in built.groups.items() if inside(key)}
    exports = {key: port for key, port in built.exports.items() if inside(key)}
    joined = Counter((w.source, w.target, w.convert) for w in bare.diagram.wires[wires:])
    there = Counter((w.source, w.target, w.convert) for w in data.wires)
    if (
        inner_parts != {key: part for key, part in data.parts.items() if inside(key)}
        or groups != {key: kind for key, kind in data.groups.items() if inside(key)}
        or exports != {key: port for key, port in data.exports.items() if inside(key)}
        or joined - there
    ):
        return False
    tables: list[tuple[dict[str, Any], dict[str, Any]]]
    tables = [(data.parts, inner_parts), (data.groups, groups), (data.exports, exports)]
    for table, names in tables:
        for key in names:
            del table[key]
    data.wires[:] = [WireData(source=a, target=b, convert=c) for a, b, c in sorted((there - joined).elements())]
    return True


# -- text --------------------------------------------------------------------------------------------------------


def _toml(tables: dict[str, Any]) -> bytes:
    _require(tables, "TOML has no null: save it as .json", lambda x: x is not None)
    try:
        lines = tomli_w.dumps(tables, multiline_strings=True)  # models are easier to read in lines
        return (lines if tomllib.loads(lines) == tables else tomli_w.dumps(tables)).encode()
    except (ValueError, TypeError) as error:
        raise SystemFileError(f"the system cannot be written as TOML: {error}.") from None


def _json(tables: dict[str, Any]) -> bytes:
    _require(
        tables,
        "JSON has no infinite numbers: save it as .toml",
        lambda x: not isinstance(x, float) or math.isfinite(x),
    )
    for plant in tables.get("plants", {}).values():
        if "document" in plant:
            plant["document"] = msgspec.json.decode(plant["document"])
    try:
        return msgspec.json.format(msgspec.json.encode(tables), indent=1) + b"\n"
    except (ValueError, TypeError, OverflowError) as error:
        raise SystemFileError(f"the system cannot be written as JSON: {error}.") from None


def _require(tables: Any, cure: str, good: Any, place: str = "") -> None:
    """Refuse a value that the text cannot hold, by its place."""
    if not good(tables):
        raise SystemFileError(f"{place.lstrip('.')} is {tables!r:.40}, and {cure}.")
    inner = dict(enumerate(tables)) if isinstance(tables, list | tuple) else tables
    for key, x in inner.items() if isinstance(inner, dict) else ():
        _require(x, cure, good, f"{place}.{key}")

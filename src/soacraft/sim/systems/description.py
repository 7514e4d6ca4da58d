"""A system as plain data, and back: parts with parameters, clocks and mounts, connections, exported ports, plants.

Assemblies are told by what they are made of, and by their names. What acts at an instant (states, held values, counts
of clocks) is no part of it: a checkpoint has that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from soacraft.errors import WiringError, near
from soacraft.files.native import from_json, to_json
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.components.component import Component
from soacraft.sim.components.registry import by_name, find_class
from soacraft.sim.forces.loads import Load
from soacraft.sim.systems.clocks import Clock, read_clock
from soacraft.sim.systems.plant import Plant
from soacraft.sim.systems.system import System

_SECOND = 10**9
#: A period in seconds: short enough to be read at once.
_PERIOD = re.compile(r"\d{1,30}(\.\d{1,30})?(/\d{1,30})?")
_LAST = 2**62


class _Data(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Plain data: numbers, texts, lists and tables."""


class MountData(_Data):
    """Where a part is mounted: `kind` is "dof" or "node"."""

    plant: str
    kind: str
    name: str


class PartData(_Data):
    """A component. `every` is the period of its ticks in seconds, a rational number as text ("1/3"), empty for one that
    is continuous; `offset` is in nanoseconds."""

    type: str
    params: dict[str, Any] = {}
    every: str = ""
    offset: int = 0
    at: MountData | None = None
    convert: bool = False


class LoadData(_Data):
    """A force element of a plant, by its name: it is no plain data, and given again by the program that builds."""

    name: str
    type: str


class PlantData(_Data):
    """A model: its document in the native format, or empty where it is given by name."""

    document: str = ""
    solver: str = "auto"
    forces: list[LoadData] = []


class WireData(_Data):
    """A connection as it was asked for."""

    source: str
    target: str
    convert: bool = False


class SystemData(_Data):
    """All that `build` needs. Times are in seconds, `t` in nanoseconds; names are paths, as "rover/left/motor"."""

    name: str
    integrator: str = "dop853"
    rtol: float = 1e-9
    step: float | None = None
    t: int = 0
    seed: int = 0
    plants: dict[str, PlantData] = {}
    parts: dict[str, PartData] = {}
    wires: list[WireData] = []
    exports: dict[str, str] = {}
    groups: dict[str, str] = {}
    """Assemblies: the name of the class of each."""
    loops: list[str] = []
    """Outputs of cycles that are solved."""
    starts: dict[str, Any] = {}
    """States that were set before the first run."""


def describe(system: System, documents: bool = True) -> SystemData:
    """A system as plain data; with `documents` the models of its plants are in it. O(parts), and O(n) a model.

    >>> from soacraft import sim
    >>> s = sim.System("one", integrator="rk4", step=1e-3)
    >>> _ = s.add("target", sim.Constant(value=0.5))
    >>> describe(s).parts["target"]
    PartData(type='Constant', params={'value': 0.5, 'unit': None}, every='', offset=0, at=None, convert=False)
    """
    by_name({type(x.component) for x in system._parts.values()})  # two classes of one name are refused
    return SystemData(
        name=system._name,
        t=system._start,
        seed=system._seed,
        plants={path: _plant(x, documents) for path, x in sorted(system._plants.items())},
        parts={path: _part(path, x) for path, x in sorted(system._parts.items())},
        wires=[WireData(source=x.source, target=x.target, convert=x.convert) for x in sorted(system._wires)],
        exports=dict(sorted(system._exports.items())),
        groups=dict(sorted(system._groups.items())),
        loops=list(system._tears),
        starts={key: _plain(x, f"the start of {key!r}") for key, x in sorted(system._starts.items())},
        **cast(dict[str, Any], system._how),
    )


def _part(path: str, part: Any) -> PartData:
    clock, mount = part.clock, part.mount
    return PartData(
        type=type(part.component).__name__,
        params=_plain(part.component.p, f"a parameter of {path!r}"),
        every="" if clock is None else str(clock.period / _SECOND),
        offset=0 if clock is None else clock.offset,
        at=None if mount is None else MountData(plant=mount.plant.path, kind=mount.kind, name=mount.name),
        convert=part.convert,
    )


def _plant(plant: Plant, documents: bool) -> PlantData:
    if not isinstance(plant.solver, str):
        raise WiringError(
            f"the plant {plant.path!r} has a solver of its own, {plant.solver!r:.60}, which is no plain data: give "
            "Plant(solver=) its name, such as 'ta'."
        )
    forces = [LoadData(name=x.name, type=type(x).__name__) for x in plant.forces]
    return PlantData(document=to_json(plant.mb).decode() if documents else "", solver=plant.solver, forces=forces)


def _plain(value: Any, what: str) -> Any:
    """Numbers, texts, lists and tables of a value; arrays as lists."""
    try:
        return msgspec.to_builtins(value, enc_hook=lambda x: x.tolist())
    except (TypeError, AttributeError, msgspec.ValidationError) as wrong:
        raise WiringError(f"{what} is no plain data: {wrong}") from None


def build(
    data: SystemData,
    classes: Mapping[str, type[Component]],
    models: Mapping[str, Multibody] | None = None,
    forces: Mapping[str, Sequence[Load]] | None = None,
) -> System:
    """The system of a description. `classes` are those that it may name; `models` are those of plants whose document is
    elsewhere; `forces` are the force elements of plants, which are no plain data. Nothing is imported.

    >>> from soacraft import sim
    >>> s = sim.System("one", integrator="rk4", step=1e-3)
    >>> _ = s.add("target", sim.Constant(value=0.5))
    >>> print(build(describe(s), {"Constant": sim.Constant}).tree())
    target: Constant(value=0.5, unit=None)
    """
    system = System(data.name, data.integrator, data.rtol, data.step, data.t / 1e9, data.seed)
    system._start = data.t  # also where seconds would round it
    for path, plant in data.plants.items():
        system.add(path, Plant(_model(path, plant, models or {}), plant.solver, _forces(path, plant, forces or {})))
    system._groups.update(data.groups)
    for path, part in data.parts.items():
        component = find_class(part.type, classes, repr(path))(**part.params)
        system.add(path, component, at=_mount(system, path, part.at), convert=part.convert)
        system._parts[path] = system._parts[path]._replace(clock=_clock(path, part))
    for wire in data.wires:
        system.connect(wire.source, wire.target, wire.convert)
    for name, port in data.exports.items():
        system.export(name, port)
    if data.loops:
        system.solve_loop(*data.loops)
    for key, value in data.starts.items():
        system.states[key] = value
    return system


def _model(path: str, plant: PlantData, models: Mapping[str, Multibody]) -> Multibody:
    if path in models:
        return models[path]
    if not plant.document:
        raise WiringError(f"the model of the plant {path!r} is not in the description: give models={{{path!r}: mb}}.")
    return from_json(plant.document.encode(), f"the model of {path!r}")


def _forces(path: str, plant: PlantData, forces: Mapping[str, Sequence[Load]]) -> Sequence[Load]:
    given, wanted = forces.get(path, ()), [(x.name, x.type) for x in plant.forces]
    if [(x.name, type(x).__name__) for x in given] != wanted:
        told = ", ".join(f"{kind} {name!r}" for name, kind in wanted) or "none"
        raise WiringError(
            f"the plant {path!r} has the force elements {told}, which are no plain data: give them again, in this "
            f"order, with forces={{{path!r}: [...]}}."
        )
    return given


def _mount(system: System, path: str, at: MountData | None) -> Any:
    if at is None:
        return None
    if at.plant not in system._plants:
        raise WiringError(f"{path!r} is mounted at {at.plant!r:.60}, which is no plant{near(at.plant, system._plants)}")
    plant = system._plants[at.plant]
    if at.kind not in ("dof", "node"):
        raise WiringError(f"{path!r} is mounted at a {at.kind!r:.40}; a mount is a 'dof' or a 'node'.")
    return plant.dof(at.name) if at.kind == "dof" else plant.node(at.name)


def _clock(path: str, part: PartData) -> Clock | None:
    """As it was, to the nanosecond."""
    if not part.every:
        return None
    if not _PERIOD.fullmatch(part.every) or not 0 <= part.offset < _LAST:
        raise WiringError(
            f"{path!r} has every={part.every!r:.60} and offset={part.offset!r:.40}: a period is a number of seconds as "
            "text, such as '1/3', an offset a number of nanoseconds."
        )
    clock = read_clock(part.every, None, 0.0, repr(path))
    return None if clock is None else clock._replace(offset=part.offset)

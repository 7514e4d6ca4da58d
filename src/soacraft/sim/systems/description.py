"""A system as plain data, and back: parts with parameters, clocks and mounts, connections, exported ports, plants.

Assemblies are told by what they are made of, and by their names. What acts at an instant (states, held values, counts
of clocks) is no part of it: a checkpoint has that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np

from soacraft.errors import SoacraftError, WiringError, near
from soacraft.files.native import from_json, to_json
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.components.component import Component
from soacraft.sim.components.declarations import as_value
from soacraft.sim.components.registry import PartClass, by_name, find_class
from soacraft.sim.forces.loads import Load
from soacraft.sim.systems.changes.sequence import Sequence as Phases
from soacraft.sim.systems.frames import UserFrame
from soacraft.sim.systems.plants.plant import Plant
from soacraft.sim.systems.running.clocks import Clock, read_clock
from soacraft.sim.systems.system import System
from soacraft.spatial.pose import Pose

_SECOND = 10**9
#: A period in seconds: short enough to be read at once.
_PERIOD = re.compile(r"\d{1,30}(\.\d{1,30})?(/\d{1,30})?")
_LAST = 2**62


class _Data(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Plain data: numbers, texts, lists and tables."""


class MountData(_Data):
    """Mount of a part: `kind` is "dof" or "node"."""

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
    active: bool = True
    given: bool = False
    """True if it is more than its class and parameters, as a link to another program: the caller provides it."""


class LoadData(_Data):
    """A force element of a plant, by its name: it is no plain data, and given again by the program that builds."""

    name: str
    type: str


class PlantData(_Data):
    """A model: its document in the native format, empty if the caller provides the model; `folder` is that of its
    meshes."""

    document: str = ""
    folder: str = ""
    solver: str = "auto"
    forces: list[LoadData] = []


class WireData(_Data):
    """A connection as it was asked for."""

    source: str
    target: str
    convert: bool = False


class FrameData(_Data):
    """A frame that the user moves: fixed, or moved by a port; or by a function, which the caller provides."""

    parent: str
    rotation: list[float] = []
    translation: list[float] = []
    signal: str = ""


class SystemData(_Data):
    """All that `build` needs. Times are in seconds, `t` in nanoseconds; names are paths, as "rover/left/motor"."""

    name: str
    integrator: str = "dop853"
    rtol: float = 1e-9
    step: float | None = None
    max_step: float | None = None
    t: int = 0
    seed: int = 0
    plants: dict[str, PlantData] = {}
    parts: dict[str, PartData] = {}
    frames: dict[str, FrameData] = {}
    wires: list[WireData] = []
    exports: dict[str, str] = {}
    groups: dict[str, str] = {}
    """Assemblies: the name of the class of each."""
    sequences: dict[str, dict[str, Any]] = {}
    """Phases, transitions and actions."""
    loops: list[str] = []
    """Outputs of cycles that are solved."""
    starts: dict[str, Any] = {}
    """States that were set before the first run."""
    holds: dict[str, Any] = {}
    """Inputs that hold a value, since what filled them is gone."""


def describe(system: System, documents: bool = True) -> SystemData:
    """A system as plain data; with `documents` the models of its plants are in it. O(parts), and O(n) a model.

    >>> from soacraft import sim
    >>> s = sim.System("one", integrator="rk4", step=1e-3)
    >>> _ = s.add("target", sim.Constant(value=0.5))
    >>> describe(s).parts["target"]
    PartData(type='Constant', params={'value': 0.5, 'unit': None}, every='', offset=0, at=None, convert=False, ...)
    """
    plain = [x.component for x in system.diagram.parts.values() if "interface" not in vars(x.component)]
    by_name({type(x) for x in plain})  # two classes of one name are refused
    return SystemData(
        name=system.name,
        t=system.board.start,
        seed=system.board.seed,
        plants={path: _plant(x, documents) for path, x in sorted(system.diagram.plants.items())},
        parts={path: _part(path, x) for path, x in sorted(system.diagram.parts.items())},
        frames={path: _frame(x) for path, x in sorted(system.diagram.frames.items())},
        wires=[WireData(source=x.source, target=x.target, convert=x.convert) for x in sorted(system.diagram.wires)],
        exports=dict(sorted(system.diagram.exports.items())),
        groups=dict(sorted(system.diagram.groups.items())),
        sequences={path: x.plain() for path, x in sorted(system.diagram.sequences.items())},
        loops=list(system.diagram.tears),
        holds={key: _plain(x, f"what {key!r} holds") for key, x in sorted(system.diagram.holds.items())},
        starts={key: _plain(x, f"the start of {key!r}") for key, x in sorted(system.diagram.starts.items())},
        **cast(dict[str, Any], system.board.how),
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
        active=part.active,
        given="interface" in vars(part.component),
    )


def _plant(plant: Plant, documents: bool) -> PlantData:
    if not isinstance(plant.solver, str):
        raise WiringError(
            f"the plant {plant.path!r} has a solver object, {plant.solver!r:.60}, which is no plain data: give "
            "Plant(solver=) its name, such as 'ta'."
        )
    forces = [LoadData(name=x.name, type=type(x).__name__) for x in plant.forces]
    folder = "" if plant.mb.mesh_folder is None else str(plant.mb.mesh_folder)
    document = to_json(plant.mb).decode() if documents else ""
    return PlantData(document=document, folder=folder, solver=plant.solver, forces=forces)


def _frame(frame: UserFrame) -> FrameData:
    if isinstance(frame.pose, Pose):
        R, p = frame.pose.rotation.ravel().tolist(), frame.pose.translation.tolist()
        return FrameData(parent=frame.parent, rotation=R, translation=p)
    return FrameData(parent=frame.parent, signal=frame.signal or "")


def _plain(value: Any, what: str) -> Any:
    """Numbers, texts, lists and tables of a value; arrays as lists."""
    try:
        return msgspec.to_builtins(value, enc_hook=lambda x: x.tolist())
    except (TypeError, AttributeError, msgspec.ValidationError) as wrong:
        raise WiringError(f"{what} is no plain data: {wrong}") from None


def system_documents(system: System) -> dict[str, bytes]:
    """Documents of a system for a log: its description, and the model of each plant, if a file can hold them."""
    documents: dict[str, bytes] = {}
    with suppress(SoacraftError):
        documents["system"] = json.dumps(msgspec.to_builtins(describe(system, documents=False))).encode()
    models: dict[str, str] = {}
    for path, plant in system.diagram.plants.items():
        with suppress(SoacraftError):
            models[path] = to_json(plant.mb).decode()
    if len(models) == 1:
        documents["model"] = next(iter(models.values())).encode()
    elif models:
        documents["model"] = json.dumps(models).encode()
    return documents


def build(
    data: SystemData,
    classes: Mapping[str, PartClass],
    models: Mapping[str, Multibody] | None = None,
    forces: Mapping[str, Sequence[Load]] | None = None,
    components: Mapping[str, Component] | None = None,
    frames: Mapping[str, Callable[[float], Any]] | None = None,
) -> System:
    """The system of a description. `classes` are those that it may name; `models` are those of plants whose document is
    elsewhere; `forces` are the force elements of plants, `components` the parts and `frames` the functions of frames
    that are no plain data. Nothing is imported.

    >>> from soacraft import sim
    >>> s = sim.System("one", integrator="rk4", step=1e-3)
    >>> _ = s.add("target", sim.Constant(value=0.5))
    >>> print(build(describe(s), {"Constant": sim.Constant}).tree())
    target: Constant(value=0.5, unit=None)
    """
    system = System(data.name, data.integrator, data.rtol, data.step, data.t / 1e9, data.seed, data.max_step)
    system.board.start = data.t  # also where seconds would round it
    for path, plant in data.plants.items():
        system.add(path, Plant(_model(path, plant, models or {}), plant.solver, _forces(path, plant, forces or {})))
    system.board.set_diagram(system.diagram.changed(groups=dict(data.groups)))
    for path, part in data.parts.items():
        component = _component(path, part, classes, components or {})
        system.add(path, component, at=_mount(system, path, part.at), convert=part.convert)
        restored = system.diagram.parts[path]._replace(clock=_clock(path, part), active=part.active)
        system.board.set_diagram(system.diagram.with_part(restored))
    for path, frame in data.frames.items():
        system.add_frame(path, frame.parent, _pose(path, frame, frames or {}))
    for wire in data.wires:
        system.connect(wire.source, wire.target, wire.convert)
    for name, port in data.exports.items():
        system.export(name, port)
    for path, phases in data.sequences.items():
        system.add(path, Phases.from_plain(phases))
    if data.loops:
        system.solve_loop(*data.loops)
    holds = {key: _held(system, key, value) for key, value in data.holds.items()}
    system.board.set_diagram(system.diagram.changed(holds=holds))
    for key, value in data.starts.items():
        system.states[key] = value
    return system


def _component(
    path: str, part: PartData, classes: Mapping[str, PartClass], given: Mapping[str, Component]
) -> Component:
    if not part.given:
        return find_class(part.type, classes, repr(path))(**part.params)
    if path not in given or type(given[path]).__name__ != part.type:
        raise WiringError(
            f"{path!r} is a {part.type}, which is more than its parameters: make it again and give it with "
            f"components={{{path!r}: ...}}."
        )
    return given[path]


def _held(system: System, key: str, value: Any) -> Any:
    path, _, name = key.rpartition(".")
    if path not in system.diagram.parts or name not in system.diagram.parts[path].component.interface.inputs:
        raise WiringError(f"{key!r:.60} holds a value, and is no input{near(key, system.diagram.parts)}")
    return as_value(value, system.diagram.parts[path].signal(name), f"what {key!r} holds")


def _pose(path: str, frame: FrameData, given: Mapping[str, Callable[[float], Any]]) -> Any:
    if frame.signal:
        return frame.signal
    if not frame.rotation:
        if path not in given:
            raise WiringError(
                f"the frame {path!r} is moved by a function, which is no plain data: give it again with "
                f"frames={{{path!r}: ...}}."
            )
        return given[path]
    if len(frame.rotation) != 9:
        raise WiringError(f"the rotation of the frame {path!r} has {len(frame.rotation)} numbers, and 9 are needed.")
    R, p = np.array(frame.rotation).reshape(3, 3), np.array(frame.translation)
    Pose(R, p)  # refuses what is no rotation
    return Pose.unchecked(R, p)


def _model(path: str, plant: PlantData, models: Mapping[str, Multibody]) -> Multibody:
    if path in models:
        return models[path]
    if not plant.document:
        raise WiringError(f"the model of the plant {path!r} is not in the description: give models={{{path!r}: mb}}.")
    mb = from_json(plant.document.encode(), f"the model of {path!r}")
    if plant.folder:
        mb.mesh_folder = Path(plant.folder)
    return mb


def _forces(path: str, plant: PlantData, forces: Mapping[str, Sequence[Load]]) -> Sequence[Load]:
    elements, wanted = forces.get(path, ()), [(x.name, x.type) for x in plant.forces]
    if [(x.name, type(x).__name__) for x in elements] != wanted:
        listed = ", ".join(f"{kind} {name!r}" for name, kind in wanted) or "none"
        raise WiringError(
            f"the plant {path!r} has the force elements {listed}, which are no plain data: give them again, in this "
            f"order, with forces={{{path!r}: [...]}}."
        )
    return elements


def _mount(system: System, path: str, at: MountData | None) -> Any:
    if at is None:
        return None
    if at.plant not in system.diagram.plants:
        raise WiringError(
            f"{path!r} is mounted at {at.plant!r:.60}, which is no plant{near(at.plant, system.diagram.plants)}"
        )
    plant = system.diagram.plants[at.plant]
    if at.kind not in ("dof", "node"):
        raise WiringError(f"{path!r} is mounted at a {at.kind!r:.40}; a mount is a 'dof' or a 'node'.")
    return plant.dof(at.name) if at.kind == "dof" else plant.node(at.name)


def _clock(path: str, part: PartData) -> Clock | None:
    """Clock of a part, exact to the nanosecond."""
    if not part.every:
        return None
    if not _PERIOD.fullmatch(part.every) or not 0 <= part.offset < _LAST:
        raise WiringError(
            f"{path!r} has every={part.every!r:.60} and offset={part.offset!r:.40}: a period is a number of seconds as "
            "text, such as '1/3', an offset a number of nanoseconds."
        )
    clock = read_clock(part.every, None, 0.0, repr(path))
    return None if clock is None else clock._replace(offset=part.offset)

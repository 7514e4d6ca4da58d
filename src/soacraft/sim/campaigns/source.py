"""Sources of a campaign's systems: a file, a function that makes one, or a system."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from soacraft.errors import CampaignError, WiringError
from soacraft.fingerprint import Fingerprint, fingerprint
from soacraft.sim.components.component import Component
from soacraft.sim.components.fingerprint import class_fingerprint
from soacraft.sim.components.registry import PartClass
from soacraft.sim.files.reader import read_system_bytes, system_of, system_path
from soacraft.sim.systems.checkpoint import code_of as code_of_system
from soacraft.sim.systems.description import SystemData, build, describe
from soacraft.sim.systems.system import System


class Maker(NamedTuple):
    """A function that gives a new system at every call."""

    function: Callable[..., System]

    @property
    def name(self) -> str:
        """The function as "module:name"."""
        return name_of(self.function)

    def make(self, **arguments: float) -> System:
        """A new system."""
        system = self.function(**arguments)
        if not isinstance(system, System):
            raise CampaignError(f"{self.name!r} must give a sim.System, and gave {system!r:.60}.")
        if system.t != system.board.start / 1e9 or system.board.build.propagator is not None:
            raise CampaignError(f"{self.name!r} gave a system that is at t = {system.t:.9g} s already: make a new one.")
        return system


class Described(NamedTuple):
    """A system as plain data, the classes it names, and the states of its plants."""

    text: bytes
    classes: dict[str, type[Component]]
    states: dict[str, tuple[list[float], list[float]]]
    name: str

    def make(self) -> System:
        """A new system."""
        system = build(msgspec.json.decode(self.text, type=SystemData), self.classes)
        for path, (q, v) in self.states.items():
            system.diagram.plants[path].mb.set_state(q, v)
        return system


class Filed(NamedTuple):
    """A system file, as its bytes were; models that it names are read where it is."""

    data: bytes
    path: str
    classes: tuple[PartClass, ...] = ()
    roots: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the source, from the path of the file."""
        return f"{FILE}{self.path}"

    def make(self) -> System:
        """A new system."""
        return system_of(self.data, Path(self.path), self.classes, roots=self.roots)


#: Prefix of the path of a system file in the source of a campaign.
FILE = "file "
Source = Maker | Described | Filed


def source_of(system: Any, classes: Iterable[PartClass] = (), roots: Sequence[str | PathLike[str]] = ()) -> Source:
    """Source of a campaign, from its argument: a system, a function or its name, a system file."""
    if isinstance(system, System):
        return described(system)
    if isinstance(system, str | PathLike) and Path(system).suffix.lower() in (".toml", ".json"):
        file = system_path(system).resolve()
        return Filed(read_system_bytes(file), str(file), tuple(classes), tuple(str(x) for x in roots))
    if isinstance(system, str) and ":" in system:
        return Maker(named_function(system))
    if callable(system):
        return Maker(system)
    raise CampaignError(
        "a campaign takes a system file (.toml or .json), a function that makes a system, 'module:function', or a "
        f"system; got {system!r:.60}."
    )


def described(system: System) -> Described:
    """Source of a system in its present form."""
    if system.board.build.propagator is not None:
        raise CampaignError(
            f"the system {system.name!r} is at t = {system.t:.9g} s already: give one that has not run."
        )
    for path, plant in system.diagram.plants.items():
        if plant.forces:
            raise CampaignError(
                f"the plant {path!r} has force elements, which are no plain data: give the campaign a function that "
                "makes the system."
            )
    data = msgspec.json.encode(describe(system))
    states = {path: (np.array(x.mb.q).tolist(), np.array(x.mb.v).tolist()) for path, x in system.diagram.plants.items()}
    classes = {type(x.component).__name__: type(x.component) for x in system.diagram.parts.values()}
    return Described(data, classes, states, system.name)


def named_function(text: str) -> Callable[..., Any]:
    """The function of "module:name", which the caller's own code or command line gives."""
    module, _, name = text.partition(":")
    try:
        target = import_module(module)
        for each in name.split("."):
            target = getattr(target, each)
    except (ImportError, AttributeError, ValueError) as wrong:
        raise CampaignError(f"{text!r:.80} is no function of a module that can be imported: {wrong}") from None
    if not callable(target):
        raise CampaignError(f"{text!r:.80} is no function, but {target!r:.60}.")
    return target


def name_of(function: Callable[..., Any]) -> str:
    """A function as "module:name"."""
    return f"{getattr(function, '__module__', '?')}:{getattr(function, '__qualname__', type(function).__name__)}"


def digest(system: System) -> str:
    """Digest of a system: its parts, parameters, connections, models and states. Its code is compared by `code_of`."""
    sha = hashlib.sha256()
    try:
        sha.update(msgspec.json.encode(describe(system)))
    except WiringError:  # something that is no plain data
        sha.update(f"{system.tree()}\n{system.signals()}".encode())
    for path, plant in sorted(system.diagram.plants.items()):
        sha.update(f"{path}:{[x.name for x in plant.forces]}".encode())
        sha.update(np.array(plant.mb.q).tobytes() + np.array(plant.mb.v).tobytes())
    return sha.hexdigest()


def code_of(source: Source, system: System, measures: Mapping[str, Callable[..., Any]]) -> dict[str, Fingerprint]:
    """Fingerprints of all code that decides the rows of a campaign: the function that makes the system, functions that
    measure, classes of components, force elements, functions that move frames."""
    prints = {"the function that makes the system": fingerprint(source.function)} if isinstance(source, Maker) else {}
    prints |= {f"the measure {name!r}": fingerprint(x) for name, x in measures.items()}
    for path, part in system.diagram.parts.items():
        has_own_interface = "interface" in vars(part.component)
        prints[f"the component {path!r}" if has_own_interface else f"the class {type(part.component).__name__}"] = (
            class_fingerprint(part.component)
        )
    return prints | code_of_system(system)

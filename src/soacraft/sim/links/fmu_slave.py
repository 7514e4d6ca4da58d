"""A system inside of an FMU that was made of it: what the class in its script calls."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from soacraft.sim.components.registry import known_classes
from soacraft.sim.links.held import Held
from soacraft.sim.systems.description import SystemData, build
from soacraft.sim.systems.system import System


class Port(NamedTuple):
    """A number that an FMU gives or takes: its name, the signal or state, and the place in it, empty of a number."""

    name: str
    key: str
    at: tuple[int, ...]
    unit: str | None


class Card(msgspec.Struct):
    """Description of a system in an FMU, beside the model."""

    system: SystemData
    classes: list[tuple[str, str]]
    """Modules and names of classes that do not come along."""
    inputs: list[Port]
    outputs: list[Port]


class Exported:
    """The system of a card; it is built when its first value or step is asked for."""

    def __init__(self, folder: Any) -> None:
        self._card = msgspec.json.decode((Path(str(folder)) / "soacraft_system.json").read_bytes(), type=Card)
        self.inputs, self.outputs = self._card.inputs, self._card.outputs
        self._given = {x.name: 0.0 for x in self.inputs}
        self._got: dict[str, float] | None = None
        self._start = self._card.system.t / 1e9
        self._system: System | None = None
        self.time = self._start

    def begin(self, t: float) -> None:
        """The time at which it starts."""
        self._start, self._system, self._got = float(t), None, None
        self.time = self._start

    def set(self, name: str, value: float) -> None:
        """Set an input, for the next step."""
        self._given[name] = float(value)

    def input(self, name: str) -> float:
        """Value of an input."""
        return self._given[name]

    def output(self, name: str) -> float:
        """An output where the last step ended; at the start, with the inputs as they are then."""
        if self._got is None:
            self._run(self._start)
        assert self._got is not None
        return self._got[name]

    def step(self, t: float, h: float) -> bool:
        """Advance to t + h, with inputs held."""
        if self._got is None:
            self._run(t)
        self._run(t + h)
        self.time = t + h
        return True

    def _run(self, t: float) -> None:
        if self._system is None:
            data = self._card.system
            data.t = round(self._start * 1e9)
            classes = [getattr(import_module(module), name) for module, name in self._card.classes]
            self._system = build(data, known_classes([Held, *classes]))
        values: dict[str, Any] = {}
        for x in self.inputs:
            if x.key not in values:
                values[x.key] = np.array(self._system.states[x.key], dtype=float)
            values[x.key][x.at] = self._given[x.name]
        for key, value in values.items():
            self._system.states[key] = value if value.shape else float(value)
        run = self._system.run(t, signals=sorted({x.key for x in self.outputs}))
        self._got = {x.name: float(run.signals[x.key][-1][x.at]) for x in self.outputs}

"""`Present`: the names of a system, and their present values."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from soacraft.errors import WiringError, near
from soacraft.sim.patterns import pattern

if TYPE_CHECKING:
    from soacraft.sim.systems.system import System


class Port(NamedTuple):
    """Properties of a name of a system: kind, unit (None: any), shape, and what fills it, of an input."""

    kind: str
    unit: str | None
    shape: tuple[int, ...]
    filled_by: str = ""


class Present:
    """The names of a system: "t", "motor.torque" (outputs, inputs, states), "motor.R" (parameters), "arm.q" and "arm.v"
    of plants; and their values.

    >>> import soacraft as sc
    >>> s = sc.sim.System("a", integrator="rk4", step=0.1)
    >>> _ = s.add("wave", sc.sim.Sine(frequency=1.0))
    >>> run = s.run(0.5)
    >>> present = Present(s)
    >>> sorted(present.names)[:3], present.value("t"), present.value("wave.frequency")
    (['t', 'wave.amplitude', 'wave.frequency'], 0.5, 1.0)
    """

    def __init__(self, system: System) -> None:
        self._system = system
        compilation = system.board.compiled()
        self._wiring, self._schedule, self._flow = compilation.wiring, compilation.schedule, compilation.flow
        self.names: dict[str, Port] = {"t": Port("time", "s", ())}
        for path in sorted(system.diagram.plants):
            mb = system.diagram.plants[path].mb
            self.names[f"{path}.q"] = Port("coordinates", None, (mb.nq,))
            self.names[f"{path}.v"] = Port("velocities", None, (mb.nv,))
        for path in sorted(system.diagram.parts):
            part = system.diagram.parts[path]
            face = part.component.interface
            for name in type(part.component.p).__struct_fields__:
                self.names[f"{path}.{name}"] = Port("parameter", None, ())
            states = [*face.continuous, *face.discrete]
            kinds: dict[str, Collection[str]] = {"input": face.inputs, "output": face.outputs, "state": states}
            for kind, named in kinds.items():
                for name in named:  # a quantity hides a parameter of the same name
                    signal, key = part.signal(name), f"{path}.{name}"
                    link = self._wiring.links.get(key) if kind == "input" else None
                    element = "" if link is None or link.element is None else f"[{link.element}]"
                    self.names[key] = Port(
                        kind, signal.unit, signal.shape, "" if link is None else f"{link.source}{element}"
                    )

    @property
    def is_current(self) -> bool:
        """True if the system has not been compiled again since this was made."""
        compilation = self._system.board.build.compilation
        return compilation is not None and compilation.flow is self._flow

    def matching(self, text: str) -> list[str]:
        """The names that a pattern matches; refused where there are none."""
        if "*" not in text:
            if text not in self.names:
                raise WiringError(f"the system {self._system.name!r} has nothing named {text!r:.60}"
                                  f"{near(text, self.names)}")  # fmt: skip
            return [text]
        matches = pattern(text).of(self.names)
        if not matches:
            plain = text.replace("*", "")
            raise WiringError(f"the pattern {text!r:.60} matches nothing{near(plain, self.names)}")
        return matches

    def value(self, key: str, running: bool = False) -> Any:
        """The value of a name, numbers and lists; None where it was not evaluated yet. `running` where it is asked for
        between the steps of a run."""
        system, port = self._system, self.names[key]
        path, _, name = key.rpartition(".")
        if port.kind == "time":
            return system.t
        if port.kind == "parameter":
            return system.params[key]
        if port.kind in ("coordinates", "velocities") and not running:
            mb = system.diagram.plants[path].mb
            return _plain(mb.q if name == "q" else mb.v)
        if port.kind == "state" and not running:
            return _plain(self._flow.state(key))
        if port.kind == "input":
            return self._filled(key, running)
        return self._held(key) if running or system.board.build.propagator is not None else None

    def _held(self, key: str) -> Any:
        slot = self._schedule.slots.get(key)
        return None if slot is None else _plain(self._flow.values[slot])

    def _filled(self, key: str, running: bool) -> Any:
        link = self._wiring.links.get(key)
        if link is None:
            path, _, name = key.rpartition(".")
            return _plain(self._system.diagram.parts[path].component.interface.inputs[name].default)
        source = link.source
        value = self.value(source, running) if source in self.names else self._held(source)
        if value is None or (link.element is None and link.factor == 1.0):
            return value
        value = value if link.element is None else value[link.element]
        return value if link.factor == 1.0 else _plain(np.asarray(value) * link.factor)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value

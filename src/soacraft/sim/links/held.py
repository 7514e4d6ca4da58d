"""Inputs of a system that are filled from outside, between runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from soacraft.errors import WiringError, near
from soacraft.sim.components.component import Component
from soacraft.sim.components.declarations import Discrete, output
from soacraft.sim.components.declarations import Params as Base
from soacraft.sim.systems.system import System

#: Components that hold values are below this path in a system.
FOLDER = "from_outside"


def _shape(p: Any) -> tuple[int, ...]:
    return tuple(p.shape)


class Held(Component):
    """A value that is set from outside: y = value.

    >>> Held.y(2.0)
    2.0
    """

    class Params(Base, frozen=True):
        shape: tuple[int, ...] = ()
        unit: str | None = None

    value = Discrete(shape=_shape)

    @output(lambda p: p.unit, shape=_shape)
    def y(value: Any) -> Any:
        return value


def hold(system: System, ports: Sequence[str]) -> dict[str, str]:
    """Let values from outside fill these inputs, which nothing fills; the state that holds each."""
    held: dict[str, str] = {}
    for i, port in enumerate(ports):
        path, _, name = system.diagram.exports.get(str(port), str(port)).rpartition(".")
        part = system.diagram.parts.get(path)
        if part is None or name not in part.component.interface.inputs:
            inputs = [f"{x}.{y}" for x, z in system.diagram.parts.items() for y in z.component.interface.inputs]
            raise WiringError(f"there is no input {port!r:.60} to fill from outside{near(str(port), inputs)}")
        signal = part.signal(name)
        if signal.dtype is not float:
            raise WiringError(f"the input {port!r} takes {signal.dtype.__name__}, and values from outside are float.")
        holder = f"{FOLDER}/i{i}"
        system.add(holder, Held(shape=signal.shape, unit=signal.unit))
        system.connect(f"{holder}.y", f"{path}.{name}")
        held[str(port)] = f"{holder}.value"
    return held

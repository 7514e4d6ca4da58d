"""Parameters and states of a system, as mappings by "component.name"."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

import msgspec

from soacraft.errors import WiringError, near
from soacraft.sim.components.component import Component, read_params
from soacraft.sim.components.declarations import Params, as_value

if TYPE_CHECKING:
    from soacraft.sim.systems.system import System
    from soacraft.sim.systems.wiring import Part


class _Named(MutableMapping[str, Any]):
    """Numbers of a system by "component.name"."""

    _what = ""

    def __init__(self, system: System) -> None:
        self._system = system

    @abstractmethod
    def _names(self, component: Component) -> list[str]:
        """Names of the quantities of a component."""

    def __iter__(self) -> Iterator[str]:
        parts = self._system.diagram.parts
        return (f"{path}.{name}" for path in sorted(parts) for name in self._names(parts[path].component))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __delitem__(self, key: str) -> None:
        raise WiringError(f"{key!r:.60} cannot be taken away: a component has all its {self._what}s.")

    def _find(self, key: str) -> tuple[str, str]:
        path, _, name = str(key).rpartition(".")
        parts = self._system.diagram.parts
        if path not in parts or name not in self._names(parts[path].component):
            raise WiringError(f"the system {self._system.name!r} has no {self._what} {key!r:.60}{near(str(key), self)}")
        return path, name

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{key!r}: {value!r}' for key, value in self.items())}}}"


class ParamsOf(_Named):
    """`s.params`: {"component.name": value}. A value that would change the shape or unit of a port is refused once the
    system runs."""

    _what = "parameter"

    def _names(self, component: Component) -> list[str]:
        return list(type(component.p).__struct_fields__)

    def __getitem__(self, key: str) -> Any:
        path, name = self._find(key)
        return getattr(self._system.diagram.parts[path].component.p, name)

    def __setitem__(self, key: str, value: Any) -> None:
        path, name = self._find(key)
        part = self._system.diagram.require_part(path)
        old = part.component
        p = read_params(type(old), {**msgspec.structs.asdict(old.p), name: value})
        if self._system.board.build.propagator is not None and (fault := refuse_other_signals(part, p, key)):
            raise WiringError(fault)
        put_params(self._system, path, p)


def refuse_other_signals(part: Part, p: Params, what: str) -> str:
    """Reason why a component cannot take other parameters while it runs; empty if it can."""
    for port, x in part.component.interface.quantities.items():
        if x.signal(part.component.p, part.sizes) != x.signal(p, part.sizes):
            return f"{what!r} changes what {port!r} carries, which cannot change once the system runs."
    return ""


def put_params(system: System, path: str, p: Params) -> None:
    """Give a component other parameters, all at once."""
    part = system.diagram.require_part(path)
    new = object.__new__(type(part.component))
    new.__dict__.update(part.component.__dict__, p=p)
    system.board.put_component(path, new)


class StatesOf(_Named):
    """`s.states`: {"component.name": value}, the present states of components."""

    _what = "state"

    def _names(self, component: Component) -> list[str]:
        return [*component.interface.continuous, *component.interface.discrete]

    def __getitem__(self, key: str) -> Any:
        self._find(key)
        return self._system.board.compiled().flow.state(key)

    def __setitem__(self, key: str, value: Any) -> None:
        path, name = self._find(key)
        system = self._system
        value = as_value(value, system.diagram.parts[path].signal(name), f"the state {key!r}")
        system.board.set_state(key, value)

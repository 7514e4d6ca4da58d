"""`NoComponents`: components next to a model that has none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from soacraft.sim.breaks import Breaks
from soacraft.sim.carried import CompiledCarried
from soacraft.sim.forces.contact_steps import ContactStep
from soacraft.sim.runs.signals import Columns
from soacraft.spatial.checks import Array


class NoComponents:
    """Components of a plain model: no states, forces, ticks, crossings or signals. The same calls as `Carried`."""

    is_empty = True
    names: tuple[str, ...] = ()
    on_nodes: Sequence[str] = ()
    weighs: Sequence[str] = ()
    crossings: Sequence[tuple[str, int]] = ()
    obstacle = ""
    size = 0
    present = np.zeros(0)
    signs = np.zeros((2, 0))
    feels = False
    breaks = Breaks()
    next_tick: int | None = None
    columns: Columns = MappingProxyType({})

    def compiled(self) -> CompiledCarried | None:
        """No plan for compiled steps."""
        return None

    def place(self, t: float, q: Array, v: Array, z: Array) -> None:
        """Do nothing."""

    def push(self, q: Array, forces: Array) -> None:
        """No forces."""

    def total(self, q: Array, v: Array) -> tuple[Array, Array]:
        """No force, and no powers."""
        return np.zeros(len(v)), np.zeros(0)

    def rates(self, vdot: Array) -> Array:
        """No rates."""
        return np.zeros(0)

    def scale(self, z: Array) -> Array:
        """No states."""
        return np.zeros(0)

    def close_by(self, ask: Callable[[float, Array, Array], Mapping[str, Array]]) -> None:
        """Do nothing: no component asks for multipliers."""

    def masses(self) -> Mapping[str, float]:
        """No masses."""
        return {}

    def feel(self, step: ContactStep | None, h: float) -> None:
        """Do nothing: no component asks for contacts."""

    def tick(self, ns: int, accelerations: Callable[[], Array]) -> None:
        """No clocks."""

    def begin(self, ns: int) -> None:
        """No clocks."""

    def keep(self) -> object:
        """No values."""
        return None

    def restore(self, kept: object) -> None:
        """Do nothing."""

    def memory(self) -> tuple[list[int], dict[str, Any]]:
        """No counts, and no values."""
        return [], {}

    def recall(self, counts: Sequence[int], held: Mapping[str, Any]) -> None:
        """Do nothing."""

    def margins(self, accelerations: Callable[[], Array]) -> Sequence[float]:
        """No crossings."""
        return ()

    def jump(self, names: Sequence[str], z: Array) -> Array:
        """No crossings."""
        return z

    def sample(self, accelerations: Callable[[], Array]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """No signals."""
        return (), ()

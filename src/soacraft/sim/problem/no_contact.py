"""`NoContact`: contact of a model whose shapes may not touch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft.sim.forces.contact_impulses import NO_IMPULSES
from soacraft.sim.forces.contact_steps import ContactDiary, ContactStep
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.sim.system import Mechanism


class NoContact:
    """Contact that never touches. The same calls as `Contact`, where runs make them."""

    touches = False
    name = obstacle = ""
    began = takes_out = presses = has_ropes = holds_dofs = False
    revision = 0
    shapes: tuple[str, ...] = ()
    row_forces: tuple[tuple[int, int, float], ...] = ()
    steps: tuple[ContactStep, ...] = ()
    diary: ContactDiary | None = None

    def take_rows(self, rows: Any) -> None:
        """Do nothing: there is no contact problem."""

    def follow(self) -> None:
        """Do nothing: there are no shapes."""

    def another(self) -> NoContact:
        """Return this one, which remembers nothing."""
        return self

    def begin_run(self, t: float) -> None:
        """No steps."""

    def impulses_at(self, t: float) -> Array:
        """No impulses."""
        return NO_IMPULSES

    def begin_with(self, t: float, table: Array) -> None:
        """No impulses."""

    def begin(self, t: float, q: Array) -> None:
        """Do nothing: no shapes are in each other."""

    def begin_batch(self, q: Array, which: Any = (), of: str = "") -> None:
        """Do nothing: no shapes are in each other."""

    def begin_anew(self) -> None:
        """No start."""

    def recall(self, began: bool) -> None:
        """No start."""

    def require_sides(self, t: float, h: float, start: tuple[Array, Array], end: tuple[Array, Array]) -> None:
        """Do nothing: no shapes can pass each other."""

    def pushed_out(self, problem: Mechanism, t: float, x: Array) -> Array:
        """The unchanged point."""
        return x

    def compiled(self, t: float | None = None) -> None:
        """No value for compiled steps."""

    def take(self, log: tuple[Array, Array], force: Array) -> None:
        """No contacts."""

    def take_back(self, t: float) -> None:
        """No contacts."""

    def force(self, t: float, state: Any) -> Array:
        """No force."""
        return np.zeros(state.graph.nv)

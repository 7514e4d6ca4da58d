"""States of a model at rows of numbers, as runs give them to functions: nothing is computed before it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from soacraft.model.states.configuration import Configuration
from soacraft.model.states.motion import Motion
from soacraft.model.states.read_only import of_state
from soacraft.model.states.state import State
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.model.tree.multibody import Multibody


class RowState(State):
    """A state of a model whose numbers are a row, [q; v; vdot]."""

    _row: Array

    def __getattr__(self, name: str) -> Any:
        """Return a part that is made when it is first asked for."""
        if name == "_parts":
            layout, counters = self.made_for, self._graph.counters
            row, nq, nv = self._row, layout.nq, layout.nv
            motion = Motion(Configuration(layout, row[:nq], counters), row[nq : nq + nv], counters)
            value: Any = motion, self._new_memo(motion)
        elif name == "_vdot":
            value = self._row[self.made_for.nq + self.made_for.nv :]
        else:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        vars(self)[name] = value
        return value

    @property
    def q(self) -> Array:
        """Coordinates, (nq), read-only."""
        layout = self.made_for
        return of_state(self._graph, "q", self._row[: layout.nq], layout.q_order)

    @property
    def v(self) -> Array:
        """Velocities, (nv), read-only."""
        layout = self.made_for
        return of_state(self._graph, "v", self._row[layout.nq : layout.nq + layout.nv], layout.v_order)

    @property
    def vdot(self) -> Array:
        """Accelerations, (nv), read-only."""
        layout = self.made_for
        return of_state(self._graph, "vdot", self._row[layout.nq + layout.nv :], layout.v_order)


class RowStates:
    """States of a model as its structure is now, each of a row [q; v; vdot] that nobody changes any more.

    >>> import numpy as np
    >>> from soacraft.model import serial_chain
    >>> s = RowStates(serial_chain(2))(np.array([0.1, 0.2, 1.0, 0.0, 3.0, 4.0]))
    >>> s.q, s.vdot, s.configuration.q
    (array([0.1, 0.2]), array([3., 4.]), array([0.1, 0.2]))
    """

    __slots__ = ("forces", "shared")
    kind = RowState

    def __init__(self, mb: Multibody) -> None:
        layout = mb.layout
        self.forces = mb.acting_forces
        """The external forces that act: always the same dictionary."""
        self.shared: dict[str, Any] = {
            "_graph": mb, "made_for": layout, "_version": layout.version, "_batch": (), "_forces": (),
        }  # fmt: skip
        """All that the states share while no external force acts."""

    def __call__(self, row: Array) -> State:
        """Return the state of a row, under the external forces of now."""
        row.flags.writeable = False
        state = RowState.__new__(RowState)
        held = vars(state)
        held.update(self.shared)
        held["_row"] = row
        if self.forces:
            held["_forces"] = tuple(self.forces.items())
        return state

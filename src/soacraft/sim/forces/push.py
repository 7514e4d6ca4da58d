"""`Push`: wrenches at nodes for a time, as `step.push` lets them act."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from soacraft import dynamics as dyn
from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.breaks import Breaks
from soacraft.spatial.checks import Array
from soacraft.spatial.wrench import Wrench


class Push:
    """Wrenches that act together as one load; of nodes in their own axes or in those of a frame, as for
    `mb.set_force`."""

    name = "push"

    def __init__(self, wrenches: Mapping[Frame, Wrench] | None = None) -> None:
        self.wrenches: dict[Frame, Wrench] = dict(wrenches or {})
        self.knots = Breaks()
        self.samples = np.zeros(1), np.zeros(1)
        self.is_number = False

    def bind(self, mb: Multibody) -> None:
        """Take the model."""
        self._mb = mb

    def force(self, t: float, state: State) -> Array:
        """Generalized force of the wrenches, J* f."""
        if not self.wrenches:
            return np.zeros(self._mb.nv)
        return dyn.compensating_force(self._mb, state.q, self.wrenches, ignore_loops=True)

    # compiled steps read them apart from the controls among which they stand

    @property
    def row(self) -> Array:
        """Zeros, (nv): they are no control."""
        return np.zeros(self._mb.nv)

    @property
    def length(self) -> Array:
        """Zeros, (nq)."""
        return np.zeros(self._mb.nq)

    @property
    def law(self) -> Array:
        """The law of no force, (8)."""
        return np.array([0.0, 0, 0, 0, -np.inf, np.inf, -np.inf, np.inf])

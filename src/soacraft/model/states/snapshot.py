"""`Snapshot`: the numbers of a state, as functions below `soacraft.model.states.state` read them. Types only."""

from __future__ import annotations

from typing import Protocol

from soacraft.model.states.configuration import Configuration
from soacraft.model.states.motion import Motion
from soacraft.spatial.checks import Array


class Snapshot(Protocol):
    """A state: configuration, motion and accelerations of the bodies."""

    @property
    def configuration(self) -> Configuration:
        """Values that depend on q only."""

    @property
    def motion(self) -> Motion:
        """Values that depend on q and v."""

    @property
    def vdot(self) -> Array:
        """Accelerations, (*batch, nv)."""

    @property
    def alpha(self) -> Array:
        """Accelerations of the bodies, body axes, (..., n, 6)."""

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes, () for a single state."""

    def node_vectors(self, bodies: Array, rates: Array) -> list[Array]:
        """Velocities or accelerations of the nodes by body, from those of bodies and dofs."""

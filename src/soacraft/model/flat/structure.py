"""`Structure`: a model or a sub-graph of it, as functions below `soacraft.model.tree.graph` know it. Types only."""

from __future__ import annotations

from collections import Counter
from typing import Any, Protocol

from soacraft.model.flat.layout import Layout
from soacraft.model.tree.frames.frame import Body, Frame, Root
from soacraft.spatial.checks import Array


class Structure(Protocol):
    """Connected bodies with a flat form: the part of `Graph` that needs no states."""

    @property
    def name(self) -> str:
        """The name used in messages."""

    @property
    def root(self) -> Root:
        """The inertial frame."""

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The bodies, parents first."""

    @property
    def layout(self) -> Layout:
        """The constant flat form."""

    @property
    def version(self) -> int:
        """The version of the structure."""

    @property
    def parameters(self) -> int:
        """The version of the parameters."""

    @property
    def gravity(self) -> Array:
        """The acceleration of gravity in the inertial frame (3)."""

    @property
    def counters(self) -> Counter[str]:
        """Numbers of quantities computed so far."""

    @property
    def nq(self) -> int:
        """The number of coordinates."""

    @property
    def nv(self) -> int:
        """The number of velocities."""

    def frame(self, frame: Any) -> Frame:
        """A frame of this graph from the frame itself or its name."""

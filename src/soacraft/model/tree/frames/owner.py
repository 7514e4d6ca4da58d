"""`Owner`: the model of a frame, as far as frames know it. Types only."""

from __future__ import annotations

from collections import Counter
from typing import Any, Protocol

from soacraft.model.tree.edits import Edits
from soacraft.spatial.checks import Array


class HasFrames(Protocol):
    """A graph, of which only the frames matter."""

    def frame(self, frame: Any) -> Any:
        """A frame from itself or its name."""


class Owner(HasFrames, Protocol):
    """The model that a frame belongs to: a `Multibody`.

    What is above frames (the tree, the flat form, the states) has no type here.
    """

    _edits: Edits[Any]
    _tree: Any
    _attachments: Any

    @property
    def name(self) -> str:
        """The model's name."""

    @property
    def root(self) -> Any:
        """The inertial frame."""

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The bodies, parents first."""

    @property
    def layout(self) -> Any:
        """The constant flat form."""

    @property
    def current(self) -> Any:
        """The current state."""

    @property
    def store(self) -> Any:
        """The numbers of the current state for compiled calls."""

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

    def q_slice(self, of: Any) -> slice:
        """Slice of the coordinates of a hinge in q."""

    def v_slice(self, of: Any) -> slice:
        """Slice of the velocities of a hinge in v."""

    def _refuse_held(self, gone: set[Any]) -> None:
        """Raise for frames that closures, couplings, actuators or forces need."""

"""`Bearer` and `Surroundings`: a robot and the world around it, as the modules below them know them. Types only."""

from __future__ import annotations

from typing import Any, Protocol

from soacraft.contact.geometry.scene import Scene
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.world.queries import Distances


class Bearer(Protocol):
    """A robot: its model, limbs, and the objects that it holds."""

    _edits: Any
    _holds: Any
    _limbs: dict[str, Any]
    _shapes: dict[tuple[str, str], Any]

    @property
    def mb(self) -> Multibody:
        """The model."""

    @property
    def held(self) -> dict[str, tuple[str, ...]]:
        """The hands that hold each object."""

    def limb(self, name: str, base: Any, tip: Any) -> Any:
        """Make a limb."""

    def copy(self) -> Any:
        """An independent robot."""

    def __getitem__(self, name: str) -> Any:
        """Limb by name."""

    def _own_shapes(self) -> dict[str, Any]:
        """Shapes of geometries that no file tells, by name."""

    def _kept_shapes(self) -> dict[tuple[str, str], Any]:
        """Stored shapes by body and name, with the geometries that they are of."""


class Surroundings(Protocol):
    """A world: shapes around a robot, and which of them touch."""

    @property
    def robot(self) -> Any:
        """The robot."""

    @property
    def scene(self) -> Scene:
        """All shapes."""

    def scene_on(self, mb: Any) -> Any:
        """All shapes, on a copy of the model."""

    def collides(self, q: Any) -> Any:
        """True for configurations at which something touches."""

    def distances(self, q: Any, within: float) -> Distances:
        """Distances of the pairs that are near."""

    def touching(self, q: Any) -> list[tuple[str, str]]:
        """Names of the pairs that touch."""

    def body_of(self, name: str) -> Any:
        """Name of the body of a shape."""

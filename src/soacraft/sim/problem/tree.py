"""`Tree`: the motion of a model without closures, where a solver of closures would be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from soacraft import dynamics as dyn
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.checks import Array


class Tree:
    """Accelerations of a tree, and nothing to close. The same calls as `Closed`."""

    is_closed = False
    projects = False
    obstacle = ""

    def __init__(self, mb: Multibody) -> None:
        self._mb = mb

    def copied(self) -> Tree:
        """Return this one, which follows no run."""
        return self

    def accelerations(self, q: Array, v: Array, force: Array) -> Array:
        """vdot at a state."""
        return dyn.forward_dynamics(self._mb, q, v, force) if len(v) else force

    def mixed(self, q: Array, v: Array, force: Array, vdot: Array, prescribed: Any) -> tuple[Array, Array]:
        """vdot and force, where some accelerations are prescribed."""
        return dyn.mixed_dynamics(self._mb, q, v, force, vdot, prescribed)

    def multipliers(self, q: Array, v: Array, force: Array) -> Mapping[str, Array]:
        """None."""
        return {}

    def mass_matrix_inverse(self, q: Array) -> Array:
        """dvdot/dforce of all dofs, (nv, nv)."""
        return dyn.mass_matrix_inverse(self._mb, q)

    compliance = mass_matrix_inverse

    def project_velocity(self, q: Array, v: Array) -> Array:
        """The unchanged velocity."""
        return v

    def onto(self, q: Array, v: Array, *options: Any) -> tuple[Array, Array]:
        """The unchanged state."""
        return q, v

    def require_closed(self, q: Array, v: Array) -> None:
        """Do nothing: no closure is open."""

    def require_free(self, number: int, name: str, others: list[int]) -> None:
        """Every dof may be prescribed."""

    def chain(self, q: Array, v: Array, driven: Sequence[int] = ()) -> None:
        """None."""

    def follow(self, theta: Array) -> None:
        """There are no hinges of closures."""

    @property
    def memory(self) -> tuple[dict[str, list[float]], None, None]:
        """A solver that keeps nothing."""
        return {}, None, None

    def recall(self, *memory: Any) -> None:
        """Do nothing."""

    def violation(self, q: Array, v: Array) -> float:
        """No opening."""
        return 0.0

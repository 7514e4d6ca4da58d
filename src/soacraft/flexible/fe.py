"""`FEModel`: a finite-element model in memory, before it is reduced to modes.

Dofs of a node are its translations and, where it has them, its turns: (tx, ty, tz) or (tx, ty, tz, rx, ry, rz).
Its mass is that of a field of displacements, known at points:

    u = U d  at points r,        M = U* (m x I3) U

with d the dofs, U the sparse `field` (3 P, dofs) and m the sparse mass `masses` (P, P) that couples points: diagonal at
points of quadrature or lumped masses, the consistent mass where the points are the nodes themselves. All moments of the
field (`ModalData`) then belong to the same motion as M.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.sparse import block_diag, csr_array, diags_array, eye_array, kron, vstack

from soacraft.arguments import whole_number
from soacraft.errors import ModelError, near
from soacraft.flexible.interfaces import Interface, read_interface
from soacraft.spatial.checks import Array, finite, frozen, number_text
from soacraft.spatial.rotations import skew

if TYPE_CHECKING:
    from soacraft.flexible.elements import BeamElement
    from soacraft.flexible.solids import Solid

Sparse: TypeAlias = "csr_array[np.float64, tuple[int, int]]"

COMPONENTS = ("tx", "ty", "tz", "rx", "ry", "rz")
#: Two places are the same when they are this near, in sizes of the model.
SAME_PLACE = 1e-6


def as_sparse(X: Any) -> Sparse:
    """A sparse matrix of numbers by rows."""
    return csr_array(X, dtype=np.float64)


def times(A: Sparse, X: Array) -> Array:
    """A sparse matrix times columns."""
    return np.asarray(A @ X)


class FEModel:
    """A finite-element model: nodes (n, 3) with 3 or 6 dofs each, stiffness K, and mass by points.

    Made by `beam`, `frame`, `solid`, `matrices`. Name its interfaces with `interface`, then `reduce` it.

    >>> import soacraft.flexible as fx
    >>> fe = fx.beam(2.0, fx.Tube(0.05, 0.002), fx.Elastic(70e9, 0.33, 2700.0), elements=4)
    >>> fe
    FEModel(5 nodes, 30 dofs, mass 3.325; interfaces: none)
    >>> fe.interface("root", at=(0, 0, 0))
    Interface(name='root', at=(0, 0, 0), nodes=(0,), by='node')
    """

    def __init__(
        self,
        nodes: Array,
        K: Sparse,
        points: Array,
        masses: Sparse,
        field: Sparse,
        *,
        dofs: int = 6,
        elements: Sequence[BeamElement] = (),
        solid: Solid | None = None,
        names: Mapping[str, int] | None = None,
        notes: Iterable[str] = (),
    ) -> None:
        self.nodes, self.K, self.points, self.masses, self.field = frozen(nodes), K, frozen(points), masses, field
        self.dofs, self.elements, self.names = dofs, tuple(elements), dict(names or {})
        self.solid, self.notes = solid, tuple(notes)
        self.interfaces: dict[str, Interface] = {}
        self.carried: list[tuple[int, Array]] = []
        """Nodes that carry point masses, and where these are relative to them; their points are the last ones."""

    @property
    def size(self) -> int:
        """The number of dofs."""
        return int(self.K.shape[0])

    @property
    def length(self) -> float:
        """The diagonal of the box around the nodes: the size by which places are compared."""
        return float(np.linalg.norm(np.ptp(self.nodes, axis=0)))

    @cached_property
    def M(self) -> Sparse:
        """The mass matrix U* (m x I3) U of the dofs."""
        return as_sparse(self.field.T @ kron(self.masses, eye_array(3)) @ self.field)

    @cached_property
    def mass(self) -> float:
        """The mass of the body."""
        return float(self.masses.sum())

    def dof_name(self, dof: int) -> str:
        """A dof as text: its component and node."""
        node = dof // self.dofs
        joint = next((f" ({x!r})" for x, i in self.names.items() if i == node), "")
        return f"{COMPONENTS[dof % self.dofs]} of node {node}{joint}"

    def rigid_motions(self) -> Array:
        """Dofs of the six motions of the rigid body about the origin of the model, translations first, (dofs, 6)."""
        return rigid_at(self.nodes, np.zeros(3), self.dofs).reshape(-1, 6)

    def node_at(self, at: Any) -> int:
        """The node at a place, or of that name."""
        if isinstance(at, str):
            if at not in self.names:
                raise ModelError(f"this FE model has no joint {at!r}{near(at, self.names, 'it has')}")
            return self.names[at]
        place = finite(at, (3,), "the place of an FE node")
        distance = np.linalg.norm(self.nodes - place, axis=1)
        nearest = int(np.argmin(distance))
        if distance[nearest] > SAME_PLACE * self.length:
            raise ModelError(
                f"this FE model has no node at {number_text(place)}; the nearest is node {nearest} at "
                f"{number_text(self.nodes[nearest].round(12))}, {distance[nearest]:.3g} away."
            )
        return nearest

    def interface(self, name: str, *, at: Any = None, nodes: Any = None, by: str | None = None) -> Interface:
        """Name a place where the body meets others: a node with turns (`at`: its place or name), or several nodes,
        joined to a frame at `at` (default: their mean) rigidly (`by="RBE2"`) or by their average motion (`by="RBE3"`).
        """
        interface = read_interface(self, name, at, nodes, by)
        self.interfaces[name] = interface
        return interface

    def add_mass(self, mass: Any, *, node: Any, at: Any = None) -> None:
        """A point mass carried rigidly by a node (its number, place or name), at a place `at` (default: the node's).

        >>> import soacraft.flexible as fx
        >>> fe = fx.beam(1.0, fx.Circle(0.01), fx.Elastic(200e9, 0.3, 7850.0), elements=2)
        >>> fe.add_mass(3.0, node=(1, 0, 0), at=(1, 0.2, 0))
        >>> round(fe.mass, 4)
        5.4662
        """
        m = float(finite(mass, (), "a point mass"))
        if m <= 0.0:
            raise ModelError(f"a point mass must be positive, got {number_text(m)}.")
        k = read_node(self, node) if isinstance(node, int | np.integer) else self.node_at(node)
        place = self.nodes[k].copy() if at is None else finite(at, (3,), "the place of a point mass")
        offset = place - self.nodes[k]
        if self.dofs == 3 and np.linalg.norm(offset) > SAME_PLACE * self.length:
            raise ModelError(f"node {k} has no turns and cannot carry a mass at a distance; leave out at=.")
        row = np.zeros((3, self.size))
        row[:, self.dofs * k : self.dofs * (k + 1)] = np.hstack([np.eye(3), -skew(offset)])[:, : self.dofs]
        self.points = frozen(np.vstack([self.points, place]))
        self.masses = as_sparse(block_diag([self.masses, diags_array([m])]))
        self.field = as_sparse(vstack([self.field, csr_array(row)]))
        self.carried.append((k, offset))
        for cached in ("M", "mass"):
            self.__dict__.pop(cached, None)

    def __repr__(self) -> str:
        listed = ", ".join(self.interfaces) or "none"
        return f"FEModel({len(self.nodes)} nodes, {self.size} dofs, mass {self.mass:.4g}; interfaces: {listed})"


def rigid_at(places: Array, about: Array, dofs: int) -> Array:
    """Dofs of nodes at `places` (n, 3) when a frame at `about` moves rigidly by (t, theta), (n, dofs, 6)."""
    n = len(places)
    maps = np.zeros((n, dofs, 6))
    maps[:, :3, :3] = np.eye(3)
    maps[:, :3, 3:] = -skew(places - about)  # theta x d = -d~ theta
    if dofs == 6:
        maps[:, 3:, 3:] = np.eye(3)
    return maps


def read_node(fe: FEModel, node: Any) -> int:
    """The number of a node."""
    return whole_number(node, "the number of an FE node", 0, len(fe.nodes) - 1)

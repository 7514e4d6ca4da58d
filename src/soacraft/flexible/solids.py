"""`solid`: a body of tetrahedra, of 4 nodes (linear) or 10 (quadratic).

Isoparametric elements of the displacement u = sum of N_a u_a, with the consistent mass of translations:

    K = int B* C B dV,    m_ab = int rho N_a N_b dV,    M = m x I3

Integrals are by conical products of Gauss points: 8 for K, exact for straight edges, and 27 for the mass.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, eye_array
from scipy.special import roots_jacobi

from soacraft.errors import ModelError
from soacraft.flexible.fe import FEModel, as_sparse
from soacraft.flexible.materials import Elastic
from soacraft.spatial.checks import Array, finite, shape_text

#: Ends of the edges whose middles are nodes 4 to 9, as in VTK and meshio.
EDGES = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))
#: Types of elements without volume, as meshio names them.
_FLAT = (
    "vertex", "line", "line3", "triangle", "triangle6", "triangle7", "quad", "quad8", "quad9",
)  # fmt: skip
#: A node in the middle of an edge is this near to it, in lengths of the edge.
MIDDLE = 0.3
#: Six volumes of a tetrahedron that is not flat, in cubes of its longest edge.
FLAT = 1e-9


@dataclass(frozen=True, eq=False)
class Solid:
    """The elements of a solid: nodes of each (e, 4 or 10), gradients of N at the points of K (e, q, a, 3), the volumes
    of these points (e, q), and the material."""

    cells: npt.NDArray[np.intp]
    gradients: Array
    volumes: Array
    material: Elastic

    @cached_property
    def dofs(self) -> npt.NDArray[np.intp]:
        """The dofs of each element, (e, 3 a)."""
        return (3 * self.cells[:, :, None] + np.arange(3)).reshape(len(self.cells), -1)

    def gradient(self, X: Array) -> Array:
        """d u_b / d x_k at the points of K of columns X (dofs, n): (e q, b, k, n)."""
        e, q, a, _ = self.gradients.shape
        u = X[self.dofs].reshape(e, a, 3, -1)
        H = np.einsum("eqak,eabn->eqbkn", self.gradients, u, optimize=True)
        return np.asarray(H).reshape(e * q, 3, 3, -1)

    def stress(self, X: Array) -> Array:
        """Linear stress of columns X at the points of K, (e q, 3, 3, n): 2 G eps + lambda tr(eps) I."""
        H = self.gradient(X)
        trace = np.trace(H, axis1=1, axis2=2)
        pressure = self.material.lame * np.eye(3)[:, :, None] * trace[:, None, None]
        return np.asarray(self.material.G * (H + H.swapaxes(1, 2)) + pressure)

    def stiffness(self, size: int) -> csr_array[np.float64, tuple[int, int]]:
        """K of all dofs."""
        G, lame = self.material.G, self.material.lame
        e, _, a, _ = self.gradients.shape
        g = self.gradients
        # K_(a i)(b j) = int lambda g_ai g_bj + G (g_aj g_bi + delta_ij g_a . g_b)
        outer = np.einsum("eq,eqai,eqbj->eaibj", self.volumes, g, g, optimize=True)
        same = np.einsum("eaibi->eab", outer)
        K = lame * outer + G * (outer.swapaxes(2, 4) + same[:, :, None, :, None] * np.eye(3)[:, None, :])
        rows = np.repeat(self.dofs, 3 * a, axis=1).ravel()
        return csr_array((K.reshape(e, -1).ravel(), (rows, np.tile(self.dofs, 3 * a).ravel())), shape=(size, size))


def solid(points: Any, tetrahedra: Any, material: Elastic | None = None) -> FEModel:
    """A solid body of tetrahedra: points (n, 3), nodes of each element (e, 4) or (e, 10), ordered as in VTK and meshio.
    A mesh of `meshio`, or any object with `points` and `cells_dict`, is used unchanged: `solid(mesh, material)`.

    Its nodes have no turns: interfaces are faces, `fe.interface("root", nodes=[...], by="RBE2")`. Linear tetrahedra are
    too stiff in bending; use quadratic ones.

    >>> import soacraft.flexible as fx
    >>> corner = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    >>> fx.solid(corner, [(0, 1, 2, 3)], fx.Elastic(1e9, 0.3, 1200.0))
    FEModel(4 nodes, 12 dofs, mass 200; interfaces: none)
    """
    if material is None:
        (points, tetrahedra), material = _mesh(points), tetrahedra
    nodes = finite(points, (None, 3), "points of a solid")
    cells = _cells(tetrahedra, len(nodes))
    if not isinstance(material, Elastic):
        raise ModelError(f"the material of a solid must be Elastic(E, nu, rho), got {material!r:.60}.")
    _refuse_middles(nodes, cells)
    stiff, heavy = _points(2), _points(3)
    gradients, volumes = _gradients(nodes, cells, *stiff)
    body = Solid(cells, gradients, volumes, material)
    N = _shape(heavy[0], cells.shape[1])[0]
    _, weights = _gradients(nodes, cells, *heavy)
    m = material.rho * np.einsum("eq,qa,qb->eab", weights, N, N, optimize=True)
    a = cells.shape[1]
    rows, columns = np.repeat(cells, a, axis=1).ravel(), np.tile(cells, a).ravel()
    masses = csr_array((m.ravel(), (rows, columns)), shape=(len(nodes),) * 2)
    lonely = np.setdiff1d(np.arange(len(nodes)), cells)
    if len(lonely):
        raise ModelError(f"point {lonely[0]} of the solid belongs to no tetrahedron; leave it out.")
    size = 3 * len(nodes)
    return FEModel(nodes, body.stiffness(size), nodes.copy(), masses, as_sparse(eye_array(size)), dofs=3, solid=body)


def _mesh(mesh: Any) -> tuple[Any, Any]:
    """Points and tetrahedra of a mesh. Points, lines and faces of it carry nothing, and are left out."""
    if not hasattr(mesh, "points") or not hasattr(mesh, "cells_dict"):
        cure = " Read the file first: meshio.read(path)." if isinstance(mesh, str | Path) else ""
        raise ModelError(
            f"a solid is made of a mesh with points and cells_dict, as meshio reads it, got {mesh!r:.60}.{cure}"
        )
    cells = dict(mesh.cells_dict)
    kinds = [kind for kind in cells if kind in ("tetra", "tetra10")]
    other = sorted(set(cells) - set(kinds) - set(_FLAT))
    if other or len(kinds) != 1:
        have = ", ".join(map(repr, sorted(map(str, cells)))) or "none"
        raise ModelError(
            f"a solid is made of elements of one type, 'tetra' or 'tetra10'; this mesh has {have}. Mesh it again with "
            "tetrahedra of one type."
        )
    points, used = np.asarray(mesh.points), np.unique(cells[kinds[0]])
    place = np.full(len(points), -1)  # points of faces alone are left out
    place[used] = np.arange(len(used))
    return points[used], place[np.asarray(cells[kinds[0]])]


def _cells(tetrahedra: Any, count: int) -> npt.NDArray[np.intp]:
    cells = np.asarray(tetrahedra)
    if cells.ndim != 2 or cells.shape[1] not in (4, 10) or not len(cells) or cells.dtype.kind not in "iu":
        raise ModelError(
            f"tetrahedra of a solid are whole numbers of shape (any, 4) or (any, 10), got {cells.dtype} of shape "
            f"{shape_text(cells.shape)}."
        )
    if cells.min() < 0 or cells.max() >= count:
        raise ModelError(f"tetrahedra of a solid name points 0 to {count - 1}, got {cells.min()} to {cells.max()}.")
    return cells.astype(np.intp)


def _refuse_middles(nodes: Array, cells: npt.NDArray[np.intp]) -> None:
    if cells.shape[1] == 4:
        return
    for k, (a, b) in enumerate(EDGES, start=4):
        ends = nodes[cells[:, a]], nodes[cells[:, b]]
        off = np.linalg.norm(nodes[cells[:, k]] - 0.5 * (ends[0] + ends[1]), axis=1)
        worst = int(np.argmax(off - MIDDLE * np.linalg.norm(ends[0] - ends[1], axis=1)))
        if off[worst] > MIDDLE * np.linalg.norm(ends[0][worst] - ends[1][worst]):
            raise ModelError(
                f"node {k} of tetrahedron {worst} is not in the middle of its edge {a}-{b}: the order of nodes is that "
                "of VTK and meshio, middles of edges 01, 12, 02, 03, 13, 23."
            )


def _points(n: int) -> tuple[Array, Array]:
    """Points (n^3, 3) and weights of the conical product rule in the unit tetrahedron, exact to degree 2 n - 1."""
    (x, wx), (y, wy), (z, wz) = (roots_jacobi(n, k, 0) for k in (2, 1, 0))
    a, b, c = (0.5 * (1.0 + v) for v in np.meshgrid(x, y, z, indexing="ij"))
    weights = np.einsum("i,j,k->ijk", wx / 8.0, wy / 4.0, wz / 2.0)
    return np.stack([a, b * (1 - a), c * (1 - a) * (1 - b)], axis=-1).reshape(-1, 3), weights.ravel()


def _shape(x: Array, count: int) -> tuple[Array, Array]:
    """N (q, a) and its derivatives along the coordinates of the unit tetrahedron (q, a, 3)."""
    L = np.column_stack([1.0 - x.sum(axis=1), x])
    dL = np.vstack([-np.ones(3), np.eye(3)])
    if count == 4:
        return L, np.broadcast_to(dL, (len(x), 4, 3))
    corners, d_corners = L * (2 * L - 1), (4 * L - 1)[:, :, None] * dL
    i, j = np.array(EDGES).T
    d_middles = 4 * (L[:, i, None] * dL[j] + L[:, j, None] * dL[i])
    return np.hstack([corners, 4 * L[:, i] * L[:, j]]), np.concatenate([d_corners, d_middles], axis=1)


def _gradients(nodes: Array, cells: npt.NDArray[np.intp], x: Array, w: Array) -> tuple[Array, Array]:
    """Gradients of N in space (e, q, a, 3) and volumes (e, q) at points of the unit tetrahedron."""
    d = _shape(x, cells.shape[1])[1]
    J = np.einsum("qak,eai->eqki", d, nodes[cells], optimize=True)  # dx_i / dxi_k
    det = np.linalg.det(J)
    edge = np.linalg.norm(nodes[cells[:, 1:4]] - nodes[cells[:, :1]], axis=2).max(axis=1)
    bad = np.flatnonzero((det <= FLAT * edge[:, None] ** 3).any(axis=1))
    if len(bad):
        raise ModelError(
            f"tetrahedron {bad[0]} of the solid is inside out or flat; seen from its fourth node, the first three turn "
            "clockwise."
        )
    return np.asarray(np.einsum("eqik,qak->eqai", np.linalg.inv(J), d, optimize=True)), det * w

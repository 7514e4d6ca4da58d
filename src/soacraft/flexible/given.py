"""`matrices`: an FE model from stiffness and mass matrices that another program made.

Moments of the modes need the components of the displacement field, which a mass matrix gives in three forms:

    M = m x I3                   translations alone, m lumped or consistent: the points are the nodes
    M = block-diagonal           lumped masses with centre c and moment J about the node: six points around c each
    M of 6 dofs, turns without mass: the first form, on the translations

A consistent mass that couples turns of different nodes has lost the field, and is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array, issparse, kron

from soacraft.errors import ModelError
from soacraft.flexible.fe import FEModel, Sparse, as_sparse
from soacraft.flexible.spectra import Factor
from soacraft.spatial.checks import Array, finite, number_text
from soacraft.spatial.rotations import skew

#: Entries of matrices in files agree to this part of their diagonals.
SAME = 1e-6


def matrices(K: Any, M: Any, points: Any, dofs: int = 3) -> FEModel:
    """An FE model from its stiffness and mass, dense or sparse, of nodes at `points` (n, 3) with `dofs` = 3 or 6 dofs
    each, in the order (tx, ty, tz[, rx, ry, rz]) of node 0, then node 1, and so on. K is that of the free body.

    >>> import soacraft.flexible as fx
    >>> k = np.kron([[1.0, -1.0], [-1.0, 1.0]], np.diag([100.0, 0.0, 0.0]))     # a bar between two masses
    >>> fx.matrices(k, np.eye(6), [(0, 0, 0), (1, 0, 0)])
    FEModel(2 nodes, 6 dofs, mass 2; interfaces: none)
    """
    nodes = finite(points, (None, 3), "points of FE matrices")
    if dofs not in (3, 6):
        raise ModelError(f"nodes of FE matrices have 3 or 6 dofs, got {dofs!r:.40}.")
    size = dofs * len(nodes)
    stiffness, mass = _read(K, size, "stiffness K", dofs), _read(M, size, "mass M", dofs)
    places, masses, field = _field(mass, nodes, dofs)
    _refuse_indefinite(masses, places)
    fe = FEModel(nodes, stiffness, places, masses, field, dofs=dofs, notes=("stiffness and mass were given",))
    _refuse_other(fe.M, mass, fe)
    return fe


def _read(X: Any, size: int, what: str, dofs: int) -> Sparse:
    if not issparse(X):
        X = finite(X, (None, None), f"the {what}")
    matrix = as_sparse(X)
    if matrix.shape != (size, size):
        raise ModelError(
            f"the {what} must be {size} x {size}, {dofs} dofs for each of {size // dofs} points; got "
            f"{matrix.shape[0]} x {matrix.shape[1]}."
        )
    if not np.isfinite(matrix.data).all():
        raise ModelError(f"the {what} must be finite.")
    off = abs(matrix - matrix.T)
    worst = float(off.max()) if off.nnz else 0.0
    if worst > SAME * float(abs(matrix).max()):
        raise ModelError(f"the {what} must be symmetric; entries differ by {number_text(worst)}.")
    return as_sparse(0.5 * (matrix + matrix.T))


def _field(M: Sparse, nodes: Array, dofs: int) -> tuple[Array, Sparse, Sparse]:
    """Points, the mass between them, and the field at them."""
    n = len(nodes)
    along = [as_sparse(M[a::dofs][:, a::dofs]) for a in range(dofs)]
    turns = float(sum(abs(x).sum() for x in along[3:]))
    if turns == 0.0:
        field = as_sparse(kron(eye_array(n), np.eye(dofs)[:3]))
        return nodes.copy(), along[0], field
    places, masses, rows = [], [], []
    blocks = M.tobsr(blocksize=(6, 6))
    for i in range(n):
        for k in range(blocks.indptr[i], blocks.indptr[i + 1]):
            j, block = int(blocks.indices[k]), blocks.data[k]
            if j != i:
                if np.abs(block).max() > 0.0:
                    raise ModelError(
                        f"the mass M couples nodes {min(i, j)} and {max(i, j)} and has turns: the displacement field "
                        "between them is not known. Give lumped masses, or a consistent mass of translations alone."
                    )
                continue
            for d, m in lump(block, i):
                places.append(nodes[i] + d)
                masses.append(m)
                rows.append((i, np.hstack([np.eye(3), -skew(d)])))
    index = np.array([i for i, _ in rows])
    columns = np.broadcast_to((6 * index[:, None, None] + np.arange(6)), (len(rows), 3, 6)).ravel()
    row = np.repeat(np.arange(3 * len(rows)), 6)
    values = np.array([x for _, x in rows]).ravel()
    field = csr_array((values, (row, columns)), shape=(3 * len(rows), 6 * n))
    return np.array(places), as_sparse(diags_array(np.array(masses))), field


def lump(block: Array, node: int) -> list[tuple[Array, float]]:
    """Points (place relative to the node, mass) of a lumped 6 x 6 mass [[m I, -m c~], [m c~, J]]."""
    m = float(np.trace(block[:3, :3])) / 3.0
    if m <= 0.0:
        if np.abs(block).max() > 0.0:
            raise ModelError(f"the mass M has a moment of inertia without mass at node {node}; give it some mass.")
        return []
    mc = block[3:, :3]
    c = np.array([mc[2, 1] - mc[1, 2], mc[0, 2] - mc[2, 0], mc[1, 0] - mc[0, 1]]) / (2.0 * m)
    J = block[3:, 3:]
    about = 0.5 * np.trace(J) * np.eye(3) - J - m * np.outer(c, c)  # sum m d d* about the centre
    moments, axes = np.linalg.eigh(0.5 * (about + about.T))
    if moments[0] < -SAME * max(np.trace(J), 0.0):
        raise ModelError(
            f"the lumped mass at node {node} is that of no body: its moments about the centre are "
            f"{number_text(np.linalg.eigvalsh(np.trace(about) * np.eye(3) - about))}, the largest more than the others."
        )
    reach = np.sqrt(3.0 * np.maximum(moments, 0.0) / m)
    return [(c + sign * reach[k] * axes[:, k], m / 6.0) for k in range(3) for sign in (1.0, -1.0)]


def _refuse_indefinite(masses: Sparse, places: Array) -> None:
    diagonal = masses.diagonal()
    if diagonal.min(initial=0.0) < 0.0 or not diagonal.any():
        worst = int(np.argmin(diagonal))
        raise ModelError(
            f"the mass M is {diagonal[worst]:.3g} at {number_text(places[worst])}; masses must be positive or zero, "
            "and some must be there."
        )
    there = np.flatnonzero(diagonal > 0.0)
    Factor(as_sparse(masses[there][:, there]), lambda i: f"point {there[i]}", "the mass M")


def _refuse_other(assembled: Sparse, supplied: Sparse, fe: FEModel) -> None:
    """The mass of the field is the mass that was given."""
    size = np.sqrt(np.maximum(supplied.diagonal(), 0.0))
    scale = diags_array(1.0 / np.where(size > 0.0, size, size.max()))
    off = abs(as_sparse(scale @ (assembled - supplied) @ scale)).tocoo()
    if off.nnz and off.data.max() > SAME:
        k = int(np.argmax(off.data))
        raise ModelError(
            f"the mass M at {fe.dof_name(int(off.coords[0][k]))} and {fe.dof_name(int(off.coords[1][k]))} is not that "
            f"of a field of displacements with equal mass along x, y and z: {off.data[k]:.2g} of it is off."
        )

"""Nodes larger than six: armature, the inertia of rotors on the dofs of a hinge, as a block extension (formula F1).

A body with armature J has the node velocity [V; v], and

    A(p,k) = [[phi, 0], [0, 0]],   H(k) = [H  I],   M(k) = diag(M, J),   a = [a; 0],   b = [b; 0]

so that every identity holds and the mass matrix gains J on its diagonal. Bodies without armature keep their six.

Coordinates of a body itself, eta, come between: the node velocity is [V; d eta/dt; v], the dofs are [v; d eta/dt], and
H(k) = [[H, 0, I], [0, I, 0]]. Their inertia and weights are zero here; a body that has some says what they are.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from soacraft.model.flat.layout import Layout
from soacraft.spatial.checks import Array, frozen


def edges(layout: Layout, A: list[Array | None]) -> list[Array | None]:
    """A(p(k), k) by k with rows and columns of zeros for rotors."""
    if not layout.extended:
        return A
    return [
        block if block is None else padded(block, layout.dims[layout.parents[k]], layout.dims[k])
        for k, block in enumerate(A)
    ]


def hinges(layout: Layout, H: list[Array]) -> list[Array]:
    """[H(k)  I] for bodies with armature, [[H(k), 0], [0, I]] for those with coordinates of their own."""
    if not layout.extended:
        return H
    blocks = enumerate(zip(H, layout.dims, strict=True))
    return [block if dim == 6 else _with_identities(layout, k, block) for k, (block, dim) in blocks]


def inertias(layout: Layout, M: list[Array]) -> list[Array]:
    """diag(M(k), J(k)) for bodies with armature."""
    if not layout.extended:
        return M
    sizes = zip(M, layout.armature, layout.dims, strict=True)
    return [block if dim == 6 else _below(block, J, dim) for block, J, dim in sizes]


def vectors(
    layout: Layout, x: Array, v: Array | None = None, modes: Mapping[int, Array] | None = None
) -> list[Array]:
    """The parts of x (..., n, 6) by body, below those of larger nodes zeros, the parts of v (..., nv), or `modes` by
    body in the rows of own coordinates.
    """
    parts = [x[..., k, :] for k in range(layout.n)]
    if not layout.extended:
        return parts
    for k, dim in enumerate(layout.dims):
        if dim > 6:
            lead = np.broadcast_shapes(parts[k].shape[:-1], () if v is None else v.shape[:-1])
            wide = np.zeros((*lead, dim))
            wide[..., :6] = parts[k]
            if v is not None:
                hinge, node = layout.hinge_v[k], layout.v_slices[k]
                own = 6 + node.stop - hinge.stop
                wide[..., 6:own] = v[..., hinge.stop : node.stop]
                wide[..., own:] = v[..., hinge] if own < dim else 0.0
            if modes and k in modes:
                rows = np.zeros((*np.broadcast_shapes(wide.shape[:-1], modes[k].shape[:-1]), dim))
                rows[...] = wide
                rows[..., 6 : 6 + modes[k].shape[-1]] = modes[k]
                wide = rows
            parts[k] = frozen(wide)
    return parts


def padded(block: Array, rows: int, cols: int) -> Array:
    """The block in the upper left corner of a block of zeros."""
    if block.shape[-2:] == (rows, cols):
        return block
    wide = np.zeros((*block.shape[:-2], rows, cols))
    wide[..., : block.shape[-2], : block.shape[-1]] = block
    return frozen(wide)


def _with_identities(layout: Layout, k: int, H: Array) -> Array:
    """The rows of the hinge, with I for its rotors at the end; then those of own coordinates, with I after the six."""
    hinge, node = H.shape[-2], layout.v_slices[k].stop - layout.v_slices[k].start
    wide = np.zeros((*H.shape[:-2], node, layout.dims[k]))
    wide[..., :hinge, :6] = H
    wide[..., hinge:, 6 : 6 + node - hinge] = np.eye(node - hinge)
    if layout.armature[k] is not None:
        wide[..., :hinge, 6 + node - hinge :] = np.eye(hinge)
    return frozen(wide)


def _below(M: Array, J: Array | None, dim: int) -> Array:
    wide = np.zeros((*M.shape[:-2], dim, dim))
    wide[..., :6, :6] = M
    if J is not None:
        wide[..., dim - J.size :, dim - J.size :] = np.diag(J)
    return frozen(wide)

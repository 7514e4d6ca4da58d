"""Armature: the inertia of rotors on the dofs of a hinge, as a block extension of its node (formula F1).

A body with armature J has the node velocity [V; v], and

    A(p,k) = [[phi, 0], [0, 0]],   H(k) = [H  I],   M(k) = diag(M, J),   a = [a; 0],   b = [b; 0]

so that every identity holds and the mass matrix gains J on its diagonal. Bodies without armature keep their six.
"""

from __future__ import annotations

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
    """[H(k)  I] for bodies with armature."""
    if not layout.extended:
        return H
    return [block if J is None else _with_identity(block) for block, J in zip(H, layout.armature, strict=True)]


def inertias(layout: Layout, M: list[Array]) -> list[Array]:
    """diag(M(k), J(k)) for bodies with armature."""
    if not layout.extended:
        return M
    return [block if J is None else _below(block, J) for block, J in zip(M, layout.armature, strict=True)]


def vectors(layout: Layout, x: Array, v: Array | None = None) -> list[Array]:
    """The parts of x (..., n, 6) by body, with zeros, or the parts of v (..., nv), below those with armature."""
    parts = [x[..., k, :] for k in range(layout.n)]
    if not layout.extended:
        return parts
    for k, where in enumerate(layout.v_slices):
        if layout.armature[k] is not None:
            below = np.zeros(where.stop - where.start) if v is None else v[..., where]
            lead = np.broadcast_shapes(parts[k].shape[:-1], below.shape[:-1])
            wide = np.empty((*lead, layout.dims[k]))
            wide[..., :6], wide[..., 6:] = parts[k], below
            parts[k] = frozen(wide)
    return parts


def padded(block: Array, rows: int, cols: int) -> Array:
    """The block in the upper left corner of a block of zeros."""
    if block.shape[-2:] == (rows, cols):
        return block
    wide = np.zeros((*block.shape[:-2], rows, cols))
    wide[..., : block.shape[-2], : block.shape[-1]] = block
    return frozen(wide)


def _with_identity(H: Array) -> Array:
    nv = H.shape[-2]
    wide = np.zeros((*H.shape[:-1], 6 + nv))
    wide[..., :6], wide[..., 6:] = H, np.eye(nv)
    return frozen(wide)


def _below(M: Array, J: Array) -> Array:
    wide = np.zeros((*M.shape[:-2], 6 + J.size, 6 + J.size))
    wide[..., :6, :6], wide[..., 6:, 6:] = M, np.diag(J)
    return frozen(wide)

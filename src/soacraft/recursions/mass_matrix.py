"""The mass matrix by composite bodies."""

from __future__ import annotations

import numpy as np

from soacraft.model.flat.sko import SKOModel
from soacraft.recursions.types import Array, Blocks


def mass_matrix(sko: SKOModel, R: Blocks) -> Array:
    """H A M A* H* from the composite inertias R (004 Algorithm 4.2, 000 Eq. 20). O(n depth), O(N^2) at most.

        X = R(k) H*(k);   up the path from k:   X <- A(p,j) X,   Mcal(p, k) = H(p) X = Mcal*(k, p)
    """
    offsets = np.cumsum([0, *sko.nvs])
    batch = np.broadcast_shapes(*{R[k].shape[:-2] for k in sko.nodes}, *{sko.H(k).shape[:-2] for k in sko.nodes})
    Mcal = np.zeros((*batch, offsets[-1], offsets[-1]))
    for k in sko.nodes:
        if not sko.nvs[k]:
            continue
        cols = slice(offsets[k], offsets[k + 1])
        X = R[k] @ sko.H(k).mT
        Mcal[..., cols, cols] = sko.H(k) @ X
        j, p = k, sko.parent(k)
        while p >= 0:
            X = sko.A(p, j) @ X
            rows = slice(offsets[p], offsets[p + 1])
            Mcal[..., rows, cols] = sko.H(p) @ X
            Mcal[..., cols, rows] = Mcal[..., rows, cols].mT
            j, p = p, sko.parent(p)
    return Mcal

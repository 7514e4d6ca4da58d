"""The motions that a hinge forbids."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from soacraft.spatial.checks import Array


def complement(H_T: Array) -> Array:
    """Orthonormal rows Q (m, 6) with Q H* = 0: turns alone, slides alone, and what ties the two, in this order."""
    rows = 6 - H_T.shape[1]
    if rows == 6:
        return np.eye(6)
    turns, slides = scipy.linalg.null_space(H_T[:3].T).T, scipy.linalg.null_space(H_T[3:].T).T
    Q = np.asarray(scipy.linalg.block_diag(turns, slides))
    if len(Q) < rows:
        Q = np.concatenate([Q, scipy.linalg.null_space(np.concatenate([H_T.T, Q])).T])
    return Q

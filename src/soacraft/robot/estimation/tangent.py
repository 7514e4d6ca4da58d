"""Errors of a closed chain: along its closures, in the 2 m directions in which its state can move.

    dq = X xi,     dv = X eta + Y xi                                        (xi, eta of m dofs; `loops.linearize`)

N dx is the state next to dx that the closures allow, in the metric of the mass matrix: the part of a push that remains,
and the result of an integrator for a state that is slightly off.

    W = (X* Mcal X)^-1 X* Mcal,     N = [X 0; Y X] [W 0; -W Y W, W]

Closures are readings C dx = 0 without noise. Of errors with the covariance P, those that agree with them have

    P - P C* (C P C*)^+ C P,        C = [G 0; -G Y W, G],   G X = 0
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from soacraft import dynamics as dyn
from soacraft import loops
from soacraft.errors import ModelError
from soacraft.loops import Solver
from soacraft.model.sizes.scale import scale_of
from soacraft.spatial.checks import Array

#: Size of a row in standard deviations, relative to length one, below which it is rounding.
_NOTHING = 1e-9


class Tangent:
    """The directions of one state (q, v) on its closures. O(n nv + nv^3)."""

    def __init__(self, solver: Solver, q: Array, v: Array) -> None:
        mb = solver.graph
        lin = loops.linearize(solver, q, v, np.zeros(mb.nv))
        if lin.Z is not lin.X:
            raise ModelError(
                f"closures of {mb.name!r} roll, so that it has more places than ways to move, and its errors are not "
                "carried through time: filter a part of it without them."
            )
        X, Y = np.asarray(lin.X), np.asarray(lin.Y)
        XM = X.T @ np.asarray(dyn.mass_matrix(mb, q, ignore_loops=True))
        W = scipy.linalg.solve(XM @ X, XM, assume_a="pos") if X.shape[1] else XM
        zero = np.zeros_like
        self._nearest = np.block([[X @ W, zero(X @ W)], [Y @ W - X @ (W @ (Y @ W)), X @ W]])
        sizes = scale_of(mb).of("".join(mb.layout.units.hinge))
        G = scipy.linalg.null_space((X / sizes[:, None]).T).T / sizes if X.shape[1] else np.eye(mb.nv)
        self._rows = np.block([[G, zero(G)], [-G @ Y @ W, G]])

    def nearest(self, P: Array) -> Array:
        """The covariance of N dx, where dx has P (2 nv, 2 nv)."""
        return np.asarray(self._nearest @ P @ self._nearest.T)

    def given(self, P: Array) -> Array:
        """The covariance of dx that agree with the closures, where all have P; the same where all of them do."""
        sigma = np.sqrt(np.diag(P))
        scale = np.where(sigma > 0.0, sigma, 1.0)
        values, vectors = np.linalg.eigh(P / scale[:, None] / scale)
        root = vectors * np.sqrt(np.maximum(values, 0.0))  # P is sigma root root* sigma
        rows = self._rows * sigma
        lengths = np.linalg.norm(rows, axis=1)
        rows = rows[lengths > 0.0] / lengths[lengths > 0.0, None]
        _, size, directions = np.linalg.svd(_rows_of(rows) @ root, full_matrices=False)
        directions = directions[size > _NOTHING]
        rest = sigma[:, None] * (root - (root @ directions.T) @ directions)
        return self.nearest(rest @ rest.T)


def _rows_of(rows: Array) -> Array:
    """An orthonormal basis of some rows."""
    _, size, basis = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(basis[size > _NOTHING * size.max(initial=0.0)])

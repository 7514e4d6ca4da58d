"""Sparse factors and eigenvectors of K x = lambda M x, for stiffness that is positive definite once it is held."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csc_array, diags_array, eye_array
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from soacraft.errors import ModelError, SingularError
from soacraft.flexible.fe import Sparse, times
from soacraft.spatial.checks import Array

#: A stiffness with ones on its diagonal is singular below this least eigenvalue. A beam of n elements has about n^-4.
SINGULAR = 1e-14
#: The pivots of a factor that are worth a look at the least eigenvalue.
_SMALL_PIVOT = 1e-9
#: Up to this many dofs, all eigenvectors at once take less time than a few by iteration.
DENSE = 400

Names = Callable[[int], str]


class Factor:
    """The factor of a symmetric positive definite sparse matrix A; refused, with the dofs, where A is singular.

    A is scaled to ones on its diagonal first, so that no judgement depends on units, and is eliminated in an order that
    keeps it symmetric: the signs of the pivots are then those of its eigenvalues.
    """

    def __init__(self, A: Sparse, name: Names, what: str) -> None:
        diagonal = A.diagonal()
        if A.shape[0] and diagonal.min() <= 0.0:
            worst = int(np.argmin(diagonal))
            raise SingularError(f"{what} has {diagonal[worst]:.3g} on its diagonal: nothing holds {name(worst)}.")
        self._scale = 1.0 / np.sqrt(diagonal)
        self._A = csc_array(diags_array(self._scale) @ A @ diags_array(self._scale))
        self._name, self._what = name, what
        self._lu = self._eliminate(self._A)
        pivots = np.ones(0) if self._lu is None else self._lu.U.diagonal()
        if (pivots < -_SMALL_PIVOT).any():
            raise ModelError(
                f"{what} is indefinite: {int((pivots < 0.0).sum())} of its eigenvalues are negative; it must be that "
                "of an elastic body."
            )
        if self._lu is None or (pivots.size and pivots.min() < _SMALL_PIVOT):
            self._refuse_singular()

    @staticmethod
    def _eliminate(A: Any) -> Any:
        try:
            return splu(A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        except RuntimeError:  # exactly singular
            return None

    def _refuse_singular(self) -> None:
        """Inverse iteration for the least eigenvalue, and the dofs that move in its eigenvector."""
        n = self._A.shape[0]
        shifted = self._eliminate(csc_array(self._A + SINGULAR * eye_array(n)))
        x = np.cos(np.arange(1.0, n + 1.0) ** 2)  # a start without structure, the same each time
        for _ in range(4):
            x = x if shifted is None else shifted.solve(x)
            x = x / np.linalg.norm(x)
        if self._lu is not None and x @ (self._A @ x) > SINGULAR:
            return
        moving = np.argsort(-np.abs(x))[:4]
        listed = ", ".join(self._name(int(i)) for i in moving if abs(x[i]) > 0.1 * abs(x[moving[0]]))
        raise SingularError(
            f"{self._what} is singular: nothing holds {listed}. Name an interface that holds the body, or add the "
            "stiffness that is missing there."
        )

    def solve(self, b: Array) -> Array:
        """A^-1 b."""
        if not b.size:
            return np.zeros(b.shape)
        scale = self._scale if b.ndim == 1 else self._scale[:, None]
        return np.asarray(scale * self._lu.solve(scale * b))


def eigenvectors(K: Sparse, M: Sparse, count: int, factor: Factor, shift: float = 0.0) -> tuple[Array, Array]:
    """The `count` lowest eigenvalues of K x = lambda M x and vectors, x* M x = 1; `factor` is that of K - shift M.

    Fewer where M has fewer dofs with mass. Dofs without mass are allowed.
    """
    n = K.shape[0]
    count = min(count, n)
    if count == 0:
        return np.zeros(0), np.zeros((n, 0))
    if n <= DENSE or count > n // 3:
        A = (K - shift * M).toarray()
        size = 1.0 / np.sqrt(np.diagonal(A))
        A, B = size[:, None] * A * size, size[:, None] * M.toarray() * size
        mu, X = eigh(0.5 * (B + B.T), 0.5 * (A + A.T), subset_by_index=(n - count, n - 1))
        mu, X = mu[::-1], size[:, None] * X[:, ::-1]
        X = X[:, mu > n * np.finfo(float).eps * mu[0]]  # the rest have no mass
    else:
        inverse = LinearOperator((n, n), matvec=lambda b: factor.solve(np.asarray(b).ravel()), dtype=np.float64)
        start = np.cos(np.arange(1.0, n + 1.0) ** 2)
        _, X = eigsh(K, k=count, M=M, sigma=shift, OPinv=inverse, v0=M @ start, tol=0.0)
    return ritz(K, M, X)


def ritz(K: Sparse, M: Sparse, X: Array) -> tuple[Array, Array]:
    """Eigenvalues and vectors of K, M on the columns of X, rising, x* M x = 1, the largest entry positive."""
    X = X / np.sqrt(np.einsum("ij,ij->j", X, times(M, X)))
    a, b = X.T @ times(K, X), X.T @ times(M, X)
    values, Y = eigh(0.5 * (a + a.T), 0.5 * (b + b.T))
    X = X @ Y
    largest = X[np.argmax(np.abs(X), axis=0), np.arange(X.shape[1])]
    return np.asarray(values), np.asarray(X * np.where(largest < 0.0, -1.0, 1.0))


def count_below(K: Sparse, M: Sparse, value: float) -> int:
    """Number of eigenvalues of K x = lambda M x that are below a value: the negative pivots of K - value M (Sylvester).
    """
    A = csc_array(K - value * M)
    scale = 1.0 / np.sqrt(K.diagonal())
    A = csc_array(diags_array(scale) @ A @ diags_array(scale))
    lu = Factor._eliminate(A)
    if lu is None:  # an eigenvalue to the last digit: a little above it
        return count_below(K, M, value * (1.0 + 1e-9))
    return int((lu.U.diagonal() < 0.0).sum())

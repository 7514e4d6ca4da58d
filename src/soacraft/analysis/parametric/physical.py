"""Physical inertias of a body: those whose pseudo-inertia is positive definite.

    P(pi) = [[S, m c], [(m c)*, m]],    S = tr(J) I / 2 - J = integral of r r* dm

P is linear in the ten parameters, and positive definite exactly if some distribution of mass in space has them; then
the mass is positive and the principal moments obey the triangle inequality. A chart without bounds is its Cholesky
factor with the logarithms of the diagonal (log-Cholesky).
"""

from __future__ import annotations

import numpy as np

from soacraft.spatial.checks import Array

_PAIRS = [(i, j) for i in range(3) for j in range(i, 3)]
_LOWER = [(i, j) for i in range(4) for j in range(i + 1)]


def _basis() -> Array:
    E = np.zeros((10, 4, 4))
    E[0, 3, 3] = 1.0
    for i in range(3):
        E[1 + i, i, 3] = E[1 + i, 3, i] = 1.0
    for n, (i, j) in enumerate(_PAIRS):
        if i == j:
            E[4 + n, :3, :3] = 0.5 * np.eye(3)
            E[4 + n, i, i] -= 1.0
        else:
            E[4 + n, i, j] = E[4 + n, j, i] = -1.0
    return E


#: P(pi) = sum of pi_i BASIS[i].
BASIS = _basis()


def pseudo_inertia(pi: Array) -> Array:
    """P (..., 4, 4) of the ten parameters (..., 10).

    >>> pseudo_inertia(np.array([2.0, 0, 0, 0, 1, 0, 0, 1, 0, 1])).diagonal()
    array([0.5, 0.5, 0.5, 2. ])
    """
    return np.asarray(np.einsum("...i,iab->...ab", pi, BASIS))


def ten_of_pseudo(P: Array) -> Array:
    """The ten parameters of a pseudo-inertia.

    >>> ten_of_pseudo(np.diag([0.5, 0.5, 0.5, 2.0])) + 0.0
    array([2., 0., 0., 0., 1., 0., 0., 1., 0., 1.])
    """
    S = P[:3, :3]
    J = np.trace(S) * np.eye(3) - S
    return np.array([P[3, 3], *P[:3, 3], *(J[i, j] for i, j in _PAIRS)])


def unit_matrix(mass: float, length: float) -> Array:
    """The diagonal D for which D^-1 P D^-1 has no units."""
    return np.asarray(np.sqrt(mass) * np.array([length, length, length, 1.0]))


def log_cholesky(P: Array) -> Array:
    """The ten coordinates of a positive definite 4 x 4 matrix; `numpy.linalg.LinAlgError` for others."""
    L = np.linalg.cholesky(P)
    return np.array([np.log(L[i, j]) if i == j else L[i, j] for i, j in _LOWER])


def from_log_cholesky(z: Array) -> tuple[Array, Array]:
    """The matrix L L* of coordinates, and its derivatives along them (10, 4, 4).

    >>> P, dP = from_log_cholesky(np.arange(10) / 10)
    >>> bool(np.allclose(log_cholesky(P), np.arange(10) / 10)), dP.shape
    (True, (10, 4, 4))
    """
    L, dL = np.zeros((4, 4)), np.zeros((10, 4, 4))
    for n, (i, j) in enumerate(_LOWER):
        L[i, j] = np.exp(z[n]) if i == j else z[n]
        dL[n, i, j] = L[i, j] if i == j else 1.0
    half = dL @ L.T
    return L @ L.T, half + half.mT

"""Range of modal coordinates in which the mass matrix M(eta) with its terms of second order is positive."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigvals

from soacraft.model.modal import ModalData
from soacraft.model.modal.inertia import mass_matrix
from soacraft.spatial.checks import Array

#: A displacement of this part of the size is beyond what modes are for.
FAR = 0.1


def mass_reach(data: ModalData) -> tuple[float, int]:
    """Least displacement along one mode, as a part of the size of the body, at which M(eta) is singular, and the number
    of that mode; infinite where there is none. All six motions of the body frame count, so a body on a hinge reaches
    further. Displacements are root mean squares, sqrt(M_jj / m) eta_j; the size is the length of a uniform bar with the
    same moments. O(n^4).

    Along mode j  M = M0 + s A + s^2 B  exactly: the least |s| of the quadratic eigenvalue problem.

    >>> import soacraft.flexible as fx
    >>> fe = fx.beam(1.0, fx.Circle(0.01), fx.Elastic(200e9, 0.3, 7850.0), 8)
    >>> root, tip = fe.interface("root", at=(0, 0, 0)), fe.interface("tip", at=(1, 0, 0))
    >>> part, mode = mass_reach(fx.reduce(fe, ["root", "tip"], modes=2))
    >>> 0.0 < part < 0.1
    True
    """
    least, number, m = np.inf, -1, data.mass
    size = np.sqrt(12.0 * max(np.trace(data.second) / m - data.first @ data.first / m**2, 0.0))
    moved = np.sqrt(data.M.diagonal() / m)
    M0 = mass_matrix(data, np.zeros(data.n))
    if not M0.diagonal().min() > 0.0:  # masses on a line have no moment about it, turns may have none
        return least, number
    root = np.sqrt(M0.diagonal())
    for j in range(data.n):
        unit = np.eye(data.n)[j] * size / moved[j]
        ahead, behind = (mass_matrix(data, x) for x in (unit, -unit))
        A, B = 0.5 * (ahead - behind), 0.5 * (ahead + behind) - M0
        s = _least_root(*(x / np.outer(root, root) for x in (M0, A, B)))
        if s < least:
            least, number = s, j
    return least, number


def _least_root(M: Array, A: Array, B: Array) -> float:
    """Least |s| with M + s A + s^2 B singular. With t = 1 / s: t^2 M + t A + B, of which M is definite."""
    try:
        k, L = len(M), np.linalg.cholesky(M)
    except np.linalg.LinAlgError:  # singular but for rounding as it is
        return np.inf
    A, B = (np.linalg.solve(L, np.linalg.solve(L, x).T) for x in (A, B))
    t = eigvals(np.block([[np.zeros((k, k)), np.eye(k)], [-B, -A]]))
    real = np.abs(t.real[np.abs(t.imag) <= 1e-7 * np.abs(t).max(initial=0.0)])
    most = float(real.max(initial=0.0))
    return 1.0 / most if most > 0.0 else np.inf


def reach_note(data: ModalData) -> tuple[str, ...]:
    """The note of a reduction whose M(eta) is positive for small displacements alone."""
    part, j = mass_reach(data)
    if not part < FAR:
        return ()
    return (
        f"M(eta) of the free body is positive up to a displacement of {part:.2g} (root mean square) of its size along "
        f"mode {j} ({data.kinds[j]}); on a hinge, or with fx.rereference(data, 'mean'), it holds further",
    )

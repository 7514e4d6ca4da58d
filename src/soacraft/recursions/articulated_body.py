"""Articulated body inertias: the solution of the Riccati equation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.model.flat.sko import FAINT, SKOModel
from soacraft.recursions.types import Stacked
from soacraft.results import finite_or_refused

Array = npt.NDArray[np.float64]

#: A hinge inertia this small relative to what it was computed from is rounding.
SMALLEST = 1e-14


class ArticulatedBody(NamedTuple):
    """P, P+, D and G by node."""

    P: Stacked
    P_plus: Stacked
    D: Stacked
    G: Stacked


def articulated_body(sko: SKOModel) -> ArticulatedBody:
    """Articulated body inertias, tips to base (000 Eq. 23, 004 Eq. 31-33). O(n).

        P(k)  = sum over children j of  A(k,j) P+(j) A*(k,j)  +  M(k)
        D(k)  = H(k) P(k) H*(k),    G(k) = P(k) H*(k) D^-1(k)
        P+(k) = (I - G(k) H(k)) P(k)

    A hinge that has no inertia to move is refused by name. D(k) is judged, dof by dof so that units do not matter,
    relative to H(k) E(k) H*(k), where E holds the sizes of the numbers P was computed from, carried as rounding is:

        E(k)  = sum over children j of  A(k,j) E+(j) A*(k,j)  +  diag M(k)
        E+(k) = tau_bar(k) E(k) tau_bar*(k)  +  diag P(k),        tau_bar = I - G H
    """
    A, H, M = sko.A, sko.H, sko.M
    P: Stacked = {}
    P_plus: Stacked = {}
    D: Stacked = {}
    G: Stacked = {}
    E_plus: Stacked = {}
    for k in sko.tips_to_base():
        P[k] = M(k) + sum(A(k, j) @ P_plus[j] @ A(k, j).mT for j in sko.children(k))
        HP = H(k) @ P[k]
        D[k] = HP @ H(k).mT
        E = _diagonal(M(k)) + sum(_turned(A(k, j) @ E_plus[j] @ A(k, j).mT) for j in sko.children(k))
        G[k] = _solve(D[k], HP, sko, k, E).mT  # P H* D^-1
        P_plus[k] = _symmetric(P[k] - G[k] @ HP)  # (I - G H) P
        tau_bar = np.eye(P[k].shape[-1]) - G[k] @ H(k)
        E_plus[k] = tau_bar @ E @ tau_bar.mT + _diagonal(P[k])
    return ArticulatedBody(P, P_plus, D, G)


def _symmetric(X: Array) -> Array:
    """Rounding must not let an inertia lose its symmetry over thousands of bodies."""
    return 0.5 * (X + X.mT)


def _diagonal(P: Array) -> Array:
    """The diagonal alone, as sizes."""
    return np.abs(P) * np.eye(P.shape[-1])


def _turned(E: Array) -> Array:
    """Rounding with that of rotations added: a part across an axis, turned by rounding, adds its square along the axis.

    The first three entries of a rigid body are turns, the next three travels.
    """
    if E.shape[-1] < 6:
        return E
    E = np.array(E)
    for i in (0, 3):
        part = slice(i, i + 3)
        E[..., part, part] += SMALLEST * np.trace(E[..., part, part], axis1=-2, axis2=-1)[..., None, None] * np.eye(3)
    return E


def _solve(D: Array, HP: Array, sko: SKOModel, k: int, E: Array) -> Array:
    """D^-1 H P."""
    if D.shape[-1] == 0:
        return HP
    _refuse_singular(sko, k, D, E)
    return HP / D if D.shape[-1] == 1 else np.asarray(np.linalg.solve(D, HP), dtype=np.float64)


def _refuse_singular(sko: SKOModel, k: int, D: Array, E: Array) -> None:
    """Raise `SingularError` when the hinge of node k, which has dofs, has no inertia to move."""
    finite_or_refused(D, lambda: f"D = H P H* of the hinge of {sko.names[k]!r}")
    H = sko.H(k)
    along = np.sqrt(np.maximum(np.einsum("...ij,...jk,...ik->...i", H, E, H), 0.0))
    scale = np.where(along > 0.0, along, 1.0)
    relative = D / scale[..., :, None] / scale[..., None, :]
    smallest = relative[..., 0, 0] if D.shape[-1] == 1 else np.linalg.eigvalsh(relative)[..., 0]
    pivots = np.diagonal(D, axis1=-2, axis2=-1)
    fine = (smallest > SMALLEST) & (pivots > FAINT).all(axis=-1)
    if not fine.all():
        raise sko.singular(k, D, ~fine)

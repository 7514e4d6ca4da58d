"""Articulated body inertias: the solution of the Riccati equation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.errors import SingularError
from soacraft.model.sko import SKOModel
from soacraft.recursions.types import Stacked

Array = npt.NDArray[np.float64]

#: A hinge inertia this small beside the one it would have, were everything outboard one rigid body, is rounding.
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

    A hinge that has no inertia to move is refused by name. It is judged beside H(k) R(k) H*(k), the inertia with all
    outboard hinges locked, dof by dof: so units do not matter.
    """
    A, H, M = sko.A, sko.H, sko.M
    P: Stacked = {}
    P_plus: Stacked = {}
    D: Stacked = {}
    G: Stacked = {}
    R: Stacked = {}
    for k in sko.tips_to_base():
        R[k] = M(k) + sum(A(k, j) @ R[j] @ A(k, j).mT for j in sko.children(k))
        P[k] = M(k) + sum(A(k, j) @ P_plus[j] @ A(k, j).mT for j in sko.children(k))
        HP = H(k) @ P[k]
        D[k] = HP @ H(k).mT
        G[k] = _solve(D[k], HP, sko, k, R[k]).mT  # P H* D^-1
        P_plus[k] = _symmetric(P[k] - G[k] @ HP)  # (I - G H) P
    return ArticulatedBody(P, P_plus, D, G)


def _symmetric(X: Array) -> Array:
    """Rounding must not let an inertia lose its symmetry over thousands of bodies."""
    return 0.5 * (X + X.mT)


def _solve(D: Array, HP: Array, sko: SKOModel, k: int, R: Array) -> Array:
    """D^-1 H P."""
    if D.shape[-1] == 0:
        return HP
    _refuse_singular(sko, k, D, R)
    return HP / D if D.shape[-1] == 1 else np.asarray(np.linalg.solve(D, HP), dtype=np.float64)


def _refuse_singular(sko: SKOModel, k: int, D: Array, R: Array) -> None:
    """Raise `SingularError` when the hinge of node k, which has dofs, has no inertia to move."""
    H = sko.H(k)
    locked = np.sqrt(np.maximum(np.einsum("...ij,...jk,...ik->...i", H, R, H), 0.0))
    scale = np.where(locked > 0.0, locked, 1.0)
    relative = D / (scale[..., :, None] * scale[..., None, :])
    smallest = relative[..., 0, 0] if D.shape[-1] == 1 else np.linalg.eigvalsh(relative)[..., 0]
    if not ((smallest > SMALLEST) & (locked > 0.0).all(axis=-1)).all():
        least = D[..., 0, 0] if D.shape[-1] == 1 else np.linalg.eigvalsh(D)[..., 0]
        raise SingularError(
            f"the hinge of {sko.names[k]!r} has no inertia to move: the smallest eigenvalue of D = H P H* is "
            f"{float(np.min(least)):.3g}. Give mass or moment to {sko.names[k]!r} or to a body outboard of it, "
            "or weld it."
        )

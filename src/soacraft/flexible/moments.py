"""Moments of the displacement field of modes: what `ModalData` holds of the mass."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.flexible.fe import FEModel, Sparse, times
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import skew


def field_moments(points: Array, masses: Sparse, phi: Array) -> dict[str, Any]:
    """mass, first, second, p, N, Q and M of shapes phi (P, 3, n) at points (P, 3) with the mass (P, P) between them.

    M is the trace of Q: both are of one field.
    """
    n = phi.shape[2]
    flat = phi.reshape(len(points), 3 * n)
    weighted, weight = times(masses, flat), times(masses, points)
    Q = (flat.T @ weighted).reshape(3, n, 3, n).transpose(1, 3, 0, 2)
    Q = 0.5 * (Q + Q.transpose(1, 0, 3, 2))
    return {
        "mass": float(masses.sum()),
        "first": weight.sum(axis=0),
        "second": _symmetric(points.T @ weight),
        "p": weighted.sum(axis=0).reshape(3, n).T,
        "N": (points.T @ weighted).reshape(3, 3, n).transpose(2, 0, 1),
        "Q": Q,
        "M": _symmetric(np.trace(Q, axis1=2, axis2=3)),
    }


def rigid_mass(mass: float, first: Array, second: Array) -> Array:
    """The mass matrix of the six motions of the rigid body about the origin, translations first."""
    M = np.zeros((6, 6))
    M[:3, :3] = mass * np.eye(3)
    M[:3, 3:] = -skew(first)
    M[3:, :3] = skew(first)
    M[3:, 3:] = np.trace(second) * np.eye(3) - second
    return M


def shapes_at_points(fe: FEModel, X: Array) -> Array:
    """The field of dofs X (dofs, n) at the points of the model, (P, 3, n)."""
    return times(fe.field, X).reshape(-1, 3, X.shape[1])


def _symmetric(X: Array) -> Array:
    return np.asarray(0.5 * (X + X.T))

"""Articulated-body forward dynamics and the inverse of the mass matrix."""

from __future__ import annotations

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference.blocks import columns, over_dofs, rows, vector
from soacraft.dynamics.reference.passive import along_dofs
from soacraft.recursions import articulated_body
from soacraft.recursions import forward_dynamics as recursion
from soacraft.spatial.checks import Array


def forward_dynamics(p: Problem) -> Array:
    """vdot = (I - H psi K)* D^-1 [T - H psi (K T + P a + b)] - K* psi* a, T with what acts along the dofs besides."""
    return vector(p, recursion(p.sko, columns(p, p.given["force"] + along_dofs(p))).vdot)


def mass_matrix_solve(p: Problem) -> Array:
    """The same without a and b: Mcal^-1 x."""
    return vector(p, recursion(p.linear, columns(p, p.given["x"])).vdot)


def mass_matrix_inverse(p: Problem) -> Array:
    """Mcal^-1 I, all columns in one pair of sweeps."""
    X = solve_columns(p, np.eye(p.nv))
    return 0.5 * (X + X.mT)


def solve_columns(p: Problem, X: Array) -> Array:
    """Mcal^-1 X for columns X (..., nv, m)."""
    return over_dofs(p, recursion(p.linear, rows(p, X)).vdot)


def log_det_mass_matrix(p: Problem) -> Array:
    """sum over bodies of log det D(k)."""
    D = articulated_body(p.linear).D
    total: Array = np.zeros(())
    for block in D.values():
        total = total + np.linalg.slogdet(block).logabsdet
    return total

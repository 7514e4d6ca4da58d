"""Articulated-body forward dynamics, the inverse of the mass matrix, and mixed dynamics.

    vdot    = (I - H psi K)* D^-1 [T - H psi (K T + P a + b)] - K* psi* a
    Mcal^-1 = (I - H psi K)* D^-1 (I - H psi K),    log det Mcal = sum log det D(k)

In mixed dynamics some accelerations are prescribed (p) and the forces at the other dofs (f) are known: the same with
H -> H_f and a -> a + H_p* vdot_p; then T_p = H_p f.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference.blocks import columns, over_dofs, rows, vector
from soacraft.dynamics.reference.inverse import along_dofs
from soacraft.model.flat.sko import SKOModel
from soacraft.recursions import articulated_body, gather
from soacraft.recursions import forward_dynamics as recursion
from soacraft.spatial.checks import Array


def forward_dynamics(p: Problem) -> Array:
    """Forward dynamics vdot = (I - H psi K)* D^-1 [T - H psi (K T + P a + b)] - K* psi* a, T with the passive forces.
    """
    return vector(p, recursion(p.sko, columns(p, p.given["force"] + along_dofs(p))).vdot)


def mass_matrix_solve(p: Problem) -> Array:
    """Solution Mcal^-1 x: forward dynamics without a and b."""
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


# -- mixed dynamics ----------------------------------------------------------------------------------------------------


def mixed_dynamics(p: Problem) -> tuple[Array, Array]:
    """Forward dynamics with H -> H_f and a -> a + H_p* vdot_p; then f = phi (M alpha + b), T_p = H_p f; passive forces
    along the dofs are part of both T_f and T_p.
    """
    assert p.prescribed is not None
    sko, slices = p.sko, p.layout.v_slices
    held = [np.flatnonzero(p.prescribed[i]) for i in slices]
    free = [np.flatnonzero(~p.prescribed[i]) for i in slices]
    acting = np.broadcast_to(along_dofs(p), (*p.batch, p.nv))
    force, vdot = columns(p, p.given["force"]), columns(p, p.given["vdot"])
    besides = columns(p, acting)
    a = [sko.a(k) + (sko.H(k)[..., held[k], :].mT @ vdot[k][..., held[k], :])[..., 0] for k in sko.nodes]
    H_f = [sko.H(k)[..., free[k], :] for k in sko.nodes]
    M, b = [sko.M(k) for k in sko.nodes], [sko.b(k) for k in sko.nodes]
    partly = SKOModel.trusted(sko.tree, sko.edges, H_f, M, lambda: a, lambda: b, lock=sko.lock)
    solved = recursion(partly, [(force[k] + besides[k])[..., free[k], :] for k in sko.nodes])
    f = gather(sko, sko.A, [M[k] @ solved.alpha[k] + b[k][..., None] for k in sko.nodes])
    all_vdot = {k: _filled(vdot[k], free[k], solved.vdot[k]) for k in sko.nodes}
    all_force = {
        k: _filled(force[k], held[k], sko.H(k)[..., held[k], :] @ f[k] - besides[k][..., held[k], :]) for k in sko.nodes
    }
    return vector(p, all_vdot), vector(p, all_force)


def _filled(values: Array, free: npt.NDArray[np.intp], rest: Array) -> Array:
    """A column with the other entries put in their places."""
    lead = np.broadcast_shapes(values.shape[:-2], rest.shape[:-2])
    column = np.array(np.broadcast_to(values, (*lead, *values.shape[-2:])))
    column[..., free, :] = rest
    return column

"""The mass matrix by composite-body inertias, and the inertia that nodes feel.

    R(k)    = sum over children of phi R phi* + M(k)              tips to base
    Mcal    = H phi M phi* H* = H (phi R + R phi* - R) H*         composite-body algorithm
    Lambda  = (J Mcal^-1 J*)^-1 = (B* Omega B)^-1                 operational space
    Omega(i,j) = psi*(c,i) Upsilon(c) psi(c,j)                    c the closest common ancestor of i and j
"""

from __future__ import annotations

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference.blocks import over_bodies
from soacraft.dynamics.reference.kinematics import both, node_axes
from soacraft.errors import SingularError
from soacraft.model.modal.data import SYMMETRY
from soacraft.recursions import articulated_body, backward_lyapunov, block_of_AsXB, composite_body
from soacraft.recursions import mass_matrix as recursion
from soacraft.recursions.types import Stacked
from soacraft.spatial.checks import Array, state_text

#: Eigenvalues of the compliance this small relative to the largest, turns and travels each scaled, are zero.
RANK_TOLERANCE = 1e-12


def mass_matrix(p: Problem) -> Array:
    """H phi M phi* H* = H (phi R + R phi* - R) H*."""
    X = recursion(p.linear, composite_body(p.linear))
    if p.layout.flexible:
        _refuse_bent(p, X)
    return X


def _refuse_bent(p: Problem, X: Array) -> None:
    """Raise `SingularError` where flexible bodies are bent so far that the mass matrix is not positive."""
    size = np.abs(np.diagonal(X, axis1=-2, axis2=-1))
    root = np.sqrt(np.where(size > 0.0, size, 1.0))
    least = np.linalg.eigvalsh(X / root[..., :, None] / root[..., None, :])[..., 0]
    bad = least < -SYMMETRY
    if bad.any():
        index = tuple(int(i) for i in np.argwhere(bad)[0])
        cause = p.state.configuration.bent_too_far(index) or "the mass matrix of flexible bodies is not positive."
        raise SingularError(f"{state_text(index, bad.shape)}{cause}")


def composite_inertia(p: Problem) -> Array:
    """R(k) = sum over children of phi R phi*, + M(k); of a node with armature the part of the body."""
    R = composite_body(p.linear)
    return over_bodies(p, {k: R[k][..., :6, :6] for k in R}, (6, 6))


def finite(p: Problem) -> bool:
    """True if the composite inertias and their projections to the hinges are finite: if not, an articulated inertia
    that looks singular is one that overflowed.
    """
    m = p.linear
    R = composite_body(m)
    return all(bool(np.isfinite(R[k]).all() and np.isfinite(m.H(k) @ R[k] @ m.H(k).mT).all()) for k in m.nodes)


# -- operational space -------------------------------------------------------------------------------------------------


def operational_space_compliance(p: Problem) -> Array:
    """B* Omega B, with Omega(i,j) = psi*(c,i) Upsilon(c) psi(c,j) for the closest common ancestor c."""
    m = p.linear
    body = articulated_body(m)
    tau_bar = {k: np.eye(p.layout.dims[k]) - body.G[k] @ m.H(k) for k in m.nodes}
    psi = {k: m.A(m.parent(k), k) @ tau_bar[k] for k in m.nodes if m.parent(k) >= 0}
    X: Stacked = {k: m.H(k).mT @ np.linalg.solve(body.D[k], m.H(k)) for k in m.nodes}
    Upsilon = backward_lyapunov(m, lambda i, k: psi[k], X)
    carriers, B_T = [], []
    for node in p.nodes:
        k, block = p.graph.node_block(node, p.state)
        carriers.append(k)
        B_T.append(both(node_axes(p, node), block.mT))
    C = np.zeros((*p.batch, 6 * len(p.nodes), 6 * len(p.nodes)))
    for i, k in enumerate(carriers):
        for j in range(i + 1):
            block = block_of_AsXB(m.tree, lambda i, k: psi[k], Upsilon, lambda i, k: psi[k], k, carriers[j])
            C[..., 6 * i : 6 * i + 6, 6 * j : 6 * j + 6] = B_T[i] @ block @ B_T[j].mT
            C[..., 6 * j : 6 * j + 6, 6 * i : 6 * i + 6] = C[..., 6 * i : 6 * i + 6, 6 * j : 6 * j + 6].mT
    return 0.5 * (C + C.mT)


def operational_space_inertia(p: Problem) -> Array:
    """The inverse of the compliance."""
    return inverse_of_compliance(p, operational_space_compliance(p))


def inverse_of_compliance(p: Problem, C: Array) -> Array:
    """The inverse of a compliance, or where its rank is deficient and that is allowed, its pseudo-inverse."""
    size = C.shape[-1]
    scale = _scale(C)
    scaled = C / scale[..., :, None] / scale[..., None, :]
    values, vectors = np.linalg.eigh(scaled)  # ascending: the last `rank` of them are kept
    rank = np.sum(values > RANK_TOLERANCE * np.max(values, axis=-1, keepdims=True, initial=0.0), axis=-1)
    if (rank == size).all():
        X = np.linalg.inv(scaled) / scale[..., :, None] / scale[..., None, :]
        return np.asarray(0.5 * (X + X.mT))
    if not p.allow_singular:
        raise SingularError(_rank_text(p, np.asarray(rank), size))
    keep = np.arange(size) >= size - rank[..., None]
    inverse = np.where(keep, 1.0 / np.where(keep, values, 1.0), 0.0)
    X = (vectors * inverse[..., None, :]) @ vectors.mT / scale[..., :, None] / scale[..., None, :]
    return np.asarray(X)


def _scale(C: Array) -> Array:
    """The root of the largest compliance of turns, and of travels, in the places of each, (..., 6 k)."""
    diagonal = np.diagonal(C, axis1=-2, axis2=-1)
    by_kind = diagonal.reshape(*diagonal.shape[:-1], diagonal.shape[-1] // 6, 2, 3)
    largest = np.max(by_kind, axis=(-3, -1), keepdims=True, initial=0.0)
    scale = np.broadcast_to(np.sqrt(np.where(largest > 0.0, largest, 1.0)), by_kind.shape)
    return scale.reshape(diagonal.shape)


def _rank_text(p: Problem, rank: Array, size: int) -> str:
    names = ", ".join(repr(node.full_name) for node in p.nodes)
    index = tuple(int(i) for i in np.argwhere(rank < size)[0])
    return (
        f"{state_text(index, rank.shape)}the operational-space compliance of {names} has rank {int(rank[index])} of "
        f"{size}, so it has no inverse: the nodes cannot move in all directions there. Ask for fewer nodes, move away "
        "from the singular configuration, or take allow_singular=True for the pseudo-inverse."
    )

"""The second-order displacement of a solid, by geometric stiffness of unit loads (formula F19).

phi2_ij cancels the second-order part E_ij of Green's strain of the modes as far as the body lets it, held at its first
interface: K phi2_ij = -int B* C E_ij. What is needed of it is its product with loads f, so one linear solution u_f for
each load does instead of one for each pair of modes:

    f . phi2_ij = -int sigma(u_f) : (grad phi_i)* (grad phi_j) dV = -Kgeo(f)_ij

S of rho e_a, T of rho r_a e_b, gam2 and lam2 of unit forces and moments at interfaces. Nodes that RBE2 ties to a frame
which turns have a part of phi2 from this turn, P = 1/2 (theta_i x (theta_j x d) + theta_j x (theta_i x d)): products
gain f . P - (K u_f) . P. The frame of RBE3 is the mean place and the best-fitting turn of its nodes, to second order.
"""

from __future__ import annotations

import numpy as np

from soacraft.flexible.bases import Indices, Partition, static_answer
from soacraft.flexible.fe import as_sparse, times
from soacraft.flexible.interfaces import Interface
from soacraft.flexible.second import SecondOrder
from soacraft.flexible.solids import Solid
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import skew


def unit_loads(part: Partition, body: Solid, X: Array, Z: Array) -> SecondOrder:
    """S, T and gam2, lam2 of the interfaces, of shapes X (dofs, n), columns Z of z, with the first interface held."""
    fe, n = part.fe, X.shape[1]
    weight = times(fe.masses, np.column_stack([np.ones(len(fe.points)), fe.points]))  # m, m r_a
    inertial = np.einsum("ka,bc->kbac", weight, np.eye(3)).reshape(-1, 12)  # translation b of point k, load (a, c)
    F = times(fe.field.T.tocsr(), inertial)
    others = part.others
    unit = np.zeros((part.size, len(others)))
    unit[others, np.arange(len(others))] = 1.0
    loads = np.concatenate([times(part.T.T.tocsr(), F), unit], axis=1)
    u = times(part.T, static_answer(part, loads))
    products = -_geometric(body, u, X)
    tied, P = _prescribed(part, X, Z)
    if len(tied):
        reaction = times(as_sparse(fe.K[tied]), u)
        reaction[:, :12] -= F[tied]
        products -= np.einsum("df,dij->fij", reaction, P, optimize=True)
    inertia = products[:12].reshape(4, 3, n, n)
    S, T = inertia[0], inertia[1:]
    gam2, lam2 = np.zeros((len(part.chosen), 3, n, n)), np.zeros((len(part.chosen), 3, n, n))
    for k, each in enumerate(part.chosen[1:], start=1):
        z2 = products[12 + 6 * (k - 1) : 12 + 6 * k]
        gam2[k], lam2[k] = z2[:3], z2[3:]
        if each.by == "RBE3":
            gam2[k], lam2[k] = _average(part, each, X, Z[part.interface(k)], z2)
    return SecondOrder(S.transpose(1, 2, 0), T.transpose(2, 3, 0, 1), gam2, lam2)


def _geometric(body: Solid, u: Array, X: Array) -> Array:
    """int sigma(u_f)_kl d_k phi_i . d_l phi_j dV of each load f, projected at the points: (f, n, n)."""
    n = X.shape[1]
    H = body.gradient(X)  # (points, b, k, n)
    volumes = body.volumes.ravel()
    G = np.zeros((u.shape[1], n, n))
    flat = H.reshape(-1, n)
    for f in range(u.shape[1]):
        sigma = volumes[:, None, None] * body.stress(u[:, f : f + 1])[..., 0]
        G[f] = flat.T @ np.matmul(sigma[:, None], H).reshape(-1, n)
    return 0.5 * (G + G.mT)


def _prescribed(part: Partition, X: Array, Z: Array) -> tuple[Indices, Array]:
    """The dofs of nodes that RBE2 ties to interfaces that turn, and P of them, (dofs, n, n)."""
    n = X.shape[1]
    dofs, P = [np.zeros(0, dtype=np.intp)], [np.zeros((0, 3, n, n))]
    for k, each in enumerate(part.chosen):
        if k and each.by == "RBE2":
            theta = Z[part.interface(k)][3:]
            d = part.fe.nodes[list(each.nodes)] - np.array(each.at)
            dofs.append((3 * np.array(each.nodes)[:, None] + np.arange(3)).ravel())
            P.append(np.array([_turned_twice(theta, x) for x in d]))
    return np.concatenate(dofs), np.concatenate(P).reshape(-1, n, n)


def _average(part: Partition, each: Interface, X: Array, z: Array, z2: Array) -> tuple[Array, Array]:
    """gam2 and lam2 of the mean place and best-fitting turn of nodes, of the linear averages z2 of their phi2.

    With r from the mean place c, v the displacement less its mean, J = sum of -r~ r~:

        lam2_ij = z2 + J^-1 sum sym[(theta_i x r) x v_j - 1/2 r x (theta_i x (theta_j x r))]
        gam2_ij = z2 + (lam2_ij - z2) x (at - c) + 1/2 sym[theta_i x (theta_j x (at - c))]
    """
    x = part.fe.nodes[list(each.nodes)]
    c, theta, n = x.mean(axis=0), z[3:], X.shape[1]
    r, a = x - c, np.array(each.at) - c
    u = X.reshape(-1, 3, n)[list(each.nodes)]
    v = u - u.mean(axis=0)
    total = np.zeros((3, n, n))
    for p, w in zip(r, v, strict=True):
        turned = -skew(p) @ theta  # theta x r
        swept = np.cross(turned[:, :, None], w[:, None, :], axis=0)
        total += swept + swept.mT - np.einsum("ab,bij->aij", skew(p), _turned_twice(theta, p))
    J = np.einsum("nij,nkj->ik", skew(r), skew(r))
    more = np.einsum("ab,bij->aij", np.linalg.inv(J), total)
    gam2 = z2[:3] + np.einsum("ab,bij->aij", -skew(a), more) + _turned_twice(theta, a)
    return gam2, z2[3:] + more


def _turned_twice(theta: Array, d: Array) -> Array:
    """1/2 (theta_i x (theta_j x d) + theta_j x (theta_i x d)), (3, n, n)."""
    once = -skew(d) @ theta
    c = np.cross(theta[:, :, None], once[:, None, :], axis=0)
    return np.asarray(0.5 * (c + c.mT))

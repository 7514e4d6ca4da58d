"""Articulated-body forward dynamics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soacraft.model.flat.sko import SKOModel
from soacraft.recursions.articulated_body import articulated_body
from soacraft.recursions.types import Blocks, Stacked


class ForwardDynamics(NamedTuple):
    """The generalized acceleration and the intermediate values of the two sweeps, by node, as columns."""

    vdot: Stacked
    alpha: Stacked
    z: Stacked
    eps: Stacked
    nu: Stacked


def forward_dynamics(sko: SKOModel, T: Blocks) -> ForwardDynamics:
    """AB forward dynamics (004 Eq. 58, Algorithm 6.1; 000 Eq. 31). O(n).

        tips to base:   z(k)   = sum over children j of  A(k,j) z+(j)  +  P(k) a(k) + b(k)
                        eps(k) = T(k) - H(k) z(k),   nu(k) = D^-1(k) eps(k),   z+(k) = z(k) + G(k) eps(k)
        base to tips:   alpha+(k) = A*(p(k),k) alpha(p(k)),   vdot(k) = nu(k) - G*(k) alpha+(k)
                        alpha(k)  = alpha+(k) + H*(k) vdot(k) + a(k)
    """
    A, H = sko.A, sko.H
    P, _, D, G = articulated_body(sko)
    z: Stacked = {}
    z_plus: Stacked = {}
    eps: Stacked = {}
    nu: Stacked = {}
    for k in sko.tips_to_base():
        a, b = sko.a(k)[..., None], sko.b(k)[..., None]
        z[k] = P[k] @ a + b + sum(A(k, j) @ z_plus[j] for j in sko.children(k))
        eps[k] = T[k] - H(k) @ z[k]
        nu[k] = np.asarray(np.linalg.solve(D[k], eps[k]), dtype=np.float64)
        z_plus[k] = z[k] + G[k] @ eps[k]
    alpha: Stacked = {}
    vdot: Stacked = {}
    for k in sko.base_to_tips():
        p = sko.parent(k)
        alpha_plus = A(p, k).mT @ alpha[p] if p >= 0 else 0 * z[k]
        vdot[k] = nu[k] - G[k].mT @ alpha_plus
        alpha[k] = alpha_plus + H(k).mT @ vdot[k] + sko.a(k)[..., None]
    return ForwardDynamics(vdot, alpha, z, eps, nu)

"""The innovations factor I + H phi K of the mass matrix as sweeps, and how it changes along v.

The rates of the articulated bodies are the Riccati recursion, differentiated once in body axes:

    Adot(p,k) = A crf(H* v),   Pdot(k) = sum over children j of  Adot P+ A* + A P+dot A* + A P+ Adot*
    Ddot = Hdot P H* + H Pdot H* + H P Hdot*,   Gdot = (Pdot H* + P Hdot* - G Ddot) D^-1
    P+dot = Pdot - Gdot D G* - G Ddot G* - G D Gdot*
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference.blocks import columns
from soacraft.model.flat import armature, realize
from soacraft.model.flat.armature import padded
from soacraft.model.flat.sko import SKOModel
from soacraft.model.hinges.base import dH_of
from soacraft.model.modal.refusals import require_rigid
from soacraft.recursions import articulated_body, gather, scatter
from soacraft.recursions.articulated_body import ArticulatedBody
from soacraft.recursions.types import Stacked
from soacraft.spatial.checks import Array
from soacraft.spatial.transforms import crf

Blocks = Mapping[int, Array] | Sequence[Array]


class Factor:
    """Products with I + H phi K, its inverse I - H psi K, their transposes, and D^1/2: columns by body, O(n) each."""

    def __init__(self, m: SKOModel) -> None:
        self.m, self.ab = m, articulated_body(m)
        self.roots = {k: root_of(self.ab.D[k]) for k in m.nodes}

    def scaled(self, x: Blocks, power: int) -> Stacked:
        """D^(power/2) x, with the symmetric root."""
        stacked: Stacked = {}
        for k in self.m.nodes:
            s, U = self.roots[k]
            stacked[k] = (U * s[..., None, :] ** power) @ (U.mT @ x[k])
        return stacked

    def eta(self, v: Blocks) -> Stacked:
        """(I + H phi K)* v: V = phi* H* v, eta(k) = v(k) + G*(k) V+(k)."""
        m = self.m
        V = scatter(m, m.A, [m.H(k).mT @ v[k] for k in m.nodes])
        return {k: v[k] + self.ab.G[k].mT @ inboard(m, V, k) for k in m.nodes}

    def v(self, eta: Blocks) -> Stacked:
        """(I - H psi K)* eta: v(k) = eta(k) - G*(k) V+(k), V(k) = V+(k) + H*(k) v(k)."""
        V: Stacked = {}
        v: Stacked = {}
        for k in self.m.base_to_tips():
            V_plus = inboard(self.m, V, k)
            v[k] = eta[k] - self.ab.G[k].mT @ V_plus
            V[k] = V_plus + self.m.H(k).mT @ v[k]
        return v

    def eps(self, T: Blocks) -> Stacked:
        """(I - H psi K) T: eps(k) = T(k) - H(k) z(k), z(k) = sum over children of A(k,j) (z(j) + G(j) eps(j))."""
        z: Stacked = {}
        eps: Stacked = {}
        for k in self.m.tips_to_base():
            z[k] = self._carried(k, z, eps)
            eps[k] = T[k] - self.m.H(k) @ z[k]
        return eps

    def force(self, eps: Blocks) -> Stacked:
        """(I + H phi K) eps: T(k) = eps(k) + H(k) z(k) with the same z."""
        z: Stacked = {}
        for k in self.m.tips_to_base():
            z[k] = self._carried(k, z, eps)
        return {k: eps[k] + self.m.H(k) @ z[k] for k in self.m.nodes}

    def _carried(self, k: int, z: Stacked, eps: Blocks) -> Array:
        m, total = self.m, np.zeros((self.m.dims[k], 1))
        for j in m.children(k):
            total = total + m.A(k, j) @ (z[j] + self.ab.G[j] @ eps[j])
        return total


def root_of(D: Array) -> tuple[Array, Array]:
    """s and U of D^1/2 = U s U*. Those of the Cholesky factor, which exists for every D that has an inverse: of a D of
    small turns and large travels the least s is right too, where the least eigenvalue of D is lost in rounding."""
    U, s, _ = np.linalg.svd(np.linalg.cholesky(D))
    return s, U


def inboard(m: SKOModel, V: Stacked, k: int) -> Array:
    """V+(k) = A*(p,k) V(p), zero for a base node."""
    p = m.parent(k)
    return m.A(p, k).mT @ V[p] if p >= 0 else np.zeros((m.dims[k], 1))


# -- along v -----------------------------------------------------------------------------------------------------


class Motion(NamedTuple):
    """Rates by body, with the parent of the base bodies at rest; vectors are columns."""

    A: Stacked
    """Adot(p(k), k)."""
    H: Stacked
    """Hdot(k)."""
    V: Stacked
    """Velocities."""
    Vdot: Stacked
    """Accelerations at vdot = 0."""
    b: list[Array]
    """crf(V) M V."""


def motion_of(p: Problem) -> Motion:
    """The motion at the v of a problem. O(n)."""
    require_rigid(p.layout, p.function)
    m, layout, c = p.linear, p.layout, p.state.configuration
    q, v, twists = p.full("q"), p.full("v"), p.state.motion.twists
    V = realize.scatter(layout, c.A, twists)
    a = armature.vectors(layout, realize.coriolis(layout, q, v, V, twists))
    b = armature.vectors(layout, realize.gyroscopic(layout, V))
    push = crf(twists)
    A = {
        k: m.A(m.parent(k), k) @ padded(push[..., k, :, :], m.dims[k], m.dims[k]) for k in m.nodes if m.parent(k) >= 0
    }
    V_J = scatter(m, m.A, [m.H(k).mT @ x for k, x in enumerate(columns(p, v))])
    return Motion(A, _rate_of_H(p, q, v), V_J, scatter(m, m.A, [x[..., None] for x in a]), [x[..., None] for x in b])


def _rate_of_H(p: Problem, q: Array, v: Array) -> Stacked:
    m, layout = p.linear, p.layout
    H: Stacked = {k: np.zeros((m.nvs[k], m.dims[k])) for k in m.nodes}
    for group in layout.groups:
        if group.hinge.constant_H or not group.hinge.nv:
            continue
        dH = layout.to_body[group.bodies][:, None] @ dH_of(group.hinge, q[..., group.q_index])
        rate = np.einsum("...jam,...j->...ma", dH, v[..., group.v_index])
        for i, k in enumerate(group.bodies):
            H[k] = padded(rate[..., i, :, :], m.nvs[k], m.dims[k])
    return H


class Rates(NamedTuple):
    """Ddot and Gdot by body."""

    D: Stacked
    G: Stacked


def rates_of(m: SKOModel, ab: ArticulatedBody, motion: Motion) -> Rates:
    """The Riccati recursion, differentiated along v. O(n)."""
    P_plus: Stacked = {}
    D: Stacked = {}
    G: Stacked = {}
    for k in m.tips_to_base():
        P = np.zeros((m.dims[k], m.dims[k]))
        for j in m.children(k):
            P = P + _twice(motion.A[j] @ ab.P_plus[j] @ m.A(k, j).mT) + m.A(k, j) @ P_plus[j] @ m.A(k, j).mT
        H, Hdot = m.H(k), motion.H[k]
        D[k] = _twice(Hdot @ ab.P[k] @ H.mT) + H @ P @ H.mT
        G[k] = np.asarray(np.linalg.solve(ab.D[k], H @ P + Hdot @ ab.P[k] - D[k] @ ab.G[k].mT), dtype=np.float64).mT
        P_plus[k] = P - _twice(G[k] @ ab.D[k] @ ab.G[k].mT) - ab.G[k] @ D[k] @ ab.G[k].mT
    return Rates(D, G)


def _twice(X: Array) -> Array:
    return X + X.mT


def rate_of_root(s: Array, U: Array, D_rate: Array) -> Array:
    """X = d/dt D^1/2 with D^1/2 = U s U*, from X D^1/2 + D^1/2 X = Ddot."""
    X: Array = U @ ((U.mT @ D_rate @ U) / (s[..., :, None] + s[..., None, :])) @ U.mT
    return X


def rate_of_eta(m: SKOModel, ab: ArticulatedBody, rates: Rates, motion: Motion) -> Stacked:
    """d/dt (I + H phi K)* v = Gdot* V+ + G* d/dt V+, at vdot = 0. O(n)."""
    rates_of_eta: Stacked = {}
    for k in m.nodes:
        V_plus_dot = inboard(m, motion.Vdot, k)
        if k in motion.A:
            V_plus_dot = V_plus_dot + motion.A[k].mT @ motion.V[m.parent(k)]
        rates_of_eta[k] = rates.G[k].mT @ inboard(m, motion.V, k) + ab.G[k].mT @ V_plus_dot
    return rates_of_eta


def coriolis_force(m: SKOModel, motion: Motion) -> Stacked:
    """C = H phi (M phi* a + b): the bias force without gravity, external forces and motion of the anchor. O(n)."""
    f = gather(m, m.A, [m.M(k) @ motion.Vdot[k] + motion.b[k] for k in m.nodes])
    return {k: m.H(k) @ f[k] for k in m.nodes}

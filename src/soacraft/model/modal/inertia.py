"""M(eta) of a flexible body, from the moments of its modal data (formula F17), and what moves with it. Batches of eta.

Order [V; d eta/dt], V = [w; v] of the body frame in body axes, c(eta) = sum m r(eta), Y(eta) = sum m r(eta) r(eta)*:

    c = first + p eta + 1/2 S(eta, eta)          Y = second + N(eta) + N(eta)* + Q(eta, eta) + 1/2 (T(eta, eta) + T*)
    Z_j = N_j + sum_i eta_i (Q_ij + T_ij)        M_we,j = the axial vector of Z_j:  sum m r x d r/d eta_j
    M_ww = tr(Y) I - Y,   M_wv = c~,   M_vv = m I,   M_ve = p + S eta,   M_ee constant

First moment and moment of inertia are of second order in eta, couplings of first, M_ee of none: terms that would need
third moments are left out. b comes from the derivative of this same M, so that energy and momentum are kept exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soacraft.model.modal.data import ModalData
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import skew


class Moments(NamedTuple):
    """Sums over the masses of a body, in body axes about its frame: r is where they are, u_j = dr/d eta_j."""

    c: Array
    """sum m r, (..., 3)"""
    Y: Array
    """sum m r r*, (..., 3, 3)"""
    p: Array
    """sum m u_j, (..., n, 3)"""
    Z: Array
    """sum m r u_j*, (..., n, 3, 3)"""


def moments(data: ModalData, eta: Array) -> Moments:
    """The sums that M(eta), and forces that vary over the body, are made of."""
    n = data.n
    c = data.first + eta @ data.p
    N = np.einsum("...j,jab->...ab", eta, data.N)
    Q = np.einsum("...i,...j,ijab->...ab", eta, eta, data.Q)
    Y = data.second + N + N.mT + Q
    Z = data.N + np.einsum("...i,ijab->...jab", eta, data.Q)
    ve = np.broadcast_to(data.p, (*eta.shape[:-1], n, 3))
    if data.S is not None and data.T is not None:
        c = c + 0.5 * np.einsum("...i,...j,ija->...a", eta, eta, data.S)
        T = np.einsum("...i,...j,ijab->...ab", eta, eta, data.T)
        Y = Y + 0.5 * (T + T.mT)
        Z = Z + np.einsum("...i,ijab->...jab", eta, data.T)
        ve = ve + np.einsum("...i,ija->...ja", eta, data.S)
    return Moments(c, Y, ve, Z)


def mass_matrix(data: ModalData, eta: Array) -> Array:
    """M(eta), (..., 6 + n, 6 + n)."""
    M = np.zeros((*eta.shape[:-1], 6 + data.n, 6 + data.n))
    c, Y, ve, Z = moments(data, eta)
    M[..., :3, :3] = moment(Y)
    M[..., :3, 3:6] = skew(c)
    M[..., 3:6, :3] = -M[..., :3, 3:6]
    M[..., 3:6, 3:6] = data.mass * np.eye(3)
    M[..., 6:, :3] = axial(Z)
    M[..., 6:, 3:6] = ve
    M[..., :6, 6:] = M[..., 6:, :6].mT
    M[..., 6:, 6:] = data.M
    return M


def mass_derivatives(data: ModalData, eta: Array) -> Array:
    """dM/d eta_j, (..., n, 6 + n, 6 + n), of the same M."""
    n = data.n
    d = np.zeros((*eta.shape[:-1], n, 6 + n, 6 + n))
    c = np.broadcast_to(data.p, (*eta.shape[:-1], n, 3))
    half = data.N + np.einsum("...i,ijab->...jab", eta, data.Q)  # dY/d eta_j = half + half*: Q_ij* = Q_ji
    Z = np.broadcast_to(data.Q, (*eta.shape[:-1], n, n, 3, 3))  # [derivative along i, of Z_j]
    if data.S is not None and data.T is not None:
        c = c + np.einsum("...i,ija->...ja", eta, data.S)
        half = half + np.einsum("...i,ijab->...jab", eta, data.T)
        Z = Z + data.T
        d[..., 6:, 3:6] = data.S
    d[..., :3, :3] = moment(half + half.mT)
    d[..., :3, 3:6] = skew(c)
    d[..., 3:6, :3] = -d[..., :3, 3:6]
    d[..., 6:, :3] = axial(Z)
    d[..., :6, 6:] = d[..., 6:, :6].mT
    return d


def second_derivatives(data: ModalData) -> Array:
    """d^2 M / d eta_i d eta_j, (n, n, 6, 6): constant, and zero but for the six of the body."""
    c, half = np.zeros((data.n, data.n, 3)), data.Q
    if data.S is not None and data.T is not None:
        c, half = data.S, data.Q + data.T
    d = np.zeros((data.n, data.n, 6, 6))
    d[..., :3, :3] = moment(half + half.mT)
    d[..., :3, 3:] = skew(c)
    d[..., 3:, :3] = -d[..., :3, 3:]
    return d


def axial(Z: Array) -> Array:
    """sum m r x u of Z = sum m r u*: (Z_23 - Z_32, Z_31 - Z_13, Z_12 - Z_21)."""
    parts = (Z[..., 1, 2] - Z[..., 2, 1], Z[..., 2, 0] - Z[..., 0, 2], Z[..., 0, 1] - Z[..., 1, 0])
    return np.stack(parts, axis=-1)


def moment(Y: Array) -> Array:
    """tr(Y) I - Y."""
    trace = np.trace(Y, axis1=-2, axis2=-1)
    return np.asarray(trace[..., None, None] * np.eye(3) - 0.5 * (Y + Y.mT))

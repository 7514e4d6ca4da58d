"""Derivatives of the twists of a node along the modes, for derivatives of dynamics. Batches of eta.

With Jr(theta) = Jl(-theta) the node's angular part is R0* Jr(theta) theta_j for each mode j, with theta_j = lam_j +
lam2_j eta, its linear part R* gam_j(eta). Along mode i

    d(Pi_w)_j = R0* (dJr[theta_i] theta_j + Jr lam2_ij),     d(Pi_v)_j = R* gam2_ij - (Pi_w)_i x (Pi_v)_j
    Jr u = u - B theta x u + C theta x (theta x u)
    dJr[z] u = -B z x u + C (z x (theta x u) + theta x (z x u)) + (theta . z) (-B' theta x u + C' theta x (theta x u))

where B' is (dB/dt) / t. The bias Pidot etad is the first of these, taken along etad; its own derivative takes one more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soacraft.model.modal.data import ModalNode
from soacraft.model.modal.nodes import coefficients, second, second_coefficients, slopes, theta
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import cross, exp


class NodeRates(NamedTuple):
    """Pi (..., 6, n) of a frame, dPi (..., n, 6, n) along each mode, and its bias Pidot etad (..., 6) with the
    derivatives of that along the modes and in their rates, (..., 6, n) each.
    """

    Pi: Array
    dPi: Array
    bias: Array
    bias_q: Array
    bias_v: Array


def node_rates(node: ModalNode, undeformed: Pose, eta: Array, rate: Array) -> NodeRates:
    """Twists of a frame fixed on a node, from its pose on the undeformed body, at modal coordinates and rates."""
    eta, rate = np.broadcast_arrays(eta, rate)
    R0_T, turn = node.pose.rotation.T, theta(node, eta)
    R_T = (exp(turn) @ node.pose.rotation).mT
    lam, gam = slopes(node.lam, node.lam2, eta).mT, slopes(node.gam, node.gam2, eta).mT  # (..., n, 3)
    Jr = _RightJacobian(turn)
    w, v = Jr.times(lam) @ R0_T.T, gam @ R_T.mT  # the rows are (Pi_w)_j, (Pi_v)_j
    lam2, gam2 = (_pairs(x, eta) for x in (node.lam2, node.gam2))
    dw = Jr.slope(lam[..., :, None, :], lam[..., None, :, :]) + Jr.times(lam2)
    dw = dw @ R0_T.T  # [along i, of j]
    dv = gam2 @ R_T.mT[..., None, :, :] - cross(w[..., :, None, :], v[..., None, :, :])
    # the bias, with thetadot and its rate at constant etad
    x, accel = _sum(rate, lam), second(node.lam2, rate, rate)
    own_w, own_v = _sum(rate, w), _sum(rate, v)
    lift = _turned(R_T, second(node.gam2, rate, rate))
    bias_w = _turned(R0_T, Jr.slope(x, x) + Jr.times(accel))
    bias_v = lift - cross(own_w, own_v)
    # along mode i, theta moves by lam_i and thetadot by lam2_i etad
    bent = np.broadcast_to(_contracted(node.lam2, rate), lam.shape)
    twice = Jr.second_slope(lam, x[..., None, :]) + Jr.slope(bent, x[..., None, :]) + Jr.slope(x[..., None, :], bent)
    along_w = (twice + Jr.slope(lam, accel[..., None, :])) @ R0_T.T
    along_v = -cross(w, lift[..., None, :]) - cross(_sum_last(dw, rate), own_v[..., None, :])
    along_v = along_v - cross(own_w[..., None, :], _sum_last(dv, rate))
    by_rate = [_sum_last(x, rate) + np.einsum("...i,...ija->...ja", rate, x) for x in (dw, dv)]

    X = (node.pose.inv @ undeformed).phi().T
    return NodeRates(
        X @ np.concatenate([w, v], axis=-1).mT,
        X @ np.concatenate(np.broadcast_arrays(dw, dv), axis=-1).mT,
        np.concatenate([bias_w, bias_v], axis=-1) @ X.T,
        X @ np.concatenate([along_w, along_v], axis=-1).mT,
        X @ np.concatenate(np.broadcast_arrays(*by_rate), axis=-1).mT,
    )


class _RightJacobian:
    """Jr at turns (..., 3), times arrays of vectors with more axes before the last, and its derivatives."""

    def __init__(self, turn: Array) -> None:
        self.turn = turn
        self.first, self.second = coefficients(turn), second_coefficients(turn)

    def _at(self, *u: Array) -> tuple[Array, list[Array]]:
        """theta and the coefficients with as many axes as vectors have."""
        axes = max(x.ndim for x in u) - self.turn.ndim
        lead = self.turn.shape[:-1]
        shape = (*lead, *(1,) * max(axes, 0))
        return self.turn.reshape(*shape, 3), [x.reshape(*shape, 1) for x in (*self.first, *self.second)]

    def times(self, u: Array) -> Array:
        """Jr u."""
        t, (B, C, *_) = self._at(u)
        across = cross(t, u)
        return np.asarray(u - B * across + C * cross(t, across))

    def slope(self, z: Array, u: Array) -> Array:
        """dJr[z] u."""
        t, (B, C, dB, dC, *_) = self._at(z, u)
        across = cross(t, u)
        own = C * (cross(z, across) + cross(t, cross(z, u))) - B * cross(z, u)
        return np.asarray(own + _dot(t, z) * (dC * cross(t, across) - dB * across))

    def second_slope(self, z: Array, x: Array) -> Array:
        """The derivative along theta -> theta + z of dJr[x] x, where x x x is zero."""
        t, (_, C, dB, dC, ddB, ddC) = self._at(z, x)
        across, aside = cross(t, x), cross(z, x)
        bent = dC * cross(t, across) - dB * across
        more = dC * (cross(z, across) + cross(t, aside)) - dB * aside
        more = more + _dot(t, z) * (ddC * cross(t, across) - ddB * across)
        outer = C * cross(x, aside) + dC * _dot(t, z) * cross(x, across)
        return np.asarray(_dot(z, x) * bent + _dot(t, x) * more + outer)


def _dot(x: Array, y: Array) -> Array:
    return np.asarray(np.sum(x * y, axis=-1, keepdims=True))


def _pairs(form: Array | None, eta: Array) -> Array:
    """A symmetric form (3, n, n) as (..., n, n, 3)."""
    n = eta.shape[-1]
    plain = np.zeros((n, n, 3)) if form is None else np.moveaxis(form, 0, -1)
    return np.broadcast_to(plain, (*eta.shape[:-1], n, n, 3))


def _contracted(form: Array | None, rate: Array) -> Array:
    """form(i, rate) for each i, (..., n, 3)."""
    if form is None:
        return np.zeros((*rate.shape, 3))
    return np.asarray(np.einsum("aij,...j->...ia", form, rate))


def _sum(rate: Array, x: Array) -> Array:
    return np.asarray(np.einsum("...i,...ia->...a", rate, x))


def _sum_last(x: Array, rate: Array) -> Array:
    """Contracted with rates in its second axis of modes, (..., n, 3)."""
    return np.asarray(np.einsum("...ija,...j->...ia", x, rate))


def _turned(R: Array, x: Array) -> Array:
    return np.asarray((R @ x[..., None])[..., 0])

"""Pose and twists of a node of a flexible body at modal coordinates eta (formula F16). Batches.

    theta = lam eta + 1/2 eta lam2 eta,   R = exp(theta~) R0,   l = l0 + gam eta + 1/2 eta gam2 eta
    Pi = [R* Jl(theta) (lam + lam2 eta); R* (gam + gam2 eta)]          the node's twist in B is Pi d eta/dt, in its axes
    Pidot etad = [R* wdot; R* (etad gam2 etad - w x ldot)]
    w = Jl thetadot,   wdot = Jl (etad lam2 etad) + Jldot thetadot

Jl is the left Jacobian of SO(3), with t = |theta|:

    Jl u    = u + B theta x u + C theta x (theta x u),   B = (1 - cos t) / t^2,   C = (t - sin t) / t^3
    Jldot u = Bdot theta x u + B thetadot x u + Cdot theta x (theta x u)
              + C (thetadot x (theta x u) + theta x (thetadot x u))
"""

from __future__ import annotations

import math

import numpy as np

from soacraft.model.modal.data import ModalNode
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import cross, exp
from soacraft.spatial.rotations import skew as tilde

#: Below this angle the coefficients are power series, exact to rounding with these many terms.
SMALL_TURN, TERMS = 1.0, 12


def theta(node: ModalNode, eta: Array) -> Array:
    """The turn of a node relative to the body, as a rotation vector in body axes, (..., 3)."""
    return second(node.lam2, eta, eta, 0.5) + eta @ node.lam.T


def pose(node: ModalNode, eta: Array) -> tuple[Array, Array]:
    """R (..., 3, 3) and l (..., 3) of the node in the body frame."""
    R = exp(theta(node, eta)) @ node.pose.rotation
    return R, node.pose.translation + eta @ node.gam.T + second(node.gam2, eta, eta, 0.5)


def Pi(node: ModalNode, eta: Array) -> Array:
    """The twists of the node for unit modal rates, at the node in its axes, (..., 6, n)."""
    turn = theta(node, eta)
    R = exp(turn) @ node.pose.rotation
    lam, gam = slopes(node.lam, node.lam2, eta), slopes(node.gam, node.gam2, eta)
    return np.concatenate([R.mT @ left_jacobian(turn) @ lam, R.mT @ gam], axis=-2)


def Pi_rate(node: ModalNode, eta: Array, rate: Array) -> Array:
    """(dPi/dt) d eta/dt at modal rates, (..., 6): the node's acceleration relative to the body at constant rates."""
    turn = theta(node, eta)
    R_T = (exp(turn) @ node.pose.rotation).mT
    thetadot = (slopes(node.lam, node.lam2, eta) @ rate[..., None])[..., 0]
    ldot = (slopes(node.gam, node.gam2, eta) @ rate[..., None])[..., 0]
    J = left_jacobian(turn)
    w = (J @ thetadot[..., None])[..., 0]
    wdot = (J @ second(node.lam2, rate, rate)[..., None])[..., 0] + _turning(turn, thetadot)
    lddot = second(node.gam2, rate, rate) - cross(w, ldot)
    return np.concatenate([(R_T @ x[..., None])[..., 0] for x in np.broadcast_arrays(wdot, lddot)], axis=-1)


def left_jacobian(turn: Array) -> Array:
    """Jl(theta), (..., 3, 3)."""
    B, C, _, _ = coefficients(turn)
    X = tilde(turn)
    return np.eye(3) + B[..., None, None] * X + C[..., None, None] * (X @ X)


def _turning(x: Array, rate: Array) -> Array:
    """Jldot thetadot, where thetadot x thetadot is zero."""
    _, C, dB, dC = (y[..., None] for y in coefficients(x))
    along = np.sum(x * rate, axis=-1, keepdims=True)
    across = cross(x, rate)
    return np.asarray(along * (dB * across + dC * cross(x, across)) + C * cross(rate, across))


def coefficients(x: Array) -> tuple[Array, Array, Array, Array]:
    """B, C and (dB/dt) / t, (dC/dt) / t of the angle t = |x|."""
    s = np.sum(x * x, axis=-1)
    small = s < SMALL_TURN**2
    t = np.sqrt(np.where(small, 1.0, s))
    c, sin = np.cos(t), np.sin(t)
    far = ((1 - c) / t**2, (t - sin) / t**3, (t * sin - 2 * (1 - c)) / t**4, (3 * sin - 2 * t - t * c) / t**5)
    near = tuple(_series(s, first, order) for first, order in ((2, 0), (3, 0), (2, 1), (3, 1)))
    B, C, dB, dC = (np.where(small, x, y) for x, y in zip(near, far, strict=True))
    return B, C, dB, dC


def second_coefficients(x: Array) -> tuple[Array, Array]:
    """Second application of (d/dt) / t, to (dB/dt) / t and (dC/dt) / t."""
    s = np.sum(x * x, axis=-1)
    small = s < SMALL_TURN**2
    t = np.sqrt(np.where(small, 1.0, s))
    c, sin = np.cos(t), np.sin(t)
    B = (t * t * c - 5 * t * sin + 8 * (1 - c)) / t**6
    C = (t * t * sin + 7 * t * c + 8 * t - 15 * sin) / t**7
    return np.where(small, _series(s, 2, 2), B), np.where(small, _series(s, 3, 2), C)


def _series(s: Array, first: int, order: int) -> Array:
    """sum over k of (-s)^k / (2k + first)!, after the step 2 d/ds, taken `order` times."""
    total = np.zeros_like(s)
    for k in range(TERMS - 1, order - 1, -1):
        factor = (-1.0) ** k / math.factorial(2 * k + first) * 2.0**order * math.perm(k, order)
        total = total * s + factor
    return total


def slopes(first: Array, form: Array | None, eta: Array) -> Array:
    """first + form eta, (..., 3, n)."""
    if form is None:
        return np.broadcast_to(first, (*eta.shape[:-1], *first.shape))
    return np.asarray(first + np.einsum("aij,...j->...ai", form, eta))


def second(x: Array | None, a: Array, b: Array, factor: float = 1.0) -> Array:
    """factor a x b for a symmetric form (3, n, n), or nothing."""
    if x is None:
        return np.zeros((*np.broadcast_shapes(a.shape[:-1], b.shape[:-1]), 3))
    return np.asarray(factor * np.einsum("aij,...i,...j->...a", x, a, b))

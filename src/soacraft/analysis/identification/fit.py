"""Linear least squares over positive definite matrices, with a prior: a convex problem, by Newton's method.

    minimise  |R x - y|^2 / 2  +  weight * sum over blocks of  d(P(x), P0),     d = tr(P0^-1 P) - log det(P0^-1 P) - dim

P is linear in x: the pseudo-inertia of a body, or a number that is not negative (1 x 1). d is the divergence of
Gaussian distributions with these moments; it has no units, is zero at the prior P0, and grows without bound towards the
edge of what is physical. So the minimum is unique and physical whatever the records say. With P = L L* the step of
Newton's method is the least-squares solution of

    [R; sqrt(weight) C] dx = [y - R x; sqrt(weight) (I - L* P0^-1 L)],      C_i = L^-1 E_i L^-*,  P = sum of x_i E_i
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soacraft.errors import ConvergenceError
from soacraft.spatial.checks import Array

_STEPS = 200
#: Decrease of the objective that a last step may leave, for each unknown in units of the weight: a relative change,
#: squared. The last step squares it once more; near the edge of physical inertias rounding leaves no less.
_ON_THE_WAY, _AT_LAST = 1e-2, 1e-8
_MOST = 0.9  # of the way to the edge
_FACTOR = 2.0  # from one weight to the next: from further away Newton steps along the edge are short
_EPS = float(np.finfo(float).eps)
_ROUNDING = 1e3 * _EPS  # of R x - y, relative to y


class Block(NamedTuple):
    """Some of the unknowns, the matrices E_i they stand for, and the prior P0."""

    where: slice
    basis: Array
    prior: Array


def fit(R: Array, y: Array, blocks: list[Block], start: Array, weight: float) -> Array:
    """The minimum, from a physical start: along the path of minima whose weight comes down to its value by factors,
    from one that is as heavy as the records.
    """
    x, w = start, 0.5 * float(np.sum((R @ start - y) ** 2))
    while True:
        w = max(w, weight)
        x = _newton(R, y, blocks, x, w, _ON_THE_WAY if w > weight else _AT_LAST)
        if w <= weight:
            return x
        w /= _FACTOR


def _newton(R: Array, y: Array, blocks: list[Block], x: Array, weight: float, small: float) -> Array:
    value = _value(R, y, blocks, x, weight)
    for _ in range(_STEPS):
        C, c = penalty(blocks, x)
        A = np.concatenate([R, np.sqrt(weight) * C])
        b = np.concatenate([y - R @ x, np.sqrt(weight) * c])
        dx = np.linalg.lstsq(A, b, rcond=None)[0]
        decrement = float(np.sum((A @ dx) ** 2))
        if decrement <= small * weight * len(x) + 4.0 * _EPS * abs(value) + _ROUNDING**2 * float(y @ y):
            return x + dx if np.isfinite(_value(R, y, blocks, x + dx, weight)) else x
        step = _room(blocks, C @ dx)
        while True:
            trial = _value(R, y, blocks, x + step * dx, weight)
            if trial <= value - 1e-4 * step * decrement:
                break
            step *= 0.5
            if step < 1e-12:
                return x  # rounding is all that is left
        x, value = x + step * dx, trial
    raise ConvergenceError(f"identify: Newton's method has not converged in {_STEPS} steps; take a larger prior.")


def _room(blocks: list[Block], change: Array) -> float:
    """Length of a step with the changes L^-1 dP L^-* of all blocks: all of it, or most of the way to the edge of the
    cone. Closer to the edge, Newton's method comes back by no more than doubling the distance in each step.
    """
    room, start = 1.0, 0
    for block in blocks:
        n = len(block.prior)
        least = float(np.linalg.eigvalsh(change[start : start + n * n].reshape(n, n))[0])
        room, start = min(room, _MOST / max(-least, _MOST)), start + n * n
    return room


def _value(R: Array, y: Array, blocks: list[Block], x: Array, weight: float) -> float:
    """The objective; infinite outside of what is physical."""
    r = R @ x - y
    total = 0.5 * float(r @ r)
    for block in blocks:
        try:
            L = np.linalg.cholesky(matrix_of(block, x))
        except np.linalg.LinAlgError:
            return np.inf
        P0 = block.prior
        total += weight * (float(np.trace(np.linalg.solve(P0, L @ L.T))) - 2.0 * float(np.log(np.diag(L)).sum()))
        total += weight * (float(np.linalg.slogdet(P0)[1]) - len(P0))
    return total


def penalty(blocks: list[Block], x: Array) -> tuple[Array, Array]:
    """C, and I - L* P0^-1 L, of all blocks one below the other."""
    rows, rights = [], []
    for block in blocks:
        L = np.linalg.cholesky(matrix_of(block, x))
        inner = np.linalg.solve(L, np.linalg.solve(L, block.basis).mT).reshape(len(block.basis), -1).T
        full = np.zeros((len(inner), len(x)))
        full[:, block.where] = inner
        rows.append(full)
        rights.append((np.eye(len(L)) - L.T @ np.linalg.solve(block.prior, L)).ravel())
    return np.concatenate(rows), np.concatenate(rights)


def matrix_of(block: Block, x: Array) -> Array:
    """P of the unknowns of a block."""
    return np.asarray(np.einsum("i,iab->ab", x[block.where], block.basis))

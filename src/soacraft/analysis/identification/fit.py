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
_SMALL = 1e-13  # decrement, squared, relative to the number of unknowns and the sum of squares


class Block(NamedTuple):
    """Some of the unknowns, the matrices E_i they stand for, and the prior P0."""

    where: slice
    basis: Array
    prior: Array


def fit(R: Array, y: Array, blocks: list[Block], start: Array, weight: float) -> Array:
    """The minimum, from a physical start; the weight comes down to its value in steps of ten."""
    x, w = start, 1.0
    while True:
        w = max(w, weight)
        x = _newton(R, y, blocks, x, w)
        if w <= weight:
            return x
        w /= 10.0


def _newton(R: Array, y: Array, blocks: list[Block], x: Array, weight: float) -> Array:
    value = _value(R, y, blocks, x, weight)
    for _ in range(_STEPS):
        C, c = penalty(blocks, x)
        A = np.concatenate([R, np.sqrt(weight) * C])
        b = np.concatenate([y - R @ x, np.sqrt(weight) * c])
        dx = np.linalg.lstsq(A, b, rcond=None)[0]
        decrement = float(np.sum((A @ dx) ** 2))
        if decrement <= _SMALL * (len(x) * min(1.0, weight) + 1e-6 * float(y @ y)):
            return x
        step = 1.0
        while True:
            trial = _value(R, y, blocks, x + step * dx, weight)
            if trial <= value - 1e-4 * step * decrement:
                break
            step *= 0.5
            if step < 1e-12:
                return x  # rounding is all that is left
        x, value = x + step * dx, trial
    raise ConvergenceError(f"identify: Newton's method has not converged in {_STEPS} steps; take a larger prior.")


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

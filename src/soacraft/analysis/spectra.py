"""Small motions M x'' + C x' + K x = 0: their rates, shapes, and how many of them are free of any stiffness.

A motion without stiffness is a null vector of K. It is computed before any rates are, with K scaled by its own rows:
the rates of an eigenvalue solver are exact to rounding of the fastest only, so a slow one says nothing. The other
motions are solved by the method that fits: symmetric, without x', or of first order in [x; x'].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg

from soacraft.errors import SingularError
from soacraft.spatial.checks import Array

Complex = npt.NDArray[np.complex128]

#: A stiffness that is this part of its own row and column, after cancelling, is none: differences of springs are exact
#: to 1e-10.
NO_STIFFNESS = 1e-9
#: A rate this small next to those of the loads is rounding: its square is 1e-14 of theirs.
NO_RATE = 1e-7
#: Matrices are symmetric, and C is zero, when entries are so to nine digits of the rates on their rows and columns.
SYMMETRIC = 1e-9
#: Motions slower than this part (in rates squared) of the fastest are solved for again by themselves.
SLOW = 1e-3


class Spectrum(NamedTuple):
    """One rate for each motion, without stiffness first, then by frequency; their shapes as columns, x* M x = 1."""

    rates: Complex
    shapes: Complex
    rigid: int


def spectrum(M: Array, C: Array, K: Array, load_rate: float) -> Spectrum:
    """All motions of x (n); of a pair of conjugates the one with positive frequency. `load_rate` (1/s) is that of loads
    and motion: what they do to K is exact to rounding of its square. O(n^3)."""
    n = len(M)
    if not n:
        return Spectrum(np.empty(0, complex), np.empty((0, 0), complex), 0)
    d = np.sqrt(np.maximum(np.diagonal(M), 0.0))
    if not (d > 0.0).all():
        raise SingularError(f"dof number {int(np.argmin(d))} has no inertia, so small motions have no rates.")
    M, C, K = (x / np.outer(d, d) for x in (M, C, K))
    try:
        L: Array = np.asarray(np.linalg.cholesky(M), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise SingularError("the mass matrix is singular, so small motions have no rates.") from None
    right, left = _without_stiffness(K, load_rate), _without_stiffness(K.T, load_rate)
    right = _orthonormal(right, M)
    fastest = float(np.sqrt(np.abs(K).max()))
    still = np.abs(C).max() <= SYMMETRIC * max(fastest, load_rate)
    if still and np.abs(K - K.T).max() <= SYMMETRIC * max(fastest**2, load_rate**2):
        rates, shapes = _symmetric(M, L, 0.5 * (K + K.T), right)
    elif still:
        rates, shapes = _undamped(L, K, right)
    else:
        rates, shapes = _first_order(L, C, K, right, left)
    size = np.sqrt(np.abs(np.einsum("im,ij,jm->m", shapes.conj(), M, shapes)))
    return Spectrum(rates, shapes / np.where(size > 0.0, size, 1.0) / d[:, None], right.shape[1])


def _without_stiffness(K: Array, load_rate: float) -> Array:
    """Null vectors of K as columns, K with ones on the diagonal of M."""
    n = len(K)
    sizes = np.maximum(np.abs(K).max(axis=0), np.abs(K).max(axis=1))
    some = sizes > (NO_RATE * load_rate) ** 2
    basis = np.eye(n)[:, ~some]  # of unit length, as all of them
    if some.any():
        s = 1.0 / np.sqrt(sizes[some])
        _, values, V = scipy.linalg.svd(K[np.ix_(some, some)] * np.outer(s, s))
        null = V[values <= NO_STIFFNESS * values[0]]
        wide = np.zeros((n, len(null)))
        wide[some] = (null * s).T
        wide /= np.linalg.norm(wide, axis=0)
        basis = np.concatenate([basis, wide], axis=1)
    return basis


def _orthonormal(X: Array, M: Array) -> Array:
    """Columns with X* M X = I."""
    if not X.shape[1]:
        return X
    X = X / np.sqrt(np.einsum("im,ij,jm->m", X, M, X))
    return np.asarray(scipy.linalg.solve_triangular(np.linalg.cholesky(X.T @ M @ X), X.T, lower=True).T)


def _symmetric(M: Array, L: Array, K: Array, rigid: Array) -> tuple[Complex, Complex]:
    """Rates +-i w, or real where w^2 < 0: K x = w^2 M x, on what is M-orthogonal to motions without stiffness."""
    rest = scipy.linalg.null_space((L.T @ rigid).T) if rigid.shape[1] else np.eye(len(M))
    half = scipy.linalg.solve_triangular(L, rest, lower=True, trans="T")  # x = half y
    values, y = np.linalg.eigh(half.T @ K @ half)
    X = half @ y
    slow = np.abs(values) < SLOW * np.abs(values).max(initial=0.0)
    while slow.any():
        values[slow], X[:, slow] = _by_themselves(M, K, rigid, X[:, slow])
        slower = slow & (np.abs(values) < SLOW * np.abs(values[slow]).max())
        if slower.sum() == slow.sum():
            break
        slow = slower
    order = np.argsort(values)
    return _listed(values[order].astype(complex), X[:, order].astype(complex), rigid)


def _by_themselves(M: Array, K: Array, rigid: Array, X: Array) -> tuple[Array, Array]:
    """Refine slow motions: K^-1 M removes the remaining parts of fast ones, then K and M are solved on them alone."""
    n, r = rigid.shape
    held = M @ rigid
    border = np.block([[K, held], [held.T, np.zeros((r, r))]])
    s = 1.0 / np.sqrt(np.abs(border).max(axis=1))
    Z = np.linalg.solve(border * np.outer(s, s), s[:, None] * np.concatenate([M @ X, np.zeros((r, X.shape[1]))]))
    Z = (s[:, None] * Z)[:n]
    Z = Z / np.sqrt(np.einsum("im,ij,jm->m", Z, M, Z))
    values, y = scipy.linalg.eigh(Z.T @ K @ Z, Z.T @ M @ Z)
    return values, Z @ y


def _undamped(L: Array, K: Array, rigid: Array) -> tuple[Complex, Complex]:
    """K x = w^2 M x with K that is not symmetric, as of forces that follow their node."""
    half = scipy.linalg.solve_triangular(L, np.eye(len(L)), lower=True, trans="T")
    values, y = np.linalg.eig(half.T @ K @ half)
    order = np.argsort(np.abs(values))[rigid.shape[1] :]
    return _listed(values[order].astype(complex), (half @ y[:, order]).astype(complex), rigid)


def _listed(squares: Complex, X: Complex, rigid: Array) -> tuple[Complex, Complex]:
    """Rates from w^2, the root with positive frequency, or the one that grows; motions without stiffness first."""
    rates = 1j * np.sqrt(squares)
    rates = np.where(rates.imag < 0.0, -rates, rates)
    rates = np.where((squares.imag == 0.0) & (squares.real < 0.0), np.sqrt(np.abs(squares)), rates)
    order = np.lexsort((rates.real, np.abs(rates), np.abs(rates.imag)))
    zeros = np.zeros(rigid.shape[1], complex)
    return np.concatenate([zeros, rates[order]]), np.concatenate([rigid.astype(complex), X[:, order]], axis=1)


def _first_order(L: Array, C: Array, K: Array, rigid: Array, left: Array) -> tuple[Complex, Complex]:
    """[x; x']' = [[0, I], [-M^-1 K, -M^-1 C]] [x; x'], in the time in which no entry exceeds one."""
    n, r = rigid.shape
    half = scipy.linalg.solve_triangular(L, np.eye(n), lower=True, trans="T")
    # a motion without stiffness is a double zero, a single one where it is damped
    singles = _rank(left.T @ C @ rigid, np.abs(C).max()) if r else 0
    C, K = half.T @ C @ half, half.T @ K @ half
    rate = max(float(np.abs(C).max()), float(np.sqrt(np.abs(K).max()))) or 1.0
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-K / rate**2, -C / rate]])
    values, vectors = np.linalg.eig(A)
    nonzero = np.argsort(np.abs(values))[2 * r - singles :]
    values, X = values[nonzero] * rate, half @ vectors[:n, nonzero]
    chosen = values.imag >= 0.0
    values, X = values[chosen], X[:, chosen]
    order = np.lexsort((values.real, np.abs(values), np.abs(values.imag)))
    zeros = np.zeros(r, complex)
    return np.concatenate([zeros, values[order]]), np.concatenate([rigid.astype(complex), X[:, order]], axis=1)


def _rank(X: Array, size: float) -> int:
    return int(np.linalg.matrix_rank(X, tol=SYMMETRIC * size))

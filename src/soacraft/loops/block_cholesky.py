"""A sparse, rank-revealing Cholesky factorization of a positive semi-definite matrix of blocks.

Blocks are eliminated in the order of least degree in the graph of blocks; those with the same neighbours go together,
so a row of blocks costs O(n) and a full matrix one dense factorization. Each pivot block is factored with pivoting.
A row whose pivot vanishes repeats rows eliminated before, since in a semi-definite matrix all that is left of it
vanishes with its diagonal: it is set aside, and gives one vector of the null space.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from soacraft.kinematics.tolerances import PIVOT_ZERO
from soacraft.spatial.checks import Array

Indices = npt.NDArray[np.intp]



@dataclass(eq=False)
class _Front:
    """One step: `S[kept, kept] = L L*`, `L^-1 S[kept, others] = X`, `L^-1 S[kept, dropped] = Y`."""

    kept: Indices
    dropped: Indices
    others: Indices
    L: Array
    X: Array
    Y: Array


class BlockCholesky:
    """The factorization of S, given by blocks (i, j), i <= j, of the given sizes; `reference` measures its diagonal.

    >>> S = {(0, 0): np.array([[2.0]]), (0, 1): np.array([[2.0]]), (1, 1): np.array([[2.0]])}     # one row twice
    >>> factor = BlockCholesky([1, 1], S, np.array([2.0, 2.0]))
    >>> factor.rank, factor.redundant, factor.solve(np.array([4.0, 4.0]))
    (1, array([1]), array([1., 1.]))
    """

    def __init__(self, sizes: list[int], blocks: dict[tuple[int, int], Array], reference: Array) -> None:
        self._starts = np.cumsum([0, *sizes])
        self._scale = 1.0 / np.sqrt(np.where(reference > 0.0, reference, 1.0))
        self._S: dict[tuple[int, int], Array] = {}
        self._neighbours: dict[int, set[int]] = {i: set() for i in range(len(sizes))}
        for (i, j), block in blocks.items():
            left, right = self._scale[self._of(i)], self._scale[self._of(j)]
            self._S[i, j] = left[:, None] * block * right
            if i != j:
                self._neighbours[i].add(j)
                self._neighbours[j].add(i)
        self._touched = np.zeros(len(reference))
        self.smallest = 1.0
        self._fronts: list[_Front] = []
        while self._neighbours:
            self._fronts.append(self._eliminate(self._next()))
        self.redundant: Indices = np.sort(np.concatenate([np.zeros(0, int), *(f.dropped for f in self._fronts)]))
        self.rank = len(reference) - len(self.redundant)
        self._null = self._null_space()

    def solve(self, rhs: Array) -> Array:
        """The x of least norm with S x = rhs on the rows that matter."""
        reduced = self._scale * rhs
        halves = []
        for f in self._fronts:
            half = solve_triangular(f.L, reduced[f.kept], lower=True) if len(f.kept) else reduced[f.kept]
            reduced[f.others] -= f.X.T @ half
            halves.append(half)
        x = np.zeros(len(rhs))
        for f, half in zip(reversed(self._fronts), reversed(halves), strict=True):
            if len(f.kept):
                x[f.kept] = solve_triangular(f.L, half - f.X @ x[f.others], lower=True, trans="T")
        x *= self._scale
        if self._null.shape[1]:
            x -= self._null @ np.linalg.lstsq(self._null, x, rcond=None)[0]
        return x

    # -- elimination -----------------------------------------------------------------------------------------

    def _of(self, i: int) -> slice:
        return slice(self._starts[i], self._starts[i + 1])

    def _numbers(self, blocks: list[int]) -> Indices:
        parts = [np.arange(self._starts[i], self._starts[i + 1]) for i in blocks]
        return np.concatenate([np.zeros(0, int), *parts])

    def _next(self) -> list[int]:
        """The block with the fewest neighbours, and those that have the same ones."""
        first = min(self._neighbours, key=lambda i: (len(self._neighbours[i]), i))
        around = self._neighbours[first] | {first}
        return [first, *sorted(j for j in self._neighbours[first] if self._neighbours[j] | {j} == around)]

    def _eliminate(self, group: list[int]) -> _Front:
        others = sorted(set().union(*(self._neighbours[i] for i in group)) - set(group))
        columns, beyond = self._numbers(group), self._numbers(others)
        S, R = self._dense(group, group), self._dense(group, others)
        keep, drop, L = self._pivoted(S)
        X = solve_triangular(L, R[keep], lower=True) if len(keep) else np.zeros((0, len(beyond)))
        Y = solve_triangular(L, S[np.ix_(keep, drop)], lower=True) if len(keep) else np.zeros((0, len(drop)))
        if len(beyond):
            np.maximum.at(self._touched, beyond, np.abs(X).max(axis=0, initial=0.0))
            self._subtract(others, X.T @ X)
        for i in group:
            del self._neighbours[i]
        for i in others:
            self._neighbours[i] = (self._neighbours[i] | set(others)) - {i} - set(group)
        return _Front(columns[keep], columns[drop], beyond, L, X, Y)

    def _pivoted(self, S: Array) -> tuple[Indices, Indices, Array]:
        """The rows that matter in the order of their pivots, the others, and the triangle of the first."""
        if not len(S) or not np.diagonal(S).max() > PIVOT_ZERO:
            return np.zeros(0, int), np.arange(len(S)), np.zeros((0, 0))
        factor, order, rank, _ = dpstrf(S, tol=PIVOT_ZERO, lower=1)
        order = np.asarray(order) - 1
        L = np.tril(factor)[:rank, :rank]
        self.smallest = min(self.smallest, float(L[rank - 1, rank - 1] ** 2))
        return order[:rank], order[rank:], L

    def _dense(self, rows: list[int], cols: list[int]) -> Array:
        out = np.zeros((len(self._numbers(rows)), len(self._numbers(cols))))
        top = 0
        for i in rows:
            height, side = self._starts[i + 1] - self._starts[i], 0
            for j in cols:
                width = self._starts[j + 1] - self._starts[j]
                block = self._S.get((i, j)) if i <= j else self._S.get((j, i))
                if block is not None:
                    out[top : top + height, side : side + width] = block if i <= j else block.T
                side += width
            top += height
        return out

    def _subtract(self, blocks: list[int], update: Array) -> None:
        at = np.cumsum([0, *(self._starts[i + 1] - self._starts[i] for i in blocks)])
        for a, i in enumerate(blocks):
            for b in range(a, len(blocks)):
                part = update[at[a] : at[a + 1], at[b] : at[b + 1]]
                block = self._S.get((i, blocks[b]))
                self._S[i, blocks[b]] = -part if block is None else block - part

    # -- null space ------------------------------------------------------------------------------------------

    def _null_space(self) -> Array:
        """A basis of the null space, but for rows that meet no other: they are at rest in every solution."""
        dropped: list[tuple[int, int, int]] = []  # front, place in its dropped rows, row
        for number, f in enumerate(self._fronts):
            for a, row in enumerate(f.dropped):
                if max(self._touched[row], np.abs(f.Y[:, a]).max(initial=0.0)) > PIVOT_ZERO:
                    dropped.append((number, a, int(row)))
        N = np.zeros((len(self._touched), len(dropped)))
        by_number: dict[int, list[tuple[int, int]]] = {}
        for column, (number, a, row) in enumerate(dropped):
            N[row, column] = 1.0
            by_number.setdefault(number, []).append((a, column))
        if dropped:
            for number in range(len(self._fronts) - 1, -1, -1):
                f = self._fronts[number]
                if len(f.kept):
                    half = -f.X @ N[f.others]
                    for a, column in by_number.get(number, []):
                        half[:, column] -= f.Y[:, a]
                    N[f.kept] = solve_triangular(f.L, half, lower=True, trans="T")
        return self._scale[:, None] * N

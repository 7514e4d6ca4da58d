"""Square roots and Cholesky factors of block-diagonal operators, and their derivatives.

With W W* = X the derivatives follow from W dW* + dW W* = dX, block by block, where dW is symmetric or lower
triangular as W is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from soacraft.algebra.descriptions.printing import before_dot
from soacraft.algebra.expressions.operator import DIAGONAL, Operator
from soacraft.algebra.spaces.definite import ROUNDING, factored, smallest_pivot, symmetric_root
from soacraft.errors import SingularError, SpaceError
from soacraft.ops.derived import DiagonalLeaf

Array = npt.NDArray[np.float64]


class RootLeaf(DiagonalLeaf):
    """W with W W* = X for a block-diagonal X."""

    verb, latex_verb = "", ""

    def __init__(self, X: Operator) -> None:
        super().__init__(X)
        self.X = X
        self.rows, self.cols = X.spaces
        self.name = f"{before_dot(X)}.{self.verb}()"
        self.latex_name = self.latex_verb % X.latex()
        self.claims = self._claims()

    def _claims(self) -> frozenset[str]:
        return frozenset({"block_diagonal"})

    def root(self, L: Array) -> Array:
        """The root, from the Cholesky factor."""
        raise AssertionError("each kind says which root it is")

    def solve(self) -> dict[int, Array]:
        trusted = bool({"positive_definite", "positive_semidefinite"} & self.X.tags)
        return by_size(self.X, lambda x, which: self.root(self._factor(x, which, trusted)))

    def _factor(self, x: Array, which: list[int], trusted: bool) -> Array:
        found = factored(x, trusted)
        for wrong, flags in (("symmetric", found.unsymmetric), ("positive semi-definite", found.indefinite)):
            bad = flags.reshape(-1, len(which)).any(axis=0)
            if bad.any():
                raise SingularError(
                    f"block {self.spaces[0].labels[which[int(np.argmax(bad))]]!r} of {self.X.text()} is not {wrong}; "
                    f"{self.verb}() needs every diagonal block to be symmetric and positive semi-definite."
                )
        return found.L


class SquareRoot(RootLeaf):
    """X^1/2: symmetric, W W = X."""

    verb, latex_verb = "sqrt", r"{%s}^{1/2}"
    source = "square root block by block"

    def _claims(self) -> frozenset[str]:
        kind = "positive_definite" if "positive_definite" in self.X.tags else "positive_semidefinite"
        return frozenset({"block_diagonal", "symmetric", kind})

    def root(self, L: Array) -> Array:
        return symmetric_root(L)


class CholeskyFactor(RootLeaf):
    """L of L L* = X: lower triangular in every block."""

    verb, latex_verb = "cholesky", r"\operatorname{chol}\left(%s\right)"
    source = "Cholesky factor block by block"

    def root(self, L: Array) -> Array:
        return L


def sqrt(X: Operator) -> Operator:
    """The symmetric square root of a block-diagonal operator."""
    return SquareRoot(_checked(X, "sqrt"))


def cholesky(X: Operator) -> Operator:
    """The Cholesky factor of a block-diagonal operator."""
    return CholeskyFactor(_checked(X, "cholesky"))


def _checked(X: Operator, verb: str) -> Operator:
    rows, cols = X.spaces
    if rows != cols or X.pattern() != DIAGONAL:
        raise SpaceError(
            f"{before_dot(X)}.{verb}(): a block-diagonal operator is wanted, such as D or M; {X.text()} maps "
            f"{rows} <- {cols}" + ("." if rows != cols else " and has blocks off the diagonal.")
        )
    if next(X.leaves(), None) is None:
        raise SpaceError(f"{before_dot(X)}.{verb}(): {X.text()} is made of identities alone; its root is a number.")
    return X


def by_size(X: Operator, work: Callable[[Array, list[int]], Array]) -> dict[int, Array]:
    """A function of the diagonal blocks, those of one size in one call: (..., blocks, d, d)."""
    blocks, space = X.blocks(), X.spaces[0]
    found = {k: blocks.block(k, k) for k, d in enumerate(space.dims) if d == 0}
    for d in sorted(set(space.dims) - {0}):
        which = [k for k, size in enumerate(space.dims) if size == d]
        same = np.stack([np.broadcast_to(blocks.block(k, k), (*blocks.batch, d, d)) for k in which], axis=-3)
        done = work(same, which)
        found |= {k: done[..., i, :, :] for i, k in enumerate(which)}
    return dict(sorted(found.items()))


# -- derivatives --------------------------------------------------------------------------------------------------


class RootRate(DiagonalLeaf):
    """Y with W Y* + Y W* = Z, of the kind that the root W is: symmetric, or lower triangular in every block."""

    source = "derivative of a root block by block"

    def __init__(self, W: Operator, Z: Operator) -> None:
        super().__init__(W, Z)
        self.W, self.Z = W, Z
        self.rows, self.cols = W.spaces
        self.name = f"root_rate({W.text()}, {Z.text()})"
        self.latex_name = rf"\partial\left({W.latex()}; {Z.latex()}\right)"
        self.claims = frozenset({"block_diagonal"} | ({"symmetric"} & W.tags))

    def solve(self) -> dict[int, Array]:
        rates, work = self.Z.blocks(), _lower_rate if isinstance(self.W, CholeskyFactor) else _symmetric_rate

        def of(W: Array, which: list[int]) -> Array:
            singular = (smallest_pivot(W @ W.mT) <= ROUNDING).reshape(-1, len(which)).any(axis=0)
            if singular.any():
                raise SingularError(
                    f"block {self.spaces[0].labels[which[int(np.argmax(singular))]]!r} of {self.W.text()} is singular, "
                    "so it has no derivative there."
                )
            Z = np.stack([np.broadcast_to(rates.block(k, k), (*rates.batch, *W.shape[-2:])) for k in which], axis=-3)
            return work(W, Z)

        return by_size(self.W, of)


def _symmetric_rate(W: Array, Z: Array) -> Array:
    """W Y + Y W = Z by the eigenvectors of W."""
    w, V = np.linalg.eigh(0.5 * (W + W.mT))
    return np.asarray(V @ ((V.mT @ Z @ V) / (w[..., :, None] + w[..., None, :])) @ V.mT)


def _lower_rate(L: Array, Z: Array) -> Array:
    """L Y* + Y L* = Z by Y = L low(L^-1 Z L^-*), low: the lower triangle with half the diagonal."""
    within = np.linalg.solve(L, np.linalg.solve(L, Z.mT).mT)
    return np.asarray(L @ (np.tril(within) - 0.5 * within * np.eye(L.shape[-1])))


def root_rate(W: Operator, Z: Operator) -> Operator:
    """The derivative of a root W of X where X changes by Z: W Y* + Y W* = Z."""
    return RootRate(W, Z)

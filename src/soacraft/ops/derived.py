"""Operators solved from others: Lyapunov solutions, the diagonal of an expression, inverses by sweeps."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.descriptions.printing import before_dot
from soacraft.algebra.expressions.held import released
from soacraft.algebra.expressions.nodes import Inverse, Product, Scaled, Sum
from soacraft.algebra.expressions.once import once
from soacraft.algebra.expressions.operator import DIAGONAL, Operator, Pattern
from soacraft.algebra.spaces.blocks import Blocks
from soacraft.algebra.spaces.rounding import NOISES, noise_blocks
from soacraft.algebra.values.evaluate import block_by_recursions
from soacraft.algebra.values.measure import magnitude
from soacraft.errors import SpaceError
from soacraft.model.flat.sko import SKOModel
from soacraft.ops.binding import SKOBinding
from soacraft.ops.leaves import BoundLeaf, DerivedLeaf, edges_of, tree_of, weights_of
from soacraft.ops.named import named_of
from soacraft.ops.table import riccati
from soacraft.recursions._backend import Sweeps, backward_lyapunov, forward_lyapunov

Array = npt.NDArray[np.float64]
UP, DOWN = frozenset("u"), frozenset("t")


class DiagonalLeaf(DerivedLeaf):
    """A derived operator that is block-diagonal."""

    def solve(self) -> dict[int, Array]:
        raise AssertionError("each kind says how its diagonal blocks are found")

    def pattern(self) -> Pattern:
        return DIAGONAL

    def blocks(self) -> Blocks:
        rows, cols = self.spaces
        return self.cached("blocks", lambda: Blocks(rows, cols, {(k, k): x for k, x in self.solve().items()}))

    def apply(self, x: Array) -> Array:
        return self.blocks().apply(x)

    def apply_T(self, x: Array) -> Array:
        return self.blocks().apply_T(x)


class LyapunovLeaf(DiagonalLeaf):
    """Y with X = Y - E_A Y E_B* (tips to base), or X = Y - diagOf{ E_A* Y E_B } for transposes (base to tips)."""

    def __init__(self, E: Operator, X: Operator, other: Operator) -> None:
        X = X if X.rows is not None or E.cols is None else X.with_space(E.cols)
        super().__init__(E, X, other)
        self.E, self.X, self.other = E, X, other
        self.rows, self.cols = E.rows, other.rows
        same = E.key() == other.key()
        self.name = f"{before_dot(E)}.lyapunov({X.text()}{'' if same else ', ' + other.text()})"
        words = ", ".join(x.latex() for x in ((E, X) if same else (E, X, other)))
        self.latex_name = rf"\operatorname{{lyap}}\left({words}\right)"
        self.source = "004 Eq. 13" if E.pattern() == UP else "004 Eq. 23"
        symmetric = same and "symmetric" in X.tags
        self.claims = frozenset({"symmetric", "block_diagonal"} if symmetric else ())

    @once
    def key(self) -> tuple[Any, ...]:
        """Written alike with the operator the papers name: R, the composite inertia."""
        named = [(x.name, x.binding.identity()) for x in self.args if isinstance(x, BoundLeaf)]
        bound = self.binding.identity()
        if named == [("E_phi", bound), ("M", bound), ("E_phi", bound)]:
            return ("leaf", "R", bound)
        return super().key()

    def solve(self) -> dict[int, Array]:
        return self.solved(self.X.blocks())

    def solved(self, X: Blocks) -> dict[int, Array]:
        """The diagonal blocks of Y for any X."""
        tree, diagonal = tree_of(self.spaces[0]), X.diagonal()
        if self.E.pattern() == UP:
            return forward_lyapunov(tree, weights_of(self.E.blocks()), diagonal, weights_of(self.other.blocks()))
        A, B = self.E.T.blocks(), self.other.T.blocks()
        return backward_lyapunov(tree, weights_of(A), diagonal, weights_of(B))

    def magnitude(self) -> Blocks:
        """Sizes of the rounding of X, and of E Y E_B* at each node, after the same recursion."""
        (rows, cols), rng = self.spaces, np.random.default_rng(0)
        sizes = super().magnitude()
        carried = magnitude(self.E).times(sizes).times(magnitude(self.other).transposed())
        local = magnitude(self.X).plus(carried)
        local = Blocks(local.rows, local.cols, {(i, j): x for (i, j), x in local.entries.items() if i == j})
        for _ in range(NOISES):
            Y = self.solved(noise_blocks(rows, cols, local, rng))
            sizes = sizes.or_larger(Blocks(rows, cols, {(k, k): x for k, x in Y.items()}).magnitude)
        return sizes


def lyapunov(E: Operator, X: Operator, other: Operator) -> Operator:
    """The solution of the forward or backward Lyapunov equation, as an operator."""
    kind, tried = E.pattern(), before_dot(E)
    if kind not in (UP, DOWN) or E.rows != E.cols:
        raise SpaceError(
            f"{tried}.lyapunov: a kernel operator such as E_phi or E_psi, or its transpose, is wanted on the left."
        )
    if isinstance(other, Operator) and other.pattern() in (UP, DOWN) and other.pattern() != kind:
        other = other.T
    if not isinstance(other, Operator) or other.pattern() != kind or other.rows != other.cols:
        raise SpaceError(f"{tried}.lyapunov(X, {_shown(other)}): a kernel operator is wanted in the second place too.")
    if not isinstance(X, Operator) or X.pattern() != DIAGONAL:
        raise SpaceError(f"{tried}.lyapunov({_shown(X)}): X must be block-diagonal.")
    found = LyapunovLeaf(E, X, other)
    rows, cols = found.X.spaces
    if (rows, cols) != (E.cols, other.cols):
        assert E.cols is not None and other.cols is not None
        given = f"{rows.describe_against(E.cols)} <- {cols.describe_against(other.cols)}"
        raise SpaceError(
            f"{tried}.lyapunov({_shown(X)}): X maps {given}, but {E.cols} <- {other.cols} is wanted."
            + (E.cols.mismatch(rows) or other.cols.mismatch(cols))
        )
    return found


def _shown(x: Any) -> str:
    return x.text() if isinstance(x, Operator) else type(x).__name__


class DiagOf(DiagonalLeaf):
    """The block diagonal of an expression (004 Eq. 26)."""

    def __init__(self, expr: Operator) -> None:
        super().__init__(expr)
        self.expr = expr
        self.rows, self.cols = expr.spaces
        self.name = f"diag_of({expr.text()})"
        self.latex_name = rf"\operatorname{{diagOf}}\left\{{{expr.latex()}\right\}}"
        self.source = "004 Eq. 26"
        self.claims = frozenset({"block_diagonal"} | ({"symmetric"} & expr.tags))

    @once
    def form(self) -> Operator | None:
        """Diagonal by O(n) recursions, of an expression that is not sparse; None when no recursion is known."""
        # a form of the diagonal is made of diagonals: of two modules, one is imported late
        from soacraft.ops.diagonals import diagonal_form

        return None if self.expr.pattern() is not None else diagonal_form(self.expr)

    @property
    def columns(self) -> Operator | None:
        return self.expr if self.expr.pattern() is None and self.form() is None else None

    def magnitude(self) -> Blocks:
        """Sizes of the diagonal; for a sparse expression the diagonal of its sizes."""
        form = self.form()
        if form is not None:
            return magnitude(form)
        if self.expr.pattern() is None:
            return super().magnitude()
        sizes = magnitude(self.expr)
        return Blocks(sizes.rows, sizes.cols, {(i, j): x for (i, j), x in sizes.entries.items() if i == j})

    def solve(self) -> dict[int, Array]:
        form, count = self.form(), len(self.spaces[0])
        if form is not None:
            return dict(enumerate(form.blocks().diagonal()))
        if self.expr.pattern() is not None:
            return dict(enumerate(_sparse_diagonal(self.expr)))
        return {k: block_by_recursions(self.expr, k, k) for k in range(count)}


def _sparse_diagonal(expr: Operator) -> list[Array]:
    """The diagonal of a sparse expression. Of a product E* Y E only the diagonal is formed: the others are as many as
    pairs of siblings.
    """
    if isinstance(expr, Sum):
        return [reduce(np.add, terms) for terms in zip(*map(_sparse_diagonal, expr.terms), strict=True)]
    if isinstance(expr, Scaled):
        return [expr.factor * x for x in _sparse_diagonal(expr.arg)]
    if not isinstance(expr, Product):
        return expr.blocks().diagonal()
    halves = [(Product(expr.factors[:i]), Product(expr.factors[i:])) for i in range(1, len(expr.factors))]
    head, tail = min(halves, key=lambda pair: sum("s" in (half.pattern() or "s") for half in pair))
    return head.blocks().diagonal_of_product(tail.blocks())


def diag_of(expr: Operator) -> Operator:
    """The block diagonal of a square expression, `diagOf` of the papers (004 Eq. 26). O(n) when the expression is
    sparse, or sums and products of sparse operators and propagators whose diagonals are Lyapunov solutions (004 Eq.
    15, 25), such as psi* X psi and Omega; otherwise a product with one block column for each block. `explain` says
    which.

    >>> import soacraft as sc
    >>> E_psi, Upsilon = sc.operators(sc.load("arm7"), "E_psi Upsilon")
    >>> sc.diag_of(E_psi.T * Upsilon * E_psi)
    diag_of(E_psi.T*Upsilon*E_psi) : body[42] <- body[42]
    """
    expr = released(expr)
    if not isinstance(expr, Operator):
        raise SpaceError(f"diag_of takes an operator, not {expr!r}.")
    rows, cols = expr.spaces
    if rows != cols:
        raise SpaceError(f"{expr.text()} has no block diagonal, it maps {rows} <- {cols}.")
    return expr if next(expr.leaves(), None) is None else DiagOf(expr)


class SweptInverse(DerivedLeaf):
    """(C + L)^-1 for block-diagonal C and L on the edges of the tree: C^-1 (I + L C^-1)^-1 by one gather."""

    sweeps_in_product = 2

    def __init__(self, arg: Operator) -> None:
        super().__init__(arg)
        self.arg = arg
        self.rows = self.cols = arg.rows
        self.name, self.latex_name = f"{before_dot(arg)}.inv", Inverse(arg).latex()
        self.source = "004 Lemma 1"

    def pattern(self) -> None:
        return None

    def blocks(self) -> Blocks:
        raise AssertionError("the blocks of an inverse by sweeps reach along whole paths")

    def sweep(self, transposed: bool) -> str:
        return "scatter" if transposed else "gather"

    def _factors(self) -> tuple[Operator, Sweeps]:
        def work() -> tuple[Operator, Sweeps]:
            space = self.spaces[0]
            tree, blocks = tree_of(space), self.arg.blocks()
            C_inv = DiagOf(self.arg).inv
            L = Blocks(space, space, {(i, j): -x for (i, j), x in blocks.entries.items() if i != j})
            return C_inv, Sweeps(tree, space, edges_of(tree, L.times(C_inv.blocks())))

        return self.cached("factors", work)

    def apply(self, x: Array) -> Array:
        C_inv, sweeps = self._factors()
        return C_inv.apply(sweeps.gather(x))

    def apply_T(self, x: Array) -> Array:
        C_inv, sweeps = self._factors()
        return sweeps.scatter(C_inv.apply_T(x))


class RiccatiInverse(DerivedLeaf):
    """(H phi X phi* H*)^-1 for a block-diagonal X: the Riccati equation solved with X in the place of M."""

    sweeps_in_product = 7

    def __init__(self, H: Operator, E: Operator, X: Operator) -> None:
        super().__init__(H, E, X)
        self.rows = self.cols = H.rows
        self.name = f"(H*phi * ({X.text()}) * phi.T*H.T).inv"
        self.latex_name = rf"\left[H\phi\left[{X.latex()}\right]\phi^*H^*\right]^{{-1}}"
        self.source = "004 Lemma 11"
        self.claims = frozenset({"symmetric", "positive_definite"})

    def pattern(self) -> None:
        return None

    def blocks(self) -> Blocks:
        raise AssertionError("the blocks of an inverse by sweeps reach along whole paths")

    def sweep(self, transposed: bool) -> str:
        return "gather, diagonal, scatter"

    def model(self) -> SKOModel:
        """The SKO model that has X for its inertias."""
        H, E, X = (arg.blocks() for arg in self.args)
        tree = tree_of(E.rows)
        return SKOModel.trusted(tree, edges_of(tree, E), H.diagonal(), X.diagonal())

    def inner(self) -> Operator:
        """Inverse for the SKO model that has X for its inertias, in the spaces of that model."""

        def work() -> Operator:
            sko = self.model()
            riccati(sko)
            ops = named_of(SKOBinding(sko))
            factor = ops.I - ops.H * ops.psi * ops.K
            inverse: Operator = factor.T * ops.D.inv * factor
            return inverse

        return self.cached("inner", work)

    def apply(self, x: Array) -> Array:
        return self.inner().apply(x)

    def apply_T(self, x: Array) -> Array:
        return self.inner().apply_T(x)

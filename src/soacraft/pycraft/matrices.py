"""SpatialMatrixOperator and its square and diagonal forms: any operator of a model, or elements of your own."""

from __future__ import annotations

import operator as arithmetic
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.answers.explanation import Explanation
from soacraft.algebra.expressions.held import Held, released
from soacraft.algebra.expressions.nodes import Product, product
from soacraft.algebra.expressions.operator import DIAGONAL, Operator
from soacraft.algebra.spaces.vectors import StackedVector
from soacraft.errors import SpaceError
from soacraft.ops.namespace import Operators
from soacraft.ops.recognise import named
from soacraft.pycraft.bound import block_number, bound
from soacraft.pycraft.elements import Element, ElementRow, element
from soacraft.pycraft.vectors import SpatialVector

Array = npt.NDArray[np.float64]


class SpatialMatrixOperator(Held):
    """The base of all operators: `phi[o][p]` is one block, `* + -` combine operators of the same sub-graph (000
    section 3).

    `SpatialMatrixOperator(g)` is one of your own: elements are set by index, `X[o][p] = block`, and are zero where
    nothing was set. The sizes of the blocks say which spaces are meant, or `space=` does, "hinge <- body". An operator
    in place of g is held under this name.

    `X(k)` and `X(k, j)` are elements by the papers' numbers, tip 1 and base n. Between elements, however they were
    reached, `*` is the matrix product.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft.pycraft import *
    >>> g = sc.load("arm7")
    >>> X = SpatialMatrixOperator(g)
    >>> X["link1"]["link7"] = np.eye(6)
    >>> (Phi(g) * X).asArray().shape, X["link7"]["link7"].any()
    ((42, 42), np.False_)
    """

    def __init__(self, g: Any = None, space: Any = None, name: str = "X") -> None:
        self._elements: dict[tuple[str, str], Array] | None = None
        self._held: Operator | None = None
        if isinstance(g := released(g), Operator):
            self._hold(g)
            return
        self._s, self._space, self._name, self._elements = bound(g), released(space), name, {}

    def _hold(self, operator: Operator) -> None:
        self._held, self._elements = operator, None

    @property
    def operator(self) -> Operator:  # type: ignore[override]
        """The soacraft operator inside."""
        if self._held is None:
            self._held = self._built()
        return self._held

    def _built(self) -> Operator:
        assert self._elements is not None
        return self._s.sparse(self._name, self._elements, self._space if self._space or self._elements else "body")

    # -- elements -------------------------------------------------------------------------------------------------

    def __getitem__(self, o: Any) -> Any:
        return element(self.operator[o]) if isinstance(o, tuple) else ElementRow(self, o)

    def __setitem__(self, index: Any, x: npt.ArrayLike) -> None:
        if self._elements is None:
            raise SpaceError(
                f"{self.operator.text()} follows from its model; elements are set in SpatialMatrixOperator(g)."
            )
        if not isinstance(index, tuple) or len(index) != 2:
            raise SpaceError(f"an element is set by row and column, X[o][p] = ..., not by {index!r:.60}.")
        rows, cols = self._space.spaces if isinstance(self._space, Operator) else (self._s.body, self._s.body)
        o, p = rows.labels[rows.index(index[0])], cols.labels[cols.index(index[1])]
        self._check(o, p)
        before = self._elements
        self._elements, self._held = {**before, (o, p): np.array(x, dtype=np.float64)}, None
        try:
            if self._space:
                self._held = self._built()
        except Exception:
            self._elements = before
            raise

    def _check(self, o: str, p: str) -> None:
        """Refuse an element that may not be at this place; any may, by default."""

    def __call__(self, k: int, j: int | None = None) -> Element:
        rows, cols = self.operator.spaces
        o, p = rows.labels[block_number(rows, k)], cols.labels[block_number(cols, k if j is None else j)]
        return element(self.operator[o, p])

    # -- arithmetic -----------------------------------------------------------------------------------------------

    def _beside(self, other: Any) -> Operator:
        """The operator to combine with another one."""
        return self.operator

    def _with(self, do: Callable[[Any, Any], Any], other: Any, reverse: bool = False) -> Any:
        operator = self._beside(other)
        theirs = other._beside(self) if isinstance(other, SpatialMatrixOperator) else other
        return wrap(do(theirs, operator) if reverse else do(operator, theirs))

    def __mul__(self, other: Any) -> Any:
        return self._with(arithmetic.mul, other)

    def __rmul__(self, other: Any) -> Any:
        return self._with(arithmetic.mul, other, reverse=True)

    __matmul__, __rmatmul__ = __mul__, __rmul__

    def __pow__(self, n: int) -> Any:
        return wrap(self.operator**n)

    def __truediv__(self, c: Any) -> Any:
        return wrap(self.operator / c)

    def __add__(self, other: Any) -> Any:
        return self._with(arithmetic.add, other)

    def __radd__(self, other: Any) -> Any:
        return self._with(arithmetic.add, other, reverse=True)

    def __sub__(self, other: Any) -> Any:
        return self._with(arithmetic.sub, other)

    def __rsub__(self, other: Any) -> Any:
        return self._with(arithmetic.sub, other, reverse=True)

    def __neg__(self) -> SpatialMatrixOperator:
        return wrap(-self._beside(None))  # type: ignore[no-any-return]

    def getTranspose(self) -> SpatialMatrixOperator:
        """The transpose."""
        return wrap(self.operator.T)  # type: ignore[no-any-return]

    def transpose(self) -> SpatialMatrixOperator:
        """The transpose, as the architecture paper has it."""
        return self.getTranspose()

    def _transpose(self) -> SpatialMatrixOperator:
        """The transpose, as the slides have it."""
        return self.getTranspose()

    def inverse(self) -> SpatialMatrixOperator:
        """The inverse."""
        return wrap(self.operator.inv)  # type: ignore[no-any-return]

    # -- looking --------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        """The size of the dense matrix."""
        return self.operator.shape

    def asArray(self) -> Array:
        """The dense matrix as a numpy array."""
        return self.operator.array()

    def isIdentity(self, tolerance: float = 1e-9) -> bool:
        """True if it is the identity."""
        return self.operator.is_identity(tolerance)

    def isZero(self, tolerance: float = 1e-9) -> bool:
        """True if it vanishes, relative to the norms of its terms."""
        return self.operator.is_zero(tolerance)

    def diff(self, body: Any, dof: Any = 0) -> SpatialMatrixOperator:
        """The derivative along a dof of the hinge of a body (000 Eq. 41-46), for every hinge."""
        return wrap(self.operator.diff(body, dof))  # type: ignore[no-any-return]

    def trace(self) -> Any:
        """The sum of the diagonal entries."""
        return self.operator.trace()

    def text(self) -> str:
        """The expression in soacraft's names."""
        return self.operator.text()

    def latex(self) -> str:
        """The expression as the paper prints it."""
        return self.operator.latex()

    def explain(self) -> Explanation:
        """Sweeps that a product, a block and the dense matrix will run, and their costs. Computes no number."""
        return self.operator.explain()

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.operator!r}"

    def _repr_latex_(self) -> str:
        return self.operator._repr_latex_()

    def _repr_html_(self) -> str:
        return self.operator._repr_html_()


class SpatialSquareMatrixOperator(SpatialMatrixOperator):
    """An operator with the same bodies for rows and columns; its blocks need not be square."""


class SpatialDiagonalMatrixOperator(SpatialSquareMatrixOperator):
    """An operator whose blocks off the diagonal are zero."""

    def _built(self) -> Operator:
        assert self._elements is not None
        blocks = {o: x for (o, _), x in self._elements.items()}
        return self._s.block_diagonal(self._name, blocks, self._space if self._space or blocks else "body")

    def _check(self, o: str, p: str) -> None:
        if o != p:
            raise SpaceError(
                f"a SpatialDiagonalMatrixOperator has no element ({o!r}, {p!r}) off its diagonal; "
                "SpatialSquareMatrixOperator(g) has."
            )


class SpatialIdentity(SpatialDiagonalMatrixOperator):
    """The identity, or a multiple of it; it takes the space of its neighbour. By itself it is that of the bodies."""

    def __init__(self, s: Operators | None, free: Operator) -> None:
        super().__init__(free if s is None else free.with_space(s.body))
        self._of, self._free = s, free

    def _beside(self, other: Any) -> Operator:
        spaces = (other.rows, other.cols) if isinstance(other := released(other), Operator) else ()
        for space in spaces:
            if space is not None and self._of is not None and space.owner != self._of.body.owner:
                raise SpaceError(
                    f"the identity of {self._of.body.owner} cannot meet {other.text()}." + space.mismatch(self._of.body)
                )
        return self._free

    def _with(self, do: Callable[[Any, Any], Any], other: Any, reverse: bool = False) -> Any:
        if isinstance(other, SpatialIdentity):
            s = self._of or other._of
            return SpatialIdentity(s, do(other._free, self._free) if reverse else do(self._free, other._free))
        if do is not arithmetic.mul or isinstance(other, (Operator, Held)):
            return super()._with(do, other, reverse)
        if isinstance(other, StackedVector) or np.ndim(other):
            return self._times_vector(other)
        return SpatialIdentity(self._of, do(self._free, other))

    def _times_vector(self, x: Any) -> Any:
        if not isinstance(x, StackedVector):
            if self._of is None:
                raise SpaceError(
                    "I * x is x; I takes its space from an operator or from a SpatialVector, not an array."
                )
            x = SpatialVector(self._of, x)
        return wrap(self._free.with_space(x.space) * x)

    def __neg__(self) -> SpatialMatrixOperator:
        return SpatialIdentity(self._of, -self._free)

    def __pow__(self, n: int) -> Any:
        return SpatialIdentity(self._of, self._free**n)

    def __truediv__(self, c: Any) -> Any:
        return SpatialIdentity(self._of, self._free / c)

    def getTranspose(self) -> SpatialMatrixOperator:
        """The identity is its own transpose."""
        return self

    def inverse(self) -> SpatialMatrixOperator:
        """The identity is its own inverse."""
        return SpatialIdentity(self._of, self._free.inv)


def wrap(value: Any) -> Any:
    """An operator in the class that its pattern and spaces say, a vector as a SpatialVector."""
    if isinstance(value, StackedVector):
        return SpatialVector.of(value)
    if not isinstance(value, Operator):
        return value
    if value.rows is None or value.cols is None:
        return SpatialIdentity(None, value)
    _warn_of_listing_16(value)
    if value.pattern() == DIAGONAL:
        return SpatialDiagonalMatrixOperator(value)
    square = value.rows.labels == value.cols.labels
    return (SpatialSquareMatrixOperator if square else SpatialMatrixOperator)(value)


def _warn_of_listing_16(x: Operator) -> None:
    """psi* H* X H psi is Omega for X = D^-1 (Eq. 34); Listing 16 prints the inverse of the mass matrix for it."""
    if not isinstance(x, Product) or len(x.factors) < 5:
        return
    psi_T, H_T, *X, H, psi = x.factors
    ends = named(psi_T.T, "psi") and named(H_T.T, "H") and named(H, "H") and named(psi, "psi")
    if ends and _chained(X).pattern() is None:
        warnings.warn(
            "psi* H* X H psi is Omega where X is D^-1 (000 Eq. 34). Listing 16 prints massmatInv there, which is a "
            "misprint: write Omega = psistar * Hst * Dinv * H * psi.",
            stacklevel=5,
        )


def _chained(factors: list[Operator]) -> Operator:
    chain = factors[0]
    for factor in factors[1:]:
        chain = product(chain, factor)
    return chain


def Trace(X: Any) -> Any:
    """The sum of the diagonal entries of an operator or of an element, as in Listing 23."""
    x = released(X)
    return x.trace() if isinstance(x, Operator) else np.trace(np.asarray(x), axis1=-2, axis2=-1)

"""Elements of operators, `X[o][p]`, `X[o, p]` and `X(k)`: matrices whose `*` is the matrix product, as printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from soacraft.arguments import whole_number
from soacraft.errors import SingularError, SpaceError

if TYPE_CHECKING:
    from soacraft.pycraft.matrices import SpatialMatrixOperator

Array = npt.NDArray[np.float64]


class Element(np.ndarray[Any, np.dtype[np.float64]]):
    """One element of an operator: a matrix (..., m, n), whose `*` and `**` are the matrix product and its powers.

    A product with a vector is a plain array. `np.multiply(x, y)` multiplies entry by entry.

    >>> import soacraft as sc
    >>> from soacraft.pycraft import *
    >>> g = sc.load("arm7")
    >>> phi = Phi(g)
    >>> (phi["link1"]["link4"] * phi["link4"]["link7"] - phi["link1"]["link7"]).round(12).any()
    np.False_
    """

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        plain = np.asarray(array)
        return element(plain) if plain.ndim > 1 else plain[()] if return_scalar else plain

    def __mul__(self, other: Any) -> Any:
        if getattr(other, "__array_ufunc__", True) is None:  # an operator or a stacked vector, which says so itself
            return NotImplemented
        return np.multiply(self, other) if _is_number(other) else _product(self, other)

    __matmul__ = __mul__

    def __rmul__(self, other: Any) -> Any:
        return np.multiply(other, self) if _is_number(other) else _product(other, self)

    __rmatmul__ = __rmul__

    def __imul__(self, other: Any) -> Any:
        return self * other

    __imatmul__ = __imul__

    def __pow__(self, n: Any, modulo: Any = None) -> Any:
        if self.ndim < 2 or self.shape[-1] != self.shape[-2]:
            raise SpaceError(f"an element of shape {self.shape} is not square, it has no powers.")
        power = whole_number(n, "the power of an element", error=SpaceError)
        try:
            return np.linalg.matrix_power(np.asarray(self), power).view(Element)
        except np.linalg.LinAlgError:
            raise SingularError(f"this element is singular, it has no power {power}.") from None

    def __truediv__(self, other: Any) -> Any:
        if not _is_number(other):
            raise SpaceError("an element is divided by a number; the inverse of an element y is y**-1.")
        if other == 0:
            raise SpaceError("an element cannot be divided by zero.")
        return np.divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        raise SpaceError("nothing is divided by an element; the inverse of an element y is y**-1.")


def element(block: Array) -> Element:
    """A block of an operator as an element."""
    view: Element = block.view(Element)
    return view


def _is_number(x: Any) -> bool:
    return np.ndim(x) == 0


def _product(x: Any, y: Any) -> Any:
    """The matrix product; of elements of a batch of states also with one vector for each state."""
    a, b = np.asarray(x), np.asarray(y)
    if isinstance(x, Element) and not isinstance(y, Element) and a.ndim > 2 and b.shape == (*a.shape[:-2], a.shape[-1]):
        if b.shape == a.shape[-2:]:
            raise SpaceError(
                f"an array of shape {b.shape} may be a matrix or a vector for each of {len(b)} states; write "
                "np.matmul(x, y) for a matrix, np.matmul(x, y[..., None]) for vectors."
            )
        return np.asarray((a @ b[..., None])[..., 0])
    if a.ndim == 1 and b.ndim == 1:
        raise SpaceError("rows and columns of elements are multiplied by np.dot(x, y) or np.multiply(x, y).")
    try:
        product = a @ b
    except ValueError:
        raise SpaceError(f"an element of shape {a.shape} cannot be multiplied by one of shape {b.shape}.") from None
    return element(product) if a.ndim > 1 and b.ndim > 1 else product


class ElementRow:
    """`X[o]`, so that `X[o][p]` reads, and `X[o][p] = x` sets, one element."""

    def __init__(self, matrix: SpatialMatrixOperator, o: Any) -> None:
        self.matrix, self.o = matrix, o

    def __getitem__(self, p: Any) -> Element:
        return element(self.matrix.operator[self.o, p])

    def __setitem__(self, p: Any, x: npt.ArrayLike) -> None:
        self.matrix[self.o, p] = x

    def __repr__(self) -> str:
        return f"block row {self.o!r} of {self.matrix!r}"

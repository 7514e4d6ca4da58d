"""The names printed in the papers, so that the listings of the PyCraft paper run as printed.

Thin wrappers round `sc.operators(g, axes="inertial")`: the classes of section 3 (`HClass`, `EPhiClass`, `SPOClass`,
...), their methods (`asArray`, `getTranspose`, `inverse`, `isZero`, `LyapunovRecursion`, ...), and the short
constructors of the introduction and of the slides (`H(g)`, `Phi(g)`, `Dinv(g)`, ...). `X.operator` is the soacraft
operator inside. `g` is a multibody, a sub-graph, a state or an SKO model; or operators bound already, such as
`sc.operators(g, axes="inertial", ignore_loops=True)` for the tree of a model with loops.

>>> import soacraft as sc
>>> from soacraft.pycraft import *
>>> g = sc.load("arm7")
>>> MassMatrix = H(g) * Phi(g) * M(g) * PhiStar(g) * HStar(g)
>>> InnovFactorInv = Id(g) - H(g) * Psi(g) * K(g)
>>> MassMatrixInv = InnovFactorInv.getTranspose() * Dinv(g) * InnovFactorInv
>>> (MassMatrix * MassMatrixInv).isIdentity()
True
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra import I, Operator, StackedVector
from soacraft.algebra.operator import DIAGONAL
from soacraft.errors import SpaceError
from soacraft.model.flat.sko import SKOModel
from soacraft.ops import Operators, operators
from soacraft.ops.namespace import operators_of

Array = npt.NDArray[np.float64]

__all__ = [
    "BStar", "BStarClass", "Dinv", "EPhiClass", "EPsiClass", "H", "HClass", "HStar", "HStarClass", "H_iClass",
    "Hd_iClass", "Hs_iClass", "Id", "IdClass", "K", "M", "MClass", "PClass", "Phi", "PhiStar", "Psi", "SKOClass",
    "SKOStarClass", "SPOClass", "SPOStarClass",
    "SpatialDiagonalMatrixOperator", "SpatialMatrixOperator", "SpatialSquareMatrixOperator", "SpatialVector",
    "Thetadot",
]  # fmt: skip


def _ops(g: Any) -> Operators:
    if isinstance(g, Operators):
        return g
    found: Operators = operators(g) if isinstance(g, SKOModel) else operators(g, axes="inertial")
    return found


class SpatialVector(StackedVector):
    """A stacked vector: `V[o]` is the part of body o (section 3). The length says whether it is of bodies or hinges."""

    def __init__(self, g: Any, data: npt.ArrayLike, space: str | None = None) -> None:
        s, numbers = _ops(g), np.asarray(data, dtype=np.float64)
        sizes = {"hinge": s.hinge, "body": s.body}
        fits = [x for kind, x in sizes.items() if space in (None, kind) and numbers.shape[-1:] == (x.size,)]
        if not fits:
            raise SpaceError(f"a vector of {s.hinge} or of {s.body} is wanted, got shape {numbers.shape}.")
        super().__init__(fits[0], numbers)


class SpatialMatrixOperator:
    """The base of all operators: `phi[o][p]` is one block, `* + -` combine operators of the same sub-graph."""

    __array_ufunc__ = None

    def __init__(self, operator: Operator) -> None:
        self.operator = operator

    def asArray(self) -> Array:
        """The dense matrix as a numpy array."""
        return self.operator.array()

    def getTranspose(self) -> SpatialMatrixOperator:
        """The transpose."""
        return wrap(self.operator.T)

    transpose = getTranspose

    def inverse(self) -> SpatialMatrixOperator:
        """The inverse."""
        return wrap(self.operator.inv)

    def isIdentity(self, tolerance: float = 1e-9) -> bool:
        """Whether it is the identity."""
        return self.operator.is_identity(tolerance)

    def isZero(self, tolerance: float = 1e-9) -> bool:
        """Whether it vanishes, relative to the norms of its terms."""
        return self.operator.is_zero(tolerance)

    def __getitem__(self, o: Any) -> Any:
        return self.operator[o]

    def __mul__(self, other: Any) -> Any:
        found = self.operator * _unwrapped(other)
        return wrap(found) if isinstance(found, Operator) else found

    def __rmul__(self, c: Any) -> SpatialMatrixOperator:
        return wrap(c * self.operator)

    def __add__(self, other: Any) -> SpatialMatrixOperator:
        return wrap(self.operator + _unwrapped(other))

    def __sub__(self, other: Any) -> SpatialMatrixOperator:
        return wrap(self.operator - _unwrapped(other))

    def __neg__(self) -> SpatialMatrixOperator:
        return wrap(-self.operator)

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.operator!r}"


class SpatialSquareMatrixOperator(SpatialMatrixOperator):
    """An operator with the same bodies for rows and columns; its blocks need not be square."""


class SpatialDiagonalMatrixOperator(SpatialSquareMatrixOperator):
    """An operator whose blocks off the diagonal are zero."""


def _unwrapped(x: Any) -> Any:
    return x.operator if isinstance(x, SpatialMatrixOperator) else x


def wrap(operator: Operator) -> SpatialMatrixOperator:
    """An operator in the class that its pattern and spaces say."""
    if operator.rows is None or operator.cols is None or operator.pattern() == DIAGONAL:
        return SpatialDiagonalMatrixOperator(operator)
    square = operator.rows.labels == operator.cols.labels
    return (SpatialSquareMatrixOperator if square else SpatialMatrixOperator)(operator)


# -- the classes of section 3 -------------------------------------------------------------------------------------


class IdClass(SpatialDiagonalMatrixOperator):
    """The identity; it takes the space of its neighbour (Listing 7: bodies, Listing 10: hinges)."""

    def __init__(self, g: Any) -> None:
        super().__init__(I)


class HStarClass(SpatialDiagonalMatrixOperator):
    """H* (Eq. 6)."""

    def __init__(self, g: Any) -> None:
        super().__init__(_ops(g).H.T)


class HClass(HStarClass):
    """H (Eq. 6)."""

    def __init__(self, g: Any) -> None:
        SpatialDiagonalMatrixOperator.__init__(self, _ops(g).H)


class MClass(SpatialDiagonalMatrixOperator):
    """The spatial inertias M (Eq. 15)."""

    def __init__(self, g: Any) -> None:
        super().__init__(_ops(g).M)


class PClass(SpatialDiagonalMatrixOperator):
    """The articulated body inertias P (Eq. 22)."""

    def __init__(self, g: Any) -> None:
        super().__init__(_ops(g).P)


class SKOClass(SpatialSquareMatrixOperator):
    """A kernel operator: `SKOClass(ephi * taubar)`; its blocks are on the edges of the tree."""

    def __init__(self, kernel: SpatialMatrixOperator | Operator) -> None:
        operator: Operator = _unwrapped(kernel)
        if not isinstance(operator, Operator) or operator.pattern() != frozenset("u"):
            raise SpaceError(f"a kernel operator such as EPhiClass(g) is wanted, got {kernel!r}.")
        super().__init__(operator)

    def LyapunovRecursion(self, X: SpatialMatrixOperator) -> SpatialMatrixOperator:
        """Y with X = Y - E Y E* (Listing 4)."""
        return wrap(self.operator.lyapunov(_unwrapped(X)))


class EPhiClass(SKOClass):
    """E_phi (Eq. 7)."""

    def __init__(self, g: Any) -> None:
        super().__init__(_ops(g).E_phi)


class EPsiClass(SKOClass):
    """E_psi (Eq. 24)."""

    def __init__(self, g: Any) -> None:
        super().__init__(_ops(g).E_psi)


class SKOStarClass(SpatialSquareMatrixOperator):
    """The transpose of a kernel operator."""

    def __init__(self, kernel: SKOClass) -> None:
        super().__init__(SKOClass(kernel).operator.T)

    def LyapunovRecursion(self, X: SpatialMatrixOperator) -> SpatialMatrixOperator:
        """Y with X = Y - diagOf(E* Y E) (Listing 15)."""
        return wrap(self.operator.lyapunov(_unwrapped(X)))


class SPOClass(SpatialSquareMatrixOperator):
    """The propagation operator (I - E)^-1 of a kernel operator (Eq. 9)."""

    def __init__(self, kernel: SKOClass) -> None:
        super().__init__(_propagator(SKOClass(kernel).operator))


class SPOStarClass(SpatialSquareMatrixOperator):
    """The transpose of the propagation operator of a kernel operator."""

    def __init__(self, kernel: SKOClass) -> None:
        super().__init__(_propagator(SKOClass(kernel).operator).T)


def _propagator(kernel: Operator) -> Operator:
    """phi and psi by name for their kernels, the inverse for any other."""
    named = {"E_phi": "phi", "E_psi": "psi"}.get(getattr(kernel, "name", ""))
    if named is None:
        return (I - kernel).inv
    found: Operator = getattr(operators_of(kernel.binding), named)  # type: ignore[attr-defined]
    return found


class BStarClass(SpatialMatrixOperator):
    """The pick-off operator B* of nodes (Eq. 12)."""

    def __init__(self, g: Any, nodes: Any) -> None:
        super().__init__(_ops(g).B(nodes).T)


class H_iClass(SpatialDiagonalMatrixOperator):
    """diag{ H~*(i) } for body i and those outboard of it, zero for others (Eq. 40, Listing 17): how the axes turn.

    For a hinge of several dofs, `dof` says along which; for any hinge it is W of `sc.operators`.
    """

    def __init__(self, g: Any, body: Any, dof: Any = 0) -> None:
        super().__init__(_ops(g).W(body, dof))


class Hs_iClass(SpatialDiagonalMatrixOperator):
    """diag{ H~*(i) } for the bodies strictly outboard of body i (Eq. 40, Listing 17): `H_iClass` less `Hd_iClass`."""

    def __init__(self, g: Any, body: Any, dof: Any = 0) -> None:
        s = _ops(g)
        super().__init__(s.W(body, dof) - s.X(body, dof))


class Hd_iClass(SpatialDiagonalMatrixOperator):
    """H~*(i) in the place of body i, zero elsewhere (Eq. 40, Listing 17).

    The paper's H~* is crf(H*) of a pin with the body frame on its axis; for any hinge it is X of `sc.operators`, and
    where the paper uses that H~* is skew, `-X` is to be written as the transpose.
    """

    def __init__(self, g: Any, body: Any, dof: Any = 0) -> None:
        super().__init__(_ops(g).X(body, dof))


# -- the short constructors ---------------------------------------------------------------------------------------


def H(g: Any) -> SpatialMatrixOperator:
    """H."""
    return HClass(g)


def HStar(g: Any) -> SpatialMatrixOperator:
    """H*."""
    return HStarClass(g)


def M(g: Any) -> SpatialMatrixOperator:
    """M."""
    return MClass(g)


def Id(g: Any) -> SpatialMatrixOperator:
    """The identity."""
    return IdClass(g)


def Phi(g: Any) -> SpatialMatrixOperator:
    """phi."""
    return SPOClass(EPhiClass(g))


def PhiStar(g: Any) -> SpatialMatrixOperator:
    """phi*."""
    return SPOStarClass(EPhiClass(g))


def Psi(g: Any) -> SpatialMatrixOperator:
    """psi."""
    return SPOClass(EPsiClass(g))


def K(g: Any) -> SpatialMatrixOperator:
    """K = E_phi G (Eq. 24)."""
    return wrap(_ops(g).K)


def Dinv(g: Any) -> SpatialMatrixOperator:
    """D^-1."""
    return wrap(_ops(g).D.inv)


def Thetadot(g: Any) -> StackedVector:
    """The generalized velocities."""
    found: StackedVector = _ops(g).v
    return found


def BStar(g: Any, nodes: Any) -> SpatialMatrixOperator:
    """B* of nodes."""
    return BStarClass(g, nodes)


def __dir__() -> list[str]:
    return __all__

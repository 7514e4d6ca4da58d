"""The classes of section 3 of the PyCraft paper, and those of the articulated body operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.algebra.expressions.held import released
from soacraft.algebra.expressions.nodes import I
from soacraft.algebra.expressions.operator import Operator
from soacraft.errors import ModelError, SpaceError
from soacraft.ops.namespace import operators_of
from soacraft.pycraft.bound import bound
from soacraft.pycraft.matrices import (
    SpatialDiagonalMatrixOperator,
    SpatialIdentity,
    SpatialMatrixOperator,
    SpatialSquareMatrixOperator,
    wrap,
)


class IdClass(SpatialIdentity):
    """The identity of a model; next to an operator it takes that one's space (Listing 7: bodies, Listing 10: hinges),
    by itself it is the identity of the bodies.
    """

    def __init__(self, g: Any = None) -> None:
        super().__init__(bound(g), I)


class HStarClass(SpatialDiagonalMatrixOperator):
    """H* (Eq. 6)."""

    def __init__(self, g: Any = None) -> None:
        super().__init__(bound(g).H.T)


class HClass(HStarClass):
    """H (Eq. 6)."""

    def __init__(self, g: Any = None) -> None:
        SpatialDiagonalMatrixOperator.__init__(self, bound(g).H)


class MClass(SpatialDiagonalMatrixOperator):
    """The spatial inertias M (Eq. 15)."""

    def __init__(self, g: Any = None) -> None:
        super().__init__(bound(g).M)


class PClass(SpatialDiagonalMatrixOperator):
    """The articulated body inertias P (Eq. 22)."""

    def __init__(self, g: Any = None) -> None:
        super().__init__(bound(g).P)


class SKOClass(SpatialSquareMatrixOperator):
    """A kernel operator: `SKOClass(ephi * taubar)`; its blocks are on the edges of the tree."""

    def __init__(self, kernel: SpatialMatrixOperator | Operator) -> None:
        operator = released(kernel)
        if not isinstance(operator, Operator) or operator.pattern() != frozenset("u"):
            raise SpaceError(f"a kernel operator such as EPhiClass(g) is wanted, got {kernel!r}.")
        super().__init__(operator)

    def LyapunovRecursion(self, X: SpatialMatrixOperator) -> SpatialMatrixOperator:
        """Y with X = Y - E Y E* (Listing 4)."""
        return wrap(self.operator.lyapunov(released(X)))  # type: ignore[no-any-return]

    def getTranspose(self) -> SKOStarClass:
        """The transpose, which has the backward Lyapunov recursion."""
        return SKOStarClass(self)


class EPhiClass(SKOClass):
    """E_phi (Eq. 7)."""

    def __init__(self, g: Any = None) -> None:
        super().__init__(bound(g).E_phi)


class EPsiClass(SKOClass):
    """E_psi (Eq. 24)."""

    def __init__(self, g: Any = None) -> None:
        super().__init__(bound(g).E_psi)


class SKOStarClass(SpatialSquareMatrixOperator):
    """The transpose of a kernel operator."""

    def __init__(self, kernel: SKOClass) -> None:
        super().__init__(SKOClass(kernel).operator.T)

    def LyapunovRecursion(self, X: SpatialMatrixOperator) -> SpatialMatrixOperator:
        """Y with X = Y - diagOf(E* Y E) (Listing 15)."""
        return wrap(self.operator.lyapunov(released(X)))  # type: ignore[no-any-return]

    def getTranspose(self) -> SKOClass:
        """The kernel operator."""
        return SKOClass(self.operator.T)


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
    propagator = {"E_phi": "phi", "E_psi": "psi"}.get(getattr(kernel, "name", ""))
    if propagator is None:
        return (I - kernel).inv
    kernel_of: Operator = getattr(operators_of(kernel.binding), propagator)  # type: ignore[attr-defined]
    return kernel_of


class BStarClass(SpatialMatrixOperator):
    """The pick-off operator B* of nodes (Eq. 12): nodes or bodies, their names, or the number of a node, from 0 in the
    order of the bodies and of the nodes on each.
    """

    def __init__(self, g: Any, nodes: Any) -> None:
        s = bound(g)
        listed = nodes if isinstance(nodes, (list, tuple)) else [nodes]
        super().__init__(s.B([_node(s, node) for node in listed]).T)


def _node(s: Any, node: Any) -> Any:
    graph = getattr(s.binding, "graph", None)
    if isinstance(node, bool) or not isinstance(node, (int, np.integer)) or graph is None:
        return node
    every = [one for body in graph.bodies for one in body.nodes]
    if not 0 <= node < len(every):
        listed = f"0 to {len(every) - 1}: " + ", ".join(one.full_name for one in every) if every else "none"
        raise ModelError(
            f"{graph.name!r} has no node number {node}, its nodes are {listed}. A body is a node too: give it or its "
            "name, or add a node by body.add_node(name, pose)."
        )
    return every[node]

"""`Deriving`: a differentiation along one direction, as rules of single kinds of expression know it. Types only."""

from __future__ import annotations

from typing import Any, Protocol

from soacraft.algebra.expressions.operator import Operator
from soacraft.ops.derivatives.directions import Direction
from soacraft.ops.derivatives.rates import Rates, Term


class Deriving(Protocol):
    """Changes of expressions along a direction: `soacraft.ops.derivatives.diff.Derivation`."""

    u: Direction
    rates: Rates
    axes: str

    def delta(self, x: Operator) -> Term:
        """The derivative, the turning of the axes left out; None for zero."""

    def full(self, x: Operator) -> Operator:
        """The derivative."""

    def joined(self, x: Operator, change: Term) -> Term:
        """A sum of the product rule that knows what it is the derivative of."""

    def gauge(self, x: Operator) -> Any:
        """Gauges of the result of x and of its argument."""

    def connections(self, x: Operator) -> tuple[Term, Term]:
        """Connections of the result of x and of its argument."""

    def seam(self, left: Operator, right: Operator) -> Term:
        """Remainder of the turnings between two factors."""

    def offsets(self, term: Operator, whole: Operator) -> tuple[Term, Term]:
        """Turning of the axes of a term relative to those of its sum."""

    def turning(self, x: Operator, wanted: Any) -> tuple[Term, Term]:
        """Turning of the axes of x relative to the wanted ones."""

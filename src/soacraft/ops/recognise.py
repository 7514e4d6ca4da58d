"""Recognising the mass matrix, whichever way it was written."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

from soacraft.algebra.expressions.nodes import Product, Sum, product
from soacraft.algebra.expressions.operator import DIAGONAL, Operator
from soacraft.ops.leaves import BoundLeaf, PropagatorLeaf
from soacraft.ops.namespace import operators_of


class MassMatrix(NamedTuple):
    """The parts of H phi X phi* H*, whichever way it was written."""

    H: BoundLeaf
    phi: PropagatorLeaf
    X: Operator

    @property
    def known(self) -> bool:
        """True if it is the mass matrix of one model at one state: then the named operators serve."""
        if not isinstance(self.X, BoundLeaf) or self.X.name != "M":
            return False
        bound = self.H.binding.identity()
        return bool(bound == self.phi.binding.identity() == self.X.binding.identity())


def as_mass_matrix(x: Operator) -> MassMatrix | None:
    """Recognise H*phi*X*phi.T*H.T for block-diagonal X, and the composite-body forms of the mass matrix."""
    if isinstance(x, Product) and len(x.factors) >= 5:
        H, phi, *X, phi_T, H_T = x.factors
        if named(H, "H") and named(phi, "phi") and H_T.key() == H.T.key() and phi_T.key() == phi.T.key():
            middle = reduce(product, X)
            if middle.pattern() == DIAGONAL and "symmetric" in middle.tags:
                return MassMatrix(H, phi, middle)  # type: ignore[arg-type]
    if not isinstance(x, (Product, Sum)):
        return None
    first = next(x.leaves(), None)
    if first is None or not named(first, "H"):  # each of the forms below begins with H
        return None
    s = operators_of(first.binding)  # type: ignore[arg-type]
    H, phi, t, R = s.H, s.phi, s.phi_tilde, s.R
    for form in (
        H * (phi * R + R * phi.T - R) * H.T,
        H * (R + t * R + R * t.T) * H.T,
        H * R * H.T + H * t * R * H.T + H * R * t.T * H.T,
    ):
        if x.key() == form.key():
            return MassMatrix(H, phi, s.M)  # type: ignore[arg-type]
    return None


def named(x: Operator, name: str) -> bool:
    return isinstance(x, BoundLeaf) and x.name == name

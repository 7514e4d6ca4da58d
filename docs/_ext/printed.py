"""Identities as print: the stacked vectors become symbols, so that both sides are expressions with a LaTeX form."""

from __future__ import annotations

from typing import Any

import soacraft as sc
from soacraft.algebra.blocks import Blocks
from soacraft.algebra.operator import Leaf
from soacraft.algebra.space import Space
from soacraft.ops.binding import GraphBinding
from soacraft.ops.namespace import VECTORS, Operators

SYMBOLS = {
    "v": "v", "vdot": r"\dot{v}", "V": "V", "V_plus": "V^{+}", "Delta_V": r"\Delta_{V}", "alpha": r"\alpha", "f": "f",
    "T": r"\mathcal{T}", "C": r"\mathcal{C}", "a": r"\mathfrak{a}", "b": r"\mathfrak{b}", "z": r"\mathfrak{z}",
    "eps": r"\epsilon", "nu": r"\nu",
}  # fmt: skip

_MASS = r"H\, \phi\, M\, \phi^{*}\, H^{*}"
#: Sides that are numbers, or depend on the depth of the tree, and so have no expression of their own.
BY_HAND = {
    "power series of phi": (r"\phi", r"\mathbf{I} + \mathcal{E}_{\phi} + \mathcal{E}_{\phi}^{2} + \cdots"),
    "the kernel is nilpotent": (r"\mathcal{E}_{\phi}^{n}", "0"),
    "determinant of the innovations factor": (r"\log\det\left[\mathbf{I} + H\, \phi\, \mathcal{K}\right]", "0"),
    "determinant of the mass matrix": (
        rf"\log\det\left[{_MASS}\right]",
        r"\textstyle\sum_{k} \log\det \mathcal{D}(k)",
    ),
}


class Symbol(Leaf):
    """A stacked vector as an operator from a space of one number, for print only."""

    def __init__(self, name: str, space: Space, binding: GraphBinding) -> None:
        self.name, self.latex_name, self.binding = name, SYMBOLS[name], binding
        self.rows, self.cols = space, Space("number", ["1"], [1], "print")

    def pattern(self) -> None:
        return None

    def blocks(self) -> Blocks:
        raise AssertionError("a symbol has no numbers")

    def apply(self, x: Any) -> Any:
        raise AssertionError("a symbol has no numbers")

    apply_T = apply

    def bound_to(self, binding: Any) -> Leaf:
        return Symbol(self.name, self.spaces[0], binding)


class Printed(Operators):
    """The operators of a model, with symbols for the stacked vectors."""

    def __init__(self, mb: sc.Multibody) -> None:
        super().__init__(GraphBinding(mb))
        found = sc.operators(mb)
        self._symbols = {name: Symbol(name, getattr(found, name).space, self.binding) for name in VECTORS}

    def __getattr__(self, name: str) -> Any:
        return self._symbols[name] if name in VECTORS else super().__getattr__(name)

    def sides(self, identity: sc.Identity) -> tuple[str, str]:
        """Left and right in LaTeX."""
        if identity.name in BY_HAND:
            return BY_HAND[identity.name]
        left, right = identity.left(self).latex(), identity.right(self).latex()
        return left, "0" if right.startswith(r"0\,") else right

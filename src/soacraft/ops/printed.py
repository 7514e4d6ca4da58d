"""Identities as print: the stacked vectors become symbols, so that both sides are expressions with text and LaTeX."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from soacraft.algebra.expressions.operator import Leaf, Operator
from soacraft.algebra.spaces.blocks import Blocks
from soacraft.algebra.spaces.space import Space
from soacraft.model.samples.chains import serial_chain
from soacraft.ops.binding import GraphBinding
from soacraft.ops.namespace import VECTORS, Operators

if TYPE_CHECKING:
    from soacraft.ops.identities import Identity

SYMBOLS = {
    "v": "v", "vdot": r"\dot{v}", "V": "V", "V_plus": "V^{+}", "Delta_V": r"\Delta_{V}", "alpha": r"\alpha", "f": "f",
    "T": r"\mathcal{T}", "C": r"\mathcal{C}", "a": r"\mathfrak{a}", "b": r"\mathfrak{b}", "z": r"\mathfrak{z}",
    "eps": r"\epsilon", "nu": r"\nu", "passive": r"T_\mathrm{passive}",
}  # fmt: skip


class Relation(NamedTuple):
    """Both sides of an identity, in text and in LaTeX."""

    left: str
    right: str
    latex_left: str
    latex_right: str

    @property
    def text(self) -> str:
        """left = right."""
        return f"{self.left} = {self.right}"

    @property
    def latex(self) -> str:
        """LaTeX of the relation."""
        return f"{self.latex_left} = {self.latex_right}"


_MASS = r"H\, \phi\, M\, \phi^{*}\, H^{*}"
#: Sides that are numbers, or depend on the depth of the tree, and so have no expression of their own.
BY_HAND = {
    "power series of phi": Relation(
        "phi", "I + E_phi + E_phi**2 + ...", r"\phi",
        r"\mathbf{I} + \mathcal{E}_{\phi} + \mathcal{E}_{\phi}^{2} + \cdots",
    ),
    "the kernel is nilpotent": Relation("E_phi**n", "0", r"\mathcal{E}_{\phi}^{n}", "0"),
    "determinant of the innovations factor": Relation(
        "log det(I + H*phi*K)", "0", r"\log\det\left[\mathbf{I} + H\, \phi\, \mathcal{K}\right]", "0",
    ),
    "determinant of the mass matrix": Relation(
        "log det(H*phi*M*phi.T*H.T)", "sum of log det D(k)", rf"\log\det\left[{_MASS}\right]",
        r"\textstyle\sum_{k} \log\det \mathcal{D}(k)",
    ),
}  # fmt: skip


class Symbol(Leaf):
    """A stacked vector as an operator from a space of one number, for print only."""

    def __init__(self, name: str, space: Space, binding: GraphBinding) -> None:
        self.name, self.latex_name, self.binding = name, SYMBOLS.get(name, rf"\mathrm{{{name}}}"), binding
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
    """The operators of a small model, with symbols for the stacked vectors."""

    def __init__(self) -> None:
        binding = GraphBinding(serial_chain(3))
        super().__init__(binding)
        spaces = {name: getattr(Operators(binding), name).space for name in VECTORS}
        self._leaves |= {name: Symbol(name, space, binding) for name, space in spaces.items()}
        self._leaves |= _closure_symbols(binding)

    def relation(self, identity: Identity) -> Relation:
        """Both sides of an identity."""
        if identity.name in BY_HAND:
            return BY_HAND[identity.name]
        left, right = identity.left(self), identity.right(self)
        return Relation(*(_text(side) for side in (left, right)), *(_latex(side) for side in (left, right)))


def _closure_symbols(binding: GraphBinding) -> dict[str, Leaf]:
    """The operators and vectors of closures, which `soacraft.loops` has, as symbols."""
    closure, node = Space("closure", ["c"], [3], "print"), Space("node", ["n"], [6], "print")
    between = {
        "Q": ("Q", closure, node), "Bc": (r"\mathcal{B}_{c}", binding.body, node),
        "Gc": ("G_{c}", closure, binding.hinge), "S": (r"\mathcal{S}", closure, closure),
        "Gcdot_v": (r"\dot{G}_{c} v", closure, None), "U": ("U", closure, None), "Udot": (r"\dot{U}", closure, None),
    }  # fmt: skip
    found: dict[str, Leaf] = {}
    for name, (latex, rows, cols) in between.items():
        found[name] = symbol = Symbol(name, rows, binding)
        symbol.latex_name = latex
        symbol.cols = symbol.cols if cols is None else cols
    return found


def _text(side: Operator) -> str:
    words = side.text()
    return "0" if words.startswith("0*") else words


def _latex(side: Operator) -> str:
    words = side.latex()
    return "0" if words.startswith(r"0\,") else words


@cache
def printed() -> Printed:
    """Identities as print, computed once."""
    return Printed()

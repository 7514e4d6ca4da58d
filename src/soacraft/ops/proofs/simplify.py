"""`sc.simplify`: an expression of the same value that costs less.

The value is kept by rewriting with relations only: the definitions, what completion derives from them, the user's
definitions and stated identities. The normal form of `prove` is the seal on the result: an expression whose normal
form differs is never returned.
"""

from __future__ import annotations

from functools import reduce

from soacraft.algebra.descriptions.cost import in_product, multiplications
from soacraft.algebra.expressions.held import released
from soacraft.algebra.expressions.nodes import Inverse, Product, Sum, product
from soacraft.algebra.expressions.operator import Leaf, Operator
from soacraft.algebra.rewriting.completion import Budget, OutOfBudget
from soacraft.algebra.rewriting.factoring import Factoring, Price
from soacraft.errors import SpaceError
from soacraft.ops.binding import Bound
from soacraft.ops.derivatives.leaves import SensitivityLeaf
from soacraft.ops.derived import DiagOf
from soacraft.ops.leaves import bound_identity
from soacraft.ops.proofs import stated
from soacraft.ops.proofs.forms import write
from soacraft.ops.proofs.letters import binding_of
from soacraft.ops.proofs.search import Search
from soacraft.ops.proofs.translate import Translator

#: A price: block products, leaves, inverses that only a rule knows, additions, multiplications, letters that the input
#: does not have.
ADDITION: Price = (0, 0, 0, 1, 0, 0)
#: The part of the time that the search may take; the rest is for the seal.
SEARCHING = 0.6


def simplify(expr: Operator, seconds: float = 2.0) -> Operator:
    """The cheapest expression found that has the same value: fewer block products with a vector (`expr.cost()`), then
    fewer leaves. The expression itself when none is found in the time given.

    >>> import soacraft as sc
    >>> H, phi, psi, K, M, I = sc.operators(sc.load("arm7"), "H phi psi K M I")
    >>> sc.simplify((I - H * psi * K) * H * phi)
    H*psi : hinge[7] <- body[42]
    >>> sc.simplify(H * psi * M * psi.T * H.T)
    D : hinge[7] <- hinge[7]
    >>> sc.simplify((I + H * phi * K).inv)
    I - H*psi*K : hinge[7] <- hinge[7]
    """
    expr = released(expr)
    if not isinstance(expr, Operator):
        raise SpaceError(f"simplify takes an operator, not {expr!r}.")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < float("inf"):
        raise SpaceError(f"seconds={seconds!r}: a positive number of seconds is wanted.")
    binding, budget = binding_of("simplify", expr), Budget(seconds)
    if binding is None:
        return expr
    given, leaves = expr, list(expr.leaves())
    while not budget.spent:
        found = _cheaper(expr, binding, budget.left)
        if found is expr:
            break
        expr = found if next(found.leaves(), None) is not None else bound_identity(found, leaves)
    if expr is given or not _rests_on_parameters(given, binding):
        return expr
    pinned = binding.pinned()
    return expr.with_leaves(lambda leaf: leaf.bound_to(pinned))


def _rests_on_parameters(expr: Operator, binding: Bound) -> bool:
    """True if relations may have been used that hold for some parameters of a model only: those of X for a pin whose
    axis passes through the body frame (000 Eq. 39), and stated identities.
    """
    known = stated.book_of(binding).identities.values()
    return bool(known) or any(isinstance(leaf, SensitivityLeaf) for leaf in expr.leaves())


def _cheaper(expr: Operator, binding: Bound, seconds: float) -> Operator:
    """One search; the expression itself when it finds nothing."""
    budget = Budget(seconds, terms=2_000)
    try:
        return Simplifier(Translator(binding, budget), expr).best()
    except OutOfBudget:
        found = _by_parts(expr, binding, budget.left)
        own = {leaf.name for leaf in _leaves(expr)}
        return found if price(found, own, binding) < price(expr, own, binding) else expr


def _by_parts(expr: Operator, binding: Bound, seconds: float) -> Operator:
    """Simplify an expression that is too long to be multiplied out: halves of a product, terms of a sum, one by one."""
    parts = expr.parts()
    if isinstance(expr, Product) and len(parts) > 2:
        parts = tuple(reduce(product, half) for half in (parts[: len(parts) // 2], parts[len(parts) // 2 :]))
    if isinstance(expr, Leaf) or seconds <= 0:
        return expr
    simpler = tuple(_cheaper(part, binding, seconds / len(parts)) for part in parts)
    return expr if all(a is b for a, b in zip(simpler, parts, strict=True)) else expr.with_parts(simpler)


class Simplifier:
    """Looks for cheaper forms of one expression."""

    def __init__(self, translator: Translator, expr: Operator) -> None:
        self.translator, self.expr = translator, expr
        self.own = {leaf.name for leaf in _leaves(expr)}
        self.start = translator.read(expr)
        stated.teach(translator)
        assert translator.binding is not None
        for leaf in stated.names_of(translator.binding):
            translator.letter(leaf)
        self._prices: dict[str, Price] = {}
        self.factoring = Factoring(self.letter_price, ADDITION, Budget(SEARCHING * translator.budget.seconds))

    def best(self) -> Operator:
        """The cheapest of all that was found; the expression itself when nothing is cheaper."""
        rows, cols = self.expr.spaces
        if self.translator.vanishes(self.start) is not None:
            return self._cheaper(self.translator.zero(rows, cols))
        search = Search(self.translator, self.factoring, self.start)
        found = search.run()
        written = write(self.translator, self.factoring.form(found), rows)
        if self.translator.vanishes(self.translator.read(written) - self.start) is None:
            return self.expr
        return self._cheaper(written)

    def _cheaper(self, found: Operator) -> Operator:
        return found if self.price(found) < self.price(self.expr) else self.expr

    # -- prices ---------------------------------------------------------------------------------------------------

    def letter_price(self, letter: str) -> Price:
        """Price of a letter, with its adjoint."""
        plain = letter.removesuffix(".T")
        if plain not in self._prices:
            self._prices[plain] = self.price(self.translator.operator(plain))
        return self._prices[plain]

    def price(self, expr: Operator) -> Price:
        """Price of an expression; prices are compared from left to right."""
        assert self.translator.binding is not None
        return price(expr, self.own, self.translator.binding)


def price(expr: Operator, own: set[str], binding: Bound) -> Price:
    """Price of an expression, compared from left to right; `own` are the names of leaves that cost nothing to write."""
    tree = binding.body.tree
    assert tree is not None
    leaves = _leaves(expr)
    new = sum(leaf.name not in own for leaf in leaves)
    runs = in_product(expr).at(n=tree.n, depth=max(tree.depth, default=0), branches=len(tree.branches))
    return runs, len(leaves), _inverses(expr), _additions(expr), multiplications(expr), new


def _leaves(expr: Operator) -> list[Leaf]:
    """The leaves as written, one for each time; those within a diagOf too."""
    if isinstance(expr, DiagOf):
        return [expr, *_leaves(expr.expr)]
    return [expr] if isinstance(expr, Leaf) else [leaf for part in expr.parts() for leaf in _leaves(part)]


def _additions(expr: Operator) -> int:
    own = len(expr.terms) - 1 if isinstance(expr, Sum) else 0
    return own + sum(map(_additions, expr.parts()))


def _inverses(expr: Operator) -> int:
    """Inverses that are not sparse: known by a rule, or not at all."""
    own = isinstance(expr, Inverse) and expr.pattern() is None
    return own + sum(_inverses(part) for part in expr.parts())

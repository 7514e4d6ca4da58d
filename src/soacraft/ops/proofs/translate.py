"""Expressions of one model as polynomials."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce, singledispatch
from itertools import repeat
from typing import Any

from soacraft.algebra.expressions.dispatch import no_rule
from soacraft.algebra.expressions.nodes import Identity, Inverse, Power, Product, Scaled, Sum, Transpose, product
from soacraft.algebra.expressions.operator import DIAGONAL, Leaf, Operator
from soacraft.algebra.expressions.rules import square_parts
from soacraft.algebra.rewriting.completion import Budget, Relation, System
from soacraft.algebra.rewriting.polynomial import Alphabet, Number, Polynomial, Word, exact, quotient
from soacraft.errors import SingularError
from soacraft.ops.binding import Bound
from soacraft.ops.derived import DOWN, UP, DiagOf, diag_of, lyapunov
from soacraft.ops.leaves import DefinedLeaf, SparseLeaf
from soacraft.ops.maps.known import of_second_model
from soacraft.ops.proofs import definitions
from soacraft.ops.proofs.definitions import Definition, words
from soacraft.ops.proofs.letters import Letters
from soacraft.ops.proofs.relations import SERIAL, SideRule, is_path, is_serial, own_relations, paper_letter
from soacraft.ops.table import NAMES

#: Kernel operators whose powers add up to a propagation operator.
SERIES = {"E_phi": "phi", "E_psi": "psi"}

#: leaf -> the relations it brings along, such as H*X = 0. `right` None is zero. Add to it to teach `prove` and
#: `simplify` a new kind of leaf.
side_rules: list[Callable[[Leaf], Iterable[SideRule]]] = []


class Translator(Letters):
    """Reads expressions of one binding as polynomials. What it meets on the way becomes letters, definitions (user's
    names, known inverses) and relations (unknown inverses, Lyapunov solutions, side rules, stated identities).
    """

    def __init__(self, binding: Bound | None, budget: Budget) -> None:
        super().__init__(binding)
        self.budget = budget
        self.definitions: list[Definition] = []
        self.relations: list[Relation] = []
        self.symmetric: list[str] = []
        self.stated: list[str] = []
        self.products_with_inverses: list[Polynomial] = []
        self._letters: dict[Any, str] = {}
        self._inverses: dict[Polynomial, tuple[str, Number]] = {}
        self._diagonals: dict[Polynomial, str] = {}
        self._alphabet = definitions.alphabet()
        self._systems: tuple[tuple[int, ...], dict[int, System]] = ((), {})

    @property
    def alphabet(self) -> Alphabet:
        """The letters met so far."""
        if not self._alphabet.symmetric.issuperset(self.symmetric):
            self._alphabet = definitions.alphabet(self.symmetric)
        return self._alphabet

    def systems(self) -> Iterator[System]:
        """Rules that decide equality: of the papers alone, with what was met, and with what holds on chains only. Those
        with more relations know more, but may not complete, so that the smaller ones are asked first.
        """
        met = (len(self.relations), len(self.symmetric), len(self.definitions))
        if self._systems[0] != met:
            self._systems = (met, {})
        made = self._systems[1]
        general = [r for r in self.relations if not r.name.endswith(SERIAL)]
        for part in ([], general, self.relations):
            if len(part) not in made:
                made[len(part)] = definitions.extended([self.unfolded(r) for r in part], self.symmetric)
            yield made[len(part)]

    def vanishes(self, p: Polynomial) -> System | None:
        """The first rules by which a polynomial is zero, None when none show it."""
        p = self.base(p)
        return next((system for system in self.systems() if not system.reduce(p, self.budget)), None)

    def unfolded(self, r: Relation) -> Relation:
        """A relation with every name but those of the papers replaced."""
        return Relation(r.name, r.source, self.paper(r.zero))

    def paper(self, p: Polynomial) -> Polynomial:
        """Polynomial in the names of the papers: user's names and inverses replaced."""
        return definitions.expanded(p, self.alphabet, reversed(self.definitions))

    def base(self, p: Polynomial) -> Polynomial:
        """Polynomial in the letters that decide equality."""
        return definitions.expanded(self.paper(p), self.alphabet)

    # -- reading --------------------------------------------------------------------------------------------------

    def read(self, expr: Operator) -> Polynomial:
        """The polynomial of an expression, its names as letters, multiplied out."""
        self.budget.check()
        return polynomial(expr, self)

    def transposed(self, p: Polynomial) -> Polynomial:
        """The star of a polynomial, by the letters known now that it was read."""
        return self.alphabet.transposed(p)

    def times(self, factors: Iterable[Polynomial]) -> Polynomial:
        """The product, within the budget."""
        found = Polynomial.of()
        for p in factors:
            self.budget.check(len(found) * len(p))
            found = found * p
        return found

    def power(self, expr: Power) -> Polynomial:
        """A power; those of a kernel operator bring along that they end with the longest path (000 Eq. 9)."""
        tree, kind = expr.spaces[0].tree, expr.arg.pattern()
        longest = 0 if tree is None or kind not in (UP, DOWN) else max(tree.depth, default=0)
        if not 1 < longest <= expr.n + 1:
            return self.times(repeat(self.read(expr.arg), expr.n))
        if longest <= expr.n:
            return self._vanishing_power(expr, longest)
        kernel = expr.arg.arg if isinstance(expr.arg, Transpose) else expr.arg
        if isinstance(kernel, SparseLeaf) and kernel.name in SERIES:
            self._learn_series(kernel.name, longest)
        return self.times(repeat(self.read(expr.arg), expr.n))

    def _vanishing_power(self, expr: Power, longest: int) -> Polynomial:
        """New letter for the power, which is zero on this tree: no path has more bodies than its depth."""
        key = expr.key()
        if key not in self._letters:
            self._letters[key] = letter = self._fresh(expr.text(), expr)
            self._on_this_tree(f"{expr.text()} is zero, a path has at most {longest} bodies", Polynomial.of(letter))
        return Polynomial.of(self._letters[key])

    def _learn_series(self, kernel: str, longest: int) -> None:
        """phi = I + E_phi + ... as far as the longest path goes."""
        terms: dict[Word, Number] = {(kernel,) * k: -1 for k in range(longest)}
        name = f"power series of {SERIES[kernel]}, a path has at most {longest} bodies"
        self._on_this_tree(name, Polynomial({(SERIES[kernel],): 1, **terms}))

    def _on_this_tree(self, name: str, zero: Polynomial) -> None:
        """A relation that holds on trees of this depth: it is checked on this model."""
        if name not in self.stated:
            self.stated.append(name)
            self.relations.append(Relation(name, "000 Eq. 9", zero))

    def letter(self, leaf: Leaf) -> str:
        """The letter of a leaf."""
        paper = paper_letter(leaf)
        if paper is not None and self._is_first(leaf):
            if paper == "Upsilon" and definitions.UPSILON not in self.relations:
                self._learn_upsilon(leaf)
            return paper
        key = leaf.key()
        if key not in self._letters:
            self._letters[key] = self._fresh(leaf.name, leaf)
            self._learn(leaf, self._letters[key])
        return self._letters[key]

    def _is_first(self, leaf: Leaf) -> bool:
        """True if it belongs to the model whose rules are ready, not to another that a map leads to."""
        own = self.binding
        return own is None or leaf.binding is own or leaf.binding.identity() == own.identity()

    def _fresh(self, name: str, meaning: Operator) -> str:
        while name in self.operators or name in NAMES or name == "D.inv":
            name += "'"
        self.operators[name] = meaning
        return name

    def _learn(self, leaf: Leaf, letter: str) -> None:
        """Add the definition and the relations of a new letter."""
        if "symmetric" in leaf.tags:
            self.symmetric.append(letter)
        if isinstance(leaf, DefinedLeaf):
            meaning = self.read(leaf.meaning)
            self.definitions.append(Definition(letter, meaning, leaf.source))
            return
        brought = [*own_relations(leaf), *(r for rule in side_rules for r in rule(leaf))]
        if paper_letter(leaf) is not None:
            brought += of_second_model(leaf)
        for name, source, left, right in brought:
            self.relate(name, source, left, right)

    def relate(self, name: str, source: str, left: Operator, right: Operator | None) -> None:
        """One more relation, left = right (zero for None)."""
        zero = self.read(left) if right is None else self.read(left) - self.read(right)
        if zero:
            self.relations.append(Relation(name, source, zero))

    def _learn_upsilon(self, leaf: Leaf) -> None:
        """Add the backward Lyapunov equation of Upsilon; on a single chain also the one without diagOf (000 Eq. 36-37).
        """
        self.relations.append(definitions.UPSILON)
        if is_serial(leaf):
            zero = words("Upsilon - E_psi.T Upsilon E_psi - H.T D.inv H")
            self.relations.append(Relation(f"backward Lyapunov equation of Upsilon{SERIAL}", "000 Eq. 37", zero))

    # -- diagonals ------------------------------------------------------------------------------------------------

    def diagonal(self, leaf: DiagOf) -> Polynomial:
        """diagOf is linear; it keeps block-diagonal words, and of phi*X or X*phi.T it keeps X."""
        inner = definitions.base().reduce(self.base(self.read(leaf.expr)), self.budget)
        found, rest = self._split(inner)
        if rest:
            c = rest.terms[self.alphabet.leading(rest)]
            found = found + Polynomial.of(self._diagonal_letter(leaf, rest.scaled(quotient(1, c)))).scaled(c)
        self._learn_lyapunov(leaf.expr, found)
        return found

    def _learn_lyapunov(self, expr: Operator, diagonal: Polynomial) -> None:
        """The diagonal of A X B*, and of A* X B, is the solution of a Lyapunov equation (004 Eq. 15, 25)."""
        if not isinstance(expr, Product) or len(expr.factors) < 3:
            return
        left, *middle, right = expr.factors
        X = reduce(product, middle)
        for A, B, source in ((left, right.T, "004 Eq. 15"), (left.T, right, "004 Eq. 25")):
            if not (is_path(A) and is_path(B) and X.pattern() == DIAGONAL):
                continue
            E, F = A.kernel, B.kernel
            Y = lyapunov(E, X, F) if A is left else lyapunov(E.T, X, F.T)
            zero = diagonal - self.read(Y)
            if zero:
                self.relations.append(Relation(f"diagonal of {expr.text()}", source, zero))

    def _split(self, p: Polynomial) -> tuple[Polynomial, Polynomial]:
        """The diagonal of the words where it is plain to see, and the other words."""
        kept, rest = Polynomial(), Polynomial()
        for word, c in p.terms.items():
            paths = [x for x in word if x.removesuffix(".T") in ("phi", "psi")]
            local = [self.operator(x).pattern() for x in word if x not in paths]
            if len(paths) <= 1 and all(pattern == DIAGONAL for pattern in local):
                kept = kept + Polynomial({tuple(x for x in word if x not in paths): c})
            else:
                rest = rest + Polynomial({word: c})
        return kept, rest

    def _diagonal_letter(self, leaf: DiagOf, rest: Polynomial) -> str:
        star = self.alphabet.transposed(rest)
        if rest in self._diagonals:
            return self._diagonals[rest]
        if star in self._diagonals:
            return self.alphabet.star(self._diagonals[star])
        meaning = diag_of(self.write(rest, *leaf.spaces))
        letter = self._diagonals[rest] = self._fresh(meaning.text(), meaning)
        if star == rest:
            self.symmetric.append(letter)
        for inner, value, source in DIAGONALS:
            normal = definitions.base().reduce(definitions.expanded(words(inner), self.alphabet))
            kept, same = self._split(normal)
            c = same.terms[self.alphabet.leading(same)]
            if same.scaled(quotient(1, c)) == rest:
                zero = kept + Polynomial.of(letter).scaled(c) - words(value)
                self.relations.append(Relation(f"diagonal of {inner.replace(' ', '*')}", source, zero))
        return letter

    # -- inverses -------------------------------------------------------------------------------------------------

    def inverse(self, expr: Inverse) -> Polynomial:
        """Inverse of the complete product where the papers know it, else of its parts one by one."""
        p, parts = self.read(expr.arg), square_parts(expr.arg)
        normal = definitions.base().reduce(self.base(p), self.budget)
        if not normal:
            raise SingularError(f"{expr.arg.text()} is zero, it has no inverse.")
        c = normal.terms[self.alphabet.leading(normal)]
        monic = normal.scaled(quotient(1, c))
        if len(parts) > 1 and monic not in definitions.inverses():
            return self.times([self.read(part.inv) for part in reversed(parts)])
        letter, size = self._inverse_letter(expr, p, monic, c)
        return Polynomial.of(letter).scaled(quotient(size, c))

    def _inverse_letter(self, expr: Inverse, p: Polynomial, normal: Polynomial, c: Number) -> tuple[str, Number]:
        """A letter and a number: it is the inverse of that number times the normal form."""
        star = self.alphabet.transposed(normal)
        if normal in self._inverses:
            return self._inverses[normal]
        if star in self._inverses:
            letter, size = self._inverses[star]
            return self.alphabet.star(letter), size
        known = definitions.inverses().get(normal)
        if known is not None and known.inverse == Polynomial.of("D.inv"):
            return "D.inv", 1
        if known is not None:
            expr = Inverse(self.write(known.operator, *expr.spaces))
        letter = self._fresh(expr.text(), expr)
        if star == normal:
            self.symmetric.append(letter)
        one, inverse = Polynomial.of(), Polynomial.of(letter)
        if known is not None:
            self.definitions.append(Definition(letter, known.inverse, known.source, known.rules))
            self.products_with_inverses += [known.operator * inverse - one, inverse * known.operator - one]
        else:
            for zero in (p * inverse - one, inverse * p - one):
                self.relations.append(Relation(f"inverse of {expr.arg.text()}", "definition of the inverse", zero))
        self._inverses[normal] = (letter, c if known is None else known.size)
        return self._inverses[normal]


# -- kinds of expression -----------------------------------------------------------------------------------------------


@singledispatch
def polynomial(expr: Operator, t: Translator) -> Polynomial:
    """The polynomial of a kind of expression."""
    raise no_rule("prove", expr)


@polynomial.register
def _(expr: Identity, t: Translator) -> Polynomial:
    return Polynomial.of()


@polynomial.register
def _(expr: Leaf, t: Translator) -> Polynomial:
    return Polynomial.of(t.letter(expr))


@polynomial.register
def _(expr: DiagOf, t: Translator) -> Polynomial:
    return t.diagonal(expr)


@polynomial.register
def _(expr: Scaled, t: Translator) -> Polynomial:
    return t.read(expr.arg).scaled(exact(expr.factor))


@polynomial.register
def _(expr: Transpose, t: Translator) -> Polynomial:
    return t.transposed(t.read(expr.arg))


@polynomial.register
def _(expr: Sum, t: Translator) -> Polynomial:
    return reduce(Polynomial.plus, map(t.read, expr.terms))


@polynomial.register
def _(expr: Product, t: Translator) -> Polynomial:
    return t.times(list(map(t.read, expr.factors)))


@polynomial.register
def _(expr: Power, t: Translator) -> Polynomial:
    return t.power(expr)


@polynomial.register
def _(expr: Inverse, t: Translator) -> Polynomial:
    return of_inverse(expr.arg, expr, t)


@singledispatch
def of_inverse(arg: Operator, expr: Inverse, t: Translator) -> Polynomial:
    """Polynomial of an inverse, by the kind of its argument: as the papers know it, or a new letter."""
    return t.inverse(expr)


@of_inverse.register
def _(arg: Identity, expr: Inverse, t: Translator) -> Polynomial:
    return Polynomial.of()


@of_inverse.register
def _(arg: Scaled, expr: Inverse, t: Translator) -> Polynomial:
    return t.read(arg.arg.inv).scaled(quotient(1, exact(arg.factor))) if arg.factor else t.inverse(expr)


@of_inverse.register
def _(arg: Transpose, expr: Inverse, t: Translator) -> Polynomial:
    return t.transposed(t.read(arg.arg.inv))


@of_inverse.register
def _(arg: Power, expr: Inverse, t: Translator) -> Polynomial:
    return t.times(repeat(t.read(arg.arg.inv), arg.n))


@of_inverse.register
def _(arg: Product, expr: Inverse, t: Translator) -> Polynomial:
    parts = square_parts(arg)
    if len(parts) < len(arg.factors):
        return t.inverse(expr)
    return t.times([t.read(part.inv) for part in reversed(parts)])


#: Block diagonals that the papers know: (expression, its diagonal, source).
DIAGONALS = (
    ("phi M phi.T", "R", "004 Eq. 15"),
    ("psi.T H.T D.inv H psi", "Upsilon", "004 Eq. 25"),
    ("E_psi.T Upsilon E_psi", "Upsilon - H.T D.inv H", "000 Eq. 36"),
)

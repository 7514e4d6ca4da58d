"""Chains of equal expressions: each side is unfolded and reduced until the two meet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from soacraft.algebra.expressions.nodes import Inverse, Product, Scaled, Sum, Transpose
from soacraft.algebra.expressions.operator import Leaf, Operator
from soacraft.algebra.rewriting.completion import Rule, System
from soacraft.algebra.rewriting.polynomial import Polynomial
from soacraft.ops.proofs import definitions
from soacraft.ops.proofs.relations import SERIAL
from soacraft.ops.proofs.translate import Translator


@dataclass(frozen=True)
class Reason:
    """Reason for an equality: a name, its source, and the rule when it is one."""

    name: str
    source: str
    rule: Rule | None = None


@dataclass(frozen=True)
class Chain:
    """Expressions from left to right, each with the reason that it equals the one before."""

    translator: Translator
    links: tuple[tuple[Operator, Reason], ...]

    @property
    def stated(self) -> bool:
        """True if it rests on an identity that was stated for one model."""
        return any(name in self.translator.stated for name in self._names())

    @property
    def serial(self) -> bool:
        """True if it rests on relations that hold on chains only."""
        return any(name.endswith(SERIAL) for name in self._names())

    def _names(self) -> set[str]:
        rules = (reason.rule for _, reason in self.links if reason.rule is not None)
        return {r.name for rule in rules for r in rule.ancestry()}


MULTIPLIED = Reason("multiplying out", "")


def between(translator: Translator, left: Operator, right: Operator) -> Chain | None:
    """A chain from left to right, None when the rules do not join them."""
    p, q = translator.read(left), translator.read(right)
    system = translator.vanishes(p - q)
    if system is None:
        return None
    down, up = (list(_descent(translator, side, system)) for side in (p, q))
    place = {r: j for j, (r, _) in reversed(list(enumerate(up)))}
    i = next(i for i, (r, _) in enumerate(down) if r in place)
    j = place[down[i][0]]
    rows, cols = (left - right).rows, (left - right).cols
    written = [(translator.write(r, rows, cols), reason) for r, reason in down[: i + 1]]
    back = [(translator.write(r, rows, cols), reason) for r, reason in up[: j + 1]]
    written[0] = (_as_given(left, p, written[0][0]), MULTIPLIED)
    back[0] = (_as_given(right, q, back[0][0]), MULTIPLIED)
    links = _joined(left, written, back, right)
    return Chain(translator, links)


def _as_given(side: Operator, p: Polynomial, written: Operator) -> Operator:
    """The side itself when it is written out already, in whatever order."""
    terms = side.terms if isinstance(side, Sum) else (side,)
    plain = all(_is_word(term.arg if isinstance(term, Scaled) else term) for term in terms)
    return side if plain and len(terms) == len(p) else written


def _is_word(x: Operator) -> bool:
    """A product of letters."""
    letters = x.factors if isinstance(x, Product) else (x,)
    return all(isinstance(y.arg if isinstance(y, (Transpose, Inverse)) else y, Leaf) for y in letters)


def _descent(translator: Translator, p: Polynomial, system: System) -> Iterator[tuple[Polynomial, Reason]]:
    """Steps from a polynomial down to its normal form, each with its name."""
    yield p, MULTIPLIED
    letters = translator.alphabet
    for definition in (*reversed(translator.definitions), *definitions.DEFINITIONS):
        unfolded = definitions.unfolded(p, definition, letters)
        if unfolded != p:
            p = unfolded
            yield p, _unfolding(definition)
    for rule, reduced in system.steps(p, translator.budget):
        yield reduced, _reason(rule)


def _unfolding(definition: definitions.Definition) -> Reason:
    """A name replaced by its meaning; an inverse by what both products with the operator show to be one."""
    if not definition.rules:
        return Reason(f"definition of {definition.name}", definition.source)
    left, meaning = (definition.name,), definition.meaning
    rule = Rule(left, meaning, "", "", definition.rules)
    return Reason(f"inverse of {definition.name.removesuffix('.inv')}", definition.source, rule)


def _reason(rule: Rule) -> Reason:
    if not rule.derived:
        return Reason(rule.name, rule.source, rule)
    given = dict.fromkeys(r.source for r in rule.ancestry() if not r.derived)
    return Reason(rule.title, "from " + ", ".join(given), rule)


def _joined(
    left: Operator, down: list[tuple[Operator, Reason]], up: list[tuple[Operator, Reason]], right: Operator
) -> tuple[tuple[Operator, Reason], ...]:
    """left, down to where the sides meet, and up again to right; expressions written alike once only."""
    links = list(down)
    links += [(up[k - 1][0], up[k][1]) for k in range(len(up) - 1, 0, -1)]
    links.append((right, MULTIPLIED))
    found: list[tuple[Operator, Reason]] = []
    last = left
    for expr, reason in links:
        if expr.text() == last.text():
            continue
        found.append((expr, reason))
        last = expr
    if found and found[-1][0].text() == right.text():
        found[-1] = (right, found[-1][1])
    return tuple(found)

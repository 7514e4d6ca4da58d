"""The search for cheaper polynomials: multiples of relations are added as long as something gets cheaper."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from soacraft.algebra.rewriting.completion import Budget, OutOfBudget, Relation, System, complete
from soacraft.algebra.rewriting.factoring import Factoring, Price
from soacraft.algebra.rewriting.polynomial import Number, Polynomial, Word, quotient
from soacraft.ops.proofs import definitions
from soacraft.ops.proofs.translate import Translator

#: Number of polynomials that are followed at once, of their neighbours that are examined, and of rounds that may pass
#: without anything cheaper.
BEAM, CLOSE, PATIENCE = 5, 14, 2
#: Polynomials with more terms are taken as they come.
TERMS = 60
#: Relations with more terms make nothing cheaper.
LONG = 8


class Search:
    """A beam search among the polynomials that relations make equal."""

    def __init__(self, translator: Translator, factoring: Factoring, start: Polynomial) -> None:
        self.translator, self.factoring, self.start = translator, factoring, start
        self.system = self._system()
        self.index = self._indexed()

    def run(self) -> Polynomial:
        """The cheapest polynomial found."""
        best, waited = self.start, 0
        seen: dict[Polynomial, None] = {}  # in the order they came, so that every run is the same
        try:
            for p in self._starts():
                seen[p] = None
                best = min(best, p, key=self._price)
            beam = sorted(seen, key=self._price)
            while beam and waited < PATIENCE:
                fresh = dict.fromkeys(q for p in beam for q in self._close(p) if q not in seen)
                seen |= fresh
                beam = heapq.nsmallest(BEAM, fresh, key=self._price)
                if beam and self._price(beam[0]) < self._price(best):
                    best, waited = beam[0], 0
                else:
                    waited += 1
            return self._renamed(best)
        except OutOfBudget:
            return best  # so far

    def _renamed(self, p: Polynomial) -> Polynomial:
        """Polynomial with the user's names for single operators, where the expression was written with them."""
        letters = self.translator.alphabet
        for d in self.translator.definitions:
            word = next(iter(d.meaning), ())
            if len(word) == 1 and d.meaning == Polynomial.of(*word):
                q = p.substituted(word[0], Polynomial.of(d.name))
                q = q.substituted(letters.star(word[0]), Polynomial.of(letters.star(d.name)))
                p = min(p, q, key=self._price)
        return p

    def _price(self, p: Polynomial) -> Price:
        return self.factoring.form(p).price if p else self.factoring.nothing

    def _starts(self) -> Iterator[Polynomial]:
        """Polynomials to start from: the expression as written, in the names of the papers, and reduced in several
        ways.
        """
        paper = self.translator.paper(self.start)
        yield self.start
        yield paper
        yield self.system.reduce(self.start, self.factoring.budget)
        yield self.system.reduce(paper, self.factoring.budget)
        base = self.translator.base(paper)
        yield from (system.reduce(base, self.factoring.budget) for system in self.translator.systems())

    # -- relations ------------------------------------------------------------------------------------------------

    def _system(self) -> System:
        """The rules with all names as letters, and what the translator met."""
        t = self.translator
        if not t.relations:
            return definitions.named()
        met = [t.unfolded(r) for r in t.relations]
        key = (t.alphabet.symmetric, frozenset(met))
        if key not in _systems:
            if len(_systems) > 64:
                _systems.clear()
            relations = definitions.with_adjoints(met, t.alphabet)
            _systems[key] = complete(t.alphabet, relations, Budget(0.5), definitions.named(), limit=40)
        return _systems[key]

    def _relations(self) -> Iterable[Polynomial]:
        t = self.translator
        given = [*(d.relation for d in (*definitions.DEFINITIONS, *t.definitions)), *t.relations]
        yield from (r.zero for r in definitions.with_adjoints(given, t.alphabet))
        yield from t.products_with_inverses
        yield from (rule.zero for rule in self.system.rules)

    def _indexed(self) -> dict[str, list[tuple[Word, Number, Polynomial]]]:
        """Words of the relations by their first letter: the word, its coefficient, the relation."""
        found: dict[str, list[tuple[Word, Number, Polynomial]]] = {}
        for zero in dict.fromkeys(self._relations()):
            if len(zero) > LONG:
                continue
            for word, c in zero.terms.items():
                if word:
                    found.setdefault(word[0], []).append((word, c, zero))
        return found

    def _neighbours(self, p: Polynomial) -> Iterator[Polynomial]:
        """One word of p replaced by what a relation says of a part of it."""
        if len(p) > TERMS:
            return
        for word, c in p.terms.items():
            for i, letter in enumerate(word):
                for part, d, zero in self.index.get(letter, ()):
                    if word[i : i + len(part)] == part:
                        yield p.plus(zero.between(word[:i], word[i + len(part) :]), -quotient(c, d))

    def _close(self, p: Polynomial) -> list[Polynomial]:
        """The neighbours that look cheapest before any factors are taken out."""
        self.factoring.budget.check()
        return heapq.nsmallest(CLOSE, dict.fromkeys(self._neighbours(p)), key=self.factoring.plain)


_systems: dict[tuple[frozenset[str], frozenset[Relation]], System] = {}

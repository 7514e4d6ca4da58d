"""Rewriting of polynomials by rules, and completion: every overlap of two rules is resolved by a new rule.

A rule `word -> polynomial` comes from a relation that was given, or from an overlap of two others: then it names them
as its parents. When completion ends, two polynomials are equal by the relations exactly when they reduce to the same
one (noncommutative Buchberger, Knuth-Bendix).
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count

from soacraft.algebra.rewriting.polynomial import Alphabet, Number, Polynomial, Word, quotient


class OutOfBudget(Exception):
    """Rewriting took more terms, rules or time than it was given."""


class Contradiction(OutOfBudget):
    """The relations make the identity zero: one of them cannot hold, such as the inverse of a singular operator."""


class Budget:
    """Limits of rewriting: its time and the number of terms of a polynomial."""

    def __init__(self, seconds: float = 5.0, terms: int = 20_000) -> None:
        self.until, self.seconds, self.terms = time.thread_time() + seconds, seconds, terms

    def check(self, terms: int = 0) -> None:
        """Raise `OutOfBudget` when it is used up."""
        if terms > self.terms:
            raise OutOfBudget(f"more than {self.terms} terms")
        if time.thread_time() > self.until:
            raise OutOfBudget(f"more than {self.seconds:g} s")

    @property
    def left(self) -> float:
        """The time that is left, in seconds."""
        return self.until - time.thread_time()

    @property
    def spent(self) -> bool:
        """True if the time is over."""
        return self.left < 0


@dataclass(frozen=True)
class Relation:
    """zero = 0, with a name and the source that says so."""

    name: str
    source: str
    zero: Polynomial


@dataclass(frozen=True, eq=False)
class Rule:
    """left -> right. A derived rule has parents: two that overlap in a word, then those that reduced the result."""

    left: Word
    right: Polynomial
    name: str
    source: str
    parents: tuple[Rule, ...] = ()
    overlap: Word = ()

    @property
    def derived(self) -> bool:
        """True if it follows from other rules."""
        return bool(self.parents)

    @property
    def title(self) -> str:
        """Name of the rule; a derived rule is called by its equation."""
        return self.name or repr(self)

    @property
    def zero(self) -> Polynomial:
        """left - right."""
        return Polynomial.of(*self.left) - self.right

    def ancestry(self) -> list[Rule]:
        """All rules it was derived from, parents before children, itself last."""
        found: dict[int, Rule] = {}

        def visit(rule: Rule) -> None:
            if id(rule) not in found:
                for parent in rule.parents:
                    visit(parent)
                found[id(rule)] = rule

        visit(self)
        return list(found.values())

    def __repr__(self) -> str:
        return f"{'*'.join(self.left)} = {self.right!r}"


@dataclass
class System:
    """Rules for one alphabet; `complete` makes a confluent one of relations."""

    alphabet: Alphabet
    rules: list[Rule] = field(default_factory=list)
    index: dict[str, list[Rule]] = field(default_factory=dict)
    confluent: bool = False

    def add(self, rule: Rule) -> None:
        """One more rule."""
        self.rules.append(rule)
        self.index.setdefault(rule.left[0], []).append(rule)

    def remove(self, rule: Rule) -> None:
        self.rules.remove(rule)
        self.index[rule.left[0]].remove(rule)

    def match(self, word: Word) -> tuple[int, Rule] | None:
        """The first place where a rule applies."""
        for i, letter in enumerate(word):
            for rule in self.index.get(letter, ()):
                if word[i : i + len(rule.left)] == rule.left:
                    return i, rule
        return None

    def reduce(self, p: Polynomial, budget: Budget | None = None, used: dict[int, Rule] | None = None) -> Polynomial:
        """Rewritten until no rule applies, largest words first; the rules that were used are noted in `used`."""
        key, work = self.alphabet.key, dict(p.terms)
        done: dict[Word, Number] = {}
        heap = [_Largest(key(word), word) for word in work]
        heapq.heapify(heap)
        for turn in count():
            if not heap:
                return Polynomial(done)
            if budget is not None and turn % 64 == 0:
                budget.check(len(work) + len(done))
            word = heapq.heappop(heap).word
            c = work.pop(word, 0)
            if not c:
                continue
            found = self.match(word)
            if found is None:
                done[word] = c
                continue
            i, rule = found
            if used is not None:
                used[id(rule)] = rule
            for middle, d in rule.right.terms.items():
                new = word[:i] + middle + word[i + len(rule.left) :]
                if new not in work:
                    heapq.heappush(heap, _Largest(key(new), new))
                work[new] = work.get(new, 0) + c * d
        raise AssertionError("the loop ends by itself")

    def steps(self, p: Polynomial, budget: Budget) -> Iterator[tuple[Rule, Polynomial]]:
        """Reduction of p one rule at a time, each applied to all terms it fits: each rule and its result."""
        while True:
            rule = self._next(p)
            if rule is None:
                return
            alone = System(self.alphabet)
            alone.add(rule)
            p = alone.reduce(p, budget)
            yield rule, p

    def _next(self, p: Polynomial) -> Rule | None:
        for word in sorted(p.terms, key=self.alphabet.key, reverse=True):
            found = self.match(word)
            if found is not None:
                return found[1]
        return None

    def oriented(self, relation: Polynomial) -> tuple[Word, Polynomial]:
        """zero = 0 as largest word -> the rest."""
        word = self.alphabet.leading(relation)
        c = relation.terms[word]
        rest: dict[Word, Number] = {w: quotient(-d, c) for w, d in relation.terms.items() if w != word}
        return word, Polynomial(rest)


@dataclass(frozen=True)
class _Largest:
    key: tuple[int, int, tuple[tuple[int, str], ...]]
    word: Word

    def __lt__(self, other: _Largest) -> bool:
        return self.key > other.key


class Completion:
    """Resolves overlaps, shortest first, until none is left or the budget is used up."""

    def __init__(self, alphabet: Alphabet, budget: Budget, limit: int = 400) -> None:
        self.system, self.budget, self.limit = System(alphabet), budget, limit
        self.pairs: list[tuple[int, int, Rule, Rule, int]] = []
        self.order = count()
        self.made = 0

    def run(self, relations: Iterable[Relation], start: System | None = None) -> System:
        """A confluent system of the relations; of those and the rules of a confluent one with `start`."""
        if start is not None:
            for rule in start.rules:
                self.system.add(rule)
        try:
            for r in relations:
                self.take(r.zero, r.name, r.source, (), ())
            while self.pairs:
                self.budget.check()
                self.resolve(*heapq.heappop(self.pairs)[2:])
            self.system.confluent = True
        except Contradiction:
            raise
        except OutOfBudget:
            self.system.confluent = False
        return self.system

    def take(self, zero: Polynomial, name: str, source: str, parents: tuple[Rule, ...], overlap: Word) -> None:
        """Make a rule of a relation, unless the rules imply it; rules that it reduces are added again as relations."""
        used: dict[int, Rule] = {}
        reduced = self.system.reduce(zero, self.budget, used)
        if not reduced:
            return
        if () in reduced.terms and len(reduced) == 1:
            raise Contradiction("the relations contradict each other")
        left, right = self.system.oriented(reduced)
        if reduced != zero and not parents:
            origin = Rule(*self.system.oriented(zero), name, source)
            parents, name, source = (origin, *used.values()), "", ""
        elif parents:
            parents = (*parents, *(rule for rule in used.values() if all(rule is not p for p in parents)))
        rule = Rule(left, right, name, source, parents, overlap)
        self.made += 1
        if self.made > self.limit:
            raise OutOfBudget(f"more than {self.limit} rules")
        old = [r for r in self.system.rules if _inside(left, r.left)]
        for r in old:
            self.system.remove(r)
        self.system.add(rule)
        for r in self.system.rules:
            self._overlaps(rule, r)
            if r is not rule:
                self._overlaps(r, rule)
        for r in old:
            self.take(r.zero, "", "", (r,), ())

    def _overlaps(self, a: Rule, b: Rule) -> None:
        for k in range(1, min(len(a.left), len(b.left))):
            if a.left[-k:] == b.left[:k]:
                size = len(a.left) + len(b.left) - k
                heapq.heappush(self.pairs, (size, next(self.order), a, b, k))

    def resolve(self, a: Rule, b: Rule, k: int) -> None:
        """The word where a and b overlap in k letters, rewritten by each: the difference is zero."""
        if not {id(a), id(b)} <= {id(r) for r in self.system.rules}:
            return
        before, after = a.left[: len(a.left) - k], b.left[k:]
        zero = a.right.between((), after) - b.right.between(before, ())
        self.take(zero, "", "", (a, b), a.left + after)


def _inside(short: Word, long: Word) -> bool:
    return any(long[i : i + len(short)] == short for i in range(len(long) - len(short) + 1))


def complete(
    alphabet: Alphabet, relations: Iterable[Relation], budget: Budget, start: System | None = None, limit: int = 400
) -> System:
    """A system for relations; `.confluent` says whether it decides equality or was cut short.

    >>> xx = Polynomial.of("x", "x") - Polynomial.of("x")
    >>> xyx = Polynomial.of("x", "y", "x") - Polynomial.of("y")
    >>> found = complete(Alphabet(), [Relation("projection", "", xx), Relation("", "", xyx)], Budget())
    >>> found.confluent, sorted(map(repr, found.rules))
    (True, ['x*x = x', 'x*y = y', 'y*x = y'])
    """
    return Completion(alphabet, budget, limit).run(relations, start)

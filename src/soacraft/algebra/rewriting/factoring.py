"""Polynomials written with brackets: common factors taken out on either side, so that the result is cheap."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from soacraft.algebra.rewriting.completion import Budget
from soacraft.algebra.rewriting.polynomial import Number, Polynomial, Word, quotient

#: Polynomials of more terms than SMALL are factored by FEW of the divisors that fit.
SMALL, FEW = 6, 2

#: Compared from left to right; added up over everything that runs.
Price = tuple[int, ...]


class Form(NamedTuple):
    """A word, or a sum of forms with coefficients, or a product of forms."""

    price: Price
    word: Word = ()
    terms: tuple[tuple[Number, Form], ...] = ()
    factors: tuple[Form, ...] = ()


class Factoring:
    """The cheapest bracketing found for polynomials, given the price of each letter and of an addition."""

    def __init__(self, price: Callable[[str], Price], addition: Price, budget: Budget) -> None:
        self._price, self.addition, self.budget = price, addition, budget
        self.nothing: Price = tuple(0 for _ in addition)
        self._known: dict[Polynomial, Form] = {}
        self._words: dict[Word, Price] = {}
        self._letters: dict[str, Price] = {}

    def price(self, word: Word) -> Price:
        """Price of a word."""
        found = self._words.get(word)
        if found is None:
            found = self._words[word] = _added(self.nothing, *map(self._letter, word))
        return found

    def _letter(self, letter: str) -> Price:
        found = self._letters.get(letter)
        if found is None:
            found = self._letters[letter] = self._price(letter)
        return found

    def plain(self, p: Polynomial) -> Price:
        """Price of a polynomial without factoring."""
        return _added(self.nothing, *map(self.price, p.terms), *[self.addition] * (len(p.terms) - 1))

    def form(self, p: Polynomial) -> Form:
        """The cheapest form found of a polynomial that is not zero."""
        if p not in self._known:
            self.budget.check()
            sizes: set[Number] = {c if c > 0 else -c for c in p.terms.values()}
            if len(sizes) == 1 and len(p) > 1 and sizes != {1}:
                c = sizes.pop()
                inner = self.form(p.scaled(quotient(1, c)))
                self._known[p] = Form(inner.price, terms=((c, inner),))
                return self._known[p]
            self._known[p] = min(self._forms(p), key=lambda form: form.price)
        return self._known[p]

    def _forms(self, p: Polynomial) -> Iterator[Form]:
        yield self._sum(p)
        if len(p) < 2:
            return
        left, right = common_start(list(p)), common_end(list(p))
        if left or right:
            yield self._stripped(p, left, right)
            return
        tries = [(*divided(p, q, mirrored), q, mirrored) for mirrored in (False, True) for q in _divisors(p, mirrored)]
        tries = [t for t in tries if len(t[0]) > 1]
        tries.sort(key=lambda t: self._left_over(*t[:3]))
        for cofactor, rest, q, mirrored in tries[: FEW if len(p) > SMALL else None]:
            yield self._divided(cofactor, q, rest, mirrored)

    def _left_over(self, cofactor: Polynomial, rest: Polynomial, q: Polynomial) -> Price:
        """Price of cofactor * q + rest before it is factored further."""
        return _added(self.plain(cofactor), self.plain(q), self.plain(rest))

    def _sum(self, p: Polynomial) -> Form:
        terms = tuple((c, Form(self.price(word), word)) for word, c in p.terms.items())
        return Form(self.plain(p), terms=terms)

    def _stripped(self, p: Polynomial, left: Word, right: Word) -> Form:
        """left * inner * right."""
        short = min(len(word) for word in p)
        right = right[max(0, len(left) + len(right) - short) :]
        inner = self.form(p.mapped(lambda word: word[len(left) : len(word) - len(right)]))
        return self._product(Form(self.price(left), left), inner, Form(self.price(right), right))

    def _divided(self, cofactor: Polynomial, q: Polynomial, rest: Polynomial, mirrored: bool) -> Form:
        """cofactor * q + rest; mirrored: q * cofactor + rest."""
        pair = (self.form(q), self.form(cofactor)) if mirrored else (self.form(cofactor), self.form(q))
        made = self._product(*pair)
        if not rest:
            return made
        other = self.form(rest)
        more = other.terms or ((1, other),)
        return Form(_added(made.price, other.price, self.addition), terms=((1, made), *more))

    def _product(self, *factors: Form) -> Form:
        kept = tuple(f for f in factors if f.word or f.terms or f.factors)
        return Form(_added(self.nothing, *(f.price for f in kept)), factors=kept)


def _added(*prices: Price) -> Price:
    return tuple(map(sum, zip(*prices, strict=True)))


def common_start(words: list[Word]) -> Word:
    """The letters that all words begin with."""
    first, last = min(words), max(words)
    n = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:n]


def common_end(words: list[Word]) -> Word:
    """The letters that all words end with."""
    return common_start([word[::-1] for word in words])[::-1]


def _divisors(p: Polynomial, mirrored: bool) -> Iterator[Polynomial]:
    """Candidates for a common right (mirrored: left) factor of several words: the remainders after a shared start, and
    shared ends.
    """

    def turn(word: Word) -> Word:
        return word[::-1] if mirrored else word

    starts: dict[str, list[Word]] = {}
    ends: dict[str, list[Word]] = {}
    for word in p:
        if word:
            starts.setdefault(turn(word)[0], []).append(turn(word))
            ends.setdefault(turn(word)[-1], []).append(turn(word))
    seen = set()
    for group in starts.values():
        if len(group) > 1:
            n = len(common_start(group))
            q = Polynomial({turn(word[n:]): p.terms[turn(word)] for word in group})
            lead = min(q.terms)
            q = q.scaled(quotient(1, q.terms[lead]))
            if q not in seen:
                seen.add(q)
                yield q
    for group in ends.values():
        if len(group) > 1:
            yield Polynomial.of(*turn(common_end(group)))


def divided(p: Polynomial, q: Polynomial, mirrored: bool = False) -> tuple[Polynomial, Polynomial]:
    """(cofactor, rest) with p = cofactor * q + rest, as much as can be taken out; mirrored: p = q * cofactor + rest.

    >>> a, b, c = (Polynomial.of(x) for x in "abc")
    >>> divided(a * b + c * b + a, b)
    (a + c, a)
    """
    lead = max(q.terms, key=lambda word: (len(word), word))
    size, first = len(lead), q.terms[lead]
    cofactor: dict[Word, Number] = {}
    rest = dict(p.terms)
    for word, own in p.terms.items():
        n = len(word) - size
        if n < 0 or (word[:size] if mirrored else word[n:]) != lead:
            continue
        c = quotient(own, first)
        u = word[size:] if mirrored else word[:n]
        piece = [(w + u if mirrored else u + w, c * d) for w, d in q.terms.items()]
        if all(rest.get(w) == d for w, d in piece):
            cofactor[u] = c
            for w, _ in piece:
                del rest[w]
    return Polynomial(cofactor), Polynomial(rest)

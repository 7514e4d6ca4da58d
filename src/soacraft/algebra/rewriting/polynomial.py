"""Noncommutative polynomials: sums of words of letters with exact coefficients, by which expressions are compared.

A letter is the text of an operator (`H`, `phi.T`, `D.inv`); a word is a product of letters, the empty word is the
identity. Letters have no other meaning in this module.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction

Word = tuple[str, ...]
Number = int | Fraction

#: A float this many units in the last place from a fraction of small denominator is read as that fraction.
NEAR = 2
DENOMINATOR = 10_000


def exact(c: int | float | Fraction) -> Number:
    """Rational number meant by a coefficient: 0.1 is 1/10, 1/3 is 1/3; any other float is converted exactly.

    >>> exact(0.1), exact(1 / 3), exact(2.0)
    (Fraction(1, 10), Fraction(1, 3), 2)
    """
    if isinstance(c, float):
        whole = Fraction(c)
        short = whole.limit_denominator(DENOMINATOR)
        c = short if abs(whole - short) <= NEAR * Fraction(math.ulp(c)) else whole
    return int(c) if c == int(c) else c


def quotient(a: Number, b: Number) -> Number:
    """a / b."""
    if b in (1, -1):
        return a * b
    return exact(Fraction(a) / b)


class Polynomial:
    """A sum of words with coefficients that are not zero. Immutable.

    >>> x, y = Polynomial.of("x"), Polynomial.of("y")
    >>> (x + y) * (x - y)
    x*x - x*y + y*x - y*y
    >>> x * y - y * x == Polynomial()
    False
    """

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: Mapping[Word, Number] | None = None) -> None:
        self.terms: dict[Word, Number] = {w: c for w, c in (terms or {}).items() if c}
        self._hash: int | None = None

    @staticmethod
    def _made(terms: dict[Word, Number]) -> Polynomial:
        """Polynomial of these terms, which are not copied and must not contain a zero."""
        made = Polynomial.__new__(Polynomial)
        made.terms, made._hash = terms, None
        return made

    @staticmethod
    def of(*letters: str) -> Polynomial:
        """One word; the identity without letters."""
        return Polynomial({letters: 1})

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __len__(self) -> int:
        return len(self.terms)

    def __iter__(self) -> Iterator[Word]:
        return iter(self.terms)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def plus(self, other: Polynomial, factor: Number = 1) -> Polynomial:
        """self + factor * other."""
        return Polynomial._made(collected(self.terms, ((w, factor * c) for w, c in other.terms.items())))

    def __add__(self, other: Polynomial) -> Polynomial:
        return self.plus(other)

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self.plus(other, -1)

    def __mul__(self, other: Polynomial) -> Polynomial:
        return Polynomial._made(
            collected({}, ((a + b, c * d) for a, c in self.terms.items() for b, d in other.terms.items()))
        )

    def scaled(self, factor: Number) -> Polynomial:
        """factor * self."""
        return Polynomial({w: factor * c for w, c in self.terms.items()})

    def between(self, left: Word, right: Word) -> Polynomial:
        """left * self * right, for words."""
        return Polynomial._made({left + w + right: c for w, c in self.terms.items()})

    def mapped(self, change: Callable[[Word], Word]) -> Polynomial:
        """Every word replaced by another."""
        return Polynomial._made(collected({}, ((change(w), c) for w, c in self.terms.items())))

    def substituted(self, letter: str, by: Polynomial) -> Polynomial:
        """Every occurrence of a letter replaced by a polynomial."""
        found = Polynomial()
        for word, c in self.terms.items():
            product = Polynomial({(): c})
            rest: Word = ()
            for x in word:
                if x == letter:
                    product, rest = product.between((), rest) * by, ()
                else:
                    rest = (*rest, x)
            found = found + product.between((), rest)
        return found

    def letters(self) -> set[str]:
        """The letters it is written with."""
        return {x for word in self.terms for x in word}

    def __repr__(self) -> str:
        words = [_term(w, c) for w, c in sorted(self.terms.items(), key=lambda t: (len(t[0]), t[0]))]
        text = " ".join(words).removeprefix("+ ")
        return "-" + text.removeprefix("- ") if text.startswith("- ") else text or "0"


def _term(word: Word, c: Number) -> str:
    sign, size = ("-", -c) if c < 0 else ("+", c)
    text = "*".join(word) or "I"
    return f"{sign} {text}" if size == 1 else f"{sign} {size}*{text}"


def collected(start: Mapping[Word, Number], more: Iterable[tuple[Word, Number]]) -> dict[Word, Number]:
    """Terms added up, those that cancel left out."""
    found = dict(start)
    for word, c in more:
        total = found.get(word, 0) + c
        if total:
            found[word] = total if isinstance(total, int) or total.denominator != 1 else int(total)
        else:
            found.pop(word, None)
    return found


class Alphabet:
    """Properties of letters: the symmetric ones, their weights (1 by default), and their order.

    >>> Alphabet(symmetric={"P"}).adjoint(("H", "P", "phi.T"))
    ('phi', 'P', 'H.T')
    """

    def __init__(
        self, symmetric: Iterable[str] = (), weights: Mapping[str, int] | None = None, order: Iterable[str] = ()
    ) -> None:
        self.symmetric = frozenset(symmetric)
        self.weights = dict(weights or {})
        self._rank = {x: i for i, x in enumerate(order)}
        self._keys: dict[Word, tuple[int, int, tuple[tuple[int, str], ...]]] = {}

    def star(self, letter: str) -> str:
        """The adjoint of a letter."""
        if letter in self.symmetric:
            return letter
        return letter[:-2] if letter.endswith(".T") else letter + ".T"

    def adjoint(self, word: Word) -> Word:
        """The adjoint of a word."""
        return tuple(self.star(x) for x in reversed(word))

    def transposed(self, p: Polynomial) -> Polynomial:
        """The adjoint of a polynomial."""
        return p.mapped(self.adjoint)

    def key(self, word: Word) -> tuple[int, int, tuple[tuple[int, str], ...]]:
        """Sort key by weight, then length, then letters: an order that products preserve and that has no endless
        descent.
        """
        found = self._keys.get(word)
        if found is None:
            plain = [x.removesuffix(".T") for x in word]
            last = len(self._rank)
            found = (
                sum(self.weights.get(x, 1) for x in plain),
                len(word),
                tuple((self._rank.get(x, last), y) for x, y in zip(plain, word, strict=True)),
            )
            self._keys[word] = found
        return found

    def leading(self, p: Polynomial) -> Word:
        """The largest word."""
        return max(p.terms, key=self.key)

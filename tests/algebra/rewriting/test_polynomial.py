"""Noncommutative polynomials: arithmetic against matrices, exact coefficients, the order of words."""

from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries

from soacraft.algebra.rewriting.polynomial import Alphabet, Polynomial, exact, quotient

LETTERS = ("a", "b", "a.T", "b.T", "s")
rng = np.random.default_rng(3)
A, B, S = rng.standard_normal((3, 4, 4))
MATRICES = {"a": A, "b": B, "a.T": A.T, "b.T": B.T, "s": S + S.T}
ALPHABET = Alphabet(symmetric={"s"})

words = st.lists(st.sampled_from(LETTERS), max_size=4).map(tuple)
polynomials = st.dictionaries(words, st.integers(-3, 3), max_size=4).map(Polynomial)


def value(p):
    """The matrix a polynomial stands for."""
    found = np.zeros((4, 4))
    for word, c in p.terms.items():
        found = found + float(c) * reduce(np.matmul, [MATRICES[x] for x in word], np.eye(4))
    return found


def close(x, y):
    np.testing.assert_allclose(x, y, atol=1e-12 * (1 + np.max(np.abs(x)) + np.max(np.abs(y))))


@tries(60)
@given(polynomials, polynomials)
def test_arithmetic_is_that_of_matrices(p, q):
    close(value(p + q), value(p) + value(q))
    close(value(p - q), value(p) - value(q))
    close(value(p * q), value(p) @ value(q))
    close(value(p.scaled(3)), 3 * value(p))
    close(value(ALPHABET.transposed(p)), value(p).T)
    close(value(p.between(("a",), ("s", "b"))), A @ value(p) @ MATRICES["s"] @ B)


@tries(40)
@given(polynomials, polynomials)
def test_a_letter_is_replaced_everywhere(p, q):
    expected = np.zeros((4, 4))
    for word, c in p.terms.items():
        parts = [value(q) if x == "a" else MATRICES[x] for x in word]
        expected = expected + float(c) * reduce(np.matmul, parts, np.eye(4))
    close(value(p.substituted("a", q)), expected)


def test_terms_that_cancel_are_gone():
    a, b = Polynomial.of("a"), Polynomial.of("b")
    assert not a * b - a * b
    assert a + b == b + a
    assert hash(a + b) == hash(b + a)
    assert a * b != b * a
    assert len((a + b) * (a + b)) == 4
    assert (a + b).letters() == {"a", "b"}


def test_how_it_prints():
    a, b = Polynomial.of("a"), Polynomial.of("b")
    assert repr(a * b - Polynomial.of().scaled(2)) == "-2*I + a*b"
    assert repr(a.scaled(Fraction(1, 2)) - b) == "1/2*a - b"
    assert repr(Polynomial()) == "0"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (3, 3),
        (2.0, 2),
        (0.1, Fraction(1, 10)),
        (0.1 * 3, Fraction(3, 10)),
        (1 / 3, Fraction(1, 3)),
        (-0.75, Fraction(-3, 4)),
        (2**0.5, Fraction(2**0.5)),
        (1 + 1e-13, Fraction(1 + 1e-13)),
    ],
)
def test_floats_are_read_as_what_was_meant(given, wanted):
    assert exact(given) == wanted
    assert isinstance(exact(given), int) == (wanted == int(wanted))


def test_quotients_stay_exact():
    assert quotient(6, 3) == 2
    assert isinstance(quotient(6, 3), int)
    assert quotient(1, 3) * 3 == 1
    assert quotient(5, -1) == -5


@tries(60)
@given(words, words, words, words)
def test_products_keep_the_order_of_words(u, v, x, y):
    heavy = Alphabet(weights={"a": 3}, order=("s", "b"))
    if heavy.key(u) < heavy.key(v):
        assert heavy.key(x + u + y) < heavy.key(x + v + y)


def test_the_adjoint_of_an_adjoint():
    word = ("a", "s", "b.T")
    assert ALPHABET.adjoint(word) == ("b", "s", "a.T")
    assert ALPHABET.adjoint(ALPHABET.adjoint(word)) == word

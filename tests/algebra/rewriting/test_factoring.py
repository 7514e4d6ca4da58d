"""Factoring: what is taken out of brackets multiplies out to what was there, and costs no more."""

from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries

from soacraft.algebra.rewriting.completion import Budget
from soacraft.algebra.rewriting.factoring import Factoring, common_end, common_start, divided
from soacraft.algebra.rewriting.polynomial import Polynomial

words = st.lists(st.sampled_from("abc"), max_size=4).map(tuple)
polynomials = st.dictionaries(words, st.integers(-2, 2), min_size=1, max_size=5).map(Polynomial)


def factoring():
    return Factoring(lambda letter: (1,), (0,), Budget(5.0))


def multiplied_out(form):
    if form.terms:
        found = Polynomial()
        for c, part in form.terms:
            found = found + multiplied_out(part).scaled(c)
        return found
    found = Polynomial.of(*form.word)
    for factor in form.factors:
        found = found * multiplied_out(factor)
    return found


@tries(80)
@given(polynomials, polynomials)
def test_forms_multiply_out(p, q):
    for x in (p, p * q, p * q + q):
        if x:
            form = factoring().form(x)
            assert multiplied_out(form) == x
            assert form.price <= factoring().plain(x)


@tries(60)
@given(polynomials, polynomials, st.booleans())
def test_division_leaves_a_rest(p, q, mirrored):
    if p and q:
        cofactor, rest = divided(p, q, mirrored)
        assert (q * cofactor if mirrored else cofactor * q) + rest == p


def test_products_are_found():
    a, b, c, one = (Polynomial.of(*x) for x in ("a", "b", "c", ""))
    assert factoring().form((one - a * b) * c * (one - b * a)).price == (5,)
    assert factoring().form(a * b + a * c).price == (3,)
    assert factoring().form((a + b) * (b + c)).price == (4,)
    assert factoring().form((a * b + b * a).scaled(3)).price == (4,)


def test_common_starts_and_ends():
    assert common_start([("a", "b", "c"), ("a", "b")]) == ("a", "b")
    assert common_end([("a", "b", "c"), ("c",)]) == ("c",)
    assert common_start([("a",), ()]) == ()

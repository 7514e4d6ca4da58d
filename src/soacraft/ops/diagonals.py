"""The block diagonal of an expression by O(n) recursions: Lyapunov solutions instead of one column for each block.

An expression is multiplied out into words S0 p1 S1 p2 ... pk Sk of sparse operators S and propagators p = phi, psi or
their transposes. A word loses its propagators by

    A X B*  =  Y + A~ Y + Y B~*           X = Y - E_A Y E_B*               (004 Eq. 15)
    A* X B  =  Y + A~* Y + Y B~ + R       X = Y - diagOf{ E_A* Y E_B }     (004 Eq. 21, 25)
    A~ = E_A A = A E_A

The remainder R has only blocks of bodies on different branches. Propagators that all go one way are power series of
their kernels, of which the diagonal has those terms that lead as far down as up.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce, singledispatch
from itertools import product as combinations
from typing import NamedTuple

from soacraft.algebra.expressions.nodes import Identity, Inverse, Power, Product, Scaled, Sum, Transpose, product
from soacraft.algebra.expressions.operator import DIAGONAL, Leaf, Operator
from soacraft.ops.derived import DiagOf, LyapunovLeaf, lyapunov
from soacraft.ops.leaves import PickOffLeaf, PropagatorLeaf
from soacraft.ops.remainder import named_solution, propagator

#: Words that an expression is multiplied out into at most; a longer one has no form here.
MOST_WORDS = 64

Factors = tuple[Operator, ...]


class Word(NamedTuple):
    """A number times a product of sparse operators and propagators."""

    factor: float
    factors: Factors


class NoForm(Exception):
    """The diagonal of an expression is not known as recursions."""


def diagonal_form(x: Operator) -> Operator | None:
    """A block-diagonal expression with the diagonal of x that O(n) recursions compute; None when none is known.

    >>> import soacraft as sc
    >>> psi, M, Omega = sc.operators(sc.load("arm7"), "psi M Omega")
    >>> diagonal_form(psi.T * M * psi), diagonal_form(2 * Omega)
    (E_psi.T.lyapunov(M) : body[42] <- body[42], 2*Upsilon : body[42] <- body[42])
    """
    space = x.spaces[0]
    try:
        words = [end for word in _words(x, False) for end in _without_propagators(word) if _returns(end.factors)]
    except NoForm:
        return None
    terms = [_diagonal(word, x) for word in words]
    return reduce(lambda a, b: a + b, terms) if terms else Scaled(0, Identity(space))


def _returns(factors: Factors) -> bool:
    """True unless a sparse word surely has no block on the diagonal."""
    steps = _steps(factors)
    return steps is None or 0 in steps


def _diagonal(word: Word, x: Operator) -> Operator:
    """The block diagonal of a sparse word."""
    sparse = reduce(product, word.factors) if word.factors else Identity(x.spaces[0])
    diagonal = sparse if sparse.pattern() == DIAGONAL else DiagOf(sparse)
    return diagonal if word.factor == 1 else word.factor * diagonal


# -- words -------------------------------------------------------------------------------------------------------------


def _words(x: Operator, transposed: bool) -> list[Word]:
    """An expression multiplied out."""
    if x.pattern() is not None:
        return [Word(1, (x.T if transposed else x,))]
    words = _multiplied_out(x, transposed)
    if len(words) > MOST_WORDS:
        raise NoForm
    return words


@singledispatch
def _multiplied_out(x: Operator, transposed: bool) -> list[Word]:
    raise NoForm


@_multiplied_out.register
def _(x: Leaf, transposed: bool) -> list[Word]:
    meaning = x.definition()
    if meaning is None:
        raise NoForm
    return _words(meaning, transposed)


@_multiplied_out.register
def _(x: PropagatorLeaf, transposed: bool) -> list[Word]:
    return [Word(1, (x.T if transposed else x,))]


@_multiplied_out.register
def _(x: Transpose, transposed: bool) -> list[Word]:
    return _words(x.arg, not transposed)


@_multiplied_out.register
def _(x: Scaled, transposed: bool) -> list[Word]:
    return [Word(x.factor * c, factors) for c, factors in _words(x.arg, transposed)]


@_multiplied_out.register
def _(x: Sum, transposed: bool) -> list[Word]:
    return [word for term in x.terms for word in _words(term, transposed)]


@_multiplied_out.register
def _(x: Product, transposed: bool) -> list[Word]:
    return _times(x.factors[::-1] if transposed else x.factors, transposed)


@_multiplied_out.register
def _(x: Power, transposed: bool) -> list[Word]:
    return _times((x.arg,) * x.n, transposed)


@_multiplied_out.register
def _(x: Inverse, transposed: bool) -> list[Word]:
    structured = x.known()
    if structured is None:
        raise NoForm
    return _words(structured[0], transposed)


def _times(factors: Factors, transposed: bool) -> list[Word]:
    products = [Word(1, ())]
    for x in factors:
        words = _words(x, transposed)
        if len(products) * len(words) > MOST_WORDS:
            raise NoForm
        products = [Word(a.factor * b.factor, a.factors + b.factors) for a in products for b in words]
    return products


# -- propagators -------------------------------------------------------------------------------------------------------


def _leaf(x: Operator) -> PropagatorLeaf | None:
    """The propagator that x, or its transpose, is."""
    inner = x.arg if isinstance(x, Transpose) else x
    return inner if isinstance(inner, PropagatorLeaf) else None


def _kernel(x: Operator) -> Operator:
    """E of a propagator, E* of a transposed one."""
    leaf = _leaf(x)
    assert leaf is not None
    return leaf.kernel.T if isinstance(x, Transpose) else leaf.kernel


def _is_up(x: Operator) -> bool:
    return not isinstance(x, Transpose)


def _has_tilde(x: Operator) -> bool:
    leaf = _leaf(x)
    return leaf is not None and leaf.what.tilde


def _ways(factors: Factors) -> list[bool]:
    """True for each propagator in a word that goes up, False for one that goes down."""
    return [_is_up(x) for x in factors if _leaf(x) is not None]


def _without_propagators(word: Word) -> Iterator[Word]:
    """Sparse words that together have the diagonal of a word."""
    c, factors = word
    at = [i for i, x in enumerate(factors) if _leaf(x) is not None]
    if not at:
        yield word
        return
    pair = next((k for k in range(len(at) - 1) if _is_up(factors[at[k]]) and not _is_up(factors[at[k + 1]])), None)
    if pair is None and all(_is_up(factors[i]) == _is_up(factors[at[0]]) for i in at):
        yield from _power_series(word, at)
        return
    if pair is None:  # from the base up and down again: the remainder must have no diagonal
        if len(at) > 2 or not _remainder_drops_out(factors[: at[0]], factors[at[1] + 1 :]):
            raise NoForm
        pair = 0
    for tail in _solved(factors[: at[pair]], factors[at[pair] : at[pair + 1] + 1], factors[at[pair + 1] + 1 :]):
        yield from _without_propagators(Word(c, tail))


def _solved(head: Factors, pair: Factors, tail: Factors) -> Iterator[Factors]:
    """A X B* or A* X B in a word as Y + A~ Y + Y B~*, which have a propagator less each."""
    first, *middle, last = pair
    X = reduce(product, middle) if middle else Identity(first.spaces[1])
    if X.pattern() != DIAGONAL:
        raise NoForm
    solution = lyapunov(_kernel(first), X, _kernel(last).T)
    assert isinstance(solution, LyapunovLeaf)
    Y = named_solution(solution)
    E, F = _kernel(first), _kernel(last)
    outer_left = (*head, E) if _has_tilde(first) else head  # A~ = E A
    outer_right = (F, *tail) if _has_tilde(last) else tail
    yield (*outer_left, Y, *outer_right)
    A, B = (_plain(first), E), (F, _plain(last))
    if _is_up(first):  # a further pair is solved where only block-diagonal factors lie between its propagators
        A = A[::-1] if _ways(tail)[:1] == [False] else A
        B = B[::-1] if _ways(head)[-1:] == [True] else B
    yield (*outer_left, *A, Y, *outer_right)
    yield (*outer_left, Y, *B, *outer_right)


def _plain(x: Operator) -> Operator:
    """The propagator of the same kernel without a tilde."""
    if not _has_tilde(x):
        return x
    plain = propagator(_kernel(x if _is_up(x) else x.T))
    return plain if _is_up(x) else plain.T


def _remainder_drops_out(head: Factors, tail: Factors) -> bool:
    """True where S0 R S2 has no diagonal: R(k, l) has k and l on different branches, and to meet on the diagonal both
    must be children of one body.
    """
    ways = [_steps(part) for part in (head, tail)]
    if any(way is None for way in ways):
        return False
    up, down = ways[0], ways[1]
    assert up is not None and down is not None
    return max(map(abs, up | down)) <= 1 and not (1 in up and -1 in down)


def _power_series(word: Word, at: list[int]) -> Iterator[Word]:
    """The terms E^a S E^b ... of propagators that go one way whose steps add up to none."""
    c, factors = word
    sign = 1 if _is_up(factors[at[0]]) else -1
    steps = _steps(tuple(x for i, x in enumerate(factors) if i not in at))
    if steps is None:
        raise NoForm
    longest = max((-sign * step for step in steps), default=0)
    if longest > 3:
        raise NoForm
    first = [int(_has_tilde(factors[i])) for i in at]
    for powers in combinations(*(range(least, longest + 1) for least in first)):
        if -sign * sum(powers) not in steps:
            continue
        power = dict(zip(at, powers, strict=True))
        series = [(_kernel(x),) * power[i] if i in power else (x,) for i, x in enumerate(factors)]
        yield Word(c, tuple(y for part in series for y in part))


def _steps(factors: Factors) -> frozenset[int] | None:
    """Numbers of bodies that a product of sparse operators may lead up; None where they are not known."""
    steps = frozenset({0})
    for x in factors:
        inner = x.arg if isinstance(x, Transpose) else x
        pattern = DIAGONAL if isinstance(inner, PickOffLeaf) else x.pattern()  # a node is where its body is
        if pattern is None or not pattern <= frozenset("dut"):
            return None
        steps = frozenset(a + {"d": 0, "u": 1, "t": -1}[b] for a in steps for b in pattern)
    return steps

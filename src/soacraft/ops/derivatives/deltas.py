"""Derivatives of every kind of expression, the turning of the axes left out.

    delta (A + B) = delta A + delta B                 each in the axes of the sum
    delta (A B)   = (delta A) B + A (delta B)         and the turning that is left between A and B
    delta A*      = (delta A)*
    delta A^-1    = -A^-1 (delta A) A^-1

None is zero. A leaf of a kind that is not listed stands for its definition; without one it is numbers that stay.
"""

from __future__ import annotations

from functools import singledispatch

from soacraft.algebra.expressions.dispatch import no_rule
from soacraft.algebra.expressions.nodes import Identity, Inverse, Power, Product, Scaled, Sum, Transpose
from soacraft.algebra.expressions.operator import Leaf, Operator
from soacraft.errors import SpaceError
from soacraft.ops.derivatives.deriving import Deriving
from soacraft.ops.derivatives.flexible import FlexibleDirection
from soacraft.ops.derivatives.gauges import gauges
from soacraft.ops.derivatives.leaves import SensitivityLeaf, ZeroLeaf
from soacraft.ops.derivatives.rates import LyapunovRate, Term, minus, plus, star, times
from soacraft.ops.derivatives.sko import BlockRateLeaf, second
from soacraft.ops.derived import DiagOf, LyapunovLeaf, SweptInverse, diag_of, lyapunov
from soacraft.ops.leaves import PickOffLeaf, PropagatorLeaf, SparseLeaf
from soacraft.ops.roots import RootLeaf, RootRate

#: Largest number of factors of a product that is differentiated: the product rule makes as many products of as many
#: factors.
MOST_FACTORS = 250


@singledispatch
def delta(x: Operator, d: Deriving) -> Term:
    """The derivative of x, the turning of the axes left out; None for zero."""
    raise no_rule("diff", x)


@delta.register(Identity)
def _(x: Identity, d: Deriving) -> Term:
    return None


@delta.register(Scaled)
def _(x: Scaled, d: Deriving) -> Term:
    change = d.delta(x.arg)
    if change is None or x.factor == 0:
        return None
    return Scaled(x.factor * change.factor, change.arg) if isinstance(change, Scaled) else Scaled(x.factor, change)


@delta.register(Transpose)
def _(x: Transpose, d: Deriving) -> Term:
    return star_of(d.delta(x.arg))


@delta.register(Sum)
def _(x: Sum, d: Deriving) -> Term:
    return d.joined(x, plus(*(_relative_to(term, x, d) for term in x.terms)))


def _relative_to(term: Operator, whole: Operator, d: Deriving) -> Term:
    """The derivative of a term of a sum, in the axes of the sum."""
    to, from_ = d.offsets(term, whole)
    return plus(times(to, term), minus(times(term, from_)), d.delta(term))


@delta.register(Product)
def _(x: Product, d: Deriving) -> Term:
    return d.joined(x, _product(x.factors, d))


@delta.register(Power)
def _(x: Power, d: Deriving) -> Term:
    return d.joined(x, _product((x.arg,) * x.n, d))


def _product(factors: tuple[Operator, ...], d: Deriving) -> Term:
    if len(factors) > MOST_FACTORS:
        raise SpaceError(
            f"the derivative of a product of {len(factors)} factors is a sum of as many products; "
            f"{MOST_FACTORS} is the most allowed: differentiate its parts."
        )
    terms: list[Term] = []
    for i, f in enumerate(factors):
        head, tail = factors[:i], factors[i + 1 :]
        if i:
            terms.append(times(*head, d.seam(factors[i - 1], f), *factors[i:]))
        terms.append(times(*head, d.delta(f), *tail))
    return plus(*terms)


@delta.register(Inverse)
@delta.register(SweptInverse)
def _(x: Inverse | SweptInverse, d: Deriving) -> Term:
    return minus(times(x, d.delta(x.arg), x))


# -- leaves ------------------------------------------------------------------------------------------------------------


@delta.register(Leaf)
def _(x: Leaf, d: Deriving) -> Term:
    meaning = x.definition()
    if meaning is not None:
        return d.delta(meaning)
    gauges(x)  # refuses what is not known
    return None


@delta.register(SparseLeaf)
@delta.register(PropagatorLeaf)
def _(x: SparseLeaf | PropagatorLeaf, d: Deriving) -> Term:
    gauges(x)  # refuses what is not known
    return d.rates(x.name)


@delta.register(PickOffLeaf)
def _(x: PickOffLeaf, d: Deriving) -> Term:
    """Constant in the axes of nodes and bodies, but where modes move the nodes."""
    u = d.u
    return u.leaf("dB", *x.nodes) if isinstance(u, FlexibleDirection) and u.moves(x.nodes) else None


@delta.register(SensitivityLeaf)
def _(x: SensitivityLeaf, d: Deriving) -> Term:
    if isinstance(d.u, FlexibleDirection):
        raise second(x.name, d.u)
    change = x.extended(d.u) if x.terms else x
    return change if change.terms else None


@delta.register(BlockRateLeaf)
def _(x: BlockRateLeaf, d: Deriving) -> Term:
    raise second(x.name, d.u)


@delta.register(DiagOf)
def _(x: DiagOf, d: Deriving) -> Term:
    change = d.delta(x.expr)
    return None if change is None else diag_of(change)


@delta.register(LyapunovLeaf)
def _(x: LyapunovLeaf, d: Deriving) -> Term:
    """X = Y - E Y B* gives dX + dE Y B* + E Y dB* = dY - E dY B*."""
    E, B = x.E, x.other
    to, from_ = d.turning(x.X, d.gauge(x))
    own = plus(times(to, x.X), minus(times(x.X, from_)), d.delta(x.X))
    left, right = times(d.delta(E), x, B.T), times(E, x, star_of(d.delta(B)))
    if x.source == "004 Eq. 23":
        edges = plus(left, right)
        left, right = None if edges is None else diag_of(edges), None
    changed = plus(own, left, right)
    if changed is None:
        return None
    return LyapunovRate(E, changed, B) if "symmetric" in x.claims else lyapunov(E, changed, B)


@delta.register(RootLeaf)
def _(x: RootLeaf, d: Deriving) -> Term:
    """W W* = X gives W dW* + dW W* = dX."""
    change = _of_numbers(x.X, d)
    return None if change is None else RootRate(x, change)


@delta.register(RootRate)
def _(x: RootRate, d: Deriving) -> Term:
    """W Y* + Y W* = Z gives W dY* + dY W* = dZ - dW Y* - Y dW*."""
    dW = _of_numbers(x.W, d)
    change = plus(_of_numbers(x.Z, d), minus(times(dW, x.T)), minus(times(x, star_of(dW))))
    return None if change is None else RootRate(x.W, change)


def _of_numbers(x: Operator, d: Deriving) -> Term:
    """The derivative of the numbers of x, the turning of the axes included; None for zero."""
    change = d.full(x)
    return None if isinstance(change, ZeroLeaf) else change


def star_of(x: Term) -> Term:
    """The transpose, zero for zero."""
    return None if x is None else star(x)

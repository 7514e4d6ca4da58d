"""Gauges: the axes in which an operator's result and argument are expressed.

"f" for forces on bodies, "v" for velocities, "" for hinges, which have no axes, the names of nodes for their axes; None
for an identity, which takes any. In a product the gauges in the middle fit, as they do in mechanics; see
`soacraft.ops.derivatives.diff`.
"""

from __future__ import annotations

from functools import singledispatch

from soacraft.algebra.expressions.nodes import Identity, Inverse, Power, Product, Scaled, Sum, Transpose
from soacraft.algebra.expressions.operator import Leaf, Operator
from soacraft.errors import SpaceError
from soacraft.ops.derivatives.flexible import FlexibleRateLeaf
from soacraft.ops.derivatives.leaves import SensitivityLeaf, ZeroLeaf
from soacraft.ops.derivatives.rates import GAUGES
from soacraft.ops.derivatives.sko import BlockRateLeaf
from soacraft.ops.derived import DiagOf, LyapunovLeaf, SweptInverse
from soacraft.ops.given import GivenInverse, GivenLeaf
from soacraft.ops.leaves import PickOffLeaf, PropagatorLeaf, SparseLeaf
from soacraft.ops.roots import RootLeaf, RootRate

Gauge = str | tuple[str, ...] | None
#: Gauges of the result and of the argument.
Gauges = tuple[Gauge, Gauge]

_STARRED: dict[Gauge, Gauge] = {"f": "v", "v": "f"}
_SENSITIVITIES: dict[str, Gauges] = {"X": ("f", "f"), "W": ("f", "f"), "B_hat": ("f", "v"), "dH": ("", "f")}


@singledispatch
def gauges(x: Operator) -> Gauges:
    """Gauges of the result of x and of its argument."""
    raise SpaceError(f"{x.text()} has no derivative: no rule is known for it.")


@gauges.register
def _(x: Identity) -> Gauges:
    return None, None


@gauges.register
def _(x: Scaled) -> Gauges:
    return gauges(x.arg)


@gauges.register
def _(x: Transpose) -> Gauges:
    to, from_ = gauges(x.arg)
    return _STARRED.get(from_, from_), _STARRED.get(to, to)


@gauges.register
def _(x: Inverse | SweptInverse) -> Gauges:
    to, from_ = gauges(x.arg)
    return from_, to


@gauges.register
def _(x: Power) -> Gauges:
    return gauges(x.arg) if x.n else (None, None)


@gauges.register
def _(x: Sum) -> Gauges:
    return next((g for g in map(gauges, x.terms) if g != (None, None)), (None, None))


@gauges.register
def _(x: Product) -> Gauges:
    known = [g for g in map(gauges, x.factors) if g != (None, None)]
    return (known[0][0], known[-1][1]) if known else (None, None)


@gauges.register
def _(x: Leaf) -> Gauges:
    meaning = x.definition()
    if meaning is None:
        raise SpaceError(f"{x.name} has no derivative: no rule is known for it.")
    return gauges(meaning)


@gauges.register
def _(x: SparseLeaf | PropagatorLeaf) -> Gauges:
    if x.name not in GAUGES:
        raise SpaceError(f"{x.name} has no derivative: no rule is known for it.")
    return GAUGES[x.name]


@gauges.register
def _(x: PickOffLeaf) -> Gauges:
    return "f", x.nodes


@gauges.register
def _(x: SensitivityLeaf) -> Gauges:
    return (x.nodes, x.nodes) if x.kind == "W_nd" else _SENSITIVITIES[x.kind]


@gauges.register
def _(x: BlockRateLeaf) -> Gauges:
    if not isinstance(x, FlexibleRateLeaf):
        return "", ""  # an SKO model has no axes
    if x.kind == "dB":
        return "f", x.nodes
    return {"dE_phi": ("f", "f"), "dH": ("", "f"), "dM": ("f", "v")}[x.kind]


@gauges.register
def _(x: LyapunovLeaf) -> Gauges:
    to, other = gauges(x.E)[0], gauges(x.other)[0]
    return to, _STARRED.get(other, other)


@gauges.register
def _(x: DiagOf | ZeroLeaf) -> Gauges:
    return gauges(x.expr)


@gauges.register
def _(x: GivenLeaf | GivenInverse | RootLeaf | RootRate) -> Gauges:
    return "", ""  # numbers: how axes turn is in the derivative itself

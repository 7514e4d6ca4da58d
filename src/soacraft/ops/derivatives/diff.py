"""Derivatives of operator expressions, as operators: `expr.diff(body, dof)`, `expr.dot()`, `expr.along(body, dof)`.

Every operator A changes in two ways: the axes it is written in turn, and what it maps changes.

    dA = W_to A - A W_from + delta A

W_to and W_from say how the axes turn of what A gives and takes: W for forces on bodies, -W* for velocities (the same in
inertial axes, where W* = -W), nothing for hinges and in body axes. In a product the turnings in the middle cancel,

    d(A B) = W_to A B - A B W_from + (delta A) B + A (delta B)

so that the derivative of the mass matrix reads the same in all axes. delta of the leaves is in
`soacraft.ops.derivatives.rates`. Derivatives are in the tangent sense, along `graph.integrate(q, t e)`; second ones do
not commute where velocities are not the rates of coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soacraft.algebra.nodes import Identity, Inverse, Power, Product, Scaled, Sum, Transpose
from soacraft.algebra.operator import Leaf, Operator
from soacraft.errors import SpaceError
from soacraft.ops.binding import GraphBinding, SKOBinding
from soacraft.ops.derivatives.directions import Direction, direction_of
from soacraft.ops.derivatives.dual import Delta, Derivative
from soacraft.ops.derivatives.leaves import SensitivityLeaf, Step, ZeroLeaf
from soacraft.ops.derivatives.rates import GAUGES, LyapunovRate, Rates, Term, minus, plus, star, times
from soacraft.ops.derived import DiagOf, LyapunovLeaf, SweptInverse, diag_of, lyapunov
from soacraft.ops.given import GivenInverse, GivenLeaf
from soacraft.ops.leaves import PickOffLeaf, PropagatorLeaf, SparseLeaf
from soacraft.ops.namespace import operators_of
from soacraft.ops.roots import RootLeaf, RootRate

#: Of a product that is differentiated: the product rule makes as many products of as many factors.
MOST_FACTORS = 250
#: How axes enter: "f", "v", "" or the names of nodes; None for an identity, which takes any.
Gauge = str | tuple[str, ...] | None
_STARRED: dict[Gauge, Gauge] = {"f": "v", "v": "f"}
_LEAF_GAUGES: dict[str, tuple[Gauge, Gauge]] = {
    "X": ("f", "f"), "W": ("f", "f"), "B_hat": ("f", "v"), "dH": ("", "f"),
}  # fmt: skip


class Derivation:
    """Differentiates expressions along one direction; every part is computed once."""

    def __init__(self, u: Direction) -> None:
        self.u = u
        if u.rates is None:  # shared by all expressions: P.diff(body) is solved once
            u.rates = Rates(u, Derivation.whole)
        self.rates: Rates = u.rates
        self.axes = u.axes
        self._deltas: dict[int, tuple[Operator, Term]] = {}
        self._gauges: dict[int, tuple[Operator, tuple[Gauge, Gauge]]] = {}
        self._seams: dict[tuple[Gauge, Gauge], Term] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Derivation, (self.u,)

    # -- the turning of the axes ----------------------------------------------------------------------------------

    def gauge(self, x: Operator) -> tuple[Gauge, Gauge]:
        """How axes enter what x gives and what it takes."""
        if self.axes == "body":
            return "", ""
        if id(x) not in self._gauges:
            to, from_ = self._gauge(x)
            self._gauges[id(x)] = x, (self._normal(to), self._normal(from_))
        return self._gauges[id(x)][1]

    def _normal(self, g: Gauge) -> Gauge:
        return "f" if g == "v" and self.axes == "inertial" else g

    def _gauge(self, x: Operator) -> tuple[Gauge, Gauge]:
        if isinstance(x, Identity):
            return None, None
        if isinstance(x, Scaled):
            return self._gauge(x.arg)
        if isinstance(x, Transpose):
            to, from_ = self._gauge(x.arg)
            return _STARRED.get(from_, from_), _STARRED.get(to, to)
        if isinstance(x, (Inverse, SweptInverse)):
            return self._gauge(x.arg)[::-1]
        if isinstance(x, Power):
            return self._gauge(x.arg) if x.n else (None, None)
        if isinstance(x, (Sum, Product)):
            found = [g for g in map(self._gauge, x.parts()) if g != (None, None)]
            if not found:
                return None, None
            return found[0] if isinstance(x, Sum) else (found[0][0], found[-1][1])
        assert isinstance(x, Leaf)
        return self._leaf_gauge(x)

    def _leaf_gauge(self, x: Leaf) -> tuple[Gauge, Gauge]:
        meaning = x.definition()
        if meaning is not None:
            return self._gauge(meaning)
        if isinstance(x, (SparseLeaf, PropagatorLeaf)) and x.name in GAUGES:
            return GAUGES[x.name]
        if isinstance(x, PickOffLeaf):
            return "f", x.nodes
        if isinstance(x, SensitivityLeaf):
            return (x.nodes, x.nodes) if x.kind == "W_nd" else _LEAF_GAUGES[x.kind]
        if isinstance(x, LyapunovLeaf):
            to, other = self._gauge(x.E)[0], self._gauge(x.other)[0]
            return to, _STARRED.get(other, other)
        if isinstance(x, (DiagOf, ZeroLeaf)):
            return self._gauge(x.expr)
        if isinstance(x, (GivenLeaf, GivenInverse, RootLeaf, RootRate)):
            return "", ""  # numbers: how axes turn is in the derivative itself
        raise SpaceError(f"{x.name} has no derivative: no rule is known for it.")

    def connection(self, g: Gauge) -> Term:
        """How the axes turn."""
        if not g:
            return None
        if isinstance(g, tuple):
            return self.u.leaf("W_nd", *g)
        return self.u.W if g == "f" else -self.u.W.T

    def connections(self, x: Operator) -> tuple[Term, Term]:
        """How the axes turn of what x gives and of what it takes; an identity has nothing to turn."""
        to, from_ = self.gauge(x)
        return self.connection(to), self.connection(from_)

    def _between(self, g: Gauge, h: Gauge) -> Term:
        """The turning of g less that of h; an identity takes that of its neighbour."""
        if g == h or g is None or h is None:
            return None
        if (g, h) not in self._seams:
            self._seams[g, h] = plus(self.connection(g), minus(self.connection(h)))
        return self._seams[g, h]

    def seam(self, left: Operator, right: Operator) -> Term:
        """What is left of the turnings between two factors: nothing, when they fit as they do in mechanics."""
        return self._between(self.gauge(right)[0], self.gauge(left)[1])

    def offsets(self, term: Operator, whole: Operator) -> tuple[Term, Term]:
        """How the axes of a term turn relative to those of its sum."""
        (to, from_), (all_to, all_from) = self.gauge(term), self.gauge(whole)
        if to is None:
            return None, self._between(all_to, all_from)
        return self._between(to, all_to), self._between(from_, all_from)

    # -- what is mapped changes -----------------------------------------------------------------------------------

    def delta(self, x: Operator) -> Term:
        """The derivative, the turning of the axes left out; None for zero."""
        if id(x) not in self._deltas:
            self._deltas[id(x)] = x, self._delta(x)
        return self._deltas[id(x)][1]

    def _delta(self, x: Operator) -> Term:
        if isinstance(x, Identity):
            return None
        if isinstance(x, Scaled):
            return self._scaled(x.factor, self.delta(x.arg))
        if isinstance(x, Transpose):
            change = self.delta(x.arg)
            return None if change is None else star(change)
        if isinstance(x, Sum):
            return self._joined(x, plus(*(self._relative_to(term, x) for term in x.terms)))
        if isinstance(x, Product):
            return self._joined(x, self._product(x.factors))
        if isinstance(x, Power):
            return self._joined(x, self._product((x.arg,) * x.n))
        if isinstance(x, (Inverse, SweptInverse)):
            return minus(times(x, self.delta(x.arg), x))
        assert isinstance(x, Leaf)
        return self._leaf(x)

    def _scaled(self, c: float, x: Term) -> Term:
        if x is None or c == 0:
            return None
        return Scaled(c * x.factor, x.arg) if isinstance(x, Scaled) else Scaled(c, x)

    def _relative_to(self, term: Operator, whole: Operator) -> Term:
        """The derivative of a term of a sum, in the axes of the sum."""
        to, from_ = self.offsets(term, whole)
        return plus(times(to, term), minus(times(term, from_)), self.delta(term))

    def _product(self, factors: tuple[Operator, ...]) -> Term:
        if len(factors) > MOST_FACTORS:
            raise SpaceError(
                f"the derivative of a product of {len(factors)} factors is a sum of as many products; "
                f"{MOST_FACTORS} is the most allowed: differentiate its parts."
            )
        terms: list[Term] = []
        for i, f in enumerate(factors):
            head, tail = factors[:i], factors[i + 1 :]
            if i:
                terms.append(times(*head, self.seam(factors[i - 1], f), *factors[i:]))
            terms.append(times(*head, self.delta(f), *tail))
        return plus(*terms)

    def _joined(self, x: Operator, found: Term) -> Term:
        """A sum of the product rule that knows what it is the derivative of."""
        return found if found is None or type(found) is not Sum else Delta(self, x, found.terms)

    @staticmethod
    def whole(u: Direction, x: Operator, found: Term) -> Term:
        """The same for a leaf."""
        return found if type(found) is not Sum else Derivation(u)._joined(x, found)

    def _leaf(self, x: Leaf) -> Term:
        meaning = x.definition()
        if meaning is not None:
            return self.delta(meaning)
        if isinstance(x, (SparseLeaf, PropagatorLeaf)) and x.name in GAUGES:
            return self.rates(x.name)
        if isinstance(x, SensitivityLeaf):
            found = x.extended(self.u) if x.terms else x
            return found if found.terms else None
        if isinstance(x, LyapunovLeaf):
            return self._lyapunov(x)
        if isinstance(x, DiagOf):
            change = self.delta(x.expr)
            return None if change is None else diag_of(change)
        if isinstance(x, (RootLeaf, RootRate)):
            return self._root(x)
        self._leaf_gauge(x)  # refuses what is not known
        return None

    def _root(self, x: RootLeaf | RootRate) -> Term:
        """W W* = X gives W dW* + dW W* = dX; W Y* + Y W* = Z gives W dY* + dY W* = dZ - dW Y* - Y dW*."""
        if isinstance(x, RootLeaf):
            change = self._numbers(x.X)
            return None if change is None else RootRate(x, change)
        dW = self._numbers(x.W)
        change = plus(self._numbers(x.Z), minus(times(dW, x.T)), minus(times(x, star_of(dW))))
        return None if change is None else RootRate(x.W, change)

    def _numbers(self, x: Operator) -> Term:
        """The derivative of the numbers of x, the turning of the axes included; None for zero."""
        found = self.full(x)
        return None if isinstance(found, ZeroLeaf) else found

    def _lyapunov(self, x: LyapunovLeaf) -> Term:
        """X = Y - E Y B* gives dX + dE Y B* + E Y dB* = dY - E dY B*."""
        E, B = x.E, x.other
        own = self._relative_to_gauge(x.X, self.gauge(x))
        left, right = times(self.delta(E), x, B.T), times(E, x, star_of(self.delta(B)))
        if x.source == "004 Eq. 23":
            edges = plus(left, right)
            left, right = None if edges is None else diag_of(edges), None
        changed = plus(own, left, right)
        if changed is None:
            return None
        return LyapunovRate(E, changed, B) if "symmetric" in x.claims else lyapunov(E, changed, B)

    def _relative_to_gauge(self, x: Operator, wanted: tuple[Gauge, Gauge]) -> Term:
        """The derivative of x in given axes."""
        to, from_ = self.gauge(x)
        turned = (None, self._between(*wanted)) if to is None else (
            self._between(to, wanted[0]), self._between(from_, wanted[1])
        )  # fmt: skip
        return plus(times(turned[0], x), minus(times(x, turned[1])), self.delta(x))

    # -- both -----------------------------------------------------------------------------------------------------

    def full(self, x: Operator) -> Operator:
        """The derivative."""
        if isinstance(x, ZeroLeaf):
            return x
        to, from_ = self.connections(x)
        change = self.delta(x)
        found = plus(times(to, x), minus(times(x, from_)), change)
        if found is None:
            return ZeroLeaf(x)
        if isinstance(found, Sum) and type(found) is not Derivative:
            flat = [part.terms if isinstance(part, Delta) else (part,) for part in found.terms]
            return Derivative(self, x, tuple(term for terms in flat for term in terms))
        return found


def star_of(x: Term) -> Term:
    """The transpose, zero for zero."""
    return None if x is None else star(x)


# -- what users call ----------------------------------------------------------------------------------------------


def diff(expr: Operator, body: Any, dof: Any = 0) -> Operator:
    """The derivative along dof `dof` (its number or its name) of the hinge of a body, as an operator.

    A product with a vector costs two to three times that of the expression itself; with P, psi and their kin one
    Lyapunov sweep more, over the bodies inboard of the hinge, once for each state. In a system with compound bodies the
    dof is an independent one, which the others follow; its name alone will do.

    >>> import soacraft as sc
    >>> H, phi, M = sc.operators(sc.load("arm7"), "H phi M")
    >>> phi.diff("link3")
    phi_tilde * X('link3') * phi : body[42] <- body[42]
    >>> (H * phi * M * phi.T).diff("link3")  # doctest: +ELLIPSIS
    H * phi_tilde * X('link3') * phi * M * phi.T + H * phi * M * phi.T * X('link3').T * phi_tilde.T : ...
    """
    if body is None:
        raise SpaceError("diff needs a body or its name; for the derivative along the current velocity write dot().")
    return differentiated(expr, _direction(expr, body, dof).step)


def dot(expr: Operator) -> Operator:
    """The time derivative along the current velocity: the sum over all dofs of v_j times the derivative along it.

    >>> import soacraft as sc
    >>> sc.operators(sc.load("arm7"), "phi").dot()
    phi_tilde*X_v*phi : body[42] <- body[42]
    """
    return differentiated(expr, _direction(expr, None).step)


def along(expr: Operator, body: Any = None, dof: Any = 0) -> Operator:
    """The derivative along a dof, without a body along the velocity, with the turning of the axes left out.

    >>> import soacraft as sc
    >>> phi = sc.operators(sc.load("arm7"), "phi", axes="inertial")
    >>> phi.diff("link3")
    W('link3') * phi - phi * W('link3') + phi_tilde * X('link3') * phi : body[42] <- body[42]
    >>> phi.along("link3")
    phi_tilde * X('link3') * phi : body[42] <- body[42]
    """
    return differentiated(expr, _direction(expr, body, dof).step, turning=False)


def differentiated(expr: Operator, step: Step, turning: bool = True) -> Operator:
    """The derivative of an expression along a direction of its operators, with or without the turning of the axes."""
    binding: Any = next(expr.leaves()).binding
    d = Derivation(direction_of(operators_of(binding), *step))
    if turning:
        return d.full(expr)
    found = d.delta(expr)
    return ZeroLeaf(expr) if found is None else found


def _direction(expr: Operator, body: Any, dof: Any = 0) -> Direction:
    bindings = {leaf.binding.identity(): leaf.binding for leaf in expr.leaves()}
    if not bindings:
        raise SpaceError(f"{expr.text()} is bound to no model, so there is nothing to differentiate along.")
    if len(bindings) > 1:
        raise SpaceError(
            f"{expr.text()} has operators of several states or models, so its derivative has no meaning; bind all of "
            "them to one."
        )
    binding = next(iter(bindings.values()))
    if not isinstance(binding, (GraphBinding, SKOBinding)):
        raise SpaceError(f"{expr.text()} maps between two models and has no derivative; differentiate in each of them.")
    return direction_of(operators_of(binding), body, dof)


DIFF_RULES: dict[str, Callable[..., Operator]] = {"diff": diff, "dot": dot, "along": along}

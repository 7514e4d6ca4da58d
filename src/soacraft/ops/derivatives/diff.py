"""Derivatives of operator expressions, as operators: `expr.diff(body, dof)`, `expr.dot()`, `expr.along(body, dof)`.

Every operator A changes in two ways: its axes turn, and its blocks change.

    dA = W_to A - A W_from + delta A

W_to and W_from say how the axes turn of what A gives and takes: W for forces on bodies, -W* for velocities (the same in
inertial axes, where W* = -W), nothing for hinges and in body axes. In a product the turnings in the middle cancel,

    d(A B) = W_to A B - A B W_from + (delta A) B + A (delta B)

so that the derivative of the mass matrix reads the same in all axes. How axes enter is in `gauges`, delta of every kind
of expression in `deltas`, that of the operators of the papers in `rates`. Derivatives are in the tangent sense, along
`graph.integrate(q, t e)`; second ones do not commute where velocities are not the rates of coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soacraft.algebra.expressions.nodes import Sum
from soacraft.algebra.expressions.operator import Operator
from soacraft.errors import SpaceError
from soacraft.ops.binding import GraphBinding, SKOBinding
from soacraft.ops.derivatives import questions
from soacraft.ops.derivatives.deltas import delta
from soacraft.ops.derivatives.directions import Direction, direction_of
from soacraft.ops.derivatives.dual import Delta, Derivative
from soacraft.ops.derivatives.gauges import Gauge, Gauges, gauges
from soacraft.ops.derivatives.leaves import Step, ZeroLeaf
from soacraft.ops.derivatives.rates import Rates, Term, minus, plus, times
from soacraft.ops.named import named_of


class Derivation:
    """Differentiates expressions along one direction; every part is computed once."""

    def __init__(self, u: Direction) -> None:
        self.u = u
        if u.rates is None:  # shared by all expressions: P.diff(body) is solved once
            u.rates = u.rates_of(Derivation.whole)
        self.rates: Rates = u.rates
        self.axes = u.axes
        self._deltas: dict[int, tuple[Operator, Term]] = {}
        self._gauges: dict[int, tuple[Operator, Gauges]] = {}
        self._seams: dict[tuple[Gauge, Gauge], Term] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return Derivation, (self.u,)

    # -- the turning of the axes ----------------------------------------------------------------------------------

    def gauge(self, x: Operator) -> Gauges:
        """Gauges of the result of x and of its argument."""
        if self.axes == "body":
            return "", ""
        if id(x) not in self._gauges:
            to, from_ = gauges(x)
            self._gauges[id(x)] = x, (self._normal(to), self._normal(from_))
        return self._gauges[id(x)][1]

    def _normal(self, g: Gauge) -> Gauge:
        return "f" if g == "v" and self.axes == "inertial" else g

    def connection(self, g: Gauge) -> Term:
        """Connection of a gauge: the rate at which its axes turn."""
        if not g:
            return None
        if isinstance(g, tuple):
            return self.u.leaf("W_nd", *g)
        return self.u.W if g == "f" else -self.u.W.T

    def connections(self, x: Operator) -> tuple[Term, Term]:
        """Connections of the result of x and of its argument; None for both of an identity."""
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
        """Remainder of the turnings between two factors: None, when they fit as they do in mechanics."""
        return self._between(self.gauge(right)[0], self.gauge(left)[1])

    def offsets(self, term: Operator, whole: Operator) -> tuple[Term, Term]:
        """Turning of the axes of a term relative to those of its sum."""
        return self.turning(term, self.gauge(whole))

    def turning(self, x: Operator, wanted: Gauges) -> tuple[Term, Term]:
        """Turning of the axes of x relative to the wanted ones."""
        to, from_ = self.gauge(x)
        if to is None:
            return None, self._between(*wanted)
        return self._between(to, wanted[0]), self._between(from_, wanted[1])

    # -- what is mapped changes -----------------------------------------------------------------------------------

    def delta(self, x: Operator) -> Term:
        """The derivative, the turning of the axes left out; None for zero."""
        if id(x) not in self._deltas:
            self._deltas[id(x)] = x, delta(x, self)
        return self._deltas[id(x)][1]

    def joined(self, x: Operator, change: Term) -> Term:
        """A sum of the product rule that knows what it is the derivative of."""
        return change if change is None or type(change) is not Sum else Delta(self, x, change.terms)

    @staticmethod
    def whole(u: Direction, x: Operator, change: Term) -> Term:
        """Change of a leaf, as a term joined to x if it is a sum."""
        return change if type(change) is not Sum else Derivation(u).joined(x, change)

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
    return differentiated(expr, direction_along(expr, body, dof).step)


def dot(expr: Operator) -> Operator:
    """The time derivative along the current velocity: the sum over all dofs of v_j times the derivative along it.

    >>> import soacraft as sc
    >>> sc.operators(sc.load("arm7"), "phi").dot()
    phi_tilde*X_v*phi : body[42] <- body[42]
    """
    return differentiated(expr, direction_along(expr).step)


def along(expr: Operator, body: Any = None, dof: Any = 0) -> Operator:
    """The derivative along a dof, without a body along the velocity, with the turning of the axes left out.

    >>> import soacraft as sc
    >>> phi = sc.operators(sc.load("arm7"), "phi", axes="inertial")
    >>> phi.diff("link3")
    W('link3') * phi - phi * W('link3') + phi_tilde * X('link3') * phi : body[42] <- body[42]
    >>> phi.along("link3")
    phi_tilde * X('link3') * phi : body[42] <- body[42]
    """
    return differentiated(expr, direction_along(expr, body, dof).step, turning=False)


def differentiated(expr: Operator, step: Step, turning: bool = True) -> Operator:
    """The derivative of an expression along a direction of its operators, with or without the turning of the axes."""
    binding: Any = next(expr.leaves()).binding
    d = Derivation(direction_of(named_of(binding), *step))
    if turning:
        return d.full(expr)
    found = d.delta(expr)
    return ZeroLeaf(expr) if found is None else found


def direction_along(expr: Operator, body: Any = None, dof: Any = 0) -> Direction:
    """Direction that an expression is differentiated along; without a body the current velocity."""
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
    return direction_of(named_of(binding), body, dof)


def _change_along(u: Direction) -> Callable[[Operator], Term]:
    """Function that differentiates along a direction, the turning of the axes left out."""
    return Derivation(u).delta


questions.change_along.register(Direction, _change_along)
questions.differentiated.register(Operator, differentiated)

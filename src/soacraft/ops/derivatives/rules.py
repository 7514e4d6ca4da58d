"""Relations of X, W and dH, each with the hinges and axes it holds for: for tests, and for rewriting derivatives.

>>> import soacraft as sc
>>> s = sc.operators(sc.load("arm7"))
>>> [rule.name for rule in side_rules(s, "link3")][:2]
['H X', 'X* H*']
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft.algebra.expressions.operator import Operator
from soacraft.model.hinges import Pin
from soacraft.ops.binding import GraphBinding
from soacraft.ops.named import Named

Side = Callable[[Named, Any, Any], Operator]
#: Distance of a body frame from its axis that counts as none, as part of its distance from the hinge: rounding.
ON_AXIS = 1e-15
Condition = Callable[[Named, Any, Any], bool]


@dataclass(frozen=True)
class SideRule:
    """left = right for the dof of the hinge of a body, where `condition` holds."""

    name: str
    source: str
    condition: Condition
    left: Side
    right: Side


def _body(s: Named, body: Any) -> Any:
    assert isinstance(s.binding, GraphBinding)
    graph = s.binding.graph
    return graph.bodies[graph.index(body)]


def one_dof(s: Named, body: Any, dof: Any) -> bool:
    """The hinge has a single dof."""
    return bool(_body(s, body).hinge.nv == 1)


def constant_map(s: Named, body: Any, dof: Any) -> bool:
    """The hinge map is constant in body axes."""
    return bool(_body(s, body).hinge.constant_H)


def on_base(s: Named, body: Any, dof: Any) -> bool:
    """True for a body without an edge: its parent is the inertial frame or an anchor."""
    assert isinstance(s.binding, GraphBinding)
    graph = s.binding.graph
    return graph.layout.parents[graph.index(body)] < 0


def in_body_axes(s: Named, body: Any, dof: Any) -> bool:
    """Body axes."""
    return s.binding.axes == "body"


def in_inertial_axes(s: Named, body: Any, dof: Any) -> bool:
    """The papers' axes."""
    return s.binding.axes == "inertial"


def papers_pin(s: Named, body: Any, dof: Any) -> bool:
    """A pin with the body frame on its axis, as the paper assumes in Eq. 39-48; in body or inertial axes."""
    found = _body(s, body)
    if not isinstance(found.hinge, Pin) or s.binding.axes == "origin":
        return False
    return off_axis(found) <= ON_AXIS * float(np.linalg.norm(found.outboard.translation))


def off_axis(body: Any) -> float:
    """Distance in metres of the frame of a body from the axis of its pin."""
    return float(np.linalg.norm(np.cross(body.hinge.axis, body.outboard.translation)))


def _mass_matrix(s: Named) -> Operator:
    return s.H * s.phi * s.M * s.phi.T * s.H.T


def _zero(x: Operator) -> Operator:
    return 0 * x


SIDE_RULES: tuple[SideRule, ...] = (
    SideRule("H X", "G5a", one_dof, lambda s, b, j: s.H * s.X(b, j), lambda s, b, j: _zero(s.H)),
    SideRule("X* H*", "G5a", one_dof, lambda s, b, j: s.X(b, j).T * s.H.T, lambda s, b, j: _zero(s.H.T)),
    SideRule("H phi~ X", "G5a", one_dof, lambda s, b, j: s.H * s.phi_tilde * s.X(b, j),
             lambda s, b, j: s.H * s.phi * s.X(b, j)),
    SideRule("tau X", "G5a", one_dof, lambda s, b, j: s.tau * s.X(b, j), lambda s, b, j: _zero(s.tau)),
    SideRule("dH of a constant map", "G3", constant_map, lambda s, b, j: s.dH(b, j), lambda s, b, j: _zero(s.H)),
    SideRule("E_phi X at the base", "G1", on_base, lambda s, b, j: s.E_phi * s.X(b, j), lambda s, b, j: _zero(s.E_phi)),
    SideRule("W in body axes", "G1", in_body_axes, lambda s, b, j: s.W(b, j), lambda s, b, j: _zero(s.M)),
    SideRule("W is skew", "000 Eq. 40", in_inertial_axes, lambda s, b, j: s.W(b, j).T, lambda s, b, j: -s.W(b, j)),
    SideRule("X is skew", "000 Eq. 39", papers_pin, lambda s, b, j: s.X(b, j).T, lambda s, b, j: -s.X(b, j)),
    SideRule("derivative of the mass matrix", "000 Eq. 42, G5a", one_dof, lambda s, b, j: _mass_matrix(s).diff(b, j),
             lambda s, b, j: s.H * s.phi * (s.X(b, j) * s.phi * s.M + s.M * s.phi.T * s.X(b, j).T) * s.phi.T * s.H.T),
    SideRule("derivative of P by lambda", "000 Eq. 43, G6a", one_dof, lambda s, b, j: s.P.along(b, j),
             lambda s, b, j: lam(s, b, j) - s.X(b, j) * s.P - s.P * s.X(b, j).T),
    SideRule("derivative of D by lambda", "000 Eq. 44a", one_dof, lambda s, b, j: s.D.diff(b, j),
             lambda s, b, j: s.H * lam(s, b, j) * s.H.T),
    SideRule("derivative of G by lambda", "000 Eq. 44c", one_dof, lambda s, b, j: s.G.along(b, j),
             lambda s, b, j: s.tau_bar * lam(s, b, j) * s.H.T * s.D.inv - s.X(b, j) * s.G),
)  # fmt: skip


def lam(s: Named, body: Any, dof: Any = 0) -> Operator:
    """lambda of a hinge of one dof: lambda - E_psi lambda E_psi* = X P + P X*   (000 Eq. 43, G6a). O(n)."""
    X = s.X(body, dof)
    return s.E_psi.lyapunov(X * s.P + s.P * X.T)


def side_rules(s: Named, body: Any, dof: Any = 0) -> list[SideRule]:
    """The rules that hold for a dof of a body's hinge, in the axes of the operators."""
    return [rule for rule in SIDE_RULES if rule.condition(s, body, dof)]

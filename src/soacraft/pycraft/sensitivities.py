"""The classes of Listing 17. What is printed with them holds along a pin whose body frame is on its axis."""

from __future__ import annotations

from typing import Any

from soacraft.errors import ModelError
from soacraft.model.hinges import Pin
from soacraft.ops.binding import GraphBinding
from soacraft.ops.derivatives.directions import Direction, direction_of
from soacraft.ops.derivatives.rules import off_axis, papers_pin
from soacraft.ops.namespace import Operators
from soacraft.pycraft.bound import bound
from soacraft.pycraft.classes import HStarClass
from soacraft.pycraft.matrices import SpatialDiagonalMatrixOperator


class H_iClass(HStarClass):
    """diag{ H~*(i) } for body i and those outboard of it, zero for others (Eq. 40 mended, Listing 17).

    H~*(i) is diag(h~, h~) for the axis h of hinge i (Eq. 39), and Eq. 41-48 use that it is skew. That is so for a pin
    with the body frame on its axis; any other body is refused, since the listings would give other numbers than the
    derivatives. The other hinges may be of any kind. `X.diff(body)` holds for every hinge.
    """

    def __init__(self, g: Any, body: Any) -> None:
        s = bound(g)
        SpatialDiagonalMatrixOperator.__init__(self, _pin(s, body).W)


class Hs_iClass(HStarClass):
    """diag{ H~*(i) } for the bodies strictly outboard of body i (Eq. 40 mended, Listing 17); refuses as `H_iClass`."""

    def __init__(self, g: Any, body: Any) -> None:
        u = _pin(bound(g), body)
        SpatialDiagonalMatrixOperator.__init__(self, u.W - u.X)


class Hd_iClass(HStarClass):
    """H~*(i) in the place of body i, zero elsewhere (Eq. 40, Listing 17); refuses as `H_iClass`."""

    def __init__(self, g: Any, body: Any) -> None:
        SpatialDiagonalMatrixOperator.__init__(self, _pin(bound(g), body).X)


def _pin(s: Operators, body: Any) -> Direction:
    """The direction of the only dof of a pin whose body frame is on its axis; any other hinge is refused."""
    binding = s.binding
    if not isinstance(binding, GraphBinding) or binding.axes != "inertial":
        raise ModelError(
            "H~* (000 Eq. 39) is for a tree of rigid bodies in inertial axes; X.diff(body) differentiates any operator."
        )
    if body is None:
        raise ModelError("Listing 17 takes the body whose coordinate is varied, not None.")
    u = direction_of(s, body)
    carrier = binding.graph.bodies[binding.graph.index(str(u.body))]
    if not papers_pin(s, carrier, 0):
        raise ModelError(
            f"H~*(i) (000 Eq. 39) is for a pin with the body frame on its axis, but {carrier.name!r} has "
            f"{carrier.hinge!r}{_offset(carrier)}; Listings 17 to 23 would not give the derivatives there. "
            f"X.diff({carrier.name!r}) does for every hinge; its parts are X, W and dH of "
            "sc.operators(g, axes='inertial')."
        )
    return u


def _offset(body: Any) -> str:
    return f", its frame {off_axis(body):.3g} m off the axis" if isinstance(body.hinge, Pin) else ""

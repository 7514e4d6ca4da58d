"""`check_derivative`: the derivative of an expression as an operator against differences of the expression itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.expressions.held import released
from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.values.evaluate import array
from soacraft.algebra.values.measure import largest_ratio, sizes
from soacraft.cards import card
from soacraft.errors import ModelError, SpaceError, StateError
from soacraft.ops.derivatives.diff import differentiated, direction_along

Array = npt.NDArray[np.float64]

#: Central differences of order four; a turn of STEP radians, a travel of STEP times the longest arm.
STEP = 1e-3
OFFSETS, WEIGHTS = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([1.0, -8.0, 8.0, -1.0]) / 12.0


@dataclass(frozen=True)
class DerivativeReport:
    """The derivative by operators and by differences; `.ok` when they agree within the tolerance."""

    expression: str
    along: str
    error: float
    """The largest gap, relative to what went into the derivative, or into the expression per radian or arm."""
    tolerance: float
    step: float
    exact: Array
    differences: Array

    @property
    def ok(self) -> bool:
        """True if they agree."""
        return self.error <= self.tolerance

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        told = "ok" if self.ok else "FAILS"
        return (
            f"derivative of {self.expression} along {self.along}: {self.error:.1e} from differences of step "
            f"{self.step:.3g}  {told}"
        )

    def _repr_html_(self) -> str:
        return card(repr(self))


def check_derivative(
    expr: Operator, direction: Any = None, dof: Any = 0, tolerance: float = 1e-7, step: float | None = None
) -> DerivativeReport:
    """Compare `expr.diff(direction, dof)`, without a direction `expr.dot()`, with central differences of order four.

    The direction is what `diff` takes: a body, its hinge or a dof. For small models: dense matrices are formed, five of
    them. `step` is that of the differences, in radians or metres, in seconds for `dot`.

    >>> import soacraft as sc
    >>> mb = sc.load("arm7")
    >>> H, phi, M = sc.operators(mb, "H phi M")
    >>> sc.check_derivative(H * phi * M * phi.T * H.T, "link3").ok, sc.check_derivative(phi).ok
    (True, True)
    """
    expr = released(expr)
    if not isinstance(expr, Operator):
        raise SpaceError(f"check_derivative takes an operator, not {expr!r:.60}.")
    u = direction_along(expr, direction, dof)
    binding = u.binding
    move = getattr(binding, "moved", None)
    if move is None:
        raise ModelError(
            f"check_derivative moves a tree or an SKO model of functions along a dof; {binding.owner} has closures "
            "that its dofs must agree with. Compare expr.diff(...) with expr.at(q=...) at assembled states."
        )
    if binding.batch:
        raise StateError(f"check_derivative takes one state, got a batch {binding.batch}.")
    w = u.source.columns(binding)[:, 0]
    unit = _unit(binding, w)
    h = STEP * unit if step is None else float(step)
    if not (np.isfinite(h) and h > 0.0):
        raise StateError(f"the step of differences must be positive, got {step!r}.")
    derivative = differentiated(expr, u.step)
    exact = array(derivative)
    states = [move(w, x * h, u.body is None) for x in OFFSETS]
    differences = sum(c / h * array(expr.at(**state)) for c, state in zip(WEIGHTS, states, strict=True))
    rows, cols = expr.spaces
    scale = np.maximum(sizes(derivative), sizes(expr) / unit)
    gap = rows.sizes(np.asarray(exact - differences))
    along = "the velocity" if u.body is None else f"({u.call})"
    order = [cols.outward(rows.outward(np.asarray(x), -2), -1) for x in (exact, differences)]
    return DerivativeReport(expr.text(), along, largest_ratio(gap, scale), tolerance, h, *order)


def _unit(binding: Any, w: Array) -> float:
    """Factor of w that turns the fastest dof by a radian, or moves it by the longest arm."""
    letters, arm = binding.hinge.letters, binding.longest_arm() or 1.0
    largest = np.max(np.abs(np.where(letters == "m", w / arm, w)), initial=0.0)
    return 1.0 / float(largest) if largest > 0.0 else 1.0


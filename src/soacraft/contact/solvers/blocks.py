"""Laws of the rows of a contact problem: friction cones, bounds, equalities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from soacraft.errors import StateError

MOST_FRICTION = 1e3
MOST = 5  # rows of friction: two of sliding, one of spinning, two of rolling


@dataclass(frozen=True)
class Cone:
    """One contact: a row of the normal, then rows of friction, p_n >= |(p_1/mu_1, p_2/mu_2, ...)|.

    `friction` is a number for two rows of sliding; or the coefficients of the rows: none, (mu, mu), with spinning
    (mu, mu, spin) or with rolling too (mu, mu, spin, roll, roll), where spin and roll are lengths. Friction opposes the
    motion and dissipates as much as the cone allows (Coulomb; De Saxce's form):

        K contains p,  orthogonal to  u + |mu u_t| n  in K*

    >>> import soacraft as sc
    >>> sc.contact.Cone(0.5).rows, sc.contact.Cone(()).rows, sc.contact.Cone((0.5, 0.5, 0.01)).rows
    (3, 1, 4)
    """

    friction: float | Sequence[float] = 0.0
    name: str = ""
    coefficients: tuple[float, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        try:
            values = np.asarray(self.friction, dtype=float)
        except (TypeError, ValueError):
            raise StateError(f"{_called(self)}: friction is {self.friction!r:.60}; give numbers") from None
        single = values.ndim == 0
        coefficients = (float(values),) * 2 if single else tuple(values.ravel().tolist())
        if len(coefficients) not in (0, 2, 3, MOST):
            raise StateError(
                f"{_called(self)}: friction has {len(coefficients)} coefficients; give a number, or 0, 2 (sliding), "
                f"3 (and spinning) or 5 (and rolling) of them"
            )
        for x in coefficients:
            if not (math.isfinite(x) and x >= 0):
                raise StateError(f"{_called(self)}: a coefficient of friction is {x:g}; it must be finite, 0 or more")
            if x > MOST_FRICTION:
                raise StateError(
                    f"{_called(self)}: a coefficient of friction is {x:g}; above {MOST_FRICTION:g} friction and normal "
                    "cannot be told apart: join the bodies instead"
                )
        object.__setattr__(self, "coefficients", coefficients)
        if not single:
            object.__setattr__(self, "friction", coefficients)

    @property
    def rows(self) -> int:
        """The normal and the rows of friction."""
        return 1 + len(self.coefficients)


@dataclass(frozen=True)
class Bounded:
    """Dry friction on one row: |p| <= limit, against the motion while it moves, as much as needed while it rests.

    The limit is an impulse: that of a hinge with Coulomb friction f over a step dt is f dt.
    """

    limit: float
    name: str = ""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.limit) and self.limit >= 0):
            raise StateError(f"{_called(self)}: its limit is {self.limit:g}; it must be finite, 0 or more")

    @property
    def rows(self) -> int:
        """One row."""
        return 1


@dataclass(frozen=True)
class Bilateral:
    """An equality on one row, u = 0: a closure, or a joint that holds."""

    name: str = ""

    @property
    def rows(self) -> int:
        """One row."""
        return 1


Law = Cone | Bounded | Bilateral


def _called(law: Law) -> str:
    return f"contact {law.name!r}" if law.name else f"a {type(law).__name__}"

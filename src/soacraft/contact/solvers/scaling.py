"""Contact problems without units: every cone a unit cone, every block divided by the root of its compliance.

With p = F phat / s and u = F^-1 s uhat, F the coefficients of friction of each row (1 for a normal) and s the root of
the largest F S F of the rows of a block:  uhat = (F S F / s s) phat + F b / s.  phat and uhat are then square roots of
energies, no compliance is above 1, and cones are |phat_t| <= phat_n. (The compliance of a normal alone may be next to
nothing, as of two links that a hinge joins.) Rows of friction without a coefficient have no impulse and are left out,
as are boxes of no size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soacraft.contact.solvers.blocks import Bounded, Cone, Law
from soacraft.contact.solvers.compiled import BOX, CONE, FREE, Integers
from soacraft.errors import StateError
from soacraft.spatial.checks import Array

#: An approach of this part of the velocity at a contact is along its face: normals are known to so many digits.
_ROUNDING = 1e-7


@dataclass(frozen=True, eq=False)
class Scaled:
    """A problem in its own units; `kept` are the rows of the original one, `factor` gives p = factor phat there."""

    S: Array
    b: Array
    kinds: Integers
    rows: Integers
    bounds: Array
    kept: Integers
    factor: Array
    owner: Integers  # of each block, the law it comes from


def scaled(S: Array, b: Array, laws: Sequence[Law]) -> Scaled:
    """The problem in its own units; a row that must move and that nothing moves is refused."""
    row_numbers: list[int] = []
    friction: list[float] = []
    scale: list[float] = []
    blocks: list[tuple[int, int, float, int]] = []
    diagonal = np.diagonal(S)
    first = 0
    for number, law in enumerate(laws):
        numbers = range(first, first + law.rows)
        first += law.rows
        F = (1.0, *law.coefficients) if isinstance(law, Cone) else (1.0,)
        if isinstance(law, Bounded) and law.limit == 0:
            continue
        rows = [(i, f) for i, f in zip(numbers, F, strict=True) if f > 0 and (i == numbers[0] or diagonal[i] > 0)]
        if not diagonal[numbers[0]] > 1e-14 * max(diagonal[i] for i in numbers):  # nothing moves it: nothing presses
            speed = float(b[numbers[0]])
            rounding = _ROUNDING * max(abs(float(b[i])) for i in numbers)
            if isinstance(law, Bounded) or (isinstance(law, Cone) and speed >= -rounding) or speed == 0:
                continue
            what = "its bodies approach" if isinstance(law, Cone) else "it must stop what moves"
            raise StateError(
                f"contact {law.name or number!r}: {what} at {abs(speed):.3g} m/s and no force can stop them: both are "
                "fixed or prescribed along the normal; let one of them move, or leave the pair out"
            )
        size = max(f * f * float(diagonal[i]) for i, f in rows) ** 0.5
        kind = CONE if isinstance(law, Cone) else BOX if isinstance(law, Bounded) else FREE
        bound = law.limit * size if isinstance(law, Bounded) else 0.0
        blocks.append((kind, len(rows), bound, number))
        row_numbers += [i for i, _ in rows]
        friction += [f for _, f in rows]
        scale += [size] * len(rows)
    at = np.array(row_numbers, dtype=np.int64)
    factor = np.array(friction) / np.array(scale) if row_numbers else np.zeros(0)
    inner = np.ascontiguousarray(factor[:, None] * S[np.ix_(at, at)] * factor)
    kinds, rows_, bounds, owner = (list(x) for x in zip(*blocks, strict=True)) if blocks else ([], [], [], [])
    return Scaled(
        S=inner,
        b=factor * b[at],
        kinds=np.array(kinds, dtype=np.int64),
        rows=np.array(rows_, dtype=np.int64),
        bounds=np.array(bounds, dtype=float),
        kept=at,
        factor=factor,
        owner=np.array(owner, dtype=np.int64),
    )

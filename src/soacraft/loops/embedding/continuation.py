"""Moving a closed chain in its independent dofs: the dependent ones are predicted, then solved for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft.errors import ConvergenceError, LoopError, StateError
from soacraft.kinematics.checks import gap_text
from soacraft.kinematics.independent import dofs_named
from soacraft.kinematics.tolerances import CLOSEST, FURTHEST, LONGEST, OPEN_ROWS, RANK, SHRINKS, SMALL, TRUST, ZERO
from soacraft.loops.embedding.model import EmbeddedModel
from soacraft.spatial.checks import Array, finite

if TYPE_CHECKING:
    from soacraft.loops.embedding.solver import ConstraintEmbedding

_STEPS, _HALVES = 20, 12


def complete(s: ConstraintEmbedding, q: Array) -> Array:
    """The dependent coordinates from the independent ones, starting where they are in q: Gauss-Newton by group.

        dq_d = -G_d^+ residual                                                    in the units of rows and dofs

    while a step halves what is open. Steps must be short, and each much shorter than the one before: so there is one
    solution next to the start (Kantorovich), and it is the one reached. What would lead elsewhere is refused.
    """
    found, before, needed = s.held(q), np.inf, 0.0
    for _ in range(_STEPS):
        left = found.one.open_part
        if left <= CLOSEST:
            break
        dv = _correction(found, left)
        needed = size = float(np.abs(found.one.measure.dofs * dv).max(initial=0.0))
        if size > FURTHEST or (size > SMALL and size > SHRINKS * before):
            break
        after = s.held(s.graph.integrate(q, dv))
        if after.one.open_part < left:
            q, found = np.asarray(after.one.state.q), after
        if not after.one.open_part <= 0.5 * left:
            break
        before, needed = size, 0.0
    rows = found.one
    if needed > SMALL or not rows.opening <= s.tolerance:
        worst = max(rows.loops, key=lambda x: x.opening, default=None)
        text = f": loop {worst.name!r} stays open by {gap_text(worst)}" if worst is not None else ""
        raise ConvergenceError(
            f"the dependent dofs of {s.graph.name!r} cannot be found for these independent ones{text}. Start nearer, "
            "move in smaller steps, or use s.assemble(q)."
        )
    return q


def _correction(found: EmbeddedModel, left: float) -> Array:
    """The step of the dependent dofs that closes the loops, (nv). Singular values that do not count while so much is
    open move nothing: near a singular pose the start decides."""
    rows, dv = found.one, np.zeros(found.graph.nv)
    residual, zero = rows.residual / rows.units, min(RANK, max(ZERO, OPEN_ROWS * left))
    for compound in found.compounds.values():
        if columns := list(compound.split.dependent):
            step = np.linalg.lstsq(compound.scaled[:, columns], residual[compound.rows], rcond=zero)[0]
            dv[compound.dofs[columns]] = -step / compound.dof_units[columns]
    return dv


def advance(s: ConstraintEmbedding, q: Array, dv: Any, halves: int = _HALVES) -> Array:
    """Predict by X dv_i + x0/2, the first two terms along the branch, then complete; halved until both agree."""
    found = s.held(q)
    dv = read_rates(found, dv, "dv_independent")
    v = found.expanded(dv)
    found = s.held(q, v)
    refuse_rank(s, found)
    graph, d = s.graph, found.one.measure.dofs
    guess = graph.integrate(q, v + 0.5 * found.x0)
    size = float(np.abs(d * v).max(initial=0.0))
    try:
        moved = complete(s, guess)
        correction = float(np.abs(d * graph.difference(guess, moved)).max(initial=0.0))
        if correction <= max(TRUST * min(size, LONGEST), SMALL):
            return moved
    except ConvergenceError:
        if halves <= 0:
            raise
    if halves <= 0:
        raise ConvergenceError(
            f"the loops of {graph.name!r} cannot be followed over a step of {size:.3g} (radians, or lengths of the "
            f"model): the prediction stays off by {correction:.3g}. The branch turns back here; choose other "
            "independent dofs."
        )
    return advance(s, advance(s, q, 0.5 * dv, halves - 1), 0.5 * dv, halves - 1)


def read_rates(found: EmbeddedModel, x: Any, what: str) -> Array:
    """Numbers for the independent dofs."""
    names = ", ".join(map(repr, dofs_named(found.one, found.independent))) or "no dofs"
    shape = (len(found.independent),)
    return finite(x, shape, f"{what} of {found.graph.name!r}, which is that of {names},", StateError)


def refuse_rank(s: ConstraintEmbedding, found: EmbeddedModel) -> None:
    """Raise `LoopError` where the independent dofs do not set the others."""
    for u, solved in found.solved.items():
        if solved.ratio <= 0.0:
            names = ", ".join(repr(x) for x in found.units.groups[u].ties)
            raise LoopError(
                f"the rank of {names} of {s.graph.name!r} changes here, so its independent dofs do not set the others; "
                "step over this configuration, or choose again with s.independent(q)."
            )

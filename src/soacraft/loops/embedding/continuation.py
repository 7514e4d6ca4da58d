"""Moving a closed chain in its independent dofs: the dependent ones are predicted, then solved for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft.errors import ConvergenceError, LoopError, StateError
from soacraft.kinematics.checks import gap_text
from soacraft.kinematics.independent import dofs_named
from soacraft.kinematics.tolerances import (
    ASSEMBLED,
    CLOSEST,
    FURTHEST,
    LONGEST,
    OPEN_ROWS,
    RANK,
    SHRINKS,
    SMALL,
    TRUST,
    ZERO,
)
from soacraft.loops.embedding.branches import on_one_branch
from soacraft.loops.embedding.model import EmbeddedModel
from soacraft.spatial.checks import Array, finite

if TYPE_CHECKING:
    from soacraft.loops.embedding.solver import ConstraintEmbedding

_STEPS, _HALVES = 20, 20


def complete(s: ConstraintEmbedding, q: Array) -> Array:
    """The dependent coordinates from the independent ones, starting where they are in q: Gauss-Newton by group.

        dq_d = -G_d^+ residual                                                    in the units of rows and dofs

    while a step halves what is open. Steps must be short, and each much shorter than the one before: so there is one
    solution next to the start (Kantorovich), and it is the one reached. What would lead elsewhere, past a singular
    pose, is refused.
    """
    start = s.held(q)
    found = _closed(s, start)
    end = np.asarray(found.one.state.q)
    moved = float(np.abs(found.one.measure.dofs * s.graph.difference(q, end)).max(initial=0.0))
    if moved > SMALL and not on_one_branch(s, start, found, ASSEMBLED):
        raise ConvergenceError(
            f"the dependent dofs of {s.graph.name!r} for these independent ones are past a singular pose, a step of "
            f"{moved:.3g} away (radians, or lengths of the model): they may be on another branch. Start nearer, or "
            "move in smaller steps with s.advance(q, dv)."
        )
    return end


def _closed(s: ConstraintEmbedding, found: EmbeddedModel) -> EmbeddedModel:
    """The solution next to a start."""
    q, before, needed = np.asarray(found.one.state.q), np.inf, 0.0
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
    return found


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
    """Predict by X dv_i + x0/2, the first two terms along the branch, then complete; halved until both agree, and until
    both ends are on one branch."""
    found = s.held(q)
    dv = read_rates(found, dv, "dv_independent")
    v = found.expanded(dv)
    found = s.held(q, v)
    refuse_rank(s, found)
    graph, d = s.graph, found.one.measure.dofs
    guess = graph.integrate(q, v + 0.5 * found.x0)
    size = float(np.abs(d * v).max(initial=0.0))
    try:
        end = _closed(s, s.held(guess))
        moved = np.asarray(end.one.state.q)
        correction = float(np.abs(d * graph.difference(guess, moved)).max(initial=0.0))
        near = correction <= max(TRUST * min(size, LONGEST), SMALL)
        closed = max(ASSEMBLED, OPEN_ROWS * found.one.open_part)  # an end near a singular pose is closed less well
        if near and on_one_branch(s, found, end, closed):
            return moved
    except ConvergenceError:
        if halves <= 0:
            raise
    if halves <= 0:
        why = (
            "it leads past a singular pose onto another branch" if near
            else f"the prediction stays off by {correction:.3g}. The branch turns back here"
        )
        raise ConvergenceError(
            f"the loops of {graph.name!r} cannot be followed over a step of {size:.3g} (radians, or lengths of the "
            f"model): {why}; choose other independent dofs."
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

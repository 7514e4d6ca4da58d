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
    closed = _closed(s, start)
    end = np.asarray(closed.one.state.q)
    moved = float(np.abs(closed.one.measure.dofs * s.graph.difference(q, end)).max(initial=0.0))
    if moved > SMALL and not on_one_branch(s, start, closed, ASSEMBLED):
        raise ConvergenceError(
            f"the dependent dofs of {s.graph.name!r} for these independent ones are past a singular pose, a step of "
            f"{moved:.3g} away (radians, or lengths of the model): they may be on another branch. Start nearer, or "
            "move in smaller steps with s.advance(q, dv)."
        )
    return end


def _closed(s: ConstraintEmbedding, embedded: EmbeddedModel) -> EmbeddedModel:
    """The solution next to a start."""
    q, before, needed = np.asarray(embedded.one.state.q), np.inf, 0.0
    for _ in range(_STEPS):
        opening = embedded.one.open_part
        if opening <= CLOSEST:
            break
        dv = _correction(embedded, opening)
        needed = size = float(np.abs(embedded.one.measure.dofs * dv).max(initial=0.0))
        if size > FURTHEST or (size > SMALL and size > SHRINKS * before):
            break
        after = s.held(s.graph.integrate(q, dv))
        if after.one.open_part < opening:
            q, embedded = np.asarray(after.one.state.q), after
        if not after.one.open_part <= 0.5 * opening:
            break
        before, needed = size, 0.0
    rows = embedded.one
    if needed > SMALL or not rows.opening <= s.tolerance:
        worst = max(rows.loops, key=lambda x: x.opening, default=None)
        text = f": loop {worst.name!r} stays open by {gap_text(worst)}" if worst is not None else ""
        raise ConvergenceError(
            f"the dependent dofs of {s.graph.name!r} cannot be found for these independent ones{text}. Start nearer, "
            "move in smaller steps, or use s.assemble(q)."
        )
    return embedded


def _correction(embedded: EmbeddedModel, opening: float) -> Array:
    """The step of the dependent dofs that closes the loops, (nv). Singular values that do not count while so much is
    open move nothing: near a singular pose the start decides."""
    rows, dv = embedded.one, np.zeros(embedded.graph.nv)
    residual, zero = rows.residual / rows.units, min(RANK, max(ZERO, OPEN_ROWS * opening))
    for compound in embedded.compounds.values():
        if columns := list(compound.split.dependent):
            step = np.linalg.lstsq(compound.scaled[:, columns], residual[compound.rows], rcond=zero)[0]
            dv[compound.dofs[columns]] = -step / compound.dof_units[columns]
    return dv


def advance(s: ConstraintEmbedding, q: Array, dv: Any, halves: int = _HALVES) -> Array:
    """Predict by X dv_i + x0/2, the first two terms along the branch, then complete; halved until both agree, and until
    both ends are on one branch."""
    embedded = s.held(q)
    dv = read_rates(embedded, dv, "dv_independent")
    v = embedded.expanded(dv)
    embedded = s.held(q, v)
    refuse_rank(s, embedded)
    graph, d = s.graph, embedded.one.measure.dofs
    guess = graph.integrate(q, v + 0.5 * embedded.x0)
    size = float(np.abs(d * v).max(initial=0.0))
    try:
        end = _closed(s, s.held(guess))
        moved = np.asarray(end.one.state.q)
        correction = float(np.abs(d * graph.difference(guess, moved)).max(initial=0.0))
        near = correction <= max(TRUST * min(size, LONGEST), SMALL)
        closed = max(ASSEMBLED, OPEN_ROWS * embedded.one.open_part)  # an end near a singular pose is closed less well
        if near and on_one_branch(s, embedded, end, closed):
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


def read_rates(embedded: EmbeddedModel, x: Any, what: str) -> Array:
    """Numbers for the independent dofs."""
    names = ", ".join(map(repr, dofs_named(embedded.one, embedded.independent))) or "no dofs"
    shape = (len(embedded.independent),)
    return finite(x, shape, f"{what} of {embedded.graph.name!r}, which is that of {names},", StateError)


def refuse_rank(s: ConstraintEmbedding, embedded: EmbeddedModel) -> None:
    """Raise `LoopError` where the independent dofs do not set the others."""
    for u, solved in embedded.solved.items():
        if solved.ratio <= 0.0:
            names = ", ".join(repr(x) for x in embedded.units.groups[u].ties)
            raise LoopError(
                f"the rank of {names} of {s.graph.name!r} changes here, so its independent dofs do not set the others; "
                "step over this configuration, or choose again with s.independent(q)."
            )

"""Random configurations of a robot within its limits."""

from __future__ import annotations

import numpy as np

from soacraft.errors import ConvergenceError, LoopError
from soacraft.loops import TreeAugmented
from soacraft.model.hinges import Free, Spherical
from soacraft.model.hinges.base import integrate_of
from soacraft.model.sizes.lengths import length_of
from soacraft.model.states.ranges import Ranges
from soacraft.model.states.ties import Mask
from soacraft.model.tree.multibody import Multibody
from soacraft.results import refuse_large
from soacraft.spatial.checks import Array

#: Largest number of draws for each one that is wanted, where loops do not close from some.
_TRIES = 20
#: Configurations that can be drawn.
MOST_DRAWN = 1_000_000_000


def draw(mb: Multibody, rng: np.random.Generator, count: int, movable: Mask, chosen: Mask) -> Array:
    """Configurations (count, nq), drawn evenly: dofs within their limits, those without over a turn, or the length of
    the model either way, about where they are; balls over all rotations, or those that their limit lets. Dofs that
    are not `chosen` (nv) stay. Closed chains are closed near what was drawn by movable dofs, which takes some
    milliseconds for each."""
    drawn = _drawn(mb, rng, count, chosen)
    if not any(x.active for x in mb.loops) and not mb.couplings:
        return drawn
    closed: list[Array] = []
    solver, tries = TreeAugmented(mb), 0
    stay = [mb.dof_names[i] for i in np.flatnonzero(~movable)]
    while len(closed) < count:
        if tries >= _TRIES * count:
            raise ConvergenceError(
                f"of {tries} configurations of {mb.name!r} that were drawn only {len(closed)} could be closed."
            )
        for one in drawn:
            try:
                closed.append(np.asarray(solver.assemble(one, fixed=stay, limits=True)))
            except LoopError:
                continue
        tries += len(drawn)
        drawn = _drawn(mb, rng, count - len(closed), chosen) if len(closed) < count else drawn
    return np.array(closed)


def _drawn(mb: Multibody, rng: np.random.Generator, count: int, chosen: Mask) -> Array:
    ranges, q, layout = Ranges(mb), np.array(mb.q), mb.layout
    refuse_large((count, 4 * len(mb.bodies) + mb.nv + mb.nq), f"{count} configurations", "Draw fewer at a time.")
    x = np.where(ranges.place >= 0, q[ranges.place], 0.0)
    wide = np.where([u == "r" for u in "".join(layout.units.hinge)], np.pi, length_of(mb) or 1.0)
    about = np.clip(x, ranges.lower, ranges.upper)
    low = np.where(np.isfinite(ranges.lower), ranges.lower, about - wide)
    high = np.where(np.isfinite(ranges.upper), ranges.upper, about + wide)
    step = np.where(chosen, rng.uniform(low - x, high - x, (count, mb.nv)), 0.0)
    turns = rng.standard_normal((count, 4 * len(mb.bodies))).reshape(count, -1, 4)
    drawn = np.array(mb.integrate(np.broadcast_to(q, (count, mb.nq)), step))
    limited = {ball.q.start: ball for ball in ranges.balls}
    for k, body in enumerate(mb.bodies):
        at = layout.hinge_q[k]
        if not isinstance(body.hinge, Spherical | Free) or not chosen[layout.hinge_v[k]].all():
            continue
        if at.start not in limited:
            drawn[:, at.start : at.start + 4] = turns[:, k] / np.linalg.norm(turns[:, k], axis=1, keepdims=True)
            continue
        ball = limited[at.start]
        axis = turns[:, k, :3] / np.linalg.norm(turns[:, k, :3], axis=1, keepdims=True)
        angle = ball.largest * rng.uniform(0.0, 1.0, (count, 1)) ** (1.0 / 3.0)
        neutral = np.asarray(ball.hinge.neutral())
        drawn[:, at] = [integrate_of(ball.hinge, neutral, w) for w in angle * axis]
    return drawn

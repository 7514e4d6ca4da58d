"""Checks that a state is on the closures, and that an answer satisfies them; errors name the loop and its gap."""

from __future__ import annotations

import numpy as np

from soacraft.errors import LoopError
from soacraft.kinematics.residuals import natural_rate, residual_of_rows, residuals
from soacraft.kinematics.rows import Constraints, LoopRows
from soacraft.kinematics.tasks import Task
from soacraft.model.states.state import State
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array


def closed_rows(graph: Graph, state: State, theta: dict[str, Array], tolerance: float) -> Constraints:
    """The rows at a state; where the last coordinates of a closure lead nowhere, from its neutral ones."""
    rows = Constraints(graph, state, theta)
    lost = {x.name for x in rows.loops if x.name in theta and x.opening > tolerance}
    if not lost:
        return rows
    anew = Constraints(graph, state, {name: x for name, x in theta.items() if name not in lost})
    gaps = {x.name: x.opening for x in rows.loops}
    better = {x.name for x in anew.loops if x.opening < gaps[x.name]}
    return anew if better >= lost else Constraints(graph, state, {k: x for k, x in theta.items() if k not in better})


def check_state(task: Task, tolerance: float, moving: bool = True) -> None:
    """Raise `LoopError` for a state off its closures: in position, and if it moves in velocity."""
    rows = task.rows
    mb = "mb." if rows.state is rows.graph.current else ""
    for loop in rows.loops:
        if loop.name not in task.drives and not loop.opening <= tolerance:
            raise LoopError(
                f"loop {loop.name!r} of {rows.graph.name!r} is open by {gap_text(loop)}; the solver takes "
                f"{tolerance * loop.length:.3g} m and {tolerance:.3g} rad. Close it first: {mb}q = s.assemble({mb}q)."
            )
    for row in rows.couplings:
        if row.name not in task.drives and not row.opening <= tolerance:
            raise LoopError(
                f"coupling {row.name!r} of {rows.graph.name!r} is off by {row.residual:.3g}; the solver takes "
                f"{tolerance * row.size:.3g}. Close it first: {mb}q = s.assemble({mb}q)."
            )
    if not moving:
        return
    allowed = tolerance * rows.units * natural_rate(task)
    off = np.abs(rows.speed - task.U)
    for name, at in rows.places:
        if not (off[at] <= allowed[at]).all():
            worst = at.start + int(np.argmax(off[at] / rows.units[at]))
            raise LoopError(
                f"{kind(rows, name)} {name!r} of {rows.graph.name!r} opens at {off[worst]:.3g} (m/s or rad/s) with "
                f"this v; the solver takes {allowed[worst]:.3g}. Make v agree first: {mb}v = "
                f"s.project_velocity({mb}q, {mb}v)."
            )


def check_answer(
    task: Task, vdot: Array, multipliers: Array, tolerance: float, residual_pair: tuple[float, float] | None = None
) -> None:
    """Raise `LoopError` when no acceleration satisfies the rows: driven closures that contradict each other, say."""
    closures, motion = residuals(task, vdot, multipliers) if residual_pair is None else residual_pair
    rows = task.rows
    if not closures <= tolerance:
        off = np.abs(residual_of_rows(task, vdot))
        name, place = max(rows.places, key=lambda x: float((off / rows.units)[x[1]].max(initial=0.0)))
        raise LoopError(
            f"no acceleration satisfies the closures of {rows.graph.name!r}: {kind(rows, name)} {name!r} keeps a "
            f"residual of {off[place].max():.3g}. Closures that repeat others contradict them here: the rank changes "
            "at this configuration, or what drives them does not agree."
        )
    if not motion <= tolerance:
        raise LoopError(
            f"the constraint forces of {rows.graph.name!r} cannot be found here: the equations of motion keep a "
            f"residual of {motion:.3g}. The closures are too near a configuration where their rank changes."
        )


def gap_text(loop: LoopRows) -> str:
    """Gap of a loop, in words."""
    return f"{loop.distance:.3g} m and {loop.angle:.3g} rad"


def kind(rows: Constraints, name: str) -> str:
    """Kind of a name of `places`: "loop" or "coupling"."""
    return "loop" if any(x.name == name for x in rows.loops) else "coupling"

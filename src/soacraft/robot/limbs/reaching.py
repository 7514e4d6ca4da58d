"""Inverse kinematics of limbs: one goal or many in, `Reach` out.

An answer is within the limits, and met within its tolerance or not called found. Goals of parts that compiled code can
judge alone go there together; where solutions are compared, or loops, stops or balls are in the limb, each goal is
searched for by `searching.one`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft.dynamics.arguments import read_threads
from soacraft.kinematics.limbs import Plan
from soacraft.model.states.ties import tied_dofs
from soacraft.robot.interfaces import Surroundings
from soacraft.robot.limbs.asking import (
    Goals,
    Question,
    as_rows,
    plan_of,
    read_goals,
    read_question,
    read_starts,
    read_tolerance,
)
from soacraft.robot.limbs.chain import Chain
from soacraft.robot.limbs.searching import one
from soacraft.robot.limbs.telling import Missed, left_of, met, why_not
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose

__all__ = ["Reach", "missed", "reach", "read_tolerance", "tied_dofs"]


@dataclass(frozen=True, eq=False)
class Reach:
    """Result of `Limb.ik`; true where every pose was found. With batches all have leading axes."""

    q: Array
    """(..., nq): within the limits; where nothing was found the nearest approach."""
    found: Any
    """True if the pose is met within its tolerance."""
    residual: Any
    """Residual in the axes of the goal, (..., 6): turn in radians, way in metres; (..., tips, 6) of several."""
    tried: Any
    """Number of starts."""
    why: Any
    """Reason why nothing was found; empty where something was."""
    robot_q: Array | None = None
    """(..., nq of the robot), where loops or couplings tie the limb; None where nothing does: `limb.of_robot(q)`."""

    def __bool__(self) -> bool:
        return bool(np.all(self.found))

    def __repr__(self) -> str:
        if np.ndim(self.found):
            starts = f", from {np.mean(self.tried):.3g} starts each" if np.size(self.found) else ""
            return f"{np.sum(self.found)} of {np.size(self.found)} poses found{starts}"
        angle, way = (float(np.linalg.norm(x)) for x in np.split(np.asarray(self.residual), 2, axis=-1))
        q = np.array2string(self.q, precision=4, suppress_small=True)
        what = "found" if self.found else f"not found: {self.why}"
        return f"{what}; q = {q}, off by {way:.2g} m and {angle:.2g} rad, from {self.tried} starts"


def reach(
    limb: Chain,
    pose: Any,
    start: Any,
    free: Any,
    tolerance: Any,
    seeds: Any,
    world: Surroundings | None,
    prefer: Any,
    seconds: Any,
    threads: int,
) -> Reach:
    """`Limb.ik`."""
    data = limb.data
    workers = read_threads("ik", threads) or 1
    plain = data.plain and world is None and limb.is_own and (prefer is None or isinstance(prefer, str))
    if plain and type(pose) is Pose and not pose.batch_shape and prefer in (None, "near"):
        engine = data.engine
        assert engine is not None
        plan = plan_of(limb, data, free, tolerance, seeds, seconds, start is not None or prefer == "near")
        at, off, starts = engine.find(pose, engine.middle if start is None else read_starts(limb, start, ())[0], plan)
        if starts > 0:
            return Reach(at, True, off, starts, "")
        off, reason = missed(limb, as_rows(pose)[None], at, plan.tolerance[None])
        return Reach(at, False, off[0], -starts, reason)
    goals = read_goals(limb, pose)
    how = read_question(limb, free, tolerance, seeds, world, prefer, seconds, goals.asked)
    near = read_starts(limb, start, goals.batch)
    if start is not None and prefer is None:
        how = how._replace(prefer="near")
    apart = all(x.engine is not None for x in data.parts) and not data.stops and not data.ropes
    if apart and limb.is_own and not how.chosen:
        return _shaped(limb, goals, *_compiled(limb, goals, near, how, workers))
    rows = np.broadcast_to(near, (len(goals.rows), limb.nq))
    each = [one(limb, g, s, how) for g, s in zip(goals.rows, rows, strict=True)]
    configurations = np.array([x.whole for x in each]).reshape(len(each), limb.robot.mb.nq)
    residual = np.array([x.left for x in each]).reshape(len(each), len(limb.tips), 6)
    met, tried = np.array([x.found for x in each], dtype=bool), np.array([x.tried for x in each], dtype=np.int64)
    why = np.array([x.why for x in each], dtype=object)
    return _shaped(
        limb, goals, configurations[:, limb.q_places], residual, met, tried, why, configurations if data.tied else None
    )


def _compiled(limb: Chain, goals: Goals, starts: Array, how: Question, threads: int) -> tuple[Any, ...]:
    """All goals of each part in one call."""
    count = len(goals.rows)
    q, residual = np.empty((count, limb.nq)), np.zeros((count, len(limb.tips), 6))
    met, tried = np.ones(count, dtype=bool), np.zeros(count, dtype=np.int64)
    for part in limb.data.parts:
        (tip,), engine = part.tips, part.engine
        assert engine is not None
        near = np.ascontiguousarray(starts[:, part.q])
        if not goals.asked[tip]:
            q[:, part.q] = np.clip(near, engine.lower, engine.upper)
            continue
        plan = Plan(how.within[tip], how.seeds, near_first=int(how.prefer == "near"), seconds=how.seconds)
        a = engine.search(np.ascontiguousarray(goals.rows[:, tip]), near, plan, threads)
        q[:, part.q], residual[:, tip] = a.q, a.left
        met &= a.found
        tried = np.maximum(tried, a.tried)
    why = np.full(count, "", dtype=object)
    lost = np.flatnonzero(~met)
    if len(lost):
        exact = left_of(limb, goals.rows[lost], q[lost])
        residual[lost] = np.where(np.isfinite(how.within), exact, 0.0)
        for i, off in zip(lost, exact, strict=True):
            why[i] = told_of(limb, goals.rows[i], q[i], off, how.within)
    return q, residual, met, tried, why


def missed(limb: Chain, goals: Array, q: Array, within: Array) -> tuple[Array, str]:
    """Residual of goals (tips, 12) at the nearest approach, and its reason."""
    residual = left_of(limb, goals, q)
    return np.where(np.isfinite(within), residual, 0.0), told_of(limb, goals, q, residual, within)


def told_of(limb: Chain, goals: Array, q: Array, residual: Array, within: Array) -> str:
    """Reason why tips are not at their goals."""
    reasons = []
    for part in limb.data.parts:
        tips = [Missed(i, goals[i], residual[i], within[i]) for i in part.tips if not met(residual[i], within[i])]
        if tips:
            reasons.append(why_not(limb, part, tips, limb.placed(q)))
    return "; ".join(reasons) or "no start got there"


def _shaped(
    limb: Chain, goals: Goals, q: Array, residual: Array, met: Any, tried: Any, why: Any, configurations: Any = None
) -> Reach:
    """Result with the leading axes of the goals, and without an axis for the only tip."""
    batch, tips = goals.batch, () if len(limb.tips) == 1 else (len(limb.tips),)
    residual = residual.reshape(*batch, *tips, 6)
    configurations = None if configurations is None else configurations.reshape(*batch, limb.robot.mb.nq)
    if not batch:
        return Reach(q[0], bool(met[0]), residual, int(tried[0]), str(why[0]), configurations)
    return Reach(
        q.reshape(*batch, limb.nq),
        met.reshape(batch),
        residual,
        tried.reshape(batch),
        why.reshape(batch),
        configurations,
    )

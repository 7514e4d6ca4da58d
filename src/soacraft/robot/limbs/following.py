"""Configurations along curves: the self-motion of a redundant limb, and one branch along a path of poses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft.arguments import whole_number
from soacraft.errors import StateError
from soacraft.kinematics.limbs import LimbEngine, Plan, whole_turns
from soacraft.robot.limbs import reaching
from soacraft.robot.limbs.chain import Chain
from soacraft.robot.limbs.counting import conditions, counted_rows
from soacraft.robot.limbs.searching import SAME
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.pose import Pose

#: A step of a branch may be so many times what the tip's motion asks for, or so many radians.
_TIMES, _LEAST = 20.0, 0.3
#: Branches that are tried from the first pose.
_BRANCHES = 24


@dataclass(frozen=True, eq=False)
class Followed:
    """A branch along a path; true where it goes all the way."""

    q: Array
    """(k, nq): up to the end, or to the last pose before a jump."""
    reached: int
    """Number of poses it goes through."""
    why: str
    """Reason for its end; empty where there is none."""

    def __bool__(self) -> bool:
        return not self.why

    def __repr__(self) -> str:
        return f"{self.reached} poses followed" + (f"; then {self.why}" if self.why else ", all of them")


def self_motion(limb: Chain, q: Any, step: float, most: int, free: Any) -> Array:
    """`Limb.self_motion`: steps along the null space of the rows that count, each brought back to where the tip was."""
    engine = _engine(limb)
    q = limb.read_q(q, (limb.nq,))
    step = float(finite(step, (), "step", StateError))
    if not 0.0 < step <= 0.5:
        raise StateError(f"step must be above 0 and at most 0.5 radians, got {step:g}.")
    count = whole_number(most, "most", 0, error=StateError)
    within = reaching.read_tolerance(limb, free, None)
    (rank, moving), counts = conditions(limb, within), np.isfinite(within)
    dofs = int(moving.sum())
    if dofs - 1 not in (rank, counts.sum()):
        more = "a pose asks" if counts.all() and rank == len(counts) else f"the {rank} conditions there are"
        raise StateError(
            f"limb {limb.name!r} has {dofs} dofs: its self-motion is a curve for {rank + 1}, one more than {more}."
        )
    lower, upper = limb.limits
    if ((q < lower) | (q > upper)).any():
        raise StateError(f"q of limb {limb.name!r} is outside its limits.")
    pose = limb.true_pose(q)
    goal = np.ascontiguousarray(np.concatenate([pose.rotation.ravel(), pose.translation])[None])
    plan = Plan(within, 1)
    turns = np.where(np.isfinite(lower) | np.isfinite(upper), np.inf, engine.period)
    ways: list[list[Array]] = []
    for side in (1.0, -1.0):
        here, along, way = q, None, []
        for _ in range(count):
            null = np.zeros(limb.nv)
            null[moving] = np.linalg.svd(counted_rows(limb, pose, here)[np.ix_(counts, moving)])[2][-1]
            along = side * null if along is None else np.copysign(1.0, null @ along) * null
            aim = here + step * along / engine.unit
            if ((aim < lower) | (aim > upper)).any():
                break
            a = engine.search(goal, aim[None], plan)
            moved = (a.q[0] - here) * engine.unit
            if not a.found[0] or not 0.2 * step < np.linalg.norm(moved) < 3.0 * step:
                break
            here = a.q[0]
            way.append(here)
            back = here - q - whole_turns(here - q, turns)
            if len(way) > 3 and np.linalg.norm(back * engine.unit) < 0.75 * step:
                return np.array([q, *way])
        ways.append(way)
    return np.array([*reversed(ways[1]), q, *ways[0]])


def follow(limb: Chain, poses: Pose, start: Any, tolerance: Any) -> Followed:
    """`Limb.follow`: each pose from the configuration before it alone; other branches where one ends."""
    engine = _engine(limb)
    if not isinstance(poses, Pose) or len(poses.batch_shape) != 1 or not poses.batch_shape[0]:
        raise StateError(f"a path of limb {limb.name!r} is a Pose with one leading axis, got {poses!r:.60}.")
    within = reaching.read_tolerance(limb, (), tolerance)
    goals = np.ascontiguousarray(np.concatenate([poses.rotation.reshape(-1, 9), poses.translation], axis=1))
    near = engine.middle if start is None else limb.read_q(start, (limb.nq,), "near")
    best = Followed(np.zeros((0, limb.nq)), 0, "")
    for first in _branches(engine, goals[:1], near, within):
        got = _track(limb, engine, goals, first, within)
        if got:
            return got
        if got.reached > best.reached or not best.why:
            best = got
    if not best.why:
        r = limb.ik(Pose(rotation=goals[0, :9].reshape(3, 3), translation=goals[0, 9:]), near, tolerance=tolerance)
        return Followed(best.q, 0, f"pose 0 is not met: {r.why}")
    return best


def _branches(engine: LimbEngine, goal: Array, near: Array, within: Array) -> Array:
    configurations = engine.search(goal, near[None], Plan(within, 4 * _BRANCHES, all=1)).q
    with np.errstate(over="ignore"):  # from beyond all numbers, all are as far
        order = np.argsort([np.linalg.norm((q - near) * engine.unit) for q in configurations])
    distinct: list[Array] = []
    for i in order:
        if all(np.abs((configurations[i] - x) * engine.unit).max() > SAME for x in distinct):
            distinct.append(configurations[i])
    return np.array(distinct[:_BRANCHES]).reshape(-1, len(near))


def _track(limb: Chain, engine: LimbEngine, goals: Array, first: Array, within: Array) -> Followed:
    path, plan = [first], Plan(within, 1)
    for k in range(1, len(goals)):
        here = path[-1]
        a = engine.search(goals[k : k + 1], here[None], plan)
        if not a.found[0]:
            why = reaching.missed(limb, goals[k : k + 1], a.q[0], within[None])[1]
            return Followed(np.array(path), k, f"pose {k} is not met from the one before: {why}")
        way = float(np.linalg.norm(goals[k, 9:] - goals[k - 1, 9:])) / engine.length
        turn = float(np.linalg.norm(goals[k, :9] - goals[k - 1, :9])) / np.sqrt(2.0)
        jump = float(np.abs((a.q[0] - here) * engine.unit).max())
        if jump > max(_TIMES * (way + turn), _LEAST):
            dof = limb.dof_names[int(np.argmax(np.abs((a.q[0] - here) * engine.unit)))]
            return Followed(np.array(path), k, f"{dof!r} would have to jump by {jump:.3g} to pose {k}")
        path.append(a.q[0])
    return Followed(np.array(path), len(goals), "")


def _engine(limb: Chain) -> LimbEngine:
    engine = limb.engine
    if engine is None or not limb.data.plain:
        raise StateError(
            f"limb {limb.name!r} has several tips, loops, couplings, stops, or hinges that are no screws: ask ik pose "
            "by pose."
        )
    return engine

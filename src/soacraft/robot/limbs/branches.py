"""All configurations of a limb at a pose, of a limb with as many dofs as conditions.

A search from many starts finds nearly all. What it misses is close to a pose where branches meet, so that few starts
lead there; it is looked for from the solutions that are known, until they lead to no others:

- Beyond a fold. Where J is nearly singular, J n = sigma u with a small sigma, the pose along n is u (sigma s + h s^2 /
  2) from the goal but for what other dofs make good: zero at s = 0, and again at the partner s = -2 sigma / h. Steps of
  some lengths both ways along n are starts.
- By symmetry. Branches of arms come in pairs (shoulder, elbow, wrist), so that with a, b and c often a + b - c is near
  one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.errors import StateError
from soacraft.kinematics.limbs import LimbEngine, Plan, whole_turns
from soacraft.robot.limbs.asking import ALL, as_rows, read_question
from soacraft.robot.limbs.chain import Chain
from soacraft.robot.limbs.counting import conditions
from soacraft.robot.limbs.searching import SAME
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose

#: Residual of a goal when solutions are compared, in radians and lengths of the limb.
_SHARP = 1e-13
#: Steps along the direction of the least singular value, in radians and lengths of the limb.
_STEPS = (-1.0, -0.3, -0.1, 0.1, 0.3, 1.0)
#: Solutions that six hinges have at most (Primrose 1986); where more are found they are points of a curve.
_MOST = 16


def solutions(limb: Chain, pose: Any, free: Any, tolerance: Any, seeds: Any) -> Array:
    """`Limb.solutions`."""
    if len(limb.tips) > 1:
        raise StateError(f"limb {limb.name!r} has {len(limb.tips)} tips: ask for solutions of limbs of one tip each.")
    if not isinstance(pose, Pose) or pose.batch_shape:
        raise StateError(f"solutions of limb {limb.name!r} are those of one Pose(...), got {pose!r:.60}.")
    how = read_question(limb, free, tolerance, ALL if seeds is None else seeds, None, None, None, (True,))
    within, engine = how.within[0], limb.data.engine
    count = int(np.isfinite(within).sum())
    rank, dofs = count, limb.nv
    if engine is not None:
        rank, moving = conditions(limb, within)
        dofs = int(moving.sum())
    if dofs > rank:
        raise StateError(
            f"limb {limb.name!r} has {dofs} dofs for {rank} conditions: its solutions are curves. Follow one with "
            f"self_motion(q{'' if count == 6 else ', free=...'}), or hold dofs."
        )
    if engine is None:
        raise StateError(f"limb {limb.name!r} is no chain of screws: ask ik from several `near` instead.")
    if limb.closed_form is not None and count == 6:
        rows = _different(engine, limb.closed_form.solutions(pose, within, engine.middle))
    else:
        rows = _searched(limb, engine, pose, within, how.seeds)
    return np.array(sorted(rows, key=lambda x: tuple(x.round(6)))).reshape(len(rows), limb.nq)


def _different(engine: LimbEngine, rows: Array) -> Array:
    """Rows without those that are the same as one before, but for whole turns; each as near to the middle of its range
    as these bring it."""
    rest, distinct = engine.unwound(rows), []
    while len(rest):
        distinct.append(rest[0])
        way = rest - rest[0]
        rest = rest[np.abs((way - whole_turns(way, engine.period)) * engine.unit).max(axis=1) > SAME]
    return np.array(distinct).reshape(len(distinct), rows.shape[1])


def _searched(limb: Chain, engine: LimbEngine, pose: Pose, within: Array, seeds: int) -> Array:
    """Solutions from many starts, then from the solutions found, while that leads to more."""
    goal = as_rows(pose)[None]
    rows = _different(
        engine, _sharpened(engine, goal, engine.search(goal, engine.middle[None], Plan(within, seeds, all=1)).q, within)
    )
    new = rows
    while 0 < len(rows) <= _MOST and len(new):
        starts = np.concatenate([_beyond_folds(limb, pose, within, new), _completed(rows)])
        sharpened = _sharpened(engine, goal, np.clip(engine.unwound(starts), engine.lower, engine.upper), within)
        both = _different(engine, np.concatenate([rows, sharpened]))
        rows, new = both, both[len(rows) :]
    return rows


def _sharpened(engine: LimbEngine, goal: Array, starts: Array, within: Array) -> Array:
    """Solutions refined by steps from the starts, as near to the goal as they can be, where that is within the
    tolerance: starts that end in one solution end in the same numbers, also where the tip hardly feels how far they are
    from it.
    """
    sharp = np.where(np.isfinite(within), np.minimum(within, _SHARP * np.repeat([1.0, engine.length], 3)), np.inf)
    a = engine.search(np.repeat(goal, len(starts), axis=0), starts, Plan(sharp, 1, near_first=1))
    return a.q[(np.abs(a.left) <= within).all(axis=1)]


def _beyond_folds(limb: Chain, pose: Pose, within: Array, rows: Array) -> Array:
    """Steps from solutions both ways along the motion that the tip feels least, (starts, nq)."""
    data, turned = limb.data, pose.rotation.T
    J = limb.jacobian(rows) / data.unit
    felt = np.concatenate([turned @ J[:, :3], turned @ J[:, 3:] / data.length], axis=1)[:, np.isfinite(within)]
    n = np.linalg.svd(felt)[2][:, -1] / data.unit
    return np.asarray(rows[:, None] + np.array(_STEPS)[:, None] * n[:, None]).reshape(-1, rows.shape[1])


def _completed(rows: Array) -> Array:
    """a + b - c of three solutions, (starts, nq)."""
    k = np.arange(len(rows))
    a, b, c = np.meshgrid(k, k, k, indexing="ij")
    chosen = (a < b) & (c != a) & (c != b)
    return np.asarray(rows[a[chosen]] + rows[b[chosen]] - rows[c[chosen]])

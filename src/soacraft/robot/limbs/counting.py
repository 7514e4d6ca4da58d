"""Rows of a limb's Jacobian that count for a goal, how many conditions they are (of a planar arm fewer than rows), and
how many dofs there are for them (those that limits of no width do not hold).
"""

from __future__ import annotations

import numpy as np

from soacraft.kinematics.tolerances import RANK
from soacraft.model.states.ties import Mask
from soacraft.robot.limbs.chain import Chain
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import log
from soacraft.spatial.transforms import log_rate

#: Configurations at which rows are counted: at almost all of them there are as many as there can be.
_DRAWN = 8


def counted_rows(limb: Chain, goal: Pose, q: Array) -> Array:
    """Rates of the residual of a goal by dofs, in axes of the goal, radians and lengths of the limb, (6, nv).

        r = [log(R_goal* R); R_goal* (p - p_goal)],     rdot = [j(log(R_goal* R)) R* J_w; R_goal* J_v] qdot
    """
    R, turned = limb.true_pose(q).rotation, goal.rotation.T
    J = limb.jacobian(q) / limb.data.unit
    return np.concatenate([log_rate(log(turned @ R)) @ R.T @ J[:3], turned @ J[3:] / limb.data.length])


def conditions(limb: Chain, within: Array) -> tuple[int, Mask]:
    """The most conditions that goals of a limb with an engine are, with tolerances (6), infinite where an axis is free:
    the rank of the rows that count. And the dofs that can move, (nv)."""
    engine, most, counts = limb.engine, 0, np.isfinite(within)
    assert engine is not None
    cached = limb.data.conditions.get(tuple(counts.tolist()))
    if cached is not None:
        return cached
    moving = engine.lower < engine.upper
    for q in np.random.default_rng(0).uniform(engine.low, engine.high, (_DRAWN, limb.nv)):
        rows = counted_rows(limb, limb.true_pose(q), q)[:, moving]
        s = np.linalg.svd(rows[counts], compute_uv=False)
        most = max(most, int(np.sum(s > RANK * np.linalg.norm(rows))))
    return limb.data.conditions.setdefault(tuple(counts.tolist()), (most, moving))

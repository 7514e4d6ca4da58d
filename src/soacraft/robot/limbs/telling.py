"""Residual of a goal, and the reason why it was not met: too far, limits in the way, or no start that got there.

A limit is in the way where it takes a force to hold it: at a nearest approach

    J* W e = G* lambda + sum over dofs at limits of mu,     mu outward

with e the residual and G the rows of loops and couplings. A dof at its limit with mu inward, or none, is not blamed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soacraft import dynamics as dyn
from soacraft.kinematics.bounds import Bounds
from soacraft.kinematics.reach import Span, span_of
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.targets import Placement, Position, aims_of
from soacraft.kinematics.tolerances import AT_LIMIT, MET
from soacraft.robot.limbs.asking import as_pose
from soacraft.robot.limbs.chain import Chain
from soacraft.robot.limbs.data import Part
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import log

#: A limit is in the way where the push against it is more than this part of the residual.
_PUSHED = 1e-4
#: Turns held to more than this do not say where the last hinge is: then only positions are judged.
_SURE_TURN = 1e-6


def left_of(limb: Chain, goals: Array, q: Array) -> Array:
    """Turn and way from each tip to its goal in axes of the goal, (..., tips, 6), of goals (..., tips, 12)."""
    poses = limb.true_pose(q)
    if len(limb.tips) == 1:
        poses = Pose.unchecked(poses.rotation[..., None, :, :].copy(), poses.translation[..., None, :].copy())
    X = as_pose(goals).inv @ poses
    return -np.concatenate([log(X.rotation), X.translation], axis=-1)


def met(residual: Array, within: Array) -> bool:
    """True if all that counts is within its tolerance."""
    return bool((np.abs(residual) <= within).all())


class Missed(NamedTuple):
    """Tip that is not at its goal, with the residual in axes of the goal."""

    tip: int
    goal: Array
    left: Array
    within: Array


def why_not(limb: Chain, part: Part, missed: list[Missed], configuration: Array, more: str = "") -> str:
    """Reason why tips of a part are not at their goals, at coordinates of the robot; `more` where nothing else is
    known.
    """
    for x in missed:
        reason = _too_far(limb, x, configuration)
        if reason:
            return f"too far: {reason}"
    off = ", ".join(_off(limb, x) for x in missed)
    sides = _in_the_way(limb, part, missed, configuration)
    if sides:
        return f"limits are in the way at the nearest approach, {off}: {', '.join(sides)}"
    return f"{more or 'no start got there'}; the nearest approach is {off}"


def _off(limb: Chain, x: Missed) -> str:
    name = "" if len(limb.tips) == 1 else f"{limb.tips[x.tip].full_name!r} "
    turn, way = np.split(np.where(np.isfinite(x.within), x.left, 0.0), 2)
    return f"{name}off by {np.linalg.norm(way):.3g} m and {np.linalg.norm(turn):.3g} rad"


def _bounds(limb: Chain, part: Part) -> Bounds:
    return limb.data.bounds(~part.moves)


def _too_far(limb: Chain, x: Missed, configuration: Array) -> str:
    """Reason by links alone, which holds for any configuration; empty where they do not decide."""
    if not np.isfinite(x.within[3:]).all() or limb.robot.mb.layout.flexible:
        return ""
    turned = bool(x.within[:3].max() <= _SURE_TURN)
    spans = limb.data.spans
    if (x.tip, turned) not in spans:
        spans[x.tip, turned] = _span(limb, x.tip, turned, configuration)
    span, pose = spans[x.tip, turned], as_pose(x.goal)
    slack = float(np.linalg.norm(x.within[3:])) + (limb.data.length * _SURE_TURN if turned else 0.0)
    return "" if span is None else span.beyond(pose.rotation, pose.translation, slack)


def _span(limb: Chain, tip: int, turned: bool, configuration: Array) -> Span | None:
    mb, (base, *tips) = limb.data.model, limb.data.frames
    part = next(x for x in limb.data.parts if tip in x.tips)
    target: Placement | Position = Position(tips[tip], np.zeros(3), relative_to=base)
    if turned:
        target = Placement(tips[tip], Pose(), relative_to=base)
    ((aim,),) = aims_of(mb, [target], (), MET)
    return span_of(_bounds(limb, part), mb.state(configuration), aim)


def _in_the_way(limb: Chain, part: Part, missed: list[Missed], configuration: Array) -> list[str]:
    """The dofs whose limits are pushed at."""
    mb, bounds = limb.robot.mb, _bounds(limb, part)
    scale = np.repeat([1.0, 1.0 / limb.data.length], 3)
    push, size = np.zeros(mb.nv), 0.0
    units = bounds.measured_by(limb.data.length).units
    for x in missed:
        R = as_pose(x.goal).rotation
        e = np.where(np.isfinite(x.within), x.left, 0.0) * scale
        J = dyn.jacobian(mb, configuration, limb.tips[x.tip], limb.base, relative_to=limb.base, ignore_loops=True)
        J = np.concatenate([R.T @ J[:3], R.T @ J[3:]]) * scale[:, None] / units
        push += J.T @ e
        size += float(e @ e)
    at = bounds.sides(configuration)
    at[~part.moves] = 0
    limited = np.flatnonzero((at != 0) & (bounds.place >= 0))
    balls = [b for b in bounds.balls if at[b.v].any()]
    columns = [np.eye(mb.nv)[:, i] for i in limited]
    for ball in balls:
        w = ball.rotation(configuration)
        column = np.zeros(mb.nv)
        column[ball.v] = w / np.linalg.norm(w)
        columns.append(column)
    if not columns:
        return []
    rows = [np.zeros((0, mb.nv))]
    if mb.is_closed:
        constraints = Constraints(mb, mb.state(configuration))
        rows.append(constraints.jacobian() / constraints.common_units[:, None] / units)
    G = np.concatenate(rows)
    forces = np.linalg.lstsq(np.column_stack([G.T, *columns]), push, rcond=None)[0][len(G) :]
    least = _PUSHED * np.sqrt(size)
    texts = []
    for i, mu in zip(limited, forces, strict=False):
        now = float(configuration[bounds.place[i]])
        for side, limit, out in (("lower", bounds.lower[i], -mu), ("upper", bounds.upper[i], mu)):
            if abs(now - limit) * units[i] <= AT_LIMIT and out > least:
                texts.append(f"{mb.dof_names[i]} at its {side} limit {limit:.4g}")
    for ball, mu in zip(balls, forces[len(limited) :], strict=True):
        if mu > least:
            texts.append(f"{ball.name} at its largest angle {ball.largest:.4g}")
    return texts


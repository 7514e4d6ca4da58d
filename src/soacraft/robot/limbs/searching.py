"""The search for one goal of a limb: solutions of each of its parts, which of them are taken, and what stops the rest.

A part of screws in a row is searched by compiled code (`kinematics.limbs`), others by `sc.inverse_kinematics` with the
rest of the robot held: hinges that turn as balls, tips that share hinges, loops and couplings, which are kept. A
solution is a row of the robot's coordinates, so that what loops move along is part of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice, product
from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import LoopError, StateError
from soacraft.kinematics.bounds import Bounds
from soacraft.kinematics.inverse import inverse_kinematics
from soacraft.kinematics.limbs import Plan
from soacraft.kinematics.targets import Axes, Direction, Placement, Position
from soacraft.model.sizes.lengths import chain
from soacraft.model.states.ties import tied_dofs
from soacraft.robot.limbs.asking import AXES, Question, as_pose
from soacraft.robot.limbs.chain import Chain
from soacraft.robot.limbs.data import Part
from soacraft.robot.limbs.telling import Missed, left_of, met, why_not
from soacraft.robot.limbs.ties import closed, passed
from soacraft.spatial.checks import Array, finite

#: Starts of the slower search, at most; and of one for several solutions.
_STARTS, _SEVERAL = 100, 12
#: Seconds of a search that has none left: to find its first step.
_LEAST = 1e-6
#: Solutions of parts that are put together, at most.
_TOGETHER = 256
#: Angles that differ by less are one solution, in radians.
SAME = 1e-4


class Found(NamedTuple):
    """Solution of one goal."""

    whole: Array
    """The robot's coordinates."""
    left: Array
    """(tips, 6)."""
    found: bool
    tried: int
    why: str


class Several(NamedTuple):
    """Solutions of a part, rows of the robot's coordinates; or, where there are none, the nearest approach."""

    rows: Array
    found: bool
    tried: int
    more: str = ""
    """Further reason why there are none."""


def one(limb: Chain, goals: Array, start: Array, how: Question) -> Found:
    """The answer for one goal of each tip, (tips, 12), from coordinates of the limb."""
    if limb.own_ik is not None:
        answer = limb.own_ik(as_pose(goals[0] if len(goals) == 1 else goals), start)
        if answer is not None:
            q = verified(limb, goals, answer, how.within)
            configuration = limb.of_robot(q)
            reason = _stopped(limb, configuration[None], how)[1]
            return Found(configuration, left_of(limb, goals, q), not reason, 1, reason)
    parts = limb.data.parts
    begun, each = time.perf_counter(), []
    for part in parts:
        each.append(_part(limb, part, goals, start, _in_time(how, begun)))
    tried = max(x.tried for x in each)
    if not all(x.found for x in each):
        configuration = _joined(limb, [x.rows[0] for x in each])
        residual = left_of(limb, goals, configuration[limb.q_places])
        why = []
        for part, x in zip(parts, each, strict=True):
            if not x.found:
                tips = [i for i in part.tips if not met(residual[i], how.within[i])]
                missed = [Missed(i, goals[i], residual[i], how.within[i]) for i in tips]
                why.append(why_not(limb, part, missed, configuration, x.more))
        return Found(configuration, np.where(np.isfinite(how.within), residual, 0.0), False, tried, "; ".join(why))
    rows = _combined(limb, each, start, how)
    if limb.data.tied:
        rows, open_ = _as_limb_has(limb, rows)
        if open_:
            residual = np.where(np.isfinite(how.within), left_of(limb, goals, rows[0][limb.q_places]), 0.0)
            return Found(rows[0], residual, False, tried, open_)
    order = np.argsort([cost(limb, x, start, how.prefer) for x in rows], kind="stable") if len(rows) > 1 else [0]
    rows = rows[order]
    free, reason = _stopped(limb, rows, how)
    configuration = rows[0] if reason else rows[free]
    residual = np.where(np.isfinite(how.within), left_of(limb, goals, configuration[limb.q_places]), 0.0)
    return Found(configuration, residual, not reason, tried, reason)


def _in_time(how: Question, begun: float) -> Question:
    """Question with the remaining time."""
    seconds = max(how.seconds - (time.perf_counter() - begun), _LEAST)
    return how._replace(seconds=seconds) if how.seconds else how


def _part(limb: Chain, part: Part, goals: Array, start: Array, how: Question) -> Several:
    """Solutions of one part."""
    asked = [i for i in part.tips if np.isfinite(how.within[i]).any()]
    configuration = limb.placed(start)
    if not asked:
        return Several(limb.data.bounds(~part.moves).inside(configuration)[None], True, 0)
    several = how.chosen or bool(limb.data.stops or limb.data.ropes)
    if part.engine is None:
        return _by_tree(limb, part, goals, configuration, how, several)
    tip = part.tips[0]
    closed = limb.closed_form
    if closed is not None and np.isfinite(how.within[tip]).all():
        q = closed.solutions(as_pose(goals[tip]), how.within[tip], start)
        if len(q):
            return Several(limb.placed(q), True, 1)
    goal, near = np.ascontiguousarray(goals[tip : tip + 1]), np.ascontiguousarray(start[None, part.q])
    plan = Plan(how.within[tip], how.seeds, all=int(several), near_first=1, seconds=how.seconds)
    a = part.engine.search(goal, near, plan)
    q, tried, met = a.q, int(a.tried[0]), bool(a.found[0])
    if several and not met:
        q = part.engine.search(goal, near, Plan(how.within[tip], how.seeds, seconds=how.seconds)).q
    rows = np.repeat(configuration[None], len(q), axis=0)
    rows[:, limb.q_places[part.q]] = q
    return Several(rows, met, tried)


# -- hinges that are no screws, loops, tips that share hinges --------------------------------------------------------


def _by_tree(limb: Chain, part: Part, goals: Array, configuration: Array, how: Question, several: bool) -> Several:
    """Solutions by `sc.inverse_kinematics`: from the start, then from others, the same every time."""
    targets, tolerance = _targets(limb, part, goals, how.within)
    mb, begun = limb.data.model, time.perf_counter()
    held = ~part.moves & ~tied_dofs(mb)  # loops elsewhere may close by themselves
    fixed = [mb.dof_names[i] for i in np.flatnonzero(held)]
    bounds = limb.data.bounds(held)
    inside = limb.data.bounds(np.zeros(mb.nv, dtype=np.bool_)).inside(configuration)  # others move no relative pose
    one_by_one = several or how.seconds > 0.0
    count = min(how.seeds, _SEVERAL if several else _STARTS) if one_by_one else 1
    distinct: list[Array] = []
    best: tuple[float, Array] | None = None
    tried, more = 0, ""
    for q0 in islice(_starts(bounds, inside, mb.is_closed), count):
        if tried and how.seconds and time.perf_counter() - begun > how.seconds:
            break
        try:
            r = inverse_kinematics(mb, targets, fixed, q0=q0, tolerance=tolerance, allow_partial=True,
                                   starts=1 if one_by_one else min(how.seeds, _STARTS),
                                   time_limit=_in_time(how, begun).seconds or None)  # fmt: skip
        except LoopError as wrong:
            tried, more = tried + 1, str(wrong)
            continue
        row = np.array(configuration)
        row[part.q_moves] = np.asarray(r.q)[part.q_moves]
        tried, more = tried + int(r.starts), str(r.proof)
        residual = left_of(limb, goals, row[limb.q_places])
        if all(met(residual[i], how.within[i]) for i in part.tips):
            if all(np.abs(limb.apart(row, x)).max() > SAME for x in distinct):
                distinct.append(row)
            if not several:
                break
        else:
            size = float(np.linalg.norm(np.where(np.isfinite(how.within), residual, 0.0)))
            best = (size, row) if best is None or size < best[0] else best
    if distinct:
        return Several(np.array(distinct), True, tried)
    row = np.array(configuration)
    row[part.q_moves] = inside[part.q_moves]
    return Several((row if best is None else best[1])[None], False, tried, more)


def _starts(bounds: Bounds, q: Array, is_closed: bool) -> Iterator[Array]:
    """The start, then others: anywhere in a tree, ever further away in a closed chain."""
    yield q
    rng, spread = np.random.default_rng(0), 0.1
    while True:
        yield bounds.scattered(q, rng, spread) if is_closed else bounds.drawn(q, rng, 1)[0]
        spread = min(1.0, 1.4 * spread)


def _targets(limb: Chain, part: Part, goals: Array, within: Array) -> tuple[list[Any], float]:
    """Targets for the tips that have a goal, and how well they are to be met, relative to a radian and a length."""
    targets: list[Any] = []
    tolerance, (base, *tips) = 1e-6, limb.data.frames
    for i in part.tips:
        counts = np.isfinite(within[i])
        if not counts.any():
            continue
        tip, pose = tips[i], as_pose(goals[i])
        far = max(chain(base, tip).length, float(np.linalg.norm(pose.translation))) or 1.0
        tight = np.where(counts, within[i], np.inf) / np.repeat([1.0, far], 3)
        tolerance = min(tolerance, float(tight.min()))
        if counts.all():
            targets.append(Placement(tip, pose, relative_to=base))
            continue
        if counts[3:].all():
            targets.append(Position(tip, pose.translation, relative_to=base))
            counts[3:] = False
        if counts[:3].sum() == 2:
            axis = np.where(counts[:3], 0.0, 1.0)
            targets.append(Direction(tip, axis=axis, direction=pose.rotation @ axis, relative_to=base))
            counts[:3] = False
        if counts.any():
            targets.append(Axes(tip, pose, counts, relative_to=base))
    return targets, tolerance


# -- which is taken --------------------------------------------------------------------------------------------------


def _joined(limb: Chain, rows: list[Array]) -> Array:
    """One row from one of each part."""
    configuration = np.array(rows[0])
    for part, row in zip(limb.data.parts, rows, strict=True):
        configuration[part.q_moves] = row[part.q_moves]
    return configuration


def _combined(limb: Chain, each: list[Several], start: Array, how: Question) -> Array:
    """Rows of the whole limb: those of its only part, or each solution of one with each of the others."""
    if len(each) == 1:
        return each[0].rows
    prefer = how.prefer if isinstance(how.prefer, str) and how.prefer != "manipulability" else "near"
    few = max(1, int(_TOGETHER ** (1.0 / len(each))))
    sorted_rows = []
    for x in each:
        order = np.argsort([cost(limb, row, start, prefer) for row in x.rows], kind="stable")
        sorted_rows.append(x.rows[order[:few]])
    return np.array([_joined(limb, list(rows)) for rows in product(*sorted_rows)])


def _as_limb_has(limb: Chain, rows: Array) -> tuple[Array, str]:
    """Solutions with the dofs that are tied where `Limb.of_robot` has them, so that what the limb is asked there is of
    the same configuration; and what is open, where it has none of them."""
    joined, open_ = [], ""
    for row in rows:
        try:
            joined.append(closed(limb, row[limb.q_places]))
        except LoopError as wrong:
            open_ = str(wrong)
    return (np.array(joined), "") if joined else (rows, open_)


def _stopped(limb: Chain, rows: Array, how: Question) -> tuple[int, str]:
    """The first row that nothing stops; or what stops all of them."""
    broken = [passed(limb, x) for x in rows] if limb.data.stops or limb.data.ropes else [""] * len(rows)
    good = np.array([not x for x in broken])
    if not good.any():
        what = "the only solution found" if len(rows) == 1 else f"all {len(rows)} solutions; at the preferred one"
        return 0, f"a stop or a rope forbids {what}: {broken[0]}"
    if how.world is not None:
        hit = np.ones(len(rows), dtype=np.bool_)
        hit[good] = np.atleast_1d(how.world.collides(rows[good]))
        if hit.all():
            first = " - ".join(how.world.touching(rows[int(np.argmax(good))])[0])
            if len(rows) == 1:
                return 0, f"the only solution found touches something: {first}"
            return 0, f"all {len(rows)} solutions touch something; the preferred one {first}"
        good = ~hit
    return int(np.argmax(good)), ""


def cost(limb: Chain, configuration: Array, start: Array, prefer: Any) -> float:
    """Cost of a solution, a row of the robot's coordinates."""
    q = configuration[limb.q_places]
    if callable(prefer):
        return float(finite(prefer(q), (), f"the value that prefer= gives for limb {limb.name!r}", StateError))
    if prefer is None or prefer == "near":
        return float(np.linalg.norm(limb.apart(configuration, limb.placed(start))))
    if prefer == "manipulability":
        scale = np.tile(np.repeat([1.0, 1.0 / limb.data.length], 3), len(limb.tips))
        J = limb.jacobian(q) * scale[:, None]
        return -float(np.prod(np.linalg.svd(J if limb.data.tied else J / limb.data.unit, compute_uv=False)))
    low, high = limb.data.range
    place = limb.dof_places
    bounded = (place >= 0) & (high > low)
    x = configuration[place[bounded]]
    return float(np.sum(((2.0 * x - low[bounded] - high[bounded]) / (high - low)[bounded]) ** 2))


# -- answers of others -----------------------------------------------------------------------------------------------


def verified(limb: Chain, goals: Array, answer: Any, within: Array) -> Array:
    """Coordinates that a solver of the user's own gave, where they are at the goal and within the limits."""
    q = limb.read_q(answer, (limb.nq,), "q of the ik")
    off = left_of(limb, goals, q)
    if not met(off, within):
        worst = int(np.argmax(np.abs(off) / within))
        axis = AXES[worst % 6]
        raise StateError(
            f"ik of limb {limb.name!r} gave q = {q.round(6).tolist()}, which is off by {np.abs(off).max():.3g} along "
            f"{axis}: correct it, or remove it with use(ik=None)."
        )
    reason = outside(limb, q)
    if reason:
        raise StateError(f"ik of limb {limb.name!r} gave {reason}: correct it, or remove it with use(ik=None).")
    return q


def outside(limb: Chain, q: Array) -> str:
    """A dof of the limb that is outside its limits, with numbers; empty where none is."""
    data, configuration = limb.data, limb.placed(q)
    place = limb.dof_places
    x = np.where(place >= 0, configuration[place], 0.0)
    out = (place >= 0) & ((x < data.lower) | (x > data.upper))
    if out.any():
        i = int(np.argmax(out))
        return f"{limb.dof_names[i]!r} = {x[i]:.6g}, outside its limits {data.lower[i]:.6g} to {data.upper[i]:.6g}"
    for ball in data.balls:
        angle = float(np.linalg.norm(ball.rotation(configuration)))
        if np.isin(limb.v_places, np.arange(ball.v.start, ball.v.stop)).any() and angle > ball.largest:
            return f"{ball.name!r} turned by {angle:.6g}, beyond its largest angle {ball.largest:.6g}"
    return ""

"""Inverse kinematics of limbs: what is asked, which solution is preferred, and what is told of the answer.

Chains of screws are searched by compiled code (`kinematics.limbs`), others by `sc.inverse_kinematics` with the rest of
the robot held. Either way an answer is within the limits, and met within its tolerance or not called found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.arguments import whole_number
from soacraft.errors import ConvergenceError, StateError, near
from soacraft.kinematics.bounds import Bounds
from soacraft.kinematics.inverse import inverse_kinematics
from soacraft.kinematics.limbs import Answers, Plan
from soacraft.kinematics.reach import out_of_reach
from soacraft.kinematics.targets import Direction, Placement, Position, aims_of
from soacraft.kinematics.tolerances import MET
from soacraft.model.sizes.lengths import chain
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import log

if TYPE_CHECKING:
    from soacraft.robot.limbs.limb import Limb
    from soacraft.robot.world.world import World

AXES = ("rx", "ry", "rz", "x", "y", "z")
#: Starts of a search, of one for the best of several solutions, and of one for all.
SEEDS, SEVERAL, ALL = 400, 48, 300
#: Angles that differ by less are one solution, in radians.
SAME = 1e-4

Solver = Callable[[Pose, Array], Any]
_PREFER = ("near", "mid-range", "manipulability")


@dataclass(frozen=True, eq=False)
class Reach:
    """What `Limb.ik` found; true where every pose was. With batches all have leading axes."""

    q: Array
    """(..., nq): within the limits; where nothing was found the nearest approach."""
    found: Any
    """Whether the pose is met within its tolerance."""
    residual: Any
    """What is left in the axes of the goal, (..., 6): turn in radians, way in metres."""
    tried: Any
    """From how many starts."""
    why: Any
    """Why nothing was found; empty where something was."""

    def __bool__(self) -> bool:
        return bool(np.all(self.found))

    def __repr__(self) -> str:
        if np.ndim(self.found):
            return (
                f"{np.sum(self.found)} of {np.size(self.found)} poses found, from {np.mean(self.tried):.3g} starts each"
            )
        angle, way = (float(np.linalg.norm(x)) for x in np.split(self.residual, 2))
        q = np.array2string(self.q, precision=4, suppress_small=True)
        what = "found" if self.found else f"not found: {self.why}"
        return f"{what}; q = {q}, off by {way:.2g} m and {angle:.2g} rad, from {self.tried} starts"


def reach(
    limb: Limb,
    pose: Pose,
    start: Any,
    free: Any,
    tolerance: Any,
    seeds: Any,
    world: World | None,
    prefer: Any,
    seconds: Any,
    threads: int,
) -> Reach:
    """`Limb.ik`."""
    if not isinstance(pose, Pose):
        raise StateError(f"the goal of limb {limb.name!r} must be a Pose(...), got {pose!r:.60}.")
    batch = pose.batch_shape
    within = read_tolerance(limb, free, tolerance)
    given = start is not None
    starts = _starts(limb, start, batch)
    prefer = ("near" if given else None) if prefer is None else prefer
    if prefer is not None and not callable(prefer) and prefer not in _PREFER:
        raise StateError(f"prefer={prefer!r:.40} is no way to choose{near(str(prefer), _PREFER)}")
    limit = 0.0 if seconds is None else float(finite(seconds, (), "time_limit", StateError))
    if seconds is not None and not limit > 0.0:
        raise StateError(f"time_limit must be positive, in seconds; got {seconds!r:.40}.")
    if world is not None and getattr(world, "robot", None) is not limb.robot:
        raise StateError(f"collisions= is a World around this robot, got {world!r:.60}.")
    chosen = callable(prefer) or prefer in ("mid-range", "manipulability") or world is not None
    count = whole_number(SEVERAL if seeds is None and chosen else SEEDS if seeds is None else seeds, "seeds", 1)
    goals = np.concatenate([pose.rotation.reshape(-1, 9), pose.translation.reshape(-1, 3)], axis=1)
    engine = limb.engine
    if limb.own_ik is None and engine is not None and not chosen:
        plan = Plan(within, count, near_first=int(prefer == "near"), seconds=limit)
        a = engine.search(goals, starts, plan, whole_number(threads, "threads", 1))
        if not batch and a.found[0]:
            return Reach(a.q[0], True, a.left[0], int(a.tried[0]), "")
        q, left, found, tried = a.q, a.left, a.found, a.tried
        why = np.full(len(goals), "", dtype=object)
        for i in () if found.all() else np.flatnonzero(~found):
            q[i], left[i] = approached(limb, goals[i], q[i], within, nearer=not batch)
            why[i] = why_not(limb, goals[i], q[i], left[i], within)
    else:
        rows = np.broadcast_to(starts, (len(goals), limb.nq))
        way = Way(within, count, prefer if chosen else None, limit, world)
        each = [_one(limb, g, s, way) for g, s in zip(goals, rows, strict=True)]
        q, left = (np.array([x[i] for x in each]) for i in (0, 1))
        found, tried = np.array([x[2] for x in each]), np.array([x[3] for x in each])
        why = np.array([x[4] for x in each], object)
    if not batch:
        return Reach(q[0], bool(found[0]), left[0], int(tried[0]), str(why[0]))
    return Reach(
        q.reshape(*batch, -1), found.reshape(batch), left.reshape(*batch, 6), tried.reshape(batch), why.reshape(batch)
    )


def solutions(limb: Limb, pose: Pose, free: Any, tolerance: Any, seeds: Any) -> Array:
    """`Limb.solutions`."""
    if not isinstance(pose, Pose) or pose.batch_shape:
        raise StateError(f"solutions of limb {limb.name!r} are those of one Pose(...), got {pose!r:.60}.")
    within = read_tolerance(limb, free, tolerance)
    conditions = int(np.isfinite(within).sum())
    if limb.nv > conditions:
        raise StateError(
            f"limb {limb.name!r} has {limb.nv} dofs for {conditions} conditions: its solutions are curves. Follow one "
            "with self_motion(q), or hold dofs."
        )
    if limb.engine is None:
        raise StateError(f"limb {limb.name!r} is no chain of screws: ask ik from several `near` instead.")
    count = ALL if seeds is None else whole_number(seeds, "seeds", 1)
    goal = np.ascontiguousarray(np.concatenate([pose.rotation.ravel(), pose.translation])[None])
    found = limb.engine.search(goal, limb.engine.middle[None], Plan(within, count, all=1)).q
    kept: list[Array] = []
    turning = limb.engine.unit == 1.0
    for q in found:
        if all(np.abs(_apart(q, x, turning, limb)).max() > SAME for x in kept):
            kept.append(q)
    return np.array(sorted(kept, key=lambda x: tuple(x.round(6)))).reshape(len(kept), limb.nq)


def _apart(a: Array, b: Array, turning: Any, limb: Limb) -> Array:
    """The difference of two configurations; of dofs without limits as angles."""
    assert limb.engine is not None
    d = a - b
    whole = turning & ~np.isfinite(limb.engine.lower) & ~np.isfinite(limb.engine.upper)
    return np.asarray(np.where(whole, np.remainder(d + np.pi, 2 * np.pi) - np.pi, d) * limb.engine.unit)


# -- one goal, by the long way ---------------------------------------------------------------------------------------


class Way(NamedTuple):
    """How one goal is searched for."""

    within: Array
    seeds: int
    prefer: Any
    limit: float
    world: World | None


def _one(limb: Limb, goal: Array, start: Array, way: Way) -> tuple[Any, ...]:
    pose, within = Pose(rotation=goal[:9].reshape(3, 3), translation=goal[9:]), way.within
    if limb.own_ik is not None:
        given = limb.own_ik(pose, start)
        if given is not None:
            q = _verified(limb, pose, given, within)
            told = _touched(limb, q[None], way.world)
            return q, left_of(limb, pose, q), not told, 1, told
    if limb.engine is None:
        q, left, ok, tried, why = _by_tree(limb, pose, start, within, way.seeds)
        told = _touched(limb, q[None], way.world) if ok else ""
        return q, left, ok and not told, tried, why or told
    if way.prefer is None and way.world is None:
        a = limb.engine.search(goal[None], start[None], Plan(within, way.seeds, near_first=1, seconds=way.limit))
        if not a.found[0]:
            return _missed(limb, goal, a, within)
        return a.q[0], a.left[0], True, int(a.tried[0]), ""
    a = limb.engine.search(goal[None], start[None], Plan(within, way.seeds, all=1, seconds=way.limit))
    if not len(a.q):
        plan = Plan(within, way.seeds, seconds=way.limit)
        return _missed(limb, goal, limb.engine.search(goal[None], start[None], plan), within)
    order = np.argsort([_cost(limb, q, start, way.prefer) for q in a.q], kind="stable")
    if way.world is not None:
        hit = np.asarray(way.world.collides(limb.of_robot(a.q)))[order]
        if hit.all():
            best = int(order[0])
            return a.q[best], a.left[best], False, int(a.tried[0]), _touched(limb, a.q[order], way.world)
        order = order[~hit]
    best = int(order[0])
    return a.q[best], a.left[best], True, int(a.tried[0]), ""


def _touched(limb: Limb, q: Array, world: World | None) -> str:
    """What is touched at all of some solutions; empty where nothing is at one of them."""
    if world is None or not np.all(world.collides(limb.of_robot(q))):
        return ""
    first = " - ".join(world.touching(limb.of_robot(q[0]))[0])
    return f"all {len(q)} solutions touch something; the preferred one {first}"


def _missed(limb: Limb, goal: Array, a: Answers, within: Array) -> tuple[Any, ...]:
    q, left = approached(limb, goal, a.q[0], within, nearer=True)
    return q, left, False, int(a.tried[0]), why_not(limb, goal, q, left, within)


def approached(limb: Limb, goal: Array, q: Array, within: Array, nearer: bool) -> tuple[Array, Array]:
    """The nearest approach from where a search gave up, where that is asked for; what is left there."""
    pose = Pose(rotation=goal[:9].reshape(3, 3), translation=goal[9:])
    if nearer and _plain(within):
        found = _by_tree(limb, pose, q, within, 1)[0]
        size = _size(limb, within)
        if size(left_of(limb, pose, found)) < size(left_of(limb, pose, q)):
            q = found
    left = left_of(limb, pose, q)
    return q, np.where(np.isfinite(within), left, 0.0)


def _plain(within: Array) -> bool:
    free = ~np.isfinite(within)
    return not free[3:].any() and free[:3].sum() in (0, 1, 3)


def _size(limb: Limb, within: Array) -> Callable[[Array], float]:
    scale = np.where(np.isfinite(within), np.repeat([1.0, 1.0 / (limb.reach or 1.0)], 3), 0.0)
    return lambda left: float(np.linalg.norm(scale * left))


def _cost(limb: Limb, q: Array, start: Array, prefer: Any) -> float:
    engine = limb.engine
    assert engine is not None
    if callable(prefer):
        return float(prefer(q))
    if prefer is None or prefer == "near":
        return float(np.linalg.norm((q - start) * engine.unit))
    if prefer == "manipulability":
        J = limb.jacobian(q) * np.repeat([1.0, 1.0 / engine.length], 3)[:, None] / engine.unit
        return -float(np.prod(np.linalg.svd(J, compute_uv=False)))
    half = 0.5 * (engine.high - engine.low)
    return float(np.sum(((q - engine.middle) / np.where(half > 0.0, half, 1.0)) ** 2))


def _verified(limb: Limb, pose: Pose, given: Any, within: Array) -> Array:
    q = finite(np.asarray(given, dtype=float), (limb.nq,), f"q of the ik of limb {limb.name!r}", StateError)
    left, (lower, upper) = left_of(limb, pose, q), limb.limits
    if (np.abs(left) > within).any():
        axis = AXES[int(np.argmax(np.abs(left) / within))]
        raise ConvergenceError(
            f"ik of limb {limb.name!r} gave q = {q.round(6).tolist()}, which is off by {np.abs(left).max():.3g} along "
            f"{axis}: mend it, or take it away with use(ik=None)."
        )
    if limb.nq == limb.nv and ((q < lower) | (q > upper)).any():
        i = int(np.argmax((q < lower) | (q > upper)))
        raise ConvergenceError(
            f"ik of limb {limb.name!r} gave {limb.dof_names[i]!r} = {q[i]:.6g}, outside its limits {lower[i]:.6g} to "
            f"{upper[i]:.6g}: mend it, or take it away with use(ik=None)."
        )
    return q


def _by_tree(limb: Limb, pose: Pose, start: Array, within: Array, count: int) -> tuple[Any, ...]:
    """By `sc.inverse_kinematics`, the rest of the robot held; loops and couplings are kept."""
    mb = limb.robot.mb
    held = np.ones(mb.nv, dtype=bool)
    held[limb.v_places] = False
    fixed = [mb.dof_names[i] for i in np.flatnonzero(held & ~tied_dofs(mb))]
    scale = np.repeat([1.0, limb.reach or 1.0], 3)
    tight = float((within / scale)[np.isfinite(within)].min())
    r = inverse_kinematics(
        mb, _targets(limb, pose, within), fixed, q0=limb.of_robot(start), tolerance=min(tight, 1e-6),
        starts=min(count, 100), allow_partial=True,
    )  # fmt: skip
    q, ok = np.array(r.q)[limb.q_places], bool(r.converged)
    return (
        q,
        left_of(limb, pose, q),
        ok,
        int(r.starts),
        "" if ok else (str(r.proof) or f"not met from {r.starts} starts"),
    )


def _targets(limb: Limb, pose: Pose, within: Array) -> list[Any]:
    free = {name for name, x in zip(AXES, within, strict=True) if not np.isfinite(x)}
    if not free:
        return [Placement(limb.tip, pose, relative_to=limb.base)]
    if free == {"rx", "ry", "rz"}:
        return [Position(limb.tip, pose.translation, relative_to=limb.base)]
    if len(free) == 1 and free <= {"rx", "ry", "rz"}:
        axis = np.eye(3)[AXES.index(free.pop())]
        turn = Direction(limb.tip, axis=axis, direction=pose.rotation @ axis, relative_to=limb.base)
        return [Position(limb.tip, pose.translation, relative_to=limb.base), turn]
    raise StateError(
        f"limb {limb.name!r} has loops or hinges that are no screws: there free may be one axis of rotation, or all "
        f"three; got {sorted(free)}."
    )


# -- what is asked, and told -----------------------------------------------------------------------------------------


def left_of(limb: Limb, pose: Pose, q: Array) -> Array:
    """Turn and way from the tip to the goal, in axes of the goal, (6)."""
    X = pose.inv @ limb._true_pose(q)
    return -np.concatenate([log(X.rotation), X.translation])


def close(a: Pose, b: Pose, reach: float) -> bool:
    """Whether two poses agree to 1e-9 of a radian and of a reach."""
    X = a.inv @ b
    return bool(np.abs(X.rotation - np.eye(3)).max() < 1e-9 and np.abs(X.translation).max() <= 1e-9 * (reach or 1.0))


def tied_dofs(mb: Multibody) -> npt.NDArray[np.bool_]:
    """Which dofs active loops and couplings tie, (nv)."""
    tied = np.zeros(mb.nv, dtype=bool)
    for loop in mb.loops:
        if loop.active and not loop.one_sided:
            for body in chain(loop.a, loop.b).bodies:
                tied[mb.layout.hinge_v[mb.layout.index[body]]] = True
    for coupling in mb.couplings:
        if coupling.active and not coupling.one_sided:
            tied[[mb.dof_names.index(x) for x in coupling.terms]] = True
    return tied


def read_tolerance(limb: Limb, free: Any, tolerance: Any) -> Array:
    """Six tolerances, infinite where an axis is free."""
    names = (free,) if isinstance(free, str) else tuple(free)
    for x in names:
        if x not in AXES:
            raise StateError(f"free={x!r:.40} is no axis of a goal{near(str(x), AXES)}")
    if len(set(names)) == 6:
        raise StateError(f"all six axes are free: then limb {limb.name!r} may be anywhere.")
    given = finite(MET if tolerance is None else tolerance, (...,), "tolerance", StateError)
    if given.shape not in ((), (6,)) or not given.min() > 0.0:
        raise StateError(f"tolerance must be a positive number, or six for {', '.join(AXES)}; got {tolerance!r:.60}.")
    within = np.array(given, dtype=float) if given.shape else np.full(6, float(given))
    if not given.shape:
        within[3:] *= limb.reach or 1.0
    for x in names:
        within[AXES.index(x)] = np.inf
    return within


def _starts(limb: Limb, start: Any, batch: tuple[int, ...]) -> Array:
    if start is None:
        return limb.engine.middle[None] if limb.engine is not None else limb.q[None]
    q = finite(np.asarray(start, dtype=float), (..., limb.nq), f"near of limb {limb.name!r}", StateError)
    if q.ndim == 1:
        return np.ascontiguousarray(q[None])
    if q.shape[:-1] != batch:
        raise StateError(f"near of limb {limb.name!r} has leading axes {q.shape[:-1]}, and the poses {batch}.")
    return np.ascontiguousarray(q.reshape(-1, limb.nq))


def why_not(limb: Limb, goal: Array, q: Array, left: Array, within: Array) -> str:
    """Too far, or which limits are in the way at the nearest approach, or only that no start got there."""
    mb, engine = limb.robot.mb, limb.engine
    pose = Pose(rotation=goal[:9].reshape(3, 3), translation=goal[9:])
    held = np.ones(mb.nv, dtype=bool)
    held[limb.v_places] = False
    turns = np.isfinite(within[:3]).all()
    target = (
        Placement(limb.tip, pose, relative_to=limb.base)
        if turns
        else Position(limb.tip, goal[9:], relative_to=limb.base)
    )
    if np.isfinite(within[3:]).all():
        (aim,) = next(iter(aims_of(mb, [target], (), MET)))
        told = out_of_reach(Bounds(mb, held, True), mb.state(limb.of_robot(q)), aim)
        if told:
            return f"too far: {told}"
    off = f"off by {np.linalg.norm(left[3:]):.3g} m and {np.linalg.norm(left[:3]):.3g} rad"
    if engine is not None:
        sides = [
            f"{name} at its {side} limit {x:.4g}"
            for name, low, high, y in zip(limb.dof_names, engine.lower, engine.upper, q, strict=True)
            for side, x, at in (("lower", low, y <= low), ("upper", high, y >= high))
            if at
        ]
        if sides:
            return f"limits are in the way at the nearest approach, {off}: {', '.join(sides)}"
    return f"no start got there; the nearest approach is {off}"

"""Arguments of inverse kinematics: goals of the tips, tolerances, starts, and the choice among solutions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from soacraft.arguments import whole_number
from soacraft.errors import StateError, near
from soacraft.kinematics.limbs import Plan
from soacraft.kinematics.tolerances import MET
from soacraft.model.sizes.lengths import chain
from soacraft.model.tree.frames.frame import Frame
from soacraft.robot.interfaces import Surroundings
from soacraft.robot.limbs.chain import Chain
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.pose import Pose

if TYPE_CHECKING:
    from soacraft.robot.limbs.data import LimbData

#: Axes of its goal that a tip may be free about or along.
AXES = ("rx", "ry", "rz", "x", "y", "z")
PREFER = ("near", "mid-range", "manipulability")
#: Starts of a search, of one for the best of several solutions, and of one for all.
SEEDS, SEVERAL, ALL = 400, 48, 300
#: Starts of one search, at most.
MOST_SEEDS = 1_000_000

Solver = Callable[[Pose, Array], Any]


class Goals(NamedTuple):
    """Goals of the tips: leading axes, and rows of the rotation then the position, (count, tips, 12)."""

    batch: tuple[int, ...]
    rows: Array
    asked: tuple[bool, ...]
    """The tips that have a goal."""


class Question(NamedTuple):
    """Settings of the search for one goal."""

    within: Array
    """Tolerances by tip, (tips, 6): radians and metres, infinite where an axis is free."""
    seeds: int
    prefer: Any
    seconds: float
    world: Surroundings | None

    @property
    def chosen(self) -> bool:
        """True if several solutions are compared."""
        return callable(self.prefer) or self.prefer in ("mid-range", "manipulability") or self.world is not None


def as_pose(rows: Array) -> Pose:
    """Poses from their twelve numbers, (..., 12)."""
    return Pose.unchecked(rows[..., :9].reshape(*rows.shape[:-1], 3, 3).copy(), rows[..., 9:].copy())


def as_rows(pose: Pose) -> Array:
    """The twelve numbers of poses, (..., 12)."""
    R = pose.rotation
    return np.concatenate([R.reshape(*R.shape[:-2], 9), pose.translation], axis=-1)


def read_goals(limb: Chain, pose: Any) -> Goals:
    """Goals from a Pose; of several tips with one more axis, that of the tips, or as {tip: Pose}."""
    tips = limb.tips
    if len(tips) == 1:
        if not isinstance(pose, Pose):
            raise StateError(f"the goal of limb {limb.name!r} must be a Pose(...), got {pose!r:.60}.")
        return Goals(pose.batch_shape, np.ascontiguousarray(as_rows(pose).reshape(-1, 1, 12)), (True,))
    names = [x.full_name for x in tips]
    if isinstance(pose, Mapping):
        by_tip = {_tip(limb, key): value for key, value in pose.items()}
        for i, x in by_tip.items():
            if not isinstance(x, Pose):
                raise StateError(f"the goal of {names[i]!r} must be a Pose(...), got {x!r:.60}.")
        batches = {x.batch_shape for x in by_tip.values()}
        if len(batches) != 1:
            raise StateError(f"goals of limb {limb.name!r} have the leading axes {sorted(batches)}: give all the same.")
        batch = batches.pop()
        rows = np.zeros((*batch, len(tips), 12))
        rows[..., (0, 4, 8)] = 1.0
        for i, x in by_tip.items():
            rows[..., i, :] = as_rows(x)
        return Goals(batch, rows.reshape(-1, len(tips), 12), tuple(i in by_tip for i in range(len(tips))))
    if not isinstance(pose, Pose) or pose.batch_shape[-1:] != (len(tips),):
        raise StateError(
            f"goals of limb {limb.name!r} are a Pose with a last leading axis for its {len(tips)} tips, or "
            f"{{tip: Pose}} of some of {', '.join(map(repr, names))}; got {pose!r:.60}."
        )
    return Goals(pose.batch_shape[:-1], as_rows(pose).reshape(-1, len(tips), 12), (True,) * len(tips))


def read_tolerance(limb: Chain, free: Any, tolerance: Any) -> Array:
    """Six tolerances, infinite where an axis is free; of several tips (tips, 6)."""
    several = len(limb.tips)
    values = finite(MET if tolerance is None else tolerance, (...,), "tolerance", StateError)
    shapes = ((), (6,)) if several == 1 else ((), (6,), (several, 6))
    if values.shape not in shapes or not values.min() > 0.0:
        rows = "" if several == 1 else f", or {several} rows of six for its tips"
        raise StateError(
            f"tolerance must be a positive number, or six for {', '.join(AXES)}{rows}; got {tolerance!r:.60}."
        )
    within = np.array(np.broadcast_to(values, (several, 6)), dtype=float, order="C")  # as compiled code reads it
    if not values.shape:
        within[:, 3:] *= limb.data.length
    by_tip = {_tip(limb, key): x for key, x in free.items()} if isinstance(free, Mapping) else None
    for i in range(several):
        names = _axes(limb, free if by_tip is None else by_tip.get(i, ()))
        within[i, [AXES.index(x) for x in names]] = np.inf
    return within[0] if several == 1 else within


def _axes(limb: Chain, free: Any) -> tuple[str, ...]:
    names = (free,) if isinstance(free, str) else free
    if not isinstance(names, list | tuple | set | frozenset):
        raise StateError(f"free= names axes of a goal, some of {', '.join(AXES)}; got {free!r:.60}.")
    for x in names:
        if not isinstance(x, str) or x not in AXES:
            raise StateError(f"free={x!r:.40} is no axis of a goal{near(str(x), AXES)}")
    if len(set(names)) == 6:
        raise StateError(f"all six axes are free: then limb {limb.name!r} may be anywhere.")
    return tuple(names)


def _tip(limb: Chain, key: Any) -> int:
    """The number of a tip by its frame or name."""
    names = [x.full_name for x in limb.tips]
    name = key.full_name if isinstance(key, Frame) else key
    if not isinstance(name, str) or name not in names:
        raise StateError(f"{str(name)!r:.60} is no tip of limb {limb.name!r}{near(str(name), names)}")
    return names.index(name)


def read_question(
    limb: Chain, free: Any, tolerance: Any, seeds: Any, world: Any, prefer: Any, seconds: Any, asked: tuple[bool, ...]
) -> Question:
    """Read and check the settings of a search."""
    within = read_tolerance(limb, free, tolerance).reshape(-1, 6)
    within[~np.array(asked)] = np.inf
    if prefer is not None and not callable(prefer) and not (isinstance(prefer, str) and prefer in PREFER):
        raise StateError(f"prefer={prefer!r:.40} is no way to choose{near(str(prefer), PREFER)}")
    if world is not None and getattr(world, "robot", None) is not limb.robot:
        raise StateError(f"collisions= is a World around this robot, got {world!r:.60}.")
    how = Question(within, 1, prefer, read_seconds(seconds), world)
    default = SEVERAL if how.chosen else SEEDS
    return how._replace(seeds=whole_number(default if seeds is None else seeds, "seeds", 1, MOST_SEEDS))


def read_seconds(seconds: Any) -> float:
    """A time limit; 0 for none."""
    if seconds is None:
        return 0.0
    limit = float(finite(seconds, (), "time_limit", StateError))
    if not limit > 0.0:
        raise StateError(f"time_limit must be positive, in seconds; got {seconds!r:.40}.")
    return limit


def plan_of(
    limb: Chain, data: LimbData, free: Any, tolerance: Any, seeds: Any, seconds: Any, near_first: bool
) -> Plan:
    """The plan of a limb with one tip and a compiled engine; kept for the next call with the same arguments."""
    bound = tolerance.tobytes() if type(tolerance) is np.ndarray and tolerance.dtype == np.float64 else tolerance
    key = (
        free,
        bound,
        seeds,
        seconds,
        near_first,
        type(tolerance),
        np.shape(tolerance),
        type(seeds),
        type(seconds),
    )
    try:
        cached = data.plan(key)
    except TypeError:  # a list is no key
        return _read_plan(limb, free, tolerance, seeds, seconds, near_first)
    if cached is not None:
        return cached
    return data.keep_plan(key, _read_plan(limb, free, tolerance, seeds, seconds, near_first))


def _read_plan(limb: Chain, free: Any, tolerance: Any, seeds: Any, seconds: Any, near_first: bool) -> Plan:
    how = read_question(limb, free, tolerance, seeds, None, None, seconds, (True,))
    return Plan(how.within[0], how.seeds, near_first=int(near_first), seconds=how.seconds)


def read_starts(limb: Chain, start: Any, batch: tuple[int, ...]) -> Array:
    """Read the starts, (count or 1, nq): between the limits, or as the robot is where something is tied or turns as a
    ball.
    """
    if start is None:
        return default_start(limb)[None]
    q = limb.read_q(start, (..., limb.nq), "near")
    if q.ndim == 1:
        return np.ascontiguousarray(q[None])
    if q.shape[:-1] != batch:
        raise StateError(f"near of limb {limb.name!r} has leading axes {q.shape[:-1]}, and the poses {batch}.")
    return np.ascontiguousarray(q.reshape(-1, limb.nq))


def default_start(limb: Chain) -> Array:
    """The start of a limb that was given none, (nq)."""
    if limb.data.engine is not None:
        return limb.data.engine.middle
    q = np.array(limb.q)
    for part in limb.data.parts:
        if part.engine is not None:
            q[part.q] = part.engine.middle
    return q


def in_base(limb: Chain, pose: Any, relative_to: Any) -> Any:
    """A goal that was given in another frame, in the base of the limb, at the present state of the robot."""
    if relative_to is None:
        return pose
    mb = limb.robot.mb
    frame = mb.root if isinstance(relative_to, str) and relative_to == "inertial" else mb.frame(relative_to)
    layout, moves = mb.layout, limb.data.moves
    for body in chain(frame, limb.base).bodies:
        if moves[layout.hinge_v[layout.index[body]]].any():
            raise StateError(
                f"{frame.full_name!r} moves with limb {limb.name!r}, by hinge {body.hinge_name!r}: a goal there is no "
                f"place. Give it relative to a frame that stays, such as the base {limb.base.full_name!r}."
            )
    to_base = mb.pose(frame, limb.base)
    if isinstance(pose, Mapping):
        return {key: to_base @ x if isinstance(x, Pose) else x for key, x in pose.items()}
    return to_base @ pose if isinstance(pose, Pose) else pose

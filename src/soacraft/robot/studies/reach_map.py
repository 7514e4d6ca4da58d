"""Map of the positions of the tip of a limb, and of its orientations there: voxels by inverse kinematics, or by
sampling.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from soacraft.arguments import Seed, listed, read_seed, whole_number
from soacraft.errors import ModelError, StateError
from soacraft.kinematics.limbs import Plan
from soacraft.model.sizes.lengths import chain
from soacraft.progress import Bar
from soacraft.results import refuse_large
from soacraft.robot.limbs.asking import read_tolerance
from soacraft.robot.limbs.limb import Limb
from soacraft.robot.studies.grid import Grid, read_grid
from soacraft.robot.studies.study import Column, Flags, Study, Whole
from soacraft.robot.studies.table import Table
from soacraft.robot.studies.turns import nearest_turn, read_turns
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import matrix_to_quaternion, quaternion_to_matrix

#: Starts for one pose: of 20,000 random ones of a Panda, 32 find 99.9 % of what 400 find.
SEEDS = 32
#: Poses that are searched, or samples that are drawn, at once.
CHUNK = 4096
#: Singular values this small relative to the largest of a map are of directions that the limb does not have.
_LOST = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class ReachMap(Study, kind="reach map"):
    """Voxels of a frame, with the share of orientations in which the tip gets to their centres."""

    limb: str
    frame: str
    by: str
    """"ik": centres by inverse kinematics; "sampling": voxels in which a sampled tip was."""
    first: Annotated[Array, Column.of("m", 3)]
    """The centre of the first voxel."""
    spacing: Annotated[float, Column.of("m")]
    counts: Annotated[Whole, Column.of("", 3)]
    orientations: Annotated[Array, Column.of("", "orientations", 4)]
    """Quaternions [x, y, z, w] of the tip in the frame."""
    reached: Annotated[Whole, Column.of("", "voxels")]
    """Number of orientations reached."""
    best: Annotated[Array, Column.of("", "voxels")]
    """The largest manipulability found, lengths in units of the limb's reach; NaN where it is not reached."""
    q: Annotated[Array, Column.of("", "voxels", "nq")]
    """The coordinates of the limb there."""

    @property
    def grid(self) -> Grid:
        """The voxels."""
        a, b, c = (int(x) for x in self.counts)
        return Grid(self.first, self.spacing, (a, b, c))

    @property
    def share(self) -> Array:
        """The part of the orientations that is reached, by voxel: dexterity, from 0 to 1."""
        return np.asarray(self.reached / len(self.orientations))

    @property
    def volume(self) -> float:
        """Volume of the voxels that are reached in some orientation, in cubic metres."""
        return float((self.reached > 0).sum() * self.spacing**3)

    def table(self) -> Table:
        """Table of the reached part, and its extent."""
        centers, some = self.grid.centers, self.reached > 0
        rows: list[tuple[str, Any]] = [
            ("voxels", len(self.reached)), ("reached", int(some.sum())), ("volume [m3]", self.volume),
            ("reached in all orientations", int((self.reached == len(self.orientations)).sum())),
            ("share of orientations, where reached", float(self.share[some].mean()) if some.any() else np.nan),
        ]  # fmt: skip
        for i, axis in enumerate("xyz"):
            ends = (centers[some, i].min(), centers[some, i].max()) if some.any() else (np.nan, np.nan)
            rows += [(f"lowest {axis} [m]", float(ends[0])), (f"highest {axis} [m]", float(ends[1]))]
        return Table(("reach map", ""), rows)

    def __repr__(self) -> str:
        some = self.reached > 0
        share = f"{100 * self.share[some].mean():.3g} % of " if some.any() else "none of "
        return (
            f"ReachMap of {self.limb!r} by {self.by}: {some.sum()} of {len(some)} voxels of {self.spacing:.4g} m, "
            f"{share}{len(self.orientations)} orientations there"
        )


def reach_map(
    limb: Limb,
    spacing: float | None = None,
    box: Any = None,
    *,
    frame: Any = None,
    orientations: Any = 12,
    free: Any = (),
    by: str = "ik",
    collisions: Any = None,
    seeds: int = SEEDS,
    samples: int = 100_000,
    seed: Seed = 0,
    threads: int = 1,
    progress: bool = True,
) -> ReachMap:
    """Map of the voxels that the tip of a limb reaches, with the share of even orientations, and the manipulability
    there.

    Voxels of edge `spacing` (default: a tenth of the reach) fill `box`, two corners in `frame` (default: the limb's
    base); an axis with both ends alike has one layer. `orientations` is a number, or rotations of your own; `free` are
    axes of the goal that do not matter, as in `Limb.ik`: all of "rx", "ry", "rz" for positions alone. With a `World` as
    `collisions` only configurations in which nothing is touched count.

    `by="ik"` searches each centre from `seeds` starts: a solution is within limits and verified; a failure is no proof,
    unless the goal is farther than the links are long. `by="sampling"` draws `samples` configurations from `seed` and
    counts the voxels and orientations (the nearest of the set) of their tips: fast, and less than there is. O(voxels
    orientations seeds n), or O(samples n).

    >>> import soacraft as sc
    >>> arm = sc.robot.Robot(sc.load("panda")).limb("arm", "inertial", "link7")
    >>> sc.robot.study.reach_map(arm, 0.3, ((-0.6, 0, 0), (0.6, 0, 0.9)), orientations=4)
    ReachMap of 'arm' by ik: 17 of 20 voxels of 0.3 m, 97.1 % of 4 orientations there
    """
    if not isinstance(limb, Limb):
        raise ModelError(f"a reach map is of a Limb, such as rb.limb('arm', base, tip); got {limb!r:.60}.")
    require_one_tip(limb)
    limb.placed(limb.q)  # a limb of before a change is refused
    X = _frame_in_base(limb, frame)
    turns = read_turns(orientations if not _all_turns(free) else [[0.0, 0.0, 0.0, 1.0]])
    far = limb.reach + _travel(limb)
    grid = read_grid(box, spacing, far, X.inv.translation)
    if collisions is not None and getattr(collisions, "robot", None) is not limb.robot:
        raise StateError(f"collisions= is a World around this robot, got {collisions!r:.60}.")
    voxels = int(np.prod(grid.counts))
    refuse_large((voxels, limb.nq + 4), "a reach map", "Take a larger spacing=, or a smaller box=.")
    map_ = _Found(voxels, len(turns), limb.nq)
    if by == "ik":
        _by_ik(limb, X, grid, turns, free, collisions, whole_number(seeds, "seeds", 1), threads, far, progress, map_)
    elif by == "sampling":
        count = whole_number(samples, "samples", 1)
        _by_sampling(limb, X, grid, turns, collisions, count, read_seed(seed, "the seed of a map"), progress, map_)
    else:
        raise StateError(f"by={by!r:.40} is no way to make a reach map: take 'ik' or 'sampling'.")
    return ReachMap(
        limb.name, limb.base.full_name if frame is None else _name(limb, frame), by, grid.first, grid.spacing,
        np.array(grid.counts, dtype=np.int64), turns, map_.reached.sum(axis=1, dtype=np.int64),
        np.where(map_.best >= 0.0, map_.best, np.nan), map_.q,
    )  # fmt: skip


class _Found:
    """Data of each voxel so far."""

    def __init__(self, voxels: int, turns: int, nq: int) -> None:
        self.reached = np.zeros((voxels, turns), dtype=bool)
        self.best, self.q = np.full(voxels, -1.0), np.full((voxels, nq), np.nan)
        self.rank = 0

    def note(self, limb: Limb, voxel: Any, turn: Any, q: Array, rows: Any) -> None:
        """Configurations q (k, nq) reach these voxels in these orientations."""
        if not len(q):
            return
        self.reached[voxel, turn] = True
        s = singular_values(limb, q, rows)
        rank = int(np.sum(s > _LOST * s.max(initial=0.0), axis=-1).max(initial=0))
        if rank > self.rank:  # directions that were thought to be lost are not: what came before was singular there
            self.rank = rank
            self.best = np.minimum(self.best, 0.0)
        value = np.prod(s[:, : self.rank], axis=-1)
        for i in np.argsort(value, kind="stable"):  # the largest of a voxel is written last
            if value[i] >= self.best[voxel[i]]:
                self.best[voxel[i]], self.q[voxel[i]] = value[i], q[i]


def require_one_tip(limb: Limb) -> None:
    """Refuse a limb with several tips."""
    if len(limb.tips) > 1:
        raise ModelError(f"limb {limb.name!r} has {len(limb.tips)} tips: make one for each, and study them by turns.")


def singular_values(limb: Limb, q: Array, rows: Any = None) -> Array:
    """Singular values of the Jacobian of the tip, (k, ...): turns in radians, ways in parts of the limb's reach."""
    size = limb.reach or 1.0
    columns = np.where(slides_of(limb, limb.independent), size, 1.0)
    J = limb.jacobian(q) * np.repeat([1.0, 1.0 / size], 3)[:, None] * columns
    return np.asarray(np.linalg.svd(J if rows is None else J[:, rows], compute_uv=False))


def slides_of(limb: Limb, names: tuple[str, ...] | None = None) -> Flags:
    """Flags of the dofs of a limb, or of these names, that are measured in metres."""
    mb = limb.robot.mb
    units = dict(zip(mb.dof_names, "".join(mb.layout.units.hinge), strict=True))
    return np.array([units[x] == "m" for x in (limb.dof_names if names is None else names)], dtype=np.bool_)


def _by_ik(limb: Limb, X: Pose, grid: Grid, turns: Array, free: Any, world: Any, seeds: int, threads: int, far: float,
           progress: bool, map_: _Found) -> None:  # fmt: skip
    within = read_tolerance(limb, free, None)
    R = X.rotation @ quaternion_to_matrix(turns)
    rows = _counted_rows(within)
    places = X.translation + grid.centers @ X.rotation.T
    near = np.arange(len(places))
    if np.isfinite(within[3:]).all():  # the goal is a point: the links are long enough, or it is out of reach
        near = near[np.linalg.norm(places, axis=1) <= far * (1.0 + 1e-9)]
    jobs = np.stack(np.meshgrid(near, np.arange(len(turns)), indexing="ij"), axis=-1).reshape(-1, 2)
    with Bar("reach map", 0, max(len(jobs), 1), progress) as bar:
        for start in range(0, len(jobs), CHUNK):
            voxel, turn = jobs[start : start + CHUNK].T
            goals = np.concatenate([R[turn].reshape(-1, 9), places[voxel]], axis=1)
            q, ok = _searched(limb, goals, within, free, seeds, threads)
            if world is not None and ok.any():
                hit = np.flatnonzero(ok)[np.asarray(world.collides(limb.of_robot(q[ok])))]
                for i in hit:  # another solution may be free
                    pose = Pose.unchecked(goals[i, :9].reshape(3, 3).copy(), goals[i, 9:].copy())
                    r = limb.ik(pose, free=free, collisions=world, seeds=max(seeds, 48))
                    q[i], ok[i] = r.q, r.found
            map_.note(limb, voxel[ok], turn[ok], q[ok], rows)
            bar.at(start + len(voxel))


def _searched(limb: Limb, goals: Array, within: Array, free: Any, seeds: int, threads: int) -> tuple[Array, Any]:
    engine = limb.engine
    if engine is not None and limb.data.plain and limb.is_own:
        a = engine.search(np.ascontiguousarray(goals), engine.middle[None], Plan(within, seeds), threads)
        return a.q, a.found
    q, ok = np.zeros((len(goals), limb.nq)), np.zeros(len(goals), dtype=bool)
    for i, g in enumerate(goals):
        r = limb.ik(Pose.unchecked(g[:9].reshape(3, 3).copy(), g[9:].copy()), free=free, seeds=seeds)
        q[i], ok[i] = r.q, r.found
    return q, ok


def _by_sampling(limb: Limb, X: Pose, grid: Grid, turns: Array, world: Any, count: int, rng: np.random.Generator,
                 progress: bool, map_: _Found) -> None:  # fmt: skip
    if limb.data.tied:
        raise StateError(
            f"limb {limb.name!r} has loops or couplings, so that its dofs cannot be drawn one by one: take by='ik'."
        )
    with Bar("reach map", 0, count, progress) as bar:
        for start in range(0, count, CHUNK):
            q = sampled(limb, rng, min(CHUNK, count - start))
            if world is not None:
                q = q[~np.asarray(world.collides(limb.of_robot(q)))]
            tip = X.inv @ limb.true_pose(q)
            voxel = np.asarray(grid.voxel_of(tip.translation))
            inside = voxel >= 0
            turn, _ = nearest_turn(turns, matrix_to_quaternion(tip.rotation[inside]))
            map_.note(limb, voxel[inside], turn, q[inside], None)
            bar.at(start + len(q))


def sampled(limb: Limb, rng: np.random.Generator, count: int) -> Array:
    """Coordinates drawn within the limits, (count, nq): angles without limits over a turn, quaternions over all;
    travel without limits is refused."""
    mb = limb.data.model
    lower, upper = limb.limits
    for name, slides, low, high in zip(limb.dof_names, slides_of(limb), lower, upper, strict=True):
        if slides and not (np.isfinite(low) and np.isfinite(high)):
            raise StateError(f"dof {name!r} travels without limits: give it limits before it is sampled.")
    if limb.nq == limb.nv:
        low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2 * np.pi, -np.pi))
        high = np.where(np.isfinite(upper), upper, low + 2 * np.pi)
        return rng.uniform(low, high, (count, limb.nq))
    return np.array([mb.random_state(rng, limits=True)[0][limb.q_places] for _ in range(count)])


def _travel(limb: Limb) -> float:
    """Largest travel of the slides, beyond the links."""
    most, slides = np.maximum(*np.abs(limb.limits)), slides_of(limb)
    if not np.isfinite(most[slides]).all():
        name = limb.dof_names[int(np.flatnonzero(slides)[np.argmax(~np.isfinite(most[slides]))])]
        raise StateError(f"dof {name!r} travels without limits, so that the map has no end: give it limits.")
    return float(most[slides].sum())


def _frame_in_base(limb: Limb, frame: Any) -> Pose:
    if frame is None:
        return Pose()
    mb = limb.robot.mb
    wanted = mb.root if frame == "inertial" else mb.frame(frame)
    for body in chain(wanted, limb.base).bodies:
        if limb.data.moves[mb.layout.hinge_v[mb.layout.index[body]]].any():
            raise ModelError(
                f"frame {wanted.full_name!r} moves with limb {limb.name!r}, so that no map can be drawn in it."
            )
    return mb.pose(wanted, limb.base)


def _name(limb: Limb, frame: Any) -> str:
    mb = limb.robot.mb
    return (mb.root if frame == "inertial" else mb.frame(frame)).full_name


def _all_turns(free: Any) -> bool:
    return not isinstance(free, str) and {"rx", "ry", "rz"} <= set(map(str, listed(free) or ()))


def _counted_rows(within: Array) -> Any:
    """The rows of the Jacobian that count where turns are free; axes of goals are not those of the base otherwise."""
    return slice(3, 6) if not np.isfinite(within[:3]).any() and np.isfinite(within[3:]).all() else None

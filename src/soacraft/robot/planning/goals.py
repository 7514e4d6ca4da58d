"""Goals of plans: configurations, or poses of a limb's tip, turned into configurations that are free.

Where loops or couplings tie a limb, its inverse kinematics closes them (`limbs.searching`), and what they move along is
part of a goal.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import StateError
from soacraft.model.states.coordinates import in_graph_order, read_q
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.limbs.asking import as_rows, read_tolerance
from soacraft.robot.limbs.limb import Limb
from soacraft.robot.limbs.telling import left_of, met
from soacraft.robot.planning.checker import Checker
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import exp

#: Solutions of a pose that are goals, and how often one is looked for. Where loops tie the limb, and each takes longer:
#: how often, and from how many starts each time but the first.
SOLUTIONS, SEARCHES, TIED_SEARCHES, TIED_SEEDS = 8, 24, 8, 4
#: Configurations whose numbers differ by less are one.
_SAME = 1e-3
#: Seconds of a search that has none left.
_LEAST = 1e-6


class Region(NamedTuple):
    """A pose of a tip, with the axes about and along which it is free and what may be missing along the others."""

    pose: Pose
    free: Any
    tolerance: Any


def read_configurations(mb: Multibody, q0: Array, limb: Limb | None, goal: Any) -> Array:
    """Goals as configurations of the robot, (k, nq); those of a limb have the rest of q0, but for what loops and
    couplings move along."""
    coordinates = finite(in_graph_order(mb, goal, "goal", of_q=True), (...,), "goal", StateError)
    if limb is not None and coordinates.ndim and coordinates.shape[-1] == limb.nq != mb.nq:
        of_limb, moves = _at(limb, q0), limb.data.q_moves
        configurations = np.array(np.broadcast_to(q0, (*coordinates.shape[:-1], mb.nq)))
        configurations[..., moves] = of_limb.of_robot(goal)[..., moves]
        coordinates = configurations
    q = np.atleast_2d(read_q(mb, coordinates, "goal"))
    if q.ndim != 2 or not len(q):
        raise StateError(
            f"a goal is a configuration, several as (k, nq), or a Pose of a limb; got shape {coordinates.shape}."
        )
    return q


def _at(limb: Limb, q0: Array) -> Limb:
    """The limb of a robot that is at q0, from where what is tied to it is followed."""
    if not limb.data.tied:
        return limb
    other = limb.robot.copy()
    other.mb.set_state(q0, np.zeros(other.mb.nv))
    moved: Limb = other[limb.name]
    return moved


def clear_configurations(checker: Checker, goals: Array, still: Any) -> Array:
    """Goals that are within limits and touch nothing; where there is none, the reason against the first."""
    clear, reason = [], ""
    for k, q in enumerate(goals):
        what = "goal" if len(goals) == 1 else f"goal {k}"
        if (np.abs(np.asarray(checker.space.mb.difference(checker.space.q0, q))[still]) > 1e-12).any():
            reason = reason or f"the {what} moves dofs that are not of the limb."
            continue
        try:
            checker.require_clear(q, what)
        except StateError as wrong:
            reason = reason or str(wrong)
        else:
            clear.append(q)
    if not clear:
        raise StateError(reason)
    return np.array(clear)


def reached(limb: Limb, region: Region, checker: Checker, rng: np.random.Generator) -> tuple[Array, str]:
    """Configurations in which the tip is in a region and nothing touches, (k, nq), nearest to the start first; where
    there is none, why."""
    space = checker.space
    near = space.q0[limb.q_places]
    tied = limb.data.tied
    others = space.sample(rng, (TIED_SEARCHES if tied else SEARCHES) - 1)[:, limb.q_places]
    goal, of_limb, moves = as_rows(region.pose).reshape(1, 12), _at(limb, space.q0), limb.data.q_moves
    within = read_tolerance(limb, region.free, region.tolerance)
    configurations: list[Array] = []
    why = touched = ""
    for k, start in enumerate([near, *others]):
        pose = region.pose if k == 0 else _drawn(limb, region, rng)
        seconds = None if checker.seconds == np.inf else max(checker.seconds - checker.elapsed, _LEAST)
        within_region, seeds = (region.tolerance, None) if k == 0 else (None, TIED_SEEDS if tied else None)
        r = of_limb.ik(pose, near=start, free=region.free, tolerance=within_region, seeds=seeds, time_limit=seconds)
        if not r.found:
            why = why or str(r.why)
            proven = k == 0 and why.startswith("too far")  # by the links alone
            if checker.late or proven or (k >= 3 and not configurations and not touched):
                break  # the search of each start goes on to hundreds of others
            continue
        q = space.q0.copy()
        q[moves] = (of_limb.placed(r.q) if r.robot_q is None else r.robot_q)[moves]
        if not checker.closes(q):
            why = why or "loops do not close well enough at the solutions that were found"
            continue
        if not met(left_of(limb, goal, r.q), within):  # along a free axis of a drawn pose one may leave the region
            continue
        if any(np.abs(space.key(q) - space.key(x)).max() < _SAME for x in configurations) or space.outside(q):
            continue
        pair = checker.touching(q)
        if pair is None:
            configurations.append(q)
        else:
            touched = touched or f"{pair[0]} - {pair[1]} touch"
        if len(configurations) == SOLUTIONS:
            break
    if not configurations:
        return np.zeros((0, len(space.q0))), (
            f"the goal is in collision in all solutions that were found: {touched}" if touched else why
        )
    return np.array(sorted(configurations, key=lambda q: space.distance(space.q0, q))), ""


def _drawn(limb: Limb, region: Region, rng: np.random.Generator) -> Pose:
    """A pose drawn within the tolerances of a region."""
    if region.tolerance is None:
        return region.pose
    within = read_tolerance(limb, region.free, region.tolerance)
    within[:3] = np.where(np.isfinite(within[:3]), np.minimum(within[:3], 2.0 * np.pi), np.inf)  # more is no other turn
    off = rng.uniform(-1.0, 1.0, 6) * np.where(np.isfinite(within), within, 0.0) * 0.5
    return region.pose @ Pose(rotation=exp(off[:3]), translation=off[3:])

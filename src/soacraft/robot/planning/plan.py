"""`plan`: a free path from a configuration to a goal, shortened, and verified edge by edge before it is returned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from soacraft.arguments import whole_number
from soacraft.errors import StateError, near
from soacraft.model.states.coordinates import read_q
from soacraft.model.states.dof_sets import movable_dofs
from soacraft.robot.limbs.limb import Limb
from soacraft.robot.motion.fastest import time_optimal
from soacraft.robot.motion.limits import MotionLimits
from soacraft.robot.motion.motion import Motion
from soacraft.robot.planning import goals as ends
from soacraft.robot.planning.checker import Checker
from soacraft.robot.planning.closed import ClosedChecker
from soacraft.robot.planning.planners import PLANNERS, search
from soacraft.robot.planning.shorten import SHORTCUTS, shorten
from soacraft.robot.planning.space import Space
from soacraft.robot.world.world import World
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.pose import Pose

#: Motions that are checked at most.
MOST = 20_000
#: Rounds with ten times the clearance, where the exact check refuses what was found.
_ROUNDS = 3


@dataclass(frozen=True, eq=False)
class Plan:
    """Result of `plan`; true where it is a path."""

    found: bool
    path: Array
    """(k, nq): each motion to the next, every hinge at a constant rate, is free. Empty where nothing was found."""
    length: float
    """Length of the path: radians, and ways by the length of the model."""
    time: float
    """Seconds that it took."""
    why: str
    """Reason why nothing was found; empty where something was."""
    stats: dict[str, Any] = field(default_factory=dict)
    """`edges`: motions checked; `nodes`: configurations of the planner; `goals`: how many goals it had; `first`: the
    length before it was shortened."""
    world: World | None = None

    def __bool__(self) -> bool:
        return self.found

    def motion(self, limits: MotionLimits | None = None, **options: Any) -> Motion:
        """The fastest motion along the path, which rests at each of its corners and so stays on it: `time_optimal` with
        `blend=0`."""
        if not self.found or self.world is None:
            raise StateError(f"there is no path to move along: {self.why}.")
        if self.length == 0.0:
            raise StateError("the path has no length: the robot is at the goal, and nothing moves.")
        if self.world.robot.mb.is_closed:
            raise StateError("the path is one of a closed chain: put sc.robot.spline(rb, plan.path, times) through it.")
        return time_optimal(self.world.robot, self.path, limits, blend=0.0, **options)

    def __repr__(self) -> str:
        if not self.found:
            return f"no path: {self.why}"
        work = f"{self.stats.get('edges', 0)} motions checked in {self.time:.3g} s"
        return f"path of {len(self.path)} configurations, {self.length:.4g} long, {work}"


def plan(
    world: World,
    q0: Any,
    goal: Any,
    planner: str = "RRTConnect",
    limb: Limb | str | None = None,
    *,
    free: Any = (),
    tolerance: Any = None,
    time_limit: float | None = None,
    most: int = MOST,
    shortcuts: int = SHORTCUTS,
    seed: int = 0,
) -> Plan:
    """A path from q0 (nq) to a goal along which nothing touches that may not.

    `goal` is a configuration (nq), several (k, nq), of which one is to be reached, or a `Pose` of the tip of `limb` in
    its base, with `free` axes and a `tolerance` as `Limb.ik` has them. With a limb its dofs alone move, and what loops
    and couplings move along, and goals may be coordinates of the limb. Angles without limits go the short way round, so
    that the end may be turns away from the goal.

    `planner` is "RRTConnect", which needs nothing else, or one of OMPL's (extra `plan`): "RRT", "KPIECE1", "BKPIECE1",
    "LBKPIECE1", "PRM", and "RRTstar", "InformedRRTstar", "BITstar", which improve a path until the budget ends. Motions
    are judged by `World.edge`, so that nothing is between samples; the path is shortened, and every one of its motions
    is judged again before it is returned; more `shortcuts` give a shorter one. The same seed gives the same path,
    unless `time_limit` (seconds) ends the search before `most` motions. "BITstar" computes long between motions: give
    it a time limit.

    Closed chains go by small steps, each on configurations at which all loops close; between them dofs are off by less
    than 5e-4 radians or lengths of the model, and so much more clear of everything the motions are kept. All of that is
    verified again before a path is returned. OMPL draws there by its `ProjectedStateSpace`; "InformedRRTstar" and
    "BITstar", which draw past that, are refused.

    A start or goal that touches something, or is outside limits, is refused with the pair or the dof. Where nothing is
    found `why` has the reason.

    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("panda"))
    >>> w = sc.robot.World(rb)
    >>> w.add("post", sc.contact.Box(0.1, 0.1, 1.5), sc.Pose(translation=(0.5, 0.0, 0.4)))
    >>> a, b = [-0.7, 0.5, 0.0, -1.5, 0.0, 2.0, 0.0], [0.7, 0.5, 0.0, -1.5, 0.0, 2.0, 0.0]
    >>> bool(w.edge(a, b)), sc.robot.plan(w, a, b).found
    (False, True)
    """
    if not isinstance(world, World):
        raise StateError(f"plan takes a World, got {world!r:.60}.")
    robot, mb = world.robot, world.robot.mb
    if not isinstance(planner, str) or planner not in PLANNERS:
        raise StateError(f"planner {planner!r:.40} is none of {', '.join(PLANNERS)}{near(str(planner), PLANNERS)}")
    limb = robot[limb] if isinstance(limb, str) else limb
    if limb is not None and (not isinstance(limb, Limb) or limb.robot is not robot):
        raise StateError(f"limb= is a limb of this robot or its name, got {limb!r:.60}.")
    seconds = None if time_limit is None else float(finite(time_limit, (), "time_limit", StateError))
    if seconds is not None and not seconds > 0.0:
        raise StateError(f"time_limit must be positive, in seconds; got {time_limit!r:.40}.")
    count, tries = whole_number(most, "most", 1), whole_number(shortcuts, "shortcuts", 0)
    rng = np.random.default_rng(whole_number(seed, "seed", 0))
    start = np.array(read_q(mb, q0, "q0"))
    if start.shape != (mb.nq,):
        raise StateError(f"q0 is one configuration, got shape {start.shape}.")
    pose = isinstance(goal, Pose)
    if pose and limb is None:
        raise StateError("a goal that is a Pose is one of the tip of a limb: give limb=...")
    if pose and (goal.batch_shape or limb is None or len(limb.tips) != 1):
        raise StateError("a goal that is a Pose is one pose, of a limb with one tip; give configurations instead.")
    if not pose and (tolerance is not None or not isinstance(free, str | list | tuple) or len(free)):
        raise StateError("free= and tolerance= are for a goal that is a Pose.")
    movable = movable_dofs(mb, robot.held)
    dofs = np.flatnonzero(movable if limb is None else limb.data.moves & movable)
    configurations = start[None] if pose else ends.read_configurations(mb, start, limb, goal)
    space = Space(robot, start, dofs, np.concatenate([start[None], configurations]))
    checker = (ClosedChecker if mb.is_closed else Checker)(world, space, count, seconds)
    checker.require_clear(start, "start")
    if pose:
        assert limb is not None
        targets, why = ends.reached(limb, ends.Region(goal, free, tolerance), checker, rng)
        if not len(targets):
            return Plan(False, np.zeros((0, mb.nq)), 0.0, checker.elapsed, why, {"edges": checker.edges})
        space.draw_about(np.concatenate([start[None], targets]))
    else:
        targets = ends.clear_configurations(checker, configurations, ~space.moving)
    return _searched(checker, planner, start, targets, rng, seed, tries)


def _searched(
    checker: Checker, planner: str, start: Array, goals: Array, rng: np.random.Generator, seed: int, tries: int
) -> Plan:
    """Search, shorten, verify."""
    world, space = checker.world, checker.space
    why = ""
    for _ in range(_ROUNDS):
        way, nodes = search(planner, checker, start, goals, rng, seed)
        counts: dict[str, Any] = {"edges": checker.edges, "nodes": nodes, "goals": len(goals)}
        if way is None:
            why = why or checker.why_spent()
            break
        counts["first"] = space.length_of(np.array(way))
        path = np.array(shorten(checker, way, rng, tries))
        counts["edges"] = checker.edges
        wrong = checker.refused(path)
        if not wrong:
            return Plan(True, path, space.length_of(path), checker.elapsed, "", counts, world)
        why = f"the exact check refuses the path: {wrong}"
        checker.gap *= 10.0
    return Plan(False, np.zeros((0, space.mb.nq)), 0.0, checker.elapsed, why, counts)

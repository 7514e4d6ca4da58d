"""Planners of OMPL (Sucan, Moll and Kavraki 2012) in our space: states are its states, motions are judged by ours.

Coordinates with limits are a real vector, angles without limits SO(2), quaternions SO(3), in one compound space. OMPL
draws, measures and interpolates; a motion between two of its states is the one that `World.edge` judges, so that what
comes back is joined by free motions whatever OMPL's own interpolation is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import dijkstra

from soacraft.errors import ConvergenceError, SoacraftError, StateError
from soacraft.robot.motion.extras import package
from soacraft.robot.planning.checker import Checker
from soacraft.robot.planning.space import Space
from soacraft.spatial.checks import Array

#: Planners that go on to improve a path until the budget ends.
IMPROVING = ("RRTstar", "InformedRRTstar", "BITstar")
#: Planners that OMPL has for real vectors alone.
INFORMED = ("InformedRRTstar", "BITstar")
FIRST = ("RRT", "KPIECE1", "BKPIECE1", "LBKPIECE1")
#: Rounds in which a roadmap grows, and neighbours that start and goals are joined to.
_ROUNDS, _NEIGHBOURS = 5, 15
#: Cells of planners that look at them, in radians.
_CELL = 0.3


class States:
    """OMPL's space of states for a `Space`, and the way there and back."""

    def __init__(self, space: Space) -> None:
        self.base = package("ompl.base", "this planner")
        ob, self.space = self.base, space
        self._vector = np.flatnonzero(~space.wrap)
        self._angles = np.flatnonzero(space.wrap)
        low = list(space.low[self._vector] * space.scale[self._vector])
        high = list(space.high[self._vector] * space.scale[self._vector])
        for box in space.boxes:
            if box is not None:
                low, high = [*low, *(box[0] / space.length)], [*high, *(box[1] / space.length)]
        self._numbers = len(low)
        self.plain = not len(self._angles) and not space.quaternions
        self.made = ob.CompoundStateSpace()
        if self._numbers:
            real, bounds = ob.RealVectorStateSpace(self._numbers), ob.RealVectorBounds(self._numbers)
            for i, (a, b) in enumerate(zip(low, high, strict=True)):
                bounds.setLow(i, float(a))
                bounds.setHigh(i, float(b if b > a else a + 1e-9))
            real.setBounds(bounds)
            if self.plain:
                self.made = real
                return
            self.made.addSubspace(real, 1.0)
        for _ in self._angles:
            self.made.addSubspace(ob.SO2StateSpace(), 1.0)
        for _ in space.quaternions:
            self.made.addSubspace(ob.SO3StateSpace(), 2.0)  # OMPL's distance is half of the angle

    def configuration(self, state: Any) -> Array:
        """q (nq) of a state."""
        space, q, k = self.space, self.space.q0.copy(), 0
        if self._numbers:
            x = np.array((state if self.plain else state[0])[0 : self._numbers])
            n, k = len(self._vector), 1
            own = self._vector
            q[space.place[own]] = np.clip(x[:n] / space.scale[own], space.lower[own], space.upper[own])  # rounding
            for _, at in space.quaternions:
                if at is not None:
                    q[at], n = x[n : n + 3] * space.length, n + 3
        for i in self._angles:
            q[space.place[i]], k = state[k].value, k + 1
        for turn, _ in space.quaternions:
            x = np.array([state[k].x, state[k].y, state[k].z, state[k].w])
            q[turn], k = x / np.linalg.norm(x), k + 1
        return q

    def write(self, state: Any, q: Array) -> None:
        """Set a state to q."""
        space, k = self.space, 0
        if self._numbers:
            x = list(q[space.place[self._vector]] * space.scale[self._vector])
            for _, at in space.quaternions:
                x += [] if at is None else list(q[at] / space.length)
            to = state if self.plain else state[0]
            for j, value in enumerate(x):
                to[j] = float(value)
            k = 1
        for i in self._angles:
            state[k].value, k = float(np.remainder(q[space.place[i]] + np.pi, 2.0 * np.pi) - np.pi), k + 1
        for turn, _ in space.quaternions:
            part = state[k]
            part.x, part.y, part.z, part.w = (float(x) for x in q[turn])
            k += 1


def _projection(ob: Any, states: States) -> Any:
    """Coordinates on a plane, for planners that look at cells of the space: the first two numbers of a state."""

    class First(ob.ProjectionEvaluator):  # type: ignore[misc]
        def getDimension(self) -> int:
            return 2

        def project(self, state: Any, projection: Any) -> None:
            key = states.space.key(states.configuration(state))
            projection[0], projection[1] = key[0], key[1 % len(key)]

    made = First(states.made)
    for i in range(2):
        made.setCellSizes(i, _CELL)
    return made


def ompl_search(name: str, checker: Checker, start: Array, goals: Array, seed: int) -> tuple[list[Array] | None, int]:
    """Configurations from the start to a goal by a planner of OMPL, or None; how many states it has made."""
    ob, og, ou = (package(f"ompl.{x}", f"planner={name!r}") for x in ("base", "geometric", "util"))
    before = ou.getLogLevel()
    ou.setLogLevel(ou.LOG_NONE)
    try:
        ou.RNG.setSeed(seed % 2**31 + 1)
        return _solved(name, checker, start, goals, ob, og)
    except RuntimeError as wrong:
        if isinstance(wrong, SoacraftError):
            raise
        raise ConvergenceError(f"planner={name!r} of OMPL ended with: {wrong} Take 'RRTConnect'.") from None
    finally:
        ou.setLogLevel(before)


def _solved(
    name: str, checker: Checker, start: Array, goals: Array, ob: Any, og: Any
) -> tuple[list[Array] | None, int]:
    states, space, failed = States(checker.space), checker.space, []  # type: ignore[var-annotated]
    if name in INFORMED and not states.plain:
        raise StateError(
            f"planner={name!r} is for coordinates with limits, and here are angles without limits, or quaternions: "
            "take 'RRTstar', or 'RRTConnect'."
        )
    info = ob.SpaceInformation(states.made)

    def careful(f: Callable[..., bool]) -> Callable[..., bool]:
        """Nothing may be raised through OMPL: it is kept, and raised afterwards."""

        def called(*given: Any) -> bool:
            try:
                return not failed and f(*given)
            except BaseException as wrong:
                failed.append(wrong)
                return False

        return called

    @careful
    def valid(state: Any) -> bool:
        q = states.configuration(state)
        checker.looks += 1
        return not space.outside(q) and not checker.world.collides(q)

    @careful
    def motion(*given: Any) -> bool:
        a, b = (states.configuration(x) for x in given[:2])
        return not checker.spent and checker.free(a, space.near(a, b))

    held = [valid, motion]
    info.setStateValidityChecker(lambda state: held[0](state))
    info.setMotionValidator(_validator(ob, info, held))
    info.setup()
    problem = ob.ProblemDefinition(info)
    first = info.allocState()
    states.write(first, start)
    problem.addStartState(first)
    ends = ob.GoalStates(info)
    for q in goals:
        state = info.allocState()
        states.write(state, q)
        ends.addState(state)
    problem.setGoal(ends)
    planner = getattr(og, name)(info)
    if hasattr(planner, "setProjectionEvaluator"):
        planner.setProjectionEvaluator(_projection(ob, states))
    planner.setProblemDefinition(problem)
    planner.setup()
    if name == "PRM":
        found, count = _roadmap(planner, checker, states, info, start, goals, failed, ob)
    else:
        wait = name in IMPROVING

        def done() -> bool:
            return bool(failed) or checker.spent or (not wait and problem.hasExactSolution())

        planner.solve(ob.PlannerTerminationCondition(done))
        data = ob.PlannerData(info)
        planner.getPlannerData(data)
        count = data.numVertices()
        found = (
            [states.configuration(x) for x in problem.getSolutionPath().getStates()]
            if problem.hasExactSolution()
            else None
        )
    planner.clear()
    held.clear()  # BITstar keeps its space and so these functions for ever, but not what they refer to
    if failed:
        raise failed[0]
    return found, count


def _validator(ob: Any, info: Any, held: list[Callable[..., bool]]) -> Any:
    class Exact(ob.MotionValidator):  # type: ignore[misc]
        """Motions by `World.edge`."""

        def checkMotion(self, *given: Any) -> bool:
            return held[1](*given)

    return Exact(info)


def _roadmap(
    planner: Any, checker: Checker, states: States, info: Any, start: Array, goals: Array, failed: list[Any], ob: Any
) -> tuple[list[Array] | None, int]:
    """Grow a roadmap, join the ends to it, and take the shortest way. (OMPL's own search runs in a thread of its own,
    which a check in Python cannot be called from.)"""
    share, q = (checker.most - checker.edges) // _ROUNDS, np.zeros((0, len(start)))
    for _ in range(_ROUNDS):
        end = checker.edges + max(share, 1)

        def done(end: int = end) -> bool:
            return bool(failed) or checker.spent or checker.edges >= end

        planner.growRoadmapPtc(ob.PlannerTerminationCondition(done))
        data = ob.PlannerData(info)
        planner.getPlannerData(data)
        vertices = [states.configuration(data.getVertex(i).getState()) for i in range(data.numVertices())]
        joined = {(i, int(j)) for i in range(len(vertices)) for j in data.getEdges(i)}
        q = np.array([*vertices, start, *goals])
        found = _shortest(checker, q, joined, len(vertices))
        if found is not None or failed or checker.spent:
            return found, len(q)
    return None, len(q)


def _shortest(checker: Checker, q: Array, joined: set[tuple[int, int]], n: int) -> list[Array] | None:
    space = checker.space
    keys = space.key(q)
    pairs = set(joined)
    for i in range(n, len(q)):
        order = np.argsort(space.squares(keys, keys[i]))[1 : _NEIGHBOURS + 1]
        pairs |= {(i, int(j)) for j in order if (j, i) not in pairs and checker.free(q[i], space.near(q[i], q[j]))}
    if not pairs:
        return None
    a, b = np.array(sorted(pairs)).T
    weight = [max(space.distance(q[i], q[j]), 1e-12) for i, j in zip(a, b, strict=True)]
    graph = coo_matrix((weight, (a, b)), shape=(len(q), len(q))).tocsr()
    far, before = dijkstra(graph, directed=False, indices=np.array([n]), return_predecessors=True)
    far, before = far[0], before[0]
    last = n + 1 + int(np.argmin(far[n + 1 :]))
    if not np.isfinite(far[last]):
        return None
    way = [last]
    while way[-1] != n:
        way.append(int(before[way[-1]]))
    return [q[i] for i in reversed(way)]

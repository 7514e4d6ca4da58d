"""Planners of OMPL (Sucan, Moll and Kavraki 2012) in our space: states are its states, motions are judged by ours.

OMPL draws, measures and interpolates, on closed chains with our projection (`states`); a motion between two of its
states is the one that `Checker.way` has, judged by `World.edge`, so that what comes back is joined by free motions
whatever OMPL's own interpolation is.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import dijkstra

from soacraft.errors import ConvergenceError, SoacraftError, StateError
from soacraft.robot.motion.extras import package
from soacraft.robot.planning.checker import Checker
from soacraft.robot.planning.closed import STEP, ClosedChecker
from soacraft.robot.planning.rrt import RANGE, Tree
from soacraft.robot.planning.states import ClosedStates, States
from soacraft.spatial.checks import Array

#: Planners that go on to improve a path until the budget ends.
IMPROVING = ("RRTstar", "InformedRRTstar", "BITstar")
#: Planners that OMPL has for real vectors alone.
INFORMED = ("InformedRRTstar", "BITstar")
FIRST = ("RRT", "KPIECE1", "BKPIECE1", "LBKPIECE1")
#: Planners that grow from the start alone.
ONE_TREE = ("RRT", "KPIECE1", "RRTstar")
#: Rounds in which a roadmap grows, and neighbours that start and goals are joined to.
_ROUNDS, _NEIGHBOURS = 5, 15
#: A step of OMPL that closing takes back by more than this part of it gains too little.
_BACK = 0.75
#: Cells of planners that look at them, in radians.
_CELL = 0.3


def _projection(ob: Any, states: States | ClosedStates) -> Any:
    """Coordinates on a plane, for planners that look at cells of the space: the first two numbers of a state."""

    class First(ob.ProjectionEvaluator):  # type: ignore[misc]
        def getDimension(self) -> int:
            return 2

        def project(self, state: Any, projection: Any) -> None:
            key = states.space.key(states.configuration(state))
            projection[0], projection[1] = key[0], key[1 % len(key)]

    first = First(states.made)
    first.inferCellSizes()  # sizes can be set only where there are some
    for i in range(2):
        first.setCellSizes(i, _CELL)
    return first


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


class _Motions:
    """Callbacks of OMPL's search. No error may pass through it: errors are stored, and raised afterwards."""

    def __init__(self, checker: Checker, roots: Array) -> None:
        self.checker, self.space = checker, checker.space
        self.failed: list[BaseException] = []
        self.reach = float(RANGE * np.sqrt(max(len(self.space.dofs), 1)))
        self._known = Tree(checker, roots)
        """Configurations that motions lead to, of closed chains."""
        self.draws = True
        """False while OMPL draws states that it only measures."""
        self.states: States | ClosedStates
        if checker.straight:
            self.states = States(self.space)
        else:
            self.states = ClosedStates(self.space, self._careful(self._closed, None), STEP)
        self._ways: dict[tuple[bytes, bytes], list[Array]] = {}
        self.valid, self.motion = self._careful(self._valid, False), self._careful(self._motion, False)

    def _careful(self, f: Callable[..., Any], otherwise: Any) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            try:
                return otherwise if self.failed else f(*arguments)
            except BaseException as wrong:
                self.failed.append(wrong)
                return otherwise

        return called

    def _closed(self, q: Array) -> Array | None:
        """The closed configuration next to q, a step of OMPL. Of one that was drawn from afar, where steps towards it
        end that begin at the nearest that is known: else most of what is drawn would be on branches that no motion
        leads to. That one itself where they lead nowhere, or OMPL would go on towards what does not close."""
        checker = self.checker
        if not self.draws:
            return q
        assert isinstance(checker, ClosedChecker)
        if checker.spent:
            return None
        configuration = checker.brought(q)
        if configuration is not None and self.space.distance(q, configuration) <= _BACK * STEP:
            return configuration
        i, far = self._known.nearest(q)
        a = self._known.q[i]
        way, _ = checker.go(a, self.space.near(a, q), far, self.reach)
        return way[-1] if way else a

    def _valid(self, state: Any) -> bool:
        q = self.states.configuration(state)
        self.checker.looks += 1
        return not self.space.outside(q) and self.checker.closes(q) and not self.checker.world.collides(q)

    def _motion(self, a: Any, b: Any) -> bool:
        return self.joined(self.states.configuration(a), self.states.configuration(b))

    def joined(self, a: Array, b: Array) -> bool:
        """True if a motion leads from a to b. On closed chains its steps are kept; a motion without length is none,
        since OMPL asks for one where its own projection failed.
        """
        if self.checker.spent or (not self.checker.straight and self.space.distance(a, b) == 0.0):
            return False
        way = self.checker.way(a, b)
        if way is not None and not self.checker.straight:
            self._ways[a.tobytes(), b.tobytes()] = way
            for q in way:
                self._known.add(q, -1)
        return way is not None

    def along(self, path: list[Array]) -> list[Array]:
        """The path with the steps of its motions, which were gone in one direction or the other."""
        way = path[:1]
        for a, b in pairwise(path):
            there, back = (self._ways.get(key) for key in ((a.tobytes(), b.tobytes()), (b.tobytes(), a.tobytes())))
            way += there if there is not None else [b] if back is None else [*reversed(back[:-1]), b]
        return way


def _solved(
    name: str, checker: Checker, start: Array, goals: Array, ob: Any, og: Any
) -> tuple[list[Array] | None, int]:
    asked = _Motions(checker, np.array([start] if name in ONE_TREE else [start, *goals]))
    held = [asked.valid, asked.motion]
    try:
        return _asked(name, asked, held, start, goals, ob, og)
    finally:
        held.clear()  # BITstar keeps its space and so these functions for ever, but not what they refer to
        if isinstance(asked.states, ClosedStates):
            asked.states.release()


def _asked(
    name: str, asked: _Motions, held: list[Callable[..., bool]], start: Array, goals: Array, ob: Any, og: Any
) -> tuple[list[Array] | None, int]:
    checker, states, failed = asked.checker, asked.states, asked.failed
    if name in INFORMED and not states.plain:
        raise StateError(
            f"planner={name!r} is for coordinates with limits, and here are {_besides(checker)}: take 'RRTstar', or "
            "'RRTConnect'."
        )
    info = ob.SpaceInformation(states.made)
    if isinstance(states, ClosedStates):
        states.made.setSpaceInformation(info)
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
        asked.draws = False
        planner.setProjectionEvaluator(_projection(ob, states))
        asked.draws = True
    if not checker.straight and hasattr(planner, "setRange"):
        planner.setRange(2.0 * asked.reach)  # what is drawn is nearer: OMPL's own steps are all or nothing
    planner.setProblemDefinition(problem)
    planner.setup()
    if name == "PRM":
        path, count = _roadmap(planner, asked, info, start, goals, ob)
    else:
        wait = name in IMPROVING

        def done() -> bool:
            return bool(failed) or checker.spent or (not wait and problem.hasExactSolution())

        planner.solve(ob.PlannerTerminationCondition(done))
        data = ob.PlannerData(info)
        planner.getPlannerData(data)
        count = data.numVertices()
        path = (
            [states.configuration(x) for x in problem.getSolutionPath().getStates()]
            if problem.hasExactSolution()
            else None
        )
    planner.clear()
    if failed:
        raise failed[0]
    return None if path is None else asked.along(path), count


def _besides(checker: Checker) -> str:
    """Text about coordinates that are more than numbers with limits."""
    if not checker.straight:
        return f"the loops or couplings of {checker.space.mb.name!r}, which it draws past"
    return "angles without limits, or quaternions"


def _validator(ob: Any, info: Any, held: list[Callable[..., bool]]) -> Any:
    class Exact(ob.MotionValidator):  # type: ignore[misc]
        """Motions by `World.edge`."""

        def checkMotion(self, *arguments: Any) -> bool:
            return bool(held[1](*arguments))

    return Exact(info)


def _roadmap(
    planner: Any, asked: _Motions, info: Any, start: Array, goals: Array, ob: Any
) -> tuple[list[Array] | None, int]:
    """Grow a roadmap, join the ends to it, and take the shortest way. (OMPL's search runs in another thread, from which
    a check in Python cannot be called.)
    """
    checker, states, failed = asked.checker, asked.states, asked.failed
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
        path = _shortest(asked, q, joined, len(vertices))
        if path is not None or failed or checker.spent:
            return path, len(q)
    return None, len(q)


def _shortest(asked: _Motions, q: Array, joined: set[tuple[int, int]], n: int) -> list[Array] | None:
    space = asked.space
    keys = space.key(q)
    pairs = set(joined)
    for i in range(n, len(q)):
        order = np.argsort(space.squares(keys, keys[i]))[1 : _NEIGHBOURS + 1]
        pairs |= {(i, int(j)) for j in order if (j, i) not in pairs and asked.joined(q[i], q[j])}
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

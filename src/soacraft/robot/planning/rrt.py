"""RRT-Connect (Kuffner and LaValle 2000) with exact motions: two trees of configurations grow towards each other.

Motions are not sampled: each extension is one query of `World.edge`, and long free ones are cheap. Most samples of a
narrow scene end in something, which one look at their end tells before the motion is asked for.
"""

from __future__ import annotations

import math

import numpy as np

from soacraft.robot.planning.checker import Checker
from soacraft.spatial.checks import Array

#: The longest motion, in radians or lengths of the model, by the square root of the number of dofs.
RANGE = 0.4
#: Configurations are drawn so many at a time.
_DRAWN = 64
TRAPPED, ADVANCED, REACHED = range(3)


class Tree:
    """Configurations, each with the one it was reached from; -1 for roots."""

    def __init__(self, checker: Checker, roots: Array) -> None:
        self._space = checker.space
        self.q = np.array(roots)
        self.parent = np.full(len(roots), -1)
        self.key = self._space.key(self.q)
        self.count = len(roots)

    def nearest(self, q: Array) -> tuple[int, float]:
        """The number of the configuration that is nearest to q, and how far it is."""
        squares = self._space.squares(self.key[: self.count], self._space.key(q))
        i = int(squares.argmin())
        return i, math.sqrt(squares[i])

    def add(self, q: Array, parent: int) -> int:
        """Put one at the end."""
        if self.count == len(self.q):
            self.q, self.key = (np.concatenate([x, np.zeros_like(x)]) for x in (self.q, self.key))
            self.parent = np.concatenate([self.parent, np.zeros_like(self.parent)])
        i = self.count
        self.q[i], self.key[i], self.parent[i] = q, self._space.key(q), parent
        self.count += 1
        return i

    def way(self, i: int) -> list[Array]:
        """Way from a configuration to its root."""
        path = []
        while i >= 0:
            path.append(self.q[i])
            i = int(self.parent[i])
        return path


def rrt_connect(
    checker: Checker, start: Array, goals: Array, rng: np.random.Generator
) -> tuple[list[Array] | None, int]:
    """Configurations from the start to one of the goals, joined by free motions, or None where the budget ended; how
    many configurations the trees have. O(n) for each configuration, and O(configurations) for the nearest."""
    space = checker.space
    for goal in goals:
        way = checker.way(start, goal)
        if way is not None:
            return [start, *way], 1 + len(way)
    reach = RANGE * np.sqrt(max(len(space.dofs), 1))
    trees = [Tree(checker, start[None]), Tree(checker, goals)]
    drawn: list[Array] = []
    side = 0
    while not checker.spent:
        if not drawn:
            drawn = list(space.sample(rng, _DRAWN))
        a, b = trees[side], trees[1 - side]
        side = 1 - side
        new, how = _extend(checker, a, drawn.pop(), reach)
        if how == TRAPPED:
            continue
        how = ADVANCED
        while how == ADVANCED and not checker.spent:
            met, how = _extend(checker, b, a.q[new], reach)
        if how == REACHED:
            ways = a.way(new), b.way(met)
            first, second = ways if a is trees[0] else ways[::-1]
            return [*reversed(first), *second[1:]], a.count + b.count
    return None, trees[0].count + trees[1].count


def _extend(checker: Checker, tree: Tree, goal: Array, reach: float) -> tuple[int, int]:
    """Go from the nearest configuration towards one, at most `reach`, where that motion is free: the number of the
    configuration that was come to, and whether it is the one or one on the way."""
    space = checker.space
    i, far = tree.nearest(goal)
    a = tree.q[i]
    b = space.near(a, goal)
    if far == 0.0:
        return i, REACHED
    way, to_the_end = checker.go(a, b, far, reach)
    for q in way:
        i = tree.add(q, i)
    return i, REACHED if to_the_end else ADVANCED if way else TRAPPED

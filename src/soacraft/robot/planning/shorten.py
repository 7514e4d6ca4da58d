"""Shorter paths: corners left out, then shortcuts between points drawn along the path, each an exact free motion."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from soacraft.robot.planning.checker import Checker
from soacraft.spatial.checks import Array

#: Shortcuts that are tried.
SHORTCUTS = 30


def shorten(checker: Checker, path: list[Array], rng: np.random.Generator, tries: int = SHORTCUTS) -> list[Array]:
    """The path with fewer and shorter ways. The ends stay. O(tries)."""
    path = _pruned(checker, _unwound(checker, path))
    space = checker.space
    for _ in range(tries if len(path) > 2 else 0):
        if checker.late:
            break
        ways = np.array([space.distance(a, b) for a, b in pairwise(path)])
        ends = np.concatenate([[0.0], np.cumsum(ways)])
        s, t = np.sort(rng.uniform(0.0, ends[-1], 2))
        i, j = (min(int(np.searchsorted(ends, x, side="right")) - 1, len(ways) - 1) for x in (s, t))
        if i == j:
            continue
        if checker.straight:
            a, b = (space.between(path[k], path[k + 1], (x - ends[k]) / ways[k]) for k, x in ((i, s), (j, t)))
        else:
            a, b, s, t = path[i], path[j], ends[i], ends[j]
        way = checker.way(a, b) if space.distance(a, b) < (t - s) * (1.0 - 1e-3) else None
        if way is not None and space.length_of([a, *way]) < t - s:
            path = _unwound(checker, [*path[: i + 1], a, *way, *path[j + 1 :]])
            if len(path) == 2:
                break
    return _pruned(checker, path)


def _pruned(checker: Checker, path: list[Array]) -> list[Array]:
    """Path that goes from each configuration straight to the farthest one that a free motion leads to."""
    if not checker.straight:
        return path
    shorter, i = [path[0]], 0
    while i < len(path) - 1:
        j = i + 1
        for k in range(len(path) - 1, i + 1, -1):
            if not checker.late and checker.free(shorter[-1], checker.space.near(shorter[-1], path[k])):
                j = k
                break
        shorter.append(checker.space.near(shorter[-1], path[j]))
        i = j
    return shorter


def _unwound(checker: Checker, path: list[Array]) -> list[Array]:
    """Angles without limits as they go on from one configuration to the next, and none twice."""
    unwound = [path[0]]
    for i, q in enumerate(path[1:], 2):
        if i == len(path) or checker.space.distance(unwound[-1], q) > 1e-9:
            unwound.append(checker.space.near(unwound[-1], q))
    if len(unwound) > 2 and checker.space.distance(unwound[-2], unwound[-1]) <= 1e-9:
        del unwound[-2]
    return unwound

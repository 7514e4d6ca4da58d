"""Planners by name: our own, and those of OMPL."""

from __future__ import annotations

import numpy as np

from soacraft.robot.planning.checker import Checker
from soacraft.robot.planning.of_ompl import FIRST, IMPROVING, ompl_search
from soacraft.robot.planning.rrt import rrt_connect
from soacraft.spatial.checks import Array

PLANNERS = ("RRTConnect", *FIRST, "PRM", *IMPROVING)


def search(
    name: str, checker: Checker, start: Array, goals: Array, rng: np.random.Generator, seed: int
) -> tuple[list[Array] | None, int]:
    """Configurations from the start to a goal, joined by free motions, or None; how many the planner has made."""
    if name == "RRTConnect":
        return rrt_connect(checker, start, goals, rng)
    for goal in goals:
        if checker.space.distance(start, goal) == 0.0:  # there already, of which not all planners of OMPL can say so
            return [start, goal], 2
    path, count = ompl_search(name, checker, start, goals, seed)
    return None if path is None else [start, *path[1:]], count  # OMPL has angles within one turn

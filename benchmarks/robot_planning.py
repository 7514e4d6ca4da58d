"""Planning: RRT-Connect to a verified path next to OMPL with Pinocchio and coal, in a shelf and in a cage.

Both plan between the same configurations, from Python, on one thread. Ours checks motions exactly, shortens the path
and checks it again; all of that is in its time. OMPL looks at motions every so many radians, as told; its path is not
shortened. A path is verified where nothing touches at configurations every 1e-3 rad of it, by coal, for both. OMPL's
time is told without that check, and with it ("verified"), since without it nothing is known of what lies between its
samples; where the check fails it plans again with half the step, and the times add up.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from growth import table
from planning_scenes import SCENES, problems

import soacraft as sc

STEPS = (0.2, 0.1, 0.05, 0.02)
FINE, SECONDS, ROUNDS = 1e-3, 20.0, 6


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; the result is plain data."""
    count = 2 if quick else 50
    return {"count": count, "rows": [measured(name, count, STEPS[2:3] if quick else STEPS) for name in SCENES]}


def measured(name: str, count: int, steps: tuple[float, ...]) -> dict[str, Any]:
    """One scene."""
    from in_ompl import Planner

    world = SCENES[name][0]()
    given, peer = problems(name, world, count), Planner(world)
    sc.robot.plan(world, *given[0])
    ours = [sc.robot.plan(world, a, b, seed=k) for k, (a, b) in enumerate(given)]
    good = [bool(p) and peer.verified(p.path, FINE) for p in ours]
    return {
        "scene": name,
        "found": float(np.mean(good)),
        "time": float(np.median([p.time for p in ours]) * 1e3),
        "p90": float(np.quantile([p.time for p in ours], 0.9) * 1e3),
        "length": float(np.median([p.length for p in ours])),
        "peers": [by_ompl(peer, given, step) for step in steps],
    }


def by_ompl(peer: Any, given: list[tuple[np.ndarray, np.ndarray]], step: float) -> dict[str, Any]:
    """OMPL on all problems: the median of its first path, of a verified one, and how many first ones are."""
    first, whole, good, length = [], [], [], []
    for k, (a, b) in enumerate(given):
        spent, at = 0.0, step
        for round_ in range(ROUNDS):
            took, path = peer.plan(a, b, at, k, SECONDS)
            begun = time.perf_counter()
            fine = path is not None and peer.verified(path, FINE)
            spent += took + time.perf_counter() - begun
            if round_ == 0:
                first.append(took)
                good.append(fine)
                length.append(np.nan if path is None else float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum()))
            if fine:
                break
            at *= 0.5
        whole.append(spent)
    return {
        "step": step,
        "first": float(np.median(first) * 1e3),
        "good": float(np.mean(good)),
        "verified": float(np.median(whole) * 1e3),
        "length": float(np.nanmedian(length)),
    }


def text(result: dict[str, Any]) -> str:
    """The table of a result."""
    rows = []
    for x in result["rows"]:
        for y in x["peers"]:
            rows.append([
                x["scene"], f"{100 * x['found']:.0f}", f"{x['time']:.1f}", f"{x['p90']:.1f}", f"{x['length']:.1f}",
                f"{y['step']:g}", f"{100 * y['good']:.0f}", f"{y['first']:.1f}", f"{y['verified']:.0f}",
                f"{y['length']:.1f}", f"{y['first'] / x['time']:.1f}", f"{y['verified'] / x['time']:.0f}",
            ])  # fmt: skip
    head = ["scene", "verified, %", "median, ms", "90 %, ms", "length, rad", "OMPL's step, rad", "verified, %",
            "median to the first path, ms", "to a verified one, ms", "length, rad", "first / ours",
            "verified / ours"]  # fmt: skip
    return f"{result['count']} problems in each scene.\n\n" + table(head, rows, 1)

"""Timing: minima over interleaved rounds, and how a cost grows with size."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

Work = Callable[[], object]
Key = TypeVar("Key", bound=Hashable)


def microseconds(jobs: Mapping[Key, Work], rounds: int, at_least: float = 2e-3) -> dict[Key, float]:
    """The shortest time of each job in microseconds.

    It is the time of the calling thread on its core, which other programs disturb less than the time on the wall.
    Every round runs every job, so that a busy moment meets them all; a short job is repeated until a round of it takes
    `at_least` seconds. Garbage is collected between jobs and not during one, as `timeit` does.
    """
    best = dict.fromkeys(jobs, float("inf"))
    repeats = {name: _repeats(work, at_least) for name, work in jobs.items()}
    for _ in range(rounds):
        for name, work in jobs.items():
            gc.collect(0)
            gc.disable()
            best[name] = min(best[name], _time(work, repeats[name]))
            gc.enable()
    return {name: 1e6 * seconds for name, seconds in best.items()}


def _repeats(work: Work, at_least: float) -> int:
    cold = _time(work, 1)
    return 1 if cold > at_least else max(1, int(at_least / max(_time(work, 1), 1e-7)))


def _time(work: Work, repeats: int) -> float:
    start = time.thread_time()
    for _ in range(repeats):
        work()
    return (time.thread_time() - start) / repeats


def growth(sizes: Sequence[float], times: Sequence[float]) -> float:
    """The exponent p of time ~ size^p: the slope of a straight line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])

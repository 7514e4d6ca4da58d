"""Timing: minima over interleaved rounds, and how a cost grows with size."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

Work = Callable[[], object]
#: Runs its work as often as it is told.
Loop = Callable[[int], object]
#: Seconds since some moment.
Clock = Callable[[], float]
Key = TypeVar("Key", bound=Hashable)
#: What passes in no time took less than this: some clocks of processor time go in steps.
TICK = 1e-7


def microseconds(jobs: Mapping[Key, Work], rounds: int, at_least: float = 2e-3) -> dict[Key, float]:
    """The shortest time of each job in microseconds.

    It is the time of the calling thread on its core, which other programs disturb less than the time on the wall.
    Every round runs every job, so that a busy moment meets them all; a short job is repeated until a round of it takes
    `at_least` seconds. Garbage is collected between jobs and not during one, as `timeit` does.
    """
    return shortest({name: repeated(work) for name, work in jobs.items()}, rounds, at_least)


def repeated(work: Work) -> Loop:
    """A job as a loop, which adds a Python call of its own to each."""

    def loop(n: int) -> None:
        for _ in range(n):
            work()

    return loop


def shortest(
    loops: Mapping[Key, Loop],
    rounds: int,
    at_least: float = 2e-3,
    patience: float = float("inf"),
    clock: Clock = time.thread_time,
) -> dict[Key, float]:
    """The same for loops. One that has run for more than `patience` seconds is left out after two rounds.

    Before it is timed, a loop runs a little, so that none pays for what the one before left in the caches. Work that
    starts threads of its own needs `time.process_time` for a clock: the default does not see them.
    """
    best = dict.fromkeys(loops, float("inf"))
    repeats = {name: _repeats(loop, at_least, clock) for name, loop in loops.items()}
    spent = dict.fromkeys(loops, 0.0)
    for turn in range(rounds):
        for name, loop in loops.items():
            if turn > 1 and spent[name] > patience:
                continue
            gc.collect(0)
            gc.disable()
            loop(1 + repeats[name] // 4)
            t = _time(loop, repeats[name], clock)
            gc.enable()
            best[name] = min(best[name], t)
            spent[name] += t * repeats[name]
    return {name: 1e6 * seconds for name, seconds in best.items()}


def _repeats(loop: Loop, at_least: float, clock: Clock) -> int:
    cold = _time(loop, 1, clock)
    return 1 if cold > at_least else max(1, int(at_least / max(_time(loop, 1, clock), 1e-7)))


def _time(loop: Loop, repeats: int, clock: Clock) -> float:
    start = clock()
    loop(repeats)
    return max(clock() - start, TICK) / repeats


def growth(sizes: Sequence[float], times: Sequence[float]) -> float:
    """The exponent p of time ~ size^p: the slope of a straight line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])

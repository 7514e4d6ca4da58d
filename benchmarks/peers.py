"""The named algorithms compared with Pinocchio and MuJoCo: one call and batches, growth, memory and the cost of a call.

Every model is measured in a process of its own, with one thread; there, rounds of all calls of all libraries follow one
another. Times are minima over the rounds. Before that, results are compared.
"""

from __future__ import annotations

import resource
import sys
import time
from itertools import cycle, islice
from typing import Any

import numpy as np
from child import answer, in_child
from measure import growth, shortest
from models import build
from peers_page import headline, summary, text
from side_by_side import ROWS, Ours, measure, random_states

from soacraft import _core
from soacraft.dynamics import Dynamics
from soacraft.model.flat.compiled import CompiledModel

__all__ = ["headline", "run", "summary", "text"]

MODELS = ("7-dof arm", "humanoid", "chain 10", "chain 100", "chain 500", "tree 127", "chain 1000", "chain 10000")
QUICK = ("7-dof arm", "humanoid", "chain 3", "tree 3")
SIZES = (100, 200, 500, 1000, 2000, 5000, 10_000)


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; the result is plain data."""
    models, sizes, memory = (QUICK, (5, 10, 20), (5, 10)) if quick else (MODELS, SIZES, (1000, 10_000))
    tasks: list[list[Any]] = [["measure", name, quick] for name in models]
    tasks += [["overhead", 5 if quick else 400], ["forward_growth", list(sizes), quick]]
    tasks += [["peak_memory", n] for n in memory]
    found = in_child(__file__, tasks) if quick else [in_child(__file__, [task])[0] for task in tasks]
    n = len(models)
    return {
        "instruction set": f"{_core.instruction_set()}, {_core.lanes()} states to a register",
        "models": found[:n],
        "overhead": found[n],
        "growth": found[n + 1],
        "memory": found[n + 2 :],
    }


def overhead(samples: int, name: str = "7-dof arm", calls: int = 200) -> dict[str, Any]:
    """Medians of one forward dynamics call of a handle, and of its kernel looped in C++; microseconds on the wall."""
    mb = build(name)
    states = random_states(mb, 64)
    ours = Ours(mb, states, states)
    loops = {key: ours.timed(ROWS[0], key == "reused").loop() for key in ("reused", "new")}
    compiled = CompiledModel.of(mb.layout)
    assert compiled is not None
    times: dict[str, list[float]] = {"kernel": [], **{key: [] for key in loops}}
    for state in islice(cycle(ours.states), samples):
        times["kernel"].append(compiled.kernels.time("forward_dynamics", *state, calls))
        for key, loop in loops.items():
            start = time.perf_counter()
            loop(calls)
            times[key].append((time.perf_counter() - start) / calls)
    return {"model": name} | {key: 1e6 * float(np.median(found)) for key, found in times.items()}


def forward_growth(sizes: list[int], quick: bool) -> dict[str, Any]:
    """Forward dynamics of chains of many sizes, in interleaved rounds."""
    loops = {}
    for n in sizes:
        states = random_states(mb := build(f"chain {n}"), 8)
        loops[n] = Ours(mb, states, states).timed(ROWS[0], reuse=True).loop()
    times = shortest(loops, 1 if quick else 15, 1e-5 if quick else 2e-3)
    return {"sizes": sizes, "times": list(times.values()), "exponent": growth(sizes, list(times.values()))}


def peak_memory(n: int) -> dict[str, Any]:
    """The most memory the process had: after the imports, and after a chain was built and moved. Megabytes."""
    before = _peak()
    mb = build(f"chain {n}")
    (q, v, x) = (part[0] for part in random_states(mb, 1))
    built = _peak()
    Dynamics(mb).forward_dynamics(q, v, x)
    return {"bodies": n, "imports": before, "built": built, "called": _peak()}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


if __name__ == "__main__":
    answer(measure, overhead, forward_growth, peak_memory)

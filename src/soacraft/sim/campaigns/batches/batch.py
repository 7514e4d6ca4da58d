"""A block of runs that march as one batch: RK4 with fixed steps on the SIMD kernels, ticks common to all.

The order of things is that of a single run (docs/systems.md, "Time"); results agree with it to rounding. Where
something crosses in a step of some runs, these go on in parts of it, up to the crossing and from there, while the
others wait at its end: all meet at the end of every step.
"""

from __future__ import annotations

from collections.abc import Sequence

from soacraft.sim.campaigns.batches.evaluation import read_evaluation
from soacraft.sim.campaigns.batches.lanes import Lanes
from soacraft.sim.campaigns.batches.localization import LaneState, Localization
from soacraft.sim.campaigns.batches.rows import Rows
from soacraft.sim.campaigns.measures import split
from soacraft.sim.clock import nanoseconds, positive_nanoseconds


def march(lanes: Lanes, keys: Sequence[str], t: float, until: str = "") -> Rows:
    """Rows of the signals `keys` of all runs from the start to time t, or to the crossing `until`."""
    system, evaluation = lanes.system, read_evaluation(lanes, keys)
    start, goal = system.board.start, nanoseconds(t, "t")
    step = positive_nanoseconds(system.board.how["step"], "step")
    rows = Rows(system, sorted({split(system, x)[0] for x in keys}), lanes.count)
    course = Localization(evaluation, rows, until)
    V = evaluation.values()
    point = evaluation.start(V)
    clocks = {path: clock for path in evaluation.equations.held if (clock := system.diagram.parts[path].clock)}
    counts = dict.fromkeys(clocks, 0)
    dues = {path: x.at(0) + start for path, x in clocks.items()}
    now = start
    watch = course.watch(V, now / 1e9, point)
    while True:
        due = [path for path, when in dues.items() if when == now]
        if due:
            point = course.tick(now / 1e9, LaneState(V, point, watch), due, counts)
            for path in due:
                counts[path] += 1
                dues[path] = clocks[path].at(counts[path]) + start
        evaluation.look(V, now / 1e9, point, rows.keys)
        rows.add(now / 1e9, V)
        if now >= goal or not rows.going.any():
            return rows
        stop = min([goal, start + ((now - start) // step + 1) * step, *dues.values()])
        point = course.step(now, stop, LaneState(V, point, watch))
        now = stop

"""A block of runs that march as one batch: RK4 with fixed steps on the SIMD kernels, ticks common to all.

The order of things is that of a single run (docs/systems.md, "Time"); results agree with it to rounding. Where
something crosses in a step, runs go on in parts of it, up to the crossing and from there. All runs meet at ticks alone:
between these each goes on at its pace, so that steps with crossings are taken by many runs at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from soacraft.sim.campaigns.batches.equations import Ticks
from soacraft.sim.campaigns.batches.evaluation import Evaluation, read_evaluation
from soacraft.sim.campaigns.batches.lane_step import Point
from soacraft.sim.campaigns.batches.lanes import Lanes, Values
from soacraft.sim.campaigns.batches.localization import LaneState, Localization
from soacraft.sim.campaigns.batches.rows import Rows
from soacraft.sim.campaigns.measures import split
from soacraft.sim.clock import nanoseconds, positive_nanoseconds
from soacraft.spatial.checks import Array

#: Runs wait before a step with a crossing until they are this part of those that are on their way: a search takes as
#: long for a few runs as for a hundred, and the wait of many makes the others' last steps few.
_WAITING = 0.25


def march(lanes: Lanes, keys: Sequence[str], t: float, until: str = "") -> Rows:
    """Rows of the signals `keys` of all runs from the start to time t, or to the crossing `until`."""
    system, evaluation = lanes.system, read_evaluation(lanes, keys)
    start, goal = system.board.start, nanoseconds(t, "t")
    step = positive_nanoseconds(system.board.how["step"], "step")
    rows = Rows(system, sorted({split(system, x)[0] for x in keys}), lanes.count)
    crossings = Localization(evaluation, rows, until)
    V = evaluation.values()
    point = evaluation.start(V)
    ticks, now = Ticks(system, start), start
    watch = crossings.watch(V, now / 1e9, point)
    while True:
        if due := ticks.due(now):
            point = crossings.tick(now / 1e9, LaneState(V, point, watch), due, ticks.counts)
            ticks.done(due)
        rows.extend([now / 1e9])
        _record(evaluation, rows, now / 1e9, V, point)
        if now >= goal or not rows.going.any():
            return rows
        last = min([goal, *ticks.dues.values()])
        times = [now, *range(start + ((now - start) // step + 1) * step, last, step), last]
        rows.extend([x / 1e9 for x in times[1:-1]])
        if evaluation.equations.crossings:
            point = _at_own_pace(crossings, np.array(times) / 1e9, LaneState(V, point, watch))
        else:
            point = _together(evaluation, rows, times, V, point)
        now = last


def _record(evaluation: Evaluation, rows: Rows, t: Any, V: Values, point: Point) -> None:
    """The next row of the runs with these values."""
    evaluation.look(V, t, point, rows.keys)
    rows.put(V["runs"], V)


def _together(evaluation: Evaluation, rows: Rows, times: Sequence[int], V: Values, point: Point) -> Point:
    """Runs through steps that end at these nanoseconds, all at once; rows are recorded between them."""
    for now, stop in pairwise(times):
        if now > times[0]:
            _record(evaluation, rows, now / 1e9, V, point)
        point = evaluation.step(V, now / 1e9, (stop - now) / 1e9, point).end
    return point


def _at_own_pace(crossings: Localization, times: Array, state: LaneState) -> Point:
    """Runs through such steps, each at its pace: it waits before one with a crossing until others wait with it."""
    evaluation, rows, V = crossings.evaluation, crossings.rows, state.values
    V |= {key: np.array(V[key]) for key in evaluation.equations.jumped}
    state = state._replace(point=state.point.copy())
    last, at = len(times) - 1, np.zeros(len(rows.going), dtype=np.intp)
    waits = np.zeros(len(at), dtype=np.bool_)
    while True:
        under_way = rows.going & (at < last)
        waiting = waits & under_way
        ready = under_way & ~waiting
        if ready.any() and waiting.sum() <= _WAITING * under_way.sum():
            runs = np.flatnonzero(ready)
            some, start = state.of(runs), times[at[runs]]
            if at[runs[0]]:
                _record(evaluation, rows, start, some.values, some.point)
            some, calm = crossings.whole(start, times[at[runs] + 1], some)
            waits[runs] = ~calm
            state.put(runs, some, calm, ())
            at[runs[calm]] += 1
        elif waiting.any():
            runs = np.flatnonzero(waiting)
            some = crossings.in_parts(times[at[runs]], times[at[runs] + 1], state.of(runs))
            state.put(runs, some, np.ones(len(runs), dtype=np.bool_), evaluation.equations.jumped)
            waits[runs] = False
            at[runs] += 1
        else:
            return state.point

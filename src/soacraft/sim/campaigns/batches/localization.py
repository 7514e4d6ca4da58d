"""Steps of many runs in which something crosses: parts up to the crossing and from there, and what jumps.

The search is that of single runs (`sim.events`); a run with a crossing goes on in parts of its step, with a copy of its
values, while the others wait at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.sim.campaigns.batches.crossings import Found, LaneWatch, Mask
from soacraft.sim.campaigns.batches.evaluation import Evaluation, values_of
from soacraft.sim.campaigns.batches.lane_step import LaneStep, Point
from soacraft.sim.campaigns.batches.lanes import Values, require_numbers
from soacraft.sim.campaigns.batches.rows import Rows
from soacraft.sim.events import unmoved
from soacraft.spatial.checks import Array

#: Parts of a step, rounds of the search for the end of a part, and crossings at one instant, at most.
_PARTS, _ROUNDS, _JUMPS = 200, 6, 100
#: The end of a part is at the zero of a function to this part of a step; it may be moved by this part of itself.
_SAME, _WIDE = 1e-9, 0.25


class LaneState(NamedTuple):
    """Some runs between steps: their values, where they are, and the signs of their crossings."""

    values: Values
    point: Point
    watch: LaneWatch

    def of(self, runs: npt.NDArray[np.intp]) -> LaneState:
        """Some of the runs."""
        if len(runs) == len(self.values["runs"]):
            return self
        return LaneState(values_of(self.values, runs), self.point.of(runs), self.watch.of(runs))

    def put(self, runs: npt.NDArray[np.intp], some: LaneState, which: Mask, jumped: Iterable[str]) -> None:
        """Take over the watch of some of the runs, states of components that have jumped, and the points of some."""
        self.point.put(runs[which], some.point.of(which))
        for key in jumped:
            self.values[key][runs] = some.values[key]
        if some.watch is not self.watch:
            self.watch.put(runs, some.watch)


@dataclass(frozen=True)
class Localization:
    """Crossings in the steps of runs, which are recorded, and end where `until` crosses."""

    evaluation: Evaluation
    rows: Rows
    until: str

    def watch(self, V: Values, t: float, point: Point) -> LaneWatch:
        """The signs of all crossings at the start."""
        crossings = self.evaluation.equations.crossings
        values = self._margins(V, t, point) if crossings else np.zeros((0, len(V["runs"])))
        return LaneWatch([x.direction for x in crossings], values)

    def whole(self, t: Array, end: Array, state: LaneState) -> tuple[LaneState, Mask]:
        """Steps from times to their ends, and the runs in which nothing crosses on the way."""
        V, point, watch = state
        step = self.evaluation.step(V, t, end - t, point)
        calm = watch.calm(self._margins_in(V, step), len(t))
        return LaneState(V, step.end, watch), calm

    def in_parts(self, t: Array, end: Array, state: LaneState) -> LaneState:
        """Steps from times to their ends in parts, each to the first crossing of a run."""
        V, point, watch = state
        active = self._going(V)
        for _ in range(_PARTS):
            h = np.where(active, end - t, 0.0)
            step = self.evaluation.step(V, t, h, point)
            zeros = watch.find(self._margins_in(V, step), h, active)
            crossed = active & (zeros.theta <= 1.0)
            point = step.end.where(active & ~crossed, point)
            if not crossed.any():
                return LaneState(V, point, watch)
            t, point, at_zero = self._cut(V, step, zeros, crossed, point, end)
            self.rows.leave(V["runs"][crossed & ~at_zero], "the zero of a crossing is not found in a batch")
            point = self._act(t, end, LaneState(V, point, watch), zeros, crossed & at_zero)
            active = crossed & self._going(V) & (t < end)
            if not active.any():
                return LaneState(V, point, watch)
        self.rows.leave(V["runs"][active], f"a step has more than {_PARTS} crossings")
        return LaneState(V, point, watch)

    def tick(self, t: float, state: LaneState, due: Sequence[str], counts: Mapping[str, int]) -> Point:
        """Tick k of the components that are due; what crosses by this jumps. `counts` has their k."""
        V, point, watch = state
        if not self.evaluation.equations.crossings:
            self.evaluation.tick(V, t, point, due, counts)
            return point
        before = self._margins(V, t, point)
        self.evaluation.tick(V, t, point, due, counts)
        signs, going = np.sign(before), self._going(V)
        turned = self._turned(signs, np.sign(self._margins(V, t, point))) & going
        if turned.any():
            point, _ = self._jump(V, np.full(len(going), t), point, np.where(turned, signs, 0.0), turned)
            self.rows.leave(V["runs"][self._ends(turned)], "a tick makes it cross where it ends")
        watch.moved(self._margins(V, t, point), before, self._going(V))
        return point

    # -- crossings ---------------------------------------------------------------------------------------------

    def _going(self, V: Values) -> Mask:
        return self.rows.going[V["runs"]]

    def _margins(self, V: Values, t: Any, point: Point) -> Array:
        return self.evaluation.margins(V, t, point, self._going(V))

    def _margins_in(self, V: Values, step: LaneStep) -> Callable[[Array], Array]:
        return lambda theta: self._margins(V, step.t + theta * step.h, step.at(theta))

    def _turned(self, before: Array, after: Array) -> Mask:
        """Functions that have gone to the other side in a direction that is watched."""
        directions = np.array([x.direction for x in self.evaluation.equations.crossings])[:, None]
        watched = (directions == 0) | (directions == after)
        return np.asarray((before != 0.0) & (after != 0.0) & (before != after) & watched)

    def _cut(
        self, V: Values, step: LaneStep, found: Found, crossed: Mask, point: Point, end: Array
    ) -> tuple[Array, Point, Mask]:
        """Parts of a step that end where the function of the first crossing is zero: the times of their ends, the
        points there, and where there is such a zero."""
        lanes = np.arange(len(crossed))

        def first(t: Array, at: Point) -> Array:
            return np.asarray(self._margins(V, t, at)[found.first, lanes])

        theta, H = np.where(crossed, found.theta, 0.0), np.where(crossed, step.h, 1.0)
        d = np.maximum(0.01 * theta, 1e-6)
        a, b = np.maximum(theta - d, 0.0), np.minimum(theta + d, 1.0)
        slope = (first(step.t + b * step.h, step.at(b)) - first(step.t + a * step.h, step.at(a))) / ((b - a) * H)
        length, open_, at_zero = theta * H, crossed & (theta > 0.0), crossed & (theta <= 0.0)
        for _ in range(_ROUNDS):
            part = self.evaluation.step(V, step.t, np.where(open_, length, 0.0), step.start)
            point = part.end.where(open_, point)
            g = first(step.t + part.h, part.end)
            on_the_way = slope * found.side < 0.0
            move = np.where(on_the_way, -g / np.where(on_the_way, slope, 1.0), np.inf)
            move = np.where((g == 0.0) | found.jumps, 0.0, move)
            near = np.abs(move) <= np.maximum(1e-14 * H, 4e-16 * np.abs(step.t))
            far = ~(np.abs(move) <= np.maximum(_WIDE * length, _SAME * H)) | (length + move <= 0.0)
            at_zero |= open_ & (near | (np.abs(move) <= _SAME * H))
            moves = open_ & ~near & ~far
            if not moves.any():
                break
            length, open_ = np.where(moves, length + move, length), moves
        t = np.where(crossed, step.t + length, step.t)
        return np.where(crossed & (end - t <= 1e-15 * np.maximum(H, np.abs(end))), end, t), point, at_zero

    def _act(self, t: Array, end: Array, state: LaneState, found: Found, crossed: Mask) -> Point:
        """Let crossings of some runs happen: rows before and after, jumps, and what they make cross."""
        V, point, watch = state
        runs = V["runs"]
        storms = [i for i in np.flatnonzero(crossed) if self.rows.is_storm(int(runs[i]), float(t[i]))]
        self.rows.leave(runs[storms], "events follow each other without end")
        crossed = crossed & self._going(V)
        self._record(V, t, point, crossed & (found.theta > 0.0))
        before, values = watch.crossed(found, crossed), self._margins(V, t, point)
        names = found.names & crossed
        self._note(V, t, names)
        point, all_names = self._jump(V, t, point, before, names)
        self._note(V, t, all_names & ~names)
        watch.moved(self._margins(V, t, point), values, crossed)
        stops = self._ends(all_names)
        self._record(V, t, point, crossed & (stops | (t < end)))
        self.rows.end(runs[stops & self._going(V)])
        return point

    def _jump(self, V: Values, t: Array, point: Point, before: Array, names: Mask) -> tuple[Point, Mask]:
        """Jumps of crossings, all at once; and of crossings that these make at the same instant, and so on."""
        values = self._margins(V, t, point)
        at_zero, signs, total = names, np.sign(values), names
        directions = np.array([x.direction for x in self.evaluation.equations.crossings])[:, None]
        signs = np.where(names, np.where(directions != 0, directions, -before), signs)
        for _ in range(_JUMPS):
            point = self._jumped(V, t, point, names)
            margins = self._margins(V, t, point)
            after = np.where(at_zero & unmoved(margins, values), signs, np.sign(margins))
            names = self._turned(signs, after) & names.any(axis=0)
            signs, total = np.where(after == 0.0, signs, after), total | names
            if not names.any():
                break
        self.rows.leave(V["runs"][names.any(axis=0)], "crossings make each other cross without end")
        return point, total

    def _jumped(self, V: Values, t: Array, point: Point, names: Mask) -> Point:
        """States after the jumps of these crossings, from the values before them."""
        self.evaluation.evaluate(V, t, point, self.evaluation.at_crossing)
        new: dict[str, tuple[Array, Mask]] = {}
        for crossing, which in zip(self.evaluation.equations.crossings, names, strict=True):
            for x in crossing.jumps if which.any() else ():
                value, old = x.call(V), V[x.key]
                was, taken = new.get(x.key, (old, np.zeros_like(which)))
                self.rows.leave(V["runs"][taken & which], f"two jumps set {x.key!r} at one instant")
                mask = which.reshape(-1, *(1,) * (old.ndim - 1))
                new[x.key] = np.where(mask, value, was).astype(old.dtype), taken | which
        for key, (value, which) in new.items():
            require_numbers(value[which], key)
            V[key] = value
        return point._replace(z={key: V[key] if key in new else x for key, x in point.z.items()})

    # -- rows --------------------------------------------------------------------------------------------------

    def _record(self, V: Values, t: Array, point: Point, which: Mask) -> None:
        """Rows of some runs alone."""
        if which.any():
            self.evaluation.evaluate(V, t, point, self.evaluation.at_end)
            for i in np.flatnonzero(which):
                self.rows.add_own(int(V["runs"][i]), float(t[i]), {key: V[key][i] for key in self.rows.keys})

    def _note(self, V: Values, t: Array, names: Mask) -> None:
        for c, i in np.argwhere(names):
            self.rows.event(int(V["runs"][i]), float(t[i]), self.evaluation.equations.crossings[c].key)

    def _ends(self, names: Mask) -> Mask:
        """Runs that end where these cross."""
        wanted = np.array([x.key == self.until for x in self.evaluation.equations.crossings])
        return np.asarray((names & wanted[:, None]).any(axis=0))

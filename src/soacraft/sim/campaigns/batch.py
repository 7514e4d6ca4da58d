"""A block of runs that march as one batch: RK4 with fixed steps on the SIMD kernels, ticks common to all.

The order of things is that of a single run (docs/systems.md, "Time"); results agree with it to rounding. Where
something crosses in a step of some runs, these go on in parts of it, up to the crossing and from there, while the
others wait at its end: all meet at the end of every step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft import dynamics as dyn
from soacraft.sim.campaigns.closures import closures_of
from soacraft.sim.campaigns.crossings import Found, LaneWatch, Mask
from soacraft.sim.campaigns.lane_step import LaneStep, Point
from soacraft.sim.campaigns.lanes import Lane, Lanes, Values, linked, require_numbers
from soacraft.sim.campaigns.loads import lane_forces
from soacraft.sim.campaigns.measures import split
from soacraft.sim.campaigns.models import LaneModels
from soacraft.sim.campaigns.rows import Rows
from soacraft.sim.clock import nanoseconds, positive_nanoseconds
from soacraft.sim.events import unmoved
from soacraft.sim.integrators.manifold import Coordinates
from soacraft.sim.systems.frames import OF_FRAME
from soacraft.sim.systems.plants.inertias import OF_INERTIA
from soacraft.sim.systems.running.order import in_order, upstream
from soacraft.spatial.checks import Array

#: Parts of a step, rounds of the search for the end of a part, and crossings at one instant, at most.
_PARTS, _ROUNDS, _JUMPS = 200, 6, 100
#: The end of a part is at the zero of a function to this part of a step; it may be moved by this part of itself.
_SAME, _WIDE = 1e-9, 0.25
#: Events closer than this in seconds, so many times in a row, are without end (`sim.events`).
_STORM, _STORM_COUNT = 1e-7, 8


class Batch:
    """March the runs of `lanes` through time."""

    def __init__(self, lanes: Lanes, keys: Sequence[str]) -> None:
        self._lanes, self._system, self._keys = lanes, lanes.system, list(keys)
        system, self.wiring = lanes.system, lanes.system.board.compiled().wiring
        joined = system.board.compiled().joined
        self._mb, self.plants = joined.mb, [system.diagram.plants[x] for x in sorted(system.diagram.plants)]
        self._space = Coordinates(self._mb)
        self._models = LaneModels(joined.mb, system.diagram.plants, lanes.models)
        self._closures = closures_of(system)
        self._settle = None if self._closures is None else self._closures.settle
        self._loads = lane_forces(joined.mb, joined.loads)
        self.V: Values = {**{k: v.copy() for k, v in lanes.states.items()}, "t": 0.0}
        for key, signal in self.wiring.sources.items():  # what a sampled output holds before its first tick
            self.V.setdefault(key, np.zeros((lanes.count, *signal.shape), dtype=signal.dtype))
        self._going: Mask = np.ones(lanes.count, dtype=np.bool_)
        self._numbers = np.arange(lanes.count)  # of the runs that are looked at now
        self._watch: LaneWatch | None = None
        self._storm: dict[int, list[float]] = {}
        self._rows = Rows(system, sorted({self._base(x) for x in keys}))
        self._read()
        self._forces()

    def _read(self) -> None:
        lanes, parts = self._lanes, self._system.diagram.parts
        self._outputs: dict[str, Lane] = {}
        self.rates: list[Lane] = []
        self._updates: dict[str, list[Lane]] = {}
        self.held: dict[str, set[str]] = {}
        for path in sorted(parts):
            part, face = parts[path], parts[path].component.interface
            for name, x in face.outputs.items():
                self._outputs[f"{path}.{name}"] = lanes.lane(part, x, name, f"{path}.{name}")
            for name, y in face.rates.items():
                self.rates.append(lanes.lane(part, y, name, f"{path}.{name}"))
            if part.clock is not None:
                self.held[path] = {f"{path}.{x}" for x in face.outputs}
                self._updates[path] = [lanes.lane(part, z, n, f"{path}.{n}") for n, z in face.updates.items()]
        self._crossings: list[tuple[str, int, Lane, list[Lane]]] = []
        for path in sorted(parts):
            part, face = parts[path], parts[path].component.interface
            for name, c in sorted(face.crossings.items()):
                jumps = [
                    lanes.lane(part, j, j.state.name, f"{path}.{j.state.name}", called=f"{path}.{j.name}")
                    for j in face.jumps
                    if j.at is c
                ]
                key = f"{path}.{name}"
                self._crossings.append((key, c.direction, lanes.lane(part, c, name, key), jumps))
        self._vdots = {x.vdot for x in self.plants}
        needs: dict[str, set[str]] = {key: set(x.needs) for key, x in self._outputs.items()}
        needs |= {key: {x.link.source for x in self.wiring.contributions} for key in self._vdots}
        self._needs = needs
        self._order = in_order(needs)[0]
        users: dict[str, list[str]] = {}
        for key, given in needs.items():
            for source in given:
                users.setdefault(source, []).append(key)
        self._behind = upstream(self._vdots, users)
        wanted = {x.link.source for x in self.wiring.contributions}.union(*(x.needs for x in self.rates))
        self._stage = self._select(wanted)
        self._at_end = self._select({self._base(x) for x in self._keys})
        of_crossings = [x for _, _, margin, jumps in self._crossings for x in (margin, *jumps)]
        self._at_crossing = self._select(set().union(*(x.needs for x in of_crossings)))

    def _base(self, key: str) -> str:
        return split(self._system, key)[0]

    def _select(self, wanted: set[str], due: Sequence[str] = ()) -> tuple[list[Lane], list[Lane], bool]:
        """What gives what is wanted, before and behind the accelerations, and whether these are needed."""
        held = {x for path, keys in self.held.items() if path not in due for x in keys}
        needed, todo = set(), [x for x in wanted if x not in held]
        while todo:
            key = todo.pop()
            if key not in needed:
                needed.add(key)
                todo += [x for x in self._needs.get(key, ()) if x not in needed and x not in held]
        lanes = [self._outputs[x] for x in self._order if x in needed and x in self._outputs]
        behind = [x for x in lanes if x.key in self._behind]
        return [x for x in lanes if x.key not in self._behind], behind, bool(needed & self._vdots)

    def _forces(self) -> None:
        """Contributions to single dofs, to all of a plant, and at nodes; what nodes have."""
        self._single = [(x.push.number, linked(x.link)) for x in self.wiring.contributions if x.push.number is not None]
        self._wide, self._nodes = [], []
        for x in self.wiring.contributions:
            if x.push.node is not None:
                self._nodes.append((x.push.node, linked(x.link)))
            elif x.push.number is None:
                self._wide.append((self._system.diagram.plants[x.plant].seat.v, linked(x.link)))
        used = [(key, key.partition(".")[0]) for key in sorted(self.wiring.sources)]
        ports = [
            (key, path, key[len(path) + 1 :].partition("["))
            for key, path in used
            if path in self._system.diagram.plants
        ]
        self._seen = [(key, port[0], self._system.diagram.plants[path].frame(port[2][:-1])) for key, path, port in ports
                      if port[0] in OF_FRAME]  # fmt: skip
        self._inertias = {
            key: self._models.inertia_at(
                port[0], self._system.diagram.plants[path].frame(port[2][:-1]), self._lanes.count
            )
            for key, path, port in ports
            if port[0] in OF_INERTIA
        }

    # -- evaluation --------------------------------------------------------------------------------------------

    def _place(self, t: Any, point: Point) -> None:
        """The values of a point, without those of equations."""
        V, (q, v, z) = self.V, point
        V["t"] = np.broadcast_to(t, len(q)) if self._crossings else t
        V.update(z)
        V.update(self._inertias)
        for x in self.plants:
            V[x.q], V[x.v] = q[:, x.seat.q], v[:, x.seat.v]
        if self._seen:
            frames: list[Any] = [x for _, _, x in self._seen]
            moved = dyn.node_motion(self._mb, q, v, np.zeros_like(v), frames, threads=1)
            for i, (key, port, _) in enumerate(self._seen):
                V[key] = (
                    moved.translation[:, i]
                    if port == "position"
                    else moved.rotation[:, i]
                    if port == "rotation"
                    else moved.velocity[:, i, 3:]
                    if port == "velocity"
                    else moved.velocity[:, i, :3]
                )

    def _walk(self, lanes: Sequence[Lane]) -> None:
        for x in lanes:
            self.V[x.key] = x.call(self.V)

    def _accelerate(self, t: Any, point: Point) -> Array:
        """The accelerations under all forces; those of components have been evaluated."""
        q, v, _ = point
        force = np.zeros(v.shape)
        for load in self._loads:
            force += load(t, point)
        for number, get in self._single:
            force[:, number] += get(self.V)
        for dofs, get in self._wide:
            force[:, dofs] += get(self.V)
        if self._nodes:
            force += self._pushed(q)
        if self._closures is not None:
            vdot = self._closures.accelerations(q, v, force)
        else:
            vdot = self._models.accelerations(q, v, force, self._lanes.chosen) if v.shape[1] else force
        for x in self.plants:
            self.V[x.vdot] = vdot[:, x.seat.v]
        return vdot

    def _pushed(self, q: Array) -> Array:
        """J* f of forces at nodes."""
        total = np.zeros((len(q), self._mb.nv))
        for axes in ("inertial", "node"):
            some = [(x, get) for x, get in self._nodes if x[2] == (axes == "node")]
            if not some:
                continue
            J = dyn.jacobian(self._mb, q, [x[0] for x, _ in some], axes, threads=1)
            f = np.zeros((len(q), 6 * len(some)))
            for i, ((_, kind, _), get) in enumerate(some):
                rows = {"force": slice(6 * i + 3, 6 * i + 6), "moment": slice(6 * i, 6 * i + 3)}
                f[:, rows.get(kind, slice(6 * i, 6 * i + 6))] = get(self.V)
            total += np.matmul(f[:, None, :], J)[:, 0, :]
        return total

    def _evaluate(self, t: Any, point: Point, selected: tuple[list[Lane], list[Lane], bool]) -> None:
        """All that is selected, at a point."""
        before, behind, accelerations = selected
        self._place(t, point)
        if accelerations:
            self._walk(self._stage[0])
        self._walk(before)
        if accelerations:
            self._accelerate(t, point)
            self._walk(behind)

    def _slopes(self, t: Any, point: Point) -> tuple[Array, dict[str, Array]]:
        """vdot, and dz/dt."""
        before, behind, _ = self._stage
        self._place(t, point)
        self._walk(before)
        vdot = self._accelerate(t, point)
        self._walk(behind)
        return vdot, {x.key: x.call(self.V) for x in self.rates}

    # -- time --------------------------------------------------------------------------------------------------

    def march(self, t: float, until: str = "") -> Rows:
        """All runs from the start to time t, or to the crossing `until`."""
        lanes, start, goal = self._lanes, self._system.board.start, nanoseconds(t, "t")
        step = positive_nanoseconds(self._system.board.how["step"], "step")
        count = lanes.count
        q = np.concatenate([np.zeros((count, 0)), *(lanes.q[x.path] for x in self.plants)], axis=1)
        v = np.concatenate([np.zeros((count, 0)), *(lanes.v[x.path] for x in self.plants)], axis=1)
        point = Point(q, v, {x.key: self.V[x.key] for x in self.rates})
        clocks = {path: self._system.diagram.parts[path].clock for path in self.held}
        ticked = dict.fromkeys(clocks, 0)
        dues = {path: x.at(0) + start for path, x in clocks.items() if x is not None}
        now = start
        if self._crossings:
            self._watch = LaneWatch([x[1] for x in self._crossings], self._margins(now / 1e9, point))
        while True:
            due = [path for path, when in dues.items() if when == now]
            if due:
                point = self.tick(now / 1e9, point, due, ticked, until)
                for path in due:
                    ticked[path] += 1
                    dues[path] = clocks[path].at(ticked[path]) + start  # type: ignore[union-attr]
            self._record(now / 1e9, point)
            if now >= goal or not self._going.any():
                break
            stop = min([goal, start + ((now - start) // step + 1) * step, *dues.values()])
            if self._watch is None:
                point = self.step(now / 1e9, (stop - now) / 1e9, point).end
            else:
                point = self._through(now / 1e9, stop / 1e9, point, until)
            now = stop
        return self._rows

    def step(self, t: Any, h: Any, point: Point) -> LaneStep:
        """A step of length h from a point at t."""
        return LaneStep(self._space, self._slopes, t, h, point, self._settle)

    def tick(self, t: float, point: Point, due: Sequence[str], ticked: dict[str, int], until: str = "") -> Point:
        """y[k] = g(x[k], u[k]) in order, then x[k+1] = f(x[k], u[k]) of all at once; what crosses by this jumps."""
        V, updates = self.V, [x for path in due for x in self._updates[path]]
        values = self._margins(t, point) if self._watch is not None else np.zeros(0)
        wanted = {x for path in due for x in self.held[path]}.union(*(x.needs for x in updates))
        for name, streams in self._lanes.streams.items():
            path = name.rpartition(".")[0]
            if path in due:
                V[f"{name}:noise"] = np.array([x.at(ticked[path]) for x in streams])
        self._evaluate(t, point, self._select(wanted, due))
        new = [x.call(V) for x in updates]
        for x, value in zip(updates, new, strict=True):
            require_numbers(value, x.key)
            V[x.key] = value
        if self._watch is None:
            return point
        before, after = np.sign(values), np.sign(self._margins(t, point))
        turned = self._turned(before, after) & self._going
        if turned.any():
            point, _ = self._jump(np.full(self._lanes.size, t), point, np.where(turned, before, 0.0), turned)
            self._leave(self._until(turned, until), "a tick makes it cross where it ends")
        self._watch.moved(self._margins(t, point), values, self._going)
        return point

    def _record(self, t: float, point: Point) -> None:
        self.look(t, point)
        self._rows.add(t, self.V)

    def look(self, t: float, point: Point) -> None:
        """Have the values of all that is recorded."""
        require_numbers(np.array([x.sum() for x in (point.q, point.v, *point.z.values())]), "a state")
        self._evaluate(t, point, self._at_end)
        for key in self._rows.keys:
            require_numbers(self.V[key], key)

    # -- crossings ---------------------------------------------------------------------------------------------

    def _margins(self, t: Any, point: Point) -> Array:
        """The functions of all crossings, (crossings, runs)."""
        self._evaluate(t, point, self._at_crossing)
        values = np.array([margin.call(self.V) for _, _, margin, _ in self._crossings])
        require_numbers(values[:, self._going], "the function of a crossing")
        return values

    def _turned(self, before: Array, after: Array) -> Mask:
        """Functions that have gone to the other side in a direction that is watched."""
        directions = np.array([x[1] for x in self._crossings])[:, None]
        watched = (directions == 0) | (directions == after)
        return np.asarray((before != 0.0) & (after != 0.0) & (before != after) & watched)

    def _through(self, t0: float, end: float, point: Point, until: str) -> Point:
        """From a time to the end of a step: runs in which something may cross by themselves, in parts."""
        assert self._watch is not None
        whole = self.step(t0, np.where(self._going, end - t0, 0.0), point)
        calm = self._watch.calm(self._margins_in(whole), self._lanes.count) | ~self._going
        chosen = np.flatnonzero(~calm)
        if not len(chosen):
            return whole.end.where(self._going, point)
        some = Point(point.q[chosen], point.v[chosen], {key: x[chosen] for key, x in point.z.items()})
        with self._only(chosen):
            some = self._in_parts(t0, end, some, until)
        ends = whole.end.where(self._going & calm, point)
        for x, new in [(ends.q, some.q), (ends.v, some.v), *((ends.z[key], some.z[key]) for key in ends.z)]:
            x[chosen] = new
        return ends

    @contextmanager
    def _only(self, chosen: npt.NDArray[np.intp]) -> Iterator[None]:
        """Go on with some of the runs alone; what jumps in them is theirs afterwards."""
        assert self._watch is not None
        V, watch, going, inertias = self.V, self._watch, self._going, self._inertias
        jumped = {x.key for _, _, _, jumps in self._crossings for x in jumps}
        self.V = {key: x[chosen] if np.ndim(x) else x for key, x in V.items()}
        self._inertias = {key: x[chosen] for key, x in inertias.items()}
        self._watch, self._going, self._numbers = watch.of(chosen), going[chosen], chosen
        self._lanes.chosen = chosen
        try:
            yield
            for key in jumped:
                V[key] = np.array(V[key])
                V[key][chosen] = self.V[key]
            watch.put(chosen, self._watch)
            going[chosen] = self._going
        finally:
            self.V, self._watch, self._going, self._inertias = V, watch, going, inertias
            self._numbers, self._lanes.chosen = np.arange(self._lanes.count), None

    def _margins_in(self, step: LaneStep) -> Callable[[Array], Array]:
        return lambda theta: self._margins(step.t + theta * step.h, step.at(theta))

    def _in_parts(self, t0: float, end: float, point: Point, until: str) -> Point:
        """From a time to the end of a step in parts, each to the first crossing of a run."""
        assert self._watch is not None
        t, active = np.full(self._lanes.size, t0), self._going.copy()
        for _ in range(_PARTS):
            h = np.where(active, end - t, 0.0)
            step = self.step(t, h, point)
            found = self._watch.find(self._margins_in(step), h, active)
            crossed = active & (found.theta <= 1.0)
            point = step.end.where(active & ~crossed, point)
            if not crossed.any():
                return point
            t, point, at_zero = self._cut(step, found, crossed, point, end)
            self._leave(crossed & ~at_zero, "the zero of a crossing is not found in a batch")
            point = self._act(t, end, point, found, crossed & at_zero, until)
            active = crossed & self._going & (t < end)
            if not active.any():
                return point
        self._leave(active, f"a step has more than {_PARTS} crossings")
        return point

    def _cut(self, step: LaneStep, found: Found, crossed: Mask, point: Point, end: float) -> tuple[Array, Point, Mask]:
        """Parts of a step that end where the function of the first crossing is zero: the times of their ends, the
        points there, and where there is such a zero."""
        lanes = np.arange(len(crossed))

        def first(t: Array, at: Point) -> Array:
            return np.asarray(self._margins(t, at)[found.first, lanes])

        theta, H = np.where(crossed, found.theta, 0.0), np.where(crossed, step.h, 1.0)
        d = np.maximum(0.01 * theta, 1e-6)
        a, b = np.maximum(theta - d, 0.0), np.minimum(theta + d, 1.0)
        slope = (first(step.t + b * step.h, step.at(b)) - first(step.t + a * step.h, step.at(a))) / ((b - a) * H)
        length, open_, at_zero = theta * H, crossed & (theta > 0.0), crossed & (theta <= 0.0)
        for _ in range(_ROUNDS):
            part = self.step(step.t, np.where(open_, length, 0.0), step.start)
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
        return np.where(crossed & (end - t <= 1e-15 * np.maximum(H, abs(end))), end, t), point, at_zero

    def _act(self, t: Array, end: float, point: Point, found: Found, crossed: Mask, until: str) -> Point:
        """Let crossings of some runs happen: rows before and after, jumps, and what they make cross."""
        assert self._watch is not None
        self._check_storm(t, crossed)
        crossed = crossed & self._going
        self._record_own(t, point, crossed & (found.theta > 0.0))
        before, values = self._watch.crossed(found, crossed), self._margins(t, point)
        names = found.names & crossed
        self._note(t, names)
        point, all_names = self._jump(t, point, before, names)
        self._note(t, all_names & ~names)
        self._watch.moved(self._margins(t, point), values, crossed)
        stops = self._until(all_names, until)
        self._record_own(t, point, crossed & (stops | (t < end)))
        for i in np.flatnonzero(stops & self._going):
            self._rows.end(int(self._numbers[i]))
        self._going &= ~stops
        return point

    def _jump(self, t: Array, point: Point, before: Array, names: Mask) -> tuple[Point, Mask]:
        """Jumps of crossings, all at once; and of crossings that these make at the same instant, and so on."""
        values = self._margins(t, point)
        at_zero, signs, total = names, np.sign(values), names
        directions = np.array([x[1] for x in self._crossings])[:, None]
        signs = np.where(names, np.where(directions != 0, directions, -before), signs)
        for _ in range(_JUMPS):
            point = self._jumped(t, point, names)
            margins = self._margins(t, point)
            after = np.where(at_zero & unmoved(margins, values), signs, np.sign(margins))
            names = self._turned(signs, after) & names.any(axis=0)
            signs, total = np.where(after == 0.0, signs, after), total | names
            if not names.any():
                break
        self._leave(np.asarray(names.any(axis=0)), "crossings make each other cross without end")
        return point, total

    def _jumped(self, t: Array, point: Point, names: Mask) -> Point:
        """States after the jumps of these crossings, from the values before them."""
        self._evaluate(t, point, self._at_crossing)
        new: dict[str, tuple[Array, Mask]] = {}
        for (_, _, _, jumps), which in zip(self._crossings, names, strict=True):
            for x in jumps if which.any() else ():
                value, old = x.call(self.V), self.V[x.key]
                was, taken = new.get(x.key, (old, np.zeros_like(which)))
                self._leave(taken & which, f"two jumps set {x.key!r} at one instant")
                mask = which.reshape(-1, *(1,) * (old.ndim - 1))
                new[x.key] = np.where(mask, value, was).astype(old.dtype), taken | which
        for key, (value, which) in new.items():
            require_numbers(value[which], key)
            self.V[key] = value
        return point._replace(z={key: self.V[key] if key in new else x for key, x in point.z.items()})

    def _record_own(self, t: Array, point: Point, which: Mask) -> None:
        """Rows of some runs alone."""
        if which.any():
            self._evaluate(t, point, self._at_end)
            for i in np.flatnonzero(which):
                self._rows.add_own(int(self._numbers[i]), float(t[i]), {key: self.V[key][i] for key in self._rows.keys})

    def _note(self, t: Array, names: Mask) -> None:
        for c, i in np.argwhere(names):
            self._rows.event(int(self._numbers[i]), float(t[i]), self._crossings[c][0])

    def _until(self, names: Mask, until: str) -> Mask:
        """Runs that end where these cross."""
        wanted = np.array([x[0] == until for x in self._crossings])
        return np.asarray((names & wanted[:, None]).any(axis=0))

    def _check_storm(self, t: Array, crossed: Mask) -> None:
        for i in np.flatnonzero(crossed):
            number = int(self._numbers[i])
            last = [*self._storm.get(number, [])[-_STORM_COUNT:], float(t[i])]
            self._storm[number] = last
            if len(last) > _STORM_COUNT and last[-1] - last[0] <= _STORM * _STORM_COUNT:
                self._leave(np.arange(len(t)) == i, "events follow each other without end")

    def _leave(self, which: Mask, why: str) -> None:
        """Runs that do not go on in the batch: they are computed by themselves."""
        for i in np.flatnonzero(which & self._going):
            self._rows.alone[int(self._numbers[i])] = why
        self._going &= ~which

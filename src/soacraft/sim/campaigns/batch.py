"""A block of runs that march as one batch: RK4 with fixed steps on the SIMD kernels, ticks common to all.

The order of things is that of a single run (docs/systems.md, "Time"); results agree with it to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from soacraft import dynamics as dyn
from soacraft.errors import SimulationError
from soacraft.sim.campaigns.lanes import Lane, Lanes, Values, linked, require_numbers
from soacraft.sim.campaigns.measures import Measure, Series, split
from soacraft.sim.campaigns.models import LINEAR, LaneModels
from soacraft.sim.campaigns.variations import is_argument, read_parameter, target_of
from soacraft.sim.clock import nanoseconds, positive_nanoseconds
from soacraft.sim.components.component import Component
from soacraft.sim.integrators.manifold import LARGEST_TURN, Coordinates
from soacraft.sim.links.ports import Linked
from soacraft.sim.systems.frames import OF_FRAME
from soacraft.sim.systems.plants.inertias import OF_INERTIA
from soacraft.sim.systems.running.order import in_order, upstream
from soacraft.sim.systems.system import System
from soacraft.spatial.checks import Array
from soacraft.spatial.transforms import INVERSE_THIRD

#: What nodes have that batches know.
_OF_NODE = (*list(OF_FRAME)[:4], *OF_INERTIA)
#: Runs of a batch, and bytes of what it records at most.
LARGEST, _MEMORY = 512, 2**29


def obstacle(system: System, paths: Sequence[str], until: str, measures: Sequence[Any]) -> str:
    """Why runs of a system go one by one; empty where they may march as a batch."""
    how = system._how
    if how["integrator"] != "rk4" or how["step"] is None:
        return f"integrator {how['integrator']!r}: batches take fixed steps of 'rk4'"
    if until or any(isinstance(x, Measure) and x.event for x in measures):
        return "it looks for an event"
    if not all(isinstance(x, Measure) for x in measures):
        return "a measure is a function, which takes a single run"
    argument = next((x for x in paths if is_argument(x)), "")
    if argument:
        return f"{argument!r} is an argument of the function that makes the system, so that each run has its own"
    if system._tears:
        return f"the loop of {system._tears[0]!r} is solved by iteration"
    if system._frames or system._holds or system._changes or system._sequences:
        return "it has frames of its own, sequences, or its structure was changed"
    for path, part in sorted(system._parts.items()):
        if part.component.interface.crossings:
            return f"{path!r} has crossings"
        if part.clock is None and _jumps(part.component, path, paths, system._start / 1e9):
            return f"{path!r} jumps between ticks, where steps end"
        if isinstance(part.component, Linked) or type(part.component).__module__.startswith("soacraft.sim.systems"):
            return f"{path!r} is no plain component"
    for path, plant in sorted(system._plants.items()):
        why = _of_plant(plant)
        if why:
            return f"the plant {path!r} {why}"
    if system._compiled()[0].masses:
        return "masses of bodies are given"
    for path in paths:
        target = target_of(system, path)
        if target.kind == "model" and read_parameter(system._plants[target.key].mb, target.name).kind not in LINEAR:
            return f"{path!r} places a body or node: batches vary inertias, armature, damping and stiffness of models"
    known = {f"{path}.{x}" for path, part in system._parts.items() for x in part.component.interface.outputs}
    known |= {f"{path}.{x}" for path in system._plants for x in ("q", "v", "vdot")}
    for key in sorted(system._compiled()[0].sources):
        path, _, port = key.partition(".")
        if key not in known and (path not in system._plants or port.partition("[")[0] not in _OF_NODE):
            return f"{key!r} is used"
    return ""


def _jumps(component: Component, path: str, paths: Sequence[str], start: float) -> bool:
    """True if a component jumps by itself after a start, or might where its parameters are drawn."""
    if type(component).breaks is Component.breaks:
        return False
    return any(x.startswith(f"{path}.") for x in paths) or any(t > start for t in component.breaks(component.p))


def _of_plant(plant: Any) -> str:
    mb = plant.mb
    if plant.forces:
        return "has force elements"
    if mb.is_closed or len(mb.couplings):
        return "has loops"
    if mb.layout.flexible:
        return "is flexible"
    if mb.acting_forces:
        return "has forces of mb.set_force"
    return "" if Coordinates(mb).is_group else "has hinges that roll, or of your own"


def size_of(system: System, t: float, series: Sequence[Series]) -> int:
    """How many runs march together: fewer where they record much. Of the campaign alone, not of who computes it."""
    step = system._how["step"]
    assert isinstance(step, float)
    rates = [1.0 / x.clock.seconds for x in system._parts.values() if x.clock is not None]
    rows = (t - system._start / 1e9) * (1.0 / step + sum(rates)) + 2.0
    width = sum(_width(system, x.key) for x in series if x.key != "t") + 1
    size = LARGEST
    while size > 8 and rows * width * size * 8.0 > _MEMORY:
        size //= 2
    return size


def _width(system: System, key: str) -> int:
    base = split(system, key)[0]
    path, _, port = base.partition(".")
    if path in system._plants:
        return system._plants[path].mb.nq if port == "q" else system._plants[path].mb.nv if port in ("v", "vdot") else 9
    return int(np.prod(system._parts[path].signal(port).shape))


class Recorded:
    """The rows of a batch: series are (rows, runs, ...)."""

    def __init__(self, system: System, t: Array, rows: dict[str, Array]) -> None:
        self._system, self.t, self._rows = system, t, rows

    def series(self, key: str) -> Array:
        """A signal."""
        base, element = split(self._system, key)
        return self._rows[base] if element is None else self._rows[base][:, :, element]

    def times(self, event: str) -> list[float]:
        """None: batches look for no events."""
        raise AssertionError(event)


class Batch:
    """March the runs of `lanes` through time."""

    def __init__(self, lanes: Lanes, keys: Sequence[str]) -> None:
        self._lanes, self._system, self._keys = lanes, lanes.system, list(keys)
        system, self._wiring = lanes.system, lanes.system._compiled()[0]
        joined = system._joined
        assert joined is not None
        self._mb, self._plants = joined.mb, [system._plants[x] for x in sorted(system._plants)]
        self._space = Coordinates(self._mb)
        self._models = LaneModels(joined.mb, system._plants, lanes.models)
        self.V: Values = {**{k: v.copy() for k, v in lanes.states.items()}, "t": 0.0}
        for key, signal in self._wiring.sources.items():  # what a sampled output holds before its first tick
            self.V.setdefault(key, np.zeros((lanes.count, *signal.shape), dtype=signal.dtype))
        self._read()
        self._forces()

    def _read(self) -> None:
        lanes, parts = self._lanes, self._system._parts
        self._outputs: dict[str, Lane] = {}
        self._rates: list[Lane] = []
        self._updates: dict[str, list[Lane]] = {}
        self._held: dict[str, set[str]] = {}
        for path in sorted(parts):
            part, face = parts[path], parts[path].component.interface
            for name, x in face.outputs.items():
                self._outputs[f"{path}.{name}"] = lanes.lane(part, x, name, f"{path}.{name}")
            for name, y in face.rates.items():
                self._rates.append(lanes.lane(part, y, name, f"{path}.{name}"))
            if part.clock is not None:
                self._held[path] = {f"{path}.{x}" for x in face.outputs}
                self._updates[path] = [lanes.lane(part, z, n, f"{path}.{n}") for n, z in face.updates.items()]
        self._vdots = {x.vdot for x in self._plants}
        needs: dict[str, set[str]] = {key: set(x.needs) for key, x in self._outputs.items()}
        needs |= {key: {x.link.source for x in self._wiring.contributions} for key in self._vdots}
        self._needs = needs
        self._order = in_order(needs)[0]
        users: dict[str, list[str]] = {}
        for key, given in needs.items():
            for source in given:
                users.setdefault(source, []).append(key)
        self._behind = upstream(self._vdots, users)
        wanted = {x.link.source for x in self._wiring.contributions}.union(*(x.needs for x in self._rates))
        self._stage = self._select(wanted)
        self._at_end = self._select({self._base(x) for x in self._keys})

    def _base(self, key: str) -> str:
        return split(self._system, key)[0]

    def _select(self, wanted: set[str], due: Sequence[str] = ()) -> tuple[list[Lane], list[Lane], bool]:
        """What gives what is wanted, before and behind the accelerations, and whether these are needed."""
        held = {x for path, keys in self._held.items() if path not in due for x in keys}
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
        self._single = [
            (x.push.number, linked(x.link)) for x in self._wiring.contributions if x.push.number is not None
        ]
        self._wide, self._nodes = [], []
        for x in self._wiring.contributions:
            if x.push.node is not None:
                self._nodes.append((x.push.node, linked(x.link)))
            elif x.push.number is None:
                self._wide.append((self._system._plants[x.plant].seat.v, linked(x.link)))
        used = [(key, key.partition(".")[0]) for key in sorted(self._wiring.sources)]
        ports = [(key, path, key[len(path) + 1 :].partition("[")) for key, path in used if path in self._system._plants]
        self._seen = [(key, port[0], self._system._plants[path].frame(port[2][:-1])) for key, path, port in ports
                      if port[0] in OF_FRAME]  # fmt: skip
        self._inertias = {
            key: self._models.inertia_at(port[0], self._system._plants[path].frame(port[2][:-1]), self._lanes.count)
            for key, path, port in ports
            if port[0] in OF_INERTIA
        }

    # -- evaluation --------------------------------------------------------------------------------------------

    def _place(self, ns: float, q: Array, v: Array, z: dict[str, Array]) -> None:
        """The values of a point, without those of equations."""
        V = self.V
        V["t"] = ns
        V.update(z)
        V.update(self._inertias)
        for x in self._plants:
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

    def _accelerate(self, q: Array, v: Array) -> Array:
        """The accelerations under all forces, which have been evaluated."""
        force = np.zeros(v.shape)
        for number, get in self._single:
            force[:, number] += get(self.V)
        for dofs, get in self._wide:
            force[:, dofs] += get(self.V)
        if self._nodes:
            force += self._pushed(q)
        vdot = self._models.accelerations(q, v, force) if v.shape[1] else force
        for x in self._plants:
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

    def _slopes(self, t: float, q: Array, v: Array, z: dict[str, Array]) -> tuple[Array, dict[str, Array]]:
        """vdot, and dz/dt."""
        before, behind, _ = self._stage
        self._place(t, q, v, z)
        self._walk(before)
        vdot = self._accelerate(q, v)
        self._walk(behind)
        return vdot, {x.key: x.call(self.V) for x in self._rates}

    # -- time --------------------------------------------------------------------------------------------------

    def march(self, t: float) -> Recorded:
        """All runs from the start to time t."""
        lanes, start, goal = self._lanes, self._system._start, nanoseconds(t, "t")
        step = positive_nanoseconds(self._system._how["step"], "step")
        count = lanes.count
        q = np.concatenate([np.zeros((count, 0)), *(lanes.q[x.path] for x in self._plants)], axis=1)
        v = np.concatenate([np.zeros((count, 0)), *(lanes.v[x.path] for x in self._plants)], axis=1)
        z = {x.key: self.V[x.key] for x in self._rates}
        clocks = {path: self._system._parts[path].clock for path in self._held}
        ticked = dict.fromkeys(clocks, 0)
        dues = {path: x.at(0) + start for path, x in clocks.items() if x is not None}
        times: list[float] = []
        rows: dict[str, list[Array]] = {self._base(x): [] for x in self._keys}
        now = start
        while True:
            due = [path for path, when in dues.items() if when == now]
            if due:
                self._tick(now / 1e9, q, v, z, due, ticked)
                for path in due:
                    ticked[path] += 1
                    dues[path] = clocks[path].at(ticked[path]) + start  # type: ignore[union-attr]
            self._record(now / 1e9, q, v, z, times, rows)
            if now >= goal:
                break
            stop = min([goal, start + ((now - start) // step + 1) * step, *dues.values()])
            q, v, z = self._step(now / 1e9, (stop - now) / 1e9, q, v, z)
            now = stop
        made = {key: np.array(x) for key, x in rows.items()}
        return Recorded(self._system, np.array(times), made)

    def _tick(
        self, t: float, q: Array, v: Array, z: dict[str, Array], due: Sequence[str], ticked: dict[str, int]
    ) -> None:
        """y[k] = g(x[k], u[k]) in order, then x[k+1] = f(x[k], u[k]) of all at once."""
        V, updates = self.V, [x for path in due for x in self._updates[path]]
        wanted = {x for path in due for x in self._held[path]}.union(*(x.needs for x in updates))
        before, behind, accelerations = self._select(wanted, due)
        for name, streams in self._lanes.streams.items():
            path = name.rpartition(".")[0]
            if path in due:
                V[f"{name}:noise"] = np.array([x.at(ticked[path]) for x in streams])
        self._place(t, q, v, z)
        if accelerations:
            self._walk(self._stage[0])
        self._walk(before)
        if accelerations:
            self._accelerate(q, v)
            self._walk(behind)
        new = [x.call(V) for x in updates]
        for x, value in zip(updates, new, strict=True):
            require_numbers(value, x.key)
            V[x.key] = value

    def _record(
        self, t: float, q: Array, v: Array, z: dict[str, Array], times: list[float], rows: dict[str, list[Array]]
    ) -> None:
        require_numbers(np.array([x.sum() for x in (q, v, *z.values())]), "a state")
        before, behind, accelerations = self._at_end
        self._place(t, q, v, z)
        if accelerations:
            self._walk(self._stage[0])
        self._walk(before)
        if accelerations:
            self._accelerate(q, v)
            self._walk(behind)
        times.append(t)
        for key, some in rows.items():
            require_numbers(self.V[key], key)
            some.append(self.V[key])

    def _step(
        self, t: float, h: float, q: Array, v: Array, z: dict[str, Array]
    ) -> tuple[Array, Array, dict[str, Array]]:
        """A step of RK4 in the chart of its start (`sim.integrators.explicit`)."""
        space = self._space
        a, dz = self._slopes(t, q, v, z)
        slopes = [(v, space.straight(v, a), dz)]
        for c in (0.5, 0.5, 1.0):
            w, a, dz = slopes[-1]
            u, y = (c * h) * w, v + (c * h) * a
            qi = self._move(q, u)
            vi = space.velocity(qi, y, q)
            zi = {key: x + (c * h) * dz[key] for key, x in z.items()}
            ai, dzi = self._slopes(t + c * h, qi, vi, zi)
            slopes.append((self._rate(u, y, vi), space.velocity(q, space.straight(vi, ai), qi), dzi))
        weights = (h / 6.0, h / 3.0, h / 3.0, h / 6.0)
        u = np.asarray(sum(x * k[0] for x, k in zip(weights, slopes, strict=True)))
        y = np.asarray(v + sum(x * k[1] for x, k in zip(weights, slopes, strict=True)))
        z = {key: x + sum(b * k[2][key] for b, k in zip(weights, slopes, strict=True)) for key, x in z.items()}
        end = self._move(q, u)
        return end, space.velocity(end, y, q), z

    def _move(self, q: Array, u: Array) -> Array:
        for group, _ in self._space._turning:
            if ((u[:, group.v_index[:, :3]] ** 2).sum(axis=-1) > LARGEST_TURN**2).any():
                raise SimulationError("a hinge of a run in the batch turns too far within one step.")
        return self._space.move(q, u)

    def _rate(self, u: Array, y: Array, w: Array) -> Array:
        """Jr(u)^-1 w, hinge by hinge, as `Coordinates.rate`; y of the travel of what is free."""
        if self._space.flat:
            return w
        found = np.array(y)
        for group, _ in self._space._turning:
            for at in group.v_index[:, :3]:
                found[:, at] = turn_rates(u[:, at], w[:, at])
        return found


def turn_rates(u: Array, w: Array) -> Array:
    """`sim.integrators.manifold.turn_rate` of many, (n, 3)."""
    across = _cross(u, w)
    return np.asarray(w + 0.5 * across + _coefficients((u * u).sum(axis=-1))[:, None] * _cross(u, across))


def _coefficients(s: Array) -> Array:
    """(1 - (t/2) cot(t/2)) / t^2 as a function of s = t^2; below 1 by its series."""
    near, c = np.minimum(s, 1.0), np.zeros_like(s)
    for a in reversed(INVERSE_THIRD):
        c = c * near + a
    if (s < 1.0).all():
        return c
    far = np.maximum(s, 1.0)
    half = 0.5 * np.sqrt(far)
    return np.where(s < 1.0, c, (1.0 - half / np.tan(half)) / far)


def _cross(a: Array, b: Array) -> Array:
    """a x b, (n, 3), of many at once: numpy's own takes longer to begin."""
    out = np.empty(a.shape)
    (x, y, z), (p, q, r) = a.T, b.T
    out[:, 0], out[:, 1], out[:, 2] = y * r - z * q, z * p - x * r, x * q - y * p
    return out

"""Values of the signals of many runs at times and points; steps of RK4 from there.

A value has a leading axis of runs. `Values` hold what lasts from point to point (states of sampled components, outputs
that these hold, constants) and what was computed last. Some of the runs go on with a copy of theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft import dynamics as dyn
from soacraft.model.tree.frames.frame import Frame
from soacraft.sim.campaigns.batches.closures import closures_of
from soacraft.sim.campaigns.batches.equations import LaneEquations, Selection, read_equations
from soacraft.sim.campaigns.batches.lane_step import LaneStep, Point
from soacraft.sim.campaigns.batches.lanes import Lane, Lanes, Together, Values, require_numbers
from soacraft.sim.campaigns.batches.loads import LaneForces
from soacraft.sim.campaigns.measures import split
from soacraft.sim.integrators.manifold import Coordinates
from soacraft.sim.systems.frames import OF_FRAME
from soacraft.sim.systems.plants.inertias import OF_INERTIA
from soacraft.sim.systems.plants.plant import Plant
from soacraft.spatial.checks import Array


@dataclass(frozen=True)
class Evaluation:
    """Compiled system of a batch: nothing here changes while runs go on."""

    lanes: Lanes
    equations: LaneEquations
    plants: Sequence[Plant]
    space: Coordinates
    forces: LaneForces
    nodes: Sequence[tuple[str, str, Frame]]
    """Key, port and frame of each quantity of a node that is used."""
    stage: Selection
    """Outputs that slopes need,"""
    at_end: Selection
    """that are recorded, and that crossings and jumps need."""
    at_crossing: Selection

    def values(self) -> Values:
        """The values at the start."""
        lanes, system = self.lanes, self.lanes.system
        V: Values = {**lanes.constants, **{k: v.copy() for k, v in lanes.states.items()}}
        V |= {"t": 0.0, "runs": np.arange(lanes.count)}
        for key, signal in system.board.compiled().wiring.sources.items():  # what is held before the first tick
            path, _, port = key.partition(".")
            name, _, node = port.partition("[")
            if path in system.diagram.plants and name in OF_INERTIA:
                frame = system.diagram.plants[path].frame(node[:-1])
                V[key] = self.forces.models.inertia_at(name, frame, lanes.count)
            V.setdefault(key, np.zeros((lanes.count, *signal.shape), dtype=signal.dtype))
        return V

    def start(self, V: Values) -> Point:
        """The point at the start."""
        lanes = self.lanes
        q = np.concatenate([np.zeros((lanes.count, 0)), *(lanes.q[x.path] for x in self.plants)], axis=1)
        v = np.concatenate([np.zeros((lanes.count, 0)), *(lanes.v[x.path] for x in self.plants)], axis=1)
        return Point(q, v, {x.key: V[x.key] for x in self.equations.rates})

    def place(self, V: Values, t: Any, point: Point) -> None:
        """The values of a point, without those of equations."""
        q, v, z = point
        V["t"] = np.full(len(q), t) if self.equations.crossings and np.ndim(t) == 0 else t
        V.update(z)
        for x in self.plants:
            V[x.q], V[x.v] = q[:, x.seat.q], v[:, x.seat.v]
        if self.nodes:
            frames: list[Any] = [x for _, _, x in self.nodes]
            moved = dyn.node_motion(self.space.graph, q, v, np.zeros_like(v), frames, threads=1)
            for i, (key, port, _) in enumerate(self.nodes):
                V[key] = (
                    moved.translation[:, i]
                    if port == "position"
                    else moved.rotation[:, i]
                    if port == "rotation"
                    else moved.velocity[:, i, 3:]
                    if port == "velocity"
                    else moved.velocity[:, i, :3]
                )

    def accelerate(self, V: Values, t: Any, point: Point) -> Array:
        """The accelerations under all forces; those of components have been evaluated."""
        vdot = self.forces.accelerations(V, t, point)
        for x in self.plants:
            V[x.vdot] = vdot[:, x.seat.v]
        return vdot

    def evaluate(self, V: Values, t: Any, point: Point, selected: Selection) -> None:
        """All that is selected, at a point."""
        self.place(V, t, point)
        if selected.accelerations:
            walk(V, self.stage.before)
        walk(V, selected.before)
        if selected.accelerations:
            self.accelerate(V, t, point)
            walk(V, selected.behind)

    def step(self, V: Values, t: Any, h: Any, point: Point) -> LaneStep:
        """A step of length h from a point at t."""

        def slopes(t: Any, point: Point) -> tuple[Array, dict[str, Array]]:
            self.place(V, t, point)
            walk(V, self.stage.before)
            vdot = self.accelerate(V, t, point)
            walk(V, self.stage.behind)
            return vdot, {x.key: x.call(V) for x in self.equations.rates}

        return LaneStep(self.space, slopes, t, h, point, self.forces.settle)

    def margins(self, V: Values, t: Any, point: Point, going: npt.NDArray[np.bool_]) -> Array:
        """The functions of all crossings, (crossings, runs)."""
        self.evaluate(V, t, point, self.at_crossing)
        values = np.array([x.margin.call(V) for x in self.equations.crossings])
        require_numbers(values[:, going], "the function of a crossing")
        return values

    def tick(self, V: Values, t: float, point: Point, due: Sequence[str], counts: Mapping[str, int]) -> None:
        """y[k] = g(x[k], u[k]) in order, then x[k+1] = f(x[k], u[k]) of all at once."""
        equations = self.equations
        updates = [x for path in due for x in equations.updates[path]]
        wanted = {x for path in due for x in equations.held[path]}.union(*(x.needs for x in updates))
        for name, streams in self.lanes.streams.items():
            path = name.rpartition(".")[0]
            if path in due:
                V[f"{name}:noise"] = np.array([x.at(counts[path]) for x in streams])
        self.evaluate(V, t, point, equations.select(wanted, due))
        new = [x.call(V) for x in updates]
        for x, value in zip(updates, new, strict=True):
            require_numbers(value, x.key)
            V[x.key] = value

    def look(self, V: Values, t: float, point: Point, keys: Sequence[str]) -> None:
        """Have the values of what is recorded; refuse what is not finite."""
        require_numbers(np.array([x.sum() for x in (point.q, point.v, *point.z.values())]), "a state")
        self.evaluate(V, t, point, self.at_end)
        for key in keys:
            require_numbers(V[key], key)


def read_evaluation(lanes: Lanes, keys: Sequence[str], moved: bool = True) -> Evaluation:
    """The evaluation of a system of which some signals are recorded; `moved` is False where another moves its plants,
    so that accelerations are not computed here."""
    system, wiring = lanes.system, lanes.system.board.compiled().wiring
    joined, plants = system.board.compiled().joined, system.diagram.plants
    equations = read_equations(lanes)
    ports = [(key, *key.partition(".")[::2]) for key in sorted(wiring.sources)]
    nodes = [
        (key, port.partition("[")[0], plants[path].frame(port.partition("[")[2][:-1]))
        for key, path, port in ports
        if path in plants and port.partition("[")[0] in OF_FRAME
    ]
    of_crossings = [x for c in equations.crossings for x in (c.margin, *c.jumps)]
    return Evaluation(
        lanes,
        equations,
        [plants[x] for x in sorted(plants)],
        Coordinates(joined.mb),
        LaneForces(lanes, joined.mb, joined.loads if moved else (), closures_of(system) if moved else None),
        nodes,
        equations.select({x.link.source for x in wiring.contributions}.union(*(x.needs for x in equations.rates))),
        equations.select({split(system, x)[0] for x in keys}),
        equations.select(set().union(*(x.needs for x in of_crossings))),
    )


def walk(V: Values, lanes: Sequence[Lane]) -> None:
    """Call equations, one after the other."""
    for x in lanes:
        V[x.key] = x.call(V)


def values_of(V: Values, runs: npt.NDArray[np.intp]) -> Values:
    """The values of some of the runs."""
    return {
        key: x.of(runs) if isinstance(x, Together) else x[runs] if isinstance(x, np.ndarray) and x.ndim else x
        for key, x in V.items()
    }

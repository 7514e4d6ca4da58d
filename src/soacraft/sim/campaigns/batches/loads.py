"""Forces on the plants of many runs at once: of components, and of force elements whose force is a function of time and
state alone; the accelerations under them.

Drag is evaluated for all runs at once. A field of gravity is a function of the user's that takes one place, so that it
is called run by run. Elements that stick, lean or remember have one state, and go one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from soacraft import dynamics as dyn
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.campaigns.batches.closures import LaneClosures
from soacraft.sim.campaigns.batches.lane_step import Point, Settle
from soacraft.sim.campaigns.batches.lanes import Lanes, Values, linked
from soacraft.sim.campaigns.batches.models import LaneModels
from soacraft.sim.forces.elements import Drag
from soacraft.sim.forces.evaluation import States
from soacraft.sim.forces.gravity import GravityField
from soacraft.sim.forces.loads import Load
from soacraft.spatial.checks import Array

#: The generalized force of all runs, (runs, nv), at times and a point.
LaneForce = Callable[[Any, Point], Array]


class LaneForces:
    """All that accelerates the plants of some runs, which are the model `mb` together."""

    def __init__(self, lanes: Lanes, mb: Multibody, loads: Sequence[Load], closures: LaneClosures | None) -> None:
        plants, contributions = lanes.system.diagram.plants, lanes.system.board.compiled().wiring.contributions
        self._mb, self._loads, self._closures = mb, lane_forces(mb, loads), closures
        self.models = LaneModels(mb, plants, lanes.models)
        """The models of the runs."""
        self.settle: Settle | None = None if closures is None else closures.settle
        """Puts coordinates and velocities on closures."""
        self._of_dofs = [(x.push.number, linked(x.link)) for x in contributions if x.push.number is not None]
        rest = [x for x in contributions if x.push.number is None]
        self._of_plants = [(plants[x.plant].seat.v, linked(x.link)) for x in rest if x.push.node is None]
        self._at_nodes = [(x.push.node, linked(x.link)) for x in rest if x.push.node is not None]

    def accelerations(self, V: Values, t: Any, point: Point) -> Array:
        """vdot of the runs with these values, of which those of components have been evaluated."""
        q, v, _ = point
        force = np.zeros(v.shape)
        for load in self._loads:
            force += load(t, point)
        self.add(V, q, force)
        if self._closures is not None:
            return self._closures.accelerations(q, v, force)
        return self.models.accelerations(q, v, force, V["runs"]) if v.shape[1] else force

    def add(self, V: Values, q: Array, force: Array) -> None:
        """Add the forces of components, which have been evaluated, to those of each run."""
        for number, get in self._of_dofs:
            force[:, number] += get(V)
        for dofs, get in self._of_plants:
            force[:, dofs] += get(V)
        if self._at_nodes:
            force += self._pushed(V, q)

    def _pushed(self, V: Values, q: Array) -> Array:
        """J* f of forces at nodes."""
        total = np.zeros((len(q), self._mb.nv))
        for axes in ("inertial", "node"):
            some = [(x, get) for x, get in self._at_nodes if x[2] == (axes == "node")]
            if not some:
                continue
            J = dyn.jacobian(self._mb, q, [x[0] for x, _ in some], axes, threads=1)
            f = np.zeros((len(q), 6 * len(some)))
            for i, ((_, kind, _), get) in enumerate(some):
                rows = {"force": slice(6 * i + 3, 6 * i + 6), "moment": slice(6 * i, 6 * i + 3)}
                f[:, rows.get(kind, slice(6 * i, 6 * i + 6))] = get(V)
            total += np.matmul(f[:, None, :], J)[:, 0, :]
        return total


def obstacle_of_loads(loads: Sequence[Load], alone: bool, weighed: bool) -> str:
    """Reason why force elements of a plant end a batch; empty if they do not. `alone` is True for the only plant of a
    system, `weighed` where inertias of models vary."""
    for x in loads:
        if type(x) not in (Drag, GravityField):
            return f"has the force element {x.name!r}: batches know drag and fields of gravity"
        if not alone:
            return f"has the force element {x.name!r}, and is not the only plant"
        if type(x) is GravityField and weighed:
            return f"has the force element {x.name!r}, which takes the inertias of one model, and these vary"
    return ""


def lane_forces(mb: Multibody, loads: Sequence[Load]) -> list[LaneForce]:
    """The forces of elements, of all runs."""
    for x in loads:
        x.bind(mb)
    return [_drag(mb, x) if isinstance(x, Drag) else _by_run(mb, x) for x in loads]


def _drag(mb: Multibody, drag: Drag) -> LaneForce:
    """The wrench in axes of the node, at once."""
    node = drag.frame

    def force(t: Any, point: Point) -> Array:
        q, v, _ = point
        u = dyn.node_motion(mb, q, v, np.zeros_like(v), [node], "node", threads=1).velocity[:, 0]
        return np.asarray(dyn.compensating_force(mb, q, {node: drag.against(u)}, threads=1))

    return force


def _by_run(mb: Multibody, load: Load) -> LaneForce:
    states = States(mb)

    def force(t: Any, point: Point) -> Array:
        q, v, _ = point
        times = np.broadcast_to(t, len(q))
        rows = [load.force(float(s), states.of(a, b)) for s, a, b in zip(times, q, v, strict=True)]
        return np.array(rows).reshape(v.shape)

    return force

"""Force elements of a plant under many runs at once: those whose force is a function of time and state alone.

Drag is evaluated for all runs at once. A field of gravity is a function of the user's that takes one place, so that it
is called run by run. Elements that stick, lean or remember have one state, and go one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from soacraft import dynamics as dyn
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.campaigns.lane_step import Point
from soacraft.sim.forces.elements import Drag
from soacraft.sim.forces.evaluation import States
from soacraft.sim.forces.gravity import GravityField
from soacraft.sim.forces.loads import Load
from soacraft.spatial.checks import Array

#: The generalized force of all runs, (runs, nv), at times and a point.
LaneForce = Callable[[Any, Point], Array]


def obstacle_of_loads(loads: Sequence[Load], alone: bool, weighed: bool) -> str:
    """Why force elements of a plant end a batch; empty where they do not. `alone` is True for the only plant of a
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

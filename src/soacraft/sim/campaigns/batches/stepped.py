"""Runs with contact as a batch: one plant, moved by the compiled lanes of steppers under forces held between ticks.

Contact, and the force elements that compiled code knows, act as in a single run. The equations of components are
evaluated at ticks and for rows, for all runs at once; so what they push with must be constant from tick to tick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from soacraft.analysis.parametric.vocabulary import values_of
from soacraft.errors import CampaignError, SoacraftError
from soacraft.sim.campaigns.batches.equations import Ticks
from soacraft.sim.campaigns.batches.evaluation import read_evaluation
from soacraft.sim.campaigns.batches.lane_step import Point
from soacraft.sim.campaigns.batches.lanes import Lanes
from soacraft.sim.campaigns.batches.rows import Rows
from soacraft.sim.campaigns.measures import split
from soacraft.sim.campaigns.variations import is_argument, read_parameter, target_of
from soacraft.sim.clock import nanoseconds, positive_nanoseconds
from soacraft.sim.forces.contact import Contact
from soacraft.sim.forces.elements import Drag
from soacraft.sim.forces.friction import HingeFriction
from soacraft.sim.forces.gravity import GravityField
from soacraft.sim.forces.stops import JointLimit
from soacraft.sim.steppers.stepper import Stepper
from soacraft.sim.systems.stepper_inputs import Contents, propagator_of
from soacraft.sim.systems.system import System
from soacraft.spatial.checks import Array

#: Force elements whose force depends on time and state alone, or that compiled lanes carry along by themselves.
_ELEMENTS = (Contact, JointLimit, HingeFriction, Drag, GravityField)


def obstacle_to_steps(system: System, paths: Sequence[str], keys: Sequence[str], t: float) -> str:
    """Reason why runs with these signals are not those of a stepper; empty if they are."""
    why = _of_system(system) or _of_signals(system, keys) or _of_times(system, t)
    if why:
        return why
    targets = [target_of(system, x) for x in paths if not is_argument(x)]
    (mb,) = (x.mb for x in system.diagram.plants.values())
    values = {x.name: values_of((read_parameter(mb, x.name),)) for x in targets if x.kind == "model"}
    try:
        return _stepper(system, 1, values).obstacle
    except SoacraftError as wrong:
        return str(wrong).removesuffix(".")


def _of_system(system: System) -> str:
    plants, wiring = system.diagram.plants, system.board.compiled().wiring
    if len(plants) != 1:
        return f"it has {len(plants)} plants, and a stepper moves one"
    (plant,) = plants.values()
    other = next((x.name for x in plant.forces if type(x) not in _ELEMENTS), "")
    if other:
        return f"the plant {plant.path!r} has the force element {other!r}, which may keep a state of one run"
    for path, part in sorted(system.diagram.parts.items()):
        face = part.component.interface
        if face.crossings or face.rates:
            has = "crossings" if face.crossings else "continuous states"
            return f"{path!r} has {has}, and in batches with contact components act at ticks alone"
    if wiring.motions or wiring.masses:
        return "components prescribe a motion of its plant, or masses"
    key = next((x.link.source for x in wiring.contributions if _changes(system, x.link.source)), "")
    if key:
        return f"{key!r} acts on the plant and changes between ticks"
    at_node = next((x.name for x in wiring.contributions if x.push.node is not None), "")
    return f"{at_node!r} pushes at a node, and the forces of a stepper are those at dofs" if at_node else ""


def _changes(system: System, key: str) -> bool:
    """True if an output changes between ticks: it depends on time or on its plant, and is not held."""
    links, parts = system.board.compiled().wiring.links, system.diagram.parts
    path, _, port = key.partition(".")
    if path not in parts:
        return True
    face = parts[path].component.interface
    if parts[path].clock is not None:
        return False
    sources = [f"{path}.{x}" for x in face.outputs[port].arguments]
    sources = [links[x].source if x in links else x for x in sources]
    constant = {f"{path}.{x}" for x in (*face.inputs, *face.discrete, "p")}
    return any(x == f"{path}.t" or (x not in constant and _changes(system, x)) for x in sources)


def _of_signals(system: System, keys: Sequence[str]) -> str:
    (plant,) = system.diagram.plants.values()
    used = {split(system, key)[0] for key in keys}
    if plant.vdot in used | set(system.board.compiled().wiring.sources):
        return f"{plant.vdot!r} is used, and steps with contact have mean accelerations"
    return ""


def _of_times(system: System, t: float) -> str:
    how = system.board.how
    if how["step"] is None:
        return f"integrator {how['integrator']!r} chooses its steps"
    step = positive_nanoseconds(how["step"], "step")
    if (nanoseconds(t, "t") - system.board.start) % step:
        return "its runs do not end where a step does"
    clocks = {path: x.clock for path, x in sorted(system.diagram.parts.items()) if x.clock is not None}
    within = next((path for path, x in clocks.items() if x.offset % step or x.period % step), "")
    return f"{within!r} ticks within steps" if within else ""


def _stepper(system: System, count: int, parameters: Mapping[str, Array]) -> Stepper:
    """States of the plant of a system side by side, pushed at the dofs at which components push."""
    (plant,) = system.diagram.plants.values()
    board = system.board
    p = propagator_of(Contents(system.name, system.diagram, board.start / 1e9, board.how), plant)
    return p.stepper(_dofs(system), states=count, threads=1, parameters=parameters or None, on_error="keep")


def _dofs(system: System) -> list[str]:
    """Dofs of the plant at which components push."""
    (plant,) = system.diagram.plants.values()
    numbers = [x.push.number for x in system.board.compiled().wiring.contributions]
    names = list(plant.mb.dof_names)
    some = sorted(set(range(len(names))) if None in numbers else {x for x in numbers if x is not None})
    taken = next((names[i] for i in some if any(x.name == names[i] for x in plant.mb.actuators)), "")
    if taken:
        raise CampaignError(f"the dof {taken!r} has the name of an actuator: rename one of them.")
    return [names[i] for i in some]


def march_in_steps(lanes: Lanes, keys: Sequence[str], t: float) -> Rows:
    """Rows of the signals `keys` of all runs from the start to time t."""
    system, evaluation = lanes.system, read_evaluation(lanes, keys, moved=False)
    start, goal = system.board.start, nanoseconds(t, "t")
    rows = Rows(system, sorted({split(system, x)[0] for x in keys}), lanes.count)
    (plant,) = evaluation.plants
    step = _stepper(system, lanes.count, lanes.models.get(plant.path, {}))
    V = evaluation.values()
    first = evaluation.start(V)
    step.set_state(first.q, first.v)
    dofs = [plant.mb.dof_names.index(x) for x in step.names]
    ticks = Ticks(system, start)
    for now in range(start, goal + 1, positive_nanoseconds(system.board.how["step"], "step")):
        if now > start:
            step()
            for run, why in zip(*step.failed, strict=True):
                rows.leave([run], why)
        point = Point(step.q.copy(), step.v.copy(), {})
        if due := ticks.due(now):
            evaluation.tick(V, now / 1e9, point, due, ticks.counts)
            ticks.done(due)
        rows.extend([now / 1e9])
        evaluation.look(V, now / 1e9, point, rows.keys)
        rows.put(V["runs"], V)
        if not rows.going.any():
            break
        evaluation.evaluate(V, now / 1e9, point, evaluation.stage._replace(accelerations=False))
        force = np.zeros(point.v.shape)
        evaluation.forces.add(V, point.q, force)
        step.u[:] = force[:, dofs]
    return rows

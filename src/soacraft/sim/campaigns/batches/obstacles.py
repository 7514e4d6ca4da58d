"""Campaigns that march as batches, with how many runs at once; the reason why others go one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from soacraft.errors import SoacraftError
from soacraft.sim.campaigns.batches.closures import obstacle_of_closures
from soacraft.sim.campaigns.batches.loads import obstacle_of_loads
from soacraft.sim.campaigns.batches.models import LINEAR
from soacraft.sim.campaigns.batches.stepped import obstacle_to_steps
from soacraft.sim.campaigns.made import Made
from soacraft.sim.campaigns.measures import Measure, Series, split
from soacraft.sim.campaigns.source import Maker, Source
from soacraft.sim.campaigns.variations import Inputs, is_argument, read_parameter, target_of
from soacraft.sim.components.component import Component
from soacraft.sim.forces.contact import Contact
from soacraft.sim.integrators.manifold import Coordinates
from soacraft.sim.links.ports import Linked
from soacraft.sim.systems.frames import OF_FRAME
from soacraft.sim.systems.plants.inertias import OF_INERTIA
from soacraft.sim.systems.system import System

#: Quantities of nodes that batches compute.
_OF_NODE = (*list(OF_FRAME)[:4], *OF_INERTIA)
#: Runs of a batch, and bytes of what it records at most.
LARGEST, _MEMORY = 512, 2**29


def obstacle(system: System, paths: Sequence[str], measures: Sequence[Any]) -> str:
    """Reason why runs of a system are no batch of smooth motions; empty if they are one."""
    return _of_method(system) or _of_description(system, paths, measures) or _of_plants(system, paths)


def obstacle_of_batch(
    system: System, paths: Sequence[str], measures: Sequence[Any], keys: Sequence[str], t: float
) -> str:
    """Reason why runs to time t, of which some signals are recorded, go one by one; empty if they march as a batch, as
    smooth motions or in the steps of a stepper."""
    smooth = obstacle(system, paths, measures)
    if not smooth:
        return ""
    why = _of_description(system, paths, measures)
    if why:
        return smooth
    in_steps = obstacle_to_steps(system, paths, keys, t)
    touches = any(isinstance(load, Contact) for x in system.diagram.plants.values() for load in x.forces)
    return in_steps if touches or not in_steps else smooth


def _of_method(system: System) -> str:
    how = system.board.how
    if how["integrator"] != "rk4" or how["step"] is None:
        return f"integrator {how['integrator']!r}: batches take fixed steps of 'rk4'"
    return ""


def _of_description(system: System, paths: Sequence[str], measures: Sequence[Any]) -> str:
    if not all(isinstance(x, Measure) for x in measures):
        return "a measure is a function, which takes a single run"
    if system.diagram.tears:
        return f"the loop of {system.diagram.tears[0]!r} is solved by iteration"
    if system.diagram.frames or system.diagram.holds or system.board.build.changes or system.diagram.sequences:
        return "it has user frames, sequences, or its structure was changed"
    for path, part in sorted(system.diagram.parts.items()):
        if part.clock is None and _jumps(part.component, path, paths, system.board.start / 1e9):
            return f"{path!r} jumps between ticks, where steps end"
        if isinstance(part.component, Linked) or type(part.component).__module__.startswith("soacraft.sim.systems"):
            return f"{path!r} is no plain component"
    available = {f"{path}.{x}" for path, part in system.diagram.parts.items() for x in part.component.interface.outputs}
    available |= {f"{path}.{x}" for path in system.diagram.plants for x in ("q", "v", "vdot")}
    for key in sorted(system.board.compiled().wiring.sources):
        path, _, port = key.partition(".")
        if key not in available and (path not in system.diagram.plants or port.partition("[")[0] not in _OF_NODE):
            return f"{key!r} is used"
    return ""


def _of_plants(system: System, paths: Sequence[str]) -> str:
    weighed = any(not is_argument(x) and target_of(system, x).kind == "model" for x in paths)
    plants = system.diagram.plants
    for path, plant in sorted(plants.items()):
        why = _of_plant(plant) or obstacle_of_loads(plant.forces, len(plants) == 1, weighed)
        if why:
            return f"the plant {path!r} {why}"
    if why := obstacle_of_closures(system):
        return why
    if weighed and any(x.mb.is_closed or x.mb.layout.flexible for x in plants.values()):
        return "a parameter of a model with loops or flexible bodies varies"
    if motions := system.board.compiled().wiring.motions:
        return f"the motion of {min(motions)!r} is given"
    if system.board.compiled().wiring.masses:
        return "masses of bodies are given"
    for path in paths:
        if is_argument(path):
            continue
        target = target_of(system, path)
        if (
            target.kind == "model"
            and read_parameter(system.diagram.plants[target.key].mb, target.name).kind not in LINEAR
        ):
            return f"{path!r} places a body or node: batches vary inertias, armature, damping and stiffness of models"
    return ""


def obstacle_of_arguments(source: Source, inputs: Inputs) -> str:
    """Reason why systems that a function makes from other arguments are not one system with other numbers."""
    if not isinstance(source, Maker) or not any(is_argument(x) for x in inputs.paths):
        return ""
    try:
        Made(source, inputs)
    except SoacraftError as wrong:
        return f"{str(wrong).removesuffix('.')}; parameters vary by their paths, as 'motor.R' or 'arm.forearm.mass'"
    return ""


def _jumps(component: Component, path: str, paths: Sequence[str], start: float) -> bool:
    """True if a component jumps by itself after a start, or might where its parameters are drawn."""
    if type(component).breaks is Component.breaks:
        return False
    return any(x.startswith(f"{path}.") for x in paths) or any(t > start for t in component.breaks(component.p))


def _of_plant(plant: Any) -> str:
    mb = plant.mb
    if mb.acting_forces:
        return "has forces of mb.set_force"
    return "" if Coordinates(mb).is_group else "has hinges that roll, or of your own"


def size_of(system: System, t: float, series: Sequence[Series]) -> int:
    """Number of runs that march together: fewer where they record much. It depends on the campaign alone."""
    step = system.board.how["step"]
    assert isinstance(step, float)
    rates = [1.0 / x.clock.seconds for x in system.diagram.parts.values() if x.clock is not None]
    rows = (t - system.board.start / 1e9) * (1.0 / step + sum(rates)) + 2.0
    width = sum(_width(system, x.key) for x in series if x.key != "t") + 1
    size = LARGEST
    while size > 8 and rows * width * size * 8.0 > _MEMORY:
        size //= 2
    return size


def _width(system: System, key: str) -> int:
    base = split(system, key)[0]
    path, _, port = base.partition(".")
    if path in system.diagram.plants:
        return (
            system.diagram.plants[path].mb.nq
            if port == "q"
            else system.diagram.plants[path].mb.nv
            if port in ("v", "vdot")
            else 9
        )
    part = system.diagram.parts.get(path)
    if part is None or port not in part.component.interface.quantities:
        return 1  # it is refused with its name afterwards
    return int(np.prod(part.signal(port).shape))

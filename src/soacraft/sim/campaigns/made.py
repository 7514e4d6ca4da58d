"""Systems that a function makes from other arguments, as one system and the numbers in which they differ.

A batch has one system. Runs whose systems differ in parameters and first states of components, in first states of
plants, and in inertias, armature, damping and stiffness of their models are runs of that system with other numbers. All
else must be the same; what differs otherwise is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from soacraft.analysis.parametric.vocabulary import PER_DOF, TEN, read_parameters, values_of
from soacraft.errors import CampaignError, SoacraftError
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.parts.properties import Passive
from soacraft.sim.campaigns.source import Maker
from soacraft.sim.campaigns.variations import Inputs, arguments_of, is_argument, target_of
from soacraft.sim.components.component import Component
from soacraft.sim.systems.description import describe
from soacraft.sim.systems.system import System
from soacraft.spatial.checks import Array

#: Parts of the distributions of arguments at which it is seen what they change.
PROBES = (0.1, 0.3, 0.7, 0.9)


class Numbers(NamedTuple):
    """The numbers of a system that may differ from run to run."""

    params: dict[tuple[str, str], Any]
    """Parameters of components that are numbers or tuples of them, by component and name,"""
    starts: dict[str, Any]
    """first states of components,"""
    states: dict[str, tuple[Array, Array]]
    """first q and v of plants,"""
    models: dict[tuple[str, str], float]
    """and parameters of their models, by plant and name."""


def numbers_of(system: System) -> Numbers:
    """The numbers of a system, which has not run."""
    diagram = system.diagram
    params = {
        (path, name): value
        for path, part in diagram.parts.items()
        for name in type(part.component.p).__struct_fields__
        if _is_number(value := getattr(part.component.p, name))
    }
    starts = {key: np.array(x, dtype=float).tolist() for key, x in diagram.starts.items()}
    states = {path: (np.array(x.mb.q), np.array(x.mb.v)) for path, x in diagram.plants.items()}
    models: dict[tuple[str, str], float] = {}
    for path, plant in diagram.plants.items():
        parameters = read_parameters("a campaign", plant.mb, _names(plant.mb))
        models |= {(path, x.name): float(value) for x, value in zip(parameters, values_of(parameters), strict=True)}
    return Numbers(params, starts, states, models)


def require_same(base: System, other: System, argument: str) -> None:
    """Raise where a system is another one than in its numbers. Inertias, armature, dampers, springs and states of the
    other become those of the base: it is of no use afterwards."""
    if more := sorted(base.diagram.parts.keys() ^ other.diagram.parts.keys()):
        raise CampaignError(f"{argument!r} makes other components than those of the system: {more[0]!r}.")
    for path, part in base.diagram.parts.items():
        if type(other.diagram.parts[path].component) is not type(part.component):
            raise CampaignError(f"{argument!r} makes another component of {path!r}.")
        if "interface" in vars(part.component):
            raise CampaignError(f"{path!r} is more than its parameters, and {argument!r} may change it.")
    if any(x.forces for x in base.diagram.plants.values()):
        raise CampaignError(f"{argument!r} may change force elements of a plant.")
    if base.diagram.plants.keys() != other.diagram.plants.keys():
        raise CampaignError(f"{argument!r} makes other plants.")
    for path, plant in base.diagram.plants.items():
        if plant.mb is other.diagram.plants[path].mb:
            raise CampaignError(f"systems share the model of {path!r}: make a new one for each.")
        _lend(plant.mb, other.diagram.plants[path].mb, argument)
    try:
        a, b = (msgspec.to_builtins(describe(x)) for x in (base, other))
    except SoacraftError as wrong:
        raise CampaignError(f"{argument!r} may change what is no plain data: {wrong}") from None
    for key in a | b:
        x, y = a.get(key), b.get(key)
        if key == "parts":
            x, y = _without_numbers(base, a[key]), _without_numbers(other, b[key])
        elif key == "starts":
            x, y = sorted(x or {}), sorted(y or {})
        if x != y:
            raise CampaignError(f"{argument!r} changes the {key} of the system by more than numbers.")


def _lend(mb: Multibody, other: Multibody, argument: str) -> None:
    if [x.name for x in mb.bodies] != [x.name for x in other.bodies]:
        raise CampaignError(f"{argument!r} makes another tree of {mb.name!r}.")
    for a, b in zip(mb.bodies, other.bodies, strict=True):
        if a.hinge != b.hinge:
            raise CampaignError(f"{argument!r} makes another hinge of {a.name!r}.")
        b.inertia, b.armature = a.inertia, a.armature
        one, two = a.passive, b.passive
        b.passive = Passive(stiffness=one.stiffness, damping=one.damping, friction=two.friction, rest=two.rest)
    if other.acting_forces:
        raise CampaignError(f"{argument!r} may change forces of mb.set_force of {mb.name!r}.")
    other.set_state(mb.q, mb.v)


def _without_numbers(system: System, parts: Mapping[str, Any]) -> dict[str, Any]:
    without = {}
    for path, data in parts.items():
        p = system.diagram.parts[path].component.p
        params = {k: (np.shape(x) if _is_number(getattr(p, k)) else x) for k, x in data.get("params", {}).items()}
        without[path] = {**data, "params": params}
    return without


def _is_number(value: Any) -> bool:
    """True for a number that is no whole one, and for tuples of them: what may vary without another structure."""
    if isinstance(value, tuple):
        return bool(value) and all(isinstance(x, float) for x in value)
    return isinstance(value, float)


def _names(mb: Multibody) -> list[str]:
    inertial = [f"{body.name}.inertia" for body in mb.bodies if body.modal is None]
    return inertial + [f"{body.hinge_name}.{kind}" for body in mb.bodies if body.hinge.nv for kind in PER_DOF]


def differing(base: Numbers, others: Sequence[Numbers]) -> set[tuple[str, Any]]:
    """Differences between systems: ("params", key), ("starts", key), ("states", plant) or ("models", key)."""
    differences: set[tuple[str, Any]] = set()
    for other in others:
        for kind in ("params", "starts", "models"):
            one, two = getattr(base, kind), getattr(other, kind)
            differences |= {(kind, key) for key in one.keys() | two.keys() if one.get(key) != two.get(key)}
        differences |= {
            ("states", path) for path, x in base.states.items() if not all(map(np.array_equal, x, other.states[path]))
        }
    return differences


def widened(found: set[tuple[str, Any]]) -> set[tuple[str, Any]]:
    """Differences, where one of the ten parameters of a body brings all of them."""
    more = {
        ("models", (plant, f"{name.rpartition('.')[0]}.{x}"))
        for kind, (plant, name) in (x for x in found if x[0] == "models")
        if name.rpartition(".")[2] in TEN
        for x in TEN
    }
    return found | more


class Columns(NamedTuple):
    """Numbers of the systems of several runs, a row for each."""

    params: dict[tuple[str, str], list[Any]]
    starts: dict[str, Array]
    states: dict[str, tuple[Array, Array]]
    models: dict[str, dict[str, Array]]


class Made:
    """Systems of a function: the one that all runs have, of the medians of the arguments, and what differs from it.
    This is seen from a few more values of the arguments, which depend on no run."""

    def __init__(self, source: Maker, inputs: Inputs) -> None:
        self._source, self._paths = source, inputs.paths
        self.system = source.make(**arguments_of(inputs.paths, inputs.at(0.5).tolist()))
        self._base = numbers_of(self.system)
        others = [self._other(inputs.at(u)) for u in PROBES]
        self._differ = widened(differing(self._base, others))
        for path in (key[0] for kind, key in self._differ if kind == "params"):
            if type(self.system.diagram.parts[path].component).breaks is not Component.breaks:
                raise CampaignError(f"{self._argument!r} changes {path!r}, which jumps between ticks, where steps end.")
        both = next((x for x in inputs.paths if not is_argument(x) and target_of(self.system, x).kind == "model"), "")
        if both and any(kind == "models" for kind, _ in self._differ):
            raise CampaignError(f"{both!r} and {self._argument!r} both vary a model: vary it by paths alone.")

    @property
    def _argument(self) -> str:
        return next(x for x in self._paths if is_argument(x))

    def _other(self, values: Array) -> Numbers:
        other = self._source.make(**arguments_of(self._paths, values.tolist()))
        numbers = numbers_of(other)
        require_same(self.system, other, self._argument)
        return numbers

    def columns(self, values: Array) -> Columns:
        """The numbers of runs with these values, (runs, paths)."""
        rows = [self._other(x) for x in values]
        if more := differing(self._base, rows) - self._differ:
            raise CampaignError(f"{self._argument!r} changes {sorted(map(str, more))[0]} in some runs alone.")
        keys = {kind: sorted(key for k, key in self._differ if k == kind) for kind in Numbers._fields}
        models: dict[str, dict[str, Array]] = {}
        for plant, name in keys["models"]:
            models.setdefault(plant, {})[name] = np.array([x.models[plant, name] for x in rows])
        return Columns(
            {key: [x.params[key] for x in rows] for key in keys["params"]},
            {key: np.array([x.starts[key] for x in rows]) for key in keys["starts"]},
            {p: (np.array([x.states[p][0] for x in rows]), np.array([x.states[p][1] for x in rows]))
             for p in keys["states"]},
            models,
        )  # fmt: skip

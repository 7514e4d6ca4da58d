"""Environments of a system that a stepper knows as a whole: one plant, and forces at its dofs that are actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import SoacraftError, WiringError
from soacraft.sim.clock import positive_nanoseconds
from soacraft.sim.links.observations import Observation, observations
from soacraft.sim.links.stepped import Driven
from soacraft.sim.links.system_source import SystemSource
from soacraft.sim.steppers.stepper import Stepper
from soacraft.sim.systems.system import System
from soacraft.spatial.checks import Array


class Reduced(NamedTuple):
    """A system as the motion of its plant: what makes its steppers, and what is observed of them."""

    driven: Driven
    observe: Callable[[Stepper], list[Observation]]
    plant: str


def reduced(source: SystemSource) -> Reduced | str:
    """The motion that a system is; or why its environments are runs of it."""
    system = source.bare(0)
    others = [x for x in source.observed if x.partition(".")[0] not in system.plants]
    if others:
        return f"{others[0]!r} is observed, which runs have"
    try:
        p, inputs, controls = system.driven(source.actions)
        step = p.stepper(controls)
    except SoacraftError as why:
        return getattr(why, "reason", str(why))
    if step.obstacle or not step.is_autonomous:
        return step.obstacle or "what acts depends on the time"
    if source.every % positive_nanoseconds(step.period, "step"):
        return f"the period of {source.every / 1e9:g} s is no multiple of the step"
    make = partial(p.stepper, controls, period=source.every / 1e9, labels=inputs)
    driven = Driven(make, source.low, source.high, source.every)
    (plant,) = system.plants
    return Reduced(driven, partial(_observe, observed=source.observed), plant)


def _observe(step: Stepper, observed: Sequence[str]) -> list[Observation]:
    """Observations of the plant, with the names of its ports."""
    observed_values = observations(step, [x.partition(".")[2] for x in observed])
    return [x._replace(name=name) for x, name in zip(observed_values, observed, strict=True)]


class SystemStarts:
    """Starts of environments of a system: `begin(system, generator)` puts its plant there."""

    def __init__(self, source: SystemSource, plant: str, begin: Callable[[System, np.random.Generator], Any]) -> None:
        self._source, self._plant, self._begin = source, plant, begin

    def __call__(self, which: Sequence[int], generators: Sequence[np.random.Generator]) -> tuple[Array, Array]:
        """q and v, a row for each of `which`."""
        pairs = [self._start(generators[i]) for i in which]
        return np.array([q for q, _ in pairs]), np.array([v for _, v in pairs])

    def _start(self, generator: np.random.Generator) -> tuple[Array, Array]:
        system = self._source.bare(int(generator.integers(2**63)))
        before = self._fixed(system)
        self._begin(system, generator)
        changed = next((x for x, y in self._fixed(system).items() if y != before[x]), "")
        if changed:
            raise WiringError(
                f"begin changed {changed}, which environments on steppers share: give batch=False, so that each is "
                "a separate system."
            )
        mb = system.plants[self._plant].mb
        return np.array(mb.q), np.array(mb.v)

    def _fixed(self, system: System) -> dict[str, Any]:
        """Values that a start must not change."""
        mb = system.plants[self._plant].mb
        fixed = {f"the model of {self._plant!r}": (mb.version, mb.parameters), "mb.set_force": dict(mb.acting_forces)}
        return fixed | {f"the parameter {x!r}": y for x, y in system.params.items()}

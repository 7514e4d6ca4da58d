"""Masses of bodies that signals give: which bodies take one, and which numbers are masses.

They are read at the start of a run and at the ends of steps, after ticks (`sim.system.Mechanism.weighed`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from soacraft.errors import SimulationError, WiringError, near

if TYPE_CHECKING:
    from soacraft.sim.systems.plants.plant import Plant


def weighed(plant: Plant, at: str | None) -> str:
    """The name of a body whose mass is given; refused where that cannot be."""
    owner = plant._owner
    if at is None:
        raise WiringError(f"{plant.path}.mass is of a body: write {plant.path}.mass[tank].")
    names = [x.name for x in plant.mb.bodies]
    if at not in names:
        raise WiringError(f"the plant {plant.path!r} has no body {at!r:.60}{near(at, names, 'it has')}")
    if owner is not None and len(owner._plants) > 1:
        raise WiringError(f"{plant.path}.mass[{at}] is known in a system of one plant: mb.add_model(other).")
    if owner is not None and owner._how["integrator"] not in ("rk4", "moreau"):
        raise WiringError(
            f"{plant.path}.mass[{at}] changes at the ends of steps, so these are fixed: integrator='rk4' or "
            f"'moreau', not {owner._how['integrator']!r}."
        )
    if plant.mb[at].modal is not None or not plant.mb[at].inertia.mass > 0.0:
        raise WiringError(f"{plant.path}.mass[{at}]: the body is flexible or has no mass, which could be scaled.")
    return at


def require_masses(given: Mapping[str, float], t: float) -> None:
    """Raise `SimulationError` for a number that is no mass."""
    for body, mass in given.items():
        if not (mass > 0.0 and np.isfinite(mass)):
            raise SimulationError(
                f"the mass of {body!r} was given as {mass:.9g} kg at t = {t:.9g} s; it must be positive: end what "
                "takes it away before, or limit it by a sim.Saturation."
            )

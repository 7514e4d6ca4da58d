"""Masses of bodies that signals give: which bodies take one, and which numbers are masses.

They are read wherever a motion is evaluated, at every stage of a step (`sim.system.Mechanism.place`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from soacraft.errors import SimulationError, WiringError, near

if TYPE_CHECKING:
    from soacraft.sim.systems.plants.plant import Plant


def weighed(plant: Plant, at: str | None) -> str:
    """The name, in the model that is moved, of a body whose mass is given; refused where that cannot be."""
    owner = plant.owner
    if at is None:
        raise WiringError(f"{plant.path}.mass is of a body: write {plant.path}.mass[tank].")
    names = [x.name for x in plant.mb.bodies]
    if at not in names:
        raise WiringError(f"the plant {plant.path!r} has no body {at!r:.60}{near(at, names, 'it has')}")
    if owner is not None and owner.board.how["integrator"] == "cvode":
        raise WiringError(
            f"{plant.path}.mass[{at}]: 'cvode' goes on from the history of its steps, to which the work of masses that "
            "vary cannot be added; use integrator='radau', 'dop853', 'gauss6', 'gauss4', 'rk4' or 'moreau'."
        )
    if plant.mb[at].modal is not None or not plant.mb[at].inertia.mass > 0.0:
        raise WiringError(f"{plant.path}.mass[{at}]: the body is flexible or has no mass, which could be scaled.")
    return f"{plant.seat.prefix}{at}"


def require_masses(given: Mapping[str, float], t: float) -> None:
    """Raise `SimulationError` for a number that is no mass."""
    for body, mass in given.items():
        if not (mass > 0.0 and np.isfinite(mass)):
            raise SimulationError(
                f"the mass of {body!r} was given as {mass:.9g} kg at t = {t:.9g} s; it must be positive: end what "
                "takes it away before, or limit it by a sim.Saturation."
            )

"""Parts of a problem for compiled steps: prescribed and held dofs, loads that may hold, the solver of closures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from soacraft.sim.carried import CompiledCarried
from soacraft.sim.closed import Chain
from soacraft.sim.forces.compiled_holds import CompiledHolds, compiled_holds
from soacraft.sim.forces.compiled_prescribed import (
    NUMBERS,
    REST,
    CompiledPrescribed,
    Guide,
    compiled_prescribed,
    guides_of,
)
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.sim.system import Mechanism

#: Held dofs whose compliance has a smaller part of its largest one are tied to each other by closures, or nearly so.
_LOOSE = 1e-6


def prescribed_of(problem: Mechanism, carried: CompiledCarried | None = None) -> CompiledPrescribed | None:
    """The prescribed and held dofs for compiled steps, which walk through `carried`; None where motions follow from
    forces alone."""
    if not problem.constrained:
        return None
    names = problem.mb.dof_names
    slots = {} if carried is None else {names.index(dof): slot for dof, slot in carried.motions.items()}
    guides = guides_of(problem.prescribed.guides, slots)
    for x in problem.holds.active:
        held = REST if x.guide is None else NUMBERS
        load = problem.description.loads.index(x)
        guides.append(Guide(x.number, x.place, load, held, numbers=x.guide or (0.0, 0.0, 0.0)))
    return compiled_prescribed(sorted(guides, key=lambda x: x.dof), problem.prescribes)


def chain_of(problem: Mechanism, q: Array, v: Array) -> Chain | None:
    """The solver of a closed chain for compiled steps; None of a tree, and where Python must look first: closures
    tie dofs that are held to each other, or nearly so."""
    if not problem.is_closed:
        return None
    held = [x.number for x in problem.holds.active]
    dofs = sorted([*held, *problem.prescribed_dofs])
    if held:
        Y = problem.compliance(q)[np.ix_(dofs, dofs)]
        size = np.sqrt(np.maximum(np.diag(Y), np.finfo(float).tiny))
        values = np.linalg.eigvalsh(Y / size / size[:, None])
        if values[0] <= _LOOSE * values[-1]:
            return None
    return problem.closures.chain(q, v, dofs)


def holds_of(problem: Mechanism) -> CompiledHolds | None:
    """The loads that may hold a dof, for compiled steps; None where there are none."""
    holds = problem.holds.all
    return compiled_holds(holds, [problem.description.loads.index(x) for x in holds]) if holds else None

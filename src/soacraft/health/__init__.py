"""`check`: a health report of a model, with names, values and cures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from soacraft.errors import ModelError, SoacraftError
from soacraft.health import couplings, masses, modes, motion, names, properties, ties
from soacraft.health.report import Finding, HealthReport
from soacraft.model import Graph, Multibody, SubGraph
from soacraft.model.hinges import HINGES

__all__ = ["CHECKS", "Finding", "HealthReport", "check"]

#: Checks in order: a name, and a function that yields findings on a graph.
CHECKS: dict[str, Callable[[Graph], Iterator[Finding]]] = {
    "tree": names.check_tree,
    "names": names.check_names,
    "masses": masses.check_masses,
    "moments": masses.check_moments,
    "units": masses.check_units,
    "gravity": masses.check_gravity,
    "limits": properties.check_limits,
    "springs": properties.check_springs,
    "modes": modes.check_modes,
    "own hinges": properties.check_own_hinges,
    "records": names.check_records,
    "import": names.check_import,
    "loops and couplings": ties.check_ties,
    "dependent couplings": couplings.check_couplings,
    "hinge inertias": motion.check_hinge_inertias,
    "mass matrix": motion.check_mass_matrix,
    "power": motion.check_power,
}


def check(mb: Multibody | SubGraph) -> HealthReport:
    """A health report of a model or a sub-graph: faults and probable mistakes, with values and cures. O(n).

    It looks at masses and moments, units, names, limits, springs, modes of flexible bodies, hinges of your own,
    closures and couplings, hinge inertias, the mass matrix (up to 400 dofs) and the balance of power at a random state.
    The model is not changed.

    >>> from soacraft.model import serial_chain
    >>> mb = serial_chain(2)
    >>> check(mb).ok
    True
    >>> from soacraft.model.hinges import Pin
    >>> tip = mb.add_body("flag", "link2", Pin((0, 0, 1)))
    >>> check(mb)
    'chain': 1 error, 0 warnings, 0 notes
    error  hinge 'flag'  0  has no inertia to move; give mass or moment to its body or to one outboard of it, ...
    """
    if not isinstance(mb, Graph):
        raise ModelError(f"check takes a Multibody or a sub-graph of one, got {mb!r:.60}.")
    findings: list[Finding] = []
    hinges = [body.hinge for body in mb.bodies] + [loop.hinge for loop in mb.loops]
    custom = any(type(hinge) not in HINGES for hinge in hinges)
    with np.errstate(all="ignore"):
        for name, look in CHECKS.items():
            try:
                findings.extend(look(mb))
            except Exception as problem:
                if not (custom or isinstance(problem, SoacraftError | ArithmeticError | np.linalg.LinAlgError)):
                    raise  # our own mistake must not pass for the model's
                findings.append(_failed(name, problem))
    return HealthReport(mb.name, findings)


def _failed(name: str, problem: Exception) -> Finding:
    kind: Any = type(problem).__name__
    text = f"the check of it ended with {kind}: {str(problem).rstrip('.')}"
    return Finding("error", name, kind, text, "correct what it names, then check again")


def __dir__() -> list[str]:
    return __all__

"""Models whose couplings are their only ties (mimic joints, gears): the functions of dynamics answer for them too.

A coupling makes one dof follow others, v = X(q) v_i, so no rows are left once the followers are eliminated. The
functions keep the sizes of the tree. Accelerations are those of all dofs; forces and mass matrices are expressed along
the independent dofs, X* T and X* Mcal X, with zeros at the followers: T = Mcal vdot + C holds for every vdot that
agrees with the couplings (`loops.coupled` computes them, by constraint embedding).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from soacraft.late import higher
from soacraft.model.tree.graph import Graph

P = ParamSpec("P")
R = TypeVar("R")

#: Functions that work with couplings; all others of dynamics refuse them or are right with them.
ANSWERED = frozenset(
    "inverse_dynamics forward_dynamics mixed_dynamics bias_force gravity_force interbody_forces compensating_force "
    "mass_matrix mass_matrix_inverse mass_matrix_multiply mass_matrix_solve log_det_mass_matrix composite_inertia "
    "operational_space_compliance operational_space_inertia inverse_dynamics_derivatives "
    "forward_dynamics_derivatives".split()
)


def is_coupled(g: Any, ignore_loops: Any = False) -> bool:
    """True if couplings, and no loops, tie the dofs of a graph, and are not to be ignored."""
    asked = isinstance(ignore_loops, bool | np.bool_) and not ignore_loops
    return asked and isinstance(g, Graph) and g.is_closed and not any(x.active for x in g.loops)


def with_couplings(function: Callable[P, R]) -> Callable[P, R]:
    """The function, and for models that only couplings tie what `loops.coupled` has for it."""
    name = function.__name__
    if name not in ANSWERED:
        return function

    @wraps(function)
    def answered(*args: P.args, **kwargs: P.kwargs) -> R:
        if args and is_coupled(args[0], kwargs.get("ignore_loops", False)):
            result: R = higher("coupled_dynamics")(function, *args, **kwargs)
            return result
        return function(*args, **kwargs)

    return answered

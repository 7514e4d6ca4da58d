"""The reference engine: every dynamics function in Python, on the recursions of the papers, batches side by side.

It is right for every hinge, tree and sub-graph, and is what compiled kernels are compared with. One algorithm, one
file; each is a function of a `Problem`. Add one to `ALGORITHMS` and it can be called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from soacraft.dynamics.delivery import not_finite, refuse_large_work
from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference import (
    accelerations,
    composite,
    derivatives,
    energy,
    forward,
    gradients,
    inverse,
    jacobian,
    mixed,
    momentum,
    operational_space,
    passive,
    poses,
)
from soacraft.errors import SingularError, StateError

__all__ = ["ALGORITHMS", "REFERENCE", "Reference"]

ALGORITHMS: dict[str, Callable[[Problem], Any]] = {
    "inverse_dynamics": inverse.inverse_dynamics,
    "bias_force": inverse.bias_force,
    "gravity_force": inverse.gravity_force,
    "interbody_forces": inverse.interbody_forces,
    "compensating_force": inverse.compensating_force,
    "passive_force": passive.passive_force,
    "passive_energy": passive.passive_energy,
    "mass_matrix_multiply": inverse.mass_matrix_multiply,
    "forward_dynamics": forward.forward_dynamics,
    "mass_matrix_solve": forward.mass_matrix_solve,
    "mass_matrix_inverse": forward.mass_matrix_inverse,
    "log_det_mass_matrix": forward.log_det_mass_matrix,
    "mixed_dynamics": mixed.mixed_dynamics,
    "mass_matrix": composite.mass_matrix,
    "composite_inertia": composite.composite_inertia,
    "poses": poses.poses,
    "velocities": accelerations.velocities,
    "accelerations": accelerations.accelerations,
    "jacobian": jacobian.jacobian,
    "jacobian_dot_v": jacobian.jacobian_dot_v,
    "operational_space_compliance": operational_space.operational_space_compliance,
    "operational_space_inertia": operational_space.operational_space_inertia,
    "kinetic_energy": energy.kinetic_energy,
    "potential_energy": energy.potential_energy,
    "center_of_mass": momentum.center_of_mass,
    "momentum": momentum.momentum,
    "centroidal_momentum_matrix": momentum.centroidal_momentum_matrix,
    "mass_matrix_gradient": gradients.mass_matrix_gradient,
    "coriolis_matrix": gradients.coriolis_matrix,
    "log_det_gradient": gradients.log_det_gradient,
    "inverse_dynamics_derivatives": derivatives.inverse_dynamics_derivatives,
    "forward_dynamics_derivatives": derivatives.forward_dynamics_derivatives,
}


class Reference:
    """Runs the algorithm a problem names. Overflow is left to run its course, and then refused."""

    def run(self, p: Problem) -> tuple[Any, ...]:
        """The results, each with leading axes that broadcast to the batch."""
        refuse_large_work(p)
        with np.errstate(all="ignore"):
            try:
                found = ALGORITHMS[p.function](p)
            except (SingularError, StateError, np.linalg.LinAlgError) as problem:
                if _overflowed(p, problem):
                    cause = problem if isinstance(problem, StateError) else None
                    raise not_finite(p, cause=cause) from None
                if isinstance(problem, SingularError | StateError):
                    raise
                raise SingularError(f"{p.function} of {p.graph.name!r}: {problem}.") from None
        return found if isinstance(found, tuple) else (found,)


def _overflowed(p: Problem, problem: Exception) -> bool:
    """Whether an error came of numbers that overflow on the way."""
    try:
        return not composite.finite(p) or (isinstance(problem, StateError) and "overflow" in str(problem))
    except StateError:
        return True


REFERENCE = Reference()


def __dir__() -> list[str]:
    return __all__

"""Analyses on top of the dynamics: linearization, operational space, gradients, regressors, other coordinates."""

from typing import TYPE_CHECKING

from soacraft.analysis.diagonalize import Diagonalized, diagonalize
from soacraft.analysis.equilibrium import Equilibrium, equilibrium
from soacraft.analysis.gradients import (
    christoffel,
    coriolis_matrix,
    fixman_force,
    fixman_potential,
    log_det_gradient,
    mass_matrix_gradient,
)
from soacraft.analysis.identification.identify import Identified, identify
from soacraft.analysis.linearize import Linearization, linearize
from soacraft.analysis.manipulability import Manipulability, jacobian_gradient, manipulability, measures
from soacraft.analysis.modes import Modes, modes
from soacraft.analysis.operational_space import OperationalSpace, operational_space
from soacraft.analysis.parametric.derivatives import parameter_derivatives
from soacraft.analysis.parametric.optimize import Optimum, optimize
from soacraft.analysis.parametric.vocabulary import set_parameters
from soacraft.analysis.regressor import (
    BaseParameters,
    Regressor,
    base_parameters,
    forward_dynamics_sensitivity,
    parameter_names,
    parameter_regressor,
    parameters,
)
from soacraft.analysis.reroot import reroot
from soacraft.analysis.underactuated import (
    Underactuated,
    disturbance_jacobian,
    generalized_jacobian,
    underactuated,
)
from soacraft.dynamics.inertias import log_det_mass_matrix
from soacraft.hints import lookup

__all__ = [
    "BaseParameters",
    "Diagonalized",
    "Equilibrium",
    "Identified",
    "Linearization",
    "Manipulability",
    "Modes",
    "OperationalSpace",
    "Optimum",
    "Regressor",
    "Underactuated",
    "base_parameters",
    "christoffel",
    "coriolis_matrix",
    "diagonalize",
    "disturbance_jacobian",
    "equilibrium",
    "fixman_force",
    "fixman_potential",
    "forward_dynamics_sensitivity",
    "generalized_jacobian",
    "identify",
    "jacobian_gradient",
    "linearize",
    "log_det_gradient",
    "log_det_mass_matrix",
    "manipulability",
    "mass_matrix_gradient",
    "measures",
    "modes",
    "operational_space",
    "optimize",
    "parameter_derivatives",
    "parameter_names",
    "parameter_regressor",
    "parameters",
    "reroot",
    "set_parameters",
    "underactuated",
]


if not TYPE_CHECKING:
    __getattr__ = lookup(__name__, __all__)


def __dir__() -> list[str]:
    return __all__

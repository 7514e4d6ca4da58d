"""Integrators and their names."""

from __future__ import annotations

from soacraft.errors import StateError, near
from soacraft.sim.clock import positive_nanoseconds
from soacraft.sim.integrators.cvode import Cvode
from soacraft.sim.integrators.explicit import RK4, Dop853
from soacraft.sim.integrators.gauss import Gauss4, Gauss6
from soacraft.sim.integrators.generalized_alpha import GeneralizedAlpha
from soacraft.sim.integrators.ida import Ida
from soacraft.sim.integrators.moreau import Moreau
from soacraft.sim.integrators.moreau_midpoint import MoreauMidpoint
from soacraft.sim.integrators.partitioned import EulerSymplectic, Verlet
from soacraft.sim.integrators.radau import Radau
from soacraft.sim.integrators.steps import Method
from soacraft.sim.integrators.sundials import Sundials
from soacraft.sim.integrators.variational import Variational, Variational4

_ADAPTIVE: tuple[type[Method], ...] = (Dop853, Radau, Cvode, Ida)
_FIXED: tuple[type[Method], ...] = (
    RK4, EulerSymplectic, Verlet, Variational, Variational4, Gauss4, Gauss6, Moreau, MoreauMidpoint,
)  # fmt: skip
_EITHER: tuple[type[Method], ...] = (GeneralizedAlpha,)
METHODS = {x.name: x for x in _ADAPTIVE + _FIXED + _EITHER}


def read_max_step(max_step: float | None, method: Method) -> int | None:
    """The longest step that is allowed, in nanoseconds; None where the error alone tells.

    >>> read_max_step(0.5, find_method("dop853"))
    500000000
    """
    if max_step is None:
        return None
    if not method.adaptive:
        raise StateError(f"max_step= bounds the steps of an adaptive method; those of {method.name!r} are step= long.")
    return positive_nanoseconds(max_step, "max_step")


def find_method(name: str, rtol: float = 1e-9, fixed: bool = False, rho_inf: float | None = None) -> Method:
    """A method by its name; implicit ones solve to a part of the tolerance. `fixed`: a step is given, which
    generalized-alpha then takes; `rho_inf` is its spectral radius.

    >>> find_method("rk4")
    rk4 (order 4, fixed step)
    """
    if not isinstance(name, str) or name not in METHODS:
        raise StateError(f"there is no integrator {name!r:.60}{near(str(name), METHODS)}")
    method = METHODS[name]
    if method is GeneralizedAlpha:
        return GeneralizedAlpha(rtol, 0.8 if rho_inf is None else rho_inf, not fixed)
    if rho_inf is not None:
        raise StateError(f"rho_inf is of integrator='generalized_alpha', not of {name!r}; leave it out.")
    return method(rtol) if issubclass(method, Radau | Sundials) else method()

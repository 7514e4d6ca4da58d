"""The integrators by name."""

from __future__ import annotations

from soacraft.errors import StateError, near
from soacraft.sim.integrators.cvode import Cvode
from soacraft.sim.integrators.explicit import RK4, Dop853
from soacraft.sim.integrators.gauss import Gauss4, Gauss6
from soacraft.sim.integrators.partitioned import EulerSymplectic, Verlet
from soacraft.sim.integrators.radau import Radau
from soacraft.sim.integrators.steps import Method
from soacraft.sim.integrators.sundials import Sundials
from soacraft.sim.integrators.variational import Variational, Variational4

_ADAPTIVE: tuple[type[Method], ...] = (Dop853, Radau, Cvode)
_FIXED: tuple[type[Method], ...] = (RK4, EulerSymplectic, Verlet, Variational, Variational4, Gauss4, Gauss6)
METHODS = {x.name: x for x in _ADAPTIVE + _FIXED}


def find_method(name: str, rtol: float = 1e-9) -> Method:
    """A method by its name; implicit ones solve to a part of the tolerance.

    >>> find_method("rk4")
    rk4 (order 4, fixed step)
    """
    if name not in METHODS:
        raise StateError(f"there is no integrator {name!r:.60}{near(str(name), METHODS)}")
    method = METHODS[name]
    return method(rtol) if issubclass(method, Radau | Sundials) else method()

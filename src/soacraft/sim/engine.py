"""Engine of the steps of a motion: compiled code, or Python, with the reason. One function decides for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from soacraft.kinematics.compiled import rows_of
from soacraft.model.flat.compiled import CompiledModel, passive_in_python
from soacraft.model.sizes.measure import constant_measure_of
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.closed import rolling_closure
from soacraft.sim.compiled import METHODS
from soacraft.sim.forces.contact_element import Touching
from soacraft.sim.forces.drives import Control
from soacraft.sim.forces.push import Push
from soacraft.sim.integrators.explicit import RK4, Dop853
from soacraft.sim.integrators.gauss import Gauss4, Gauss6
from soacraft.sim.integrators.moreau import Moreau
from soacraft.sim.integrators.moreau_midpoint import MoreauMidpoint
from soacraft.sim.integrators.partitioned import EulerSymplectic, Verlet
from soacraft.sim.integrators.steps import Method
from soacraft.sim.integrators.variational import Variational
from soacraft.sim.problem.run_problem import RunProblem

#: Methods whose compiled steps carry components along.
_CARRYING = (RK4, Dop853, Gauss4, Gauss6, Moreau)
#: Methods whose compiled steps prescribe motions, and hold dofs.
_PRESCRIBING = (RK4, Dop853, EulerSymplectic, Verlet, Gauss4, Gauss6)
#: Calls into Python that a text lists.
_LISTED = 6


class Engine(NamedTuple):
    """Engine of steps: compiled where there is no `reason` for Python; `calls` are what compiled steps call in Python.

    >>> str(Engine()), str(Engine("'radau' is written in Python")), str(Engine(calls=("'wind'",)))
    ('compiled, many in one call', "one by one in Python, since 'radau' is written in Python", \
"compiled, many in one call, which call Python for 'wind'")
    """

    reason: str = ""
    calls: tuple[str, ...] = ()

    @property
    def obstacle_alone(self) -> str:
        """The reason against compiled steps that call no Python, as those of rollouts; empty where there is none."""
        return self.reason or (f"{self.calls[0]} is a function" if self.calls else "")

    def __str__(self) -> str:
        if self.reason:
            return f"one by one in Python, since {self.reason}"
        if not self.calls:
            return "compiled, many in one call"
        more = f" and {len(self.calls) - _LISTED} more" if len(self.calls) > _LISTED else ""
        return f"compiled, many in one call, which call Python for {', '.join(self.calls[:_LISTED])}{more}"


def engine_of(problem: RunProblem, method: Method, events: Sequence[str] = ()) -> Engine:
    """Return the engine of the steps of a problem by a method. `events` are the names of what is looked for in each
    step."""
    components, loads = problem.components, problem.loads
    crossings = [name for name, _ in components.crossings]
    functions = [name for name in events if name not in crossings]
    jumps = components.is_empty and any(x.jumps and x.ns for x in problem.breaks)
    reason = (
        _obstacle(problem, method)
        or problem.closures.obstacle
        or ("a function has breaks" if jumps else "")
        or (f"event {functions[0]!r} is looked for in each" if functions and not components.is_empty else "")
    )
    calls = [f"{x.name!r}" for x in loads if not (isinstance(x, Control | Push) or getattr(x, "switches", False))]
    calls += [f"the control of {x.name!r}" for x in loads if isinstance(x, Control) and x.samples is None]
    calls += [f"the motion of {name!r}" for name in problem.prescribed.functions(components)]
    calls += [f"the function of event {name!r}" for name in functions]
    return Engine(reason, tuple(calls))


def model_obstacle(mb: Multibody, flexible: bool = False) -> str:
    """Return why steps of a model are not compiled, or nothing. `flexible`: flexible bodies may be there."""
    if not mb.nv:
        return "it has no dofs"
    for body in mb.bodies:
        if not body.hinge.holonomic:
            return f"{body.hinge_name!r} rolls"
        if body.gravity_compensation:
            return f"{body.name!r} has gravity compensation"
    if mb.layout.flexible and not flexible:
        return f"{mb.bodies[mb.layout.flexible[0]].name!r} is flexible"
    if CompiledModel.any_of(mb.layout) is None:
        return "it has a hinge of your own"
    return "it has springs that compiled code does not know" if passive_in_python(mb.layout) else ""


def _obstacle(problem: RunProblem, method: Method) -> str:
    mb, components, touches = problem.model, problem.components, problem.contact.touches
    if type(method) not in METHODS:
        return f"{method.name!r} is written in Python"
    if not components.is_empty:
        if type(method) not in _CARRYING:
            return f"components are carried along by {method.name!r}"
        if components.obstacle or not mb.nv:
            return components.obstacle
    if method.touches and not touches:
        return "nothing touches"
    if isinstance(method, MoreauMidpoint) and mb.is_closed:
        return f"{method.name!r} on a closed chain is written in Python"
    rolls = rolling_closure(mb)
    if isinstance(method, Variational) and rolls:
        return f"{rolls!r} rolls, which {method.name!r} does not take"
    for load in problem.loads:
        if isinstance(load, Push):
            if load.wrenches:
                return "a push acts"
            continue
        switches, smooth = getattr(load, "switches", False), type(method) in _PRESCRIBING
        if isinstance(load, Touching) or (switches and not touches and (rolls or not smooth)):
            return f"{load.name!r} is a {type(load).__name__}"
    if problem.contact.obstacle:
        return problem.contact.obstacle
    prescribes = type(method) in _PRESCRIBING or (isinstance(method, Moreau) and not mb.is_closed)
    if problem.prescribed.dofs and (rolls or not prescribes):
        return "a motion is prescribed"
    if mb.is_closed and rows_of(mb) is None:
        return "a hinge of its tree or of its loops is not known to compiled code"
    if constant_measure_of(mb).length <= 0.0:
        return "its lengths depend on its state"
    return model_obstacle(mb, flexible=not isinstance(method, Variational))

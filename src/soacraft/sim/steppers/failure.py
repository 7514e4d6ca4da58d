"""Errors of states that cannot go on."""

from __future__ import annotations

from soacraft.errors import SimulationError, SoacraftError
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.integrators.steps import Method
from soacraft.sim.stability import Stiff, limit
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import Array


def failure_of(
    mb: Multibody,
    problem: Mechanism,
    method: Method,
    step: int | None,
    at: tuple[float, Array, tuple[Array, Array]],
    number: int | None,
    cause: SoacraftError,
) -> SimulationError:
    """Return the error of a state, `number` of a batch, that stays where it was. `at` are its time, its point, and q
    and v of the first one."""
    t, x, start = at
    whose = "the stepper" if number is None else f"state {number} of the stepper"
    why = str(cause)
    if not method.adaptive and mb.nv and not isinstance(cause, Stiff):
        points = x, problem.point(*start)  # of the first one numbers may be too large
        limits = [limit(method, problem, t, y, (step or 0) / 1e9) for y in points]
        why += next((f" {x[0].upper()}{x[1:]}" for x in limits if x), "")
    which = "" if number is None else f", which={number}"
    error = SimulationError(
        f"{whose} of {mb.name!r} stopped at t = {t:.9g} s: {why} It is where it was; give it another state "
        f"with step.set_state(q, v{which})."
    )
    error.t = t
    return error

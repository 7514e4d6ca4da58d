"""Efforts of motors: by dof, from the limits of hinges and of actuators, or from the user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import StateError, near
from soacraft.model.states.coordinates import in_graph_order
from soacraft.model.states.dof_sets import Held, actuated_dofs, driven_dofs
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.studies.study import Flags
from soacraft.sim.forces.drives import Law, unknown_law
from soacraft.spatial.checks import Array, finite


class Efforts(NamedTuple):
    """The least and the largest generalized force of each dof (nv), infinite where nothing is known; and whether there
    is a motor at all."""

    lower: Array
    upper: Array
    motors: Flags

    def part(self, force: Array) -> Array:
        """Used part of a motor's effort, (..., nv): 1 at the limit; infinite where it has none and must push."""
        force = np.asarray(force, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(force >= 0.0, force / self.upper, force / self.lower)
        return np.asarray(np.where(force == 0.0, 0.0, part))


def efforts_of(mb: Multibody, wanted: Any = None, held: Held | None = None) -> Efforts:
    """Limits of force by dof: `limits.effort` of the hinges and, where a single actuator drives a dof, the range of its
    force. `wanted` takes their place: a number, one for each dof, or {dof: number or (lower, upper)} for some.

    Actuated dofs have motors (`model.states.dof_sets`), `held` being what the robot holds; in a closed chain without
    actuators those that `wanted` names.

    >>> import soacraft as sc
    >>> efforts_of(sc.load("panda")).upper
    array([87., 87., 87., 87., 12., 12., 12.])
    """
    names, layout = mb.dof_names, mb.layout
    lower, upper = np.full(mb.nv, -np.inf), np.full(mb.nv, np.inf)
    motors = actuated_dofs(mb, held=held or {})
    for body, v in zip(layout.bodies, layout.hinge_v, strict=True):
        effort = np.asarray(body.limits.effort)
        lower[v], upper[v] = -effort, effort
    if mb.is_closed and not driven_dofs(mb).any():
        motors[:] = False
    by_dof: dict[int, list[Any]] = {}
    for actuator in mb.actuators:
        driven = [names.index(x) for x in actuator.gears if x in names]
        for i in driven:
            by_dof.setdefault(i, []).append(actuator)
    for i, of_dof in by_dof.items():
        if len(of_dof) == 1 and len(of_dof[0].gears) == 1 and not unknown_law(of_dof[0]):
            lower[i], upper[i] = _cut(Law(mb, of_dof[0]), i, lower[i], upper[i])
    if wanted is not None:
        _replace(mb, wanted, lower, upper, motors)
    return Efforts(lower, upper, motors)


def _cut(law: Law, i: int, lower: float, upper: float) -> tuple[float, float]:
    """The range of an actuator's force on a dof, within the limits of its hinge."""
    gain, b0, b1, b2, least_u, most_u, least, most = law.numbers
    low, high = float(least), float(most)
    if b1 == 0.0 and b2 == 0.0:  # a motor: its force is a matter of its control alone
        ends = sorted((gain * least_u + b0, gain * most_u + b0))
        low, high = max(low, float(ends[0])), min(high, float(ends[1]))
    gear = float(law.row[i])
    low, high = sorted((gear * low, gear * high))
    return max(low, lower), min(high, upper)


def _replace(mb: Multibody, wanted: Any, lower: Array, upper: Array, motors: Flags) -> None:
    if not isinstance(wanted, Mapping):
        what = f"efforts of {mb.name!r}"
        size = finite(in_graph_order(mb, wanted, what), (...,), what, StateError)
        if size.shape not in ((), (mb.nv,)):
            raise StateError(f"efforts of {mb.name!r} are one number, {mb.nv}, or a mapping; got {size.shape}.")
        if (size < 0.0).any():
            raise StateError(f"efforts of {mb.name!r} must not be negative, got {size.min():g}.")
        size = np.broadcast_to(size, (mb.nv,))
        upper[motors], lower[motors] = size[motors], -size[motors]
        return
    for name, value in wanted.items():
        if name not in mb.dof_names:
            raise StateError(f"{mb.name!r} has no dof {name!r:.60}{near(str(name), mb.dof_names)}")
        i = mb.dof_names.index(name)
        x = finite(value, (...,), f"the effort of {name!r}", StateError)
        if x.shape not in ((), (2,)):
            raise StateError(f"the effort of {name!r} is one number, or (lower, upper); got {value!r:.60}.")
        low, high = (-float(x), float(x)) if x.shape == () else (float(x[0]), float(x[1]))
        if low > 0.0 or high < 0.0:
            raise StateError(f"the effort of {name!r} must have zero in its range, got {low:g} to {high:g}.")
        lower[i], upper[i], motors[i] = low, high, True

"""Limits of joints: stops that give way as springs do, or rigid ones with restitution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft.errors import ModelError, SimulationError, StateError
from soacraft.model.sizes.measure import measure_of
from soacraft.model.states.state import State
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.forces.compiled_holds import HoldLaw
from soacraft.sim.forces.elements import not_negative
from soacraft.sim.forces.prescribed import find_hinge_dof
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.wrench import Wrench

if TYPE_CHECKING:
    from soacraft.sim.system import Mechanism

#: A dof this near to a rigid stop touches it, in radians or lengths of the model: rounding of its place.
_TOUCHES = 1e-11
#: A dof this far beyond a rigid stop has passed it, in radians or lengths of the model.
_PASSED = 1e-6


class JointLimit:
    """A stop at the limits of a dof, rigid, or compliant where it has a `stiffness`.

    A compliant one, beyond its limit by x and moving out at speed s, pushes back with

        stiffness x (1 + damping s),   never pulling                                        (Hunt and Crossley 1975)

    At a rigid one a dof that arrives with speed s leaves with `restitution` times s (Newton), by an impulse on all of
    the model; a hop too low to see ends in rest. There it leans on the stop until it would have to be pulled. Arrivals
    and departures are events of the run. `lower` and `upper` are by default those of the hinge (`body.limits`).

    >>> import soacraft as sc
    >>> mb = sc.load("pendulum")
    >>> stop = JointLimit("bob", stiffness=1000.0, lower=-1.0, upper=1.0)
    >>> stop.bind(mb)
    >>> stop.force(0.0, mb.state([1.01], [0.0])).round(9)
    array([-10.])
    """

    def __init__(
        self,
        hinge: str,
        stiffness: float | None = None,
        damping: float = 0.0,
        lower: float | None = None,
        upper: float | None = None,
        restitution: float = 0.0,
    ) -> None:
        self.hinge, self.name = hinge, f"limit of {hinge}"
        self._stiffness = None if stiffness is None else not_negative(stiffness, f"stiffness of the {self.name}")
        self._damping = not_negative(damping, f"damping of the {self.name}")
        self.restitution = not_negative(restitution, f"restitution of the {self.name}")
        if self.restitution > 1.0:
            raise StateError(f"restitution of the {self.name} must be between 0 and 1, got {self.restitution:g}.")
        if self._stiffness is None and self._damping:
            raise StateError(f"damping of the {self.name} needs a stiffness; a rigid stop has restitution=.")
        if self._stiffness is not None and self.restitution:
            raise StateError(f"restitution of the {self.name} is that of a rigid stop; leave stiffness= out.")
        self._given = _limit(lower, f"lower of the {self.name}"), _limit(upper, f"upper of the {self.name}")
        self.side = 0
        """Side of the rigid stop on which the dof leans: 1 at the upper one, -1 at the lower one, 0 if it is free."""
        self._touching = 0

    def bind(self, mb: Multibody) -> None:
        """Find the dof and its limits."""
        self._mb = mb
        self.number, self.place, body, at = find_hinge_dof(mb, self.hinge, "a limit")
        limits = body.limits.lower[at], body.limits.upper[at]
        self._lower, self._upper = (float(x if y is None else y) for x, y in zip(limits, self._given, strict=True))
        if not (np.isfinite(self._lower) or np.isfinite(self._upper)):
            raise ModelError(f"dof {self.hinge!r} of {mb.name!r} has no limits; give JointLimit(..., lower=, upper=).")
        if not self._lower < self._upper:
            raise ModelError(f"the {self.name} must have lower < upper, got {self._lower:g} and {self._upper:g}.")
        if self.switches and self._upper - self._lower < 1e3 * _TOUCHES * self.unit(mb.q):
            raise ModelError(
                f"the {self.name} leaves no room between {self._lower:.17g} and {self._upper:.17g}: prescribe the dof, "
                "or use a Weld."
            )

    def force(self, t: float, state: State) -> Array:
        """The generalized force of a compliant stop; what a rigid one pushes with, the mechanism computes."""
        total = np.zeros(state.v.shape[-1])
        if self._stiffness is None:
            return total
        q, v = state.q[self.place], state.v[self.number]
        for depth, speed, way in ((q - self._upper, v, -1.0), (self._lower - q, -v, 1.0)):
            if depth > 0.0:
                total[self.number] += way * max(self._stiffness * depth * (1.0 + self._damping * speed), 0.0)
        return total

    def wrenches(self, t: float, state: State) -> Mapping[Any, Wrench]:
        """None on nodes: it acts through the hinge."""
        return {}

    # -- a rigid stop ------------------------------------------------------------------------------------------------

    @property
    def switches(self) -> bool:
        """True if it is rigid: then it holds a dof or does not."""
        return self._stiffness is None

    @property
    def mode(self) -> float:
        """The side on which the dof leans."""
        return self.side

    @mode.setter
    def mode(self, side: float) -> None:
        self.side = int(side)

    @property
    def sticks(self) -> bool:
        """True if the dof leans on it now."""
        return self.side != 0

    @property
    def bounds(self) -> tuple[float, float]:
        """The forces with which it can hold: it pushes."""
        return (-np.inf, 0.0) if self.side > 0 else (0.0, np.inf)

    def margin(self, problem: Mechanism, t: float, state: State) -> float:
        """Function that falls through zero when it arrives (how far it is away) or departs (how much it is pushed)."""
        if self.side:
            return -self.side * problem.held_by(self, t, state)
        return float(min(self._upper - state.q[self.place], state.q[self.place] - self._lower))

    @property
    def law(self) -> HoldLaw:
        """Numbers of the stop for compiled steps."""
        return HoldLaw(True, self._lower, self._upper)

    @property
    def guide(self) -> tuple[float, float, float] | None:
        """Coordinate, rate and acceleration of a dof that leans on it."""
        return self._upper if self.side > 0 else self._lower, 0.0, 0.0

    def impose(self, q: Array, v: Array) -> None:
        """Put a dof that leans on it there, at rest."""
        q[self.place], v[self.number] = self._upper if self.side > 0 else self._lower, 0.0

    def touched(self, q: Array) -> int:
        """The side at which it is touched: 1, -1, or 0."""
        near = _TOUCHES * self.unit(q)
        return int(q[self.place] >= self._upper - near) - int(q[self.place] <= self._lower + near)

    def nearer(self, q: Array) -> int:
        """The side that is nearer: 1 or -1."""
        return 1 if self._upper - q[self.place] < q[self.place] - self._lower else -1

    def require_inside(self, q: Array) -> None:
        """Raise where a run would begin beyond a rigid stop."""
        x = float(q[self.place])
        beyond = max(x - self._upper, self._lower - x)
        if beyond > 1e3 * _TOUCHES * self.unit(q):
            raise StateError(
                f"dof {self.hinge!r} is at {x:.9g}, beyond the {self.name} by {beyond:.3g}, where a rigid stop cannot "
                f"be: begin between {self._lower:g} and {self._upper:g}, or give the stop a stiffness."
            )

    def require_kept(self, q: Array, is_prescribed: bool = False) -> None:
        """Raise where a step has ended beyond a rigid stop: by hops between several that were too short to be seen, or
        by a prescribed motion."""
        x = float(q[self.place])
        beyond = max(x - self._upper, self._lower - x)
        if beyond > 0.0 and beyond > _PASSED * self.unit(q):
            if is_prescribed:
                raise SimulationError(
                    f"the motion that is prescribed for dof {self.hinge!r} leads beyond the {self.name} by "
                    f"{beyond:.3g}: prescribe one between {self._lower:g} and {self._upper:g}, or leave the stop out."
                )
            raise SimulationError(
                f"dof {self.hinge!r} has passed the {self.name} by {beyond:.3g} unseen, by hops short next to a step. "
                "Give the stops restitution=0, or a stiffness."
            )

    def is_hop(self, q: Array, v: Array, vdot: Array, height: float) -> bool:
        """True if a dof that leaves would be back after less than a height, in radians or lengths of the model."""
        fall = self.touched(q) * float(vdot[self.number])
        return fall > 0.0 and float(v[self.number]) ** 2 < 2.0 * fall * height * self.unit(q)

    def take(self, q: Array, v: Array) -> None:
        """Lean on it at rest, where it is touched."""
        self._touching = self.touched(q)
        self.side = self._touching if v[self.number] == 0.0 else 0

    def excess(self, force: float) -> float:
        """Positive where it would have to pull, or has nothing to hold."""
        return 1.0 if self.side * force >= 0.0 else -1.0

    def release(self, force: float) -> None:
        """Let the dof go."""
        self.side = 0

    def runs_back(self, v: Array, vdot: Array, small: float) -> bool:
        """True if a dof at rest on it, let go because it was pulled by what others held then, is drawn into it."""
        resting = not self.side and v[self.number] == 0.0
        return resting and self._touching * float(vdot[self.number]) > small

    def unit(self, q: Array) -> float:
        """A radian, or the length of the model."""
        return float(1.0 / measure_of(self._mb, q).dofs[self.number])


def _limit(given: Any, what: str) -> float | None:
    """A number, infinite where there is none on that side; None for that of the hinge."""
    if given is None:
        return None
    if isinstance(given, float | np.floating) and np.isinf(given):
        return float(given)
    return float(finite(given, (), what, StateError))

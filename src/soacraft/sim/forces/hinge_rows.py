"""Limits and dry friction of single dofs as rows of the contact problem: those of hinges, and those of loads.

    a stop       u_n+ >= -2 gap/h of what comes near,  u_n+ >= -e u_n- of what strikes,  p_n >= 0
    friction     |p| <= coulomb h, against the motion

A rigid `JointLimit` and a `HingeFriction` that sticks feel the impulses of a `Contact` next to them only as such rows:
in smooth steps they begin and end to hold at instants. A load takes the place of what the hinge of its dof says itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from soacraft.errors import ModelError, StateError
from soacraft.model.hinges.base import has_coordinates
from soacraft.model.states.state import State
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.forces.drives import Control
from soacraft.sim.forces.friction import HingeFriction
from soacraft.sim.forces.loads import Load
from soacraft.sim.forces.prescribed import find_hinge_dof
from soacraft.sim.forces.stops import JointLimit
from soacraft.spatial.checks import Array


class Stop(NamedTuple):
    """A dof with limits, and with a coordinate."""

    number: int
    place: int
    """The place of its coordinate in q."""
    lower: float
    upper: float
    name: str
    restitution: float = 0.0
    load: int = -1
    """The number of the load that stops it; -1 of the limits of its hinge."""

    def bounces(self, v: Array, v_free: Array, sign: float) -> float:
        """The speed at which it is struck times the restitution, zero or negative, from velocities before a step and at
        its smooth end: what approaches no faster than forces make it in one step rests. `sign`: 1 of the lower limit,
        -1 of the upper one."""
        approach = sign * float(v[self.number])
        change = sign * float(v_free[self.number]) - approach
        return self.restitution * approach if approach < 0.0 and abs(approach) > abs(change) else 0.0


class Rub(NamedTuple):
    """A dof with dry friction."""

    number: int
    force: float
    name: str
    load: int = -1
    """The number of the load that rubs; -1 of the friction of its hinge."""


class HingeRow(Control):
    """A rigid stop, or friction that sticks, next to a `Contact`: what it presses with are impulses of the contact
    problem. Viscous friction acts as the law of an actuator with b2 = -viscous, and is implicit where it is fast."""

    def __init__(self, load: JointLimit | HingeFriction, mb: Multibody) -> None:
        super().__init__(load.name, 0.0)
        self.hinge, self._numbers = load.hinge, load.law
        self._restitution = load.restitution if isinstance(load, JointLimit) else 0.0
        self.bind(mb)

    def bind(self, mb: Multibody) -> None:
        """Find the dof."""
        self.dof, self.place, _, _ = find_hinge_dof(mb, self.hinge, self.name)
        self._row, self._nq, self._law = np.eye(mb.nv)[self.dof], mb.nq, None

    @property
    def is_number(self) -> bool:
        """False: nobody drives it."""
        return False

    @property
    def law(self) -> Array:
        """Gain, b0, b1, b2, and the limits of control and force, (8)."""
        return np.array([0.0, 0.0, 0.0, -self._numbers.viscous, -np.inf, np.inf, -np.inf, np.inf])

    def uncut(self, t: float, state: State) -> float:
        """Viscous friction."""
        return -self._numbers.viscous * float(state.v[self.dof])

    def force(self, t: float, state: State) -> Array:
        """The generalized force of viscous friction."""
        return self._row * self.uncut(t, state)

    def stop(self, load: int) -> Stop | None:
        """The stop of a load of this number; None of friction."""
        law = self._numbers
        if not law.stops:
            return None
        return Stop(self.dof, self.place, law.lower, law.upper, self.hinge, self._restitution, load)

    def rub(self, load: int) -> Rub | None:
        """The friction of a load of this number; None of a stop."""
        return None if self._numbers.stops else Rub(self.dof, self._numbers.coulomb, self.hinge, load)


class HingeRows(NamedTuple):
    """Rows that loads bring, and the dofs whose own limits and friction they take the place of."""

    stops: tuple[Stop, ...] = ()
    rubs: tuple[Rub, ...] = ()
    rubbed: frozenset[int] = frozenset()
    """Dofs whose friction an element has, which may be a smooth one."""

    @classmethod
    def of(cls, loads: Sequence[Load]) -> HingeRows:
        """The rows of loads, by their numbers."""
        rows = [(i, x) for i, x in enumerate(loads) if isinstance(x, HingeRow)]
        stops = [stop for i, x in rows if (stop := x.stop(i)) is not None]
        rubs = [rub for i, x in rows if (rub := x.rub(i)) is not None]
        smooth = [x.number for x in loads if isinstance(x, HingeFriction)]
        return cls(tuple(stops), tuple(rubs), frozenset([*smooth, *(x.number for x in rubs)]))

    def all_stops(self, of_hinges: Sequence[Stop]) -> list[Stop]:
        """These stops and those of hinges of other dofs."""
        dofs = {x.number for x in self.stops}
        return [*(x for x in of_hinges if x.number not in dofs), *self.stops]

    def all_rubs(self, of_hinges: Sequence[Rub]) -> list[Rub]:
        """These frictions and those of hinges of other dofs."""
        return [*(x for x in of_hinges if x.number not in self.rubbed), *self.rubs]

    @property
    def places(self) -> list[tuple[int, int]]:
        """The load and the dof of each row, stops first."""
        return [*((x.load, x.number) for x in self.stops), *((x.load, x.number) for x in self.rubs)]


def as_hinge_rows(loads: Sequence[Load], mb: Multibody) -> list[Load]:
    """Loads next to a contact: those that would hold a dof for a while as `HingeRow`s, the others as they are."""
    return [HingeRow(cast(Any, x), mb) if getattr(x, "switches", False) else x for x in loads]


def require_rows(loads: Sequence[Load], simultaneous: bool) -> None:
    """Raise for what cannot be a row of the contact problem. `simultaneous`: impacts of one instant are, with the
    restitution of Newton."""
    for x in loads:
        if not getattr(x, "switches", False):
            continue
        if isinstance(x, HingeFriction) and x.static != x.coulomb:
            raise StateError(
                f"the {x.name} has static={x.static:g} and coulomb={x.coulomb:g}, and friction next to sim.Contact is "
                "a row of the contact problem, with one number: give HingeFriction(..., coulomb=, static=) the same, "
                "or HingeFriction(..., smooth=)."
            )
        if isinstance(x, JointLimit) and x.restitution and not simultaneous:
            raise StateError(
                f"the {x.name} has restitution={x.restitution:g}, which impacts='sequential' and law='poisson' do not "
                "know at stops of hinges: give sim.Contact(law='energy') or 'newton', or JointLimit without "
                "restitution."
            )


def limits_of(mb: Multibody) -> list[Stop]:
    """The limits of hinges."""
    stops = []
    for number, body in enumerate(mb.bodies):
        lower, upper = body.limits.lower, body.limits.upper
        if len(lower) == 0 or not (np.isfinite(lower).any() or np.isfinite(upper).any()):
            continue
        if not has_coordinates(body.hinge):
            raise ModelError(
                f"hinge {body.hinge_name!r} has limits, and is a {type(body.hinge).__name__}: only limits of single "
                "coordinates stop a motion; give Contact(limits=False), or remove them."
            )
        q, dofs = mb.layout.hinge_q[number], mb.layout.hinge_v[number]
        for k in range(body.hinge.nv):
            low, high = float(lower[k % len(lower)]), float(upper[k % len(upper)])
            if np.isfinite(low) or np.isfinite(high):
                stops.append(Stop(dofs.start + k, q.start + k, low, high, mb.dof_names[dofs.start + k]))
    return stops


def frictions_of(mb: Multibody) -> list[Rub]:
    """The dry friction of hinges."""
    rubs = []
    for number, body in enumerate(mb.bodies):
        friction = np.broadcast_to(body.passive.friction, (body.hinge.nv,)) if body.hinge.nv else np.zeros(0)
        dofs = mb.layout.hinge_v[number]
        rubs += [Rub(dofs.start + k, float(f), mb.dof_names[dofs.start + k]) for k, f in enumerate(friction) if f > 0]
    return rubs

"""Springs, dampers and servos of single dofs, taken implicitly in steps with contact.

    (M + A) vdot = f + f_s(q0 + h v0, v0),     A = h B + h^2 K,     M dv = N* p - A dv     of an impulse p

with B and K how the forces f_s of single dofs vary with their velocities and coordinates: of hinges (`body.passive`),
tendons of one dof, and actuators by their laws, as far as they are within their limits of force. A force at the end of
the step is f_s - A vdot, so that what touches sees the velocities that the step ends with. A is no inertia: energy and
momentum are those of M. Forces that are slow for the step, A (Mcal^-1)_kk <= `SLOW`, are left to the smooth step, which
has order four; so is what acts on several dofs, such as springs between nodes, and stability limits the step for these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.model.flat import laws
from soacraft.model.flat.passive import displacement, displacement_rate
from soacraft.sim.forces.control_laws import ControlLaws, numbers_at
from soacraft.sim.forces.drives import Control
from soacraft.sim.forces.loads import Passive
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.sim.system import Mechanism

#: Forces of a dof that change its velocity by no more than this part of itself in a step are no stiff ones.
SLOW = 1e-2
#: Beyond a limit of force by this part of it is rounding.
_ROUNDING = 1e-9


class Slopes(NamedTuple):
    """Forces of single dofs at a state, row by row of `Mechanism.names`, and how they fall with coordinates and
    velocities, (names, nv) each. Those of actuators are not cut to their limits."""

    force: Array
    stiffness: Array
    damping: Array


def slopes(m: Mechanism, t: float, q: Array, v: Array) -> Slopes:
    """Slopes of springs, dampers and servos. O(n)."""
    slopes_of_loads = Slopes(*(np.zeros((len(m.names), m.mb.nv)) for _ in range(3)))
    if m.has_passive:
        _of_hinges(m, m.names.index(Passive.name), q, v, slopes_of_loads)
    servos = Servos.of(m)
    if servos is not None:
        uncut = servos.laws.uncut(servos.numbers(m, t, q, v), q, v)
        slopes_of_loads.force[servos.places, servos.dofs] = servos.gear * uncut
        slopes_of_loads.stiffness[servos.places, servos.dofs] = servos.stiffness
        slopes_of_loads.damping[servos.places, servos.dofs] = servos.damping
    return slopes_of_loads


class Servos(NamedTuple):
    """Actuators of one dof whose forces vary with its state."""

    controls: list[Control]
    places: npt.NDArray[np.intp]
    """Places of the servos among the loads,"""
    dofs: npt.NDArray[np.intp]
    """their dofs,"""
    gear: Array
    """and what these feel of their forces."""
    laws: ControlLaws

    @classmethod
    def of(cls, m: Mechanism) -> Servos | None:
        """Servos of a mechanism; None without any."""
        loads = m.loads
        places = m.servos.of(
            m.description,
            lambda: [
                i
                for i, x in enumerate(loads)
                if isinstance(x, Control) and x.law[2:4].any() and np.count_nonzero(x.row) == 1
            ],
        )
        if not places:
            return None
        controls = [x for i in places if isinstance(x := loads[i], Control)]
        laws = m.laws_of(controls)
        dofs = np.argmax(laws.rows != 0.0, axis=1)
        return cls(controls, np.array(places), dofs, laws.rows[np.arange(len(dofs)), dofs], laws)

    @property
    def stiffness(self) -> Array:
        """Rates at which their generalized forces fall along their dofs,"""
        return np.asarray(-self.laws.numbers[2] * self.gear * self.laws.along[np.arange(len(self.dofs)), self.dofs])

    @property
    def damping(self) -> Array:
        """and with their velocities."""
        return np.asarray(-self.laws.numbers[3] * self.gear**2)

    def numbers(self, m: Mechanism, t: float, q: Array, v: Array) -> Array:
        """Numbers of the controls at a state."""
        state = None if all(x.samples is not None for x in self.controls) else m.mb.state(q, v)
        return numbers_at(self.controls, t, state)


def _of_hinges(m: Mechanism, row: int, q: Array, v: Array, found: Slopes) -> None:
    layout = m.mb.layout
    for number in layout.sprung:
        body, dofs, passive = layout.bodies[number], layout.hinge_v[number], layout.bodies[number].passive
        found.force[row, dofs] -= passive.damping * v[dofs]
        found.damping[row, dofs] += passive.damping
        if passive.stiffness.any():
            found.force[row, dofs] -= passive.stiffness * displacement(body, q[layout.hinge_q[number]])
            found.stiffness[row, dofs] += passive.stiffness
    for tendon, at_q, at_v, c in layout.pulls:
        if len(at_v) > 1:
            continue
        length, rate = q[at_q] @ c, v[at_v] @ c
        k, d = laws.slopes(tendon, length, rate)
        found.force[row, at_v] -= laws.tension(tendon, length, rate) * c
        found.stiffness[row, at_v] += k * c**2
        found.damping[row, at_v] += d * c**2


class Implicit:
    """The forces of single dofs in one step that are taken implicitly."""

    def __init__(
        self, m: Mechanism, h: float, start: tuple[Array, Array], full: Array, held: Mapping[int, float]
    ) -> None:
        self._m, self.h = m, h
        self._q, self._v = start
        self._ahead = m.mb.integrate(self._q, h * self._v)
        self._full, self._held = full, held
        self._ends: dict[float, Array] = {}
        self._rate: tuple[float, bytes | None, Array] | None = None
        self._taken: npt.NDArray[np.bool_] = full > 0.0
        self.added = np.array(full)
        """A of each force, row by row of `Mechanism.names`, (names, nv)."""
        for i in held:
            self.added[i] = 0.0

    @classmethod
    def of(cls, m: Mechanism, t: float, h: float, x: Array) -> Implicit | None:
        """Implicit forces of a step of length h from x; None if none of them is fast. Actuators that would go beyond
        their limits are held there."""
        q, v, _ = m.parts(x)
        if not (m.has_passive or Servos.of(m) is not None):
            return None
        at = slopes(m, t, m.mb.integrate(q, h * v), v)
        added = h * np.maximum(at.damping, 0.0) + h**2 * np.maximum(at.stiffness, 0.0)
        fast = compliance(m, q).diagonal() * added.sum(axis=0) > SLOW
        if not fast.any():
            return None
        implicit = cls(m, h, (q, v), np.where(fast, added, 0.0), {})
        while implicit.has_servos and (beyond := implicit.beyond(t, implicit.velocity_rates(t, x))):
            implicit = implicit.holding(beyond)
        return implicit

    @property
    def has_servos(self) -> bool:
        """True if the force of an actuator is taken."""
        servos = Servos.of(self._m)
        return servos is not None and bool(self._taken[servos.places].any())

    def velocity_rates(self, t: float, x: Array) -> Array:
        """Rates of the velocities at a point, (nv); those of a point where nothing varied since are kept."""
        bits = None if self._m.has_functions else x.tobytes()
        if self._rate is None or bits is None or self._rate[:2] != (t, bits):
            _, nt, nv = self._m.sizes
            self._rate = t, bits, self._m.implicit_rates(t, x, self)[nt : nt + nv]
        return self._rate[2]

    @property
    def armature(self) -> Array:
        """A, (nv)."""
        return np.asarray(self.added.sum(axis=0))

    def inverse(self, Y: Array) -> Array:
        """(M + A)^-1 from Y = M^-1, of what closures leave free where they do."""
        return np.asarray(np.linalg.solve(np.eye(len(Y)) + Y * self.armature, Y))

    def holding(self, forces: Mapping[int, float]) -> Implicit:
        """These forces with some actuators at their limits."""
        return Implicit(self._m, self.h, (self._q, self._v), self._full, {**self._held, **forces})

    def applied(self, t: float, q: Array, v: Array, vdot: Array, forces: Array) -> tuple[Array, Array]:
        """Accelerations and forces (names, nv), from those at a stage where all is explicit."""
        shift, Y = self._shift(t, q, v), compliance(self._m, q)
        vdot = np.linalg.solve(np.eye(len(Y)) + Y * self.armature, vdot + Y @ shift.sum(axis=0))
        return vdot, self.forces(t, q, v, vdot, forces)

    def forces(self, t: float, q: Array, v: Array, vdot: Array, forces: Array) -> Array:
        """Forces (names, nv) at a state where all is explicit, as they are with accelerations."""
        return np.asarray(forces + self._shift(t, q, v) - self.added * vdot)

    def _shift(self, t: float, q: Array, v: Array) -> Array:
        """f_s(q0 + h v0, v0) - f_s(q, v) of what is taken, (names, nv)."""
        m, then = self._m, np.array(self._then(t))
        now = np.zeros_like(then)
        if m.has_passive:
            _of_hinges(m, m.names.index(Passive.name), q, v, Slopes(now, *np.zeros((2, *now.shape))))
        servos = Servos.of(m)
        if servos is not None:
            at, dofs, laws = servos.places, servos.dofs, servos.laws
            now[at, dofs] = servos.gear * laws.cut(laws.uncut(servos.numbers(m, t, q, v), q, v))
        for i, held in self._held.items():
            then[i] = held
        return np.where(self._taken, then - now, 0.0)

    def _then(self, t: float) -> Array:
        """f_s(q0 + h v0, v0) at a time of the step, (names, nv)."""
        if t not in self._ends:
            self._ends[t] = slopes(self._m, t, self._ahead, self._v).force
        return self._ends[t]

    def change(self, t: float, x: Array) -> Array:
        """Differences of the forces at a point from explicit ones there, (nv)."""
        m, (q, v, _) = self._m, self._m.parts(x)
        vdot = m.coordinates.own(v, self.velocity_rates(t, x))
        return np.asarray((self._shift(t, q, v) - self.added * vdot).sum(axis=0))

    def beyond(self, t: float, vdot: Array) -> dict[int, float]:
        """Actuators whose forces, with a mean acceleration over the step, are beyond their limits, and these limits, as
        generalized forces."""
        servos = Servos.of(self._m)
        if servos is None:
            return {}
        at, dofs, gear = servos.places, servos.dofs, servos.gear
        force = (self._then(t)[at, dofs] - self.added[at, dofs] * vdot[dofs]) / gear
        least, most = servos.laws.numbers[6:]
        with np.errstate(invalid="ignore"):
            inside = (least - _ROUNDING * abs(least) <= force) & (force <= most + _ROUNDING * abs(most))
        limits = gear * servos.laws.cut(force)
        beyond = np.flatnonzero(~inside & self._taken[at].any(axis=1))
        return {int(at[i]): float(limits[i]) for i in beyond if int(at[i]) not in self._held}


class Linear(NamedTuple):
    """Forces of single dofs in small motions: how they fall along the dofs, (nv, nv), and with velocities, (nv); A of a
    step of one second by both, (nv) each; and Mcal^-1."""

    stiffness: Array
    damping: Array
    by_stiffness: Array
    compliance: Array

    @classmethod
    def of(cls, m: Mechanism, t: float, x: Array, unit: Array) -> Linear:
        """Linear forces at a point, where dofs are measured by `unit`. Actuators at their limits do not vary."""
        q, v, _ = m.parts(x)
        at, layout, servos = slopes(m, t, q, v), m.mb.layout, Servos.of(m)
        if servos is not None:
            uncut = at.force[servos.places, servos.dofs] / servos.gear
            varies = servos.laws.cut(uncut) == uncut
            at.stiffness[servos.places, servos.dofs] *= varies
            at.damping[servos.places, servos.dofs] *= varies
        K, B = (np.maximum(one, 0.0).sum(axis=0) for one in at[1:])
        along = np.diag(K)
        for number in layout.sprung:
            dofs, stiffness = layout.hinge_v[number], layout.bodies[number].passive.stiffness
            if stiffness.any():  # a rotation vector does not vary as the dofs do
                rate = displacement_rate(layout.bodies[number], q[layout.hinge_q[number]])
                along[dofs, dofs] += np.maximum(stiffness, 0.0)[:, None] * (rate - np.eye(len(rate)))
        return cls(along * np.outer(unit, unit), B * unit**2, K * unit**2, compliance(m, q) / np.outer(unit, unit))

    def fast(self, h: float) -> Linear:
        """Forces that a step of length h takes implicitly."""
        is_fast = self.compliance.diagonal() * (h * self.damping + h**2 * self.by_stiffness) > SLOW
        K, B, at, Y = self
        return Linear(K * is_fast[:, None], B * is_fast, at * is_fast, Y)

    def rest(self, J: Array, nt: int, h: float) -> Array:
        """Rates without what a step of length h takes implicitly, [[J_q, J_v], [W J'_q, W J'_v]], W = (1 + Y A)^-1."""
        K, B, _, Y = self.fast(h)
        go, part, nv = J[: len(K), nt:], np.array(J), len(K)
        part[nt:, :nv] += Y @ K @ go
        part[nt:, nt:] += Y * B @ go
        part[nt:] = self._answer(h) @ part[nt:]
        return part

    def amplification(self, J: Array, nt: int, h: float, of_functions: Array | None = None) -> Array:
        """A step of RK4 with what is fast taken implicitly, as a matrix: rates are J times coordinates and velocities.

            [q; v]1 = R(hJ') [q; v] + h R1(hJ') F [q; v],    J' of `rest`,    F = -W Y [K, B + h K],

        and R(z) = 1 + z R1(z). The part of J that is `of_functions` is held in the step: J' is without it, F has it.
        """
        if of_functions is not None:
            J = J - of_functions
        K, B, _, Y = self.fast(h)
        go, held, W, nv = J[: len(K), nt:], np.zeros_like(J), self._answer(h), len(K)
        held[nt:, :nv], held[nt:, nt:] = -W @ Y @ K @ go, -W @ Y @ (np.diag(B) + h * K) @ go
        if of_functions is not None:
            held[nt:] += W @ of_functions[nt:]
        z, eye = h * self.rest(J, nt, h), np.eye(len(J))
        one = eye + z @ (eye + z @ (eye + z / 4) / 3) / 2
        return np.asarray(eye + z @ one + h * one @ held)

    def _answer(self, h: float) -> Array:
        """W."""
        _, B, at, Y = self.fast(h)
        return np.asarray(np.linalg.inv(np.eye(len(B)) + Y * (h * B + h**2 * at)))


def compliance(m: Mechanism, q: Array) -> Array:
    """Mcal^-1 of what closures and prescribed motions leave free, (nv, nv)."""
    Y, prescribed = m.compliance_derivative(q), np.flatnonzero(m.prescribed.mask)
    if not len(prescribed):
        return Y
    return np.asarray(Y - Y[:, prescribed] @ np.linalg.pinv(Y[np.ix_(prescribed, prescribed)]) @ Y[prescribed])


class ImplicitProblem:
    """A mechanism whose rates are those with implicit forces, for the smooth step of a method."""

    def __init__(self, problem: Mechanism, implicit: Implicit) -> None:
        self._problem, self._implicit = problem, implicit

    def rates(self, t: float, x: Array) -> Array:
        """Rates with implicit forces."""
        return self._problem.implicit_rates(t, x, self._implicit)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._problem, name)

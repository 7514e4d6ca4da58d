"""Time stepping with contact (Moreau, Jean): a smooth step, then the impulses of all that touches.

    (q_f, v_f) = a step of RK4 without contact,      v1 = v_f + Mcal^-1 N* p,      q1 = move(q_f, h/2 (v1 - v_f))

with p by the contact problem at q_f (EQUATIONS 4.6); where nothing presses the smooth step is kept. What is closed in
the middle of the step, as its end and the velocity there tell, may not approach further; what is still open may close,
not more; what struck after the middle is moved out of what it struck, and not into what is near, as far as the energy
that the impulses took allows. Points that rest keep their gap. Of order four while nothing touches, of order one
through impacts; a step does not fail for many of them.

Springs, dampers and servos of single dofs that are fast for the step are taken implicitly, in the smooth step as in the
answer to impulses (`sim.implicit`), so that what touches sees the velocities at the end of the step:

    M vdot = f + f_s(q0 + h v0, v0) - A vdot,      v1 = v_f + (Mcal + A)^-1 N* p,      A = h B + h^2 K

Actuators go no further than their limits of force: where one would, the step is taken again with it held there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np

from soacraft.sim.forces.loads import Passive
from soacraft.sim.forces.varying_mass import VaryingMass
from soacraft.sim.implicit import Implicit, ImplicitProblem
from soacraft.sim.integrators.explicit import RK4
from soacraft.sim.integrators.steps import Method, Problem, Step, check_turn, hermite
from soacraft.sim.problem.mass_work import energy_growth
from soacraft.sim.problem.no_contact import NoContact
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.contact.dynamics.impulses import Resolved
    from soacraft.sim.forces.contact import Contact
    from soacraft.sim.system import Mechanism


#: A dof whose velocities before and after are this part of what its forces gave it is at rest.
_STILL = 1e-6
#: Shapes that are moved out by less than this part of the way stay where they are.
_LEAST = 1e-6
#: The part of the way out that the energy allows is made shorter by this: its rise is no more than that to rounding.
_SHORT = 1.0 - 1e-9


class Moreau(Method):
    """RK4, with impulses of contact at the end of each step."""

    name = "moreau"
    order = 4
    limited = True
    touches = True
    implicit = True

    def __init__(self) -> None:
        self._smooth = RK4()

    def step(self, problem: Problem, t: float, x: Array, h: float, w: Array) -> Step:
        """One step: four evaluations and a contact problem."""
        mechanism = cast("Mechanism", problem)
        contact = mechanism.contact
        if isinstance(contact, NoContact):
            return self._smooth.step(problem, t, x, h, w)
        nq, _, nv = problem.sizes
        contact.begin(t, x[:nq])
        mechanism.hold_functions(t, x)
        implicit = Implicit.of(mechanism, t, h, x)
        while True:
            step = self._with(mechanism, contact, t, x, h, w, implicit)
            mean = (step.x1[nq : nq + nv] - x[nq : nq + nv]) / h
            beyond = {} if implicit is None else implicit.beyond(t, mean)
            if not beyond or implicit is None:
                return step
            implicit = implicit.holding(beyond)

    def _with(
        self, mechanism: Mechanism, contact: Contact, t: float, x: Array, h: float, w: Array, implicit: Implicit | None
    ) -> Step:
        """The step with some forces taken implicitly."""
        problem: Problem = mechanism
        nq, nt, nv = mechanism.sizes
        if implicit is not None:
            problem = cast("Problem", ImplicitProblem(mechanism, implicit))
        smooth = self._smooth.step(problem, t, x, h, problem.rates(t, x))
        self._coordinates, free = smooth.F[0], smooth.x1
        if mechanism.is_closed and mechanism.coordinates.is_group:  # where it was put on the closures
            self._coordinates = mechanism.motions.between(x[: nq + nv], free[: nq + nv])
        q_f, v_f = free[:nq], free[nq : nq + nv]
        start = x[:nq], x[nq : nq + nv]
        contact.require_sides(t, h, start, (q_f, v_f))
        done = contact.act(mechanism, t + h, h, start, (q_f, v_f), implicit=implicit)
        if not done.presses and not contact.takes_out:
            return self._ended(mechanism, smooth) if implicit is None else self._unpressed(mechanism, smooth, w)
        u = self._travel(mechanism, t, x, h, free, done)
        pressed = mechanism.coordinates.velocity(x[:nq], done.v, q_f)  # in the axes of the start, where it is free
        pressed = mechanism.coordinates.carry_turns(self._coordinates, u, pressed)
        u[nt:] = np.concatenate([pressed, free[nq + nv :]]) - x[nq:]
        check_turn(mechanism.manifold, u, t, h)
        end = mechanism.settle(t + h, mechanism.manifold.move(x, u), True)
        out = contact.out_of(mechanism, t + h, end[:nq])
        of_forces = slice(nq + nv, nq + nv + len(mechanism.names))
        end[of_forces] = self._work(mechanism, t, x, free, end, h, implicit)
        rise = 0.0
        if out is not None:
            done_by = dict(zip(mechanism.names, mechanism.work_of(end) - mechanism.work_of(x), strict=True))
            taken = -done_by[contact.name] - max(done_by.get(Passive.name, 0.0), 0.0)
            end, rise = lifted(mechanism, t + h, end, out, np.inf if contact.takes_out else max(taken, 0.0))
            end[of_forces] = self._work(mechanism, t, x, free, end, h, implicit)
        end[of_forces] += work_of_rows(contact, mechanism, h, x[nq : nq + nv], end[nq : nq + nv], rise)
        contact.require_sides(t, h, start, (end[:nq], end[nq : nq + nv]))
        mechanism.hold_functions(t + h, end)
        w1 = mechanism.rates(t + h, end)
        w1[nt : nt + nv] = _mean_rate(mechanism, x, end, h)
        F = hermite(u, h * w, h * mechanism.manifold.rate(x, u, w1))
        return Step(mechanism, t, h, x, end, w, w1, F, weighed=mechanism.varies)

    def _ended(self, mechanism: Mechanism, smooth: Step) -> Step:
        """A smooth step whose end has the forces that functions give there, since it began with what they held."""
        if not mechanism.has_functions:
            return smooth
        t, h = smooth.t0, smooth.h
        mechanism.hold_functions(t + h, smooth.x1)
        w1 = mechanism.rates(t + h, smooth.x1)
        F = hermite(smooth.F[0], h * smooth.w0, h * mechanism.manifold.rate(smooth.x0, smooth.F[0], w1))
        return replace(smooth, w1=w1, F=F)

    def _unpressed(self, mechanism: Mechanism, smooth: Step, w: Array) -> Step:
        """A smooth step with implicit forces, with the mean acceleration at its end."""
        t, h, u = smooth.t0, smooth.h, smooth.F[0]
        mechanism.hold_functions(t + h, smooth.x1)
        w1, (_, nt, nv) = mechanism.rates(t + h, smooth.x1), mechanism.sizes
        w1[nt : nt + nv] = _mean_rate(mechanism, smooth.x0, smooth.x1, h)
        F = hermite(u, h * w, h * mechanism.manifold.rate(smooth.x0, u, w1))
        return Step(mechanism, t, h, smooth.x0, smooth.x1, w, w1, F)

    def amplification(self, hJ: Array, nt: int) -> Array:
        """Amplification of its smooth step."""
        return self._smooth.amplification(hJ, nt)

    def _work(
        self, mechanism: Mechanism, t: float, x: Array, free: Array, end: Array, h: float, implicit: Implicit | None
    ) -> Array:
        """Work of every force in the step from t on: that of the smooth step, and along h/2 (v1 - v_f) since then; of
        implicit forces also of -A (v1 - v_f) along (v0 + v1)/2; of masses that vary by the mean of both ends; of the
        contacts, with the rows of loads among them, the remaining growth of the energy."""
        (q, v, _), v1 = mechanism.parts(free), mechanism.parts(end)[1]
        mechanism.place(t + h, free)
        forces = mechanism.all_forces(t + h, q, v)
        if implicit is not None:
            forces = implicit.forces(t + h, q, v, (v - mechanism.parts(x)[1]) / h, forces)
        done = mechanism.work_of(free) + 0.5 * h * forces @ (v1 - v)
        if implicit is not None:
            done -= implicit.added @ (0.5 * (mechanism.parts(x)[1] + v1) * (v1 - v))
        of_contact = mechanism.names.index(mechanism.contact.name) if mechanism.contact.touches else -1
        before = mechanism.work_of(x)
        done[of_contact] = before[of_contact]
        grown, by_mass = energy_growth(mechanism, t, x, t + h, end)
        if mechanism.varies:
            done[mechanism.names.index(VaryingMass.name)] += by_mass
        done[of_contact] += grown - (done - before).sum()
        return np.asarray(done)

    def _travel(self, problem: Problem, t: float, x: Array, h: float, free: Array, done: Resolved) -> Array:
        """Chart coordinates of q1: those of the smooth step, and h/2 (v1 - v_f); of dofs at rest before and after
        h/2 (v0 + v1), so that they do not creep."""
        nq, nt, nv = problem.sizes
        size = problem.manifold.size
        start, end, pressed = np.zeros(size), np.zeros(size), np.zeros(size)
        start[:nt] = problem.tangent(x[:nq], x[nq : nq + nv])
        end[:nt] = problem.tangent(free[:nq], free[nq : nq + nv])
        pressed[:nt] = problem.tangent(free[:nq], done.v)
        smooth = np.zeros(size)
        smooth[:nt] = self._coordinates[:nt]
        rates = [start, *(problem.manifold.rate(x, smooth, each) for each in (end, pressed))]
        r0, rf, r1 = (each[:nt] for each in rates)
        still = np.maximum(np.abs(r0), np.abs(r1)) <= _STILL * np.abs(rf)
        u = np.zeros(size)
        u[:nt] = np.where(still, 0.5 * h * (r0 + r1), smooth[:nt] + 0.5 * h * (r1 - rf))
        return u


def work_of_rows(contact: Contact, mechanism: Mechanism, h: float, v0: Array, v1: Array, rise: float) -> Array:
    """The work of stops and friction that are loads: what comes to that of each, and goes from that of the contacts,
    (names). It is along (v0 + v1)/2, and their parts of the `rise` of the energy on the way out."""
    work, of_contact = np.zeros(len(mechanism.names)), mechanism.names.index(contact.name)
    parts = [(load, 0.5 * h * force * (v0[number] + v1[number])) for load, number, force in contact.row_forces]
    for load, part in [*parts, *((load, share * rise) for load, share in contact.lifts if rise)]:
        work[load] += part
        work[of_contact] -= part
    return work


def _mean_rate(mechanism: Mechanism, x: Array, end: Array, h: float) -> Array:
    """The mean of a over a step between two points, in the axes of its end, (nv)."""
    (q0, v0, _), (q1, v1, _) = mechanism.parts(x), mechanism.parts(end)
    return np.asarray((v1 - mechanism.coordinates.velocity(q1, v0, q0)) / h)


def lifted(mechanism: Mechanism, t: float, end: Array, out: Array, most: float) -> tuple[Array, float]:
    """The end moved by `out`, by a part of it where it would take more energy than `most`, what the impulses took
    less what springs and dampers gave; the unchanged end if that part vanishes. And the rise of its energy."""
    nq, nt, nv = mechanism.sizes
    start, part = mechanism.mechanical_energy(end), 1.0
    for _ in range(2):
        out = part * out
        push = np.zeros(mechanism.manifold.size)
        push[:nt] = mechanism.tangent(end[:nq], out)
        moved = mechanism.manifold.move(end, push)
        moved[nq : nq + nv] = mechanism.coordinates.carry(out, end[nq : nq + nv])
        moved = mechanism.settle(t, moved, True)
        rise = mechanism.mechanical_energy(moved) - start
        if rise <= most:
            return moved, rise
        part = _SHORT * (most / rise)
        if not part > _LEAST:
            break
    return end, 0.0

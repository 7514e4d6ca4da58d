"""Time stepping with contact by Moreau's midpoint rule: all that acts is that of the middle of the step.

    q_m = q0 + h/2 v0
    v_f = v0 + h a(q_m, v0 + h/2 a(q_m, v0)),      v1 = v_f + Mcal^-1 N* p,      q1 = q_m + h/2 v1

with contacts, their rows and the mass matrix at q_m (Moreau 1999, Numerical aspects of the sweeping process; EQUATIONS
4.6). What is closed there may not approach further; what is open may close, not more; what is inside another shape at
the end is moved out of it, as by "moreau". Velocities of what is free are the same in the axes of its parent while it
moves by half a step. Of order two while nothing touches, of order one through impacts. Two evaluations of the forces
and one of the inertias a step, where "moreau" has four of each, and one more of the inertias for its contacts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from soacraft.errors import ModelError
from soacraft.sim.forces.loads import Passive
from soacraft.sim.integrators.moreau import lifted, work_of_rows
from soacraft.sim.integrators.partitioned import rows_of
from soacraft.sim.integrators.steps import Method, Problem, Step, check_turn, hermite
from soacraft.sim.problem.no_contact import NoContact
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.sim.system import Mechanism


class MoreauMidpoint(Method):
    """The midpoint rule, with impulses of contact in the middle of each step; of trees."""

    name = "moreau_midpoint"
    order = 2
    limited = True
    even = True
    touches = True

    def step(self, problem: Problem, t: float, x: Array, h: float, w: Array) -> Step:
        """One step: two evaluations and a contact problem."""
        mechanism = cast("Mechanism", problem)
        mechanism.require_plain(self.name)
        if mechanism.is_closed:
            raise ModelError(f"{self.name} takes trees, and {mechanism.mb.name!r} is a closed chain; use 'moreau'.")
        nq, nt, nv = problem.sizes
        contact, space = mechanism.contact, mechanism.coordinates
        contact.begin(t, x[:nq])
        if contact.touches:
            mechanism.hold_functions(t, x)
        self._check(mechanism, t, h, 0.5 * h * x[nq : nq + nv])
        q, v0 = space.move(x[:nq], 0.5 * h * x[nq : nq + nv]), space.carry(0.5 * h * x[nq : nq + nv], x[nq : nq + nv])
        middle, v, rest = t + 0.5 * h, v0, x[nq + nv :]
        for way in (0.5 * h, h):  # at first to the middle
            forces = mechanism.all_forces(middle, q, v)
            rate = problem.rates(middle, np.concatenate([q, v, rest]))
            v = v0 + way * rate[nt : nt + nv]
            rest = x[nq + nv :] + way * rate[nt + nv :]
        start = x[:nq], x[nq : nq + nv]
        contact.require_sides(t, 0.5 * h, start, (q, v))
        done = None if isinstance(contact, NoContact) else contact.act(mechanism, t + h, h, (q, v0), (q, v), 0.0)
        pressed = done is not None and done.presses
        v1 = done.v if done is not None and pressed else v
        self._check(mechanism, t, h, 0.5 * h * v1)
        end = np.concatenate([space.move(q, 0.5 * h * v1), space.carry(0.5 * h * v1, v1), rest])
        work = 0.5 * h * forces @ (v0 + v1)
        if not isinstance(contact, NoContact) and (pressed or contact.takes_out):
            end, rise = self._balanced(mechanism, t + h, h, x, end, v1, work)
            work += work_of_rows(contact, mechanism, h, v0, v1, rise)
        contact.require_sides(t, h, start, (end[:nq], end[nq : nq + nv]))
        names = len(mechanism.names)
        end[nq + nv : nq + nv + names] = x[nq + nv : nq + nv + names] + work
        u = np.concatenate([mechanism.motions.between(x[: nq + nv], end[: nq + nv]), end[nq + nv :] - x[nq + nv :]])
        if contact.touches:
            mechanism.hold_functions(t + h, end)
        w1 = problem.rates(t + h, end)
        v1 = end[nq : nq + nv] - space.velocity(end[:nq], x[nq : nq + nv], x[:nq])
        w1[nt : nt + nv] = v1 / h
        return Step(problem, t, h, x, end, w, w1, hermite(u, h * w, h * problem.manifold.rate(x, u, w1)))

    def _check(self, mechanism: Mechanism, t: float, h: float, way: Array) -> None:
        check_turn(mechanism.manifold, np.append(way, np.zeros(mechanism.manifold.size - len(way))), t, h)

    def _balanced(
        self, mechanism: Mechanism, t: float, h: float, x: Array, end: Array, v1: Array, work: Array
    ) -> tuple[Array, float]:
        """The end, moved out of shapes that it is in, and the rise of its energy by that; growth of the energy that is
        not the work of the others is the work of the contacts, which is set in `work`."""
        contact = mechanism.contact
        assert not isinstance(contact, NoContact)
        of_contact, before, rise = mechanism.names.index(contact.name), mechanism.mechanical_energy(x), 0.0
        out = contact.out_of_end(mechanism, t, h, mechanism.parts(end)[0], v1)
        if out is not None:
            taken = work.sum() - (mechanism.mechanical_energy(end) - before)
            passive_work = work[mechanism.names.index(Passive.name)] if Passive.name in mechanism.names else 0.0
            most = np.inf if contact.takes_out else max(taken - max(passive_work, 0.0), 0.0)
            end, rise = lifted(mechanism, t, end, out, most)
        work[of_contact] = mechanism.mechanical_energy(end) - before - work.sum()
        return end, rise

    def amplification(self, hJ: Array, nt: int) -> Array:
        """(1 + hJ_q/2) (1 + hJ_v (1 + hJ_v/2)) (1 + hJ_q/2), with the rows of coordinates and of velocities."""
        eye, (go, push) = np.eye(len(hJ)), rows_of(hJ, nt)
        half = eye + 0.5 * go
        return np.asarray(half @ (eye + push @ (eye + 0.5 * push)) @ half)

"""The generalized-alpha method on Lie groups, for trees and for closed chains as equations of index three.

    (1 - am) a1 + am a0 = (1 - af) vdot1 + af vdot0
    u  = h v0 + h^2 ((1/2 - beta) a0 + beta a1),     q1 = move(q0, u)
    v1 = v0 + h ((1 - gamma) a0 + gamma a1)
    Mcal vdot1 + C = T - Gc* lambda,    g(q1) = 0

with am = (2 r - 1) / (r + 1), af = r / (r + 1), gamma = 1/2 + af - am, beta = (gamma + 1/2)^2 / 4, r = rho_inf: the
spectral radius for infinitely fast motions, which one step damps by it (Chung and Hulbert 1993; on groups Bruls and
Cardona 2010, Arnold and Bruls 2007). The state that a step gives has v1 on the closures too.

a, v and vdot are kept for the next step as they are here: a v that was put on the closures would shift a along them,
and cost an order. a0 is vdot at t0 + (am - af) h, so it is set to that at a first step, which keeps order two from the
start (Arnold, Bruls and Cardona 2015), and follows a change of step in proportion.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from soacraft.errors import ConvergenceError, StateError
from soacraft.sim.descriptor import SOFT, Descriptor
from soacraft.sim.integrators.chart_slopes import ChartSlopes
from soacraft.sim.integrators.steps import Method, Problem, Step, check_turn, hermite
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import Array, finite

#: Newton steps of one step, after which the matrix is computed again, and when they end, relative to the tolerance.
_ROUNDS, _RENEWED, _SETTLED = 15, 4, 1e-3
#: The part of a step over which the first derivative of vdot is estimated.
_AHEAD = 1e-3
#: Change of vdot within a step, relative to vdot, beyond which its derivative is not used.
_STIFF = 10.0
#: Rounding of what a step adds up, relative to its terms.
_ROUNDING = 4e-15


_System = tuple[Any, Array, Array]


class _Memory(NamedTuple):
    """Quantities for the next step at a point: v, vdot and a, the step that a belongs to, and length and vdot of the
    step before."""

    t: float
    x: Array
    w: Array
    v: Array
    vdot: Array
    a: Array
    h: float
    before: tuple[float, Array]


class GeneralizedAlpha(Method):
    """Order two. `rho_inf` from 0 (fast motions end in one step) to 1 (they stay); the error of a step, for adaptive
    ones, is estimated by the quadratic through vdot at three points."""

    name = "generalized_alpha"
    order = 2
    error_order = 3

    def __init__(self, rtol: float = 1e-9, rho_inf: float = 0.8, adaptive: bool = False) -> None:
        r = float(finite(rho_inf, (), "rho_inf", StateError))
        if not 0.0 <= r <= 1.0:
            raise StateError(f"rho_inf must be between 0 and 1, got {r:g}.")
        self._rtol, self.rho_inf, self.adaptive = rtol, r, adaptive
        self._am, self._af = (2.0 * r - 1.0) / (r + 1.0), r / (r + 1.0)
        self._gamma = 0.5 + self._af - self._am
        self._beta = 0.25 * (self._gamma + 0.5) ** 2
        self._memories: list[_Memory] = []

    def forget(self) -> None:
        """Let the next step begin with accelerations that are told from the state."""
        self._memories = []

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, rho_inf {self.rho_inf:g})"

    def step(self, problem: Problem, t: float, x: Array, h: float, w: Array) -> Step:
        """One step; of a chain that cannot close, or does not converge, a `ConvergenceError`."""
        if not isinstance(problem, Mechanism):
            raise StateError(f"{self.name} needs a mechanism, which tells its inertia; got {problem!r:.60}.")
        q, _, work = problem.parts(x)
        form, nv = Descriptor(problem, self.name, q), problem.mb.nv
        memory = self._memory(problem, t, x, h, w)
        v, vdot = memory.v, memory.vdot
        a0 = vdot + (h / memory.h) * (memory.a - vdot)
        u, v1, a1, vdot1, system = self._solved(problem, form, t, q, v, a0, vdot, h)
        check_turn(problem.manifold, np.concatenate([u, 0.0 * v, 0.0 * work]), t, h)
        space = problem.coordinates
        q1 = space.move(q, u)
        at_end = [space.velocity(q1, y, q) for y in (v1, vdot1, a1, vdot)]  # in the axes of the end
        end = problem.settle(t + h, problem.point(q1, at_end[0], work), True)
        w1 = problem.rates(t + h, end)
        end[-len(work) :] += 0.5 * h * (w[2 * nv :] + w1[2 * nv :])
        v_end = space.velocity(q, problem.parts(end)[1], problem.parts(end)[0])
        change = np.concatenate([u, v_end - problem.parts(x)[1], end[-len(work) :] - work])
        error = self._error(problem, q, h, u, v1, vdot1, memory, system) if self.adaptive else None
        self._memories = [memory, _Memory(t + h, end, w1, at_end[0], at_end[1], at_end[2], h, (h, at_end[3]))]
        F = hermite(change, h * w, h * problem.manifold.rate(x, change, w1))
        return Step(problem, t, h, x, end, w, w1, F, error)

    def _memory(self, problem: Mechanism, t: float, x: Array, h: float, w: Array) -> _Memory:
        """a at this point: of the step that ended or was tried here, or estimated from vdot and its derivative."""
        for memory in self._memories:
            if abs(memory.t - t) <= 1e-9 and np.array_equal(memory.x, x) and np.array_equal(memory.w, w):
                return memory
        nv, d = problem.mb.nv, _AHEAD * h
        ahead = problem.settle(t + d, problem.manifold.move(x, d * w), False)
        vddot = (problem.manifold.rate(x, d * w, problem.rates(t + d, ahead)) - w)[nv : 2 * nv] / d
        vdot = w[nv : 2 * nv]
        size = self._scale(problem, *problem.parts(x)[:2], vdot)
        if np.linalg.norm(h * vddot / size) > _STIFF * np.linalg.norm(vdot / size):
            vddot = np.zeros(nv)  # of a stiff problem this tells nothing
        a = vdot + (self._am - self._af) * h * vddot
        return _Memory(t, x, w, problem.parts(x)[1], vdot, a, h, (h, vdot - h * vddot))

    def _solved(
        self, m: Mechanism, form: Descriptor, t: float, q: Array, v: Array, a0: Array, vdot: Array, h: float
    ) -> tuple[Array, Array, Array, Array, Any]:
        """u, v1, a1, vdot1 and Newton's matrix, by Newton's method in a1 and the multipliers."""
        unit, t1 = form.unit, t + h
        am, af, beta, gamma = self._am, self._af, self._beta, self._gamma
        a1, lam = np.array(vdot), np.zeros(0)
        system: Any = None
        last, size = np.inf, self._scale(m, q, v, vdot)
        for i in range(_ROUNDS):
            u, v1 = h * v + h * h * ((0.5 - beta) * a0 + beta * a1), v + h * ((1.0 - gamma) * a0 + gamma * a1)
            vdot1 = ((1.0 - am) * a1 + am * a0 - af * vdot) / (1.0 - af)
            check_turn(m.coordinates, u, t, h)
            q1 = m.coordinates.move(q, u)
            v_end, vdot_end = (m.coordinates.velocity(q1, x, q) for x in (v1, vdot1))
            rows = form.rows(t1, q1, v_end)
            if not len(lam):
                lam = form.multipliers(t1, q1, v_end, vdot_end, rows)
            residual = np.concatenate([form.balance(t1, q1, v_end, vdot_end, rows, lam), rows.g / (h * h * beta)])
            if system is None or i == _RENEWED:
                system = self._system(form, m, (t1, q, u, q1, v_end, vdot_end, lam), rows.G, h)
            change = lu_solve(system[0], -residual)
            a1, lam = a1 + unit * change[: len(unit)], lam + change[len(unit) :]
            moved = float(np.abs(h * h * beta * unit * change[: len(unit)] / size).max(initial=0.0))
            rounding = _ROUNDING * float(np.abs([h * v / size, h * h * a0 / size, h * h * a1 / size]).max(initial=0.0))
            if moved <= max(_SETTLED * self._rtol, 1e-15) or (moved >= 0.5 * last and moved <= max(rounding, 1e-13)):
                u, v1 = h * v + h * h * ((0.5 - beta) * a0 + beta * a1), v + h * ((1.0 - gamma) * a0 + gamma * a1)
                return u, v1, a1, ((1.0 - am) * a1 + am * a0 - af * vdot) / (1.0 - af), system
            if not moved <= 10.0 * last:
                break
            last = moved
        raise ConvergenceError(
            f"a step of {h:.3g} s of {self.name} does not converge (coordinates still change by {moved:.2g} of their "
            "size); take a smaller step. Near a pose where closures lose rank use 'dop853' with solver='ta'."
        )

    def _system(self, form: Descriptor, m: Mechanism, at: tuple[Any, ...], G: Array, h: float) -> _System:
        """Newton's matrix in units, factored; what accelerations weigh in it; the units."""
        t1, q, u, q1, v1, a1, lam = at
        d = form.derivatives(t1, q1, v1, m.coordinates.own(v1, a1), lam)
        moved = G * form.unit
        if not m.coordinates.flat:
            moved = (G @ ChartSlopes(m.mb, m.coordinates).jacobians(q, u)[1]) * form.unit
            d = form.in_chart(d, q, u, v1, a1)
        inertia = form.scaled(d.M) * ((1.0 - self._am) / (1.0 - self._af))
        S = inertia + form.scaled(d.D) * (h * self._gamma) + form.scaled(d.K) * (h * h * self._beta)
        G = G * form.unit
        return lu_factor(np.block([[S, G.T], [moved, -SOFT * np.eye(len(G))]])), inertia / form.unit, form.unit

    def _scale(self, m: Mechanism, q: Array, v: Array, vdot: Array) -> Array:
        w = np.concatenate([v, vdot, np.zeros(len(m.names))])
        return m.scale(m.point(q, v), w)[: len(v)]

    def _error(
        self, m: Mechanism, q: Array, h: float, u: Array, v1: Array, vdot1: Array, memory: _Memory,
        system: _System,
    ) -> Array:  # fmt: skip
        """u and v1 less those of the quadratic through vdot at three points and of the exact chart, both as Newton's
        matrix lets them through: what is stiff or leads off the closures is not counted."""
        v0, vdot, (back, vdot_back) = memory.v, memory.vdot, memory.before
        slope, slope_back = (vdot1 - vdot) / h, (vdot - vdot_back) / back
        curve = (slope - slope_back) / (h + back)  # vdot(s) = vdot + s slope + s (s - h) curve
        v_exact = v0 + h * vdot + 0.5 * h * h * slope - h**3 / 6.0 * curve
        u_exact = h * v0 + 0.5 * h * h * vdot + h**3 / 6.0 * slope - h**4 / 12.0 * curve
        half = 0.5 * h * v0 + 0.125 * h * h * vdot, v0 + 0.5 * h * vdot
        for weight, (a, b) in ((4.0, half), (1.0, (u, v1))):  # what the chart adds, by Simpson's rule
            added = m.coordinates.rate(q, a, b) - b
            for at in m.coordinates.free_v:  # travel goes by v itself
                added[at[3:]] = 0.0
            u_exact = u_exact + h * weight / 6.0 * added
        factors, inertia, unit = system
        nv = len(u)
        errors = []
        for e in (u - u_exact, v1 - v_exact):
            right = np.concatenate([inertia @ e, np.zeros(len(factors[0]) - nv)])
            errors.append(unit * lu_solve(factors, right)[:nv])
        return np.concatenate([*errors, np.zeros(len(m.names))])[None]

"""A variational integrator: it keeps momentum to rounding and the energy bounded, over any number of steps.

The action of a step is taken at its middle (Marsden and West 2001; on groups Bou-Rabee and Marsden 2009). With
q1 = q0 exp(xi), qm = q0 exp(xi/2), v = xi/h, p = Mcal(qm) v the momentum and f = dL/dq(qm, v) + force,

    Ld = h L(qm, v),     pi = p + (h/2) Jr(xi/2)* f
    mu0 = Jl(xi)^-* pi - h Ad(exp(-xi/2))* f          solved for xi
    mu1 = Jr(xi)^-* pi,     v1 = Mcal(q1)^-1 mu1

where mu = Mcal v is the momentum of the dofs, in their own (left-trivialised) axes, and Jl(xi) = Jr(-xi). The gradient
of the kinetic energy comes from the derivatives of inverse dynamics: with C the Coriolis force of quasi-velocities,

    dT/dq = ((dC/dv)* v - ad_v* mu) / 2                  ad_v* mu = mu x v for turns; zero for plain coordinates

since v . C is the rate of T along v at constant v.

On a closed chain impulses of the closures, with rows Gc v = 0 and opening g, act at both ends of a step, so that states
and velocities end on them. That is RATTLE (Andersen 1983) for this action, symplectic on the closures:

    mu0 + Gc(q0)* lambda = Jl(xi)^-* pi - h Ad(exp(-xi/2))* f,    g(q1) = 0         solved for xi and lambda
    mu1 = Jr(xi)^-* pi + Gc(q1)* kappa,     Gc(q1) v1 = 0
"""

from __future__ import annotations

import numpy as np

from soacraft import dynamics as dyn
from soacraft.errors import ConvergenceError, StateError
from soacraft.kinematics.rows import Constraints
from soacraft.model.hinges import Free, Spherical
from soacraft.model.sizes.measure import measure_of
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.integrators.steps import Method, Problem, Step, check_turn, hermite
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import cross

#: Rounds of the iteration for a step, and what is rounding relative to the motion of the step.
_ROUNDS, _SMALL = 60, 4e-16
#: A change that no longer shrinks is rounding below this: of radians and lengths of the model, or of the motion.
_STALLED = 1e-12
#: Rows of closures that repeat others, relative to the largest.
_REPEATED = 1e-9


class Variational(Method):
    """Order two, symplectic on trees of pins, slides, ball joints and free bodies, and on closed chains of these;
    implicit, with derivatives of inverse dynamics: O(n depth) a round, O(m^2 nv) more for m rows of closures. Forces
    enter as in Lagrange and d'Alembert."""

    name = "variational"
    order = 2

    def step(self, problem: Problem, t: float, x: Array, h: float, w: Array) -> Step:
        """One step; nothing is kept but q and v, from which the momentum follows to rounding."""
        if not isinstance(problem, Mechanism):
            raise StateError(f"{self.name} needs a mechanism, which tells its inertia; got {problem!r:.60}.")
        problem.require_plain(self.name)
        q, v, work = problem.parts(x)
        check_turn(problem.coordinates, h * v, t, h)
        powers = np.zeros(len(work))
        for part in self._parts():
            mu = dyn.mass_matrix_multiply(problem.mb, q, v, ignore_loops=True)
            q, mu, power = _middle(problem, t, q, mu, part * h, v)
            powers += part * h * power
            t += part * h
            v = dyn.mass_matrix_solve(problem.mb, q, mu, ignore_loops=True)
            v = problem.closures.project_velocity(q, v)
        end = problem.point(q, v, work + powers)
        w1 = problem.rates(t, end)
        size = problem.motions.point_size
        u = np.concatenate([problem.motions.between(x[:size], end[:size]), powers])
        check_turn(problem.manifold, u, t, h)
        F = hermite(u, h * w, h * problem.manifold.rate(x, u, w1))
        return Step(problem, t - h, h, x, end, w, w1, F)

    def _parts(self) -> tuple[float, ...]:
        return (1.0,)


class Variational4(Variational):
    """Order four: three steps of order two, the middle one back (Yoshida 1990), symplectic as these."""

    name = "variational4"
    order = 4

    def _parts(self) -> tuple[float, ...]:
        a = 1.0 / (2.0 - 2.0 ** (1.0 / 3.0))
        return (a, 1.0 - 2.0 * a, a)


def _middle(problem: Mechanism, t: float, q: Array, mu: Array, h: float, v: Array) -> tuple[Array, Array, Array]:
    """q1, mu1 and the powers at the middle, from q0 and mu0; v is a guess."""
    mb = problem.mb
    xi, dofs = h * v, measure_of(mb, q).dofs
    last, rounds = np.inf, 0
    impulses = _Impulses(mb, q) if problem.is_closed else None
    while rounds < _ROUNDS:
        rounds += 1
        half = mb.integrate(q, 0.5 * xi)
        f, p, powers = _gradient(problem, t + 0.5 * h, half, xi / h)
        to_half, J_end = mb.integrate_jacobians(q, 0.5 * xi), mb.integrate_jacobians(q, xi)[1]
        back = mb.integrate_jacobians(q, -xi)[1]  # Jl(xi) = Jr(-xi)
        pi = p + 0.5 * h * (to_half[1].T @ f)
        remaining = mu - np.linalg.solve(back.T, pi) + h * (to_half[0].T @ f)
        if impulses is None:
            step = h * dyn.mass_matrix_solve(mb, half, remaining)
        else:
            step = impulses.step(half, remaining, mb.integrate(q, xi), J_end, h)
        xi = xi + step
        change, size = (float(np.abs(dofs * x).max(initial=0.0)) for x in (step, xi))
        if change <= _SMALL * size or (change >= 0.5 * last and change < _STALLED * max(1.0, size)):
            return mb.integrate(q, xi), np.asarray(np.linalg.solve(J_end.T, pi), dtype=np.float64), powers
        last = change
        if not problem.coordinates.turn(xi) < 2.0 * np.pi:  # beyond the end of the chart
            break
    raise ConvergenceError(
        f"a variational step of {h:.3g} s did not converge in {rounds} rounds (dofs still change by {change:.2g} rad "
        f"or lengths of the model){_far(problem, h, v)}; take a smaller step."
    )


class _Impulses:
    """Impulses of the closures at the start of a step, Gc(q0)* lambda, that let it end on them."""

    def __init__(self, mb: Multibody, q: Array) -> None:
        rows = Constraints(mb, mb.state(q))
        self._mb, self._G = mb, rows.jacobian() / rows.units[:, None]
        self._impulse = np.zeros(mb.nv)

    def step(self, half: Array, residual: Array, end: Array, J: Array, h: float) -> Array:
        """The change of xi for the residual of mu0, and for the gap g of the closures at the end: with C = Gc(q1)
        Jr(xi) and Mcal at the middle, xi = h Mcal^-1 (residual + Gc* lambda) and C xi = -g."""
        residual = residual + self._impulse
        X = h * dyn.mass_matrix_solve(self._mb, half, np.concatenate([[residual], self._G]), ignore_loops=True)
        rows = Constraints(self._mb, self._mb.state(end))
        C = (rows.jacobian() @ J) / rows.units[:, None]
        more = np.linalg.lstsq(C @ X[1:].T, -rows.residual / rows.units - C @ X[0], rcond=_REPEATED)[0]
        self._impulse = self._impulse + self._G.T @ more
        return np.asarray(X[0] + X[1:].T @ more)


def _far(problem: Mechanism, h: float, v: Array) -> str:
    """Text on a free body that travels too far within a step for its own size; empty if none does."""
    mb = problem.mb
    for body in mb.bodies:
        if type(body.hinge) is Free:
            travel = float(np.linalg.norm(h * v[mb.v_slice(body)][3:]))
            length = measure_of(mb, mb.q).length
            if travel > length:
                return (
                    f": hinge {body.hinge_name!r} travels {travel:.3g} m within it, {travel / length:.3g} lengths of "
                    "the model, and a step of a free body is a screw, which takes such a travel round with a turn"
                )
    return ""


def _gradient(problem: Mechanism, t: float, q: Array, v: Array) -> tuple[Array, Array, Array]:
    """dL/dq and forces, those of elastic modes among them, the momentum, and the powers of the forces."""
    mb = problem.mb
    mu = dyn.mass_matrix_multiply(mb, q, v, ignore_loops=True)
    forces, still = problem.all_forces(t, q, v), np.zeros(mb.nv)

    def slopes(v: Array) -> Array:
        return dyn.inverse_dynamics_derivatives(mb, q, v, still, passive=False, ignore_loops=True)[1]

    in_v, potential = slopes(v), dyn.gravity_force(mb, q, ignore_loops=True)
    if mb.layout.flexible:  # K eta, and D, which is all that is left at rest of how forces vary with velocities
        damping = slopes(still)
        in_v = in_v - damping
        potential = dyn.inverse_dynamics(mb, q, still, still, passive=False, ignore_loops=True) + damping @ v
    rotors = _armature(mb) * v  # their momentum stays in the axes of the hinge, it does not turn along
    kinetic = 0.5 * (in_v.T @ v - _bracket(mb, v, mu - rotors)) - _bracket(mb, v, rotors)
    return kinetic - potential + forces.sum(axis=0), mu, forces @ v


def _armature(mb: Multibody) -> Array:
    """The inertia of rotors along the dofs, (nv)."""
    J = np.zeros(mb.nv)
    for body, armature in zip(mb.bodies, mb.layout.armature, strict=True):
        if armature is not None:
            J[mb.v_slice(body)][: len(armature)] = armature
    return J


def _bracket(mb: Multibody, v: Array, mu: Array) -> Array:
    """ad_v* mu, hinge by hinge: (ad_v* mu) . w = mu . [v, w]."""
    bracket = np.zeros(len(v))
    for group in mb.layout.groups:
        for at in group.v_index if type(group.hinge) in (Spherical, Free) else ():
            w, m = v[at], mu[at]
            bracket[at[:3]] = cross(m[:3], w[:3])
            if len(at) == 6:
                bracket[at[:3]] += cross(m[3:], w[3:])
                bracket[at[3:]] = cross(m[3:], w[:3])
    return bracket

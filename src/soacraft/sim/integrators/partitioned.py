"""Methods for coordinates and velocities: symplectic Euler and Verlet.

They are symplectic where the kinetic energy does not depend on the configuration and forces not on the velocity
(particles, free bodies' travel); on other models they are plain methods of order one and two. `variational` is
symplectic on every tree and closed chain.
"""

from __future__ import annotations

import numpy as np

from soacraft.sim.integrators.steps import Method, Problem, Step, check_turn, hermite
from soacraft.spatial.checks import Array


class EulerSymplectic(Method):
    """v1 = v0 + h a(q0, v0), then q1 = move(q0, h v1)."""

    name = "euler_symplectic"
    order = 1
    limited = True

    def step(self, problem: Problem, t: float, x: Array, h: float, w: Array) -> Step:
        """One step, with one evaluation."""
        u = h * w
        nq, nt, nv = problem.sizes
        v1 = x[nq : nq + nv] + u[nt : nt + nv]
        u[:nt] = h * problem.tangent(x[:nq], v1)
        return _ended(problem, t, x, h, w, u)

    def amplification(self, hJ: Array, nt: int) -> Array:
        """(1 + hJ_q) (1 + hJ_v), with the rows of coordinates and of velocities."""
        eye, (go, push) = np.eye(len(hJ)), rows_of(hJ, nt)
        return np.asarray((eye + go) @ (eye + push))


class Verlet(Method):
    """v_half = v0 + (h/2) a(q0, v0), q1 = move(q0, h v_half), v1 = v_half + (h/2) a(q1, v0 + h a(q0, v0)).

    The last velocity is a prediction: exact where forces do not depend on it, and good to order two where they do.
    """

    name = "verlet"
    order = 2
    limited = True

    def step(self, problem: Problem, t: float, x: Array, h: float, w: Array) -> Step:
        """One step, with one new evaluation and one for the next step."""
        nq, nt, nv = problem.sizes
        half = x[nq : nq + nv] + 0.5 * h * w[nt : nt + nv]
        u = h * w
        u[:nt] = h * _midway(problem, x[:nq], 0.5 * u[:nt], half)
        check_turn(problem.manifold, u, t, h)
        predicted = problem.settle(t + h, problem.manifold.move(x, u), False)
        w1 = problem.manifold.rate(x, u, problem.rates(t + h, predicted))
        u[nt:] = 0.5 * h * (w[nt:] + w1[nt:])
        return _ended(problem, t, x, h, w, u)

    def amplification(self, hJ: Array, nt: int) -> Array:
        """1 + X + hJ_v (1 + (X + hJ_v)/2), with X = hJ_q (1 + hJ_v/2): the way of the coordinates."""
        eye, (go, push) = np.eye(len(hJ)), rows_of(hJ, nt)
        way = go @ (eye + 0.5 * push)
        return np.asarray(eye + way + push @ (eye + 0.5 * (way + push)))


def rows_of(J: Array, nt: int) -> tuple[Array, Array]:
    """Rows of J of coordinates and of velocities, each zero elsewhere."""
    of_q = (np.arange(len(J)) < nt)[:, None]
    return np.where(of_q, J, 0.0), np.where(of_q, 0.0, J)


def _midway(problem: Problem, q: Array, u: Array, v: Array) -> Array:
    """The tangent vector of the coordinates half a step on: that of what rolls depends on where it is."""
    if len(u) == len(v):
        return v
    rest = np.zeros(problem.manifold.size - len(u))
    x = problem.manifold.move(np.concatenate([q, np.zeros(problem.manifold.point_size - len(q))]), np.append(u, rest))
    return problem.tangent(x[: len(q)], v)


def _ended(problem: Problem, t: float, x: Array, h: float, w: Array, u: Array) -> Step:
    check_turn(problem.manifold, u, t, h)
    end = problem.settle(t + h, problem.manifold.move(x, u), True)
    w1 = problem.rates(t + h, end)
    F = hermite(u, h * w, h * problem.manifold.rate(x, u, w1))
    return Step(problem, t, h, x, end, w, w1, F)

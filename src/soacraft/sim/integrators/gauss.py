"""Gauss-Legendre methods in the chart of the step's start: implicit, of the highest order for their stages.

    U_i = h sum of a_ij K_j,    K_i = rate(x, U_i, w(t + c_i h, move(x, U_i))),    u = h sum of b_i K_i

solved by repetition from the rates at the start. On plain coordinates they are symmetric; on quaternions, in the chart
of the start, up to their order.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from soacraft.errors import ConvergenceError
from soacraft.sim.integrators.steps import Method, Problem, Step, check_turn, hermite
from soacraft.spatial.checks import Array

#: Rounds of the iteration, and what is rounding relative to the change over a step.
_ROUNDS, _SMALL = 80, 2e-16
#: A change that no longer shrinks is rounding below this, relative to `Problem.scale` or to the change over a step.
_STALLED = 1e-12
#: Change below which, after so many rounds, it is rounding, for states that are put on closures to their tolerance.
_SETTLED, _PATIENCE = 1e-9, 8


class Gauss(Method):
    """A method with the tableau A, b, c of Gauss."""

    A: ClassVar[Array]
    b: ClassVar[Array]
    c: ClassVar[Array]

    def step(self, problem: Problem, t: float, x: Array, h: float, w: Array) -> Step:
        """One step, its stages by fixed-point iteration."""
        manifold = problem.manifold
        K = np.tile(w, (len(self.b), 1))
        scale, last, best, since = problem.scale(x, w), np.inf, np.inf, 0
        for _ in range(_ROUNDS):
            new = np.empty_like(K)
            for i, U in enumerate(h * (self.A @ K)):
                check_turn(manifold, U, t, h)
                at = t + self.c[i] * h
                new[i] = manifold.rate(x, U, problem.rates(at, problem.settle(at, manifold.move(x, U), False)))
            parts = new - K, [problem.varying(k) for k in new]
            change, size = (abs(h) * float(np.abs(k / scale).max(initial=0.0)) for k in parts)
            K = new
            if change <= _SMALL * size or (change >= 0.5 * last and change < _STALLED * max(1.0, size)):
                break
            best, since = (change, 0) if change < 0.5 * best else (best, since + 1)
            if since >= _PATIENCE and change < _SETTLED * max(1.0, size):
                break
            last = change
        else:
            raise ConvergenceError(
                f"a step of {h:.3g} s of {self.name} did not converge in {_ROUNDS} rounds (its motion still changes "
                f"by {last:.2g} of what dofs and velocities are measured by); take a smaller step, or 'radau' for "
                "a stiff problem."
            )
        u = h * (self.b @ K)
        check_turn(manifold, u, t, h)
        end = problem.settle(t + h, manifold.move(x, u), True)
        w1 = problem.rates(t + h, end)
        return Step(problem, t, h, x, end, w, w1, hermite(u, h * w, h * manifold.rate(x, u, w1)))


def _tableau(stages: int) -> tuple[Array, Array, Array]:
    """A, b, c from the nodes of Legendre: a_ij is the integral to c_i of the polynomial that is 1 at c_j alone."""
    nodes, weights = np.polynomial.legendre.leggauss(stages)
    c = 0.5 * (nodes + 1.0)
    A = np.empty((stages, stages))
    for j in range(stages):
        others = np.delete(c, j)
        ell = np.polynomial.Polynomial.fromroots(others) / np.prod(c[j] - others)
        A[:, j] = ell.integ()(c)
    return A, 0.5 * weights, c


class Gauss4(Gauss):
    """Two stages, order four."""

    name = "gauss4"
    order = 4
    A, b, c = _tableau(2)


class Gauss6(Gauss):
    """Three stages, order six."""

    name = "gauss6"
    order = 6
    A, b, c = _tableau(3)

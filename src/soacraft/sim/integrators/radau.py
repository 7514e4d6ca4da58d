"""Radau IIA of order five in the chart of the step's start, for stiff problems: springs and dampers far faster than the
motion (Hairer and Wanner, Solving Ordinary Differential Equations II, IV.8).

    Z_i = h sum of a_ij rate(x, Z_j, w(t + c_j h, move(x, Z_j))),    u = Z_3

by simplified Newton steps with the Jacobian at the step's start: analytic on trees and closed chains, from the
derivatives of forward dynamics, in which the model's own springs and dampers are; of other forces by differences.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from soacraft.errors import ConvergenceError
from soacraft.sim.integrators.steps import Method, Problem, Step, check_turn, hermite, settled
from soacraft.spatial.checks import Array

_ROOT = 6.0**0.5
_A = np.array(
    [
        [(88 - 7 * _ROOT) / 360, (296 - 169 * _ROOT) / 1800, (-2 + 3 * _ROOT) / 225],
        [(296 + 169 * _ROOT) / 1800, (88 + 7 * _ROOT) / 360, (-2 - 3 * _ROOT) / 225],
        [(16 - _ROOT) / 36, (16 + _ROOT) / 36, 1 / 9],
    ]
)
_C = np.array([(4 - _ROOT) / 10, (4 + _ROOT) / 10, 1.0])
_E = np.array([-13 - 7 * _ROOT, -13 + 7 * _ROOT, -1.0]) / 3
_MU = 3 + 3 ** (2 / 3) - 3 ** (1 / 3)  # the real eigenvalue of A^-1
#: Newton steps of one step, and when they end, relative to the tolerance.
_ROUNDS, _SETTLED = 12, 1e-3
#: A change that no longer shrinks is rounding below this, relative to `Problem.scale` or to the change over a step.
_STALLED = 1e-13


class Radau(Method):
    """Three stages, order five, stable however stiff; its estimate of the error is of order three."""

    name = "radau"
    order = 5
    error_order = 4
    adaptive = True

    def __init__(self, rtol: float = 1e-9) -> None:
        self._rtol = rtol

    def step(self, problem: Problem, t: float, x: Array, h: float, w: Array) -> Step:
        """One step; one that does not converge is a `ConvergenceError`, and a shorter one is tried."""
        manifold, size = problem.manifold, problem.manifold.size
        J = problem.jacobian(t, x, w)
        scale = problem.scale(x, w)
        counted = np.isfinite(scale)
        system = lu_factor(np.eye(3 * size) - h * np.kron(_A, J))
        Z = np.outer(_C, h * w)
        last = np.inf
        for _ in range(_ROUNDS):
            K = np.empty((3, size))
            for i, U in enumerate(Z):
                check_turn(manifold, U, t, h)
                at = t + _C[i] * h
                K[i] = manifold.rate(x, U, problem.rates(at, problem.settle(at, manifold.move(x, U), False)))
            change = lu_solve(system, (h * (_A @ K) - Z).ravel()).reshape(3, size)
            Z = Z + change
            remaining = float(np.abs(change[:, counted] / scale[counted]).max(initial=0.0))
            most = float(np.abs(Z[:, counted] / scale[counted]).max(initial=0.0))
            if remaining <= max(_SETTLED * self._rtol, 1e-15) or (
                remaining >= 0.5 * last and remaining <= _STALLED * max(1.0, most)
            ):
                break
            if not remaining <= 2.0 * last:
                raise ConvergenceError(f"the Newton steps of radau diverge at a step of {h:.3g} s.")
            last = remaining
        else:
            raise ConvergenceError(f"the Newton steps of radau do not converge at a step of {h:.3g} s.")
        u = Z[2].copy()
        check_turn(manifold, u, t, h)
        end, drift = settled(problem, t + h, manifold.move(x, u))
        w1 = problem.rates(t + h, end)
        error = np.linalg.solve(_MU / h * np.eye(size) - J, w + _E @ Z / h)
        F = hermite(u, h * w, h * manifold.rate(x, u, w1))
        return Step(problem, t, h, x, end, w, w1, F, np.array([error]), drift=drift)

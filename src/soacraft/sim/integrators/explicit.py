"""Explicit Runge-Kutta methods in the chart of the step's start (Runge-Kutta-Munthe-Kaas).

    U_i = h sum over j < i of a_ij K_j,    K_i = rate(x, U_i, w(t + c_i h, move(x, U_i))),    u = h sum of b_i K_i

The rate carries dexp^-1 exactly, so that the order on quaternions is that of the tableau (Munthe-Kaas 1999; Hairer,
Lubich, Wanner, Geometric Numerical Integration, IV.8).
"""

from __future__ import annotations

from contextlib import suppress
from typing import ClassVar

import numpy as np
from scipy.integrate import DOP853

from soacraft.errors import LoopError
from soacraft.sim.integrators.steps import Method, Problem, Step, check_turn, hermite, settled
from soacraft.spatial.checks import Array


class Explicit(Method):
    """An explicit method with the tableau A, b, c."""

    A: ClassVar[Array]
    b: ClassVar[Array]
    c: ClassVar[Array]

    def step(self, problem: Problem, t: float, x: Array, h: float, w: Array) -> Step:
        """One step; the velocity at its end is computed for the next one."""
        K, last = self._stages(problem, t, x, h, w)
        u = h * (self.b @ K[:-1])
        check_turn(problem.manifold, u, t, h)
        end, drift = settled(problem, t + h, problem.manifold.move(x, u))
        w1 = problem.rates(t + h, end)
        K[-1] = problem.manifold.rate(x, u, w1)
        F = hermite(u, h * K[0], h * K[-1])
        steepness = (K[-1] - K[-2], u - last) if self.adaptive else None  # the last stage is at t + h as well
        bend = h * self.b[-1] * (K[-1] - K[-2]) if self.adaptive else None
        F = self._dense(problem, t, x, h, K, F)
        return Step(problem, t, h, x, end, w, w1, F, self._error(h, K), steepness, bend, drift)

    def _stages(self, problem: Problem, t: float, x: Array, h: float, w: Array) -> tuple[Array, Array]:
        """K, and the chart coordinates of the last stage.

        Fixed steps of a projected closed chain leave their stages next to the closures. Accelerations there leave the
        residual of the closures unchanged, so that the closures are an invariant of the motion of all dofs, and its
        method has its order (Hairer, Lubich, Wanner, Geometric Numerical Integration, IV.4). Where a stage is farther
        off than a state may be, all of them are put back.
        """
        if problem.projects and not self.adaptive:
            with suppress(LoopError):
                return self._slopes(problem, t, x, h, w, settle=False)
        return self._slopes(problem, t, x, h, w, settle=True)

    def _slopes(self, problem: Problem, t: float, x: Array, h: float, w: Array, *, settle: bool) -> tuple[Array, Array]:
        K = np.zeros((len(self.b) + 1, problem.manifold.size))
        K[0], last = w, np.zeros(0)
        for i in range(1, len(self.b)):
            last = h * (self.A[i, :i] @ K[:i])
            K[i] = _slope(problem, t, x, h, last, self.c[i], settle)
        return K, last

    def _dense(self, problem: Problem, t: float, x: Array, h: float, K: Array, F: Array) -> Array:
        return F

    def _error(self, h: float, K: Array) -> Array | None:
        return None


def _slope(problem: Problem, t: float, x: Array, h: float, u: Array, c: float, settle: bool = True) -> Array:
    """K at chart coordinates u; `settle` puts their point back on the closures."""
    check_turn(problem.manifold, u, t, h)
    point = problem.manifold.move(x, u)
    if settle:
        point = problem.settle(t + c * h, point, False)
    return problem.manifold.rate(x, u, problem.rates(t + c * h, point))


class RK4(Explicit):
    """The classical method of order four."""

    name = "rk4"
    order = 4
    limited = True
    A = np.array([[0, 0, 0, 0], [0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 1, 0]])
    b = np.array([1, 2, 2, 1]) / 6
    c = np.array([0, 0.5, 0.5, 1])

    def amplification(self, hJ: Array, nt: int) -> Array:
        """1 + z + z^2/2 + z^3/6 + z^4/24 of z = h J."""
        eye = np.eye(len(hJ))
        return np.asarray(eye + hJ @ (eye + hJ @ (eye + hJ @ (eye + hJ / 4) / 3) / 2))


class Dop853(Explicit):
    """Dormand and Prince's method of order eight with estimates of order five and three and dense output of order seven
    (Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.5-6). Twelve evaluations a step, and three
    for the dense output.
    """

    name = "dop853"
    order = 8
    adaptive = True
    A, b, c = DOP853.A[: DOP853.n_stages, : DOP853.n_stages], DOP853.B, DOP853.C[: DOP853.n_stages]

    def _error(self, h: float, K: Array) -> Array:
        rise = K - K[0]  # weights of an error have the sum zero
        return np.asarray(h * np.array([DOP853.E5 @ rise, DOP853.E3 @ rise]))

    def _dense(self, problem: Problem, t: float, x: Array, h: float, K: Array, F: Array) -> Array:
        more = np.concatenate([K, np.zeros((len(DOP853.A_EXTRA), K.shape[1]))])
        for i, (a, c) in enumerate(zip(DOP853.A_EXTRA, DOP853.C_EXTRA, strict=True), len(K)):
            more[i] = _slope(problem, t, x, h, h * (a[:i] @ more[:i]), c)
        return np.concatenate([F, h * (DOP853.D @ more)])

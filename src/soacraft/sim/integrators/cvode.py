"""CVODE of SUNDIALS for stiff problems: backward differentiation formulas of order one to five, variable step and order
(Hindmarsh and others 2005), through scikit-sundae, the extra `dae`.

Newton's method takes our Jacobian. In the chart of x at u, with y = move(x, u), A = d rate / dw and J_y the Jacobian at
y in its own chart,

    d(udot)/du = D(x, u) + A (J_y - D(y, 0)) A^-1,     D(x, u) = d rate(x, u, w) / du at constant w

D is by differences of the chart alone: no dynamics is evaluated for it.
"""

from __future__ import annotations

import numpy as np

from soacraft.sim.integrators.manifold import Manifold
from soacraft.sim.integrators.steps import Problem
from soacraft.sim.integrators.sundials import Session, Sundials, sundials
from soacraft.spatial.checks import Array

#: The step of differences within the chart, relative to what u is measured by: the root of rounding.
_STEP = 1e-7


class Cvode(Sundials):
    """Orders one to five, chosen by the solver with its steps; damped fast motions cost nothing."""

    name = "cvode"
    order = 5

    def __init__(self, rtol: float = 1e-9) -> None:
        super().__init__(rtol)
        self._solvers = sundials("cvode", self.name)

    def begin(self, problem: Problem, t: float, x: Array, w: Array, first: float, most: float) -> Session:
        """A session from here."""
        session = Session(problem, t, x, w, self._rtol)

        def rhs(s: float, u: Array, udot: Array) -> None:
            try:
                udot[:] = session.rates(s, np.array(u))
            except BaseException as wrong:
                session.failed = wrong
                raise

        def jac(s: float, u: Array, udot: Array, J: Array) -> None:
            try:
                J[:] = chart_jacobian(session, s, np.array(u))
            except BaseException as wrong:
                session.failed = wrong
                raise

        options = {"rtol": 1e-15, "atol": session.atol, "first_step": first, "max_step": most}
        session.solver = self._solvers.CVODE(rhs, jacfn=jac, max_num_steps=100000, **options)
        session.solver.init_step(0.0, session.u)
        return session


def chart_jacobian(session: Session, s: float, u: Array) -> Array:
    """d(udot)/du in the chart of the session."""
    manifold, problem = session.manifold, session.problem
    y = session.point(s, u)
    w = problem.rates(session.t0 + s, y)
    J = problem.jacobian(session.t0 + s, y, w)
    if manifold.flat:
        return J
    A = rate_matrix(manifold, session.x0, u)
    unit = np.where(np.isfinite(session.scale), session.scale, 1.0)
    D, E = chart_slope(manifold, session.x0, u, w, unit), chart_slope(manifold, y, np.zeros_like(u), w, unit)
    return np.asarray(D + A @ np.linalg.solve(A.T, (J - E).T).T)


def rate_matrix(manifold: Manifold, x: Array, u: Array) -> Array:
    """A with rate(x, u, w) = A w at any velocity w, that of the travel of what is free included."""
    return np.array([manifold.rate(x, u, e) for e in np.eye(manifold.size)]).T


def chart_slope(manifold: Manifold, x: Array, u: Array, w: Array, unit: Array) -> Array:
    """D: how rate(x, u, w) varies with u at constant w, by central differences, u measured by `unit`."""
    steps = _STEP * np.diag(unit)
    columns = [manifold.rate(x, u + d, w) - manifold.rate(x, u - d, w) for d in steps]
    return np.asarray(np.array(columns).T / (2.0 * _STEP * unit))

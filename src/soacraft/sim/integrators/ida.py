"""IDA of SUNDIALS: backward differentiation formulas for implicit equations (Brown, Hindmarsh, Petzold 1994), through
scikit-sundae, the extra `dae`. Trees are solved as they stand, with inverse dynamics; closed chains and prescribed
motions as equations of index two, with the constraints of coordinates and of velocities (Gear, Gupta, Leimkuhler 1985):

    udot = rate(x, u, v - Gc* mu),     Mcal vdot + C = T - c Gc* lambda,     g(t, q) = 0,     Gc v + dg/dt = 0

in y = [u; v; work; lambda; mu], u in the chart of the start. Multipliers have no part in the test of errors. Newton's
matrix is analytic but for loads that are functions:

    [ cj - D   -A              A Gc*  ]      A = d rate/dw,  D = d rate/du,  K, Dv, M of the balance of forces,
    [ K A^-1   Dv + cj M  c Gc*       ]      S of the velocity rows, all along the dofs
    [ Gc A^-1                         ]
    [ S A^-1   Gc                     ]

What rolls, or sticks by friction, is solved as udot = F(t, u).
"""

from __future__ import annotations

import numpy as np

from soacraft.sim.descriptor import SOFT, Descriptor
from soacraft.sim.integrators.chart_slopes import ChartSlopes
from soacraft.sim.integrators.cvode import chart_jacobian, chart_slope, rate_matrix
from soacraft.sim.integrators.steps import Problem
from soacraft.sim.integrators.sundials import UNMEASURED, Session, Sundials, sundials
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import Array


class Ida(Sundials):
    """Orders one to five, for equations that are not solved for the accelerations."""

    name = "ida"
    order = 5

    def __init__(self, rtol: float = 1e-9) -> None:
        super().__init__(rtol)
        self._solvers = sundials("ida", self.name)

    def begin(self, problem: Problem, t: float, x: Array, w: Array, first: float, most: float) -> Session:
        """A session from here."""
        equations = Explicit(problem, t, x, w, self._rtol)
        plain = isinstance(problem, Mechanism) and not (problem.holds.all or problem.rolls)
        if plain and isinstance(problem, Mechanism) and problem.coordinates.size == problem.mb.nv:
            equations = Implicit(problem, t, x, w, self._rtol)

        def residual(s: float, y: Array, ydot: Array, left: Array) -> None:
            try:
                left[:] = equations.residual(s, np.array(y), np.array(ydot))
            except BaseException as wrong:
                equations.failed = wrong
                raise

        def jac(s: float, y: Array, ydot: Array, left: Array, cj: float, J: Array) -> None:
            try:
                J[:] = equations.matrix(s, np.array(y), np.array(ydot), cj)
            except BaseException as wrong:
                equations.failed = wrong
                raise

        y, ydot = equations.start()
        size = equations.manifold.size
        atol = np.concatenate([equations.atol, np.full(len(y) - size, UNMEASURED)])
        options = {"rtol": 1e-15, "atol": atol, "first_step": first, "max_step": most}
        if len(y) > size:
            options["algebraic_idx"] = list(range(size, len(y)))
        equations.solver = self._solvers.IDA(residual, jacfn=jac, max_num_steps=100000, **options)
        equations.solver.init_step(0.0, y, ydot)
        return equations


class Explicit(Session):
    """udot = F(t, u)."""

    def start(self) -> tuple[Array, Array]:
        """y and its rate at the start."""
        return self.u, self.w

    def residual(self, s: float, y: Array, ydot: Array) -> Array:
        """Residual of the equations."""
        return np.asarray(ydot - self.rates(s, y))

    def matrix(self, s: float, y: Array, ydot: Array, cj: float) -> Array:
        """d residual / dy + cj d residual / dydot."""
        return np.asarray(cj * np.eye(len(y)) - chart_jacobian(self, s, y))


class Implicit(Explicit):
    """The equations of a mechanism as they stand."""

    problem: Mechanism

    def __init__(self, problem: Mechanism, t: float, x: Array, w: Array, rtol: float) -> None:
        super().__init__(problem, t, x, w, rtol)
        q, v, _ = problem.parts(x)
        self._form = Descriptor(problem, "ida", q, independent=True)
        self._q = q
        nv = problem.mb.nv
        rows = self._form.rows(t, q, v)
        self._multipliers = self._form.multipliers(t, q, v, w[nv : 2 * nv], rows)

    def start(self) -> tuple[Array, Array]:
        """y and its rate at the start."""
        more = np.zeros_like(self._multipliers)
        return np.concatenate([self.u, self._multipliers, more]), np.concatenate([self.w, more, more])

    def residual(self, s: float, y: Array, ydot: Array) -> Array:
        """Residual of the equations; the balance of forces and the rows without units."""
        m, form, t = self.problem, self._form, self.t0 + s
        nv, size = m.mb.nv, self.manifold.size
        q, v = self._state(s, y)
        lam, mu = np.split(y[size:], 2)
        rows = form.rows(t, q, v)
        carried = m.coordinates.rate(self._q, y[:nv], v - form.unit**2 * (rows.G.T @ mu))
        powers = m.forces_with(t, q, v, form.reaction(rows, lam)) @ v
        balance = form.balance(t, q, v, self._own(q, ydot), rows, lam)
        return np.concatenate([ydot[:nv] - carried, balance, ydot[2 * nv : size] - powers, rows.g, rows.speed])

    def matrix(self, s: float, y: Array, ydot: Array, cj: float) -> Array:
        """d residual / dy + cj d residual / dydot; of the powers, which feed nothing back, cj alone."""
        m, form, t = self.problem, self._form, self.t0 + s
        nv, size, unit = m.mb.nv, self.manifold.size, form.unit
        q, v = self._state(s, y)
        lam, mu = np.split(y[size:], 2)
        G = form.rows(t, q, v).G
        a = self._own(q, ydot)
        d = form.derivatives(t, q, v, m.coordinates.own(v, a), lam)
        one, none = np.eye(nv), np.zeros((nv, nv))
        A, D, back, in_y, in_u = one, none, one, one, none
        if not m.coordinates.flat:
            carried = v - unit**2 * (G.T @ mu)
            A = rate_matrix(m.coordinates, self._q, y[:nv])
            D = chart_slope(m.coordinates, self._q, y[:nv], carried, unit)
            chart = ChartSlopes(m.mb, m.coordinates)
            J_q, back = chart.jacobians(self._q, y[:nv])
            in_y, in_u = chart.velocity(v, J_q, back)
            d = form.in_chart(d, self._q, y[:nv], v, a)
            D = D + A @ in_u
        scale = (unit / form.c)[:, None]
        at_u, at_v, count = slice(0, nv), slice(nv, 2 * nv), len(lam)
        at_g, at_speed = slice(size, size + count), slice(size + count, size + 2 * count)
        J = cj * np.eye(len(y))
        J[at_u, at_u] -= D
        J[at_u, at_v] = -A @ in_y
        J[at_u, at_speed] = A @ (unit[:, None] ** 2 * G.T)
        J[at_v, at_u], J[at_v, at_v] = scale * d.K, scale * (d.D + cj * d.M)
        J[at_v, at_g] = (G * unit).T
        J[at_g, at_u], J[at_speed, at_u], J[at_speed, at_v] = G @ back, d.turning @ back + G @ in_u, G @ in_y
        soft = -SOFT / cj * np.eye(count)  # as much as the multipliers' part, next to it
        J[at_g, at_g], J[at_speed, at_speed], J[at_g, at_speed], J[at_speed, at_g] = 0.0, 0.0, soft, soft
        return J

    def is_worn(self) -> bool:
        """True if the next step had better begin a new session, with other independent rows."""
        return super().is_worn() or self._form.is_worn(self.problem.parts(self.x)[0])

    def _state(self, s: float, y: Array) -> tuple[Array, Array]:
        """q and v, not put on any closure: the rows see to that."""
        x = self.manifold.move(self.x0, y[: self.manifold.size])
        q, v, _ = self.problem.parts(x)
        return q, v

    def _own(self, q: Array, ydot: Array) -> Array:
        """The rates of velocities at a point, in the axes that it has there."""
        nv = self.problem.mb.nv
        return self.problem.coordinates.velocity(q, ydot[nv : 2 * nv], self._q)

"""A mechanism in descriptor form, as solvers of differential-algebraic equations take it.

    Mcal vdot + C = T - c Gc* lambda,     g(t, q) = 0,     Gc v + dg/dt = 0

g are the closures, the couplings and the prescribed coordinates, all without unit: a closure has six rows, Q* Q xi of
its gap over [1 rad; its length], which vary smoothly with the state, however Q is chosen. c is an inertia, so that
lambda is an acceleration without unit of length.

Closures may repeat each other, as of linkages that move though they have too many of them (Bricard's): off the closures
all their rows count, on them fewer do, and Newton's method has no solution that it could go to. Then a constant set of
combinations of rows is taken that is independent near the start, U* of the largest singular values, for as long as it
is (`is_worn`). `SOFT` keeps Newton's matrix regular where rows repeat each other at single states.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft import dynamics as dyn
from soacraft.errors import LoopError, ModelError
from soacraft.kinematics.row_derivatives import row_derivatives
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.tasks import body_forces
from soacraft.model.sizes.measure import measure_of
from soacraft.model.tree.frames.frame import Frame
from soacraft.sim import jacobian
from soacraft.sim.integrators.chart_slopes import ChartSlopes
from soacraft.spatial.checks import Array
from soacraft.spatial.wrench import Wrench

if TYPE_CHECKING:
    from soacraft.sim.system import Mechanism

#: Diagonal of Newton's matrix, relative to 1, where rows repeat each other: it slows convergence by no more than this,
#: and does not change answers.
SOFT = 1e-9
#: Singular values below this part of the largest are of rows that repeat others.
_REPEATED = 1e-9
#: Distance at which the rank of rows is determined, in radians or lengths of the model; and the least share of
#: independent rows in all, relative to that at the choice, below which others are chosen.
_ASIDE, _WORN = 1e-2, 0.3


class Rows(NamedTuple):
    """The constraints at one state."""

    g: Array
    """Openings of the constraints, (m)."""
    G: Array
    """(m, nv)."""
    speed: Array
    """Rates of the openings, (m)."""


class Derivatives(NamedTuple):
    """Derivatives of the balance of forces along the dofs, in v and in vdot; of `Rows.speed` along the dofs."""

    K: Array
    D: Array
    M: Array
    turning: Array


class Descriptor:
    """The equations of a mechanism from a state on; `independent`: with rows that do not repeat each other there."""

    def __init__(self, m: Mechanism, method: str, q: Array, independent: bool = False) -> None:
        if m.coordinates.size != m.mb.nv:
            body = next(x for x in m.mb.bodies if not x.hinge.holonomic)
            raise ModelError(
                f"{method} takes holonomic hinges, but hinge {body.hinge_name!r} of {m.mb.name!r} is a "
                f"{type(body.hinge).__name__}; use 'radau', 'cvode' or 'dop853'."
            )
        if m.rolls:
            raise ModelError(
                f"{method} takes closures that say where bodies are, and loop {m.rolls!r} of {m.mb.name!r} rolls or "
                "skates; use 'radau', 'cvode' or 'dop853'."
            )
        if m.holds.all:
            raise LoopError(
                f"the {m.holds.all[0].name} of {m.mb.name!r} would stick, which {method} does not know; give "
                "HingeFriction(..., smooth=speed), or use 'radau' or 'dop853'."
            )
        self._m, self.closed = m, m.is_closed
        self.unit = 1.0 / measure_of(m.mb, q).dofs
        """Unit of each dof, (nv)."""
        inertia = self.unit**2 * np.diagonal(dyn.mass_matrix(m.mb, q, ignore_loops=True))
        self.c = float(inertia.max(initial=0.0)) or 1.0
        self._pick = self._independent(q) if self.closed and independent else None
        self._share = 1.0 if self._pick is None else self._share_of(q)

    def is_worn(self, q: Array) -> bool:
        """True if another set of independent rows would serve much better than the one that was chosen."""
        return self._pick is not None and self._share_of(q) < _WORN * self._share

    def _independent(self, q: Array) -> Array | None:
        """Combinations of the rows of closures that are independent on them, (rank, rows); None where as many are off
        them, so that Newton's method has a solution to go to."""
        G, rng, unit = self._unitless(q), np.random.default_rng(0), self.unit
        _, values, Vt = np.linalg.svd(G)
        rank = _rank(values)
        off = _rank(np.linalg.svd(self._unitless(self._aside(q, rng.standard_normal(len(unit)))), compute_uv=False))
        if rank == off:
            return None
        both = [G]
        with suppress(LoopError):  # next to it, on the closures, where a singular pose is none
            near = self._aside(q, Vt[rank:].T @ rng.standard_normal(len(Vt) - rank))
            both.append(self._unitless(self._m.closures.onto(near, np.zeros(len(unit)), None)[0]))
        rank = max(_rank(np.linalg.svd(x, compute_uv=False)) for x in both)
        return None if rank == off else np.asarray(np.linalg.svd(np.hstack(both))[0][:, :rank].T)

    def _aside(self, q: Array, way: Array) -> Array:
        """A configuration a little aside of one."""
        return self._m.mb.integrate(q, _ASIDE * self.unit * way / max(float(np.abs(way).max(initial=0.0)), 1.0))

    def _unitless(self, q: Array) -> Array:
        """All rows of closures along the dofs, each in its unit."""
        constraints = self._constraints(q, np.zeros(len(self.unit)))
        return np.asarray(_to_six(constraints) @ constraints.jacobian() * self.unit)

    def _share_of(self, q: Array) -> float:
        """The least singular value of the chosen rows, relative to that of as many of all."""
        assert self._pick is not None
        G = self._unitless(q)
        values, chosen = (np.linalg.svd(x, compute_uv=False) for x in (G, self._pick @ G))
        return float(chosen[len(self._pick) - 1] / values[len(self._pick) - 1])

    def _to_rows(self, constraints: Constraints) -> Array:
        to_six = _to_six(constraints)
        return to_six if self._pick is None else np.asarray(self._pick @ to_six)

    def balance(self, t: float, q: Array, v: Array, a: Array, rows: Rows, multipliers: Array) -> Array:
        """Mcal vdot + C - T + c Gc* lambda at the rates a of a mechanism, each dof in its unit over c, (nv)."""
        loads = self._m.load_force(t, q, v)
        remainder = self._m.force_for(q, v, a) - loads
        return np.asarray(remainder * self.unit / self.c + (rows.G * self.unit).T @ multipliers)

    def multipliers(self, t: float, q: Array, v: Array, a: Array, rows: Rows) -> Array:
        """Multipliers of least norm that balance given rates."""
        remainder = self.balance(t, q, v, a, rows, np.zeros(len(rows.g)))
        return np.asarray(-np.linalg.lstsq((rows.G * self.unit).T, remainder, rcond=1e-9)[0])

    def reaction(self, rows: Rows, multipliers: Array) -> Array:
        """The generalized force of the prescribed coordinates, whose rows are the last, (nv)."""
        last = slice(len(multipliers) - len(self._m.prescribed_dofs), len(multipliers))
        return np.asarray(-self.c * rows.G[last].T @ multipliers[last])

    def rows(self, t: float, q: Array, v: Array) -> Rows:
        """The constraints at a state."""
        nv, parts_of_rows = self._m.mb.nv, [Rows(np.zeros(0), np.zeros((0, self._m.mb.nv)), np.zeros(0))]
        if self.closed:
            constraints = self._constraints(q, v)
            to_six = self._to_rows(constraints)
            parts = (constraints.residual, constraints.jacobian(), constraints.speed)
            parts_of_rows.append(Rows(*(to_six @ x for x in parts)))
        if self._m.prescribed_dofs:
            numbers, off, speed = self._m.prescribed.off(t, q, v)
            scale = 1.0 / self.unit[numbers]
            parts_of_rows.append(Rows(scale * off, scale[:, None] * np.eye(nv)[numbers], scale * speed))
        return Rows(*(np.concatenate(x) for x in zip(*parts_of_rows, strict=True)))

    def derivatives(self, t: float, q: Array, v: Array, vdot: Array, multipliers: Array) -> Derivatives:
        """Analytic but for loads that are functions. O(n nv + m nv)."""
        m, nv = self._m, self._m.mb.nv
        turning = np.zeros((len(multipliers), nv))
        push = np.zeros((nv, nv))
        f_ext: dict[Frame, Wrench] = {}
        if self.closed:
            constraints = self._constraints(q, v)
            to_six = self._to_rows(constraints)
            multipliers_of_rows = self.c * (to_six.T @ multipliers[: len(to_six)])
            of_rows = row_derivatives(constraints, v, vdot, multipliers_of_rows)
            push, turning[: len(to_six)] = of_rows.push, to_six @ of_rows.speed
            for body, wrench in body_forces(constraints, multipliers_of_rows):
                before = f_ext.get(body, Wrench(np.zeros(3), np.zeros(3)))
                f_ext[body] = Wrench(before.moment + wrench.moment, before.force + wrench.force)
        K, D, M = dyn.inverse_dynamics_derivatives(m.mb, q, v, vdot, f_ext, ignore_loops=True)
        _, of_loads = jacobian.of_loads(m, t, q, v)
        return Derivatives(K + push - of_loads[:, :nv], D - of_loads[:, nv:], M, turning)

    def scaled(self, x: Array) -> Array:
        """A matrix between dofs as one between their units, over c."""
        return np.asarray(x * self.unit * self.unit[:, None] / self.c)

    def in_chart(self, d: Derivatives, q0: Array, u: Array, v: Array, a: Array) -> Derivatives:
        """Derivatives in the chart of q0 at u: along u, in dv and in its rate. Of the travel of what is free dv and
        its rate are in the axes of the start."""
        chart = ChartSlopes(self._m.mb, self._m.coordinates)
        J_q, J_u = chart.jacobians(q0, u)
        in_y, in_u = chart.velocity(v, J_q, J_u)
        in_k, of_k = chart.velocity(a, J_q, J_u)
        drag = d.D - d.M @ chart.straight(v)
        return Derivatives(d.K @ J_u + drag @ in_u + d.M @ of_k, drag @ in_y, d.M @ in_k, d.turning)

    def _constraints(self, q: Array, v: Array) -> Constraints:
        return Constraints(self._m.mb, self._m.mb.state(q, v))


def _rank(values: npt.NDArray[np.floating[Any]]) -> int:
    """Number of singular values that are not rounding."""
    return int((values > _REPEATED * values.max(initial=0.0)).sum())


def _to_six(constraints: Constraints) -> Array:
    """Matrix from the rows of closures and couplings to those without unit: Q* over [1 rad; length], six of each
    closure."""
    loops, couplings = constraints.loops, constraints.couplings
    rows = np.zeros((6 * len(loops) + len(couplings), constraints.size))
    for i, (loop, (_, at)) in enumerate(zip(loops, constraints.places, strict=False)):
        rows[6 * i : 6 * i + 6, at] = loop.Q.T / np.repeat([1.0, loop.length], 3)[:, None]
    for i, row in enumerate(couplings):
        rows[6 * len(loops) + i, constraints.places[len(loops) + i][1].start] = 1.0 / row.size
    return rows

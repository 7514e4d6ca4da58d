"""Derivatives of the steps of a run, `run.derivatives()`, and of rollouts of closed chains; exact for steps as taken.

A step goes through states (q_i, v_i). On a closed chain each is put on its closures by projection, or by independent
dofs that were named, q = q(q_i) and v = X v_i. That moves tangent vectors by

    dq' = P dq,     dv' = P dv + B dq,     P = X E_i,    B = dX/dq v_i          (E_i takes the independent dofs)
    dq' = C dq,     dv' = P dv + B dq,     P = Y Mcal                           (C, B by differences of the projection)

and the slopes at it vary with F_q, F_v, F_T of forward dynamics, F_p along parameters. Of an inertia, an armature, a
spring or a damper F_p = -F_T dT/dp, with dT/dp of inverse dynamics: closures do not depend on it. Projections do on
inertias, by as much as a step ends off the closures: that part is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from soacraft import dynamics as dyn
from soacraft.analysis import parameter_derivatives
from soacraft.analysis import parameters as named_parameters
from soacraft.analysis.parametric.vocabulary import read_parameters
from soacraft.errors import LoopError, ModelError, StaleError, StateError
from soacraft.loops import forward_dynamics_derivatives
from soacraft.model.sizes.measure import measure_of
from soacraft.model.tree.multibody import Multibody
from soacraft.results import refuse_large
from soacraft.sim import jacobian
from soacraft.sim.closed import Closed, Stabilized
from soacraft.sim.forces.drives import Control
from soacraft.sim.integrators.chart_slopes import ChartSlopes
from soacraft.sim.integrators.explicit import RK4
from soacraft.sim.integrators.steps import Step
from soacraft.sim.problem.run_problem import RunProblem
from soacraft.sim.runs.block import Block
from soacraft.sim.sensitivity import Sensitivity, read_names
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import Array
from soacraft.spatial.differences import STENCIL

if TYPE_CHECKING:
    from soacraft.sim.runs.run import Run

#: Parameters that no closure depends on.
_INERT = ("mass", "com", "moment", "inertia", "armature", "damping", "stiffness")
#: The step of differences of loads and projections, relative to the sizes of dofs and velocities: of order six they are
#: exact to 1e-10.
_STEP = 1e-3


def run_derivatives(
    run: Run, pieces: Sequence[Step | Block], parameters: Sequence[str] | str, acting: tuple[object, ...]
) -> Sensitivity:
    """The derivatives of every step of a run in the state, the force and parameters. `acting`: what did when it began,
    as `Mechanism.acting` tells it."""
    names = (parameters,) if isinstance(parameters, str) else tuple(parameters)
    steps = [step for piece in pieces for step in _steps(piece)]
    if run.integrator not in _METHODS:
        methods = ", ".join(map(repr, _METHODS))
        raise StateError(f"derivatives of a run are known for {methods}, and this one is by {run.integrator!r}.")
    if not steps or run.events or len(run) != len(steps) + 1:
        raise StateError(
            "derivatives of a run are those of its steps, and this one has "
            + ("no steps." if not steps else "events or jumps of the state. Take the derivatives between them.")
        )
    problem = steps[0].problem
    assert isinstance(problem, Mechanism)
    if problem.acting != acting:
        raise StaleError(
            f"a control or a force of mb.set_force on {problem.mb.name!r} changed in this run or after it; take the "
            "derivatives before, of runs between such changes."
        )
    slopes = Slopes(problem, names)
    nv = problem.mb.nv
    size = 3 * nv + slopes.numbers
    refuse_large((len(steps), 2 * nv, size), f"the derivatives of a run of {problem.mb.name!r}", "Take fewer steps.")
    starts = [Start(x.t0, x.h, x.x0) for x in steps]
    d = np.array([_taken(slopes, run.integrator, x, size) for x in starts])
    order = problem.mb.layout.v_order
    return Sensitivity(run.q, run.v, d[..., : 2 * nv], d[..., 2 * nv : 3 * nv], d[..., 3 * nv :], names, order)


def rollout_derivatives(
    mb: Multibody, closed: Closed, q: Array, v: Array, force: Array, h: float, parameters: Sequence[str] | str
) -> Sensitivity:
    """Derivatives of the compiled steps by "rk4" of a rollout of a closed chain: q (..., steps + 1, nq), v likewise,
    force (..., steps, nv). Every state has a separate solver, as in the rollout."""
    names, nv = read_names(parameters), mb.nv
    batch, steps = force.shape[:-2], force.shape[-2]
    numbers = len(named_parameters(mb, list(names))) if names else 0
    size = 3 * nv + numbers
    refuse_large((*force.shape[:-1], 2 * nv, size), f"the derivatives of a rollout of {mb.name!r}", "Take fewer steps.")
    d = np.zeros((*batch, steps, 2 * nv, size))
    for i in np.ndindex(*batch):
        slopes = Slopes(Mechanism(RunProblem.of(mb, closed=closed.copied())), names)
        for k in range(steps):
            slopes.held = force[i][k]
            start = Start(k * h, h, slopes.problem.point(q[i][k], v[i][k]))
            d[i][k] = _taken(slopes, "rk4", start, size)
    order = mb.layout.v_order
    return Sensitivity(q, v, d[..., : 2 * nv], d[..., 2 * nv : 3 * nv], d[..., 3 * nv :], names, order)


class Start(NamedTuple):
    """Start of a step: time, length and point."""

    t0: float
    h: float
    x0: Array


def _steps(piece: Step | Block) -> list[Step]:
    if isinstance(piece, Step):
        return [piece]
    middles = 0.5e-9 * (piece.ns[:-1] + piece.ns[1:])
    return [piece.around(float(t)) for t in middles]


class Slopes:
    """The rates of a mechanism with their derivatives, and where its states are put."""

    def __init__(self, problem: Mechanism, names: tuple[str, ...]) -> None:
        self.problem, self.mb, self._names = problem, problem.mb, names
        self.chart = ChartSlopes(problem.mb, problem.coordinates)
        self.held = np.zeros(problem.mb.nv)
        """A generalized force that acts in addition, in rollouts."""
        self._require_plain()
        parameters = read_parameters("derivatives", self.mb, list(names)) if names else ()
        self.numbers = len(parameters)
        fixed = [x for x in problem.loads if not isinstance(x, Control)]
        if names and fixed:
            raise StateError(
                f"derivatives in parameters are not known of {fixed[0].name!r}, which may depend on them itself."
            )
        geometric = [x.name for x in parameters if x.kind not in _INERT]
        if geometric and problem.is_closed:
            raise StateError(
                f"derivatives in {geometric[0]!r} are not known on a closed chain, whose closures it moves; take "
                f"{', '.join(_INERT)}."
            )

    def _require_plain(self) -> None:
        problem, mb = self.problem, self.mb
        if problem.parameters != mb.parameters:
            raise StaleError(f"parameters of {mb.name!r} changed after this run; take the derivatives before.")
        if problem.varies:
            raise StateError(f"derivatives of a run are not known of masses that vary, as those of {mb.name!r} do.")
        if problem.prescribed_dofs or problem.holds.all:
            what = "prescribed motions" if problem.prescribed_dofs else f"{problem.holds.all[0].name!r}, which switches"
            raise StateError(f"derivatives of a run are not known of {what}.")
        rolls = [x.hinge_name for x in mb.bodies if not x.hinge.holonomic]
        rolls += [x.name for x in mb.loops if x.active and not x.hinge.holonomic]
        if rolls:
            raise ModelError(f"derivatives of a run of {mb.name!r} are not known: {rolls[0]!r} rolls or skates.")
        if isinstance(problem.closures, Stabilized):
            raise StateError(
                f"derivatives of a run of {mb.name!r} are not known with stabilization='baumgarte'; leave that out, so "
                "that states are projected."
            )

    @property
    def projects(self) -> bool:
        """True if states are put on closures by projection."""
        return self.problem.projects

    def settle(self, t: float, q: Array, v: Array, dq: Array, dv: Array) -> tuple[Array, Array, Array, Array]:
        """The state on the closures, and what tangent vectors become there."""
        closed = self.problem.closures
        if not isinstance(closed, Closed):
            return q, v, dq, dv
        raw, nv = (q, v), len(v)
        q, v, _ = self.problem.parts(self.problem.settle(t, self.problem.point(q, v), False))
        if not self.projects:
            C = P = closed.projector(q, np.zeros((nv, nv)))
            in_v = forward_dynamics_derivatives(closed.solver, q, v, np.zeros(nv), passive=False).dv
            B = jacobian.closing_rate(self.problem, v, P, in_v)
        else:
            P = closed.projector(q, self.problem.compliance(q))
            C, B = self._of_projection(closed, raw, (q, v))
        return q, v, C @ dq, P @ dv + B @ dq

    def _of_projection(self, closed: Closed, raw: tuple[Array, Array], end: tuple[Array, Array]) -> tuple[Array, Array]:
        """Slopes of the projection of a state along its coordinates: dq' and dv', (nv, nv) each, by differences."""
        mb, nv = self.mb, self.mb.nv
        unit = _STEP / measure_of(mb, raw[0]).dofs
        moves = np.array([[[k * np.diag(unit)], [-k * np.diag(unit)]] for k, _ in STENCIL]).reshape(-1, nv)
        there = closed.solver.project(mb.integrate(raw[0], moves), np.broadcast_to(raw[1], moves.shape))
        moved = np.array([mb.difference(end[0], there[0]), there[1] - end[1]]).reshape(2, len(STENCIL), 2, nv, nv)
        weights = np.array([w for _, w in STENCIL])
        slopes = np.einsum("k,akij->aij", weights, moved[:, :, 0] - moved[:, :, 1]) / unit[:, None]
        return slopes[0].T, slopes[1].T

    def rates(self, t: float, q: Array, v: Array, dq: Array, dv: Array, given: Array) -> tuple[Array, Array]:
        """a, and how it varies; `given` are the variations of force and parameters."""
        problem, mb = self.problem, self.mb
        total = problem.load_force(t, q, v) + self.held
        vdot = problem.accelerations(q, v, total)
        if isinstance(problem.closures, Closed):
            F_q, F_v, F_T = forward_dynamics_derivatives(problem.closures.solver, q, v, total)
        else:
            F_q, F_v, F_T = dyn.forward_dynamics_derivatives(mb, q, v, total)
        changed = F_T @ given[: mb.nv] + F_q @ dq + F_v @ dv
        if problem.count:
            in_q, in_v = self._of_loads(t, q, v)
            changed += F_T @ (in_q @ dq + in_v @ dv)
        if self._names:
            of_p: Any = parameter_derivatives(
                mb, "inverse_dynamics", list(self._names), q, v, vdot, f_ext=mb.acting_forces or None, ignore_loops=True
            )
            changed -= F_T @ (of_p @ given[mb.nv :])
        return problem.coordinates.straight(v, vdot), changed + self.chart.straight(v) @ dv

    def _of_loads(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """The derivatives of the loads' force along dofs and in velocities, by differences."""
        problem, nv = self.problem, self.mb.nv
        in_q, in_v = np.zeros((nv, nv)), np.zeros((nv, nv))
        if all(isinstance(x, Control) and x.is_told for x in problem.loads):
            return in_q, in_v
        unit = _STEP * problem.scale(problem.point(q, v), np.zeros(problem.manifold.size))

        def force(q: Array, v: Array) -> Array:
            return np.asarray(problem.all_forces(t, q, v)[: problem.count].sum(axis=0))

        for i, e in enumerate(np.eye(nv)):
            for k, weight in STENCIL:
                a, b = k * unit[i] * e, k * unit[nv + i] * e
                there, back = self.mb.integrate(q, a), self.mb.integrate(q, -a)
                in_q[:, i] += weight / unit[i] * (force(there, v) - force(back, v))
                in_v[:, i] += weight / unit[nv + i] * (force(q, v + b) - force(q, v - b))
        return in_q, in_v


def _start(s: Slopes, step: Start, size: int) -> tuple[Array, Array, Array, Array, Array]:
    """The state at the start of a step, and the variations [dq; dv; dT; dp]."""
    nv = s.mb.nv
    dq, dv, directions = np.split(np.eye(size), (nv, 2 * nv))
    q, v, _ = s.problem.parts(step.x0)
    return *s.settle(step.t0, q, v, dq, dv), directions


class _Moved(NamedTuple):
    """A point of a chart, how it varies, and J_q and J_u there."""

    q: Array
    v: Array
    dq: Array
    dv: Array
    J_q: Array
    J_u: Array

    @property
    def state(self) -> tuple[Array, Array, Array, Array]:
        return self.q, self.v, self.dq, self.dv


def _moved(s: Slopes, q: Array, dq: Array, way: tuple[Array, Array], y: tuple[Array, Array]) -> _Moved:
    """move(q, U) with the velocities y in the axes of q, each with how it varies."""
    space, chart, (U, dU) = s.problem.coordinates, s.chart, way
    moved, (J_q, J_u) = space.move(q, U), chart.jacobians(q, U)
    v = space.velocity(moved, y[0], q)
    in_y, in_U = chart.velocity(v, J_q, J_u)
    return _Moved(moved, v, J_q @ dq + J_u @ dU, in_y @ y[1] + in_U @ dU, J_q, J_u)


def _carried(s: Slopes, a: Array, da: Array, at: _Moved, dU: Array) -> tuple[Array, Array]:
    """The rate of velocities in the axes of the start, and how it varies."""
    in_a, in_U = s.chart.rate(a, at.J_q, at.J_u)
    return in_a @ a, in_a @ da + in_U @ dU


def _taken(s: Slopes, name: str, step: Start, size: int) -> Array:
    """One step. Its stages are next to the closures, not on them, where it projects; all are put back where one is too
    far off, as it was then."""
    if s.projects:
        with suppress(LoopError):
            return _METHODS[name](s, step, size, True)
    return _METHODS[name](s, step, size, False)


def _rk4(s: Slopes, step: Start, size: int, loose: bool) -> Array:
    """Stages in the chart of the start, as `sensitivity` has them for trees."""
    q, v, dq, dv, directions = _start(s, step, size)
    K, k, dK, dk = (np.zeros((4, *x.shape)) for x in (v, v, dv, dv))
    for i, (b, c) in enumerate(zip(step.h * RK4.A, RK4.c, strict=True)):
        U, dU = b @ K, np.tensordot(b, dK, 1)
        raw = _moved(s, q, dq, (U, dU), (v + b @ k, dv + np.tensordot(b, dk, 1)))
        t = step.t0 + c * step.h
        q_i, v_i, dq_i, dv_i = raw.state if loose else s.settle(t, *raw.state)
        K[i] = np.linalg.solve(raw.J_u, v_i)
        dK[i] = np.linalg.solve(raw.J_u, dv_i) + s.chart.bent(U, v_i, raw.J_u) @ dU
        k[i], dk[i] = _carried(s, *s.rates(t, q_i, v_i, dq_i, dv_i, directions), raw, dU)
    b = step.h * RK4.b
    way, y = (b @ K, np.tensordot(b, dK, 1)), (v + b @ k, dv + np.tensordot(b, dk, 1))
    return _ended(s, step, _moved(s, q, dq, way, y))


def _euler_symplectic(s: Slopes, step: Start, size: int, loose: bool) -> Array:
    """v1 = v0 + h a(q0, v0), then q1 = move(q0, h v1)."""
    q, v, dq, dv, directions = _start(s, step, size)
    h = step.h
    a, da = s.rates(step.t0, q, v, dq, dv, directions)
    y = v + h * a, dv + h * da
    return _ended(s, step, _moved(s, q, dq, (h * y[0], h * y[1]), y))


def _verlet(s: Slopes, step: Start, size: int, loose: bool) -> Array:
    """q1 = move(q0, h (v0 + h a0 / 2)), v1 = v0 + h (a0 + a(q1, v0 + h a0)) / 2."""
    q, v, dq, dv, directions = _start(s, step, size)
    h = step.h
    a0, da0 = s.rates(step.t0, q, v, dq, dv, directions)
    way = h * (v + 0.5 * h * a0), h * (dv + 0.5 * h * da0)
    ahead = _moved(s, q, dq, way, (v + h * a0, dv + h * da0))
    a1, da1 = _carried(s, *s.rates(step.t0 + h, *s.settle(step.t0 + h, *ahead.state), directions), ahead, way[1])
    return _ended(s, step, _moved(s, q, dq, way, (v + 0.5 * h * (a0 + a1), dv + 0.5 * h * (da0 + da1))))


def _ended(s: Slopes, step: Start, end: _Moved) -> Array:
    return np.concatenate(s.settle(step.t0 + step.h, *end.state)[2:])


_METHODS = {"rk4": _rk4, "euler_symplectic": _euler_symplectic, "verlet": _verlet}

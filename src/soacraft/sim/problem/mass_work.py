"""Work of masses that vary with time and state: e dm, where e is the energy of a body per mass."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from soacraft.sim.forces.varying_mass import NODES, SLOPES, WEIGHTS, VaryingMass
from soacraft.sim.integrators.steps import Step
from soacraft.spatial.checks import Array
from soacraft.spatial.inertia import Inertia

if TYPE_CHECKING:
    from soacraft.sim.system import Mechanism


def with_mass_work(problem: Mechanism, step: Step) -> Step:
    """A step whose end has the work of masses that varied in it: integral of e dm. Bodies have those of its end."""
    if problem.varying_mass is None or step.weighed or step.h <= 0.0:
        return step
    points = [step.at(float(theta)) for theta in NODES]
    masses = []
    for theta, x in zip(NODES, points, strict=True):
        problem.place(step.t0 + float(theta) * step.h, x)
        masses.append(problem.varying_mass.masses)
    m = np.array(masses)
    if not (m != m[0]).any():
        return step
    nq, _, nv = problem.sizes
    X = np.array(points)
    energies = problem.varying_mass.energies(X[:, :nq], X[:, nq : nq + nv])
    work = float(WEIGHTS @ (energies * (SLOPES @ m)).sum(axis=1))
    return replace(step, x1=_with_work(problem, step.x1, work))


def after_mass_jump(problem: Mechanism, t: float, x: Array, before: Array) -> Array:
    """The point after masses jumped there from those before: velocities are kept, e times the jump is work."""
    assert problem.varying_mass is not None
    problem.place(t, x)
    jump = problem.varying_mass.masses - before
    if not jump.any():
        return x
    return _with_work(problem, x, float(problem.varying_mass.energies(*problem.parts(x)[:2]) @ jump))


def energy_growth(problem: Mechanism, t0: float, x0: Array, t1: float, x1: Array) -> tuple[float, float]:
    """Growth of the mechanical energy between two points, and the part of it by masses that vary, with the
    mean of e of both ends. Bodies have the masses of the second point."""
    if problem.varying_mass is None:
        return problem.mechanical_energy(x1) - problem.mechanical_energy(x0), 0.0
    ends = []
    for t, x in ((t0, x0), (t1, x1)):
        problem.place(t, x)
        e = problem.varying_mass.energies(*problem.parts(x)[:2])
        ends.append((problem.mechanical_energy(x), problem.varying_mass.masses, e))
    (before, m0, e0), (after, m1, e1) = ends
    return after - before, float(0.5 * (e0 + e1) @ (m1 - m0))


def mass_slopes(problem: Mechanism, t: float, q: Array, v: Array, vdot: Array) -> Array:
    """Slopes of the force that accelerations vdot take, less that of the loads, along each mass, (nv, masses). It
    is linear in them: the difference at twice the mass is exact."""
    assert problem.varying_mass is not None

    def needed() -> Array:
        loads = sum((x.force(t, state) for x in problem.loads), start=np.zeros(len(v)))
        return np.asarray(problem.inverse_dynamics(q, v, vdot) - loads)

    columns, state = [], problem.mb.state(q, v)
    for body, mass in zip(problem.varying_mass.bodies, problem.varying_mass.masses, strict=True):
        inertia = body.inertia
        body.inertia, state = Inertia(2.0 * mass, inertia.com, 2.0 * inertia.moment), problem.mb.state(q, v)
        try:
            doubled = needed()
        finally:
            body.inertia, state = inertia, problem.mb.state(q, v)
        columns.append((doubled - needed()) / mass)
    return np.array(columns).reshape(-1, len(v)).T


def _with_work(problem: Mechanism, x: Array, work: float) -> Array:
    x = np.array(x)
    x[problem.sizes[0] + problem.sizes[2] + problem.names.index(VaryingMass.name)] += work
    return x

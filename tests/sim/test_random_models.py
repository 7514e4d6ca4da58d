"""Random trees and closed chains with random springs, dampers and drives: balances, and agreement of all methods."""

import numpy as np
import pytest
from tests.loops.cases import near
from tests.sim.test_run_derivatives import closed

import soacraft as sc

HINGES = [sc.Free(), sc.Pin((0, 1, 0.3)), sc.Spherical(), sc.Cylindrical((1, 0, 0.2))]


def sprung(mb, rng, damping=1.0):
    """Springs in hinges and between nodes, a bushing: of any strength, with dampers."""
    for body in mb.bodies:
        if body.hinge.nv == 1:
            body.passive = sc.Passive(stiffness=rng.uniform(1, 5), damping=damping * rng.uniform(0, 0.3))
    first, last = mb.bodies[0].add_node("a", sc.Pose(translation=rng.uniform(-0.5, 0.5, 3))), mb.bodies[-1]
    mb.add_spring("spring", first, last, rng.uniform(5, 20), 0.3, damping * rng.uniform(0, 0.5))
    K = np.diag(rng.uniform(1, 3, 6))
    mb.add_bushing("bushing", mb.bodies[1], last, K, damping * 0.05 * K)
    return mb


def tree(seed, damping=1.0, gravity=(0, 0, -9.81)):
    rng = np.random.default_rng(seed)
    mb = sc.random_tree(4, seed, HINGES, gravity=gravity)
    mb.v = 0.5 * mb.v
    return sprung(mb, rng, damping)


def chain(seed, damping=1.0):
    mb = closed()
    return sprung(mb, np.random.default_rng(seed), damping)


def driven(mb, **how):
    """A propagator with a wave in every dof that is one number, and drag at the last body."""
    p = sc.sim.Propagator(mb, **how)
    for i, body in enumerate(x for x in mb.bodies if x.hinge.nv == 1):
        p.control(body.hinge_name, lambda t, state, i=i: 0.7 * np.sin(5.0 * t + i))
    p.add(sc.sim.Drag(mb.bodies[-1].name, 0.1, 0.2, 0.05))
    return p


@pytest.mark.parametrize("make", [tree, chain])
def test_energy_grows_by_the_work_of_all_forces(make):
    p = driven(make(1), rtol=1e-7)
    run = p.advance_to(0.15)
    balance = run.check()
    assert balance.holds
    assert {"passive", "drag at " + p.mb.bodies[-1].name} < set(balance.work)
    assert balance.work["passive"] != 0.0
    assert sum(balance.work.values()) == pytest.approx(balance.energy, abs=2 * balance.imbalance)


def test_explicit_and_implicit_methods_agree():
    ends = []
    for integrator in ("dop853", "radau"):
        mb = tree(2)
        driven(mb, integrator=integrator, rtol=1e-6).advance_to(0.05)
        ends.append(np.concatenate([mb.q, mb.v]))
    near(*ends, 2e-5)


def test_all_solvers_of_a_closed_chain_agree():
    ends = []
    for solver in ("ta", "fa", "ce"):
        mb = chain(3)
        driven(mb, solver=solver, rtol=1e-7).advance_to(0.1)
        ends.append(np.concatenate([mb.q, mb.v]))
    near(ends[0], ends[1], 1e-6)
    near(ends[0], ends[2], 1e-6)


@pytest.mark.parametrize("make", [tree, chain])
def test_without_dampers_a_motion_runs_back(make):
    mb = make(4, damping=0.0)
    q, v = mb.q.copy(), mb.v.copy()
    run = sc.sim.Propagator(mb, rtol=1e-8).advance_to(0.1)
    assert np.ptp(run.energy) < 1e-6 * np.abs(run.kinetic).max()
    mb.v = -mb.v
    sc.sim.Propagator(mb, rtol=1e-8).advance_to(0.1)
    near(mb.q, q, 1e-6)
    near(mb.v, -v, 1e-6)


def test_inner_forces_keep_the_momentum():
    """Springs, dampers and drives between the bodies of a free tree without gravity."""
    mb = next(x for x in (tree(seed, gravity=(0, 0, 0)) for seed in range(40)) if type(x.bodies[0].hinge) is sc.Free)
    before = np.asarray(sc.dynamics.momentum(mb, mb.q, mb.v))
    p = sc.sim.Propagator(mb, rtol=1e-9)
    pin = next(x for x in mb.bodies if x.hinge.nv == 1)
    p.control(pin.hinge_name, lambda t, state: np.sin(9 * t))
    p.advance_to(0.15)
    after = np.asarray(sc.dynamics.momentum(mb, mb.q, mb.v))
    near(after, before, 1e-7 * np.abs(before).max())


def test_a_prescribed_motion_of_a_closed_chain_equals_its_force():
    """The force of `run.forces["prescribed"]`, given as a control, moves the chain alike."""
    mb = closed()
    q, v, crank = mb.q.copy(), mb.v.copy(), mb.dof_names.index("crank")
    start, speed = float(q[mb.q_slice("crank")][0]), float(v[crank])
    p = sc.sim.Propagator(mb, rtol=1e-8)
    p.prescribe("crank", lambda t: (start + speed * t + t**2, speed + 2 * t, 2.0))
    run = p.advance_to(0.1)
    end = mb.q.copy(), mb.v.copy()
    near(run.q[:, mb.q_slice("crank")][:, 0], start + speed * run.t + run.t**2, 1e-9)
    mb.set_state(q, v)
    p = sc.sim.Propagator(mb, rtol=1e-8)

    def force(t, state):
        mask = np.arange(mb.nv) == crank
        return solver.mixed_dynamics(state.q, state.v, np.zeros(mb.nv), np.where(mask, 2.0, 0.0), mask)[1][crank]

    solver = sc.loops.TreeAugmented(mb)
    p.control("crank", force)
    driven_run = p.advance_to(0.1)
    near(mb.q, end[0], 1e-6)
    near(mb.v, end[1], 1e-6)
    near(driven_run.forces["crank"][-1], run.forces["prescribed"][-1], 1e-5)

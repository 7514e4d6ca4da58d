"""Rollouts state by state, of closed chains and by implicit methods: the steps of a run, under forces held in each."""

import numpy as np
import pytest
from tests.loops.test_case_four_bars import spatial_loop
from tests.sim.test_closed import four_bar
from tests.sim.test_order import tree

import soacraft as sc
from soacraft.errors import LoopError, ModelError, SimulationError
from soacraft.sim import compiled

H = 0.004


def propagator(mb, solver="auto", method="rk4"):
    return sc.sim.Propagator(mb, solver, integrator=method, step=H)


def starts(mb, count):
    """States on the closures, near the one the model has."""
    s, rng = sc.loops.TreeAugmented(mb), np.random.default_rng(2)
    q = [s.assemble(mb.integrate(mb.q, 0.02 * rng.standard_normal(mb.nv))) for _ in range(count)]
    return np.array(q), np.array([s.project_velocity(x, mb.v) for x in q])


@pytest.mark.parametrize("method", ["rk4", "verlet", "euler_symplectic"])
@pytest.mark.parametrize("solver", ["ta", "fa", "ce"])
@pytest.mark.parametrize("make", [four_bar, spatial_loop])
def test_a_rollout_is_a_run(make, solver, method):
    mb = make()
    mb.bodies[0].passive = sc.Passive(stiffness=2.0, damping=0.1)
    p = propagator(mb, solver, method)
    Q, V = p.rollout(mb.q, mb.v, steps=8)
    run = p.advance_to(8 * H)  # from the state that the rollout left as it was
    np.testing.assert_allclose(Q, run.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(V, run.v, rtol=0, atol=1e-11)
    assert np.abs(Q[-1] - Q[0]).max() > 1e-3


@pytest.mark.parametrize("method", ["gauss4", "gauss6", "variational", "variational4"])
def test_implicit_methods_on_trees(method):
    """Under forces that are held in each step, as a callback holds them."""
    mb = tree([sc.Free(), sc.Spherical(), sc.Pin((0, 1, 0))])
    mb.bodies[2].passive = sc.Passive(stiffness=2.0, damping=0.1)
    q, v = np.array(mb.q), np.array(mb.v)
    T = np.random.default_rng(1).standard_normal((5, mb.nv))
    p = propagator(mb, method=method)
    Q, V = p.rollout(np.tile(q, (2, 1)), v, T, steps=5)
    np.testing.assert_array_equal(Q[0], Q[1])
    for i, name in enumerate(mb.dof_names):
        p.control(name, 0.0)
        p.every(H, lambda t, state, i=i, name=name: p.control(name, float(T[min(round(t / H), 4), i])))
    run = p.advance_to(5 * H)
    np.testing.assert_allclose(Q[1], run.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(V[1], run.v, rtol=0, atol=1e-11)


@pytest.mark.parametrize("solver", ["ta", "ce"])
def test_states_of_a_batch_do_not_depend_on_each_other(solver, monkeypatch):
    mb = spatial_loop()
    q, v = starts(mb, 3)
    T = 0.5 * np.random.default_rng(3).standard_normal((3, 7, mb.nv))
    p = propagator(mb, solver)
    Q, V = p.rollout(q, v, T, steps=7)
    back = p.rollout(q[::-1], v[::-1], T[::-1], steps=7)
    np.testing.assert_array_equal(back[0][::-1], Q)
    one = p.rollout(q[1], v[1], T[1], steps=7)
    np.testing.assert_array_equal(one[0], Q[1])
    monkeypatch.setattr(compiled, "_STEPS", 3)  # in calls of three steps
    parts = p.rollout(q, v, T, steps=7)
    np.testing.assert_array_equal(parts[0], Q)
    np.testing.assert_array_equal(parts[1], V)


@pytest.mark.parametrize("solver", ["ta", "ce"])
def test_forces_are_held_in_each_step(solver):
    """A control that a callback sets at every step does the same; one force for all steps is that force in each."""
    mb = four_bar()
    q, v = np.array(mb.q), np.array(mb.v)
    T = np.array([3.0, -8.0, 0.0, 5.0])
    force = np.zeros((len(T), mb.nv))
    force[:, 0] = T
    Q, V = propagator(mb, solver).rollout(q, v, force, steps=len(T))
    p = propagator(mb, solver)
    p.control(mb.dof_names[0], 0.0)
    p.every(H, lambda t, state: p.control(mb.dof_names[0], float(T[min(round(t / H), len(T) - 1)])))
    run = p.advance_to(len(T) * H)
    np.testing.assert_allclose(Q, run.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(V, run.v, rtol=0, atol=1e-11)
    same = [propagator(mb, solver).rollout(q, v, x, steps=3)[1] for x in (force[0], np.tile(force[0], (3, 1)))]
    np.testing.assert_allclose(same[0], same[1], rtol=0, atol=1e-13)
    assert np.abs(same[0][-1] - V[3]).max() > 1e-3


def test_a_rollout_leaves_the_propagator_as_it_was():
    """Its solver, its time, the model."""
    runs = []
    for rolls in (False, True):
        mb = spatial_loop()
        p = propagator(mb, "ce")
        p.advance_to(3 * H)
        if rolls:
            q, v = starts(mb, 2)
            before = np.array(mb.q)
            p.rollout(q, v, steps=50)
            np.testing.assert_array_equal(mb.q, before)
            assert p.t == 3 * H
        runs.append(p.advance_to(9 * H))
    np.testing.assert_array_equal(runs[0].q, runs[1].q)


def test_refusals():
    mb = four_bar()
    p = propagator(mb)
    q, v = (np.tile(x, (3, 1)) for x in (mb.q, mb.v))
    q[2, 0] += 0.3
    text = r"state 2 of the rollout of 'row': a run cannot begin off its closures: .* Close the model first"
    with pytest.raises(LoopError, match=text):
        p.rollout(q, v, steps=2)
    force = np.zeros((3, 2, mb.nv))
    force[1, 1, 0] = 1e300
    text = r"state 1 of the rollout of 'row' stopped in step 1, at 0.004 s: its closures are in doubt there, .* smaller"
    with pytest.raises(SimulationError, match=text):
        p.rollout(mb.q, v, force, steps=2)
    named = sc.loops.ConstraintEmbedding(mb, independent=mb.dof_names[:1])
    text = r"rollout of 'row' is not compiled: the independent dofs are named; use p.advance_to"
    with pytest.raises(ModelError, match=text):
        propagator(mb, named).rollout(mb.q, mb.v)
    assert p.rollout(np.zeros((0, mb.nq)), mb.v)[0].shape == (0, 2, mb.nq)


@pytest.mark.parametrize("solver", ["ta", "ce"])
def test_threads_change_nothing(solver):
    mb = spatial_loop()
    q, v = starts(mb, 6)
    one, three = (propagator(mb, solver).rollout(q, v, steps=5, threads=n) for n in (1, 3))
    np.testing.assert_array_equal(one[0], three[0])
    np.testing.assert_array_equal(one[1], three[1])


def test_the_first_state_that_fails_is_named_whatever_thread_it_is_on():
    mb = four_bar()
    force = np.zeros((6, 4, mb.nv))
    force[2, 3, 0] = force[4, 1, 0] = 1e300
    q, v = (np.tile(x, (6, 1)) for x in (mb.q, mb.v))
    with pytest.raises(SimulationError, match=r"state 2 of the rollout of 'row' stopped in step 3, at 0\.012 s"):
        propagator(mb).rollout(q, v, force, steps=4, threads=3)


def test_derivatives_of_a_closed_chain():
    """Of states, by the run through the same steps; of forces that differ from step to step, and of a mass, by
    differences of rollouts."""
    mb = four_bar()
    mb.bodies[0].passive = sc.Passive(stiffness=2.0, damping=0.1)
    q, v, name = np.array(mb.q), np.array(mb.v), f"{mb.bodies[1].name}.mass"
    T = 3.0 * np.random.default_rng(5).standard_normal((2, 4, mb.nv))
    s = propagator(mb).rollout_derivatives(np.tile(q, (2, 1)), v, T, 4, [name])
    assert s.A.shape == (2, 4, 6, 6)
    one = propagator(mb).rollout_derivatives(q, v, T[1], 4, name)
    np.testing.assert_allclose(one.B, s.B[1], rtol=0, atol=1e-12)
    run = propagator(mb).advance_to(4 * H).derivatives([name])
    still = propagator(mb).rollout_derivatives(q, v, None, 4, [name])
    np.testing.assert_allclose(still.A, run.A, rtol=0, atol=1e-9 * np.abs(run.A).max())
    np.testing.assert_allclose(still.C, run.C, rtol=0, atol=1e-9 * np.abs(run.C).max())

    push, e = np.random.default_rng(6).standard_normal(T.shape), 1e-3
    there, back = (np.concatenate(propagator(mb).rollout(np.tile(q, (2, 1)), v, T + k * push, 4), -1) for k in (e, -e))
    wanted = (there - back) / (2 * e)
    np.testing.assert_allclose(s.forward(force=push), wanted, rtol=0, atol=1e-6 * np.abs(wanted).max())
    gradient = np.random.default_rng(7).standard_normal((2, 5, 6))
    assert (s.adjoint(gradient)[1] * push).sum() == pytest.approx((gradient * s.forward(force=push)).sum(), rel=1e-9)
    with pytest.raises(ModelError, match=r"'nothing"):
        propagator(mb).rollout_derivatives(q, v, parameters="nothing.mass")

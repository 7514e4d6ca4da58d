"""Methods that need derivatives give the motion of a flexible tree that the explicit ones give; rollouts and their
derivatives."""

import warnings

import numpy as np
import pytest
from msgspec.structs import replace
from tests.model.modal.trees import Cloud, flexible_tree

import soacraft as sc
from soacraft.errors import ModelError
from soacraft.model.modal import ModalData, ModalNode


def after(mb, q, v, **method):
    mb.set_state(q, v)
    sc.sim.Propagator(mb, **method).advance_to(0.05)
    return np.concatenate([mb.q, mb.v])


@pytest.mark.parametrize("integrator", ["radau", "cvode", "ida"])
def test_implicit_methods(integrator):
    mb = flexible_tree((-1, 0), 1, (sc.Pin((0, 0, 1)),))
    q, v = np.array(mb.q), np.array(mb.v)
    wanted = after(mb, q, v, integrator="dop853", rtol=1e-10)
    np.testing.assert_allclose(after(mb, q, v, integrator=integrator, rtol=1e-8), wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize("integrator", ["rk4", "verlet", "euler_symplectic", "gauss4", "gauss6"])
def test_rollouts_are_runs(integrator):
    """Bit by bit, one state or several on two threads; with forces as far as a run with them held."""
    mb = flexible_tree((-1, 0, 0, 1), 3, modes=(2, 3, 0))
    q, v = np.array(mb.q), np.array(mb.v)
    p = sc.sim.Propagator(mb, integrator=integrator, step=0.01)
    several, _ = p.rollout(np.stack([q, 0.5 * q]), v, steps=5, threads=2)
    for start, ran in zip((q, 0.5 * q), several, strict=True):
        assert (p.rollout(start, v, steps=5)[0] == ran).all()
        assert (after(mb, start, v, integrator=integrator, step=0.01)[: mb.nq] == ran[-1]).all()
    mb.set_state(q, v)
    force = np.linspace(-1.0, 1.0, mb.nv)
    pushed = sc.sim.Propagator(mb, integrator=integrator, step=0.01)
    for name, u in zip(mb.dof_names, force, strict=True):
        pushed.control(name, float(u))
    pushed.advance_to(0.05)
    np.testing.assert_allclose(p.rollout(q, v, force, steps=5)[0][-1], mb.q, rtol=1e-13, atol=1e-14)


def test_derivatives_of_a_rollout_against_differences():
    mb = flexible_tree((-1, 0, 0, 1), 3, modes=(2, 3, 0))
    q, v = np.array(mb.q), np.array(mb.v)
    rng, h = np.random.default_rng(0), 1e-5
    force, d = rng.standard_normal((3, mb.nv)), rng.standard_normal(2 * mb.nv)
    p = sc.sim.Propagator(mb, integrator="rk4", step=1e-3)

    def end(e):
        Q, V = p.rollout(mb.integrate(q, e * d[: mb.nv]), v + e * d[mb.nv :], force, steps=3)
        return Q[-1], V[-1]

    (a, va), (b, vb) = end(h), end(-h)
    wanted = np.concatenate([mb.difference(b, a), va - vb]) / (2 * h)
    found = p.rollout_derivatives(q, v, force, steps=3).forward(d)
    np.testing.assert_allclose(found[-1], wanted, rtol=1e-8, atol=1e-8)


def test_variational_rollouts_are_refused_by_name():
    mb = flexible_tree((-1,), 0, modes=(2,))
    p = sc.sim.Propagator(mb, integrator="variational", step=0.01)
    with pytest.raises(ModelError, match=r"of 'flexible' is not compiled: 'body0' is flexible; use p\.advance_to"):
        p.rollout(mb.q, mb.v, steps=2)


def beam(eta):
    """One mode, whose tip turns by half of it: larger than 0.3 rad from 0.6 on."""
    mb = sc.Multibody(gravity=(0, 0, 0))
    tip = ModalNode(sc.Pose(translation=(0.5, 0, 0)), np.zeros((3, 1)), np.array([[0.0], [0.5], [0.0]]))
    shape = Cloud(np.random.default_rng(1), 1, geometric=False)
    mb.add_body("one", None, sc.Weld(), modal=ModalData(**shape.moments(), K=np.eye(1), nodes={"tip": tip}))
    mb.set_state([eta], [0.0])
    return mb


@pytest.mark.parametrize("integrator", ["dop853", "radau"])
def test_turns_of_trial_stages_are_not_told(integrator):
    """A step of 15 s is tried, whose stages bend far more than the motion does, and refused."""
    mb = beam(0.5)
    p = sc.sim.Propagator(mb, integrator=integrator, rtol=1e-4)

    def looks(t, state):
        assert mb.pose("one/tip", state=state) is not None

    p.add(looks)
    p.event("middle", lambda t, state: state.q[0])
    p.advance_to(0.1)
    runner = p._runner
    runner.present = replace(runner.present, steps=runner.present.steps._replace(length=15.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = p.advance_to(16.0, until="middle")
    assert np.abs(run.q).max() < 0.6


def test_turns_of_rows_are_told():
    mb = beam(0.7)
    p = sc.sim.Propagator(mb, rtol=1e-4)
    p.add(lambda t, state: None)
    with pytest.warns(RuntimeWarning, match=r"node 'tip' of flexible body 'one' turns by 0\.35 rad"):
        p.advance_to(0.01)

"""Closed chains with flexible bodies in compiled steps: the published end of a slider-crank with an elastic rod, steps
in Python by every method and solver, energy, restarts, contact."""

import numpy as np
import pytest
from benchmarks.elastic_crank import END, END_RATES, SIDE, T, published, slider_crank
from tests.model.modal.trees import flexible_tree
from tests.sim.test_compiled import in_python, is_compiled

import soacraft as sc
from soacraft import sim
from soacraft.sim import SimState

METHODS = {
    "rk4": 1e-5, "verlet": 1e-5, "euler_symplectic": 1e-5, "gauss4": 2e-5, "gauss6": 2e-5, "dop853": None,
}  # fmt: skip


def propagator(mb, method="rk4", **options):
    step = METHODS[method]
    return sim.Propagator(mb, integrator=method, **({} if step is None else {"step": step}), **options)


def test_the_published_end():
    """Coordinates to 3e-9, and to 3e-5 of the shape that moves least; rates to the error of the method."""
    mb = slider_crank()
    run = propagator(mb).run(T)
    assert is_compiled(run)
    q, v = published(mb)
    np.testing.assert_allclose(q[:3], END[:3], rtol=0, atol=3e-9)
    np.testing.assert_allclose(q[3:], END[3:], rtol=5e-5)
    np.testing.assert_allclose(v[:3], END_RATES[:3], rtol=0, atol=1e-5)
    np.testing.assert_allclose(v[3:], END_RATES[3:], rtol=0, atol=1e-5)
    assert run.violation.max() < 1e-12


#: Every method by one solver, an explicit and an implicit one by the others.
SOLVED = [(method, "ta") for method in METHODS] + [(method, x) for x in ("ce", "fa") for method in ("rk4", "gauss4")]


@pytest.mark.parametrize(("method", "solver"), SOLVED)
def test_steps_are_those_of_python(method, solver, monkeypatch):
    mb = slider_crank()
    q, v = np.array(mb.q), np.array(mb.v)
    run = propagator(mb, method, solver=solver).run(1e-4)
    assert is_compiled(run)
    end = np.concatenate([mb.q, mb.v])
    mb.set_state(q, v)
    in_python(monkeypatch)
    propagator(mb, method, solver=solver).run(1e-4)
    np.testing.assert_allclose(end[: mb.nq], mb.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(end[mb.nq :], mb.v, rtol=0, atol=1e-8)


def test_energy():
    """The flywheel gives what the rod takes, through the closure, which does no work."""
    mb = slider_crank()
    mb["crank"].inertia = sc.Inertia(0.36, (0, 0, 0), 2e-3 * np.eye(3))
    run = propagator(mb).run(0.02)
    assert np.ptp(run.energy) < 1e-7 * run.energy.max()


def test_a_restart_keeps_the_bits():
    mb = slider_crank()
    p = propagator(mb)
    p.run(2e-3)
    state = SimState.decode(p.state().encode())
    p.run(4e-3)
    end = np.concatenate([mb.q, mb.v])
    other = slider_crank()
    restored = propagator(other)
    restored.set_state(state)
    restored.run(4e-3)
    np.testing.assert_array_equal(np.concatenate([other.q, other.v]), end)


def striking():
    """The slider-crank, whose rod has a ball on its tip that strikes a wall; and contact for it."""
    mb = slider_crank()
    mb["crank"].inertia = sc.Inertia(0.36, (0, 0, 0), 2e-3 * np.eye(3))
    foot = mb.add_body("foot", "rod/tip", sc.Weld(), sc.Inertia(0.02, (0, 0, 0), 1e-6 * np.eye(3)))
    foot.add_geometry(sc.Geometry("ball", "sphere", (SIDE,)))
    wall = sc.Pose(np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]]), (0.2, 0, 0))
    mb.root.add_geometry(sc.Geometry("wall", "plane", pose=wall))
    return mb


def touching(mb, method):
    p = sim.Propagator(mb, integrator=method, step=1e-5)
    p.add(sim.Contact(restitution=0.3, friction=0.2))
    return p


def test_contact_of_a_closed_chain(monkeypatch):
    """Through the first impacts as steps in Python, with the same contacts; energy is only lost."""
    mb = striking()
    run = touching(mb, "moreau").run(0.0184)
    assert is_compiled(run)
    assert not any(x.impulses.any() for x in run.contacts)
    q, v = np.array(mb.q), np.array(mb.v)
    run = touching(mb, "moreau").run(3e-4)
    assert is_compiled(run)
    struck = [x.t for x in run.contacts if x.impulses.any()]
    assert struck
    assert run.energy[-1] < 0.999 * run.energy[0]
    end = np.concatenate([mb.q, mb.v])
    mb.set_state(q, v)
    in_python(monkeypatch)
    other = touching(mb, "moreau").run(3e-4)
    assert [x.t for x in other.contacts if x.impulses.any()] == struck
    np.testing.assert_allclose(end[: mb.nq], mb.q, rtol=0, atol=1e-10)
    np.testing.assert_allclose(end[mb.nq :], mb.v, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("method", "seed"), [("moreau", 0), ("moreau", 1), ("moreau_midpoint", 2)])
def test_contact_of_random_trees(method, seed, monkeypatch):
    """Balls at nodes that deform strike a floor; compiled steps are those of Python."""
    mb = flexible_tree((-1, 0, 1, 1), seed, (sc.Pin((0, 1, 0)), sc.Spherical()), modes=(2, 3, 0), rotors=False)
    height = 10.0
    for k, node in ((0, "tip"), (1, "root"), (3, "tip")):
        foot = mb.add_body(f"foot{k}", f"body{k}/{node}", sc.Weld(), sc.Inertia(0.1, (0, 0, 0), 1e-3 * np.eye(3)))
        foot.add_geometry(sc.Geometry("ball", "sphere", (0.1,)))
        height = min(height, mb.pose(foot).translation[2] - 0.1)
    mb.root.add_geometry(sc.Geometry("floor", "plane", pose=sc.Pose(translation=(0, 0, height - 1e-3))))
    q, v = np.array(mb.q), np.zeros(mb.nv)

    def run():
        mb.set_state(q, v)
        p = sim.Propagator(mb, integrator=method, step=1e-3)
        p.add(sim.Contact(restitution=0.2, friction=0.4))
        return p.run(0.04), np.concatenate([mb.q, mb.v])

    made, end = run()
    assert is_compiled(made)
    assert any(x.impulses.any() for x in made.contacts)
    in_python(monkeypatch)
    _, wanted = run()
    np.testing.assert_allclose(end, wanted, rtol=0, atol=1e-8 * np.abs(wanted).max())

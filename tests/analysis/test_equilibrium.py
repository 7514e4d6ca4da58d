"""Equilibrium against closed forms, and on random trees against the accelerations that it has none of."""

import numpy as np
import pytest
from tests.dynamics.calls import GRAVITY
from tests.model.modal.trees import flexible_tree

import soacraft as sc
from soacraft.analysis import equilibrium
from soacraft.errors import ConvergenceError, SingularError, StateError
from soacraft.model.hinges import examples

HOLONOMIC = tuple(hinge for hinge in examples() if hinge.holonomic)


def slider(k=50.0, mass=2.0, rest=0.3):
    """A mass on a radial slide with a spring, on a hub."""
    mb = sc.Multibody("governor", gravity=(0, 0, 0))
    mb.add_body("hub", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    mb.add_body("ball", "hub", sc.Prismatic((1, 0, 0)), sc.Inertia.point(mass, (0, 0, 0)))
    mb["ball"].passive = sc.Passive(stiffness=k, rest=[rest])
    return mb


def test_a_spinning_hub_pulls_its_spring():
    """k (r - r0) = m W^2 r."""
    mb = slider()
    eq = equilibrium(mb, v=[3.0, 0.0])
    assert eq.free == ("ball",)
    assert eq.q[1] == pytest.approx(50.0 * 0.3 / (50.0 - 2.0 * 9.0), rel=1e-13)
    assert eq.moved[1] == pytest.approx(eq.q[1] - mb.q[1])
    assert not mb.q.any()  # the model stays


def test_a_pendulum_with_a_spring_and_a_load():
    """k (x - rest) + m g l sin x = load."""
    mb = sc.load("pendulum")
    mb.bodies[0].passive = sc.Passive(stiffness=3.0, rest=[2.0])
    x = equilibrium(mb, force=[1.5]).q[0]
    assert 3.0 * (x - 2.0) + 9.81 * np.sin(x) == pytest.approx(1.5, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_trees_with_springs_of_every_hinge(seed):
    mb = sc.random_tree(5, seed, HOLONOMIC, gravity=GRAVITY)
    for body in mb.bodies:
        if body.hinge.nv:
            body.passive = sc.Passive(stiffness=300.0, rest=mb.q_of(body))
    eq = equilibrium(mb)
    assert len(eq.free) == mb.nv
    assert np.abs(eq.moved).max() > 1e-3
    zero = np.zeros(mb.nv)
    assert np.abs(sc.dynamics.forward_dynamics(mb, eq.q, zero, zero)).max() < 1e-8


@pytest.mark.parametrize("seed", range(3))
def test_flexible_trees_at_rest_and_spinning(seed):
    mb = flexible_tree((-1, 0, 1, 1), seed, (sc.Pin((0, 0.6, 0.8)), sc.Spherical()), modes=(2, 0, 3))
    stiff(mb, 300.0)
    modes = [name for name in mb.dof_names if "mode" in name]
    v, zero = np.zeros(mb.nv), np.zeros(mb.nv)
    v[0] = 0.5
    wrench = sc.Wrench((0, 1, 0), (2, 0, 1), expressed_in=mb.root)
    eq = equilibrium(mb, v=v, f_ext={"body3/tip": wrench}, q=mb.neutral())
    assert eq.free == tuple(modes)
    own = [mb.dof_names.index(x) for x in modes]
    assert np.abs(eq.q[mb.layout.own.q]).max() > 1e-3
    T = sc.dynamics.inverse_dynamics(mb, eq.q, v, zero, {"body3/tip": wrench})
    np.testing.assert_allclose(T, eq.force, rtol=0, atol=1e-12 * np.abs(T).max())
    assert np.abs(T[own]).max() < 1e-9


def stiff(mb, factor):
    """The same tree with stiffer modes."""
    for body in mb.bodies:
        if body.modal is not None:
            object.__setattr__(body.modal, "K", factor * body.modal.K)


def test_bushings_make_dofs_free():
    mb = sc.Multibody("mount", gravity=(0, 0, -10.0))
    mb.add_body("frame", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    mb.add_body("engine", None, sc.Free(), sc.Inertia(5.0, (0, 0, 0), np.eye(3)))
    mb.add_bushing("mount", "inertial", "engine", 1000.0 * np.eye(6))
    eq = equilibrium(mb)
    assert eq.free == tuple(f"engine.{i}" for i in range(6))
    assert mb.state(eq.q).q_of("engine")[6] == pytest.approx(-5.0 * 10.0 / 1000.0, rel=1e-9)


def test_the_path_is_kept_under_a_large_load():
    """A soft spring wound up by 20 turns' worth of load: in parts, to the angle that belongs to the path."""
    mb = sc.load("pendulum")
    mb.gravity = (0, 0, 0)
    mb.bodies[0].passive = sc.Passive(stiffness=0.01)
    eq = equilibrium(mb, force=[0.2])
    assert eq.q[0] == pytest.approx(20.0, rel=1e-12)
    assert eq.load_steps > 10


def test_units_change_nothing():
    found = []
    for length, mass in ((1.0, 1.0), (1e6, 1e-3)):  # in other units of length and mass, the time as it is
        mb = slider(50.0 * mass, 2.0 * mass, 0.3 * length)
        mb["hub"].inertia = sc.Inertia(mass, (0, 0, 0), mass * length**2 * np.eye(3))
        eq = equilibrium(mb, v=[3.0, 0.0])
        found.append((eq.q[1] / length, eq.iterations, eq.load_steps))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-12)
    assert found[0][1:] == found[1][1:]


REFUSED = [
    (dict(fixed=["ball"]), StateError, "equilibrium of 'governor': no dof is free"),
    (dict(free=["hub", "ball"]), SingularError, "singular at the start, 'hub' are free without stiffness"),
    (dict(free=["hub", "ball"], v=[1.0, 0]), StateError, "dof 'hub' is free, but v moves it at 1"),
    (dict(q=np.zeros((3, 2))), StateError, r"equilibrium takes one state of 'governor', got a batch \(3,\)"),
    (dict(free=["bell"]), StateError, "free dofs: 'governor' has no dof, hinge or body 'bell'"),
]


@pytest.mark.parametrize(("given", "error", "text"), REFUSED, ids=[x[2][:30] for x in REFUSED])
def test_what_is_refused(given, error, text):
    mb = slider()
    with pytest.raises(error, match=text):
        equilibrium(mb, **given)


def test_a_load_beyond_what_it_bears():
    mb = sc.load("pendulum")
    with pytest.raises((ConvergenceError, SingularError), match=r"of the load|of the way"):
        equilibrium(mb, free=[0], force=[12.0])  # m g l = 9.81
    assert equilibrium(mb, free=[0], force=[9.8]).q[0] == pytest.approx(np.arcsin(9.8 / 9.81), rel=1e-9)


def test_loops_are_for_the_solvers():
    mb = sc.serial_chain(3)
    mb.close_loop("ring", "inertial", "link3/tip", sc.Spherical())
    with pytest.raises(sc.errors.LoopError):
        equilibrium(mb, free=[0])

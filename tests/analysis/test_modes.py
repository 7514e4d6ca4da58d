"""Modes against closed forms and the eigenvalues of linearized motion; counts that no unit or stiffness changes."""

import numpy as np
import pytest
from tests.dynamics.calls import GRAVITY
from tests.model.modal.trees import flexible_tree

import soacraft as sc
from soacraft.analysis import equilibrium, linearize, modes
from soacraft.errors import LoopError, StateError
from soacraft.model.hinges import examples

HOLONOMIC = tuple(hinge for hinge in examples() if hinge.holonomic)


def train(springs, masses, dampers=0.0):
    """Masses in a row on slides, joined by springs; the first is free."""
    mb = sc.Multibody("train", gravity=(0, 0, 0))
    for i, m in enumerate(masses):
        mb.add_body(f"car{i}", f"car{i - 1}" if i else None, sc.Prismatic((1, 0, 0)), sc.Inertia.point(m, (0, 0, 0)))
    for i, k in enumerate(springs):
        mb[f"car{i + 1}"].passive = sc.Passive(stiffness=k, damping=dampers)
    return mb


def test_a_train_has_one_rigid_body_mode_however_stiff_and_soft_its_springs():
    """Two pairs whose stiffnesses differ by 10^20: three masses m, 2m, m with k1 << k2."""
    soft, hard = 1e-8, 1e12
    m = modes(train([soft, hard], [1.0, 1.0, 1.0]), np.zeros(3))
    assert m.rigid == 1
    assert len(m) == 3
    wanted = np.sqrt([soft * (1.0 + 0.5), hard * 2.0]) / (2 * np.pi)
    np.testing.assert_allclose(m.hz[1:], wanted, rtol=1e-9)
    np.testing.assert_array_equal(m.hz[0], 0.0)


@pytest.mark.parametrize(("length", "mass"), [(1.0, 1.0), (1e9, 1e-27), (1e-6, 1e24)])
def test_rigid_body_modes_in_other_units(length, mass):
    """Two bodies on a bushing, free in space: six, and the rest from K and the reduced mass."""
    mb = sc.Multibody("pair", gravity=(0, 0, 0))
    for name in ("a", "b"):
        mb.add_body(name, None, sc.Free(), sc.Inertia(mass, (0, 0, 0), 0.1 * mass * length**2 * np.eye(3)))
    K = mass * np.diag([2 * length**2, 3 * length**2, 4 * length**2, 50.0, 60.0, 70.0])
    mb.add_bushing("mount", "a", "b", K)
    m = modes(mb, mb.neutral())
    assert m.rigid == 6
    wanted = np.sort(np.sqrt([2 / 0.05, 3 / 0.05, 4 / 0.05, 100, 120, 140])) / (2 * np.pi)
    np.testing.assert_allclose(m.hz[6:], wanted, rtol=1e-7)


def test_rigid_body_modes_strain_nothing():
    """Two bodies apart, on a bushing at one of them: its stiffness along each of the six is none."""
    mb = sc.Multibody("pair", gravity=(0, 0, 0))
    a = mb.add_body("a", None, sc.Free(), sc.Inertia(2.0, (0, 0, 0), np.diag([0.1, 0.2, 0.3])))
    a.add_node("end", sc.Pose(translation=(3, 0, 0)))
    mb.add_body("b", None, sc.Free(), sc.Inertia(0.1, (0, 0, 0), 1e-3 * np.eye(3)), sc.Pose(translation=(3, 0, 0)))
    mb.add_bushing("mount", "a/end", "b", np.diag([20.0, 3.0, 4.0, 500.0, 60.0, 7000.0]))
    m = modes(mb, mb.neutral())
    assert m.rigid == 6
    zero = np.zeros(mb.nv)
    K = sc.dynamics.inverse_dynamics_derivatives(mb, mb.neutral(), zero, zero)[0]
    strained = np.abs(np.einsum("im,ij,jm->m", m.vectors.conj(), K, m.vectors))
    assert strained[:6].max() < 1e-9 * strained[6:].min()


def test_a_turn_without_stiffness_in_gravity():
    """A spherical pendulum turns about the vertical freely, to rounding of its weight."""
    mb = sc.Multibody("bob", gravity=(0, 0, -9.81))
    mb.add_body("bob", None, sc.Spherical(), sc.Inertia(1.0, (0.3, 0.2, -1.0), 0.1 * np.eye(3)))
    q = equilibrium(mb, free=["bob.0", "bob.1"]).q
    m = modes(mb, q)
    assert m.rigid == 1
    assert m.hz[1] > 0.3


def test_damping_and_what_does_not_swing():
    k, mass = 100.0, 4.0
    for ratio in (0.0, 0.3, 2.0):
        mb = train([k], [1.0, mass], 2 * ratio * np.sqrt(k * mass))
        m = modes(mb, np.zeros(2), fixed=["car0"])
        assert m.rigid == 0
        if ratio < 1.0:
            np.testing.assert_allclose(m.hz, [5.0 / (2 * np.pi)], rtol=1e-12)
            np.testing.assert_allclose(m.damping, [ratio], rtol=0, atol=1e-12)
        else:
            np.testing.assert_array_equal(m.hz, [0.0, 0.0])
            np.testing.assert_allclose(m.growth, 5.0 * (-2.0 + np.array([1, -1]) * np.sqrt(3)), rtol=1e-12)
            np.testing.assert_array_equal(m.damping, [1.0, 1.0])


def test_a_rigid_body_mode_with_a_damper_counts_once():
    mb = sc.Multibody("car", gravity=(0, 0, 0))
    mb.add_body("car", None, sc.Prismatic((1, 0, 0)), sc.Inertia.point(2.0, (0, 0, 0)))
    mb["car"].passive = sc.Passive(stiffness=0.0, damping=3.0)
    m = modes(mb, [0.0])
    assert m.rigid == 1
    np.testing.assert_allclose(m.growth, [0.0, -1.5], atol=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_the_rates_are_those_of_the_linearized_motion(seed):
    """On trees with springs and dampers, at rest in equilibrium and with dofs that turn at a rate."""
    mb = sc.random_tree(4, seed, HOLONOMIC, gravity=GRAVITY)
    for body in mb.bodies:
        if body.hinge.nv:
            body.passive = sc.Passive(stiffness=200.0, rest=mb.q_of(body), damping=0.5)
    zero = np.zeros(mb.nv)
    q = equilibrium(mb).q
    for v in (zero, np.random.default_rng(seed).standard_normal(mb.nv)):
        m = modes(mb, q, v)
        force = sc.dynamics.inverse_dynamics(mb, q, v, zero)
        wanted = linearize(mb, q, v, force).eigenvalues
        assert m.rigid == 0
        ours = np.concatenate([m.eigenvalues, m.eigenvalues[m.eigenvalues.imag > 0].conj()])
        same = np.abs(ours[:, None] - wanted).min(axis=1)
        assert len(ours) == len(wanted) == 2 * mb.nv
        assert same.max() < 1e-7 * np.abs(wanted).max()


def test_shapes_are_small_motions_of_frames():
    mb = flexible_tree((-1, 0, 1), 1, (sc.Pin((0, 0.6, 0.8)),), modes=(2, 0, 3))
    q = np.array(mb.q)
    m = modes(mb, q)
    assert set(m.shapes) >= {"body2", "body2/tip", "body0/root"}
    t = 1e-6
    for name in ("body2/tip", "body1"):
        x = m.vectors[:, -1].real
        ahead, behind = (mb.pose(name, state=mb.state(mb.integrate(q, s * x))).translation for s in (t, -t))
        np.testing.assert_allclose(m.shapes[name][3:, -1].real, (ahead - behind) / (2 * t), rtol=0, atol=1e-8)
    M = sc.dynamics.mass_matrix(mb, q)
    assert (m.vectors[:, -1].conj() @ M @ m.vectors[:, -1]).real == pytest.approx(1.0)


def test_whirl_of_a_spinning_disc():
    """A disc on a bushing-like gimbal, spun at W: J w^2 -+ Jp W w - k = 0."""
    J, Jp, k, W = 0.3, 0.5, 40.0, 30.0
    mb = sc.Multibody("rotor", gravity=(0, 0, 0))
    mb.add_body("x", None, sc.Pin((1, 0, 0)), sc.Inertia(0.0))
    mb.add_body("y", "x", sc.Pin((0, 1, 0)), sc.Inertia(0.0))
    mb.add_body("disc", "y", sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0, 0, 0), np.diag([J, J, Jp])))
    for name in "xy":
        mb[name].passive = sc.Passive(stiffness=k)
    m = modes(mb, np.zeros(3), v=[0, 0, W], fixed=["disc"])
    swing = Jp * W / (2 * J)
    wanted = np.sqrt(swing**2 + k / J) + np.array([-swing, swing])
    np.testing.assert_allclose(2 * np.pi * m.hz, wanted, rtol=1e-11)
    assert np.abs(m.damping).max() < 1e-12


def ziegler(P):
    """Two links of unit length with springs, masses 2 and 1, pushed by a force that follows the second."""
    mb = sc.Multibody("Ziegler", gravity=(0, 0, 0))
    mb.add_body("one", None, sc.Pin((0, 0, 1)), sc.Inertia.point(2.0, (1, 0, 0)))
    mb.add_body("two", "one", sc.Pin((0, 0, 1)), sc.Inertia.point(1.0, (1, 0, 0)), sc.Pose(translation=(1, 0, 0)))
    mb["two"].add_node("tip", sc.Pose(translation=(1, 0, 0)))
    for body in mb.bodies:
        body.passive = sc.Passive(stiffness=1.0)
    return modes(mb, [0.0, 0.0], f_ext={"two/tip": np.array([0, 0, 0, -P, 0, 0])})


def test_a_force_that_follows_flutters_at_zieglers_load():
    """P = 7/2 - sqrt(2) in k / l."""
    load = 3.5 - np.sqrt(2.0)
    assert np.abs(ziegler(load * (1 - 1e-6)).growth).max() == 0.0
    assert ziegler(load * (1 + 1e-6)).growth.max() > 1e-4


def test_an_inverted_pendulum_grows():
    m = modes(sc.load("pendulum"), [np.pi])
    np.testing.assert_allclose(m.growth, [np.sqrt(9.81)], rtol=1e-12)
    assert (m.hz[0], m.damping[0]) == (0.0, -1.0)


def test_text_and_refusals():
    mb = train([1.0], [1.0, 1.0])
    m = modes(mb, np.zeros(2))
    assert repr(m) == "2 modes, 1 of them rigid-body: 0.22508 Hz"
    assert repr(m.shapes) == "Shapes of 2 bodies and nodes in 2 modes"
    assert m.mostly(1) == "car1"
    assert "car1" in m._repr_html_()
    assert len(modes(mb, np.zeros(2), fixed=[0, 1])) == 0
    with pytest.raises(StateError, match=r"modes takes one state of 'train', got a batch \(3,\)"):
        modes(mb, np.zeros((3, 2)))
    mb = sc.serial_chain(3)
    mb.close_loop("ring", "inertial", "link3/tip", sc.Spherical())
    with pytest.raises(LoopError):
        modes(mb, mb.q)

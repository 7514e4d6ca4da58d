"""Computed torque and decoupled control: their closed-loop equations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from tests.profiles import tries
from tests.robot.control.cases import PANDA, closed, drawn, near, rates
from tests.scales.scaled import Units, force_units, scaled, scaled_state

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft import robot as rob
from soacraft.analysis import diagonalize
from soacraft.errors import StateError
from soacraft.model.sizes.scale import scale_of
from soacraft.spatial.differences import STENCIL

SEEDS = st.integers(0, 10_000)


@given(SEEDS)
@tries(25)
def test_computed_torque_gives_its_equation_on_any_tree(seed):
    """eddot + kd edot + kp e = 0 with e = difference(q, q_d) along the motion of the robot and of its target."""
    rb, q, v, a_d = drawn(seed)
    mb, rng = rb.mb, np.random.default_rng(seed + 1)
    q_d, v_d = mb.integrate(q, 0.3 * rng.standard_normal(mb.nv)), rng.standard_normal(mb.nv)
    kp, kd = rng.uniform(1, 50, mb.nv), rng.uniform(1, 9, mb.nv)
    vdot = dyn.forward_dynamics(mb, q, v, rob.computed_torque(rb, q, v, (q_d, v_d, a_d), kp, kd, actuated=mb.dof_names))
    edot, eddot = rates(mb, q, v, vdot, (q_d, v_d, a_d))
    near(eddot + kd * edot + kp * mb.difference(q, q_d), np.zeros(mb.nv), 1e-7)


@pytest.mark.parametrize("hinge", [sc.Spherical(), sc.Free()])
@pytest.mark.parametrize("far", [3.0, 0.2, 0.0125])
def test_computed_torque_follows_a_target_that_turns_to_nine_digits(hinge, far):
    """The velocity of the target is carried into the axes of the body: its equation holds however far it is turned."""
    mb = sc.Multibody("ball", gravity=(0, 0, -9.81))
    mb.add_body("ball", None, hinge, sc.Inertia.box(2.0, (0.3, 0.4, 0.5)), outboard=sc.Pose(translation=(0, 0.1, 0.2)))
    rb, rng = rob.Robot(mb), np.random.default_rng(4)
    q, v = mb.random_state(rng)[0], rng.standard_normal(mb.nv)
    way = np.concatenate([[0.48, -0.6, 0.64], rng.standard_normal(3)])[: mb.nv]
    target = mb.integrate(q, far * way), np.concatenate([[1.0, -2.0, 1.5], v])[: mb.nv], rng.standard_normal(mb.nv)
    vdot = dyn.forward_dynamics(mb, q, v, rob.computed_torque(rb, q, v, target, 25.0, 10.0, actuated=mb.dof_names))
    edot, eddot = rates(mb, q, v, vdot, target)
    near(eddot + 10.0 * edot, -25.0 * far * way, 1e-9)


@pytest.mark.parametrize("hinge", [sc.Spherical(), sc.Free()])
def test_a_body_comes_to_a_target_that_turns_as_an_oscillator_does(hinge):
    """A run of half a second: e = (e0 + (edot0 + 5 e0) t) exp(-5 t), for kp = 25 and kd = 10."""
    mb = sc.Multibody("ball", gravity=(0, 0, -9.81))
    mb.add_body("ball", None, hinge, sc.Inertia.box(2.0, (0.3, 0.4, 0.5)), outboard=sc.Pose(translation=(0, 0.1, 0.2)))
    rb, rng, still = rob.Robot(mb), np.random.default_rng(5), np.zeros(mb.nv)
    q0, v0, v_d, e0 = mb.random_state(rng)[0], *rng.standard_normal((3, mb.nv))
    start = mb.integrate(q0, e0)

    def rate(t, x):
        q, v = _unit(x[: mb.nq]), x[mb.nq :]
        target = mb.integrate(start, t * v_d), v_d, still
        T = rob.computed_torque(rb, q, v, target, 25.0, 10.0, actuated=mb.dof_names)
        return np.concatenate([mb.qdot(q, v), dyn.forward_dynamics(mb, q, v, T)])

    run = solve_ivp(rate, (0.0, 0.5), np.concatenate([q0, v0]), method="DOP853", rtol=1e-11, atol=1e-11)
    e = mb.difference(_unit(run.y[: mb.nq, -1]), mb.integrate(start, 0.5 * v_d))
    edot0 = rates(mb, q0, v0, still, (start, v_d, still))[0]
    near(e, (e0 + 0.5 * (edot0 + 5.0 * e0)) * np.exp(-2.5), 1e-8)


def _unit(q):
    return np.concatenate([q[:4] / np.linalg.norm(q[:4]), q[4:]])


def test_computed_torque_of_an_arm_to_nine_digits_with_matrices():
    rb = rob.Robot(sc.load("panda"))
    rng = np.random.default_rng(0)
    q, v = PANDA + 0.2 * rng.standard_normal((2, 7)), rng.standard_normal((2, 7))
    (q, q_d), (v, v_d), a_d = q, v, rng.standard_normal(7)
    X = rng.standard_normal((2, 7, 7))
    kp, kd = 50 * np.eye(7) + X[0] @ X[0].T, 9 * np.eye(7) + X[1]
    vdot = dyn.forward_dynamics(rb.mb, q, v, rob.computed_torque(rb, q, v, (q_d, v_d, a_d), kp, kd))
    near((a_d - vdot) + kd @ (v_d - v) + kp @ (q_d - q), np.zeros(7), 1e-9)
    load = {"link7": sc.Inertia(3.0, (0, 0, 0.1), 0.01 * np.eye(3))}
    mb = rb.mb.copy()
    mb.add_body("load", "link7", sc.Weld(), load["link7"])
    T = rob.computed_torque(rb, q, v, (q_d, v_d, a_d), kp, kd, payload=load)
    near((a_d - dyn.forward_dynamics(mb, q, v, T)) + kd @ (v_d - v) + kp @ (q_d - q), np.zeros(7), 1e-9)


def test_a_batch_is_its_states_one_by_one():
    rb = rob.Robot(sc.load("panda"))
    rng = np.random.default_rng(2)
    q, v, q_d = PANDA + 0.2 * rng.standard_normal((5, 7)), rng.standard_normal((5, 7)), PANDA
    T = rob.computed_torque(rb, q, v, (q_d, np.zeros(7), np.zeros(7)), 30.0, 9.0)
    for i in range(5):
        near(T[i], rob.computed_torque(rb, q[i], v[i], (q_d, np.zeros(7), np.zeros(7)), 30.0, 9.0), 1e-12)
    many = rob.decoupled(rb, q, v, 3.0, q_d=q_d, kp=20.0)
    near(many[3], rob.decoupled(rb, q[3], v[3], 3.0, q_d=q_d, kp=20.0), 1e-12)


@given(SEEDS)
@tries(20)
def test_partial_feedback_linearization_holds_for_the_dofs_with_motors(seed):
    rb, q, v, a_d = drawn(seed, n=4)
    mb, rng = rb.mb, np.random.default_rng(seed)
    mask = rng.uniform(size=mb.nv) < 0.5
    target = mb.integrate(q, 0.2 * rng.standard_normal(mb.nv)), rng.standard_normal(mb.nv), a_d
    T = rob.computed_torque(rb, q, v, target, 25.0, 10.0, actuated=mask)
    assert not T[~mask].any()
    edot, eddot = rates(mb, q, v, dyn.forward_dynamics(mb, q, v, T), target)
    near((eddot + 10.0 * edot + 25.0 * mb.difference(q, target[0]))[mask], np.zeros(mask.sum()), 1e-7)


def test_partial_feedback_linearization_of_an_acrobot_to_nine_digits():
    mb = sc.load("double_pendulum")
    rb = rob.Robot(mb)
    q, v = np.array([0.7, -0.4]), np.array([1.0, -2.0])
    T = rob.computed_torque(rb, q, v, ([0, 0.5], [0, 0], [0, 0]), 25.0, 10.0, actuated=[mb.dof_names[1]])
    vdot = dyn.forward_dynamics(mb, q, v, T)
    assert T[0] == 0.0
    assert abs(vdot[1] - (25.0 * (0.5 - q[1]) - 10.0 * v[1])) < 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_computed_torque_of_a_closed_chain_holds_for_its_independent_dofs(seed):
    rb, s, q, v = closed(seed)
    mb = rb.mb
    q_d = s.assemble(q + 0.05)
    every = {"actuated": mb.dof_names}
    T = rob.computed_torque(rb, q, v, (q_d, np.zeros(mb.nv), np.zeros(mb.nv)), 25.0, 10.0, **every)
    vdot = s.forward_dynamics(q, v, T).vdot
    i = [mb.dof_names.index(x) for x in s.independent(q)]
    near(vdot[i], (25.0 * mb.difference(q, q_d) - 10.0 * v)[i], 1e-8)
    both = rob.computed_torque(rb, [q, q], [v, v], (q_d, np.zeros(mb.nv), np.zeros(mb.nv)), 25.0, 10.0, **every)
    near(both[1], T, 1e-9)


# -- decoupled --------------------------------------------------------------------------------------------------------


def nudot_of(mb, q, v, vdot):
    """d/dt (m* v) along the motion, by differences of the factor m."""

    def nu(t):
        # the motion to second order gives nu to second order; its rate at zero is exact
        return diagonalize(mb, mb.integrate(q, t * v), v + t * vdot).nu

    step = 1e-3
    return sum(w * (nu(i * step) - nu(-i * step)) for i, w in STENCIL) / step


@given(SEEDS)
@tries(15)
def test_decoupled_control_damps_every_nu_by_itself(seed):
    """With lengths counted in that of the model, in which nu is that of `diagonalize`."""
    rb, q, v, _ = drawn(seed, n=4)
    rng = np.random.default_rng(seed)
    k, extra = rng.uniform(0.5, 5.0, rb.mb.nv), rng.standard_normal(rb.mb.nv)
    units = Units(length=1.0 / scale_of(rb.mb).length)
    T = rob.decoupled(rb, q, v, k, nudot=extra / units.length, actuated=rb.mb.dof_names) * force_units(rb.mb, units)
    q, v = scaled_state(rb.mb, units, q, v)
    mb = scaled(rb.mb, units)
    d = diagonalize(mb, q, v)
    # m^-1 T - C_nu - load_nu is nudot, by the equation of motion in nu
    near(d.eps_of(T) - d.C_nu - d.load_nu, extra - k * d.nu, 1e-8)
    near(nudot_of(mb, q, v, dyn.forward_dynamics(mb, q, v, T)), extra - k * d.nu, 1e-6)


def test_decoupled_control_of_an_arm_to_nine_digits():
    rb = rob.Robot(sc.load("panda"))
    v = np.linspace(-1, 1, 7)
    vdot = dyn.forward_dynamics(rb.mb, PANDA, v, rob.decoupled(rb, PANDA, v, 3.0))
    near(nudot_of(rb.mb, PANDA, v, vdot), -3.0 * diagonalize(rb.mb, PANDA, v).nu, 1e-9)


def test_the_kinetic_energy_falls_as_the_damping_says():
    """With one k for all it is that of exp(-2 k t), whatever the robot does meanwhile."""
    rb = rob.Robot(sc.load("panda"))
    mb, q, v = rb.mb, PANDA, np.linspace(-1, 1, 7)
    start, k, h = dyn.kinetic_energy(mb, q, v), 2.0, 1e-2

    def rate(q, v):
        return v, dyn.forward_dynamics(mb, q, v, rob.decoupled(rb, q, v, k))

    for _ in range(50):
        k1 = rate(q, v)
        k2 = rate(q + h / 2 * k1[0], v + h / 2 * k1[1])
        k3 = rate(q + h / 2 * k2[0], v + h / 2 * k2[1])
        k4 = rate(q + h * k3[0], v + h * k3[1])
        q, v = (x + h / 6 * (a + 2 * b + 2 * c + d) for x, a, b, c, d in zip((q, v), k1, k2, k3, k4, strict=True))
    assert abs(dyn.kinetic_energy(mb, q, v) / start - np.exp(-2 * k * 0.5)) < 1e-7


def test_a_spring_gives_back_what_it_takes():
    """d/dt (|nu|^2 / 2 + e* kp e / 2) = -nu* k nu."""
    rb = rob.Robot(sc.load("panda"))
    v, q_d, k, kp = np.linspace(-1, 1, 7), PANDA + 0.2, np.linspace(1, 4, 7), np.linspace(10, 50, 7)
    vdot = dyn.forward_dynamics(rb.mb, PANDA, v, rob.decoupled(rb, PANDA, v, k, q_d=q_d, kp=kp))
    nu = diagonalize(rb.mb, PANDA, v).nu
    rate = nu @ nudot_of(rb.mb, PANDA, v, vdot) - v @ (kp * (q_d - PANDA))
    assert abs(rate + nu @ (k * nu)) < 1e-8


# -- what is refused --------------------------------------------------------------------------------------------------


def test_what_is_refused():
    rb, _, q, v = closed()
    with pytest.raises(StateError, match="decoupled is for trees, and 'five_bar' has loops or couplings: ungrasp"):
        rob.decoupled(rb, q, v, 1.0)
    one = rob.Robot(sc.load("pendulum"))
    with pytest.raises(StateError, match=r"a target is \(q_d, v_d, vdot_d\)"):
        rob.computed_torque(one, [0.0], [0.0], [0.0], 1.0, 1.0)
    with pytest.raises(StateError, match="kp is a number, 1 numbers or a matrix of them; got shape"):
        rob.computed_torque(one, [0.0], [0.0], ([0], [0], [0]), [1.0, 2.0], 1.0)
    with pytest.raises(StateError, match="no q_d that it pulls to"):
        rob.decoupled(one, [0.0], [0.0], 1.0, kp=2.0)
    with pytest.raises(StateError, match="nudot of 'pendulum' is one number or 1"):
        rob.decoupled(one, [0.0], [0.0], 1.0, nudot=[1.0, 2.0])
    ball = sc.Multibody("ball")
    ball.add_body("ball", None, sc.RollingBall(0.5), sc.Inertia.sphere(1.0, 0.5))
    with pytest.raises(StateError, match="has no difference"):     # where it is depends on its way
        rob.computed_torque(rob.Robot(ball), ball.q, np.zeros(3), (ball.q, np.zeros(3), np.zeros(3)), 1.0, 1.0)
    body = sc.Multibody("body")
    body.add_body("ball", None, sc.Free(), sc.Inertia.box(2.0, (0.3, 0.4, 0.5)))
    load = {"payload": {"ball": sc.Inertia(1.0)}, "actuated": ["ball.0"]}
    with pytest.raises(StateError, match="a hinge of 'body' has a motor at some of its dofs, and a payload moves the"):
        rob.computed_torque(rob.Robot(body), body.q, np.zeros(6), (body.q, np.zeros(6), np.zeros(6)), 1.0, 1.0, **load)
    with pytest.raises(StateError, match="kd must be finite"):
        rob.computed_torque(one, [0.0], [0.0], ([0], [0], [0]), 1.0, np.nan)

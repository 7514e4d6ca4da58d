"""Control laws give their closed-loop equations."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft import robot as rob
from soacraft.errors import SingularError, StateError
from soacraft.spatial.rotations import exp


@pytest.fixture(scope="module")
def panda():
    rb = rob.Robot(sc.load("panda"))
    return rb, rb.limb("arm", "inertial", "link7")


def drawn(rng):
    return np.array([0.2, 0.4, -0.3, -1.8, 0.1, 2.0, 0.5]) + 0.2 * rng.standard_normal(7), rng.standard_normal(7)


def test_computed_torque_makes_the_error_go_as_an_oscillator(panda):
    rb, _ = panda
    rng = np.random.default_rng(0)
    (q, v), (q_d, v_d), a_d = drawn(rng), drawn(rng), rng.standard_normal(7)
    kp, kd = np.linspace(10, 70, 7), np.linspace(3, 9, 7)
    vdot = dyn.forward_dynamics(rb.mb, q, v, rob.computed_torque(rb, q, v, (q_d, v_d, a_d), kp, kd))
    assert np.allclose((a_d - vdot) + kd * (v_d - v) + kp * (q_d - q), 0.0, atol=1e-9)


def test_computed_torque_of_a_free_robot_uses_the_turn_of_its_quaternion():
    rb = rob.Robot(sc.load("h1"))
    rng = np.random.default_rng(1)
    q, v = rb.mb.random_state(rng)[:2]
    vdot = dyn.forward_dynamics(rb.mb, q, v, rob.computed_torque(rb, q, v, (q, v, np.zeros(rb.mb.nv)), 5.0, 2.0))
    assert np.allclose(vdot, 0.0, atol=1e-8)


def test_the_tip_has_the_acceleration_that_is_asked(panda):
    rb, arm = panda
    rng = np.random.default_rng(2)
    q, v = drawn(rng)
    x, null = rng.standard_normal(6), rng.standard_normal(7)
    made = rob.operational_space(rb, arm, q, v, x, null)
    vdot = dyn.forward_dynamics(rb.mb, q, v, made.force)
    tip = dyn.jacobian(rb.mb, q, arm.tip) @ vdot + dyn.jacobian_dot_v(rb.mb, q, v, arm.tip)
    assert made.damped == 0
    assert np.allclose(tip, x, atol=1e-9)
    other = dyn.forward_dynamics(rb.mb, q, v, rob.operational_space(rb, arm, q, v, x).force)
    assert np.linalg.norm(vdot - other) > 1e-3                        # the null-space force moves the elbow alone
    assert np.allclose(np.linalg.inv(made.inertia), dyn.operational_space_compliance(rb.mb, q, arm.tip), rtol=1e-8)


def test_rows_of_a_task(panda):
    rb, arm = panda
    q, v = drawn(np.random.default_rng(3))
    made = rob.operational_space(rb, arm, q, v, [1.0, -2.0, 0.5], rows=[3, 4, 5])
    vdot = dyn.forward_dynamics(rb.mb, q, v, made.force)
    tip = dyn.jacobian(rb.mb, q, arm.tip) @ vdot + dyn.jacobian_dot_v(rb.mb, q, v, arm.tip)
    assert np.allclose(tip[3:], [1.0, -2.0, 0.5], atol=1e-9)


def test_a_singular_arm_is_damped_and_says_so():
    rb = rob.Robot(sc.serial_chain(3))
    arm = rb.limb("arm", "inertial", "link3/tip")
    made = rob.operational_space(rb, arm, np.zeros(3), np.zeros(3), [1.0, 0.0, 0.0], rows=[3, 4, 5])
    assert made.damped >= 1                                          # straight along x, which it cannot push
    assert np.abs(made.force).max() < 1e4


def test_an_impedance_is_a_spring_and_a_damper_at_the_tip(panda):
    rb, arm = panda
    rng = np.random.default_rng(4)
    q, v = drawn(rng)
    turn, way, twist = 0.1 * rng.standard_normal(3), 0.1 * rng.standard_normal(3), rng.standard_normal(6)
    here = arm.pose(q)
    goal = sc.Pose(exp(turn) @ here.rotation, here.translation + way)
    kp, kd = np.array([20.0] * 3 + [300.0] * 3), np.array([2.0] * 3 + [30.0] * 3)
    assert np.allclose(rob.task_error(arm, q, goal), [*turn, *way], atol=1e-12)
    vdot = dyn.forward_dynamics(rb.mb, q, v, rob.impedance(rb, arm, q, v, goal, twist, kp, kd))
    J = dyn.jacobian(rb.mb, q, arm.tip)
    pushed = kp * np.array([*turn, *way]) + kd * (twist - J @ v)
    assert np.allclose(dyn.mass_matrix(rb.mb, q) @ vdot, J.T @ pushed, atol=1e-9)


def test_an_admittance_is_a_mass_on_a_spring():
    x = rob.admittance([0, 0, 0, 4.0, 0, 0], [0, 0, 0, 0.1, 0, 0], [0, 0, 0, 0.2, 0, 0], 2.0, 3.0, 10.0)
    assert np.allclose(x, [0, 0, 0, (4.0 - 0.6 - 1.0) / 2.0, 0, 0])
    assert np.allclose(rob.admittance(np.ones(6), np.zeros(6), np.zeros(6), 2.0 * np.eye(6), 0.0, 0.0), 0.5)


def test_gravity_and_payload_are_held():
    mb = sc.load("panda")
    mb.add_body("load", hinge=sc.Free(), inertia=sc.Inertia(3.0, moment=0.01 * np.eye(3)))
    rb = rob.Robot(mb)
    mb.set_state(q=[0.2, 0.4, -0.3, -1.8, 0.1, 2.0, 0.5, 0, 0, 0, 1, 0.5, 0.0, 0.6])
    alone = rob.gravity(rb, mb.q)[:7]
    rb.attach("load", "link7")
    held = rob.gravity(rb, mb.q)
    weight = dyn.jacobian(mb, mb.q, "load").T @ np.concatenate([np.zeros(3), -3.0 * np.asarray(mb.gravity)])
    assert np.allclose(held - alone, weight, atol=1e-10)
    assert np.allclose(dyn.forward_dynamics(mb, mb.q, np.zeros(7), held), 0.0, atol=1e-9)
    assert np.allclose(rob.feed_forward(rb, mb.q, np.zeros(7), np.zeros(7)), held)


def test_friction_has_its_parts(panda):
    rb, _ = panda
    v = np.array([3.0, -3.0, 0.0, 1.0, -1.0, 2.0, 0.5])
    T = rob.friction(rb, v, viscous=0.5, coulomb=2.0, stribeck=1.0, speed=0.1)
    assert np.allclose(T, 0.5 * v + 2.0 * np.sign(v), atol=1e-8)
    slow = rob.friction(rb, np.full(7, 0.05), coulomb=2.0, stribeck=1.0, speed=0.1)
    assert np.allclose(slow, (2.0 + np.exp(-0.25)) * np.tanh(5.0))


def test_a_regulator_has_the_poles_of_riccatis_equation():
    """A pendulum of 1 kg at 1 m, upside down: A = [[0, 1], [g/l, 0]], B = [0; 1]."""
    mb = sc.load("pendulum")
    rb = rob.Robot(mb)
    up = [np.pi]
    made = rob.lqr(rb, up, Q=[4.0, 1.0], R=[0.5])
    m = float(dyn.mass_matrix(mb, up)[0, 0])
    slope = float((dyn.gravity_force(mb, [np.pi + 1e-6])[0] - dyn.gravity_force(mb, [np.pi - 1e-6])[0]) / 2e-6)
    A, B = np.array([[0.0, 1.0], [-slope / m, 0.0]]), np.array([[0.0], [1.0 / m]])
    S = scipy.linalg.solve_continuous_are(A, B, np.diag([4.0, 1.0]), [[0.5]])
    assert np.allclose(made.K, np.linalg.solve([[0.5]], B.T @ S), rtol=1e-6)
    assert (made.poles.real < 0.0).all()
    assert np.allclose(made(up, [0.0]), made.force)


def test_an_acrobot_balances_with_one_motor():
    mb = sc.load("double_pendulum")
    rb = rob.Robot(mb)
    made = rob.lqr(rb, [np.pi, 0.0], actuated=[mb.dof_names[1]])
    assert (made.poles.real < 0.0).all()
    assert made(np.array([np.pi + 0.01, 0.0]), [0.0, 0.0])[0] == 0.0
    with pytest.raises(StateError, match=r"has no motor and needs a force of .*: no equilibrium"):
        rob.lqr(rb, [0.5, 0.0], actuated=[mb.dof_names[1]])


def test_what_is_refused():
    rb = rob.Robot(sc.load("five_bar"))
    with pytest.raises(StateError, match="has loops or couplings: take inverse_dynamics of a solver"):
        rob.gravity(rb, rb.mb.q)
    one = rob.Robot(sc.load("pendulum"))
    with pytest.raises(StateError, match="control is of a Robot"):
        rob.gravity(one.mb, [0.0])
    with pytest.raises(StateError, match="must not be negative"):
        rob.friction(one, [1.0], coulomb=-1.0)
    with pytest.raises(StateError, match="Q must have 2 numbers"):
        rob.lqr(one, [np.pi], Q=np.eye(3))
    free = sc.Multibody("free")
    free.add_body("a", hinge=sc.Prismatic((1, 0, 0)), inertia=sc.Inertia(1.0))
    free.add_body("b", hinge=sc.Prismatic((1, 0, 0)), inertia=sc.Inertia(1.0))
    with pytest.raises(SingularError, match="cannot bring it back"):
        rob.lqr(rob.Robot(free), [0.0, 0.0], actuated=["a"])

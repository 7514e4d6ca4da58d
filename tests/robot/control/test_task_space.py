"""Operational space, impedance and admittance: their closed-loop equations, of fixed, floating and closed robots."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.robot.control.cases import PANDA, arms, closed, drawn, near

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft import robot as rob
from soacraft.analysis import generalized_jacobian
from soacraft.errors import SingularError, StateError
from soacraft.robot.control.freedoms import freedom
from soacraft.spatial.rotations import exp

SEEDS = st.integers(0, 10_000)


@pytest.fixture(scope="module")
def panda():
    rb = rob.Robot(sc.load("panda"))
    return rb, rb.limb("arm", "inertial", "link7")


def state(seed):
    rng = np.random.default_rng(seed)
    return PANDA + 0.2 * rng.standard_normal(7), rng.standard_normal(7), rng


def tip_of(mb, q, v, vdot, frame, base=None):
    given = {} if base is None else {"expressed_in": base, "relative_to": base}
    return dyn.jacobian(mb, q, frame, **given) @ vdot + dyn.jacobian_dot_v(mb, q, v, frame, **given)


# -- operational space ------------------------------------------------------------------------------------------------


def test_the_tip_has_the_acceleration_that_is_asked(panda):
    rb, arm = panda
    q, v, rng = state(2)
    x, null = rng.standard_normal(6), rng.standard_normal(7)
    made = rob.operational_space(rb, arm, q, v, x, null)
    vdot = dyn.forward_dynamics(rb.mb, q, v, made.force)
    assert made.damped == 0
    near(tip_of(rb.mb, q, v, vdot, arm.tip), x)
    other = dyn.forward_dynamics(rb.mb, q, v, rob.operational_space(rb, arm, q, v, x).force)
    assert np.linalg.norm(vdot - other) > 1e-3                        # the null-space force moves the elbow alone
    near(np.linalg.inv(made.inertia), dyn.operational_space_compliance(rb.mb, q, arm.tip), 1e-8)
    assert "exact" in repr(made)


def test_rows_of_a_task_and_batches(panda):
    rb, arm = panda
    q, v, _ = state(3)
    made = rob.operational_space(rb, arm, q, v, [1.0, -2.0, 0.5], rows=[3, 4, 5])
    near(tip_of(rb.mb, q, v, dyn.forward_dynamics(rb.mb, q, v, made.force), arm.tip)[3:], [1.0, -2.0, 0.5])
    many = rob.operational_space(rb, arm, [q, q + 0.1], v, [1.0, -2.0, 0.5], rows=[3, 4, 5])
    near(many.force[0], made.force, 1e-12)
    assert many.inertia.shape == (2, 6, 6)
    assert many.damped.shape == (2,)


@given(SEEDS)
@tries(20)
def test_any_limb_of_any_tree_accelerates_as_told_where_nothing_is_damped(seed):
    """As seen from its base, which moves with the robot."""
    rb, q, v, _ = drawn(seed, n=6)
    rng = np.random.default_rng(seed)
    tip = rb.mb.bodies[-1]
    chain = [tip]
    while isinstance(chain[-1].parent, type(tip)):
        chain.append(chain[-1].parent)
    base = chain[-1] if len(chain) > 1 and sum(x.hinge.nv for x in chain[:-1]) else "inertial"
    limb = rb.limb("limb", base, tip)
    J = dyn.jacobian(rb.mb, q, limb.tip, limb.base, relative_to=limb.base)
    rows = np.argsort(-np.linalg.norm(J, axis=1))[: min(2, limb.nv)]
    x = rng.standard_normal(len(rows))
    made = rob.operational_space(rb, limb, q, v, x, rng.standard_normal(rb.mb.nv), rows=rows)
    vdot = dyn.forward_dynamics(rb.mb, q, v, made.force)
    if not made.damped:
        near(tip_of(rb.mb, q, v, vdot, limb.tip, limb.base)[rows], x, 1e-6)


def test_a_singular_arm_is_damped_and_says_so():
    rb = rob.Robot(sc.serial_chain(3))
    arm = rb.limb("arm", "inertial", "link3/tip")
    made = rob.operational_space(rb, arm, np.zeros(3), np.zeros(3), [1.0, 0.0, 0.0], rows=[3, 4, 5])
    assert made.damped >= 1                                          # straight along x, which it cannot push
    assert np.abs(made.force).max() < 1e4
    assert "directions damped" in repr(made)


def test_forces_stay_bounded_and_continuous_into_a_singular_pose():
    """A planar arm of two links that stretches out: the force for an acceleration along it."""
    mb = sc.serial_chain(2)
    mb.gravity = (0.0, 0.0, 0.0)
    rb = rob.Robot(mb)
    arm = rb.limb("arm", "inertial", "link2/tip")
    bends = np.linspace(0.2, 0.0, 401)
    made = rob.operational_space(
        rb, arm, np.column_stack([np.zeros(len(bends)), bends]), np.zeros(2), [1.0, 0.0], rows=[3, 5]
    )
    assert made.damped[0] == 0
    assert made.damped[-1] == 1
    jumps = np.abs(np.diff(made.force, axis=0)).max(axis=1)
    assert jumps.max() < 0.1 * np.abs(made.force).max()              # of 400 steps none is a jump
    plain = 1.0 / bends[made.damped > 0][:-1].min()
    assert np.abs(made.force).max() < plain                           # what it would grow to


# -- free-floating and under-actuated ---------------------------------------------------------------------------------


def test_a_free_floating_arm_by_its_generalized_jacobian():
    """No force on the base: the tip accelerates as told, and J X is the Jacobian of Umetani and Yoshida."""
    mb = sc.load("quadrotor_arm")
    mb.gravity = (0.0, 0.0, 0.0)
    rb = rob.Robot(mb)
    base = next(x for x in mb.bodies if x.parent is mb.root)
    rng = np.random.default_rng(4)
    q, v = mb.random_state(rng)[0], rng.standard_normal(mb.nv)
    motors = [x for x in mb.dof_names if not x.startswith(base.hinge_name)]
    arm = rb.limb("arm", "inertial", "hand/grip")
    X = freedom(rb, q, v, motors).X
    near(dyn.jacobian(mb, q, "hand/grip") @ X, generalized_jacobian(mb, q, "hand/grip"), 1e-10)
    x = rng.standard_normal(len(motors))
    rows = [3, 5, 1][: len(motors)]
    made = rob.operational_space(rb, arm, q, v, x, rows=rows, actuated=motors)
    assert not made.force[: 6].any()
    vdot = dyn.forward_dynamics(mb, q, v, made.force)
    assert made.damped == 0
    near(tip_of(mb, q, v, vdot, "hand/grip")[rows], x)
    h = dyn.centroidal_momentum_matrix(mb, q)                         # momentum is kept: nothing pushes from outside
    ahead, behind = (dyn.momentum(mb, mb.integrate(q, s * 1e-4 * (v + s * 0.5e-4 * vdot)), v + s * 1e-4 * vdot)
                     for s in (1, -1))  # fmt: skip
    near((ahead - behind) / 2e-4, np.zeros(6), 1e-5 * float(np.abs(h).max()))


@given(SEEDS)
@tries(15)
def test_some_motors_move_a_tip_while_the_rest_gives_way(seed):
    rb, q, v, _ = drawn(seed, n=5)
    mb, rng = rb.mb, np.random.default_rng(seed)
    mask = np.ones(mb.nv, dtype=bool)
    mask[rng.integers(mb.nv)] = False
    limb = rb.limb("limb", "inertial", mb.bodies[-1])
    rows = np.argsort(-np.linalg.norm(dyn.jacobian(mb, q, limb.tip)[:, mask], axis=1))[:1]
    x = rng.standard_normal(1)
    made = rob.operational_space(rb, limb, q, v, x, rows=rows, actuated=mask)
    assert not made.force[~mask].any()
    if not made.damped:
        near(tip_of(mb, q, v, dyn.forward_dynamics(mb, q, v, made.force), limb.tip)[rows], x, 1e-6)


# -- closed chains ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_the_tip_of_a_closed_chain(seed):
    rb, s, q, v = closed(seed)
    mb = rb.mb
    limb = rb.limb("side", "inertial", mb.bodies[1])
    J = dyn.jacobian(mb, q, limb.tip) @ s.velocity_map(q)
    rows = np.argsort(-np.linalg.norm(J, axis=1))[:1]
    made = rob.operational_space(rb, limb, q, v, [1.5], rows=rows)
    assert made.damped == 0
    near(tip_of(mb, q, v, s.forward_dynamics(q, v, made.force).vdot, limb.tip)[rows], [1.5], 1e-7)


def test_two_arms_that_hold_a_box_move_it_as_one_tip():
    rb, _ = arms(0, how="hung")
    mb, s = rb.mb, sc.loops.TreeAugmented(rb.mb)
    q = np.array(mb.q)
    v = s.project_velocity(q, np.random.default_rng(1).standard_normal(mb.nv))
    limb = rb.limb("box", "inertial", "box")
    x = np.random.default_rng(2).standard_normal(6)
    made = rob.operational_space(rb, limb, q, v, x)
    assert made.damped == 0
    near(tip_of(mb, q, v, s.forward_dynamics(q, v, made.force).vdot, "box"), x, 1e-7)


# -- impedance and admittance -----------------------------------------------------------------------------------------


def pulled(rb, arm, q, v, rng):
    turn, way, twist = 0.1 * rng.standard_normal(3), 0.1 * rng.standard_normal(3), rng.standard_normal(6)
    here = arm.pose(q[arm.q_places])
    goal = sc.Pose(exp(turn) @ here.rotation, here.translation + way)
    kp, kd = np.array([20.0] * 3 + [300.0] * 3), np.array([2.0] * 3 + [30.0] * 3)
    near(rob.task_error(arm, q[arm.q_places], goal), [*turn, *way], 1e-12)
    J = dyn.jacobian(rb.mb, q, arm.tip)
    return goal, twist, kp, kd, J, kp * np.array([*turn, *way]) + kd * (twist - J @ v)


def test_an_impedance_is_a_spring_and_a_damper_at_the_tip(panda):
    rb, arm = panda
    q, v, rng = state(4)
    goal, twist, kp, kd, J, f = pulled(rb, arm, q, v, rng)
    T = rob.impedance(rb, arm, q, v, goal, twist, kp, kd)
    near(dyn.mass_matrix(rb.mb, q) @ dyn.forward_dynamics(rb.mb, q, v, T), J.T @ f)
    many = rob.impedance(rb, arm, [q, q], v, goal, twist, kp, kd)
    near(many[1], T, 1e-12)


def test_an_impedance_of_a_free_floating_arm():
    """X* Mcal X a = X* J* (K_p e + K_d edot)."""
    mb = sc.load("quadrotor_arm")
    rb = rob.Robot(mb)
    rng = np.random.default_rng(5)
    q, v = mb.random_state(rng)[0], rng.standard_normal(mb.nv)
    motors = mb.dof_names[6:]
    arm = rb.limb("arm", "inertial", "hand/grip")
    goal, twist, kp, kd, J, f = pulled(rb, arm, q, v, rng)
    T = rob.impedance(rb, arm, q, v, goal, twist, kp, kd, actuated=motors)
    assert not T[:6].any()
    vdot = dyn.forward_dynamics(mb, q, v, T)
    X = freedom(rb, q, v, motors).X
    near(X.T @ dyn.mass_matrix(mb, q) @ X @ vdot[6:], X.T @ J.T @ f)


def test_an_admittance_is_a_mass_on_a_spring():
    x = rob.admittance([0, 0, 0, 4.0, 0, 0], [0, 0, 0, 0.1, 0, 0], [0, 0, 0, 0.2, 0, 0], 2.0, 3.0, 10.0)
    near(x, [0, 0, 0, (4.0 - 0.6 - 1.0) / 2.0, 0, 0])
    rng = np.random.default_rng(0)
    f, e, edot, A = *rng.standard_normal((3, 4, 6)), rng.standard_normal((6, 6))
    M, D, K = A @ A.T + np.eye(6), 2.0 * np.eye(6) + A, np.linspace(1, 6, 6)
    xddot = rob.admittance(f, e, edot, M, D, K)
    near(xddot @ M.T + edot @ D.T + e * K, f, 1e-9)


def test_what_is_refused(panda):
    rb, arm = panda
    q, v, _ = state(0)
    with pytest.raises(StateError, match="rows of a task are numbers from 0 to 5, angular first, each once"):
        rob.operational_space(rb, arm, q, v, [1.0, 1.0], rows=[3, 3])
    with pytest.raises(StateError, match="rows of a task are numbers from 0 to 5"):
        rob.operational_space(rb, arm, q, v, [1.0], rows=[6])
    with pytest.raises(StateError, match="the acceleration of the tip must have shape"):
        rob.operational_space(rb, arm, q, v, [1.0, 2.0])
    with pytest.raises(StateError, match=r"a task is of a limb of the robot, rb.limb\(...\)"):
        rob.operational_space(rb, "arm", q, v, np.zeros(6))
    with pytest.raises(StateError, match=r"a task is of a limb of the robot, rb.limb\(...\)"):
        rob.impedance(rb, None, q, v, arm.pose(q), np.zeros(6), 1.0, 1.0)
    with pytest.raises(StateError, match=r"a goal is a Pose\(...\), got 'there'"):
        rob.impedance(rb, arm, q, v, "there", np.zeros(6), 1.0, 1.0)
    with pytest.raises(StateError, match="the result of admittance is not finite"):
        rob.admittance(np.full(6, 1e300), np.zeros(6), np.zeros(6), 1e-300, 0.0, 0.0)
    with pytest.raises(StateError, match="inertia of an admittance is a positive number"):
        rob.admittance(np.zeros(6), np.zeros(6), np.zeros(6), 0.0, 1.0, 1.0)
    slide = sc.Multibody("slide")
    slide.add_body("cart", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
    rail = rob.Robot(slide)
    with pytest.raises(SingularError, match="nothing moves the tip of limb 'cart' at this configuration"):
        rob.operational_space(rail, rail.limb("cart", "inertial", "cart"), [0.0], [0.0], [1.0], rows=[4])


def test_an_inertia_that_is_not_symmetric_is_refused_in_small_units_too():
    M = 1e-9 * np.eye(6)
    M[0, 1] = 5e-10
    with pytest.raises(StateError, match="inertia of an admittance is a positive number"):
        rob.admittance(np.zeros(6), np.zeros(6), np.zeros(6), M, 1.0, 1.0)

"""Forces of feet: equations of motion, cones, optimality by its conditions and by another solver."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.robot.control.cases import near

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft import robot as rob
from soacraft.errors import StateError
from soacraft.robot.control.feet import program_of
from soacraft.robot.control.freedoms import motors_of

SEEDS = st.integers(0, 10_000)
LEGS = [f"{x}_SHANK" for x in ("LF", "RF", "LH", "RH")]
CROUCH = [0, 0.4, -0.8, 0, 0.4, -0.8, 0, -0.4, 0.8, 0, -0.4, 0.8]


def anymal():
    return rob.Robot(sc.load("anymal_b"))


def standing(rb, seed=0, friction=0.6, lean=0.0, feet=LEGS):
    rng = np.random.default_rng(seed)
    q = np.array(rb.mb.q)
    q[7:] = CROUCH + 0.15 * rng.standard_normal(12)
    normal = np.array([np.sin(lean), 0.0, np.cos(lean)])
    return rob.stance(rb, q, feet, friction=friction, normal=normal), rng


def held(made, stance, v, vdot):
    """The equations of motion: T + J* f = Mcal vdot + C, with the forces on the bodies at their points."""
    mb, q = stance.robot.mb, stance.q
    f_ext = []
    for i, f in enumerate(made.forces):
        frame = mb.frame(stance.feet[stance.foot[i]])
        arm = stance.points[i] - mb.pose(frame, state=mb.state(q)).translation
        f_ext.append((frame, sc.Wrench(np.cross(arm, f), f, expressed_in=mb.root)))
    return dyn.forward_dynamics(mb, q, v, made.force, f_ext)


@given(SEEDS)
@tries(15)
def test_the_robot_accelerates_as_told_and_forces_are_in_their_cones(seed):
    rb = anymal()
    stance, rng = standing(rb, seed, lean=float(np.random.default_rng(seed).uniform(0, 0.2)))
    v, vdot = 0.2 * rng.standard_normal(18), 0.5 * rng.standard_normal(18)
    made = rob.foot_forces(stance, v, vdot)
    press = np.einsum("ij,ij->i", made.forces, stance.normals)
    across = np.linalg.norm(made.forces - press[:, None] * stance.normals, axis=1)
    assert (across <= 0.6 * press + 1e-8).all()
    if made.holds:
        near(held(made, stance, v, vdot), vdot, 1e-7)
        assert not made.left.any()
        assert not made.force[:6].any()
    else:
        assert np.abs(made.left).max() > 1e-6


def solution(p):
    """The same program by clarabel."""
    n, e = len(p.g), p.equations
    rest, low, high = p.C[e:], p.lower[e:], p.upper[e:]
    A = np.concatenate([p.C[:e], -rest[np.isfinite(low)], rest[np.isfinite(high)]])
    b = np.concatenate([p.lower[:e], -low[np.isfinite(low)], high[np.isfinite(high)]])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    cones = [clarabel.ZeroConeT(e), clarabel.NonnegativeConeT(len(b) - e)]
    P = scipy.sparse.csc_matrix(np.triu(p.H))
    found = clarabel.DefaultSolver(P, p.g, scipy.sparse.csc_matrix(A), b, cones, settings).solve()
    return str(found.status), np.array(found.x[:n])


@given(SEEDS)
@tries(15)
def test_the_answer_is_that_of_clarabel(seed):
    rb = anymal()
    rng = np.random.default_rng(seed)
    feet = [LEGS[i] for i in np.sort(rng.permutation(4)[: rng.integers(2, 5)])]
    stance, _ = standing(rb, seed, friction=float(rng.uniform(0.3, 1.0)), feet=feet)
    v, vdot = 0.2 * rng.standard_normal(18), 0.5 * rng.standard_normal(18)
    sides = int(rng.integers(3, 9))
    made = rob.foot_forces(stance, v, vdot, sides=sides, limits=bool(seed % 2))
    p, _ = program_of(stance, v, vdot, motors_of(rb), sides, 1e-4, bool(seed % 2))
    status, x = solution(p)
    assert made.holds == (status == "Solved"), status
    if made.holds:
        own = np.concatenate([made.force[6:], made.forces.ravel()]) / p.sizes
        assert own @ p.H @ own <= x @ p.H @ x * (1 + 1e-7)
        near(own, x, 1e-5)


def test_the_conditions_of_the_optimum_hold():
    """H x + g = C* y; rows at their lower bound push up, at the upper one down, and others not at all."""
    rb = anymal()
    stance, rng = standing(rb, 3, friction=0.15)
    v, vdot = np.zeros(18), 0.2 * rng.standard_normal(18)
    made = rob.foot_forces(stance, v, vdot)
    p, _ = program_of(stance, v, vdot, motors_of(rb), 8, 1e-4, False)
    x, y = np.concatenate([made.force[6:], made.forces.ravel()]) / p.sizes, made.multipliers
    assert made.holds
    near(p.H @ x, p.C.T @ y, 1e-9)
    e = p.equations
    slack = p.C[e:] @ x - p.lower[e:]
    assert (slack > -1e-10).all()
    assert (y[e:] >= 0.0).all()
    assert np.abs(slack * y[e:]).max() < 1e-10
    assert (y[e:] > 1e-9).any()                                     # some contacts are at their cones


def test_more_torque_is_needed_for_any_other_forces():
    rb = anymal()
    stance, rng = standing(rb, 1)
    made = rob.foot_forces(stance, spread=1e-8)
    J = np.zeros((12, 18))
    mb, q = rb.mb, stance.q
    for i, name in enumerate(stance.feet):
        whole, arm = dyn.jacobian(mb, q, name), stance.points[i] - mb.pose(name, state=mb.state(q)).translation
        J[3 * i : 3 * i + 3] = whole[3:] - sc.spatial.skew(arm) @ whole[:3]
    inner = np.linalg.svd(J[:, :6].T)[2][6:]                        # forces that do nothing to the base
    for _ in range(10):
        f = made.forces.ravel() + 0.1 * inner.T @ rng.standard_normal(6)
        T = dyn.bias_force(mb, q, np.zeros(18)) - J.T @ f
        assert np.linalg.norm(T[6:]) > np.linalg.norm(made.force) - 1e-6


def test_the_weight_is_carried_and_pressure_is_in_the_feet():
    rb = anymal()
    stance, _ = standing(rb)
    made = rob.foot_forces(stance)
    near(made.forces.sum(axis=0), [0, 0, rb.mb.total_mass * 9.81], 1e-9)
    for i, name in enumerate(stance.feet):
        near(made.pressure[name], stance.points[i], 1e-9)
        near(made.wrenches[name][3:], made.forces[i], 1e-12)
        assert 0.0 <= made.used[name] <= 1.0
    assert "of the friction used" in repr(made)


def block(lean=0.0, mu=0.5, half=(0.3, 0.2, 0.5)):
    """A block that lies on its foot, tilted: its whole weight on four corners."""
    mb = sc.Multibody("block", gravity=(0, 0, -9.81))
    body = mb.add_body("block", None, sc.Free(), sc.Inertia(2.0, (0, 0, 0), 0.1 * np.eye(3)))
    body.add_geometry(sc.Geometry("skin", "box", tuple(2.0 * np.array(half)), role="collision"))
    R = sc.Pose.from_rpy(0.0, lean, 0.0).rotation
    q = np.concatenate([sc.spatial.matrix_to_quaternion(R), R @ [0.0, 0.0, half[2]]])
    return rob.stance(rob.Robot(mb), q, "block", friction=mu, normal=R @ [0, 0, 1.0])


@pytest.mark.parametrize("lean", [0.0, 0.2, 0.4])
def test_a_block_on_a_slope_by_forces_of_its_corners(lean):
    """It needs friction tan(lean), and its pressure is h tan(lean) down the slope. No motor: all are equations."""
    made = rob.foot_forces(block(lean, mu=1.0), sides=16)
    assert made.holds
    total = made.forces.sum(axis=0)
    near(total, [0, 0, 2.0 * 9.81], 1e-9)
    R = sc.Pose.from_rpy(0.0, lean, 0.0).rotation
    near(R.T @ made.pressure["block"], [0.5 * np.tan(lean), 0.0, 0.0], 1e-9)
    assert len(made.pressure) == 1


@pytest.mark.parametrize("turn", [0.0, 0.3, np.pi / 8])
def test_by_cones_a_block_is_held_up_to_its_friction_in_any_direction(turn):
    mu = 0.3
    for lean, holds in ((np.arctan(mu) * (1.0 - 1e-6), True), (np.arctan(mu) * (1.0 + 1e-6), False)):
        mb = sc.Multibody("block", gravity=9.81 * np.array([np.sin(lean), 0.0, -np.cos(lean)]))
        mb.add_body("block", None, sc.Free(), sc.Inertia.box(2.0, (1.0, 0.6, 0.2)))
        Z = sc.Pose.from_rpy(0.0, 0.0, turn).rotation
        corners = [[x, y, -0.1] for x in (-0.5, 0.5) for y in (-0.3, 0.3)]
        q = np.concatenate([sc.spatial.matrix_to_quaternion(Z), [0, 0, 0.1]])
        stance = rob.stance(rob.Robot(mb), q, "block", friction=mu, normal=(0, 0, 1.0), corners=corners)
        assert rob.foot_forces(stance, sides=None).holds == holds


@given(SEEDS)
@tries(10)
def test_forces_by_cones_are_those_of_pyramids_of_many_sides(seed):
    """They are inside of their cones, and no worse than pyramids inside of these; of 500 sides nearly the same."""
    rb = anymal()
    stance, rng = standing(rb, seed, friction=0.3, lean=float(np.random.default_rng(seed).uniform(0, 0.2)))
    vdot = 0.3 * rng.standard_normal(18)
    made, many = (rob.foot_forces(stance, vdot=vdot, sides=x) for x in (None, 500))
    press = np.einsum("ij,ij->i", made.forces, stance.normals)
    across = np.linalg.norm(made.forces - press[:, None] * stance.normals, axis=1)
    assert (across <= 0.3 * press + 1e-9 * press.max()).all()
    if many.holds:
        assert made.holds
        size = np.abs(many.forces).max()
        near(made.forces / size, many.forces / size, 1e-3)
        near(held(made, stance, np.zeros(18), vdot), vdot, 1e-7)


def test_what_feet_cannot_hold_is_told():
    """A slope of more than friction holds: the part along it is left, g (sin - mu cos) of the weight for a square cone
    that has an edge down the slope."""
    lean, mu = 0.5, 0.2
    made = rob.foot_forces(block(lean, mu), sides=4)
    assert not made.holds
    assert "the feet cannot hold it" in repr(made)
    # force on the block [moment; force] in its own axes: what is left points up the slope
    along = 2.0 * 9.81 * np.sin(lean)
    assert np.linalg.norm(made.left[3:]) > 0.5 * (along - mu * 2.0 * 9.81 * np.cos(lean))
    falls = rob.foot_forces(block(0.0), vdot=[0, 0, 0, 0, 0, -20.0])   # it would have to be pulled down
    assert not falls.holds
    near(falls.forces, np.zeros((4, 3)), 1e-4)
    near(falls.left, [0, 0, 0, 0, 0, -2.0 * (20.0 - 9.81)], 1e-4)


def test_without_friction_the_ground_pushes_straight():
    rb = anymal()
    stance, _ = standing(rb, friction=0.0)
    made = rob.foot_forces(stance)
    assert made.holds
    near(made.forces[:, :2], np.zeros((4, 2)), 1e-8)
    slope, _ = standing(rb, friction=0.0, lean=0.1)
    assert not rob.foot_forces(slope).holds


def test_limits_of_motors_are_kept():
    rb = anymal()
    stance, _ = standing(rb, 2)
    free = rob.foot_forces(stance)
    worst = 6 + int(np.argmax(np.abs(free.force[6:])))
    mb = rb.mb
    for body in mb.bodies:
        if mb.v_slice(body).start == worst:
            body.limits = sc.Limits(effort=0.5 * abs(free.force[worst]))
    made = rob.foot_forces(stance, limits=True)
    assert made.holds
    assert abs(made.force[worst]) <= 0.5 * abs(free.force[worst]) * (1 + 1e-9)
    assert np.linalg.norm(made.force) > np.linalg.norm(free.force)


def test_legs_with_loops_are_kept():
    """Cassie's legs have loops: torques act at its motors, and the closed chain stays at rest on its feet."""
    rb = rob.Robot(sc.load("cassie"))
    mb = rb.mb
    s = sc.loops.TreeAugmented(mb)
    q = s.assemble(np.array(mb.q))
    feet = [x.name for x in mb.bodies if "foot" in x.name and "crank" not in x.name]
    corners = [[x, y, z] for x in (-0.4, 0.4) for y in (-0.4, 0.4) for z in (-0.4, 0.4)]    # on large boards
    stance = rob.stance(rb, q, feet, friction=0.9, corners=corners)
    made = rob.foot_forces(stance, actuated=[*mb.dof_names[6:]])
    assert made.holds
    assert not made.force[:6].any()
    f_ext = []
    for i, f in enumerate(made.forces):
        frame = mb.frame(stance.feet[stance.foot[i]])
        arm = stance.points[i] - mb.pose(frame, state=mb.state(q)).translation
        f_ext.append((frame, sc.Wrench(np.cross(arm, f), f, expressed_in=mb.root)))
    near(s.forward_dynamics(q, np.zeros(mb.nv), made.force, f_ext).vdot, np.zeros(mb.nv), 1e-5)


def test_what_is_refused():
    rb = anymal()
    stance, _ = standing(rb)
    with pytest.raises(StateError, match="foot_forces is of a stance"):
        rob.foot_forces(rb)
    with pytest.raises(StateError, match="foot_forces takes one motion, got a batch"):
        rob.foot_forces(stance, np.zeros((2, 18)))
    with pytest.raises(StateError, match="spread must be from 1e-12 to 1e\\+12"):
        rob.foot_forces(stance, spread=0.0)
    with pytest.raises(StateError, match="sides of a friction pyramid must be a whole number from 3 to 10000"):
        rob.foot_forces(stance, sides=2)


def test_a_robot_without_dofs_does_not_stand_on_feet():
    mb = sc.Multibody("rock")
    mb.add_body("rock", None, sc.Weld(), sc.Inertia(1.0))
    s = rob.stance(rob.Robot(mb), [], "rock", corners=[(0, 0, 0), (1, 0, 0), (0, 1, 0)])
    with pytest.raises(StateError, match="'rock' has no dofs: it is held by what it is welded to"):
        rob.foot_forces(s)

"""Linearization of closed chains in independent coordinates: closed forms, and the nonlinear motion."""

import numpy as np
import pytest
from scipy.optimize import brentq
from tests.loops.by_name import by_name
from tests.loops.cases import FourBar, Z, close, force_of, library, near, project, tie
from tests.loops.test_derivatives import SOLVERS, arms, difference

import soacraft as sc
from soacraft.errors import LoopError, StateError
from soacraft.kinematics.rows import Constraints
from soacraft.loops import linearize
from soacraft.model.samples.random_models import random_inertia, random_pose


@pytest.mark.parametrize("make", SOLVERS, ids=lambda x: x.__name__)
def test_a_parallelogram_swings_like_a_pendulum(make):
    """Two uniform cranks of length l and a coupler that only travels: a pendulum in closed form."""
    length, (m1, m2, m3) = 0.4, (1.5, 2.0, 0.7)
    bar = FourBar(crank=length, coupler=1.0, rocker=length, ground=1.0, masses=(m1, m2, m3))
    mb = bar.build(-1.0)
    mb.q = [-np.pi / 2, np.pi / 2, -np.pi / 2]
    lin = linearize(make(mb), mb.q, mb.v, 0 * mb.v)
    stiffness, inertia = 9.81 * length * ((m1 + m3) / 2 + m2), length**2 * ((m1 + m3) / 3 + m2)
    near(np.abs(lin.eigenvalues.imag), np.full(2, np.sqrt(stiffness / inertia)))
    assert lin.is_stable
    assert repr(lin) == "ClosedLinearization of 1 independent of 3 dofs: A 2 x 2, B 2 x 3"


def test_a_four_bar_swings_at_the_frequency_of_its_lagrangian():
    bar = FourBar()
    rest = brentq(lambda x: bar.acceleration(x, 0.0, 0.0), -2.5, -0.5)
    mb = bar.build(rest)
    lin = linearize(sc.loops.ConstraintEmbedding(mb, independent=["crank"]), mb.q, mb.v, 0 * mb.v)
    stiffness = -difference(lambda t: bar.acceleration(rest + t, 0.0, 0.0), 1e-3)
    assert stiffness > 1.0
    assert lin.dof_names == ("crank",)
    near(np.abs(lin.eigenvalues.imag), np.full(2, np.sqrt(stiffness)), 1e-8)


def test_a_four_bar_in_motion_against_its_lagrangian():
    bar, theta, rate, torque = FourBar(), 0.7, 2.0, 3.0
    mb = bar.build(theta)
    s = sc.loops.ConstraintEmbedding(mb, independent=["crank"])
    A, B = linearize(s, mb.q, s.expand(mb.q, [rate]), [torque, 0, 0])
    near(A[0], [0.0, 1.0])
    near(A[1, 0], difference(lambda t: bar.acceleration(theta + t, rate, torque), 1e-3), 1e-8)
    near(A[1, 1], difference(lambda t: bar.acceleration(theta, rate + t, torque), 1e-3), 1e-8)
    near(B[1, 0], difference(lambda t: bar.acceleration(theta, rate, torque + t), 1e-1))


@pytest.mark.parametrize("hinge", [sc.Universal((1, 0, 0), (0, 0, 1)), sc.Spherical(), sc.Gimbal(), sc.Pin((1, 1, 0))])
def test_any_hinge_against_differences_along_closed_states(hinge):
    """xi'_i and dvdot_i of states that differ by a small motion in the independent dofs."""
    mb = arms(hinge)
    q, v, force = mb.q, mb.v, force_of(mb)
    s = sc.loops.ConstraintEmbedding(mb)
    lin = linearize(s, q, v, force)
    m, i = len(lin.dof_names), [mb.dof_names.index(x) for x in lin.dof_names]
    rng = np.random.default_rng(8)
    xi, dv, dforce = rng.standard_normal(m), rng.standard_normal(m), rng.standard_normal(mb.nv)

    def state(t):
        moved = s.advance(q, by_name(s, q, t * xi))
        return moved, s.expand(moved, by_name(s, moved, v[i] + t * dv))

    def rate(t):
        moved, faster = state(t)
        apart = difference(lambda x: mb.difference(mb.integrate(q, x * v), mb.integrate(moved, x * faster))[i], 1e-3)
        return np.concatenate([apart, s.forward_dynamics(moved, faster, force + t * dforce).vdot_independent])

    assert s.changes == []
    near(lin.A @ np.concatenate([xi, dv]) + lin.B @ dforce, difference(rate, 2e-4), 1e-7)
    near(lin.X @ xi, difference(lambda t: mb.difference(q, state(t)[0]), 2e-4), 1e-8)
    near(lin.X @ dv + lin.Y @ xi, difference(lambda t: state(t)[1], 2e-4), 1e-8)


@pytest.mark.parametrize("passive", [True, False])
def test_springs_dampers_and_forces_take_part(passive):
    """A spring and a damper at the crank and at the rocker, and a force on the coupler, against differences; left out,
    they are as if they were not there."""
    mb, plain = (FourBar().build(0.7) for _ in range(2))
    mb["crank"].passive = sc.Passive(stiffness=40.0, damping=3.0)
    mb["rocker"].passive = sc.Passive(stiffness=25.0, damping=2.0, rest=0.4)
    push = {"coupler": sc.Wrench((0, 0, 2), (30, -20, 0), expressed_in="inertial")}
    s = sc.loops.ConstraintEmbedding(mb, independent=["crank"])
    q, v, force = mb.q, s.expand(mb.q, [2.0]), np.array([3.0, 0.0, 0.0])
    A, B = linearize(s, q, v, force, push, passive=passive)

    def vdot(theta, rate):
        at = s.advance(q, [theta])
        return s.forward_dynamics(at, s.expand(at, [rate]), force, push, passive=passive)["crank"]

    near(A[1, 0], difference(lambda t: vdot(t, 2.0), 1e-3), 1e-8)
    near(A[1, 1], difference(lambda t: vdot(0.0, 2.0 + t), 1e-3), 1e-8)
    without = linearize(sc.loops.ConstraintEmbedding(plain, independent=["crank"]), q, v, force, push)
    assert np.allclose(A, without.A, rtol=1e-9, atol=1e-9) is not passive
    unpushed = linearize(s, q, v, force, passive=passive)
    assert np.abs(A - unpushed.A).max() > 1.0
    near(B, unpushed.B)


def test_the_linear_motion_is_the_motion_of_a_five_bar_about_its_rest():
    mb = library("five_bar")
    s = sc.loops.ConstraintEmbedding(mb)
    q, still = mb.q, np.zeros(mb.nv)
    i = [mb.dof_names.index(x) for x in s.independent(q)]
    m = len(i)
    force = s.inverse_dynamics(q, still, by_name(s, q, np.zeros(m)))
    lin = linearize(s, q, still, force)
    start, end, steps = np.linspace(1.0, 2.0, 2 * m), 0.05, 10

    def rate(x):
        at = np.array(q)
        at[i] = x[:m]
        at = s.complete(at)
        v = s.expand(at, by_name(s, at, x[m:]))
        return np.concatenate([x[m:], s.forward_dynamics(at, v, force).vdot_independent])

    def flow(t):
        x, h = np.concatenate([q[i], np.zeros(m)]) + t * start, end / steps
        for _ in range(steps):
            k1 = rate(x)
            k2 = rate(x + 0.5 * h * k1)
            k3 = rate(x + 0.5 * h * k2)
            x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + rate(x + h * k3))
        return x

    z = lin.A * (end / steps)  # the same Runge-Kutta steps on the linear motion
    step = np.eye(2 * m) + z + z @ z / 2 + z @ z @ z / 6 + z @ z @ z @ z / 24
    near(np.linalg.matrix_power(step, steps) @ start, difference(flow, 1e-3), 1e-7)


def test_refusals():
    mb = FourBar().build(0.7)
    s = sc.loops.TreeAugmented(mb)
    with pytest.raises(StateError, match=r"linearize takes one state of a closed chain, got a batch \(2,\)"):
        linearize(s, mb.q, mb.v, np.zeros((2, 3)))
    with pytest.raises(LoopError, match=r"loop 'ring' of 'four_bar' opens at .* v = s.project_velocity\(q, v\)"):
        linearize(s, mb.q, [1.0, 0.0, 0.0], mb.v)
    rolling = sc.Multibody("rolling")
    rolling.add_body("ball", None, sc.RollingBall(0.5), random_inertia(np.random.default_rng(1)))
    rolling.add_body("arm", "ball", sc.Pin((1, 0, 0)), random_inertia(np.random.default_rng(2)))
    rolling.close_loop("hold", "inertial", "arm", sc.RollingBall(0.5))
    with pytest.raises(StateError, match=r"attach its body by a Free hinge and close a loop by this one"):
        linearize(sc.loops.TreeAugmented(rolling), rolling.q, rolling.v, 0 * rolling.v)


# -- closures that roll ---------------------------------------------------------------------------------------------


def rolling_disc(transverse, axial, speed, mass=1.3, radius=0.4, g=9.81):
    """An upright disc that rolls along x, its moments in m a^2: coordinates x, y, heading, height, lean and spin, of
    which x and spin do not matter, so that the linearization is the same all along."""
    mb, nothing = sc.Multibody("disc", gravity=(0, 0, -g)), sc.Inertia(0.0, (0, 0, 0), np.zeros((3, 3)))
    mb.add_body("track", None, sc.Planar(), nothing)
    mb.add_body("height", "track", sc.Prismatic((0, 0, 1)), nothing)
    moment = mass * radius**2 * np.diag([transverse, axial, transverse])
    mb.add_body("disc", "height", sc.Universal((1, 0, 0), (0, 1, 0)), sc.Inertia(mass, (0, 0, 0), moment))
    mb.add_rolling("rim", "disc", radius=radius, axis=(0, 1, 0))
    mb.set_state([0.3, -0.2, 0, radius, 0, 0.7], [speed, 0, 0, 0, 0, speed / radius])
    return mb


@pytest.mark.parametrize("make", SOLVERS, ids=lambda x: x.__name__)
@pytest.mark.parametrize(("transverse", "axial", "limit"), [(1 / 4, 1 / 2, 1 / 3), (1 / 2, 1.0, 1 / 4)])
def test_a_rolling_disc_stays_upright_above_its_speed(make, transverse, axial, limit):
    """v^2 > g a / 3 of a disc, g a / 4 of a hoop, from the equations of lean and heading, with A and C in m a^2:

    (A + 1) lean'' = (g / a) lean + (C + 1) spin heading',   A heading'' = -C spin lean'
    """
    radius, g = 0.4, 9.81
    for share in (0.6, 0.98, 1.02, 3.0):
        speed = np.sqrt(share * limit * g * radius)
        mb = rolling_disc(transverse, axial, speed)
        lin = linearize(make(mb), mb.q, mb.v, np.zeros(6))
        square = g / radius - axial * (axial + 1) / transverse * (speed / radius) ** 2
        square /= transverse + 1
        found = lin.eigenvalues[np.argsort(-np.abs(lin.eigenvalues))]
        near(found[:2] ** 2, np.full(2, square), 1e-9)
        near(np.abs(found[2:]), np.zeros(6), 1e-5)  # zeros that are repeated: roots of rounding
        assert bool(lin.is_stable) == (share > 1.0)
    assert len(lin.position_names) == 5
    assert set(lin.dof_names) <= set(lin.position_names)
    travels = {name for name, unit in zip(mb.dof_names, "".join(mb.layout.units.hinge), strict=True) if unit == "m"}
    assert len(travels) == 3  # x, y and height are measured by one length, turns by the radian
    for names, sizes in ((lin.position_names, lin.position_sizes), (lin.dof_names, lin.dof_sizes)):
        assert [x == 1.0 for x in sizes] == [name not in travels for name in names]
        assert len({x for x in sizes if x != 1.0}) <= 1
    assert repr(lin) == "ClosedLinearization of 3 independent of 6 dofs, which 5 dofs place: A 8 x 8, B 8 x 6"


def rolling_wheel(hinge):
    """A free body that rolls on the floor."""
    mb, rng = sc.Multibody("rolling"), np.random.default_rng(1)
    mb.add_body("wheel", None, sc.Free(), random_inertia(rng), random_pose(rng))
    mb.set_state(*mb.random_state(3))
    close(mb, "floor", mb.root.add_node("floor", sc.Pose()), "wheel", hinge, 2)
    mb.v = project(mb, mb.v)
    return mb


def rolling_wheel_with_ties():
    """A body that rolls and carries two geared wheels and a four-bar: a closure of every kind."""
    mb, rng = sc.Multibody("rolling"), np.random.default_rng(1)
    mb.add_body("wheel", None, sc.Free(), random_inertia(rng), random_pose(rng))
    for name, axis in (("one", (1, 0, 0)), ("two", (0, 1, 1))):
        mb.add_body(name, "wheel", sc.Pin(axis), random_inertia(rng), random_pose(rng))
    parent = "wheel"
    for i in range(3):
        parent = mb.add_body(f"bar{i}", parent, sc.Pin(Z), random_inertia(rng), sc.Pose(translation=(1.0 + i, 0.2, 0)))
    mb.set_state(*mb.random_state(3))
    close(mb, "ring", "bar2", "wheel", sc.Pin(Z), 4)
    close(mb, "floor", mb.root.add_node("floor", sc.Pose()), "wheel", sc.RollingBall(0.5), 2)
    tie(mb, "gear", ["one", "two"], [(1.0,), (-2.5,)])
    mb.v = project(mb, mb.v)
    return mb


def against_differences(mb):
    """The linearization of a model with closures that roll; its dofs of position and of velocity, how many.

    States near one that rolls: moved in all ways in which it touches, then as fast as it rolls there.
    """
    rng = np.random.default_rng(11)
    q, v, force = mb.q, mb.v, force_of(mb)
    s = sc.loops.TreeAugmented(mb)
    lin = linearize(s, q, v, force)
    places, i = ([mb.dof_names.index(x) for x in names] for names in (lin.position_names, lin.dof_names))
    xi, dv, dforce = rng.standard_normal(len(places)), rng.standard_normal(len(i)), rng.standard_normal(mb.nv)
    to_i = np.eye(mb.nv)[i]

    def state(t):
        moved = s.assemble(mb.integrate(q, t * lin.Z @ xi))
        rows = Constraints(mb, mb.state(moved)).jacobian()
        wanted = np.concatenate([np.zeros(len(rows)), v[i] + t * dv])
        return moved, np.linalg.lstsq(np.concatenate([rows, to_i]), wanted, rcond=None)[0]

    def rate(t):
        moved, faster = state(t)
        apart = difference(lambda x: mb.difference(mb.integrate(q, x * v), mb.integrate(moved, x * faster)), 1e-3)
        return np.concatenate([apart[places], s.forward_dynamics(moved, faster, force + t * dforce).vdot[i]])

    near(lin.A @ np.concatenate([xi, dv]) + lin.B @ dforce, difference(rate, 1e-3), 1e-6)
    near(lin.X @ dv + lin.Y @ xi, difference(lambda t: state(t)[1], 1e-3), 1e-7)
    return len(places), len(i)


@pytest.mark.parametrize("hinge", [sc.RollingBall(0.5), sc.RollingDisc(0.5)], ids=lambda x: type(x).__name__)
def test_a_closure_that_rolls_against_differences(hinge):
    assert against_differences(rolling_wheel(hinge)) == (5, 3)


def test_a_closure_that_rolls_beside_a_loop_and_a_coupling_against_differences():
    """The four-bar and the gear have one dof each, of position as of velocity."""
    assert against_differences(rolling_wheel_with_ties()) == (5 + 2, 3 + 2)

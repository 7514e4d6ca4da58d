"""Free bodies and floating robots feel no constant velocity; published motions of spinning bodies."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.special import ellipj
from tests.contact.scenes import free, ground, sphere
from tests.sim.test_compiled import in_python, is_compiled

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import SimulationError
from soacraft.sim.floating_dofs import floating_dofs
from soacraft.sim.integrators.methods import METHODS

DIRECTION = np.array([0.6, 0.48, 0.64])
FIXED = ("rk4", "euler_symplectic", "verlet", "gauss4", "gauss6", "moreau", "moreau_midpoint", "generalized_alpha")
ADAPTIVE = ("dop853", "radau", "cvode", "ida")


def brick(speed, spin=(1.0, 2.0, 0.5), com=(0.0, 0.0, 0.0)):
    mb = sc.Multibody("brick", gravity=(0, 0, 0))
    mb.add_body("brick", None, sc.Free(), sc.Inertia(1.0, com, 0.01 * np.diag([1.0, 2.0, 3.0])))
    mb.set_state(free(0, 0, 0), [*spin, *(speed * DIRECTION)])
    return mb


def robot(speed):
    """A quadruped that floats and moves its legs, as seen by someone who goes past with a speed."""
    mb = sc.load("anymal_b")
    q, v = mb.random_state(3)
    mb.gravity = (0, 0, 0)
    v = 0.5 * v
    v[3:6] += Rotation.from_quat(q[:4]).inv().apply(speed * DIRECTION)
    mb.set_state(q, v)
    return mb


def inertial(run, at=slice(3, 6)):
    """The velocities of the free body in inertial axes."""
    return Rotation.from_quat(run.q[:, :4]).apply(run.v[:, at])


def run_of(mb, method, t, step=1e-3, rtol=1e-9):
    p = sc.sim.Propagator(mb, integrator=method, rtol=rtol, step=None if method in ADAPTIVE else step)
    if METHODS[method].touches:
        p.add(sc.sim.Contact())
    return p.advance_to(t)


@pytest.mark.parametrize("com", [(0.0, 0.0, 0.0), (0.02, -0.05, 0.03)])
@pytest.mark.parametrize("rtol", [1e-9, 1e-12])
def test_a_brick_takes_the_same_steps_at_every_speed(rtol, com):
    runs = [run_of(brick(speed, com=com), "dop853", 30.0, rtol=rtol) for speed in (0.0, 100.0, 7500.0)]
    assert is_compiled(runs[0])
    for run in runs[1:]:
        assert abs(len(run) - len(runs[0])) <= 0.05 * len(runs[0])
        np.testing.assert_allclose(run.v[-1, :3], runs[0].v[-1, :3], rtol=0, atol=10.0 * rtol)
        np.testing.assert_allclose(run.q[-1, :4], runs[0].q[-1, :4], rtol=0, atol=10.0 * rtol)
    assert run.check().holds


def test_a_brick_takes_the_same_steps_in_python(monkeypatch):
    in_python(monkeypatch)
    rest, fast = (run_of(brick(speed), "dop853", 3.0, rtol=1e-12) for speed in (0.0, 7500.0))
    assert not is_compiled(rest)
    assert len(rest) == len(fast)


@pytest.mark.parametrize("speed", [3.6, 7500.0])
@pytest.mark.parametrize("method", [*FIXED, "dop853", "radau", "cvode", "ida"])
def test_the_speed_of_a_body_that_spins_is_kept(method, speed):
    """100 rad/s, which turns its axes by a tenth of a radian in each step of a millisecond."""
    run = run_of(brick(speed, (100.0, 0.01, 0.02)), method, 0.05 if method in ADAPTIVE else 0.2)
    assert np.abs(np.linalg.norm(run.v[:, 3:], axis=1) / speed - 1.0).max() < 1e-13
    np.testing.assert_allclose(inertial(run), speed * DIRECTION + 0.0 * run.v[:, 3:], rtol=0, atol=1e-12 * speed)
    np.testing.assert_allclose(run.q[:, 4:], np.outer(run.t, speed * DIRECTION), rtol=0, atol=1e-12 * speed)


@pytest.mark.parametrize("method", ["rk4", "euler_symplectic", "verlet"])
def test_the_speed_of_a_body_that_spins_is_kept_in_rollouts(method):
    mb = brick(7500.0, (100.0, 0.01, 0.02))
    for count in (1, 7):
        Q, V = sc.sim.Propagator(mb, integrator=method, step=1e-3).rollout([mb.q] * count, [mb.v] * count, steps=200)
        assert np.abs(np.linalg.norm(V[..., 3:], axis=-1) / 7500.0 - 1.0).max() < 1e-13
    single = run_of(mb, method, 0.2)
    np.testing.assert_allclose(Q[3], single.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(V[3], single.v, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", ["h1", "anymal_b"])
def test_joints_in_flight_accelerate_the_same_at_every_speed(name):
    mb = sc.load(name)
    q, v = mb.random_state(1)
    fast = np.array(v)
    fast[3:6] += 7500.0 * DIRECTION
    T = np.random.default_rng(2).normal(size=mb.nv)
    a, b = dyn.forward_dynamics(mb, q, v, T), dyn.forward_dynamics(mb, q, fast, T)
    np.testing.assert_allclose(b[6:], a[6:], rtol=1e-11, atol=1e-11)
    turn = np.cross(v[:3], fast[3:6] - v[3:6])
    np.testing.assert_allclose(b[3:6], a[3:6] - turn, rtol=0, atol=1e-11 * np.abs(turn).max())
    np.testing.assert_allclose(dyn.inverse_dynamics(mb, q, fast, b), T, rtol=0, atol=1e-7)


@pytest.mark.parametrize("method", ["dop853", "rk4", "gauss4", "verlet", "generalized_alpha"])
def test_momentum_and_energy_of_a_floating_robot(method):
    """Of its own motion they are the same at 0, 100 and 7,500 m/s."""
    seen = []
    for speed in (0.0, 100.0, 7500.0):
        mb = robot(speed)
        run = run_of(mb, method, 0.02)
        mass, shift = sum(x.inertia.mass for x in mb.bodies), np.outer(run.t, speed * DIRECTION)
        own_q, own_v = np.array(run.q), np.array(run.v)
        own_q[:, 4:7] -= shift
        own_v[:, 3:6] -= Rotation.from_quat(run.q[:, :4]).inv().apply(speed * DIRECTION)
        momentum = dyn.momentum(mb, run.q, run.v)[:, 3:]
        assert np.abs(momentum - momentum[0]).max() < 1e-5 + 1e-12 * mass * speed
        whole = dyn.kinetic_energy(mb, own_q, own_v), dyn.momentum(mb, own_q, own_v), run.v[:, 6:]
        seen.append((len(run), *(x[-1] for x in whole)))
    for other in seen[1:]:
        assert abs(other[0] - seen[0][0]) <= 0.05 * seen[0][0]
        for x, y in zip(other[1:], seen[0][1:], strict=True):
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-7 * max(1.0, np.abs(y).max()))


def test_the_torque_free_motion_of_an_asymmetric_body():
    """Jacobi's elliptic functions (Landau and Lifshitz, Mechanics, 37), while it travels at 7,500 m/s."""
    I1, I2, I3 = 0.01, 0.02, 0.03
    run = run_of(brick(7500.0, (1.0, 0.0, 2.0)), "dop853", 20.0, rtol=1e-12)
    w1, w3 = 1.0, 2.0
    E2, M2 = I1 * w1**2 + I3 * w3**2, I1**2 * w1**2 + I3**2 * w3**2  # M^2 > 2 E I2
    n = np.sqrt((I3 - I2) * (M2 - E2 * I1) / (I1 * I2 * I3))
    m = (I2 - I1) * (E2 * I3 - M2) / ((I3 - I2) * (M2 - E2 * I1))
    sn, cn, dn, _ = ellipj(n * run.t, m)
    most = np.sqrt((E2 * I3 - M2) / (I2 * (I3 - I2)))
    np.testing.assert_allclose(run.v[:, :3], np.array([w1 * cn, most * sn, w3 * dn]).T, rtol=0, atol=1e-9)


def test_a_symmetric_body_precesses():
    """The axis goes round with L / I1 (Goldstein, Classical Mechanics, 5.6), by compiled steps of a fixed length."""
    mb = sc.Multibody("disc", gravity=(0, 0, 0))
    mb.add_body("disc", None, sc.Free(), sc.Inertia(1.0, moment=np.diag([1.0, 1.0, 2.0])))
    mb.set_state(free(0, 0, 0), [0.3, 0.0, 5.0, 7500.0, 0.0, 0.0])
    run = run_of(mb, "rk4", 2.0)
    rate = (2.0 - 1.0) / 1.0 * 5.0
    turn = np.array([np.cos(rate * run.t), np.sin(rate * run.t)]).T
    np.testing.assert_allclose(run.v[:, :2], 0.3 * turn, rtol=0, atol=1e-9)


@pytest.mark.parametrize("by", ["compiled", "python"])
@pytest.mark.parametrize("method", ["moreau", "moreau_midpoint"])
def test_a_ball_with_spin_bounces_with_friction(method, by, monkeypatch):
    """It slides all through the impact: J = mu m v along the slip, which the spin of 39 rad/s sets."""
    mu, vz = 0.3, 2.0
    if by == "python":
        in_python(monkeypatch)
    mb = ground()
    sphere(mb)
    mb.gravity = (0, 0, 0)
    w, v = np.array([30.0, 20.0, -15.0]), np.array([1.0, 0.3, -vz])
    mb.set_state(free(0, 0, 0.1004), [*w, *v])
    p = sc.sim.Propagator(mb, integrator=method, step=1e-3)
    p.add(sc.sim.Contact(friction=mu))
    run = p.advance_to(0.02)
    slip = v + np.cross(w, [0, 0, -0.1])
    push = -mu * vz * np.array([*slip[:2], 0.0]) / np.linalg.norm(slip[:2])
    np.testing.assert_allclose(inertial(run)[-1], [push[0] + v[0], push[1] + v[1], 0.0], rtol=0, atol=1e-9)
    spin = w + np.cross([0, 0, -0.1], push) / (0.4 * 0.01)
    np.testing.assert_allclose(inertial(run, slice(0, 3))[-1], spin, rtol=1e-9)


def test_what_floats():
    """A closure between two bodies of one tree lets it float, one to the ground does not; nor does armature."""
    mb = robot(0.0)
    assert np.flatnonzero(floating_dofs(mb, ())).tolist() == [3, 4, 5]
    assert not floating_dofs(mb, [4]).any()
    foot = mb.bodies[-1]
    mb.close_loop("inner", mb.bodies[0], foot, sc.Spherical())
    assert floating_dofs(mb, ()).any()
    mb.close_loop("outer", "inertial", foot, sc.Spherical())
    assert not floating_dofs(mb, ()).any()
    one = brick(0.0)
    one.bodies[0].armature = np.ones(6)
    assert not floating_dofs(one, ()).any()


def test_dampers_act_at_the_speed_that_there_is(monkeypatch):
    """What floats is evaluated at rest, but the dampers of its hinge are not: v = v0 exp(-d t / m)."""
    for compiled in (True, False):
        mb = brick(50.0, (0.0, 0.0, 0.0))
        mb.bodies[0].passive = sc.Passive(damping=[0, 0, 0, 2.0, 2.0, 2.0])
        p = sc.sim.Propagator(mb)
        if not compiled:
            in_python(monkeypatch)
        run = p.advance_to(0.5)
        assert is_compiled(run) == compiled
        np.testing.assert_allclose(run.v[-1, 3:], 50.0 * DIRECTION * np.exp(-1.0), rtol=1e-8)
        np.testing.assert_allclose(run.vdot[-1, 3:], -2.0 * run.v[-1, 3:], rtol=1e-9)


def test_steps_too_long_for_a_spin_are_named():
    """A plate that nutates at its spin of 1.9 rad a step: rk4 damps it away, and no spring is the cause."""
    mb = sc.Multibody("plate", gravity=(0, 0, 0))
    mb.add_body("plate", None, sc.Free(), sc.Inertia(1.0, moment=np.diag([1.0, 1.0, 2.0])))
    for method, text in (
        ("rk4", "are too long for the spin: bodies turn by a radian within 0.53 s, and steps of 1 s damp"),
        ("verlet", "stability limits the steps of 'verlet' to 0.53 s, since bodies turn by a radian within"),
    ):
        mb.set_state(free(0, 0, 0), [0.04, 0.0, 1.9, 1.0, 0.0, 0.0])
        with pytest.raises(SimulationError, match=text):
            sc.sim.Propagator(mb, integrator=method, step=1.0).advance_to(400.0)
    mb.set_state(free(0, 0, 0), [0.04, 0.0, 0.5, 1.0, 0.0, 0.0])
    assert len(sc.sim.Propagator(mb, integrator="rk4", step=1.0).advance_to(400.0)) == 401


def test_gravity_is_named_where_it_limits_steps():
    mb = sc.load("pendulum")
    mb.set_state([0.3], [0.0])
    with pytest.raises(SimulationError, match=r"stability limits the steps of 'rk4' to 0.9. s, since gravity acts"):
        sc.sim.Propagator(mb, integrator="rk4", step=1.2).advance_to(200.0)


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_a_run_in_two_halves_has_the_same_bits(method):
    whole = run_of(brick(7500.0), method, 0.4)
    mb = brick(7500.0)
    p = sc.sim.Propagator(mb, integrator=method, step=None if method == "dop853" else 1e-3)
    if method == "rk4":
        p.advance_to(0.2)
        assert np.array_equal(p.advance_to(0.4).q[-1], whole.q[-1])
        assert np.array_equal(mb.v, whole.v[-1])


@pytest.mark.parametrize("method", ["rk4", "verlet", "euler_symplectic"])
def test_derivatives_of_a_run_of_a_body_that_spins(method):
    """By differences of whole runs, along all of its dofs: with large turns and travels in each step."""

    def end(d):
        mb = brick(3.0, (4.0, 2.0, -3.0), (0.02, -0.05, 0.03))
        mb.gravity = (0, 0, -9.81)
        q, v = mb.integrate(mb.q, d[:6]), mb.v + d[6:]
        mb.set_state(q, v)
        p = sc.sim.Propagator(mb, integrator=method, step=0.1)
        return mb, p.advance_to(0.3)

    mb, run = end(np.zeros(12))
    exact = run.derivatives().forward(np.eye(12)[0])[-1]
    for i in (0, 2, 4, 7, 9):
        e = 1e-6 * np.eye(12)[i]
        (_, a), (_, b) = end(e), end(-e)
        moved = np.r_[mb.difference(b.q[-1], a.q[-1]), a.v[-1] - b.v[-1]] / 2e-6
        exact = run.derivatives().forward(np.eye(12)[i])[-1]
        np.testing.assert_allclose(exact, moved, rtol=0, atol=2e-7)


def test_accelerations_of_one_state_are_those_of_many():
    """vdot = a - w x v of what floats, on its own axes: state by state and all at once, with the same bits."""
    mb = sc.Multibody("two")
    for name, parent in (("first", None), ("second", "first")):
        mb.add_body(name, parent, sc.Free(), sc.Inertia(1.0, (0.0, 0.0, 0.1), np.eye(3)))
    space = sc.sim.Propagator(mb)._acting.begin().coordinates
    v, a = np.random.default_rng(4).normal(size=(2, 20, mb.nv))
    vdot = space.own(v, a)
    np.testing.assert_array_equal([space.own(*each) for each in zip(v, a, strict=True)], vdot)
    np.testing.assert_allclose(vdot[:, 3:6], a[:, 3:6] - np.cross(v[:, :3], v[:, 3:6]), rtol=0, atol=1e-14)

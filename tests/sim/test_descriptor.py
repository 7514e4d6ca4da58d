"""The descriptor form against differences and against the solver of closed chains: two closures on one body, couplings,
prescribed dofs in radians and in metres, and forces that are functions."""

from __future__ import annotations

import numpy as np
import pytest
from tests.loops.cases import row_of_four_bars
from tests.loops.test_redundant_closures import bricard, bricard_motion
from tests.scales.scaled import Units, scaled, velocity_units

import soacraft as sc
from soacraft.sim.descriptor import Descriptor

T = 0.3


def add_slides_and_wheels(mb: sc.Multibody) -> None:
    """Two and three of them, each on the ground."""
    inertia = sc.Inertia(0.7, (0.2, 0, 0), 0.2 * np.eye(3))
    for name, hinge in (("rack", sc.Prismatic((1, 0, 0))), ("wheel", sc.Pin((0, 0, 1))), ("cam", sc.Pin((0, 0, 1))),
                        ("lift", sc.Prismatic((0, 1, 0))), ("spin", sc.Pin((0, 0, 1)))):  # fmt: skip
        mb.add_body(name, None, hinge, inertia)


def row_with_rack_and_cam(times: float = 1.0) -> sc.Multibody:
    """A row of four-bars, one closed twice, with a rack and a cam, and two dofs next to it."""
    mb = row_of_four_bars(2)
    mb.close_loop("again", "crank1/tip", "coupler0/tip", sc.Spherical())
    state = {x.name: (float(mb.q[i]), float(mb.v[i])) for i, x in enumerate(mb.bodies)}
    add_slides_and_wheels(mb)
    mb.couple("mesh", {"rack": times, "wheel": -0.2 * times})
    mb.couple("follower", {"cam": -1.0, "crank0": (1.0, 0.3)})
    crank, rate = state["crank0"]
    state |= {"wheel": (0.5, 2.0), "rack": (0.1, 0.4)}
    state["cam"] = crank + 0.3 * crank**2, (1.0 + 0.6 * crank) * rate
    state |= {"lift": (0.3 * T**2, 0.6 * T), "spin": (np.sin(T), np.cos(T))}
    mb.set_state(*np.array([state[x.name] for x in mb.bodies]).T)
    return mb


def moving(mb: sc.Multibody, length: float = 1.0, time: float = 1.0):
    """A propagator of two dofs that move as told, in other units of length and time."""
    p = sc.sim.Propagator(mb, t=T * time)
    lift, spin = 0.3 * length, 1.0 / time
    p.prescribe("lift", lambda t: (lift * (t / time) ** 2, 2.0 * lift * t / time**2, 2.0 * lift / time**2))
    p.prescribe("spin", lambda t: (np.sin(t * spin), spin * np.cos(t * spin), -(spin**2) * np.sin(t * spin)))
    return p


@pytest.fixture
def problem():
    """With a force that is a function."""
    p = moving(row_with_rack_and_cam())
    p.add(lambda t, state: -0.4 * state.v * np.abs(state.v) + np.sin(3.0 * state.q))
    return p._acting.begin()


def slopes(f, columns):
    """Central differences of order four of a function of so many numbers, at zero."""
    h = 1e-3
    return np.array([
        (8.0 * (f(h * e) - f(-h * e)) - (f(2.0 * h * e) - f(-2.0 * h * e))) / (12.0 * h) for e in np.eye(columns)
    ]).T  # fmt: skip


def test_rows_vary_as_they_say(problem):
    mb, q, v = problem.mb, np.array(problem.mb.q), np.array(problem.mb.v)
    form = Descriptor(problem, "ida", q, independent=True)
    rows = form.rows(T, q, v)
    assert rows.G.shape == (6 * 3 + 2 + 2, mb.nv)
    np.testing.assert_allclose(rows.g, 0.0, atol=1e-12)
    np.testing.assert_allclose(rows.speed, 0.0, atol=1e-12)
    along = slopes(lambda u: form.rows(T, mb.integrate(q, u), v).g, mb.nv)
    np.testing.assert_allclose(rows.G, along, rtol=0, atol=1e-8)
    in_v = slopes(lambda u: form.rows(T, q, v + u).speed, mb.nv)
    np.testing.assert_allclose(rows.G, in_v, rtol=0, atol=1e-10)
    later = [form.rows(T + k * 1e-4, q, v) for k in (-1, 1)]
    in_t = (later[1].g - later[0].g) / 2e-4
    np.testing.assert_allclose(rows.speed, rows.G @ v + in_t, rtol=0, atol=1e-7)


def test_derivatives_against_differences(problem):
    check_derivatives(problem, np.array(problem.mb.q), np.array(problem.mb.v))


@pytest.mark.parametrize("order", [("pin", "ball"), ("ball", "pin")])
def test_derivatives_of_two_closures_between_bodies_in_space(order):
    """A pin and a ball at one place of a free body and the last of two others, that move as one: moments and forces of
    both are on each, and turn with the body that carries them."""
    mb, there = sc.Multibody("three"), sc.Pose.from_rpy(0.3, -0.2, 0.9, (0.4, -0.3, 0.7))
    for name, parent, hinge in (("a", None, sc.Free()), ("arm", None, sc.Free()), ("b", "arm", sc.Spherical())):
        inertia = sc.Inertia(1.0, (0.1, 0.2, 0), np.diag([1.0, 2.0, 2.5]))
        mb.add_body(name, parent, hinge, inertia).add_node("tip", there)
    for name in order:
        mb.close_loop(name, "a/tip", "b/tip", sc.Spherical() if name == "ball" else sc.Pin((0, 0, 1)))
    q, v = np.zeros(mb.nq), np.zeros(mb.nv)
    for name in ("a", "arm"):
        q[mb.q_slice(mb[name])] = [0.3, -0.5, 0.2, np.sqrt(1.0 - 0.38), 0.2, 1.0, -0.4]
        v[mb.v_slice(mb[name])] = [0.4, -0.7, 0.3, 1.0, 0.2, -0.5]
    q[mb.q_slice(mb["b"])] = [0, 0, 0, 1]
    mb.set_state(q, v)
    check_derivatives(sc.sim.Propagator(mb)._acting.begin(), q, v)


def check_derivatives(problem, q, v):
    """Of [balance; speed] in q, v and vdot, at multipliers of all rows and accelerations that are not those of the
    motion."""
    mb, rng = problem.mb, np.random.default_rng(4)
    form = Descriptor(problem, "ida", q, independent=True)
    rows = form.rows(T, q, v)
    vdot, multipliers = rng.standard_normal(mb.nv), rng.standard_normal(len(rows.g))

    def balance(u, w, a):
        q1, v1 = mb.integrate(q, u), v + w
        rates = problem.coordinates.straight(v1, vdot + a)
        return form.balance(T, q1, v1, rates, form.rows(T, q1, v1), multipliers) * form.c / form.unit

    none = np.zeros(mb.nv)
    exact = form.derivatives(T, q, v, vdot, multipliers)
    cases = (
        (exact.K, lambda u: balance(u, none, none)),
        (exact.D, lambda u: balance(none, u, none)),
        (exact.M, lambda u: balance(none, none, u)),
        (exact.turning, lambda u: form.rows(T, mb.integrate(q, u), v).speed),
    )
    for derivative, f in cases:
        wanted = slopes(f, mb.nv)
        assert np.abs(wanted).max() > 0.1
        np.testing.assert_allclose(derivative, wanted, rtol=0, atol=2e-6 * max(1.0, np.abs(wanted).max()))
    by_units = np.array([[exact.K[i, j] * form.unit[i] * form.unit[j] / form.c for j in range(mb.nv)]
                         for i in range(mb.nv)])  # fmt: skip
    np.testing.assert_allclose(form.scaled(exact.K), by_units, rtol=1e-13)


def test_multipliers_balance_the_motion_and_push_what_is_prescribed(problem):
    """At the accelerations of the closed chain: the force on a told dof is what its own body needs, m a - T."""
    mb, q, v = problem.mb, np.array(problem.mb.q), np.array(problem.mb.v)
    x = problem.point(q, v)
    vdot = problem.rates(T, x)[mb.nv : 2 * mb.nv]
    form = Descriptor(problem, "ida", q, independent=True)
    rows = form.rows(T, q, v)
    multipliers = form.multipliers(T, q, v, vdot, rows)
    np.testing.assert_allclose(form.balance(T, q, v, vdot, rows, multipliers), 0.0, atol=1e-9)
    reaction = form.reaction(rows, multipliers)
    lift, spin = mb.v_slice(mb["lift"]).start, mb.v_slice(mb["spin"]).start
    loads = -0.4 * v * np.abs(v) + np.sin(3.0 * q)
    moment = 0.2 + 0.7 * 0.2**2  # about the pin
    wanted = np.zeros(mb.nv)
    wanted[lift] = 0.7 * (0.6 + 9.81) - loads[lift]
    wanted[spin] = -moment * np.sin(T) + 0.7 * 9.81 * 0.2 * np.cos(q[spin]) - loads[spin]
    np.testing.assert_allclose(reaction, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("units", [Units(length=1e4), Units(length=1e-4, mass=1e-3), Units(length=1e3, time=1e-3)])
def test_rows_and_multipliers_have_no_unit_of_length_and_mass(units):
    """The same mechanism in other units: gaps, and how they vary along dofs in their units, are the same numbers;
    multipliers are accelerations."""
    forms = []
    for other in (Units(), units):
        mb = scaled(row_with_rack_and_cam(), other)
        problem, t = moving(mb, other.length, other.time)._acting.begin(), T * other.time
        q, v = mb.integrate(mb.q, 0.01 * velocity_units(mb, Units(other.length))), np.array(mb.v)
        form = Descriptor(problem, "ida", q, independent=True)
        rows = form.rows(t, q, v)
        vdot = np.linspace(-1.0, 1.0, mb.nv) * velocity_units(mb, other) / other.time
        balance = form.balance(t, q, v, vdot, rows, np.zeros(len(rows.g)))
        forms.append((rows.g, rows.G * form.unit, rows.speed * other.time, balance * other.time**2))
    for one, two in zip(*forms, strict=True):
        assert np.abs(one).max() > 1e-3
        np.testing.assert_allclose(two, one, rtol=1e-8, atol=1e-10)


def test_a_coupling_times_a_number_is_the_same_row():
    both = []
    for times in (1.0, 1e6):
        mb = row_with_rack_and_cam(times)
        q, v = mb.integrate(mb.q, np.full(mb.nv, 0.01)), np.array(mb.v) + 0.1
        both.append(Descriptor(moving(mb)._acting.begin(), "ida", q, independent=True).rows(T, q, v))
    for one, two in zip(*both, strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_a_linkage_that_moves_though_it_has_too_many_rows(size):
    """Bricard's: six rows off its closures, of which five are independent on them, at every pose of its motion."""
    mb = scaled(bricard(), Units(length=size))
    q, first, _ = bricard_motion(1.3)
    mb.set_state(q, -1.9 * first)
    problem = sc.sim.Propagator(mb)._acting.begin()
    form = Descriptor(problem, "ida", q, independent=True)
    for theta in (1.3, 1.5, 1.7):
        at, rates, _ = bricard_motion(theta)
        rows = form.rows(0.0, at, 2.0 * rates)
        values = np.linalg.svd(rows.G * form.unit, compute_uv=False)
        assert len(values) == len(rows.g) == 4
        assert values[-1] > 0.05 * values[0]
        np.testing.assert_allclose(rows.g, 0.0, atol=1e-12)
        np.testing.assert_allclose(rows.speed, 0.0, atol=1e-12)


def test_ida_moves_such_a_linkage_as_dop853_does():
    ends = []
    for integrator in ("dop853", "ida"):
        mb = bricard()
        q, first, _ = bricard_motion(np.pi / 2)
        mb.set_state(q, -1.9 * first)
        run = sc.sim.Propagator(mb, integrator=integrator, rtol=1e-6).advance_to(0.2)
        assert abs(run.energy[-1] - run.energy[0]) < 1e-3
        ends.append(run.q[-1])
    np.testing.assert_allclose(*ends, atol=1e-5)


def test_rows_that_repeat_each_other_at_one_pose_alone_all_count():
    """A parallelogram that begins flat, where it could fold: its rows are independent next to that."""
    mb = sc.Multibody(gravity=(0, 0, 0))
    parent, at = None, 0.0
    for name, length in (("crank", 1.0), ("coupler", 2.0), ("rocker", 1.0)):
        inertia = sc.Inertia(1.0, (0.5 * length, 0, 0), 0.2 * np.eye(3))
        mb.add_body(name, parent, sc.Pin((0, 0, 1)), inertia, sc.Pose(translation=(at, 0, 0)))
        parent, at = name, length
    mb["rocker"].add_node("end", sc.Pose(translation=(1, 0, 0)))
    mb.root.add_node("ground", sc.Pose(translation=(2, 0, 0)))
    mb.close_loop("ring", "rocker/end", "inertial/ground", sc.Pin((0, 0, 1)))
    flat, moved = np.array([0.0, 0.0, np.pi]), np.array([0.3, -0.3, 0.3 + np.pi])
    mb.set_state(flat, np.zeros(3))
    form = Descriptor(sc.sim.Propagator(mb)._acting.begin(), "ida", flat, independent=True)
    ranks = [np.linalg.matrix_rank(form.rows(0.0, q, np.zeros(3)).G * form.unit, tol=1e-6) for q in (flat, moved)]
    assert ranks == [1, 2]

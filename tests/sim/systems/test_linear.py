"""Linear equations of systems against closed forms, and against runs from states next to each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.io import loadmat
from scipy.linalg import expm

import soacraft as sc
from soacraft import sim
from soacraft.errors import ModelError, StateError, WiringError

M, L, G = 2.0, 0.7, 9.80665
R, H, K, N = 1.5, 5e-3, 0.05, 20.0


def pendulum(angle: float = 0.0) -> sc.Multibody:
    """A point mass on a light rod; the angle is from straight down."""
    mb = sc.Multibody("pendulum")
    mb.add_body("bob", inertia=sc.Inertia(M, (0.0, 0.0, -L), np.zeros((3, 3))), hinge=sc.Pin((0, 1, 0)))
    mb.set_state([angle], [0.0])
    return mb


def driven(angle: float = 0.0, every: float | None = None) -> tuple[sim.System, sim.Plant]:
    s = sim.System("s", integrator="rk4", step=1e-4)
    arm = s.add("arm", sim.Plant(pendulum(angle)))
    s.add("motor", sim.Motor(R=R, L=H, k=K, n=N), at=arm.dof("bob"))
    s.add("control", sim.PD(kp=3.0, kd=0.4), **({} if every is None else {"every": every}))
    s.add("target", sim.Constant(value=0.1))
    s.connect("target.y", "control.target")
    s.connect("arm.q[bob]", "control.measured")
    s.connect("arm.v[bob]", "control.rate")
    s.connect("control.command", "motor.voltage")
    return s, arm


def near(found, wanted):
    return np.allclose(found, wanted, rtol=1e-11, atol=1e-10 * max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize("angle", [0.0, 0.8, -2.0])
def test_a_pendulum_with_a_motor_in_closed_form(angle):
    s, _ = driven(angle)
    found = s.linearize("control.command", ["arm.q", "motor.torque", "arm.vdot[bob]", "motor.current"])
    stiff, push = -G / L * np.cos(angle), N * K / (M * L * L)
    A = [[0, 1, 0], [stiff, 0, push], [0, -K * N / H, -R / H]]
    assert near(found.A, np.array(A))
    assert near(found.B, np.array([[0], [0], [1 / H]]))
    assert near(found.C, np.array([[1, 0, 0], [0, 0, N * K], [stiff, 0, push], [0, 0, 1]]))
    assert near(found.D, np.zeros((4, 1)))
    assert found.states == ("arm.q[bob]", "arm.v[bob]", "motor.current")
    assert found.inputs == ("control.command",)
    assert found.outputs == ("arm.q[0]", "motor.torque", "arm.vdot[bob]", "motor.current")
    assert found.held == ()


def test_the_loop_is_closed_where_the_input_is_before_it():
    s, _ = driven()
    found = s.linearize("target.y", "arm.q[bob]")
    assert near(found.A[2], np.array([-3.0 / H, (-0.4 - K * N) / H, -R / H]))
    assert near(found.B, np.array([[0], [0], [3.0 / H]]))


def test_what_is_sampled_is_held_and_named():
    s, _ = driven(every=0.01)
    s.run(0.05)
    found = s.linearize("target.y", "arm.q[bob]")
    assert found.held == ("control.command",)
    assert not found.B.any()
    assert near(found.A[2], np.array([0.0, -K * N / H, -R / H]))
    told = s.linearize("control.command", "motor.current")
    assert (told.held, told.t) == ((), 0.05)
    assert near(told.B, np.array([[0], [0], [1 / H]]))


class Meter(sim.Component):
    """A filter on the acceleration, and a force that depends on where a node is."""

    vdot = sim.In(of="acceleration")
    place = sim.In("m", shape=(3,), frame="inertial")
    mean = sim.Continuous()

    @sim.rate(mean)
    def mean_rate(vdot, mean):
        return 5.0 * (vdot - mean)

    @sim.output("N m", to="force")
    def push(place):
        return 0.5 * place[0] ** 2


def test_accelerations_and_nodes_take_part():
    angle = 0.6
    s, arm = driven(angle)
    s.add("meter", Meter(), at=arm.dof("bob"))
    bob = arm.mb["bob"].add_node("tip", sc.Pose(translation=(0, 0, -L)))
    s.connect(f"arm.position[{bob.full_name}]", "meter.place")
    found = s.linearize("control.command", [f"arm.position[{bob.full_name}]", "meter.mean"])
    x, slope = -L * np.sin(angle), -L * np.cos(angle)
    stiff = -G / L * np.cos(angle) + x * slope / (M * L * L)
    assert found.states[2:] == ("meter.mean", "motor.current")
    assert near(found.A[1], np.array([stiff, 0, 0, N * K / (M * L * L)]))
    assert near(found.A[2], 5.0 * np.array([stiff, 0, -1.0, N * K / (M * L * L)]))
    assert near(found.C[:3, 0], np.array([slope, 0.0, L * np.sin(angle)]))


def test_no_plant_and_vectors():
    s = sim.System("s", integrator="rk4", step=0.1)
    s.add("u", sim.Constant(value=(1.0, 2.0)))
    s.add("lag", sim.LowPass(time_constant=0.5, size=2))
    s.add("gain", sim.Gain(gain=3.0, size=2))
    s.connect("u.y", "lag.u")
    s.connect("lag.y", "gain.u")
    found = s.linearize("u.y", ["gain.y", "u.y"])
    assert near(found.A, -2.0 * np.eye(2))
    assert near(found.B, 2.0 * np.eye(2))
    assert near(found.C, np.array([[3.0, 0], [0, 3.0], [0, 0], [0, 0]]))
    assert near(found.D, np.array([[0, 0], [0, 0], [1.0, 0], [0, 1.0]]))
    assert found.inputs == ("u.y[0]", "u.y[1]")


def test_several_inputs_of_different_shape_have_columns_in_the_order_that_was_asked():
    """A lag of two numbers, one of a number and one of three: each input has columns of its own, wherever it is."""
    sizes = {"a": (1.0, 2.0), "b": 3.0, "c": (4.0, 5.0, 6.0)}
    s = sim.System("s", integrator="rk4", step=0.1)
    for i, (name, value) in enumerate(sizes.items(), 1):
        many = {"size": len(value)} if isinstance(value, tuple) else {}
        s.add(f"u{name}", sim.Constant(value=value))
        s.add(f"lag{name}", sim.LowPass(time_constant=1.0 / i, **many))
        s.add(f"gain{name}", sim.Gain(gain=10.0 * i, **many))
        s.connect(f"u{name}.y", f"lag{name}.u")
        s.connect(f"u{name}.y", f"gain{name}.u")
    result = s.linearize(["uc.y", "ub.y", "ua.y"], ["gainb.y", "gaina.y", "lagc.y", "gainc.y"])
    assert result.inputs == ("uc.y[0]", "uc.y[1]", "uc.y[2]", "ub.y", "ua.y[0]", "ua.y[1]")
    assert result.outputs == (
        "gainb.y", "gaina.y[0]", "gaina.y[1]", "lagc.y[0]", "lagc.y[1]", "lagc.y[2]", "gainc.y[0]", "gainc.y[1]",
        "gainc.y[2]",
    )  # fmt: skip
    rate = {"a": 1.0, "b": 2.0, "c": 3.0}
    of = [x[3] for x in result.states]  # "laga.x[0]"
    assert sorted(of) == ["a", "a", "b", "c", "c", "c"]
    assert near(result.A, np.diag([-rate[x] for x in of]))
    element = [(x[3], x.partition("[")[2]) for x in result.states]
    driven_by = [(x[1], x.partition("[")[2]) for x in result.inputs]
    assert near(result.B, np.array([[rate[x[0]] * (x == u) for u in driven_by] for x in element]))
    D = np.zeros((9, 6))
    D[0, 3], D[1, 4], D[2, 5] = 20.0, 10.0, 10.0
    D[6:, :3] = 30.0 * np.eye(3)
    assert near(result.D, D)
    C = np.zeros((9, 6))
    for k, x in enumerate(element):
        if x[0] == "c":
            C[3 + int(x[1][0]), k] = 1.0
    assert near(result.C, C)


class Creep(sim.Component):
    """A moment that grows by e in a small change of speed."""

    class Params(sim.Params):
        scale: float
        strength: float

    speed = sim.In(of="velocity")

    @sim.output("N m", to="force")
    def push(p, speed):
        return p.strength * np.exp(speed / p.scale)


@pytest.mark.parametrize("length", [1e-4, 1e4])
def test_differences_are_as_small_as_the_pace_of_the_model(length):
    """A pendulum of 10 km or 0.1 mm swings with sqrt(g/L), and so vary its speeds: F = s exp(v/w), dF/dv = s/w."""
    pace = np.sqrt(G / length)
    mb = sc.Multibody("pendulum", gravity=(0, 0, -G))
    mb.add_body("bob", inertia=sc.Inertia(M, (0.0, 0.0, -length), np.zeros((3, 3))), hinge=sc.Pin((0, 1, 0)))
    s = sim.System("s", integrator="rk4", step=1e-4)
    arm = s.add("arm", sim.Plant(mb))
    s.add("creep", Creep(scale=pace, strength=M * length**2 * pace**2), at=arm.dof("bob"))
    result = s.linearize([], "arm.v")
    np.testing.assert_allclose(result.A, [[0.0, 1.0], [-(pace**2), pace]], rtol=1e-10, atol=1e-12 * pace**2)


class Field(sim.Component):
    """A force on a slide that grows by e over a length and over a speed."""

    class Params(sim.Params):
        length: float
        speed: float
        strength: float

    where = sim.In(of="position")
    fast = sim.In(of="velocity")

    @sim.output("N", to="force")
    def push(p, where, fast):
        return p.strength * np.exp(where / p.length + fast / p.speed)


class Shock(sim.Component):
    """A reading that grows by e over an acceleration."""

    class Params(sim.Params):
        scale: float

    vdot = sim.In(of="acceleration")

    @sim.output()
    def reading(p, vdot):
        return np.exp(vdot / p.scale)


@pytest.mark.parametrize("length", [1e-4, 1e4])
def test_differences_of_slides_are_as_small_as_the_lengths_of_the_model(length):
    """F = m g exp(x/L + v/w) on a cart with a pendulum of length L, at right angles to it: dF/dx = m g/L."""
    pace = np.sqrt(G / length)
    mb = sc.Multibody("cart", gravity=(0, 0, -G))
    mb.add_body("cart", inertia=sc.Inertia(M, (0, 0, 0), np.zeros((3, 3))), hinge=sc.Prismatic((0, 1, 0)))
    bob = sc.Inertia(M, (0.0, 0.0, -length), np.zeros((3, 3)))
    mb.add_body("bob", "cart", inertia=bob, hinge=sc.Pin((0, 1, 0)))
    s = sim.System("s", integrator="rk4", step=1e-4)
    cart = s.add("cart", sim.Plant(mb))
    s.add("field", Field(length=length, speed=length * pace, strength=2.0 * M * G), at=cart.dof("cart"))
    s.add("shock", Shock(scale=length * pace**2), at=cart.dof("cart"))
    result = s.linearize([], "shock.reading")
    wanted = np.zeros((4, 4))
    wanted[:2, 2:] = np.eye(2)
    wanted[2, 0], wanted[2, 2], wanted[3, 1] = pace**2, pace, -(pace**2)
    np.testing.assert_allclose(result.A, wanted, rtol=1e-10, atol=1e-12 * pace**2)
    here = np.exp(1.0) / (length * pace**2)  # vdot = g = L pace^2 at first
    np.testing.assert_allclose(result.C, here * wanted[2:3], rtol=1e-10, atol=1e-12 * here * pace**2)


def test_two_plants_have_their_coordinates_before_their_velocities():
    s = sim.System("s", integrator="rk4", step=1e-4)
    for name, angle in (("b", 0.3), ("a", 1.1)):
        plant = s.add(name, sim.Plant(pendulum(angle)))
        s.add(f"u{name}", sim.Constant(value=0.0))
        s.add(f"drive{name}", sim.Force(), at=plant.dof("bob"))
        s.connect(f"u{name}.y", f"drive{name}.command")
    result = s.linearize(["ua.y", "ub.y"], ["a.vdot[bob]", "b.q"])
    assert result.states == ("a.q[bob]", "b.q[bob]", "a.v[bob]", "b.v[bob]")
    b, a = -G / L * np.cos([0.3, 1.1])
    push = 1.0 / (M * L * L)
    assert near(result.A, np.array([[0, 0, 1, 0], [0, 0, 0, 1], [a, 0, 0, 0], [0, b, 0, 0]]))
    assert near(result.B, np.array([[0, 0], [0, 0], [push, 0], [0, push]]))
    assert near(result.C, np.array([[a, 0, 0, 0], [0, 1, 0, 0]]))
    assert near(result.D, np.array([[push, 0], [0, 0]]))


def test_a_filter_of_an_acceleration_feels_a_force_at_once():
    """mean' = 5 (vdot - mean), vdot = u / (m L^2) - (g / L) q: u is in both."""
    s = sim.System("s", integrator="rk4", step=1e-4)
    arm = s.add("arm", sim.Plant(pendulum()))
    arm.mb["bob"].add_node("tip", sc.Pose(translation=(0, 0, -L)))
    s.add("u", sim.Constant(value=0.0))
    s.add("drive", sim.Force(), at=arm.dof("bob"))
    s.add("meter", Meter(), at=arm.dof("bob"))
    s.connect("u.y", "drive.command")
    s.connect("arm.position[bob/tip]", "meter.place")
    result = s.linearize("u.y", ["meter.mean"])
    push = 1.0 / (M * L * L)
    assert result.states == ("arm.q[bob]", "arm.v[bob]", "meter.mean")
    assert near(result.A, np.array([[0, 1, 0], [-G / L, 0, 0], [-5.0 * G / L, 0, -5.0]]))
    assert near(result.B, np.array([[0], [push], [5.0 * push]]))


def test_force_elements_of_a_plant_take_part():
    """A drag on its turning: vdot = -(g / L) q - d v / (m L^2)."""
    s = sim.System("s", integrator="rk4", step=1e-4)
    s.add("arm", sim.Plant(pendulum(), forces=[sim.Drag("bob", turning=0.6)]))
    result = s.linearize([], "arm.q")
    assert near(result.A, np.array([[0, 1], [-G / L, -0.6 / (M * L * L)]]))


class Kick(sim.Component):
    """A sampled moment."""

    angle = sim.In(of="position")

    @sim.output("N m", to="force")
    def push(angle):
        return -7.0 * angle


def test_a_sampled_force_and_a_sampled_output_are_held_and_named():
    s, arm = driven()
    s.add("kick", Kick(), at=arm.dof("bob"), every=0.01)
    s.add("seen", sim.Gain(gain=2.0), every=0.01)
    s.add("unseen", sim.Gain(gain=2.0), every=0.01)
    for name in ("seen", "unseen"):
        s.connect("arm.q[bob]", f"{name}.u")
    s.run(0.02)
    result = s.linearize("control.command", ["arm.q[bob]", "seen.y"])
    assert result.held == ("kick.push", "seen.y")
    angle = s._plants["arm"].mb.q[0]
    assert near(result.A[1], np.array([-G / L * np.cos(angle), 0, N * K / (M * L * L)]))  # without the 7 N m/rad
    assert not result.C[1].any()


def test_a_free_body_that_turns_against_runs_next_to_each_other():
    """expm(A t) carries differences of states, in the chart where it starts, to second order of t."""

    def craft(d):
        mb = sc.Multibody("craft", gravity=(0, 0, 0))
        body = mb.add_body("hub", inertia=sc.Inertia(3.0, (0.1, 0, 0), np.diag([1.0, 2.0, 2.5])), hinge=sc.Free())
        mb.add_body("wheel", parent=body, inertia=sc.Inertia(1.0, (0, 0, 0.1), np.eye(3)), hinge=sc.Pin((0, 1, 0)))
        q = np.array([0.0, 0.6, 0.0, 0.8, 1.0, 2.0, 3.0, 0.3])
        v = np.array([0.3, -0.2, 0.5, 1.0, 0.0, -1.0, 2.0])
        mb.set_state(mb.integrate(q, d[:7]), v + d[7:14])
        s = sim.System("s", integrator="rk4", step=1e-4)
        plant = s.add("craft", sim.Plant(mb))
        for name in ("hub", "wheel"):
            s.add(f"pull_{name}", sim.PointGravity(mu=5.0), at=plant.node(name))
        return s, mb, q

    s, mb, q = craft(np.zeros(14))
    A = s.linearize([], "craft.q").A
    t, size = 1e-3, 1e-5
    base = s.run(t)
    rates = []
    for d in size * np.eye(14):
        other, _, _ = craft(d)
        run = other.run(t)
        here = np.concatenate([mb.difference(q, base.q[-1]), base.v[-1]])
        there = np.concatenate([mb.difference(q, run.q[-1]), run.v[-1]])
        rates.append((there - here) / size)
    moved = np.array(rates).T
    assert np.abs(moved - expm(A * t)).max() < 1e-5
    assert np.abs(moved - np.eye(14)).max() > 1e-4


def test_the_running_system_is_not_touched():
    one, other = driven(0.4, every=0.01)[0], driven(0.4, every=0.01)[0]
    one.run(0.02)
    other.run(0.02)
    other.linearize("control.command", "arm.q")
    assert np.array_equal(one.run(0.05).q, other.run(0.05).q)


def test_files_of_matlab(tmp_path):
    found = driven()[0].linearize("control.command", ["arm.q", "motor.torque"])
    path = found.to_mat(tmp_path / "a.mat")
    read = loadmat(path)
    for x in "ABCD":
        assert np.array_equal(read[x], getattr(found, x))
    assert [str(x[0][0]) for x in read["states"]] == list(found.states)
    assert [str(x[0][0]) for x in read["outputs"]] == list(found.outputs)
    with pytest.raises(StateError, match="cannot be written"):
        found.to_mat(tmp_path / "no" / "a.mat")


def test_refusals():
    s, _ = driven()
    with pytest.raises(WiringError, match=r"linearize: the input 'control.comand' is no output of a component"):
        s.linearize("control.comand", "arm.q")
    with pytest.raises(WiringError, match=r"there is no output 'motor.torqe'"):
        s.linearize("control.command", "motor.torqe")
    with pytest.raises(WiringError, match=r"linearize: 'mo\*.torque' is no output; name one by one"):
        s.linearize("control.command", "mo*.torque")
    loop = sim.System("loop", integrator="rk4", step=0.1)
    loop.add("a", sim.Gain(gain=0.5))
    loop.connect("a.y", "a.u")
    loop.solve_loop("a.y")
    with pytest.raises(WiringError, match=r"linearize does not go through 'a.y:loop', which Newton's method solves"):
        loop.linearize([], "a.y")
    closed = sim.System("closed", integrator="rk4", step=0.1)
    closed.add("four", sim.Plant(sc.load("five_bar")))
    with pytest.raises(ModelError, match=r"linearize takes trees, and .* has closures"):
        closed.linearize([], "four.q")
    rolls = sc.Multibody("rolls")
    rolls.add_body("ball", inertia=sc.Inertia(1.0, (0, 0, 0), np.eye(3)), hinge=sc.RollingBall(0.1))
    rolling = sim.System("rolling", integrator="rk4", step=0.1)
    rolling.add("ball", sim.Plant(rolls))
    with pytest.raises(ModelError, match="linearize takes holonomic built-in hinges, and 'rolls' has one that rolls"):
        rolling.linearize([], "ball.q")

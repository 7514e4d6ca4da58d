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

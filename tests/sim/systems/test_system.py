"""Systems against closed forms, in any order of insertion, flat and nested; and what they refuse, by text."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import AlgebraicLoopError, SimulationError, StateError, UnknownAttributeError, WiringError


class DoubleIntegrator(sim.Component):
    """dx/dt = v, dv/dt = force."""

    force = sim.In()
    x = sim.Continuous("m")
    v = sim.Continuous("m/s")

    @sim.output("m")
    def position(x):
        return x

    @sim.rate(x)
    def x_rate(v):
        return v

    @sim.rate(v)
    def v_rate(force):
        return force


class Ball(sim.Component):
    """A ball that bounces."""

    class Params(sim.Params):
        g: float = 9.81
        restitution: float = 0.5

    height = sim.Continuous("m", start=1.0)
    speed = sim.Continuous("m/s")
    hits = sim.Discrete(dtype=int, start=0)

    @sim.rate(height)
    def height_rate(speed):
        return speed

    @sim.rate(speed)
    def speed_rate(p):
        return -p.g

    @sim.crossing(direction=-1)
    def touch(height):
        return height

    @sim.jump(speed, at=touch)
    def bounce(p, speed):
        return -p.restitution * speed

    @sim.jump(hits, at=touch)
    def count(hits):
        return hits + 1


def sampled_pid(s: sim.System, h: float, gains: dict) -> None:
    s.add("control", sim.PID(**gains), every=h)
    s.add("target", sim.Constant(value=1.0))
    s.connect("target.y", "control.target")


def difference_equations(h: float, steps: int, kp: float, ki: float, kd: float) -> np.ndarray:
    x = v = total = last = 0.0
    rows = []
    for _ in range(steps + 1):
        e = 1.0 - x
        u = kp * e + total + kd * (e - last) / h
        rows.append((x, v, u))
        total, last = total + ki * h * e, e
        x, v = x + h * v + 0.5 * h * h * u, v + h * u
    return np.array(rows)


@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
def test_a_sampled_pid_on_a_double_integrator_follows_its_difference_equations(integrator):
    gains, h, steps = dict(kp=4.0, ki=1.0, kd=3.0), 0.05, 200
    s = sim.System("loop", integrator=integrator, step=h if integrator == "rk4" else None)
    sampled_pid(s, h, gains)
    s.add("cart", DoubleIntegrator())
    s.connect("control.command", "cart.force")
    s.connect("cart.position", "control.measured")
    run = s.run(steps * h)
    at = np.searchsorted(run.t, h * np.arange(steps + 1) - 1e-9)
    known = difference_equations(h, steps, **gains)
    rows = np.stack([run.signals[x][at] for x in ("cart.x", "cart.v", "control.command")], axis=1)
    assert np.abs(rows - known).max() <= 1e-12 * np.abs(known).max()


@pytest.mark.parametrize("integrator", ["radau", "cvode"])
def test_implicit_methods_begin_anew_at_ticks(integrator):
    gains, h, steps = dict(kp=4.0, ki=1.0, kd=3.0), 0.05, 40
    s = sim.System("loop", integrator=integrator, rtol=1e-10)
    sampled_pid(s, h, gains)
    s.add("cart", DoubleIntegrator())
    s.connect("control.command", "cart.force")
    s.connect("cart.position", "control.measured")
    run = s.run(steps * h)
    known = difference_equations(h, steps, **gains)
    assert run.signals["cart.x"][-1] == pytest.approx(known[-1, 0], abs=1e-6)
    assert run.signals["control.command"][-1] == pytest.approx(known[-1, 2], abs=1e-4)


def test_the_same_on_a_model_whose_forces_have_their_names():
    gains, h, steps = dict(kp=4.0, ki=1.0, kd=3.0), 0.05, 100
    mb = sc.Multibody("cart", gravity=(0, 0, 0))
    mb.add_body("cart", None, sc.Prismatic((1, 0, 0)), sc.Inertia(2.0, (0, 0, 0), np.eye(3)))
    s = sim.System("loop", integrator="rk4", step=h)
    cart = s.add("cart", sim.Plant(mb))
    sampled_pid(s, h, gains)
    s.add("mass", sim.Gain(gain=2.0))
    s.add("drive", sim.Force(), at=cart.dof("cart"))
    s.connect("cart.q[cart]", "control.measured")
    s.connect("control.command", "mass.u")
    s.connect("mass.y", "drive.command")
    run = s.run(steps * h)
    known = difference_equations(h, steps, **gains)
    assert np.abs(np.stack([run.q[:, 0], run.v[:, 0]], axis=1) - known[:, :2]).max() <= 1e-12 * np.abs(known).max()
    assert np.array_equal(run.forces["drive.force"][:, 0], 2.0 * run.signals["control.command"])
    assert np.abs(run.work["drive.force"] - run.kinetic).max() <= 1e-12 * run.kinetic.max()


def test_a_bouncing_ball_by_crossings():
    s = sim.System("ball")
    s.add("ball", Ball())
    run = s.run(1.2)
    known = [0.4515236410, 0.9030472820, 1.1288091025]
    assert np.abs(np.array([x.t for x in run.events]) - known).max() < 1e-10
    assert [x.name for x in run.events] == ["ball.touch"] * 3
    assert s.states["ball.hits"] == 3
    assert run.signals["ball.hits"][-1] == 3
    assert run.signals["ball.height"].min() > -1e-12


def test_a_run_stops_at_a_crossing_and_goes_on():
    s = sim.System("ball")
    s.add("ball", Ball())
    run = s.run(2.0, until="ball.touch")
    assert run.stopped_by == "ball.touch"
    assert abs(s.t - 0.4515236410) < 1e-9
    assert s.states["ball.speed"] == pytest.approx(0.5 * math.sqrt(2 * 9.81), abs=1e-9)
    assert abs(s.run(0.95, until="ball.touch").t[-1] - 0.9030472820) < 1e-9
    with pytest.raises(StateError, match=r"there is no event 'ball.tuch' to stop at; did you mean 'ball.touch'\?"):
        s.run(2.0, until="ball.tuch")


def test_bounces_without_end_are_an_error():
    s = sim.System("ball")
    s.add("ball", Ball())
    with pytest.raises(SimulationError, match=r"events follow each other without end: 'ball.touch'"):
        s.run(1.5)


def test_signals_of_two_rates_are_held_between_ticks():
    s = sim.System("rates", integrator="rk4", step=0.01)
    s.add("clock", sim.Ramp(slope=1.0))
    s.add("slow", sim.SampleHold(), every=0.1, offset=0.05)
    s.add("fast", sim.SampleHold(), rate=50)
    s.connect("clock.y", "*.u")
    run = s.run(0.5)
    k = np.round(run.t / 0.01).astype(int)
    assert np.array_equal(run.signals["fast.y"], k // 2 * 2 / 100)
    assert np.allclose(run.signals["slow.y"], np.where(k < 5, 0.0, ((k - 5) // 10 * 10 + 5) / 100), atol=1e-15)


def test_updates_take_old_values_all_at_once():
    """Two delays that swap their values swap them at every tick."""
    s = sim.System("swap", integrator="rk4", step=1.0)
    s.add("a", sim.UnitDelay(start=1.0), every=1)
    s.add("b", sim.UnitDelay(start=2.0), every=1)
    s.connect("a.y", "b.u")
    s.connect("b.y", "a.u")
    run = s.run(4.0)
    assert run.signals["a.y"].tolist() == [1.0, 2.0, 1.0, 2.0, 1.0]
    assert run.signals["b.y"].tolist() == [2.0, 1.0, 2.0, 1.0, 2.0]


class Swap(sim.Component):
    """Two states that change places at every tick."""

    a = sim.Discrete(start=1.0)
    b = sim.Discrete(start=2.0)

    @sim.update(a)
    def a_next(b):
        return b

    @sim.update(b)
    def b_next(a):
        return a


def test_updates_of_one_component_take_old_values_too():
    s = sim.System("swap", integrator="rk4", step=1.0)
    s.add("swap", Swap(), every=1)
    run = s.run(3.0)  # rows are after their ticks
    assert run.signals["swap.a"].tolist() == [2.0, 1.0, 2.0, 1.0]
    assert run.signals["swap.b"].tolist() == [1.0, 2.0, 1.0, 2.0]


def test_what_is_between_two_sampled_components_is_new_at_their_tick():
    """The gain is evaluated at stages for the lag; at a tick it must follow the first before the second reads it."""
    s = sim.System("chain", integrator="rk4", step=0.05)
    s.add("time", sim.Ramp(slope=1.0))
    s.add("first", sim.SampleHold(), every=0.1)
    s.add("gain", sim.Gain(gain=2.0))
    s.add("lag", sim.LowPass(time_constant=1.0))
    s.add("second", sim.SampleHold(), every=0.1)
    s.connect("time.y", "first.u")
    s.connect("first.y", "gain.u")
    s.connect("gain.y", "lag.u")
    s.connect("gain.y", "second.u")
    run = s.run(0.5)
    assert np.array_equal(run.signals["second.y"], 2.0 * run.signals["first.y"])
    assert run.signals["second.y"][-1] == 1.0


def arm(order: list[int] | None = None, nested: bool = False) -> sim.System:
    """The double pendulum with motors, noise, filters and two rates; parts are added in the given order."""
    mb = sc.load("double_pendulum")
    mb.set_state([0.3, -0.2], [0.0, 0.1])
    s = sim.System("arm", integrator="rk4", step=1e-3, seed=5)
    plant = s.add("arm", sim.Plant(mb))

    class Drive(sim.Assembly):
        class Params(sim.Params):
            kp: float

        def build(self, p, at):
            self.add("sensor", sim.Sensor(deviation=1e-3), rate=300)
            self.add("control", sim.PID(kp=p.kp, ki=1.0, kd=0.01), every=0.002)
            self.add("motor", sim.Motor(R=1.0, L=5e-3, k=0.05, n=10.0), at=at)
            self.connect("sensor.y", "control.measured")
            self.connect("control.command", "motor.voltage")
            self.export("target", "control.target")
            self.export("angle", "sensor.u")

    steps = []
    for dof in mb.dof_names:
        at = plant.dof(dof)
        if nested:
            steps.append(lambda dof=dof, at=at: s.add(f"drive_{dof}", Drive(kp=30.0), at=at))
            steps.append(lambda dof=dof: s.connect(f"arm.q[{dof}]", f"drive_{dof}.angle"))
            steps.append(lambda dof=dof: s.connect("target.y", f"drive_{dof}.target"))
        else:
            name = f"drive_{dof}"
            steps += [
                lambda n=name: s.add(f"{n}/sensor", sim.Sensor(deviation=1e-3), rate=300),
                lambda n=name: s.add(f"{n}/control", sim.PID(kp=30.0, ki=1.0, kd=0.01), every=0.002),
                lambda n=name, at=at: s.add(f"{n}/motor", sim.Motor(R=1.0, L=5e-3, k=0.05, n=10.0), at=at),
                lambda n=name: s.connect(f"{n}/sensor.y", f"{n}/control.measured"),
                lambda n=name: s.connect(f"{n}/control.command", f"{n}/motor.voltage"),
                lambda n=name, d=dof: s.connect(f"arm.q[{d}]", f"{n}/sensor.u"),
                lambda n=name: s.connect("target.y", f"{n}/control.target"),
            ]
    steps.append(lambda: s.add("target", sim.Sine(frequency=1.0)))
    for i in order if order is not None else range(len(steps)):
        steps[i]()
    return s


def same_bits(a: sim.Run, b: sim.Run) -> bool:
    rows = all(np.array_equal(getattr(a, x), getattr(b, x)) for x in ("t", "q", "v", "vdot"))
    return rows and [*a.signals] == [*b.signals] and all(np.array_equal(a.signals[x], b.signals[x]) for x in a.signals)


def test_neither_the_order_of_insertion_nor_nesting_changes_a_bit():
    run = arm().run(0.1)
    for seed in range(3):
        order = list(range(15))
        random.Random(seed).shuffle(order)
        assert same_bits(arm(order).run(0.1), run)
    assert same_bits(arm(nested=True).run(0.1), run)


def test_two_halves_give_the_bits_of_one_run():
    one, s = arm().run(0.1), arm()
    first = s.run(0.0437)
    second = s.run(0.1)
    t = np.concatenate([first.t, second.t[1:]])
    kept = np.isin(t, one.t)
    assert np.array_equal(np.concatenate([first.q, second.q[1:]])[kept][:44], one.q[:44])
    whole, s = arm().run(0.1), arm()
    s.run(0.05)
    assert np.array_equal(s.run(0.1).q[-1], whole.q[-1])


def test_noise_of_a_component_depends_on_no_other():
    alone = sim.System("a", integrator="rk4", step=0.01, seed=3)
    alone.add("zero", sim.Constant(value=0.0))
    alone.add("imu", sim.Sensor(deviation=1.0), rate=100)
    alone.connect("zero.y", "imu.u")
    more = sim.System("b", integrator="rk4", step=0.01, seed=3)
    for name in ("gps", "imu", "eye"):
        more.add(name, sim.Sensor(deviation=1.0), rate=100)
    more.add("zero", sim.Constant(value=0.0))
    more.connect("zero.y", "*.u")
    a, b = alone.run(5.0).signals, more.run(5.0).signals
    assert np.array_equal(a["imu.y"], b["imu.y"])
    assert not np.allclose(b["imu.y"], b["gps.y"])
    assert abs(a["imu.y"].std() - 1.0) < 0.15
    assert abs(a["imu.y"].mean()) < 0.2


INTEGRATORS = [("rk4", 1e-3), ("gauss4", 5e-3), ("gauss6", 5e-3), ("dop853", None), ("radau", None), ("cvode", None)]


@pytest.mark.parametrize(("integrator", "step"), INTEGRATORS)
def test_a_motor_on_a_flywheel_follows_the_linear_solution(integrator, step):
    """L di/dt = V - R i - k w, J dw/dt = k i: two eigenvalues, of a matrix exponential."""
    from scipy.linalg import expm

    J, R, L, k = 0.02, 1.0, 0.05, 0.3
    mb = sc.Multibody("wheel", gravity=(0, 0, 0))
    mb.add_body("wheel", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0, 0, 0), np.diag([J, J, J])))
    s = sim.System("spin", integrator=integrator, step=step, rtol=1e-10)
    wheel = s.add("wheel", sim.Plant(mb))
    s.add("motor", sim.Motor(R=R, L=L, k=k), at=wheel.dof("wheel"))
    s.add("volt", sim.Constant(value=2.0, unit="V"))
    s.connect("volt.y", "motor.voltage")
    run = s.run(0.4)
    A = np.array([[-R / L, -k / L, 2.0 / L], [k / J, 0.0, 0.0], [0.0, 0.0, 0.0]])
    current, speed, _ = expm(0.4 * A) @ [0.0, 0.0, 1.0]
    assert run.signals["motor.current"][-1] == pytest.approx(current, rel=1e-7)
    assert run.v[-1, 0] == pytest.approx(speed, rel=1e-7)
    assert np.abs(run.work["motor.torque"][-1] - run.kinetic[-1]) < 1e-7 * run.kinetic[-1]


def test_forces_at_nodes_and_what_nodes_have():
    """A thruster at the tip of a pendulum pushes along its own axes: torque = lever x force."""
    mb = sc.load("pendulum")
    mb.set_state([0.4], [0.3])
    s = sim.System("thrust", integrator="rk4", step=1e-3)
    bob = s.add("bob", sim.Plant(mb))
    s.add("jet", sim.Thruster(), at=bob.node("bob/tip"))
    s.add("push", sim.Constant(value=2.0, unit="N"))
    s.connect("push.y", "jet.thrust")
    s.add("seen", sim.Gain(gain=1.0, size=3))
    s.connect("bob.velocity[bob/tip]", "seen.u")
    run = s.run(0.02)
    frame = mb.frame("bob/tip")
    for q, v, force, seen in zip(run.q, run.v, run.forces["jet.force"], run.signals["seen.y"], strict=True):
        state = mb.state(q, v)
        moving = np.asarray(mb.velocity(frame, state=state).linear)
        pushed = np.asarray(mb.pose(frame, state=state).rotation)[:, 0] * 2.0
        assert np.allclose(seen, moving, atol=1e-14)
        assert force @ v == pytest.approx(pushed @ moving, abs=1e-12)


class Accelerometer(sim.Component):
    """Reads an acceleration, and filters it."""

    measured = sim.In("rad/s^2", of="acceleration")
    kept = sim.Continuous("rad/s^2")

    @sim.output("rad/s^2")
    def now(measured):
        return measured

    @sim.rate(kept)
    def kept_rate(measured, kept):
        return (measured - kept) / 0.01


def test_accelerations_come_after_all_forces():
    mb = sc.load("pendulum")
    mb.set_state([0.4], [0.0])
    s = sim.System("seen", integrator="rk4", step=1e-3)
    bob = s.add("bob", sim.Plant(mb))
    s.add("push", sim.Step(at=0.005, after=3.0))
    s.add("drive", sim.Force(), at=bob.dof("bob"))
    s.connect("push.y", "drive.command")
    s.add("imu", Accelerometer(), at=bob.dof("bob"))
    s.add("held", sim.SampleHold(), every=0.002)
    s.connect("imu.now", "held.u")
    run = s.run(0.02)
    assert np.array_equal(run.signals["imu.now"], run.vdot[:, 0])
    assert np.array_equal(run.signals["held.y"][::2], run.vdot[::2, 0])
    lag = np.diff(run.signals["imu.kept"])
    assert lag[0] < 0.0
    assert run.signals["imu.kept"][0] == 0.0


class Solver(sim.Component):
    """y = a - b tanh(u): with itself as input a loop."""

    class Params(sim.Params):
        a: float
        b: float

    u = sim.In()

    @sim.output()
    def y(p, u):
        return p.a - p.b * math.tanh(u)


def test_a_loop_is_told_port_by_port_and_solved_where_asked():
    def looped() -> sim.System:
        s = sim.System("loop", integrator="rk4", step=0.1)
        s.add("left", Solver(a=1.0, b=0.5))
        s.add("right", sim.Gain(gain=2.0))
        s.connect("left.y", "right.u")
        s.connect("right.y", "left.u")
        return s

    with pytest.raises(AlgebraicLoopError) as told:
        looped().check()
    assert told.value.cycle == ("left.y", "right.y")
    text = str(told.value)
    assert "left.y = f(p, u)  ->  right.y" in text
    assert "right.y = f(p, u)  ->  left.y" in text
    assert "Give one of them a state (sim.LowPass, sim.UnitDelay" in text
    assert "s.solve_loop('left.y')" in text
    s = looped()
    s.solve_loop("left.y")
    run = s.run(0.5)
    y = run.signals["left.y"]
    assert np.abs(y - (1.0 - 0.5 * np.tanh(2.0 * y))).max() < 1e-11
    assert "by Newton's method: left.y in right.y, left.y" in str(s.schedule())
    wrong = looped()
    wrong.solve_loop("middle.y")
    with pytest.raises(WiringError, match=r"solve_loop: there is no output 'middle.y'"):
        wrong.check()


def test_a_loop_without_a_solution_is_refused():
    class Never(sim.Component):
        u = sim.In()

        @sim.output()
        def y(u):
            return u + 1.0 + u * u

    s = sim.System("loop", integrator="rk4", step=0.1)
    s.add("never", Never())
    s.connect("never.y", "never.u")
    s.solve_loop("never.y")
    with pytest.raises(WiringError, match=r"the loop of 'never.y' was not solved: residual .* above 1e-12"):
        s.check()


def test_a_loop_through_the_accelerations_is_seen():
    s = sim.System("loop", integrator="rk4", step=0.1)
    bob = s.add("bob", sim.Plant(sc.load("pendulum")))
    s.add("drive", sim.Force(), at=bob.dof("bob"))
    s.connect("bob.vdot[bob]", "drive.command")
    with pytest.raises(AlgebraicLoopError, match=r"bob.vdot = f\(all forces\)  ->  drive.force"):
        s.check()


class Breaks(sim.Component):
    """Gives what it is told from t = 0.5 on."""

    class Params(sim.Params):
        how: str

    u = sim.In(default=2.0)
    x = sim.Continuous()

    @sim.output()
    def y(p, t, u):
        if t < 0.45:
            return u
        return float("nan") if p.how == "nan" else 1.0 / (u - 2.0)

    @sim.rate(x)
    def x_rate(y):
        return y


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("nan", r"'bad.y' gave nan at t = 0.45 s, from t = 0.45"),
        ("fails", r"'bad.y' failed: ZeroDivisionError.* at t = 0.45 s"),
    ],
)
def test_a_number_that_is_not_finite_names_component_time_and_inputs(how, text):
    s = sim.System("bad", integrator="rk4", step=0.1)
    s.add("bad", Breaks(how=how))
    with pytest.raises(SimulationError, match=text) as told:
        s.run(1.0)
    assert "u = 2.0" in str(told.value)
    assert told.value.run is not None
    assert told.value.run.t[-1] == pytest.approx(0.4)
    assert s.t == pytest.approx(0.4)


class BadUpdate(sim.Component):
    """An update and a jump that are not finite."""

    x = sim.Discrete(start=1.0)

    @sim.output()
    def y(x):
        return x

    @sim.update(x)
    def x_next(t, x):
        return x if t < 0.25 else math.inf


def test_an_update_that_is_not_finite_changes_nothing():
    s = sim.System("bad", integrator="rk4", step=0.1)
    s.add("bad", BadUpdate(), every=0.1)
    with pytest.raises(SimulationError, match=r"'bad.x_next' gave inf at t = 0.3 s, from t = 0.3, x = 1.0"):
        s.run(1.0)
    assert s.states["bad.x"] == 1.0


class Pair(sim.Component):
    """Two crossings that make each other cross, without end where `stop` is large."""

    class Params(sim.Params):
        most: int

    x = sim.Continuous(start=-1.0)
    left = sim.Discrete(start=-1.0)
    right = sim.Discrete(start=-1.0)
    count = sim.Discrete(dtype=int, start=0)

    @sim.rate(x)
    def x_rate():
        return 1.0

    @sim.crossing(direction=1)
    def begins(x):
        return x

    @sim.crossing(direction=1)
    def goes_left(left):
        return left

    @sim.crossing(direction=1)
    def goes_right(right):
        return right

    @sim.jump(left, at=begins)
    def first(left):
        return 1.0

    @sim.jump(left, at=goes_left)
    def back(left):
        return -1.0

    @sim.jump(right, at=goes_left)
    def over(p, count):
        return 1.0 if count < p.most else -1.0

    @sim.jump(count, at=goes_left)
    def counted(count):
        return count + 1

    @sim.jump(right, at=goes_right)
    def home(right):
        return -1.0

    @sim.jump(left, at=goes_right)
    def again(left):
        return 1.0


def test_jumps_make_jumps_at_one_instant_up_to_a_hundred():
    s = sim.System("pair", integrator="rk4", step=0.3)
    s.add("pair", Pair(most=5))
    run = s.run(1.5)
    assert s.states["pair.count"] == 6
    assert [x.name for x in run.events][:3] == ["pair.begins", "pair.goes_left", "pair.goes_right"]
    assert {round(x.t, 9) for x in run.events} == {1.0}
    for most, fails in ((49, False), (50, True)):  # a hundred crossings, and two more
        s = sim.System("pair", integrator="rk4", step=0.3)
        s.add("pair", Pair(most=most))
        if fails:
            with pytest.raises(SimulationError, match="more than 100 crossings"):
                s.run(1.5)
        else:
            assert len(s.run(1.5).events) == 100
    s = sim.System("pair", integrator="rk4", step=0.3)
    s.add("pair", Pair(most=10**6))
    with pytest.raises(
        SimulationError, match=r"more than 100 crossings at one instant: 'pair.goes_(left|right)' and others"
    ):
        s.run(1.5)


class Alarm(sim.Component):
    """A crossing of a signal that jumps at ticks."""

    level = sim.In()
    rung = sim.Discrete(dtype=bool, start=False)

    @sim.crossing(direction=1)
    def rings(level):
        return level - 0.5

    @sim.jump(rung, at=rings)
    def on():
        return True


def test_a_crossing_that_a_tick_makes_is_not_missed():
    s = sim.System("alarm", integrator="rk4", step=0.1)
    s.add("time", sim.Ramp(slope=1.0))
    s.add("held", sim.SampleHold(), every=0.2)
    s.add("alarm", Alarm())
    s.connect("time.y", "held.u")
    s.connect("held.y", "alarm.level")
    run = s.run(1.0)
    assert run.signals["alarm.rung"].tolist() == [0.0] * 6 + [1.0] * 5
    s2 = sim.System("alarm", integrator="rk4", step=0.1)
    s2.add("time", sim.Ramp(slope=1.0))
    s2.add("held", sim.SampleHold(), every=0.2)
    s2.add("alarm", Alarm())
    s2.connect("time.y", "held.u")
    s2.connect("held.y", "alarm.level")
    assert s2.run(1.0, until="alarm.rings").t[-1] == pytest.approx(0.6)


def test_signals_are_in_the_log(tmp_path: Path):
    path = tmp_path / "run.h5"
    run = arm().run(0.3, log=path)
    back = sim.read(path)
    assert same_bits(run, back)
    currents = [x for x in run.signals if x.endswith("motor.current")]
    assert {back.signals.units[x] for x in currents} == {"A"}
    assert [*arm().run(0.01, signals="*/motor.current").signals] == currents
    with pytest.raises(WiringError, match=r"signals='motor.curent' matches no output or state; did you mean"):
        arm().run(0.01, signals="motor.curent")


def test_what_a_system_refuses():
    with pytest.raises(WiringError, match=r"integrator 'verlet' does not carry states of components"):
        sim.System("a", integrator="verlet", step=0.1)
    with pytest.raises(StateError, match="rk4 takes fixed steps"):
        sim.System("a", integrator="rk4")
    with pytest.raises(WiringError, match="a system has a name, got ''"):
        sim.System("")
    s = sim.System("a", integrator="rk4", step=0.1)
    s.add("one", sim.Constant(value=1.0))
    with pytest.raises(WiringError, match="there is a component 'one' already"):
        s.add("one", sim.Constant(value=1.0))
    with pytest.raises(
        WiringError, match=r"a name is letters, digits, '_' and '-', with '/' between levels; got 'a.b'"
    ):
        s.add("a.b", sim.Constant(value=1.0))
    with pytest.raises(WiringError, match="a system takes components, plants, assemblies and sequences, got 3"):
        s.add("three", 3)
    with pytest.raises(WiringError, match="rate of 'zero' must be a positive number, got 0"):
        s.add("zero", sim.SampleHold(), rate=0)
    with pytest.raises(WiringError, match=r"'x' is mounted at a dof or a node, as plant.dof\('elbow'\); got 'elbow'"):
        s.add("x", sim.Force(), at="elbow")
    with pytest.raises(UnknownAttributeError, match=r"a system is changed by s\.add"):
        s.gravity = 3.0
    plant = sim.Plant(sc.load("pendulum"))
    s.add("p", plant)
    with pytest.raises(WiringError, match="the plant is in a system already, as 'p'"):
        s.add("q", plant)
    with pytest.raises(WiringError, match="'one' has no port 'z'; it has 'y'"):
        assert sim.System("c", integrator="rk4", step=0.1).add("one", sim.Constant(value=1.0)).z


def test_a_part_is_replaced_by_another_with_the_same_ports():
    s = sim.System("a", integrator="rk4", step=0.1)
    s.add("one", sim.Constant(value=1.0))
    s.add("next", sim.Gain(gain=2.0))
    s.connect("one.y", "next.u")
    s.replace("next", sim.LowPass(time_constant=0.5))
    assert s.run(0.1).signals["next.y"][-1] == pytest.approx(0.2 - 0.02 + 0.2**3 / 6 - 0.2**4 / 24, rel=1e-14)
    s = sim.System("a", integrator="rk4", step=0.1)
    s.add("next", sim.Gain(gain=2.0))
    with pytest.raises(WiringError, match=r"Sum\(.*\) has no port 'u', which 'next' has"):
        s.replace("next", sim.Sum())


class Trips(sim.Component):
    """Fails in a rate just after a tick, while it is told to."""

    class Params(sim.Params):
        broken: bool = True

    held = sim.In()
    x = sim.Continuous()

    @sim.rate(x)
    def x_rate(p, held):
        return float("nan") if p.broken and held >= 2.0 else held


def test_a_run_that_failed_after_a_tick_goes_on_as_if_it_had_not():
    def made(broken: bool) -> sim.System:
        s = sim.System("s", integrator="rk4", step=0.1)
        s.add("kept", sim.UnitDelay(), every=0.1)
        s.add("more", sim.Sum(), every=0.1)
        s.add("one", sim.Constant(value=1.0))
        s.add("trips", Trips(broken=broken))
        s.connect("one.y", "more.a")
        s.connect("kept.y", "more.b")
        s.connect("more.y", "kept.u")
        s.connect("more.y", "trips.held")
        return s

    s = made(True)
    with pytest.raises(SimulationError, match=r"'trips.x_rate' gave nan at t = 0.1 s, from held = 2.0"):
        s.run(1.0)
    assert s.t == 0.0
    assert s.states["kept.x"] == 1.0
    s.params["trips.broken"] = False
    run, other = s.run(1.0), made(False).run(1.0)
    assert same_bits(run, other)


def heavy() -> sc.Multibody:
    mb = sc.Multibody("cart", gravity=(0, 0, 0))
    mb.add_body("cart", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    return mb


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("sampled", [True, False])
def test_after_rows_that_were_lost_there_is_no_going_on(sampled):
    """Energies are computed for many rows at once: where one overflows, components have ticked or jumped since."""
    s = sim.System("s", integrator="rk4", step=1e-3)
    cart = s.add("cart", sim.Plant(heavy()))
    s.add("push", sim.Constant(value=1e157), every=1e-3 if sampled else None)
    s.add("drive", sim.Force(), at=cart.dof("cart"))
    s.connect("push.y", "drive.command")
    if not sampled:
        s.add("pair", Pair(most=1))
        s.states["pair.x"] = -0.03
    with pytest.raises(SimulationError, match="overflow"):
        s.run(0.05)
    assert s.t < 0.02
    error = SimulationError if sampled else StateError
    text = r"components that tick every 0.001 s are ahead of t" if sampled else r"and components have jumped since"
    with pytest.raises(error, match=text):
        s.run(0.06)


def test_a_component_that_is_too_fast_for_fixed_steps_is_a_likely_cause():
    """A motor on a light joint: k^2 n^2 / (R J) is 25,000 1/s, and steps of a millisecond grow it without bound."""
    mb = sc.Multibody("wheel")
    mb.add_body("rim", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0, moment=1e-3 * np.eye(3)))
    s = sim.System("fast", integrator="rk4", step=1e-3)
    plant = s.add("wheel", sim.Plant(mb))
    s.add("motor", sim.Motor(R=1.0, L=5e-4, k=0.05, n=100.0), at=plant.dof("rim"))
    s.add("volts", sim.Constant(value=1.0))
    s.connect("volts.y", "motor.voltage")
    with pytest.raises(SimulationError, match=r"Steps of 0.001 s may be too long for the fastest of its components"):
        s.run(5.0)

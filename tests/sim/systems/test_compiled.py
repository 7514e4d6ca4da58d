"""Systems that compiled steps walk through: answers and refusals as in Python, and the same bits in halves."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import LinkError, SimulationError
from soacraft.sim.runs.block import Block


class Push(sim.Component):
    """A force that reads accelerations and a node, and a filter on them."""

    vdot = sim.In(of="acceleration")
    place = sim.In("m", shape=(3,), frame="inertial")
    mean = sim.Continuous()
    wide = sim.Continuous(shape=(3,))

    @sim.output("N m", to="force")
    def torque(mean, wide, place):
        return -0.1 * mean - 0.2 * wide[0] * place[2]

    @sim.rate(mean)
    def mean_rate(vdot, mean):
        return 0.05 * vdot - mean

    @sim.rate(wide)
    def wide_rate(place, wide):
        return place - wide


class Count(sim.Component):
    """A whole number and a truth value."""

    measured = sim.In()
    ticks = sim.Discrete(dtype=int, start=0)
    high = sim.Discrete(dtype=bool, start=False)

    @sim.output(dtype=int)
    def number(ticks):
        return ticks

    @sim.output()
    def command(high, measured):
        return -2.0 * measured if high else 0.5

    @sim.update(ticks)
    def count(ticks):
        return ticks + 1

    @sim.update(high)
    def judge(measured):
        return bool(measured > 0.05)


class PDinPython(sim.Component):
    target, measured, rate = (sim.In(shape=(7,)) for _ in range(3))

    @sim.output(shape=(7,))
    def command(target, measured, rate):
        return 20.0 * (target - measured) - rate


class Wrenches(sim.Component):
    """Forces of all kinds at a node, from all that it has."""

    rotation = sim.In("", of="rotation", shape=(3, 3))
    position = sim.In("m", of="position", shape=(3,), frame="inertial")
    velocity = sim.In("m/s", of="velocity", shape=(3,), frame="inertial")
    omega = sim.In("rad/s", of="angular_velocity", shape=(3,), frame="inertial")

    @sim.output("N", to="force", shape=(3,), frame="inertial")
    def pull(position, velocity):
        return -position - 0.1 * velocity

    @sim.output("N m", to="moment", shape=(3,), frame="mount")
    def brake(rotation, omega):
        return np.array([0.3, 0.0, 0.1]) - 0.1 * rotation.T @ omega

    @sim.output(to="wrench", shape=(6,), frame="inertial")
    def both(rotation, velocity):
        return np.concatenate([0.2 * rotation[:, 0], 0.3 * rotation[:, 1] - 0.01 * velocity])


def craft(integrator: str = "rk4") -> sim.System:
    """A hub that is free, with wheels; forces at its nodes."""
    mb = sc.Multibody("craft", gravity=(0, 0, 0))
    hub = mb.add_body("hub", inertia=sc.Inertia(10.0, (0.1, 0.0, 0.0), np.diag([3.0, 2.0, 1.0])), hinge=sc.Free())
    tip = hub.add_node("tip", sc.Pose.from_quaternion([0.6, 0.0, 0.0, 0.8], [0.5, 0.2, -0.1]))
    for i, axis in enumerate(np.eye(3)):
        inertia = sc.Inertia(1.0, (0, 0, 0), 0.05 * np.eye(3))
        place = sc.Pose(translation=0.3 * axis)
        mb.add_body(f"wheel{i}", parent=hub, inertia=inertia, hinge=sc.Pin(axis), inboard=place)
    mb.set_state([0.0, 0.0, 0.6, 0.8, 1.0, 2.0, 3.0, 0, 0, 0], [0.1, -0.2, 0.3, 1.0, 0, 0.5, 20.0, -30.0, 10.0])
    s = sim.System("craft", integrator=integrator, step=1e-3)
    plant = s.add("craft", sim.Plant(mb))
    s.add("forces", Wrenches(), at=plant.node(tip))
    for body in mb.bodies:
        s.add(f"gravity_{body.name}", sim.PointGravity(mu=40.0), at=plant.node(body))
    return s


def slow(s: sim.System) -> sim.System:
    """The same, walked through in Python."""
    s._compiled()[2].obstacle = "it is compared"
    return s


def arm(integrator: str = "rk4") -> sim.System:
    mb = sc.load("arm7")
    s = sim.System("arm", integrator=integrator, step=1e-3)
    plant = s.add("arm", sim.Plant(mb))
    s.add("target", sim.Sine(frequency=1.0, amplitude=0.2))
    s.add("targets", sim.Gain(gain=1.0, size=7))
    s.add("ones", sim.Constant(value=(0.2,) * 7))
    s.connect("ones.y", "targets.u")
    s.add("control", PDinPython(), every=1e-3)
    s.connect("targets.y", "control.target")
    s.connect(plant.q, "control.measured")
    s.connect(plant.v, "control.rate")
    for dof in mb.dof_names:
        s.add(f"motor_{dof}", sim.Motor(R=1.0, L=5e-3, k=0.05, n=10.0), at=plant.dof(dof))
    s.connect("control.command", "motor_*.voltage")
    return s


def mixed(integrator: str = "rk4") -> sim.System:
    """Clocks of three rates, noise, nodes, accelerations, a force at a node, units that are converted."""
    mb = sc.load("double_pendulum")
    mb.q = [0.4, -0.3]
    s = sim.System("mixed", integrator=integrator, step=1e-3, seed=3)
    plant = s.add("arm", sim.Plant(mb))
    first, second = mb.dof_names
    body = mb.bodies[-1].name
    s.add("push", Push(), at=plant.dof(first))
    s.connect(f"arm.position[{body}]", "push.place")
    s.add("sensor", sim.Sensor(deviation=0.01, size=2), rate=300)
    s.connect(plant.q, "sensor.u")
    s.add("count", Count(), every=7e-3, offset=2e-3)
    s.connect("sensor.y[1]", "count.measured")
    s.add("drive", sim.Force(), at=plant.dof(second))
    s.connect("count.command", "drive.command")
    s.add("gust", sim.Sine(frequency=3.0, amplitude=0.2, unit="kN"))
    s.add("small", sim.Gain(gain=1e-3))
    s.add("thruster", sim.Thruster(), at=plant.node(body))
    s.connect("gust.y", "small.u")
    s.connect("small.y", "thruster.thrust")
    s.add("felt", sim.Gain(gain=0.1))
    s.connect(f"arm.vdot[{first}]", "felt.u")
    s.add("accelerometer", sim.DiscreteFilter(weight=0.5), every=4e-3)
    s.connect("felt.y", "accelerometer.u")
    s.add("delay", sim.UnitDelay(), every=1e-2)
    s.connect("push.torque", "delay.u")
    return s


def standing(integrator: str = "moreau") -> sim.System:
    """A box that slides on a floor, with an arm: a motor with a sampled law in Python, continuous states, noise."""
    mb = sc.Multibody("box", gravity=(0, 0, -9.81))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    box = mb.add_body("box", None, sc.Free(), sc.Inertia(3.0, moment=np.eye(3) * 0.02))
    box.add_geometry(sc.Geometry("skin", "box", (0.2, 0.2, 0.2)))
    mb.add_body("arm", box, sc.Pin((0, 1, 0)), sc.Inertia(0.5, (0, 0, 0.2), 0.01 * np.eye(3)))
    mb.add_actuator(sc.Actuator("servo", "position", {"arm": 1.0}, {"kp": 30.0}))
    mb.set_state([0, 0, 0, 1, 0, 0, 0.103, 0.3], np.zeros(7))
    s = sim.System("standing", integrator=integrator, step=1e-3, seed=5)
    plant = s.add("box", sim.Plant(mb, forces=[sim.Contact(friction=0.3)]))
    s.add("push", Push(), at=plant.dof("arm"))
    s.connect("box.position[arm]", "push.place")
    s.add("sensor", sim.Sensor(deviation=0.01), every=2e-3)
    s.connect("box.q[arm]", "sensor.u")
    s.add("count", Count(), every=7e-3)
    s.connect("sensor.y", "count.measured")
    s.add("motor", sim.Motor(R=1.0, L=5e-3, k=0.05, n=10.0), at=plant.dof("arm"))
    s.connect("count.command", "motor.voltage")
    s.add("gust", sim.Sine(frequency=3.0, amplitude=6.0))
    s.add("thruster", sim.Thruster(), at=plant.node("box"))
    s.connect("gust.y", "thruster.thrust")
    return s


@pytest.mark.parametrize("method", ["gauss4", "gauss6"])
@pytest.mark.parametrize("make", [arm, mixed, craft])
def test_methods_with_fixed_steps_carry_components_along(make, method):
    fast, plain = make(method).run(0.04), slow(make(method)).run(0.04)
    assert np.array_equal(fast.t, plain.t)
    assert 1 not in pieces(fast)
    for name in ("q", "v", "vdot"):
        a, b = getattr(fast, name), getattr(plain, name)
        assert np.abs(a - b).max() <= 1e-10 * np.abs(b).max(), name
    for name, x in plain.signals.items():
        assert np.abs(fast.signals[name] - x).max() <= 1e-10 * max(1e-3, np.abs(x).max()), name


def test_components_and_contacts_are_stepped_together():
    fast, plain = standing().run(0.06), slow(standing()).run(0.06)
    assert 1 not in pieces(fast)
    assert np.array_equal(fast.t, plain.t)
    assert len(fast.contacts.steps) == len(plain.contacts.steps) > 30
    for name in ("q", "v", "vdot"):
        a, b = getattr(fast, name), getattr(plain, name)
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-7 * max(1.0, np.abs(b).max()), err_msg=name)
    for name, x in plain.signals.items():
        np.testing.assert_allclose(fast.signals[name], x, rtol=0, atol=1e-7 * max(1.0, np.abs(x).max()), err_msg=name)
    for name, x in plain.work.items():
        np.testing.assert_allclose(fast.work[name], x, rtol=0, atol=1e-7, err_msg=name)
    t = 0.04321
    np.testing.assert_allclose(fast.at(t).q, plain.at(t).q, rtol=0, atol=1e-8)
    fast.check()


@pytest.mark.parametrize("make", [arm, mixed, craft])
def test_compiled_steps_and_those_of_python_agree(make):
    fast, plain = make().run(0.15), slow(make()).run(0.15)
    assert np.array_equal(fast.t, plain.t)
    for name in ("q", "v", "vdot"):
        a, b = getattr(fast, name), getattr(plain, name)
        assert np.abs(a - b).max() <= 1e-11 * np.abs(b).max(), name
    for name, x in plain.signals.items():
        assert np.abs(fast.signals[name] - x).max() <= 1e-11 * max(1e-3, np.abs(x).max()), name
    for name, x in plain.work.items():
        assert np.abs(fast.work[name] - x).max() <= 1e-11 * max(1e-6, np.abs(x).max()), name
        pushed = plain.forces[name]
        assert np.abs(fast.forces[name] - pushed).max() <= 1e-10 * max(1e-3, np.abs(pushed).max())
    t = 0.04321
    assert fast.at(t).q == pytest.approx(plain.at(t).q, abs=1e-11)
    assert fast.at(t).v == pytest.approx(plain.at(t).v, abs=1e-10)
    fast.check()


def pieces(run) -> list[int]:
    """How many steps each piece of a run has: a block of compiled ones, or one of Python."""
    return [len(x.F) if isinstance(x, Block) else 1 for _, x in run._dense]


@pytest.mark.parametrize("make", [arm, mixed, craft])
def test_all_of_a_run_is_compiled(make):
    """And no part of it taken in Python in silence."""
    assert 1 not in pieces(make().run(0.1))
    assert set(pieces(slow(make()).run(0.02))) == {1}


@pytest.mark.parametrize("make", [arm, mixed, craft, standing])
def test_halves_have_the_same_bits(make):
    one, other = make(), make()
    whole = one.run(0.05)
    parts = [other.run(t) for t in (0.01, 0.011, 0.05)]
    for name in ("q", "v", "vdot"):
        rows = [getattr(parts[0], name), *(getattr(x, name)[1:] for x in parts[1:])]
        assert np.array_equal(getattr(whole, name), np.concatenate(rows)), name
    for name, x in whole.signals.items():
        rows = [parts[0].signals[name], *(y.signals[name][1:] for y in parts[1:])]
        assert np.array_equal(x, np.concatenate(rows)), name
    assert str(one.states) == str(other.states)
    for name in whole.work:
        assert whole.work[name][-1] == parts[-1].work[name][-1]


def own(every=0.01, **body) -> sim.System:
    s = sim.System("s", integrator="rk4", step=0.01)
    s.add("own", type("Own", (sim.Component,), body)(), every=every)
    return s


def test_an_error_that_an_equation_raises_itself_is_raised_once():
    """As that of a link: what was exchanged with the other side is not asked for again."""
    asked = []

    def y(t):
        asked.append(t)
        if t > 0.045:
            raise LinkError("the peer is lost")
        return t

    s = own(y=sim.output()(y))
    with pytest.raises(LinkError, match=r"the run of 's' stopped at t = 0\.04 s: the peer is lost") as told:
        s.run(0.1)
    assert told.value.run.t[-1] == 0.04
    assert [x for x in asked if x > 0.045] == [0.05]
    assert told.value.run.signals["own.y"].tolist() == [0.0, 0.01, 0.02, 0.03, 0.04]


def test_an_interrupt_in_an_equation_keeps_what_was_computed():
    calls = [0]

    def y(t):
        calls[0] += 1
        if calls[0] == 30:
            raise KeyboardInterrupt
        return t

    s = own(y=sim.output()(y))
    with pytest.raises(KeyboardInterrupt):
        s.run(1.0)
    at = s.t
    assert 0.2 < at < 0.3
    run = s.run(0.5)
    assert run.t[0] == at
    assert np.array_equal(run.signals["own.y"], run.t)


def test_numbers_of_any_kind_are_taken_and_others_refused_by_name():
    given = {0.01: 1, 0.02: np.float32(0.5), 0.03: np.array(2.5), 0.04: True, 0.05: np.int64(3)}
    run = own(y=sim.output()(lambda t: given.get(t, 0.0))).run(0.06)
    assert run.signals["own.y"].tolist() == [0.0, 1.0, 0.5, 2.5, 1.0, 3.0, 0.0]
    wide = {0.01: np.array([1, 2]), 0.02: np.array([[1.0, 9.0], [2.0, 9.0]])[:, 0], 0.03: np.array([True, False])}
    run = own(y=sim.output(shape=(2,))(lambda t: wide.get(t, np.zeros(2)))).run(0.04)
    assert run.signals["own.y"].tolist() == [[0, 0], [1, 2], [1, 2], [1, 0], [0, 0]]
    with pytest.raises(SimulationError, match=r"'own.y' must give a number, and gave 'a' at t = 0.03 s"):
        own(y=sim.output()(lambda t: 0.0 if t < 0.03 else "a")).run(0.06)
    large = own(n=sim.Discrete(dtype=int, start=0), y=sim.output(dtype=int)(lambda t: 2**60 if t > 0.02 else 1))
    assert large.run(0.04).signals["own.y"].tolist() == [1.0, 1.0, 1.0, 2.0**60, 2.0**60]


def test_parameters_and_states_that_change_between_runs_are_used():
    s = sim.System("s", integrator="rk4", step=0.01)
    s.add("one", sim.Constant(value=1.0))
    s.add("gain", sim.Gain(gain=2.0))
    s.add("sum", sim.Integrator())
    s.connect("one.y", "gain.u")
    s.connect("gain.y", "sum.u")
    assert s.run(1.0).signals["sum.x"][-1] == pytest.approx(2.0, rel=1e-13)
    s.params["gain.gain"] = -1.0
    s.states["sum.x"] = 5.0
    assert s.run(2.0).signals["sum.x"][-1] == pytest.approx(4.0, rel=1e-13)
    s.params["one.value"] = 3.0
    assert s.run(3.0, signals="sum.x").signals["sum.x"][-1] == pytest.approx(1.0, rel=1e-12)


def test_an_energy_that_overflows_is_told_as_in_python():
    def bad(make_slow):
        mb = sc.load("pendulum")
        s = sim.System("s", integrator="rk4", step=0.01)
        arm = s.add("arm", sim.Plant(mb))
        body = {"y": sim.output("N m", to="force")(lambda t: 1e160 if t > 0.1 else 0.0)}
        s.add("own", type("Own", (sim.Component,), body)(), at=arm.dof("bob"))
        s.add("hold", sim.SampleHold(), every=0.01)
        s.connect("arm.q[bob]", "hold.u")
        if make_slow:
            slow(s)
        with pytest.raises(SimulationError) as told:
            s.run(1.0)
        return told.value.run, str(told.value)

    (fast, text), (plain, same) = bad(False), bad(True)
    assert text == same
    assert np.array_equal(fast.t, plain.t)
    assert np.array_equal(fast.signals["hold.y"], plain.signals["hold.y"])


def test_why_a_system_is_walked_through_in_python():
    s = arm()
    s.run(0.0)
    assert "compiled" in s._propagator.report()
    assert "it is compared" in str(_reported(slow(arm())))
    loop = sim.System("loop", integrator="rk4", step=0.1)
    loop.add("a", sim.Gain(gain=0.5))
    loop.connect("a.y", "a.u")
    loop.solve_loop("a.y")
    assert "the loop of 'a.y' is solved in Python" in _reported(loop)
    numbers = own(y=sim.output(shape=(2,), dtype=int)(lambda t: np.array([1, 2])))
    assert "'own.y' is an array of whole numbers or truth values" in _reported(numbers)
    many = sim.System("many", integrator="rk4", step=0.1)
    for i in range(65):
        many.add(f"c{i}", sim.SampleHold(), every=0.1, offset=0.001 * i)
        many.connect("one.y", f"c{i}.u")
    many.add("one", sim.Constant(value=1.0))
    assert "it has 65 clocks" in _reported(many)
    odd = sim.System("odd", integrator="rk4", step=0.1)
    odd.add("c", sim.Step(), every="0.1234567890123456789012345678901")
    assert "is a fraction of large numbers" in _reported(odd)
    smooth = sim.System("smooth", integrator="radau")
    smooth.add("c", sim.Step())
    assert "'radau' is written in Python" in _reported(smooth)


def _reported(s: sim.System) -> str:
    s.run(0.1)
    return str(s._propagator.report())


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (lambda: 1 / 0, r"'own.y' failed: ZeroDivisionError: division by zero at t = 0\.05 s, from t = 0\.05\."),
        (lambda: np.nan, r"'own.y' gave nan at t = 0\.05 s, from t = 0\.05\."),
    ],
)
def test_an_equation_that_fails_is_named_and_not_called_again(bad, text):
    asked = []

    def y(t):
        asked.append(t)
        return t if t < 0.045 else bad()

    s = own(y=sim.output()(y), x=(x := sim.Discrete()), up=sim.update(x)(lambda x: x + 1.0))
    with pytest.raises(SimulationError, match=text):
        s.run(0.1)
    assert asked.count(0.05) == 1
    assert s.states["own.x"] == 5.0  # after the ticks from 0 to 0.04 s
    with pytest.raises(SimulationError, match=text):
        s.run(0.1)


@pytest.mark.parametrize("method", ["rk4", "gauss4", "dop853"])
@pytest.mark.parametrize("error", [RuntimeError("of the user"), StopIteration(), KeyboardInterrupt()])
def test_an_error_of_a_force_among_components_is_not_lost(error, method):
    """A function of time and state of a plant raises once: the run ends there, and no step is taken again."""
    mb, came = sc.load("pendulum"), []

    def force(t, state):
        if t > 0.02 and not came:
            came.append(t)
            raise error
        return -0.1 * state.v

    s = sim.System("s", integrator=method, **({} if method == "dop853" else {"step": 1e-3}))
    plant = s.add("swing", sim.Plant(mb, forces=[force]))
    s.add("motor", sim.Motor(R=1.0, L=5e-3, k=0.05, n=10.0), at=plant.dof(mb.dof_names[0]))
    s.add("gust", sim.Sine(frequency=3.0, amplitude=6.0))
    s.connect("gust.y", "motor.voltage")
    with pytest.raises(type(error)):
        s.run(0.2)
    assert s.t <= 0.021


@pytest.mark.parametrize("make", [arm, mixed, craft])
def test_steps_that_follow_a_tolerance_agree(make):
    """Those of dop853: as many, as long, with the same errors; and a run has the same bits after a restart."""
    fast, plain = make("dop853").run(0.15), slow(make("dop853")).run(0.15)
    assert all(isinstance(x, Block) for _, x in fast._dense)
    assert not any(isinstance(x, Block) for _, x in plain._dense)
    assert len(fast.t) == len(plain.t)
    assert np.abs(fast.t - plain.t).max() <= 2e-9
    for name in ("q", "v", "vdot"):
        a, b = getattr(fast, name), getattr(plain, name)
        assert np.abs(a - b).max() <= 1e-7 * np.abs(b).max(), name
        assert np.abs(a[-1] - b[-1]).max() <= 1e-10 * np.abs(b).max(), name
    for name, x in plain.signals.items():
        assert np.abs(fast.signals[name] - x).max() <= 1e-7 * max(1e-3, np.abs(x).max()), name
        assert np.abs(fast.signals[name][-1] - x[-1]).max() <= 1e-9 * max(1e-3, np.abs(x).max()), name
    t = 0.04321
    assert fast.at(t).q == pytest.approx(plain.at(t).q, abs=1e-10)
    assert fast.at(t).v == pytest.approx(plain.at(t).v, abs=1e-9)
    fast.check()


@pytest.mark.parametrize("make", [arm, mixed, craft])
def test_a_restart_with_a_tolerance_has_the_same_bits(make, tmp_path):
    one = make("dop853")
    one.run(0.0511)
    one.checkpoint(tmp_path / "half.h5")
    whole = one.run(0.1)
    other = sim.restore(tmp_path / "half.h5", classes=[Push, Count, PDinPython, Wrenches])
    again = other.run(0.1)
    for name in ("t", "q", "v", "vdot"):
        assert np.array_equal(getattr(whole, name), getattr(again, name)), name
    for name, x in whole.signals.items():
        assert np.array_equal(x, again.signals[name]), name


class Lag(sim.Component):
    """A filter of first order with a step at a time that no clock knows; it is far faster than what it is given to."""

    y = sim.Continuous(start=0.0, nominal=0.5)

    @sim.rate(y)
    def slope(t, y):
        return 200.0 * ((1.0 if t >= 0.03 else 0.0) - y)

    @staticmethod
    def breaks(p):
        return [0.03]


def test_states_of_components_are_measured_by_their_usual_size():
    """The error of a filter alone decides steps: relative to `nominal`, and a tolerance is kept."""
    ends, counts = [], []
    for make in (lambda s: s, slow):
        s = sim.System("lag", integrator="dop853", rtol=1e-6)
        s.add("lag", Lag())
        run = make(s).run(0.05)
        ends.append(s.states["lag.y"])
        counts.append(len(run.t))
    wanted = 1.0 - np.exp(-200.0 * 0.02)
    np.testing.assert_allclose(ends, wanted, rtol=1e-6)
    assert counts[0] == counts[1]


def test_an_equation_that_has_no_value_in_a_trial_is_tried_in_shorter_steps():
    """Beyond a point that the motion does not reach: compiled trials go beyond, as those in Python do."""
    runs = []
    for make in (lambda s: s, slow):
        x = sim.Continuous(start=1.0)

        def slope(x):
            if x < 0.0:
                raise ValueError("below zero")
            return -30.0 * x**0.25

        s = sim.System("s", integrator="dop853")
        s.add("own", type("Own", (sim.Component,), {"x": x, "slope": sim.rate(x)(slope)})())
        runs.append(make(s).run(0.03))
    assert runs[0].t[-1] == runs[1].t[-1] == 0.03

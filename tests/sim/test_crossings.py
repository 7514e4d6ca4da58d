"""One crossing is one event, at its zero: across kinks, beside stops, after restarts, at ticks, callbacks, grazes."""

from dataclasses import replace

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.sim.integrators.explicit import Dop853
from soacraft.sim.integrators.pace import Pace


def oscillator(size=1.0, q=-1.0, v=0.0):
    """A mass with q'' = -q, in lengths of `size`."""
    mb = sc.Multibody(gravity=(0, 0, 0))
    body = mb.add_body("m", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0, moment=0.1 * size**2 * np.eye(3)))
    body.passive = sc.Passive(stiffness=1.0)
    mb.set_state([q * size], [v * size])
    return mb


def slider(q, v):
    mb = sc.Multibody(gravity=(0, 0, 0))
    mb.add_body("m", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0, moment=0.1 * np.eye(3)))
    mb.set_state([q], [v])
    return mb


def times(run, name):
    return [x.t for x in run.events if x.name == name]


KINKS = [
    ("dop853", 1e-1, 1e6, 1.0), ("dop853", 1e-2, 1e8, 1e6), ("dop853", 1e-2, 1e2, 1e-6), ("dop853", 1e-3, 1e4, 1e3),
    ("dop853", 1e-4, 1e6, 1e-3), ("radau", 1e-2, 1e5, 1.0), ("cvode", 1e-3, 1e6, 1.0),
    ("generalized_alpha", 1e-2, 1e4, 1.0),
]  # fmt: skip


@pytest.mark.parametrize(("integrator", "rtol", "stiffness", "size"), KINKS)
def test_events_at_a_compliant_stop_are_at_their_zeros(integrator, rtol, stiffness, size):
    """A stop with the stiffness of up to 1e8 springs at q = 0: in and out by turns, every half period and a little."""
    mb = oscillator(size)
    p = sc.sim.Propagator(mb, integrator=integrator, rtol=rtol)
    p.add(sc.sim.JointLimit("m", stiffness=stiffness, lower=-10.0 * size, upper=0.0))
    p.event("stop", lambda t, state: state.q[0])
    p.event("in", lambda t, state: state.q[0], direction=1)
    run = p.advance_to(10.0)
    assert max(abs(x.q[0]) for x in run.events) < 1e-9 * size
    inside = np.pi / np.sqrt(1.0 + stiffness)
    wanted = [np.pi / 2, np.pi / 2 + inside, 3 * np.pi / 2 + inside, 3 * np.pi / 2 + 2 * inside]
    wanted += [5 * np.pi / 2 + 2 * inside, 5 * np.pi / 2 + 3 * inside]
    np.testing.assert_allclose(times(run, "stop"), wanted, atol=60 * rtol * np.pi)
    assert times(run, "in") == times(run, "stop")[::2]
    if integrator in ("dop853", "radau"):
        assert run.energy.max() < 0.5 * size**2 * (1.0 + 0.2 * rtol**0.5)


@pytest.mark.parametrize("rtol", [1e-2, 1e-3, 1e-4])
def test_a_step_whose_end_is_beyond_a_kink_is_refused(rtol):
    """A step of 1.37 s to 3 um beyond a stop of 1e8 N/m, which none of its stages has met: the error tells nothing."""
    p = sc.sim.Propagator(oscillator(), rtol=rtol)
    p.add(sc.sim.JointLimit("m", stiffness=1e8, lower=-10.0, upper=0.0))
    problem, method = p._acting.begin(), Dop853()
    x = problem.point(np.array([-np.cos(0.2)]), np.array([np.sin(0.2)]))
    step = method.step(problem, 0.0, x, np.pi / 2 - 0.2 + 3.162e-6, problem.rates(0.0, x))
    assert Pace(method, rtol).error(problem, replace(step, bend=None)) < 0.2
    assert Pace(method, rtol).error(problem, step) > 10.0


def test_between_rows_next_to_a_kink_states_are_those_of_the_motion():
    p = sc.sim.Propagator(oscillator(), rtol=1e-3)
    p.add(sc.sim.JointLimit("m", stiffness=1e8, lower=-10.0, upper=0.0))
    run = p.advance_to(20.0)
    between = np.array([run.at(t).q for t in np.linspace(0.0, 20.0, 801)]).ravel()
    assert np.abs(between).max() < 1.0 + 1e-2
    assert between.max() < 2e-4
    assert run.energy.max() < 0.5 + 1e-2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100))
def test_events_near_kinks_of_any_size(seed):
    rng = np.random.default_rng(seed)
    size, stiffness, rtol = 10.0 ** rng.integers(-6, 7), 10 ** rng.uniform(2, 9), 10 ** rng.uniform(-8, -1)
    where = rng.uniform(-0.9, 0.9)
    look = rng.uniform(where - 0.3, where + min(1e-2, 3 / np.sqrt(stiffness)))
    integrator = ["dop853", "dop853", "dop853", "radau", "cvode"][seed % 5]
    p = sc.sim.Propagator(oscillator(size), integrator=integrator, rtol=rtol)
    p.add(sc.sim.JointLimit("m", stiffness=stiffness, lower=-10.0 * size, upper=where * size))
    p.event("look", lambda t, state: state.q[0] - look * size, direction=int(rng.integers(-1, 2)))
    p.event("stop", lambda t, state: state.q[0] - where * size)
    run = p.advance_to(10.0)
    off = [abs(x.q[0] / size - (look if x.name == "look" else where)) for x in run.events]
    assert max(off, default=0.0) < 1e-9
    sides = [np.sign(x.v[0]) for x in run.events if x.name == "stop"]
    assert sides == [(-1.0) ** k for k in range(len(sides))]


STOPS = [(i, r, e, s) for i in ("dop853", "radau", "cvode") for r, e, s in
         ((1e-1, 1.0, 1.0), (1e-2, 0.5, 1e-6), (1e-4, 1.0, 1e6), (1e-4, 0.0, 1e-3))]  # fmt: skip


@pytest.mark.parametrize(("integrator", "rtol", "restitution", "size"), STOPS)
def test_a_rigid_stop_is_not_passed(integrator, rtol, restitution, size):
    """A stop at half the amplitude, which a step of a loose tolerance overshoots and comes back from: strikes at 2 pi/3
    and then every 4 pi/3, with restitution 1."""
    p = sc.sim.Propagator(oscillator(size), integrator=integrator, rtol=rtol)
    p.add(sc.sim.JointLimit("m", lower=-10.0 * size, upper=0.5 * size, restitution=restitution))
    run = p.advance_to(9.0)
    assert run.q.max() <= 0.5 * size * (1.0 + 1e-9)
    strikes = [x for x in run.events if abs(x.v[0]) > 1e-3 * size]
    assert max(abs(x.q[0] - 0.5 * size) for x in strikes) < 1e-9 * size
    if restitution == 1.0:
        np.testing.assert_allclose([x.t for x in strikes], [2 * np.pi / 3, 2 * np.pi], atol=20 * rtol)


@pytest.mark.parametrize("integrator", ["dop853", "rk4", "gauss4"])
@pytest.mark.parametrize("offset", [0.3, 0.999, 0.99999999])
def test_a_crossing_and_its_return_within_a_step_are_two(integrator, offset):
    """cos(t) > offset around t = 2 pi: rising, then falling."""
    fixed = {"step": 1.7} if integrator != "dop853" else {"max_step": 1.7}
    p = sc.sim.Propagator(slider(0.0, 1.0), integrator=integrator, **fixed)  # q = t, exactly
    for direction in (-1, 0, 1):
        p.event(str(direction), lambda t, state: np.cos(state.q[0]) - offset, direction=direction)
    run = p.advance_to(8.0)
    a = np.arccos(offset)
    tolerance = 1e-14 / np.sin(a) + 1e-12
    np.testing.assert_allclose(times(run, "0"), [a, 2 * np.pi - a, 2 * np.pi + a], rtol=0, atol=tolerance)
    np.testing.assert_allclose(times(run, "1"), [2 * np.pi - a], rtol=0, atol=tolerance)
    np.testing.assert_allclose(times(run, "-1"), [a, 2 * np.pi + a], rtol=0, atol=tolerance)


@pytest.mark.parametrize("depth", [0.0, 1e-18, 1e-16, 1e-15, 3e-15, 1e-14, 1e-12, 1e-8])
def test_a_graze_is_none_or_two(depth):
    """(t - 1)^2 - depth falls through zero and rises again, or does neither."""
    p = sc.sim.Propagator(slider(0.0, 1.0))
    for direction in (-1, 0, 1):
        p.event(str(direction), lambda t, state: (state.q[0] - 1.0) ** 2 - depth, direction=direction)
    run = p.advance_to(2.0)
    count = {name: len(times(run, name)) for name in ("-1", "0", "1")}
    assert count in ({"-1": 0, "0": 0, "1": 0}, {"-1": 1, "0": 2, "1": 1})
    if depth >= 1e-12:
        assert count["0"] == 2


@pytest.mark.parametrize("speed", [1.0, 1e-3, 1e-6])
@pytest.mark.parametrize("far", [1.0, 1e3])
@pytest.mark.parametrize("act", ["nothing", "action", "stop", "until", "callback", "checkpoint"])
def test_a_crossing_is_found_once(speed, far, act, tmp_path):
    """A slow mass crosses a line far from zero, where the function is rounding of its place: once, whatever is done at
    that instant, and on every way of going on."""
    p = sc.sim.Propagator(slider(far - speed, speed))
    action = (lambda t, state: p.mb.set_state([p.mb.q[0]], [p.mb.v[0]])) if act == "action" else None
    for direction in (0, 1, -1):
        p.event(str(direction), lambda t, state: state.q[0] - far, direction, action, stop=act == "stop")
    if act == "callback":  # at the same instant, which changes the state by nothing that matters
        p.every(1.0, lambda t, state: p.mb.set_state([p.mb.q[0]], [p.mb.v[0] * (1.0 + 1e-15)]))
    found = []
    for t in (0.7, 2.0, 2.0, 3.0):
        run = p.advance_to(t, until="0" if act == "until" else None)
        found += run.events
        if act in ("stop", "until") and run.stopped_by:
            p.mb.v = p.mb.v * (1.0 + 1e-15)  # a state of its own
        if act == "checkpoint":
            p.checkpoint(tmp_path / "a.h5")
            p.restore(tmp_path / "a.h5")
    assert sorted(x.name for x in found) == ["0", "1"]
    np.testing.assert_allclose([x.t for x in found], 1.0, rtol=0, atol=1e-15 * far / speed + 1e-9)


@pytest.mark.parametrize("direction", [-1, 0, 1])
@pytest.mark.parametrize("rounding", [0.0, 5e-17, -5e-17])
def test_a_run_that_begins_at_the_zero_crosses_nothing(direction, rounding):
    p = sc.sim.Propagator(slider(0.0, 1.0))
    p.event("line", lambda t, state: state.q[0] + rounding, direction)
    assert p.advance_to(1.0).events == []


def test_a_run_that_begins_just_before_the_zero_crosses_it():
    p = sc.sim.Propagator(slider(-1e-12, 1.0))
    p.event("line", lambda t, state: state.q[0])
    assert len(p.advance_to(1.0).events) == 1


def test_a_bounce_goes_back_to_the_side_it_came_from():
    """An action turns the mass round at every line: one event each, and the next from the other side."""
    p = sc.sim.Propagator(slider(0.5, 1.0), rtol=1e-6)

    def back(t, state):
        p.mb.v = -state.v

    p.event("right", lambda t, state: 1.0 - state.q[0], action=back)
    p.event("left", lambda t, state: state.q[0], action=back)
    run = p.advance_to(10.2)
    np.testing.assert_allclose(times(run, "right"), np.arange(0.5, 10.2, 2.0), atol=1e-9)
    np.testing.assert_allclose(times(run, "left"), np.arange(1.5, 10.2, 2.0), atol=1e-9)


def test_a_function_that_jumps_is_an_event_where_it_does():
    p = sc.sim.Propagator(slider(0.0, 1.0))
    p.event("half", lambda t, state: 1.0 if state.q[0] < 0.5 else -1.0)
    p.event("back", lambda t, state: -1.0 if 0.25 < state.q[0] < 0.75 else 1.0, direction=1)
    run = p.advance_to(1.0)
    assert [x.name for x in run.events] == ["half", "back"]
    np.testing.assert_allclose([x.t for x in run.events], [0.5, 0.75], atol=1e-9)


class Marks(sim.Component):
    """Crossings of the time, which ticks come upon: a state that grows by one at each."""

    class Params(sim.Params):
        at: float

    count = sim.Continuous()

    @sim.rate(count)
    def count_rate(p):
        return 0.0

    @sim.crossing()
    def passes(p, t):
        return t - p.at

    @sim.jump(count, at=passes)
    def more(count):
        return count + 1.0

    @sim.output()
    def y(count):
        return count


@pytest.mark.parametrize("at", [0.5, 0.3, 1.0 / 3.0, 0.7 - 1e-12, 0.7 + 1e-12])
@pytest.mark.parametrize("integrator", ["dop853", "rk4"])
def test_a_crossing_at_a_tick_jumps_once(at, integrator):
    s = sim.System("marks", integrator=integrator, **({"step": 0.1} if integrator == "rk4" else {}))
    s.add("marks", Marks(at=at))
    s.add("hold", sim.SampleHold(), every=0.1)
    s.connect("marks.y", "hold.u")
    run = s.run(1.0)
    assert s.states["marks.count"] == 1.0
    assert len(run.events) == 1
    assert s.run(1.2).events == []

"""Zero-crossings: located to the integrator's accuracy, ordered at one instant, storms stopped."""

import numpy as np
import pytest
from tests.sim.steppers.test_stepper import box_on_floor
from tests.sim.test_closed import four_bar
from tests.sim.test_compiled import in_python

import soacraft as sc
from soacraft.errors import SimulationError, StateError
from soacraft.sim.events import PARTS, UNSEEN, Crossing, Event, _just_after, with_time
from soacraft.sim.runs.block import Block

PERIOD = 2.36784194757623745


def pendulum():
    mb = sc.load("pendulum")
    mb.set_state([-np.pi / 2], [0.0])
    return mb


@pytest.mark.parametrize("pauses", [(5.0,), (0.3, 1.7, 3.1, 5.0)])
def test_every_crossing_is_found_once(pauses):
    """Downwards every half period; rising and falling by turns."""
    p = sc.sim.Propagator(pendulum(), rtol=1e-12)
    p.event("down", lambda t, state: np.sin(state.q[0]))
    p.event("rising", lambda t, state: np.sin(state.q[0]), direction=1)
    p.event("falling", lambda t, state: np.sin(state.q[0]), direction=-1)
    events = [x for t in pauses for x in p.advance_to(t).events]
    times = {name: [x.t for x in events if x.name == name] for name in ("down", "rising", "falling")}
    wanted = PERIOD * np.array([0.25, 0.75, 1.25, 1.75])
    np.testing.assert_allclose(times["down"], wanted, rtol=0, atol=1e-11)
    np.testing.assert_allclose(times["rising"], wanted[::2], rtol=0, atol=1e-11)
    np.testing.assert_allclose(times["falling"], wanted[1::2], rtol=0, atol=1e-11)


def test_a_fixed_step_method_locates_to_its_own_accuracy():
    errors = []
    for step in (0.02, 0.01):
        p = sc.sim.Propagator(pendulum(), integrator="rk4", step=step)
        p.event("down", lambda t, state: state.q[0], stop=True)
        p.advance_to(2.0)
        errors.append(abs(p.t - PERIOD / 4))
    assert 12 < errors[0] / errors[1] < 24  # order four


def test_a_run_stops_and_goes_on():
    mb = pendulum()
    p = sc.sim.Propagator(mb, rtol=1e-11)
    p.event("down", lambda t, state: state.q[0], stop=True)
    run = p.advance_to(5.0)
    assert run.stopped_by == "down"
    assert p.t == run.t[-1] == pytest.approx(PERIOD / 4, abs=1e-9)
    assert abs(mb.q[0]) < 1e-12
    again = p.advance_to(5.0)
    assert again.t[-1] == pytest.approx(0.75 * PERIOD, abs=1e-9)
    assert p.advance_to(2.0).stopped_by == ""
    assert p.t == 2.0


def test_events_at_one_instant_act_in_the_order_they_were_added():
    mb = pendulum()
    order = []

    def note(name, factor):
        def action(t, state):
            order.append((name, state.v[0]))
            mb.v = factor * mb.v

        return action

    p = sc.sim.Propagator(mb, rtol=1e-10)
    p.event("second", lambda t, state: 3.0 * state.q[0], action=note("second", 0.5))
    p.event("first", lambda t, state: np.sin(state.q[0]), action=note("first", 2.0))
    run = p.advance_to(1.0)
    assert [x.name for x in run.events] == ["second", "first"]
    assert [x[0] for x in order] == ["second", "first"]
    assert order[1][1] == 0.5 * order[0][1]  # each sees what the one before left
    assert run.events[0].t == run.events[1].t


def test_two_crossings_within_a_step_are_both_found():
    """A step as long as the whole motion of a free mass: parts of it are looked at."""
    mb = sc.Multibody("mass", gravity=(0, 0, -10))
    mb.add_body("mass", None, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    mb.set_state([0.0], [10.0])
    p = sc.sim.Propagator(mb, integrator="rk4", step=2.0)
    p.event("height", lambda t, state: state.q[0] - 3.75)
    run = p.advance_to(2.0)
    np.testing.assert_allclose([x.t for x in run.events], [0.5, 1.5], atol=1e-12)


def test_a_storm_of_events_is_stopped():
    """The bounces of a ball with e = 0.5 add up to 3 falls: there is an end to them in time, but not in number."""
    mb = sc.Multibody("ball", gravity=(0, 0, -9.81))
    mb.add_body("ball", None, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    mb.set_state([1.0], [0.0])

    def bounce(t, state):
        mb.v = -0.5 * mb.v

    p = sc.sim.Propagator(mb)
    p.event("touch", lambda t, state: state.q[0], direction=-1, action=bounce)
    with pytest.raises(SimulationError, match=r"events follow each other without end: 'touch' .* \(Zeno\)") as storm:
        p.advance_to(2.0)
    assert storm.value.t == pytest.approx(3 * np.sqrt(2 / 9.81), abs=1e-6)
    assert len(storm.value.run.events) > 20


@pytest.mark.parametrize(("start", "direction", "wanted"), [(1.0, 1, 0.75), (-1.0, -1, 0.75), (1.0, -1, 0.25)])
def test_a_crossing_the_other_way_is_remembered_over_many_steps(start, direction, wanted):
    """x = x0 cos(2 pi t): it falls through zero at 1/4 s and rises at 3/4 s, in steps of 0.01 s."""
    mb = sc.Multibody("mass", gravity=(0, 0, 0))
    body = mb.add_body("mass", None, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    body.passive = sc.Passive(stiffness=(2 * np.pi) ** 2)
    mb.set_state([start], [0.0])
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
    p.event("line", lambda t, state: state.q[0], direction=direction)
    np.testing.assert_allclose([x.t for x in p.advance_to(1.0).events], [wanted], rtol=0, atol=1e-6)


@pytest.mark.parametrize("h", [1e-9, 3e-5, 0.01, 1.64025, 2.5, 1e4])
def test_times_just_after_an_event_rise_up_to_the_parts_of_a_step(h):
    """The first is a picosecond later, and none is after a quarter of the step, which is looked at anyhow."""
    times = [*_just_after(h), *PARTS]
    assert times[0] * h == pytest.approx(1e-12)
    assert (np.diff(times) > 0.0).all()
    assert np.diff(np.log(times)).max() < np.log(30.0) + 1e-9


@pytest.mark.parametrize(("apart", "is_storm"), [(100, True), (101, False)])
def test_nine_events_within_800_nanoseconds_are_a_storm(apart, is_storm):
    signs = UNSEEN
    crossing = Crossing(0.5, [Event("touch", lambda t, state: 1.0)])
    for k in range(8):
        signs = with_time(signs, 5_000 + k * apart, crossing)
    if is_storm:
        with pytest.raises(SimulationError, match=r"'touch' and others happened 9 times within 800 ns \(Zeno\)"):
            with_time(signs, 5_000 + 8 * apart, crossing)
    else:
        for k in range(8, 30):
            signs = with_time(signs, 5_000 + k * apart, crossing)


@pytest.mark.parametrize(("apart", "times"), [(0.5e-9, 1), (4e-9, 2)])
def test_events_within_a_nanosecond_are_one_instant(apart, times):
    """A mass that moves by 1 m/s in steps of 0.1 s: lines half a nanosecond apart are crossed at once."""
    mb = sc.Multibody("mass", gravity=(0, 0, 0))
    mb.add_body("mass", None, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    mb.set_state([0.0], [1.0])
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.1)
    p.event("second", lambda t, state: state.q[0] - 0.25 - apart)
    p.event("first", lambda t, state: state.q[0] - 0.25)
    run = p.advance_to(1.0)
    assert sorted(x.name for x in run.events) == ["first", "second"]
    assert len({x.t for x in run.events}) == times
    assert [x.name for x in run.events] == (["second", "first"] if times == 1 else ["first", "second"])
    np.testing.assert_allclose([x.t for x in run.events], 0.25, rtol=0, atol=5e-9)


def test_an_event_function_that_fails_later_stops_the_run():
    p = sc.sim.Propagator(pendulum())
    p.event("odd", lambda t, state: 1.0 if t < 0.5 else np.array([1.0, 2.0]))
    with pytest.raises(SimulationError, match=r"the function of event 'odd' must give one number") as e:
        p.advance_to(1.0)
    assert isinstance(e.value.__cause__, StateError)


def test_an_event_of_that_name_is_there():
    p = sc.sim.Propagator(pendulum())
    p.event("a", lambda t, state: 1.0)
    with pytest.raises(StateError, match=r"there is an event 'a' already"):
        p.event("a", lambda t, state: 1.0)


# -- in compiled steps --------------------------------------------------------------------------------------------


def bouncing(method, solver="tree"):
    """Many events of two functions, one of which acts; on a tree, on a closed chain, or over a floor."""
    if method.startswith("moreau"):
        mb = box_on_floor(0.05)
    else:
        mb = sc.load("double_pendulum") if solver == "tree" else four_bar()
    p = sc.sim.Propagator(mb, integrator=method, rtol=1e-8, step=None if method == "dop853" else 0.002)
    if method.startswith("moreau"):
        p.add(sc.sim.Contact(restitution=0.4))
    else:
        mb.set_state(mb.q, 6.0 * np.ones(mb.nv) if solver == "tree" else mb.v)
    name = mb.dof_names[-1]
    p.control(name, 0.0)
    half = 0.5 * (mb.q[-1] if solver == "tree" else mb.q[0])
    turns = (lambda t, state: state.q[6] - 0.12) if method.startswith("moreau") else lambda t, state: state.v[-1]
    p.event("passes", lambda t, state: state.q[-1 if solver == "tree" else 0] - half - 0.01)
    p.event("turns", turns, -1, action=lambda t, state: p.control(name, 0.3 - t))
    p.event("clock", lambda t, state: t - 0.2567)
    return p


@pytest.mark.parametrize(
    ("method", "solver"),
    [*((x, "tree") for x in ("rk4", "verlet", "dop853", "moreau")), ("rk4", "closed"), ("dop853", "closed")],
)
def test_compiled_steps_find_the_events_that_steps_in_python_find(method, solver, monkeypatch):
    compiled = bouncing(method, solver).advance_to(0.3)
    assert len(compiled.events) >= (1 if solver == "closed" else 2)
    assert any(isinstance(x, Block) for _, x in compiled._dense)
    in_python(monkeypatch)
    other = bouncing(method, solver).advance_to(0.3)
    assert [x.name for x in compiled.events] == [x.name for x in other.events]
    adaptive = method == "dop853"
    times = [[x.t for x in run.events] for run in (compiled, other)]
    np.testing.assert_allclose(*times, rtol=0, atol=1e-6 if adaptive else 1e-8)
    np.testing.assert_allclose(compiled.q[-1], other.q[-1], rtol=0, atol=1e-5 if adaptive else 1e-8)
    if not adaptive:
        np.testing.assert_allclose(compiled.t, other.t, rtol=0, atol=1e-8)
        if compiled.contacts is not None:
            ours, theirs = ([x.t for x in run.contacts.steps] for run in (compiled, other))
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-8)


@pytest.mark.parametrize("method", ["rk4", "moreau"])
def test_steps_beyond_an_event_leave_nothing_behind(method):
    """A run to an event and on has the bits of one that passes it, where the event does nothing."""

    def made():
        mb = box_on_floor(0.05) if method == "moreau" else sc.load("double_pendulum")
        p = sc.sim.Propagator(mb, integrator=method, step=0.002)
        if method == "moreau":
            p.add(sc.sim.Contact(restitution=0.4))
        p.event("late", lambda t, state: t - 0.1234, 1)
        p.event("later", lambda t, state: t - 0.1716, 1)
        return p

    p, q = made(), made()
    p.advance_to(0.3)
    for name in ("late", "later"):
        assert q.advance_to(0.3, until=name).stopped_by == name
    q.advance_to(0.3)
    assert p.mb.q.tobytes() == q.mb.q.tobytes()
    assert p.mb.v.tobytes() == q.mb.v.tobytes()


def test_an_event_function_that_fails_in_steps_ahead_ends_the_run_at_its_time():
    mb = sc.load("double_pendulum")
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
    p.event("root", lambda t, state: np.nan if t > 0.505 else 1.0)
    with pytest.raises(sc.errors.SimulationError, match=r"stopped at t = 0\.5 s: the function of event 'root'"):
        p.advance_to(2.0)
    assert p.last_run.t[-1] == 0.5


def test_an_interrupt_in_steps_ahead_of_an_event_is_not_lost():
    """It comes once, in compiled steps that an event makes be taken back."""
    p, came = sc.sim.Propagator(pendulum(), integrator="rk4", step=0.004), []

    def force(t, state):
        if t > 0.03 and not came:
            came.append(t)
            raise KeyboardInterrupt
        return np.zeros(1)

    p.add(force)
    p.event("now", lambda t, state: t - 0.022)
    with pytest.raises(KeyboardInterrupt):
        p.advance_to(0.1)
    assert p.t < 0.03
    np.testing.assert_array_equal(p.last_run.q[-1], p.mb.q)
    assert len(p.advance_to(0.1).events) == 1


def test_an_event_function_of_an_iterator_that_ends_is_told_as_it_is():
    p = sc.sim.Propagator(pendulum(), integrator="rk4", step=0.004)
    values = iter(np.ones(50))
    p.event("now", lambda t, state: next(values))
    with pytest.raises(StopIteration):
        p.advance_to(1.0)

"""Crossings of components in compiled steps: those that Python finds, where it finds them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sim.combinations import tree
from tests.sim.systems.test_compiled import craft, slow, standing

from soacraft import sim
from soacraft.errors import SimulationError
from soacraft.sim.runs.block import Block

METHODS = ["rk4", "gauss4", "dop853"]


class Counter(sim.Component):
    """Crossings of a wave, up, down and both; each is counted, and the last one kicks a filter."""

    class Params(sim.Params):
        rate: float = 40.0
        level: float = 0.3

    q = sim.In("rad")
    ups = sim.Discrete(dtype=int, start=0)
    downs = sim.Discrete(dtype=int, start=0)
    x = sim.Continuous(start=0.0)

    @sim.output("N m", to="force")
    def force(x, ups):
        return 0.2 * x + 0.01 * ups

    @sim.rate(x)
    def slope(x):
        return -5.0 * x

    @sim.crossing(direction=1)
    def up(p, t, q):
        return np.sin(p.rate * t + q) - p.level

    @sim.crossing(direction=-1)
    def down(p, t, q):
        return np.sin(p.rate * t + q) + p.level

    @sim.crossing()
    def either(p, t):
        return np.cos(1.7 * p.rate * t) - 0.99

    @sim.jump(ups, at=up)
    def count_up(ups):
        return ups + 1

    @sim.jump(downs, at=down)
    def count_down(downs):
        return downs + 1

    @sim.jump(x, at=either)
    def kick(x):
        return x + 0.5


def waves(method, **params):
    s = sim.System("waves", integrator=method, **({} if method == "dop853" else {"step": 0.002}))
    plant = s.add("body", sim.Plant(tree()))
    s.add("own", Counter(**params), at=plant.dof("first"))
    s.connect("body.q[first]", "own.q")
    return s


def in_python(run):
    """How many steps were taken in Python."""
    return sum(not isinstance(x, Block) for _, x in run._dense)


def happened(run):
    return [x.name for x in run.events], np.array([x.t for x in run.events])


def agree(fast, plain, tolerance):
    """The same events at the same times, and the same motion."""
    (names, times), (wanted, at) = happened(fast), happened(plain)
    assert names == wanted
    np.testing.assert_allclose(times, at, rtol=0, atol=tolerance)
    np.testing.assert_allclose(fast.q[-1], plain.q[-1], rtol=0, atol=tolerance)
    np.testing.assert_allclose(fast.v[-1], plain.v[-1], rtol=0, atol=30 * tolerance)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("params", [{}, {"rate": 75.0, "level": 0.9}])
def test_crossings_are_those_of_python(method, params):
    fast, plain = waves(method, **params), waves(method, **params)
    run, other = fast.run(0.5), slow(plain).run(0.5)
    agree(run, other, 1e-11)
    assert str(fast.states) == str(plain.states) or method == "dop853"
    assert len(run.events) > 15
    assert in_python(run) <= min(3 * len(run.events), in_python(other))
    if method != "dop853":  # whose steps are long
        assert in_python(run) < 0.5 * in_python(other)
    assert "compiled" in fast._propagator.report()


@pytest.mark.parametrize("depth", [-0.02, -1e-6, 1e-6, 0.02])
@pytest.mark.parametrize("method", METHODS)
def test_a_graze_between_quarters_is_none_or_two(method, depth):
    """A parabola in time whose bottom is below zero, by less than a quarter of its height in a step, or above it."""

    class Graze(sim.Component):
        x = sim.Continuous(start=0.0)

        @sim.rate(x)
        def slope(t):
            return 1.0

        @sim.crossing()
        def bottom(x):
            return 1e3 * (x - 0.10313) ** 2 - depth * 1e-3

    runs = []
    for make in (lambda s: s, slow):
        s = sim.System("graze", integrator=method, step=0.01)
        s.add("own", Graze())
        runs.append(make(s).run(0.2))
    agree(*runs, 1e-9)
    assert len(runs[0].events) == (2 if depth > 0 else 0)
    assert in_python(runs[0]) <= 8


class Flip(sim.Component):
    """A sampled sign that a function of the state is multiplied by: it crosses at ticks."""

    sign = sim.Discrete(start=1.0)
    offset = sim.Discrete(start=0.2)

    @sim.output()
    def y(sign, offset):
        return sign * offset

    @sim.update(sign)
    def turn(t, sign):
        return -sign if 0.0195 < t % 0.05 < 0.0205 else sign

    @sim.update(offset)
    def rise(offset):
        return offset + 1e-3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("direction", [-1, 0, 1])
def test_crossings_at_ticks(method, direction):
    """Jumps of a function in the direction that is looked for are crossings, others are not; small ones leave it."""

    class Seen(sim.Component):
        u = sim.In()
        count = sim.Discrete(dtype=int, start=0)

        @sim.crossing(direction=direction)
        def turns(u):
            return u

        @sim.jump(count, at=turns)
        def more(count):
            return count + 1

    ends = []
    for make in (lambda s: s, slow):
        s = sim.System("ticks", integrator=method, step=0.004)
        s.add("flip", Flip(), every=0.01)
        s.add("seen", Seen())
        s.add("lag", sim.LowPass(time_constant=0.1))
        s.connect("flip.y", "seen.u")
        s.connect("flip.y", "lag.u")
        make(s).run(0.3)
        ends.append((s.states["seen.count"], s.states["lag.x"], s.states["flip.sign"]))
    assert ends[0][0] == ends[1][0] == (6 if direction == 0 else 3)
    np.testing.assert_allclose(*ends, rtol=1e-12)


class Felt(sim.Component):
    """An acceleration and a speed that are watched."""

    vdot = sim.In("rad/s^2", of="acceleration")
    v = sim.In("rad/s", of="velocity")

    @sim.crossing()
    def jerks(vdot):
        return vdot - 3.0

    @sim.crossing()
    def turns(v):
        return v


@pytest.mark.parametrize("method", METHODS)
def test_functions_of_accelerations(method):
    runs = []
    for make in (lambda s: s, slow):
        s = waves(method)
        s.add("felt", Felt(), at=s.plants["body"].dof("second"))
        runs.append(make(s).run(0.4))
    agree(*runs, 1e-11)
    assert {"felt.jerks", "felt.turns"} <= {x.name for x in runs[0].events}


class Watcher(sim.Component):
    """Something that crosses every few steps, and changes nothing."""

    @sim.crossing()
    def passes(t):
        return np.sin(90.0 * t + 0.1)


@pytest.mark.parametrize("make", [standing, craft])
def test_crossings_change_nothing_else(make):
    """In steps with contact, and of a body that is free: the motion of Python."""
    runs = []
    for how in (lambda s: s, slow):
        s = make()
        s.add("watcher", Watcher())
        runs.append(how(s).run(0.06))
    assert len(runs[0].events) == 1
    agree(*runs, 1e-8)
    assert in_python(runs[0]) <= 3
    if make is standing:
        assert len(runs[0].contacts.steps) == len(runs[1].contacts.steps)


@pytest.mark.parametrize("method", METHODS)
def test_a_restart_has_the_same_bits(method, tmp_path):
    """Wherever it is: before a crossing, after one, in the middle of nothing."""
    for t in (0.0301, 0.1507):
        one = waves(method)
        one.run(t)
        one.checkpoint(tmp_path / "half.h5")
        whole = one.run(0.3)
        again = sim.restore(tmp_path / "half.h5", classes=[Counter]).run(0.3)
        for name in ("t", "q", "v", "vdot"):
            assert np.array_equal(getattr(whole, name), getattr(again, name)), name
        assert [x.t for x in whole.events] == [x.t for x in again.events]


def test_parts_have_the_same_bits():
    """Pauses at steps change nothing."""
    one, other = waves("rk4"), waves("rk4")
    whole = one.run(0.3)
    parts = [other.run(t) for t in (0.02, 0.022, 0.1, 0.3)]
    assert np.array_equal(np.concatenate([parts[0].q, *(x.q[1:] for x in parts[1:])]), whole.q)
    assert [x.t for y in parts for x in y.events] == [x.t for x in whole.events]


def test_a_function_that_is_zero_for_a_while_is_left_to_python():
    """It crosses where it leaves zero on the other side."""

    class Dead(sim.Component):
        @sim.crossing()
        def band(t):
            return min(t - 0.1, 0.0) + max(t - 0.2, 0.0)

    times = []
    for make in (lambda s: s, slow):
        s = waves("rk4")
        s.add("dead", Dead())
        times.append([x.t for x in make(s).run(0.3).events if x.name == "dead.band"])
    assert times[0] == times[1]
    assert len(times[0]) == 1


def test_a_run_ends_at_a_crossing():
    s = waves("rk4")
    run = s.run(1.0, until="own.down")
    assert run.events[-1].name == "own.down"
    assert run.t[-1] == run.events[-1].t == pytest.approx(waves("dop853").run(1.0, until="own.down").t[-1], abs=1e-8)


def test_an_error_in_a_function_that_is_watched_is_told_by_name():
    class Bad(sim.Component):
        @sim.crossing()
        def late(t):
            return np.nan if t > 0.1 else 1.0

    s = waves("rk4")
    s.add("bad", Bad())
    with pytest.raises(SimulationError, match=r"'bad\.late' gave nan"):
        s.run(0.3)


class Near(sim.Component):
    """States whose sums with functions of the time are constants close to zero."""

    x = sim.Continuous(start=1e-3)
    y = sim.Continuous(start=1e-4)

    @sim.rate(x)
    def x_slope():
        return 1.0

    @sim.rate(y)
    def y_slope(t):
        return 3.0 * t**2

    @sim.crossing()
    def beside(x, t):
        return x - t

    @sim.crossing()
    def below(y, t):
        return t**3 - y


@pytest.mark.parametrize("method", METHODS)
def test_steps_in_which_nothing_crosses_are_compiled(method):
    """Within a step states are those of the dense output: a wrong one would seem to cross."""
    s = sim.System("near", integrator=method, step=0.1)
    s.add("near", Near())
    run = s.run(2.0)
    assert in_python(run) == 0
    assert not run.events


@pytest.mark.parametrize("method", METHODS)
def test_a_function_that_a_tick_brings_to_zero_begins_anew(method):
    """It is rounding there: which side it comes from is not known, and it does not cross on its way."""

    class Held(sim.Component):
        high = sim.Discrete(start=1.0)

        @sim.output()
        def y(high):
            return high

        @sim.update(high)
        def lower(t):
            return 1.0 if t < 0.04 else 1e-17

    class Falls(sim.Component):
        u = sim.In()

        @sim.crossing()
        def down(u, t):
            return u + (0.05 - t)

    times = []
    for make in (lambda s: s, slow):
        s = sim.System("begins", integrator=method, step=0.01)
        s.add("held", Held(), every=0.05)
        s.add("falls", Falls())
        s.connect("held.y", "falls.u")
        times.append([x.t for x in make(s).run(0.2).events])
    assert times[0] == times[1]

"""Components and connections that come and go at the pauses of a running system."""

from __future__ import annotations

import json

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import SimulationError, WiringError
from soacraft.sim.systems.present import Present


def lag(**how) -> sim.System:
    """A sine, a lag of it, and a sensor with noise that ticks."""
    s = sim.System("lag", **(how or {"integrator": "rk4", "step": 1e-2}))
    s.add("wave", sim.Sine(frequency=0.7))
    s.add("slow", sim.LowPass(time_constant=0.3))
    s.add("seen", sim.Sensor(deviation=1.0), rate=7)
    s.connect("wave.y", "slow.u")
    s.connect("wave.y", "seen.u")
    return s


def level() -> sim.System:
    s = sim.System("level", integrator="rk4", step=0.1)
    s.add("low", sim.Constant(value=1.0))
    s.add("high", sim.Constant(value=5.0))
    s.add("level", sim.Integrator())
    s.connect("low.y", "level.u")
    return s


def test_a_connection_that_is_made_at_a_pause_acts_from_then_on():
    s = level()
    s.run(1.0)
    with s.edit():
        s.disconnect("low.y", "level.u")
        s.connect("high.y", "level.u")
    assert s.t == 1.0
    assert s.run(3.0).signals["level.y"][-1] == pytest.approx(1.0 + 2.0 * 5.0, rel=1e-14)
    assert [(x.t, x.kind, x.name) for x in s.changes] == [
        (1.0, "connect", "high.y -> level.u"),
        (1.0, "disconnect", "low.y -> level.u"),
    ]


def test_an_added_component_begins_with_its_initial_states():
    s = lag(integrator="dop853", rtol=1e-11)
    s.run(0.37)
    s.add("one", sim.Constant(value=1.0))
    s.add("late", sim.LowPass(time_constant=0.2))
    s.connect("one.y", "late.u")
    run = s.run(1.0)
    assert run.signals["late.y"] == pytest.approx(1.0 - np.exp(-(run.t - 0.37) / 0.2), abs=1e-9)


def test_a_state_of_a_component_that_waits_may_be_set():
    s = lag(integrator="dop853", rtol=1e-11)
    s.run(0.37)
    s.add("late", sim.LowPass(time_constant=0.2))
    s.states["late.x"] = 2.0
    s.add("none", sim.Constant(value=0.0))
    s.connect("none.y", "late.u")
    run = s.run(1.0)
    assert run.signals["late.y"] == pytest.approx(2.0 * np.exp(-(run.t - 0.37) / 0.2), abs=1e-9)


def test_clocks_of_added_components_count_from_the_start_of_the_system():
    s = sim.System("ticks", integrator="rk4", step=0.05)
    s.add("time", sim.Ramp(slope=1.0))
    s.run(0.25)
    s.add("hold", sim.SampleHold(), every=0.1)
    s.connect("time.y", "hold.u")
    run = s.run(0.6)
    ticked = np.floor(run.t * 10.0 + 1e-9) / 10.0
    assert run.signals["hold.y"] == pytest.approx(np.where(run.t < 0.3 - 1e-9, 0.0, ticked), abs=1e-12)


@pytest.mark.parametrize("shared", [False, True])
def test_a_component_that_is_added_at_a_tick_of_its_clock_ticks_at_once(shared):
    """Also where another one of that clock has ticked there already, which does not tick again."""
    s, had = (sim.System("ticks", integrator="rk4", step=0.05, seed=3) for _ in range(2))
    for x in (s, had):
        x.add("time", sim.Ramp(slope=1.0))
        if shared:
            x.add("count", sim.UnitDelay(), every=0.1)
            x.connect("time.y", "count.u")
    for x in (s, had):
        if x is s:
            s.run(0.3)
        x.add("seen", sim.Sensor(deviation=1.0), every=0.1)
        x.connect("time.y", "seen.u")
        x.add("filter", sim.Gain(gain=3.0), every=0.1)
        x.connect("seen.y", "filter.u")
    had.run(0.3)
    a, b = s.run(0.6), had.run(0.6)
    for name in b.signals:
        assert np.array_equal(a.signals[name], b.signals[name]), name


def test_a_sampled_law_of_a_plant_ticks_at_the_pause_with_what_it_measures():
    mb = swinging(0.3)
    s = sim.System("swing", integrator="rk4", step=1e-2)
    s.add("arm", sim.Plant(mb))
    s.add("one", sim.Gain(gain=1.0), every=0.1)
    s.connect("arm.v[bob]", "one.u")
    s.run(0.2)
    s.add("felt", sim.Gain(gain=2.0), every=0.1)
    s.connect("arm.vdot[bob]", "felt.u")
    run = s.run(0.25)
    assert run.signals["felt.y"][0] == pytest.approx(-2.0 * 9.81 * np.sin(run.q[0, 0]), rel=1e-12)
    assert run.signals["one.y"][0] == run.v[0, 0]


def test_the_rest_goes_on_with_its_bits():
    plain, changed = lag(), lag()
    for s in (plain, changed):
        s.run(0.503)
    changed.add("twice", sim.Gain(gain=2.0))
    changed.connect("slow.y", "twice.u")
    a, b = plain.run(1.3), changed.run(1.3)
    for name in a.signals:
        assert np.array_equal(a.signals[name], b.signals[name]), name
    assert np.array_equal(b.signals["twice.y"], 2.0 * b.signals["slow.y"])


def test_the_noise_of_an_added_sensor_is_that_of_one_that_was_there_all_along():
    had, late = lag(), lag()
    for s in (had, late):
        if s is late:
            late.run(0.503)
        s.add("noise", sim.Sensor(deviation=1.0), rate=11)
        s.connect("wave.y", "noise.u")
    had.run(0.503)
    a, b = had.run(1.3), late.run(1.3)
    assert np.array_equal(a.t, b.t)
    after = a.t >= 6.0 / 11.0  # the first tick of 11 Hz behind 0.503 s
    assert np.array_equal(a.signals["noise.y"][after], b.signals["noise.y"][after])
    assert np.ptp(a.signals["noise.y"][after]) > 0.1


def test_a_refused_change_lists_every_fault_and_changes_nothing():
    s, other = lag(), lag()
    s.run(0.4), other.run(0.4)
    build, told = s.board.build, str(s.signals())
    for call, why in (
        (lambda: s.connect("wave.z", "slow.u"), "there is no output 'wave.z'; did you mean 'wave.y'"),
        (lambda: s.connect("wave.y", "slow.u"), "the input 'slow.u' has two writers"),
        (lambda: s.add("late", sim.LowPass(time_constant=0.1), every=0.1), "but 'x' is a continuous state"),
        (lambda: s.add("slow", sim.Constant(value=1.0)), "there is a component 'slow' already"),
        (lambda: s.disconnect("wave.y", "slow.u"), r"the input 'slow.u' is not connected"),
        (lambda: s.disconnect("wave.y", "slow.x"), r"there is no connection 'wave.y -> slow.x'; did you mean 'wave.y"),
        (lambda: s.remove("wave"), r"has 2 faults:\n  1. the input 'seen.u' is not .*\n  2. the input 'slow.u' is not"),
        (lambda: s.remove("wawe"), "there is no component 'wawe'; did you mean 'wave'"),
        (lambda: s.solve_loop("slow.z"), r"solve_loop: there is no output 'slow.z'"),
    ):
        with pytest.raises(WiringError, match=why):
            call()
        assert s.board.build is build
        assert s.diagram is build.diagram
    assert str(s.signals()) == told
    a, b = s.run(0.9), other.run(0.9)
    for name in a.signals:
        assert np.array_equal(a.signals[name], b.signals[name]), name


def test_a_component_waits_for_its_inputs_until_the_next_run():
    s = lag()
    s.run(0.2)
    s.add("sum", sim.Sum())
    build = s.board.build
    s.connect("wave.y", "sum.a")
    with pytest.raises(WiringError, match=r"has a fault:\n  1\. the input 'sum.b' is not connected"):
        s.run(0.4)
    assert s.t == 0.2
    assert s.board.build is build
    with pytest.raises(WiringError, match=r"there is no output 'slow\.z'"):  # a fault that is none of waiting
        s.connect("slow.z", "sum.b")
    s.connect("slow.y", "sum.b")
    run = s.run(0.4)
    assert np.array_equal(run.signals["sum.y"], run.signals["wave.y"] + run.signals["slow.y"])
    s.add("more", sim.Sum())
    s.remove("more")
    assert "more.y" not in s.run(0.5).signals


def test_inputs_that_are_disconnected_have_their_defaults():
    class Offset(sim.Component):
        u = sim.In(default=3.0)

        @sim.output()
        def y(u):
            return 2.0 * u

    s = sim.System("a", integrator="rk4", step=0.1)
    s.add("one", sim.Constant(value=1.0))
    s.add("part", Offset())
    s.connect("one.y", "part.u")
    assert s.run(0.1).signals["part.y"][-1] == 2.0
    s.disconnect("one.y", "part.u")
    assert s.run(0.2).signals["part.y"][-1] == 6.0


def test_a_component_goes_with_its_connections():
    s = lag()
    s.add("drift", sim.LowPass(time_constant=1.0))
    s.connect("slow.y", "drift.u")
    s.run(0.2)
    s.remove("drift")
    run = s.run(0.4)
    assert "slow.y" in run.signals
    assert not [x for x in run.signals if x.startswith("drift")]
    assert [(x.kind, x.name) for x in s.changes] == [("remove", "drift"), ("disconnect", "slow.y -> drift.u")]
    s.add("drift", sim.LowPass(time_constant=1.0))
    s.connect("slow.y", "drift.u")
    assert s.states["drift.x"] == 0.0  # another one, of the same name


def test_one_of_many_that_a_pattern_names_goes():
    s = sim.System("a", integrator="rk4", step=0.1)
    s.add("one", sim.Constant(value=1.0))
    for i in range(3):
        s.add(f"part/x{i}", sim.Integrator())
    s.connect("one.y", "part/*.u")
    s.run(0.5)
    s.remove("part/x1")
    run = s.run(1.0)
    assert [run.signals[f"part/x{i}.y"][-1] for i in (0, 2)] == pytest.approx([1.0, 1.0])
    assert "part/x1.y" not in run.signals
    assert len(s.diagram.wires) == 1


def test_an_edit_is_done_whole_or_not_at_all():
    s, new = level(), level()
    s.run(1.0)

    def wrong_port() -> None:
        with s.edit():
            s.disconnect("low.y", "level.u")
            s.connect("high.z", "level.u")

    def broken(system: sim.System) -> None:
        with system.edit():
            system.disconnect("low.y", "level.u")
            _ = 1 / 0

    build = s.board.build
    with pytest.raises(WiringError, match=r"there is no output 'high\.z'"):
        wrong_port()
    with pytest.raises(ZeroDivisionError):
        broken(s)
    assert s.board.build is build
    assert s.diagram is build.diagram
    assert s.run(2.0).signals["level.y"][-1] == pytest.approx(2.0)
    diagram = new.diagram
    with pytest.raises(ZeroDivisionError):
        broken(new)
    assert new.diagram is diagram


def test_a_force_is_mounted_on_a_plant_that_moves():
    """A pendulum is held by a spring from 0.5 s on, and goes on as one that starts there with it."""
    mb = sc.load("pendulum")
    mb.set_state([0.3], [0.0])
    s = sim.System("swing", integrator="rk4", step=1e-3)
    arm = s.add("arm", sim.Plant(mb))
    s.run(0.5)
    q, v = np.array(mb.q), np.array(mb.v)

    def hold(system: sim.System, plant: sim.Plant) -> None:
        system.add("drive", sim.Force(), at=plant.dof("bob"))
        system.add("spring", sim.Gain(gain=-40.0))
        system.connect(f"{plant.path}.q[bob]", "spring.u")
        system.connect("spring.y", "drive.command")

    hold(s, arm)
    other = sc.load("pendulum")
    other.set_state(q, v)
    t = sim.System("swing", integrator="rk4", step=1e-3, t=0.5)
    hold(t, t.add("arm", sim.Plant(other)))
    a, b = s.run(1.0), t.run(1.0)
    assert np.array_equal(a.q, b.q)
    assert np.array_equal(a.v, b.v)
    assert set(a.work) == set(b.work)
    assert [x.name for x in s.changes if x.kind == "add"] == ["drive", "spring"]


def swinging(q: float) -> sc.Multibody:
    mb = sc.load("pendulum")
    mb.set_state([q], [0.1])
    return mb


def test_a_plant_is_added():
    """It moves as one alone from its state on; the one that was there goes on, with the work of its forces."""

    def drag() -> sim.Drag:
        return sim.Drag("bob/tip", linear=0.5)

    s, alone = (sim.System("a", integrator="rk4", step=1e-2) for _ in range(2))
    for x in (s, alone):
        x.add("a", sim.Plant(swinging(0.3), forces=[drag()]))
    s.run(0.1)
    b = s.add("b", sim.Plant(swinging(0.2), forces=[drag()]))
    s.add("wave", sim.Sine(frequency=1.0))
    s.add("push", sim.Force(), at=b.dof("bob"))
    s.connect("wave.y", "push.command")
    other = sim.System("b", integrator="rk4", step=1e-2, t=0.1)
    c = other.add("b", sim.Plant(swinging(0.2), forces=[drag()]))
    other.add("wave", sim.Sine(frequency=1.0))
    other.add("push", sim.Force(), at=c.dof("bob"))
    other.connect("wave.y", "push.command")
    both, one, two = s.run(0.3), alone.run(0.3), other.run(0.3)
    assert both.q[-1] == pytest.approx([one.q[-1, 0], two.q[-1, 0]], abs=1e-13)
    (work,) = one.work.values()
    assert work[-1] < 0.0
    assert both.work[f"a:{next(iter(one.work))}"][-1] == pytest.approx(work[-1], rel=1e-12)
    assert [(x.kind, x.name) for x in s.changes][:2] == [("add", "b"), ("add", "wave")]


def test_a_plant_that_is_refused_can_be_added_elsewhere():
    s = sim.System("a", integrator="rk4", step=1e-2)
    a = s.add("a", sim.Plant(swinging(0.3)))
    s.run(0.1)
    build, again = s.board.build, sim.Plant(a.mb)
    with pytest.raises(WiringError, match=r"the model of 'b' is that of another plant, too: give it mb.copy\(\)"):
        s.add("b", again)
    assert s.board.build is build
    assert not again.is_joined
    other = sim.Plant(swinging(0.2))
    with pytest.raises(ZeroDivisionError):
        add_and_fail(s, other)
    assert not other.is_joined
    assert s.board.build is build
    with pytest.raises(WiringError, match=r"'a' is a plant, which stays in its system: a.remove\(body\) takes a body"):
        s.remove("a")
    assert a.is_joined
    s.add("c", other)
    s.run(0.2)


def add_and_fail(s: sim.System, plant: sim.Plant) -> None:
    with s.edit():
        s.add("b", plant)
        _ = 1 / 0


def test_within_an_edit_nothing_runs():
    s = lag()
    mb = swinging(0.1)
    bob = s.add("bob", sim.Plant(mb))
    s.run(0.1)
    with s.edit():
        for call in (lambda: s.run(0.2), lambda: s.checkpoint("a.h5"), lambda: bob.detach("bob")):
            with pytest.raises(WiringError, match=r"the system 'lag' is within s.edit\(\), which is not done yet"):
                call()
    assert s.run(0.2).t[0] == 0.1


def test_a_system_file_has_what_was_connected(tmp_path):
    s = lag()
    s.run(0.2)
    s.add("twice", sim.Gain(gain=2.0))
    s.connect("slow.y", "twice.u")
    s.run(0.3)
    s.save(tmp_path / "a.toml")
    other = sim.load_system(tmp_path / "a.toml")
    assert sorted(other.diagram.wires) == sorted(s.diagram.wires)
    assert [*other.diagram.parts] == sorted(s.diagram.parts)


def test_an_assembly_is_added_and_removed():
    class Pair(sim.Assembly):
        def build(self, p, at):
            self.add("first", sim.Gain(gain=2.0))
            self.add("second", sim.Gain(gain=3.0))
            self.connect("first.y", "second.u")
            self.export("u", "first.u")
            self.export("y", "second.y")

    s = lag()
    s.run(0.2)
    s.add("pair", Pair())
    s.connect("wave.y", "pair.u")
    run = s.run(0.4)
    assert run.signals["pair/second.y"] == pytest.approx(6.0 * run.signals["wave.y"], rel=1e-15)
    s.remove("pair")
    assert not s.diagram.exports
    assert not s.diagram.groups
    assert "pair/first.y" not in s.run(0.5).signals


def test_a_changed_system_is_restored_from_its_checkpoint(tmp_path):
    s = lag()
    s.run(0.25)
    s.add("noise", sim.Sensor(deviation=1.0), rate=11)
    s.connect("slow.y", "noise.u")
    s.run(0.5)
    s.checkpoint(tmp_path / "a.h5")
    other = sim.restore(tmp_path / "a.h5")
    assert [(x.t, x.kind, x.name) for x in other.changes] == [(x.t, x.kind, x.name) for x in s.changes]
    a, b = s.run(1.1), other.run(1.1)
    for name in a.signals:
        assert np.array_equal(a.signals[name], b.signals[name]), name


def test_in_a_step_a_change_is_refused():
    seen = []

    class Meddles(sim.Component):
        @sim.output()
        def y(t):
            if t > 0.05 and not seen:
                try:
                    s.connect("part.y", "part.u")
                except SimulationError as wrong:
                    seen.append(str(wrong))
            return 0.0

    s = sim.System("a", integrator="rk4", step=0.1)
    s.add("part", Meddles())
    s.add("keeps", sim.Integrator())
    s.connect("part.y", "keeps.u")
    s.run(0.3)
    assert seen == ["'part.u' cannot be connected: the system 'a' is in a step. Change it between runs, or by a "
                    "sim.Sequence."]  # fmt: skip


def test_a_sequence_changes_connections():
    s = level()
    s.add(
        "plan",
        sim.Sequence(
            ["fill", "flood"],
            [sim.Transition("fill", "flood", after=1.0)],
            {
                "flood": [
                    sim.Action("disconnect", source="low.y", target="level.u"),
                    sim.Action("connect", source="high.y", target="level.u"),
                ]
            },
        ),
    )
    run = s.run(2.0)
    assert run.signals["level.y"][-1] == pytest.approx(6.0, rel=1e-14)
    assert [x.kind for x in s.changes] == ["connect", "disconnect"]
    plan = s.diagram.sequences["plan"]
    assert sim.Sequence.from_plain(json.loads(json.dumps(plan.plain()))).plain() == plan.plain()
    with pytest.raises(WiringError, match="the action 'connect' of 'b' needs target="):
        sim.Sequence(["b"], [], {"b": [sim.Action("connect", source="a.y")]})


def test_a_sequence_that_is_added_begins_at_the_pause():
    s = level()
    s.run(1.0)
    s.add("plan", sim.Sequence({"wait": [], "fill": ["level"]}, [sim.Transition("wait", "fill", after=0.5)]))
    assert s.phase("plan") == "wait"
    run = s.run(2.0)
    assert run.signals["level.y"][-1] == pytest.approx(1.5, rel=1e-12)
    with pytest.raises(WiringError, match="'level' is no component"):
        s.remove("level")
    s.remove("plan")
    assert s.run(3.0).signals["level.y"][-1] == pytest.approx(2.5, rel=1e-12)


def test_those_who_look_see_what_is_new():
    s = lag()
    s.run(0.2)
    present = Present(s)
    s.add("twice", sim.Gain(gain=2.0))
    s.connect("slow.y", "twice.u")
    s.run(0.3)
    assert not present.is_current
    present = Present(s)
    assert present.value("twice.y") == pytest.approx(2.0 * present.value("slow.y"))
    assert present.value("twice.u") == present.value("slow.y")

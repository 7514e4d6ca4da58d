"""Phases of a mission: transitions, components that are active, actions, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import ModelFileError, SimulationError, StateError, WiringError
from soacraft.sim.systems.changes.sequence import Sequence


def clockwork(sequence, **how) -> sim.System:
    """A ramp, an integrator of it, and a sampled filter."""
    s = sim.System("s", **(how or {"integrator": "rk4", "step": 0.01}))
    s.add("ramp", sim.Ramp(slope=1.0))
    s.add("sum", sim.Integrator())
    s.add("count", sim.DiscreteFilter(weight=0.5), every=0.3)
    s.connect("ramp.y", "sum.u")
    s.connect("ramp.y", "count.u")
    s.add("day", sequence)
    return s


def test_inactive_components_hold_and_their_clocks_go_on():
    phases = {"one": ["sum"], "two": ["count"], "three": ["sum", "count"]}
    steps = [sim.Transition("one", "two", when="ramp.y > 1.0"), sim.Transition("two", "three", after=1.0)]
    s = clockwork(sim.Sequence(phases, steps))
    run = s.run(3.0)
    one, two, three = run.segments
    assert [(x.t[0], x.t[-1]) for x in run.segments] == [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]
    assert s.phase("day") == "three"
    assert one.signals["sum.y"][-1] == pytest.approx(0.5, abs=1e-12)
    assert np.ptp(two.signals["sum.y"]) == 0.0
    assert three.signals["sum.y"][-1] == pytest.approx(0.5 + (9 - 4) / 2, abs=1e-9)
    assert not one.signals["count.y"].any()
    # the ticks of the filter are those that it would have had, from 1.2 s on; each gives what the one before kept
    changes = [
        t for t, a, b in zip(two.t[1:], two.signals["count.y"], two.signals["count.y"][1:], strict=False) if a != b
    ]
    assert changes == pytest.approx([1.5, 1.8], abs=1e-9)
    assert [(x.t, x.name) for x in one.events][-1] == (1.0, "day: one -> two")


def test_a_transition_on_a_crossing_of_a_component_and_a_stop_at_a_phase():
    class Level(sim.Component):
        u = sim.In()

        @sim.crossing(direction=1)
        def high(u):
            return u - 0.75

    s = clockwork(sim.Sequence({"low": [], "up": ["sum"]}, [sim.Transition("low", "up", on="level.high")]))
    s.add("level", Level())
    s.connect("ramp.y", "level.u")
    run = s.run(5.0, until="day.up")
    assert run.t[-1] == pytest.approx(0.75, abs=1e-12)
    assert s.phase("day") == "up"
    s.run(1.75)
    assert s.states["sum.x"] == pytest.approx((1.75**2 - 0.75**2) / 2, abs=1e-9)


def test_what_holds_already_acts_at_once_also_at_the_start():
    chain = [
        sim.Transition("a", "b", when="ramp.y > -1.0"),
        sim.Transition("b", "c", when="ramp.y < 7.0"),
        sim.Transition("c", "d", when="ramp.y > 0.5"),
    ]
    s = clockwork(sim.Sequence("abcd", chain))
    run = s.run(1.0)
    assert s.phase("day") == "d"
    assert [len(x.events) for x in run.segments] == [4, 0]
    assert [x.name for x in run.segments[0].events] == [
        "day: a -> b",
        "day: b -> c",
        "day: ramp.y > 0.5",
        "day: c -> d",
    ]
    assert run.segments[-1].t[0] == pytest.approx(0.5, abs=1e-12)


def test_one_run_and_the_same_in_halves_have_the_same_bits():
    def made():
        steps = [sim.Transition("one", "two", when="ramp.y > 0.437"), sim.Transition("two", "one", after=0.21)]
        return clockwork(sim.Sequence({"one": ["sum"], "two": []}, steps[:1] + steps[1:]))

    whole, parts = made(), made()
    a = whole.run(1.0)
    parts.run(0.3)
    parts.run(0.5)
    b = parts.run(1.0)
    assert a.signals["sum.y"][-1] == b.signals["sum.y"][-1]
    assert a.signals["count.y"][-1] == b.signals["count.y"][-1]


def capsule():
    mb = sc.Multibody("capsule", gravity=(0, 0, -9.81))
    mb.add_body("hull", None, sc.Free(), sc.Inertia(10.0, (0, 0, 0.1), np.diag([2.0, 2.0, 1.0])))
    mb.add_body("shield", "hull", sc.Weld(), sc.Inertia(3.0, moment=0.4 * np.eye(3)), sc.Pose(translation=(0, 0, -0.8)))
    mb.set_state([0, 0, 0, 1, 0, 0, 20.0], np.zeros(6))
    return mb


def test_a_descent_that_drops_its_shield_and_fires_its_engine():
    """The shield parts at 10 m, then the engine burns: heights by the closed form of each leg."""
    s = sim.System("edl", integrator="rk4", step=1e-2)
    ship = s.add("ship", sim.Plant(capsule()))
    s.add("thrust", sim.Constant(value=200.0))
    s.add("engine", sim.Gain(gain=1.0))
    s.connect("thrust.y", "engine.u")
    s.add("zero", sim.Constant(value=(0.0, 0.0)))
    s.add("lift", sim.Join(size_a=2, size_b=None))
    s.connect("zero.y", "lift.a")
    s.connect("engine.y", "lift.b")
    s.connect("lift.y", "ship.node_force[hull]")
    s.add(
        "mission",
        sim.Sequence(
            {"fall": [], "brake": ["engine"]},
            [sim.Transition("fall", "brake", when="ship.position[hull][2] < 10.0")],
            {"brake": [sim.Action("detach", plant="ship", body="shield")]},
        ),
    )
    run = s.run(2.0)
    drop = np.sqrt(2 * 10.0 / 9.81)
    assert run.t[0] == pytest.approx(drop, abs=1e-9)
    left = 2.0 - drop
    v = -9.81 * drop + (200.0 / 10.0 - 9.81) * left
    assert ship.mb.velocity("hull").linear[2] == pytest.approx(v, abs=1e-8)
    assert ship.mb.velocity("shield").linear[2] == pytest.approx(-9.81 * 2.0, abs=1e-8)
    assert [x.q.shape[1] for x in run.segments] == [7, 14]
    assert s.changes[0].momentum_after == pytest.approx(s.changes[0].momentum_before, rel=1e-12)


def test_actions_that_set_and_those_that_fail():
    def made(action):
        return clockwork(sim.Sequence("ab", [sim.Transition("a", "b", after=0.5)], {"b": [action]}))

    s = made(sim.Action("set", name="ramp.slope", value=0.0))
    assert s.run(1.0).signals["ramp.y"][-1] == 0.0
    s = made(sim.Action("set", name="sum.x", value=3.0))
    assert s.run(0.5).segments[0].signals["sum.y"][-1] == pytest.approx(0.125)
    assert s.states["sum.x"] == 3.0
    s = made(sim.Action("set", name="ramp.slop", value=0.0))
    with pytest.raises(
        SimulationError, match=r"the action 'set' of phase 'b' of 'day' failed at t = 0.5 s: .*no state 'ramp.slop'"
    ):
        s.run(1.0)


def test_it_is_plain_data():
    hinge = sc.Universal((1, 0, 0), (0, 1, 0))
    steps = [("a", "b", "", "ramp.y < -1.5e-3", None), ("*", "a", "x.y", "", None), ("b", "a", "", "", 2.0)]
    act = sim.Action("capture", plant="p", body="x", parent="y", hinge=hinge, mounted="stop")
    one = sim.Sequence({"a": ["sum", "x/*"], "b": []}, [sim.Transition(*x) for x in steps], {"b": [act]})
    back = Sequence.from_plain(one.plain())
    assert back.plain() == one.plain()
    assert back.actions["b"][0].hinge == one.actions["b"][0].hinge
    assert repr(back) == "Sequence(a, b)"
    bad = one.plain()
    bad["more"] = 1
    with pytest.raises(WiringError, match=r"a sequence cannot be read: .*unknown field `more`"):
        Sequence.from_plain(bad)
    bad = one.plain()
    bad["actions"]["b"][0]["hinge"] = {"type": "os.system"}
    with pytest.raises(ModelFileError, match="a hinge cannot be read"):
        Sequence.from_plain(bad)
    bad = one.plain()
    bad["actions"]["b"][0]["code"] = "x"
    with pytest.raises(WiringError, match="a sequence cannot be read"):
        Sequence.from_plain(bad)


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: sim.Sequence({}, []), "a Sequence has phases"),
        (lambda: sim.Sequence(["a b"], []), "a phase has a name of letters, digits and '_'; got 'a b'"),
        (lambda: sim.Sequence({"a": "sum"}, []), "phase 'a' has a list of names of components, got 'sum'"),
        (lambda: sim.Sequence("ab", [("a", "b")]), r"transitions are sim.Transition\(source, target, ...\)"),
        (lambda: sim.Sequence("ab", [sim.Transition("a", "c", after=1)]), "'a' -> 'c' is of no phase 'c'"),
        (lambda: sim.Sequence("ab", [sim.Transition("a", "b")]), "needs one of on=, when= and after="),
        (lambda: sim.Sequence("ab", [sim.Transition("a", "b", on="x.y", after=1)]), "needs one of on="),
        (lambda: sim.Sequence("ab", [sim.Transition("a", "b", after=0)]), "must be a nanosecond or more"),
        (
            lambda: sim.Sequence("ab", [sim.Transition("a", "b", when="x.y = 3")]),
            "a condition is 'component.port < 3.0'",
        ),
        (lambda: sim.Sequence("ab", [sim.Transition("a", "b", when="x.y < ee")]), "a condition is"),
        (lambda: sim.Sequence("ab", [], {"c": []}), "actions are of phases, and there is none 'c'"),
        (lambda: sim.Sequence("ab", [], {"b": [3]}), r"actions of 'b' are sim.Action\(do, ...\), got 3"),
        (lambda: sim.Sequence("ab", [], {"b": [sim.Action("drop")]}), "there is no action 'drop'"),
        (lambda: sim.Sequence("ab", [], {"b": [sim.Action("detach", plant="p")]}), "needs body="),
        (
            lambda: sim.Sequence("ab", [], {"b": [sim.Action("detach", plant="p", body="x", mounted="go")]}),
            "mounted= of the action 'detach'",
        ),
    ],
)
def test_what_is_refused(build, text):
    with pytest.raises(WiringError, match=text):
        build()


def test_what_a_system_does_not_have_is_listed():
    s = clockwork(
        sim.Sequence(
            {"a": ["summ"], "b": []},
            [sim.Transition("a", "b", on="sum.full"), sim.Transition("b", "a", when="ramp.z > 1.0")],
            {"b": [sim.Action("detach", plant="ship", body="x")]},
        )
    )
    with pytest.raises(WiringError) as caught:
        s.check()
    text = str(caught.value)
    assert "'day': 'summ' is no component; did you mean 'sum'" in text
    assert "'day': 'sum.full' is no crossing" in text
    assert "'day': 'ship' is no plant" in text
    s = clockwork(sim.Sequence("ab", [sim.Transition("a", "b", when="ramp.z > 1.0")]))
    with pytest.raises(WiringError, match=r"there is no output 'ramp.z'"):
        s.check()
    s = clockwork(sim.Sequence("ab", [sim.Transition("a", "b", after=0.1)]))
    with pytest.raises(StateError, match="there is no event 'x' to stop at"):
        s.run(1.0, until="x")
    with pytest.raises(WiringError, match="there is no sequence 'night'"):
        s.phase("night")


def test_conditions_of_phases_to_come_are_checked_at_the_start():
    steps = [
        sim.Transition("a", "b", after=0.1),
        sim.Transition("b", "c", when="ramp.z > 1.0"),
        sim.Transition("c", "a", when="ramp.z < 0.5"),
        sim.Transition("c", "b", when="rump.y < 0.5"),
    ]
    with pytest.raises(WiringError) as caught:
        clockwork(sim.Sequence("abc", steps)).check()
    assert len(caught.value.faults) == 2
    assert "there is no output 'ramp.z'; did you mean 'ramp.y'?" in caught.value.faults
    assert any("rump" in x for x in caught.value.faults)


@pytest.mark.parametrize("name", ["stand", "inertial/stand"])
def test_contacts_that_a_later_phase_waits_for_are_checked_at_the_start(name):
    """What a later phase names of a plant whose structure changes may come with that change; shapes do not."""
    mb = sc.Multibody("drop")
    mb.root.add_geometry(sc.Geometry("stand", "plane"))
    box = mb.add_body("box", None, sc.Free(), sc.Inertia.box(1.0, (0.1, 0.1, 0.1)))
    box.add_geometry(sc.Geometry("skin", "sphere", (0.05,)))
    mb.set_state([0, 0, 0, 1, 0, 0, 0.051], np.zeros(6))
    s = sim.System("drop", integrator="moreau", step=1e-3)
    s.add("world", sim.Plant(mb, forces=[sim.Contact()]))
    steps = [
        sim.Transition("hold", "fall", after=0.01),
        sim.Transition("fall", "stands", when=f"world.contact_force[box,{name}][2] > 1"),
        sim.Transition("stands", "held", when="world.v[box.3] > 9"),  # there from "fall" on
    ]
    s.add("plan", sim.Sequence(
        ["hold", "fall", "stands", "held"], steps, {"fall": [sim.Action("release", plant="world", body="box",
                                                                        parent="inertial")]}))  # fmt: skip
    if name == "stand":
        with pytest.raises(WiringError, match="there is no shape or body with shapes 'stand'; did you mean 'inertial/"):
            s.check()
        return
    s.plants["world"].capture("box", "inertial")
    s.run(0.05, until="plan.stands")
    assert s.phase("plan") == "stands"


def test_phases_that_follow_each_other_without_end():
    s = clockwork(
        sim.Sequence(
            "ab", [sim.Transition("a", "b", when="ramp.y > 0.5"), sim.Transition("b", "a", when="ramp.y > 0.1")]
        )
    )
    with pytest.raises(SimulationError, match=r"more than 100 transitions at t = 0.5 s"):
        s.run(1.0)


def descent(**how) -> sim.System:
    """A capsule that drops its shield after a while, with a noisy altimeter."""
    s = sim.System("edl", **(how or {"integrator": "rk4", "step": 1e-2}), seed=3)
    s.add("ship", sim.Plant(capsule()))
    s.add("radar", sim.Sensor(deviation=0.1), rate=7)
    s.add("slow", sim.LowPass(time_constant=0.3))
    s.connect("ship.position[hull][2]", "radar.u")
    s.connect("radar.y", "slow.u")
    steps = [
        sim.Transition("fall", "quiet", when="ship.position[hull][2] < 19.0"),
        sim.Transition("quiet", "end", after=0.31),
    ]
    acts = {"quiet": [sim.Action("detach", plant="ship", body="shield")]}
    s.add("mission", sim.Sequence({"fall": ["slow", "radar"], "quiet": ["radar"], "end": ["slow"]}, steps, acts))
    return s


@pytest.mark.parametrize("at", [0.2, 0.6, 0.9])
def test_a_checkpoint_in_any_phase_goes_on_with_the_same_bits(tmp_path, at):
    s = descent()
    s.run(at)
    s.checkpoint(tmp_path / "a.h5")
    other = sim.restore(tmp_path / "a.h5")
    assert other.phase("mission") == s.phase("mission")
    a, b = s.run(1.2), other.run(1.2)
    assert [len(x) for x in a.segments] == [len(x) for x in b.segments]
    for one, two in zip(a.segments, b.segments, strict=True):
        assert np.array_equal(one.q, two.q)
        for name in ("radar.y", "slow.y"):
            assert np.array_equal(one.signals[name], two.signals[name])


def test_segments_are_in_one_log(tmp_path):
    s = descent()
    run = s.run(1.2, log=tmp_path / "run.h5")
    read = sim.read(tmp_path / "run.h5")
    assert [x.labels.q for x in read.segments] == [x.labels.q for x in run.segments]
    for one, two in zip(run.segments, read.segments, strict=True):
        assert np.array_equal(one.q, two.q)
        assert np.array_equal(one.signals["slow.y"], two.signals["slow.y"])
    assert [x.q.shape[1] for x in read.segments] == [7, 14, 14]


@pytest.mark.parametrize("name", ["a.toml", "a.json"])
def test_a_file_of_a_system_has_its_sequences(tmp_path, name):
    s = descent()
    s.save(tmp_path / name)
    back = sim.load_system(tmp_path / name)
    assert back._sequences["mission"].plain() == s._sequences["mission"].plain()
    a, b = s.run(0.8), back.run(0.8)
    assert np.array_equal(a.q, b.q)
    assert back.phase("mission") == "end"
    (tmp_path / "bad.toml").write_text(
        "format = 'soacraft-system/1'\nname = 'x'\n[sequences.m]\nphases = {a = []}\ntransitions = [{source = 'a'}]\n"
    )
    with pytest.raises(sc.errors.SystemFileError, match=r"a sequence cannot be read: .*target"):
        sim.load_system(tmp_path / "bad.toml")


def test_a_condition_names_a_loop_whose_name_has_spaces():
    step = sim.Transition("a", "b", when="world.closure_force[capture of box by left hand][2] > 1e-3")
    condition = sim.Sequence("ab", [step]).condition(step)
    assert condition == ("world.closure_force[capture of box by left hand][2]", 1, 1e-3)

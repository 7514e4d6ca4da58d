"""Systems split over processes: the bits of one; other cuts are refused, and who is lost is named."""

from __future__ import annotations

import threading
from multiprocessing import Pipe

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.sim.links import parts

import soacraft as sc
from soacraft import sim
from soacraft.errors import LostPeerError, SimulationError, WiringError
from soacraft.sim.links.cut import cut
from soacraft.sim.links.split import Channels, work

SHARES = {"vehicle": ["arm", "force_*", "seen_*"], "computer": "flight/**"}


@pytest.fixture(scope="module")
def crew():
    with sim.Crew(2) as made:
        yield made


@st.composite
def diagrams(draw):
    """Groups, periods (None is continuous), gains, shares, and the source of every input: within a share, or sampled;
    what acts at once comes from before."""
    n = draw(st.integers(2, 6))
    groups = [draw(st.sampled_from(["", "in", "in/deep"])) for _ in range(n)]
    shares = [0, 1, *(draw(st.integers(0, 1)) for _ in range(n - 2))]
    kinds = [draw(st.sampled_from([1, 2, 3, None])) for _ in range(n)]
    gains = [draw(st.integers(-4, 4)) / 7 for _ in range(n)]
    inputs = {}
    for i in range(n):
        allowed = [j for j in range(n) if shares[j] == shares[i] or kinds[j] is not None]
        inputs[i, "b"] = draw(st.sampled_from(allowed)), draw(st.sampled_from(["now", "then"]))
        at_once = [(j, port) for j in allowed for port in ("now", "then") if port == "then" or j < i]
        inputs[i, "a"] = draw(st.sampled_from(at_once))
    return groups, shares, kinds, gains, inputs


class Group(sim.Assembly):
    """What a drawing has in one group."""

    def build(self, p, at):
        for name, part, every in self.holds:
            self.add(name, part, every=every)
        if self.inner is not None:
            self.add("deep", self.inner)


def built(diagram, nested: bool) -> tuple[sim.System, list[str]]:
    groups, _, kinds, gains, inputs = diagram
    s = sim.System("drawn", integrator="rk4", step=0.1, seed=5)
    made = {"": [], "in": [], "in/deep": []}
    paths = []
    for i, group in enumerate(groups):
        part = (parts.Mixed if kinds[i] is None else parts.Both)(gain=gains[i])
        every = None if kinds[i] is None else f"{kinds[i]}/10"
        home = group if nested else ""
        made[home].append((f"c{i}", part, every))
        paths.append(f"{home}/c{i}".lstrip("/"))
    for name, part, every in made[""]:
        s.add(name, part, every=every)
    if nested and (made["in"] or made["in/deep"]):
        outer, inner = Group(), Group() if made["in/deep"] else None
        outer.holds, outer.inner = made["in"], inner
        if inner is not None:
            inner.holds, inner.inner = made["in/deep"], None
        s.add("in", outer)
    for (i, port), (j, source) in inputs.items():
        s.connect(f"{paths[j]}.{source}", f"{paths[i]}.{port}")
    return s, paths


@given(diagram=diagrams())
@tries(15)
def test_whole_and_split_have_the_same_bits(crew, diagram):
    """Noise goes by names: compared are a nested system and its shares."""
    whole, paths = built(diagram, nested=True)
    shares = {"a": [], "b": []}
    for path, share in zip(paths, diagram[1], strict=True):
        shares["ab"[share]].append(path)
    run = whole.run(1.2)
    with sim.split(built(diagram, nested=True)[0], shares, timeout=60.0, crew=crew) as s:
        first, second = s.run(0.5), s.run(1.2)
    assert sorted(second.signals) == sorted(run.signals)
    for name, x in run.signals.items():
        both = np.concatenate([first.signals[name], second.signals[name][1:]])
        assert both.tobytes() == x.tobytes(), name


@given(diagram=diagrams())
@tries(15)
def test_flat_and_nested_have_the_same_bits_but_for_noise(diagram):
    class Silent(parts.Both):
        @sim.update(parts.Both.x)
        def x_next(a, b, x):
            return 0.25 * (a - b) + 0.5 * x

    runs = []
    for nested in (False, True):
        s, paths = built(diagram, nested)
        for path, kind, gain in zip(paths, diagram[2], diagram[3], strict=True):
            if kind is not None:
                s.replace(path, Silent(gain=gain))
        run = s.run(1.2)
        runs.append([run.signals[f"{path}.{port}"].tobytes() for path in paths for port in ("now", "then", "x")])
    assert runs[0] == runs[1]


def test_a_plant_and_its_controllers(crew):
    whole = parts.arm().run(1.0)
    with sim.split(parts.arm(), SHARES, crew=crew) as s:
        run = s.run(1.0)
    assert run.shares["vehicle"].q.tobytes() == whole.q.tobytes()
    assert np.ptp(whole.q[:, 0]) > 0.1
    for name, x in whole.signals.items():
        assert run.signals[name].tobytes() == x.tobytes(), name


@pytest.mark.parametrize(
    ("shares", "text"),
    [
        ({"a": "**"}, "a system is split into two shares or more"),
        ({"a": "arm", "b": "nothing*"}, r"the pattern 'nothing\*' of the share 'b' matches nothing"),
        ({"a": "**", "b": "arm"}, "'arm' is in two shares, 'a' and 'b': keep it in one"),
        ({"a": ["arm", "force_*"], "b": "flight/**"}, "'seen_lower' is in no share"),
        (
            {"a": ["arm", "force_*"], "b": ["flight/**", "seen_*"]},
            r"the cut between 'a' and 'b' is at 'arm.q' -> 'seen_lower.u', which is of a plant: a system is split at "
            r"outputs of sampled components. Put a sim.SampleHold",
        ),
        (
            {"a": ["arm", "force_*", "seen_*", "flight/target"], "b": ["flight/pid_*", "flight/lag"]},
            r"'flight/target.y' -> 'flight/lag.u', which is of a continuous component",
        ),
    ],
)
def test_other_cuts_are_refused_by_name(shares, text):
    with pytest.raises(WiringError, match=text):
        sim.split(parts.arm(), shares)


def two_lags(integrator: str, crossing: bool = False) -> sim.System:
    class Bounded(sim.LowPass):
        @sim.crossing()
        def half(x):
            return x - 0.5

    s = sim.System("lags", integrator=integrator, step=0.1)
    s.add("hold", sim.SampleHold(), every=0.1)
    s.add("one", sim.LowPass(time_constant=0.1, start=1.0))
    s.add("two", (Bounded if crossing else sim.LowPass)(time_constant=0.1))
    s.connect("one.y", "hold.u")
    s.connect("hold.y", "two.u")
    s.connect("two.y", "one.u")
    return s


def test_steps_that_depend_on_all_states_are_refused():
    s = two_lags("dop853")
    s.disconnect("two.y", "one.u")
    s.add("zero", sim.Constant(value=0.0))
    s.connect("zero.y", "one.u")
    shares = {"a": ["one", "hold", "zero"], "b": ["two"]}
    with pytest.raises(WiringError, match="'a' and 'b' both have continuous states, and steps of 'dop853' depend"):
        sim.split(s, shares)
    s = two_lags("rk4", crossing=True)
    s.disconnect("two.y", "one.u")
    s.add("zero", sim.Constant(value=0.0))
    s.connect("zero.y", "one.u")
    with pytest.raises(WiringError, match=r"the crossing 'two\.half' would end steps in one of them"):
        sim.split(s, shares)


def test_plants_stay_together_and_messages_small():
    s = parts.arm()
    s.add("other", sim.Plant(sc.load("pendulum")))
    with pytest.raises(WiringError, match="the plants 'arm' and 'other' are in two shares"):
        sim.split(s, {"a": ["arm", "force_*", "seen_*"], "b": ["other", "flight/**"]})
    s = sim.System("wide", integrator="rk4", step=0.1)
    s.add("a", sim.UnitDelay(size=5000), every=0.1)
    s.add("b", sim.UnitDelay(size=5000), every=0.1)
    s.connect("a.y", "b.u")
    s.connect("b.y", "a.u")
    with pytest.raises(WiringError, match="the share 'a' would send 40016 bytes at once, and 32000 are allowed"):
        sim.split(s, {"a": "a", "b": "b"})


def test_what_is_no_system_or_has_links_is_refused():
    with pytest.raises(WiringError, match="split takes a system, or a function that makes one; got 3"):
        sim.split(3, SHARES)
    with sim.SharedMemory("board", {"x": None}, {"y": None}) as link:
        s = parts.loop(parts.Fails)
        s.add("board", link, every=0.1)
        s.connect("bad.y", "board.x")
        with pytest.raises(WiringError, match="'board' is a link to another program, which cannot be sent to another"):
            sim.split(s, {"a": ["bad", "board"], "b": "delay"})
    few = object.__new__(sim.Crew)
    few._processes = [None]
    with pytest.raises(WiringError, match="2 shares need as many processes, and the crew has 1"):
        sim.split(parts.arm(), SHARES, crew=few)


def test_a_pipe_without_an_end_is_a_lost_peer():
    at = cut(parts.arm(), SHARES)
    here, there = Pipe()
    there.close()
    ways = Channels(at, [*SHARES], "vehicle", {1: here}, 0.1)
    ways.open = True
    with pytest.raises(LostPeerError, match="lost peer: the share 'computer' is gone, its process ended"):
        ways.send("seen_lower.y", 0.0, 1.0)
    with pytest.raises(LostPeerError, match="lost peer: the share 'computer' is gone, its process ended"):
        ways.receive("flight/pid_lower.command", 0.0)


def test_a_loop_that_is_solved_is_not_cut():
    s = sim.System("loop", integrator="rk4", step=0.1)
    s.add("a", sim.Gain(gain=0.5), every=0.1)
    s.add("b", sim.Sum(), every=0.1)
    s.add("one", sim.Constant(value=1.0), every=0.1)
    s.connect("a.y", "b.a")
    s.connect("one.y", "b.b")
    s.connect("b.y", "a.u")
    s.solve_loop("a.y")
    with pytest.raises(WiringError, match=r"'a\.y' crosses the cut, and is in a loop that is solved"):
        sim.split(s, {"a": "a", "b": ["b", "one"]})


def test_what_cannot_be_sent_is_refused():
    class Local(sim.UnitDelay):
        pass

    s = sim.System("local", integrator="rk4", step=0.1)
    s.add("a", Local(), every=0.1)
    s.add("b", Local(), every=0.1)
    s.connect("a.y", "b.u")
    s.connect("b.y", "a.u")
    with pytest.raises(
        WiringError, match=r"the system 'local' cannot be sent to other processes: .*at the top of a module"
    ):
        sim.split(s, {"a": "a", "b": "b"})
    s.run(0.1)
    with pytest.raises(WiringError, match=r"it cannot be split: the system 'local' is at t = 0\.1 s already"):
        sim.split(s, {"a": "a", "b": "b"})


class Hand(threading.Thread):
    """A thread in the place of a process."""

    exitcode = 0

    def kill(self) -> None:
        """It ends by itself, when it has waited for the other."""


def test_the_error_of_a_share_has_its_name():
    """In threads: what a process does, without one."""
    ends = Pipe()
    crew = object.__new__(sim.Crew)
    controls = [Pipe(), Pipe()]
    crew._controls = [x for x, _ in controls]
    crew._processes = [Hand(target=work, args=(there, {1 - i: ends[i]})) for i, (_, there) in enumerate(controls)]
    for x in crew._processes:
        x.start()
    with pytest.raises(SimulationError) as e:
        sim.split(parts.loop(parts.Fails), {"left": "bad", "right": "delay"}, timeout=1.0, crew=crew).run(1.0)
    assert str(e.value).startswith("the share 'left' failed: the run of 'ring' stopped at t = 0.4 s: 'bad.y' gave nan")


def test_a_share_that_dies_is_a_lost_peer(crew):
    """The last one with these processes."""
    with pytest.raises(LostPeerError, match="lost peer: the process of the share 'left' ended with code -9") as e:
        sim.split(parts.dying, {"left": "bad", "right": "delay"}, timeout=60.0, crew=crew).run(1.0)
    assert e.value.peer == "left"
    with pytest.raises(LostPeerError, match="lost peer: the process of the share 'a' ended"):
        sim.split(parts.arm(), {"a": SHARES["vehicle"], "b": SHARES["computer"]}, crew=crew)

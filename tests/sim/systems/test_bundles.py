"""Bundles in systems: joined field by field, to the same bits as ports that were declared one by one."""

from __future__ import annotations

from typing import Annotated

import msgspec
import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import WiringError
from soacraft.sim.runs.block import Block
from soacraft.sim.systems.bundles import paired
from soacraft.sim.systems.description import build, describe


class Motion(msgspec.Struct):
    x: Annotated[float, sim.Unit("m")]
    wave: Annotated[tuple[float, float], sim.Unit("m/s")]


class Longer(msgspec.Struct):
    x: Annotated[float, sim.Unit("m")]
    wave: Annotated[tuple[float, float, float], sim.Unit("m/s")]


class Heavy(msgspec.Struct):
    x: Annotated[float, sim.Unit("kg")]
    wave: Annotated[tuple[float, float], sim.Unit("m/s")]


class Small(msgspec.Struct):
    x: Annotated[float, sim.Unit("mm")]
    wave: Annotated[tuple[float, float], sim.Unit("m/s")]


class More(msgspec.Struct):
    x: Annotated[float, sim.Unit("m")]
    wave: Annotated[tuple[float, float], sim.Unit("m/s")]
    age: Annotated[float, sim.Unit("s")]


class Source(sim.Component):
    """dx/dt = cos 2t, and its wave."""

    state = sim.Continuous("m")

    @sim.output(bundle=Motion)
    def motion(t, state):
        return Motion(state, (np.cos(2.0 * t), np.sin(2.0 * t)))

    @sim.rate(state)
    def state_rate(t):
        return np.cos(2.0 * t)


class FlatSource(sim.Component):
    """The same, one by one."""

    state = sim.Continuous("m")

    @sim.output("m")
    def motion_x(state):
        return state

    @sim.output("m/s", shape=2)
    def motion_wave(t):
        return np.stack([np.cos(2.0 * t), np.sin(2.0 * t)], axis=-1)

    @sim.rate(state)
    def state_rate(t):
        return np.cos(2.0 * t)


def sink(bundle=Motion):
    """A component that integrates the first of the wave, less twice the position."""
    total = sim.Continuous("m")
    body = {"motion": sim.In(bundle=bundle), "total": total}
    body["total_rate"] = sim.rate(total)(lambda motion_x, motion_wave: motion_wave[..., 0] - 2.0 * motion_x)
    return type("Sink", (sim.Component,), body)


class Sink(sim.Component):
    """The same, by itself."""

    motion = sim.In(bundle=Motion)
    total = sim.Continuous("m")

    @sim.rate(total)
    def total_rate(motion_x, motion_wave):
        return motion_wave[..., 0] - 2.0 * motion_x


class FlatSink(sim.Component):
    """The same, one by one."""

    motion_x = sim.In("m")
    motion_wave = sim.In("m/s", shape=2)
    total = sim.Continuous("m")

    @sim.rate(total)
    def total_rate(motion_x, motion_wave):
        return motion_wave[..., 0] - 2.0 * motion_x


def made(source, sink, *wires, **how):
    s = sim.System("s", integrator="rk4", step=0.01)
    s.add("a", source)
    s.add("b", sink, **how)
    for x, y in wires or [("a.motion", "b.motion")]:
        s.connect(x, y)
    return s


def fault(s):
    with pytest.raises(WiringError) as told:
        s.check()
    return told.value.faults


FLAT = [("a.motion_x", "b.motion_x"), ("a.motion_wave", "b.motion_wave")]


def test_a_bundle_carries_what_its_fields_do():
    s = made(Source(), Sink())
    run = s.run(1.0)  # x = sin(2t)/2, so the total is sin(2t)/2 + (cos(2t) - 1)/2
    t = run.t
    np.testing.assert_allclose(run.signals["b.total"], (np.sin(2 * t) + np.cos(2 * t) - 1.0) / 2, atol=1e-9)
    np.testing.assert_array_equal(run.signals["a.motion_wave"][-1], [np.cos(2.0 * t[-1]), np.sin(2.0 * t[-1])])
    assert "b.motion_wave" in str(s.signals())
    assert "a.motion_wave" in str(s.signals())


@pytest.mark.parametrize(
    ("source", "target", "wires"),
    [
        (Source, Sink, [("a.motion", "b.motion")]),
        (Source, Sink, FLAT),
        (FlatSource, Sink, [("a.motion", "b.motion")]),
        (Source, FlatSink, [("a.motion", "b.motion")]),
        (Source, Sink, [("a.motion", "*.motion")]),
        (FlatSource, Sink, [("a.motion", "b.mot*")]),
    ],
)
def test_flat_equals_bundled_bit_by_bit(source, target, wires):
    want, got = made(FlatSource(), FlatSink(), *FLAT).run(0.5), made(source(), target(), *wires).run(0.5)
    for key in ("a.motion_x", "a.motion_wave", "a.state", "b.total"):
        assert np.array_equal(want.signals[key], got.signals[key])


def test_an_element_of_a_field_and_one_source_for_all_of_a_pattern():
    s = made(Source(), sim.Gain(gain=2.0), ("a.motion_wave[1]", "b.u"))
    run = s.run(0.1)
    assert run.signals["b.y"][-1] == 2.0 * run.signals["a.motion_wave"][-1, 1]
    s = made(Source(), Sink(), ("a.motion_x", "b.*"))  # each input once, fields by their own names
    assert fault(s) == (
        "'a.motion_x' -> 'b.motion_wave': the shape () is not (2,); take an element as 'a.motion_x[0]', or a sim.Join.",
    )


@pytest.mark.parametrize(
    ("bundle", "why"),
    [
        (Longer, "'a.motion_wave' -> 'b.motion_wave': the shape (2,) is not (3,); take an element as"),
        (Heavy, "'a.motion_x' -> 'b.motion_x': the unit 'm' is not of the dimension of 'kg'."),
        (Small, "'a.motion_x' -> 'b.motion_x': 'm' is another scale than 'mm'; say convert=True to have it converted."),
        (More, "'a.motion' -> 'b.motion': the field 'age' of 'b.motion' is not in 'a.motion', which has 'x', 'wave'."),
    ],
)
def test_structs_that_differ_are_refused(bundle, why):
    assert fault(made(Source(), sink(bundle)()))[0].startswith(why)


def test_other_scales_are_converted_where_that_is_said():
    s = made(Source(), sink(Small)(), FLAT[1])
    s.connect("a.motion_x", "b.motion_x", convert=True)
    whole = sim.System("s", integrator="rk4", step=0.01)
    whole.add("a", Source())
    whole.add("b", sink(Small)())
    whole.connect("a.motion", "b.motion", convert=True)
    assert np.array_equal(s.run(0.2).signals["b.total"], whole.run(0.2).signals["b.total"])


@pytest.mark.parametrize(
    ("wires", "why"),
    [
        ([("a.motion", "b.total")], "there is no input 'b.total'"),
        ([("a.motion", "b.motion_x")], "'a.motion' -> 'b.motion_x': 'a.motion' is a bundle, and 'b.motion_x' is none;"),
        ([("a.motion_x", "b.motion")], "'a.motion_x' -> 'b.motion': 'b.motion' is a bundle, and 'a.motion_x' is none;"),
        ([("a.motoin", "b.motion")], "there is no output 'a.motoin'"),
        ([("*.motion", "b.motion"), ("a.motion", "b.motion")], "the input 'b.motion_x' has two writers, 'a.motion_x'"),
        ([("a.motion[0]", "b.motion")], "there is no output 'a.motion'"),
        ([(3, "b.motion")], "a port is written 'component.port', got 3."),
        ([("a.motion", ["b.motion"])], "a port is written 'component.port', got ['b.motion']."),
    ],
)
def test_what_is_no_bundle_is_refused(wires, why):
    assert any(x.startswith(why) for x in fault(made(Source(), Sink(), *wires))), fault(made(Source(), Sink(), *wires))


def test_an_assembly_exports_a_bundle():
    class Box(sim.Assembly):
        def build(self, p, at):
            self.add("inner", Source())
            self.export("motion", "inner.motion")

    s = made(Source(), Sink(), ("box.motion", "b.motion"))
    s.add("box", Box())
    assert np.array_equal(s.run(0.2).signals["b.total"], made(Source(), Sink()).run(0.2).signals["b.total"])


def test_a_handle_names_bundle_and_fields():
    s = sim.System("s")
    handle = s.add("a", Source())
    assert (handle.motion, handle.motion_x) == ("a.motion", "a.motion_x")


def test_a_description_keeps_the_bundle():
    s = made(Source(), Sink())
    data = describe(s)
    assert [(x.source, x.target) for x in data.wires] == [("a.motion", "b.motion")]
    again = build(data, {"Source": Source, "Sink": Sink})
    assert np.array_equal(s.run(0.2).signals["b.total"], again.run(0.2).signals["b.total"])


def test_a_bundle_is_explained_field_by_field():
    s = made(Source(), Sink())
    text = str(s.explain("a.motion"))
    assert text == f"{s.explain('a.motion_x')}\n{s.explain('a.motion_wave')}"
    assert "b.motion_wave" in text
    assert "a.motion_x" in str(s.explain("b.motion"))


def test_an_output_that_gives_something_else_is_a_fault():
    class Wrong(sim.Component):
        @sim.output(bundle=Motion)
        def motion(t):
            return Heavy(t, (t, t))

    assert "the output 'motion' gives Heavy(x=0.0, wave=(0.0, 0.0)), and a Motion is declared." in "".join(
        fault(made(Wrong(), Sink()))
    )


class Seen(msgspec.Struct):
    angle: Annotated[float, sim.Unit("rad")]
    rate: Annotated[float, sim.Unit("rad/s")]


class Encoder(sim.Component):
    q = sim.In("rad")
    v = sim.In("rad/s")

    @sim.output(bundle=Seen)
    def seen(q, v):
        return Seen(q, v)


class Control(sim.Component):
    class Params(sim.Params):
        kp: float = 30.0

    seen = sim.In(bundle=Seen)

    @sim.output("N m")
    def command(p, seen_angle, seen_rate):
        return p.kp * (0.5 - seen_angle) - 5.0 * seen_rate


def joint(bundled: bool = True) -> sim.System:
    s = sim.System("joint", integrator="rk4", step=1e-3)
    arm = s.add("arm", sim.Plant(sc.load("pendulum")))
    s.add("encoder", Encoder(), every=1e-3)
    s.add("control", Control(), every=2e-3)
    s.add("drive", sim.Force(), at=arm.dof("bob"))
    s.connect("arm.q[bob]", "encoder.q")
    s.connect("arm.v[bob]", "encoder.v")
    if bundled:
        s.connect("encoder.seen", "control.seen")
    else:
        s.connect("encoder.seen_angle", "control.seen_angle")
        s.connect("encoder.seen_rate", "control.seen_rate")
    s.connect("control.command", "drive.command")
    return s


def test_a_loop_around_a_plant_is_compiled_with_the_bits_of_its_fields():
    run, flat = joint().run(0.3), joint(bundled=False).run(0.3)
    assert all(isinstance(x, Block) for _, x in run._dense)
    assert np.array_equal(run.q, flat.q)
    s = joint()
    s._compiled()[2].obstacle = "it is compared"
    np.testing.assert_allclose(s.run(0.3).q, run.q, rtol=0.0, atol=1e-12)


def test_a_batch_takes_bundles(tmp_path):
    how = {"runs": 3, "t": 0.1, "vary": {"control.kp": sim.Grid((10.0, 20.0, 30.0))}}
    many = sim.Campaign(joint, tmp_path / "many", measure={"u": "control.command[-1]"}, **how)
    one = sim.Campaign(joint, tmp_path / "one", measure={"u": "control.command[-1]"}, batch=0, **how)
    many.run()
    one.run()
    assert [x.how for x in many.table().rows] == ["batch"] * 3
    np.testing.assert_allclose(many.table()["u"], one.table()["u"], rtol=1e-11)


def test_connections_of_a_bundle_are_those_of_its_fields():
    s = joint()
    wiring = s._compiled()[0]
    assert [y for x in s._wires for y in wiring.pairs(x) if x.source == "encoder.seen"] == [
        ("encoder.seen_angle", "control.seen_angle"),
        ("encoder.seen_rate", "control.seen_rate"),
    ]
    two = {"a.u": {"x": "a.u_x"}, "b.u": {"x": "b.u_x"}}
    with pytest.raises(WiringError, match=r"'\*\.u' is 2 bundles; a connection has one source\."):
        paired("*.u", "c.u", two, {"c.u": {"x": "c.u_x"}})

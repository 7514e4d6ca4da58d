"""Bundles: a struct is read as ports, and what it cannot say is refused."""

from __future__ import annotations

from typing import Annotated

import msgspec
import numpy as np
import pytest

from soacraft import sim
from soacraft.errors import WiringError
from soacraft.sim.components.bundles import read_bundle
from soacraft.sim.components.fingerprint import class_fingerprint

Vector = tuple[float, float, float]


class Imu(msgspec.Struct):
    rate: Annotated[np.ndarray, sim.In("rad/s", shape=3, frame="mount")]
    force: Annotated[Vector, sim.Unit("m/s^2")]
    good: bool = True


class Empty(msgspec.Struct):
    pass


class Nested(msgspec.Struct):
    inner: Imu


class Reserved(msgspec.Struct):
    dt: float


class Sized(msgspec.Struct):
    x: Annotated[np.ndarray, sim.In("m", shape=lambda p: p.n)]


class Sensor(sim.Component):
    w = sim.In("rad/s", shape=3)
    a = sim.In("m/s^2")

    @sim.output(bundle=Imu)
    def imu(w, a):
        """What is measured."""
        return Imu(2.0 * w, (a, 0.0, -a))


class Reader(sim.Component):
    imu = sim.In(bundle=Imu, default=Imu(np.ones(3), (1.0, 2.0, 3.0)))

    @sim.output("rad/s")
    def first(imu_rate):
        return imu_rate[..., 0]


def test_fields_are_ports_with_unit_shape_dtype_and_frame():
    face = Reader.interface
    assert list(face.inputs) == ["imu_rate", "imu_force", "imu_good"]
    assert dict(face.bundles) == {"imu": ("rate", "force", "good")}
    assert [x.signal(None) for x in face.inputs.values()] == [
        ((3,), "rad/s", "mount", float),
        ((3,), "m/s^2", None, float),
        ((), None, None, bool),
    ]
    assert face.inputs["imu_force"].default == (1.0, 2.0, 3.0)
    assert repr(face.inputs["imu_force"]) == "<In Reader.imu_force>"
    assert face.outputs["first"].arguments == ("imu_rate",)


def test_an_output_gives_the_struct_and_each_field_is_an_output():
    face, w = Sensor.interface, np.array([1.0, 2.0, 3.0])
    assert list(face.outputs) == ["imu_rate", "imu_force", "imu_good"]
    assert {x.arguments for x in face.outputs.values()} == {("w", "a")}
    assert Sensor.imu(w, 4.0) == Imu(pytest.approx(2.0 * w), (4.0, 0.0, -4.0))
    assert np.array_equal(face.outputs["imu_force"](w, 4.0), [4.0, 0.0, -4.0])
    batch = face.outputs["imu_force"](np.ones((2, 3)), np.array([4.0, 5.0]))
    assert np.array_equal(batch, [[4.0, 0.0, -4.0], [5.0, 0.0, -5.0]])
    assert str(sim.check_component(Sensor())) == "Sensor: 3 equations are pure, of their shapes, and take a batch"


def test_a_class_that_derives_has_the_bundle():
    derived = type("Derived", (Reader,), {})
    assert derived.interface.bundles == Reader.interface.bundles
    assert list(derived.interface.inputs) == ["imu_rate", "imu_force", "imu_good"]


def test_the_fingerprint_sees_the_equation_of_a_bundle():
    def made(function):
        return type("Sensor", (sim.Component,), {"a": sim.In(), "imu": sim.output(bundle=Imu)(function)})()

    def level(a):
        return Imu(np.zeros(3), (a, 0.0, 0.0))

    def tilted(a):
        return Imu(np.zeros(3), (a, 1.0, 0.0))

    tilted.__name__ = "level"
    assert class_fingerprint(made(level)) == class_fingerprint(made(level))
    assert class_fingerprint(made(level)) != class_fingerprint(made(tilted))


def declared(**members):
    return lambda: type("Part", (sim.Component,), members)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: sim.In(bundle=3), r"the bundle of an input is a class of msgspec.Struct, got 3\."),
        (
            lambda: sim.In("m", bundle=Imu),
            r"an input with bundle=Imu has no unit=: its fields have theirs\.",
        ),
        (lambda: sim.In(bundle=Imu, of="velocity"), r"an input with bundle=Imu has no of="),
        (lambda: sim.output(bundle=Imu, to="force"), r"an output with bundle=Imu has no to="),
        (lambda: sim.In(bundle=Imu, default=0.0), r"the default of a bundle is a Imu, got 0\.0\."),
        (declared(x=sim.In(bundle=Empty)), r"the bundle 'x' of Part has no fields\."),
        (declared(x=sim.In(bundle=Nested)), r"'inner' of the bundle 'x' of Part is float, int or bool, or a tuple"),
        (declared(x=sim.In(bundle=Reserved)), r"the bundle 'x' of Part has 'dt', which is no name of a port\."),
        (declared(x=sim.In(bundle=Sized)), r"'x' of the bundle 'x' of Part has a function of parameters, and a bundle"),
        (
            declared(x=sim.In(bundle=Imu), x_rate=sim.In()),
            r"'x_rate' of Part is declared twice: by itself, and as a field",
        ),
        (declared(noise=sim.In(bundle=Imu)), r"'noise' of Part is a reserved name; give the quantity another one\."),
        (
            declared(x=sim.In(bundle=Imu), y=sim.output()(lambda x: x)),
            r"takes the bundle 'x': let it take what it needs of x_rate, x_force, x_good\.",
        ),
        (
            lambda: sim.output(bundle=Imu)(lambda noise: noise),
            r"takes noise, which has the shape of one output: write an",
        ),
    ],
)
def test_refusals(make, why):
    with pytest.raises(WiringError, match=why):
        make()


def test_a_struct_of_names_that_cannot_be_found_is_refused():
    class Local(msgspec.Struct):
        x: Unknown  # noqa: F821

    with pytest.raises(
        WiringError, match="it: name 'Unknown' is not defined; define Local and what it names at the top"
    ):
        read_bundle(Local, "it")


def test_an_output_that_is_no_struct_is_refused():
    part = type("Part", (sim.Component,), {"a": sim.In(), "imu": sim.output(bundle=Imu)(lambda a: a)})
    part.imu.name = "imu"
    with pytest.raises(WiringError, match=r"the output 'imu' gives 1\.0, and a Imu is declared\."):
        part.interface.outputs["imu_rate"](1.0)

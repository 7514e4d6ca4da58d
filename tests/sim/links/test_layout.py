"""The bytes of a bundle: read back, refused when they are not those of a packet, and the same in C."""

from __future__ import annotations

import struct
import subprocess
import zlib
from typing import Annotated

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries

from soacraft import sim
from soacraft.errors import WiringError
from soacraft.sim.links.layout import BadPacketError, Layout
from soacraft.sim.links.ports import Linked

BUNDLE = {"angle": "rad", "on": sim.In(dtype=bool, shape=3), "count": sim.In(dtype=int), "R": sim.In("", shape=(2, 2))}
VALUES = (0.25, np.array([True, False, True]), -7, np.array([[1.0, 2.0], [3.0, 4.0]]))


def test_the_bytes_are_those_of_the_table():
    """Written by hand from the table in the module."""
    data = Layout("all", BUNDLE).pack(9, -5, VALUES)
    assert len(data) == 32 + 8 + 8 + 8 + 32
    assert data[:4] == b"SOA1"
    assert struct.unpack_from("<I", data, 4)[0] == zlib.crc32(data[8:])
    assert struct.unpack_from("<IQq", data, 12) == (len(data), 9, -5)
    assert struct.unpack_from("<d3B5xq4d", data, 32) == (0.25, 1, 0, 1, -7, 1.0, 2.0, 3.0, 4.0)


class Sensors(msgspec.Struct):
    angle: Annotated[float, sim.Unit("rad")]
    gyro: Annotated[tuple[float, float, float], sim.Unit("rad/s")]
    on: bool
    count: int


class Named(msgspec.Struct):
    text: str


def test_a_struct_is_a_bundle():
    same = {"angle": "rad", "gyro": sim.In("rad/s", shape=3), "on": sim.In(dtype=bool), "count": sim.In(dtype=int)}
    a, b = Layout("x", Sensors), Layout("x", same)
    assert a.signals == b.signals
    assert (a.mark, a.size, a.offsets) == (b.mark, b.size, b.offsets)
    with pytest.raises(WiringError, match="'text' of the bundle 'x' is float, int or bool, or a tuple of one of them"):
        Layout("x", Named)


def test_a_packet_is_read_back():
    layout = Layout("all", BUNDLE)
    sequence, ns, values = layout.unpack(layout.pack(9, -5, VALUES))
    assert (sequence, ns) == (9, -5)
    for x, y in zip(values, VALUES, strict=True):
        assert np.array_equal(x, y)
        assert np.shape(x) == np.shape(y)
    assert values[1].dtype == bool


def test_what_is_no_packet_is_refused_by_kind():
    layout, other = Layout("all", BUNDLE), Layout("all", {**BUNDLE, "angle": "deg"})
    good = layout.pack(9, -5, VALUES)

    def kind(data: bytes) -> str:
        with pytest.raises(BadPacketError) as wrong:
            layout.unpack(data)
        return wrong.value.kind

    assert kind(good[:-1]) == kind(b"") == kind(good + b"x") == "length"
    assert kind(b"x" + good[1:]) == "magic"
    assert kind(good[:40] + bytes([good[40] ^ 1]) + good[41:]) == "crc"
    assert kind(other.pack(9, -5, VALUES)) == "layout"
    assert kind(layout.pack(9, -5, (float("nan"), *VALUES[1:]))) == "value"


@given(st.binary(min_size=40, max_size=40), st.integers(0, 39), st.integers(1, 255))
@tries(50)
def test_any_other_byte_is_refused(garbage, at, flip):
    layout = Layout("x", {"x": "m"})
    good = bytearray(layout.pack(3, 4, (1.5,)))
    good[at] ^= flip
    for data in (garbage, bytes(good)):
        with pytest.raises(BadPacketError):
            layout.unpack(data)


C = """
#include <stdio.h>
#include <stddef.h>
int main(void) {
    all_t x;
    if (sizeof x != ALL_SIZE || fread(&x, 1, sizeof x, stdin) != sizeof x) return 1;
    if (x.magic != ALL_MAGIC || x.layout != ALL_LAYOUT || x.size != ALL_SIZE) return 2;
    uint32_t crc = 0xFFFFFFFFu;
    const uint8_t *p = (const uint8_t *)&x;
    for (size_t i = 8; i < sizeof x; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++) crc = (crc >> 1) ^ (0xEDB88320u & -(crc & 1u));
    }
    if (~crc != x.crc) return 3;
    printf("%llu %lld %.17g %d%d%d %lld %g %g", (unsigned long long)x.sequence, (long long)x.time_ns, x.angle, x.on[0],
           x.on[1], x.on[2], (long long)x.count, x.R[0][1], x.R[1][0]);
    return 0;
}
"""


def test_c_reads_the_struct_that_is_printed(tmp_path):
    layout, source, program = Layout("all", BUNDLE), tmp_path / "read.c", tmp_path / "read"
    source.write_text(f"{layout.to_c()}\n{C}")
    subprocess.run(["cc", "-Wall", "-Werror", "-o", program, source], check=True, timeout=30)
    done = subprocess.run([program], input=layout.pack(9, -5, VALUES), capture_output=True, timeout=10)
    assert (done.returncode, done.stdout.decode()) == (0, "9 -5 0.25 101 -7 2 3")


@pytest.mark.parametrize(
    ("bundle", "text"),
    [
        (["x"], "the bundle 'x' is a mapping from names to units"),
        ({"t": "s"}, "the bundle 'x' has 't', which is no name of a port"),
        ({"a b": "s"}, "the bundle 'x' has 'a b', which is no name of a port"),
        ({"a": 3}, "'a' of the bundle 'x' is a unit, or a declaration"),
        ({"a": sim.In(shape=0)}, "'a' of the bundle 'x' has no elements"),
        ({"a": sim.In(shape=10_000)}, "the bundle 'x' takes 80032 bytes, and a packet has 65000 at most"),
        ({"a": "nonsense"}, "nonsense"),
    ],
)
def test_a_bundle_that_is_none_is_refused(bundle, text):
    with pytest.raises(WiringError, match=text):
        Layout("x", bundle)


class Framed(msgspec.Struct):
    push: Annotated[np.ndarray, sim.In("N", shape=3, frame="arm:hand")]


def test_the_inputs_of_a_link_keep_the_frame_of_their_field():
    s = sim.System("s", integrator="rk4", step=0.1)
    body = {"y": sim.output("N", shape=3, frame="inertial")(lambda t: np.zeros(3))}
    s.add("a", type("Source", (sim.Component,), body)())
    s.add("link", Linked("link", Framed, {"y": "N"}), every=0.1)
    s.connect("a.y", "link.push")
    with pytest.raises(WiringError, match=r"'a.y' -> 'link.push': axes of 'inertial' are not those of 'arm:hand'"):
        s.check()


def test_c_has_every_field_where_the_packet_has_it(tmp_path):
    """Small fields one behind the other, and at the end: the compiler would put them closer together."""
    on = sim.In(dtype=bool)
    layout = Layout("small", {"a": on, "b": sim.In(dtype=bool, shape=3), "c": on, "x": "m", "d": on})
    places = "".join(f'_Static_assert(offsetof(small_t, {x}) == {at}, "{x}");\n' for x, at in layout.offsets.items())
    source = tmp_path / "small.c"
    source.write_text(f'{layout.to_c()}\n#include <stddef.h>\n{places}'
                      f'_Static_assert(sizeof(small_t) == {layout.size}, "size");\n')  # fmt: skip
    subprocess.run(["cc", "-Wall", "-Werror", "-fsyntax-only", source], check=True, timeout=30)
    assert layout.offsets == {"a": 32, "b": 40, "c": 48, "x": 56, "d": 64}

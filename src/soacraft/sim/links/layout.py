"""The bytes of a bundle of signals: little-endian, at fixed places, with sequence number, time and check sum.

offset   0  uint32   magic      0x31414F53, "SOA1"
         4  uint32   crc        CRC-32 (IEEE 802.3, as of zlib) of all that follows
         8  uint32   layout     CRC-32 of the text of the fields: another bundle is refused
        12  uint32   size       of all, in bytes
        16  uint64   sequence
        24  int64    time       in nanoseconds
        32           fields: double, int64_t, or uint8_t (bool), each from a multiple of 8 on
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import isfinite
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from soacraft.errors import WiringError
from soacraft.markup import Text
from soacraft.sim.components.bundles import Bundle, read_bundle
from soacraft.sim.components.declarations import Signal

MAGIC = 0x31414F53
_HEADER = struct.Struct("<IIIIQq")
#: A packet is one datagram at most.
LARGEST = 65_000
_CODES = {float: ("d", "double", 8), int: ("q", "int64_t", 8), bool: ("?", "uint8_t", 1)}


class BadPacketError(Exception):
    """Bytes that are no packet of a layout; `kind` is a word for it."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Packet(NamedTuple):
    """Contents of a packet."""

    sequence: int
    ns: int
    values: tuple[Any, ...]


class Layout:
    """The places of a bundle in a packet.

    >>> from soacraft import sim
    >>> layout = Layout("sensors", {"angle": "rad", "gyro": sim.In("rad/s", shape=3)})
    >>> data = layout.pack(7, 1_000_000, (0.5, np.array([1.0, 2.0, 3.0])))
    >>> len(data), layout.unpack(data).sequence, layout.unpack(data).values[0]
    (64, 7, 0.5)
    """

    def __init__(self, name: str, bundle: Bundle) -> None:
        self._made_of = name, bundle
        self.name = name
        self.signals: dict[str, Signal] = {
            key: x.signal(None) for key, x in read_bundle(bundle, f"the bundle {name!r}").items()
        }
        self.offsets: dict[str, int] = {}
        code, at = "<", _HEADER.size
        for key, signal in self.signals.items():
            letter, _, width = _CODES[signal.dtype]
            size = width * int(np.prod(signal.shape, dtype=int))
            self.offsets[key] = at
            pad = -size % 8
            code += f"{size // width}{letter}{f'{pad}x' if pad else ''}"
            at += size + pad
        self.size = at
        if at > LARGEST:
            raise WiringError(f"the bundle {name!r} takes {at} bytes, and a packet has {LARGEST} at most; divide it.")
        self._body = struct.Struct(code)
        self._shapes = [x.shape for x in self.signals.values()]
        listed = [f"{key} {x.dtype.__name__} {x.shape} {x.unit or ''}" for key, x in self.signals.items()]
        self.mark = crc32("\n".join(listed).encode())
        """Check sum of the fields: names, types, shapes and units."""

    @property
    def format(self) -> str:
        """The fields alone, as `struct` knows them."""
        return self._body.format

    def body(self, values: Sequence[Any]) -> bytes:
        """The fields alone."""
        flat: list[Any] = []
        for x, shape in zip(values, self._shapes, strict=True):
            if shape:
                flat += np.asarray(x).ravel().tolist()
            else:
                flat.append(x)
        return self._body.pack(*flat)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._made_of

    def pack(self, sequence: int, ns: int, values: Sequence[Any]) -> bytes:
        """A packet."""
        return self.frame(sequence, ns, self.body(values))

    def frame(self, sequence: int, ns: int, body: bytes) -> bytes:
        """A packet of fields that are packed already."""
        rest = _HEADER.pack(0, 0, self.mark, self.size, sequence, ns)[8:] + body
        return struct.pack("<II", MAGIC, crc32(rest)) + rest

    def unpack(self, data: bytes | bytearray | memoryview) -> Packet:
        """Contents of a packet; `BadPacketError` for bytes that are none."""
        if len(data) != self.size:
            raise BadPacketError("length", f"{len(data)} bytes, and {self.name!r} has {self.size}")
        magic, crc, mark, size, sequence, ns = _HEADER.unpack_from(data)
        if magic != MAGIC:
            raise BadPacketError("magic", f"it begins with {magic:#010x}, and a packet with {MAGIC:#010x}")
        if crc != crc32(data[8:]):
            raise BadPacketError("crc", "its check sum is wrong")
        if mark != self.mark or size != self.size:
            raise BadPacketError("layout", f"it is of another bundle than {self.name!r}")
        return Packet(sequence, ns, self.fields(data[_HEADER.size :]))

    def fields(self, body: bytes | bytearray | memoryview) -> tuple[Any, ...]:
        """The values of the fields; `BadPacketError` where one is not finite."""
        flat, at, values = self._body.unpack(body), 0, []
        for (key, signal), shape in zip(self.signals.items(), self._shapes, strict=True):
            count = int(np.prod(shape, dtype=int))
            part = flat[at : at + count]
            at += count
            if signal.dtype is float and not all(map(isfinite, part)):
                raise BadPacketError("value", f"{key!r} of {self.name!r} is not finite")
            values.append(np.array(part, dtype=signal.dtype).reshape(shape) if shape else part[0])
        return tuple(values)

    def zeros(self) -> tuple[Any, ...]:
        """Values that are all zero."""
        return tuple(np.zeros(x.shape, x.dtype) if x.shape else x.dtype(0) for x in self.signals.values())

    def to_c(self) -> Text:
        """The layout as a struct in C, for a machine that is little-endian.

        >>> print(Layout("wheel", {"speed": "rad/s"}).to_c())
        #include <stdint.h>
        <BLANKLINE>
        #define WHEEL_MAGIC 0x31414F53u
        #define WHEEL_LAYOUT 0x437A235Cu
        #define WHEEL_SIZE 40u
        <BLANKLINE>
        typedef struct {
            uint32_t magic;
            uint32_t crc;        /* CRC-32 (zlib) of the bytes from offset 8 on */
            uint32_t layout;
            uint32_t size;
            uint64_t sequence;
            int64_t time_ns;
            double speed;        /* [rad/s] */
        } wheel_t;
        """
        name = "".join(x if x.isalnum() and x.isascii() else "_" for x in self.name)
        lines = [
            "#include <stdint.h>",
            "",
            f"#define {name.upper()}_MAGIC 0x{MAGIC:08X}u",
            f"#define {name.upper()}_LAYOUT 0x{self.mark:08X}u",
            f"#define {name.upper()}_SIZE {self.size}u",
            "",
            "typedef struct {",
            "    uint32_t magic;",
            "    uint32_t crc;        /* CRC-32 (zlib) of the bytes from offset 8 on */",
            "    uint32_t layout;",
            "    uint32_t size;",
            "    uint64_t sequence;",
            "    int64_t time_ns;",
            *self.c_fields(),
            f"}} {name}_t;",
        ]
        return Text("\n".join(lines))

    def c_fields(self) -> list[str]:
        """The fields as members of a struct in C."""
        lines = []
        for i, (key, signal) in enumerate(self.signals.items()):
            _, kind, width = _CODES[signal.dtype]
            count = int(np.prod(signal.shape, dtype=int))
            size = f"[{']['.join(map(str, signal.shape))}]" if signal.shape else ""
            unit = f"        /* [{signal.unit}] */" if signal.unit else ""
            lines.append(f"    {kind} {key}{size};{unit}")
            if -(count * width) % 8:
                lines.append(f"    uint8_t pad_{i}[{-(count * width) % 8}];")
        return lines

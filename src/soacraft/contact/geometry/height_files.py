"""Reading heights from files: grey images (PNG) and MuJoCo's binary format."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from soacraft.errors import ModelFileError
from soacraft.spatial.checks import Array

Bytes = npt.NDArray[np.uint8]

#: More heights than this are refused.
MOST = 1_000_000
#: A larger file is refused.
LARGEST = 64 * 2**20
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
#: Values of a pixel by the colour type of PNG: grey, red-green-blue, palette, and the first two with transparency.
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def read_heights(path: Path, name: str) -> Array:
    """Heights of a file in its own units, (rows, columns), rows along y: of a PNG the first channel, its lowest line
    first; of any other file int32 rows and columns, then float32 heights, as MuJoCo has them."""
    size = path.stat().st_size
    if size > LARGEST:
        raise ModelFileError(f"height field {name!r} has {size} bytes, and {LARGEST} is the most; make it coarser.")
    data = path.read_bytes()
    try:
        heights = _png(data)[::-1] if data.startswith(_SIGNATURE) else _binary(data)
    except (ValueError, struct.error, zlib.error, IndexError) as problem:
        raise ModelFileError(f"height field {name!r} cannot be read: {problem}") from None
    if min(heights.shape) < 2 or not np.isfinite(heights).all():
        raise ModelFileError(f"height field {name!r} must have at least 2 x 2 heights that are finite.")
    return heights


def _binary(data: bytes) -> Array:
    rows, columns = struct.unpack_from("<ii", data)
    _require_few(rows, columns)
    if len(data) != 8 + 4 * rows * columns:
        raise ValueError(f"it has {len(data)} bytes, and {rows} x {columns} heights need {8 + 4 * rows * columns}")
    return np.frombuffer(data, dtype="<f4", offset=8).astype(np.float64).reshape(rows, columns)


def _require_few(rows: int, columns: int) -> None:
    if rows < 1 or columns < 1 or rows * columns > MOST:
        raise ValueError(f"it has {rows} x {columns} heights; 1 to {MOST} are read")


def _png(data: bytes) -> Array:
    """The first channel of an image, as numbers from 0 to 255, top line first (PNG, ISO 15948)."""
    columns, rows, depth, kind, _, _, interlaced = struct.unpack_from(">IIBBBBB", data, 16)
    _require_few(rows, columns)
    if kind not in _CHANNELS or depth not in (1, 2, 4, 8, 16) or interlaced:
        raise ValueError("its kind of PNG is not read; save it in grey, with 8 bits and without interlacing")
    bits = depth * _CHANNELS[kind]
    width, back = -(-bits * columns // 8), max(1, bits // 8)
    chunks = _chunks(data)
    inflate = zlib.decompressobj()
    raw = inflate.decompress(chunks.get(b"IDAT", b""), rows * (width + 1))
    if len(raw) != rows * (width + 1):
        raise ValueError("it is cut short")
    lines = _unfiltered(np.frombuffer(raw, dtype=np.uint8).reshape(rows, width + 1), back)
    if depth >= 8:
        first = lines[:, :: depth // 8 * _CHANNELS[kind]]  # of 16 bits the high byte
    else:
        parts = [(lines >> (8 - depth * (i + 1))) & (2**depth - 1) for i in range(8 // depth)]
        first = np.stack(parts, axis=-1).reshape(rows, -1)[:, :columns]
        first = first if kind == 3 else first * (255 // (2**depth - 1))
    if kind == 3:
        first = np.frombuffer(chunks.get(b"PLTE", b""), dtype=np.uint8)[::3][first]
    return first.astype(np.float64)


def _chunks(data: bytes) -> dict[bytes, bytes]:
    """The contents of the chunks of a PNG by their names, those of one name joined."""
    parts: dict[bytes, list[bytes]] = {}
    at = len(_SIGNATURE)
    while at + 8 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        parts.setdefault(data[at + 4 : at + 8], []).append(data[at + 8 : at + 8 + length])
        at += 12 + length
    return {name: b"".join(each) for name, each in parts.items()}


def _unfiltered(lines: Bytes, back: int) -> Bytes:
    """The bytes of the lines without the prediction that the first byte of each names; `back` is a pixel."""
    rows, width = lines.shape[0], lines.shape[1] - 1
    out = np.zeros((rows + 1, width), dtype=np.uint8)
    for i, line in enumerate(lines):
        kind, above = int(line[0]), out[i]
        out[i + 1] = _unpredicted(kind, line[1:], above, back)
    return out[1:]


def _unpredicted(kind: int, line: Bytes, above: Bytes, back: int) -> Bytes:
    """One line: as it is (0), or less its left (1), its upper (2), their mean (3) or the nearest to their plane (4)."""
    if kind == 0:
        return line
    if kind == 2:
        return line + above
    if kind == 1:
        out = line.copy()
        for k in range(back):
            out[k::back] = np.cumsum(line[k::back], dtype=np.uint8)
        return out
    if kind not in (3, 4):
        raise ValueError(f"a line has the filter {kind}, which PNG does not know")
    up, now = above.tolist(), line.tolist()
    for i, x in enumerate(now):
        left, over = (now[i - back], up[i - back]) if i >= back else (0, 0)
        now[i] = (x + ((left + up[i]) // 2 if kind == 3 else _paeth(left, up[i], over))) & 255
    return np.array(now, dtype=np.uint8)


def _paeth(left: int, up: int, over: int) -> int:
    """The nearest to left + up - over of three neighbours."""
    plane = left + up - over
    a, b, c = abs(plane - left), abs(plane - up), abs(plane - over)
    return left if a <= b and a <= c else up if b <= c else over

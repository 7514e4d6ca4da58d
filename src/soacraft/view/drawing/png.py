"""PNG files from pixels, with Python's own zlib."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt


def png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """The bytes of a PNG file (RFC 2083) of pixels (rows, columns, 3), or (rows, columns, 4) with their opacity.

    >>> png(np.zeros((1, 2, 3), dtype=np.uint8))[:8]
    b'\\x89PNG\\r\\n\\x1a\\n'
    """
    rows, columns, channels = pixels.shape
    # each row begins with its filter: 2 is "as the row above", which packs flat areas well
    differences = np.diff(pixels.reshape(rows, -1), axis=0, prepend=np.zeros((1, channels * columns), dtype=np.uint8))
    lines = np.concatenate([np.full((rows, 1), 2, dtype=np.uint8), differences], axis=1)
    head = struct.pack(">IIBBBBB", columns, rows, 8, 2 if channels == 3 else 6, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, *zip(*parts, strict=True)))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

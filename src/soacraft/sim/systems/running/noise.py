"""Noise that depends on the seed, the component and the number of the draw alone.

Philox is a function of a key and a counter (Salmon and others 2011): the key is made of seed, path and equation, the
counter of the tick. So adding or re-ordering components changes no other draw, and a tick can be repeated.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np

from soacraft.spatial.checks import Array

#: Ticks that are drawn together.
_TOGETHER = 256


class Stream:
    """Standard normal numbers of one equation of one component, those of draw k.

    >>> a = Stream(7, "imu.rate", (3,))
    >>> bool((a.at(1000) == Stream(7, "imu.rate", (3,)).at(1000)).all())
    True
    """

    def __init__(self, seed: int, name: str, shape: tuple[int, ...]) -> None:
        digest = blake2b(f"{seed}:{name}".encode(), digest_size=16).digest()
        self._key = np.frombuffer(digest, dtype=np.uint64)
        self._shape, self._block = shape, -1
        self._drawn: Any = None

    def at(self, k: int) -> float | Array:
        """Numbers of draw k: a number, or an array of the shape."""
        block, row = divmod(k, _TOGETHER)
        if block != self._block:
            generator = np.random.Generator(np.random.Philox(key=self._key, counter=[0, block, 0, 0]))
            drawn = generator.standard_normal((_TOGETHER, *self._shape))
            self._drawn, self._block = (drawn if self._shape else drawn.tolist()), block
        return self._drawn[row]  # type: ignore[no-any-return]

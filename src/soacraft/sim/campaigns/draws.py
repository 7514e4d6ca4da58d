"""Numbers that depend on a seed, a name and the number of a run alone.

Philox is a function of a key and a counter (Salmon and others 2011): the key is made of seed and name, the counter is
the number of the run. Bits are taken as they are, so that no version of a generator changes them.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from soacraft.spatial.checks import Array

#: Numbers of one value of the counter.
_LANES = 4


def philox(seed: int, name: str, counter: int = 0) -> np.random.Philox:
    """The bits of a seed and a name, from a value of the counter on."""
    key = np.frombuffer(blake2b(f"{seed}:{name}".encode(), digest_size=16).digest(), dtype=np.uint64)
    return np.random.Philox(key=key, counter=[counter, 0, 0, 0])


def bits(seed: int, name: str, count: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Random whole numbers of 64 bits that belong to a name."""
    return np.asarray(philox(seed, name).random_raw(count), dtype=np.uint64)


def uniforms(seed: int, name: str, first: int, count: int, width: int) -> Array:
    """Numbers in the open interval (0, 1), (count, width): rows are those of runs first, first + 1, ...

    >>> some = uniforms(7, "wind.x", 0, 1000, 2)
    >>> bool((uniforms(7, "wind.x", 417, 1, 2)[0] == some[417]).all())
    True
    """
    parts = []
    for lane in range(-(-width // _LANES)):
        raw = np.asarray(philox(seed, f"{name}:{lane}", first).random_raw(_LANES * count), dtype=np.uint64)
        parts.append(raw.reshape(count, _LANES))
    integers = np.concatenate(parts, axis=1)[:, :width] if parts else np.zeros((count, 0), dtype=np.uint64)
    return ((integers >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53


def seed_of(seed: int, run: int) -> int:
    """The seed of the noise in one run.

    >>> seed_of(7, 3) == seed_of(7, 3) != seed_of(7, 4)
    True
    """
    return int.from_bytes(blake2b(f"{seed}:run:{run}".encode(), digest_size=7).digest(), "little")

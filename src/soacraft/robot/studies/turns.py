"""Even sets of rotations."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.arguments import whole_number
from soacraft.errors import StateError
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.rotations import matrix_to_quaternion, normalize_quaternion

#: Rotations at most.
MOST = 10_000_000
#: The positive root of x^4 = x + 4.
_PSI = 1.533751168755204288118041


def even_turns(count: int) -> Array:
    """Rotations spread evenly, as unit quaternions [x, y, z, w], (count, 4), the same at every call.

        s = i + 1/2,  q = (r sin a, r cos a, R sin b, R cos b),  r^2 = s/n,  R^2 = 1 - s/n,
        a = 2 pi s / sqrt(2),  b = 2 pi s / psi                       (super-Fibonacci spirals, Alexa 2022)

    >>> even_turns(3).shape
    (3, 4)
    """
    n = whole_number(count, "the number of orientations", 1, MOST)
    s = np.arange(n) + 0.5
    r, R = np.sqrt(s / n), np.sqrt(1.0 - s / n)
    a, b = 2.0 * np.pi * s / np.sqrt(2.0), 2.0 * np.pi * s / _PSI
    return np.stack([r * np.sin(a), r * np.cos(a), R * np.sin(b), R * np.cos(b)], axis=1)


def read_turns(orientations: Any) -> Array:
    """Quaternions (k, 4) from a number of even ones, quaternions (k, 4), or matrices (k, 3, 3)."""
    if isinstance(orientations, int | np.integer):
        return even_turns(int(orientations))
    x = finite(orientations, (...,), "orientations", StateError)
    if x.ndim == 3 and x.shape[1:] == (3, 3) and len(x):
        if np.abs(x @ x.mT - np.eye(3)).max() > 1e-6 or (np.linalg.det(x) < 0.0).any():
            raise StateError("orientations as matrices (k, 3, 3) must be rotations.")
        return np.asarray(matrix_to_quaternion(x))
    if x.ndim == 2 and x.shape[1] == 4 and len(x):
        return np.asarray(normalize_quaternion(x, "orientations"))
    raise StateError(f"orientations are a number, quaternions (k, 4) or matrices (k, 3, 3); got shape {x.shape}.")


def nearest_turn(turns: Array, q: Array) -> tuple[Any, Array]:
    """Number of the rotation among `turns` (k, 4) that is nearest to each of q (..., 4), and the angle to it."""
    c = np.abs(np.asarray(q) @ turns.T)
    i = np.argmax(c, axis=-1)
    return i, 2.0 * np.arccos(np.minimum(np.max(c, axis=-1), 1.0))

"""Moments of inertia as MJCF writes them, and the nearest that a body can have."""

from __future__ import annotations

import numpy as np

from soacraft.spatial import Array

_SMALLEST = 1e-6  # of the largest second moment: MuJoCo wants inertias that are positive
_COUNTS = {"diaginertia": 3, "fullinertia": 6}
_ROWS, _COLUMNS = [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]


def moment_of(name: str, text: str) -> Array | None:
    """The matrix of a diagonal (xx yy zz) or full (xx yy zz xy xz yz) inertia; None for what is no such numbers."""
    try:
        x = np.array([float(part) for part in text.split()])
    except ValueError:
        return None
    if len(x) != _COUNTS[name] or not np.isfinite(x).all():
        return None
    J = np.zeros((3, 3))
    rows, columns = _ROWS[: len(x)], _COLUMNS[: len(x)]
    J[rows, columns] = J[columns, rows] = x
    return J


def text_of(name: str, J: Array) -> str:
    """A matrix as the text of an attribute.

    >>> text_of("fullinertia", moment_of("fullinertia", "1 2 3 .1 .2 .3"))
    '1.0 2.0 3.0 0.1 0.2 0.3'
    """
    return " ".join(repr(float(x)) for x in J[_ROWS, _COLUMNS][: _COUNTS[name]])


def nearest_moment(J: Array) -> Array:
    """The moment whose second moments P = tr(J)/2 I - J have no negative part: then its axes meet a + b >= c.

    >>> nearest_moment(np.diag([1.0, 1.0, 5.0])).round(3).tolist()
    [[2.5, 0.0, 0.0], [0.0, 2.5, 0.0], [0.0, 0.0, 5.0]]
    """
    j, U = np.linalg.eigh(J)
    p = 0.5 * j.sum() - j
    p = np.maximum(p, _SMALLEST * max(p.max(), 0.0))
    near = (U * (p.sum() - p)) @ U.T
    return np.asarray(0.5 * (near + near.T))

"""Free flexible bodies as clouds of point masses, drawn by seed, for Exudyn and for us."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

SEEDS = {0: 1, 1: 3, 2: 6}  # the number of modes by seed
STEPS = (1e-6, 1e-7, 1e-8, 1e-9)


class Cloud(NamedTuple):
    """Masses, places (k, 3), shapes (k, 3, n), stiffness, and a state: angles about x, y, z, place, angular velocity
    and velocity in inertial axes, modal coordinates and rates."""

    m: Any
    r: Any
    phi: Any
    K: Any
    angles: Any
    place: Any
    omega: Any
    velocity: Any
    eta: Any
    rate: Any


def drawn(seed: int) -> Cloud:
    """The body of a seed."""
    rng, n, points = np.random.default_rng(seed), SEEDS[seed], 8
    m, r = rng.uniform(0.1, 0.4, points), rng.standard_normal((points, 3))
    phi, X = 0.2 * rng.standard_normal((points, 3, n)), rng.standard_normal((n, n))
    state = (rng.standard_normal(3) for _ in range(4))
    return Cloud(m, r, phi, 20.0 * (X @ X.T + np.eye(n)), *state, *(0.2 * rng.standard_normal(n) for _ in range(2)))

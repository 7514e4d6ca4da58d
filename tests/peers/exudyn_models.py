"""Random trees of bars on pins, as numbers: hinge springs, springs and dampers between points of any two bodies. Read
by the test and by the script that asks Exudyn, so without any of their packages."""

from dataclasses import dataclass

import numpy as np

#: Seconds that the models move, from rest at zero angles.
TIME = 0.5
GRAVITY = (0.3, -9.81, 0.6)


@dataclass(frozen=True)
class Bar:
    """A body whose frame is at its hinge; axes of all frames are alike at the start."""

    parent: int
    at: np.ndarray
    """The hinge in the frame of the parent."""
    axis: np.ndarray
    mass: float
    com: np.ndarray
    moment: np.ndarray
    """Its principal moments about the centre of mass."""
    stiffness: float
    damping: float
    rest: float


@dataclass(frozen=True)
class Link:
    """A spring and damper from a point of one body to one of another; -1 is the ground."""

    a: int
    b: int
    point_a: np.ndarray
    point_b: np.ndarray
    stiffness: float
    length: float
    damping: float


def drawn(seed, count=3):
    """Bars and links; points are in body frames."""
    rng = np.random.default_rng(seed)
    bars, links = [], []
    for k in range(count):
        axis = rng.standard_normal(3)
        bars.append(Bar(int(rng.integers(-1, k)) if k else -1, rng.uniform(-0.5, 0.5, 3), axis / np.linalg.norm(axis),
                        rng.uniform(0.5, 2.0), rng.uniform(-0.3, 0.3, 3), rng.uniform(0.05, 0.08, 3),
                        rng.uniform(0.0, 5.0), rng.uniform(0.0, 0.3), rng.uniform(-0.4, 0.4)))  # fmt: skip
    for _ in range(3):
        a, b = sorted(rng.permutation(count + 1)[:2] - 1)
        links.append(Link(int(a), int(b), rng.uniform(-0.6, 0.6, 3), rng.uniform(-0.6, 0.6, 3),
                          rng.uniform(10.0, 80.0), rng.uniform(0.1, 0.6), rng.uniform(0.0, 3.0)))  # fmt: skip
    return bars, links


def origins(bars):
    """Where the hinges are at the start, in the inertial frame."""
    found: list[np.ndarray] = []
    for bar in bars:
        found.append(bar.at + (found[bar.parent] if bar.parent >= 0 else 0.0))
    return found

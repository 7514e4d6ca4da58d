"""Hinges of every kind with random parameters, and trees of them."""

import numpy as np
from tests.peers.elements import X, Y, Z

import soacraft as sc

GRAVITY = (1.5, -2.0, -9.0)  # askew, so that no axis is spared

# One entry for each kind, and for each special position in which a peer has a joint of its own.
KINDS = {
    "weld": lambda rng: sc.Weld(),
    "pin": lambda rng: sc.Pin(direction(rng)),
    "pin x": lambda rng: sc.Pin(X),
    "pin y": lambda rng: sc.Pin(Y),
    "pin z": lambda rng: sc.Pin(Z),
    "prismatic": lambda rng: sc.Prismatic(direction(rng)),
    "prismatic x": lambda rng: sc.Prismatic(X),
    "prismatic y": lambda rng: sc.Prismatic(Y),
    "prismatic z": lambda rng: sc.Prismatic(Z),
    "helical": lambda rng: sc.Helical(direction(rng), pitch(rng)),
    "helical x": lambda rng: sc.Helical(X, pitch(rng)),
    "helical y": lambda rng: sc.Helical(Y, pitch(rng)),
    "helical z": lambda rng: sc.Helical(Z, pitch(rng)),
    "cylindrical": lambda rng: sc.Cylindrical(direction(rng)),
    "universal": lambda rng: sc.Universal(*apart(rng, 2, 3)),
    "universal, square": lambda rng: sc.Universal(*square(rng)[:2]),
    "gimbal": lambda rng: sc.Gimbal(apart(rng, 3, 3)),
    "gimbal x y z": lambda rng: sc.Gimbal(),
    "gimbal z y x": lambda rng: sc.Gimbal([Z, Y, X]),
    "planar": lambda rng: sc.Planar(),
    "spherical": lambda rng: sc.Spherical(),
    "free": lambda rng: sc.Free(),
    "rolling ball": lambda rng: sc.RollingBall(rng.uniform(0.1, 0.8), direction(rng)),
    "screw": lambda rng: sc.Screws(apart(rng, 1, 6)),
    "two screws": lambda rng: sc.Screws(apart(rng, 2, 6)),
    "three screws": lambda rng: sc.Screws(apart(rng, 3, 6)),
    "slides x y z": lambda rng: sc.Screws([sc.Prismatic(X), sc.Prismatic(Y), sc.Prismatic(Z)]),
    "turns and slides": lambda rng: sc.Screws(turns_and_slides(*apart(rng, 2, 3), *apart(rng, 2, 3))),
}


def tree(kinds, n, seed=0, branching=0.6, bases=1):
    """A random tree of n bodies with hinges of the named kinds, in a random state with velocities and gravity.

    A tree of welds alone would not move: there a pin is drawn too.
    """
    rng = np.random.default_rng(seed)
    names = [*kinds, "pin"] if set(kinds) == {"weld"} else list(kinds)
    drawn = [KINDS[names[i % len(names)]](rng) for i in range(max(n, len(names)))]
    return sc.random_tree(n, seed, drawn, branching, bases, GRAVITY)


def direction(rng):
    """A unit vector."""
    x = rng.standard_normal(3)
    return x / np.linalg.norm(x)


def apart(rng, count, size):
    """Vectors well away from dependence: else the mass matrix is close to singular and no one's digits count."""
    while True:
        rows = rng.standard_normal((count, size))
        units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        if np.linalg.svd(units, compute_uv=False)[-1] > 0.4:
            return rows


def turns_and_slides(slide, slide2, turn, turn2):
    """Slide, turn, slide, turn."""
    return [sc.Prismatic(slide), sc.Pin(turn), sc.Prismatic(slide2), sc.Pin(turn2)]


def pitch(rng):
    """Metres per radian, of either sign."""
    return rng.choice([-1.0, 1.0]) * rng.uniform(0.05, 0.5)


def square(rng):
    """Three unit vectors at right angles."""
    return np.linalg.qr(rng.standard_normal((3, 3)))[0].T

"""Derivatives of distances at aligned shapes: faces and edges that are parallel, middles over middles, equal sizes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.contact.geometry.shapes import convex_mesh
from tests.robot.world.test_queries import hand

import soacraft as sc
from soacraft.contact import Box, Capsule, ConvexHull, Cylinder, Ellipsoid, Plane, Sphere
from soacraft.robot import World

KINDS = ("sphere", "capsule", "box", "cylinder", "ellipsoid", "cuboid", "prism", "wedge", "mesh")
CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
#: Turns between the axes of the shapes.
SQUARE, OBLIQUE = (
    [sc.Pose.from_rpy(*x).rotation for x in itertools.product(angles, repeat=3)]
    for angles in ((0.0, np.pi / 2, np.pi), (0.0, np.pi / 4, np.pi / 3))
)


def drawn(kind, rng, scale):
    x, y, z = scale * rng.choice([0.2, 0.3, 0.4, 0.5, 0.8], 3)
    if kind in ("cuboid", "mesh"):
        return (ConvexHull if kind == "cuboid" else convex_mesh)(CORNERS * (x, y, z))
    if kind == "prism":
        turns = 2.0 * np.pi * np.arange(count := rng.choice([3, 5, 6, 40])) / count
        return ConvexHull([(x * np.cos(t), x * np.sin(t), h) for t in turns for h in (-z, z)])
    if kind == "wedge":
        return ConvexHull([(-x, -y, 0), (-x, y, 0), (x, -y, 0), (x, y, 0), (-x, 0, z), (x, 0, z)])
    makers = {"sphere": (Sphere, x), "capsule": (Capsule, x / 2, y), "cylinder": (Cylinder, x, y)}
    maker, *sizes = makers.get(kind, (Box if kind == "box" else Ellipsoid, x, y, z))
    return maker(*sizes)


def aligned(seed, scale):
    """Two shapes and their poses."""
    rng = np.random.default_rng([7, seed])
    a, b = (drawn(kind, rng, scale) for kind in rng.choice(KINDS, 2))
    if rng.random() < 0.1:
        a = Plane()
    turns = SQUARE if rng.random() < 0.5 else OBLIQUE
    R = turns[rng.integers(len(turns))]
    if rng.random() < 0.25:
        R = sc.Pose.from_rpy(0.0, 0.0, rng.uniform(0.0, 6.0)).rotation @ R
    t = rng.choice([0.0, 0.0, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 1.6], 3) * rng.choice([-1.0, 1.0], 3)
    if rng.random() < 0.4:
        t[rng.integers(3)] = rng.uniform(-2.0, 2.0)
    base = sc.Pose.from_rpy(*rng.uniform(-3.0, 3.0, 3)) if rng.random() < 0.5 else sc.Pose()
    return a, base, b, base @ sc.Pose(R, scale * t)


def kink(w, q, scale, step):
    """The greatest sum of one-sided differences along motions and their opposites, which is zero where there is a
    derivative, and what errors of distances may have made of it."""
    mb, here = w.robot.mb, w.distances(q).numbers[0]
    ways = np.concatenate([np.eye(6), np.random.default_rng(0).normal(size=(6, 6))]) * np.repeat([1.0, scale], 3)
    there = [[w.distances(mb.integrate(q, s * step * x)).numbers[0] for s in (1.0, -1.0)] for x in ways]
    sums = np.sum(there, axis=1)
    errors = sums[:, 10].max() + 2.0 * here[10]
    return np.abs(sums[:, 0] - 2.0 * here[0]).max() / (step * scale), 2.0 * errors / (step * scale)


@pytest.mark.parametrize(("scale", "count"), [(1.0, 400), (1e-6, 100), (1e6, 100)])
def test_aligned_shapes_are_smooth_where_one_sided_differences_agree(scale, count):
    rb, kinks = hand(sc.Free()), 0
    for seed in range(count):
        a, at_a, b, at_b = aligned(seed, scale)
        w = World(rb)
        w.add("still", a, at_a)
        w.add("moves", b, on="hand")
        q = np.array([*at_b.as_quaternion(), *at_b.translation])
        rows = w.distances(q)
        (coarse, _), (middle, _), (fine, noise) = (kink(w, q, scale, step) for step in (1e-4, 1e-5, 1e-6))
        if fine > 2e-3 + noise and fine > 0.3 * middle > 0.09 * coarse:
            kinks += 1
            assert not rows.smooth[0], (seed, a, b)
        elif coarse < 1e-3:
            assert rows.smooth[0], (seed, a, b)
    assert kinks > count // 5


def test_an_edge_of_a_hull_along_an_edge_is_seen_where_a_third_face_looks_more_along_the_normal():
    """The corners that lie over each other were those of the face that looks most along the normal, which need not be
    next to the edge that is nearest."""
    ends = [(x, y, z) for x in (-2.0, 2.0) for y, z in ((-0.05, 2.5), (0.05, 2.5), (-0.2, 0.0), (0.2, 0.0))]
    roof = ConvexHull([(-0.5, 0.0, 3.0), (0.5, 0.0, 3.0), *ends])
    w = World(hand(sc.Free()))
    w.add("still", roof)
    w.add("moves", roof, on="hand")
    at = sc.Pose.from_rpy(np.pi, 0.0, 0.0, (0.3, 0.0, 6.5))
    q = np.array([*at.as_quaternion(), *at.translation])
    assert kink(w, q, 1.0, 1e-6)[0] > 0.1
    assert not w.distances(q).smooth[0]


@pytest.mark.parametrize("part", [1e-2, 1e-4, 1e-5])
def test_small_shapes_are_judged_by_their_own_size(part):
    """A small box that lies parallel to a large one has several nearest points; turned, it has one."""
    w = World(hand(sc.Free()))
    w.add("still", Box(1.0, 1.0, 1.0))
    w.add("moves", Box(part, part, part), on="hand")
    assert not w.distances([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.7]).smooth[0]
    at = sc.Pose.from_rpy(0.1, 0.2, 0.0)
    assert w.distances([*at.as_quaternion(), 0.0, 0.0, 0.7]).smooth[0]

"""Covers hold what they cover, proven here in another way, and stand out by no more than they say."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries

from soacraft.contact import Box, Capsule, ConvexHull, Cylinder, Ellipsoid, Sphere, TriangleMesh
from soacraft.errors import StateError
from soacraft.robot.world.covers import Rounds, cover, prove, sticks_out
from soacraft.robot.world.solids import Solid
from soacraft.robot.world.voxels import Voxels


def ring(big=0.3, small=0.08, n=20, m=10):
    """A torus of triangles."""
    u, v = np.meshgrid(np.arange(n) * 2 * np.pi / n, np.arange(m) * 2 * np.pi / m, indexing="ij")
    far = big + small * np.cos(v)
    points = np.stack([far * np.cos(u), far * np.sin(u), small * np.sin(v)], axis=-1).reshape(-1, 3)
    i, j = (x.ravel() for x in np.meshgrid(np.arange(n), np.arange(m), indexing="ij"))
    a, b, c, d = (((i + p) % n) * m + (j + r) % m for p, r in ((0, 0), (1, 0), (1, 1), (0, 1)))
    return TriangleMesh(points, np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]))


def sheet():
    """An open surface, bent."""
    x, y = np.meshgrid(np.linspace(0, 1, 6), np.linspace(0, 0.6, 4), indexing="ij")
    points = np.stack([x, y, 0.2 * np.sin(3 * x)], axis=-1).reshape(-1, 3)
    k = np.arange(24).reshape(6, 4)
    a, b, c, d = (q.ravel() for q in (k[:-1, :-1], k[1:, :-1], k[1:, 1:], k[:-1, 1:]))
    return TriangleMesh(points, np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]))


SHAPES = {
    "box": Box(0.4, 0.3, 0.1), "sphere": Sphere(0.2), "capsule": Capsule(0.05, 0.3), "cylinder": Cylinder(0.1, 0.3),
    "ellipsoid": Ellipsoid(0.1, 0.15, 0.2), "hull": ConvexHull(np.random.default_rng(1).standard_normal((20, 3)) * 0.1),
    "ring": ring(), "sheet": sheet(), "scan": Voxels(np.random.default_rng(2).uniform(0, 0.2, (8, 3)), 0.05),
}  # fmt: skip


def not_held(rounds, triangles, smallest):
    """How far triangles (n, 3, 3) may be out of balls and capsules: those whose corners are in one of them are in it;
    others are cut in four, until they are small."""
    while True:
        best = np.full(len(triangles), np.inf)
        for i in range(len(rounds)):
            far = rounds.away(i, triangles.reshape(-1, 3)).reshape(-1, 3).max(axis=1)
            best = np.minimum(best, far)
        left = triangles[best > 0.0]
        if not len(left):
            return 0.0
        if np.linalg.norm(left - np.roll(left, 1, axis=1), axis=2).max() < smallest:
            return float(best.max())
        ab, bc, ca = ((left + np.roll(left, -1, axis=1)) / 2.0).transpose(1, 0, 2)
        a, b, c = left.transpose(1, 0, 2)
        cut = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        triangles = np.concatenate([np.stack(x, axis=1) for x in cut])


def points_in(solid, seed, count=4000):
    rng = np.random.default_rng(seed)
    points = rng.uniform(solid.low, solid.high, (count, 3))
    far = solid.distances(points)
    return np.concatenate([points[far <= 0.0], solid.nearest(points), solid.corners()])


@cache
def covered(name, capsules):
    """A solid, how far its cover may stand out, and the cover."""
    solid = Solid(SHAPES[name])
    error = 0.15 * solid.size
    return solid, error, cover(solid, capsules, error, None)


@pytest.mark.parametrize("capsules", [False, True])
@pytest.mark.parametrize("name", SHAPES)
def test_a_cover_holds_the_solid_and_keeps_its_error(name, capsules):
    solid, error, made = covered(name, capsules)
    points = points_in(solid, 0)
    assert len(points) > 400
    least = np.min([made.away(i, points) for i in range(len(made))], axis=0)
    assert least.max() <= 1e-9
    assert made.stands_out(solid) <= error
    rng = np.random.default_rng(1)  # points of the shapes themselves are no farther out than is said
    for a, b, r in zip(made.a, made.b, made.r, strict=True):
        way = rng.standard_normal((50, 3))
        on = a + rng.uniform(0, 1, (50, 1)) * (b - a) + r * way / np.linalg.norm(way, axis=1, keepdims=True)
        assert solid.distances(on).max() <= made.stands_out(solid) + 1e-9
    if capsules:
        return
    assert (made.a == made.b).all()


@pytest.mark.parametrize("name", ["ring", "sheet", "scan"])
def test_triangles_of_a_mesh_are_proven_to_be_inside(name):
    """By cutting the triangles, not the cubes that the cover was proven with: each piece is in one shape."""
    mesh = SHAPES[name]
    for capsules in (False, True):
        solid, _, made = covered(name, capsules)
        assert not_held(made, mesh.vertices[mesh.triangles], 1e-4 * solid.size) <= 1e-9 * solid.size


def test_few_shapes_stand_out_farther_than_many():
    solid = Solid(SHAPES["ring"])
    out = []
    for count in (1, 4, 12):
        made = cover(solid, False, None, count)
        assert len(made) <= count
        points = points_in(solid, 2)
        assert np.min([made.away(i, points) for i in range(len(made))], axis=0).max() <= 1e-9
        out.append(made.stands_out(solid))
    assert out[0] > out[1] > out[2]


def test_the_ball_about_a_box_is_nearly_the_least():
    """One ball about a box has half its diagonal as radius; one capsule about a capsule is that capsule."""
    box = Box(0.4, 0.3, 0.1)
    one = cover(Solid(box), False, None, 1)
    assert 0.5 * np.linalg.norm(box.size) <= one.r[0] < 0.6 * np.linalg.norm(box.size)
    line = cover(Solid(Capsule(0.05, 0.4)), True, 0.02, None)
    assert len(line) == 1
    assert np.linalg.norm(line.b - line.a) == pytest.approx(0.4, abs=0.04)


def test_a_solid_that_sticks_out_is_told_by_how_much_and_mended():
    """A ball of radius 0.9 about a ball of radius 1 leaves 0.1 out; the proof makes it larger by that, and the bound is
    close to it."""
    solid = Solid(Sphere(1.0))
    ball = Rounds(np.zeros((1, 3)), np.zeros((1, 3)), np.array([0.9]))
    assert 0.1 <= sticks_out(solid, ball, 0.04) < 0.18
    mended = prove(solid, ball, 0.04)
    assert 1.0 <= mended.r[0] < 1.08
    assert sticks_out(solid, mended, 0.04) == 0.0
    two = Rounds(np.array([[0.5, 0, 0], [-0.5, 0, 0]]), np.array([[0.5, 0, 0], [-0.5, 0, 0]]), np.array([0.8, 0.8]))
    gap = sticks_out(Solid(Box(1.0, 1.0, 1.0)), two, 0.01)  # the corners of x = 0 are 0.866 away from both
    assert np.sqrt(0.75) - 0.8 <= gap < np.sqrt(0.75) - 0.8 + 0.03


@given(st.integers(0, 10_000), st.sampled_from([1e-3, 1.0, 1e3]))
@tries(3)
def test_covers_do_not_depend_on_units(seed, scale):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((12, 3)) * 0.1
    a = cover(Solid(ConvexHull(points)), True, 0.05, None)
    b = cover(Solid(ConvexHull(points * scale)), True, 0.05 * scale, None)
    assert len(a) == len(b)
    assert np.allclose(b.r, a.r * scale, rtol=1e-6)


def test_the_same_call_gives_the_same_cover():
    a, b = (cover(Solid(SHAPES["ring"]), True, 0.08, None) for _ in range(2))
    assert all((getattr(a, x) == getattr(b, x)).all() for x in "abr")


def test_what_is_refused():
    with pytest.raises(StateError, match=r"error=0.001 m is too small for Box.* is 1 m long: 0.01 m is the least"):
        cover(Solid(Box(1, 1, 1)), False, 0.001, None)
    with pytest.raises(StateError, match=r"stands out by 0.011 m needs more than 1000 shapes: give a larger error="):
        cover(Solid(Box(1, 1, 1)), False, 0.011, None)

"""A world in millimetres answers as the same world in metres."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.robot.world.robots import two_arms

import soacraft as sc
from soacraft.contact import Box, Sphere, TriangleMesh
from soacraft.errors import StateError
from soacraft.robot import World

SCALES = (1e-3, 1e3)
KINDS = ("spheres", "capsules", "box")


def world(scale):
    rb = two_arms(scale)
    w = World(rb)
    w.add("table", Box(0.8 * scale, 1.0 * scale, 0.1 * scale), sc.Pose(translation=np.array([0.5, 0.0, 0.3]) * scale))
    w.add("ball", Sphere(0.2 * scale), sc.Pose(translation=np.array([-0.4, 0.3, 0.8]) * scale))
    corners = np.array([(0, 0, 0), (0.3, 0, 0), (0, 0.3, 0), (0, 0, 0.3)]) * scale
    wedge = TriangleMesh(corners, [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)])
    w.add("wedge", wedge, sc.Pose(translation=np.array([-0.6, -0.6, 0.6]) * scale))
    points = np.random.default_rng(0).uniform(-0.1, 0.1, (50, 3)) + np.array([0.2, -0.6, 0.9])
    w.add_points("scan", points * scale, voxel=0.03 * scale)
    w.pad("left2", 0.02 * scale)
    return w


def configurations(w, scale, count=60):
    """The same draws; those of lengths scaled: the position of the free box."""
    return w.sample(np.random.default_rng(3), count)


@pytest.mark.parametrize("scale", SCALES)
def test_what_touches_and_how_far_things_are(scale):
    a, b = world(1.0), world(scale)
    q, p = configurations(a, 1.0), configurations(b, scale)
    k = a.robot.mb.layout.hinge_q[a.robot.mb.layout.index[a.robot.mb["box"]]]
    lengths = np.ones(q.shape[1])
    lengths[k.start + 4 : k.stop] = scale
    assert np.allclose(p, q * lengths, rtol=1e-9)
    assert a.collides(q).any()
    assert (a.collides(q) == b.collides(p)).all()
    for x, y in zip(q[:8], p[:8], strict=True):
        near, far = a.distances(x, 0.3), b.distances(y, 0.3 * scale)
        assert near.pairs == far.pairs
        assert np.allclose(far.distance, near.distance * scale, rtol=1e-7, atol=1e-9 * scale)
        assert a.touching(x) == b.touching(y)


@cache
def in_metres():
    """Pairs that are allowed, what was touched, and the covers of the table by kind."""
    w = world(1.0)
    allowed, touched = w.make_allowed(samples=150).rows, w.check(samples=100).touched
    return allowed, touched, {kind: w.detail("table", kind) for kind in KINDS}


@pytest.mark.parametrize("scale", SCALES)
def test_pairs_covers_and_room(scale):
    allowed, touched, covers = in_metres()
    b = world(scale)
    assert b.make_allowed(samples=150).rows == allowed
    assert b.check(samples=100).touched == touched
    for kind, one in covers.items():
        other = b.detail("table", kind)
        assert [len(x) for x in one] == [len(x) for x in other]
        assert other[0].stands_out == pytest.approx(scale * one[0].stands_out, rel=1e-6)
        assert other[0].volume_ratio == pytest.approx(one[0].volume_ratio, rel=1e-3)
    b.pad("table", 10.0 * scale)
    with pytest.raises(StateError, match="by the padding of"):
        b.check(samples=50)


@pytest.mark.parametrize("scale", SCALES)
def test_edges(scale):
    a, b = world(1.0), world(scale)
    rng = np.random.default_rng(5)
    q0 = np.array(a.robot.mb.q)
    free = 0
    for _ in range(6):
        dv = rng.uniform(-1.0, 1.0, a.robot.mb.nv)
        k = a.robot.mb.layout.hinge_v[a.robot.mb.layout.index[a.robot.mb["box"]]]
        dv[k] = 0.0
        x = a.edge(q0, a.robot.mb.integrate(q0, dv))
        y = b.edge(b.robot.mb.q, b.robot.mb.integrate(np.array(b.robot.mb.q), dv))
        assert (x.free, x.pair) == (y.free, y.pair)
        assert x.part == pytest.approx(y.part, abs=1e-6)
        free += x.free
    assert free < 6

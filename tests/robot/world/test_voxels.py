"""Scans as cubes: every point is in one, nothing is farther out, and the solid is that of the cubes one by one."""

from __future__ import annotations

import pickle

import fcl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.robot.world.robots import swing
from tests.robot.world.test_covers import ring

import soacraft as sc
from soacraft.contact import Box, Capsule, HeightField, Sphere, distance
from soacraft.errors import ModelError, StateError
from soacraft.robot import World
from soacraft.robot.world.voxels import Voxels


def cloud(seed):
    """Points of a few balls and planes, some exactly on the borders of cubes."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 120))
    points = rng.uniform(-0.1, 0.1, (n, 3)) * rng.choice([0.0, 1.0, 1.0], (n, 3))
    points[: n // 3] = np.round(points[: n // 3] / 0.02) * 0.02
    return points + rng.choice([0.0, 1.0, 1e3]), float(rng.choice([0.02, 0.013, 0.05])), rng


@given(st.integers(0, 10_000))
@tries(30)
def test_every_point_is_in_a_cube_and_no_cube_is_empty(seed):
    points, size, _ = cloud(seed)
    v = Voxels(points, size)
    low, high = v.cells * size, (v.cells + 1) * size
    inside = ((points[:, None] >= low) & (points[:, None] <= high)).all(axis=2)
    assert inside.any(axis=1).all()
    near = ((points[:, None] >= low - 1e-9) & (points[:, None] <= high + 1e-9)).all(axis=2)
    assert near.any(axis=0).all()


@given(st.integers(0, 10_000))
@tries(25)
def test_the_solid_is_that_of_the_cubes(seed):
    """Distances of balls and capsules are the least of those to the cubes one by one; what touches one touches it."""
    points, size, rng = cloud(seed)
    v = Voxels(points, size)
    cube = Box(size, size, size)
    middle = points.mean(axis=0)
    for shape in (Sphere(0.3 * size), Capsule(0.2 * size, 2.0 * size)):
        for _ in range(4):
            turn = rng.standard_normal(4)
            at = sc.Pose.from_quaternion(turn / np.linalg.norm(turn), middle + rng.uniform(-0.2, 0.2, 3))
            want = min(
                distance(shape, at, cube, sc.Pose(translation=(c + 0.5) * size)).distance for c in v.cells
            )
            got = distance(shape, at, v, sc.Pose()).distance
            if want > 0.0:
                assert got == pytest.approx(want, abs=1e-9 * (1.0 + np.abs(middle).max()))
            else:
                assert got <= 1e-12


@given(st.integers(0, 10_000))
@tries(25)
def test_the_surface_is_closed_and_has_the_area_of_the_bare_faces(seed):
    """By Gauss: the volume within the triangles is that of the cubes; their area is that of the faces of one cube."""
    points, size, _ = cloud(seed)
    v = Voxels(points, size)
    x = v.vertices - v.vertices.mean(axis=0)
    a, b, c = (x[v.triangles[:, i]] for i in range(3))
    volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0
    assert volume == pytest.approx(len(v.cells) * size**3, rel=1e-6)
    known = {tuple(c) for c in v.cells}
    steps = [s * e for e in np.eye(3, dtype=int) for s in (-1, 1)]
    bare = sum(tuple(np.array(c) + s) not in known for c in known for s in steps)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2.0
    assert area == pytest.approx(bare * size**2, rel=1e-6)


def test_a_ball_inside_a_block_of_cubes_is_found():
    grid = np.stack(np.meshgrid(*3 * [np.arange(10)]), axis=-1).reshape(-1, 3) * 0.02 + 0.01
    v = Voxels(grid, 0.02)
    assert len(v.triangles) == 12  # faces are merged
    got = distance(Sphere(0.01), sc.Pose(translation=(0.1, 0.1, 0.08)), v, sc.Pose())
    assert got.distance == pytest.approx(-0.09, abs=1e-12)


@given(st.integers(0, 10_000))
@tries(10)
def test_distances_of_scans_meshes_and_ground_are_those_of_fcl(seed):
    """Cubes as boxes one by one, a height field and a mesh that is not convex as its triangles, with a ball."""
    points, size, rng = cloud(seed)
    points = points - points.mean(axis=0)
    v = Voxels(points, size)
    z = rng.uniform(0.0, 0.1, (5, 6))
    ground, heights = HeightField(z, 0.5, 0.4), fcl.BVHModel()
    x, y = np.meshgrid(np.linspace(-0.25, 0.25, 6), np.linspace(-0.2, 0.2, 5))
    k = np.arange(30).reshape(5, 6)
    a, b, c, d = (q.ravel() for q in (k[:-1, :-1], k[:-1, 1:], k[1:, 1:], k[1:, :-1]))
    heights.beginModel(40, 30)
    heights.addSubModel(
        np.stack([x, y, z], axis=-1).reshape(-1, 3), np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    )
    heights.endModel()
    mesh, triangles = ring(), fcl.BVHModel()
    triangles.beginModel(len(mesh.triangles), len(mesh.vertices))
    triangles.addSubModel(np.array(mesh.vertices), np.array(mesh.triangles))
    triangles.endModel()
    cubes = [
        fcl.CollisionObject(fcl.Box(size, size, size), fcl.Transform((c + 0.5) * size)) for c in v.cells.astype(float)
    ]
    for _ in range(4):
        at = rng.uniform(-0.4, 0.4, 3)
        ball = fcl.CollisionObject(fcl.Sphere(0.01), fcl.Transform(at))
        for shape, others in (
            (v, cubes), (ground, [fcl.CollisionObject(heights)]), (mesh, [fcl.CollisionObject(triangles)]),
        ):  # fmt: skip
            want = min(fcl.distance(ball, x, fcl.DistanceRequest(), fcl.DistanceResult()) for x in others)
            got = distance(Sphere(0.01), sc.Pose(translation=at), shape, sc.Pose()).distance
            above = shape is not ground or ((np.abs(at[:2]) < 0.19).all() and at[2] > 0.12)
            if want > 0.0 and got > 0.0 and above:
                assert got == pytest.approx(want, abs=1e-6)
            elif above:
                assert got <= 1e-6


def test_a_scan_is_one_object_with_one_distance():
    rng = np.random.default_rng(0)
    points = rng.uniform(-0.1, 0.1, (3000, 3)) + np.array([0.0, 1.0, 0.0])
    w = World(swing())
    w.add_points("scan", points, voxel=0.02)
    rows = w.distances([0.0])
    assert rows.pairs == [("link/ball", "scan/shape")]
    assert w.collides([np.pi / 2])
    w.move("scan", sc.Pose(translation=(0.0, 0.0, 1.0)))
    assert not w.collides([np.pi / 2])
    again = pickle.loads(pickle.dumps(Voxels(points, 0.02)))
    assert again == Voxels(points, 0.02)


def test_what_is_refused():
    w = World(swing())
    with pytest.raises(StateError, match=r"voxel must be positive, got 0.0"):
        w.add_points("scan", [[0.0, 0.0, 0.0]], voxel=0.0)
    with pytest.raises(StateError, match="a scan has no points"):
        w.add_points("scan", np.zeros((0, 3)))
    with pytest.raises(StateError, match="the points of a scan"):
        w.add_points("scan", [[0.0, np.nan, 0.0]])
    with pytest.raises(StateError, match=r"the points reach over 1e\+10 voxels, .* give a larger voxel than 0.0001 m"):
        w.add_points("scan", [[0.0, 0.0, 0.0], [1e6, 0.0, 0.0]], voxel=1e-4)
    for edge in (1e100, 1e200, 1e308):
        with pytest.raises(ModelError, match=r"a Voxels reaches 1e\+\d+ m from its origin; .* take another unit"):
            w.add_points("scan", [[0.0, 0.0, 0.0]], voxel=edge)
    assert w.objects == ()

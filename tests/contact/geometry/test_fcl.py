"""Distances of shapes that are apart, against python-fcl."""

from __future__ import annotations

import fcl
import numpy as np
import pytest
from tests.contact.geometry.shapes import bumpy_sphere, random_pose, random_shape

from soacraft.contact import TriangleMesh, distance
from soacraft.spatial import Pose

NAMES = {
    "sphere": fcl.Sphere, "capsule": fcl.Capsule, "box": fcl.Box, "cylinder": fcl.Cylinder, "ellipsoid": fcl.Ellipsoid,
}  # fmt: skip
PAIRS = [(a, b) for i, a in enumerate(NAMES) for b in list(NAMES)[i:]]


def fcl_distance(a, at_a: Pose, b, at_b: Pose) -> float:
    objects = [fcl.CollisionObject(x, fcl.Transform(at.rotation, at.translation)) for x, at in ((a, at_a), (b, at_b))]
    request = fcl.DistanceRequest(enable_nearest_points=True)
    return fcl.distance(*objects, request, fcl.DistanceResult())


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_distances_agree_with_fcl(pair):
    """To what its iteration gives, 1e-4 where both are curved."""
    rng = np.random.default_rng(PAIRS.index(pair))
    for _ in range(6):
        a, b = (random_shape(kind, rng) for kind in pair)
        at_a, at_b = random_pose(rng, 0.1), Pose(random_pose(rng, 0).rotation, rng.uniform(1.0, 1.5, 3))
        theirs = fcl_distance(NAMES[a.kind](*a.size), at_a, NAMES[b.kind](*b.size), at_b)
        assert theirs > 0.0
        assert distance(a, at_a, b, at_b).distance == pytest.approx(theirs, abs=1e-4)


def in_fcl(mesh: TriangleMesh):
    made = fcl.BVHModel()
    made.beginModel(len(mesh.vertices), len(mesh.triangles))
    made.addSubModel(mesh.vertices, mesh.triangles)
    made.endModel()
    return made


def test_distances_of_meshes_agree_with_fcl():
    """A bumpy sphere, not convex, and primitives around it."""
    rng, mesh = np.random.default_rng(0), bumpy_sphere()
    theirs = in_fcl(mesh)
    for kind in ("sphere", "box", "capsule"):
        for _ in range(5):
            other, at_a = random_shape(kind, rng), random_pose(rng, 0.1)
            at_b = Pose(random_pose(rng, 0).rotation, rng.choice([-1, 1], 3) * rng.uniform(0.7, 1.2, 3))
            found = distance(mesh, at_a, other, at_b)
            assert found.distance > 0.0
            assert found.distance == pytest.approx(fcl_distance(theirs, at_a, NAMES[kind](*other.size), at_b), abs=1e-5)


def test_distances_of_two_meshes_agree_with_fcl():
    """Its answer is in single digits of its tolerance; in each other both say so."""
    rng, mesh = np.random.default_rng(1), bumpy_sphere()
    theirs, apart, met = in_fcl(mesh), 0, 0
    for _ in range(24):
        at_a, at_b = random_pose(rng, 0.1), Pose(random_pose(rng, 0).rotation, rng.uniform(0.4, 0.9, 3))
        found = distance(mesh, at_a, mesh, at_b)
        peer = fcl_distance(theirs, at_a, theirs, at_b)
        if found.distance > 0.0:
            apart += 1
            assert found.distance == pytest.approx(peer, abs=1e-6)
        else:
            met += 1
            assert peer <= 0.0
    assert apart > 5
    assert met > 5

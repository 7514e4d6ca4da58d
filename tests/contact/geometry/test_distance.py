"""Signed distances, nearest points and normals of every pair of convex shapes."""

from __future__ import annotations

import coal
import numpy as np
import pytest
from tests.contact.geometry.shapes import CONVEX, PAIRS, random_pose, random_shape, separation, unit_vectors

import soacraft as sc
from soacraft.contact import (
    Box,
    Capsule,
    ConvexHull,
    Cylinder,
    Ellipsoid,
    HeightField,
    Nearest,
    Plane,
    Sphere,
    distance,
)
from soacraft.errors import ModelError
from soacraft.spatial import Pose

SPREADS = (1.2, 0.5, 0.2, 0.05)


def at(x: float, y: float, z: float) -> Pose:
    return Pose(translation=(x, y, z))


def cases(pair: tuple[str, str], count: int, seed: int = 0):
    """Random shapes of a pair at random poses, apart, in contact and deep."""
    rng = np.random.default_rng([seed, PAIRS.index(pair)])
    for i in range(count):
        a, b = (random_shape(kind, rng) for kind in pair)
        yield a, random_pose(rng, 0.3), b, random_pose(rng, SPREADS[i % len(SPREADS)]), rng


def judge(a, at_a, b, at_b, found: Nearest, rng) -> None:
    """The distance is attained by the normal, no other direction separates more, and the points fit it."""
    size = a.extent + b.extent
    n = found.normal
    assert np.linalg.norm(n) == pytest.approx(1.0, abs=1e-12)
    assert separation(a, at_a, b, at_b, n[None])[0] == pytest.approx(found.distance, abs=1e-7 * size)
    around = n + np.concatenate([s * rng.normal(size=(60, 3)) for s in (1e-3, 1e-2, 0.1, 1.0)])
    others = np.concatenate([around / np.linalg.norm(around, axis=1)[:, None], unit_vectors(rng, 200)])
    assert separation(a, at_a, b, at_b, others).max() <= found.distance + 1e-9 * size
    between = found.point_b - found.point_a
    assert between == pytest.approx(found.distance * n, abs=1e-5 * size)
    assert float(between @ n) == pytest.approx(found.distance, abs=1e-7 * size)
    for shape, pose, point in ((a, at_a, found.point_a), (b, at_b, found.point_b)):
        off = distance(Sphere(0.0), Pose(translation=point), shape, pose).distance
        assert off == pytest.approx(0.0, abs=1e-5 * size)


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_the_distance_is_the_greatest_separation_over_all_directions(pair):
    """d = max over unit n of -h(n), judged by the support functions written out in the test."""
    for a, at_a, b, at_b, rng in cases(pair, 8):
        judge(a, at_a, b, at_b, distance(a, at_a, b, at_b), rng)


def in_coal(shape):
    if shape.kind == "hull":
        points = coal.StdVec_Vec3s()
        for x in shape.vertices:
            points.append(x)
        return coal.Convex.convexHull(points, False, "")
    if shape.kind == "plane":
        return coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    return {"sphere": coal.Sphere, "capsule": coal.Capsule, "box": coal.Box, "cylinder": coal.Cylinder,
            "ellipsoid": coal.Ellipsoid}[shape.kind](*shape.size)  # fmt: skip


def coal_distance(a, at_a, b, at_b) -> float:
    return coal_nearest(a, at_a, b, at_b)[0]


def coal_nearest(a, at_a, b, at_b) -> tuple[float, np.ndarray]:
    """Distance and normal from a to b."""
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.enable_signed_distance = True
    request.gjk_tolerance = request.epa_tolerance = 1e-9
    request.gjk_max_iterations, request.epa_max_iterations = 500, 200
    places = [coal.Transform3s(x.rotation, x.translation) for x in (at_a, at_b)]
    d = coal.distance(in_coal(a), places[0], in_coal(b), places[1], request, result)
    return d, np.array(result.normal)


#: coal's iteration ends early for curved shapes in penetration, by up to a quarter of their size, or gives no number.
STEADY_IN_COAL = [pair for pair in PAIRS if not {"cylinder", "ellipsoid"} & set(pair)]


@pytest.mark.parametrize("pair", STEADY_IN_COAL, ids="-".join)
def test_distances_agree_with_coal(pair):
    for a, at_a, b, at_b, _ in cases(pair, 16, seed=1):
        found, (theirs, normal) = distance(a, at_a, b, at_b), coal_nearest(a, at_a, b, at_b)
        assert found.distance == pytest.approx(theirs, abs=1e-9)
        if found.distance > 0.0:                  # in penetration several directions may be equally short
            assert found.normal == pytest.approx(normal, abs=1e-6)


@pytest.mark.parametrize("pair", [x for x in PAIRS if x not in STEADY_IN_COAL], ids="-".join)
def test_distances_of_curved_shapes_agree_with_coal_where_they_are_apart(pair):
    seen = 0
    for a, at_a, b, at_b, _ in cases(pair, 16, seed=2):
        found = distance(a, at_a, b, at_b).distance
        if found > 0.05:
            seen += 1
            assert found == pytest.approx(coal_distance(a, at_a, b, at_b), abs=1e-6)
    assert seen > 2


@pytest.mark.parametrize("kind", CONVEX)
def test_a_plane_is_as_far_as_the_lowest_point(kind):
    rng = np.random.default_rng(CONVEX.index(kind))
    for _ in range(20):
        shape, pose, ground = random_shape(kind, rng), random_pose(rng, 0.5), random_pose(rng, 0.5)
        found = distance(Plane(), ground, shape, pose)
        n = ground.rotation[:, 2]
        assert found.normal == pytest.approx(n)
        assert separation(Sphere(0.0), ground, shape, pose, n[None])[0] == pytest.approx(found.distance, abs=1e-12)
        assert found.distance == pytest.approx(coal_distance(Plane(), ground, shape, pose), abs=1e-9)


@pytest.mark.parametrize("pair", [*PAIRS, *(("plane", kind) for kind in CONVEX)], ids="-".join)
def test_the_answer_is_mirrored_when_the_shapes_change_places(pair):
    rng = np.random.default_rng(5)
    for spread in SPREADS:
        a, b = (random_shape(kind, rng) for kind in pair)
        at_a, at_b = random_pose(rng, 0.3), random_pose(rng, spread)
        one, other = distance(a, at_a, b, at_b), distance(b, at_b, a, at_a)
        assert one.distance == other.distance
        assert (one.normal == -other.normal).all()
        assert (one.point_a == other.point_b).all()
        assert (one.point_b == other.point_a).all()


@pytest.mark.parametrize("scale", [1e-59, 1e-6, 1e6, 1e59])
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_no_judgement_depends_on_the_unit_of_length(pair, scale):
    """A power of ten of the unit changes rounding alone."""
    for spread in (0.8, 0.1):
        found = []
        for s in (1.0, scale):
            rng = np.random.default_rng(11)
            a, b = (random_shape(kind, rng, s) for kind in pair)
            at_a, at_b = random_pose(rng, 0.2 * s), random_pose(rng, spread * s)
            found.append(distance(a, at_a, b, at_b))
        assert found[1].distance / scale == pytest.approx(found[0].distance, abs=1e-9)
        assert found[1].normal == pytest.approx(found[0].normal, abs=1e-4)


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_shapes_that_only_just_touch_have_a_normal(pair):
    """Moved along the normal of their nearest points until they touch, or nearly. Corners that touch have many normals:
    any of them separates the shapes by the gap.
    """
    rng = np.random.default_rng(17)
    a, b = (random_shape(kind, rng) for kind in pair)
    at_a, at_b = random_pose(rng, 0.1), Pose(random_pose(rng, 1.0).rotation, (1.6, 1.1, 0.9))
    far = distance(a, at_a, b, at_b)
    assert far.distance > 0.1
    for gap in (1e-6, 1e-10, 1e-14, 0.0, -1e-14, -1e-10, -1e-6):
        near = Pose(at_b.rotation, at_b.translation - (far.distance - gap) * far.normal)
        found = distance(a, at_a, b, near)
        assert min(gap, 0.0) - 2e-12 * (a.extent + b.extent) <= found.distance <= max(gap, 0.0) + 3e-8
        assert separation(a, at_a, b, near, found.normal[None])[0] == pytest.approx(found.distance, abs=3e-8)
        assert np.linalg.norm(found.point_b - found.point_a) <= 1e-6 + abs(gap)
        if gap == 1e-6:
            assert found.normal == pytest.approx(far.normal, abs=1e-4)


def test_closed_forms():
    cases = [
        (Sphere(1.0), at(0, 0, 0), Sphere(0.5), at(3, 0, 0), 1.5, (1, 0, 0)),
        (Sphere(1.0), at(0, 0, 0), Sphere(0.5), at(0, 0.5, 0), -1.0, (0, 1, 0)),
        (Box(2, 4, 6), at(0, 0, 0), Sphere(0.5), at(2, 3, 0), np.sqrt(2) - 0.5, (np.sqrt(0.5), np.sqrt(0.5), 0)),
        (Box(2, 4, 6), at(0, 0, 0), Sphere(0.5), at(0.9, 0, 0), -0.6, (1, 0, 0)),
        (Box(2, 2, 2), at(0, 0, 0), Box(2, 2, 2), at(0.1, 0.2, 1.9), -0.1, (0, 0, 1)),
        (Capsule(0.1, 2.0), at(0, 0, 0), Capsule(0.2, 2.0), at(1, 0, 0.5), 0.7, (1, 0, 0)),
        (Cylinder(1.0, 2.0), at(0, 0, 0), Sphere(0.25), at(0, 0, 1.5), 0.25, (0, 0, 1)),
        (Cylinder(1.0, 2.0), at(0, 0, 0), Sphere(0.25), at(0.8, 0, 0), -0.45, (1, 0, 0)),
        (Ellipsoid(3.0, 2.0, 1.0), at(0, 0, 0), Sphere(0.5), at(0, 0, 2), 0.5, (0, 0, 1)),
        (Ellipsoid(3.0, 2.0, 1.0), at(0, 0, 0), Sphere(0.5), at(0, 0, 0.5), -1.0, (0, 0, 1)),
    ]
    for a, at_a, b, at_b, d, n in cases:
        found = distance(a, at_a, b, at_b)
        assert found.distance == pytest.approx(d, abs=1e-11), (a, b)
        assert found.normal == pytest.approx(n, abs=1e-5), (a, b)


def test_crossing_capsules_are_pushed_apart_across_both():
    turned = Pose.from_rpy(np.pi / 2, 0, 0, (0.0, 0.0, 0.0))
    found = distance(Capsule(0.1, 2.0), at(0, 0, 0), Capsule(0.2, 2.0), turned)
    assert found.distance == pytest.approx(-0.3)
    assert np.abs(found.normal) == pytest.approx([1, 0, 0])


def test_edges_of_boxes_that_cross_touch_where_they_do():
    """An edge along x below, one along y above, both off their middles."""
    low, high = Pose.from_rpy(np.pi / 4, 0, 0), Pose.from_rpy(0, np.pi / 4, 0, (0.3, 0.4, 2 * np.sqrt(2.0) - 0.01))
    found = distance(Box(2, 2, 2), low, Box(2, 2, 2), high)
    assert found.distance == pytest.approx(-0.01, abs=1e-12)
    assert found.point_a == pytest.approx([0.3, 0.0, np.sqrt(2.0)], abs=1e-9)
    assert found.point_b == pytest.approx([0.3, 0.0, np.sqrt(2.0) - 0.01], abs=1e-9)


def test_axes_that_cross_touch_where_they_do():
    """Segments that cross span a flat difference, a centre on an axis a line of points: the depth is the sum of radii,
    across both, at the crossing. Wherever that is on either."""
    rng = np.random.default_rng(5)
    for i in range(12):
        a, b = Capsule(*rng.uniform(0.1, 0.3, 1), 1.0), (Sphere(0.2) if i % 4 == 3 else Capsule(0.2, 0.6))
        world, turn = random_pose(rng, 0.3), Pose.from_rpy(rng.uniform(0.3, 2.8), 0, 0, (0, 0, 0))
        along_a, along_b = rng.uniform(-0.4, 0.4), 0.0 if i % 4 == 3 else rng.uniform(-0.2, 0.2)
        crossing = np.array([0.0, 0.0, along_a])
        inner = Pose(turn.rotation, crossing - turn.rotation @ [0.0, 0.0, along_b])
        at_b = world @ inner
        found = distance(a, world, b, at_b)
        judge(a, world, b, at_b, found, rng)
        assert found.distance == pytest.approx(-(a.size[0] + b.size[0]), abs=1e-9)
        middle = world.rotation @ crossing + world.translation
        assert found.point_a == pytest.approx(middle + a.size[0] * found.normal, abs=1e-6)
        assert found.point_b == pytest.approx(middle - b.size[0] * found.normal, abs=1e-6)


def test_shapes_in_one_place_have_an_answer():
    for a in (Sphere(1.0), Box(1, 1, 1), Capsule(0.2, 1.0), Cylinder(0.5, 1.0), Ellipsoid(0.3, 0.4, 0.5), Sphere(0.0)):
        found = distance(a, Pose(), a, Pose())
        assert np.isfinite(found.distance)
        assert found.distance <= 0.0
        assert np.linalg.norm(found.normal) == pytest.approx(1.0)
        assert separation(a, Pose(), a, Pose(), found.normal[None])[0] == pytest.approx(found.distance, abs=1e-9)


def test_flat_shapes_in_one_plane_touch_in_a_point():
    """A disc and a sheet in one plane, over each other: no thickness, but one point of both."""
    for x, y in ((0.3, 0.2), (0.5, 0.0), (-0.6, 0.4)):
        found = distance(Cylinder(0.5, 0.0), Pose(), Box(0.6, 0.6, 0.0), at(x, y, 0.0))
        assert found.distance == pytest.approx(0.0, abs=1e-12)
        assert np.abs(found.normal) == pytest.approx([0, 0, 1])
        assert found.point_a == pytest.approx(found.point_b, abs=1e-9)
        assert np.hypot(*found.point_a[:2]) <= 0.5 + 1e-9
        assert np.abs(found.point_a[:2] - (x, y)).max() <= 0.3 + 1e-9


def test_lengths_beyond_what_is_handled_are_refused():
    with pytest.raises(ModelError, match=r"a Sphere reaches 1e\+80 m .*; from 1e-60 to 1e\+60 m is handled"):
        Sphere(1e80)
    with pytest.raises(ModelError, match=r"a Box reaches 8.66025e-81 m from its origin.*take another unit of length"):
        Box(1e-80, 1e-80, 1e-80)
    for far in (1e80, 1e160, 1e308):  # squares of the last two are infinite
        told = rf"reaches {0.5 * far:g} m from its origin; from 1e-60 to 1e+60 m is handled".replace("+", r"\+")
        for sizes in ((far, far, far), (1.0, far, 0.0)):
            with pytest.raises(ModelError, match=f"a Box {told}"):
                Box(*sizes)
        with pytest.raises(ModelError, match=f"a HeightField {told}"):
            HeightField(np.zeros((2, 2)), far, 1.0, -1.0)
    with pytest.raises(ModelError, match=r"a HeightField reaches inf m from its origin"):
        HeightField(np.full((2, 2), -1e308), 1e308, 1.0)
    with pytest.raises(ModelError, match=r"a ConvexHull reaches 1e\+100 m"):
        ConvexHull(1e100 * np.concatenate([np.eye(3), [(0, 0, 0)]]))
    for pose in (at(0, 0, 1e200), Pose(translation=[(0, 0, 1e200)])):
        with pytest.raises(ModelError, match=r"a position of a shape is 1e\+200 m from the origin; up to 1e\+60 m"):
            distance(Sphere(1.0), Pose(), Sphere(1.0), pose)


def test_a_batch_is_its_poses_one_by_one():
    rng = np.random.default_rng(2)
    a, b = random_shape("box", rng), random_shape("cylinder", rng)
    R = np.array([random_pose(rng, 0).rotation for _ in range(6)]).reshape(2, 3, 3, 3)
    p = rng.normal(size=(2, 3, 3))
    one = random_pose(rng, 0.2)
    found = distance(a, one, b, Pose(R, p))
    assert found.distance.shape == (2, 3)
    assert found.normal.shape == (2, 3, 3)
    for i in np.ndindex(2, 3):
        assert distance(a, one, b, Pose(R[i], p[i])).distance == found.distance[i]


def test_beyond_within_nothing_is_computed():
    found = distance(Box(1, 1, 1), at(0, 0, 0), Box(1, 1, 1), at(5, 5, 0), within=1.0)
    assert found.distance == np.inf


def test_refusals_name_what_is_wrong():
    with pytest.raises(ModelError, match=r"radius of a Sphere must not be negative, got \(-1,\)"):
        Sphere(-1.0)
    with pytest.raises(ModelError, match="rx and ry and rz of a Ellipsoid must be positive"):
        Ellipsoid(1.0, 0.0, 1.0)
    with pytest.raises(ModelError, match="must be finite, got nan"):
        Box(1.0, float("nan"), 1.0)
    with pytest.raises(ModelError, match=r"two planes have no distance.*make one of them a Box"):
        distance(Plane(), Pose(), Plane(), Pose())
    with pytest.raises(ModelError, match="a shape is a Sphere, Box, ConvexHull or the like"):
        distance("ball", Pose(), Sphere(1.0), Pose())
    with pytest.raises(ModelError, match="pose_b must be a Pose"):
        distance(Sphere(1.0), Pose(), Sphere(1.0), (0, 0, 1))
    with pytest.raises(ModelError, match="the batches of poses must match"):
        distance(Sphere(1.0), Pose(translation=np.zeros((2, 3))), Sphere(1.0), Pose(translation=np.zeros((3, 3))))
    with pytest.raises(ModelError, match="within must be finite"):
        distance(Sphere(1.0), Pose(), Sphere(1.0), Pose(), within=float("nan"))
    with pytest.raises(ModelError, match="immutable"):
        Sphere(1.0).size = 2.0


def test_answers_are_read_only():
    one = distance(Sphere(1.0), Pose(), Sphere(1.0), at(3, 0, 0))
    many = distance(Sphere(1.0), Pose(), Sphere(1.0), Pose(translation=np.ones((2, 3))))
    for found in (one, many):
        with pytest.raises(ValueError, match="read-only"):
            found.normal[...] = 0.0


def test_it_is_on_the_public_list():
    assert sc.contact.distance is distance


@pytest.mark.parametrize("angle", [0.0, 0.1, np.pi / 2, -np.pi / 2, 1.3])
@pytest.mark.parametrize("inside", [0.0, -1e-10, 1e-10, 1e-7, 0.01])
def test_a_ball_whose_centre_is_on_a_drum_has_the_normal_of_its_skin(angle, inside):
    out, r = np.array([np.cos(angle), np.sin(angle), 0.0]), 0.3 - inside
    found = distance(Cylinder(0.3, 0.8), Pose(), Sphere(0.3), Pose(translation=r * out))
    assert found.normal == pytest.approx(out, abs=1e-5)
    assert found.distance == pytest.approx(-0.3 - inside, abs=1e-11)


def ellipsoid_to_box(e, R, p, h) -> tuple[float, np.ndarray]:
    """max over unit n of n.p - |e n| - h.|R* n|, and n. With m = R* n the last term is linear on each octant: Newton's
    method on the sphere for each octant, and for the planes and axes between them."""
    c, Q = R.T @ p, R.T @ np.diag(e**2) @ R
    best, normal = -np.inf, np.zeros(3)
    for signs in np.array(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 3)).reshape(3, -1).T:
        some = np.flatnonzero(signs)
        Qs, linear, one = Q[np.ix_(some, some)], (c - signs * h)[some], np.eye(len(some))
        for leaning in one + 0.3 if len(some) > 1 else one:  # starts near each axis
            m = signs[some] * leaning / np.linalg.norm(leaning)
            for _ in range(40):
                r = np.sqrt(m @ Qs @ m)
                f, across, Qm = linear @ m - r, one - np.outer(m, m), Qs @ m
                sizes, V = np.linalg.eigh(across @ (np.outer(Qm, Qm) / r**3 - Qs / r - f * one) @ across)
                sizes = np.maximum(np.abs(sizes), 1e-9 * np.abs(sizes).max() + 1e-300)
                newton = across @ V @ (V.T @ across @ (linear - Qm / r) / sizes)
                ahead = m + 0.5 ** np.arange(12)[:, None] * newton
                ahead /= np.linalg.norm(ahead, axis=1)[:, None]
                there = ahead @ linear - np.sqrt(np.sum(ahead @ Qs * ahead, axis=1))
                if not there.max() > f + 1e-17:
                    break
                m = ahead[there.argmax()]
            n = np.zeros(3)
            n[some] = m
            value = c @ n - np.sqrt(n @ Q @ n) - h @ np.abs(n)
            if value > best:
                best, normal = value, R @ n
    return float(best), normal


def test_an_ellipsoid_and_a_box_are_off_by_no_more_than_the_error_says():
    """Apart, deep, and within 1e-6 of a touch, where faces of the polytope are slivers. Rounding has 2e-14."""
    for seed in (1, 41, 46, 62, 151, 193, 289, 316, 353, 393, 435, *range(500, 515)):
        rng = np.random.default_rng(seed)
        e = 10.0 ** rng.uniform(-1.5, 0.0, 3) if seed % 2 else rng.uniform(0.2, 0.6, 3)
        h = 10.0 ** rng.uniform(-1.5, 0.0, 3) if seed % 3 else rng.uniform(0.2, 0.6, 3)
        pose = random_pose(rng, (0.05, 0.2, 0.5, 0.8, 1.5)[seed % 5])
        if seed % 7 == 0:
            pose = Pose(np.eye(3), pose.translation)
        if seed % 4 == 1:
            d, n = ellipsoid_to_box(e, pose.rotation, pose.translation, h)
            gap = rng.choice([0.0, 1e-3, 1e-6, -1e-6, -1e-3, 1e-8, 1e-9])
            pose = Pose(pose.rotation, pose.translation + (gap - d) * n)
        right, _ = ellipsoid_to_box(e, pose.rotation, pose.translation, h)
        for scale in (1e-6, 1.0, 1e6):
            a, b = Ellipsoid(*(scale * e)), Box(*(2.0 * scale * h))
            found = distance(a, Pose(), b, Pose(pose.rotation, scale * pose.translation))
            rounding = 2e-14 * ((a.extent + b.extent) / scale + abs(right))
            assert abs(found.distance / scale - right) <= found.error / scale + rounding, (seed, scale)

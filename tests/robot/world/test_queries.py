"""Distances of a world with their gradients: differences, other libraries, one by one and in batches."""

from __future__ import annotations

import gc
import threading
from itertools import combinations_with_replacement

import coal
import fcl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contact.geometry.shapes import CONVEX, bumpy_sphere, random_pose, random_shape
from tests.profiles import tries

import soacraft as sc
from soacraft.contact import Box, Capsule, ConvexHull, Cylinder, Ellipsoid, Plane, Sphere, TriangleMesh
from soacraft.contact.geometry.compiled import MovingScene, contact_smooth
from soacraft.errors import ModelError, StateError
from soacraft.model.flat.compiled import CompiledModel
from soacraft.robot import Robot, World

KINDS = ("plane", "mesh", *CONVEX)
PAIRS = [x for x in combinations_with_replacement(KINDS, 2) if x != ("plane", "plane")]
CUBE = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
FACES = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4),
         (1, 5, 7), (1, 7, 3)]  # fmt: skip
HINGES = (sc.Pin, sc.Prismatic, sc.Helical, sc.Cylindrical, sc.Universal, sc.Gimbal, sc.Planar, sc.Spherical, sc.Free)


def shape(kind, rng):
    return bumpy_sphere(12, 6) if kind == "mesh" else random_shape(kind, rng)


def hand(*hinges):
    """Bodies without shapes, the last of which is the hand."""
    mb, last = sc.Multibody("hand"), None
    for i, hinge in enumerate(hinges):
        name = "hand" if i == len(hinges) - 1 else f"b{i}"
        inboard = sc.Pose(translation=(0.0, 0.0, 0.3 * i))
        mb.add_body(name, last, hinge, sc.Inertia(1.0), inboard=inboard)
        last = name
    return Robot(mb)


def hinge_of(kind, rng):
    if kind in (sc.Pin, sc.Prismatic, sc.Cylindrical):
        return kind(rng.standard_normal(3))
    if kind is sc.Helical:
        return kind(rng.standard_normal(3), 0.2)
    axes = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    if kind in (sc.Universal, sc.Gimbal):
        return kind(*axes[:2]) if kind is sc.Universal else kind(axes)
    return kind()


def differences(w, q, step):
    """One-sided differences of the distances of all pairs along every dof: forward and backward, (rows, nv)."""
    mb = w.robot.mb
    here = w.distances(q).distance
    sides = []
    for sign in (1.0, -1.0):
        there = [w.distances(mb.integrate(q, sign * step * e)).distance for e in np.eye(mb.nv)]
        sides.append(sign * (np.array(there).T - here[:, None]) / step)
    return sides


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_gradients_are_differences_for_every_pair_of_shapes(pair):
    """A pin, a slide and a ball joint move one shape past the other, apart and in it. The depth of a mesh that is not
    convex may jump deep inside of it: then it is said that there is no derivative."""
    rng = np.random.default_rng([3, PAIRS.index(pair)])
    rb = hand(sc.Pin((0.3, 0.4, 0.5)), sc.Prismatic((1, 0.2, 0)), sc.Spherical())
    mb, seen = rb.mb, []
    for spread in (0.1, 0.2, 0.3, 1.4, 1.8):
        w = World(rb)
        still, moves = pair if rng.integers(2) or pair[0] == "plane" else pair[::-1]
        q = mb.integrate(mb.q, rng.standard_normal(mb.nv) * [1.0, 0.4, 1.0, 1.0, 1.0])
        there, here = random_pose(rng, 0.1), random_pose(rng, 0.0)
        here = there @ sc.Pose(here.rotation, spread * np.array([0.3, -0.5, 0.8]))
        w.add("still", shape(still, rng), there)
        w.add("moves", shape(moves, rng), mb.pose("hand", state=mb.state(q)).inv @ here, on="hand")
        rows = w.distances(q)
        forward, backward = differences(w, q, 1e-6)
        assert rows.pairs == [("moves/shape", "still/shape")]
        if pair[0] == "mesh" and rows.distance[0] < -0.3 and not rows.smooth[0]:
            continue
        assert rows.smooth.all()
        seen.append(rows.distance[0] < 0.0)
        assert np.allclose(rows.gradient, 0.5 * (forward + backward), atol=2e-4)
        assert np.abs(forward - backward).max() < 1e-3
    assert 2 <= sum(seen) <= len(seen) - 2


def cube(half, mesh=False):
    points = half * CUBE
    return TriangleMesh(points, FACES) if mesh else ConvexHull(points)


FLAT = sc.Pose(translation=(0.0, 0.0, 0.7))
LYING = sc.Pose.from_rpy(np.pi / 2, 0.0, 0.0, (0.0, 0.0, 0.6))
JUMPS = {
    "boxes face to face": (Box(1, 1, 1), Box(0.6, 0.8, 0.2), FLAT),
    "boxes in each other": (Box(1, 1, 1), Box(0.6, 0.8, 0.6), FLAT),
    "a capsule along a face": (Box(1, 1, 1), Capsule(0.05, 0.4), LYING),
    "a capsule in a face": (Box(1, 1, 1), Capsule(0.2, 0.4), LYING),
    "capsules side by side": (Capsule(0.1, 1.0), Capsule(0.1, 0.5), sc.Pose(translation=(0.5, 0.0, 0.1))),
    "a rod on a floor": (Plane(), Cylinder(0.1, 0.5), LYING),
    "a drum on a floor": (Plane(), Cylinder(0.3, 0.5), FLAT),
    "a box on a floor": (Plane(), Box(0.4, 0.5, 0.6), FLAT),
    "a capsule on a floor": (Plane(), Capsule(0.1, 0.4), LYING),
    "a hull over a box": (Box(1, 1, 1), cube(0.15), FLAT),
    "a mesh over a box": (Box(1, 1, 1), cube(0.15, mesh=True), FLAT),
    "a drum over a drum": (Cylinder(0.3, 1.0), Cylinder(0.2, 0.2), FLAT),
    "a ball in the middle of a box": (Box(1, 1, 2), Sphere(0.1), sc.Pose()),
    "a ball as far from two faces": (Box(1, 1, 1), Sphere(0.1), sc.Pose(translation=(0.2, 0.2, 0.1))),
    "an ellipsoid in the middle of a box": (Box(1, 1, 2), Ellipsoid(0.1, 0.1, 0.2), sc.Pose()),
    "capsules that cross": (Capsule(0.1, 1.0), Capsule(0.1, 1.0), sc.Pose.from_rpy(np.pi / 2, 0.0, 0.0)),
}


@pytest.mark.parametrize("name", JUMPS)
def test_where_nearest_points_jump_it_is_said(name):
    """There the one-sided differences differ, and the gradient is between them; a little further on it is smooth."""
    still, moves, at = JUMPS[name]
    rb = hand(sc.Free())
    w = World(rb)
    w.add("still", still)
    w.add("moves", moves, on="hand")
    q = np.array([*at.as_quaternion(), *at.translation])
    rows = w.distances(q)
    assert not rows.smooth[0]
    forward, backward = differences(w, q, 1e-6)
    assert np.abs(forward - backward).max() > 0.05
    assert (np.minimum(forward, backward) - 1e-4 <= rows.gradient).all()
    assert (rows.gradient <= np.maximum(forward, backward) + 1e-4).all()
    for sign in (1.0, -1.0):
        aside = rb.mb.integrate(q, sign * np.array([0.011, 0.013, 0.007, 0.005, 0.009, 0.003]))
        beside = w.distances(aside)
        assert beside.smooth.all()
        ahead, behind = differences(w, aside, 1e-7)
        assert np.allclose(beside.gradient, 0.5 * (ahead + behind), atol=1e-4)


def test_the_gradient_jumps_where_the_witness_does():
    """A capsule tilts over a box: its nearer end changes at the level, where the gradient is between the two sides."""
    w = World(hand(sc.Pin((0, 1, 0))))
    w.add("rod", Capsule(0.05, 0.6), sc.Pose.from_rpy(0.0, np.pi / 2, 0.0), on="hand")
    w.add("box", Box(2.0, 2.0, 1.0), sc.Pose(translation=(0.0, 0.0, -1.0)))
    q = np.zeros(1)
    level = w.distances(q)
    q[0] = 1.0  # what was told is of the configuration that was asked for
    assert not level.smooth[0]
    before, level, after = (w.distances([x]).gradient[0, 0] for x in (-1e-3, 0.0, 1e-3))
    assert abs(before - 0.3 * np.cos(1e-3)) < 1e-12
    assert abs(after + 0.3 * np.cos(1e-3)) < 1e-12
    assert abs(level) < 1e-12
    assert [bool(w.distances([x]).smooth[0]) for x in (-1e-3, 0.0, 1e-3)] == [True, False, True]


@given(st.integers(0, 10_000))
@tries(25)
def test_gradients_of_arms_with_all_hinges_are_differences(seed):
    """Chains of any hinges among objects, and with themselves: what carries both shapes has no part in it."""
    rng = np.random.default_rng(seed)
    rb = hand(*(hinge_of(HINGES[k], rng) for k in rng.integers(len(HINGES), size=4)))
    mb = rb.mb
    for body in mb.bodies:
        at = sc.Pose(random_pose(rng, 0).rotation, rng.uniform(0.1, 0.2, 3))
        body.add_geometry(sc.Geometry("skin", "capsule", (0.05, 0.2), at))
    w = World(rb)
    w.add("ball", Sphere(0.1), random_pose(rng, 0.5))
    w.add("box", Box(0.3, 0.2, 0.4), random_pose(rng, 0.5))
    w.pad("box", 0.02)
    q = mb.integrate(mb.q, 0.7 * rng.standard_normal(mb.nv))
    rows = w.distances(q)
    forward, backward = differences(w, q, 1e-6)
    smooth = rows.smooth & (np.abs(forward - backward).max(axis=1) < 1e-2)
    assert smooth.sum() > len(rows) // 2
    assert np.allclose(rows.gradient[smooth], 0.5 * (forward + backward)[smooth], atol=2e-4)


def crowd(seed=0, boxes=6):
    """A panda as it is, in hulls, among boxes, cylinders, a floor and a mesh, with paddings and allowed pairs."""
    rng = np.random.default_rng(seed)
    w = World(Robot(sc.load("panda")))
    for i in range(boxes):
        w.add(f"box{i}", Box(*rng.uniform(0.05, 0.3, 3)), random_pose(rng, 0.5))
        w.add(f"rod{i}", Capsule(0.05, 0.3), random_pose(rng, 0.5))
    w.add("drum", Cylinder(0.1, 0.3), random_pose(rng, 0.5))
    w.add("bumps", bumpy_sphere(12, 6), sc.Pose(translation=(0.9, 0.9, 0.5)))
    w.add("floor", Plane(), sc.Pose(translation=(0, 0, -0.05)))
    slope = sc.Pose.from_rpy(0.7, 0.4, 0.9).rotation
    w.add("slope", Plane(), sc.Pose(slope, -0.6 * slope[:, 2]))
    w.pad("box0", 0.02)
    w.pad("box1", 0.03, "link7")
    w.allow("box2", "link6")
    w.hide("rod3")
    return w, rng


@pytest.mark.parametrize("within", [np.inf, 0.2, 0.0, -0.01])
def test_distances_are_those_of_the_scene(within):
    """The compiled search against that of the contact layer, whose poses and pairs are found in other ways."""
    w, rng = crowd()
    q = w.sample(rng, 40)
    rows, known = w.distances(q, within), w.scene.distances(q, within)
    assert len(known)
    assert rows.pairs == known.pairs
    assert np.array_equal(rows.state, known.state)
    assert np.allclose(rows.distance, known.distance, atol=1e-12)
    for mine, theirs in ((rows.normal, known.normal), (rows.point_a, known.point_a), (rows.point_b, known.point_b)):
        assert np.allclose(mine, theirs, atol=1e-7)
    assert np.allclose(rows.gradient, w.scene.gradient(known), atol=1e-7)
    assert np.array_equal(w.collides(q), np.isin(np.arange(40), known.state[known.distance <= 0.0])) or within < 0.0


def test_thousands_of_fixed_shapes_are_all_found():
    """The tree of boxes leaves nothing out: against the contact layer's own search."""
    rng = np.random.default_rng(4)
    w = World(Robot(sc.load("panda")))
    parts = {f"p{i}": (Sphere(0.01), sc.Pose(translation=rng.uniform(-1, 1, 3))) for i in range(1500)}
    w.add("cloud", parts)
    w.pad("cloud/p7", 0.05)
    q = w.sample(rng, 4)
    for within in (0.1, 0.0):
        rows, known = w.distances(q, within), w.scene.distances(q, within)
        assert rows.pairs == known.pairs
        assert np.allclose(rows.distance, known.distance, atol=1e-12)


def test_one_by_one_in_batches_and_on_threads_the_bits_are_the_same():
    w, rng = crowd(1)
    q = w.sample(rng, 30)
    rows, hits = w.distances(q, 0.3), w.collides(q)
    for i, x in enumerate(q):
        one, mine = w.distances(x, 0.3), rows.state == i
        assert np.array_equal(one.numbers, rows.numbers[mine])
        assert np.array_equal(one.gradient, rows.gradient[mine])
        assert w.collides(x) == hits[i]
    for threads in (2, 3, 7):
        many = w.distances(q, 0.3, threads=threads)
        assert np.array_equal(many.numbers, rows.numbers)
        assert np.array_equal(many.gradient, rows.gradient)
        assert np.array_equal(many.places, rows.places)
        assert np.array_equal(w.collides(q, threads=threads), hits)


def test_worlds_in_threads_give_the_bits_of_one():
    w, rng = crowd(2)
    q = w.sample(rng, 50)
    wanted = w.distances(q, 0.3).numbers
    found = {}

    def work(k):
        mine, _ = crowd(2)
        found[k] = np.concatenate([mine.distances(x, 0.3).numbers for x in q])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 4
    assert all(np.array_equal(x, wanted) for x in found.values())


IN_FCL = {"sphere": fcl.Sphere, "capsule": fcl.Capsule, "box": fcl.Box, "cylinder": fcl.Cylinder,
          "ellipsoid": fcl.Ellipsoid}  # fmt: skip
IN_COAL = {"sphere": coal.Sphere, "capsule": coal.Capsule, "box": coal.Box, "cylinder": coal.Cylinder,
           "ellipsoid": coal.Ellipsoid}  # fmt: skip


def in_fcl(given):
    if given.kind in IN_FCL:
        return IN_FCL[given.kind](*given.size)
    if given.kind == "plane":
        return fcl.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    if given.kind == "hull":
        faces = np.concatenate([[3, *x] for x in triangles(given.vertices)])
        return fcl.Convex(given.vertices, len(faces) // 4, faces)
    made = fcl.BVHModel()
    made.beginModel(len(given.vertices), len(given.triangles))
    made.addSubModel(given.vertices, given.triangles)
    made.endModel()
    return made


def in_coal(given):
    if given.kind in IN_COAL:
        return IN_COAL[given.kind](*(float(x) for x in given.size))
    if given.kind == "plane":
        return coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    if given.kind == "hull":
        points = coal.StdVec_Vec3s()
        for x in given.vertices:
            points.append(x)
        return coal.Convex(points, triangle_list(triangles(given.vertices)))
    made = coal.BVHModelOBBRSS()
    made.beginModel(len(given.triangles), len(given.vertices))
    made.addVertices(np.ascontiguousarray(given.vertices))
    made.addTriangles(np.ascontiguousarray(given.triangles, dtype=np.int64))
    made.endModel()
    return made


def triangles(points):
    """Of a hull, seen from outside."""
    from scipy.spatial import ConvexHull as Qhull

    hull = Qhull(points)
    middle = points.mean(axis=0)
    made = []
    for i, j, k in hull.simplices:
        outward = np.cross(points[j] - points[i], points[k] - points[i]) @ (points[i] - middle) > 0.0
        made.append((i, j, k) if outward else (i, k, j))
    return made


def triangle_list(of):
    made = coal.StdVec_Triangle()
    for i, j, k in of:
        made.append(coal.Triangle(int(i), int(j), int(k)))
    return made


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_distances_are_those_of_fcl_and_coal(pair):
    """Apart, for all pairs that they have; coal's also in each other, of convex shapes. To what their iterations give:
    1e-4 (fcl; ellipsoids 1e-3), 1e-5 (coal)."""
    rng = np.random.default_rng([5, PAIRS.index(pair)])
    rb = hand(sc.Free())
    looked = 0
    for _ in range(8):
        w = World(rb)
        a, b = (shape(kind, rng) for kind in pair)
        at_a = random_pose(rng, 0.1)
        at_b = sc.Pose(random_pose(rng, 0).rotation, rng.choice([-1, 1], 3) * rng.uniform(0.2, 1.2, 3))
        w.add("still", a, at_a)
        w.add("moves", b, on="hand")
        mine = w.distances([*at_b.as_quaternion(), *at_b.translation]).distance[0]
        first = coal.Transform3s(np.array(at_a.rotation), np.array(at_a.translation))
        second = coal.Transform3s(np.array(at_b.rotation), np.array(at_b.translation))
        # coal has no distance of a mesh and a half space, nor a depth of meshes
        if set(pair) != {"plane", "mesh"} and ("mesh" not in pair or mine > 0.0):
            theirs = coal.distance(in_coal(a), first, in_coal(b), second, coal.DistanceRequest(), coal.DistanceResult())
            assert mine == pytest.approx(theirs, abs=1e-5)
            looked += 1
        if mine > 1e-3 and "plane" not in pair and set(pair) != {"mesh", "hull"}:
            objects = [fcl.CollisionObject(in_fcl(x), fcl.Transform(at.rotation, at.translation))
                       for x, at in ((a, at_a), (b, at_b))]  # fmt: skip
            theirs = fcl.distance(*objects, fcl.DistanceRequest(enable_nearest_points=True), fcl.DistanceResult())
            assert mine == pytest.approx(theirs, abs=1e-3 if "ellipsoid" in pair else 1e-4)
    assert looked > 2 or set(pair) == {"plane", "mesh"}


def test_a_world_follows_every_change():
    """Of the robot's shapes, poses and structure; the watch costs no reference to the world."""
    mb = sc.Multibody("swing")
    body = mb.add_body("link", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    body.add_geometry(sc.Geometry("ball", "sphere", (0.1,), sc.Pose(translation=(1, 0, 0))))
    w = World(Robot(mb))
    w.add("post", Sphere(0.1), sc.Pose(translation=(1.5, 0, 0)))
    q = np.zeros(1)
    assert abs(w.distances(q).distance[0] - 0.3) < 1e-12
    mb.q = [1.0]
    assert abs(w.distances(q).distance[0] - 0.3) < 1e-12
    body.inboard = sc.Pose(translation=(0.1, 0, 0))
    assert abs(w.distances(q).distance[0] - 0.2) < 1e-12
    body.add_geometry(sc.Geometry("more", "sphere", (0.1,), sc.Pose(translation=(1.1, 0, 0))))
    assert np.allclose(w.distances(q).distance, [0.2, 0.1])
    body.remove_geometry("ball")
    assert np.allclose(w.distances(q).distance, [0.1])
    mb.add_body("tip", "link", sc.Pin((0, 0, 1)), sc.Inertia(1.0))
    assert w.distances(np.zeros(2)).gradient.shape == (1, 2)
    w.move("post", sc.Pose(translation=(2.0, 0, 0)))
    assert np.allclose(w.distances(np.zeros(2)).distance, [0.6])
    import weakref

    seen = weakref.ref(w)
    del w
    gc.collect()
    assert seen() is None


class Own(sc.Pin):
    """A hinge of a user's, which the compiled tree does not know."""


def test_hinges_of_a_users_own_are_asked_through_the_scene():
    answers = []
    for kind in (sc.Pin, Own):
        mb = sc.Multibody("own")
        body = mb.add_body("link", hinge=kind((0, 0, 1)), inertia=sc.Inertia(1.0))
        body.add_geometry(sc.Geometry("ball", "sphere", (0.1,), sc.Pose(translation=(1, 0, 0))))
        w = World(Robot(mb))
        w.add("post", Box(0.2, 0.3, 0.4), sc.Pose(translation=(1.5, 0.5, 0)))
        rows = w.distances([[0.1], [0.4]])
        answers.append((rows.numbers, rows.gradient, rows.places, rows.smooth, w.collides([[0.1], [0.4]])))
        assert w.collides([0.4]) is False
        assert len(w.distances([0.1], 0.1)) == 0
    for mine, other in zip(*answers, strict=True):
        assert np.allclose(mine, other, atol=1e-12)
    with pytest.raises(StateError, match="body 'link' has none"):
        w.edge([0.0], [1.0])


def test_what_is_just_within_counts():
    """Balls that never move, that move, and that move relative to each other; all numbers are exact."""
    mb = sc.Multibody("balls")
    for name, x in (("a", 0.0), ("b", 2.0)):
        body = mb.add_body(name, hinge=sc.Prismatic((1, 0, 0)), inertia=sc.Inertia(1.0))
        body.add_geometry(sc.Geometry("ball", "sphere", (0.25,), sc.Pose(translation=(x, 0, 0))))
    w = World(Robot(mb))
    w.add("post", Sphere(0.25), sc.Pose(translation=(0.0, 2.0, 0.0)))
    assert w.distances([0.0, 0.0], 1.5).pairs == [("a/ball", "b/ball"), ("a/ball", "post/shape")]
    assert len(w.distances([0.0, 0.0], np.nextafter(1.5, 0.0))) == 0
    assert w.collides([1.5, 0.0])
    assert not w.collides([np.nextafter(1.5, 0.0), 0.0])


def test_a_ball_over_planes_that_lean_any_way():
    """Near or not by the closed form, whatever the normal of the plane and whichever is named first."""
    rng = np.random.default_rng(6)
    for name in ("a floor", "the floor"):
        for _ in range(20):
            at, x = random_pose(rng, 1.0), rng.standard_normal(3)
            w = World(hand(sc.Prismatic((1, 0, 0))))
            w.add("ball", Sphere(0.1), sc.Pose(translation=x), on="hand")
            w.add(name, Plane(), at)
            height = float((x - at.translation) @ at.rotation[:, 2]) - 0.1
            assert len(w.distances([0.0], height + 1e-9)) == 1
            assert len(w.distances([0.0], height - 1e-9)) == 0


def test_configurations_may_lie_in_memory_as_they_like():
    w, rng = crowd()
    q = w.sample(rng, 10)
    rows = w.distances(q, 0.3)
    for other in (np.asfortranarray(q), np.repeat(q, 2, axis=0)[::2], q.tolist()):
        assert np.array_equal(w.distances(other, 0.3).numbers, rows.numbers)
        assert np.array_equal(w.collides(other), w.collides(q))


def test_smoothness_is_told_row_by_row():
    """Of several boxes one is parallel to the rod, whatever their names."""
    w = World(hand(sc.Pin((0, 1, 0)), sc.Pin((1, 0, 0))))
    w.add("rod", Capsule(0.05, 0.6), sc.Pose.from_rpy(0.0, np.pi / 2, 0.0), on="hand")
    w.add("other rod", Capsule(0.05, 0.6), sc.Pose.from_rpy(0.0, 1.0, 0.0, (0, 3, 0)), on="hand")
    for name, turn in (("above", 0.3), ("under", 0.0), ("aside", 0.2)):
        at = {"above": (0, 0, 2), "under": (0, 0, -1), "aside": (0, -2, 0)}[name]
        w.add(name, Box(1, 1, 1), sc.Pose.from_rpy(0.1, turn, 0.0, at))
    rows = w.distances([0.0, 0.0])
    told = dict(zip(rows.pairs, rows.smooth, strict=True))
    assert len(told) == 6
    assert [pair for pair, smooth in told.items() if not smooth] == [("rod/shape", "under/shape")]


def test_what_never_moves_is_not_compared_with_itself():
    """Also where somebody allowed it, or said so for the base of the robot."""
    w = World(Robot(sc.load("panda")))
    for name in ("table", "plate"):
        w.add(name, Box(0.5, 0.5, 0.02), sc.Pose(translation=(0.0, 0.0, 0.0)))
    w.allow("table", "plate")
    w.allow("table", "link0")
    q = np.array([0.1, -0.3, 0.2, -1.5, 0.3, 1.7, 0.4])
    w.allow("table", "link1")
    w.allow("plate", "link1")
    assert not w.collides(q)
    assert not any(set(pair) <= {"table/shape", "plate/shape", "link0/hull"} for pair in w.distances(q).pairs)


def test_a_distance_of_nothing():
    w = World(Robot(sc.load("panda")))
    rows = w.distances(np.zeros((3, 7)), 0.001)
    assert len(rows) == 0
    assert repr(rows) == "no pair is near"
    assert rows.gradient.shape == (0, 7)
    assert rows.smooth.shape == (0,)
    assert w.collides(np.zeros((0, 7))).shape == (0,)
    assert len(w.distances(np.zeros((0, 7)))) == 0


def test_what_queries_refuse():
    w, _ = crowd()
    with pytest.raises(StateError, match=r"q of 'panda' must have .*7"):
        w.distances(np.zeros(6))
    with pytest.raises(StateError, match="q of 'panda'"):
        w.collides(np.full(7, np.nan))
    with pytest.raises((ModelError, StateError), match="within"):
        w.distances(np.zeros(7), float("nan"))
    with pytest.raises(ValueError, match="threads"):
        w.distances(np.zeros((2, 7)), threads=0)
    with pytest.raises(ValueError, match="threads"):
        w.collides(np.zeros((2, 7)), threads=0)
    free = World(hand(sc.Free()))
    free.add("ball", Sphere(0.1), on="hand")
    free.add("post", Sphere(0.1), sc.Pose(translation=(1, 0, 0)))
    with pytest.raises(StateError, match="quaternion"):
        free.distances([0, 0, 0, 2.0, 0, 0, 0])
    with pytest.raises(StateError, match="quaternion"):
        free.collides([[0, 0, 0, 2.0, 0, 0, 0]])
    near_unit = free.distances([0, 0, 0, 1.0 + 5e-7, 0, 0, 0]).distance
    assert abs(near_unit[0] - 0.8) < 1e-12
    assert free.distances([0, 0, 0, 1, 1e20, 0, 0]).distance[0] == pytest.approx(1e20)


def test_the_compiled_scene_refuses_what_does_not_fit():
    w, _ = crowd()
    core, body, local, _ = w.scene.compiled
    tree = CompiledModel.of(w.robot.mb.layout).kernels
    n = len(body)
    with pytest.raises(ValueError, match="tree must be a RigidModel"):
        MovingScene(core, core, body, local)
    with pytest.raises(ValueError, match="scene must be a ContactScene"):
        MovingScene(tree, tree, body, local)
    with pytest.raises(ValueError, match="body and local must be of the shapes of the scene"):
        MovingScene(tree, core, body[1:].copy(), local)
    with pytest.raises(ValueError, match="body has an entry out of range"):
        MovingScene(tree, core, np.full(n, 99), local)
    poses, numbers, out = np.zeros((1, n, 12)), np.zeros((1, 11)), np.zeros(1, dtype=np.int64)
    with pytest.raises(ValueError, match="must be of the same rows"):
        contact_smooth(core, poses, np.zeros((2, 3), dtype=np.int64), numbers, out)
    with pytest.raises(ValueError, match="places has an entry out of range"):
        contact_smooth(core, poses, np.array([[1, 0, 1]]), numbers, out)
    with pytest.raises(ValueError, match="places has an entry out of range"):
        contact_smooth(core, poses, np.array([[0, 0, n]]), numbers, out)
    made = MovingScene(tree, core, body, local)
    for wrong in (None, [0.0] * 7, np.zeros(6), np.zeros((2, 2, 7)), np.zeros(7, dtype=int), np.full(7, np.inf)):
        assert made.distances(wrong, 0.1, 1) is None
        assert made.collides(wrong, 1) is None
        assert made.edge(wrong, np.zeros(7), 1e-6, True, 10) is None
        assert made.edges(wrong, np.zeros((2, 7)), 1e-6, True, 10, 1) is None


NO_NUMBERS = {
    "text": "abc",
    "ragged": [[1, 2], [3]],
    "by name": {"a": 1},
    "objects": [object()] * 7,
    "complex": np.ones(7) * 1j,
    "huge": 10**400,
}


@pytest.mark.parametrize("q", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_what_is_no_configuration_is_refused(q):
    w, _ = crowd()
    for call in (w.collides, w.distances, w.touching, lambda x: w.edge(x, np.zeros(7)), lambda x: w.edges([x], [x])):
        with pytest.raises(StateError, match="q of 'panda'"):
            call(q)


def test_as_many_threads_as_one_likes():
    w, _ = crowd()
    q = np.zeros((3, 7))
    assert (w.collides(q, threads=2**70) == w.collides(q)).all()
    assert (w.distances(q, 0.1, threads=2**70).numbers == w.distances(q, 0.1).numbers).all()
    assert (w.edges(q, q, threads=2**70).free == w.edges(q, q).free).all()


def test_derivatives_of_no_configurations():
    w, _ = crowd()
    assert w.distances(np.zeros((0, 7))).smooth.shape == (0,)

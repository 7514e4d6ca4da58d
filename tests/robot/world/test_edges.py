"""Motions that are free or not: nothing thin is missed, the first touch is the first, one by one and in batches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contact.geometry.shapes import random_pose, random_shape
from tests.profiles import tries
from tests.robot.world.reference_edges import first_touch
from tests.robot.world.test_queries import HINGES, crowd, cube, hand, hinge_of

import soacraft as sc
from soacraft.contact import Box, Capsule, Plane, Sphere
from soacraft.dynamics import poses
from soacraft.errors import ConvergenceError, StateError
from soacraft.robot import Edge, Robot, World

GAP = 1e-5


def needles(rng):
    """An arm of needles, a tenth of a millimetre thick, with pins and slides about random axes."""
    mb, last = sc.Multibody("needles"), None
    for i in range(4):
        inboard = sc.Pose() if last is None else sc.Pose(translation=(0, 0, 0.4))
        kind = sc.Prismatic if rng.random() < 0.25 else sc.Pin
        body = mb.add_body(f"b{i}", last, kind(rng.standard_normal(3)), sc.Inertia(1.0), inboard=inboard)
        body.add_geometry(sc.Geometry("needle", "capsule", (5e-5, 0.4), sc.Pose(translation=(0, 0, 0.2))))
        last = body.name
    return Robot(mb)


def past_plates(seed, count):
    """Short edges of an arm of needles past plates of a tenth of a millimetre. Where a point of a needle is on one side
    of a plate, well within its rim, and a moment later on the other, it was touched between: how many such edges there
    are, after it is seen that all of them are told, and not too late."""
    rng = np.random.default_rng(seed)
    rb = needles(rng)
    mb, w, half = rb.mb, World(rb), 0.25
    for body in mb.bodies:  # of the plates alone
        for other in mb.bodies:
            if body.name < other.name:
                w.allow(body.name, other.name)
    at = rng.uniform(-0.7, 0.7, (count, mb.nq))
    plates = []
    for k in range(6):
        tip = mb.pose("b3", state=mb.state(at[k])).translation
        plates.append(sc.Pose(random_pose(rng, 0).rotation, tip + 0.1 * rng.standard_normal(3)))
        w.add(f"plate{k}", Box(2 * half, 2 * half, 1e-4), plates[-1])
    q1 = at + rng.uniform(-0.15, 0.15, at.shape)
    told = w.edges(at, q1, gap=GAP)
    s = np.linspace(0.0, 1.0, 16)
    way = (at[:, None] + s[:, None] * (q1 - at)[:, None]).reshape(-1, mb.nq)
    bodies = poses(mb, way)
    along = np.linspace(0.02, 0.38, 7)
    # (states, bodies, points, 3)
    x = bodies.translation[:, :, None] + along[:, None] * bodies.rotation[:, :, None, :, 2]
    crossed = np.full(count, np.inf)
    for plate in plates:
        y = (x - plate.translation) @ plate.rotation
        within = (np.abs(y[..., :2]) < 0.9 * half).all(axis=-1).reshape(count, len(s), -1)
        above = (y[..., 2] > 0.0).reshape(count, len(s), -1)
        through = ((above[:, 1:] != above[:, :-1]) & within[:, 1:] & within[:, :-1]).any(axis=-1)
        crossed = np.minimum(crossed, np.where(through.any(axis=1), s[1:][through.argmax(axis=1)], np.inf))
    sure = np.isfinite(crossed)
    assert not told.free[sure].any()
    assert (told.part[sure] <= crossed[sure]).all()
    hit = np.flatnonzero(~told.free)
    near = w.distances(told.q[hit], 2.0 * GAP)
    least = np.full(len(hit), np.inf)
    np.minimum.at(least, near.state, near.distance)
    assert (least <= GAP).all()
    hits = w.collides(way).reshape(count, len(s))
    assert not (hits & (s < told.part[:, None] - 1e-12)).any()
    return int(sure.sum())


def test_needles_never_pass_through_plates():
    assert sum(past_plates(seed, 100) for seed in range(3)) > 50


@pytest.mark.slow
def test_a_hundred_thousand_edges_past_plates():
    assert sum(past_plates(seed, 1000) for seed in range(100)) > 20_000


@given(st.integers(0, 10_000))
@tries(25)
def test_edges_of_any_hinges_against_samples_and_the_reference(seed):
    """Random chains with quaternions, screws and slides among shapes of all kinds."""
    rng = np.random.default_rng(seed)
    rb = hand(*(hinge_of(HINGES[k], rng) for k in rng.integers(len(HINGES), size=3)))
    mb = rb.mb
    for body in mb.bodies:
        at = sc.Pose(random_pose(rng, 0).rotation, rng.uniform(-0.1, 0.1, 3))
        kind, size = (("capsule", (0.02, 0.2)), ("box", (0.2, 0.01, 0.1)))[int(rng.integers(2))]
        body.add_geometry(sc.Geometry("skin", kind, size, at))
    w = World(rb)
    for k, kind in enumerate(("box", "ellipsoid", "cylinder", "hull")):
        w.add(f"o{k}", random_shape(kind, rng, 0.3), random_pose(rng, 0.5))
    w.add("floor", Plane(), sc.Pose(translation=(0, 0, -1.0)))
    q0 = mb.integrate(mb.q, 0.5 * rng.standard_normal(mb.nv))
    q1 = mb.integrate(q0, 0.4 * rng.standard_normal(mb.nv))
    dv = mb.difference(q0, q1)
    got = w.edge(q0, q1, gap=1e-4)
    part, _ = first_touch(w, q0, q1, 1e-4)
    s = np.linspace(0.0, 1.0, 400)
    distances = w.distances(mb.integrate(q0, s[:, None] * dv))
    least = np.full(len(s), np.inf)
    np.minimum.at(least, distances.state, distances.distance)
    assert not (least[s < got.part] < 0.4e-4).any()
    if got.free:
        assert part == 1.0 or least.min() < 2e-4
        assert np.array_equal(got.q, q1)
    else:
        assert w.distances(got.q, 1.0).distance.min() <= 1e-4
        assert part < 1.0 or least.min() < 2e-4
        if part < 1.0:  # both end within the gap of the first touch
            between = w.distances(mb.integrate(q0, np.linspace(*sorted((part, got.part)), 50)[:, None] * dv), 1.0)
            assert between.distance.max(initial=0.0) >= 0.0
            nearest = np.full(50, np.inf)
            np.minimum.at(nearest, between.state, between.distance)
            assert nearest.max() < 2e-4


def test_a_ball_on_a_free_body_meets_a_wall():
    """The body flies on a screw: it turns about z by an angle t and ends where the closed form says."""
    rb = hand(sc.Free())
    w = World(rb)
    w.add("ball", Sphere(0.1), sc.Pose(translation=(0.5, 0, 0)), on="hand")
    w.add("wall", Box(10, 1, 10), sc.Pose(translation=(0, 2.5, 0)))
    q0 = np.array([0, 0, 0, 1.0, 0, 0, 0])
    q1 = rb.mb.integrate(q0, [0, 0, 1.0, 0, 2.0, 0])
    got = w.edge(q0, q1, gap=1e-9)
    assert not got
    assert got.pair == ("ball/shape", "wall/shape")

    def height(s):  # of the ball: the origin moves on an arc of rate 2 and turn 1, the ball turns with it
        return 2.0 * np.sin(s) + 0.5 * np.sin(s)

    assert abs(height(got.part) - 1.9) < 1e-8


@pytest.mark.parametrize("out", [0.0, 4.0])
def test_an_arc_bends_into_a_wall_that_its_velocity_passes_by(out):
    """Half way the ball moves along the wall; it is the acceleration, which grows with the slide, that leads into it:
    where (1 + out) cos(angle) is less than what the wall leaves."""
    w = World(hand(sc.Pin((0, 0, 1)), sc.Prismatic((1, 0, 0))))
    w.add("ball", Sphere(0.1), sc.Pose(translation=(1, 0, -0.3)), on="hand")
    radius = 1.0 + out
    face = 0.9 * radius - 0.1
    w.add("wall", Box(1, 40, 40), sc.Pose(translation=(face - 0.5, 0, 0)))
    angle = np.arccos(0.9)
    assert w.edge([-0.99 * angle, out], [0.99 * angle, out])
    got = w.edge([-0.5 * angle, out], [1.5 * angle, out], gap=1e-8)
    assert not got
    assert abs(got.part - 0.75) < 1e-7
    assert not w.edge([-1.2 * angle, out], [1.2 * angle, out], first=False)


@pytest.mark.parametrize("name", ["a rod", "the rod"])
@pytest.mark.parametrize("kind", ["capsule", "box", "hull"])
@pytest.mark.parametrize("seed", range(3))
def test_a_rod_that_turns_about_its_middle_meets_a_wall(name, kind, seed):
    """Its middle rests; its ends meet the wall where length sin(angle) is the distance of that. However it all is
    turned, whatever it is carried by, the wall too, and whichever shape is the first."""
    turn = random_pose(np.random.default_rng(seed), 0.5)
    mb = sc.Multibody("turned")
    mb.add_body("base", hinge=sc.Pin((0, 1, 0)), inertia=sc.Inertia(1.0))
    mb.add_body("hand", "base", hinge=sc.Pin((0, 1, 0)), inertia=sc.Inertia(1.0), inboard=turn)
    w = World(Robot(mb))
    along = sc.Pose.from_rpy(0.0, np.pi / 2, 0.0)
    shapes = {"capsule": Capsule(0.0, 2.0), "box": Box(0.0, 0.0, 2.0), "hull": hull_of_rod()}
    w.add(name, shapes[kind], along, on="hand")
    w.add("some wall", Box(4, 4, 1), turn @ sc.Pose(translation=(0, 0, -1.0)), on="base")
    for base in (0.0, 0.7, -0.7, 2.0):
        got = w.edge([0.0, -0.2], [base, 1.2], gap=1e-8)
        assert not got
        assert abs(1.4 * got.part - 0.2 - np.arcsin(0.5)) < 1e-7
        assert w.edge([0.0, -0.5], [base, 0.5])


def hull_of_rod():
    return sc.contact.ConvexHull([(0, 0, 1), (0, 0, -1), (1e-9, 0, 0), (0, 1e-9, 0), (-1e-9, -1e-9, 0)])


@pytest.mark.parametrize("slides", [Sphere(0.1), cube(0.1, mesh=True)])
def test_a_mesh_hides_what_its_nearest_face_does_not_tell(slides):
    """A ball or a mesh slides along a wall, whose normal is across its motion, into a plate of the same scan."""
    w = World(hand(sc.Prismatic((1, 0, 0))))
    w.add("ball", slides, on="hand")
    y, z = np.meshgrid(np.arange(-0.49, 0.5, 0.02), np.arange(-0.49, 0.5, 0.02))
    wall = np.column_stack([y.ravel(), np.full(y.size, 0.13), z.ravel()])
    plate = np.column_stack([np.full(y.size, 0.81), y.ravel(), z.ravel()])
    w.add_points("scan", np.concatenate([wall, plate]), voxel=0.02)
    got = w.edge([-0.3], [0.9], gap=1e-6)
    assert not got
    assert abs(-0.3 + 1.2 * got.part - 0.7) < 1e-5


def test_a_door_frame_is_passed_without_a_touch():
    """A slide through a gap of a millimetre on each side is free, and one of half a micrometre is not."""
    for clear, free in ((1e-3, True), (5e-7, False)):
        w = World(hand(sc.Prismatic((1, 0, 0))))
        w.add("rod", Capsule(0.1, 0.2), on="hand")
        for side in (-1.0, 1.0):
            w.add(f"jamb{side:+g}", Box(0.2, 1.0, 1.0), sc.Pose(translation=(0.5, side * (0.6 + clear), 0)))
        got = w.edge([0.0], [1.0], gap=1e-6)
        assert got.free is free


def test_edges_are_each_edge_whatever_the_threads():
    w, rng = crowd(3)
    q0 = w.sample(rng, 60)
    q1 = q0 + rng.uniform(-0.2, 0.2, q0.shape)
    many = w.edges(q0, q1)
    assert 5 < many.free.sum() < 55
    assert len(many) == len(list(many)) == 60
    assert repr(many) == f"60 motions, {many.free.sum()} free"
    for i, (a, b) in enumerate(zip(q0, q1, strict=True)):
        one, same = w.edge(a, b), many[i]
        assert isinstance(same, Edge)
        assert (one.free, one.part, one.pair, one.distance) == (same.free, same.part, same.pair, same.distance)
        assert np.array_equal(one.q, same.q)
    for threads in (2, 5):
        other = w.edges(q0, q1, threads=threads)
        assert np.array_equal(other.part, many.part)
        assert np.array_equal(other.q, many.q)
        assert np.array_equal(other.shapes, many.shapes)


def test_any_touch_is_enough_for_a_planner():
    """first=False says the same of what is free; where it is not, it tells a configuration that touches."""
    w, rng = crowd(4)
    q0 = w.sample(rng, 80)
    q1 = q0 + rng.uniform(-0.3, 0.3, q0.shape)
    first, some = w.edges(q0, q1), w.edges(q0, q1, first=False)
    assert np.array_equal(first.free, some.free)
    assert (some.part >= first.part).all()
    for each in some:
        assert each.free or w.distances(each.q, 1e-5).distance.min() <= 1e-5


def test_an_edge_that_begins_in_something_ends_at_once():
    w = World(hand(sc.Pin((0, 0, 1))))
    w.add("ball", Sphere(0.1), sc.Pose(translation=(1, 0, 0)), on="hand")
    w.add("post", Sphere(0.1), sc.Pose(translation=(1, 0, 0)))
    got = w.edge([0.0], [1.0])
    assert (got.free, got.part) == (False, 0.0)
    assert np.array_equal(got.q, [0.0])
    assert not w.edge([0.0], [0.0])
    assert w.edge([1.0], [1.0])
    assert "touch at 0 of the way" in repr(got)
    assert repr(w.edge([2.0], [2.1])) == "free, nothing is near where it was looked"


def test_padding_holds_along_an_edge():
    w = World(hand(sc.Prismatic((1, 0, 0))))
    w.add("ball", Sphere(0.1), on="hand")
    w.add("wall", Box(0.2, 4, 4), sc.Pose(translation=(1.1, 0, 0)))
    w.pad("wall", 0.05)
    w.pad("ball", 0.02, "wall")
    assert abs(w.edge([0.0], [1.0]).part - (1.0 - 0.1 - 0.07)) < 1e-5


def test_what_edges_refuse():
    w = World(hand(sc.Pin((0, 0, 1))))
    w.add("ball", Sphere(0.1), sc.Pose(translation=(1, 0, 0)), on="hand")
    w.add("floor", Plane(), sc.Pose(translation=(0, 0, -0.5)))
    with pytest.raises(StateError, match="an edge goes from one configuration to one other"):
        w.edge([[0.0], [1.0]], [1.0])
    with pytest.raises(StateError, match="an edge goes from one configuration to one other"):
        w.edge(np.zeros((2, 1)), np.zeros(1))
    with pytest.raises(StateError, match="an edge goes from one configuration to one other"):
        w.edge(np.zeros(1), np.zeros((2, 1)))
    with pytest.raises(StateError, match=r"edges go from as many configurations as they go to, got \(2,\) and \(3,\)"):
        w.edges(np.zeros((2, 1)), np.zeros((3, 1)))
    with pytest.raises(StateError, match=r"edges go from as many .*got \(\) and \(\)"):
        w.edges([0.0], [1.0])
    with pytest.raises(StateError, match="gap must be positive"):
        w.edges(np.zeros((2, 1)), np.zeros((2, 1)), gap=-1.0)
    with pytest.raises(ValueError, match="threads"):
        w.edges(np.zeros((2, 1)), np.zeros((2, 1)), threads=0)
    with pytest.raises(StateError, match="q of 'hand'"):
        w.edge([np.nan], [1.0])
    sheet = World(hand(sc.Pin((0, 0, 1))))
    sheet.add("sheet", Plane(), on="hand")
    sheet.add("ball", Sphere(0.1), sc.Pose(translation=(0, 0, 1)))
    with pytest.raises(StateError, match=r"shape 'sheet/shape' is a plane without end that moves.*make it a box"):
        sheet.edge([0.0], [1.0])
    assert abs(sheet.distances([0.3]).distance[0] - 0.9) < 1e-12


def test_an_edge_along_a_surface_says_when_it_gives_up():
    """A turning ball-ended rod stays a nanometre off a plate of which no normal clears it."""
    mb = sc.Multibody("skim")
    mb.add_body("a", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    mb["a"].add_geometry(sc.Geometry("rod", "box", (2.0, 2.0, 0.1)))
    w = World(Robot(mb))
    w.add("plate", Box(2.0, 2.0, 0.1), sc.Pose(translation=(0, 0, 0.1 + 2e-12)))
    with pytest.raises(ConvergenceError, match=r"took 100000 steps and is at .* of the way: give a larger gap"):
        w.edge([0.0], [1.5], gap=1e-12)


@pytest.mark.parametrize("far", [1e100, 1e300])
def test_an_edge_that_is_too_long_is_refused(far):
    w = World(hand(sc.Pin((0, 0, 1))))
    w.add("ball", Sphere(0.1), sc.Pose(translation=(1, 0, 0)), on="hand")
    w.add("post", Sphere(0.1), sc.Pose(translation=(0, 1, 0)))
    told = f"an edge of 'hand' is too long to be judged: its coordinates go up to {far:.3g}"
    for call in (lambda: w.edge([0.0], [far]), lambda: w.edge([far], [0.0]), lambda: w.edges([[0.0]], [[far]])):
        with pytest.raises(StateError) as refused:
            call()
        assert str(refused.value).startswith(told)


def test_first_is_yes_or_no():
    w = World(hand(sc.Pin((0, 0, 1))))
    for first in (None, 1, "no", np.zeros(2)):
        with pytest.raises(StateError, match="first= is True for the first touch, or False for any"):
            w.edge([0.0], [1.0], first=first)
        with pytest.raises(StateError, match="first= is True for the first touch, or False for any"):
            w.edges([[0.0]], [[1.0]], first=first)


def test_edges_of_a_robot_without_dofs():
    mb = sc.Multibody("still")
    mb.add_body("a", hinge=sc.Weld(), inertia=sc.Inertia(1.0)).add_geometry(sc.Geometry("g", "sphere", (0.1,)))
    assert World(Robot(mb)).edges(np.zeros((3, 0)), np.zeros((3, 0))).free.tolist() == [True] * 3

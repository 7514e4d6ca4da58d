"""Worlds: what touches, how far things are, and whether a motion is free, against closed forms and fine samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries

import soacraft as sc
from soacraft.contact import Box, Capsule, Plane, Sphere
from soacraft.errors import ModelError, StateError
from soacraft.robot import Robot, World


def swing(length=1.0, radius=0.05):
    """A ball on the end of a link without shape, that turns about z."""
    mb = sc.Multibody("swing")
    body = mb.add_body("link", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    body.add_geometry(sc.Geometry("ball", "sphere", (radius,), sc.Pose(translation=(length, 0, 0))))
    return Robot(mb)


def arm(seed, hinges=(sc.Pin, sc.Prismatic)):
    """Capsules one after the other, with random axes."""
    rng = np.random.default_rng(seed)
    mb, last = sc.Multibody("arm"), None
    for i in range(4):
        inboard = sc.Pose() if last is None else sc.Pose(translation=(0, 0, 0.5))
        hinge = hinges[int(rng.integers(len(hinges)))](rng.standard_normal(3))
        body = mb.add_body(f"b{i}", parent=last, hinge=hinge, inertia=sc.Inertia(1.0), inboard=inboard)
        body.add_geometry(sc.Geometry("skin", "capsule", (0.04, 0.4), sc.Pose(translation=(0, 0, 0.25))))
        last = body.name
    return Robot(mb), rng


def test_an_edge_ends_where_the_ball_meets_the_wall():
    """The ball of radius r at distance 1 turns from 0 to 90 degrees and meets the plane y = 0.5 where sin = 0.5 - r."""
    w = World(swing())
    w.add("wall", Box(4.0, 0.2, 4.0), sc.Pose(translation=(0.0, 0.6, 0.0)))
    got = w.edge([0.0], [np.pi / 2])
    angle = np.arcsin(0.45)
    assert not got
    assert got.pair == ("link/ball", "wall/shape")
    assert angle - 1e-4 < got.part * np.pi / 2 <= angle
    assert np.allclose(got.q, got.part * np.pi / 2)
    assert "touch at" in repr(got)
    assert w.edge([0.0], [angle - 1e-3])
    assert w.edge([0.0], [-1.0]).free


@given(st.integers(0, 10_000))
@tries(25)
def test_a_thin_plate_is_never_missed(seed):
    """Plates of a tenth of a millimetre, edges of a few degrees: what fine samples touch, the edge has told."""
    rb, rng = arm(seed)
    w = World(rb)
    q0 = rng.uniform(-1.0, 1.0, rb.mb.nq)
    q1 = q0 + rng.uniform(-0.5, 0.5, rb.mb.nq)
    tip = rb.mb.pose("b3", state=rb.mb.state(0.5 * (q0 + q1))).translation
    turn = rng.standard_normal(4)
    w.add("plate", Box(0.3, 0.3, 1e-4), sc.Pose.from_quaternion(turn / np.linalg.norm(turn), tip))
    got = w.edge(q0, q1)
    s = np.linspace(0.0, 1.0, 2000)
    hits = w.collides(q0 + s[:, None] * (q1 - q0))
    if got.free:
        assert not hits.any()
    else:
        assert not hits[s < got.part].any()
        assert w.distances(got.q, 1.0).distance.min() < 1e-5


def test_hinges_that_both_shapes_hang_from_do_not_bring_them_nearer():
    """The first hinge turns the whole arm: two links 5 mm apart stay so, and the edge takes few steps."""
    mb = sc.Multibody("pair")
    mb.add_body("turn", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    for i, y in enumerate((0.0, 0.105)):
        body = mb.add_body(f"b{i}", parent="turn", hinge=sc.Pin((1, 0, 0)), inertia=sc.Inertia(1.0))
        body.add_geometry(sc.Geometry("ball", "sphere", (0.05,), sc.Pose(translation=(1.0, y, 0.0))))
    w = World(Robot(mb))
    got = w.edge([0.0, 0.0, 0.0], [3.0, 0.0, 0.0])
    assert got.free
    assert abs(got.distance - 0.005) < 1e-12


def test_gradients_of_distances_are_their_differences():
    rb, rng = arm(3)
    w = World(rb)
    w.add("ball", Sphere(0.1), sc.Pose(translation=(0.6, 0.5, 0.4)))
    w.add("box", Box(0.3, 0.2, 0.4), sc.Pose.from_rpy(0.3, 0.2, 0.1, (-0.5, 0.4, 0.3)))
    w.add("rod", Capsule(0.05, 0.3), sc.Pose.from_rpy(0.3, 0.2, 0.1, (0.1, -0.6, 0.7)))
    for _ in range(5):
        q = rng.uniform(-1.0, 1.0, rb.mb.nq)
        rows = w.distances(q)
        assert rows.gradient.shape == (len(rows), rb.mb.nv)
        for j in range(rb.mb.nv):
            h = 1e-6 * np.eye(rb.mb.nv)[j]
            slope = (w.distances(q + h).distance - w.distances(q - h).distance) / 2e-6
            assert np.allclose(rows.gradient[:, j], slope, atol=1e-5)


def test_a_batch_is_each_of_its_states():
    rb, rng = arm(5)
    w = World(rb)
    w.add("floor", Plane(), sc.Pose(translation=(0, 0, -0.3)))
    q = rng.uniform(-2.0, 2.0, (40, rb.mb.nq))
    hits = w.collides(q)
    assert hits.any()
    assert not hits.all()
    assert [w.collides(x) for x in q] == hits.tolist()
    assert w.collides(q.reshape(4, 10, -1)).shape == (4, 10)


def test_objects_come_move_hide_and_go():
    w = World(swing())
    w.add("block", Sphere(0.3), sc.Pose(translation=(1.0, 0.0, 0.0)))
    assert w.collides([0.0])
    assert w.touching([0.0]) == [("block/shape", "link/ball")]
    w.hide("block")
    assert not w.collides([0.0])
    w.show("block")
    assert w.collides([0.0])
    w.move("block", sc.Pose(translation=(0.0, 1.0, 0.0)))
    assert not w.collides([0.0])
    assert w.collides([np.pi / 2])
    w.pad("block", 0.7)
    assert not w.collides([0.0])
    w.pad("block", 1.2)                                               # 1.414 - 0.35 apart
    assert w.collides([0.0])
    w.pad("block", 0.0)
    w.allow("block", "link", "meant")
    assert not w.collides([np.pi / 2])
    assert w.allowed == {("block", "link"): "meant"}
    w.disallow("link", "block")
    assert w.collides([np.pi / 2])
    w.remove("block")
    assert w.objects == ()


def test_an_object_on_the_robot_moves_with_it():
    rb = swing()
    w = World(rb)
    w.add("tool", Sphere(0.1), sc.Pose(translation=(1.5, 0, 0)), on="link")
    w.add("post", Sphere(0.1), sc.Pose(translation=(0.0, 1.5, 0)))
    assert not w.collides([0.0])
    assert w.collides([np.pi / 2])
    assert w.touching([np.pi / 2]) == [("post/shape", "tool/shape")]


def test_filters_and_padding_survive_edits_of_the_robot():
    rb = swing()
    w = World(rb)
    w.add("block", Sphere(0.3), sc.Pose(translation=(1.0, 0.0, 0.0)))
    w.allow("block", "link")
    w.pad("block", 0.05)
    rb.mb.add_body("more", parent="link", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    rb.mb["more"].add_geometry(sc.Geometry("ball", "sphere", (0.05,), sc.Pose(translation=(1.38, 0, 0))))
    assert w.touching([0.0, 0.0]) == [("block/shape", "more/ball")]
    assert abs(w.distances([0.0, 0.0]).distance[0] - (0.38 - 0.35 - 0.05)) < 1e-12


def test_an_object_with_hinges_is_where_its_state_says():
    door = sc.Multibody("door")
    panel = door.add_body("panel", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    panel.add_geometry(sc.Geometry("wood", "box", (1.0, 0.02, 1.0), sc.Pose(translation=(0.5, 0, 0))))
    shut, ajar = World(swing()), World(swing())
    shut.add("door", model=door, pose=sc.Pose(translation=(0.5, 0, 0)))
    assert shut.collides([0.0])
    door.set_state(q=[np.pi / 2])
    ajar.add("door", model=door, pose=sc.Pose(translation=(0.5, 0, 0)))
    assert not ajar.collides([0.0])
    ajar.allow("door", "link")
    shut.hide("door")
    assert not shut.collides([0.0])


def test_points_of_a_scan_are_held_by_their_balls():
    rng = np.random.default_rng(0)
    points = rng.uniform(-0.1, 0.1, (300, 3)) + np.array([1.0, 0.0, 0.0])
    w = World(swing(radius=1e-6))
    w.add_points("scan", points, voxel=0.05)
    for p in points[:50]:
        rb = swing(length=float(np.hypot(*p[:2])), radius=0.0)
        rb.mb["link"].inboard = sc.Pose(translation=(0, 0, p[2]))
        other = World(rb)
        other.add_points("scan", points, voxel=0.05)
        assert other.collides([np.arctan2(p[1], p[0])])


def test_pairs_that_always_or_never_touch_are_told():
    """Balls at fixed distances: one pair touches always, one never, one depends on the angle."""
    mb = sc.Multibody("balls")
    mb.add_body("a", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    mb.add_body("b", parent="a", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    mb.add_body("c", parent="b", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    mb.add_body("d", parent="c", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    for name, x, r in (("a", 0.0, 0.2), ("c", 0.1, 0.2), ("d", 1.0, 0.85)):
        mb[name].add_geometry(sc.Geometry("ball", "sphere", (r,), sc.Pose(translation=(x, 0, 0))))
    w = World(Robot(mb))
    got = w.make_allowed(samples=2000, seed=1)
    kinds = {(x.a, x.b): x.kind for x in got.rows}
    assert kinds == {("a", "c"): "always", ("a", "d"): "always", ("c", "d"): "adjacent"}
    assert w.allowed == {("a", "c"): "always", ("a", "d"): "always"}
    assert not w.collides(np.zeros(4))
    assert "2 always" in repr(got)
    assert w.make_allowed(samples=50, seed=1).of("never") == [("a", "c"), ("a", "d")]


def test_what_is_refused():
    w = World(swing())
    with pytest.raises(ModelError, match="there is 'link' already"):
        w.add("link", Sphere(1.0))
    with pytest.raises(ModelError, match="the world has no object 'tabel'"):
        w.remove("tabel")
    with pytest.raises(ModelError, match="there is no body, shape or object 'linc'; did you mean 'link'"):
        w.pad("linc", 0.1)
    with pytest.raises(ModelError, match="is a shape, or a model"):
        w.add("thing")
    with pytest.raises(ModelError, match="must be a shape, or"):
        w.add("thing", 3.0)
    with pytest.raises(StateError, match="a padding must not be negative"):
        w.pad("link", -0.1)
    with pytest.raises(ModelError, match="were not allowed to touch"):
        w.disallow("link", "link/ball")
    with pytest.raises(ModelError, match="is not hidden"):
        w.show("link")
    with pytest.raises(StateError, match="gap must be positive"):
        w.edge([0.0], [1.0], gap=0.0)
    with pytest.raises(StateError, match="voxel must be positive"):
        w.add_points("scan", [[0.0, 0.0, 0.0]], voxel=0.0)
    with pytest.raises(StateError, match="has no points"):
        w.add_points("scan", np.zeros((0, 3)))
    with pytest.raises(ModelError, match="a World is around a Robot"):
        World(sc.Multibody("x"))
    rolling = sc.Multibody("rolling")
    ball = rolling.add_body("ball", hinge=sc.RollingBall(0.1), inertia=sc.Inertia(1.0))
    ball.add_geometry(sc.Geometry("s", "sphere", (0.1,)))
    with pytest.raises(StateError, match=r"an edge needs bounds on how far hinges move .* body 'ball' has none"):
        World(Robot(rolling)).edge(rolling.q, rolling.q)


def test_inverse_kinematics_keeps_clear_of_the_world():
    rb = Robot(sc.load("ur5e"))
    limb = rb.limb("arm", "inertial", "wrist_3_link")
    q = np.array([0.3, -1.1, 1.4, -0.9, 1.2, 0.4])
    goal = limb.pose(q)
    w = World(rb)
    elbow = rb.mb.pose("forearm_link", state=rb.mb.state(limb.of_robot(q))).translation
    assert np.abs(limb.ik(goal, near=q, collisions=w).q - q).max() < 1e-6
    w.add("post", Sphere(0.05), sc.Pose(translation=elbow))
    assert w.collides(limb.of_robot(q))
    r = limb.ik(goal, near=q, collisions=w)
    assert r.found
    assert not w.collides(limb.of_robot(r.q))
    assert limb.pose(r.q).is_close(goal)
    w.add("block", Sphere(0.05), sc.Pose(translation=goal.translation))
    r = limb.ik(goal, near=q, collisions=w)
    assert not r.found
    assert "solutions touch something" in r.why
    assert "block/shape" in r.why
    with pytest.raises(StateError, match="collisions= is a World around this robot"):
        limb.ik(goal, collisions=World(rb.copy()))


def test_configurations_are_drawn_alike_in_other_units():
    """A slide without limits goes as far as the model is long: a model ten times as large goes ten times as far."""
    drawn = []
    for scale in (1.0, 10.0):
        mb = sc.Multibody("slide")
        mb.add_body("a", hinge=sc.Prismatic((1, 0, 0)), inertia=sc.Inertia(1.0))
        along = sc.Pose(translation=(scale, 0, 0))
        mb.add_body("b", parent="a", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0), inboard=along)
        drawn.append(World(Robot(mb)).sample(np.random.default_rng(0), 50))
    assert np.allclose(drawn[1], drawn[0] * [10.0, 1.0])

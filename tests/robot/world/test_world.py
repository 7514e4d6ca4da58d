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
    assert got.distance == np.inf  # they never come nearer, so that nobody looked


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


def test_what_is_refused():
    w = World(swing())
    with pytest.raises(StateError, match="gap must be positive"):
        w.edge([0.0], [1.0], gap=0.0)
    with pytest.raises(ModelError, match="a World is around a Robot"):
        World(sc.Multibody("x"))
    rolling = sc.Multibody("rolling")
    ball = rolling.add_body("ball", hinge=sc.RollingBall(0.1), inertia=sc.Inertia(1.0))
    ball.add_geometry(sc.Geometry("s", "sphere", (0.1,)))
    with pytest.raises(StateError, match=r"an edge needs bounds on how far hinges move .* body 'ball' has none"):
        World(Robot(rolling)).edge(rolling.q, rolling.q)

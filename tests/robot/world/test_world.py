"""Worlds: what touches, how far things are, and whether a motion is free, against closed forms and fine samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.robot.world.robots import door_model, swing, two_arms

import soacraft as sc
from soacraft.contact import Box, Capsule, ConvexHull, Plane, Sphere
from soacraft.errors import ModelError, StateError
from soacraft.robot import Robot, World


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


def crowded(tmp_path):
    """A world with objects of all kinds, of which much was said; the robot holds one that it was given."""
    (tmp_path / "post.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    rb = two_arms()
    w = World(rb)
    w.add("table", Box(1.0, 1.0, 0.1), sc.Pose(translation=(0.3, 0.3, 0.2)))
    w.add(
        "tool", {"grip": Sphere(0.03), "bit": (Capsule(0.02, 0.1), sc.Pose(translation=(0, 0, 0.1)))}, on="left2/hand"
    )
    post = sc.Geometry("", "mesh", (0.3, 0.3, 0.3), mesh="post.obj")
    w.add("post", post, sc.Pose(translation=(0.4, -0.6, 0.5)), folder=tmp_path)
    w.add("gate", model=door_model(), pose=sc.Pose(translation=(0.5, -1.0, 0.3)))
    w.set_state("gate", [0.4])
    w.add_points("scan", np.random.default_rng(0).uniform(0.5, 0.8, (50, 3)))
    w.add("cup", ConvexHull(0.1 * np.concatenate([np.eye(3), [(0, 0, 0)]])), sc.Pose(translation=(0.1, 0.3, 1.1)))
    w.give_to_robot("cup", sc.Inertia(0.3))
    rb.attach("cup", "left2/hand")
    w.hide("scan")
    w.pad("cup", 0.01)
    w.pad("cup", 0.02, "table")
    w.allow("gate.panel", "right2", "on its way")
    w.detail("post", "mesh")
    w.detail("right0", "spheres", count=3)
    return w


def test_a_copy_is_a_world_of_its_own_with_the_same_distances(tmp_path):
    w = crowded(tmp_path)
    q = w.sample(0, 4)
    told = w.distances(q)
    on_copy = w.robot.copy()
    for other in (w.copy(), w.copy(on_copy), w.copy().copy(), w.copy(w.robot)):
        found = other.distances(q)
        assert found.pairs == told.pairs
        assert (found.numbers == told.numbers).all()
        assert (found.gradient == told.gradient).all()
        assert (other.objects, other.given, other.hidden) == (w.objects, w.given, w.hidden)
        assert (other.paddings, other.allowed, other.details) == (w.paddings, w.allowed, w.details)
    assert w.copy(on_copy).robot is on_copy
    assert w.copy(w.robot).robot is w.robot
    assert w.copy().robot is not w.robot


@pytest.mark.parametrize("first", [False, True])
def test_what_is_done_to_a_copy_or_to_the_first_is_not_done_to_the_other(tmp_path, first):
    w = crowded(tmp_path)
    other = w.copy()
    done, left = (w, other) if first else (other, w)
    q = w.sample(0, 3)
    told = left.distances(q)
    done.move("table", sc.Pose())
    done.set_state("gate", [1.0])
    done.item("gate").model.set_state(q=[1.2])
    done.remove("tool")
    done.show("scan")
    done.pad("cup", 0.1)
    done.disallow("gate.panel", "right2")
    done.detail("right0", "given")
    done.robot.detach("cup")
    done.robot.mb.set_state(q=np.array(done.robot.mb.q) + 0.0)
    done.give_to_robot("gate")
    found = left.distances(q)
    assert found.pairs == told.pairs
    assert (found.numbers == told.numbers).all()
    assert left.robot.held == {"cup": ("left2/hand",)}


def test_a_copy_on_a_robot_that_lacks_a_body_is_refused():
    w = World(swing())
    w.add("tool", Sphere(0.1), on="link")
    with pytest.raises(ModelError, match="object 'tool' is on 'link', which the robot 'two arms' does not have"):
        w.copy(two_arms())
    with pytest.raises(ModelError, match="a World is around a Robot, got 3"):
        w.copy(3)

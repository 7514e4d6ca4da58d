"""Plans: never one that the exact check refuses, over random robots and scenes; goals of all kinds; refusals."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries

import soacraft as sc
from soacraft.contact import Box, Sphere
from soacraft.errors import StateError
from soacraft.robot import MotionLimits, Robot, World, plan
from soacraft.spatial.rotations import log

A, B = [-0.7, 0.5, 0.0, -1.5, 0.0, 2.0, 0.0], [0.7, 0.5, 0.0, -1.5, 0.0, 2.0, 0.0]


def post():
    """A Panda with a post in its way from A to B."""
    w = World(Robot(sc.load("panda")))
    w.add("post", Box(0.1, 0.1, 1.5), sc.Pose(translation=(0.5, 0.0, 0.4)))
    return w


def swinging(hinges, limits=None):
    """A chain of rods in the plane, and other hinges, each with a capsule."""
    mb = sc.Multibody("chain")
    along = sc.Pose(rotation=sc.Pose.from_rpy(0, np.pi / 2, 0).rotation, translation=(0.5, 0, 0))
    for i, hinge in enumerate(hinges):
        at = sc.Pose(translation=(1.0 if i else 0.0, 0, 0))
        body = mb.add_body(f"l{i}", f"l{i - 1}" if i else None, hinge, sc.Inertia(1.0), inboard=at)
        body.add_geometry(sc.Geometry("rod", "capsule", (0.06, 0.7), along, role="collision"))
        if limits is not None:
            body.limits = limits
    return Robot(mb)


def holds(w, p, start, goals):
    """The path begins and ends where it should, within limits, and every motion of it is free, by the exact check and
    by plain samples."""
    mb = w.robot.mb
    assert np.abs(p.path[0] - start).max() == 0.0
    ends = [mb.difference(g, p.path[-1]) for g in np.atleast_2d(goals)]
    assert min(np.abs(np.remainder(e + np.pi, 2 * np.pi) - np.pi).max() for e in ends) < 1e-9
    for a, b in pairwise(p.path):
        assert w.edge(a, b)
        between = [mb.integrate(a, s * np.asarray(mb.difference(a, b))) for s in np.linspace(0.0, 1.0, 200)]
        assert not np.any(w.collides(np.array(between)))
    ranges = [(x.limits, mb.layout.hinge_q[k]) for k, x in enumerate(mb.bodies) if x.hinge.nq == x.hinge.nv]
    for x, at in ranges:
        assert (p.path[:, at] >= x.lower - 1e-9).all()
        assert (p.path[:, at] <= x.upper + 1e-9).all()


@tries(15)
@given(st.integers(0, 10**6), st.sampled_from(["pins", "limited", "ball", "free", "mixed"]))
def test_no_path_is_returned_that_the_exact_check_refuses(seed, kind):
    rng = np.random.default_rng(seed)
    pin = sc.Pin((0, 0, 1))
    rb = {
        "pins": lambda: swinging([pin] * 3),
        "limited": lambda: swinging([pin] * 3, sc.Limits(lower=-2.5, upper=2.5)),
        "ball": lambda: swinging([sc.Spherical(), pin]),
        "free": lambda: swinging([sc.Free()]),
        "mixed": lambda: swinging([sc.Prismatic((0, 0, 1)), pin, sc.Spherical()]),
    }[kind]()
    w = World(rb)
    for i in range(4):
        w.add(f"ball{i}", Sphere(rng.uniform(0.1, 0.5)), sc.Pose(translation=rng.uniform(-2.0, 2.0, 3) * [1, 1, 0.3]))
    free = w.sample(rng, 60)
    if kind == "limited":
        free[:] = rng.uniform(-2.5, 2.5, free.shape)
    free = free[~w.collides(free)]
    if len(free) < 2:
        return
    a, b = free[:2]
    if not w.edge(a, a) or not w.edge(b, b):  # within the gap of an edge though not in collision
        with pytest.raises(StateError, match="in collision"):
            plan(w, a, b)
        return
    p = plan(w, a, b, seed=seed, most=400)
    if p:
        holds(w, p, a, b)
        again = plan(w, a, b, seed=seed, most=400)
        assert (again.path == p.path).all()
    else:
        assert "400 motions checked" in p.why


def test_a_path_round_a_post_and_its_motion():
    w = post()
    assert not w.edge(A, B)
    p = plan(w, A, B)
    holds(w, p, A, B)
    assert p.length <= p.stats["first"] + 1e-12
    assert "motions checked in" in repr(p)
    limits = MotionLimits.of(w.robot, velocity=2.0, acceleration=10.0, effort=[87, 87, 87, 87, 12, 12, 12])
    motion = p.motion(limits)
    assert motion.check(limits)
    q = motion.at(np.linspace(0.0, motion.duration, 2000)).q
    assert not w.collides(q).any()
    # it stays on the path: each configuration is on one of its straight ways
    ways = list(pairwise(p.path))
    for x in q[::50]:
        off = [
            np.linalg.norm(x - a - (b - a) * np.clip((x - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)) for a, b in ways
        ]
        assert min(off) < 1e-9


def test_one_of_several_goals():
    w = post()
    blocked = [0.0, 0.5, 0.0, -1.5, 0.0, 2.0, 0.0]
    p = plan(w, A, [blocked, B, [-0.9, 0.5, 0.0, -1.5, 0.0, 2.0, 0.0]])
    assert p.stats["goals"] == 2
    holds(w, p, A, [B, [-0.9, 0.5, 0.0, -1.5, 0.0, 2.0, 0.0]])


def test_a_pose_as_goal():
    w = post()
    arm = w.robot.limb("arm", "inertial", "link7")
    goal = arm.pose(B)
    p = plan(w, A, goal, limb="arm")
    holds(w, p, A, p.path[-1])
    assert arm.pose(p.path[-1]).is_close(goal)
    turned = plan(w, A, goal, limb=arm, free="rz")
    X = goal.inv @ arm.pose(turned.path[-1])
    assert np.abs(X.translation).max() < 1e-6
    assert np.abs(X.rotation[2] - [0, 0, 1]).max() < 1e-6
    wide = plan(w, A, goal, limb=arm, tolerance=[0.1, 0.1, 0.1, 0.02, 0.02, 0.02])
    X = goal.inv @ arm.pose(wide.path[-1])
    assert np.abs(X.translation).max() <= 0.02 + 1e-9
    far = plan(w, A, sc.Pose(translation=(2.0, 0.0, 0.5)), limb=arm)
    assert not far
    assert "too far" in far.why
    with pytest.raises(StateError, match=r"there is no path to move along: too far"):
        far.motion()
    w.add("block", Sphere(0.06), sc.Pose(translation=goal.translation))
    inside = plan(w, A, goal, limb=arm)
    assert not inside
    assert "the goal is in collision in all solutions that were found: block" in inside.why.replace("link7/hull - ", "")


def test_a_limb_moves_and_the_rest_does_not():
    rb = Robot(sc.load("h1"))
    w, limb = World(rb), rb.limb("arm", "torso_link", "right_elbow_link")
    q = np.array(rb.mb.q)
    shoulder = rb.mb.pose("right_elbow_link").translation
    w.add("ball", Sphere(0.08), sc.Pose(translation=shoulder + np.array([0.25, 0.0, 0.05])))
    goal = limb.q + np.array([-1.2, 0.0, 0.0, 0.3])
    if w.touching(q):
        for a, b in w.touching(q):
            w.allow(a.rpartition("/")[0], b.rpartition("/")[0], "as it stands")
    p = plan(w, q, goal, limb=limb)
    assert p
    still = np.setdiff1d(np.arange(rb.mb.nq), limb.q_places)
    assert (p.path[:, still] == q[still]).all()
    assert np.abs(p.path[-1, limb.q_places] - goal).max() < 1e-12
    other = q.copy()
    other[still[-1]] += 0.1
    with pytest.raises(StateError, match=r"the goal moves dofs that are not of the limb"):
        plan(w, q, other, limb=limb)


def test_angles_without_limits_go_the_short_way():
    w = World(swinging([sc.Pin((0, 0, 1))]))
    p = plan(w, [3.0], [-3.0])
    assert p.path[-1, 0] == pytest.approx(2 * np.pi - 3.0)
    assert p.length == pytest.approx(2 * np.pi - 6.0)


def test_a_ball_does_not_go_round_the_back():
    """Turns of 2 rad either way about x: the short way between them is over pi, beyond the largest angle."""
    rb = swinging([sc.Spherical()], sc.Limits(lower=0.0, upper=2.2))
    w = World(rb)
    a, b = ([s * np.sin(1.0), 0, 0, np.cos(1.0)] for s in (1.0, -1.0))
    p = plan(w, a, b)
    assert len(p.path) > 2
    for x, y in pairwise(p.path):
        for s in np.linspace(0.0, 1.0, 50):
            q = rb.mb.integrate(x, s * np.asarray(rb.mb.difference(x, y)))
            assert 2.0 * np.arccos(min(abs(q[3]), 1.0)) <= 2.2 + 1e-9


def test_plans_are_alike_in_other_units():
    lengths = []
    for scale in (1.0, 1000.0):
        mb = sc.Multibody("crane")
        mb.add_body("cart", hinge=sc.Prismatic((1, 0, 0)), inertia=sc.Inertia(1.0)).limits = sc.Limits(-scale, scale)
        arm = mb.add_body("arm", "cart", sc.Pin((0, 0, 1)), sc.Inertia(1.0), inboard=sc.Pose(translation=(0, scale, 0)))
        arm.limits = sc.Limits(-2.0, 2.0)
        arm.add_geometry(
            sc.Geometry("tip", "sphere", (0.1 * scale,), sc.Pose(translation=(0, 0.5 * scale, 0)), role="collision")
        )
        w = World(Robot(mb))
        w.add("post", Sphere(0.2 * scale), sc.Pose(translation=(0, 1.5 * scale, 0)))
        p = plan(w, [-0.9 * scale, 0.0], [0.9 * scale, 0.0], seed=3)
        assert p
        lengths.append((p.length, len(p.path), p.stats["nodes"]))
    assert lengths[0][1:] == lengths[1][1:]
    assert lengths[0][0] == pytest.approx(lengths[1][0], rel=1e-6)


def test_what_is_refused():
    w = post()
    blocked = [0.0, 0.5, 0.0, -1.5, 0.0, 2.0, 0.0]
    with pytest.raises(StateError, match=r"the goal is in collision: link5/hull - post/shape touch"):
        plan(w, A, blocked)
    with pytest.raises(StateError, match=r"the start is in collision: link5/hull - post/shape touch"):
        plan(w, blocked, A)
    with pytest.raises(
        StateError, match=r"the goal is outside limits: dof 'joint2' = 2.5 is outside its limits -1.7628"
    ):
        plan(w, A, [0.7, 2.5, 0.0, -1.5, 0.0, 2.0, 0.0])
    with pytest.raises(StateError, match=r"goal 0 is in collision"):
        plan(w, A, [blocked, blocked])
    with pytest.raises(StateError, match=r"planner 'RTRConnect' is none of RRTConnect, .*did you mean 'RRTConnect'"):
        plan(w, A, B, planner="RTRConnect")
    with pytest.raises(StateError, match=r"a goal that is a Pose is one of the tip of a limb: give limb="):
        plan(w, A, sc.Pose())
    with pytest.raises(StateError, match=r"free= and tolerance= are for a goal that is a Pose"):
        plan(w, A, B, free="rz")
    with pytest.raises(StateError, match=r"limb= is a limb of this robot"):
        plan(w, A, B, limb=3)
    with pytest.raises(StateError, match=r"time_limit must be positive"):
        plan(w, A, B, time_limit=0.0)
    with pytest.raises(StateError, match=r"plan takes a World"):
        plan(w.robot, A, B)
    with pytest.raises(StateError, match=r"q0 is one configuration"):
        plan(w, [A, B], B)
    arm = w.robot.limb("arm", "inertial", "link7")
    with pytest.raises(StateError, match=r"a goal that is a Pose is one pose, of a limb with one tip"):
        plan(w, A, arm.pose([A, B]), limb=arm)
    assert plan(w, A, arm.pose(A), limb=arm, tolerance=[1e308] * 3 + [1e-3] * 3, most=200)  # turned as it likes
    none = plan(w, A, B, most=1)
    assert not none
    assert "no path was found with 1 motions checked; give most=... or another seed" in none.why
    late = plan(w, A, B, time_limit=1e-9)
    assert "no path was found in 1e-09 s" in late.why


@pytest.mark.parametrize("free", [("x",), ("x", "y"), ("rz",), ()], ids=str)
def test_the_end_is_in_the_region_that_was_asked_for(free):
    """A tip that may be anywhere along an axis of the goal, and be turned a little, stays on that axis."""
    w = World(Robot(sc.load("panda")))
    limb = w.robot.limb("arm", "inertial", "link7")
    within = np.array([0.2, 0.2, 0.2, 1e-3, 1e-3, 1e-3])
    counts = np.array([x not in free for x in ("rx", "ry", "rz", "x", "y", "z")])
    rng, low, high = np.random.default_rng(0), *limb.limits
    for seed in range(8):
        goal = limb.pose(0.8 * rng.uniform(low, high))
        p = plan(w, A, goal, limb=limb, free=free, tolerance=within, seed=seed, most=300)
        if p:
            X = goal.inv @ limb.pose(p.path[-1])
            off = np.abs(np.concatenate([log(X.rotation), X.translation]))
            assert (off <= within * (1 + 1e-9))[counts].all()


def test_goals_and_planners_of_any_kind():
    w = post()
    for goal in ("abc", [[1, 2], [3]], {"a": 1}, np.ones(7) * 1j, None):
        with pytest.raises(StateError, match="goal must be"):
            plan(w, A, goal)
    for planner in (np.zeros(2), None, ["RRT"]):
        with pytest.raises(StateError, match=r"planner .* is none of RRTConnect"):
            plan(w, A, B, planner=planner)
    for free in (None, 5, "rz", ["rz"]):
        with pytest.raises(StateError, match="free= and tolerance= are for a goal that is a Pose"):
            plan(w, A, B, free=free)


def test_a_path_without_length_has_no_motion():
    p = plan(post(), A, A)
    assert p.found
    assert p.length == 0.0
    with pytest.raises(StateError, match="the path has no length: the robot is at the goal"):
        p.motion(MotionLimits.of(p.world.robot, velocity=1.0, acceleration=1.0))

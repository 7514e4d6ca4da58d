"""No answer is outside limits, off its goal, in collision or with loops open, and called found: whatever is asked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.robot.limbs.arms import HINGES, SCREWS, arms, assert_kept, hands, inside, random_pose

import soacraft as sc
from soacraft.robot.limbs import searching
from soacraft.robot.limbs.asking import AXES, read_tolerance
from soacraft.spatial.rotations import exp, log

TOLERANCES = [None, 1e-6, 1e-3, [1e-2] * 3 + [1e-5] * 3]
PREFERENCES = [None, "near", "mid-range", "manipulability", lambda q: float(q[0])]


def goal_of(limb, rng, within_reach):
    """A pose that the limb can take, or one anywhere."""
    return limb.pose(inside(limb, rng)) if within_reach else random_pose(rng, 3.0)


@given(arms(), st.booleans(), st.sampled_from(PREFERENCES), st.sampled_from(TOLERANCES))
@tries(25)
def test_one_pose(drawn, within_reach, prefer, tolerance):
    limb, rng = drawn
    goal = goal_of(limb, rng, within_reach)
    near = inside(limb, rng) if prefer == "near" else None
    r = limb.ik(goal, near, tolerance=tolerance, prefer=prefer, seeds=60 if limb.engine is not None else 3)
    assert_kept(limb, goal, r, read_tolerance(limb, (), tolerance))


@given(arms(SCREWS), st.booleans(), st.sets(st.sampled_from(AXES), max_size=5))
@tries(40)
def test_free_axes(drawn, within_reach, free):
    limb, rng = drawn
    goal = goal_of(limb, rng, within_reach)
    r = limb.ik(goal, free=tuple(free), seeds=60)
    assert_kept(limb, goal, r, read_tolerance(limb, tuple(free), None))


@given(arms(HINGES), st.booleans(), st.sets(st.sampled_from(AXES), max_size=5))
@tries(15)
def test_free_axes_of_any_hinges(drawn, within_reach, free):
    limb, rng = drawn
    goal = goal_of(limb, rng, within_reach)
    r = limb.ik(goal, free=tuple(free), seeds=60 if limb.engine is not None else 3)
    assert_kept(limb, goal, r, read_tolerance(limb, tuple(free), None))


SOME_FREE = [("z",), ("rx", "ry"), ("x", "rz"), ("rx", "ry", "rz", "y"), ("x", "y", "z"), ("x", "y", "z", "rx", "rz")]


def shoulder():
    """A ball and pins: nothing is tied."""
    mb = sc.Multibody("arm")
    mb.add_body("upper", hinge=sc.Spherical(), inertia=sc.Inertia(1.0))
    last = "upper"
    for name, axis in (("elbow", (0, 1, 0)), ("wrist", (0, 0, 1)), ("hand", (0, 1, 0)), ("finger", (1, 0, 0))):
        at = sc.Pose(translation=(0.0, 0.1, 0.4))
        last = mb.add_body(name, last, sc.Pin(axis), sc.Inertia(1.0), inboard=at).name
    return sc.robot.Robot(mb).limb("arm", "inertial", last)


@pytest.mark.parametrize("free", SOME_FREE)
def test_limbs_with_a_ball_are_free_along_any_axes(free):
    """A goal that is moved along what is free is met, and is not without it."""
    limb, rng = shoulder(), np.random.default_rng(1)
    within = read_tolerance(limb, free, None)
    assert limb.engine is None
    way = np.where(np.isfinite(within), 0.0, [0.4, -0.5, 0.6, 5.0, -4.0, 6.0])
    goal = limb.pose(inside(limb, rng)) @ sc.Pose(exp(way[:3])) @ sc.Pose(translation=way[3:])
    r = limb.ik(goal, free=free, seeds=20)
    assert assert_kept(limb, goal, r, within)
    assert (np.asarray(r.residual)[~np.isfinite(within)] == 0.0).all()
    if np.abs(way[3:]).max():
        assert not limb.ik(goal, seeds=2).found


@pytest.mark.parametrize("free", [("rx", "ry", "x"), ("y", "rx", "rz"), ("rx", "ry", "rz", "z")])
def test_limbs_with_loops_are_free_along_any_axes(free):
    limb, _ = four_bar(3)
    moved = np.array(limb.robot.mb.q)
    moved[0] += 0.2
    moved = sc.loops.ConstraintEmbedding(limb.robot.mb).assemble(moved, fixed=["crank"])
    within = read_tolerance(limb, free, None)
    way = np.where(np.isfinite(within), 0.0, [0.0, 0.0, 0.0, 0.3, -0.4, 0.5])
    goal = limb.pose(moved[limb.q_places]) @ sc.Pose(translation=way[3:])
    r = limb.ik(goal, near=limb.q, free=free, seeds=20)
    assert assert_kept(limb, goal, r, within)
    assert (limb.of_robot(r.q) == r.robot_q).all()


def test_a_time_limit_ends_a_start_of_a_limb_with_loops(monkeypatch):
    """A goal that no start gets to: each start is given the remaining time, and none begins after it. The clock is the
    test's own, 4 ms a start, so that a busy machine changes nothing.
    """
    limb = sc.robot.Robot(sc.load("cassie")).limb("leg", "cassie-pelvis", "left-foot")
    here, limits, search, now = limb.pose(), [], searching.inverse_kinematics, [0.0]

    def timed(*arguments, **options):
        limits.append(options.pop("time_limit"))
        now[0] += 0.004
        return search(*arguments, **options)

    monkeypatch.setattr(searching, "inverse_kinematics", timed)
    monkeypatch.setattr(searching.time, "perf_counter", lambda: now[0])
    goal = sc.Pose(here.rotation, here.translation + np.array([0.0, 0.5, 0.3]))
    r = limb.ik(goal, near=limb.q, time_limit=0.01)
    assert assert_kept(limb, goal, r, read_tolerance(limb, (), None)) is False
    assert np.allclose(limits, [0.01, 0.006, 0.002], rtol=0.0, atol=1e-12)
    assert r.tried == 3
    assert limb.ik(goal, time_limit=1e-6).tried == 1


def test_parts_of_a_limb_share_a_time_limit(monkeypatch):
    """Fingers are searched one after the other, each in the time that is left."""
    asked = []

    def told(limb, part, goals, start, how):
        asked.append(how.seconds)
        now[0] += 0.4
        return searching.Several(limb.placed(start)[None], True, 1)

    now = [0.0]
    monkeypatch.setattr(searching, "_part", told)
    monkeypatch.setattr(searching.time, "perf_counter", lambda: now[0])
    mb = sc.Multibody("hand")
    for i in range(4):
        mb.add_body(f"f{i}", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    limb = sc.robot.Robot(mb).limb("hand", "inertial", [f"f{i}" for i in range(4)])
    limb.ik(limb.pose(), prefer="mid-range", time_limit=1.0)
    assert np.allclose(asked, [1.0, 0.6, 0.2, 0.0], atol=1e-5)
    assert min(asked) > 0.0


@given(arms(SCREWS), st.integers(1, 40), st.booleans())
@tries(20)
def test_batches(drawn, count, given_near):
    limb, rng = drawn
    poses = [goal_of(limb, rng, bool(rng.integers(2))) for _ in range(count)]
    goal = sc.Pose(np.array([x.rotation for x in poses]), np.array([x.translation for x in poses]))
    near = np.array([inside(limb, rng) for _ in range(count)]) if given_near else None
    r = limb.ik(goal, near, seeds=40)
    for i, pose in enumerate(poses):
        one = sc.robot.Reach(r.q[i], bool(r.found[i]), r.residual[i], r.tried[i], r.why[i])
        assert_kept(limb, pose, one, read_tolerance(limb, (), None))


@given(arms([*SCREWS[:2], HINGES[-1]], most=6), st.booleans())
@tries(15)
def test_among_obstacles(drawn, within_reach):
    limb, rng = drawn
    goal = goal_of(limb, rng, within_reach)
    world = _world(limb, rng)
    r = limb.ik(goal, collisions=world, seeds=16 if limb.engine is not None else 3)
    assert_kept(limb, goal, r, read_tolerance(limb, (), None), world)


def _world(limb, rng):
    """Balls on every body of the limb, boxes around, the pairs of the limb itself left alone."""
    world = sc.robot.World(limb.robot)
    for body in limb.bodies:
        world.add(f"on {body.name}", sc.contact.Sphere(0.05), on=body.name)
    for i in range(3):
        world.add(f"box{i}", sc.contact.Box(0.3, 0.3, 0.3), limb.robot.mb.pose(limb.base) @ random_pose(rng, 2.0))
    return world


@given(hands(), st.booleans(), st.sampled_from(PREFERENCES[:4]), st.sampled_from([(), ("rx", "ry", "rz"), "rz"]))
@tries(10)
def test_several_tips(drawn, within_reach, prefer, free):
    limb, rng = drawn
    goal = limb.pose(inside(limb, rng))
    if not within_reach:
        goal = sc.Pose(goal.rotation, goal.translation + rng.uniform(-1.0, 1.0, goal.translation.shape))
    near = inside(limb, rng) if prefer == "near" else None
    r = limb.ik(goal, near, free, prefer=prefer, seeds=20)
    assert r.residual.shape == (len(limb.tips), 6)
    assert_kept(limb, goal, r, read_tolerance(limb, free, None))


@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
@tries(8)
def test_closed_loops(seed, within_reach, limited):
    """A four-bar whose coupler carries two more hinges: the limb goes through the crank, and the rocker follows."""
    limb, rng = four_bar(seed, limited)
    q = limb.q
    if within_reach:
        moved = np.array(limb.robot.mb.q)
        moved[0] += rng.uniform(-0.2, 0.2)
        solver = sc.loops.ConstraintEmbedding(limb.robot.mb)
        try:
            moved = solver.assemble(moved, fixed=["crank"], limits=True)
        except sc.errors.SoacraftError:
            assume(False)
        q = moved[limb.q_places]
        q[2:] = rng.uniform(-1.0, 1.0, 2)
    goal = limb.pose(q) if within_reach else random_pose(rng, 4.0)
    free = ("rx", "ry", "rz")
    for near in (None, limb.q):
        r = limb.ik(goal, near, free, seeds=4)
        assert_kept(limb, goal, r, read_tolerance(limb, free, None))
        assert r.robot_q.shape == (limb.robot.mb.nq,)


def four_bar(seed, limited=False):
    rng = np.random.default_rng(seed)
    y, inertia = (0.0, 1.0, 0.0), sc.Inertia(1.0)
    mb = sc.Multibody("four bar")
    mb.add_body("crank", hinge=sc.Pin(y), inertia=inertia)
    mb.add_body("coupler", "crank", sc.Pin(y), inertia, inboard=sc.Pose(translation=(0.0, 0.0, 0.5)))
    mb.add_body("rocker", hinge=sc.Pin(y), inertia=inertia, inboard=sc.Pose(translation=(1.0, 0.0, 0.0)))
    mb["coupler"].add_node("end", sc.Pose(translation=(1.0, 0.0, 0.0)))
    mb["rocker"].add_node("end", sc.Pose(translation=(0.0, 0.0, 0.7)))
    mb.close_loop("pin", "coupler/end", "rocker/end", sc.Pin(y))
    mb.add_body("wrist", "coupler", sc.Pin((0, 0, 1)), inertia, inboard=sc.Pose(translation=(0.5, 0.0, 0.3)))
    mb.add_body("hand", "wrist", sc.Pin((1, 0, 0)), inertia, inboard=sc.Pose(translation=(0.0, 0.0, 0.2)))
    mb["hand"].add_node("tip", sc.Pose(translation=(0.1, 0.2, 0.2)))
    mb.set_state(q=sc.loops.ConstraintEmbedding(mb).assemble([0.1, 0.0, 0.0, 0.0, 0.0]))
    if limited:
        at = mb.q[mb.dof_names.index("rocker")]
        mb["rocker"].limits = sc.Limits(lower=[at - rng.uniform(0.0, 0.2)], upper=[at + rng.uniform(0.0, 0.2)])
    return sc.robot.Robot(mb).limb("leg", "inertial", "hand/tip"), rng


@given(arms(SCREWS[:3], most=6), st.booleans())
@tries(15)
def test_all_solutions(drawn, within_reach):
    limb, rng = drawn
    assume(limb.nv <= 6)
    goal = goal_of(limb, rng, within_reach)
    within = read_tolerance(limb, (), None)
    low, high = limb.limits
    if (low < high).sum() > rank_of(limb, rng):
        with pytest.raises(sc.errors.StateError, match="its solutions are curves"):
            limb.solutions(goal, seeds=40)
        return
    for q in limb.solutions(goal, seeds=40):
        left = goal.inv @ limb.true_pose(q)
        assert_kept(limb, goal, sc.robot.Reach(q, True, _left(left), 1, ""), within)


def rank_of(limb, rng):
    """How many motions of the tip the dofs that can move have, anywhere."""
    low, high = limb.limits
    J = np.concatenate([limb.jacobian(inside(limb, rng))[None, :, low < high] for _ in range(5)])
    return np.linalg.matrix_rank(J, tol=1e-6).max(initial=0) if J.size else 0


def _left(X):
    return -np.concatenate([log(X.rotation), X.translation])


@given(arms(SCREWS), st.integers(2, 12))
@tries(15)
def test_paths(drawn, count):
    limb, rng = drawn
    a, b = inside(limb, rng), inside(limb, rng)
    poses = limb.pose(a + np.linspace(0.0, 0.3, count)[:, None] * (b - a))
    got = limb.follow(poses, near=a)
    assert len(got.q) == got.reached
    assert (got.reached == count) == (not got.why)
    for i, q in enumerate(got.q):
        pose = sc.Pose(poses.rotation[i], poses.translation[i])
        assert_kept(limb, pose, sc.robot.Reach(q, True, _left(pose.inv @ limb.true_pose(q)), 1, ""),
                    read_tolerance(limb, (), None))  # fmt: skip


@given(st.integers(0, 2**32 - 1))
@tries(8)
def test_self_motions(seed):
    rng = np.random.default_rng(seed)
    mb = sc.Multibody("seven")
    last = None
    for i in range(7):
        last = mb.add_body(f"b{i}", parent=last, hinge=SCREWS[int(rng.integers(3))](rng), inertia=sc.Inertia(1.0),
                           inboard=random_pose(rng)).name  # fmt: skip
        mb[last].limits = sc.Limits(lower=[-2.0], upper=[2.0])
    limb = sc.robot.Robot(mb).limb("arm", "inertial", last)
    q = inside(limb, rng)
    pose = limb.pose(q)
    for x in limb.self_motion(q, step=0.1, most=60):
        assert_kept(limb, pose, sc.robot.Reach(x, True, _left(pose.inv @ limb.pose(x)), 1, ""),
                    read_tolerance(limb, (), None))  # fmt: skip


@pytest.mark.slow
@given(arms(), st.booleans())
@tries(1500)
def test_one_pose_many_times(drawn, within_reach):
    limb, rng = drawn
    goal = goal_of(limb, rng, within_reach)
    r = limb.ik(goal, seeds=60 if limb.engine is not None else 3)
    assert_kept(limb, goal, r, read_tolerance(limb, (), None))


@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-6, 1e6]))
@tries(10)
def test_answers_are_the_same_in_all_lengths(seed, scale):
    """Pins with links a million times as long: the same coordinates, found or not, and for the same reason."""
    told = []
    for size in (1.0, scale):
        rng = np.random.default_rng(seed)
        mb, last = sc.Multibody("arm"), None
        for i in range(6):
            at = random_pose(rng)
            at = sc.Pose(at.rotation, size * at.translation)
            last = mb.add_body(f"b{i}", last, sc.Pin(rng.standard_normal(3)), sc.Inertia(1.0), inboard=at).name
            mb[last].limits = sc.Limits(lower=[-2.0], upper=[2.0])
        limb = sc.robot.Robot(mb).limb("arm", "inertial", last)
        goal = limb.pose(inside(limb, rng)) @ sc.Pose(translation=size * rng.integers(2) * rng.uniform(-2.0, 2.0, 3))
        r = limb.ik(goal, seeds=40)
        assert_kept(limb, goal, r, read_tolerance(limb, (), None))
        told.append((r.found, r.why.split(":")[0].split(",")[0].split(";")[0]))
    assert told[0] == told[1]

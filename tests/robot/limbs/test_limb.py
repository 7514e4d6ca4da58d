"""Limbs: what they are, and what their kinematics give, against the model they belong to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import ConvergenceError, ModelError, StaleError, StateError
from soacraft.spatial.rotations import log

ARMS = {"panda": "link7", "iiwa14": "link7", "ur5e": "wrist_3_link"}


def arm(name):
    return sc.robot.Robot(sc.load(name)).limb("arm", "inertial", ARMS[name])


def drawn(limb, rng, count=None):
    low, high = limb.limits
    low, high = np.maximum(low, -np.pi), np.minimum(high, np.pi)
    return rng.uniform(low, high, (limb.nq,) if count is None else (count, limb.nq))


def off(limb, pose, q):
    """Way and turn from a pose, by the model's own forward kinematics."""
    X = pose.inv @ limb.pose(q)
    return np.linalg.norm(X.translation, axis=-1), np.linalg.norm(log(X.rotation), axis=-1)


HINGES = [
    lambda rng: sc.Pin(rng.standard_normal(3)),
    lambda rng: sc.Prismatic(rng.standard_normal(3)),
    lambda rng: sc.Helical(rng.standard_normal(3), rng.uniform(-0.3, 0.3)),
    lambda rng: sc.Cylindrical(rng.standard_normal(3)),
    lambda rng: sc.Universal(rng.standard_normal(3), rng.standard_normal(3)),
    lambda rng: sc.Gimbal(rng.standard_normal((3, 3))),
    lambda rng: sc.Planar(),
    lambda rng: sc.Screws(rng.standard_normal((1, 6))),
    lambda rng: sc.Weld(),
    lambda rng: sc.Spherical(),
]


def random_pose(rng, size=1.0):
    return sc.Pose.from_quaternion(_unit(rng.standard_normal(4)), size * rng.uniform(-0.6, 0.6, 3))


def _unit(x):
    return x / np.linalg.norm(x)


@st.composite
def limbs(draw, kinds=HINGES):
    """An arm of 3 to 9 dofs behind a moving base, with limits on some, and a tip that is not at its last body."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    picked = draw(st.lists(st.sampled_from(range(len(kinds))), min_size=3, max_size=7))
    mb = sc.Multibody("arm")
    mb.add_body("base", hinge=sc.Free(), inertia=sc.Inertia(1.0))
    last, nv = "base", 0
    for i, k in enumerate(picked):
        hinge = kinds[k](rng)
        if nv + hinge.nv > 9:
            continue
        nv += hinge.nv
        body = mb.add_body(f"b{i}", parent=last, hinge=hinge, inertia=sc.Inertia(1.0), inboard=random_pose(rng))
        body.outboard = random_pose(rng)
        if hinge.nv and hinge.nq == hinge.nv and draw(st.booleans()):
            middle, half = rng.uniform(-1.0, 1.0, hinge.nv), rng.uniform(0.2, 2.0, hinge.nv)
            body.limits = sc.Limits(lower=middle - half, upper=middle + half)
        last = f"b{i}"
    while nv < 3:
        pin = sc.Pin(rng.standard_normal(3))
        mb.add_body(f"more{nv}", parent=last, hinge=pin, inertia=sc.Inertia(1.0), inboard=random_pose(rng))
        last, nv = f"more{nv}", nv + 1
    mb[last].add_node("tool", random_pose(rng, 0.3))
    mb["base"].add_node("mount", random_pose(rng, 0.3))
    mb.set_state(*mb.random_state(rng))
    return sc.robot.Robot(mb).limb("arm", "base/mount", f"{last}/tool"), rng


@given(limbs(HINGES[:-1]))
@tries(30)
def test_the_engine_has_the_kinematics_of_the_model(drawn_limb):
    limb, rng = drawn_limb
    q = rng.uniform(-1.0, 1.0, (3, limb.nq))
    R, p = limb.engine.place(q)
    true = limb.pose(q)
    assert np.allclose(R, true.rotation, atol=1e-12)
    assert np.allclose(p, true.translation, atol=1e-12)


@given(limbs(), st.booleans())
@tries(40)
def test_no_answer_is_outside_limits_or_off_its_pose_and_called_found(drawn_limb, within_reach):
    limb, rng = drawn_limb
    lower, upper = limb.limits
    start = limb.q
    if limb.nq == limb.nv:
        start = np.clip(start, lower, upper)
    goal = limb.pose(start) if within_reach else random_pose(rng, 3.0)
    if within_reach and limb.nq == limb.nv:
        goal = limb.pose(np.clip(rng.uniform(-1.0, 1.0, limb.nq), lower, upper))
    r = limb.ik(goal, seeds=60 if limb.engine is not None else 4)
    if limb.nq == limb.nv:
        assert (r.q >= lower).all()
        assert (r.q <= upper).all()
    way, turn = off(limb, goal, r.q)
    assert np.allclose(np.linalg.norm(r.residual[3:]), way, atol=1e-9 * (1.0 + way))
    if r.found:
        assert way <= 2e-9 * limb.reach + 1e-14
        assert turn <= 2e-9
        assert r.why == ""
    else:
        assert way > 1e-10 * limb.reach or turn > 1e-10
        assert r.why


@pytest.mark.parametrize("name", ARMS)
def test_random_poses_are_found_one_by_one_and_in_a_batch(name):
    limb, rng = arm(name), np.random.default_rng(3)
    goals = limb.pose(drawn(limb, rng, 400))
    many = limb.ik(goals)
    assert many.found.all()
    way, turn = off(limb, goals, many.q)
    assert way.max() < 2e-9
    assert turn.max() < 2e-9
    low, high = limb.limits
    assert ((many.q >= low) & (many.q <= high)).all()
    for i in range(25):
        one = limb.ik(sc.Pose(goals.rotation[i], goals.translation[i]))
        assert one.found
        assert max(off(limb, sc.Pose(goals.rotation[i], goals.translation[i]), one.q)) < 2e-9


def test_the_same_call_gives_the_same_answer_whatever_the_threads():
    limb = arm("panda")
    goals = limb.pose(drawn(limb, np.random.default_rng(5), 300))
    one, four = limb.ik(goals), limb.ik(goals, threads=4)
    assert (one.q == four.q).all()
    assert (one.tried == four.tried).all()
    assert (limb.ik(goals).q == one.q).all()


def test_a_ur5e_has_the_eight_branches_of_its_closed_form():
    """Shoulder left or right, elbow up or down, wrist flipped or not; other turns of a joint count once."""
    limb = arm("ur5e")
    q = np.array([0.3, -1.1, 1.4, -0.9, 1.2, 0.4])
    found = limb.solutions(limb.pose(q))
    around = np.unique(np.remainder(found + np.pi, 2 * np.pi).round(5), axis=0)
    assert len(around) == 8
    assert max(x.max() for x in off(limb, limb.pose(q), found)) < 2e-9
    assert np.abs(np.remainder(found - q + np.pi, 2 * np.pi) - np.pi).max(axis=1).min() < 1e-7


def test_near_is_preferred_to_what_is_found_first():
    limb, rng = arm("panda"), np.random.default_rng(7)
    for q in drawn(limb, rng, 40):
        low, high = limb.limits
        start = np.clip(q + 0.02 * rng.standard_normal(limb.nq), low, high)
        r = limb.ik(limb.pose(q), near=start)
        assert r.found
        assert np.abs(r.q - start).max() < 0.5


def test_preferences_choose_among_solutions():
    limb = arm("panda")
    goal = limb.pose([0.2, 0.4, -0.3, -1.8, 0.1, 2.0, 0.5])
    low, high = limb.limits
    middle, half = 0.5 * (low + high), 0.5 * (high - low)

    def away(q):
        return np.sum(((q - middle) / half) ** 2)

    plain = limb.ik(goal)
    assert away(limb.ik(goal, prefer="mid-range").q) <= away(plain.q)
    least = limb.ik(goal, prefer=lambda q: abs(q[0] - 1.0))
    assert least.found
    assert abs(least.q[0] - 1.0) <= abs(plain.q[0] - 1.0)
    best, other = (limb.manipulability(r.q).volume for r in (limb.ik(goal, prefer="manipulability"), plain))
    assert best > 0.0
    assert other > 0.0


def test_a_free_axis_is_free_and_the_others_are_held():
    limb = arm("panda")
    goal = limb.pose([0.2, 0.4, -0.3, -1.8, 0.1, 2.0, 0.5])
    turned = goal @ sc.Pose.from_rpy(0.0, 0.0, 2.5)
    r = limb.ik(turned, free="rz")
    assert r.found
    X = turned.inv @ limb.pose(r.q)
    assert np.linalg.norm(X.translation) < 1e-8
    assert np.abs(X.rotation[2] - [0.0, 0.0, 1.0]).max() < 1e-8
    anywhere = limb.ik(sc.Pose(translation=goal.translation), free=("rx", "ry", "rz"))
    assert anywhere.found
    assert np.linalg.norm(limb.pose(anywhere.q).translation - goal.translation) < 1e-8


def test_tolerances_by_axis():
    limb = arm("ur5e")
    goal = limb.pose([0.3, -1.1, 1.4, -0.9, 1.2, 0.4])
    r = limb.ik(goal, tolerance=[1e-3, 1e-3, 1e-3, 1e-6, 1e-6, 1e-6])
    X = goal.inv @ limb.pose(r.q)
    assert r.found
    assert np.abs(X.translation).max() < 1.01e-6
    assert np.abs(log(X.rotation)).max() < 1.01e-3


def test_out_of_reach_is_told_with_the_reason_and_the_nearest_approach():
    limb = arm("ur5e")
    r = limb.ik(sc.Pose(translation=(3.0, 0.0, 0.0)), free=("rx", "ry", "rz"))
    assert not r
    assert r.why.startswith("too far: ")
    assert "m beyond the" in r.why
    straight = sc.robot.Robot(sc.serial_chain(2)).limb("two", "inertial", "link2/tip")
    r = straight.ik(sc.Pose(translation=(0.0, 0.0, -3.0)), free=("rx", "ry", "rz"))
    assert abs(np.linalg.norm(r.residual[3:]) - 1.0) < 1e-9        # 2 m of links
    planar = sc.serial_chain(2)                                    # pins about y, 1 m each
    for body in planar.bodies:
        body.limits = sc.Limits(lower=[-0.1], upper=[0.1])
    short = sc.robot.Robot(planar).limb("two", "inertial", "link2/tip")
    r = short.ik(sc.Pose(translation=(0.0, 0.0, -1.9)), free=("rx", "ry", "rz"))
    assert not r.found
    assert "link1 at its upper limit 0.1" in r.why or "link1 at its lower limit -0.1" in r.why
    assert np.abs(r.q).max() <= 0.1


def test_jacobian_pose_and_torques_are_those_of_the_model():
    mb = sc.load("h1")
    rng = np.random.default_rng(2)
    mb.set_state(*mb.random_state(rng))
    limb = sc.robot.Robot(mb).limb("leg", "pelvis", mb.bodies[5].name)
    q, v = limb.q + 0.1, rng.standard_normal(limb.nv)
    J = limb.jacobian(q)
    h = 1e-6
    ends = [limb.pose(q + s * h * v) for s in (1, -1)]
    linear = (ends[0].translation - ends[1].translation) / (2 * h)
    angular = log(ends[0].rotation @ ends[1].rotation.T) / (2 * h)
    assert np.allclose(J @ v, np.concatenate([angular, linear]), atol=1e-8)
    f = rng.standard_normal(6)
    assert np.allclose(limb.torques(q, f) @ v, f @ (J @ v))
    assert np.allclose(limb.jacobian(np.array([q, q]))[1], J)
    assert dyn.jacobian(mb, limb.of_robot(q), limb.tip).shape == (6, mb.nv)


def test_a_limb_with_a_coupling_goes_by_the_model():
    mb = sc.serial_chain(3)
    mb.couple("mimic", {"link2": 1.0, "link3": -1.0})
    limb = sc.robot.Robot(mb).limb("finger", "inertial", "link3/tip")
    assert limb.engine is None
    mb.set_state(q=[0.1, 0.4, 0.4])
    goal = limb.pose([0.3, 0.7, 0.7])
    r = limb.ik(goal, near=[0.2, 0.5, 0.5], free=("rx", "ry", "rz"))
    assert r.found
    assert abs(r.q[1] - r.q[2]) < 1e-6
    assert np.linalg.norm(limb.pose(r.q).translation - goal.translation) < 1e-5


def test_self_motion_keeps_the_tip_and_closes_or_ends_at_a_limit():
    limb = arm("iiwa14")
    q = np.array([0.2, 0.7, 0.1, -1.2, 0.3, 0.9, 0.1])
    curve = limb.self_motion(q)
    assert len(curve) > 20
    way, turn = off(limb, limb.pose(q), curve)
    assert way.max() < 1e-8
    assert turn.max() < 1e-8
    steps = np.linalg.norm(np.diff(curve, axis=0), axis=1)
    assert steps.max() < 0.061
    low, high = limb.limits
    assert ((curve >= low) & (curve <= high)).all()


def test_a_path_is_followed_on_one_branch():
    limb = arm("ur5e")
    start = np.array([0.3, -1.1, 1.4, -0.9, 1.2, 0.4])
    s = np.linspace(0.0, 1.0, 60)
    further = np.array([0.5, 0.2, -0.3, 0.2, 0.3, -0.4])
    way = limb.pose(start + np.outer(s, further))
    got = limb.follow(way, near=start)
    assert got
    assert got.reached == 60
    assert np.abs(np.diff(got.q, axis=0)).max() < 0.1
    assert np.abs(got.q[-1] - (start + further)).max() < 1e-6


def test_a_path_out_of_reach_is_followed_to_where_it_ends():
    limb = arm("ur5e")
    start = limb.pose([0.3, -1.1, 1.4, -0.9, 1.2, 0.4])
    out = np.linspace(0.0, 2.0, 40)[:, None] * np.array([1.0, 0.0, 0.0])
    got = limb.follow(sc.Pose(np.broadcast_to(start.rotation, (40, 3, 3)), start.translation + out))
    assert not got
    assert 0 < got.reached < 40
    assert f"pose {got.reached} " in got.why


def test_solvers_of_the_users_own_are_verified():
    limb = arm("ur5e")
    q = np.array([0.3, -1.1, 1.4, -0.9, 1.2, 0.4])
    limb.use(ik=lambda pose, near: q)
    assert (limb.ik(limb.pose(q)).q == q).all()
    with pytest.raises(ConvergenceError, match=r"ik of limb 'arm' gave .* which is off by .*away with use\(ik=None\)"):
        limb.ik(limb.pose(q + 0.1))
    limb.use(ik=lambda pose, near: q + 4 * np.pi * np.eye(6)[2])
    with pytest.raises(ConvergenceError, match=r"gave 'elbow.*' = .*, outside its limits"):
        limb.ik(limb.pose(q))
    limb.use(ik=lambda pose, near: None)
    assert limb.ik(limb.pose(q + 0.1)).found
    limb.use(fk=lambda q: sc.Pose())
    with pytest.raises(ConvergenceError, match="fk of limb 'arm' gave"):
        limb.pose(q)


def test_what_is_refused():
    rb = sc.robot.Robot(sc.load("ur5e"))
    limb = rb.limb("arm", "inertial", "wrist_3_link")
    with pytest.raises(ModelError, match=r"has no limb 'arn'; did you mean 'arm'"):
        rb["arn"]
    with pytest.raises(ModelError, match=r"the tip .* is not outboard of the base 'wrist_3_link'. Exchange them"):
        rb.limb("back", "wrist_3_link", "wrist_1_link")
    with pytest.raises(ModelError, match="nothing moves between"):
        rb.limb("none", "wrist_3_link", "wrist_3_link")
    with pytest.raises(StateError, match=r"free='rw' is no axis of a goal"):
        limb.ik(sc.Pose(), free="rw")
    with pytest.raises(StateError, match="all six axes are free"):
        limb.ik(sc.Pose(), free=("rx", "ry", "rz", "x", "y", "z"))
    with pytest.raises(StateError, match="prefer='neer' is no way to choose"):
        limb.ik(sc.Pose(), prefer="neer")
    with pytest.raises(StateError, match="tolerance must be a positive number, or six"):
        limb.ik(sc.Pose(), tolerance=-1.0)
    with pytest.raises(StateError, match="time_limit must be positive"):
        limb.ik(sc.Pose(), time_limit=0.0)
    with pytest.raises(StateError, match="must be a Pose"):
        limb.ik((0.0, 0.0, 1.0))
    with pytest.raises(StateError, match=r"its solutions are curves. Follow one with self_motion"):
        limb.solutions(sc.Pose(), free="rz")
    with pytest.raises(StateError, match="its self-motion is a curve for 7"):
        limb.self_motion(np.zeros(6))
    rb.mb.add_body("tool", parent="wrist_3_link", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    with pytest.raises(StaleError, match="make it again with"):
        limb.ik(sc.Pose())
    with pytest.raises(ModelError, match="a Robot takes a Multibody"):
        sc.robot.Robot("ur5e")


def test_a_changed_link_changes_the_engine():
    mb = sc.serial_chain(3)
    limb = sc.robot.Robot(mb).limb("arm", "inertial", "link3/tip")
    before = limb.engine.place(np.zeros(3))[1]
    mb["link2"].inboard = sc.Pose(translation=(2.0, 0.0, 0.0))
    assert np.allclose(limb.engine.place(np.zeros(3))[1] - before, limb.pose(np.zeros(3)).translation - before)
    assert np.linalg.norm(limb.engine.place(np.zeros(3))[1] - before) > 0.5

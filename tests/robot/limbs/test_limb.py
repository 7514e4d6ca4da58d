"""Limbs: what they are, and what their kinematics give, against the model they belong to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from tests.profiles import tries
from tests.robot.limbs.arms import SCREWS, arms

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import ModelError, StaleError, StateError
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


@given(arms(SCREWS))
@tries(30)
def test_the_engine_has_the_kinematics_of_the_model(drawn_limb):
    limb, rng = drawn_limb
    q = rng.uniform(-1.0, 1.0, (3, limb.nq))
    R, p = limb.engine.place(q)
    true = limb.pose(q)
    assert np.allclose(R, true.rotation, atol=1e-12)
    assert np.allclose(p, true.translation, atol=1e-12)


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


def unlimited(name):
    mb = sc.load(name)
    for body in mb.bodies:
        body.limits = sc.Limits()
    return sc.robot.Robot(mb).limb("arm", "inertial", ARMS[name])


def test_self_motion_closes_by_whole_turns():
    """The elbow of an arm without limits goes round once, and two joints turn with it."""
    limb = unlimited("iiwa14")
    q = np.array([0.2, 0.7, 0.1, -1.2, 0.3, 0.9, 0.1])
    curve = limb.self_motion(q)
    assert 300 < len(curve) < 700
    turns = np.round((curve[-1] - q) / (2 * np.pi))
    assert np.abs(turns).tolist() == [0, 0, 1, 0, 1, 0, 0]
    assert np.linalg.norm(curve[-1] - q - 2 * np.pi * turns) < 0.02
    assert np.abs(limb.pose(curve).translation - limb.pose(q).translation).max() < 1e-8
    for body in limb.bodies:  # within wide limits a turn is no return
        body.limits = sc.Limits(lower=np.full(body.hinge.nv, -20.0), upper=np.full(body.hinge.nv, 20.0))
    assert len(limb.self_motion(q)) > 1500


@pytest.mark.parametrize("free", ["rz", "x", ("rz",)])
def test_self_motion_along_a_free_axis(free):
    """As `solutions` says where an arm of six dofs has curves of them."""
    limb = arm("ur5e")
    q = np.array([0.3, -1.1, 1.4, -0.9, 1.2, 0.4])
    with pytest.raises(StateError, match=r"6 dofs for 5 conditions.*self_motion\(q, free=...\)"):
        limb.solutions(limb.pose(q), free=free)
    curve = limb.self_motion(q, free=free)
    X = limb.pose(q).inv @ limb.pose(curve)
    left = np.concatenate([log(X.rotation), X.translation], axis=-1)
    moved = np.abs(left).max(axis=0)
    along = 3 if free == "x" else 2
    assert moved[along] > 0.3
    assert np.delete(moved, along).max() < 1e-8
    assert np.linalg.norm(np.diff(curve, axis=0), axis=1).max() < 0.061


def test_a_planar_arm_has_curves_of_positions_and_branches_of_poses():
    """Out of its plane nothing moves: of three rows of a position two are conditions."""
    limb = sc.robot.Robot(sc.serial_chain(3)).limb("arm", "inertial", "link3/tip")
    q, free = np.array([0.3, 0.4, 0.5]), ("rx", "ry", "rz")
    goal = limb.pose(q)
    assert len(limb.solutions(goal)) == 2
    text = r"limb .arm. has 3 dofs for 2 conditions: its solutions are curves. Follow one with self_motion\(q, free="
    with pytest.raises(StateError, match=text):
        limb.solutions(goal, free=free)
    curve = limb.self_motion(q, free=free)
    assert np.abs(limb.pose(curve).translation - goal.translation).max() < 1e-8
    assert np.ptp(curve, axis=0).min() > 1.0
    with pytest.raises(StateError, match="3 dofs: its self-motion is a curve for 4, one more than the 3 conditions"):
        limb.self_motion(q)


def test_dofs_that_limits_hold_do_not_count():
    """One of seven held leaves branches, or with a free axis a curve along which it stays."""
    limb = arm("iiwa14")
    q = np.array([0.2, 0.7, 0.1, -1.2, 0.3, 0.9, 0.1])
    limb.robot.mb["link3"].limits = sc.Limits(lower=[0.1], upper=[0.1])
    found = limb.solutions(limb.pose(q))
    assert 1 < len(found) <= 8
    assert (found[:, 2] == 0.1).all()
    assert np.abs(found - q).max(axis=1).min() < 1e-6
    with pytest.raises(StateError, match="6 dofs: its self-motion is a curve for 7, one more than a pose asks"):
        limb.self_motion(q)
    curve = limb.self_motion(q, free="rz")
    assert len(curve) > 20
    assert (curve[:, 2] == 0.1).all()


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
    assert limb.follow(way, near=np.full(6, 1e300)).reached  # from beyond all numbers, without a warning


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
    with pytest.raises(StateError, match=r"ik of limb 'arm' gave .* which is off by .*remove it with use\(ik=None\)"):
        limb.ik(limb.pose(q + 0.1))
    limb.use(ik=lambda pose, near: q + 4 * np.pi * np.eye(6)[2])
    with pytest.raises(StateError, match=r"gave 'elbow.*' = .*, outside its limits"):
        limb.ik(limb.pose(q))
    limb.use(ik=lambda pose, near: None)
    assert limb.ik(limb.pose(q + 0.1)).found
    limb.use(fk=lambda q: sc.Pose())
    with pytest.raises(StateError, match="fk of limb 'arm' gave"):
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


def test_changed_limits_change_the_engine():
    """No answer is within the limits of before."""
    mb = sc.serial_chain(3)
    limb = sc.robot.Robot(mb).limb("arm", "inertial", "link3/tip")
    goal = limb.pose([1.0, -0.5, 0.4])
    assert limb.ik(goal, near=[1.0, -0.5, 0.4]).found
    mb["link1"].limits = sc.Limits(lower=[-0.3], upper=[0.3])
    assert limb.limits[1][0] == 0.3
    r = limb.ik(goal, near=[1.0, -0.5, 0.4])
    assert abs(r.q[0]) <= 0.3
    many = limb.ik(sc.Pose(goal.rotation[None], goal.translation[None]))
    assert abs(many.q[0, 0]) <= 0.3


def test_half_a_turn_away_is_not_there():
    """Where the tip is at its goal but turned by half a turn about any axis, it is not at its goal."""
    limb = arm("panda")
    q = np.array([0.1, 0.5, 0.2, -1.5, 0.3, 1.7, 0.4])
    for axis in np.eye(3):
        goal = limb.pose(q) @ sc.Pose.from_quaternion([*axis, 0.0])
        r = limb.ik(goal, near=q)
        assert r.found
        assert max(off(limb, goal, r.q)) < 1e-8


def test_poses_relative_to_any_frame_that_stays():
    rng = np.random.default_rng(1)
    mb = sc.load("h1")
    mb.set_state(*mb.random_state(rng))
    rb = sc.robot.Robot(mb)
    limb = rb.limb("right arm", "torso_link", "right_elbow_link")
    q = 0.5 * sum(limb.limits) + 0.1
    goal = limb.pose(q)
    for frame in ("inertial", "pelvis", "left_elbow_link", mb["left_ankle_link"]):
        there = mb.pose("torso_link", mb.root if frame == "inertial" else frame) @ goal
        r = limb.ik(there, near=q + 0.05, relative_to=frame)
        assert r.found
        assert np.abs(r.q - q).max() < 1e-6
        many = limb.ik(sc.Pose(there.rotation[None], there.translation[None]), near=q, relative_to=frame)
        assert many.found.all()
        path = sc.Pose(there.rotation[None], there.translation[None])
        assert limb.follow(path, near=q, relative_to=frame).reached == 1
    assert len(limb.solutions(mb.pose("torso_link") @ goal, relative_to="inertial")) == len(limb.solutions(goal))
    for frame in ("right_elbow_link", "right_shoulder_roll_link"):
        text = rf"'{frame}' moves with limb 'right arm', by hinge 'right_.*Give it relative to a frame that stays"
        with pytest.raises(StateError, match=text):
            limb.ik(goal, relative_to=frame)
    with pytest.raises(ModelError, match="'nowhere'"):
        limb.ik(goal, relative_to="nowhere")


def test_the_rest_of_the_robot_may_be_outside_its_limits():
    """What a leg does is nothing to an arm: it is asked for poses in and out of reach."""
    mb = sc.load("h1")
    q = np.array(mb.q)
    place = mb.layout.hinge_q[mb.layout.index[mb["left_knee_link"]]]
    q[place] = 9.0
    mb.set_state(q=q)
    limb = sc.robot.Robot(mb).limb("right arm", "torso_link", "right_elbow_link")
    assert limb.ik(limb.pose(0.5 * sum(limb.limits))).found
    far = limb.ik(sc.Pose(translation=(4.0, 0.0, 0.0)), free=("rx", "ry", "rz"))
    assert far.why.startswith("too far: ")
    assert mb.q[place] == 9.0


def hand(shared=False):
    mb = sc.load("shadow_hand")
    rb = sc.robot.Robot(mb)
    tips = [f"rh_{x}distal" for x in ("ff", "mf", "rf", "lf", "th")]
    for tip in tips:
        mb[tip].add_node("tip", sc.Pose(translation=(0.0, 0.0, 0.02)))
    return rb.limb("hand", "rh_forearm" if shared else "rh_palm", [f"{x}/tip" for x in tips])


@pytest.mark.parametrize("shared", [False, True])
def test_a_hand_has_a_pose_a_jacobian_and_forces_of_each_tip(shared):
    """Columns of the tips are those of limbs of one tip each; differences of poses agree; power balances."""
    limb, rng = hand(shared), np.random.default_rng(4)
    mb, low, high = limb.robot.mb, *limb.limits
    q, v = rng.uniform(low, high), rng.standard_normal(limb.nv)
    J, poses = limb.jacobian(q), limb.pose(q)
    assert poses.batch_shape == (5,)
    assert limb.pose(np.array([q, q, q])).batch_shape == (3, 5)
    assert J.shape == (30, limb.nv)
    assert limb.jacobian(np.array([q, q])).shape == (2, 30, limb.nv)
    h = 1e-6
    ends = [limb.pose(q + s * h * v) for s in (1, -1)]
    linear = (ends[0].translation - ends[1].translation) / (2 * h)
    angular = log(ends[0].rotation @ ends[1].rotation.mT) / (2 * h)
    assert np.allclose(J @ v, np.concatenate([angular, linear], axis=-1).ravel(), atol=1e-8)
    f = rng.standard_normal((5, 6))
    assert np.allclose(limb.torques(q, f) @ v, f.ravel() @ (J @ v))
    whole = limb.of_robot(q)
    for i, tip in enumerate(limb.tips):
        one = limb.robot.limb("one", limb.base, tip)
        assert np.allclose(poses.translation[i], mb.pose(tip, limb.base, state=mb.state(whole)).translation)
        columns = np.isin(limb.v_places, one.v_places)
        assert np.allclose(J[6 * i : 6 * i + 6][:, columns], one.jacobian(whole[one.q_places]))
        assert (J[6 * i : 6 * i + 6][:, ~columns] == 0.0).all()
    with pytest.raises(StateError, match=r"wrench on limb 'hand' must .*\(\.\.\., 5, 6\)"):
        limb.torques(q, np.zeros(6))
    with pytest.raises(ModelError, match="limb 'hand' has 5 tips: ask for its tips"):
        limb.tip  # noqa: B018


@pytest.mark.parametrize("shared", [False, True])
def test_a_hand_reaches_with_all_its_tips(shared):
    limb, rng = hand(shared), np.random.default_rng(5)
    low, high = limb.limits
    free = ("rx", "ry", "rz")
    for q in rng.uniform(low, high, (3, limb.nq)):
        goal = limb.pose(q)
        r = limb.ik(goal, near=0.5 * (low + high), free=free)
        assert r.found
        assert r.residual.shape == (5, 6)
        assert np.abs(limb.pose(r.q).translation - goal.translation).max() < 1e-8
        assert ((r.q >= low) & (r.q <= high)).all()
        names = [x.full_name for x in limb.tips]
        thumb = sc.Pose(goal.rotation[4], goal.translation[4])
        some = limb.ik({names[4]: thumb}, near=0.5 * (low + high), free={names[4]: free})
        assert some.found
        assert np.abs(limb.pose(some.q).translation[4] - goal.translation[4]).max() < 1e-8
        assert (some.residual[:4] == 0.0).all()
    goals = limb.pose(rng.uniform(low, high, (2 if shared else 40, limb.nq)))
    many = limb.ik(goals, free=free)
    assert many.found.all()
    assert many.residual.shape == (*many.found.shape, 5, 6)
    assert np.abs(limb.pose(many.q).translation - goals.translation).max() < 1e-8


def test_a_tip_of_a_hand_that_is_not_met_is_named():
    limb = hand()
    goal = limb.pose(0.5 * sum(limb.limits))
    away = np.array(goal.translation)
    away[2] += (0.3, 0.0, 0.0)
    r = limb.ik(sc.Pose(goal.rotation, away), free=("rx", "ry", "rz"))
    assert not r.found
    assert "'rh_rfdistal/tip' would have to be" in r.why
    assert "rh_ffdistal" not in r.why
    assert np.abs(r.residual[[0, 1, 3, 4]]).max() < 1e-8
    assert np.linalg.norm(r.residual[2]) > 0.1


def test_parts_of_a_hand_are_searched_apart():
    """Fingers from the palm have nothing in common; behind the wrist they do."""
    assert [x.tips for x in hand().data.parts] == [(0,), (1,), (2,), (3,), (4,)]
    assert all(x.engine is not None for x in hand().data.parts)
    assert [x.tips for x in hand(shared=True).data.parts] == [(0, 1, 2, 3, 4)]


def test_what_is_refused_of_several_tips():
    limb = hand()
    rb, goal = limb.robot, limb.pose(limb.q)
    with pytest.raises(ModelError, match=r"limb 'x' has a tip, or several different ones; got \[\]"):
        rb.limb("x", "rh_palm", [])
    with pytest.raises(ModelError, match="several different ones"):
        rb.limb("x", "rh_palm", ["rh_ffdistal", "rh_ffdistal"])
    with pytest.raises(ModelError, match="the tip 'rh_wrist' is not outboard of the base 'rh_palm'"):
        rb.limb("x", "rh_palm", ["rh_ffdistal", "rh_wrist"])
    with pytest.raises(StateError, match=r"are a Pose with a last leading axis for its 5 tips, or \{tip: Pose\}"):
        limb.ik(sc.Pose())
    with pytest.raises(StateError, match="'rh_fdistal/tip' is no tip of limb 'hand'; did you mean 'rh_rfdistal"):
        limb.ik({"rh_fdistal/tip": sc.Pose()})
    with pytest.raises(StateError, match="the goal of 'rh_ffdistal/tip' must be a Pose"):
        limb.ik({"rh_ffdistal/tip": (0, 0, 1)})
    two = {"rh_ffdistal/tip": sc.Pose(), "rh_mfdistal/tip": goal}
    with pytest.raises(StateError, match=r"have the leading axes \[\(\), \(5,\)\]: give all the same"):
        limb.ik(two)
    with pytest.raises(StateError, match="or 5 rows of six for its tips"):
        limb.ik(goal, tolerance=np.ones((4, 6)))
    with pytest.raises(StateError, match="limb 'hand' has 5 tips: ask for solutions of limbs of one tip each"):
        limb.solutions(goal)
    for ask in (lambda: limb.self_motion(limb.q), lambda: limb.follow(goal)):
        with pytest.raises(StateError, match="has several tips, loops, couplings, stops, or hinges that are no screws"):
            ask()


def test_tips_that_share_hinges_are_free_along_any_axis():
    limb = hand(shared=True)
    low, high = limb.limits
    goal = limb.pose(np.random.default_rng(3).uniform(low, high))
    away = goal @ sc.Pose(translation=(0.0, 0.0, 0.5))
    r = limb.ik(away, near=0.5 * (low + high), free=("rx", "ry", "rz", "z"))
    assert r.found
    assert np.abs((away.inv @ limb.pose(r.q)).translation[:, :2]).max() < 1e-8


def test_a_hand_of_a_robot_that_changed_is_made_again_with_all_its_tips():
    limb = hand()
    rb = limb.robot
    rb.mb.add_body("ring", parent="rh_palm", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    assert [x.full_name for x in rb["hand"].tips] == [x.full_name for x in limb.tips]
    assert [x.full_name for x in rb.copy()["hand"].tips] == [x.full_name for x in limb.tips]
    assert "to 'rh_ffdistal/tip', 'rh_mfdistal/tip'" in repr(limb)


def test_calls_with_other_arguments_are_other_questions():
    """What is kept from one call to the next is not taken for another."""
    limb = arm("ur5e")
    goal = limb.pose([0.3, -1.1, 1.4, -0.9, 1.2, 0.4])
    loose = limb.ik(goal, tolerance=1e-2)
    tight = limb.ik(goal, tolerance=1e-12)
    assert np.abs(loose.residual).max() > 1e-6
    assert np.abs(tight.residual).max() < 1e-11
    within = np.full(6, 1e-2)
    assert (limb.ik(goal, tolerance=within).q == limb.ik(goal, tolerance=within).q).all()
    within[:] = 1e-12
    assert np.abs(limb.ik(goal, tolerance=within).residual).max() < 1e-11
    turned = goal @ sc.Pose.from_rpy(0.0, 0.0, 2.0)
    assert np.abs((turned.inv @ limb.pose(limb.ik(turned, free="rz").q)).rotation[2, 2] - 1.0) < 1e-12
    assert np.abs((turned.inv @ limb.pose(limb.ik(turned).q)).rotation - np.eye(3)).max() < 1e-8
    assert limb.ik(goal, seeds=1).tried == 1
    for wrong in (dict(seeds=1.0), dict(seeds=True), dict(seeds=0), dict(time_limit="1"), dict(tolerance="1")):
        with pytest.raises((ModelError, StateError)):
            limb.ik(goal, **wrong)


def test_the_graph_of_a_hand_that_hangs_from_a_moving_palm_is_refused():
    with pytest.raises(ModelError, match="the bodies are not connected"):
        hand().graph  # noqa: B018


def test_solvers_stay_in_use_after_the_robot_changed_and_in_a_copy():
    rb = sc.robot.Robot(sc.load("ur5e"))
    limb, asked = rb.limb("arm", "inertial", "wrist_3_link"), []

    def solver(pose, near):
        asked.append(pose)

    limb.use(ik=solver, fk=lambda q: sc.Pose())
    rb.mb.add_body("tool", "wrist_3_link", sc.Weld(), sc.Inertia(0.1))
    for here in (rb, rb.copy()):
        with pytest.raises(StateError, match="fk of limb 'arm' gave"):
            here["arm"].pose(np.zeros(6))
        asked.clear()
        assert here["arm"].ik(sc.Pose(translation=(0.3, 0.3, 0.3)))
        assert asked
    rb["arm"].use(ik="closed form")
    rb.mb.add_body("tip", "tool", sc.Weld(), sc.Inertia(0.1))
    for here in (rb, rb.copy()):
        again = here["arm"]
        assert again.closed_form is not None
        assert again.closed_form.engine is again.engine


def test_a_limb_of_the_robot_as_it_was_names_no_dofs():
    """The second dof of the robot is that of another body now: a plan or a tracker would move the wrong one."""
    mb = sc.Multibody("two")
    mb.add_body("a", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    mb.add_body("b", "a", sc.Pin((0, 0, 1)), sc.Inertia(1.0), inboard=sc.Pose(translation=(1.0, 0.0, 0.0)))
    rb = sc.robot.Robot(mb)
    limb, w = rb.limb("arm", "a", "b"), sc.robot.World(rb)
    mb.reattach("a", None, sc.Universal((0, 0, 1), (1, 0, 0)))
    limits = sc.robot.MotionLimits.of(rb, velocity=1.0, acceleration=1.0, jerk=1.0)
    for call in (
        lambda: limb.q,
        lambda: limb.dof_names,
        lambda: limb.v_places,
        lambda: limb.q_places,
        lambda: limb.graph,
        lambda: sc.robot.plan(w, np.zeros(3), [0.5], limb=limb),
        lambda: sc.robot.Tracker(rb, 0.01, limits, limb),
    ):
        with pytest.raises(StaleError, match="limb 'arm' is of the robot as it was before it changed"):
            call()
    assert repr(limb) == "Limb 'arm' from 'a' to 'b': 1 dofs (as the robot was before it changed)"
    assert rb["arm"].dof_names == ("b",)


def test_a_limb_whose_end_is_gone_is_told_and_taken_away():
    mb = sc.load("panda")
    mb.add_body("cup", "link7", sc.Pin((0, 0, 1)), sc.Inertia(0.1))
    rb = sc.robot.Robot(mb)
    rb.limb("arm", "inertial", "link7")
    rb.limb("far", "inertial", "cup")
    mb.remove("cup")
    for call in (rb.copy, lambda: rb["far"]):
        with pytest.raises(ModelError, match=r"limb 'far' is no longer in the model: .*'cup'.*rb.remove_limb\('far'\)"):
            call()
    rb.remove_limb("far")
    assert rb.copy().limbs == rb.limbs == ("arm",)
    for name in ("far", ["arm"], None):
        with pytest.raises(ModelError, match="the robot 'panda' has no limb"):
            rb.remove_limb(name)
        with pytest.raises(ModelError, match="the robot 'panda' has no limb"):
            rb[name]


def with_cup(tip="link7"):
    """A panda, a cup, and a handle of its arm that was made before anything was taken."""
    mb = sc.load("panda")
    at = sc.Pose(translation=(0.4, 0.0, 0.3))
    mb.add_body("cup", hinge=sc.Free(), inertia=sc.Inertia.sphere(0.4, 0.05), inboard=at)
    rb = sc.robot.Robot(mb)
    return rb, rb.limb("arm", "inertial", tip)


def assert_works(limb):
    """The handle answers as a limb that is made anew does."""
    new = limb.robot.copy()["arm"]
    q = np.array([0.1, 0.5, 0.2, -1.5, 0.3, 1.7, 0.4])
    goal = new.pose(q)
    assert limb.pose(q).is_close(goal)
    r = limb.ik(goal, near=q + 0.1)
    assert r.found
    assert (r.q == new.ik(goal, near=q + 0.1).q).all()
    assert (limb.q_places == new.q_places).all()
    assert (limb.v_places == new.v_places).all()
    assert np.allclose(limb.jacobian(q), new.jacobian(q))
    assert limb.dof_names == new.dof_names
    assert limb.graph.nv == 7
    assert limb is limb.robot["arm"]


def test_a_handle_follows_what_the_robot_takes_and_puts_down():
    rb, limb = with_cup()
    asked = []
    limb.use(ik=lambda pose, near: asked.append(pose))
    two = rb.copy()
    other, since = two["arm"], rb.version
    rb.attach("cup", "link7")
    assert_works(limb)
    assert asked
    rb.detach("cup")
    assert_works(limb)
    rb.grasp("cup", ["link7", "link4"])
    rb.ungrasp("cup", "link4")
    assert_works(limb)
    rb.undo()
    rb.undo()
    assert_works(limb)
    with pytest.raises(ModelError):
        rb.grasp("cup", ["link7", "link7"])  # taken once, and put back
    assert_works(limb)
    rb.attach("cup", "link7")
    assert two.apply(rb.changes(since)) == rb.version
    assert_works(other)
    assert two.apply(rb.changes(two.version)) == rb.version
    two.detach("cup")
    assert_works(other)
    assert other.robot is two


def test_a_handle_goes_on_with_the_chain_that_a_grasp_closes():
    """Dofs that are independent without the grasp are tied with it, and free again after it."""
    mb = sc.Multibody("two")
    for side, y in (("l", 0.2), ("r", -0.2)):
        for i in range(3):
            at = sc.Pose(translation=(0.3, 0.0, 0.0) if i else (0.0, y, 0.0))
            mb.add_body(f"{side}{i}", f"{side}{i - 1}" if i else None, sc.Pin((0, 0, 1)), sc.Inertia(1.0), inboard=at)
    mb.add_body("bar", hinge=sc.Free(), inertia=sc.Inertia(1.0), inboard=sc.Pose(translation=(0.6, 0.0, 0.0)))
    mb.set_state(q=[0.3, 0.4, 0.2, -0.3, -0.4, -0.2, 0, 0, 0, 1, 0, 0, 0])
    rb = sc.robot.Robot(mb)
    limb = rb.limb("left", "inertial", "l2")
    assert limb.engine is not None
    rb.grasp("bar", ["l2", "r2"])
    goal = limb.pose()
    assert limb.data.tied
    assert limb.engine is None
    r = limb.ik(sc.Pose(goal.rotation, goal.translation - [0.02, 0.0, 0.0]), near=limb.q, free="rz")
    assert r.found
    assert limb.jacobian(r.q).shape == (6, 3)
    rb.ungrasp("bar")
    assert not limb.data.tied
    assert limb.engine is not None


def test_a_handle_whose_hinges_are_others_now_is_refused():
    """A cup that is put down is no tip of the arm; as long as it is held, it is."""
    rb, _ = with_cup()
    rb.attach("cup", "link7")
    limb = rb.limb("cup in hand", "inertial", "cup")
    assert limb.nv == 7
    rb.detach("cup")
    text = r"limb 'cup in hand' is of the robot as it was before it changed: make it again with robot.limb\("
    for call in (lambda: limb.q, lambda: limb.ik(sc.Pose()), lambda: limb.pose(np.zeros(7))):
        with pytest.raises(StaleError, match=text):
            call()
    rb.undo()
    assert limb.pose().is_close(rb.mb.pose("cup"))


def test_a_handle_does_not_follow_edits_that_others_made():
    rb, limb = with_cup()
    rb.attach("cup", "link7")
    rb.mb.add_body("tool", "link7", sc.Weld(), sc.Inertia(0.1))
    for act in (lambda: None, lambda: rb.detach("cup")):
        act()
        with pytest.raises(StaleError, match="make it again with"):
            limb.ik(sc.Pose())
    assert rb["arm"].nv == 7

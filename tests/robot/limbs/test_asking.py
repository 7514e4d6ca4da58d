"""What a call of a limb is asked with: numbers, names and functions of any kind are read, or refused with a text."""

from __future__ import annotations

import re

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ModelError, SoacraftError, StateError
from soacraft.robot import Robot, World

Q = np.array([0.1, 0.5, 0.2, -1.5, 0.3, 1.7, 0.4])
#: What is no row of seven coordinates: texts, ragged rows, objects, complex numbers, truth values, masked numbers.
NO_NUMBERS = ["abc", [[1, 2], [3]], {"a": 1}, [object()] * 7, Q + 1j, Q > 0, 10**400, np.ma.masked_equal(Q, 0.1)]


def arm():
    return Robot(sc.load("panda")).limb("arm", "inertial", "link7")


def tied():
    mb = sc.serial_chain(3)
    mb.couple("tendon", {"link2": 1.0, "link3": -1.0})
    mb.set_state(q=[0.1, 0.4, 0.4])
    return Robot(mb).limb("finger", "inertial", "link3/tip")


def ball():
    mb = sc.Multibody("ball")
    body = mb.add_body("a", hinge=sc.Spherical(), inertia=sc.Inertia(1.0))
    body.add_node("tip", sc.Pose(translation=(0.1, 0.2, 0.3)))
    return Robot(mb).limb("ball", "inertial", "a/tip")


def hand():
    return Robot(sc.load("shadow_hand")).limb("hand", "rh_palm", ["rh_ffdistal", "rh_thdistal"])


@pytest.mark.parametrize("given", NO_NUMBERS, ids=lambda x: type(x).__name__)
def test_what_is_no_number_is_refused(given):
    limb = arm()
    goal = limb.pose(Q)
    for call in (limb.pose, limb.jacobian, limb.manipulability, limb.placed, limb.self_motion):
        with pytest.raises(StateError, match="q of limb 'arm'"):
            call(given)
    with pytest.raises(StateError, match="near of limb 'arm'"):
        limb.ik(goal, near=given)
    with pytest.raises(StateError, match="wrench on limb 'arm'"):
        limb.torques(Q, given[:6] if isinstance(given, np.ndarray) else given)
    limb.use(ik=lambda pose, near: given)
    with pytest.raises(StateError, match="q of the ik of limb 'arm'"):
        limb.ik(goal)


@pytest.mark.parametrize("value", [None, "a", np.zeros(3), np.nan, [1.0]], ids=str)
def test_what_prefer_gives_is_a_number(value):
    with pytest.raises(StateError, match="the value that prefer= gives for limb 'arm' must"):
        arm().ik(arm().pose(Q), prefer=lambda q: value)


def test_free_axes_are_names():
    limb, goal = arm(), arm().pose(Q)
    for free in (None, 5, np.zeros(2), {"a", 1}, np.array(["rz"])):
        with pytest.raises(StateError, match="free="):
            limb.ik(goal, free=free)
    for free in (["rz"], {"rz"}, "rz"):
        assert limb.ik(goal, near=Q, free=free)


def test_frames_threads_starts_and_steps_of_any_kind():
    limb, goal = arm(), arm().pose(Q)
    for frame in (np.zeros(3), np.array("inertial"), 5, []):
        with pytest.raises(SoacraftError):
            limb.ik(goal, relative_to=frame)
    for threads in (np.zeros(2), "2", 0, True):
        with pytest.raises(StateError, match="threads of ik must be a whole number"):
            limb.ik(goal, threads=threads)
    assert limb.ik(goal, threads=2**63)
    for seeds in (10**9, 10**400, 0, 1.0, "1"):
        with pytest.raises(ModelError, match="seeds must be a whole number from 1 to 1000000"):
            limb.ik(goal, seeds=seeds)
    for most in (None, 1.5, -1, "a", np.inf):
        with pytest.raises(StateError, match="most must be a whole number of at least 0"):
            limb.self_motion(Q, most=most)
    assert len(limb.self_motion(Q, most=3)) == 7


@pytest.mark.parametrize("tolerance", [1e-3, [1e-3] * 6, np.full((2, 6), 1e-3)], ids=["one", "six", "by tip"])
def test_tolerances_of_several_tips(tolerance):
    """One number, six for all tips, or six for each."""
    limb = hand()
    r = limb.ik(limb.pose(), limb.q, tolerance=tolerance)
    assert r.found
    assert np.abs(r.residual).max() <= 1e-3


def test_tips_are_told_by_name():
    limb = hand()
    goal = limb.ik({"rh_thdistal": sc.Pose()}, seeds=1)
    assert not goal
    for key in (5, None, (1, 2)):
        with pytest.raises(StateError, match="is no tip of limb 'hand'"):
            limb.ik({key: sc.Pose()})


@pytest.mark.parametrize("limb", [arm, tied, ball, hand], ids=lambda f: f.__name__)
@pytest.mark.parametrize("batch", [(0,), (2, 0)], ids=str)
def test_no_configurations_give_no_answers(limb, batch):
    """Every leading axis stays, also one of no length."""
    limb = limb()
    q, k = np.zeros((*batch, limb.nq)), len(limb.tips)
    tips = () if k == 1 else (k,)
    columns = len(limb.independent)
    goals = limb.pose(q)
    assert goals.batch_shape == (*batch, *tips)
    assert limb.jacobian(q).shape == (*batch, 6 * k, columns)
    assert limb.torques(q, np.zeros((*batch, *tips, 6))).shape == (*batch, columns)
    assert limb.manipulability(q).volume.shape == batch
    for r in (limb.ik(goals), limb.ik(goals, collisions=World(limb.robot))):
        assert (r.q.shape, r.found.shape) == (q.shape, batch)
        assert (r.residual.shape, r.tried.shape) == ((*batch, *tips, 6), batch)
        assert r.robot_q is None or r.robot_q.shape == (*batch, limb.robot.mb.nq)
        assert repr(r) == "0 of 0 poses found"


def test_starts_have_the_leading_axes_of_the_poses():
    """Of two axes too: each pose is met from the start that is its own."""
    limb = arm()
    near = Q + 0.02 * np.arange(6.0).reshape(2, 3, 1)
    goals = limb.pose(near)
    r = limb.ik(goals, near)
    assert r.found.shape == (2, 3)
    assert np.allclose(r.q, near, atol=1e-6)
    for start, pose, axes in ((near, limb.pose(near[0]), (3,)), (near[:, :2], goals, (2, 3)), (near[0], goals, (2, 3))):
        said = f"near of limb 'arm' has leading axes {start.shape[:-1]}, and the poses {axes}."
        with pytest.raises(StateError, match=re.escape(said)):
            limb.ik(pose, start)


def test_wrenches_and_configurations_have_the_same_leading_axes():
    limb = arm()
    f = np.eye(6)[:2]
    assert limb.torques(Q, f).shape == (2, 7)
    with pytest.raises(StateError, match=r"wrenches on limb 'arm' have the leading axes \(2,\), and q \(3,\)"):
        limb.torques(np.tile(Q, (3, 1)), f)

"""Pose, velocity and acceleration of frames: closed forms, and differences of poses along a motion."""

import numpy as np
import pytest
from tests.model.differences import along, rate, second_rate

from soacraft.errors import ModelError
from soacraft.model import Multibody, random_pose, random_tree
from soacraft.model.hinges import Pin
from soacraft.spatial import Inertia, Pose, log


def planar_arm(l1=1.0, l2=0.7):
    """Two links in the plane x, y."""
    mb = Multibody("planar")
    one = mb.add_body("one", None, Pin((0, 0, 1)), Inertia.rod(1, l1, (1, 0, 0)))
    two = mb.add_body("two", one, Pin((0, 0, 1)), Inertia.rod(1, l2, (1, 0, 0)), Pose(translation=(l1, 0, 0)))
    two.add_node("tip", Pose(translation=(l2, 0, 0)))
    return mb


def test_two_link_planar_arm_in_closed_form():
    mb, l1, l2 = planar_arm(), 1.0, 0.7
    (a, b), (u, w), (du, dw) = q, v, vdot = [0.4, -1.1], [0.8, 1.3], [-0.3, 2.0]
    mb.set_state(q, v, vdot)
    c1, s1, c12, s12 = np.cos(a), np.sin(a), np.cos(a + b), np.sin(a + b)
    np.testing.assert_allclose(mb.pose("two/tip").translation, [l1 * c1 + l2 * c12, l1 * s1 + l2 * s12, 0])
    velocity = mb.velocity("two/tip")
    np.testing.assert_allclose(velocity.angular, [0, 0, u + w])
    linear = [-l1 * s1 * u - l2 * s12 * (u + w), l1 * c1 * u + l2 * c12 * (u + w), 0]
    np.testing.assert_allclose(velocity.linear, linear, atol=1e-14)
    acceleration = mb.acceleration("two/tip")
    np.testing.assert_allclose(acceleration.angular, [0, 0, du + dw])
    x = -l1 * (s1 * du + c1 * u**2) - l2 * (s12 * (du + dw) + c12 * (u + w) ** 2)
    y = l1 * (c1 * du - s1 * u**2) + l2 * (c12 * (du + dw) - s12 * (u + w) ** 2)
    np.testing.assert_allclose(acceleration.linear, [x, y, 0], atol=1e-14)


def test_seen_from_the_first_link_the_second_only_turns():
    mb = planar_arm()
    mb.set_state([0.4, -1.1], [0.8, 1.3], [-0.3, 2.0])
    np.testing.assert_allclose(mb.velocity("two", "one"), [0, 0, 1.3, 0, 0, 0], atol=1e-14)
    np.testing.assert_allclose(mb.acceleration("two", "one"), [0, 0, 2.0, 0, 0, 0], atol=1e-14)
    tip = mb.velocity("two/tip", relative_to="one", expressed_in="two")
    np.testing.assert_allclose(tip, [0, 0, 1.3, 0, 0.7 * 1.3, 0], atol=1e-14)


def test_results_say_what_they_are():
    mb = planar_arm()
    mb.v = [1.0, 0.0]
    velocity = mb.velocity("two/tip", expressed_in="two")
    assert (velocity.kind, velocity.of, velocity.relative_to) == ("velocity", "two/tip", "inertial")
    assert repr(velocity) == (
        "velocity of 'two/tip' relative to 'inertial', expressed in 'two': angular (0, 0, 1), linear (0, 1.7, 0)"
    )
    assert mb.velocity("two/tip", "one").expressed_in == "one"
    assert repr(mb.pose("two", "one")) == "pose of 'two' relative to 'one': Pose(translation=(1, 0, 0))"
    assert mb.acceleration(mb["two"], mb["one"], mb.root).expressed_in == "inertial"
    assert np.asarray(velocity).shape == (6,)


FRAMES = ["body9", "body9/tip", "body4", "body1/tip", "inertial", "inertial/dock"]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("to", FRAMES)
def test_motion_by_differences_of_poses(seed, to):
    mb = random_tree(12, seed=seed, bases=2)
    mb.root.add_node("dock", random_pose(seed))
    motion = along(mb)
    for of in FRAMES:
        pose = mb.pose(of, to, state=motion)
        turn = log(pose.rotation @ pose.rotation[4].mT)  # theta(t) in axes of `to`
        velocity = np.concatenate([rate(turn), rate(pose.translation)])
        acceleration = np.concatenate([second_rate(turn), second_rate(pose.translation)])
        np.testing.assert_allclose(mb.velocity(of, to), velocity, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(mb.acceleration(of, to), acceleration, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", ["velocity", "acceleration"])
def test_expressed_in_only_turns_the_axes(kind):
    mb = random_tree(8, seed=6)
    ask = getattr(mb, kind)
    R = mb.pose("body3", "body5").rotation
    here, there = ask("body8", "body5"), ask("body8", "body5", expressed_in="body3")
    np.testing.assert_allclose(R @ there.angular, here.angular, atol=1e-10)
    np.testing.assert_allclose(R @ there.linear, here.linear, atol=1e-10)


def test_poses_chain():
    mb = random_tree(9, seed=2)
    chained = mb.pose("body4", "body7") @ mb.pose("body9/tip", "body4")
    assert mb.pose("body9/tip", "body7").is_close(chained, 1e-12)
    assert mb.pose("body4", "body4").is_close(Pose(), 1e-12)


def test_frames_that_are_not_there():
    mb = planar_arm()
    for ask in (mb.pose, mb.velocity, mb.acceleration):
        with pytest.raises(ModelError, match="'planar' has no frame 'three'; it has 'inertial', 'one'"):
            ask("three")
        with pytest.raises(ModelError, match="'planar' has no frame 'three'"):
            ask("two", relative_to="three")
    with pytest.raises(ModelError, match="'planar' has no frame 'three'"):
        mb.velocity("two", expressed_in="three")

"""A limb looks at the limits of its own dofs alone: those of the rest of the robot may be anything."""

from __future__ import annotations

import numpy as np
import pytest
from tests.robot.limbs.test_reaching import four_bar

import soacraft as sc
from soacraft.errors import StateError
from soacraft.robot.limbs.data import LimbData

#: Limits that cannot be kept, by hinge.
WRONG = {
    "free": (sc.Free(), sc.Limits(lower=-np.ones(6), upper=np.ones(6))),
    "rolling": (sc.RollingBall(0.3), sc.Limits(upper=1.0)),
    "ball": (sc.Spherical(), sc.Limits(upper=-0.1)),
    "exchanged": (sc.Pin((0, 0, 1)), sc.Limits(lower=1.0, upper=-1.0)),
}


def body(mb, name, parent, hinge, **more):
    inertia = sc.Inertia(1.0, (0, 0, 0), 0.1 * np.eye(3))
    return mb.add_body(name, parent, hinge, inertia, sc.Pose(translation=(0.3, 0.0, 0.1)), **more)


def robot(hinge, wrist=None):
    """A base on a hinge, an arm with a wrist, and a tail."""
    mb, wrist = sc.Multibody("robot"), sc.Pin((1, 0, 0)) if wrist is None else wrist
    body(mb, "base", None, hinge)
    last = "base"
    for i, axis in enumerate([(0, 0, 1), (0, 1, 0), (0, 1, 0)]):
        body(mb, f"arm{i}", last, sc.Pin(axis)).limits = sc.Limits(-2.0, 2.0)
        last = f"arm{i}"
    body(mb, "wrist", last, wrist).limits = sc.Limits(upper=1.5) if wrist.nv == 3 else sc.Limits(-2.0, 2.0)
    mb["wrist"].add_node("tip", sc.Pose(translation=(0.2, 0.0, 0.0)))
    body(mb, "tail", "base", sc.Pin((0, 0, 1)))
    return sc.robot.Robot(mb)


@pytest.mark.parametrize("wrist", [sc.Pin((1, 0, 0)), sc.Spherical()], ids=["compiled", "by tree"])
@pytest.mark.parametrize("kind", WRONG)
def test_limits_of_the_rest_change_nothing(kind, wrist):
    hinge, limits = WRONG[kind]
    plain, rb = robot(hinge, wrist), robot(hinge, wrist)
    rb.mb["base"].limits = limits
    rb.mb["tail"].limits = sc.Limits(lower=1.0, upper=-1.0)
    arms = [x.limb("arm", "base", "wrist/tip") for x in (plain, rb)]
    q = np.array(arms[0].q)
    q[:3] = (0.4, -0.3, 0.6)
    goal, far = arms[0].pose(q), sc.Pose(translation=(5.0, 0.0, 0.0))
    blocked = arms[0].pose(np.concatenate([[2.1], q[1:]]))
    for pose in (goal, far, blocked):
        ours, theirs = (x.ik(pose, seeds=20 if wrist.nv == 1 else 1) for x in arms)
        assert ours.found == theirs.found == (pose is goal)
        assert np.array_equal(ours.q, theirs.q)
        assert ours.why == theirs.why
    assert [np.array_equal(*x) for x in zip(*(x.limits for x in arms), strict=True)] == [True, True]
    assert np.array_equal(rb.mb["base"].limits.upper, np.broadcast_to(limits.upper, hinge.nv))  # as it was


@pytest.mark.parametrize("wrist", [sc.Pin((1, 0, 0)), sc.Spherical()], ids=["compiled", "by tree"])
def test_limits_of_the_rest_that_come_later_change_nothing(wrist):
    rb = robot(sc.Free(), wrist)
    arm = rb.limb("arm", "base", "wrist/tip")
    goal = arm.pose()
    assert arm.ik(goal).found
    rb.mb["base"].limits = WRONG["free"][1]
    assert arm.ik(goal).found
    rb.mb["arm0"].limits = sc.Limits(0.5, 1.0)  # its own
    assert 0.5 <= arm.ik(goal, seeds=1).q[0] <= 1.0


def test_limits_of_the_rest_change_nothing_where_loops_tie_the_limb():
    limb = four_bar(0)[0]
    mb = limb.robot.mb
    mb.add_body("tail", None, sc.Free(), sc.Inertia(1.0)).limits = WRONG["free"][1]
    again = limb.robot[limb.name]
    assert again.ik(again.pose()).found
    assert again.jacobian().shape == (6, 3)


def test_limits_of_its_own_that_cannot_be_kept_are_refused():
    rb = robot(sc.Free())
    arm = rb.limb("arm", "base", "wrist/tip")
    rb.mb["arm1"].limits = sc.Limits(lower=1.0, upper=-1.0)
    with pytest.raises(StateError, match="dof 'arm1' has its lower limit 1 above its upper limit -1"):
        arm.ik(sc.Pose())
    whole = rb.limb("all", "inertial", "wrist/tip")
    rb.mb["arm1"].limits = sc.Limits()
    rb.mb["base"].limits = WRONG["free"][1]
    with pytest.raises(StateError, match="the limits of hinge 'base' cannot be kept"):
        whole.ik(sc.Pose())


def test_the_model_is_copied_only_where_limits_cannot_be_kept():
    rb = robot(sc.Free())
    arm = rb.limb("arm", "base", "wrist/tip")
    assert LimbData(arm).model is rb.mb
    rb.mb["base"].limits = WRONG["free"][1]
    data = LimbData(arm)
    assert data.model is data.model is not rb.mb
    assert [x.full_name for x in data.frames] == ["base", "wrist/tip"]

"""All branches of a limb: none is missed near poses at which branches meet, and none is told twice."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.robot import Robot
from soacraft.robot.limbs.closed_form import CLOSED_FORM


def arms():
    """A UR5e that searches, and one whose branches are told in closed form."""
    rb = Robot(sc.load("ur5e"))
    searched, closed = (rb.limb(name, "inertial", "wrist_3_link") for name in ("searched", "closed"))
    closed.use(ik=CLOSED_FORM)
    return searched, closed


def missed(searched, closed, pose):
    engine = searched.engine
    found = searched.solutions(pose)
    return [x for x in closed.solutions(pose) if min(engine.apart(x, y) for y in found) > 1e-4]


def test_a_branch_beside_another_is_found():
    """The wrist is 0.09 rad from straight and the least singular value 7e-5: few starts lead to the partner, which is
    0.2 rad away."""
    searched, closed = arms()
    pose = searched.pose([5.19072363, 4.15072183, 1.49729165, 2.64679831, -6.18621659, -0.80730347])
    assert len(closed.solutions(pose)) == len(searched.solutions(pose))
    assert missed(searched, closed, pose) == []


@pytest.mark.parametrize("seed", [0, 1])
def test_no_branch_is_missed_near_poses_at_which_branches_meet(seed):
    """Wrist or elbow nearly straight."""
    searched, closed = arms()
    rng, (lower, upper) = np.random.default_rng(seed), searched.limits
    for k in range(40):
        q = rng.uniform(lower, upper)
        q[(2, 4)[k % 2]] = rng.choice([-1, 1]) * 10 ** rng.uniform(-2.0, -0.3)
        assert missed(searched, closed, searched.pose(q)) == []


@pytest.mark.parametrize("tolerance", [1e-6, 1e-4, 1e-3])
def test_a_loose_tolerance_makes_no_branches(tolerance):
    """Of many configurations within it, those that lead to one solution are one; what is within it and leads to none is
    elsewhere. All within limits."""
    searched, _ = arms()
    rng, (lower, upper) = np.random.default_rng(3), searched.limits
    for _ in range(4):
        pose = searched.pose(rng.uniform(lower, upper))
        tight, loose = searched.solutions(pose), searched.solutions(pose, tolerance=tolerance)
        apart = np.array([[searched.engine.apart(x, y) for y in tight] for x in loose])
        assert apart.min(axis=0).max() < 1e-6
        assert ((apart.min(axis=1) < 1e-6) | (apart.min(axis=1) > 1e-2)).all()
        assert len(loose) <= len(tight) + 1
        assert ((loose >= lower) & (loose <= upper)).all()


def test_the_folded_pair_of_an_elbow_is_found_up_to_where_it_is_one():
    """Two links of a metre in a plane reach r with the elbow at +-acos(r^2 / 2 - 1)."""
    mb = sc.Multibody("arm")
    for i in range(2):
        at = sc.Pose() if i == 0 else sc.Pose(translation=(1, 0, 0))
        mb.add_body(f"b{i}", f"b{i - 1}" if i else None, sc.Pin((0, 0, 1)), sc.Inertia(1.0), at)
    mb["b1"].add_node("tip", sc.Pose(translation=(1, 0, 0)))
    arm = Robot(mb).limb("arm", "inertial", "b1/tip")
    for bend in (1.0, 0.1, 1e-2, 1e-3):
        r = np.sqrt(2.0 + 2.0 * np.cos(bend))
        found = arm.solutions(sc.Pose(translation=(0, r, 0)), free=("rx", "ry", "rz"))
        assert np.sort(found[:, 1]) == pytest.approx([-bend, bend], abs=1e-6)

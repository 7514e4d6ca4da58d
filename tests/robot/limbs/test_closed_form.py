"""Closed forms: all branches of an arm, checked; and what has none."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from tests.robot.limbs.test_limb import arm, drawn, off

import soacraft as sc
from soacraft.errors import ModelError, StateError


def around(a, b):
    """The largest angle between configurations, whole turns left out."""
    return np.abs(np.remainder(a - b + np.pi, 2 * np.pi) - np.pi).max(axis=-1)


def test_the_branches_of_a_ur5e_are_those_of_the_search():
    closed, searched, rng = arm("ur5e"), arm("ur5e"), np.random.default_rng(2)
    closed.use(ik="closed form")
    counts = []
    for q in drawn(searched, rng, 12):
        a, b = (x.solutions(x.pose(q)) for x in (closed, searched))
        counts.append(len(a))
        assert len(a) == len(b)
        for x in a:
            assert around(x, b).min() < 1e-6
            assert max(off(searched, searched.pose(q), x)) < 2e-9
    assert max(counts) == 8


def test_one_pose_is_the_branch_nearest_to_its_start_and_within_limits():
    limb, rng = arm("ur5e"), np.random.default_rng(3)
    limb.use(ik="closed form")
    low, high = limb.limits
    for q in rng.uniform(low, high, (20, 6)):  # limits of two turns
        r = limb.ik(limb.pose(q), near=q)
        assert r.found
        assert np.abs(r.q - q).max() < 1e-6
    many = limb.ik(limb.pose(rng.uniform(low, high, (5, 6))))
    assert many.found.all()
    assert ((many.q >= low) & (many.q <= high)).all()
    far = limb.ik(sc.Pose(translation=(3.0, 0.0, 0.0)))
    assert not far.found
    assert far.why.startswith("too far: ")
    turned = limb.ik(limb.pose(q) @ sc.Pose.from_rpy(0.0, 0.0, 1.0), free="rz")  # the search's
    assert turned.found


def test_limits_leave_some_branches_out():
    mb = sc.load("ur5e")
    mb.bodies[-1].limits = sc.Limits(lower=[-0.5], upper=[0.5])
    limb = sc.robot.Robot(mb).limb("arm", "inertial", "wrist_3_link")
    limb.use(ik="closed form")
    q = np.array([0.3, -1.1, 1.4, -0.9, 1.2, 0.4])
    found = limb.solutions(limb.pose(q))
    assert 0 < len(found) < 8
    assert (np.abs(found[:, 5]) <= 0.5).all()


def test_preferences_and_contact_choose_among_the_branches():
    limb = arm("ur5e")
    limb.use(ik="closed form")
    goal = limb.pose([0.3, -1.1, 1.4, -0.9, 1.2, 0.4])
    all_of = limb.solutions(goal)
    r = limb.ik(goal, prefer=lambda q: np.cos(q[2] - 3.0))
    assert r.found
    assert np.isclose(np.cos(r.q[2] - 3.0), np.cos(all_of[:, 2] - 3.0).min())


def test_a_changed_link_changes_the_closed_form():
    limb = arm("ur5e")
    limb.use(ik="closed form")
    q = np.array([0.3, -1.1, 1.4, -0.9, 1.2, 0.4])
    limb.solutions(limb.pose(q))
    body = limb.bodies[3]
    body.inboard = sc.Pose(body.inboard.rotation, body.inboard.translation * 1.1)
    found = limb.solutions(limb.pose(q))
    assert max(x.max() for x in off(limb, limb.pose(q), found)) < 2e-9
    assert around(q, found).min() < 1e-6


def test_limbs_without_a_closed_form_say_why(monkeypatch):
    with pytest.raises(ModelError, match=r"limb 'arm' has no closed form: it has 7 dofs, and at most 6 are known"):
        arm("panda").use(ik="closed form")
    rng = np.random.default_rng(0)

    def any_arm(*hinges):
        mb, last = sc.Multibody("any"), None
        for i, hinge in enumerate(hinges):
            at = sc.Pose.from_rpy(*rng.uniform(-2.0, 2.0, 3), translation=rng.uniform(-1.0, 1.0, 3))
            last = mb.add_body(f"b{i}", last, hinge, sc.Inertia(1.0), inboard=at).name
        return sc.robot.Robot(mb).limb("any", "inertial", last)

    pin = sc.Pin((0, 0, 1))
    with pytest.raises(ModelError, match=r"limb 'any' has no closed form: axes that meet or are parallel are too few"):
        any_arm(*[pin] * 6).use(ik="closed form")
    with pytest.raises(ModelError, match=r"has no closed form: 'b2' slides, and only pins are known"):
        any_arm(pin, pin, sc.Prismatic((0, 0, 1)), pin).use(ik="closed form")
    with pytest.raises(ModelError, match=r"has no closed form: it is no chain of pins to one tip, or something is"):
        any_arm(pin, sc.Spherical()).use(ik="closed form")
    with pytest.raises(StateError, match=r"ik of limb 'arm' must be a function, or 'closed form'; got 'closed'"):
        arm("ur5e").use(ik="closed")
    monkeypatch.setitem(sys.modules, "eaik.IK_HP", None)
    with pytest.raises(ModelError, match=r"needs the package EAIK .*: pip install 'soacraft\[ik\]'"):
        arm("ur5e").use(ik="closed form")

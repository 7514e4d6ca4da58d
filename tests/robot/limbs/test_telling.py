"""Why a goal is not met: each text, and that it is true."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.robot.limbs.arms import SCREWS, arms, inside, random_pose

import soacraft as sc
from soacraft.spatial.rotations import log

TURNS = ("rx", "ry", "rz")


def planar(*limits):
    """Pins about y, rods of 1 m along x: at zero the tip is on x."""
    mb = sc.serial_chain(len(limits))
    for body, x in zip(mb.bodies, limits, strict=True):
        if x is not None:
            body.limits = sc.Limits(lower=[x[0]], upper=[x[1]])
    return sc.robot.Robot(mb).limb("planar", "inertial", f"link{len(limits)}/tip")


def at(x, z):
    return sc.Pose(translation=(x, 0.0, z))


def test_too_far_says_how_far_and_from_where():
    r = planar(None, None).ik(at(0.0, -3.0), free=TURNS)
    assert not r
    assert r.why == (
        "too far: 'link2/tip' would have to be 3 m from hinge 'link1', 1 m beyond the 2 m that the links and slides "
        "between reach"
    )
    assert abs(np.linalg.norm(r.residual[3:]) - 1.0) < 1e-9  # 2 m of links
    many = planar(None, None).ik(sc.Pose(translation=np.array([(0.0, 0.0, -3.0), (1.0, 0.0, 0.0)])), free=TURNS)
    assert many.why[0] == r.why
    assert many.why[1] == ""
    assert abs(np.linalg.norm(many.residual[0, 3:]) - 1.0) < 1e-9


def test_what_is_beyond_by_less_than_its_tolerance_is_not_called_too_far():
    """Held by its limits away from a goal that is 0.05 m beyond the links, with 0.1 m allowed."""
    limb = planar((-0.1, 0.1), (-0.1, 0.1))
    r = limb.ik(at(0.0, -2.05), free=TURNS, tolerance=[1, 1, 1, 0.1, 0.1, 0.1])
    assert not r
    assert r.why.startswith("limits are in the way")


def test_limits_in_the_way_are_named_and_others_are_not():
    """Pulled down: both hinges turn to their upper limits."""
    r = planar((-0.1, 0.1), (-0.2, 0.2)).ik(at(0.0, -1.9), free=TURNS)
    off = np.linalg.norm(r.residual[3:])
    assert r.why == (
        f"limits are in the way at the nearest approach, off by {off:.3g} m and 0 rad: link1 at its upper limit 0.1, "
        "link2 at its upper limit 0.2"
    )
    assert np.allclose(r.q, (0.1, 0.2))
    one = planar((-0.1, 0.1), None).ik(at(0.0, -2.0), free=TURNS)
    assert "link1 at its upper limit 0.1" in one.why
    assert "link2" not in one.why
    held = planar((0.3, 0.3), (-0.5, 0.5), (-0.5, 0.5)).ik(at(0.0, -0.6), free=TURNS)
    assert held.q[0] == 0.3
    assert "link1 at its upper limit 0.3" in held.why


@given(arms(SCREWS[:3], most=5))
@tries(25)
def test_a_limit_that_is_blamed_is_in_the_way(drawn):
    """Moving a blamed dof past its limit makes what is left smaller."""
    limb, rng = drawn
    goal = limb.pose(inside(limb, rng)) @ random_pose(rng, 0.3)
    r = limb.ik(goal, seeds=30)
    scale = np.repeat([1.0, 1.0 / limb.data.length], 3)
    for name, side in re.findall(r"(\S+) at its (lower|upper) limit", r.why):
        i = limb.dof_names.index(name)
        step = 1e-5 * (1 if side == "upper" else -1) * np.eye(limb.nv)[i] / limb.data.unit[i]
        sizes = []
        for q in (r.q, r.q + step):
            X = goal.inv @ limb.true_pose(q)
            sizes.append(np.linalg.norm(scale * np.concatenate([log(X.rotation), X.translation])))
        assert sizes[1] < sizes[0]


@given(st.integers(0, 2**32 - 1))
@tries(25)
def test_an_approach_is_a_true_one(seed):
    """No joint is clamped blindly: where nothing is found, no dof alone can bring the tip nearer."""
    rng = np.random.default_rng(seed)
    limits = [tuple(sorted(rng.uniform(-1.5, 1.5, 2))) for _ in range(3)]
    limb = planar(*limits)
    goal = at(*rng.uniform(-3.0, 3.0, 2))
    r = limb.ik(goal, free=TURNS)
    if r.found:
        return
    left = np.linalg.norm(r.residual[3:])
    low, high = limb.limits
    for step in 1e-4 * np.concatenate([np.eye(3), -np.eye(3)]):
        q = np.clip(r.q + step, low, high)
        assert np.linalg.norm(limb.pose(q).translation - goal.translation) >= left - 1e-9


def test_contact_is_told_with_the_pair():
    mb = sc.serial_chain(2)
    rb = sc.robot.Robot(mb)
    limb = rb.limb("arm", "inertial", "link2/tip")
    world = sc.robot.World(rb)
    world.add("tool", sc.contact.Sphere(0.1), sc.Pose(translation=(1.0, 0.0, 0.0)), on="link2")
    world.add("wall", sc.contact.Box(0.2, 2.0, 2.0), sc.Pose(translation=(1.5, 0.0, 0.0)))
    r = limb.ik(at(1.5, 0.0), free=TURNS, collisions=world)
    assert not r.found
    assert re.search(r"(all \d+ solutions touch|the only solution found touches) something", r.why)
    assert "tool" in r.why
    assert "wall" in r.why
    assert limb.ik(at(0.5, 0.8), free=TURNS, collisions=world).found
    many = limb.ik(sc.Pose(translation=np.array([(1.5, 0.0, 0.0), (0.5, 0.0, 0.8)])), free=TURNS, collisions=world)
    assert many.found.tolist() == [False, True]
    assert "wall" in many.why[0]


def test_stops_and_ropes_stop():
    """A one-sided coupling and a rope are kept, and told where they forbid what would be a solution."""
    limb = planar((-2.0, 2.0), (-2.0, 2.0))
    mb = limb.robot.mb
    mb.couple("stop", {"link1": 1, "link2": 1}, 0.0, one_sided=True)
    limb = limb.robot["planar"]
    good = limb.pose([0.2, 0.5])
    r = limb.ik(good, free=TURNS)
    assert r.found
    assert r.q.sum() >= -1e-9
    bad = limb.ik(limb.pose([-0.9, 0.1]), free=TURNS)
    assert not bad.found
    assert "a stop or a rope forbids" in bad.why
    assert "'stop' is passed by" in bad.why
    roped = sc.serial_chain(2)
    roped.add_rope("tether", "inertial", "link2/tip", 1.0)
    tied = sc.robot.Robot(roped).limb("arm", "inertial", "link2/tip")
    assert tied.ik(at(0.5, 0.5), free=TURNS).found
    far = tied.ik(at(1.5, 0.0), free=TURNS)
    assert not far.found
    assert "rope 'tether' would have to be 1.5 m long, 0.5 m more than it is" in far.why


def test_a_ball_at_its_largest_angle_is_told():
    mb = sc.Multibody("ball")
    body = mb.add_body("a", hinge=sc.Spherical(), inertia=sc.Inertia(1.0))
    body.add_node("tip", sc.Pose(translation=(0.0, 0.0, 1.0)))
    body.limits = sc.Limits(upper=[0.5] * 3)
    limb = sc.robot.Robot(mb).limb("neck", "inertial", "a/tip")
    r = limb.ik(sc.Pose(translation=(1.0, 0.0, 0.0)), free=TURNS)
    assert not r.found
    assert "a at its largest angle 0.5" in r.why
    assert abs(2.0 * np.arccos(abs(r.q[3])) - 0.5) < 1e-6

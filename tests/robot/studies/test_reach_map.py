"""Reach maps: the ring of two links, the disc of three with every direction, limits, worlds, frames; refusals."""

from __future__ import annotations

import numpy as np
import pytest
from tests.robot.studies.models import about_z, planar

import soacraft as sc
from soacraft.errors import ModelError, SizeError, StateError

FLAT = ((-3.2, -3.2, 0), (3.2, 3.2, 0))
TURNS = ("rx", "ry", "rz")
study = sc.robot.study


def arm_of(rb, tip):
    return rb.limb("arm", "inertial", tip)


def test_two_links_reach_a_ring():
    """|l1 - l2| <= r <= l1 + l2, no voxel more or less, and volume l1 l2 |sin q2| of the Jacobian."""
    rb = planar(2.0, 1.0)
    m = study.reach_map(arm_of(rb, "l2/tip"), 0.16, FLAT, free=TURNS)
    r = np.linalg.norm(m.grid.centers, axis=1)
    assert np.array_equal(m.reached == 1, (r >= 1.0) & (r <= 3.0))
    some = m.reached > 0
    assert 200 < some.sum() < len(some)
    cos = (r[some] ** 2 - 5.0) / 4.0
    assert m.best[some] * 3.0**2 == pytest.approx(2.0 * np.sqrt(1.0 - cos**2), abs=1e-6)
    assert np.isnan(m.best[~some]).all()
    assert np.isnan(m.q[~some]).all()
    tips = arm_of(rb, "l2/tip").pose(m.q[some]).translation
    assert np.abs(tips - m.grid.centers[some]).max() < 1e-8
    assert m.volume == some.sum() * m.spacing**3


def test_three_links_have_every_direction_where_the_wrist_stays_in_the_ring():
    """The tip at p with direction a asks the wrist to be at p - l3 a, in the ring of the first two links."""
    l1, l2, l3 = 1.53, 1.01, 0.47
    m = study.reach_map(arm_of(planar(l1, l2, l3), "l3/tip"), 0.4, FLAT, orientations=about_z(12))
    a = 2 * np.pi * np.arange(12) / 12
    wrist = m.grid.centers[:, None, :2] - l3 * np.stack([np.cos(a), np.sin(a)], axis=1)
    r = np.linalg.norm(wrist, axis=-1)
    assert np.array_equal(m.reached, ((r >= l1 - l2) & (r <= l1 + l2)).sum(axis=1))
    assert 0 < (m.reached == 12).sum() < (m.reached > 0).sum()


def test_limits_cut_the_ring():
    rb = planar(2.0, 1.0)
    rb.mb["l1"].limits = sc.Limits(lower=[0.0], upper=[0.0])
    m = study.reach_map(arm_of(rb, "l2/tip"), 0.5, ((2, -1, 0), (3, 1, 0)), free=TURNS)
    r = np.linalg.norm(m.grid.centers - [2.0, 0, 0], axis=1)
    assert np.array_equal(m.reached > 0, np.abs(r - 1.0) < 1e-9)
    assert (m.reached > 0).sum() == 3  # (2, -1), (2, 1), (3, 0)


def test_sampling_gives_less_and_never_more():
    """A voxel is counted where a tip is inside of it: its centre is no farther from the ring than half a diagonal."""
    rb = planar(2.0, 1.0)
    arm = arm_of(rb, "l2/tip")
    by_ik = study.reach_map(arm, 0.4, FLAT, free=TURNS)
    m = study.reach_map(arm, 0.4, FLAT, free=TURNS, by="sampling", samples=20_000)
    r, half = np.linalg.norm(m.grid.centers, axis=1), 0.2 * np.sqrt(2.0)
    assert not (m.reached > 0)[(r < 1.0 - half) | (r > 3.0 + half)].any()
    inner = (r > 1.0 + half) & (r < 3.0 - half)
    assert (m.reached > 0)[inner].all()
    assert (by_ik.reached > 0)[inner].all()
    same = study.reach_map(arm, 0.4, FLAT, free=TURNS, by="sampling", samples=20_000)
    assert m.same_as(same)


def test_a_world_takes_away_what_is_touched():
    """A wall beyond x = 1.2: centres behind it are out of reach, those before it at its side are not."""
    rb = planar(1.0, 1.0)
    for name in ("l1", "l2"):
        rb.mb[name].add_geometry(
            sc.Geometry("rod", "capsule", (0.02, 1.0), sc.Pose.from_rpy(0, np.pi / 2, 0, (0.5, 0, 0)), role="collision")
        )
    w = sc.robot.World(rb)
    w.add("wall", sc.contact.Box(0.1, 6.0, 1.0), sc.Pose(translation=(1.25, 0, 0)))
    arm = arm_of(rb, "l2/tip")
    box = ((-1.5, 0.3, 0), (1.5, 0.3, 0))
    free = study.reach_map(arm, 0.5, box, free=TURNS)
    m = study.reach_map(arm, 0.5, box, free=TURNS, collisions=w)
    x = m.grid.centers[:, 0]
    assert (free.reached > 0).all()
    assert np.array_equal(m.reached > 0, x < 1.2)
    assert not np.asarray(w.collides(arm.of_robot(m.q[m.reached > 0]))).any()
    drawn = study.reach_map(arm, 0.5, box, free=TURNS, by="sampling", samples=5000, collisions=w)
    assert not (drawn.reached > 0)[x > 1.3].any()


def test_a_map_in_another_frame_and_of_a_moved_base():
    """The same voxels, whichever frame names them."""
    mb = planar(2.0, 1.0).mb
    base = sc.Multibody("stand", gravity=(0, 0, 0))
    stand = base.add_body("stand", None, sc.Weld(), sc.Inertia(1.0), inboard=sc.Pose.from_rpy(0, 0, 0.5, (4.0, 1.0, 0)))
    base.add_model(mb, stand, None, sc.Pose())
    rb = sc.robot.Robot(base)
    arm = rb.limb("arm", "stand", "l2/tip")
    here = study.reach_map(arm, 0.5, FLAT, free=TURNS)
    X = base.pose("stand")
    corner = ((4.0 - 3.0, 1.0 - 3.0, 0), (4.0 + 3.0, 1.0 + 3.0, 0))
    there = study.reach_map(arm, 0.5, corner, frame="inertial", free=TURNS)
    r = np.linalg.norm(there.grid.centers - X.translation, axis=1)
    assert np.array_equal(there.reached > 0, (r >= 1.0) & (r <= 3.0))
    assert (here.frame, there.frame) == ("stand", "inertial")
    with pytest.raises(ModelError, match="frame 'l1' moves with limb 'arm', so that no map can be drawn in it"):
        study.reach_map(arm, 0.5, frame="l1")


def test_the_map_does_not_depend_on_the_unit_of_length():
    one, big = (study.reach_map(arm_of(planar(2.0 * s, s), "l2/tip"), 0.4 * s, np.array(FLAT) * s, free=TURNS)
                for s in (1.0, 1000.0))  # fmt: skip
    assert np.array_equal(one.reached, big.reached)
    assert np.nan_to_num(one.best) == pytest.approx(np.nan_to_num(big.best), rel=1e-6, abs=1e-9)


def test_a_spherical_hinge_and_a_slide():
    """A ball and a slide from 0.5 to 1 m: a shell, every orientation of the tip goes with one direction."""
    mb = sc.Multibody("ball", gravity=(0, 0, 0))
    ball = mb.add_body("ball", None, sc.Spherical(), sc.Inertia.sphere(1.0, 0.1))
    slide = mb.add_body("slide", ball, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
    slide.limits = sc.Limits(lower=[0.5], upper=[1.0])
    arm = sc.robot.Robot(mb).limb("arm", "inertial", "slide")
    assert arm.engine is None
    m = study.reach_map(arm, 0.7, ((-0.7, -0.7, 0), (0.7, 0.7, 0)), free=TURNS)
    r = np.linalg.norm(m.grid.centers, axis=1)
    assert np.array_equal(m.reached > 0, (r >= 0.5) & (r <= 1.0))
    drawn = study.reach_map(arm, 0.25, by="sampling", samples=3000)
    r = np.linalg.norm(drawn.grid.centers, axis=1)
    assert not (drawn.reached > 0)[(r < 0.5 - 0.22) | (r > 1.0 + 0.22)].any()
    assert (drawn.reached > 0).sum() > 20


@pytest.mark.parametrize("by", ["ik", "sampling"])
def test_limits_of_what_is_not_the_limb_are_not_looked_at(by):
    """A ball with a slide, and next to it a free body with limits, which nothing could keep."""
    mb = sc.Multibody("m")
    mb.add_body("ball", None, sc.Spherical(), sc.Inertia(1.0, (0, 0, 0.5), np.eye(3)))
    out = mb.add_body("out", "ball", sc.Prismatic((0, 0, 1)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    out.limits = sc.Limits(lower=0.5, upper=1.0)
    free = mb.add_body("free", None, sc.Free(), sc.Inertia(1.0))
    maps = []
    for limits in (sc.Limits(), sc.Limits(lower=-np.ones(6), upper=np.ones(6))):
        free.limits = limits
        arm = sc.robot.Robot(mb).limb("arm", "inertial", "out")
        maps.append(study.reach_map(arm, 0.5, ((-1, -1, 0), (1, 1, 0)), free=TURNS, by=by, seeds=1, samples=200))
    assert maps[0].reached.sum() > 0
    assert np.array_equal(maps[0].reached, maps[1].reached)


def test_a_closed_chain_is_searched_with_its_loop_kept():
    mb = sc.load("five_bar")
    mb.set_state(sc.loops.TreeAugmented(mb).assemble(mb.q), np.zeros(mb.nv))
    rb = sc.robot.Robot(mb)
    limb = rb.limb("rod", "inertial", mb.loops[0].a.full_name)
    tip = limb.pose().translation
    m = study.reach_map(limb, 0.05, (tip, tip + np.array([0.05, 0, 0])), free=TURNS, seeds=4)
    assert m.reached[0] == 1
    with pytest.raises(StateError, match="has loops or couplings, so that its dofs cannot be drawn one by one"):
        study.reach_map(limb, 0.05, (tip, tip), by="sampling")


def test_it_shows_itself_and_comes_back_from_its_file(tmp_path):
    m = study.reach_map(arm_of(planar(2.0, 1.0), "l2/tip"), 0.8, FLAT, free=TURNS)
    assert repr(m).startswith("ReachMap of 'arm' by ik: ")
    assert dict(m.table().rows)["voxels"] == 81
    assert "reached in all orientations" in m._repr_html_()
    assert study.load(m.save(tmp_path / "m.h5")).same_as(m)


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (dict(spacing=0.0), StateError, "spacing must be positive, in metres; got 0.0"),
        (dict(box=((1, 0, 0), (0, 0, 0))), StateError, r"box is \(lower corner, upper corner\)"),
        (dict(spacing=1e-4), SizeError, "a map of .* voxels is more than 10,000,000: take a larger spacing="),
        (dict(by="guess"), StateError, "by='guess' is no way to make a reach map: take 'ik' or 'sampling'"),
        (dict(orientations=np.zeros((2, 2))), StateError, r"orientations are a number, quaternions \(k, 4\)"),
        (dict(orientations=np.ones((1, 3, 3))), StateError, r"matrices \(k, 3, 3\) must be rotations"),
        (dict(collisions=5), StateError, "collisions= is a World around this robot, got 5"),
        (dict(seeds=0), ModelError, "seeds must be a whole number of at least 1"),
        (dict(free=("rq",)), StateError, "free='rq' is no axis of a goal"),
        (dict(free=np.array(1.0)), StateError, r"free= names axes of a goal, .* got array\(1\.\)"),
    ],
)
def test_refused(given, error, text):
    with pytest.raises(error, match=text):
        study.reach_map(arm_of(planar(2.0, 1.0), "l2/tip"), **given)


def test_what_is_no_limb_or_has_no_end_is_refused():
    with pytest.raises(ModelError, match="a reach map is of a Limb"):
        study.reach_map("arm")
    mb = sc.Multibody("rail", gravity=(0, 0, 0))
    mb.add_body("cart", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
    with pytest.raises(StateError, match="dof 'cart' travels without limits, so that the map has no end"):
        study.reach_map(sc.robot.Robot(mb).limb("rail", "inertial", "cart"))

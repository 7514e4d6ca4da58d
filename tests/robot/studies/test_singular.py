"""Singular sets: elbow of two links at 0 and pi, wrist of a UR5e at q5 = 0, the three factors of its determinant."""

from __future__ import annotations

import numpy as np
import pytest
from tests.robot.studies.models import bars, planar

import soacraft as sc
from soacraft.errors import ModelError, StateError
from soacraft.robot.studies.singular import Triple, _bisected

study = sc.robot.study


def two(l1=2.0, l2=1.0):
    return planar(l1, l2).limb("arm", "inertial", "l2/tip")


def test_two_links_along_a_path():
    """det J = l1 l2 sin q2: at 0 and pi, whatever q1 is; lost is the way along the arm."""
    way = np.stack([np.linspace(0.2, 1.0, 15), np.linspace(-0.9, 3.9, 15)], axis=1)
    s = study.singularities(two(), way, rows="linear", path=True)
    assert s.singular[:, 1] == pytest.approx([0.0, np.pi], abs=1e-8)
    assert (s.left < 1e-8).all()
    for q, u in zip(s.singular, s.lost, strict=True):
        along = np.array([np.cos(q[0]), np.sin(q[0]), 0])
        assert abs(u[3:] @ along) == pytest.approx(1.0, abs=1e-7)
        assert not u[:3].any()
    # the null motion: l1 q1dot + (+-) l2 (q1dot + q2dot) = 0
    assert s.idle[0] / s.idle[0][0] == pytest.approx([1.0, -3.0], rel=1e-6)
    assert s.idle[1] / s.idle[1][0] == pytest.approx([1.0, 1.0], rel=1e-6)


def test_two_links_by_newton_from_samples():
    s = study.singularities(two(), rows="linear", samples=200, near=0.4)
    assert len(s.singular) > 20
    assert np.abs(np.sin(s.singular[:, 1])).max() < 1e-7
    r = np.linalg.norm(s.place, axis=1)
    assert (np.minimum(np.abs(r - 3.0), np.abs(r - 1.0)) < 1e-7).all()  # both rims of the ring
    assert {round(x) for x in r} == {1, 3}
    # sigma2 of [[l1 sin, 0], ...]: product of the two is l1 l2 |sin q2| / reach^2
    J = two().jacobian(s.q)[:, 3:] / 3.0
    assert s.smallest == pytest.approx(np.linalg.svd(J, compute_uv=False)[:, 1], abs=1e-12)


def test_the_smallest_value_does_not_depend_on_the_unit_of_length():
    q = np.random.default_rng(1).uniform(-3, 3, (20, 2))
    one, big = (study.singularities(two(2.0 * s, s), q, rows="linear") for s in (1.0, 1000.0))
    assert one.smallest == pytest.approx(big.smallest, rel=1e-9)
    assert len(one.singular) == len(big.singular)


def ur5e():
    return sc.robot.Robot(sc.load("ur5e")).limb("arm", "inertial", "wrist_3_link")


def test_the_wrist_of_a_ur5e():
    """q5 = 0 makes the axes of joints 4 and 6 parallel."""
    q = np.array([0.3, -1.1, 1.4, -0.7, -0.6, 0.2])
    way = np.stack([q, q + np.array([0.1, 0.05, -0.1, 0.1, 1.3, 0.0])])
    s = study.singularities(ur5e(), way, path=True)
    assert s.singular.shape == (1, 6)
    assert s.singular[0, 4] == pytest.approx(0.0, abs=1e-8)
    J = ur5e().jacobian(s.singular[0])
    assert np.abs(np.cross(J[:3, 3], J[:3, 5])).max() < 1e-7
    assert np.linalg.norm(J[:3, :] @ s.idle[0]) < 1e-7


def test_all_singular_sets_of_a_ur5e():
    """det J is a product of sin q3 (elbow), sin q5 (wrist), and the distance of the wrist from the plane of joint 1 and
    the axes of joints 2 to 4 (shoulder): at each point found one of them is zero, and all three are found."""
    arm = ur5e()
    s = study.singularities(arm, samples=250, near=0.3, seed=2)
    assert len(s.singular) > 30
    q = s.singular
    elbow, wrist = np.abs(np.sin(q[:, 2])), np.abs(np.sin(q[:, 4]))
    shoulder = np.array([_shoulder(arm, x) for x in q])
    assert np.min([elbow, wrist, shoulder], axis=0).max() < 1e-6
    assert all((x < 1e-6).any() for x in (elbow, wrist, shoulder))
    assert (s.left < 1e-8).all()
    low, high = arm.limits
    assert ((q >= low - 1e-8) & (q <= high + 1e-8)).all()


def _shoulder(arm, q):
    """How far the point where the axes of joints 5 and 6 meet is from axis 1, across axes 1 and 2."""
    mb = arm.robot.mb
    state = mb.state(arm.of_robot(q))
    J = sc.dynamics.jacobian(mb, arm.of_robot(q), "wrist_3_link")
    z1, z2 = J[:3, 0], J[:3, 1]
    five, six = (mb.pose(x, state=state) for x in ("wrist_2_link", "wrist_3_link"))
    a5, a6 = J[:3, 4], J[:3, 5]
    # where the lines p5 + s a5 and p6 + t a6 are nearest
    A = np.stack([a5, -a6], axis=1)
    st = np.linalg.lstsq(A, six.translation - five.translation, rcond=None)[0]
    meet = five.translation + st[0] * a5
    at = mb.pose("shoulder_link", state=state).translation
    return abs((meet - at) @ np.cross(z1, z2))


def test_a_redundant_limb_and_a_ball():
    """A Panda: where sigma vanishes, rank is below six. A tip on a ball: it cannot go sideways at the centre."""
    arm = sc.robot.Robot(sc.load("panda")).limb("arm", "inertial", "link7")
    s = study.singularities(arm, samples=60, near=0.3, seed=1)
    for q in s.singular:
        assert np.linalg.matrix_rank(arm.jacobian(q), tol=1e-7) < 6
    assert len(s.singular) > 0
    mb = sc.Multibody("ball", gravity=(0, 0, 0))
    ball = mb.add_body("ball", None, sc.Spherical(), sc.Inertia.sphere(1.0, 0.1))
    mb.add_body("slide", ball, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0)).add_node("tip", sc.Pose(translation=(1, 0, 0)))
    limb = sc.robot.Robot(mb).limb("l", "inertial", "slide/tip")
    q = np.array([[0, 0, 0, 1, x] for x in (-0.6, -0.85, -0.9, -1.3)])
    s = study.singularities(limb, q, rows="linear", near=1.0)
    assert np.abs(s.singular[:, 4] + 1.0).max() < 1e-7  # the tip is at the centre of the ball
    assert len(s.singular)


def test_it_shows_itself_and_comes_back_from_its_file(tmp_path):
    s = study.singularities(two(), [[0.0, -0.4], [0.0, 0.7]], rows="linear", path=True)
    assert repr(s).startswith("Singularities of 'arm', linear rows: 1 found from 2 configurations")
    assert s.kinds == ("way along 1.00 x: l1, l2",)
    assert s.table().rows[0][:3] == ("l1, l2", 1, "way along 1.00 x")
    assert study.load(s.save(tmp_path / "s.h5")).same_as(s)
    none = study.singularities(two(), [[0.0, 0.4], [0.0, 0.7]], rows="linear", path=True)
    assert study.load(none.save(tmp_path / "n.h5")).same_as(none)


def test_refused():
    with pytest.raises(ModelError, match="singularities are of a Limb"):
        study.singularities(5)
    with pytest.raises(StateError, match="rows='z' must be 'all', 'linear' or 'angular'"):
        study.singularities(two(), rows="z")
    with pytest.raises(StateError, match="a path needs configurations q"):
        study.singularities(two(), path=True)
    with pytest.raises(StateError, match="singularities need at least one configuration"):
        study.singularities(two(), np.zeros((0, 2)))
    limb = sc.robot.Robot(bars()).limb("crank", "inertial", "coupler/end")
    with pytest.raises(StateError, match="limb 'crank' has loops or couplings, whose singular sets are not"):
        study.singularities(limb)
    mb = sc.Multibody("top", gravity=(0, 0, 0))
    mb.add_body("top", None, sc.Pin((0, 0, 1)), sc.Inertia.sphere(1.0, 0.1))
    limb = sc.robot.Robot(mb).limb("top", "inertial", "top")
    with pytest.raises(StateError, match="nothing moves the tip of limb 'top' in its linear rows"):
        study.singularities(limb, rows="linear")
    hand = planar(1.0, 1.0)
    hand.mb["l1"].add_node("side")
    several = hand.limb("hand", "inertial", ["l2/tip", "l1/side"])
    with pytest.raises(ModelError, match="limb 'hand' has 2 tips: make one for each, and study them by turns"):
        study.singularities(several)


@pytest.mark.parametrize(("least", "loses"), [(0.0, True), (1e-8, True), (0.2, False)])
def test_a_sign_that_changes_where_nothing_is_lost_is_no_singular_configuration(least, loses):
    """Two values that change places turn their vectors too: the value must vanish, or nearly so, there too."""

    class Along:
        def triple(self, q):
            s = float(q[0]) - 0.3
            return Triple(np.array([np.sign(s) or 1.0, 0.0]), least + abs(s), np.array([1.0, 0.0]), 1.0 + least)

    found = _bisected(Along(), lambda s: np.array([s]), 0.0, 1.0, Along().triple([0.0]))
    assert (found is not None) == loses
    if loses:
        assert found == pytest.approx([0.3], abs=1e-9)

"""Maps of what a node reaches: places and manipulability of a two-link arm in closed form, refusals by text."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ViewError
from soacraft.model.sizes.scale import scale_of


def arm(l1=2.0, l2=1.0):
    mb = sc.Multibody("arm", gravity=(0, 0, 0))
    upper = mb.add_body("upper", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0))
    lower = mb.add_body("lower", upper, sc.Pin((0, 0, 1)), sc.Inertia(1.0), inboard=sc.Pose(translation=(l1, 0, 0)))
    lower.add_node("tip", sc.Pose(translation=(l2, 0, 0)))
    return mb


def test_an_arm_of_two_links_reaches_a_ring():
    (panel,) = sc.view.workspace(arm(), "lower/tip", samples=500).panels
    assert (panel.x_label, panel.y_label) == ("x [m]", "y [m]")
    x, y = panel.lines["lower/tip"]
    r = np.hypot(x, y)
    assert (r >= 1.0 - 1e-12).all()
    assert (r <= 3.0 + 1e-12).all()
    assert r.min() < 1.1  # it fills the ring
    assert r.max() > 2.9
    cos = (r**2 - 5.0) / 4.0  # of the elbow; the volume is l1 l2 |sin|
    values = panel.values / np.sqrt(1.0 - cos**2)
    assert values == pytest.approx(values[0], rel=1e-6)


def test_manipulability_does_not_depend_on_the_unit_of_length():
    near, far = (sc.view.workspace(arm(2.0 * s, s), "lower/tip", samples=50).panels[0].values for s in (1.0, 1000.0))
    assert near == pytest.approx(far, rel=1e-9)


def test_a_turning_slide_has_the_volume_of_polar_coordinates():
    """dx dy = r dr dphi, with r in lengths of the model; of the slide alone its unit direction has the volume 1, and
    of the turn alone it is r again."""
    mb = sc.Multibody("crane", gravity=(0, 0, 0))
    mb.add_body("turret", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0))
    mb.add_body("boom", "turret", sc.Prismatic((1, 0, 0)), sc.Inertia(1.0), inboard=sc.Pose(translation=(2.0, 0, 0)))
    mb["boom"].limits = sc.Limits(lower=[-0.5], upper=[1.0])
    length = scale_of(mb).length
    for dofs, power in ((None, 1), ("turret", 1), ("boom", 0)):
        (panel,) = sc.view.workspace(mb, "boom", dofs=dofs, samples=40, axes="xy").panels
        x, y = panel.lines["boom"]
        assert panel.values == pytest.approx((np.hypot(x, y) / length) ** power, rel=1e-9)


def test_chosen_dofs_move_and_the_others_stay():
    mb = arm()
    mb.q = [0.3, 0.5]
    (panel,) = sc.view.workspace(mb, "lower/tip", dofs="lower", samples=50).panels
    x, y = panel.lines["lower/tip"]
    elbow = 2.0 * np.array([np.cos(0.3), np.sin(0.3)])
    assert np.hypot(x - elbow[0], y - elbow[1]) == pytest.approx(1.0)
    assert panel.title == "workspace of lower/tip: 50 samples of 1 dof"
    assert np.array_equal(mb.q, [0.3, 0.5])


def test_limits_are_kept_and_axes_chosen():
    mb = arm()
    mb["upper"].limits = sc.Limits(lower=[0.0], upper=[0.1])
    chart = sc.view.workspace(mb, "lower", samples=50, axes="yx")
    y, x = chart.panels[0].lines["lower"]
    assert (np.arctan2(y, x) <= 0.1).all()
    assert (y >= 0.0).all()
    assert chart.panels[0].x_label == "y [m]"
    drawn = chart.figure.axes[0].collections[0]
    assert np.array_equal(drawn.get_offsets(), np.stack([y, x], axis=1))
    assert np.array_equal(drawn.get_array(), chart.panels[0].values)
    assert chart.figure.axes[1].get_ylabel() == "manipulability"


def test_refused():
    mb = arm()
    with pytest.raises(ViewError, match="workspace takes a model, got str"):
        sc.view.workspace("arm", "lower/tip")
    with pytest.raises(sc.errors.ModelError, match=r"'arm' has no frame 'lower/tap'; did you mean 'lower/tip'"):
        sc.view.workspace(mb, "lower/tap")
    with pytest.raises(ViewError, match=r"'arm' has no dof 'uper'; did you mean 'upper'\?"):
        sc.view.workspace(mb, "lower/tip", dofs="uper")
    with pytest.raises(ViewError, match=r"axes of a workspace are two of x, y and z, such as 'xz'; got 'xx'"):
        sc.view.workspace(mb, "lower/tip", axes="xx", samples=3)
    with pytest.raises(ViewError, match="samples of a workspace"):
        sc.view.workspace(mb, "lower/tip", samples=0)
    mb.add_body("rail", "lower", sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
    with pytest.raises(ViewError, match=r"dof 'rail' travels without limits, so that its workspace has none: give it"):
        sc.view.workspace(mb, "rail")
    assert sc.view.workspace(mb, "rail", dofs=["upper", "lower"], samples=3).panels
    with pytest.raises(ViewError, match="has loops or couplings that tie its dofs"):
        sc.view.workspace(sc.load("five_bar"), "rod")
    with pytest.raises(ViewError, match="no dof moves; name some with dofs="):
        sc.view.workspace(mb, "rail", dofs=[])

"""Maps of reach: squares at the centres of the voxels, layers and axes by name; refusals by text."""

from __future__ import annotations

import numpy as np
import pytest
from tests.robot.studies.models import planar

import soacraft as sc
from soacraft.errors import ViewError

TURNS = ("rx", "ry", "rz")


@pytest.fixture(scope="module")
def ring():
    arm = planar(2.0, 1.0).limb("arm", "inertial", "l2/tip")
    return sc.robot.study.reach_map(arm, 0.8, ((-3.2, -3.2, 0), (3.2, 3.2, 0)), free=TURNS)


def test_a_map_shows_each_voxel(ring, tmp_path):
    chart = sc.view.study(ring)
    (panel,) = chart.panels
    assert (panel.x_label, panel.y_label, panel.values_label) == ("x [m]", "y [m]", "share of orientations")
    x, y = panel.lines["share of orientations"]
    r = np.hypot(x, y)
    assert np.array_equal(panel.values == 1.0, (r >= 1.0) & (r <= 3.0))
    assert np.isnan(panel.values[r > 3.0]).all()
    assert panel.title == "reach of 'arm' in 'inertial'"
    assert chart.save(tmp_path / "map.png").stat().st_size > 1000


def test_manipulability_and_layers():
    arm = sc.robot.Robot(sc.load("ur5e")).limb("arm", "inertial", "wrist_3_link")
    m = sc.robot.study.reach_map(arm, 0.5, orientations=2)
    cube = m.best.reshape(*m.counts)
    (panel,) = sc.view.study(m, "best", axes="zy", at=0.02).panels
    layer = int(np.argmin(np.abs(m.first[0] + 0.5 * np.arange(m.counts[0]) - 0.02)))
    assert np.array_equal(panel.values, cube[layer].T.ravel(), equal_nan=True)
    assert panel.title.endswith(f"; x = {m.first[0] + 0.5 * layer:.4g} m")
    (panel,) = sc.view.study(m, "best", axes="xy").panels
    seen = np.max(np.where(np.isnan(cube), -np.inf, cube), axis=2)
    assert np.array_equal(panel.values, np.where(np.isinf(seen), np.nan, seen).ravel(), equal_nan=True)
    with pytest.raises(ViewError, match="at=9 is outside of the map: z goes from"):
        sc.view.study(m, axes="xy", at=9.0)


def test_singularities():
    arm = planar(2.0, 1.0).limb("arm", "inertial", "l2/tip")
    q = np.stack([np.linspace(0, 1, 9), np.linspace(-1, 1, 9)], axis=1)
    s = sc.robot.study.singularities(arm, q, rows="linear", path=True)
    chart = sc.view.study(s)
    (panel,) = chart.panels
    assert np.array_equal(panel.values, s.smallest)
    assert np.array_equal(panel.lines["singular"][0], s.place[:, 0])
    assert np.array_equal(chart.figure.axes[0].lines[0].get_xdata(), s.place[:, 0])
    (panel,) = sc.view.study(s, "path").panels
    assert np.array_equal(panel.lines["smallest"][1], s.smallest)


def test_refused(ring):
    with pytest.raises(ViewError, match=r"a chart of a study takes a result of sc\.robot\.study, got 5"):
        sc.view.study(5)
    with pytest.raises(ViewError, match="there is no 'torque' to draw of this study: it has share, best"):
        sc.view.study(ring, "torque")
    with pytest.raises(ViewError, match="axes of a map are two of x, y and z, such as 'xz'; got 'xx'"):
        sc.view.study(ring, axes="xx")

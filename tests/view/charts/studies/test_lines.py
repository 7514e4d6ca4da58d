"""Charts of sizing, payload, limits, mass properties and gaits: their lines are the numbers of the studies."""

from __future__ import annotations

import numpy as np
import pytest
from tests.robot.studies.models import pendulum, planar

import soacraft as sc
from soacraft.errors import ViewError

study = sc.robot.study


def motion(nv=1):
    t = np.linspace(0.0, 2 * np.pi, 40)[:, None]
    one = np.ones(nv)
    return t[:, 0], np.sin(t) * one, np.cos(t) * one, -np.sin(t) * one


def test_sizing(tmp_path):
    s = study.sizing(planar(1.0, 0.5), motion(2), efforts=10.0)
    chart = sc.view.study(s)
    assert [x.title for x in chart.panels] == ["motors of 'arm'", "torque", "power"]
    assert np.array_equal(chart.panels[0].lines["torque"][1], s.torque_used)
    assert np.array_equal(chart.panels[1].lines["rms"][1], s.rms_torque)
    assert chart.save(tmp_path / "s.png").stat().st_size > 1000
    (panel,) = sc.view.study(s, "torque").panels
    assert np.array_equal(panel.lines["l2"][1], s.torque[:, 1])
    assert np.array_equal(sc.view.study(s, "speed").panels[0].lines["l1"][1], s.speed[:, 0])
    with pytest.raises(ViewError, match="axes= and at= are for maps of voxels"):
        sc.view.study(s, axes="xy")


def test_payload():
    arm = pendulum().limb("arm", "inertial", "bob/tip")
    p = study.payload(arm, np.linspace(-1.0, 1.0, 5)[:, None])
    (panel,) = sc.view.study(p).panels
    assert (panel.x_label, panel.y_label) == ("x [m]", "z [m]")
    assert np.array_equal(panel.values, p.most)
    with pytest.raises(ViewError, match="at= cuts maps of voxels, and these are points"):
        sc.view.study(p, at=0.0)
    lost = study.payload(pendulum(effort=1.0).limb("arm", "inertial", "bob/tip"), [[0.0]])
    with pytest.raises(ViewError, match="the payload of 'arm' is bounded at no configuration"):
        sc.view.study(lost)


def test_limits(tmp_path):
    r = study.limit("x", {"sine": np.sin, "wall": lambda x: 7.0 - x if x < 8 else -np.inf}, 0.1, 9.0)
    chart = sc.view.study(r)
    assert [x.y_label for x in chart.panels] == ["margin of sine", "margin of wall"]
    assert np.array_equal(chart.panels[0].lines["sine"][1], np.sin(r.x))
    assert np.isfinite(chart.panels[1].lines["wall"][1]).all()
    drawn = [line.get_xdata()[0] for line in chart.figure.axes[0].lines[2:]]
    assert drawn == pytest.approx(np.unique(r.intervals))
    assert chart.save(tmp_path / "l.svg").stat().st_size > 1000


def test_mass_properties():
    m = study.mass_properties(planar(1.0, 0.5), np.linspace(0, 1, 10).reshape(5, 2))
    (panel,) = sc.view.study(m).panels
    assert (panel.x_label, panel.y_label) == ("x [m]", "y [m]")
    assert np.array_equal(panel.lines["largest moment [kg m2]"][0], m.com[:, 0])
    assert np.array_equal(panel.values, m.principal[:, 2])


def test_gaits():
    mb = sc.Multibody("cart", gravity=(0, 0, -9.81))
    body = mb.add_body("cart", None, sc.Prismatic((1, 0, 0)), sc.Inertia(3.0))
    for i, (x, y) in enumerate(((1, 0), (-1, 1), (-1, -1))):
        body.add_node(f"foot{i}", sc.Pose(translation=(x, y, -1)))
    flags = study.footfalls(motion()[0], 2 * np.pi, 0.9, [0.0, 0.3, 0.6])
    g = study.gait(sc.robot.Robot(mb), motion(), [f"cart/foot{i}" for i in range(3)], flags)
    chart = sc.view.study(g)
    assert [x.title for x in chart.panels[1:]] == ["margins", "power of the motors"]
    assert np.array_equal(chart.panels[0].lines["cart/foot1"][1], flags[:, 1])
    assert np.array_equal(chart.panels[1].lines["static"][1], g.static_margin)
    drawn = chart.figure.axes[0].collections
    assert len(drawn) == 3
    assert len(drawn[0].get_paths()) == flags[:-1, 0].sum()
    assert np.array_equal(sc.view.study(g, "torque").panels[0].lines["cart"][1], g.torque[:, 0])


def test_sequences():
    rb = planar(1.0, 0.5)
    steps = [study.Move([0.5, 0.0]), study.Wait(1.0), study.Move({"l2": 0.3})]
    s = study.sequence(rb, steps, efforts=100.0)
    chart = sc.view.study(s)
    (panel,) = chart.panels
    assert np.array_equal(panel.lines["l1"][1], s.path[:, 0])
    assert set(panel.lines) == {"l1", "l2"}
    marks = [line.get_xdata()[0] for line in chart.figure.axes[0].lines[2:]]
    assert marks == pytest.approx(np.cumsum(s.duration))
    torque, distances = sc.view.study(s, "margins").panels
    assert np.array_equal(torque.lines["torque"][1], s.torque)
    assert np.isnan(distances.lines["clearance"][1]).all()

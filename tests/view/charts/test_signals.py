"""Charts of signals: lines by name and pattern, panels by unit, through all segments."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sim.restarts import arm

import soacraft as sc
from soacraft import sim
from soacraft.errors import ViewError


@pytest.fixture(scope="module")
def run():
    return arm().run(0.1)


def test_signals_are_drawn_by_name_and_pattern_with_a_panel_for_each_unit(run):
    (panel,) = sc.view.plot(run, "motor_upper.current").panels
    assert panel.y_label == "motor_upper.current [A]"
    np.testing.assert_array_equal(panel.lines["motor_upper.current"][1], run.signals["motor_upper.current"])
    chart = sc.view.plot(run, "motor_*.*", "energy")
    assert [x.y_label for x in chart.panels[:2]] == ["signals [A]", "signals [N m]"]
    assert list(chart.panels[0].lines) == ["motor_lower.current", "motor_upper.current"]
    assert chart.panels[-1].title == "energy"


def test_a_run_without_coordinates_shows_its_signals():
    s = sim.System("s", integrator="rk4", step=0.01)
    s.add("a", sim.Constant(value=(1.0, 2.0), unit="V"))
    run = s.run(0.1)
    (panel,) = sc.view.plot(run).panels
    assert list(panel.lines) == ["a.y[0]", "a.y[1]"]
    assert set(panel.lines["a.y[1]"][1].tolist()) == {2.0}


def test_a_log_is_drawn_by_its_path(tmp_path):
    run = arm().run(0.05, log=tmp_path / "run.h5")
    (panel,) = sc.view.plot(tmp_path / "run.h5", "ball.height").panels
    np.testing.assert_array_equal(panel.lines["ball.height"][1], run.signals["ball.height"])


def test_an_unknown_signal_is_refused_with_near_ones(run):
    with pytest.raises(ViewError, match=r"no chart and no signal 'motor_uper.current'; did you mean 'motor_upper.curr"):
        sc.view.plot(run, "motor_uper.current")

"""Convergence charts: the order of methods, the points, refusals by text."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ViewError


def family(method, steps=(0.04, 0.02, 0.01), until=0.4):
    found = []
    for h in steps:
        mb = sc.load("cart_pole")
        mb.set_state([0.0, 0.6], [0.0, 0.0])
        found.append(sc.sim.Propagator(mb, integrator=method, step=h).advance_to(until))
    return found


@pytest.fixture(scope="module")
def reference():
    return family("rk4", [0.0005])[0]


def test_the_slope_is_the_order_of_the_method(reference):
    chart = sc.view.convergence({"verlet": family("verlet"), "euler": family("euler_symplectic")}, reference)
    assert [x.y_label for x in chart.panels] == ["error at the end [m]", "error at the end [rad]"]
    for panel in chart.panels:
        orders = {name.split(",")[0]: float(name.split("order ")[1]) for name in panel.lines}
        assert orders == pytest.approx({"verlet": 2.0, "euler": 1.0}, abs=0.15)
    axes = chart.figure.axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.lines[0].get_marker() == "o"


def test_points_are_steps_and_errors_at_the_end(reference):
    runs = family("rk4")
    panel = sc.view.convergence(runs, reference).panels[1]
    ((steps, errors),) = panel.lines.values()
    assert steps == pytest.approx([0.01, 0.02, 0.04])
    assert errors == pytest.approx([abs(x.q[-1, 1] - reference.q[-1, 1]) for x in runs[::-1]])


def test_without_a_reference_the_finest_run_is_one():
    runs = family("rk4", (0.04, 0.02, 0.002))
    ((steps, errors),) = sc.view.convergence(runs).panels[1].lines.values()
    assert len(steps) == 2
    assert errors[1] == abs(runs[0].q[-1, 1] - runs[2].q[-1, 1])


def test_refused(reference):
    run = family("rk4", [0.04])[0]
    with pytest.raises(ViewError, match="takes runs of different steps in a list, or such lists by name; got int"):
        sc.view.convergence([run, 3])
    with pytest.raises(ViewError, match="or such lists by name; got Run"):
        sc.view.convergence(run)
    with pytest.raises(ViewError, match="needs at least two runs of different steps"):
        sc.view.convergence([run])
    with pytest.raises(ViewError, match=r"a run ends at t = 0.2 s, the reference at 0.4 s"):
        sc.view.convergence([*family("rk4", [0.04], 0.2), run], reference)
    other = sc.sim.Propagator(sc.load("pendulum"), integrator="rk4", step=0.1).advance_to(0.4)
    with pytest.raises(ViewError, match=r"a run of 'a' has 1 coordinates, the reference 2"):
        sc.view.convergence({"a": [other, run]}, reference)
    assert "order nan" in next(iter(sc.view.convergence([run, run], reference).panels[0].lines))
    assert np.isfinite(reference.q).all()

"""Charts of campaigns: their lines are the statistics they show; what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import ViewError


def make():
    s = sim.System("two", integrator="rk4", step=0.1)
    s.add("a", sim.Constant(value=1.0))
    s.add("i", sim.Integrator())
    s.connect("a.y", "i.u")
    return s


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    vary = {"a.value": sim.Normal(0.0, 1.0), "i.x": sim.Normal(0.0, 0.1)}
    c = sim.Campaign(make, tmp_path_factory.mktemp("c") / "runs", runs=200, t=1.0, vary=vary,
                     measure={"x": "a.y[-1]", "y": "i.y[-1]"}, history={"i": "i.y"}, points=11)  # fmt: skip
    c.run()
    return c


def test_a_histogram_counts_all_runs(made, tmp_path):
    chart = sc.view.campaign(made, "histogram")
    assert [x.title for x in chart.panels] == ["x", "y"]
    assert chart.panels[0].lines["runs"][1].sum() == 200
    assert chart.panels[0].lines["quantiles"][0][1] == made.quantile(0.5, "x").value
    assert chart.save(tmp_path / "h.png").stat().st_size > 1000


def test_an_ellipse_on_terrain(made, tmp_path):
    x, y = np.linspace(-3, 3, 20), np.linspace(-4, 4, 30)
    chart = sc.view.campaign(made, "ellipse", "x", "y", terrain=(x, y, x + y[:, None] ** 2), probability=0.9)
    line = np.stack(chart.panels[0].lines["ellipse 0.9"], axis=1)
    found = made.ellipse("x", "y", 0.9)
    assert np.allclose(line, found.points())
    assert f"{found.inside:.3g} of 200 runs are inside" in chart.panels[0].title
    assert chart.save(tmp_path / "e.svg").stat().st_size > 1000


def test_a_fan_has_the_quantiles_of_a_history(made):
    """i = x + a t is normal at every time."""
    (panel,) = sc.view.campaign(made, "fan").panels
    t, upper = panel.lines["0.95"]
    assert len(t) == 11
    assert upper[-1] == np.quantile(made.history("i")[1][:, -1], 0.95)
    assert (np.diff([panel.lines[x][1][-1] for x in panel.lines]) > 0.0).all()


def test_a_tornado_has_the_correlations(made):
    (panel,) = sc.view.campaign(made, "tornado", "y").panels
    assert {path: float(x[0]) for path, (x, _) in panel.lines.items()} == made.correlations("y")
    assert list(panel.lines)[-1] == "a.value"


@pytest.mark.parametrize(
    ("given", "more", "text"),
    [
        (("pie",), {}, "there is no chart 'pie' of a campaign"),
        (("histogram", "z"), {}, "has no measure 'z'; it has 'x', 'y'"),
        (("ellipse", "x"), {}, "takes the names of two measures, got 1"),
        (("fan", "j"), {}, "keeps no history 'j'"),
        (("fan",), dict(terrain=(1, 2, 3)), "terrain= is drawn below an ellipse, not below a fan"),
        (("ellipse", "x", "y"), dict(terrain=5), r"terrain is \(x, y, heights\), got 5"),
        (("ellipse", "x", "y"), dict(terrain=(np.ones(2), np.ones(3), np.ones((2, 3)))), r"heights \(m, n\), got"),
    ],
)
def test_refusals(made, given, more, text):
    with pytest.raises(ViewError, match=text):
        sc.view.campaign(made, *given, **more)


def test_what_is_no_campaign_is_refused():
    with pytest.raises(ViewError, match=r"takes a sc\.sim\.Campaign, got 5"):
        sc.view.campaign(5)

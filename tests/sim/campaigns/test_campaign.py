"""Campaigns: rows that depend on seed and number alone, failures as results, refusals, reports."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sim.campaigns.makers import arm, ball, deadly, folder, ishigami, lag, largest

import soacraft as sc
from soacraft import sim
from soacraft.errors import CampaignError

VARY = {"one.value": sim.Normal(1.0, 0.1), "time_constant": sim.Uniform(0.5, 2.0)}
MEASURE = {"end": "lag.y[-1]", "seen": "sensor.y[-1]"}


def campaign(tmp_path, name="runs", **more):
    given = dict(seed=7, runs=12, vary=VARY, measure=MEASURE, t=1.0, batch=0)
    return sim.Campaign(lag, folder(tmp_path, name), **{**given, **more})


def test_a_run_against_its_closed_form(tmp_path):
    """y = value (1 - exp(-t / T))."""
    c = campaign(tmp_path)
    c.run()
    table = c.table()
    expected = table["one.value"] * (1.0 - np.exp(-1.0 / table["time_constant"]))
    assert np.allclose(table["end"], expected, atol=1e-6)
    assert (table["run"] == np.arange(12)).all()
    assert table.ok.all()


def test_rows_do_not_depend_on_order_parts_and_number_of_runs(tmp_path):
    whole = campaign(tmp_path, "whole")
    whole.run()
    parts = campaign(tmp_path, "parts")
    parts.run(shard=(2, 3))
    assert parts.table()["run"].tolist() == [1, 4, 7, 10]
    parts.run(shard=(1, 3))
    assert "8 of 12" in parts.status()
    parts.run()
    assert parts.table().csv() == whole.table().csv()
    few = campaign(tmp_path, "few", runs=3)
    few.run()
    assert whole.table().csv().startswith(few.table().csv())
    grown = campaign(tmp_path, "few", runs=12)
    grown.run()
    assert grown.table().csv() == whole.table().csv()


def test_noise_belongs_to_the_run(tmp_path):
    c = campaign(tmp_path, vary={})
    c.run()
    assert len(set(c.table()["end"].tolist())) == 1
    assert len(set(c.table()["seen"].tolist())) == 12


def test_a_new_variation_changes_no_other_draw(tmp_path):
    one = campaign(tmp_path, "one", vary={"one.value": VARY["one.value"]})
    two = campaign(tmp_path, "two")
    one.run()
    two.run()
    assert (one.table()["one.value"] == two.table()["one.value"]).all()


def test_a_campaign_in_processes_is_that_in_this_one(tmp_path):
    here, there = (
        campaign(tmp_path, "here", measure={"m": largest}),
        campaign(tmp_path, "there", measure={"m": largest}),
    )
    here.run()
    there.run(workers=2)
    assert here.table().csv() == there.table().csv()


def test_a_run_again_is_the_same_run(tmp_path):
    c = campaign(tmp_path)
    c.run()
    run = c.rerun(5)
    assert run.signals["lag.y"][-1] == c.table()["end"][5]
    assert run.signals["sensor.y"][-1] == c.table()["seen"][5]


def test_a_run_again_has_a_log(tmp_path):
    c = sim.Campaign(
        arm,
        folder(tmp_path),
        runs=3,
        t=0.2,
        vary={"target.value": sim.Normal(0.5, 0.1)},
        measure={"end": "arm.q[upper][-1]"},
        batch=0,
    )
    c.run()
    c.rerun(2, log=tmp_path / "2.h5")
    assert sim.read(tmp_path / "2.h5").q[-1, 0] == c.table()["end"][2]


def test_a_system_is_taken_as_it_is(tmp_path):
    s = arm()
    s._plants["arm"].mb.q = [0.3, -0.2]
    c = sim.Campaign(
        s,
        folder(tmp_path),
        runs=3,
        t=0.2,
        vary={"arm.q[lower]": sim.Grid((0.0, -0.2, 0.5))},
        measure={"start": "first(arm.q[upper])", "low": "first(arm.q[lower])", "end": "arm.q[0][-1]"},
    )
    c.run()
    assert (c.table()["start"] == 0.3).all()
    assert c.table()["low"].tolist() == [0.0, -0.2, 0.5]
    assert c.table()["end"][1] == s.run(0.2).q[-1, 0]
    assert np.array(s._plants["arm"].mb.q).tolist() != [0.3, -0.2]


def test_states_and_elements_vary(tmp_path):
    def make():
        s = sim.System("two", integrator="rk4", step=0.1)
        s.add("c", sim.Constant(value=(1.0, 2.0)))
        s.add("i", sim.Integrator(size=2))
        s.connect("c.y", "i.u")
        return s

    c = sim.Campaign(
        make,
        folder(tmp_path),
        runs=2,
        t=1.0,
        measure={"a": "i.y[0][-1]", "b": "i.y[1][-1]"},
        vary={"c.value[1]": sim.Grid((3.0, 5.0)), "i.x[0]": sim.Grid((10.0,))},
    )
    c.run()
    assert np.allclose(c.table()["a"], 11.0)
    assert np.allclose(c.table()["b"], [3.0, 5.0])


def test_runs_end_at_an_event(tmp_path):
    c = sim.Campaign(
        ball,
        folder(tmp_path),
        runs=8,
        t=2.0,
        until="ball.landing",
        vary={"ball.height": sim.Uniform(1, 3)},
        measure={"t_end": "t[-1]"},
        history={"height": "ball.at"},
        points=21,
    )
    c.run()
    fall = np.sqrt(2.0 * c.table()["ball.height"] / 9.81)
    assert np.allclose(c.table()["t_end"], fall, atol=1e-8)
    t, height = c.history("height")
    assert np.allclose(t, np.linspace(0.0, 2.0, 21))
    assert (np.isnan(height) == (t > fall[:, None])).all()
    assert np.allclose(height[:, 1], c.table()["ball.height"] - 9.81 * 0.1**2 / 2, atol=1e-9)


def test_failures_are_results(tmp_path):
    c = sim.Campaign(
        deadly,
        folder(tmp_path),
        runs=4,
        t=2.0,
        vary={"f.x": sim.Grid((0.0, -2.0, 1.0, -3.0))},
        measure={"y": "f.y[-1]"},
    )
    c.run()
    table = c.table()
    assert table["status"].tolist() == ["ok", "failed", "ok", "failed"]
    assert "too small" in table["text"][1]
    assert "4 of 4 runs done (2 ok, 2 failed)" in c.status()
    assert "2 x (run 1, ...)" in c.status()
    assert c.quantile(0.5, "y").left_out == 2
    assert c.probability().successes == 2
    assert c.probability("y", above=0.5).value == 0.25
    with pytest.raises(sc.errors.SoacraftError, match="too small"):
        c.rerun(1)


def test_a_run_that_kills_its_process_is_recorded_and_the_campaign_goes_on(tmp_path):
    c = sim.Campaign(
        deadly, folder(tmp_path), runs=4, t=2.0, vary={"f.x": sim.Grid((0.0, 3.0, 1.0, 1.5))}, measure={"y": "f.y[-1]"}
    )
    c.run(workers=1)
    assert c.table()["status"].tolist() == ["ok", "killed", "ok", "ok"]
    assert "its process ended 3 times: signal 9" in c.table()["text"][1]
    assert c.table()["f.x"][1] == 3.0


def test_indices_of_a_sum_and_what_has_no_effect(tmp_path):
    """Of f = sin a with b and c at 0 but for b: sin a + 7 sin^2 b is a sum, so that first and total indices agree:
    variances 1/2 and 49/8."""
    wide = sim.Uniform(-np.pi, np.pi)
    c = sim.Campaign(
        ishigami,
        folder(tmp_path),
        runs=64 * 5,
        t=0.0,
        sampling="saltelli",
        measure={"y": "f.y[-1]"},
        vary={"f.a": wide, "f.b": wide, "f.unused": wide},
    )
    c.run()
    found = c.sobol()
    for name, part in {"f.a": 0.5, "f.b": 49.0 / 8.0}.items():
        assert abs(found[name].first - part / 6.625) < 3.0 * found[name].first_error < 0.6
        assert abs(found[name].total - part / 6.625) < 3.0 * found[name].total_error < 0.6
    assert found["f.unused"] == (0.0, 0.0, 0.0, 0.0)
    assert c.effects() == {"f.a": "measures", "f.b": "measures", "f.unused": "nothing"}
    assert "the variation 'f.unused' changes nothing" in c.report()


def test_a_variation_that_changes_signals_alone_is_told(tmp_path):
    c = campaign(tmp_path, vary={"sensor.bias": sim.Normal(0.0, 1.0)}, measure={"end": "lag.y[-1]"}, runs=2)
    c.run()
    assert c.effects() == {"sensor.bias": "signals"}
    assert "changes signals, and no measure" in c.report()


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (dict(vary={"one.valeu": sim.Normal(0, 1)}), "has no parameter or state 'one.valeu'; did you mean 'one.value'"),
        (dict(vary={"oneval": sim.Normal(0, 1)}), "takes no argument 'oneval'; it takes 'time_constant'"),
        (dict(vary={"lag.time_constant": sim.Normal(0, 1)}), "in run .*refused: parameters of LowPass: .*Truncated"),
        (dict(vary={"one.value": 3.0}), "'one.value' varies by a distribution"),
        (dict(vary={("one.value", "lag.x"): sim.Normal(0, 1)}), "is 2 values, and .* gives 1"),
        (dict(vary={"one.value": sim.Normal(0, 1), ("one.value",): sim.Normal(0, 1)}), "'one.value' varies twice"),
        (dict(vary={"one value": sim.Normal(0, 1)}), "a path is written 'component.parameter'"),
        (dict(measure={"end": "lag.z[-1]"}), "takes what the system does not record: signals='lag.z'"),
        (dict(measure={"run": "lag.y[-1]"}), "no other column of the table, got 'run'"),
        (dict(measure={"end": 5}), "the measure 'end' is a text or a function"),
        (dict(t=None), "needs the time at which its runs end"),
        (dict(runs=0), "the number of runs must be a whole number of at least 1"),
        (dict(until="lag.end"), "until='lag.end': 'lag' has no such event"),
        (dict(sampling="monte"), "there is no sampling 'monte'"),
        (dict(history={"y": "max(lag.y)"}), "the history 'max.* is a signal"),
    ],
)
def test_refusals(tmp_path, more, text):
    with pytest.raises(CampaignError, match=text):
        campaign(tmp_path, **more)
    assert not (tmp_path / "runs").exists()


def test_refusals_of_what_runs(tmp_path):
    c = campaign(tmp_path)
    with pytest.raises(CampaignError, match="no run is done yet"):
        c.quantile(0.5, "end")
    c.run(shard=(1, 4))
    with pytest.raises(CampaignError, match="say which measure: 'end', 'seen'"):
        c.quantile(0.5)
    with pytest.raises(CampaignError, match="no measure 'ends'; did you mean 'end'"):
        c.quantile(0.5, "ends")
    with pytest.raises(CampaignError, match="shard 5 of 4 is none of them"):
        c.run(shard=(5, 4))
    with pytest.raises(CampaignError, match="need sampling='saltelli', and this is 'random'"):
        c.sobol("end")
    with pytest.raises(CampaignError, match="again= has 'failed' or 'killed', got 'ok'"):
        c.run(again=["ok"])
    with pytest.raises(CampaignError, match="keeps no history 'y'"):
        c.history("y")
    with pytest.raises(CampaignError, match=r"'tests.nowhere:make' is no function of a module"):
        sim.Campaign("tests.nowhere:make", folder(tmp_path, "other"), t=1.0)
    with pytest.raises(CampaignError, match="takes a system file"):
        sim.Campaign(5, folder(tmp_path, "other"), t=1.0)
    s = lag()
    s.run(0.1)
    with pytest.raises(CampaignError, match=r"at t = 0.1 s already"):
        sim.Campaign(s, folder(tmp_path, "other"), t=1.0)


def test_a_function_by_name(tmp_path):
    c = sim.Campaign("tests.sim.campaigns.makers:lag", folder(tmp_path), runs=2, t=1.0, measure=MEASURE)
    c.run()
    assert c.table().ok.all()

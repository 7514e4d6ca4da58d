"""Crossings in batches: the rows of runs one by one, closed forms, and what leaves a batch."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sim.campaigns.batches.crossing_makers import (
    bouncing,
    clocked,
    endless,
    peaks,
    plain_relay,
    relay,
    timed,
    tumbling,
)
from tests.sim.campaigns.makers import ball, folder
from tests.sim.combinations import system

from soacraft import sim
from soacraft.sim.campaigns.batches.crossings import _least as least
from soacraft.sim.campaigns.batches.crossings import _zeros as zeros

U = sim.Uniform
CASES = {
    "bouncing": (bouncing, 1.2, {"ball.height": U(0.5, 2), "ball.keeps": U(0.6, 0.9)},
                 {"x": "ball.at[-1]", "n": "ball.bounces[-1]", "mean": "mean(ball.speed)", "count": "count(ball.down)",
                  "first": "time(ball.down)", "w": "ball.speed at ball.down", "top": "time(ball.top)"}),
    "relay": (relay, 1.0, {"relay.push": U(3, 6), "relay.band": U(0.1, 0.3), "arm.lower.mass": U(0.5, 2)},
              {"q": "arm.q[upper][-1]", "v": "max(norm(arm.v))", "n": "count(relay.high)", "f": "mean(relay.force)",
               "a": "max(abs(arm.vdot[lower]))"}),
    "run by run": (plain_relay, 1.0, {"relay.push": U(3, 6)},
                   {"q": "arm.q[0][-1]", "n": "count(relay.high)", "f": "mean(relay.force)"}),
    "timed": (timed, 1.5, {"timed.when": U(0.2, 0.9), "timed.level": U(0.0, 0.3), "arm.upper.mass": U(0.5, 2.0)},
              {"far": "timed.far[-1]", "bends": "timed.counted[0][-1]", "beyond": "timed.counted[1][-1]",
               "first": "time(timed.bends)", "when": "time(timed.due)", "next": "time(timed.beyond)",
               "mean": "mean(timed.far)"}),
    "tumbling": (tumbling, 4.0, {"sat.v[hub.0]": U(0.25, 0.35), "switch.push": U(1, 3)},
                 {"x": "sat.q[0][-1]", "w": "sat.v[wheel1][-1]", "n": "count(switch.turned)",
                  "l": "count(switch.latch)", "when": "time(switch.turned)"}),
    "clocked": (clocked, 2.0, {"wave.amplitude": U(1, 2), "wave.frequency": U(1, 2)},
                {"a": "smooth.counted[-1]", "b": "stairs.counted[-1]", "c": "count(smooth.flip)",
                 "m": "mean(smooth.counted)", "n": "mean(stairs.counted)", "late": "max(stairs.counted)"}),
    "linkage": (lambda: system("closed chain", "events", 0.4), 0.3, {"push.value": U(0.2, 0.6)},
                {"q": "body.q[first][-1]", "v": "body.v[rocker][-1]", "when": "time(own/kick.passes)"}),
    "rod": (lambda: system("flexible", "events", 0.4), 0.3, {"push.value": U(0.2, 0.6)},
            {"q": "body.q[first][-1]", "v": "max(norm(body.v))", "when": "time(own/kick.passes)"}),
    "peaks": (peaks, 2.0, {"wave.frequency": U(1, 2)}, {"n": "count(peaks.above)", "first": "time(peaks.above)"}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_batch_has_the_rows_of_its_runs_one_by_one(tmp_path, name):
    make, t, vary, measure = CASES[name]
    history = {"h": next(x for x in measure.values() if x.endswith("[-1]"))[:-4]} if name != "peaks" else {}
    given = dict(seed=3, runs=4, t=t, vary=vary, measure=measure, history=history)
    one = sim.Campaign(make, folder(tmp_path, "one"), batch=0, **given)
    many = sim.Campaign(make, folder(tmp_path, "many"), **given)
    one.run()
    many.run()
    assert "4 in batches of 512, 0 one by one" in many.status()
    for column in (*measure, "t"):
        a, b = one.table()[column], many.table()[column]
        assert np.allclose(a, b, rtol=1e-9, atol=1e-9 * abs(a).max(), equal_nan=True), column
    for x in history:
        assert np.allclose(one.history(x)[1], many.history(x)[1], rtol=1e-9, atol=1e-9)


def test_bounces_come_when_a_ball_is_down(tmp_path):
    """t = sqrt(2 h / g), then 2 keeps^k v / g; the speed after the first is keeps sqrt(2 g h)."""
    c = sim.Campaign(bouncing, folder(tmp_path), seed=1, runs=20, t=1.5,
                     vary={"ball.height": U(0.5, 2.0), "ball.keeps": U(0.7, 0.9)},
                     measure={"first": "time(ball.down)", "n": "count(ball.down)", "v": "max(ball.speed)"})  # fmt: skip
    c.run()
    t = c.table()
    h, keeps = t["ball.height"], t["ball.keeps"]
    first = np.sqrt(2.0 * h / 9.81)
    assert np.allclose(t["first"], first, rtol=1e-9)
    assert np.allclose(t["v"], keeps * np.sqrt(2.0 * 9.81 * h), rtol=1e-9)
    counts = [sum(a * (1.0 + 2.0 * sum(k**j for j in range(1, n))) <= 1.5 for n in range(1, 40))
              for a, k in zip(first, keeps, strict=True)]  # fmt: skip
    assert t["n"].tolist() == counts
    assert {x.how for x in t.rows} == {"batch"}


def test_peaks_between_the_quarters_of_steps_are_seen(tmp_path):
    c = sim.Campaign(peaks, folder(tmp_path), seed=1, runs=30, t=2.0, vary={"wave.frequency": U(1.0, 2.0)},
                     measure={"n": "count(peaks.above)"})  # fmt: skip
    c.run()
    f, lead = c.table()["wave.frequency"], np.arcsin(0.9995) / (2.0 * np.pi)
    assert c.table()["n"].tolist() == np.floor(2.0 * f - lead + 1.0).tolist()
    assert {x.how for x in c.table().rows} == {"batch"}


def test_runs_end_at_the_crossing_that_ends_them(tmp_path):
    measure = {"x": "ball.at[-1]", "rows": "mean(ball.speed)", "when": "time(ball.landing)"}
    given = dict(seed=2, runs=4, t=0.6, until="ball.landing", vary={"ball.height": U(0.5, 3.0)}, measure=measure,
                 history={"x": "ball.at"}, points=7)  # fmt: skip
    one = sim.Campaign(ball, folder(tmp_path, "one"), batch=0, **given)
    many = sim.Campaign(ball, folder(tmp_path, "many"), **given)
    one.run()
    many.run()
    a, b = one.table(), many.table()
    ends = np.minimum(np.sqrt(2.0 * b["ball.height"] / 9.81), 0.6)
    assert 0 < (ends < 0.6).sum() < 4
    assert np.allclose(b["t"], ends, rtol=1e-9)
    assert [x.how for x in b.rows] == ["batch"] * 4
    assert np.allclose(a["rows"], b["rows"], rtol=1e-12)
    assert np.allclose(b["when"], np.where(ends < 0.6, ends, np.nan), rtol=1e-9, equal_nan=True)
    assert np.allclose(one.history("x")[1], many.history("x")[1], rtol=1e-9, atol=1e-9, equal_nan=True)
    assert np.isnan(many.history("x")[1]).any()


def test_a_run_is_the_same_in_any_batch(tmp_path):
    """Bit by bit: alone in its block, among others, and shared by parts and processes."""
    make, t, vary, measure = CASES["relay"]
    tables = []
    for runs in (1, 2, 5):
        c = sim.Campaign(make, folder(tmp_path, str(runs)), seed=3, runs=runs, t=t, vary=vary, measure=measure)
        c.run()
        tables.append(c.table().csv())
    assert tables[2].startswith(tables[1])
    assert tables[1].startswith(tables[0])
    parts = sim.Campaign(make, folder(tmp_path, "parts"), seed=3, runs=5, t=t, vary=vary, measure=measure, batch=2)
    parts.run(shard=(2, 3))
    parts.run(workers=1)
    assert parts.table().csv() == tables[2]


@pytest.mark.parametrize("name", ["relay", "clocked", "bouncing"])
def test_the_pace_of_others_changes_no_bit(tmp_path, monkeypatch, name):
    """Searches of one run at a time, of some together, and of all that can wait for each other."""
    make, t, vary, measure = CASES[name]
    history = next(x for x in measure.values() if x.endswith("[-1]"))[:-4]
    tables = []
    for part in (0.0, 0.5, 1.0):
        monkeypatch.setattr("soacraft.sim.campaigns.batches.batch._WAITING", part)
        c = sim.Campaign(make, folder(tmp_path, str(part)), seed=3, runs=6, t=t, vary=vary, measure=measure,
                         history={"h": history})  # fmt: skip
        c.run()
        assert {x.how for x in c.table().rows} == {"batch"}
        tables.append((c.table().csv(), c.history("h")[1].tobytes()))
    assert tables[0] == tables[1] == tables[2]


def test_runs_that_end_leave_the_rows_of_the_others(tmp_path):
    """A run that has ended long before the others has no row of a later time, and these have all of theirs."""
    given = dict(seed=2, runs=5, t=1.5, until="ball.landing", vary={"ball.height": U(0.1, 9.0)})
    measure = {"mean": "mean(ball.speed)", "end": "t[-1]", "low": "min(ball.at)"}
    rows = []
    for batch, name in ((0, "one"), (8, "many")):
        c = sim.Campaign(ball, folder(tmp_path, name), measure=measure, batch=batch, **given)
        c.run()
        rows.append(c.table())
    ends = rows[1]["end"]
    assert ends.min() < 0.8
    assert ends.max() > 1.1
    for key in measure:
        assert np.allclose(rows[0][key], rows[1][key], rtol=1e-9, atol=1e-9), key


def test_a_run_with_events_without_end_leaves_the_batch(tmp_path):
    """It fails by itself, by name; the others stay."""
    c = sim.Campaign(endless, folder(tmp_path), runs=4, t=1.0, measure={"n": "count(loop.reached)"},
                     vary={"loop.level": sim.Grid((0.55, 2.0, 3.0, 4.0))})  # fmt: skip
    c.run()
    rows = c.table().rows
    assert [x.how for x in rows] == ["single: crossings make each other cross without end", "batch", "batch", "batch"]
    assert [x.status for x in rows] == ["failed", "ok", "ok", "ok"]
    assert "more than 100 crossings at one instant" in rows[0].text
    assert abs(rows[0].t - 0.55) < 1e-9
    assert "3 in batches of 512, 1 one by one" in c.status()
    assert "crossings make each other cross without end" in c.status()


def test_more_rows_of_crossings_than_memory_holds_go_one_by_one(tmp_path, monkeypatch):
    monkeypatch.setattr("soacraft.sim.campaigns.batches.rows.MOST_OWN", 5)
    make, t, vary, measure = CASES["clocked"]
    c = sim.Campaign(make, folder(tmp_path), runs=2, t=t, vary=vary, measure=measure)
    c.run()
    assert "the batch stopped: CampaignError: runs of a batch have more than 5 rows of crossings." in c.status()


def test_zeros_and_extrema_of_many():
    a, target = np.zeros(5), np.array([0.1, 0.5, 0.9, 1e-9, 1.0 - 1e-9])
    for f, error in (
        (lambda x: x - target, 1e-14),
        (lambda x: np.arctan(50.0 * (x - target)), 1e-14),
        (lambda x: np.sign(x - target) * np.abs(x - target) ** 1.5, 1e-12),
    ):
        found = zeros(f, a, a + 1.0, f(a), f(a + 1.0), np.ones(5, dtype=bool))
        assert np.allclose(found, target, atol=error)
    assert np.allclose(least(lambda x: (x - target) ** 2, a, a + 1.0), np.clip(target, 0, 1), atol=1e-7)

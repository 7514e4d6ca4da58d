"""`soacraft campaign`: a folder that a program made, continued and judged from the command line."""

from __future__ import annotations

import pytest
from tests.sim.campaigns.makers import arm, folder, lag, largest

from soacraft import sim
from soacraft.cli import main

MAKER = ["--maker", "tests.sim.campaigns.makers:lag"]


@pytest.fixture
def filed(tmp_path):
    """A campaign of a system file."""
    arm().save(tmp_path / "arm.toml")
    vary = {"target.value": sim.Normal(0.5, 0.1), "arm.q[lower]": sim.Normal(0.0, 0.1)}
    return sim.Campaign(tmp_path / "arm.toml", folder(tmp_path), seed=3, runs=6, t=0.2, vary=vary, batch=0,
                        measure={"end": "arm.q[upper][-1]"})  # fmt: skip


def test_an_array_job(filed, tmp_path, capsys):
    place = folder(tmp_path)
    assert main(["campaign", "run", place, "--shard", "2/3", "--workers", "0"]) == 0
    assert "2 of 6 runs done (2 ok)" in capsys.readouterr().out
    assert main(["campaign", "status", place]) == 1
    for i in (1, 3):
        assert main(["campaign", "run", place, "--shard", f"{i}/3", "--workers", "0"]) == 0
    capsys.readouterr()
    assert main(["campaign", "report", place, "--csv", str(tmp_path / "t.csv")]) == 0
    out = capsys.readouterr().out
    assert "end: mean" in out
    assert "rank correlation with target.value" in out
    assert (tmp_path / "t.csv").read_text() == filed.table().csv()
    whole = sim.Campaign(arm, folder(tmp_path, "whole"), seed=3, runs=6, t=0.2, batch=0,
                         measure={"end": "arm.q[0][-1]"},
                         vary={"target.value": sim.Normal(0.5, 0.1), "arm.q[lower]": sim.Normal(0.0, 0.1)})  # fmt: skip
    whole.run()
    assert whole.table().csv() == filed.table().csv()


def test_a_system_file_may_move(filed, tmp_path):
    (tmp_path / "arm.toml").rename(tmp_path / "moved.toml")
    assert main(["campaign", "run", folder(tmp_path), "--workers", "0"]) == 2
    assert main(["campaign", "run", folder(tmp_path), "--workers", "0", "--system", str(tmp_path / "moved.toml")]) == 0


def test_more_runs(filed, tmp_path, capsys):
    assert main(["campaign", "run", folder(tmp_path), "--runs", "8", "--workers", "0"]) == 0
    assert "8 of 8 runs done" in capsys.readouterr().out
    assert len(sim.Campaign.open(folder(tmp_path)).table().rows) == 8


def test_functions_are_named_on_the_command_line_alone(tmp_path, capsys):
    place = folder(tmp_path)
    sim.Campaign(lag, place, runs=3, t=1.0, measure={"m": largest})
    assert main(["campaign", "status", place]) == 2
    assert "came from 'tests.sim.campaigns.makers:lag': give it again" in capsys.readouterr().err
    assert main(["campaign", "status", place, *MAKER]) == 2
    assert "the measure 'm' of" in capsys.readouterr().err
    given = [*MAKER, "--measure", "m=tests.sim.campaigns.makers:largest"]
    assert main(["campaign", "run", place, "--workers", "0", *given]) == 0
    assert "3 of 3 runs done (3 ok)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["--shard", "3"], "--shard is written i/n, as 3/8, got '3'"),
        (["--shard", "4/3"], "shard 4 of 3 is none of them"),
        (["--measure", "m"], "--measure is written NAME=MODULE:FUNCTION"),
        (["--maker", "tests.sim.campaigns.makers:nothing"], "is no function of a module that can be imported"),
        (["--maker", "tests.sim.campaigns.makers:lag"], "has no parameter or state 'target.value'"),
        (["--system", "nowhere.toml"], "nowhere.toml"),
    ],
)
def test_refusals(filed, tmp_path, capsys, more, text):
    assert main(["campaign", "run", folder(tmp_path), "--workers", "0", *more]) == 2
    assert text in capsys.readouterr().err


def test_a_folder_without_a_campaign_is_refused(tmp_path, capsys):
    assert main(["campaign", "status", str(tmp_path)]) == 2
    assert "is no folder of a campaign: it has no campaign.json" in capsys.readouterr().err


def test_a_failed_run_leaves_a_checkpoint(tmp_path):
    def make():
        s = sim.System("root", integrator="rk4", step=0.1)
        s.add("down", sim.Ramp(slope=-1.0, at=0.25))
        s.add("root", Root())
        s.connect("down.y", "root.u")
        return s

    c = sim.Campaign(make, folder(tmp_path), runs=1, t=1.0, measure={"y": "root.y[-1]"}, batch=0)
    c.run()
    (row,) = c.table().rows
    assert row.status == "failed"
    assert row.t == pytest.approx(0.25)  # where the ramp begins, a step ends
    assert "'root.y'" in row.text
    assert (tmp_path / "runs" / "failed" / row.checkpoint).stat().st_size > 0


class Root(sim.Component):
    u = sim.In()

    @sim.output()
    def y(u):
        return u**0.5 if u >= 0.0 else float("nan")

"""`soacraft sim run | show | check FILE` and the tour of a system."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

import soacraft as sc
from soacraft.cli import main, tour_system
from soacraft.cli.tour_system import FILE, Attitude

OWN = """
from soacraft import sim

class Twice(sim.Component):
    class Params(sim.Params):
        factor: float = 2.0
    u = sim.In()
    @sim.output()
    def y(p, u): return p.factor * u
"""
TEXT = """
format = "soacraft-system/1"
name = "small"
integrator = "rk4"
step = 0.01
connections = [{from = "ramp.y", to = "twice.u"}, {from = "twice.y", to = "integral.u"}]
[parts.ramp]
type = "Ramp"
params = {slope = 1.0}
[parts.twice]
type = "Twice"
[parts.integral]
type = "Integrator"
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "small.toml").write_text(TEXT)
    (tmp_path / "own.py").write_text(OWN)
    return str(tmp_path / "small.toml"), "--classes", str(tmp_path / "own.py")


def test_run_writes_a_log_and_a_checkpoint(files, tmp_path, capsys):
    log, kept = str(tmp_path / "run.h5"), str(tmp_path / "kept.h5")
    more = ["--set", "twice.factor=3", "--log", log, "--checkpoint", kept, "--signals", "integral.*", "--serve"]
    assert main(["sim", "run", *files, "-t", "1", *more]) == 0
    out = capsys.readouterr().out
    assert out.startswith("served at 127.0.0.1:")
    assert "Run: 101 rows, t = 0 to 1 s by rk4, 0 events" in out
    assert f"wrote {log}\nwrote {kept}" in out
    back = sc.sim.read(log)
    assert back.signals["integral.y"][-1] == pytest.approx(1.5, rel=1e-12)  # 3 t^2 / 2
    assert set(back.signals) == {"integral.x", "integral.y"}


def test_show_and_check(files, tmp_path, capsys):
    assert main(["sim", "show", *files]) == 0
    out = capsys.readouterr().out
    assert "twice: Twice(factor=2.0)" in out
    assert "integral.u  <-  twice.y" in out
    assert main(["sim", "show", *files, "--port", "twice.y"]) == 0
    assert "depends at once on ramp.y" in capsys.readouterr().out
    assert main(["sim", "show", *files, "--mermaid"]) == 0
    assert capsys.readouterr().out.startswith("flowchart LR")
    assert main(["sim", "check", *files]) == 0
    assert "the system 'small' has no fault: 3 components, 2 connections" in capsys.readouterr().out
    (tmp_path / "small.toml").write_text(TEXT.replace("ramp.y", "rump.y"))
    assert main(["sim", "check", *files]) == 1
    assert "there is no component 'rump'; did you mean 'ramp'" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["run", "small.toml", "-t", "1"], "'twice' is of the class 'Twice', which is not known"),
        (["run", "none.toml", "-t", "1"], "there is no such file"),
        (["show", "small.yaml"], "system files are .toml and .json"),
        (["check", "small.toml", "--classes", "none.py"], "--classes none.py: there is no such file."),
        (["check", "small.toml", "--classes", "small.toml"], "a program of Python is needed"),
        (["run", "small.toml", "-t", "1", "--classes", "own.py", "--set", "twice.factr=3"], "did you mean 'twice.f"),
        (["run", "small.toml", "-t", "1", "--classes", "own.py", "--set", "twice.factor"], "write NAME=VALUE"),
        (["run", "small.toml", "-t", "1", "--classes", "own.py", "--until", "x"], "there is no event 'x' to stop at"),
        (["run", "small.toml", "-t", "-1", "--classes", "own.py"], "so it cannot advance to -1 s"),
        (["show", "small.toml", "--classes", "own.py", "--port", "x.y"], "there is no port or state 'x.y'"),
    ],
)  # fmt: skip
def test_errors_are_texts_with_status_2(files, tmp_path, monkeypatch, capsys, more, text):
    monkeypatch.chdir(tmp_path)
    assert main(["sim", *more]) == 2
    assert text in capsys.readouterr().err


def test_the_tour_goes_from_a_file_to_a_log_to_a_picture(tmp_path, monkeypatch):
    out = io.StringIO()
    assert tour_system.tour_system(Console(file=out, width=200), tmp_path) == 0
    words = out.getvalue()
    assert words.count("✓") == 7
    assert "✗" not in words
    assert (tmp_path / "satellite.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "run.h5").stat().st_size > 10_000


def test_the_attitude_of_the_tour_takes_a_batch_and_is_at_rest_at_its_target():
    own = Attitude(target=(0.3, -0.2, 0.6), kp=2.0, kd=8.0)
    assert "take a batch" in str(sc.sim.check_component(own))
    there = tour_system.turned(own.p.target)
    assert np.abs(Attitude.torque(own.p, there, np.zeros(3))).max() < 1e-15
    assert np.allclose(tour_system.turned((0, 0, np.pi / 2)) @ [1, 0, 0], [0, 1, 0], atol=1e-15)
    assert FILE.is_file()

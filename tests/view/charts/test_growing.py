"""Charts of a log that grows: another process writes, this one looks."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from types import SimpleNamespace

import h5py
import pytest

import soacraft as sc
from soacraft.errors import ViewError

WRITER = """
    import sys, soacraft as sc
    from soacraft import sim
    s = sim.System("wave", integrator="rk4", step=0.01)
    s.add("wave", sim.Sine(frequency=1.0, unit="V"))
    s.run(12.0, log=sys.argv[1], pace=3.0)
"""


def test_a_log_is_followed_while_another_process_writes_it(tmp_path):
    file = tmp_path / "run.h5"
    writer = subprocess.Popen([sys.executable, "-c", textwrap.dedent(WRITER), str(file)])
    lengths = []
    chart = sc.view.live(
        file, every=0.05, seconds=60.0, show=lambda x: lengths.append(len(x.panels[0].lines["wave.y"][0]))
    )
    assert writer.wait() == 0
    assert lengths == sorted(set(lengths))
    assert lengths[0] < 1201
    assert lengths[-1] == len(chart.panels[0].lines["wave.y"][0]) == 1201
    assert chart.panels[0].y_label.endswith("[V]")


def test_outside_a_notebook_a_picture_is_written_next_to_the_log(tmp_path, monkeypatch):
    monkeypatch.setattr("IPython.get_ipython", lambda: None)  # another test may have left a shell
    file = tmp_path / "run.h5"
    sc.sim.Propagator(sc.load("pendulum"), integrator="rk4", step=0.1).advance_to(1.0, log=file)
    sc.view.live(file, "energy")
    assert (tmp_path / "run.png").read_bytes()[:4] == b"\x89PNG"
    assert sorted(x.name for x in tmp_path.iterdir()) == ["run.h5", "run.png"]


def test_a_run_that_never_ends_is_left_after_some_seconds(tmp_path):
    file = tmp_path / "run.h5"
    sc.sim.Propagator(sc.load("pendulum"), integrator="rk4", step=0.1).advance_to(1.0, log=file)
    with h5py.File(file, "a") as x:
        x["count"][2] = 0
    shown = []
    assert len(sc.view.live(file, "energy", every=0.01, seconds=0.05, show=shown.append).panels) == 1
    assert len(shown) == 1


def test_rows_written_between_a_look_and_its_reading_are_shown_once(tmp_path, monkeypatch):
    file = tmp_path / "run.h5"
    sc.sim.Propagator(sc.load("pendulum"), integrator="rk4", step=0.1).advance_to(1.0, log=file)
    looks = iter([(0, 7, False), (0, 11, False), (0, 11, True)])
    monkeypatch.setattr("soacraft.view.charts.growing.progress", lambda path: next(looks))
    shown = []
    sc.view.live(file, "energy", every=0.01, show=lambda x: shown.append(len(x.panels[0].lines["total"][0])))
    assert shown == [11]


def test_between_looks_it_rests_so_long_or_until_its_time_is_over(tmp_path, monkeypatch):
    """By a clock that only rests move on: 0.3 s each, and the last one what is left of 0.7 s."""
    file, now, rests = tmp_path / "run.h5", [100.0], []
    sc.sim.Propagator(sc.load("pendulum"), integrator="rk4", step=0.1).advance_to(1.0, log=file)

    def rest(seconds):
        rests.append(seconds)
        assert len(rests) < 10  # else it would look for ever
        now[0] += seconds

    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=rest)
    monkeypatch.setattr("soacraft.view.charts.growing.time", clock)
    monkeypatch.setattr("soacraft.view.charts.growing.progress", lambda path: (0, 11, False))
    sc.view.live(file, "energy", every=0.3, seconds=0.7, show=lambda x: None)
    assert rests == pytest.approx([0.3, 0.3, 0.1])
    looks = iter([(0, 11, False), (0, 11, False), (0, 11, True)])
    monkeypatch.setattr("soacraft.view.charts.growing.progress", lambda path: next(looks))
    rests.clear()
    sc.view.live(file, "energy", every=2.0, show=lambda x: None)  # until it ends
    assert rests == [2.0, 2.0]


def test_what_cannot_be_followed_is_refused(tmp_path):
    with pytest.raises(ViewError, match=r"none.h5' has no rows yet: is the run under way"):
        sc.view.live(tmp_path / "none.h5", every=0.01, seconds=0.02)
    with pytest.raises(ViewError, match="every must be positive"):
        sc.view.live(tmp_path / "none.h5", every=0.0)
    (tmp_path / "text.h5").write_text("hello")
    with pytest.raises(sc.errors.ModelFileError, match=r"text.h5' cannot be read"):
        sc.view.live(tmp_path / "text.h5", seconds=0.1)

"""Processes that die: what they had is computed again, and the table is that of an undisturbed campaign."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest
from tests.sim.campaigns.makers import drive, traced_campaign

from soacraft.errors import CampaignError
from soacraft.sim.campaigns.pool import _CONTEXT, _WAY, Task, compute


@pytest.fixture(autouse=True)
def without_main(monkeypatch):
    """Let processes not import pytest, as the main module of this one: it is not needed."""
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)


class Disturbed:
    """A campaign whose workers are killed, each run at most once, so that none counts as deadly."""

    def __init__(self, tmp_path: Path, runs: int) -> None:
        self.folder, self.trace, self.runs = str(tmp_path / "disturbed"), tmp_path / "trace", runs
        self.trace.touch()
        self.killed: set[int] = set()
        self.start()

    def start(self) -> None:
        self.driver = _CONTEXT.Process(target=drive, args=(self.folder, self.runs, str(self.trace)))
        self.driver.start()

    def kill_worker(self) -> bool:
        """Kill one whose run has begun for the first time; False where the campaign is done."""
        while self.driver.is_alive():
            begun: dict[str, list[int]] = {}
            for line in self.trace.read_text().splitlines():
                pid, x = line.split()
                begun.setdefault(x, []).append(int(pid))
            latest = {pids[-1]: x for x, pids in begun.items()}
            fresh = [
                pid for pid, x in latest.items() if len(begun[x]) == 1 and pid not in (self.driver.pid, *self.killed)
            ]
            alive = [pid for pid in fresh if _alive(pid)]
            if alive:
                pid = random.choice(alive)
                self.killed.add(pid)
                os.kill(pid, signal.SIGKILL)
                return True
            time.sleep(0.005)
        return False

    def kill_scheduler(self) -> None:
        workers = {int(x.split()[0]) for x in self.trace.read_text().splitlines()} - {self.driver.pid}
        self.driver.kill()
        self.driver.join()
        end = time.monotonic() + 10.0
        while any(_alive(x) for x in workers) and time.monotonic() < end:
            time.sleep(0.01)
        assert not any(_alive(x) for x in workers), "workers outlive their scheduler"
        self.start()

    def finish(self, kills: int) -> None:
        """Let it come to its end."""
        self.driver.join(timeout=120)
        assert self.driver.exitcode == 0
        assert len(self.killed) == kills


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in ("Z", "X")
    except OSError:
        return False


def disturbed_equals_serial(tmp_path: Path, runs: int, kills: int, schedulers: int) -> None:
    """With so many kills of workers and schedulers, the table of the serial campaign, byte for byte."""
    made = Disturbed(tmp_path, runs)
    per = kills // (schedulers + 1)
    for i in range(kills):
        assert made.kill_worker()
        if (i + 1) % per == 0 and (i + 1) // per <= schedulers:
            made.kill_scheduler()
    made.finish(kills)
    serial = traced_campaign(str(tmp_path / "serial"), runs)
    serial.run(workers=0)
    assert traced_campaign(made.folder, runs, str(made.trace)).table().csv().encode() == serial.table().csv().encode()
    assert serial.table().ok.all()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_a_campaign_with_kills_has_the_table_of_a_serial_one(tmp_path):
    disturbed_equals_serial(tmp_path, runs=40, kills=8, schedulers=1)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_two_hundred_runs_with_fifty_kills(tmp_path):
    disturbed_equals_serial(tmp_path, runs=200, kills=50, schedulers=2)


class Unpicklable:
    source, functions = None, {}

    def __reduce__(self):
        return _explode, ()


def _explode():
    raise ImportError("not here")


def test_processes_that_do_not_start_are_told():
    with pytest.raises(CampaignError, match=r"processes do not start: exit code 1.*`if __name__ == '__main__':`"):
        list(compute(Unpicklable(), [Task("row", (0,))], 1))


class Broken:
    source, functions = None, {}

    def row(self, i):
        raise KeyError(i)


def test_what_fails_outside_of_a_run_is_told():
    with pytest.raises(CampaignError, match=r"row\(3,\) failed outside of its run: KeyError: 3"):
        list(compute(Broken(), [Task("row", (3,))], 1))


class Slow:
    """A job without a system."""

    source, functions = None, {}

    def row(self, i):
        time.sleep(0.05)
        return i


@pytest.mark.skipif(_WAY != "forkserver", reason="the system has no fork server")
@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_fork_server_that_is_killed_begins_anew(when):
    from multiprocessing import forkserver

    server = forkserver._forkserver
    server.ensure_running()
    if when == "before":
        os.kill(server._forkserver_pid, signal.SIGKILL)
    done = []
    for ended in compute(Slow(), [Task("row", (i,)) for i in range(8)], 2):
        if when == "meanwhile" and not done:
            os.kill(server._forkserver_pid, signal.SIGKILL)
        done.append(ended.value)
    assert sorted(done) == list(range(8))


def test_processes_that_cannot_be_started_are_told(monkeypatch):
    def refused(*given, **more):
        raise ConnectionRefusedError("refused")

    monkeypatch.setattr("soacraft.sim.campaigns.pool._CONTEXT.Process.start", refused)
    monkeypatch.setattr("soacraft.sim.campaigns.pool._AGAIN", 0.0)
    with pytest.raises(CampaignError, match=r"processes do not start: ConnectionRefusedError: refused\. The functions"):
        list(compute(Slow(), [Task("row", (0,))], 1))

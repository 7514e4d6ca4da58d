"""Logs cut back to a checkpoint: whole or as they were, in any segment; another or a shorter one is refused."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import h5py
import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import CheckpointError
from soacraft.sim.runs.cut import cut_back
from soacraft.sim.runs.log import Log
from soacraft.sim.runs.outputs import Keeping


@pytest.fixture
def log(tmp_path):
    """Two segments, of 31 and 51 rows, and the place at the end of the second."""
    made = Log(tmp_path / "run.h5")
    for name, t in (("pendulum", 0.3), ("double_pendulum", 0.5)):
        sim.Propagator(sc.load(name), integrator="rk4", step=0.01).advance(t, Keeping(made, stays_open=True))
    place = made.place
    made.close()
    return place


def test_rows_behind_the_place_go_and_others_stay(log):
    before = sim.read(log.path)
    cut_back(log._replace(rows=20))
    after = sim.read(log.path)
    assert [len(x) for x in after.segments] == [31, 20]
    assert after.q.tobytes() == before.q[:20].tobytes()
    assert after.segments[0].q.tobytes() == before.segments[0].q.tobytes()
    assert after.cut
    assert after.documents == before.documents
    assert after.labels == before.labels


def test_later_segments_go(log):
    cut_back(log._replace(segment=0, rows=10))
    after = sim.read(log.path)
    assert [len(x) for x in after.segments] == [10]
    with h5py.File(log.path) as file:
        assert "segment_1" not in file


def test_a_log_of_more_rows_than_are_copied_at_once(tmp_path):
    made = Log(tmp_path / "run.h5")
    p = sim.Propagator(sc.load("pendulum"), integrator="rk4", step=0.001)
    run = p.advance(10.0, Keeping(made, stays_open=True))
    place = made.place
    made.close()
    cut_back(place._replace(rows=9000))
    np.testing.assert_array_equal(sim.read(tmp_path / "run.h5").t, run.t[:9000])


def test_a_log_that_has_less_than_the_checkpoint_is_refused(log):
    before = Path(log.path).read_bytes()
    with pytest.raises(CheckpointError, match=r"has 51 rows and 0 events, and had 52 and 0 at the checkpoint"):
        cut_back(log._replace(rows=52))
    with pytest.raises(CheckpointError, match="is not the log of the run that wrote the checkpoint"):
        cut_back(log._replace(segment=2))
    with pytest.raises(CheckpointError, match="is not the log of the run that wrote the checkpoint"):
        cut_back(log._replace(id="another"))
    assert Path(log.path).read_bytes() == before
    assert os.listdir(os.path.dirname(log.path)) == ["run.h5"]


def test_a_disk_that_is_full_meanwhile_leaves_the_log_as_it_was(log, monkeypatch):
    before = Path(log.path).read_bytes()

    def full(fd):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CheckpointError, match=r"run.h5' cannot be cut back to the checkpoint: .*No space left"):
        cut_back(log._replace(rows=20))
    assert Path(log.path).read_bytes() == before
    assert os.listdir(os.path.dirname(log.path)) == ["run.h5"]

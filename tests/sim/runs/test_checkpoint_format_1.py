"""Checkpoints of format 1, written by the version before: they are restored and go on; damaged ones are refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from tests.sim.runs.old_checkpoints import AT, propagator, system

from soacraft import sim
from soacraft.errors import CheckpointError

FOLDER = Path(__file__).parents[2] / "data" / "checkpoints"


def restored(file=FOLDER / "propagator_1.h5"):
    p = propagator()
    p.restore(file, accept_changes=True)  # callbacks are compared by the code that they call, which may have changed
    return p


def changed(tmp_path, name, value):
    """A copy with another data set, and without a checksum as the oldest files."""
    shutil.copy(FOLDER / "propagator_1.h5", tmp_path / "b.h5")
    with h5py.File(tmp_path / "b.h5", "a") as x:
        assert x.attrs["format"] == "soacraft checkpoint 1"
        del x[name], x.attrs["sha256"]
        if value is not None:
            x.create_dataset(name, data=value)
    return tmp_path / "b.h5"


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-8)


def test_a_propagator_goes_on():
    """As one that was never written: its control was set by a callback, its event has happened, its joint sticks."""
    p, whole = restored(), propagator()
    whole.run(AT)
    assert p.t == AT
    close(p.mb.q, whole.mb.q), close(p.mb.v, whole.mb.v)
    a, b = p.run(1.5), whole.run(1.5)
    close(a.q[-1], b.q[-1]), close(a.v[-1], b.v[-1]), close(a.work["upper"][-1], b.work["upper"][-1])
    assert [x.name for x in a.events] == [x.name for x in b.events]
    close([x.t for x in a.events], [x.t for x in b.events])
    close(a.forces["upper"][0], b.forces["upper"][0])


def test_a_system_goes_on():
    """With the noise to come, the states of its components and the counts of its clocks."""
    s, whole = sim.restore(FOLDER / "system_1.h5", accept_changes=True), system()
    whole.run(AT)
    assert s.t == AT
    a, b = s.run(1.0), whole.run(1.0)
    close(a.q, b.q)
    for name in ("noise.y", "delay.y", "control.command", "motor.current"):
        close(a.signals[name], b.signals[name])


def test_it_is_written_in_the_present_format(tmp_path):
    restored().checkpoint(tmp_path / "a.h5")
    with h5py.File(tmp_path / "a.h5") as x:
        assert x.attrs["format"] == "soacraft checkpoint 2"
    p, other = restored(), propagator()
    other.restore(tmp_path / "a.h5")
    assert p.run(1.0).q.tobytes() == other.run(1.0).q.tobytes()


def test_files_without_a_checksum_are_read(tmp_path):
    with h5py.File(FOLDER / "propagator_1.h5") as x:
        point = x["point"][:]
    assert restored(changed(tmp_path, "point", point)).state() == restored().state()


@pytest.mark.parametrize("name", ["point", "held_f8", "document"])
def test_bits_that_flip_are_noticed(tmp_path, name):
    file = FOLDER / "system_1.h5"
    with h5py.File(file) as x:
        place, size = x[name].id.get_offset(), x[name].id.get_storage_size()
    content = file.read_bytes()
    for bit in np.random.default_rng(1).integers(8 * size, size=10):
        damaged = bytearray(content)
        damaged[place + bit // 8] ^= 1 << (bit % 8)
        (tmp_path / "b.h5").write_bytes(bytes(damaged))
        with pytest.raises(CheckpointError, match="its data are not those that it was written with"):
            sim.restore(tmp_path / "b.h5")


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("point", None, "it has no 'point'"),
        ("point", np.zeros(3, dtype=np.int64), "'point' is of dtype int64"),
        ("point", np.full(8, np.nan), "a number is not finite"),
        ("point", np.zeros(3), "its velocities are 1, and those of 'double_pendulum' here are 2"),
        ("point", np.zeros(50), "its states of components are"),
        ("held_f8", np.zeros(2), "there are more numbers than names"),
        ("document", np.zeros(10, dtype=np.uint8), "it is damaged"),
        ("document", np.frombuffer(b"\x91" * 100_000 + b"\xc0", dtype=np.uint8), "it is damaged"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, name, value, text):
    with pytest.raises(CheckpointError, match=text):
        restored(changed(tmp_path, name, value))

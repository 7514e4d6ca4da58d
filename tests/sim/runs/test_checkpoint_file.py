"""Files of checkpoints: written whole or not at all; what is damaged or hostile is refused by name."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil

import h5py
import msgspec
import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import CheckpointError

NAMES = ("state", "document")


@pytest.fixture
def file(tmp_path):
    s = sim.System("s", integrator="rk4", step=1e-3)
    s.add("arm", sim.Plant(sc.load("pendulum")))
    s.add("delay", sim.UnitDelay(size=2), every=0.01)
    s.add("one", sim.Constant(value=(1.0, 2.0)))
    s.connect("one.y", "delay.u")
    s.run(0.02)
    s.checkpoint(tmp_path / "a.h5")
    return tmp_path / "a.h5"


def changed(file, name, value):
    """A copy with another dataset, by one who makes the checksum anew."""
    other = file.with_name("b.h5")
    shutil.copy(file, other)
    with h5py.File(other, "a") as x:
        del x[name]
        if value is not None:
            value(x) if callable(value) else x.create_dataset(name, data=value)
        if isinstance(value, np.ndarray) and value.dtype == "u1":
            x.attrs["sha256"] = hashlib.sha256(b"".join(bytes(x[y][:]) for y in NAMES)).hexdigest()
    return other


def flipped(content, bit):
    damaged = bytearray(content)
    damaged[bit // 8] ^= 1 << (bit % 8)
    return bytes(damaged)


def test_bits_that_flip_are_noticed(file):
    """Wherever they are, before HDF5 reads them: it may not end where lengths of its own are damaged."""
    content, other = file.read_bytes(), file.with_name("b.h5")
    end = 8 * len(content)
    for bit in [*np.random.default_rng(1).integers(end, size=500), *range(end - 320, end, 9)]:
        other.write_bytes(flipped(content, int(bit)))
        refused(other, r"is damaged: its data are not those that it was written with.*Restore an older one")


@pytest.mark.parametrize("name", NAMES)
def test_bits_that_flip_in_a_file_without_a_seal_are_noticed(file, name):
    """As they were written before."""
    content, other = file.read_bytes()[:-40], file.with_name("b.h5")
    other.write_bytes(content)
    sim.restore(other)
    with h5py.File(file) as x:
        place, size = x[name].id.get_offset(), x[name].id.get_storage_size()
    for bit in np.random.default_rng(1).integers(8 * size, size=20):
        other.write_bytes(flipped(content, 8 * place + int(bit)))
        refused(other, r"is damaged: its data are not those that it was written with.*Restore an older one")


def test_a_checksum_that_is_missing_or_of_another_kind_is_no_checksum(file):
    with h5py.File(file, "a") as x:
        x.attrs["sha256"] = np.zeros(3)
    refused(file, "is damaged: its data are not those that it was written with")
    with h5py.File(file, "a") as x:
        del x.attrs["sha256"]
    refused(file, "is damaged: its data are not those that it was written with")


def bytes_of(data):
    return np.frombuffer(data, dtype=np.uint8)


def document_with(file, change):
    """A copy whose document says something else."""
    with h5py.File(file) as x:
        document = msgspec.msgpack.decode(bytes(x["document"][:]))
    change(document)
    return changed(file, "document", bytes_of(msgspec.msgpack.encode(document)))


def state_with(file, change):
    """A copy whose state says something else, with a checksum of its own."""
    with h5py.File(file) as x:
        parts = msgspec.msgpack.decode(bytes(x["state"][32:]))
    change(parts)
    data = msgspec.msgpack.encode(parts)
    return changed(file, "state", bytes_of(hashlib.sha256(data).digest() + data))


def refused(file, text):
    with pytest.raises(CheckpointError, match=text) as wrong:
        sim.restore(file)
    assert file.name in str(wrong.value)


def test_there_is_no_code_in_it(file):
    data = file.read_bytes()
    assert data[:8] == b"\x89HDF\r\n\x1a\n"
    with h5py.File(file) as x:
        assert sorted(x) == sorted(NAMES)
        assert x["state"].dtype == x["document"].dtype == "u1"


def test_what_is_no_checkpoint_is_refused(file, tmp_path):
    with pytest.raises(CheckpointError, match="there is no checkpoint"):
        sim.restore(tmp_path / "none.h5")
    (tmp_path / "text.h5").write_text("hello")
    refused(tmp_path / "text.h5", "cannot be read, it is damaged")
    data = file.read_bytes()
    (tmp_path / "half.h5").write_bytes(data[: len(data) // 2])
    refused(tmp_path / "half.h5", "cannot be read, it is damaged")
    sim.Propagator(sc.load("pendulum"), integrator="rk4", step=0.01).advance_to(0.1, log=tmp_path / "log.h5")
    refused(tmp_path / "log.h5", r"is no checkpoint: its format is 'soacraft run 1', not 'soacraft checkpoint 2'")


def test_a_format_of_another_kind_is_refused(file):
    with h5py.File(file, "a") as x:
        x.attrs["format"] = np.zeros(2)
    refused(file, r"is no checkpoint: its format is array\(\[0\., 0\.\]\)")


@pytest.mark.parametrize("name", NAMES)
def test_what_is_missing_or_of_another_kind_is_refused(file, name):
    refused(changed(file, name, None), f"it has no '{name}'")
    refused(changed(file, name, lambda x: x.create_group(name)), f"'{name}' is no dataset")
    refused(changed(file, name, np.zeros(2, dtype="c16")), f"'{name}' is of dtype complex128")
    refused(changed(file, name, np.zeros((2, 2))), f"'{name}' is of dtype float64 and shape")
    refused(changed(file, name, lambda x: x.create_dataset(name, data="text")), f"'{name}' is of dtype object")


def test_what_is_elsewhere_is_not_looked_at(file, tmp_path):
    (tmp_path / "secret.bin").write_bytes(bytes(800))
    with h5py.File(tmp_path / "other.h5", "w") as x:
        x["state"] = np.zeros(4, dtype="u1")
    secret, link = str(tmp_path / "secret.bin"), h5py.ExternalLink(str(tmp_path / "other.h5"), "state")
    refused(
        changed(file, "state", lambda x: x.create_dataset("state", (100,), "u1", external=secret)),
        "'state' is in another place",
    )
    refused(changed(file, "state", lambda x: x.__setitem__("state", link)), "'state' is in another place")

    def virtual(x):
        layout = h5py.VirtualLayout((4,), "u1")
        layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "state", (4,))
        x.create_virtual_dataset("state", layout)

    refused(changed(file, "state", virtual), "'state' is in another place")


@pytest.mark.parametrize("name", NAMES)
def test_huge_shapes_are_refused_before_anything_is_allocated(file, name):
    big = changed(file, name, lambda x: x.create_dataset(name, (2**40,), "u1", chunks=(1024,)))
    refused(big, f"'{name}' has {2**40} numbers, more than")


def floats_with(change):
    """Change the floats of a state."""

    def apply(parts):
        parts["floats"] = change(np.frombuffer(parts["floats"], "<f8")).astype("<f8").tobytes()

    return apply


def renamed(number, *new):
    """Change name, kind or shape of an array of a state."""

    def apply(parts):
        for place, value in new:
            parts["names"][number][place] = value

    return apply


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (floats_with(lambda x: x * np.nan), "a number is not finite"),
        (floats_with(lambda x: x[:-1]), "there are no"),
        (floats_with(lambda x: np.zeros(50)), "there are more numbers than names"),
        (lambda x: x.update(floats=b"1234"), "buffer size must be a multiple"),
        (lambda x: x.update(format="soacraft state 0"), "its format is 'soacraft state 0', not 'soacraft state 1'"),
        (lambda x: x.update(more=1), "unknown field `more`"),
        (lambda x: x["state"].update(more=1), "unknown field `more`"),
        (lambda x: x["state"].pop("ns"), "missing required field `ns`"),
        (lambda x: x["state"].update(ns="now"), r"Expected `int`, got `str` - at `\$\.ns`"),
        (lambda x: x["state"].update(ns=2**63), "a time is out of range|out of range"),
        (lambda x: x["state"].update(rest=0.5), "a time is out of range"),
        (lambda x: x["state"].update(ticks=[-1]), "a time is out of range"),
        (lambda x: x["state"].update(callbacks=[[-1, 10]]), "a time is out of range"),
        (lambda x: x["state"].update(ticks=[1, 2]), "its clocks are 2, and those of 'pendulum' here are 1"),
        (lambda x: x["state"].update(length=-1.0), "a step or a period is not positive"),
        (lambda x: x["state"].update(counts=[2**40, 0]), "a count or a length of steps is out of range"),
        (lambda x: x["state"].update(signs={"magic": 1.0}), "signs of .*'magic'.*, which are no events"),
        (lambda x: x["state"].update(closures={"magic": [1.0]}), "the closure 'magic' has 0 coordinates"),
        (lambda x: x["state"].update(independent=[0]), "'pendulum' has no closures"),
        (lambda x: x["state"].update(dofs=["elbow"]), r"its dofs are \['elbow'\]"),
        (lambda x: x["state"].update(forces=["magic"]), r"its forces are \['magic'\]"),
        (lambda x: x["state"].update(events=["magic"]), r"its events are \['magic'\]"),
        (lambda x: x["names"].clear(), "cannot be read"),
        (renamed(0, (0, "magic")), "cannot be read"),
        (renamed(-1, (0, "held magic.y")), "its held values are"),
        (renamed(-1, (2, [-2])), "of the kind 'float' and the shape"),
        (renamed(-1, (2, [2**62, 2**62])), "there are no"),
        (renamed(-1, (2, [0, 2**63])), "there are no"),
        (renamed(-1, (2, [1] * 40)), "of the kind 'float' and the shape"),
        (renamed(-1, (1, "object")), "of the kind 'object'"),
        (renamed(1, (0, "q")), "'q' is there twice"),
        (renamed(0, (2, [1, 1])), "q, v, work, z and rates have one axis"),
    ],
)
def test_a_state_that_cannot_be_is_refused(file, change, text):
    refused(state_with(file, change), text)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda x: x.pop("kind"), "missing required field `kind`"),
        (lambda x: x.update(more=1), "unknown field `more`"),
        (lambda x: x["body"].pop("system"), "missing required field `system`"),
        (lambda x: x["body"].update(classes={}), "its parts are not those it lists"),
        (lambda x: x["body"]["classes"].update(delay="0"), "other classes than those here: UnitDelay of 'delay'"),
        (lambda x: x["body"]["system"]["parts"]["delay"].update(type="eval"), "the class 'eval', which is not known"),
        (lambda x: x["body"]["system"]["parts"]["delay"]["params"].update(size="x"), "parameters of UnitDelay"),
        (lambda x: x["body"]["system"]["parts"]["delay"].update(every="1e99999999"), "a period is a number of seconds"),
        (lambda x: x["body"]["system"]["plants"]["arm"].update(document="{}"), "it is damaged"),
        (lambda x: x["body"]["system"].update(integrator="magic"), "integrator 'magic' does not carry"),
    ],
)
def test_a_document_that_says_something_else_is_refused(file, change, text):
    refused(document_with(file, change), text)


def test_a_document_that_is_nested_without_end_is_refused(file):
    deep = b"\x91" * 100_000 + b"\xc0"
    refused(changed(file, "document", bytes_of(deep)), "it is damaged")


def test_a_checkpoint_is_there_whole_or_as_before(file, monkeypatch):
    """A disk that is full while it is written: the error has file and time, the old one is left, nothing else."""
    before = file.read_bytes()
    other = sim.restore(file)
    other.run(0.03)

    def full(fd):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        CheckpointError, match=r"a.h5' at t = 0.03 s cannot be written: No space left on device\. What was there before"
    ):
        other.checkpoint(file)
    assert file.read_bytes() == before
    assert [x.name for x in file.parent.iterdir()] == ["a.h5"]

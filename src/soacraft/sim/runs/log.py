"""Logs of runs in HDF5, readable while they are written and, to the last flush, after the process was killed.

    /                          attributes: format, id, versions, integrator, forces
      t q v vdot ...           a row for each row of the run, f8, in blocks; signals (rows, numbers), event_t ...
      count                    whole rows and events that were flushed: what is behind them is not read
      label_q ... signal_columns model system         names, units and frames; documents
    /segment_1 ...             the same after each change of structure; segment_0 is / itself

All datasets of a segment are made before others may read (SWMR): a new segment is made in a copy, which then takes the
place of the file.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

from soacraft.arguments import read_path
from soacraft.errors import ModelFileError, StateError
from soacraft.sim.events import Happened
from soacraft.sim.runs.labels import Labels
from soacraft.sim.runs.log_dataset import BLOCK, LogDataset
from soacraft.sim.runs.signals import Columns, Signals, written
from soacraft.spatial.checks import Array

FORMAT = "soacraft run 1"
ROWS = ("t", "q", "v", "vdot", "kinetic", "potential", "springs", "violation", "work", "forces")
#: Datasets that grow: with rows, and with events.
GROWS = (*ROWS, "signals", "event_t", "event_q", "event_v", "event_name")
#: Bytes of the name of an event.
NAME = 256
#: Room that is left on a disk, for the end of the file.
_SPARE = 2**18


def h5py_module() -> ModuleType:
    """h5py, or how to get it."""
    try:
        import h5py  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        raise StateError(
            "logs of runs are HDF5 files, and h5py is not installed: pip install 'soacraft[sim]', or leave out log=."
        ) from None
    module: ModuleType = h5py
    return module


class Layout(NamedTuple):
    """Contents of a segment: sizes of a row, names of forces, the method, labels, signals and documents."""

    sizes: Mapping[str, tuple[int, ...]]
    names: Sequence[str]
    by: str
    labels: Labels
    columns: Columns | None = None
    documents: Mapping[str, bytes] = {}


class LogPlace(NamedTuple):
    """Position in a log: its file and id, the segment, its rows and events, and whether it ended there."""

    path: str
    id: str
    segment: int
    rows: int
    events: int
    ended: bool = False


class Log:
    """A file that grows by rows. Other processes may read it meanwhile (single writer, many readers)."""

    def __init__(self, path: str | PathLike[str]) -> None:
        h5py_module()
        self.path = read_path(path, "log=", StateError)
        self.id, self.segment = secrets.token_hex(16), -1
        self._file: Any = None
        self._at: Any = None
        self._data: dict[str, LogDataset] = {}  # open: HDF5 writes where one is closed, and must not fail there
        self._count: Any = None
        self._rows = self._events = self._seen = 0
        self._broken = False

    def begin(self, layout: Layout, place: LogPlace | None = None) -> bool:
        """A new segment, the first of which makes the file; or, from a place that the file was cut back to, that one
        again, which then has the first row: True. Where its columns are others now, a new one, too.

        The file is made aside and renamed when others may read it: whenever the process is killed, there is a log.
        """
        h5py = h5py_module()
        aside, continues = self.path.parent / f".soacraft-{secrets.token_hex(8)}.tmp", False
        with self._guarded():
            try:
                if place is None and self._file is None:
                    self._file = h5py.File(aside, "w-", libver="latest", locking=False)
                    self._file.attrs["format"], self._file.attrs["id"] = FORMAT, self.id
                    self._file.attrs["versions"] = json.dumps(versions())
                    self._file["segment_0"] = h5py.SoftLink("/")
                    self.segment, self._at = 0, self._file
                else:
                    self._release()
                    if self._file is not None:
                        self._file.close()
                    require_room(self.path, os.stat(self.path).st_size)
                    shutil.copyfile(self.path, aside)
                    self._file = h5py.File(aside, "r+", libver="latest", locking=False)
                    if place is not None:
                        self.id, self.segment = place.id, place.segment
                        continues = not place.ended and self._fits(layout)
                    if not continues:
                        self.segment += 1
                        self._at = self._file.create_group(f"segment_{self.segment}")
                if not continues:
                    self._create(h5py, layout)
                self._rows, self._events = (place.rows, place.events) if continues and place is not None else (0, 0)
                self._seen = 0
                self._open()
                os.replace(aside, self.path)
            except BaseException:
                aside.unlink(missing_ok=True)
                raise
        return continues

    def _fits(self, layout: Layout) -> bool:
        """True if a segment has these columns."""
        at = self._at = self._file[f"segment_{self.segment}"]
        names = [x.decode() for x in at["force_names"][:]]
        columns = [x.decode() for x in at["signal_columns"][:]] if "signal_columns" in at else []
        sizes = all(at[name].shape[1:] == layout.sizes.get(name, ()) for name in ROWS)
        return sizes and names == list(layout.names) and columns == written(layout.columns or {})

    def _open(self) -> None:
        """Let others read, and have what grows at hand."""
        self._file.swmr_mode = True
        for name in GROWS:
            if name in self._at:
                rows = self._events if name.startswith("event_") else self._rows
                self._data[name] = LogDataset(self._at[name], rows)
        self._count = self._at["count"]

    def _release(self) -> None:
        """Close the datasets."""
        self._data, self._count = {}, None

    def _create(self, h5py: ModuleType, layout: Layout) -> None:
        at, text = self._at, h5py.string_dtype()
        at.attrs["integrator"] = layout.by
        at.create_dataset("force_names", data=np.array(list(layout.names), dtype=text))
        for name, texts in layout.labels._asdict().items():
            at.create_dataset(f"label_{name}", data=np.array(texts, dtype=text))
        for name, document in layout.documents.items():
            at.create_dataset(name, data=np.frombuffer(document, dtype=np.uint8))
        for name in ROWS:
            self._column(name, layout.sizes.get(name, ()))
        if layout.columns:
            at.create_dataset("signal_columns", data=np.array(written(layout.columns), dtype=text))
            self._column("signals", (Signals.width(layout.columns),))
        for name in ("t", "q", "v"):
            self._column(f"event_{name}", layout.sizes.get(name, ()))
        self._column("event_name", (), f"S{NAME}")
        at.create_dataset("stopped_by", (1,), f"S{NAME}")
        at.create_dataset("count", data=np.zeros(3, dtype=np.int64))

    def _column(self, name: str, size: tuple[int, ...], kind: str = "f8") -> None:
        chunks, most = (BLOCK, *(max(n, 1) for n in size)), (None, *(n or None for n in size))
        self._at.create_dataset(name, (0, *size), kind, maxshape=most, chunks=chunks)

    def write(self, chunks: Sequence[Mapping[str, Array]], events: Sequence[Happened]) -> None:
        """Append blocks of rows, one at least, and new events, flush, and then count them: what is counted is whole."""
        with self._guarded(float(chunks[-1]["t"][-1])):
            require_room(self.path, sum(x.nbytes for chunk in chunks for x in chunk.values()))
            for name in (*ROWS, "signals"):
                if name in self._data:
                    for chunk in chunks:
                        self._data[name].append(chunk[name])
                    self._data[name].settle()
            fresh = events[self._seen :]
            if fresh:
                self._happened(fresh)
            self._file.flush()
            self._rows += sum(len(chunk["t"]) for chunk in chunks)
            self._events += len(fresh)
            self._seen = len(events)
            self._counted(0)

    def _counted(self, ended: int) -> None:
        self._count.write_direct(np.array([self._rows, self._events, ended], dtype=np.int64))
        self._count.flush()

    @property
    def place(self) -> LogPlace:
        """Present end of the log; on the disk when this returns."""
        with self._guarded():
            self._file.flush()
            os.fsync(self._file.id.get_vfd_handle())
        return LogPlace(str(Path(self.path).absolute()), self.id, self.segment, self._rows, self._events)

    def note(self, events: Sequence[Happened]) -> None:
        """Append events of the end of a segment, which happened after its last row."""
        if events and self._file and not self._broken:
            with self._guarded(events[-1].t):
                self._happened(events)
                self._file.flush()
                self._events += len(events)
                self._counted(1)

    def _happened(self, events: Sequence[Happened]) -> None:
        q, v = (self._data[f"event_{x}"].data.shape[1] for x in ("q", "v"))
        self._data["event_t"].append(np.array([x.t for x in events]))
        self._data["event_q"].append(np.array([_sized(x.q, q) for x in events]))
        self._data["event_v"].append(np.array([_sized(x.v, v) for x in events]))
        self._data["event_name"].append(np.array([x.name.encode()[:NAME] for x in events], dtype=f"S{NAME}"))
        for name in ("t", "q", "v", "name"):
            self._data[f"event_{name}"].settle()

    def finish(self, stopped_by: str) -> None:
        """End the segment."""
        if self._file and not self._broken:
            with self._guarded():
                self._at["stopped_by"][0] = stopped_by.encode()[:NAME]
                self._file.flush()
                self._counted(1)

    def close(self) -> None:
        """End the file."""
        if self._file:
            with suppress(OSError, RuntimeError) if self._broken else self._guarded():
                self._release()
                self._file.close()
            self._file = self._at = None

    @contextmanager
    def _guarded(self, t: float | None = None) -> Iterator[None]:
        """Turn errors of the disk into errors that name the file and the time."""
        try:
            yield
        except (OSError, RuntimeError) as problem:
            self._broken = True
            if not isinstance(problem, NoRoomError):
                self._abandon()
            when = "" if t is None else f" at t = {t:.9g} s"
            raise ModelFileError(
                f"the log {str(self.path)!r} cannot be written{when}: {problem}. Make room, or give another log=; "
                "sc.sim.read reads it to its last flush."
            ) from problem

    def _abandon(self) -> None:
        """Close after HDF5 failed to write: it ends with a file in memory, for it would end the process where it
        cannot write at its end either. The log keeps the rows of its last flush."""
        if self._file:
            with suppress(OSError, RuntimeError, ValueError):
                in_memory = sink()
                os.dup2(in_memory, self._file.id.get_vfd_handle())
                os.close(in_memory)


class NoRoomError(OSError):
    """There is no room on the disk, seen before anything was written."""


def require_room(path: Path, size: int) -> None:
    """Raise if `size` bytes, and in addition those of HDF5, have no room."""
    need = 2 * size + _SPARE
    now = os.stat(path).st_size
    if hasattr(os, "statvfs"):
        disk = os.statvfs(path)
        if disk.f_bavail * disk.f_frsize < need:
            raise NoRoomError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if resource is not None:
        most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        if most != resource.RLIM_INFINITY and now + need > most:
            raise NoRoomError(errno.EFBIG, os.strerror(errno.EFBIG))


def sink() -> int:
    """A file that takes what is written, and is nowhere."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("soacraft")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _sized(x: Array, size: int) -> Array:
    """A state of an event as a row; zeros where structure was another."""
    return x if len(x) == size else np.zeros(size)


def versions() -> dict[str, str]:
    """Versions of Python, the machine and the libraries of a run."""
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:
    numbers = {"python": platform.python_version(), "machine": platform.machine()}
    for name in ("soacraft", "numpy", "h5py", "scikit-sundae"):
        with suppress(PackageNotFoundError):
            numbers[name] = version(name)
    return numbers

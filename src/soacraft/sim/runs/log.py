"""Logs of runs in HDF5, readable while they are written and, to the last flush, after the process was killed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from types import ModuleType
from typing import Any

import numpy as np

from soacraft.arguments import read_path
from soacraft.errors import ModelFileError, StateError
from soacraft.sim.events import Happened
from soacraft.sim.runs.labels import Labels
from soacraft.sim.runs.run import Run
from soacraft.sim.runs.signals import Signals, columns_read, written
from soacraft.spatial.checks import Array

_FORMAT = "soacraft run 1"
_ROWS = ("t", "q", "v", "vdot", "kinetic", "potential", "springs", "violation", "work", "forces")


def _h5py() -> ModuleType:
    try:
        import h5py  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        raise StateError(
            "logs of runs are HDF5 files, and h5py is not installed: pip install 'soacraft[sim]', or leave out log=."
        ) from None
    found: ModuleType = h5py
    return found


class Log:
    """A file that grows by rows. Other processes may read it meanwhile (single writer, many readers)."""

    def __init__(
        self,
        path: str | PathLike[str],
        sizes: Mapping[str, tuple[int, ...]],
        names: Sequence[str],
        by: str,
        labels: Labels,
        columns: Mapping[str, tuple[tuple[int, ...], str]] | None = None,
    ) -> None:
        h5py = _h5py()
        path = read_path(path, "log=", StateError)
        try:
            self._file = h5py.File(path, "w", libver="latest")
        except OSError as problem:
            raise ModelFileError(f"the log {str(path)!r} cannot be written: {problem}") from None
        self._file.attrs["format"] = _FORMAT
        self._file.attrs["integrator"] = by
        self._file.attrs["forces"] = np.array(list(names), dtype=h5py.string_dtype())
        for name, texts in labels._asdict().items():
            self._file.create_dataset(f"label_{name}", data=np.array(texts, dtype=h5py.string_dtype()))
        for name in _ROWS:
            self._create(name, sizes.get(name, ()))
        self._signals = bool(columns)
        if columns:
            self._file.create_dataset("signal_columns", data=np.array(written(columns), dtype=h5py.string_dtype()))
            self._create("signals", (Signals.width(columns),))
        for name in ("t", "q", "v"):
            self._create(f"event_{name}", sizes.get(name, ()))
        self._create("event_name", (), "S64")
        self._file.create_dataset("stopped_by", (1,), "S64")
        self._file.swmr_mode = True
        self._events = 0

    def _create(self, name: str, size: tuple[int, ...], kind: str = "f8") -> None:
        chunks = (256, *(max(n, 1) for n in size))
        self._file.create_dataset(name, (0, *size), kind, maxshape=(None, *size), chunks=chunks)

    def write(self, chunk: Mapping[str, Array], events: Sequence[Happened]) -> None:
        """Append rows and new events, and flush."""
        for name in _ROWS:
            self._append(name, chunk[name])
        if self._signals:
            self._append("signals", chunk["signals"])
        fresh = events[self._events :]
        if fresh:
            self._append("event_t", np.array([x.t for x in fresh]))
            self._append("event_q", np.array([x.q for x in fresh]))
            self._append("event_v", np.array([x.v for x in fresh]))
            self._append("event_name", np.array([x.name.encode()[:64] for x in fresh], dtype="S64"))
            self._events = len(events)
        self._file.flush()

    def _append(self, name: str, rows: Any) -> None:
        data = self._file[name]
        old = len(data)
        data.resize(old + len(rows), axis=0)
        data[old:] = rows

    def close(self, stopped_by: str) -> None:
        """End the file."""
        if self._file:
            self._file["stopped_by"][0] = stopped_by.encode()[:64]
            self._file.close()


def read(path: str | PathLike[str]) -> Run:
    """A run from its log: rows, work, forces, events and names; without dense output. Of a run that goes on, or was
    killed, what was flushed.

    The columns have their least length in common: rows are whole.
    """
    h5py = _h5py()
    path = read_path(path, "sc.sim.read", StateError)
    if not path.exists():
        raise ModelFileError(f"there is no log {str(path)!r}.")
    try:
        with h5py.File(path, "r", libver="latest", swmr=True) as file:
            if file.attrs.get("format") != _FORMAT:
                raise ModelFileError(f"{str(path)!r} is no log of a run: its format is {file.attrs.get('format')!r}.")
            count = min(len(file[name]) for name in _ROWS)
            rows = {name: np.asarray(file[name][:count], dtype=np.float64) for name in _ROWS}
            names = [x if isinstance(x, str) else x.decode() for x in file.attrs["forces"]]
            happened = min(len(file[f"event_{x}"]) for x in ("t", "q", "v", "name"))
            events = [
                Happened(float(t), name.decode(), np.asarray(q), np.asarray(v))
                for t, name, q, v in zip(*(file[f"event_{x}"][:happened] for x in ("t", "name", "q", "v")), strict=True)
            ]
            labels = _labels(file)
            signals = None
            if "signals" in file:
                count = min(count, len(file["signals"]))
                rows = {name: x[:count] for name, x in rows.items()}
                texts = [x.decode() for x in file["signal_columns"][:]]
                signals = Signals(columns_read(texts), np.asarray(file["signals"][:count], dtype=np.float64))
            by, stopped = str(file.attrs["integrator"]), bytes(file["stopped_by"][0]).decode()
    except OSError as problem:
        raise ModelFileError(f"the log {str(path)!r} cannot be read: {problem}") from None
    work = {name: rows["work"][:, i] for i, name in enumerate(names)}
    forces = {name: rows["forces"][:, i] for i, name in enumerate(names)}
    return Run(rows, work, forces, events, by, stopped, labels=labels, signals=signals)


def _labels(file: Any) -> Labels | None:
    """The names and units of coordinates and dofs; None of a log of before they were kept."""
    if f"label_{Labels._fields[0]}" not in file:
        return None
    return Labels(*(tuple(x.decode() for x in file[f"label_{name}"][:]) for name in Labels._fields))

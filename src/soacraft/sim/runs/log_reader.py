"""Logs read back, also while they are written, and after the process was killed. A file is not trusted."""

from __future__ import annotations

import json
from os import PathLike
from typing import Any

import numpy as np

from soacraft.arguments import read_path
from soacraft.errors import ModelFileError, StateError
from soacraft.results import free_memory
from soacraft.sim.events import Happened
from soacraft.sim.runs.labels import Labels
from soacraft.sim.runs.log import FORMAT, ROWS, h5py_module
from soacraft.sim.runs.run import Run
from soacraft.sim.runs.signals import Columns, Signals, columns_read
from soacraft.spatial.checks import Array

#: Segments of one log, names of one kind, and bytes of a document, that are read.
_SEGMENTS, _NAMES, _DOCUMENT = 10_000, 1_000_000, 2**30


def read(path: str | PathLike[str]) -> Run:
    """A run from its log: rows, work, forces, signals, events and names; without dense output. Of a run that goes on,
    or was killed, what was flushed: then `run.cut` is True.

    A log whose structure changed has `run.segments`; the run itself is the last of them. `run.documents` has the model
    and the system as they were, and the versions of what they ran with.

    >>> import pathlib, tempfile
    >>> import soacraft as sc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "run.h5"
    ...     _ = sc.sim.Propagator(sc.load("pendulum"), integrator="rk4", step=0.1).advance_to(1.0, log=file)
    ...     run = sc.sim.read(file)
    >>> len(run), run.cut, sorted(run.documents)
    (11, False, ['model', 'versions'])
    """
    h5py = h5py_module()
    path = read_path(path, "sc.sim.read", StateError)
    if not path.exists():
        raise ModelFileError(f"there is no log {str(path)!r}.")
    try:
        with h5py.File(path, "r", libver="latest", swmr=True, locking=False) as file:
            if file.attrs.get("format") != FORMAT:
                raise ModelFileError(
                    f"{str(path)!r} is no log of a run: its format is {file.attrs.get('format')!r:.60}."
                )
            count = 1
            while f"segment_{count}" in file and count < _SEGMENTS:
                count += 1
            groups = [file, *(file[f"segment_{i}"] for i in range(1, count))]
            segments = [_segment(Group(x, str(path))) for x in groups]
            versions = file.attrs.get("versions", "")
    except (OSError, KeyError, RuntimeError) as problem:
        why = "it was killed before its first row, or is damaged" if "SWMR" in str(problem) else "it is damaged"
        raise ModelFileError(f"the log {str(path)!r} cannot be read, {why}: {problem}") from None
    for run in segments:
        run._documents = {**run._documents, **({"versions": str(versions)} if versions else {})}
    last = segments[-1]
    last._segments = tuple(segments[:-1])
    return last


def progress(path: str | PathLike[str]) -> tuple[int, int, bool]:
    """Progress of a log: its last segment, the rows of that, and whether it ended. A `ModelFileError` whose `where` is
    "begins" for one that is being made."""
    h5py = h5py_module()
    path = read_path(path, "sc.sim.read", StateError)
    try:
        with h5py.File(path, "r", libver="latest", swmr=True, locking=False) as file:
            last = 0
            while f"segment_{last + 1}" in file and last < _SEGMENTS:
                last += 1
            rows, _, ended = _counted(Group(file if not last else file[f"segment_{last}"], str(path)))
            return last, rows, ended
    except (OSError, KeyError, RuntimeError) as problem:
        wrong = ModelFileError(f"the log {str(path)!r} cannot be read: {problem}")
        wrong.where = "begins" if "SWMR" in str(problem) or "consistency flags" in str(problem) else None
        raise wrong from None


class Group:
    """Datasets of a group, each looked at before it is read."""

    def __init__(self, group: Any, path: str, what: str = "log") -> None:
        self._group, self._path, self._what = group, path, what

    def __contains__(self, name: str) -> bool:
        return name in self._group

    @property
    def attributes(self) -> Any:
        """Attributes of the group."""
        return self._group.attrs

    def data(self, name: str, kinds: str, dims: int) -> Any:
        """A dataset of one of the kinds of numpy's dtypes, with so many dimensions."""
        h5py = h5py_module()
        if name not in self._group:
            raise self.fault(f"it has no {name!r}")
        data = self._group[name]
        if not isinstance(data, h5py.Dataset):
            raise self.fault(f"{name!r} is no dataset")
        if not isinstance(self._group.get(name, getlink=True), h5py.HardLink) or data.external or data.is_virtual:
            raise self.fault(f"{name!r} is in another place")
        if data.dtype.kind not in kinds or len(data.shape) != dims:
            raise self.fault(f"{name!r} is of dtype {data.dtype} and shape {data.shape}")
        return data

    def array(self, name: str, dims: int, rows: int | None = None) -> Array:
        """Numbers, the first rows of them."""
        data = self.data(name, "f", dims)
        size = int(np.prod((len(data) if rows is None else rows, *data.shape[1:]), dtype=object)) * 8
        free = free_memory()
        if free is not None and size > free // 2:
            raise self.fault(f"{name!r} has {size / 1e9:.3g} GB, more than half of the free memory")
        return np.asarray(data[:rows], dtype=np.float64)

    def texts(self, name: str) -> list[str]:
        """A list of texts."""
        data = self.data(name, "OS", 1)
        if len(data) > _NAMES:
            raise self.fault(f"{name!r} has {len(data)} names")
        return [x.decode("utf-8", "replace") if isinstance(x, bytes) else str(x) for x in data[:]]

    def document(self, name: str) -> str:
        """A text."""
        data = self.data(name, "u", 1)
        if len(data) > _DOCUMENT:
            raise self.fault(f"{name!r} has {len(data)} bytes")
        return bytes(np.asarray(data[:], dtype=np.uint8)).decode("utf-8", "replace")

    def fault(self, what: str) -> ModelFileError:
        """Error for a fault of the file."""
        return ModelFileError(f"the {self._what} {self._path!r} cannot be read: {what}.")


_DIMS = {"q": 2, "v": 2, "vdot": 2, "work": 2, "forces": 3}


def _segment(at: Group) -> Run:
    count, happened, ended = _counted(at)
    rows = {name: at.array(name, _DIMS.get(name, 1), count) for name in ROWS}
    names = _names(at)
    if rows["forces"].shape[1] != len(names) or rows["work"].shape[1] != len(names):
        raise at.fault(f"it has {len(names)} names of forces, and {rows['forces'].shape[1]} forces")
    if len({len(x) for x in rows.values()}) > 1:
        raise at.fault("its columns have different lengths")
    texts = [x.decode("utf-8", "replace") for x in at.data("event_name", "S", 1)[:happened]]
    columns_of_events = [at.array(f"event_{x}", _DIMS.get(x, 1), happened) for x in ("t", "q", "v")]
    events = [
        Happened(float(t), name, np.array(q), np.array(v))
        for t, name, q, v in zip(columns_of_events[0], texts, *columns_of_events[1:], strict=True)
    ]
    signals = None
    if "signals" in at:
        columns = _columns(at)
        table = at.array("signals", 2, count)
        if table.shape[1] != Signals.width(columns) or len(table) != len(rows["t"]):
            raise at.fault(f"its signals have {table.shape} numbers, and {Signals.width(columns)} are named")
        signals = Signals(columns, table)
    by, stopped = str(at.attributes.get("integrator", "")), bytes(at.data("stopped_by", "S", 1)[0])
    work = {name: rows["work"][:, i] for i, name in enumerate(names)}
    forces = {name: rows["forces"][:, i] for i, name in enumerate(names)}
    run = Run(rows, work, forces, events, by, stopped.decode("utf-8", "replace"), labels=_labels(at), signals=signals)
    run._cut = not ended
    run._documents = {name: at.document(name) for name in ("model", "system") if name in at}
    return run


def _counted(at: Group) -> tuple[int, int, bool]:
    """Whole rows, events, and whether it ended. Of a log of before they were counted: what all columns have."""
    lengths = [len(at.data(name, "f", _DIMS.get(name, 1))) for name in ROWS]
    lengths += [len(at.data("signals", "f", 2))] if "signals" in at else []
    happened = min(len(at.data(f"event_{x}", "fS", _DIMS.get(x, 1))) for x in ("t", "q", "v", "name"))
    if "count" not in at:
        return min(lengths), happened, True
    counted = at.data("count", "i", 1)
    if len(counted) != 3:
        raise at.fault(f"'count' is of shape {counted.shape}")
    rows, events, ended = (int(x) for x in counted[:])
    return max(0, min(rows, *lengths)), max(0, min(events, happened)), bool(ended)


def _names(at: Group) -> list[str]:
    """Names of the forces; in older logs they are an attribute."""
    if "force_names" in at:
        return at.texts("force_names")
    return [x if isinstance(x, str) else x.decode("utf-8", "replace") for x in at.attributes.get("forces", ())]


def _columns(at: Group) -> Columns:
    try:
        columns = columns_read(at.texts("signal_columns"))
        if not all(n >= 0 for x in columns.values() for n in x[0]):
            raise ValueError("a shape is negative")
        return columns
    except (ValueError, TypeError, RecursionError, json.JSONDecodeError) as wrong:
        raise at.fault(f"its signals are not named: {wrong}") from None


def _labels(at: Group) -> Labels | None:
    """The names and units of coordinates and dofs; None of a log of before they were kept."""
    if f"label_{Labels._fields[0]}" not in at:
        return None
    return Labels(*(tuple(at.texts(f"label_{name}")) for name in Labels._fields))

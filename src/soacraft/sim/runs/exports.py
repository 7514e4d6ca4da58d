"""Runs for other programs: MATLAB files, MCAP bags with messages in JSON, tables of CSV and pandas."""

from __future__ import annotations

import csv
import json
import os
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from soacraft.arguments import read_path
from soacraft.errors import ModelFileError, StateError
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.sim.runs.run import Run

#: Letters of a name, and bytes of a variable, that MATLAB's files take.
_LETTERS, _MOST = 63, 2**31 - 1
_COLUMNS = ("t", "q", "v", "vdot", "energy", "kinetic", "potential", "violation")


def write_mat(run: Run, path: str | PathLike[str]) -> Path:
    """A MATLAB file: see `Run.to_mat`."""
    from scipy.io import savemat

    table = _mat(run)
    if len(run.segments) > 1:
        table["segments"] = np.array([_mat(x) for x in run.segments], dtype=object)

    def write(aside: Path) -> None:
        with open(aside, "wb") as stream:
            savemat(stream, table, long_field_names=True, oned_as="column")  # type: ignore[arg-type]

    return _whole(path, "to_mat", write)


def _mat(run: Run) -> dict[str, Any]:
    table: dict[str, Any] = {name: getattr(run, name) for name in _COLUMNS}
    names: list[tuple[str, str]] = []
    for group, values in (("work", run.work), ("forces", run.forces), ("signals", dict(run.signals))):
        table[group] = _fields(group, values, names)
    for name in [*_COLUMNS, *(f"{group}.{x}" for group in ("forces", "signals") for x in table[group])]:
        value = table[name] if name in table else table[name.split(".")[0]][name.split(".")[1]]
        if value.nbytes > _MOST:
            raise StateError(f"{name!r} has {value.nbytes / 1e9:.3g} GB, and MATLAB files of version 5 take 2 GB each.")
    table["names"] = _cells(names)
    units = [(name, x.unit, x.frame) for name, x in run.signals.columns.items()]
    table["units"] = _cells(units)
    if run.labels is not None:
        table["labels"] = {name: _cells([(x,) for x in texts]) for name, texts in run.labels._asdict().items()}
    table["events"] = {"t": np.array([x.t for x in run.events]), "name": _cells([(x.name,) for x in run.events])}
    table["integrator"], table["stopped_by"] = run.integrator, run.stopped_by
    return table


def _fields(group: str, values: Mapping[str, Array], names: list[tuple[str, str]]) -> dict[str, Array]:
    """Arrays by names that MATLAB takes; `names` gets both."""
    fields: dict[str, Array] = {}
    for name, value in values.items():
        field = re.sub(r"\W", "_", name, flags=re.ASCII)
        field = (field if field[:1].isalpha() else f"x{field}")[:_LETTERS]
        number = 1
        while field in fields:
            number += 1
            field = f"{field[: _LETTERS - 6]}_{number}"
        fields[field] = np.asarray(value)
        names.append((f"{group}.{field}", name))
    return fields


def _cells(rows: Iterable[tuple[str, ...]]) -> Any:
    """A cell array of texts."""
    rows = list(rows)
    cells = np.empty((len(rows), len(rows[0]) if rows else 0), dtype=object)
    for i, row in enumerate(rows):
        for j, text in enumerate(row):
            cells[i, j] = text
    return cells


def write_mcap(run: Run, path: str | PathLike[str]) -> Path:
    """An MCAP file: see `Run.to_mcap`."""
    try:
        from mcap.writer import Writer
    except ImportError:
        raise StateError("MCAP files need the package mcap: pip install 'soacraft[bag]'.") from None
    if len(run.t) and min(x.t[0] for x in run.segments if len(x)) < 0.0:
        raise StateError(f"times of an MCAP file are not negative, and the run begins at t = {run.t[0]:.9g} s.")

    def write(aside: Path) -> None:
        with open(aside, "wb") as stream:
            writer = Writer(stream)
            writer.start(profile="", library="soacraft")
            for number, x in enumerate(run.segments):
                _messages(writer, x, "" if len(run.segments) == 1 else f"/segment_{number}")
            for name, text in run.documents.items():
                writer.add_metadata(name, {"text": text})
            writer.finish()  # type: ignore[no-untyped-call]

    return _whole(path, "to_mcap", write)


def _messages(writer: Any, run: Run, prefix: str) -> None:
    times = [max(0, round(float(t) * 1e9)) for t in run.t]
    for topic, columns in _topics(run).items():
        schema = {
            "type": "object",
            "title": topic,
            "properties": {name: _schema(x, unit) for name, (x, unit) in columns.items()},
        }
        channel = _channel(writer, f"{prefix}/{topic}", schema)
        listed = [x.tolist() for x, _ in columns.values()]
        for ns, *row in zip(times, *listed, strict=True):
            _message(writer, channel, ns, dict(zip(columns, row, strict=True)))
    schema = {"type": "object", "title": "event", "properties": {"name": {"type": "string"}}}
    channel = _channel(writer, f"{prefix}/events", schema)
    for x in run.events:
        _message(writer, channel, max(0, round(x.t * 1e9)), {"name": x.name})


def _topics(run: Run) -> dict[str, dict[str, tuple[Array, str]]]:
    """Columns and their units, by topic: coordinates, energies, and each component."""
    labels = run.labels
    q, v = ([f"{x}{i}" for i in range(n)] for x, n in (("q", run.q.shape[1]), ("v", run.v.shape[1])))
    units = [""] * len(q), [""] * len(v)
    if labels is not None:
        q, v, units = list(labels.q), list(labels.v), (list(labels.q_units), list(labels.v_units))
    rates = [f"{x}/s" if x else "" for x in units[1]]
    topics = {
        "coordinates": {name: (run.q[:, i], units[0][i]) for i, name in enumerate(q)},
        "velocities": {name: (run.v[:, i], rates[i]) for i, name in enumerate(v)},
        "accelerations": {name: (run.vdot[:, i], f"{rates[i]}^2" if rates[i] else "") for i, name in enumerate(v)},
        "energy": {name: (getattr(run, name), "J") for name in ("energy", "kinetic", "potential")},
        "violation": {"violation": (run.violation, "")},
        "work": {name: (x, "J") for name, x in run.work.items()},
        "forces": {name: (x, "") for name, x in run.forces.items()},
    }
    for name, column in run.signals.columns.items():
        path, _, port = name.rpartition(".")
        topics.setdefault(f"signals/{path}", {})[port] = run.signals[name], column.unit
    return {topic: columns for topic, columns in topics.items() if columns}


def _schema(values: Array, unit: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "number"}
    for _ in values.shape[1:]:
        schema = {"type": "array", "items": schema}
    return {**schema, "description": unit} if unit else schema


def _channel(writer: Any, topic: str, schema: dict[str, Any]) -> int:
    number = writer.register_schema(name=schema["title"], encoding="jsonschema", data=json.dumps(schema).encode())
    return int(writer.register_channel(topic=topic, message_encoding="json", schema_id=number))


def _message(writer: Any, channel: int, ns: int, content: dict[str, Any]) -> None:
    writer.add_message(channel_id=channel, log_time=ns, publish_time=ns, data=json.dumps(content).encode())


class Column(NamedTuple):
    """A column of a table: its name, its unit, and a number for every row."""

    name: str
    unit: str
    values: Array

    @property
    def heading(self) -> str:
        """The name, and the unit in parentheses where there is one."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


def table(run: Run) -> list[Column]:
    """The columns of a run: t, q[name], v[name], vdot[name], energies, violation, work[force], forces[force][name], and
    signals by their names, each number of a vector as one."""
    labels = run.labels
    q, v = ([str(i) for i in range(n)] for n in (run.q.shape[1], run.v.shape[1]))
    q_units, v_units = [""] * len(q), [""] * len(v)
    if labels is not None:
        q, v, q_units, v_units = list(labels.q), list(labels.v), list(labels.q_units), list(labels.v_units)
    rates = [f"{x}/s" if x else "" for x in v_units]
    accelerations = [f"{x}^2" if x else "" for x in rates]
    pushes = [{"rad": "N m", "m": "N"}.get(x, "") for x in v_units]
    columns = [Column("t", "s", run.t)]
    columns += [Column(f"q[{name}]", q_units[i], run.q[:, i]) for i, name in enumerate(q)]
    columns += [Column(f"v[{name}]", rates[i], run.v[:, i]) for i, name in enumerate(v)]
    columns += [Column(f"vdot[{name}]", accelerations[i], run.vdot[:, i]) for i, name in enumerate(v)]
    columns += [Column(name, "J", getattr(run, name)) for name in ("energy", "kinetic", "potential")]
    columns.append(Column("violation", "", run.violation))
    columns += [Column(f"work[{name}]", "J", x) for name, x in run.work.items()]
    for force, x in run.forces.items():
        columns += [Column(f"forces[{force}][{name}]", pushes[i], x[:, i]) for i, name in enumerate(v)]
    for name, signal in run.signals.columns.items():
        values = run.signals[name].reshape(len(run), -1)
        places = [""] if not signal.shape else [f"[{','.join(map(str, i))}]" for i in np.ndindex(*signal.shape)]
        columns += [Column(name + place, signal.unit, values[:, i]) for i, place in enumerate(places)]
    return columns


def write_csv(run: Run, path: str | PathLike[str]) -> Path:
    """A table as text: see `Run.to_csv`."""
    columns = table(run)

    def write(aside: Path) -> None:
        with open(aside, "w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow([x.heading for x in columns])
            writer.writerows(zip(*(x.values.tolist() for x in columns), strict=True))

    return _whole(path, "to_csv", write)


def data_frame(run: Run) -> Any:
    """A table of pandas: see `Run.to_pandas`."""
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise StateError(
            "tables need the package pandas: pip install pandas. Without it write run.to_csv(path)."
        ) from None
    time, *columns = table(run)
    index = pandas.Index(time.values, name=time.heading)
    return pandas.DataFrame({x.heading: x.values for x in columns}, index=index)


def _whole(path: str | PathLike[str], what: str, write: Callable[[Path], None]) -> Path:
    """A file that is written aside and renamed."""
    path = read_path(path, what, StateError)
    aside = path.parent / f".soacraft-{secrets.token_hex(8)}.tmp"
    try:
        write(aside)
        os.replace(aside, path)
    except OSError as problem:
        raise ModelFileError(f"{str(path)!r} cannot be written: {problem}.") from None
    finally:
        aside.unlink(missing_ok=True)
    return path

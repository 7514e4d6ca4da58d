"""Signals of a run: the columns of what components gave, with names and units."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import StateError, near
from soacraft.spatial.checks import Array


class Column(NamedTuple):
    """Column of a signal: its shape, its unit, and the axes it is expressed in; empty where there are none."""

    shape: tuple[int, ...]
    unit: str = ""
    frame: str = ""


Columns = Mapping[str, Column]


class Signals(Mapping[str, Array]):
    """The signals of a run, {name: array (rows, ...)}: `run.signals["motor.current"]`; `units` has their units,
    `frames` the axes of those that are expressed in some.

    >>> x = Signals({"a.y": Column((), "V"), "b.f": Column((2,), "N", "inertial")}, np.arange(6.0).reshape(2, 3))
    >>> x["b.f"], x.units["a.y"]
    (array([[1., 2.],
           [4., 5.]]), 'V')
    """

    def __init__(self, columns: Columns | None = None, rows: Array | None = None) -> None:
        self._columns = {} if columns is None else dict(columns)
        self._rows = np.zeros((0, 0)) if rows is None else rows
        ends = np.cumsum([0, *(int(np.prod(x.shape)) for x in self._columns.values())]).tolist()
        self._at = dict(zip(self._columns, pairwise(ends), strict=True))

    @staticmethod
    def width(columns: Columns) -> int:
        """Count of the numbers of a row."""
        return sum(int(np.prod(x.shape, dtype=object)) for x in columns.values())

    @property
    def rows(self) -> Array:
        """All of them side by side, (rows, width)."""
        return self._rows

    @property
    def columns(self) -> Columns:
        """Shape, unit and frame of each."""
        return dict(self._columns)

    @property
    def units(self) -> dict[str, str]:
        """Units {name: unit}; empty where there is none."""
        return {name: x.unit for name, x in self._columns.items()}

    @property
    def frames(self) -> dict[str, str]:
        """Axes {name: frame} of signals that have some: "inertial", or a node."""
        return {name: x.frame for name, x in self._columns.items() if x.frame}

    def __getitem__(self, name: str) -> Array:
        if name not in self._columns:
            raise StateError(f"the run has no signal {name!r:.60}{near(str(name), self._columns)}")
        first, end = self._at[name]
        return self._rows[:, first:end].reshape(len(self._rows), *self._columns[name].shape)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"<{len(self)} signals: {', '.join([*self][:6])}{', ...' if len(self) > 6 else ''}>"


#: Signals of a run without components.
NO_SIGNALS = Signals()


def packed(columns: Columns, samples: Sequence[tuple[Sequence[Any], Sequence[Any]]]) -> Array:
    """Rows of signals side by side, (rows, width), from samples: of each the numbers, and the arrays."""
    widths = [int(np.prod(x.shape)) for x in columns.values()]
    starts = np.cumsum([0, *widths])
    rows = np.empty((len(samples), starts[-1]))
    shaped = np.array([bool(x.shape) for x in columns.values()], dtype=bool)
    numbers = chain.from_iterable(x for x, _ in samples)
    rows[:, starts[:-1][~shaped]] = np.fromiter(numbers, np.float64).reshape(len(samples), -1)
    arrays = zip(*(x for _, x in samples), strict=True)
    for i, values in zip(np.flatnonzero(shaped), arrays, strict=False):  # no arrays without rows
        rows[:, starts[i] : starts[i + 1]] = np.reshape(values, (len(samples), widths[i]))
    return rows


def written(columns: Columns) -> list[str]:
    """Columns as texts, for a file."""
    return [json.dumps([name, list(x.shape), x.unit, x.frame]) for name, x in columns.items()]


def columns_read(texts: Sequence[str]) -> Columns:
    """Columns from texts."""
    read = [json.loads(text) for text in texts]
    return {str(name): Column(tuple(int(n) for n in shape), *map(str, more)) for name, shape, *more in read}

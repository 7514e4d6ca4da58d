"""Signals of a run: the columns of what components gave, by name, with their units."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from soacraft.errors import StateError, near
from soacraft.spatial.checks import Array

Columns = Mapping[str, tuple[tuple[int, ...], str]]


class Signals(Mapping[str, Array]):
    """The signals of a run by name, (rows, ...): `run.signals["motor.current"]`; `units` has their units.

    >>> x = Signals({"a.y": ((), "V"), "b.f": ((2,), "N")}, np.arange(6.0).reshape(2, 3))
    >>> x["b.f"], x.units["a.y"]
    (array([[1., 2.],
           [4., 5.]]), 'V')
    """

    def __init__(self, columns: Columns | None = None, rows: Array | None = None) -> None:
        self._columns = {} if columns is None else dict(columns)
        self._rows = np.zeros((0, 0)) if rows is None else rows
        ends = np.cumsum([0, *(int(np.prod(shape)) for shape, _ in self._columns.values())]).tolist()
        self._at = dict(zip(self._columns, pairwise(ends), strict=True))

    @staticmethod
    def width(columns: Columns) -> int:
        """How many numbers a row has."""
        return sum(int(np.prod(shape)) for shape, _ in columns.values())

    @property
    def units(self) -> dict[str, str]:
        """By name; empty where there is none."""
        return {name: unit for name, (_, unit) in self._columns.items()}

    def __getitem__(self, name: str) -> Array:
        if name not in self._columns:
            raise StateError(f"the run has no signal {name!r:.60}{near(str(name), self._columns)}")
        first, end = self._at[name]
        return self._rows[:, first:end].reshape(len(self._rows), *self._columns[name][0])

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"<{len(self)} signals: {', '.join([*self][:6])}{', ...' if len(self) > 6 else ''}>"


def written(columns: Columns) -> list[str]:
    """Columns as texts, for a file."""
    return [json.dumps([name, list(shape), unit]) for name, (shape, unit) in columns.items()]


def columns_read(texts: Sequence[str]) -> Columns:
    """Columns from texts."""
    read = [json.loads(text) for text in texts]
    return {name: (tuple(int(n) for n in shape), unit) for name, shape, unit in read}

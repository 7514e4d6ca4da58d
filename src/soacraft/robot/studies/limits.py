"""Limits of a parameter within which every margin holds: a scan, then bisection, with the name of the margin that
binds.

A margin is a function of the parameter x that holds where it is not negative. Nothing is taken to be monotone: the
result has all intervals of x in which every margin holds, as far as the scan can see them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from soacraft.arguments import whole_number
from soacraft.errors import StateError
from soacraft.progress import Bar
from soacraft.robot.studies.study import Column, Study
from soacraft.robot.studies.table import Table
from soacraft.spatial.checks import Array, finite

#: Ends of intervals are found to this part of the range.
WITHIN = 1e-10
#: An upper end that is not given is looked for by doubling, so often.
DOUBLINGS = 24
#: Values that are looked at, at most.
MOST = 1_000_000

#: Margins at x: a value for each name, and the name of the part that makes it so small.
Judge = Callable[[float], Mapping[str, "tuple[float, str]"]]


@dataclass(frozen=True, eq=False, repr=False)
class Limit(Study, kind="limit"):
    """Intervals of a parameter; `most` is the end of the first one, from the lower end without a break."""

    parameter: str
    unit: str
    x: Annotated[Array, Column.of("", "samples")]
    """The values that were looked at, in order."""
    names: Annotated[tuple[str, ...], Column.of("", "margins")]
    margins: Annotated[Array, Column.of("", "samples", "margins")]
    """Margins, not negative where they hold; NaN where one could not be computed, since another one failed."""
    intervals: Annotated[Array, Column.of("", "intervals", 2)]
    """Intervals in which all margins hold."""
    ends: Annotated[tuple[str, ...], Column.of("", "intervals")]
    """Margin that ends each interval above; empty at the end of the range."""
    most: float
    """The end of the interval that begins at the lower end; NaN where that does not hold."""
    binding: str
    """The margin that ends it, or forbids the lower end; empty where nothing does."""
    why: str
    """Dof, edge or pair that binds."""

    def table(self) -> Table:
        """The intervals, and each margin at the lower end and at the largest value."""
        rows: list[tuple[Any, ...]] = [
            (f"holds from {a:.6g} to {b:.6g}", end or "end of the range")
            for (a, b), end in zip(self.intervals, self.ends, strict=True)
        ]
        rows += [(f"margin of {n} at {self.x[0]:.6g}", float(self.margins[0, i])) for i, n in enumerate(self.names)]
        return Table((f"{self.parameter} [{self.unit}]" if self.unit else self.parameter, ""), rows)

    def __repr__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        why = f": {self.why}" if self.why else ""
        if np.isnan(self.most):
            return f"Limit of {self.parameter}: not even {self.x[0]:.4g}{unit}, by {self.binding}{why}"
        by = f", by {self.binding}{why}" if self.binding else ", the end of the range"
        more = f"; holds again in {len(self.intervals) - 1} more" if len(self.intervals) > 1 else ""
        return f"Limit of {self.parameter}: {self.most:.6g}{unit}{by}{more}"


def limit(
    parameter: str,
    margins: Mapping[str, Callable[[float], Any]] | Judge,
    low: float,
    high: float | None = None,
    *,
    unit: str = "",
    samples: int = 33,
    progress: bool = True,
) -> Limit:
    """Limit of `parameter` between `low` and `high` up to which all margins hold, and the margin that binds.

    `margins` are functions of the parameter by name, each a number that is not negative where it holds, or (number,
    name of the part that binds). `samples` values are computed, and each change between two of them is found by
    bisection; two changes between two samples are not seen. Without `high` it is doubled until something fails.
    O(samples + 40 changes) calls of each margin.

    >>> import soacraft as sc
    >>> sc.robot.study.limit("slope", {"sliding": lambda x: 0.5 - np.tan(x)}, 0.0, 1.5, unit="rad")
    Limit of slope: 0.463648 rad, by sliding
    """
    judge = _judge(margins)
    start = float(finite(low, (), f"the least {parameter}", StateError))
    end = _bracket(judge, start) if high is None else float(finite(high, (), f"the largest {parameter}", StateError))
    if not end > start:
        raise StateError(f"{parameter} goes from {start:g} up to {end:g}: give the lower end first.")
    x = np.linspace(start, end, whole_number(samples, "samples", 2, MOST))
    margins_at: list[Mapping[str, tuple[float, str]]] = []
    with Bar(f"limit of {parameter}", 0, len(x), progress) as bar:
        for i, each in enumerate(x):
            margins_at.append(judge(float(each)))
            bar.at(i + 1)
    names = tuple(dict.fromkeys(n for row in margins_at for n in row))
    values = np.array([[row[n][0] if n in row else np.nan for n in names] for row in margins_at]).reshape(len(x), -1)
    holds = [_holds(row) for row in margins_at]
    intervals, ends = _intervals(judge, x, holds, margins_at)
    most, binding, why = np.nan, "", ""
    if holds[0]:
        most = float(intervals[0][1])
        if ends[0] is not None:
            binding, why = ends[0]
    else:
        binding, why = _worst(margins_at[0])
    return Limit(
        parameter, unit, x, names, values, np.array(intervals).reshape(-1, 2),
        tuple("" if e is None else " ".join(filter(None, e)) for e in ends), most, binding, why,
    )  # fmt: skip


def _judge(margins: Any) -> Judge:
    if callable(margins):
        return margins  # type: ignore[no-any-return]
    if not isinstance(margins, Mapping) or not margins or not all(callable(f) for f in margins.values()):
        raise StateError(f"margins are functions of the parameter by name, got {margins!r:.60}.")

    def judged(x: float) -> dict[str, tuple[float, str]]:
        read = {}
        for name, f in margins.items():
            got = f(x)
            value, word = got if isinstance(got, tuple) else (got, "")
            value = float(value)
            if np.isnan(value):
                raise StateError(f"margin {name!r} is not a number at {x:.6g}.")
            read[str(name)] = value, str(word)
        return read

    return judged


def _holds(row: Mapping[str, tuple[float, str]]) -> bool:
    return all(value >= 0.0 for value, _ in row.values())


def _worst(row: Mapping[str, tuple[float, str]]) -> tuple[str, str]:
    """Margin that does not hold; of several the first in order, since later ones may follow from it."""
    for name, (value, word) in row.items():
        if not value >= 0.0:
            return name, word
    return "", ""


def _bracket(judge: Judge, start: float) -> float:
    step = abs(start) or 1.0
    for _ in range(DOUBLINGS):
        if not _holds(judge(start + step)):
            return start + step
        step *= 2.0
    return start + step


def _intervals(
    judge: Judge, x: Array, holds: list[bool], margins: list[Mapping[str, tuple[float, str]]]
) -> tuple[list[tuple[float, float]], list[tuple[str, str] | None]]:
    intervals: list[tuple[float, float]] = []
    ends: list[tuple[str, str] | None] = []
    begin = float(x[0]) if holds[0] else None
    for i in range(1, len(x)):
        if holds[i] == holds[i - 1]:
            continue
        inside, row = _crossing(judge, x[i - 1 : i + 1], holds[i - 1], margins[i] if holds[i - 1] else margins[i - 1])
        if holds[i - 1]:
            assert begin is not None
            intervals.append((begin, inside))
            ends.append(_worst(row))
            begin = None
        else:
            begin = inside
    if begin is not None:
        intervals.append((begin, float(x[-1])))
        ends.append(None)
    return intervals, ends


def _crossing(
    judge: Judge, ends: Array, first: bool, failed: Mapping[str, tuple[float, str]]
) -> tuple[float, Mapping[str, tuple[float, str]]]:
    """The last value that holds, and the margins at the first that does not."""
    inside, outside = (float(ends[0]), float(ends[1])) if first else (float(ends[1]), float(ends[0]))
    size = max(abs(inside), abs(outside))
    while abs(outside - inside) > WITHIN * size:
        middle = 0.5 * (inside + outside)
        row = judge(middle)
        if _holds(row):
            inside = middle
        else:
            outside, failed = middle, row
    return inside, failed

"""Distributions: each turns uniform numbers into values, by the inverse of its distribution function.

They are frozen structs, so that a campaign's file holds them as they are.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from math import isfinite
from os import PathLike
from typing import Any

import msgspec
import numpy as np

from soacraft.arguments import read_path
from soacraft.errors import CampaignError, near
from soacraft.spatial.checks import Array

#: Largest size of a file of values, in bytes.
_LARGEST_FILE = 64 * 2**20
#: A covariance may have eigenvalues below zero by this part of the largest: rounding.
_ROUNDING = 1e-12


class Distribution(msgspec.Struct, frozen=True, tag=True):
    """Distribution of a value, or of several. `width` uniform numbers become `size` values."""

    @property
    def width(self) -> int:
        """Count of the uniform numbers that it takes."""
        return self.size

    @property
    def size(self) -> int:
        """Count of the values that it gives."""
        return 1

    @property
    def length(self) -> int:
        """Count of the values that it goes through in order of the runs; 0 if it is drawn."""
        return 0

    def values(self, u: Array) -> Array:
        """Values (n, size) of uniform numbers (n, width)."""
        raise AssertionError("every kind overrides it")

    def _require(self, good: bool, why: str) -> None:
        if not good:
            raise CampaignError(f"{self!r:.120}: {why}.")


def _ndtri(u: Array) -> Array:
    from scipy.special import ndtri

    return np.asarray(ndtri(u))


class Normal(Distribution, frozen=True):
    """A normal distribution, by mean and standard deviation.

    >>> Normal(1.0, 0.03).values(np.array([[0.5], [0.8413447460685429]])).round(9).tolist()
    [[1.0], [1.03]]
    """

    mean: float
    deviation: float

    def __post_init__(self) -> None:
        self._require(_numbers(self.mean, self.deviation) and self.deviation >= 0.0, "a deviation is not negative")

    def values(self, u: Array) -> Array:
        """mean + deviation z."""
        return self.mean + self.deviation * _ndtri(u)


class LogNormal(Distribution, frozen=True):
    """exp of a normal number: its median, and the standard deviation of its logarithm.

    >>> LogNormal(2.0, 0.1).values(np.array([[0.5]])).tolist()
    [[2.0]]
    """

    median: float
    deviation: float

    def __post_init__(self) -> None:
        good = _numbers(self.median, self.deviation) and self.median > 0.0 and self.deviation >= 0.0
        self._require(good, "the median is positive, and the deviation of the logarithm not negative")

    def values(self, u: Array) -> Array:
        """median exp(deviation z)."""
        return self.median * np.exp(self.deviation * _ndtri(u))


class Uniform(Distribution, frozen=True):
    """Every value from lower to upper alike.

    >>> Uniform(-1.0, 3.0).values(np.array([[0.25]])).tolist()
    [[0.0]]
    """

    lower: float
    upper: float

    def __post_init__(self) -> None:
        self._require(_numbers(self.lower, self.upper) and self.lower < self.upper, "lower is less than upper")

    def values(self, u: Array) -> Array:
        """lower + (upper - lower) u, and never beyond."""
        return np.clip(self.lower * (1.0 - u) + self.upper * u, self.lower, self.upper)


class Truncated(Distribution, frozen=True):
    """A normal or log-normal distribution within limits; the rest has no weight.

    >>> Truncated(Normal(0.0, 1.0), -1.0, 1.0).values(np.array([[0.5], [1.0]])).round(9).tolist()
    [[0.0], [1.0]]
    """

    of: Normal | LogNormal
    lower: float
    upper: float

    def __post_init__(self) -> None:
        self._require(isinstance(self.of, Normal | LogNormal), "truncated is a Normal or a LogNormal")
        self._require(self.of.deviation > 0.0, "a distribution without a deviation has nothing to cut off")
        good = all(isinstance(x, int | float) and x == x for x in (self.lower, self.upper)) and self.lower < self.upper
        self._require(good, "lower is less than upper")
        if isinstance(self.of, LogNormal):
            self._require(self.upper > 0.0, "a LogNormal has no values below zero")
        a, b = self._ends()
        self._require(max(abs(_tail(min(abs(a), abs(b)))), 0.0) > 0.0 or a < 0.0 < b, "no weight is within the limits")

    def _ends(self) -> tuple[float, float]:
        """The limits as normal numbers."""
        if isinstance(self.of, Normal):
            return (self.lower - self.of.mean) / self.of.deviation, (self.upper - self.of.mean) / self.of.deviation
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum([self.lower, self.upper], 0.0) / self.of.median) / self.of.deviation
        return float(logs[0]), float(logs[1])

    def values(self, u: Array) -> Array:
        """Values by the distribution function between the limits, from the side where it is small, so that tails keep
        their digits."""
        from scipy.special import ndtr

        a, b = self._ends()
        if a > 0.0:  # the upper tail, mirrored
            z = -_ndtri(ndtr(-a) * (1.0 - u) + ndtr(-b) * u)
        else:
            z = _ndtri(ndtr(a) * (1.0 - u) + ndtr(b) * u)
        values = self.of.mean + self.of.deviation * z if isinstance(self.of, Normal) else (
            self.of.median * np.exp(self.of.deviation * z)
        )  # fmt: skip
        return np.clip(values, self.lower, self.upper)


def _tail(z: float) -> float:
    from scipy.special import ndtr

    return float(ndtr(-z))


class Choice(Distribution, frozen=True):
    """One of some values, all alike or by weights.

    >>> Choice((1.0, 2.0, 5.0), (1.0, 1.0, 2.0)).values(np.array([[0.1], [0.49], [0.51]])).ravel().tolist()
    [1.0, 2.0, 5.0]
    """

    among: tuple[float, ...]
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        _tuples(self, "among", "weights")
        self._require(len(self.among) > 0 and _numbers(*self.among), "it has finite values")
        good = not self.weights or len(self.weights) == len(self.among)
        good = good and _numbers(*self.weights) and all(x >= 0.0 for x in self.weights)
        self._require(good and (not self.weights or sum(self.weights) > 0.0), "a weight for each value, none negative")

    def values(self, u: Array) -> Array:
        """The first value whose cumulative weight is above u."""
        weights = np.array(self.weights or (1.0,) * len(self.among))
        ends = np.cumsum(weights) / weights.sum()
        at = np.minimum(np.searchsorted(ends, u, side="right"), int(np.flatnonzero(weights)[-1]))
        return np.array(self.among, dtype=float)[at]


class MultiNormal(Distribution, frozen=True):
    """Normal numbers that vary together, by means and covariance.

        x = mean + L z,    L L* = covariance

    >>> MultiNormal((1.0, 2.0), ((1.0, 1.0), (1.0, 1.0))).values(np.array([[0.5, 0.5]])).tolist()
    [[1.0, 2.0]]
    """

    mean: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        _tuples(self, "mean", "covariance")
        n = len(self.mean)
        good = n > 0 and len(self.covariance) == n and all(len(x) == n for x in self.covariance)
        self._require(good and _numbers(*self.mean, *(y for x in self.covariance for y in x)),
                      "the covariance has a row and a column for each mean, of finite numbers")  # fmt: skip
        C = np.array(self.covariance)
        self._require(bool((abs(C - C.T) <= _ROUNDING * abs(C).max()).all()), "the covariance is symmetric")
        self._require(bool((np.diag(C) >= 0.0).all()), "variances are not negative")
        scale = np.sqrt(np.diag(C))
        R = C / np.outer(scale, scale).clip(np.finfo(float).tiny)  # judged without units
        self._require(float(np.linalg.eigvalsh(R)[0]) >= -_ROUNDING * n, "the covariance is positive semi-definite")

    @property
    def size(self) -> int:
        """Count of the means."""
        return len(self.mean)

    def values(self, u: Array) -> Array:
        """mean + L z."""
        return np.asarray(np.array(self.mean) + _ndtri(u) @ _factor(np.array(self.covariance)).T)


def _factor(C: Array) -> Array:
    """L with L L* = C, lower triangular; columns of what follows from the others are zero."""
    n = len(C)
    L = np.zeros((n, n))
    for j in range(n):
        column = C[j:, j] - L[j:, :j] @ L[j, :j]
        if column[0] > _ROUNDING * n * C[j, j]:
            L[j:, j] = column / np.sqrt(column[0])
    return L


class Grid(Distribution, frozen=True):
    """All of some values, in order of the runs; several grids are combined, the first one changing fastest.

    >>> Grid((1.0, 2.0)).values(np.array([[0.25], [0.75]])).ravel().tolist()
    [1.0, 2.0]
    """

    among: tuple[float, ...]

    def __post_init__(self) -> None:
        _tuples(self, "among")
        self._require(len(self.among) > 0 and _numbers(*self.among), "it has finite values")

    @property
    def length(self) -> int:
        """Count of the values."""
        return len(self.among)

    def values(self, u: Array) -> Array:
        """Value k of n where u is from k/n to (k + 1)/n."""
        return np.asarray(np.array(self.among, dtype=float)[_place(u, len(self.among))])


class FromFile(Distribution, frozen=True):
    """Rows of a file of comma-separated values with a line of names: drawn, or with order="rows" row i for run i.

    `columns` are names; without them all. The values are kept in the campaign's folder, the file is not read again.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "winds.csv"
    >>> _ = path.write_text("x,y\\n1.0,2.0\\n3.0,4.0\\n")
    >>> FromFile(path, ("y",)).values(np.array([[0.2], [0.7]])).ravel().tolist()
    [2.0, 4.0]
    """

    path: Any
    columns: tuple[str, ...] = ()
    order: str = "drawn"
    rows: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        columns_asked = (self.columns,) if isinstance(self.columns, str) else tuple(self.columns)
        msgspec.structs.force_setattr(self, "columns", columns_asked)
        if self.order not in ("drawn", "rows"):
            raise CampaignError(f"the order of FromFile is 'drawn' or 'rows', got {self.order!r:.40}.")
        if not self.rows:
            columns, rows = read_columns(self.path, columns_asked)
            msgspec.structs.force_setattr(self, "columns", columns)
            msgspec.structs.force_setattr(self, "rows", rows)
        msgspec.structs.force_setattr(self, "path", str(self.path))
        _tuples(self, "rows")
        good = all(len(x) == len(self.columns) and _numbers(*x) for x in self.rows)
        if not good:
            raise CampaignError(f"{str(self.path)!r:.80}: rows have {len(self.columns)} finite numbers each.")

    def __repr__(self) -> str:
        return f"FromFile({self.path!r}, {self.columns!r}, order={self.order!r}): {len(self.rows)} rows"

    @property
    def size(self) -> int:
        """Count of the columns."""
        return len(self.columns)

    @property
    def width(self) -> int:
        """A row is drawn as a whole."""
        return 1

    @property
    def length(self) -> int:
        """Count of the rows, if they are taken in order."""
        return len(self.rows) if self.order == "rows" else 0

    def values(self, u: Array) -> Array:
        """Row k of n where u is from k/n to (k + 1)/n."""
        return np.asarray(np.array(self.rows)[_place(u[:, 0], len(self.rows))])


def read_columns(
    path: str | PathLike[str], wanted: Sequence[str]
) -> tuple[tuple[str, ...], tuple[tuple[float, ...], ...]]:
    """Names and rows of a file of comma-separated values."""
    place = read_path(path, "FromFile", CampaignError)
    try:
        if place.stat().st_size > _LARGEST_FILE:
            raise CampaignError(f"{str(place)!r} has more than {_LARGEST_FILE // 2**20} MB.")
        lines = list(csv.reader(place.read_text(encoding="utf-8").splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error) as wrong:
        raise CampaignError(f"{str(place)!r} cannot be read: {wrong}") from None
    names = [x.strip() for x in lines[0]] if lines else []
    if len(lines) < 2:
        raise CampaignError(f"{str(place)!r} has no rows below a line of names.")
    for name in wanted:
        if name not in names:
            raise CampaignError(f"{str(place)!r} has no column {name!r:.60}{near(str(name), names, 'it has')}")
    at = [names.index(x) for x in wanted or names]
    rows = []
    for number, line in enumerate(lines[1:], 2):
        try:
            rows.append(tuple(float(line[i]) for i in at))
        except (ValueError, IndexError):
            raise CampaignError(f"{str(place)!r}, line {number}: a number for each column, got {line!r:.80}.") from None
    return tuple(names[i] for i in at), tuple(rows)


def _place(u: Array, count: int) -> Any:
    return np.minimum((u * count).astype(np.intp), count - 1)


def _numbers(*given: Any) -> bool:
    return all(isinstance(x, int | float) and not isinstance(x, bool) and isfinite(x) for x in given)


def _tuples(struct: msgspec.Struct, *names: str) -> None:
    """Lists and arrays as tuples of numbers, as they will be read from a file."""
    for name in names:
        values = getattr(struct, name)
        if isinstance(values, np.ndarray):
            values = values.tolist()
        try:
            listed = tuple(
                tuple(map(_plain, x)) if isinstance(x, list | tuple | np.ndarray) else _plain(x) for x in values
            )
        except TypeError:
            raise CampaignError(f"{type(struct).__name__} takes several numbers, got {values!r:.60}.") from None
        msgspec.structs.force_setattr(struct, name, listed)


def _plain(x: Any) -> Any:
    return x.item() if isinstance(x, np.generic) else float(x) if type(x) is int else x


#: Distributions that a campaign's file may hold.
AnyDistribution = Normal | LogNormal | Uniform | Truncated | Choice | MultiNormal | Grid | FromFile

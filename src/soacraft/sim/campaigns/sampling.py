"""Points of the unit cube for every run: random, Sobol', Latin hypercube, Saltelli's; and the places of grids.

Point i depends on the seed, the names and i alone; that of a Latin hypercube on the number of runs as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from soacraft.errors import CampaignError, near
from soacraft.sim.campaigns.distributions import Distribution, Grid
from soacraft.sim.campaigns.draws import bits, uniforms
from soacraft.spatial.checks import Array

#: The ways of sampling, and what each is.
SAMPLINGS = {
    "random": "independent points",
    "sobol": "a scrambled Sobol' sequence; dimensions go in the order of `vary`: add new ones at its end",
    "latin": "a Latin hypercube, which needs the number of runs",
    "saltelli": "Saltelli's design for Sobol' indices: k + 2 runs for each point, with k variations",
}
#: Binary digits of a Sobol' point.
_BITS = 30
Bits = np.ndarray[Any, np.dtype[np.uint64]]


class Sampler:
    """The uniform numbers of each variation, by run."""

    def __init__(self, kind: str, seed: int, named: Sequence[tuple[str, Distribution]], runs: int) -> None:
        if kind not in SAMPLINGS:
            raise CampaignError(f"there is no sampling {kind!r:.40}{near(str(kind), SAMPLINGS)}")
        self.kind, self._seed, self._runs = kind, seed, runs
        self._named = [(name, x) for name, x in named]
        self._grids: dict[str, int] = {}
        stride = 1
        for name, x in self._named:
            if isinstance(x, Grid):
                self._grids[name] = stride
                stride *= x.length
            elif x.length:
                self._grids[name] = 1
                if runs > x.length:
                    raise CampaignError(f"{x!r:.120} has not as many rows as there are runs, which are {runs}.")
        if kind == "saltelli" and self._grids:
            raise CampaignError(
                f"sampling='saltelli' draws every variation; {next(iter(self._grids))!r} goes in order."
            )
        if kind == "saltelli" and runs % self.group:
            raise CampaignError(
                f"sampling='saltelli' of {len(self._named)} variations takes a multiple of {self.group} runs, got "
                f"{runs}: take runs={-(-runs // self.group) * self.group}."
            )
        self.combinations = stride
        """Number of combinations of the grids."""

    @property
    def group(self) -> int:
        """Number of runs that belong to one point: more than one in Saltelli's design."""
        return len(self._named) + 2 if self.kind == "saltelli" else 1

    def points(self, first: int, count: int) -> list[Array]:
        """The uniform numbers of runs first, first + 1, ...: (count, width) for each variation."""
        if self.kind == "saltelli":
            return self._saltelli(first, count)
        drawn = [(name, x) for name, x in self._named if name not in self._grids]
        cube = iter(self._cube(drawn, first, count))
        i = np.arange(first, first + count)
        points = []
        for name, x in self._named:
            if name in self._grids:
                points.append(((i // self._grids[name] % x.length + 0.5) / x.length)[:, None])
            else:
                points.append(next(cube))
        return points

    def _cube(self, drawn: Sequence[tuple[str, Distribution]], first: int, count: int) -> list[Array]:
        if self.kind == "random":
            return [uniforms(self._seed, name, first, count, x.width) for name, x in drawn]
        if self.kind == "latin":
            return [self._latin(name, first, count, x.width) for name, x in drawn]
        return self._split(self._sobol([(name, x.width) for name, x in drawn], first, count), drawn)

    def _split(self, cube: Array, drawn: Sequence[tuple[str, Distribution]]) -> list[Array]:
        ends = np.cumsum([x.width for _, x in drawn])[:-1]
        return list(np.split(cube, ends, axis=1)) if len(drawn) else []

    def _latin(self, name: str, first: int, count: int, width: int) -> Array:
        """(place of run i in a random order + a number in (0, 1)) / runs."""
        within = uniforms(self._seed, name, first, count, width)
        orders = [np.argsort(bits(self._seed, f"{name}:latin:{k}", self._runs), kind="stable") for k in range(width)]
        places = np.stack([x[first : first + count] for x in orders], axis=1) if width else np.zeros((count, 0))
        return np.asarray((places + within) / self._runs)

    def _sobol(self, dimensions: Sequence[tuple[str, int]], first: int, count: int) -> Array:
        """Sobol' points (Joe and Kuo's directions, by scipy), scrambled by a random lower triangular matrix and a shift
        of their binary digits (Matousek 1998), which are those of seed and name."""
        from scipy.stats import qmc

        size = sum(width for _, width in dimensions)
        if not size or not count:
            return np.zeros((count, size))
        if first + count > 2**_BITS:
            raise CampaignError(f"a Sobol' sequence has {2**_BITS} points, and run {first + count - 1} was asked for.")
        sobol = qmc.Sobol(size, scramble=False, bits=_BITS)
        if first:
            sobol.fast_forward(first)
            plain = sobol.random(count)
        else:  # the first one by itself: scipy warns where the first call is for no power of two
            plain = np.concatenate([sobol.random(1), sobol.random(count - 1) if count > 1 else np.zeros((0, size))])
        digits = (plain * 2.0**_BITS).astype(np.uint64)
        names = [(name, k) for name, width in dimensions for k in range(width)]
        for column, (name, k) in enumerate(names):
            digits[:, column] = _scrambled(digits[:, column], bits(self._seed, f"{name}:sobol:{k}", _BITS + 1))
        return np.asarray((digits.astype(float) + 0.5) * 2.0**-_BITS)

    def _saltelli(self, first: int, count: int) -> list[Array]:
        """Points A and B of a Sobol' sequence of twice the dimensions; run 0 of a group is A, run 1 is B, run 2 + j is
        A with the numbers of variation j from B."""
        group, k = self.group, len(self._named)
        start, end = first // group, -(-(first + count) // group)
        twice = [(f"{name}:{side}", x.width) for side in "AB" for name, x in self._named]
        cube = self._sobol(twice, start, end - start)
        width = cube.shape[1] // 2
        A, B = self._split(cube[:, :width], self._named), self._split(cube[:, width:], self._named)
        point, role = np.divmod(np.arange(first, first + count), group)
        point = point - start
        return [np.where(((role == 1) | (role == 2 + j))[:, None], B[j][point], A[j][point]) for j in range(k)]


def _scrambled(digits: Bits, random: Bits) -> Bits:
    """Binary digits times a lower triangular matrix with ones on its diagonal, plus a shift."""
    out = np.zeros_like(digits)
    top = np.uint64(_BITS - 1)
    for row in range(_BITS):
        place = np.uint64(row)
        diagonal = np.uint64(1) << (top - place)
        mask = (random[row] & ~(diagonal * np.uint64(2) - np.uint64(1)) & np.uint64(2**_BITS - 1)) | diagonal
        out |= (np.bitwise_count(digits & mask).astype(np.uint64) & np.uint64(1)) << (top - place)
    return np.asarray(out ^ (random[_BITS] & np.uint64(2**_BITS - 1)))

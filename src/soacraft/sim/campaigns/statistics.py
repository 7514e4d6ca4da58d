"""Statistics of campaigns, each with how sure it is.

quantile        the order statistic, with bounds by the binomial distribution, whatever the distribution is
probability     Clopper and Pearson's bounds (1934)
ellipse         mean and covariance of two measures, and the ellipse that holds a part of a normal distribution
spearman        rank correlation
sobol_indices   first and total indices by Saltelli's design (Saltelli and others 2010; Jansen 1999)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from soacraft.errors import CampaignError
from soacraft.sim.campaigns.draws import uniforms
from soacraft.spatial.checks import Array

#: Draws by which the errors of Sobol' indices are estimated.
_BOOTSTRAP = 200


class Quantile(NamedTuple):
    """A quantile of a measure: with `confidence` it is within `lower` and `upper`. `runs` were taken, `left_out` have
    no value."""

    value: float
    lower: float
    upper: float
    confidence: float
    runs: int
    left_out: int = 0

    def __repr__(self) -> str:
        omitted = f", {self.left_out} runs without a value" if self.left_out else ""
        part = f"{self.confidence:.3g} sure from {self.lower:.6g} to {self.upper:.6g}"
        return f"{self.value:.6g} ({part}; {self.runs} runs{omitted})"


class Probability(NamedTuple):
    """The probability of success: `successes` of `runs`; with `confidence` it is within `lower` and `upper`."""

    value: float
    lower: float
    upper: float
    confidence: float
    successes: int
    runs: int

    def __repr__(self) -> str:
        part = f"{self.confidence:.3g} sure from {self.lower:.6g} to {self.upper:.6g}"
        return f"{self.value:.6g} ({self.successes} of {self.runs}; {part})"


class Ellipse(NamedTuple):
    """Ellipse in which a part `probability` of two measures is expected, were they normal; `inside` is the part of the
    runs that is. `axes` are half axes, the longer first, `angle` that of the longer one from the first measure, in
    radians."""

    mean: Array
    covariance: Array
    axes: Array
    angle: float
    probability: float
    inside: float
    runs: int

    def points(self, count: int = 100) -> Array:
        """Points (count, 2) of its line."""
        a = np.linspace(0.0, 2.0 * np.pi, count)
        c, s = math.cos(self.angle), math.sin(self.angle)
        x, y = self.axes[0] * np.cos(a), self.axes[1] * np.sin(a)
        return np.asarray(self.mean + np.stack([c * x - s * y, s * x + c * y], axis=1))


class Index(NamedTuple):
    """Sobol' indices of a variation: the part of the variance that it explains alone, and with all others. The errors
    are standard deviations by bootstrap."""

    first: float
    total: float
    first_error: float
    total_error: float


def _part(x: float, what: str) -> float:
    if not isinstance(x, int | float) or not 0.0 < x < 1.0:
        raise CampaignError(f"{what} is between 0 and 1, got {x!r:.40}.")
    return float(x)


def quantile(values: Array, p: float, confidence: float = 0.95, left_out: int = 0) -> Quantile:
    """The p-quantile: the order statistic of number ceil(n p), within those of numbers l and u (1 to n) with

        P(x(l) <= quantile <= x(u)) >= sum for k = l to u - 1 of binomial(n, k) p^k (1 - p)^(n - k) >= confidence

    each side being at most half of the rest. A side with too few runs is infinite.

    >>> quantile(np.arange(1.0, 101.0), 0.5)
    50 (0.95 sure from 40 to 61; 100 runs)
    """
    from scipy.stats import binom

    p, confidence = _part(p, "a quantile"), _part(confidence, "a confidence")
    x = np.sort(np.asarray(values, dtype=float))
    n, rest = len(x), 0.5 * (1.0 - confidence)
    if not n:
        raise CampaignError("there is no run with a value to take a quantile of.")
    lower = int(binom.ppf(rest, n, p))  # P(fewer than l below the quantile) <= rest
    while lower and binom.cdf(lower - 1, n, p) > rest:
        lower -= 1
    upper = int(binom.isf(rest, n, p)) + 1
    while binom.sf(upper - 1, n, p) > rest:
        upper += 1
    a = float(x[lower - 1]) if lower >= 1 else -math.inf
    b = float(x[upper - 1]) if upper <= n else math.inf
    return Quantile(float(x[max(1, math.ceil(n * p - 1e-9)) - 1]), a, b, confidence, n, left_out)


def runs_needed(p: float, confidence: float = 0.95) -> int:
    """Least number of runs for which the largest of them bounds the p-quantile from above, on both sides' halves:

        p^n <= (1 - confidence) / 2

    >>> runs_needed(0.99)
    368
    """
    p = _part(p, "a quantile")
    return math.ceil(math.log(0.5 * (1.0 - _part(confidence, "a confidence"))) / math.log(max(p, 1.0 - p)) - 1e-12)


def probability(successes: int, runs: int, confidence: float = 0.95) -> Probability:
    """The probability of success by Clopper and Pearson:

        from beta(rest; k, n - k + 1) to beta(1 - rest; k + 1, n - k),    rest = (1 - confidence) / 2

    >>> probability(0, 10)
    0 (0 of 10; 0.95 sure from 0 to 0.308497)
    """
    from scipy.special import betaincinv

    if not 0 <= successes <= runs or not runs:
        raise CampaignError(f"{successes} successes of {runs} runs have no probability.")
    rest, k, n = 0.5 * (1.0 - _part(confidence, "a confidence")), successes, runs
    lower = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, rest))
    upper = 1.0 if k == n else float(betaincinv(k + 1, n - k, 1.0 - rest))
    return Probability(k / n, lower, upper, confidence, k, n)


def ellipse(x: Array, y: Array, part: float = 0.95) -> Ellipse:
    """The ellipse (z - mean)* C^-1 (z - mean) = c, with c = -2 ln(1 - part), of two measures.

    >>> made = ellipse(np.array([-1.0, 1.0, -1.0, 1.0]), np.array([-2.0, -2.0, 2.0, 2.0]), 0.5)
    >>> made.mean.tolist(), made.angle == np.pi / 2
    ([0.0, 0.0], True)
    """
    part = _part(part, "a probability")
    z = np.stack([np.asarray(x, dtype=float), np.asarray(y, dtype=float)], axis=1)
    if len(z) < 3:
        raise CampaignError(f"an ellipse takes three runs or more, got {len(z)}.")
    mean, C = z.mean(axis=0), np.cov(z.T)
    size = np.sqrt(np.diag(C))
    if not (size > 0.0).all():
        raise CampaignError("an ellipse takes measures that vary.")
    w, U = np.linalg.eigh(C)
    c = -2.0 * math.log(1.0 - part)
    axes = np.sqrt(c * np.maximum(w[::-1], 0.0))
    angle = math.atan2(U[1, 1], U[0, 1]) % math.pi
    R = np.linalg.pinv(C / np.outer(size, size))
    away = (z - mean) / size
    inside = float((np.einsum("ni,ij,nj->n", away, R, away) <= c * (1.0 + 1e-12)).mean())
    return Ellipse(mean, C, axes, angle, part, inside, len(z))


def spearman(x: Array, y: Array) -> float:
    """The correlation of ranks, of equal values their mean; 0 where one does not vary.

    >>> spearman(np.array([1.0, 2.0, 3.0]), np.array([1.0, 8.0, 27.0]))
    1.0
    """
    from scipy.stats import rankdata

    a, b = rankdata(x), rankdata(y)
    a, b = a - a.mean(), b - b.mean()
    size = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / size if size else 0.0


def sobol_indices(values: Array, names: Sequence[str], seed: int = 0) -> dict[str, Index]:
    """First and total indices from values in Saltelli's order: for every point A, B and A with each variation from B.

        S_j = mean(B (AB_j - A)) / V,     T_j = mean((A - AB_j)^2) / (2 V)

    V is the variance of A and B together, of which the mean is taken away first.
    """
    k = len(names)
    table = np.asarray(values, dtype=float).reshape(-1, k + 2)
    table = table[np.isfinite(table).all(axis=1)]
    n = len(table)
    if n < 2:
        raise CampaignError(f"Sobol' indices take two points or more of {k + 2} runs each, all with a value; got {n}.")
    first, total = _indices(table)
    again = uniforms(seed, "bootstrap", 0, _BOOTSTRAP, n) if n <= 4096 else uniforms(seed, "bootstrap", 0, 20, n)
    drawn = np.array([_indices(table[(u * n).astype(np.intp)]) for u in again])
    errors = drawn.std(axis=0)
    return {name: Index(*map(float, (first[j], total[j], errors[0, j], errors[1, j]))) for j, name in enumerate(names)}


def _indices(table: Array) -> tuple[Array, Array]:
    both = table[:, :2]
    variance = both.var()
    if not variance > 0.0:
        nothing = np.zeros(table.shape[1] - 2)
        return nothing, nothing
    z = table - both.mean()
    A, B, AB = z[:, 0], z[:, 1], z[:, 2:]
    first = (B[:, None] * (AB - A[:, None])).mean(axis=0) / variance
    total = ((A[:, None] - AB) ** 2).mean(axis=0) / (2.0 * variance)
    return np.asarray(first), np.asarray(total)

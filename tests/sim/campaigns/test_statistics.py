"""Statistics against closed forms and tables."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from soacraft import sim
from soacraft.errors import CampaignError
from soacraft.sim.campaigns import statistics as st
from soacraft.sim.campaigns.sampling import Sampler


def test_bounds_of_a_median_are_those_of_the_sign_test():
    """n = 20: the 6th and the 15th value bound the median with 95.9 %, by tables of the sign test."""
    found = st.quantile(np.arange(1.0, 21.0), 0.5)
    assert (found.lower, found.value, found.upper) == (6.0, 10.0, 15.0)


@pytest.mark.parametrize(("n", "p"), [(59, 0.9), (200, 0.99), (500, 0.05), (37, 0.5)])
def test_bounds_hold_their_confidence_and_are_the_closest_that_do(n, p):
    found = st.quantile(np.arange(1.0, n + 1.0), p, 0.9)
    l = 0 if found.lower == -math.inf else int(found.lower)
    u = n + 1 if found.upper == math.inf else int(found.upper)
    assert stats.binom.cdf(l - 1, n, p) <= 0.05 < stats.binom.cdf(l, n, p)
    assert stats.binom.sf(u - 1, n, p) <= 0.05 < stats.binom.sf(u - 2, n, p)


def test_bounds_cover_as_often_as_they_say():
    rng = np.random.default_rng(5)
    true = stats.expon.ppf(0.9)
    hits = [x.lower <= true <= x.upper for x in (st.quantile(rng.exponential(size=100), 0.9, 0.9) for _ in range(2000))]
    assert 0.9 <= np.mean(hits) < 0.96


def test_too_few_runs_leave_a_side_open():
    n = st.runs_needed(0.99)
    assert st.quantile(np.arange(float(n)), 0.99).upper == n - 1
    assert st.quantile(np.arange(float(n - 1)), 0.99).upper == math.inf
    assert st.quantile(np.array([3.0]), 0.5) == (3.0, -math.inf, math.inf, 0.95, 1, 0)


@pytest.mark.parametrize(
    ("k", "n", "lower", "upper"),
    # Clopper and Pearson's 95 % bounds as printed in tables of the binomial distribution (Diem, Geigy)
    [
        (0, 10, 0.0, 0.3085),
        (1, 10, 0.0025, 0.4450),
        (5, 10, 0.1871, 0.8129),
        (10, 10, 0.6915, 1.0),
        (3, 50, 0.0125, 0.1655),
    ],
)
def test_probabilities_have_the_bounds_of_the_tables(k, n, lower, upper):
    found = st.probability(k, n)
    assert (round(found.lower, 4), round(found.upper, 4)) == (lower, upper)


def test_no_failure_in_n_runs_has_a_closed_form():
    assert st.probability(59, 59, 0.9).lower == pytest.approx(0.05 ** (1 / 59), rel=1e-12)


def test_the_ellipse_of_a_normal_distribution_holds_its_part():
    rng = np.random.default_rng(3)
    angle, axes = 0.4, np.array([3.0, 0.5])
    R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    z = rng.standard_normal((200_000, 2)) * axes @ R.T + [10.0, -5.0]
    found = st.ellipse(z[:, 0], z[:, 1], 0.9)
    size = math.sqrt(stats.chi2.ppf(0.9, 2))
    assert np.allclose(found.axes, axes * size, rtol=0.01)
    assert found.angle == pytest.approx(angle, abs=0.01)
    assert found.inside == pytest.approx(0.9, abs=0.005)
    points = found.points() - found.mean
    radius = np.einsum("ni,ij,nj->n", points, np.linalg.inv(found.covariance), points)
    assert np.allclose(radius, stats.chi2.ppf(0.9, 2))


def test_the_ellipse_is_the_same_in_other_units():
    x, y = np.random.default_rng(3).standard_normal((2, 40))
    a, b = st.ellipse(x, y), st.ellipse(1e-9 * x, 1e9 * y)
    assert a.inside == b.inside


def test_rank_correlations_against_scipy():
    rng = np.random.default_rng(4)
    x, y = rng.integers(0, 9, 60).astype(float), rng.standard_normal(60)
    assert st.spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-14)
    assert st.spearman(x, np.exp(x)) == pytest.approx(1.0, abs=1e-14)
    assert st.spearman(x, np.ones(60)) == 0.0


def test_indices_of_the_ishigami_function():
    """Closed form with a = 7, b = 0.1 (Ishigami and Homma 1990)."""
    wide = sim.Uniform(-np.pi, np.pi)
    named = [(x, wide) for x in "abc"]
    x = np.concatenate([wide.values(u) for u in Sampler("saltelli", 1, named, 5 * 2**14).points(0, 5 * 2**14)], axis=1)
    y = np.sin(x[:, 0]) + 7.0 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])
    found = st.sobol_indices(y, "abc")
    for name, first, total in (("a", 0.3139, 0.5576), ("b", 0.4424, 0.4424), ("c", 0.0, 0.2437)):
        assert found[name].first == pytest.approx(first, abs=0.003)
        assert found[name].total == pytest.approx(total, abs=0.003)


@pytest.mark.parametrize(("p", "confidence"), [(0.01, 0.95), (0.2, 0.9), (0.5, 0.99), (0.9, 0.8)])
def test_runs_that_are_needed_are_the_fewest_with_bounds_on_both_sides(p, confidence):
    """Of small quantiles it is the lower side that needs them."""
    n = st.runs_needed(p, confidence)
    enough, short = (st.quantile(np.arange(float(k)), p, confidence) for k in (n, n - 1))
    assert np.isfinite([enough.lower, enough.upper]).all()
    assert not np.isfinite([short.lower, short.upper]).all()


def test_a_point_with_a_run_that_failed_is_left_out_of_indices():
    """y = 2 a + b of numbers with the same variance: first and total are 4/5 and 1/5, where nothing acts together."""
    wide = sim.Uniform(10.0, 11.0)
    u = Sampler("saltelli", 3, [("a", wide), ("b", wide)], 4 * 2**12).points(0, 4 * 2**12)
    a, b = (wide.values(x)[:, 0] for x in u)
    y = 2.0 * a + b
    y[4 * 7 + 2] = y[4 * 100] = np.nan
    result = st.sobol_indices(y, ["a", "b"])
    for name, part in (("a", 0.8), ("b", 0.2)):
        assert result[name].first == pytest.approx(part, abs=0.01)
        assert result[name].total == pytest.approx(part, abs=0.01)
    without = np.delete(y.reshape(-1, 4), [7, 100], axis=0).ravel()
    assert st.sobol_indices(without, ["a", "b"]) == result


def test_errors_of_indices_are_their_scatter_over_independent_designs():
    """y = a + a b of random points: the bootstrap's deviations against those of 40 designs of 200 points."""
    rng = np.random.default_rng(8)

    def design():
        A, B = rng.standard_normal((2, 200, 2))
        rows = (A, B, np.stack([B[:, 0], A[:, 1]], axis=1), np.stack([A[:, 0], B[:, 1]], axis=1))
        return np.stack([x[:, 0] + x[:, 0] * x[:, 1] for x in rows], axis=1).ravel()

    result = [st.sobol_indices(design(), ["a", "b"], seed) for seed in range(40)]
    for name in ("a", "b"):
        for what in ("first", "total"):
            scatter = np.std([getattr(x[name], what) for x in result])
            said = np.mean([getattr(x[name], f"{what}_error") for x in result])
            assert said == pytest.approx(scatter, rel=0.35)


def test_what_does_not_vary_has_no_indices():
    assert st.sobol_indices(np.full(12, 3.0), ["a"])["a"] == (0.0, 0.0, 0.0, 0.0)


def test_what_is_inside_an_ellipse_counts_its_edge():
    """Four corners, all as far from the mean: C = 4/3 diag(1, 4), so that away* C^-1 away = 3/2 of each."""
    x, y = np.array([-1.0, 1.0, -1.0, 1.0]), np.array([-2.0, -2.0, 2.0, 2.0])
    on = 1.0 - math.exp(-0.75)  # -2 ln(1 - part) = 3/2
    assert st.ellipse(x, y, on).inside == 1.0
    assert st.ellipse(x, y, on - 1e-6).inside == 0.0
    np.testing.assert_allclose(st.ellipse(x, y, on).axes, np.sqrt([8.0, 2.0]), rtol=1e-14)
    assert (st.ellipse(x, y, on).runs, st.ellipse(x, y, on).probability) == (4, on)


def test_refusals():
    with pytest.raises(CampaignError, match=r"a quantile is between 0 and 1, got 99"):
        st.quantile(np.ones(3), 99)
    with pytest.raises(CampaignError, match="no run with a value"):
        st.quantile(np.zeros(0), 0.5)
    with pytest.raises(CampaignError, match="3 successes of 2 runs"):
        st.probability(3, 2)
    with pytest.raises(CampaignError, match="three runs or more, got 2"):
        st.ellipse(np.ones(2), np.ones(2))
    with pytest.raises(CampaignError, match="measures that vary"):
        st.ellipse(np.ones(9), np.arange(9.0))
    with pytest.raises(CampaignError, match="two points or more of 3 runs each"):
        st.sobol_indices(np.ones(3), ["a"])

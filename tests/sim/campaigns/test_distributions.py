"""Distributions: their values against closed forms, and what they refuse."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from scipy import stats

from soacraft import sim
from soacraft.errors import CampaignError
from soacraft.sim.campaigns.distributions import AnyDistribution

U = (np.arange(2000) + 0.5)[:, None] / 2000


@pytest.mark.parametrize(
    ("made", "peer"),
    [
        (sim.Normal(1.0, 0.3), stats.norm(1.0, 0.3)),
        (sim.Uniform(-2.0, 5.0), stats.uniform(-2.0, 7.0)),
        (sim.LogNormal(2.0, 0.4), stats.lognorm(0.4, scale=2.0)),
        (sim.Truncated(sim.Normal(1.0, 2.0), 0.0, 4.0), stats.truncnorm(-0.5, 1.5, 1.0, 2.0)),
        (sim.Truncated(sim.Normal(0.0, 1.0), 6.0, np.inf), stats.truncnorm(6.0, np.inf)),
        (sim.Truncated(sim.Normal(0.0, 1.0), -np.inf, -6.0), stats.truncnorm(-np.inf, -6.0)),
    ],
)
def test_values_are_quantiles_of_the_distribution(made, peer):
    assert np.allclose(made.values(U)[:, 0], peer.ppf(U[:, 0]), rtol=1e-9, atol=1e-12)


def test_a_truncated_log_normal_is_one_within_its_limits():
    values = sim.Truncated(sim.LogNormal(1.0, 1.0), 0.0, 2.0).values(U)[:, 0]
    whole = stats.lognorm(1.0)
    assert values.min() > 0.0
    assert values.max() <= 2.0
    assert np.allclose(whole.cdf(values), U[:, 0] * whole.cdf(2.0), atol=1e-12)


def test_correlated_numbers_have_their_covariance():
    C = np.array([[4.0, 1.2, 0.0], [1.2, 1.0, 0.3], [0.0, 0.3, 0.25]])
    made = sim.MultiNormal((1.0, 2.0, 3.0), C)
    u = np.random.default_rng(1).random((200_000, 3))
    values = made.values(u)
    assert np.allclose(values.mean(axis=0), [1.0, 2.0, 3.0], atol=0.02)
    assert np.allclose(np.cov(values.T), C, atol=0.03)


def test_a_singular_covariance_ties_values_exactly():
    values = sim.MultiNormal((0.0, 0.0), ((1.0, 2.0), (2.0, 4.0))).values(np.random.default_rng(1).random((50, 2)))
    assert np.allclose(values[:, 1], 2.0 * values[:, 0], rtol=1e-12)


def test_a_choice_has_its_weights():
    counts = {x: int((sim.Choice((1.0, 2.0, 5.0), (1.0, 0.0, 3.0)).values(U) == x).sum()) for x in (1.0, 2.0, 5.0)}
    assert counts == {1.0: 500, 2.0: 0, 5.0: 1500}


def test_a_choice_without_weights_takes_all_alike():
    ends = np.array([[0.0], [0.33], [0.34], [0.66], [0.67], [1.0]])
    assert sim.Choice((4.0, 2.0, 5.0)).values(ends).ravel().tolist() == [4.0, 4.0, 2.0, 2.0, 5.0, 5.0]


def test_rows_of_a_file_stay_together(tmp_path):
    (tmp_path / "w.csv").write_text("x, y\n1,10\n2,20\n3,30\n")
    made = sim.FromFile(tmp_path / "w.csv", ("y", "x"))
    values = made.values(U[:, :1])
    assert made.size == 2
    assert (values[:, 0] == 10 * values[:, 1]).all()
    assert sorted(set(values[:, 1].tolist())) == [1.0, 2.0, 3.0]


def test_distributions_go_into_a_file_and_back(tmp_path):
    (tmp_path / "w.csv").write_text("x\n1\n")
    for made in (
        sim.Normal(1, 2),
        sim.Truncated(sim.LogNormal(1.0, 2.0), 0.0, 3.0),
        sim.MultiNormal([0, 1], np.eye(2)),
        sim.Choice([1, 2]),
        sim.Grid(np.arange(3)),
        sim.Uniform(0.0, 1.0),
        sim.FromFile(tmp_path / "w.csv"),
    ):
        read = msgspec.json.decode(msgspec.json.encode(made), type=AnyDistribution)
        assert read == made


def test_a_file_that_is_kept_is_not_read_again(tmp_path):
    (tmp_path / "w.csv").write_text("x\n1\n")
    text = msgspec.json.encode(sim.FromFile(tmp_path / "w.csv"))
    (tmp_path / "w.csv").unlink()
    assert msgspec.json.decode(text, type=AnyDistribution).rows == ((1.0,),)


@pytest.mark.parametrize("columns", ["wind", ["wind"], ("wind",)])
def test_rows_that_are_handed_over_have_their_columns_by_name(columns):
    """One name is one column, not as many as it has letters; no file is read."""
    built = sim.FromFile("nowhere.csv", columns, rows=((1.0,), (3.0,)))
    assert (built.columns, built.size, built.width, built.length) == (("wind",), 1, 1, 0)
    assert built.values(np.array([[0.2], [0.5]])).tolist() == [[1.0], [3.0]]
    assert built == sim.FromFile("nowhere.csv", ("wind",), rows=[[1.0], [3.0]])
    with pytest.raises(CampaignError, match=r"'nowhere\.csv': rows have 1 finite numbers each"):
        sim.FromFile("nowhere.csv", columns, rows=((1.0,), (3.0, 4.0)))


@pytest.mark.parametrize(
    ("of", "lower", "upper"),
    [
        (sim.Normal(2.0, 0.5), 1.0, 2.25),
        (sim.Normal(2.0, 0.5), 6.0, 6.5),
        (sim.Normal(2.0, 0.5), -3.0, -2.0),
        (sim.LogNormal(3.0, 0.4), 1.0, 3.5),
        (sim.LogNormal(3.0, 0.4), 30.0, 40.0),
        (sim.LogNormal(3.0, 0.4), -1.0, 2.0),
    ],
)
def test_truncated_numbers_have_the_distribution_function_between_the_limits(of, lower, upper):
    """P(x <= y) = (F(y) - F(lower)) / (F(upper) - F(lower)), by scipy from the side of the tail."""
    u = np.array([[1e-3], [0.2], [0.5], [0.9]])
    if isinstance(of, sim.Normal):
        reference = stats.norm(of.mean, of.deviation)
    else:
        reference = stats.lognorm(of.deviation, scale=of.median)
    F = (lambda x: -reference.sf(x)) if lower > reference.median() else reference.cdf
    y = sim.Truncated(of, lower, upper).values(u)
    np.testing.assert_allclose((F(y) - F(lower)) / (F(upper) - F(lower)), u, rtol=1e-9)


def test_a_value_that_follows_from_others_needs_no_place_at_the_end():
    """The second of four is twice the first, the third is their own: x = A w with w independent."""
    A = np.array([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.5, 3.0, 0.0], [1.0, -1.0, 0.25]])
    u = np.random.default_rng(1).random((100_000, 4))
    values = sim.MultiNormal((0.0,) * 4, A @ A.T).values(u)
    np.testing.assert_allclose(values[:, 1], 2.0 * values[:, 0], rtol=1e-12)
    np.testing.assert_allclose(np.cov(values.T), A @ A.T, atol=0.1)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: sim.MultiNormal((0.0, 0.0), ((1.0, 0.0), (0.0, -1.0))), "variances are not negative"),
        (lambda: sim.MultiNormal((0.0, 0.0), ((0.0, 1.0), (1.0, 1.0))), "positive semi-definite"),
        (lambda: sim.Truncated(sim.Normal(0.0, 1.0), "low", 1.0), "lower is less than upper"),
        (lambda: sim.Truncated(sim.Normal(0.0, 1.0), -1.0, float("nan")), "lower is less than upper"),
        (lambda: sim.Grid(()), "it has finite values"),
        (lambda: sim.Grid((1.0, float("inf"))), "it has finite values"),
        (lambda: sim.Choice((1.0, 2.0), (1.0, -1.0)), "a weight for each value, none negative"),
        (lambda: sim.Choice((1.0, 2.0), (0.0, 0.0)), "a weight for each value"),
        (lambda: sim.LogNormal(1.0, -0.1), "the deviation of the logarithm not negative"),
        (lambda: sim.Truncated(sim.LogNormal(1.0, 1.0), -2.0, -1.0), "a LogNormal has no values below zero"),
        (lambda: sim.Truncated(sim.Normal(0.0, 0.0), -1.0, 1.0), "without a deviation has nothing to cut off"),
        (lambda: sim.Truncated(sim.Normal(0.0, 1.0), -61.0, -60.0), "no weight is within the limits"),
        (lambda: sim.Normal(0.0, -1.0), "a deviation is not negative"),
        (lambda: sim.Normal(float("nan"), 1.0), "a deviation is not negative"),
        (lambda: sim.Uniform(1.0, 1.0), "lower is less than upper"),
        (lambda: sim.LogNormal(0.0, 1.0), "the median is positive"),
        (lambda: sim.Truncated(sim.Normal(0.0, 1.0), 2.0, 1.0), "lower is less than upper"),
        (lambda: sim.Truncated(sim.Normal(0.0, 1.0), 60.0, 61.0), "no weight is within the limits"),
        (lambda: sim.Truncated(sim.Uniform(0.0, 1.0), 0.0, 1.0), "truncated is a Normal or a LogNormal"),
        (lambda: sim.Choice(()), "it has finite values"),
        (lambda: sim.Choice((1.0, 2.0), (1.0,)), "a weight for each value"),
        (lambda: sim.MultiNormal((0.0, 0.0), ((1.0, 2.0), (2.0, 1.0))), "positive semi-definite"),
        (lambda: sim.MultiNormal((0.0, 0.0), ((1.0, 2.0), (0.0, 1.0))), "symmetric"),
        (lambda: sim.MultiNormal((0.0, 0.0), ((1.0,), (1.0,))), "a row and a column for each mean"),
        (lambda: sim.Grid(5), "takes several numbers, got 5"),
        (lambda: sim.FromFile("nowhere.csv"), "cannot be read"),
        (lambda: sim.FromFile("nowhere.csv", order="up"), "'drawn' or 'rows', got 'up'"),
    ],
)
def test_refusals(make, text):
    with pytest.raises(CampaignError, match=text):
        make()


def test_covariances_are_judged_without_units():
    scale = np.diag([1e-9, 1e9])
    sim.MultiNormal((0.0, 0.0), scale @ np.array([[1.0, 0.999], [0.999, 1.0]]) @ scale)
    with pytest.raises(CampaignError, match="semi-definite"):
        sim.MultiNormal((0.0, 0.0), scale @ np.array([[1.0, 1.001], [1.001, 1.0]]) @ scale)


def test_files_of_values_are_refused_by_line(tmp_path):
    (tmp_path / "w.csv").write_text("x,y\n1,2\n3,four\n")
    with pytest.raises(CampaignError, match="line 3: a number for each column"):
        sim.FromFile(tmp_path / "w.csv")
    with pytest.raises(CampaignError, match="has no column 'z'; it has 'x', 'y'"):
        sim.FromFile(tmp_path / "w.csv", ("z",))
    (tmp_path / "w.csv").write_text("x,y\n")
    with pytest.raises(CampaignError, match="no rows"):
        sim.FromFile(tmp_path / "w.csv")

"""Points of the unit cube: each depends on seed, name and number alone, and fills the cube as it should."""

from __future__ import annotations

import numpy as np
import pytest

from soacraft import sim
from soacraft.errors import CampaignError
from soacraft.sim.campaigns.draws import seed_of, uniforms
from soacraft.sim.campaigns.sampling import Sampler
from soacraft.sim.campaigns.variations import Inputs, Variation

A, B = ("a.x", sim.Normal(0.0, 1.0)), ("b.x", sim.MultiNormal((0.0,) * 6, np.eye(6)))


def test_draws_are_uniform_and_open():
    u = uniforms(3, "a", 0, 20_000, 6)
    assert u.min() > 0.0
    assert u.max() < 1.0
    assert np.allclose(u.mean(axis=0), 0.5, atol=0.01)
    assert np.allclose(np.cov(u.T), np.eye(6) / 12.0, atol=0.002)


@pytest.mark.parametrize("kind", ["random", "sobol", "latin", "saltelli"])
def test_a_point_is_the_same_alone_and_among_others(kind):
    all_at_once = Sampler(kind, 7, [A, B], 24).points(0, 24)
    for i in (0, 1, 5, 23):
        alone = Sampler(kind, 7, [A, B], 24).points(i, 1)
        assert all((x[0] == y[i]).all() for x, y in zip(alone, all_at_once, strict=True))


@pytest.mark.parametrize("kind", ["random", "sobol", "saltelli"])
def test_a_point_does_not_depend_on_the_number_of_runs(kind):
    few, many = (Sampler(kind, 7, [A, B], n).points(0, 8) for n in (8, 4000))
    assert all((x == y).all() for x, y in zip(few, many, strict=True))


@pytest.mark.parametrize("kind", ["random", "sobol", "latin"])
def test_a_new_variation_changes_no_other_draw(kind):
    one, two = Sampler(kind, 7, [A], 16).points(0, 16)[0], Sampler(kind, 7, [A, B], 16).points(0, 16)[0]
    assert (one == two).all()
    other = Sampler(kind, 8, [A], 16).points(0, 16)[0]
    assert (one != other).all()


def test_the_order_of_variations_does_not_matter_to_random_draws():
    assert (Sampler("random", 7, [B, A], 9).points(0, 9)[1] == Sampler("random", 7, [A, B], 9).points(0, 9)[0]).all()


def test_a_latin_hypercube_has_one_point_in_every_layer():
    for u in Sampler("latin", 7, [A, B], 50).points(0, 50):
        assert (np.sort((u * 50).astype(int), axis=0) == np.arange(50)[:, None]).all()


def test_sobol_points_are_a_net_after_scrambling():
    """Of 2^k points every interval of length 2^-k holds one, and every elementary rectangle of two dimensions."""
    (u,) = Sampler("sobol", 7, [("a", sim.MultiNormal((0.0,) * 2, np.eye(2)))], 64).points(0, 64)
    for k in range(2):
        assert (np.sort((u[:, k] * 64).astype(int)) == np.arange(64)).all()
    for a in (2, 4, 8, 16, 32):
        cells = (u[:, 0] * a).astype(int) * (64 // a) + (u[:, 1] * (64 // a)).astype(int)
        assert len(set(cells.tolist())) == 64


def test_sobol_points_integrate_better_than_random_ones():
    """The mean of a product of six factors, 1; errors of ten seeds."""
    errors = {}
    for kind in ("random", "sobol"):
        errors[kind] = [
            abs(np.prod(0.5 + Sampler(kind, seed, [B], 1024).points(0, 1024)[0], axis=1).mean() - 1.0)
            for seed in range(10)
        ]
    assert np.mean(errors["sobol"]) < 0.2 * np.mean(errors["random"])


def test_grids_are_combined_first_fastest():
    inputs = Inputs(
        [Variation(("a.x",), sim.Grid((1, 2))), Variation(("b.x",), sim.Grid((10, 20, 30)))], "random", 0, 6
    )
    assert inputs.of(0, 6).tolist() == [[1, 10], [2, 10], [1, 20], [2, 20], [1, 30], [2, 30]]
    assert inputs.sampler.combinations == 6


@pytest.mark.parametrize("kind", ["random", "sobol", "latin"])
def test_grids_between_drawn_numbers_take_none_of_their_draws(kind):
    """Variations keep their places in the list: numbers that are drawn are those without the grids."""
    first, second = ("g.x", sim.Grid((1, 2))), ("h.x", sim.Grid((1, 2, 3)))
    g, a, h, b = Sampler(kind, 7, [first, A, second, B], 12).points(5, 7)
    plain = Sampler(kind, 7, [A, B], 12).points(5, 7)
    assert np.array_equal(a, plain[0])
    assert np.array_equal(b, plain[1])
    assert first[1].values(g).ravel().tolist() == [1 + i % 2 for i in range(5, 12)]
    assert second[1].values(h).ravel().tolist() == [1 + i // 2 % 3 for i in range(5, 12)]


def test_rows_of_a_file_in_order(tmp_path):
    (tmp_path / "w.csv").write_text("x\n5\n6\n7\n")
    how = sim.FromFile(tmp_path / "w.csv", order="rows")
    assert Inputs([Variation(("a.x",), how)], "sobol", 0, 3).of(0, 3).ravel().tolist() == [5.0, 6.0, 7.0]
    with pytest.raises(CampaignError, match="has not as many rows as there are runs, which are 4"):
        Inputs([Variation(("a.x",), how)], "sobol", 0, 4)


def test_saltelli_takes_one_variation_from_the_other_point():
    a, b = Sampler("saltelli", 7, [A, B], 8).points(0, 8)
    for start in (0, 4):
        pa, pb, first, second = ((a[start + i], b[start + i]) for i in range(4))
        assert (first[0] == pb[0]).all()
        assert (first[1] == pa[1]).all()
        assert (second[0] == pa[0]).all()
        assert (second[1] == pb[1]).all()
        assert (pa[1] != pb[1]).all()


def test_refusals():
    with pytest.raises(CampaignError, match="no sampling 'sobel'; did you mean 'sobol'"):
        Sampler("sobel", 0, [A], 10)
    with pytest.raises(CampaignError, match="takes a multiple of 4 runs, got 10: take runs=12"):
        Sampler("saltelli", 0, [A, B], 10)
    with pytest.raises(CampaignError, match=r"'g.x' goes in order"):
        Sampler("saltelli", 0, [("g.x", sim.Grid((1, 2)))], 3)


def test_seeds_of_noise_differ():
    assert len({seed_of(7, i) for i in range(1000)}) == 1000

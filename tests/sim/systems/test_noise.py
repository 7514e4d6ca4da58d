"""Noise is a function of seed, name and draw."""

from __future__ import annotations

import numpy as np
from scipy import stats

from soacraft.sim.systems.running.noise import Stream


def test_a_draw_depends_on_seed_name_and_number_alone():
    forth = Stream(1, "a.y", ())
    rows = [forth.at(k) for k in range(600)]
    back = Stream(1, "a.y", ())
    assert [back.at(k) for k in reversed(range(600))] == rows[::-1]
    assert isinstance(rows[0], float)
    assert np.shape(Stream(1, "a.y", (2, 3)).at(5)) == (2, 3)
    for other in (Stream(2, "a.y", ()), Stream(1, "b.y", ())):
        drawn = [other.at(k) for k in range(600)]
        assert abs(np.corrcoef(drawn, rows)[0, 1]) < 0.15


def test_draws_are_standard_normal():
    stream = Stream(3, "a.y", (4,))
    drawn = np.array([stream.at(k) for k in range(2000)])
    assert stats.kstest(drawn.ravel(), "norm").pvalue > 1e-3
    assert np.abs(np.corrcoef(drawn.T) - np.eye(4)).max() < 0.1

"""Even sets of rotations: unit, spread as evenly as published, the same at every call."""

from __future__ import annotations

import numpy as np
import pytest

from soacraft.robot.studies.turns import even_turns, nearest_turn, read_turns
from soacraft.spatial.rotations import quaternion_to_matrix


def test_they_are_unit_and_cover_all_rotations():
    """The set moves no direction on average, and no rotation is farther from it than a few times the size of a cell:
    n balls of angle r fill 8 pi^2 where r^3 = 6 pi/n (volume 8 pi (r - sin r) ~ 4 pi r^3/3)."""
    n = 1000
    q = even_turns(n)
    assert np.linalg.norm(q, axis=1) == pytest.approx(1.0)
    assert np.abs(quaternion_to_matrix(q).mean(axis=0)).max() < 0.01
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 4))
    _, angle = nearest_turn(q, x / np.linalg.norm(x, axis=1)[:, None])
    cell = (6 * np.pi / n) ** (1 / 3)
    assert angle.max() < 2.0 * cell
    apart = np.abs(q @ q.T) - 2.0 * np.eye(n)
    assert 2 * np.arccos(apart.max()) > 0.5 * cell


def test_matrices_and_quaternions_are_read():
    q = even_turns(5)
    assert np.abs(np.abs(np.sum(read_turns(quaternion_to_matrix(q)) * q, axis=1)) - 1.0).max() < 1e-12
    assert read_turns(q) == pytest.approx(q)

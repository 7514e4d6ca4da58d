"""Even sets of rotations: unit, spread as evenly as published, the same at every call."""

from __future__ import annotations

import numpy as np
import pytest

from soacraft.errors import StateError
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


def test_they_are_the_published_spirals():
    """Alexa's, by complex numbers: sqrt(t) e^(i a) and sqrt(1 - t) e^(i b), a by sqrt(2) and b by the root of
    x^4 = x + 4."""
    n = 7
    psi = max(x.real for x in np.roots([1.0, 0, 0, -1, -4]) if abs(x.imag) < 1e-9)
    s = np.arange(n) + 0.5
    a, b = np.sqrt(s / n) * np.exp(2j * np.pi * s / 2**0.5), np.sqrt(1 - s / n) * np.exp(2j * np.pi * s / psi)
    assert even_turns(n) == pytest.approx(np.stack([a.imag, a.real, b.imag, b.real], axis=1), abs=1e-12)


def test_the_nearest_turn_is_told_by_its_angle_whatever_the_sign_and_the_leading_axes():
    """A quaternion and its opposite are one rotation."""
    turns = even_turns(6)
    half = 0.5 * 0.1
    x, y, z, w = turns.T
    s, c = np.sin(half), np.cos(half)  # turned by 0.1 about z: q (0, 0, s, c)
    q = np.stack([c * x + s * y, c * y - s * x, c * z + s * w, c * w - s * z], axis=1).reshape(2, 3, 4)
    for sign in (1.0, -1.0):
        number, angle = nearest_turn(turns, sign * q)
        assert number.tolist() == [[0, 1, 2], [3, 4, 5]]
        assert angle == pytest.approx(np.full((2, 3), 0.1), rel=1e-9)
    assert nearest_turn(turns, turns)[1] == pytest.approx(0.0, abs=1e-7)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (np.diag([1.0, 1.0, -1.0])[None], r"orientations as matrices \(k, 3, 3\) must be rotations"),
        (np.stack([np.eye(3), 1.01 * np.eye(3)]), r"orientations as matrices \(k, 3, 3\) must be rotations"),
        (np.zeros((0, 3, 3)), r"quaternions \(k, 4\) or matrices \(k, 3, 3\); got shape \(0, 3, 3\)"),
        (np.zeros((0, 4)), r"got shape \(0, 4\)"),
        (np.ones(4), r"got shape \(4,\)"),
        (np.ones((2, 3)), r"got shape \(2, 3\)"),
    ],
)
def test_what_is_no_set_of_rotations_is_refused(given, said):
    with pytest.raises(StateError, match=said):
        read_turns(given)

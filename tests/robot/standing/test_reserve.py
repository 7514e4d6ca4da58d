"""What contacts could press less by, against closed forms of blocks and linear programs of many-sided pyramids."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.profiles import tries

from soacraft.errors import StateError
from soacraft.robot.standing.reserve import MOST, ROUNDING, reserve
from soacraft.robot.standing.stability import pyramid

UP = np.array([0.0, 0.0, 1.0])
FEET = np.array([[0.2, 0.1, 0], [-0.2, 0.1, 0], [-0.2, -0.1, 0], [0.2, -0.1, 0]])
SEEDS = st.integers(0, 10_000)


def tilted(angle, turn=0.0):
    """Gravity on a slope that falls in a direction."""
    return 9.81 * np.array([np.sin(angle) * np.cos(turn), np.sin(angle) * np.sin(turn), -np.cos(angle)])


@pytest.mark.parametrize("mu", [1e-3, 0.3, 2.0])
@pytest.mark.parametrize("turn", [0.0, 0.3, np.pi / 8, 2.0])
def test_a_block_slides_where_its_slope_is_friction(mu, turn):
    """Four feet share the weight: t = (cos - sin / mu) / 4, in any direction and with any lengths and gravity."""
    for x in np.arctan(mu) * np.array([0.5, 1.0 - 1e-6, 1.0 + 1e-6, 1.1]):
        expected = 0.25 * (np.cos(x) - np.sin(x) / mu)
        for scale in (1.0, 1e-4, 1e5):
            up, c = np.tile(UP, (4, 1)), scale * np.array([0.0, 0, 1e-9])
            t = reserve(scale * FEET + scale, up, mu, scale * tilted(x, turn), c + scale)
            assert abs(t - expected) < 1e-9 * max(1.0, abs(expected))
        assert abs(reserve(FEET, np.tile(UP, (4, 1)), mu, tilted(x, turn)) - expected) < 1e-9 * max(1.0, abs(expected))


def test_a_block_tips_where_its_weight_passes_an_edge():
    """With friction enough the sign is that of a - h tan x."""
    for x in np.arctan(0.2 / 0.5) + np.array([-1e-7, 1e-7]):
        t = reserve(FEET, np.tile(UP, (4, 1)), 5.0, tilted(x), [0, 0, 0.5])
        assert (t > 0.0) == (np.tan(x) < 0.4)
        assert reserve(FEET, np.tile(UP, (4, 1)), 5.0, tilted(x)) > 0.01  # elsewhere its mass would be held


def test_without_friction_and_with_much_of_it():
    up = np.tile(UP, (4, 1))
    assert abs(reserve(FEET, up, 0.0, tilted(0.0), [0, 0, 1.0]) - 0.25) < 1e-9
    assert reserve(FEET, up, 0.0, tilted(1e-6), [0, 0, 0.0]) == -np.inf
    for mu in (1e6, 1e300):
        assert reserve(FEET, up, mu, tilted(1.5), [0, 0, 0.0]) > 0.0
    mixed = reserve(FEET, up, [0.0, 0.0, 0.9, 0.9], tilted(0.1), [0, 0, 0.0])
    assert 0.0 < mixed < 0.25


def test_contacts_on_a_line_balance_what_is_over_them_alone():
    two = FEET[[0, 1]]
    assert reserve(two, np.tile(UP, (2, 1)), 0.5, tilted(0.0), [0.0, 0.1, 1.0]) > 0.0
    assert reserve(two, np.tile(UP, (2, 1)), 0.5, tilted(0.0), [0.0, 0.0, 1.0]) == -np.inf


def test_contacts_that_face_each_other_press_as_they_like():
    """Palms on both sides: they hold any weight by friction, so that the most that is looked for is told."""
    p, n = np.array([[-1.0, 0, 0], [1, 0, 0], [1, 0.3, 0.2]]), np.array([[1.0, 0, 0], [-1, 0, 0], [-1, 0, 0]])
    assert abs(reserve(p, n, 0.8, tilted(0.0), [0.0, 0.0, 0.0]) - MOST) < 1e-6


@given(SEEDS)
@tries(25)
def test_the_sign_is_that_of_pyramids_of_many_sides(seed):
    rng = np.random.default_rng(seed)
    k, size = int(rng.integers(1, 9)), 10.0 ** rng.integers(-4, 5)
    p = size * rng.standard_normal((k, 3)) * [1, 1, rng.choice([0, 0.1, 1])]
    n = UP + rng.choice([0, 0.2, 1.5]) * rng.standard_normal((k, 3))
    n = n / np.linalg.norm(n, axis=1)[:, None]
    mu = rng.choice([0, 0.1, 0.5, 1.0, 3.0], size=k)
    c = p.mean(axis=0) + size * rng.choice([0.1, 0.5, 1.0]) * rng.standard_normal(3)
    t = reserve(p, n, mu, (0, 0, -9.81), c)
    each = [pyramid(a, float(b), 256) for a, b in zip(n, mu, strict=True)]
    rays, at = np.concatenate(each), np.repeat((p - p.mean(axis=0)) / size, [len(x) for x in each], axis=0)
    A = np.vstack([rays.T, np.cross(at, rays).T])
    right = np.concatenate([UP, np.cross((c - p.mean(axis=0)) / size, UP)])
    if abs(t) > 1e-3:  # at the border 256 sides are too few
        assert (linprog(np.zeros(len(rays)), A_eq=A, b_eq=right, method="highs").status == 0) == (t >= -ROUNDING)


def test_what_is_refused():
    with pytest.raises(StateError, match="friction that is not negative"):
        reserve(FEET, np.tile(UP, (4, 1)), -0.1, tilted(0.0))
    with pytest.raises(StateError, match="without gravity nothing stands"):
        reserve(FEET, np.tile(UP, (4, 1)), 0.1, np.zeros(3))
    with pytest.raises(StateError, match="the moment of the weight of a robot about its contacts is not finite"):
        reserve(1e-200 * FEET, np.tile(UP, (4, 1)), 0.1, tilted(0.0), [1e200, 0, 0])

"""What the ground must give with a mass in the hand: as of a model that has the mass on it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries

import soacraft as sc
from soacraft.robot.studies.ground import Ground, ground_of, unit_weight


@tries(15)
@given(seed=st.integers(0, 10**6))
def test_a_mass_in_the_hand_is_a_body_welded_there(seed):
    rng = np.random.default_rng(seed)
    mb = sc.random_tree(4, seed=seed)
    tip = mb.bodies[-1]
    rows = [mb.random_state(rng) for _ in range(3)]
    q, v = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    vdot, com = rng.normal(size=(3, mb.nv)), rng.normal(size=3)
    held = ground_of(mb, q, v, vdot, tip, 0.7, com)
    weight = 0.7 * unit_weight(mb, tip, q, v, vdot, com)
    T = sc.dynamics.inverse_dynamics(mb, q, v, vdot, {tip: weight})
    loaded = mb.copy()
    loaded.add_body("load", loaded[tip.name], sc.Weld(), sc.Inertia(0.7, com))
    other = ground_of(loaded, q, v, vdot)
    for a, b in zip(held, other, strict=True):
        assert a == pytest.approx(b, rel=1e-9, abs=1e-9)
    assert pytest.approx(sc.dynamics.inverse_dynamics(loaded, q, v, vdot), rel=1e-9, abs=1e-9) == T
    up = np.array([0.0, 0, 1])
    z = other.zero_moment_point(np.zeros(3), up)
    pressed = other.force[:, 2] > 0.0
    left = np.cross(z, other.force) - other.moment
    assert np.abs(left[pressed][:, :2]).max(initial=0.0) <= 1e-8 * np.abs(other.moment).max()
    assert np.isnan(z[~pressed]).all()


def test_the_zero_moment_point_on_a_slope_that_does_not_pass_the_origin():
    """Of one force that acts at z on the plane through p across u: that point, whatever moment along u it has."""
    p, u = np.array([0.3, -0.2, 0.7]), np.array([0.0, 0.6, 0.8])
    across = np.array([[1.0, 0, 0], [0, 0.8, -0.6]])
    z = p + np.array([[0.4, -1.1], [0.0, 0.5], [2.0, 0.1]]) @ across
    force = np.array([[1.0, 2.0, 9.0], [0.0, 0.0, 5.0], [-1.0, 3.0, 4.0]])
    ground = Ground(force, np.cross(z, force) + np.array([[0.3], [0.0], [-2.0]]) * u, np.zeros((3, 3)))
    assert ground.zero_moment_point(p, u) == pytest.approx(z, abs=1e-12)

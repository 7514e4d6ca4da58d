"""The quality of grasps: balls in known hulls, two soft fingers in closed form, linear programs in every direction."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.profiles import tries

from soacraft.errors import SoacraftError, StateError
from soacraft.robot import Fingertip, grasp_quality
from soacraft.robot.grasping.quality import ball


def soft(mu, c):
    return [Fingertip((s, 0, 0), (-s, 0, 0), mu, torsion=c) for s in (-1, 1)]


def test_balls_in_known_hulls():
    cross = np.concatenate([np.eye(6), -np.eye(6)])
    assert np.isclose(ball(cross), 1 / np.sqrt(6), rtol=1e-12)
    assert np.isclose(ball(1e-3 * cross), 1e-3 / np.sqrt(6), rtol=1e-12)
    cube = np.array(np.meshgrid(*[[-1.0, 2.0]] * 4)).reshape(4, -1).T
    assert np.isclose(ball(cube), 1.0, rtol=1e-12)
    assert ball(cube + 1.5) == 0.0  # zero is outside
    assert ball(np.eye(6)) == 0.0  # too few
    flat = np.concatenate([cross, 0.3 * cross])
    flat[:, 2] = 0.0
    assert ball(flat) == 0.0


@pytest.mark.parametrize("edges", [4, 8, 16])
@pytest.mark.parametrize("mu", [0.2, 0.5, 1.0])
def test_two_soft_fingers_in_closed_form(mu, edges):
    """Both push along one line of half-length 1 = the length: |f_x| + mu |..| is least where one finger does all of it,
    mu / sqrt(2 + mu^2), with the mu of a polygon inside the circle."""
    inner = mu * np.cos(np.pi / edges)
    assert np.isclose(grasp_quality(soft(mu, 10.0), edges=edges), inner / np.sqrt(2 + inner**2), rtol=1e-6)


def test_a_soft_finger_that_hardly_turns_limits_it():
    assert np.isclose(grasp_quality(soft(0.5, 0.01)), 0.01, rtol=1e-3)
    assert grasp_quality(soft(0.5, 0.0)) == 0.0


def test_quality_does_not_depend_on_where_the_object_is_or_on_units():
    """All moved with the point of moments; or all lengths, also those of the torsion, with the length of moments."""
    points = np.array([[1.0, 0.2, 0], [-0.8, 0.5, 0.1], [0.1, -0.9, 0.3], [0.0, 0.1, -1.2]])
    at, shift = np.array([0.1, 0.0, -0.1]), np.array([3.0, -2.0, 5.0])

    def quality(scale=1.0, move=0.0, about=at, length=0.7):
        tips = [Fingertip(scale * p + move, at - p, 0.6, torsion=0.2 * scale) for p in points]
        return grasp_quality(tips, about=scale * about + move, length=scale * length)

    expected = quality()
    assert expected > 0.05
    assert quality(move=shift) == pytest.approx(expected, rel=1e-9)
    for scale in (1e-3, 10.0):
        assert quality(scale) == pytest.approx(expected, rel=1e-9)
    assert quality(about=at + np.array([0.3, 0.0, 0.0])) != pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("length", [0.1, 0.25, 1.0, 4.0])
def test_moments_are_measured_by_the_length(length):
    """Two soft fingers at -1 and 1 of little torsion c: what cannot be resisted is a turn about their line, c / L."""
    assert grasp_quality(soft(0.5, 0.01), length=length) == pytest.approx(0.01 / length, rel=0.1)


@given(st.integers(0, 10**6), st.integers(3, 6))
@tries(15)
def test_every_wrench_of_that_size_can_be_given_and_one_hardly_larger_cannot(seed, count):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(count, 3))
    fingers = [Fingertip(p, -p, 0.8, torsion=0.1) for p in points]
    quality = grasp_quality(fingers, edges=6)
    edges = _edges(fingers)
    least = np.inf
    for d in rng.normal(size=(10, 6)):
        w = d / np.linalg.norm(d)
        least = min(least, _reach(edges, w))
    assert least >= quality * (1 - 1e-9) - 1e-12
    if quality:  # where the hull is nearest, the support is the quality itself
        normals = _facets(edges)
        assert np.isclose((edges @ normals.T).max(axis=0).min(), quality, rtol=1e-6)


def _edges(fingers):
    """Wrenches at edges of the cones, by their definition: n + mu t and the moments of soft fingers."""
    from soacraft.robot.grasping.quality import _wrenches

    return np.concatenate([_wrenches(x, np.zeros(3), 6).T for x in fingers])


def _reach(edges, w):
    """max s with s w in the hull."""
    n = len(edges)
    found = linprog(
        np.append(np.zeros(n), -1.0), A_ub=np.append(np.ones(n), 0.0)[None], b_ub=[1.0],
        A_eq=np.column_stack([edges.T, -w]), b_eq=np.zeros(6), bounds=[*[(0, None)] * n, (0, None)],
    )  # fmt: skip
    return found.x[-1]


def _facets(edges):
    from scipy.spatial import ConvexHull

    return ConvexHull(edges).equations[:, :-1]


@pytest.mark.parametrize("size", [1e-300, 1e-10, 1.0, 1e10, 1e308])
def test_the_radius_of_a_ball_grows_as_its_points(size):
    from soacraft.robot.grasping.quality import ball

    corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    assert np.isclose(ball(size * corners), size, rtol=1e-12, atol=0.0)


def test_what_is_refused():
    with pytest.raises(StateError, match="grasp_quality takes a list of Fingertip"):
        grasp_quality([])
    with pytest.raises(StateError, match="length of grasp_quality must be positive, got 0"):
        grasp_quality(soft(0.5, 0.1), length=0)
    with pytest.raises(SoacraftError, match="edges of grasp_quality"):
        grasp_quality(soft(0.5, 0.1), edges=2)

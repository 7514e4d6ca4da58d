"""Cone programs: against another solver, closed forms, and problems without an answer."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.profiles import tries

from soacraft.errors import ConvergenceError
from soacraft.robot.grasping.cones import cone_program


def _clarabel(c, A, b, G, h, rays, cones):
    kinds = [clarabel.ZeroConeT(len(b)), clarabel.NonnegativeConeT(rays)]
    kinds += [clarabel.SecondOrderConeT(x) for x in cones]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    P = sparse.csc_matrix((len(c), len(c)))
    rows = sparse.csc_matrix(np.vstack([A, G]))
    return clarabel.DefaultSolver(P, c, rows, np.concatenate([b, h]), kinds, settings).solve()


SMALL = st.integers(0, 6)


@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(0, 2), SMALL, st.lists(st.integers(2, 5), max_size=4))
@tries(40)
def test_the_optimum_is_that_of_clarabel(seed, n, p, rays, cones):
    """Problems with points inside the cones on both sides, so that an answer exists."""
    rng = np.random.default_rng(seed)
    p = min(p, n - 1)
    m = rays + sum(cones) + 2 * n
    A, G = rng.normal(size=(p, n)), rng.normal(size=(m, n))
    inside = np.ones(m)
    at = rays + 2 * n
    for size in cones:
        inside[at : at + size] = rng.normal(size=size) * 0.3
        inside[at] = 1.0 + np.linalg.norm(inside[at + 1 : at + size])
        at += size
    x, y, z = rng.normal(size=n), rng.normal(size=p), inside * 1.0
    b, h, c = A @ x, G @ x + inside, -(A.T @ y + G.T @ z)
    found = cone_program(c, A, b, G, h, rays + 2 * n, cones)
    other = _clarabel(c, A, b, G, h, rays + 2 * n, cones)
    size = 1.0 + abs(other.obj_val)
    assert abs(c @ found.x - other.obj_val) < 1e-7 * size
    assert np.abs(A @ found.x - b).max(initial=0.0) < 1e-8 * (1.0 + np.abs(b).max(initial=0.0))
    assert -1e-9 * size < found.gap < 1e-7 * size
    assert abs(-(b @ found.y) - h @ found.z - c @ found.x) < 1e-7 * size  # both sides meet


def test_the_nearest_point_of_a_plane():
    """min |x - a| with n* x = d is |n* a - d| / |n|."""
    a, n, d = np.array([1.0, 2.0, -1.0]), np.array([2.0, -1.0, 2.0]), 5.0
    G = -np.eye(4)
    found = cone_program(np.eye(4)[0], np.append(0.0, n)[None], np.array([d]), G, np.append(0.0, -a), 0, [4])
    assert np.isclose(found.x[0], abs(n @ a - d) / 3.0, rtol=1e-9)


def test_a_problem_without_an_answer_is_refused():
    G, h = np.array([[1.0], [-1.0]]), np.array([-1.0, -1.0])  # x <= -1 and x >= 1
    with pytest.raises(ConvergenceError, match="a cone program was not solved: residuals of"):
        cone_program(np.array([1.0]), np.zeros((0, 1)), np.zeros(0), G, h, 2, [])

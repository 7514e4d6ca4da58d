"""Quadratic programs: clarabel, the conditions of optimality, and what is refused."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
from scipy import sparse

from soacraft import _core
from soacraft.errors import ConvergenceError, SingularError
from soacraft.kinematics.qp import solve_qp


def by_clarabel(H, g, C, lower, upper):
    """True if it was solved, the solution, and the multiplier of each row."""
    equal = lower == upper
    above, below = ~equal & np.isfinite(upper), ~equal & np.isfinite(lower)
    A = sparse.csc_matrix(np.vstack([C[equal], C[above], -C[below]]))
    b = np.concatenate([lower[equal], upper[above], -lower[below]])
    cones = [clarabel.ZeroConeT(int(equal.sum())), clarabel.NonnegativeConeT(int(above.sum() + below.sum()))]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    found = clarabel.DefaultSolver(sparse.csc_matrix(np.triu(H)), g, A, b, cones, settings).solve()
    prices = np.zeros(len(C))
    np.add.at(prices, np.concatenate([np.flatnonzero(rows) for rows in (equal, above, below)]), np.abs(found.z))
    return "Solved" in str(found.status), np.array(found.x), prices


def drawn(rng):
    """Rows around a point that satisfies them, some twice, some equalities; one in ten is shifted and may have none."""
    n, m = int(rng.integers(1, 12)), int(rng.integers(0, 18))
    A = rng.standard_normal((n + 1, n))
    C = rng.standard_normal((m, n))
    if m and rng.random() < 0.3:
        C[rng.integers(m)] = C[rng.integers(m)]
    middle = C @ rng.standard_normal(n)
    lower, upper = middle - rng.exponential(0.5, m), middle + rng.exponential(0.5, m)
    equal = rng.random(m) < 0.15
    if equal.sum() < n:
        lower[equal] = upper[equal] = middle[equal]
    lower[rng.random(m) < 0.2] = -np.inf
    if m and rng.random() < 0.1:
        upper = upper - 3.0 * rng.random(m)
    return A.T @ A + 1e-3 * np.eye(n), rng.standard_normal(n), C, np.minimum(lower, upper), upper


def test_random_programs_have_the_solution_of_clarabel():
    rng, solved, none = np.random.default_rng(0), 0, 0
    for _ in range(400):
        H, g, C, lower, upper = drawn(rng)
        theirs, x, _ = by_clarabel(H, g, C, lower, upper)
        if not theirs:
            none += 1
            with pytest.raises(ConvergenceError, match="nothing satisfies all rows"):
                solve_qp(H, g, C, lower, upper)
            continue
        solved += 1
        found, y = solve_qp(H, g, C, lower, upper)
        assert np.abs(found - x).max() < 1e-6 * (1.0 + np.abs(x).max())
        # the gradient of the cost is that of the rows that hold, each pushing inward
        assert np.allclose(H @ found + g, C.T @ y, atol=1e-8 * (1.0 + np.abs(y).max(initial=0.0)))
        value = C @ found
        size = 1e-9 * (1.0 + np.abs(value))
        assert (value >= lower - size).all()
        assert (value <= upper + size).all()
        inside = (value > lower + 1e-6) & (value < upper - 1e-6)
        assert (y[inside] == 0.0).all()
        assert (y[(value <= lower + 1e-9) & (lower < upper)] >= 0.0).all()
        assert (y[(value >= upper - 1e-9) & (lower < upper)] <= 0.0).all()
    assert solved > 300
    assert none > 10


def test_bounds_are_reached_exactly_and_equalities_hold():
    H, g = np.diag([1.0, 4.0, 9.0]), np.array([-10.0, 0.0, 40.0])
    C = np.vstack([np.eye(3), np.ones((1, 3))])
    x, y = solve_qp(H, g, C, np.array([-1.0, -1, -1, 0.5]), np.array([1.0, 1, 1, 0.5]))
    assert x[0] == pytest.approx(1.0, abs=1e-14)
    assert x[2] == pytest.approx(-1.0, abs=1e-14)
    assert x.sum() == pytest.approx(0.5, abs=1e-14)
    assert y[0] < 0.0 < y[2]


def test_an_equality_that_others_imply_is_no_trouble():
    C = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    x, _ = solve_qp(np.eye(2), np.zeros(2), C, np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0]))
    assert np.allclose(x, [1.0, 2.0])
    with pytest.raises(ConvergenceError, match="nothing satisfies all rows"):
        solve_qp(np.eye(2), np.zeros(2), C, np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 4.0]))


def test_without_rows_it_is_a_linear_equation():
    H = np.array([[2.0, 1.0], [1.0, 3.0]])
    assert np.allclose(
        solve_qp(H, np.array([1.0, 2.0]), np.zeros((0, 2)), np.zeros(0), np.zeros(0)).x, -np.linalg.solve(H, [1.0, 2.0])
    )


def test_what_is_refused():
    with pytest.raises(SingularError, match="not positive definite"):
        solve_qp(np.diag([1.0, -1.0]), np.zeros(2), np.zeros((0, 2)), np.zeros(0), np.zeros(0))
    good = [np.eye(2), np.zeros(2), np.zeros((1, 2)), np.zeros(1), np.zeros(1), 1e-12, 0.0, np.zeros(2), np.zeros(1)]
    for place, wrong in (
        (0, np.eye(3)),
        (2, np.zeros((1, 3))),
        (3, np.zeros(2)),
        (4, np.zeros(2)),
        (7, np.zeros(3)),
        (8, np.zeros(2)),
    ):
        given = list(good)
        given[place] = wrong
        with pytest.raises(ValueError, match="the arrays of a quadratic program do not fit each other"):
            _core.solve_qp(*given)
    with pytest.raises(ValueError, match="tolerance of a quadratic program must be positive"):
        _core.solve_qp(*good[:5], 0.0, *good[6:])
    with pytest.raises(ValueError, match="do not fit each other"):
        _core.solve_qp(
            np.zeros((0, 0)),
            np.zeros(0),
            np.zeros((1, 0)),
            np.zeros(1),
            np.zeros(1),
            1e-12,
            0.0,
            np.zeros(0),
            np.zeros(1),
        )
    with pytest.raises(ValueError, match="scale of a quadratic program must not be negative"):
        _core.solve_qp(*good[:6], -1.0, *good[7:])

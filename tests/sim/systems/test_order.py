"""Order against a dense reachability matrix, on drawn graphs; loops by Newton's method."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries

from soacraft.errors import ConvergenceError, SimulationError
from soacraft.sim.systems.running.order import in_order, newton, upstream


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 9))
    names = draw(st.permutations([f"c{i}" for i in range(n)]))
    edges = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=12))
    return {name: {names[b] for a, b in edges if names[a] == name} for name in names}


def reached(needs):
    """Whether one needs the other, directly or not, (n, n)."""
    names = sorted(needs)
    A = np.array([[b in needs[a] for b in names] for a in names], dtype=int)
    R = A.copy()
    for _ in names:
        R = np.minimum(R + R @ A, 1)
    return names, R.astype(bool)


@tries(200)
@given(graphs())
def test_order_and_cycles_are_those_of_the_reachability_matrix(needs):
    names, R = reached(needs)
    order, cycle = in_order(needs)
    assert bool(cycle) == bool(np.diag(R).any())
    place = {name: i for i, name in enumerate(order)}
    assert all(place[x] < place[name] for name in order for x in needs[name])
    if not cycle:
        assert sorted(order) == names
    for i, name in enumerate(cycle):  # each is needed by the next
        assert name in needs[cycle[(i + 1) % len(cycle)]]
    assert len(set(cycle)) == len(cycle)
    for i, name in enumerate(names):
        assert upstream([name], needs) == {name} | {x for x, on in zip(names, R[i], strict=True) if on}


@tries(50)
@given(graphs(), st.randoms())
def test_order_depends_on_names_alone(needs, rng):
    other = list(needs)
    rng.shuffle(other)
    assert in_order({name: needs[name] for name in other}) == in_order(needs)


def test_newton_solves_and_says_where_it_cannot():
    y, residual = newton(np.cos, np.zeros(2), 1e-12, "'a.y'")
    assert np.abs(np.cos(y) - y).max() <= 1e-12
    assert residual <= 1e-12
    with pytest.raises(ConvergenceError, match=r"the loop of 'a.y' was not solved: residual .* above 1e-12"):
        newton(lambda y: y + 1.0 + y**2, np.ones(1), 1e-12, "'a.y'")
    with pytest.raises(SimulationError, match=r"the loop of 'a.y' has no solution .* its matrix is singular"):
        newton(lambda y: y + 1.0, np.zeros(1), 1e-12, "'a.y'")

"""Configurations from velocities along dofs: two exponentials for a piece agree with many small ones."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.robot.motion.turning import Chart


@pytest.mark.parametrize("hinge", [sc.Spherical(), sc.Free()])
def test_velocities_that_change_their_axis_give_their_configuration(hinge):
    """v = a + b t + c t^2: integrals by hand, against a product of 1,000 steps."""
    mb, rng, T = sc.Multibody("one"), np.random.default_rng(4), 0.02
    mb.add_body("body", None, hinge, sc.Inertia(1.0))
    nv = mb.nv
    a, b, c = rng.uniform(-4, 4, nv), rng.uniform(-40, 40, nv), rng.uniform(-400, 400, nv)
    chart = Chart(mb, np.arange(nv), np.arange(mb.nq), False)
    times = chart.pieces(np.full(nv, 8.0), T)
    assert len(times) == 1 + np.ceil(8.0 * np.sqrt(3.0) * T / 0.02)
    t = times[:, None]
    first, second = t * (a + t * (b / 2 + t * c / 3)), t * t * (a / 2 + t * (b / 3 + t * c / 4))
    q = wanted = mb.random_state(1)[0]
    n = 1000
    for k in range(n):
        x = (k + 0.5) * T / n
        wanted = hinge.integrate(wanted, T / n * (a + x * (b + x * c)))
    found = chart.moved(q, np.zeros(nv), times, first, second)
    assert np.abs(mb.difference(wanted, found)).max() < 1e-9
    assert np.abs(mb.difference(q, found)).max() > 0.02


def test_places_are_coordinates_or_differences():
    mb = sc.Multibody("two")
    mb.add_body("ball", None, sc.Spherical(), sc.Inertia(1.0))
    mb.add_body("arm", "ball", sc.Pin((0, 0, 1)), sc.Inertia(1.0))
    chart = Chart(mb, np.arange(4), np.arange(5), True)
    q0 = mb.random_state(0)[0]
    q1 = mb.integrate(q0, [0.3, -0.2, 0.5, 0.7])
    assert np.allclose(chart.places(q0, q1), [0.3, -0.2, 0.5, q0[4] + 0.7], atol=1e-12)
    assert chart.turns
    assert not Chart(mb, np.array([3]), np.array([4]), True).turns

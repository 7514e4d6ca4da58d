"""Trajectories of constant jerks: extents, fastest velocities and integrals agree with samples, in any unit."""

from __future__ import annotations

import numpy as np
import ruckig
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries

from soacraft.robot.motion.jerks import Way

V, A, J, DT = 2.0, 8.0, 60.0, 0.01


def computed(rng, brake, n=4):
    """A trajectory of the package from a random state, and that state."""
    asked = ruckig.InputParameter(n)
    here = [rng.normal(size=n), rng.uniform(-V, V, n), rng.uniform(-A, A, n) * (rng.random(n) < 0.5)]
    asked.current_position, asked.current_velocity, asked.current_acceleration = here
    asked.max_velocity, asked.max_acceleration, asked.max_jerk = [V] * n, [A] * n, [J] * n
    asked.synchronization = ruckig.Synchronization.No
    if brake:
        asked.control_interface = ruckig.ControlInterface.Velocity
    else:
        asked.target_position = rng.normal(size=n)
    made = ruckig.Trajectory(n)
    assert int(ruckig.Ruckig(n, DT).calculate(asked, made)) >= 0
    return made, here


@tries(30)
@given(st.integers(0, 10**6), st.booleans())
def test_extents_agree_with_samples(seed, brake):
    rng = np.random.default_rng(seed)
    made, here = computed(rng, brake)
    unit = np.array([1.0, 0.25, 1024.0, 1.0])
    way, here = Way(made, unit), [x * unit for x in here]
    until = rng.uniform(0.0, way.duration)
    low, high = (y / unit for y in way.extent(here, until))
    times = np.linspace(0.0, until, 2001)
    x, v = (np.array([made.at_time(t)[i] for t in times]) for i in range(2))
    fine = (V * until / 2000) ** 1 * 0.01 + A * (until / 2000) ** 2
    assert (low <= x.min(axis=0) + 1e-9).all()
    assert (high >= x.max(axis=0) - 1e-9).all()
    assert (x.min(axis=0) - low <= fine + 1e-9).all()
    assert (high - x.max(axis=0) <= fine + 1e-9).all()
    fastest = way.fastest(here, until) / unit
    assert (fastest >= np.abs(v).max(axis=0) - 1e-9).all()
    assert (fastest - np.abs(v).max(axis=0) <= A * until / 2000 + 1e-9).all()
    first, second = way.integrals(here, until) / unit
    assert np.abs(first - (x[-1] - x[0])).max() < 1e-9
    assert np.abs(second - np.trapezoid(times[:, None] * v, times, axis=0)).max() < 1e-4 * max(until, 1.0) ** 2
    assert all(np.array_equal(a, np.array(b) * unit) for a, b in zip(way.at(until), made.at_time(until), strict=True))

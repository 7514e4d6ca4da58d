"""Whole bodies and arms in a program without Python: no allocation after the first call, and the velocities of Python.

A compiler works for half a minute on it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import soacraft as sc
from soacraft import robot as rob

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
import robot_jitter

pytestmark = pytest.mark.slow


def test_nothing_is_allocated_and_the_velocities_are_those_of_python(tmp_path):
    robot_jitter.saved(tmp_path)
    program = robot_jitter.built(tmp_path, ("-O1", "-DSOACRAFT_NOT_FLAT"))
    rows, q, v = robot_jitter.told(program, tmp_path, 300)
    assert {x["query"]: x["allocations"] for x in rows} == {"ik": 0, "velocity": 0, "feed-forward": 0}
    mb = sc.load("h1")
    for body in mb.bodies[1:]:
        body.limits = sc.Limits(lower=body.limits.lower, upper=body.limits.upper, velocity=[8.0])
    start = robot_jitter.standing(mb)
    tasks = []
    for k, name in enumerate(robot_jitter.FRAMES):
        X = mb.pose(name, state=mb.state(start))
        goal = sc.Pose(X.rotation, X.translation + (0.0 if k < 2 else 0.1) * np.array([1.0, 0.0, 1.0]))
        tasks.append(rob.Reaching(sc.Placement(name, goal), weight=10.0 if k < 2 else 1.0, gain=10.0))
    low = np.asarray(sc.dynamics.center_of_mass(mb, start)) - [0.0, 0.0, 0.05]
    tasks += [rob.CenterOfMass(low, gain=10.0), rob.Posture(start, weight=0.01, gain=10.0)]
    found = rob.Robot(mb).velocity(tasks, q, 0.005).v
    assert np.abs(found - v).max() < 1e-8 * (1.0 + np.abs(found).max())

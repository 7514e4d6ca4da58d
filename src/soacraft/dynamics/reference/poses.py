"""Forward kinematics."""

from __future__ import annotations

from soacraft.dynamics.problem import Problem
from soacraft.spatial.checks import Array


def poses(p: Problem) -> tuple[Array, Array]:
    """Rotations (..., n, 3, 3) and origins (..., n, 3) of the body frames, base to tips."""
    return p.state.configuration.world

"""The velocity or acceleration of a node, for a result that holds those of bodies."""

from __future__ import annotations

import numpy as np

from soacraft.dynamics.delivery import not_finite
from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference.kinematics import twist_of
from soacraft.model.tree.frames.frame import Frame
from soacraft.spatial.checks import Array


def node_twist(kind: str, p: Problem, frame: Frame) -> Array:
    """[angular; linear] of its origin, (..., 6), in the axes asked for; `kind` is velocities or accelerations."""
    twist = np.array(np.broadcast_to(twist_of(p, frame, kind), (*p.batch, 6)))
    if not np.isfinite(twist).all():
        raise not_finite(p, twist)
    return twist

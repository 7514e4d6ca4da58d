"""Springs and dampers in the hinges."""

from __future__ import annotations

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.errors import ModelError
from soacraft.model.frame import Body
from soacraft.model.hinges import Free, Spherical
from soacraft.model.hinges.base import difference_of
from soacraft.model.properties import Passive
from soacraft.model.realize import times
from soacraft.spatial.checks import Array, number_text
from soacraft.spatial.rotations import quaternion_to_matrix


def passive_force(p: Problem) -> Array:
    """-stiffness (q - rest) - damping v by hinge."""
    q, v = p.given["q"], p.given["v"]
    force = np.zeros((*p.batch, p.nv))
    for body, at, where in zip(p.layout.bodies, p.layout.q_slices, p.layout.v_slices, strict=True):
        passive = body.passive
        if passive.damping.any():
            force[..., where] -= passive.damping * v[..., where]
        if passive.stiffness.any():
            force[..., where] -= passive.stiffness * displacement(body, passive, q[..., at])
    return force


def displacement(body: Body, passive: Passive, q: Array) -> Array:
    """q - rest in the tangent sense (..., nv). Of a free hinge: the rotation vector, and R* (p - p_rest)."""
    hinge = body.hinge
    if not hinge.holonomic:
        raise ModelError(
            f"hinge {body.hinge_name!r} ({hinge!r}) has a spring (stiffness {number_text(passive.stiffness)}), but it "
            "is nonholonomic: its position is not a function of its dofs, so there is no displacement along them. "
            "Give it no stiffness; damping is fine."
        )
    rest = hinge.neutral() if passive.rest is None else passive.rest
    if not isinstance(hinge, Free):
        return difference_of(hinge, rest, q)
    turn = difference_of(Spherical(), rest[:4], q[..., :4])
    travel = times(quaternion_to_matrix(q[..., :4]).mT, q[..., 4:] - rest[4:])
    return np.concatenate([turn, travel], axis=-1)

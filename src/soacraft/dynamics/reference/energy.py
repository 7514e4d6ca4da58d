"""Kinetic and potential energy."""

from __future__ import annotations

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference.momentum import first_moment
from soacraft.model.flat.realize import times
from soacraft.spatial.checks import Array


def kinetic_energy(p: Problem) -> Array:
    """V* M V / 2, with armature + v* J v / 2."""
    V, v = p.state.motion.V, p.given["v"]
    twice = np.sum(V * times(p.layout.M, V), axis=(-2, -1))
    for where, J in zip(p.layout.v_slices, p.layout.armature, strict=True):
        if J is not None:
            twice = twice + v[..., where] ** 2 @ J
    return np.asarray(0.5 * twice)


def potential_energy(p: Problem) -> Array:
    """-sum m g.c, zero when every centre of mass is at the inertial origin."""
    return np.asarray(-(first_moment(p) @ p.graph.gravity))

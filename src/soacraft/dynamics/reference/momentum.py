"""The centre of mass and momentum."""

from __future__ import annotations

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.errors import SingularError
from soacraft.model.flat.realize import times
from soacraft.recursions import composite_body
from soacraft.spatial.checks import Array
from soacraft.spatial.transforms import phi


def first_moment(p: Problem) -> Array:
    """sum m c, c the centres of mass in the inertial frame, (..., 3)."""
    R, origin = p.state.configuration.world
    mass = np.array([body.inertia.mass for body in p.layout.bodies]).reshape(p.n, 1)
    com = np.array([body.inertia.com for body in p.layout.bodies]).reshape(p.n, 3)
    return np.asarray(np.sum(mass * (origin + times(R, com)), axis=-2))


def center_of_mass(p: Problem) -> Array:
    """sum m c / sum m."""
    mass = sum(body.inertia.mass for body in p.layout.bodies)
    if mass <= 0.0:
        raise SingularError(f"{p.graph.name!r} has no mass, so it has no centre of mass; give a body some.")
    return first_moment(p) / mass


def momentum(p: Problem) -> Array:
    """sum phi(0,k) M(k) V(k)."""
    moved = times(phi(*p.state.configuration.world), times(p.layout.M, p.state.motion.V))
    return np.asarray(np.sum(moved, axis=-2))


def centroidal_momentum_matrix(p: Problem) -> Array:
    """phi(c,k) R(k) H*(k) by body k, c at the centre of mass with inertial axes; armature has no momentum."""
    m = p.linear
    center = center_of_mass(p)
    R_world, origin = p.state.configuration.world
    R = composite_body(m)
    X = np.zeros((*p.batch, 6, p.nv))
    for k, where in enumerate(p.layout.v_slices):
        to_center = phi(R_world[..., k, :, :], origin[..., k, :] - center)
        X[..., where] = to_center @ R[k][..., :6, :6] @ m.H(k)[..., :6].mT
    return X

"""Energy, the centre of mass, momentum.

    kinetic      V* M V / 2 + v* J v / 2                 J the armature
    potential    -sum m g.c                              of springs and tendons k |q - rest|^2 / 2
    momentum     h = sum phi(0,k) M(k) V(k)              about the inertial origin
    centroidal   phi(c,k) R(k) H*(k) by body k           about the centre of mass, by composite inertias R
"""

from __future__ import annotations

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.errors import SingularError
from soacraft.model.flat import links, passive
from soacraft.model.flat.realize import times
from soacraft.recursions import composite_body
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import unskew
from soacraft.spatial.transforms import phi


def kinetic_energy(p: Problem) -> Array:
    """V* M V / 2, with armature + v* J v / 2."""
    V, v = p.state.motion.V, p.given["v"]
    c = p.state.configuration
    twice = np.sum(V * times(c.M, V), axis=(-2, -1))
    for k, M in c.modal_inertias.items():  # 2 V* M_re etad + etad* M_ee etad
        rate = v[..., p.layout.hinge_v[k].stop : p.layout.v_slices[k].stop]
        twice = twice + np.sum(rate * times(M[..., 6:, :6], V[..., k, :]), axis=-1) * 2.0
        twice = twice + np.sum(rate * times(M[..., 6:, 6:], rate), axis=-1)
    for dofs, J in zip(p.layout.hinge_v, p.layout.armature, strict=True):
        if J is not None:
            twice = twice + v[..., dofs] ** 2 @ J
    return np.asarray(0.5 * twice)


def potential_energy(p: Problem) -> Array:
    """-sum m g.c, zero when every centre of mass is at the inertial origin, and eta* K eta / 2 of flexible bodies."""
    total = np.asarray(-(first_moment(p) @ p.graph.gravity))
    for k in p.layout.flexible:
        eta = p.given["q"][..., p.layout.hinge_q[k].stop : p.layout.q_slices[k].stop]
        total = total + 0.5 * np.sum(eta * (eta @ p.layout.modal(k).K), axis=-1)
    return total


def passive_energy(p: Problem) -> Array:
    """k |q - rest|^2 / 2 of springs and tendons, sum of compensation m g.c, and the energy of springs between nodes."""
    q, bodies = p.given["q"], p.layout.compensated
    total = passive.energy_along_dofs(p.layout, q)
    if bodies:
        R, at = p.state.configuration.world
        for body in bodies:
            k = p.layout.index[body]
            com = at[..., k, :] + times(R[..., k, :, :], body.inertia.com)
            total = total + body.gravity_compensation * body.inertia.mass * np.asarray(com @ p.graph.gravity)
    return total + links.energy(p.state) if p.layout.has_links else total


# -- centre of mass and momentum ---------------------------------------------------------------------------------------


def first_moment(p: Problem) -> Array:
    """sum m c, c the centres of mass in the inertial frame, (..., 3)."""
    R, origin = p.state.configuration.world
    mass = np.array([body.inertia.mass for body in p.layout.bodies]).reshape(p.n, 1)
    com = np.array([body.inertia.com for body in p.layout.bodies]).reshape(p.n, 3)
    total = np.asarray(np.sum(mass * (origin + times(R, com)), axis=-2))
    for k, M in p.state.configuration.modal_inertias.items():  # M_wv = c~ at eta; com is that of no deformation
        moved = unskew(M[..., :3, 3:6]) - p.layout.bodies[k].inertia.mass * com[k]
        total = total + times(R[..., k, :, :], moved)
    return total


def center_of_mass(p: Problem) -> Array:
    """sum m c / sum m."""
    mass = sum(body.inertia.mass for body in p.layout.bodies)
    if mass <= 0.0:
        raise SingularError(f"{p.graph.name!r} has no mass, so it has no centre of mass; give a body some.")
    return first_moment(p) / mass


def momentum(p: Problem) -> Array:
    """sum phi(0,k) M(k) V(k)."""
    c = p.state.configuration
    to_origin = phi(*c.world)
    total = np.asarray(np.sum(times(to_origin, times(c.M, p.state.motion.V)), axis=-2))
    for k, M in c.modal_inertias.items():
        rate = p.given["v"][..., p.layout.hinge_v[k].stop : p.layout.v_slices[k].stop]
        total = total + times(to_origin[..., k, :, :], times(M[..., :6, 6:], rate))
    return total


def centroidal_momentum_matrix(p: Problem) -> Array:
    """phi(c,k) R(k) H*(k) by body k, c at the centre of mass with inertial axes; armature has no momentum."""
    m = p.linear
    center = center_of_mass(p)
    R_world, origin = p.state.configuration.world
    R = composite_body(m)
    X = np.zeros((*p.batch, 6, p.nv))
    for k, dofs in enumerate(p.layout.v_slices):
        to_center = phi(R_world[..., k, :, :], origin[..., k, :] - center)
        body = 6 + len(p.layout.bodies[k]._own)
        X[..., dofs] = to_center @ R[k][..., :6, :body] @ m.H(k)[..., :body].mT
    return X

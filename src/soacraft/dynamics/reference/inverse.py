"""Newton-Euler inverse dynamics, and what it gives for special accelerations and forces."""

from __future__ import annotations

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference.blocks import columns, over_bodies, vector
from soacraft.dynamics.reference.passive import along_dofs
from soacraft.dynamics.reference.turning import turned
from soacraft.model.flat import armature
from soacraft.model.flat.realize import weight
from soacraft.model.tree.frame import Body
from soacraft.recursions import gather, newton_euler
from soacraft.spatial.checks import Array


def inverse_dynamics(p: Problem) -> Array:
    """T = H phi (M alpha + b), alpha = phi* (H* vdot + a), less what acts along the dofs besides T."""
    return vector(p, newton_euler(p.sko, columns(p, p.given["vdot"])).T) - along_dofs(p)


def bias_force(p: Problem) -> Array:
    """The same at vdot = 0."""
    return vector(p, newton_euler(p.sko, columns(p, np.zeros(p.nv))).T) - along_dofs(p)


def mass_matrix_multiply(p: Problem) -> Array:
    """The same without a and b: H phi M phi* H* x."""
    return vector(p, newton_euler(p.linear, columns(p, p.given["x"])).T)


def interbody_forces(p: Problem) -> Array:
    """f = phi (M alpha + b), turned into the axes asked for; of a node with armature the part of the body."""
    f = newton_euler(p.sko, columns(p, p.given["vdot"])).f
    return turned(p, over_bodies(p, {k: f[k][..., :6, 0] for k in f}, (6,)))


def gravity_force(p: Problem) -> Array:
    """-H phi M [0; g]."""
    c = p.state.configuration
    return _projected(p, -weight(p.layout, c.world[0], p.graph.gravity))


def compensating_force(p: Problem) -> Array:
    """H phi B f."""
    pulls = np.zeros((*p.batch, p.n, 6))
    for frame, wrench in p.forces:
        assert isinstance(frame.carrier, Body)
        pull = p.state.force_on_body(frame, np.asarray(wrench), wrench.expressed_in)
        pulls[..., p.layout.index[frame.carrier], :] += pull
    return _projected(p, pulls)


def _projected(p: Problem, forces: Array) -> Array:
    """H phi x for forces x (..., n, 6) on bodies."""
    m = p.linear
    f = gather(m, m.A, [x[..., None] for x in armature.vectors(p.layout, forces)])
    return vector(p, {k: m.H(k) @ f[k] for k in m.nodes})

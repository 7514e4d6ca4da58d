"""Newton-Euler inverse dynamics, its results for special accelerations and forces, and the forces of springs and
dampers.

    base to tips    alpha = phi* (H* vdot + a)
    tips to base    f = phi (M alpha + b),    T = H f - passive

At vdot = 0 it is the bias force C, without a and b the product Mcal x, with gravity alone the force that holds it up.
Springs, dampers and gravity compensation follow the law of `soacraft.model.flat.passive`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference.blocks import columns, over_bodies, vector
from soacraft.dynamics.reference.kinematics import turned
from soacraft.model.flat import armature, links, passive
from soacraft.model.sizes.measure import measure_of
from soacraft.model.tree.frames.frame import Body
from soacraft.recursions import gather, newton_euler
from soacraft.spatial.checks import Array

_NOTHING: Array = np.zeros(())


def inverse_dynamics(p: Problem) -> Array:
    """Inverse dynamics T = H phi (M alpha + b), alpha = phi* (H* vdot + a), less the passive forces along the dofs."""
    return vector(p, newton_euler(p.sko, columns(p, p.given["vdot"])).T) - along_dofs(p)


def bias_force(p: Problem) -> Array:
    """Bias force: inverse dynamics at vdot = 0."""
    return vector(p, newton_euler(p.sko, columns(p, np.zeros(p.nv))).T) - along_dofs(p)


def mass_matrix_multiply(p: Problem) -> Array:
    """Product with the mass matrix, H phi M phi* H* x: inverse dynamics without a and b."""
    return vector(p, newton_euler(p.linear, columns(p, p.given["x"])).T)


def interbody_forces(p: Problem) -> Array:
    """f = phi (M alpha + b), turned into the axes asked for; of a node with armature the part of the body."""
    between = links.forces(p.state) if p.passive else ()  # a hinge feels them, whatever they are along the dofs
    m = p.state.sko("body", p.forces + between)
    f = newton_euler(m, columns(p, p.given["vdot"])).f
    return turned(p, over_bodies(p, {k: f[k][..., :6, 0] for k in f}, (6,)))


def gravity_force(p: Problem) -> Array:
    """-H phi M [0; g]."""
    weight = p.state.weight
    return _projected(p, -weight.bodies, {k: -x for k, x in weight.modes.items()})


def compensating_force(p: Problem) -> Array:
    """H phi B f."""
    pulls = np.zeros((*p.batch, p.n, 6))
    modes = {k: np.zeros((*p.batch, p.layout.modal(k).n)) for k in p.layout.flexible}
    for frame, wrench in p.forces:
        assert isinstance(frame.carrier, Body)
        k = p.layout.index[frame.carrier]
        pulls[..., k, :] += p.state.force_on_body(frame, np.asarray(wrench), wrench.expressed_in)
        if k in modes:
            modes[k] += p.state.force_on_modes(frame, np.asarray(wrench), wrench.expressed_in)
    return _projected(p, pulls, modes)


def _projected(p: Problem, forces: Array, modes: Mapping[int, Array]) -> Array:
    """H phi x for forces x (..., n, 6) on bodies, with the rows of modes."""
    m = p.linear
    f = gather(m, m.A, [x[..., None] for x in armature.vectors(p.layout, forces, modes=modes)])
    return vector(p, {k: m.H(k) @ f[k] for k in m.nodes})


# -- springs, dampers and gravity compensation -------------------------------------------------------------------------


def along_dofs(p: Problem) -> Array:
    """Passive forces along the dofs, added to the force (..., nv); 0 where there are none."""
    return passive.springs_and_dampers(p.state) if p.passive else _NOTHING


def along_dofs_derivatives(p: Problem) -> tuple[Array, Array]:
    """Derivatives of the passive forces along the dofs and in v (..., nv, nv); 0 where there are none."""
    if not p.passive:
        return _NOTHING, _NOTHING
    dq, dv = passive.along_dofs_derivatives(p.layout, p.given["q"], p.given["v"])
    if not p.layout.has_links or 0 in p.batch:
        return dq, dv
    pairs = []
    for q, v in zip(*(p.full(x).reshape(-1, p.given[x].shape[-1]) for x in ("q", "v")), strict=True):
        measure = measure_of(p.graph, q)
        state = p.graph.current.replace(q=q, v=v, forces=())
        pairs.append(links.derivatives(state, 1.0 / measure.dofs, measure.length))
    more_q, more_v = (np.array(x).reshape(*p.batch, p.nv, p.nv) for x in zip(*pairs, strict=True))
    return dq + more_q, dv + more_v


def passive_force(p: Problem) -> Array:
    """All of it as one generalized force."""
    return passive.passive_force(p.state)

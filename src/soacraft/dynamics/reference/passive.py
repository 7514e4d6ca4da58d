"""Springs, dampers and gravity compensation: the law is `soacraft.model.flat.passive`, here is where it enters."""

from __future__ import annotations

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.model.flat import passive
from soacraft.model.flat.realize import times
from soacraft.spatial.checks import Array

_NOTHING: Array = np.zeros(())


def along_dofs(p: Problem) -> Array:
    """What acts along the dofs besides the force (..., nv); 0 where nothing does."""
    return passive.along_dofs(p.layout, p.given["q"], p.given["v"]) if p.passive else _NOTHING


def along_dofs_derivatives(p: Problem) -> tuple[Array, Array]:
    """Its derivatives along the dofs and in v (..., nv, nv); 0 where nothing acts."""
    if not p.passive:
        return _NOTHING, _NOTHING
    return passive.along_dofs_derivatives(p.layout, p.given["q"], p.given["v"])


def passive_force(p: Problem) -> Array:
    """All of it as one generalized force."""
    return passive.passive_force(p.state)


def passive_energy(p: Problem) -> Array:
    """k |q - rest|^2 / 2 of springs and tendons, and sum of compensation m g.c."""
    q, bodies = p.given["q"], p.layout.compensated
    total = passive.energy_along_dofs(p.layout, q)
    if bodies:
        R, at = p.state.configuration.world
        for body in bodies:
            k = p.layout.index[body]
            com = at[..., k, :] + times(R[..., k, :, :], body.inertia.com)
            total = total + body.gravity_compensation * body.inertia.mass * np.asarray(com @ p.graph.gravity)
    return total

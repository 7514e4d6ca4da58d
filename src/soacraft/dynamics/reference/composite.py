"""Composite-body inertias and the mass matrix."""

from __future__ import annotations

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference.blocks import over_bodies
from soacraft.recursions import composite_body
from soacraft.recursions import mass_matrix as recursion
from soacraft.spatial.checks import Array


def mass_matrix(p: Problem) -> Array:
    """H phi M phi* H* = H (phi R + R phi* - R) H*."""
    return recursion(p.linear, composite_body(p.linear))


def composite_inertia(p: Problem) -> Array:
    """R(k) = sum over children of phi R phi*, + M(k); of a node with armature the part of the body."""
    R = composite_body(p.linear)
    return over_bodies(p, {k: R[k][..., :6, :6] for k in R}, (6, 6))


def finite(p: Problem) -> bool:
    """Whether the composite inertias and what the hinges see of them are finite: if not, an articulated inertia that
    looks singular is one that overflowed."""
    m = p.linear
    R = composite_body(m)
    return all(bool(np.isfinite(R[k]).all() and np.isfinite(m.H(k) @ R[k] @ m.H(k).mT).all()) for k in m.nodes)

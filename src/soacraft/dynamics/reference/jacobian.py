"""Jacobians of nodes."""

from __future__ import annotations

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference.turning import both, node_axes, twist_of
from soacraft.model.tree.frame import Frame
from soacraft.spatial.checks import Array


def jacobian(p: Problem) -> Array:
    """J = B* phi* H*, one block of rows for each node."""
    J = np.zeros((*p.batch, 6 * len(p.nodes), p.nv))
    for i, node in enumerate(p.nodes):
        J[..., 6 * i : 6 * i + 6, :] = both(node_axes(p, node), _of_node(p, node))
    return J


def _of_node(p: Problem, node: Frame) -> Array:
    """One node's Jacobian in its own axes: X = phi*(k,O), then inboard X H*(j), X <- X phi*(p,j)."""
    m, where = p.linear, p.layout.v_slices
    J = np.zeros((*p.batch, 6, p.nv))
    j, block = p.graph.node_block(node, p.state)
    X = block.mT
    while True:
        J[..., where[j]] = X @ m.H(j).mT
        parent = m.parent(j)
        if parent < 0:
            return J
        X, j = X @ m.A(parent, j).mT, parent


def jacobian_dot_v(p: Problem) -> Array:
    """Accelerations of the nodes at vdot = 0."""
    parts = [twist_of(p, node, "accelerations") for node in p.nodes]
    x = np.zeros((*p.batch, 6 * len(parts)))
    for i, part in enumerate(parts):
        x[..., 6 * i : 6 * i + 6] = part
    return x

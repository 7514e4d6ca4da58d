"""Poses, velocities and accelerations of bodies and nodes, and Jacobians.

    V(k)     = phi*(p,k) V(p) + H*(k) v(k)                      alpha(k) = phi*(p,k) alpha(p) + H*(k) vdot(k) + a(k)
    J        = B* phi* H*                                       node velocities are J v, accelerations J vdot + Jdot v

Poses, V and alpha come from the state of the problem (`model/states`), in body axes. Accelerations that users see are
those of points, [d omega/dt; d^2 p/dt^2] = [alpha_w; alpha_v + w x v].
"""

from __future__ import annotations

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.model.flat.realize import times
from soacraft.model.states.kinematics import acceleration_of_frame, pose_of_frame, velocity_of_frame
from soacraft.model.tree.frames.frame import Frame
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import cross


def poses(p: Problem) -> tuple[Array, Array]:
    """Rotations (..., n, 3, 3) and origins (..., n, 3) of the body frames, base to tips."""
    return p.state.configuration.world


def velocities(p: Problem) -> Array:
    """V(k) = phi*(p,k) V(p) + H*(k) v(k)."""
    return turned(p, p.state.motion.V)


def accelerations(p: Problem) -> Array:
    """[d omega/dt; d^2 p/dt^2] = [alpha_w; alpha_v + w x v], from alpha(k) = phi* alpha(p) + H* vdot + a."""
    V = p.state.motion.V
    rate = p.state.alpha.copy()
    rate[..., 3:] += cross(V[..., :3], V[..., 3:])
    return turned(p, rate)


def node_motion(p: Problem) -> tuple[Array, Array, Array, Array]:
    """Pose, velocity and acceleration of each node."""
    count = len(p.nodes)
    R, x = np.zeros((*p.batch, count, 3, 3)), np.zeros((*p.batch, count, 3))
    V, rate = np.zeros((*p.batch, count, 6)), np.zeros((*p.batch, count, 6))
    for i, node in enumerate(p.nodes):
        R[..., i, :, :], x[..., i, :] = pose_of_frame(p.state, node)
        V[..., i, :], rate[..., i, :] = twist_of(p, node, "velocities"), twist_of(p, node, "accelerations")
    return R, x, V, rate


# -- Jacobians of nodes ------------------------------------------------------------------------------------------------


def jacobian(p: Problem) -> Array:
    """J = B* phi* H*, one block of rows for each node."""
    J = np.zeros((*p.batch, 6 * len(p.nodes), p.nv))
    for i, node in enumerate(p.nodes):
        J[..., 6 * i : 6 * i + 6, :] = both(node_axes(p, node), _of_node(p, node))
    return J


def _of_node(p: Problem, node: Frame) -> Array:
    """One node's Jacobian in its own axes: X = phi*(k,O), then inboard X H*(j), X <- X phi*(p,j)."""
    m, slices = p.linear, p.layout.v_slices
    J = np.zeros((*p.batch, 6, p.nv))
    j, block = p.graph.node_block(node, p.state)
    X = block.mT
    while True:
        J[..., slices[j]] = X @ m.H(j).mT
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


# -- from the own axes of bodies and nodes to the axes asked for -------------------------------------------------------


def turned(p: Problem, x: Array) -> Array:
    """Spatial vectors (..., n, 6) of bodies in their own axes, in the axes asked for."""
    if p.expressed_in == "body":
        return x
    R = p.state.configuration.world[0]
    if isinstance(p.expressed_in, Frame):
        R = pose_of_frame(p.state, p.expressed_in)[0].mT[..., None, :, :] @ R
    return _both(R, x)


def node_axes(p: Problem, node: Frame) -> Array:
    """The rotation (..., 3, 3) from a node's own axes to the axes asked for."""
    if p.expressed_in == "node":
        return np.eye(3)
    R = pose_of_frame(p.state, node)[0]
    if isinstance(p.expressed_in, Frame):
        R = pose_of_frame(p.state, p.expressed_in)[0].mT @ R
    return R


def twist_of(p: Problem, frame: Frame, kind: str) -> Array:
    """Velocity or acceleration of any frame, [angular; linear] of its origin, in the axes asked for."""
    measure = velocity_of_frame if kind == "velocities" else acceleration_of_frame
    with np.errstate(all="ignore"):
        angular, linear = np.broadcast_arrays(*measure(p.state, frame))
        twist = np.concatenate([angular, linear], axis=-1)
        if p.expressed_in == "inertial":
            return twist
        axes = p.expressed_in if isinstance(p.expressed_in, Frame) else frame
        return _both(pose_of_frame(p.state, axes)[0].mT, twist)


def _both(R: Array, x: Array) -> Array:
    """diag(R, R) x."""
    return np.concatenate([times(R, x[..., :3]), times(R, x[..., 3:])], axis=-1)


def both(R: Array, X: Array) -> Array:
    """diag(R, R) X for matrices X (..., 6, m)."""
    return np.concatenate([R @ X[..., :3, :], R @ X[..., 3:, :]], axis=-2)

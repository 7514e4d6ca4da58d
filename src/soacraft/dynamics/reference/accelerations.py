"""Velocities and accelerations of all bodies, and the motion of nodes."""

from __future__ import annotations

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference.turning import turned, twist_of
from soacraft.model.states.kinematics import pose_of_frame
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import cross


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

"""From the own axes of bodies and nodes to the axes asked for."""

from __future__ import annotations

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.model.flat.realize import times
from soacraft.model.states.kinematics import acceleration_of_frame, pose_of_frame, velocity_of_frame
from soacraft.model.tree.frame import Frame
from soacraft.spatial.checks import Array


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

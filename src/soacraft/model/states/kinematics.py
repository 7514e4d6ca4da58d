"""Pose, velocity and acceleration of any frame, and of one relative to another.

Numbers are in inertial axes; `frame_pose`, `frame_velocity` and `frame_acceleration` give them to users, finite or
refused, in the axes that were asked for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from soacraft.model.flat.realize import Poses, times
from soacraft.model.modal.deformation import Pi_on, Pi_rate_on, pose_on
from soacraft.model.states.snapshot import Snapshot
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.frames.moving_frame import MovingFrame
from soacraft.results import finite_or_refused
from soacraft.spatial.checks import Array
from soacraft.spatial.measured import Measured, RelativePose
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import cross
from soacraft.spatial.transforms import crm, phi

Twist = tuple[Array, Array]
_ZERO = np.zeros(3)


def pose_of_frame(state: Snapshot, frame: Frame) -> Poses:
    """Rotation and origin of a frame in the inertial frame. O(1) once the body poses are known."""
    if isinstance(frame, MovingFrame):
        R_on, p_on = pose_of_frame(state, frame.on)
        moved = frame.now.pose
        return R_on @ moved.rotation, p_on + times(R_on, moved.translation)
    R_node, p_node = pose_in_body(state, frame)
    if not isinstance(frame.carrier, Body):
        return R_node, p_node
    k = state.configuration.layout.index[frame.carrier]
    R, p = state.configuration.world
    R, p = R[..., k, :, :], p[..., k, :]
    return R @ R_node, p + times(R, p_node)


def pose_in_body(state: Snapshot, frame: Frame) -> Poses:
    """Rotation and origin of a frame on what carries it: constant, or at the modal coordinates of a flexible body."""
    if frame.modal_node is None:
        return frame.offset.rotation, frame.offset.translation
    return pose_on(frame.modal_node, frame.offset, _eta(state, frame))


def modal_block(state: Snapshot, frame: Frame) -> Array:
    """Pi of a frame on a flexible body: its twists for unit modal rates, at it in its axes, (..., 6, n)."""
    c = state.configuration
    if frame.modal_node is None:
        assert isinstance(frame.carrier, Body)
        return np.zeros((6, c.layout.modal(c.layout.index[frame.carrier]).n))
    return Pi_on(frame.modal_node, frame.offset, _eta(state, frame))


def node_block(state: Snapshot, frame: Frame) -> Array:
    """[phi*(k, O), Pi, 0]: the twist of a frame, at it in its axes, from the velocity [V; d eta/dt; rotors] of the node
    of its body k, (..., 6, size of the node)."""
    layout = state.configuration.layout
    assert isinstance(frame.carrier, Body)
    k = layout.index[frame.carrier]
    carried = phi(*pose_in_body(state, frame)).mT
    if layout.dims[k] == 6:
        return carried
    block = np.zeros((*state.configuration.q.shape[:-1], 6, layout.dims[k]))
    block[..., :6] = carried
    if frame.carrier._modal is not None:
        block[..., 6 : 6 + frame.carrier._modal.n] = modal_block(state, frame)
    return block


def node_bias(state: Snapshot, frame: Frame) -> Array:
    """Acceleration of a frame in its axes less `node_block` times that of the node of its body: Pidot etad - crm(Pi
    etad) phi* V; zero on a rigid body, (..., 6).
    """
    c = state.configuration
    assert isinstance(frame.carrier, Body)
    if frame.modal_node is None or c.flex is None:
        return np.zeros(6)
    k = c.layout.index[frame.carrier]
    rate = c.flex.rates(state.motion.v, k)
    own = Pi_rate_on(frame.modal_node, frame.offset, *np.broadcast_arrays(c.flex.eta(k), rate))
    carried = times(phi(*pose_in_body(state, frame)).mT, state.motion.V[..., k, :])
    return np.asarray(own - times(crm(times(modal_block(state, frame), rate)), carried))


def own_twist(state: Snapshot, frame: Frame) -> Array:
    """The twist of a frame, at it in its axes, (..., 6); zero for one that is not on a body."""
    if not isinstance(frame.carrier, Body):
        return np.zeros(6)
    k = state.configuration.layout.index[frame.carrier]
    return times(node_block(state, frame), state.node_vectors(state.motion.V, state.motion.v)[k])


def _eta(state: Snapshot, frame: Frame) -> Array:
    c = state.configuration
    assert isinstance(frame.carrier, Body) and c.flex is not None
    return c.flex.eta(c.layout.index[frame.carrier])


def _modal_twist(state: Snapshot, frame: Frame, rates: Array) -> Twist | None:
    """Pi times modal rates or accelerations in inertial axes, None on a rigid body."""
    if frame.modal_node is None:
        return None
    c = state.configuration
    assert isinstance(frame.carrier, Body) and c.flex is not None
    own = c.flex.rates(rates, c.layout.index[frame.carrier])
    R, twist = pose_of_frame(state, frame)[0], times(modal_block(state, frame), own)
    return times(R, twist[..., :3]), times(R, twist[..., 3:])


def velocity_of_frame(state: Snapshot, frame: Frame) -> Twist:
    """Angular velocity of a frame and velocity of its origin: `w`, `v + w x r`, plus the prescribed motion of a moving
    frame.
    """
    if isinstance(frame, MovingFrame):
        w, v, r, (own_w, own_v) = *velocity_of_frame(state, frame.on), *_own_motion(state, frame, frame.now.velocity)
        return w + own_w, v + cross(w, r) + own_v
    if not isinstance(frame.carrier, Body):
        return _ZERO, _ZERO
    k = state.configuration.layout.index[frame.carrier]
    R = state.configuration.world[0][..., k, :, :]
    V = state.motion.V[..., k, :]
    w, v = times(R, V[..., :3]), times(R, V[..., 3:])
    v = v + cross(w, times(R, pose_in_body(state, frame)[1]))
    modal = _modal_twist(state, frame, state.motion.v)
    return (w, v) if modal is None else (w + modal[0], v + modal[1])


def acceleration_of_frame(state: Snapshot, frame: Frame) -> Twist:
    """d w/dt of a frame and d^2 p/dt^2 of its origin: `wdot`, `vdot + w x v + wdot x r + w x (w x r)`.

    The body-axes alpha(k) is the rate of the components, so the origin's acceleration is `alpha_v + w x v`. A moving
    frame adds its prescribed motion, with `w x w_own` and `2 w x v_own`.
    """
    if isinstance(frame, MovingFrame):
        (w, _), (wdot, a) = velocity_of_frame(state, frame.on), acceleration_of_frame(state, frame.on)
        _, (own_w, own_v) = _own_motion(state, frame, frame.now.velocity)
        r, (own_wdot, own_a) = _own_motion(state, frame, frame.now.acceleration)
        turning = cross(wdot, r) + cross(w, cross(w, r)) + 2.0 * cross(w, own_v)
        return wdot + own_wdot + cross(w, own_w), a + turning + own_a
    if not isinstance(frame.carrier, Body):
        return _ZERO, _ZERO
    k = state.configuration.layout.index[frame.carrier]
    R = state.configuration.world[0][..., k, :, :]
    V, alpha = state.motion.V[..., k, :], state.alpha[..., k, :]
    w, wdot = times(R, V[..., :3]), times(R, alpha[..., :3])
    origin = times(R, alpha[..., 3:] + cross(V[..., :3], V[..., 3:]))
    r = times(R, pose_in_body(state, frame)[1])
    carried = origin + cross(wdot, r) + cross(w, cross(w, r))
    if frame.modal_node is None:
        return wdot, carried
    return _with_modes(state, frame, w, wdot, carried)


def _with_modes(state: Snapshot, frame: Frame, w: Array, wdot: Array, carried: Array) -> Twist:
    """The acceleration of a frame on a flexible body, w and wdot those of its body: with w_m, v_m the velocity by the
    modes in inertial axes, `wdot + wdot_m + w x w_m`, `carried + vdot_m + 2 w x v_m`."""
    c, rates = state.configuration, state.motion.v
    assert frame.modal_node is not None and isinstance(frame.carrier, Body) and c.flex is not None
    k, (w_m, v_m) = c.layout.index[frame.carrier], _known(_modal_twist(state, frame, rates))
    turn, push = _known(_modal_twist(state, frame, np.asarray(state.vdot)))
    eta, rate = np.broadcast_arrays(c.flex.eta(k), c.flex.rates(rates, k))
    R, own = pose_of_frame(state, frame)[0], Pi_rate_on(frame.modal_node, frame.offset, eta, rate)
    # the rates of components in axes that turn with the modes: v_m' = R (rate) + w_m x v_m
    turn, push = turn + times(R, own[..., :3]), push + times(R, own[..., 3:]) + cross(w_m, v_m)
    return wdot + turn + cross(w, w_m), carried + push + 2.0 * cross(w, v_m)


def _known(twist: Twist | None) -> Twist:
    assert twist is not None
    return twist


def _own_motion(state: Snapshot, frame: MovingFrame, twist: Array) -> tuple[Array, Twist]:
    """The way from what a moving frame is on to it, and its own velocity or acceleration, in inertial axes."""
    R = pose_of_frame(state, frame.on)[0]
    return times(R, frame.now.pose.translation), (times(R, twist[:3]), times(R, twist[3:]))


def relative_pose(state: Snapshot, of: Frame, to: Frame) -> Poses:
    """The pose of one frame seen from another."""
    (R, p), (R_to, p_to) = pose_of_frame(state, of), pose_of_frame(state, to)
    return R_to.mT @ R, times(R_to.mT, p - p_to)


def relative_velocity(state: Snapshot, of: Frame, to: Frame) -> Twist:
    """Velocity seen by an observer moving with `to`: `w - w_to`, `v - v_to - w_to x r`, r from `to` to `of`."""
    (w, v), (w_to, v_to) = velocity_of_frame(state, of), velocity_of_frame(state, to)
    r = pose_of_frame(state, of)[1] - pose_of_frame(state, to)[1]
    return w - w_to, v - v_to - cross(w_to, r)


def relative_acceleration(state: Snapshot, of: Frame, to: Frame) -> Twist:
    """The rates of the relative velocity as an observer moving with `to` sees them:

    wdot - wdot_to - w_to x w_rel,   a - a_to - wdot_to x r - w_to x (w_to x r) - 2 w_to x v_rel
    """
    (wdot, a), (wdot_to, a_to) = acceleration_of_frame(state, of), acceleration_of_frame(state, to)
    w_rel, v_rel = relative_velocity(state, of, to)
    w_to, _ = velocity_of_frame(state, to)
    r = pose_of_frame(state, of)[1] - pose_of_frame(state, to)[1]
    turning = cross(w_to, cross(w_to, r)) + 2.0 * cross(w_to, v_rel)
    return wdot - wdot_to - cross(w_to, w_rel), a - a_to - cross(wdot_to, r) - turning


def expressed(state: Snapshot, frame: Frame, twist: Twist) -> Array:
    """[angular; linear] of a twist turned from inertial axes into the axes of a frame, (..., 6)."""
    R_T = pose_of_frame(state, frame)[0].mT
    angular, linear = times(R_T, twist[0]), times(R_T, twist[1])
    angular, linear = np.broadcast_arrays(angular, linear)
    return np.concatenate([angular, linear], axis=-1)


# -- for users -----------------------------------------------------------------------------------------------


def frame_pose(state: Snapshot, of: Frame, to: Frame) -> RelativePose:
    """The pose of one frame seen from another, finite or refused."""
    with np.errstate(all="ignore"):
        R, p = relative_pose(state, of, to)
    finite_or_refused(p, f"the position of {of.full_name!r} relative to {to.full_name!r}")
    R, p = np.broadcast_to(R, (*state.batch, 3, 3)), np.broadcast_to(p, (*state.batch, 3))
    return RelativePose(Pose.unchecked(R, p), of=of.full_name, relative_to=to.full_name)


def frame_velocity(state: Snapshot, of: Frame, to: Frame, axes: Frame) -> Measured:
    """`relative_velocity` in the axes of a frame."""
    return _measured("velocity", relative_velocity, state, of, to, axes)


def frame_acceleration(state: Snapshot, of: Frame, to: Frame, axes: Frame) -> Measured:
    """`relative_acceleration` in the axes of a frame."""
    return _measured("acceleration", relative_acceleration, state, of, to, axes)


def _measured(
    kind: str, relative: Callable[[Snapshot, Frame, Frame], Twist], state: Snapshot, of: Frame, to: Frame, axes: Frame
) -> Measured:
    with np.errstate(all="ignore"):
        vector = np.broadcast_to(expressed(state, axes, relative(state, of, to)), (*state.batch, 6))
    finite_or_refused(vector, f"the {kind} of {of.full_name!r} relative to {to.full_name!r}")
    return Measured(vector, kind, of=of.full_name, relative_to=to.full_name, expressed_in=axes.full_name)

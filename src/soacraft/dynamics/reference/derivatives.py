"""Derivatives of inverse and forward dynamics, analytic, in the tangent space, for every hinge and flexible bodies.

The way from body to body is cut into steps that each have dofs of their own (`segments`): one for a hinge between rigid
frames, up to three where modes move them. In body axes a move along dof j of a step, with twists S, changes phi by
phi crf(S_j) (G1), and S by dS_j where it varies. With V+ = phi* V and alpha+ = phi* alpha of what is inboard, u = S w
the twist of the step at rates w, gravity taken as an acceleration -g of the parent of the base bodies, the derivatives
along all dofs at once are columns that obey

    base to tips:   dV     = phi* dV(in)     + [crm(V+) S + dS w]
                    dalpha = phi* dalpha(in) - crm(u) dV
                             + [crm(alpha+) S + dS wdot + crm(V) dS w + d(Sdot w)]
    tips to base:   df     = sum over outboard steps of phi (df + [crf(S) f])  + d(M alpha + b) - dF
                    dT     = S* df + [dS* f]

where [..] is in the columns of the step's own dofs only. Along v the brackets are [S] and [crm(V) S + d(Sdot w)].
Modes are dofs of several steps, and of the body: their T has what M and b of the body give in their rows. F is the
external force: constant in the axes of its node, unless it is expressed in another frame's axes. Armature gives T the
term J vdot, which changes with vdot alone; so all of this is about the six of each body and its modes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference.blocks import columns
from soacraft.dynamics.reference.forward import forward_dynamics, solve_columns
from soacraft.dynamics.reference.inertia import mass_matrix
from soacraft.dynamics.reference.inverse import along_dofs_derivatives
from soacraft.dynamics.reference.segments import Segment, Twists, frame_segment, segments
from soacraft.model.flat.realize import times
from soacraft.model.modal.bodies import ForceSlopes, force_slopes
from soacraft.model.states.kinematics import pose_of_frame
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.frames.moving_frame import MovingFrame
from soacraft.recursions import newton_euler
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import skew
from soacraft.spatial.transforms import crf, crf_with, crm


def inverse_dynamics_derivatives(p: Problem) -> tuple[Array, Array, Array]:
    """dT/dq, dT/dv and dT/dvdot, each (..., nv, nv)."""
    dq, dv = _along_q_and_v(p, p.given["vdot"])
    return dq, dv, mass_matrix(p)


def forward_dynamics_derivatives(p: Problem) -> tuple[Array, Array, Array]:
    """dvdot/dq = -Mcal^-1 dT/dq, dvdot/dv = -Mcal^-1 dT/dv at the vdot of the force, dvdot/dforce = Mcal^-1."""
    dq, dv = _along_q_and_v(p, forward_dynamics(p))
    eye = np.broadcast_to(np.eye(p.nv), (*p.batch, p.nv, p.nv))
    dq, dv = np.broadcast_to(dq, eye.shape), np.broadcast_to(dv, eye.shape)
    X = solve_columns(p, np.concatenate([-dq, -dv, eye], axis=-1))
    inverse = X[..., 2 * p.nv :]
    return X[..., : p.nv], X[..., p.nv : 2 * p.nv], 0.5 * (inverse + inverse.mT)


def stiffness(p: Problem) -> Array:
    """dT/dq alone, (..., nv, nv): also where a flexible body is bent so far that its mass matrix is not positive."""
    motion = motion_of(p, p.given["vdot"])
    J = outward(p, motion, along_v(p, motion))[0]
    return inward(p, motion, outward(p, motion, along_q(p, motion)), J) - along_dofs_derivatives(p)[0]


def _along_q_and_v(p: Problem, vdot: Array) -> tuple[Array, Array]:
    """dT/dq and dT/dv at vdot held; springs and dampers take their part of T."""
    motion = motion_of(p, vdot)
    in_q, in_v = outward(p, motion, along_q(p, motion)), outward(p, motion, along_v(p, motion))
    dq = inward(p, motion, in_q, J=in_v[0])
    dv = inward(p, motion, in_v)
    own_q, own_v = along_dofs_derivatives(p)
    return dq - own_q, dv - own_v


class Motion(NamedTuple):
    """The motion the derivatives are taken at, (..., 6) by step, in the axes of what the step ends at."""

    steps: list[Segment]
    ends: list[int]  # the step that ends at each body
    frames: list[int]  # that which ends at each of the frames asked for
    V: list[Array]
    V_plus: list[Array]
    alpha: list[Array]
    alpha_plus: list[Array]
    f: list[Array]
    vdot: Array
    loads: bool  # whether gravity, stiffness and forces act; without them only inertia does


class Seeds(NamedTuple):
    """Columns of a body's own dofs, (..., 6, m) by step."""

    V: list[Array]
    alpha: list[Array]


def motion_of(p: Problem, vdot: Array, frames: Sequence[Frame] = (), loads: bool = True) -> Motion:
    """All that the sweeps need, once for both derivatives; with steps to frames on bodies, which no force acts at.
    Without loads f is that of accelerations alone."""
    steps = segments(p)
    ends = [0] * p.n
    for i, step in enumerate(steps):
        if step.body >= 0:
            ends[step.body] = i
    at = range(len(steps), len(steps) + len(frames))
    steps += [frame_segment(p, x, ends[p.layout.index[_carrier(x)]]) for x in frames]
    v, (base_V, base_alpha) = p.full("v"), _anchor(p) if loads else (np.zeros(6), np.zeros(6))
    V: list[Array] = []
    alpha: list[Array] = []
    V_plus, alpha_plus = [], []
    for i, step in enumerate(steps):
        phi_T, (S, _, bias, *_), w = step.A.mT, step.twists, step.dofs
        V_plus.append(times(phi_T, base_V if step.inboard < 0 else V[step.inboard]))
        alpha_plus.append(times(phi_T, base_alpha if step.inboard < 0 else alpha[step.inboard]))
        u = times(S, v[..., w])
        V.append(V_plus[i] + u)
        alpha.append(alpha_plus[i] + times(S, vdot[..., w]) - times(crm(u), V[i]) + (0.0 if bias is None else bias))
    solved = newton_euler(p.sko if loads else p.linear, columns(p, vdot)).f
    f: list[Array] = [np.zeros(6)] * len(steps)
    for i in reversed(range(len(steps))):
        step = steps[i]
        if step.body >= 0:
            f[i] = solved[step.body][..., :6, 0]
        if step.inboard >= 0 and steps[step.inboard].body < 0:  # a frame without mass
            f[step.inboard] = times(step.A, f[i])
    return Motion(steps, ends, list(at), V, V_plus, alpha, alpha_plus, f, vdot, loads)


def _carrier(frame: Frame) -> Body:
    assert isinstance(frame.carrier, Body)
    return frame.carrier


def _anchor(p: Problem) -> tuple[Array, Array]:
    """Velocity of what the base bodies hang from, and its acceleration less gravity, in its own axes."""
    weight = times(p.state.configuration.base[0].mT, p.graph.gravity)
    pull = np.concatenate([np.zeros(weight.shape), weight], axis=-1)
    V, alpha = p.state.motion.base or (np.zeros(6), np.zeros(6))
    return V, alpha - pull


def along_q(p: Problem, m: Motion) -> Seeds:
    """The brackets along the configuration."""
    v, V, alpha = p.full("v"), [], []
    for i, step in enumerate(m.steps):
        S, twists = step.twists.S, step.twists
        V.append(crm(m.V_plus[i]) @ S)
        alpha.append(crm(m.alpha_plus[i]) @ S)
        if twists.dS is not None and twists.bias_q is not None:
            turned = _columns(twists.dS, v[..., step.dofs])
            V[i] = V[i] + turned
            alpha[i] = alpha[i] + _columns(twists.dS, m.vdot[..., step.dofs]) + crm(m.V[i]) @ turned + twists.bias_q
    return Seeds(V, alpha)


def along_v(p: Problem, m: Motion) -> Seeds:
    """The brackets along the velocity."""
    alpha = []
    for i, step in enumerate(m.steps):
        alpha.append(crm(m.V[i]) @ step.twists.S)
        if step.twists.bias_v is not None:
            alpha[i] = alpha[i] + step.twists.bias_v
    return Seeds([step.twists.S for step in m.steps], alpha)


def _columns(dS: Array, w: Array) -> Array:
    """dS_j w in column j."""
    return np.asarray(np.einsum("...jam,...m->...aj", dS, w))


def outward(p: Problem, m: Motion, seeds: Seeds) -> tuple[list[Array], list[Array]]:
    """dV and dalpha of all steps, (..., 6, nv), base to tips; alpha less gravity."""
    v = p.full("v")
    dV: list[Array] = []
    dalpha: list[Array] = []
    lead = np.broadcast_shapes(p.batch, m.vdot.shape[:-1])
    for i, step in enumerate(m.steps):
        phi_T, at = step.A.mT, step.inboard
        rate, accel = (np.zeros((*lead, 6, p.nv)), np.zeros((*lead, 6, p.nv)))
        if at >= 0:
            rate[...], accel[...] = phi_T @ dV[at], phi_T @ dalpha[at]
        rate[..., step.dofs] += seeds.V[i]
        accel -= crm(times(step.twists.S, v[..., step.dofs])) @ rate
        accel[..., step.dofs] += seeds.alpha[i]
        dV.append(rate)
        dalpha.append(accel)
    return dV, dalpha


def inward(p: Problem, m: Motion, moved: tuple[list[Array], list[Array]], J: list[Array] | None = None) -> Array:
    """dT (..., nv, nv) from dV and dalpha of all steps; J, the twists of all steps along the dofs, where those are
    derivatives along the configuration."""
    (dV, dalpha), lead = moved, moved[0][0].shape[:-2] if moved[0] else p.batch
    dT = np.zeros((*lead, p.nv, p.nv))
    df = [np.zeros((*lead, 6, p.nv)) for _ in m.steps]
    M = p.state.configuration.M
    for k, i in enumerate(m.ends):
        if k in p.layout.flexible:
            df[i] += _of_flexible(p, m, k, dV[i], dalpha[i], dT, along_q=J is not None)
        else:
            M_k, V = M[..., k, :, :], m.V[i]
            df[i] += M_k @ dalpha[i] + (crf_with(times(M_k, V)) + crf(V) @ M_k) @ dV[i]
    if J is not None:
        _less_forces(p, m, J, df, dT)
    for i in reversed(range(len(m.steps))):
        step = m.steps[i]
        dT[..., step.dofs, :] += step.twists.S.mT @ df[i]
        if J is not None:
            _turn(step, m.f[i], df[i], dT)
        if step.inboard >= 0:
            df[step.inboard] += step.A @ df[i]
    return dT


def _turn(step: Segment, f: Array, df: Array, dT: Array) -> None:
    """[dS* f] of a step, and the turn [crf(S) f] of its force on the way inboard."""
    twists: Twists = step.twists
    if twists.dS is not None:
        dT[..., step.dofs, step.dofs] += np.einsum("...jam,...a->...mj", twists.dS, f)
    df[..., step.dofs] += crf_with(f) @ twists.S


def _of_flexible(p: Problem, m: Motion, k: int, dV: Array, dalpha: Array, dT: Array, along_q: bool) -> Array:
    """d(M [alpha; etadd] + b) of a flexible body, its modes' rows added to dT; the six are returned."""
    c, i, data = p.state.configuration, m.ends[k], p.layout.modal(k)
    assert c.flex is not None
    modes = slice(p.layout.hinge_v[k].stop, p.layout.v_slices[k].stop)
    lead = np.broadcast_shapes(m.alpha[i].shape[:-1], m.vdot.shape[:-1])
    rates = np.broadcast_to(m.vdot[..., modes], (*lead, data.n))
    W = np.concatenate([np.broadcast_to(m.alpha[i], (*lead, 6)), rates], axis=-1)
    slopes: ForceSlopes = force_slopes(data, c.flex.eta(k), c.flex.rates(p.full("v"), k), m.V[i], W, m.loads)
    dF = c.modal_inertias[k][..., :6] @ dalpha + slopes.in_U[..., :6] @ dV
    dF[..., modes] += slopes.along_eta if along_q else slopes.in_U[..., 6:]
    dT[..., modes, :] += dF[..., 6:, :]
    return np.asarray(dF[..., :6, :])


# -- external forces ---------------------------------------------------------------------------------------------------


def _less_forces(p: Problem, m: Motion, J: list[Array], df: list[Array], dT: Array) -> None:
    """Subtract what external forces change by: those in the axes of another frame, by the turns of the two, du = (turn
    of the frame - turn of the node) x u; those at deforming nodes, by the step along the modes to the node."""
    for frame, wrench in p.forces:
        axes = wrench.expressed_in
        if axes is None and frame.modal_node is None:
            continue
        end = m.ends[p.layout.index[_carrier(frame)]]
        step, u, R = frame_segment(p, frame, end), np.asarray(wrench), pose_of_frame(p.state, frame)[0]
        du = np.zeros((*dT.shape[:-2], 6, p.nv))
        if axes is not None:
            to_node = R.mT @ pose_of_frame(p.state, axes)[0]
            u = np.concatenate([times(to_node, u[..., :3]), times(to_node, u[..., 3:])], axis=-1)
            turn = R.mT @ (_turn_of(p, m, J, axes) - _turn_of(p, m, J, frame))
            du[..., :3, :], du[..., 3:, :] = -skew(u[..., :3]) @ turn, -skew(u[..., 3:]) @ turn
        dT[..., step.dofs, :] -= step.twists.S.mT @ du
        _turn(step, -u, minus := -du, dT)
        df[end] += step.A @ minus


def _turn_of(p: Problem, m: Motion, J: list[Array], frame: Frame) -> Array:
    """The small turns of a frame for a step along each dof, in inertial axes, (..., 3, nv)."""
    while isinstance(frame, MovingFrame):  # its own motion is given in time
        frame = frame.on
    if not isinstance(frame.carrier, Body):
        return np.zeros((3, p.nv))
    k = p.layout.index[frame.carrier]
    step = frame_segment(p, frame, m.ends[k])
    twist = step.A.mT @ J[m.ends[k]]
    twist[..., step.dofs] += step.twists.S
    return np.asarray(pose_of_frame(p.state, frame)[0] @ twist[..., :3, :])

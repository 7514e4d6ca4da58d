"""Derivatives of inverse and forward dynamics, analytic, in the tangent space, for every hinge.

In body axes a step along dof j of hinge k, with s = H*(k) e_j, changes phi(p,k) by phi(p,k) crf(s) (G1), and H*(k) by
dH*_j where it varies. With V+ = phi* V(p) and alpha+ = phi* alpha(p), gravity taken as an acceleration -g of what the
base bodies hang from, the derivatives along all dofs at once are columns that obey

    base to tips:   dV(k)     = phi* dV(p)     + [crm(V+) H* + dH* v]
                    dalpha(k) = phi* dalpha(p) - crm(H* v) dV(k)
                                + [crm(alpha+) H* + dH* vdot + crm(V) dH* v + d(Hdot* v)]
    tips to base:   df(k)     = sum over children of phi (df(j) + [crf(s) f(j)])
                                + M dalpha + d(crf(V) M V) - dF(k)
                    dT(k)     = H df(k) + [dH f(k)]

where [..] is in the columns of the own hinge only. Along v the brackets are [H*] and [crm(V) H* + d(Hdot* v)].
F(k) is the external force on the body: constant in body axes, unless it is expressed in another frame's axes. Armature
gives T the term J vdot, which changes with vdot alone; so all of this is about the six of each body.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference.blocks import columns
from soacraft.dynamics.reference.forward import forward_dynamics, solve_columns
from soacraft.dynamics.reference.inertia import mass_matrix
from soacraft.dynamics.reference.inverse import along_dofs_derivatives
from soacraft.model.flat.realize import times
from soacraft.model.hinges.base import dbias_of, dH_of
from soacraft.model.states.kinematics import pose_of_frame
from soacraft.model.tree.frames.frame import Body
from soacraft.recursions import newton_euler
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import skew
from soacraft.spatial.transforms import crf, crm


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


def _along_q_and_v(p: Problem, vdot: Array) -> tuple[Array, Array]:
    """dT/dq and dT/dv at vdot held; springs and dampers take their part of T."""
    motion = motion_of(p, vdot)
    dq = _sweep(p, motion, along_q(p, motion), moved=True)
    dv = _sweep(p, motion, along_v(p, motion), moved=False)
    own_q, own_v = along_dofs_derivatives(p)
    return dq - own_q, dv - own_v


class Motion(NamedTuple):
    """The motion the derivatives are taken at, (..., n, 6) in body axes, and how the hinge maps vary, by body."""

    A: Array  # phi(p(k), k), base bodies included
    H_T: list[Array]
    V: Array
    V_plus: Array
    alpha_plus: Array
    twist: Array
    f: Array
    dH_v: list[Array]  # columns dH*_j v
    dH_vdot: list[Array]  # columns dH*_j vdot
    dH_f: list[Array]  # columns dH_j f
    dbias_q: list[Array]
    dbias_v: list[Array]


class Seeds(NamedTuple):
    """What is in the columns of the own hinge, (..., 6, nv_k) and (..., nv_k, nv_k) by body."""

    V: list[Array]
    alpha: list[Array]
    f: list[Array] | None
    T: list[Array] | None


def motion_of(p: Problem, vdot: Array) -> Motion:
    """All that the sweeps need, once for both derivatives."""
    layout, sko = p.layout, p.sko
    c, motion = p.state.configuration, p.state.motion
    found = newton_euler(sko, columns(p, vdot))
    lead = np.broadcast_shapes(p.batch, vdot.shape[:-1])
    alpha = np.empty((*lead, p.n, 6))
    f = np.empty((*lead, p.n, 6))
    for k in sko.nodes:
        alpha[..., k, :], f[..., k, :] = found.alpha[k][..., :6, 0], found.f[k][..., :6, 0]
    alpha[..., 3:] -= times(c.world[0].mT, p.graph.gravity)
    V_plus, alpha_plus = np.empty((*lead, p.n, 6)), np.empty((*lead, p.n, 6))
    base_V, base_alpha = _anchor(p)
    for k, parent in enumerate(layout.parents):
        phi_T = c.A[..., k, :, :].mT
        V_plus[..., k, :] = times(phi_T, base_V if parent < 0 else motion.V[..., parent, :])
        alpha_plus[..., k, :] = times(phi_T, base_alpha if parent < 0 else alpha[..., parent, :])
    H_T = [sko.H(k)[..., : where.stop - where.start, :6].mT for k, where in enumerate(layout.hinge_v)]
    return Motion(c.A, H_T, motion.V, V_plus, alpha_plus, motion.twists, f, *_hinges(p, vdot, f))


def _anchor(p: Problem) -> tuple[Array, Array]:
    """Velocity of what the base bodies hang from, and its acceleration less gravity, in its own axes."""
    weight = times(p.state.configuration.base[0].mT, p.graph.gravity)
    pull = np.concatenate([np.zeros(weight.shape), weight], axis=-1)
    V, alpha = p.state.motion.base or (np.zeros(6), np.zeros(6))
    return V, alpha - pull


def _hinges(p: Problem, vdot: Array, f: Array) -> tuple[list[Array], ...]:
    """What the derivatives of the hinge maps give, by body; zero where they are constant."""
    found: tuple[list[Array], ...] = tuple([np.zeros(0)] * p.n for _ in range(5))
    q, v = p.full("q"), p.full("v")
    vdot = np.broadcast_to(vdot, (*p.batch, p.nv))
    for group in p.layout.groups:
        own_q, own_v = q[..., group.q_index], v[..., group.v_index]
        to_body = p.layout.to_body[group.bodies]
        dH = to_body[:, None] @ dH_of(group.hinge, own_q)  # (..., bodies, j, 6, m)
        in_q, in_v = dbias_of(group.hinge, own_q, own_v)
        parts = (
            np.einsum("...jam,...m->...aj", dH, own_v),
            np.einsum("...jam,...m->...aj", dH, vdot[..., group.v_index]),
            np.einsum("...jam,...a->...mj", dH, f[..., group.bodies, :]),
            to_body @ in_q,
            to_body @ in_v,
        )
        for store, part in zip(found, parts, strict=True):
            for i, k in enumerate(group.bodies):
                store[k] = part[..., i, :, :]
    return found


def along_q(p: Problem, m: Motion) -> Seeds:
    """The brackets along the configuration."""
    V, alpha, f = [], [], []
    for k in range(p.n):
        V.append(crm(m.V_plus[..., k, :]) @ m.H_T[k] + m.dH_v[k])
        own = crm(m.alpha_plus[..., k, :]) @ m.H_T[k] + m.dH_vdot[k]
        alpha.append(own + crm(m.V[..., k, :]) @ m.dH_v[k] + m.dbias_q[k])
        f.append(crf_with(m.f[..., k, :]) @ m.H_T[k])
    return Seeds(V, alpha, f, m.dH_f)


def along_v(p: Problem, m: Motion) -> Seeds:
    """The brackets along the velocity."""
    alpha = [crm(m.V[..., k, :]) @ m.H_T[k] + m.dbias_v[k] for k in range(p.n)]
    return Seeds(m.H_T, alpha, None, None)


def crf_with(f: Array) -> Array:
    """The matrix X(f) with crf(s) f = X(f) s: -[[n~, f~], [f~, 0]] for f = [n; f]."""
    X = np.zeros((*f.shape, 6))
    X[..., :3, :3] = -skew(f[..., :3])
    X[..., :3, 3:] = X[..., 3:, :3] = -skew(f[..., 3:])
    return X


def outward(p: Problem, m: Motion, seeds: Seeds) -> tuple[Array, Array]:
    """dV and dalpha of all bodies, (..., n, 6, nv), base to tips; alpha less gravity."""
    where, lead = p.layout.hinge_v, m.f.shape[:-2]
    dV, dalpha = np.zeros((*lead, p.n, 6, p.nv)), np.zeros((*lead, p.n, 6, p.nv))
    for k in p.layout.tree.base_to_tips():
        parent, phi_T = p.layout.parents[k], m.A[..., k, :, :].mT
        if parent >= 0:
            dV[..., k, :, :] = phi_T @ dV[..., parent, :, :]
            dalpha[..., k, :, :] = phi_T @ dalpha[..., parent, :, :]
        dV[..., k, :, where[k]] += seeds.V[k]
        dalpha[..., k, :, :] -= crm(m.twist[..., k, :]) @ dV[..., k, :, :]
        dalpha[..., k, :, where[k]] += seeds.alpha[k]
    return dV, dalpha


def _sweep(p: Problem, m: Motion, seeds: Seeds, moved: bool) -> Array:
    """The two sweeps on columns over all dofs; `moved`: the external forces change with the configuration."""
    where, M = p.layout.hinge_v, p.layout.M
    dV, dalpha = outward(p, m, seeds)
    rate = crf_with(times(M, m.V)) + crf(m.V) @ M  # of crf(V) M V
    df = M @ dalpha + rate @ dV
    if moved:
        _less_turned_forces(p, m, df)
    dT = np.zeros((*df.shape[:-3], p.nv, p.nv))
    for k in p.layout.tree.tips_to_base():
        parent = p.layout.parents[k]
        dT[..., where[k], :] = m.H_T[k].mT @ df[..., k, :, :]
        if seeds.T is not None:
            dT[..., where[k], where[k]] += seeds.T[k]
        if parent >= 0:
            if seeds.f is not None:
                df[..., k, :, where[k]] += seeds.f[k]
            df[..., parent, :, :] += m.A[..., k, :, :] @ df[..., k, :, :]
    return dT


def _less_turned_forces(p: Problem, m: Motion, df: Array) -> None:
    """Subtract dF(k) for wrenches in the axes of another frame. With u the wrench at the node in body axes, and the
    small turns of body k and of the frame's carrier: du = (turn of the carrier - turn of k) x u."""
    apart = [(frame, wrench) for frame, wrench in p.forces if wrench.expressed_in is not None]
    if not apart:
        return
    turn = _turns(p, m)
    for frame, wrench in apart:
        assert isinstance(frame.carrier, Body)
        k, axes = p.layout.index[frame.carrier], wrench.expressed_in
        R_k = p.state.configuration.world[0][..., k, :, :]
        to_k = R_k.mT @ pose_of_frame(p.state, axes)[0]
        x = np.asarray(wrench)
        u = np.concatenate([times(to_k, x[..., :3]), times(to_k, x[..., 3:])], axis=-1)
        relative = -turn[..., k, :, :]
        if isinstance(axes.carrier, Body):
            e = p.layout.index[axes.carrier]
            relative = relative + R_k.mT @ p.state.configuration.world[0][..., e, :, :] @ turn[..., e, :, :]
        du_n, du_f = -skew(u[..., :3]) @ relative, -skew(u[..., 3:]) @ relative
        df[..., k, :3, :] -= du_n + skew(frame.offset.translation) @ du_f
        df[..., k, 3:, :] -= du_f


def _turns(p: Problem, m: Motion) -> Array:
    """The small turns of the bodies in their own axes for a step along each dof: the upper half of phi* H*."""
    J = np.zeros((*m.f.shape[:-2], p.n, 6, p.nv))
    for k in p.layout.tree.base_to_tips():
        parent = p.layout.parents[k]
        if parent >= 0:
            J[..., k, :, :] = m.A[..., k, :, :].mT @ J[..., parent, :, :]
        J[..., k, :, p.layout.hinge_v[k]] += m.H_T[k]
    return J[..., :3, :]

"""Derivatives of motion and forces along parameters, with q, v and vdot constant: one sweep out and one in, on columns.

A body frame that is moved by a small twist eta, in its own axes, changes phi(p,k) by phi(p,k) crf(eta). If what moves
it is the inboard side of its hinge, H(k) stays; if it is the outboard side, H*(k) changes by -crm(eta) H*(k). With the
displacement D of each body, V+ = phi* V(p) and alpha+ = phi* alpha(p),

    base to tips:   dD(k)     = phi* dD(p)     + eta_in + eta_out
                    dV(k)     = phi* dV(p)     - crm(eta_in) V+ - crm(eta_out) V
                    dalpha(k) = phi* dalpha(p) - crm(H* v) dV(k) - crm(eta_in) alpha+
                                - crm(eta_out) (alpha+ + H* vdot + Hdot* v) - crm(V) crm(eta_out) H* v
    tips to base:   df(k)     = sum over children of phi (df(j) + crf(eta_in + eta_out) f(j))
                                + M dalpha - M [0; dg] + d(crf(V) M V) + A(k) dpi(k) - dF(k)
                    dT(k)     = H (df(k) + crf(eta_out) f(k)) + dJ vdot + ddamping v + dstiffness (q - rest)

with g in body axes, dg = g x dD, A(k) pi(k) the force of the ten inertial parameters, F(k) the external force. O(n) for
each column, with any hinge.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from soacraft.analysis.parametric.vocabulary import PER_DOF, Found, Parameter, ten_of
from soacraft.analysis.regressor import force_maps
from soacraft.dynamics.problem import Problem
from soacraft.model.flat import realize
from soacraft.model.flat.passive import displacement
from soacraft.model.flat.realize import times
from soacraft.model.states.kinematics import pose_of_frame
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.results import refuse_large
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import log, skew
from soacraft.spatial.transforms import crf, crf_with, crm, log_rate, phi


class Directions(NamedTuple):
    """Changes that each of c parameters makes: twists and inertial parameters by body, twists by node, numbers by dof.
    """

    eta_in: Array  # (..., n, 6, c)
    eta_out: Array  # (n, 6, c)
    pi: Array  # (n, 10, c)
    nodes: dict[Frame, Array]  # (6, c)
    dofs: dict[str, Array]  # (nv, c)


class Tangent(NamedTuple):
    """The changes of displacement, velocity and acceleration of all bodies, body axes, (..., n, 6, c)."""

    D: Array
    V: Array
    alpha: Array


# -- directions -------------------------------------------------------------------------------------------------------


def directions(p: Problem, parameters: Found) -> Directions:
    """The unit changes of parameters at a configuration."""
    n, c = p.n, len(parameters)
    relative = p.state.configuration.relative
    refuse_large(
        (4, *p.batch, n, 6, c), f"what {p.function} of {p.graph.name!r} needs",
        "Take fewer parameters, or the batch in parts.",
    )  # fmt: skip
    eta_in = np.zeros((*relative[1].shape[:-2], n, 6, c))
    d = Directions(eta_in, np.zeros((n, 6, c)), np.zeros((n, 10, c)), {}, {x: np.zeros((p.nv, c)) for x in PER_DOF})
    for i, x in enumerate(parameters):
        if x.kind in PER_DOF:
            dofs = p.layout.hinge_v[p.layout.index[x.owner]]
            d.dofs[x.kind][dofs.start + x.number, i] = 1.0
        elif x.kind == "pose":
            d.nodes.setdefault(x.owner, np.zeros((6, c)))[:, i] = _twists(x.owner.pose)[:, x.number]
        else:
            k = p.layout.index[x.owner]
            if x.kind == "inboard":
                R, l = relative[0][..., k, :, :], relative[1][..., k, :]
                eta_in[..., k, :, i] = _carried(x.owner.inboard, R, l, _twists(x.owner.inboard)[:, x.number])
            elif x.kind == "outboard":
                d.eta_out[k, :, i] = _twists(x.owner.outboard)[:, x.number]
            elif x.kind == "axis":
                R, l = relative[0][..., k, :, :], relative[1][..., k, :]
                a = x.owner.inboard.rotation @ x.owner.hinge.axis
                turn = np.concatenate([x.owner.inboard.rotation.T @ np.cross(a, np.eye(3)[x.number]), np.zeros(3)])
                eta_in[..., k, :, i] = _carried(x.owner.inboard, R, l, turn)
                d.eta_out[k, :, i] = -x.owner.outboard.phi().T @ turn
            else:
                d.pi[k, :, i] = _ten(x)
    return d


def _twists(pose: Pose) -> Array:
    """The twists, in the axes of the posed frame, that its rotation vector and translation give: [J_r, 0; 0, R*]."""
    columns = np.zeros((6, 6))
    columns[:3, :3] = np.linalg.inv(log_rate(log(pose.rotation)))
    columns[3:, 3:] = pose.rotation.T
    return columns


def _carried(inboard: Pose, R: Array, l: Array, twist: Array) -> Array:
    """A twist of the inboard hinge frame as one of the body frame, which is at (R, l) in the parent."""
    R_in, p_in = inboard.rotation, inboard.translation
    return times(phi(R_in.T @ R, (l - p_in) @ R_in).mT, twist)


def _ten(x: Parameter) -> Array:
    """The change of m, m c and J = moment + m (c* c - c c*) with one number of a kind."""
    d, e = np.zeros(10), np.eye(6)
    m, c = x.owner.inertia.mass, x.owner.inertia.com
    rows, columns = np.triu_indices(3)
    if x.kind == "mass":
        d[0], d[1:4], d[4:] = 1.0, c, (float(c @ c) * np.eye(3) - np.outer(c, c))[rows, columns]
    elif x.kind == "com":
        u = np.eye(3)[x.number]
        d[1:4], d[4:] = m * u, m * (2.0 * c[x.number] * np.eye(3) - np.outer(c, u) - np.outer(u, c))[rows, columns]
    elif x.kind == "moment":
        d[4:] = e[x.number]
    else:
        d[x.number] = 1.0
    return d


# -- sweeps -----------------------------------------------------------------------------------------------------------


def outward(p: Problem, d: Directions) -> Tangent:
    """The changes of the motion, base to tips."""
    layout, c, motion = p.layout, p.state.configuration, p.state.motion
    rate = realize.hinge_twists(layout, c.maps, _given(p, "vdot"))
    coriolis = realize.coriolis(layout, c.q, motion.v, motion.V, motion.twists)
    bias = coriolis - times(crm(motion.V), motion.twists)
    V, twist = motion.V, motion.twists
    V_plus, alpha_plus = V - twist, p.state.alpha - rate - coriolis
    lead = np.broadcast_shapes(p.batch, V.shape[:-2], p.state.alpha.shape[:-2])
    shape = (*lead, p.n, 6, d.pi.shape[-1])
    D, dV, dalpha = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for k in layout.tree.base_to_tips():
        parent, phi_T = layout.parents[k], c.A[..., k, :, :].mT
        if parent >= 0:
            for x in (D, dV, dalpha):
                x[..., k, :, :] = phi_T @ x[..., parent, :, :]
        a, b = d.eta_in[..., k, :, :], d.eta_out[k]
        D[..., k, :, :] += a + b
        # -crm(eta) x = crm(x) eta
        dV[..., k, :, :] += crm(V_plus[..., k, :]) @ a + crm(V[..., k, :]) @ b
        dalpha[..., k, :, :] += crm(alpha_plus[..., k, :]) @ a - crm(twist[..., k, :]) @ dV[..., k, :, :]
        moved = alpha_plus[..., k, :] + rate[..., k, :] + bias[..., k, :]
        dalpha[..., k, :, :] += (crm(moved) + crm(V[..., k, :]) @ crm(twist[..., k, :])) @ b
    return Tangent(D, dV, dalpha)


def inward(p: Problem, d: Directions, t: Tangent) -> Array:
    """The change of the generalized force of inverse dynamics (..., nv, c), tips to base."""
    layout, c, V = p.layout, p.state.configuration, p.state.motion.V
    M, forces = layout.M, _Forces(p, d, t)
    A = force_maps(p)
    f = times(A, _pi(p)) - forces.values
    df = M @ t.alpha + (crf_with(times(M, V)) + crf(V) @ M) @ t.V + A @ d.pi - forces.changes
    g = _gravity(p)
    df -= M[..., :, 3:] @ (skew(g) @ t.D[..., :3, :])
    for k in layout.tree.tips_to_base():
        parent = layout.parents[k]
        if parent >= 0:
            f[..., parent, :] += times(c.A[..., k, :, :], f[..., k, :])
            moved = d.eta_in[..., k, :, :] + d.eta_out[k]
            carried = df[..., k, :, :] + crf_with(f[..., k, :]) @ moved
            df[..., parent, :, :] += c.A[..., k, :, :] @ carried
    dT = np.zeros((*df.shape[:-3], p.nv, df.shape[-1]))
    for k, dofs in enumerate(layout.hinge_v):
        H = p.linear.H(k)[..., : dofs.stop - dofs.start, :6]
        dT[..., dofs, :] = H @ (df[..., k, :, :] + crf_with(f[..., k, :]) @ d.eta_out[k])
    return dT + _along_dofs(p, d)


def _along_dofs(p: Problem, d: Directions) -> Array:
    """Terms of the numbers of dofs in the change of the generalized force."""
    total = d.dofs["armature"] * _given(p, "vdot")[..., None]
    if p.passive:
        total = total + d.dofs["damping"] * _given(p, "v")[..., None]
        if d.dofs["stiffness"].any():
            total = total + d.dofs["stiffness"] * _displacements(p, d.dofs["stiffness"])[..., None]
    return total


def _displacements(p: Problem, wanted: Array) -> Array:
    """q - rest by dof, for hinges whose stiffness is asked for."""
    u = np.zeros((*p.batch, p.nv))
    for body, at, dofs in zip(p.layout.bodies, p.layout.hinge_q, p.layout.hinge_v, strict=True):
        if wanted[dofs].any():
            u[..., dofs] = displacement(body, p.full("q")[..., at])
    return u


def _given(p: Problem, name: str) -> Array:
    return p.given.get(name, np.zeros(p.nv))


def _pi(p: Problem) -> Array:
    return np.array([ten_of(body.inertia) for body in p.layout.bodies])


def _gravity(p: Problem) -> Array:
    """Gravity in body axes, less what of it is compensated, (..., n, 3)."""
    carried = np.array([body.gravity_compensation if p.passive else 0.0 for body in p.layout.bodies])
    return np.asarray((1.0 - carried)[:, None] * times(p.state.configuration.world[0].mT, p.graph.gravity))


class _Forces:
    """External forces on bodies in body axes, and their changes.

    F = phi(k,N) w_N, w_N = R_N* R_e w where w is expressed in another frame e: frames turn, and nodes move.
    """

    def __init__(self, p: Problem, d: Directions, t: Tangent) -> None:
        count = t.D.shape[-1]
        self.values: Any = np.zeros((*t.D.shape[:-3], p.n, 6))
        self.changes: Any = np.zeros((*t.D.shape[:-3], p.n, 6, count))
        for frame, wrench in p.forces:
            assert isinstance(frame.carrier, Body)
            k, w, axes = p.layout.index[frame.carrier], np.asarray(wrench), wrench.expressed_in
            to_body = frame.offset.phi()
            dw: Any = 0.0
            if axes is not None:
                turn = pose_of_frame(p.state, frame)[0].mT @ pose_of_frame(p.state, axes)[0]
                both = np.zeros((*turn.shape[:-2], 6, 6))
                both[..., :3, :3] = both[..., 3:, 3:] = turn
                w_e, w = w, times(both, w)
                dw = _turned(w, turned(p, d, t, frame)) - both @ _turned(w_e, turned(p, d, t, axes))
            self.values[..., k, :] += times(to_body, w)
            if frame in d.nodes:
                dw = dw + crf_with(w) @ d.nodes[frame]
            if axes is not None or frame in d.nodes:
                self.changes[..., k, :, :] += to_body @ dw


def _turned(w: Array, turn: Array) -> Array:
    """-turn x w for both halves of w: w x turn."""
    return np.concatenate([skew(w[..., :3]) @ turn, skew(w[..., 3:]) @ turn], axis=-2)


def turned(p: Problem, d: Directions, t: Tangent, frame: Frame) -> Array:
    """Rotation of a frame in its own axes, (..., 3, c)."""
    return moved(p, d, t, frame)[..., :3, :]


def moved(p: Problem, d: Directions, t: Tangent, frame: Frame) -> Array:
    """The displacement of a frame in its own axes, (..., 6, c)."""
    change = d.nodes.get(frame, np.zeros((6, t.D.shape[-1])))
    if not isinstance(frame.carrier, Body):
        return np.asarray(change)
    return np.asarray(frame.offset.phi().T @ t.D[..., p.layout.index[frame.carrier], :, :] + change)


def node_twists(
    p: Problem, d: Directions, t: Tangent, frame: Frame, twist: Array, change: Array
) -> tuple[Array, Array]:
    """A twist of the body of a frame (..., 6), and its change (..., 6, c), as those of the frame in inertial axes."""
    assert isinstance(frame.carrier, Body)
    k, phi_T = p.layout.index[frame.carrier], frame.offset.phi().T
    of_node = d.nodes.get(frame)
    x, dx = times(phi_T, twist[..., k, :]), phi_T @ change[..., k, :, :]
    if of_node is not None:
        dx = dx + crm(x) @ of_node
    R = pose_of_frame(p.state, frame)[0]
    both = np.zeros((*R.shape[:-2], 6, 6))
    both[..., :3, :3] = both[..., 3:, 3:] = R
    turn = turned(p, d, t, frame)
    return times(both, x), both @ (dx - _turned(x, turn))


def origin_rate(V: Array, dV: Array, alpha: Array, dalpha: Array) -> Array:
    """The change of [wdot; vdot + w x v]: the acceleration of a frame, all in one frame's axes."""
    out = dalpha.copy()
    out[..., 3:, :] += skew(V[..., :3]) @ dV[..., 3:, :] - skew(V[..., 3:]) @ dV[..., :3, :]
    return out



"""Gradients of the mass matrix and of Jacobians, and the Coriolis matrix, of trees with flexible bodies.

A column of the mass matrix is the force of a unit acceleration at rest without loads, a column of a Jacobian the
velocity at a unit rate:

    dMcal e_l = dT  at vdot = e_l, v = 0;       d log det Mcal = tr(Mcal^-1 dMcal);        dJ e_i = dV  at v = e_i

The Coriolis matrix is a sum over bodies of J* (M Jdot + B J), J the Jacobian of the node [V; etad]. With U = J v and
the columns dM_j U of modes in S, B = (Mdot + S - S*) / 2 + the turning crf(.) (M U)_r: B U = b, and Mdot - 2 B is skew.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference.derivatives import Motion, along_q, along_v, inward, motion_of, outward
from soacraft.dynamics.reference.forward import mass_matrix_inverse
from soacraft.model.flat.realize import times
from soacraft.model.modal.inertia import mass_derivatives
from soacraft.model.states.kinematics import pose_of_frame
from soacraft.model.tree.frames.frame import Frame
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import cross
from soacraft.spatial.transforms import crf_with, crm


def mass_matrix_gradient(p: Problem) -> Array:
    """d Mcal_il / d q_c as (..., nv, nv, nv), [i, l, c]. O(n nv^2)."""
    one, m = _for_each_dof(p, "vdot")
    J = outward(one, m, along_v(one, m))[0]
    dT = inward(one, m, outward(one, m, along_q(one, m)), J)
    return np.moveaxis(dT, 0, -2)


def log_det_gradient(p: Problem) -> Array:
    """tr(Mcal^-1 dMcal/dq_c), (..., nv)."""
    return np.asarray(np.einsum("...il,...lic->...c", mass_matrix_inverse(p), mass_matrix_gradient(p)))


def jacobian_gradient(p: Problem, frames: Sequence[Frame]) -> Array:
    """d J_ai / d q_c of frames in inertial axes, (..., 6 k, nv, nv), [a, i, c]. O(n nv^2)."""
    one, m = _for_each_dof(p, "v", frames)
    dV, J = outward(one, m, along_q(one, m))[0], outward(one, m, along_v(one, m))[0]
    parts = []
    for frame, i in zip(frames, m.frames, strict=True):
        R = pose_of_frame(p.state, frame)[0]
        J_w, J_v = (R @ J[i][0][..., part, :] for part in _PARTS)  # the same for every rate
        turn = np.moveaxis(J_w, -1, -2)
        for part, rows in zip(_PARTS, (J_w, J_v), strict=True):
            change = np.moveaxis(R[..., None, :, :] @ np.moveaxis(dV[i], 0, -3)[..., part, :], -2, -3)  # [a, i, c]
            across = cross(turn[..., None, :, :], np.moveaxis(rows, -1, -2)[..., :, None, :])  # [i, c, a]
            parts.append(change + np.moveaxis(across, -1, -3))
    return np.concatenate(parts, axis=-3)


def coriolis_matrix(p: Problem) -> Array:
    """C (..., nv, nv) with C v the bias force without loads, and d/dt Mcal - 2 C skew. O(n nv^2)."""
    m, v = motion_of(p, np.zeros(p.nv), loads=False), p.full("v")
    J, rate = outward(p, m, along_v(p, m))[0], list[Array]()
    for step in m.steps:
        phi_T, twists = step.A.mT, step.twists
        now = np.zeros((*p.batch, 6, p.nv))
        if step.inboard >= 0:
            u = times(twists.S, v[..., step.dofs])
            now += phi_T @ rate[step.inboard] - crm(u) @ phi_T @ J[step.inboard]
        if twists.dS is not None:
            now[..., step.dofs] += np.einsum("...j,...jam->...am", v[..., step.dofs], twists.dS)
        rate.append(now)
    c = p.state.configuration
    C = np.zeros((*p.batch, p.nv, p.nv))
    for k, i in enumerate(m.ends):
        if k not in p.layout.flexible:
            M = c.M[..., k, :, :]
            C += J[i].mT @ (M @ rate[i] + crf_with(times(M, m.V[i])) @ J[i])
            continue
        unit = np.eye(p.nv)[p.layout.hinge_v[k].stop : p.layout.v_slices[k].stop]
        extended = np.concatenate([J[i], np.broadcast_to(unit, (*p.batch, *unit.shape))], axis=-2)
        M, B = c.modal_inertias[k], _velocity_map(p, m.V[i], k)
        C += extended.mT @ (M[..., :6] @ rate[i] + B @ extended)
    return C


def _velocity_map(p: Problem, V: Array, k: int) -> Array:
    """B of a flexible body, (..., 6 + n, 6 + n)."""
    c = p.state.configuration
    assert c.flex is not None
    etad = c.flex.rates(p.full("v"), k)
    U = np.concatenate([V, etad], axis=-1)
    dM = mass_derivatives(p.layout.modal(k), c.flex.eta(k))
    S = np.zeros((*U.shape, U.shape[-1]))
    S[..., 6:] = (dM @ U[..., None, :, None])[..., 0].mT
    B = 0.5 * (np.einsum("...j,...jab->...ab", etad, dM) + S - S.mT)
    B[..., :6, :6] += crf_with(times(c.modal_inertias[k], U)[..., :6])
    return np.asarray(B)


_PARTS = (slice(0, 3), slice(3, 6))


def _for_each_dof(p: Problem, what: str, frames: Sequence[Frame] = ()) -> tuple[Problem, Motion]:
    """The problem with a unit rate or acceleration along each dof, in a batch axis before the others, without loads."""
    unit = np.eye(p.nv).reshape(p.nv, *(1,) * len(p.batch), p.nv)
    values = {"q": p.given["q"], "v": np.zeros(p.nv), "vdot": np.zeros(p.nv)} | {what: unit}
    one = Problem("inverse_dynamics_derivatives", p.graph, values, batch=(p.nv, *p.batch))
    return one, motion_of(one, values["vdot"], frames, loads=False)

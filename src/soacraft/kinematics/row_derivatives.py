"""Derivatives of the rows of closures and couplings along each dof and each velocity: analytic.

A step along the dofs moves frame b, seen from a, by the columns J = J_b - X J_a, at b in the axes of b. On a closed
state the closure's hinge then moves by dtheta = H_c^+ J, and X by -crm(J) X. With `seen` = X V_a, xi = V_b - seen =
H_c* rate, and Q chosen so that dQ = -Q dH_c* H_c*^+, the rows of formula F2 change by

    d(Gc v)              = Q (dxi - dH_c* rate),            dxi = dV_b - dseen,   dseen = X dV_a + crm(seen) J
    d(Gc vdot + Gcdot v) = Q (dalpha_b - X dalpha_a - crm(X alpha_a) J + crm(xi) dseen - crm(seen) dxi
                              - d(Hdot_c* rate) - dH_c* H_c*^+ (what is behind Q))
    d(Gc* lambda)        = J* dw - (X J_a)* crf(J) w,       w = Q* lambda,   dw = -(H_c*^+)* dH_c w

without the terms of forces that are constant in the axes of their bodies. dV and dalpha of the bodies come from the
outward sweep of the inverse-dynamics derivatives. O((n + m) nv).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference.derivatives import along_q, along_v, motion_of, outward
from soacraft.kinematics.rows import Constraints, CouplingRow, LoopRows, seen_from
from soacraft.model.hinges.base import H_T_of, bias_of, dbias_of, dH_of
from soacraft.model.states.hinge_fit import along_twists, hinge_inverse
from soacraft.model.states.kinematics import pose_of_frame
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.parts.closures import coordinate_names
from soacraft.spatial.checks import Array
from soacraft.spatial.transforms import crf_with, crm


@dataclass(frozen=True, eq=False)
class RowDerivatives:
    """The derivatives of all rows at one state, vdot and multipliers held."""

    dq: Array
    """Derivative of Gc vdot + Gcdot v along the dofs, (m, nv)."""
    dv: Array
    """Derivative of Gc vdot + Gcdot v along the velocities, (m, nv)."""
    speed: Array
    """Derivative of Gc v along the dofs, (m, nv)."""
    push: Array
    """Derivative of Gc* lambda along the dofs, without that of forces constant in the axes of their bodies, (nv, nv).
    """
    turns: dict[str, tuple[Array, Array]]
    """J, and dw along the dofs, (6, nv) each, by loop."""


class Seen(NamedTuple):
    """Motion of a frame, in its axes: velocity, acceleration less gravity (6), and their columns (6, nv)."""

    V: Array
    alpha: Array
    J: Array
    dV: Array
    dalpha_q: Array
    dalpha_v: Array


class Bodies:
    """Motion of the frames of a graph with accelerations vdot, and its derivatives."""

    def __init__(self, rows: Constraints, v: Array, vdot: Array) -> None:
        self.state = rows.state.replace(v=v, vdot=vdot)
        p = Problem("rows", rows.graph, {"q": self.state.q, "v": self.state.v, "vdot": vdot})
        ends = [x for loop in rows.loops for x in (loop.closure.a, loop.closure.b) if isinstance(x.carrier, Body)]
        frames = tuple(dict.fromkeys(ends))
        self._m = m = motion_of(p, vdot, frames)
        (self._dV, self._dalpha_q), (self._J, self._dalpha_v) = (
            outward(p, m, seeds) for seeds in (along_q(p, m), along_v(p, m))
        )
        self._step = dict(zip(frames, m.frames, strict=True))
        self._nv, self._gravity = p.nv, rows.graph.gravity

    def at(self, frame: Frame) -> Seen:
        """The motion of a frame of a closure."""
        if not isinstance(frame.carrier, Body):
            weight = np.concatenate([np.zeros(3), pose_of_frame(self.state, frame)[0].T @ self._gravity])
            still = np.zeros((6, self._nv))
            return Seen(np.zeros(6), -weight, still, still, still, still)
        i, m = self._step[frame], self._m
        return Seen(m.V[i], m.alpha[i], self._J[i], self._dV[i], self._dalpha_q[i], self._dalpha_v[i])


def row_derivatives(rows: Constraints, v: Array, vdot: Array, multipliers: Array) -> RowDerivatives:
    """The derivatives of the rows, made for a closed state, at its coordinates and any v."""
    m, nv = rows.size, rows.graph.nv
    derivatives = RowDerivatives(np.zeros((m, nv)), np.zeros((m, nv)), np.zeros((m, nv)), np.zeros((nv, nv)), {})
    bodies = Bodies(rows, v, vdot)
    for loop, (_, at) in zip(rows.loops, rows.places, strict=False):
        _add_loop(derivatives, loop, at, bodies, multipliers[at])
    for row, (_, at) in zip(rows.couplings, rows.places[len(rows.loops) :], strict=True):
        for i, (second, third) in curvatures(rows, row).items():
            derivatives.dq[at, i] = second * vdot[i] + third * v[i] ** 2
            derivatives.dv[at, i] = 2.0 * second * v[i]
            derivatives.speed[at, i] = second * v[i]
            derivatives.push[i, i] += second * multipliers[at.start]
    return derivatives


def _add_loop(derivatives: RowDerivatives, loop: LoopRows, at: slice, bodies: Bodies, multipliers: Array) -> None:
    hinge, theta, Q = loop.closure.hinge, loop.theta, loop.Q
    a, b = bodies.at(loop.closure.a), bodies.at(loop.closure.b)
    T_ab = seen_from(bodies.state, loop)
    X = T_ab.phi().T
    H_T, dH = H_T_of(hinge, theta), dH_of(hinge, theta)
    inverse = hinge_inverse(H_T, loop.length)
    seen, J = X @ a.V, b.J - X @ a.J
    xi = b.V - seen
    rate = inverse @ xi
    bias_q, bias_v = dbias_of(hinge, theta, rate)
    dtheta = inverse @ J
    if not hinge.holonomic:  # it can be put in more places than it moves to: along all twists
        dtheta, length = J, loop.length
        dH = along_twists(hinge, T_ab, length, lambda q, pose: H_T_of(hinge, q))
        bias_q = along_twists(hinge, T_ab, length, lambda q, pose: bias_of(hinge, q, rate)).T

    def turned(x: Array) -> Array:
        """Columns dH* x."""
        return np.asarray(np.einsum("jam,m,jd->ad", dH, x, dtheta))

    dseen = X @ a.dV + crm(seen) @ J
    dxi = b.dV - dseen
    behind = b.alpha - X @ a.alpha + crm(xi) @ seen - bias_of(hinge, theta, rate)
    da = b.dalpha_q - X @ a.dalpha_q - crm(X @ a.alpha) @ J + crm(xi) @ dseen - crm(seen) @ dxi
    da -= bias_q @ dtheta + bias_v @ inverse @ (dxi - turned(rate))
    derivatives.dq[at] = Q @ (da - turned(inverse @ behind))
    derivatives.speed[at] = Q @ (dxi - turned(rate))
    da = b.dalpha_v - X @ a.dalpha_v + crm(xi) @ X @ a.J - crm(seen) @ J - bias_v @ inverse @ J
    derivatives.dv[at] = Q @ da
    w = Q.T @ multipliers
    dw = -inverse.T @ np.einsum("jam,a,jd->md", dH, w, dtheta)
    derivatives.push[:] += J.T @ dw - (X @ a.J).T @ crf_with(w) @ J
    derivatives.turns[loop.name] = J, dw


def curvatures(rows: Constraints, row: CouplingRow) -> dict[int, tuple[float, float]]:
    """p''(q) and p'''(q) of a coupling, by dof number."""
    number = {name: i for i, name in enumerate(rows.graph.dof_names)}
    places, by_dof = coordinate_names(rows.graph), {}
    for dof, c in row.coupling.terms.items():
        p, x = np.polynomial.Polynomial((0.0, *c)), rows.state.q[places[dof]]
        by_dof[number[dof]] = float(p.deriv(2)(x)), float(p.deriv(3)(x))
    return by_dof

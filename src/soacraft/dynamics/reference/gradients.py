"""Gradients of the mass matrix, the Coriolis matrix, and the gradient of log det, by screws in the inertial frame.

The screw of dof i of body k is S_i = Ad(T_k) H*(k) e. A step along dof c turns every screw outboard of its hinge, and
those of its own hinge also where H varies:

    dS_i/dq_c = crm(S_c) S_i  (+ Ad(T_k) dH*_c e for dofs of the same hinge)   if hinge c is inboard of or at hinge i
              = 0                                                              elsewhere

With composite inertias Ic and F_l = Ic(l) S_l, the mass matrix is S_i* F_l for hinge i inboard of or at hinge l. A step
along dof c turns all that is outboard of its hinge as one rigid body, so

    c strictly outboard of l                      d Mcal_il = S_i* (crf(S_c) Ic(c) - Ic(c) crm(S_c)) S_l
    c outboard of i, and inboard of or at l       d Mcal_il = S_i* crf(S_c) F_l
    c inboard of or at i                          d Mcal_il = 0

to which the own hinge adds its dH* where H varies.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from soacraft.dynamics.problem import Mask, Problem
from soacraft.dynamics.reference import flexible
from soacraft.model.flat.realize import scatter, times
from soacraft.model.hinges.base import dH_of
from soacraft.recursions import articulated_body, backward_lyapunov
from soacraft.recursions.types import Stacked
from soacraft.spatial.checks import Array
from soacraft.spatial.transforms import adjoint, crf, crm, phi


class Screws:
    """The screws of a graph at the configurations of a problem; [angular; linear] at the inertial origin."""

    def __init__(self, p: Problem) -> None:
        self.p = p

    @cached_property
    def to_world(self) -> Array:
        """Ad(T_k), from twists in body axes to the inertial frame, (..., n, 6, 6)."""
        return adjoint(*self.p.state.configuration.world)

    @cached_property
    def S(self) -> Array:
        """All screws as columns (..., 6, nv). O(n)."""
        p = self.p
        S = np.zeros((*p.batch, 6, p.nv))
        for group, H_T in zip(p.layout.groups, p.state.configuration.maps, strict=True):
            moved = self.to_world[..., group.bodies, :, :] @ H_T  # (..., bodies, 6, nv_k)
            S[..., group.v_index.ravel()] = np.moveaxis(moved, -3, -2).reshape(*moved.shape[:-3], 6, group.v_index.size)
        return S

    @cached_property
    def dof_body(self) -> npt.NDArray[np.intp]:
        """The body of each dof."""
        sizes = [dofs.stop - dofs.start for dofs in self.p.layout.v_slices]
        return np.repeat(np.arange(self.p.n), sizes)

    @cached_property
    def inboard(self) -> npt.NDArray[np.bool_]:
        """[c, k]: whether body c is body k or inboard of it, (n, n)."""
        n, parents = self.p.n, self.p.layout.parents
        mask = np.zeros((n, n), dtype=np.bool_)
        for k in self.p.layout.tree.base_to_tips():
            if parents[k] >= 0:
                mask[:, k] = mask[:, parents[k]]
            mask[k, k] = True
        return mask

    @cached_property
    def own(self) -> list[tuple[slice, Array]]:
        """Dofs of the bodies whose H varies, and Ad(T_k) dH* as (..., 6, nv_k, nv_k), [:, i, c] of S_i along c."""
        p, changes = self.p, []
        q = p.full("q")
        for group in p.layout.groups:
            if group.hinge.constant_H or not group.hinge.nv:
                continue
            dH = p.layout.to_body[group.bodies][..., None, :, :] @ dH_of(group.hinge, q[..., group.q_index])
            moved = self.to_world[..., group.bodies, None, :, :] @ dH  # (..., bodies, c, 6, i)
            for j, k in enumerate(group.bodies):
                changes.append((p.layout.hinge_v[k], np.moveaxis(moved[..., j, :, :, :], -3, -1)))
        return changes

    def along(self) -> Array:
        """dS_i/dq_c as (..., 6, nv, nv), [:, i, c]. O(nv^2)."""
        body = self.dof_body
        moves = self.inboard[body][:, body].T  # [i, c]: hinge c is inboard of or at hinge i
        d = np.einsum("...cab,...bi->...aic", crm(np.moveaxis(self.S, -1, -2)), self.S) * moves
        for dofs, change in self.own:
            d[..., dofs, dofs] += change
        return np.asarray(d)


def mass_matrix_gradient(p: Problem) -> Array:
    """d Mcal_il / d q_c as (..., nv, nv, nv), [i, l, c]. O(nv^3) at most."""
    if p.layout.flexible:
        return flexible.mass_matrix_gradient(p)
    s = Screws(p)
    S, R = s.S, _composites(p)
    own_R = R[..., s.dof_body, :, :]  # of the body of each dof
    F = times(own_R, np.moveaxis(S, -1, -2))  # (..., nv, 6)
    turn, push = crm(np.moveaxis(S, -1, -2)), crf(np.moveaxis(S, -1, -2))  # (..., nv, 6, 6)
    up = s.inboard[s.dof_body][:, s.dof_body]  # [i, l]: hinge i inboard of or at hinge l
    strictly = up & (s.dof_body[:, None] != s.dof_body)
    between = strictly[:, None, :] & up.T[None, :, :] & up[:, :, None]  # i < c <= l
    outside = strictly[None, :, :] & up[:, :, None]  # i <= l < c
    moved = np.einsum("...cab,...lb->...alc", push, F)
    dR = push @ own_R - own_R @ turn
    inner = np.einsum("...cab,...bl->...alc", dR, S)
    d = np.einsum("...ai,...alc->...ilc", S, moved) * between + np.einsum("...ai,...alc->...ilc", S, inner) * outside
    for dofs, change in s.own:
        _add_own(d, dofs, change, S, F, own_R, up)
    mirror = np.swapaxes(d, -3, -2) * strictly.T[:, :, None]
    return np.asarray(d + mirror)


def _add_own(d: Array, dofs: slice, change: Array, S: Array, F: Array, own_R: Array, up: Mask) -> None:
    """The part of a hinge whose H varies: dH* as (..., 6, i, c) for its own dofs."""
    at = dofs.start
    below = up[at] & ~up[:, at]  # dofs strictly outboard
    above = up[:, at] & ~up[at]  # dofs strictly inboard
    d[..., dofs, :, dofs] += np.einsum("...aic,...la->...ilc", change, F) * below[:, None]
    pulled = np.einsum("...ab,...blc->...alc", own_R[..., at, :, :], change)
    d[..., :, dofs, dofs] += np.einsum("...ai,...alc->...ilc", S, pulled) * above[:, None, None]
    both = np.einsum("...ai,...alc->...ilc", S[..., dofs], pulled)
    d[..., dofs, dofs, dofs] += both + np.swapaxes(both, -3, -2)


def coriolis_matrix(p: Problem) -> Array:
    """H phi (M d/dt(phi* H*) + Bh phi* H*), (..., nv, nv) (formula F8). O(nv^2).

    In the inertial frame, with l the outer of the hinges i and j, and sums over the bodies k outboard of or at l:
    C_ij = S_i* [Ic(l) Sdot_j - (sum M(k) crm(V(k))) S_j + crf(S_j) sum M(k) V(k)]. V is relative to the anchor.
    """
    if p.layout.flexible:
        return flexible.coriolis_matrix(p)
    s = Screws(p)
    c, layout = p.state.configuration, p.layout
    R_world, at = c.world
    X = phi(R_world, at)
    M = X @ layout.M @ X.mT
    V = times(s.to_world, scatter(layout, c.A, p.state.motion.twists))
    h, N = times(M, V), M @ crm(V)
    R, h, N = _gathered(p, M, 2), _gathered(p, h, 1), _gathered(p, N, 2)
    S = np.moveaxis(s.S, -1, -2)
    rate = times(crm(V)[..., s.dof_body, :, :], S)  # Sdot
    v = p.given["v"]
    for dofs, change in s.own:
        rate[..., dofs, :] += np.moveaxis(np.einsum("...aic,...c->...ai", change, v[..., dofs]), -1, -2)
    up = s.inboard[s.dof_body][:, s.dof_body]
    # the outer hinge is that of i where j is inboard of or at it, and that of j elsewhere
    b = s.dof_body
    push = crf(S)
    at_j = times(R[..., b, :, :], rate) - times(N[..., b, :, :], S) + times(push, h[..., b, :])
    C = np.einsum("...ia,...ja->...ij", S, at_j) * up
    left_R, left_N = (np.einsum("...ia,...iab->...ib", S, x[..., b, :, :]) for x in (R, N))
    of_i = np.einsum("...ib,...jb->...ij", left_R, rate) - np.einsum("...ib,...jb->...ij", left_N, S)
    of_i += np.einsum("...ia,...jab,...ib->...ij", S, push, h[..., b, :])
    return np.asarray(C + of_i * (up.T & ~up))


def log_det_gradient(p: Problem) -> Array:
    """d log det Mcal / d q_c as (..., nv). O(n).

        Y = A*(p,c) Upsilon(p) A(p,c),    gradient = -2 tr(crm(H*_c) Y P+(c)) + 2 tr(G*(c) (I - Y P+(c)) dH*_c)

    With flexible bodies tr(Mcal^-1 dMcal/dq_c), O(n nv^2).
    """
    if p.layout.flexible:
        return flexible.log_det_gradient(p)
    m = p.linear
    ab = articulated_body(m)
    bar = {k: np.eye(m.dims[k]) - ab.G[k] @ m.H(k) for k in m.nodes}
    psi = {k: m.A(m.parent(k), k) @ bar[k] for k in m.nodes if m.parent(k) >= 0}
    compliance: Stacked = {k: m.H(k).mT @ np.linalg.solve(ab.D[k], m.H(k)) for k in m.nodes}
    Upsilon = backward_lyapunov(m, lambda i, k: psi[k], compliance)
    changes = _own_in_body_axes(p)
    gradient = np.zeros((*p.batch, p.nv))
    for k, dofs in enumerate(p.layout.v_slices):
        if dofs.start == dofs.stop:
            continue
        parent = m.parent(k)
        Y = np.zeros((m.dims[k], m.dims[k])) if parent < 0 else m.A(parent, k).mT @ Upsilon[parent] @ m.A(parent, k)
        through = Y @ ab.P_plus[k]
        gradient[..., dofs] = -2.0 * np.einsum("...cab,...ba->...c", crm(m.H(k)[..., :6]), through[..., :6, :6])
        if k in changes:
            Z = ab.G[k].mT @ (np.eye(m.dims[k]) - through)
            gradient[..., dofs] += 2.0 * np.einsum("...ia,...aic->...c", Z[..., :6], changes[k])
    return gradient


def _own_in_body_axes(p: Problem) -> dict[int, Array]:
    """dH* in the body frame (..., 6, i, c) by body, where H varies."""
    s = Screws(p)
    numbers = {dofs.start: k for k, dofs in enumerate(p.layout.v_slices) if dofs.stop > dofs.start}
    by_body: dict[int, Array] = {}
    for dofs, change in s.own:
        k = numbers[dofs.start]
        back = np.linalg.inv(s.to_world[..., k, :, :])
        by_body[k] = np.einsum("...ab,...bic->...aic", back, change)
    return by_body


def _composites(p: Problem) -> Array:
    """Composite inertias in the inertial frame, (..., n, 6, 6); rotors play no part in how they move."""
    X = phi(*p.state.configuration.world)
    return _gathered(p, X @ p.layout.M @ X.mT, 2)


def _gathered(p: Problem, x: Array, rank: int) -> Array:
    """Sums over each body and all outboard of it, of what is expressed in the inertial frame: vectors or matrices."""
    axis = x.ndim - 1 - rank
    total = np.moveaxis(np.array(x), axis, 0)
    for k in p.layout.tree.tips_to_base():
        if p.layout.parents[k] >= 0:
            total[p.layout.parents[k]] += total[k]
    return np.moveaxis(total, 0, axis)

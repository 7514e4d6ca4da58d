"""The numbers of a rigid tree at one state, as plain functions of stacked arrays (..., n, ...).

Body axes throughout, any leading batch axes; `soacraft.model.flat.axes` changes the representation. Hinge numbers
are computed once per group of equal hinges, 6 x 6 algebra for all bodies at once; only sweeps go body by
body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from soacraft.model.flat.layout import Layout
from soacraft.model.hinges.base import H_T_of, bias_of, pose_of
from soacraft.spatial.checks import Array, frozen
from soacraft.spatial.rotations import cross
from soacraft.spatial.transforms import crm

if TYPE_CHECKING:
    from soacraft.model.modal.deformation import Deformation

Poses = tuple[Array, Array]


def relative_poses(layout: Layout, q: Array, flex: Deformation | None = None) -> Poses:
    """Each body frame in its parent's (inboard, hinge, outboard): R (..., n, 3, 3), l (..., n, 3). O(n)."""
    batch = q.shape[:-1]
    R = np.empty((*batch, layout.n, 3, 3))
    p = np.empty((*batch, layout.n, 3))
    for group in layout.groups:
        pose = pose_of(group.hinge, q[..., group.q_index])
        R[..., group.bodies, :, :] = pose.rotation
        p[..., group.bodies, :] = pose.translation
    (R_in, p_in), (R_out, p_out) = layout.inboard, layout.outboard
    if flex is not None:
        (R_in, p_in), (R_out, p_out) = flex.inboard, flex.outboard
    turned = R_in @ R
    return frozen(turned @ R_out), frozen(p_in + times(R_in, p) + times(turned, p_out))


def hinge_maps(layout: Layout, q: Array, flex: Deformation | None = None) -> tuple[Array, ...]:
    """H*(k) in the body frame, `H_B* = phi*(O,B) H_O*`; (..., bodies, 6, nv) by hinge group. O(n)."""
    maps = []
    to_body = layout.to_body if flex is None else flex.to_body
    for group in layout.groups:
        H_T = H_T_of(group.hinge, q[..., group.q_index])
        maps.append(frozen(to_body[..., group.bodies, :, :] @ H_T))
    return tuple(maps)


def world_poses(layout: Layout, relative: Poses, base: Poses) -> Poses:
    """Body frames in the inertial frame, base to tips, from the pose of what base bodies hang from. O(n)."""
    R, l = relative
    batch = np.broadcast_shapes(R.shape[:-3], base[0].shape[:-2])
    R_world = np.empty((*batch, layout.n, 3, 3))
    p_world = np.empty((*batch, layout.n, 3))
    for k in layout.tree.base_to_tips():
        p = layout.parents[k]
        R_p, p_p = base if p < 0 else (R_world[..., p, :, :], p_world[..., p, :])
        R_world[..., k, :, :] = R_p @ R[..., k, :, :]
        p_world[..., k, :] = p_p + times(R_p, l[..., k, :])
    return frozen(R_world), frozen(p_world)


def hinge_twists(layout: Layout, maps: tuple[Array, ...], v: Array) -> Array:
    """H*(k) v(k) for every body, (..., n, 6). O(n)."""
    batch = np.broadcast_shapes(v.shape[:-1], *(H_T.shape[:-3] for H_T in maps))
    twists = np.zeros((*batch, layout.n, 6))
    for group, H_T in zip(layout.groups, maps, strict=True):
        twists[..., group.bodies, :] = times(H_T, v[..., group.v_index])
    return frozen(twists)


def scatter(layout: Layout, A: Array, x: Array, base: Array | None = None) -> Array:
    """y(k) = A*(p,k) y(p) + x(k), base to tips (000 Eq. 3). O(n).

    `base` is y of what the base bodies hang from (default: zero).
    """
    batch = np.broadcast_shapes(A.shape[:-3], x.shape[:-2], () if base is None else base.shape[:-1])
    y = np.empty((*batch, layout.n, 6))
    for k in layout.tree.base_to_tips():
        p = layout.parents[k]
        inboard = base if p < 0 else y[..., p, :]
        y[..., k, :] = x[..., k, :]
        if inboard is not None:
            y[..., k, :] += times(A[..., k, :, :].mT, inboard)
    return frozen(y)


def projected(layout: Layout, A: Array, maps: tuple[Array, ...], x: Array) -> tuple[Array, Array]:
    """H phi x for forces x (..., n, 6) on bodies: what they amount to along the dofs of hinges, (..., nv), and phi x.
    O(n)."""
    batch = np.broadcast_shapes(A.shape[:-3], x.shape[:-2])
    f = np.array(np.broadcast_to(x, (*batch, layout.n, 6)))
    for k in layout.tree.tips_to_base():
        p = layout.parents[k]
        if p >= 0:
            f[..., p, :] += times(A[..., k, :, :], f[..., k, :])
    force = np.zeros((*batch, layout.nv))
    for group, H_T in zip(layout.groups, maps, strict=True):
        force[..., group.v_index] = times(H_T.mT, f[..., group.bodies, :])
    return force, f


def coriolis(
    layout: Layout, q: Array, v: Array, V: Array, twists: Array, flex: Deformation | None = None
) -> Array:
    """a(k) = crm(V(k)) H*(k) v(k) + (dH*(k)/dt) v(k), body axes, (..., n, 6). O(n)."""
    a = times(crm(V), twists)
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    q, v = np.broadcast_to(q, (*batch, layout.nq)), np.broadcast_to(v, (*batch, layout.nv))
    to_body = layout.to_body if flex is None else flex.to_body
    for group in layout.groups:
        bias = bias_of(group.hinge, q[..., group.q_index], v[..., group.v_index])
        a[..., group.bodies, :] += times(to_body[..., group.bodies, :, :], bias)
    return a


def gyroscopic(layout: Layout, V: Array) -> Array:
    """crf(V(k)) M(k) V(k), body axes, (..., n, 6). O(n)."""
    return turning_force(layout.M, V)


def turning_force(M: Array, V: Array) -> Array:
    """crf(V) M V of rigid inertias, (..., 6): [w x J w + h x (w x v); m w x v + w x (w x h)], without v x (m v), which
    is zero but for rounding."""
    w, v = V[..., :3], V[..., 3:]
    turned, to_w, to_v = cross(w, v), times(M[..., :3], w), M[..., 3:]
    return np.concatenate([cross(w, to_w[..., :3]), cross(w, to_w[..., 3:])], axis=-1) + times(to_v, turned)


def weight(layout: Layout, R: Array, gravity: Array) -> Array:
    """The force of gravity M(k) [0; g] on rigid bodies, g turned into body axes, (..., n, 6). O(n)."""
    g = np.zeros((*R.shape[:-2], 6))
    g[..., 3:] = times(R.mT, gravity)
    return times(layout.M, g)


def times(X: Array, y: Array) -> Array:
    """The product of matrices (..., m, n) with vectors (..., n), with broadcasting."""
    product: Array = (X @ y[..., None])[..., 0]
    return product

"""The three representations of a rigid tree's spatial quantities, and the change from body axes to each.

`body`      axes and origin of each body frame; what all computation uses.
`inertial`  axes of the inertial frame, origin of each body frame: the papers'. phi(p,k) = [[I, l~], [0, I]].
`origin`    axes and origin of the inertial frame (inertially referenced, slides 001). phi(p,k) = I.

With velocities V' = T V and forces f' = T^-* f:

    A' = T_p^-* A T_k*,   H' = H T*,   M' = T^-* M T^-1
    a' = T a + Tdot V - A'* Tdot_p V_p,   b' = T^-* b - M' Tdot V

T = diag(R, R) gives Tdot V = T [0; w x v]; T = [[R, 0], [p~R, R]] gives Tdot V = T crm(V) V = 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from soacraft.errors import ModelError
from soacraft.model.flat.layout import Layout
from soacraft.model.flat.realize import Poses, times
from soacraft.model.modal.bodies import WithModes
from soacraft.spatial.checks import Array, frozen
from soacraft.spatial.rotations import cross
from soacraft.spatial.transforms import adjoint, phi

Axes = Literal["body", "inertial", "origin"]
AXES: tuple[Axes, ...] = ("body", "inertial", "origin")


def check_axes(axes: Any) -> Axes:
    """One of the three names, or a `ModelError`."""
    for known in AXES:
        if axes == known:
            return known
    raise ModelError(f"axes must be 'body', 'inertial' or 'origin', got {axes!r}.")


def velocity_map(axes: Axes, world: Poses) -> Array:
    """T, from velocities in body axes to velocities in the axes asked for. (..., 6, 6)"""
    R, p = world
    if axes == "body":
        return np.broadcast_to(np.eye(6), (*R.shape[:-2], 6, 6))
    return adjoint(R, p if axes == "origin" else np.zeros(3))


def force_map(axes: Axes, world: Poses) -> Array:
    """T^-*, from forces in body axes to forces in the axes asked for. (..., 6, 6)"""
    R, p = world
    if axes == "body":
        return np.broadcast_to(np.eye(6), (*R.shape[:-2], 6, 6))
    return phi(R, p if axes == "origin" else np.zeros(3))


def edges(axes: Axes, layout: Layout, A: Array, relative: Poses, world: Poses) -> list[Array | None]:
    """A(p(k), k) by k, None for a base body. In inertial and origin axes its rotation is exactly I."""
    based = [p < 0 for p in layout.parents]
    if axes == "origin":
        one = frozen(np.eye(6))
        return [None if base else one for base in based]
    if axes == "inertial":
        parents = np.array(layout.parents, dtype=np.intp)
        A = frozen(phi(np.eye(3), times(world[0][..., parents, :, :], relative[1])))
    return [None if base else A[..., k, :, :] for k, base in enumerate(based)]


def hinges(axes: Axes, layout: Layout, maps: tuple[Array, ...], world: Poses) -> list[Array]:
    """H(k) by k, each (..., nv_k, 6)."""
    H: list[Array] = [np.empty((0, 6))] * layout.n
    T = None if axes == "body" else velocity_map(axes, world)
    for group, H_T in zip(layout.groups, maps, strict=True):
        moved = H_T if T is None else frozen(T[..., group.bodies, :, :] @ H_T)
        for j, k in enumerate(group.bodies):
            H[k] = moved[..., j, :, :].mT
    return H


def inertias(axes: Axes, layout: Layout, world: Poses) -> list[Array]:
    """M(k) by k."""
    M = layout.M
    if axes != "body":
        X = force_map(axes, world)
        M = X @ M @ X.mT
        M = frozen(0.5 * (M + M.mT))
    return [M[..., k, :, :] for k in range(layout.n)]


def velocities(axes: Axes, world: Poses, V: Array) -> Array:
    """V'(k) = T V(k), stacked."""
    return V if axes == "body" else frozen(times(velocity_map(axes, world), V))


def coriolis_in(axes: Axes, layout: Layout, world: Poses, relative: Poses, V: Array, a: Array) -> Array:
    """a'(k) from a(k) in body axes. For base bodies a(k) already holds what the anchor's motion gives."""
    if axes == "body":
        return a
    moved = times(velocity_map(axes, world), a)
    if axes == "origin":
        return moved
    turning = _turning(world, V)
    moved = moved + turning
    parents = np.array(layout.parents, dtype=np.intp)
    inner = np.flatnonzero(parents >= 0)
    l = times(world[0][..., parents[inner], :, :], relative[1][..., inner, :])
    moved[..., inner, :] -= times(phi(np.eye(3), l).mT, turning[..., parents[inner], :])
    return moved


def bias_in(axes: Axes, M: Array, modal: Mapping[int, Array], world: Poses, V: Array, b: WithModes) -> WithModes:
    """b'(k) from b(k) in body axes; M are the six of the inertias, `modal` all of those of flexible bodies."""
    if axes == "body":
        return b
    X = force_map(axes, world)
    moved = times(X, b.bodies)
    if axes == "origin":
        return WithModes(moved, b.modes)
    # M' Tdot V = T^-* M T^-1 Tdot V, with T^-1 Tdot V = [0; w x v]; the modes have no Tdot of their own
    spin = _spin(V)
    modes = {k: x - times(modal[k][..., 6:, :6], spin[..., k, :]) for k, x in b.modes.items()}
    return WithModes(moved - times(X, times(M, spin)), modes)


def modal_node_map(axes: Axes, block: Array, Pi: Array, R: Array) -> Array:
    """[phi(k,O); Pi*] of a node on a flexible body, R its rotation and Pi in its axes."""
    if axes != "body":
        Pi = np.concatenate([R @ Pi[..., :3, :], R @ Pi[..., 3:, :]], axis=-2)
    lead = np.broadcast_shapes(block.shape[:-2], Pi.shape[:-2])
    parts = (np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in (block, Pi.mT))
    return np.concatenate(list(parts), axis=-2)


# -- flexible bodies: T = diag(T, I) of the node [V; d eta/dt] --------------------------------------------------------


def modal_edges(
    axes: Axes, layout: Layout, A: list[Array | None], C: Mapping[int, Array], world: Poses
) -> list[Array | None]:
    """A(p,k) with the rows C* T* of the parent's modes, where k rides on a deforming node."""
    T = None if axes == "body" else velocity_map(axes, world)
    for k, corner in C.items():
        block = A[k]
        assert block is not None
        rows = (corner if T is None else T[..., k, :, :] @ corner).mT
        A[k] = _with_rows(block, 6, rows)
    return A


def modal_hinges(axes: Axes, layout: Layout, H: list[Array], E: Mapping[int, Array], world: Poses) -> list[Array]:
    """H(k) with the rows E* T* of modes that move the outboard hinge frame."""
    T = None if axes == "body" else velocity_map(axes, world)
    for k, corner in E.items():
        rows = (corner if T is None else T[..., k, :, :] @ corner).mT
        H[k] = _with_rows(H[k], layout.hinge_v[k].stop - layout.hinge_v[k].start, rows)
    return H


def modal_inertias(axes: Axes, M: list[Array], modal: Mapping[int, Array], world: Poses) -> list[Array]:
    """M(k) with T^-* M T^-1 of flexible bodies, before the rows of rotors."""
    X = None if axes == "body" or not modal else force_map(axes, world)
    for k, block in modal.items():
        moved = block
        if X is not None:
            wide = np.zeros((*np.broadcast_shapes(block.shape[:-2], X.shape[:-3]), *block.shape[-2:]))
            wide[..., :6, :6], wide[..., 6:, 6:] = X[..., k, :, :], np.eye(block.shape[-1] - 6)
            moved = wide @ block @ wide.mT
            moved = 0.5 * (moved + moved.mT)
        whole = np.zeros((*np.broadcast_shapes(moved.shape[:-2], M[k].shape[:-2]), *M[k].shape[-2:]))
        whole[...] = M[k]
        whole[..., : moved.shape[-1], : moved.shape[-1]] = moved
        M[k] = frozen(whole)
    return M


def _with_rows(block: Array, start: int, rows: Array) -> Array:
    """A block with rows of its first six columns set."""
    wide = np.zeros((*np.broadcast_shapes(block.shape[:-2], rows.shape[:-2]), *block.shape[-2:]))
    wide[...] = block
    wide[..., start : start + rows.shape[-2], :6] = rows
    return frozen(wide)


def node_map(axes: Axes, world: Poses, offset: Poses) -> Array:
    """phi(k, O), from a force at a node to one on its body. In `body` the node has its own axes."""
    R_node, p_node = offset
    if axes == "body":
        return phi(R_node, p_node)
    R, p = world
    arm = times(R, p_node)
    return phi(np.eye(3), arm if axes == "inertial" else p + arm)


def _spin(V: Array) -> Array:
    """[0; w x v]."""
    spin = np.zeros(V.shape)
    spin[..., 3:] = cross(V[..., :3], V[..., 3:])
    return spin


def _turning(world: Poses, V: Array) -> Array:
    """Tdot V for inertial axes: [0; R (w x v)]."""
    turning = np.zeros(np.broadcast_shapes(V.shape, (*world[1].shape[:-1], 6)))
    turning[..., 3:] = times(world[0], cross(V[..., :3], V[..., 3:]))
    return turning

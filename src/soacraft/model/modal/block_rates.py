"""Derivatives of the blocks A(p,k), H(k), M(k) of a tree with flexible bodies along a vector w of dof rates. Body axes.

With s_C = C w(p's modes), s_h = H* w(hinge), s_E = E w(own modes) the parts of the twist of k relative to p:

    d phi(p,k) = phi crf(s_C + s_h + s_E)         d C* = C* crf(s_h + s_E) + (phi*(O+,k) dPi(O+)[w])*
    d H = H crf(s_E) + (X dH_O*[w])*              d E* = E* crf(s_E) - (X dPi(O)[w])*              d M = sum w_j dM_j

and of the pick-off of a node O of a flexible body, [phi(k,O); Pi*]:   [phi crf(Pi w); (dPi[w])*].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from soacraft.model.flat.realize import times
from soacraft.model.hinges.base import dH_of
from soacraft.model.modal.data import ModalNode
from soacraft.model.modal.deformation import Pi_on, pose_on
from soacraft.model.modal.inertia import mass_derivatives
from soacraft.model.modal.node_derivatives import node_rates
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose
from soacraft.spatial.transforms import crf, phi

if TYPE_CHECKING:
    from soacraft.model.states.configuration import Configuration


class BlockRates(NamedTuple):
    """Derivatives of blocks by body; None for a block that does not change."""

    A: list[Array | None]
    H: list[Array | None]
    M: list[Array | None]


def block_rates(c: Configuration, w: Array) -> BlockRates:
    """Derivatives of all blocks at a configuration, along rates w (..., nv). O(n)."""
    layout, flex = c.layout, c.flex
    assert flex is not None
    edges, hinges, maps = c.edges("body"), c.hinges("body"), _hinge_map_rates(c, w)
    found = BlockRates([None] * layout.n, [None] * layout.n, [None] * layout.n)
    for k, parent in enumerate(layout.parents):
        held = layout.held.get(k)
        H, nh = hinges[k], layout.hinge_v[k].stop - layout.hinge_v[k].start
        n = layout.v_slices[k].stop - layout.hinge_v[k].stop
        own = times(H[..., :nh, :6].mT, w[..., layout.hinge_v[k]])  # s_h
        s_E = times(H[..., nh:, :6].mT, flex.rates(w, k))
        dH = np.zeros((*np.broadcast_shapes(w.shape[:-1], H.shape[:-2]), *H.shape[-2:]))
        dH[..., :nh, :6] = H[..., :nh, :6] @ crf(s_E) + maps[k].mT
        if held is not None:
            X = flex.to_body[..., k, :, :]
            change = X @ _dPi(held, layout.bodies[k].outboard.inv, flex.eta(k), flex.rates(w, k))
            dH[..., nh:, :6] = H[..., nh:, :6] @ crf(s_E) - change.mT
        found.H[k] = dH
        A = edges[k]
        if parent >= 0 and A is not None:
            rides = layout.riding.get(k)
            C_T = A[..., 6 : 6 + (layout.modal(parent).n if rides is not None else 0), :6]
            s_C = times(C_T.mT, flex.rates(w, parent)) if rides is not None else np.zeros(6)
            dA = np.zeros((*np.broadcast_shapes(w.shape[:-1], A.shape[:-2]), *A.shape[-2:]))
            dA[..., :6, :6] = A[..., :6, :6] @ crf(own + s_E + s_C)
            if rides is not None:
                change = _dPi(rides, layout.bodies[k].inboard, flex.eta(parent), flex.rates(w, parent))
                moved = C_T @ crf(own + s_E) + (flex._to_child(c.relative, k) @ change).mT
                dA[..., 6 : 6 + moved.shape[-2], :6] = moved
            found.A[k] = dA
        if n and k in layout.flexible:
            dM = mass_derivatives(layout.modal(k), flex.eta(k))
            wide = np.zeros((*np.broadcast_shapes(w.shape[:-1], dM.shape[:-3]), layout.dims[k], layout.dims[k]))
            wide[..., : 6 + n, : 6 + n] = np.einsum("...j,...jab->...ab", flex.rates(w, k), dM)
            found.M[k] = wide
    return found


def _dPi(node: ModalNode, undeformed: Pose, eta: Array, w: Array) -> Array:
    """dPi[w], (..., 6, n)."""
    dPi = node_rates(node, undeformed, eta, np.zeros(eta.shape)).dPi
    return np.asarray(np.einsum("...i,...iam->...am", w, dPi))


def _hinge_map_rates(c: Configuration, w: Array) -> list[Array]:
    """X dH_O*[w] by body, (..., 6, nv of the hinge)."""
    layout, flex = c.layout, c.flex
    assert flex is not None
    found: list[Array] = [np.zeros((6, 0))] * layout.n
    for group in layout.groups:
        for i, k in enumerate(group.bodies.tolist()):
            if group.hinge.constant_H:
                found[k] = np.zeros((6, group.hinge.nv))
                continue
            dH = dH_of(group.hinge, c.q[..., group.q_index[i]])
            found[k] = flex.to_body[..., k, :, :] @ np.einsum("...j,...jam->...am", w[..., group.v_index[i]], dH)
    return found


def pick_off_rate(c: Configuration, node: Any, k: int, w: Array) -> Array:
    """Derivative of the pick-off of a node of flexible body k, [phi(k,O); Pi*], along w, (..., 6 + n, 6)."""
    flex = c.flex
    assert flex is not None
    eta, rate = flex.eta(k), flex.rates(w, k)
    Pi = Pi_on(node.modal_node, node.offset, eta)
    own = phi(*pose_on(node.modal_node, node.offset, eta)) @ crf(times(Pi, rate))
    change = _dPi(node.modal_node, node.offset, eta, rate).mT
    lead = np.broadcast_shapes(own.shape[:-2], change.shape[:-2])
    return np.concatenate([np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in (own, change)], axis=-2)

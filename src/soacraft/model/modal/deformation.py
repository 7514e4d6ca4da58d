"""Poses and twists of hinges on deforming nodes of a tree, at modal coordinates. Body axes, batches.

Formulas F16 and F18.

The inboard frame O+ of a hinge may ride on a node of a flexible parent p, its outboard frame O may be held by a node of
the body k itself. With Pi the twists of such a frame for unit modal rates, in its own axes, and X = phi*(O,k):

    V(k) = phi*(p,k) V(p) + C(k) etad(p) + H*(k) v(k) + E(k) etad(k),    C = phi*(O+,k) Pi(O+),   E = -X Pi(O)

so A(p,k) = [[phi(p,k), 0], [C*, 0]] and H(k) = [[H, 0], [E*, I]]. The velocity-dependent acceleration, r = E etad(k):

    a(k) = phi*(O+,k) a(O+) + crm(V(k) - r) H* v + X (Hdot* v - Pidot(O) etad(k)) - crm(r) V(k)
    a(O+) = -crm(s) phi*(p,O+) V(p) + Pidot(O+) etad(p),   s = Pi(O+) etad(p)
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from soacraft.model.flat.realize import times
from soacraft.model.modal import nodes
from soacraft.model.modal.data import ModalNode
from soacraft.spatial.checks import Array, frozen
from soacraft.spatial.pose import Pose
from soacraft.spatial.transforms import crm, phi

if TYPE_CHECKING:
    from soacraft.model.flat.layout import Layout

Poses = tuple[Array, Array]


def pose_on(node: ModalNode, undeformed: Pose, eta: Array) -> Poses:
    """The pose in its body of a frame fixed on a node, from its pose on the undeformed body."""
    R, l = nodes.pose(node, eta)
    local = node.pose.inv @ undeformed
    return R @ local.rotation, l + times(R, local.translation)


def Pi_on(node: ModalNode, undeformed: Pose, eta: Array) -> Array:
    """The twists of such a frame for unit modal rates, at it in its axes, (..., 6, n)."""
    return np.asarray((node.pose.inv @ undeformed).phi().T @ nodes.Pi(node, eta))


def Pi_rate_on(node: ModalNode, undeformed: Pose, eta: Array, rate: Array) -> Array:
    """(dPi/dt) d eta/dt of such a frame, (..., 6)."""
    return times((node.pose.inv @ undeformed).phi().T, nodes.Pi_rate(node, eta, rate))


class Deformation:
    """The poses and twists of the hinge frames of a layout at coordinates q (..., nq). O(n), each made when asked."""

    def __init__(self, layout: Layout, q: Array) -> None:
        self.layout, self.q = layout, q

    def eta(self, k: int) -> Array:
        """The modal coordinates of body k, (..., n)."""
        return self.q[..., self.layout.hinge_q[k].stop : self.layout.q_slices[k].stop]

    def rates(self, v: Array, k: int) -> Array:
        """The part of v, or of accelerations, of the modes of body k."""
        return v[..., self.layout.hinge_v[k].stop : self.layout.v_slices[k].stop]

    @cached_property
    def inboard(self) -> Poses:
        """Poses of the inboard hinge frames in the parents."""
        return self._moved(self.layout.inboard, {
            k: pose_on(node, self.layout.bodies[k].inboard, self.eta(self.layout.parents[k]))
            for k, node in self.layout.riding.items()
        })  # fmt: skip

    @cached_property
    def outboard(self) -> Poses:
        """Poses of the body frames in the outboard hinge frames."""
        moved = {}
        for k, node in self.layout.held.items():
            R, l = pose_on(node, self.layout.bodies[k].outboard.inv, self.eta(k))
            moved[k] = (R.mT, -times(R.mT, l))
        return self._moved(self.layout.outboard, moved)

    @cached_property
    def to_body(self) -> Array:
        """phi*(O, k), (..., n, 6, 6)."""
        return frozen(phi(*self.outboard).mT)

    def _moved(self, constant: Poses, moved: dict[int, Poses]) -> Poses:
        if not moved:
            return constant
        batch = self.q.shape[:-1]
        R, l = (np.array(np.broadcast_to(x, (*batch, *x.shape))) for x in constant)
        for k, (R_k, l_k) in moved.items():
            R[..., k, :, :], l[..., k, :] = R_k, l_k
        return frozen(R), frozen(l)

    # -- twists of the modes ------------------------------------------------------------------------------------------

    @cached_property
    def Pi_riding(self) -> dict[int, Array]:
        """Pi of the inboard frames that ride on a deforming node of the parent, by body k."""
        layout = self.layout
        return {
            k: Pi_on(node, layout.bodies[k].inboard, self.eta(layout.parents[k])) for k, node in layout.riding.items()
        }

    @cached_property
    def Pi_held(self) -> dict[int, Array]:
        """Pi of the outboard frames that a deforming node of the body holds, by body k."""
        layout = self.layout
        return {k: Pi_on(node, layout.bodies[k].outboard.inv, self.eta(k)) for k, node in layout.held.items()}

    def edges(self, relative: Poses) -> dict[int, Array]:
        """C(k), (..., 6, modes of the parent)."""
        return {k: self._to_child(relative, k) @ x for k, x in self.Pi_riding.items()}

    @cached_property
    def hinges(self) -> dict[int, Array]:
        """E(k), (..., 6, modes)."""
        return {k: -self.to_body[..., k, :, :] @ x for k, x in self.Pi_held.items()}

    def _to_child(self, relative: Poses, k: int) -> Array:
        """phi*(O+, k)."""
        (R, l), (R_in, l_in) = relative, self.inboard
        R_T = R_in[..., k, :, :].mT
        return phi(R_T @ R[..., k, :, :], times(R_T, l[..., k, :] - l_in[..., k, :])).mT

    def add_twists(self, twists: Array, relative: Poses, rates: Array) -> Array:
        """C etad(p) + E etad(k) added to the twists of hinges (..., n, 6); for accelerations likewise."""
        edges = self.edges(relative)
        lead = np.broadcast_shapes(twists.shape[:-2], rates.shape[:-1], self.q.shape[:-1])
        total = np.array(np.broadcast_to(twists, (*lead, *twists.shape[-2:])))
        for k, C in edges.items():
            total[..., k, :] += times(C, self.rates(rates, self.layout.parents[k]))
        for k, E in self.hinges.items():
            total[..., k, :] += times(E, self.rates(rates, k))
        return frozen(total)

    def add_forces(self, force: Array, relative: Poses, f: Array, modes: Mapping[int, Array]) -> Array:
        """H phi x with the rows of modes: added to what is along the hinges (..., nv) are C*(k) f(k) on the modes of
        the parent, E*(k) f(k) and `modes` on those of body k, with f = phi x (..., n, 6)."""
        layout, rows = self.layout, dict(modes)
        for k, C in self.edges(relative).items():
            p = layout.parents[k]
            rows[p] = rows.get(p, 0.0) + times(C.mT, f[..., k, :])
        for k, E in self.hinges.items():
            rows[k] = rows.get(k, 0.0) + times(E.mT, f[..., k, :])
        lead = np.broadcast_shapes(force.shape[:-1], *(np.shape(x)[:-1] for x in rows.values()))
        total = np.array(np.broadcast_to(force, (*lead, layout.nv)))
        for k, x in rows.items():
            total[..., layout.hinge_v[k].stop : layout.v_slices[k].stop] += x
        return total

    def add_coriolis(self, a: Array, relative: Poses, hinge_twists: Array, V: Array, v: Array) -> Array:
        """Add the terms of the modes to a(k) = crm(V(k)) H* v + X Hdot* v (..., n, 6)."""
        layout = self.layout
        lead = np.broadcast_shapes(a.shape[:-2], V.shape[:-2], v.shape[:-1], self.q.shape[:-1])
        total = np.array(np.broadcast_to(a, (*lead, *a.shape[-2:])))
        for k, Pi in self.Pi_riding.items():
            p = layout.parents[k]
            rate, eta = self.rates(v, p), self.eta(p)
            R_in, l_in = self.inboard
            to_frame = phi(R_in[..., k, :, :], l_in[..., k, :]).mT
            s = times(Pi, rate)
            own = Pi_rate_on(layout.riding[k], layout.bodies[k].inboard, *np.broadcast_arrays(eta, rate))
            at_frame = own - times(crm(s), times(to_frame, V[..., p, :]))
            total[..., k, :] += times(self._to_child(relative, k), at_frame)
        for k, E in self.hinges.items():
            rate, eta = self.rates(v, k), self.eta(k)
            r = times(E, rate)
            own = Pi_rate_on(layout.held[k], layout.bodies[k].outboard.inv, *np.broadcast_arrays(eta, rate))
            total[..., k, :] -= times(crm(r), hinge_twists[..., k, :] + V[..., k, :])
            total[..., k, :] -= times(self.to_body[..., k, :, :], own)
        return total

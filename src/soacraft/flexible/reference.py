"""`rereference`: the same modes, seen from a body frame that moves with something else.

A frame B' that moves by x -> exp(psi) x + d in the axes of B, psi = theta eta + 1/2 eta psi2 eta and
d = t eta + 1/2 eta d2 eta, sees a point at exp(-psi) (r(eta) - d). To second order

    phi'_j   = phi_j - t_j - theta_j x r
    phi2'_ij = phi2_ij - d2_ij - psi2_ij x r + sym[1/2 theta_i x (theta_j x r) - theta_i x (phi_j - t_j)]
    lam'_j   = lam_j - theta_j,     lam2'_ij = lam2_ij - psi2_ij - sym[1/2 theta_i x lam_j]

with sym[x_ij] = x_ij + x_ji, of which every moment follows from those of B. Strains, and so K and D, stay.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import ModelError
from soacraft.model.modal import ModalData, ModalNode, ModalSkin
from soacraft.model.modal.data import INDEPENDENT
from soacraft.model.modal.inertia import mass_matrix
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import skew


class Motion(NamedTuple):
    """Motion of the new frame in the old one: t, theta (3, n), d2, psi2 (3, n, n)."""

    t: Array
    theta: Array
    d2: Array
    psi2: Array


def rereference(data: ModalData, to: Any) -> ModalData:
    """The modal data of the same body with another frame, which coincides with the old one at eta = 0.

    `to` is "mean" (no momentum of the modes at eta = 0: Tisserand's axes), "chord" (from the first node to the second,
    with the turn of the first about it), or a node, with which the frame then moves.

    >>> import soacraft.flexible as fx
    >>> fe = fx.beam(2.0, fx.Tube(0.05, 0.002), fx.Elastic(70e9, 0.33, 2700.0), elements=4)
    >>> ends = fe.interface("root", at=(0, 0, 0)), fe.interface("tip", at=(2, 0, 0))
    >>> clamped = fx.reduce(fe, ["root", "tip"], "guyan")
    >>> bool(abs(fx.rereference(clamped, "mean").p).max() < 1e-12)
    True
    """
    if not isinstance(data, ModalData):
        raise ModelError(f"modal data are needed, got {data!r:.60}.")
    n = data.n
    none = np.zeros((3, n, n))
    if to == "mean":
        M = mass_matrix(data, np.zeros(n))
        size = np.sqrt(np.repeat((np.diagonal(M)[:3].max(), data.mass), 3))
        rigid = np.linalg.pinv(M[:6, :6] / np.outer(size, size), rcond=INDEPENDENT, hermitian=True)  # all on a line?
        both = np.asarray((rigid / np.outer(size, size)) @ M[:6, 6:])
        return _moved(data, Motion(both[3:], both[:3], none, none), "mean axes")
    if to == "chord":
        return _moved(data, _chord(data), "chord")
    node = data.node(to)
    return _moved(data, _with(node, node.lam, none if node.lam2 is None else node.lam2), f"node {to!r}")


def _with(node: ModalNode, theta: Array, psi2: Array) -> Motion:
    """The motion with these turns that keeps a node in place: d = l(eta) - exp(psi) l0."""
    l0, gam2 = node.pose.translation, np.zeros_like(psi2) if node.gam2 is None else node.gam2
    d2 = gam2 - _cross_vector(psi2, l0) - _sym(0.5 * _cross(theta, _cross_vector(theta, l0)))
    return Motion(node.gam - _cross_vector(theta, l0), theta, d2, psi2)


def _chord(data: ModalData) -> Motion:
    """theta turns e = b - a to b(eta) - a(eta), of which the part along e is the first node's."""
    if len(data.nodes) < 2:
        raise ModelError("a chord needs two nodes; these modal data have fewer.")
    a, b = list(data.nodes.values())[:2]
    e = b.pose.translation - a.pose.translation
    size = float(np.linalg.norm(e))
    if size <= 0.0:
        raise ModelError("a chord needs two nodes at different places; the first two are at the same one.")
    e = e / size
    along = np.outer(e, e @ a.lam)
    theta = skew(e) @ (b.gam - a.gam) / size + along
    return _with(a, theta, np.zeros((3, data.n, data.n)))


def _moved(data: ModalData, by: Motion, what: str) -> ModalData:
    t, theta = by.t, by.theta
    m, first, second, p, N = data.mass, data.first, data.second, data.p, data.N
    twist = np.array([skew(x) for x in theta.T]).reshape(-1, 3, 3)  # theta_j~, (n, 3, 3)
    # sums of the rigid part g_j = t_j + theta_j x r with 1, r and itself
    g1 = m * t.T + twist @ first
    gr = np.einsum("a,bj->jab", first, t) + np.einsum("ac,jbc->jab", second, twist)  # sum m r g_j*
    gphi = np.einsum("ai,jb->ijab", t, p) + np.einsum("iac,jcb->ijab", twist, N)  # sum m g_i phi_j*
    gg = np.einsum("ai,jb->ijab", t, g1) + np.einsum("iac,jcb->ijab", twist, gr)
    Q = data.Q - gphi - np.swapaxes(np.swapaxes(gphi, 0, 1), 2, 3) + gg
    Q = 0.5 * (Q + Q.transpose(1, 0, 3, 2))
    S, T = data.S, data.T
    if S is not None and T is not None:
        S, T = _second(data, by, twist)
    nodes, fe_nodes = (
        {name: _node(node, by, S is not None) for name, node in x.items()} for x in (data.nodes, data.fe_nodes)
    )
    shapes = None
    if data.points is not None and data.shapes is not None:
        shapes = data.shapes - t - np.einsum("jab,kb->kaj", twist, data.points)
    return ModalData(
        mass=m, first=first, second=second, p=p - g1, N=N - gr, Q=Q, M=np.trace(Q, axis1=2, axis2=3),
        K=data.K, D=data.D, S=S, T=T, nodes=nodes, fe_nodes=fe_nodes, modes=data.modes, kinds=data.kinds,
        points=data.points, shapes=shapes, recovery=data.recovery, skin=_skin(data.skin, by),
        notes=(*data.notes, f"the body frame moves with the {what}"),
    )  # fmt: skip


def _second(data: ModalData, by: Motion, twist: Array) -> tuple[Array, Array]:
    """S and T of phi2'."""
    m, first, second, p, N = data.mass, data.first, data.second, data.p, data.N
    t, d2, psi2 = by.t, by.d2, np.moveaxis(by.psi2, 0, -1)
    turned = 0.5 * np.einsum("iab,jbc->ijac", twist, twist)
    S = np.asarray(data.S) - m * np.moveaxis(d2, 0, -1) - np.cross(psi2, first)
    s = turned @ first - np.einsum("iab,jb->ija", twist, p - m * t.T)
    T = np.asarray(data.T) - np.einsum("a,bij->ijab", first, d2) - np.einsum("ac,ijbc->ijab", second, skew(psi2))
    u = np.einsum("ad,ijbd->ijab", second, turned)
    u = u - np.einsum("jac,ibc->ijab", N - np.einsum("a,bj->jab", first, t), twist)
    return S + s + s.transpose(1, 0, 2), T + u + u.transpose(1, 0, 2, 3)


def _node(node: ModalNode, by: Motion, geometric: bool) -> ModalNode:
    l0 = node.pose.translation
    gam, lam = node.gam - by.t - _cross_vector(by.theta, l0), node.lam - by.theta
    if not geometric:
        return ModalNode(node.pose, gam, lam)
    none = np.zeros_like(by.d2)
    turned = 0.5 * _cross(by.theta, _cross_vector(by.theta, l0)) - _cross(by.theta, node.gam - by.t)
    gam2 = (none if node.gam2 is None else node.gam2) - by.d2 - _cross_vector(by.psi2, l0) + _sym(turned)
    lam2 = (none if node.lam2 is None else node.lam2) - by.psi2 - _sym(0.5 * _cross(by.theta, node.lam))
    return ModalNode(node.pose, gam, lam, gam2, lam2)


def _skin(skin: ModalSkin | None, by: Motion) -> ModalSkin | None:
    """Skin seen from the new frame; one that is known to first order stays so."""
    if skin is None:
        return None
    lam = None if skin.lam is None else skin.lam - by.theta
    turns = -skew(skin.at)  # theta x at = -at~ theta
    gam2, moved = skin.gam2, skin.gam - by.t
    if gam2 is not None:
        once = _sym(np.cross(by.theta[None, :, :, None], (0.5 * turns @ by.theta - moved)[:, :, None, :], axis=1))
        gam2 = gam2 - by.d2 - np.einsum("kab,bij->kaij", turns, by.psi2) + once
    return replace(skin, gam=moved - turns @ by.theta, lam=lam, gam2=gam2)


def _cross(a: Array, b: Array) -> Array:
    """a_i x b_j of (3, n), (3, n, n)."""
    return np.asarray(np.cross(a[:, :, None], b[:, None, :], axis=0))


def _cross_vector(a: Array, d: Array) -> Array:
    """a x d of (3, ...) with one vector."""
    return np.asarray(np.einsum("ab,b...->a...", -skew(d), a))


def _sym(x: Array) -> Array:
    return np.asarray(x + x.mT)
